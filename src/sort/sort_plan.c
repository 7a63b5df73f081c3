/* SPDX-License-Identifier: BSL-1.0 */
/* sort_plan.c -- em_sort_plan(): what a sort would do, without doing it. */
#include <string.h>

#include "sort/files.h"
#include "sort/plan_job.h"
#include "sort/plan_time.h"
#include "sort/plan_vary.h"
#include "sort/room.h"

#define MOST_BYTES (UINT64_MAX >> 7)    /* any number of passes over so much can still be counted */

/* Bytes of a record; of any length: what the plan takes them for. */
static uint64_t record_bytes(const emi_job *job)
{
	return job->by.codec->record_bytes != 0 ? job->by.codec->record_bytes : EMI_USUAL_RECORD;
}

static void describe(emi_job *job, const emi_needs *needs, uint64_t n, em_sort_plan_info *info)
{
	const emi_plan *p = &job->plan;
	uint64_t bytes = n * record_bytes(job);
	uint32_t merges = p->runs == 0 ? 0 : emi_plan_merge_passes(p->runs, p->fan_in);

	info->fan_in = p->fan_in;
	info->memory = p->peak;
	info->memory_most = p->memory + job->runs.memory.most;
	info->memory_min = emi_job_least(job, needs);
	info->run_records = p->run_records;
	info->runs = p->runs;
	info->block_bytes = p->block_bytes;
	info->block_records = p->block_records;
	info->passes = p->runs == 0 ? 0 : 1 + (merges == 0 ? 1 : merges);
	info->read_buffers = p->read_buffers;
	info->write_buffers = p->write_buffers;
	info->prefetch_buffers = p->prefetch_buffers;
	info->threads = p->threads;
	info->scratch = emi_room_scratch(p, n);
	info->bytes_read = bytes * (info->passes == 0 ? 1 : info->passes);
	info->bytes_written = info->bytes_read;
}

em_status em_sort_plan(em_ctx *ctx, const em_order *order, uint64_t n, const em_sort_opts *opts,
		       em_sort_plan_info *info)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	emi_needs needs;
	em_sort_plan_info full = EM_SORT_PLAN_INFO_INIT;
	emi_job job;
	em_status st;

	memset(err, 0, sizeof *err);
	memset(&needs, 0, sizeof needs);
	st = emi_given(info, "info", err);
	if (st == EM_OK)
		st = EMI_STRUCT_CHECK(em_sort_plan_info, info, err);
	if (st == EM_OK)
		st = emi_job_open(&job, ctx, order, opts, err);
	if (st != EM_OK)
		return st;
	if (n > MOST_BYTES / record_bytes(&job))
		st = emi_fail(err, EM_ERR_INVAL, "the number of records is too large");
	/* One file to read from at a time, and one to write to. */
	needs.n = n;
	needs.spare = (job.flags & EM_SORT_UNIQUE) != 0 ? EMI_PLAN_COPIES : 0;
	needs.files = 2;
	needs.held = emi_sort_files_memory();
	needs.bytes = n * record_bytes(&job);
	if (st == EM_OK)
		st = emi_job_plan(&job, &needs, err);
	if (st == EM_OK && job.by.codec->record_bytes == 0) {
		/* How many runs there are going to be was left open: it follows from n. */
		job.plan.runs = n <= job.plan.run_records ? 0 : (n + job.plan.run_records - 1) / job.plan.run_records;
		if (job.plan.runs != 0)
			(void)emi_plan_merging(&job.plan, &job.plan_input, job.plan.runs, 0);
	}
	if (st == EM_OK)
		describe(&job, &needs, n, &full);
	else if (st == EM_ERR_MEMLIMIT)
		full.memory_min = err->bytes;
	(void)EMI_STRUCT_GIVE(em_sort_plan_info, info, &full);
	emi_job_close(&job);
	return st;
}
