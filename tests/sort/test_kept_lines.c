/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_kept_lines.c -- the last run of records of any length stays in memory beside the merge, and what comes out is
 * the same.
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

#include "common/phase.h"
#include "base/memory.h"
#include "block/packer.h"
#include "sort/lines_bench.h"

#define MEMORY (8 * MIB)
#define LONGEST ((size_t)50000)
#define RUN 500u

/* Lengths: some hundred; mostly short, and some of up to 6000; some longer than a block. */
enum { USUAL, UNEVEN, HUGE_ONES, KINDS };

static size_t length(test_rng *rng, int kind)
{
	if (kind == USUAL)
		return 100 + (size_t)test_below(rng, 401);
	if (kind == UNEVEN)
		return (size_t)test_below(rng, test_below(rng, 10) == 0 ? 6000 : 60);
	return (size_t)test_below(rng, test_below(rng, 20) == 0 ? LONGEST : 400);
}

/* Lines of so many bytes together, some of them twice. */
static void add_lines(lines *l, test_rng *rng, int kind, uint64_t bytes)
{
	unsigned char *record = malloc(LONGEST);
	size_t n = 0, i;

	assert_non_null(record);
	while (l->filled + l->n < bytes) {
		if (l->n == 0 || test_below(rng, 16) != 0) {
			n = length(rng, kind);
			for (i = 0; i < n; i++)
				record[i] = (unsigned char)('0' + (i < 12 || i % 16 == 0 ? (test_random(rng) >> 40) % 60
											 : i % 60));
		}
		lines_add(l, record, n);
	}
	free(record);
}

static uint64_t text_bytes(const lines *l, size_t first)
{
	return l->filled - (first != 0 ? l->end[first - 1] : 0) + (l->n - first);
}

/* Only the other runs were written: the last one are the last records of the input. */
static void assert_spilled(const bench *b, uint64_t spilled)
{
	const uint64_t written = test_phase(&b->stats, EM_PHASE_RUNS).bytes_written;

	if (written < spilled || written > spilled + spilled / 6 + b->stats.runs * 4 * 4096)
		fail_msg("%s: %u bytes written for %u of other runs", b->what, (unsigned)written, (unsigned)spilled);
}

/* Files of so many hundredths of the memory. */
static void sort_some(int kind, unsigned percent, uint32_t threads, uint32_t compress)
{
	lines all = { 0 };
	uint64_t spilled;
	bench b;

	bench_open(&b, percent + (unsigned)kind, 0, 0);
	bench_enter_with(&b, "syscall", threads, MEMORY);
	b.opts.block_bytes = 16384;
	b.opts.compress = compress;
	snprintf(b.what, sizeof(b.what), "lines of kind %d, %u %% of the memory, %u threads, compress %u", kind,
		 percent, (unsigned)threads, (unsigned)compress);
	add_lines(&all, &b.rng, kind, MEMORY / 100 * percent);
	lines_write(b.in[0], &all, 0, all.n, &b.format, 0);
	bench_expect(&b, &all, 0);
	bench_run_ok(&b, 1);
	assert_true(b.stats.runs > 1);
	assert_true(b.stats.kept_records <= b.stats.run_records);
	if (b.stats.kept_records == 0)
		fail_msg("%s: nothing was kept", b.what);
	spilled = text_bytes(&all, 0) - text_bytes(&all, all.n - (size_t)b.stats.kept_records);
	printf("# %s: %u runs, %u records of %u kept, %u of %u bytes spilled\n", b.what, (unsigned)b.stats.runs,
	       (unsigned)b.stats.kept_records, (unsigned)b.stats.records_in, (unsigned)spilled,
	       (unsigned)text_bytes(&all, 0));
	assert_int_equal(b.stats.passes, 2);
	if (compress == EM_COMPRESS_NEVER)
		assert_spilled(&b, spilled);
	lines_free(&all);
	bench_close(&b);
}

/* Where little more than the memory is sorted, and more. */
static void test_sizes(void **state)
{
	static const unsigned percents[] = { 105, 180, 300 };
	int kind, i;

	(void)state;
	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < (TEST_TSAN ? 1 : kind == UNEVEN ? 3 : 2); i++)
			sort_some(kind, percents[i], 1 + (uint32_t)(i + kind) % 2,
				  i == 1 && kind != HUGE_ONES && emi_packer_supported() ? EM_COMPRESS_ALWAYS
											: EM_COMPRESS_NEVER);
}

