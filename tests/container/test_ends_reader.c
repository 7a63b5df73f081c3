/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_reader.c -- readers of deques, when something else is done with the deque: how that ends a reader, and what
 * does not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>

#include "base/memory.h"
#include "container/ends_case.h"
#include "container/public_ends.h"

enum { B = 4096, PER_BLOCK = 512, BLOCKS = 12, ROOM = 60 * PER_BLOCK };

static void open_case(ends_case *t)
{
	ends_case_open(t, EMI_DEQUE, em_backend_find("memory"), 1, 8, ROOM, 4);
}

/* What is done with a deque while it has a reader. */
typedef em_status (*act)(em_deque *d);

static uint64_t one;

static em_status push_back(em_deque *d)
{
	return em_deque_push_back(d, &one);
}

static em_status push_front(em_deque *d)
{
	return em_deque_push_front(d, &one);
}

static em_status pop_back(em_deque *d)
{
	return em_deque_pop_back(d, &one);
}

static em_status pop_front(em_deque *d)
{
	return em_deque_pop_front(d, &one);
}

static em_status window_back(em_deque *d)
{
	return em_window_push_back(em_deque_back_window(d), &one, 8);
}

static em_status window_front(em_deque *d)
{
	return em_window_pop_front(em_deque_front_window(d), &one, 8);
}

/* As many as before, at the same place. */
static em_status back_and_forth(em_deque *d)
{
	em_window *w = em_deque_back_window(d);
	const em_status st = em_window_pop_back(w, &one, 8);

	one++;
	return st == EM_OK ? em_window_push_back(w, &one, 8) : st;
}

static em_status forth_and_back(em_deque *d)
{
	em_window *w = em_deque_front_window(d);
	const em_status st = em_window_pop_front(w, &one, 8);

	one++;
	return st == EM_OK ? em_window_push_front(w, &one, 8) : st;
}

static em_status many(em_deque *d)
{
	return em_deque_pop_back_many(d, &one, 1, NULL);
}

static em_status look(em_deque *d)
{
	const em_status st = em_deque_front(d, &one);

	return st == EM_OK ? em_deque_back(d, &one) : st;
}

static em_status get(em_deque *d)
{
	return em_deque_get(d, em_deque_size(d) / 2, &one);
}

static em_status set(em_deque *d)
{
	return em_deque_set(d, em_deque_size(d) / 2, &one);
}

static em_status prefetch(em_deque *d)
{
	return em_deque_prefetch(d, 1);
}

static em_status none(em_deque *d)
{
	return em_deque_push_back_many(d, NULL, 0, NULL);
}

/* A reader ends when records come or go, and only then. */
static void test_what_ends(void **state)
{
	static const struct {
		act act;
		int ends;
	} acts[] = {
		{ push_back, 1 },     { push_front, 1 },     { pop_back, 1 },       { pop_front, 1 },
		{ window_back, 1 },   { window_front, 1 },   { back_and_forth, 1 }, { forth_and_back, 1 },
		{ many, 1 },          { em_deque_clear, 1 }, { look, 0 },           { get, 0 },
		{ set, 0 },           { prefetch, 0 },       { none, 0 },
	};
	size_t i;
	int late;

	(void)state;
	for (i = 0; i < sizeof acts / sizeof *acts; i++) {
		for (late = 0; late < 2; late++) {
			const em_batch *batch;
			em_deque_reader *r;
			ends_case t;

			open_case(&t);
			ends_case_make(&t);
			assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
			assert_ends_ok(&t, em_deque_reader_open(&r, t.object, NULL));
			if (late)
				assert_int_equal(em_deque_reader_next(r, &batch), EM_OK);
			assert_ends_ok(&t, acts[i].act(t.object));
			assert_int_equal(em_deque_reader_next(r, &batch), acts[i].ends ? EM_ERR_STATE : EM_OK);
			assert_int_equal(em_deque_reader_next(r, &batch), acts[i].ends ? EM_ERR_STATE : EM_OK);
			em_deque_reader_close(r);
			/* Another one begins with what is there now. */
			assert_ends_ok(&t, em_deque_reader_open(&r, t.object, NULL));
			assert_int_equal(em_deque_reader_next(r, &batch),
					 em_deque_size(t.object) != 0 ? EM_OK : EM_END);
			em_deque_reader_close(r);
			ends_case_close(&t);
		}
	}
}

