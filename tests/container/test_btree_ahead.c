/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_ahead.c -- B+-trees whose leaves lie side by side on a disk, so that many are read by one request before a
 * cursor comes to them: whatever happens to these leaves meanwhile, and to the read, cursors are right.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"

enum { BLOCK = 4096, ROOM = 20000, LOADED = 3000, CASES = 16, OPERATIONS = 4000, CURSORS = 6, TRIES = 50 };

static uint64_t below(btree_case *c, uint64_t n)
{
	return test_below(&c->f.rng, n);
}

static void load(btree_case *c, uint32_t n, uint64_t gap)
{
	em_btree_loader *l;
	uint32_t i;

	assert_int_equal(em_btree_loader_open(&l, c->t, NULL), EM_OK);
	for (i = 0; i < n; i++) {
		btree_case_record(c, c->buf, i * gap, i);
		assert_int_equal(em_btree_loader_push(l, c->buf, 1, NULL), EM_OK);
		c->entry[i].key = i * gap;
		c->entry[i].number = i;
	}
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
	c->n = n;
	c->inserts = n;
	assert_btree_ok(c, em_btree_flush(c->t));
}

/* Long ways of several cursors, and changes in front of them. */
static void operate(btree_case *c, uint64_t most)
{
	const unsigned k = (unsigned)below(c, c->stands);
	const btree_stand *s = &c->stand[k];
	const uint64_t far = below(c, 200);
	uint64_t key = below(c, most);

	if (s->where >= BTREE_ON && s->i + far < c->n && below(c, 3) != 0)
		key = c->entry[s->i + far].key + below(c, 3);
	switch (below(c, 16)) {
	case 0:
		assert_btree_ok(c, btree_case_seek(c, k, key, (uint32_t)below(c, 5)));
		break;
	case 1:
		assert_btree_ok(c, btree_case_cursor_erase(c, k));
		break;
	case 2:
		assert_btree_ok(c, btree_case_cursor_insert(c, k, key));
		break;
	case 3:
		assert_btree_ok(c, btree_case_erase(c, key));
		break;
	case 4:
		assert_btree_ok(c, btree_case_insert(c, key));
		break;
	case 5:
		assert_btree_ok(c, btree_case_upsert(c, key));
		break;
	case 6:
		if (below(c, 8) == 0)
			assert_btree_ok(c, btree_case_erase_range(c, key, key + below(c, 300)));
		break;
	case 7:
		assert_btree_ok(c, btree_case_step(c, k, (int)below(c, 2)));
		break;
	default:
		/* Most go on as they went. */
		assert_btree_ok(c, btree_case_steps(c, k, below(c, 10) == 0 ? (int)below(c, 2) : (int)k % 2,
						    below(c, 2) != 0 ? 16 : below(c, 200)));
	}
}

static void test_model(void **state)
{
	static const uint64_t frames[] = { EM_BTREE_FRAMES_MIN, 130, 256, 512 };
	unsigned i, k;

	(void)state;
	for (i = 0; i < CASES; i += test_step()) {
		btree_case c;

		btree_case_open(&c, em_backend_find(i % 8 == 1 ? "syscall" : "memory"),
				i % 2 != 0 ? BTREE_BYTES : BTREE_LARGE_FUNCTION, ROOM, i % 8 == 6 ? EM_CTX_CHECKED : 0);
		c.opts.flags = i / 2 % 2 != 0 ? EM_BTREE_DUPLICATES : 0;
		c.opts.cache_bytes = frames[i / 4] * BLOCK;
		c.opts.node_cache_bytes = (uint64_t)400 * BLOCK;
		btree_case_make(&c);
		btree_case_cursors(&c, CURSORS);
		load(&c, LOADED, 5);
		for (k = 0; k < OPERATIONS; k++) {
			operate(&c, (uint64_t)LOADED * 5);
			if (below(&c, OPERATIONS) == 0)
				btree_case_check(&c);
			if (below(&c, 300) == 0)
				assert_btree_ok(&c, em_btree_flush(c.t));
			if (below(&c, (uint64_t)OPERATIONS * 2) == 0)
				btree_case_clear(&c);
		}
		btree_case_check(&c);
		btree_case_close(&c);
	}
}

/* The cursor goes over all records, and takes out every third, while one read, or some in a row, fail: what failed is
 * tried again. */
static uint64_t pass_through(btree_case *c, int forward)
{
	uint64_t failures = 0;
	em_status st = EM_OK;
	size_t batch = 1;

	while (btree_case_seek(c, 0, forward ? 0 : UINT32_MAX, forward ? EM_BTREE_GE : EM_BTREE_LE) < EM_OK)
		assert_true(++failures < TRIES);
	while (st != EM_END) {
		batch = batch % 23 + 1;
		st = btree_case_steps(c, 0, forward, batch);
		failures += st < EM_OK;
		assert_true(failures < TRIES);
		if (st == EM_OK && batch % 3 == 0)
			failures += btree_case_cursor_erase(c, 0) < EM_OK;
	}
	return failures;
}

