/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_pool.c -- records of any length in memory: added one by one and loaded from files, they come out sorted, as frames
 * and as text, with any number of threads; and who gives up leaves nobody waiting.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/lines_model.h"
#include "sort/pool_load.h"
#include "sort/sort_model.h"

#define CHUNK ((size_t)4096)
#define POOL ((size_t)8 << 20)

typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	em_format format;
	emi_job job;
	emi_pool pool;
	emi_outseq q;
	emi_dest dest;
	unsigned char *got;     /* as a file would have it */
	size_t filled, room;
	uint64_t blocks;
	uint64_t cancel_at;     /* block at which the sort is canceled, from 1; 0: none */
	uint64_t fail_at;
	lines in;
	lines header;
} bench;

static void keep(bench *b, const void *data, size_t n)
{
	assert_true(n <= b->room - b->filled);
	memcpy(b->got + b->filled, data, n);
	b->filled += n;
}

static void keep_record(bench *b, const unsigned char *record, uint64_t n)
{
	unsigned char edge[8];

	keep(b, edge, (size_t)(emi_record_prefix(&b->format, edge, n) - edge));
	keep(b, record, (size_t)n);
	keep(b, edge, (size_t)(emi_record_delimit(&b->format, edge) - edge));
}

/* What is in a block of frames; its head says the truth about it. */
static void keep_frames(bench *b, const emi_outblock *block)
{
	const unsigned char *base = (const unsigned char *)block->buf.base + block->buf.lead, *at = emi_block_first(base);
	const emi_block_head *head = emi_block_get_head(base);
	const size_t before = b->filled;
	uint32_t n = 0;

	assert_true(emi_block_sound(base, block->buf.len));
	for (; at != base + head->end; n++) {
		const emi_frame f = emi_frame_get(emi_order_vary(b->order), at);

		keep_record(b, emi_frame_record(&f), f.bytes);
		at = emi_frame_end(&f);
		assert_true(at <= base + head->end);
	}
	assert_int_equal(n, head->records);
	assert_true(head->out == b->filled - before);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	assert_true(block->index == b->blocks);
	b->blocks++;
	if (b->blocks == b->fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	if (b->blocks == b->cancel_at)
		__atomic_store_n(&b->job.watch.canceled, 1, __ATOMIC_RELAXED);
	if (b->dest.text)
		keep(b, block->buf.base + block->buf.lead, block->buf.len);
	else
		keep_frames(b, block);
	return EM_OK;
}

static void bench_open(bench *b, int which, int format, uint32_t threads, const em_sort_opts *opts)
{
	const emi_needs needs = { EMI_UNKNOWN, 0, 0, 2, 0, EMI_UNKNOWN };
	em_ctx_opts co = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	if (opts != NULL)
		so = *opts;
	b->format = lines_format(format);
	so.format = &b->format;
	so.block_bytes = 16384;
	co.threads = threads;
	b->ctx = sort_ctx(&co);
	b->order = lines_order(b->ctx, which);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, &so, &err), EM_OK);
	b->job.out_extra = emi_record_extra(&b->format);
	assert_int_equal(emi_workers_start(b->ctx, &err), EM_OK);
	if (emi_job_plan(&b->job, &needs, &err) != EM_OK)
		fail_msg("%s", err.text);
	assert_int_equal(emi_pool_init(&b->pool, &b->job, POOL, &err), EM_OK);
	assert_int_equal(emi_outseq_init(&b->q, &b->job, 3, b->job.plan.block_bytes, &err), EM_OK);
	b->dest.put = put;
	b->dest.arg = b;
}

static void bench_close(bench *b)
{
	emi_outseq_free(&b->q);
	emi_pool_free(&b->pool);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	lines_free(&b->in);
	lines_free(&b->header);
	free(b->got);
}

static void make_room(bench *b)
{
	free(b->got);
	b->room = b->in.filled + 9 * b->in.n + 16;
	b->got = malloc(b->room);
	assert_non_null(b->got);
	b->filled = 0;
	b->blocks = 0;
}

