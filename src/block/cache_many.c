/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_many.c -- getting several blocks of a cache at once, with their reads under way together; see cache.h.
 *
 * First all blocks are pinned, and those that are missing begin to be read; then they are waited for.  A block whose
 * read fails leaves at once, although it is pinned: nobody but this call has pinned it, since others wait for a read
 * before.
 */
#include "block/cache_frames.h"

#include "base/error.h"

/* A frame with a transfer, whose block is to be got: 0 if it has left. */
static int reach(emi_cache *c, uint32_t i, uint32_t mode)
{
	const unsigned busy = c->frame[i].busy;

	if (busy == EMI_FRAME_IDLE || (busy == EMI_FRAME_WRITING && mode == EM_CACHE_READ))
		return 1;
	if (busy != EMI_FRAME_READING || mode == EM_CACHE_FRESH)
		return emi_frame_calm(c, i);
	emi_list_remove(c->link, i);
	emi_frame_move_to(c, i, EMI_FRAMES_PINNED_READS);
	return 1;
}

em_status emi_cache_bring(emi_cache *c, em_bid bid, uint32_t mode, uint32_t *frame, em_errinfo *err)
{
	uint32_t i = emi_bid_map_find(&c->map, bid);
	em_status st;

	if (i != EMI_NO_ENTRY && reach(c, i, mode)) {
		c->stats.hits++;
		/* A hint is no use. */
		if (!c->frame[i].hinted)
			c->policy->hit(c->state, i);
	} else {
		c->stats.misses++;
		st = emi_store_check_block(c->store, EMI_READ, bid, c->block_bytes, err);
		if (st == EM_OK)
			st = emi_cache_await_frame(c, &i, err);
		if (st != EM_OK)
			return st;
		emi_frame_place(c, i, bid);
		if (mode != EM_CACHE_FRESH)
			emi_frame_read(c, i, EMI_FRAMES_PINNED_READS);
	}
	emi_frame_pin(c, &c->frame[i], mode);
	*frame = i;
	return EM_OK;
}

/* Wait for all that were pinned: how many of the first ones are there.  Those behind are unpinned. */
static size_t await_all(emi_cache *c, const uint32_t *frame, size_t n, em_errinfo *err)
{
	size_t k, got = n;

	for (k = 0; k < n; k++) {
		emi_cache_frame *f = &c->frame[frame[k]];

		if (f->busy == EMI_FRAME_READING)
			(void)emi_frame_settle_read(c, frame[k], err);
		if (got == n && !f->here)
			got = k;
	}
	/* What has left may be in the list more than once. */
	for (k = got; k < n; k++)
		if (c->frame[frame[k]].here)
			c->frame[frame[k]].pins--;
	return got;
}

em_status emi_cache_get_many(emi_cache *c, const em_bid *bid, size_t n, uint32_t mode, const em_bid *next, size_t more,
			     uint32_t *frame, size_t *got, em_errinfo *err)
{
	em_errinfo none = EM_ERRINFO_INIT, unread = EM_ERRINFO_INIT;
	size_t k, there;

	for (there = 0; there < n; there++) {
		emi_cache_tell(c, bid[there], mode);
		if (emi_cache_bring(c, bid[there], mode, &frame[there], &none) != EM_OK)
			break;
	}
	/* What will be wanted next begins before anybody waits for these. */
	for (k = 0; k < more && there == n; k++)
		emi_cache_hint(c, next[k]);
	*got = await_all(c, frame, there, &unread);
	if (*got != 0 || n == 0)
		return EM_OK;
	if (there != 0)
		none = unread;
	if (err != NULL && err->status >= EM_OK)
		*err = none;
	return none.status;
}
