/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Handles of languages that see an object as a number.
 *
 * A number names a place in a table, and how often that was used before, so that one that was closed is never another
 * one.  Any thread may close a handle: its object is canceled, if it can be, and closed when the call in progress ends.
 * A part, as a cursor is of its tree, may be collected while somebody is inside of the whole: then it is closed after
 * that.  Everything here is guarded by one lock, which nobody holds while the library works.
 *
 * Streams that feed each other are parts of what has no object, and no number: their group.  It keeps the functions of
 * nodes, and one thread at a time is inside.  A node that has inputs of several groups makes them one.  The handle of
 * an input is closed when the node is made, and its object is the node's.
 *
 * A group is on containers, sorters, runs and sinks that its streams use, and a sink on what it leads to.  Who is
 * inside of the one is inside of the other.  What something is on is closed for the program when it is closed, and in
 * fact behind the last that is on it.
 */
#ifndef EMB_HANDLE_H
#define EMB_HANDLE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "kinds.h"

#ifdef __cplusplus
#define EMB_THREAD thread_local
#else
#define EMB_THREAD __thread
#endif

/** A function of the caller's. */
struct emb_fn {
	uint64_t id;           /**< As the language knows it. */
	uint64_t record_bytes; /**< Of the records that it sees, ... */
	uint64_t other_bytes;  /**< ... of those that it sees beside them ... */
	uint64_t out_bytes;    /**< ... and of those that it makes. */
	int form;              /**< EMB_MANY, ... */
	struct emb_made made;  /**< What it made ... */
	size_t at;             /**< ... and how much of that was used. */
	struct emb_fn *next;   /**< Of those that a handle keeps. */
};

typedef struct emb_handle {
	uint64_t id;
	void *object;
	const struct emb_kind *kind;
	const void *owner;        /**< The thread that is inside: the address of its emb_call. */
	uint32_t uses;            /**< Calls in progress. */
	uint32_t refs;            /**< Of this memory: by the object, and by each part of it. */
	int closing;              /**< To be closed when nobody is inside, and nothing is on it; ... */
	int waits;                /**< ... it is among the late ones of another; ... */
	int shut;                 /**< ... that is being done. */
	uint64_t record_bytes;    /**< Of its records, ... */
	uint64_t key_bytes;       /**< ... and of keys; 0: it has none. */
	struct emb_lines lines;   /**< Of an order of lines. */
	struct emb_fn *keep;      /**< Functions that it uses: one that watches it, those of nodes. */
	struct emb_handle *whole; /**< What it is a part of, or NULL. */
	struct emb_on *on;        /**< What it is on, ... */
	uint32_t load;            /**< ... and how many are on it. */
	struct emb_handle *late;  /**< Those to be closed when nobody is inside of this, ... */
	struct emb_handle *next;  /**< ... by this link. */
	struct emb_lent lend;     /**< The last batch. */
} emb_handle;

struct emb_on {
	struct emb_on *next;
	emb_handle *what;
};

/** What is to be done when the lock is given back. */
struct emb_gone {
	struct emb_fn *fns;  /**< To be freed. */
	emb_handle *handles; /**< To be closed, by `next'. */
};

struct emb_slot {
	emb_handle *handle; /**< NULL: it is free. */
	uint64_t used;      /**< How often it was taken. */
	uint32_t next;      /**< Of those that are free, plus 1. */
};

enum { EMB_SLOT_BITS = 24, EMB_OUTS = 8 };

/** A result: where it is when the call ends, and what it is. */
struct emb_out {
	int kind;
	const void *at;
	const void *of; /**< The kind of a handle, the struct, ... */
	size_t bytes;
};

enum emb_out_kind {
	EMB_OUT_NUMBER, EMB_OUT_SIZE, EMB_OUT_INT, EMB_OUT_HANDLE, EMB_OUT_BYTES, EMB_OUT_BATCH, EMB_OUT_TOLD,
	EMB_OUT_SORT
};

/** A stream that becomes a part of the one that is made, or a sink that this will be on. */
struct emb_input {
	struct emb_input *next;
	emb_handle *handle;
};

