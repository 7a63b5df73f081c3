/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_long_pipe.c -- records that come once, from a pipe or pushed, and are longer than those that a sort plans for in
 * a part of the default memory: the rest of that memory is for them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "sort/lines_bench.h"

#define MEMORY (32 * MIB)       /* the default, in these tests */
#define PLANNED (4 * MIB)       /* of it */
#define LONGEST (MEMORY / 36)   /* a 32nd of what threads and files leave */

/* A context that was told of no budget. */
static void enter_default(bench *b, uint32_t threads)
{
	bench_enter_with(b, "syscall", threads, MEMORY);
	b->ctx->memory_given = 0;
	b->ctx->memory_most = MEMORY;
	b->ctx->enough = PLANNED;
}

/* Its second field is nearly all of it. */
static void add_long(bench *b, lines *l, size_t bytes)
{
	unsigned char *record = malloc(bytes);

	assert_non_null(record);
	memset(record, 'a' + (int)test_below(&b->rng, 3), bytes);
	record[1] = ' ';
	record[bytes - 1] = (unsigned char)(' ' + l->n % 90);
	lines_add(l, record, bytes);
	free(record);
}

/* Short ones, and before, among or behind them some that are up to that long, of which a key is half. */
static void make_list(bench *b, lines *l, size_t longest, int round)
{
	const size_t most = (b->which >= 2 ? longest / 2 : longest) - 32;
	/* So many that not all runs can be merged at once. */
	const unsigned longs = round % 6 == 0 ? 110 : 10;
	unsigned i;

	if (round % 4 != 0)
		lines_add_pattern(l, &b->rng, LINES_MIXED, 20000, &b->format, 600);
	for (i = 0; i < longs; i++) {
		add_long(b, l, i % 4 != 0 ? most : most / 32 + (size_t)test_below(&b->rng, most / 32 * 31));
		if (i % 3 == 0)
			lines_add_pattern(l, &b->rng, LINES_MIXED, 200, &b->format, 600);
	}
}

/* The list comes out of a pipe and is sorted. */
static em_status sort_pipe(bench *b, const lines *l)
{
	pthread_t feeder;
	pipe_end from;
	em_status st;

	memset(&from, 0, sizeof(from));
	from.fd = -1;
	from.path = b->in[0];
	from.data = lines_text(l, 0, l->n, &b->format, 0, &from.bytes);
	assert_int_equal(mkfifo(b->in[0], 0600), 0);
	b->busy = 1;
	assert_int_equal(pthread_create(&feeder, NULL, pipe_feed, &from), 0);
	st = bench_run(b, 1, b->out);
	pthread_join(feeder, NULL);
	unlink(b->in[0]);
	free(from.data);
	return st;
}

static void test_pipe(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 12; round++) {
		lines l = { 0 };
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, (uint64_t)round, round % 4 == 3 ? 2 : round % 2, round % 6 == 5 ? 4 : 0);
		enter_default(&b, 1 + (uint32_t)round % 3);
		b.opts.flags = round % 5 == 0 ? EM_SORT_UNIQUE : 0;
		make_list(&b, &l, LONGEST, round);
		bench_expect(&b, &l, 0);
		snprintf(b.what, sizeof(b.what), "round %d", round);
		if (sort_pipe(&b, &l) != EM_OK)
			fail_msg("%s: %s", b.what, b.err.text);
		bench_assert_output(&b, b.out);
		assert_true(b.stats.passes > 2 || round % 6 != 0);
		assert_true(b.stats.peak_memory <= MEMORY);
		lines_free(&l);
		bench_close(&b);
	}
}

