/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache.c -- a cache of blocks against a plain array, with every policy, on one disk and on several; and what it
 * does when there is no frame left.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "block/cache_case.h"
#include "block/policy.h"

/* What a random caller holds. */
typedef struct pinned {
	uint32_t f;
	uint32_t i;
	int dirty;
} pinned;

/* Any calls in any order, as a caller may who holds a few blocks; contents are always what they should be. */
static void random_calls(cache_case *b, uint32_t frames, uint32_t calls)
{
	const uint32_t most = frames > 2 ? frames - 2 : 1;
	uint64_t gets = 0;
	pinned held[MOST_BLOCKS];
	char *detached[MOST_BLOCKS];
	em_cache_stats stats;
	uint32_t n = 0, ndetached = 0, k, h;

	for (k = 0; k < calls; k++) {
		/* Some are wanted more often. */
		const uint32_t i = (uint32_t)test_below(&b->f.rng, 1 + test_below(&b->f.rng, b->n));
		const uint32_t what = (uint32_t)test_below(&b->f.rng, 100);

		memset(&b->f.err, 0, sizeof(b->f.err));
		if (what < 60 && n + ndetached < most) {
			const uint32_t mode = (uint32_t)test_below(&b->f.rng, 3);

			held[n].i = i;
			held[n].dirty = mode != EM_CACHE_READ && (mode == EM_CACHE_FRESH || test_below(&b->f.rng, 2));
			/* Who reads holds what it was. */
			for (h = 0; h < n; h++)
				if (held[h].i == i)
					break;
			if (h < n && mode == EM_CACHE_FRESH)
				continue;
			held[n].f = case_get(b, i, mode);
			gets++;
			if (held[n].dirty) {
				b->version[i]++;
				case_fill(b, i, emi_cache_buf(b->c, held[n].f));
			}
			n++;
		} else if (what < 80 && n > 0) {
			h = (uint32_t)test_below(&b->f.rng, n);
			case_check(b, held[h].i, emi_cache_buf(b->c, held[h].f));
			emi_cache_unpin(b->c, held[h].f, held[h].dirty);
			held[h] = held[--n];
		} else if (what < 85) {
			emi_cache_hint(b->c, b->bid[i]);
		} else if (what < 90) {
			const size_t some = test_below(&b->f.rng, b->n - i + 1), few = some < 10 ? some : 10;

			emi_cache_hint_many(b->c, &b->bid[i], few, (emi_cache_part)test_below(&b->f.rng, 3));
		} else if (what < 91) {
			/* What is pinned is written as it is. */
			assert_int_equal(case_flush(b), EM_OK);
		} else if (what < 94) {
			for (h = 0; h < n; h++)
				if (held[h].i == i)
					break;
			assert_int_equal(case_forget(b, i), h < n ? EM_ERR_STATE : EM_OK);
			if (h == n) {
				emi_bid_free(b->f.disk, b->bid[i], BLOCK);
				assert_int_equal(emi_bid_alloc(b->f.disk, BLOCK, &b->bid[i], &b->f.err), EM_OK);
				b->version[i]++;
				case_write_disk(b, i);
			}
		} else if (what < 96 && n + ndetached < most) {
			assert_int_equal(emi_cache_detach(b->c, &detached[ndetached], &b->f.err), EM_OK);
			memset(detached[ndetached++], 0xee, BLOCK);
			assert_int_equal(emi_cache_frames(b->c), frames - ndetached);
		} else if (what < 98 && ndetached > 0) {
			emi_cache_attach(b->c, detached[--ndetached]);
		}
	}
	while (n > 0) {
		n--;
		case_check(b, held[n].i, emi_cache_buf(b->c, held[n].f));
		emi_cache_unpin(b->c, held[n].f, held[n].dirty);
	}
	while (ndetached > 0)
		emi_cache_attach(b->c, detached[--ndetached]);
	assert_int_equal(case_flush(b), EM_OK);
	assert_int_equal(emi_cache_dirty(b->c), 0);
	case_check_disk(b);
	emi_cache_stats_get(b->c, &stats);
	assert_int_equal(stats.hits + stats.misses, gets);
	assert_true(stats.reads <= stats.misses + stats.hints);
	assert_true(stats.writes <= b->f.io.ios_written);
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
				cache_case b;

				cache_case_open(&b, backends[k], 1 + (uint32_t)(p * 13 + s * 7) + sizes[s]);
				b.opts.batch = (uint32_t)test_below(&b.f.rng, 5);
				case_open_cache(&b, sizes[s], policies[p]);
				random_calls(&b, sizes[s], k == 0 ? 3000 : 800);
				cache_case_close(&b);
			}
}

