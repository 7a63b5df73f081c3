/* SPDX-License-Identifier: BSL-1.0 */
/*
 * engine.h -- the sort engine: runs in, one sorted sequence out.
 *
 * The sorter and the sorting of files are this engine between different sources and sinks:
 *
 *   spill        records of an area become a run on the scratch disk     (any number of times)
 *   reduce       runs are merged until the rest fits one merge
 *   merge_to     that last merge, into any destination, at once; or
 *   pull_begin, pull   the same, or an area that never was spilled, batch by batch
 */
#ifndef EMI_ENGINE_H
#define EMI_ENGINE_H

#include "sort/form.h"
#include "sort/merge.h"
#include "sort/run_writer.h"

typedef struct emi_engine {
	emi_job job;
	emi_outseq out;
	emi_run_writer writer;
	emi_former former;
	emi_merger merger;
	/* pulling */
	const char *elems;      /* sorted in memory, or NULL when runs are merged */
	uint64_t elems_at, elems_end;
	int lent;               /* a block of `out' is with the caller */
	char *last;             /* EM_SORT_UNIQUE: the last record that was kept */
	int have_last;
	em_batch batch;
} emi_engine;

em_status emi_engine_open(emi_engine *e, em_ctx *ctx, const em_order *order, const em_sort_opts *opts,
			  em_errinfo *err);
void emi_engine_close(emi_engine *e);

/* The plan is in job.plan: get the memory to form runs of its size, and threads. */
em_status emi_engine_prepare(emi_engine *e, em_errinfo *err);

/* Sort n > 0 records (see emi_form_run()) and write them as a run. */
em_status emi_engine_spill(emi_engine *e, void *records, uint64_t n, em_errinfo *err);

/* Sort n > 0 records, all there are, into a destination. */
em_status emi_engine_sort_to(emi_engine *e, void *records, uint64_t n, const emi_dest *dest, em_errinfo *err);

/* All runs are formed: wait for them to be written, give back the memory for forming them, and merge until the
 * fan-in suffices.  The caller has released its areas. */
em_status emi_engine_reduce(emi_engine *e, em_errinfo *err);

/* Merge the runs that are left into a destination. */
em_status emi_engine_merge_to(emi_engine *e, const emi_dest *dest, em_errinfo *err);

/* Begin to pull: n records in memory, or (records NULL) the runs that are left. */
em_status emi_engine_pull_begin(emi_engine *e, void *records, uint64_t n, em_errinfo *err);

/* Lend the next batch.  EM_END at the end. */
em_status emi_engine_pull(emi_engine *e, const em_batch **batch, em_errinfo *err);

#endif
