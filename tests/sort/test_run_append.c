/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_run_append.c -- runs without a sort: records are appended to them, and fetched again block by block.
 *
 * Whoever writes a run while others are read, as merging presorted files and keeping runs do, needs no engine for that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "sort/kway_model.h"
#include "sort/run_append.h"
#include "sort/run_fetch.h"
#include "sort/sort_model.h"

#define BLOCK ((size_t)4096)
#define BUFFERS 3u
#define MOST 40u                /* runs in a case's life */

/* A run, what it has, and how much of that was read. */
typedef struct reading {
	emi_run run;
	emi_run_fetch fetch;
	emi_fetched *block;     /* that was read last; or NULL */
	unsigned char *records;
	size_t n, at;
	uint64_t blocks;        /* that were read */
	int open;
} reading;

typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_fault fault;
	em_ctx *ctx;
	em_order *order;
	size_t which, bytes;
	size_t block, cap;      /* bytes of a block, and records */
	kway_calls calls;
	emi_collation by;
	emi_io_stats io;
	emi_runs runs;
	emi_outseq out;
	emi_run_writer writer;
	emi_run_append append;
	em_errinfo err;
	reading reading[MOST];
	size_t n;               /* of them */
} bench;

/* A failure leaves what is there to bench_close(). */
static em_status bench_open(bench *b, size_t which, uint32_t compress, uint64_t fail_at)
{
	em_ctx_opts o = sort_ctx_opts();
	const test_rng rng = b->rng;
	em_status st;

	memset(b, 0, sizeof *b);
	b->rng = rng;
	b->which = which;
	b->bytes = kway_bytes(which);
	b->block = compress == EM_COMPRESS_ALWAYS ? 4 * BLOCK : BLOCK;
	b->cap = b->block / b->bytes;
	test_memory_init(&b->mem, 0);
	assert_int_equal(em_fault_init(&b->fault, sizeof b->fault, em_backend_find("memory")), EM_OK);
	o.backend = NULL;
	o.custom = em_fault_backend(&b->fault);
	o.allocator = &b->mem.allocator;
	b->ctx = sort_ctx(&o);
	b->order = kway_order(b->ctx, which, &b->calls);
	assert_int_equal(emi_collation_open(&b->by, b->order, NULL, NULL, &b->err), EM_OK);
	emi_runs_init(&b->runs, b->ctx, &b->by, &b->io, NULL);
	b->runs.compress = compress;
	b->mem.fail_at = fail_at != 0 ? b->mem.calls + fail_at : 0;
	st = emi_outseq_init(&b->out, &b->runs, BUFFERS, compress == EM_COMPRESS_ALWAYS, b->block, &b->err);
	return st == EM_OK ? emi_run_append_init(&b->append, &b->runs, &b->out, &b->writer, b->block, 0, &b->err) : st;
}

/* What was not read stays with the runs. */
static void reading_close(reading *r)
{
	emi_run_fetch_close(&r->fetch);
	r->block = NULL;
	r->open = 0;
}

