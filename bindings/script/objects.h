/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Handles, calls and functions of the caller's, for Lua, Perl, Ruby and Tcl alike.
 *
 * Each of these languages has a port.h with its values (values.h); all that decides something is here.  An
 * interpreter may leave a function by longjmp() wherever it makes a value.  So a wrapper owns nothing: memory for the
 * time of a call is the interpreter's, and handles are in use only while the library works, when nobody jumps.
 *
 * Call order in a wrapper: emb_begin(); emb_take() for each handle; conversions of the other arguments; emb_unmoved();
 * emb_enter(), the call, emb_leave() (EMB_WORK of a port); results.  Whatever calls back into the language
 * puts away the state of the call, and puts it back: emb_away(), emb_back().
 *
 * Streams that feed each other are parts of what has no object, their group.  It keeps the functions of nodes, and one
 * thread at a time is inside.  A node that has inputs of several groups makes them one.  The handle of an input is
 * closed when the node is made, and its object is the node's.  What streams and sinks are on, such as a container, runs
 * or a sorter, is of their group, too: it is closed after them, in whatever order the program closes or forgets them.
 */
#ifndef EMB_SCRIPT_OBJECTS_H
#define EMB_SCRIPT_OBJECTS_H

#include <stdio.h>
#include <stdlib.h>

#include "script/shape.h"

/** A function of the caller's, with what is to be known of its records. */
struct emb_fn {
	emb_kept callable;
	uint64_t record_bytes;   /**< Of records that it gets, ... */
	uint64_t other_bytes;    /**< ... of others beside them, and of those that it makes. */
	uint64_t out_bytes;
	struct emb_shape *shape; /**< Of the same, or NULL: they are bytes. */
	struct emb_shape *other, *to;
	int slot;                /**< Where a value has it, or that it has. */
	int form;                /**< EMB_MANY, ...: of a function of streams, ... */
	struct emb_made made;    /**< ... what it made, ... */
	size_t at;               /**< ... how much of that was used, ... */
	struct emb_fn *next;     /**< ... and others of its group, or of the call. */
	emb_handle *owner;       /**< Who keeps it, as a handle does with its progress; NULL: nobody but the library. */
	emb_handle *order;       /**< That compares, or has keys, by it, or NULL. */
};

/** Orders whose functions an object needs, as long as it lives. */
struct emb_orders {
	struct emb_orders *next;
	emb_handle *order;       /**< Held. */
};

/** What a language has of an object. */
struct emb_handle {
	void *object;                /**< NULL: it is closed. */
	const struct emb_kind *kind;
	const void *owner;           /**< The thread that is inside: the address of its emb_call. */
	uint32_t refs;               /**< The value of the language, parts of it, calls in progress. */
	uint32_t uses;               /**< Calls in progress. */
	int closing;                 /**< To be closed when there are none; 2: when what it waits for (`late') ends. */
	uint64_t record_bytes;       /**< Of its records ... */
	uint64_t key_bytes;          /**< ... and of keys; 0: it has none. */
	struct emb_shape *shape;     /**< Of its records, or NULL: they are bytes. */
	struct emb_fn *keep;         /**< Its progress, or NULL. */
	struct emb_fn *nodes;        /**< Of a group of streams, functions of its parts, ... */
	uint32_t streams, users;     /**< ... how many of these are open, and with sinks. */
	struct emb_lines lines;      /**< Of an order. */
	struct emb_orders *orders;   /**< Those that it was made with, of a group those of its parts. */
	struct emb_fn *fn;           /**< Of an order: its function, which the library frees, or NULL. */
	emb_handle *whole;           /**< What it is a part of (a cursor of its tree), or NULL. */
	struct emb_lent lend;        /**< The last batch. */
	emb_handle *late, *next;     /**< What waits until nobody is inside, or no stream is open; held. */
};

#define EMB_HANDLES 32

