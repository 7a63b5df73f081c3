/* SPDX-License-Identifier: BSL-1.0 */
/* How Python has what handles.i, buffers.i and callbacks.i name.  A call that succeeds returns its results, or its
 * status where it has none; None takes the place of results with a status that is positive. */

%{
#include "python/convert.h"
#include "python/arrow.h"
#include "python/interrupt.h"
#include "python/source.h"
#include "python/flow.h"

static const struct emb_struct *emb_struct_of(int kind)
{
	return kind == EMB_FORMAT ? &emb_struct_em_format : kind == EMB_SORT ? &emb_struct_em_sort_opts
		: &emb_struct_em_disk_opts;
}

#define EMB_OUT(value) (emb_call.status == EM_OK ? (value) : emb_none())
%}

%init %{
	if (emb_objects_init())
		return -1;
%}

/* The lock is released by all, and Ctrl-C ends whatever may take long. */
%exception {
	struct emb_wait wait;

	emb_wait_begin(&wait);
	Py_BEGIN_ALLOW_THREADS
	$action
	Py_END_ALLOW_THREADS
	emb_wait_end(&wait);
}
/* Who waits for requests looks for signals ten times a second; they go on, and keep their memory. */
%define EM_WAITS(function, requests, n)
%exception function {
	uint32_t i;
	int stop = 0;

	result = EM_OK;
	Py_BEGIN_ALLOW_THREADS
	for (i = 0; i < n && !stop; i++) {
		while (!stop && !em_request_wait_for(requests, 0.1)) {
			Py_BLOCK_THREADS
			stop = PyErr_CheckSignals();
			Py_UNBLOCK_THREADS
		}
	}
	if (!stop) {
		$action
	}
	Py_END_ALLOW_THREADS
	if (stop)
		emb_keep_raised();
}
%enddef
EM_WAITS(em_request_wait, arg1, 1)
EM_WAITS(em_request_wait_all, arg1[i], arg2)
/* A call for one record takes no longer than one block. */
%define EM_BRIEF(function)
%exception function {
	Py_BEGIN_ALLOW_THREADS
	$action
	Py_END_ALLOW_THREADS
}
%enddef
EM_BRIEF(em_vector_get)
EM_BRIEF(em_vector_set)
EM_BRIEF(em_vector_push)
EM_BRIEF(em_vector_size)
EM_BRIEF(em_stack_push)
EM_BRIEF(em_stack_pop)
EM_BRIEF(em_stack_peek)
EM_BRIEF(em_stack_size)
EM_BRIEF(em_queue_push)
EM_BRIEF(em_queue_pop)
EM_BRIEF(em_queue_front)
EM_BRIEF(em_queue_size)
EM_BRIEF(em_deque_push_back)
EM_BRIEF(em_deque_push_front)
EM_BRIEF(em_deque_pop_back)
EM_BRIEF(em_deque_pop_front)
EM_BRIEF(em_deque_get)
EM_BRIEF(em_deque_set)
EM_BRIEF(em_deque_size)
EM_BRIEF(em_pq_push)
EM_BRIEF(em_pq_pop)
EM_BRIEF(em_pq_top)
EM_BRIEF(em_pq_size)
EM_BRIEF(em_radix_heap_push)
EM_BRIEF(em_radix_heap_pop)
EM_BRIEF(em_radix_heap_top)
EM_BRIEF(em_radix_heap_size)
EM_BRIEF(em_btree_get)
EM_BRIEF(em_btree_upsert)
EM_BRIEF(em_btree_erase)
EM_BRIEF(em_btree_size)
EM_BRIEF(em_btree_cursor_get)
EM_BRIEF(em_btree_cursor_next)
EM_BRIEF(em_btree_cursor_prev)
EM_BRIEF(emb_btree_walk)
EM_BRIEF(em_order_compare)

/* Statuses. */

%typemap(out) em_status {
	$result = emb_status($1);
	if (!$result)
		SWIG_fail;
}

