/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_reader.h -- the directories of runs that are being merged, read in windows of one page per run.
 *
 * They are the hints of the prefetcher: emi_run_hint() is its emi_hint_fn.
 */
#ifndef EMI_RUN_READER_H
#define EMI_RUN_READER_H

#include "block/prefetch.h"
#include "sort/job.h"

typedef struct emi_run_cursor {
	emi_dir_page *page;     /* in memory */
	em_bid at;             /* where it came from */
	uint32_t entry;         /* next of the page */
	uint64_t blocks;        /* not yet told */
} emi_run_cursor;

typedef struct emi_run_reader {
	emi_job *job;
	uint32_t k;
	size_t block_bytes;     /* of the largest block */
	uint32_t disks;
	emi_run_cursor *cursor;
} emi_run_reader;

/* Read the first directory pages of k runs, whose blocks have at most block_bytes, all at once. */
em_status emi_run_reader_open(emi_run_reader *r, emi_job *job, const emi_run *runs, uint32_t k, size_t block_bytes,
			      em_errinfo *err);
void emi_run_reader_close(emi_run_reader *r);

/* arg is the emi_run_reader.  Pages that were used up are freed on the disk. */
em_status emi_run_hint(void *arg, uint32_t seq, emi_hint *hint, em_errinfo *err);

#endif
