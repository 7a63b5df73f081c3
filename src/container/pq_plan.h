/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_plan.h -- what a priority queue is going to be made of, by its options.
 *
 * Memory M is shared out like this:
 *
 *   pieces      of which one is the insertion buffer, and the others are sequences: whatever is left by the rest
 *   blocks      one for each sequence on disks, and one for the sequence that is being made; those of the pool
 *   merging     two merges, of all sequences and of those that are merged to disks
 *   buffers     the deletion buffer, the early heap, scratch to sort a piece
 *
 * There are at most as many sequences as the kernels can mix in cache (EMI_MIX_MOST), so pieces grow with M.
 */
#ifndef EMI_PQ_PLAN_H
#define EMI_PQ_PLAN_H

#include <extmem/pq.h>

#include "container/pq_item.h"
#include "sort/kway.h"

typedef struct emi_pq_plan {
	size_t piece;           /* bytes of a piece ... */
	size_t block;           /* ... and of a block, B; 0: the shared pool's */
	uint64_t memory;        /* M */
	uint64_t least;         /* bytes that would do ... */
	uint64_t takes;         /* ... and those of this plan at most */
	uint32_t pieces;        /* at most, the insertion buffer included */
	uint32_t sequences;     /* on disks, at most */
	uint32_t arity;         /* sequences that are merged to one of the next level, if there are as many */
	uint32_t front;         /* items of the deletion buffer */
	uint32_t early;         /* items of the early heap */
	uint32_t nwrite;        /* buffers of the pool */
	uint32_t nprefetch;
	uint32_t threads;       /* that sort */
	emi_kway_opts merging;
	int shared;
} emi_pq_plan;

/* A piece or block holds at least one item.  As em_pq_open(); after EM_ERR_MEMLIMIT plan->least is right.  ctx may be
 * NULL: with any memory. */
em_status emi_pq_plan_make(emi_pq_plan *plan, const em_ctx *ctx, const em_pq_opts *o, const emi_pq_items *items,
			   em_errinfo *err);

/* Items of a sequence of level 1. */
uint64_t emi_pq_plan_run(const emi_pq_plan *plan, const emi_pq_items *items);

/* Levels of sequences on disks that n items need. */
uint32_t emi_pq_plan_levels(const emi_pq_plan *plan, const emi_pq_items *items, uint64_t n);

/* Blocks of sequences in memory: those on disks, the one that is made, and the pool's. */
static inline uint32_t emi_pq_plan_blocks(const emi_pq_plan *p)
{
	return p->sequences + 1 + p->nwrite + p->nprefetch;
}

/* What a block on disk takes in memory: an entry in a list that is there twice while it grows. */
#define EMI_PQ_BLOCK_BYTES 72u

/* The most bytes that a queue of so many items takes. */
uint64_t emi_pq_plan_memory(const emi_pq_plan *plan, const emi_pq_items *items, uint64_t n);

#endif
