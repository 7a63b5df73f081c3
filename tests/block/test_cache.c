/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache.c -- a cache of blocks against a plain array, with every policy; its memory, its failures, and what it does when there is no frame left.
 *
 * The content of a block follows from its number and its version.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <extmem/sys/fault.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/cache.h"
#include "block/policy.h"
#include "common/test.h"

#define BLOCK 4096u
#define WORDS (BLOCK / sizeof(uint64_t))
#define MOST_BLOCKS 200u

static const em_policy *const policies[] = {&emi_policy_lru, &emi_policy_clock, &emi_policy_random, &emi_policy_s3fifo, NULL};
enum { POLICIES = sizeof policies / sizeof *policies };

/* Blocks on a scratch disk and a cache of them. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_fault fault;
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats io;
	emi_cache_opts opts;
	emi_cache *c;
	em_errinfo err;
	unsigned logged;
	uint32_t n;
	em_bid bid[MOST_BLOCKS];
	uint64_t version[MOST_BLOCKS];
} bench;

static void count_lines(void *user, int32_t level, const char *line)
{
	bench *b = user;

	(void)line;
	b->logged += level == EM_LOG_WARN;
}

static uint64_t word(uint32_t i, uint64_t version, size_t w)
{
	return ((uint64_t)i << 48) + (version << 16) + w;
}

static void fill(const bench *b, uint32_t i, char *buf)
{
	uint64_t *words = (uint64_t *)(void *)buf;
	size_t w;

	for (w = 0; w < WORDS; w++)
		words[w] = word(i, b->version[i], w);
}

static void check(const bench *b, uint32_t i, const char *buf)
{
	const uint64_t *words = (const uint64_t *)(const void *)buf;
	size_t w;

	for (w = 0; w < WORDS; w++)
		if (words[w] != word(i, b->version[i], w))
			fail_msg("block %u: word %u is %llx in place of %llx", i, (unsigned)w, (unsigned long long)words[w],
				 (unsigned long long)word(i, b->version[i], w));
}

static void transfer(bench *b, uint32_t i, int write)
{
	char *buf = emi_buffer_alloc(b->ctx, BLOCK, NULL);
	emi_request rq;

	assert_non_null(buf);
	if (write) {
		fill(b, i, buf);
		emi_block_write(b->disk, &rq, buf, BLOCK, b->bid[i], NULL);
	} else {
		emi_block_read(b->disk, &rq, buf, BLOCK, b->bid[i], NULL);
	}
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	if (!write)
		check(b, i, buf);
	emi_buffer_free(b->ctx, buf, BLOCK);
}

/* n blocks of version 0 on the disk, and a context; no cache yet. */
static void bench_open_on(bench *b, const em_backend *backend, uint32_t n)
{
	static uint64_t opened;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint32_t i;

	memset(b, 0, sizeof(*b));
	b->rng = test_rng_make(test_seed() + opened++);
	test_memory_init(&b->mem, 0);
	em_fault_init(&b->fault, backend);
	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.custom = em_fault_backend(&b->fault);
	opts.allocator = &b->mem.allocator;
	opts.log = count_lines;
	opts.log_user = b;
	assert_int_equal(em_ctx_open(&b->ctx, &opts), EM_OK);
	assert_int_equal(emi_scratch_acquire(b->ctx, &b->disk, &b->err), EM_OK);
	b->n = n;
	for (i = 0; i < n; i++) {
		assert_int_equal(emi_block_alloc(b->disk, BLOCK, &b->bid[i], &b->err), EM_OK);
		transfer(b, i, 1);
	}
	b->opts.disk = b->disk;
	b->opts.block_bytes = BLOCK;
	b->opts.io = &b->io;
}

static void bench_open(bench *b, const char *backend, uint32_t n)
{
	bench_open_on(b, em_backend_find(backend), n);
}

static void open_cache(bench *b, uint32_t frames, const em_policy *policy)
{
	b->opts.frames = frames;
	b->opts.policy = policy;
	b->opts.seed = test_random(&b->rng);
	if (emi_cache_open(&b->c, b->ctx, &b->opts, &b->err) != EM_OK)
		fail_msg("%s", b->err.text);
}

