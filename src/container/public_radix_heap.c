/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_radix_heap.c -- radix heaps as callers outside know them: what they give is checked, and the detail of
 * failures is kept.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/structs.h"
#include "container/given.h"
#include "container/radix_heap.h"

static void release_heap(void *heap)
{
	emi_radix_heap_clear(heap);
	emi_object_free(heap, sizeof(em_radix_heap));
}

static em_status open_heap(em_radix_heap **out, em_ctx *ctx, const em_radix_heap_opts *o, em_errinfo *err)
{
	emi_radix_plan plan;
	em_status st = emi_radix_plan_make(&plan, ctx, o, err);
	em_radix_heap *h;

	if (st == EM_OK)
		st = emi_given_placement(ctx, o->placement, err);
	if (st != EM_OK)
		return st;
	h = emi_object_new(ctx, sizeof *h, 0, release_heap, err);
	if (h == NULL)
		return err->status;
	h->plan = plan;
	emi_radix_heap_init(h, ctx, o->placement);
	*out = h;
	return EM_OK;
}

em_status em_radix_heap_open(em_radix_heap **out, em_ctx *ctx, const em_radix_heap_opts *opts)
{
	em_radix_heap_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_radix_heap_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_heap(out, ctx, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_radix_heap_opts, opts), st, &err);
}

void em_radix_heap_close(em_radix_heap *h)
{
	emi_object_close(h);
}

void em_radix_heap_cancel(em_radix_heap *h)
{
	emi_object_cancel(h);
}

static em_status plan_heap(em_ctx *ctx, const em_radix_heap_opts *opts, em_radix_heap_plan_info *info, em_errinfo *err)
{
	em_radix_heap_plan_info i = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_radix_heap_opts o;
	emi_radix_plan p;
	em_status st = EMI_STRUCT_TAKE(em_radix_heap_opts, &o, opts, err);

	if (st == EM_OK)
		st = EMI_STRUCT_CHECK(em_radix_heap_plan_info, info, err);
	if (st != EM_OK)
		return st;
	st = emi_radix_plan_make(&p, ctx, &o, err);
	if (st != EM_OK && st != EM_ERR_MEMLIMIT)
		return st;
	i.memory_min = p.least;
	if (st == EM_OK) {
		i.levels = p.levels;
		i.radix = p.radix;
		i.buckets = p.levels * p.radix + EMI_RADIX_TOP;
		i.write_buffers = p.write_buffers;
		i.read_buffers = p.read_buffers;
		i.range = p.most;
		i.block_bytes = p.block_bytes;
		i.block_records = p.block_bytes / p.record;
		i.front_records = p.front;
		i.memory = p.takes;
	}
	(void)EMI_STRUCT_GIVE(em_radix_heap_plan_info, info, &i);
	return st;
}

em_status em_radix_heap_plan(em_ctx *ctx, const em_radix_heap_opts *opts, em_radix_heap_plan_info *info)
{
	em_errinfo err;
	em_status st = emi_given_to_plan(ctx, opts, info, &err);

	if (st == EM_OK)
		st = plan_heap(ctx, opts, info, &err);
	return emi_tell(EMI_ERRINFO_OF(em_radix_heap_opts, opts), st, &err);
}

uint64_t em_radix_heap_memory(const em_radix_heap_opts *opts, uint64_t records)
{
	em_radix_heap_opts o;
	emi_radix_plan p;
	em_errinfo err;

	emi_errinfo_clear(&err);
	if (opts == NULL || EMI_STRUCT_TAKE(em_radix_heap_opts, &o, opts, &err) != EM_OK ||
	    emi_radix_plan_make(&p, NULL, &o, &err) != EM_OK)
		return 0;
	return emi_radix_heap_memory(&p, records);
}

uint64_t em_radix_heap_size(const em_radix_heap *h)
{
	return h != NULL ? h->n : 0;
}

uint64_t em_radix_heap_record_bytes(const em_radix_heap *h)
{
	return h != NULL ? h->plan.record : 0;
}

uint64_t em_radix_heap_last(const em_radix_heap *h)
{
	return h != NULL ? h->last : 0;
}

/* A call has begun. */
static em_status push_records(em_radix_heap *h, const void *records, uint64_t n, uint64_t *done)
{
	const char *at = records;
	em_errinfo err;
	em_status st;
	uint64_t k;

	err.status = EM_OK;
	*done = 0;
	st = n != 0 ? emi_given(records, "records", &err) : EM_OK;
	if (st == EM_OK && (n > SIZE_MAX / h->plan.record || n > UINT64_MAX - h->n))
		st = emi_fail(&err, EM_ERR_RANGE, "%" PRIu64 " records more", n);
	for (k = 0; k < n && st == EM_OK; k++)
		st = emi_radix_heap_check(h, emi_radix_key_of(&h->key, at + k * h->plan.record), k + 1, &err);
	if (st == EM_OK)
		st = emi_radix_heap_push(h, at, n, done, &err);
	return emi_leave(h, st, &err);
}

