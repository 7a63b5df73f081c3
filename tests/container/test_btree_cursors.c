/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_cursors.c -- cursors of B+-trees: they stay on their records and in their gaps, whatever the tree does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"
#include "container/held.h"

enum { BLOCK = 4096, OPERATIONS = 20000, ROOM = 60000, CASES = 4 * BTREE_SHAPES, MANY = 100000 };

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

static void use_cursor(btree_case *c, uint64_t key)
{
	const unsigned k = (unsigned)below(c, c->stands);

	switch (below(c, 16)) {
	case 0:
	case 1:
	case 2:
		assert_btree_ok(c, btree_case_seek(c, k, key, (uint32_t)below(c, 5)));
		break;
	case 3:
		assert_btree_ok(c, btree_case_cursor_insert(c, k, key));
		break;
	case 4:
		assert_btree_ok(c, btree_case_cursor_put(c, k));
		break;
	case 5:
		assert_btree_ok(c, btree_case_cursor_erase(c, k));
		break;
	case 6:
		assert_btree_ok(c, btree_case_cursor_count(c, k));
		break;
	case 7:
		assert_btree_ok(c, btree_case_steps(c, k, (int)below(c, 2), below(c, 40)));
		break;
	case 8:
	case 9:
	case 10:
		assert_btree_ok(c, btree_case_stand(c, k));
		break;
	default:
		assert_btree_ok(c, btree_case_step(c, k, (int)below(c, 2)));
		break;
	}
}

static void change(btree_case *c, uint64_t key, int more)
{
	const uint64_t what = below(c, 40);

	if (what < (more ? 25u : 12u))
		assert_btree_ok(c, btree_case_insert(c, key));
	else if (what < 36)
		assert_btree_ok(c, btree_case_erase(c, key));
	else if (what == 36)
		assert_btree_ok(c, btree_case_upsert(c, key));
	else if (what == 37)
		assert_btree_ok(c, btree_case_end(c, (int)below(c, 2), 1));
	else if (what == 38)
		assert_btree_ok(c, btree_case_erase_equal(c, key));
	else if (below(c, more ? 20 : 2) == 0)
		assert_btree_ok(c, btree_case_erase_range(c, key, key + below(c, 100)));
}

static void test_model(void **state)
{
	unsigned i, k;

	(void)state;
	for (i = 0; i < CASES; i += test_step()) {
		static const uint64_t keys[] = { 3000000, 3000, 300, 40 };
		const uint64_t most = keys[(i + i / BTREE_SHAPES) % 4];
		int more = 1;
		btree_case c;

		btree_case_open(&c, em_backend_find("memory"), (btree_shape)(i % BTREE_SHAPES), ROOM,
				i % 16 == 5 ? EM_CTX_CHECKED : 0);
		c.opts.flags = i / BTREE_SHAPES % 2 != 0 ? EM_BTREE_DUPLICATES : 0;
		if (i >= 2 * BTREE_SHAPES)
			c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)40 * BLOCK;
		btree_case_make(&c);
		btree_case_cursors(&c, 1 + i % BTREE_CURSORS);
		for (k = 0; k < OPERATIONS; k++) {
			/* Where many cursors are. */
			const btree_stand *s = &c.stand[below(&c, c.stands)];
			uint64_t key = below(&c, most);

			if (below(&c, 2) == 0 && s->where >= BTREE_ON && s->i < c.n)
				key = c.entry[s->i].key + below(&c, 3) - (c.entry[s->i].key != 0);
			key = key < most ? key : most - 1;
			more = below(&c, OPERATIONS / 10) == 0 ? !more : more;
			if (k % 2 != 0)
				use_cursor(&c, key);
			else
				change(&c, key, more || c.n < 10);
			if (below(&c, OPERATIONS / 4) == 0)
				btree_case_check(&c);
			if (below(&c, OPERATIONS * 2) == 0)
				btree_case_clear(&c);
		}
		btree_case_check(&c);
		btree_case_close(&c);
	}
}

