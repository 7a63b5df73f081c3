/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_engine.c -- spilling, reducing and pulling, when the disk's order is mispredicted and when runs are as uneven as
 * can be.
 *
 * Below the public interface: that is where predictions can be made wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sort/engine.h"
#include "sort/plan_job.h"
#include "sort/sort_model.h"

#define RUN 1500u

/* Spill records in runs of RUN, merge them, and compare what is pulled with the model. */
static void merge_and_compare(uint32_t threads, uint64_t mispredict, uint32_t fan_in, uint32_t prefetch,
			      sort_pattern pattern, uint64_t n)
{
	sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, pattern, n);
	uint64_t expected_n = n, i, at = 0;
	unsigned char *expected = sort_expected(&shape, records, &expected_n, 0);
	em_ctx_opts co = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	emi_needs needs;
	const em_batch *batch;
	em_errinfo err;
	em_order *order;
	emi_engine e;
	em_ctx *ctx;
	em_status st;

	memset(&err, 0, sizeof err);
	co.threads = threads;
	ctx = sort_ctx(&co);
	order = sort_order(ctx, &shape);
	so.run_records = RUN;
	so.block_bytes = 4096;
	so.fan_in = fan_in;
	so.read_buffers = prefetch;
	so.write_buffers = 3;
	assert_int_equal(emi_engine_open(&e, ctx, order, &so, &err), EM_OK);
	memset(&needs, 0, sizeof needs);
	needs.n = n;
	assert_int_equal(emi_job_plan(&e.job, &needs, &err), EM_OK);
	e.job.mispredict = mispredict;
	assert_int_equal(emi_engine_prepare(&e, &err), EM_OK);
	for (i = 0; i < n; i += RUN) {
		uint64_t some = n - i < RUN ? n - i : RUN;

		assert_int_equal(emi_engine_spill(&e, records + i * 16, some, &err), EM_OK);
	}
	assert_int_equal(emi_engine_reduce(&e, &err), EM_OK);
	assert_true(e.job.runs.n <= fan_in);
	assert_int_equal(emi_engine_pull_begin(&e, NULL, 0, &err), EM_OK);
	while ((st = emi_engine_pull(&e, &batch, &err)) == EM_OK) {
		assert_true(at + batch->n <= n);
		assert_memory_equal(batch->records, expected + at * 16, batch->bytes);
		at += batch->n;
	}
	assert_int_equal(st, EM_END);
	assert_true(at == n);
	/* Everything was read, so nothing is left on the disk. */
	assert_true(emi_disk_used(e.job.runs.scratch) == 0);
	emi_engine_close(&e);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

/* 20 runs of 6 blocks each: with one merge, and with several passes. */
static void test_wrong_predictor(void **state)
{
	static const uint64_t salts[] = { 1, UINT64_C(0x123456789abcdef), UINT64_MAX };
	static const uint32_t fans[] = { 2, 5, 20 };
	uint32_t threads;
	size_t i, j;
	int p;

	(void)state;
	for (i = 0; i < sizeof salts / sizeof *salts; i++)
		for (j = 0; j < sizeof fans / sizeof *fans; j++)
			for (threads = 1; threads <= 3; threads += 2)
				for (p = 0; p < SORT_PATTERNS; p++)
					if (!test_left_out())
						merge_and_compare(threads, salts[i], fans[j], 1, (sort_pattern)p,
								  30000);
}

static void test_right_predictor(void **state)
{
	uint32_t threads;
	int p;

	(void)state;
	for (threads = 1; threads <= 4; threads++)
		for (p = 0; p < SORT_PATTERNS; p++)
			merge_and_compare(threads, 0, 20, 1 + threads, (sort_pattern)p, 29999);
}

/* A last run of one record beside full ones. */
static void test_tiny_run(void **state)
{
	(void)state;
	merge_and_compare(2, 0, 11, 2, SORT_RANDOM, 10 * RUN + 1);
	merge_and_compare(2, 7, 2, 1, SORT_ORGAN_PIPE, 10 * RUN + 1);
	merge_and_compare(1, 0, 2, 1, SORT_FEW, 2 * RUN + 1);
}

static int inconsistent(const void *a, const void *b, void *user)
{
	uint64_t *calls = user;

	(void)a;
	(void)b;
	return (int)(++*calls % 3) - 1;
}

/* More runs than there are output buffers, blocks of one record, and runs of one: what is pulled must never need more
 * buffers than there are, not even by an order that contradicts itself. */
static void test_one_record_each(void **state)
{
	enum { N = 40, BYTES = 4000 };
	sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N);
	uint64_t n = N, calls = 0;
	unsigned char *expected = sort_expected(&shape, records, &n, 0);
	em_ctx_opts co = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	const em_batch *batch;
	em_sorter *sorter;
	em_order *order;
	em_ctx *ctx;
	em_status st;

	(void)state;
	for (co.threads = 1; co.threads <= 4; co.threads++) {
		ctx = sort_ctx(&co);
		order = sort_order(ctx, &shape);
		so.run_records = 1;
		so.block_bytes = 4096;
		so.fan_in = N;
		so.write_buffers = 3;
		sort_assert_sorter(ctx, order, &so, &rng, &shape, records, N, expected, N, NULL);
		em_order_close(order);
		assert_int_equal(em_order_cmp(&order, ctx, BYTES, NULL, inconsistent, 0, &calls, NULL, NULL), EM_OK);
		assert_int_equal(em_sorter_open(&sorter, ctx, order, &so), EM_OK);
		assert_int_equal(em_sorter_push(sorter, records, N), EM_OK);
		assert_int_equal(em_sorter_finish(sorter), EM_OK);
		n = 0;
		while ((st = em_sorter_next(sorter, &batch)) == EM_OK)
			n += batch->n;
		assert_int_equal(st, EM_END);
		assert_int_equal(n, N);
		em_sorter_close(sorter);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(records);
	free(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_predictor),
		cmocka_unit_test(test_right_predictor),
		cmocka_unit_test(test_tiny_run),
		cmocka_unit_test(test_one_record_each),
	};

	return cmocka_run_group_tests_name("sort/engine", tests, NULL, NULL);
}
