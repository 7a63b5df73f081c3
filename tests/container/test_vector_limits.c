/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_limits.c -- vectors: em_vector_memory() is the most that they take, also of a number of records that no
 * memory holds; and disks that are full.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/vector_case.h"

enum { BLOCK = 4096, PER_BLOCK = BLOCK / 8 };

/* What the context has in use at most while records are appended, changed anywhere, and read. */
static uint64_t use(vector_case *t, uint64_t before)
{
	const uint64_t step = t->room / 7 + 1;
	uint64_t peak = 0, i, n;

	for (i = 0; i < t->room; i += n) {
		n = t->room - i < step ? t->room - i : step;
		vector_case_draw(t, n);
		assert_vector_ok(t, em_vector_push_many(t->v, t->buf, n, NULL));
		vector_case_put(t, i, n);
		if (em_ctx_memory_used(t->f.ctx) - before > peak)
			peak = em_ctx_memory_used(t->f.ctx) - before;
	}
	for (i = 0; i < 200; i++) {
		const uint64_t at = test_below(&t->f.rng, t->n);

		vector_case_draw(t, 1);
		assert_vector_ok(t, em_vector_set(t->v, at, t->buf));
		vector_case_put(t, at, 1);
		if (em_ctx_memory_used(t->f.ctx) - before > peak)
			peak = em_ctx_memory_used(t->f.ctx) - before;
	}
	vector_case_check(t);
	return peak;
}

static void test_most_memory(void **state)
{
	static const uint64_t records[] = { 1, 8, 12, 100, 3000 };
	static const uint64_t blocks[] = { BLOCK, 4 * BLOCK };
	size_t i, k;
	int bound;

	(void)state;
	for (i = 0; i < sizeof records / sizeof *records; i++) {
		for (k = 0; k < sizeof blocks / sizeof *blocks; k++) {
			for (bound = 0; bound < 2; bound++) {
				const uint64_t n = 60 * blocks[k] / records[i];
				uint64_t before, most, peak;
				vector_case t;

				vector_case_open(&t, em_backend_find(bound ? "syscall" : "memory"), records[i], n);
				t.opts.block_bytes = blocks[k];
				t.opts.cache_bytes = 9 * blocks[k];
				t.opts.page_blocks = 1 + (uint32_t)k;
				before = em_ctx_memory_used(t.f.ctx);
				vector_case_make(&t, bound);
				most = em_vector_memory(&t.opts, n);
				assert_true(most != 0);
				peak = use(&t, before);
				/* Beside it the scratch disk has tables, or the file a queue, of some kilobytes. */
				assert_true(peak <= most + 65536);
				assert_true(peak >= 9 * blocks[k]);
				vector_case_close(&t);
			}
		}
	}
}

/* However many records there are, more of them take no less memory. */
static void test_memory_grows(void **state)
{
	static const uint64_t records[] = { 1, 8, BLOCK, 5000 };
	size_t i;
	int bound;

	(void)state;
	for (i = 0; i < sizeof records / sizeof *records; i++) {
		for (bound = 0; bound < 2; bound++) {
			const em_vector_opts plain = EM_VECTOR_OPTS_INIT;
			em_vector_opts opts = plain;
			uint64_t least, before = 0, n;

			opts.record_bytes = records[i];
			opts.block_bytes = records[i] <= BLOCK ? BLOCK : 2 * BLOCK;
			opts.path = bound ? "numbers" : NULL;
			for (n = 1; n != 0; n *= 2) {
				least = em_vector_memory(&opts, n - 1);
				assert_true(least >= before && least != 0);
				assert_true(em_vector_memory(&opts, n) >= least);
				assert_true(em_vector_memory(&opts, n + 1) >= em_vector_memory(&opts, n));
				before = least;
			}
			for (n = UINT64_MAX; n > UINT64_MAX - 10; n--)
				assert_true(em_vector_memory(&opts, n) >= before);
			/* A block's place is some bytes, so this many are more than can be counted. */
			if (records[i] >= BLOCK && !bound)
				assert_int_equal(em_vector_memory(&opts, UINT64_MAX), UINT64_MAX);
		}
	}
}

/* The disk is full after some blocks: a call tells how many records entered, and the others enter when there is
 * room. */
static void test_full(void **state)
{
	enum { BLOCKS = 40, FRAMES = 6 };
	int bound;

	(void)state;
	for (bound = 0; bound < 2; bound++) {
		const uint64_t n = BLOCKS * PER_BLOCK;
		uint64_t pushed, more;
		em_errinfo err;
		vector_case t;

		vector_case_open(&t, em_backend_find(bound ? "syscall" : "memory"), 8, n);
		t.opts.block_bytes = BLOCK;
		t.opts.cache_bytes = FRAMES * BLOCK;
		vector_case_make(&t, bound);
		vector_case_draw(&t, 10 * PER_BLOCK);
		assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 10 * PER_BLOCK, NULL));
		vector_case_put(&t, 0, 10 * PER_BLOCK);
		t.f.fault[0].sys_errno = ENOSPC;
		em_fault_set(&t.f.fault[0], EM_FAULT_WRITE | EM_FAULT_RESIZE | EM_FAULT_RESERVE, 1, UINT64_MAX);
		vector_case_draw(&t, n - t.n);
		assert_int_equal(em_vector_push_many(t.v, t.buf, n - t.n, &pushed), EM_ERR_NOSPACE);
		em_vector_error(t.v, &err);
		assert_int_equal(err.status, EM_ERR_NOSPACE);
		assert_true(pushed < n - t.n);
		assert_int_equal(em_vector_size(t.v), t.n + pushed);
		em_fault_set(&t.f.fault[0], 0, 0, 0);
		more = n - t.n - pushed;
		assert_vector_ok(&t, em_vector_push_many(t.v, t.buf + pushed * 8, more, &pushed));
		assert_int_equal(pushed, more);
		vector_case_put(&t, t.n, n - t.n);
		vector_case_check(&t);
		assert_vector_ok(&t, em_vector_flush(t.v, 0));
		vector_case_reopen(&t);
		vector_case_check(&t);
		vector_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most_memory),
		cmocka_unit_test(test_memory_grows),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
