/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ahead.c -- a stage with a thread of its own, which pulls the input while the program works on what came before.
 *
 * There are some slots.  The thread fills one after the other; who pulls the stream is lent the oldest, and it is free
 * with the next pull.  Counts of slots that were filled and that were taken, under a lock, are all that the two share:
 * the input is the thread's from the first pull to the end, and then the program's again.
 *
 * The thread hands over what it has, though the slot is not full, when somebody waits for it.  It ends when its input
 * does, with success or not.  If that failure was mild the next pull starts another thread.  Where the system has none
 * to give, the program's thread fills slots itself.
 *
 * Of records of any length a slot has their ends, and text beside them, which grows for a record that is longer than it
 * is to be.
 */
#include <pthread.h>
#include <string.h>

#include "base/condition.h"
#include "base/context.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "flow/graph.h"
#include "flow/lines.h"

#define SLOTS 3u
#define TICK 0.1                /* seconds that it waits at a time, if somebody listens */
#define SLOT_BYTES ((uint64_t)64 << 10)
#define ENDS_SHARE 4u           /* of a slot of records of any length: what ends have */
#define STACK_BYTES ((size_t)256 << 10) /* functions of the caller's run here */

typedef struct ahead {
	em_stream s;
	uint64_t wanted;        /* bytes of all slots; 0: chosen */
	char *slot;             /* SLOTS of them; NULL: not yet */
	size_t each;            /* records of a slot */
	emi_text_room text[SLOTS]; /* of any length: of its records, ... */
	size_t text_bytes;      /* ... so many bytes, but for a longer one */
	size_t n[SLOTS];        /* records in it */
	int synced;             /* lock and change were made */
	int running;            /* there is a thread to be joined */
	int lent;               /* the oldest slot is with the caller */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	/* Under the lock. */
	uint64_t filled, taken; /* slots */
	int waiting;            /* somebody waits for the next one; also read without the lock */
	int stop;
	em_status status;       /* how the input ended, or there was no memory; EM_OK: it goes on */
	int own;                /* that is no failure of the input */
	em_errinfo failure;
} ahead;

static size_t slot_bytes(const ahead *a)
{
	return a->each * a->s.record;
}

/* Records in hand go to a slot, some, behind n others, as far as there is room: *took.  Of one size: */
static em_status copy(ahead *a, size_t slot, size_t n, size_t some, size_t *took, em_errinfo *err)
{
	em_stream *in = a->s.input[0];

	(void)err;
	memcpy(a->slot + slot * slot_bytes(a) + n * in->record, in->source.at, some * in->record);
	in->source.at += some * in->record;
	*took = some;
	return EM_OK;
}

/* ... and of any. */
static em_status copy_lines(ahead *a, size_t slot, size_t n, size_t some, size_t *took, em_errinfo *err)
{
	em_stream *in = a->s.input[0];
	emi_text_room *room = &a->text[slot];
	uint64_t *ends = (uint64_t *)(void *)(a->slot + slot * slot_bytes(a));
	const size_t before = n != 0 ? (size_t)ends[n - 1] : 0;
	const size_t left = before < a->text_bytes ? a->text_bytes - before : 0;
	em_status st;
	em_batch b;

	*took = 0;
	emi_lines_look(in, ends + n, some, &b);
	while (b.n != 0 && b.ends[b.n - 1] > left)
		b.n--;
	if (b.n == 0 && n != 0)
		return EM_OK;
	/* One that is longer. */
	b.n += b.n == 0;
	b.bytes = (size_t)b.ends[b.n - 1];
	st = emi_text_room_need(room, a->s.object.ctx, b.bytes > a->text_bytes ? b.bytes : a->text_bytes, before, err);
	if (st != EM_OK)
		return st;
	if (b.bytes != 0)
		memcpy(room->at + before, b.records, b.bytes);
	for (some = 0; some < b.n; some++)
		ends[n + some] += before;
	in->source.at += b.n * in->record;
	*took = b.n;
	return EM_OK;
}

