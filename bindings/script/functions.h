/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Functions of the caller's, which the library calls on the thread that called it.
 *
 * Each has a body that makes its arguments, calls, and takes the result.  emb_run() of the port runs it so that
 * nothing jumps out: an error is kept, the function says that it failed, the library stops, and when its call returns
 * the same error is raised again (emb_status()).  From then on no function is called any more.
 */
#ifndef EMB_SCRIPT_FUNCTIONS_H
#define EMB_SCRIPT_FUNCTIONS_H

#include "objects.h"

/** What a body works on; not all of it is used by each. */
struct emb_job {
	struct emb_fn *f;
	const void *a, *b;
	void *data;
	uint64_t number, total, n;
	uint64_t *keys;
	int64_t result;
	uint32_t phase;
	int change;
	const char *text;
};

static int emb_do(int (*body)(emb_env *, struct emb_job *), struct emb_job *job)
{
	struct emb_away away;
	int r;

	emb_put_away(&away);
	r = emb_run(away.now.env, body, job);
	emb_put_back(&away);
	return r;
}

static int emb_collected(void)
{
#ifdef EMB_COLLECTOR
	struct emb_job j = { 0 };

	return emb_do(emb_collect_body, &j) == 0;
#else
	return 0;
#endif
}

/** A record as the function sees it. */
static emb_value emb_seen(emb_env *env, const struct emb_fn *f, const void *record)
{
	return f->shape ? emb_item_out(env, f->shape, (const char *)record)
		: emb_from_bytes(env, record, (size_t)f->record_bytes);
}

static int emb_cmp_body(emb_env *env, struct emb_job *j)
{
	emb_value argv[2], r;

	argv[0] = emb_seen(env, j->f, j->a);
	argv[1] = emb_seen(env, j->f, j->b);
	if (emb_call_fn(env, j->f, 2, argv, &r))
		return -1;
	/* Of two that are equal it would be the same as of two in the wrong order. */
	if (emb_is_boolean(env, r))
		return emb_wrong(env, "a comparison gives a number: below, at or above 0");
	return emb_i64_of(env, r, &j->result);
}

static int emb_cmp(const void *a, const void *b, void *user)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.a = a;
	j.b = b;
	if (emb_do(emb_cmp_body, &j)) {
		emb_now.failed = 1;
		return EM_CMP_ERROR;
	}
	return j.result < 0 ? -1 : j.result > 0;
}

/** Keys from what a function gave: 8 bytes for each, as the machine has them, or a list of n numbers. */
static int emb_key_body(emb_env *env, struct emb_job *j)
{
	emb_value v = emb_many_out(env, j->f->shape, (const char *)j->a, j->n, j->f->record_bytes), r;
	const char *bytes;
	size_t size = 0;
	uint64_t i;
	int mark;

	if (emb_call_fn(env, j->f, 1, &v, &r))
		return -1;
	if (emb_list_size(env, r) == (int64_t)j->n) {
		mark = emb_mark(env);
		for (i = 0; i < j->n; i++) {
			if (emb_u64_of(env, emb_list_get(env, r, i), &j->keys[i]))
				return -1;
			emb_reset(env, mark);
		}
		return 0;
	}
	if (!emb_is_bytes(env, r) || !(bytes = emb_bytes_of(env, r, &size)) || size != j->n * 8)
		return emb_wrong(env,
				 "the function of the keys is to give a number, or 8 bytes, for each of %llu records",
				 (unsigned long long)j->n);
	memcpy(j->keys, bytes, size);
	return 0;
}

static int emb_key(const void *records, size_t n, uint64_t *keys, void *user)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.a = records;
	j.n = n;
	j.keys = keys;
	emb_now.failed |= emb_do(emb_key_body, &j) != 0;
	return emb_now.failed;
}