%typemap(in, numinputs=0) em_errinfo *err {
	$1 = &emb_call.detail;
}
%typemap(freearg) em_errinfo *err {
	emb_end();
}

%native(set_error) PyObject *emb_set_error(PyObject *self, PyObject *fn);
%{
/** Who makes exceptions of details. */
static PyObject *emb_set_error(PyObject *self, PyObject *args)
{
	PyObject *fn;

	(void)self;
	if (!PyArg_ParseTuple(args, "O", &fn))
		return NULL;
	Py_INCREF(fn);
	Py_XDECREF(emb_make_error);
	emb_make_error = fn;
	return emb_none();
}
%}

%native(arrow_fields) PyObject *emb_arrow_fields(PyObject *self, PyObject *args);
%native(arrow_is_struct) PyObject *emb_arrow_is_struct(PyObject *self, PyObject *args);
%native(arrow_rows) PyObject *emb_arrow_rows(PyObject *self, PyObject *args);
%native(arrow_next) PyObject *emb_arrow_next(PyObject *self, PyObject *args);
%native(arrow_stream) PyObject *emb_arrow_stream(PyObject *self, PyObject *args);

/* Handles. */

%define EM_HANDLE(T)
%typemap(in) T * (emb_handle *held = NULL) {
	held = emb_enter($input, &emb_kind_ ## T, 0);
	if (!held)
		SWIG_fail;
	$1 = (T *)held->object;
}
%typemap(in) const T * (emb_handle *held = NULL) {
	$1 = NULL;
	if ($input != Py_None) {
		held = emb_enter($input, &emb_kind_ ## T, 1);
		if (!held)
			SWIG_fail;
		$1 = (T *)held->object;
	}
}
%typemap(freearg) T *, const T * {
	emb_leave(held$argnum);
	emb_end();
}
%typemap(in, numinputs=0) T ** (T *made = NULL) {
	$1 = &made;
}
%typemap(argout) T ** {
	$result = emb_output($result, EMB_OUT(emb_handle_new(made$argnum, &emb_kind_ ## T)));
	if (!$result)
		SWIG_fail;
}
%enddef

/* Several. */
%define EM_HANDLES(T, ARGUMENT)
%typemap(in) (ARGUMENT, uint32_t EM_N) (PyObject *temp = NULL, emb_handle **in = NULL) {
	$1 = (T **)emb_enter_all($input, &emb_kind_ ## T, &temp, &in, &$2);
	if (!$1)
		SWIG_fail;
}
%typemap(freearg) (ARGUMENT, uint32_t EM_N) {
	emb_leave_all(in$argnum);
	Py_XDECREF(temp$argnum);
	emb_end();
}
%enddef

%include "python/flow.i"

/* Options, and what is told. */

%define EM_OPTIONS(T)
%typemap(in) const T *opts (T value, PyObject *temp = NULL) {
	if (emb_fill(&emb_struct_ ## T, &value, $input, &temp))
		SWIG_fail;
	$1 = &value;
}
%typemap(freearg) const T *opts {
	Py_XDECREF(temp$argnum);
	Py_CLEAR(emb_keep);
	emb_pool = NULL;
	emb_end();
}
%enddef

%define EM_TOLD(T, name)
%typemap(in, numinputs=0) T *name (T value) {
	value = emb_init_ ## T;
	$1 = &value;
}
%typemap(argout) T *name {
	$result = emb_output($result, EMB_OUT(emb_tell(&emb_struct_ ## T, &value$argnum)));
	if (!$result)
		SWIG_fail;
}
%enddef

%{
/** Statistics of a sort, with those of its phases. */
static PyObject *emb_tell_sort(const em_sort_stats *stats)
{
	PyObject *d = emb_tell(&emb_struct_em_sort_stats, stats), *phases = PyDict_New();
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	uint32_t i;

	for (i = 0; d && phases && em_sort_stats_phase(stats, i, &phase) == EM_OK; i++) {
		PyObject *one = emb_tell(&emb_struct_em_phase_stats, &phase);

		if (!one || PyDict_SetItemString(phases, em_phase_name(i), one))
			Py_CLEAR(d);
		Py_XDECREF(one);
	}
	if (d && (!phases || PyDict_SetItemString(d, "phases", phases)))
		Py_CLEAR(d);
	Py_XDECREF(phases);
	return d;
}
%}
%typemap(argout) em_sort_stats *EM_SORT_STATS {
	$result = emb_output($result, EMB_OUT(emb_tell_sort(&value$argnum)));
	if (!$result)
		SWIG_fail;
}
%typemap(in, numinputs=0) em_sort_stats *EM_SORT_STATS (em_sort_stats value) {
	value = emb_init_em_sort_stats;
	$1 = &value;
}

%typemap(in) uint64_t, unsigned long long {
	$1 = emb_unsigned($input);
	if (PyErr_Occurred())
		SWIG_fail;
}

/* Records. */

%typemap(in) (const void *EM_RECORDS, uint64_t EM_N) (Py_buffer view, int seen = 0) {
	if (!emb_call.record_bytes) {
		emb_refuse(EM_ERR_INVAL, "records of any length are given with where they end");
		SWIG_fail;
	}
	if (emb_many($input, emb_form, &view, emb_call.record_bytes))
		SWIG_fail;
	seen = 1;
	$1 = view.buf ? view.buf : (void *)"";
	$2 = (uint64_t)view.len / emb_call.record_bytes;
}
/* A buffer that is filled, or a number: then the result is what it has filled of so many. */
%typemap(in) (void *EM_ROOM, uint64_t EM_N) (Py_buffer view, int seen = 0, PyObject *room = NULL) {
	if (PyIndex_Check($input) && !PySequence_Check($input)) {
		const uint64_t count = emb_unsigned($input);

		if (PyErr_Occurred())
			SWIG_fail;
		if (count > PY_SSIZE_T_MAX / (emb_call.record_bytes + 1)) {
			PyErr_NoMemory();
			SWIG_fail;
		}
		room = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * emb_call.record_bytes));
		if (!room)
			SWIG_fail;
	}
	if (emb_buffer(room ? room : $input, &view, 1, emb_call.record_bytes))
		SWIG_fail;
	seen = 1;
	$1 = view.buf ? view.buf : (void *)&view;
	$2 = emb_call.record_bytes ? (uint64_t)view.len / emb_call.record_bytes : 0;
}
%typemap(argout) (void *EM_ROOM, uint64_t EM_N) {
	if (room$argnum) {
		const uint64_t count = emb_call.done ? *emb_call.done : $2;

		PyBuffer_Release(&view$argnum);
		seen$argnum = 0;
		emb_call.done = NULL;
		if (PyByteArray_Resize(room$argnum, (Py_ssize_t)(count * emb_call.record_bytes)))
			SWIG_fail;
		$result = emb_output($result, emb_wrapped(room$argnum));
		room$argnum = NULL;
		if (!$result)
			SWIG_fail;
	}
}
%typemap(freearg) (void *EM_ROOM, uint64_t EM_N) {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
	Py_XDECREF(room$argnum);
}
%typemap(in) (const void *EM_KEYS, uint64_t EM_N) (Py_buffer view, int seen = 0) {
	if (emb_many($input, emb_keys, &view, emb_call.key_bytes))
		SWIG_fail;
	seen = 1;
	$1 = view.buf ? view.buf : (void *)"";
	$2 = (uint64_t)view.len / emb_call.key_bytes;
}
%typemap(in) (const void *EM_KEYS_OR_NONE, uint64_t EM_N) (Py_buffer view, int seen = 0) {
	$1 = NULL;
	$2 = 0;
	if ($input != Py_None) {
		if (emb_many($input, emb_keys, &view, emb_call.key_bytes))
			SWIG_fail;
		seen = 1;
		$1 = view.buf ? view.buf : (void *)"";
		$2 = (uint64_t)view.len / emb_call.key_bytes;
	}
}
%typemap(in) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS)
	(Py_buffer view, int seen = 0, PyObject *found = NULL, PyObject *is = NULL) {
	if (emb_many($input, emb_keys, &view, emb_call.key_bytes))
		SWIG_fail;
	seen = 1;
	$1 = view.buf ? view.buf : (void *)"";
	$2 = (uint64_t)view.len / emb_call.key_bytes;
	found = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)($2 * emb_call.record_bytes));
	is = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)$2);
	if (!found || !is)
		SWIG_fail;
	$3 = PyByteArray_AsString(found);
	$4 = (uint8_t *)PyByteArray_AsString(is);
	memset($3, 0, (size_t)($2 * emb_call.record_bytes));
}
%typemap(argout) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS) {
	$result = emb_output(emb_output($result, found$argnum), is$argnum);
	found$argnum = is$argnum = NULL;
	if (!$result)
		SWIG_fail;
}
%typemap(freearg) (const void *EM_KEYS, uint64_t EM_N, void *EM_FOUND, uint8_t *EM_IS) {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
	Py_XDECREF(found$argnum);
	Py_XDECREF(is$argnum);
}
%typemap(in) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND)
	(Py_buffer view, int seen = 0, PyObject *found = NULL) {
	if (emb_buffer($input, &view, 0, sizeof(uint64_t)))
		SWIG_fail;
	seen = 1;
	$1 = (uint64_t *)view.buf;
	$2 = (uint64_t)view.len / sizeof(uint64_t);
	found = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)($2 * emb_call.record_bytes));
	if (!found)
		SWIG_fail;
	$3 = PyByteArray_AsString(found);
}
%typemap(argout) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) {
	$result = emb_output($result, emb_wrapped(found$argnum));
	found$argnum = NULL;
	if (!$result)
		SWIG_fail;
}
%typemap(freearg) (const uint64_t *EM_POSITIONS, uint64_t EM_N, void *EM_FOUND) {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
	Py_XDECREF(found$argnum);
}
%typemap(in) (const void *EM_RECORDS, const uint64_t *EM_ENDS, uint64_t EM_N)
	(Py_buffer view, Py_buffer ends, int seen = 0) {
	PyObject *first, *second;

	if (!PyArg_ParseTuple($input, "OO;records and where they end are wanted", &first, &second) ||
	    emb_buffer(first, &view, 0, 0))
		SWIG_fail;
	seen = 1;
	if (emb_buffer(second, &ends, 0, sizeof(uint64_t)))
		SWIG_fail;
	seen = 2;
	$1 = view.buf ? view.buf : (void *)"";
	$2 = (uint64_t *)ends.buf;
	$3 = (uint64_t)ends.len / sizeof(uint64_t);
	if ($3 > 0 && $2[$3 - 1] > (uint64_t)view.len) {
		PyErr_SetString(PyExc_ValueError, "the last record ends behind the bytes that were given");
		SWIG_fail;
	}
}
%typemap(freearg) (const void *EM_RECORDS, const uint64_t *EM_ENDS, uint64_t EM_N) {
	if (seen$argnum > 0)
		PyBuffer_Release(&view$argnum);
	if (seen$argnum > 1)
		PyBuffer_Release(&ends$argnum);
}
%typemap(in) const void *EM_RECORD (Py_buffer view, int seen = 0, union emb_value number) {
	$1 = (void *)(uintptr_t)emb_one($input, &view, &seen, &number, emb_call.record_bytes,
						emb_form);
	if (!$1)
		SWIG_fail;
}
%typemap(in) const void *EM_KEY (Py_buffer view, int seen = 0, union emb_value number) {
	$1 = NULL;
	if ($input != Py_None) {
		$1 = (void *)(uintptr_t)emb_one($input, &view, &seen, &number, emb_call.key_bytes,
							emb_keys);
		if (!$1)
			SWIG_fail;
	}
}
%typemap(freearg) (const void *EM_RECORDS, uint64_t EM_N),
	(const void *EM_KEYS, uint64_t EM_N), (const void *EM_KEYS_OR_NONE, uint64_t EM_N), const void *EM_RECORD,
	const void *EM_KEY {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
}
%typemap(in, numinputs=0) void *EM_RECORD_OUT (PyObject *made = NULL, union emb_value number, char code = 0) {
	$1 = NULL;
}
%typemap(check) void *EM_RECORD_OUT {
	code$argnum = emb_number;
	if (code$argnum) {
		$1 = &number$argnum;
	} else {
		made$argnum = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)emb_call.record_bytes);
		if (!made$argnum)
			SWIG_fail;
		$1 = PyBytes_AsString(made$argnum);
	}
}
%typemap(argout) void *EM_RECORD_OUT {
	if (emb_call.status == EM_OK && code$argnum) {
		$result = emb_output($result, emb_number_out(code$argnum, &number$argnum));
	} else if (emb_call.status == EM_OK) {
		$result = emb_output($result, emb_formed(emb_form, EMB_UNPACK, made$argnum));
	} else {
		$result = emb_output($result, emb_at_end());
	}
	if (!$result)
		SWIG_fail;
}
%typemap(freearg) void *EM_RECORD_OUT {
	Py_XDECREF(made$argnum);
}
%typemap(in, numinputs=0) const em_batch **EM_BATCH (const em_batch *got = NULL) {
	$1 = ($1_ltype)&got;
}
%typemap(argout) const em_batch **EM_BATCH {
	$result = emb_output($result, EMB_OUT(emb_batch_out(held1, got$argnum)));
	if (!$result)
		SWIG_fail;
}

