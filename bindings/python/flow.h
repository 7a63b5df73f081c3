/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Nodes of streams, and sinks, that call functions of Python: with copies of many records at a time, which they may
 * keep.  What they raise comes out of the call that pulled or pushed.
 */
#ifndef EMB_FLOW_H
#define EMB_FLOW_H

#include <extmem/runs.h>
#include <extmem/sink.h>
#include <extmem/stream_lines.h>
#include <extmem/stream_nodes.h>

#include "convert.h"

/** A number for each of n records, from a buffer of so many bytes (of NumPy: bool, or u1) or an iterable of ints; each
 *  is at most `most'.  0, or -1 with an exception. */
static int emb_take_numbers(PyObject *r, size_t n, uint32_t most, unsigned char *small, uint32_t *large)
{
	Py_buffer view = { 0 };
	PyObject *list = NULL;
	size_t i, have;

	if (PyObject_CheckBuffer(r)) {
		if (PyObject_GetBuffer(r, &view, PyBUF_SIMPLE))
			return -1;
		have = (size_t)view.len;
	} else {
		list = PySequence_List(r);
		if (!list)
			return -1;
		have = (size_t)PyList_Size(list);
	}
	if (have != n)
		PyErr_Format(PyExc_ValueError, "a function chose for %zu records, and got %zu", have, n);
	for (i = 0; i < n && !PyErr_Occurred(); i++) {
		const unsigned long one = list ? PyLong_AsUnsignedLong(PyList_GetItem(list, (Py_ssize_t)i))
			: ((const unsigned char *)view.buf)[i];

		if (!PyErr_Occurred() && one > most)
			PyErr_Format(PyExc_ValueError, "a function chose %lu of %lu", one, (unsigned long)most);
		if (small)
			small[i] = (unsigned char)one;
		else
			large[i] = (uint32_t)one;
	}
	if (!list)
		PyBuffer_Release(&view);
	Py_XDECREF(list);
	return PyErr_Occurred() ? -1 : 0;
}

/** A record that a function gave: 0, or -1 with an exception. */
static int emb_take_record(PyObject *r, void *to, uint64_t bytes)
{
	Py_buffer view;

	if (emb_buffer(r, &view, 0, 0))
		return -1;
	if ((uint64_t)view.len == bytes)
		memcpy(to, view.buf, (size_t)bytes);
	else
		PyErr_Format(PyExc_ValueError, "%zd bytes are no record of %llu", view.len, (unsigned long long)bytes);
	PyBuffer_Release(&view);
	return PyErr_Occurred() ? -1 : 0;
}

/** Records of any length as a list of bytes. */
static PyObject *emb_lines(const em_batch *lines)
{
	PyObject *list = PyList_New((Py_ssize_t)lines->n);
	uint64_t at = 0;
	size_t i;

	for (i = 0; list && i < lines->n; i++) {
		PyObject *one = PyBytes_FromStringAndSize((const char *)lines->records + at,
							  (Py_ssize_t)(lines->ends[i] - at));

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one))
			Py_CLEAR(list);
		at = lines->ends[i];
	}
	return list;
}

/** Call a function with a copy of a batch. */
static PyObject *emb_show_batch(struct emb_fn *f, const em_batch *batch)
{
	PyObject *list, *r;

	if (!batch->ends)
		return emb_show(f, NULL, (void *)(uintptr_t)batch->records, batch->n * (size_t)f->record_bytes, 0);
	list = emb_lines(batch);
	r = list ? PyObject_CallFunction(f->callable, "O", list) : NULL;
	Py_XDECREF(list);
	return r;
}

/** What is the same for all: a batch, and what is to be done with what the function says of its records. */
static int emb_choose_of(void *user, const em_batch *batch, uint32_t most, unsigned char *small, uint32_t *large)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = nested.raised[0] ? NULL : emb_show_batch(f, batch);
	int failed = !r || ((small || large) && emb_take_numbers(r, batch->n, most, small, large));

	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** The same of records of one size. */
static int emb_choose(void *user, const void *records, size_t n, uint32_t most, unsigned char *small, uint32_t *large)
{
	const em_batch batch = { records, n, 0, NULL };

	return emb_choose_of(user, &batch, most, small, large);
}

static int emb_filter(void *user, const void *records, size_t n, unsigned char *keep)
{
	return emb_choose(user, records, n, 1, keep, NULL);
}

static int emb_inspect(void *user, const void *records, size_t n)
{
	return emb_choose(user, records, n, 0, NULL, NULL);
}

/** Of a graph: a phase has a number. */
static int emb_progress_of(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	struct emb_nested nested = emb_nest();
	const int stop = emb_progressed(((struct emb_fn *)user)->callable, PyLong_FromUnsignedLong(phase), done, total);

	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
	return stop;
}

static int emb_lines_filter(void *user, const em_batch *lines, unsigned char *keep)
{
	return emb_choose_of(user, lines, 1, keep, NULL);
}

static int emb_lines_inspect(void *user, const em_batch *lines)
{
	return emb_choose_of(user, lines, 0, NULL, NULL);
}

