/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_runs.h -- buckets of many records that a radix heap pops from, sorted by the kernels in place of being
 * distributed.
 *
 * A run has records of one bucket, as items (pq_item.h).  The one that is open is sorted, and is popped from.  Its
 * bucket is empty.  Another one is made ready meanwhile: records of the next bucket are moved to it, and a second
 * thread sorts them (pq_sort.h).  That bucket still is what it was: its minimum stays, and it may get more records.
 *
 * Moving may fail anywhere, and goes on from there.  So a run that is not open is a part of its bucket, in some order,
 * and whoever wants all records of a bucket asks for those in its runs, too.
 *
 * A run is filled from the end of its buffer down, as nobody knows how many records it is going to have.
 */
#ifndef EMI_RADIX_HEAP_RUNS_H
#define EMI_RADIX_HEAP_RUNS_H

#include <extmem/order.h>

#include "container/pq_sort.h"
#include "container/radix_heap_buckets.h"

#define EMI_RADIX_RUNS 2u

typedef struct emi_radix_run {
	char *buf;              /* NULL: there is none yet */
	char *at;               /* the first item ... */
	char *end;              /* ... if this is behind it */
	uint32_t bucket;        /* whose records those are; EMI_RADIX_NONE: the run is open, or free */
	int sorted;             /* or it is going to be, when the sort ends */
} emi_radix_run;

typedef struct emi_radix_runs {
	em_ctx *ctx;
	const emi_radix_plan *plan;
	char *at;               /* the next item of the open run ... */
	char *end;              /* ... if this is behind it */
	const emi_radix_run *open; /* that, or which was open last */
	emi_radix_run run[EMI_RADIX_RUNS];
	em_order *order;        /* NULL: nothing is there yet */
	emi_pq_items items;
	emi_pq_sorting sorting;
} emi_radix_runs;

/* None; takes no memory yet. */
void emi_radix_runs_init(emi_radix_runs *r, em_ctx *ctx, const emi_radix_plan *plan);

/* Forget all that is in them, and free the memory. */
void emi_radix_runs_drop(emi_radix_runs *r);

/* Bytes that runs of so many records each take at most, whose keys have so many bytes. */
uint64_t emi_radix_runs_memory(size_t record, unsigned width, uint64_t records);

/* Does the open run have a record? */
static inline int emi_radix_runs_open(const emi_radix_runs *r)
{
	return r->at != r->end;
}

/* The run of a bucket, or NULL; there is more than one: *more. */
emi_radix_run *emi_radix_run_of(emi_radix_runs *r, uint32_t bucket, int *more);

/* Have the run of a bucket, or make one that is free its run; NULL: none is.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_radix_run_take(emi_radix_runs *r, uint32_t bucket, emi_radix_run **run, em_errinfo *err);

/* Items in a run. */
uint64_t emi_radix_run_count(const emi_radix_runs *r, const emi_radix_run *run);

/* Move all records of its bucket to a run, which has room for them.  Its minimum stays, and it is still in use.  As
 * emi_radix_fetch(), and EM_ERR_CANCELED: some were moved. */
em_status emi_radix_run_fill(emi_radix_runs *r, emi_radix_run *run, emi_radix_buckets *b, em_errinfo *err);

/* Have it sorted: now, or behind the caller's back. */
em_status emi_radix_run_sort(emi_radix_runs *r, emi_radix_run *run, int later, em_errinfo *err);

/* It is sorted, and is what is popped from.  None is open that has records. */
void emi_radix_run_open(emi_radix_runs *r, emi_radix_run *run);

/* The last record of the open run goes, which was copied. */
static inline void emi_radix_runs_cut(emi_radix_runs *r)
{
	r->end -= r->items.bytes;
}

/* All that were a bucket's are another one's. */
void emi_radix_runs_move(emi_radix_runs *r, uint32_t from, uint32_t to);

/* The record of an item, which is somewhere in a run, or is made in `room', of 16 bytes. */
static inline const char *emi_radix_runs_record(const emi_radix_runs *r, const char *item, char *room)
{
	if (r->items.form == EMI_PQ_AS_IS)
		return item;
	emi_pq_store_one(&r->items, item, room);
	return room;
}

#define EMI_RADIX_ITEM_ROOM 16u

#endif
