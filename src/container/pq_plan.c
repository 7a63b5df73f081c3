/* SPDX-License-Identifier: BSL-1.0 */
/* pq_plan.c -- see pq_plan.h. */
#include "container/pq_plan.h"

#include <inttypes.h>

#include <extmem/sys/block.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"
#include "base/workers.h"
#include "block/suffice.h"
#include "container/pq.h"

#define RECORD_MOST ((uint64_t)1 << 24)
#define COUNT_MOST ((uint32_t)1 << 20)   /* buffers, arity */
#define MEMORY_USUAL ((uint64_t)64 << 20)
#define MEMORY_SHARE 8u         /* at most this part of the context's memory, unasked */
#define PIECES 160u             /* about; with sequences on disks no more than can be mixed */
#define PIECES_LEAST 3u         /* the insertion buffer, a sequence, and one that comes */
#define BLOCK_SHARE 256u        /* a block has this part of the memory ... */
#define BLOCK_MOST ((uint64_t)512 << 10) /* ... and no more than this, unasked */
#define SEQUENCES_SHARE 8u      /* those on disks have blocks of this part of the memory at most */
#define SEQUENCES_LEAST 4u
#define SEQUENCES_MOST 88u
#define WRITE_SHARE 64u
#define WRITE_MOST 16u
#define PREFETCH_SHARE 16u
#define PREFETCH_MOST 64u
#define BUFFERS_LEAST 2u
#define FRONT_MOST 16384u       /* items: so that two cache fulls are merged at a time */
#define FRONT_SHARE 64u
#define EARLY_MOST 8192u        /* items */
#define WINDOW_LEAST 8u         /* records that a merge loads of a sequence at a time */
#define WINDOW_MOST 256u
#define MERGING_SHARE 8u        /* a merge that can mix has this part of the memory at most */
#define BATCH_SHARE 64u
#define THREADS_MOST 2u          /* the caller's, and one that sorts */
#define STEP_LEAST ((uint64_t)64 << 10)

static uint64_t between(uint64_t n, uint64_t least, uint64_t most)
{
	return n < least ? least : n > most ? most : n;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
}

static uint32_t sources(const emi_pq_plan *p, uint64_t pieces)
{
	return (uint32_t)pieces + p->sequences + EMI_PQ_RUNS;
}

/* How records are merged with so much memory: mixed, if there is enough for that. */
static void shape_merging(emi_pq_plan *p, const emi_pq_items *items, uint64_t x)
{
	const emi_kway_opts usual = { 0, 0, NULL, NULL };

	memset(&p->merging, 0, sizeof p->merging);
	p->merging.window = (size_t)between(x / MERGING_SHARE / PIECES / sizeof(emi_pair), WINDOW_LEAST, WINDOW_MOST);
	if (emi_kway_memory(&items->by, &usual, 1) > x / MERGING_SHARE)
		p->merging.batch = (size_t)between(x / BATCH_SHARE / items->bytes, 1, EMI_MIX / 2);
}

/* The size of blocks that nobody has said. */
static uint64_t usual_block(uint64_t x, uint64_t item)
{
	const uint64_t block = between(x / BLOCK_SHARE, EMI_PAGE, BLOCK_MOST);

	return pages(block > item ? block : item);
}

/* All sizes that suit a memory of x bytes. */
static void shape(emi_pq_plan *p, const em_pq_opts *o, const emi_pq_items *items, uint64_t x, uint32_t disks)
{
	const uint64_t item = items->bytes;

	if (!p->shared)
		p->block = (size_t)(o->block_bytes != 0 ? o->block_bytes : usual_block(x, item));
	p->piece = (size_t)pages(x / PIECES > item ? x / PIECES : item);
	p->sequences = (uint32_t)between(x / SEQUENCES_SHARE / p->block, SEQUENCES_LEAST, SEQUENCES_MOST);
	p->arity = o->arity != 0 ? o->arity : p->sequences / 2;
	if (p->sequences < p->arity)
		p->sequences = p->arity;
	p->nwrite = (uint32_t)between(x / WRITE_SHARE / p->block, BUFFERS_LEAST,
				      2 * disks > WRITE_MOST ? 2 * disks : WRITE_MOST);
	p->nprefetch = (uint32_t)between(x / PREFETCH_SHARE / p->block, BUFFERS_LEAST,
					 3 * disks > PREFETCH_MOST ? 3 * disks : PREFETCH_MOST);
	if (o->write_buffers != 0)
		p->nwrite = o->write_buffers;
	if (o->prefetch_buffers != 0)
		p->nprefetch = o->prefetch_buffers;
	if (p->shared)
		p->nwrite = p->nprefetch = 0;
	p->front = (uint32_t)between(x / FRONT_SHARE / item, 1, FRONT_MOST);
	p->front = (uint32_t)between(p->front, 1, p->piece / item);
	p->early = (uint32_t)between(p->piece / item / 2, 1, EARLY_MOST);
	p->threads = x != 0 && !items->functions ? emi_workers_fed(emi_order_ctx(items->order), 0) : 1;
	p->threads = p->threads < THREADS_MOST ? p->threads : THREADS_MOST;
	shape_merging(p, items, x);
}