/** Memory for the time of a call. */
struct emb_temp {
	struct emb_temp *next;
	uint64_t data[1];
};

/** What a call has besides emb_call. */
struct emb_now {
	int failed;            /**< A function that compares or makes keys did. */
	em_status refused;     /**< The call is not made, as an argument is wrong: its status. */
	int n;                 /**< Results. */
	struct emb_out out[EMB_OUTS];
	emb_handle *first;     /**< The receiver. */
	struct emb_fn *keep;   /**< Functions among the arguments; who has them sets this to NULL. */
	struct emb_temp *temp;
	struct emb_input *inputs;
	struct emb_input *sinks;
	emb_handle *group;     /**< Of the streams that it has made. */
};

static EMB_THREAD struct emb_now emb_now;

static pthread_mutex_t emb_lock = PTHREAD_MUTEX_INITIALIZER;
static struct emb_slot *emb_slots;
static uint32_t emb_nslots, emb_free_slot;

/** The language forgets a function. */
static void emb_up_release(uint64_t id);

static void emb_fn_free(void *user)
{
	struct emb_fn *fn = (struct emb_fn *)user;

	if (!fn)
		return;
	emb_up_release(fn->id);
	free(fn->made.p);
	free(fn);
}

static void emb_fns_free(struct emb_fn *list)
{
	while (list) {
		struct emb_fn *next = list->next;

		emb_fn_free(list);
		list = next;
	}
}

/** Keep a function for what the call makes. */
static struct emb_fn *emb_keep(struct emb_fn *fn)
{
	if (fn) {
		fn->next = emb_now.keep;
		emb_now.keep = fn;
	}
	return fn;
}

/** A failure that the binding finds: the call is not made. */
static void emb_refuse(em_status status, const char *text)
{
	if (emb_now.refused)
		return;
	emb_now.refused = status;
	/* What a function of the library has told is better. */
	if (emb_call.detail.status == status)
		return;
	memset(&emb_call.detail, 0, sizeof emb_call.detail);
	emb_call.detail.status = status;
	emb_call.detail.offset = UINT64_MAX;
	snprintf(emb_call.detail.text, sizeof emb_call.detail.text, "%s", text);
}

static void *emb_temp(size_t bytes)
{
	struct emb_temp *t = (struct emb_temp *)calloc(1, sizeof *t + bytes);

	if (!t) {
		emb_refuse(EM_ERR_NOMEM, "out of memory");
		return NULL;
	}
	t->next = emb_now.temp;
	emb_now.temp = t;
	return t->data;
}

/** What arguments have taken is given back; the same as often as one likes. */
static void emb_finish(void)
{
	struct emb_temp *t;

	while ((t = emb_now.temp)) {
		emb_now.temp = t->next;
		free(t);
	}
	emb_fns_free(emb_now.keep);
	memset(&emb_now, 0, sizeof emb_now);
	emb_end();
}

static void emb_out(int kind, const void *at, const void *of, size_t bytes)
{
	struct emb_out *o = &emb_now.out[emb_now.n++];

	o->kind = kind;
	o->at = at;
	o->of = of;
	o->bytes = bytes;
}

/* Of the table: the lock is held. */

static emb_handle *emb_find(uint64_t id)
{
	const uint64_t i = id & ((UINT64_C(1) << EMB_SLOT_BITS) - 1);

	return i < emb_nslots && emb_slots[i].handle && emb_slots[i].handle->id == id ? emb_slots[i].handle : NULL;
}

static int emb_more_slots(void)
{
	const uint32_t n = emb_nslots ? 2 * emb_nslots : 64;
	struct emb_slot *more;
	uint32_t i;

	if (n > UINT32_C(1) << EMB_SLOT_BITS)
		return -1;
	more = (struct emb_slot *)realloc(emb_slots, n * sizeof *more);
	if (!more)
		return -1;
	for (i = emb_nslots; i < n; i++) {
		more[i].handle = NULL;
		more[i].used = 1;
		more[i].next = i + 1 < n ? i + 2 : emb_free_slot;
	}
	emb_free_slot = emb_nslots + 1;
	emb_slots = more;
	emb_nslots = n;
	return 0;
}

