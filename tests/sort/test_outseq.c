/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_outseq.c -- output blocks that several threads fill: they arrive in order and complete, whoever is slow, fails,
 * or gives up.
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

#include <extmem/sys/fault.h>

#include "sort/outseq.h"
#include "sort/sort_model.h"

#define BLOCK 4096u
#define RECORD 24u
#define CAP (BLOCK / RECORD)

/* A sequence, where its blocks go, and those who fill it. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_fault fault;
	em_ctx *ctx;
	em_order *order;
	emi_job job;
	emi_outseq q;
	emi_dest dest;
	unsigned char *got;     /* what arrived */
	uint64_t records, blocks; /* of it */
	uint64_t fail_at;       /* block whose put fails, from 1; 0: none */
	emi_disk *disk;         /* where blocks are written, when not NULL */
	emi_bid *bid;
	uint64_t total, next;   /* records; atomic: those that somebody took to fill */
	uint64_t seed;
	unsigned refused;       /* atomic: places that were NULL */
} bench;

static uint64_t word_of(uint64_t record)
{
	return (record + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void make_record(char *to, uint64_t record)
{
	uint64_t w[RECORD / 8];
	size_t i;

	for (i = 0; i < RECORD / 8; i++)
		w[i] = word_of(record) + i;
	memcpy(to, w, RECORD);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	assert_int_equal(block->index, b->blocks);
	assert_int_equal(block->filled, block->records);
	assert_int_equal(block->buf.len, block->records * RECORD);
	b->blocks++;
	if (b->blocks == b->fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	memcpy(b->got + b->records * RECORD, block->buf.base + block->buf.lead, block->buf.len);
	b->records += block->records;
	if (b->disk != NULL) {
		em_status st = emi_block_alloc(b->disk, BLOCK, &b->bid[block->index], err);

		if (st != EM_OK)
			return st;
		emi_block_write(b->disk, &block->buf.rq, block->buf.base, BLOCK, b->bid[block->index], &b->job.io);
	}
	return EM_OK;
}

/* As a file would want it: data stands in the page where it stands in the file. */
static size_t lead(void *arg, uint64_t position)
{
	(void)arg;
	return (size_t)((position + 100) % EMI_PAGE);
}

static void bench_open(bench *b, uint32_t nring, uint64_t total)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	em_ctx_opts opts = sort_ctx_opts();
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	b->seed = test_random(&b->rng);
	test_memory_init(&b->mem, 0);
	em_fault_init(&b->fault, em_backend_find("memory"));
	opts.backend = NULL;
	opts.custom = em_fault_backend(&b->fault);
	opts.allocator = &b->mem.allocator;
	b->ctx = sort_ctx(&opts);
	b->order = sort_order(b->ctx, &shape);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, NULL, &err), EM_OK);
	assert_int_equal(emi_outseq_init(&b->q, &b->job, nring, BLOCK, &err), EM_OK);
	b->total = total;
	b->got = calloc((size_t)total + 1, RECORD);
	b->bid = calloc((size_t)(total / CAP) + 1, sizeof(*b->bid));
	assert_true(b->got != NULL && b->bid != NULL);
	b->dest.put = put;
	b->dest.arg = b;
	emi_outseq_begin(&b->q, &b->dest, total, CAP);
}

static void bench_close(bench *b)
{
	emi_outseq_free(&b->q);
	emi_scratch_release(b->ctx, b->disk);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
	free(b->got);
	free(b->bid);
}

static void assert_complete(const bench *b)
{
	char record[RECORD];
	uint64_t i;

	assert_int_equal(b->records, b->total);
	assert_int_equal(b->blocks, (b->total + CAP - 1) / CAP);
	for (i = 0; i < b->total; i++) {
		make_record(record, i);
		assert_memory_equal(b->got + i * RECORD, record, RECORD);
	}
}

/* Fill [pos, end). */
static int fill(bench *b, uint64_t pos, uint64_t end)
{
	while (pos < end) {
		size_t n = (size_t)(end - pos), i;
		char *to = emi_outseq_place(&b->q, pos, &n);

		if (to == NULL) {
			__atomic_add_fetch(&b->refused, 1, __ATOMIC_RELAXED);
			return 0;
		}
		for (i = 0; i < n; i++)
			make_record(to + i * RECORD, pos + i);
		emi_outseq_filled(&b->q, pos, n);
		pos += n;
	}
	return 1;
}

