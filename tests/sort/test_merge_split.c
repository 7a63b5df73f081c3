/* SPDX-License-Identifier: BSL-1.0 */
/* test_merge_split.c -- where the parts begin in which several threads merge sorted files: merge_split.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "sort/job.h"
#include "sort/merge_split.h"
#include "sort/parts_case.h"
#include "sort/plan_job.h"

/* The parts: of each file they are what it has, in order, cut between records; and about as large as each other. */
static void test_split(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 12; round += (int)test_step()) {
		const uint32_t parts = 2 + (uint32_t)round % 3;
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, parts, EM_DIRECT_TRY);
		em_order *order = lines_order(ctx, round % LINES_ORDERS);
		const char *paths[CASE_FILES];
		files_case c = case_make(NULL);
		emi_merge_split s;
		uint64_t all = 0;
		emi_needs needs = { 0 };
		emi_job job;
		uint32_t f, p;

		for (f = 0; f < 4; f++) {
			lines l = { 0 };

			parts_add_lines(&l, &rng, f == 2 ? 0 : 200000 + (size_t)test_below(&rng, 300000),
					round % 2 != 0 ? 5000 : 0, 100);
			case_lines(&c, order, &l, 1, f % 2 != 0);
		}
		case_begin(&c, paths);
		assert_int_equal(emi_job_open(&job, ctx, order, NULL, &c.err), EM_OK);
		needs.n = EMI_UNKNOWN;
		needs.bytes = EMI_UNKNOWN;
		assert_int_equal(emi_job_plan(&job, &needs, &c.err), EM_OK);
		assert_int_equal(emi_merge_split_make(&s, &job, paths, c.n, parts, &c.err), EM_OK);
		for (f = 0; f < c.n; f++) {
			uint64_t at = 0;
			unsigned char *text;
			size_t bytes;

			text = sort_read_file(paths[f], &bytes);
			for (p = 0; p < parts; p++) {
				const emi_extent *range = &s.range[p * c.n + f];

				if (bytes != 0)
					assert_int_equal(range->offset, at);
				assert_true(at == 0 || at == bytes || text[at - 1] == '\n');
				at += range->bytes;
			}
			assert_int_equal(at, bytes);
			all += bytes + (bytes != 0 && text[bytes - 1] != '\n');
			free(text);
		}
		assert_int_equal(s.begin[0], 0);
		assert_int_equal(s.begin[parts], all);
		for (p = 0; p < parts; p++)
			assert_true(s.begin[p + 1] - s.begin[p] < all / parts * 3 / 2);
		emi_merge_split_free(&s);
		emi_job_close(&job);
		case_close(&c, ctx, order);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests_name("merge_split", tests, NULL, NULL);
}
