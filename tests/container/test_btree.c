/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree.c -- what B+-trees promise beside the order of their records: how full leaves are, what is small, how many
 * transfers there are, how much memory, what is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include <extmem/text.h>

#include "container/btree_case.h"

enum { BLOCK = 4096 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

/* How full leaves are, of what they hold in order. */
static double fill(const btree_case *c)
{
	const em_btree_stats s = btree_case_stats(c);
	const uint64_t most = (s.leaf_bytes - 32) / c->record;

	return (double)s.records / (double)s.leaves / (double)most;
}

static void insert(btree_case *c, uint64_t key)
{
	btree_case_record(c, c->buf, key, (uint32_t)key);
	assert_int_equal(em_btree_insert(c->t, c->buf), EM_OK);
}

/* Ascending records fill leaves, at the end of a tree and behind any leaf in it. */
static void test_ascending(void **state)
{
	uint64_t i;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	btree_case_make(&c);
	for (i = 0; i < 50000; i++)
		insert(&c, i + 1);
	assert_true(fill(&c) > 0.98);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	assert_int_equal(em_btree_clear(c.t), EM_OK);
	for (i = 0; i < 20000; i++)
		insert(&c, (i + 1) << 32);
	for (i = 0; i < 30000; i++)
		insert(&c, (uint64_t)12345 << 32 | (i + 1));
	assert_true(fill(&c) > 0.9);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	/* A few in order in each of many places are no series: of full leaves no more than halves are made. */
	assert_int_equal(em_btree_clear(c.t), EM_OK);
	for (i = 0; i < 20000; i++)
		insert(&c, (i + 1) << 32);
	for (i = 0; i < 30000; i++)
		insert(&c, (i / 6 * 4 + 1) << 32 | (i % 6 + 1));
	assert_true(fill(&c) > 0.45);
	/* In any order they are two thirds full, and more. */
	assert_int_equal(em_btree_clear(c.t), EM_OK);
	for (i = 0; i < 50000; i++)
		insert(&c, i * 2654435761u % ((uint64_t)1 << 32) + 1);
	assert_true(fill(&c) > 0.66);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	btree_case_close(&c);
}

/* The same of those that any leaf holds. */
static double fill_of_any(const btree_case *c)
{
	const em_btree_stats s = btree_case_stats(c);

	return (double)s.records / (double)s.leaves / (double)s.leaf_records;
}

/* Likewise when they descend, whatever the size of a record. */
static void test_descending(void **state)
{
	static const btree_shape shapes[] = { BTREE_SET, BTREE_U64 };
	uint64_t i;
	unsigned s;
	btree_case c;

	(void)state;
	for (s = 0; s < 2; s++) {
		btree_case_open(&c, memory(), shapes[s], 1, 0);
		btree_case_make(&c);
		for (i = 50000; i-- != 0;)
			insert(&c, i + 1);
		assert_true(fill_of_any(&c) > 0.98);
		assert_int_equal(em_btree_verify(c.t), EM_OK);
		assert_int_equal(em_btree_clear(c.t), EM_OK);
		for (i = 20000; i-- != 0;)
			insert(&c, (i + 1) * 40000);
		for (i = 30000; i-- != 0;)
			insert(&c, (uint64_t)12345 * 40000 + i + 1);
		assert_true(fill_of_any(&c) > 0.9);
		assert_int_equal(em_btree_verify(c.t), EM_OK);
		/* Towards each other, too. */
		assert_int_equal(em_btree_clear(c.t), EM_OK);
		for (i = 0; i < 25000; i++)
			insert(&c, i + 1);
		for (i = 50000; i-- != 25000;)
			insert(&c, i + 1);
		assert_true(fill_of_any(&c) > 0.9);
		assert_int_equal(em_btree_verify(c.t), EM_OK);
		btree_case_close(&c);
	}
}

/* A tree that is full grows by half when a record comes into each leaf, and not to twice its size. */
static void test_full_leaves(void **state)
{
	em_btree_stats before, after;
	uint64_t i, step;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	c.opts.node_cache_bytes = (uint64_t)100 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < 50000; i++)
		insert(&c, (i + 1) << 32);
	before = btree_case_stats(&c);
	step = 50000 / before.leaves / 2;
	for (i = 0; i < 2 * before.leaves; i++)
		insert(&c, (uint64_t)(i * 7919 % (2 * before.leaves) * step + 1) << 32 | (i + 1));
	after = btree_case_stats(&c);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	assert_in_range(after.leaves, before.leaves + 1, before.leaves * 155 / 100);
	/* Where a neighbour has room there is no other leaf. */
	before = after;
	for (i = 0; i < 2 * before.leaves; i++)
		insert(&c, (uint64_t)777 << 32 | (i * 7919 % (2 * before.leaves) + 1));
	after = btree_case_stats(&c);
	assert_true(after.shares > before.shares);
	btree_case_close(&c);
}

