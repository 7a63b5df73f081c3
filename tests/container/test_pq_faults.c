/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_pq_faults.c -- priority queues when transfers, disks, allocations or functions of the order fail: what has
 * failed may be tried again, and nothing is lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/fault_trials.h"
#include "container/pq_case.h"

enum { BLOCK = 4096, PUSHES = 24000, TRIES = 300 };

/* Numbers, pairs, records that elements refer to, and those of kernels of their own. */
static const unsigned kinds[] = { 2, 6, 12, 14 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

typedef struct trial {
	pq_case c;
	em_status failed;       /* the last failure; EM_OK: there was none */
	uint64_t failures;
} trial;

static void note(trial *t, em_status st)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_pq_error(t->c.q, &err);
	assert_int_equal(err.status, st);
	assert_true(err.text[0] != '\0');
	assert_int_equal(em_pq_size(t->c.q), t->c.n);
	t->failed = st;
	t->failures++;
}

/* Push what is in the buffer as far as it goes. */
static em_status push(trial *t, uint64_t n)
{
	const uint32_t bytes = t->c.kind->bytes;
	uint64_t pushed = 77;
	em_status st;

	if (n == 1) {
		st = em_pq_push(t->c.q, t->c.buf);
		pushed = st == EM_OK;
	} else {
		st = em_pq_push_many(t->c.q, t->c.buf, n, &pushed);
	}
	assert_true(pushed <= n && (pushed == n) == (st == EM_OK));
	pq_case_entered(&t->c, pushed);
	memmove(t->c.buf, t->c.buf + pushed * bytes, (size_t)((n - pushed) * bytes));
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
	if (t->c.pushes != before + n) {
		em_pq_error(t->c.q, &t->c.err);
		fail_msg("%s", t->c.err.text);
	}
}

static em_status pop(trial *t, uint64_t n)
{
	uint64_t popped = 77, i;
	em_status st;

	n = n < PQ_MANY ? n : PQ_MANY;
	if (n == 1) {
		st = em_pq_pop(t->c.q, t->c.buf);
		popped = st == EM_OK;
	} else {
		st = em_pq_pop_many(t->c.q, t->c.buf, n, &popped);
	}
	for (i = 0; i < popped; i++)
		pq_case_came(&t->c, t->c.buf + i * t->c.kind->bytes);
	assert_int_equal(em_pq_size(t->c.q), t->c.n);
	note(t, st);
	return st;
}

static void pop_all(trial *t, uint64_t n)
{
	unsigned i;

	n = n < t->c.n ? n : t->c.n;
	for (i = 0; i < TRIES && n != 0; i++) {
		const uint64_t had = t->c.n;

		(void)pop(t, i % 2 ? n : 1);
		n -= had - t->c.n;
		if (had != t->c.n)
			i &= 1;
	}
	assert_true(i < TRIES);
}

static void top(trial *t)
{
	em_status st;
	unsigned i;

	if (t->c.n == 0)
		return;
	for (i = 0; i < TRIES && (st = em_pq_top(t->c.q, t->c.buf)) != EM_OK; i++)
		note(t, st);
	assert_true(i < TRIES);
	pq_case_top(&t->c);
}

/* Both or neither. */
static void exchange(trial *t, int replace)
{
	char *in = malloc(t->c.kind->bytes), *out = malloc(t->c.kind->bytes);
	em_status st = EM_ERR_IO;
	unsigned i;

	assert_non_null(in);
	assert_non_null(out);
	memcpy(in, t->c.buf, t->c.kind->bytes);
	for (i = 0; i < TRIES && st != EM_OK; i++) {
		st = replace ? em_pq_replace(t->c.q, in, out) : em_pq_pushpop(t->c.q, in, out);
		note(t, st);
	}
	assert_int_equal(st, EM_OK);
	if (replace)
		pq_case_came(&t->c, out);
	pq_case_entered(&t->c, 1);
	if (!replace)
		pq_case_came(&t->c, out);
	free(in);
	free(out);
}

static void lend(trial *t)
{
	const em_batch *batch;
	em_status st = EM_ERR_IO;
	unsigned i;
	size_t k;

	for (i = 0; i < TRIES && st != EM_OK && t->c.n != 0; i++) {
		st = em_pq_next(t->c.q, &batch);
		note(t, st);
		for (k = 0; st == EM_OK && k < batch->n; k++)
			pq_case_came(&t->c, (const char *)batch->records + k * t->c.kind->bytes);
	}
	assert_true(i < TRIES);
}

/* A queue with little memory. */
static void open_trial(trial *t, unsigned kind, int stable, uint64_t seed)
{
	memset(t, 0, sizeof *t);
	pq_case_open(&t->c, memory(), &pq_kinds[kind], stable, PUSHES * 3);
	t->c.f.rng = test_rng_make(seed);
	t->c.opts.block_bytes = BLOCK;
	t->c.opts.arity = 3;
	t->c.opts.memory_bytes = UINT64_MAX;
	pq_case_make(&t->c);
}

