/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorter_lines.c -- a sorter of records of any length: pushed in batches of every shape, pulled in batches, and
 * what it refuses.
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

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)

/* No delimiter: any byte may stand in a record. */
static const em_format free_format = { sizeof(em_format), EM_FORMAT_PREFIXED, 0, 8, 0, 0 };

typedef struct fixture {
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	uint64_t memory;        /* of the context with its order, in use */
} fixture;

static void fixture_open(fixture *f, int which, uint32_t threads, uint64_t memory)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();

	memset(f, 0, sizeof(*f));
	opts.threads = threads;
	opts.memory = memory;
	f->ctx = sort_ctx(&opts);
	f->order = lines_order(f->ctx, which);
	f->opts = none;
	f->memory = em_ctx_memory_used(f->ctx);
}

static em_sorter *open_sorter(fixture *f)
{
	em_sorter *s;

	f->opts.errinfo = &f->err;
	if (em_sorter_open(&s, f->ctx, f->order, &f->opts) != EM_OK)
		fail_msg("no sorter: %s", f->err.text);
	return s;
}

static void fixture_close(fixture *f)
{
	assert_true(em_ctx_memory_peak(f->ctx) <= em_ctx_memory(f->ctx));
	if (em_ctx_threads(f->ctx) == 1)
		assert_int_equal(em_ctx_memory_used(f->ctx), f->memory);
	em_order_close(f->order);
	em_ctx_close(f->ctx);
}

/* Records [first, end) of a list as a batch of their own memory, so that reading beyond it shows. */
static em_status push(em_sorter *s, const lines *l, size_t first, size_t end)
{
	const size_t begin = first != 0 ? l->end[first - 1] : 0, n = end - first;
	const size_t bytes = n != 0 ? l->end[end - 1] - begin : 0;
	unsigned char *records = malloc(bytes);
	uint64_t *ends = malloc((n + 1) * sizeof(*ends));
	em_batch batch;
	em_status st;
	size_t i;

	assert_non_null(ends);
	if (bytes != 0)
		memcpy(records, l->bytes + begin, bytes);
	for (i = 0; i < n; i++)
		ends[i] = l->end[first + i] - begin;
	batch.records = records;
	batch.n = n;
	batch.bytes = bytes;
	batch.ends = ends;
	st = em_sorter_push_batch(s, batch.records, batch.ends, batch.n);
	free(records);
	free(ends);
	return st;
}

static em_status push_all(em_sorter *s, test_rng *rng, const lines *l)
{
	em_status st = EM_OK;
	size_t at = 0;

	while (st == EM_OK && at < l->n) {
		size_t some = (size_t)test_below(rng, test_below(rng, 4) == 0 ? l->n : l->n / 8 + 2);

		if (some > l->n - at)
			some = l->n - at;
		st = push(s, l, at, at + some);
		at += some;
	}
	return st;
}

/* Pull everything; each batch must be sound. */
static void assert_pull(em_sorter *s, const lines *expected)
{
	const em_batch *batch;
	em_sort_stats stats;
	size_t at = 0, i, n;
	em_status st;

	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	while ((st = em_sorter_next(s, &batch)) == EM_OK) {
		uint64_t begin = 0;

		assert_true(batch->n > 0 && batch->n <= expected->n - at);
		assert_non_null(batch->ends);
		for (i = 0; i < batch->n; i++) {
			const unsigned char *record = lines_at(expected, at++, &n);

			assert_true(batch->ends[i] >= begin && batch->ends[i] <= batch->bytes);
			if (batch->ends[i] - begin != n ||
			    (n != 0 && memcmp((const unsigned char *)batch->records + begin, record, n) != 0))
				fail_msg("record %u of %u is wrong", (unsigned)at, (unsigned)expected->n);
			begin = batch->ends[i];
		}
		assert_int_equal(begin, batch->bytes);
	}
	if (st != EM_END) {
		em_errinfo err;

		em_sorter_error(s, &err);
		fail_msg("%s", err.text);
	}
	assert_null(batch);
	assert_int_equal(at, expected->n);
	assert_int_equal(em_sorter_next(s, &batch), EM_END);
	assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
	assert_int_equal(stats.records_out, expected->n);
}

