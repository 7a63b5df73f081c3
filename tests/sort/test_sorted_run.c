/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorted_run.c -- runs without a sort: appended to, read as sources, and merged with sources of all other kinds.
 *
 * A merge that pauses, writes a run of what it lent, and takes that as another source, is what a priority queue does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/block_writer.h"
#include "sort/kway.h"
#include "sort/kway_model.h"
#include "sort/run_append.h"
#include "sort/sort_model.h"
#include "sort/sorted_file.h"
#include "sort/sorted_list.h"
#include "sort/sorted_memory.h"
#include "sort/sorted_run.h"

#define BLOCK ((size_t)4096)
#define BUFFERS 3u
#define MOST 200u               /* sources in a case's life */

enum { MEMORY, PIECES, SOME_FILE, LIST, RUN, KINDS };

typedef struct supply {
	int kind;
	emi_sorted_memory memory;
	kway_pieces pieces;
	emi_sorted_file file;
	emi_sorted_list list;
	emi_block_reader reader;
	emi_block_list blocks;
	emi_sorted_run run;
	unsigned char *records;
	char *path;
} supply;

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
	emi_store *store;       /* of lists */
	emi_runs runs;
	emi_outseq out;
	emi_run_writer writer;
	emi_run_append append;
	emi_kway kway;
	em_errinfo err;
	char *dir;
	supply supply[MOST];
	kway_part part[MOST];
	size_t n;               /* of both */
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
	if (st == EM_OK)
		st = emi_run_append_init(&b->append, &b->runs, &b->out, &b->writer, b->block, 0, &b->err);
	return st == EM_OK ? emi_kway_open(&b->kway, &b->by, NULL, &b->err) : st;
}

static emi_sorted_source *source_of(supply *s)
{
	switch (s->kind) {
	case MEMORY:
		return &s->memory.source;
	case PIECES:
		return &s->pieces.source;
	case SOME_FILE:
		return &s->file.source;
	case LIST:
		return &s->list.source;
	default:
		return &s->run.source;
	}
}

static void bench_close(bench *b)
{
	size_t i;

	b->mem.fail_at = 0;
	em_fault_set(&b->fault, 0, 0, 0);
	emi_kway_close(&b->kway);
	for (i = 0; i < b->n; i++) {
		supply *s = &b->supply[i];

		emi_sorted_close(source_of(s));
		emi_block_list_release(&s->blocks, b->ctx);
		if (s->path != NULL)
			remove(s->path);
		free(s->path);
		free(s->records);
	}
	emi_outseq_free(&b->out);
	emi_run_append_free(&b->append);
	emi_run_writer_free(&b->writer);
	emi_runs_release(&b->runs);
	emi_store_close(b->store);
	emi_collation_close(&b->by);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
	if (b->dir != NULL)
		test_dir_remove(b->dir);
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

/* A run of them, on the disks. */
static em_status write_run(bench *b, const unsigned char *records, size_t n, emi_run *run)
{
	em_status st = append(b, records, n);

	if (st == EM_OK)
		st = emi_run_append_end(&b->append, run, &b->err);
	if (st == EM_OK)
		st = emi_run_append_settle(&b->append, &b->err);
	if (st != EM_OK)
		return st;
	run->coming = 0;
	assert_int_equal(run->bytes, n * b->bytes);
	assert_int_equal(run->blocks, (n + b->cap - 1) / b->cap);
	return EM_OK;
}

/* All that a source has is what there is. */
static em_status read_all(bench *b, emi_sorted_source *s, const unsigned char *records, size_t n)
{
	size_t at = 0;
	em_status st;

	while ((st = emi_sorted_next(s, &b->err)) == EM_OK) {
		const size_t some = (size_t)(s->end - s->at) / b->bytes;

		assert_true(some != 0 && some <= n - at);
		assert_memory_equal(s->at, records + at * b->bytes, some * b->bytes);
		s->at = s->end;
		at += some;
	}
	if (st == EM_END)
		assert_int_equal(at, n);
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

/* Runs of any length: written, read, gone. */
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
			const uint32_t buffers = 2 + (uint32_t)test_below(&b.rng, 5);
			emi_sorted_run *s = &b.supply[0].run;
			unsigned char *records;
			uint64_t before;
			emi_run run;

			if (test_left_out() || (n[i] > 100000 && which != 3))
				continue;
			assert_int_equal(bench_open(&b, which, EM_COMPRESS_NEVER, 0), EM_OK);
			records = records_of(&b, n[i], 0);
			assert_int_equal(write_run(&b, records, n[i], &run), EM_OK);
			if (n[i] != 0) {
				assert_true(emi_disk_used(b.runs.scratch) >= n[i] * b.bytes);
				before = em_ctx_memory_used(b.ctx);
				assert_int_equal(emi_sorted_run_open(s, &b.runs, &run, buffers, 0, &b.err), EM_OK);
				assert_true(em_ctx_memory_used(b.ctx) - before <=
					    emi_sorted_run_memory(&b.runs, &run, buffers));
				assert_int_equal(read_all(&b, &s->source, records, n[i]), EM_END);
				/* It has given back what it had, and stays where it is. */
				assert_true(em_ctx_memory_used(b.ctx) <= before);
				assert_int_equal(emi_disk_used(b.runs.scratch), 0);
				assert_int_equal(emi_sorted_next(&s->source, &b.err), EM_END);
				emi_sorted_close(&s->source);
			}
			free(records);
			bench_close(&b);
		}
	}
}

