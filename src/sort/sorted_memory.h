/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorted_memory.h -- sorted records in memory, as a source (sorted_source.h): one window, lent as it is.
 */
#ifndef EMI_SORTED_MEMORY_H
#define EMI_SORTED_MEMORY_H

#include "sort/sorted_source.h"

typedef struct emi_sorted_memory {
	emi_sorted_source source;
} emi_sorted_memory;

/* n records of record_bytes, at any address, which stay there and unchanged until they were taken.  They are the
 * caller's.  With n = 0 they may be NULL. */
void emi_sorted_memory_open(emi_sorted_memory *m, const void *records, size_t n, size_t record_bytes);

#endif
