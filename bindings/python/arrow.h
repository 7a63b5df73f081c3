/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Arrow's C data interface, as capsules (https://arrow.apache.org/docs/format/CDataInterface.html): columns of numbers
 * and of bytes of one width come in, and go out as such.
 *
 * A record is a row: the values of all columns, one behind the other.  So several columns are copied together; one
 * column is records as it is, and is not copied.  There are no nulls in records.
 */
#ifndef EMB_ARROW_H
#define EMB_ARROW_H

#include <stdlib.h>

#include "objects.h"

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

/** Bytes of a value, or 0: they have no one width. */
static size_t emb_arrow_width(const char *format)
{
	switch (format[0]) {
	case 'c':
	case 'C':
		return 1;
	case 's':
	case 'S':
		return 2;
	case 'i':
	case 'I':
	case 'f':
		return 4;
	case 'l':
	case 'L':
	case 'g':
		return 8;
	case 'w':
		return format[1] == ':' ? (size_t)strtoul(format + 2, NULL, 10) : 0;
	case 't':
		return strncmp(format, "tdD", 3) == 0 || strncmp(format, "tts", 3) == 0 ||
			       strncmp(format, "ttm", 3) == 0 ? 4 : strncmp(format, "ti", 2) == 0 ? 0 : 8;
	default:
		return 0;
	}
}

/* What comes in. */

static void emb_arrow_schema_free(PyObject *capsule)
{
	struct ArrowSchema *s = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");

	if (s && s->release)
		s->release(s);
	free(s);
}

static void emb_arrow_array_free(PyObject *capsule)
{
	struct ArrowArray *a = (struct ArrowArray *)PyCapsule_GetPointer(capsule, "arrow_array");

	if (a && a->release)
		a->release(a);
	free(a);
}

/** arrow_fields(schema capsule): a list of (name, format, width, flags); one of them for what is no struct. */
static PyObject *emb_arrow_fields(PyObject *self, PyObject *args)
{
	PyObject *capsule, *list;
	struct ArrowSchema *s;
	int64_t i, n;

	(void)self;
	if (!PyArg_ParseTuple(args, "O", &capsule))
		return NULL;
	s = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
	if (!s)
		return NULL;
	n = strcmp(s->format, "+s") == 0 ? s->n_children : -1;
	list = PyList_New(0);
	for (i = 0; list && i < (n < 0 ? 1 : n); i++) {
		const struct ArrowSchema *one = n < 0 ? s : s->children[i];
		const size_t width = one->dictionary ? 0 : emb_arrow_width(one->format);
		PyObject *item = Py_BuildValue("(ssnL)", one->name ? one->name : "", one->format, (Py_ssize_t)width,
					       (long long)one->flags);

		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/** arrow_is_struct(schema capsule) */
static PyObject *emb_arrow_is_struct(PyObject *self, PyObject *args)
{
	struct ArrowSchema *s;
	PyObject *capsule;

	(void)self;
	if (!PyArg_ParseTuple(args, "O", &capsule))
		return NULL;
	s = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
	return s ? PyBool_FromLong(strcmp(s->format, "+s") == 0) : NULL;
}

/** Has the column a null among these rows? */
static int emb_arrow_nulls(const struct ArrowArray *a, int64_t from, int64_t n)
{
	const uint8_t *valid = a->n_buffers > 0 ? (const uint8_t *)a->buffers[0] : NULL;
	int64_t i;

	if (a->null_count == 0 || !valid)
		return 0;
	for (i = from; i < from + n; i++) {
		if (!(valid[i / 8] >> (i % 8) & 1))
			return 1;
	}
	return 0;
}

/** arrow_rows(array capsule, widths, struct or not): the rows, side by side; a view of one column, which is not
 *  copied. */
static PyObject *emb_arrow_rows(PyObject *self, PyObject *args)
{
	PyObject *capsule, *widths, *rows;
	struct ArrowArray *a;
	Py_ssize_t n, c, at = 0, bytes = 0;
	int64_t i;
	int is_struct;
	char *to;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO!p", &capsule, &PyTuple_Type, &widths, &is_struct))
		return NULL;
	a = (struct ArrowArray *)PyCapsule_GetPointer(capsule, "arrow_array");
	if (!a)
		return NULL;
	n = PyTuple_Size(widths);
	if (!a->release || (is_struct ? a->n_children : 1) != n ||
	    (is_struct && emb_arrow_nulls(a, a->offset, a->length))) {
		PyErr_SetString(PyExc_ValueError, "the array is not what its schema says, or has rows that are null");
		return NULL;
	}
	for (c = 0; c < n; c++) {
		const struct ArrowArray *one = is_struct ? a->children[c] : a;
		const int64_t from = one->offset + (is_struct ? a->offset : 0);

		bytes += PyLong_AsSsize_t(PyTuple_GetItem(widths, c));
		if (one->n_buffers != 2 || emb_arrow_nulls(one, from, a->length)) {
			PyErr_Format(PyExc_ValueError, "column %zd has nulls, which records do not", c);
			return NULL;
		}
		if (n == 1) {
			PyObject *view = emb_lend(NULL, (const char *)one->buffers[1] + from * bytes,
						  (size_t)(a->length * bytes), NULL, 0);

			/* The memory is there as long as the capsule. */
			return view ? Py_BuildValue("(NO)", view, capsule) : NULL;
		}
	}
	rows = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)a->length * bytes);
	if (!rows)
		return NULL;
	to = PyByteArray_AsString(rows);
	for (c = 0; c < n; c++) {
		const struct ArrowArray *one = a->children[c];
		const size_t width = (size_t)PyLong_AsSsize_t(PyTuple_GetItem(widths, c));
		const char *from = (const char *)one->buffers[1] + (size_t)(one->offset + a->offset) * width;

		for (i = 0; i < a->length; i++)
			memcpy(to + (size_t)i * (size_t)bytes + at, from + (size_t)i * width, width);
		at += (Py_ssize_t)width;
	}
	return Py_BuildValue("(NO)", rows, Py_None);
}

