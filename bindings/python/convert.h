/* SPDX-License-Identifier: BSL-1.0 */
/* Arguments and results: options as dicts, paths, ids of blocks. */
#ifndef EMB_CONVERT_H
#define EMB_CONVERT_H

#include "functions.h"

/* Memory for the time of a call is bytes objects in a list, which typemaps call `temp'. */

static void *emb_temp(PyObject **temp, size_t bytes)
{
	PyObject *o = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(bytes ? bytes : 1));
	void *p = NULL;

	if (o && (*temp || (*temp = PyList_New(0))) && PyList_Append(*temp, o) == 0) {
		p = PyBytes_AsString(o);
		memset(p, 0, bytes);
	}
	Py_XDECREF(o);
	return p;
}

/** A path or a name: str, bytes or os.PathLike. */
static const char *emb_path(PyObject *o, PyObject **temp)
{
	PyObject *b = NULL;
	const char *path = NULL;

	if (!PyUnicode_FSConverter(o, &b))
		return NULL;
	if ((*temp || (*temp = PyList_New(0))) && PyList_Append(*temp, b) == 0)
		path = PyBytes_AsString(b);
	Py_DECREF(b);
	return path;
}

/** Several of them, or one: NULL with an exception. */
static const char **emb_paths(PyObject *o, uint32_t *n, PyObject **temp)
{
	const int one = PyUnicode_Check(o) || PyBytes_Check(o) || PyObject_HasAttrString(o, "__fspath__");
	PyObject *all = one ? PyTuple_Pack(1, o) : PySequence_Tuple(o);
	const Py_ssize_t count = all ? PyTuple_Size(all) : 0;
	const char **list = all ? (const char **)emb_temp(temp, (size_t)count * sizeof *list) : NULL;
	Py_ssize_t i;

	for (i = 0; list && i < count; i++) {
		list[i] = emb_path(PyTuple_GetItem(all, i), temp);
		if (!list[i])
			list = NULL;
	}
	Py_XDECREF(all);
	*n = (uint32_t)count;
	return list;
}

/** Begin a call on all handles of a sequence, which *in has up to NULL: the objects, or NULL with an exception. */
static void **emb_enter_all(PyObject *o, const struct emb_kind *kind, PyObject **temp, emb_handle ***in, uint32_t *n)
{
	const Py_ssize_t count = PySequence_Size(o);
	void **list = count < 0 ? NULL : (void **)emb_temp(temp, (size_t)count * sizeof *list);
	Py_ssize_t i;

	*in = list ? (emb_handle **)emb_temp(temp, ((size_t)count + 1) * sizeof **in) : NULL;
	for (i = 0; *in && i < count; i++) {
		PyObject *one = PySequence_GetItem(o, i);

		(*in)[i] = one ? emb_enter(one, kind, 0) : NULL;
		Py_XDECREF(one);
		if (!(*in)[i])
			return NULL;
		list[i] = (*in)[i]->object;
	}
	*n = (uint32_t)count;
	return *in ? list : NULL;
}

static void emb_leave_all(emb_handle **in)
{
	for (; in && *in; in++)
		emb_leave(*in);
}

/* Options. */

static int emb_fill_log(em_ctx_opts *to, PyObject *value)
{
	to->log_user = emb_fn_new(value, 0);
	if (!to->log_user)
		return -1;
	to->log = emb_log;
	to->log_free = emb_fn_free;
	to->flags |= EM_CTX_LOG_CALLER;
	return 0;
}

static int emb_fill(const struct emb_struct *s, void *to, PyObject *from, PyObject **temp);
static const struct emb_struct *emb_struct_of(int kind);

static int emb_fill_policy(const em_policy **to, PyObject *value)
{
	static const struct { const char *name; const em_policy *(*get)(void); } policies[] = {
		{ "s3fifo", em_policy_s3fifo }, { "lru", em_policy_lru }, { "clock", em_policy_clock },
		{ "random", em_policy_random }
	};
	size_t i;

	for (i = 0; i < sizeof policies / sizeof *policies; i++) {
		if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, policies[i].name) == 0) {
			*to = policies[i].get();
			return 0;
		}
	}
	PyErr_Format(PyExc_ValueError, "there is no policy %R", value);
	return -1;
}

