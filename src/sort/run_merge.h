/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_merge.h -- a merge of runs that is pulled, with memory of its own.
 *
 * The engine merges its runs once, with what its plan has.  Here it is the same merger (merge.h), with all threads, but
 * buffers, tasks and output blocks are the merge's own.  So there may be any number of them over the same runs, one of
 * which does a bit of its work whenever it is pulled, and some of it between two pulls.  Runs stay, or are consumed.
 *
 *   plan, open, next..., close
 *
 * Records have one size.  One thread drives all merges of a job.
 */
#ifndef EMI_RUN_MERGE_H
#define EMI_RUN_MERGE_H

#include "sort/merge.h"

typedef struct emi_run_merge {
	emi_plan plan;
	emi_run_fetch fetch;
	emi_outseq out;
	emi_merger merger;
	int lent;               /* a block of `out' is with the caller */
} emi_run_merge;

/* The least memory for a merge of k runs of a job that was planned; and what is to be done with so much, which may be
 * less than all of it: 0: it is too little. */
uint64_t emi_run_merge_least(const emi_job *job, uint64_t k);
int emi_run_merge_plan(const emi_job *job, uint32_t k, uint64_t memory, int keeps, emi_plan *plan);

/* Merge k runs, all of them on the disks, which need not stay where they are in memory.  keeps: nothing of them is
 * freed.  Reads the beginnings of their directories.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_CORRUPT, EM_ERR_CANCELED,
 * and what reading fails with; all is closed then. */
em_status emi_run_merge_open(emi_run_merge *m, emi_job *job, const emi_run *runs, uint32_t k, int keeps,
			     const emi_plan *plan, em_errinfo *err);

/* All zeroes need no closing. */
void emi_run_merge_close(emi_run_merge *m);

/* Lend the next *n > 0 records, valid until the next call.  EM_END: there are no more.  Failures, which are final, are
 * those of opening it, and EM_ERR_USER: a function of the order's has failed. */
em_status emi_run_merge_next(emi_run_merge *m, const char **records, size_t *n, em_errinfo *err);

#endif