/** arrow_next(stream capsule, 0): its schema as a capsule; 1: the next array, or None. */
static PyObject *emb_arrow_next(PyObject *self, PyObject *args)
{
	PyObject *capsule, *result;
	struct ArrowArrayStream *s;
	struct ArrowSchema *schema;
	struct ArrowArray *array;
	const char *error;
	int what, failed;

	(void)self;
	if (!PyArg_ParseTuple(args, "Oi", &capsule, &what))
		return NULL;
	s = (struct ArrowArrayStream *)PyCapsule_GetPointer(capsule, "arrow_array_stream");
	if (!s)
		return NULL;
	if (!s->release) {
		PyErr_SetString(PyExc_ValueError, "the stream was used already");
		return NULL;
	}
	schema = (struct ArrowSchema *)calloc(1, sizeof *schema);
	array = (struct ArrowArray *)calloc(1, sizeof *array);
	failed = !schema || !array;
	if (!failed) {
		Py_BEGIN_ALLOW_THREADS
		failed = what ? s->get_next(s, array) : s->get_schema(s, schema);
		Py_END_ALLOW_THREADS
	}
	result = NULL;
	if (failed) {
		error = s->get_last_error(s);
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_OSError, error ? error : "the stream has failed");
	} else if (what && !array->release) {
		result = emb_none();
	} else if (what) {
		result = PyCapsule_New(array, "arrow_array", emb_arrow_array_free);
		array = result ? NULL : array;
	} else {
		result = PyCapsule_New(schema, "arrow_schema", emb_arrow_schema_free);
		schema = result ? NULL : schema;
	}
	free(schema);
	free(array);
	return result;
}

/* What goes out.  It is memory of malloc(), so whoever releases it needs no lock. */

static void emb_arrow_release_schema(struct ArrowSchema *s)
{
	int64_t i;

	for (i = 0; i < s->n_children; i++) {
		if (s->children[i] && s->children[i]->release)
			s->children[i]->release(s->children[i]);
		free(s->children[i]);
	}
	free(s->children);
	free(s->private_data);
	s->release = NULL;
}