/* A backend whose writes take that long, from when they are not held; both are atomic. */
static long write_ns;
static int writes_held;

static int64_t slow_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const struct timespec t = {0, __atomic_load_n(&write_ns, __ATOMIC_RELAXED)}, moment = {0, 1000000};

	while (__atomic_load_n(&writes_held, __ATOMIC_RELAXED))
		nanosleep(&moment, NULL);
	if (t.tv_nsec != 0)
		nanosleep(&t, NULL);
	return em_backend_find("memory")->write(handle, buf, bytes, offset);
}

static void slow_open(cache_case *b, em_backend *slow, uint32_t n, long ns)
{
	*slow = *em_backend_find("memory");
	slow->write = slow_write;
	__atomic_store_n(&write_ns, 0, __ATOMIC_RELAXED);
	cache_case_open_on(b, slow, n);
	__atomic_store_n(&write_ns, ns, __ATOMIC_RELAXED);
}

/* The same with writes that are under way for long. */
static void test_slow_writes(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		em_backend slow;
		cache_case b;

		slow_open(&b, &slow, 30, 100000);
		case_open_cache(&b, 12, policies[p]);
		random_calls(&b, 12, 2000);
		cache_case_close(&b);
	}
}

/* On several disks, of which the first is slow: whatever is called, and all of them are used. */
static void test_several_disks(void **state)
{
	const em_backend *memory = em_backend_find("memory");
	uint32_t disks, i;
	size_t p;

	(void)state;
	for (disks = 2; disks <= FIXTURE_DISKS; disks++) {
		for (p = 0; p < POLICIES; p++) {
			em_backend slow = *memory;
			const em_backend *backends[FIXTURE_DISKS] = {&slow, memory, memory};
			uint64_t before[FIXTURE_DISKS];
			cache_case b;

			slow.write = slow_write;
			__atomic_store_n(&write_ns, 0, __ATOMIC_RELAXED);
			cache_case_open_disks(&b, backends, disks, 60);
			__atomic_store_n(&write_ns, 50000, __ATOMIC_RELAXED);
			for (i = 0; i < disks; i++) {
				b.f.fault[i].ops = EM_FAULT_READ | EM_FAULT_WRITE;
				before[i] = b.f.fault[i].count;
			}
			case_open_cache(&b, 16, policies[p]);
			random_calls(&b, 16, 1500);
			for (i = 0; i < disks; i++)
				assert_true(b.f.fault[i].count - before[i] > 100);
			cache_case_close(&b);
		}
	}
}

/* A block on its way to the disk can be read without waiting or reading; who wants to change it waits. */
static void test_under_way(void **state)
{
	em_cache_stats s;
	em_backend slow;
	uint32_t i;
	cache_case b;

	(void)state;
	slow_open(&b, &slow, 6, 30000000);
	b.opts.batch = 1;
	case_open_cache(&b, 4, &emi_policy_lru);
	__atomic_store_n(&writes_held, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		case_change(&b, i, EM_CACHE_WRITE);
	case_use(&b, 3);
	/* The first one is sent, and the clean one gives its frame. */
	case_use(&b, 4);
	case_use(&b, 0);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.write_backs, 1);
	assert_int_equal(s.reads, 5);
	assert_int_equal(s.waits, 0);
	__atomic_store_n(&writes_held, 0, __ATOMIC_RELAXED);
	case_change(&b, 0, EM_CACHE_WRITE);
	case_change(&b, 0, EM_CACHE_FRESH);
	assert_int_equal(emi_cache_dirty(b.c), 3);
	case_use(&b, 5);
	case_use(&b, 0);
	assert_int_equal(case_flush(&b), EM_OK);
	case_check_disk(&b);
	cache_case_close(&b);
}

