/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_radix_heap_model.c -- radix heaps with the least memory against a binary heap, by random operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/radix_case.h"

enum { CASES = 96, OPERATIONS = 60000, LONG = 1000000 };

static uint64_t below(radix_case *t, uint64_t n)
{
	return test_below(&t->f.rng, n);
}

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

/* Keys that may not be pushed are refused, with both numbers, and change nothing. */
static void refused(radix_case *t)
{
	char number[40], last[40];
	uint64_t key, pushed = 77;

	if (t->last != 0 && below(t, 2) == 0)
		key = t->last - 1 - below(t, t->last < 1000 ? t->last : 1000);
	else if (t->most < t->key_most - t->last)
		key = t->last + t->most + 1 + below(t, t->key_most - t->last - t->most < 1000 ? 1 : 1000);
	else
		return;
	radix_case_record(t, 0, t->last);
	radix_case_record(t, 1, key);
	assert_int_equal(em_radix_heap_push_many(t->h, t->buf, 2, &pushed), EM_ERR_RANGE);
	assert_int_equal(pushed, 0);
	em_radix_heap_error(t->h, &t->err);
	assert_int_equal(t->err.record, 2);
	snprintf(number, sizeof number, "%llu", (unsigned long long)key);
	snprintf(last, sizeof last, "%llu", (unsigned long long)t->last);
	assert_non_null(strstr(t->err.text, number));
	assert_non_null(strstr(t->err.text, last));
	assert_int_equal(em_radix_heap_size(t->h), t->n);
}

/* Push or pop: one or many. */
static void operate(radix_case *t, int more, unsigned shape)
{
	const uint64_t what = below(t, 100), most = t->opts.record_bytes > 500 ? 20 : RADIX_MANY;
	const uint64_t n = below(t, 3) != 0 ? 1 : below(t, 10) != 0 ? below(t, 8) : below(t, most);
	uint64_t i;

	if (what < 2) {
		radix_case_top(t);
	} else if (what == 2) {
		refused(t);
	} else if (what < 3 + (more ? 60u : 36u)) {
		for (i = 0; i < n && t->pushes + i + 2 < t->pushes_most; i++)
			radix_case_record(t, i, radix_case_key(t, below(t, 5) == 0 ? (unsigned)below(t, 6) : shape));
		if (i != 0)
			radix_case_push(t, i);
	} else {
		radix_case_pop(t, n);
	}
}

static void forget(radix_case *t)
{
	assert_radix_ok(t, em_radix_heap_clear(t->h));
	memset(t->there, 0, (size_t)t->pushes);
	t->n = t->last = 0;
	assert_int_equal(em_radix_heap_last(t->h), 0);
	assert_int_equal(em_radix_heap_size(t->h), 0);
}

static void run(radix_case *t, unsigned operations)
{
	unsigned shape = (unsigned)below(t, 7), i;
	int more = 1;

	for (i = 0; i < operations && t->pushes + RADIX_MANY + 2 < t->pushes_most; i++) {
		if (below(t, operations / 8) == 0)
			more = !more;
		if (below(t, 2000) == 0)
			shape = (unsigned)below(t, 7);
		if (below(t, operations * 2) == 0)
			forget(t);
		operate(t, more, shape);
	}
	radix_case_drain(t);
	assert_int_equal(radix_case_stats(t).blocks, 0);
}

static void test_model(void **state)
{
	static const uint32_t records[] = { 1, 2, 3, 4, 8, 12, 16, 17, 40, 100, 700, 4096 };
	static const int32_t types[] = { EM_KEY_U64, EM_KEY_U8, EM_KEY_U32, EM_KEY_U16, EM_KEY_F32, EM_KEY_F64 };
	static const unsigned widths[] = { 8, 1, 4, 2, 4, 8 };
	static const uint64_t ranges[] = { 0, 1000, 1, 70000, (uint64_t)1 << 31, 3, 255, 256, 257, UINT64_MAX - 1 };
	unsigned c;

	(void)state;
	for (c = 0; c < CASES; c += test_step()) {
		unsigned r = c % (sizeof records / sizeof *records), type = (c / 12 + c) % 6;
		radix_case t;
		uint64_t least;

		while (widths[type] > records[r])
			type = (type + 1) % 6;
		radix_case_open_with(&t, em_backend_find(c % 8 == 1 ? "syscall" : "memory"), records[r], OPERATIONS * 8,
				     c % 4 == 1 ? EM_CTX_CHECKED : 0);
		t.opts.key_type = types[type];
		t.opts.key_offset = below(&t, records[r] - widths[type] + 1);
		t.opts.key_flags = below(&t, 2) == 0 ? EM_KEY_BIG_ENDIAN : 0;
		t.opts.range = type < 4 ? ranges[below(&t, sizeof ranges / sizeof *ranges)] : 0;
		t.opts.block_bytes = 4096 * (1 + below(&t, 2));
		least = radix_case_least(&t);
		t.opts.memory_bytes = least + (below(&t, 2) == 0 ? 0 : below(&t, least));
		radix_case_make(&t);
		run(&t, records[r] > 500 ? OPERATIONS / 10 : OPERATIONS);
		radix_case_close(&t);
	}
}