/* Bytes. */

/* Otherwise those of results would do, as SWIG does not look at const, and takes one argument for the first of two. */
%typemap(check) const void *EM_RECORD, const void *EM_KEY, (const void *EM_BYTES, size_t EM_NBYTES),
	(const void *EM_RECORDS, uint64_t EM_N) "";
%typemap(argout) const void *EM_RECORD, const void *EM_KEY, (const void *EM_BYTES, size_t EM_NBYTES),
	(const void *EM_RECORDS, uint64_t EM_N), (void *EM_HELD, size_t EM_BYTES),
	(const void *EM_HELD, size_t EM_BYTES) "";

%typemap(in) (const void *EM_BYTES, size_t EM_NBYTES) (Py_buffer view, int seen = 0) {
	if (emb_buffer($input, &view, 0, 0))
		SWIG_fail;
	seen = 1;
	$1 = view.buf ? view.buf : (void *)"";
	$2 = (size_t)view.len;
}
/* A buffer that is filled, or how many bytes: then the result is a bytearray. */
%typemap(in) (void *EM_BUF, size_t EM_NBYTES) (Py_buffer view, int seen = 0, PyObject *room = NULL) {
	if (PyLong_Check($input)) {
		const Py_ssize_t count = PyLong_AsSsize_t($input);

		room = PyErr_Occurred() ? NULL : PyByteArray_FromStringAndSize(NULL, count);
		if (!room)
			SWIG_fail;
	}
	if (emb_buffer(room ? room : $input, &view, 1, 0))
		SWIG_fail;
	seen = 1;
	$1 = view.buf;
	$2 = (size_t)view.len;
}
%typemap(argout) (void *EM_BUF, size_t EM_NBYTES) {
	if (room$argnum) {
		$result = emb_output($result, room$argnum);
		room$argnum = NULL;
		if (!$result)
			SWIG_fail;
	}
}
%typemap(freearg) (const void *EM_BYTES, size_t EM_NBYTES) {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
}
%typemap(freearg) (void *EM_BUF, size_t EM_NBYTES) {
	if (seen$argnum)
		PyBuffer_Release(&view$argnum);
	Py_XDECREF(room$argnum);
}

