/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_vector.c -- vectors as callers outside know them: what they give is checked, and the detail of failures is
 * kept.
 *
 * Getting and setting a record is called very often, so both ask of a record that is in one block only what they must.
 */
#include "container/public_vector.h"

#include <inttypes.h>
#include <string.h>

#include "base/structs.h"
#include "block/policy.h"
#include "block/suffice.h"

void emi_vector_let(em_vector *v)
{
	if (--v->users != 0)
		return;
	emi_vector_close(&v->inner);
	emi_object_free(v, sizeof *v);
}

/* With readers or a writer it goes on for these. */
static void release_vector(void *vector)
{
	emi_vector_let(vector);
}

static uint64_t memory_of(const em_vector_opts *o, const emi_vector_layout *l, uint64_t records)
{
	const uint64_t bytes = emi_vector_memory(o, l, records);

	return bytes <= UINT64_MAX - sizeof(em_vector) ? bytes + sizeof(em_vector) : UINT64_MAX;
}

/* Will the context have the memory, when some blocks are on disks? */
static em_status check_memory(const em_ctx *ctx, const em_vector_opts *o, const emi_vector_layout *l, em_errinfo *err)
{
	const uint64_t blocks = o->cache_bytes / l->block_bytes + EMI_BLOCKS_SURE;
	const emi_wants w = { memory_of(o, l, blocks * (l->payload / l->record)), blocks, l->block_bytes, 0,
			      o->path == NULL, o->path != NULL };

	return emi_suffice_check(ctx, &w, err, "cache_bytes of %" PRIu64, o->cache_bytes);
}

static em_status open_vector(em_vector **out, em_ctx *ctx, em_vector_opts *o, em_errinfo *err)
{
	emi_vector_layout layout;
	em_status st = emi_vector_options(o, ctx, &layout, err);
	em_vector *v;

	if (st == EM_OK)
		st = check_memory(ctx, o, &layout, err);
	if (st != EM_OK)
		return st;
	v = emi_object_new(ctx, sizeof *v, 0, release_vector, err);
	if (v == NULL)
		return err->status;
	v->users = 1;
	v->inner.layout = layout;
	st = emi_vector_open(&v->inner, ctx, o, err);
	if (st != EM_OK) {
		release_vector(v);
		return st;
	}
	emi_store_watch(v->inner.store, &v->object.canceled);
	*out = v;
	return EM_OK;
}

em_status em_vector_open(em_vector **out, em_ctx *ctx, const em_vector_opts *opts)
{
	em_vector_opts o;
	em_errinfo err;
	emi_user policy;
	em_status st;

	if (out != NULL)
		*out = NULL;
	/* Whatever is wrong, what the policy has is freed. */
	(void)EMI_STRUCT_TAKE(em_vector_opts, &o, opts, NULL);
	policy = emi_policy_user(o.policy);
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_vector_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_vector(out, ctx, &o, &err);
	(void)emi_user_give(st == EM_OK ? &(*out)->inner.policy : NULL, &policy, st);
	return emi_tell(EMI_ERRINFO_OF(em_vector_opts, opts), st, &err);
}

void em_vector_close(em_vector *v)
{
	emi_object_close(v);
}

void em_vector_cancel(em_vector *v)
{
	emi_object_cancel(v);
}

uint64_t em_vector_memory(const em_vector_opts *opts, uint64_t records)
{
	emi_vector_layout layout;
	em_vector_opts o;
	em_errinfo err;

	emi_errinfo_clear(&err);
	if (opts == NULL || EMI_STRUCT_TAKE(em_vector_opts, &o, opts, &err) != EM_OK ||
	    emi_vector_options(&o, NULL, &layout, &err) != EM_OK)
		return 0;
	return memory_of(&o, &layout, records);
}

uint64_t em_vector_size(const em_vector *v)
{
	return v != NULL ? v->inner.n : 0;
}

uint64_t em_vector_record_bytes(const em_vector *v)
{
	return v != NULL ? v->inner.layout.record : 0;
}