/* Patterns, orders and formats in runs of few records, with a header of three in each file and without, each record
 * once and all. */
static void test_patterns(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < LINES_PATTERNS * (TEST_TSAN ? 2u : 6u); i++) {
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, i, (int)(i % LINES_ORDERS), (int)(i % LINES_FORMATS));
		b.opts.run_records = RUN;
		b.opts.block_bytes = 4096u << i % 3;
		b.opts.flags = i % 4 == 1 ? EM_SORT_UNIQUE : 0;
		b.opts.header = i % 5 == 2 ? 3 : 0;
		snprintf(b.what, sizeof(b.what), "case %u", i);
		bench_make_inputs(&b, (int)(i % LINES_PATTERNS),
				  RUN * 3 + 1 + 3 * FILES + (size_t)test_below(&b.rng, RUN), 1 + i % FILES, 3000);
		bench_enter_with(&b, i % 2 ? "memory" : "libaio", 1 + i % 3, 16 * MIB);
		bench_run_ok(&b, 1 + i % FILES);
		assert_true(b.stats.runs > 3);
		assert_int_equal(b.stats.passes, 2);
		if (b.stats.kept_records == 0 || b.stats.kept_records > RUN)
			fail_msg("%s: %u records kept", b.what, (unsigned)b.stats.kept_records);
		bench_close(&b);
	}
}

static em_sorter *open_pushed(bench *b, const lines *l)
{
	uint64_t *ends = malloc(l->n * sizeof(*ends));
	em_batch batch = { 0 };
	em_sorter *s;
	size_t i;

	assert_non_null(ends);
	for (i = 0; i < l->n; i++)
		ends[i] = l->end[i];
	batch.records = l->bytes;
	batch.n = l->n;
	batch.bytes = l->filled;
	batch.ends = ends;
	b->opts.errinfo = &b->err;
	assert_int_equal(em_sorter_open(&s, b->ctx, b->order, &b->opts), EM_OK);
	assert_int_equal(em_sorter_push_batch(s, batch.records, batch.ends, batch.n), EM_OK);
	free(ends);
	if (em_sorter_finish(s) != EM_OK)
		fail_msg("%s: %s", b->what, b->err.text);
	b->stats.size = sizeof(b->stats);
	assert_int_equal(em_sorter_stats_get(s, &b->stats), EM_OK);
	return s;
}

/* What is pulled, against a sorted list. */
static void assert_pulled(bench *b, em_sorter *s, const lines *right)
{
	const em_batch *batch;
	size_t at = 0, bytes = 0;
	em_status st;

	while ((st = em_sorter_next(s, &batch)) == EM_OK) {
		size_t i;

		assert_true(batch->n <= right->n - at && batch->bytes <= right->filled - bytes);
		assert_memory_equal(batch->records, right->bytes + bytes, batch->bytes);
		for (i = 0; i < batch->n; i++)
			assert_int_equal(batch->ends[i] + bytes, right->end[at + i]);
		at += batch->n;
		bytes += batch->bytes;
	}
	if (st != EM_END)
		fail_msg("%s: %s", b->what, b->err.text);
	assert_int_equal(at, right->n);
}

/* Records that were pushed: the run stays in the store if what is free between elements and frames has room for it. */
static void test_pushed(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 24; i++) {
		const uint32_t rest = i % 3 == 0 ? 1 : i % 3 == 1 ? RUN / 3 : RUN;
		lines l = { 0 };
		em_sorter *s;
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, i, (int)(i % LINES_ORDERS), 0);
		bench_enter_with(&b, "memory", 1 + i % 3, 16 * MIB);
		b.opts.memory = 16 * MIB;
		b.opts.run_records = RUN;
		b.opts.block_bytes = 4096;
		b.opts.flags = i % 2 ? EM_SORT_UNIQUE : 0;
		snprintf(b.what, sizeof(b.what), "pushed, case %u", i);
		lines_add_pattern(&l, &b.rng, (int)(i / 3 % LINES_PATTERNS), 3 * RUN + rest, &b.format, 100);
		s = open_pushed(&b, &l);
		lines_sort(b.order, &l, 0, (b.opts.flags & EM_SORT_UNIQUE) != 0);
		assert_pulled(&b, s, &l);
		if (b.stats.kept_records == 0 || b.stats.kept_records > rest)
			fail_msg("%s: %u records kept of %u", b.what, (unsigned)b.stats.kept_records, (unsigned)rest);
		em_sorter_close(s);
		assert_true(em_ctx_memory_peak(b.ctx) <= em_ctx_memory(b.ctx));
		lines_free(&l);
		bench_close(&b);
	}
}

