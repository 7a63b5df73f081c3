/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Handles and batches, as Python sees them.
 *
 * A handle closes its object when it is closed or collected.  All of its fields belong to who holds the interpreter's
 * lock, which is released while the library works: so a second thread sees that somebody is inside (`uses', `owner').
 * An object that is closed then is canceled, if it can be, and closed when the call in progress ends.
 *
 * A batch is memory that the library has lent, with a view of it for the user.  The next call on the handle releases
 * the view, which then raises.  If a view of the view is still there (of NumPy, for example), nobody can take it away:
 * then that call raises BufferError, and the memory stays lent.
 */
#ifndef EMB_OBJECTS_H
#define EMB_OBJECTS_H

#include <Python.h>

#include "call.h"
#include "kinds.h"
#include "results.h"

struct emb_batch;
struct emb_late;

/** Records in Python: an object of the facade, and functions of it: an item becomes bytes, and these an item; anything
 *  becomes a buffer of many records, and that what is natural.  All NULL: bytes and buffers. */
enum { EMB_TYPE, EMB_PACK, EMB_UNPACK, EMB_BUFFER, EMB_WRAP, EMB_FORM };

struct emb_form {
	PyObject *of[EMB_FORM];
	uint64_t bytes;              /**< Of a record. */
};

typedef struct emb_handle {
	PyObject_HEAD
	void *object;                /**< NULL: it is closed. */
	const struct emb_kind *kind;
	const void *owner;           /**< The thread that is inside: the address of its emb_call. */
	uint32_t uses;               /**< Calls in progress. */
	int closing;                 /**< To be closed when there are none. */
	uint64_t record_bytes;       /**< Of its records, or of a pool's blocks, ... */
	uint64_t key_bytes;          /**< ... and of keys; 0: it has none. */
	char number;                 /**< 'Q', 'q', 'd', ...: a record is a number in Python; 0: none. */
	struct emb_form form;        /**< What its records are in Python, ... */
	struct emb_form keys;        /**< ... and its keys, where these are something else. */
	struct emb_lines lines;      /**< Of an order. */
	PyObject *keep;              /**< What callbacks need as long as it lives; NULL: nothing. */
	struct emb_batch *lent[2];   /**< The last batch, and ends of its records; they keep the handle. */
	struct emb_lent lend;
	PyObject *format;            /**< How its batches are read: (bytes of an item, format as bytes), or NULL. */
	Py_buffer *held;             /**< The memory of a request, or NULL. */
	struct emb_handle **on;      /**< What it is a part of (a cursor of its tree), the pool that it shares, or
	                                  what its stream takes records from and its sinks: one thread at a time is
	                                  inside all of these. */
	size_t n_on;
	uint32_t users;              /**< Streams and sinks that are on it: it is closed after them. */
	struct emb_late *late;       /**< Parts that were collected while somebody was inside. */
} emb_handle;

struct emb_late {
	struct emb_late *next;
	void *object;
	const struct emb_kind *kind;
	struct emb_handle **on;
	size_t n_on;
};

typedef struct emb_batch {
	PyObject_HEAD
	emb_handle *handle;          /**< Kept, so that the memory is there; or NULL. */
	PyObject *view;              /**< What the user has: a weak reference. */
	char *data;
	Py_ssize_t bytes, n, item;
	PyObject *format;            /**< Bytes, or NULL. */
	Py_ssize_t exports;
	int writable;
} emb_batch;

static PyTypeObject *emb_handle_type, *emb_batch_type;

static __thread char emb_number; /* How the receiver's records are numbers, or 0. */
/* What records and keys are, in a call that has a receiver; NULL: bytes. */
static __thread const struct emb_form *emb_form, *emb_keys;

/* Batches. */

static int emb_batch_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	emb_batch *b = (emb_batch *)self;

	view->obj = NULL;
	if (!b->data) {
		PyErr_SetString(PyExc_BufferError, "the memory was given back");
		return -1;
	}
	if (PyBuffer_FillInfo(view, self, b->data, b->bytes, !b->writable, flags))
		return -1;
	if (flags & PyBUF_FORMAT && b->format)
		view->format = PyBytes_AsString(b->format);
	if (flags & PyBUF_ND) {
		view->itemsize = b->item;
		view->shape = &b->n;
		if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
			view->strides = &b->item;
	}
	b->exports++;
	return 0;
}