/** (EM_PLACE_..., disks), and first and seed where those are not 0. */
static void *emb_fill_placement(PyObject *value, PyObject **temp)
{
	em_placement *p = (em_placement *)emb_temp(temp, sizeof *p);
	unsigned kind, disks, first = 0;
	unsigned long long seed = 0;
	em_status st;

	if (!p || !PyArg_ParseTuple(value, "II|IK;a placement is (kind, disks, first, seed)", &kind, &disks, &first,
				    &seed))
		return NULL;
	st = em_placement_init(p, kind, disks, first, seed, 0);
	if (st)
		emb_raise(st);
	return st ? NULL : p;
}

static void *emb_fill_nested(int kind, PyObject *value, PyObject **temp)
{
	const struct emb_struct *s = emb_struct_of(kind);
	void *p = emb_temp(temp, s->size);

	return p && !emb_fill(s, p, value, temp) ? p : NULL;
}

static void *emb_fill_disks(PyObject *value, uint32_t *count, PyObject **temp)
{
	const Py_ssize_t n = PySequence_Size(value);
	const void **list = n < 0 ? NULL : (const void **)emb_temp(temp, (size_t)n * sizeof *list);
	Py_ssize_t i;

	*count = (uint32_t)n;
	for (i = 0; list && i < n; i++) {
		PyObject *one = PySequence_GetItem(value, i);

		list[i] = one ? emb_fill_nested(EMB_DISKS, one, temp) : NULL;
		Py_XDECREF(one);
		if (!list[i])
			return NULL;
	}
	return list;
}

/** One option, and, where it is a list, how many there are: what follows it in the struct. */
static int emb_fill_field(const struct emb_field *f, char *to, PyObject *value, PyObject **temp)
{
	uint32_t *n = (uint32_t *)(to + sizeof(void *));
	emb_handle *h;
	void *pointer = NULL;
	uint64_t number;
	long with_sign;

	switch (f->kind) {
	case EMB_U32:
	case EMB_U64:
		number = 0;
		if (f->kind == EMB_U64 && PyUnicode_Check(value)) {
			/* "64M" */
			const char *text = emb_path(value, temp);
			const em_status st = text ? em_size_parse(&number, text, &emb_call.detail) : EM_OK;

			if (st)
				emb_raise(st);
		} else {
			number = emb_unsigned(value);
		}
		if (!PyErr_Occurred() && f->kind == EMB_U32 && number > UINT32_MAX)
			PyErr_Format(PyExc_OverflowError, "%s is too large", f->name);
		if (PyErr_Occurred())
			return -1;
		if (f->kind == EMB_U32)
			*(uint32_t *)to = (uint32_t)number;
		else
			*(uint64_t *)to = number;
		return 0;
	case EMB_I32:
		with_sign = PyLong_AsLong(value);
		if (!PyErr_Occurred() && (with_sign < INT32_MIN || with_sign > INT32_MAX))
			PyErr_Format(PyExc_OverflowError, "%s is too large", f->name);
		*(int32_t *)to = (int32_t)with_sign;
		return PyErr_Occurred() ? -1 : 0;
	case EMB_DOUBLE:
		*(double *)to = PyFloat_AsDouble(value);
		return PyErr_Occurred() ? -1 : 0;
	case EMB_TEXT:
		pointer = (void *)(uintptr_t)emb_path(value, temp);
		break;
	case EMB_TEXTS:
		pointer = emb_paths(value, n, temp);
		break;
	case EMB_FORMAT:
	case EMB_SORT:
		pointer = emb_fill_nested(f->kind, value, temp);
		break;
	case EMB_DISKS:
		pointer = emb_fill_disks(value, n, temp);
		break;
	case EMB_PLACEMENT:
		if (!PyTuple_Check(value)) {
			PyErr_SetString(PyExc_TypeError, "a placement is a tuple: (kind, disks, first, seed)");
			return -1;
		}
		pointer = emb_fill_placement(value, temp);
		break;
	case EMB_POLICY:
		return emb_fill_policy((const em_policy **)to, value);
	case EMB_ORDER:
	case EMB_POOL:
		h = emb_handle_of(value, f->kind == EMB_ORDER ? &emb_kind_em_order : &emb_kind_em_block_pool);
		if (!h)
			return -1;
		/* The dict has it. */
		Py_DECREF((PyObject *)h);
		if (!h->object || h->closing) {
			PyErr_Format(PyExc_TypeError, "%s is to be one that is open", f->name);
			return -1;
		}
		if (f->kind == EMB_ORDER)
			emb_call.order_bytes = em_order_record_size((em_order *)h->object);
		else
			emb_pool = h;
		if (f->kind == EMB_ORDER && !emb_form && h->form.of[EMB_TYPE])
			emb_form = &h->form;
		pointer = h->object;
		break;
	default:
		PyErr_Format(PyExc_TypeError, "%s is no option for programs in Python", f->name);
		return -1;
	}
	if (!pointer)
		return -1;
	*(void **)to = pointer;
	return 0;
}

