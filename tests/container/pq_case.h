/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_case.h -- a priority queue and what should be in it, for tests of priority queues.
 *
 * The model is a binary heap of values and the numbers of their pushes.  A record of any kind has a key that is made of
 * a value, and comes in the order of values.  Where there is room for it, beside the key it has the number of its push,
 * by which the model knows whether it is there, and bytes that follow from that number.
 */
#ifndef EM_PQ_CASE_H
#define EM_PQ_CASE_H

#include <extmem/pq.h>

#include "block/fixture.h"

typedef struct pq_kind {
	const char *name;
	uint32_t bytes;         /* of a record */
	uint32_t at;            /* where the key is */
	uint32_t width;         /* of the key: 1, 2, 4 or 8 bytes; 0: all of a record of 16 bytes */
	int32_t type;           /* EM_KEY_..., ... */
	uint32_t flags;
	int function;           /* ... or 1: compared by a function, 2: a function computes its key, 3: by kernels */
} pq_kind;

extern const pq_kind pq_kinds[];
extern const unsigned pq_kinds_n;

typedef struct pq_entry {
	uint64_t value, number;
} pq_entry;

typedef struct pq_case {
	fixture f;
	const pq_kind *kind;
	em_pq_opts opts;
	em_order *order;
	em_pq *q;
	em_errinfo err;
	int stable;
	int fails;              /* the function of the order does */
	/* the model */
	pq_entry *heap;
	uint64_t n, room;
	unsigned char *there;   /* by the number of the push: it is in the queue */
	uint64_t pushes;
	char *buf;              /* room for PQ_MANY records */
} pq_case;

enum { PQ_MANY = 700 };

/* A context, an order of this kind, and room for so many pushes. */
void pq_case_open(pq_case *t, const em_backend *backend, const pq_kind *kind, int stable, uint64_t pushes);

/* The order anew, of what is t->f.ctx now. */
void pq_case_make_order(pq_case *t);

/* The queue, as t->opts say; with memory_bytes UINT64_MAX it gets the least. */
void pq_case_make(pq_case *t);

/* The least memory for t->opts. */
uint64_t pq_case_least(pq_case *t);

/* The largest value that the key can have. */
uint64_t pq_case_most(const pq_case *t);

/* Write a record with a value into t->buf, as the i-th; it has the number of the i-th push from now. */
void pq_case_record(pq_case *t, uint64_t i, uint64_t value);

/* The first n records of t->buf have entered. */
void pq_case_entered(pq_case *t, uint64_t n);

/* A record has come out, which is right. */
void pq_case_came(pq_case *t, const char *record);

/* The first value of the model, of one or more. */
uint64_t pq_case_first(pq_case *t);

/* A value of one of several distributions. */
uint64_t pq_case_value(pq_case *t, unsigned shape);
enum { PQ_SHAPES = 8 };

/* The same by calls that succeed: push n records from t->buf, pop up to n records, look at the top, pop all. */
void pq_case_push(pq_case *t, uint64_t n);
void pq_case_pop(pq_case *t, uint64_t n);
void pq_case_top(pq_case *t);
void pq_case_drain(pq_case *t);

em_pq_stats pq_case_stats(const pq_case *t);

/* Close it: then all blocks of the disk are given back. */
void pq_case_close(pq_case *t);

/* It succeeded, or the test fails with the detail. */
#define assert_pq_ok(t, call) pq_case_ok(t, call, __LINE__)
void pq_case_ok(pq_case *t, em_status st, int line);

#endif
