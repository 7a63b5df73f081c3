/* SPDX-License-Identifier: BSL-1.0 */
/*
 * What calls give back: a status as an exception, as a number or as None, and further results beside it.
 *
 * A failure becomes an exception of the facade (emb_make_error), which knows all details.  What a function of the
 * caller's has raised is kept while the library returns, and takes the place of the failure that it was told.
 */
#ifndef EMB_RESULTS_H
#define EMB_RESULTS_H

#include <Python.h>

#include "call.h"

static PyObject *emb_make_error; /* Makes an exception of a detail. */

static PyObject *emb_raise(em_status status)
{
	const em_errinfo *e = emb_failed(status);
	PyObject *x, *done = Py_None;

	Py_INCREF(Py_None);
	if (emb_call.done) {
		Py_DECREF(Py_None);
		done = PyLong_FromUnsignedLongLong(*emb_call.done);
	}

	if (!emb_make_error) {
		Py_XDECREF(done);
		PyErr_SetString(PyExc_RuntimeError, e->text);
		return NULL;
	}
	x = PyObject_CallFunction(emb_make_error, "iisyKKKyN", (int)status, (int)e->sys_errno, e->op, e->path,
				  (unsigned long long)e->offset, (unsigned long long)e->bytes,
				  (unsigned long long)e->record, e->text, done);
	if (x) {
		PyErr_SetObject((PyObject *)Py_TYPE(x), x);
		Py_DECREF(x);
	}
	return NULL;
}

/** A failure that the binding finds. */
static PyObject *emb_refuse(em_status status, const char *text)
{
	memset(&emb_call.detail, 0, sizeof emb_call.detail);
	emb_call.detail.status = status;
	emb_call.detail.offset = UINT64_MAX;
	strncpy(emb_call.detail.text, text, sizeof emb_call.detail.text - 1);
	emb_raise(status);
	emb_call.detail.status = 0;
	return NULL;
}

/* What a function of the caller's has raised, until the library returns. */
static __thread PyObject *emb_raised[3];

static void emb_keep_raised(void)
{
	if (emb_raised[0])
		PyErr_Clear();
	else
		PyErr_Fetch(&emb_raised[0], &emb_raised[1], &emb_raised[2]);
}

static int emb_lost(void);

/** The status of a call as a result, None where that is EM_OK; or NULL with an exception. */
static PyObject *emb_status(em_status status)
{
	if (emb_raised[0]) {
		PyErr_Restore(emb_raised[0], emb_raised[1], emb_raised[2]);
		memset(emb_raised, 0, sizeof emb_raised);
		return NULL;
	}
	if (status < 0)
		return emb_raise(status);
	/* What it has lent is gone. */
	if (emb_call.kind && emb_lost())
		return emb_refuse(EM_ERR_STATE, "it was closed while it was at work");
	emb_call.status = status;
	emb_call.outputs = 0;
	return status ? PyLong_FromLong(status) : (Py_INCREF(Py_None), Py_None);
}

/** One more result takes the place of the status, or stands beside the others; without success there is None. */
static PyObject *emb_output(PyObject *result, PyObject *value)
{
	PyObject *all;

	if (!result || !value) {
		Py_XDECREF(result);
		Py_XDECREF(value);
		return NULL;
	}
	/* One None stands for all. */
	if (emb_call.status != EM_OK && emb_call.outputs == 1 && result == Py_None) {
		Py_DECREF(value);
		return result;
	}
	if (emb_call.outputs++ == 0) {
		Py_DECREF(result);
		return value;
	}
	if (emb_call.outputs == 2) {
		all = PyTuple_Pack(2, result, value);
	} else {
		PyObject *one = PyTuple_Pack(1, value);

		all = one ? PySequence_Concat(result, one) : NULL;
		Py_XDECREF(one);
	}
	Py_DECREF(result);
	Py_DECREF(value);
	return all;
}

static PyObject *emb_none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

#endif