/* What turns out to be changed while it is under way is written again. */
static void test_changed_under_way(void **state)
{
	em_cache_stats s;
	em_backend slow;
	uint32_t i;
	cache_case b;

	(void)state;
	slow_open(&b, &slow, 6, 30000000);
	b.opts.batch = 1;
	case_open_cache(&b, 4, &emi_policy_lru);
	for (i = 0; i < 3; i++)
		case_change(&b, i, EM_CACHE_WRITE);
	case_use(&b, 3);
	case_use(&b, 4);
	emi_cache_unpin(b.c, case_get(&b, 0, EM_CACHE_READ), 1);
	assert_int_equal(case_flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	/* The first write of it is taken back if it was not begun. */
	assert_in_range(s.writes, 3, 4);
	case_check_disk(&b);
	cache_case_close(&b);
}

/* What is pinned is not written ahead. */
static void test_pinned_stays(void **state)
{
	em_cache_stats s;
	uint32_t f;
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 20);
	case_open_cache(&b, 4, &emi_policy_lru);
	case_change(&b, 0, EM_CACHE_WRITE);
	f = case_get(&b, 0, EM_CACHE_WRITE);
	for (i = 1; i < 20; i++)
		case_use(&b, i);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.write_backs, 0);
	emi_cache_unpin(b.c, f, 0);
	cache_case_close(&b);
}

/* A block that was hinted and got once was used once: a scan with hints passes as one without. */
static void test_hinted_scan(void **state)
{
	em_cache_stats s;
	uint32_t i, k;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", MOST_BLOCKS);
	case_open_cache(&b, 20, &emi_policy_s3fifo);
	for (k = 0; k < 3; k++)
		for (i = 0; i < 10; i++)
			case_use(&b, i);
	for (i = 10; i < MOST_BLOCKS; i++) {
		emi_cache_hint(b.c, b.bid[i]);
		case_use(&b, i);
	}
	for (i = 0; i < 10; i++)
		case_use(&b, i);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.misses, 10);
	assert_int_equal(s.reads, MOST_BLOCKS);
	cache_case_close(&b);
}

/* What each call counts. */
static void test_counts(void **state)
{
	em_cache_stats s;
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 8);
	case_open_cache(&b, 4, &emi_policy_lru);
	for (i = 0; i < 4; i++)
		case_use(&b, i);
	for (i = 0; i < 4; i++)
		case_use(&b, i);
	case_change(&b, 0, EM_CACHE_WRITE);
	assert_int_equal(emi_cache_dirty(b.c), 1);
	/* Of four frames one is changed; the others go first, or it is written. */
	case_change(&b, 4, EM_CACHE_FRESH);
	assert_int_equal(case_flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.hits, 5);
	assert_int_equal(s.misses, 5);
	assert_int_equal(s.reads, 4);
	assert_int_equal(s.writes, 2);
	assert_int_equal(b.f.io.ios_read, 4);
	assert_int_equal(b.f.io.ios_written, 2);
	/* Nothing changed, nothing is written. */
	assert_int_equal(case_flush(&b), EM_OK);
	assert_int_equal(b.f.io.ios_written, 2);
	/* A hint is one read, and a hit then. */
	emi_cache_hint(b.c, b.bid[7]);
	emi_cache_hint(b.c, b.bid[7]);
	case_use(&b, 7);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.hits, 6);
	assert_int_equal(s.reads, 5);
	assert_int_equal(s.hints, 1);
	case_check_disk(&b);
	cache_case_close(&b);
}

/* The first victim that is changed takes as many along as a batch has; in the end each was written once. */
static void test_batches(void **state)
{
	em_cache_stats s;
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", MOST_BLOCKS);
	case_open_cache(&b, 64, &emi_policy_lru);
	for (i = 0; i < b.n; i++) {
		case_change(&b, i, EM_CACHE_FRESH);
		emi_cache_stats_get(b.c, &s);
		if (i <= 64)
			assert_int_equal(s.write_backs, i < 64 ? 0 : 16);
	}
	assert_int_equal(s.reads, 0);
	assert_true(s.write_backs >= b.n - 64 && s.write_backs <= b.n - 64 + 2 * 16);
	assert_int_equal(case_flush(&b), EM_OK);
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.writes, b.n);
	case_check_disk(&b);
	cache_case_close(&b);
}