/* Bytes that a merge, its runs and their writer take are known before. */
static void test_writer_memory(void **state)
{
	static bench b;
	uint64_t before, most;
	emi_run run;

	(void)state;
	b.rng = test_rng_make(test_seed());
	assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
	bench_close(&b);
	assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
	most = emi_run_append_memory(&b.by, BUFFERS, 0, BLOCK);
	b.supply[0].records = records_of(&b, 5000, 0);
	b.n = 1;
	assert_int_equal(emi_runs_scratch(&b.runs, &b.err), EM_OK);
	emi_outseq_free(&b.out);
	before = em_ctx_memory_used(b.ctx);
	assert_int_equal(emi_outseq_init(&b.out, &b.runs, BUFFERS, 0, BLOCK, &b.err), EM_OK);
	assert_int_equal(write_run(&b, b.supply[0].records, 5000, &run), EM_OK);
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
				const size_t n = 20 * BLOCK / kway_bytes(which) + 7;
				unsigned char *records;
				emi_sorted_run *s = &b.supply[0].run;
				emi_run run;

				if ((packed && !emi_packer_supported()) || test_left_out())
					continue;
				assert_int_equal(bench_open(&b, which, packed ? EM_COMPRESS_ALWAYS : EM_COMPRESS_NEVER,
							    0),
						 EM_OK);
				if (kept) {
					emi_run_memory_init(&b.runs.memory, b.ctx, 1 << 20, b.block, 1);
					b.runs.memory.no_disks = 1;
				}
				records = records_of(&b, n, 1);
				assert_int_equal(write_run(&b, records, n, &run), EM_OK);
				if (!kept)
					assert_int_equal(b.runs.packed_from != 0, packed);
				assert_int_equal(b.runs.scratch == NULL, kept);
				assert_int_equal(emi_sorted_run_open(s, &b.runs, &run, 2, 0, &b.err), EM_OK);
				assert_int_equal(read_all(&b, &s->source, records, n), EM_END);
				emi_sorted_close(&s->source);
				free(records);
				bench_close(&b);
			}
		}
	}
}

static em_status open_file(bench *b, supply *s, size_t n)
{
	emi_records_opts o;
	char name[32];
	FILE *f;

	if (b->dir == NULL)
		b->dir = test_dir_make();
	snprintf(name, sizeof name, "in%zu", b->n);
	s->path = test_path(b->dir, name);
	f = fopen(s->path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(s->records, b->bytes, n, f), n);
	assert_int_equal(fclose(f), 0);
	memset(&o, 0, sizeof o);
	o.chunk_bytes = BLOCK;
	o.chunks = 2;
	o.record_bytes = b->bytes;
	return emi_sorted_file_open(&s->file, b->ctx, s->path, &o, &b->io, NULL, NULL, &b->err);
}

