/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_array.c -- a store of blocks that are numbered and get their places on scratch disks when they are written; see
 * store.h.
 *
 * Places are in parts of a few hundred blocks, which are made when one of them is written; so an array of 2^40 bytes
 * that nobody writes takes the pointers to its parts, and no more than were needed for the largest number that was
 * written.  With the place of a block stands how many bytes of it there are: what was cut off and comes back when the
 * array is lengthened is zeros.  A block counts as written from the beginning of the write on, as reads that are begun
 * behind that have what it wrote.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/store_kind.h"

/* While the list of parts grows there are two. */
uint64_t emi_store_array_memory(uint64_t blocks)
{
	const uint64_t parts = blocks / EMI_ARRAY_PART + 1;
	const uint64_t each = sizeof(emi_array_part) + 3 * sizeof(emi_array_part *);

	return parts <= UINT64_MAX / each ? parts * each : UINT64_MAX;
}

/* The place of a block, or NULL: it has none. */
static em_bid *place_of(const emi_store *s, uint64_t offset)
{
	const uint64_t i = offset / s->array.block_bytes, part = i / EMI_ARRAY_PART;
	em_bid *at;

	if (part >= s->array.parts || s->array.part[part] == NULL)
		return NULL;
	at = &s->array.part[part]->place[i % EMI_ARRAY_PART];
	return at->reserved != 0 ? at : NULL;
}

static em_bid bid_of(const em_bid *place)
{
	em_bid bid = *place;

	bid.reserved = 0;
	return bid;
}

static int array_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io)
{
	const em_bid *place = place_of(s, bid.offset);

	if (place == NULL)
		return emi_store_zero(rq, buf, bytes);
	return emi_block_read_or_zero(s->disk, rq, buf, bytes, place->reserved, bid_of(place), io);
}

/* Room for the part that a block is in. */
static em_status make_part(emi_store *s, uint64_t part, em_errinfo *err)
{
	emi_array *a = &s->array;

	if (part >= a->parts) {
		const uint64_t n = part + 1 > 2 * a->parts ? part + 1 : 2 * a->parts;
		emi_array_part **more = emi_alloc_array(s->ctx, n, sizeof *more, err);

		if (more == NULL)
			return err->status;
		if (a->parts != 0)
			memcpy(more, a->part, (size_t)a->parts * sizeof *more);
		emi_free_array(s->ctx, a->part, a->parts, sizeof *more);
		a->part = more;
		a->parts = n;
	}
	if (a->part[part] == NULL)
		a->part[part] = emi_alloc(s->ctx, sizeof *a->part[part], err);
	return a->part[part] != NULL ? EM_OK : err->status;
}

/* Give block i its place. */
static em_status settle(emi_store *s, uint64_t i, em_bid **place, em_errinfo *err)
{
	emi_array *a = &s->array;
	em_status st = emi_store_acquire(s, err);
	em_bid bid;

	if (st == EM_OK)
		st = make_part(s, i / EMI_ARRAY_PART, err);
	if (st == EM_OK)
		st = emi_bids_alloc(s->disk, a->placed ? &a->placement : NULL, i, a->block_bytes, &bid, 1, err);
	if (st != EM_OK)
		return st;
	*place = &a->part[i / EMI_ARRAY_PART]->place[i % EMI_ARRAY_PART];
	**place = bid;
	return EM_OK;
}

static em_status array_write(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			     em_errinfo *err)
{
	em_bid *place = place_of(s, bid.offset);
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = EM_OK;
	uint64_t here;

	if (place == NULL)
		st = settle(s, bid.offset / s->array.block_bytes, &place, &own);
	if (st != EM_OK) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return st;
	}
	/* Of a run the others have theirs. */
	here = s->array.block_bytes < bytes ? s->array.block_bytes : bytes;
	place->reserved = (uint32_t)(s->length - bid.offset < here ? s->length - bid.offset : here);
	emi_block_write(s->disk, rq, buf, bytes, bid_of(place), io);
	return EM_OK;
}

