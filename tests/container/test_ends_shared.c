/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_shared.c -- a stack, a queue and a deque on one pool: each is as it would be alone, they have the pool's
 * buffers together, and no two of them are at work at the same time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>

#include "container/ends_case.h"

enum { B = 4096, RECORD = 100, PER_BLOCK = 40, ROOM = 60 * PER_BLOCK, KINDS = 3, WRITE_BUFFERS = 3 };

typedef struct shared {
	ends_case t[KINDS];     /* by kind; the first has the context */
	em_disks *disks;
	em_block_pool *pool;
	em_placement placement; /* of the first, if it is to call somebody */
} shared;

/* The context, and a pool; the containers are not open yet. */
static void open_pool(shared *s, uint32_t flags)
{
	em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
	em_disks_opts o = EM_DISKS_OPTS_INIT;
	int k;

	ends_case_open(&s->t[0], EMI_STACK, em_backend_find("memory"), 1, RECORD, ROOM, 4);
	o.flags = flags;
	po.block_bytes = B;
	po.write_buffers = WRITE_BUFFERS;
	po.prefetch_buffers = 4;
	assert_int_equal(em_disks_open(&s->disks, s->t[0].f.ctx, &o), EM_OK);
	assert_int_equal(em_block_pool_open(&s->pool, s->disks, &po), EM_OK);
	s->t[0].opts.pool = s->pool;
	s->t[0].opts.block_bytes = 0;
	s->t[0].opts.write_buffers = s->t[0].opts.prefetch_buffers = 0;
	s->t[0].opts.memory_bytes = 2 * B;
	for (k = 1; k < KINDS; k++) {
		ends_case *t = &s->t[k];

		*t = s->t[0];
		t->kind = (emi_ends_kind)k;
		t->f.rng.state += (uint64_t)k;
		t->opts.memory_bytes = (k == EMI_DEQUE ? 6 : 2) * B;
		t->is = malloc((ROOM + 1) * RECORD);
		t->buf = malloc((ROOM + 1) * RECORD);
		assert_non_null(t->is);
		assert_non_null(t->buf);
	}
	for (k = 0; k < KINDS; k++)
		s->t[k].opts.errinfo = &s->t[k].err;
}

static void open_all(shared *s, uint32_t flags)
{
	int k;

	open_pool(s, flags);
	for (k = 0; k < KINDS; k++)
		ends_case_make(&s->t[k]);
}

static void close_pool(shared *s)
{
	em_block_pool_close(s->pool);
	em_disks_close(s->disks);
	s->pool = NULL;
	s->disks = NULL;
}

static void close_all(shared *s)
{
	int k;

	close_pool(s);
	for (k = KINDS - 1; k > 0; k--) {
		ends_case_drop(&s->t[k]);
		free(s->t[k].is);
		free(s->t[k].buf);
	}
	ends_case_close(&s->t[0]);
}

static emi_end pop_end(const ends_case *t)
{
	return t->kind == EMI_STACK ? EMI_BACK : EMI_FRONT;
}

static void drain_all(shared *s)
{
	int k;

	for (k = 0; k < KINDS; k++)
		ends_case_drain(&s->t[k], pop_end(&s->t[k]));
}

/* Push to one, or pop from it. */
static em_status any(ends_case *t, int grows)
{
	const emi_end end = test_below(&t->f.rng, 2) == 0 ? EMI_BACK : EMI_FRONT;
	const uint64_t n = test_below(&t->f.rng, test_below(&t->f.rng, 4) == 0 ? 6 * PER_BLOCK : 3);
	em_status st;

	if (test_below(&t->f.rng, 5) < (grows ? 3 : 2))
		return ends_case_push(t, ends_case_pushes(t, end) ? end : EMI_BACK, n < ROOM - t->n ? n : ROOM - t->n);
	st = ends_case_pop(t, ends_case_pops(t, end) ? end : pop_end(t), n);
	return st == EM_NOT_FOUND ? (em_status)EM_OK : st;
}

