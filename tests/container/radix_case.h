/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_case.h -- a radix heap and what should be in it, for tests of radix heaps.
 *
 * The model is a binary heap of keys.  Where a record has room for it, beside the key it has the number of the push, by
 * which the model knows whether it is there, and bytes that follow from that number.
 */
#ifndef EM_RADIX_CASE_H
#define EM_RADIX_CASE_H

#include <extmem/radix_heap.h>

#include "block/fixture.h"

typedef struct radix_case {
	fixture f;
	em_radix_heap_opts opts;
	em_radix_heap *h;
	em_errinfo err;
	/* the model */
	uint64_t *keys;         /* a heap, the least first */
	uint64_t n, room;
	uint64_t last;          /* the last minimum */
	uint64_t most;          /* C */
	uint64_t key_most;      /* the largest key that there is */
	unsigned width;         /* of a key */
	uint64_t *key_of;       /* by the number of the push; */
	unsigned char *there;   /* that record is in the heap */
	uint64_t pushes, pushes_most;
	char *buf;              /* room for RADIX_MANY records */
} radix_case;

enum { RADIX_MANY = 600 };

/* A context, and room for so many pushes. */
void radix_case_open(radix_case *t, const em_backend *backend, uint64_t record, uint64_t pushes);

/* The same with flags of the context. */
void radix_case_open_with(radix_case *t, const em_backend *backend, uint64_t record, uint64_t pushes, uint32_t flags);

/* The heap, as t->opts say; with memory_bytes UINT64_MAX it gets the least. */
void radix_case_make(radix_case *t);

/* The least memory for t->opts. */
uint64_t radix_case_least(radix_case *t);

/* Write a record with a key into t->buf, as the i-th; it has the number of the i-th push from now. */
void radix_case_record(radix_case *t, uint64_t i, uint64_t key);

/* Push n records from t->buf, by one call; they all enter. */
void radix_case_push(radix_case *t, uint64_t n);

/* The first n records of t->buf have entered. */
void radix_case_entered(radix_case *t, uint64_t n);

/* A record has come out, which is right: it is in the model no longer. */
void radix_case_came(radix_case *t, const char *record);

/* Pop up to n records and compare. */
void radix_case_pop(radix_case *t, uint64_t n);

/* Look at the top and compare. */
void radix_case_top(radix_case *t);

/* Pop all. */
void radix_case_drain(radix_case *t);

/* A key that may be pushed, of one of several distributions. */
uint64_t radix_case_key(radix_case *t, unsigned shape);

em_radix_heap_stats radix_case_stats(const radix_case *t);

/* Close it: then all blocks of the disk are given back. */
void radix_case_close(radix_case *t);

/* It succeeded, or the test fails with the detail. */
#define assert_radix_ok(t, call) radix_case_ok(t, call, __LINE__)
void radix_case_ok(radix_case *t, em_status st, int line);

#endif