static int emb_put(emb_handle *h)
{
	struct emb_slot *s;

	if (!emb_free_slot && emb_more_slots())
		return -1;
	s = &emb_slots[emb_free_slot - 1];
	h->id = s->used << EMB_SLOT_BITS | (emb_free_slot - 1);
	s->handle = h;
	emb_free_slot = s->next;
	return 0;
}

static void emb_take_out(emb_handle *h)
{
	const uint32_t i = (uint32_t)(h->id & ((UINT64_C(1) << EMB_SLOT_BITS) - 1));
	struct emb_slot *s = &emb_slots[i];

	s->handle = NULL;
	/* Numbers fit 53 bits, which any language has: then the place is not used any more. */
	if (++s->used < UINT64_C(1) << (53 - EMB_SLOT_BITS)) {
		s->next = emb_free_slot;
		emb_free_slot = i + 1;
	}
}

/** Where somebody is inside: of it, of what it is a part of, or of what it is on. */
static emb_handle *emb_inside(emb_handle *h)
{
	emb_handle *busy = NULL, *below;
	const struct emb_on *o;

	for (; h; h = h->whole) {
		for (o = h->on; o; o = o->next) {
			below = emb_inside(o->what);
			busy = below ? below : busy;
		}
		if (h->uses > 0 && !h->kind->shared)
			busy = h;
	}
	return busy;
}

/** May this thread come in? */
static int emb_usable(const emb_handle *h)
{
	const struct emb_on *o;

	for (; h; h = h->whole) {
		if (h->uses > 0 && !h->kind->shared && h->owner != &emb_call)
			return 0;
		for (o = h->on; o; o = o->next) {
			if (!emb_usable(o->what))
				return 0;
		}
	}
	return 1;
}

static void emb_use(emb_handle *h, uint32_t n)
{
	const struct emb_on *o;

	for (; h && n; h = h->whole) {
		if (h->uses == 0)
			h->owner = &emb_call;
		h->uses += n;
		for (o = h->on; o; o = o->next)
			emb_use(o->what, n);
	}
}

/** If it is to be closed, and can be, it is added to a list; or it waits for who is inside of something else. */
static void emb_due(emb_handle *h, emb_handle **list)
{
	emb_handle *busy;

	if (!h->closing || h->uses || h->load || h->waits || h->shut)
		return;
	busy = emb_inside(h);
	if (busy) {
		h->waits = 1;
		list = &busy->late;
	} else {
		h->shut = 1;
	}
	h->next = *list;
	*list = h;
}

static void emb_unuse(emb_handle *h, emb_handle **list)
{
	const struct emb_on *o;
	emb_handle *late, *next;

	for (; h; h = h->whole) {
		for (o = h->on; o; o = o->next)
			emb_unuse(o->what, list);
		if (--h->uses > 0)
			continue;
		if (h->closing && h->id) {
			emb_take_out(h);
			h->id = 0;
		}
		late = h->late;
		h->late = NULL;
		for (; late; late = next) {
			next = late->next;
			late->waits = 0;
			emb_due(late, list);
		}
		emb_due(h, list);
	}
}

/** Put one on another: 0, or -1 and there is no memory. */
static int emb_put_on(emb_handle *h, emb_handle *what)
{
	struct emb_on *o = (struct emb_on *)calloc(1, sizeof *o);

	if (!o)
		return -1;
	o->what = what;
	o->next = h->on;
	h->on = o;
	what->load++;
	what->refs++;
	emb_use(what, h->uses);
	return 0;
}

/* What nobody has any more is added to `gone'. */
static void emb_unref(emb_handle *h, struct emb_gone *gone)
{
	while (h && --h->refs == 0) {
		emb_handle *whole = h->whole;

		while (h->keep) {
			struct emb_fn *fn = h->keep;

			h->keep = fn->next;
			fn->next = gone->fns;
			gone->fns = fn;
		}
		while (h->on) {
			struct emb_on *o = h->on;

			h->on = o->next;
			o->what->load--;
			/* Its object has a reference. */
			o->what->refs--;
			emb_due(o->what, &gone->handles);
			free(o);
		}
		free(h->lend.ends);
		free(h);
		h = whole;
	}
}