static em_status open_list(bench *b, supply *s, size_t n)
{
	emi_block_writer w;
	em_status st = EM_OK;
	size_t i;

	memset(&w, 0, sizeof w);
	if (b->store == NULL)
		st = emi_store_open_scratch(&b->store, b->ctx, &b->err);
	if (st == EM_OK)
		st = emi_block_writer_open(&w, b->ctx, b->store, BLOCK, b->bytes, 2, EMI_FORWARD, 0, &b->io,
					   &b->err);
	for (i = 0; st == EM_OK && i < n; i++)
		st = emi_block_writer_push(&w, s->records + i * b->bytes, &b->err);
	if (st == EM_OK)
		st = emi_block_writer_finish(&w, &s->blocks, &b->err);
	emi_block_writer_close(&w);
	if (st == EM_OK) {
		st = emi_block_reader_open(&s->reader, b->ctx, b->store, BLOCK, b->bytes, 2, &s->blocks, 1, EMI_FORWARD,
					   1, &b->io, &b->err);
		if (st != EM_OK)
			emi_block_list_free_blocks(&s->blocks, emi_store_disk(b->store), BLOCK, 0, s->blocks.blocks);
	}
	if (st == EM_OK)
		emi_sorted_list_open(&s->list, &s->reader);
	return st;
}

static em_status open_run(bench *b, supply *s, size_t n)
{
	emi_run run;
	em_status st = write_run(b, s->records, n, &run);

	return st == EM_OK ? emi_sorted_run_open(&s->run, &b->runs, &run, 2, 0, &b->err) : st;
}

/* Another source, which has these records from now on. */
static em_status add(bench *b, int kind, unsigned char *records, size_t n, uint64_t rank)
{
	supply *s = &b->supply[b->n];
	kway_part *p = &b->part[b->n];
	em_status st = EM_OK;

	assert_true(b->n < MOST);
	memset(s, 0, sizeof *s);
	memset(p, 0, sizeof *p);
	/* There is no run of nothing. */
	s->kind = kind == RUN && n == 0 ? MEMORY : kind;
	s->records = records;
	p->records = records;
	p->n = n;
	p->rank = rank;
	p->number = b->n++;
	switch (s->kind) {
	case MEMORY:
		emi_sorted_memory_open(&s->memory, records, n, b->bytes);
		break;
	case PIECES:
		kway_pieces_open(&s->pieces, &b->rng, records, n, b->bytes, 1 + (size_t)test_below(&b->rng, 200), 1);
		break;
	case SOME_FILE:
		st = open_file(b, s, n);
		break;
	case LIST:
		st = open_list(b, s, n);
		break;
	default:
		st = open_run(b, s, n);
	}
	if (st == EM_OK)
		st = emi_kway_add(&b->kway, source_of(s), rank, &b->err);
	p->live = st == EM_OK;
	return st;
}

/* Lend up to so many records, or up to a bound; copy them.  They are the model's next ones. */
static em_status lend(bench *b, size_t most, const void *bound, unsigned char *to, size_t *n)
{
	emi_kway_stop stop = { most, bound, (int)test_below(&b->rng, 2) };
	em_status st = EM_OK;

	*n = 0;
	while (st == EM_OK && *n < most) {
		const char *records;
		size_t got, i;

		stop.most = most - *n;
		st = emi_kway_next(&b->kway, &stop, &records, &got, &b->err);
		if (st == EM_OK && got == 0)
			break;
		for (i = 0; st == EM_OK && i < got; i++) {
			kway_part *p = kway_next_part(b->which, b->part, b->n);

			assert_non_null(p);
			assert_memory_equal(records + i * b->bytes, p->records + p->at * b->bytes, b->bytes);
			p->at++;
		}
		if (got != 0)
			memcpy(to + *n * b->bytes, records, got * b->bytes);
		*n += got;
	}
	return st;
}

