/* SPDX-License-Identifier: BSL-1.0 */
/*
 * flow_sink.h -- what all sinks have in common, and how they are made.
 *
 * A kind of sink is a struct that begins with em_sink, and an emi_sink_kind.  The public calls are the same for all:
 * they check arguments, keep failures, and count.
 */
#ifndef EMI_FLOW_SINK_H
#define EMI_FLOW_SINK_H

#include <extmem/sink.h>

#include "base/object.h"

typedef struct emi_sink_kind {
	/* Take n > 0 records; *taken: how many were, also after a failure. */
	em_status (*push)(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err);
	em_status (*finish)(em_sink *k, em_errinfo *err); /* NULL: there is nothing to do */
	void (*close)(em_sink *k); /* give back what it has; NULL: nothing */
} emi_sink_kind;

struct em_sink {
	emi_object object;
	const emi_sink_kind *kind;
	size_t record;          /* bytes; 0: any length */
	/* Of any length: take the records of a batch, one or more; *taken: how many were, also after a failure. */
	em_status (*push_lines)(em_sink *k, const em_batch *batch, size_t *taken, em_errinfo *err);
	size_t bytes;           /* of the struct */
	uint64_t n;             /* records taken */
	uint64_t claim;         /* bytes that it takes from the first push on, beside its container (graph.h) */
	int finished;
	int mild;               /* what its functions fail with now changed nothing, and is not final */
	em_status status;       /* a failure stays ... */
	em_errinfo failure;     /* ... and its detail */
};

/* What a function that makes one begins with: no detail, *out is NULL.  EM_ERR_INVAL: out is NULL. */
em_status emi_sink_begin(em_sink **out, em_errinfo *err);

/* A struct of so many zeroed bytes.  NULL, with err filled. */
em_sink *emi_sink_new(em_ctx *ctx, size_t bytes, const emi_sink_kind *kind, uint64_t record_bytes, em_errinfo *err);

/* A call on it has begun: push. */
em_status emi_sink_take(em_sink *k, const void *records, size_t n, em_errinfo *err);

/* The same of records of any length. */
em_status emi_sink_take_lines(em_sink *k, const em_batch *batch, em_errinfo *err);

#endif
