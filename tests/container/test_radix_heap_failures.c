/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_radix_heap_failures.c -- radix heaps when transfers, disks or allocations fail: what has failed may be tried
 * again, and nothing is lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/fault_trials.h"
#include "container/radix_case.h"

enum { BLOCK = 4096, RECORD = 12, PUSHES = 40000, TRIES = 200 };

/* With as much memory buckets become runs, where they are as few as those of all keys. */
#define RUNS ((uint64_t)6 << 20)
#define LEAST UINT64_MAX

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

typedef struct trial {
	radix_case c;
	em_status failed;       /* the last failure; EM_OK: there was none */
	uint64_t failures;
} trial;

static void note(trial *t, em_status st)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_radix_heap_error(t->c.h, &err);
	assert_int_equal(err.status, st);
	assert_true(err.text[0] != '\0');
	t->failed = st;
	t->failures++;
}

/* Push what is in the buffer as far as it goes. */
static em_status push(trial *t, uint64_t n)
{
	uint64_t pushed = 77;
	em_status st;

	if (n == 1) {
		st = em_radix_heap_push(t->c.h, t->c.buf);
		pushed = st == EM_OK;
	} else {
		st = em_radix_heap_push_many(t->c.h, t->c.buf, n, &pushed);
	}
	assert_true(pushed <= n && (pushed == n) == (st == EM_OK));
	radix_case_entered(&t->c, pushed);
	memmove(t->c.buf, t->c.buf + pushed * RECORD, (size_t)((n - pushed) * RECORD));
	note(t, st);
	return st;
}

/* The same until all are there: numbers of those that are left stay what they were. */
static void push_all(trial *t, uint64_t n)
{
	const uint64_t before = t->c.pushes;
	unsigned i;

	for (i = 0; i < TRIES && t->c.pushes != before + n; i++)
		(void)push(t, n - (t->c.pushes - before));
	assert_int_equal(t->c.pushes, before + n);
}

static em_status pop(trial *t, uint64_t n)
{
	uint64_t popped = 77, i;
	em_status st;

	n = n < RADIX_MANY ? n : RADIX_MANY;
	if (n == 1) {
		st = em_radix_heap_pop(t->c.h, t->c.buf);
		popped = st == EM_OK;
	} else {
		st = em_radix_heap_pop_many(t->c.h, t->c.buf, n, &popped);
	}
	for (i = 0; i < popped; i++)
		radix_case_came(&t->c, t->c.buf + i * RECORD);
	assert_int_equal(em_radix_heap_size(t->c.h), t->c.n);
	assert_int_equal(em_radix_heap_last(t->c.h), t->c.last);
	note(t, st);
	return st;
}

static void pop_all(trial *t, uint64_t n)
{
	unsigned i;

	n = n < t->c.n ? n : t->c.n;
	if (n == 0)
		return;
	for (i = 0; i < TRIES && pop(t, 1) != EM_OK; i++)
		continue;
	assert_true(i < TRIES);
	for (i = 0; i < TRIES && n > 1; i++) {
		const uint64_t had = t->c.n;

		(void)pop(t, n - 1);
		n -= had - t->c.n;
	}
	assert_true(i < TRIES);
}

static void top(trial *t)
{
	em_status st;
	unsigned i;

	if (t->c.n == 0)
		return;
	for (i = 0; i < TRIES && (st = em_radix_heap_top(t->c.h, t->c.buf)) != EM_OK; i++)
		note(t, st);
	assert_true(i < TRIES);
	radix_case_top(&t->c);
}

/* A heap with little memory, or some. */
static void open_trial(trial *t, uint64_t range, uint64_t bytes, uint64_t seed)
{
	memset(t, 0, sizeof *t);
	radix_case_open(&t->c, memory(), RECORD, PUSHES * 2);
	t->c.f.rng = test_rng_make(seed);
	t->c.opts.range = range;
	t->c.opts.block_bytes = BLOCK;
	t->c.opts.memory_bytes = bytes;
	radix_case_make(&t->c);
}

