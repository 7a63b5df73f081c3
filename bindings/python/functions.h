/* SPDX-License-Identifier: BSL-1.0 */
/* Functions of the caller's.  The library calls them without the interpreter's lock. */
#ifndef EMB_FUNCTIONS_H
#define EMB_FUNCTIONS_H

#include "objects.h"

/*
 * A function of the caller's, which may call the library again: then that call has a receiver of its own, and nothing
 * of the call in progress, to which all of it comes back.
 */
struct emb_nested {
	struct emb_call call;
	PyGILState_STATE gil;
	PyObject *keep, *raised[3];
	Py_buffer *held;
	emb_handle *first, *pool;
	emb_handle **entered;
	size_t n_entered, room_entered;
	const struct emb_form *form, *keys;
	char number;
};

/** Begin it, with the interpreter's lock. */
static struct emb_nested emb_nest(void)
{
	struct emb_nested n;

	n.call = emb_call;
	n.gil = PyGILState_Ensure();
	n.keep = emb_keep;
	n.held = emb_held;
	n.first = emb_first;
	n.pool = emb_pool;
	n.entered = emb_entered;
	n.n_entered = emb_n_entered;
	n.room_entered = emb_room_entered;
	emb_entered = NULL;
	emb_n_entered = emb_room_entered = 0;
	n.number = emb_number;
	n.form = emb_form;
	n.keys = emb_keys;
	memcpy(n.raised, emb_raised, sizeof emb_raised);
	memset(&emb_call, 0, sizeof emb_call);
	memset(emb_raised, 0, sizeof emb_raised);
	emb_keep = NULL;
	emb_held = NULL;
	emb_first = emb_pool = NULL;
	emb_form = emb_keys = NULL;
	emb_number = 0;
	return n;
}

/** If it has raised something, that comes out of the call in progress, unless something was raised before. */
static int emb_nested_failed(struct emb_nested *n)
{
	if (!PyErr_Occurred())
		return 0;
	if (n->raised[0])
		PyErr_Clear();
	else
		PyErr_Fetch(&n->raised[0], &n->raised[1], &n->raised[2]);
	return 1;
}

static void emb_unnest(struct emb_nested *n)
{
	memcpy(emb_raised, n->raised, sizeof emb_raised);
	emb_call = n->call;
	emb_keep = n->keep;
	emb_held = n->held;
	emb_first = n->first;
	emb_pool = n->pool;
	PyMem_Free(emb_entered);
	emb_entered = n->entered;
	emb_n_entered = n->n_entered;
	emb_room_entered = n->room_entered;
	emb_number = n->number;
	emb_form = n->form;
	emb_keys = n->keys;
	PyGILState_Release(n->gil);
}

/** fn(phase, done, total); fn is NULL: only signals are looked at.  phase is given up. */
static int emb_progressed(PyObject *fn, PyObject *phase, uint64_t done, uint64_t total)
{
	int stop = PyErr_CheckSignals();

	if (!stop && fn) {
		PyObject *r = !phase ? NULL : PyObject_CallFunction(fn, "OKK", phase, (unsigned long long)done,
								    (unsigned long long)total);

		stop = !r || (r != Py_None && PyObject_IsTrue(r));
		Py_XDECREF(r);
	}
	Py_XDECREF(phase);
	return stop;
}

/** Of a sort: a phase has a name. */
static int emb_progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	struct emb_nested nested = emb_nest();
	const char *name = em_phase_name(phase);
	PyObject *phase_name = user ? PyUnicode_FromString(name ? name : "later") : NULL;
	const int stop = emb_progressed((PyObject *)user, phase_name, done, total);

	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
	return stop;
}

/** A function of the caller's with what is to be known of its records. */
struct emb_fn {
	PyObject *callable;
	struct emb_form form;        /**< What it gets and gives. */
	uint64_t record_bytes;
	uint64_t left, right;        /**< Of a join: bytes of the records of its inputs. */
};

static void emb_fn_free(void *user)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested;
	PyObject *x[3];

	/* At the end of the process it goes with that. */
	if (!f || !Py_IsInitialized())
		return;
	nested = emb_nest();
	PyErr_Fetch(&x[0], &x[1], &x[2]);
	Py_XDECREF(f->callable);
	emb_form_clear(&f->form);
	PyMem_Free(f);
	PyErr_Restore(x[0], x[1], x[2]);
	emb_unnest(&nested);
}

