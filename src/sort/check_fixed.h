/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_fixed.h -- looking whether records of one size are in order, a chunk of them at a time, by all threads.
 *
 * Each thread has a part of the chunk, turns it piece by piece into elements (kern/kern.h), as a sort does, and
 * compares neighbours: by their keys, and by the order's function for ties only if those are equal.  The record before
 * its part it has from the one before, that before a chunk is kept here.
 */
#ifndef EMI_CHECK_FIXED_H
#define EMI_CHECK_FIXED_H

#include "key/collation.h"
#include "sort/watch.h"

/* What was found in some records. */
typedef struct emi_check_found {
	uint64_t checksum;      /* sum of their hashes (sort/record_hash.h) */
	uint64_t duplicates;    /* of the record before */
	uint64_t disorders;
	size_t first;           /* the first of those, if there are any */
} emi_check_found;

typedef struct emi_check_fixed {
	em_ctx *ctx;
	emi_collation by;
	int unique;             /* equal neighbours are out of order, too */
	uint32_t threads;       /* 1: nobody was started yet, or nobody can be */
	int asked;              /* for more threads, once */
	size_t piece;           /* elements that are looked at at a time, and one more before them */
	unsigned char *elem;    /* of each thread */
	unsigned char *before;  /* the record before the next chunk ... */
	int has_before;         /* ... if there is one */
	/* the chunk at hand */
	const unsigned char *records;
	size_t n;
	uint32_t parts;
	emi_check_found *found; /* in each part */
} emi_check_fixed;

/* All zeroes need no closing.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_check_fixed_open(emi_check_fixed *c, em_ctx *ctx, const em_order *order, int unique, emi_watch *watch,
			       em_errinfo *err);
void emi_check_fixed_close(emi_check_fixed *c);

/* Look at the next n records, n > 0.  first: only up to the first that is out of order.  EM_ERR_USER: a function of the
 * order failed. */
em_status emi_check_fixed_chunk(emi_check_fixed *c, const unsigned char *records, size_t n, int first,
				emi_check_found *found, em_errinfo *err);

#endif