static int emb_split(void *user, const void *records, size_t n, uint32_t *to)
{
	return emb_choose(user, records, n, UINT32_MAX, NULL, to);
}

static int emb_lines_split(void *user, const em_batch *lines, uint32_t *to)
{
	return emb_choose_of(user, lines, UINT32_MAX, NULL, to);
}

/** The sum and the records that are to be added to it: the function gives another sum. */
static int emb_reduce(void *user, void *sum, const void *records, size_t n)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *item = nested.raised[0] ? NULL
		: emb_formed_bytes(&f->form, EMB_UNPACK, sum, (size_t)f->record_bytes);
	PyObject *more = item ? emb_formed_bytes(&f->form, EMB_WRAP, records, n * (size_t)f->record_bytes) : NULL;
	PyObject *r = more ? PyObject_CallFunctionObjArgs(f->callable, item, more, NULL) : NULL;
	PyObject *made = emb_formed(&f->form, EMB_PACK, r);
	int failed = !made || emb_take_record(made, sum, f->record_bytes);

	Py_XDECREF(item);
	Py_XDECREF(more);
	Py_XDECREF(made);
	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** A pair, in which None is what is missing. */
static int emb_join(void *user, const void *left, const void *right, void *to)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = nested.raised[0] ? NULL
		: PyObject_CallFunction(f->callable, "y#y#", (const char *)left, (Py_ssize_t)f->left,
					(const char *)right, (Py_ssize_t)f->right);
	int failed = !r || emb_take_record(r, to, f->record_bytes);

	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** A line that a function gave, by em_line_put() or em_line_add(): 0, or -1 with an exception, unless that failed. */
static int emb_put_line(em_line *line, PyObject *r, em_status (*put)(em_line *line, const void *bytes, size_t n))
{
	Py_buffer view;
	int failed;

	if (emb_buffer(r, &view, 0, 0))
		return -1;
	failed = put(line, view.buf, (size_t)view.len) != EM_OK;
	PyBuffer_Release(&view);
	return failed ? -1 : 0;
}

/** Lines that a function gave: an iterable of them, or None. */
static int emb_add_lines(em_line *to, PyObject *r)
{
	PyObject *all = r == Py_None ? NULL : PyObject_GetIter(r), *one;
	int failed = 0;

	while (!failed && all && (one = PyIter_Next(all)) != NULL) {
		failed = emb_put_line(to, one, em_line_add);
		Py_DECREF(one);
	}
	Py_XDECREF(all);
	return failed || PyErr_Occurred() ? -1 : 0;
}

/** Any number of lines for some. */
static int emb_lines_flat_map(void *user, const em_batch *lines, em_line *to)
{
	struct emb_nested nested;
	PyObject *r;
	int failed;

	if (lines->n == 0)
		return 0;
	nested = emb_nest();
	r = nested.raised[0] ? NULL : emb_show_batch((struct emb_fn *)user, lines);
	failed = !r || emb_add_lines(to, r);
	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** The same of records of any length, and what it makes is one. */
static int emb_lines_join(void *user, const void *left, size_t left_bytes, const void *right, size_t right_bytes,
			  em_line *line)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = nested.raised[0] ? NULL
		: PyObject_CallFunction(f->callable, "y#y#", (const char *)left, (Py_ssize_t)left_bytes,
					(const char *)right, (Py_ssize_t)right_bytes);
	int failed = !r || emb_put_line(line, r, em_line_put);

	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** The first of some lines is a sum, and the function gives another one for all. */
static int emb_lines_reduce(void *user, const em_batch *lines, em_line *sum)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *all = nested.raised[0] ? NULL : emb_lines(lines);
	PyObject *more = all ? PyList_GetSlice(all, 1, PyList_Size(all)) : NULL;
	PyObject *r = more ? PyObject_CallFunctionObjArgs(f->callable, PyList_GetItem(all, 0), more, NULL) : NULL;
	int failed = !r || emb_put_line(sum, r, em_line_put);

	Py_XDECREF(all);
	Py_XDECREF(more);
	Py_XDECREF(r);
	failed |= emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

/** A sink of Python's: the function gets many records, and None at the end. */
static em_status emb_sink_call(struct emb_fn *f, const em_batch *batch)
{
	struct emb_nested nested = emb_nest();
	PyObject *r = nested.raised[0] ? NULL : batch
		? emb_show_batch(f, batch)
		: PyObject_CallFunction(f->callable, "O", Py_None);

	Py_XDECREF(r);
	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
	return r ? EM_OK : EM_ERR_USER;
}

static em_status emb_sink_push(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)err;
	return emb_sink_call((struct emb_fn *)user, batch);
}

static em_status emb_sink_finish(void *user, em_errinfo *err)
{
	(void)err;
	return emb_sink_call((struct emb_fn *)user, NULL);
}

#define EMB_TEE_MOST 4096u

