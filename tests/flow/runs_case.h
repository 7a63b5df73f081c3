/* SPDX-License-Identifier: BSL-1.0 */
/* runs_case.h -- what tests of runs that stay share: records, and ways to give them. */
#ifndef RUNS_CASE_H
#define RUNS_CASE_H

#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)

/* A key, and what tells equal records apart. */
typedef struct pair {
	uint64_t key, val;
} pair;

/* n records with keys below a bound, numbered in their order, for free(). */
pair *runs_pairs(flow_case *t, size_t n, uint64_t below);

/* A copy, sorted by keys and numbers, for free(). */
pair *runs_sorted(const pair *p, size_t n);

/* A call on runs was EM_OK; or the test fails with the detail. */
void runs_assert(em_runs *r, em_status st);

em_runs *runs_open(flow_case *t, em_order *order, const em_sort_opts *form, em_reduce_fn combine);
em_stream *runs_merge(flow_case *t, em_runs *r, const em_runs_merge_opts *o);

/* Give records in pieces: pushed, fed from a stream, or, where they are sorted, appended. */
void runs_give(flow_case *t, em_runs *r, const pair *p, size_t n, int sorted);

/* A function that combines: the number becomes the sum.  user: an int, how many calls succeed; or NULL: all. */
int runs_add(void *user, void *sum, const void *records, size_t n);

/* The same in memory: returns how many are left. */
size_t runs_combined(pair *y, size_t n);

#endif