/* Send what is in the pool. */
static em_status send_all(bench *b, int text, uint64_t *records, em_errinfo *err)
{
	em_status st, end;

	memset(err, 0, sizeof(*err));
	make_room(b);
	b->dest.text = text;
	emi_outseq_begin(&b->q, &b->dest, 0, b->job.plan.block_bytes);
	st = emi_pool_send(&b->pool, &b->q, records, err);
	end = emi_outseq_end(&b->q, err);
	return st != EM_OK ? st : end;
}

static void assert_got(const bench *b, const lines *sorted)
{
	size_t bytes;
	unsigned char *expected = lines_text(sorted, 0, sorted->n, &b->format, 0, &bytes);

	assert_true(b->filled == bytes);
	assert_memory_equal(b->got, expected, bytes);
	free(expected);
}

/* A copy of records [first, end), sorted. */
static lines sorted_copy(const bench *b, size_t first, size_t end)
{
	lines l = { 0 };
	size_t i, n;

	for (i = first; i < end; i++) {
		const unsigned char *record = lines_at(&b->in, i, &n);

		lines_add(&l, record, n);
	}
	lines_sort(b->order, &l, 0, (b->job.flags & EM_SORT_UNIQUE) != 0);
	return l;
}

static void add_all(bench *b)
{
	size_t i, n, need;

	emi_pool_clear(&b->pool);
	for (i = 0; i < b->in.n; i++) {
		const unsigned char *record = lines_at(&b->in, i, &n);

		assert_int_equal(emi_pool_add(&b->pool, record, n, &need), 1);
	}
	assert_true(b->pool.n == b->in.n);
}

/* Elements of a pool that was sorted, one after the other. */
static void take_elems(bench *b)
{
	const emi_pair *e;
	em_errinfo err;
	size_t i;

	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_pool_sort(&b->pool, &e, &err), EM_OK);
	make_room(b);
	for (i = 0; i < b->in.n; i++) {
		const emi_frame f = emi_frame_of(emi_order_vary(b->order), e + i);

		keep_record(b, emi_frame_record(&f), f.bytes);
	}
}

/* Formats whose prefixes are wide enough, and no records with delimiters in them. */
static int style_of(unsigned round)
{
	static const int styles[] = { LINES_ANY, LINES_FEW, LINES_WORDS };

	return styles[round % 3];
}

static void test_added(void **state)
{
	static const int formats[] = { 0, 1, 4, 9 };
	static const size_t counts[] = { 1, 2, 17, 900, 6000 };
	unsigned threads, round = 0;
	size_t i;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (threads = 1; threads <= 4; threads += 3) {
			for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++, round++) {
				uint64_t records = 0;
				em_errinfo err;
				lines sorted;
				bench b;

				bench_open(&b, which, formats[round % 4], threads, NULL);
				lines_add_random(&b.in, &b.rng, style_of(round), counts[i]);
				sorted = sorted_copy(&b, 0, b.in.n);
				add_all(&b);
				assert_true(b.pool.out == b.in.filled + b.in.n * b.job.out_extra);
				assert_int_equal(send_all(&b, 1, &records, &err), EM_OK);
				assert_true(records == b.in.n);
				assert_got(&b, &sorted);
				add_all(&b);
				assert_int_equal(send_all(&b, 0, &records, &err), EM_OK);
				assert_true(records == b.in.n);
				assert_got(&b, &sorted);
				add_all(&b);
				take_elems(&b);
				assert_got(&b, &sorted);
				lines_free(&sorted);
				bench_close(&b);
			}
		}
	}
}