/* With memory for runs, of all kinds of items: many records, of few buckets, some of them pushed when the next bucket
 * is sorted already. */
static void test_runs(void **state)
{
	static const struct { uint32_t record; int32_t type; unsigned width; } of[] = {
		{ 8, EM_KEY_U64, 8 }, { 8, EM_KEY_F64, 8 }, { 8, EM_KEY_U32, 4 }, { 4, EM_KEY_U32, 4 },
		{ 16, EM_KEY_U64, 8 }, { 12, EM_KEY_F32, 4 }, { 40, EM_KEY_U64, 8 }, { 100, EM_KEY_U32, 4 }
	};
	uint64_t sorted = 0;
	unsigned c, i;

	(void)state;
	for (c = 0; c < 2 * sizeof of / sizeof *of; c += test_step()) {
		radix_case t;

		radix_case_open(&t, memory(), of[c / 2].record, 400000);
		t.opts.key_type = of[c / 2].type;
		t.opts.key_offset = below(&t, of[c / 2].record - of[c / 2].width + 1);
		t.opts.key_flags = below(&t, 2) == 0 ? EM_KEY_BIG_ENDIAN : 0;
		t.opts.block_bytes = 4096;
		t.opts.memory_bytes = (6 + below(&t, 8)) << 20;
		radix_case_make(&t);
		for (i = 0; i < 100000; i += RADIX_MANY) {
			uint64_t k;

			for (k = 0; k < RADIX_MANY; k++)
				radix_case_record(&t, k, radix_case_key(&t, 0));
			radix_case_push(&t, RADIX_MANY);
		}
		/* As many come as go, mostly; or they are only popped. */
		for (i = 0; c % 2 == 0 && i < 40000; i++) {
			radix_case_pop(&t, 1);
			radix_case_record(&t, 0, radix_case_key(&t, i % 64 == 0 ? 1 : i / 10000 % 3));
			radix_case_push(&t, 1);
			if (i % 5000 == 0)
				radix_case_top(&t);
			if (i % 1000 == 0)
				radix_case_pop(&t, RADIX_MANY);
		}
		radix_case_drain(&t);
		sorted += radix_case_stats(&t).sorted;
		assert_int_equal(radix_case_stats(&t).blocks, 0);
		radix_case_close(&t);
	}
	assert_true(sorted > 50000);
}

/* A million steps, of few levels and of many. */
static void test_long(void **state)
{
	unsigned c;

	(void)state;
	for (c = (unsigned)test_first_of(test_fewer() > 1 ? 3 : 1); c < 3; c += test_step()) {
		radix_case t;

		radix_case_open(&t, memory(), 12, (uint64_t)LONG * 16);
		t.opts.block_bytes = 4096;
		t.opts.range = c == 0 ? 0 : c == 1 ? 1000 : (uint64_t)1 << 31;
		t.opts.memory_bytes = c == 2 ? 3 * radix_case_least(&t) : UINT64_MAX;
		radix_case_make(&t);
		run(&t, LONG / test_fewer());
		print_message("distributed %llu, sorted %llu, read %llu, written %llu\n",
			      (unsigned long long)radix_case_stats(&t).distributed,
			      (unsigned long long)radix_case_stats(&t).sorted,
			      (unsigned long long)radix_case_stats(&t).reads,
			      (unsigned long long)radix_case_stats(&t).writes);
		radix_case_close(&t);
	}
}

/* Records are pushed below what was looked at, as many as make the reference go back. */
static void test_below_top(void **state)
{
	enum { ROUNDS = 60, N = 3000 };
	unsigned c, i, k;

	(void)state;
	for (c = 0; c < 12; c += test_step()) {
		static const uint64_t ranges[] = { 0, 1000000, 500, 30 };
		radix_case t;

		radix_case_open(&t, memory(), 12, ROUNDS * 4 * N + RADIX_MANY);
		t.opts.block_bytes = 4096;
		t.opts.range = ranges[c % 4];
		t.opts.memory_bytes = UINT64_MAX;
		radix_case_make(&t);
		for (i = 0; i < ROUNDS; i++) {
			for (k = 0; k < N; k++) {
				uint64_t key = radix_case_key(&t, below(&t, 3) == 0 ? 1 : 0);

				/* Nothing is low before it was looked at. */
				if (i % 2 == 0 && t.most > 20 && key - t.last < t.most / 2)
					key += t.most / 2 < t.key_most - key ? t.most / 2 : 0;
				radix_case_record(&t, 0, key);
				radix_case_push(&t, 1);
			}
			if (below(&t, 3) != 0)
				radix_case_top(&t);
			for (k = 0; k < N; k++) {
				const uint64_t top = t.keys[0], gap = top - t.last;

				radix_case_record(&t, 0,
						  t.last + (gap == 0 ? 0 : below(&t, gap / (1 + below(&t, 3)) + 1)));
				radix_case_push(&t, 1);
				if (below(&t, 500) == 0)
					radix_case_top(&t);
				if (below(&t, 700) == 0)
					radix_case_pop(&t, 1 + below(&t, 100));
			}
			radix_case_top(&t);
			while (t.n > 2 * N)
				radix_case_pop(&t, 1 + below(&t, N / 10));
		}
		radix_case_drain(&t);
		radix_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_below_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
