/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task.h -- merging slices of runs that are in memory, on whatever thread.
 */
#ifndef EMI_MERGE_TASK_H
#define EMI_MERGE_TASK_H

#include "base/workers.h"
#include "block/prefetch.h"
#include "sort/outseq.h"

/* Records of one run: n of them, one behind the other. */
typedef struct emi_slice {
	const char *first;
	size_t n;
} emi_slice;

struct emi_merge_task {
	emi_task task;
	emi_job *job;
	emi_outseq *q;
	uint64_t pos;           /* of its first record in the sequence */
	size_t n;               /* records in all slices */
	emi_slice *slice;       /* the slices that are not empty, in the order of the runs */
	uint32_t slices;
	emi_window *win;        /* one per slice */
	void *tree;
	char *elems;            /* conversion windows, job->plan.window elements per slice; NULL: none is needed */
	void *out;              /* MAX elements on their way to records; NULL: none is needed */
	emi_fetched *used_up;   /* blocks that nobody needs when this task and those before it are done */
};

#define EMI_TASK_OUT 256u       /* elements in `out' */

/* Storage for up to k slices. */
em_status emi_merge_task_init(struct emi_merge_task *t, emi_job *job, emi_outseq *q, uint32_t k, em_errinfo *err);
void emi_merge_task_free(struct emi_merge_task *t, uint32_t k);

/* Merge the slices; arg is the task. */
void emi_merge_task_run(void *arg);

#endif
