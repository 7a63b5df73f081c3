/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ends_blocks.c -- see ends.h: blocks come to the ends, leave them, and move between memory and disks.
 *
 * Buffers that are free are kept, as there will be use for them: those and the blocks in memory are `hold' at most.
 *
 * A block at an end that has no record left stays until something has to be done there: it may be pushed to again.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"
#include "container/ends.h"

static uint64_t backs(const emi_ends *e)
{
	return e->blocks - e->fronts - e->disks;
}

static emi_ends_block *end_block(const emi_ends *e, emi_end end)
{
	return emi_ends_at(e, end == EMI_FRONT ? 0 : e->blocks - 1);
}

/* Bytes that there are for records in the block at an end. */
static size_t limit(const emi_ends *e)
{
	return e->piece != 0 ? e->piece / e->shape.record * e->shape.record : e->shape.full;
}

static void free_block(emi_ends *e, char *buf)
{
	if (e->piece != 0)
		emi_piece_free(e->ctx, buf, e->piece);
	else
		emi_buffers_give(&e->buffers, buf);
}

/* A buffer, or a smaller piece. */
static char *alloc_block(emi_ends *e, size_t bytes, em_errinfo *err)
{
	return bytes < e->shape.block_bytes ? emi_piece_alloc(e->ctx, bytes, err) : emi_buffers_take(&e->buffers, err);
}

em_status emi_ends_drop_block(emi_ends *e, emi_ends_block *b, em_errinfo *err)
{
	if (b->buf != NULL) {
		free_block(e, b->buf);
		return EM_OK;
	}
	return emi_ctx_forked(e->ctx) ? EM_OK : emi_block_pool_free(e->pool, b->bid, err);
}

/* Have the ring have room for one block more. */
static em_status widen_ring(emi_ends *e, em_errinfo *err)
{
	const uint64_t room = e->room != 0 ? 2 * e->room : EMI_ENDS_RING_LEAST;
	emi_ends_block *ring;
	uint64_t i;

	if (e->blocks < e->room)
		return EM_OK;
	ring = emi_alloc_array(e->ctx, room, sizeof *ring, err);
	if (ring == NULL)
		return err->status;
	for (i = 0; i < e->blocks; i++)
		ring[i] = *emi_ends_at(e, i);
	if (e->room != 0)
		emi_free_array(e->ctx, e->ring, e->room, sizeof *ring);
	e->ring = ring;
	e->room = room;
	e->first = 0;
	return EM_OK;
}

static void insert(emi_ends *e, emi_end end, char *buf)
{
	emi_ends_block *b;

	if (end == EMI_FRONT) {
		e->first--;
		e->number--;
		e->fronts += e->disks != 0;
		e->front_at = e->shape.full;
	} else {
		e->back_at = 0;
	}
	e->blocks++;
	b = end_block(e, end);
	b->buf = buf;
}

/* Which part of what is free in the sole block, of so many bytes, is in front. */
static size_t free_in_front(const emi_ends *e, emi_end end, size_t bytes)
{
	const size_t places = bytes / e->shape.record;

	if (e->shape.kind != EMI_DEQUE)
		return 0;
	return (end == EMI_FRONT ? (places + 1) / 2 : places / 2) * e->shape.record;
}

/* The first block begins with a small piece of memory, unless a buffer is there. */
static em_status begin(emi_ends *e, emi_end end, em_errinfo *err)
{
	size_t bytes = emi_piece_bytes(e->shape.record > EMI_PIECE_FIRST ? e->shape.record : EMI_PIECE_FIRST);
	em_status st = widen_ring(e, err);
	char *buf;

	if (st != EM_OK)
		return st;
	if (bytes > e->shape.block_bytes || e->buffers.free != NULL)
		bytes = e->shape.block_bytes;
	buf = alloc_block(e, bytes, err);
	if (buf == NULL)
		return err->status;
	insert(e, EMI_BACK, buf);
	e->piece = bytes < e->shape.block_bytes ? bytes : 0;
	e->front_at = e->back_at = free_in_front(e, end, limit(e));
	return EM_OK;
}

/* Move what the sole block has to where there is room in front of it and behind it; to another buffer, or in its
 * own. */
static void spread(emi_ends *e, emi_end end, const char *from, char *to)
{
	const size_t used = e->back_at - e->front_at, front = free_in_front(e, end, limit(e) - used);

	memmove(to + front, from + e->front_at, used);
	e->front_at = front;
	e->back_at = front + used;
}

/* The sole block is a piece, and full at an end: there is much room at the other one, or it gets larger. */
static em_status grow(emi_ends *e, emi_end end, em_errinfo *err)
{
	const size_t block = e->shape.block_bytes, old = e->piece, bytes = old < block / 2 ? 2 * old : block;
	emi_ends_block *b = end_block(e, end);
	char *larger;

	if (e->back_at - e->front_at <= limit(e) / 2) {
		spread(e, end, b->buf, b->buf);
		return EM_OK;
	}
	larger = alloc_block(e, bytes, err);
	if (larger == NULL)
		return err->status;
	e->piece = bytes < block ? bytes : 0;
	spread(e, end, b->buf, larger);
	emi_piece_free(e->ctx, b->buf, old);
	b->buf = larger;
	return EM_OK;
}

/* A buffer for writing.  Blocks that could not be written may be now. */
static em_status lend(emi_ends *e, char **buf, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	if (emi_block_pool_lend(e->pool, buf, &own) == EM_OK)
		return EM_OK;
	if (own.status == EM_ERR_IO || own.status == EM_ERR_NOSPACE)
		(void)emi_block_pool_flush(e->pool, NULL);
	return emi_block_pool_lend(e->pool, buf, err);
}

static em_status write_block(emi_ends *e, emi_ends_block *b, em_errinfo *err)
{
	const size_t bytes = e->shape.block_bytes;
	em_bid bid = { 0, 0, 0 };
	char *other = NULL;
	em_status st = lend(e, &other, err);

	if (st != EM_OK)
		return st;
	st = emi_store_alloc(e->store, e->placed ? &e->placement : NULL, e->turn, bytes, &bid, 1, err);
	if (st == EM_OK) {
		st = emi_block_pool_write(e->pool, b->buf, bid, err);
		if (st != EM_OK)
			(void)emi_store_free(e->store, NULL, bid, bytes, NULL);
	}
	if (st != EM_OK) {
		emi_block_pool_return(e->pool, other);
		return st;
	}
	emi_buffers_give(&e->buffers, other);
	b->buf = NULL;
	b->bid = bid;
	e->turn++;
	e->written++;
	return EM_OK;
}

/* The k-th block on a disk from an end. */
static em_bid disk_bid(const emi_ends *e, emi_end end, uint64_t k)
{
	return emi_ends_at(e, end == EMI_FRONT ? e->fronts + k : e->fronts + e->disks - 1 - k)->bid;
}

void emi_ends_take_back_hints(emi_ends *e, emi_end end)
{
	while (e->hinted[end] != 0) {
		e->hinted[end]--;
		if (e->hinted[end] < e->disks)
			emi_block_pool_take_back(e->pool, disk_bid(e, end, e->hinted[end]));
	}
}

/* Have those be read that come next; a deque does so at either end, with half of the buffers. */
static void hint(emi_ends *e, emi_end end)
{
	const uint32_t depth = e->shape.kind == EMI_DEQUE ? (e->shape.depth + 1) / 2 : e->shape.depth;

	while (e->hinted[end] < depth && e->hinted[end] < e->disks &&
	       emi_block_pool_hint(e->pool, disk_bid(e, end, e->hinted[end])))
		e->hinted[end]++;
}

/* Have the innermost block of an end written. */
static em_status evict(emi_ends *e, emi_end end, em_errinfo *err)
{
	const uint64_t fronts = e->disks != 0 ? e->fronts : e->shape.hold_front;
	const uint64_t i = end == EMI_FRONT ? fronts - 1 : e->disks != 0 ? fronts + e->disks : fronts;
	em_status st;

	emi_ends_take_back_hints(e, end);
	st = write_block(e, emi_ends_at(e, i), err);
	if (st != EM_OK)
		return st;
	e->fronts = end == EMI_FRONT ? fronts - 1 : fronts;
	e->disks++;
	/* Its memory may have been lent by a reader, and whoever wants to push may yet fail. */
	e->version++;
	return EM_OK;
}

static int is_held(const emi_ends *e, emi_end end)
{
	return e->blocks != 0 && end_block(e, end)->buf != NULL;
}

/* A block at an end without a record leaves, if it is not the only one.  Was it so? */
static int drop_empty(emi_ends *e, emi_end end)
{
	if (e->blocks < 2 || !is_held(e, end) || (end == EMI_FRONT ? e->front_at != e->shape.full : e->back_at != 0))
		return 0;
	emi_buffers_give(&e->buffers, end_block(e, end)->buf);
	e->blocks--;
	if (end == EMI_FRONT) {
		e->first++;
		e->number++;
		e->fronts -= e->fronts != 0;
		e->front_at = 0;
	} else {
		e->back_at = e->shape.full;
	}
	return 1;
}

static int has_share(const emi_ends *e, emi_end end)
{
	if (e->disks == 0)
		return e->blocks < e->shape.hold;
	return end == EMI_FRONT ? e->fronts < e->shape.hold_front : backs(e) < e->shape.hold - e->shape.hold_front;
}

static em_status add_block(emi_ends *e, emi_end end, em_errinfo *err)
{
	em_status st = widen_ring(e, err);
	char *buf;

	if (st == EM_OK && !has_share(e, end) &&
	    !(e->disks == 0 && drop_empty(e, end == EMI_FRONT ? EMI_BACK : EMI_FRONT)))
		st = evict(e, end, err);
	if (st != EM_OK)
		return st;
	buf = emi_buffers_take(&e->buffers, err);
	if (buf == NULL)
		return err->status;
	insert(e, end, buf);
	return EM_OK;
}

static int has_room(const emi_ends *e, emi_end end)
{
	return is_held(e, end) && (end == EMI_FRONT ? e->front_at != 0 : e->back_at < limit(e));
}

em_status emi_ends_room(emi_ends *e, emi_end end, em_errinfo *err)
{
	em_status st = EM_OK;

	if (e->blocks == 0)
		st = begin(e, end, err);
	else if (e->blocks == 1 && e->front_at == e->back_at && is_held(e, end))
		e->front_at = e->back_at = free_in_front(e, end, limit(e));
	while (st == EM_OK && e->piece != 0 && !has_room(e, end))
		st = grow(e, end, err);
	return st != EM_OK || has_room(e, end) ? st : add_block(e, end, err);
}

/* Have the block at an end in memory, and free its space. */
static em_status fetch(emi_ends *e, emi_end end, em_errinfo *err)
{
	emi_ends_block *b = end_block(e, end);
	const uint64_t recalled = e->pool->stats.recalled;
	char *buf = emi_buffers_take(&e->buffers, err);
	em_status st;
	int other;

	if (buf == NULL)
		return err->status;
	st = emi_block_pool_read(e->pool, &buf, b->bid, err);
	if (st == EM_OK)
		st = emi_block_pool_free(e->pool, b->bid, err);
	if (st != EM_OK) {
		emi_buffers_give(&e->buffers, buf);
		return st;
	}
	b->buf = buf;
	e->read++;
	e->recalled += e->pool->stats.recalled - recalled;
	e->hinted[end] -= e->hinted[end] != 0;
	e->disks--;
	for (other = EMI_BACK; other <= EMI_FRONT; other++)
		if (e->hinted[other] > e->disks)
			e->hinted[other] = e->disks;
	e->fronts += end == EMI_FRONT;
	if (e->disks == 0)
		e->fronts = 0;
	return EM_OK;
}

em_status emi_ends_bring(emi_ends *e, emi_end end, em_errinfo *err)
{
	em_status st = EM_OK;
	int moved;

	if (emi_ends_size(e) == 0)
		return EM_NOT_FOUND;
	moved = drop_empty(e, end);
	if (!is_held(e, end)) {
		st = fetch(e, end, err);
		moved = 1;
	}
	if (st == EM_OK && moved && e->disks != 0 && 2 * (end == EMI_FRONT ? e->fronts : backs(e)) <= e->shape.hold)
		hint(e, end);
	return st;
}