static void test_unique(void **state)
{
	unsigned threads, round = 0;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (threads = 1; threads <= 4; threads += 3, round++) {
			em_sort_opts opts = EM_SORT_OPTS_INIT;
			uint64_t records;
			em_errinfo err;
			lines sorted;
			bench b;

			opts.flags = EM_SORT_UNIQUE;
			bench_open(&b, which, 0, threads, &opts);
			lines_add_random(&b.in, &b.rng, round % 2 ? LINES_ANY : LINES_FEW, 5000);
			sorted = sorted_copy(&b, 0, b.in.n);
			assert_true(sorted.n < b.in.n);
			add_all(&b);
			assert_int_equal(send_all(&b, 0, &records, &err), EM_OK);
			assert_true(records == sorted.n);
			assert_got(&b, &sorted);
			lines_free(&sorted);
			bench_close(&b);
		}
	}
}

/* Nearly all begin alike, or are made of zeroes that only their ends tell apart: large buckets are parted again, further on. */
static void test_alike(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 4; round++) {
		const int zeroes = round % 2 == 0;
		unsigned char record[80];
		size_t i, k;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		bench_open(&b, (int)((round ^ round / 2) % 2), 5, round < 2 ? 1 : 4, NULL);
		for (i = 0; i < 50000; i++) {
			size_t n = 8 * (size_t)test_below(&b.rng, 5) + (size_t)test_below(&b.rng, 12);

			memset(record, zeroes ? 0 : 'z', sizeof(record));
			if (!zeroes)
				for (k = n, n += 6; k < n; k++)
					record[k] = (unsigned char)test_below(&b.rng, 3);
			else if (test_below(&b.rng, 50) == 0)
				record[test_below(&b.rng, sizeof(record))] = 1;
			lines_add(&b.in, record, n);
		}
		sorted = sorted_copy(&b, 0, b.in.n);
		add_all(&b);
		assert_int_equal(send_all(&b, zeroes, &records, &err), EM_OK);
		assert_got(&b, &sorted);
		add_all(&b);
		take_elems(&b);
		assert_got(&b, &sorted);
		lines_free(&sorted);
		bench_close(&b);
	}
}

/* Records longer than a block, among short ones; and what all have in common, the longest thing about them. */
static void test_long_records(void **state)
{
	static const size_t sizes[] = { 16000, 16383, 16384, 16385, 20000, 70000, 300000 };
	unsigned char *record = malloc(400000);
	unsigned threads;
	size_t i;

	(void)state;
	assert_non_null(record);
	for (threads = 1; threads <= 4; threads++) {
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;
		int text;

		bench_open(&b, (int)threads % 3, 0, threads, NULL);
		memset(record, 'x', 400000);
		for (i = 0; i < 300; i++) {
			const size_t n = i % 20 == 7 ? sizes[i / 20 % 7] : 40 + (size_t)test_below(&b.rng, 100);

			record[20 + test_below(&b.rng, 20)] = (unsigned char)"abx"[test_below(&b.rng, 3)];
			lines_add(&b.in, record, n);
		}
		sorted = sorted_copy(&b, 0, b.in.n);
		for (text = 0; text < 2; text++) {
			add_all(&b);
			assert_true(b.pool.common >= 20 || emi_order_vary(b.order)->keyed);
			assert_int_equal(send_all(&b, text, &records, &err), EM_OK);
			assert_got(&b, &sorted);
		}
		lines_free(&sorted);
		bench_close(&b);
	}
	free(record);
}

