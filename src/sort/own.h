/* SPDX-License-Identifier: BSL-1.0 */
/*
 * own.h -- the kernels of a job, be they those of its elements (kern/kern.h) or its order's own (extmem/gen/kernels.h).
 */
#ifndef EMI_OWN_H
#define EMI_OWN_H

#include "sort/job.h"

/* Sort a[0..n), with room for as many elements in tmp, and EMI_KERN_WORK bytes of scratch.  tie: of the elements. */
static inline void emi_job_sort(emi_job *job, const emi_tie *tie, void *a, void *tmp, size_t n, void *work)
{
	emi_tie watched = *tie;

	if (job->own != NULL) {
		job->own->sort(a, tmp, n, emi_comparing_here(&job->by, job->by.own_arg));
		return;
	}
	watched.arg = emi_comparing_here(&job->by, tie->arg);
	job->kern->sort(a, tmp, n, &watched, work);
}

/* A merge of k windows. */
typedef struct emi_merging {
	const emi_job *job;
	emi_merge merge;
	em_kern_merge own;
} emi_merging;

/* Begin; tree has emi_merge_tree_bytes(k) bytes.  tie: of the elements; recode: if their keys are offset-value codes, else NULL. */
static inline void emi_merging_start(emi_merging *m, emi_job *job, uint32_t k, emi_window *win, void *tree, const emi_tie *tie,
				     emi_recode_fn recode)
{
	const emi_merge merge = { 0 };
	const em_kern_merge own = { 0 };

	m->job = job;
	m->merge = merge;
	m->own = own;
	if (job->own != NULL) {
		m->own.k = k;
		m->own.win = win;
		m->own.tree = tree;
		m->own.arg = emi_comparing_here(&job->by, job->by.own_arg);
		job->own->merge_start(&m->own);
	} else {
		m->merge.k = k;
		m->merge.win = win;
		m->merge.tree = tree;
		m->merge.recode = recode;
		m->merge.tie = *tie;
		m->merge.tie.arg = emi_comparing_here(&job->by, tie->arg);
		job->kern->merge_start(&m->merge);
	}
}

/* As merge_run(): *dry is the window that has become empty, or EMI_NONE. */
static inline size_t emi_merging_run(emi_merging *m, void *out, size_t cap, uint32_t *dry)
{
	return m->job->own != NULL ? m->job->own->merge_run(&m->own, out, cap, dry) : m->job->kern->merge_run(&m->merge, out, cap, dry);
}

#endif
