/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_pq.c -- priority queues as callers outside know them: what they give is checked, and the detail of failures is
 * kept.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/structs.h"
#include "container/given.h"
#include "container/pq.h"

static void release_pq(void *queue)
{
	em_pq *p = queue;
	em_block_pool *shared = p->shared;

	emi_pq_clear(p);
	if (p->sequences.store != NULL)
		emi_store_close(p->sequences.store);
	emi_pq_items_close(&p->items);
	emi_object_free(p, sizeof *p);
	if (shared != NULL)
		emi_pool_let(shared);
}

/* What options refer to is this context's. */
static em_status check_owner(em_ctx *ctx, const em_pq_opts *o, em_errinfo *err)
{
	em_status st = emi_given(o->order, "opts->order", err);

	if (st != EM_OK)
		return st;
	if (emi_order_ctx(o->order) != ctx)
		return emi_fail(err, EM_ERR_INVAL, "the order is of another context");
	st = emi_given_placement(ctx, o->placement, err);
	return st == EM_OK ? emi_given_pool(ctx, o->pool, err) : st;
}

/* Items and a plan by what a caller gives.  Items are to be closed if this succeeds; after EM_ERR_MEMLIMIT plan->least
 * is right, or 0. */
static em_status make_plan(emi_pq_items *items, emi_pq_plan *plan, em_ctx *ctx, const em_pq_opts *o, em_errinfo *err)
{
	em_status st = check_owner(ctx, o, err);

	plan->least = 0;
	if (st == EM_OK)
		st = emi_pq_items_open(items, o->order, (o->flags & EM_PQ_STABLE) != 0, err);
	if (st != EM_OK)
		return st;
	st = emi_pq_plan_make(plan, ctx, o, items, err);
	if (st != EM_OK)
		emi_pq_items_close(items);
	return st;
}

static em_status lend(em_pq *q, int copied, const em_batch **batch)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);

	if (batch != NULL)
		*batch = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	if (st == EM_OK)
		st = q->n != 0 ? emi_pq_next(q, copied, &err) : EM_NOT_FOUND;
	if (st == EM_OK)
		*batch = &q->batch;
	return emi_leave(q, st, &err);
}

