/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scan.h -- looking at records one after the other: are they in order, how many, which.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <stddef.h>

#include "cli/record_keys.h"

/* The leading bytes of the first key as a number that sorts as they do. */
typedef struct scan_prefix {
	size_t offset;
	size_t width;           /* 1..8 bytes */
	int big_endian;
	int is_float;
	uint64_t sign;          /* the sign bit of signed numbers, else 0 */
	uint64_t invert;        /* all ones when descending, else 0 */
	int exact;              /* it is the whole key */
} scan_prefix;

typedef struct scan {
	const em_order *order;  /* NULL: the order is not looked at */
	scan_prefix prefix;
	int unique;             /* equal keys count as out of order for what scan_records() returns */
	size_t record_size;
	unsigned char *last;    /* the record before, once there was one; owned */
	uint64_t records;       /* seen so far */
	uint64_t checksum;      /* the sum of their hashes, which does not depend on their order */
	uint64_t duplicates;    /* records with the key of the record before */
	uint64_t disorders;     /* records that should have come before the record before */
} scan;

/* Returns -1 when there is no memory.  order may be NULL. */
int scan_init(scan *s, const em_order *order, const key_options *keys);

/* Look at n more records.  Returns the first of them that is out of order, or n. */
size_t scan_records(scan *s, const unsigned char *p, size_t n);

void scan_free(scan *s);

/* The hash of one record, the same on all machines. */
uint64_t record_hash(const unsigned char *p, size_t bytes);

#endif
