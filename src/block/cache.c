/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.c -- opening, closing, and what is called very often; see cache.h, and cache_frames.h for the rest.
 */
#include "block/cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/cache_frames.h"
#include "block/policy.h"

uint64_t emi_cache_memory(const emi_cache_opts *opts)
{
	return sizeof(emi_cache) + emi_cache_frames_memory(opts);
}

em_status emi_cache_check(const emi_cache_opts *opts, em_errinfo *err)
{
	if (opts->frames != 0 && opts->frames <= EMI_FRAMES_MOST && opts->block_bytes != 0 &&
	    opts->block_bytes % EMI_PAGE == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_RANGE, "a cache of %" PRIu32 " blocks of %" PRIu64 " bytes", opts->frames,
			(uint64_t)opts->block_bytes);
}

emi_cache_opts emi_cache_options(const emi_cache *c)
{
	emi_cache_opts o;

	memset(&o, 0, sizeof o);
	o.frames = c->m;
	o.block_bytes = c->block_bytes;
	o.policy = c->policy;
	return o;
}

uint32_t emi_cache_batch(uint32_t frames, uint32_t given)
{
	if (given != 0)
		return given;
	return frames / 4 < EMI_CACHE_BATCH ? frames / 4 + (frames < 4) : EMI_CACHE_BATCH;
}

em_status emi_cache_open(emi_cache **out, em_ctx *ctx, const emi_cache_opts *opts, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	emi_cache *c = NULL;

	*out = NULL;
	if (emi_cache_check(opts, &own) == EM_OK)
		c = emi_alloc(ctx, sizeof *c, &own);
	if (c == NULL) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return own.status;
	}
	c->ctx = ctx;
	c->store = emi_store_hold(opts->store);
	c->io = opts->io;
	c->policy = opts->policy != NULL ? opts->policy : &emi_policy_s3fifo;
	c->seed = opts->seed;
	c->trace = opts->trace;
	c->trace_user = opts->trace_user;
	c->m = opts->frames;
	c->block_bytes = opts->block_bytes;
	c->batch_given = opts->batch;
	c->batch = emi_cache_batch(c->m, c->batch_given);
	emi_cache_frames_init(c);
	emi_store_join(c->store, &c->holder, &emi_cache_calls);
	*out = c;
	return EM_OK;
}

/* Nothing is under way any more. */
static void end_transfers(emi_cache *c)
{
	uint32_t i;

	while ((i = emi_frame_first(c, EMI_FRAMES_WRITES)) != EM_CACHE_NONE)
		(void)emi_frame_calm(c, i);
	while ((i = emi_frame_first(c, EMI_FRAMES_READS)) != EM_CACHE_NONE)
		(void)emi_frame_calm(c, i);
}

void emi_cache_close(emi_cache *c)
{
	em_ctx *ctx;

	if (c == NULL)
		return;
	ctx = c->ctx;
	if (!emi_ctx_forked(ctx)) {
		end_transfers(c);
		if (c->ndirty != 0)
			emi_log(ctx, EM_LOG_WARN,
				"a cache was closed with %" PRIu32 " changed blocks, which are discarded", c->ndirty);
	}
	emi_store_part(c->store, &c->holder);
	emi_cache_frames_free(c);
	emi_store_close(c->store);
	emi_free(ctx, c, sizeof *c);
}

/* It is not there, or on its way. */
static em_status get_slowly(emi_cache *c, em_bid bid, uint32_t mode, uint32_t *frame, em_errinfo *err)
{
	em_status st = emi_cache_bring(c, bid, mode, frame, err);

	if (st == EM_OK && c->frame[*frame].busy == EMI_FRAME_READING)
		st = emi_frame_settle_read(c, *frame, err);
	if (st == EM_OK)
		c->last = *frame;
	else
		*frame = EM_CACHE_NONE;
	return st;
}

