/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_passes.c -- many merges, one after the other: blocks of the next one are read while one ends, from one
 * disk or several, and what comes out is what it is in one merge, in as few passes and in no more memory than was
 * planned.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sort/plan_time.h"
#include "sort/engine.h"
#include "sort/plan_job.h"
#include "sort/sort_model.h"

enum { BYTES = 16, BLOCK = 4096, CAP = BLOCK / BYTES, DISKS = 8 };

/* An engine, and what is seen of it while it merges. */
typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	emi_engine e;
	unsigned char *records, *expected;
	uint64_t n;
	uint32_t last;          /* the group that was seen coming the last time */
	uint32_t seen;          /* merges of which blocks were being read while the one before was at hand */
} bench;

/* By the first eight bytes as the machine has them, on the thread that drives the merge: between two comparisons a look
 * at what is being read.  Directories are waited for: what is seen does not depend on how fast things are. */
static int compare(const void *a, const void *b, void *user)
{
	bench *m = user;
	const emi_prefetch *p = &m->e.fetch.blocks;
	emi_run_reader *r = &m->e.fetch.reader;
	uint64_t x, y;
	uint32_t i;

	for (i = 0; m->e.fetch.runs != NULL && i < r->nnext; i++)
		if (r->cursor[i].coming)
			emi_wait(&r->cursor[i].rq, NULL);
	if (m->e.fetch.runs != NULL && m->e.merger.job != NULL && p->last != p->now && p->group[p->last].buffers != 0 &&
	    p->last != m->last) {
		m->last = p->last;
		m->seen++;
	}
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static em_order *observed(bench *b)
{
	em_order *order;

	assert_int_equal(em_order_cmp(&order, b->ctx, BYTES, NULL, compare, 0, b, NULL, NULL), EM_OK);
	return order;
}

/* Spill runs of so many records each. */
static void spill(bench *b, const uint64_t *run, uint32_t runs, const em_sort_opts *so, sort_pattern pattern, int own)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);
	em_ctx_opts opts = sort_ctx_opts();
	emi_needs needs;
	em_errinfo err;
	uint64_t at = 0, m;
	uint32_t i;

	memset(b, 0, sizeof *b);
	memset(&err, 0, sizeof err);
	memset(&needs, 0, sizeof needs);
	b->rng = test_rng_make(test_seed());
	b->last = 2;
	for (i = 0; i < runs; i++)
		b->n += run[i];
	m = b->n;
	b->records = sort_records(&b->rng, &shape, pattern, b->n);
	b->expected = sort_expected(&shape, b->records, &m, 0);
	b->ctx = sort_ctx(&opts);
	b->order = own ? observed(b) : sort_order(b->ctx, &shape);
	assert_int_equal(emi_engine_open(&b->e, b->ctx, b->order, so, &err), EM_OK);
	needs.n = EMI_UNKNOWN;
	needs.pushed = 1;
	assert_int_equal(emi_job_plan(&b->e.job, &needs, &err), EM_OK);
	assert_int_equal(emi_engine_prepare(&b->e, &err), EM_OK);
	for (i = 0; i < runs; i++) {
		unsigned char *copy = malloc((size_t)run[i] * BYTES);

		assert_non_null(copy);
		memcpy(copy, b->records + at * BYTES, (size_t)run[i] * BYTES);
		assert_int_equal(emi_engine_spill(&b->e, copy, run[i], &err), EM_OK);
		free(copy);
		at += run[i];
	}
}

/* Merge them all; what comes out is right, and nothing is left. */
static void merge(bench *b)
{
	const em_batch *batch;
	em_errinfo err;
	uint64_t at = 0;
	em_status st;

	memset(&err, 0, sizeof err);
	if (emi_engine_reduce(&b->e, &err) != EM_OK)
		fail_msg("%s", err.text);
	assert_int_equal(emi_engine_pull_begin(&b->e, NULL, 0, &err), EM_OK);
	while ((st = emi_engine_pull(&b->e, &batch, &err)) == EM_OK) {
		assert_true(at + batch->n <= b->n);
		assert_memory_equal(batch->records, b->expected + at * BYTES, batch->bytes);
		at += batch->n;
	}
	assert_int_equal(st, EM_END);
	assert_true(at == b->n);
	assert_int_equal(emi_disk_used(b->e.job.runs.scratch), 0);
}

static void bench_close(bench *b)
{
	emi_engine_close(&b->e);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	free(b->records);
	free(b->expected);
}

static em_sort_opts options(uint32_t fan_in, uint64_t run)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;

	so.block_bytes = BLOCK;
	so.run_records = run;
	so.fan_in = fan_in;
	so.read_buffers = 4;
	so.write_buffers = 2;
	return so;
}

/* Twelve runs, three at a time: four merges, and one of two of what they made.  All but the first are read ahead, as
 * the runs of each are on the disks when the one before it begins.  Of three runs two at a time, only one merge comes
 * before the last. */
static void test_looks_ahead(void **state)
{
	uint64_t run[12];
	em_sort_opts so;
	uint32_t i;
	bench b;

	(void)state;
	for (i = 0; i < 12; i++)
		run[i] = 6 * CAP;
	so = options(3, 6 * CAP);
	spill(&b, run, 12, &so, SORT_RANDOM, 1);
	merge(&b);
	assert_int_equal(b.e.job.passes, 4);
	assert_int_equal(b.seen, 4);
	bench_close(&b);
	so = options(2, 6 * CAP);
	spill(&b, run, 3, &so, SORT_RANDOM, 1);
	merge(&b);
	assert_int_equal(b.seen, 0);
	bench_close(&b);
}