/* A leaf that is cut, or becomes one with its neighbour, does not have the one behind read or written; and who goes
 * backwards comes through all of them nevertheless. */
static void test_links(void **state)
{
	em_btree_cursor *cursor;
	em_btree_stats before, after;
	uint64_t i, n = 0;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	c.opts.node_cache_bytes = (uint64_t)100 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < 50000; i++)
		insert(&c, (i + 1) << 32);
	assert_int_equal(em_btree_flush(c.t), EM_OK);
	before = btree_case_stats(&c);
	/* A series in one place: two leaves come for each that is full, and one is read at first. */
	for (i = 0; i < 5000; i++)
		insert(&c, (uint64_t)20000 << 32 | (i + 1));
	assert_int_equal(em_btree_flush(c.t), EM_OK);
	after = btree_case_stats(&c);
	assert_in_range(after.leaf_reads - before.leaf_reads, 1, 3);
	assert_in_range(after.leaf_writes - before.leaf_writes, 1, after.leaves - before.leaves + 3);
	for (i = 0; i < 50000; i++)
		if (i % 8 != 0)
			assert_int_equal(em_btree_erase(c.t, btree_case_key(&c, (i + 1) << 32), NULL), EM_OK);
	for (i = 0; i < 20000; i++)
		insert(&c, (uint64_t)(i * 7919 % 20000) << 33 | 9000);
	assert_true(btree_case_stats(&c).fusions > 50);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	assert_int_equal(em_btree_cursor_open(&cursor, c.t), EM_OK);
	assert_int_equal(em_btree_cursor_seek(cursor, NULL, EM_BTREE_LE), EM_OK);
	do
		n++;
	while (em_btree_cursor_prev(cursor, NULL) == EM_OK);
	assert_int_equal(n, em_btree_size(c.t));
	em_btree_cursor_close(cursor);
	btree_case_close(&c);
}

/* Leaves that lose all of their records are read once, ahead of their turn, and not written. */
static void test_range(void **state)
{
	em_btree_cursor *cursor;
	em_btree_stats before, after;
	uint64_t erased, i;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	c.opts.cache_bytes = (uint64_t)64 * BLOCK;
	c.opts.node_cache_bytes = (uint64_t)100 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < 60000; i++)
		insert(&c, i + 1);
	assert_int_equal(em_btree_flush(c.t), EM_OK);
	assert_int_equal(em_btree_cursor_open(&cursor, c.t), EM_OK);
	assert_int_equal(em_btree_cursor_seek(cursor, btree_case_key(&c, 30000), EM_BTREE_EQ), EM_OK);
	before = btree_case_stats(&c);
	memcpy(c.buf, btree_case_key(&c, 5000), before.key_bytes);
	assert_int_equal(em_btree_erase_range(c.t, c.buf, btree_case_key(&c, 55000), &erased), EM_OK);
	assert_int_equal(erased, 50000);
	assert_int_equal(em_btree_flush(c.t), EM_OK);
	after = btree_case_stats(&c);
	assert_in_range(before.leaves - after.leaves, 50000 / 254 - 2, 50000 / 254 + 1);
	assert_in_range(after.leaf_reads - before.leaf_reads, 100, before.leaves);
	assert_true(after.leaf_writes - before.leaf_writes <= 4);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	/* The cursor is in the gap. */
	assert_int_equal(em_btree_cursor_get(cursor, NULL), EM_NOT_FOUND);
	assert_int_equal(em_btree_cursor_next(cursor, c.got), EM_OK);
	assert_int_equal(em_btree_get(c.t, btree_case_key(&c, 55000), c.buf), EM_OK);
	assert_memory_equal(c.got, c.buf, c.record);
	assert_int_equal(em_btree_cursor_prev(cursor, c.got), EM_OK);
	assert_int_equal(em_btree_get(c.t, btree_case_key(&c, 4999), c.buf), EM_OK);
	assert_memory_equal(c.got, c.buf, c.record);
	/* To either end, and all. */
	assert_int_equal(em_btree_erase_range(c.t, btree_case_key(&c, 57000), NULL, &erased), EM_OK);
	assert_int_equal(erased, 3001);
	assert_int_equal(em_btree_erase_range(c.t, NULL, btree_case_key(&c, 3000), &erased), EM_OK);
	assert_int_equal(erased, 2999);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	assert_int_equal(em_btree_erase_range(c.t, NULL, NULL, &erased), EM_OK);
	assert_int_equal(erased, 4000);
	assert_int_equal(em_btree_size(c.t), 0);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	em_btree_cursor_close(cursor);
	btree_case_close(&c);
}

