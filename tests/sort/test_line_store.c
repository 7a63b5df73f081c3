/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_line_store.c -- records of any length in memory: a store that is full says so and keeps what it has, and says
 * what its records have in common.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sort/plan_job.h"
#include "sort/store_bench.h"
#include "sort/sort_model.h"

/* A full store says so, keeps what it has, and says how much the record needs. */
static void test_full(void **state)
{
	int which;

	(void)state;
	for (which = 0; which < 3; which++) {
		unsigned char record[300];
		size_t need = 0, made, i;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, which, 0, 1, NULL);
		bench_resize(&b, 20000);
		memset(record, 'r', sizeof(record));
		for (i = 0; i < 20000; i++) {
			const size_t n = (size_t)test_below(&b.rng, sizeof(record));

			record[0] = (unsigned char)test_below(&b.rng, 10);
			need = 0;
			if (!emi_line_store_add(&b.store, record, n, &need)) {
				emi_frame_make(emi_order_vary(b.order), record, n, NULL, 0, &made);
				assert_true(need == made);
				break;
			}
			lines_add(&b.in, record, n);
		}
		assert_true(b.in.n > 10 && b.store.n == b.in.n);
		sorted = bench_sorted(&b, 0, b.in.n);
		assert_int_equal(bench_send(&b, 0, &records, &err), EM_OK);
		bench_assert_got(&b, &sorted);
		emi_line_store_clear(&b.store);
		assert_true(b.store.n == 0 && b.store.out == 0);
		assert_int_equal(emi_line_store_add(&b.store, record, 5, &need), 1);
		lines_free(&sorted);
		bench_close(&b);
	}
}

static void test_most(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	unsigned i;
	size_t need;
	bench b;

	(void)state;
	opts.run_records = 7;
	bench_open(&b, 0, 0, 1, &opts);
	for (i = 0; i < 7; i++)
		assert_int_equal(emi_line_store_add(&b.store, "abc", 3, &need), 1);
	need = 0;
	assert_int_equal(emi_line_store_add(&b.store, "abc", 3, &need), 0);
	assert_true(need >= 4);
	assert_true(b.store.n == 7);
	bench_close(&b);
}

/* One record is different from byte `at' on: what all have in common ends there, wherever that record comes. */
static void test_common(void **state)
{
	size_t at, i;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (at = 0; at < 26; at++) {
			unsigned char record[40];
			uint64_t records;
			em_errinfo err;
			lines sorted;
			size_t odd;
			bench b;

			bench_open(&b, which, 0, 1, NULL);
			odd = (size_t)test_below(&b.rng, 50);
			for (i = 0; i < 50; i++) {
				memset(record, 'c', sizeof(record));
				record[30] = (unsigned char)('a' + test_below(&b.rng, 20));
				record[at] = i == odd ? 'b' : 'c';
				lines_add(&b.in, record, i % 7 == 5 ? 31 : sizeof(record));
			}
			sorted = bench_sorted(&b, 0, b.in.n);
			bench_add_all(&b);
			bench_assert_common(&b, 0, b.in.n);
			if (!emi_order_vary(b.order)->keyed)
				assert_true(b.store.common == at);
			assert_int_equal(bench_send(&b, 0, &records, &err), EM_OK);
			bench_assert_got(&b, &sorted);
			lines_free(&sorted);
			bench_close(&b);
		}
	}
}

static void test_out_of_memory(void **state)
{
	const emi_needs needs = { .n = EMI_UNKNOWN, .files = 2, .bytes = EMI_UNKNOWN };
	em_ctx_opts co = sort_ctx_opts();
	em_status st = EM_ERR_NOMEM;
	em_errinfo err;
	test_memory mem;
	em_order *order;
	emi_line_store store;
	emi_job job;
	em_ctx *ctx;
	uint64_t n;

	(void)state;
	test_memory_init(&mem, 0);
	co.allocator = &mem.allocator;
	ctx = sort_ctx(&co);
	order = lines_order(ctx, 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_job_open(&job, ctx, order, NULL, &err), EM_OK);
	assert_int_equal(emi_job_plan(&job, &needs, &err), EM_OK);
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		assert_true(n < 20 || !test_sweeps());
		memset(&err, 0, sizeof(err));
		mem.fail_at = mem.calls + n;
		st = emi_line_store_init(&store, &job, 100000, &err);
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
	}
	assert_true(n > 3);
	emi_line_store_free(&store);
	emi_job_close(&job);
	em_order_close(order);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("line store", tests, NULL, NULL);
}
