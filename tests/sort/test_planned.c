/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_planned.c -- what a plan says is what a sort then does, in the least memory too; and making one touches nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "base/workers.h"
#include "block/packer.h"
#include "sort/plan_case.h"

/* Saying what would be done does nothing. */
static void test_no_io(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_plan_info info;
	uint64_t before;
	em_fault fault;
	planner p;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	fault.ops = EM_FAULT_ALL | EM_FAULT_SUBMIT;
	opts.backend = NULL;
	opts.custom = em_fault_backend(&fault);
	p.ctx = sort_ctx(&opts);
	p.order = sort_order(p.ctx, &shape);
	before = em_ctx_memory_used(p.ctx);
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	assert_int_equal(em_sort_plan(p.ctx, p.order, 100000000, NULL, &info), EM_OK);
	assert_int_equal(fault.count, 0);
	assert_int_equal(em_ctx_memory_used(p.ctx), before);
	assert_true(info.passes >= 2);
	assert_int_equal(info.bytes_read, info.passes * (uint64_t)1600000000);
	assert_int_equal(info.bytes_written, info.bytes_read);
	assert_true(info.scratch >= 1600000000);
	assert_true(info.memory_min <= info.memory && info.memory <= opts.memory);
	planner_close(&p);
}

/* What the plan says of a sort is what the sort then does. */
static void test_as_planned(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	const uint64_t n = 230000;
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_plan_info info;
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_sort_stats stats;
	em_errinfo err;
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const char *const inputs[] = { in };
	unsigned char *records;
	em_order *order;
	em_ctx *ctx;
	uint64_t share;

	(void)state;
	records = sort_records(&(test_rng){ 1 }, &shape, SORT_RANDOM, n);
	sort_write_file(in, records, (size_t)n * 16);
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, &shape);
	so.errinfo = &err;
	for (share = 1; share <= 8; share *= 2) {
		uint64_t before = em_ctx_memory_used(ctx);

		so.memory = share << 20;
		so.block_bytes = 8192;
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		assert_int_equal(em_sort_plan(ctx, order, n, &so, &info), EM_OK);
		assert_true(info.memory <= so.memory);
		memset(&stats, 0, sizeof(stats));
		stats.size = sizeof(stats);
		if (em_sort_files(ctx, order, inputs, 1, out, &so, &stats) != EM_OK)
			fail_msg("%s", err.text);
		assert_int_equal(stats.passes, info.passes);
		assert_int_equal(stats.runs, info.runs);
		assert_int_equal(stats.block_bytes, info.block_bytes);
		assert_true(stats.peak_scratch <= info.scratch + info.scratch / 50);
		assert_int_equal(em_ctx_memory_used(ctx), before);
	}
	em_order_close(order);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	free(in);
	free(out);
	free(records);
}

/* A context whose memory is more than enough.  Stacks of threads are nobody's share. */
static em_ctx *roomy(const em_ctx_opts *opts)
{
	em_ctx_opts large = *opts;
	em_ctx *ctx;

	large.memory = 64u << 20;
	ctx = sort_ctx(&large);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	return ctx;
}

/* No more than its share was used for this sort. */
static void assert_used(const em_ctx *ctx, uint64_t before, const em_sort_opts *so)
{
	if (em_ctx_memory_peak(ctx) - before > so->memory)
		fail_msg("%llu bytes were used, not %llu, compress %d",
			 (unsigned long long)(em_ctx_memory_peak(ctx) - before), (unsigned long long)so->memory,
			 (int)so->compress);
}

/* A share of a large one: the least that is named does, and is not exceeded.  Each sort has a context of its own: a
 * peak never goes down. */
static void assert_share_pushed(const sort_shape *shape, const unsigned char *records, uint64_t n,
				const unsigned char *expected, const em_ctx_opts *opts, const em_sort_opts *how)
{
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts so = *how;
	em_ctx *ctx = roomy(opts);
	em_order *order = sort_order(ctx, shape);
	em_errinfo err;
	em_sorter *s;
	uint64_t before;

	so.errinfo = &err;
	so.memory = 1;
	assert_int_equal(em_sorter_open(&s, ctx, order, &so), EM_ERR_MEMLIMIT);
	so.memory = err.bytes;
	before = em_ctx_memory_used(ctx);
	sort_assert_sorter(ctx, order, &so, &rng, shape, records, n, expected, n, NULL);
	assert_used(ctx, before, &so);
	em_order_close(order);
	em_ctx_close(ctx);
}