/* The whole life of a sorter.  The list is sorted by it. */
static void check(fixture *f, test_rng *rng, lines *l, em_sort_stats *stats)
{
	em_sorter *s = open_sorter(f);
	const size_t n = l->n;

	if (push_all(s, rng, l) != EM_OK || em_sorter_finish(s) != EM_OK) {
		em_sorter_error(s, &f->err);
		fail_msg("%s", f->err.text);
	}
	lines_sort(f->order, l, 0, (f->opts.flags & EM_SORT_UNIQUE) != 0);
	assert_pull(s, l);
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	assert_int_equal(em_sorter_stats_get(s, stats), EM_OK);
	assert_int_equal(stats->records_in, n);
	em_sorter_close(s);
}

/* All patterns and orders, in memory and in several passes. */
static void test_against_model(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 300, 2500 };
	static const uint32_t fan_ins[] = { 0, 2, 3, 7 };
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 0; i < 140; i++) {
		const size_t n = sizes[i % 5];
		em_sort_stats stats;
		lines l = { 0 };
		fixture f;

		if (test_left_out())
			continue;
		fixture_open(&f, (int)(i / 7 % LINES_ORDERS), 1 + (uint32_t)test_below(&rng, 4), 32 * MIB);
		f.opts.flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
		f.opts.run_records = test_below(&rng, 4) == 0 ? 0 : n / (1 + test_below(&rng, 30)) + 1;
		f.opts.fan_in = fan_ins[test_below(&rng, 4)];
		f.opts.block_bytes = test_below(&rng, 2) == 0 ? 0 : 4096;
		lines_add_pattern(&l, &rng, (int)(i % LINES_PATTERNS), n, &free_format, 20000);
		check(&f, &rng, &l, &stats);
		if (f.opts.run_records == 0)
			assert_int_equal(stats.runs, 0);
		else
			assert_int_equal(stats.runs, n <= f.opts.run_records
							     ? 0
							     : (n + f.opts.run_records - 1) / f.opts.run_records);
		assert_true(stats.runs == 0 ? stats.passes == 0 : stats.passes >= 2);
		assert_true(f.opts.fan_in == 0 || stats.fan_in <= f.opts.fan_in);
		lines_free(&l);
		fixture_close(&f);
	}
}

/* More than the memory holds, of each kind. */
static void test_budget(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int pattern;

	(void)state;
	for (pattern = 0; pattern < LINES_PATTERNS; pattern += TEST_TSAN ? 2 : 1) {
		em_sort_stats stats;
		lines l = { 0 };
		fixture f;

		fixture_open(&f, pattern % LINES_ORDERS, 1 + (uint32_t)pattern % 3, 4 * MIB);
		f.opts.flags = pattern % 4 == 3 ? EM_SORT_UNIQUE : 0;
		lines_add_pattern(&l, &rng, pattern, pattern == LINES_MIXED ? 20000 : 120000, &free_format,
				  pattern == LINES_MIXED ? 30000 : 130);
		check(&f, &rng, &l, &stats);
		assert_true(stats.runs > 1);
		assert_true(stats.peak_memory <= 4 * MIB);
		lines_free(&l);
		fixture_close(&f);
	}
}

/* Merges of so many runs that a block of the output has only few bytes of each: its blocks are full all the same. */
static void test_many_runs(void **state)
{
	enum { N = 60000, RUNS = 100, BLOCK = 8192 };
	test_rng rng = test_rng_make(test_seed());
	em_phase_stats merge = EM_PHASE_STATS_INIT;
	em_sort_stats stats;
	lines l = { 0 };
	fixture f;
	size_t i;

	(void)state;
	fixture_open(&f, 0, 1, 8 * MIB);
	f.opts.run_records = N / RUNS;
	f.opts.fan_in = RUNS / 2;
	f.opts.block_bytes = BLOCK;
	for (i = 0; i < N; i++) {
		char line[16];

		lines_add(&l, line, (size_t)sprintf(line, "%07u", (unsigned)test_below(&rng, 10000000)));
	}
	check(&f, &rng, &l, &stats);
	assert_int_equal(stats.runs, RUNS);
	assert_int_equal(stats.passes, 3);
	assert_int_equal(em_sort_stats_phase(&stats, EM_PHASE_MERGE, &merge), EM_OK);
	/* A frame has a byte more than the line, and this order's is not keyed; blocks have some that are not full. */
	assert_true(merge.bytes_written < 2 * (uint64_t)N * 8);
	lines_free(&l);
	fixture_close(&f);
}