static void bench_close(bench *b)
{
	emi_cache_close(b->c);
	emi_scratch_release(b->ctx, b->disk);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

/* Get block i, which is to succeed, and look at it. */
static emi_cache_frame *get(bench *b, uint32_t i, uint32_t mode)
{
	emi_cache_frame *f = NULL;

	memset(&b->err, 0, sizeof(b->err));
	if (emi_cache_get(b->c, b->bid[i], mode, &f, &b->err) != EM_OK)
		fail_msg("%s", b->err.text);
	assert_non_null(f);
	assert_int_equal(f->bid.offset, b->bid[i].offset);
	if (mode != EM_CACHE_FRESH)
		check(b, i, f->buf);
	return f;
}

static em_status try_get(bench *b, uint32_t i, uint32_t mode, emi_cache_frame **f)
{
	em_status st;

	memset(&b->err, 0, sizeof(b->err));
	st = emi_cache_get(b->c, b->bid[i], mode, f, &b->err);
	assert_int_equal(st == EM_OK, *f != NULL);
	assert_int_equal(b->err.status, st);
	return st;
}

static void use(bench *b, uint32_t i)
{
	emi_cache_unpin(b->c, get(b, i, EM_CACHE_READ), 0);
}

static void change(bench *b, uint32_t i, uint32_t mode)
{
	emi_cache_frame *f = get(b, i, mode);

	b->version[i]++;
	fill(b, i, f->buf);
	emi_cache_unpin(b->c, f, 1);
}

static em_status flush(bench *b)
{
	memset(&b->err, 0, sizeof(b->err));
	return emi_cache_flush(b->c, &b->err);
}

static void check_disk(bench *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		transfer(b, i, 0);
}

/* What a random caller holds. */
typedef struct pinned {
	emi_cache_frame *f;
	uint32_t i;
	int dirty;
} pinned;

/* Any calls in any order, as a caller may who holds a few blocks; contents are always what they should be. */
static void random_calls(bench *b, uint32_t frames, uint32_t calls)
{
	const uint32_t most = frames > 2 ? frames - 2 : 1;
	uint64_t gets = 0;
	pinned held[MOST_BLOCKS];
	char *stolen[MOST_BLOCKS];
	em_cache_stats stats;
	uint32_t n = 0, nstolen = 0, k, h;

	for (k = 0; k < calls; k++) {
		/* Some are wanted more often. */
		const uint32_t i = (uint32_t)test_below(&b->rng, 1 + test_below(&b->rng, b->n));
		const uint32_t what = (uint32_t)test_below(&b->rng, 100);

		memset(&b->err, 0, sizeof(b->err));
		if (what < 60 && n + nstolen < most) {
			const uint32_t mode = (uint32_t)test_below(&b->rng, 3);

			held[n].i = i;
			held[n].dirty = mode != EM_CACHE_READ && (mode == EM_CACHE_FRESH || test_below(&b->rng, 2));
			/* Who reads holds what it was. */
			for (h = 0; h < n; h++)
				if (held[h].i == i)
					break;
			if (h < n && mode == EM_CACHE_FRESH)
				continue;
			held[n].f = get(b, i, mode);
			gets++;
			if (held[n].dirty) {
				b->version[i]++;
				fill(b, i, held[n].f->buf);
			}
			n++;
		} else if (what < 80 && n > 0) {
			h = (uint32_t)test_below(&b->rng, n);
			check(b, held[h].i, held[h].f->buf);
			emi_cache_unpin(b->c, held[h].f, held[h].dirty);
			held[h] = held[--n];
		} else if (what < 90) {
			emi_cache_hint(b->c, b->bid[i]);
		} else if (what < 91) {
			/* What is pinned is written as it is. */
			assert_int_equal(flush(b), EM_OK);
		} else if (what < 94) {
			for (h = 0; h < n; h++)
				if (held[h].i == i)
					break;
			assert_int_equal(emi_cache_invalidate(b->c, b->bid[i], &b->err), h < n ? EM_ERR_STATE : EM_OK);
			if (h == n) {
				emi_block_free(b->disk, b->bid[i], BLOCK);
				assert_int_equal(emi_block_alloc(b->disk, BLOCK, &b->bid[i], &b->err), EM_OK);
				b->version[i]++;
				transfer(b, i, 1);
			}
		} else if (what < 96 && n + nstolen < most) {
			assert_int_equal(emi_cache_steal(b->c, &stolen[nstolen], &b->err), EM_OK);
			memset(stolen[nstolen++], 0xee, BLOCK);
			assert_int_equal(emi_cache_frames(b->c), frames - nstolen);
		} else if (what < 98 && nstolen > 0) {
			emi_cache_give(b->c, stolen[--nstolen]);
		}
	}
	while (n > 0) {
		n--;
		check(b, held[n].i, held[n].f->buf);
		emi_cache_unpin(b->c, held[n].f, held[n].dirty);
	}
	while (nstolen > 0)
		emi_cache_give(b->c, stolen[--nstolen]);
	assert_int_equal(flush(b), EM_OK);
	assert_int_equal(emi_cache_dirty(b->c), 0);
	check_disk(b);
	emi_cache_stats_get(b->c, &stats);
	assert_int_equal(stats.hits + stats.misses, gets);
	assert_true(stats.reads <= stats.misses + stats.hints);
	assert_true(stats.writes <= b->io.ios_written);
}

static void test_random_calls(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 8, 20, 60};
	static const char *const backends[] = {"memory", "syscall"};
	size_t p, s, k;

	(void)state;
	for (k = 0; k < 2; k++)
		for (p = 0; p < POLICIES; p++)
			for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
				bench b;

				bench_open(&b, backends[k], 1 + (uint32_t)(p * 13 + s * 7) + sizes[s]);
				b.opts.batch = (uint32_t)test_below(&b.rng, 5);
				open_cache(&b, sizes[s], policies[p]);
				random_calls(&b, sizes[s], k == 0 ? 3000 : 800);
				bench_close(&b);
			}
}

