/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_case.c -- a pool of blocks and what they should be; see pool_case.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "block/pool_case.h"

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

void pool_gate_set(int closed)
{
	pthread_mutex_lock(&gate.lock);
	gate.closed = closed;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

void pool_gate_await(unsigned held)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.held < held)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

void pool_gate_lag(int lags)
{
	gate.lags = lags;
}

void pool_case_open_disks(pool_case *b, uint32_t disks, uint32_t nwrite, uint32_t nprefetch)
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

void pool_case_open(pool_case *b, uint32_t nwrite, uint32_t nprefetch)
{
	pool_case_open_disks(b, 1, nwrite, nprefetch);
}

void pool_case_close(pool_case *b)
{
	uint32_t i;

	for (i = 0; i < b->nlent; i++)
		emi_buffer_free(b->f.ctx, b->lent[i], BLOCK);
	emi_block_pool_close(&b->pool);
	emi_store_close(b->store);
	emi_buffer_free(b->f.ctx, b->own, BLOCK);
	fixture_close(&b->f);
}

void pool_case_fill(const pool_case *b, uint32_t i, uint64_t version, char *buf)
{
	uint64_t word[BLOCK / sizeof(uint64_t)];
	size_t w;

	for (w = 0; w < BLOCK / sizeof(*word); w++)
		word[w] = (b->bid[i].offset << 32) + (version << 12) + w;
	memcpy(buf, word, BLOCK);
}

void pool_case_check(const pool_case *b, uint32_t i, const char *buf)
{
	char expected[BLOCK];

	pool_case_fill(b, i, b->version[i], expected);
	assert_memory_equal(buf, expected, BLOCK);
}

void pool_case_have(pool_case *b, uint32_t i)
{
	if (b->version[i] == 0)
		assert_int_equal(emi_bid_alloc(b->f.disk, BLOCK, &b->bid[i], NULL), EM_OK);
	b->version[i] = ++b->versions;
}

em_status pool_case_try_put(pool_case *b, uint32_t i, em_errinfo *err)
{
	char *buf;
	em_status st = emi_block_pool_lend(&b->pool, &buf, err);

	if (st != EM_OK) {
		assert_null(buf);
		return st;
	}
	pool_case_have(b, i);
	pool_case_fill(b, i, b->version[i], buf);
	return emi_block_pool_write(&b->pool, buf, b->bid[i], err);
}

void pool_case_put(pool_case *b, uint32_t i)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (pool_case_try_put(b, i, &err) != EM_OK)
		fail_msg("%s", err.text);
}

void pool_case_get(pool_case *b, uint32_t i)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (emi_block_pool_read(&b->pool, &b->own, b->bid[i], &err) != EM_OK)
		fail_msg("%s", err.text);
	pool_case_check(b, i, b->own);
}

void pool_case_free(pool_case *b, uint32_t i)
{
	assert_int_equal(emi_block_pool_free(&b->pool, b->bid[i], NULL), EM_OK);
	b->version[i] = 0;
}

void pool_case_check_disk(pool_case *b)
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
		pool_case_check(b, i, b->own);
	}
	assert_int_equal(emi_disk_used(b->f.disk), used);
}
