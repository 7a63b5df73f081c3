/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge.c -- merging with the engine: with predictions that are wrong and no buffer to spare, and with scratch
 * that was damaged.
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

#include "base/workers.h"
#include "sort/engine.h"
#include "sort/plan_job.h"
#include "sort/sort_model.h"

/* An engine whose records were spilled as runs. */
typedef struct bench {
	test_rng rng;
	sort_shape shape;
	em_ctx *ctx;
	em_order *order;
	emi_engine e;
	uint64_t n;
	unsigned char *records, *expected, *got;
	uint64_t arrived;
} bench;

static void spill_all(bench *b, uint64_t run)
{
	const size_t bytes = (size_t)run * b->shape.bytes;
	em_errinfo err;
	uint64_t at;
	char *area;

	memset(&err, 0, sizeof(err));
	area = emi_buffer_alloc(b->ctx, bytes, &err);
	assert_non_null(area);
	for (at = 0; at < b->n; at += run) {
		const uint64_t some = b->n - at < run ? b->n - at : run;

		memcpy(area, b->records + at * b->shape.bytes, (size_t)some * b->shape.bytes);
		assert_int_equal(emi_engine_spill(&b->e, area, some, &err), EM_OK);
	}
	emi_buffer_free(b->ctx, area, bytes);
}

static void bench_open(bench *b, const sort_shape *shape, sort_pattern pattern, uint32_t threads, uint64_t n,
		       uint64_t run, uint32_t fan_in)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	const emi_needs needs = { .n = EMI_UNKNOWN, .pushed = 1, .bytes = EMI_UNKNOWN };
	em_errinfo err;
	uint64_t m = n;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	b->shape = *shape;
	b->n = n;
	b->records = sort_records(&b->rng, shape, pattern, n);
	b->expected = sort_expected(shape, b->records, &m, 0);
	b->got = malloc((size_t)n * shape->bytes + 1);
	assert_non_null(b->got);
	opts.threads = threads;
	b->ctx = sort_ctx(&opts);
	b->order = sort_order(b->ctx, shape);
	so.block_bytes = 4096;
	so.run_records = run;
	so.fan_in = fan_in;
	so.read_buffers = 1;
	so.write_buffers = 2;
	assert_int_equal(emi_engine_open(&b->e, b->ctx, b->order, &so, &err), EM_OK);
	assert_int_equal(emi_workers_start(b->ctx, &err), EM_OK);
	assert_int_equal(emi_job_plan(&b->e.job, &needs, &err), EM_OK);
	assert_int_equal(emi_engine_prepare(&b->e, &err), EM_OK);
	spill_all(b, run);
}

static void bench_close(bench *b)
{
	emi_engine_close(&b->e);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	free(b->records);
	free(b->expected);
	free(b->got);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	(void)err;
	memcpy(b->got + b->arrived * b->shape.bytes, block->buf.base, block->buf.len);
	b->arrived += block->records;
	return EM_OK;
}

/* Merge what there is to a destination, or pull it; *missed: blocks that were not expected so soon. */
static em_status merge(bench *b, int pull, uint64_t *missed, em_errinfo *err)
{
	const emi_dest dest = { put, NULL, b, 0, 0, NULL };
	const em_batch *batch;
	em_status st;

	*missed = 0;
	if (!pull)
		return emi_engine_merge_to(&b->e, &dest, err);
	st = emi_engine_pull_begin(&b->e, NULL, 0, err);
	while (st == EM_OK) {
		st = emi_engine_pull(&b->e, &batch, err);
		if (st != EM_OK)
			break;
		assert_true(b->arrived + batch->n <= b->n);
		memcpy(b->got + b->arrived * b->shape.bytes, batch->records, batch->bytes);
		b->arrived += batch->n;
		*missed = b->e.fetch.blocks.missed;
	}
	return st == EM_END ? EM_OK : st;
}

static const sort_shape shapes[] = {
	{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } },
	{ 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } },
	{ 2000, 1, { { 0, 3, EM_KEY_BYTES, 0, { 0 } } } },
	{ 16, 1, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } } },
};