/* A backend whose writes take that long; atomic. */
static long write_ns;

static int64_t slow_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const struct timespec t = {0, __atomic_load_n(&write_ns, __ATOMIC_RELAXED)};

	if (t.tv_nsec != 0)
		nanosleep(&t, NULL);
	return em_backend_find("memory")->write(handle, buf, bytes, offset);
}

static void slow_open(bench *b, em_backend *slow, uint32_t n, long ns)
{
	*slow = *em_backend_find("memory");
	slow->write = slow_write;
	__atomic_store_n(&write_ns, 0, __ATOMIC_RELAXED);
	bench_open_on(b, slow, n);
	__atomic_store_n(&write_ns, ns, __ATOMIC_RELAXED);
}

/* The same with writes that are under way for long. */
static void test_slow_writes(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		em_backend slow;
		bench b;

		slow_open(&b, &slow, 30, 100000);
		open_cache(&b, 12, policies[p]);
		random_calls(&b, 12, 2000);
		bench_close(&b);
	}
}

/* A block on its way to the disk can be read without waiting or reading; who wants to change it waits. */
static void test_under_way(void **state)
{
	em_cache_stats s;
	em_backend slow;
	uint32_t i;
	bench b;

	(void)state;
	slow_open(&b, &slow, 6, 30000000);
	b.opts.batch = 1;
	open_cache(&b, 4, &emi_policy_lru);
	for (i = 0; i < 3; i++)
		change(&b, i, EM_CACHE_WRITE);
	use(&b, 3);
	/* The first one is sent, and the clean one gives its frame. */
	use(&b, 4);
	use(&b, 0);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.write_backs, 1);
	assert_int_equal(s.reads, 5);
	assert_int_equal(s.waits, 0);
	change(&b, 0, EM_CACHE_WRITE);
	change(&b, 0, EM_CACHE_FRESH);
	assert_int_equal(emi_cache_dirty(b.c), 3);
	use(&b, 5);
	use(&b, 0);
	assert_int_equal(flush(&b), EM_OK);
	check_disk(&b);
	bench_close(&b);
}

/* What turns out to be changed while it is under way is written again. */
static void test_changed_under_way(void **state)
{
	em_cache_stats s;
	em_backend slow;
	uint32_t i;
	bench b;

	(void)state;
	slow_open(&b, &slow, 6, 30000000);
	b.opts.batch = 1;
	open_cache(&b, 4, &emi_policy_lru);
	for (i = 0; i < 3; i++)
		change(&b, i, EM_CACHE_WRITE);
	use(&b, 3);
	use(&b, 4);
	emi_cache_unpin(b.c, get(&b, 0, EM_CACHE_READ), 1);
	assert_int_equal(flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.writes, 4);
	check_disk(&b);
	bench_close(&b);
}

