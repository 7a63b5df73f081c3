/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_pool.c -- whatever several users do with a pool, a block is what was last written to it, and the disk
 * holds that in the end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "block/pool_case.h"

/* Written past the pool, which is told. */
static void write_elsewhere(pool_case *b, uint32_t i)
{
	emi_request rq;

	emi_block_pool_invalidate(&b->pool, b->bid[i]);
	b->version[i] = ++b->versions;
	pool_case_fill(b, i, b->version[i], b->own);
	emi_block_write(b->f.disk, &rq, b->own, BLOCK, b->bid[i], NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
}

static void borrow(pool_case *b)
{
	const em_status st = emi_block_pool_lend(&b->pool, &b->lent[b->nlent], NULL);

	assert_int_equal(st, b->nlent == b->pool.nwrite ? EM_ERR_STATE : EM_OK);
	b->nlent += st == EM_OK;
}

static void bring_back(pool_case *b, uint32_t i)
{
	char *buf = b->lent[--b->nlent];

	if (test_below(&b->f.rng, 8) == 0) {
		emi_block_pool_return(&b->pool, buf);
		return;
	}
	pool_case_have(b, i);
	pool_case_fill(b, i, b->version[i], buf);
	assert_int_equal(emi_block_pool_write(&b->pool, buf, b->bid[i], NULL), EM_OK);
}

static void change_size(pool_case *b)
{
	const uint32_t nwrite = (uint32_t)test_below(&b->f.rng, 7), nprefetch = (uint32_t)test_below(&b->f.rng, 6);
	const em_status st = emi_block_pool_resize(&b->pool, nwrite, nprefetch, NULL);

	assert_int_equal(st, nwrite < b->nlent ? EM_ERR_STATE : EM_OK);
	if (st == EM_OK)
		assert_true(b->pool.nslots <= nwrite + nprefetch);
}

/* A buffer changes its owner, and comes back. */
static void exchange(pool_case *b)
{
	char *buf;

	if (b->nlent == b->pool.nwrite)
		return;
	assert_int_equal(emi_block_pool_detach(&b->pool, &buf, NULL), EM_OK);
	memset(buf, 1, BLOCK);
	assert_int_equal(emi_block_pool_attach(&b->pool, buf, NULL), EM_OK);
}

static void step(pool_case *b)
{
	const uint32_t i = (uint32_t)test_below(&b->f.rng, MOST_BLOCKS);
	const int exists = b->version[i] != 0;

	switch (test_below(&b->f.rng, 40)) {
	case 0:
		change_size(b);
		break;
	case 1:
		exchange(b);
		break;
	case 2:
		pool_case_check_disk(b);
		break;
	case 3:
	case 4:
		if (exists)
			write_elsewhere(b, i);
		break;
	case 5: case 6: case 7: case 8:
		if (exists)
			pool_case_free(b, i);
		break;
	case 9: case 10: case 11: case 12: case 13: case 14: case 15:
		if (b->nlent < MOST_LENT)
			borrow(b);
		break;
	case 16: case 17: case 18: case 19: case 20: case 21: case 22: case 23: case 24:
		if (b->nlent > 0)
			bring_back(b, i);
		break;
	case 25: case 26: case 27: case 28: case 29: case 30:
		if (exists)
			(void)emi_block_pool_hint(&b->pool, b->bid[i]);
		break;
	default:
		if (exists)
			pool_case_get(b, i);
	}
}

/* Anything in any order. */
static void test_model(void **state)
{
	uint64_t hits = 0, recalled = 0, dropped = 0;
	int round, n;

	(void)state;
	for (round = 0; round < 60; round++) {
		pool_case b;

		pool_case_open_disks(&b, 1 + (uint32_t)round / 5 % FIXTURE_DISKS, (uint32_t)round % 5,
				     (uint32_t)round % 4);
		pool_gate_lag(round % 2);
		for (n = 0; n < 500; n++)
			step(&b);
		pool_case_check_disk(&b);
		assert_true(b.pool.stats.hits + b.pool.stats.recalled <= b.pool.stats.reads);
		assert_true(b.pool.list[EMI_POOL_FETCHED].n <= b.pool.nprefetch);
		assert_int_equal(b.pool.list[EMI_POOL_LENT].n, b.nlent);
		hits += b.pool.stats.hits;
		recalled += b.pool.stats.recalled;
		dropped += b.pool.stats.dropped;
		pool_case_close(&b);
	}
	assert_true(hits > 0 && recalled > 0 && dropped > 0);
}

static void await_writes(const em_fault *fault, uint64_t n)
{
	const struct timespec t = {0, 100000};

	while (__atomic_load_n(&fault->count, __ATOMIC_RELAXED) < n)
		nanosleep(&t, NULL);
}

/* One disk of several stands still: what the others have to do they do, and read while it does. */
static void test_one_disk_waits(void **state)
{
	uint32_t disks, i, k;

	(void)state;
	for (disks = 2; disks <= FIXTURE_DISKS; disks++) {
		uint32_t on[FIXTURE_DISKS] = {0};
		pool_case b;

		pool_case_open_disks(&b, disks, MOST_BLOCKS, disks);
		for (i = 1; i < disks; i++)
			b.f.fault[i].ops = EM_FAULT_WRITE;
		pool_gate_set(1);
		for (i = 0; i < MOST_BLOCKS; i++) {
			pool_case_put(&b, i);
			on[b.bid[i].disk]++;
		}
		for (i = 0; i < disks; i++)
			assert_int_equal(on[i], MOST_BLOCKS / disks);
		pool_gate_await(1);
		for (i = 1; i < disks; i++)
			await_writes(&b.f.fault[i], on[i]);
		/* Twice: when the write has ended the buffer is exchanged, and the block comes from the disk the next
		 * time. */
		for (k = 0; k < 2; k++) {
			for (i = 0; i < MOST_BLOCKS; i++) {
				if (b.bid[i].disk == 0)
					continue;
				if (k != 0)
					emi_block_pool_hint(&b.pool, b.bid[i]);
				pool_case_get(&b, i);
			}
		}
		/* What waits for it is in memory. */
		for (i = 0; i < MOST_BLOCKS; i++)
			if (b.bid[i].disk == 0)
				pool_case_get(&b, i);
		pool_gate_set(0);
		pool_case_check_disk(&b);
		assert_int_equal(b.f.io.ios_written, MOST_BLOCKS);
		pool_case_close(&b);
	}
}

/* Nobody waits before all buffers are on their way. */
static void test_write_behind(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 1; n <= 6; n++) {
		pool_case b;

		pool_case_open(&b, n, 0);
		pool_gate_set(1);
		for (i = 0; i < n; i++)
			pool_case_put(&b, i);
		pool_gate_await(1);
		assert_int_equal(b.pool.stats.waits, 0);
		assert_int_equal(b.pool.list[EMI_POOL_WRITING].n, n);
		pool_gate_set(0);
		for (; i < MOST_BLOCKS; i++)
			pool_case_put(&b, i);
		assert_int_equal(b.pool.stats.writes, MOST_BLOCKS);
		pool_case_check_disk(&b);
		assert_int_equal(b.f.io.ios_written, MOST_BLOCKS);
		pool_case_close(&b);
	}
}