/* A clean block that is used all the time stays among changed ones that are not. */
static void test_clean_root(void **state)
{
	em_cache_stats s;
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", MOST_BLOCKS);
	b.opts.batch = 2;
	case_open_cache(&b, 40, &emi_policy_lru);
	for (i = 1; i < b.n; i++) {
		case_use(&b, 0);
		case_change(&b, i, EM_CACHE_FRESH);
	}
	emi_cache_stats_get(b.c, &s);
	assert_int_equal(s.reads, 1);
	cache_case_close(&b);
}

/* With all frames pinned there is an error, not a wait for ever; and all is well when one is not. */
static void test_all_pinned(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		uint32_t f[6], none;
		char *buf;
		uint32_t i;
		cache_case b;

		cache_case_open(&b, "memory", 10);
		case_open_cache(&b, 6, policies[p]);
		for (i = 0; i < 6; i++)
			f[i] = case_get(&b, i, i % 2 ? EM_CACHE_READ : EM_CACHE_WRITE);
		assert_int_equal(case_try_get(&b, 6, EM_CACHE_READ, &none), EM_ERR_STATE);
		assert_string_equal(b.f.err.text, "all 6 frames of the cache are pinned");
		assert_int_equal(case_try_get(&b, 6, EM_CACHE_FRESH, &none), EM_ERR_STATE);
		assert_int_equal(emi_cache_detach(b.c, &buf, NULL), EM_ERR_STATE);
		assert_null(buf);
		emi_cache_hint(b.c, b.bid[7]);
		assert_int_equal(case_forget(&b, 0), EM_ERR_STATE);
		/* What is there can be had. */
		emi_cache_unpin(b.c, case_get(&b, 3, EM_CACHE_READ), 0);
		emi_cache_unpin(b.c, f[2], 1);
		case_use(&b, 6);
		for (i = 0; i < 6; i++)
			if (i != 2)
				emi_cache_unpin(b.c, f[i], 0);
		for (i = 0; i < 10; i++)
			case_use(&b, i);
		cache_case_close(&b);
	}
}

/* Frames that were detached, and attached again. */
static void test_detach(void **state)
{
	uint32_t i, n;
	char *buf[8];
	uint32_t none;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 20);
	case_open_cache(&b, 8, NULL);
	for (i = 0; i < 20; i++)
		case_change(&b, i, EM_CACHE_WRITE);
	for (n = 0; n < 8; n++) {
		assert_int_equal(emi_cache_detach(b.c, &buf[n], &b.f.err), EM_OK);
		memset(buf[n], 0xee, BLOCK);
	}
	assert_int_equal(emi_cache_frames(b.c), 0);
	assert_int_equal(emi_cache_dirty(b.c), 0);
	assert_int_equal(case_try_get(&b, 0, EM_CACHE_READ, &none), EM_ERR_STATE);
	case_check_disk(&b);
	while (n > 0) {
		emi_cache_attach(b.c, buf[--n]);
		for (i = 0; i < 20; i++)
			case_change(&b, i, EM_CACHE_WRITE);
	}
	/* Closed with one that is elsewhere. */
	assert_int_equal(emi_cache_detach(b.c, &buf[0], &b.f.err), EM_OK);
	cache_case_close(&b);
}

static void test_trace(void **state)
{
	em_cache_access access[3];
	em_cache_trace trace = {access, 3, 0};
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 8);
	b.opts.trace = em_cache_trace_record;
	b.opts.trace_user = &trace;
	case_open_cache(&b, 4, NULL);
	case_use(&b, 3);
	case_change(&b, 5, EM_CACHE_WRITE);
	case_change(&b, 3, EM_CACHE_FRESH);
	case_use(&b, 1);
	assert_int_equal(trace.n, 4);
	for (i = 0; i < 3; i++) {
		assert_int_equal(access[i].offset, b.bid[i == 1 ? 5 : 3].offset);
		assert_int_equal(access[i].disk, b.bid[0].disk);
		assert_int_equal(access[i].write, i > 0);
	}
	cache_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_slow_writes),
		cmocka_unit_test(test_several_disks),
		cmocka_unit_test(test_under_way),
		cmocka_unit_test(test_changed_under_way),
		cmocka_unit_test(test_pinned_stays),
		cmocka_unit_test(test_hinted_scan),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_clean_root),
		cmocka_unit_test(test_all_pinned),
		cmocka_unit_test(test_detach),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