/* Bytes beside pieces, of which there are so many at most. */
static uint64_t beside(const emi_pq_plan *p, const emi_pq_items *items, uint64_t pieces)
{
	const uint64_t item = items->bytes;
	uint64_t bytes = sizeof(em_pq) + item;

	bytes += 2 * emi_kway_memory(&items->by, &p->merging, sources(p, pieces));
	bytes += emi_pq_sorting_memory(items, p->piece);
	bytes += emi_piece_bytes((size_t)(p->front * item)) + pages(p->front * (uint64_t)items->record);
	bytes += emi_pq_early_memory(items, p->early);
	bytes += emi_buffers_memory(p->block, emi_pq_plan_blocks(p));
	bytes += (p->sequences + pieces + 2) * sizeof(emi_pq_sequence);
	if (!p->shared)
		bytes += emi_store_memory() + emi_block_pool_memory(0, p->nwrite, p->nprefetch);
	if (p->threads != 1)
		bytes += emi_workers_memory(emi_order_ctx(items->order), p->threads);
	/* The insertion buffer is there twice while it grows. */
	return bytes + p->piece;
}

static uint64_t each_piece(const emi_pq_plan *p)
{
	return emi_buffers_memory(p->piece, 1);
}

/* Share out the memory by sizes that suit x bytes: 1, or 0 if that is too much. */
static int share_out(emi_pq_plan *p, const em_pq_opts *o, const emi_pq_items *items, uint64_t x, uint32_t disks)
{
	uint64_t pieces, fixed;

	shape(p, o, items, x, disks);
	pieces = between(p->memory / p->piece, PIECES_LEAST, x != 0 ? 2 * PIECES : PIECES_LEAST);
	fixed = beside(p, items, pieces);
	if (fixed + PIECES_LEAST * each_piece(p) > p->memory || (x != 0 && fixed > p->memory / 8 * 5))
		return 0;
	p->pieces = (uint32_t)between((p->memory - fixed) / each_piece(p), PIECES_LEAST, pieces);
	p->takes = fixed + p->pieces * each_piece(p);
	return 1;
}

static em_status check(const em_pq_opts *o, const emi_pq_items *items, em_errinfo *err)
{
	const em_block_pool *pool = o->pool;

	if (items->record > RECORD_MOST)
		return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes: they may have %" PRIu64,
				(uint64_t)items->record, RECORD_MOST);
	if ((o->flags & ~EM_PQ_STABLE) != 0 || o->reserved != 0)
		return emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here",
				o->reserved != 0 ? o->reserved : o->flags & ~EM_PQ_STABLE);
	if (o->arity == 1)
		return emi_fail(err, EM_ERR_INVAL, "an arity of 1: it must be at least 2");
	if (o->arity > COUNT_MOST || o->write_buffers > COUNT_MOST || o->prefetch_buffers > COUNT_MOST)
		return emi_fail(err, EM_ERR_RANGE, "arity or buffers of more than %" PRIu32, COUNT_MOST);
	if (o->block_bytes % EM_BLOCK_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes, which is no multiple of %u",
				o->block_bytes, EM_BLOCK_UNIT);
	if (o->block_bytes > UINT32_MAX || (o->block_bytes != 0 && o->block_bytes < items->bytes))
		return emi_fail(err, EM_ERR_RANGE, "blocks of %" PRIu64 " bytes for records of %" PRIu64,
				o->block_bytes, (uint64_t)items->bytes);
	if (pool == NULL)
		return EM_OK;
	if (o->write_buffers != 0 || o->prefetch_buffers != 0)
		return emi_fail(err, EM_ERR_INVAL, "write_buffers and prefetch_buffers are those of the pool");
	if (pool->pool.nwrite == 0)
		return emi_fail(err, EM_ERR_INVAL, "the pool has no buffers for writing");
	if (o->block_bytes != 0 && o->block_bytes != pool->pool.block_bytes)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes: those of the pool have %" PRIu64,
				o->block_bytes, (uint64_t)pool->pool.block_bytes);
	if (pool->pool.block_bytes < items->bytes)
		return emi_fail(err, EM_ERR_RANGE, "the pool's blocks of %" PRIu64 " bytes for records of %" PRIu64,
				(uint64_t)pool->pool.block_bytes, (uint64_t)items->bytes);
	return EM_OK;
}