/* Those that have no place get one.  Where uses of blocks are checked each is transferred by itself. */
static em_status side_by_side(emi_store *s, em_bid bid, uint32_t *n, em_errinfo *err)
{
	const uint64_t bytes = s->array.block_bytes;
	const uint32_t most = (s->ctx->flags & EM_CTX_CHECKED) != 0 ? 1 : *n;
	em_bid *place, first = bid;
	em_errinfo own = EM_ERRINFO_INIT;
	uint32_t k;

	for (k = 0; k < most; k++) {
		const uint64_t offset = bid.offset + k * bytes;

		place = place_of(s, offset);
		if (place == NULL && settle(s, offset / bytes, &place, &own) != EM_OK)
			break;
		place->reserved = (uint32_t)bytes;
		if (k == 0)
			first = *place;
		else if (place->disk != first.disk || place->offset != first.offset + k * bytes)
			break;
	}
	*n = k;
	/* Of those behind the first nobody needs to know yet. */
	return k != 0 ? EM_OK : emi_fail(err, own.status, "%s", own.text);
}

static void drop(emi_store *s, em_bid *place)
{
	(void)emi_bid_free(s->disk, bid_of(place), s->array.block_bytes);
	place->reserved = 0;
}

uint32_t emi_store_there(const emi_store *s, em_bid bid)
{
	const em_bid *place = s->array.block_bytes != 0 ? place_of(s, bid.offset) : NULL;

	return place != NULL ? place->reserved : 0;
}

void emi_store_unwrite(emi_store *s, em_bid bid, uint32_t there)
{
	em_bid *place = s->array.block_bytes != 0 ? place_of(s, bid.offset) : NULL;

	if (place == NULL)
		return;
	if (there == 0)
		drop(s, place);
	else
		place->reserved = there;
}

/* Cut off what is behind the end, where there is something. */
static void cut_part(emi_store *s, uint64_t part, uint64_t end)
{
	const size_t bytes = s->array.block_bytes;
	uint64_t i;

	for (i = part * EMI_ARRAY_PART; i < (part + 1) * EMI_ARRAY_PART; i++) {
		em_bid *place = place_of(s, i * bytes);

		if (place == NULL || i * bytes + place->reserved <= end)
			continue;
		if (i * bytes < end)
			place->reserved = (uint32_t)(end - i * bytes);
		else
			drop(s, place);
	}
}

static void cut(emi_store *s, uint64_t end)
{
	const uint64_t first = end / s->array.block_bytes / EMI_ARRAY_PART;
	uint64_t i;

	for (i = first; i < s->array.parts; i++) {
		if (s->array.part[i] == NULL)
			continue;
		cut_part(s, i, end);
		if (i == first && end != 0)
			continue;
		emi_free(s->ctx, s->array.part[i], sizeof *s->array.part[i]);
		s->array.part[i] = NULL;
	}
}

/* Its place is free; the next write gives it another one. */
static em_status array_free(emi_store *s, em_bid bid, size_t bytes, em_errinfo *err)
{
	em_bid *place = place_of(s, bid.offset);

	(void)bytes;
	(void)err;
	if (place != NULL)
		drop(s, place);
	return EM_OK;
}

static em_status array_resize(emi_store *s, uint64_t bytes, em_errinfo *err)
{
	if (bytes <= (uint64_t)INT64_MAX - s->array.block_bytes)
		return EM_OK;
	return emi_fail(err, EM_ERR_RANGE, "an array of %" PRIu64 " bytes", bytes);
}

static void array_resized(emi_store *s)
{
	cut(s, s->length);
}

static void array_close(emi_store *s)
{
	if (s->disk != NULL)
		cut(s, 0);
	emi_free_array(s->ctx, s->array.part, s->array.parts, sizeof *s->array.part);
}

static const emi_store_kind array = { array_read, array_write, side_by_side, NULL, array_free, array_resize,
				      array_resized, array_close };

em_status emi_store_open_array(emi_store **out, em_ctx *ctx, size_t block_bytes, const em_placement *place,
			       em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	emi_store *s = NULL;

	*out = NULL;
	if (block_bytes == 0 || block_bytes % EMI_PAGE != 0 || block_bytes > UINT32_MAX)
		emi_fail(&own, EM_ERR_INVAL, "an array of blocks of %" PRIu64 " bytes", (uint64_t)block_bytes);
	else if (place != NULL && place->disks != emi_scratch_disks(ctx))
		emi_fail(&own, EM_ERR_INVAL, "a placement on %" PRIu32 " disks: there are %" PRIu32, place->disks,
			 emi_scratch_disks(ctx));
	else
		s = emi_store_new(ctx, &array, &own);
	if (s == NULL) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return own.status;
	}
	s->length = 0;
	s->array.block_bytes = block_bytes;
	if (place != NULL) {
		s->array.placed = 1;
		s->array.placement = *place;
	}
	*out = s;
	return EM_OK;
}
