/* SPDX-License-Identifier: BSL-1.0 */
/* test_btree_load.c -- loading B+-trees with sorted records: what becomes of them, what is refused, failures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"

enum { BLOCK = 4096, ROOM = 70000, BATCH = 300, TRIES = 300 };

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

/* n records in order in the model, and at `records'. */
static char *draw(btree_case *c, size_t n)
{
	char *records = malloc((n + 1) * c->record);
	uint64_t key = below(c, 5);
	size_t i;

	assert_non_null(records);
	for (i = 0; i < n; i++) {
		key += c->opts.flags != 0 ? below(c, 3) / 2 : 1 + below(c, 3);
		c->entry[i].key = key;
		c->entry[i].number = (uint32_t)i;
		btree_case_record(c, records + i * c->record, key, (uint32_t)i);
	}
	return records;
}

/* Push all in batches of any size, again and again where that fails. */
static em_btree_loader *push_all(btree_case *c, const char *records, size_t n, const em_btree_load_opts *opts)
{
	em_btree_loader *l;
	uint64_t pushed, failures = 0;
	size_t i;

	while (em_btree_loader_open(&l, c->t, opts) != EM_OK)
		assert_true(++failures < TRIES);
	for (i = 0; i < n; i += (size_t)pushed) {
		const size_t some = 1 + (size_t)below(c, n - i < BATCH ? n - i : BATCH);
		const em_status st = em_btree_loader_push(l, records + i * c->record, some, &pushed);

		assert_true(pushed <= some && (st != EM_OK || pushed == some));
		failures += st != EM_OK;
		if (st != EM_OK && failures % 5 == 4)
			(void)!em_btree_flush(c->t);
		assert_true(failures < TRIES);
		assert_int_equal(em_btree_size(c->t), 0);
	}
	return l;
}

static void finish(btree_case *c, em_btree_loader *l, size_t n)
{
	unsigned i;

	for (i = 0; i < TRIES && em_btree_loader_finish(l) != EM_OK; i++)
		if (i > 3)
			(void)!em_btree_flush(c->t);
	assert_true(i < TRIES);
	em_btree_loader_close(l);
	c->n = n;
}

/* Any number of records, of any kind. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4, 5, 16, 17, 21, 80, 81, 101, 253, 254, 255, 1000, 5000, 66000 };
	unsigned s, k, dup;

	(void)state;
	for (s = 0; s < BTREE_SHAPES; s++) {
		for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			for (dup = 0; dup < 2; dup++) {
				em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
				const size_t n = sizes[k];
				btree_case c;
				char *records;

				if (test_left_out() || (n > 5000 && (s == BTREE_BYTES || s == BTREE_LARGE_FUNCTION)))
					continue;
				btree_case_open(&c, em_backend_find("memory"), (btree_shape)s, ROOM, 0);
				c.opts.flags = dup != 0 ? EM_BTREE_DUPLICATES : 0;
				btree_case_make(&c);
				opts.leaf_fill = k % 3 == 1 ? 1 + (uint32_t)below(&c, 100) : 0;
				opts.node_fill = k % 4 == 2 ? 1 + (uint32_t)below(&c, 100) : 0;
				records = draw(&c, n);
				finish(&c, push_all(&c, records, n, &opts), n);
				btree_case_check(&c);
				/* It is a tree as any other. */
				if (n != 0 && n < 6000) {
					unsigned i;

					for (i = 0; i < 300; i++) {
						const uint64_t key = below(&c, 2 * n);

						assert_btree_ok(&c, btree_case_insert(&c, key));
						assert_btree_ok(&c, btree_case_erase(&c, below(&c, 2 * n)));
					}
					while (c.n != 0)
						assert_btree_ok(&c, btree_case_end(&c, (int)below(&c, 2), 1));
				}
				btree_case_check(&c);
				free(records);
				btree_case_close(&c);
			}
		}
	}
}

/* Leaves are as full as they are to be. */
static void test_how_full(void **state)
{
	static const uint32_t fills[] = { 0, 100, 90, 70, 50 };
	unsigned k;

	(void)state;
	for (k = 0; k < 5; k++) {
		em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
		const double should = fills[k] != 0 ? fills[k] / 100.0 : 0.95;
		em_btree_stats s;
		double is;
		btree_case c;
		char *records;

		btree_case_open(&c, em_backend_find("memory"), BTREE_U64, ROOM, 0);
		btree_case_make(&c);
		records = draw(&c, 60000);
		opts.leaf_fill = opts.node_fill = fills[k];
		finish(&c, push_all(&c, records, 60000, &opts), 60000);
		s = btree_case_stats(&c);
		is = 60000.0 / (double)s.leaves / 254;
		/* Rounded up, but for the last one. */
		assert_true(is > should - 0.005 && is <= should + 0.01);
		/* Each block was written once at most, and hardly any was read. */
		assert_true(s.leaf_writes <= s.leaves && s.node_writes <= s.nodes);
		assert_true(s.leaf_reads <= 2 && s.node_reads <= 4);
		free(records);
		btree_case_close(&c);
	}
}

