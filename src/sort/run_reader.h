/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_reader.h -- the directories of runs that are being merged, read in windows of one page per run.
 *
 * They are the hints of the prefetcher: emi_run_hint() is its emi_hint_fn.  When all entries of a run were told, nobody
 * needs its page any more, and the first page of a run of the next merge is read into it.  So those are there by the
 * time that all runs have been told, and take no memory of their own.
 */
#ifndef EMI_RUN_READER_H
#define EMI_RUN_READER_H

#include "block/prefetch.h"
#include "sort/runs.h"

typedef struct emi_run_cursor {
	emi_dir_page *page;     /* in memory */
	em_bid at;             /* where it came from */
	uint32_t entry;         /* next of the page */
	uint64_t blocks;        /* not yet told */
	emi_request rq;         /* of its first page */
	int coming;             /* it is one of the next merge already */
} emi_run_cursor;

typedef struct emi_run_reader {
	emi_runs *runs;
	uint32_t room;          /* runs of a merge, at most */
	size_t block_bytes;     /* of the largest block */
	uint32_t disks;
	emi_run_cursor *cursor;
	char *pages;            /* of all of them, side by side */
	const emi_run *next;    /* the runs of the next merge; NULL: nobody told */
	uint32_t nnext;
	int keeps;              /* runs stay: pages are not freed */
	uint32_t arrived;       /* first pages of these, from the first on, that are known to be there */
} emi_run_reader;

/* For merges of up to k runs, whose blocks have at most block_bytes.  There are none yet. */
em_status emi_run_reader_open(emi_run_reader *r, emi_runs *runs, uint32_t k, size_t block_bytes, em_errinfo *err);
void emi_run_reader_close(emi_run_reader *r);

/* The next merge has these k runs, all of them on the disks: read their first pages, each as soon as there is a page of
 * memory for it.  They stay where they are until emi_run_reader_turn(). */
void emi_run_reader_expect(emi_run_reader *r, const emi_run *runs, uint32_t k);

/* Are there such runs, and would emi_run_reader_turn() not wait for them? */
int emi_run_reader_ready(emi_run_reader *r);

/* All blocks of the runs before were told: from now on those of the next merge are.  Waits for their pages.
 * EM_ERR_CORRUPT, and what reading or a tick fails with. */
em_status emi_run_reader_turn(emi_run_reader *r, em_errinfo *err);

/* arg is the emi_run_reader.  Pages that were used up are freed on the disk, unless runs stay. */
em_status emi_run_hint(void *arg, uint32_t seq, emi_hint *hint, em_errinfo *err);

#endif