/* Will the context have the memory, when some blocks are on disks? */
static em_status check_memory(const emi_pq_plan *p, const em_ctx *ctx, em_errinfo *err)
{
	const emi_wants w = { p->memory, p->memory / p->block + EMI_BLOCKS_SURE, p->block, EMI_PQ_BLOCK_BYTES, 1, 0 };

	return ctx == NULL ? EM_OK : emi_suffice_check(ctx, &w, err, "memory_bytes of %" PRIu64, p->memory);
}

em_status emi_pq_plan_make(emi_pq_plan *p, const em_ctx *ctx, const em_pq_opts *o, const emi_pq_items *items,
			   em_errinfo *err)
{
	const uint64_t has = ctx != NULL ? em_ctx_memory(ctx) : UINT64_MAX;
	const uint32_t disks = ctx != NULL ? emi_scratch_disks(ctx) : 1;
	em_status st = check(o, items, err);
	uint64_t x;

	memset(p, 0, sizeof *p);
	if (st != EM_OK)
		return st;
	p->shared = o->pool != NULL;
	if (p->shared)
		p->block = o->pool->pool.block_bytes;
	shape(p, o, items, 0, disks);
	p->least = beside(p, items, PIECES_LEAST) + PIECES_LEAST * each_piece(p);
	p->memory = o->memory_bytes;
	if (p->memory == 0) {
		p->memory = has / MEMORY_SHARE < MEMORY_USUAL ? has / MEMORY_SHARE : MEMORY_USUAL;
		p->memory = p->memory < p->least ? p->least : p->memory;
	}
	if (p->memory < p->least)
		return emi_fail_memory(err, p->least, "memory_bytes of %" PRIu64
				       " are too few for a priority queue of records of %" PRIu64 " bytes",
				       p->memory, (uint64_t)items->record);
	/* No machine has as much, and no plan is for it. */
	if (p->memory > SIZE_MAX / 2)
		return check_memory(p, ctx, err);
	for (x = p->memory; x >= STEP_LEAST; x /= 2)
		if (share_out(p, o, items, x, disks))
			return check_memory(p, ctx, err);
	if (!share_out(p, o, items, 0, disks))
		return emi_fail(err, EM_ERR_INTERNAL, "there is no plan for %" PRIu64 " bytes of memory", p->memory);
	return check_memory(p, ctx, err);
}

uint64_t emi_pq_plan_run(const emi_pq_plan *p, const emi_pq_items *items)
{
	return (uint64_t)(p->pieces - 1) * (p->piece / items->bytes);
}

uint32_t emi_pq_plan_levels(const emi_pq_plan *p, const emi_pq_items *items, uint64_t n)
{
	const uint64_t run = emi_pq_plan_run(p, items);
	uint64_t sequences = n / run;
	uint32_t levels = 1;

	if (n <= run)
		return 0;
	while (sequences >= p->arity) {
		sequences /= p->arity;
		levels++;
	}
	return levels;
}

uint64_t emi_pq_plan_memory(const emi_pq_plan *p, const emi_pq_items *items, uint64_t n)
{
	const uint64_t per_block = p->block / items->bytes, piece = p->piece / items->bytes;
	uint64_t blocks = n / per_block + 1, bytes;

	if (n > piece / 2)
		return blocks > UINT64_MAX / 2 / EMI_PQ_BLOCK_BYTES ? UINT64_MAX
								    : p->takes + blocks * EMI_PQ_BLOCK_BYTES;
	/* All are in one piece, which grows; the deletion buffer and the early heap may have had them, too. */
	bytes = 3 * emi_piece_bytes((size_t)(n * items->bytes > EMI_PIECE_FIRST ? n * items->bytes : EMI_PIECE_FIRST));
	bytes += emi_pq_sorting_memory(items, 2 * bytes / 3);
	bytes += emi_pq_early_memory(items, p->early < n ? p->early : (uint32_t)n);
	bytes += emi_piece_bytes((size_t)(n * items->bytes)) + pages(n * items->record);
	bytes += sizeof(em_pq) + emi_kway_memory(&items->by, &p->merging, EMI_PQ_RUNS);
	return bytes < p->takes ? bytes : p->takes;
}
