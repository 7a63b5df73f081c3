/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_pq.c -- what priority queues promise beside the order: plans, memory, how many transfers they take, what is
 * refused, what is small, pools that are shared.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include <extmem/deque.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>
#include <extmem/text.h>

#include "container/pq_case.h"

enum { BLOCK = 4096 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

static em_pq_plan_info plan_of(pq_case *t)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;

	assert_pq_ok(t, em_pq_plan(t->f.ctx, &t->opts, &info));
	return info;
}

/* Plans fit into the memory; the least memory is the least, and a queue with it works. */
static void test_plans(void **state)
{
	unsigned k, m, stable;

	(void)state;
	for (k = 0; k < pq_kinds_n; k++) {
		for (stable = 0; stable < 2; stable++) {
			em_pq_plan_info info;
			uint64_t least;
			pq_case t;

			pq_case_open(&t, memory(), &pq_kinds[k], (int)stable, 1);
			info = plan_of(&t);
			assert_true(info.memory <= 4u << 20 || info.memory == info.memory_min);
			least = info.memory_min;
			assert_true(least < 4u << 20);
			for (m = 0; m < 30; m++) {
				t.opts.memory_bytes = least + ((32u << 20) - least) / 30 * m;
				info = plan_of(&t);
				assert_true(info.memory <= t.opts.memory_bytes);
				assert_int_equal(info.memory_min, least);
				assert_true(info.item_bytes == 4 || info.item_bytes == 8 || info.item_bytes == 16 ||
					    info.item_bytes == pq_kinds[k].bytes);
				assert_int_equal(info.block_records, info.block_bytes / info.item_bytes);
				assert_true(info.arity >= 2 && info.sequences >= info.arity && info.pieces >= 3);
				assert_true(info.front_records >= 1 && info.front_records <= info.piece_records);
				assert_true(info.early_records >= 1 && info.early_records <= info.piece_records);
				assert_int_equal(info.run_records, (info.pieces - 1) * info.piece_records);
			}
			t.opts.memory_bytes = least - 1;
			assert_int_equal(em_pq_plan(t.f.ctx, &t.opts, &info), EM_ERR_MEMLIMIT);
			assert_int_equal(info.memory_min, least);
			assert_int_equal(em_pq_open(&t.q, t.f.ctx, &t.opts), EM_ERR_MEMLIMIT);
			assert_null(t.q);
			assert_non_null(strstr(t.err.text, "at least"));
			pq_case_close(&t);
		}
	}
}

/* Levels follow from the number of records. */
static void test_levels(void **state)
{
	em_pq_plan_info info;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 1);
	t.opts.memory_bytes = 1u << 20;
	t.opts.arity = 3;
	info = plan_of(&t);
	assert_int_equal(info.levels, 0);
	t.opts.records = info.run_records;
	assert_int_equal(plan_of(&t).levels, 0);
	t.opts.records = info.run_records * 2;
	assert_int_equal(plan_of(&t).levels, 1);
	t.opts.records = info.run_records * 3;
	assert_int_equal(plan_of(&t).levels, 2);
	t.opts.records = info.run_records * 9;
	assert_int_equal(plan_of(&t).levels, 3);
	t.opts.records = UINT64_MAX;
	assert_true(plan_of(&t).levels > 10);
	pq_case_close(&t);
}

static void push_random(pq_case *t, uint64_t n)
{
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < PQ_MANY && i + k < n; k++)
			pq_case_record(t, k, pq_case_value(t, 0));
		pq_case_push(t, k);
	}
}

/* Few records: nothing is opened or written on scratch, and little memory is taken. */
static void test_small(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < pq_kinds_n; k++) {
		uint64_t bytes, i;
		pq_case t;

		pq_case_open(&t, memory(), &pq_kinds[k], (int)(k % 2), 5000);
		t.f.fault[0].ops = EM_FAULT_ALL;
		t.f.fault[0].count = 0;
		bytes = t.f.mem.bytes;
		pq_case_make(&t);
		push_random(&t, 100);
		for (i = 0; i < 1000; i++) {
			pq_case_pop(&t, 1);
			pq_case_record(&t, 0, pq_case_value(&t, i % 2 ? 2 : 0));
			pq_case_push(&t, 1);
		}
		pq_case_drain(&t);
		assert_int_equal(t.f.fault[0].count, 0);
		assert_true(t.f.mem.peak - bytes <= em_pq_memory(&t.opts, 101));
		pq_case_close(&t);
	}
}