/** Records may be changed by giving others of the same size. */
static int emb_visit_body(emb_env *env, struct emb_job *j)
{
	const size_t bytes = (size_t)(j->n * j->f->record_bytes);
	emb_value argv[2], r;
	const char *changed;
	size_t size = 0;

	argv[0] = emb_from_u64(env, j->number);
	argv[1] = emb_many_out(env, j->f->shape, (const char *)j->data, j->n, j->f->record_bytes);
	if (emb_call_fn(env, j->f, 2, argv, &r))
		return -1;
	if (!j->change || emb_is_nil(env, r))
		return 0;
	if (j->f->shape && emb_list_size(env, r) == (int64_t)j->n)
		return emb_many_in(env, j->f->shape, 0, r, (char *)j->data, j->n, j->f->record_bytes);
	if (!emb_is_bytes(env, r) || !(changed = emb_bytes_of(env, r, &size)) || size != bytes)
		return emb_wrong(env, "the function is to give %llu records, or nothing", (unsigned long long)j->n);
	memcpy(j->data, changed, bytes);
	return 0;
}

static int emb_visit(void *user, uint64_t i, void *records, uint64_t n, int change)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.number = i;
	j.data = records;
	j.n = n;
	j.change = change;
	return emb_do(emb_visit_body, &j);
}

static int emb_vector_visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	return emb_visit(user, i, (void *)(uintptr_t)records, n, 0);
}

static int emb_vector_change(void *user, uint64_t i, void *records, uint64_t n)
{
	return emb_visit(user, i, records, n, 1);
}

static int emb_test_body(emb_env *env, struct emb_job *j)
{
	emb_value v = emb_seen(env, j->f, j->a), r;

	if (emb_call_fn(env, j->f, 1, &v, &r))
		return -1;
	j->result = emb_is_true(env, r);
	return 0;
}

static int emb_vector_test(void *user, const void *record)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.a = record;
	return emb_do(emb_test_body, &j) ? 0 : (int)j.result;
}

static int emb_disorder_body(emb_env *env, struct emb_job *j)
{
	emb_value argv[2], r;

	argv[0] = emb_from_u64(env, j->number);
	argv[1] = emb_from_bytes(env, j->a, (size_t)j->n);
	return emb_call_fn(env, j->f, 2, argv, &r);
}

static void emb_disorder(void *user, uint64_t number, const void *record, size_t n)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.number = number;
	j.a = record;
	j.n = n;
	(void)emb_do(emb_disorder_body, &j);
}

static char *emb_answer(struct emb_fn *f, size_t n);

/** Records as a function of streams sees them: one, or many. */
static emb_value emb_shown(emb_env *env, const struct emb_shape *shape, const void *from, uint64_t n, uint64_t bytes,
			   int one)
{
	if (!from)
		return emb_nil(env);
	return one && shape ? emb_item_out(env, shape, (const char *)from)
		: emb_many_out(env, shape, (const char *)from, n, bytes);
}

/** Records of any length, of which the first ones are left out: a list of bytes. */
static emb_value emb_lines_out(emb_env *env, const char *records, const uint64_t *ends, uint64_t skip, uint64_t n)
{
	emb_value list = emb_list_new(env, n - skip);
	uint64_t i, at = skip ? ends[skip - 1] : 0;

	for (i = skip; i < n; i++) {
		emb_list_put(env, list, i - skip, emb_from_bytes(env, records + at, (size_t)(ends[i] - at)));
		at = ends[i];
	}
	return list;
}

/** The answer of a function that says where each record goes. */
static int emb_choices(emb_env *env, struct emb_fn *f, emb_value r, uint64_t n)
{
	const int mark = emb_mark(env);
	char *to = emb_answer(f, (size_t)n * sizeof(uint32_t));
	uint64_t i, number = 0;
	uint32_t which;

	if (!to)
		return emb_wrong(env, "out of memory");
	for (i = 0; i < n; i++) {
		if (emb_u64_of(env, emb_list_get(env, r, i), &number))
			return -1;
		which = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
		memcpy(to + i * sizeof which, &which, sizeof which);
		emb_reset(env, mark);
	}
	return 0;
}

