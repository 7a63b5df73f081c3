/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_schedule.c -- orders of fetching against all that are possible, for a few blocks, and against what any must
 * have, for many.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/schedule.h>
#include "common/test.h"

enum { FEW = 9, MANY = 3000, DISKS = 16 };

typedef struct problem {
	uint32_t n, disks, buffers;
	uint32_t disk[MANY];
} problem;

static uint32_t room[EM_SCHEDULE_ROOM(MANY, DISKS)];

static void draw(problem *p, test_rng *rng, uint32_t most, uint32_t most_disks, uint32_t most_buffers)
{
	uint32_t i;

	p->n = (uint32_t)test_below(rng, most + 1);
	p->disks = 1 + (uint32_t)test_below(rng, most_disks);
	p->buffers = 1 + (uint32_t)test_below(rng, most_buffers);
	for (i = 0; i < p->n; i++)
		p->disk[i] = (uint32_t)test_below(rng, p->disks);
}

static uint64_t best(const problem *p, uint32_t *order)
{
	return em_schedule_fetches(p->disk, p->n, p->disks, p->buffers, order, room);
}

static uint64_t steps(const problem *p, const uint32_t *order)
{
	return em_schedule_steps(p->disk, p->n, p->disks, p->buffers, order, room);
}

static void naive(const problem *p, uint32_t *order)
{
	uint32_t i;

	for (i = 0; i < p->n; i++)
		order[i] = i;
}

static void assert_permutation(const problem *p, const uint32_t *order)
{
	char seen[MANY] = {0};
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		assert_in_range(order[i], 0, p->n - 1);
		assert_false(seen[order[i]]);
		seen[order[i]] = 1;
	}
}

/* Blocks of the set that were fetched and are not consumed: what is in order is consumed at once. */
static uint32_t held(uint32_t set, uint32_t n)
{
	uint32_t i = 0, count = 0;

	while (i < n && (set >> i & 1) != 0)
		i++;
	for (; i < n; i++)
		count += set >> i & 1;
	return count;
}

/* Can the blocks of `set' become those of `set | more' in one step? */
static int is_step(const problem *p, uint32_t set, uint32_t more)
{
	uint32_t moved = 0, on = 0, i;

	for (i = 0; i < p->n; i++) {
		if ((more >> i & 1) == 0)
			continue;
		if ((on >> p->disk[i] & 1) != 0)
			return 0;
		on |= 1u << p->disk[i];
		moved++;
	}
	return held(set, p->n) + moved <= p->buffers;
}

/* Blocks that are in memory already. */
static uint32_t present(const problem *p)
{
	uint32_t set = 0, i;

	for (i = 0; i < p->n; i++)
		set |= (uint32_t)(p->disk[i] == EM_SCHEDULE_PRESENT) << i;
	return set;
}

/* The fewest steps of all ways there are: set by set, each being reached by some step from a smaller one. */
static uint64_t fewest(const problem *p)
{
	static uint64_t at[1 << FEW];
	const uint32_t all = (1u << p->n) - 1;
	uint32_t set, more;

	memset(at, 0xff, sizeof at);
	at[present(p)] = 0;
	for (set = present(p); set < all; set++) {
		const uint32_t rest = all & ~set;

		if (at[set] == UINT64_MAX)
			continue;
		for (more = rest; more != 0; more = (more - 1) & rest)
			if (at[set] + 1 < at[set | more] && is_step(p, set, more))
				at[set | more] = at[set] + 1;
	}
	return at[all];
}

static void test_against_all(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t order[FEW];
	unsigned round;
	problem p;

	(void)state;
	for (round = 0; round < 1500; round++) {
		draw(&p, &rng, FEW, 3, 5);
		assert_int_equal(best(&p, order), fewest(&p));
		assert_permutation(&p, order);
		assert_int_equal(steps(&p, order), fewest(&p));
	}
}

