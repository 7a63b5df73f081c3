/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_pq_model.c -- priority queues against a binary heap, by random operations with little memory, so that every
 * level and overflow happens.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/pq_case.h"

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

/* Records up to a bound leave, and only these. */
static void pop_until(pq_case *t)
{
	const uint64_t n = 1 + test_below(&t->f.rng, PQ_MANY - 1);
	const uint32_t flags = test_below(&t->f.rng, 2) ? EM_PQ_INCLUSIVE : 0;
	uint64_t value = pq_case_value(t, (unsigned)test_below(&t->f.rng, 3)), popped = 77, i;
	char *bound = malloc(t->kind->bytes);
	em_status st;

	assert_non_null(bound);
	if (t->n != 0 && test_below(&t->f.rng, 3) != 0)
		value = pq_case_first(t) + test_below(&t->f.rng, 20) * (pq_case_most(t) / (1 + 200 * t->n) + 1);
	value &= pq_case_most(t);
	pq_case_record(t, 0, value);
	memcpy(bound, t->buf, t->kind->bytes);
	/* Of 16 bytes the second half counts, too, and follows from the first. */
	st = em_pq_pop_until(t->q, bound, flags, t->buf, n, &popped);
	assert_int_equal(st, popped != 0 ? EM_OK : EM_NOT_FOUND);
	for (i = 0; i < popped; i++) {
		assert_true(flags != 0 ? pq_case_first(t) <= value : pq_case_first(t) < value);
		pq_case_came(t, t->buf + i * t->kind->bytes);
	}
	if (popped < n && t->n != 0)
		assert_true(flags != 0 ? pq_case_first(t) > value : pq_case_first(t) >= value);
	free(bound);
}

/* Push and pop in one. */
static void exchange(pq_case *t, int replace, unsigned shape)
{
	char *out = malloc(t->kind->bytes);
	const int same = test_below(&t->f.rng, 2) != 0;

	assert_non_null(out);
	pq_case_record(t, 0, pq_case_value(t, shape));
	if (replace && t->n == 0) {
		assert_int_equal(em_pq_replace(t->q, t->buf, out), EM_NOT_FOUND);
		free(out);
		return;
	}
	if (replace) {
		char *in = malloc(t->kind->bytes);

		assert_non_null(in);
		memcpy(in, t->buf, t->kind->bytes);
		assert_pq_ok(t, em_pq_replace(t->q, t->buf, same ? t->buf : out));
		memcpy(out, same ? t->buf : out, t->kind->bytes);
		pq_case_came(t, out);
		memcpy(t->buf, in, t->kind->bytes);
		pq_case_entered(t, 1);
		free(in);
	} else {
		pq_case_entered(t, 1);
		assert_pq_ok(t, em_pq_pushpop(t->q, t->buf, same ? t->buf : out));
		pq_case_came(t, same ? t->buf : out);
	}
	assert_int_equal(em_pq_size(t->q), t->n);
	free(out);
}

static void lend(pq_case *t)
{
	const em_batch *batch;
	const em_status st = em_pq_next(t->q, &batch);
	size_t i;

	if (t->n == 0) {
		assert_int_equal(st, EM_NOT_FOUND);
		assert_null(batch);
		return;
	}
	assert_pq_ok(t, st);
	assert_true(batch->n != 0 && batch->n <= t->n && batch->bytes == batch->n * t->kind->bytes);
	for (i = 0; i < batch->n; i++)
		pq_case_came(t, (const char *)batch->records + i * t->kind->bytes);
	assert_int_equal(em_pq_size(t->q), t->n);
}

/* By the cursor: some of a window, then something is pushed and popped, and then the rest of it. */
static void by_cursor(pq_case *t, unsigned shape)
{
	em_cursor *c = em_pq_cursor(t->q);
	const void *record;
	uint64_t left, i;

	if (t->n == 0) {
		assert_int_equal(em_cursor_next(c, &record), EM_NOT_FOUND);
		assert_null(record);
		return;
	}
	assert_pq_ok(t, em_cursor_refill(c));
	left = (uint64_t)(c->end - c->cur) / t->kind->bytes;
	assert_int_equal(em_pq_size(t->q), t->n - left);
	/* The model takes all of them at once. */
	for (i = 0; i < left; i++)
		pq_case_came(t, c->cur + i * t->kind->bytes);
	record = c->cur;
	memcpy(t->buf, record, t->kind->bytes);
	left = test_below(&t->f.rng, 2);
	if (left != 0) {
		char *first = malloc(t->kind->bytes);

		assert_non_null(first);
		memcpy(first, t->buf, t->kind->bytes);
		pq_case_record(t, 0, pq_case_value(t, shape));
		pq_case_push(t, 1);
		pq_case_pop(t, 1);
		assert_int_equal(em_cursor_next(c, &record), EM_OK);
		assert_memory_equal(record, first, t->kind->bytes);
		free(first);
	}
	/* What lends a batch passes over the rest, and so does emptying. */
	c->cur = c->end;
}