/** format and name are copied side by side. */
static int emb_arrow_make_schema(struct ArrowSchema *s, const char *format, const char *name, int64_t children)
{
	const size_t nf = strlen(format) + 1, nn = strlen(name) + 1;
	char *text = (char *)malloc(nf + nn);

	memset(s, 0, sizeof *s);
	s->children = children ? (struct ArrowSchema **)calloc((size_t)children, sizeof *s->children) : NULL;
	if (!text || (children && !s->children)) {
		free(text);
		free(s->children);
		s->children = NULL;
		return -1;
	}
	memcpy(text, format, nf);
	memcpy(text + nf, name, nn);
	s->format = text;
	s->name = text + nf;
	s->n_children = children;
	s->private_data = text;
	s->release = emb_arrow_release_schema;
	return 0;
}

static void emb_arrow_release_array(struct ArrowArray *a)
{
	int64_t i;

	for (i = 0; i < a->n_children; i++) {
		if (a->children[i] && a->children[i]->release)
			a->children[i]->release(a->children[i]);
		free(a->children[i]);
	}
	free(a->children);
	free(a->buffers);
	free(a->private_data);
	a->release = NULL;
}

static int emb_arrow_make_array(struct ArrowArray *a, int64_t length, int64_t children, size_t bytes)
{
	memset(a, 0, sizeof *a);
	a->length = length;
	a->n_buffers = children ? 1 : 2;
	a->n_children = children;
	a->buffers = (const void **)calloc(2, sizeof *a->buffers);
	a->children = children ? (struct ArrowArray **)calloc((size_t)children, sizeof *a->children) : NULL;
	a->private_data = children ? NULL : malloc(bytes ? bytes : 1);
	a->release = emb_arrow_release_array;
	if (!a->buffers || (children ? !a->children : !a->private_data)) {
		a->n_children = 0;
		emb_arrow_release_array(a);
		return -1;
	}
	if (!children)
		a->buffers[1] = a->private_data;
	return 0;
}

/** arrow_schema(fields): a capsule of what arrow_fields() has told; a struct, if that is what it was. */
static int emb_arrow_fill_schema(struct ArrowSchema *s, PyObject *fields, int is_struct)
{
	const Py_ssize_t n = PyList_Size(fields);
	const char *name, *format;
	Py_ssize_t c, width;
	long long flags;

	if (is_struct && emb_arrow_make_schema(s, "+s", "", (int64_t)n))
		return -1;
	for (c = 0; c < n; c++) {
		struct ArrowSchema *one = is_struct ? (struct ArrowSchema *)calloc(1, sizeof *one) : s;

		if (is_struct)
			s->children[c] = one;
		if (!one || !PyArg_ParseTuple(PyList_GetItem(fields, c), "ssnL", &name, &format, &width, &flags) ||
		    emb_arrow_make_schema(one, format, name, 0)) {
			if (is_struct)
				s->release(s);
			return -1;
		}
		one->flags = flags;
	}
	return 0;
}

static int emb_arrow_fill_array(struct ArrowArray *a, PyObject *fields, int is_struct, const char *rows, size_t bytes)
{
	const Py_ssize_t n = PyList_Size(fields);
	size_t row = 0, at = 0, i, count;
	Py_ssize_t c;

	for (c = 0; c < n; c++)
		row += (size_t)PyLong_AsSsize_t(PyTuple_GetItem(PyList_GetItem(fields, c), 2));
	count = bytes / row;
	if (is_struct && emb_arrow_make_array(a, (int64_t)count, (int64_t)n, 0))
		return -1;
	for (c = 0; c < n; c++) {
		const size_t width = (size_t)PyLong_AsSsize_t(PyTuple_GetItem(PyList_GetItem(fields, c), 2));
		struct ArrowArray *one = is_struct ? (struct ArrowArray *)calloc(1, sizeof *one) : a;

		if (is_struct)
			a->children[c] = one;
		if (!one || emb_arrow_make_array(one, (int64_t)count, 0, count * width)) {
			if (is_struct)
				a->release(a);
			return -1;
		}
		for (i = 0; i < count; i++)
			memcpy((char *)one->private_data + i * width, rows + i * row + at, width);
		at += width;
	}
	return 0;
}

/** A stream over an iterator of buffers of rows. */
struct emb_arrow_stream {
	PyObject *fields, *rows;
	int is_struct;
	char error[256];
};