/* Records of all lengths around those of a batch that is pulled and a block, up to the longest. */
static void test_long(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 16; round += TEST_TSAN ? 3 : 1) {
		const int keyed = round % 4 == 3;
		em_sort_stats stats;
		lines l = { 0 };
		unsigned char *record;
		size_t longest, i;
		em_sorter *s;
		fixture f;

		if (test_left_out())
			continue;
		fixture_open(&f, keyed ? 2 : round % 2, 1 + (uint32_t)round / 2 % 4, 64 * MIB);
		f.opts.memory = 8 * MIB;
		f.opts.flags = round % 5 == 0 ? EM_SORT_UNIQUE : 0;
		f.opts.block_bytes = round < 8 ? 0 : 8192;
		s = open_sorter(&f);
		longest = (size_t)em_sorter_longest(s);
		assert_true(longest <= 8 * MIB / 32 && longest > 8 * MIB / 33);
		em_sorter_close(s);
		record = calloc(1, longest);
		assert_non_null(record);
		record[1] = ' ';
		for (i = 0; i < 70; i++) {
			static const size_t around[] = { 8192, 65536, 131072, 16384, 250000 };
			size_t bytes = i % 6 == 5 ? longest : around[i % 6] + (size_t)test_below(&rng, 50) - 25;

			/* The key is all but a byte of the record, with its zeroes escaped. */
			if (keyed && bytes > longest / 3 - 64)
				bytes = longest / 3 - 64;
			record[0] = (unsigned char)test_below(&rng, 2);
			record[bytes / 2] = (unsigned char)test_random(&rng);
			lines_add(&l, record, bytes);
			record[bytes / 2] = 0;
			lines_add_pattern(&l, &rng, LINES_MIXED, (size_t)test_below(&rng, 30), &free_format, 300);
		}
		free(record);
		check(&f, &rng, &l, &stats);
		assert_true(keyed || stats.runs > 1);
		lines_free(&l);
		fixture_close(&f);
	}
}

/* A record that is too long is refused with its batch, which changes nothing: alone, in front of others and behind
 * them. */
static void test_too_long(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 18; round++) {
		static const size_t before[] = { 0, 5, 30000 };
		const size_t n = before[round % 3];
		lines l = { 0 }, good = { 0 };
		unsigned char *record;
		char number[32];
		size_t bytes;
		em_sorter *s;
		fixture f;

		if (test_left_out())
			continue;
		fixture_open(&f, 0, 1, 64 * MIB);
		f.opts.memory = 8 * MIB;
		s = open_sorter(&f);
		bytes = (size_t)em_sorter_longest(s);
		bytes = round < 6 ? bytes + 1 : round < 12 ? bytes * 2 : bytes * 40;
		record = calloc(1, bytes);
		assert_non_null(record);
		lines_add_pattern(&l, &rng, LINES_ALIKE, n, &free_format, 130);
		lines_add(&l, record, bytes);
		lines_add_pattern(&l, &rng, LINES_ALIKE, 3, &free_format, 130);
		free(record);
		assert_int_equal(push(s, &l, 0, l.n), EM_ERR_RANGE);
		em_sorter_error(s, &f.err);
		assert_int_equal(f.err.status, EM_ERR_RANGE);
		assert_int_equal(f.err.record, n + 1);
		snprintf(number, sizeof(number), "record %u ", (unsigned)n + 1);
		if (strstr(f.err.text, number) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", f.err.text, number);
		/* All the others can be sorted. */
		lines_append(&good, &l, 0, n);
		lines_append(&good, &l, n + 1, l.n);
		assert_int_equal(push(s, &good, 0, n), EM_OK);
		assert_int_equal(push(s, &l, n, l.n), EM_ERR_RANGE);
		assert_int_equal(push(s, &good, n, good.n), EM_OK);
		assert_int_equal(em_sorter_finish(s), EM_OK);
		lines_sort(f.order, &good, 0, 0);
		assert_pull(s, &good);
		em_sorter_close(s);
		lines_free(&l);
		lines_free(&good);
		fixture_close(&f);
	}
}