/* Take pieces of random sizes, in order, and fill them at one's own speed. */
static void *filler(void *arg)
{
	bench *b = arg;
	test_rng rng = test_rng_make(b->seed + (uint64_t)(uintptr_t)&rng);

	for (;;) {
		const uint64_t some = 1 + test_below(&rng, test_below(&rng, 2) ? 3 * CAP : 10);
		uint64_t pos = __atomic_fetch_add(&b->next, some, __ATOMIC_RELAXED), end = pos + some;
		unsigned naps = (unsigned)test_below(&rng, 4);

		if (pos >= b->total)
			return NULL;
		while (naps-- > 0)
			sched_yield();
		if (!fill(b, pos, end < b->total ? end : b->total))
			return NULL;
	}
}

static void run_fillers(bench *b, unsigned threads)
{
	pthread_t thread[8];
	unsigned i;

	b->next = 0;
	for (i = 0; i + 1 < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, filler, b), 0);
	filler(b);
	for (i = 0; i + 1 < threads; i++)
		pthread_join(thread[i], NULL);
}

/* Two buffers and up to four threads, and the other way round. */
static void test_threads(void **state)
{
	static const uint64_t totals[] = { 1, CAP - 1, CAP, CAP + 1, 2 * CAP, 40 * CAP + 7 };
	uint32_t nring;
	unsigned threads, with_lead;
	size_t i;

	(void)state;
	for (nring = 2; nring <= 8; nring += 3) {
		for (threads = 1; threads <= 4; threads++) {
			for (i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
				for (with_lead = 0; with_lead < 2; with_lead++) {
					em_errinfo err;
					bench b;

					memset(&err, 0, sizeof(err));
					bench_open(&b, nring, totals[i]);
					b.dest.lead = with_lead ? lead : NULL;
					emi_outseq_begin(&b.q, &b.dest, totals[i], CAP);
					run_fillers(&b, threads);
					assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
					assert_complete(&b);
					bench_close(&b);
				}
			}
		}
	}
}

/* Blocks that are written with requests; and one sequence after the other through the same buffers. */
static void test_written(void **state)
{
	unsigned threads, round;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		em_errinfo err;
		uint64_t i;
		char *buf;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, 2, 20 * CAP + 3);
		assert_int_equal(emi_scratch_acquire(b.ctx, &b.disk, &err), EM_OK);
		for (round = 0; round < 3; round++) {
			/* The last buffers of the sequence before may still be on their way. */
			b.blocks = b.records = 0;
			emi_outseq_begin(&b.q, &b.dest, b.total, CAP);
			run_fillers(&b, threads);
			assert_int_equal(emi_outseq_status(&b.q), EM_OK);
		}
		assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
		assert_complete(&b);
		buf = emi_buffer_alloc(b.ctx, BLOCK, &err);
		assert_non_null(buf);
		for (i = 0; i < b.blocks; i++) {
			const size_t n = i + 1 < b.blocks ? CAP : (size_t)(b.total - i * CAP);
			emi_request rq;

			emi_block_read(b.disk, &rq, buf, BLOCK, b.bid[i], NULL);
			assert_int_equal(emi_wait(&rq, &err), EM_OK);
			assert_memory_equal(buf, b.got + i * CAP * RECORD, n * RECORD);
		}
		emi_buffer_free(b.ctx, buf, BLOCK);
		bench_close(&b);
	}
}

/* What lies behind the records of a block was never anybody's data. */
static void test_slack(void **state)
{
	static const char zeroes[BLOCK - CAP * RECORD];
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, 2, 5 * CAP);
	run_fillers(&b, 1);
	assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
	assert_memory_equal(b.q.ring[0].buf.base + CAP * RECORD, zeroes, sizeof(zeroes));
	assert_memory_equal(b.q.ring[1].buf.base + CAP * RECORD, zeroes, sizeof(zeroes));
	bench_close(&b);
}

/* The destination refuses a block: everybody is told, nobody waits for ever. */
static void test_failing_destination(void **state)
{
	unsigned threads;
	uint64_t at;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (at = 1; at <= 12; at++) {
			em_errinfo err;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, 2, 12 * CAP);
			b.fail_at = at;
			run_fillers(&b, threads);
			assert_int_equal(emi_outseq_status(&b.q), EM_ERR_NOSPACE);
			assert_int_equal(emi_outseq_end(&b.q, &err), EM_ERR_NOSPACE);
			assert_string_equal(err.text, "as ordered");
			/* Nothing is put after a failure. */
			assert_int_equal(b.blocks, at);
			assert_int_equal(b.records, (at - 1) * CAP);
			assert_true(b.refused > 0 || at >= 11);
			bench_close(&b);
		}
	}
}