/* Wrong predictions and as few buffers as there can be: one for each run, none beyond. */
static void test_wrong_predictions(void **state)
{
	uint64_t missed_in_all = 0;
	uint32_t threads, extra;
	int pattern, pull;
	size_t s;

	(void)state;
	for (s = 0; s < 4; s++) {
		const uint64_t cap = 4096 / shapes[s].bytes, run = 3 * cap + 1, n = 9 * run + cap / 2 + 1;

		for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
			for (threads = 1; threads <= 3; threads++) {
				for (extra = 0; extra < 2; extra++) {
					for (pull = 0; pull < 2; pull++) {
						uint64_t missed;
						em_errinfo err;
						em_status st;
						bench b;

						if (test_left_out())
							continue;
						memset(&err, 0, sizeof(err));
						bench_open(&b, &shapes[s], (sort_pattern)pattern, threads, n, run, 16);
						b.e.job.mispredict = test_random(&b.rng) | 1;
						assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
						assert_int_equal(b.e.job.runs.n, 10);
						b.e.job.plan.read_buffers = extra;
						st = merge(&b, pull, &missed, &err);
						if (st != EM_OK)
							fail_msg("%s", err.text);
						assert_int_equal(b.arrived, n);
						assert_memory_equal(b.got, b.expected, n * shapes[s].bytes);
						missed_in_all += missed;
						bench_close(&b);
					}
				}
			}
		}
	}
	/* Otherwise they were right. */
	assert_true(test_fewer() > 1 || missed_in_all > 0);
}

/* The same in all passes of a sort that makes several, which free blocks and write to them again. */
static void test_wrong_predictions_in_all_passes(void **state)
{
	uint32_t threads;
	size_t s;

	(void)state;
	for (s = 0; s < 4; s++) {
		const uint64_t cap = 4096 / shapes[s].bytes, run = 2 * cap + 1, n = 30 * run;

		for (threads = 1; threads <= 3; threads++) {
			uint64_t missed;
			em_errinfo err;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, &shapes[s], (sort_pattern)(threads + s), threads, n, run, 3);
			b.e.job.mispredict = test_random(&b.rng) | 1;
			assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
			assert_true(b.e.job.runs.n <= 3);
			assert_true(b.e.job.passes >= 4);
			assert_int_equal(merge(&b, 1, &missed, &err), EM_OK);
			assert_int_equal(b.arrived, n);
			assert_memory_equal(b.got, b.expected, n * shapes[s].bytes);
			/* All that was read was given back. */
			assert_int_equal(emi_disk_used(b.e.job.runs.scratch), 0);
			bench_close(&b);
		}
	}
}

/* Longer keys in slices that take several windows each: offset-value codes go on from the last record of the window
 * before. */
static void test_several_windows(void **state)
{
	static const sort_shape longer[] = {
		{ 24, 1, { { 3, 20, EM_KEY_BYTES, 0, { 0 } } } },
		{ 80, 1, { { 0, 72, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } } },
		{ 25, 3, { { 16, 0, EM_KEY_U32, 0, { 0 } }, { 4, 12, EM_KEY_BYTES, 0, { 0 } },
			{ 0, 0, EM_KEY_I16, 0, { 0 } } } },
	};
	uint32_t threads;
	int pattern;
	size_t s;

	(void)state;
	for (s = 0; s < sizeof longer / sizeof longer[0]; s++) {
		for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
			for (threads = 1; threads <= 2; threads++) {
				const uint64_t run = 2000, n = 4 * run + 77;
				uint64_t missed;
				em_errinfo err;
				bench b;

				if (test_left_out())
					continue;
				memset(&err, 0, sizeof(err));
				bench_open(&b, &longer[s], (sort_pattern)pattern, threads, n, run, 8);
				assert_true(b.e.job.by.codes.n != 0);
				assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
				assert_true(b.e.job.plan.window > 3);
				b.e.job.plan.window = 3;
				assert_int_equal(merge(&b, (int)threads - 1, &missed, &err), EM_OK);
				assert_int_equal(b.arrived, n);
				assert_memory_equal(b.got, b.expected, n * longer[s].bytes);
				bench_close(&b);
			}
		}
	}
}

/* Blocks that a merge has read are used again: the disk hardly grows, and is empty when all is merged. */
static void test_space(void **state)
{
	const uint64_t cap = 4096 / 16, run = 8 * cap, n = 27 * run;
	uint64_t missed, runs_end;
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, &shapes[0], SORT_RANDOM, 2, n, run, 3);
	runs_end = emi_disk_peak(b.e.job.runs.scratch);
	assert_true(runs_end >= n * 16 && runs_end <= n * 16 + 28 * 4096);
	assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
	/* What is being written at once, and two pages of directory. */
	assert_true(emi_disk_peak(b.e.job.runs.scratch) <= runs_end + 16 * 4096);
	assert_int_equal(merge(&b, 0, &missed, &err), EM_OK);
	assert_memory_equal(b.got, b.expected, n * 16);
	assert_int_equal(emi_disk_used(b.e.job.runs.scratch), 0);
	bench_close(&b);
}

