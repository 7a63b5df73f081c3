/* SPDX-License-Identifier: BSL-1.0 */
/* tee.h -- what a tee is made of: its stem and its outputs; see tee.c. */
#ifndef EMI_FLOW_TEE_H
#define EMI_FLOW_TEE_H

#include <extmem/queue.h>

#include "flow/lines.h"

typedef struct emi_tee_output emi_tee_output;

/* The stem.  It has one input. */
typedef struct emi_tee {
	em_stream s;
	uint32_t outputs;       /* that are not over */
	int reading;            /* the input is at work */
	uint32_t n;
	emi_tee_output **output; /* n; NULL: it is closed */
	size_t unit;            /* bytes of what queues have: records of one size, or single bytes */
	uint64_t most;          /* bytes that a queue may have; UINT64_MAX: any number */
	em_container_opts queue; /* how queues are made */
	em_status status;       /* how the input ended */
	em_errinfo failure;
	uint32_t to_come;       /* outputs that a walk (paths.c) is still to pass; 0: none is under way */
} emi_tee;

/* How a walk came to an output. */
typedef struct emi_tee_path {
	const void *from;       /* of what the path is the only one: an input of the new node, or a tee above; NULL: it
	                           was not reached */
	unsigned flags;         /* EMI_STREAM_... of nodes on it */
} emi_tee_path;

struct emi_tee_output {
	em_stream s;
	emi_tee *stem;          /* NULL: it has no more to do with it */
	uint32_t i;
	em_queue *queue;        /* NULL: it was never behind */
	uint64_t chunks;        /* of records of any length: those that are whole in the queue */
	emi_lines_made *lines;  /* what it lends, of records of any length; NULL: not yet */
	emi_tee_path path;
};

#endif
