/* SPDX-License-Identifier: BSL-1.0 */
/*
 * tags.h -- counting and scattering of records whose classes are known already.
 *
 * What histogram() and scatter() of kern.h do by a digit of the key, for records that have none: a tag tells the class
 * of each.
 */
#ifndef EMI_TAGS_H
#define EMI_TAGS_H

#include "kern/kern.h"

/* Count the records of each class; adds to count[]. */
void emi_count_tags(const uint16_t *tag, size_t n, size_t *count);

/* Move every record to dst[pos[its tag]++], in input order.  Tags are less than 2^bits, bits at most
 * EMI_MAX_RADIX_BITS.  dst, which is the beginning of an array, does not overlap a.  work: EMI_KERN_WORK bytes. */
void emi_scatter_tags(const void *a, const uint16_t *tag, size_t n, size_t record_bytes, unsigned bits, void *dst,
		      size_t *pos, void *work);

#endif
