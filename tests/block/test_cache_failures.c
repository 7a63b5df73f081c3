/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache_failures.c -- a cache whose disk fails, whose memory does not come, or which is closed too early.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/memory.h"
#include "block/cache_case.h"

/* Every read fails once: whoever wants the block is told, and has it the next time. */
static void test_failing_reads(void **state)
{
	uint64_t nth, failed = 0;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		uint32_t k, wrong = 0;
		cache_case b;

		cache_case_open(&b, "memory", 20);
		case_open_cache(&b, 6, policies[nth % POLICIES]);
		b.f.fault[0].ops = EM_FAULT_READ;
		b.f.fault[0].count = 0;
		b.f.fault[0].nth = nth;
		for (k = 0; k < 60; k++) {
			const uint32_t i = (uint32_t)test_below(&b.f.rng, b.n);
			uint32_t f;

			if (k % 6 == 0) {
				emi_cache_hint(b.c, b.bid[i]);
			} else if (k % 3 == 0) {
				emi_cache_hint_many(b.c, &b.bid[i], i + 1 < b.n ? 2 : 1, (emi_cache_part)(k % 3));
			} else if (k % 3 == 1) {
				case_change(&b, i, EM_CACHE_FRESH);
			} else if (case_try_get(&b, i, EM_CACHE_WRITE, &f) == EM_OK) {
				case_check(&b, i, emi_cache_buf(b.c, f));
				emi_cache_unpin(b.c, f, 0);
			} else {
				wrong++;
				assert_int_equal(b.f.err.status, EM_ERR_IO);
				assert_int_equal(b.f.err.sys_errno, EIO);
				assert_string_equal(b.f.err.op, "read");
				case_use(&b, i);
			}
		}
		assert_int_equal(case_flush(&b), EM_OK);
		/* No hint is under way any more, and one that failed may have been for nothing. */
		emi_cache_close(b.c);
		b.c = NULL;
		assert_true(wrong <= b.f.fault[0].injected);
		failed += wrong;
		more = nth < 40;
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		case_check_disk(&b);
		cache_case_close(&b);
	}
	/* How many of 40 hints have taken on themselves is chance. */
	assert_true(failed > 3 || !test_sweeps());
}

/* The hint of a block whose read fails, however late the cache learns of it. */
static void hint_in_vain(cache_case *b, uint32_t i)
{
	em_fault_set(&b->f.fault[0], EM_FAULT_READ, 1, UINT64_MAX);
	emi_cache_hint(b->c, b->bid[i]);
	while (__atomic_load_n(&b->f.fault[0].count, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
}

/* A hint's read that failed is not held against who gets the block once reads work again. */
static void test_failing_hints(void **state)
{
	uint32_t frame;
	size_t got;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 20);
	case_open_cache(&b, 16, NULL);
	hint_in_vain(&b, 0);
	assert_int_equal(case_try_get(&b, 0, EM_CACHE_READ, &frame), EM_ERR_IO);
	hint_in_vain(&b, 1);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	case_use(&b, 1);
	hint_in_vain(&b, 2);
	em_fault_set(&b.f.fault[0], 0, 0, 0);
	assert_int_equal(emi_cache_get_many(b.c, &b.bid[2], 1, EM_CACHE_READ, NULL, 0, &frame, &got, NULL), EM_OK);
	assert_int_equal(got, 1);
	case_check(&b, 2, emi_cache_buf(b.c, frame));
	emi_cache_unpin(b.c, frame, 0);
	cache_case_close(&b);
}

/* Every write fails once: the block stays, nobody is bothered while there are other frames, and flush writes it. */
static void test_failing_writes(void **state)
{
	uint64_t nth;
	unsigned logged = 0;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		uint32_t k;
		em_status st;
		cache_case b;

		cache_case_open(&b, "memory", 30);
		case_open_cache(&b, 8, policies[nth % POLICIES]);
		b.f.fault[0].ops = EM_FAULT_WRITE;
		b.f.fault[0].count = 0;
		b.f.fault[0].nth = nth;
		for (k = 0; k < 60; k++)
			case_change(&b, (uint32_t)test_below(&b.f.rng, b.n), k % 2 ? EM_CACHE_WRITE : EM_CACHE_FRESH);
		st = case_flush(&b);
		/* It was a write of flush's own. */
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_IO);
			assert_string_equal(b.f.err.op, "write");
			assert_int_equal(b.f.err.sys_errno, EIO);
			assert_int_equal(emi_cache_dirty(b.c), 1);
			assert_int_equal(case_flush(&b), EM_OK);
		}
		assert_int_equal(b.f.warned, b.f.fault[0].injected);
		logged += b.f.warned;
		more = nth < 60;
		assert_int_equal(emi_cache_dirty(b.c), 0);
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		case_check_disk(&b);
		cache_case_close(&b);
	}
	assert_true(logged > 20 || !test_sweeps());
}

