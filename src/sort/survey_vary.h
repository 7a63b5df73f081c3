/* SPDX-License-Identifier: BSL-1.0 */
/*
 * survey_vary.h -- are strings in order already, or in reverse?
 *
 * All threads look, each at a part, and stop as soon as neither can be true any more, which for most inputs is after a
 * few strings.
 */
#ifndef EMI_SURVEY_VARY_H
#define EMI_SURVEY_VARY_H

#include "sort/partition.h"

enum { EMI_UNORDERED, EMI_ASCENDS, EMI_DESCENDS };

/* Of n elements, whose keys are the first eight bytes of their strings: EMI_ASCENDS if none is less than the one
 * before, EMI_DESCENDS if each is.  It goes on while emi_partition_go_on() says so of `check'. */
int emi_survey_strings(const emi_job *job, emi_partition *check, const emi_pair *e, uint64_t n);

#endif