/** The answer of a function that says of each record what is true. */
static int emb_truths(emb_env *env, struct emb_fn *f, emb_value r, uint64_t n)
{
	const int mark = emb_mark(env);
	char *to = emb_answer(f, (size_t)n);
	uint64_t i;

	for (i = 0; to && i < n; i++) {
		to[i] = (char)emb_is_true(env, emb_list_get(env, r, i));
		emb_reset(env, mark);
	}
	return to ? 0 : emb_wrong(env, "out of memory");
}

/** The answer of a function that makes lines: how many, where they end, and they. */
static int emb_made_lines(emb_env *env, struct emb_fn *f, emb_value r)
{
	const int64_t count = emb_list_size(env, r);
	const int mark = emb_mark(env);
	const size_t word = sizeof(uint64_t);
	size_t bytes = 0, size, at;
	uint64_t n, i, end;
	emb_value one;
	char *to;

	if (count < 0)
		return emb_wrong(env, "a function of a stream is to give a list of lines");
	n = (uint64_t)count;
	for (i = 0; i < n; i++, bytes += size) {
		size = 0;
		one = emb_list_get(env, r, i);
		if (!emb_is_bytes(env, one) || !emb_bytes_of(env, one, &size))
			return emb_wrong(env, "a function of a stream is to give lines");
		emb_reset(env, mark);
	}
	to = emb_answer(f, (size_t)(n + 1) * word + bytes);
	if (!to)
		return emb_wrong(env, "out of memory");
	memcpy(to, &n, word);
	for (i = 0, end = 0, at = (size_t)(n + 1) * word; i < n; i++) {
		const char *line;

		size = 0;
		one = emb_list_get(env, r, i);
		line = emb_bytes_of(env, one, &size);
		if (!line || size > f->made.n - at)
			return emb_wrong(env, "a function of a stream is to give lines");
		memcpy(to + at, line, size);
		at += size;
		end += size;
		memcpy(to + (size_t)(i + 1) * word, &end, word);
		emb_reset(env, mark);
	}
	return 0;
}

/** The answer of a function as bytes. */
static int emb_answer_bytes(emb_env *env, struct emb_fn *f, emb_value r, const char *wanted)
{
	size_t size = 0;
	const char *bytes = emb_is_bytes(env, r) ? emb_bytes_of(env, r, &size) : NULL;
	char *to = bytes ? emb_answer(f, size) : NULL;

	if (!to)
		return emb_wrong(env, "a function of a stream is to give %s", wanted);
	memcpy(to, bytes, size);
	return 0;
}