/* Runs of any lengths, also shorter than the output buffers are many, so that what was merged just now may have to be
 * waited for; fewest passes all the same. */
static void test_any_lengths(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < (TEST_TSAN ? 20 : 60); round++) {
		test_rng rng = test_rng_make(test_seed() + (uint64_t)round);
		const uint32_t runs = 2 + (uint32_t)test_below(&rng, 30), fan_in = 2 + (uint32_t)test_below(&rng, 4);
		const uint64_t most = 1 + test_below(&rng, 5 * CAP);
		em_sort_opts so = options(fan_in, 5 * CAP);
		uint64_t run[32];
		uint32_t i;
		bench b;

		so.write_buffers = 2 + (uint32_t)test_below(&rng, 12);
		so.read_buffers = (uint32_t)test_below(&rng, 12);
		for (i = 0; i < runs; i++)
			run[i] = 1 + test_below(&rng, most);
		/* Equal records of all runs tell whether those keep their order. */
		spill(&b, run, runs, &so, round % 2 ? SORT_FEW : SORT_RANDOM, round % 4 == 0);
		if (round % 3 == 0)
			b.e.job.mispredict = test_random(&rng) | 1;
		merge(&b);
		bench_close(&b);
	}
}

/* A directory that somebody overwrote, of a run that is merged first, or whose merge is only coming. */
static void test_damaged(void **state)
{
	uint32_t which;

	(void)state;
	for (which = 0; which < 12; which++) {
		em_sort_opts so = options(3, 6 * CAP);
		char *page;
		uint64_t run[12];
		emi_request rq;
		em_errinfo err;
		uint32_t i;
		bench b;

		memset(&err, 0, sizeof err);
		for (i = 0; i < 12; i++)
			run[i] = 6 * CAP;
		spill(&b, run, 12, &so, SORT_RANDOM, 1);
		assert_int_equal(emi_run_writer_end(&b.e.writer, &err), EM_OK);
		page = emi_buffer_alloc(b.ctx, EMI_DIR_BYTES, &err);
		assert_non_null(page);
		memset(page, 0, EMI_DIR_BYTES);
		emi_block_write(b.e.job.runs.scratch, &rq, page, EMI_DIR_BYTES, b.e.job.runs.run[which].dir, NULL);
		assert_int_equal(emi_wait(&rq, &err), EM_OK);
		emi_buffer_free(b.ctx, page, EMI_DIR_BYTES);
		assert_int_equal(emi_engine_reduce(&b.e, &err), EM_ERR_CORRUPT);
		assert_non_null(strstr(err.text, "damaged"));
		bench_close(&b);
	}
}

/* Orders of all kinds on one disk and several, in the least memory that is said to do, and a bit more. */
static void test_disks(void **state)
{
	static const sort_shape shapes[] = {
		{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
		{ 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } },
		{ 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } },
		{ 1000, 1, { { 0, 3, EM_KEY_BYTES, 0, { 0 } } } },
	};
	const em_disk_opts plain = EM_DISK_OPTS_INIT;
	em_disk_opts disk = plain;
	const em_disk_opts *list[DISKS];
	int round;

	(void)state;
	disk.path = "/";
	for (round = 0; round < (TEST_TSAN ? 12 : 32); round++) {
		const sort_shape *shape = &shapes[round % 4];
		test_rng rng = test_rng_make(test_seed() + (uint64_t)round);
		em_ctx_opts opts = sort_ctx_opts();
		em_sort_opts so = EM_SORT_OPTS_INIT;
		em_sort_stats stats;
		em_sorter *s;
		em_errinfo err;
		uint64_t before, n = 30 * 3 * BLOCK / shape->bytes, m = n;
		unsigned char *records = sort_records(&rng, shape, (sort_pattern)(round % SORT_PATTERNS), n), *expected;
		em_order *order;
		uint32_t i;
		em_ctx *ctx;

		expected = sort_expected(shape, records, &m, 0);
		for (i = 0; i < DISKS; i++)
			list[i] = &disk;
		opts.disks = list;
		opts.ndisks = 1 + (uint32_t)round % DISKS;
		opts.threads = 1 + (uint32_t)round % 3;
		ctx = sort_ctx(&opts);
		order = sort_order(ctx, shape);
		so.block_bytes = BLOCK;
		so.run_records = n / 30;
		so.fan_in = 2 + (uint32_t)round % 5;
		/* This starts the threads, too, whose stacks are nobody's share. */
		so.errinfo = &err;
		so.memory = 1;
		assert_int_equal(em_sorter_open(&s, ctx, order, &so), EM_ERR_MEMLIMIT);
		so.memory = err.bytes + test_below(&rng, 4) * BLOCK;
		before = em_ctx_memory_used(ctx);
		memset(&stats, 0, sizeof stats);
		sort_assert_sorter(ctx, order, &so, &rng, shape, records, n, expected, n, &stats);
		assert_true(em_ctx_memory_peak(ctx) - before <= so.memory);
		assert_true(stats.runs >= 30 && stats.passes >= 1 + emi_plan_merge_passes(stats.runs, so.fan_in));
		em_order_close(order);
		em_ctx_close(ctx);
		free(records);
		free(expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks_ahead),
		cmocka_unit_test(test_any_lengths),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_disks),
	};

	return cmocka_run_group_tests_name("merge_passes", tests, NULL, NULL);
}
