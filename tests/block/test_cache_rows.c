/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache_rows.c -- blocks that are side by side are read ahead by few reads; and whatever becomes of a read of
 * many, each of its blocks is what it should be, or is told to be unreadable by itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "block/cache.h"
#include "block/store_case.h"

/* Rows of up to 8 blocks, 40 together. */
enum { BLOCK = CASE_BLOCK, BLOCKS = 60, FRAMES = 64, AHEAD = 32, LONGEST = 8, WORDS = BLOCK / 4 };

typedef struct bench {
	fixture f;
	emi_cache_opts opts;
	emi_store *store;       /* an array whose blocks were written in the order of their numbers */
	emi_cache *c;
	uint32_t version[BLOCKS];
} bench;

static em_bid bid_of(uint64_t i)
{
	const em_bid bid = { 0, 0, i * BLOCK };

	return bid;
}

static void fill(const bench *b, uint32_t i, char *buf)
{
	uint32_t *words = (uint32_t *)(void *)buf, w;

	for (w = 0; w < WORDS; w++)
		words[w] = i << 24 | b->version[i] << 12 | w;
}

static void check(const bench *b, uint32_t i, const char *buf)
{
	static uint32_t is[WORDS];

	fill(b, i, (char *)is);
	if (memcmp(is, buf, BLOCK) != 0)
		fail_msg("block %u is not what it should be", i);
}

/* Past the cache, which is told. */
static void write_block(bench *b, uint32_t i)
{
	const emi_span span = { bid_of(i), BLOCK };
	char *buf = emi_buffer_alloc(b->f.ctx, BLOCK, NULL);
	emi_request rq;

	assert_non_null(buf);
	b->version[i]++;
	fill(b, i, buf);
	assert_int_equal(emi_store_forget(b->store, NULL, &span, NULL), EM_OK);
	assert_int_equal(emi_store_write(b->store, &rq, buf, BLOCK, span.at, NULL, NULL), EM_OK);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	emi_buffer_free(b->f.ctx, buf, BLOCK);
}

static void bench_open_on(bench *b, const em_backend *backend, uint32_t disks, uint32_t flags)
{
	const em_backend *backends[FIXTURE_DISKS] = { backend, backend, backend };
	uint32_t i;

	memset(b, 0, sizeof *b);
	fixture_open_with(&b->f, backends, disks, flags);
	assert_int_equal(emi_store_open_array(&b->store, b->f.ctx, BLOCK, NULL, &b->f.err), EM_OK);
	assert_int_equal(emi_store_resize(b->store, (uint64_t)BLOCKS * BLOCK, &b->f.err), EM_OK);
	for (i = 0; i < BLOCKS; i++)
		write_block(b, i);
	b->opts.store = b->store;
	b->opts.frames = FRAMES;
	b->opts.block_bytes = BLOCK;
	b->opts.ahead = AHEAD;
	b->opts.io = &b->f.io;
}

static void bench_open(bench *b, uint32_t disks, uint32_t flags)
{
	bench_open_on(b, em_backend_find("memory"), disks, flags);
}

static void open_cache(bench *b)
{
	assert_int_equal(emi_cache_open(&b->c, b->f.ctx, &b->opts, &b->f.err), EM_OK);
}

static void bench_close(bench *b)
{
	emi_cache_close(b->c);
	emi_store_close(b->store);
	fixture_close(&b->f);
}

static em_status try_get(bench *b, uint32_t i)
{
	uint32_t frame;
	em_status st;

	memset(&b->f.err, 0, sizeof b->f.err);
	st = emi_cache_get(b->c, bid_of(i), EM_CACHE_READ, &frame, &b->f.err);
	assert_int_equal(b->f.err.status, st);
	if (st != EM_OK)
		return st;
	check(b, i, emi_cache_buf(b->c, frame));
	emi_cache_unpin(b->c, frame, 0);
	return EM_OK;
}

static void get(bench *b, uint32_t i)
{
	if (try_get(b, i) != EM_OK)
		fail_msg("block %u: %s", i, b->f.err.text);
}

static void change(bench *b, uint32_t i)
{
	uint32_t frame;

	assert_int_equal(emi_cache_get(b->c, bid_of(i), EM_CACHE_FRESH, &frame, &b->f.err), EM_OK);
	b->version[i]++;
	fill(b, i, emi_cache_buf(b->c, frame));
	emi_cache_unpin(b->c, frame, 1);
}

