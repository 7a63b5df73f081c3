/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorter_clear.c -- a sorter that was cleared at any time sorts what comes then, and nothing else, and leaves
 * nothing behind; also when it had failed, was canceled, or clearing failed the first time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

#define MOST 400000u

typedef struct bench {
	em_ctx *ctx;
	em_order *order;
	em_sorter *s;
	test_rng rng;
	uint64_t *in, *out;
} bench;

static void bench_open(bench *b, const char *text, const em_sort_opts *opts)
{
	em_key key = EM_KEY_INIT;

	key.type = EM_KEY_U64;
	b->rng = test_rng_make(test_seed());
	assert_int_equal(em_ctx_open_text(&b->ctx, text, NULL), EM_OK);
	assert_int_equal(em_order_keys(&b->order, b->ctx, 8, &key, 1, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&b->s, b->ctx, b->order, opts), EM_OK);
	b->in = malloc(MOST * sizeof *b->in);
	b->out = malloc(MOST * sizeof *b->out);
	assert_true(b->in != NULL && b->out != NULL);
}

static void bench_close(bench *b)
{
	em_sorter_close(b->s);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	free(b->in);
	free(b->out);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Go some way with n records: 0 pushed, 1 finished, 2 some were read, 3 all were. */
static void go(bench *b, uint64_t n, uint64_t way)
{
	uint64_t got;

	test_fill(&b->rng, b->in, (size_t)n * sizeof *b->in);
	assert_int_equal(em_sorter_push(b->s, b->in, n), EM_OK);
	if (way == 0)
		return;
	assert_int_equal(em_sorter_finish(b->s), EM_OK);
	if (way == 2)
		assert_true(em_cursor_read(em_sorter_cursor(b->s), b->out, MOST / 9, NULL, MOST, &got) >= EM_OK);
	if (way != 3)
		return;
	qsort(b->in, (size_t)n, sizeof *b->in, by_value);
	assert_int_equal(em_cursor_read(em_sorter_cursor(b->s), b->out, MOST * sizeof *b->out, NULL, MOST, &got),
			 n != 0 ? EM_OK : EM_END);
	assert_true(got == n);
	assert_memory_equal(b->in, b->out, (size_t)n * sizeof *b->in);
	assert_int_equal(em_cursor_read(em_sorter_cursor(b->s), b->out, 8, NULL, 1, &got), EM_END);
}

static void test_any_time(void **state)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	uint64_t i, n;
	bench b;

	(void)state;
	bench_open(&b, "memory=2M,threads=2", NULL);
	for (i = 0; i < 30; i++) {
		/* Few, or runs. */
		n = test_below(&b.rng, i % 3 == 0 ? 500 : MOST);
		go(&b, n, i % 5 < 4 ? i % 5 : 3);
		assert_int_equal(em_sorter_clear(b.s), EM_OK);
		assert_true(em_sorter_pushed(b.s) == 0);
		assert_int_equal(em_sorter_stats_get(b.s, &stats), EM_OK);
		assert_true(stats.records_in == 0 && stats.runs == 0);
	}
	go(&b, MOST, 3);
	bench_close(&b);
}

static void test_failed(void **state)
{
	em_status st = EM_OK;
	bench b;
	int i;

	(void)state;
	bench_open(&b, "memory=2M,scratch-max=1M", NULL);
	test_fill(&b.rng, b.in, MOST * sizeof *b.in);
	for (i = 0; i < 10 && st == EM_OK; i++)
		st = em_sorter_push(b.s, b.in, MOST);
	assert_int_equal(st, EM_ERR_NOSPACE);
	assert_int_equal(em_sorter_push(b.s, b.in, 1), EM_ERR_NOSPACE);
	assert_int_equal(em_sorter_clear(b.s), EM_OK);
	go(&b, 10000, 3);
	assert_int_equal(em_sorter_clear(b.s), EM_OK);
	em_sorter_cancel(b.s);
	assert_int_equal(em_sorter_push(b.s, b.in, 1), EM_ERR_CANCELED);
	assert_int_equal(em_sorter_clear(b.s), EM_OK);
	go(&b, 1000, 3);
	bench_close(&b);
}

/* The context was: that stays. */
static void test_canceled(void **state)
{
	em_errinfo err;
	bench b;

	(void)state;
	bench_open(&b, "memory=2M", NULL);
	em_ctx_cancel(b.ctx);
	assert_int_equal(em_sorter_clear(b.s), EM_ERR_CANCELED);
	em_sorter_error(b.s, &err);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	bench_close(&b);
}

/* The caller's options may be gone. */
static void test_options(void **state)
{
	em_sort_opts *o = malloc(sizeof *o);
	bench b;

	(void)state;
	assert_non_null(o);
	em_sort_opts_init(o, sizeof *o);
	o->flags = EM_SORT_UNIQUE;
	bench_open(&b, "memory=4M", o);
	memset(o, 0x77, sizeof *o);
	free(o);
	go(&b, 100, 3);
	assert_int_equal(em_sorter_clear(b.s), EM_OK);
	b.in[0] = b.in[1] = 7;
	assert_int_equal(em_sorter_push(b.s, b.in, 2), EM_OK);
	assert_int_equal(em_sorter_finish(b.s), EM_OK);
	{
		const em_batch *batch;

		assert_int_equal(em_sorter_next(b.s, &batch), EM_OK);
		assert_int_equal(batch->n, 1);
	}
	bench_close(&b);
}

/* Each allocation of opening, clearing and sorting fails in its turn; then it is cleared again. */
static void test_memory_fails(void **state)
{
	static const uint64_t in[] = { 2, 1 };
	em_ctx_opts co = EM_CTX_OPTS_INIT;
	uint64_t fail = 0, out[2], got;
	test_memory mem;
	em_order *order;
	em_sorter *s;
	em_status st;
	em_ctx *ctx;

	(void)state;
	co.memory = 4 << 20;
	co.allocator = &mem.allocator;
	do {
		fail = test_nth_after(fail, 1);
		test_memory_init(&mem, 0);
		assert_int_equal(em_ctx_open(&ctx, &co), EM_OK);
		assert_int_equal(em_order_keys(&order, ctx, 8, NULL, 0, NULL), EM_OK);
		assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
		assert_int_equal(em_sorter_push(s, in, 2), EM_OK);
		mem.fail_at = mem.calls + fail;
		st = em_sorter_clear(s);
		if (st == EM_OK)
			st = em_sorter_push(s, in, 2);
		if (st == EM_OK)
			st = em_sorter_finish(s);
		if (st == EM_OK)
			st = em_cursor_read(em_sorter_cursor(s), out, sizeof out, NULL, 2, &got);
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
		if (st == EM_ERR_NOMEM) {
			em_sort_stats stats = EM_SORT_STATS_INIT;

			assert_int_equal(em_sorter_push(s, in, 1), EM_ERR_NOMEM);
			assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
			assert_int_equal(em_sorter_clear(s), EM_OK);
			assert_int_equal(em_sorter_push(s, in, 2), EM_OK);
			assert_int_equal(em_sorter_finish(s), EM_OK);
			assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, sizeof out, NULL, 2, &got), EM_OK);
		}
		assert_true(got == 2 && out[0] == 1 && out[1] == 2);
		em_sorter_close(s);
		em_order_close(order);
		em_ctx_close(ctx);
		test_memory_assert_clean(&mem);
	} while (test_memory_failed(&mem));
	assert_true(fail > 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_time),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_canceled),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_memory_fails),
	};

	return cmocka_run_group_tests_name("sort/sorter_clear", tests, NULL, NULL);
}
