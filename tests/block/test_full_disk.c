/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_full_disk.c -- disks that are found to be full when a block is written, after there was room when it was
 * allocated: the block goes elsewhere, and
 * whoever has its id reads, writes and frees it as if nothing had happened.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/block.h>
#include <extmem/sys/request.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/disk_set.h"
#include "block/fixture.h"
#include "block/moved.h"

enum { PAGE = 4096, PAGES = 4, BLOCK = PAGES * PAGE };

static const char *const backends[] = { "syscall", "libaio", "io_uring", "memory" };

typedef struct bench {
	fixture f;
	char *buf;
} bench;

/* n disks, of which those in the mask have no room for what is written.  0: there is no such backend here. */
static int bench_open(bench *b, const char *name, uint32_t n, uint32_t full, uint32_t flags)
{
	const em_backend *be[FIXTURE_DISKS] = { NULL };
	uint32_t i;

	for (i = 0; i < n; i++)
		be[i] = em_backend_find(name);
	if (be[0] == NULL)
		return 0;
	fixture_open_with(&b->f, be, n, flags);
	for (i = 0; i < n; i++) {
		b->f.fault[i].sys_errno = i % 2 ? EDQUOT : ENOSPC;
		if ((full >> i & 1) != 0)
			em_fault_set(&b->f.fault[i], EM_FAULT_WRITE, 1, UINT64_MAX);
	}
	b->buf = emi_buffer_alloc(b->f.ctx, 2 * BLOCK, &b->f.err);
	assert_non_null(b->buf);
	return 1;
}

static void bench_close(bench *b)
{
	emi_buffer_free(b->f.ctx, b->buf, 2 * BLOCK);
	fixture_close(&b->f);
}

static void fill(bench *b, size_t bytes, int c)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		b->buf[i] = (char)(c + (int)(i / PAGE));
}

static em_status write_at(bench *b, em_bid bid, size_t bytes, int c)
{
	emi_request rq;

	fill(b, bytes, c);
	memset(&b->f.err, 0, sizeof b->f.err);
	emi_block_write(b->f.disk, &rq, b->buf, bytes, bid, NULL);
	return emi_wait(&rq, &b->f.err);
}

static void assert_at(bench *b, em_bid bid, size_t bytes, int c)
{
	emi_request rq;
	size_t i;

	memset(b->buf, 0, bytes);
	emi_block_read(b->f.disk, &rq, b->buf, bytes, bid, NULL);
	if (emi_wait(&rq, &b->f.err) != EM_OK)
		fail_msg("%s", b->f.err.text);
	assert_int_equal(rq.done, bytes);
	for (i = 0; i < bytes; i++)
		assert_int_equal(b->buf[i], (char)(c + (int)(i / PAGE)));
}

/* Written, read, written again when there is room again, and freed. */
static void test_block(void **state)
{
	size_t k;
	uint32_t flags;

	(void)state;
	for (k = 0; k < sizeof backends / sizeof *backends; k++) {
		for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
			em_bid bid[2];
			bench b;

			if (!bench_open(&b, backends[k], 3, 3, flags))
				continue;
			assert_int_equal(emi_bid_alloc_on(b.f.disk, 0, BLOCK, &bid[0], &b.f.err), EM_OK);
			assert_int_equal(emi_bid_alloc_on(b.f.disk, 1, BLOCK, &bid[1], &b.f.err), EM_OK);
			assert_true(bid[0].disk == 0 && bid[1].disk == 1);
			assert_int_equal(write_at(&b, bid[0], BLOCK, 'a'), EM_OK);
			assert_int_equal(write_at(&b, bid[1], BLOCK, 'k'), EM_OK);
			assert_at(&b, bid[0], BLOCK, 'a');
			assert_at(&b, bid[1], BLOCK, 'k');
			if (flags == 0)
				assert_at(&b, bid[1], PAGE, 'k');
			assert_int_equal(write_at(&b, bid[0], BLOCK, 'A'), EM_OK);
			em_fault_set(&b.f.fault[1], 0, 0, 0);
			assert_int_equal(write_at(&b, bid[1], BLOCK, 'K'), EM_OK);
			assert_at(&b, bid[0], BLOCK, 'A');
			assert_at(&b, bid[1], BLOCK, 'K');
			assert_int_equal(emi_bid_free(b.f.disk, bid[0], BLOCK), EM_OK);
			assert_at(&b, bid[1], BLOCK, 'K');
			assert_int_equal(emi_bid_free(b.f.disk, bid[1], BLOCK), EM_OK);
			assert_int_equal(emi_disk_used(b.f.disk), 0);
			bench_close(&b);
		}
	}
}