/* What is pinned is not written ahead. */
static void test_pinned_stays(void **state)
{
	em_cache_stats s;
	emi_cache_frame *f;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "memory", 20);
	open_cache(&b, 4, &emi_policy_lru);
	change(&b, 0, EM_CACHE_WRITE);
	f = get(&b, 0, EM_CACHE_WRITE);
	for (i = 1; i < 20; i++)
		use(&b, i);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.write_backs, 0);
	emi_cache_unpin(b.c, f, 0);
	bench_close(&b);
}

/* A block that was hinted and got once was used once: a scan with hints passes as one without. */
static void test_hinted_scan(void **state)
{
	em_cache_stats s;
	uint32_t i, k;
	bench b;

	(void)state;
	bench_open(&b, "memory", MOST_BLOCKS);
	open_cache(&b, 20, &emi_policy_s3fifo);
	for (k = 0; k < 3; k++)
		for (i = 0; i < 10; i++)
			use(&b, i);
	for (i = 10; i < MOST_BLOCKS; i++) {
		emi_cache_hint(b.c, b.bid[i]);
		use(&b, i);
	}
	for (i = 0; i < 10; i++)
		use(&b, i);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.misses, 10);
	assert_int_equal(s.reads, MOST_BLOCKS);
	bench_close(&b);
}

/* What each call counts. */
static void test_counts(void **state)
{
	em_cache_stats s;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "memory", 8);
	open_cache(&b, 4, &emi_policy_lru);
	for (i = 0; i < 4; i++)
		use(&b, i);
	for (i = 0; i < 4; i++)
		use(&b, i);
	change(&b, 0, EM_CACHE_WRITE);
	assert_int_equal(emi_cache_dirty(b.c), 1);
	/* Of four frames one is changed; the others go first, or it is written. */
	change(&b, 4, EM_CACHE_FRESH);
	assert_int_equal(flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.hits, 5);
	assert_int_equal(s.misses, 5);
	assert_int_equal(s.reads, 4);
	assert_int_equal(s.writes, 2);
	assert_int_equal(b.io.ios_read, 4);
	assert_int_equal(b.io.ios_written, 2);
	/* Nothing changed, nothing is written. */
	assert_int_equal(flush(&b), EM_OK);
	assert_int_equal(b.io.ios_written, 2);
	/* A hint is one read, and a hit then. */
	emi_cache_hint(b.c, b.bid[7]);
	emi_cache_hint(b.c, b.bid[7]);
	use(&b, 7);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.hits, 6);
	assert_int_equal(s.reads, 5);
	assert_int_equal(s.hints, 1);
	check_disk(&b);
	bench_close(&b);
}

/* The first victim that is changed takes as many along as a batch has; in the end each was written once. */
static void test_batches(void **state)
{
	em_cache_stats s;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "memory", MOST_BLOCKS);
	open_cache(&b, 64, &emi_policy_lru);
	for (i = 0; i < b.n; i++) {
		change(&b, i, EM_CACHE_FRESH);
		emi_cache_stats_get(b.c, &s);
		if (i <= 64)
			assert_int_equal(s.write_backs, i < 64 ? 0 : 16);
	}
	assert_int_equal(s.reads, 0);
	assert_true(s.write_backs >= b.n - 64 && s.write_backs <= b.n - 64 + 2 * 16);
	assert_int_equal(flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.writes, b.n);
	check_disk(&b);
	bench_close(&b);
}

/* A clean block that is used all the time stays among changed ones that are not. */
static void test_clean_root(void **state)
{
	em_cache_stats s;
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "memory", MOST_BLOCKS);
	b.opts.batch = 2;
	open_cache(&b, 40, &emi_policy_lru);
	for (i = 1; i < b.n; i++) {
		use(&b, 0);
		change(&b, i, EM_CACHE_FRESH);
	}
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.reads, 1);
	bench_close(&b);
}

