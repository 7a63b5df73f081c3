/* SPDX-License-Identifier: BSL-1.0 */
/* ends_case.c -- see ends_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/ends_case.h"

#define CALL(t, fn, ...) \
	((t)->kind == EMI_STACK ? em_stack_##fn((em_stack *)(t)->object, __VA_ARGS__) : \
	 (t)->kind == EMI_QUEUE ? em_queue_##fn((em_queue *)(t)->object, __VA_ARGS__) : \
				  em_deque_##fn((em_deque *)(t)->object, __VA_ARGS__))

void ends_case_error(const ends_case *t, em_errinfo *err)
{
	if (t->kind == EMI_STACK)
		em_stack_error(t->object, err);
	else if (t->kind == EMI_QUEUE)
		em_queue_error(t->object, err);
	else
		em_deque_error(t->object, err);
}

void ends_case_ok(ends_case *t, em_status st, int line)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	ends_case_error(t, &err);
	fail_msg("line %d: %s: %s", line, em_status_name(st), t->object != NULL ? err.text : t->err.text);
}

void ends_case_open(ends_case *t, emi_ends_kind kind, const em_backend *backend, uint32_t disks, uint64_t record,
		    uint64_t room, uint32_t hold)
{
	const em_backend *all[FIXTURE_DISKS] = { backend, backend, backend };
	const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
	const uint32_t frames = kind == EMI_DEQUE ? 2 : 0;

	memset(t, 0, sizeof *t);
	fixture_open_on(&t->f, all, disks);
	t->kind = kind;
	t->opts = plain;
	t->opts.record_bytes = record;
	t->opts.block_bytes = record > 4096 ? (record + 4095) / 4096 * 4096 : 4096;
	t->opts.memory_bytes = (hold + 2 + frames) * t->opts.block_bytes;
	t->opts.write_buffers = t->opts.prefetch_buffers = 1;
	t->opts.cache_buffers = frames;
	t->opts.errinfo = &t->err;
	t->room = room;
	t->from = room / 2;
	t->is = malloc((size_t)(room + 1) * (size_t)record);
	t->buf = malloc((size_t)(room + 1) * (size_t)record);
	assert_non_null(t->is);
	assert_non_null(t->buf);
}

em_status ends_case_try(ends_case *t)
{
	if (t->kind == EMI_STACK)
		return em_stack_open((em_stack **)&t->object, t->f.ctx, &t->opts);
	if (t->kind == EMI_QUEUE)
		return em_queue_open((em_queue **)&t->object, t->f.ctx, &t->opts);
	return em_deque_open((em_deque **)&t->object, t->f.ctx, &t->opts);
}

void ends_case_make(ends_case *t)
{
	t->n = 0;
	t->from = t->room / 2;
	assert_ends_ok(t, ends_case_try(t));
}

void ends_case_drop(ends_case *t)
{
	if (t->kind == EMI_STACK)
		em_stack_close(t->object);
	else if (t->kind == EMI_QUEUE)
		em_queue_close(t->object);
	else
		em_deque_close(t->object);
	t->object = NULL;
}

int ends_case_pushes(const ends_case *t, emi_end end)
{
	return end == EMI_BACK || t->kind == EMI_DEQUE;
}

int ends_case_pops(const ends_case *t, emi_end end)
{
	return t->kind == EMI_DEQUE || (t->kind == EMI_STACK) == (end == EMI_BACK);
}

static em_window *window(const ends_case *t, emi_end end)
{
	if (t->kind == EMI_STACK)
		return em_stack_window(t->object);
	if (t->kind == EMI_QUEUE)
		return end == EMI_BACK ? em_queue_push_window(t->object) : em_queue_pop_window(t->object);
	return end == EMI_BACK ? em_deque_back_window(t->object) : em_deque_front_window(t->object);
}

static em_status push_one(ends_case *t, emi_end end, const void *record)
{
	const size_t bytes = (size_t)t->opts.record_bytes;

	if (test_below(&t->f.rng, 2) == 0)
		return end == EMI_BACK ? em_window_push_back(window(t, end), record, bytes) :
					 em_window_push_front(window(t, end), record, bytes);
	if (t->kind == EMI_STACK)
		return em_stack_push(t->object, record);
	if (t->kind == EMI_QUEUE)
		return em_queue_push(t->object, record);
	return end == EMI_BACK ? em_deque_push_back(t->object, record) : em_deque_push_front(t->object, record);
}

static em_status pop_one(ends_case *t, emi_end end, void *record)
{
	const size_t bytes = (size_t)t->opts.record_bytes;

	if (test_below(&t->f.rng, 2) == 0)
		return end == EMI_BACK ? em_window_pop_back(window(t, end), record, bytes) :
					 em_window_pop_front(window(t, end), record, bytes);
	if (t->kind == EMI_STACK)
		return em_stack_pop(t->object, record);
	if (t->kind == EMI_QUEUE)
		return em_queue_pop(t->object, record);
	return end == EMI_BACK ? em_deque_pop_back(t->object, record) : em_deque_pop_front(t->object, record);
}

static em_status push_many(ends_case *t, emi_end end, uint64_t n, uint64_t *pushed)
{
	if (t->kind == EMI_STACK)
		return em_stack_push_many(t->object, t->buf, n, pushed);
	if (t->kind == EMI_QUEUE)
		return em_queue_push_many(t->object, t->buf, n, pushed);
	return end == EMI_BACK ? em_deque_push_back_many(t->object, t->buf, n, pushed) :
				 em_deque_push_front_many(t->object, t->buf, n, pushed);
}

static em_status pop_many(ends_case *t, emi_end end, uint64_t n, uint64_t *popped)
{
	if (t->kind == EMI_STACK)
		return em_stack_pop_many(t->object, t->buf, n, popped);
	if (t->kind == EMI_QUEUE)
		return em_queue_pop_many(t->object, t->buf, n, popped);
	return end == EMI_BACK ? em_deque_pop_back_many(t->object, t->buf, n, popped) :
				 em_deque_pop_front_many(t->object, t->buf, n, popped);
}

/* Have the model in the middle of its array, if it is at the end. */
static void centre(ends_case *t, emi_end end, uint64_t n)
{
	const size_t record = (size_t)t->opts.record_bytes;
	const uint64_t to = (t->room - t->n - n) / 2 + (end == EMI_FRONT ? n : 0);

	assert_true(t->n + n <= t->room);
	if (end == EMI_FRONT ? t->from >= n : t->from + t->n + n <= t->room)
		return;
	memmove(t->is + to * record, t->is + t->from * record, (size_t)t->n * record);
	t->from = to;
}

