/* SPDX-License-Identifier: BSL-1.0 */
/* ends_stream.c -- stacks, queues, deques and priority queues as streams and sinks. */
#include <inttypes.h>

#include "base/error.h"
#include "flow/container_stream.h"

static em_status stack_take(emi_from *f, void *records, uint64_t n, uint64_t *got)
{
	return em_stack_pop_many(f->container, records, n, got);
}

static void stack_error(const emi_from *f, em_errinfo *err)
{
	em_stack_error(f->container, err);
}

em_status em_stream_stack(em_stream **out, em_stack *stack, em_errinfo *theirs)
{
	static const emi_from_kind how = { NULL, NULL, stack_take, stack_error, NULL, 1 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(stack, "stack", &err);
	if (st == EM_OK)
		f = emi_from_new(stack, &how, em_stack_record_bytes(stack), em_stack_size(stack), &err);
	return emi_from_made(f, out, st, theirs, &err);
}

static em_status queue_take(emi_from *f, void *records, uint64_t n, uint64_t *got)
{
	return em_queue_pop_many(f->container, records, n, got);
}

static void queue_error(const emi_from *f, em_errinfo *err)
{
	em_queue_error(f->container, err);
}

em_status em_stream_queue(em_stream **out, em_queue *queue, em_errinfo *theirs)
{
	static const emi_from_kind how = { NULL, NULL, queue_take, queue_error, NULL, 0 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(queue, "queue", &err);
	if (st == EM_OK)
		f = emi_from_new(queue, &how, em_queue_record_bytes(queue), em_queue_size(queue), &err);
	return emi_from_made(f, out, st, theirs, &err);
}

static em_status pq_next(emi_from *f, const em_batch **batch)
{
	return em_pq_next(f->container, batch);
}

static void pq_error(const emi_from *f, em_errinfo *err)
{
	em_pq_error(f->container, err);
}

em_status em_stream_pq(em_stream **out, em_pq *queue, em_errinfo *theirs)
{
	static const emi_from_kind how = { NULL, pq_next, NULL, pq_error, NULL, 0 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(queue, "queue", &err);
	if (st == EM_OK)
		f = emi_from_new(queue, &how, em_pq_record_bytes(queue), em_pq_size(queue), &err);
	return emi_from_made(f, out, st, theirs, &err);
}

/* The detail of a failure in opening a reader is the deque's. */
static em_status deque_open(emi_from *f)
{
	em_deque_reader_opts o = EM_DEQUE_READER_OPTS_INIT;
	em_deque_reader *r;
	em_status st;

	o.direction = f->direction;
	o.from = f->from;
	o.n = f->n;
	st = em_deque_reader_open(&r, f->container, &o);
	f->reader = r;
	return st;
}

static em_status deque_next(emi_from *f, const em_batch **batch)
{
	return em_deque_reader_next(f->reader, batch);
}

static void deque_error(const emi_from *f, em_errinfo *err)
{
	if (f->reader != NULL)
		em_deque_reader_error(f->reader, err);
	else
		em_deque_error(f->container, err);
}

static void deque_close(emi_from *f)
{
	em_deque_reader_close(f->reader);
}

/* n records from a position on, of so many; UINT64_MAX: all. */
static em_status check_range(uint64_t from, uint64_t *n, uint64_t size, uint32_t direction, em_errinfo *err)
{
	if (direction > EM_VECTOR_REVERSE)
		return emi_fail(err, EM_ERR_INVAL, "there is no direction %" PRIu32, direction);
	if (from > size || (*n != UINT64_MAX && *n > size - from))
		return emi_fail(err, EM_ERR_RANGE, "%" PRIu64 " records from %" PRIu64 " on, of %" PRIu64, *n, from,
				size);
	if (*n == UINT64_MAX)
		*n = size - from;
	return EM_OK;
}

em_status em_stream_deque(em_stream **out, em_deque *deque, uint64_t from, uint64_t n, uint32_t direction,
			  em_errinfo *theirs)
{
	static const emi_from_kind how = { deque_open, deque_next, NULL, deque_error, deque_close, 0 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(deque, "deque", &err);
	if (st == EM_OK)
		st = check_range(from, &n, em_deque_size(deque), direction, &err);
	if (st == EM_OK)
		f = emi_from_new(deque, &how, em_deque_record_bytes(deque), n, &err);
	if (f != NULL) {
		f->direction = direction;
		f->from = from;
		f->n = n;
	}
	return emi_from_made(f, out, st, theirs, &err);
}

static em_status push_stack(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	return em_stack_push_many(t->container, records, n, pushed);
}

static void stack_push_error(const emi_to *t, em_errinfo *err)
{
	em_stack_error(t->container, err);
}

static em_status push_queue(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	return em_queue_push_many(t->container, records, n, pushed);
}

static void queue_push_error(const emi_to *t, em_errinfo *err)
{
	em_queue_error(t->container, err);
}

static em_status push_deque(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	return em_deque_push_back_many(t->container, records, n, pushed);
}

static void deque_push_error(const emi_to *t, em_errinfo *err)
{
	em_deque_error(t->container, err);
}

static em_status push_pq(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	return em_pq_push_many(t->container, records, n, pushed);
}

static void pq_push_error(const emi_to *t, em_errinfo *err)
{
	em_pq_error(t->container, err);
}

/* A sink of a container, which may be NULL; name: what the argument is called. */
static em_status make(em_sink **out, const void *container, const char *name, const emi_to_kind *how, uint64_t record,
		      em_errinfo *theirs)
{
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);
	emi_to *t = NULL;

	if (st == EM_OK)
		st = emi_given(container, name, &err);
	if (st == EM_OK) {
		t = emi_to_new(container, how, record, &err);
		st = t != NULL ? EM_OK : err.status;
	}
	if (t != NULL)
		*out = &t->k;
	return emi_tell(theirs, st, &err);
}

em_status em_sink_stack(em_sink **out, em_stack *stack, em_errinfo *err)
{
	static const emi_to_kind how = { NULL, push_stack, NULL, stack_push_error, NULL };

	return make(out, stack, "stack", &how, em_stack_record_bytes(stack), err);
}

em_status em_sink_queue(em_sink **out, em_queue *queue, em_errinfo *err)
{
	static const emi_to_kind how = { NULL, push_queue, NULL, queue_push_error, NULL };

	return make(out, queue, "queue", &how, em_queue_record_bytes(queue), err);
}

em_status em_sink_deque(em_sink **out, em_deque *deque, em_errinfo *err)
{
	static const emi_to_kind how = { NULL, push_deque, NULL, deque_push_error, NULL };

	return make(out, deque, "deque", &how, em_deque_record_bytes(deque), err);
}

em_status em_sink_pq(em_sink **out, em_pq *queue, em_errinfo *err)
{
	static const emi_to_kind how = { NULL, push_pq, NULL, pq_push_error, NULL };

	return make(out, queue, "queue", &how, em_pq_record_bytes(queue), err);
}