/* Those from `from' on, up or down. */
static void hint(bench *b, uint32_t from, uint32_t n, int down)
{
	em_bid bid[BLOCKS];
	uint32_t i;

	for (i = 0; i < n; i++)
		bid[i] = bid_of(down ? from + n - 1 - i : from + i);
	emi_cache_hint_many(b->c, bid, n);
}

static em_cache_stats stats_of(const bench *b)
{
	em_cache_stats s;

	emi_cache_stats_get(b->c, &s);
	return s;
}

/* What is there already ends a row, and nothing is read twice. */
static void test_few_reads(void **state)
{
	int down;

	(void)state;
	for (down = 0; down < 2; down++) {
		uint32_t i;
		bench b;

		bench_open(&b, 1, 0);
		open_cache(&b);
		get(&b, 20);
		assert_int_equal(b.f.io.ios_read, 1);
		hint(&b, 8, 24, down);
		hint(&b, 10, 5, down);
		for (i = 8; i < 32; i++)
			get(&b, i);
		/* 8 and 4 before it, 8 and 3 behind. */
		assert_int_equal(b.f.io.ios_read, 5);
		assert_int_equal(b.f.io.bytes_read, 24 * BLOCK);
		assert_int_equal(stats_of(&b).reads, 24);
		assert_int_equal(stats_of(&b).hints, 23);
		assert_int_equal(stats_of(&b).misses, 1);
		assert_int_equal(stats_of(&b).hits, 24);
		bench_close(&b);
	}
}

/* Each disk has one. */
static void test_several_disks(void **state)
{
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, 3, 0);
	open_cache(&b);
	for (i = 0; i < 3; i++)
		em_fault_set(&b.f.fault[i], EM_FAULT_READ, UINT64_MAX, 0);
	hint(&b, 6, 3 * LONGEST, 0);
	for (i = 6; i < 6 + 3 * LONGEST; i++)
		get(&b, i);
	for (i = 0; i < 3; i++)
		assert_int_equal(b.f.fault[i].count, 1);
	bench_close(&b);
}

/* More than there is memory for in rows. */
static void test_more_than_memory(void **state)
{
	uint32_t i, round;
	bench b;

	(void)state;
	bench_open(&b, 1, 0);
	b.opts.ahead = 8;
	open_cache(&b);
	for (round = 0; round < 5; round++) {
		assert_int_equal(emi_cache_forget_range(b.c, &(emi_span){ bid_of(0), BLOCKS * BLOCK }, NULL), EM_OK);
		memset(&b.f.io, 0, sizeof b.f.io);
		hint(&b, 7, 30, (int)round % 2);
		for (i = 7; i < 37; i++)
			get(&b, i);
		assert_in_range(b.f.io.ios_read, 15, 30);
		assert_int_equal(b.f.io.bytes_read, 30 * BLOCK);
	}
	bench_close(&b);
}

/* A row that cannot be read is no failure: its blocks are read by themselves, by who wants them. */
static void test_failing_row(void **state)
{
	uint32_t i, frame[4];
	em_bid bid[4];
	size_t got;
	bench b;

	(void)state;
	bench_open(&b, 1, 0);
	open_cache(&b);
	em_fault_set(&b.f.fault[0], EM_FAULT_READ, 1, 1);
	hint(&b, 8, LONGEST, 0);
	for (i = 8; i < 8 + LONGEST; i++)
		get(&b, i);
	assert_int_equal(b.f.fault[0].injected, 1);
	/* While none can be read each is told. */
	em_fault_set(&b.f.fault[0], EM_FAULT_READ, 1, UINT64_MAX);
	hint(&b, 20, LONGEST, 0);
	for (i = 20; i < 20 + LONGEST; i++) {
		assert_int_equal(try_get(&b, i), EM_ERR_IO);
		assert_int_equal(b.f.err.sys_errno, EIO);
		assert_string_equal(b.f.err.op, "read");
	}
	hint(&b, 20, LONGEST, 0);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	for (i = 20; i < 20 + LONGEST; i++)
		get(&b, i);
	/* Some of them are got together. */
	em_fault_set(&b.f.fault[0], EM_FAULT_READ, 1, 1);
	hint(&b, 40, LONGEST, 0);
	for (i = 0; i < 4; i++)
		bid[i] = bid_of(41 + 2 * i);
	assert_int_equal(emi_cache_get_many(b.c, bid, 4, EM_CACHE_READ, NULL, 0, frame, &got, &b.f.err), EM_OK);
	assert_int_equal(got, 4);
	for (i = 0; i < 4; i++) {
		check(&b, 41 + 2 * i, emi_cache_buf(b.c, frame[i]));
		emi_cache_unpin(b.c, frame[i], 0);
	}
	bench_close(&b);
}