static void bench_close(bench *b)
{
	size_t i;

	b->mem.fail_at = 0;
	em_fault_set(&b->fault, 0, 0, 0);
	for (i = 0; i < b->n; i++) {
		reading_close(&b->reading[i]);
		free(b->reading[i].records);
	}
	emi_outseq_free(&b->out);
	emi_run_append_free(&b->append);
	emi_run_writer_free(&b->writer);
	emi_runs_release(&b->runs);
	emi_collation_close(&b->by);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

/* Append them, some at a time, as records or as elements. */
static em_status append(bench *b, const unsigned char *records, size_t n)
{
	static uint64_t elems[2 * 300 * 16];
	size_t at = 0;
	em_status st = EM_OK;

	while (st == EM_OK && at < n) {
		const unsigned char *from = records + at * b->bytes;
		size_t some = 1 + (size_t)test_below(&b->rng, 300);

		some = some < n - at ? some : n - at;
		if (test_below(&b->rng, 2) == 0) {
			st = emi_run_append_records(&b->append, from, some, &b->err);
		} else {
			assert_true(some * b->by.codec->elem_bytes <= sizeof elems);
			emi_collation_load(&b->by, from, some, elems);
			st = emi_run_append_elems(&b->append, elems, some, &b->err);
		}
		at += some;
	}
	return st;
}

/* What kway_records() has is sorted, and little of it is alike: packing needs more of that. */
static unsigned char *records_of(bench *b, size_t n, int dull)
{
	unsigned char *records = kway_records(&b->rng, b->which, n, dull ? 1 : 0);
	size_t i;

	for (i = 1; dull && i < n; i++)
		memcpy(records + i * b->bytes, records, b->bytes);
	return records;
}

/* Another run, of n records, on the disks. */
static em_status write_run(bench *b, size_t n, int dull)
{
	reading *r = &b->reading[b->n];
	em_status st;

	assert_true(b->n < MOST);
	memset(r, 0, sizeof *r);
	r->records = records_of(b, n, dull);
	r->n = n;
	b->n++;
	st = append(b, r->records, n);
	if (st == EM_OK)
		st = emi_run_append_end(&b->append, &r->run, &b->err);
	if (st == EM_OK)
		st = emi_run_append_settle(&b->append, &b->err);
	if (st != EM_OK)
		return st;
	r->run.coming = 0;
	assert_int_equal(r->run.bytes, n * b->bytes);
	assert_int_equal(r->run.blocks, (n + b->cap - 1) / b->cap);
	return EM_OK;
}

/* Read it from its beginning, through so many buffers; keeps: it stays. */
static em_status read_begin(bench *b, reading *r, uint32_t buffers, int keeps)
{
	const size_t longest = (size_t)(r->run.longest + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	const emi_run_fetch_opts o = { 1, buffers - 1, 0, longest, b->runs.packed_from != 0, 0, keeps };
	em_status st = emi_run_fetch_open(&r->fetch, &b->runs, &o, &b->err);

	if (st != EM_OK)
		return st;
	r->open = 1;
	r->at = 0;
	r->blocks = 0;
	emi_run_fetch_expect(&r->fetch, &r->run, 1);
	return emi_run_fetch_turn(&r->fetch, &b->err);
}

/* The next block has the records that follow.  EM_END: there are no more. */
static em_status read_block(bench *b, reading *r)
{
	em_status st = EM_OK;

	if (r->block != NULL) {
		emi_prefetch_return(&r->fetch.blocks, r->block);
		r->block = NULL;
		st = emi_run_fetch_advance(&r->fetch, &b->err);
	}
	if (st == EM_OK && r->blocks == r->run.blocks) {
		assert_int_equal(r->at, r->n);
		return EM_END;
	}
	if (st == EM_OK)
		st = emi_prefetch_next(&r->fetch.blocks, 0, &r->block, &b->err);
	if (st == EM_OK) {
		assert_non_null(r->block);
		st = emi_runs_wait(&b->runs, &r->block->rq, &b->err);
	}
	if (st == EM_OK)
		st = emi_run_fetch_admit(&r->fetch, r->block, &b->err);
	if (st == EM_OK) {
		const size_t bytes = (size_t)r->block->hint.data;

		assert_int_equal(bytes % b->bytes, 0);
		assert_true(bytes != 0 && bytes / b->bytes <= r->n - r->at);
		assert_memory_equal(r->block->buf, r->records + r->at * b->bytes, bytes);
		r->at += bytes / b->bytes;
		r->blocks++;
	}
	return st;
}

static em_status read_rest(bench *b, reading *r)
{
	em_status st;

	while ((st = read_block(b, r)) == EM_OK)
		continue;
	return st;
}

/* Runs of any length: written, read, read again, gone. */
static void test_sizes(void **state)
{
	static bench b;
	size_t which, i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		const size_t cap = BLOCK / kway_bytes(which);
		const size_t n[] = { 0, 1, 2, cap - 1, cap, cap + 1, 2 * cap, 5 * cap - 1, 127 * cap, 127 * cap + 1,
				     260 * cap - 1 };

		for (i = 0; i < sizeof n / sizeof *n; i++) {
			reading *r = &b.reading[0];
			uint64_t memory, used;
			int keeps;

			if (test_left_out() || (n[i] > 100000 && which != 3))
				continue;
			assert_int_equal(bench_open(&b, which, EM_COMPRESS_NEVER, 0), EM_OK);
			assert_int_equal(write_run(&b, n[i], 0), EM_OK);
			for (keeps = 1; keeps >= 0 && n[i] != 0; keeps--) {
				used = emi_disk_used(b.runs.scratch);
				assert_true(used >= n[i] * b.bytes);
				memory = em_ctx_memory_used(b.ctx);
				assert_int_equal(read_begin(&b, r, 1 + (uint32_t)test_below(&b.rng, 6), keeps), EM_OK);
				assert_int_equal(read_rest(&b, r), EM_END);
				reading_close(r);
				assert_true(em_ctx_memory_used(b.ctx) <= memory);
				assert_int_equal(emi_disk_used(b.runs.scratch), keeps ? used : 0);
			}
			bench_close(&b);
		}
	}
}

/* Bytes that runs and their writer take are known before. */
static void test_memory_known(void **state)
{
	static bench b;
	uint64_t before, most;

	(void)state;
	b.rng = test_rng_make(test_seed());
	assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
	most = emi_run_append_memory(&b.by, BUFFERS, 0, BLOCK);
	assert_int_equal(emi_runs_scratch(&b.runs, &b.err), EM_OK);
	emi_outseq_free(&b.out);
	before = em_ctx_memory_used(b.ctx);
	assert_int_equal(emi_outseq_init(&b.out, &b.runs, BUFFERS, 0, BLOCK, &b.err), EM_OK);
	assert_int_equal(write_run(&b, 5000, 0), EM_OK);
	/* Beside them, what disks know of their blocks. */
	assert_true(em_ctx_memory_used(b.ctx) - before <= most + ((uint64_t)64 << 10));
	bench_close(&b);
}

/* Blocks that are packed, and blocks that stay in memory. */
static void test_packed_and_kept(void **state)
{
	static bench b;
	size_t which;
	int packed, kept;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		for (packed = 0; packed < 2; packed++) {
			for (kept = 0; kept < 2; kept++) {
				const uint32_t compress = packed ? EM_COMPRESS_ALWAYS : EM_COMPRESS_NEVER;

				if ((packed && !emi_packer_supported()) || test_left_out())
					continue;
				assert_int_equal(bench_open(&b, which, compress, 0), EM_OK);
				if (kept) {
					emi_run_memory_init(&b.runs.memory, b.ctx, 1 << 20, b.block, 1);
					b.runs.memory.no_disks = 1;
				}
				assert_int_equal(write_run(&b, 20 * BLOCK / b.bytes + 7, 1), EM_OK);
				if (!kept)
					assert_int_equal(b.runs.packed_from != 0, packed);
				assert_int_equal(b.runs.scratch == NULL, kept);
				assert_int_equal(read_begin(&b, &b.reading[0], 2, 0), EM_OK);
				assert_int_equal(read_rest(&b, &b.reading[0]), EM_END);
				bench_close(&b);
			}
		}
	}
}

