/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_files.c -- em_sort_files(): the engine between a list of files and a file.
 *
 * Two input areas take turns: one is being read while the other is sorted and written.  The last merge
 * writes to the output file directly from its block buffers.  Only where records are dropped or counted on the way
 * out, or the output is not a file, they are pulled and copied.
 */
#include <string.h>

#include "base/workers.h"
#include "sort/copier.h"
#include "sort/engine.h"
#include "sort/files.h"
#include "sort/plan_job.h"
#include "sort/room.h"
#include "sort/sort_vary.h"
#include "stream/sink.h"
#include "stream/source.h"

#define AREAS 2

typedef struct file_sort {
	emi_engine e;
	emi_source *source;
	emi_sink *sink;
	uint32_t ninputs;
	uint64_t n;             /* records, or EMI_UNKNOWN */
	char *area[AREAS];
	size_t area_bytes;
	emi_task clear;         /* of the second area, ... */
	int clears;             /* ... which has begun and was not awaited */
	emi_fill fill[AREAS];
	int copies;             /* the output is pulled and copied */
	emi_copier copier;
	emi_groups groups;      /* if there are any to be made */
} file_sort;

uint64_t emi_sort_files_memory(void)
{
	return sizeof(file_sort) + 2u * EMI_PAGE;
}

static em_status put_sink(void *arg, emi_outblock *block, em_errinfo *err)
{
	file_sort *f = arg;

	return emi_sink_put(f->sink, &block->buf, err);
}

static size_t lead_sink(void *arg, uint64_t position)
{
	file_sort *f = arg;

	return emi_sink_lead(f->sink, position);
}

/* Touch each page of the second area. */
static void clear_area(void *arg)
{
	file_sort *f = arg;
	size_t i;

	for (i = 0; i < f->area_bytes; i += EMI_PAGE)
		f->area[1][i] = 0;
}

/* The system clears pages for whoever touches them first: that is who asks for reading into them, and then nobody
 * computes.  So while the first area is being read, another thread touches the second one, unless it is not known that
 * it is needed. */
static void begin_clear(file_sort *f)
{
	f->clears = f->area[1] != NULL && f->n != EMI_UNKNOWN && f->e.job.plan.threads > 1;
	if (f->clears)
		emi_task_submit(f->e.job.ctx, &f->clear, clear_area, f);
}

static void end_clear(file_sort *f)
{
	if (f->clears)
		emi_task_wait(f->e.job.ctx, &f->clear);
	f->clears = 0;
}

static void free_areas(file_sort *f)
{
	int i;

	end_clear(f);
	for (i = 0; i < AREAS; i++) {
		emi_fill_free(&f->fill[i], f->source);
		memset(&f->fill[i], 0, sizeof f->fill[i]);
		if (f->area[i] != NULL)
			emi_buffer_free(f->e.job.ctx, f->area[i], f->area_bytes);
		f->area[i] = NULL;
	}
}

static em_status make_areas(file_sort *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	size_t bytes = (size_t)job->plan.run_records * job->by.codec->record_bytes;
	uint32_t i;

	f->area_bytes = bytes + EMI_SOURCE_SLACK;
	for (i = 0; i < job->plan.areas; i++) {
		em_status st;

		f->area[i] = emi_buffer_alloc(job->ctx, f->area_bytes, err);
		if (f->area[i] == NULL)
			return err->status;
		st = emi_fill_init(&f->fill[i], f->source, bytes, job->plan.block_bytes, err);
		if (st != EM_OK)
			return st;
	}
	return EM_OK;
}

static em_status begin_read(file_sort *f, int i, em_errinfo *err)
{
	return emi_source_begin(f->source, &f->fill[i], f->area[i], f->e.job.plan.run_records, err);
}

/* The last run may stay in memory.  So it is the first one that gets fewer records if they do not fill all. */
static em_status begin_first(file_sort *f, em_errinfo *err)
{
	const uint64_t most = f->e.job.plan.run_records, odd = f->n % most;

	return emi_source_begin(f->source, &f->fill[0], f->area[0], f->n == EMI_UNKNOWN || odd == 0 ? most : odd, err);
}