/* What the merge lends next becomes a run, which it takes.  All of it comes before what is left, so its rank is the
 * first. */
static em_status compact(bench *b, size_t most)
{
	unsigned char *records = malloc(most * b->bytes + 1);
	size_t n;
	em_status st;

	assert_non_null(records);
	st = lend(b, most, NULL, records, &n);
	if (st == EM_OK || st == EM_END)
		return add(b, RUN, records, n, 0);
	free(records);
	return st;
}

/* Sources of all kinds come; the merge pauses anywhere, and makes runs of what it lent. */
static em_status merge_any(bench *b, int sources, int steps, size_t each)
{
	unsigned char bound[128], *to = malloc((each + 1) * b->bytes), *records;
	const kway_part *p;
	size_t n;
	em_status st = EM_OK;
	int i;

	assert_non_null(to);
	for (i = 0; st == EM_OK && i < sources; i++) {
		n = (size_t)test_below(&b->rng, each);
		records = i % 4 == 0 ? kway_records(&b->rng, b->which, n, 3) : records_of(b, n, i % 4 == 1);
		st = add(b, i % KINDS, records, n, 1 + (uint64_t)(i % 3));
	}
	for (i = 0; st == EM_OK && i < steps; i++) {
		switch (test_below(&b->rng, 4)) {
		case 0:
			st = compact(b, 1 + (size_t)test_below(&b->rng, each));
			break;
		case 1:
			n = (size_t)test_below(&b->rng, each);
			st = add(b, (int)test_below(&b->rng, KINDS), kway_records(&b->rng, b->which, n, 0), n, 1);
			break;
		case 2:
			p = &b->part[test_below(&b->rng, b->n)];
			if (p->n == 0)
				break;
			memcpy(bound, p->records + test_below(&b->rng, p->n) * b->bytes, b->bytes);
			st = lend(b, each, bound, to, &n);
			break;
		default:
			st = lend(b, 1 + (size_t)test_below(&b->rng, each), NULL, to, &n);
		}
		if (st == EM_END)
			st = EM_OK;
	}
	while (st == EM_OK)
		st = lend(b, each, NULL, to, &n);
	if (st == EM_END)
		assert_null(kway_next_part(b->which, b->part, b->n));
	free(to);
	return st;
}

static void test_mixed(void **state)
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
			if (merge_any(&b, 15, 40, 3000) != EM_END)
				fail_msg("%s", b.err.text);
			/* All runs that there were have been consumed. */
			assert_true(b.runs.scratch == NULL || emi_disk_used(b.runs.scratch) == 0);
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
				st = merge_any(&b, 7, 4, 900);
			failed = test_memory_failed(&b.mem);
			/* What is given back later, or kept in memory in place of a file, may do without. */
			if (st != EM_END)
				assert_int_equal(st, EM_ERR_NOMEM);
			assert_true(failed || st == EM_END);
			bench_close(&b);
		}
		for (at = test_nth_after(0, 1), failed = 1; failed; at = test_nth_after(at, 1)) {
			b.rng = same;
			assert_int_equal(bench_open(&b, some[i], EM_COMPRESS_NEVER, 0), EM_OK);
			em_fault_set(&b.fault, EM_FAULT_READ | EM_FAULT_WRITE, at, 1);
			st = merge_any(&b, 7, 4, 900);
			failed = b.fault.injected != 0;
			assert_int_equal(st, failed ? EM_ERR_IO : EM_END);
			bench_close(&b);
		}
		assert_true(at > 3);
	}
}