static struct emb_fn *emb_fn_new(PyObject *callable, uint64_t record_bytes)
{
	struct emb_fn *f;

	if (!PyCallable_Check(callable)) {
		PyErr_SetString(PyExc_TypeError, "a function is wanted here");
		return NULL;
	}
	f = (struct emb_fn *)PyMem_Malloc(sizeof *f);
	if (!f) {
		PyErr_NoMemory();
		return NULL;
	}
	memset(f, 0, sizeof *f);
	f->callable = callable;
	f->record_bytes = record_bytes;
	if (emb_call.kind && emb_form)
		emb_form_copy(&f->form, emb_form);
	Py_INCREF(callable);
	return f;
}

static int emb_cmp(const void *a, const void *b, void *user)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	const Py_ssize_t n = (Py_ssize_t)f->record_bytes;
	PyObject *r = nested.raised[0] ? NULL :
		PyObject_CallFunction(f->callable, "y#y#", (const char *)a, n, (const char *)b, n);
	long result = r ? PyLong_AsLong(r) : EM_CMP_ERROR;

	Py_XDECREF(r);
	if (emb_nested_failed(&nested)) {
		result = EM_CMP_ERROR;
	} else if (r) {
		result = result < 0 ? -1 : result > 0;
	}
	emb_unnest(&nested);
	return (int)result;
}

/** A whole number from 0 on, also of NumPy: UINT64_MAX with an exception where it is none. */
static uint64_t emb_unsigned(PyObject *o)
{
	PyObject *whole = PyNumber_Index(o);
	const uint64_t n = whole ? PyLong_AsUnsignedLongLong(whole) : UINT64_MAX;

	Py_XDECREF(whole);
	return n;
}

/** Keys from what a function gave: a buffer of n unsigned numbers of 8 bytes, or an iterable of n ints. */
static int emb_take_keys(PyObject *r, size_t n, uint64_t *keys)
{
	Py_buffer view;
	PyObject *list;
	size_t i;

	if (PyObject_CheckBuffer(r)) {
		if (PyObject_GetBuffer(r, &view, PyBUF_SIMPLE))
			return -1;
		if (view.len == (Py_ssize_t)(n * 8))
			memcpy(keys, view.buf, n * 8);
		else
			PyErr_Format(PyExc_ValueError, "the function of the keys gave %zd bytes for %zu records, and "
				     "not 8 for each", view.len, n);
		PyBuffer_Release(&view);
		return PyErr_Occurred() ? -1 : 0;
	}
	list = PySequence_List(r);
	if (!list)
		return -1;
	if (PyList_Size(list) != (Py_ssize_t)n)
		PyErr_Format(PyExc_ValueError, "the function of the keys gave %zd for %zu records", PyList_Size(list),
			     n);
	for (i = 0; i < n && !PyErr_Occurred(); i++)
		keys[i] = emb_unsigned(PyList_GetItem(list, (Py_ssize_t)i));
	Py_DECREF(list);
	return PyErr_Occurred() ? -1 : 0;
}

/** What one of the functions of records makes of something: a new reference, or NULL with an exception.  Without such a
 *  function, and where records are bytes, it stays as it is.  NULL, of what has failed before, stays so, too. */
static PyObject *emb_formed(const struct emb_form *f, int which, PyObject *o)
{
	const int bytes = f && which == EMB_PACK && f->of[EMB_UNPACK] == (PyObject *)&PyBytes_Type;
	PyObject *fn = f && !bytes ? f->of[which] : NULL;

	if (o && fn && fn != (PyObject *)&PyBytes_Type)
		return PyObject_CallFunctionObjArgs(fn, o, NULL);
	Py_XINCREF(o);
	return o;
}

/** The same of memory. */
static PyObject *emb_formed_bytes(const struct emb_form *f, int which, const void *data, size_t bytes)
{
	PyObject *copy = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)bytes);
	PyObject *made = emb_formed(f, which, copy);

	Py_XDECREF(copy);
	return made;
}