/* With all frames pinned there is an error, not a wait for ever; and all is well when one is not. */
static void test_all_pinned(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		emi_cache_frame *f[6], *none;
		char *buf;
		uint32_t i;
		bench b;

		bench_open(&b, "memory", 10);
		open_cache(&b, 6, policies[p]);
		for (i = 0; i < 6; i++)
			f[i] = get(&b, i, i % 2 ? EM_CACHE_READ : EM_CACHE_WRITE);
		assert_int_equal(try_get(&b, 6, EM_CACHE_READ, &none), EM_ERR_STATE);
		assert_string_equal(b.err.text, "all 6 frames of the cache are pinned");
		assert_int_equal(try_get(&b, 6, EM_CACHE_FRESH, &none), EM_ERR_STATE);
		assert_int_equal(emi_cache_steal(b.c, &buf, NULL), EM_ERR_STATE);
		assert_null(buf);
		emi_cache_hint(b.c, b.bid[7]);
		assert_int_equal(emi_cache_invalidate(b.c, b.bid[0], NULL), EM_ERR_STATE);
		/* What is there can be had. */
		emi_cache_unpin(b.c, get(&b, 3, EM_CACHE_READ), 0);
		emi_cache_unpin(b.c, f[2], 1);
		use(&b, 6);
		for (i = 0; i < 6; i++)
			if (i != 2)
				emi_cache_unpin(b.c, f[i], 0);
		for (i = 0; i < 10; i++)
			use(&b, i);
		bench_close(&b);
	}
}

/* Frames that were taken away and came back. */
static void test_steal(void **state)
{
	uint32_t i, n;
	char *buf[8];
	emi_cache_frame *none;
	bench b;

	(void)state;
	bench_open(&b, "memory", 20);
	open_cache(&b, 8, NULL);
	for (i = 0; i < 20; i++)
		change(&b, i, EM_CACHE_WRITE);
	for (n = 0; n < 8; n++) {
		assert_int_equal(emi_cache_steal(b.c, &buf[n], &b.err), EM_OK);
		memset(buf[n], 0xee, BLOCK);
	}
	assert_int_equal(emi_cache_frames(b.c), 0);
	assert_int_equal(emi_cache_dirty(b.c), 0);
	assert_int_equal(try_get(&b, 0, EM_CACHE_READ, &none), EM_ERR_STATE);
	check_disk(&b);
	while (n > 0) {
		emi_cache_give(b.c, buf[--n]);
		for (i = 0; i < 20; i++)
			change(&b, i, EM_CACHE_WRITE);
	}
	/* Closed with one that is elsewhere. */
	assert_int_equal(emi_cache_steal(b.c, &buf[0], &b.err), EM_OK);
	bench_close(&b);
}

/* Every read fails once: whoever wants the block is told, and has it the next time. */
static void test_failing_reads(void **state)
{
	uint64_t nth, failed = 0;

	(void)state;
	for (nth = 1; nth <= 40; nth++) {
		uint32_t k, wrong = 0;
		bench b;

		bench_open(&b, "memory", 20);
		open_cache(&b, 6, policies[nth % POLICIES]);
		b.fault.ops = EM_FAULT_READ;
		b.fault.count = 0;
		b.fault.nth = nth;
		for (k = 0; k < 60; k++) {
			const uint32_t i = (uint32_t)test_below(&b.rng, b.n);
			emi_cache_frame *f;

			if (k % 3 == 0) {
				emi_cache_hint(b.c, b.bid[i]);
			} else if (k % 3 == 1) {
				change(&b, i, EM_CACHE_FRESH);
			} else if (try_get(&b, i, EM_CACHE_WRITE, &f) == EM_OK) {
				check(&b, i, f->buf);
				emi_cache_unpin(b.c, f, 0);
			} else {
				wrong++;
				assert_int_equal(b.err.status, EM_ERR_IO);
				assert_int_equal(b.err.sys_errno, EIO);
				assert_string_equal(b.err.op, "read");
				use(&b, i);
			}
		}
		/* A hint that failed may have been for nothing. */
		assert_true(wrong <= b.fault.injected);
		failed += wrong;
		assert_int_equal(flush(&b), EM_OK);
		/* No hint is under way any more. */
		emi_cache_close(b.c);
		b.c = NULL;
		b.fault.ops = 0;
		check_disk(&b);
		bench_close(&b);
	}
	assert_true(failed > 10);
}