/* n records with keys `gap' apart, so that others go between them. */
static void load_apart(btree_case *c, uint64_t n, uint64_t gap, uint32_t fill)
{
	em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *l;
	uint64_t i;

	opts.leaf_fill = fill;
	assert_int_equal(em_btree_loader_open(&l, c->t, &opts), EM_OK);
	for (i = 0; i < n; i++) {
		btree_case_record(c, c->buf, (i + 1) * gap, (uint32_t)i);
		assert_int_equal(em_btree_loader_push(l, c->buf, 1, NULL), EM_OK);
	}
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
}

static void insert_key(btree_case *c, uint64_t key)
{
	btree_case_record(c, c->buf, key, (uint32_t)key);
	assert_int_equal(em_btree_insert(c->t, c->buf), EM_OK);
}

static uint64_t made_room(const btree_case *c)
{
	const em_btree_stats s = btree_case_stats(c);

	return s.splits + s.shares;
}

/* A leaf that was filled to any part takes all that it has room for, or a 16th of what it has, before it is split; in
 * whatever order that comes. */
static void test_takes_more(void **state)
{
	enum { LEAVES = 6, GAP = 1024 };
	static const btree_shape shapes[] = { BTREE_SET, BTREE_U64, BTREE_WIDE };
	unsigned s;

	(void)state;
	for (s = 0; s < sizeof shapes / sizeof *shapes; s++) {
		uint32_t fill;

		for (fill = 60; fill <= 100; fill++) {
			uint64_t most, has, at, n, before;
			btree_case c;

			if (test_left_out())
				continue;
			btree_case_open(&c, em_backend_find("memory"), shapes[s], 1, 0);
			btree_case_make(&c);
			most = (BLOCK - 32) / c.record;
			has = (most * fill + 99) / 100;
			load_apart(&c, LEAVES * has, GAP, fill);
			assert_int_equal(btree_case_stats(&c).leaves, LEAVES);
			at = (LEAVES / 2 * has + has / 2) * GAP;
			before = made_room(&c);
			for (n = 0; made_room(&c) == before; n++)
				insert_key(&c, at + 1 + n * 7919 % (GAP - 1));
			n--;
			assert_true(n <= most - has);
			assert_true(n >= (has / 16 < most - has ? has / 16 : most - has));
			assert_int_equal(em_btree_verify(c.t), EM_OK);
			btree_case_close(&c);
		}
	}
}

/* A tree that was loaded takes 2 percent more without another leaf, also where they come in no order; and has a tenth
 * more than its records at first. */
static void test_room_to_begin_with(void **state)
{
	enum { N = 40000, GAP = 1 << 16 };
	const uint64_t more = N / 50;
	em_btree_stats s;
	btree_case c;
	uint64_t i, leaves, before;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, 1, 0);
	btree_case_make(&c);
	load_apart(&c, N, GAP, 0);
	s = btree_case_stats(&c);
	leaves = s.leaves;
	before = made_room(&c);
	assert_true(s.leaves * s.leaf_bytes + s.nodes * s.node_bytes <= N * c.record * 11 / 10);
	for (i = 0; i < more; i++)
		insert_key(&c, i * 7919 % more * (N / more) * GAP + GAP + 1 + below(&c, GAP - 1));
	assert_int_equal(btree_case_stats(&c).leaves, leaves);
	assert_int_equal(made_room(&c), before);
	btree_case_close(&c);
	/* One that is full does not. */
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, 1, 0);
	btree_case_make(&c);
	load_apart(&c, N, GAP, 100);
	assert_true(btree_case_stats(&c).leaves < leaves);
	for (i = 0; i < more; i++)
		insert_key(&c, i * 7919 % more * (N / more) * GAP + GAP + 1 + below(&c, GAP - 1));
	assert_true(btree_case_stats(&c).leaves > leaves * 6 / 5);
	btree_case_close(&c);
}

/* What the cache has no room for goes past it, some leaves in one write; and a loader that is given up leaves nothing
 * of that. */
