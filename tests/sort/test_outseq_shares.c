/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_outseq_shares.c -- output blocks of any length, for which whoever fills them reserves places: a share of several
 * at a time.
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
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sort/outseq_bench.h"

#define SHARES 120u
#define BLOCKS_MOST (3u * SHARES)

/* Blocks of any length: what each share has, and where that comes to lie. */
typedef struct vary_bench {
	bench b;
	size_t blocks[SHARES];  /* of each share */
	uint64_t first[SHARES];
	size_t bytes[BLOCKS_MOST]; /* of each block */
	uint64_t position[BLOCKS_MOST];
	em_bid bid[BLOCKS_MOST];
	uint64_t nblocks;
	uint64_t arrived;
} vary_bench;

static unsigned char byte_of(uint64_t position)
{
	return (unsigned char)(outseq_word(position / 8) >> position % 8 * 8);
}

static size_t pages(size_t bytes)
{
	return (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

static em_status put_vary(void *arg, emi_outblock *block, em_errinfo *err)
{
	vary_bench *v = arg;
	const uint64_t i = v->arrived++;
	size_t k;

	assert_true(block->index == i && i < v->nblocks);
	assert_true(block->buf.len == v->bytes[i] && block->records == v->bytes[i] % 7);
	assert_true(block->buf.lead == (v->b.dest.lead != NULL ? outseq_lead(NULL, v->position[i]) : 0));
	for (k = 0; k < v->bytes[i]; k++)
		if ((unsigned char)block->buf.base[block->buf.lead + k] != byte_of(v->position[i] + k))
			fail_msg("block %u: byte %u", (unsigned)i, (unsigned)k);
	if (v->arrived == v->b.fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	if (v->b.disk != NULL) {
		const size_t bytes = pages(v->bytes[i]);
		em_status st = emi_bid_alloc(v->b.disk, bytes, &v->bid[i], err);

		if (st != EM_OK)
			return st;
		/* Behind the data, up to a whole page, there is nothing of anybody's. */
		for (k = v->bytes[i]; k < bytes && bytes > BLOCK; k++)
			assert_int_equal(block->buf.base[k], 0);
		emi_block_write(v->b.disk, &block->buf.rq, block->buf.base, bytes, v->bid[i], &v->b.job.io);
	}
	return EM_OK;
}

static void vary_open(vary_bench *v, uint32_t nring, size_t largest)
{
	uint64_t at = 0;
	size_t i, k;

	memset(v, 0, sizeof(*v));
	bench_open(&v->b, nring, 0);
	for (i = 0; i < SHARES; i++) {
		v->blocks[i] = (size_t)test_below(&v->b.rng, 4);
		v->first[i] = v->nblocks;
		for (k = 0; k < v->blocks[i]; k++) {
			const size_t most = test_below(&v->b.rng, 5) == 0 ? largest : BLOCK;

			v->position[v->nblocks] = at;
			v->bytes[v->nblocks] =
				test_below(&v->b.rng, 9) == 0 ? most : 1 + (size_t)test_below(&v->b.rng, most);
			at += v->bytes[v->nblocks++];
		}
	}
	v->b.total = at;
	v->b.dest.put = put_vary;
	v->b.dest.arg = v;
	v->b.dest.text = 1;
}

static void vary_begin(vary_bench *v)
{
	v->arrived = v->b.next = 0;
	emi_outseq_begin(&v->b.q, &v->b.dest, 0, BLOCK);
}

/* A share: 0 after a failure. */
static int send_share(vary_bench *v, uint64_t share)
{
	uint64_t bytes = 0, first = ~(uint64_t)0, position = ~(uint64_t)0, i;
	size_t k, n;

	for (i = v->first[share]; i < v->first[share] + v->blocks[share]; i++)
		bytes += v->bytes[i];
	if (!emi_outseq_reserve(&v->b.q, share, v->blocks[share], bytes, &first, &position))
		return 0;
	assert_true(first == v->first[share]);
	for (k = 0; k < v->blocks[share]; k++, first++) {
		char *to;

		assert_true(position == v->position[first]);
		to = emi_outseq_take(&v->b.q, first, v->bytes[first], position);
		if (to == NULL)
			return 0;
		for (n = 0; n < v->bytes[first]; n++)
			to[n] = (char)byte_of(position + n);
		position += v->bytes[first];
		emi_outseq_full(&v->b.q, first, v->bytes[first] % 7);
	}
	return 1;
}

static void *sharer(void *arg)
{
	vary_bench *v = arg;

	for (;;) {
		const uint64_t share = __atomic_fetch_add(&v->b.next, 1, __ATOMIC_RELAXED);
		unsigned naps = (unsigned)(outseq_word(share ^ v->b.seed) >> 62);

		if (share >= SHARES)
			return NULL;
		while (naps-- > 0)
			sched_yield();
		if (!send_share(v, share)) {
			__atomic_add_fetch(&v->b.refused, 1, __ATOMIC_RELAXED);
			return NULL;
		}
	}
}

static void run_sharers(vary_bench *v, unsigned threads)
{
	pthread_t thread[8];
	unsigned i;

	for (i = 0; i + 1 < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sharer, v), 0);
	sharer(v);
	for (i = 0; i + 1 < threads; i++)
		pthread_join(thread[i], NULL);
}

static void vary_close(vary_bench *v)
{
	bench_close(&v->b);
}

/* Shares of no, one and several blocks, some larger than the buffers. */
static void test_shares(void **state)
{
	uint32_t nring;
	unsigned threads, with_lead;

	(void)state;
	for (nring = 2; nring <= 8; nring += 3) {
		for (threads = 1; threads <= 4; threads++) {
			for (with_lead = 0; with_lead < 2; with_lead++) {
				em_errinfo err;
				vary_bench v;

				if (test_left_out())
					continue;
				memset(&err, 0, sizeof(err));
				vary_open(&v, nring, threads == 1 ? BLOCK : 5 * BLOCK);
				v.b.dest.lead = with_lead ? outseq_lead : NULL;
				vary_begin(&v);
				run_sharers(&v, threads);
				assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_OK);
				assert_true(v.arrived == v.nblocks);
				assert_int_equal(v.b.q.large, 0);
				vary_close(&v);
			}
		}
	}
}

/* Blocks of all sizes are written with requests, one sequence after the other through the same buffers. */
static void test_shares_written(void **state)
{
	unsigned threads, round;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_errinfo err;
		uint64_t i;
		size_t k;
		char *buf;
		vary_bench v;

		memset(&err, 0, sizeof(err));
		vary_open(&v, 2, 5 * BLOCK);
		assert_int_equal(emi_scratch_acquire(v.b.ctx, &v.b.disk, &err), EM_OK);
		for (round = 0; round < 3; round++) {
			vary_begin(&v);
			run_sharers(&v, threads);
			assert_int_equal(emi_outseq_status(&v.b.q), EM_OK);
			assert_true(v.arrived == v.nblocks);
		}
		assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_OK);
		assert_int_equal(v.b.q.large, 0);
		buf = emi_buffer_alloc(v.b.ctx, 5 * BLOCK, &err);
		assert_non_null(buf);
		for (i = 0; i < v.nblocks; i++) {
			emi_request rq;

			emi_block_read(v.b.disk, &rq, buf, pages(v.bytes[i]), v.bid[i], NULL);
			assert_int_equal(emi_wait(&rq, &err), EM_OK);
			for (k = 0; k < v.bytes[i]; k++)
				if ((unsigned char)buf[k] != byte_of(v.position[i] + k))
					fail_msg("block %u: byte %u was written wrong", (unsigned)i, (unsigned)k);
		}
		emi_buffer_free(v.b.ctx, buf, 5 * BLOCK);
		vary_close(&v);
	}
}