/* Every write fails once: the block stays, nobody is bothered while there are other frames, and flush writes it. */
static void test_failing_writes(void **state)
{
	uint64_t nth;
	unsigned logged = 0;

	(void)state;
	for (nth = 1; nth <= 60; nth++) {
		uint32_t k;
		em_status st;
		bench b;

		bench_open(&b, "memory", 30);
		open_cache(&b, 8, policies[nth % POLICIES]);
		b.fault.ops = EM_FAULT_WRITE;
		b.fault.count = 0;
		b.fault.nth = nth;
		for (k = 0; k < 60; k++)
			change(&b, (uint32_t)test_below(&b.rng, b.n), k % 2 ? EM_CACHE_WRITE : EM_CACHE_FRESH);
		st = flush(&b);
		/* It was a write of flush's own. */
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_IO);
			assert_string_equal(b.err.op, "write");
			assert_int_equal(b.err.sys_errno, EIO);
			assert_int_equal(emi_cache_dirty(b.c), 1);
			assert_int_equal(flush(&b), EM_OK);
		}
		assert_int_equal(b.logged, b.fault.injected);
		logged += b.logged;
		assert_int_equal(emi_cache_dirty(b.c), 0);
		b.fault.ops = 0;
		check_disk(&b);
		bench_close(&b);
	}
	assert_true(logged > 20);
}

/* A disk that takes nothing: frames run out, which is told with the reason; nothing is lost meanwhile. */
static void test_broken_disk(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		uint32_t i, changed = 0;
		emi_cache_frame *f;
		bench b;

		bench_open(&b, "memory", 30);
		open_cache(&b, 8, policies[p]);
		b.fault.ops = EM_FAULT_WRITE;
		b.fault.count = 0;
		b.fault.nth = 1;
		b.fault.times = UINT64_MAX / 2;
		b.fault.sys_errno = ENOSPC;
		for (i = 0; i < 30; i++) {
			if (try_get(&b, i, EM_CACHE_FRESH, &f) != EM_OK) {
				assert_int_equal(b.err.status, EM_ERR_NOSPACE);
				assert_string_equal(b.err.op, "write");
				continue;
			}
			b.version[i]++;
			fill(&b, i, f->buf);
			emi_cache_unpin(b.c, f, 1);
			changed++;
		}
		assert_int_equal(changed, 8);
		assert_int_equal(emi_cache_dirty(b.c), 8);
		assert_int_equal(flush(&b), EM_ERR_NOSPACE);
		assert_int_equal(emi_cache_dirty(b.c), 8);
		/* One that is given up makes room, and so does one that is there. */
		assert_int_equal(emi_cache_invalidate(b.c, b.bid[0], &b.err), EM_OK);
		b.version[0]--;
		use(&b, 20);
		use(&b, 21);
		b.fault.ops = 0;
		assert_int_equal(flush(&b), EM_OK);
		check_disk(&b);
		bench_close(&b);
	}
}

/* What was not flushed is discarded, and that is told. */
static void test_closed_unsaved(void **state)
{
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "syscall", 30);
	open_cache(&b, 8, NULL);
	for (i = 0; i < 5; i++)
		change(&b, i, EM_CACHE_WRITE);
	emi_cache_hint(b.c, b.bid[9]);
	emi_cache_close(b.c);
	b.c = NULL;
	assert_int_equal(b.logged, 1);
	memset(b.version, 0, sizeof(b.version));
	check_disk(&b);
	open_cache(&b, 8, NULL);
	use(&b, 1);
	emi_cache_close(b.c);
	b.c = NULL;
	assert_int_equal(b.logged, 1);
	bench_close(&b);
}

/* A block beyond what was written of the file is zeros. */
static void test_never_written(void **state)
{
	static const char zeros[BLOCK];
	em_backend bare = *em_backend_find("memory");
	emi_cache_frame *f;
	bench b;

	(void)state;
	/* Nothing is set aside, so the file ends behind what was written. */
	bare.reserve = NULL;
	bench_open_on(&b, &bare, 2);
	open_cache(&b, 2, NULL);
	/* So that a frame is not zeros before. */
	use(&b, 0);
	use(&b, 1);
	assert_int_equal(emi_block_alloc(b.disk, BLOCK, &b.bid[2], &b.err), EM_OK);
	assert_int_equal(try_get(&b, 2, EM_CACHE_READ, &f), EM_OK);
	assert_memory_equal(f->buf, zeros, BLOCK);
	bench_close(&b);
}

