/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_cache.c -- caches, their policies and traces as callers outside have them, on several disks: whole
 * rounds, what each function refuses, what they say when a disk or an allocation fails, and closing in any order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/sys/cache.h>

#include "block/round_trip.h"

enum { D = FIXTURE_DISKS, CALLS = 4000 };

/* What em_..._error() said last. */
static em_errinfo told;

static em_cache *open_cache(round_trip *r, uint32_t frames, const em_policy *policy, em_cache_trace *trace)
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
		opts.trace = em_cache_trace_record;
		opts.trace_user = trace;
	}
	if (em_cache_open(&c, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	/* No memory for blocks yet. */
	assert_true(em_ctx_memory_used(r->f.ctx) - before < em_cache_memory(&opts) &&
		    em_ctx_memory_used(r->f.ctx) - before < BLOCK);
	return c;
}

static void change(round_trip *r, em_cache *c, uint32_t i, uint32_t mode)
{
	void *block;

	if (em_cache_get(c, r->bid[i], mode, &block) != EM_OK) {
		em_cache_error(c, &told);
		fail_msg("%s", told.text);
	}
	assert_int_equal((uintptr_t)block % EM_BLOCK_UNIT, 0);
	if (mode != EM_CACHE_FRESH)
		round_check(r, i, block);
	if (mode != EM_CACHE_READ) {
		r->version[i]++;
		round_fill(r, i, block);
	}
	assert_int_equal(em_cache_unpin(c, block, mode != EM_CACHE_READ), EM_OK);
}

static const em_policy *policy_at(uint32_t i)
{
	const em_policy *const all[] = {em_policy_lru(), em_policy_clock(), em_policy_random(), em_policy_s3fifo(),
					NULL};

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

		round_start(&r);
		c = open_cache(&r, 20, policy_at(p), NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		for (k = 0; k < CALLS; k++) {
			i = round_any(&r);
			if (k % 3 == 0) {
				em_cache_hint(c, r.bid[i]);
				continue;
			}
			change(&r, c, i, (uint32_t)test_below(&r.f.rng, 3));
			gets++;
		}
		assert_int_equal(em_cache_detach(c, &buf), EM_OK);
		memset(buf, 1, BLOCK);
		assert_int_equal(em_cache_stats_get(c, &s), EM_OK);
		assert_int_equal(s.frames, 19);
		assert_int_equal(em_cache_attach(c, buf), EM_OK);
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
		round_stop(&r);
	}
}

/* What a cache told is what its policy does with it, and nothing is better than the optimum. */
static void test_cache_trace(void **state)
{
	static em_cache_access access[CALLS];
	em_cache_stats s = EM_CACHE_STATS_INIT;
	uint64_t misses, best;
	uint32_t i, k, p;
	round_trip r;
	em_cache *c;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		em_cache_trace trace = {access, CALLS, 0};

		round_start(&r);
		c = open_cache(&r, BLOCKS, NULL, NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_OK);
		em_cache_close(c);
		c = open_cache(&r, 20, policy_at(p), &trace);
		for (k = 0; k < CALLS; k++)
			change(&r, c, (uint32_t)test_below(&r.f.rng, 1 + round_any(&r)), EM_CACHE_READ);
		assert_int_equal(trace.n, CALLS);
		assert_int_equal(em_cache_stats_get(c, &s), EM_OK);
		assert_int_equal(em_cache_trace_policy(r.f.ctx, access, trace.n, policy_at(p), 5, 20, &misses, NULL),
				 EM_OK);
		assert_int_equal(misses, s.misses);
		assert_int_equal(em_cache_trace_optimum(r.f.ctx, access, trace.n, 20, &best, &r.f.err), EM_OK);
		assert_true(best < misses && best >= BLOCKS / 2);
		em_cache_close(c);
		round_stop(&r);
	}
}