/* Random operations, of which more are pushes or pops by turns. */
static void operate(pq_case *t, uint64_t steps)
{
	unsigned shape = 0, more = 0;
	uint64_t i, k, n;

	for (i = 0; i < steps && t->pushes + PQ_MANY < t->room; i++) {
		if (i % 50 == 0) {
			shape = (unsigned)test_below(&t->f.rng, PQ_SHAPES);
			more = (unsigned)test_below(&t->f.rng, 3);
		}
		switch (test_below(&t->f.rng, 12)) {
		case 0:
			pop_until(t);
			break;
		case 1:
			exchange(t, 0, shape);
			break;
		case 2:
			exchange(t, 1, shape);
			break;
		case 3:
			pq_case_top(t);
			break;
		case 4:
			if (more == 2 && test_below(&t->f.rng, 2))
				by_cursor(t, shape);
			else if (more == 2)
				lend(t);
			break;
		case 5:
		case 6:
			n = more == 0 ? 1 + test_below(&t->f.rng, PQ_MANY) : 1 + test_below(&t->f.rng, 20);
			for (k = 0; k < n; k++)
				pq_case_record(t, k, pq_case_value(t, shape));
			pq_case_push(t, n);
			break;
		case 7:
			pq_case_pop(t, more == 2 ? 1 + test_below(&t->f.rng, PQ_MANY) : 1 + test_below(&t->f.rng, 20));
			break;
		case 8:
		case 9:
			for (k = 0; k < 10; k++) {
				pq_case_record(t, 0, pq_case_value(t, shape));
				pq_case_push(t, 1);
			}
			break;
		default:
			for (k = 0; k < 10; k++)
				pq_case_pop(t, 1);
		}
	}
	pq_case_drain(t);
}

/* All kinds of records, stable or not, with the least memory and with some more. */
static void test_operations(void **state)
{
	uint64_t returned = 0;
	uint32_t levels = 0;
	unsigned k, m;

	(void)state;
	for (k = 0; k < pq_kinds_n; k++) {
		for (m = 0; m < 6; m++) {
			const uint64_t size = pq_kinds[k].bytes > 1000 ? 4000 : 120000;
			pq_case t;

			if (test_left_out())
				continue;
			pq_case_open(&t, memory(), &pq_kinds[k], (int)(m % 2), size);
			t.opts.block_bytes = pq_kinds[k].bytes > 1000 ? 8192 : 4096;
			t.opts.memory_bytes = UINT64_MAX;
			t.opts.arity = 2 + m;
			if (m >= 2)
				t.opts.memory_bytes = pq_case_least(&t) + (m - 1) * (128u << 10);
			if (m >= 4)
				t.opts.memory_bytes = 4u << 20;
			pq_case_make(&t);
			operate(&t, size / 60);
			operate(&t, size / 120);
			returned += pq_case_stats(&t).returned;
			levels = pq_case_stats(&t).levels > levels ? pq_case_stats(&t).levels : levels;
			pq_case_close(&t);
		}
	}
	print_message("%u levels, %llu records came back\n", (unsigned)levels, (unsigned long long)returned);
	/* The few cases that a slow build takes may all have much memory. */
	assert_true(test_fewer() > 1 || (levels >= 3 && returned != 0));
}

/* Push all in some order, and pop all. */
static void in_and_out(pq_case *t, uint64_t n, unsigned shape)
{
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < PQ_MANY && i + k < n; k++)
			pq_case_record(t, k, pq_case_value(t, shape));
		pq_case_push(t, k);
	}
	pq_case_drain(t);
}

/* Whatever the order is, and however many records: also those numbers at which buffers are just full. */
static void test_counts(void **state)
{
	unsigned k, shape, i;

	(void)state;
	for (k = 0; k < pq_kinds_n; k++) {
		em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
		uint64_t counts[12];
		pq_case t;

		if (test_left_out())
			continue;
		pq_case_open(&t, memory(), &pq_kinds[k], (int)(k % 2), 400000);
		t.opts.block_bytes = pq_kinds[k].bytes > 1000 ? 8192 : 4096;
		t.opts.memory_bytes = UINT64_MAX;
		pq_case_make(&t);
		assert_pq_ok(&t, em_pq_plan(t.f.ctx, &t.opts, &info));
		for (i = 0; i < 3; i++) {
			counts[i] = info.piece_records + i - 1;
			counts[3 + i] = info.front_records + i - 1;
			counts[6 + i] = info.run_records + info.piece_records + i - 1;
			counts[9 + i] = i;
		}
		for (i = 0; i < 12; i++)
			for (shape = 0; shape < PQ_SHAPES && counts[i] < 20000; shape++)
				in_and_out(&t, counts[i], shape);
		in_and_out(&t, pq_kinds[k].bytes > 1000 ? 2000 : 30000, k % PQ_SHAPES);
		pq_case_close(&t);
	}
}

/* A constant number of records, of which the first is popped and a later or an earlier one pushed, for long. */
static void test_hold(void **state)
{
	unsigned shape;

	(void)state;
	for (shape = 0; shape < PQ_SHAPES; shape++) {
		uint64_t i;
		pq_case t;

		if (test_left_out())
			continue;
		pq_case_open(&t, memory(), &pq_kinds[shape % 2 ? 2 : 6], (int)(shape / 2 % 2), 200000);
		t.opts.block_bytes = 4096;
		t.opts.memory_bytes = UINT64_MAX;
		pq_case_make(&t);
		for (i = 0; i < 15000; i++) {
			pq_case_record(&t, 0, pq_case_value(&t, 0));
			pq_case_push(&t, 1);
		}
		for (i = 0; i < 150000; i++) {
			pq_case_pop(&t, 1);
			pq_case_record(&t, 0, pq_case_value(&t, shape));
			pq_case_push(&t, 1);
		}
		pq_case_drain(&t);
		assert_int_equal(pq_case_stats(&t).blocks, 0);
		pq_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