/* Without the lock: close what is out of the table, one after the other by `next'. */
static void emb_shut(emb_handle *h)
{
	while (h) {
		struct emb_gone gone = { NULL, h->next };

		if (h->object)
			h->kind->close(h->object);
		pthread_mutex_lock(&emb_lock);
		emb_unref(h, &gone);
		pthread_mutex_unlock(&emb_lock);
		emb_fns_free(gone.fns);
		h = gone.handles;
	}
}

/* Of streams: the lock is held. */

static emb_handle *emb_root(emb_handle *h)
{
	while (h->whole)
		h = h->whole;
	return h;
}

/** Two groups become one: who is inside of the one is inside of the other. */
static void emb_unite(emb_handle *all, emb_handle *root)
{
	const uint32_t inside = all->uses;
	struct emb_fn **fns = &all->keep;
	struct emb_on **on = &all->on;

	for (; *on; on = &(*on)->next)
		emb_use((*on)->what, root->uses);
	*on = root->on;
	root->on = NULL;
	for (; *on; on = &(*on)->next)
		emb_use((*on)->what, inside);
	while (*fns)
		fns = &(*fns)->next;
	*fns = root->keep;
	root->keep = NULL;
	root->whole = all;
	all->refs++;
	all->uses += root->uses;
	all->owner = &emb_call;
}

/** The group of a stream that is made: a new one, or that of its inputs, which become one.  NULL: no memory. */
static emb_handle *emb_group(void)
{
	emb_handle *all = emb_now.group, *root;
	const struct emb_input *in;

	for (in = emb_now.inputs; in; in = in->next) {
		root = emb_root(in->handle);
		all = all ? emb_root(all) : root;
		if (root != all)
			emb_unite(all, root);
	}
	if (!all) {
		all = (emb_handle *)calloc(1, sizeof *all);
		if (!all)
			return NULL;
		all->kind = &emb_kind_em_stream;
	}
	return emb_now.group = all;
}

/** The streams that a call was given belong to what it has made. */
static void emb_consume(void)
{
	const struct emb_input *in;

	pthread_mutex_lock(&emb_lock);
	for (in = emb_now.inputs; in; in = in->next) {
		in->handle->object = NULL;
		in->handle->closing = 1;
	}
	pthread_mutex_unlock(&emb_lock);
}

static void emb_input(emb_handle *h, struct emb_input **list)
{
	struct emb_input *in = h ? (struct emb_input *)emb_temp(sizeof *in) : NULL;

	if (in) {
		in->handle = h;
		in->next = *list;
		*list = in;
	}
}

static int emb_flows(const struct emb_kind *kind)
{
	return kind == &emb_kind_em_stream || kind == &emb_kind_em_sink;
}

/** A place in the table, and in what it is a part of, which has its functions; and on what it is: 0, or -1. */
static int emb_place(emb_handle *h)
{
	const struct emb_input *in;
	emb_handle *to = h;

	if (h->kind == &emb_kind_em_stream) {
		to = h->whole = emb_group();
		if (!to)
			return -1;
	} else if (h->kind->part) {
		h->whole = emb_now.first;
	}
	if (h->whole)
		h->whole->refs++;
	if (emb_flows(h->kind) && !emb_now.first->kind->shared && !emb_flows(emb_now.first->kind) &&
	    emb_put_on(to, emb_now.first))
		return -1;
	for (in = emb_now.sinks; in; in = in->next) {
		if (emb_put_on(to, in->handle))
			return -1;
	}
	if (emb_put(h))
		return -1;
	while (emb_now.keep) {
		struct emb_fn *fn = emb_now.keep;

		emb_now.keep = fn->next;
		fn->next = to->keep;
		to->keep = fn;
	}
	return 0;
}