/* The memory of a queue, with what it says of its blocks, whatever is done.  Another one has the disks at work
 * before. */
static void test_budget(void **state)
{
	unsigned k, m;

	(void)state;
	for (k = 0; k < pq_kinds_n; k++) {
		const uint64_t n = pq_kinds[k].bytes > 1000 ? 2000 : 60000;

		for (m = 0; m < 3; m++) {
			uint64_t before, i;
			em_pq *first;
			pq_case t;

			if (test_left_out())
				continue;
			pq_case_open(&t, memory(), &pq_kinds[k], (int)(k % 2), 3 * n);
			t.opts.block_bytes = pq_kinds[k].bytes > 1000 ? 8192 : BLOCK;
			t.opts.memory_bytes = pq_case_least(&t) * (m + 1);
			pq_case_make(&t);
			push_random(&t, n);
			pq_case_pop(&t, 20);
			first = t.q;
			t.n = 0;
			before = em_ctx_memory_used(t.f.ctx);
			pq_case_make(&t);
			push_random(&t, n);
			for (i = 0; i < n / 50; i++) {
				pq_case_pop(&t, 20);
				pq_case_record(&t, 0, pq_case_value(&t, (unsigned)i));
				pq_case_push(&t, 1);
				/* The disks' lists of what is in use grow a little. */
				assert_true(em_ctx_memory_used(t.f.ctx) - before <=
					    em_pq_memory(&t.opts, n) + (16u << 10));
			}
			assert_true(em_pq_memory(&t.opts, n) <=
				    plan_of(&t).memory + (n / plan_of(&t).block_records + 1) * 72);
			pq_case_drain(&t);
			em_pq_close(first);
			pq_case_close(&t);
		}
	}
}

/* All in, all out: each record is written once and read once for a level, and not at all if all fit into memory. */
static void test_transfers(void **state)
{
	static const unsigned kinds[] = { 2, 6, 11 };
	unsigned k, shape;

	(void)state;
	for (k = 0; k < 3; k++) {
		for (shape = 0; shape < PQ_SHAPES; shape++) {
			const uint64_t n = 100000;
			em_pq_plan_info info;
			em_pq_stats s;
			uint64_t blocks, i, j;
			pq_case t;

			if (test_left_out())
				continue;
			pq_case_open(&t, memory(), &pq_kinds[kinds[k]], 0, 2 * n);
			t.opts.block_bytes = BLOCK;
			t.opts.memory_bytes = 1u << 20;
			t.opts.records = n;
			pq_case_make(&t);
			info = plan_of(&t);
			for (i = 0; i < n; i += j) {
				for (j = 0; j < PQ_MANY && i + j < n; j++)
					pq_case_record(&t, j, pq_case_value(&t, shape == 2 || shape == 3 ? 0 : shape));
				pq_case_push(&t, j);
			}
			assert_true(pq_case_stats(&t).merged <= n * info.levels);
			pq_case_drain(&t);
			s = pq_case_stats(&t);
			blocks = n / info.block_records + 1;
			assert_int_equal(s.blocks, 0);
			assert_true(s.levels <= info.levels);
			assert_true(s.writes <= info.levels * blocks);
			assert_true(s.reads <= info.levels * blocks);
			assert_true(s.writes != 0);
			/* What fits into memory is not written. */
			push_random(&t, info.run_records);
			assert_int_equal(pq_case_stats(&t).writes, s.writes);
			pq_case_drain(&t);
			assert_int_equal(pq_case_stats(&t).reads, s.reads);
			pq_case_close(&t);
		}
	}
}