/* The destination refuses, or a write fails: all are told, whether they wait for a share, a buffer or a large block. */
static void test_shares_failing(void **state)
{
	unsigned threads;
	uint64_t at;
	int more;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (at = test_nth_after(0, 1), more = 1; more; at = test_nth_after(at, 1)) {
			em_errinfo err;
			vary_bench v;

			more = at < 24;
			if (test_left_out())
				continue;
			memset(&err, 0, sizeof(err));
			vary_open(&v, 2, 5 * BLOCK);
			if (at % 2 == 0) {
				v.b.fail_at = at;
			} else {
				assert_int_equal(emi_scratch_acquire(v.b.ctx, &v.b.disk, &err), EM_OK);
				v.b.fault.sys_errno = ENOSPC;
				em_fault_set(&v.b.fault, EM_FAULT_WRITE, at, 1);
			}
			vary_begin(&v);
			run_sharers(&v, threads);
			if (at == TEST_NEVER) {
				assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_OK);
				assert_true(v.b.refused == 0);
				vary_close(&v);
				continue;
			}
			assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_ERR_NOSPACE);
			assert_true(v.b.refused != 0);
			if (at % 2 == 0) {
				assert_true(v.arrived == at);
				assert_string_equal(err.text, "as ordered");
			}
			vary_close(&v);
		}
	}
}

