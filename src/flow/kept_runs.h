/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kept_runs.h -- em_runs: runs that stay, apart from the merges of them.
 *
 * Forming (kept_runs.c) is a front's (sort/front.h): records go to an area, and the engine sorts that and writes it as
 * a run.  Three things are different.  A sequence that is sorted is appended to a run of its own.  Where equal records
 * are combined, an area is sorted in memory and combined there; as long as that leaves half of it free, nothing is
 * written.  And when all are formed, the engine gives back what it has but for its job: that knows the runs, their
 * disks, their order, and how the work goes on.
 *
 * A merge (runs_stream.c) is a stream over what stayed in memory, or over a merge of all runs by the engine's merger,
 * with all threads and memory of its own (sort/run_merge.h).  A pass is such a stream, too, which consumes its runs,
 * and is appended to a new one.  Combining in merges is the node that reduces (em_stream_reduce()) above that stream.
 *
 * Ranges (runs_range.c): the directory of a run has the key of each block's first record.  So blocks that lie before a
 * key as a whole are left out; what else is before a range is read and passed over.
 */
#ifndef EMI_KEPT_RUNS_H
#define EMI_KEPT_RUNS_H

#include <extmem/runs.h>

#include "flow/stream.h"
#include "sort/front.h"
#include "sort/run_append.h"

struct em_runs {
	emi_front front;        /* never pulled from: its stage is EMI_PUSHING or EMI_FINISHED */
	em_sort_opts form;
	em_order *order;        /* a reference */
	em_reduce_fn combine;   /* NULL: equal records stay */
	void *user;
	emi_user owned;         /* user, if it is to be freed, ... */
	emi_user watching;      /* ... and that of progress */
	uint64_t merge_memory;  /* 0: as for forming */
	uint64_t later;         /* bytes that somebody else is going to take beside forming */
	uint64_t expected;      /* bytes of records that are expected, or EMI_UNKNOWN */
	uint64_t form_memory;   /* that runs were formed with */
	char *other;            /* combining, where elements refer to records: memory that these are sorted to ... */
	size_t other_bytes;
	uint32_t plain;         /* combining: so many areas are written as they are */
	emi_run_append append;  /* of a sequence that is sorted, ... */
	int appending;          /* ... which has begun, ... */
	char *last;             /* ... and its last record; */
	int have_last;          /* there is one */
	uint64_t appended;      /* records of that run */
	char *kept;             /* finished without a run: all records, sorted */
	size_t kept_bytes;
	uint64_t kept_records;
	uint64_t records;       /* in runs */
	uint64_t merged;        /* runs that passes made */
	uint64_t generation;    /* how often it was cleared */
	uint32_t readers;       /* merges that have runs open */
};

static inline emi_job *emi_kept_job(em_runs *r)
{
	return &r->front.e.job;
}

/* As em_runs_open(), with arguments that were given; the caller is going to take `later' bytes beside them,
 * and expects to push so many bytes of records, or EMI_UNKNOWN. */
em_status emi_kept_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts, uint64_t later,
			uint64_t expected, em_errinfo *err);

/* The least bytes of memory for merging k of the runs; and what is done with more, if that is enough:
 * EM_ERR_MEMLIMIT. */
uint64_t emi_kept_need(em_runs *r, uint64_t k);
em_status emi_kept_plan(em_runs *r, uint32_t k, uint64_t memory, int keeps, emi_plan *plan, em_errinfo *err);

/* Merge runs until a merge of all of them can do with so many bytes.  EM_ERR_MEMLIMIT: not even two can be merged; then
 * nothing has changed. */
em_status emi_kept_reduce(em_runs *r, uint64_t memory, em_errinfo *err);

/* Copies of the runs from which blocks are left out that lie before a key as a whole; *left_out: their records. */
em_status emi_kept_from_key(em_runs *r, uint64_t key, emi_run *runs, uint64_t *left_out, em_errinfo *err);

/* The largest key for which at most so many records lie in blocks that begin before it; 0: none is known. */
em_status emi_kept_rank_key(em_runs *r, uint64_t records, uint64_t *key, em_errinfo *err);

#endif
