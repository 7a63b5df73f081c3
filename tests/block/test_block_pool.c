/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_pool.c -- whatever several users do with a pool, a block is what was last written to it, and the disk
 * holds that in the end.
 *
 * Writes can be held up at a gate, so that tests decide how far they have come.
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
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "block/block_pool.h"
#include "block/fixture.h"

#define BLOCK 4096u
#define MOST_BLOCKS 24u
#define MOST_LENT 8u

/* The memory backend with a gate before its writes. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int closed;
	unsigned held;          /* writes that wait at it */
	unsigned writes;
	int lags;               /* every other write takes a while */
	int64_t (*write)(void *handle, const void *buf, size_t bytes, uint64_t offset);
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0, NULL};

static int64_t gate_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	int lags;

	pthread_mutex_lock(&gate.lock);
	lags = gate.lags && gate.writes++ % 2 == 0;
	gate.held++;
	pthread_cond_broadcast(&gate.changed);
	while (gate.closed)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.held--;
	pthread_mutex_unlock(&gate.lock);
	if (lags) {
		const struct timespec t = {0, 20000};

		nanosleep(&t, NULL);
	}
	return gate.write(handle, buf, bytes, offset);
}

static void gate_set(int closed)
{
	pthread_mutex_lock(&gate.lock);
	gate.closed = closed;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static void gate_await(unsigned held)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.held < held)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

/* A pool and what its blocks should be. */
typedef struct bench {
	fixture f;
	em_backend slow;
	emi_store *store;
	emi_block_pool pool;
	char *own;              /* a user's buffer */
	char *lent[MOST_LENT];
	uint32_t nlent;
	em_bid bid[MOST_BLOCKS];
	uint64_t version[MOST_BLOCKS]; /* 0: there is no such block */
	uint64_t versions;
} bench;

/* Of several disks the first has the gate. */
static void bench_open_disks(bench *b, uint32_t disks, uint32_t nwrite, uint32_t nprefetch)
{
	const em_backend *memory = em_backend_find("memory"), *backends[FIXTURE_DISKS] = {&b->slow, memory, memory};

	memset(b, 0, sizeof(*b));
	b->slow = *memory;
	b->slow.threads = 1;
	gate.write = b->slow.write;
	gate.lags = 0;
	b->slow.write = gate_write;
	fixture_open_on(&b->f, backends, disks);
	b->own = emi_buffer_alloc(b->f.ctx, BLOCK, &b->f.err);
	assert_non_null(b->own);
	assert_int_equal(emi_store_open_disks(&b->store, b->f.ctx, b->f.disk, &b->f.err), EM_OK);
	if (emi_block_pool_open(&b->pool, b->f.ctx, b->store, BLOCK, nwrite, nprefetch, &b->f.io, &b->f.err) != EM_OK)
		fail_msg("%s", b->f.err.text);
}

static void bench_open(bench *b, uint32_t nwrite, uint32_t nprefetch)
{
	bench_open_disks(b, 1, nwrite, nprefetch);
}

static void bench_close(bench *b)
{
	uint32_t i;

	for (i = 0; i < b->nlent; i++)
		emi_buffer_free(b->f.ctx, b->lent[i], BLOCK);
	emi_block_pool_close(&b->pool);
	emi_store_close(b->store);
	emi_buffer_free(b->f.ctx, b->own, BLOCK);
	fixture_close(&b->f);
}

/* Contents follow from the block and its version. */
static void fill(const bench *b, uint32_t i, uint64_t version, char *buf)
{
	uint64_t word[BLOCK / sizeof(uint64_t)];
	size_t w;

	for (w = 0; w < BLOCK / sizeof(*word); w++)
		word[w] = (b->bid[i].offset << 32) + (version << 12) + w;
	memcpy(buf, word, BLOCK);
}

static void check(const bench *b, uint32_t i, const char *buf)
{
	char expected[BLOCK];

	fill(b, i, b->version[i], expected);
	assert_memory_equal(buf, expected, BLOCK);
}

static void have(bench *b, uint32_t i)
{
	if (b->version[i] == 0)
		assert_int_equal(emi_bid_alloc(b->f.disk, BLOCK, &b->bid[i], NULL), EM_OK);
	b->version[i] = ++b->versions;
}

static em_status put(bench *b, uint32_t i, em_errinfo *err)
{
	char *buf;
	em_status st = emi_block_pool_lend(&b->pool, &buf, err);

	if (st != EM_OK) {
		assert_null(buf);
		return st;
	}
	have(b, i);
	fill(b, i, b->version[i], buf);
	return emi_block_pool_write(&b->pool, buf, b->bid[i], err);
}