/* There is no memory for a large block. */
static void test_shares_out_of_memory(void **state)
{
	unsigned threads;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_errinfo err;
		vary_bench v;
		uint64_t i;

		memset(&err, 0, sizeof(err));
		vary_open(&v, 2, 5 * BLOCK);
		v.bytes[v.nblocks / 2] = 5 * BLOCK;
		for (i = 1; i < v.nblocks; i++)
			v.position[i] = v.position[i - 1] + v.bytes[i - 1];
		vary_begin(&v);
		/* Only one is made for each: the first fails. */
		v.b.mem.fail_at = v.b.mem.calls + 1;
		run_sharers(&v, threads);
		assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_ERR_NOMEM);
		assert_true(v.b.refused != 0);
		vary_close(&v);
	}
}

/* Lent blocks, large ones among them, come back one by one; what is behind a large one waits for that. */
static void test_shares_lent(void **state)
{
	uint32_t nring;

	(void)state;
	for (nring = 2; nring <= 5; nring += 3) {
		pthread_t thread[2];
		uint64_t seen = 0;
		em_errinfo err;
		vary_bench v;

		memset(&err, 0, sizeof(err));
		vary_open(&v, nring, 5 * BLOCK);
		v.b.dest.lends = 1;
		vary_begin(&v);
		assert_int_equal(pthread_create(&thread[0], NULL, sharer, &v), 0);
		assert_int_equal(pthread_create(&thread[1], NULL, sharer, &v), 0);
		while (seen < v.nblocks) {
			const emi_outblock *front = emi_outseq_front(&v.b.q);

			if (front == NULL) {
				sched_yield();
				continue;
			}
			assert_true(front->index == seen && front->buf.len == v.bytes[seen]);
			assert_int_equal((unsigned char)front->buf.base[0], byte_of(v.position[seen]));
			seen++;
			emi_outseq_release(&v.b.q);
		}
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		assert_null(emi_outseq_front(&v.b.q));
		assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_OK);
		vary_close(&v);
	}
}

static void *share_one(void *arg)
{
	vary_bench *v = arg;

	if (!send_share(v, 1))
		__atomic_add_fetch(&v->b.refused, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Whoever waits for a share that never comes is woken when the sequence is given up. */
static void test_shares_abort(void **state)
{
	pthread_t thread;
	em_errinfo why, err;
	vary_bench v;

	(void)state;
	memset(&err, 0, sizeof(err));
	memset(&why, 0, sizeof(why));
	vary_open(&v, 2, BLOCK);
	vary_begin(&v);
	assert_int_equal(pthread_create(&thread, NULL, share_one, &v), 0);
	emi_fail(&why, EM_ERR_IO, "enough");
	emi_outseq_abort(&v.b.q, EM_ERR_IO, &why);
	pthread_join(thread, NULL);
	assert_int_equal(v.b.refused, 1);
	assert_int_equal(v.arrived, 0);
	assert_int_equal(emi_outseq_end(&v.b.q, &err), EM_ERR_IO);
	assert_string_equal(err.text, "enough");
	vary_close(&v);
}

/* The owner waits for a share that never comes, and sees that the sort was canceled. */
static void test_shares_canceled(void **state)
{
	vary_bench v;

	(void)state;
	vary_open(&v, 2, BLOCK);
	vary_begin(&v);
	__atomic_store_n(&v.b.job.watch.canceled, 1, __ATOMIC_RELAXED);
	share_one(&v);
	assert_int_equal(v.b.refused, 1);
	assert_int_equal(emi_outseq_status(&v.b.q), EM_ERR_CANCELED);
	vary_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_written),
		cmocka_unit_test(test_shares_failing),
		cmocka_unit_test(test_shares_out_of_memory),
		cmocka_unit_test(test_shares_lent),
		cmocka_unit_test(test_shares_abort),
		cmocka_unit_test(test_shares_canceled),
	};

	return cmocka_run_group_tests_name("outseq_shares", tests, NULL, NULL);
}
