/* SPDX-License-Identifier: BSL-1.0 */
/* job.c -- see job.h. */
#include "sort/job.h"

#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "block/packer.h"
#include "sort/phase_stats.h"
#include "sort/plan_memory.h"
#include "stream/records.h"

static em_status check_opts(const em_sort_opts *o, em_errinfo *err)
{
	if ((o->flags & ~(EM_SORT_STABLE | EM_SORT_UNIQUE)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "unknown flags 0x%x of a sort", (unsigned)o->flags);
	if (o->compress > EM_COMPRESS_ALWAYS)
		return emi_fail(err, EM_ERR_INVAL, "unknown way %u to compress runs", (unsigned)o->compress);
	if (o->fetch > EM_FETCH_NAIVE)
		return emi_fail(err, EM_ERR_INVAL, "unknown order %u of fetching", (unsigned)o->fetch);
	if (o->place > EM_PLACE_RUNS_STRIPING)
		return emi_fail(err, EM_ERR_INVAL, "unknown placement %u of runs", (unsigned)o->place);
	if (o->last_run > EM_LAST_RUN_KEPT)
		return emi_fail(err, EM_ERR_INVAL, "unknown place %u for the last run", (unsigned)o->last_run);
	if (o->compress == EM_COMPRESS_ALWAYS && !emi_packer_supported())
		return emi_fail(err, EM_ERR_NOTSUP, "runs cannot be compressed: the library was built without LZ4");
	return EM_OK;
}

static em_status check_format(emi_job *job, const em_order *order, em_errinfo *err)
{
	const em_format lines = EM_FORMAT_INIT;
	em_format *f = &job->format;
	em_status st;

	*f = lines;
	if (job->opts.format == NULL && job->opts.header == 0)
		return EM_OK;
	if (emi_order_vary(order) == NULL)
		return emi_fail(err, EM_ERR_INVAL, "a format or a header of records that have one size");
	if (job->opts.format == NULL)
		return EM_OK;
	st = EMI_STRUCT_TAKE(em_format, f, job->opts.format, err);
	return st == EM_OK ? emi_format_check(f, err) : st;
}

em_errinfo *emi_job_errinfo(const em_sort_opts *opts, em_errinfo *own)
{
	em_errinfo *theirs = EMI_ERRINFO_OF(em_sort_opts, opts);

	return theirs != NULL ? theirs : own;
}

emi_user emi_job_user(const em_sort_opts *opts)
{
	em_sort_opts o;
	emi_user u = { NULL, NULL };

	if (EMI_STRUCT_TAKE(em_sort_opts, &o, opts, NULL) == EM_OK) {
		u.user = o.progress_user;
		u.free = o.progress_free;
	}
	return u;
}

em_status emi_job_open(emi_job *job, em_ctx *ctx, const em_order *order, const em_sort_opts *opts, em_errinfo *err)
{
	em_status st;

	memset(job, 0, sizeof *job);
	st = emi_given(ctx, "ctx", err);
	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK)
		st = emi_ctx_check(ctx, err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &job->opts, opts, err);
	if (st == EM_OK)
		st = check_opts(&job->opts, err);
	if (st == EM_OK && emi_order_ctx(order) != ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the order belongs to another context");
	if (st == EM_OK)
		st = check_format(job, order, err);
	/* A caller's comparison runs for as long as it likes: a sort by one is watched and stopped there. */
	if (st == EM_OK)
		st = emi_collation_open(&job->by, order, emi_watch_tick, &job->watch, err);
	if (st != EM_OK)
		return st;
	job->flags = job->opts.flags;
	emi_watch_init(&job->watch, ctx, job->opts.progress, job->opts.progress_user, &job->io);
	emi_runs_init(&job->runs, ctx, &job->by, &job->io, &job->watch);
	job->runs.place = job->opts.place;
	job->runs.compress = job->opts.compress;
	job->ctx = ctx;
	emi_ctx_ref(ctx);
	return EM_OK;
}

void emi_job_view(emi_job *view, const emi_job *job)
{
	*view = *job;
	emi_collation_watch(&view->by, emi_watch_tick, &view->watch);
	view->runs.by = &view->by;
	view->runs.io = &view->io;
	view->runs.watch = &view->watch;
	view->records_in = view->records_out = 0;
	memset(&view->io, 0, sizeof view->io);
	view->watch.done = 0;
	view->watch.whole = &job->watch;
}

void emi_job_count_run(emi_job *job, uint64_t records)
{
	job->runs_formed++;
	if (records > job->longest_run)
		job->longest_run = records;
}

em_status emi_job_more_runs(emi_job *job, em_errinfo *err)
{
	const uint64_t room = 2 * job->runs.room, before = em_ctx_memory(job->ctx);
	em_status st;

	/* Merges are to have what the list takes away, where there may be more. */
	if (emi_plan_raise(job->ctx, em_ctx_memory_used(job->ctx) + room * sizeof *job->runs.run))
		job->plan.memory += em_ctx_memory(job->ctx) - before;
	st = emi_runs_reserve(&job->runs, room, err);
	if (st == EM_OK)
		job->plan.max_runs = room;
	return st;
}

em_status emi_job_add_run(emi_job *job, const emi_run *run, uint64_t records, em_errinfo *err)
{
	em_errinfo none = { 0 };

	if (job->runs.n == job->runs.room && emi_job_more_runs(job, &none) != EM_OK)
		return emi_fail_memory(err, job->plan.memory * 2,
				       "the input has more than %llu runs of %llu records: give the sort more memory",
				       (unsigned long long)job->runs.room,
				       (unsigned long long)job->plan.run_records);
	emi_job_count_run(job, records);
	return emi_runs_add(&job->runs, run, err);
}

em_status emi_job_check(emi_job *job, em_errinfo *err)
{
	em_status st = emi_ctx_check(job->ctx, err);

	if (st != EM_OK)
		return st;
	emi_log_tell(job->ctx);
	st = emi_collation_check(&job->by, err);
	if (st != EM_OK)
		return st;
	if (emi_tick(&job->watch) != EM_OK)
		return emi_fail(err, EM_ERR_CANCELED, "canceled");
	return EM_OK;
}

em_status emi_job_result(emi_job *job, em_status status)
{
	if (job->status == EM_OK && status < 0) {
		job->status = status;
		if (job->err.status == EM_OK)
			emi_fail(&job->err, status, "%s", em_status_text(status));
	}
	return job->status != EM_OK ? job->status : status;
}

void emi_job_stats(const emi_job *job, em_sort_stats *stats)
{
	em_sort_stats full = EM_SORT_STATS_INIT;
	emi_watch now = job->watch;

	/* Of one that could not be opened again there is nothing to tell. */
	if (job->ctx == NULL) {
		(void)EMI_STRUCT_GIVE(em_sort_stats, stats, &full);
		return;
	}
	emi_watch_settle(&now);
	full.passes = job->passes;
	full.records_in = job->records_in;
	full.records_out = job->records_out;
	full.runs = job->runs_formed;
	full.run_records = job->longest_run;
	full.block_bytes = job->plan.block_bytes;
	full.fan_in = job->widest_merge;
	full.threads = job->plan.threads;
	full.peak_memory = em_ctx_memory_peak(job->ctx);
	full.peak_scratch = emi_runs_peak(&job->runs);
	full.peak_scratch_held = emi_runs_held_peak(&job->runs);
	full.kept_records = job->kept_records;
	full.packed_from = job->runs.packed_from;
	full.packed_to = job->runs.packed_to;
	full.memory_bytes = job->runs.memory.kept;
	emi_phases_put(&full, now.stats, EMI_PHASES);
	(void)EMI_STRUCT_GIVE(em_sort_stats, stats, &full);
}

void emi_job_release(emi_job *job)
{
	if (job->lifted)
		emi_memory_lower(job->ctx);
	job->lifted = 0;
	if (job->shares)
		emi_sharers_leave(job->ctx);
	job->shares = 0;
	if (job->gives)
		emi_disk_keep(job->runs.scratch);
	job->gives = 0;
	emi_runs_release(&job->runs);
}

void emi_job_close(emi_job *job)
{
	if (job->ctx == NULL)
		return;
	emi_job_release(job);
	emi_log_tell(job->ctx);
	emi_collation_close(&job->by);
	emi_ctx_unref(job->ctx);
	memset(job, 0, sizeof *job);
}
