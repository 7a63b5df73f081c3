/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_blocks.c -- lists of blocks on one disk or several become lists that are sorted, whatever a disk is like,
 * and what fails is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>

#include "common/test.h"
#include "sort/sort_model.h"

enum { DISKS = 4, BLOCK = 8192, LISTS = 5 };

/* Where each takes long, fewer. */
#define EVERY (TEST_TSAN ? 11u : 1u)

typedef struct fixture {
	test_rng rng;
	test_memory mem;
	sort_shape shape;
	uint64_t n;
	unsigned char *records, *sorted;
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	em_ctx_opts opts;
	em_sort_opts sort;
	em_errinfo err;
	em_sort_stats stats;
	uint32_t lists;         /* that the input is in */
	int frees;              /* it */
	em_ctx *ctx;
	em_order *order;
	em_disks *disks;
	em_block_list *in[LISTS], *out;
	uint32_t left;          /* blocks on the disks when all lists are gone */
	unsigned warned;        /* lines that were logged as warnings */
	em_fault fault;
	uint64_t fail_at;       /* this transfer by the sort fails; 0: none */
} fixture;

static void note(void *user, int32_t level, const char *line)
{
	(void)line;
	((fixture *)user)->warned += level == EM_LOG_WARN;
}

static int setup(void **state)
{
	static fixture f;
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	uint32_t i;

	memset(&f, 0, sizeof f);
	f.rng = test_rng_make(test_seed());
	for (i = 0; i < DISKS; i++) {
		f.disk[i] = disk;
		f.disk[i].path = "/";
		f.list[i] = &f.disk[i];
	}
	f.opts = sort_ctx_opts();
	f.opts.disks = f.list;
	f.opts.ndisks = DISKS;
	f.opts.threads = 2;
	f.opts.log = note;
	f.opts.log_user = &f;
	f.lists = 1;
	f.sort = sort;
	f.sort.errinfo = &f.err;
	f.sort.memory = 2u << 20;
	*state = &f;
	return 0;
}

static void make_records(fixture *f, size_t bytes, sort_pattern pattern, uint64_t n)
{
	free(f->records);
	free(f->sorted);
	f->n = n;
	f->shape = sort_shape_of(EM_KEY_U64, 0, 0, bytes);
	f->records = sort_records(&f->rng, &f->shape, pattern, n);
	f->sorted = sort_expected(&f->shape, f->records, &n, 0);
}

static int teardown(void **state)
{
	fixture *f = *state;

	free(f->records);
	free(f->sorted);
	return 0;
}

/* Records [from, to) in a list. */
static em_block_list *write_list(fixture *f, uint64_t from, uint64_t to)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_list *list;
	em_block_writer *w;

	opts.block_bytes = BLOCK;
	opts.record_bytes = f->shape.bytes;
	assert_int_equal(em_block_writer_open(&w, f->disks, &opts), EM_OK);
	assert_int_equal(em_block_writer_push(w, f->records + from * f->shape.bytes, (size_t)(to - from)), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	return list;
}

/* A context, its disks, and the input on them: in lists that are about as long as each other, or of which the second
 * has nothing. */
static void begin(fixture *f)
{
	uint64_t at = 0;
	uint32_t i;

	f->ctx = sort_ctx(&f->opts);
	f->order = sort_order(f->ctx, &f->shape);
	assert_int_equal(em_disks_open(&f->disks, f->ctx, NULL), EM_OK);
	for (i = 0; i < f->lists; i++) {
		const uint64_t to = i + 1 == f->lists ? f->n : i == 1 ? at : f->n * (i + 1) / f->lists;

		f->in[i] = write_list(f, at, to);
		at = to;
	}
	f->out = NULL;
	memset(&f->err, 0, sizeof f->err);
	memset(&f->stats, 0, sizeof f->stats);
	f->stats.size = sizeof f->stats;
}

static uint32_t blocks_on(em_disks *d)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;

	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	return (uint32_t)s.blocks;
}

