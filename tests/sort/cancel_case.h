/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cancel_case.h -- work whose context is canceled at a moment of choice.
 *
 * What is counted are the calls that the library makes of what it was given: its backend and its allocator, and
 * progress functions, which cancel_event() is to be called by.  Whatever is canceled when, its calls return
 * EM_ERR_CANCELED, or it was done already; memory and descriptors are back, and no file is left behind.
 */
#ifndef EM_CANCEL_CASE_H
#define EM_CANCEL_CASE_H

#include <extmem.h>

#include "sort/sort_model.h"

/* What work finds: a directory with a file of records to sort, one that is sorted, and one of lines. */
typedef struct cancel_place {
	char *dir, *in, *sorted, *lines, *out;
	unsigned char *records;
	uint64_t n;
	sort_shape shape;
} cancel_place;

/* Open what is needed in ctx, work, close it: the status of the first call that failed, or EM_OK.  Only `out' may be
 * left behind, and only with EM_OK. */
typedef em_status (*cancel_work)(em_ctx *ctx, const cancel_place *p);

/* How to cancel. */
enum { CANCEL_BEFORE, CANCEL_AT, CANCEL_SIGNAL, CANCEL_THREAD };

typedef struct cancel_how {
	int how;
	const char *backend;
	uint64_t at;            /* CANCEL_AT, _SIGNAL: at this event, from 1; 0: never.  CANCEL_THREAD: after so many
	                           us */
	unsigned nap_us;        /* each transfer takes so much longer */
} cancel_how;

cancel_place cancel_place_make(uint64_t n);
void cancel_place_free(cancel_place *p);

/* Something happened; how often so far. */
void cancel_event(void);
uint64_t cancel_events(void);

/* An order of p->shape, or of lines, which is NULL when it fails. */
em_status cancel_order(em_order **out, em_ctx *ctx, const cancel_place *p);
em_status cancel_lines(em_order **out, em_ctx *ctx);

/* Run it, look at what must hold, and tell what it returned; *events: how many there were. */
em_status cancel_run(cancel_work work, const cancel_place *p, const cancel_how *how, uint64_t *events);

/* Before it begins; at each event, or at about so many of them, where there are more; by a signal; and by another
 * thread. */
void cancel_everywhere(const char *name, cancel_work work, const cancel_place *p, const char *backend,
		       uint64_t times);

#endif