/* All kinds take turns, and each has what its model has; the pool may be closed before. */
static void test_mixed(void **state)
{
	enum { STEPS = 20000 };
	int round, i, k;

	(void)state;
	for (round = 0; round < 4; round++) {
		uint64_t writes = 0, written = 0;
		em_block_pool_stats stats = EM_BLOCK_POOL_STATS_INIT;
		shared s;

		open_all(&s, round % 2 == 1 ? EM_DISKS_COHERENT : 0);
		for (i = 0; i < STEPS; i++) {
			ends_case *t = &s.t[test_below(&s.t[0].f.rng, KINDS)];

			assert_ends_ok(t, any(t, i / 1000 % 2 == 0));
			if (t->kind == EMI_DEQUE && t->n != 0) {
				const uint64_t at = test_below(&t->f.rng, t->n);

				assert_ends_ok(t, em_deque_get(t->object, at, t->buf));
				assert_memory_equal(t->buf, t->is + (t->from + at) * RECORD, RECORD);
			}
			if (i != STEPS / 2)
				continue;
			assert_int_equal(em_block_pool_stats_get(s.pool, &stats), EM_OK);
			for (k = 0; k < KINDS; k++) {
				writes = ends_case_stats(&s.t[k]).writes;
				assert_true(writes != 0);
				written += writes;
			}
			assert_int_equal(stats.writes, written);
			if (round < 2)
				close_pool(&s);
		}
		drain_all(&s);
		close_all(&s);
	}
}

/* Somebody else has all buffers for writing: who needs one is told so, and goes on when there is one again. */
static void test_all_lent(void **state)
{
	void *buf[WRITE_BUFFERS];
	uint64_t n[KINDS];
	em_errinfo err;
	shared s;
	int i, k;

	(void)state;
	open_all(&s, 0);
	for (k = 0; k < KINDS; k++)
		assert_ends_ok(&s.t[k], ends_case_push(&s.t[k], EMI_BACK, 9 * PER_BLOCK));
	for (i = 0; i < WRITE_BUFFERS; i++)
		assert_int_equal(em_block_pool_lend(s.pool, &buf[i]), EM_OK);
	for (k = 0; k < KINDS; k++) {
		ends_case *t = &s.t[k];

		assert_int_equal(ends_case_push(t, EMI_BACK, 9 * PER_BLOCK), EM_ERR_STATE);
		n[k] = t->n;
		assert_true(n[k] <= 11 * PER_BLOCK);
		assert_int_equal(ends_case_push(t, EMI_BACK, 1), EM_ERR_STATE);
		ends_case_error(t, &err);
		assert_non_null(strstr(err.text, "all 3 buffers for writing are lent"));
		assert_int_equal(t->n, n[k]);
		/* Popping takes no buffer for writing. */
		assert_ends_ok(t, ends_case_pop(t, pop_end(t), 4 * PER_BLOCK));
	}
	for (i = 0; i < WRITE_BUFFERS; i++)
		assert_int_equal(em_block_pool_return(s.pool, buf[i]), EM_OK);
	for (k = 0; k < KINDS; k++)
		assert_ends_ok(&s.t[k], ends_case_push(&s.t[k], EMI_BACK, 20 * PER_BLOCK));
	drain_all(&s);
	close_all(&s);
}

static void set_full(shared *s, int full)
{
	em_fault *fault = &s->t[0].f.fault[0];

	fault->sys_errno = ENOSPC;
	em_fault_set(fault, full ? EM_FAULT_WRITE | EM_FAULT_RESIZE | EM_FAULT_RESERVE : 0, 1, UINT64_MAX);
}

/* The disk is full: blocks of one that cannot be written hold the buffers of all.  None loses a record, and when there
 * is room again all go on. */