static void drop(em_block_list *l)
{
	if (l != NULL)
		assert_int_equal(em_block_list_free_blocks(l), EM_OK);
	em_block_list_close(l);
}

static void end(fixture *f)
{
	uint32_t i;

	for (i = 0; i < f->lists; i++)
		drop(f->in[i]);
	drop(f->out);
	f->left = blocks_on(f->disks);
	em_disks_close(f->disks);
	em_order_close(f->order);
	em_ctx_close(f->ctx);
	assert_int_equal(f->warned, 0);
}

static em_block_list_info info_of(const em_block_list *l)
{
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;

	assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
	return info;
}

/* A list has these records. */
static void assert_list(const fixture *f, em_block_list *list, const unsigned char *expected, uint64_t n)
{
	em_block_reader *r;
	const em_batch *batch;
	uint64_t at = 0;
	em_status st;

	assert_int_equal(info_of(list).records, n);
	assert_int_equal(em_block_reader_open(&r, list, NULL), EM_OK);
	for (; (st = em_block_reader_next(r, &batch)) == EM_OK; at += batch->n)
		if (batch->n > n - at || memcmp(batch->records, expected + at * f->shape.bytes, batch->bytes) != 0)
			fail_msg("of records %llu to %llu one is another", (unsigned long long)at,
				 (unsigned long long)(at + batch->n));
	assert_int_equal(st, EM_END);
	assert_int_equal(at, n);
	em_block_reader_close(r);
}

/* The output is right, full blocks but for the last, and as it says block i is on disk i modulo D. */
static void assert_output(const fixture *f, int striped)
{
	const uint64_t each = BLOCK / f->shape.bytes;
	const em_block_list_info info = info_of(f->out);
	uint64_t i;

	assert_list(f, f->out, f->sorted, f->n);
	assert_int_equal(info.block_bytes, BLOCK);
	assert_int_equal(info.skip, 0);
	assert_int_equal(info.blocks, (f->n + each - 1) / each);
	for (i = 0; striped && i < info.blocks; i++)
		assert_int_equal(info.bids[i].disk, i % em_disks_count(f->disks));
}

/* What was read is gone, or as it was; all if the sort had no failure. */
static void assert_input(const fixture *f, int all)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < f->lists; i++) {
		const uint64_t n = info_of(f->in[i]).records;

		if (f->frees && all)
			assert_int_equal(info_of(f->in[i]).blocks, 0);
		if (!f->frees) {
			assert_list(f, f->in[i], f->records + at * f->shape.bytes, n);
			at += n;
		}
	}
	assert_int_equal(at, f->frees ? 0 : f->n);
}

/* Write lists, sort them, and look at what came out, and at what is left. */
static em_status sort_list(fixture *f, int striped)
{
	uint32_t before = 0, i;
	em_status st;

	begin(f);
	em_fault_set(&f->fault, f->fault.ops, f->fail_at, 1);
	st = em_sort_blocks(&f->out, f->in, f->lists, f->order, f->frees ? EM_BLOCKS_CONSUME : 0, &f->sort, &f->stats);
	em_fault_set(&f->fault, f->fault.ops, 0, 1);
	assert_int_equal(f->err.status, st);
	for (i = 0; i < f->lists; i++)
		before += (uint32_t)info_of(f->in[i]).blocks;
	if (st == EM_OK) {
		before += (uint32_t)info_of(f->out).blocks;
		assert_output(f, striped);
	} else {
		assert_null(f->out);
		assert_true(f->err.text[0] != '\0');
	}
	/* While the disks are still open, nothing but lists is on them. */
	assert_int_equal(blocks_on(f->disks), before);
	assert_input(f, st == EM_OK);
	end(f);
	assert_int_equal(f->left, 0);
	return st;
}

static void assert_sorts(fixture *f)
{
	if (sort_list(f, 1) != EM_OK)
		fail_msg("%s", f->err.text);
	assert_int_equal(f->stats.records_in, f->n);
	assert_int_equal(f->stats.records_out, f->n);
}