static void emb_batch_releasebuffer(PyObject *self, Py_buffer *view)
{
	(void)view;
	((emb_batch *)self)->exports--;
}

static void emb_batch_dealloc(PyObject *self)
{
	emb_batch *b = (emb_batch *)self;
	PyTypeObject *type = Py_TYPE(self);

	if (b->handle) {
		if (b->handle->lent[0] == b)
			b->handle->lent[0] = NULL;
		if (b->handle->lent[1] == b)
			b->handle->lent[1] = NULL;
	}
	Py_XDECREF((PyObject *)b->handle);
	Py_XDECREF(b->view);
	Py_XDECREF(b->format);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyType_Slot emb_batch_slots[] = {
	{ Py_bf_getbuffer, (void *)emb_batch_getbuffer },
	{ Py_bf_releasebuffer, (void *)emb_batch_releasebuffer },
	{ Py_tp_dealloc, (void *)emb_batch_dealloc },
	{ 0, NULL }
};
static PyType_Spec emb_batch_spec = { "_extmem.Batch", sizeof(emb_batch), 0,
				      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, emb_batch_slots };

/** A view of memory that is lent until the next call on h, or for as long as who has it says (lent to nobody: h is
 *  NULL).  format: (bytes of an item, format), or NULL: bytes. */
static PyObject *emb_lend(emb_handle *h, const void *data, size_t bytes, PyObject *format, int writable)
{
	emb_batch *b = PyObject_New(emb_batch, emb_batch_type);
	PyObject *view;

	if (!b)
		return NULL;
	b->handle = h;
	Py_XINCREF((PyObject *)h);
	b->view = NULL;
	b->data = (char *)(uintptr_t)data;
	b->bytes = (Py_ssize_t)bytes;
	b->item = format ? PyLong_AsSsize_t(PyTuple_GetItem(format, 0)) : 1;
	b->format = format ? PyTuple_GetItem(format, 1) : NULL;
	Py_XINCREF(b->format);
	if (b->item <= 0 || b->bytes % b->item != 0)
		b->item = 1;
	b->n = b->bytes / b->item;
	b->exports = 0;
	b->writable = writable;
	view = PyMemoryView_FromObject((PyObject *)b);
	if (view && h) {
		b->view = PyWeakref_NewRef(view, NULL);
		if (b->view)
			h->lent[h->lent[0] != NULL] = b;
		else
			Py_CLEAR(view);
	}
	Py_DECREF((PyObject *)b);
	return view;
}

/** The view that the user has of b raises from now on: 0, or -1 where something else still looks at the memory. */
static int emb_release(emb_batch *b)
{
	PyObject *view = PyWeakref_GetObject(b->view), *done;
	int busy;

	Py_INCREF((PyObject *)b);
	if (view && view != Py_None) {
		Py_INCREF(view);
		done = PyObject_CallMethod(view, "release", NULL);
		if (!done)
			PyErr_Clear();
		Py_XDECREF(done);
		Py_DECREF(view);
	}
	busy = b->exports > 0;
	if (!busy)
		b->data = NULL;
	Py_DECREF((PyObject *)b);
	return busy ? -1 : 0;
}

/** Take back what h has lent: 0, or -1 with BufferError. */
static int emb_take_back(emb_handle *h)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (h->lent[i] && emb_release(h->lent[i])) {
			PyErr_SetString(PyExc_BufferError, "an array or view of the last batch is still in use: "
					"delete it before the next call, or copy it");
			return -1;
		}
		h->lent[i] = NULL;
	}
	return 0;
}

/* Handles. */

/** Is somebody inside it, or what it is a part of?  Then it is told which of these is the farthest. */
static emb_handle *emb_inside(emb_handle *h)
{
	emb_handle *busy = h->uses > 0 && !h->kind->shared ? h : NULL;
	size_t i;

	for (i = 0; i < h->n_on; i++) {
		if (h->on[i]->uses > 0 && !h->on[i]->kind->shared)
			busy = h->on[i];
	}
	return busy;
}

static void emb_shut(emb_handle *h);