static void test_full(void **state)
{
	int coherent, k;

	(void)state;
	for (coherent = 0; coherent < 2; coherent++) {
		unsigned failed = 0;
		int i;
		shared s;

		open_all(&s, coherent ? EM_DISKS_COHERENT : 0);
		for (k = 0; k < KINDS; k++)
			assert_ends_ok(&s.t[k], ends_case_push(&s.t[k], EMI_BACK, 8 * PER_BLOCK));
		set_full(&s, 1);
		assert_int_equal(ends_case_push(&s.t[0], EMI_BACK, 20 * PER_BLOCK), EM_ERR_NOSPACE);
		for (k = 1; k < KINDS; k++) {
			assert_int_equal(ends_case_push(&s.t[k], EMI_BACK, 20 * PER_BLOCK), EM_ERR_NOSPACE);
			assert_int_equal(ends_case_push(&s.t[k], EMI_BACK, 1), EM_ERR_NOSPACE);
		}
		for (i = 0; i < 300; i++) {
			const em_status st = any(&s.t[i % KINDS], 1);

			if (st != EM_OK)
				assert_int_equal(st, EM_ERR_NOSPACE);
			failed += st != EM_OK;
		}
		assert_true(failed != 0);
		/* What could not be written can be read. */
		assert_ends_ok(&s.t[1], ends_case_pop(&s.t[1], EMI_FRONT, s.t[1].n / 2));
		set_full(&s, 0);
		for (k = 0; k < KINDS; k++)
			assert_ends_ok(&s.t[k], ends_case_push(&s.t[k], EMI_BACK, 20 * PER_BLOCK));
		assert_int_equal(em_block_pool_flush(s.pool), EM_OK);
		drain_all(&s);
		close_all(&s);
	}
}

/* What is done while another one on the pool is at work. */
typedef struct within {
	shared *s;
	em_deque_reader *r;
	int closes;             /* the reader */
	int alone;              /* the stack has another pool now */
	unsigned times;
} within;

static uint32_t place(void *user, uint64_t i, uint32_t disks)
{
	within *w = user;
	const em_batch *batch = (const em_batch *)w;
	void *buf = w;
	char record[RECORD];
	em_errinfo err;
	uint64_t n = 1;

	(void)i;
	(void)disks;
	if (w->times++ != 0 || w->s == NULL)
		return 0;
	memset(record, 0, sizeof record);
	assert_int_equal(em_stack_push_many(w->s->t[0].object, record, 1, &n), w->alone ? EM_OK : EM_ERR_BUSY);
	assert_int_equal(n, w->alone);
	if (w->s->t[1].object != NULL) {
		assert_int_equal(em_queue_push_many(w->s->t[1].object, record, 1, NULL), EM_ERR_BUSY);
		assert_int_equal(em_queue_pop_many(w->s->t[1].object, record, 1, NULL), EM_ERR_BUSY);
		assert_int_equal(em_queue_clear(w->s->t[1].object), EM_ERR_BUSY);
		em_queue_error(w->s->t[1].object, &err);
		assert_int_equal(err.status, EM_OK);
	}
	if (w->s->t[2].object != NULL) {
		assert_int_equal(em_deque_read(w->s->t[2].object, 0, record, 1), EM_ERR_BUSY);
		em_deque_error(w->s->t[2].object, &err);
		assert_int_equal(err.status, EM_OK);
	}
	if (w->s->pool != NULL) {
		assert_int_equal(em_block_pool_lend(w->s->pool, &buf), EM_ERR_BUSY);
		assert_null(buf);
	}
	if (w->r == NULL)
		return 0;
	assert_int_equal(em_deque_reader_next(w->r, &batch), EM_ERR_BUSY);
	assert_null(batch);
	em_deque_reader_error(w->r, &err);
	assert_int_equal(err.status, EM_OK);
	if (w->closes)
		em_deque_reader_close(w->r);
	return 0;
}

/* Have the stack call place() whenever a block is written, and push until it does. */
static void open_calling(shared *s, within *w, uint32_t flags)
{
	int k;

	memset(w, 0, sizeof *w);
	open_pool(s, flags);
	assert_int_equal(em_placement_own(&s->placement, 1, place, w), EM_OK);
	s->t[0].opts.placement = &s->placement;
	for (k = 0; k < KINDS; k++) {
		ends_case_make(&s->t[k]);
		assert_ends_ok(&s->t[k], ends_case_push(&s->t[k], EMI_BACK, 9 * PER_BLOCK));
	}
	assert_true(w->times != 0);
}

