/* SPDX-License-Identifier: BSL-1.0 */
/* vector.c -- see vector.h: opening, closing, and how long it is. */
#include "container/vector.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"
#include "block/policy.h"
#include "io/file.h"

#define CACHE_USUAL ((uint64_t)16 << 20)
#define CACHE_SHARE 8u          /* at most this part of the context's memory, unasked */
#define STEP_LEAST 16u          /* blocks by which a store grows at least */
#define STEP_SHARE 4u           /* a part of what it has */
#define KNOWN (EM_VECTOR_READ_ONLY | EM_VECTOR_CREATE | EM_VECTOR_TRUNCATE)

static em_status check_flags(const em_vector_opts *o, em_errinfo *err)
{
	if ((o->flags & ~(uint32_t)KNOWN) != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", o->flags);
	if (o->path == NULL && o->flags != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " need a path", o->flags);
	if ((o->flags & EM_VECTOR_READ_ONLY) != 0 && o->flags != EM_VECTOR_READ_ONLY)
		return emi_fail(err, EM_ERR_INVAL, "a file that is only read is neither made nor truncated");
	if (o->path != NULL && o->records != 0)
		return emi_fail(err, EM_ERR_INVAL, "the length of a file says how many records there are");
	if (o->path != NULL && o->placement != NULL)
		return emi_fail(err, EM_ERR_INVAL, "blocks of a file have their places");
	return EM_OK;
}

static uint64_t usual_cache(em_ctx *ctx, const emi_vector_layout *l, uint32_t page_blocks)
{
	const uint64_t share = ctx != NULL ? em_ctx_memory(ctx) / CACHE_SHARE : CACHE_USUAL;
	const uint64_t most = share < CACHE_USUAL ? share : CACHE_USUAL;
	const uint64_t least = (uint64_t)2 * page_blocks * l->block_bytes;

	return most > least ? most : least;
}

em_status emi_vector_options(em_vector_opts *o, em_ctx *ctx, emi_vector_layout *l, em_errinfo *err)
{
	em_status st = check_flags(o, err);

	if (st == EM_OK)
		st = emi_vector_layout_init(l, o->record_bytes, o->block_bytes, o->path != NULL, err);
	if (st == EM_OK)
		st = emi_policy_choose(&o->policy, err);
	if (st != EM_OK)
		return st;
	o->page_blocks += o->page_blocks == 0;
	if (o->page_blocks > EMI_VECTOR_PAGE_MOST)
		return emi_fail(err, EM_ERR_RANGE, "pages of %" PRIu32 " blocks", o->page_blocks);
	if (o->cache_bytes == 0)
		o->cache_bytes = usual_cache(ctx, l, o->page_blocks);
	if (o->cache_bytes / l->block_bytes < (uint64_t)2 * o->page_blocks ||
	    o->cache_bytes / l->block_bytes > (uint64_t)1 << 24)
		return emi_fail(err, EM_ERR_RANGE,
				"a cache of %" PRIu64 " bytes for pages of %" PRIu32 " blocks of %" PRIu64,
				o->cache_bytes, o->page_blocks, (uint64_t)l->block_bytes);
	return EM_OK;
}

static emi_cache_opts cache_options(const em_vector_opts *o, const emi_vector_layout *l, emi_store *store)
{
	emi_cache_opts c;

	memset(&c, 0, sizeof c);
	c.store = store;
	c.frames = (uint32_t)(o->cache_bytes / l->block_bytes);
	c.block_bytes = l->block_bytes;
	c.policy = o->policy;
	c.seed = o->seed;
	return c;
}

uint64_t emi_vector_memory(const em_vector_opts *o, const emi_vector_layout *l, uint64_t records)
{
	const emi_cache_opts c = cache_options(o, l, NULL);
	const uint64_t beside = emi_store_memory() + emi_cache_memory(&c);
	uint64_t blocks, list;

	/* A block of a file may have less than a record. */
	if (o->path != NULL)
		return beside;
	blocks = records / (l->payload / l->record);
	list = emi_store_array_memory(blocks < UINT64_MAX ? blocks + 1 : blocks);
	return list <= UINT64_MAX - beside ? list + beside : UINT64_MAX;
}

/* Open a file, or make it. */
static em_status open_file(emi_vector *v, const em_vector_opts *o, em_errinfo *err)
{
	const unsigned way = v->read_only ? EMI_OPEN_READ : EMI_OPEN_WRITE;
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	if (!emi_file_has_places(o->path))
		return emi_fail_record(err, EM_ERR_NOTSUP, o->path, 0, 0, "%s: no file that can be read at any place",
				       o->path);
	st = emi_file_open(&v->file, v->ctx, o->path, way, &own);
	if (st == EM_ERR_NOENT && (o->flags & EM_VECTOR_CREATE) != 0)
		return emi_file_open(&v->file, v->ctx, o->path, way | EMI_OPEN_CREATE | EMI_OPEN_SHARED, err);
	if (st != EM_OK)
		*err = own;
	else if ((o->flags & EM_VECTOR_TRUNCATE) != 0)
		st = emi_file_resize(v->file, 0, err);
	return st;
}

static em_status bind(emi_vector *v, const em_vector_opts *o, em_errinfo *err)
{
	const uint64_t record = v->layout.record;
	em_status st = open_file(v, o, err);
	uint64_t bytes;

	if (st == EM_OK)
		st = emi_store_open_file(&v->store, v->file, err);
	if (st != EM_OK)
		return st;
	bytes = emi_store_length(v->store);
	v->n = bytes / record;
	if (bytes % record == 0)
		return EM_OK;
	emi_fail(err, EM_ERR_FORMAT, "%s: %" PRIu64 " bytes are no multiple of records of %" PRIu64, o->path, bytes,
		 record);
	strncpy(err->path, o->path, sizeof err->path - 1);
	return EM_ERR_FORMAT;
}

em_status emi_vector_open(emi_vector *v, em_ctx *ctx, const em_vector_opts *o, em_errinfo *err)
{
	emi_cache_opts c;
	em_status st;

	v->ctx = ctx;
	v->page_blocks = o->page_blocks;
	v->read_only = (o->flags & EM_VECTOR_READ_ONLY) != 0;
	if (o->path != NULL)
		st = bind(v, o, err);
	else
		st = emi_store_open_array(&v->store, ctx, v->layout.block_bytes, o->placement, err);
	if (st == EM_OK) {
		c = cache_options(o, &v->layout, v->store);
		st = emi_cache_open(&v->cache, ctx, &c, err);
	}
	if (st == EM_OK && o->records != 0)
		st = emi_vector_resize(v, o->records, err);
	if (st != EM_OK) {
		v->read_only = 1;
		emi_vector_close(v);
	}
	return st;
}

/* The length of the store is that of the records.  While one is pinned, nothing is cut off its block. */
static em_status be_exact(emi_vector *v, em_errinfo *err)
{
	uint64_t bytes;
	em_status st = emi_vector_bytes(&v->layout, v->n, &bytes, err);

	if (st != EM_OK || v->pinned != 0 || emi_store_length(v->store) <= bytes)
		return st;
	return emi_store_trim(v->store, bytes, err);
}

/* A file has its length also when something could not be written, or was not to be any more. */
static void end_file(emi_vector *v)
{
	em_errinfo err = EM_ERRINFO_INIT;

	if (emi_vector_flush(v, 0, &err) == EM_OK)
		return;
	emi_log(v->ctx, EM_LOG_WARN, "a vector is closed that could not be written: %s", err.text);
	(void)be_exact(v, NULL);
}

void emi_vector_close(emi_vector *v)
{
	const emi_span all = { { 0, 0, 0 }, UINT64_MAX };

	if (v->cache != NULL && !emi_ctx_forked(v->ctx)) {
		v->pinned = 0;
		if (v->file == NULL)
			(void)emi_cache_forget_range(v->cache, &all, NULL);
		else if (!v->read_only)
			end_file(v);
	}
	emi_cache_close(v->cache);
	emi_store_close(v->store);
	emi_file_close(v->file);
	emi_user_free(&v->policy);
	memset(v, 0, sizeof *v);
}

em_status emi_vector_cover(emi_vector *v, uint64_t n, em_errinfo *err)
{
	const uint64_t have = emi_store_length(v->store), block = v->layout.block_bytes;
	em_errinfo own = EM_ERRINFO_INIT;
	uint64_t bytes, step;
	em_status st;

	st = emi_vector_bytes(&v->layout, n, &bytes, err);
	if (st != EM_OK || bytes <= have)
		return st;
	step = have / STEP_SHARE / block + STEP_LEAST;
	if (emi_store_resize(v->store, (bytes / block + step) * block, &own) == EM_OK)
		return EM_OK;
	/* There may be a limit. */
	return emi_store_resize(v->store, bytes, err);
}

em_status emi_vector_resize(emi_vector *v, uint64_t n, em_errinfo *err)
{
	uint64_t bytes;
	em_status st = emi_vector_bytes(&v->layout, n, &bytes, err);

	if (st != EM_OK)
		return st;
	if (n < v->n)
		st = emi_store_resize(v->store, bytes, err);
	else if (v->file != NULL || bytes > emi_store_length(v->store))
		/* Its length may have been ahead of its records, which are where they are. */
		st = emi_store_trim(v->store, bytes, err);
	if (st == EM_OK)
		v->n = n;
	return st;
}

em_status emi_vector_reserve(emi_vector *v, uint64_t n, em_errinfo *err)
{
	uint64_t bytes;
	em_status st;

	if (n <= v->n)
		return EM_OK;
	st = emi_vector_bytes(&v->layout, n, &bytes, err);
	if (st == EM_OK && bytes > emi_store_length(v->store))
		st = emi_store_resize(v->store, bytes, err);
	if (st == EM_OK && v->file != NULL)
		st = emi_file_reserve(v->file, 0, bytes, err);
	return st;
}

em_status emi_vector_shrink(emi_vector *v, em_errinfo *err)
{
	const uint64_t blocks = emi_store_length(v->store) / v->layout.block_bytes + 1;
	const uint32_t m = emi_cache_frames(v->cache), least = 2 * v->page_blocks;
	em_status st = v->read_only ? EM_OK : be_exact(v, err);
	uint32_t frames = least;

	if (blocks > least)
		frames = blocks < m ? (uint32_t)blocks : m;
	if (st == EM_OK && frames < m)
		st = emi_cache_resize(v->cache, frames, err);
	/* They may come again. */
	return st == EM_OK ? emi_cache_resize(v->cache, m, err) : st;
}

em_status emi_vector_flush(emi_vector *v, int durable, em_errinfo *err)
{
	em_status st = emi_cache_flush(v->cache, err);

	if (st == EM_OK && v->file != NULL && !v->read_only)
		st = be_exact(v, err);
	if (st == EM_OK && durable)
		st = emi_store_sync(v->store, err);
	return st;
}

em_status emi_vector_bring(emi_vector *v, uint64_t block, uint32_t mode, uint32_t *frame, em_errinfo *err)
{
	const em_bid bid = emi_vector_bid(v, block);
	const uint64_t first = block / v->page_blocks * v->page_blocks;
	uint32_t k;

	if (v->page_blocks > 1 && mode != EM_CACHE_FRESH && emi_cache_find(v->cache, bid) == EM_CACHE_NONE) {
		emi_cache_hint(v->cache, bid);
		for (k = 0; k < v->page_blocks; k++)
			emi_cache_hint(v->cache, emi_vector_bid(v, first + k));
	}
	return emi_cache_get(v->cache, bid, mode, frame, err);
}
