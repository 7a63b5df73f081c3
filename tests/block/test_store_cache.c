/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_store_cache.c -- caches on stores of all kinds against memory: blocks one by one and many at a time, ranges, and
 * lengths and numbers of frames that change.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "block/cache.h"
#include "block/policy.h"
#include "block/store_case.h"

static const em_policy *const policies[] = {&emi_policy_lru, &emi_policy_clock, &emi_policy_random, &emi_policy_s3fifo};
enum { POLICIES = 4, GROUP = 8 };

/* A cache, and what a random caller holds of it. */
typedef struct caller {
	store_case s;
	emi_cache *c;
	uint32_t frames;
	uint32_t held;
	uint32_t frame[CASE_MOST];
	uint32_t block[CASE_MOST];
	uint32_t pins[CASE_MOST]; /* of each block */
} caller;

static void open_cache(caller *k, uint32_t frames, const em_policy *policy)
{
	emi_cache_opts opts;

	memset(&opts, 0, sizeof opts);
	opts.store = k->s.store;
	opts.frames = k->frames = frames;
	opts.block_bytes = CASE_BLOCK;
	opts.policy = policy;
	opts.seed = test_random(&k->s.f.rng);
	opts.io = &k->s.f.io;
	assert_int_equal(emi_cache_open(&k->c, k->s.f.ctx, &opts, &k->s.f.err), EM_OK);
}

static void close_cache(caller *k)
{
	emi_cache_close(k->c);
	k->c = NULL;
	store_case_close(&k->s);
}

static uint64_t below(caller *k, uint64_t n)
{
	return test_below(&k->s.f.rng, n);
}

/* One that is there. */
static uint32_t any(caller *k)
{
	return (uint32_t)below(k, (k->s.length + CASE_BLOCK - 1) / CASE_BLOCK);
}

static uint32_t any_mode(caller *k)
{
	return store_case_changes(&k->s) ? (uint32_t)below(k, 3) : EM_CACHE_READ;
}

static void hold(caller *k, uint32_t frame, uint32_t block)
{
	k->frame[k->held] = frame;
	k->block[k->held++] = block;
	k->pins[block]++;
}

static void let_go(caller *k, uint32_t h)
{
	store_case_check(&k->s, k->block[h], emi_cache_buf(k->c, k->frame[h]));
	emi_cache_unpin(k->c, k->frame[h], 0);
	k->pins[k->block[h]]--;
	k->held--;
	k->frame[h] = k->frame[k->held];
	k->block[h] = k->block[k->held];
}

/* Look at what was got, and perhaps change it. */
static void use(caller *k, uint32_t frame, uint32_t block, uint32_t mode)
{
	char *buf = emi_cache_buf(k->c, frame);

	if (mode != EM_CACHE_FRESH)
		store_case_check(&k->s, block, buf);
	if (mode != EM_CACHE_READ)
		store_case_change(&k->s, block, buf);
	if (below(k, 4) == 0 && k->held < k->frames / 2) {
		/* Who holds it says later that it was changed, or says so twice. */
		emi_cache_unpin(k->c, frame, mode != EM_CACHE_READ);
		assert_int_equal(emi_cache_get(k->c, k->s.bid[block], EM_CACHE_READ, &frame, NULL), EM_OK);
		hold(k, frame, block);
	} else {
		emi_cache_unpin(k->c, frame, mode != EM_CACHE_READ);
	}
}

static void get_one(caller *k)
{
	const uint32_t block = any(k), mode = any_mode(k);
	uint32_t frame;

	if (k->held == k->frames)
		return;
	if (emi_cache_get(k->c, k->s.bid[block], mode, &frame, &k->s.f.err) != EM_OK)
		fail_msg("%s", k->s.f.err.text);
	use(k, frame, block, mode);
}

