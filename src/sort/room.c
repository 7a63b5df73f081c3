/* SPDX-License-Identifier: BSL-1.0 */
/*
 * room.c -- see room.h.
 *
 * How much of what was read scratch may keep is a matter of what giving it back costs.  A file system lets nobody
 * read a file while it makes holes in it, so holes should be few and large; but a merge reads from all runs at the
 * same rate, and gaps grow in as many places.  They may have half of the memory, and the largest go when they have
 * more; what is late and what the output is ahead comes to the other half.  So scratch and output together hold the
 * data and no more than fits in memory; much of which is in the buffers of the merge anyway: read, not yet written.
 */
#include "sort/room.h"

#include "sort/plan_time.h"

#define LAG_SHARE 16u           /* a batch goes back for this part of the memory, and may be late: four of them at most;
                                   ... */
#define STEP_SHARE 4u           /* ... in such steps the output is reserved; with EMI_SLACK_SHARE, the memory */
#define LAG_LEAST ((uint64_t)64 << 10)
#define LAG_MOST ((uint64_t)256 << 20)

uint64_t emi_room_scratch(const emi_plan *plan, uint64_t n)
{
	const uint64_t blocks = plan->block_records != 0 ? (n + plan->block_records - 1) / plan->block_records : 0;
	uint64_t all;

	if (plan->runs == 0)
		return 0;
	/* The last page of a run, that of its first block and that of its directory may be nearly empty. */
	all = blocks * plan->block_bytes + (blocks / EMI_DIR_ENTRIES + 3 * plan->runs) * EMI_DIR_BYTES;
	/* A merge that does not write the output frees each block before it needs the next: nearly N. */
	if (emi_plan_merge_passes(plan->runs, plan->fan_in) > 1)
		all += ((uint64_t)plan->fan_in + plan->read_buffers + plan->write_buffers) * plan->block_bytes;
	return all;
}

/* Bytes that will be on scratch whatever happens, 0: none.  What fits in memory may stay there, and equal records or
 * packed ones may take less. */
static uint64_t certain(const emi_job *job, const emi_needs *needs)
{
	uint64_t bytes = needs->bytes;

	if (job->by.codec->record_bytes != 0)
		bytes = needs->n != EMI_UNKNOWN && needs->n <= UINT64_MAX / job->by.codec->record_bytes
				? needs->n * job->by.codec->record_bytes
				: EMI_UNKNOWN;
	if (bytes == EMI_UNKNOWN || bytes <= job->ctx->memory || (job->flags & EM_SORT_UNIQUE) != 0 || job->keeps ||
	    job->plan.packers != 0)
		return 0;
	return bytes - job->ctx->memory;
}

/* Is it clear now that file systems have no room for that?  Otherwise it turns out when they are full. */
static em_status check_free(const emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	const uint64_t least = certain(job, needs);
	uint64_t room;

	if (least == 0 || !emi_scratch_room(job->ctx, &room) || least <= room)
		return EM_OK;
	return emi_fail_no_room(err, emi_scratch_path(job->ctx, 0), emi_scratch_disks(job->ctx) > 1, room, least);
}

em_status emi_room_check(emi_job *job, const emi_needs *needs, em_errinfo *err)
{
	const uint64_t most = emi_scratch_most(job->ctx);
	uint64_t least = 0;

	if (needs->n != EMI_UNKNOWN)
		least = emi_room_scratch(&job->plan, needs->n);
	else if (job->by.vary != NULL && needs->bytes != EMI_UNKNOWN && needs->bytes > job->plan.memory)
		/* Lines are as long in a run as in a file, at least. */
		least = needs->bytes;
	/* What stays in memory needs no scratch. */
	least = least > job->runs.memory.most ? least - job->runs.memory.most : 0;
	job->runs.expected = least;
	if (least > most && most != 0)
		return emi_fail_scratch(err, job->ctx->dir, most, least);
	return check_free(job, needs, err);
}

static int make_room(void *arg)
{
	const emi_job *job = arg;

	return job->gives && emi_disk_give_all(job->runs.scratch);
}

/* Does the output take its space from where scratch has its? */
static int shares(const emi_job *job, const emi_sink *sink)
{
	uint32_t i;

	for (i = 0; i < emi_scratch_disks(job->ctx); i++)
		if (emi_sink_is_on(sink, emi_scratch_path(job->ctx, i)))
			return 1;
	return 0;
}

em_status emi_room_output(emi_job *job, emi_sink *sink, uint64_t bytes, em_errinfo *err)
{
	uint64_t step = job->plan.memory / STEP_SHARE;

	/* What is sorted in memory needs no scratch; of lines it is not known yet whether they are. */
	if (job->plan.runs == 0 || !shares(job, sink))
		step = 0;
	else
		step = step < LAG_LEAST ? LAG_LEAST : step > LAG_MOST ? LAG_MOST : step;
	return emi_sink_expect(sink, bytes, step, make_room, job, err);
}

void emi_room_give_back(emi_job *job)
{
	const uint64_t lag = job->plan.memory / LAG_SHARE;

	if (job->runs.scratch == NULL || job->gives)
		return;
	emi_disk_give_back(job->runs.scratch, lag < LAG_LEAST ? LAG_LEAST : lag > LAG_MOST ? LAG_MOST : lag);
	job->gives = 1;
}
