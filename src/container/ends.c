/* SPDX-License-Identifier: BSL-1.0 */
/* ends.c -- see ends.h: what options come to, opening and closing. */
#include "container/ends.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"
#include "block/suffice.h"
#include "container/given.h"

#define MEMORY_USUAL ((uint64_t)32 << 20)
#define MEMORY_SHARE 8u         /* at most this part of the context's memory, unasked */
#define BLOCKS_USUAL 16u        /* that the memory is for, if blocks then have a size within these bounds ... */
#define BLOCKS_LEAST 8u         /* ... and that it is for in any case */
#define BLOCK_LEAST ((uint64_t)64 << 10)
#define BLOCK_MOST ((uint64_t)2 << 20)
#define RECORD_MOST ((uint64_t)1 << 24)
#define BUFFERS_USUAL 1024u     /* that are taken unasked for one purpose at most */
#define HOLD_MOST ((uint64_t)1 << 28)
#define ENTRIES_MOST ((uint64_t)1 << 56) /* of a ring: more have more bytes than 64 bits can count */

uint64_t emi_ends_usual_memory(const em_ctx *ctx)
{
	const uint64_t share = ctx != NULL ? em_ctx_memory(ctx) / MEMORY_SHARE : MEMORY_USUAL;

	return share < MEMORY_USUAL ? share : MEMORY_USUAL;
}

static uint64_t between(uint64_t n, uint64_t least, uint64_t most)
{
	return n < least ? least : n > most ? most : n;
}

/* A 16th of the memory, if that is a size within bounds; at most an eighth; at least a record; in whole pages. */
static uint64_t usual_block(uint64_t memory, uint64_t record)
{
	const uint64_t eighth = memory / BLOCKS_LEAST / EMI_PAGE * EMI_PAGE;
	uint64_t bytes = between(memory / BLOCKS_USUAL, BLOCK_LEAST, BLOCK_MOST);

	if (bytes > eighth)
		bytes = eighth;
	if (bytes < record)
		bytes = record;
	if (bytes < EMI_PAGE)
		bytes = EMI_PAGE;
	return (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

static em_status check_block(emi_ends_shape *s, const em_container_opts *o, uint64_t block, em_errinfo *err)
{
	if (o->record_bytes == 0 || o->record_bytes > RECORD_MOST)
		return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes: it must be 1 to %" PRIu64,
				o->record_bytes, RECORD_MOST);
	if (block % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes: it must be a multiple of %u", block,
				EMI_PAGE);
	if (block > UINT32_MAX || block < o->record_bytes)
		return emi_fail(err, EM_ERR_RANGE, "blocks of %" PRIu64 " bytes for records of %" PRIu64, block,
				o->record_bytes);
	s->record = (size_t)o->record_bytes;
	s->block_bytes = (size_t)block;
	s->full = s->block_bytes / s->record * s->record;
	return EM_OK;
}

/* At each end that is pushed to and popped from there are two blocks, so the edge between them costs nothing. */
static uint32_t least_hold(emi_ends_kind kind)
{
	return kind == EMI_DEQUE ? 4 : 2;
}

/* Share out so many buffers, those for the ends last. */
static em_status share_out(emi_ends_shape *s, const em_container_opts *o, uint64_t buffers, em_errinfo *err)
{
	const uint32_t least = least_hold(s->kind);
	uint64_t used, rest;

	if (s->kind == EMI_DEQUE)
		s->frames = o->cache_buffers != 0 ? o->cache_buffers : (uint32_t)between(buffers / 8, 2, BUFFERS_USUAL);
	used = (uint64_t)s->frames + least;
	rest = buffers > used ? buffers - used : 0;
	if (o->pool == NULL) {
		const uint32_t usual =
			(uint32_t)between(rest / 2 < buffers / 4 ? rest / 2 : buffers / 4, 1, BUFFERS_USUAL);

		s->nwrite = o->write_buffers != 0 ? o->write_buffers : usual;
		s->nprefetch = o->prefetch_buffers != 0 ? o->prefetch_buffers : usual;
		s->depth = s->nprefetch;
		used += (uint64_t)s->nwrite + s->nprefetch;
	}
	if (buffers > HOLD_MOST || buffers < used)
		return emi_fail(err, EM_ERR_RANGE,
				"memory for %" PRIu64 " blocks of %" PRIu64 " bytes: it must be for %" PRIu64
				", and at most 2^28",
				buffers, (uint64_t)s->block_bytes, used);
	s->hold = (uint32_t)(buffers - used) + least;
	s->hold_front = s->kind == EMI_STACK ? 0 : s->hold / 2;
	return EM_OK;
}

static em_status check_pool(const em_container_opts *o, const emi_block_pool *shared, em_errinfo *err)
{
	if (o->write_buffers != 0)
		return emi_fail(err, EM_ERR_INVAL, "write_buffers are those of the pool");
	if (shared->nwrite == 0)
		return emi_fail(err, EM_ERR_INVAL, "the pool has no buffers for writing");
	if (o->block_bytes != 0 && o->block_bytes != shared->block_bytes)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes: those of the pool have %" PRIu64,
				o->block_bytes, (uint64_t)shared->block_bytes);
	return EM_OK;
}