/* A write fails long after the block was put: by whoever needs the buffer, or at the end. */
static void test_failing_write(void **state)
{
	unsigned threads;
	uint64_t nth;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		for (nth = 1; nth <= 12; nth++) {
			em_errinfo err;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, 3, 12 * CAP);
			assert_int_equal(emi_scratch_acquire(b.ctx, &b.disk, &err), EM_OK);
			b.fault.ops = EM_FAULT_WRITE;
			b.fault.count = 0;
			b.fault.nth = nth;
			b.fault.sys_errno = ENOSPC;
			run_fillers(&b, threads);
			assert_int_equal(emi_outseq_end(&b.q, &err), EM_ERR_NOSPACE);
			assert_int_equal(err.sys_errno, ENOSPC);
			assert_string_equal(err.op, "write");
			bench_close(&b);
		}
	}
}

/* A ring whose blocks are lent: each waits until it comes back, in order. */
static void test_lending(void **state)
{
	uint32_t nring;

	(void)state;
	for (nring = 2; nring <= 5; nring++) {
		const uint64_t total = 20 * CAP + 5, blocks = 21;
		uint64_t filled = 0, seen = 0;
		em_errinfo err;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, nring, total);
		b.dest.lends = 1;
		emi_outseq_begin(&b.q, &b.dest, total, CAP);
		assert_null(emi_outseq_front(&b.q));
		while (seen < blocks) {
			emi_outblock *front;

			/* Room for as many as there are buffers, and not for one more. */
			while (filled < blocks && emi_outseq_room(&b.q, filled)) {
				const uint64_t end = (filled + 1) * CAP;

				assert_true(filled < seen + nring);
				assert_true(fill(&b, filled * CAP, end < total ? end : total));
				filled++;
			}
			assert_true(filled == blocks || filled == seen + nring);
			front = emi_outseq_front(&b.q);
			assert_non_null(front);
			assert_int_equal(front->index, seen);
			assert_ptr_equal(front, emi_outseq_front(&b.q));
			emi_outseq_release(&b.q);
			seen++;
		}
		assert_null(emi_outseq_front(&b.q));
		assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
		assert_complete(&b);
		bench_close(&b);
	}
}

static void *fill_all(void *arg)
{
	bench *b = arg;

	fill(b, 0, b->total);
	return NULL;
}

/* Somebody waits for a lent block while the owner takes one after the other. */
static void test_lending_to_another_thread(void **state)
{
	const uint64_t total = 30 * CAP;
	pthread_t thread;
	uint64_t seen = 0;
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, 2, total);
	b.dest.lends = 1;
	emi_outseq_begin(&b.q, &b.dest, total, CAP);
	assert_int_equal(pthread_create(&thread, NULL, fill_all, &b), 0);
	while (seen < 30) {
		const emi_outblock *front = emi_outseq_front(&b.q);

		if (front == NULL) {
			sched_yield();
			continue;
		}
		assert_int_equal(front->index, seen);
		seen++;
		emi_outseq_release(&b.q);
	}
	pthread_join(thread, NULL);
	assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
	assert_complete(&b);
	bench_close(&b);
}

/* Who waits is woken when the sequence is given up, with the reason of whoever gave it up. */
static void test_abort(void **state)
{
	pthread_t thread;
	em_errinfo why, err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	memset(&why, 0, sizeof(why));
	bench_open(&b, 2, 10 * CAP);
	b.dest.lends = 1;
	emi_outseq_begin(&b.q, &b.dest, b.total, CAP);
	/* It fills two blocks and waits for one to be released, which never happens. */
	assert_int_equal(pthread_create(&thread, NULL, fill_all, &b), 0);
	emi_fail(&why, EM_ERR_IO, "enough");
	emi_outseq_abort(&b.q, EM_ERR_IO, &why);
	emi_outseq_abort(&b.q, EM_ERR_NOSPACE, NULL);
	pthread_join(thread, NULL);
	assert_int_equal(b.refused, 1);
	assert_int_equal(emi_outseq_status(&b.q), EM_ERR_IO);
	assert_int_equal(emi_outseq_end(&b.q, &err), EM_ERR_IO);
	assert_string_equal(err.text, "enough");
	bench_close(&b);
}