/* As many as anybody wants, on eight frames: nothing is pinned outside of calls, and reading writes nothing. */
static void test_many(void **state)
{
	em_btree_cursor **cursor = malloc(MANY * sizeof *cursor);
	em_btree_stats before, after;
	unsigned i;
	btree_case c;

	(void)state;
	assert_non_null(cursor);
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, 2 * MANY, 0);
	c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)8 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < MANY; i++)
		assert_btree_ok(&c, btree_case_insert(&c, i * 2u));
	assert_btree_ok(&c, em_btree_flush(c.t));
	before = btree_case_stats(&c);
	for (i = 0; i < MANY; i++) {
		assert_btree_ok(&c, em_btree_cursor_open(&cursor[i], c.t));
		assert_int_equal(em_btree_cursor_seek(cursor[i], btree_case_key(&c, i * 2u), EM_BTREE_EQ), EM_OK);
	}
	for (i = 0; i < MANY; i += 7) {
		assert_int_equal(em_btree_cursor_next(cursor[i], c.got), i + 1 < MANY ? EM_OK : EM_END);
		assert_int_equal(em_btree_cursor_prev(cursor[i], c.got), EM_OK);
	}
	after = btree_case_stats(&c);
	assert_int_equal(after.leaf_writes + after.node_writes, before.leaf_writes + before.node_writes);
	/* What goes between them, and what is taken out, moves them. */
	for (i = 0; i < MANY; i += 3) {
		uint64_t key = i * 2u + 1;

		assert_btree_ok(&c, btree_case_insert(&c, key));
	}
	for (i = 0; i < MANY; i += 3)
		assert_btree_ok(&c, btree_case_erase(&c, i * 2u));
	for (i = 0; i < MANY; i++) {
		const em_status st = em_btree_cursor_get(cursor[i], c.got);

		assert_int_equal(st, i % 3 == 0 ? EM_NOT_FOUND : EM_OK);
		if (st == EM_OK)
			btree_case_is(&c, c.got, btree_case_bound(&c, i * 2u, 0));
		assert_int_equal(em_btree_cursor_next(cursor[i], c.got),
				 i + 1 < MANY || i % 3 == 0 ? EM_OK : EM_END);
		if (i % 3 == 0)
			btree_case_is(&c, c.got, btree_case_bound(&c, i * 2u + 1, 0));
	}
	assert_btree_ok(&c, em_btree_verify(c.t));
	for (i = 0; i < MANY; i++)
		em_btree_cursor_close(cursor[i]);
	free(cursor);
	btree_case_close(&c);
}

/* Closed within a call, by a function of the order. */
static em_btree_cursor *victim;

static int compare(const void *a, const void *b, void *user)
{
	(void)user;
	em_btree_cursor_close(victim);
	victim = NULL;
	return memcmp(a, b, 8);
}

static void test_closed_within(void **state)
{
	em_btree_cursor *c, *other;
	em_order *order;
	em_btree *t;
	fixture f;
	int self;

	(void)state;
	for (self = 0; self < 3; self++) {
		fixture_open(&f, "memory");
		assert_int_equal(em_order_cmp(&order, f.ctx, 8, NULL, compare, 0, NULL, NULL, NULL), EM_OK);
		assert_int_equal(em_btree_open(&t, f.ctx, order, NULL), EM_OK);
		assert_int_equal(em_btree_insert(t, "1234567"), EM_OK);
		assert_int_equal(em_btree_cursor_open(&c, t), EM_OK);
		assert_int_equal(em_btree_cursor_open(&other, t), EM_OK);
		if (self == 2)
			em_btree_close(t);
		victim = self != 0 ? c : other;
		assert_int_equal(em_btree_cursor_seek(c, "1234567", EM_BTREE_GE), EM_OK);
		assert_null(victim);
		em_btree_cursor_close(self != 0 ? other : c);
		if (self != 2)
			em_btree_close(t);
		em_order_close(order);
		fixture_close(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_closed_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