/* Blocks of a row are written, read and freed together or one by one, some of them moved. */
static void test_row(void **state)
{
	int freed;

	(void)state;
	for (freed = 0; freed < 3; freed++) {
		em_bid bid[PAGES];
		emi_disk_usage usage;
		bench b;
		int i;

		assert_true(bench_open(&b, "syscall", 2, 0, 0));
		assert_int_equal(emi_bids_alloc_row(b.f.disk, 0, PAGE, bid, PAGES, &b.f.err), EM_OK);
		assert_int_equal(write_at(&b, bid[0], BLOCK, 'a'), EM_OK);
		em_fault_set(&b.f.fault[0], EM_FAULT_WRITE, 1, UINT64_MAX);
		assert_int_equal(write_at(&b, bid[1], 2 * PAGE, 'p'), EM_OK);
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		assert_at(&b, bid[0], PAGE, 'a');
		assert_at(&b, bid[1], 2 * PAGE, 'p');
		assert_at(&b, bid[2], PAGE, 'q');
		assert_at(&b, bid[3], PAGE, 'd');
		assert_int_equal(write_at(&b, bid[0], BLOCK, 'A'), EM_OK);
		assert_at(&b, bid[0], BLOCK, 'A');
		emi_disk_usage_of(b.f.disk, 1, &usage);
		assert_true(usage.bytes == 2 * PAGE);
		/* All of it goes elsewhere together: what was there of it is forgotten. */
		em_fault_set(&b.f.fault[0], EM_FAULT_WRITE, 1, UINT64_MAX);
		assert_int_equal(write_at(&b, bid[0], BLOCK, 'M'), EM_OK);
		assert_at(&b, bid[0], BLOCK, 'M');
		assert_at(&b, bid[2], PAGE, 'M' + 2);
		emi_disk_usage_of(b.f.disk, 1, &usage);
		assert_int_equal(usage.bytes, BLOCK);
		for (i = 0; i < PAGES && freed < 2; i++)
			assert_int_equal(emi_bid_free(b.f.disk, bid[freed == 0 ? i : PAGES - 1 - i], PAGE), EM_OK);
		if (freed == 2)
			assert_int_equal(emi_bid_free(b.f.disk, bid[0], BLOCK), EM_OK);
		emi_disk_usage_of(b.f.disk, 1, &usage);
		assert_int_equal(usage.bytes, 0);
		assert_int_equal(emi_disk_used(b.f.disk), 0);
		bench_close(&b);
	}
}

/* What was set aside ahead is not believed any more: the next block goes where there is room, and not by way of
 * another failure. */
static void test_not_again(void **state)
{
	emi_disk_usage usage;
	em_bid bid[2];
	bench b;

	(void)state;
	assert_true(bench_open(&b, "syscall", 2, 1, 0));
	assert_int_equal(emi_bid_alloc_on(b.f.disk, 0, BLOCK, &bid[0], &b.f.err), EM_OK);
	emi_disk_usage_of(b.f.disk, 0, &usage);
	assert_true(usage.held > BLOCK);
	assert_int_equal(write_at(&b, bid[0], BLOCK, 'a'), EM_OK);
	emi_disk_usage_of(b.f.disk, 0, &usage);
	assert_int_equal(usage.held, BLOCK);
	em_fault_set(&b.f.fault[0], EM_FAULT_RESERVE | EM_FAULT_WRITE, 1, UINT64_MAX);
	assert_int_equal(emi_bid_alloc_on(b.f.disk, 0, BLOCK, &bid[1], &b.f.err), EM_OK);
	assert_int_equal(bid[1].disk, 1);
	assert_int_equal(emi_bids_free(b.f.disk, bid, 2, BLOCK, &b.f.err), EM_OK);
	bench_close(&b);
}

/* More blocks than there was room for in the table at first. */
static void test_many(void **state)
{
	enum { MANY = 200 };
	static em_bid bid[MANY];
	bench b;
	int i;

	(void)state;
	assert_true(bench_open(&b, "syscall", 2, 1, 0));
	for (i = 0; i < MANY; i++)
		assert_int_equal(emi_bid_alloc_on(b.f.disk, 0, PAGE, &bid[i], &b.f.err), EM_OK);
	for (i = 0; i < MANY; i++)
		assert_int_equal(write_at(&b, bid[i * 7 % MANY], PAGE, i * 7 % MANY), EM_OK);
	for (i = 0; i < MANY; i++)
		assert_at(&b, bid[i], PAGE, i);
	for (i = 0; i < MANY; i++)
		assert_int_equal(emi_bid_free(b.f.disk, bid[i * 3 % MANY], PAGE), EM_OK);
	assert_int_equal(emi_disk_used(b.f.disk), 0);
	bench_close(&b);
}

