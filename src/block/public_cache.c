/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_cache.c -- caches as callers outside know them: a block is known by its memory, and what they give is checked.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"
#include "block/cache.h"
#include "block/policy.h"
#include "block/share.h"

struct em_cache {
	emi_share share;
	emi_store *store;
	emi_cache *cache;
};

/* What is the same in both, with the size of blocks; the rest is the cache's to check. */
static em_status translate(const em_cache_opts *o, uint64_t block_bytes, emi_cache_opts *own, em_errinfo *err)
{
	em_status st;

	memset(own, 0, sizeof *own);
	if (block_bytes > SIZE_MAX)
		return emi_fail(err, EM_ERR_RANGE, "a cache of blocks of %" PRIu64 " bytes", block_bytes);
	own->frames = o->frames;
	own->block_bytes = (size_t)block_bytes;
	own->policy = o->policy;
	own->seed = o->seed;
	own->batch = o->batch;
	own->trace = o->trace;
	own->trace_user = o->trace_user;
	st = emi_policy_choose(&own->policy, err);
	return st == EM_OK ? emi_cache_check(own, err) : st;
}

static void release_cache(void *cache)
{
	em_cache *c = cache;

	emi_cache_close(c->cache);
	emi_store_close(c->store);
	emi_share_free(c, sizeof *c);
}

static em_status open_cache(em_cache **out, em_disks *d, const em_cache_opts *o, em_errinfo *err)
{
	emi_cache_opts own;
	em_status st = translate(o, emi_share_block_bytes(&d->share, o->block_bytes), &own, err);
	em_cache *c;

	if (st != EM_OK)
		return st;
	c = emi_share_new(d, sizeof *c, 0, release_cache, err);
	if (c == NULL)
		return err->status;
	st = emi_store_open_disks(&c->store, c->share.object.ctx, c->share.set, err);
	if (st == EM_OK) {
		own.store = c->store;
		st = emi_cache_open(&c->cache, c->share.object.ctx, &own, err);
	}
	if (st != EM_OK)
		release_cache(c);
	else
		*out = c;
	return st;
}

em_status em_cache_open(em_cache **out, em_disks *d, const em_cache_opts *opts)
{
	em_cache_opts o;
	em_errinfo err;
	em_status st;

	emi_errinfo_clear(&err);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = emi_given(d, "d", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_cache_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_cache(out, d, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_cache_opts, opts), st, &err);
}

void em_cache_close(em_cache *c)
{
	emi_object_close(c);
}

uint64_t em_cache_memory(const em_cache_opts *opts)
{
	emi_cache_opts own;
	em_cache_opts o;

	if (opts == NULL || EMI_STRUCT_TAKE(em_cache_opts, &o, opts, NULL) != EM_OK ||
	    translate(&o, o.block_bytes, &own, NULL) != EM_OK)
		return 0;
	return sizeof(em_cache) + emi_store_memory() + emi_cache_memory(&own);
}

