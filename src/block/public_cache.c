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
	emi_cache *cache;
	uint32_t most;          /* the last mode that there may be */
	emi_user policy, trace; /* what their functions have, to be freed */
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
	emi_user_free(&c->policy);
	emi_user_free(&c->trace);
	emi_share_free(c, sizeof *c);
}

static uint64_t memory_of(const emi_cache_opts *own)
{
	return sizeof(em_cache) + emi_store_memory() + emi_cache_memory(own);
}

/* Will the context have the memory for such a cache? */
static em_status check_memory(const emi_share *s, const emi_cache_opts *own, em_errinfo *err)
{
	const emi_wants w = emi_share_wants(s, memory_of(own), own->frames, own->block_bytes);

	return emi_suffice_check(s->object.ctx, &w, err, "frames of %" PRIu32 " blocks of %" PRIu64 " bytes",
				 own->frames, (uint64_t)own->block_bytes);
}

static em_status open_cache(em_cache **out, em_disks *d, const em_cache_opts *o, em_errinfo *err)
{
	emi_cache_opts own;
	em_status st = translate(o, emi_share_block_bytes(&d->share, o->block_bytes), &own, err);
	em_cache *c;

	if (st == EM_OK)
		st = check_memory(&d->share, &own, err);
	if (st != EM_OK)
		return st;
	c = emi_share_new(d, sizeof *c, 0, release_cache, err);
	if (c == NULL)
		return err->status;
	st = emi_share_store(&c->share, err);
	own.store = c->share.store;
	if (st == EM_OK)
		c->most = emi_store_read_only(own.store) ? EM_CACHE_READ : EM_CACHE_FRESH;
	if (st == EM_OK)
		st = emi_cache_open(&c->cache, d->share.object.ctx, &own, err);
	if (st != EM_OK)
		emi_share_free(c, sizeof *c);
	else
		*out = c;
	return st;
}

