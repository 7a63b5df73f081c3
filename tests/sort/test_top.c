/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_top.c -- the first records of an order, of one size and of any length, pushed and pulled.
 *
 * What must come out is a part of what a plain stable merge sort of the tests' own gives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sort/lines_model.h"
#include "sort/top_model.h"

/* Pull everything and compare it. */
static void assert_pull(em_top *t, const unsigned char *expected, size_t bytes, uint64_t n, const size_t *ends)
{
	em_errinfo err;
	const em_batch *batch;
	uint64_t record = 0;
	size_t at = 0, i;
	em_status st;

	while ((st = em_top_next(t, &batch)) == EM_OK) {
		assert_true(batch->n != 0 && record + batch->n <= n && at + batch->bytes <= bytes);
		if (batch->bytes != 0)
			assert_memory_equal(batch->records, expected + at, batch->bytes);
		assert_int_equal(batch->ends == NULL, ends == NULL);
		for (i = 0; ends != NULL && i < batch->n; i++)
			assert_int_equal(at + batch->ends[i], ends[record + i]);
		at += batch->bytes;
		record += batch->n;
	}
	em_top_error(t, &err);
	if (st != EM_END)
		fail_msg("%s: %s", em_status_name(st), err.text);
	assert_int_equal(record, n);
	assert_int_equal(at, bytes);
	assert_int_equal(em_top_next(t, &batch), EM_END);
	assert_null(batch);
}

/* Pushed in pieces of random sizes. */
static void assert_top(em_ctx *ctx, const em_order *order, const em_sort_opts *opts, test_rng *rng,
		       const sort_shape *shape, const unsigned char *records, uint64_t n, const unsigned char *sorted,
		       uint64_t nsorted, const ranks *r, em_sort_stats *stats)
{
	uint64_t first, end, at = 0;
	em_errinfo err = { 0 };
	em_sort_opts o = *opts;
	em_top *t;

	o.errinfo = &err;
	top_part(r, nsorted, &first, &end);
	if (em_top_open(&t, ctx, order, r->from, r->k, &o) != EM_OK)
		fail_msg("%s", err.text);
	while (at < n) {
		const uint64_t most = test_below(rng, 3) == 0 ? n : 500, left = n - at;
		const uint64_t some = 1 + test_below(rng, most < left ? most : left);

		if (em_top_push(t, records + at * shape->bytes, some) != EM_OK) {
			em_top_error(t, &err);
			fail_msg("%s", err.text);
		}
		at += some;
	}
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_pull(t, sorted + first * shape->bytes, (size_t)(end - first) * shape->bytes, end - first, NULL);
	stats->size = sizeof(*stats);
	assert_int_equal(em_top_stats_get(t, stats), EM_OK);
	assert_int_equal(stats->records_in, n);
	assert_int_equal(stats->records_out, end - first);
	em_top_close(t);
}

/* Every shape and pattern, some ranks; with candidates that fit, and with ever fewer. */
static void test_records(void **state)
{
	static const uint64_t run[] = { 0, 3000, 100 };
	test_rng rng = test_rng_make(test_seed());
	const uint64_t n = 6000;
	const sort_shape *shape;
	size_t shape_count, s, p, i;

	(void)state;
	shape = top_shapes(&shape_count);
	for (s = 0; s < shape_count; s++) {
		for (p = 0; p < SORT_PATTERNS; p++) {
			const uint32_t flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
			unsigned char *records = sort_records(&rng, &shape[s], (sort_pattern)p, n), *sorted;
			em_ctx *ctx = top_ctx(16 * MIB, 1 + (uint32_t)(p % 2));
			em_order *order = sort_order(ctx, &shape[s]);
			uint64_t nsorted = n;

			sorted = sort_expected(&shape[s], records, &nsorted, flags != 0);
			for (i = 0; i < TOP_RANKS; i++) {
				em_sort_opts opts = EM_SORT_OPTS_INIT;
				em_sort_stats stats;

				opts.flags = flags;
				opts.run_records = run[test_below(&rng, 3)];
				opts.block_bytes = opts.run_records != 0 ? 4096 : 0;
				assert_top(ctx, order, &opts, &rng, &shape[s], records, n, sorted, nsorted,
					   &top_ranks[i], &stats);
				if (top_ranks[i].k <= 500 && top_ranks[i].from < 100 && opts.run_records != 100)
					assert_int_equal(stats.runs, 0);
			}
			em_order_close(order);
			top_ctx_close(ctx);
			free(records);
			free(sorted);
		}
	}
}

