/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_ids_model.c -- blocks of several sizes, one or many at once, on several disks, against a model with a byte
 * for each page.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "block/scratch_set.h"

enum { UNITS = 1 << 16, GROUPS = 4000, MOST = 8 };

/* Slow builds try so much less. */
static unsigned slower(void)
{
	return TEST_TSAN || test_fewer() > 1 ? 10 : 1;
}

/* Blocks that were allocated together. */
typedef struct group {
	size_t bytes;
	unsigned n;
	em_bid bid[MOST];
} group;

/* Which units are in use on each disk. */
typedef struct model {
	set s;
	test_rng rng;
	unsigned char *unit[DISKS];
	group g[GROUPS];
	unsigned groups;
	emi_disk_usage now[DISKS], all;
} model;

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void count(emi_disk_usage *u, uint64_t blocks, uint64_t bytes)
{
	u->blocks += blocks;
	u->bytes += bytes;
	u->blocks_peak = larger(u->blocks_peak, u->blocks);
	u->bytes_peak = larger(u->bytes_peak, u->bytes);
}

static void fill(model *m, const group *g, int used)
{
	static const unsigned char none[64], all[64] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	};
	unsigned i;

	for (i = 0; i < g->n; i++) {
		const uint64_t at = g->bid[i].offset / PAGE;
		const size_t n = g->bytes / PAGE;

		assert_true(g->bid[i].disk < DISKS && g->bid[i].offset % PAGE == 0 && at + n <= UNITS);
		assert_memory_equal(m->unit[g->bid[i].disk] + at, used ? none : all, n);
		memset(m->unit[g->bid[i].disk] + at, used, n);
	}
}

