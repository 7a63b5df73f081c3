/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan_vary.h -- what is different in the plan for records of any length.
 *
 * How many records fit in memory is not known before they are read.  So the plan is made for an unknown number of
 * records of a usual size, from which the store's size in bytes follows; the merge is planned again when runs are
 * there.  Beside the store there are the reader's chunks and the stages between (line_loader.h), and room for two
 * records of the longest size: one on its way in, one on its way out.
 */
#ifndef EMI_PLAN_VARY_H
#define EMI_PLAN_VARY_H

#include "sort/job.h"
#include "stream/records.h"

#define EMI_USUAL_RECORD 64u    /* bytes of a frame, to plan with */
#define EMI_LONGEST_SHARE 32u   /* a record, its key included, takes at most this part of the memory */

/* Complete job->plan_input, whose memory is set.  Thrifty: a small input is given less of it, so that sorting it is
 * quick. */
void emi_plan_vary(emi_job *job, const emi_needs *needs, int thrifty);

/* For a merge in->longest is known now.  Where it is of a frame beyond the plan, what is beside the buffers grows to
 * that. */
void emi_plan_vary_merging(const emi_job *job, emi_plan_input *in);

/* The most threads that so much memory feeds. */
uint32_t emi_vary_threads(uint64_t memory);

/* Bytes of the longest frame with so much memory. */
uint64_t emi_vary_longest_in(const emi_job *job, uint64_t memory);

/*
 * Records come only once, and there is a plan that leaves so many bytes.  What the machine has beyond the context's
 * memory is for frames that are longer than the plan has room for, where nobody named a size.  Where that is little,
 * some of the bytes that are left are kept for them, up to the share that they may take of all.  Returns how many.
 *
 * Either suffices for what is as large as such a frame.  While runs are formed that is its record on the way in, a
 * store for a few (emi_line_store_reach()), and a block on the way out.  Then it is what the least merge takes.
 */
uint64_t emi_vary_beyond(emi_job *job, uint64_t left);

/* Bytes of that which merges may take when the store is gone, and job->plan_input is for them. */
uint64_t emi_vary_left(const emi_job *job);

/* Bytes of the longest frame, bytes of a chunk, bytes of the store, and bytes of a batch that is pulled, once there
 * is a plan. */
uint64_t emi_vary_longest(const emi_job *job);
size_t emi_vary_chunk(const emi_job *job);
size_t emi_vary_store(const emi_job *job, const emi_needs *needs);
size_t emi_vary_batch(const emi_job *job);

/* Bytes of the longest record, of one size or, as a frame, of any length, once there is a plan. */
uint64_t emi_longest_record(const emi_job *job);

/* How a reader is to be opened. */
void emi_vary_reading(const emi_job *job, emi_records_opts *opts);

#endif