/* Any calls while one transfer after the other fails. */
static void test_failures(void **state)
{
	uint64_t nth, failed = 0;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		uint32_t k, i, wrong = 0;
		bench b;

		bench_open(&b, 1 + (uint32_t)(nth % 2), 0);
		b.opts.frames = 24;
		b.opts.ahead = 16;
		open_cache(&b);
		em_fault_set(&b.f.fault[0], EM_FAULT_READ, nth, 1);
		for (k = 0; k < 120; k++) {
			i = (uint32_t)test_below(&b.f.rng, BLOCKS - LONGEST);
			switch (test_below(&b.f.rng, 8)) {
			case 0:
			case 1:
				hint(&b, i, 1 + (uint32_t)test_below(&b.f.rng, LONGEST), (int)k % 2);
				break;
			case 2:
				change(&b, i);
				break;
			case 3:
				assert_int_equal(emi_cache_flush(b.c, &b.f.err), EM_OK);
				write_block(&b, i);
				break;
			default:
				if (try_get(&b, i) == EM_OK)
					break;
				assert_int_equal(b.f.err.status, EM_ERR_IO);
				wrong++;
				get(&b, i);
			}
		}
		failed += wrong;
		assert_true(wrong <= b.f.fault[0].injected);
		more = nth < 60;
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		assert_int_equal(emi_cache_flush(b.c, &b.f.err), EM_OK);
		for (i = 0; i < BLOCKS; i++)
			get(&b, i);
		bench_close(&b);
	}
	assert_true(failed > 0 || !test_sweeps());
}

/* Reads that do not go on before they are let. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static int64_t gated_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return em_backend_find("memory")->read(handle, buf, bytes, offset);
}

/* Closed while rows are under way, and canceled before. */
static void test_under_way(void **state)
{
	em_backend gated = *em_backend_find("memory");
	int canceled = 1;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, 1, 0);
	open_cache(&b);
	emi_store_watch(b.store, &canceled);
	hint(&b, 0, 3 * LONGEST, 0);
	assert_int_equal(try_get(&b, 5), EM_ERR_CANCELED);
	canceled = 0;
	get(&b, 5);
	get(&b, 6);
	bench_close(&b);

	gated.read = gated_read;
	bench_open_on(&b, &gated, 1, 0);
	open_cache(&b);
	pthread_mutex_lock(&gate);
	hint(&b, 10, 3 * LONGEST, 0);
	pthread_mutex_unlock(&gate);
	/* One of a row is changed by somebody else, and one is made anew. */
	write_block(&b, 12);
	change(&b, 20);
	for (i = 10; i < 10 + 3 * LONGEST; i++)
		get(&b, i);
	assert_int_equal(emi_cache_flush(b.c, NULL), EM_OK);
	pthread_mutex_lock(&gate);
	hint(&b, 34, 2 * LONGEST, 1);
	pthread_mutex_unlock(&gate);
	bench_close(&b);
}

/* Where uses of blocks are checked they are transferred one by one. */
static void test_checked(void **state)
{
	uint32_t i, n = LONGEST;
	char *buf;
	emi_request rq;
	bench b;

	(void)state;
	bench_open(&b, 1, EM_CTX_CHECKED);
	open_cache(&b);
	hint(&b, 8, LONGEST, 0);
	for (i = 8; i < 8 + LONGEST; i++)
		get(&b, i);
	assert_int_equal(b.f.io.ios_read, LONGEST);
	buf = emi_buffer_alloc_array(b.f.ctx, n, BLOCK, NULL);
	assert_non_null(buf);
	for (i = 0; i < n; i++)
		fill(&b, i, buf + i * BLOCK);
	assert_int_equal(emi_store_write_run(b.store, &rq, buf, BLOCK, bid_of(0), &n, NULL, &b.f.err), EM_OK);
	assert_int_equal(emi_wait(&rq, &b.f.err), EM_OK);
	assert_int_equal(n, 1);
	emi_buffer_free_array(b.f.ctx, buf, LONGEST, BLOCK);
	for (i = 0; i < LONGEST; i++)
		get(&b, i);
	bench_close(&b);
}