/* Memory that a request keeps. */
%define EM_HOLD(writable)
	emb_held = (Py_buffer *)PyMem_Malloc(sizeof *emb_held);
	if (!emb_held) {
		PyErr_NoMemory();
		SWIG_fail;
	}
	if (emb_buffer($input, emb_held, writable, 0)) {
		PyMem_Free(emb_held);
		emb_held = NULL;
		SWIG_fail;
	}
	$1 = emb_held->buf;
	$2 = (size_t)emb_held->len;
%enddef
%typemap(in) (void *EM_HELD, size_t EM_BYTES) {
	EM_HOLD(1)
}
%typemap(in) (const void *EM_HELD, size_t EM_BYTES) {
	EM_HOLD(0)
}
%typemap(freearg) (void *EM_HELD, size_t EM_BYTES), (const void *EM_HELD, size_t EM_BYTES) {
	if (emb_held) {
		PyBuffer_Release(emb_held);
		PyMem_Free(emb_held);
		emb_held = NULL;
	}
}

/* Numbers. */

%typemap(in, numinputs=0) uint64_t *EM_NUMBER (uint64_t value = 0), uint64_t *EM_ALWAYS (uint64_t value = 0) {
	$1 = &value;
}
%typemap(in, numinputs=0) uint64_t *EM_DONE (uint64_t value = 0) {
	$1 = &value;
	emb_call.done = &value;
}
%typemap(argout) uint64_t *EM_NUMBER {
	$result = emb_output($result, EMB_OUT(PyLong_FromUnsignedLongLong(value$argnum)));
	if (!$result)
		SWIG_fail;
}
/* What says how much of some room was filled needs no number. */
%typemap(argout) uint64_t *EM_DONE {
	if (emb_call.done) {
		$result = emb_output($result, EMB_OUT(PyLong_FromUnsignedLongLong(value$argnum)));
		if (!$result)
			SWIG_fail;
	}
}
%typemap(argout) uint64_t *EM_ALWAYS {
	emb_call.outputs++;
	$result = emb_output($result, PyLong_FromUnsignedLongLong(value$argnum));
	if (!$result)
		SWIG_fail;
}
%typemap(in, numinputs=0) size_t *EM_SIZE (size_t value = 0) {
	$1 = &value;
}
%typemap(argout) size_t *EM_SIZE {
	$result = emb_output($result, EMB_OUT(PyLong_FromSize_t(value$argnum)));
	if (!$result)
		SWIG_fail;
}
%typemap(in, numinputs=0) int *EM_INT (int value = 0) {
	$1 = &value;
}
%typemap(argout) int *EM_INT {
	$result = emb_output($result, EMB_OUT(PyLong_FromLong(value$argnum)));
	if (!$result)
		SWIG_fail;
}

