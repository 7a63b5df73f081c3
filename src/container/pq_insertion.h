/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_insertion.h -- the insertion buffer of a priority queue: a piece of memory to which items are appended.
 *
 *     buf                                               tail         at         end
 *      | run 0  ........  | run 1 .......  | run 2 ....  | not sorted | free     |
 *
 * When the deletion buffer is filled, what was appended since becomes a sorted run, and runs give items to the merge
 * from their beginnings.  A run that is at most twice as large as what is behind it is sorted together with that.  So
 * there are few runs, and an item is sorted few times.  When the piece is full, it becomes a sequence (pq_sequences.h):
 * all of it is sorted to one run, while a new piece is filled.
 *
 * The first piece is small and grows until it is a whole one.
 *
 * Items keep the order in which they came, as far as they are equal: earlier runs have earlier ones.
 */
#ifndef EMI_PQ_INSERTION_H
#define EMI_PQ_INSERTION_H

#include "block/buffers.h"
#include "container/pq_sort.h"
#include "sort/sorted_memory.h"

#define EMI_PQ_RUNS 32u

typedef struct emi_pq_insertion {
	char *at;               /* where the next item goes ... */
	char *end;              /* ... if this is behind it */
	char *tail;
	char *buf;              /* NULL: there is no piece */
	size_t bytes;           /* of this one */
	size_t whole;           /* of a whole one */
	emi_buffers *pieces;    /* where whole ones are from */
	emi_pq_sorting sorting;
	uint32_t runs;
	emi_sorted_memory run[EMI_PQ_RUNS];
} emi_pq_insertion;

void emi_pq_insertion_init(emi_pq_insertion *in, em_ctx *ctx, emi_pq_items *items, emi_buffers *pieces,
			   uint32_t threads);

/* Forget all items, and keep the memory. */
void emi_pq_insertion_empty(emi_pq_insertion *in);

/* Forget all, and free the memory. */
void emi_pq_insertion_drop(emi_pq_insertion *in);

/* Have a piece, or a larger one, where there is no whole one.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_pq_insertion_grow(emi_pq_insertion *in, em_errinfo *err);

/* Items that there are, as bytes.  No run is in a merge. */
size_t emi_pq_insertion_used(const emi_pq_insertion *in);

/* Have all items in runs; whole: in one.  No run is in a merge.  As emi_pq_sort(). */
em_status emi_pq_insertion_sort(emi_pq_insertion *in, int whole, em_errinfo *err);

/* Have all items in one run, which is sorted by the time that emi_pq_sort_end() returns; and then the piece is somebody
 * else's.  *from and *to are where the run lies in *piece.  As emi_pq_sort_begin(). */
em_status emi_pq_insertion_give(emi_pq_insertion *in, char **piece, const char **from, const char **to,
				em_errinfo *err);

#endif