em_status emi_vector_check(const em_vector *v, uint64_t i, uint64_t n, em_errinfo *err)
{
	if (i <= v->inner.n && n <= v->inner.n - i)
		return EM_OK;
	if (n == 1)
		return emi_fail(err, EM_ERR_RANGE, "there is no record %" PRIu64 ": there are %" PRIu64, i, v->inner.n);
	return emi_fail(err, EM_ERR_RANGE, "there are no %" PRIu64 " records from %" PRIu64 " on: there are %" PRIu64,
			n, i, v->inner.n);
}

em_status emi_vector_may_change(const em_vector *v, em_errinfo *err)
{
	if (!v->inner.read_only)
		return EM_OK;
	return emi_fail_refused(err, EM_ERR_ACCESS, "it was opened for reading only", "write",
				emi_file_path(v->inner.file), EMI_NO_OFFSET, 0);
}

em_status emi_vector_may_push(const em_vector *v, em_errinfo *err)
{
	const em_status st = emi_vector_may_change(v, err);

	if (st != EM_OK || v->inner.writers == 0)
		return st;
	return emi_fail(err, EM_ERR_STATE, "the vector has a writer");
}

/* A call has begun: read or write n records. */
static em_status get_records(em_vector *v, uint64_t i, void *records, uint64_t n)
{
	em_errinfo err;
	em_status st;

	err.status = EM_OK;
	st = n != 0 ? emi_given(records, "records", &err) : EM_OK;
	if (st == EM_OK)
		st = emi_vector_check(v, i, n, &err);
	if (st == EM_OK)
		st = emi_vector_read(&v->inner, i, records, n, &err);
	return emi_leave(v, st, &err);
}

static em_status set_records(em_vector *v, uint64_t i, const void *records, uint64_t n)
{
	em_errinfo err;
	em_status st;
	uint64_t done;

	err.status = EM_OK;
	st = n != 0 ? emi_given(records, "records", &err) : EM_OK;
	if (st == EM_OK)
		st = emi_vector_may_change(v, &err);
	if (st == EM_OK)
		st = emi_vector_check(v, i, n, &err);
	if (st == EM_OK)
		st = emi_vector_write(&v->inner, i, records, n, &done, &err);
	return emi_leave(v, st, &err);
}

em_status em_vector_get(em_vector *v, uint64_t i, void *record)
{
	em_status st = v != NULL ? emi_enter_quickly(&v->object) : EM_ERR_INVAL;
	emi_vector *in;
	emi_vector_place p;
	em_errinfo err;
	uint32_t frame;

	if (st != EM_OK)
		return st;
	in = &v->inner;
	if (i >= in->n || record == NULL || in->layout.straddles)
		return get_records(v, i, record, 1);
	p = emi_vector_place_of(&in->layout, i * in->layout.record);
	err.status = EM_OK;
	st = emi_vector_bring(in, p.block, EM_CACHE_READ, &frame, &err);
	if (st != EM_OK)
		return emi_leave(v, st, &err);
	memcpy(record, emi_cache_buf(in->cache, frame) + p.from, (size_t)in->layout.record);
	emi_cache_unpin(in->cache, frame, 0);
	emi_leave_quickly(&v->object);
	return EM_OK;
}

em_status em_vector_set(em_vector *v, uint64_t i, const void *record)
{
	em_status st = v != NULL ? emi_enter_quickly(&v->object) : EM_ERR_INVAL;
	emi_vector *in;
	emi_vector_place p;
	em_errinfo err;
	uint32_t frame;

	if (st != EM_OK)
		return st;
	in = &v->inner;
	if (i >= in->n || record == NULL || in->layout.straddles || in->read_only)
		return set_records(v, i, record, 1);
	p = emi_vector_place_of(&in->layout, i * in->layout.record);
	err.status = EM_OK;
	st = emi_vector_bring(in, p.block, EM_CACHE_WRITE, &frame, &err);
	if (st != EM_OK)
		return emi_leave(v, st, &err);
	memcpy(emi_cache_buf(in->cache, frame) + p.from, record, (size_t)in->layout.record);
	emi_cache_unpin(in->cache, frame, 1);
	emi_leave_quickly(&v->object);
	return EM_OK;
}