static void test_trace_refused(void **state)
{
	const em_cache_access access[] = {{0, 0, 0}};
	em_policy bad = *em_policy_lru();
	uint64_t misses = 9;
	em_errinfo err;
	round_trip r;

	(void)state;
	round_start(&r);
	/* What the detail held before does not matter. */
	memset(&err, 0x99, sizeof err);
	assert_int_equal(em_cache_trace_policy(NULL, access, 1, NULL, 0, 1, &misses, &err), EM_ERR_INVAL);
	assert_int_equal(misses, 0);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "ctx"));
	assert_int_equal(em_cache_trace_policy(r.f.ctx, NULL, 1, NULL, 0, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_trace_policy(r.f.ctx, access, 1, NULL, 0, 1, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_trace_policy(r.f.ctx, access, 1, NULL, 0, 0, &misses, NULL), EM_ERR_RANGE);
	bad.next = NULL;
	assert_int_equal(em_cache_trace_policy(r.f.ctx, access, 1, &bad, 0, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_trace_policy(r.f.ctx, access, 1, NULL, 0, 1, &misses, NULL), EM_OK);
	assert_int_equal(misses, 1);
	assert_int_equal(em_cache_trace_policy(r.f.ctx, NULL, 0, NULL, 0, 1, &misses, NULL), EM_OK);
	assert_int_equal(misses, 0);
	assert_int_equal(em_cache_trace_optimum(r.f.ctx, access, UINT64_MAX, 1, &misses, &err), EM_ERR_RANGE);
	assert_int_equal(err.status, EM_ERR_RANGE);
	assert_int_equal(em_cache_trace_optimum(r.f.ctx, NULL, 1, 1, &misses, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_trace_optimum(NULL, access, 1, 1, &misses, NULL), EM_ERR_INVAL);
	round_stop(&r);
}

/* A policy of the caller's that remembers nothing, asks for all frames there may be, and takes the first that may
 * go. */
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
	const em_policy naive = {sizeof naive, 0, "naive", naive_bytes, naive_init, naive_came, naive_hit, naive_left,
				 naive_victim, naive_next, &opened, NULL};
	uint32_t i, k;
	round_trip r;
	em_cache *c;
	void *block;

	(void)state;
	naive_lies = 0;
	round_start(&r);
	c = open_cache(&r, 10, &naive, NULL);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_FRESH);
	assert_int_equal(opened, 1);
	for (k = 0; k < 1000; k++)
		change(&r, c, round_any(&r), k % 2 ? EM_CACHE_READ : EM_CACHE_WRITE);
	assert_int_equal(em_cache_flush(c), EM_OK);
	/* One that names what may not go is told so, and harms nobody. */
	naive_lies = 1;
	for (i = 0; em_cache_get(c, r.bid[i], EM_CACHE_READ, &block) == EM_OK; i++)
		assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
	em_cache_error(c, &told);
	assert_int_equal(told.status, EM_ERR_USER);
	assert_non_null(strstr(told.text, "naive"));
	assert_null(block);
	naive_lies = 0;
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_READ);
	em_cache_close(c);
	round_stop(&r);
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
	round_start(&r);
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
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_VERSION);
	opts.policy = NULL;
	opts.frames = 1 << 24;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_MEMLIMIT);
	opts.frames = 4;
	opts.size = 1;
	assert_int_equal(em_cache_open(&no, r.d, &opts), EM_ERR_VERSION);
	assert_null(no);
	assert_int_equal(em_cache_memory(NULL), 0);

	c = open_cache(&r, 4, NULL, NULL);
	assert_int_equal(em_cache_get(NULL, r.bid[0], EM_CACHE_READ, &other), EM_ERR_INVAL);
	assert_null(other);
	assert_int_equal(em_cache_get(c, r.bid[0], EM_CACHE_READ, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_get(c, r.bid[0], 3, &other), EM_ERR_INVAL);
	assert_int_equal(em_cache_get(c, none, EM_CACHE_READ, &other), EM_ERR_INVAL);
	em_cache_error(c, &told);
	assert_non_null(strstr(told.text, "no block"));
	for (i = 0; i < 4; i++)
		assert_int_equal(em_cache_get(c, r.bid[i], EM_CACHE_FRESH, &block[i]), EM_OK);
	assert_int_equal(em_cache_get(c, r.bid[5], EM_CACHE_READ, &other), EM_ERR_STATE);
	assert_null(other);
	em_cache_error(c, &told);
	assert_int_equal(told.status, EM_ERR_STATE);
	assert_int_equal(em_cache_detach(c, &other), EM_ERR_STATE);
	assert_int_equal(em_cache_invalidate(c, r.bid[0]), EM_ERR_STATE);
	assert_int_equal(em_cache_unpin(c, (char *)block[0] + 1, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, &r, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(NULL, block[0], 0), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(c, block[0], 0), EM_OK);
	assert_int_equal(em_cache_unpin(c, block[0], 0), EM_ERR_STATE);
	assert_int_equal(em_cache_attach(c, block[0]), EM_ERR_STATE);
	assert_int_equal(em_cache_attach(c, &r), EM_ERR_INVAL);
	assert_int_equal(em_cache_attach(c, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_attach(NULL, block[0]), EM_ERR_INVAL);
	assert_int_equal(em_cache_detach(NULL, &other), EM_ERR_INVAL);
	assert_int_equal(em_cache_detach(c, NULL), EM_ERR_INVAL);
	em_cache_hint(NULL, r.bid[0]);
	em_cache_hint(c, none);
	assert_int_equal(em_cache_flush(NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_invalidate(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_cache_invalidate(c, r.bid[50]), EM_OK);
	assert_int_equal(em_cache_stats_get(NULL, &s), EM_ERR_INVAL);
	assert_int_equal(em_cache_stats_get(c, NULL), EM_ERR_INVAL);
	em_cache_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);
	em_cache_close(NULL);
	/* With three pinned. */
	em_cache_close(c);
	assert_int_equal(r.f.warned, 1);
	round_stop(&r);
}

static void test_cache_closed_late(void **state)
{
	round_trip r;
	em_cache *c;
	uint32_t i;

	(void)state;
	round_start(&r);
	c = open_cache(&r, 7, NULL, NULL);
	round_close_early(&r);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_FRESH);
	for (i = 0; i < BLOCKS; i++)
		change(&r, c, i, EM_CACHE_READ);
	assert_int_equal(em_cache_flush(c), EM_OK);
	em_cache_close(c);
	round_stop(&r);
}

static void test_cache_failing_disk(void **state)
{
	round_trip r;
	em_cache *c;
	uint32_t k, i;
	void *block;

	(void)state;
	for (k = 0; k < D; k++) {
		unsigned failed = 0;

		round_start_on(&r, k == 0 ? 2 : D);
		c = open_cache(&r, 9, policy_at(k), NULL);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_OK);
		round_fail_disk(&r, k, EM_FAULT_READ);
		for (i = 0; i < BLOCKS; i++) {
			if (em_cache_get(c, r.bid[i], EM_CACHE_READ, &block) == EM_OK) {
				round_check(&r, i, block);
				assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
				continue;
			}
			assert_int_equal(r.bid[i].disk, k);
			em_cache_error(c, &told);
			round_assert_names(&r, &told, k, "read");
			failed++;
		}
		assert_true(failed >= BLOCKS / D - 9);
		/* Blocks of the other disks are written, those of this one stay. */
		round_fail_disk(&r, k, EM_FAULT_WRITE);
		for (i = 0; i < 9; i++)
			change(&r, c, i, EM_CACHE_FRESH);
		assert_int_equal(em_cache_flush(c), EM_ERR_IO);
		em_cache_error(c, &told);
		round_assert_names(&r, &told, k, "write");
		round_fail_disk(&r, k, 0);
		assert_int_equal(em_cache_flush(c), EM_OK);
		for (i = 0; i < BLOCKS; i++)
			change(&r, c, i, EM_CACHE_READ);
		em_cache_close(c);
		round_stop(&r);
	}
}

static em_status open_small(round_trip *r, void *what)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;

	opts.block_bytes = BLOCK;
	opts.frames = 5;
	return em_cache_open(what, r->d, &opts);
}

static void test_cache_without_memory(void **state)
{
	em_cache *c = NULL;
	round_trip r;

	(void)state;
	round_start(&r);
	round_without_memory(&r, open_small, &c);
	em_cache_close(c);
	round_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_trace),
		cmocka_unit_test(test_trace_refused),
		cmocka_unit_test(test_cache_own_policy),
		cmocka_unit_test(test_cache_refused),
		cmocka_unit_test(test_cache_closed_late),
		cmocka_unit_test(test_cache_failing_disk),
		cmocka_unit_test(test_cache_without_memory),
	};

	return cmocka_run_group_tests_name("public cache", tests, NULL, NULL);
}