static void work(shared *s, within *w)
{
	w->times = 0;
	w->s = s;
	assert_ends_ok(&s->t[0], ends_case_push(&s->t[0], EMI_BACK, 3 * PER_BLOCK));
	assert_ends_ok(&s->t[0], ends_case_pop(&s->t[0], EMI_BACK, 2 * PER_BLOCK));
	assert_true(w->times != 0);
	w->s = NULL;
}

/* Those that share a pool are one object, of which one call is in progress at a time. */
static void test_busy(void **state)
{
	int coherent;

	(void)state;
	for (coherent = 0; coherent < 2; coherent++) {
		within w;
		shared s;

		open_calling(&s, &w, coherent ? EM_DISKS_COHERENT : 0);
		assert_ends_ok(&s.t[2], em_deque_reader_open(&w.r, s.t[2].object, NULL));
		work(&s, &w);
		close_pool(&s);
		work(&s, &w);
		em_deque_reader_close(w.r);
		drain_all(&s);
		close_all(&s);
	}
}

/* A deque that was closed goes on for its reader: as before the two are one object with all others on the pool, and the
 * reader may be closed while one of these is at work. */
static void test_closed_before_reader(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 8; round++) {
		const em_batch *batch;
		uint64_t n = 0, used;
		em_status st;
		within w;
		shared s;

		open_calling(&s, &w, round % 2 == 1 ? EM_DISKS_COHERENT : 0);
		assert_ends_ok(&s.t[2], em_deque_reader_open(&w.r, s.t[2].object, NULL));
		ends_case_drop(&s.t[2]);
		if (round / 2 % 2 == 1)
			close_pool(&s);
		work(&s, &w);
		while ((st = em_deque_reader_next(w.r, &batch)) == EM_OK) {
			assert_memory_equal(batch->records, s.t[2].is + (s.t[2].from + n) * RECORD, batch->bytes);
			n += batch->n;
			work(&s, &w);
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(n, 9 * PER_BLOCK);
		used = em_ctx_memory_used(s.t[0].f.ctx);
		if (round / 4 == 0) {
			em_deque_reader_close(w.r);
		} else {
			w.closes = 1;
			work(&s, &w);
		}
		/* All of the deque went with it. */
		assert_true(em_ctx_memory_used(s.t[0].f.ctx) < used);
		w.r = NULL;
		work(&s, &w);
		ends_case_drain(&s.t[0], EMI_BACK);
		ends_case_drain(&s.t[1], EMI_FRONT);
		close_all(&s);
	}
}

/* What is exchanged takes its pool along, and with that whom it is one object with. */
static void test_swapped(void **state)
{
	char record[RECORD] = { 0 };
	em_container_opts alone;
	em_stack *other;
	unsigned i, found = 0;
	within w;
	shared s;

	(void)state;
	open_calling(&s, &w, 0);
	alone = s.t[0].opts;
	alone.pool = NULL;
	alone.block_bytes = B;
	alone.memory_bytes = 4 * B;
	alone.placement = NULL;
	assert_int_equal(em_stack_open(&other, s.t[0].f.ctx, &alone), EM_OK);
	assert_int_equal(em_stack_swap(s.t[0].object, other), EM_OK);
	/* While the other one is at work, which has the pool now, the stack is not. */
	w.alone = 1;
	w.times = 0;
	w.s = &s;
	for (i = 0; i < 2 * PER_BLOCK; i++)
		assert_int_equal(em_stack_push_many(other, record, 1, NULL), EM_OK);
	assert_true(w.times != 0);
	w.s = NULL;
	w.alone = 0;
	assert_int_equal(em_stack_size(s.t[0].object), 1);
	for (i = 0; i < 2 * PER_BLOCK; i++)
		assert_int_equal(em_stack_pop(other, record), EM_OK);
	assert_int_equal(em_stack_swap(other, s.t[0].object), EM_OK);
	work(&s, &w);
	while (em_stack_pop(other, record) == EM_OK)
		found++;
	assert_int_equal(found, 1);
	em_stack_close(other);
	drain_all(&s);
	close_all(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_all_lent),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_closed_before_reader),
		cmocka_unit_test(test_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