/* A full pool says so, keeps what it has, and says how much the record needs. */
static void test_full(void **state)
{
	int which;

	(void)state;
	for (which = 0; which < 3; which++) {
		unsigned char record[300];
		size_t need = 0, made, i;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, which, 0, 1, NULL);
		emi_pool_free(&b.pool);
		assert_int_equal(emi_pool_init(&b.pool, &b.job, 20000, &err), EM_OK);
		memset(record, 'r', sizeof(record));
		for (i = 0; i < 20000; i++) {
			const size_t n = (size_t)test_below(&b.rng, sizeof(record));

			record[0] = (unsigned char)test_below(&b.rng, 10);
			need = 0;
			if (!emi_pool_add(&b.pool, record, n, &need)) {
				emi_frame_make(emi_order_vary(b.order), record, n, NULL, 0, &made);
				assert_true(need == made);
				break;
			}
			lines_add(&b.in, record, n);
		}
		assert_true(b.in.n > 10 && b.pool.n == b.in.n);
		sorted = sorted_copy(&b, 0, b.in.n);
		assert_int_equal(send_all(&b, 0, &records, &err), EM_OK);
		assert_got(&b, &sorted);
		emi_pool_clear(&b.pool);
		assert_true(b.pool.n == 0 && b.pool.out == 0);
		assert_int_equal(emi_pool_add(&b.pool, record, 5, &need), 1);
		lines_free(&sorted);
		bench_close(&b);
	}
}

static void test_most(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	unsigned i;
	size_t need;
	bench b;

	(void)state;
	opts.run_records = 7;
	bench_open(&b, 0, 0, 1, &opts);
	for (i = 0; i < 7; i++)
		assert_int_equal(emi_pool_add(&b.pool, "abc", 3, &need), 1);
	need = 0;
	assert_int_equal(emi_pool_add(&b.pool, "abc", 3, &need), 0);
	assert_true(need >= 4);
	assert_true(b.pool.n == 7);
	bench_close(&b);
}

static em_status keep_header(void *arg, const void *data, size_t bytes, em_errinfo *err)
{
	bench *b = arg;

	(void)err;
	lines_add(&b->header, data, bytes);
	return EM_OK;
}

/* Load files, one pool after the other; each comes out as it should.  Returns how the loading ended. */
static em_status load(bench *b, const char *const *paths, uint32_t n, uint64_t longest, uint64_t skip, em_errinfo *err)
{
	emi_records_opts opts;
	emi_records *r;
	emi_pool_loader l;
	uint64_t done = skip;
	em_status st;
	int full = 1;

	memset(err, 0, sizeof(*err));
	memset(&opts, 0, sizeof(opts));
	opts.format = b->format;
	opts.chunk_bytes = CHUNK;
	opts.chunks = emi_pool_loader_chunks(b->job.plan.threads) + 2;
	opts.longest = (uint64_t)1 << 20;
	assert_int_equal(emi_records_open(&r, b->ctx, paths, n, &opts, &b->job.io, err), EM_OK);
	assert_int_equal(emi_pool_loader_init(&l, &b->pool, r, paths, CHUNK, longest, err), EM_OK);
	l.skip = skip;
	l.skipped_to = keep_header;
	l.skipped_arg = b;
	do {
		uint64_t records;
		em_errinfo e;
		lines sorted;

		emi_pool_clear(&b->pool);
		st = emi_pool_load(&l, &full, err);
		if (st != EM_OK)
			break;
		assert_true(!full || b->pool.n != 0);
		if (b->pool.n == 0)
			break;
		assert_true(b->pool.most == 0 || b->pool.n <= b->pool.most);
		sorted = sorted_copy(b, (size_t)done, (size_t)(done + b->pool.n));
		done += b->pool.n;
		assert_true(l.records_in == done - skip);
		assert_true(b->pool.out == sorted.filled + sorted.n * b->job.out_extra);
		assert_int_equal(send_all(b, 1, &records, &e), EM_OK);
		assert_got(b, &sorted);
		lines_free(&sorted);
	} while (full);
	if (st == EM_OK)
		assert_true(done == b->in.n);
	emi_pool_loader_free(&l);
	emi_records_close(r);
	return st;
}