/* What is hinted at is read once, ahead. */
static void test_read_ahead(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 0; n <= 6; n++) {
		pool_case b;

		pool_case_open(&b, 1, n);
		for (i = 0; i < MOST_BLOCKS; i++)
			pool_case_put(&b, i);
		/* The last one is still in memory. */
		pool_case_check_disk(&b);
		for (i = 0; i < n; i++)
			assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i]), 1);
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[n]), 0);
		if (n > 0)
			assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
		assert_int_equal(b.pool.stats.hints, n);
		for (i = 0; i < MOST_BLOCKS; i++) {
			pool_case_get(&b, i);
			if (i + n < MOST_BLOCKS && n > 0)
				assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i + n]), 1);
		}
		assert_int_equal(b.pool.stats.hits, n > 0 ? MOST_BLOCKS : 0);
		assert_int_equal(b.f.io.ios_read,
				 b.pool.stats.hints + b.pool.stats.reads - b.pool.stats.hits - b.pool.stats.recalled);
		pool_case_close(&b);
	}
}

/* A block that is being written is read from memory, at once and as often as one likes. */
static void test_read_while_written(void **state)
{
	pool_case b;

	(void)state;
	pool_case_open(&b, 2, 1);
	pool_gate_set(1);
	pool_case_put(&b, 0);
	pool_gate_await(1);
	pool_case_get(&b, 0);
	pool_case_get(&b, 0);
	/* A later version counts. */
	pool_case_put(&b, 0);
	pool_case_get(&b, 0);
	assert_int_equal(b.pool.stats.recalled, 3);
	assert_int_equal(b.pool.stats.waits, 0);
	pool_gate_set(0);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	/* Its buffer is exchanged now. */
	pool_case_get(&b, 0);
	assert_int_equal(b.pool.stats.recalled, 4);
	assert_int_equal(b.f.io.ios_read, 0);
	pool_case_get(&b, 0);
	assert_int_equal(b.f.io.ios_read, 1);
	pool_case_check_disk(&b);
	pool_case_close(&b);
}

/* One that is hinted at while it is written is kept, whatever is written after it. */
static void test_hint_while_written(void **state)
{
	uint32_t i;
	pool_case b;

	(void)state;
	pool_case_open(&b, 2, 1);
	pool_gate_set(1);
	pool_case_put(&b, 0);
	pool_gate_await(1);
	assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
	pool_gate_set(0);
	for (i = 1; i < 10; i++)
		pool_case_put(&b, i);
	pool_case_get(&b, 0);
	assert_int_equal(b.pool.stats.hits, 1);
	assert_int_equal(b.f.io.ios_read, 0);
	pool_case_check_disk(&b);
	pool_case_close(&b);
}