em_status emi_cache_get(emi_cache *c, em_bid bid, uint32_t mode, uint32_t *frame, em_errinfo *err)
{
	const uint32_t i = emi_bid_map_find(&c->map, bid);
	emi_cache_frame *f;

	emi_cache_tell(c, bid, mode);
	if (i == EMI_NO_ENTRY || c->frame[i].busy != EMI_FRAME_IDLE)
		return get_slowly(c, bid, mode, frame, err);
	f = &c->frame[i];
	c->stats.hits++;
	if (!f->hinted)
		c->policy->hit(c->state, i);
	emi_frame_pin(c, f, mode);
	*frame = c->last = i;
	return EM_OK;
}

int emi_cache_again(emi_cache *c, em_bid bid, uint32_t *frame)
{
	const uint32_t i = c->last;
	emi_cache_frame *f;

	if (i >= c->used || c->block[i].bid.offset != bid.offset || c->block[i].bid.disk != bid.disk)
		return 0;
	f = &c->frame[i];
	if (!f->here || f->busy != EMI_FRAME_IDLE)
		return 0;
	c->stats.hits++;
	f->pins++;
	*frame = i;
	return 1;
}

uint32_t emi_cache_find(const emi_cache *c, em_bid bid)
{
	return emi_bid_map_find(&c->map, bid);
}

int emi_cache_is_unsaved(const emi_cache *c, em_bid bid)
{
	const uint32_t i = emi_cache_find(c, bid);

	return i != EM_CACHE_NONE && c->frame[i].dirty != EMI_FRAME_CLEAN && c->frame[i].pins == 0;
}

int emi_cache_rescue(emi_cache *c, em_bid bid)
{
	const uint32_t i = emi_cache_find(c, bid);
	emi_cache_frame *f = i != EM_CACHE_NONE ? &c->frame[i] : NULL;

	if (f == NULL || (f->dirty == EMI_FRAME_CLEAN && f->pins == 0))
		return 0;
	if (f->dirty == EMI_FRAME_CLEAN)
		emi_frame_be_dirty(c, f);
	return 1;
}

void emi_cache_unpin(emi_cache *c, uint32_t frame, int dirty)
{
	emi_cache_frame *f = &c->frame[frame];

	if (dirty)
		emi_frame_be_dirty(c, f);
	f->pins--;
}

int emi_cache_unpin_block(emi_cache *c, const void *block, int dirty)
{
	uint32_t i = c->last;

	/* Most blocks are unpinned before another one is got. */
	if (i >= c->used || c->frame[i].buf != block)
		i = emi_cache_frame_of(c, block);
	if (i == EM_CACHE_NONE || c->frame[i].pins == 0)
		return 0;
	emi_cache_unpin(c, i, dirty);
	return 1;
}

em_status emi_cache_provide(emi_cache *c, uint32_t n, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	while (c->used < n && c->used < c->m)
		if (emi_cache_new_frame(c, &own) == EM_CACHE_NONE) {
			if (err != NULL && err->status >= EM_OK)
				*err = own;
			return own.status;
		}
	return EM_OK;
}

em_status emi_cache_detach(emi_cache *c, char **buf, em_errinfo *err)
{
	uint32_t i = EM_CACHE_NONE;
	em_status st = emi_cache_await_frame(c, &i, err);

	*buf = NULL;
	if (st != EM_OK)
		return st;
	emi_list_remove(c->link, i);
	c->frame[i].detached = 1;
	c->detached++;
	*buf = c->frame[i].buf;
	return EM_OK;
}

void emi_cache_attach(emi_cache *c, char *buf)
{
	const uint32_t i = emi_cache_frame_of(c, buf);

	c->frame[i].detached = 0;
	c->detached--;
	emi_frame_move_to(c, i, EMI_FRAMES_FREE);
}

int emi_cache_is_detached(const emi_cache *c, uint32_t frame)
{
	return c->frame[frame].detached;
}

size_t emi_cache_block_bytes(const emi_cache *c)
{
	return c->block_bytes;
}

uint32_t emi_cache_frames(const emi_cache *c)
{
	return c->m - c->detached;
}

uint32_t emi_cache_dirty(const emi_cache *c)
{
	return c->ndirty;
}

void emi_cache_stats_get(const emi_cache *c, em_cache_stats *stats)
{
	*stats = c->stats;
	stats->size = sizeof *stats;
	stats->frames = emi_cache_frames(c);
	stats->dirty = c->ndirty;
}