/* The owner of a sequence looks up while it waits, and sees that the sort was canceled. */
static void test_cancel(void **state)
{
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, 2, 10 * CAP);
	b.dest.lends = 1;
	emi_outseq_begin(&b.q, &b.dest, b.total, CAP);
	__atomic_store_n(&b.job.watch.canceled, 1, __ATOMIC_RELAXED);
	fill_all(&b);
	assert_int_equal(b.refused, 1);
	assert_int_equal(b.blocks, 2);
	assert_int_equal(emi_outseq_status(&b.q), EM_ERR_CANCELED);
	bench_close(&b);
}

static void test_out_of_memory(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	em_ctx_opts opts = sort_ctx_opts();
	em_status st = EM_ERR_NOMEM;
	em_order *order;
	em_errinfo err;
	test_memory mem;
	emi_outseq q;
	emi_job job;
	uint64_t n;
	em_ctx *ctx;

	(void)state;
	test_memory_init(&mem, 0);
	opts.allocator = &mem.allocator;
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, &shape);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_job_open(&job, ctx, order, NULL, &err), EM_OK);
	for (n = 1; st != EM_OK; n++) {
		memset(&err, 0, sizeof(err));
		mem.fail_at = mem.calls + n;
		st = emi_outseq_init(&q, &job, 4, BLOCK, &err);
		assert_int_equal(st, n <= 5 ? EM_ERR_NOMEM : EM_OK);
	}
	emi_outseq_free(&q);
	emi_job_close(&job);
	em_order_close(order);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

#define SHARES 120u
#define BLOCKS_MOST (3u * SHARES)

/* Blocks of any length: what each share has, and where that comes to lie. */
typedef struct vary_bench {
	bench b;
	size_t blocks[SHARES];  /* of each share */
	uint64_t first[SHARES];
	size_t bytes[BLOCKS_MOST]; /* of each block */
	uint64_t position[BLOCKS_MOST];
	emi_bid bid[BLOCKS_MOST];
	uint64_t nblocks;
	uint64_t arrived;
} vary_bench;

static unsigned char byte_of(uint64_t position)
{
	return (unsigned char)(word_of(position / 8) >> position % 8 * 8);
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
	assert_true(block->buf.lead == (v->b.dest.lead != NULL ? lead(NULL, v->position[i]) : 0));
	for (k = 0; k < v->bytes[i]; k++)
		if ((unsigned char)block->buf.base[block->buf.lead + k] != byte_of(v->position[i] + k))
			fail_msg("block %u: byte %u", (unsigned)i, (unsigned)k);
	if (v->arrived == v->b.fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	if (v->b.disk != NULL) {
		const size_t bytes = pages(v->bytes[i]);
		em_status st = emi_block_alloc(v->b.disk, bytes, &v->bid[i], err);

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
			v->bytes[v->nblocks] = test_below(&v->b.rng, 9) == 0 ? most : 1 + (size_t)test_below(&v->b.rng, most);
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
		unsigned naps = (unsigned)(word_of(share ^ v->b.seed) >> 62);

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

				memset(&err, 0, sizeof(err));
				vary_open(&v, nring, threads == 1 ? BLOCK : 5 * BLOCK);
				v.b.dest.lead = with_lead ? lead : NULL;
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

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (at = 1; at <= 24; at++) {
			em_errinfo err;
			vary_bench v;

			memset(&err, 0, sizeof(err));
			vary_open(&v, 2, 5 * BLOCK);
			if (at % 2 == 0) {
				v.b.fail_at = at;
			} else {
				assert_int_equal(emi_scratch_acquire(v.b.ctx, &v.b.disk, &err), EM_OK);
				v.b.fault.ops = EM_FAULT_WRITE;
				v.b.fault.count = 0;
				v.b.fault.nth = at;
				v.b.fault.sys_errno = ENOSPC;
			}
			vary_begin(&v);
			run_sharers(&v, threads);
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
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_failing_destination),
		cmocka_unit_test(test_failing_write),
		cmocka_unit_test(test_lending),
		cmocka_unit_test(test_lending_to_another_thread),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_written),
		cmocka_unit_test(test_shares_failing),
		cmocka_unit_test(test_shares_out_of_memory),
		cmocka_unit_test(test_shares_lent),
		cmocka_unit_test(test_shares_abort),
		cmocka_unit_test(test_shares_canceled),
	};

	return cmocka_run_group_tests_name("outseq", tests, NULL, NULL);
}
