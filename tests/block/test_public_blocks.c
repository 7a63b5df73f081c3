/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_blocks.c -- disks, ids, transfers and memory of blocks as callers outside have them: whole rounds, what
 * each function refuses, and objects that are closed in any order.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/schedule.h>

#include "block/fixture.h"

/* What em_..._error() said last. */
static em_errinfo told;

#define BLOCK 8192u
enum { D = FIXTURE_DISKS, BLOCKS = 60 };

/* The disks are the public object's alone. */
static em_disks *open_checked(fixture *f, uint32_t n, uint32_t flags)
{
	const em_backend *memory = em_backend_find("memory"), *backends[D] = {memory, memory, memory};
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_disks *d;

	fixture_open_with(f, backends, n, flags);
	opts.errinfo = &f->err;
	if (em_disks_open(&d, f->ctx, &opts) != EM_OK)
		fail_msg("%s", f->err.text);
	emi_scratch_release(f->ctx, f->disk);
	f->disk = NULL;
	return d;
}

static em_disks *open_disks(fixture *f, uint32_t n)
{
	return open_checked(f, n, 0);
}

static uint64_t used(em_disks *d)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;

	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	return s.bytes;
}

/* What a call on disks that failed left behind. */
static void assert_told(const em_disks *d, em_status status, const char *text)
{
	em_disks_error(d, &told);
	assert_int_equal(told.status, status);
	if (strstr(told.text, text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", told.text, text);
}

static void test_disks(void **state)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;
	em_disks *d, *again;
	fixture f;
	uint32_t i;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_disks_count(d), D);
	for (i = 0; i < D; i++)
		assert_string_equal(em_disks_path(d, i), f.dir[i]);
	assert_string_equal(em_disks_path(d, D), "");
	/* The same disks. */
	assert_int_equal(em_disks_open(&again, f.ctx, NULL), EM_OK);
	em_disks_close(d);
	assert_int_equal(em_disks_stats_get(again, EM_DISKS_ALL, &s), EM_OK);
	assert_int_equal(s.size, sizeof s);
	assert_int_equal(s.disks, D);
	assert_int_equal(s.bytes, 0);
	s.size = 8;
	s.bytes = 77;
	assert_int_equal(em_disks_stats_get(again, EM_DISKS_ALL, &s), EM_ERR_VERSION);
	assert_int_equal(s.bytes, 77);
	em_disks_close(again);
	fixture_close(&f);
}

static void test_disks_refused(void **state)
{
	const char *nowhere = "/nowhere/at/all";
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_disks_stats s = EM_DISKS_STATS_INIT;
	em_disks *d = (em_disks *)&s;
	em_errinfo err;
	em_ctx *ctx;

	(void)state;
	memset(&err, 0, sizeof err);
	ctx_opts.dirs = &nowhere;
	ctx_opts.ndirs = 1;
	ctx_opts.backend = "syscall";
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	opts.errinfo = &err;
	assert_int_equal(em_disks_open(NULL, ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(em_disks_open(&d, NULL, &opts), EM_ERR_INVAL);
	assert_null(d);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_int_equal(em_disks_open(&d, ctx, &opts), EM_ERR_NOENT);
	assert_null(d);
	assert_int_equal(err.status, EM_ERR_NOENT);
	assert_string_equal(err.path, nowhere);
	opts.size = 3;
	assert_int_equal(em_disks_open(&d, ctx, &opts), EM_ERR_VERSION);
	em_ctx_close(ctx);
	/* None at all. */
	em_disks_close(NULL);
	assert_int_equal(em_disks_count(NULL), 0);
	assert_string_equal(em_disks_path(NULL, 0), "");
	em_disks_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);
	assert_int_equal(em_disks_stats_get(NULL, EM_DISKS_ALL, &s), EM_ERR_INVAL);
}

/* Each allocation of opening may fail, and what is allocated comes back. */
static void test_disks_without_memory(void **state)
{
	em_status st = EM_ERR_NOMEM;
	em_disks *d;
	fixture f;
	uint64_t n;

	(void)state;
	em_disks_close(open_disks(&f, D));
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		const uint64_t before = em_ctx_memory_used(f.ctx);

		f.mem.fail_at = f.mem.calls + n;
		st = em_disks_open(&d, f.ctx, NULL);
		f.mem.fail_at = 0;
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_NOMEM);
			assert_null(d);
			assert_int_equal(em_ctx_memory_used(f.ctx), before);
		}
	}
	assert_true(n > 3);
	em_disks_close(d);
	fixture_close(&f);
}

