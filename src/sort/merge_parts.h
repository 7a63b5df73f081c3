/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_parts.h -- merging sorted files to the output with several threads, each of which merges a part of the range of keys.
 */
#ifndef EMI_MERGE_PARTS_H
#define EMI_MERGE_PARTS_H

#include "sort/copier.h"
#include "sort/presorted.h"

/* How it is done. */
typedef struct emi_parts_opts {
	uint32_t parts;         /* 2 to EMI_SPLIT_MOST */
	size_t copier_bytes;    /* of each buffer for the output */
	emi_presorted_opts input; /* of each input of each part */
} emi_parts_opts;

/* Memory that parts of so many inputs take, but for that of what they read, which is emi_presorted_memory() for each input of each. */
uint64_t emi_merge_parts_memory(const emi_job *job, uint32_t files, uint32_t parts);

/* Merge regular files, records of one size or with delimiters, without a header, to the beginning of a sink that is a regular file, on all threads.  A record
 * that cannot be read is told with a wrong number.  EM_END: the files cannot be divided (merge_split.h), and nothing was done. */
em_status emi_merge_parts(emi_job *job, emi_sink *sink, const char *const *paths, uint32_t files, const emi_parts_opts *opts,
			  em_errinfo *err);

#endif
