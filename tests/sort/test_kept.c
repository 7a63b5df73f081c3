/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_kept.c -- the last run stays in memory beside the merge, and what comes out is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/phase.h"
#include "sort/sort_model.h"

#define RUN 2000u
#define RUNS 5u

/* Elements that are keys, pairs, in place of records and not, both halves of a key, and references. */
static const sort_shape shapes[] = {
	{ 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } },
	{ 8, 1, { { 0, 0, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } } } },
	{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 16, 1, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } } },
	{ 11, 1, { { 3, 0, EM_KEY_I32, EM_KEY_BIG_ENDIAN, { 0 } } } },
	{ 100, 1, { { 7, 10, EM_KEY_BYTES, 0, { 0 } } } },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

typedef struct bench {
	const sort_shape *shape;
	unsigned char *records, *expected;
	uint64_t n, expected_n;
	char *dir, *in, *out;
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
} bench;

static void bench_open(bench *b, const sort_shape *shape, sort_pattern pattern, uint32_t threads, uint64_t last,
		       int unique)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	em_ctx_opts co = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());

	memset(b, 0, sizeof *b);
	co.threads = threads;
	b->shape = shape;
	b->n = b->expected_n = (RUNS - 1) * RUN + last;
	b->records = sort_records(&rng, shape, pattern, b->n);
	b->expected = sort_expected(shape, b->records, &b->expected_n, unique);
	b->dir = test_dir_make();
	b->in = test_path(b->dir, "in");
	b->out = test_path(b->dir, "out");
	b->ctx = sort_ctx(&co);
	b->order = sort_order(b->ctx, shape);
	b->opts = none;
	b->opts.errinfo = &b->err;
	b->opts.run_records = RUN;
	b->opts.block_bytes = 4096;
	b->opts.flags = unique ? EM_SORT_UNIQUE : 0;
	b->stats.size = sizeof b->stats;
}

static void bench_close(bench *b)
{
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	unlink(b->in);
	unlink(b->out);
	free(b->in);
	free(b->out);
	assert_dir_empty(b->dir);
	test_dir_remove(b->dir);
	free(b->records);
	free(b->expected);
}

/* From a file to a file, in whatever way. */
static void sort_somehow(bench *b)
{
	const char *inputs[1];

	inputs[0] = b->in;
	sort_write_file(b->in, b->records, (size_t)b->n * b->shape->bytes);
	if (em_sort_files(b->ctx, b->order, inputs, 1, b->out, &b->opts, &b->stats) != EM_OK)
		fail_msg("%s", b->err.text);
	sort_assert_file(b->out, b->expected, (size_t)b->expected_n * b->shape->bytes);
	assert_int_equal(b->stats.runs, RUNS);
}

/* In two passes, and the last run is kept. */
static void sort_file(bench *b)
{
	sort_somehow(b);
	assert_int_equal(b->stats.passes, 2);
	/* Where the records do not fill all runs, the first one is shorter. */
	assert_int_equal(b->stats.kept_records, RUN);
}

static uint64_t written(const bench *b)
{
	return test_phase(&b->stats, EM_PHASE_RUNS).bytes_written;
}

/* Records that leave one over, some, and none; every pattern. */
static void test_files(void **state)
{
	static const uint64_t lasts[] = { 1, RUN / 3, RUN };
	size_t s, i;
	int p;

	(void)state;
	for (s = 0; s < SHAPES; s++)
		for (i = 0; i < 3; i++)
			for (p = 0; p < SORT_PATTERNS; p++) {
				uint64_t spilled;
				bench b;

				if (test_left_out())
					continue;
				bench_open(&b, &shapes[s], (sort_pattern)p, 1 + (uint32_t)(p + (int)i) % 3, lasts[i],
					   p % 2);
				sort_file(&b);
				/* What was kept was not written. */
				spilled = (b.n - RUN) * b.shape->bytes;
				assert_true(written(&b) >= spilled &&
					    written(&b) < spilled + RUNS * 2 * 4096 + spilled / 50);
				bench_close(&b);
			}
}

