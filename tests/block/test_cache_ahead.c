/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache_ahead.c -- blocks that are read ahead by who passes through many: which stay, and where they come.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "block/cache_case.h"
#include "block/cache_frames.h"

/* A cache of 64 blocks, an eighth of which is the ring. */
enum { FRAMES = 64, RING = 8, FIRST = 80 };

/* All frames have blocks, of which half were wanted again. */
static void fill(cache_case *b, const em_policy *policy)
{
	uint32_t i;

	cache_case_open(b, "memory", MOST_BLOCKS);
	case_open_cache(b, FRAMES, policy);
	for (i = 0; i < FRAMES; i++)
		case_use(b, i);
	for (i = 0; i < FRAMES; i += 2)
		case_use(b, i);
}

/* Pass through blocks from the first on, so many ahead at a time. */
static void pass_to(cache_case *b, uint32_t end, uint32_t some, emi_cache_part part)
{
	uint32_t i, k;

	for (i = FIRST; i < end; i += some) {
		const uint32_t n = some < end - i ? some : end - i;

		emi_cache_hint_many(b->c, &b->bid[i], n, part);
		for (k = 0; k < n; k++)
			case_use(b, i + k);
	}
}

static void pass(cache_case *b, uint32_t some, emi_cache_part part)
{
	pass_to(b, b->n, some, part);
}

static em_cache_stats stats_of(const cache_case *b)
{
	em_cache_stats s;

	emi_cache_stats_get(b->c, &s);
	return s;
}

static void others_stay(const em_policy *policy, uint32_t some, emi_cache_part part)
{
	em_cache_stats before, after;
	uint32_t i, gone = 0;
	cache_case b;

	fill(&b, policy);
	before = stats_of(&b);
	pass(&b, some, part);
	after = stats_of(&b);
	assert_int_equal(after.misses, before.misses);
	assert_int_equal(after.reads - before.reads, MOST_BLOCKS - FIRST);
	for (i = 0; i < FRAMES; i++)
		gone += emi_cache_find(b.c, b.bid[i]) == EM_CACHE_NONE;
	assert_int_equal(gone, RING);
	cache_case_close(&b);
}

/* Each is read once, and no more than the ring leaves the cache, whatever the policy is. */
static void test_others_stay(void **state)
{
	uint32_t p, some;

	(void)state;
	for (p = 0; p < POLICIES; p++)
		for (some = 1; some <= RING / 2; some++) {
			others_stay(policies[p], some, EMI_PART_OF_ALL);
			others_stay(policies[p], some, EMI_PART_OF_RANGE);
		}
}

/* A range of one block passes, and then all blocks do: is it still there? */
static int stays(cache_case *b, uint32_t block)
{
	emi_cache_hint_many(b->c, &b->bid[block], 1, EMI_PART_OF_RANGE);
	case_use(b, block);
	pass(b, RING / 2, EMI_PART_OF_ALL);
	return emi_cache_find(b->c, b->bid[block]) != EM_CACHE_NONE;
}

/* A range that comes again stays, as if somebody had got its blocks one by one, unless it came to where the ring is. */
static void test_range_comes_again(void **state)
{
	uint32_t p, i, n;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		cache_case b;

		fill(&b, policies[p]);
		for (i = FRAMES, n = 0; i < FIRST; i++) {
			assert_false(stays(&b, i));
			n += (uint32_t)stays(&b, i);
		}
		assert_true(n >= (FIRST - FRAMES) / 4);
		cache_case_close(&b);
	}
}

/* Blocks that are hinted at together lie side by side in memory, but where the ring begins again. */
static void test_side_by_side(void **state)
{
	uint32_t i, k, beside = 0;
	cache_case b;

	(void)state;
	fill(&b, NULL);
	for (i = FIRST; i < FIRST + 10 * RING; i += 4) {
		emi_cache_hint_many(b.c, &b.bid[i], 4, EMI_PART_OF_ALL);
		for (k = 1; k < 4; k++)
			beside += emi_cache_buf(b.c, emi_cache_find(b.c, b.bid[i + k])) ==
				  emi_cache_buf(b.c, emi_cache_find(b.c, b.bid[i + k - 1])) + BLOCK;
		for (k = 0; k < 4; k++)
			case_use(&b, i + k);
	}
	assert_int_equal(beside, 10 * RING / 4 * 3);
	cache_case_close(&b);
}

/* Until nothing is on its way. */
static void await_reads(cache_case *b)
{
	while (b->c->nreading != 0) {
		sched_yield();
		emi_cache_settle_done(b->c);
	}
}

/* What is changed, pinned or still awaited in the ring stays there, and the rest of it does.  But what was read ahead
 * in vain leaves after some turns of the ring. */
static void test_ring_in_use(void **state)
{
	uint32_t i, f;
	cache_case b;

	(void)state;
	fill(&b, NULL);
	pass(&b, 1, EMI_PART_OF_ALL);
	/* The last that were passed are in it. */
	f = case_get(&b, MOST_BLOCKS - 1, EM_CACHE_READ);
	case_change(&b, MOST_BLOCKS - 2, EM_CACHE_WRITE);
	emi_cache_hint_many(b.c, &b.bid[70], 4, EMI_PART_OF_ALL);
	pass_to(&b, FIRST + RING, 2, EMI_PART_OF_ALL);
	for (i = 70; i < 72; i++)
		case_use(&b, i);
	for (; i < 74; i++)
		assert_int_not_equal(emi_cache_find(b.c, b.bid[i]), EM_CACHE_NONE);
	await_reads(&b);
	pass(&b, 2, EMI_PART_OF_ALL);
	case_check(&b, MOST_BLOCKS - 1, emi_cache_buf(b.c, f));
	emi_cache_unpin(b.c, f, 0);
	for (i = 72; i < 74; i++)
		assert_int_equal(emi_cache_find(b.c, b.bid[i]), EM_CACHE_NONE);
	assert_int_equal(case_flush(&b), EM_OK);
	case_check_disk(&b);
	cache_case_close(&b);
}

/* A ring that became smaller with its cache, or has nothing but what is in use, is done without. */
static void test_no_ring(void **state)
{
	static const uint32_t sizes[] = { 1, 4, 7, 8, 9, 16, 200 };
	em_errinfo err = EM_ERRINFO_INIT;
	uint32_t k;
	cache_case b;

	(void)state;
	fill(&b, NULL);
	pass(&b, 3, EMI_PART_OF_ALL);
	for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		assert_int_equal(emi_cache_resize(b.c, sizes[k], &err), EM_OK);
		pass(&b, 1 + sizes[k] / 4, k % 2 != 0 ? EMI_PART_OF_ALL : EMI_PART_OF_RANGE);
	}
	cache_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_stay),
		cmocka_unit_test(test_range_comes_again),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_ring_in_use),
		cmocka_unit_test(test_no_ring),
	};

	return cmocka_run_group_tests_name("block/cache_ahead", tests, NULL, NULL);
}