/* What the machine has beyond the default is for records of a tenth of it, unless the caller named a share. */
static void test_machine(void **state)
{
	const size_t most = 7 * MEMORY / 10 - 64;
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		lines l = { 0 };
		unsigned i;
		bench b;

		bench_open(&b, (uint64_t)round, 0, 0);
		enter_default(&b, 1 + (uint32_t)round % 3);
		b.ctx->memory_most = 8 * MEMORY;
		lines_add_pattern(&l, &b.rng, LINES_MIXED, 20000, &b.format, 600);
		for (i = 0; i < 5; i++) {
			add_long(&b, &l, i % 2 == 0 ? most : most / 3);
			lines_add_pattern(&l, &b.rng, LINES_MIXED, 200, &b.format, 600);
		}
		bench_expect(&b, &l, 0);
		snprintf(b.what, sizeof(b.what), "round %d", round);
		if (round % 2 == 1)
			b.opts.memory = MEMORY;
		if (sort_pipe(&b, &l) == EM_OK)
			bench_assert_output(&b, b.out);
		else
			assert_int_equal(round % 2, 1);
		/* A share that the caller named is all there is. */
		assert_int_equal(b.err.status, round % 2 == 1 ? EM_ERR_FORMAT : EM_OK);
		assert_true(b.stats.peak_memory <= (round % 2 == 1 ? 1u : 8u) * MEMORY);
		assert_int_equal(em_ctx_memory(b.ctx), MEMORY);
		assert_int_equal(b.ctx->lifted, 0);
		lines_free(&l);
		bench_close(&b);
	}
}

/* A record that is longer than that is named, and with the memory that is told it is sorted. */
static void test_too_long(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		lines l = { 0 };
		uint64_t told;
		bench b;

		bench_open(&b, (uint64_t)round, 0, 0);
		enter_default(&b, 1 + (uint32_t)round % 2);
		if (round % 2 == 0)
			lines_add_pattern(&l, &b.rng, LINES_WORDS, 10000, &b.format, 600);
		add_long(&b, &l, MEMORY / 32 + 100);
		assert_int_equal(sort_pipe(&b, &l), EM_ERR_FORMAT);
		assert_non_null(strstr(b.err.text, "longer than"));
		told = b.err.bytes;
		assert_true(told > 8 * LONGEST);
		bench_enter_with(&b, "syscall", 1, told);
		bench_expect(&b, &l, 0);
		if (sort_pipe(&b, &l) != EM_OK)
			fail_msg("round %d: %llu bytes do not do: %s", round, (unsigned long long)told, b.err.text);
		bench_assert_output(&b, b.out);
		lines_free(&l);
		bench_close(&b);
	}
}

/* Pushed one by one, and pulled.  A sorter takes half of the memory: others may come. */
static void test_pushed(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 6; round++) {
		const em_batch *batch;
		lines l = { 0 };
		em_sorter *s;
		size_t i, n, at = 0;
		bench b;

		bench_open(&b, (uint64_t)round, round % 4 == 3 ? 2 : round % 2, 0);
		enter_default(&b, 1 + (uint32_t)round % 3);
		make_list(&b, &l, LONGEST / 2, round);
		bench_expect(&b, &l, 0);
		b.opts.errinfo = &b.err;
		assert_int_equal(em_sorter_open(&s, b.ctx, b.order, &b.opts), EM_OK);
		assert_true(em_sorter_longest(s) >= LONGEST / 2 - 32);
		for (i = 0; i < l.n; i++) {
			uint64_t end;
			em_batch one;

			memset(&one, 0, sizeof(one));
			one.records = lines_at(&l, i, &n);
			end = one.bytes = n;
			one.ends = &end;
			one.n = 1;
			if (em_sorter_push_batch(s, one.records, one.ends, one.n) != EM_OK) {
				em_sorter_error(s, &b.err);
				fail_msg("round %d, record %zu: %s", round, i, b.err.text);
			}
		}
		assert_int_equal(em_sorter_finish(s), EM_OK);
		while (em_sorter_next(s, &batch) == EM_OK) {
			uint64_t begin = 0;

			for (i = 0; i < batch->n; begin = batch->ends[i++]) {
				n = (size_t)(batch->ends[i] - begin);
				assert_true(at + n < b.bytes);
				assert_memory_equal(b.expected + at, (const char *)batch->records + begin, n);
				at += n + 1;
			}
		}
		em_sorter_error(s, &b.err);
		assert_int_equal(b.err.status, EM_OK);
		assert_int_equal(at, b.bytes);
		assert_true(em_ctx_memory_peak(b.ctx) <= MEMORY);
		em_sorter_close(s);
		lines_free(&l);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_pushed),
	};

	/* Who feeds a pipe may find it closed. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
