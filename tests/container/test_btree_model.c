/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_model.c -- B+-trees of small blocks in the least memory against a sorted array, by random operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"

enum { RANGES = 12, OPERATIONS = 20000, LONG = 1000000, ROOM = 60000, CASES = 4 * BTREE_SHAPES };

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

/* A range of a few records as a rule, which may be empty, or none at all. */
static void visit(btree_case *c, uint64_t keys, uint64_t key)
{
	const uint64_t all = below(c, 50), stop = below(c, 3) == 0 ? below(c, 20) : UINT64_MAX;
	const uint64_t end = below(c, 10) != 0 ? key + below(c, 30) : below(c, keys);

	assert_btree_ok(c, btree_case_visit(c, all == 0 ? UINT64_MAX : key, all == 1 ? UINT64_MAX : end, stop));
}

/* Some ranges at a time, of which many overlap. */
static void visit_many(btree_case *c, uint64_t keys, uint64_t key)
{
	const uint64_t all = below(c, 50), stop = below(c, 3) == 0 ? below(c, 80) : UINT64_MAX;
	const size_t n = (size_t)below(c, RANGES + 1);
	uint64_t from[RANGES], to[RANGES];
	size_t i;

	for (i = 0; i < n; i++) {
		from[i] = below(c, 3) == 0 ? below(c, keys) : key + below(c, 50);
		to[i] = below(c, 10) != 0 ? from[i] + below(c, 30) : below(c, keys);
	}
	assert_btree_ok(c, btree_case_visit_many(c, all == 0 ? NULL : from, all == 1 ? NULL : to, all < 2 ? n % 3 : n,
						 stop));
}

/* One call of any kind; more: the tree is to grow. */
static void operate(btree_case *c, uint64_t keys, int more)
{
	const uint64_t what = below(c, 100), key = below(c, keys);

	if (what < 20 + (more ? 30u : 0u)) {
		assert_btree_ok(c, btree_case_insert(c, key));
	} else if (what < 55) {
		assert_btree_ok(c, btree_case_erase(c, key));
	} else if (what < 65) {
		assert_btree_ok(c, btree_case_get(c, key));
	} else if (what < 73) {
		assert_btree_ok(c, btree_case_look(c, key, (int)below(c, 2)));
	} else if (what < 80) {
		assert_btree_ok(c, btree_case_upsert(c, key));
	} else if (what < 86) {
		assert_btree_ok(c, btree_case_end(c, (int)below(c, 2), more ? 0 : (int)below(c, 2)));
	} else if (what < 90) {
		const uint64_t how = below(c, 8);

		if (how < 4)
			assert_btree_ok(c, btree_case_count(c, key, key + below(c, 30)));
		else if (how < 7)
			visit(c, keys, key);
		else
			visit_many(c, keys, key);
	} else if (what < 93) {
		assert_btree_ok(c, btree_case_erase_equal(c, key));
	} else if (what == 93 && below(c, more ? 40 : 10) == 0) {
		assert_btree_ok(c, btree_case_erase_range(c, key, key + below(c, keys / 4)));
	}
}

static void run(btree_case *c, unsigned operations, uint64_t keys)
{
	uint64_t next = below(c, keys);
	unsigned i;
	int more = 1;

	for (i = 0; i < operations; i++) {
		if (below(c, operations / 10) == 0)
			more = !more;
		if (below(c, operations * 2) == 0) {
			assert_btree_ok(c, em_btree_clear(c->t));
			c->n = 0;
		}
		/* Now and then keys come in order. */
		if (i / 500 % 8 == 3)
			assert_btree_ok(c, btree_case_insert(c, next++ % keys));
		else
			operate(c, keys, more || c->n < 10);
		if (below(c, operations / 8) == 0)
			btree_case_check(c);
	}
	btree_case_check(c);
}

static void test_model(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < CASES; i += test_step()) {
		static const uint64_t keys[] = { 3000000, 3000, 300, 40 };
		btree_case c;

		btree_case_open(&c, em_backend_find(i % 8 == 1 ? "syscall" : "memory"), (btree_shape)(i % BTREE_SHAPES),
				ROOM, i % 16 == 5 ? EM_CTX_CHECKED : 0);
		c.opts.flags = i / BTREE_SHAPES % 2 != 0 ? EM_BTREE_DUPLICATES : 0;
		if (i >= 2 * BTREE_SHAPES)
			c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)40 * 4096;
		btree_case_make(&c);
		run(&c, OPERATIONS, keys[(i + i / BTREE_SHAPES) % 4]);
		while (c.n != 0)
			assert_btree_ok(&c, btree_case_end(&c, (int)below(&c, 2), 1));
		btree_case_check(&c);
		assert_int_equal(btree_case_stats(&c).leaves, 0);
		btree_case_close(&c);
	}
}

/* A million operations, on five levels. */
static void test_long(void **state)
{
	unsigned i;
	em_btree_stats s;
	btree_case c;
	uint32_t height = 0;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_BYTES, ROOM, 0);
	c.opts.flags = EM_BTREE_DUPLICATES;
	c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)60 * 4096;
	btree_case_make(&c);
	for (i = 0; i < LONG; i += 50000 * test_step()) {
		run(&c, 50000, 8000);
		s = btree_case_stats(&c);
		height = s.height > height ? s.height : height;
	}
	assert_true(height >= 5 || test_fewer() > 1);
	print_message("height %u, %llu splits, %llu shares, %llu fusions\n", height, (unsigned long long)s.splits,
		      (unsigned long long)s.shares, (unsigned long long)s.fusions);
	assert_true(s.splits > 1000 && s.shares > 1000 && s.fusions > 1000);
	btree_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
