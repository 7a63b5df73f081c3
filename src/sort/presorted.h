/* SPDX-License-Identifier: BSL-1.0 */
/*
 * presorted.h -- a file that is sorted already, as one input of a merge.
 *
 * Its records are handed out in windows of elements (kern/kern.h).  Those of one size are what the order's codec makes
 * of them, and if they are addresses, the records lie where they were read.  Of records of any length the value of an
 * element is the address of an emi_frame, whose string lies where the record was read, if there are no keys, and else
 * in an arena in which key and record stand together.  A window is valid until the next one is asked for: the merge
 * does that when it has used up all of it.
 */
#ifndef EMI_PRESORTED_H
#define EMI_PRESORTED_H

#include "sort/header.h"
#include "sort/job.h"
#include "sort/sorted_file.h"

/* What inputs of a merge have in common. */
typedef struct emi_presorted_opts {
	size_t chunk_bytes;     /* of each of two buffers */
	size_t window;          /* elements */
	size_t arena_bytes;     /* 0 without keys */
	uint64_t longest;       /* bytes of the longest frame, or of a record of one size */
} emi_presorted_opts;

typedef struct emi_presorted {
	emi_job *job;
	const emi_presorted_opts *opts;
	emi_sorted_file file;
	void *elem;             /* the window */
	emi_frame *frame;       /* any length: what its elements refer to */
	unsigned char *arena;
	size_t arena_bytes;
} emi_presorted;

/* Options for inputs with chunks of so many bytes; and the memory of one such input, but for long records. */
void emi_presorted_choose(const emi_job *job, size_t chunk_bytes, emi_presorted_opts *opts);
uint64_t emi_presorted_memory(const emi_job *job, const emi_presorted_opts *opts);

/* range: of a regular file only these bytes, whole records; then messages number them from its beginning.  NULL: all of
 * it.  path and opts must live as long.  After a failure nothing is held.  All zeroes need no closing. */
em_status emi_presorted_open(emi_presorted *p, emi_job *job, const char *path, const emi_extent *range,
			     const emi_presorted_opts *opts, em_errinfo *err);
void emi_presorted_close(emi_presorted *p);

/* Any length, before the first window: take the header, this being the file of that index. */
em_status emi_presorted_header(emi_presorted *p, emi_header *h, uint32_t file, em_errinfo *err);

/* The next window; at the end of the file it is empty, and the file is closed.  EM_ERR_FORMAT: a record with its key is
 * longer than the longest; and what emi_records_next() may return. */
em_status emi_presorted_next(emi_presorted *p, emi_window *win, em_errinfo *err);

#endif
