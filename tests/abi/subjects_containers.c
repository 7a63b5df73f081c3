/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_containers.c -- structs of containers; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/subjects_case.h"

static em_status with_btree_opts(void *theirs)
{
	em_btree *t;
	const em_status st = em_btree_open(&t, given.ctx, given.order, theirs);

	assert_int_equal(em_btree_memory(given.order, theirs, 1) != 0, st == EM_OK);
	em_btree_close(t);
	return st;
}

static em_status with_btree_load_opts(void *theirs)
{
	em_btree_loader *l;
	em_btree *t;
	em_status st;

	assert_int_equal(em_btree_open(&t, given.ctx, given.order, NULL), EM_OK);
	st = em_btree_loader_open(&l, t, theirs);
	em_btree_loader_close(l);
	em_btree_close(t);
	return st;
}

static em_status with_btree_stats(void *theirs)
{
	em_btree *t;
	em_status st;

	assert_int_equal(em_btree_open(&t, given.ctx, given.order, NULL), EM_OK);
	st = em_btree_stats_get(t, theirs);
	em_btree_close(t);
	return st;
}

static em_status with_pq_opts(void *theirs)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
	em_pq *q;
	const em_status st = em_pq_open(&q, given.ctx, theirs);

	assert_int_equal(em_pq_memory(theirs, 1) != 0, st == EM_OK);
	assert_int_equal(em_pq_plan(given.ctx, theirs, &info), st);
	em_pq_close(q);
	return st;
}

static em_status with_pq_plan_info(void *theirs)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;

	o.order = given.order;
	o.errinfo = &subjects_err;
	return em_pq_plan(given.ctx, &o, theirs);
}

static em_status with_pq_stats(void *theirs)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;
	em_status st;
	em_pq *q;

	o.order = given.order;
	assert_int_equal(em_pq_open(&q, given.ctx, &o), EM_OK);
	st = em_pq_stats_get(q, theirs);
	em_pq_close(q);
	return st;
}

static em_status with_radix_heap_opts(void *theirs)
{
	em_radix_heap_plan_info info = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_radix_heap *h;
	const em_status st = em_radix_heap_open(&h, given.ctx, theirs);

	assert_int_equal(em_radix_heap_memory(theirs, 1) != 0, st == EM_OK);
	assert_int_equal(em_radix_heap_plan(given.ctx, theirs, &info), st);
	em_radix_heap_close(h);
	return st;
}

static em_status with_radix_heap_plan_info(void *theirs)
{
	em_radix_heap_opts o = EM_RADIX_HEAP_OPTS_INIT;

	o.record_bytes = 8;
	o.errinfo = &subjects_err;
	return em_radix_heap_plan(given.ctx, &o, theirs);
}

static em_status with_radix_heap_stats(void *theirs)
{
	em_radix_heap_opts o = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap *h;
	em_status st;

	o.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, given.ctx, &o), EM_OK);
	st = em_radix_heap_stats_get(h, theirs);
	em_radix_heap_close(h);
	return st;
}

static em_status with_vector_opts(void *theirs)
{
	em_vector *v;
	const em_status st = em_vector_open(&v, given.ctx, theirs);

	assert_int_equal(em_vector_memory(theirs, 1) != 0, st == EM_OK);
	em_vector_close(v);
	return st;
}

static em_vector *open_vector(void)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_vector *v;

	o.record_bytes = 8;
	assert_int_equal(em_vector_open(&v, given.ctx, &o), EM_OK);
	assert_int_equal(em_vector_push_many(v, subjects_numbers, 3, NULL), EM_OK);
	return v;
}

static em_status with_vector_stats(void *theirs)
{
	em_vector *v = open_vector();
	const em_status st = em_vector_stats_get(v, theirs);

	em_vector_close(v);
	return st;
}

/* Of a stack, a queue and a deque. */
static em_status with_container_opts(void *theirs)
{
	em_stack *stack;
	em_queue *q;
	em_deque *d;
	const em_status st = em_stack_open(&stack, given.ctx, theirs);

	assert_int_equal(em_stack_memory(theirs, 1) != 0, st == EM_OK);
	em_stack_close(stack);
	assert_int_equal(em_queue_open(&q, given.ctx, theirs), st);
	em_queue_close(q);
	assert_int_equal(em_deque_open(&d, given.ctx, theirs), st);
	em_deque_close(d);
	return st;
}

