/* SPDX-License-Identifier: BSL-1.0 */
/*
 * shuffle_number.h -- the numbers by which records are sorted that are to be in random order.
 *
 * Record number i gets mix(mix(s + i * c) ^ t), s and t made of the seed and c odd.  Each step has an inverse, so no
 * two records get the same number, and what is sorted by it has no ties.  mix() is the finaliser of splitmix64 (Steele,
 * Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014); going through it twice, with t in
 * between, makes the sequences of two seeds something else than parts of one sequence.
 */
#ifndef EMI_SHUFFLE_NUMBER_H
#define EMI_SHUFFLE_NUMBER_H

#include <stdint.h>
#include <string.h>

#include "key/vary.h"

#define EMI_SHUFFLE_BYTES 8u
#define EMI_SHUFFLE_STEP UINT64_C(0x9e3779b97f4a7c15)

typedef struct emi_shuffle_numbers {
	uint64_t start, twist;
	uint64_t next;          /* the record whose turn it is */
} emi_shuffle_numbers;

static inline uint64_t emi_shuffle_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline void emi_shuffle_begin(emi_shuffle_numbers *n, uint64_t seed)
{
	n->start = emi_shuffle_mix(seed + EMI_SHUFFLE_STEP);
	n->twist = emi_shuffle_mix(n->start ^ UINT64_C(0xd1b54a32d192ed03));
	n->next = 0;
}

/* Put the next record's number somewhere, its most significant byte first: where the record follows. */
static inline unsigned char *emi_shuffle_put(emi_shuffle_numbers *n, unsigned char *to)
{
	const uint64_t turn = emi_shuffle_mix(n->start + n->next++ * EMI_SHUFFLE_STEP);
	const uint64_t x = emi_big_endian(emi_shuffle_mix(turn ^ n->twist));

	memcpy(to, &x, sizeof x);
	return to + sizeof x;
}

#endif
