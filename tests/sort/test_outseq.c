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
#include <time.h>

#include "sort/outseq_bench.h"

static void assert_complete(const bench *b)
{
	char record[RECORD];
	uint64_t i;

	assert_int_equal(b->records, b->total);
	assert_int_equal(b->blocks, (b->total + b->q.short_by + CAP - 1) / CAP);
	for (i = 0; i < b->total; i++) {
		outseq_record(record, i);
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
			outseq_record(to + i * RECORD, pos + i);
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

					if (test_left_out())
						continue;
					memset(&err, 0, sizeof(err));
					bench_open(&b, nring, totals[i]);
					b.dest.lead = with_lead ? outseq_lead : NULL;
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

/* The first block has fewer records, and the others have as many as always. */
static void test_short_first_block(void **state)
{
	static const uint64_t totals[] = { 1, CAP - 1, CAP, CAP + 1, 3 * CAP, 12 * CAP + 7 };
	static const size_t by[] = { 1, CAP / 2, CAP - 1 };
	unsigned threads;
	size_t i, j;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		for (i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
			for (j = 0; j < sizeof(by) / sizeof(by[0]); j++) {
				const uint64_t first = CAP - by[j];
				em_errinfo err;
				bench b;

				if (test_left_out())
					continue;
				memset(&err, 0, sizeof(err));
				bench_open(&b, 3, totals[i]);
				emi_outseq_begin_short(&b.q, by[j]);
				assert_int_equal(emi_outseq_block_of(&b.q, first - 1), 0);
				assert_int_equal(emi_outseq_block_of(&b.q, first), 1);
				run_fillers(&b, threads);
				assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
				assert_complete(&b);
				assert_int_equal(b.first, totals[i] < first ? totals[i] : first);
				bench_close(&b);
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
	int fails;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (at = test_nth_after(0, 1), fails = 1; fails; at = test_nth_after(at, 1)) {
			em_errinfo err;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, 2, 12 * CAP);
			b.fail_at = at;
			run_fillers(&b, threads);
			fails = at <= 12;
			assert_int_equal(emi_outseq_status(&b.q), fails ? EM_ERR_NOSPACE : EM_OK);
			assert_int_equal(emi_outseq_end(&b.q, &err), fails ? EM_ERR_NOSPACE : EM_OK);
			assert_string_equal(err.text, fails ? "as ordered" : "");
			/* Nothing is put after a failure. */
			assert_int_equal(b.blocks, fails ? at : 12);
			assert_int_equal(b.records, (fails ? at - 1 : 12) * CAP);
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
	int fails;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		for (nth = test_nth_after(0, 1), fails = 1; fails; nth = test_nth_after(nth, 1)) {
			em_errinfo err;
			bench b;

			memset(&err, 0, sizeof(err));
			bench_open(&b, 3, 12 * CAP);
			assert_int_equal(emi_scratch_acquire(b.ctx, &b.disk, &err), EM_OK);
			b.fault.sys_errno = ENOSPC;
			em_fault_set(&b.fault, EM_FAULT_WRITE, nth, 1);
			run_fillers(&b, threads);
			fails = nth <= 12;
			assert_int_equal(emi_outseq_end(&b.q, &err), fails ? EM_ERR_NOSPACE : EM_OK);
			assert_int_equal(err.sys_errno, fails ? ENOSPC : 0);
			assert_string_equal(err.op, fails ? "write" : "");
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

/* A destination that does not come back before others have gone on; it gives up late. */
typedef struct slow_put {
	em_status (*put)(void *arg, emi_outblock *block, em_errinfo *err);
	bench *b;
	unsigned calls, running, most;  /* atomic */
	int others;                     /* atomic: they have */
	int gave_up;
} slow_put;

static em_status put_slowly(void *arg, emi_outblock *block, em_errinfo *err)
{
	slow_put *s = arg;
	const unsigned running = __atomic_add_fetch(&s->running, 1, __ATOMIC_ACQ_REL);
	const struct timespec nap = { 0, 1000000 };
	em_status st;
	int i;

	if (running > s->most)
		s->most = running;
	__atomic_add_fetch(&s->calls, 1, __ATOMIC_ACQ_REL);
	for (i = 0; i < 20000 && !__atomic_load_n(&s->others, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	s->gave_up |= i == 20000;
	st = s->put(s->b, block, err);
	__atomic_sub_fetch(&s->running, 1, __ATOMIC_ACQ_REL);
	return st;
}

static void *fill_first(void *arg)
{
	fill(arg, 0, CAP);
	return NULL;
}

/* While a block is handed on others are filled; all are handed on by one thread at a time. */
static void test_slow_destination(void **state)
{
	const uint64_t total = 4 * CAP;
	slow_put s = { 0 };
	pthread_t thread;
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, 4, total);
	s.put = b.dest.put;
	s.b = &b;
	b.dest.put = put_slowly;
	b.dest.arg = &s;
	emi_outseq_begin(&b.q, &b.dest, total, CAP);
	assert_int_equal(pthread_create(&thread, NULL, fill_first, &b), 0);
	while (__atomic_load_n(&s.calls, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	/* Two to the end, one in part: nobody waits for anybody. */
	assert_true(fill(&b, CAP, 3 * CAP + CAP / 2));
	assert_int_equal(s.calls, 1);
	__atomic_store_n(&s.others, 1, __ATOMIC_RELEASE);
	assert_true(fill(&b, 3 * CAP + CAP / 2, total));
	pthread_join(thread, NULL);
	assert_int_equal(emi_outseq_end(&b.q, &err), EM_OK);
	assert_int_equal(s.calls, 4);
	assert_int_equal(s.most, 1);
	assert_false(s.gave_up);
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
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		memset(&err, 0, sizeof(err));
		mem.fail_at = mem.calls + n;
		st = emi_outseq_init(&q, &job.runs, 4, job.plan.packers, BLOCK, &err);
		assert_int_equal(st, n <= 2 ? EM_ERR_NOMEM : EM_OK);
	}
	emi_outseq_free(&q);
	emi_job_close(&job);
	em_order_close(order);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_short_first_block),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_failing_destination),
		cmocka_unit_test(test_failing_write),
		cmocka_unit_test(test_lending),
		cmocka_unit_test(test_lending_to_another_thread),
		cmocka_unit_test(test_slow_destination),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("outseq", tests, NULL, NULL);
}