static void draw(trial *t, uint64_t n, unsigned shape)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		radix_case_record(&t->c, i, radix_case_key(&t->c, shape));
}

/* Some of everything: many in, many out, near keys, equal ones, and what is below the top. */
static void work(void *of)
{
	trial *t = of;
	uint64_t i, k;

	for (i = 0; i < PUSHES / 2; i += 500) {
		draw(t, 500, i % 1500 == 0 ? 1 : 0);
		push_all(t, 500);
	}
	top(t);
	for (i = 0; i < 40; i++) {
		const uint64_t gap = t->c.keys[0] - t->c.last;

		for (k = 0; k < 50; k++)
			radix_case_record(&t->c, k, t->c.last + (gap != 0 ? test_below(&t->c.f.rng, gap) : 0));
		push_all(t, 50);
	}
	pop_all(t, t->c.n / 3);
	for (i = 0; i < 3000; i++) {
		draw(t, 1, (unsigned)(i / 600));
		push_all(t, 1);
		if (i % 3 == 0)
			pop_all(t, 2);
		if (i % 700 == 0)
			top(t);
	}
	for (i = 0; i < PUSHES / 2; i += 500) {
		draw(t, 500, i < 5000 ? 5 : 0);
		push_all(t, 500);
	}
	while (t->c.n != 0)
		pop_all(t, 1000);
}

/* Of all keys, of some, of few, and with more memory. */
static void open_number(void *t, unsigned number)
{
	static const uint64_t ranges[] = { 0, 100000, 300, 0 };

	open_trial(t, ranges[number], number == 3 ? RUNS : LEAST, test_seed());
}

static void close_trial(void *t)
{
	radix_case_close(&((trial *)t)->c);
}

static fault_trials trials_of(trial *t)
{
	return (fault_trials){ t, open_number, work, close_trial, &t->c.f, &t->failures, &t->failed };
}

/* Each transfer, and each other call of the disk's, fails. */
static void test_transfers(void **state)
{
	unsigned r, k;

	(void)state;
	for (r = 0; r < 4; r++) {
		for (k = 0; k < FAULT_WAYS; k++) {
			trial t;
			const fault_trials trials = trials_of(&t);
			const uint64_t failures = fault_trials_transfers(&trials, r, &fault_ways[k], 30);

			/* A run that was to be ready early may be read again before anybody has to know. */
			if ((k == 0 || k == 2) && r != 3)
				assert_true(failures != 0 || !test_sweeps());
		}
	}
}

/* Any transfer fails by chance. */
static void test_chance(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < 4; r += test_step()) {
		trial t;
		const fault_trials trials = trials_of(&t);

		/* With more memory there are few transfers. */
		assert_true(fault_trials_random(&trials, r) != 0 || r == 3);
	}
}

/* Each allocation fails once. */
static void test_allocations(void **state)
{
	static const unsigned numbers[] = { 0, 2, 3 };
	unsigned r;

	(void)state;
	for (r = 0; r < 3; r++) {
		trial t;
		const fault_trials trials = trials_of(&t);

		fault_trials_allocations(&trials, numbers[r], UINT64_MAX);
	}
}

static em_status open_heap(void *what)
{
	radix_case *t = what;
	const em_status st = em_radix_heap_open(&t->h, t->f.ctx, &t->opts);

	assert_true((st == EM_OK) == (t->h != NULL));
	return st;
}

static void test_opening(void **state)
{
	radix_case t;

	(void)state;
	radix_case_open(&t, memory(), 8, 1);
	fault_trials_opening(&t.f, open_heap, &t, &t.err);
	radix_case_close(&t);
}