static void test_failures(void **state)
{
	unsigned kind;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		uint64_t nth, all = 0, failures = 0;
		int more = 1;

		for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1 + all / 200)) {
			btree_case c;

			btree_case_open(&c, em_backend_find("memory"),
					kind % 2 != 0 ? BTREE_BYTES : BTREE_LARGE_FUNCTION, ROOM, 0);
			c.opts.cache_bytes = (uint64_t)200 * BLOCK;
			btree_case_make(&c);
			btree_case_cursors(&c, 1);
			load(&c, 2000, 5);
			em_fault_set(&c.f.fault[0], EM_FAULT_READ, nth, kind < 2 ? 1 : 2 + nth % 9);
			failures += pass_through(&c, (int)(nth + kind) % 2);
			all = c.f.fault[0].count;
			more = nth <= all;
			em_fault_set(&c.f.fault[0], 0, 0, 0);
			btree_case_check(&c);
			btree_case_close(&c);
		}
		print_message("%u: %llu reads, %llu failures were told\n", kind, (unsigned long long)all,
			      (unsigned long long)failures);
		assert_true(failures != 0 || kind < 2 || !test_sweeps());
	}
}

static void flip(const char *path, uint64_t at)
{
	FILE *f = fopen(path, "r+b");
	int byte;

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
	byte = fgetc(f);
	assert_int_not_equal(byte, EOF);
	assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
	assert_int_not_equal(fputc(byte ^ 4, f), EOF);
	assert_int_equal(fclose(f), 0);
}

/* A file is read likewise, either way; and a leaf that is damaged is told when a cursor comes to it, and no other. */
static void test_file(void **state)
{
	em_btree_opts opts;
	em_status st;
	unsigned damage, k;
	char *dir, *path;
	btree_case c;

	(void)state;
	btree_case_open(&c, em_backend_find("syscall"), BTREE_BYTES, ROOM, 0);
	dir = test_dir_make();
	path = test_path(dir, "tree");
	btree_case_make(&c);
	load(&c, LOADED, 1);
	assert_btree_ok(&c, em_btree_save(c.t, path));
	opts = c.opts;
	opts.cache_bytes = (uint64_t)256 * BLOCK;
	opts.node_cache_bytes = (uint64_t)400 * BLOCK;
	for (damage = 0; damage < 40; damage += damage != 0 ? 7 : 1) {
		/* Leaves are behind one page, and four records are in each. */
		const uint64_t at = BLOCK + (uint64_t)(400 + damage) * BLOCK + 100;

		while (c.stands != 0)
			em_btree_cursor_close(c.stand[--c.stands].cursor);
		em_btree_close(c.t);
		c.t = NULL;
		if (damage != 0)
			flip(path, at);
		assert_btree_ok(&c, em_btree_open_file(&c.t, c.f.ctx, path, c.order, &opts));
		btree_case_cursors(&c, 2);
		for (k = 0; k < 2; k++) {
			uint64_t all = 0, got = 0;

			assert_btree_ok(&c, btree_case_seek(&c, k, k == 0 ? 0 : LOADED,
							    k == 0 ? EM_BTREE_GE : EM_BTREE_LE));
			do {
				st = k == 0 ? em_btree_cursor_next_many(c.stand[k].cursor, NULL, 7, &got)
					    : em_btree_cursor_prev_many(c.stand[k].cursor, NULL, 7, &got);
				all += got;
			} while (st == EM_OK);
			if (damage == 0) {
				assert_int_equal(st, EM_END);
				assert_int_equal(all, LOADED - 1);
				continue;
			}
			assert_int_equal(st, EM_ERR_CORRUPT);
			em_btree_error(c.t, &c.err);
			assert_true(c.err.offset <= at && at - c.err.offset < BLOCK);
			/* All that is before it was had. */
			assert_int_equal(em_btree_cursor_get(c.stand[k].cursor, c.got), EM_OK);
			assert_int_equal(btree_case_entry(&c, c.got).number, k == 0 ? all : LOADED - 1 - all);
			assert_int_equal(btree_case_entry(&c, c.got).number % 4, k == 0 ? 3 : 0);
		}
		for (k = 0; damage == 0 && k < 2; k++) {
			c.stand[k].where = k == 0 ? BTREE_AT_END : BTREE_AT_BEGIN;
			do
				st = btree_case_steps(&c, k, k != 0, 1 + below(&c, 50));
			while (st == EM_OK);
			assert_int_equal(st, EM_END);
		}
		if (damage != 0)
			flip(path, at);
	}
	free(path);
	test_dir_remove(dir);
	btree_case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
