/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_widest.c -- what a merge or a sort of files tells of how many it merged at once: the most, in whichever of
 * its merges, or in whichever part, that was.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sort/files_case.h"

/* An input of lines with numbers from `first' on. */
static void add_numbers(files_case *c, const em_order *order, size_t first, size_t n)
{
	lines l = { 0 };
	char line[40];
	size_t i;

	for (i = 0; i < n; i++)
		lines_add(&l, line, (size_t)snprintf(line, sizeof line, "%08u and more", (unsigned)(first + i)));
	case_lines(c, order, &l, 1, 0);
}

/* Groups are as even as can be, so that the last one, and the merge of what they became, may have fewer. */
static void test_groups(void **state)
{
	static const struct {
		uint32_t inputs, fan_in, widest;
	} ways[] = {
		{ 1, 0, 1 }, { 2, 0, 2 }, { 5, 0, 5 }, { 5, 5, 5 }, { 5, 6, 5 },
		{ 7, 4, 4 }, { 5, 4, 3 }, { 9, 3, 3 }, { 10, 9, 5 }, { 6, 2, 2 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof ways / sizeof *ways; i++) {
		em_ctx *ctx = case_ctx(32 * MIB, 0, 1);
		em_order *order = lines_order(ctx, 0);
		files_case c = case_make(NULL);
		uint32_t k;

		for (k = 0; k < ways[i].inputs; k++)
			add_numbers(&c, order, k, 200);
		c.opts.fan_in = ways[i].fan_in;
		c.opts.block_bytes = 8192;
		case_merge_ok(&c, ctx, order);
		case_assert_sorted(&c, order);
		assert_int_equal(c.stats.fan_in, ways[i].widest);
		assert_int_equal(c.stats.passes, ways[i].widest == ways[i].inputs ? 1 : ways[i].inputs == 6 ? 3 : 2);
		case_close(&c, ctx, order);
	}
}

/* A large file, one with what comes before most of that, and one with what comes behind: no part of the merge has
 * all. */
static void test_parts(void **state)
{
	uint32_t threads;

	(void)state;
	for (threads = 1; threads <= 2; threads++) {
		em_ctx *ctx = case_ctx(64 * MIB, 0, threads);
		em_order *order = lines_order(ctx, 0);
		files_case c = case_make(NULL);

		add_numbers(&c, order, 100000, 240000);
		add_numbers(&c, order, 90000, 18000);
		add_numbers(&c, order, 332000, 18000);
		case_merge_ok(&c, ctx, order);
		case_assert_sorted(&c, order);
		assert_int_equal(c.stats.fan_in, threads == 1 ? 3 : 2);
		case_close(&c, ctx, order);
	}
}

/* Runs that are formed: all of them at once, if that may be. */
static void test_runs(void **state)
{
	static const uint32_t runs[] = { 2, 5, 9 };
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 0; i < sizeof runs / sizeof *runs; i++) {
		em_ctx *ctx = case_ctx(32 * MIB, 0, 1);
		em_order *order = sort_order(ctx, &shape);
		files_case c = case_make(&shape);
		const char *paths[CASE_FILES];

		case_records(&c, &rng, SORT_RANDOM, 1000 * runs[i], 0);
		c.opts.run_records = 1000;
		c.opts.block_bytes = 4096;
		c.opts.last_run = EM_LAST_RUN_WRITTEN;
		case_begin(&c, paths);
		if (em_sort_files(ctx, order, paths, c.n, c.out, &c.opts, &c.stats) != EM_OK)
			fail_msg("%s", c.err.text);
		assert_int_equal(c.stats.runs, runs[i]);
		assert_int_equal(c.stats.fan_in, runs[i]);
		case_close(&c, ctx, order);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_runs),
	};

	return cmocka_run_group_tests_name("merge_widest", tests, NULL, NULL);
}