/** The call in progress, of this thread; what all languages know of it is emb_call. */
struct emb_now {
	emb_env *env;
	unsigned serial;                                 /**< Changes with each call. */
	int fresh;                                       /**< No argument was seen yet. */
	int lost;                                        /**< The receiver was closed by a function of the caller's. */
	int brief;                                       /**< It is about one record, or only tells something. */
	int failed;                                      /**< A function that compares or makes keys did. */
	uint32_t n;
	uint32_t used;                                   /**< So many it was given, when it is over. */
	struct { emb_handle *h; void *object; } in[EMB_HANDLES];
	uint32_t ninputs;
	emb_handle *inputs[EMB_HANDLES];                 /**< Streams that become a part of the one that is made, ... */
	emb_handle *group;                               /**< ... and what they all are a part of. */
	emb_handle *first;                               /**< The receiver. */
	emb_handle *held;                                /**< The same: its memory stays until the next call. */
	struct emb_shape *shape;                         /**< Of records of the object that is made ... */
	struct emb_fn *keep;                             /**< ... and what it is to keep. */
	emb_handle *order;                               /**< That was given, if it is of a function ... */
	struct emb_fn *fn;                               /**< ... or that of the order that is made. */
};

#ifdef __cplusplus
static thread_local struct emb_now emb_now;
static thread_local int emb_collecting; /* The interpreter frees things: it cannot be called. */
#else
static __thread struct emb_now emb_now;
static __thread int emb_collecting;
#endif

/* Errors. */

/** The call failed: the exception is pending. */
static void emb_raise(emb_env *env, em_status status)
{
	const em_errinfo e = *emb_failed(status);
	const uint64_t done = emb_call.done ? *emb_call.done : 0;

	emb_throw(env, &e, emb_call.done ? &done : NULL);
}

/** A failure that the binding finds: -1. */
static int emb_refuse(emb_env *env, em_status status, const char *text)
{
	memset(&emb_call.detail, 0, sizeof emb_call.detail);
	emb_call.detail.status = status;
	emb_call.detail.offset = UINT64_MAX;
	strncpy(emb_call.detail.text, text, sizeof emb_call.detail.text - 1);
	emb_raise(env, status);
	emb_call.detail.status = 0;
	return -1;
}

static emb_handle *emb_root(emb_handle *h)
{
	while (h->whole)
		h = h->whole;
	return h;
}

/** A stream or sink is opened, or closed. */
static void emb_count(emb_handle *h, int by)
{
	emb_handle *root = emb_root(h);

	root->users += (uint32_t)by;
	if (h->kind == &emb_kind_em_stream)
		root->streams += (uint32_t)by;
}

/** Streams that a call was given belong to what it has made. */
static void emb_consume(void)
{
	uint32_t i;

	for (i = 0; i < emb_now.ninputs; i++) {
		emb_now.inputs[i]->object = NULL;
		emb_count(emb_now.inputs[i], -1);
	}
}

/** What the status of a call means: 0, or -1 with a pending exception. */
static int emb_status(emb_env *env, em_status status)
{
	emb_call.status = status;
	emb_call.outputs = 0;
	if (status == EM_OK)
		emb_consume();
	if (emb_reraise(env))
		return -1;
	/* What it has lent is gone. */
	if (emb_now.lost && status == EM_OK)
		return emb_refuse(env, EM_ERR_STATE, "it was closed while it was at work");
	if (status >= 0)
		return 0;
	emb_raise(env, status);
	return -1;
}

/** Is there a value to tell?  A status that is positive takes the place of results: the first is nil. */
static int emb_tells(void)
{
	return emb_call.status == EM_OK;
}

/* Functions of the caller's. */

static void emb_fn_free(void *user)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (!f)
		return;
	if (f->order)
		f->order->fn = NULL;
	emb_unkeep(emb_now.env, f);
	emb_shape_unref(f->shape);
	emb_shape_unref(f->other);
	emb_shape_unref(f->to);
	free(f->made.p);
	free(f);
}