/* Push a record when there is no more memory.  Did that fail although a block had left the memory for it? */
static int push_without_memory(ends_case *t)
{
	const uint64_t taken = em_ctx_memory(t->f.ctx) - em_ctx_memory_used(t->f.ctx);
	const uint64_t writes = ends_case_stats(t).writes;
	em_status st;

	assert_int_equal(emi_memory_take(t->f.ctx, taken, NULL), EM_OK);
	st = ends_case_push(t, EMI_BACK, 1);
	emi_memory_drop(t->f.ctx, taken);
	if (st == EM_OK)
		return 0;
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	return ends_case_stats(t).writes != writes;
}

/* A push that had a block leave the memory, and then had no memory for another one, ends a reader: what that has lent
 * is gone. */
static void test_failed_push(void **state)
{
	unsigned found = 0;
	uint32_t hold;

	(void)state;
	for (hold = 4; hold < 12; hold++) {
		const emi_ends *e;
		ends_case t;
		int i;

		ends_case_open(&t, EMI_DEQUE, em_backend_find("memory"), 1, 8, ROOM, hold);
		t.opts.write_buffers = hold / 4;
		t.opts.memory_bytes += (hold / 4 - 1) * B;
		ends_case_make(&t);
		e = ((emi_container *)t.object)->ends;
		for (i = 0; i < 40; i++) {
			const em_batch *batch;
			em_deque_reader *r;
			em_errinfo err;

			/* The next record needs a block. */
			if (e->back_at == e->shape.full || i == 0)
				assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 1));
			while (e->back_at != e->shape.full)
				assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, (e->shape.full - e->back_at) / 8));
			assert_ends_ok(&t, em_deque_reader_open(&r, t.object, NULL));
			assert_int_equal(em_deque_reader_next(r, &batch), EM_OK);
			if (push_without_memory(&t)) {
				found++;
				assert_int_equal(em_deque_reader_next(r, &batch), EM_ERR_STATE);
				assert_null(batch);
				em_deque_reader_error(r, &err);
				assert_non_null(strstr(err.text, "a push failed"));
			}
			em_deque_reader_close(r);
		}
		ends_case_drain(&t, EMI_FRONT);
		ends_case_close(&t);
	}
	print_message("%u pushes failed after a block was written\n", found);
	assert_true(found != 0);
}

/* What is done with the deque within a call on it. */
typedef struct within {
	ends_case *t;
	em_deque_reader *r;
	unsigned times;
} within;

static uint32_t place(void *user, uint64_t i, uint32_t disks)
{
	within *w = user;
	const em_batch *batch = (const em_batch *)w;
	const void *record;
	em_errinfo err;

	(void)i;
	(void)disks;
	w->times++;
	if (w->r == NULL)
		return 0;
	assert_int_equal(em_deque_reader_next(w->r, &batch), EM_ERR_BUSY);
	assert_null(batch);
	assert_int_equal(em_cursor_next(em_deque_reader_cursor(w->r), &record), EM_ERR_BUSY);
	em_deque_reader_error(w->r, &err);
	assert_int_equal(err.status, EM_OK);
	ends_case_error(w->t, &err);
	assert_int_equal(err.status, EM_OK);
	return 0;
}

/* A reader is told that its deque is at work, and that is no failure of either: no detail is kept. */
static void test_busy(void **state)
{
	em_placement placement;
	em_deque_reader *r;
	within w = { NULL, NULL, 0 };
	const em_batch *batch;
	em_errinfo err;
	ends_case t;

	(void)state;
	open_case(&t);
	w.t = &t;
	assert_int_equal(em_placement_own(&placement, 1, place, &w), EM_OK);
	t.opts.placement = &placement;
	ends_case_make(&t);
	assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
	assert_true(w.times != 0);
	assert_ends_ok(&t, em_deque_reader_open(&r, t.object, NULL));
	w.times = 0;
	w.r = r;
	assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
	assert_true(w.times != 0);
	/* Other failures are the reader's, too. */
	assert_int_equal(em_deque_reader_next(r, &batch), EM_ERR_STATE);
	em_deque_reader_error(r, &err);
	assert_int_equal(err.status, EM_ERR_STATE);
	em_ctx_cancel(t.f.ctx);
	assert_int_equal(em_deque_reader_next(r, &batch), EM_ERR_CANCELED);
	em_deque_reader_error(r, &err);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	em_deque_reader_close(r);
	ends_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_ends),
		cmocka_unit_test(test_failed_push),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