static void test_ids(void **state)
{
	static const uint32_t kinds[] = {EM_PLACE_STRIPING, EM_PLACE_SIMPLE, EM_PLACE_CYCLING, EM_PLACE_RANDOM,
					 EM_PLACE_SINGLE};
	em_bid bid[BLOCKS], other[BLOCKS];
	em_disks_stats s = EM_DISKS_STATS_INIT;
	uint32_t k, i, j, on[D] = {0};
	em_placement p;
	em_disks *d;
	fixture f;

	(void)state;
	d = open_disks(&f, D);
	for (k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		assert_int_equal(em_placement_init(&p, kinds[k], D, 0, test_random(&f.rng), 3), EM_OK);
		assert_int_equal(em_bids_alloc(d, bid, BLOCKS, BLOCK, &p, 1000), EM_OK);
		assert_int_equal(em_bids_alloc(d, other, BLOCKS, 3 * BLOCK, NULL, 0), EM_OK);
		assert_int_equal(used(d), 4 * BLOCKS * BLOCK);
		for (i = 0; i < BLOCKS; i++) {
			assert_int_equal(bid[i].disk, em_placement_disk(&p, 1000 + i));
			/* Nobody else's. */
			for (j = 0; j < BLOCKS; j++) {
				assert_true(j == i || !em_bid_equal(bid[i], bid[j]));
				assert_true(other[j].disk != bid[i].disk || bid[i].offset + BLOCK <= other[j].offset ||
					    bid[i].offset >= other[j].offset + 3 * BLOCK);
			}
			on[other[i].disk] += k == 0;
		}
		assert_int_equal(em_bids_free(d, other, BLOCKS, 3 * BLOCK), EM_OK);
		assert_int_equal(used(d), BLOCKS * BLOCK);
		/* Those that are no block are passed over. */
		bid[5] = bid[BLOCKS - 1] = em_bid_none();
		assert_int_equal(em_bids_free(d, bid, BLOCKS, BLOCK), EM_OK);
		assert_int_equal(used(d), 2 * BLOCK);
		em_disks_close(d);
		assert_int_equal(em_disks_open(&d, f.ctx, NULL), EM_OK);
		assert_int_equal(used(d), 0);
	}
	/* Without a placement, evenly. */
	for (i = 0; i < D; i++)
		assert_int_equal(on[i], BLOCKS / D);
	assert_int_equal(em_bids_alloc(d, NULL, 0, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 7, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_bids_free(d, bid, 7, BLOCK), EM_OK);
	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	assert_true(s.bytes == 0 && s.bytes_peak >= 7 * BLOCK && s.held_peak >= s.bytes_peak);
	em_disks_close(d);
	fixture_close(&f);
}

static void test_ids_refused(void **state)
{
	em_bid bid[4];
	em_placement p;
	em_disks *d;
	fixture f;
	uint32_t i;

	(void)state;
	d = open_disks(&f, D);
	memset(bid, 0, sizeof bid);
	assert_int_equal(em_bids_alloc(NULL, bid, 4, BLOCK, NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_bids_alloc(d, NULL, 4, BLOCK, NULL, 0), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "bid");
	assert_int_equal(em_bids_alloc(d, bid, 4, 0, NULL, 0), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "0 bytes");
	assert_int_equal(em_bids_alloc(d, bid, 4, 1000, NULL, 0), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "1000 bytes");
	assert_int_equal(em_placement_init(&p, EM_PLACE_STRIPING, D - 1, 0, 0, 0), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 4, BLOCK, &p, 0), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "2 disks");
	for (i = 0; i < 4; i++)
		assert_true(em_bid_is_none(bid[i]));
	assert_int_equal(em_bids_alloc(d, bid, 4, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_bids_free(NULL, bid, 4, BLOCK), EM_ERR_INVAL);
	assert_int_equal(em_bids_free(d, NULL, 4, BLOCK), EM_ERR_INVAL);
	assert_int_equal(em_bids_free(d, bid, 4, 100), EM_ERR_INVAL);
	assert_int_equal(used(d), 4 * BLOCK);
	/* The others are freed, wherever it stands. */
	bid[1].disk = D;
	assert_int_equal(em_bids_free(d, bid, 4, BLOCK), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "3 disks");
	assert_int_equal(used(d), BLOCK);
	em_disks_close(d);
	fixture_close(&f);
}

/* One behind the other, transferred as one. */
static void test_rows(void **state)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;
	em_bid row[7], single;
	char *blocks, copy[7 * BLOCK];
	em_request *rq;
	uint32_t i, k;
	em_disks *d;
	fixture f;
	void *room;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_buffer_alloc(&room, f.ctx, 7, BLOCK, NULL), EM_OK);
	blocks = room;
	em_disks_expect(d, 7 * BLOCK * D);
	em_disks_expect(NULL, 1);
	for (k = 0; k < D; k++) {
		assert_int_equal(em_bids_alloc_row(d, &single, 1, EM_BLOCK_UNIT, k), EM_OK);
		assert_int_equal(em_bids_alloc_row(d, row, 7, BLOCK, k), EM_OK);
		for (i = 0; i < 7; i++)
			assert_true(row[i].disk == k && row[i].offset == row[0].offset + i * BLOCK);
		assert_int_equal(em_disks_stats_get(d, k, &s), EM_OK);
		assert_int_equal(s.disks, 1);
		assert_int_equal(s.blocks, 8);
		assert_int_equal(s.bytes, EM_BLOCK_UNIT + 7 * BLOCK);
		test_fill(&f.rng, copy, sizeof copy);
		memcpy(blocks, copy, sizeof copy);
		assert_int_equal(em_block_write(d, row[0], blocks, 7 * BLOCK, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
		memset(blocks, 0, 7 * BLOCK);
		assert_int_equal(em_block_read(d, row[4], blocks, BLOCK, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
		assert_memory_equal(blocks, copy + 4 * BLOCK, BLOCK);
		assert_int_equal(em_bids_free(d, row, 7, BLOCK), EM_OK);
		assert_int_equal(em_bids_free(d, &single, 1, EM_BLOCK_UNIT), EM_OK);
	}
	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	assert_true(s.blocks == 0 && s.blocks_peak == 8 && s.disks == D);
	assert_int_equal(em_disks_stats_get(d, D, &s), EM_ERR_INVAL);
	assert_int_equal(em_bids_alloc_row(d, row, 7, BLOCK, D), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "no disk 3");
	assert_true(em_bid_is_none(row[0]) && em_bid_is_none(row[6]));
	assert_int_equal(em_bids_alloc_row(d, row, 7, 10, 0), EM_ERR_INVAL);
	assert_int_equal(em_bids_alloc_row(d, NULL, 7, BLOCK, 0), EM_ERR_INVAL);
	assert_int_equal(em_bids_alloc_row(NULL, row, 7, BLOCK, 0), EM_ERR_INVAL);
	em_buffer_free(f.ctx, room, 7, BLOCK);
	em_disks_close(d);
	fixture_close(&f);
}

/* What is wrong in any context, and what only one that checks knows; what nobody freed is reported. */
static void test_misused_ids(void **state)
{
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_disks *d, *other;
	em_bid bid[3], odd;
	em_request *rq;
	int checked;
	fixture f;
	void *buf;

	(void)state;
	for (checked = 0; checked < 2; checked++) {
		d = open_checked(&f, D, checked ? EM_CTX_CHECKED : 0);
		assert_int_equal(em_buffer_alloc(&buf, f.ctx, 1, BLOCK, NULL), EM_OK);
		memset(buf, 3, BLOCK);
		assert_int_equal(em_disks_open(&other, f.ctx, NULL), EM_OK);
		assert_int_not_equal(em_disks_owner(d), em_disks_owner(other));
		assert_int_equal(em_disks_owner(NULL), 0);
		assert_int_equal(em_bids_alloc(d, bid, 3, BLOCK, NULL, 0), EM_OK);
		odd = bid[0];
		odd.offset++;
		assert_int_equal(em_bids_free(d, &odd, 1, BLOCK), EM_ERR_INVAL);
		assert_int_equal(em_block_write(d, odd, buf, BLOCK, NULL, NULL, &rq), EM_ERR_INVAL);
		assert_null(rq);
		/* Read before it was written, written by another owner, of another size. */
		assert_int_equal(em_block_read(d, bid[0], buf, BLOCK, NULL, NULL, &rq), EM_ERR_STATE);
		assert_null(rq);
		assert_told(d, EM_ERR_STATE, f.dir[bid[0].disk]);
		assert_int_equal(em_block_write(other, bid[0], buf, BLOCK, NULL, NULL, &rq),
				 checked ? EM_ERR_STATE : EM_OK);
		assert_int_equal(em_request_wait(rq), checked ? EM_ERR_INVAL : EM_OK);
		em_request_close(rq);
		assert_int_equal(em_block_write(d, bid[0], buf, BLOCK, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
		/* Everybody reads. */
		assert_int_equal(em_block_read(other, bid[0], buf, BLOCK, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
		if (checked) {
			assert_int_equal(em_block_write(d, bid[0], buf, 3 * BLOCK, NULL, NULL, &rq), EM_ERR_INVAL);
			assert_int_equal(em_bids_free(other, bid, 1, BLOCK), EM_ERR_STATE);
			assert_int_equal(em_bids_free(d, bid, 1, 2 * BLOCK), EM_ERR_INVAL);
		}
		assert_int_equal(used(d), 3 * BLOCK);
		assert_int_equal(em_bids_free(d, bid, 1, BLOCK), EM_OK);
		/* Twice. */
		assert_int_equal(em_bids_free(d, bid, 1, BLOCK), EM_ERR_STATE);
		em_disks_error(d, &told);
		assert_int_equal(told.offset, bid[0].offset);
		assert_int_equal(used(d), 2 * BLOCK);
		em_buffer_free(f.ctx, buf, 1, BLOCK);
		assert_int_equal(f.warned, 0);
		em_disks_close(other);
		em_disks_close(d);
		assert_int_equal(f.warned, checked);
		if (checked)
			assert_non_null(strstr(f.warning, "2 blocks of 16384 bytes"));
		/* Unless that is meant. */
		opts.flags = EM_DISKS_ABANDON;
		assert_int_equal(em_disks_open(&d, f.ctx, &opts), EM_OK);
		assert_int_equal(em_bids_alloc(d, bid, 3, BLOCK, NULL, 0), EM_OK);
		em_disks_close(d);
		assert_int_equal(f.warned, checked);
		opts.flags = 16;
		assert_int_equal(em_disks_open(&d, f.ctx, &opts), EM_ERR_INVAL);
		fixture_close(&f);
	}
}

/* No room for all of them: then for none. */
static void test_no_space(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_bid bid[16];
	em_disks *d;
	em_ctx *ctx;
	uint32_t i;

	(void)state;
	opts.backend = "memory";
	opts.scratch_max = 10 * BLOCK;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 16, BLOCK, NULL, 0), EM_ERR_NOSPACE);
	assert_told(d, EM_ERR_NOSPACE, "");
	for (i = 0; i < 16; i++)
		assert_true(em_bid_is_none(bid[i]));
	assert_int_equal(used(d), 0);
	assert_int_equal(em_bids_alloc(d, bid, 10, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid + 10, 1, BLOCK, NULL, 0), EM_ERR_NOSPACE);
	assert_int_equal(em_bids_free(d, bid, 10, BLOCK), EM_OK);
	em_disks_close(d);
	em_ctx_close(ctx);
}

static void count_ends(em_request *rq, void *user)
{
	assert_int_equal(em_request_status(rq), EM_OK);
	__atomic_add_fetch((uint32_t *)user, 1, __ATOMIC_RELAXED);
}

static void test_transfers(void **state)
{
	em_request *rq[BLOCKS];
	uint32_t ended = 0, i, k;
	em_bid bid[BLOCKS];
	char *blocks, *copy;
	void *room;
	em_disks *d;
	fixture f;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_buffer_alloc(&room, f.ctx, BLOCKS, BLOCK, &f.err), EM_OK);
	blocks = room;
	copy = malloc(BLOCKS * BLOCK);
	assert_non_null(copy);
	test_fill(&f.rng, blocks, BLOCKS * BLOCK);
	memcpy(copy, blocks, BLOCKS * BLOCK);
	assert_int_equal(em_bids_alloc(d, bid, BLOCKS, BLOCK, NULL, 0), EM_OK);
	for (i = 0; i < BLOCKS; i++)
		assert_int_equal(em_block_write(d, bid[i], blocks + i * BLOCK, BLOCK, count_ends, &ended, &rq[i]),
				 EM_OK);
	assert_int_equal(em_request_wait_all(rq, BLOCKS), EM_OK);
	assert_int_equal(ended, BLOCKS);
	for (i = 0; i < BLOCKS; i++)
		em_request_close(rq[i]);
	memset(blocks, 0, BLOCKS * BLOCK);
	for (i = 0; i < BLOCKS; i++)
		assert_int_equal(em_block_read(d, bid[(i * 7) % BLOCKS], blocks + (i * 7) % BLOCKS * BLOCK, BLOCK, NULL,
					       NULL, &rq[i]),
				 EM_OK);
	assert_int_equal(em_request_wait_all(rq, BLOCKS), EM_OK);
	for (i = 0; i < BLOCKS; i++) {
		assert_int_equal(em_request_moved(rq[i]), BLOCK);
		em_request_close(rq[i]);
	}
	assert_memory_equal(blocks, copy, BLOCKS * BLOCK);
	/* A part of one. */
	memset(blocks, 0, BLOCK);
	assert_int_equal(em_block_read(d, bid[9], blocks, 100, NULL, NULL, &rq[0]), EM_OK);
	assert_int_equal(em_request_wait(rq[0]), EM_OK);
	em_request_close(rq[0]);
	assert_memory_equal(blocks, copy + 9 * BLOCK, 100);
	assert_int_equal(blocks[100], 0);
	/* On each disk what fails is that disk's. */
	for (k = 0; k < D; k++) {
		em_errinfo err;

		em_fault_set(&f.fault[k], EM_FAULT_READ, 1, 1);
		for (i = 0; i < D; i++) {
			assert_int_equal(em_block_read(d, bid[i], blocks, BLOCK, NULL, NULL, &rq[0]), EM_OK);
			assert_int_equal(em_request_wait(rq[0]), bid[i].disk == k ? EM_ERR_IO : EM_OK);
			em_request_error(rq[0], &err);
			if (bid[i].disk == k) {
				assert_int_equal(err.sys_errno, EIO);
				assert_int_equal(err.offset, bid[i].offset);
				assert_non_null(strstr(err.path, f.dir[k]));
			}
			em_request_close(rq[0]);
		}
	}
	em_buffer_free(f.ctx, room, BLOCKS, BLOCK);
	em_disks_close(d);
	free(copy);
	fixture_close(&f);
}

static void test_transfers_refused(void **state)
{
	const em_bid bad[] = {{D, 0, 0}, {UINT32_MAX, 0, UINT64_MAX}};
	char buf[4096];
	em_request *rq = (em_request *)buf;
	em_bid there;
	em_disks *d;
	fixture f;
	size_t i;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_bids_alloc(d, &there, 1, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_block_read(NULL, there, buf, 100, NULL, NULL, &rq), EM_ERR_INVAL);
	assert_null(rq);
	assert_int_equal(em_block_write(NULL, there, buf, 100, NULL, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_read(d, there, NULL, 100, NULL, NULL, &rq), EM_ERR_INVAL);
	assert_told(d, EM_ERR_INVAL, "buf");
	assert_int_equal(em_block_write(d, there, buf, 0, NULL, NULL, &rq), EM_ERR_INVAL);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(em_block_read(d, bad[i], buf, sizeof buf, NULL, NULL, &rq), EM_ERR_INVAL);
		assert_null(rq);
		assert_told(d, EM_ERR_INVAL, "no block");
		assert_int_equal(em_block_write(d, bad[i], buf, sizeof buf, NULL, NULL, &rq), EM_ERR_INVAL);
	}
	f.mem.fail_at = f.mem.calls + 1;
	assert_int_equal(em_block_write(d, there, buf, sizeof buf, NULL, NULL, &rq), EM_ERR_NOMEM);
	f.mem.fail_at = 0;
	assert_null(rq);
	assert_int_equal(em_bids_free(d, &there, 1, BLOCK), EM_OK);
	em_disks_close(d);
	fixture_close(&f);
}

static void test_memory_of_blocks(void **state)
{
	em_errinfo err;
	void *room, *none;
	uint64_t before;
	fixture f;

	(void)state;
	fixture_open(&f, "memory");
	memset(&err, 0, sizeof err);
	before = em_ctx_memory_used(f.ctx);
	assert_int_equal(em_buffer_alloc(&room, f.ctx, 5, BLOCK, &err), EM_OK);
	assert_int_equal((uintptr_t)room % EM_BLOCK_UNIT, 0);
	memset(room, 1, 5 * BLOCK);
	assert_int_equal(em_ctx_memory_used(f.ctx), before + 5 * BLOCK);
	assert_int_equal(em_buffer_alloc(NULL, f.ctx, 1, BLOCK, &err), EM_ERR_INVAL);
	assert_int_equal(em_buffer_alloc(&none, NULL, 1, BLOCK, &err), EM_ERR_INVAL);
	assert_int_equal(em_buffer_alloc(&none, f.ctx, 0, BLOCK, &err), EM_ERR_INVAL);
	assert_int_equal(em_buffer_alloc(&none, f.ctx, 1, 0, &err), EM_ERR_INVAL);
	assert_int_equal(em_buffer_alloc(&none, f.ctx, 1, BLOCK + 1, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "8193"));
	assert_int_equal(em_buffer_alloc(&none, f.ctx, 1 << 20, BLOCK, &err), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_int_equal(em_buffer_alloc(&none, f.ctx, UINT64_MAX, BLOCK, NULL), EM_ERR_NOMEM);
	f.mem.fail_at = f.mem.calls + 1;
	assert_int_equal(em_buffer_alloc(&none, f.ctx, 1, BLOCK, &err), EM_ERR_NOMEM);
	f.mem.fail_at = 0;
	assert_null(none);
	em_buffer_free(NULL, room, 5, BLOCK);
	em_buffer_free(f.ctx, NULL, 5, BLOCK);
	assert_int_equal(em_ctx_memory_used(f.ctx), before + 5 * BLOCK);
	em_buffer_free(f.ctx, room, 5, BLOCK);
	assert_int_equal(em_ctx_memory_used(f.ctx), before);
	fixture_close(&f);
}

/* The context first, and a request last. */
static void test_any_order(void **state)
{
	em_request *rq;
	em_ctx *ctx;
	em_disks *d;
	em_bid bid;
	fixture f;
	void *room;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_buffer_alloc(&room, f.ctx, 1, BLOCK, NULL), EM_OK);
	memset(room, 7, BLOCK);
	ctx = f.ctx;
	em_ctx_close(f.ctx);
	f.ctx = NULL;
	assert_int_equal(em_bids_alloc(d, &bid, 1, BLOCK, NULL, 0), EM_OK);
	assert_int_equal(em_block_write(d, bid, room, BLOCK, NULL, NULL, &rq), EM_OK);
	em_disks_close(d);
	assert_int_equal(em_request_wait(rq), EM_OK);
	assert_int_equal(em_request_moved(rq), BLOCK);
	em_buffer_free(ctx, room, 1, BLOCK);
	em_request_close(rq);
	fixture_close(&f);
}

/* In a child everything but closing is refused. */
static void test_fork(void **state)
{
	em_disks *d, *other;
	int status;
	em_bid bid;
	fixture f;
	pid_t pid;

	(void)state;
	d = open_disks(&f, D);
	assert_int_equal(em_bids_alloc(d, &bid, 1, BLOCK, NULL, 0), EM_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const em_bid had = bid;
		int wrong = em_disks_open(&other, f.ctx, NULL) != EM_ERR_FORK || other != NULL;

		wrong |= (em_bids_alloc(d, &bid, 1, BLOCK, NULL, 0) != EM_ERR_FORK || !em_bid_is_none(bid)) << 1;
		wrong |= (em_bids_free(d, &had, 1, BLOCK) != EM_ERR_FORK) << 2;
		em_disks_close(d);
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(used(d), BLOCK);
	em_disks_close(d);
	fixture_close(&f);
}

static uint32_t seven(void *user, uint64_t i, uint32_t disks)
{
	(void)user;
	(void)disks;
	return (uint32_t)(7 + i);
}

static void test_placement_refused(void **state)
{
	em_placement p;

	(void)state;
	assert_int_equal(em_placement_init(NULL, EM_PLACE_STRIPING, 1, 0, 0, 0), EM_ERR_INVAL);
	assert_int_equal(em_placement_init(&p, EM_PLACE_OWN, 1, 0, 0, 0), EM_ERR_INVAL);
	assert_int_equal(em_placement_init(&p, 99, 1, 0, 0, 0), EM_ERR_INVAL);
	assert_int_equal(em_placement_init(&p, EM_PLACE_CYCLING, 0, 0, 0, 0), EM_ERR_RANGE);
	assert_int_equal(em_placement_disk(&p, 5), 0);
	assert_int_equal(em_placement_init(&p, EM_PLACE_CYCLING, EM_DISKS_MAX + 1, 0, 0, 0), EM_ERR_RANGE);
	assert_int_equal(em_placement_init(&p, EM_PLACE_SINGLE, 3, 3, 0, 0), EM_ERR_RANGE);
	assert_int_equal(em_placement_init(&p, EM_PLACE_SINGLE, EM_DISKS_MAX, EM_DISKS_MAX - 1, 0, 0), EM_OK);
	assert_int_equal(em_placement_disk(&p, 5), EM_DISKS_MAX - 1);
	assert_int_equal(em_placement_own(&p, 3, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_placement_own(NULL, 3, seven, NULL), EM_ERR_INVAL);
	assert_int_equal(em_placement_own(&p, 0, seven, NULL), EM_ERR_RANGE);
	assert_int_equal(em_placement_init(&p, EM_PLACE_INTERLEAVED, 3, 0, 0, 0), EM_ERR_INVAL);
	assert_int_equal(em_placement_interleaved(NULL, 3, 0, 2), EM_ERR_INVAL);
	assert_int_equal(em_placement_interleaved(&p, 3, 0, 0), EM_ERR_RANGE);
	assert_int_equal(em_placement_disk(&p, 5), 0);
	assert_int_equal(em_placement_interleaved(&p, 3, 3, 2), EM_ERR_RANGE);
	assert_int_equal(em_placement_interleaved(&p, EM_DISKS_MAX + 1, 0, 2), EM_ERR_RANGE);
	assert_int_equal(em_placement_own(&p, 3, seven, NULL), EM_OK);
	assert_int_equal(em_placement_disk(&p, 1), 2);
	assert_int_equal(em_placement_disk(NULL, 5), 0);
}

static void test_schedule_refused(void **state)
{
	const uint32_t disk[] = {0, 1, 1, 0}, wrong[] = {0, 1, 2, 0}, twice[] = {0, 1, 1, 3}, far[] = {0, 1, 2, 4},
		       naive[] = {0, 1, 2, 3};
	uint32_t order[4], room[EM_SCHEDULE_ROOM(4, 2)];

	(void)state;
	assert_int_equal(em_schedule_fetches(disk, 4, 2, 2, order, room), 2);
	assert_int_equal(em_schedule_steps(disk, 4, 2, 2, order, room), 2);
	assert_true(em_schedule_steps(disk, 4, 2, 2, naive, room) >= 2);
	assert_int_equal(em_schedule_fetches(NULL, 4, 2, 2, order, room), 0);
	assert_int_equal(em_schedule_fetches(disk, 0, 2, 2, order, room), 0);
	assert_int_equal(em_schedule_fetches(disk, 4, 0, 2, order, room), 0);
	assert_int_equal(em_schedule_fetches(disk, 4, 2, 0, order, room), 0);
	assert_int_equal(em_schedule_fetches(disk, 4, 2, 2, NULL, room), 0);
	assert_int_equal(em_schedule_fetches(disk, 4, 2, 2, order, NULL), 0);
	assert_int_equal(em_schedule_fetches(wrong, 4, 2, 2, order, room), 0);
	assert_int_equal(em_schedule_steps(wrong, 4, 2, 2, naive, room), 0);
	assert_int_equal(em_schedule_steps(disk, 4, 2, 2, NULL, room), 0);
	assert_int_equal(em_schedule_steps(disk, 4, 2, 2, twice, room), 0);
	assert_int_equal(em_schedule_steps(disk, 4, 2, 2, far, room), 0);
}

/* The objects that name no size of blocks have the usual one: a block goes through all of them. */
static void use_usual(em_disks *d, uint64_t bytes)
{
	em_block_pool_opts popts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_writer_opts wopts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_cache_opts copts = EM_CACHE_OPTS_INIT;
	em_block_list *list, *copy;
	em_block_writer *w;
	em_block_pool *p;
	em_cache *c;
	void *block;
	em_bid bid;

	assert_int_equal(em_disks_block_bytes(d), bytes);
	assert_int_equal(em_bids_alloc(d, &bid, 1, (size_t)bytes, NULL, 0), EM_OK);
	popts.write_buffers = 1;
	assert_int_equal(em_block_pool_open(&p, d, &popts), EM_OK);
	assert_int_equal(em_block_pool_lend(p, &block), EM_OK);
	memset(block, 0x5a, (size_t)bytes);
	assert_int_equal(em_block_pool_write(p, block, bid), EM_OK);
	assert_int_equal(em_block_pool_flush(p), EM_OK);
	em_block_pool_close(p);
	copts.frames = 1;
	assert_int_equal(em_cache_memory(&copts), 0);
	assert_int_equal(em_cache_open(&c, d, &copts), EM_OK);
	assert_int_equal(em_cache_get(c, bid, EM_CACHE_READ, &block), EM_OK);
	assert_int_equal(((const unsigned char *)block)[bytes - 1], 0x5a);
	em_cache_close(c);
	wopts.record_bytes = bytes;
	assert_int_equal(em_block_writer_open(&w, d, &wopts), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	assert_int_equal(em_block_list_info_get(list, &info), EM_OK);
	assert_int_equal(info.block_bytes, bytes);
	em_block_list_close(list);
	/* The list frees what has the size that it took for its own. */
	info.block_bytes = 0;
	info.records = info.blocks = 1;
	info.bids = &bid;
	assert_int_equal(em_block_list_open(&copy, d, &info, NULL), EM_OK);
	assert_int_equal(em_block_list_free_blocks(copy), EM_OK);
	em_block_list_close(copy);
	assert_int_equal(used(d), 0);
	/* No larger one. */
	wopts.record_bytes = bytes + 1;
	assert_int_equal(em_block_writer_open(&w, d, &wopts), EM_ERR_INVAL);
}

static void test_usual_size(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	em_disks *d;

	(void)state;
	assert_int_equal(em_disks_block_bytes(NULL), 0);
	opts.backend = "memory";
	opts.flags = EM_CTX_CHECKED;
	for (opts.block_bytes = 0; opts.block_bytes <= 3 * BLOCK; opts.block_bytes += 3 * BLOCK) {
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
		assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
		use_usual(d, opts.block_bytes != 0 ? opts.block_bytes : EM_BLOCK_USUAL);
		em_disks_close(d);
		em_ctx_close(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disks),
		cmocka_unit_test(test_disks_refused),
		cmocka_unit_test(test_disks_without_memory),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_ids_refused),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_misused_ids),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_transfers_refused),
		cmocka_unit_test(test_memory_of_blocks),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_usual_size),
		cmocka_unit_test(test_placement_refused),
		cmocka_unit_test(test_schedule_refused),
#if !TEST_TSAN
		cmocka_unit_test(test_fork),
#endif
	};

	return cmocka_run_group_tests_name("public blocks", tests, NULL, NULL);
}