/* Runs hold no more than what may be asked for, and most of the input never gets into one. */
static void test_little_is_written(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	test_rng rng = test_rng_make(test_seed());
	const ranks r = { 0, 900 };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	uint64_t n = 100000, nsorted = n;
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n);
	unsigned char *sorted = sort_expected(&shape, records, &nsorted, 0);
	em_ctx *ctx = top_ctx(16 * MIB, 2);
	em_order *order = sort_order(ctx, &shape);
	em_sort_stats stats;

	(void)state;
	assert_top(ctx, order, &opts, &rng, &shape, records, n, sorted, n, &r, &stats);
	assert_int_equal(stats.runs, 0);
	assert_int_equal(stats.passes, 0);
	assert_int_equal(stats.peak_scratch, 0);

	/* 1000 candidates for 900: each run has a tenth of its candidates cut off and lowers the limit by so much. */
	opts.run_records = 1000;
	opts.block_bytes = 4096;
	assert_top(ctx, order, &opts, &rng, &shape, records, n, sorted, n, &r, &stats);
	assert_int_equal(stats.run_records, 900);
	assert_true(stats.runs >= 10);
	assert_true(stats.runs < 70);
	/* 2000 candidates are enough. */
	opts.run_records = 2000;
	assert_top(ctx, order, &opts, &rng, &shape, records, n, sorted, n, &r, &stats);
	assert_int_equal(stats.runs, 0);
	em_order_close(order);
	top_ctx_close(ctx);
	free(records);
	free(sorted);
}

typedef struct counted {
	uint64_t calls;
	uint64_t fail_at;
} counted;

static int compare_counted(const void *a, const void *b, void *user)
{
	counted *c = user;
	uint64_t x, y;

	if (++c->calls == c->fail_at)
		return EM_CMP_ERROR;
	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	return (x > y) - (x < y);
}

/* A record costs about one comparison once there is a limit. */
static void test_comparisons(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 24);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const uint64_t n = 400000;
	uint64_t nsorted = n;
	const ranks r = { 0, 10 };
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n);
	unsigned char *sorted = sort_expected(&shape, records, &nsorted, 0);
	em_ctx *ctx = top_ctx(64 * MIB, 2);
	counted c = { 0, 0 };
	em_order *order;
	em_sort_stats stats;

	(void)state;
	assert_int_equal(em_order_cmp(&order, ctx, 24, "counted", compare_counted, 0, &c, NULL, NULL), EM_OK);
	assert_top(ctx, order, &opts, &rng, &shape, records, n, sorted, n, &r, &stats);
	/* Of the first pool all are sorted. */
	assert_true(c.calls < 2 * n);
	assert_int_equal(stats.runs, 0);
	em_order_close(order);
	top_ctx_close(ctx);
	free(records);
	free(sorted);
}

/* A comparison that fails ends it, whenever that is. */
static void test_comparison_fails(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 24);
	static const uint64_t when[] = { 1, 5000, 40000, 100000 };
	test_rng rng = test_rng_make(test_seed());
	const uint64_t n = 100000;
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(when) / sizeof(when[0]); i++) {
		em_ctx *ctx = top_ctx(64 * MIB, 1);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		counted c = { 0, when[i] };
		const em_batch *batch;
		em_errinfo err;
		em_order *order;
		em_top *t;
		em_status st;

		opts.run_records = 2000;
		assert_int_equal(em_order_cmp(&order, ctx, 24, "counted", compare_counted, 0, &c, NULL, NULL), EM_OK);
		assert_int_equal(em_top_open(&t, ctx, order, 0, 100, &opts), EM_OK);
		st = em_top_push(t, records, n);
		if (st == EM_OK)
			st = em_top_finish(t);
		while (st == EM_OK)
			st = em_top_next(t, &batch);
		assert_int_equal(st, EM_ERR_USER);
		assert_int_equal(em_top_push(t, records, n), EM_ERR_USER);
		em_top_error(t, &err);
		assert_int_equal(err.status, EM_ERR_USER);
		em_top_close(t);
		em_order_close(order);
		top_ctx_close(ctx);
	}
	free(records);
}