/* Runs as large as there is memory for: the last one stays if it is less than half of the store. */
static void test_pushed_sizes(void **state)
{
	static const unsigned percents[] = { 70, 85, 100, 130, 170 };
	int kept = 0, shrinks = 1;
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		lines l = { 0 };
		em_sorter *s;
		bench b;

		bench_open(&b, i, 0, 0);
		bench_enter_with(&b, "memory", 1 + (uint32_t)i % 2, MEMORY);
		b.opts.block_bytes = 4096;
		snprintf(b.what, sizeof(b.what), "pushed, %u %% of the memory", percents[i]);
		add_lines(&l, &b.rng, (int)(i % KINDS), MEMORY / 100 * percents[i]);
		s = open_pushed(&b, &l);
		assert_true(b.stats.runs > 1);
		kept += b.stats.kept_records != 0;
		shrinks = emi_buffer_shrunk(b.ctx, MEMORY, MEMORY / 2) != MEMORY;
		printf("# %s: %u runs, %u kept of %u\n", b.what, (unsigned)b.stats.runs, (unsigned)b.stats.kept_records,
		       (unsigned)l.n);
		lines_sort(b.order, &l, 0, 0);
		assert_pulled(&b, s, &l);
		em_sorter_close(s);
		assert_true(em_ctx_memory_peak(b.ctx) <= em_ctx_memory(b.ctx));
		lines_free(&l);
		bench_close(&b);
	}
	/* The rest of the store must be given back, which AddressSanitizer's malloc() does not. */
	assert_true(kept != 0 || !shrinks);
}

/* Four runs, of which the last one is not to be kept. */
static void sort_without(const char *what, uint32_t fan_in, uint32_t last_run)
{
	bench b;

	bench_open(&b, 0, 0, 0);
	b.opts.run_records = RUN;
	b.opts.fan_in = fan_in;
	b.opts.last_run = last_run;
	snprintf(b.what, sizeof(b.what), "%s", what);
	bench_make_inputs(&b, LINES_GARBAGE, RUN * 4, 1, 300);
	bench_enter_with(&b, "memory", 2, 16 * MIB);
	bench_run_ok(&b, 1);
	assert_true(fan_in == 0 || b.stats.passes > 2);
	assert_int_equal(b.stats.kept_records, 0);
	bench_close(&b);
}

/* Where the merge takes several passes, or it is not wanted, all runs are spilled. */
static void test_no_room(void **state)
{
	(void)state;
	sort_without("several passes", 3, EM_LAST_RUN_AUTO);
	sort_without("several passes, though it was wanted", 3, EM_LAST_RUN_KEPT);
	sort_without("not wanted", 0, EM_LAST_RUN_WRITTEN);
}

/* Closed with the run in memory and the merge begun: AddressSanitizer sees what is forgotten. */
static void test_closed_early(void **state)
{
	const em_batch *batch;
	lines l = { 0 };
	em_sorter *s;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 2, 16 * MIB);
	b.opts.memory = 16 * MIB;
	b.opts.run_records = RUN;
	b.opts.block_bytes = 4096;
	lines_add_pattern(&l, &b.rng, LINES_GARBAGE, RUN * 2 + 7, &b.format, 100);
	s = open_pushed(&b, &l);
	assert_int_equal(b.stats.kept_records, 7);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	em_sorter_close(s);
	lines_free(&l);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_pushed_sizes),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_closed_early),
	};

	return cmocka_run_group_tests_name("lines kept in memory", tests, NULL, NULL);
}
