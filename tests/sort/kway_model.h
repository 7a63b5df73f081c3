/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kway_model.h -- what the tests of sorted sources share: orders of all kinds, sorted records, what merging them gives,
 * and a source that lends little at a time and takes away what it lent.
 */
#ifndef EM_KWAY_MODEL_H
#define EM_KWAY_MODEL_H

#include <extmem.h>

#include "common/test.h"
#include "key/collation.h"
#include "sort/sorted_source.h"

/* Orders: by keys, functions and kernels of their own; records of 1 to 100 bytes. */
extern const size_t kway_orders;

/* The calls of an order's function. */
typedef struct kway_calls {
	size_t which;
	uint64_t n;             /* so far; ... */
	uint64_t fail_at;       /* ... this one fails; 0: none */
} kway_calls;

/* calls must live as long. */
em_order *kway_order(em_ctx *ctx, size_t which, kway_calls *calls);
size_t kway_bytes(size_t which);
int kway_compare(size_t which, const void *a, const void *b);

/* n sorted records, for free(); never NULL.  few: of so many different keys; 0: of any number. */
unsigned char *kway_records(test_rng *rng, size_t which, size_t n, size_t few);

/* What a source has, and what of it is still to come. */
typedef struct kway_part {
	const unsigned char *records;
	size_t n, at;
	uint64_t rank;
	uint64_t number;        /* in the order of adding */
	int live;
} kway_part;

/* The one that the next record is of, or NULL. */
kway_part *kway_next_part(size_t which, kway_part *part, size_t n);

/* A source of n records that lends up to `most' at a time, at odd addresses or not, in memory that is gone with the
 * next window.  fail_at: the window that fails with EM_ERR_IO, counted from 1; 0: none. */
typedef struct kway_pieces {
	emi_sorted_source source;
	test_rng *rng;
	const unsigned char *records;
	size_t n, at, bytes, most;
	int odd;
	unsigned char *lent;
	uint64_t windows, fail_at;
} kway_pieces;

void kway_pieces_open(kway_pieces *p, test_rng *rng, const unsigned char *records, size_t n, size_t bytes, size_t most,
		      int odd);

#endif