/* A disk that takes nothing: frames run out, which is told with the reason; nothing is lost meanwhile. */
static void test_broken_disk(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		uint32_t i, changed = 0;
		uint32_t f;
		cache_case b;

		cache_case_open(&b, "memory", 30);
		case_open_cache(&b, 8, policies[p]);
		b.f.fault[0].ops = EM_FAULT_WRITE;
		b.f.fault[0].count = 0;
		b.f.fault[0].nth = 1;
		b.f.fault[0].times = UINT64_MAX / 2;
		b.f.fault[0].sys_errno = ENOSPC;
		for (i = 0; i < 30; i++) {
			if (case_try_get(&b, i, EM_CACHE_FRESH, &f) != EM_OK) {
				assert_int_equal(b.f.err.status, EM_ERR_NOSPACE);
				assert_string_equal(b.f.err.op, "write");
				continue;
			}
			b.version[i]++;
			case_fill(&b, i, emi_cache_buf(b.c, f));
			emi_cache_unpin(b.c, f, 1);
			changed++;
		}
		assert_int_equal(changed, 8);
		assert_int_equal(emi_cache_dirty(b.c), 8);
		assert_int_equal(case_flush(&b), EM_ERR_NOSPACE);
		assert_int_equal(emi_cache_dirty(b.c), 8);
		/* One that is given up makes room, and so does one that is there. */
		assert_int_equal(case_forget(&b, 0), EM_OK);
		b.version[0]--;
		case_use(&b, 20);
		case_use(&b, 21);
		em_fault_set(&b.f.fault[0], 0, 0, 0);
		assert_int_equal(case_flush(&b), EM_OK);
		case_check_disk(&b);
		cache_case_close(&b);
	}
}

/* Get up to three blocks; they are what they should be. */
static em_status get_some(cache_case *b, uint32_t i)
{
	const size_t n = i + 3 < b->n ? 3 : 1;
	uint32_t frame[3];
	size_t got, k;
	const em_status st =
		emi_cache_get_many(b->c, &b->bid[i], n, EM_CACHE_READ, &b->bid[i / 2], 1, frame, &got, NULL);

	assert_true(got <= n && (got != 0) == (st == EM_OK));
	for (k = 0; k < got; k++) {
		case_check(b, i + (uint32_t)k, emi_cache_buf(b->c, frame[k]));
		emi_cache_unpin(b->c, frame[k], 0);
	}
	return st;
}

