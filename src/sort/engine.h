/* SPDX-License-Identifier: BSL-1.0 */
/*
 * engine.h -- the sort engine: runs in, one sorted sequence out.
 *
 * The sorter and the sorting of files are this engine between different sources and sinks:
 *
 *   spill        records of an area become a run on the scratch disk     (any number of times)
 *   keep         the last ones become a run that stays in memory         (if there is room for it beside the merge)
 *   reduce       runs are merged until the rest fits one merge
 *   merge_to     that last merge, into any destination, at once; or
 *   pull_begin, pull   the same, or an area that never was spilled, batch by batch
 *
 * Records of any length come from a store in place of an area; engine_vary.c has what is different for them.
 */
#ifndef EMI_ENGINE_H
#define EMI_ENGINE_H

#include "sort/form.h"
#include "sort/merge.h"
#include "sort/line_store.h"
#include "sort/run_writer.h"

typedef struct emi_engine {
	emi_job job;
	emi_outseq out;
	emi_run_writer writer;
	emi_former former;
	emi_run_fetch fetch;    /* for the merger: one for all merges of reduce, another for the last one */
	emi_merger merger;
	emi_kept_run kept;      /* the last run, if it stayed in memory */
	/* pulling */
	const char *elems;      /* sorted in memory, or NULL when runs are merged */
	uint64_t elems_at, elems_end;
	char *lend;             /* memory for a batch of them, if they are not records where they are */
	size_t lend_bytes;
	int lent;               /* a block of `out' is with the caller */
	char *last;             /* EM_SORT_UNIQUE: the last record that was kept */
	size_t last_bytes;      /* room in last */
	int have_last;
	em_batch batch;
	/* records of any length */
	emi_line_store store;
	const emi_pair *pairs;  /* sorted in memory: elems_at is the next */
	const unsigned char *frame, *frames_end; /* the next in the block that is lent */
	char *lines;            /* the records of a batch ... */
	size_t lines_bytes;
	uint64_t *ends;         /* ... and where each ends */
	const unsigned char *held; /* a frame that did not fit in the batch before */
	em_status lines_status; /* how pulling ended, to be told after the batch that came before */
} emi_engine;

em_status emi_engine_open(emi_engine *e, em_ctx *ctx, const em_order *order, const em_sort_opts *opts,
			  em_errinfo *err);
void emi_engine_close(emi_engine *e);

/* Give back all but what statistics are made of: nothing is done any more. */
void emi_engine_release(emi_engine *e);

/* The plan is in job.plan: get the memory to form runs of its size, and threads. */
em_status emi_engine_prepare(emi_engine *e, em_errinfo *err);
/* The plan is for few records (emi_job_few_plan()): get the memory to sort n > 0 of them and to lend them; or those in
 * the store. */
em_status emi_engine_prepare_few(emi_engine *e, uint64_t n, em_errinfo *err);
em_status emi_engine_prepare_few_vary(emi_engine *e, em_errinfo *err);

/* Sort n > 0 records (see emi_form_run()) and write them as a run. */
em_status emi_engine_spill(emi_engine *e, void *records, uint64_t n, em_errinfo *err);

/*
 * The last run, of n > 0 records at `records' in `area', when others were spilled: if there is memory for it while all
 * are merged, sort it and keep it, in its area, or, where elements refer to records, in `other' (NULL: there is none),
 * which has as many bytes.  *kept is the one of them that is the engine's now, or NULL: then nothing was done, and it
 * has to be spilled.
 */
em_status emi_engine_keep(emi_engine *e, char *area, char *other, size_t area_bytes, char *records, uint64_t n,
			  char **kept, em_errinfo *err);

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

/* Any length: get the memory to form runs, with a store of so many bytes, to which what is in it moves, if it was
 * begun; batches are going to be pulled, or not. */
em_status emi_engine_prepare_vary(emi_engine *e, size_t store_bytes, int batches, em_errinfo *err);

/* Any length: write what is in the store as a run, and clear it; or send it, all there is, to a destination. */
em_status emi_engine_spill_store(emi_engine *e, em_errinfo *err);
em_status emi_engine_send_store(emi_engine *e, const emi_dest *dest, em_errinfo *err);

/* Any length: what is in the store is the last run, and nothing is read any more.  If others were spilled, and there
 * is memory for it while it is formed and while all are merged, sort it and keep it; the store is gone then.
 * Otherwise nothing was done, and it has to be spilled. */
em_status emi_engine_keep_store(emi_engine *e, em_errinfo *err);

/* Any length: begin to pull what is in the store, or, if runs were formed, those.  Then pull frames, of which each
 * is valid until the next call, or batches. */
em_status emi_engine_pull_vary(emi_engine *e, em_errinfo *err);
em_status emi_engine_pull_frame(emi_engine *e, const unsigned char **frame, em_errinfo *err);
em_status emi_engine_pull_lines(emi_engine *e, const em_batch **batch, em_errinfo *err);

/* Shared by both kinds. */
int emi_engine_can_keep(const emi_engine *e, size_t bytes); /* beside a merge of all runs, of which one more may come */
em_status emi_engine_begin_run(emi_engine *e, uint64_t bytes, em_errinfo *err);
em_status emi_engine_end_run(emi_engine *e, em_errinfo *err);
void emi_engine_begin_out(emi_engine *e, const emi_dest *dest, uint64_t bytes);
em_status emi_engine_pull_block(emi_engine *e, const emi_outblock **block, em_errinfo *err);

#endif
