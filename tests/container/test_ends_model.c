/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_model.c -- stacks, queues and deques with small blocks and few of them in memory against an array, by
 * random operations; and patterns at the edges of blocks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/ends_case.h"

enum { CASES = 60, OPERATIONS = 36000 };

static const uint64_t sizes[] = { 1, 4, 8, 12, 100, 1000, 1500, 3000, 4096, 5000 };

static uint64_t below(ends_case *t, uint64_t n)
{
	return test_below(&t->f.rng, n);
}

static emi_end any_end(ends_case *t, int (*is)(const ends_case *t, emi_end end))
{
	const emi_end end = below(t, 2) == 0 ? EMI_BACK : EMI_FRONT;

	return is(t, end) ? end : end == EMI_BACK ? EMI_FRONT : EMI_BACK;
}

/* Few more often than many. */
static uint64_t some(ends_case *t, uint64_t most)
{
	const uint64_t few = below(t, 3);

	return below(t, 8) == 0 ? below(t, most + 1) : few < most ? few : most;
}

/* A range of a deque. */
static void range(ends_case *t)
{
	const size_t record = (size_t)t->opts.record_bytes;
	const uint64_t i = below(t, t->n + 1), n = some(t, t->n - i);
	char *is = (char *)t->is + (t->from + i) * record;

	if (below(t, 2) == 0) {
		assert_ends_ok(t, n == 1 ? em_deque_get(t->object, i, t->buf) : em_deque_read(t->object, i, t->buf, n));
		assert_memory_equal(t->buf, is, (size_t)n * record);
	} else {
		test_fill(&t->f.rng, t->buf, (size_t)n * record);
		memcpy(is, t->buf, (size_t)n * record);
		assert_ends_ok(t,
			       n == 1 ? em_deque_set(t->object, i, t->buf) : em_deque_write(t->object, i, t->buf, n));
	}
	assert_int_equal(em_deque_get(t->object, t->n, t->buf), EM_ERR_RANGE);
	assert_int_equal(em_deque_read(t->object, 0, t->buf, UINT64_MAX), EM_ERR_RANGE);
	assert_int_equal(em_deque_write(t->object, 0, t->buf, UINT64_MAX), EM_ERR_RANGE);
}

/* A range by a reader, while others look at records. */
static void reader(ends_case *t)
{
	em_deque_reader_opts o = EM_DEQUE_READER_OPTS_INIT;
	const size_t record = (size_t)t->opts.record_bytes;
	const em_batch *b;
	em_deque_reader *r;
	em_status st;
	uint64_t at;

	o.from = below(t, t->n + 1);
	o.n = below(t, 2) == 0 ? t->n - o.from : some(t, t->n - o.from);
	o.direction = (uint32_t)below(t, 2);
	o.buffers = (uint32_t)below(t, 3);
	at = o.direction == EM_DEQUE_REVERSE ? o.from + o.n : o.from;
	assert_ends_ok(t, em_deque_reader_open(&r, t->object, &o));
	while ((st = em_deque_reader_next(r, &b)) == EM_OK) {
		assert_true(b->n != 0 && b->bytes == b->n * record);
		at -= o.direction == EM_DEQUE_REVERSE ? b->n : 0;
		assert_memory_equal(b->records, t->is + (t->from + at) * record, b->bytes);
		at += o.direction == EM_DEQUE_REVERSE ? 0 : b->n;
		if (below(t, 4) == 0)
			range(t);
		if (below(t, 4) == 0)
			assert_ends_ok(t, ends_case_peek(t, EMI_FRONT));
		if (below(t, 30) == 0)
			break;
	}
	if (st == EM_END)
		assert_int_equal(at, o.direction == EM_DEQUE_REVERSE ? o.from : o.from + o.n);
	else
		assert_int_equal(st, EM_OK);
	if (below(t, 2) == 0 && t->n != 0) {
		assert_ends_ok(t, ends_case_pop(t, EMI_BACK, 1));
		assert_int_equal(em_deque_reader_next(r, &b), EM_ERR_STATE);
	}
	em_deque_reader_close(r);
}