static em_status fill_cursor(emi_cursor *c, void *queue)
{
	const em_batch *batch;
	const em_status st = lend(queue, 1, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static em_status open_pq(em_pq **out, em_ctx *ctx, const em_pq_opts *o, em_errinfo *err)
{
	em_pq *p = emi_object_new(ctx, sizeof *p, 0, release_pq, err);
	em_status st;

	if (p == NULL)
		return err->status;
	/* The collation in it refers to itself, so it stays where it is. */
	st = make_plan(&p->items, &p->plan, ctx, o, err);
	if (st != EM_OK) {
		emi_object_free(p, sizeof *p);
		return st;
	}
	p->stable = (o->flags & EM_PQ_STABLE) != 0;
	if (o->pool != NULL) {
		emi_pool_hold(o->pool);
		p->shared = o->pool;
		p->object.turn = o->pool->share.object.turn;
	}
	emi_pq_init(p, ctx, o->placement);
	emi_cursor_init(&p->cursor, (ptrdiff_t)p->items.record, fill_cursor, p);
	*out = p;
	return EM_OK;
}

em_status em_pq_open(em_pq **out, em_ctx *ctx, const em_pq_opts *opts)
{
	em_pq_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_pq_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_pq(out, ctx, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_pq_opts, opts), st, &err);
}

void em_pq_close(em_pq *q)
{
	emi_object_close(q);
}

void em_pq_cancel(em_pq *q)
{
	emi_object_cancel(q);
}

static void tell_plan(em_pq_plan_info *i, const emi_pq_plan *p, const emi_pq_items *items, uint64_t n)
{
	i->levels = emi_pq_plan_levels(p, items, n);
	i->arity = p->arity;
	i->sequences = p->sequences;
	i->pieces = p->pieces;
	i->write_buffers = p->nwrite;
	i->prefetch_buffers = p->nprefetch;
	i->item_bytes = (uint32_t)items->bytes;
	i->piece_records = p->piece / items->bytes;
	i->run_records = emi_pq_plan_run(p, items);
	i->front_records = p->front;
	i->early_records = p->early;
	i->block_bytes = p->block;
	i->block_records = p->block / items->bytes;
	i->memory = p->takes;
}

static em_status plan_pq(em_ctx *ctx, const em_pq_opts *opts, em_pq_plan_info *info, em_errinfo *err)
{
	em_pq_plan_info i = EM_PQ_PLAN_INFO_INIT;
	emi_pq_items items;
	em_pq_opts o;
	emi_pq_plan p;
	em_status st = EMI_STRUCT_TAKE(em_pq_opts, &o, opts, err);

	if (st == EM_OK)
		st = EMI_STRUCT_CHECK(em_pq_plan_info, info, err);
	if (st != EM_OK)
		return st;
	st = make_plan(&items, &p, ctx, &o, err);
	if (st != EM_OK && (st != EM_ERR_MEMLIMIT || p.least == 0))
		return st;
	i.memory_min = p.least;
	if (st == EM_OK) {
		tell_plan(&i, &p, &items, o.records);
		emi_pq_items_close(&items);
	}
	(void)EMI_STRUCT_GIVE(em_pq_plan_info, info, &i);
	return st;
}

em_status em_pq_plan(em_ctx *ctx, const em_pq_opts *opts, em_pq_plan_info *info)
{
	em_errinfo err;
	em_status st = emi_given_to_plan(ctx, opts, info, &err);

	if (st == EM_OK)
		st = plan_pq(ctx, opts, info, &err);
	return emi_tell(EMI_ERRINFO_OF(em_pq_opts, opts), st, &err);
}

uint64_t em_pq_memory(const em_pq_opts *opts, uint64_t records)
{
	emi_pq_items items;
	em_pq_opts o;
	emi_pq_plan p;
	em_errinfo err;
	uint64_t bytes;

	emi_errinfo_clear(&err);
	if (opts == NULL || EMI_STRUCT_TAKE(em_pq_opts, &o, opts, &err) != EM_OK || o.order == NULL ||
	    make_plan(&items, &p, emi_order_ctx(o.order), &o, &err) != EM_OK)
		return 0;
	bytes = emi_pq_plan_memory(&p, &items, records);
	emi_pq_items_close(&items);
	return bytes;
}

uint64_t em_pq_size(const em_pq *q)
{
	return q != NULL ? q->n : 0;
}

uint64_t em_pq_record_bytes(const em_pq *q)
{
	return q != NULL ? q->items.record : 0;
}

/* There are records, or is room for them: they are in memory, so their bytes do not overflow. */
static em_status check_records(const em_pq *q, const void *records, uint64_t n, em_errinfo *err)
{
	if (n > SIZE_MAX / q->items.record)
		return emi_fail(err, EM_ERR_INVAL,
				"%" PRIu64 " records of %" PRIu64 " bytes are more than memory can have", n,
				(uint64_t)q->items.record);
	return n != 0 ? emi_given(records, "records", err) : EM_OK;
}

em_status em_pq_push(em_pq *q, const void *record)
{
	em_status st = q != NULL ? emi_enter_quickly(&q->object) : EM_ERR_INVAL;
	em_errinfo err;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	st = record != NULL ? emi_pq_push_one(q, record, &err) : emi_given(record, "record", &err);
	if (st != EM_OK)
		return emi_leave(q, st, &err);
	emi_leave_quickly(&q->object);
	return EM_OK;
}

em_status em_pq_push_many(em_pq *q, const void *records, uint64_t n, uint64_t *pushed)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);
	uint64_t done = 0;

	if (st == EM_OK) {
		st = check_records(q, records, n, &err);
		if (st == EM_OK)
			st = emi_pq_push(q, records, n, &done, &err);
		st = emi_leave(q, st, &err);
	}
	if (pushed != NULL)
		*pushed = done;
	return st;
}

em_status em_pq_pop(em_pq *q, void *record)
{
	em_status st = q != NULL ? emi_enter_quickly(&q->object) : EM_ERR_INVAL;
	em_errinfo err;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	if (record == NULL)
		st = emi_given(record, "record", &err);
	else
		st = q->n != 0 ? emi_pq_pop_one(q, record, &err) : EM_NOT_FOUND;
	if (st != EM_OK)
		return emi_leave(q, st, &err);
	emi_leave_quickly(&q->object);
	return EM_OK;
}

em_status em_pq_pop_many(em_pq *q, void *records, uint64_t n, uint64_t *popped)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);
	uint64_t done = 0;

	if (st == EM_OK) {
		st = check_records(q, records, n, &err);
		if (st == EM_OK)
			st = n != 0 && q->n == 0 ? EM_NOT_FOUND : emi_pq_pop(q, records, n, &done, &err);
		st = emi_leave(q, st, &err);
	}
	if (popped != NULL)
		*popped = done;
	return st;
}

/* A call has begun. */
static em_status pop_until(em_pq *q, const void *bound, uint32_t flags, void *records, uint64_t n, uint64_t *done,
			   em_errinfo *err)
{
	em_status st = emi_given(bound, "bound", err);

	if (st == EM_OK && (flags & ~EM_PQ_INCLUSIVE) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", flags);
	if (st == EM_OK)
		st = check_records(q, records, n, err);
	if (st != EM_OK || n == 0)
		return st;
	st = emi_pq_pop_until(q, bound, (flags & EM_PQ_INCLUSIVE) != 0, records, n, done, err);
	return st == EM_OK && *done == 0 ? EM_NOT_FOUND : st;
}

em_status em_pq_pop_until(em_pq *q, const void *bound, uint32_t flags, void *records, uint64_t n, uint64_t *popped)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);
	uint64_t done = 0;

	if (st == EM_OK)
		st = emi_leave(q, pop_until(q, bound, flags, records, n, &done, &err), &err);
	if (popped != NULL)
		*popped = done;
	return st;
}

