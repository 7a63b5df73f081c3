/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Streams of what an iterator of Python gives: buffers of records, which are lent as they are.  The buffer is given
 * back before the iterator is asked for the next one, so that may change it.  What the iterator raises comes out of the
 * call that pulled.
 */
#ifndef EMB_SOURCE_H
#define EMB_SOURCE_H

#include <extmem/stream.h>

#include "objects.h"

struct emb_source {
	PyObject *iterator;
	Py_buffer view;
	int seen;                    /**< There is a buffer in `view'. */
	uint64_t record_bytes;
};

static void emb_source_release(struct emb_source *s)
{
	if (s->seen)
		PyBuffer_Release(&s->view);
	s->seen = 0;
}

/** The next buffer that has records: EM_OK, EM_END, or EM_ERR_USER with an exception. */
static em_status emb_source_pull(struct emb_source *s)
{
	PyObject *o;

	emb_source_release(s);
	while ((o = PyIter_Next(s->iterator))) {
		s->seen = PyObject_GetBuffer(o, &s->view, PyBUF_SIMPLE) == 0;
		Py_DECREF(o);
		if (!s->seen)
			return EM_ERR_USER;
		if ((uint64_t)s->view.len % s->record_bytes != 0) {
			PyErr_Format(PyExc_ValueError, "%zd bytes are no whole number of records of %llu", s->view.len,
				     (unsigned long long)s->record_bytes);
			emb_source_release(s);
			return EM_ERR_USER;
		}
		if (s->view.len != 0)
			return EM_OK;
		emb_source_release(s);
	}
	return PyErr_Occurred() ? EM_ERR_USER : EM_END;
}

static em_status emb_source_next(void *user, em_batch *batch, em_errinfo *err)
{
	struct emb_source *s = (struct emb_source *)user;
	struct emb_nested nested = emb_nest();
	em_status st = nested.raised[0] ? EM_ERR_USER : emb_source_pull(s);

	(void)err;
	(void)emb_nested_failed(&nested);
	if (st == EM_OK) {
		batch->records = s->view.buf;
		batch->n = (uint64_t)s->view.len / s->record_bytes;
	}
	emb_unnest(&nested);
	return st;
}

/** There are no more: neither the buffer nor the iterator is needed. */
static void emb_source_close(void *user)
{
	struct emb_source *s = (struct emb_source *)user;
	struct emb_nested nested;
	PyObject *x[3];

	if (!Py_IsInitialized())
		return;
	nested = emb_nest();
	PyErr_Fetch(&x[0], &x[1], &x[2]);
	emb_source_release(s);
	Py_CLEAR(s->iterator);
	PyErr_Restore(x[0], x[1], x[2]);
	emb_unnest(&nested);
}

static void emb_source_free(void *user)
{
	emb_source_close(user);
	free(user);
}

/** Called without the lock. */
static em_status emb_stream_iterate(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count,
				    PyObject *iterator, em_errinfo *err)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	const PyGILState_STATE gil = PyGILState_Ensure();
	struct emb_source *s = (struct emb_source *)malloc(sizeof *s);

	if (s) {
		memset(s, 0, sizeof *s);
		s->record_bytes = record_bytes;
		s->iterator = iterator;
		Py_INCREF(iterator);
	}
	PyGILState_Release(gil);
	if (!s)
		return EM_ERR_NOMEM;
	ops.next = emb_source_next;
	ops.close = emb_source_close;
	ops.user_free = emb_source_free;
	return em_stream_open(out, ctx, record_bytes, count, &ops, s, err);
}

#endif