/* Paths. */

%typemap(in) const char *EM_PATH (PyObject *temp = NULL) {
	$1 = NULL;
	if ($input != Py_None) {
		$1 = (char *)(uintptr_t)emb_path($input, &temp);
		if (!$1)
			SWIG_fail;
	}
}
%typemap(in) (const char *const *EM_PATHS, uint32_t EM_N) (PyObject *temp = NULL) {
	$1 = (char **)emb_paths($input, &$2, &temp);
	if (!$1)
		SWIG_fail;
}
%typemap(freearg) const char *EM_PATH, (const char *const *EM_PATHS, uint32_t EM_N) {
	Py_XDECREF(temp$argnum);
}

/* Keys: (offset, width, type, flags); or as the command spells them. */

%typemap(in) (const em_key *EM_KEY_LIST, uint32_t EM_N) (PyObject *temp = NULL) {
	const Py_ssize_t count = PySequence_Size($input);
	em_key *list = count < 0 ? NULL : (em_key *)emb_temp(&temp, (size_t)count * sizeof *list);
	Py_ssize_t i;

	for (i = 0; list && i < count; i++) {
		PyObject *one = PySequence_GetItem($input, i);
		unsigned long long offset = 0, width = 0;
		unsigned flags = 0;
		int type = 0;
		int good = one && PyArg_ParseTuple(one, "KKiI;a key is (offset, width, type, flags)", &offset, &width,
						   &type, &flags);

		Py_XDECREF(one);
		if (!good)
			SWIG_fail;
		list[i].offset = offset;
		list[i].width = width;
		list[i].type = type;
		list[i].flags = flags;
	}
	if (!list)
		SWIG_fail;
	$1 = list;
	$2 = (uint32_t)count;
}
%typemap(in) (const em_text_key *EM_TEXT_KEYS, uint32_t EM_N) (PyObject *temp = NULL) {
	const Py_ssize_t count = PySequence_Size($input);
	em_text_key *list = count < 0 ? NULL : (em_text_key *)emb_temp(&temp, (size_t)count * sizeof *list);
	Py_ssize_t i;

	for (i = 0; list && i < count; i++) {
		PyObject *one = PySequence_GetItem($input, i);
		const char *text = one ? emb_path(one, &temp) : NULL;
		const em_status st = text ? em_text_key_parse(&list[i], NULL, text, &emb_call.detail) : EM_OK;

		Py_XDECREF(one);
		if (st)
			emb_raise(st);
		if (!text || st)
			SWIG_fail;
	}
	if (!list)
		SWIG_fail;
	$1 = list;
	$2 = (uint32_t)count;
}
%typemap(freearg) (const em_key *EM_KEY_LIST, uint32_t EM_N), (const em_text_key *EM_TEXT_KEYS, uint32_t EM_N) {
	Py_XDECREF(temp$argnum);
}