/* While nothing can be read, what is in memory is popped and others are pushed, above the minimum and below it. */
static void test_no_reads(void **state)
{
	unsigned r, round;

	(void)state;
	for (r = 0; r < 20; r += test_step()) {
		static const uint64_t ranges[] = { 0, 100000, 300, (uint64_t)1 << 33 };
		trial t;

		open_trial(&t, ranges[r % 4], r / 4 % 2 ? RUNS : LEAST, test_seed() + r);
		for (round = 0; round < 4; round++) {
			uint64_t i, k;

			for (i = 0; i < PUSHES / 8; i += 500) {
				draw(&t, 500, 0);
				push_all(&t, 500);
			}
			em_fault_set(&t.c.f.fault[0], EM_FAULT_READ, 1, UINT64_MAX);
			for (i = 0; i < 200 && pop(&t, 100) == EM_OK;)
				i++;
			for (i = 0; i < 100; i++) {
				const uint64_t gap = t.c.n != 0 ? t.c.keys[0] - t.c.last : 1;

				for (k = 0; k < 20; k++)
					radix_case_record(&t.c, k,
							  i % 4 == 0 ? radix_case_key(&t.c, 0)
								     : t.c.last + test_below(&t.c.f.rng, gap + 1));
				(void)push(&t, 20);
				if (i % 7 == 0)
					(void)pop(&t, 1 + test_below(&t.c.f.rng, 5));
				fault_trials_moments(&t.c.f, (unsigned)i);
			}
			em_fault_set(&t.c.f.fault[0], 0, 0, 0);
			pop_all(&t, t.c.n / 2);
		}
		while (t.c.n != 0)
			pop_all(&t, 1000);
		radix_case_close(&t.c);
	}
}

/* n keys from one on, that are no more than another one. */
static void draw_between(trial *t, uint64_t n, uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		radix_case_record(&t->c, i, from + test_below(&t->c.f.rng, to - from + 1));
}

/* Records come below what was looked at, more than the front holds, while nothing can be written: what was distributed
 * for that goes back when the disk is mended, however many were popped by then. */
static void test_going_back(void **state)
{
	static const uint64_t ranges[] = { 0, 1000, 100000, 300, (uint64_t)1 << 33 };
	uint64_t refused = 0;
	unsigned r;

	(void)state;
	for (r = 0; r < 400; r += test_step()) {
		uint64_t from, to, i, round;
		trial t;

		open_trial(&t, ranges[r % 5], r / 5 % 2 ? RUNS : LEAST, test_seed() + r);
		/* Begin anywhere among the digits. */
		for (i = 0; i < r / 5 % 20; i++) {
			draw(&t, 1, i % 2 ? 3 : 0);
			push_all(&t, 1);
			pop_all(&t, 1);
		}
		for (round = 0; round < 3; round++) {
			const uint64_t room = t.c.key_most - t.c.last, most = t.c.most < room ? t.c.most : room;
			const uint64_t part = most / (1 + test_below(&t.c.f.rng, 4));
			const uint64_t gap = test_below(&t.c.f.rng, part + (part != UINT64_MAX));

			for (i = 0; i < 1000 + test_below(&t.c.f.rng, 8000); i += 500) {
				draw_between(&t, 500, t.c.last + gap, t.c.last + most);
				push_all(&t, 500);
			}
			/* Or it is distributed in part. */
			if (r % 7 != 0)
				top(&t);
			em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE | (r % 3 == 0 || r % 7 == 0 ? EM_FAULT_READ : 0),
				     1, UINT64_MAX);
			if (r % 7 == 0)
				(void)pop(&t, 1);
			for (i = 0; i < 60; i++) {
				from = t.c.last;
				to = t.c.n != 0 && t.c.keys[0] > from ? t.c.keys[0] - (t.c.keys[0] - from) / 100 : from;
				if (r % 2)
					from = to - (to - from) / 4;
				draw_between(&t, 20, from, to);
				refused += push(&t, 20) != EM_OK;
				if (test_below(&t.c.f.rng, 3) == 0)
					(void)pop(&t, 1 + test_below(&t.c.f.rng, i % 2 ? 10 : 40));
				if (test_below(&t.c.f.rng, 8) == 0) {
					draw(&t, 3, 0);
					refused += push(&t, 3) != EM_OK;
				}
			}
			em_fault_set(&t.c.f.fault[0], 0, 0, 0);
			if (r % 4 != 0)
				pop_all(&t, t.c.n / 2);
		}
		while (t.c.n != 0)
			pop_all(&t, 1000);
		radix_case_close(&t.c);
	}
	assert_true(refused != 0);
}