/* Records [first, end) of a list as a batch of their own memory, so that reading beyond it shows. */
static em_status push_lines(em_top *t, const lines *l, size_t first, size_t end)
{
	const size_t begin = first != 0 ? l->end[first - 1] : 0, n = end - first;
	const size_t bytes = n != 0 ? l->end[end - 1] - begin : 0;
	unsigned char *records = malloc(bytes + !bytes);
	uint64_t *ends = malloc((n + 1) * sizeof(*ends));
	em_batch batch;
	em_status st;
	size_t i;

	assert_non_null(records);
	assert_non_null(ends);
	memcpy(records, l->bytes + begin, bytes);
	for (i = 0; i < n; i++)
		ends[i] = l->end[first + i] - begin;
	batch.records = bytes != 0 ? records : NULL;
	batch.n = n;
	batch.bytes = bytes;
	batch.ends = ends;
	st = em_top_push_batch(t, batch.records, batch.ends, batch.n);
	free(records);
	free(ends);
	return st;
}

/* Records of any length: pushed, and what is pulled compared with a part of a sorted list. */
static void assert_lines(em_ctx *ctx, const em_order *order, const em_sort_opts *opts, test_rng *rng, const lines *in,
			 const lines *sorted, const ranks *r, em_sort_stats *stats)
{
	uint64_t first, end;
	size_t at = 0, begin, i;
	em_errinfo err = { 0 };
	em_sort_opts o = *opts;
	size_t *ends;
	em_top *t;

	o.errinfo = &err;
	top_part(r, sorted->n, &first, &end);
	if (em_top_open(&t, ctx, order, r->from, r->k, &o) != EM_OK)
		fail_msg("%s", err.text);
	while (at < in->n) {
		const size_t some = 1 + (size_t)test_below(rng, test_below(rng, 2) == 0 ? in->n - at : 1);

		if (push_lines(t, in, at, at + some) != EM_OK) {
			em_top_error(t, &err);
			fail_msg("%s", err.text);
		}
		at += some;
	}
	assert_int_equal(em_top_finish(t), EM_OK);
	begin = first != 0 ? sorted->end[first - 1] : 0;
	ends = calloc((size_t)(end - first) + 1, sizeof(*ends));
	assert_non_null(ends);
	for (i = 0; i < end - first; i++)
		ends[i] = sorted->end[first + i] - begin;
	assert_pull(t, sorted->bytes + begin, end > first ? ends[end - first - 1] : 0, end - first, ends);
	stats->size = sizeof(*stats);
	assert_int_equal(em_top_stats_get(t, stats), EM_OK);
	assert_int_equal(stats->records_in, in->n);
	assert_int_equal(stats->records_out, end - first);
	free(ends);
	em_top_close(t);
}

static const em_format free_format = { sizeof(em_format), EM_FORMAT_PREFIXED, 0, 8, 0, 0 };

/* Lists of every kind in every order. */
static void test_lines(void **state)
{
	static const ranks r[] = { { 0, 0 }, { 0, 1 }, { 0, 20 }, { 0, 600 }, { 5, UINT64_MAX }, { 333, 1 },
				   { 800, 300 }, { 5000, 1 } };
	test_rng rng = test_rng_make(test_seed());
	int which, pattern;
	size_t i;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (pattern = 0; pattern < LINES_PATTERNS; pattern++) {
			em_ctx *ctx = top_ctx(8 * MIB, 1 + (uint32_t)(pattern % 2));
			em_order *order = lines_order(ctx, which);
			const uint32_t flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
			lines in = { 0 }, sorted = { 0 };

			lines_add_pattern(&in, &rng, pattern, 1000, &free_format, 20000);
			lines_append(&sorted, &in, 0, in.n);
			lines_sort(order, &sorted, 0, flags != 0);
			for (i = 0; i < sizeof(r) / sizeof(r[0]); i++) {
				em_sort_opts opts = EM_SORT_OPTS_INIT;
				em_sort_stats stats;

				opts.flags = flags;
				opts.run_records = test_below(&rng, 2) == 0 ? 0 : 10 + test_below(&rng, 500);
				assert_lines(ctx, order, &opts, &rng, &in, &sorted, &r[i], &stats);
			}
			lines_free(&in);
			lines_free(&sorted);
			em_order_close(order);
			top_ctx_close(ctx);
		}
	}
}

