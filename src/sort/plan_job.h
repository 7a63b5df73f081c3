/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan_job.h -- making the plan of a job: with how much of the memory, and with how many threads.
 *
 * What is planned for so much memory and so many threads is in plan.h.  Here both are chosen: as many threads as there
 * is a plan for, in the memory that plan_memory.h has for the sort, or in more of it.  Where not even one thread has a
 * plan, the context's memory is raised if that is allowed.
 */
#ifndef EMI_PLAN_JOB_H
#define EMI_PLAN_JOB_H

#include "sort/job.h"

/* The least memory for which there is a plan, with one thread; after emi_job_plan(). */
uint64_t emi_job_least(emi_job *job, const emi_needs *needs);

/*
 * Make job->plan.  The context's threads are an upper bound: a job uses as many as its memory feeds, their stacks being
 * a part of that.  They are started by whoever begins to work.
 * EM_ERR_MEMLIMIT names the memory that would do: the context's, or the job's own share where that is what is too
 * little.
 */
em_status emi_job_plan(emi_job *job, const emi_needs *needs, em_errinfo *err);

/*
 * There may be so little to sort that a plan is not worth making: are forced values legal, and how many bytes would one
 * be for?  EM_ERR_INVAL; *share 0: there is none for one thread in a moderate or a fair share, or runs of some size are
 * wanted.
 */
em_status emi_job_few_share(emi_job *job, const emi_needs *needs, uint64_t *share, em_errinfo *err);

/* What is planned for when its runs are merged: the longest records of them are known then. */
emi_plan_input emi_job_merging(const emi_job *job);

/* Make job->plan one for sorting some records, all there are, on the calling thread, which needs no more than memory
 * for them. */
void emi_job_few_plan(emi_job *job);

#endif
