/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_sequences.h -- the sorted sequences of a priority queue: those in memory, and groups of those on disks.
 *
 * A sequence of level 0 is a piece of memory, which was the insertion buffer.  One of level 1 is what all those of
 * level 0 were merged to when memory was full, and so on: merging at least `arity' sequences of the lowest levels makes
 * one of the level above.  So an item is written once for each level.  (Sanders 2000, sections 3 and 4: the sequences
 * of level i are his group i.)
 *
 * A sequence on disks is a list of blocks.  The first one was never written: it is the one in memory that the next
 * items are taken from.  Blocks are full, but for the last one.  A block is freed on the disk as soon as it is in
 * memory, so sequences shrink as they are popped, and merging them takes hardly more space than they have.
 *
 * Each sequence is a sorted source with a rank: among equal items, those of a lower rank come first.  New sequences
 * have ascending ranks.  A sequence of items that were taken out for the deletion buffer and came back is older than
 * all others, so those `came_back', have levels of their own, and descending ranks.
 *
 * Blocks are fetched in the order in which they are going to be needed: the next one is that with the smallest first
 * key of all that are not hinted at.  So each block has that in memory, beside its id.
 *
 * Merging may fail at any time.  Sequences in memory are as they were then.  Of those on disks, what was merged by then
 * is a sequence, and the rest is where it was: it, and all that was behind, has a rank that is higher by one.  Before
 * anything else is merged, that merge goes on, and its sequence gets longer.  So failures, however many, leave one
 * sequence more than there were.
 */
#ifndef EMI_PQ_SEQUENCES_H
#define EMI_PQ_SEQUENCES_H

#include <extmem/sys/placement.h>

#include "block/block_pool.h"
#include "container/pq_plan.h"
#include "sort/kway.h"
#include "sort/sorted_memory.h"

typedef struct emi_pq_sequences emi_pq_sequences;

#define EMI_PQ_LEVELS 64u

typedef struct emi_pq_block {
	em_bid bid;
	uint64_t key;           /* of the first item */
} emi_pq_block;

typedef struct emi_pq_sequence {
	emi_sorted_source source;
	struct emi_pq_sequence *next; /* in the list of all */
	emi_pq_sequences *all;
	emi_kway *in;           /* the merge that it is in, or NULL */
	uint64_t rank;
	uint32_t level;
	int came_back;
	char *buf;              /* a piece, or a block */
	const char *began;      /* where it was when it entered the merge that it is in */
	emi_pq_block *block;    /* those on disks, ... */
	uint64_t room;          /* ... that there is room for, ... */
	uint64_t blocks;        /* ... that there were, ... */
	uint64_t taken;         /* ... of which so many were read, ... */
	uint64_t hinted;        /* ... and so many are read or hinted at */
	uint64_t last;          /* items in the last block */
} emi_pq_sequence;

struct emi_pq_sequences {
	em_ctx *ctx;
	const emi_pq_plan *plan;
	emi_pq_items *items;
	emi_buffers pieces;
	emi_buffers blocks;     /* of a pool of its own */
	emi_block_pool *pool;
	const int *canceled;    /* of the queue, for transfers on disks of its own */
	emi_block_pool own;
	emi_store *store;       /* NULL: nothing was written yet */
	emi_io_stats io;
	const em_placement *placement; /* NULL: one disk after the other */
	uint64_t placed;        /* blocks so far */
	emi_kway kway;          /* of all */
	emi_kway_opts kway_opts;
	emi_pq_sequence *first;
	emi_pq_sequence *begun; /* what a merge that failed has made by now, or NULL; ... */
	uint32_t begun_low, begun_high; /* ... of these levels */
	uint32_t n[2][EMI_PQ_LEVELS]; /* by came_back and level */
	uint32_t in_memory;     /* of level 0 */
	uint32_t on_disks;      /* of others */
	uint32_t level;         /* the highest so far */
	uint64_t ranks[2];      /* the next ones */
	uint64_t blocks_on_disks;
	uint64_t merged;        /* merges so far ... */
	uint64_t moved;         /* ... and items that they moved */
};

/* None.  s is zeroed but for what was set before: placement.  shared: a pool to use, or NULL. */
void emi_pq_sequences_init(emi_pq_sequences *s, em_ctx *ctx, const emi_pq_plan *plan, emi_pq_items *items,
			   emi_block_pool *shared);

/* Forget all sequences, and keep what was opened for them. */
void emi_pq_sequences_empty(emi_pq_sequences *s);

/* Forget all, and free the memory. */
void emi_pq_sequences_drop(emi_pq_sequences *s);

/* Are all pieces taken?  There is the insertion buffer, too, and what is to come. */
static inline int emi_pq_sequences_full(const emi_pq_sequences *s)
{
	return s->in_memory + 2 > s->plan->pieces;
}

/* Have a whole piece free: for an insertion buffer, or a sequence in memory.  That may mean to merge.  EM_ERR_NOMEM,
 * EM_ERR_MEMLIMIT, EM_ERR_USER, and all of reading and writing blocks. */
em_status emi_pq_sequences_reserve(emi_pq_sequences *s, em_errinfo *err);

/* A sequence that is none yet, so that adding it cannot fail. */
emi_pq_sequence *emi_pq_sequence_new(emi_pq_sequences *s, em_errinfo *err);

/* One of level 0: a whole piece, which is the sequences' from now on, with sorted items from `at' to `end'. */
void emi_pq_sequences_add(emi_pq_sequences *s, emi_pq_sequence *q, char *piece, const char *at, const char *end,
			  int came_back);

/* Have all sequences in the merge, and others of a higher rank: what is in n sources.  They leave it again by
 * emi_pq_sequences_part(), which also frees sequences that are over. */
em_status emi_pq_sequences_join(emi_pq_sequences *s, emi_sorted_memory *source, uint32_t n, em_errinfo *err);
void emi_pq_sequences_part(emi_pq_sequences *s, emi_sorted_memory *source, uint32_t n);

static inline int emi_pq_sequences_none(const emi_pq_sequences *s)
{
	return s->first == NULL;
}

#endif