/* What is wrong with getting a block. */
static em_status get_refused(em_cache *c, em_bid bid, uint32_t mode, void *const *block)
{
	em_errinfo err;
	em_status st = emi_share_enter_at(c, bid, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(block, "block", &err);
	if (st == EM_OK)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no mode %" PRIu32, mode);
	return emi_leave(c, st, &err);
}

/* This is called very often, so it asks of a hit only what it must. */
em_status em_cache_get(em_cache *c, em_bid bid, uint32_t mode, void **block)
{
	uint32_t f = EM_CACHE_NONE;
	em_errinfo err;
	em_status st;

	if (block != NULL)
		*block = NULL;
	if (c == NULL || block == NULL || mode > EM_CACHE_FRESH || bid.disk >= emi_disk_count(c->share.set))
		return get_refused(c, bid, mode, block);
	st = emi_enter_quickly(&c->share.object);
	if (st != EM_OK)
		return st;
	err.status = EM_OK;
	st = emi_cache_get(c->cache, bid, mode, &f, &err);
	if (st != EM_OK)
		return emi_leave(c, st, &err);
	*block = emi_cache_buf(c->cache, f);
	emi_leave_quickly(&c->share.object);
	return EM_OK;
}

/* End a call with a block that should not have come back, of which f is the frame, if it is any. */
static em_status back_refused(em_cache *c, const void *block, uint32_t f, const char *name,
			      const char *none, const char *mistake)
{
	em_errinfo err;
	em_status st;

	err.status = EM_OK;
	st = emi_given(block, name, &err);
	if (st == EM_OK)
		st = emi_fail(&err, f == EM_CACHE_NONE ? EM_ERR_INVAL : EM_ERR_STATE, "%s",
			      f == EM_CACHE_NONE ? none : mistake);
	return emi_leave(c, st, &err);
}

em_status em_cache_unpin(em_cache *c, void *block, int dirty)
{
	const em_status st = c != NULL ? emi_enter_quickly(&c->share.object) : EM_ERR_INVAL;
	uint32_t f;

	if (st != EM_OK)
		return st;
	f = block != NULL ? emi_cache_frame_of(c->cache, block) : EM_CACHE_NONE;
	if (f == EM_CACHE_NONE || emi_cache_pins(c->cache, f) == 0)
		return back_refused(c, block, f, "block", "that is no block of the cache",
				    "a block is unpinned more often than it was got");
	emi_cache_unpin(c->cache, f, dirty);
	emi_leave_quickly(&c->share.object);
	return EM_OK;
}

void em_cache_hint(em_cache *c, em_bid bid)
{
	em_errinfo err;

	if (emi_share_enter_at(c, bid, &err) != EM_OK)
		return;
	emi_cache_hint(c->cache, bid);
	emi_leave_quickly(&c->share.object);
}

em_status em_cache_flush(em_cache *c)
{
	em_errinfo err;
	const em_status st = emi_enter(c, &err);

	return st == EM_OK ? emi_leave(c, emi_cache_flush(c->cache, &err), &err) : st;
}

static em_status invalidate(em_cache *c, em_bid bid, em_errinfo *err)
{
	const emi_span span = { bid, emi_cache_block_bytes(c->cache) };

	return emi_cache_forget_range(c->cache, &span, err);
}

em_status em_cache_invalidate(em_cache *c, em_bid bid)
{
	em_errinfo err;
	const em_status st = emi_enter(c, &err);

	return st == EM_OK ? emi_leave(c, invalidate(c, bid, &err), &err) : st;
}

em_status em_cache_detach(em_cache *c, void **buf)
{
	char *got = NULL;
	em_errinfo err;
	em_status st = emi_enter(c, &err);

	if (buf != NULL)
		*buf = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(buf, "buf", &err);
	if (st == EM_OK)
		st = emi_cache_detach(c->cache, &got, &err);
	if (st == EM_OK)
		*buf = got;
	return emi_leave(c, st, &err);
}

em_status em_cache_attach(em_cache *c, void *buf)
{
	const em_status st = c != NULL ? emi_enter_quickly(&c->share.object) : EM_ERR_INVAL;
	uint32_t f;

	if (st != EM_OK)
		return st;
	f = buf != NULL ? emi_cache_frame_of(c->cache, buf) : EM_CACHE_NONE;
	if (f == EM_CACHE_NONE || !emi_cache_is_detached(c->cache, f))
		return back_refused(c, buf, f, "buf", "that is no memory of the cache",
				    "memory is attached that was not detached");
	emi_cache_attach(c->cache, buf);
	emi_leave_quickly(&c->share.object);
	return EM_OK;
}

em_status em_cache_stats_get(const em_cache *c, em_cache_stats *stats)
{
	em_cache_stats s;

	if (c == NULL)
		return EM_ERR_INVAL;
	emi_cache_stats_get(c->cache, &s);
	return EMI_STRUCT_GIVE(em_cache_stats, stats, &s);
}

void em_cache_error(const em_cache *c, em_errinfo *err)
{
	emi_object_error(c, err);
}
