/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_failures.c -- B+-trees when transfers, disks, allocations or functions of the order fail: what has failed
 * has changed nothing and may be tried again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"
#include "container/fault_trials.h"

enum { RANGES = 4, CURSORS = 8, KINDS = 21, OPERATIONS = 700, ROOM = 4000, KEYS = 400, TRIES = 200 };

typedef struct trial {
	btree_case c;
	em_status failed;       /* the last failure; EM_OK: there was none */
	uint64_t failures;
	int chance;             /* transfers fail by chance */
} trial;

static void note(trial *t, em_status st)
{
	if (st >= EM_OK)
		return;
	t->failed = st;
	t->failures++;
	assert_int_equal(em_btree_size(t->c.t), t->c.n);
}

/* One range, or some that overlap. */
static em_status visit(btree_case *c, uint64_t key)
{
	const uint64_t from[RANGES] = { key + 10, key, key + 40, key + 5 };
	const uint64_t to[RANGES] = { key + 30, key + 12, key + 41, 0 };

	return key / 4 % 2 != 0 ? btree_case_visit(c, key, key + 20, key % 30)
				: btree_case_visit_many(c, from, to, RANGES, key % 60);
}

static em_status operate(trial *t, unsigned what, uint64_t key)
{
	btree_case *c = &t->c;

	switch (what) {
	case 0:
	case 1:
	case 2:
	case 3:
		return btree_case_insert(c, key);
	case 4:
	case 5:
		return btree_case_erase(c, key);
	case 6:
		return btree_case_get(c, key);
	case 7:
		return btree_case_look(c, key, (int)(key % 2));
	case 8:
		return btree_case_upsert(c, key);
	case 9:
		return btree_case_end(c, (int)(key % 2), 1);
	case 10:
		return btree_case_erase_range(c, key, key + key % 9);
	case 11:
		return key % 2 != 0 ? btree_case_count(c, key, key + 20) : visit(c, key);
	case 12:
		return em_btree_flush(c->t);
	case 14:
		return btree_case_seek(c, (unsigned)key % CURSORS, key, (uint32_t)(key % 5));
	case 15:
		return btree_case_step(c, (unsigned)key % CURSORS, (int)(key / 8 % 2));
	case 16:
		return btree_case_steps(c, (unsigned)key % CURSORS, (int)(key / 8 % 2), key % 20);
	case 17:
		return btree_case_stand(c, (unsigned)key % CURSORS);
	case 18:
		return btree_case_cursor_erase(c, (unsigned)key % CURSORS);
	case 19:
		return btree_case_cursor_insert(c, (unsigned)key % CURSORS, key);
	case 20:
		return btree_case_cursor_count(c, (unsigned)key % CURSORS);
	default:
		return em_btree_verify(c->t);
	}
}

/* Until it works.  A block that could not be written keeps its frame until it is tried again. */
static void insist(trial *t, unsigned what, uint64_t key)
{
	em_status st = EM_ERR_IO;
	unsigned i;

	for (i = 0; i < TRIES && st < EM_OK; i++) {
		note(t, st = operate(t, what, key));
		if (st < EM_OK && i > 3)
			note(t, em_btree_flush(t->c.t));
	}
	if (st < EM_OK)
		btree_case_ok(&t->c, st, __LINE__);
}

/* One that reads all of the tree never comes to its end while transfers fail by chance. */
static int reads_all(const trial *t, unsigned what)
{
	return what == 13 && t->chance;
}

static void work(void *of)
{
	trial *t = of;
	test_rng rng = test_rng_make(77);
	unsigned i;

	for (i = 0; i < OPERATIONS; i++) {
		unsigned what = (unsigned)test_below(&rng, KINDS);

		if ((what == 12 || what == 13) && test_below(&rng, 10) != 0)
			what = 0;
		if (i < OPERATIONS / 3 && (what == 9 || what == 10 || what == 4))
			what = 1;
		if (!reads_all(t, what))
			insist(t, what, test_below(&rng, KEYS));
	}
	for (i = 0; i < 10; i++)
		insist(t, 12, 0);
	/* Writes may be under way. */
	__atomic_store_n(&t->c.f.fault[0].ops, 0, __ATOMIC_RELAXED);
	t->c.f.mem.fail_at = 0;
	btree_case_check(&t->c);
}

static void open_trial(trial *t, btree_shape shape, uint32_t flags)
{
	memset(t, 0, sizeof *t);
	btree_case_open(&t->c, em_backend_find("memory"), shape, ROOM, 0);
	t->c.opts.flags = flags;
	btree_case_make(&t->c);
	btree_case_cursors(&t->c, CURSORS);
}