static void test_trace(void **state)
{
	em_access access[3];
	em_trace trace = {access, 3, 0};
	uint32_t i;
	bench b;

	(void)state;
	bench_open(&b, "memory", 8);
	b.opts.trace = em_trace_record;
	b.opts.trace_user = &trace;
	open_cache(&b, 4, NULL);
	use(&b, 3);
	change(&b, 5, EM_CACHE_WRITE);
	change(&b, 3, EM_CACHE_FRESH);
	use(&b, 1);
	assert_int_equal(trace.n, 4);
	for (i = 0; i < 3; i++) {
		assert_int_equal(access[i].offset, b.bid[i == 1 ? 5 : 3].offset);
		assert_int_equal(access[i].disk, b.bid[0].disk);
		assert_int_equal(access[i].write, i > 0);
	}
	bench_close(&b);
}

/* All memory is taken by opening: as much as was said; and each allocation may fail. */
static void test_memory_of_a_cache(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		em_status st = EM_ERR_NOMEM;
		uint64_t n, before, calls;
		uint32_t i;
		bench b;

		bench_open(&b, "memory", 50);
		before = em_ctx_memory_used(b.ctx);
		b.opts.frames = 10;
		b.opts.policy = policies[p];
		for (n = 1; st != EM_OK; n++) {
			memset(&b.err, 0, sizeof(b.err));
			b.mem.fail_at = b.mem.calls + n;
			st = emi_cache_open(&b.c, b.ctx, &b.opts, &b.err);
			b.mem.fail_at = 0;
			if (st == EM_OK)
				break;
			assert_int_equal(st, EM_ERR_NOMEM);
			assert_null(b.c);
			assert_int_equal(em_ctx_memory_used(b.ctx), before);
		}
		/* The cache, frames, links, the table, the policy's state and blocks. */
		assert_int_equal(n, 6 + 1);
		assert_int_equal(em_ctx_memory_used(b.ctx), before + emi_cache_memory(&b.opts));
		calls = b.mem.calls;
		for (i = 0; i < 50; i++) {
			emi_cache_hint(b.c, b.bid[49 - i]);
			change(&b, i, EM_CACHE_WRITE);
		}
		assert_int_equal(flush(&b), EM_OK);
		assert_int_equal(b.mem.calls, calls);
		assert_int_equal(em_ctx_memory_used(b.ctx), before + emi_cache_memory(&b.opts));
		bench_close(&b);
	}
}

static void test_too_much(void **state)
{
	static const struct {
		uint32_t frames;
		size_t bytes;
		em_status status;
	} bad[] = {{0, BLOCK, EM_ERR_RANGE}, {UINT32_MAX, BLOCK, EM_ERR_RANGE}, {4, 0, EM_ERR_RANGE}, {4, 1000, EM_ERR_RANGE},
		   {1u << 14, BLOCK, EM_ERR_MEMLIMIT}};
	size_t k;
	bench b;

	(void)state;
	bench_open(&b, "memory", 1);
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		const uint64_t before = em_ctx_memory_used(b.ctx);

		memset(&b.err, 0, sizeof(b.err));
		b.opts.frames = bad[k].frames;
		b.opts.block_bytes = bad[k].bytes;
		assert_int_equal(emi_cache_open(&b.c, b.ctx, &b.opts, &b.err), bad[k].status);
		assert_null(b.c);
		assert_int_equal(b.err.status, bad[k].status);
		assert_int_equal(em_ctx_memory_used(b.ctx), before);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_slow_writes),
		cmocka_unit_test(test_under_way),
		cmocka_unit_test(test_changed_under_way),
		cmocka_unit_test(test_pinned_stays),
		cmocka_unit_test(test_hinted_scan),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_clean_root),
		cmocka_unit_test(test_all_pinned),
		cmocka_unit_test(test_steal),
		cmocka_unit_test(test_failing_reads),
		cmocka_unit_test(test_failing_writes),
		cmocka_unit_test(test_broken_disk),
		cmocka_unit_test(test_closed_unsaved),
		cmocka_unit_test(test_never_written),
		cmocka_unit_test(test_trace),
		cmocka_unit_test(test_memory_of_a_cache),
		cmocka_unit_test(test_too_much),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