em_status ends_case_push(ends_case *t, emi_end end, uint64_t n)
{
	const size_t record = (size_t)t->opts.record_bytes;
	uint64_t pushed = n + 1;
	em_status st;

	centre(t, end, n);
	test_fill(&t->f.rng, t->buf, (size_t)n * record);
	if (n == 1 && test_below(&t->f.rng, 4) != 0) {
		st = push_one(t, end, t->buf);
		pushed = st == EM_OK;
	} else {
		st = push_many(t, end, n, &pushed);
	}
	assert_true(st == EM_OK ? pushed == n : pushed < n);
	if (end == EMI_FRONT) {
		t->from -= pushed;
		memcpy(t->is + t->from * record, t->buf + (size_t)(n - pushed) * record, (size_t)pushed * record);
	} else {
		memcpy(t->is + (t->from + t->n) * record, t->buf, (size_t)pushed * record);
	}
	t->n += pushed;
	assert_int_equal(ends_case_size(t), t->n);
	return st;
}

em_status ends_case_pop(ends_case *t, emi_end end, uint64_t n)
{
	const size_t record = (size_t)t->opts.record_bytes;
	uint64_t popped = n + 1;
	em_status st;

	if (n == 1 && test_below(&t->f.rng, 4) != 0) {
		st = pop_one(t, end, t->buf);
		popped = st == EM_OK;
	} else {
		st = pop_many(t, end, n, &popped);
	}
	if (st == EM_OK)
		assert_int_equal(popped, n < t->n ? n : t->n);
	if (n != 0 && t->n == 0)
		assert_int_equal(st, EM_NOT_FOUND);
	assert_true(popped <= t->n);
	t->n -= popped;
	if (end == EMI_FRONT) {
		assert_memory_equal(t->buf, t->is + t->from * record, (size_t)popped * record);
		t->from += popped;
	} else {
		assert_memory_equal(t->buf, t->is + (t->from + t->n) * record, (size_t)popped * record);
	}
	assert_int_equal(ends_case_size(t), t->n);
	return st;
}

em_status ends_case_peek(ends_case *t, emi_end end)
{
	const size_t record = (size_t)t->opts.record_bytes;
	em_status st;

	if (t->kind == EMI_STACK)
		st = em_stack_peek(t->object, t->buf);
	else if (t->kind == EMI_QUEUE)
		st = end == EMI_BACK ? em_queue_back(t->object, t->buf) : em_queue_front(t->object, t->buf);
	else
		st = end == EMI_BACK ? em_deque_back(t->object, t->buf) : em_deque_front(t->object, t->buf);
	assert_true((st == EM_NOT_FOUND) == (t->n == 0) || st < EM_OK);
	if (st == EM_OK)
		assert_memory_equal(t->buf, t->is + (end == EMI_FRONT ? t->from : t->from + t->n - 1) * record, record);
	return st;
}

void ends_case_drain(ends_case *t, emi_end end)
{
	while (t->n != 0)
		assert_ends_ok(
			t, ends_case_pop(t, end, test_below(&t->f.rng, 4) == 0 ? 1 + test_below(&t->f.rng, t->n) : 1));
	assert_int_equal(ends_case_pop(t, end, 1), EM_NOT_FOUND);
}

em_status ends_case_clear(ends_case *t)
{
	em_status st;

	if (t->kind == EMI_STACK)
		st = em_stack_clear(t->object);
	else
		st = t->kind == EMI_QUEUE ? em_queue_clear(t->object) : em_deque_clear(t->object);
	t->n = 0;
	return st;
}

uint64_t ends_case_size(const ends_case *t)
{
	if (t->kind == EMI_STACK)
		return em_stack_size(t->object);
	return t->kind == EMI_QUEUE ? em_queue_size(t->object) : em_deque_size(t->object);
}

uint64_t ends_case_memory(const ends_case *t, uint64_t records)
{
	if (t->kind == EMI_STACK)
		return em_stack_memory(&t->opts, records);
	return t->kind == EMI_QUEUE ? em_queue_memory(&t->opts, records) : em_deque_memory(&t->opts, records);
}

em_status ends_case_prefetch(ends_case *t, uint32_t blocks)
{
	return CALL(t, prefetch, blocks);
}

em_container_stats ends_case_stats(const ends_case *t)
{
	em_container_stats s = EM_CONTAINER_STATS_INIT;

	assert_int_equal(CALL(t, stats_get, &s), EM_OK);
	return s;
}

void ends_case_close(ends_case *t)
{
	ends_case_drop(t);
	if (t->f.disk != NULL)
		assert_int_equal(emi_disk_used(t->f.disk), 0);
	fixture_close(&t->f);
	free(t->is);
	free(t->buf);
}