/* With a constant number of records, disks have no more than twice what there is. */
static void test_space(void **state)
{
	uint64_t i, n = 40000;
	unsigned shape;

	(void)state;
	for (shape = 0; shape < 3; shape += 2) {
		pq_case t;

		pq_case_open(&t, memory(), &pq_kinds[2], 0, 1200000);
		t.opts.block_bytes = BLOCK;
		t.opts.memory_bytes = pq_case_least(&t);
		pq_case_make(&t);
		push_random(&t, n);
		for (i = 0; i < 25 * n / test_fewer(); i++) {
			pq_case_pop(&t, 1);
			pq_case_record(&t, 0, pq_case_value(&t, shape));
			pq_case_push(&t, 1);
			if (i % 100 == 0)
				assert_true(pq_case_stats(&t).blocks * BLOCK <= 2 * n * 8);
		}
		assert_true(pq_case_stats(&t).writes != 0);
		pq_case_close(&t);
	}
}

static void refused(pq_case *t, em_status status, const char *text)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;

	assert_int_equal(em_pq_open(&t->q, t->f.ctx, &t->opts), status);
	assert_null(t->q);
	assert_int_equal(t->err.status, status);
	if (strstr(t->err.text, text) == NULL)
		fail_msg("%s", t->err.text);
	assert_int_equal(em_pq_plan(t->f.ctx, &t->opts, &info), status);
	assert_int_equal(em_pq_memory(&t->opts, 1), 0);
}

/* Options that mean nothing. */
static void test_options(void **state)
{
	em_order *lines, *large;
	em_placement place;
	em_ctx *other;
	em_order *theirs;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 1);
	t.opts.flags = 2;
	refused(&t, EM_ERR_INVAL, "flags");
	t.opts.flags = 0;
	t.opts.reserved = 1;
	refused(&t, EM_ERR_INVAL, "flags");
	t.opts.reserved = 0;
	t.opts.arity = 1;
	refused(&t, EM_ERR_INVAL, "arity");
	t.opts.arity = (1u << 20) + 1;
	refused(&t, EM_ERR_RANGE, "arity");
	t.opts.arity = 0;
	t.opts.block_bytes = 5000;
	refused(&t, EM_ERR_INVAL, "multiple");
	t.opts.block_bytes = UINT64_C(1) << 32;
	refused(&t, EM_ERR_RANGE, "blocks");
	t.opts.block_bytes = 0;
	t.opts.write_buffers = UINT32_MAX;
	refused(&t, EM_ERR_RANGE, "buffers");
	t.opts.write_buffers = 0;
	t.opts.memory_bytes = 1000;
	refused(&t, EM_ERR_MEMLIMIT, "at least");
	t.opts.memory_bytes = UINT64_C(1) << 40;
	refused(&t, EM_ERR_MEMLIMIT, "memory");
	t.opts.memory_bytes = 0;
	assert_int_equal(em_placement_init(&place, EM_PLACE_STRIPING, 3, 0, 1, 1), EM_OK);
	t.opts.placement = &place;
	refused(&t, EM_ERR_INVAL, "disks");
	t.opts.placement = NULL;
	t.opts.order = NULL;
	refused(&t, EM_ERR_INVAL, "order");
	assert_int_equal(em_order_text(&lines, t.f.ctx, NULL, 0, NULL, NULL), EM_OK);
	t.opts.order = lines;
	refused(&t, EM_ERR_NOTSUP, "any length");
	assert_int_equal(em_order_keys(&large, t.f.ctx, (1u << 24) + 1, NULL, 0, NULL), EM_OK);
	t.opts.order = large;
	refused(&t, EM_ERR_RANGE, "bytes");
	assert_int_equal(em_ctx_open(&other, NULL), EM_OK);
	assert_int_equal(em_order_keys(&theirs, other, 8, NULL, 0, NULL), EM_OK);
	t.opts.order = theirs;
	assert_int_equal(em_pq_open(&t.q, t.f.ctx, &t.opts), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "another context"));
	em_order_close(theirs);
	em_ctx_close(other);
	em_order_close(large);
	em_order_close(lines);
	t.opts.order = t.order;
	pq_case_close(&t);
}

