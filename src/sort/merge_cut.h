/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_cut.h -- looking ahead in a run's front block, and cutting it at a bound.
 *
 * What a merge has to know about how records lie in blocks: there is one of these for records of one size and one for
 * records of any length.
 */
#ifndef EMI_MERGE_CUT_H
#define EMI_MERGE_CUT_H

#include "block/prefetch.h"
#include "key/collation.h"

/* One run: its front block, and what is behind it. */
typedef struct emi_merge_input {
	emi_fetched *block;     /* NULL: none in hand that was fetched */
	const char *base;       /* any length: the block in hand */
	const char *at;         /* next record in it */
	size_t left;            /* bytes of records from there */
	uint64_t behind;        /* blocks not yet in hand, ... */
	uint64_t rest;          /* ... and bytes of records or frames in them */
	uint64_t out;           /* any length: output bytes before `at' in the block */
	uint32_t out_extra;     /* any length: output bytes of each record beside its own */
	int damaged;            /* any length: something was found in it that cannot be; what was cut then means
	                           nothing */
} emi_merge_input;

/* Records of one run, one behind the other. */
typedef struct emi_slice {
	const char *first;
	size_t bytes;
	uint64_t out;           /* any length: their output bytes */
	const unsigned char *before; /* the record before `first', once some were taken; NULL: none.  For offset-value
	                                codes */
	const emi_fetched *block; /* that they came in from a disk, or NULL */
} emi_slice;

/* Where a cut is made: right behind this record. */
typedef struct emi_bound {
	const char *record;     /* NULL: no bound, everything in hand is before it */
	uint64_t key;
	uint64_t val;           /* for ties */
	uint32_t run;
} emi_bound;

typedef struct emi_cutter {
	/* A block came: set at, left and out, unless what is in it cannot be a block: 0.  A record that the functions
	 * below
	 * give, and the one that the input is at afterwards, is where it should be, or the input is damaged. */
	int (*begin)(const emi_collation *by, emi_merge_input *in);
	/* A record that begins at most s bytes behind the front one, or that itself; the last of the block when that
	 * is nearer.  There is one. */
	const char *(*ahead)(const emi_collation *by, emi_merge_input *in, size_t s);
	/* The next records of run i up to the bound and not behind `last', which ahead() gave.  The front one is. */
	emi_slice (*cut)(const emi_collation *by, emi_merge_input *in, uint32_t i, const emi_bound *b,
			 const char *last);
	/* All records that are left in the block. */
	emi_slice (*rest)(const emi_collation *by, const emi_merge_input *in);
} emi_cutter;

extern const emi_cutter emi_cut_fixed, emi_cut_vary;

/* Does record a of run i come before the bound, or is it up to it? */
static inline int emi_is_before(const emi_collation *by, const char *a, uint32_t i, const emi_bound *b)
{
	const int c = emi_collation_compare_to(by, a, b->key, b->val);

	return c != 0 ? c < 0 : i <= b->run;
}

#endif