static int emb_ask_body(emb_env *env, struct emb_job *j)
{
	struct emb_fn *f = j->f;
	const int pair = j->change == EMB_PAIR || j->change == EMB_LINE_PAIR;
	const int one = j->change == EMB_SUM || j->change == EMB_PAIR;
	const struct emb_shape *other = f->other ? f->other : f->shape;
	const uint64_t *ends = f->record_bytes ? NULL : (const uint64_t *)j->b;
	int n = ends && j->change != EMB_LINE_SUM ? 1 : pair || j->b ? 2 : j->a ? 1 : 0;
	emb_value argv[3], r;
	int64_t count;
	char *to;

	if (ends && j->change == EMB_LINE_SUM) {
		argv[0] = emb_from_bytes(env, j->a, (size_t)ends[0]);
		argv[1] = emb_lines_out(env, (const char *)j->a, ends, 1, j->n);
	} else if (ends) {
		argv[0] = emb_lines_out(env, (const char *)j->a, ends, 0, j->n);
	} else {
		argv[0] = emb_shown(env, f->shape, j->a, j->n, f->record_bytes, one);
		argv[1] = emb_shown(env, other, j->b, j->total, j->number, j->change == EMB_PAIR);
	}
#ifdef EMB_NIL_IS_EMPTY
	/* Which of them there are. */
	if (pair)
		argv[n++] = emb_from_text(env, !j->a ? "right" : !j->b ? "left" : "both");
#endif
	if (emb_call_fn(env, f, n, argv, &r))
		return -1;
	/* What is nothing may be an empty line. */
	if ((j->change == EMB_LINE_SUM || j->change == EMB_LINE_PAIR) && emb_is_bytes(env, r))
		return emb_answer_bytes(env, f, r, "a line");
	if (j->change == EMB_NOTHING || emb_is_nil(env, r))
		return 0;
	if (j->change == EMB_LINES)
		return emb_made_lines(env, f, r);
	count = one && f->to ? -1 : emb_list_size(env, r);
	if (count >= 0 && j->change == EMB_TRUTHS)
		return emb_truths(env, f, r, (uint64_t)count);
	if (count >= 0 && j->change == EMB_CHOICES)
		return emb_choices(env, f, r, (uint64_t)count);
	if (count >= 0 || (one && f->to)) {
		to = emb_answer(f, (size_t)(count >= 0 ? (uint64_t)count * f->out_bytes : f->out_bytes));
		if (!to)
			return emb_wrong(env, "out of memory");
		if (count >= 0)
			return emb_many_in(env, f->to, 0, r, to, (uint64_t)count, f->out_bytes);
		memset(to, 0, (size_t)f->out_bytes);
		return emb_item_in(env, f->to, 0, r, to);
	}
	return emb_answer_bytes(env, f, r, "records: bytes, or a list of items");
}

/** stream.h: up to two arrays of records; or records of any length, and where they end. */
static int emb_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb)
{
	struct emb_job j = { 0 };

	j.f = f;
	j.a = a;
	j.b = b;
	j.number = f->form == EMB_PAIR || f->form == EMB_LINE_PAIR ? f->other_bytes : f->record_bytes;
	if (f->record_bytes == 0)
		j.n = nb / sizeof(uint64_t);
	else
		j.n = a ? na / f->record_bytes : 0;
	j.total = b && j.number ? nb / j.number : 0;
	j.change = f->form;
	f->made.none = 1;
	f->made.n = 0;
	return emb_do(emb_ask_body, &j);
}

/** Without a function it is there for signals, which interrupt. */
static int emb_progress_body(emb_env *env, struct emb_job *j)
{
	emb_value argv[3], r;

	if (emb_interrupted(env))
		return -1;
	if (!j->f)
		return 0;
	/* Those of a graph have numbers only. */
	argv[0] = j->f->form == EMB_TOLD ? emb_from_u64(env, j->phase) : emb_from_text(env, em_phase_name(j->phase));
	argv[1] = emb_from_u64(env, j->number);
	argv[2] = emb_from_u64(env, j->total);
	if (emb_call_fn(env, j->f, 3, argv, &r))
		return -1;
	j->result = emb_is_true(env, r);
	return 0;
}

static int emb_progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	struct emb_job j = { 0 };

	j.f = (struct emb_fn *)user;
	j.phase = phase;
	j.number = done;
	j.total = total;
	/* The library is about to stop for a function of an order, and to say so: nothing is canceled. */
	return !emb_now.failed && (emb_do(emb_progress_body, &j) || j.result != 0);
}

static int emb_log_body(emb_env *env, struct emb_job *j)
{
	emb_value argv[2], r;

	argv[0] = emb_from_i64(env, j->result);
	argv[1] = emb_from_text(env, j->text);
	return emb_call_fn(env, j->f, 2, argv, &r);
}

/** What goes wrong in it is the error of the call that logs, if that can fail. */
static void emb_log(void *user, int32_t level, const char *line)
{
	struct emb_job j = { 0 };

	if (emb_collecting || !emb_now.env)
		return;
	j.f = (struct emb_fn *)user;
	j.result = level;
	j.text = line;
	(void)emb_do(emb_log_body, &j);
}

#endif