static void must_put(bench *b, uint32_t i)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (put(b, i, &err) != EM_OK)
		fail_msg("%s", err.text);
}

static void get(bench *b, uint32_t i)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (emi_block_pool_read(&b->pool, &b->own, b->bid[i], &err) != EM_OK)
		fail_msg("%s", err.text);
	check(b, i, b->own);
}

static void let_go(bench *b, uint32_t i)
{
	assert_int_equal(emi_block_pool_free(&b->pool, b->bid[i], NULL), EM_OK);
	b->version[i] = 0;
}

/* Past the pool: what is on the disk. */
static void check_disk(bench *b)
{
	uint64_t used = 0;
	uint32_t i;

	assert_int_equal(emi_block_pool_flush(&b->pool, NULL), EM_OK);
	for (i = 0; i < MOST_BLOCKS; i++) {
		emi_request rq;

		if (b->version[i] == 0)
			continue;
		used += BLOCK;
		emi_block_read(b->f.disk, &rq, b->own, BLOCK, b->bid[i], NULL);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
		check(b, i, b->own);
	}
	assert_int_equal(emi_disk_used(b->f.disk), used);
}

/* Written past the pool, which is told. */
static void write_elsewhere(bench *b, uint32_t i)
{
	emi_request rq;

	emi_block_pool_invalidate(&b->pool, b->bid[i]);
	b->version[i] = ++b->versions;
	fill(b, i, b->version[i], b->own);
	emi_block_write(b->f.disk, &rq, b->own, BLOCK, b->bid[i], NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
}

static void borrow(bench *b)
{
	const em_status st = emi_block_pool_lend(&b->pool, &b->lent[b->nlent], NULL);

	assert_int_equal(st, b->nlent == b->pool.nwrite ? EM_ERR_STATE : EM_OK);
	b->nlent += st == EM_OK;
}

static void bring_back(bench *b, uint32_t i)
{
	char *buf = b->lent[--b->nlent];

	if (test_below(&b->f.rng, 8) == 0) {
		emi_block_pool_return(&b->pool, buf);
		return;
	}
	have(b, i);
	fill(b, i, b->version[i], buf);
	assert_int_equal(emi_block_pool_write(&b->pool, buf, b->bid[i], NULL), EM_OK);
}

static void change_size(bench *b)
{
	const uint32_t nwrite = (uint32_t)test_below(&b->f.rng, 7), nprefetch = (uint32_t)test_below(&b->f.rng, 6);
	const em_status st = emi_block_pool_resize(&b->pool, nwrite, nprefetch, NULL);

	assert_int_equal(st, nwrite < b->nlent ? EM_ERR_STATE : EM_OK);
	if (st == EM_OK)
		assert_true(b->pool.nslots <= nwrite + nprefetch);
}

/* A buffer changes its owner, and comes back. */
static void exchange(bench *b)
{
	char *buf;

	if (b->nlent == b->pool.nwrite)
		return;
	assert_int_equal(emi_block_pool_detach(&b->pool, &buf, NULL), EM_OK);
	memset(buf, 1, BLOCK);
	assert_int_equal(emi_block_pool_attach(&b->pool, buf, NULL), EM_OK);
}

static void step(bench *b)
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
		check_disk(b);
		break;
	case 3:
	case 4:
		if (exists)
			write_elsewhere(b, i);
		break;
	case 5: case 6: case 7: case 8:
		if (exists)
			let_go(b, i);
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
			get(b, i);
	}
}

/* Anything in any order. */
static void test_model(void **state)
{
	uint64_t hits = 0, recalled = 0, dropped = 0;
	int round, n;

	(void)state;
	for (round = 0; round < 60; round++) {
		bench b;

		bench_open_disks(&b, 1 + (uint32_t)round / 5 % FIXTURE_DISKS, (uint32_t)round % 5, (uint32_t)round % 4);
		gate.lags = round % 2;
		for (n = 0; n < 500; n++)
			step(&b);
		check_disk(&b);
		assert_true(b.pool.stats.hits + b.pool.stats.recalled <= b.pool.stats.reads);
		assert_true(b.pool.list[EMI_POOL_FETCHED].n <= b.pool.nprefetch);
		assert_int_equal(b.pool.list[EMI_POOL_LENT].n, b.nlent);
		hits += b.pool.stats.hits;
		recalled += b.pool.stats.recalled;
		dropped += b.pool.stats.dropped;
		bench_close(&b);
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
		bench b;

		bench_open_disks(&b, disks, MOST_BLOCKS, disks);
		for (i = 1; i < disks; i++)
			b.f.fault[i].ops = EM_FAULT_WRITE;
		gate_set(1);
		for (i = 0; i < MOST_BLOCKS; i++) {
			must_put(&b, i);
			on[b.bid[i].disk]++;
		}
		for (i = 0; i < disks; i++)
			assert_int_equal(on[i], MOST_BLOCKS / disks);
		gate_await(1);
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
				get(&b, i);
			}
		}
		/* What waits for it is in memory. */
		for (i = 0; i < MOST_BLOCKS; i++)
			if (b.bid[i].disk == 0)
				get(&b, i);
		gate_set(0);
		check_disk(&b);
		assert_int_equal(b.f.io.ios_written, MOST_BLOCKS);
		bench_close(&b);
	}
}