em_status em_cache_open(em_cache **out, em_disks *d, const em_cache_opts *opts)
{
	em_cache_opts o;
	em_errinfo err;
	emi_user policy, trace;
	em_status st;

	if (out != NULL)
		*out = NULL;
	/* Whatever is wrong, what they hold is freed. */
	(void)EMI_STRUCT_TAKE(em_cache_opts, &o, opts, NULL);
	policy = emi_policy_user(o.policy);
	trace.user = o.trace_user;
	trace.free = o.trace_free;
	st = emi_begin_open(out, d, "d", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_cache_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_cache(out, d, &o, &err);
	(void)emi_user_give(st == EM_OK ? &(*out)->policy : NULL, &policy, st);
	(void)emi_user_give(st == EM_OK ? &(*out)->trace : NULL, &trace, st);
	return emi_tell(EMI_ERRINFO_OF(em_cache_opts, opts), st, &err);
}

void em_cache_close(em_cache *c)
{
	emi_object_close(c);
}

void em_cache_cancel(em_cache *c)
{
	emi_object_cancel(c);
}

uint64_t em_cache_memory(const em_cache_opts *opts)
{
	emi_cache_opts own;
	em_cache_opts o;

	if (opts == NULL || EMI_STRUCT_TAKE(em_cache_opts, &o, opts, NULL) != EM_OK ||
	    translate(&o, o.block_bytes, &own, NULL) != EM_OK)
		return 0;
	return memory_of(&own);
}

/* What is wrong with getting a block. */
static em_status get_refused(em_cache *c, em_bid bid, uint32_t mode, void *const *block)
{
	em_errinfo err;
	em_status st = emi_share_enter_at(c, bid, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(block, "block", &err);
	if (st == EM_OK && mode > EM_CACHE_FRESH)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no mode %" PRIu32, mode);
	if (st == EM_OK)
		st = emi_store_check(c->share.store, EMI_WRITE, bid, 0, &err);
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
	if (c == NULL || block == NULL || mode > c->most || bid.disk >= c->share.n)
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

/* End a call with a block that should not have come back. */
static em_status back_refused(em_cache *c, const void *block, const char *name, const char *none, const char *mistake)
{
	em_errinfo err;
	em_status st;

	err.status = EM_OK;
	st = emi_given(block, name, &err);
	if (st == EM_OK && emi_cache_frame_of(c->cache, block) == EM_CACHE_NONE)
		st = emi_fail(&err, EM_ERR_INVAL, "%s", none);
	if (st == EM_OK)
		st = emi_fail(&err, EM_ERR_STATE, "%s", mistake);
	return emi_leave(c, st, &err);
}

/* End a call in which a block of what is read-only was changed. */
static em_status changed(em_cache *c)
{
	em_errinfo err;

	err.status = EM_OK;
	return emi_leave(c, emi_fail(&err, EM_ERR_INVAL, "the file was opened for reading only"), &err);
}

em_status em_cache_unpin(em_cache *c, void *block, int dirty)
{
	const em_status st = c != NULL ? emi_enter_quickly(&c->share.object) : EM_ERR_INVAL;

	if (st != EM_OK)
		return st;
	if (dirty && c->most == EM_CACHE_READ)
		return changed(c);
	if (!emi_cache_unpin_block(c->cache, block, dirty))
		return back_refused(c, block, "block", "that is no block of the cache",
				    "a block is unpinned more often than it was got");
	emi_leave_quickly(&c->share.object);
	return EM_OK;
}

static em_status check_many(em_cache *c, const em_bid *bids, size_t n, uint32_t mode, const em_bid *next, size_t more,
			    em_errinfo *err)
{
	em_status st = n != 0 ? emi_given(bids, "bids", err) : EM_OK;
	size_t i;

	if (st == EM_OK && more != 0)
		st = emi_given(next, "next", err);
	if (st == EM_OK && mode > EM_CACHE_FRESH)
		st = emi_fail(err, EM_ERR_INVAL, "there is no mode %" PRIu32, mode);
	for (i = 0; i < n && st == EM_OK; i++)
		st = emi_share_check(&c->share, bids[i], err);
	for (i = 0; i < more && st == EM_OK; i++)
		st = emi_share_check(&c->share, next[i], err);
	if (st == EM_OK && n != 0 && mode > c->most)
		st = emi_store_check(c->share.store, EMI_WRITE, bids[0], 0, err);
	return st;
}

/* So many at a time, as their frames have to be somewhere. */
enum { GROUP = 256 };

static em_status get_many(em_cache *c, const em_bid *bids, size_t n, uint32_t mode, const em_bid *next, size_t more,
			  void **blocks, size_t *got, em_errinfo *err)
{
	uint32_t frame[GROUP];
	em_status st = EM_OK;
	size_t k, there = 0;

	while (*got < n && st == EM_OK) {
		const size_t group = n - *got < GROUP ? n - *got : GROUP;
		const int last = *got + group == n;

		st = emi_cache_get_many(c->cache, bids + *got, group, mode, next, last ? more : 0, frame, &there, err);
		for (k = 0; k < there && st == EM_OK; k++)
			blocks[(*got)++] = emi_cache_buf(c->cache, frame[k]);
		if (there < group)
			break;
	}
	return *got != 0 ? EM_OK : st;
}

em_status em_cache_get_many(em_cache *c, const em_bid *bids, size_t n, uint32_t mode, const em_bid *next, size_t more,
			    void **blocks, size_t *got)
{
	em_errinfo err;
	em_status st = emi_enter(c, &err);
	size_t i;

	if (got != NULL)
		*got = 0;
	for (i = 0; blocks != NULL && i < n; i++)
		blocks[i] = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(got, "got", &err);
	if (st == EM_OK && n != 0)
		st = emi_given(blocks, "blocks", &err);
	if (st == EM_OK)
		st = check_many(c, bids, n, mode, next, more, &err);
	if (st == EM_OK)
		st = get_many(c, bids, n, mode, next, more, blocks, got, &err);
	return emi_leave(c, st, &err);
}

em_status em_cache_resize(em_cache *c, uint32_t frames)
{
	em_errinfo err;
	em_status st = emi_enter(c, &err);
	emi_cache_opts own;

	if (st != EM_OK)
		return st;
	own = emi_cache_options(c->cache);
	own.frames = frames;
	st = emi_cache_check(&own, &err);
	if (st == EM_OK)
		st = check_memory(&c->share, &own, &err);
	if (st == EM_OK)
		st = emi_cache_resize(c->cache, frames, &err);
	return emi_leave(c, st, &err);
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

em_status em_cache_invalidate(em_cache *c, em_bid bid)
{
	em_errinfo err;
	const em_status st = emi_enter(c, &err);
	emi_span span = { bid, 0 };

	if (st != EM_OK)
		return st;
	span.bytes = emi_cache_block_bytes(c->cache);
	return emi_leave(c, emi_cache_forget_range(c->cache, &span, &err), &err);
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
		return back_refused(c, buf, "buf", "that is no memory of the cache",
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
