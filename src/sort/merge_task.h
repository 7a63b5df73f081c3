/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task.h -- merging slices of runs that are in memory, on whatever thread.
 */
#ifndef EMI_MERGE_TASK_H
#define EMI_MERGE_TASK_H

#include "base/workers.h"
#include "sort/job.h"
#include "sort/merge_cut.h"
#include "sort/outseq.h"

struct emi_merge_task {
	emi_task task;
	emi_job *job;
	const emi_plan *plan;
	emi_outseq *q;
	uint64_t pos;           /* bytes in the sequence before it */
	size_t bytes;           /* of all slices */
	uint64_t out;           /* any length: output bytes of all slices ... */
	uint64_t out_pos;       /* ... bytes of the blocks before it ... */
	uint64_t index;         /* ... and the block that it makes */
	const char *bound;      /* no record of the slices is behind this one; NULL: not known */
	int alike;              /* longer keys: they differ in the last value only (key/codes.h) */
	emi_slice *slice;       /* the slices that are not empty, in the order of the runs */
	uint32_t slices;
	emi_window *win;        /* one per slice */
	void *mixed;            /* plan->mix_bytes for the elements of a mix; NULL: there is none */
	void *tree;
	char *elems;            /* conversion windows, plan->window elements per slice; NULL: none is needed */
	void *made;             /* EMI_TASK_OUT elements on their way to records; NULL: none is needed */
	size_t *taken;          /* one per slice, for a mix; NULL: it is a tree that merges, always */
	emi_fetched *used_up;   /* blocks that nobody needs when this task and those before it are done */
};

#define EMI_TASK_OUT 256u

/* Storage for up to k slices. */
em_status emi_merge_task_init(struct emi_merge_task *t, emi_job *job, const emi_plan *plan, emi_outseq *q, uint32_t k,
			      em_errinfo *err);
void emi_merge_task_free(struct emi_merge_task *t, uint32_t k);

/* What was in a block, which is NULL if it never was on a disk, cannot be: EM_ERR_CORRUPT. */
em_status emi_merge_damaged(const emi_job *job, const emi_fetched *block, em_errinfo *err);

/* Merge the slices; arg is the task. */
void emi_merge_task_run(void *arg);

/* merge_task_mix.c: the same for bare keys in place, whose slices may be as many as a mix takes; t->taken is not
 * NULL. */
void emi_merge_task_run_mix(struct emi_merge_task *t);

/* merge_task_vary.c: the same for records of any length. */
void emi_merge_task_run_vary(struct emi_merge_task *t);

#endif
