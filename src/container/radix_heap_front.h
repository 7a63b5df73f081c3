/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_front.h -- a small priority queue in memory: what a radix heap pops from, and all there is of a small one.
 *
 * It has pairs of a key and a value: the record, if that has at most 8 bytes, else the number of its slot.  Pairs that
 * were there when something was popped are sorted; those that came since are a binary heap, which is sorted and merged
 * into the others when it has become large.  What is pushed is appended, and only looked at by the next pop.
 *
 * Keys are numbers, so sorting is by digits: one scatter into about as many places as there are pairs, by the bits in
 * which they differ, and insertion for what is left.  An order, whose kernels do that as fast, would be an object to
 * open for each heap, and small heaps would feel it.
 *
 * All memory is in pieces that grow by doubling.  A failure to get one changes nothing.
 */
#ifndef EMI_RADIX_HEAP_FRONT_H
#define EMI_RADIX_HEAP_FRONT_H

#include <stddef.h>
#include <stdint.h>

#include <extmem/ctx.h>

#include "base/copy.h"

typedef struct emi_radix_pair {
	uint64_t key;
	uint64_t val;           /* the bytes of the record, or its slot */
} emi_radix_pair;

typedef struct emi_radix_pairs {
	emi_radix_pair *at;
	size_t bytes;           /* of the piece */
} emi_radix_pairs;

typedef struct emi_radix_front {
	em_ctx *ctx;
	size_t record;
	uint32_t most;          /* pairs that it may have */
	uint32_t sorted;        /* of them, those that are sorted, ... */
	uint32_t late;          /* ... and those that came later ... */
	uint32_t heap;          /* ... of which the first so many are a heap */
	emi_radix_pairs in_order; /* the largest key first */
	emi_radix_pairs latest;
	emi_radix_pairs spare;  /* to sort into */
	char *slot;             /* records of more than 8 bytes */
	size_t slot_bytes;      /* of the piece */
	uint32_t slots;         /* that were ever used */
	uint32_t free_slot;     /* the first of those that are free, which have the next in them; NO_SLOT: none */
	uint64_t ordered;       /* pairs that were sorted so far */
} emi_radix_front;

#define EMI_RADIX_NO_SLOT UINT32_MAX
#define EMI_RADIX_IN_PAIR 8u    /* bytes of the records that pairs have themselves */

/* Of so many records at most; takes no memory yet. */
void emi_radix_front_init(emi_radix_front *f, em_ctx *ctx, size_t record, uint32_t most);

/* Forget all that is in it, and free its memory. */
void emi_radix_front_drop(emi_radix_front *f);

/* Bytes that it takes at most with so many records. */
uint64_t emi_radix_front_memory(size_t record, uint64_t most);

static inline uint32_t emi_radix_front_count(const emi_radix_front *f)
{
	return f->sorted + f->late;
}

/* Have room for n more, of which there are no more than `most' then. */
em_status emi_radix_front_reserve(emi_radix_front *f, uint32_t n, em_errinfo *err);

/* Is there room for one more? */
static inline int emi_radix_front_has_room(const emi_radix_front *f)
{
	return emi_radix_front_count(f) < f->most && f->late < f->latest.bytes / sizeof *f->latest.at &&
	       (f->record <= EMI_RADIX_IN_PAIR || f->free_slot != EMI_RADIX_NO_SLOT ||
		(f->slots + 1) * f->record <= f->slot_bytes);
}

/* Add one, for which there is room. */
static inline void emi_radix_front_add(emi_radix_front *f, uint64_t key, const char *record)
{
	emi_radix_pair *p = &f->latest.at[f->late++];
	char *slot;

	p->key = key;
	p->val = 0;
	if (f->record == EMI_RADIX_IN_PAIR) {
		memcpy(&p->val, record, EMI_RADIX_IN_PAIR);
	} else if (f->record < EMI_RADIX_IN_PAIR) {
		emi_copy(&p->val, record, f->record);
	} else {
		p->val = f->free_slot != EMI_RADIX_NO_SLOT ? f->free_slot : f->slots++;
		slot = f->slot + p->val * f->record;
		if (f->free_slot != EMI_RADIX_NO_SLOT)
			memcpy(&f->free_slot, slot, sizeof f->free_slot);
		emi_copy(slot, record, f->record);
	}
}

/* The least key, of one or more records.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_radix_front_first(emi_radix_front *f, uint64_t *key, em_errinfo *err);

/* Copy the record with the least key, of one or more, and, if `take' is not 0, take it out. */
em_status emi_radix_front_least(emi_radix_front *f, uint64_t *key, char *record, int take, em_errinfo *err);

/* Take out the record with the least key, if all are in order and records are in their pairs.  0: they are not. */
static inline int emi_radix_front_pop_usual(emi_radix_front *f, uint64_t *key, char *record)
{
	const emi_radix_pair *p;

	if (f->late != 0 || f->record > EMI_RADIX_IN_PAIR)
		return 0;
	p = &f->in_order.at[--f->sorted];
	*key = p->key;
	if (!emi_copy_usual(record, &p->val, f->record))
		emi_copy(record, &p->val, f->record);
	return 1;
}

/* Have all sorted. */
em_status emi_radix_front_sort(emi_radix_front *f, em_errinfo *err);

/* Where the record of a pair is. */
const char *emi_radix_front_record(const emi_radix_front *f, const emi_radix_pair *p);

/* The first n of those in order go, whose records were copied. */
void emi_radix_front_cut(emi_radix_front *f, uint32_t n);

#endif
