/* SPDX-License-Identifier: BSL-1.0 */
/* trial.c -- see trial.h. */
#include "sort/trial.h"

#include <string.h>

#include "sort/plan_vary.h"

#define STACKS 8u               /* this part of the memory may be stacks of threads, of which nothing is for records */

int emi_trial_repeats(const char *const *paths, uint32_t n, uint64_t bytes, int written)
{
	uint32_t i;

	for (i = 0; i < n && strcmp(paths[i], "-") != 0; i++)
		continue;
	return i == n && bytes != EMI_UNKNOWN && !written;
}

void emi_trial_next(emi_trial *t, const emi_job *job, int repeats, em_status st, const em_errinfo *err)
{
	const emi_vary *v = job->by.vary;
	/* A frame has the lengths of key and record, too. */
	const uint64_t bytes = err->bytes + 2 * EMI_LENGTH_MAX;

	t->again = 0;
	if (st != EM_ERR_FORMAT || err->bytes == 0 || t->only_plan || v == NULL || err->bytes > UINT64_MAX / 256 ||
	    bytes <= t->line)
		return;
	/* Most keys are no longer than their records; of those that are it is known when they are made. */
	t->line = (v->keyed ? 2 : 1) * bytes;
	t->only_plan = !repeats;
	t->again = 1;
}

em_status emi_trial_told(const emi_job *job, em_errinfo *err)
{
	const uint64_t bytes = em_ctx_memory_used(job->ctx) + job->line * EMI_LONGEST_SHARE + EMI_PAGE;

	return emi_fail_memory(err, bytes / (STACKS - 1) * STACKS + STACKS,
			       "a record must be a small part of the memory");
}

em_status emi_trials(em_status (*attempt)(void *arg, emi_trial *t, em_errinfo *err), void *arg, em_errinfo *err)
{
	emi_trial t = { 0, 0, 0 };
	em_status st = attempt(arg, &t, err);

	while (t.again) {
		em_errinfo first = *err;

		memset(err, 0, sizeof *err);
		st = attempt(arg, &t, err);
		if (st != EM_ERR_MEMLIMIT)
			continue;
		first.bytes = err->bytes;
		*err = first;
		return EM_ERR_FORMAT;
	}
	return st;
}