em_status emi_ends_shape_init(emi_ends_shape *s, emi_ends_kind kind, const em_container_opts *o, const em_ctx *ctx,
			      const emi_block_pool *shared, em_errinfo *err)
{
	uint64_t memory = o->memory_bytes != 0 ? o->memory_bytes : emi_ends_usual_memory(ctx);
	uint64_t block = o->block_bytes;
	em_status st = shared != NULL ? check_pool(o, shared, err) : EM_OK;

	memset(s, 0, sizeof *s);
	s->kind = kind;
	if (st == EM_OK && kind != EMI_DEQUE && o->cache_buffers != 0)
		st = emi_fail(err, EM_ERR_INVAL, "cache_buffers are for deques");
	if (block == 0)
		block = shared != NULL ? shared->block_bytes : usual_block(memory, o->record_bytes);
	if (st == EM_OK)
		st = check_block(s, o, block, err);
	/* Large blocks, as large records need, take more than is usual. */
	if (o->memory_bytes == 0 && st == EM_OK && memory / block < BLOCKS_LEAST)
		memory = BLOCKS_LEAST * block;
	if (st == EM_OK)
		st = share_out(s, o, memory / block, err);
	if (st == EM_OK && shared != NULL)
		s->depth = o->prefetch_buffers != 0 ? o->prefetch_buffers : UINT32_MAX;
	return st;
}

static emi_cache_opts cache_options(const emi_ends_shape *s, emi_store *store)
{
	emi_cache_opts c;

	memset(&c, 0, sizeof c);
	c.store = store;
	c.frames = s->frames;
	c.block_bytes = s->block_bytes;
	return c;
}

static uint32_t most_buffers(const emi_ends_shape *s)
{
	return s->hold + s->nwrite + s->nprefetch;
}

/* While the ring grows there are two.  Of the blocks three may be part full or empty. */
uint64_t emi_ends_memory(const emi_ends_shape *s, uint64_t records)
{
	const uint64_t blocks = records / (s->full / s->record);
	const emi_cache_opts c = cache_options(s, NULL);
	uint64_t entries = EMI_ENDS_RING_LEAST, bytes;

	while (entries < ENTRIES_MOST && entries - 3 < blocks)
		entries *= 2;
	if (entries - 3 < blocks)
		return UINT64_MAX;
	bytes = sizeof(emi_ends) + entries / 2 * 3 * sizeof(emi_ends_block);
	bytes += emi_buffers_memory(s->block_bytes, most_buffers(s));
	/* While a sole block grows there are two, too. */
	bytes += s->block_bytes;
	if (s->nwrite != 0)
		bytes += emi_store_memory() + emi_block_pool_memory(0, s->nwrite, s->nprefetch);
	if (s->frames != 0)
		bytes += emi_cache_memory(&c);
	return bytes;
}

/* Will the context have the memory, when some blocks are on disks? */
static em_status check_memory(const em_ctx *ctx, const emi_ends_shape *s, em_errinfo *err)
{
	const uint64_t buffers = (uint64_t)most_buffers(s) + s->frames;
	const uint64_t blocks = (uint64_t)s->hold + EMI_BLOCKS_SURE, records = blocks * (s->full / s->record);
	const emi_wants w = { emi_ends_memory(s, records), blocks, s->block_bytes, 0, 1, 0 };

	return emi_suffice_check(ctx, &w, err, "memory_bytes of %" PRIu64, buffers * s->block_bytes);
}