/* Look at some block, change it, hint at it or flush. */
static em_status step(void *of)
{
	cache_case *b = of;
	const uint32_t i = (uint32_t)test_below(&b->f.rng, b->n);
	uint32_t mode = EM_CACHE_READ, frame;
	em_status st;

	switch (test_below(&b->f.rng, 16)) {
	case 0:
		return case_flush(b);
	case 1:
		emi_cache_hint_many(b->c, &b->bid[i], i + 1 < b->n ? 2 : 1, EMI_PART_OF_FEW);
		return EM_OK;
	case 2:
		emi_cache_hint(b->c, b->bid[i]);
		return EM_OK;
	case 3:
	case 4:
		return get_some(b, i);
	case 5:
	case 6:
	case 7:
		mode = EM_CACHE_WRITE;
		break;
	case 8:
	case 9:
		mode = EM_CACHE_FRESH;
		break;
	default:
		break;
	}
	st = case_try_get(b, i, mode, &frame);
	if (st != EM_OK)
		return st;
	if (mode != EM_CACHE_FRESH)
		case_check(b, i, emi_cache_buf(b->c, frame));
	if (mode != EM_CACHE_READ) {
		b->version[i]++;
		case_fill(b, i, emi_cache_buf(b->c, frame));
	}
	emi_cache_unpin(b->c, frame, mode != EM_CACHE_READ);
	return EM_OK;
}

/* Any transfer fails by chance: what is got is right, and all that was changed is written in the end. */
static void test_chance(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < 3 * POLICIES; k += test_step()) {
		cache_case b;

		cache_case_open(&b, "memory", 30);
		case_open_cache(&b, 8, policies[k / 3]);
		fixture_fail_by_chance(&b.f, k, step, &b);
		/* A write that is under way may fail yet. */
		(void)!case_flush(&b);
		assert_int_equal(case_flush(&b), EM_OK);
		assert_int_equal(emi_cache_dirty(b.c), 0);
		case_check_disk(&b);
		assert_int_equal(emi_disk_used(b.f.disk), b.n * BLOCK);
		cache_case_close(&b);
	}
}

/* What was not flushed is discarded, and that is told. */
static void test_closed_unsaved(void **state)
{
	uint32_t i;
	cache_case b;

	(void)state;
	cache_case_open(&b, "syscall", 30);
	case_open_cache(&b, 8, NULL);
	for (i = 0; i < 5; i++)
		case_change(&b, i, EM_CACHE_WRITE);
	emi_cache_hint(b.c, b.bid[9]);
	emi_cache_close(b.c);
	b.c = NULL;
	assert_int_equal(b.f.warned, 1);
	memset(b.version, 0, sizeof(b.version));
	case_check_disk(&b);
	case_open_cache(&b, 8, NULL);
	case_use(&b, 1);
	emi_cache_close(b.c);
	b.c = NULL;
	assert_int_equal(b.f.warned, 1);
	cache_case_close(&b);
}

