/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_pool_failures.c -- a pool whose disks or memory fail: who has to know is told, and no block is lost.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "block/pool_case.h"

/* Write, hint, and read some blocks. */
static em_status work(pool_case *b, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; i < 10 && st == EM_OK; i++)
		st = pool_case_try_put(b, i, err);
	if (st == EM_OK)
		st = emi_block_pool_flush(&b->pool, err);
	for (i = 0; i < 10 && st == EM_OK; i++) {
		(void)emi_block_pool_hint(&b->pool, b->bid[(i + 2) % 10]);
		st = emi_block_pool_read(&b->pool, &b->own, b->bid[i], err);
		if (st == EM_OK)
			pool_case_check(b, i, b->own);
	}
	return st;
}

/* Each write fails once: the block stays, nobody is bothered while there are other buffers, and flush writes it. */
static void test_failing_write(void **state)
{
	uint64_t nth;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		em_errinfo err;
		em_status st;
		pool_case b;

		pool_case_open(&b, 3, 2);
		b.f.fault[0].ops = EM_FAULT_WRITE;
		b.f.fault[0].sys_errno = ENOSPC;
		b.f.fault[0].nth = nth;
		memset(&err, 0, sizeof(err));
		st = work(&b, &err);
		/* It was a write that flush waited for. */
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_NOSPACE);
			assert_string_equal(err.op, "write");
			assert_int_equal(b.pool.list[EMI_POOL_FAILED].n, 1);
		}
		more = nth <= 10;
		assert_int_equal(b.f.warned, more);
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		pool_case_check_disk(&b);
		pool_case_close(&b);
	}
}

/* A disk that takes nothing: buffers run out, which is told with the reason; what was given is in memory until then. */
static void test_broken_disk(void **state)
{
	em_errinfo err;
	uint32_t i;
	pool_case b;

	(void)state;
	pool_case_open(&b, 4, 1);
	b.f.fault[0].ops = EM_FAULT_WRITE;
	b.f.fault[0].sys_errno = ENOSPC;
	b.f.fault[0].times = UINT64_MAX / 2;
	b.f.fault[0].nth = 1;
	for (i = 0; i < 4; i++)
		pool_case_put(&b, i);
	memset(&err, 0, sizeof(err));
	assert_int_equal(pool_case_try_put(&b, 4, &err), EM_ERR_NOSPACE);
	assert_string_equal(err.op, "write");
	assert_int_equal(emi_block_pool_resize(&b.pool, 3, 1, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	for (i = 0; i < 4; i++) {
		assert_int_equal(emi_block_pool_hint(&b.pool, b.bid[i]), 1);
		pool_case_get(&b, i);
	}
	/* One that is given up makes room. */
	pool_case_free(&b, 0);
	pool_case_put(&b, 5);
	/* No write is under way that could still fail. */
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	pool_case_check_disk(&b);
	/* Closed with blocks that could not be written, which is logged. */
	em_fault_set(&b.f.fault[0], EM_FAULT_WRITE, 1, UINT64_MAX / 2);
	pool_case_put(&b, 6);
	assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_ERR_NOSPACE);
	b.f.warned = 0;
	emi_block_pool_close(&b.pool);
	assert_int_equal(b.f.warned, 1);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	pool_case_close(&b);
}

/* Each read fails once: whoever reads that block is told, and can read it the next time. */
static void test_failing_read(void **state)
{
	uint64_t nth;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		uint64_t failed;
		em_errinfo err;
		uint32_t i;
		pool_case b;

		pool_case_open(&b, 3, 2);
		b.f.fault[0].ops = EM_FAULT_READ;
		b.f.fault[0].nth = nth;
		memset(&err, 0, sizeof(err));
		failed = work(&b, &err) != EM_OK;
		for (i = 0; i < 10; i++) {
			/* What was fetched in vain is told only now. */
			if (emi_block_pool_read(&b.pool, &b.own, b.bid[i], &err) == EM_OK) {
				pool_case_check(&b, i, b.own);
				continue;
			}
			failed++;
			pool_case_get(&b, i);
		}
		more = b.f.fault[0].injected != 0;
		assert_int_equal(failed, more);
		if (nth <= 5)
			assert_int_equal(failed, 1);
		if (failed != 0) {
			assert_int_equal(err.status, EM_ERR_IO);
			assert_string_equal(err.op, "read");
		}
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		pool_case_check_disk(&b);
		pool_case_close(&b);
	}
}