/* Functions of the caller's. */

%typemap(in) (uint64_t EM_OF, const char *EM_NAME, em_cmp_fn EM_CMP, uint32_t EM_FLAGS, void *EM_USER,
	      void (*EM_FREE)(void *user)) {
	PyObject *fn;
	unsigned long long bytes;
	const char *name;

	if (!PyArg_ParseTuple($input, "KzO", &bytes, &name, &fn))
		SWIG_fail;
	$1 = bytes;
	$2 = (char *)(uintptr_t)name;
	$3 = emb_cmp;
	$4 = 0;
	$5 = emb_fn_new(fn, bytes);
	$6 = emb_fn_free;
	if (!$5)
		SWIG_fail;
	emb_call.order_bytes = bytes;
}
%typemap(in) (uint64_t EM_OF, const char *EM_NAME, em_key_fn EM_KEY, uint32_t EM_FLAGS, void *EM_USER,
	      void (*EM_FREE)(void *user)) {
	PyObject *fn;
	unsigned long long bytes;
	const char *name;

	if (!PyArg_ParseTuple($input, "KzO", &bytes, &name, &fn))
		SWIG_fail;
	$1 = bytes;
	$2 = (char *)(uintptr_t)name;
	$3 = emb_key;
	$4 = 0;
	$5 = emb_fn_new(fn, bytes);
	$6 = emb_fn_free;
	if (!$5)
		SWIG_fail;
	emb_call.order_bytes = bytes;
}