/* Freed before its write was begun it is never written; freed meanwhile, when it is done. */
static void test_freed_while_written(void **state)
{
	pool_case b;

	(void)state;
	pool_case_open(&b, 3, 1);
	pool_gate_set(1);
	pool_case_put(&b, 0);
	pool_gate_await(1);
	pool_case_put(&b, 1);
	pool_case_put(&b, 2);
	pool_case_get(&b, 1);
	pool_case_free(&b, 0);
	pool_case_free(&b, 1);
	assert_int_equal(b.pool.stats.dropped, 1);
	/* The first one still has its place. */
	assert_int_equal(emi_disk_used(b.f.disk), 2 * BLOCK);
	/* And its buffer is not the one that is used next. */
	pool_case_put(&b, 3);
	assert_int_equal(b.pool.stats.waits, 0);
	pool_gate_set(0);
	pool_case_check_disk(&b);
	assert_int_equal(b.pool.stats.writes, 4);
	pool_case_close(&b);
}

/* The pool is told that a block is written elsewhere while it is being written. */
static void test_invalidated_while_written(void **state)
{
	int closed;

	(void)state;
	for (closed = 0; closed < 2; closed++) {
		pool_case b;

		pool_case_open(&b, 3, 2);
		pool_case_put(&b, 0);
		pool_gate_set(closed);
		pool_case_put(&b, 1);
		if (closed)
			pool_gate_await(1);
		/* Behind the other one, so it can be cancelled. */
		pool_case_put(&b, 0);
		if (closed)
			pool_gate_set(0);
		write_elsewhere(&b, 0);
		pool_case_get(&b, 0);
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
		write_elsewhere(&b, 0);
		pool_case_get(&b, 0);
		pool_case_check_disk(&b);
		pool_case_close(&b);
	}
}

/* Closed with everything under way, and blocks whose place is to be freed yet. */
static void test_closed_while_written(void **state)
{
	pool_case b;

	(void)state;
	pool_case_open(&b, 3, 2);
	pool_case_put(&b, 4);
	pool_case_put(&b, 5);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	borrow(&b);
	pool_gate_set(1);
	pool_case_put(&b, 0);
	pool_gate_await(1);
	pool_case_put(&b, 1);
	pool_case_free(&b, 0);
	(void)emi_block_pool_hint(&b.pool, b.bid[4]);
	(void)emi_block_pool_hint(&b.pool, b.bid[5]);
	pool_gate_set(0);
	emi_block_pool_close(&b.pool);
	assert_int_equal(emi_disk_used(b.f.disk), 3 * BLOCK);
	pool_case_close(&b);
}

/* What is asked of a pool that cannot be. */
static void test_misuse(void **state)
{
	char *buf;
	em_errinfo err;
	pool_case b;

	(void)state;
	pool_case_open(&b, 1, 1);
	memset(&err, 0, sizeof(err));
	pool_case_have(&b, 0);
	assert_int_equal(emi_block_pool_write(&b.pool, b.own, b.bid[0], &err), EM_ERR_STATE);
	borrow(&b);
	assert_int_equal(emi_block_pool_lend(&b.pool, &buf, NULL), EM_ERR_STATE);
	assert_int_equal(emi_block_pool_detach(&b.pool, &buf, NULL), EM_ERR_STATE);
	assert_int_equal(emi_block_pool_resize(&b.pool, 0, 9, NULL), EM_ERR_STATE);
	assert_int_equal(emi_block_pool_resize(&b.pool, UINT32_MAX, UINT32_MAX, NULL), EM_ERR_INVAL);
	assert_true(b.pool.nslots <= 2);
	/* A block that is not there. */
	b.bid[1].offset = (uint64_t)1 << 40;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_block_pool_read(&b.pool, &b.own, b.bid[1], &err), EM_ERR_STATE);
	assert_non_null(strstr(err.text, "no block is allocated there"));
	assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[1]), 1);
	assert_int_equal(emi_block_pool_read(&b.pool, &b.own, b.bid[1], NULL), EM_ERR_STATE);
	emi_block_pool_return(&b.pool, b.lent[--b.nlent]);
	pool_case_free(&b, 0);
	assert_int_equal(emi_block_pool_resize(&b.pool, 0, 0, NULL), EM_OK);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	pool_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_one_disk_waits),
		cmocka_unit_test(test_write_behind),
		cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_read_while_written),
		cmocka_unit_test(test_hint_while_written),
		cmocka_unit_test(test_freed_while_written),
		cmocka_unit_test(test_invalidated_while_written),
		cmocka_unit_test(test_closed_while_written),
		cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests_name("block_pool", tests, NULL, NULL);
}