static void open_number(void *t, unsigned number)
{
	static const struct { btree_shape shape; uint32_t flags; } of[] = {
		{ BTREE_BYTES, EM_BTREE_DUPLICATES }, { BTREE_LARGE_FUNCTION, 0 }, { BTREE_BYTES, 0 },
		{ BTREE_U64, EM_BTREE_DUPLICATES },
	};

	open_trial(t, of[number].shape, of[number].flags);
}

static void work_by_chance(void *t)
{
	((trial *)t)->chance = 1;
	work(t);
}

static void close_trial(void *t)
{
	btree_case_close(&((trial *)t)->c);
}

static fault_trials trials_of(trial *t)
{
	return (fault_trials){ t, open_number, work, close_trial, &t->c.f, &t->failures, &t->failed };
}

/* Each transfer, and each other call of the disk's, fails. */
static void test_transfers(void **state)
{
	unsigned number, k;

	(void)state;
	for (number = 0; number < 2; number++) {
		for (k = 0; k < FAULT_WAYS; k++) {
			trial t;
			const fault_trials trials = trials_of(&t);
			const uint64_t failures = fault_trials_transfers(&trials, number, &fault_ways[k], 150);

			assert_true(failures != 0 || k != 0 || !test_sweeps());
		}
	}
}

/* Any transfer fails by chance. */
static void test_chance(void **state)
{
	unsigned number;

	(void)state;
	for (number = 0; number < 3; number += test_step()) {
		trial t;
		fault_trials trials = trials_of(&t);

		trials.work = work_by_chance;
		assert_true(fault_trials_random(&trials, number) != 0);
	}
}

/* Each allocation fails once. */
static void test_allocations(void **state)
{
	unsigned number;

	(void)state;
	for (number = 1; number < 4; number++) {
		trial t;
		const fault_trials trials = trials_of(&t);

		fault_trials_allocations(&trials, number, UINT64_MAX);
	}
}

static em_status open_tree(void *what)
{
	btree_case *c = what;
	const em_status st = em_btree_open(&c->t, c->f.ctx, c->order, &c->opts);

	assert_true((st == EM_OK) == (c->t != NULL));
	return st;
}

static void test_opening(void **state)
{
	btree_case c;

	(void)state;
	btree_case_open(&c, em_backend_find("memory"), BTREE_U64, 1, 0);
	fault_trials_opening(&c.f, open_tree, &c, &c.err);
	btree_case_close(&c);
}

/* Functions of the order fail, in each operation. */
static void test_functions(void **state)
{
	static const btree_shape shapes[] = { BTREE_FUNCTION, BTREE_LARGE_FUNCTION, BTREE_KEY_FUNCTION };
	unsigned s, what;

	(void)state;
	for (s = 0; s < 3; s++) {
		trial t;
		uint64_t i;

		open_trial(&t, shapes[s], 0);
		for (i = 0; i < 1000; i++)
			assert_btree_ok(&t.c, btree_case_insert(&t.c, i * 7919 % 1000));
		for (what = 0; what < 15; what++) {
			if (what == 9 || what == 12)
				continue;
			for (i = 0; i < 60; i++) {
				t.c.fails = 1;
				/* The first and the last take no comparison. */
				assert_int_equal(operate(&t, what, what == 14 ? i * 16 + 1 : i * 17), EM_ERR_USER);
				t.c.fails = 0;
				assert_int_equal(em_btree_size(t.c.t), t.c.n);
			}
		}
		btree_case_check(&t.c);
		btree_case_close(&t.c);
	}
}

/* A disk that is full: what is in memory is there, and taking out makes room. */
static void test_full(void **state)
{
	uint64_t i, left;
	em_status st = EM_OK;
	trial t;

	(void)state;
	open_trial(&t, BTREE_BYTES, 0);
	for (i = 0; i < 300; i++)
		assert_btree_ok(&t.c, btree_case_insert(&t.c, i * 7919 % 1000));
	t.c.f.fault[0].sys_errno = 28;
	em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE | EM_FAULT_RESIZE | EM_FAULT_RESERVE, 1, UINT64_MAX);
	for (i = 0; i < 300 && st >= EM_OK; i++)
		st = btree_case_insert(&t.c, i * 7919 % 1000 + 1000);
	assert_int_equal(st, EM_ERR_NOSPACE);
	left = t.c.n;
	t.c.f.fault[0].ops = 0;
	/* One that had failed by then is told first. */
	(void)!em_btree_flush(t.c.t);
	assert_btree_ok(&t.c, em_btree_flush(t.c.t));
	btree_case_check(&t.c);
	assert_int_equal(t.c.n, left);
	btree_case_close(&t.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
