/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_task_mix.c -- sorts of bare keys whose runs are mixed: every way to turn a record into a key, few runs and
 * more than a mix takes, threads, instruction sets.
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

#include "kern/kern.h"
#include "sort/sort_model.h"

#define N 30000u

static const struct {
	int32_t type;
	uint32_t flags;
	size_t bytes;
} kinds[] = {
	{ EM_KEY_U32, 0, 4 },
	{ EM_KEY_U64, 0, 8 },
	{ EM_KEY_U64, EM_KEY_DESCENDING, 8 },
	{ EM_KEY_I64, EM_KEY_BIG_ENDIAN, 8 },
	{ EM_KEY_F32, EM_KEY_DESCENDING | EM_KEY_BIG_ENDIAN, 4 },
	{ EM_KEY_F64, 0, 8 },
	{ EM_KEY_U64, 0, 16 },
	{ EM_KEY_I64, EM_KEY_DESCENDING, 16 },
};

/* Sort N records in so many runs, all merged at once. */
static void one_sort(test_rng *rng, const sort_shape *shape, sort_pattern pattern, uint64_t runs, uint32_t threads,
		     const char *isa)
{
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_opts how = EM_SORT_OPTS_INIT;
	em_sort_stats stats;
	unsigned char *records, *expected;
	uint64_t n = N;
	em_order *order;
	em_ctx *ctx;

	opts.threads = threads;
	opts.isa = isa;
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, shape);
	how.run_records = N / runs + 1;
	how.block_bytes = 4096;
	how.fan_in = (uint32_t)runs;
	records = sort_records(rng, shape, pattern, N);
	expected = sort_expected(shape, records, &n, 0);
	sort_assert_sorter(ctx, order, &how, rng, shape, records, N, expected, n, &stats);
	assert_int_equal(stats.passes, 2);
	assert_true(stats.runs + 1 >= runs);
	free(records);
	free(expected);
	em_order_close(order);
	em_ctx_close(ctx);
}

static void test_mixes(void **state)
{
	static const uint64_t runs[] = { 2, 3, 40, EMI_MIX_MOST + 40 };
	static const char *const isas[] = { NULL, "scalar" };
	test_rng rng = test_rng_make(test_seed());
	unsigned kind, pattern, i;

	(void)state;
	for (kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		const sort_shape shape = sort_shape_of(kinds[kind].type, 0, kinds[kind].flags, kinds[kind].bytes);

		for (pattern = 0; pattern < SORT_PATTERNS; pattern++)
			for (i = 0; i < sizeof runs / sizeof *runs; i++) {
				const uint32_t threads = 1 + (i + kind) % 3;

				/* Races need threads, and few kinds of records. */
				if (!TEST_TSAN || (threads > 1 && kind % 3 == 0))
					one_sort(&rng, &shape, (sort_pattern)pattern, runs[i], threads,
						 isas[(i + pattern) % 2]);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mixes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