%define EM_FUNCTION(T, trampoline)
%typemap(in) (T EM_FN, void *EM_USER) (struct emb_fn *user = NULL) {
	$1 = NULL;
	$2 = NULL;
	if ($input != Py_None) {
		user = emb_fn_new($input, emb_call.record_bytes);
		if (!user)
			SWIG_fail;
		$1 = trampoline;
		$2 = user;
	}
}
%typemap(freearg) (T EM_FN, void *EM_USER) {
	emb_fn_free(user$argnum);
}
%enddef
EM_FUNCTION(em_vector_visit_fn, emb_vector_visit)
EM_FUNCTION(em_vector_change_fn, emb_vector_change)
EM_FUNCTION(em_vector_test_fn, emb_vector_test)
EM_FUNCTION(em_disorder_fn, emb_disorder)
EM_FUNCTION(em_request_fn, emb_request_done)
/* It frees itself when it was called, which it is if there is a request. */
%typemap(argout) (em_request_fn EM_FN, void *EM_USER) {
	user$argnum = NULL;
}

%native(em_pq_dump) PyObject *emb_pq_dump(PyObject *self, PyObject *args);
%{
/** Its state as text. */
static PyObject *emb_pq_dump(PyObject *self, PyObject *args)
{
	PyObject *o, *text = NULL;
	emb_handle *h;
	size_t bytes;
	char *to;

	(void)self;
	if (!PyArg_ParseTuple(args, "O", &o) || !(h = emb_enter(o, &emb_kind_em_pq, 1)))
		return NULL;
	bytes = em_pq_dump((const em_pq *)h->object, NULL, 0) + 1;
	to = (char *)PyMem_Malloc(bytes);
	if (to) {
		(void)em_pq_dump((const em_pq *)h->object, to, bytes);
		text = PyUnicode_DecodeUTF8(to, (Py_ssize_t)strlen(to), "replace");
	} else {
		PyErr_NoMemory();
	}
	PyMem_Free(to);
	emb_leave(h);
	emb_end();
	return text;
}
%}

