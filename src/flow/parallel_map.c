/* SPDX-License-Identifier: BSL-1.0 */
/*
 * parallel_map.c -- a map whose function runs on all threads of the context, a batch on each.
 *
 * Records of the input are copied to slots, as its window is gone when more of it is asked for, and each slot is a task
 * for the workers (base/workers.h).  Who pulls fills all slots that are free, and then waits for the oldest one, or
 * takes any that is done.  Waiting works on tasks itself, so a context of one thread needs nothing else.
 *
 * The input is asked again whenever there is a free slot.  So its end or failure is told when all slots were lent.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/workers.h"
#include "flow/stream.h"

#define SLOT_BYTES ((size_t)64 << 10) /* of the larger of input and output */
#define SLOTS_PER_THREAD 2u

typedef struct slot {
	emi_task task;
	const struct parallel_map *map;
	uint64_t number;        /* of its batch, from 1; 0: it is free */
	size_t n;               /* records */
	char *from, *to;
	int failed;             /* what the function returned */
} slot;

typedef struct parallel_map {
	em_stream s;
	em_map_fn fn;
	void *user;
	int unordered;
	uint32_t slots;
	slot *slot;             /* NULL: not yet, or no more */
	char *memory;           /* of all records */
	size_t memory_bytes;
	size_t each;            /* records of a slot */
	uint64_t number;        /* batches so far */
	slot *lent;             /* NULL: none is */
} parallel_map;

static void work(void *arg)
{
	slot *t = arg;

	t->failed = t->map->fn(t->map->user, t->from, t->n, t->to);
}

static size_t records_of_slot(const parallel_map *m)
{
	const size_t in = m->s.input[0]->record, larger = in > m->s.record ? in : m->s.record;
	const size_t n = larger < SLOT_BYTES ? SLOT_BYTES / larger : 1;

	return m->s.most != 0 && m->s.most < n ? m->s.most : n;
}

/* Space of a slot, so that records in it are aligned. */
static size_t page_up(size_t bytes)
{
	return (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

static uint32_t slots(em_ctx *ctx)
{
	const uint32_t threads = em_ctx_threads(ctx);

	return SLOTS_PER_THREAD * (threads != 0 ? threads : 1);
}

static em_status get_memory(parallel_map *m, em_errinfo *err)
{
	em_ctx *ctx = m->s.object.ctx;
	size_t in, out;
	em_status st;
	uint32_t i;

	if (m->slot != NULL)
		return EM_OK;
	m->each = records_of_slot(m);
	in = page_up(m->each * m->s.input[0]->record);
	out = page_up(m->each * m->s.record);
	m->slots = slots(ctx);
	m->memory_bytes = m->slots * (in + out);
	st = emi_workers_start(ctx, err);
	if (st != EM_OK)
		return st;
	m->memory = emi_buffer_alloc(ctx, m->memory_bytes, err);
	m->slot = m->memory != NULL ? emi_alloc_array(ctx, m->slots, sizeof *m->slot, err) : NULL;
	for (i = 0; m->slot != NULL && i < m->slots; i++) {
		m->slot[i].map = m;
		m->slot[i].from = m->memory + i * (in + out);
		m->slot[i].to = m->slot[i].from + in;
	}
	return m->slot != NULL ? EM_OK : err->status;
}

/* Records in hand become the next batch. */
static void submit(parallel_map *m, slot *t)
{
	em_stream *in = m->s.input[0];
	const size_t hand = emi_stream_hand(in);

	t->n = hand < m->each ? hand : m->each;
	memcpy(t->from, in->source.at, t->n * in->record);
	in->source.at += t->n * in->record;
	t->number = ++m->number;
	emi_task_submit(m->s.object.ctx, &t->task, work, t);
}

/* Give all slots something to do.  EM_OK; or how the input ended. */
static em_status feed(parallel_map *m, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; i < m->slots && st == EM_OK; i++) {
		if (m->slot[i].number != 0)
			continue;
		st = emi_stream_need(m->s.input[0], err);
		if (st == EM_OK)
			submit(m, &m->slot[i]);
	}
	return st;
}

/* The slot to be lent next: the oldest, or one that is done.  NULL: none has a batch. */
static slot *choose(parallel_map *m)
{
	slot *oldest = NULL;
	uint32_t i;

	for (i = 0; i < m->slots; i++) {
		slot *t = &m->slot[i];

		if (t->number == 0)
			continue;
		if (m->unordered && emi_task_done(m->s.object.ctx, &t->task))
			return t;
		if (oldest == NULL || t->number < oldest->number)
			oldest = t;
	}
	return oldest;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	parallel_map *m = (parallel_map *)(void *)s;
	em_status st = get_memory(m, err);
	slot *t;

	if (st != EM_OK)
		return st;
	if (m->lent != NULL)
		m->lent->number = 0;
	m->lent = NULL;
	st = feed(m, err);
	t = choose(m);
	if (t == NULL)
		return st;
	emi_task_wait(s->object.ctx, &t->task);
	if (t->failed != 0)
		return emi_stream_user_failed("maps records", t->failed, err);
	m->lent = t;
	s->source.at = t->to;
	s->source.end = t->to + t->n * s->record;
	return EM_OK;
}

/* In a child of a fork there are no threads to wait for. */
static void retire(em_stream *s)
{
	parallel_map *m = (parallel_map *)(void *)s;
	em_ctx *ctx = s->object.ctx;
	uint32_t i;

	for (i = 0; m->slot != NULL && i < m->slots && !emi_ctx_forked(ctx); i++)
		if (m->slot[i].number != 0)
			emi_task_wait(ctx, &m->slot[i].task);
	if (m->slot != NULL)
		emi_free_array(ctx, m->slot, m->slots, sizeof *m->slot);
	if (m->memory != NULL)
		emi_buffer_free(ctx, m->memory, m->memory_bytes);
	m->slot = NULL;
	m->memory = NULL;
}

em_status em_stream_parallel_map(em_stream **out, em_stream *in, uint64_t record_bytes, em_map_fn fn, void *user,
				 void (*user_free)(void *user), uint32_t flags, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "parallel map", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_by(out, in, fn != NULL, &err);

	if (st == EM_OK && (flags & ~EM_MAP_UNORDERED) != 0)
		st = emi_fail(&err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", flags);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(parallel_map), &kind, record_bytes, &in, 1, emi_stream_left(in), &err);
	if (s != NULL) {
		parallel_map *m = (parallel_map *)(void *)s;
		const size_t each = records_of_slot(m);

		s->claim = (uint64_t)slots(s->object.ctx) * (page_up(each * in->record) + page_up(each * s->record));
		m->fn = fn;
		m->user = user;
		m->unordered = (flags & EM_MAP_UNORDERED) != 0;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