/** The function that watches, which its user follows, and what makes signals interrupt. */
static int emb_fill_progress(char *to, PyObject *value)
{
	*(em_progress_fn *)to = emb_progress;
	if (!value || value == Py_None)
		return 0;
	if (!PyCallable_Check(value)) {
		PyErr_SetString(PyExc_TypeError, "progress is to be a function");
		return -1;
	}
	*(void **)(to + sizeof(em_progress_fn)) = value;
	Py_INCREF(value);
	Py_XDECREF(emb_keep);
	emb_keep = value;
	return 0;
}

/** What a struct has no field for (keys.h): words for flags, and with texts.  1: it was that, -1 with an exception. */
static int emb_fill_word(const struct emb_struct *s, void *to, PyObject *name, PyObject *value, PyObject **temp)
{
	const char *word = emb_path(name, temp), *text;
	const uint32_t flag = word ? emb_flag_of(s, word) : 0;
	int is = flag ? PyObject_IsTrue(value) : 0;
	em_status st;

	if (!word || is < 0)
		return -1;
	if (is)
		emb_flags_on(s, to, flag);
	if (flag || !PyUnicode_Check(value))
		return flag != 0;
	text = emb_path(value, temp);
	st = text ? emb_text_word(s, to, word, text, &emb_call.detail) : EM_OK;
	if (st < 0)
		emb_raise(st);
	return !text || st < 0 ? -1 : st == EM_OK;
}

static int emb_fill_words(const struct emb_struct *s, void *to, PyObject *from, PyObject **temp)
{
	PyObject *name, *value;
	Py_ssize_t at = 0;
	int some = 0, one;

	while (PyDict_Next(from, &at, &name, &value)) {
		one = PyUnicode_Check(name) ? emb_fill_word(s, to, name, value, temp) : 0;
		if (one < 0)
			return -1;
		some += one;
	}
	return some;
}

static int emb_fill_all(const struct emb_struct *s, void *to, PyObject *from, PyObject **temp)
{
	const struct emb_field *f;
	Py_ssize_t used = 0;
	int words = 0;

	memcpy(to, s->init, s->size);
	if (from != Py_None && !PyDict_Check(from)) {
		PyErr_Format(PyExc_TypeError, "options are a dict of the fields of an %s", s->name);
		return -1;
	}
	for (f = s->fields; f->name; f++) {
		PyObject *value = from == Py_None ? NULL : PyDict_GetItemString(from, f->name);
		char *at = (char *)to + f->offset;

		used += value != NULL;
		if (f->kind == EMB_ERRINFO)
			*(em_errinfo **)at = &emb_call.detail;
		else if (f->kind == EMB_PROGRESS && emb_fill_progress(at, value))
			return -1;
		else if (f->kind == EMB_LOG)
			continue;
		else if (f->kind != EMB_PROGRESS && value && value != Py_None && emb_fill_field(f, at, value, temp))
			return -1;
	}
	if (from != Py_None && used != PyDict_Size(from)) {
		words = emb_fill_words(s, to, from, temp);
		if (words < 0)
			return -1;
	}
	emb_more_opts(s, to);
	/* Blocks of what is made are its records. */
	if (s == &emb_struct_em_cache_opts)
		emb_call.record_bytes = ((em_cache_opts *)to)->block_bytes;
	else if (s == &emb_struct_em_block_pool_opts)
		emb_call.record_bytes = ((em_block_pool_opts *)to)->block_bytes;
	else if (s == &emb_struct_em_block_writer_opts)
		emb_call.record_bytes = ((em_block_writer_opts *)to)->record_bytes;
	if (from != Py_None && used + words != PyDict_Size(from)) {
		PyErr_Format(PyExc_TypeError, "among the options %R there is one that an %s does not have", from,
			     s->name);
		return -1;
	}
	return 0;
}