/* Some are in memory: they take buffers until they are consumed, and are not fetched. */
static void test_present(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t order[FEW], i, k, set;
	unsigned round, some = 0;
	problem p;

	(void)state;
	for (round = 0; round < 3000; round++) {
		uint64_t n;

		draw(&p, &rng, FEW, 3, 6);
		for (i = 0; i < p.n; i++)
			if (test_below(&rng, 4) == 0)
				p.disk[i] = EM_SCHEDULE_PRESENT;
		set = present(&p);
		n = best(&p, order);
		for (i = k = 0; i < p.n; i++)
			k += p.disk[i] != EM_SCHEDULE_PRESENT;
		/* All others once. */
		for (i = 0; i < k; i++) {
			assert_in_range(order[i], 0, p.n - 1);
			assert_int_equal(set >> order[i] & 1, 0);
			set |= 1u << order[i];
		}
		assert_int_equal(set, (1u << p.n) - 1);
		/* Where all buffers are taken by them, there is one more. */
		if (held(present(&p), p.n) < p.buffers && present(&p) != 0) {
			assert_int_equal(n, fewest(&p));
			some++;
		}
	}
	assert_true(some > 100);
}

static void test_many(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	static uint32_t order[MANY], plain[MANY];
	unsigned round;
	problem p;

	(void)state;
	for (round = 0; round < 300; round++) {
		uint32_t on[DISKS] = {0}, most = 0, i;
		uint64_t n;

		draw(&p, &rng, MANY, DISKS, 5 * DISKS);
		n = best(&p, order);
		assert_permutation(&p, order);
		assert_int_equal(steps(&p, order), n);
		naive(&p, plain);
		assert_true(steps(&p, plain) >= n);
		for (i = 0; i < p.n; i++)
			most = ++on[p.disk[i]] > most ? on[p.disk[i]] : most;
		assert_true(n >= most);
		/* With a buffer for each block the fullest disk is all there is to wait for. */
		p.buffers = p.n + 1;
		assert_int_equal(best(&p, order), most);
	}
}

static void test_edges(void **state)
{
	static uint32_t order[MANY], plain[MANY];
	uint32_t i;
	problem p;

	(void)state;
	memset(&p, 0, sizeof p);
	p.disks = 4;
	p.buffers = 8;
	assert_int_equal(best(&p, order), 0);
	/* One disk, or one buffer: there is only one order. */
	p.n = 100;
	naive(&p, plain);
	assert_int_equal(best(&p, order), 100);
	assert_memory_equal(order, plain, 100 * sizeof *order);
	for (i = 0; i < p.n; i++)
		p.disk[i] = i % 4;
	assert_int_equal(best(&p, order), 25);
	p.buffers = 1;
	assert_int_equal(best(&p, order), 100);
	assert_memory_equal(order, plain, 100 * sizeof *order);
	/* Full of blocks that are not the next. */
	for (i = 0; i < p.n; i++)
		order[i] = p.n - 1 - i;
	p.buffers = p.n - 1;
	assert_int_equal(steps(&p, order), 0);
	p.buffers = p.n;
	assert_int_equal(steps(&p, order), 25);
}

/* What the theory promises: with four buffers for each disk the disks are idle for an eighth of the time at most, with
 * eight for a sixteenth. */
static void test_cycling(void **state)
{
	enum { RUNS = 32, LENGTH = 90 };
	static uint32_t order[MANY];
	uint32_t disks, i, r;
	problem p;

	(void)state;
	for (disks = 2; disks <= 8; disks *= 2) {
		em_placement place[RUNS];

		for (r = 0; r < RUNS; r++)
			assert_int_equal(em_placement_init(&place[r], EM_PLACE_CYCLING, disks, 0, 1, r), EM_OK);
		p.n = RUNS * LENGTH;
		p.disks = disks;
		for (i = 0; i < LENGTH; i++)
			for (r = 0; r < RUNS; r++)
				p.disk[i * RUNS + (r * 7 + i * 5) % RUNS] = em_placement_disk(&place[r], i);
		p.buffers = 4 * disks;
		assert_true(best(&p, order) <= p.n / disks * 9 / 8);
		p.buffers = 8 * disks;
		assert_true(best(&p, order) <= p.n / disks * 17 / 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_all),
		cmocka_unit_test(test_present),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_cycling),
	};

	return cmocka_run_group_tests_name("block/schedule", tests, NULL, NULL);
}