em_status em_radix_heap_push(em_radix_heap *h, const void *record)
{
	em_status st = h != NULL ? emi_enter_quickly(&h->object) : EM_ERR_INVAL;
	em_errinfo err;
	uint64_t key;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	if (record == NULL)
		return emi_leave(h, emi_given(record, "record", &err), &err);
	key = emi_radix_key_of(&h->key, record);
	if (!emi_radix_heap_admits(h, key))
		return emi_leave(h, emi_radix_heap_check(h, key, 1, &err), &err);
	if (!emi_radix_heap_push_usual(h, record, key)) {
		st = emi_radix_heap_push_one(h, record, key, &err);
		if (st != EM_OK)
			return emi_leave(h, st, &err);
	}
	emi_leave_quickly(&h->object);
	return EM_OK;
}

em_status em_radix_heap_push_many(em_radix_heap *h, const void *records, uint64_t n, uint64_t *pushed)
{
	em_errinfo err;
	em_status st = emi_enter(h, &err);
	uint64_t done = 0;

	if (st == EM_OK)
		st = push_records(h, records, n, &done);
	if (pushed != NULL)
		*pushed = done;
	return st;
}

/* A call has begun. */
static em_status pop_records(em_radix_heap *h, void *records, uint64_t n, uint64_t *done)
{
	em_errinfo err;
	em_status st;

	err.status = EM_OK;
	*done = 0;
	st = n != 0 ? emi_given(records, "records", &err) : EM_OK;
	if (st == EM_OK && n != 0 && h->n == 0)
		st = EM_NOT_FOUND;
	if (st == EM_OK)
		st = emi_radix_heap_pop(h, records, n < h->n ? n : h->n, done, &err);
	return emi_leave(h, st, &err);
}

em_status em_radix_heap_pop(em_radix_heap *h, void *record)
{
	em_status st = h != NULL ? emi_enter_quickly(&h->object) : EM_ERR_INVAL;
	em_errinfo err;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	if (record == NULL)
		return emi_leave(h, emi_given(record, "record", &err), &err);
	if (h->n == 0)
		return emi_leave(h, EM_NOT_FOUND, &err);
	if (!emi_radix_heap_pop_usual(h, record)) {
		st = emi_radix_heap_pop_one(h, record, &err);
		if (st != EM_OK)
			return emi_leave(h, st, &err);
	}
	emi_leave_quickly(&h->object);
	return EM_OK;
}

em_status em_radix_heap_pop_many(em_radix_heap *h, void *records, uint64_t n, uint64_t *popped)
{
	em_errinfo err;
	em_status st = emi_enter(h, &err);
	uint64_t done = 0;

	if (st == EM_OK)
		st = pop_records(h, records, n, &done);
	if (popped != NULL)
		*popped = done;
	return st;
}

em_status em_radix_heap_top(em_radix_heap *h, void *record)
{
	em_status st = h != NULL ? emi_enter_quickly(&h->object) : EM_ERR_INVAL;
	em_errinfo err;

	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = h->n != 0 ? emi_radix_heap_top(h, record, &err) : EM_NOT_FOUND;
	return emi_leave(h, st, &err);
}

em_status em_radix_heap_clear(em_radix_heap *h)
{
	em_errinfo err;
	const em_status st = emi_enter(h, &err);

	if (st != EM_OK)
		return st;
	emi_radix_heap_clear(h);
	return emi_leave(h, EM_OK, &err);
}

em_status em_radix_heap_stats_get(const em_radix_heap *h, em_radix_heap_stats *stats)
{
	em_radix_heap_stats s = EM_RADIX_HEAP_STATS_INIT;

	if (h == NULL)
		return EM_ERR_INVAL;
	s.levels = h->plan.levels;
	s.radix = h->plan.radix;
	s.records = h->n;
	s.block_bytes = h->plan.block_bytes;
	s.blocks = h->buckets.blocks;
	s.distributed = h->distributed;
	s.sorted = h->front.ordered + h->run_sorted;
	s.reads = __atomic_load_n(&h->buckets.io.ios_read, __ATOMIC_RELAXED);
	s.writes = __atomic_load_n(&h->buckets.io.ios_written, __ATOMIC_RELAXED);
	return EMI_STRUCT_GIVE(em_radix_heap_stats, stats, &s);
}

void em_radix_heap_error(const em_radix_heap *h, em_errinfo *err)
{
	emi_object_error(h, err);
}
