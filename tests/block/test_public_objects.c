/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_objects.c -- pools, caches, and readers and writers of blocks as callers outside have them, on several disks: whole rounds, what each function refuses,
 * what they say when a disk fails, and closing in any order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>

#include "block/fixture.h"

#define BLOCK 4096u
enum { D = FIXTURE_DISKS, BLOCKS = 90, CALLS = 4000 };

/* Disks, and what is on them. */
typedef struct round_trip {
	fixture f;
	em_disks *d;
	em_bid bid[BLOCKS];
	uint64_t version[BLOCKS];
} round_trip;

static void start_on(round_trip *r, uint32_t disks)
{
	const em_backend *memory = em_backend_find("memory"), *backends[D] = {memory, memory, memory};

	memset(r, 0, sizeof *r);
	fixture_open_on(&r->f, backends, disks);
	assert_int_equal(em_disks_open(&r->d, r->f.ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(r->d, r->bid, BLOCKS, BLOCK, NULL, 0), EM_OK);
}

static void start(round_trip *r)
{
	start_on(r, D);
}

static void stop(round_trip *r)
{
	em_disks_close(r->d);
	fixture_close(&r->f);
}

/* Context and disks are closed while an object is open. */
static void close_early(round_trip *r)
{
	emi_scratch_release(r->f.ctx, r->f.disk);
	r->f.disk = NULL;
	em_ctx_close(r->f.ctx);
	r->f.ctx = NULL;
	em_disks_close(r->d);
	r->d = NULL;
}

static void fill(const round_trip *r, uint32_t i, void *block)
{
	uint64_t *word = block, w;

	for (w = 0; w < BLOCK / sizeof *word; w++)
		word[w] = ((uint64_t)i << 40) + (r->version[i] << 10) + w;
}

static void check(const round_trip *r, uint32_t i, const void *block)
{
	uint64_t expected[BLOCK / sizeof(uint64_t)];

	fill(r, i, expected);
	assert_memory_equal(block, expected, BLOCK);
}

static uint32_t any(round_trip *r)
{
	return (uint32_t)test_below(&r->f.rng, BLOCKS);
}

static void fail_disk(round_trip *r, uint32_t disk, uint32_t ops)
{
	r->f.fault[disk].count = 0;
	r->f.fault[disk].nth = 1;
	r->f.fault[disk].times = UINT64_MAX / 2;
	__atomic_store_n(&r->f.fault[disk].ops, ops, __ATOMIC_RELEASE);
}

/* The error names the disk. */
static void assert_names(const round_trip *r, const em_errinfo *err, uint32_t disk, const char *op)
{
	assert_int_equal(err->status, EM_ERR_IO);
	assert_int_equal(err->sys_errno, EIO);
	assert_string_equal(err->op, op);
	assert_non_null(strstr(err->path, r->f.dir[disk]));
}

/* Pools. */

static em_block_pool *open_pool(round_trip *r, uint32_t nwrite, uint32_t nprefetch)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;

	opts.block_bytes = BLOCK;
	opts.write_buffers = nwrite;
	opts.prefetch_buffers = nprefetch;
	opts.errinfo = &r->f.err;
	if (em_block_pool_open(&p, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	return p;
}

static void put(round_trip *r, em_block_pool *p, uint32_t i)
{
	void *buf;

	assert_int_equal(em_block_pool_steal(p, &buf), EM_OK);
	r->version[i]++;
	fill(r, i, buf);
	assert_int_equal(em_block_pool_write(p, buf, r->bid[i]), EM_OK);
}

static void test_pool(void **state)
{
	em_block_pool_stats s = EM_BLOCK_POOL_STATS_INIT;
	em_block_pool *p;
	uint64_t before, writes = 0, reads = 0;
	void *own, *buf;
	round_trip r;
	uint32_t i, k;

	(void)state;
	start(&r);
	assert_int_equal(em_block_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
	before = em_ctx_memory_used(r.f.ctx);
	p = open_pool(&r, 2 * D, 3 * D);
	assert_int_equal(em_ctx_memory_used(r.f.ctx), before + em_block_pool_memory(BLOCK, 2 * D, 3 * D));
	for (i = 0; i < BLOCKS; i++, writes++)
		put(&r, p, i);
	for (k = 0; k < CALLS; k++) {
		i = any(&r);
		switch (test_below(&r.f.rng, 8)) {
		case 0:
			put(&r, p, i);
			writes++;
			break;
		case 1: case 2: case 3:
			em_block_pool_hint(p, r.bid[i]);
			break;
		case 4:
			assert_int_equal(em_block_pool_steal(p, &buf), EM_OK);
			assert_int_equal(em_block_pool_return(p, buf), EM_OK);
			break;
		default:
			assert_int_equal(em_block_pool_read(p, &own, r.bid[i]), EM_OK);
			check(&r, i, own);
			reads++;
		}
	}
	/* One that was freed is another's. */
	assert_int_equal(em_block_pool_free(p, r.bid[0]), EM_OK);
	assert_int_equal(em_bids_alloc(r.d, &r.bid[0], 1, BLOCK, NULL, 0), EM_OK);
	put(&r, p, 0);
	assert_int_equal(em_block_pool_flush(p), EM_OK);
	assert_int_equal(em_block_pool_invalidate(p, r.bid[1]), EM_OK);
	assert_int_equal(em_block_pool_stats_get(p, &s), EM_OK);
	assert_int_equal(s.write_buffers, 2 * D);
	assert_int_equal(s.prefetch_buffers, 3 * D);
	assert_int_equal(s.lent, 0);
	assert_int_equal(s.reads, reads);
	assert_int_equal(s.writes, writes + 1);
	assert_true(s.hits + s.recalled <= reads && s.hits > 0);
	/* Buffers change their owners. */
	assert_int_equal(em_block_pool_take(p, &buf), EM_OK);
	assert_int_equal(em_block_pool_add(p, own), EM_OK);
	assert_int_equal(em_block_pool_resize(p, 1, 1), EM_OK);
	for (i = 0; i < BLOCKS; i++) {
		assert_int_equal(em_block_pool_read(p, &buf, r.bid[i]), EM_OK);
		check(&r, i, buf);
	}
	em_block_pool_close(p);
	em_block_free(r.f.ctx, buf, 1, BLOCK);
	assert_int_equal(em_ctx_memory_used(r.f.ctx), before - BLOCK);
	stop(&r);
}

static void test_pool_refused(void **state)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool_stats s = EM_BLOCK_POOL_STATS_INIT;
	const em_bid none = em_bid_none();
	em_block_pool *p, *no = (em_block_pool *)&opts;
	void *buf, *other = NULL;
	em_errinfo err;
	round_trip r;

	(void)state;
	start(&r);
	memset(&err, 0, sizeof err);
	opts.errinfo = &err;
	assert_int_equal(em_block_pool_open(NULL, r.d, &opts), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_open(&no, r.d, NULL), EM_ERR_INVAL);
	assert_null(no);
	opts.block_bytes = BLOCK + 1;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "4097 bytes"));
	opts.block_bytes = BLOCK;
	assert_int_equal(em_block_pool_open(&no, NULL, &opts), EM_ERR_INVAL);
	opts.write_buffers = UINT32_MAX;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_INVAL);
	opts.write_buffers = 1 << 20;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	opts.write_buffers = 2;
	opts.size = 4;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_INVAL);
	assert_null(no);

	p = open_pool(&r, 1, 1);
	assert_int_equal(em_block_pool_return(p, &r), EM_ERR_STATE);
	assert_int_equal(em_block_pool_write(p, &r, r.bid[0]), EM_ERR_STATE);
	assert_int_equal(em_block_pool_error(p)->status, EM_ERR_STATE);
	assert_int_equal(em_block_pool_steal(p, &buf), EM_OK);
	assert_int_equal(em_block_pool_steal(p, &other), EM_ERR_STATE);
	assert_null(other);
	assert_int_equal(em_block_pool_take(p, &other), EM_ERR_STATE);
	assert_int_equal(em_block_pool_resize(p, 0, 1), EM_ERR_STATE);
	assert_int_equal(em_block_pool_resize(p, UINT32_MAX, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_resize(p, 1 << 20, 1), EM_ERR_MEMLIMIT);
	assert_int_equal(em_block_pool_write(p, buf, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_write(p, NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_hint(p, none), 0);
	assert_int_equal(em_block_pool_read(p, &buf, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_read(p, &other, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_read(p, NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_invalidate(p, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_free(p, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_add(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(p, &s), EM_OK);
	assert_int_equal(s.lent, 1);
	/* None at all. */
	assert_int_equal(em_block_pool_steal(NULL, &other), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_steal(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_add(NULL, buf), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_write(NULL, buf, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_return(NULL, buf), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_hint(NULL, r.bid[0]), 0);
	assert_int_equal(em_block_pool_read(NULL, &buf, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_resize(NULL, 1, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_invalidate(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_free(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_flush(NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(NULL, &s), EM_ERR_INVAL);
	assert_null(em_block_pool_error(NULL));
	em_block_pool_close(NULL);
	/* What is lent when it is closed is the caller's. */
	em_block_pool_close(p);
	em_block_free(r.f.ctx, buf, 1, BLOCK);
	stop(&r);
}

static void test_pool_closed_late(void **state)
{
	em_ctx *ctx;
	em_block_pool *p;
	void *lent, *own;
	round_trip r;
	uint32_t i;

	(void)state;
	start(&r);
	assert_int_equal(em_block_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
	p = open_pool(&r, 4, 4);
	ctx = r.f.ctx;
	close_early(&r);
	for (i = 0; i < BLOCKS; i++)
		put(&r, p, i);
	for (i = 0; i < BLOCKS; i++) {
		em_block_pool_hint(p, r.bid[(i + 3) % BLOCKS]);
		assert_int_equal(em_block_pool_read(p, &own, r.bid[i]), EM_OK);
		check(&r, i, own);
	}
	assert_int_equal(em_block_pool_steal(p, &lent), EM_OK);
	em_block_pool_close(p);
	em_block_free(ctx, own, 1, BLOCK);
	em_block_free(ctx, lent, 1, BLOCK);
	stop(&r);
}

/* A disk that cannot be written is named, by all calls from then on; one that cannot be read, by those for its blocks. */
static void test_pool_failing_disk(void **state)
{
	em_block_pool *p;
	void *own, *none;
	round_trip r;
	uint32_t k, i;

	(void)state;
	for (k = 0; k < D; k++) {
		start_on(&r, k == 0 ? 2 : D);
		assert_int_equal(em_block_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
		p = open_pool(&r, 2 * D, 3 * D);
		for (i = 0; i < BLOCKS; i++)
			put(&r, p, i);
		assert_int_equal(em_block_pool_flush(p), EM_OK);
		assert_int_equal(em_block_pool_resize(p, 2 * D, 0), EM_OK);
		assert_int_equal(em_block_pool_resize(p, 0, 1), EM_OK);
		fail_disk(&r, k, EM_FAULT_READ);
		for (i = 0; i < BLOCKS; i++) {
			const em_status st = em_block_pool_read(p, &own, r.bid[i]);

			if (st == EM_OK) {
				check(&r, i, own);
				continue;
			}
			assert_int_equal(r.bid[i].disk, k);
			assert_names(&r, em_block_pool_error(p), k, "read");
		}
		assert_true(r.f.fault[k].injected >= BLOCKS / D - 1);
		fail_disk(&r, k, EM_FAULT_WRITE);
		assert_int_equal(em_block_pool_resize(p, 1, 1), EM_OK);
		for (i = 0; r.bid[i].disk != k; i++)
			continue;
		put(&r, p, i);
		assert_int_equal(em_block_pool_flush(p), EM_ERR_IO);
		assert_names(&r, em_block_pool_error(p), k, "write");
		assert_int_equal(em_block_pool_steal(p, &none), EM_ERR_IO);
		assert_null(none);
		assert_names(&r, em_block_pool_error(p), k, "write");
		em_block_pool_close(p);
		em_block_free(r.f.ctx, own, 1, BLOCK);
		stop(&r);
	}
}

/* Caches. */

static em_cache *open_cache(round_trip *r, uint32_t frames, const em_policy *policy, em_trace *trace)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_cache *c;
	uint64_t before = em_ctx_memory_used(r->f.ctx);

	opts.block_bytes = BLOCK;
	opts.frames = frames;
	opts.policy = policy;
	opts.seed = 5;
	opts.errinfo = &r->f.err;
	if (trace != NULL) {
		opts.trace = em_trace_record;
		opts.trace_user = trace;
	}
	if (em_cache_open(&c, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	assert_int_equal(em_ctx_memory_used(r->f.ctx), before + em_cache_memory(&opts));
	return c;
}

static void change(round_trip *r, em_cache *c, uint32_t i, uint32_t mode)
{
	void *block;

	if (em_cache_get(c, r->bid[i], mode, &block) != EM_OK)
		fail_msg("%s", em_cache_error(c)->text);
	assert_int_equal((uintptr_t)block % EM_BLOCK_UNIT, 0);
	if (mode != EM_CACHE_FRESH)
		check(r, i, block);
	if (mode != EM_CACHE_READ) {
		r->version[i]++;
		fill(r, i, block);
	}
	assert_int_equal(em_cache_unpin(c, block, mode != EM_CACHE_READ), EM_OK);
}

static const em_policy *policy_at(uint32_t i)
{
	const em_policy *const all[] = {em_policy_lru(), em_policy_clock(), em_policy_random(), em_policy_s3fifo(), NULL};

	return all[i];
}

enum { POLICIES = 5 };

static void test_cache(void **state)
{
	em_cache_stats s = EM_CACHE_STATS_INIT;
	uint32_t k, i, p;
	round_trip r;
	em_cache *c;
	void *buf;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		uint64_t gets = BLOCKS;

		start(&r);
		c = open_cache(&r, 20, policy_at(p), NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		for (k = 0; k < CALLS; k++) {
			i = any(&r);
			if (k % 3 == 0) {
				em_cache_hint(c, r.bid[i]);
				continue;
			}
			change(&r, c, i, (uint32_t)test_below(&r.f.rng, 3));
			gets++;
		}
		assert_int_equal(em_cache_steal(c, &buf), EM_OK);
		memset(buf, 1, BLOCK);
		assert_int_equal(em_cache_stats_get(c, &s), EM_OK);
		assert_int_equal(s.frames, 19);
		assert_int_equal(em_cache_give(c, buf), EM_OK);
		assert_int_equal(em_cache_flush(c), EM_OK);
		assert_int_equal(em_cache_stats_get(c, &s), EM_OK);
		assert_int_equal(s.frames, 20);
		assert_int_equal(s.dirty, 0);
		assert_int_equal(s.hits + s.misses, gets);
		/* Forgotten, changed by others, and got again. */
		change(&r, c, 3, EM_CACHE_WRITE);
		assert_int_equal(em_cache_invalidate(c, r.bid[3]), EM_OK);
		r.version[3]--;
		change(&r, c, 3, EM_CACHE_READ);
		em_cache_close(c);
		c = open_cache(&r, 20, policy_at(p), NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_READ);
		em_cache_close(c);
		assert_int_equal(r.f.warned, 0);
		stop(&r);
	}
}

/* What a cache told is what its policy does with it, and nothing is better than the optimum. */
static void test_cache_trace(void **state)
{
	static em_access access[CALLS];
	em_cache_stats s = EM_CACHE_STATS_INIT;
	uint64_t misses, best;
	uint32_t i, k, p;
	round_trip r;
	em_cache *c;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		em_trace trace = {access, CALLS, 0};

		start(&r);
		c = open_cache(&r, BLOCKS, NULL, NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_OK);
		em_cache_close(c);
		c = open_cache(&r, 20, policy_at(p), &trace);
		for (k = 0; k < CALLS; k++)
			change(&r, c, (uint32_t)test_below(&r.f.rng, 1 + any(&r)), EM_CACHE_READ);
		assert_int_equal(trace.n, CALLS);
		assert_int_equal(em_cache_stats_get(c, &s), EM_OK);
		assert_int_equal(em_trace_policy(r.f.ctx, access, trace.n, policy_at(p), 5, 20, &misses, NULL), EM_OK);
		assert_int_equal(misses, s.misses);
		assert_int_equal(em_trace_optimum(r.f.ctx, access, trace.n, 20, &best, &r.f.err), EM_OK);
		assert_true(best < misses && best >= BLOCKS / 2);
		em_cache_close(c);
		stop(&r);
	}
}

static void test_trace_refused(void **state)
{
	const em_access access[] = {{0, 0, 0}};
	em_policy bad = *em_policy_lru();
	uint64_t misses = 9;
	em_errinfo err;
	round_trip r;

	(void)state;
	start(&r);
	memset(&err, 0, sizeof err);
	assert_int_equal(em_trace_policy(NULL, access, 1, NULL, 0, 1, &misses, &err), EM_ERR_INVAL);
	assert_int_equal(misses, 0);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_int_equal(em_trace_policy(r.f.ctx, NULL, 1, NULL, 0, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_trace_policy(r.f.ctx, access, 1, NULL, 0, 1, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_trace_policy(r.f.ctx, access, 1, NULL, 0, 0, &misses, NULL), EM_ERR_RANGE);
	bad.next = NULL;
	assert_int_equal(em_trace_policy(r.f.ctx, access, 1, &bad, 0, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_trace_policy(r.f.ctx, access, 1, NULL, 0, 1, &misses, NULL), EM_OK);
	assert_int_equal(misses, 1);
	assert_int_equal(em_trace_policy(r.f.ctx, NULL, 0, NULL, 0, 1, &misses, NULL), EM_OK);
	assert_int_equal(misses, 0);
	assert_int_equal(em_trace_optimum(r.f.ctx, access, UINT64_MAX, 1, &misses, NULL), EM_ERR_RANGE);
	assert_int_equal(em_trace_optimum(r.f.ctx, NULL, 1, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_trace_optimum(NULL, access, 1, 1, &misses, NULL), EM_ERR_INVAL);
	stop(&r);
}

/* A policy of the caller's that remembers nothing, asks for all frames there may be, and takes the first that may go. */
static uint64_t naive_bytes(uint32_t n)
{
	(void)n;
	return 0;
}

static int naive_lies;

static void naive_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	(void)state;
	(void)n;
	(void)seed;
	*(unsigned *)user += 1;
}

static void naive_came(void *state, uint32_t frame, em_bid bid)
{
	(void)state;
	(void)frame;
	(void)bid;
}

static void naive_hit(void *state, uint32_t frame)
{
	(void)state;
	(void)frame;
}

static void naive_left(void *state, uint32_t frame, int32_t victim)
{
	(void)state;
	(void)frame;
	(void)victim;
}

static uint32_t naive_victim(void *state, em_verdict_fn ask, void *arg)
{
	uint32_t i;

	(void)state;
	for (i = 50; i-- > 0; ) {
		const int32_t verdict = ask(arg, i);

		if (verdict == EM_CACHE_GOES)
			return naive_lies ? i + 1 : i;
		if (verdict == EM_CACHE_ENOUGH)
			break;
	}
	return naive_lies ? 3 : EM_CACHE_NONE;
}

static void naive_next(void *state, em_verdict_fn ask, void *arg)
{
	uint32_t i;

	(void)state;
	for (i = 50; i-- > 0 && ask(arg, i) != EM_CACHE_ENOUGH; )
		continue;
}

static void test_cache_own_policy(void **state)
{
	unsigned opened = 0;
	const em_policy naive = {sizeof naive, 0, "naive", naive_bytes, naive_init, naive_came, naive_hit, naive_left, naive_victim, naive_next, &opened};
	uint32_t i, k;
	round_trip r;
	em_cache *c;
	void *block;

	(void)state;
	naive_lies = 0;
	start(&r);
	c = open_cache(&r, 10, &naive, NULL);
	assert_int_equal(opened, 1);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_FRESH);
	for (k = 0; k < 1000; k++)
		change(&r, c, any(&r), k % 2 ? EM_CACHE_READ : EM_CACHE_WRITE);
	assert_int_equal(em_cache_flush(c), EM_OK);
	/* One that names what may not go is told so, and harms nobody. */
	naive_lies = 1;
	for (i = 0; em_cache_get(c, r.bid[i], EM_CACHE_READ, &block) == EM_OK; i++)
		assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
	assert_int_equal(em_cache_error(c)->status, EM_ERR_USER);
	assert_non_null(strstr(em_cache_error(c)->text, "naive"));
	assert_null(block);
	naive_lies = 0;
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_READ);
	em_cache_close(c);
	stop(&r);
}

static void test_cache_refused(void **state)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_cache_stats s = EM_CACHE_STATS_INIT;
	const em_bid none = em_bid_none();
	em_policy bad = *em_policy_clock();
	em_cache *c, *no = (em_cache *)&opts;
	void *block[4], *other = &s;
	em_errinfo err;
	round_trip r;
	uint32_t i;

	(void)state;
	start(&r);
	memset(&err, 0, sizeof err);
	opts.errinfo = &err;
	assert_int_equal(em_cache_open(NULL, r.d, &opts), EM_ERR_INVAL);
	assert_int_equal(em_cache_open(&no, r.d, NULL), EM_ERR_INVAL);
	assert_null(no);
	assert_int_equal(em_cache_open(&no, NULL, &opts), EM_ERR_INVAL);
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_RANGE);
	assert_int_equal(em_cache_memory(&opts), 0);
	assert_int_equal(err.status, EM_ERR_RANGE);
	opts.frames = 4;
	opts.block_bytes = 1000;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_RANGE);
	opts.block_bytes = UINT64_MAX / 4096 * 4096;
	assert_int_not_equal(em_cache_open(&no, r.d, &opts), EM_OK);
	opts.block_bytes = BLOCK;
	opts.policy = &bad;
	bad.victim = NULL;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_INVAL);
	bad = *em_policy_clock();
	bad.size = 8;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_INVAL);
	opts.policy = NULL;
	opts.frames = 1 << 24;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_MEMLIMIT);
	opts.frames = 4;
	opts.size = 1;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_INVAL);
	assert_null(no);
	assert_int_equal(em_cache_memory(NULL), 0);

	c = open_cache(&r, 4, NULL, NULL);
	assert_int_equal(em_cache_get(NULL, r.bid[0], EM_CACHE_READ, &other), EM_ERR_INVAL);
	assert_null(other);
	assert_int_equal(em_cache_get(c, r.bid[0], EM_CACHE_READ, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_get(c, r.bid[0], 3, &other), EM_ERR_INVAL);
	assert_int_equal(em_cache_get(c, none, EM_CACHE_READ, &other), EM_ERR_INVAL);
	assert_non_null(strstr(em_cache_error(c)->text, "no block"));
	for (i = 0; i < 4; i++)
		assert_int_equal(em_cache_get(c, r.bid[i], EM_CACHE_FRESH, &block[i]), EM_OK);
	assert_int_equal(em_cache_get(c, r.bid[5], EM_CACHE_READ, &other), EM_ERR_STATE);
	assert_null(other);
	assert_int_equal(em_cache_error(c)->status, EM_ERR_STATE);
	assert_int_equal(em_cache_steal(c, &other), EM_ERR_STATE);
	assert_int_equal(em_cache_invalidate(c, r.bid[0]), EM_ERR_STATE);
	assert_int_equal(em_cache_unpin(c, (char *)block[0] + 1, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, &r, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(NULL, block[0], 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, block[0], 0), EM_OK);
	assert_int_equal(em_cache_unpin(c, block[0], 0), EM_ERR_STATE);
	assert_int_equal(em_cache_give(c, block[0]), EM_ERR_STATE);
	assert_int_equal(em_cache_give(c, &r), EM_ERR_INVAL);
	assert_int_equal(em_cache_give(c, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_give(NULL, block[0]), EM_ERR_INVAL);
	assert_int_equal(em_cache_steal(NULL, &other), EM_ERR_INVAL);
	assert_int_equal(em_cache_steal(c, NULL), EM_ERR_INVAL);
	em_cache_hint(NULL, r.bid[0]);
	em_cache_hint(c, none);
	assert_int_equal(em_cache_flush(NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_invalidate(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_cache_invalidate(c, r.bid[50]), EM_OK);
	assert_int_equal(em_cache_stats_get(NULL, &s), EM_ERR_INVAL);
	assert_int_equal(em_cache_stats_get(c, NULL), EM_ERR_INVAL);
	assert_null(em_cache_error(NULL));
	em_cache_close(NULL);
	/* With three pinned. */
	em_cache_close(c);
	assert_int_equal(r.f.warned, 1);
	stop(&r);
}

static void test_cache_closed_late(void **state)
{
	round_trip r;
	em_cache *c;
	uint32_t i;

	(void)state;
	start(&r);
	c = open_cache(&r, 7, NULL, NULL);
	close_early(&r);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_FRESH);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_READ);
	assert_int_equal(em_cache_flush(c), EM_OK);
	em_cache_close(c);
	stop(&r);
}

static void test_cache_failing_disk(void **state)
{
	round_trip r;
	em_cache *c;
	uint32_t k, i;
	void *block;

	(void)state;
	for (k = 0; k < D; k++) {
		unsigned told = 0;

		start_on(&r, k == 0 ? 2 : D);
		c = open_cache(&r, 9, policy_at(k), NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_OK);
		fail_disk(&r, k, EM_FAULT_READ);
		for (i = 0; i < BLOCKS; i++) {
			if (em_cache_get(c, r.bid[i], EM_CACHE_READ, &block) == EM_OK) {
				check(&r, i, block);
				assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
				continue;
			}
			assert_int_equal(r.bid[i].disk, k);
			assert_names(&r, em_cache_error(c), k, "read");
			told++;
		}
		assert_true(told >= BLOCKS / D - 9);
		/* Blocks of the other disks are written, those of this one stay. */
		fail_disk(&r, k, EM_FAULT_WRITE);
		for (i = 0; i < 9; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_ERR_IO);
		assert_names(&r, em_cache_error(c), k, "write");
		fixture_heal(&r.f, k);
		assert_int_equal(em_cache_flush(c), EM_OK);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_READ);
		em_cache_close(c);
		stop(&r);
	}
}

/* Streams of records. */

enum { RECORD = 24, RECORDS = 20000 };

static void make(uint64_t i, char *record)
{
	size_t k;

	for (k = 0; k < RECORD; k++)
		record[k] = (char)((i * 0x9e3779b97f4a7c15u >> (k % 8 * 8)) + k);
}

static em_block_writer *open_writer(round_trip *r, uint32_t flags, uint32_t buffers)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_writer *w;

	opts.flags = flags;
	opts.block_bytes = BLOCK;
	opts.record_bytes = RECORD;
	opts.buffers = buffers;
	opts.errinfo = &r->f.err;
	if (em_block_writer_open(&w, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	return w;
}

/* In pieces of any size, or into what was lent. */
static em_status write_records(round_trip *r, em_block_writer *w, uint32_t flags, uint64_t n)
{
	static char piece[500 * RECORD];
	em_status st = EM_OK;
	uint64_t at = 0, i;

	while (at < n && st == EM_OK) {
		size_t many = (size_t)test_below(&r->f.rng, 500), room;
		void *lent;

		if (many > n - at)
			many = (size_t)(n - at);
		if (test_below(&r->f.rng, 4) == 0) {
			st = em_block_writer_lend(w, &lent, &room);
			many = many < room ? many : room;
			for (i = 0; i < many; i++)
				make(at + i, (char *)lent + (flags & EM_BLOCKS_REVERSE ? room - 1 - i : i) * RECORD);
			if (st == EM_OK)
				st = em_block_writer_took(w, many);
		} else {
			for (i = 0; i < many; i++)
				make(at + i, piece + i * RECORD);
			st = em_block_writer_put(w, piece, many);
		}
		at += many;
	}
	return st;
}

static em_block_list *write_list(round_trip *r, uint32_t flags, uint32_t buffers, uint64_t n)
{
	em_block_writer *w = open_writer(r, flags, buffers);
	em_block_list *l = NULL;

	if (write_records(r, w, flags, n) != EM_OK || em_block_writer_finish(w, &l) != EM_OK)
		fail_msg("%s", em_block_writer_error(w)->text);
	assert_int_equal(em_block_writer_put(w, r, 1), EM_ERR_STATE);
	em_block_writer_close(w);
	return l;
}

/* Read all; each record is to be the next one, or the one before if either, but not both, goes backwards. */
static void read_list(em_block_list *l, uint32_t wrote, uint32_t flags, uint32_t buffers, uint64_t n)
{
	const int down = ((wrote ^ flags) & EM_BLOCKS_REVERSE) != 0;
	em_block_reader_opts opts = EM_BLOCK_READER_OPTS_INIT;
	em_block_reader *r;
	const em_batch *batch;
	char record[RECORD];
	em_status st;
	uint64_t at = 0;
	size_t i;

	opts.flags = flags;
	opts.buffers = buffers;
	assert_int_equal(em_block_reader_open(&r, l, &opts), EM_OK);
	while ((st = em_block_reader_next(r, &batch)) == EM_OK) {
		assert_int_equal(batch->bytes, batch->n * RECORD);
		assert_null(batch->ends);
		for (i = 0; i < batch->n; i++, at++) {
			const size_t where = flags & EM_BLOCKS_REVERSE ? batch->n - 1 - i : i;

			make(down ? n - 1 - at : at, record);
			assert_memory_equal((const char *)batch->records + where * RECORD, record, RECORD);
		}
	}
	assert_int_equal(st, EM_END);
	assert_null(batch);
	assert_int_equal(at, n);
	em_block_reader_close(r);
}

static uint64_t used(em_disks *d)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;

	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	return s.bytes;
}

static void test_streams(void **state)
{
	static const uint64_t counts[] = {0, 1, BLOCK / RECORD - 1, BLOCK / RECORD, BLOCK / RECORD + 1, RECORDS};
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_list *l, *copy;
	uint32_t k, wrote, i, on[D] = {0};
	uint64_t before;
	round_trip r;

	(void)state;
	start(&r);
	before = used(r.d);
	for (k = 0; k < sizeof counts / sizeof *counts; k++) {
		for (wrote = 0; wrote < 2; wrote++) {
			l = write_list(&r, wrote, k % 4, counts[k]);
			assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
			assert_int_equal(info.records, counts[k]);
			assert_int_equal(info.blocks, (counts[k] + BLOCK / RECORD - 1) / (BLOCK / RECORD));
			assert_int_equal(used(r.d), before + info.blocks * BLOCK);
			read_list(l, wrote, 0, 1 + k % 3, counts[k]);
			read_list(l, wrote, EM_BLOCKS_REVERSE, 0, counts[k]);
			/* A list of the same blocks. */
			assert_int_equal(em_block_list_open(&copy, r.d, &info), EM_OK);
			for (i = 0; k == 5 && i < info.blocks; i++)
				on[info.bids[i].disk]++;
			em_block_list_close(l);
			read_list(copy, wrote, EM_BLOCKS_CONSUME | (wrote ? EM_BLOCKS_REVERSE : 0), 3, counts[k]);
			assert_int_equal(used(r.d), before);
			read_list(copy, 0, 0, 1, 0);
			em_block_list_close(copy);
		}
	}
	/* All disks have their share. */
	for (i = 0; i < D; i++)
		assert_true(on[i] >= 2 * (RECORDS / (BLOCK / RECORD) / D));
	l = write_list(&r, 0, 0, RECORDS);
	assert_int_equal(em_block_list_free_blocks(l), EM_OK);
	assert_int_equal(used(r.d), before);
	read_list(l, 0, 0, 0, 0);
	em_block_list_close(l);
	stop(&r);
}

static void test_streams_refused(void **state)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_reader_opts ropts = EM_BLOCK_READER_OPTS_INIT;
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_writer *w, *now = (em_block_writer *)&opts;
	em_block_reader *a, *b;
	em_block_list *l, *no;
	const em_batch *batch;
	em_errinfo err;
	round_trip r;
	void *room;
	size_t n;

	(void)state;
	start(&r);
	memset(&err, 0, sizeof err);
	opts.errinfo = ropts.errinfo = &err;
	assert_int_equal(em_block_writer_open(&now, r.d, NULL), EM_ERR_INVAL);
	assert_null(now);
	assert_int_equal(em_block_writer_open(NULL, r.d, &opts), EM_ERR_INVAL);
	opts.block_bytes = BLOCK + 1;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "4097 bytes"));
	opts.block_bytes = BLOCK;
	opts.record_bytes = BLOCK + 1;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	opts.record_bytes = RECORD;
	assert_int_equal(em_block_writer_open(&now, NULL, &opts), EM_ERR_INVAL);
	opts.flags = EM_BLOCKS_CONSUME;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	opts.flags = 0;
	opts.buffers = 1 << 20;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	opts.size = 8;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	assert_null(now);
	w = open_writer(&r, 0, 2);
	assert_int_equal(em_block_writer_put(w, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_put(NULL, &r, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, NULL, &n), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, &room, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(NULL, &room, &n), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_took(w, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, &room, &n), EM_OK);
	assert_int_equal(em_block_writer_took(w, n + 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_error(w)->status, EM_ERR_INVAL);
	make(0, room);
	assert_int_equal(em_block_writer_took(w, 1), EM_OK);
	assert_int_equal(em_block_writer_took(NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(w, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(NULL, &l), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(w, &l), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &no), EM_ERR_STATE);
	assert_null(no);
	assert_int_equal(em_block_writer_lend(w, &room, &n), EM_ERR_STATE);
	assert_null(room);
	em_block_writer_close(w);
	em_block_writer_close(NULL);
	assert_null(em_block_writer_error(NULL));

	assert_int_equal(em_block_reader_open(NULL, l, &ropts), EM_ERR_INVAL);
	assert_int_equal(em_block_reader_open(&a, NULL, &ropts), EM_ERR_INVAL);
	ropts.flags = 4;
	assert_int_equal(em_block_reader_open(&a, l, &ropts), EM_ERR_INVAL);
	ropts.flags = 0;
	ropts.buffers = 1 << 20;
	assert_int_equal(em_block_reader_open(&a, l, &ropts), EM_ERR_MEMLIMIT);
	ropts.buffers = 0;
	assert_int_equal(em_block_reader_open(&a, l, NULL), EM_OK);
	assert_int_equal(em_block_reader_next(a, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_reader_next(NULL, &batch), EM_ERR_INVAL);
	ropts.flags = EM_BLOCKS_CONSUME;
	assert_int_equal(em_block_reader_open(&b, l, &ropts), EM_ERR_STATE);
	assert_null(b);
	assert_int_equal(em_block_list_free_blocks(l), EM_ERR_STATE);
	assert_int_equal(em_block_list_free_blocks(NULL), EM_ERR_INVAL);
	em_block_reader_close(a);
	em_block_reader_close(NULL);
	assert_null(em_block_reader_error(NULL));
	ropts.buffers = 1 << 20;
	assert_int_equal(em_block_reader_open(&b, l, &ropts), EM_ERR_MEMLIMIT);
	read_list(l, 0, 0, 0, 1);

	assert_int_equal(em_block_list_info_get(l, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_list_info_get(NULL, &info), EM_ERR_INVAL);
	assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
	assert_int_equal(em_block_list_open(NULL, r.d, &info), EM_ERR_INVAL);
	assert_int_equal(em_block_list_open(&no, NULL, &info), EM_ERR_INVAL);
	assert_int_equal(em_block_list_open(&no, r.d, NULL), EM_ERR_INVAL);
	info.records = BLOCK / RECORD + 1;
	assert_int_equal(em_block_list_open(&no, r.d, &info), EM_ERR_INVAL);
	assert_non_null(strstr(em_disks_error(r.d)->text, "1 blocks"));
	info.records = 0;
	assert_int_equal(em_block_list_open(&no, r.d, &info), EM_ERR_INVAL);
	info.records = 1;
	info.skip = BLOCK / RECORD;
	assert_int_equal(em_block_list_open(&no, r.d, &info), EM_ERR_INVAL);
	info.skip = 0;
	info.record_bytes = 0;
	assert_int_equal(em_block_list_open(&no, r.d, &info), EM_ERR_INVAL);
	info.record_bytes = RECORD;
	r.bid[0].disk = D;
	info.bids = r.bid;
	assert_int_equal(em_block_list_open(&no, r.d, &info), EM_ERR_INVAL);
	assert_null(no);
	em_block_list_close(l);
	em_block_list_close(NULL);
	stop(&r);
}

/* Everything that keeps the disks is closed before the reader. */
static void test_streams_closed_late(void **state)
{
	em_block_reader *reader;
	const em_batch *batch;
	em_block_writer *w;
	em_block_list *l;
	round_trip r;
	uint64_t n = 0;

	(void)state;
	start(&r);
	w = open_writer(&r, 0, 0);
	close_early(&r);
	assert_int_equal(write_records(&r, w, 0, RECORDS), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &l), EM_OK);
	em_block_writer_close(w);
	assert_int_equal(em_block_reader_open(&reader, l, NULL), EM_OK);
	em_block_list_close(l);
	while (em_block_reader_next(reader, &batch) == EM_OK)
		n += batch->n;
	assert_int_equal(n, RECORDS);
	em_block_reader_close(reader);
	stop(&r);
	/* A writer that was not finished takes its blocks along. */
	start(&r);
	w = open_writer(&r, 0, 0);
	assert_int_equal(write_records(&r, w, 0, RECORDS), EM_OK);
	assert_true(used(r.d) > BLOCKS * BLOCK);
	em_block_writer_close(w);
	assert_int_equal(used(r.d), BLOCKS * BLOCK);
	stop(&r);
}

static void test_streams_failing_disk(void **state)
{
	em_block_reader *reader;
	const em_batch *batch;
	em_block_writer *w;
	em_block_list *l;
	em_status st;
	round_trip r;
	uint32_t k;

	(void)state;
	for (k = 0; k < D; k++) {
		start(&r);
		w = open_writer(&r, k % 2 ? EM_BLOCKS_REVERSE : 0, 0);
		fail_disk(&r, k, EM_FAULT_WRITE);
		assert_int_equal(write_records(&r, w, k % 2 ? EM_BLOCKS_REVERSE : 0, RECORDS), EM_ERR_IO);
		assert_names(&r, em_block_writer_error(w), k, "write");
		assert_int_equal(em_block_writer_finish(w, &l), EM_ERR_IO);
		assert_null(l);
		assert_int_equal(used(r.d), BLOCKS * BLOCK);
		em_block_writer_close(w);
		fixture_heal(&r.f, k);
		l = write_list(&r, 0, 0, RECORDS);
		fail_disk(&r, k, EM_FAULT_READ);
		assert_int_equal(em_block_reader_open(&reader, l, NULL), EM_OK);
		while ((st = em_block_reader_next(reader, &batch)) == EM_OK)
			continue;
		assert_int_equal(st, EM_ERR_IO);
		assert_null(batch);
		assert_names(&r, em_block_reader_error(reader), k, "read");
		assert_int_equal(em_block_reader_next(reader, &batch), EM_ERR_IO);
		em_block_reader_close(reader);
		em_block_list_close(l);
		stop(&r);
	}
}

/* Each allocation of opening any object fails once: nothing is lost, and what was told is so. */
static void test_without_memory(void **state)
{
	em_block_writer_opts wopts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_pool_opts popts = EM_BLOCK_POOL_OPTS_INIT;
	em_cache_opts copts = EM_CACHE_OPTS_INIT;
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_list *l, *copy = NULL;
	em_block_reader *reader = NULL;
	em_block_writer *w = NULL;
	em_block_pool *p = NULL;
	em_cache *c = NULL;
	round_trip r;
	int which;

	(void)state;
	start(&r);
	popts.block_bytes = copts.block_bytes = wopts.block_bytes = BLOCK;
	popts.write_buffers = popts.prefetch_buffers = 2;
	copts.frames = 5;
	wopts.record_bytes = RECORD;
	l = write_list(&r, 0, 0, RECORDS);
	assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
	for (which = 0; which < 5; which++) {
		const uint64_t before = em_ctx_memory_used(r.f.ctx);
		em_status st = EM_ERR_NOMEM;
		uint64_t n;

		for (n = 1; st != EM_OK; n++) {
			r.f.mem.fail_at = r.f.mem.calls + n;
			st = which == 0 ? em_block_pool_open(&p, r.d, &popts) : which == 1 ? em_cache_open(&c, r.d, &copts) :
			     which == 2 ? em_block_writer_open(&w, r.d, &wopts) : which == 3 ? em_block_reader_open(&reader, l, NULL) :
			     em_block_list_open(&copy, r.d, &info);
			r.f.mem.fail_at = 0;
			if (st == EM_OK)
				break;
			assert_int_equal(st, EM_ERR_NOMEM);
			assert_int_equal(em_ctx_memory_used(r.f.ctx), before);
		}
		assert_true(n >= 3);
	}
	em_block_pool_close(p);
	em_cache_close(c);
	em_block_writer_close(w);
	em_block_reader_close(reader);
	em_block_list_close(copy);
	em_block_list_close(l);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_refused),
		cmocka_unit_test(test_pool_closed_late),
		cmocka_unit_test(test_pool_failing_disk),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_trace),
		cmocka_unit_test(test_trace_refused),
		cmocka_unit_test(test_cache_own_policy),
		cmocka_unit_test(test_cache_refused),
		cmocka_unit_test(test_cache_closed_late),
		cmocka_unit_test(test_cache_failing_disk),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_streams_refused),
		cmocka_unit_test(test_streams_closed_late),
		cmocka_unit_test(test_streams_failing_disk),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("public objects", tests, NULL, NULL);
}
