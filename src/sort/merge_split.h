/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_split.h -- dividing a merge of sorted files into parts of about the same size that may be merged at the same
 * time.
 *
 * Between parts stand splitters, records of the files.  Of every file, what is not greater than a splitter comes before
 * it, so equal records are in one part, and parts one behind the other are what the merge of the whole files is.  If
 * files are not in order, still each of their records is in exactly one part.
 */
#ifndef EMI_MERGE_SPLIT_H
#define EMI_MERGE_SPLIT_H

#include "sort/job.h"

/* So many bytes of a file are worth the search for where to cut it, and so many of all files a part. */
#define EMI_SPLIT_FILE ((uint64_t)128 << 10)
#define EMI_SPLIT_PART ((uint64_t)2 << 20)
#define EMI_SPLIT_FEW 16u       /* parts of which each has its thread */
#define EMI_SPLIT_MOST 1024u    /* parts */
#define EMI_SPLIT_SAMPLE ((uint64_t)4096) /* bytes of memory that the search takes for each of many parts */

typedef struct emi_merge_split {
	em_ctx *ctx;
	uint32_t files;
	uint32_t parts;
	emi_extent *range;      /* of part p and file f: [p * files + f] */
	uint64_t *begin;        /* of each part in the output; begin[parts] is where that ends */
} emi_merge_split;

/* For records of one size or with delimiters, no header.  EM_END: these files cannot be divided, as one is no regular
 * file or has a record that is too long, or memory is too small: to merge them as a whole will tell.  EM_ERR_FORK,
 * EM_ERR_CANCELED, EM_ERR_NOMEM and what opening and reading may return.  Unless it is EM_OK nothing is held. */
em_status emi_merge_split_make(emi_merge_split *s, emi_job *job, const char *const *paths, uint32_t files,
			       uint32_t parts, em_errinfo *err);
/* All zeroes need no freeing. */
void emi_merge_split_free(emi_merge_split *s);

#endif