/* Runs are written while others are read, and stay or are consumed; some are read to their ends. */
static em_status in_turns(bench *b, size_t runs, size_t each)
{
	em_status st = EM_OK;
	size_t i;

	while (st == EM_OK && b->n < runs) {
		reading *r = &b->reading[b->n != 0 ? test_below(&b->rng, b->n) : 0];
		const uint64_t what = b->n != 0 ? test_below(&b->rng, 4) : 0;

		if (what == 0)
			st = write_run(b, 1 + (size_t)test_below(&b->rng, each), (int)test_below(&b->rng, 2));
		else if (!r->open && r->blocks == 0)
			st = read_begin(b, r, 1 + (uint32_t)test_below(&b->rng, 4), 0);
		else if (r->open)
			st = read_block(b, r);
		if (st == EM_END) {
			reading_close(r);
			st = EM_OK;
		}
	}
	for (i = 0; st == EM_OK && i < b->n; i++) {
		reading *r = &b->reading[i];

		if (!r->open && r->blocks != 0)
			continue;
		if (!r->open)
			st = read_begin(b, r, 2, 0);
		if (st == EM_OK)
			st = read_rest(b, r);
		if (st == EM_END) {
			reading_close(r);
			st = EM_OK;
		}
	}
	return st;
}

static void test_in_turns(void **state)
{
	static bench b;
	size_t which;
	int packed;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (which = 0; which < kway_orders; which++) {
		for (packed = 0; packed < 2; packed++) {
			if ((packed && !emi_packer_supported()) || test_left_out())
				continue;
			assert_int_equal(bench_open(&b, which, packed ? EM_COMPRESS_ALWAYS : EM_COMPRESS_NEVER, 0),
					 EM_OK);
			if (in_turns(&b, MOST, 3000) != EM_OK)
				fail_msg("%s", b.err.text);
			assert_int_equal(emi_disk_used(b.runs.scratch), 0);
			bench_close(&b);
		}
	}
}