/* All are full: it is said which ones, and nothing is lost of what was there. */
static void test_all_full(void **state)
{
	em_bid bid;
	bench b;

	(void)state;
	assert_true(bench_open(&b, "syscall", 2, 3, 0));
	assert_int_equal(emi_bid_alloc_on(b.f.disk, 0, BLOCK, &bid, &b.f.err), EM_OK);
	assert_int_equal(write_at(&b, bid, BLOCK, 'a'), EM_ERR_NOSPACE);
	assert_string_equal(b.f.err.path, b.f.dir[0]);
	assert_non_null(strstr(b.f.err.text, "scratch"));
	assert_int_equal(emi_bid_free(b.f.disk, bid, BLOCK), EM_OK);
	assert_int_equal(emi_disk_used(b.f.disk), 0);
	bench_close(&b);
}

static void note(em_request *rq, void *user)
{
	*(em_status *)user = em_request_status(rq);
}

/* As callers outside do: they are told when the block is somewhere. */
static void test_public(void **state)
{
	em_disks_opts how = EM_DISKS_OPTS_INIT;
	em_status told = EM_ERR_INTERNAL;
	em_request *rq;
	em_disks *disks;
	em_bid bid;
	bench b;

	(void)state;
	assert_true(bench_open(&b, "syscall", 2, 1, 0));
	assert_int_equal(em_disks_open(&disks, b.f.ctx, &how), EM_OK);
	assert_int_equal(em_bids_alloc_row(disks, &bid, 1, BLOCK, 0), EM_OK);
	fill(&b, BLOCK, 'x');
	assert_int_equal(em_block_write(disks, bid, b.buf, BLOCK, note, &told, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	assert_int_equal(told, EM_OK);
	assert_int_equal(em_request_moved(rq), BLOCK);
	em_request_close(rq);
	memset(b.buf, 0, BLOCK);
	assert_int_equal(em_block_read(disks, bid, b.buf, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_true(b.buf[0] == 'x' && b.buf[BLOCK - 1] == 'x' + PAGES - 1);
	assert_int_equal(em_bids_free(disks, &bid, 1, BLOCK), EM_OK);
	em_disks_close(disks);
	bench_close(&b);
}

/* The table, against one entry for each page. */
static void test_table(void **state)
{
	enum { SPACE = 64 };
	test_rng rng = test_rng_make(test_seed());
	uint64_t where[2][SPACE];       /* 0: not moved */
	fixture f;
	emi_moved m;
	int round;

	(void)state;
	memset(where, 0, sizeof where);
	fixture_open(&f, "memory");
	assert_int_equal(emi_moved_init(&m, f.ctx, 2, &f.err), EM_OK);
	for (round = 0; round < 20000; round++) {
		const uint64_t from = test_below(&rng, SPACE);
		const uint64_t n = 1 + test_below(&rng, SPACE - from < 9 ? SPACE - from : 9);
		em_bid at = { (uint32_t)test_below(&rng, 2), 0, from * PAGE };
		const int add = test_below(&rng, 2) == 0;
		uint64_t i, taken = 0, there = 0;
		emi_move part;
		int whole;

		for (i = from; i < from + n; i++)
			there += where[at.disk][i] != 0;
		assert_int_equal(emi_moved_find(&m, at, n * PAGE, &part), there != 0);
		if (there != 0)
			assert_int_equal(part.to.offset, where[at.disk][part.from.offset / PAGE]);
		if (add && there == 0) {
			emi_move move = { at, n * PAGE, { 1 - at.disk, 0, (1 + test_below(&rng, 1000)) * PAGE } };

			assert_true(emi_moved_add(&m, &move));
			for (i = 0; i < n; i++)
				where[at.disk][from + i] = move.to.offset + i * PAGE;
			continue;
		}
		while (!add && emi_moved_take(&m, at, n * PAGE, &part, &whole)) {
			const uint64_t first = part.from.offset / PAGE;

			assert_true(part.from.offset >= at.offset);
			assert_true(part.from.offset + part.bytes <= at.offset + n * PAGE);
			for (i = 0; i < part.bytes / PAGE; i++, taken++) {
				assert_int_equal(where[at.disk][first + i], part.to.offset + i * PAGE);
				where[at.disk][first + i] = 0;
			}
		}
		assert_true(add || taken == there);
	}
	emi_moved_free(&m, 0);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_not_again),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_all_full),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests_name("full_disk", tests, NULL, NULL);
}