/* Few are asked for, but they are so long that they do not fit: runs are written, and the answer is right. */
static void test_long_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const ranks r[] = { { 0, 400 }, { 100, 50 } };
	em_ctx *ctx = top_ctx(4 * MIB, 2);
	em_order *order = lines_order(ctx, 0);
	lines in = { 0 }, sorted = { 0 };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	unsigned char *record = malloc(40000);
	em_sort_stats stats;
	size_t i;

	(void)state;
	assert_non_null(record);
	for (i = 0; i < 700; i++) {
		const size_t n = 10000 + (size_t)test_below(&rng, 30000);

		memset(record, 'a', n);
		memcpy(record + test_below(&rng, n - 20), "bbbbb", 5);
		lines_add(&in, record, n);
	}
	free(record);
	lines_append(&sorted, &in, 0, in.n);
	lines_sort(order, &sorted, 0, 0);
	assert_lines(ctx, order, &opts, &rng, &in, &sorted, &r[0], &stats);
	assert_true(stats.runs >= 2);
	assert_lines(ctx, order, &opts, &rng, &in, &sorted, &r[1], &stats);
	lines_free(&in);
	lines_free(&sorted);
	em_order_close(order);
	top_ctx_close(ctx);
}

/* What is not allowed, and what is told then. */
static void test_misuse(void **state)
{
	em_ctx *ctx = top_ctx(16 * MIB, 1), *other = top_ctx(16 * MIB, 1);
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 8);
	em_order *order = sort_order(ctx, &shape), *text = lines_order(ctx, 0);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const uint64_t ends[] = { 3, 2, 8 }, right[] = { 2, 2, 8 }, far[] = { 1, UINT64_MAX, UINT64_MAX };
	const em_batch bare = { "abcdefgh", 1, 8, NULL }, wrong = { "abcdefgh", 3, 8, ends };
	const em_batch good = { "abcdefgh", 3, 8, right };
	const char *const none[] = { "x" };
	const em_batch *batch;
	em_errinfo err;
	em_sort_stats stats = { 0 };
	em_top *t;

	(void)state;
	opts.errinfo = &err;
	assert_int_equal(em_top_open(NULL, ctx, order, 0, 1, &opts), EM_ERR_INVAL);
	assert_int_equal(em_top_open(&t, NULL, order, 0, 1, &opts), EM_ERR_INVAL);
	assert_int_equal(em_top_open(&t, ctx, NULL, 0, 1, &opts), EM_ERR_INVAL);
	assert_int_equal(em_top_open(&t, other, order, 0, 1, &opts), EM_ERR_INVAL);
	assert_null(t);
	opts.flags = 64;
	assert_int_equal(em_top_open(&t, ctx, order, 0, 1, &opts), EM_ERR_INVAL);
	opts.flags = 0;
	opts.memory = 10000;
	assert_int_equal(em_top_open(&t, ctx, order, 0, 1, &opts), EM_ERR_MEMLIMIT);
	assert_true(err.bytes > 10000 && err.bytes < MIB);
	opts.memory = err.bytes;
	assert_int_equal(em_top_open(&t, ctx, order, 0, 1, &opts), EM_OK);
	em_top_close(t);
	opts.memory = 0;
	assert_int_equal(em_top_push(NULL, "", 0), EM_ERR_INVAL);
	assert_int_equal(em_top_finish(NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_next(NULL, &batch), EM_ERR_INVAL);
	assert_int_equal(em_top_stats_get(NULL, &stats), EM_ERR_INVAL);
	em_top_cancel(NULL);
	em_top_close(NULL);
	em_top_error(NULL, &err);

	assert_int_equal(em_top_open(&t, ctx, order, 0, 1, NULL), EM_OK);
	assert_int_equal(em_top_stats_get(t, &stats), EM_ERR_VERSION);
	assert_int_equal(em_top_push(t, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_top_push_batch(t, bare.records, bare.ends, bare.n), EM_OK);
	assert_int_equal(em_top_next(t, &batch), EM_ERR_STATE);
	em_top_error(t, &err);
	assert_string_equal(err.text, "next before finish");
	assert_int_equal(em_top_push_batch(t, good.records, good.ends, good.n), EM_ERR_INVAL);
	/* None of that changed anything. */
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_int_equal(em_top_push(t, "12345678", 1), EM_ERR_STATE);
	assert_int_equal(em_top_finish(t), EM_ERR_STATE);
	assert_int_equal(em_top_next(t, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_next(t, &batch), EM_OK);
	assert_int_equal(batch->n, 1);
	assert_memory_equal(batch->records, "abcdefgh", 8);
	assert_int_equal(em_top_next(t, &batch), EM_END);
	em_top_close(t);

	assert_int_equal(em_top_open(&t, ctx, text, 0, 1, NULL), EM_OK);
	assert_int_equal(em_top_push_batch(t, wrong.records, wrong.ends, wrong.n), EM_ERR_INVAL);
	assert_int_equal(em_top_push_batch(t, bare.records, bare.ends, bare.n), EM_ERR_INVAL);
	assert_int_equal(em_top_push(t, "12345678", 1), EM_ERR_INVAL);
	em_top_error(t, &err);
	assert_string_equal(err.text, "records of any length are pushed with their ends");
	/* One that is too long, behind one that is not. */
	assert_int_equal(em_top_push_batch(t, good.records, far, 3), sizeof(size_t) < 8 ? EM_ERR_INVAL : EM_ERR_RANGE);
	assert_int_equal(em_top_push_batch(t, good.records, good.ends, good.n), EM_OK);
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_int_equal(em_top_finish(t), EM_ERR_STATE);
	assert_int_equal(em_top_next(t, &batch), EM_OK);
	assert_int_equal(batch->n, 1);
	assert_int_equal(batch->bytes, 0);
	em_top_close(t);
	assert_int_equal(em_top_open(&t, ctx, order, 0, 1, NULL), EM_OK);
	em_top_cancel(t);
	assert_int_equal(em_top_push(t, "12345678", 1), EM_ERR_CANCELED);
	em_top_close(t);

	assert_int_equal(em_top_files(ctx, order, none, 0, 0, 1, "y", NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_files(ctx, order, NULL, 1, 0, 1, "y", NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_files(ctx, NULL, none, 1, 0, 1, "y", NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_files(NULL, order, none, 1, 0, 1, "y", NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_files(ctx, order, none, 1, 0, 1, NULL, NULL, NULL), EM_ERR_INVAL);
	stats.size = 0;
	assert_int_equal(em_top_files(ctx, order, none, 1, 0, 1, "y", NULL, &stats), EM_ERR_VERSION);
	em_order_close(order);
	em_order_close(text);
	top_ctx_close(ctx);
	top_ctx_close(other);
}

/* A record that is too long is refused, and told by its number in the batch. */
static void test_too_long(void **state)
{
	em_ctx *ctx = top_ctx(2 * MIB, 2);
	em_order *order = lines_order(ctx, 1);
	const size_t longest = (size_t)(2 * MIB);
	unsigned char *record = calloc(1, longest);
	uint64_t ends[3000];
	em_batch batch;
	em_errinfo err;
	em_top *t;
	size_t i;

	(void)state;
	assert_non_null(record);
	for (i = 0; i < 3000; i++)
		ends[i] = i < 2500 ? i : longest - 3000 + i;
	batch.records = record;
	batch.n = 3000;
	batch.bytes = (size_t)ends[2999];
	batch.ends = ends;
	memset(record, 'z', longest);
	assert_int_equal(em_top_open(&t, ctx, order, 0, 10, NULL), EM_OK);
	assert_int_equal(em_top_push_batch(t, batch.records, batch.ends, batch.n), EM_ERR_RANGE);
	em_top_error(t, &err);
	assert_int_equal(err.record, 2501);
	if (strncmp(err.text, "record 2501 of the batch: ", 26) != 0)
		fail_msg("%s", err.text);
	em_top_close(t);
	em_order_close(order);
	top_ctx_close(ctx);
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_little_is_written),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_comparison_fails),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