/* Nobody waits before all buffers are on their way. */
static void test_write_behind(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 1; n <= 6; n++) {
		bench b;

		bench_open(&b, n, 0);
		gate_set(1);
		for (i = 0; i < n; i++)
			must_put(&b, i);
		gate_await(1);
		assert_int_equal(b.pool.stats.waits, 0);
		assert_int_equal(b.pool.list[EMI_POOL_WRITING].n, n);
		gate_set(0);
		for (; i < MOST_BLOCKS; i++)
			must_put(&b, i);
		assert_int_equal(b.pool.stats.writes, MOST_BLOCKS);
		check_disk(&b);
		assert_int_equal(b.f.io.ios_written, MOST_BLOCKS);
		bench_close(&b);
	}
}

/* What is hinted at is read once, ahead. */
static void test_read_ahead(void **state)
{
	uint32_t n, i;

	(void)state;
	for (n = 0; n <= 6; n++) {
		bench b;

		bench_open(&b, 1, n);
		for (i = 0; i < MOST_BLOCKS; i++)
			must_put(&b, i);
		/* The last one is still in memory. */
		check_disk(&b);
		for (i = 0; i < n; i++)
			assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i]), 1);
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[n]), 0);
		if (n > 0)
			assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
		assert_int_equal(b.pool.stats.hints, n);
		for (i = 0; i < MOST_BLOCKS; i++) {
			get(&b, i);
			if (i + n < MOST_BLOCKS && n > 0)
				assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i + n]), 1);
		}
		assert_int_equal(b.pool.stats.hits, n > 0 ? MOST_BLOCKS : 0);
		assert_int_equal(b.f.io.ios_read,
				 b.pool.stats.hints + b.pool.stats.reads - b.pool.stats.hits - b.pool.stats.recalled);
		bench_close(&b);
	}
}

/* A block that is being written is read from memory, at once and as often as one likes. */
static void test_read_while_written(void **state)
{
	bench b;

	(void)state;
	bench_open(&b, 2, 1);
	gate_set(1);
	must_put(&b, 0);
	gate_await(1);
	get(&b, 0);
	get(&b, 0);
	/* A later version counts. */
	must_put(&b, 0);
	get(&b, 0);
	assert_int_equal(b.pool.stats.recalled, 3);
	assert_int_equal(b.pool.stats.waits, 0);
	gate_set(0);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	/* Its buffer is exchanged now. */
	get(&b, 0);
	assert_int_equal(b.pool.stats.recalled, 4);
	assert_int_equal(b.f.io.ios_read, 0);
	get(&b, 0);
	assert_int_equal(b.f.io.ios_read, 1);
	check_disk(&b);
	bench_close(&b);
}

/* One that is hinted at while it is written is kept, whatever is written after it. */
static void test_hint_while_written(void **state)
{
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, 2, 1);
	gate_set(1);
	must_put(&b, 0);
	gate_await(1);
	assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
	gate_set(0);
	for (i = 1; i < 10; i++)
		must_put(&b, i);
	get(&b, 0);
	assert_int_equal(b.pool.stats.hits, 1);
	assert_int_equal(b.f.io.ios_read, 0);
	check_disk(&b);
	bench_close(&b);
}

/* Freed before its write was begun it is never written; freed meanwhile, when it is done. */
static void test_freed_while_written(void **state)
{
	bench b;

	(void)state;
	bench_open(&b, 3, 1);
	gate_set(1);
	must_put(&b, 0);
	gate_await(1);
	must_put(&b, 1);
	must_put(&b, 2);
	get(&b, 1);
	let_go(&b, 0);
	let_go(&b, 1);
	assert_int_equal(b.pool.stats.dropped, 1);
	/* The first one still has its place. */
	assert_int_equal(emi_disk_used(b.f.disk), 2 * BLOCK);
	/* And its buffer is not the one that is used next. */
	must_put(&b, 3);
	assert_int_equal(b.pool.stats.waits, 0);
	gate_set(0);
	check_disk(&b);
	assert_int_equal(b.pool.stats.writes, 4);
	bench_close(&b);
}