/* Short and long lines in several files, in a large pool, in a small one, and with a limit on the records in it. */
static void test_loaded(void **state)
{
	static const int formats[] = { 0, 1, 4, 9 };
	unsigned threads, round;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (round = 0; round < 6; round++) {
			em_sort_opts opts = EM_SORT_OPTS_INIT;
			const uint64_t skip = round % 3;
			char *dir = test_dir_make(), *path[3];
			unsigned char *record = calloc(1, 40000);
			const char *paths[3];
			size_t i, bound[4], n;
			em_errinfo err;
			bench b;

			assert_non_null(record);
			memset(record, 'L', 40000);
			memset(&err, 0, sizeof(err));
			opts.run_records = round == 4 ? 500 : 0;
			bench_open(&b, (int)((round + threads) % LINES_ORDERS), formats[round % 4], threads, &opts);
			if (round == 2 || round == 3) {
				emi_pool_free(&b.pool);
				assert_int_equal(emi_pool_init(&b.pool, &b.job, (size_t)200000, &err), EM_OK);
			}
			bound[0] = 0;
			for (i = 0; i < 3; i++) {
				/* The last time all begin alike, in more than the eight bytes of a key. */
				lines_add_random(&b.in, &b.rng, round == 5 ? LINES_WORDS : style_of(round + (unsigned)i), 1000);
				for (n = 0; n < 3 && round != 5; n++)
					lines_add(&b.in, record, 3000 + (size_t)test_below(&b.rng, 30000));
				lines_add_random(&b.in, &b.rng, LINES_FEW, i == 1 && round != 5 ? 3000 : 0);
				bound[i + 1] = b.in.n;
			}
			for (i = 0; i < 3; i++) {
				path[i] = test_path(dir, i == 0 ? "a" : i == 1 ? "b" : "c");
				paths[i] = path[i];
				lines_write(path[i], &b.in, bound[i], bound[i + 1], &b.format, 0);
			}
			assert_int_equal(load(&b, paths, 3, (uint64_t)1 << 17, skip, &err), EM_OK);
			assert_true(b.header.n == skip);
			if (skip != 0) {
				unsigned char *expected = lines_text(&b.in, 0, (size_t)skip, &b.format, 0, &n);

				assert_true(b.header.filled == n);
				assert_memory_equal(b.header.bytes, expected, n);
				free(expected);
			}
			for (i = 0; i < 3; i++)
				free(path[i]);
			free(record);
			bench_close(&b);
			test_dir_remove(dir);
		}
	}
}

/* A line that is too long is named by its file and number, whatever came before it: here so many short lines that a stage is
 * filled more than once from one chunk. */
static void test_too_long(void **state)
{
	unsigned threads;
	uint64_t skip;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		for (skip = 0; skip < 3; skip++) {
			char *dir = test_dir_make(), *a = test_path(dir, "a"), *c = test_path(dir, "c"), text[4200];
			const char *paths[2];
			unsigned char *record = malloc(20000);
			em_errinfo err;
			size_t n;
			bench b;

			assert_non_null(record);
			memset(record, 'L', 20000);
			bench_open(&b, 0, 0, threads, NULL);
			lines_add_random(&b.in, &b.rng, LINES_WORDS, 1000);
			n = b.in.n;
			lines_add_random(&b.in, &b.rng, LINES_FEW, 777);
			lines_add(&b.in, record, 20000);
			lines_add_random(&b.in, &b.rng, LINES_WORDS, 3);
			paths[0] = a;
			paths[1] = c;
			lines_write(a, &b.in, 0, n, &b.format, 0);
			lines_write(c, &b.in, n, b.in.n, &b.format, 0);
			assert_int_equal(load(&b, paths, 2, 10000, skip, &err), EM_ERR_FORMAT);
			snprintf(text, sizeof(text), "%s:778: line and key of 20003 bytes", c);
			assert_non_null(strstr(err.text, text));
			assert_int_equal(load(&b, paths + 1, 1, 10000, skip, &err), EM_ERR_FORMAT);
			assert_non_null(strstr(err.text, text));
			free(a);
			free(c);
			free(record);
			bench_close(&b);
			test_dir_remove(dir);
		}
	}
}