/** Streams are closed after those that are made of them, and what they are on after all of these. */
static int emb_has_users(const struct emb_kind *kind)
{
	return kind == &emb_kind_em_stream || kind == &emb_kind_em_sink;
}

/** Nothing of this kind is on these any more. */
static void emb_let(emb_handle **on, size_t n, const struct emb_kind *kind)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (emb_has_users(kind) && --on[i]->users == 0 && on[i]->closing && on[i]->uses == 0)
			emb_shut(on[i]);
		Py_DECREF((PyObject *)on[i]);
	}
	PyMem_Free(on);
}

static void emb_let_all(emb_handle *h)
{
	emb_handle **on = h->on;
	const size_t n = h->n_on;

	h->on = NULL;
	h->n_on = 0;
	emb_let(on, n, h->kind);
}

/** Close parts that came too early. */
static void emb_close_late(emb_handle *h)
{
	struct emb_late *late;

	while ((late = h->late)) {
		h->late = late->next;
		late->kind->close(late->object);
		emb_let(late->on, late->n_on, late->kind);
		PyMem_Free(late);
	}
}

/** Close what it has; nobody is inside. */
static void emb_shut(emb_handle *h)
{
	void *object = h->object;

	h->object = NULL;
	if (object) {
		PyObject *x[3];

		PyErr_Fetch(&x[0], &x[1], &x[2]);
		Py_BEGIN_ALLOW_THREADS
		h->kind->close(object);
		Py_END_ALLOW_THREADS
		PyErr_Restore(x[0], x[1], x[2]);
	}
	if (h->held) {
		PyBuffer_Release(h->held);
		PyMem_Free(h->held);
		h->held = NULL;
	}
	Py_CLEAR(h->keep);
	emb_let_all(h);
}

static PyObject *emb_handle_close(PyObject *self, PyObject *unused)
{
	emb_handle *h = (emb_handle *)self;

	(void)unused;
	if (!h->object || h->closing)
		return emb_none();
	if (h->uses > 0) {
		h->closing = 1;
		if (h->kind->cancel)
			h->kind->cancel(h->object);
		return emb_none();
	}
	if (emb_inside(h))
		return emb_refuse(EM_ERR_BUSY, "a call is in progress on what it is a part of");
	if (emb_take_back(h))
		return NULL;
	if (h->users > 0)
		h->closing = 1;
	else
		emb_shut(h);
	return emb_none();
}

static PyObject *emb_handle_cancel(PyObject *self, PyObject *unused)
{
	emb_handle *h = (emb_handle *)self;

	(void)unused;
	if (h->object && h->kind->cancel)
		h->kind->cancel(h->object);
	return emb_none();
}

static PyObject *emb_handle_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((emb_handle *)self)->object || ((emb_handle *)self)->closing);
}

static PyObject *emb_handle_kind(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((emb_handle *)self)->kind->name);
}

static void emb_form_clear(struct emb_form *f)
{
	int i;

	for (i = 0; i < EMB_FORM; i++)
		Py_CLEAR(f->of[i]);
}

static void emb_form_copy(struct emb_form *to, const struct emb_form *from)
{
	int i;

	*to = *from;
	for (i = 0; i < EMB_FORM; i++)
		Py_XINCREF(to->of[i]);
}

/** From an object with these attributes, and how many bytes a record has: 0, or -1 with an exception. */
static int emb_form_set(struct emb_form *to, PyObject *records)
{
	static const char *const names[EMB_FORM] = { NULL, "pack", "unpack", "many", "wrap" };
	PyObject *bytes = records ? PyObject_GetAttrString(records, "bytes") : NULL;
	struct emb_form f = { { NULL }, bytes ? PyLong_AsUnsignedLongLong(bytes) : 0 };
	int i;

	Py_XDECREF(bytes);
	for (i = EMB_PACK; i < EMB_FORM && !PyErr_Occurred(); i++)
		f.of[i] = PyObject_GetAttrString(records, names[i]);
	if (!records || PyErr_Occurred()) {
		emb_form_clear(&f);
		return -1;
	}
	f.of[EMB_TYPE] = records;
	Py_INCREF(records);
	emb_form_clear(to);
	*to = f;
	return 0;
}