static void emb_fns_free(struct emb_fn *list)
{
	while (list) {
		struct emb_fn *next = list->next;

		emb_fn_free(list);
		list = next;
	}
}

/** A function is one of the call's, until something keeps it. */
static struct emb_fn *emb_fn_keep(struct emb_fn *f)
{
	if (f) {
		f->next = emb_now.keep;
		emb_now.keep = f;
	}
	return f;
}

static struct emb_fn *emb_fn_new(emb_env *env, emb_value callable, uint64_t record_bytes)
{
	struct emb_fn *f;

	if (!emb_is_function(env, callable)) {
		emb_wrong(env, "a function is wanted here");
		return NULL;
	}
	f = (struct emb_fn *)calloc(1, sizeof *f);
	if (!f) {
		emb_refuse(env, EM_ERR_NOMEM, "there is no memory for a function");
		return NULL;
	}
	f->record_bytes = record_bytes;
	emb_keep(env, f, callable);
	return f;
}

/* Handles. */

static void emb_unref(emb_env *env, emb_handle *h)
{
	emb_env *before = emb_now.env;

	while (h && --h->refs == 0) {
		emb_handle *whole = h->whole;
		struct emb_orders *o;

		while ((o = h->orders)) {
			h->orders = o->next;
			emb_unref(env, o->order);
			free(o);
		}
		if (h->fn)
			h->fn->order = NULL;
		emb_now.env = env;
		emb_fns_free(h->nodes);
		emb_now.env = before;
		emb_shape_unref(h->shape);
		free(h->lend.ends);
		free(h);
		h = whole;
	}
}

/** Is somebody inside it, or what it is a part of?  Then it is told which of these is the farthest. */
static emb_handle *emb_inside(emb_handle *h)
{
	emb_handle *busy = NULL;

	for (; h; h = h->whole) {
		if (h->uses > 0 && !h->kind->shared)
			busy = h;
	}
	return busy;
}

static int emb_flows(const struct emb_kind *kind)
{
	return kind == &emb_kind_em_stream || kind == &emb_kind_em_sink;
}

/** Is nothing on it, in this group?  Streams are on sinks, and both on containers. */
static int emb_free_of(const emb_handle *h, const emb_handle *root)
{
	return h->kind->part || h->kind == &emb_kind_em_stream || root->users == 0 ||
		(h->kind == &emb_kind_em_sink && root->streams == 0);
}

static void emb_close_late(emb_env *env, emb_handle *w);

/** Close what it has; nobody is inside. */
static void emb_shut(emb_env *env, emb_handle *h)
{
	emb_env *before = emb_now.env;
	void *object = h->object;

	h->object = NULL;
	emb_now.env = env;
	if (object)
		h->kind->close(object);
	emb_fns_free(h->keep);
	h->keep = NULL;
	emb_now.env = before;
	if (object && emb_flows(h->kind)) {
		emb_count(h, -1);
		emb_close_late(env, emb_root(h));
	}
}

/** Close what has waited for the end of a call on w, or of streams. */
static void emb_close_late(emb_env *env, emb_handle *w)
{
	emb_handle **at = &w->late, *h;

	while (w->uses == 0 && (h = *at)) {
		if (!emb_free_of(h, w)) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		emb_shut(env, h);
		emb_unref(env, h);
		at = &w->late;
	}
}

/** Close it now, or when nobody is inside of what it is a part of, and no stream is on it any more. */
static void emb_shut_soon(emb_env *env, emb_handle *h)
{
	emb_handle *to = emb_inside(h);

	if (!to && !emb_free_of(h, emb_root(h)))
		to = emb_root(h);
	if (!to) {
		emb_shut(env, h);
		return;
	}
	h->closing = 2;
	h->refs++;
	h->next = to->late;
	to->late = h;
}