/* The pool is told that a block is written elsewhere while it is being written. */
static void test_invalidated_while_written(void **state)
{
	int closed;

	(void)state;
	for (closed = 0; closed < 2; closed++) {
		bench b;

		bench_open(&b, 3, 2);
		must_put(&b, 0);
		gate_set(closed);
		must_put(&b, 1);
		if (closed)
			gate_await(1);
		/* Behind the other one, so it can be cancelled. */
		must_put(&b, 0);
		if (closed)
			gate_set(0);
		write_elsewhere(&b, 0);
		get(&b, 0);
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[0]), 1);
		write_elsewhere(&b, 0);
		get(&b, 0);
		check_disk(&b);
		bench_close(&b);
	}
}

/* Closed with everything under way, and blocks whose place is to be freed yet. */
static void test_closed_while_written(void **state)
{
	bench b;

	(void)state;
	bench_open(&b, 3, 2);
	must_put(&b, 4);
	must_put(&b, 5);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	borrow(&b);
	gate_set(1);
	must_put(&b, 0);
	gate_await(1);
	must_put(&b, 1);
	let_go(&b, 0);
	(void)emi_block_pool_hint(&b.pool, b.bid[4]);
	(void)emi_block_pool_hint(&b.pool, b.bid[5]);
	gate_set(0);
	emi_block_pool_close(&b.pool);
	assert_int_equal(emi_disk_used(b.f.disk), 3 * BLOCK);
	bench_close(&b);
}

/* What is asked of a pool that cannot be. */
static void test_misuse(void **state)
{
	char *buf;
	em_errinfo err;
	bench b;

	(void)state;
	bench_open(&b, 1, 1);
	memset(&err, 0, sizeof(err));
	have(&b, 0);
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
	let_go(&b, 0);
	assert_int_equal(emi_block_pool_resize(&b.pool, 0, 0, NULL), EM_OK);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
	bench_close(&b);
}

/* Write, hint, and read some blocks. */
static em_status work(bench *b, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; i < 10 && st == EM_OK; i++)
		st = put(b, i, err);
	if (st == EM_OK)
		st = emi_block_pool_flush(&b->pool, err);
	for (i = 0; i < 10 && st == EM_OK; i++) {
		(void)emi_block_pool_hint(&b->pool, b->bid[(i + 2) % 10]);
		st = emi_block_pool_read(&b->pool, &b->own, b->bid[i], err);
		if (st == EM_OK)
			check(b, i, b->own);
	}
	return st;
}

/* Each write fails once: the block stays, nobody is bothered while there are other buffers, and flush writes it. */
static void test_failing_write(void **state)
{
	uint64_t nth;

	(void)state;
	for (nth = 1; nth <= 11; nth++) {
		em_errinfo err;
		em_status st;
		bench b;

		bench_open(&b, 3, 2);
		b.f.fault[0].ops = EM_FAULT_WRITE;
		b.f.fault[0].sys_errno = ENOSPC;
		b.f.fault[0].nth = nth;
		memset(&err, 0, sizeof(err));
		st = work(&b, &err);
		/* It was a write that flush waited for. */
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_NOSPACE);
			assert_string_equal(err.op, "write");
			assert_int_equal(b.pool.list[EMI_POOL_FAILED].n, 1);
		}
		assert_int_equal(b.f.warned, nth <= 10);
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		check_disk(&b);
		bench_close(&b);
	}
}

/* A disk that takes nothing: buffers run out, which is told with the reason; what was given is in memory until then. */
static void test_broken_disk(void **state)
{
	em_errinfo err;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, 4, 1);
	b.f.fault[0].ops = EM_FAULT_WRITE;
	b.f.fault[0].sys_errno = ENOSPC;
	b.f.fault[0].times = UINT64_MAX / 2;
	b.f.fault[0].nth = 1;
	for (i = 0; i < 4; i++)
		must_put(&b, i);
	memset(&err, 0, sizeof(err));
	assert_int_equal(put(&b, 4, &err), EM_ERR_NOSPACE);
	assert_string_equal(err.op, "write");
	assert_int_equal(emi_block_pool_resize(&b.pool, 3, 1, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	for (i = 0; i < 4; i++) {
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i]), 1);
		get(&b, i);
	}
	/* One that is given up makes room. */
	let_go(&b, 0);
	must_put(&b, 5);
	/* No write is under way that could still fail. */
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	check_disk(&b);
	/* Closed with blocks that could not be written, which is logged. */
	em_fault_set(&b.f.fault[0], EM_FAULT_WRITE, 1, UINT64_MAX / 2);
	must_put(&b, 6);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	b.f.warned = 0;
	emi_block_pool_close(&b.pool);
	assert_int_equal(b.f.warned, 1);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	bench_close(&b);
}