em_status em_pq_top(em_pq *q, void *record)
{
	em_status st = q != NULL ? emi_enter_quickly(&q->object) : EM_ERR_INVAL;
	em_errinfo err;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	if (record == NULL)
		st = emi_given(record, "record", &err);
	else
		st = q->n != 0 ? emi_pq_top_one(q, record, &err) : EM_NOT_FOUND;
	if (st != EM_OK)
		return emi_leave(q, st, &err);
	emi_leave_quickly(&q->object);
	return EM_OK;
}

static em_status given_both(const void *pushed, const void *popped, em_errinfo *err)
{
	const em_status st = emi_given(pushed, "pushed", err);

	return st == EM_OK ? emi_given(popped, "popped", err) : st;
}

em_status em_pq_pushpop(em_pq *q, const void *pushed, void *popped)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);

	if (st != EM_OK)
		return st;
	st = given_both(pushed, popped, &err);
	if (st == EM_OK)
		st = emi_pq_exchange(q, pushed, popped, 1, &err);
	return emi_leave(q, st, &err);
}

em_status em_pq_replace(em_pq *q, const void *pushed, void *popped)
{
	em_errinfo err;
	em_status st = emi_enter(q, &err);

	if (st != EM_OK)
		return st;
	st = given_both(pushed, popped, &err);
	if (st == EM_OK)
		st = q->n != 0 ? emi_pq_exchange(q, pushed, popped, 0, &err) : EM_NOT_FOUND;
	return emi_leave(q, st, &err);
}

em_status em_pq_next(em_pq *q, const em_batch **batch)
{
	return lend(q, 0, batch);
}

em_cursor *em_pq_cursor(em_pq *q)
{
	return q != NULL ? &q->cursor.c : NULL;
}

em_status em_pq_clear(em_pq *q)
{
	em_errinfo err;
	const em_status st = emi_enter(q, &err);

	if (st != EM_OK)
		return st;
	emi_pq_clear(q);
	return emi_leave(q, EM_OK, &err);
}

static void count(const em_pq *q, em_pq_stats *s)
{
	const emi_pq_sequences *q_s = &q->sequences;
	const emi_io_stats io = emi_io_snapshot(&q_s->io);

	s->levels = q_s->level;
	s->records = q->n;
	s->block_bytes = q->plan.block;
	s->blocks = q_s->blocks_on_disks;
	s->pieces = q_s->in_memory;
	s->sequences = q_s->on_disks;
	s->refills = q->refills;
	s->returned = q->returned;
	s->merges = q_s->merged;
	s->merged = q_s->moved;
	s->reads = io.ios_read;
	s->writes = io.ios_written;
}

em_status em_pq_stats_get(const em_pq *q, em_pq_stats *stats)
{
	em_pq_stats s = EM_PQ_STATS_INIT;

	if (q == NULL)
		return EM_ERR_INVAL;
	count(q, &s);
	return EMI_STRUCT_GIVE(em_pq_stats, stats, &s);
}

size_t em_pq_dump(const em_pq *q, char *text, size_t bytes)
{
	em_pq_plan_info i = EM_PQ_PLAN_INFO_INIT;
	em_pq_stats s = EM_PQ_STATS_INIT;

	if (q == NULL)
		return 0;
	tell_plan(&i, &q->plan, &q->items, q->n);
	count(q, &s);
	return (size_t)snprintf(
		text, bytes,
		"order: %s\nrecord bytes: %" PRIu64 "\nitem bytes: %" PRIu32 "\nmemory: %" PRIu64
		"\nblock bytes: %" PRIu64 "\npiece records: %" PRIu64 "\nrun records: %" PRIu64
		"\ndeletion buffer records: %" PRIu64 "\nearly records: %" PRIu64 "\narity: %" PRIu32
		"\nsequences on disks at most: %" PRIu32 "\nwrite buffers: %" PRIu32 "\nprefetch buffers: %" PRIu32
		"\nrecords: %" PRIu64 "\nsequences in memory: %" PRIu32 "\nsequences on disks: %" PRIu32
		"\nblocks on disks: %" PRIu64 "\nlevels: %" PRIu32 "\nrefills: %" PRIu64 "\nrecords returned: %" PRIu64
		"\nmerges: %" PRIu64 "\nrecords merged: %" PRIu64 "\nblocks read: %" PRIu64
		"\nblocks written: %" PRIu64 "\n",
		em_order_name(q->items.order), (uint64_t)q->items.record, i.item_bytes, i.memory, i.block_bytes,
		i.piece_records, i.run_records, i.front_records, i.early_records, i.arity, i.sequences, i.write_buffers,
		i.prefetch_buffers, s.records, s.pieces, s.sequences, s.blocks, s.levels, s.refills, s.returned,
		s.merges, s.merged, s.reads, s.writes);
}

void em_pq_error(const em_pq *q, em_errinfo *err)
{
	emi_object_error(q, err);
}
