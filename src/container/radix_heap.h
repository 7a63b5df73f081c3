/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap.h -- a radix heap inside: the front and the buckets.
 *
 * All records are in the front (radix_heap_front.h) until that is full.  Then there are buckets (radix_heap_buckets.h),
 * numbered by the digits of their keys (radix_heap_digits.h), and what is in the front goes there.  From then on:
 *
 *   push    to the front, if the key is in its range, else to a bucket
 *   pop     from the front or the open run, if they have any; else from the bucket whose keys are all the same (of
 *           level 0); else the lowest bucket is refined: a small one becomes the front, one that is not large becomes
 *           the open run (radix_heap_runs.h), another one is distributed to the levels below
 *
 * No key in a bucket is less than one in the front or the open run.  The range of the front is what is at most
 * `edge', if it is open: it or the run was a bucket, and `edge' was the last key of that.  If it is closed, the
 * range is what is below the reference.  There are such keys only after the reference has become the minimum of a
 * bucket that is not popped yet: when a record was only looked at, or when distributing has failed.
 *
 * Distributing stops where it fails.  `source' is the bucket that it stopped in, which is done with before the lowest
 * one is asked for.  Its keys are not below the reference.
 *
 * When a run is opened, the next bucket is made ready for that.  If this fails, it comes later.
 *
 * A front that is full is closed: its records and those of the open run go to buckets, the largest first, so what is
 * left when that fails is a front again.  The reference moves up to the last minimum, if the buckets allow that.  If
 * it is above the last minimum, it has to go back there: then all levels below the digit in which the two differ
 * become one bucket, that of the reference's digit, without any I/O but for what no longer fits into memory.  Until
 * that is done the front has no range, and only what is in it can be popped.
 *
 * Callers are trusted here; what the public calls check is in public_radix_heap.c.
 */
#ifndef EMI_RADIX_HEAP_H
#define EMI_RADIX_HEAP_H

#include <extmem/sys/placement.h>

#include "base/object.h"
#include "container/radix_heap_buckets.h"
#include "container/radix_heap_digits.h"
#include "container/radix_heap_front.h"
#include "container/radix_heap_runs.h"

typedef enum emi_radix_range {
	EMI_RADIX_ALL,          /* there are no buckets */
	EMI_RADIX_OPEN,
	EMI_RADIX_CLOSED,
	EMI_RADIX_LOWERING
} emi_radix_range;

struct em_radix_heap {
	emi_object object;
	emi_radix_plan plan;
	emi_radix_key key;
	uint64_t n;             /* records */
	uint64_t last;          /* the last minimum */
	emi_radix_range range;  /* of the front ... */
	uint64_t edge;          /* ... which is open */
	uint32_t equal;         /* the bucket of level 0 that has the reference's key, when that is the lowest; ... */
	uint32_t source;        /* ... and that which is being distributed; or EMI_RADIX_NONE */
	uint32_t lowering;      /* the level below which all becomes one bucket, ... */
	uint32_t lower_to;      /* ... this one, ... */
	uint64_t lower_by;      /* ... when this becomes the reference */
	uint64_t small;         /* bytes of records that may become the front */
	uint64_t distributed;   /* records */
	uint64_t run_sorted;    /* records, in runs */
	emi_radix_front front;
	emi_radix_runs runs;
	emi_radix_digits digits;
	emi_radix_buckets buckets;
	em_placement placement; /* where one was given */
};

/* Fill what begins zeroed, by the plan in it. */
void emi_radix_heap_init(em_radix_heap *h, em_ctx *ctx, const em_placement *placement);

/* Forget all records, and free all memory but h. */
void emi_radix_heap_clear(em_radix_heap *h);

/* The most bytes that a heap of so many records takes; UINT64_MAX: more than can be counted. */
uint64_t emi_radix_heap_memory(const emi_radix_plan *plan, uint64_t records);

/* May the key be pushed?  EM_ERR_RANGE, which names the record by its number, from 1. */
em_status emi_radix_heap_check(const em_radix_heap *h, uint64_t key, uint64_t number, em_errinfo *err);

/* Add records whose keys may be pushed; *done is how many of them entered. */
em_status emi_radix_heap_push(em_radix_heap *h, const char *records, uint64_t n, uint64_t *done, em_errinfo *err);

/* The same with one record and its key. */
em_status emi_radix_heap_push_one(em_radix_heap *h, const char *record, uint64_t key, em_errinfo *err);

/* Take out so many records, of which there are as many; *done likewise. */
em_status emi_radix_heap_pop(em_radix_heap *h, char *records, uint64_t n, uint64_t *done, em_errinfo *err);

/* The same with one record. */
em_status emi_radix_heap_pop_one(em_radix_heap *h, char *record, em_errinfo *err);

/* Copy a record with the least key, of one or more. */
em_status emi_radix_heap_top(em_radix_heap *h, char *record, em_errinfo *err);

static inline int emi_radix_heap_admits(const em_radix_heap *h, uint64_t key)
{
	return key - h->last <= h->plan.most && key >= h->last && key <= h->key.last;
}

/* Does a key belong in the front, once that may take it? */
static inline int emi_radix_heap_is_near(const em_radix_heap *h, uint64_t key)
{
	switch (h->range) {
	case EMI_RADIX_OPEN:
		return key <= h->edge;
	case EMI_RADIX_CLOSED:
		return key < h->digits.reference;
	case EMI_RADIX_ALL:
	case EMI_RADIX_LOWERING:
	default:
		return 1;
	}
}

/* Has the last minimum another digit above all levels than the reference? */
static inline int emi_radix_heap_is_behind(const em_radix_heap *h)
{
	return h->last > h->digits.level[h->digits.levels].below;
}

/* Add a record to a bucket that has room, by its key. */
static inline void emi_radix_append(emi_radix_bucket *b, const char *record, uint64_t key, size_t bytes)
{
	if (!emi_copy_usual(b->at, record, bytes))
		emi_copy(b->at, record, bytes);
	b->at += bytes;
	/* This is rare, and a store that is not made is cheaper than one that changes nothing. */
	if (key < b->min)
		b->min = key;
}

/* Take out the next record of the open run, which has one. */
static inline void emi_radix_heap_take_run(em_radix_heap *h, char *record)
{
	emi_radix_runs *r = &h->runs;

	emi_pq_store_one(&r->items, r->at, record);
	r->at += r->items.bytes;
	h->last = emi_radix_key_of(&h->key, record);
}

/* The usual push and pop: to a bucket that has room, and of a run, or what is in the buffer of the lowest one or in
 * order in the front.  0: it is another case, and nothing was done. */
static inline int emi_radix_heap_push_usual(em_radix_heap *h, const char *record, uint64_t key)
{
	emi_radix_bucket *b;
	uint32_t i;

	if (emi_radix_heap_is_near(h, key) || emi_radix_heap_is_behind(h))
		return 0;
	i = emi_radix_bucket_of(&h->digits, key, h->digits.levels);
	b = &h->buckets.bucket[i];
	if (b->at == b->end && !emi_radix_restage(&h->buckets, i))
		return 0;
	emi_radix_append(b, record, key, h->plan.record);
	h->n++;
	return 1;
}

static inline int emi_radix_heap_pop_usual(em_radix_heap *h, char *record)
{
	const size_t bytes = h->plan.record;
	emi_radix_bucket *b;

	if (emi_radix_runs_open(&h->runs)) {
		if (emi_radix_front_count(&h->front) != 0)
			return 0;
		emi_radix_heap_take_run(h, record);
	} else if (emi_radix_front_count(&h->front) != 0) {
		if (!emi_radix_front_pop_usual(&h->front, &h->last, record))
			return 0;
	} else {
		if (h->equal == EMI_RADIX_NONE)
			return 0;
		b = &h->buckets.bucket[h->equal];
		/* The last record of a buffer is not a usual one. */
		if ((size_t)(b->at - h->buckets.stack[h->equal].buf) <= bytes)
			return 0;
		b->at -= bytes;
		if (!emi_copy_usual(record, b->at, bytes))
			emi_copy(record, b->at, bytes);
		h->last = h->digits.reference;
	}
	h->n--;
	return 1;
}

#endif