/* Each allocation may fail: then blocks are read one by one, and no more memory is taken than was said. */
static void test_no_memory(void **state)
{
	uint64_t nth;
	int failed = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
		uint64_t before, calls;
		uint32_t i, k;
		bench b;

		bench_open(&b, 1, 0);
		/* All frames have memory: what fails is what rows need. */
		open_cache(&b);
		assert_int_equal(emi_cache_provide(b.c, FRAMES, NULL), EM_OK);
		before = em_ctx_memory_used(b.f.ctx);
		calls = b.f.mem.calls;
		b.f.mem.fail_at = calls + nth;
		for (k = 0; k < BLOCKS; k += 20) {
			hint(&b, k, 20, 0);
			for (i = k; i < k + 20; i++)
				get(&b, i);
		}
		failed = nth <= b.f.mem.calls - calls;
		assert_int_equal(b.f.io.ios_read, failed ? BLOCKS : BLOCKS / 20 * 3);
		if (failed)
			assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
		else
			assert_in_range(em_ctx_memory_used(b.f.ctx) - before, (AHEAD + LONGEST) * BLOCK,
					emi_cache_memory(&b.opts) - FRAMES * BLOCK);
		b.f.mem.fail_at = 0;
		bench_close(&b);
	}
	assert_true(nth > 3 || !test_sweeps());
}

/* Blocks that begin with that byte are damaged; the others are marked. */
static char damaged;

static int arrived(void *block)
{
	char *first = block;

	if (*first == damaged)
		return 0;
	*first = (char)~*first;
	return 1;
}

/* Of a part of a file each block is shown, and one that is damaged is told by itself; the end of a file may be none. */
static void test_files(void **state)
{
	enum { AT = 2, PART = 20 };
	emi_cache_opts opts;
	emi_store *part;
	emi_cache *c;
	em_bid bid[PART + AT];
	uint32_t i, frame;
	store_case s;
	em_errinfo err = EM_ERRINFO_INIT;

	(void)state;
	store_case_open(&s, STORE_READ_ONLY, PART + AT);
	for (i = 0; i < PART + AT; i++)
		bid[i] = bid_of(i);
	memset(&opts, 0, sizeof opts);
	opts.frames = FRAMES;
	opts.block_bytes = BLOCK;
	opts.ahead = AHEAD;
	opts.io = &s.f.io;
	opts.store = s.store;
	assert_int_equal(emi_cache_open(&c, s.f.ctx, &opts, &err), EM_OK);
	emi_cache_hint_many(c, bid, PART + AT);
	for (i = 0; i < PART + AT; i++) {
		assert_int_equal(emi_cache_get(c, bid[i], EM_CACHE_READ, &frame, &err), EM_OK);
		store_case_check(&s, i, emi_cache_buf(c, frame));
		emi_cache_unpin(c, frame, 0);
	}
	/* 8, 8, 5, and the last one, of which there is a part only. */
	assert_int_equal(s.f.io.ios_read, 4);
	emi_cache_close(c);

	damaged = *store_case_block(&s, AT + 11);
	assert_int_equal(emi_store_open_part(&part, s.file, AT * BLOCK, (PART - 1) * BLOCK, arrived, BLOCK, &err),
			 EM_OK);
	opts.store = part;
	assert_int_equal(emi_cache_open(&c, s.f.ctx, &opts, &err), EM_OK);
	emi_cache_hint_many(c, bid, PART - 1);
	for (i = 0; i < PART - 1; i++) {
		const em_status st = emi_cache_get(c, bid[i], EM_CACHE_READ, &frame, &err);
		char *is = store_case_block(&s, AT + i);

		if (*is == damaged) {
			assert_int_equal(st, EM_ERR_CORRUPT);
			assert_int_equal(err.offset, (AT + i) * BLOCK);
			memset(&err, 0, sizeof err);
			continue;
		}
		assert_int_equal(st, EM_OK);
		assert_int_equal(*emi_cache_buf(c, frame), (char)~*is);
		assert_memory_equal(emi_cache_buf(c, frame) + 1, is + 1, BLOCK - 1);
		emi_cache_unpin(c, frame, 0);
	}
	emi_cache_close(c);
	emi_store_close(part);
	store_case_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_reads),
		cmocka_unit_test(test_several_disks),
		cmocka_unit_test(test_more_than_memory),
		cmocka_unit_test(test_failing_row),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_under_way),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("rows of a cache", tests, NULL, NULL);
}