/* Any blocks, some of them twice, with others to come. */
static void get_group(caller *k)
{
	const uint32_t mode = below(k, 4) == 0 ? any_mode(k) : EM_CACHE_READ, n = (uint32_t)below(k, GROUP);
	uint32_t block[GROUP], frame[GROUP], i;
	em_bid bid[GROUP], next[GROUP];
	size_t got = 99;
	em_status st;

	for (i = 0; i < GROUP; i++) {
		block[i] = i > 0 && below(k, 8) == 0 ? block[i - 1] : any(k);
		bid[i] = k->s.bid[block[i]];
		next[i] = k->s.bid[any(k)];
	}
	st = emi_cache_get_many(k->c, bid, n, mode, next, (size_t)below(k, GROUP), frame, &got, &k->s.f.err);
	if (k->held == k->frames && st == EM_ERR_STATE) {
		assert_int_equal(got, 0);
		memset(&k->s.f.err, 0, sizeof k->s.f.err);
		return;
	}
	assert_int_equal(st, EM_OK);
	assert_true(got <= n && (got > 0 || n == 0));
	/* It is fewer only if there are no more frames. */
	assert_true(got == n || got >= k->frames - k->held);
	for (i = 0; i < got; i++) {
		if (mode != EM_CACHE_FRESH)
			store_case_check(&k->s, block[i], emi_cache_buf(k->c, frame[i]));
	}
	for (i = 0; i < got; i++) {
		if (mode != EM_CACHE_READ)
			store_case_change(&k->s, block[i], emi_cache_buf(k->c, frame[i]));
		emi_cache_unpin(k->c, frame[i], mode != EM_CACHE_READ);
	}
}

static void some_range(caller *k)
{
	const uint32_t first = any(k);
	uint32_t n = 1 + (uint32_t)below(k, GROUP), i, pinned = 0;
	emi_span span;
	em_status st;

	if (n > k->s.n - first)
		n = k->s.n - first;
	span = store_case_span(&k->s, first, &n);
	for (i = first; i < first + n; i++)
		pinned += k->pins[i] != 0;
	switch (below(k, 3)) {
	case 0:
		assert_int_equal(emi_cache_flush_range(k->c, &span, &k->s.f.err), EM_OK);
		store_case_check_store(&k->s, first, n);
		break;
	case 1:
		for (i = first; i < first + n && store_case_there(&k->s, i) != 0; i++) {
			char *buf = k->s.buf + (size_t)i * CASE_BLOCK;
			const emi_span one = {k->s.bid[i], CASE_BLOCK};
			emi_request rq;

			(void)emi_store_read(k->s.store, &rq, buf, CASE_BLOCK, one.at, NULL);
			assert_int_equal(emi_wait(&rq, NULL), EM_OK);
			emi_cache_look_range(k->c, &one, buf);
			store_case_check(&k->s, i, buf);
		}
		break;
	default:
		assert_int_equal(emi_cache_flush_range(k->c, &span, &k->s.f.err), EM_OK);
		st = emi_cache_forget_range(k->c, &span, NULL);
		assert_int_equal(st, pinned ? EM_ERR_STATE : EM_OK);
	}
}

static void other_length(caller *k)
{
	const uint64_t all = (uint64_t)k->s.n * CASE_BLOCK, length = all / 2 + below(k, all / 2 + 1);
	uint32_t i, pinned = 0, frame;
	em_status st;

	if (k->s.kind < STORE_ARRAY || !store_case_changes(&k->s)) {
		st = emi_store_resize(k->s.store, length, NULL);
		assert_int_equal(st, k->s.kind < STORE_ARRAY ? EM_ERR_NOTSUP : EM_ERR_INVAL);
		return;
	}
	for (i = 0; i < k->s.n; i++)
		pinned += k->pins[i] != 0 && (uint64_t)(i + 1) * CASE_BLOCK > length;
	st = store_case_resize(&k->s, length);
	assert_int_equal(st, pinned && length < k->s.length ? EM_ERR_STATE : EM_OK);
	i = (uint32_t)((k->s.length + CASE_BLOCK - 1) / CASE_BLOCK);
	if (i < k->s.n)
		assert_int_equal(emi_cache_get(k->c, k->s.bid[i], EM_CACHE_FRESH, &frame, NULL), EM_ERR_RANGE);
}

static void other_frames(caller *k)
{
	const uint32_t frames = 1 + (uint32_t)below(k, 40);
	const em_status st = emi_cache_resize(k->c, frames, &k->s.f.err);

	if (st == EM_ERR_STATE && k->held != 0 && frames < k->frames) {
		memset(&k->s.f.err, 0, sizeof k->s.f.err);
		return;
	}
	assert_int_equal(st, EM_OK);
	k->frames = frames;
	assert_int_equal(emi_cache_frames(k->c), frames);
}