static void step(ends_case *t, int grows)
{
	em_status st;

	if (below(t, 2000) == 0)
		assert_ends_ok(t, ends_case_clear(t));
	if (below(t, 100) == 0)
		assert_ends_ok(t, ends_case_prefetch(t, (uint32_t)below(t, 4)));
	if (below(t, 10) == 0) {
		st = ends_case_peek(t, (emi_end)below(t, t->kind == EMI_STACK ? 1 : 2));
		assert_true(st == EM_OK || st == EM_NOT_FOUND);
	}
	if (t->kind == EMI_DEQUE && below(t, 4) == 0)
		range(t);
	if (t->kind == EMI_DEQUE && below(t, 50) == 0)
		reader(t);
	if (below(t, 5) < (grows ? 3 : 2)) {
		assert_ends_ok(t, ends_case_push(t, any_end(t, ends_case_pushes), some(t, t->room - t->n)));
	} else {
		st = ends_case_pop(t, any_end(t, ends_case_pops), some(t, t->n + 1));
		assert_true(st == EM_OK || st == EM_NOT_FOUND);
	}
}

static void random_case(unsigned number)
{
	const emi_ends_kind kind = (emi_ends_kind)(number % 3);
	const uint64_t record = sizes[number / 3 % (sizeof sizes / sizeof *sizes)];
	const uint64_t per_block = record > 4096 ? 1 : 4096 / record;
	const uint32_t hold = (kind == EMI_DEQUE ? 4 : 2) + number / 3 % 4;
	const uint32_t operations = record > 100 ? OPERATIONS / 4 : OPERATIONS;
	ends_case t;
	uint32_t i;

	ends_case_open(&t, kind, em_backend_find("memory"), 1 + number % 2, record, 40 * per_block, hold);
	ends_case_make(&t);
	for (i = 0; i < operations; i++)
		step(&t, i / 500 % 2 == 0);
	ends_case_drain(&t, t.kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
	assert_int_equal(ends_case_stats(&t).blocks_disk, 0);
	ends_case_close(&t);
}

static void test_operations(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < CASES; i += test_step())
		random_case(i);
}

/* Fill up to an edge of a block, and go back and forth over it by so many records. */
static void around_edge(emi_ends_kind kind, emi_end end, uint64_t records, uint64_t by)
{
	ends_case t;
	int i;

	ends_case_open(&t, kind, em_backend_find("memory"), 1, 8, 40 * 512, kind == EMI_DEQUE ? 4 : 2);
	ends_case_make(&t);
	assert_ends_ok(&t, ends_case_push(&t, end, records));
	for (i = 0; i < 20; i++) {
		const em_container_stats before = ends_case_stats(&t);

		assert_ends_ok(&t, ends_case_push(&t, end, by));
		assert_ends_ok(&t, ends_case_pop(&t, end, by));
		/* From the second time on there are two blocks in memory, of which one is left. */
		if (i > 1 && by <= 512) {
			assert_int_equal(ends_case_stats(&t).writes, before.writes);
			assert_int_equal(ends_case_stats(&t).reads, before.reads);
		}
	}
	ends_case_drain(&t, end);
	ends_case_close(&t);
}

static void test_edges(void **state)
{
	static const uint64_t near[] = { 0, 1, 2, 511, 512, 513, 1024, 1025 };
	uint64_t blocks;
	size_t i;

	(void)state;
	for (blocks = 1; blocks < 12; blocks++) {
		for (i = 1; i < sizeof near / sizeof *near; i++) {
			around_edge(EMI_STACK, EMI_BACK, blocks * 512, near[i]);
			around_edge(EMI_STACK, EMI_BACK, blocks * 512 - 1, near[i]);
			around_edge(EMI_DEQUE, EMI_BACK, blocks * 512, near[i]);
			around_edge(EMI_DEQUE, EMI_FRONT, blocks * 512 + 1, near[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