/* The first gap of n units on a disk; where everything ends there is one. */
static uint64_t gap_of(const model *m, uint32_t disk, uint64_t n)
{
	uint64_t i, run = 0;

	for (i = 0; i < UNITS; i++) {
		run = m->unit[disk][i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return UINT64_MAX;
}

static void compare(model *m)
{
	emi_disk_usage u;
	uint32_t i;

	for (i = 0; i < DISKS; i++) {
		emi_disk_usage_of(m->s.d, i, &u);
		assert_true(u.held >= u.bytes && u.held_peak >= u.bytes_peak);
		u.held = u.held_peak = 0;
		assert_memory_equal(&u, &m->now[i], sizeof u);
	}
	emi_disk_usage_all(m->s.d, &u);
	assert_true(u.held >= u.bytes && u.held_peak >= u.bytes_peak);
	u.held = u.held_peak = 0;
	assert_memory_equal(&u, &m->all, sizeof u);
	assert_int_equal(emi_disk_used(m->s.d), m->all.bytes);
}

static void take(model *m, const em_placement *place, int look)
{
	static const size_t pages[] = {1, 1, 2, 3, 5, 16, 33, 64};
	group *g = &m->g[m->groups];
	const uint64_t first = test_random(&m->rng);
	const uint32_t disk = (uint32_t)test_below(&m->rng, DISKS);
	uint64_t gap = 0;
	em_errinfo err = clean();
	unsigned i;

	g->bytes = pages[test_below(&m->rng, sizeof pages / sizeof *pages)] * PAGE;
	g->n = 1 + (unsigned)test_below(&m->rng, g->bytes < 16 * PAGE ? MOST : 2);
	if (test_below(&m->rng, 2)) {
		gap = look ? gap_of(m, disk, g->n * g->bytes / PAGE) : 0;
		assert_int_equal(emi_bids_alloc_row(m->s.d, disk, g->bytes, g->bid, g->n, &err), EM_OK);
		for (i = 0; i < g->n; i++) {
			assert_int_equal(g->bid[i].disk, disk);
			assert_int_equal(g->bid[i].offset, g->bid[0].offset + i * g->bytes);
		}
		if (look)
			assert_int_equal(g->bid[0].offset / PAGE, gap);
	} else {
		assert_int_equal(emi_bids_alloc(m->s.d, place, first, g->bytes, g->bid, g->n, &err), EM_OK);
		for (i = 0; i < g->n && place != NULL; i++)
			assert_int_equal(g->bid[i].disk, em_placement_disk(place, first + i));
	}
	for (i = 0; i < g->n; i++) {
		count(&m->now[g->bid[i].disk], 1, g->bytes);
		count(&m->all, 1, g->bytes);
	}
	fill(m, g, 1);
	m->groups++;
}

/* Free a group, or some of it; now and then what is not there. */
static void give(model *m, group *g)
{
	const unsigned n = test_below(&m->rng, 4) == 0 ? 1 + (unsigned)test_below(&m->rng, g->n) : g->n;
	em_errinfo err = clean();
	group gone = *g;
	unsigned i;

	gone.n = n;
	memmove(gone.bid, g->bid + g->n - n, n * sizeof *gone.bid);
	assert_int_equal(emi_bids_free(m->s.d, gone.bid, n, g->bytes, &err), EM_OK);
	fill(m, &gone, 0);
	for (i = 0; i < n; i++) {
		m->now[gone.bid[i].disk].blocks--;
		m->now[gone.bid[i].disk].bytes -= g->bytes;
	}
	m->all.blocks -= n;
	m->all.bytes -= n * g->bytes;
	if (test_below(&m->rng, 64) == 0) {
		assert_int_equal(emi_bids_free(m->s.d, gone.bid, 1, g->bytes, &err), EM_ERR_STATE);
		assert_int_equal(err.status, EM_ERR_STATE);
	}
	g->n -= n;
	if (g->n == 0)
		*g = m->g[--m->groups];
}

/* Blocks of several sizes, together or in rows, never overlap; each is where it was asked for, in the first gap; all is
 * counted. */
static void model_of(uint32_t flags, uint64_t steps)
{
	model *m = calloc(1, sizeof *m);
	em_placement place;
	uint64_t k;
	uint32_t i;

	assert_non_null(m);
	set_prepare(&m->s, DISKS, flags);
	set_start(&m->s);
	m->rng = test_rng_make(test_seed());
	assert_int_equal(em_placement_init(&place, EM_PLACE_CYCLING, DISKS, 0, test_seed(), 1), EM_OK);
	for (i = 0; i < DISKS; i++) {
		m->unit[i] = calloc(1, UNITS);
		assert_non_null(m->unit[i]);
	}
	for (k = 0; k < steps; k++) {
		/* They become many and few in turn. */
		const unsigned bias = k * 20 / steps % 2 != 0 ? 40 : 56;

		if (m->groups > 0 && (m->groups == GROUPS || test_below(&m->rng, 100) >= bias))
			give(m, &m->g[test_below(&m->rng, m->groups)]);
		else
			take(m, k % 2 == 0 ? &place : NULL, k % 1000 < 2);
		if (k % 1000 == 0)
			compare(m);
	}
	while (m->groups > 0)
		give(m, &m->g[m->groups - 1]);
	compare(m);
	/* The ends of all disks are their beginnings again. */
	for (i = 0; i < DISKS; i++) {
		em_bid bid;

		assert_int_equal(emi_bid_alloc_on(m->s.d, i, PAGE, &bid, NULL), EM_OK);
		assert_int_equal(bid.offset, 0);
		assert_int_equal(emi_bid_free(m->s.d, bid, PAGE), EM_OK);
		free(m->unit[i]);
	}
	set_stop(&m->s);
	assert_int_equal(m->s.log.warnings, 0);
	free(m);
}

static void test_model(void **state)
{
	(void)state;
	model_of(0, 1000000 / slower());
}

static void test_model_checked(void **state)
{
	(void)state;
	model_of(EM_CTX_CHECKED, 100000 / slower());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_checked),
	};

	return cmocka_run_group_tests_name("block/block_ids_model", tests, NULL, NULL);
}