static em_status open_inside(emi_ends *e, emi_block_pool *shared, em_errinfo *err)
{
	const emi_ends_shape *s = &e->shape;
	em_status st;

	if (shared != NULL) {
		e->store = emi_store_hold(shared->store);
		e->pool = shared;
		return EM_OK;
	}
	st = emi_store_open_scratch(&e->store, e->ctx, err);
	if (st == EM_OK)
		st = emi_block_pool_open(&e->own, e->ctx, e->store, s->block_bytes, s->nwrite, s->nprefetch, NULL, err);
	e->own.buffers = &e->buffers;
	e->pool = &e->own;
	return st;
}

em_status emi_ends_open(emi_ends **out, em_ctx *ctx, const emi_ends_shape *s, const em_placement *placement,
			emi_block_pool *shared, em_errinfo *err)
{
	emi_ends *e;
	em_status st;

	*out = NULL;
	st = emi_given_placement(ctx, placement, err);
	if (st == EM_OK)
		st = check_memory(ctx, s, err);
	if (st != EM_OK)
		return st;
	e = emi_alloc(ctx, sizeof *e, err);
	if (e == NULL)
		return err->status;
	e->ctx = ctx;
	e->shape = *s;
	e->placed = placement != NULL;
	if (placement != NULL)
		e->placement = *placement;
	/* Those of a shared pool are exchanged with others', so each is one that anybody can free. */
	emi_buffers_init(&e->buffers, ctx, s->block_bytes, shared != NULL ? 0 : most_buffers(s));
	st = open_inside(e, shared, err);
	if (st != EM_OK)
		emi_ends_close(e);
	else
		*out = e;
	return st;
}

void emi_ends_close(emi_ends *e)
{
	(void)emi_ends_clear(e, NULL);
	emi_cache_close(e->cache);
	emi_block_pool_close(&e->own);
	emi_buffers_close(&e->buffers);
	emi_store_close(e->store);
	if (e->room != 0)
		emi_free_array(e->ctx, e->ring, e->room, sizeof *e->ring);
	emi_free(e->ctx, e, sizeof *e);
}

em_status emi_ends_clear(emi_ends *e, em_errinfo *err)
{
	em_status first = EM_OK;
	uint64_t i;

	for (i = 0; i < e->blocks; i++) {
		const em_status st = emi_ends_drop_block(e, emi_ends_at(e, i), err);

		if (first == EM_OK)
			first = st;
	}
	emi_buffers_trim(&e->buffers);
	e->blocks = e->fronts = e->disks = 0;
	e->front_at = e->back_at = e->piece = 0;
	e->hinted[EMI_BACK] = e->hinted[EMI_FRONT] = 0;
	e->version++;
	return first;
}

em_status emi_ends_prefetch(emi_ends *e, uint32_t depth, em_errinfo *err)
{
	const int owns = e->pool == &e->own;
	emi_ends_shape more = e->shape;
	em_status st = EM_OK;

	more.nprefetch = depth;
	if (owns)
		st = emi_block_pool_check(more.nwrite, depth, err);
	if (st == EM_OK && owns)
		st = check_memory(e->ctx, &more, err);
	if (st != EM_OK)
		return st;
	emi_ends_take_back_hints(e, EMI_BACK);
	emi_ends_take_back_hints(e, EMI_FRONT);
	if (owns)
		st = emi_block_pool_resize(&e->own, e->own.nwrite, depth, err);
	if (st != EM_OK)
		return st;
	e->shape.depth = depth;
	if (owns)
		emi_buffers_limit(&e->buffers, e->shape.hold + e->own.nwrite + e->own.nprefetch);
	return EM_OK;
}

/* Opened when it is needed: most never look. */
em_status emi_ends_look(emi_ends *e, em_errinfo *err)
{
	const emi_cache_opts c = cache_options(&e->shape, e->store);

	return e->cache != NULL ? EM_OK : emi_cache_open(&e->cache, e->ctx, &c, err);
}
