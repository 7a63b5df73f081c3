/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorted_run.h -- a run as a source (sorted_source.h).
 *
 * It lends the records of a block while the next ones are being read.  What was read is freed on the disks: so the run
 * is consumed, and merging takes no more scratch than there was.  Or the run stays, and may be read again.  Each has
 * buffers of its own, so runs may come and go; for those that are known at the beginning and merged to the end, the
 * engine's merger (merge.h) does with fewer.
 *
 * Records have one size.
 */
#ifndef EMI_SORTED_RUN_H
#define EMI_SORTED_RUN_H

#include "sort/run_fetch.h"
#include "sort/sorted_source.h"

typedef struct emi_sorted_run {
	emi_sorted_source source;
	emi_run_fetch fetch;    /* closed once it has ended */
	emi_run run;
	uint64_t blocks;        /* that were not lent yet, ... */
	uint64_t bytes;         /* ... and the bytes of their records */
	int at_hand;            /* the directory was read */
	emi_fetched *block;     /* that is lent; or NULL */
} emi_sorted_run;

/* Read a run of these, which is on the disks as a whole, through so many buffers, two at least; keeps: it stays.
 * Begins to read its directory, and waits for nothing.  The run is the source's, but the list of runs is not looked at:
 * who has it there removes it.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_NOTSUP (records of any length): nothing has
 * happened to it.  Later failures are EM_ERR_CORRUPT, and what reading and the watch of the runs fail with. */
em_status emi_sorted_run_open(emi_sorted_run *s, emi_runs *runs, const emi_run *run, uint32_t buffers, int keeps,
			      em_errinfo *err);

/* Memory goes back at the end, too.  Blocks that were not read stay until the runs are released.  All zeroes need no
 * closing. */
void emi_sorted_run_close(emi_sorted_run *s);

/* Bytes of memory that it takes. */
uint64_t emi_sorted_run_memory(const emi_runs *runs, const emi_run *run, uint32_t buffers);

#endif