/** A list of n streams that are one graph: on a handle of it, which has no object, and on what the others are on. */
static PyObject *emb_streams_new(em_stream *const *streams, uint32_t n)
{
	emb_handle *graph = PyObject_GC_New(emb_handle, emb_handle_type);
	PyObject *list = PyList_New((Py_ssize_t)n);
	uint32_t i;

	if (graph) {
		memset((char *)graph + sizeof(PyObject), 0, sizeof *graph - sizeof(PyObject));
		graph->kind = &emb_kind_em_stream;
		PyObject_GC_Track((PyObject *)graph);
	}
	for (i = 0; i < n; i++) {
		PyObject *one = emb_handle_new(streams[i], &emb_kind_em_stream);

		if (one && (!graph || emb_put_on((emb_handle *)one, graph, 1)))
			Py_CLEAR(one);
		if (!one || !list || PyList_SetItem(list, (Py_ssize_t)i, one))
			Py_CLEAR(list);
	}
	Py_XDECREF((PyObject *)graph);
	return list;
}

/* Called without the lock. */

static em_status emb_sink_function(em_sink **out, em_ctx *ctx, uint64_t record_bytes, void *user,
				   void (*user_free)(void *user), em_errinfo *err)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;

	((struct emb_fn *)user)->record_bytes = record_bytes;
	ops.push = emb_sink_push;
	ops.finish = emb_sink_finish;
	ops.user_free = user_free;
	return em_sink_open(out, ctx, record_bytes, &ops, user, err);
}

static em_status emb_sink_push_lines(em_sink *k, const void *records, const uint64_t *ends, uint64_t n)
{
	em_batch batch;

	memset(&batch, 0, sizeof batch);
	batch.records = records;
	batch.n = (size_t)n;
	batch.ends = ends;
	return em_sink_push_lines(k, &batch);
}

/** user is NULL without a function that combines. */
static em_status emb_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts, void *user,
			       void (*user_free)(void *user), em_errinfo *err)
{
	em_runs_opts o = *opts;

	if (user) {
		((struct emb_fn *)user)->record_bytes = em_order_record_size(order);
		o.combine = emb_reduce;
		o.user = user;
		o.user_free = user_free;
	}
	return em_runs_open(out, ctx, order, &o, err);
}

/** The stream stays the caller's. */
static em_status emb_runs_feed(em_runs *r, em_stream *s, uint32_t flags, em_errinfo *err)
{
	return em_runs_feed(r, s, flags, err);
}

/** The options one by one. */
static em_status emb_runs_merge(em_stream **out, em_runs *r, const void *from, const void *to, uint64_t skip,
				uint64_t take, uint64_t memory, em_errinfo *err)
{
	em_runs_merge_opts o = EM_RUNS_MERGE_OPTS_INIT;
	em_stream *all;
	em_status st;

	o.from = from;
	o.to = to;
	o.skip = skip;
	o.take = take;
	o.memory = memory;
	st = em_runs_merge(take ? out : &all, r, &o, err);
	if (st || take)
		return st;
	/* There 0 is all. */
	st = em_stream_slice(out, all, 0, 0, err);
	if (st)
		em_stream_close(all);
	return st;
}

/** fn is None without one of the caller's; then record_bytes is 0. */
static em_status emb_stream_join(em_stream **out, em_stream *a, em_stream *b, uint32_t kind, const char *left,
				 const char *right, uint64_t memory_bytes, uint64_t record_bytes, void *user,
				 void (*user_free)(void *user), em_errinfo *err)
{
	em_join_opts o = EM_JOIN_OPTS_INIT;
	em_key l[EMB_JOIN_KEYS], r[EMB_JOIN_KEYS];
	struct emb_fn *f = (struct emb_fn *)user;
	uint32_t nl = 0, nr = 0;
	em_status st = emb_join_keys(left, l, &nl, err);

	if (st == EM_OK)
		st = emb_join_keys(right, r, &nr, err);
	o.kind = kind;
	o.left = l;
	o.right = r;
	/* Of another number of fields the others are not equal. */
	o.nkeys = nl == nr ? nl : 0;
	o.memory_bytes = memory_bytes;
	if (f) {
		f->record_bytes = o.record_bytes = record_bytes;
		f->left = em_stream_record_bytes(a);
		f->right = em_stream_record_bytes(b);
		o.fn = emb_join;
		o.user = user;
		o.user_free = user_free;
	}
	if (st == EM_OK)
		return em_stream_join(out, a, b, &o, err);
	if (f)
		user_free(user);
	return st;
}

/** By the keys of two orders; separator: EM_TEXT_BLANKS: that of the left one. */
static em_status emb_stream_lines_join(em_stream **out, em_stream *a, em_stream *b, uint32_t kind,
				       const em_order *left, const em_order *right, uint64_t memory_bytes,
				       uint32_t separator, void *user, void (*user_free)(void *user), em_errinfo *err)
{
	em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;

	o.kind = kind;
	o.left = left;
	o.right = right;
	o.memory_bytes = memory_bytes;
	o.separator = separator;
	if (user) {
		o.fn = emb_lines_join;
		o.user = user;
		o.user_free = user_free;
	}
	return em_stream_lines_join(out, a, b, &o, err);
}

#endif