/* What was not written of a block behind the end of the file is zeros, and so is all of one that was never written. */
static void test_never_written(void **state)
{
	static char zeros[BLOCK];
	emi_request rq;
	char *page;
	em_backend bare = *em_backend_find("memory");
	uint32_t f;
	cache_case b;

	(void)state;
	/* Nothing is set aside, so the file ends behind what was written. */
	bare.reserve = NULL;
	cache_case_open_on(&b, &bare, 2);
	case_open_cache(&b, 2, NULL);
	/* So that a frame is not zeros before. */
	case_use(&b, 0);
	case_use(&b, 1);
	assert_int_equal(emi_bid_alloc(b.f.disk, BLOCK, &b.bid[2], &b.f.err), EM_OK);
	assert_int_equal(case_try_get(&b, 2, EM_CACHE_READ, &f), EM_OK);
	assert_memory_equal(emi_cache_buf(b.c, f), zeros, BLOCK);
	emi_cache_unpin(b.c, f, 0);
	assert_int_equal(case_forget(&b, 2), EM_OK);
	page = emi_buffer_alloc(b.f.ctx, BLOCK, NULL);
	memset(page, 5, BLOCK / 8);
	memset(zeros, 5, BLOCK / 8);
	memset(&rq, 0, sizeof(rq));
	emi_block_write(b.f.disk, &rq, page, BLOCK / 8, b.bid[2], NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	emi_buffer_free(b.f.ctx, page, BLOCK);
	memset(&b.f.err, 0, sizeof b.f.err);
	assert_int_equal(case_try_get(&b, 2, EM_CACHE_READ, &f), EM_OK);
	assert_memory_equal(emi_cache_buf(b.c, f), zeros, BLOCK);
	cache_case_close(&b);
}

/* Memory comes with use, and never more than was said.  Each allocation may fail: then there are fewer frames, or, if
 * there are none at all, whoever wants a block is told. */
static void test_memory_of_a_cache(void **state)
{
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++) {
		uint64_t n, before, calls;
		int failed = 1;

		for (n = test_nth_after(0, 1); failed; n = test_nth_after(n, 1)) {
			unsigned told = 0;
			uint32_t i, f;
			cache_case b;

			cache_case_open(&b, "memory", 180);
			before = em_ctx_memory_used(b.f.ctx);
			calls = b.f.mem.calls;
			b.opts.frames = 150;
			b.opts.policy = policies[p];
			b.f.mem.fail_at = b.f.mem.calls + n;
			if (emi_cache_open(&b.c, b.f.ctx, &b.opts, &b.f.err) != EM_OK) {
				told++;
				assert_int_equal(b.f.err.status, EM_ERR_NOMEM);
				assert_null(b.c);
				assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
				memset(&b.f.err, 0, sizeof(b.f.err));
				assert_int_equal(emi_cache_open(&b.c, b.f.ctx, &b.opts, &b.f.err), EM_OK);
			}
			assert_true(em_ctx_memory_used(b.f.ctx) < before + BLOCK);
			for (i = 0; i < 180; i++) {
				if (i % 3 == 0)
					emi_cache_hint(b.c, b.bid[179 - i]);
				if (case_try_get(&b, i, EM_CACHE_READ, &f) == EM_OK) {
					emi_cache_unpin(b.c, f, 0);
				} else {
					told++;
					assert_int_equal(b.f.err.status, EM_ERR_NOMEM);
				}
				case_change(&b, i, EM_CACHE_WRITE);
				assert_true(em_ctx_memory_used(b.f.ctx) <= before + emi_cache_memory(&b.opts));
			}
			assert_true(told <= 1);
			assert_int_equal(case_flush(&b), EM_OK);
			failed = n <= b.f.mem.calls - calls;
			b.f.mem.fail_at = 0;
			case_check_disk(&b);
			cache_case_close(&b);
		}
		assert_true(n > 8);
	}
}

static void test_too_much(void **state)
{
	static const struct {
		uint32_t frames;
		size_t bytes;
		em_status status;
	} bad[] = {{0, BLOCK, EM_ERR_RANGE}, {UINT32_MAX, BLOCK, EM_ERR_RANGE}, {4, 0, EM_ERR_RANGE},
		   {4, 1000, EM_ERR_RANGE}};
	size_t k;
	cache_case b;

	(void)state;
	cache_case_open(&b, "memory", 1);
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		const uint64_t before = em_ctx_memory_used(b.f.ctx);

		memset(&b.f.err, 0, sizeof(b.f.err));
		b.opts.frames = bad[k].frames;
		b.opts.block_bytes = bad[k].bytes;
		assert_int_equal(emi_cache_open(&b.c, b.f.ctx, &b.opts, &b.f.err), bad[k].status);
		assert_null(b.c);
		assert_int_equal(b.f.err.status, bad[k].status);
		assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
	}
	cache_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing_reads),
		cmocka_unit_test(test_failing_hints),
		cmocka_unit_test(test_failing_writes),
		cmocka_unit_test(test_broken_disk),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_closed_unsaved),
		cmocka_unit_test(test_never_written),
		cmocka_unit_test(test_memory_of_a_cache),
		cmocka_unit_test(test_too_much),
	};

	return cmocka_run_group_tests_name("cache failures", tests, NULL, NULL);
}