/* Records that were pushed: where elements refer to them there is no second area for the run. */
static void test_pushed(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t s;
	int p;

	(void)state;
	for (s = 0; s < SHAPES; s++)
		for (p = 0; p < SORT_PATTERNS; p++) {
			bench b;

			if (test_left_out())
				continue;
			bench_open(&b, &shapes[s], (sort_pattern)p, 1 + (uint32_t)p % 3, RUN / 2 + 1, p % 2);
			sort_assert_sorter(b.ctx, b.order, &b.opts, &rng, b.shape, b.records, b.n, b.expected,
					   b.expected_n, &b.stats);
			assert_int_equal(b.stats.kept_records, b.shape->bytes <= 16 ? RUN / 2 + 1 : 0);
			bench_close(&b);
		}
}

/* Where the merge needs the memory, or takes several passes, all runs are spilled. */
static void test_no_room(void **state)
{
	bench b;

	(void)state;
	bench_open(&b, &shapes[2], SORT_RANDOM, 2, RUN, 0);
	b.opts.fan_in = 3;
	b.opts.last_run = EM_LAST_RUN_KEPT;
	sort_somehow(&b);
	assert_true(b.stats.passes > 2);
	assert_int_equal(b.stats.kept_records, 0);
	bench_close(&b);
}

/* Written though there is room. */
static void test_forced_out(void **state)
{
	size_t s;

	(void)state;
	for (s = 0; s < SHAPES; s++) {
		bench b;

		bench_open(&b, &shapes[s], SORT_RANDOM, 2, RUN, 0);
		b.opts.last_run = EM_LAST_RUN_WRITTEN;
		sort_somehow(&b);
		assert_int_equal(b.stats.kept_records, 0);
		assert_true(written(&b) >= b.n * b.shape->bytes);
		bench_close(&b);
	}
}

/* Kept though there is little left to read ahead: wherever it is kept of itself, and somewhere else, too. */
static void test_forced_in(void **state)
{
	em_sort_plan_info plan = { .size = sizeof plan };
	uint64_t step, kept = 0, forced = 0;
	bench b;

	(void)state;
	bench_open(&b, &shapes[2], SORT_RANDOM, 2, RUN, 0);
	assert_int_equal(em_sort_plan(b.ctx, b.order, b.n, &b.opts, &plan), EM_OK);
	for (step = 0; step < 32; step++) {
		b.opts.memory = plan.memory_min + 65536 + step * 32768;
		b.opts.last_run = EM_LAST_RUN_AUTO;
		sort_somehow(&b);
		kept += b.stats.kept_records != 0;
		b.opts.last_run = EM_LAST_RUN_KEPT;
		sort_somehow(&b);
		forced += b.stats.kept_records != 0;
		assert_true(forced >= kept);
	}
	printf("# kept with %u of %u sizes of the memory, forced with %u\n", (unsigned)kept, (unsigned)step,
	       (unsigned)forced);
	assert_true(forced > kept && kept > 0);
	bench_close(&b);
}

/* There is no other way. */
static void test_forced_wrongly(void **state)
{
	em_sort_plan_info plan = { .size = sizeof plan };
	bench b;

	(void)state;
	bench_open(&b, &shapes[2], SORT_RANDOM, 1, RUN, 0);
	b.opts.last_run = EM_LAST_RUN_KEPT + 1;
	assert_int_equal(em_sort_plan(b.ctx, b.order, b.n, &b.opts, &plan), EM_ERR_INVAL);
	assert_non_null(strstr(b.err.text, "last run"));
	bench_close(&b);
}

/* Closed with the run in memory and the merge begun: AddressSanitizer sees what is forgotten. */
static void test_closed_early(void **state)
{
	const em_batch *batch;
	em_sorter *s;
	bench b;

	(void)state;
	bench_open(&b, &shapes[2], SORT_RANDOM, 2, RUN, 0);
	assert_int_equal(em_sorter_open(&s, b.ctx, b.order, &b.opts), EM_OK);
	assert_int_equal(em_sorter_push(s, b.records, b.n), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	assert_memory_equal(batch->records, b.expected, batch->bytes);
	em_sorter_close(s);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_forced_out),
		cmocka_unit_test(test_forced_in),
		cmocka_unit_test(test_forced_wrongly),
		cmocka_unit_test(test_closed_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