/** Fill a struct from a dict, or None: 0, or -1 with an exception. */
static int emb_fill(const struct emb_struct *s, void *to, PyObject *from, PyObject **temp)
{
	PyObject *log;

	if (emb_fill_all(s, to, from, temp))
		return -1;
	/* Last, as the library frees what it needs, from when it is called. */
	log = s == &emb_struct_em_ctx_opts && from != Py_None ? PyDict_GetItemString(from, "log") : NULL;
	return log && log != Py_None ? emb_fill_log((em_ctx_opts *)to, log) : 0;
}

/** A struct as a dict. */
static PyObject *emb_tell(const struct emb_struct *s, const void *from)
{
	PyObject *d = PyDict_New(), *v;
	const struct emb_field *f;

	for (f = s->fields; d && f->name; f++) {
		const char *at = (const char *)from + f->offset;

		switch (f->kind) {
		case EMB_U32:
			v = PyLong_FromUnsignedLong(*(const uint32_t *)at);
			break;
		case EMB_I32:
			v = PyLong_FromLong(*(const int32_t *)at);
			break;
		case EMB_U64:
			v = PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
			break;
		case EMB_DOUBLE:
			v = PyFloat_FromDouble(*(const double *)at);
			break;
		default:
			continue;
		}
		if (!v || PyDict_SetItemString(d, f->name, v))
			Py_CLEAR(d);
		Py_XDECREF(v);
	}
	return d;
}

/* Buffers. */

/** See an argument as memory: its bytes must be a multiple of unit (0: any). */
static int emb_buffer(PyObject *o, Py_buffer *view, int writable, uint64_t unit)
{
	if (PyObject_GetBuffer(o, view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE))
		return -1;
	if (unit == 0 || (uint64_t)view->len % unit == 0)
		return 0;
	PyErr_Format(PyExc_ValueError, "%zd bytes are no whole number of records of %llu", view->len,
		     (unsigned long long)unit);
	PyBuffer_Release(view);
	return -1;
}

/* Records that are numbers. */

union emb_value {
	uint8_t B;
	int8_t b;
	uint16_t H;
	int16_t h;
	uint32_t I;
	int32_t i;
	uint64_t Q;
	int64_t q;
	float f;
	double d;
};

static int emb_signed(PyObject *o, long long least, long long most, long long *to)
{
	*to = PyLong_AsLongLong(o);
	if (*to == -1 && PyErr_Occurred())
		return -1;
	if (*to >= least && *to <= most)
		return 0;
	PyErr_Format(PyExc_OverflowError, "%lld is no record of this size", *to);
	return -1;
}

/** A number as a record: never rounded, never cut off. */
static int emb_number_in(PyObject *o, char code, union emb_value *v)
{
	long long n = 0;

	switch (code) {
	case 'Q':
		v->Q = emb_unsigned(o);
		return v->Q == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
	case 'd':
	case 'f':
		v->d = PyFloat_AsDouble(o);
		if (v->d == -1 && PyErr_Occurred())
			return -1;
		if (code == 'f')
			v->f = (float)v->d;
		return 0;
	case 'B':
		return emb_signed(o, 0, UINT8_MAX, &n) ? -1 : (v->B = (uint8_t)n, 0);
	case 'b':
		return emb_signed(o, INT8_MIN, INT8_MAX, &n) ? -1 : (v->b = (int8_t)n, 0);
	case 'H':
		return emb_signed(o, 0, UINT16_MAX, &n) ? -1 : (v->H = (uint16_t)n, 0);
	case 'h':
		return emb_signed(o, INT16_MIN, INT16_MAX, &n) ? -1 : (v->h = (int16_t)n, 0);
	case 'I':
		return emb_signed(o, 0, UINT32_MAX, &n) ? -1 : (v->I = (uint32_t)n, 0);
	case 'i':
		return emb_signed(o, INT32_MIN, INT32_MAX, &n) ? -1 : (v->i = (int32_t)n, 0);
	default:
		return emb_signed(o, INT64_MIN, INT64_MAX, &n) ? -1 : (v->q = n, 0);
	}
}

static PyObject *emb_number_out(char code, const union emb_value *v)
{
	switch (code) {
	case 'Q':
		return PyLong_FromUnsignedLongLong(v->Q);
	case 'd':
		return PyFloat_FromDouble(v->d);
	case 'f':
		return PyFloat_FromDouble(v->f);
	case 'B':
		return PyLong_FromLong(v->B);
	case 'b':
		return PyLong_FromLong(v->b);
	case 'H':
		return PyLong_FromLong(v->H);
	case 'h':
		return PyLong_FromLong(v->h);
	case 'I':
		return PyLong_FromUnsignedLong(v->I);
	case 'i':
		return PyLong_FromLong(v->i);
	default:
		return PyLong_FromLongLong(v->q);
	}
}