/* A source that is closed in the middle leaves its blocks to the runs. */
static void test_closed_early(void **state)
{
	static bench b;
	emi_sorted_run *s = &b.supply[0].run;
	unsigned char *records;
	emi_run run;

	(void)state;
	b.rng = test_rng_make(test_seed());
	assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
	records = records_of(&b, 20000, 0);
	assert_int_equal(write_run(&b, records, 20000, &run), EM_OK);
	assert_int_equal(emi_sorted_run_open(s, &b.runs, &run, 3, 0, &b.err), EM_OK);
	assert_int_equal(emi_sorted_next(&s->source, &b.err), EM_OK);
	s->source.at = s->source.end;
	assert_int_equal(emi_sorted_next(&s->source, &b.err), EM_OK);
	emi_sorted_close(&s->source);
	emi_sorted_close(&s->source);
	assert_true(emi_disk_used(b.runs.scratch) != 0);
	emi_runs_release(&b.runs);
	/* They can be begun anew. */
	assert_int_equal(write_run(&b, records, 20000, &run), EM_OK);
	assert_int_equal(emi_sorted_run_open(s, &b.runs, &run, 2, 0, &b.err), EM_OK);
	assert_int_equal(read_all(&b, &s->source, records, 20000), EM_END);
	emi_sorted_close(&s->source);
	assert_int_equal(emi_disk_used(b.runs.scratch), 0);
	free(records);
	bench_close(&b);
}

/* A block, or the directory, is not what was written. */
static void test_damaged(void **state)
{
	static bench b;
	int how;

	(void)state;
	b.rng = test_rng_make(test_seed());
	for (how = 0; how < 3; how++) {
		emi_sorted_run *s = &b.supply[0].run;
		const size_t n = 3 * BLOCK / 8;
		unsigned char *records;
		emi_dir_page *page;
		emi_request rq;
		em_status st;
		em_bid bid;
		emi_run run;

		assert_int_equal(bench_open(&b, 3, EM_COMPRESS_NEVER, 0), EM_OK);
		records = records_of(&b, n, 0);
		assert_int_equal(write_run(&b, records, n, &run), EM_OK);
		page = emi_buffer_alloc(b.ctx, BLOCK, &b.err);
		assert_non_null(page);
		emi_block_read(b.runs.scratch, &rq, page, EMI_DIR_BYTES, run.dir, NULL);
		assert_int_equal(emi_wait(&rq, &b.err), EM_OK);
		bid = run.dir;
		if (how == 0) {
			page->sum ^= 1;
		} else if (how == 1) {
			/* More records than the run has. */
			run.bytes -= 8;
		} else {
			bid = emi_dir_bid(&page->entry[1]);
			memset(page, 0, BLOCK);
		}
		emi_block_write(b.runs.scratch, &rq, page, BLOCK, bid, NULL);
		assert_int_equal(emi_wait(&rq, &b.err), EM_OK);
		emi_buffer_free(b.ctx, page, BLOCK);
		assert_int_equal(emi_sorted_run_open(s, &b.runs, &run, 2, 0, &b.err), EM_OK);
		while ((st = emi_sorted_next(&s->source, &b.err)) == EM_OK)
			s->source.at = s->source.end;
		assert_int_equal(st, EM_ERR_CORRUPT);
		emi_sorted_close(&s->source);
		free(records);
		bench_close(&b);
	}
}

/* Lines can be appended, but are no such source. */
static void test_lines(void **state)
{
	em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	em_errinfo err = EM_ERRINFO_INIT;
	emi_io_stats io = { 0, 0, 0, 0, 0 };
	emi_sorted_run s;
	emi_collation by;
	emi_runs runs;
	em_order *order;
	emi_run run;

	(void)state;
	memset(&run, 0, sizeof run);
	assert_int_equal(em_order_text(&order, ctx, NULL, 0, NULL, NULL), EM_OK);
	assert_int_equal(emi_collation_open(&by, order, NULL, NULL, &err), EM_OK);
	emi_runs_init(&runs, ctx, &by, &io, NULL);
	assert_int_equal(emi_sorted_run_open(&s, &runs, &run, 2, 0, &err), EM_ERR_NOTSUP);
	emi_sorted_run_close(&s);
	emi_runs_release(&runs);
	emi_collation_close(&by);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_writer_memory),
		cmocka_unit_test(test_packed_and_kept),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_closed_early),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests_name("sorted_run", tests, NULL, NULL);
}