/** A handle for an object that a call has made, which takes over emb_now.keep; 0: there is no memory, or no object. */
static uint64_t emb_handle_new(void *object, const struct emb_kind *kind)
{
	emb_handle *h = (emb_handle *)calloc(1, sizeof *h);
	int failed;

	if (!h) {
		kind->close(object);
		return 0;
	}
	h->object = object;
	h->kind = kind;
	h->refs = 1;
	h->record_bytes = kind->record_bytes ? kind->record_bytes(object)
		: emb_call.order_bytes ? emb_call.order_bytes : emb_call.record_bytes;
	h->key_bytes = kind->key_bytes ? kind->key_bytes(object) : emb_call.key_bytes;
	if (kind == &emb_kind_em_order)
		h->lines = emb_call.lines;
	pthread_mutex_lock(&emb_lock);
	failed = emb_place(h);
	pthread_mutex_unlock(&emb_lock);
	if (!failed)
		return h->id;
	emb_now.group = NULL;
	h->next = NULL;
	emb_shut(h);
	return 0;
}

/** Begin a call on what is behind a number: the object, or NULL and a refusal. */
static void *emb_enter(uint64_t id, const struct emb_kind *kind, emb_handle **held)
{
	emb_handle *h;

	pthread_mutex_lock(&emb_lock);
	h = emb_find(id);
	if (!h || h->kind != kind || h->closing || (kind->part && h->whole && h->whole->closing)) {
		pthread_mutex_unlock(&emb_lock);
		emb_refuse(h && h->kind != kind ? EM_ERR_INVAL : EM_ERR_STATE,
			   h && h->kind != kind ? "the handle is of another kind" : "it is closed");
		return NULL;
	}
	if (!emb_usable(h)) {
		pthread_mutex_unlock(&emb_lock);
		emb_refuse(EM_ERR_BUSY, "another thread is inside a call on it");
		return NULL;
	}
	emb_use(h, 1);
	pthread_mutex_unlock(&emb_lock);
	*held = h;
	if (kind == &emb_kind_em_order) {
		emb_call.order_bytes = em_order_record_size((em_order *)h->object);
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
	return h->object;
}

/** The object that the receiver is a part of. */
static const void *emb_whole(void)
{
	return emb_now.first->whole->object;
}

/** End it. */
static void emb_leave(emb_handle *h)
{
	emb_handle *done = NULL;

	if (!h)
		return;
	pthread_mutex_lock(&emb_lock);
	emb_unuse(h, &done);
	pthread_mutex_unlock(&emb_lock);
	emb_shut(done);
}

/** Close it: 1; 0: somebody is inside of what it is a part of, or on.  collected: nobody has it any more, so it is
 *  closed then.  One that is closed already is closed. */
static int emb_close(uint64_t id, int collected)
{
	emb_handle *h, *due = NULL;
	int done = 1;

	pthread_mutex_lock(&emb_lock);
	h = emb_find(id);
	if (h && !h->closing && h->uses > 0) {
		h->closing = 1;
		if (h->kind->cancel)
			h->kind->cancel(h->object);
	} else if (h && !h->closing && !collected && emb_inside(h)) {
		done = 0;
	} else if (h && !h->closing) {
		emb_take_out(h);
		h->id = 0;
		h->closing = 1;
		emb_due(h, &due);
	}
	pthread_mutex_unlock(&emb_lock);
	emb_shut(due);
	return done;
}

/** Cancel it, if it can be: any thread. */
static void emb_cancel(uint64_t id)
{
	emb_handle *h;

	pthread_mutex_lock(&emb_lock);
	h = emb_find(id);
	if (h && h->kind->cancel)
		h->kind->cancel(h->object);
	else if (h && h->kind == &emb_kind_em_ctx)
		em_ctx_cancel((em_ctx *)h->object);
	pthread_mutex_unlock(&emb_lock);
}

static int emb_is_open(uint64_t id)
{
	emb_handle *h;
	int open;

	pthread_mutex_lock(&emb_lock);
	h = emb_find(id);
	open = h && !h->closing;
	pthread_mutex_unlock(&emb_lock);
	return open;
}

#endif
