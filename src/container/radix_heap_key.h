/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_key.h -- the key of a record of a radix heap, as an unsigned number of 64 bits.
 *
 * Bits of floats that are not negative are numbers in the same order.  The zero that is negative counts as the other
 * one.  What else has a sign, or is no number, is no key.
 */
#ifndef EMI_RADIX_HEAP_KEY_H
#define EMI_RADIX_HEAP_KEY_H

#include "key/normalise.h"

typedef struct emi_radix_key {
	size_t offset;          /* in the record */
	unsigned width;
	int swap;               /* its byte order is not this machine's */
	uint64_t sign;          /* of a float: that bit; else 0 */
	uint64_t last;          /* the largest that there is: infinity of floats */
} emi_radix_key;

EMI_INLINE uint64_t emi_radix_key_of(const emi_radix_key *k, const char *record)
{
	const uint64_t v = emi_get((const unsigned char *)record + k->offset, k->width, k->swap);

	return v != k->sign ? v : 0;
}

#endif
