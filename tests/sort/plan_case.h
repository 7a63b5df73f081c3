/* SPDX-License-Identifier: BSL-1.0 */
/* plan_case.h -- what the tests of plans share: random sorts, and what holds of every plan. */
#ifndef EM_PLAN_CASE_H
#define EM_PLAN_CASE_H

#include "sort/plan.h"
#include "sort/sort_model.h"

typedef struct planner {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	emi_plan_input in;
} planner;

void planner_open(planner *p);
void planner_close(planner *p);

/* A number whose magnitude is evenly spread over [lo, hi]. */
uint64_t planner_spread(test_rng *rng, uint64_t lo, uint64_t hi);

/* A random record, and what is to be done with it; nothing forced. */
void planner_random_input(planner *p);

/* What holds of every plan. */
void planner_assert_sound(const emi_plan *plan, const emi_plan_input *in);

#endif
