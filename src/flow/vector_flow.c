/* SPDX-License-Identifier: BSL-1.0 */
/* vector_flow.c -- ranges of vectors as streams and sinks. */
#include <inttypes.h>

#include "base/error.h"
#include "container/vector_stream.h"
#include "flow/container_stream.h"

static em_status open_reader(emi_from *f)
{
	em_vector_stream_opts o = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_reader *r;
	em_status st;

	o.direction = f->direction;
	o.from = f->from;
	o.n = f->n;
	st = em_vector_reader_open(&r, f->container, &o);
	f->reader = r;
	return st;
}

static em_status next(emi_from *f, const em_batch **batch)
{
	return em_vector_reader_next(f->reader, batch);
}

/* The detail of a failure in opening a reader is the vector's. */
static void error(const emi_from *f, em_errinfo *err)
{
	if (f->reader != NULL)
		em_vector_reader_error(f->reader, err);
	else
		em_vector_error(f->container, err);
}

static void close_reader(emi_from *f)
{
	em_vector_reader_close(f->reader);
}

em_status em_stream_vector(em_stream **out, em_vector *v, uint64_t from, uint64_t n, uint32_t direction,
			   em_errinfo *theirs)
{
	static const emi_from_kind how = { open_reader, next, NULL, error, close_reader, 0 };
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);
	const uint64_t size = em_vector_size(v);
	emi_from *f = NULL;

	if (st == EM_OK)
		st = emi_given(v, "v", &err);
	if (st == EM_OK && direction > EM_VECTOR_REVERSE)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no direction %" PRIu32, direction);
	if (st == EM_OK && (from > size || (n != UINT64_MAX && n > size - from)))
		st = emi_fail(&err, EM_ERR_RANGE, "%" PRIu64 " records from %" PRIu64 " on, of %" PRIu64, n, from,
			      size);
	if (st == EM_OK) {
		if (n == UINT64_MAX)
			n = size - from;
		f = emi_from_new(v, &how, em_vector_record_bytes(v), n, &err);
	}
	if (f != NULL) {
		f->direction = direction;
		f->from = from;
		f->n = n;
		f->s.claim += emi_vector_ring_memory(&v->inner, n);
	}
	return emi_from_made(f, out, st, theirs, &err);
}

static em_status open_writer(emi_to *t)
{
	em_vector_stream_opts o = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_writer *w;
	em_status st;

	o.from = t->from;
	st = em_vector_writer_open(&w, t->container, &o);
	t->writer = w;
	return st;
}

/* How many of a failed push are in the vector nobody knows. */
static em_status push(emi_to *t, const void *records, uint64_t n, uint64_t *pushed)
{
	(void)pushed;
	return em_vector_writer_push(t->writer, records, n);
}

static em_status finish(emi_to *t)
{
	return em_vector_writer_finish(t->writer);
}

static void push_error(const emi_to *t, em_errinfo *err)
{
	if (t->writer != NULL)
		em_vector_writer_error(t->writer, err);
	else
		em_vector_error(t->container, err);
}

static void close_writer(emi_to *t)
{
	em_vector_writer_close(t->writer);
}

em_status em_sink_vector(em_sink **out, em_vector *v, uint64_t from, em_errinfo *theirs)
{
	static const emi_to_kind how = { open_writer, push, finish, push_error, close_writer };
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);
	emi_to *t = NULL;

	if (st == EM_OK)
		st = emi_given(v, "v", &err);
	if (st == EM_OK && from > em_vector_size(v))
		st = emi_fail(&err, EM_ERR_RANGE, "position %" PRIu64 ", of %" PRIu64 " records", from,
			      em_vector_size(v));
	if (st == EM_OK) {
		t = emi_to_new(v, &how, em_vector_record_bytes(v), &err);
		st = t != NULL ? EM_OK : err.status;
	}
	if (t != NULL) {
		t->from = from;
		t->k.claim = emi_vector_ring_memory(&v->inner, UINT64_MAX);
		*out = &t->k;
	}
	return emi_tell(theirs, st, &err);
}

/* The detail of a failure of the sink is the stream's, for which there is one to ask. */
static em_status keep(em_stream *s, em_status st, const em_errinfo *err)
{
	return st < EM_OK && s != NULL ? emi_keep(&s->object, st, err) : st;
}

em_status em_stream_to_vector(em_stream *s, em_vector *v, uint64_t from, uint64_t *end)
{
	em_sink *k = NULL;
	em_errinfo err;
	uint64_t n = 0;
	em_status st = s != NULL ? em_sink_vector(&k, v, from, &err) : EM_ERR_INVAL;

	st = keep(s, st, &err);
	if (st == EM_OK)
		st = em_stream_pump(s, k, &n);
	if (st == EM_OK) {
		st = em_sink_finish(k);
		em_sink_error(k, &err);
		st = keep(s, st, &err);
	}
	em_sink_close(k);
	if (end != NULL)
		*end = from + n;
	return st;
}
