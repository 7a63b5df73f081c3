/* SPDX-License-Identifier: BSL-1.0 */
/*
 * node_cases.h -- every node, and what is to come of it.
 *
 * A case makes a node of one or two streams of numbers, and its model makes the numbers that are to come.
 */
#ifndef NODE_CASES_H
#define NODE_CASES_H

#include "flow/flow_case.h"

#define NODE_MOST 300u          /* records of an input */
#define NODE_ROOM (NODE_MOST * NODE_MOST * 2 + 4 * NODE_MOST) /* numbers that come of two */

typedef struct node_input {
	const uint64_t *x;
	size_t n;
} node_input;

typedef struct node_case {
	const char *name;
	unsigned inputs;
	int sorted;             /* they are */
	em_status (*make)(flow_case *t, em_stream **out, em_stream *const *in);
	size_t (*model)(const node_input *a, const node_input *b, uint64_t *to); /* returns numbers */
	int calls;              /* it calls functions of the test */
} node_case;

extern const node_case node_cases[];
extern const size_t node_cases_n;

/* Calls of functions of the test, and the one that fails, from 1; 0: none. */
extern uint64_t node_calls, node_fail_call;

#endif