static em_deque *open_deque(void)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;
	em_deque *d;

	o.record_bytes = 8;
	assert_int_equal(em_deque_open(&d, given.ctx, &o), EM_OK);
	assert_int_equal(em_deque_push_back_many(d, subjects_numbers, 3, NULL), EM_OK);
	return d;
}

static em_status with_container_stats(void *theirs)
{
	em_deque *d = open_deque();
	const em_status st = em_deque_stats_get(d, theirs);

	em_deque_close(d);
	return st;
}

static em_status with_deque_reader_opts(void *theirs)
{
	em_deque *d = open_deque();
	em_deque_reader *r;
	const em_status st = em_deque_reader_open(&r, d, theirs);

	em_deque_close(d);
	em_deque_reader_close(r);
	return st;
}

/* Of a reader and of a writer. */
static em_status with_vector_stream_opts(void *theirs)
{
	em_vector *v = open_vector();
	em_vector_reader *r;
	em_vector_writer *w;
	em_status st = em_vector_reader_open(&r, v, theirs);

	em_vector_reader_close(r);
	assert_int_equal(em_vector_writer_open(&w, v, theirs), st);
	em_vector_writer_close(w);
	em_vector_close(v);
	return st;
}

size_t subjects_containers(subject *s)
{
	size_t n = 0;

	s[n] = MAKE(em_btree_load_opts, with_btree_load_opts, 1);
	s[n].u.btree_load_opts = (em_btree_load_opts)EM_BTREE_LOAD_OPTS_INIT;
	s[n++].u.btree_load_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_btree_opts, with_btree_opts, 1);
	s[n].u.btree_opts = (em_btree_opts)EM_BTREE_OPTS_INIT;
	s[n++].u.btree_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_btree_stats, with_btree_stats, 0);
	s[n] = MAKE(em_pq_opts, with_pq_opts, 1);
	s[n].u.pq_opts = (em_pq_opts)EM_PQ_OPTS_INIT;
	s[n].u.pq_opts.order = given.order;
	s[n++].u.pq_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_pq_plan_info, with_pq_plan_info, 1);
	s[n++] = MAKE(em_pq_stats, with_pq_stats, 0);
	s[n] = MAKE(em_radix_heap_opts, with_radix_heap_opts, 1);
	s[n].u.radix_heap_opts = (em_radix_heap_opts)EM_RADIX_HEAP_OPTS_INIT;
	s[n].u.radix_heap_opts.record_bytes = 8;
	s[n++].u.radix_heap_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_radix_heap_plan_info, with_radix_heap_plan_info, 1);
	s[n++] = MAKE(em_radix_heap_stats, with_radix_heap_stats, 0);
	s[n] = MAKE(em_container_opts, with_container_opts, 1);
	s[n].u.container_opts = (em_container_opts)EM_CONTAINER_OPTS_INIT;
	s[n].u.container_opts.record_bytes = 8;
	s[n++].u.container_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_container_stats, with_container_stats, 0);
	s[n] = MAKE(em_deque_reader_opts, with_deque_reader_opts, 1);
	s[n].u.deque_reader_opts = (em_deque_reader_opts)EM_DEQUE_READER_OPTS_INIT;
	s[n++].u.deque_reader_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_vector_opts, with_vector_opts, 1);
	s[n].u.vector_opts = (em_vector_opts)EM_VECTOR_OPTS_INIT;
	s[n].u.vector_opts.record_bytes = 8;
	s[n++].u.vector_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_vector_stats, with_vector_stats, 0);
	s[n] = MAKE(em_vector_stream_opts, with_vector_stream_opts, 1);
	s[n].u.vector_stream_opts = (em_vector_stream_opts)EM_VECTOR_STREAM_OPTS_INIT;
	s[n++].u.vector_stream_opts.errinfo = &subjects_err;
	return n;
}
