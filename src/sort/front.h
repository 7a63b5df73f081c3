/* SPDX-License-Identifier: BSL-1.0 */
/*
 * front.h -- an engine whose records are pushed in and pulled out by a caller: what em_sorter and em_top have in
 * common.
 *
 * A caller goes from one stage to the next: records are pushed, the input is finished, batches are pulled, there are no
 * more.  It begins small (front_few.c): records go to a piece of memory that grows with them.  When there are more than
 * a few it engages: a plan is made, memory and threads are taken, and what is there moves to where a run is collected.
 * Few records are sorted on the calling thread, and no disk is looked for.
 *
 * emi_front_may_...() begin a call, if it may be made at the stage that it is at.  What they return, other than EM_OK,
 * the call returns, and nothing has changed: that is how mistakes of the caller are told.  Otherwise it does its work,
 * and returns what emi_front_did() makes of that: a failure is kept, and told by every call from then on.
 */
#ifndef EMI_FRONT_H
#define EMI_FRONT_H

#include "base/cursor.h"
#include "base/object.h"
#include "sort/engine.h"

typedef struct emi_front {
	emi_object object;      /* what begins with a front and is not public has none */
	emi_engine e;
	enum { EMI_PUSHING, EMI_FINISHED, EMI_PULLING, EMI_ENDED } stage;
	char *area;             /* what was pushed, of one size, and not spilled; what is of any length is in the
	                           engine's store */
	size_t area_bytes;
	uint64_t n;             /* records in the area, ... */
	uint64_t room;          /* ... and for how many there is room */
	int few;                /* it has not engaged: */
	uint64_t few_records;   /* with more of them it does, ... */
	size_t few_bytes;       /* ... any length: or more bytes of a store */
	emi_needs needs;        /* of the plan that is made then, ... */
	em_status (*engage)(struct emi_front *f, em_errinfo *err); /* ... by this, which also gets all memory */
	em_status (*spill)(struct emi_front *f, em_errinfo *err); /* what is done with a full area of n records, which
	                           need not be empty then; NULL: it is sorted and written */
	emi_cursor cursor;      /* on the batch that was lent last, if it was lent to it */
} emi_front;

/* Are records of any length? */
static inline int emi_front_varied(const emi_front *f)
{
	return f->e.job.by.vary != NULL;
}

/* The engine is open: begin with little, or engage if there is no other way. */
em_status emi_front_begin(emi_front *f, const emi_needs *needs,
			  em_status (*engage)(emi_front *f, em_errinfo *err), em_errinfo *err);

/* It has not engaged.  One size: have room for n more records; or engage.  Any length: add records of a batch, *n being
 * how many, to the last, or until it has engaged. */
em_status emi_front_grow(emi_front *f, uint64_t n, em_errinfo *err);
em_status emi_front_add_few(emi_front *f, const em_batch *batch, size_t *n, em_errinfo *err);

/* The input is at its end, and there are few records: get the memory to sort them. */
em_status emi_front_end_few(emi_front *f, em_errinfo *err);

/* It has a cursor, which `fill' moves on by the call of that object for the next batch. */
void emi_front_cursor(emi_front *f, em_status (*fill)(emi_cursor *c, void *object), void *object);

/* One size: get the area for a run, to which records move that are there, the plan being made, and what
 * emi_engine_prepare() gets. */
em_status emi_front_prepare(emi_front *f, em_errinfo *err);

/* Close the engine, too, if it was opened. */
void emi_front_close(emi_front *f);

/* All was pulled: give back all memory but the front itself. */
void emi_front_release(emi_front *f);

/* Bytes of the longest frame that can be pushed. */
uint64_t emi_front_longest(const emi_front *f);

/* Begin a call; f may be NULL, as may what it is given. */
em_status emi_front_may_push(emi_front *f, const void *records, uint64_t n);
/* The same of so many bytes; *n is how many records they are. */
em_status emi_front_may_push_bytes(emi_front *f, const void *records, size_t bytes, uint64_t *n);
/* Unless it is empty, batch becomes what was given, if that is of any length; no record is too long then. */
em_status emi_front_may_push_batch(emi_front *f, const void *records, const uint64_t *ends, uint64_t n,
				   em_batch *batch);
em_status emi_front_may_finish(emi_front *f);
/* The same; clears *batch and the cursor.  EM_END when all was pulled. */
em_status emi_front_may_next(emi_front *f, const em_batch **batch);
/* Could the next call pull records?  This one is over. */
em_status emi_front_could_pull(emi_front *f);

/* A record was not too long, but memory that it needs went to others of the context before it was there.  Returns the
 * status. */
em_status emi_front_too_long(uint64_t need, em_errinfo *err);

/* End a call whose work, which left the detail of a failure in the job, ended with a status; returns what it
 * returns. */
em_status emi_front_did(emi_front *f, em_status status);

/* One size: copy n records to the area; each time it is full, and more comes, it is spilled. */
em_status emi_front_push(emi_front *f, const void *records, uint64_t n, em_errinfo *err);

/* Write what was pushed, if anything, as a run. */
em_status emi_front_spill(emi_front *f, em_errinfo *err);

/* The input is at its end and some of it is in runs: what is in the area or the store stays in memory as the last run,
 * if there is room for it while all are merged. */
em_status emi_front_keep(emi_front *f, em_errinfo *err);

/* The input is at its end and some of it is in runs: the rest goes there, too, and merging begins. */
em_status emi_front_reduce(emi_front *f, em_errinfo *err);

/* Lend the next batch of all records, sorted; EM_END at the end.  Goes on to the next stage. */
em_status emi_front_pull(emi_front *f, const em_batch **batch, em_errinfo *err);

/* The rest of the life of a sorter, or of what resembles one; f may be NULL. */
void emi_front_cancel(emi_front *f);
uint64_t emi_front_record_bytes(const emi_front *f);
uint64_t emi_front_pushed(const emi_front *f);
em_status emi_front_stats(const emi_front *f, em_sort_stats *stats);

#endif
