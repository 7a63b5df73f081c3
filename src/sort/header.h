/* SPDX-License-Identifier: BSL-1.0 */
/*
 * header.h -- the records at the beginning of each file that are no part of what is sorted.
 *
 * Those of the first file that has any go to the front of the output.  Those of the others are left out.  If they are
 * not the same there is a warning in the log: they may be data of a file that has no header.
 */
#ifndef EMI_HEADER_H
#define EMI_HEADER_H

#include <extmem/format.h>

#include "base/context.h"

typedef struct emi_header {
	em_ctx *ctx;
	const em_format *format;
	const char *const *paths;
	uint64_t records;       /* of each file */
	/* Where those go that are written, with their delimiters or prefixes. */
	em_status (*to)(void *arg, const void *data, size_t bytes, em_errinfo *err);
	void *arg;
	int begun;              /* there was a file */
	uint32_t first;         /* index of the first one ... */
	uint64_t first_hash;    /* ... and a hash of its header */
	uint32_t file;          /* the one at hand, ... */
	uint64_t left;          /* ... what is still to come of its header, ... */
	uint64_t hash;          /* ... and a hash of what came */
} emi_header;

/* Take what of a header is at the beginning of [*at, end), whole records of a file, and say how many these are.  What
 * follows of a file is to come before other files, and files in their order.  Of records of one size, and without a
 * header, there is nothing to take: all zeroes will do. */
em_status emi_header_take(emi_header *h, uint32_t file, const unsigned char **at, const unsigned char *end,
			  uint64_t *records, em_errinfo *err);

#endif
