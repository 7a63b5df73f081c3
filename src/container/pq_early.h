/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_early.h -- a binary heap in memory, of items that come before the end of the deletion buffer.
 *
 * These are pushed after the buffer was filled, and have to be popped before what is in sequences.  Most are popped
 * soon, so there are few.  Equal ones leave in the order in which they came.
 *
 * An entry has what an item is compared by.  An item that is a number or a pair is just that; a record lies in a slot,
 * whose address is the entry's value, and which does not move.
 */
#ifndef EMI_PQ_EARLY_H
#define EMI_PQ_EARLY_H

#include "container/pq_item.h"

typedef struct emi_pq_entry {
	emi_pair pair;
	uint64_t number;        /* how many came before it */
	char *slot;             /* of a record, else NULL */
} emi_pq_entry;

typedef struct emi_pq_slots emi_pq_slots;

typedef struct emi_pq_early {
	em_ctx *ctx;
	const emi_pq_items *items;
	uint32_t n;
	uint32_t room;          /* entries that there is memory for ... */
	uint32_t most;          /* ... and may be */
	uint64_t pushed;        /* so far */
	emi_pq_entry *heap;
	emi_pq_slots *slots;    /* pieces of memory for records */
	char *free_slot;        /* each begins with the address of the next one */
} emi_pq_early;

/* Of up to `most' items; takes no memory yet. */
void emi_pq_early_init(emi_pq_early *h, em_ctx *ctx, const emi_pq_items *items, uint32_t most);

/* Forget all, and free the memory. */
void emi_pq_early_drop(emi_pq_early *h);

/* Most bytes that so many items take. */
uint64_t emi_pq_early_memory(const emi_pq_items *items, uint32_t most);

/* Have room for one more, of less than `most'.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT: nothing changes. */
em_status emi_pq_early_reserve(emi_pq_early *h, em_errinfo *err);

/* Add an item, for which there is room. */
void emi_pq_early_push(emi_pq_early *h, const char *item);

/* Copy the first item, of one or more; and take it out. */
void emi_pq_early_top(const emi_pq_early *h, char *item);
void emi_pq_early_pop(emi_pq_early *h, char *item);

#endif