static em_status await_read(file_sort *f, int i, em_errinfo *err)
{
	em_status st = emi_source_await(f->source, &f->fill[i], emi_watch_tick, &f->e.job.watch, err);

	if (st == EM_OK)
		f->e.job.records_in += f->fill[i].records;
	return st;
}

static em_status pull_all(file_sort *f, void *records, uint64_t n, em_errinfo *err)
{
	em_status st = emi_engine_pull_begin(&f->e, records, n, err);
	const em_batch *batch;

	emi_room_give_back(&f->e.job);
	while (st == EM_OK) {
		st = emi_engine_pull(&f->e, &batch, err);
		if (st == EM_OK)
			st = f->groups.opts != NULL ? emi_groups_records(&f->groups, batch->records, batch->n, err)
						    : emi_copier_write(&f->copier, batch->records, batch->bytes, err);
	}
	if (st == EM_END)
		st = emi_groups_end(&f->groups, err);
	return st == EM_OK ? emi_copier_flush(&f->copier, err) : st;
}

/* All records are in one area: sort them to the output. */
static em_status sort_in_memory(file_sort *f, int i, em_errinfo *err)
{
	emi_dest dest = { put_sink, lead_sink, f, 0, 0, NULL };
	uint64_t n = f->fill[i].records;
	em_status st;

	if (n == 0)
		return EM_OK;
	if (f->copies)
		return pull_all(f, f->fill[i].first, n, err);
	st = emi_engine_sort_to(&f->e, f->fill[i].first, n, &dest, err);
	f->e.job.records_out = n;
	return st;
}

static em_status merge_runs(file_sort *f, em_errinfo *err)
{
	emi_dest dest = { put_sink, lead_sink, f, 0, 0, NULL };
	em_status st;

	free_areas(f);
	st = emi_engine_reduce(&f->e, err);
	if (st != EM_OK)
		return st;
	if (f->copies)
		return pull_all(f, NULL, 0, err);
	f->e.job.records_out = f->e.job.records_in;
	return emi_engine_merge_to(&f->e, &dest, err);
}

/* Nothing comes behind area i: keep its records in memory if possible, and else spill them. */
static em_status last_run(file_sort *f, int i, em_errinfo *err)
{
	const emi_fill *fill = &f->fill[i];
	char *kept;
	em_status st = emi_engine_keep(&f->e, f->area[i], f->area[i ^ 1], f->area_bytes, fill->first, fill->records,
				       &kept, err);

	if (kept != NULL)
		f->area[kept == f->area[i] ? i : i ^ 1] = NULL;
	return st != EM_OK || kept != NULL ? st : emi_engine_spill(&f->e, fill->first, fill->records, err);
}

/* Form runs, reading one area while the other is sorted. */
static em_status sort_runs(file_sort *f, em_errinfo *err)
{
	em_status st = await_read(f, 0, err);
	int cur = 0, awaited = 0;

	end_clear(f);
	if (st == EM_OK)
		st = begin_read(f, 1, err);
	if (st == EM_OK && f->n == EMI_UNKNOWN) {
		/* Only the second reading tells whether the first was all. */
		st = await_read(f, 1, err);
		awaited = 1;
		if (st == EM_OK && f->fill[1].records == 0)
			return sort_in_memory(f, 0, err);
	}
	while (st == EM_OK && f->fill[cur].records != 0) {
		if (f->e.job.records_in == f->n) {
			st = last_run(f, cur, err);
			break;
		}
		st = emi_engine_spill(&f->e, f->fill[cur].first, f->fill[cur].records, err);
		if (st == EM_OK)
			st = begin_read(f, cur, err);
		cur ^= 1;
		if (st == EM_OK && !awaited)
			st = await_read(f, cur, err);
		awaited = 0;
	}
	return st == EM_OK ? merge_runs(f, err) : st;
}

