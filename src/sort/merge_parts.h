/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_parts.h -- merging sorted files to the output with several threads, each of which merges parts of the range of
 * keys.
 *
 * Where all records come out, the place of a part in the output is known: there are as many parts as threads, and each
 * writes its own.  Where of equal records one comes out, or a group, there are more and smaller parts: a thread holds
 * what comes out of one until those before it are written.
 */
#ifndef EMI_MERGE_PARTS_H
#define EMI_MERGE_PARTS_H

#include "sort/copier.h"
#include "sort/groups.h"
#include "sort/presorted.h"

/* How it is done. */
typedef struct emi_parts_opts {
	uint32_t threads;       /* 2 to EMI_SPLIT_FEW */
	uint32_t parts;         /* as many, or, where they take turns, up to EMI_SPLIT_MOST */
	emi_copier *turns;      /* not NULL: what comes out goes there, one part behind the other */
	const emi_group_opts *groups; /* or NULL */
	size_t copier_bytes;    /* of each buffer of a thread for the output */
	emi_presorted_opts input; /* of each input of each part */
} emi_parts_opts;

/* Memory that parts of so many inputs take, but for what is read, which is emi_presorted_memory() for each input and
 * thread, and copiers. */
uint64_t emi_merge_parts_memory(const emi_job *job, uint32_t files, uint32_t threads, uint32_t parts);

/* Merge regular files, records of one size or with delimiters, without a header, to the beginning of a sink that is a
 * regular file, or to the copier, which the caller flushes, on all threads.  A record that cannot be
 * read is told with a wrong number.  EM_END: the files cannot be divided (merge_split.h), and nothing was done. */
em_status emi_merge_parts(emi_job *job, emi_sink *sink, const char *const *paths, uint32_t files,
			  const emi_parts_opts *opts, em_errinfo *err);

#endif
