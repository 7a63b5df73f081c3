/* SPDX-License-Identifier: BSL-1.0 */
/*
 * reentry_case.h -- calls on an object while one is in progress (extmem/base.h).
 *
 * Whatever the library calls is made to call the object that is at work: an order's function, the progress function, a
 * cache's trace, the log, and the allocator, which must not call the library, and is refused all the same.  The work
 * must end as if nothing had happened.
 *
 *	ctx = reentry_ctx(0);
 *	reentry_begin(what_to_call, object);
 *	(work on the object)
 *	reentry_end(how_often_at_least);
 */
#ifndef EM_ABI_REENTRY_CASE_H
#define EM_ABI_REENTRY_CASE_H

#include <stdint.h>

#include <extmem.h>

#include "common/test.h"

#define MIB ((uint64_t)1 << 20)
#define B 4096u
#define N ((uint64_t)3000)

/* What to do with the object that is at work, and how often that was. */
typedef struct reentry {
	void (*call)(struct reentry *a);
	void *object;
	uint64_t times;
	int within;
	int locked;             /* the library may hold locks: nothing that tells is asked */
} reentry;

/* From here on whatever the library calls on this thread makes the call, until reentry_stop(). */
void reentry_begin(void (*call)(reentry *a), void *object);
void reentry_stop(void);
uint64_t reentry_times(void);
/* It stops, and the call was made, so often at least. */
void reentry_end(uint64_t least);

/* For functions that the library calls, and that are passed to it. */
void reentry_called(int locked);

/* A context on this thread, with memory and a log of its own, which make the call. */
em_ctx *reentry_ctx(uint32_t flags);
/* An order of 8 bytes by a function that makes the call. */
em_order *reentry_order(em_ctx *ctx);
int reentry_compare(const void *a, const void *b, void *user);
/* N records of 8 bytes: so many pairs of equal bytes, the last first. */
void reentry_records(unsigned char *records);

#endif
