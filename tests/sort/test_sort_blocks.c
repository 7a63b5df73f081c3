/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_blocks.c -- lists of blocks on one disk or several become lists that are sorted, whatever a disk is like, and what fails is told.
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

#include "block/block_reader.h"
#include "block/block_writer.h"
#include "common/test.h"
#include "sort/sort_blocks.h"
#include "sort/sort_model.h"

enum { DISKS = 4, BLOCK = 8192 };

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
	int frees;              /* the input */
	uint64_t left;          /* bytes on the disks when all lists are gone */
	em_fault fault;
	uint64_t fail_at;       /* this transfer by the sort fails; 0: none */
} fixture;

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
	f.sort = sort;
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

static em_status write_list(fixture *f, em_ctx *ctx, emi_disk *disk, emi_block_list *list)
{
	emi_block_writer w;
	em_status st = emi_block_writer_open(&w, ctx, disk, BLOCK, f->shape.bytes, 3, EMI_FORWARD, NULL, &f->err);
	uint64_t i;

	for (i = 0; i < f->n && st == EM_OK; i++)
		st = emi_block_writer_put(&w, f->records + i * f->shape.bytes, &f->err);
	if (st == EM_OK)
		st = emi_block_writer_finish(&w, list, &f->err);
	emi_block_writer_close(&w);
	return st;
}

static void assert_list(fixture *f, em_ctx *ctx, emi_disk *disk, const emi_block_list *list)
{
	const unsigned char *expected = f->sorted;
	emi_block_reader r;
	const char *record;
	uint64_t n = 0;
	em_status st;

	assert_int_equal(list->records, f->n);
	assert_int_equal(emi_block_reader_open(&r, ctx, disk, BLOCK, f->shape.bytes, 3, list, EMI_FORWARD, 0, NULL, &f->err), EM_OK);
	for (; (st = emi_block_reader_get(&r, &record, &f->err)) == EM_OK; n++, expected += f->shape.bytes)
		if (memcmp(record, expected, f->shape.bytes) != 0)
			fail_msg("record %llu is another", (unsigned long long)n);
	assert_int_equal(st, EM_END);
	assert_int_equal(n, f->n);
	emi_block_reader_close(&r);
}

/* Block i of a list is on disk i modulo D. */
static void assert_striped(const emi_block_list *list, uint32_t disks)
{
	uint64_t i;

	for (i = 0; i < list->blocks; i++)
		assert_int_equal(list->bid[i].disk, i % disks);
}

static void drop(emi_block_list *list, em_ctx *ctx, emi_disk *disk, int blocks)
{
	if (blocks)
		emi_block_list_free_blocks(list, disk, BLOCK, 0, list->blocks);
	emi_block_list_release(list, ctx);
}