/** Call a function with a copy of records, which the caller may keep: a bytearray if they may be changed. */
static PyObject *emb_show(struct emb_fn *f, const uint64_t *number, void *data, size_t bytes, int change)
{
	PyObject *copy, *seen, *r = NULL;

	copy = change ? PyByteArray_FromStringAndSize((const char *)data, (Py_ssize_t)bytes)
		: PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)bytes);
	seen = emb_formed(&f->form, EMB_WRAP, copy);
	if (seen)
		r = number ? PyObject_CallFunction(f->callable, "KO", (unsigned long long)*number, seen)
			: PyObject_CallFunctionObjArgs(f->callable, seen, NULL);
	Py_XDECREF(seen);
	if (r && change && PyByteArray_Size(copy) == (Py_ssize_t)bytes) {
		memcpy(data, PyByteArray_AsString(copy), bytes);
	} else if (r && change) {
		PyErr_SetString(PyExc_ValueError, "the records have another size than before");
		Py_CLEAR(r);
	}
	Py_XDECREF(copy);
	return r;
}

static int emb_key(const void *records, size_t n, uint64_t *keys, void *user)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = nested.raised[0] ? NULL : emb_show(f, NULL, (void *)(uintptr_t)records,
								 n * (size_t)f->record_bytes, 0);
	int failed = !r || emb_take_keys(r, n, keys);

	Py_XDECREF(r);
	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

static int emb_visit(void *user, uint64_t i, void *records, uint64_t n, int change)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = emb_show(f, &i, records, (size_t)(n * f->record_bytes), change);
	int failed = !r || (PyErr_CheckSignals() != 0);

	Py_XDECREF(r);
	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
	return failed;
}

static int emb_vector_visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	return emb_visit(user, i, (void *)(uintptr_t)records, n, 0);
}

static int emb_vector_change(void *user, uint64_t i, void *records, uint64_t n)
{
	return emb_visit(user, i, records, n, 1);
}

static int emb_vector_test(void *user, const void *record)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *item = nested.raised[0] ? NULL
		: emb_formed_bytes(&f->form, EMB_UNPACK, record, (size_t)f->record_bytes);
	PyObject *r = item ? PyObject_CallFunctionObjArgs(f->callable, item, NULL) : NULL;
	int result = r ? PyObject_IsTrue(r) : 0;

	Py_XDECREF(item);
	Py_XDECREF(r);
	if (emb_nested_failed(&nested)) {
		result = 0;
	}
	emb_unnest(&nested);
	return result;
}

static void emb_disorder(void *user, uint64_t number, const void *record, size_t n)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested = emb_nest();
	PyObject *r = PyObject_CallFunction(f->callable, "Ky#", (unsigned long long)number, (const char *)record,
					    (Py_ssize_t)n);

	Py_XDECREF(r);
	(void)emb_nested_failed(&nested);
	emb_unnest(&nested);
}

/** Called by any thread, with nobody to raise to. */
static void emb_request_done(em_request *rq, void *user)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested;
	PyObject *r;

	/* At the end of the process there is nobody to tell any more. */
	if (!Py_IsInitialized())
		return;
	nested = emb_nest();
	r = PyObject_CallFunction(f->callable, "iK", (int)em_request_status(rq),
				  (unsigned long long)em_request_moved(rq));
	if (!r)
		PyErr_WriteUnraisable(f->callable);
	Py_XDECREF(r);
	emb_unnest(&nested);
	emb_fn_free(f);
}

/** Called by threads of the caller's, with nobody to raise to: EM_CTX_LOG_CALLER. */
static void emb_log(void *user, int32_t level, const char *line)
{
	struct emb_fn *f = (struct emb_fn *)user;
	struct emb_nested nested;
	PyObject *x[3], *text, *r;

	if (!Py_IsInitialized())
		return;
	nested = emb_nest();
	PyErr_Fetch(&x[0], &x[1], &x[2]);
	text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
	r = text ? PyObject_CallFunction(f->callable, "iO", (int)level, text) : NULL;
	Py_XDECREF(text);
	if (!r)
		PyErr_WriteUnraisable(f->callable);
	Py_XDECREF(r);
	PyErr_Restore(x[0], x[1], x[2]);
	emb_unnest(&nested);
}

#endif
