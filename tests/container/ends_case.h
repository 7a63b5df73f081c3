/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ends_case.h -- a stack, a queue or a deque and what should be in it, for tests that are the same for all three.
 *
 * Records are in an array from front to back.  Each call chooses by itself whether it goes by the container's functions
 * or, of single records, by its window.
 */
#ifndef EM_ENDS_CASE_H
#define EM_ENDS_CASE_H

#include <extmem/deque.h>
#include <extmem/queue.h>
#include <extmem/stack.h>

#include "block/fixture.h"
#include "container/ends.h"

typedef struct ends_case {
	fixture f;
	emi_ends_kind kind;
	em_container_opts opts;
	void *object;           /* an em_stack, em_queue or em_deque */
	em_errinfo err;
	/* the model: records [from, from + n) of an array of `room' */
	unsigned char *is;
	uint64_t from, n, room;
	char *buf;              /* room for as many */
} ends_case;

/* A context on some disks of a backend, and room for a model of so many records; blocks of 4 KiB, `hold' of them at the
 * ends, one to write, one to prefetch, and two of a cache. */
void ends_case_open(ends_case *t, emi_ends_kind kind, const em_backend *backend, uint32_t disks, uint64_t record,
		    uint64_t room, uint32_t hold);

/* Open the container as t->opts say; and close it. */
em_status ends_case_try(ends_case *t);
void ends_case_make(ends_case *t);
void ends_case_drop(ends_case *t);

/* May records enter there, and leave? */
int ends_case_pushes(const ends_case *t, emi_end end);
int ends_case_pops(const ends_case *t, emi_end end);

/* Push or pop n records, with checks of what they are and how many; any status is let through, and the model
 * follows. */
em_status ends_case_push(ends_case *t, emi_end end, uint64_t n);
em_status ends_case_pop(ends_case *t, emi_end end, uint64_t n);
em_status ends_case_peek(ends_case *t, emi_end end);

/* Pop all, in small and large parts. */
void ends_case_drain(ends_case *t, emi_end end);

em_status ends_case_clear(ends_case *t);
uint64_t ends_case_size(const ends_case *t);
uint64_t ends_case_memory(const ends_case *t, uint64_t records);
em_status ends_case_prefetch(ends_case *t, uint32_t blocks);
em_container_stats ends_case_stats(const ends_case *t);
void ends_case_error(const ends_case *t, em_errinfo *err);

/* Close it: then all blocks of the disks are given back. */
void ends_case_close(ends_case *t);

/* It succeeded, or the test fails with the detail. */
#define assert_ends_ok(t, call) ends_case_ok(t, call, __LINE__)
void ends_case_ok(ends_case *t, em_status st, int line);

#endif