/* The destination refuses a block, or somebody cancels meanwhile: whoever waits for another share is woken. */
static void test_giving_up(void **state)
{
	unsigned threads;
	uint64_t at;
	int fail;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		bench b;

		bench_open(&b, 0, 0, threads, NULL);
		lines_add_random(&b.in, &b.rng, LINES_ANY, 40000);
		for (at = 1; at <= 8; at++) {
			for (fail = 0; fail < 2; fail++) {
				uint64_t records;
				em_errinfo err;
				bench *p = &b;

				add_all(p);
				p->fail_at = fail ? at : 0;
				p->cancel_at = fail ? 0 : at;
				assert_int_equal(send_all(p, 1, &records, &err), fail ? EM_ERR_NOSPACE : EM_ERR_CANCELED);
				assert_true(p->blocks >= at);
				if (fail)
					assert_string_equal(err.text, "as ordered");
				__atomic_store_n(&p->job.watch.canceled, 0, __ATOMIC_RELAXED);
				emi_outseq_free(&p->q);
				memset(&err, 0, sizeof(err));
				assert_int_equal(emi_outseq_init(&p->q, &p->job, 3, p->job.plan.block_bytes, &err), EM_OK);
			}
		}
		bench_close(&b);
	}
}

/* Is asked each time the owner looks up; once a share has gone, it takes its time and cancels. */
static int cancel_slowly(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const struct timespec nap = { 0, 20000000 };
	bench *b = user;
	uint64_t shares;

	(void)phase;
	(void)done;
	(void)total;
	b->job.watch.last = 0;
	pthread_mutex_lock(&b->q.lock);
	shares = b->q.next_share;
	pthread_mutex_unlock(&b->q.lock);
	if (shares < 2)
		return 0;
	nanosleep(&nap, NULL);
	return 1;
}

/* The owner has a share that it will not fill, while others wait for their turn behind it. */
static void test_canceled_by_progress(void **state)
{
	unsigned threads, round;

	(void)state;
	for (threads = 2; threads <= 4; threads++) {
		bench b;

		bench_open(&b, 0, 0, threads, NULL);
		lines_add_random(&b.in, &b.rng, LINES_ANY, 40000);
		for (round = 0; round < 4; round++) {
			uint64_t records;
			em_errinfo err;

			add_all(&b);
			b.job.watch.fn = cancel_slowly;
			b.job.watch.user = &b;
			b.job.watch.last = 0;
			assert_int_equal(send_all(&b, 1, &records, &err), EM_ERR_CANCELED);
			b.job.watch.fn = NULL;
			b.job.watch.canceled = 0;
			emi_outseq_free(&b.q);
			memset(&err, 0, sizeof(err));
			assert_int_equal(emi_outseq_init(&b.q, &b.job, 3, b.job.plan.block_bytes, &err), EM_OK);
		}
		bench_close(&b);
	}
}

static void test_out_of_memory(void **state)
{
	const emi_needs needs = { EMI_UNKNOWN, 0, 0, 2, 0, EMI_UNKNOWN };
	em_ctx_opts co = sort_ctx_opts();
	em_status st = EM_ERR_NOMEM;
	em_errinfo err;
	test_memory mem;
	em_order *order;
	emi_pool pool;
	emi_job job;
	em_ctx *ctx;
	uint64_t n;

	(void)state;
	test_memory_init(&mem, 0);
	co.allocator = &mem.allocator;
	ctx = sort_ctx(&co);
	order = lines_order(ctx, 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_job_open(&job, ctx, order, NULL, &err), EM_OK);
	assert_int_equal(emi_job_plan(&job, &needs, &err), EM_OK);
	for (n = 1; st != EM_OK; n++) {
		assert_true(n < 20);
		memset(&err, 0, sizeof(err));
		mem.fail_at = mem.calls + n;
		st = emi_pool_init(&pool, &job, 100000, &err);
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
	}
	assert_true(n > 3);
	emi_pool_free(&pool);
	emi_job_close(&job);
	em_order_close(order);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_long_records),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_canceled_by_progress),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