/* What is wrong with arguments changes nothing. */
static void test_arguments(void **state)
{
	uint64_t n = 77;
	char bound[8] = { 0 };
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 100);
	pq_case_make(&t);
	push_random(&t, 10);
	assert_int_equal(em_pq_push_many(t.q, t.buf, UINT64_MAX, &n), EM_ERR_INVAL);
	assert_int_equal(n, 0);
	assert_int_equal(em_pq_pop_many(t.q, t.buf, UINT64_MAX / 4, &n), EM_ERR_INVAL);
	assert_int_equal(em_pq_pop_until(t.q, bound, 2, t.buf, 1, &n), EM_ERR_INVAL);
	assert_int_equal(em_pq_pop_until(t.q, bound, 0, t.buf, 0, &n), EM_OK);
	assert_int_equal(em_pq_push_many(t.q, NULL, 0, &n), EM_OK);
	assert_int_equal(em_pq_pop_many(t.q, NULL, 0, &n), EM_OK);
	assert_int_equal(n, 0);
	assert_int_equal(em_pq_size(t.q), 10);
	pq_case_drain(&t);
	pq_case_close(&t);
}

/* Empty queues: nothing is found, and that does not stay. */
static void test_empty(void **state)
{
	const em_batch *batch;
	uint64_t n = 77;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 100);
	pq_case_make(&t);
	pq_case_record(&t, 0, 5);
	assert_int_equal(em_pq_pop(t.q, t.buf), EM_NOT_FOUND);
	assert_int_equal(em_pq_top(t.q, t.buf), EM_NOT_FOUND);
	assert_int_equal(em_pq_next(t.q, &batch), EM_NOT_FOUND);
	assert_int_equal(em_pq_replace(t.q, t.buf, t.buf), EM_NOT_FOUND);
	assert_int_equal(em_pq_pop_until(t.q, t.buf, EM_PQ_INCLUSIVE, t.buf + 8, 1, &n), EM_NOT_FOUND);
	assert_int_equal(n, 0);
	pq_case_record(&t, 0, 5);
	assert_int_equal(em_pq_pushpop(t.q, t.buf, t.buf + 8), EM_OK);
	assert_memory_equal(t.buf, t.buf + 8, 8);
	assert_int_equal(em_pq_size(t.q), 0);
	pq_case_push(&t, 1);
	pq_case_drain(&t);
	assert_int_equal(em_pq_clear(t.q), EM_OK);
	push_random(&t, 10);
	assert_int_equal(em_pq_clear(t.q), EM_OK);
	assert_int_equal(em_pq_pop(t.q, t.buf), EM_NOT_FOUND);
	pq_case_close(&t);
}

/* Clearing gives back memory and space, and the queue is as new. */
static void test_clear(void **state)
{
	uint64_t before;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 1, 200000);
	t.opts.memory_bytes = UINT64_MAX;
	t.opts.block_bytes = BLOCK;
	pq_case_make(&t);
	before = t.f.mem.bytes;
	push_random(&t, 50000);
	pq_case_pop(&t, 10);
	assert_true(pq_case_stats(&t).blocks != 0);
	assert_int_equal(em_pq_clear(t.q), EM_OK);
	assert_int_equal(em_pq_size(t.q), 0);
	assert_int_equal(pq_case_stats(&t).blocks, 0);
	assert_true(t.f.mem.bytes <= before + (512u << 10));
	t.n = 0;
	push_random(&t, 50000);
	pq_case_drain(&t);
	pq_case_close(&t);
}

/* Parameters and statistics as text. */
static void test_dump(void **state)
{
	char all[4096], part[20];
	size_t bytes;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 1000);
	pq_case_make(&t);
	push_random(&t, 700);
	bytes = em_pq_dump(t.q, all, sizeof all);
	assert_int_equal(bytes, strlen(all));
	assert_non_null(strstr(all, "order: u32le@0\n"));
	assert_non_null(strstr(all, "\nrecords: 700\n"));
	assert_int_equal(em_pq_dump(t.q, NULL, 0), bytes);
	assert_int_equal(em_pq_dump(t.q, part, sizeof part), bytes);
	assert_int_equal(strlen(part), sizeof part - 1);
	assert_memory_equal(part, all, sizeof part - 1);
	assert_int_equal(em_pq_dump(NULL, all, sizeof all), 0);
	pq_case_close(&t);
}

/* The order of equal records does not depend on memory and threads: they leave as they came. */
static void test_stable(void **state)
{
	unsigned m;

	(void)state;
	for (m = 0; m < 4; m++) {
		uint64_t i;
		pq_case t;

		pq_case_open(&t, memory(), &pq_kinds[m % 2 ? 6 : 12], 1, 60000);
		t.opts.block_bytes = BLOCK;
		t.opts.memory_bytes = pq_case_least(&t) * (m + 1);
		pq_case_make(&t);
		for (i = 0; i < 300; i++) {
			uint64_t k;

			for (k = 0; k < 100; k++)
				pq_case_record(&t, k, i % 3 == 0 ? 4 : 1 + k % 3);
			pq_case_push(&t, 100);
			pq_case_pop(&t, 30);
		}
		pq_case_drain(&t);
		pq_case_close(&t);
	}
}

