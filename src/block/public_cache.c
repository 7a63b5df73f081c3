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

static em_status open_cache(em_cache **out, em_disks *d, const em_cache_opts *o, em_errinfo *err)
{
	emi_cache_opts own;
	em_status st = translate(o, emi_share_block_bytes(&d->share, o->block_bytes), &own, err);
	em_cache *c;

	if (st != EM_OK)
		return st;
	c = emi_share_new(d, sizeof *c, err);
	if (c == NULL)
		return err->status;
	st = emi_store_open_disks(&c->store, c->share.ctx, c->share.set, err);
	if (st == EM_OK) {
		own.store = c->store;
		st = emi_cache_open(&c->cache, c->share.ctx, &own, err);
	}
	if (st != EM_OK)
		em_cache_close(c);
	else
		*out = c;
	return st;
}

em_status em_cache_open(em_cache **out, em_disks *d, const em_cache_opts *opts)
{
	em_cache_opts o;
	em_errinfo err;
	em_status st;

	if (out == NULL)
		return EM_ERR_INVAL;
	*out = NULL;
	if (opts == NULL)
		return EM_ERR_INVAL;
	emi_errinfo_clear(&err);
	st = EMI_STRUCT_TAKE(em_cache_opts, &o, opts, &err);
	if (st == EM_OK)
		st = d != NULL ? open_cache(out, d, &o, &err) : emi_fail(&err, EM_ERR_INVAL, "disks are NULL");
	return emi_share_opened(st, EMI_ERRINFO_OF(em_cache_opts, opts), &err);
}

void em_cache_close(em_cache *c)
{
	if (c == NULL)
		return;
	emi_cache_close(c->cache);
	emi_store_close(c->store);
	emi_share_free(c, sizeof *c);
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

em_status em_cache_get(em_cache *c, em_bid bid, uint32_t mode, void **block)
{
	uint32_t f = EM_CACHE_NONE;
	em_errinfo err;
	em_status st;

	if (block == NULL)
		return EM_ERR_INVAL;
	*block = NULL;
	if (c == NULL || mode > EM_CACHE_FRESH)
		return EM_ERR_INVAL;
	/* Only what says that there is no failure: this is called very often. */
	err.status = EM_OK;
	st = bid.disk < emi_disk_count(c->share.set) ? emi_cache_get(c->cache, bid, mode, &f, &err) : emi_share_check(&c->share, bid, &err);
	if (st != EM_OK)
		return emi_share_told(&c->share, st, &err);
	*block = emi_cache_buf(c->cache, f);
	return EM_OK;
}

em_status em_cache_unpin(em_cache *c, void *block, int dirty)
{
	const uint32_t f = c != NULL && block != NULL ? emi_cache_frame_of(c->cache, block) : EM_CACHE_NONE;
	em_errinfo err;

	if (f != EM_CACHE_NONE && emi_cache_pins(c->cache, f) != 0) {
		emi_cache_unpin(c->cache, f, dirty);
		return EM_OK;
	}
	if (c == NULL || block == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	emi_fail(&err, f == EM_CACHE_NONE ? EM_ERR_INVAL : EM_ERR_STATE, "%s",
		 f == EM_CACHE_NONE ? "that is no block of the cache" : "a block is unpinned more often than it was got");
	return emi_share_told(&c->share, err.status, &err);
}

void em_cache_hint(em_cache *c, em_bid bid)
{
	if (c != NULL && emi_share_check(&c->share, bid, NULL) == EM_OK)
		emi_cache_hint(c->cache, bid);
}

em_status em_cache_flush(em_cache *c)
{
	em_errinfo err;

	if (c == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return emi_share_told(&c->share, emi_cache_flush(c->cache, &err), &err);
}

static em_status invalidate(em_cache *c, em_bid bid, em_errinfo *err)
{
	const emi_span span = { bid, emi_cache_block_bytes(c->cache) };

	return emi_cache_forget_range(c->cache, &span, err);
}

em_status em_cache_invalidate(em_cache *c, em_bid bid)
{
	em_errinfo err;

	if (c == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return emi_share_told(&c->share, invalidate(c, bid, &err), &err);
}

em_status em_cache_detach(em_cache *c, void **buf)
{
	em_errinfo err;
	em_status st;
	char *got;

	if (buf == NULL)
		return EM_ERR_INVAL;
	*buf = NULL;
	if (c == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	st = emi_cache_detach(c->cache, &got, &err);
	*buf = got;
	return emi_share_told(&c->share, st, &err);
}

em_status em_cache_attach(em_cache *c, void *buf)
{
	const uint32_t f = c != NULL && buf != NULL ? emi_cache_frame_of(c->cache, buf) : EM_CACHE_NONE;
	em_errinfo err;

	if (f != EM_CACHE_NONE && emi_cache_is_detached(c->cache, f)) {
		emi_cache_attach(c->cache, buf);
		return EM_OK;
	}
	if (c == NULL || buf == NULL)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	emi_fail(&err, f == EM_CACHE_NONE ? EM_ERR_INVAL : EM_ERR_STATE, "%s",
		 f == EM_CACHE_NONE ? "that is no memory of the cache" : "memory is attached that was not detached");
	return emi_share_told(&c->share, err.status, &err);
}

em_status em_cache_stats_get(const em_cache *c, em_cache_stats *stats)
{
	em_cache_stats s;

	if (c == NULL)
		return EM_ERR_INVAL;
	emi_cache_stats_get(c->cache, &s);
	return EMI_STRUCT_GIVE(em_cache_stats, stats, &s);
}

const em_errinfo *em_cache_error(const em_cache *c)
{
	return c != NULL ? &c->share.err : NULL;
}