/* Write a list, sort it, and look at what came out. */
static em_status sort_list(fixture *f, int striped)
{
	em_ctx *ctx = sort_ctx(&f->opts);
	em_order *order = sort_order(ctx, &f->shape);
	emi_block_list in, out;
	emi_disk *disk;
	em_status st;

	memset(&f->err, 0, sizeof f->err);
	memset(&f->stats, 0, sizeof f->stats);
	f->stats.size = sizeof f->stats;
	assert_int_equal(emi_scratch_acquire(ctx, &disk, &f->err), EM_OK);
	assert_int_equal(write_list(f, ctx, disk, &in), EM_OK);
	em_fault_set(&f->fault, f->fault.ops, f->fail_at, 1);
	st = emi_sort_blocks(ctx, order, &in, BLOCK, f->frees, &f->sort, &out, &f->stats, &f->err);
	em_fault_set(&f->fault, f->fault.ops, 0, 1);
	if (st == EM_OK) {
		assert_list(f, ctx, disk, &out);
		if (striped)
			assert_striped(&out, emi_disk_count(disk));
	} else {
		assert_int_equal(f->err.status, st);
		assert_int_equal(out.blocks, 0);
		assert_null(out.bid);
	}
	drop(&out, ctx, disk, 1);
	drop(&in, ctx, disk, !f->frees);
	f->left = emi_disk_used(disk);
	emi_scratch_release(ctx, disk);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

static void assert_sorts(fixture *f)
{
	if (sort_list(f, 1) != EM_OK)
		fail_msg("%s", f->err.text);
	/* What a sort reserves and frees of its runs is all of it. */
	assert_int_equal(f->left, 0);
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

			f->opts.ndisks = disks;
			f->opts.threads = 1 + (disks + i) % 3;
			f->frees = (int)((disks + i) % 2);
			f->sort.run_records = 1 + many / (2 + test_below(&f->rng, 7));
			make_records(f, sizes[i], (sort_pattern)test_below(&f->rng, SORT_PATTERNS), many / 4 + test_below(&f->rng, many));
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
		make_records(f, 3000, SORT_RANDOM, n);
		assert_sorts(f);
		assert_int_equal(f->stats.runs, 0);
	}
	/* As many as fill blocks, one more, one less. */
	for (n = BLOCK / 16 * DISKS - 1; n <= BLOCK / 16 * DISKS + 1; n++) {
		make_records(f, 16, SORT_RANDOM, n);
		assert_sorts(f);
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
	f->sort.memory = 4096;
	assert_int_equal(sort_list(f, 1), EM_ERR_MEMLIMIT);
	assert_int_equal(f->left, 0);
}

/* One disk has next to no room: the others take its blocks.  When they cannot either, all that was taken is given back. */
static void test_full(void **state)
{
	fixture *f = *state;
	uint32_t i;

	make_records(f, 16, SORT_RANDOM, 300000);
	f->disk[1].capacity = 40 * BLOCK;
	if (sort_list(f, 0) != EM_OK)
		fail_msg("%s", f->err.text);
	assert_int_equal(f->left, 0);
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
		for (f->fail_at = 1; ; f->fail_at += EVERY) {
			em_status st;

			f->frees = (int)(f->fail_at % 2);
			em_fault_init(&f->fault, em_backend_find("memory"));
			f->fault.ops = ops[i];
			st = sort_list(f, 1);
			if (f->fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				break;
			}
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(f->err.sys_errno, EIO);
			failed++;
		}
	assert_true(failed * EVERY > 40);
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
	for (nth = 1; reached; nth += EVERY) {
		emi_block_list in, out;
		em_order *order;
		emi_disk *disk;
		em_status st;
		em_ctx *ctx;

		test_memory_init(&f->mem, 0);
		ctx = sort_ctx(&f->opts);
		order = sort_order(ctx, &f->shape);
		memset(&f->err, 0, sizeof f->err);
		assert_int_equal(emi_scratch_acquire(ctx, &disk, &f->err), EM_OK);
		assert_int_equal(write_list(f, ctx, disk, &in), EM_OK);
		f->mem.fail_at = f->mem.calls + nth;
		st = emi_sort_blocks(ctx, order, &in, BLOCK, 0, &f->sort, &out, NULL, &f->err);
		reached = test_memory_failed(&f->mem);
		f->mem.fail_at = 0;
		if (st != EM_OK && (!reached || (st != EM_ERR_NOMEM && st != EM_ERR_THREAD)))
			fail_msg("allocation %llu: %s %s", (unsigned long long)nth, em_status_name(st), f->err.text);
		if (st == EM_OK)
			assert_list(f, ctx, disk, &out);
		failed += st != EM_OK;
		drop(&out, ctx, disk, 1);
		drop(&in, ctx, disk, 1);
		emi_scratch_release(ctx, disk);
		em_order_close(order);
		em_ctx_close(ctx);
		test_memory_assert_clean(&f->mem);
	}
	assert_true(failed * EVERY > 20);
}

/* One disk takes ten times as long as the others: what comes out is the same, and it did work. */
static void test_slow(void **state)
{
	static em_simdisk sim[DISKS];
	fixture *f = *state;
	uint32_t i;

	for (i = 0; i < DISKS; i++) {
		assert_int_equal(em_simdisk_init(&sim[i], "plain", NULL), EM_OK);
		assert_int_equal(em_simdisk_parse(&sim[i], i == 2 ? "rate=100MB,seek=0ms" : "rate=1000MB,seek=0ms", NULL), EM_OK);
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
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canceled, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
