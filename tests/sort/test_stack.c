/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_stack.c -- a thread with the least stack that the manual names does each kind of work, with each instruction set
 * and some threads more.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define STACK ((size_t)64 << 10)
#define RECORDS 60000u
#define RECORD 16u
#define MEMORY ((uint64_t)8 << 20)

enum { SORT, SORTER, MERGE, UNIQUE, TOP, SHUFFLE, OPERATIONS };

static const char *const names[OPERATIONS] = { "sort", "sorter", "merge", "unique", "top", "shuffle" };

typedef struct place {
	char *dir, *in, *out, *sorted;
	unsigned char *records; /* RECORDS of RECORD bytes, each a line too */
} place;

/* What a thread does, and how it went.  It may not fail a test itself. */
typedef struct work {
	const place *p;
	int what;
	em_ctx *ctx;
	em_order *order;
	uint64_t record_bytes;  /* 0: lines */
	em_format format;
	em_errinfo err;
	em_status status;
} work;

static place place_make(void)
{
	test_rng rng = test_rng_make(test_seed());
	place p;
	size_t i;

	p.dir = test_dir_make();
	p.in = test_path(p.dir, "in");
	p.out = test_path(p.dir, "out");
	p.sorted = test_path(p.dir, "sorted");
	p.records = malloc((size_t)RECORDS * RECORD + 1);
	assert_non_null(p.records);
	for (i = 0; i < RECORDS; i++)
		snprintf((char *)p.records + i * RECORD, RECORD + 1, "%07u,%07u\n", (unsigned)test_below(&rng, 1000000),
			 (unsigned)test_below(&rng, 1000000));
	sort_write_file(p.in, p.records, (size_t)RECORDS * RECORD);
	return p;
}

static void place_free(place *p)
{
	test_dir_remove(p->dir);
	free(p->in);
	free(p->out);
	free(p->sorted);
	free(p->records);
}

static em_status push_lines(const work *w, em_sorter *s)
{
	uint64_t end[64];
	em_batch b;
	em_status st = EM_OK;
	size_t i, k;

	memset(&b, 0, sizeof(b));
	for (k = 0; k < 64; k++)
		end[k] = (k + 1) * RECORD;
	for (i = 0; i + 64 <= RECORDS && st == EM_OK; i += 64) {
		b.records = w->p->records + i * RECORD;
		b.n = 64;
		b.bytes = 64 * RECORD;
		b.ends = end;
		st = em_sorter_push_batch(s, b.records, b.ends, b.n);
	}
	return st;
}

static em_status push_and_pull(const work *w, const em_sort_opts *opts)
{
	const em_batch *batch;
	em_sorter *s;
	em_status st = em_sorter_open(&s, w->ctx, w->order, opts);

	if (st != EM_OK)
		return st;
	st = w->record_bytes != 0 ? em_sorter_push(s, w->p->records, RECORDS) : push_lines(w, s);
	if (st == EM_OK)
		st = em_sorter_finish(s);
	do {
		if (st == EM_OK)
			st = em_sorter_next(s, &batch);
	} while (st == EM_OK && batch != NULL && batch->n != 0);
	em_sorter_close(s);
	return st == EM_END ? EM_OK : st;
}

static em_status do_work(work *w)
{
	const char *in[2] = { w->p->in, w->p->in };
	em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	em_shuffle_opts shuffle = EM_SHUFFLE_OPTS_INIT;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_status st;

	opts.errinfo = &w->err;
	opts.format = w->record_bytes != 0 ? NULL : &w->format;
	shuffle.errinfo = &w->err;
	shuffle.format = opts.format;
	unique.sort = &opts;
	switch (w->what) {
	case SORT: return em_sort_files(w->ctx, w->order, in, 2, w->p->out, &opts, NULL);
	case SORTER: return push_and_pull(w, &opts);
	case UNIQUE: return em_unique_files(w->ctx, w->order, in, 2, w->p->out, &unique, NULL);
	case TOP: return em_top_files(w->ctx, w->order, in, 2, 0, 5000, w->p->out, &opts, NULL);
	case SHUFFLE: return em_shuffle_files(w->ctx, w->record_bytes, in, 2, w->p->out, &shuffle, NULL);
	default: break;
	}
	st = em_sort_files(w->ctx, w->order, in, 1, w->p->sorted, &opts, NULL);
	in[0] = in[1] = w->p->sorted;
	return st != EM_OK ? st : em_merge_files(w->ctx, w->order, in, 2, w->p->out, &opts, NULL);
}

static void *in_thread(void *arg)
{
	work *w = arg;

	w->status = do_work(w);
	return NULL;
}

static void run_all(work *w, const char *what)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
	for (w->what = 0; w->what < OPERATIONS; w->what++) {
		memset(&w->err, 0, sizeof(w->err));
		assert_int_equal(pthread_create(&thread, &attr, in_thread, w), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		if (w->status != EM_OK)
			fail_msg("%s, %s: status %d, %s", names[w->what], what, (int)w->status, w->err.text);
	}
	pthread_attr_destroy(&attr);
}

static int by_bytes(const void *a, const void *b, void *arg)
{
	(void)arg;
	return memcmp(a, b, RECORD);
}

static em_ctx *open_ctx(const char *isa, uint32_t threads)
{
	em_ctx_opts opts = sort_ctx_opts();

	opts.isa = isa;
	opts.threads = threads;
	opts.memory = MEMORY;
	return sort_ctx(&opts);
}

static void with_kernels(const place *p, const char *isa, uint32_t threads)
{
	static const struct {
		int32_t type;
		size_t width;
	} keys[] = { { EM_KEY_U32, 4 }, { EM_KEY_U64, 8 }, { EM_KEY_BYTES, 16 }, { EM_KEY_BYTES, 10 } };
	work w = { .p = p, .ctx = open_ctx(isa, threads), .record_bytes = RECORD };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const sort_shape shape = sort_shape_of(keys[i].type, keys[i].width, 0, RECORD);

		w.order = sort_order(w.ctx, &shape);
		run_all(&w, "records");
		em_order_close(w.order);
	}
	assert_int_equal(em_order_cmp(&w.order, w.ctx, RECORD, "bytes", by_bytes, EM_FN_THREADS, NULL, NULL, NULL),
			 EM_OK);
	run_all(&w, "own comparison");
	em_order_close(w.order);
	w.record_bytes = 0;
	for (i = 0; i < LINES_ORDERS; i++) {
		w.format = lines_format(i % 2 == 0 ? 0 : 10);
		w.order = lines_order(w.ctx, (int)i);
		run_all(&w, i % 2 == 0 ? "lines" : "CSV");
		em_order_close(w.order);
	}
	em_ctx_close(w.ctx);
}

static void test_small_stacks(void **state)
{
	static const char *const isas[] = { "scalar", "avx2", "avx512" };
	place p;
	size_t i;

	(void)state;
	/* Sanitizers have frames of their own. */
	if (TEST_SHADOW)
		skip();
	p = place_make();
	for (i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		em_ctx_opts opts = sort_ctx_opts();
		em_ctx *ctx;

		opts.isa = isas[i];
		if (em_ctx_open(&ctx, &opts) != EM_OK)
			continue;
		em_ctx_close(ctx);
		with_kernels(&p, isas[i], 1);
		with_kernels(&p, isas[i], 4);
	}
	place_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_stacks),
	};

	return cmocka_run_group_tests_name("sort/stack", tests, NULL, NULL);
}