static void random_calls(caller *k, uint32_t calls)
{
	while (calls-- > 0) {
		const uint32_t what = (uint32_t)below(k, 100);

		if (what < 40)
			get_one(k);
		else if (what < 55)
			get_group(k);
		else if (what < 65)
			emi_cache_hint(k->c, k->s.bid[below(k, k->s.n)]);
		else if (what < 80 && k->held != 0)
			let_go(k, (uint32_t)below(k, k->held));
		else if (what < 90)
			some_range(k);
		else if (what < 92)
			assert_int_equal(emi_cache_flush(k->c, &k->s.f.err), EM_OK);
		else if (what < 95)
			other_length(k);
		else if (what < 97)
			other_frames(k);
	}
	while (k->held != 0)
		let_go(k, 0);
	assert_int_equal(emi_cache_flush(k->c, &k->s.f.err), EM_OK);
	assert_int_equal(emi_cache_dirty(k->c), 0);
}

static void test_random_calls(void **state)
{
	uint32_t kind, p;

	(void)state;
	for (kind = 0; kind < STORE_KINDS; kind++) {
		for (p = 0; p < POLICIES; p++) {
			caller k;

			memset(&k, 0, sizeof k);
			store_case_open(&k.s, kind, 20 + (uint32_t)(7 * p));
			open_cache(&k, 3 + 4 * p, policies[p]);
			random_calls(&k, 3000);
			close_cache(&k);
		}
	}
}

/* What was never written is zeros without a transfer, and so is what was added. */
static void test_zeros(void **state)
{
	uint32_t frame[2], i;
	caller k;

	(void)state;
	memset(&k, 0, sizeof k);
	store_case_open(&k.s, STORE_ARRAY, 10);
	assert_int_equal(store_case_resize(&k.s, 0), EM_OK);
	assert_int_equal(store_case_resize(&k.s, 10 * CASE_BLOCK), EM_OK);
	open_cache(&k, 4, NULL);
	for (i = 0; i < 10; i++) {
		size_t got;

		assert_int_equal(emi_cache_get_many(k.c, &k.s.bid[i], 1, EM_CACHE_WRITE, &k.s.bid[(i + 1) % 10], 1,
						    frame, &got, NULL),
				 EM_OK);
		use(&k, frame[0], i, EM_CACHE_READ);
	}
	while (k.held != 0)
		let_go(&k, 0);
	assert_int_equal(k.s.f.io.ios_read, 0);
	assert_int_equal(emi_cache_flush(k.c, NULL), EM_OK);
	assert_int_equal(k.s.f.io.ios_written, 0);
	close_cache(&k);
}

/* Every transfer fails once.  A block whose read fails is the first that is not got; what is not written stays. */
static void test_failures(void **state)
{
	uint32_t kind;
	uint64_t nth;
	int more;

	(void)state;
	for (kind = 0; kind < STORE_KINDS; kind++) {
		for (nth = test_nth_after(0, 1), more = 1; more; nth = test_nth_after(nth, 1)) {
			uint32_t i, round, failed = 0;
			caller k;

			more = nth < 40;
			if (test_left_out())
				continue;
			memset(&k, 0, sizeof k);
			store_case_open(&k.s, kind, 30);
			open_cache(&k, 12, policies[nth % POLICIES]);
			em_fault_set(&k.s.f.fault[0], EM_FAULT_READ | EM_FAULT_WRITE, nth, 1);
			k.s.f.fault[0].count = 0;
			for (round = 0; round < 20; round++) {
				uint32_t block[GROUP], frame[GROUP];
				em_bid bid[GROUP];
				size_t got;
				em_status st;

				for (i = 0; i < GROUP; i++) {
					block[i] = any(&k);
					bid[i] = k.s.bid[block[i]];
				}
				st = emi_cache_get_many(k.c, bid, GROUP, EM_CACHE_WRITE, NULL, 0, frame, &got,
							&k.s.f.err);
				failed += st != EM_OK || got < GROUP;
				assert_true(st == EM_OK ||
					    (got == 0 && st == EM_ERR_IO && k.s.f.err.status == EM_ERR_IO));
				memset(&k.s.f.err, 0, sizeof k.s.f.err);
				for (i = 0; i < got; i++)
					store_case_check(&k.s, block[i], emi_cache_buf(k.c, frame[i]));
				for (i = 0; i < got; i++) {
					if (store_case_changes(&k.s))
						store_case_change(&k.s, block[i], emi_cache_buf(k.c, frame[i]));
					emi_cache_unpin(k.c, frame[i], store_case_changes(&k.s));
				}
			}
			assert_true(failed <= 1);
			if (emi_cache_flush(k.c, NULL) != EM_OK)
				assert_int_equal(emi_cache_flush(k.c, &k.s.f.err), EM_OK);
			em_fault_set(&k.s.f.fault[0], 0, 0, 0);
			close_cache(&k);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests_name("caches on stores", tests, NULL, NULL);
}
