/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_plan.h -- what a sort would take, and what to say when that is more than there is.
 */
#ifndef CLI_SORT_PLAN_H
#define CLI_SORT_PLAN_H

#include "cli/sort_options.h"

/* Print the plan; returns the exit status.  err is where so->sort.errinfo points. */
int sort_plan(const sort_options *so, em_ctx *ctx, const em_order *order, em_errinfo *err);

/* Say what failed; too little memory in terms of the option.  ctx may be NULL. */
void sort_report(const sort_options *so, em_status st, const em_errinfo *err);

#endif