/* Whatever is taken out, leaves are a third full at least on average. */
static void test_emptying(void **state)
{
	uint64_t i, keep;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	btree_case_make(&c);
	for (i = 0; i < 50000; i++)
		insert(&c, i + 1);
	for (keep = 2; keep <= 128; keep *= 2) {
		for (i = 0; i < 50000; i++)
			if ((i + 1) % keep != 0)
				assert_true(em_btree_erase(c.t, btree_case_key(&c, i + 1), NULL) >= EM_OK);
		assert_int_equal(em_btree_verify(c.t), EM_OK);
		assert_int_equal(em_btree_size(c.t), 50000 / keep);
		assert_true(btree_case_stats(&c).height == 0 || fill(&c) > 0.3);
	}
	assert_true(btree_case_stats(&c).fusions > 100);
	btree_case_close(&c);
}

/* Few records: no disk, and memory that grows with them. */
static void test_small(void **state)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	uint64_t bytes, i;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	c.opts = plain;
	c.f.fault[0].ops = EM_FAULT_ALL;
	c.f.fault[0].count = 0;
	bytes = c.f.mem.bytes;
	btree_case_make(&c);
	assert_true(c.f.mem.bytes - bytes < 8 * 1024);
	for (i = 0; i < 10; i++)
		insert(&c, i);
	assert_true(c.f.mem.bytes - bytes < 16 * 1024);
	for (; i < 1000; i++)
		insert(&c, i * 7919 % 1000003);
	assert_true(c.f.mem.bytes - bytes < 48 * 1024);
	for (; i < 30000; i++)
		insert(&c, i * 7919 % 1000003);
	assert_int_equal(c.f.fault[0].count, 0);
	assert_int_equal(em_btree_verify(c.t), EM_OK);
	assert_int_equal(c.f.fault[0].count, 0);
	btree_case_close(&c);
}

/* A look-up reads one leaf, a change that and later writes it; nodes are in memory. */
static void test_transfers(void **state)
{
	em_btree_stats before, after;
	uint64_t i, reads;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 1, 0);
	c.opts.node_cache_bytes = (uint64_t)100 * BLOCK;
	btree_case_make(&c);
	for (i = 0; i < 200000; i++)
		insert(&c, i + 1);
	before = btree_case_stats(&c);
	for (i = 0; i < 1000; i++)
		assert_int_equal(em_btree_get(c.t, btree_case_key(&c, i * 7919 % 200000 + 1), c.got), EM_OK);
	after = btree_case_stats(&c);
	reads = after.leaf_reads - before.leaf_reads;
	assert_true(reads <= 1000 && reads > 900);
	assert_int_equal(after.node_reads, before.node_reads);
	assert_true(after.leaf_writes - before.leaf_writes <= EM_BTREE_FRAMES_MIN);
	/* The ends take no way down. */
	before = after;
	assert_int_equal(em_btree_min(c.t, c.got), EM_OK);
	assert_int_equal(em_btree_max(c.t, c.got), EM_OK);
	assert_int_equal(em_btree_pop_min(c.t, c.got), EM_OK);
	after = btree_case_stats(&c);
	assert_int_equal(after.node_hits + after.node_misses, before.node_hits + before.node_misses);
	/* A whole leaf after the other: each is read once. */
	before = after;
	for (i = 0; i < 20000; i++)
		assert_int_equal(em_btree_pop_min(c.t, c.got), EM_OK);
	after = btree_case_stats(&c);
	assert_true(after.leaf_reads - before.leaf_reads <= 20000 / 200);
	btree_case_close(&c);
}

