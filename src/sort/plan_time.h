/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan_time.h -- what a plan is expected to cost.
 *
 * Forming runs moves all in and out once, and so does the last merge; those in front of it move what must be merged
 * before.  What a merge moves takes longer the fewer buffers there are for its disks.
 *
 * The blocks of a merge come from random disks, since each run goes round the disks in an order of its own.  So a disk
 * is without anything to read with a probability that falls by the same factor with each buffer that reads ahead; but a
 * buffer is on its way for only a part of the time, and then waits for the merge.  The same is true of writing, where a
 * buffer counts for twice as much: writes go first, and nobody waits for a certain one.  Half of the volume is read,
 * and half is written, at the rates that follow from that; together that comes within a tenth of what simulated disks
 * took (doc/sorting.md has figures).
 */
#ifndef EMI_PLAN_TIME_H
#define EMI_PLAN_TIME_H

#include "sort/plan.h"

/* Passes over the data that merge: how often every record is merged at most. */
uint32_t emi_plan_merge_passes(uint64_t runs, uint32_t fan_in);

/* By what the time of a merge grows as so few buffers, beyond one for each run, leave disks idle: 1 for one disk. */
double emi_plan_stretch(uint32_t disks, uint32_t read_buffers, uint32_t write_buffers);

/* How often all could be moved in and out meanwhile, with any blocks; 0: the data fits in memory. */
double emi_plan_rounds(const emi_plan *plan, const emi_plan_input *in);

/* The same for blocks of that size: in units of one pass over the data with perfect blocks and busy disks. */
double emi_plan_time(const emi_plan *plan, const emi_plan_input *in);

#endif