/* Sizes that fill blocks and that do not, in memory, in two passes and in more. */
static void test_model(void **state)
{
	static const size_t sizes[] = { 8, 16, 100, 128, 3000 };
	fixture *f = *state;
	uint32_t i, disks;

	for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (disks = 1; disks <= DISKS; disks += TEST_TSAN ? 3 : 1) {
			const uint64_t many = (2u << 20) / sizes[i];

			if (test_left_out())
				continue;
			f->opts.ndisks = disks;
			f->opts.threads = 1 + (disks + i) % 3;
			f->frees = (int)((disks + i) % 2);
			f->lists = 1 + (uint32_t)test_below(&f->rng, LISTS);
			f->opts.flags = disks % 2 ? EM_CTX_CHECKED : 0;
			f->sort.run_records = 1 + many / (2 + test_below(&f->rng, 7));
			make_records(f, sizes[i], (sort_pattern)test_below(&f->rng, SORT_PATTERNS),
				     many / 4 + test_below(&f->rng, many));
			f->sort.memory = (4u << 20) + test_below(&f->rng, 1u << 20);
			f->sort.fan_in = disks == 3 ? 2 : 0;
			f->sort.fetch = (uint32_t)test_below(&f->rng, 2);
			f->sort.place = (uint32_t)test_below(&f->rng, 2);
			f->sort.prefetch_buffers = (uint32_t)(test_below(&f->rng, 2) * test_below(&f->rng, 20));
			assert_sorts(f);
		}
}

static void test_few(void **state)
{
	fixture *f = *state;
	uint64_t n;

	for (n = 0; n < 4; n++) {
		f->lists = 1 + (uint32_t)(n % 3);
		make_records(f, 3000, SORT_RANDOM, n);
		assert_sorts(f);
		assert_int_equal(f->stats.runs, 0);
	}
	/* As many as fill blocks, one more, one less. */
	for (n = BLOCK / 16 * DISKS - 1; n <= BLOCK / 16 * DISKS + 1; n++) {
		make_records(f, 16, SORT_RANDOM, n);
		assert_sorts(f);
	}
	for (n = BLOCK / 16 - 1; n <= BLOCK / 16 + 1; n++) {
		make_records(f, 16, SORT_RANDOM, n);
		f->frees = n % 2 == 0;
		assert_sorts(f);
	}
}

/* All are equal, they are in order, or the other way round: in memory, and in runs. */
static void test_patterns(void **state)
{
	fixture *f = *state;
	uint32_t pattern;

	for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
		f->lists = 1 + pattern % LISTS;
		f->sort.run_records = pattern % 2 ? 5000 : 0;
		make_records(f, 16, (sort_pattern)pattern, 20000 + pattern * 321);
		assert_sorts(f);
		assert_int_equal(f->stats.runs != 0, pattern % 2);
	}
}

/* What the input is freed the runs take, and what these leave the output. */
static void test_in_place(void **state)
{
	fixture *f = *state;

	make_records(f, 16, SORT_RANDOM, 400000);
	f->frees = 1;
	assert_sorts(f);
	assert_true(f->stats.runs > 4);
	assert_in_range(f->stats.peak_scratch, f->n * 16, f->n * 16 + (4u << 20));
}

/* Many lists of few blocks, or of none, are sorted as one would be, consumed or not. */
static void test_short_lists(void **state)
{
	enum { SHORT = 200 };
	em_block_list *list[SHORT];
	fixture *f = *state;
	uint32_t i;

	make_records(f, 16, SORT_RANDOM, 50000);
	f->sort.run_records = 5000;
	for (f->frees = 0; f->frees < 2; f->frees++) {
		uint64_t at = 0;

		f->lists = 0;
		begin(f);
		for (i = 0; i < SHORT; i++) {
			const uint64_t most = i % 5 == 0 ? 0 : (f->n - at) / (SHORT - i) * 2,
				       n = most == 0 ? 0 : test_below(&f->rng, most);

			list[i] = write_list(f, at, i + 1 < SHORT ? at + n : f->n);
			at += n;
		}
		assert_int_equal(em_sort_blocks(&f->out, list, SHORT, f->order, f->frees ? EM_BLOCKS_CONSUME : 0,
						&f->sort, &f->stats),
				 EM_OK);
		assert_true(f->stats.runs > 4);
		assert_output(f, 1);
		for (i = 0; i < SHORT; i++) {
			assert_int_equal(info_of(list[i]).blocks != 0, !f->frees && info_of(list[i]).records != 0);
			drop(list[i]);
		}
		end(f);
		assert_int_equal(f->left, 0);
	}
}

