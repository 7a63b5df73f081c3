/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_vector_whole.c -- vectors as callers outside know them: what concerns a vector as a whole, and records that
 * are lent in place.
 */
#include <inttypes.h>

#include <extmem/sys/output.h>

#include "base/structs.h"
#include "container/public_vector.h"

static em_status in_use(const emi_vector *v, em_errinfo *err)
{
	if (v->readers != 0 || v->writers != 0)
		return emi_fail(err, EM_ERR_STATE, "the vector has a %s", v->writers != 0 ? "writer" : "reader");
	return EM_OK;
}

static em_status movable(const emi_vector *v, em_errinfo *err)
{
	if (v->pinned != 0)
		return emi_fail(err, EM_ERR_STATE, "a record of the vector is pinned");
	return in_use(v, err);
}

static em_status resize(em_vector *v, uint64_t n, em_errinfo *err)
{
	emi_vector *in = &v->inner;
	em_status st = emi_vector_may_push(v, err);

	if (st == EM_OK && n < in->n)
		st = in_use(in, err);
	return st == EM_OK ? emi_vector_resize(in, n, err) : st;
}

em_status em_vector_resize(em_vector *v, uint64_t n)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, resize(v, n, &err), &err) : st;
}

static em_status reserve(em_vector *v, uint64_t n, em_errinfo *err)
{
	const em_status st = emi_vector_may_push(v, err);

	return st == EM_OK ? emi_vector_reserve(&v->inner, n, err) : st;
}

em_status em_vector_reserve(em_vector *v, uint64_t n)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, reserve(v, n, &err), &err) : st;
}

static em_status shrink(em_vector *v, em_errinfo *err)
{
	const em_status st = movable(&v->inner, err);

	return st == EM_OK ? emi_vector_shrink(&v->inner, err) : st;
}

em_status em_vector_shrink(em_vector *v)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, shrink(v, &err), &err) : st;
}

em_status em_vector_flush(em_vector *v, int durable)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, emi_vector_flush(&v->inner, durable, &err), &err) : st;
}

static em_status swap(em_vector *a, em_vector *b, em_errinfo *err)
{
	const emi_vector inner = a->inner;
	em_status st = movable(&a->inner, err);

	if (st == EM_OK)
		st = movable(&b->inner, err);
	if (st == EM_OK && a->object.ctx != b->object.ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the vectors are of two contexts");
	if (st != EM_OK)
		return st;
	a->inner = b->inner;
	b->inner = inner;
	emi_store_watch(a->inner.store, &a->object.canceled);
	emi_store_watch(b->inner.store, &b->object.canceled);
	return EM_OK;
}

em_status em_vector_swap(em_vector *a, em_vector *b)
{
	em_errinfo err;
	em_status st = emi_enter(a, &err);

	if (st != EM_OK)
		return st;
	if (a == b)
		return emi_leave(a, EM_OK, &err);
	st = emi_given(b, "b", &err);
	if (st == EM_OK && emi_enter_quickly(&b->object) != EM_OK)
		st = emi_fail(&err, EM_ERR_BUSY, "another call on b is in progress");
	if (st == EM_OK) {
		st = swap(a, b, &err);
		emi_leave_quickly(&b->object);
	}
	return emi_leave(a, st, &err);
}

static em_status pin(em_vector *v, uint64_t i, int change, void **record, em_errinfo *err)
{
	emi_vector *in = &v->inner;
	const uint64_t bytes = in->layout.record;
	emi_vector_place p;
	uint32_t frame;
	em_status st = emi_given(record, "record", err);

	if (st == EM_OK)
		st = emi_vector_check(v, i, 1, err);
	if (st == EM_OK && change)
		st = emi_vector_may_change(v, err);
	if (st != EM_OK)
		return st;
	p = emi_vector_place_of(&in->layout, i * bytes);
	if (bytes > in->layout.payload - p.from)
		return emi_fail(err, EM_ERR_NOTSUP, "record %" PRIu64 " lies in two blocks; with blocks of %" PRIu64
				" bytes it would not", i, emi_vector_whole_block(bytes));
	st = emi_vector_bring(in, p.block, change ? EM_CACHE_WRITE : EM_CACHE_READ, &frame, err);
	if (st != EM_OK)
		return st;
	in->pinned++;
	*record = emi_cache_buf(in->cache, frame) + p.from;
	return EM_OK;
}

em_status em_vector_pin(em_vector *v, uint64_t i, int change, void **record)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	if (record != NULL)
		*record = NULL;
	return st == EM_OK ? emi_leave(v, pin(v, i, change, record, &err), &err) : st;
}

static em_status unpin(em_vector *v, uint64_t i, int changed, em_errinfo *err)
{
	emi_vector *in = &v->inner;
	uint32_t frame = EM_CACHE_NONE;
	em_status st = changed ? emi_vector_may_change(v, err) : EM_OK;

	if (st != EM_OK)
		return st;
	if (in->pinned != 0 && i < in->n)
		frame = emi_cache_find(in->cache, emi_vector_bid(in, emi_vector_place_of(&in->layout,
										      i * in->layout.record).block));
	if (frame == EM_CACHE_NONE || !emi_cache_unpin_block(in->cache, emi_cache_buf(in->cache, frame), changed))
		return emi_fail(err, EM_ERR_STATE, "record %" PRIu64 " is not pinned", i);
	in->pinned--;
	return EM_OK;
}

em_status em_vector_unpin(em_vector *v, uint64_t i, int changed)
{
	em_errinfo err;
	const em_status st = emi_enter_back(v, &err);

	return st == EM_OK ? emi_leave(v, unpin(v, i, changed, &err), &err) : st;
}

em_status em_vector_stats_get(const em_vector *v, em_vector_stats *stats)
{
	const emi_vector *in;
	em_cache_stats c;
	em_vector_stats s = EM_VECTOR_STATS_INIT;

	if (v == NULL)
		return EM_ERR_INVAL;
	in = &v->inner;
	emi_cache_stats_get(in->cache, &c);
	s.records = in->n;
	s.block_bytes = in->layout.block_bytes;
	s.block_records = in->layout.payload / in->layout.record;
	s.cache_blocks = c.frames;
	s.blocks_dirty = c.dirty;
	s.hits = c.hits;
	s.misses = c.misses;
	s.reads = c.reads + in->read;
	s.writes = c.writes + in->written;
	return EMI_STRUCT_GIVE(em_vector_stats, stats, &s);
}

void em_vector_error(const em_vector *v, em_errinfo *err)
{
	emi_object_error(v, err);
}
