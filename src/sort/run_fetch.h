/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_fetch.h -- the blocks of the runs that are merged, in one order of fetching for several merges.
 *
 * A merge after the other takes blocks of its runs from here: the prefetcher has them in memory, and the directories of
 * the runs tell it which ones are next.  Whoever knows which merge is the next one, and that its runs are on the disks,
 * says so while one is at hand.  When all that that needs is requested, blocks of the next one are: what they wait for
 * is buffers.
 *
 *   open, expect, turn, (expect, take and return all blocks, turn), ... close
 */
#ifndef EMI_RUN_FETCH_H
#define EMI_RUN_FETCH_H

#include "block/prefetch.h"
#include "sort/run_reader.h"

typedef struct emi_run_fetch_opts {
	uint32_t k;             /* runs of a merge, at most */
	uint32_t extra;         /* block buffers, beside one for each of these */
	uint32_t best;          /* ... that the order is the best one for: emi_prefetch_open() */
	size_t block_bytes;     /* of the largest block */
	int packs;              /* blocks may be packed */
	uint64_t scramble;      /* for tests: not 0 makes predictions wrong */
	int keeps;              /* runs stay, to be read again: nothing is freed on the disks */
} emi_run_fetch_opts;

typedef struct emi_run_fetch {
	emi_runs *runs;
	emi_run_reader reader;
	emi_prefetch blocks;    /* a run is a sequence, a merge a group of them */
} emi_run_fetch;

em_status emi_run_fetch_open(emi_run_fetch *f, emi_runs *runs, const emi_run_fetch_opts *opts, em_errinfo *err);
void emi_run_fetch_close(emi_run_fetch *f);

/* The merge after the one at hand has these k runs, all of them on the disks.  They stay where they are until it is at
 * hand. */
void emi_run_fetch_expect(emi_run_fetch *f, const emi_run *run, uint32_t k);

/* The merge at hand used all its blocks: the one that was expected is at hand now. */
em_status emi_run_fetch_turn(emi_run_fetch *f, em_errinfo *err);

/* A block of it was read: its place on the disks is free, unless runs stay.  It is what was written, or EM_ERR_CORRUPT;
 * then it is unpacked. */
em_status emi_run_fetch_admit(emi_run_fetch *f, emi_fetched *block, em_errinfo *err);

/* Buffers came back: request what there are buffers for. */
em_status emi_run_fetch_advance(emi_run_fetch *f, em_errinfo *err);

#endif