static void test_refused(void **state)
{
	fixture *f = *state;

	make_records(f, 16, SORT_RANDOM, 1000);
	f->sort.flags = EM_SORT_UNIQUE;
	assert_int_equal(sort_list(f, 1), EM_ERR_NOTSUP);
	f->sort.flags = 0;
	f->sort.block_bytes = 2 * BLOCK;
	assert_int_equal(sort_list(f, 1), EM_ERR_INVAL);
	f->sort.block_bytes = BLOCK;
	assert_sorts(f);
	f->frees = 1;
	f->sort.memory = 4096;
	assert_int_equal(sort_list(f, 1), EM_ERR_MEMLIMIT);
}

/* What a caller may get wrong. */
static void test_misuse(void **state)
{
	const em_block_reader_opts consume = { sizeof consume, EM_BLOCKS_CONSUME, 0, 0, NULL };
	em_block_list *mixed[2], *none = NULL, *twice[2], *other;
	fixture *f = *state;
	em_sort_stats unset;
	em_block_reader *r, *alone;
	em_order *longer;
	em_disks *disks;
	em_ctx *ctx;
	sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 24);

	make_records(f, 16, SORT_RANDOM, 1000);
	begin(f);
	assert_int_equal(em_sort_blocks(NULL, f->in, 1, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_blocks(&f->out, NULL, 1, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 0, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_blocks(&f->out, &none, 1, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, NULL, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, f->order, EM_BLOCKS_REVERSE, &f->sort, NULL), EM_ERR_INVAL);
	unset.size = 0;
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, f->order, 0, &f->sort, &unset), EM_ERR_VERSION);
	mixed[0] = f->in[0];
	mixed[1] = NULL;
	assert_int_equal(em_sort_blocks(&f->out, mixed, 2, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_non_null(strstr(f->err.text, "list 1"));
	assert_null(f->out);
	/* Records of another size, in a list or by the order. */
	f->shape.bytes = 24;
	mixed[1] = write_list(f, 0, 0);
	f->shape.bytes = 16;
	assert_int_equal(em_sort_blocks(&f->out, mixed, 2, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_non_null(strstr(f->err.text, "records of 24"));
	em_block_list_close(mixed[1]);
	longer = sort_order(f->ctx, &shape);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, longer, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_non_null(strstr(f->err.text, "order of records of 24"));
	em_order_close(longer);
	/* Other disks, as another user of the same has them, and an order of another context. */
	disks = f->disks;
	assert_int_equal(em_disks_open(&f->disks, f->ctx, NULL), EM_OK);
	mixed[1] = other = write_list(f, 0, 10);
	em_disks_close(f->disks);
	f->disks = disks;
	assert_int_equal(em_sort_blocks(&f->out, mixed, 2, f->order, 0, &f->sort, NULL), EM_ERR_INVAL);
	assert_non_null(strstr(f->err.text, "other disks"));
	drop(other);
	ctx = sort_ctx(&f->opts);
	longer = sort_order(ctx, &f->shape);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, longer, 0, &f->sort, NULL), EM_ERR_INVAL);
	em_order_close(longer);
	em_ctx_close(ctx);
	/* A list that is consumed is nobody else's. */
	twice[0] = twice[1] = f->in[0];
	assert_int_equal(em_sort_blocks(&f->out, twice, 2, f->order, EM_BLOCKS_CONSUME, &f->sort, NULL), EM_ERR_STATE);
	assert_int_equal(em_block_reader_open(&r, f->in[0], NULL), EM_OK);
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, f->order, EM_BLOCKS_CONSUME, &f->sort, NULL), EM_ERR_STATE);
	assert_non_null(strstr(f->err.text, "another reader"));
	/* One that is not may be read meanwhile, and come twice; the calls before left nothing behind. */
	assert_int_equal(em_sort_blocks(&f->out, twice, 2, f->order, 0, NULL, NULL), EM_OK);
	assert_int_equal(info_of(f->out).records, 2 * f->n);
	em_block_reader_close(r);
	assert_int_equal(em_block_reader_open(&alone, f->in[0], &consume), EM_OK);
	em_block_reader_close(alone);
	end(f);
	assert_int_equal(f->left, 0);
}

