/* SPDX-License-Identifier: BSL-1.0 */
/*
 * runs.h -- runs that belong together: of what order they are, where they are, and which there are.
 *
 * Whoever writes runs, or reads them, needs no more than this: a sort has it (job.h), and so may a data structure that
 * never sorts.  A run is made by a writer (run_writer.h), or by appending records to it (run_append.h).  It is merged
 * by the engine (merge.h), or with memory of the merge's own (run_merge.h).  What it is stands in run.h.
 *
 * Runs are a user of the scratch disks of their own, who accounts for the blocks: others may have the same disks, and
 * for long after these runs, which may not all have been read.  Disks are opened when the first block is written.
 */
#ifndef EMI_RUNS_H
#define EMI_RUNS_H

#include "key/collation.h"
#include "sort/run.h"
#include "sort/run_memory.h"
#include "sort/watch.h"

typedef struct emi_runs {
	em_ctx *ctx;
	const emi_collation *by; /* what they are sorted by */
	emi_io_stats *io;       /* counters of their transfers */
	emi_watch *watch;       /* of waiting for them; NULL: nobody watches */
	emi_disk *scratch;      /* NULL until a run is written */
	emi_run_memory memory;  /* blocks that are not written; all zeroes: there is none for them */
	uint64_t slack;         /* bytes that gaps may have on the disks together, if no block fits in any; 0: any
	                           number */
	uint64_t expected;      /* bytes that runs are going to take on them, or 0 */
	uint32_t place;         /* EM_PLACE_RUNS_... */
	uint32_t compress;      /* EM_COMPRESS_...: when a block is packed */
	emi_run *run;           /* the runs that there are, in the order of their records where these are equal */
	uint64_t n;
	uint64_t room;
	/* figures, which stay when all else is given back */
	uint64_t packed_from;   /* bytes of blocks that were packed, ... */
	uint64_t packed_to;     /* ... and what they became */
	uint64_t peak;          /* of the disks, once they are left: emi_disk_peak() ... */
	uint64_t held_peak;     /* ... and emi_disk_held_peak() */
} emi_runs;

/* No runs yet.  by, io and watch must live as long; all else may be set before the first one is written.  Takes
 * nothing. */
void emi_runs_init(emi_runs *r, em_ctx *ctx, const emi_collation *by, emi_io_stats *io, emi_watch *watch);

/* Give back memory and disks, with all blocks; figures stay.  Nothing may be on its way.  All zeroes are allowed. */
void emi_runs_release(emi_runs *r);

/* Have the scratch disks.  Fails as opening files and emi_disk_account() do. */
em_status emi_runs_scratch(emi_runs *r, em_errinfo *err);

/* Have room for so many runs in the list, and add one.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM: nothing has changed. */
em_status emi_runs_reserve(emi_runs *r, uint64_t room, em_errinfo *err);
em_status emi_runs_add(emi_runs *r, const emi_run *run, em_errinfo *err);

/* Which runs to merge next, if fan_in can be merged at a time, until there are `most': returns how many, from *first
 * on, or 0: there are no more. */
uint32_t emi_runs_group(const emi_runs *r, uint32_t fan_in, uint64_t most, uint64_t *first);

/* Bytes of k runs. */
uint64_t emi_run_bytes(const emi_run *run, uint64_t k);

/* Is the work to go on?  EM_OK or EM_ERR_CANCELED. */
em_status emi_runs_tick(const emi_runs *r);

/* Wait for a transfer on the calling thread. */
em_status emi_runs_wait(const emi_runs *r, emi_request *rq, em_errinfo *err);

/* Most bytes on the disks, and most that file systems had set aside for them, up to now. */
uint64_t emi_runs_peak(const emi_runs *r);
uint64_t emi_runs_held_peak(const emi_runs *r);

#endif