/* The key counts, too. */
static void test_too_long_key(void **state)
{
	em_sorter *s;
	lines l = { 0 };
	unsigned char *record;
	size_t bytes;
	fixture f;

	(void)state;
	fixture_open(&f, 2, 1, 64 * MIB);
	s = open_sorter(&f);
	bytes = (size_t)em_sorter_longest(s) * 3 / 4;
	record = malloc(bytes);
	assert_non_null(record);
	memset(record, 'a', bytes);
	lines_add(&l, record, bytes);
	record[1] = ' ';
	lines_add(&l, record, bytes);
	free(record);
	/* Without a second field the key is nothing. */
	assert_int_equal(push(s, &l, 0, 1), EM_OK);
	assert_int_equal(push(s, &l, 1, 2), EM_ERR_RANGE);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	l.n = 1;
	assert_pull(s, &l);
	em_sorter_close(s);
	lines_free(&l);
	fixture_close(&f);
}

/* Nothing at all, nothing in a batch, and records that are nothing. */
static void test_nothing(void **state)
{
	static const uint64_t zeroes[3] = { 0, 0, 0 };
	const em_batch none = { NULL, 0, 0, NULL }, no_ends = { "", 0, 0, zeroes }, three = { NULL, 3, 0, zeroes };
	int round;

	(void)state;
	for (round = 0; round < 8; round++) {
		lines expected = { 0 };
		em_sorter *s;
		fixture f;
		int i;

		fixture_open(&f, round % 2 == 0 ? 0 : 3, 1 + (uint32_t)round % 2, 16 * MIB);
		f.opts.flags = round % 4 == 3 ? EM_SORT_UNIQUE : 0;
		f.opts.run_records = round < 4 ? 0 : 2;
		s = open_sorter(&f);
		assert_int_equal(em_sorter_push_batch(s, none.records, none.ends, none.n), EM_OK);
		assert_int_equal(em_sorter_push_batch(s, no_ends.records, no_ends.ends, no_ends.n), EM_OK);
		for (i = 0; i < 3 * (round / 2 % 2); i++) {
			assert_int_equal(em_sorter_push_batch(s, three.records, three.ends, three.n), EM_OK);
			while (expected.n < (f.opts.flags != 0 ? 1u : 3u * (unsigned)(i + 1)))
				lines_add(&expected, "", 0);
		}
		assert_int_equal(em_sorter_finish(s), EM_OK);
		assert_pull(s, &expected);
		em_sorter_close(s);
		lines_free(&expected);
		fixture_close(&f);
	}
}

static void assert_stuck(em_sorter *s, em_status status)
{
	static const uint64_t end = 1;
	const em_batch one = { "x", 1, 1, &end };
	const em_batch *batch;
	em_errinfo err;

	assert_int_equal(em_sorter_push_batch(s, one.records, one.ends, one.n), status);
	assert_int_equal(em_sorter_finish(s), status);
	assert_int_equal(em_sorter_next(s, &batch), status);
	assert_null(batch);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, status);
	assert_true(err.text[0] != '\0');
}

static void assert_mistake(em_sorter *s, em_status status, em_status expected, uint64_t record, const char *text)
{
	em_errinfo err;

	assert_int_equal(status, expected);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, expected);
	assert_int_equal(err.record, record);
	if (strstr(err.text, text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, text);
}