/** Close it, or when the call in progress ends: 0, or -1 with an exception. */
static int emb_close(emb_env *env, emb_handle *h)
{
	if (!h->object || h->closing)
		return 0;
	if (h->uses > 0) {
		h->closing = 1;
		if (h->kind->cancel)
			h->kind->cancel(h->object);
		return 0;
	}
	if (emb_inside(h) && (h->kind == &emb_kind_em_stream || h->kind->part))
		return emb_refuse(env, EM_ERR_BUSY, "a call is in progress on what it is a part of");
	emb_shut_soon(env, h);
	return 0;
}

static int emb_closed(const emb_handle *h)
{
	return !h->object || h->closing;
}

/** The value of the language is gone. */
static void emb_drop(emb_env *env, emb_handle *h)
{
	if (h->object && h->uses > 0 && !h->closing)
		h->closing = 1;
	else if (h->object && !h->closing)
		emb_shut_soon(env, h);
	emb_unref(env, h);
}

/** h needs an order: 0, or -1, and there is no memory. */
static int emb_needs(emb_handle *h, emb_handle *order)
{
	struct emb_orders *o = order ? (struct emb_orders *)malloc(sizeof *o) : NULL;

	if (o) {
		o->order = order;
		o->next = h->orders;
		h->orders = o;
		order->refs++;
	}
	return order && !o ? -1 : 0;
}

/** What one is a part of becomes a part of the group `all'. */
static void emb_join_root(emb_handle *root, emb_handle *all)
{
	struct emb_orders **order = &all->orders;
	struct emb_fn **fn = &all->nodes, *f;
	emb_handle **late = &all->late;

	/* It may outlive its value. */
	for (f = root->keep; f; f = f->next)
		emb_pin(emb_now.env, f);
	while (*fn)
		fn = &(*fn)->next;
	*fn = root->keep;
	while (*fn)
		fn = &(*fn)->next;
	*fn = root->nodes;
	while (*late)
		late = &(*late)->next;
	*late = root->late;
	while (*order)
		order = &(*order)->next;
	*order = root->orders;
	root->orders = NULL;
	all->users += root->users;
	all->streams += root->streams;
	all->uses += root->uses;
	all->owner = &emb_call;
	all->refs++;
	root->nodes = root->keep = NULL;
	root->late = NULL;
	root->users = root->streams = 0;
	root->whole = all;
}

/** The streams, sinks and containers that the call was given become one group: NULL, if there is no memory.  What is
 *  shared, as a context, is of none. */
static emb_handle *emb_group(void)
{
	emb_handle *all = emb_now.group ? emb_root(emb_now.group) : NULL, *root;
	uint32_t i;

	for (i = 0; i < emb_now.used && !all; i++) {
		root = emb_root(emb_now.in[i].h);
		if (root->kind == &emb_kind_em_stream)
			all = root;
	}
	if (!all) {
		all = (emb_handle *)calloc(1, sizeof *all);
		if (all)
			all->kind = &emb_kind_em_stream;
	}
	for (i = 0; i < emb_now.used && all; i++) {
		root = emb_root(emb_now.in[i].h);
		if (root != all && !root->kind->shared)
			emb_join_root(root, all);
	}
	return emb_now.group = all;
}

/** The group of a stream or sink, which has its functions. */
static emb_handle *emb_join_group(void)
{
	emb_handle *group = emb_group();
	struct emb_fn **end = &emb_now.keep;

	if (!group)
		return NULL;
	while (*end)
		end = &(*end)->next;
	*end = group->nodes;
	group->nodes = emb_now.keep;
	emb_now.keep = NULL;
	return group;
}