static em_status sort_bids(fixture *f, em_disks *d, em_bid *bid, uint32_t flags)
{
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_list *list, *out;
	em_status st;

	info.block_bytes = BLOCK;
	info.record_bytes = 16;
	info.records = 2 * BLOCK / 16;
	info.blocks = 2;
	info.bids = bid;
	assert_int_equal(em_block_list_open(&list, d, &info, NULL), EM_OK);
	st = em_sort_blocks(&out, &list, 1, f->order, flags, &f->sort, NULL);
	drop(out);
	em_block_list_close(list);
	return st;
}

/* Every use of a block is checked: input and output are their owner's, runs the sort's, and what is not as it should be
 * is named. */
static void test_checked(void **state)
{
	fixture *f = *state;
	em_bid bid[2];

	f->opts.flags = EM_CTX_CHECKED;
	f->lists = 3;
	f->sort.run_records = 5000;
	for (f->frees = 0; f->frees < 2; f->frees++) {
		make_records(f, 16, SORT_RANDOM, 40000);
		assert_sorts(f);
		assert_true(f->stats.runs > 4);
	}
	f->lists = 1;
	begin(f);
	assert_int_equal(em_bids_alloc(f->disks, bid, 2, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(sort_bids(f, f->disks, bid, 0), EM_ERR_STATE);
	assert_non_null(strstr(f->err.text, "ever written"));
	assert_int_equal(f->err.offset, bid[0].offset);
	assert_int_equal(em_bids_free(f->disks, bid, 2, BLOCK), EM_OK);
	assert_int_equal(sort_bids(f, f->disks, bid, 0), EM_ERR_STATE);
	assert_non_null(strstr(f->err.text, "no block is allocated"));
	/* The output is written, read and freed by the lists' owner. */
	assert_int_equal(em_sort_blocks(&f->out, f->in, 1, f->order, 0, &f->sort, NULL), EM_OK);
	assert_output(f, 1);
	end(f);
	assert_int_equal(f->left, 0);
}

/* One disk has next to no room: the others take its blocks.  When they cannot either, all that was taken is given
 * back. */
static void test_full(void **state)
{
	fixture *f = *state;
	uint32_t i;

	make_records(f, 16, SORT_RANDOM, 300000);
	f->disk[1].capacity = 40 * BLOCK;
	if (sort_list(f, 0) != EM_OK)
		fail_msg("%s", f->err.text);
	/* There is room for the input, but not for the runs beside it. */
	for (i = 0; i < DISKS; i++)
		f->disk[i].capacity = f->n * 16 / DISKS / 4 * 5 / 4096 * 4096;
	assert_int_equal(sort_list(f, 0), EM_ERR_NOSPACE);
	assert_non_null(strstr(f->err.text, "full"));
}

/* Each transfer of one disk fails once. */
static void test_failing(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE };
	fixture *f = *state;
	uint64_t failed = 0;
	size_t i;

	make_records(f, 16, SORT_RANDOM, 30000);
	f->sort.run_records = f->n / 5;
	f->disk[2].custom = em_fault_backend(&f->fault);
	for (i = 0; i < 2; i++)
		for (f->fail_at = test_nth_after(0, EVERY);; f->fail_at = test_nth_after(f->fail_at, EVERY)) {
			em_status st;

			f->frees = (int)(f->fail_at % 2);
			f->lists = 1 + (uint32_t)(f->fail_at % 3);
			f->opts.flags = f->fail_at % 4 == 3 ? EM_CTX_CHECKED : 0;
			assert_int_equal(em_fault_init(&f->fault, sizeof f->fault, em_backend_find("memory")), EM_OK);
			f->fault.ops = ops[i];
			st = sort_list(f, 1);
			if (f->fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				break;
			}
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(f->err.sys_errno, EIO);
			/* It says what failed, and where. */
			assert_string_equal(f->err.op, i == 0 ? "read" : "write");
			assert_int_equal(f->err.offset % 4096, 0);
			failed++;
		}
	assert_true(failed * EVERY > 40 || !test_sweeps());
}

/* Each allocation fails once. */
static void test_memory_fails(void **state)
{
	fixture *f = *state;
	uint64_t nth, failed = 0;
	int reached = 1;

	make_records(f, 16, SORT_RANDOM, 20000);
	f->sort.run_records = f->n / 5;
	f->opts.allocator = &f->mem.allocator;
	for (nth = test_nth_after(0, EVERY); reached; nth = test_nth_after(nth, EVERY)) {
		em_status st;

		test_memory_init(&f->mem, 0);
		f->lists = 1 + (uint32_t)(nth % 3);
		f->frees = (int)(nth % 2);
		begin(f);
		f->mem.fail_at = f->mem.calls + nth;
		st = em_sort_blocks(&f->out, f->in, f->lists, f->order, f->frees ? EM_BLOCKS_CONSUME : 0, &f->sort,
				    NULL);
		reached = test_memory_failed(&f->mem);
		f->mem.fail_at = 0;
		if (st != EM_OK && (!reached || (st != EM_ERR_NOMEM && st != EM_ERR_THREAD)))
			fail_msg("allocation %llu: %s %s", (unsigned long long)nth, em_status_name(st), f->err.text);
		if (st == EM_OK)
			assert_output(f, 1);
		else
			assert_null(f->out);
		assert_input(f, st == EM_OK);
		failed += st != EM_OK;
		end(f);
		assert_int_equal(f->left, 0);
		test_memory_assert_clean(&f->mem);
	}
	assert_true(failed * EVERY > 20 || !test_sweeps());
}

/* One disk takes ten times as long as the others: what comes out is the same, and it did work. */
static void test_slow(void **state)
{
	static em_simdisk sim[DISKS];
	fixture *f = *state;
	uint32_t i;

	for (i = 0; i < DISKS; i++) {
		assert_int_equal(em_simdisk_init(&sim[i], sizeof sim[i], "plain", NULL), EM_OK);
		assert_int_equal(
			em_simdisk_parse(&sim[i], i == 2 ? "rate=100MB,seek=0ms" : "rate=1000MB,seek=0ms", NULL),
			EM_OK);
		f->disk[i].custom = em_simdisk_backend(&sim[i]);
	}
	make_records(f, 16, SORT_RANDOM, 200000);
	assert_sorts(f);
	assert_true(f->stats.runs > 2);
	for (i = 0; i < DISKS; i++)
		assert_true(sim[i].bytes >= f->n * 16 / DISKS);
}

static int cancel(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const uint32_t *in = user;

	(void)done;
	(void)total;
	return phase == *in;
}

/* Stopped while runs are formed, and while they are merged. */
static void test_canceled(void **state)
{
	static uint32_t phase;
	fixture *f = *state;

	make_records(f, 16, SORT_RANDOM, 300000);
	f->sort.progress = cancel;
	f->sort.progress_user = &phase;
	for (phase = EM_PHASE_RUNS; phase <= EM_PHASE_OUTPUT; phase += EM_PHASE_OUTPUT) {
		em_status st;

		f->frees = phase != EM_PHASE_RUNS;
		st = sort_list(f, 1);
		/* It is called as often as time goes by: a fast sort may be over before. */
		assert_true(st == EM_ERR_CANCELED || st == EM_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_model, setup, teardown),
		cmocka_unit_test_setup_teardown(test_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_misuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canceled, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