static void test_past_the_cache(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < 2; k++) {
		em_btree_loader *l;
		em_btree_stats s;
		btree_case c;
		char *records;

		btree_case_open(&c, em_backend_find("memory"), BTREE_U64, ROOM, 0);
		c.opts.cache_bytes = 64 * BLOCK;
		c.opts.node_cache_bytes = 16 * BLOCK;
		btree_case_make(&c);
		records = draw(&c, 60000);
		c.f.fault[0].ops = EM_FAULT_WRITE;
		c.f.fault[0].count = 0;
		l = push_all(&c, records, k == 0 ? 16000 : 60000, NULL);
		/* As long as there is room nothing is written. */
		assert_true(k == 0 ? c.f.fault[0].count == 0 : c.f.fault[0].count > 30);
		if (k == 1) {
			finish(&c, l, 60000);
			assert_int_equal(em_btree_flush(c.t), EM_OK);
			s = btree_case_stats(&c);
			assert_true(s.leaf_writes <= s.leaves + 4 && s.leaf_writes >= s.leaves - 4);
			assert_true(c.f.fault[0].count < s.leaves - (s.leaves - 64) / 3);
			btree_case_check(&c);
			btree_case_clear(&c);
			l = push_all(&c, records, 60000, NULL);
		}
		em_btree_loader_close(l);
		assert_int_equal(em_btree_size(c.t), 0);
		finish(&c, push_all(&c, records, 20000, NULL), 20000);
		btree_case_check(&c);
		free(records);
		btree_case_close(&c);
	}
}

/* Where uses of blocks are checked, and each is transferred by itself, that is the same. */
static void test_past_the_cache_checked(void **state)
{
	btree_case c;
	char *records;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, ROOM, EM_CTX_CHECKED);
	c.opts.cache_bytes = 64 * BLOCK;
	btree_case_make(&c);
	records = draw(&c, 60000);
	finish(&c, push_all(&c, records, 60000, NULL), 60000);
	assert_int_equal(em_btree_flush(c.t), EM_OK);
	btree_case_check(&c);
	free(records);
	btree_case_close(&c);
}

/* What is not in order is refused by its number; what was right goes on. */
static void test_refused(void **state)
{
	em_btree_loader *l, *other;
	uint64_t pushed, i;
	btree_case c;
	char *records;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_BYTES, ROOM, 0);
	btree_case_make(&c);
	records = draw(&c, 100);
	assert_int_equal(em_btree_loader_open(&l, c.t, NULL), EM_OK);
	assert_int_equal(em_btree_loader_open(&other, c.t, NULL), EM_ERR_STATE);
	assert_int_equal(em_btree_insert(c.t, records), EM_ERR_STATE);
	assert_int_equal(em_btree_clear(c.t), EM_ERR_STATE);
	assert_int_equal(em_btree_get(c.t, records, c.got), EM_NOT_FOUND);
	assert_int_equal(em_btree_loader_push(l, records, 50, &pushed), EM_OK);
	/* One that is less, and one that is the same. */
	btree_case_record(&c, records + 60 * c.record, c.entry[59].key - 1, 1);
	assert_int_equal(em_btree_loader_push(l, records + 50 * c.record, 50, &pushed), EM_ERR_FORMAT);
	assert_true(pushed <= 10);
	em_btree_loader_error(l, &c.err);
	assert_int_equal(c.err.record, 61);
	assert_non_null(strstr(c.err.text, "61"));
	btree_case_record(&c, records + 60 * c.record, c.entry[60].key, 60);
	for (i = 50 + pushed; i < 100; i++) {
		assert_int_equal(em_btree_loader_push(l, records + i * c.record, 1, NULL), EM_OK);
		assert_int_equal(em_btree_loader_push(l, records + i * c.record, 1, NULL), EM_ERR_FORMAT);
	}
	finish(&c, l, 100);
	btree_case_check(&c);
	assert_int_equal(em_btree_loader_open(&l, c.t, NULL), EM_ERR_STATE);
	btree_case_clear(&c);
	/* One that is given up. */
	assert_int_equal(em_btree_loader_open(&l, c.t, NULL), EM_OK);
	assert_int_equal(em_btree_loader_push(l, records, 90, NULL), EM_OK);
	em_btree_loader_close(l);
	assert_int_equal(em_btree_size(c.t), 0);
	assert_int_equal(btree_case_stats(&c).leaves, 0);
	btree_case_check(&c);
	/* Or not finished before the tree is closed. */
	assert_int_equal(em_btree_loader_open(&l, c.t, NULL), EM_OK);
	assert_int_equal(em_btree_loader_push(l, records, 90, NULL), EM_OK);
	em_btree_close(c.t);
	em_btree_loader_close(l);
	c.t = NULL;
	c.inserts = 0;
	free(records);
	btree_case_close(&c);
}

