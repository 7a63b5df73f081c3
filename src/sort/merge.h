/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge.h -- merging runs from the disk with all threads.
 *
 * The calling thread drives: it keeps the blocks of all runs coming in the predicted order (run_fetch.h),
 * cuts what is in memory into tasks, and hands them to the workers.  A task is a slice of each run's
 * front block such that everything in the slices comes before everything behind them; its place in the output is
 * known, so tasks of one merge run at the same time and write into the output blocks directly.
 *
 * The cut: look s bytes ahead in every run's front block, or to its end; of the records found there the
 * smallest, by (key, run), is the bound.  The slice of each run are its records up to the bound, which lie
 * within those s bytes, so a binary search finds the end.  With k runs and s = target / k the slices hold nearly
 * target bytes when the keys are mixed, and only s when they are not; then s grows.
 */
#ifndef EMI_MERGE_H
#define EMI_MERGE_H

#include "base/workers.h"
#include "block/prefetch.h"
#include "sort/job.h"
#include "sort/merge_cut.h"
#include "sort/outseq.h"
#include "sort/run_fetch.h"

typedef struct emi_merge_task emi_merge_task;

/* A run that never left memory: records of one size, one behind the other, or blocks (block_vary.h) where
 * emi_block_place() has them. */
typedef struct emi_kept_run {
	char *area;             /* what it is in, of area_bytes; NULL: there is none */
	size_t area_bytes;
	const char *first;
	size_t bytes;           /* of records or frames */
	uint64_t blocks;        /* any length */
} emi_kept_run;

typedef struct emi_merger {
	emi_job *job;
	const emi_plan *plan;   /* of this merge: the job's, or another one */
	emi_outseq *q;
	uint32_t k;
	emi_run_fetch *fetch;   /* where blocks of runs come from */
	emi_merge_input *in;    /* k */
	emi_kept_run kept;      /* the last of them, if it is in memory */
	uint64_t kept_block;    /* any length: its next block, ... */
	uint64_t kept_byte;     /* ... and bytes of frames before that */
	emi_merge_task *task;   /* a ring of them */
	uint32_t ntasks;
	uint64_t dispatched, retired; /* tasks; numbers of the ring modulo ntasks */
	const emi_cutter *cutter;
	size_t target;          /* bytes of a task, at most */
	size_t reach;           /* bytes to look ahead in each run for the next cut; 0: single steps */
	size_t least;           /* bytes of a reach that is not 0 */
	uint64_t pos;           /* bytes dispatched */
	uint64_t total;
	uint64_t out_pos;       /* any length: bytes of the blocks dispatched */
} emi_merger;

/* Merge k runs, which fetch expects as its next merge, and behind them the one that was kept, if any, into a sequence,
 * which must have been begun for all their records.  Tasks and what each has are those of the plan, which stays as it
 * is meanwhile.  Blocks are freed as they are read, unless fetch keeps them.  The list of runs is not needed later. */
em_status emi_merger_open(emi_merger *m, emi_job *job, const emi_plan *plan, emi_run_fetch *fetch, const emi_run *runs,
			  uint32_t k, const emi_kept_run *kept, emi_outseq *q, em_errinfo *err);
void emi_merger_close(emi_merger *m);

/* Do a bit more of the merge.  EM_OK; EM_END when all is dispatched and done; or a failure.  When the sequence lends
 * its blocks, call it only while none is waiting to be lent. */
em_status emi_merger_step(emi_merger *m, em_errinfo *err);

/* Give the other threads what there is room for, without waiting for them: so that they have work while a block is
 * lent. */
em_status emi_merger_feed(emi_merger *m, em_errinfo *err);

/* The destination of a sequence that lends its blocks; and the next one of them, in place of that which is `lent',
 * until it is asked for another one.  EM_END after the last. */
extern const emi_dest emi_dest_lends;
em_status emi_merger_pull(emi_merger *m, int *lent, const emi_outblock **block, em_errinfo *err);

#endif