/* Blocks. */

%typemap(in) em_bid {
	if (emb_bid($input, &$1))
		SWIG_fail;
}
%typemap(in) (em_bid *EM_BIDS_OUT, size_t EM_N) (PyObject *temp = NULL) {
	$2 = PyLong_AsSize_t($input);
	$1 = PyErr_Occurred() ? NULL : (em_bid *)emb_temp(&temp, $2 * sizeof *$1);
	if (!$1)
		SWIG_fail;
}
%typemap(argout) (em_bid *EM_BIDS_OUT, size_t EM_N) {
	$result = emb_output($result, EMB_OUT(emb_bids_list($1, $2)));
	if (!$result)
		SWIG_fail;
}
%typemap(in) (const em_bid *EM_BIDS, size_t EM_N) (PyObject *temp = NULL) {
	$1 = emb_bids($input, &$2, &temp);
	if (!$1)
		SWIG_fail;
}
%typemap(freearg) (em_bid *EM_BIDS_OUT, size_t EM_N), (const em_bid *EM_BIDS, size_t EM_N) {
	Py_XDECREF(temp$argnum);
}
%typemap(in, numinputs=0) const em_placement *place {
	$1 = NULL;
}
EM_HANDLES(em_request, em_request *const *EM_REQUESTS)
%typemap(argout) (em_request *const *EM_REQUESTS, uint32_t EM_N) "";

/* A buffer that is lent is a view; whoever has it returns it, or it stays with him. */
%typemap(in, numinputs=0) void **EM_LENT (void *got = NULL) {
	$1 = &got;
}
%typemap(argout) void **EM_LENT {
	$result = emb_output($result, EMB_OUT(emb_lend(NULL, got$argnum, (size_t)emb_call.record_bytes, NULL, 1)));
	if (!$result)
		SWIG_fail;
}
%typemap(in) void *EM_RETURNED (emb_batch *back = NULL) {
	back = (emb_batch *)PyObject_GetAttrString($input, "obj");
	if (!back || Py_TYPE((PyObject *)back) != emb_batch_type || back->handle || !back->writable || !back->data) {
		PyErr_SetString(PyExc_TypeError, "a buffer that the pool has lent is wanted here");
		SWIG_fail;
	}
	if (back->exports > 1) {
		PyErr_SetString(PyExc_BufferError, "an array or view of the buffer is still in use");
		SWIG_fail;
	}
	$1 = back->data;
}
%typemap(argout) void *EM_RETURNED {
	PyObject *done = PyObject_CallMethod($input, "release", NULL);

	back$argnum->data = NULL;
	Py_XDECREF(done);
}
%typemap(freearg) void *EM_RETURNED {
	Py_XDECREF((PyObject *)back$argnum);
}