/** A handle for an object that a call has made; it takes over what is to be kept.  NULL with an exception. */
static emb_handle *emb_handle_new(emb_env *env, void *object, const struct emb_kind *kind)
{
	const int flows = emb_flows(kind);
	emb_handle *h = (emb_handle *)calloc(1, sizeof *h);
	emb_handle *group = h && flows ? emb_join_group() : NULL;
	struct emb_fn *f;

	if (!h || (flows && !group) || emb_needs(flows ? group : h, emb_now.order)) {
		free(h);
		kind->close(object);
		emb_refuse(env, EM_ERR_NOMEM, "there is no memory for a handle");
		return NULL;
	}
	h->object = object;
	h->kind = kind;
	h->refs = 1;
	h->record_bytes = kind->record_bytes ? kind->record_bytes(object)
		: emb_call.order_bytes ? emb_call.order_bytes : emb_call.record_bytes;
	h->key_bytes = kind->key_bytes ? kind->key_bytes(object) : emb_call.key_bytes;
	h->keep = emb_now.keep;
	for (f = h->keep; f; f = f->next)
		f->owner = h;
	emb_now.keep = NULL;
	h->whole = kind->part ? emb_now.first : group;
	if (h->whole)
		h->whole->refs++;
	if (flows)
		emb_count(h, 1);
	if (kind == &emb_kind_em_order) {
		h->lines = emb_call.lines;
		h->fn = emb_now.fn;
		if (h->fn)
			h->fn->order = h;
	}
	/* Streams and sinks have that of what they are on. */
	h->shape = kind->part ? h->whole->shape : !emb_now.shape && flows && emb_now.first ? emb_now.first->shape
		: emb_now.shape;
	if (h->shape)
		h->shape->refs++;
	return h;
}

/* Calls. */

/** What is made has records of this shape; it is held as long as the call lasts. */
static void emb_set_shape(struct emb_shape *shape)
{
	struct emb_shape *before = emb_now.shape;

	if (shape)
		shape->refs++;
	emb_now.shape = shape;
	emb_shape_unref(before);
}

/** A wrapper begins; returns what emb_unmoved() asks for. */
static unsigned emb_begin(emb_env *env)
{
	if (!emb_now.fresh) {
		emb_end();
		emb_now.serial++;
		emb_now.fresh = 1;
		emb_now.brief = emb_now.lost = emb_now.failed = 0;
		emb_now.ninputs = 0;
		emb_now.group = NULL;
		emb_now.n = emb_now.used = 0;
		emb_now.env = env;
		emb_unref(env, emb_now.held);
		emb_now.first = emb_now.held = NULL;
		emb_fns_free(emb_now.keep);
		emb_now.keep = NULL;
		emb_now.order = NULL;
		emb_now.fn = NULL;
		emb_set_shape(NULL);
	}
	emb_now.env = env;
	return emb_now.serial;
}

/** Nobody may use it now: 0; otherwise -1 with an exception. */
static int emb_usable(emb_env *env, emb_handle *h)
{
	emb_handle *w;

	if (emb_closed(h) || (h->kind->part && emb_closed(h->whole)))
		return emb_refuse(env, EM_ERR_STATE, "it is closed");
	for (w = h; w; w = w->whole) {
		if (w->uses > 0 && !w->kind->shared && w->owner != &emb_call)
			return emb_refuse(env, EM_ERR_BUSY, "another thread is inside a call on it");
	}
	return 0;
}

/** The handle that an argument is, or NULL with an exception. */
static emb_handle *emb_take(emb_env *env, emb_value v, const struct emb_kind *kind)
{
	emb_handle *h = emb_handle_of(env, v);

	emb_now.fresh = 0;
	if (!h || h->kind != kind) {
		emb_wrong(env, "a handle of an %s is wanted here", kind->name);
		return NULL;
	}
	if (emb_usable(env, h))
		return NULL;
	if (emb_now.n == EMB_HANDLES) {
		emb_wrong(env, "there are too many handles");
		return NULL;
	}
	emb_now.in[emb_now.n].h = h;
	emb_now.in[emb_now.n++].object = h->object;
	if (kind == &emb_kind_em_order) {
		emb_call.order_bytes = em_order_record_size((em_order *)h->object);
		/* A node has that of its input. */
		if (emb_now.ninputs == 0)
			emb_set_shape(h->shape);
		emb_now.order = h->fn ? h : emb_now.order;
		emb_call.lines = h->lines;
	}
	if (!emb_call.kind) {
		emb_call.kind = kind;
		emb_call.object = h->object;
		emb_call.lent = &h->lend;
		emb_call.record_bytes = h->record_bytes;
		emb_call.key_bytes = h->key_bytes ? h->key_bytes : h->record_bytes;
		emb_now.first = h;
	}
	return h;
}