em_status em_vector_read(em_vector *v, uint64_t i, void *records, uint64_t n)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? get_records(v, i, records, n) : st;
}

em_status em_vector_write(em_vector *v, uint64_t i, const void *records, uint64_t n)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? set_records(v, i, records, n) : st;
}

static em_status read_many(em_vector *v, const uint64_t *positions, uint64_t n, void *records, em_errinfo *err)
{
	em_status st = n != 0 ? emi_given(positions, "positions", err) : EM_OK;
	uint64_t k;

	if (st == EM_OK && n != 0)
		st = emi_given(records, "records", err);
	for (k = 0; k < n && st == EM_OK; k++) {
		st = emi_vector_check(v, positions[k], 1, err);
		if (st != EM_OK)
			err->record = k + 1;
	}
	return st == EM_OK ? emi_vector_read_many(&v->inner, positions, n, records, err) : st;
}

em_status em_vector_read_many(em_vector *v, const uint64_t *positions, uint64_t n, void *records)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, read_many(v, positions, n, records, &err), &err) : st;
}

void em_vector_hint(em_vector *v, uint64_t i)
{
	emi_vector *in;

	if (v == NULL || emi_enter_quickly(&v->object) != EM_OK)
		return;
	in = &v->inner;
	if (i < in->n)
		emi_cache_hint(in->cache,
			       emi_vector_bid(in, emi_vector_place_of(&in->layout, i * in->layout.record).block));
	emi_leave_quickly(&v->object);
}

static em_status push(em_vector *v, const void *records, uint64_t n, uint64_t *pushed, em_errinfo *err)
{
	emi_vector *in = &v->inner;
	em_status st = n != 0 ? emi_given(records, "records", err) : EM_OK;

	if (st == EM_OK)
		st = emi_vector_may_push(v, err);
	if (st == EM_OK && n > UINT64_MAX - in->n)
		st = emi_fail(err, EM_ERR_RANGE, "%" PRIu64 " records more", n);
	if (st == EM_OK)
		st = emi_vector_cover(in, in->n + n, err);
	return st == EM_OK ? emi_vector_write(in, in->n, records, n, pushed, err) : st;
}

em_status em_vector_push_many(em_vector *v, const void *records, uint64_t n, uint64_t *pushed)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (pushed != NULL)
		*pushed = 0;
	if (st != EM_OK)
		return st;
	st = push(v, records, n, &done, &err);
	if (pushed != NULL)
		*pushed = done;
	return emi_leave(v, st, &err);
}

/* Has the block that the next record belongs into some already, and is there nothing else to mind? */
static int has_begun_block(const emi_vector *in, const emi_vector_place *p)
{
	const uint64_t end = p->block * in->layout.block_bytes + p->from + in->layout.record;

	return p->from != 0 && !in->layout.straddles && !in->read_only && in->writers == 0 &&
	       end <= emi_store_length(in->store);
}

em_status em_vector_push(em_vector *v, const void *record)
{
	em_status st = v != NULL ? emi_enter_quickly(&v->object) : EM_ERR_INVAL;
	emi_vector *in;
	emi_vector_place p;
	em_errinfo err;
	uint32_t frame;

	if (st != EM_OK)
		return st;
	in = &v->inner;
	p = emi_vector_place_of(&in->layout, in->n * in->layout.record);
	if (record == NULL || !has_begun_block(in, &p)) {
		emi_leave_quickly(&v->object);
		return em_vector_push_many(v, record, 1, NULL);
	}
	err.status = EM_OK;
	st = emi_vector_bring(in, p.block, EM_CACHE_WRITE, &frame, &err);
	if (st != EM_OK)
		return emi_leave(v, st, &err);
	memcpy(emi_cache_buf(in->cache, frame) + p.from, record, (size_t)in->layout.record);
	emi_cache_unpin(in->cache, frame, 1);
	in->n++;
	emi_leave_quickly(&v->object);
	return EM_OK;
}