/** What its records are has also the format of batches, and whether they are numbers. */
static int emb_handle_set_records(PyObject *self, PyObject *value, void *unused)
{
	emb_handle *h = (emb_handle *)self;
	PyObject *native;
	const char *code;

	(void)unused;
	if (emb_form_set(&h->form, value))
		return -1;
	if (h->kind->record_bytes && h->form.bytes != h->record_bytes) {
		PyErr_Format(PyExc_ValueError, "records of %llu bytes cannot stand for those of %llu",
			     (unsigned long long)h->form.bytes, (unsigned long long)h->record_bytes);
		emb_form_clear(&h->form);
		return -1;
	}
	h->record_bytes = h->form.bytes;
	native = PyObject_GetAttrString(value, "native");
	code = !native ? NULL : native == Py_None ? "B" : PyUnicode_AsUTF8AndSize(native, NULL);
	Py_XDECREF(h->format);
	h->format = code ? Py_BuildValue("(ny)", (Py_ssize_t)(native == Py_None ? 1 : h->record_bytes), code) : NULL;
	/* Truth is no number. */
	h->number = code && native != Py_None && *code != '?' ? *code : 0;
	Py_XDECREF(native);
	return h->format ? 0 : -1;
}

static PyObject *emb_handle_records(PyObject *self, void *unused)
{
	PyObject *records = ((emb_handle *)self)->form.of[EMB_TYPE];

	(void)unused;
	records = records ? records : Py_None;
	Py_INCREF(records);
	return records;
}

static int emb_handle_set_keys(PyObject *self, PyObject *value, void *unused)
{
	(void)unused;
	return emb_form_set(&((emb_handle *)self)->keys, value);
}

static PyObject *emb_handle_record_bytes(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((emb_handle *)self)->record_bytes);
}

static int emb_handle_traverse(PyObject *self, visitproc visit, void *arg)
{
	emb_handle *h = (emb_handle *)self;
	int i;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(h->keep);
	for (i = 0; i < EMB_FORM; i++) {
		Py_VISIT(h->form.of[i]);
		Py_VISIT(h->keys.of[i]);
	}
	return 0;
}

static int emb_handle_clear(PyObject *self)
{
	emb_handle *h = (emb_handle *)self;

	/* Its callbacks are about to go. */
	if (h->keep && h->uses == 0)
		emb_shut(h);
	return 0;
}