static em_status plan(file_sort *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	emi_needs needs;
	em_status st;

	memset(&needs, 0, sizeof needs);
	needs.n = f->n;
	needs.spare = f->copies ? EMI_COPIER_BUFFERS : 0;
	needs.files = f->ninputs < EMI_SOURCE_OPEN ? f->ninputs : EMI_SOURCE_OPEN;
	/* The sink is open, and there are a few structs. */
	needs.open = emi_sink_is_file(f->sink) ? 1 : 0;
	needs.held = emi_sort_files_memory();
	if (f->groups.opts != NULL)
		needs.later = emi_keeper_memory(job->by.codec->record_bytes);
	st = emi_job_plan(job, &needs, err);
	return st == EM_OK ? emi_room_check(job, &needs, err) : st;
}

static em_status run(file_sort *f, const char *output, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	uint64_t bytes = f->n == EMI_UNKNOWN ? 0 : f->n * job->by.codec->record_bytes;
	const int drops = (job->flags & EM_SORT_UNIQUE) != 0 || f->groups.opts != NULL;
	em_status st = emi_sink_open(&f->sink, job->ctx, output, 0, &job->io, err);
	if (st == EM_OK) {
		f->copies = drops || !emi_sink_is_file(f->sink);
		st = plan(f, err);
	}
	if (st == EM_OK)
		st = emi_room_output(job, f->sink, drops ? 0 : bytes, err);
	if (st == EM_OK && f->copies)
		st = emi_copier_init(&f->copier, job, f->sink, job->plan.block_bytes, err);
	if (st == EM_OK && f->n != 0) {
		emi_watch_phase(&job->watch, EM_PHASE_RUNS, bytes);
		st = emi_engine_prepare(&f->e, err);
		if (st == EM_OK)
			st = make_areas(f, err);
		if (st == EM_OK) {
			begin_clear(f);
			st = begin_first(f, err);
		}
		if (st == EM_OK && job->plan.areas == 1) {
			st = await_read(f, 0, err);
			if (st == EM_OK)
				st = sort_in_memory(f, 0, err);
		} else if (st == EM_OK) {
			st = sort_runs(f, err);
		}
	}
	if (st == EM_OK)
		st = emi_sink_commit(f->sink, err);
	emi_watch_settle(&job->watch);
	return st;
}

static void close_files(file_sort *f)
{
	if (f->source != NULL)
		free_areas(f);
	emi_source_close(f->source);
	emi_groups_free(&f->groups);
	emi_copier_free(&f->copier);
}

em_status emi_sort_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			 const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			 const emi_group_opts *groups, em_errinfo *err)
{
	file_sort *f;
	em_status st;

	if (emi_order_vary(order) != NULL)
		return emi_sort_vary(ctx, order, inputs, ninputs, output, opts, stats, groups, err);
	f = emi_alloc(ctx, sizeof *f, err);
	if (f == NULL)
		return err->status;
	st = emi_engine_open(&f->e, ctx, order, opts, err);
	if (st == EM_OK && groups != NULL)
		st = emi_groups_init(&f->groups, &f->e.job, groups, &f->copier, err);
	if (st == EM_OK)
		st = emi_source_open(&f->source, ctx, inputs, ninputs, em_order_record_size(order), &f->e.job.io, err);
	if (st == EM_OK) {
		f->ninputs = ninputs;
		f->n = emi_source_records(f->source);
		st = run(f, output, err);
	}
	if (stats != NULL && f->e.job.ctx != NULL)
		emi_job_stats(&f->e.job, stats);
	if (f->e.job.ctx != NULL) {
		close_files(f);
		emi_merger_close(&f->e.merger);
		emi_outseq_free(&f->e.out);
		emi_sink_close(f->sink);
		emi_engine_close(&f->e);
	}
	emi_free(ctx, f, sizeof *f);
	return st;
}

em_status em_sort_files(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			const char *output, const em_sort_opts *opts, em_sort_stats *stats)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	em_status st = emi_files_check(ctx, inputs, ninputs, output, stats, err);

	if (st == EM_OK)
		st = emi_given(order, "order", err);
	if (st == EM_OK)
		st = emi_sort_files(ctx, order, inputs, ninputs, output, opts, stats, NULL, err);
	emi_user_free(&watching);
	return st;
}