/* A queue and a deque share a pool, which is closed before them. */
static void test_shared_pool(void **state)
{
	em_block_pool_opts pool_opts = EM_BLOCK_POOL_OPTS_INIT;
	em_container_opts deque_opts = EM_CONTAINER_OPTS_INIT;
	em_disks_opts disks_opts = EM_DISKS_OPTS_INIT;
	em_block_pool *pool;
	uint64_t i, number, front = 0;
	em_disks *disks;
	em_deque *d;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 100000);
	assert_int_equal(em_disks_open(&disks, t.f.ctx, &disks_opts), EM_OK);
	pool_opts.block_bytes = BLOCK;
	assert_int_equal(em_block_pool_open(&pool, disks, &pool_opts), EM_OK);
	t.opts.pool = pool;
	refused(&t, EM_ERR_INVAL, "no buffers for writing");
	assert_int_equal(em_block_pool_resize(pool, 3, 3), EM_OK);
	t.opts.block_bytes = 2 * BLOCK;
	refused(&t, EM_ERR_INVAL, "pool");
	t.opts.block_bytes = 0;
	t.opts.write_buffers = 2;
	refused(&t, EM_ERR_INVAL, "pool");
	t.opts.write_buffers = 0;
	t.opts.memory_bytes = UINT64_MAX;
	pq_case_make(&t);
	deque_opts.record_bytes = 8;
	deque_opts.pool = pool;
	deque_opts.memory_bytes = 8 * BLOCK;
	assert_int_equal(em_deque_open(&d, t.f.ctx, &deque_opts), EM_OK);
	em_block_pool_close(pool);
	em_disks_close(disks);
	for (i = 0; i < 60000; i++) {
		assert_int_equal(em_deque_push_back(d, &i), EM_OK);
		pq_case_record(&t, 0, pq_case_value(&t, 0));
		pq_case_push(&t, 1);
		if (i % 3 == 0)
			pq_case_pop(&t, 1);
		if (i % 4 == 0) {
			assert_int_equal(em_deque_pop_front(d, &number), EM_OK);
			assert_int_equal(number, front++);
		}
	}
	assert_true(pq_case_stats(&t).blocks != 0);
	pq_case_drain(&t);
	em_deque_close(d);
	pq_case_close(&t);
}

/* A context that is canceled: calls that need more than memory say so. */
static void test_canceled(void **state)
{
	em_status st = EM_OK;
	uint64_t i;
	pq_case t;

	(void)state;
	pq_case_open(&t, memory(), &pq_kinds[2], 0, 100000);
	t.opts.memory_bytes = UINT64_MAX;
	t.opts.block_bytes = BLOCK;
	pq_case_make(&t);
	push_random(&t, 30000);
	em_ctx_cancel(t.f.ctx);
	for (i = 0; i < 30000 && st == EM_OK; i++)
		st = em_pq_pop(t.q, t.buf);
	assert_int_equal(st, EM_ERR_CANCELED);
	assert_int_equal(em_pq_pop_many(t.q, t.buf, 10, NULL), EM_ERR_CANCELED);
	pq_case_close(&t);
}

/* A child that closes a queue while its parent sorts frees memory, and waits for nobody. */
static void test_fork(void **state)
{
	unsigned i;

	(void)state;
	if (TEST_TSAN)
		skip();
	for (i = 0; i < 2; i++) {
		int status = -1;
		pq_case t;
		pid_t pid;

		pq_case_open(&t, memory(), &pq_kinds[2], 0, 100000);
		t.opts.memory_bytes = 4u << 20;
		pq_case_make(&t);
		push_random(&t, 5 * plan_of(&t).piece_records + 1);
		fflush(NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			alarm(60);
			em_pq_close(t.q);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		pq_case_drain(&t);
		pq_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_shared_pool),
		cmocka_unit_test(test_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