static void emb_handle_dealloc(PyObject *self)
{
	emb_handle *h = (emb_handle *)self, *busy;
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	if (h->object && (busy = emb_inside(h))) {
		struct emb_late *late = (struct emb_late *)PyMem_Malloc(sizeof *late);

		/* Without memory for that it stays open. */
		if (late) {
			late->object = h->object;
			late->kind = h->kind;
			late->on = h->on;
			late->n_on = h->n_on;
			h->on = NULL;
			h->n_on = 0;
			late->next = busy->late;
			busy->late = late;
		}
		h->object = NULL;
	}
	emb_shut(h);
	free(h->lend.ends);
	Py_CLEAR(h->format);
	emb_form_clear(&h->form);
	emb_form_clear(&h->keys);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyMethodDef emb_handle_methods[] = {
	{ "close", emb_handle_close, METH_NOARGS, NULL },
	{ "cancel", emb_handle_cancel, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL }
};
static PyGetSetDef emb_handle_getset[] = {
	{ "closed", emb_handle_closed, NULL, NULL, NULL },
	{ "kind", emb_handle_kind, NULL, NULL, NULL },
	{ "record_bytes", emb_handle_record_bytes, NULL, NULL, NULL },
	{ "records", emb_handle_records, emb_handle_set_records, NULL, NULL },
	{ "keys", NULL, emb_handle_set_keys, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};
static PyType_Slot emb_handle_slots[] = {
	{ Py_tp_dealloc, (void *)emb_handle_dealloc },
	{ Py_tp_traverse, (void *)emb_handle_traverse },
	{ Py_tp_clear, (void *)emb_handle_clear },
	{ Py_tp_methods, emb_handle_methods },
	{ Py_tp_getset, emb_handle_getset },
	{ 0, NULL }
};
static PyType_Spec emb_handle_spec = { "_extmem.Handle", sizeof(emb_handle), 0,
				       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				       emb_handle_slots };

/* What options of a call want to be kept by the object that it makes; and memory of the request that it makes. */
static __thread PyObject *emb_keep;
static __thread Py_buffer *emb_held;
/* The receiver, and the pool that options name: what a new object may be a part of. */
static __thread emb_handle *emb_first, *emb_pool;
/* All that the call is inside of but for what is shared: what a new stream is on. */
static __thread emb_handle **emb_entered;
static __thread size_t emb_n_entered, emb_room_entered;

/** Was the receiver closed by a function of the caller's, or another thread? */
static int emb_lost(void)
{
	return emb_first && emb_first->closing && !emb_first->kind->shared;
}

/** One more: 0, or -1 with an exception. */
static int emb_note(emb_handle *h)
{
	if (emb_n_entered == emb_room_entered) {
		const size_t room = emb_room_entered * 2 + 8;
		emb_handle **more = (emb_handle **)PyMem_Realloc(emb_entered, room * sizeof *more);

		if (!more) {
			PyErr_NoMemory();
			return -1;
		}
		emb_entered = more;
		emb_room_entered = room;
	}
	emb_entered[emb_n_entered++] = h;
	return 0;
}

/** h is on `to' from now on, and on what that is on; without `itself' that becomes a part of h, which keeps its
 *  callbacks.  0, or -1 with an exception. */
static int emb_put_on(emb_handle *h, emb_handle *to, int itself)
{
	const size_t n = h->n_on + to->n_on + (itself != 0);
	emb_handle **on = (emb_handle **)PyMem_Realloc(h->on, (n + 1) * sizeof *on);
	size_t i;

	if (!on) {
		PyErr_NoMemory();
		return -1;
	}
	h->on = on;
	if (itself)
		on[h->n_on++] = to;
	for (i = 0; i < to->n_on; i++)
		on[h->n_on++] = to->on[i];
	for (i = n - to->n_on - (itself != 0); i < n; i++) {
		Py_INCREF((PyObject *)on[i]);
		on[i]->users += emb_has_users(h->kind);
	}
	if (!itself && to->keep) {
		PyObject *both = PyTuple_Pack(2, h->keep ? h->keep : Py_None, to->keep);

		Py_XDECREF(h->keep);
		h->keep = both;
		return both ? 0 : -1;
	}
	return 0;
}

/** A new object is on what it was made of: 0, or -1 with an exception. */
static int emb_put_on_all(emb_handle *h, emb_handle *pool)
{
	size_t i;
	int failed = 0;

	if (emb_has_users(h->kind)) {
		for (i = 0; i < emb_n_entered && !failed; i++)
			failed = emb_put_on(h, emb_entered[i], emb_entered[i]->kind != &emb_kind_em_stream);
		return failed;
	}
	if (h->kind->part)
		return emb_put_on(h, emb_first, 1);
	return pool ? emb_put_on(h, pool, 1) : 0;
}

/** A handle for an object that a call has made; it takes over emb_keep and emb_held. */
static PyObject *emb_handle_new(void *object, const struct emb_kind *kind)
{
	emb_handle *h;
	int failed = 0;

	if (!object)
		return emb_none();
	h = PyObject_GC_New(emb_handle, emb_handle_type);
	if (!h) {
		kind->close(object);
		return NULL;
	}
	memset((char *)h + sizeof(PyObject), 0, sizeof *h - sizeof(PyObject));
	h->object = object;
	h->kind = kind;
	h->record_bytes = kind->record_bytes ? kind->record_bytes(object)
		: emb_call.order_bytes ? emb_call.order_bytes : emb_call.record_bytes;
	h->key_bytes = kind->key_bytes ? kind->key_bytes(object) : emb_call.key_bytes;
	/* Records of the same size are the same. */
	if (emb_call.kind && emb_form && emb_form->bytes == h->record_bytes && emb_handle_set_records((PyObject *)h,
										     emb_form->of[EMB_TYPE], NULL))
		failed = 1;
	if (kind->part && emb_call.kind && emb_keys)
		emb_form_copy(&h->keys, emb_keys);
	if (kind == &emb_kind_em_order)
		h->lines = emb_call.lines;
	h->keep = emb_keep;
	emb_keep = NULL;
	h->held = emb_held;
	emb_held = NULL;
	if (emb_put_on_all(h, emb_pool))
		failed = 1;
	emb_pool = NULL;
	PyObject_GC_Track((PyObject *)h);
	if (failed)
		Py_CLEAR(h);
	return (PyObject *)h;
}

/** The handle that an object is, or has: NULL with an exception. */
static emb_handle *emb_handle_of(PyObject *o, const struct emb_kind *kind)
{
	static PyObject *name;

	if (!name)
		name = PyUnicode_InternFromString("_h");
	if (Py_TYPE(o) == emb_handle_type)
		Py_INCREF(o);
	else
		o = name ? PyObject_GetAttr(o, name) : NULL;
	if (o && Py_TYPE(o) == emb_handle_type && ((emb_handle *)o)->kind == kind)
		return (emb_handle *)o;
	Py_XDECREF(o);
	PyErr_Format(PyExc_TypeError, "what is open and has an %s is wanted here", kind->name);
	return NULL;
}

/** Begin a call on what is behind an argument: the handle, or NULL with an exception.  tells: it only tells something,
 *  so what was lent stays lent. */
static emb_handle *emb_enter(PyObject *o, const struct emb_kind *kind, int tells)
{
	emb_handle *h = emb_handle_of(o, kind), *w;
	size_t i;

	if (!h)
		return NULL;
	Py_DECREF((PyObject *)h);
	if (!h->object || h->closing) {
		emb_refuse(EM_ERR_STATE, "it is closed");
		return NULL;
	}
	for (i = 0; i <= h->n_on; i++) {
		w = i < h->n_on ? h->on[i] : h;
		if (w->uses > 0 && !w->kind->shared && w->owner != &emb_call) {
			emb_refuse(EM_ERR_BUSY, "another thread is inside a call on it");
			return NULL;
		}
	}
	if (!tells && h->uses == 0 && (h->lent[0] || h->lent[1]) && emb_take_back(h))
		return NULL;
	if (!emb_call.kind)
		emb_n_entered = 0;
	if (!kind->shared && emb_note(h))
		return NULL;
	for (i = 0; i <= h->n_on; i++) {
		w = i < h->n_on ? h->on[i] : h;
		if (w->uses++ == 0)
			w->owner = &emb_call;
	}
	if (!emb_call.kind)
		emb_form = emb_keys = NULL;
	if (kind == &emb_kind_em_order) {
		emb_call.order_bytes = em_order_record_size((em_order *)h->object);
		emb_call.lines = h->lines;
	}
	if (!emb_form && h->form.of[EMB_TYPE])
		emb_form = &h->form;
	if (!emb_call.kind) {
		emb_call.kind = kind;
		emb_call.object = h->object;
		emb_call.lent = &h->lend;
		emb_call.record_bytes = h->record_bytes;
		emb_call.key_bytes = h->key_bytes ? h->key_bytes : h->record_bytes;
		emb_number = h->number;
		emb_keys = h->keys.of[EMB_TYPE] ? &h->keys : emb_form;
		emb_first = h;
	}
	Py_INCREF((PyObject *)h);
	return h;
}

/** The object that the receiver is a part of. */
static const void *emb_whole(void)
{
	return emb_first->n_on ? emb_first->on[0]->object : NULL;
}

/** End it. */
static void emb_leave(emb_handle *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i <= h->n_on; i++) {
		emb_handle *w = i < h->n_on ? h->on[i] : h;
		PyObject *x[3];

		if (--w->uses > 0 || (!w->closing && !w->late))
			continue;
		PyErr_Fetch(&x[0], &x[1], &x[2]);
		emb_close_late(w);
		if (w->closing && w->users == 0 && !emb_take_back(w))
			emb_shut(w);
		PyErr_Restore(x[0], x[1], x[2]);
	}
	/* A stream that has become a part of another one. */
	if (!h->object)
		emb_let_all(h);
	Py_DECREF((PyObject *)h);
}

/** The kinds of objects are made when the module is. */
static int emb_objects_init(void)
{
	emb_handle_type = (PyTypeObject *)PyType_FromSpec(&emb_handle_spec);
	emb_batch_type = (PyTypeObject *)PyType_FromSpec(&emb_batch_spec);
	return emb_handle_type && emb_batch_type ? 0 : -1;
}

#endif
