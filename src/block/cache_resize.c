/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_resize.c -- having another number of frames; see cache.h.
 *
 * More come when they are needed.  When there are to be fewer, victims leave until the rest has room, and blocks in
 * frames that go move to others; so none of them may be pinned, and none be on its way.
 */
#include "block/cache_frames.h"

#include <inttypes.h>

#include "base/error.h"

static em_status all_free(const emi_cache *c, em_errinfo *err)
{
	uint32_t i;

	if (c->detached != 0)
		return emi_fail(err, EM_ERR_STATE, "memory of %" PRIu32 " frames of the cache is detached",
				c->detached);
	for (i = 0; i < c->used; i++)
		if (c->frame[i].pins != 0)
			return emi_fail(err, EM_ERR_STATE, "a block of the cache is pinned");
	return EM_OK;
}

static uint32_t blocks(const emi_cache *c)
{
	uint32_t i, n = 0;

	for (i = 0; i < c->used; i++)
		n += c->frame[i].here;
	return n;
}

/* Blocks behind frame m move before it. */
static void close_up(emi_cache *c, uint32_t m)
{
	uint32_t i, to = 0;

	for (i = m; i < c->used; i++) {
		if (!c->frame[i].here || !emi_frame_calm(c, i))
			continue;
		while (c->frame[to].here)
			to++;
		emi_frame_move_block(c, i, to);
	}
}

static em_status shrink(emi_cache *c, uint32_t m, em_errinfo *err)
{
	const uint32_t before = c->m;
	em_status st = all_free(c, err);
	uint32_t n;

	c->m = m;
	for (n = blocks(c); st == EM_OK && n > m; n = blocks(c))
		st = emi_cache_evict(c, err);
	if (st != EM_OK) {
		c->m = before;
		return st;
	}
	close_up(c, m);
	emi_cache_cut_frames(c, m);
	return EM_OK;
}

em_status emi_cache_resize(emi_cache *c, uint32_t frames, em_errinfo *err)
{
	em_status st = EM_OK;

	if (frames == 0 || frames > EMI_FRAMES_MOST)
		return emi_fail(err, EM_ERR_RANGE, "a cache of %" PRIu32 " blocks", frames);
	if (frames < c->used)
		st = shrink(c, frames, err);
	if (st != EM_OK)
		return st;
	c->m = frames;
	c->batch = emi_cache_batch(frames, c->batch_given);
	c->scarce = 0;
	return EM_OK;
}