/* Each read fails once: whoever reads that block is told, and can read it the next time. */
static void test_failing_read(void **state)
{
	uint64_t nth;

	(void)state;
	for (nth = 1; nth <= 11; nth++) {
		uint64_t failed;
		em_errinfo err;
		uint32_t i;
		bench b;

		bench_open(&b, 3, 2);
		b.f.fault[0].ops = EM_FAULT_READ;
		b.f.fault[0].nth = nth;
		memset(&err, 0, sizeof(err));
		failed = work(&b, &err) != EM_OK;
		for (i = 0; i < 10; i++) {
			/* What was fetched in vain is told only now. */
			if (emi_block_pool_read(&b.pool, &b.own, b.bid[i], &err) == EM_OK) {
				check(&b, i, b.own);
				continue;
			}
			failed++;
			get(&b, i);
		}
		assert_int_equal(failed, b.f.fault[0].injected);
		if (nth <= 5)
			assert_int_equal(failed, 1);
		if (failed != 0) {
			assert_int_equal(err.status, EM_ERR_IO);
			assert_string_equal(err.op, "read");
		}
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		check_disk(&b);
		bench_close(&b);
	}
}

/* Memory comes with use, and never more than was said.  Each allocation may fail: then others do, or who wants a buffer
 * is told. */
static void test_out_of_memory(void **state)
{
	uint64_t n, calls = 1;

	(void)state;
	for (n = 1; n <= calls; n++) {
		uint64_t before;
		unsigned told = 0;
		uint32_t i;
		bench b;

		bench_open(&b, 5, 6);
		for (i = 0; i < MOST_BLOCKS; i++)
			have(&b, i);
		before = em_ctx_memory_used(b.f.ctx);
		calls = b.f.mem.calls;
		b.f.mem.fail_at = b.f.mem.calls + n;
		for (i = 0; i < MOST_BLOCKS; i++) {
			const em_status st = put(&b, i, NULL);

			told += st != EM_OK;
			if (st != EM_OK) {
				assert_int_equal(st, EM_ERR_NOMEM);
				must_put(&b, i);
			}
			(void)emi_block_pool_hint(&b.pool, b.bid[i / 2]);
			(void)emi_block_pool_hint(&b.pool, b.bid[i / 3]);
			get(&b, i / 2);
			assert_true(em_ctx_memory_used(b.f.ctx) <=
				    before + emi_block_pool_memory(BLOCK, 5, 6) + 4 * BLOCK);
		}
		assert_true(told <= 1);
		calls = b.f.mem.calls - calls;
		b.f.mem.fail_at = b.f.mem.calls + 1;
		i = b.pool.nwrite;
		assert_int_equal(emi_block_pool_attach(&b.pool, b.own, NULL), EM_ERR_NOMEM);
		assert_int_equal(b.pool.nwrite, i);
		b.f.mem.fail_at = 0;
		check_disk(&b);
		bench_close(&b);
	}
	assert_true(n > 8);
}

/* A budget that is too small for all buffers: those that there are do. */
static void test_budget(void **state)
{
	uint64_t left;
	uint32_t i;
	bench b;
	void *rest;

	(void)state;
	bench_open(&b, 10, 10);
	left = em_ctx_memory(b.f.ctx) - em_ctx_memory_used(b.f.ctx);
	rest = emi_alloc(b.f.ctx, (size_t)left - 8 * BLOCK, NULL);
	assert_non_null(rest);
	for (i = 0; i < MOST_BLOCKS; i++) {
		must_put(&b, i);
		(void)emi_block_pool_hint(&b.pool, b.bid[i / 2]);
		get(&b, i / 2);
	}
	assert_true(b.pool.nslots < 8);
	check_disk(&b);
	emi_free(b.f.ctx, rest, (size_t)left - 8 * BLOCK);
	assert_int_equal(emi_block_pool_resize(&b.pool, 1u << 20, 2, NULL), EM_ERR_MEMLIMIT);
	bench_close(&b);
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
		cmocka_unit_test(test_failing_write),
		cmocka_unit_test(test_broken_disk),
		cmocka_unit_test(test_failing_read),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests_name("block_pool", tests, NULL, NULL);
}