/* From a sorter, with more than fits into memory; of duplicates all, or the first. */
static void test_sorted(void **state)
{
	const unsigned step = test_fewer() > 1 ? 4 : 1;
	unsigned k;

	(void)state;
	for (k = (unsigned)test_first_of(step); k < 4; k += step) {
		em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
		em_sort_opts sort = EM_SORT_OPTS_INIT;
		em_sorter *sorter;
		uint64_t i;
		em_status st;
		btree_case c;

		btree_case_open(&c, em_backend_find("memory"), k < 2 ? BTREE_U64 : BTREE_FUNCTION, ROOM, 0);
		c.opts.flags = k % 2 != 0 ? EM_BTREE_DUPLICATES : 0;
		btree_case_make(&c);
		sort.memory = 1 << 20;
		assert_int_equal(em_sorter_open(&sorter, c.f.ctx, c.order, &sort), EM_OK);
		for (i = 0; i < 60000; i++) {
			const uint64_t key = below(&c, 30000), at = btree_case_bound(&c, key, 0);

			btree_case_record(&c, c.buf, key, (uint32_t)i);
			assert_int_equal(em_sorter_push(sorter, c.buf, 1), EM_OK);
			if (k % 2 != 0 || at == c.n || c.entry[at].key != key)
				btree_case_put(&c, key, (uint32_t)i);
		}
		assert_int_equal(em_sorter_finish(sorter), EM_OK);
		opts.flags = k % 2 == 0 ? EM_BTREE_LOAD_SKIP : 0;
		st = em_btree_load_sorted(c.t, sorter, &opts);
		assert_btree_ok(&c, st);
		btree_case_check(&c);
		em_sorter_close(sorter);
		/* Without it they are refused. */
		if (k == 0) {
			assert_int_equal(em_sorter_open(&sorter, c.f.ctx, c.order, &sort), EM_OK);
			assert_int_equal(em_sorter_push(sorter, c.buf, 1), EM_OK);
			assert_int_equal(em_sorter_push(sorter, c.buf, 1), EM_OK);
			assert_int_equal(em_btree_load_sorted(c.t, sorter, NULL), EM_ERR_STATE);
			btree_case_clear(&c);
			assert_int_equal(em_btree_load_sorted(c.t, sorter, NULL), EM_ERR_STATE);
			assert_int_equal(em_sorter_finish(sorter), EM_OK);
			assert_int_equal(em_btree_load_sorted(c.t, sorter, NULL), EM_ERR_FORMAT);
			em_btree_error(c.t, &c.err);
			assert_int_equal(c.err.record, 2);
			btree_case_check(&c);
			em_sorter_close(sorter);
		}
		btree_case_close(&c);
	}
}

/* Each transfer and each allocation fails; with a cache that is large enough for what is written past it, too. */
static void test_failures(void **state)
{
	unsigned kind;

	(void)state;
	for (kind = 0; kind < 6; kind++) {
		const unsigned what = kind % 3;
		uint64_t nth, all = 0, failed = 0;
		int more = 1;

		for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
			uint64_t before;
			btree_case c;
			char *records;

			btree_case_open(&c, em_backend_find("memory"), BTREE_BYTES, ROOM, 0);
			if (kind >= 3)
				c.opts.cache_bytes = 32 * BLOCK;
			btree_case_make(&c);
			records = draw(&c, 333);
			before = c.f.mem.calls;
			if (what == 0)
				c.f.mem.fail_at = before + nth;
			else
				em_fault_set(&c.f.fault[0], what == 1 ? EM_FAULT_WRITE : EM_FAULT_READ, nth,
					     1 + nth % 6);
			finish(&c, push_all(&c, records, 333, NULL), 333);
			while (em_btree_flush(c.t) != EM_OK)
				failed++;
			all = what == 0 ? c.f.mem.calls - before : c.f.fault[0].count;
			more = nth <= all;
			c.f.mem.fail_at = 0;
			c.f.fault[0].ops = 0;
			btree_case_check(&c);
			free(records);
			btree_case_close(&c);
		}
		print_message("%u: %llu, %llu flushes failed\n", kind, (unsigned long long)all,
			      (unsigned long long)failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_how_full),
		cmocka_unit_test(test_takes_more),
		cmocka_unit_test(test_room_to_begin_with),
		cmocka_unit_test(test_past_the_cache),
		cmocka_unit_test(test_past_the_cache_checked),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