/* The memory of a tree is bounded by what it says. */
static void test_most_memory(void **state)
{
	static const btree_shape shapes[] = { BTREE_SET, BTREE_U64, BTREE_BYTES, BTREE_LARGE_FUNCTION };
	static const uint64_t records[] = { 1, 100, 5000, 100000 };
	unsigned s, k;

	(void)state;
	for (s = 0; s < 4; s++) {
		for (k = 0; k < 4; k++) {
			const uint64_t n = s >= 2 && records[k] > 5000 ? 5000 : records[k];
			uint64_t i, before, most;
			btree_case c;

			btree_case_open(&c, memory(), shapes[s], 1, 0);
			c.opts.cache_bytes = c.opts.node_cache_bytes = (uint64_t)(4 + 60 * (s % 2)) * BLOCK;
			most = em_btree_memory(c.order, &c.opts, n);
			before = em_ctx_memory_used(c.f.ctx);
			btree_case_make(&c);
			for (i = 0; i < n; i++)
				insert(&c, i * 7919 % 1000003);
			for (i = 0; i < n; i += 2)
				assert_true(em_btree_erase(c.t, btree_case_key(&c, i * 7919 % 1000003), NULL) >= EM_OK);
			/* What its disks take is the context's. */
			if (em_ctx_memory_peak(c.f.ctx) - before > most + (512u << 10))
				fail_msg("shape %u, %llu records: %llu bytes and not %llu", s, (unsigned long long)n,
					 (unsigned long long)(em_ctx_memory_peak(c.f.ctx) - before),
					 (unsigned long long)most);
			btree_case_close(&c);
		}
	}
}

static void refused(btree_case *c, em_status status)
{
	em_btree *t = (em_btree *)c;

	assert_int_equal(em_btree_open(&t, c->f.ctx, c->order, &c->opts), status);
	assert_null(t);
	assert_int_equal(c->err.status, status);
	assert_true(c->err.text[0] != '\0');
	/* The memory is that of the context in one, and of any in the other. */
	if (status != EM_ERR_MEMLIMIT)
		assert_int_equal(em_btree_memory(c->order, &c->opts, 1), 0);
}

static void test_refused(void **state)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	em_order *lines;
	btree_case c;
	em_btree *t;

	(void)state;
	btree_case_open(&c, memory(), BTREE_FIELDS, 1, 0);
#define WITH(field, value, status) c.opts = plain; c.opts.errinfo = &c.err; c.opts.field = value; refused(&c, status)
	WITH(flags, 2, EM_ERR_INVAL);
	WITH(key_bytes, 14, EM_ERR_RANGE);
	WITH(key_bytes, 31, EM_ERR_RANGE);
	WITH(leaf_bytes, 4095, EM_ERR_INVAL);
	WITH(node_bytes, 1, EM_ERR_INVAL);
	WITH(leaf_bytes, (uint64_t)1 << 31, EM_ERR_RANGE);
	WITH(node_bytes, (uint64_t)1 << 31, EM_ERR_RANGE);
	WITH(cache_bytes, 3 * (32 << 10), EM_ERR_RANGE);
	WITH(node_cache_bytes, 3 * BLOCK, EM_ERR_RANGE);
	WITH(node_cache_bytes, (uint64_t)1 << 40, EM_ERR_RANGE);
	WITH(cache_bytes, (uint64_t)1 << 30, EM_ERR_MEMLIMIT);