static void assert_share_files(const sort_shape *shape, const char *const *inputs, const char *out,
			       const unsigned char *expected, size_t bytes, const em_ctx_opts *opts,
			       const em_sort_opts *how)
{
	em_sort_opts so = *how;
	em_ctx *ctx = roomy(opts);
	em_order *order = sort_order(ctx, shape);
	em_errinfo err;
	uint64_t before;

	so.errinfo = &err;
	so.memory = 1;
	assert_int_equal(em_sort_files(ctx, order, inputs, 1, out, &so, NULL), EM_ERR_MEMLIMIT);
	so.memory = err.bytes;
	before = em_ctx_memory_used(ctx);
	if (em_sort_files(ctx, order, inputs, 1, out, &so, NULL) != EM_OK)
		fail_msg("%s", err.text);
	sort_assert_file(out, expected, bytes);
	assert_used(ctx, before, &so);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* In the least memory that is named a sort really works; and the least is named by whoever refuses. */
static void test_least_works(void **state)
{
	const size_t bytes[] = { 1, 8, 16, 100, 5000 };
	static const char *const backends[] = { "memory", "syscall", "libaio", "io_uring", "stdio", "mmap" };
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const char *const inputs[] = { in };
	uint32_t threads;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		const sort_shape shape = sort_shape_of(EM_KEY_BYTES, bytes[i] < 10 ? bytes[i] : 10, 0, bytes[i]);
		const uint64_t n = 2000000 / (bytes[i] + 4);
		test_rng rng = test_rng_make(test_seed());
		unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n), *expected;
		uint64_t m = n;

		expected = sort_expected(&shape, records, &m, 0);
		sort_write_file(in, records, (size_t)n * bytes[i]);
		for (threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
			em_ctx_opts opts = sort_ctx_opts();
			em_sort_opts so = EM_SORT_OPTS_INIT;
			em_errinfo err;
			em_ctx *ctx;
			em_order *order;
			em_sort_stats stats;
			em_status st;
			int tries;

			opts.threads = threads;
			opts.backend = em_backend_find(backends[threads % 6]) != NULL ? backends[threads % 6] : NULL;
			opts.memory = em_ctx_min_memory();
			so.errinfo = &err;
			/* The context's memory is what is too little.  What is missing first is named, so it may take
			 * some steps; but a sort that has begun never finds too little. */
			for (tries = 0;; tries++) {
				ctx = sort_ctx(&opts);
				order = sort_order(ctx, &shape);
				memset(&stats, 0, sizeof(stats));
				stats.size = sizeof(stats);
				st = em_sort_files(ctx, order, inputs, 1, out, &so, &stats);
				em_order_close(order);
				em_ctx_close(ctx);
				if (st != EM_ERR_MEMLIMIT)
					break;
				assert_int_equal(stats.records_in, 0);
				if (tries == 20)
					fail_msg("%llu bytes do not do: %s", (unsigned long long)opts.memory, err.text);
				opts.memory = (err.bytes > opts.memory ? err.bytes : opts.memory) + 65536;
			}
			if (st != EM_OK)
				fail_msg("%s", err.text);
			sort_assert_file(out, expected, (size_t)n * bytes[i]);
			assert_share_pushed(&shape, records, n, expected, &opts, &so);
			assert_share_files(&shape, inputs, out, expected, (size_t)n * bytes[i], &opts, &so);
			/* With buffers that blocks are compressed in, too, in blocks that no slack hides. */
			if (!emi_packer_supported())
				continue;
			so.compress = EM_COMPRESS_ALWAYS;
			so.block_bytes = 128u << 10;
			assert_share_pushed(&shape, records, n, expected, &opts, &so);
			assert_share_files(&shape, inputs, out, expected, (size_t)n * bytes[i], &opts, &so);
		}
		free(records);
		free(expected);
	}
	test_dir_remove(dir);
	free(in);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_io),
		cmocka_unit_test(test_as_planned),
		cmocka_unit_test(test_least_works),
	};

	return cmocka_run_group_tests_name("planned", tests, NULL, NULL);
}