/* Records of the input go to a slot: all that there is room for, or what there is, if it is wanted now. */
static em_status fill(ahead *a, size_t slot, size_t *n, em_errinfo *err)
{
	em_stream *in = a->s.input[0];
	em_status st = EM_OK;
	size_t some = 1;

	for (*n = 0; some != 0 && *n < a->each; *n += some) {
		if (*n != 0 && in->source.at == in->source.end && __atomic_load_n(&a->waiting, __ATOMIC_RELAXED))
			break;
		st = emi_stream_need(in, err);
		if (st != EM_OK)
			break;
		some = emi_stream_hand(in);
		if (some > a->each - *n)
			some = a->each - *n;
		st = in->varied ? copy_lines(a, slot, *n, some, &some, err) : copy(a, slot, *n, some, &some, err);
		a->own = st != EM_OK;
		if (st != EM_OK)
			break;
	}
	return st;
}

/* The lock is held: n records are in a slot, and the input is at st. */
static void hand_over(ahead *a, size_t n, em_status st, const em_errinfo *err)
{
	if (n != 0)
		a->n[a->filled++ % SLOTS] = n;
	a->status = st;
	if (st < EM_OK)
		a->failure = *err;
}

static void *work(void *arg)
{
	ahead *a = arg;
	em_errinfo err;

	emi_thread_enter();
	emi_errinfo_clear(&err);
	pthread_mutex_lock(&a->lock);
	while (!a->stop && a->status == EM_OK) {
		const size_t slot = (size_t)(a->filled % SLOTS);
		em_status st;
		size_t n;

		if (a->filled - a->taken == SLOTS) {
			pthread_cond_wait(&a->change, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		st = fill(a, slot, &n, &err);
		pthread_mutex_lock(&a->lock);
		hand_over(a, n, st, &err);
		pthread_cond_broadcast(&a->change);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static em_status get_memory(ahead *a, em_errinfo *err)
{
	uint64_t bytes = a->wanted != 0 ? a->wanted / SLOTS : SLOT_BYTES;

	if (a->slot != NULL)
		return EM_OK;
	if (a->s.varied) {
		a->text_bytes = (size_t)(bytes - bytes / ENDS_SHARE);
		bytes /= ENDS_SHARE;
	}
	a->each = bytes > a->s.record ? (size_t)(bytes / a->s.record) : 1;
	if (a->s.most != 0 && a->s.most < a->each)
		a->each = a->s.most;
	a->slot = emi_buffer_alloc(a->s.object.ctx, SLOTS * slot_bytes(a), err);
	return a->slot != NULL ? EM_OK : err->status;
}

/* Have a lock.  0: the system has none. */
static int sync_with(ahead *a)
{
	if (a->synced)
		return 1;
	if (pthread_mutex_init(&a->lock, NULL) != 0)
		return 0;
	a->synced = emi_cond_init(&a->change) == 0;
	if (!a->synced)
		pthread_mutex_destroy(&a->lock);
	return a->synced;
}

static void join(ahead *a)
{
	if (!a->running)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = 1;
	pthread_cond_broadcast(&a->change);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	a->running = 0;
}

static void start(ahead *a)
{
	int error;

	a->stop = 0;
	a->status = EM_OK;
	error = sync_with(a) ? emi_thread_start(&a->thread, emi_thread_stack(STACK_BYTES), work, a) : -1;
	a->running = error == 0;
	if (!a->running)
		emi_log(a->s.object.ctx, EM_LOG_INFO, "a stream reads ahead without a thread: none could be started");
}

/* Without a thread: fill a slot here. */
static em_status fill_here(ahead *a, em_errinfo *err)
{
	em_status st;
	size_t n;

	if (a->status != EM_OK)
		return a->status;
	__atomic_store_n(&a->waiting, 1, __ATOMIC_RELAXED);
	st = fill(a, (size_t)(a->filled % SLOTS), &n, err);
	hand_over(a, n, st, err);
	return EM_OK;
}

/* Wait until something changes.  A program that listens to the graph hears of it meanwhile. */
static em_status wait_for_change(ahead *a, em_errinfo *err)
{
	em_status st;

	if (!emi_graph_listens(&a->s)) {
		pthread_cond_wait(&a->change, &a->lock);
		return EM_OK;
	}
	emi_cond_wait_until(&a->change, &a->lock, emi_now() + TICK);
	pthread_mutex_unlock(&a->lock);
	st = emi_graph_tick(&a->s, err);
	pthread_mutex_lock(&a->lock);
	return st;
}

/* Wait until there is a slot, or the input has ended: *there: there is one.  EM_ERR_CANCELED. */
static em_status wait_for_slot(ahead *a, int *there, em_errinfo *err)
{
	em_status st = EM_OK;

	pthread_mutex_lock(&a->lock);
	if (a->lent)
		a->taken++;
	a->lent = 0;
	__atomic_store_n(&a->waiting, 1, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&a->change);
	while (st == EM_OK && a->filled == a->taken && a->status == EM_OK)
		st = wait_for_change(a, err);
	__atomic_store_n(&a->waiting, 0, __ATOMIC_RELAXED);
	*there = a->filled != a->taken;
	pthread_mutex_unlock(&a->lock);
	return st;
}

/* The input has ended, and all slots were lent. */
static em_status ended(ahead *a, em_errinfo *err)
{
	const em_status st = a->status;

	join(a);
	if (st >= EM_OK)
		return st;
	*err = a->failure;
	/* Nothing is wrong with the input: it goes on. */
	__atomic_store_n(&a->s.mild, !a->own && a->s.input[0]->status == EM_OK, __ATOMIC_RELAXED);
	if (a->s.mild)
		a->status = EM_OK;
	return st;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	ahead *a = (ahead *)(void *)s;
	em_status st = get_memory(a, err);
	size_t slot;
	int there = 0;

	if (st != EM_OK)
		return st;
	if (!a->running && a->status == EM_OK)
		start(a);
	if (a->running) {
		st = wait_for_slot(a, &there, err);
		if (st != EM_OK)
			return st;
	} else {
		a->taken += a->lent != 0;
		a->lent = 0;
		while (a->filled == a->taken && a->status == EM_OK)
			(void)fill_here(a, err);
		there = a->filled != a->taken;
	}
	if (!there)
		return ended(a, err);
	slot = (size_t)(a->taken % SLOTS);
	s->source.at = a->slot + slot * slot_bytes(a);
	s->source.end = s->source.at + a->n[slot] * s->record;
	if (s->varied)
		emi_lines_show(s, a->text[slot].at, (const uint64_t *)(const void *)s->source.at, a->n[slot]);
	a->lent = 1;
	return EM_OK;
}

/* In a child of a fork there is no thread, and nobody knows who had the lock. */
static void retire(em_stream *s)
{
	ahead *a = (ahead *)(void *)s;
	size_t i;

	if (!emi_ctx_forked(s->object.ctx)) {
		join(a);
		if (a->synced) {
			pthread_cond_destroy(&a->change);
			pthread_mutex_destroy(&a->lock);
		}
	}
	a->synced = 0;
	if (a->slot != NULL)
		emi_buffer_free(s->object.ctx, a->slot, SLOTS * slot_bytes(a));
	a->slot = NULL;
	for (i = 0; i < SLOTS; i++)
		emi_text_room_free(&a->text[i], s->object.ctx);
}

em_status em_stream_ahead(em_stream **out, em_stream *in, uint64_t buffer_bytes, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "ahead", EMI_STREAM_THREAD | EMI_STREAM_VARIED };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK && buffer_bytes > SIZE_MAX / 2)
		st = emi_fail(&err, EM_ERR_RANGE, "a buffer of more bytes than memory can have");
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(ahead), &kind, in->record, &in, 1, emi_stream_left(in), &err);
	if (s != NULL) {
		const uint64_t each = buffer_bytes != 0 ? buffer_bytes / SLOTS : SLOT_BYTES;

		((ahead *)(void *)s)->wanted = buffer_bytes;
		s->claim = SLOTS * (each > s->record ? each : s->record) + STACK_BYTES;
		s->apart = 1;
		if (in->varied)
			emi_stream_vary(s);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}