/* Write, read, hint at, free or flush some block. */
static em_status step(void *of)
{
	pool_case *b = of;
	const uint32_t i = (uint32_t)test_below(&b->f.rng, MOST_BLOCKS);
	em_status st = EM_OK;

	switch (test_below(&b->f.rng, 16)) {
	case 0:
		return emi_block_pool_flush(&b->pool, NULL);
	case 1:
		return emi_block_pool_resize(&b->pool, 2 + (uint32_t)test_below(&b->f.rng, 3),
					     (uint32_t)test_below(&b->f.rng, 4), NULL);
	case 2:
		if (b->version[i] != 0)
			pool_case_free(b, i);
		return EM_OK;
	case 3:
		emi_block_pool_take_back(&b->pool, b->bid[i]);
		return EM_OK;
	case 4:
	case 5:
	case 6:
		if (b->version[i] != 0)
			(void)emi_block_pool_hint(&b->pool, b->bid[i]);
		return EM_OK;
	case 7:
	case 8:
	case 9:
	case 10:
		return pool_case_try_put(b, i, NULL);
	default:
		if (b->version[i] != 0)
			st = emi_block_pool_read(&b->pool, &b->own, b->bid[i], NULL);
		if (b->version[i] != 0 && st == EM_OK)
			pool_case_check(b, i, b->own);
		return st;
	}
}

/* Any transfer fails by chance: what is read is right, and all that was given is written in the end. */
static void test_chance(void **state)
{
	unsigned k, i;

	(void)state;
	for (k = 0; k < 12; k += test_step()) {
		pool_case b;

		pool_case_open(&b, 3, 2);
		fixture_fail_by_chance(&b.f, k, step, &b);
		/* A write that is under way may fail yet. */
		(void)!emi_block_pool_flush(&b.pool, NULL);
		pool_case_check_disk(&b);
		for (i = 0; i < MOST_BLOCKS; i++)
			if (b.version[i] != 0)
				pool_case_free(&b, i);
		/* One that is being read is free when that is over. */
		assert_int_equal(emi_block_pool_flush(&b.pool, NULL), EM_OK);
		assert_int_equal(emi_disk_used(b.f.disk), 0);
		pool_case_close(&b);
	}
}

/* Memory comes with use, and never more than was said.  Each allocation may fail: then others do, or who wants a buffer
 * is told. */
static void test_out_of_memory(void **state)
{
	uint64_t n;
	int failed = 1;

	(void)state;
	for (n = test_nth_after(0, 1); failed; n = test_nth_after(n, 1)) {
		uint64_t before, calls;
		unsigned told = 0;
		uint32_t i;
		pool_case b;

		pool_case_open(&b, 5, 6);
		for (i = 0; i < MOST_BLOCKS; i++)
			pool_case_have(&b, i);
		before = em_ctx_memory_used(b.f.ctx);
		calls = b.f.mem.calls;
		b.f.mem.fail_at = b.f.mem.calls + n;
		for (i = 0; i < MOST_BLOCKS; i++) {
			const em_status st = pool_case_try_put(&b, i, NULL);

			told += st != EM_OK;
			if (st != EM_OK) {
				assert_int_equal(st, EM_ERR_NOMEM);
				pool_case_put(&b, i);
			}
			(void)emi_block_pool_hint(&b.pool, b.bid[i / 2]);
			(void)emi_block_pool_hint(&b.pool, b.bid[i / 3]);
			pool_case_get(&b, i / 2);
			assert_true(em_ctx_memory_used(b.f.ctx) <=
				    before + emi_block_pool_memory(BLOCK, 5, 6) + 4 * BLOCK);
		}
		assert_true(told <= 1);
		failed = n <= b.f.mem.calls - calls;
		b.f.mem.fail_at = b.f.mem.calls + 1;
		i = b.pool.nwrite;
		assert_int_equal(emi_block_pool_attach(&b.pool, b.own, NULL), EM_ERR_NOMEM);
		assert_int_equal(b.pool.nwrite, i);
		b.f.mem.fail_at = 0;
		pool_case_check_disk(&b);
		pool_case_close(&b);
	}
	assert_true(n > 8);
}

/* A budget that is too small for all buffers: those that there are do. */
static void test_budget(void **state)
{
	uint64_t left;
	uint32_t i;
	pool_case b;
	void *rest;

	(void)state;
	pool_case_open(&b, 10, 10);
	left = em_ctx_memory(b.f.ctx) - em_ctx_memory_used(b.f.ctx);
	rest = emi_alloc(b.f.ctx, (size_t)left - 8 * BLOCK, NULL);
	assert_non_null(rest);
	for (i = 0; i < MOST_BLOCKS; i++) {
		pool_case_put(&b, i);
		(void)emi_block_pool_hint(&b.pool, b.bid[i / 2]);
		pool_case_get(&b, i / 2);
	}
	assert_true(b.pool.nslots < 8);
	pool_case_check_disk(&b);
	emi_free(b.f.ctx, rest, (size_t)left - 8 * BLOCK);
	pool_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing_write),
		cmocka_unit_test(test_broken_disk),
		cmocka_unit_test(test_failing_read),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests_name("block_pool_failures", tests, NULL, NULL);
}