static void draw(trial *t, uint64_t n, unsigned shape)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		pq_case_record(&t->c, i, pq_case_value(&t->c, shape));
}

/* Some of everything: many in, many out, early ones, equal ones. */
static void work(void *of)
{
	trial *t = of;
	const uint64_t pushes = t->c.kind->bytes > 50 ? PUSHES / 8 : PUSHES;
	uint64_t i;

	for (i = 0; i < pushes / 2; i += 500) {
		draw(t, 500, i % 1500 == 0 ? 1 : 0);
		push_all(t, 500);
	}
	top(t);
	for (i = 0; i < 40; i++) {
		draw(t, 50, 3);
		push_all(t, 50);
	}
	pop_all(t, t->c.n / 3);
	for (i = 0; i < 2000; i++) {
		draw(t, 1, (unsigned)(i / 250));
		if (i % 5 == 0 && t->c.n != 0)
			exchange(t, i % 2 == 0);
		else
			push_all(t, 1);
		if (i % 3 == 0)
			pop_all(t, 2);
		if (i % 700 == 0)
			top(t);
	}
	for (i = 0; i < pushes / 2; i += 500) {
		draw(t, 500, i < 5000 ? 6 : 0);
		push_all(t, 500);
		if (i % 2000 == 0)
			lend(t);
	}
	while (t->c.n != 0)
		pop_all(t, 1000);
	assert_int_equal(pq_case_stats(&t->c).blocks, 0);
}

/* number: which of the kinds, and 4 more if it is stable. */
static void open_number(void *t, unsigned number)
{
	open_trial(t, kinds[number % 4], number >= 4, test_seed());
}

static void close_trial(void *t)
{
	pq_case_close(&((trial *)t)->c);
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
	for (r = 0; r < sizeof kinds / sizeof *kinds; r++) {
		for (k = 0; k < FAULT_WAYS; k++) {
			trial t;
			const fault_trials trials = trials_of(&t);
			const uint64_t failures =
				fault_trials_transfers(&trials, r + (r + k) % 2 * 4, &fault_ways[k], 30);

			/* A write that fails may be tried again before anybody has to know. */
			if (k != 1 && k < 4)
				assert_true(failures != 0 || !test_sweeps());
		}
	}
}

/* Any transfer fails by chance. */
static void test_chance(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < 8; r += test_step()) {
		trial t;
		const fault_trials trials = trials_of(&t);

		assert_true(fault_trials_random(&trials, r) != 0);
	}
}

/* Each allocation fails once. */
static void test_allocations(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < sizeof kinds / sizeof *kinds; r++) {
		trial t;
		const fault_trials trials = trials_of(&t);

		fault_trials_allocations(&trials, r + r % 2 * 4, 100);
	}
}

static em_status open_queue(void *what)
{
	pq_case *t = what;
	const em_status st = em_pq_open(&t->q, t->f.ctx, &t->opts);

	assert_true((st == EM_OK) == (t->q != NULL));
	return st;
}

static void test_opening(void **state)
{
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 1);
	fault_trials_opening(&t.f, open_queue, &t, &t.err);
	pq_case_close(&t);
}

/* While nothing can be read, or nothing be written, what is in memory is popped and others are pushed. */
static void test_disk_fails(void **state)
{
	unsigned r, round;

	(void)state;
	for (r = 0; r < 16; r += test_step()) {
		trial t;

		open_trial(&t, kinds[r % 4], (int)(r / 4 % 2), test_seed() + r);
		for (round = 0; round < 4; round++) {
			uint64_t i;

			for (i = 0; i < PUSHES / 10; i += 500) {
				draw(&t, 500, 0);
				push_all(&t, 500);
			}
			em_fault_set(&t.c.f.fault[0], EM_FAULT_READ, 1, UINT64_MAX);
			for (i = 0; i < 200 && pop(&t, 100) == EM_OK;)
				i++;
			for (i = 0; i < 100; i++) {
				draw(&t, 20, i % 4 == 0 ? 0 : 3);
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
		pq_case_close(&t.c);
	}
}

/* Merges end early again and again, at all levels: equal ones still leave in the order in which they came. */
static void test_merges_fail_often(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < 16; r += test_step()) {
		uint64_t i;
		trial t;

		open_trial(&t, kinds[r % 4], 1, test_seed() + r);
		for (i = 0; i < 4 * PUSHES / t.c.kind->bytes; i += 100) {
			em_fault_set(&t.c.f.fault[0], EM_FAULT_READ, 1 + test_below(&t.c.f.rng, 30), 1);
			draw(&t, 100, 1);
			push_all(&t, 100);
			if (i % 1000 == 0)
				pop_all(&t, test_below(&t.c.f.rng, 300));
		}
		em_fault_set(&t.c.f.fault[0], 0, 0, 0);
		while (t.c.n != 0)
			pop_all(&t, 1000);
		pq_case_close(&t.c);
	}
}

/* A merge fails a few blocks later each time that it is tried: it comes to its end all the same. */
static void test_merges_fail_again(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < 16; r += test_step()) {
		uint64_t i;
		trial t;

		open_trial(&t, kinds[r % 4], (int)(r / 4 % 2), test_seed() + r);
		for (i = 0; i < 4 * PUSHES / t.c.kind->bytes; i += 100) {
			const uint64_t pushes = t.c.pushes + 100;
			unsigned tries;

			draw(&t, 100, r < 8 ? 1 : 0);
			for (tries = 0; tries < TRIES && t.c.pushes != pushes; tries++) {
				em_fault_set(&t.c.f.fault[0], EM_FAULT_READ | (r % 2 ? EM_FAULT_WRITE : 0),
					     1 + test_below(&t.c.f.rng, 15), 1 + r % 2 * 4);
				(void)push(&t, pushes - t.c.pushes);
			}
			assert_true(tries < TRIES);
			if (i % 1000 == 0)
				pop_all(&t, test_below(&t.c.f.rng, 300));
		}
		em_fault_set(&t.c.f.fault[0], 0, 0, 0);
		while (t.c.n != 0)
			pop_all(&t, 1000);
		assert_int_equal(pq_case_stats(&t.c).blocks, 0);
		pq_case_close(&t.c);
	}
}

