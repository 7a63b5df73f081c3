/* SPDX-License-Identifier: BSL-1.0 */
/*
 * flow_case.h -- what tests of streams share: a context whose memory is counted, a source that lends what it has in
 * batches of any size, and spoils them when the next one is asked for, and pulling all that a stream has.
 */
#ifndef FLOW_CASE_H
#define FLOW_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

typedef struct flow_case {
	test_memory mem;
	test_rng rng;
	em_ctx *ctx;
	em_errinfo err;         /* of what makes streams */
} flow_case;

/* A context with so many bytes, on disks in memory, that fails the given allocation (0: none). */
void flow_open(flow_case *t, uint64_t memory, uint64_t fail_at);
/* Close it: all memory was released. */
void flow_close(flow_case *t);

/* A source of the test's own. */
typedef struct feed {
	flow_case *t;
	const char *records;
	size_t record, n, at;   /* bytes; records; those that were lent */
	size_t most;            /* records of a batch: 1 to so many */
	size_t fail_at;         /* it fails in place of lending this record, from 0; SIZE_MAX: it does not */
	em_status failure;
	char *lent;             /* the last batch */
	int calls, closed;
} feed;

/* f is filled, and the stream made, if the context allows that: NULL otherwise. */
em_stream *feed_open(feed *f, flow_case *t, const void *records, size_t n, size_t record, size_t most);

/* Everything that is left of a stream, by batches and its cursor in turn, for free(); how it ended is *status.  limit:
 * stop after about so many records. */
void *flow_drain(flow_case *t, em_stream *s, size_t limit, size_t *n, em_status *status);

/* The stream has these records, and then ends; it is closed. */
void flow_assert(flow_case *t, em_stream *s, const void *records, size_t n);

/* n numbers below a bound, for free(); sorted if asked to. */
uint64_t *flow_numbers(flow_case *t, size_t n, uint64_t below, int sorted);

/* An order by a number of 8 bytes at the beginning of records.  No allocation of it fails, or is counted for that. */
em_order *flow_order(flow_case *t, size_t record);

#endif