/* When the disk is full that is told, with how many entered; popping makes room, and a second try succeeds. */
static void test_full_disk(void **state)
{
	static const uint64_t ranges[] = { 0, 300 };
	unsigned r;

	(void)state;
	for (r = 0; r < 2; r++) {
		em_ctx *other;
		unsigned full = 0;
		trial t;

		memset(&t, 0, sizeof t);
		radix_case_open(&t.c, memory(), RECORD, 400000);
		other = fault_trials_little_scratch(&t.c.f);
		t.c.opts.range = ranges[r];
		t.c.opts.block_bytes = BLOCK;
		t.c.opts.memory_bytes = 2u << 20;
		radix_case_make(&t.c);
		while (t.c.pushes < 300000 && full < 200) {
			const uint64_t n = 500, before = t.c.pushes;

			draw(&t, n, 0);
			while (t.c.pushes != before + n) {
				const uint64_t left = n - (t.c.pushes - before);
				char *rest;

				if (push(&t, left) == EM_OK)
					break;
				assert_int_equal(t.failed, EM_ERR_NOSPACE);
				full++;
				/* What comes out may need the buffer, and go beyond what was to be pushed. */
				rest = malloc(n * RECORD);
				assert_non_null(rest);
				memcpy(rest, t.c.buf, n * RECORD);
				pop_all(&t, 300 + 50 * (full % 40));
				memcpy(t.c.buf, rest, n * RECORD);
				free(rest);
				if (radix_case_stats(&t.c).records != t.c.n)
					fail();
				/* Keys may be too low now. */
				draw(&t, n - (t.c.pushes - before), 0);
			}
		}
		assert_true(full != 0);
		assert_true(t.c.pushes > 100000);
		while (t.c.n != 0)
			pop_all(&t, 1000);
		em_radix_heap_close(t.c.h);
		t.c.h = NULL;
		fault_trials_scratch(&t.c.f, other);
		radix_case_close(&t.c);
	}
}

/* Closing or clearing while transfers are under way, or have failed. */
static void test_closing(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < 6; k++) {
		trial t;
		uint64_t i;

		open_trial(&t, 0, k == 4 ? RUNS : LEAST, test_seed() + k);
		if (k % 2)
			em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE, 20, UINT64_MAX);
		for (i = 0; i < PUSHES / 2; i += 500) {
			draw(&t, 500, 0);
			if (push(&t, 500) != EM_OK)
				break;
		}
		assert_int_equal(t.failures != 0, k % 2);
		if (k >= 2)
			(void)pop(&t, 2000);
		if (k >= 4) {
			assert_int_equal(em_radix_heap_clear(t.c.h), EM_OK);
			t.c.n = t.c.last = 0;
			em_fault_set(&t.c.f.fault[0], 0, 0, 0);
			draw(&t, 500, 0);
			push_all(&t, 500);
			while (t.c.n != 0)
				pop_all(&t, 1000);
		}
		radix_case_close(&t.c);
	}
}

/* A context that was canceled. */
static void test_canceled(void **state)
{
	em_status st = EM_OK;
	uint64_t i;
	trial t;

	(void)state;
	open_trial(&t, 0, LEAST, test_seed());
	for (i = 0; i < 20000; i += 500) {
		draw(&t, 500, 0);
		push_all(&t, 500);
	}
	em_ctx_cancel(t.c.f.ctx);
	draw(&t, 500, 0);
	assert_int_equal(push(&t, 500), EM_ERR_CANCELED);
	for (i = 0; st == EM_OK && i < 20000; i++)
		st = pop(&t, 1);
	assert_int_equal(st, EM_ERR_CANCELED);
	radix_case_close(&t.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_no_reads),
		cmocka_unit_test(test_going_back),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_closing),
		cmocka_unit_test(test_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