/* When the disk is full that is told, with how many entered; popping makes room, and a second try succeeds. */
static void test_full_disk(void **state)
{
	unsigned r;

	(void)state;
	for (r = 0; r < 2; r++) {
		em_ctx *other;
		em_order *order;
		unsigned full = 0;
		trial t;

		memset(&t, 0, sizeof t);
		pq_case_open(&t.c, memory(), &pq_kinds[2], (int)r, 400000);
		other = fault_trials_little_scratch(&t.c.f);
		order = t.c.order;
		pq_case_make_order(&t.c);
		t.c.opts.block_bytes = BLOCK;
		t.c.opts.memory_bytes = 1u << 20;
		pq_case_make(&t.c);
		while (t.c.pushes < 300000 && full < 200) {
			draw(&t, 300, 0);
			if (push(&t, 300) == EM_OK)
				continue;
			assert_int_equal(t.failed, EM_ERR_NOSPACE);
			full++;
			pop_all(&t, full < 20 ? 1000 : 20000);
		}
		assert_true(full != 0);
		while (t.c.n != 0)
			pop_all(&t, 1000);
		assert_int_equal(pq_case_stats(&t.c).blocks, 0);
		em_pq_close(t.c.q);
		t.c.q = NULL;
		em_order_close(t.c.order);
		fault_trials_scratch(&t.c.f, other);
		t.c.order = order;
		pq_case_close(&t.c);
	}
}

/* A function that fails while records are compared: all calls say so until the queue is cleared. */
static void test_comparison_fails(void **state)
{
	static const unsigned by[] = { 14, 15, 17 };
	unsigned r;

	(void)state;
	for (r = 0; r < 3; r++) {
		em_status st = EM_OK;
		unsigned i;
		trial t;

		open_trial(&t, by[r], 0, test_seed());
		for (i = 0; i < 4; i++) {
			draw(&t, 600, 0);
			push_all(&t, 600);
		}
		pop_all(&t, 3);
		t.c.fails = 1;
		for (i = 0; i < 100 && st == EM_OK; i++) {
			draw(&t, 200, 0);
			st = em_pq_push_many(t.c.q, t.c.buf, 200, NULL);
			if (st == EM_OK)
				st = em_pq_pop(t.c.q, t.c.buf);
		}
		assert_int_equal(st, EM_ERR_USER);
		em_pq_error(t.c.q, &t.c.err);
		assert_non_null(strstr(t.c.err.text, "function"));
		assert_int_equal(em_pq_clear(t.c.q), EM_OK);
		assert_int_equal(em_pq_size(t.c.q), 0);
		t.c.fails = 0;
		t.c.n = 0;
		draw(&t, 600, 0);
		push_all(&t, 600);
		pq_case_drain(&t.c);
		pq_case_close(&t.c);
	}
}

/* A function that computes keys of small records fails: the push does, and nothing else. */
static void test_key_fails(void **state)
{
	uint64_t pushed = 77;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[16], 0, 10000);
	pq_case_make(&t);
	pq_case_record(&t, 0, 5);
	pq_case_push(&t, 1);
	t.fails = 1;
	pq_case_record(&t, 0, 6);
	assert_int_equal(em_pq_push(t.q, t.buf), EM_ERR_USER);
	assert_int_equal(em_pq_push_many(t.q, t.buf, 3, &pushed), EM_ERR_USER);
	assert_int_equal(pushed, 0);
	assert_int_equal(em_pq_size(t.q), 1);
	pq_case_top(&t);
	t.fails = 0;
	pq_case_record(&t, 0, 6);
	pq_case_push(&t, 1);
	pq_case_drain(&t);
	pq_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_disk_fails),
		cmocka_unit_test(test_merges_fail_often),
		cmocka_unit_test(test_merges_fail_again),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_comparison_fails),
		cmocka_unit_test(test_key_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