/* Directories of several pages: more than 255 blocks in a run. */
static void test_long_directories(void **state)
{
	static const uint64_t blocks[] = { 254, 255, 256, 510, 511 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		const uint64_t cap = 2, run = blocks[i] * cap, n = 3 * run - 1;
		uint64_t missed;
		em_errinfo err;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, &shapes[3], SORT_RANDOM, 1 + (uint32_t)i % 2, n, run, 8);
		assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
		assert_int_equal(b.e.job.runs.n, 3);
		assert_int_equal(b.e.job.runs.run[0].blocks, blocks[i]);
		assert_int_equal(merge(&b, (int)(i % 2), &missed, &err), EM_OK);
		assert_memory_equal(b.got, b.expected, n * 2000);
		assert_int_equal(emi_disk_used(b.e.job.runs.scratch), 0);
		bench_close(&b);
	}
}

/* Say what cannot be in a page, or of a run. */
static void harm(emi_dir_page *page, emi_run *run, int how)
{
	emi_dir_entry *e = &page->entry[40];

	switch (how) {
	case 0:
		page->count = UINT32_MAX;
		break;
	case 1:
		page->count--;
		break;
	case 2:
		page->next = EMI_DIR_END;
		break;
	case 3:
		memset(page, 0, EMI_DIR_BYTES);
		break;
	case 4:
		run->blocks -= 100;
		break;
	case 5:
		page->next_disk = 1;
		break;
	case 6:
		e->bytes = 0;
		break;
	case 7:
		e->bytes = UINT64_C(1) << 40;
		break;
	case 8:
		e->packed = UINT32_MAX;
		break;
	case 9:
		e->place++;
		break;
	case 10:
		/* Fewer than there are, so that records would be missing. */
		e->bytes -= 16;
		break;
	case 11:
		e->key ^= 1;
		break;
	case 12:
		page->padding++;
		break;
	case 13:
		run->bytes += 16;
		break;
	case 14:
		run->bytes -= 16;
		break;
	default:
		e->place += 4096;
		break;
	}
}

/* Directories that somebody overwrote, or that say something else than the list of runs, lead nowhere. */
static void test_damaged(void **state)
{
	int how, pull;

	(void)state;
	for (how = 0; how < 16; how++) {
		for (pull = 0; pull < 2; pull++) {
			const uint64_t cap = 4096 / 16, run = 300 * cap, n = 2 * run;
			emi_dir_page *page;
			uint64_t missed;
			em_errinfo err;
			emi_request rq;
			em_status st;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, &shapes[0], SORT_RANDOM, 1, n, run, 8);
			assert_int_equal(emi_engine_reduce(&b.e, &err), EM_OK);
			page = emi_buffer_alloc(b.ctx, EMI_DIR_BYTES, &err);
			assert_non_null(page);
			emi_block_read(b.e.job.runs.scratch, &rq, page, EMI_DIR_BYTES, b.e.job.runs.run[1].dir, NULL);
			assert_int_equal(emi_wait(&rq, &err), EM_OK);
			assert_int_equal(page->count, EMI_DIR_ENTRIES);
			harm(page, &b.e.job.runs.run[1], how);
			/* Whoever does not compare the sum must look at what is in the page; the last ones are seen
			 * by their sum only. */
			if (how < 11 || how == 13 || how == 14)
				page->sum = emi_dir_sum(page);
			emi_block_write(b.e.job.runs.scratch, &rq, page, EMI_DIR_BYTES, b.e.job.runs.run[1].dir, NULL);
			assert_int_equal(emi_wait(&rq, &err), EM_OK);
			emi_buffer_free(b.ctx, page, EMI_DIR_BYTES);
			st = merge(&b, pull, &missed, &err);
			assert_int_equal(st, EM_ERR_CORRUPT);
			assert_int_equal(err.status, EM_ERR_CORRUPT);
			assert_non_null(strstr(err.text, "damaged"));
			bench_close(&b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_predictions),
		cmocka_unit_test(test_wrong_predictions_in_all_passes),
		cmocka_unit_test(test_several_windows),
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_long_directories),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
