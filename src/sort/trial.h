/* SPDX-License-Identifier: BSL-1.0 */
/*
 * trial.h -- trying again with memory for a record that was too long.
 *
 * The memory for the longest records is planned before any is seen.  When one comes that is longer, and all inputs can
 * be read again, what was done with them is done anew with memory for that.  Where it is too much, or where a pipe was
 * read, the first failure stands, and its detail says how much memory would do.
 */
#ifndef EMI_TRIAL_H
#define EMI_TRIAL_H

#include "sort/job.h"

typedef struct emi_trial {
	uint64_t line;          /* for emi_job: bytes of the longest frame that must be possible; 0: a share of the
	                           memory */
	int only_plan;          /* fail after the plan, with emi_trial_told() */
	int again;              /* set by emi_trial_next() */
} emi_trial;

/* Can what was read be read again: no pipe, no standard input, and nothing in the output that cannot be taken back?
 * bytes: of all inputs. */
int emi_trial_repeats(const char *const *paths, uint32_t n, uint64_t bytes, int written);

/* An attempt ended like this: is there another one to be made, and how?  err->bytes: what the record takes that was too
 * long. */
void emi_trial_next(emi_trial *t, const emi_job *job, int repeats, em_status st, const em_errinfo *err);

/* There is a plan: EM_ERR_MEMLIMIT with the memory that would have done from the beginning. */
em_status emi_trial_told(const emi_job *job, em_errinfo *err);

/* Attempts, until one is the last. */
em_status emi_trials(em_status (*attempt)(void *arg, emi_trial *t, em_errinfo *err), void *arg, em_errinfo *err);

#endif