static int emb_arrow_failed(struct emb_arrow_stream *s)
{
	PyObject *x[3], *text = NULL;
	const int interrupted = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);

	PyErr_Fetch(&x[0], &x[1], &x[2]);
	if (x[1] || x[0])
		text = PyObject_Str(x[1] ? x[1] : x[0]);
	if (text) {
		PyObject *utf8 = PyUnicode_AsUTF8String(text);

		if (utf8)
			strncpy(s->error, PyBytes_AsString(utf8), sizeof s->error - 1);
		Py_XDECREF(utf8);
	}
	Py_XDECREF(text);
	Py_XDECREF(x[0]);
	Py_XDECREF(x[1]);
	Py_XDECREF(x[2]);
	PyErr_Clear();
	return interrupted ? 4 : 5; /* EINTR, EIO */
}

static int emb_arrow_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	struct emb_arrow_stream *s = (struct emb_arrow_stream *)stream->private_data;
	PyGILState_STATE gil = PyGILState_Ensure();
	int failed = emb_arrow_fill_schema(out, s->fields, s->is_struct) ? emb_arrow_failed(s) : 0;

	PyGILState_Release(gil);
	return failed;
}

static int emb_arrow_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct emb_arrow_stream *s = (struct emb_arrow_stream *)stream->private_data;
	PyGILState_STATE gil = PyGILState_Ensure();
	PyObject *rows = PyIter_Next(s->rows);
	Py_buffer view;
	int failed = 0;

	memset(out, 0, sizeof *out);
	if (!rows) {
		failed = PyErr_Occurred() ? emb_arrow_failed(s) : 0;
	} else if (PyObject_GetBuffer(rows, &view, PyBUF_SIMPLE)) {
		failed = emb_arrow_failed(s);
	} else {
		failed = emb_arrow_fill_array(out, s->fields, s->is_struct, (const char *)view.buf, (size_t)view.len)
			? 12 : 0; /* ENOMEM */
		PyBuffer_Release(&view);
	}
	Py_XDECREF(rows);
	PyGILState_Release(gil);
	return failed;
}

static const char *emb_arrow_last_error(struct ArrowArrayStream *stream)
{
	return ((struct emb_arrow_stream *)stream->private_data)->error;
}

static void emb_arrow_release_stream(struct ArrowArrayStream *stream)
{
	struct emb_arrow_stream *s = (struct emb_arrow_stream *)stream->private_data;
	PyGILState_STATE gil = PyGILState_Ensure();

	Py_DECREF(s->fields);
	Py_DECREF(s->rows);
	PyGILState_Release(gil);
	free(s);
	stream->release = NULL;
}

static void emb_arrow_stream_free(PyObject *capsule)
{
	struct ArrowArrayStream *s = (struct ArrowArrayStream *)PyCapsule_GetPointer(capsule, "arrow_array_stream");

	if (s && s->release)
		s->release(s);
	free(s);
}

/** arrow_stream(fields, struct or not, iterator of buffers): a capsule. */
static PyObject *emb_arrow_stream(PyObject *self, PyObject *args)
{
	struct ArrowArrayStream *stream = (struct ArrowArrayStream *)calloc(1, sizeof *stream);
	struct emb_arrow_stream *s = (struct emb_arrow_stream *)calloc(1, sizeof *s);
	PyObject *capsule = NULL;

	(void)self;
	if (stream && s && PyArg_ParseTuple(args, "O!pO", &PyList_Type, &s->fields, &s->is_struct, &s->rows)) {
		Py_INCREF(s->fields);
		Py_INCREF(s->rows);
		stream->get_schema = emb_arrow_get_schema;
		stream->get_next = emb_arrow_get_next;
		stream->get_last_error = emb_arrow_last_error;
		stream->release = emb_arrow_release_stream;
		stream->private_data = s;
		capsule = PyCapsule_New(stream, "arrow_array_stream", emb_arrow_stream_free);
		if (capsule)
			return capsule;
		emb_arrow_release_stream(stream);
		s = NULL;
	} else if (!PyErr_Occurred()) {
		PyErr_NoMemory();
	}
	free(stream);
	free(s);
	return NULL;
}

#endif