/** One record or key, of so many bytes, as memory: *seen is 1 if that is a buffer to be released. */
static const void *emb_one(PyObject *o, Py_buffer *view, int *seen, union emb_value *number, uint64_t bytes,
			   const struct emb_form *form)
{
	int failed;

	if (emb_number)
		return emb_number_in(o, emb_number, number) ? NULL : number;
	o = emb_formed(form, EMB_PACK, o);
	failed = !o || PyObject_GetBuffer(o, view, PyBUF_SIMPLE);
	Py_XDECREF(o);
	if (failed)
		return NULL;
	*seen = 1;
	if ((uint64_t)view->len == bytes)
		return view->buf;
	PyErr_Format(PyExc_ValueError, "%zd bytes are no record or key of %llu", view->len, (unsigned long long)bytes);
	return NULL;
}

/** Many records or keys as memory, from anything: 0, or -1 with an exception.  Iterators may call the library. */
static int emb_many(PyObject *o, const struct emb_form *form, Py_buffer *view, uint64_t unit)
{
	struct emb_nested nested = emb_nest();
	int failed;

	o = emb_formed(form, EMB_BUFFER, o);
	emb_unnest(&nested);
	failed = !o || emb_buffer(o, view, 0, unit);
	Py_XDECREF(o);
	return failed ? -1 : 0;
}

/** Many records that were copied, as what is natural; it takes the bytearray. */
static PyObject *emb_wrapped(PyObject *copy)
{
	PyObject *made = emb_formed(emb_form, EMB_WRAP, copy);

	Py_XDECREF(copy);
	return made;
}

/** No record where one is wanted: None; of a container that is no tree an exception, as of list.pop(). */
static PyObject *emb_at_end(void)
{
	if (!emb_first || !emb_first->kind->record_bytes || emb_first->kind->key_bytes)
		return emb_none();
	PyErr_SetString(PyExc_IndexError, "pop from an empty container");
	return NULL;
}

/** An id of a block is (disk, offset). */
static int emb_bid(PyObject *o, em_bid *bid)
{
	unsigned long long offset;
	unsigned int disk;

	if (!PyTuple_Check(o) || !PyArg_ParseTuple(o, "IK;an id of a block is (disk, offset)", &disk, &offset)) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError, "an id of a block is (disk, offset)");
		return -1;
	}
	memset(bid, 0, sizeof *bid);
	bid->disk = disk;
	bid->offset = offset;
	return 0;
}

static em_bid *emb_bids(PyObject *o, size_t *n, PyObject **temp)
{
	const Py_ssize_t count = PySequence_Size(o);
	em_bid *list = count < 0 ? NULL : (em_bid *)emb_temp(temp, (size_t)count * sizeof *list);
	Py_ssize_t i;

	for (i = 0; list && i < count; i++) {
		PyObject *one = PySequence_GetItem(o, i);
		int failed = !one || emb_bid(one, &list[i]);

		Py_XDECREF(one);
		if (failed)
			return NULL;
	}
	*n = (size_t)count;
	return list;
}

static PyObject *emb_bids_list(const em_bid *bid, size_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);
	size_t i;

	for (i = 0; list && i < n; i++) {
		PyObject *one = Py_BuildValue("(IK)", (unsigned)bid[i].disk, (unsigned long long)bid[i].offset);

		if (!one || PyList_SetItem(list, (Py_ssize_t)i, one))
			Py_CLEAR(list);
	}
	return list;
}

/** A batch: a view of its records, or, where they have any length, that and a view of where they end. */
static PyObject *emb_batch_out(emb_handle *h, const em_batch *b)
{
	static PyObject *offsets;
	PyObject *records = emb_lend(h, b->records, b->bytes, b->ends ? NULL : h->format, 0), *ends, *both;

	if (!records || !b->ends)
		return records;
	if (!offsets)
		offsets = Py_BuildValue("(ny)", (Py_ssize_t)8, "Q");
	ends = offsets ? emb_lend(h, b->ends, b->n * 8, offsets, 0) : NULL;
	both = ends ? PyTuple_Pack(2, records, ends) : NULL;
	Py_XDECREF(ends);
	Py_DECREF(records);
	return both;
}

#endif
