/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_ahead.c -- reading blocks before they are got; see cache.h.
 *
 * Who passes through very many blocks gets each of them once.  When the cache is full these take frames that are side
 * by side, one after the other and again from the first: the ring.  So all other blocks stay in the cache.  Blocks that
 * are side by side on the disk are so in memory, and the kernel makes one read of them.  The ring is small, as memory
 * that is in the processor's cache is read into faster.
 *
 * A range of fewer blocks may be wanted again.  They come to the ring for the first time, and leave marks.  When one
 * that has a mark comes again it takes a frame as all others do, and the policy decides on it.
 */
#include "block/cache_frames.h"

#include "base/context.h"

#define RING_EACH 192u          /* frames of the ring for each disk, ... */
#define RING_SHARE 8u           /* ... and no more than this part of all */
#define RING_TURNS 2u           /* what was read ahead may leave when nobody has passed it for so many turns */

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A frame of the ring is taken, and a turn is over when so many were. */
static void count(emi_cache *c, uint32_t turn)
{
	if (++c->ring_taken >= turn) {
		c->ring_taken = 0;
		c->turn++;
	}
}

/* May what is in a frame of the ring leave?  Not if it was read ahead and nobody has passed it, unless that is so for
 * some turns: then nobody is going to. */
static int may_leave(const emi_cache *c, const emi_cache_frame *f)
{
	return !f->detached && f->pins == 0 && f->busy == EMI_FRAME_IDLE && f->dirty == EMI_FRAME_CLEAN && !f->asking &&
	       (!f->hinted || (uint8_t)(c->turn - f->turn) >= RING_TURNS);
}

/* The next free frame of the ring, which is the beginning of the last piece, or EM_CACHE_NONE. */
static uint32_t ring_frame(emi_cache *c)
{
	const emi_cache_piece *p = &c->piece[c->pieces - 1];
	const uint32_t most = least_of(c->m / RING_SHARE, RING_EACH * emi_store_disks(c->store));
	const uint32_t n = least_of(most, p->n);
	uint32_t k;

	emi_cache_settle_done(c);
	for (k = 0; k < n; k++) {
		const uint32_t at = c->ring < n ? c->ring : 0, i = p->first + at;

		c->ring = at + 1;
		if (!may_leave(c, &c->frame[i]))
			continue;
		if (c->frame[i].here)
			emi_frame_drop(c, i, !c->frame[i].ahead);
		count(c, n);
		return i;
	}
	return EM_CACHE_NONE;
}

/* Has a block of a range its mark?  It gets one otherwise, in place of that of another block.  Blocks side by side have
 * hashes that lie evenly, so these are mixed once more: or those of one range would all be in the places of another. */
static int comes_again(emi_cache *c, em_bid bid)
{
	const uint64_t hash = emi_bid_hash(bid), any = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	const uint32_t mark = (uint32_t)(hash >> 16) | 1;
	uint32_t *place = &c->passed[(any >> 32) * c->room >> 32];
	const int again = *place == mark;

	*place = again ? 0 : mark;
	return again;
}

static int may_use_ring(emi_cache *c, em_bid bid, emi_cache_part part)
{
	if (part == EMI_PART_OF_FEW || c->used != c->m)
		return 0;
	return part == EMI_PART_OF_ALL || !comes_again(c, bid);
}

static void hint(emi_cache *c, em_bid bid, emi_cache_part part)
{
	uint32_t i = EM_CACHE_NONE;

	/* Half of the frames are enough for what is wanted soon. */
	if (emi_bid_map_find(&c->map, bid) != EMI_NO_ENTRY || c->nreading >= (c->m - c->detached) / 2 ||
	    emi_ctx_forked(c->ctx) || emi_store_check_block(c->store, EMI_READ, bid, c->block_bytes, NULL) != EM_OK)
		return;
	if (may_use_ring(c, bid, part))
		i = ring_frame(c);
	if (i == EM_CACHE_NONE)
		i = emi_cache_free_frame(c);
	if (i == EM_CACHE_NONE)
		return;
	emi_frame_place(c, i, bid);
	c->frame[i].hinted = c->frame[i].ahead = 1;
	c->frame[i].turn = c->turn;
	emi_frame_read(c, i, EMI_FRAMES_READS);
	c->stats.hints += c->frame[i].busy == EMI_FRAME_READING;
}

void emi_cache_hint(emi_cache *c, em_bid bid)
{
	hint(c, bid, EMI_PART_OF_FEW);
}

void emi_cache_hint_many(emi_cache *c, const em_bid *bid, size_t n, emi_cache_part part)
{
	const int gathers = emi_store_gather(c->store);
	size_t k;

	for (k = 0; k < n; k++)
		hint(c, bid[k], part);
	if (gathers)
		emi_store_gathered(c->store);
}
