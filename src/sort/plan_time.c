/* SPDX-License-Identifier: BSL-1.0 */
/* plan_time.c -- see plan_time.h. */
#include "sort/plan_time.h"

#define REQUEST_COST (64 * 1024) /* what a request costs, in bytes that could have been moved meanwhile: measured */
#define USUAL_RUNS 64u          /* when nobody knows how many there are going to be */
#define READ_SHARE 0.57         /* for how many requests at random disks a buffer counts that reads ahead, ... */
#define WRITE_SHARE 1.2         /* ... and one that writes: measured */

uint32_t emi_plan_merge_passes(uint64_t runs, uint32_t fan_in)
{
	uint32_t passes = 0;

	while (runs > 1) {
		runs = (runs + fan_in - 1) / fan_in;
		passes++;
	}
	return passes;
}

/* What merges in front of the last one move, in units of all: they merge no more than makes all later ones full
 * (engine.c). */
static double before_last(uint64_t runs, uint32_t fan_in)
{
	uint64_t full = fan_in, excess;
	double all = 0;

	if (runs <= fan_in)
		return 0;
	for (; full <= (runs - 1) / fan_in; full *= fan_in)
		all += 1;
	/* The tree of merges has so many levels with all runs, and another one. */
	excess = runs - full;
	excess += (excess + fan_in - 2) / (fan_in - 1);
	return all + (double)excess / (double)runs;
}

/* The share of the disks that are busy with so many buffers, each of which counts for so many requests. */
static double busy(uint32_t disks, uint32_t buffers, double share)
{
	double factor = (disks - 1) / (disks - 1 + share), idle = 1;

	for (; buffers != 0; buffers /= 2) {
		if (buffers % 2 != 0)
			idle *= factor;
		factor *= factor;
	}
	return 1 - idle;
}

double emi_plan_stretch(uint32_t disks, uint32_t read_buffers, uint32_t write_buffers)
{
	return (1 / busy(disks, read_buffers, READ_SHARE) + 1 / busy(disks, write_buffers, WRITE_SHARE)) / 2;
}

/* How many runs may come, when their number is not known. */
static uint64_t expected_runs(const emi_plan *plan, const emi_plan_input *in)
{
	const uint64_t size = in->codec->record_bytes;

	if (in->expect_runs != 0)
		return in->expect_runs;
	return in->expect_bytes != 0 ? in->expect_bytes / size / plan->run_records + 1 : USUAL_RUNS;
}

double emi_plan_rounds(const emi_plan *plan, const emi_plan_input *in)
{
	uint64_t runs = plan->runs;

	if (runs == 0)
		return 0;
	if (runs == EMI_UNKNOWN)
		runs = expected_runs(plan, in);
	/* One disk is busy with any buffers: what is chosen there are passes, each of which counts as a whole one. */
	if (in->disks < 2 || runs == 1)
		return 1 + emi_plan_merge_passes(runs, plan->fan_in);
	return 1 + (1 + before_last(runs, plan->fan_in)) *
			   emi_plan_stretch(in->disks, plan->read_buffers, plan->write_buffers);
}

double emi_plan_time(const emi_plan *plan, const emi_plan_input *in)
{
	const double slack =
		(double)plan->block_bytes / ((double)plan->block_records * (double)in->codec->record_bytes);
	const double request = 1.0 + (double)REQUEST_COST / (double)plan->block_bytes;

	/* What was sorted in memory has only to be written. */
	if (plan->runs == 0)
		return in->disks < 2 ? request : request / busy(in->disks, plan->write_buffers, WRITE_SHARE);
	return emi_plan_rounds(plan, in) * slack * request;
}