/* They leave the sorter as it is. */
static void test_wrong_batches(void **state)
{
	static const uint64_t down[] = { 2, 1, 3 }, few[] = { 1, 2 };
	static const uint64_t far[] = { 1, UINT64_MAX, UINT64_MAX };
	lines expected = { 0 };
	em_sorter *s;
	fixture f;

	(void)state;
	fixture_open(&f, 0, 1, 16 * MIB);
	s = open_sorter(&f);
	assert_int_equal(em_sorter_push_batch(NULL, "ab", few, 2), EM_ERR_INVAL);
	assert_int_equal(em_sorter_push_batch(s, "ba", few, 2), EM_OK);
	assert_mistake(s, em_sorter_push_batch(s, "abc", down, 3), EM_ERR_INVAL, 2, "record 2 of the batch ends at 1");
	assert_mistake(s, em_sorter_push_batch(s, "abc", far, 3), sizeof(size_t) < 8 ? EM_ERR_INVAL : EM_ERR_RANGE,
		       sizeof(size_t) < 8 ? 0 : 2, sizeof(size_t) < 8 ? "no memory holds" : "record 2 of the batch");
	assert_mistake(s, em_sorter_push_batch(s, "abc", NULL, 3), EM_ERR_INVAL, 0, "has no ends");
	assert_mistake(s, em_sorter_push_batch(s, NULL, NULL, 2), EM_ERR_INVAL, 0, "has no ends");
	assert_mistake(s, em_sorter_push_batch(s, NULL, few, 2), EM_ERR_INVAL, 0, "records is NULL");
	assert_mistake(s, em_sorter_push(s, "abc", 3), EM_ERR_INVAL, 0, "with their ends");
	assert_int_equal(em_sorter_push_batch(s, NULL, NULL, 0), EM_OK);
	assert_int_equal(em_sorter_push_batch(s, "dc", few, 2), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	lines_add(&expected, "a", 1);
	lines_add(&expected, "b", 1);
	lines_add(&expected, "c", 1);
	lines_add(&expected, "d", 1);
	assert_pull(s, &expected);
	em_sorter_close(s);
	lines_free(&expected);
	fixture_close(&f);
}

/* A sorter of records of one size takes batches without ends. */
static void test_fixed_batches(void **state)
{
	static const uint64_t ends[] = { 8, 16 };
	const em_key key = { 0, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } };
	const em_batch two = { "bbbbbbbbaaaaaaaa", 2, 16, NULL }, with = { "bbbbbbbbaaaaaaaa", 2, 16, ends };
	const em_batch *batch;
	em_sorter *s;
	fixture f;

	(void)state;
	fixture_open(&f, 0, 1, 16 * MIB);
	em_order_close(f.order);
	assert_int_equal(em_order_keys(&f.order, f.ctx, 8, &key, 1, NULL), EM_OK);
	f.memory = em_ctx_memory_used(f.ctx);
	s = open_sorter(&f);
	assert_int_equal(em_sorter_longest(s), 8);
	assert_int_equal(em_sorter_push_batch(s, two.records, two.ends, two.n), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	assert_int_equal(batch->n, 2);
	assert_null(batch->ends);
	assert_memory_equal(batch->records, "aaaaaaaabbbbbbbb", 16);
	assert_int_equal(em_sorter_next(s, &batch), EM_END);
	em_sorter_close(s);
	s = open_sorter(&f);
	assert_int_equal(em_sorter_push_batch(s, with.records, with.ends, with.n), EM_ERR_INVAL);
	em_sorter_close(s);
	fixture_close(&f);
}

/* Calls out of order change nothing; canceling stops it for good. */
static void test_call_order(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const em_batch *batch;
	lines l = { 0 };
	em_sorter *s;
	fixture f;

	(void)state;
	fixture_open(&f, 0, 1, 16 * MIB);
	lines_add_pattern(&l, &rng, LINES_GARBAGE, 50, &free_format, 130);
	s = open_sorter(&f);
	assert_int_equal(push(s, &l, 0, 20), EM_OK);
	assert_mistake(s, em_sorter_next(s, &batch), EM_ERR_STATE, 0, "next before finish");
	assert_null(batch);
	assert_int_equal(push(s, &l, 20, 50), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_mistake(s, push(s, &l, 0, 50), EM_ERR_STATE, 0, "push after finish");
	assert_mistake(s, em_sorter_finish(s), EM_ERR_STATE, 0, "finish after finish");
	lines_sort(f.order, &l, 0, 0);
	assert_pull(s, &l);
	em_sorter_close(s);
	s = open_sorter(&f);
	em_sorter_cancel(s);
	assert_int_equal(push(s, &l, 0, 50), EM_ERR_CANCELED);
	assert_stuck(s, EM_ERR_CANCELED);
	em_sorter_close(s);
	lines_free(&l);
	fixture_close(&f);
}

/* Closed or canceled at every stage, in memory and with runs. */
static void test_any_time(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		const int stage = round % 5, cancel = round / 5 % 2;
		const em_batch *batch;
		lines l = { 0 };
		em_sorter *s;
		fixture f;
		size_t i;

		if (test_left_out())
			continue;
		fixture_open(&f, round % LINES_ORDERS, 1 + (uint32_t)round % 3, 16 * MIB);
		f.opts.run_records = round / 10 % 2 == 0 ? 0 : 90;
		f.opts.fan_in = 3;
		f.opts.flags = round / 20 == 0 ? 0 : EM_SORT_UNIQUE;
		lines_add_pattern(&l, &rng, LINES_MIXED, 3000, &free_format, 20000);
		s = open_sorter(&f);
		for (i = 0; i < (stage == 0 ? 0u : stage == 1 ? 11u : 30u); i++)
			assert_int_equal(push(s, &l, i * 100, i * 100 + 100), EM_OK);
		if (stage >= 3)
			assert_int_equal(em_sorter_finish(s), EM_OK);
		for (i = 0; stage == 4 && i < 1 + test_below(&rng, 5); i++)
			assert_true(em_sorter_next(s, &batch) >= EM_OK);
		if (cancel) {
			em_sorter_cancel(s);
			if (stage < 3)
				assert_int_equal(em_sorter_finish(s), EM_ERR_CANCELED);
			for (i = 0; i < 2; i++) {
				em_status st;

				/* What is at its end stays there. */
				do {
					st = em_sorter_next(s, &batch);
				} while (st == EM_OK);
				assert_true(st == EM_ERR_CANCELED || (stage == 4 && st == EM_END));
			}
		}
		em_sorter_close(s);
		lines_free(&l);
		fixture_close(&f);
	}
}

/* Several at work in one context, which share its memory; their calls take turns. */
static void test_several(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_sorter *s[3];
	lines l[3];
	fixture f;
	size_t i, at;

	(void)state;
	fixture_open(&f, 0, 2, 64 * MIB);
	memset(l, 0, sizeof(l));
	f.opts.memory = 8 * MIB;
	f.opts.fan_in = 3;
	f.opts.run_records = 500;
	for (i = 0; i < 3; i++) {
		lines_add_pattern(&l[i], &rng, LINES_MIXED, 4000, &free_format, 3000);
		s[i] = open_sorter(&f);
	}
	for (at = 0; at < 4000; at += 250)
		for (i = 0; i < 3; i++)
			assert_int_equal(push(s[i], &l[i], at, at + 250), EM_OK);
	for (i = 0; i < 3; i++) {
		assert_int_equal(em_sorter_finish(s[i]), EM_OK);
		lines_sort(f.order, &l[i], 0, 0);
	}
	for (i = 0; i < 3; i++) {
		assert_pull(s[i], &l[i]);
		lines_free(&l[i]);
	}
	/* The context goes first. */
	em_order_close(f.order);
	em_ctx_close(f.ctx);
	for (i = 0; i < 3; i++)
		em_sorter_close(s[i]);
}

/* The least memory that a failure names does. */
static void test_least(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 8; round += TEST_TSAN ? 3 : 1) {
		em_sort_stats stats;
		em_sorter *s;
		lines l = { 0 };
		fixture f;

		fixture_open(&f, round % LINES_ORDERS, 1 + (uint32_t)round % 2, 64 * MIB);
		f.opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		f.opts.memory = 16384;
		f.opts.errinfo = &f.err;
		assert_int_equal(em_sorter_open(&s, f.ctx, f.order, &f.opts), EM_ERR_MEMLIMIT);
		assert_null(s);
		assert_true(f.err.bytes > 16384 && f.err.bytes < 16 * MIB);
		f.opts.memory = f.err.bytes;
		lines_add_pattern(&l, &rng, LINES_MIXED, 40000, &free_format, 500);
		check(&f, &rng, &l, &stats);
		lines_free(&l);
		em_order_close(f.order);
		em_ctx_close(f.ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model), cmocka_unit_test(test_budget), cmocka_unit_test(test_many_runs),
		cmocka_unit_test(test_long),	      cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_too_long_key),  cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_wrong_batches), cmocka_unit_test(test_fixed_batches),
		cmocka_unit_test(test_call_order),    cmocka_unit_test(test_any_time),
		cmocka_unit_test(test_several),	      cmocka_unit_test(test_least),
	};

	return cmocka_run_group_tests_name("sorter of lines", tests, NULL, NULL);
}