/* Each allocation fails, and each operation of the disks. */
static void test_faults(void **state)
{
	static const size_t some[] = { 3, 6, 10, 12, 18 };
	static bench b;
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 0; i < sizeof some / sizeof *some; i++) {
		const test_rng same = { test_random(&rng) };
		uint64_t at;
		em_status st;
		int failed = 1;

		for (at = test_nth_after(0, 1); failed; at = test_nth_after(at, 1)) {
			b.rng = same;
			st = bench_open(&b, some[i], EM_COMPRESS_NEVER, at);
			if (st == EM_OK)
				st = in_turns(&b, 8, 900);
			failed = test_memory_failed(&b.mem);
			/* What is given back later, or kept in memory in place of a file, may do without. */
			if (st != EM_OK)
				assert_int_equal(st, EM_ERR_NOMEM);
			assert_true(failed || st == EM_OK);
			bench_close(&b);
		}
		for (at = test_nth_after(0, 1), failed = 1; failed; at = test_nth_after(at, 1)) {
			b.rng = same;
			assert_int_equal(bench_open(&b, some[i], EM_COMPRESS_NEVER, 0), EM_OK);
			em_fault_set(&b.fault, EM_FAULT_READ | EM_FAULT_WRITE, at, 1);
			st = in_turns(&b, 8, 900);
			failed = b.fault.injected != 0;
			assert_int_equal(st, failed ? EM_ERR_IO : EM_OK);
			bench_close(&b);
		}
		assert_true(at > 3);
	}
}

/* A run that is not read to its end leaves its blocks to the runs. */
static void test_closed_early(void **state)
{
	static bench b;
	int i;

	(void)state;
	b.rng = test_rng_make(test_seed());
	assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
	assert_int_equal(write_run(&b, 20000, 0), EM_OK);
	assert_int_equal(read_begin(&b, &b.reading[0], 3, 0), EM_OK);
	for (i = 0; i < 2; i++)
		assert_int_equal(read_block(&b, &b.reading[0]), EM_OK);
	reading_close(&b.reading[0]);
	reading_close(&b.reading[0]);
	assert_true(emi_disk_used(b.runs.scratch) != 0);
	emi_runs_release(&b.runs);
	/* They can be begun anew. */
	assert_int_equal(write_run(&b, 20000, 0), EM_OK);
	assert_int_equal(read_begin(&b, &b.reading[1], 2, 0), EM_OK);
	assert_int_equal(read_rest(&b, &b.reading[1]), EM_END);
	reading_close(&b.reading[1]);
	assert_int_equal(emi_disk_used(b.runs.scratch), 0);
	bench_close(&b);
}

/* The directory, or a block, is not what was written. */
static void test_damaged(void **state)
{
	static bench b;
	int how;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (how = 0; how < 2; how++) {
		reading *r = &b.reading[0];
		emi_dir_page *page;
		emi_request rq;
		em_status st;
		em_bid bid;

		assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
		assert_int_equal(write_run(&b, 3 * BLOCK / 8, 0), EM_OK);
		page = emi_buffer_alloc(b.ctx, BLOCK, &b.err);
		assert_non_null(page);
		emi_block_read(b.runs.scratch, &rq, page, EMI_DIR_BYTES, r->run.dir, NULL);
		assert_int_equal(emi_wait(&rq, &b.err), EM_OK);
		bid = how == 0 ? r->run.dir : emi_dir_bid(&page->entry[1]);
		if (how == 0)
			page->sum ^= 1;
		else
			memset(page, 0, BLOCK);
		emi_block_write(b.runs.scratch, &rq, page, BLOCK, bid, NULL);
		assert_int_equal(emi_wait(&rq, &b.err), EM_OK);
		emi_buffer_free(b.ctx, page, BLOCK);
		st = read_begin(&b, r, 2, 0);
		if (st == EM_OK)
			st = read_rest(&b, r);
		assert_int_equal(st, EM_ERR_CORRUPT);
		assert_int_equal(r->blocks, how);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_memory_known),
		cmocka_unit_test(test_packed_and_kept),
		cmocka_unit_test(test_in_turns),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_closed_early),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("run_append", tests, NULL, NULL);
}