#undef WITH
	c.opts = plain;
	assert_int_equal(em_order_text(&lines, c.f.ctx, NULL, 0, NULL, NULL), EM_OK);
	assert_int_equal(em_btree_open(&t, c.f.ctx, lines, NULL), EM_ERR_NOTSUP);
	em_order_close(lines);
	btree_case_close(&c);
	/* Records of which there are not four in a leaf, and keys of which there are not five in a node. */
	btree_case_open(&c, memory(), BTREE_BYTES, 1, 0);
	assert_int_equal(em_btree_open(&t, c.f.ctx, c.order, &c.opts), EM_OK);
	em_btree_close(t);
	c.opts.key_bytes = 900;
	refused(&c, EM_ERR_RANGE);
	c.opts.node_bytes = c.opts.node_cache_bytes = 0;
	assert_int_equal(em_btree_open(&t, c.f.ctx, c.order, &c.opts), EM_OK);
	em_btree_close(t);
	btree_case_close(&c);
}

/* Open a tree whose records are all key in a context of so much memory, and, if that is possible, fill its caches.
 * 0, or the memory that would do. */
static uint64_t memory_wanted(uint64_t has, size_t record, const em_btree_opts *plain)
{
	em_ctx_opts c = EM_CTX_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	em_btree_opts o = *plain;
	em_key key = EM_KEY_INIT;
	char *r = calloc(1, record);
	em_order *order;
	em_ctx *ctx;
	em_btree *t;
	em_status st;
	uint64_t i;

	c.memory = has;
	c.backend = "memory";
	assert_non_null(r);
	o.errinfo = &err;
	key.type = EM_KEY_BYTES;
	key.width = record;
	assert_int_equal(em_ctx_open(&ctx, &c), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, record, &key, 1, NULL), EM_OK);
	st = em_btree_open(&t, ctx, order, &o);
	if (st == EM_OK) {
		for (i = 0; i < 120; i++) {
			r[0] = (char)(i * 7919 % 120);
			if (em_btree_insert(t, r) != EM_OK) {
				em_btree_error(t, &err);
				fail_msg("%llu bytes: record %llu: %s", (unsigned long long)has, (unsigned long long)i,
					 err.text);
			}
		}
		em_btree_close(t);
	} else {
		assert_int_equal(st, EM_ERR_MEMLIMIT);
		assert_true(err.bytes > has);
	}
	em_order_close(order);
	em_ctx_close(ctx);
	free(r);
	return st == EM_OK ? 0 : err.bytes;
}

/* The memory that a refusal names is that of both caches, and does. */
static void test_memory_named(void **state)
{
	em_btree_opts o = EM_BTREE_OPTS_INIT;
	uint64_t least;

	(void)state;
	least = memory_wanted(1 << 20, 100000, &o);
	assert_true(least != 0);
	assert_int_equal(memory_wanted(least, 100000, &o), 0);
	/* The cache of leaves grows with the memory that the nodes need. */
	o.leaf_bytes = (uint64_t)256 << 10;
	least = memory_wanted(1 << 20, 20000, &o);
	assert_true(least != 0);
	assert_int_equal(memory_wanted(least, 20000, &o), 0);
}

/* A tree without anything. */
static void test_empty(void **state)
{
	uint64_t n = 77;
	btree_case c;

	(void)state;
	btree_case_open(&c, memory(), BTREE_U64, 10, 0);
	btree_case_make(&c);
	assert_btree_ok(&c, btree_case_get(&c, 1));
	assert_btree_ok(&c, btree_case_look(&c, 1, 0));
	assert_btree_ok(&c, btree_case_erase(&c, 1));
	assert_btree_ok(&c, btree_case_erase_range(&c, 1, 5));
	assert_btree_ok(&c, btree_case_end(&c, 0, 0));
	assert_btree_ok(&c, btree_case_end(&c, 1, 1));
	assert_btree_ok(&c, em_btree_erase_range(c.t, NULL, NULL, &n));
	assert_int_equal(n, 0);
	btree_case_check(&c);
	assert_btree_ok(&c, em_btree_clear(c.t));
	assert_btree_ok(&c, btree_case_insert(&c, 5));
	assert_btree_ok(&c, btree_case_insert(&c, 5));
	assert_btree_ok(&c, btree_case_insert(&c, 4));
	btree_case_check(&c);
	assert_btree_ok(&c, em_btree_erase_range(c.t, NULL, NULL, &n));
	assert_int_equal(n, 2);
	c.n = 0;
	btree_case_check(&c);
	btree_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ascending),
		cmocka_unit_test(test_descending),
		cmocka_unit_test(test_full_leaves),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_emptying),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_most_memory),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_memory_named),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
