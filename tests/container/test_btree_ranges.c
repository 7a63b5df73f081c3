/* SPDX-License-Identifier: BSL-1.0 */
/* test_btree_ranges.c -- many ranges of B+-trees by one call: any of them, very many, and with little memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "container/btree_case.h"

enum { ROOM = 4000, RANGES = 300, VERY_MANY = 70000 };

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

/* Some keys below 2 n, more than once where that may be. */
static void fill(btree_case *c, size_t n)
{
	while (c->n < n)
		assert_true(btree_case_insert(c, below(c, 2 * n)) >= EM_OK);
}

static void all_whole(btree_case *c, const uint64_t *from, const uint64_t *to, size_t n)
{
	assert_btree_ok(c, btree_case_visit_many(c, from, to, n, UINT64_MAX));
}

/* No range, one, the same many times, those beside each other, nested ones, and ones beyond all records; in trees that
 * are empty, that are a leaf, and that are high. */
static void test_edges(void **state)
{
	static const size_t records[] = { 0, 1, 3, 1500 };
	unsigned i, shape;

	(void)state;
	for (shape = 0; shape < 2 * BTREE_SHAPES; shape += test_step()) {
		for (i = 0; i < sizeof records / sizeof *records; i++) {
			const uint64_t end = 2 * records[i] + 3;
			uint64_t from[RANGES], to[RANGES];
			btree_case c;
			size_t k;

			btree_case_open(&c, em_backend_find("memory"), (btree_shape)(shape % BTREE_SHAPES), ROOM, 0);
			c.opts.flags = shape >= BTREE_SHAPES ? EM_BTREE_DUPLICATES : 0;
			btree_case_make(&c);
			fill(&c, records[i]);
			all_whole(&c, NULL, NULL, 0);
			all_whole(&c, NULL, NULL, 3);
			for (k = 0; k < RANGES; k++) {
				from[k] = end / 3;
				to[k] = end / 2;
			}
			all_whole(&c, from, to, 1);
			all_whole(&c, from, to, 20);
			all_whole(&c, from, NULL, 3);
			all_whole(&c, NULL, to, 3);
			/* One begins where another one ends; backward. */
			for (k = 0; k < RANGES; k++) {
				from[RANGES - 1 - k] = k * end / RANGES;
				to[RANGES - 1 - k] = (k + 1) * end / RANGES;
			}
			all_whole(&c, from, to, RANGES);
			/* Each is in the one before. */
			for (k = 0; k < 20; k++) {
				from[k] = k * end / 50;
				to[k] = end - k * end / 50;
			}
			all_whole(&c, from, to, 20);
			/* Nothing is in any, and then in most. */
			for (k = 0; k < 20; k++) {
				from[k] = end + 1 - k % 2;
				to[k] = end + 7 * (k % 3);
			}
			all_whole(&c, from, to, 20);
			from[13] = 0;
			to[13] = 5;
			to[7] = 0;
			all_whole(&c, from, to, 20);
			btree_case_close(&c);
		}
	}
}

/* Very many are taken one part after the other. */
static void test_very_many(void **state)
{
	uint64_t *from = malloc(2 * VERY_MANY * sizeof *from), *to = from + VERY_MANY;
	btree_case c;
	size_t k;

	(void)state;
	assert_non_null(from);
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, ROOM, 0);
	btree_case_make(&c);
	fill(&c, ROOM / 2);
	for (k = 0; k < VERY_MANY; k++) {
		from[k] = below(&c, ROOM);
		to[k] = from[k] + below(&c, 7);
	}
	all_whole(&c, from, to, VERY_MANY);
	all_whole(&c, from, to, 1 << 16);
	all_whole(&c, from, to, (1 << 16) + 1);
	free(from);
	btree_case_close(&c);
}

/* The less memory there is the fewer are taken at a time: only with none for a single one are they refused. */
static void test_little_memory(void **state)
{
	unsigned shape;

	(void)state;
	for (shape = 0; shape < BTREE_SHAPES; shape += test_step()) {
		uint64_t from[RANGES], to[RANGES], left, refused = 0, whole = 0;
		btree_case c;
		size_t k;

		btree_case_open(&c, em_backend_find("memory"), (btree_shape)shape, ROOM, 0);
		btree_case_make(&c);
		fill(&c, ROOM / 2);
		for (k = 0; k < RANGES; k++) {
			from[k] = below(&c, ROOM);
			to[k] = from[k] + below(&c, 100);
		}
		/* What the tree itself wants it has. */
		all_whole(&c, from, to, RANGES);
		for (left = 0; whole < 8; left += left / 2 + 32) {
			const uint64_t bytes = em_ctx_memory(c.f.ctx) - em_ctx_memory_used(c.f.ctx) - left;
			void *taken = emi_alloc(c.f.ctx, (size_t)bytes, &c.err);
			em_status st;

			assert_non_null(taken);
			st = btree_case_visit_many(&c, from, to, RANGES, UINT64_MAX);
			if (st != EM_OK)
				assert_int_equal(st, EM_ERR_MEMLIMIT);
			assert_true(st != EM_OK || left >= 56);
			assert_true(st == EM_OK || left < 16384);
			refused += st != EM_OK;
			whole += st == EM_OK;
			emi_free(c.f.ctx, taken, (size_t)bytes);
		}
		assert_true(refused != 0);
		btree_case_close(&c);
	}
}

static int never(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	(void)n;
	fail();
	return 0;
}

/* More than there can be in memory. */
static void test_too_many(void **state)
{
	uint64_t key = 1;
	btree_case c;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, ROOM, 0);
	btree_case_make(&c);
	assert_int_equal(em_btree_for_each_many(c.t, &key, NULL, UINT64_MAX / 2, never, NULL), EM_ERR_RANGE);
	em_btree_error(c.t, &c.err);
	assert_non_null(strstr(c.err.text, "9223372036854775807 ranges"));
	btree_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
