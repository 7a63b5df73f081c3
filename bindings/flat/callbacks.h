/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Functions of the caller's, called by the library on the thread that called it.
 *
 * What a call needs is put away meanwhile, as the function may make calls of its own.  emb_up_...() are the language's:
 * each returns 0, or, if the function failed, -1, and keeps what was thrown until the library returns.
 */
#ifndef EMB_CALLBACKS_H
#define EMB_CALLBACKS_H

#include "flat/handle.h"

static int emb_up_progress(uint64_t id, uint32_t phase, uint64_t done, uint64_t total); /* 1: stop */
static int emb_up_cmp(uint64_t id, const void *a, const void *b, size_t bytes, int *result);
static int emb_up_keys(uint64_t id, const void *records, size_t bytes, uint64_t *keys, size_t n);
static int emb_up_visit(uint64_t id, uint64_t i, void *records, size_t bytes, int change);
static int emb_up_test(uint64_t id, const void *record, size_t bytes, int *result);
static int emb_up_disorder(uint64_t id, uint64_t number, const void *record, size_t bytes);
static int emb_up_log(uint64_t id, int32_t level, const char *line);
/* One of streams: up to two arrays of bytes, NULL: none.  The answer goes to emb_answer(), or f->made.none is 1. */
static int emb_up_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb);
static char *emb_answer(struct emb_fn *f, size_t n);
/** Have what nobody has any more closed, if that can be waited for: 1. */
static int emb_up_collect(void);

struct emb_saved {
	struct emb_call call;
	struct emb_now now;
};

static uint64_t emb_begin_up(struct emb_saved *s, void *user)
{
	s->call = emb_call;
	s->now = emb_now;
	memset(&emb_now, 0, sizeof emb_now);
	emb_end();
	return ((struct emb_fn *)user)->id;
}

static void emb_end_up(const struct emb_saved *s)
{
	emb_call = s->call;
	emb_now = s->now;
}

static int emb_progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	struct emb_saved s;
	uint64_t id;
	int stop;

	/* The library is about to stop for a function of an order, and to say so: nothing is canceled. */
	if (emb_now.failed)
		return 0;
	id = emb_begin_up(&s, user);
	stop = emb_up_progress(id, phase, done, total);
	emb_end_up(&s);
	return stop;
}

static int emb_cmp(const void *a, const void *b, void *user)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);
	int result = 0;
	const int failed = emb_up_cmp(id, a, b, (size_t)((struct emb_fn *)user)->record_bytes, &result);

	emb_end_up(&s);
	emb_now.failed |= failed != 0;
	return failed ? EM_CMP_ERROR : result < 0 ? -1 : result > 0;
}

static int emb_key(const void *records, size_t n, uint64_t *keys, void *user)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);
	const int failed = emb_up_keys(id, records, n * (size_t)((struct emb_fn *)user)->record_bytes, keys, n);

	emb_end_up(&s);
	emb_now.failed |= failed != 0;
	return failed;
}

static int emb_change(void *user, uint64_t i, void *records, uint64_t n)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);
	const int failed = emb_up_visit(id, i, records, (size_t)(n * ((struct emb_fn *)user)->record_bytes), 1);

	emb_end_up(&s);
	return failed;
}

static int emb_visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);
	const int failed = emb_up_visit(id, i, (void *)(uintptr_t)records,
					(size_t)(n * ((struct emb_fn *)user)->record_bytes), 0);

	emb_end_up(&s);
	return failed;
}

static int emb_test(void *user, const void *record)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);
	int result = 0;
	const int failed = emb_up_test(id, record, (size_t)((struct emb_fn *)user)->record_bytes, &result);

	emb_end_up(&s);
	return !failed && result;
}

static void emb_disorder(void *user, uint64_t number, const void *record, size_t n)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);

	(void)emb_up_disorder(id, number, record, n);
	emb_end_up(&s);
}

static void emb_log(void *user, int32_t level, const char *line)
{
	struct emb_saved s;
	const uint64_t id = emb_begin_up(&s, user);

	(void)emb_up_log(id, level, line);
	emb_end_up(&s);
}

static int emb_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb)
{
	struct emb_saved s;
	int failed;

	(void)emb_begin_up(&s, f);
	f->made.none = 1;
	f->made.n = 0;
	failed = emb_up_ask(f, a, na, b, nb);
	emb_end_up(&s);
	return failed;
}

static int emb_collected(void)
{
	struct emb_fn nobody = { 0 };
	struct emb_saved s;
	int done;

	(void)emb_begin_up(&s, &nobody);
	done = emb_up_collect();
	emb_end_up(&s);
	return done;
}

static struct emb_fn *emb_fn_new(uint64_t id, uint64_t record_bytes)
{
	struct emb_fn *fn = (struct emb_fn *)calloc(1, sizeof *fn);

	if (!fn) {
		emb_up_release(id);
		emb_refuse(EM_ERR_NOMEM, "out of memory");
		return NULL;
	}
	fn->id = id;
	fn->record_bytes = record_bytes;
	return fn;
}

#endif