/** All arguments are there: has converting them called something else?  0, or -1 with an exception. */
static int emb_unmoved(emb_env *env, unsigned serial)
{
	return emb_now.serial == serial ? 0
		: emb_refuse(env, EM_ERR_BUSY, "an argument called the library when it was looked at");
}

/** The object that the receiver is a part of. */
static const void *emb_whole(void)
{
	return emb_now.first->whole->object;
}

/** Use the handles: 0, or -1 with an exception. */
static int emb_enter(emb_env *env)
{
	emb_handle *w;
	uint32_t i;

	emb_now.fresh = 0;
	for (i = 0; i < emb_now.n; i++) {
		if (emb_now.in[i].h->object != emb_now.in[i].object)
			return emb_refuse(env, EM_ERR_STATE, "it is closed");
		if (emb_usable(env, emb_now.in[i].h))
			return -1;
	}
	for (i = 0; i < emb_now.n; i++) {
		emb_now.in[i].h->refs++;
		for (w = emb_now.in[i].h; w; w = w->whole) {
			if (w->uses++ == 0)
				w->owner = &emb_call;
		}
	}
	return 0;
}

static void emb_leave_one(emb_env *env, emb_handle *h)
{
	emb_handle *w;

	for (w = h; w; w = w->whole) {
		if (--w->uses > 0)
			continue;
		emb_close_late(env, w);
		/* What has failed in it is asked for after that. */
		if (w->closing && emb_call.object && emb_call.object == w->object) {
			if (w->kind->error && emb_call.detail.status == 0)
				w->kind->error(w->object, &emb_call.detail);
			emb_call.kind = NULL;
			emb_call.object = NULL;
		}
		if (w->closing == 1)
			emb_shut_soon(env, w);
	}
	emb_unref(env, h);
}

static void emb_leave(emb_env *env)
{
	const uint32_t n = emb_now.n;
	uint32_t i;

	if (n > 0 && !emb_now.held) {
		emb_now.held = emb_now.first;
		emb_now.held->refs++;
	}
	emb_now.n = 0;
	emb_now.used = n;
	emb_now.lost = emb_now.first && emb_now.first->closing && !emb_now.first->kind->shared;
	for (i = 0; i < n; i++)
		emb_leave_one(env, emb_now.in[i].h);
}

/** Leave without the call: it is tried again (n stays). */
static void emb_pause(emb_env *env)
{
	const uint32_t n = emb_now.n;

	emb_leave(env);
	emb_now.n = n;
}

/** A function of the caller's is about to run, which may call the library again. */
struct emb_away {
	struct emb_call call;
	struct emb_now now;
	void *temps;
};

static void emb_put_away(struct emb_away *a)
{
	a->call = emb_call;
	a->now = emb_now;
	a->temps = emb_temps_away();
	emb_now.fresh = emb_now.failed = 0;
	emb_now.keep = NULL;
	emb_now.held = NULL;
	emb_now.shape = NULL;
	emb_now.n = emb_now.used = emb_now.ninputs = 0;
	emb_now.group = NULL;
	emb_now.order = NULL;
	emb_now.fn = NULL;
}

static void emb_put_back(const struct emb_away *a)
{
	const unsigned serial = emb_now.serial;
	struct emb_fn *keep = emb_now.keep;

	emb_unref(a->now.env, emb_now.held);
	emb_set_shape(NULL);
	emb_call = a->call;
	emb_now = a->now;
	emb_temps_back(a->temps);
	/* Numbers of calls are never used again; a call that was left in the middle leaves nothing. */
	emb_now.serial = serial;
	emb_fns_free(keep);
}

#endif
