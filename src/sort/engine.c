/* SPDX-License-Identifier: BSL-1.0 */
/* engine.c -- see engine.h. */
#include "sort/engine.h"

#include <string.h>

#include "base/pieces.h"
#include "sort/block_vary.h"
#include "sort/plan_job.h"
#include "sort/plan_vary.h"
#include "sort/room.h"

#define READ_AHEAD 8u           /* blocks that are enough to keep a disk busy, if most runs do not want their next ones
                                   at the same time */

em_status emi_engine_open(emi_engine *e, em_ctx *ctx, const em_order *order, const em_sort_opts *opts,
			  em_errinfo *err)
{
	memset(e, 0, sizeof *e);
	return emi_job_open(&e->job, ctx, order, opts, err);
}

void emi_engine_release(emi_engine *e)
{
	em_ctx *ctx = e->job.ctx;

	/* Tasks of the merger write to `out' and read buffers of `fetch': it goes first. */
	emi_merger_close(&e->merger);
	emi_run_fetch_close(&e->fetch);
	emi_outseq_free(&e->out);
	emi_run_writer_free(&e->writer);
	emi_former_free(&e->former);
	emi_free(ctx, e->last, e->last_bytes);
	emi_line_store_free(&e->store);
	emi_buffer_free(ctx, e->kept.area, e->kept.area_bytes);
	emi_piece_free(ctx, e->lend, e->lend_bytes);
	emi_piece_free(ctx, e->ends, e->lines_bytes);
	emi_piece_free(ctx, e->lines, e->lines_bytes);
	e->last = e->lend = e->lines = e->kept.area = NULL;
	e->ends = NULL;
	emi_job_release(&e->job);
}

void emi_engine_close(emi_engine *e)
{
	if (e->job.ctx == NULL)
		return;
	emi_engine_release(e);
	emi_job_close(&e->job);
	memset(e, 0, sizeof *e);
}

/* Memory for the last record that was kept, of equal ones. */
static em_status make_last(emi_engine *e, em_errinfo *err)
{
	if ((e->job.flags & EM_SORT_UNIQUE) == 0)
		return EM_OK;
	e->last_bytes = e->job.by.codec->record_bytes;
	e->last = emi_alloc(e->job.ctx, e->last_bytes, err);
	return e->last != NULL ? EM_OK : err->status;
}

em_status emi_engine_prepare(emi_engine *e, em_errinfo *err)
{
	emi_job *job = &e->job;
	em_status st = emi_workers_reach(job->ctx, job->plan.threads, err);

	if (st == EM_OK)
		st = emi_outseq_init(&e->out, &job->runs, job->plan.write_buffers, job->plan.packers,
				     job->plan.block_bytes, err);
	if (st == EM_OK)
		st = emi_former_init(&e->former, job, job->plan.run_records, err);
	return st == EM_OK ? make_last(e, err) : st;
}

em_status emi_engine_prepare_few(emi_engine *e, uint64_t n, em_errinfo *err)
{
	emi_job *job = &e->job;
	em_status st = emi_former_init_few(&e->former, job, n, err);

	if (st == EM_OK && !emi_codec_in_place(job->by.codec)) {
		e->lend_bytes = job->plan.block_bytes;
		e->lend = emi_piece_alloc(job->ctx, e->lend_bytes, err);
		if (e->lend == NULL)
			st = err->status;
	}
	return st == EM_OK ? make_last(e, err) : st;
}

/* Begin the sequence `out' of so many bytes of records; how many there are of any length is not asked. */
void emi_engine_begin_out(emi_engine *e, const emi_dest *dest, uint64_t bytes)
{
	const emi_plan *plan = &e->job.plan;
	const size_t rb = e->job.by.codec->record_bytes;

	if (rb != 0)
		emi_outseq_begin(&e->out, dest, bytes / rb, plan->block_records);
	else
		emi_outseq_begin(&e->out, dest, 0, dest->text ? plan->block_bytes : emi_block_room(plan->block_bytes));
}

/* Records of one size that the first block of the next run has fewer: it fills whole pages, as far as records do, so
 * that no space is lost. */
static size_t short_by(const emi_job *job)
{
	const emi_plan *plan = &job->plan;
	const size_t pages = (size_t)((1 - emi_run_short(job->runs.n)) * (double)(plan->block_bytes / EMI_PAGE));
	const size_t records = pages * EMI_PAGE / job->by.codec->record_bytes;

	return records != 0 && records < plan->block_records ? plan->block_records - records : 0;
}

em_status emi_engine_begin_run(emi_engine *e, uint64_t bytes, em_errinfo *err)
{
	em_status st = EM_OK;
	emi_dest dest;

	if (e->writer.runs == NULL)
		st = emi_run_writer_init(&e->writer, &e->job.runs, err);
	if (st == EM_OK)
		st = emi_run_writer_begin(&e->writer, err);
	if (st != EM_OK)
		return st;
	dest = emi_run_dest(&e->writer);
	emi_engine_begin_out(e, &dest, bytes);
	if (bytes != 0 && e->job.by.codec->record_bytes != 0)
		emi_outseq_begin_short(&e->out, short_by(&e->job));
	return EM_OK;
}

em_status emi_engine_end_run(emi_engine *e, em_errinfo *err)
{
	emi_run run;
	em_status st = emi_run_writer_finish(&e->writer, &run, err);

	return st == EM_OK ? emi_job_add_run(&e->job, &run, e->writer.records, err) : st;
}

em_status emi_engine_spill(emi_engine *e, void *records, uint64_t n, em_errinfo *err)
{
	em_status st = emi_engine_begin_run(e, n * e->job.by.codec->record_bytes, err);

	if (st == EM_OK)
		st = emi_form_run(&e->former, records, n, &e->out, err);
	return st == EM_OK ? emi_engine_end_run(e, err) : st;
}

/* Runs that are merged at once, when no more are to come. */
static uint64_t all_runs(const emi_engine *e)
{
	return e->job.runs.n + (e->kept.area != NULL);
}

/* Is there memory for it beside the buffers of a merge of all runs, without too few of them being left to read
 * ahead? */
int emi_engine_can_keep(const emi_engine *e, size_t bytes)
{
	const emi_job *job = &e->job;
	const emi_plan_input in = emi_job_merging(job);
	emi_plan with = job->plan, without = job->plan;
	uint64_t ahead;

	if (job->opts.last_run == EM_LAST_RUN_WRITTEN)
		return 0;
	if (!emi_plan_merging(&without, &in, job->runs.n + 1, 0) ||
	    !emi_plan_merging(&with, &in, job->runs.n + 1, bytes))
		return 0;
	if (job->opts.last_run == EM_LAST_RUN_KEPT)
		return with.fan_in > job->runs.n;
	ahead = READ_AHEAD > job->runs.n / 2 ? READ_AHEAD : job->runs.n / 2;
	if (ahead > without.read_buffers)
		ahead = without.read_buffers;
	return with.fan_in > job->runs.n && with.read_buffers >= ahead && with.window == without.window;
}

em_status emi_engine_keep(emi_engine *e, char *area, char *other, size_t area_bytes, char *records, uint64_t n,
			  char **kept, em_errinfo *err)
{
	emi_job *job = &e->job;
	char *const to = job->by.codec->ref ? other : area;
	char *first;
	em_status st;

	*kept = NULL;
	if (to == NULL || job->runs.n == 0 || !emi_engine_can_keep(e, area_bytes))
		return EM_OK;
	st = emi_form_kept(&e->former, records, n, job->by.codec->ref ? other : NULL, &first, err);
	if (st != EM_OK)
		return st;
	*kept = e->kept.area = to;
	e->kept.area_bytes = area_bytes;
	e->kept.first = first;
	e->kept.bytes = (size_t)n * job->by.codec->record_bytes;
	job->kept_records = n;
	emi_job_count_run(job, n);
	return EM_OK;
}

em_status emi_engine_sort_to(emi_engine *e, void *records, uint64_t n, const emi_dest *dest, em_errinfo *err)
{
	em_status st;

	emi_engine_begin_out(e, dest, n * e->job.by.codec->record_bytes);
	st = emi_form_run(&e->former, records, n, &e->out, err);
	return st == EM_OK ? emi_outseq_end(&e->out, err) : st;
}

/* Buffers for merges of up to k of the runs that there are, or of what they become: a block of a merge is no larger
 * than all that it was made of. */
static em_status open_fetch(emi_engine *e, uint32_t k, em_errinfo *err)
{
	emi_job *job = &e->job;
	const emi_plan *plan = &job->plan;
	emi_run_fetch_opts o = { k, plan->read_buffers, plan->prefetch_buffers, 0, plan->packers != 0,
				 job->mispredict, 0 };
	uint64_t i, most = plan->block_bytes;

	for (i = 0; i < job->runs.n; i++)
		if (job->runs.run[i].longest > most)
			most = job->runs.run[i].longest;
	o.block_bytes = (size_t)(most + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	return emi_run_fetch_open(&e->fetch, &job->runs, &o, err);
}

/* Do the merge that was opened, if it was, into the sequence that was begun for it; what was put may still be on its
 * way. */
static em_status drive_merge(emi_engine *e, em_status st, em_errinfo *err)
{
	em_status end;

	while (st == EM_OK)
		st = emi_merger_step(&e->merger, err);
	if (st != EM_END)
		emi_outseq_abort(&e->out, st, err);
	emi_merger_close(&e->merger);
	if (st == EM_END && emi_outseq_status(&e->out) == EM_OK)
		return EM_OK;
	end = emi_outseq_end(&e->out, err);
	return st == EM_END ? end : st;
}

/* Wait until all blocks of all runs are on the disks. */
static em_status settle(emi_engine *e, em_errinfo *err)
{
	em_status st = emi_outseq_end(&e->out, err);
	uint64_t i;

	if (st == EM_OK && e->writer.runs != NULL)
		st = emi_run_writer_end(&e->writer, err);
	for (i = 0; i < e->job.runs.n; i++)
		e->job.runs.run[i].coming = 0;
	return st;
}

static int any_coming(const emi_run *runs, uint32_t k)
{
	uint32_t i;

	for (i = 0; i < k && !runs[i].coming; i++)
		continue;
	return i < k;
}

/* Bytes of the last merge. */
static uint64_t all_bytes(const emi_engine *e)
{
	return emi_run_bytes(e->job.runs.run, e->job.runs.n) + e->kept.bytes;
}

/* Neighbours that are merged. */
typedef struct group {
	uint64_t first;
	uint32_t k;             /* 0: no more merges are needed before the last one */
	int expected;           /* their blocks are being read, or are going to be when all of the merge before are */
} group;

static group next_group(const emi_job *job)
{
	group g = { 0, 0, 0 };

	g.k = emi_runs_group(&job->runs, job->plan.fan_in, job->plan.fan_in, &g.first);
	return g;
}

/* The list of runs is what it will be: one of so many bytes takes the place of those that are being merged. */
static void replace_runs(emi_job *job, const group *g)
{
	emi_run *runs = job->runs.run + g->first, run;
	uint32_t i;

	memset(&run, 0, sizeof run);
	run.bytes = emi_run_bytes(runs, g->k);
	for (i = 0; i < g->k; i++)
		if (runs[i].level > run.level)
			run.level = runs[i].level;
	run.level++;
	run.coming = 1;
	runs[0] = run;
	memmove(runs + 1, runs + g->k, (size_t)(job->runs.n - g->first - g->k) * sizeof *runs);
	job->runs.n -= g->k - 1;
}

/* Look for the merge after the one that has begun.  Runs that are not on the disks yet cannot be read: their merge
 * begins when they are. */
static group look_ahead(emi_engine *e)
{
	group g = next_group(&e->job);

	g.expected = g.k != 0 && !any_coming(e->job.runs.run + g.first, g.k);
	if (g.expected)
		emi_run_fetch_expect(&e->fetch, e->job.runs.run + g.first, g.k);
	return g;
}

/* The run that merging a group made is there, up to its end, which may still be on its way. */
static em_status end_merge(emi_engine *e, const group *g, em_errinfo *err)
{
	emi_job *job = &e->job;
	emi_run *at = job->runs.run + g->first, run;
	em_status st = emi_run_writer_finish(&e->writer, &run, err);
	uint64_t i;

	if (st != EM_OK)
		return st;
	/* It took all output buffers once, and turned a page of the directory: what was in these before is on the
	 * disks. */
	for (i = 0; i < job->runs.n && run.blocks >= e->out.nring; i++)
		job->runs.run[i].coming = 0;
	run.level = at->level;
	run.coming = 1;
	*at = run;
	return EM_OK;
}

/* Merge a group, and find the next one.  So that the disks always have something to do, they write the end of this
 * merge while they read the beginning of the next, and they read that as soon as all of this one is requested. */
static em_status merge_group(emi_engine *e, group *g, em_errinfo *err)
{
	emi_job *job = &e->job;
	emi_run *runs = job->runs.run + g->first;
	em_status st = EM_OK;
	group next = { 0, 0, 0 };

	if (!g->expected) {
		st = settle(e, err);
		emi_run_fetch_expect(&e->fetch, runs, g->k);
	}
	if (st == EM_OK)
		st = emi_engine_begin_run(e, emi_run_bytes(runs, g->k), err);
	if (st != EM_OK)
		return st;
	st = emi_merger_open(&e->merger, job, &job->plan, &e->fetch, runs, g->k, &e->kept, &e->out, err);
	if (st == EM_OK) {
		replace_runs(job, g);
		next = look_ahead(e);
	}
	st = drive_merge(e, st, err);
	if (st == EM_OK)
		st = end_merge(e, g, err);
	*g = next;
	return st;
}

/* All merges but the last one. */
static em_status merge_groups(emi_engine *e, em_errinfo *err)
{
	group g = next_group(&e->job);
	em_status st;

	emi_watch_phase(&e->job.watch, EM_PHASE_MERGE, 0);
	/* No later merge has more runs than the first one. */
	st = open_fetch(e, g.k, err);
	while (st == EM_OK && g.k != 0)
		st = merge_group(e, &g, err);
	if (st == EM_OK)
		emi_run_fetch_close(&e->fetch);
	return st;
}

/* Plan the merges: with memory that nobody planned with, and no block stays in, if that saves passes. */
static void plan_merges(emi_engine *e)
{
	emi_job *job = &e->job;
	emi_plan_input in = job->plan_input;
	emi_plan with = job->plan;
	uint64_t more;

	if (emi_plan_merging(&job->plan, &job->plan_input, all_runs(e), e->kept.area_bytes) &&
	    all_runs(e) <= job->plan.fan_in)
		return;
	more = emi_run_memory_leave(&job->runs.memory) + emi_vary_left(job);
	in.memory += more;
	with.memory += more;
	if (!emi_plan_merging(&with, &in, all_runs(e), e->kept.area_bytes))
		return;
	job->plan = with;
	job->plan_input = in;
}

em_status emi_engine_reduce(emi_engine *e, em_errinfo *err)
{
	emi_job *job = &e->job;
	em_status st = settle(e, err);
	uint32_t level = 0;
	uint64_t i;

	emi_former_free(&e->former);
	emi_line_store_free(&e->store);
	job->plan_input = emi_job_merging(job);
	plan_merges(e);
	if (st == EM_OK && job->runs.n > job->plan.fan_in)
		st = merge_groups(e, err);
	if (st == EM_OK)
		st = settle(e, err);
	emi_run_writer_free(&e->writer);
	for (i = 0; i < job->runs.n; i++)
		if (job->runs.run[i].level > level)
			level = job->runs.run[i].level;
	job->passes = level + 2;
	return st;
}

/* The last merge, of all runs that are left, into the sequence that was begun for it. */
static em_status open_last(emi_engine *e, em_errinfo *err)
{
	emi_job *job = &e->job;
	const uint32_t k = (uint32_t)job->runs.n;
	em_status st = open_fetch(e, k, err);

	if (st != EM_OK)
		return st;
	emi_run_fetch_expect(&e->fetch, job->runs.run, k);
	return emi_merger_open(&e->merger, job, &job->plan, &e->fetch, job->runs.run, k, &e->kept, &e->out, err);
}

em_status emi_engine_merge_to(emi_engine *e, const emi_dest *dest, em_errinfo *err)
{
	emi_job *job = &e->job;
	em_status st;

	emi_watch_phase(&job->watch, EM_PHASE_OUTPUT, all_bytes(e));
	if (!job->reuses)
		emi_room_give_back(job);
	emi_engine_begin_out(e, dest, all_bytes(e));
	st = drive_merge(e, open_last(e, err), err);
	emi_run_fetch_close(&e->fetch);
	return st == EM_OK ? emi_outseq_end(&e->out, err) : st;
}

em_status emi_engine_pull_begin(emi_engine *e, void *records, uint64_t n, em_errinfo *err)
{
	emi_job *job = &e->job;
	const void *elems;
	em_status st;

	if (records == NULL) {
		emi_watch_phase(&job->watch, EM_PHASE_OUTPUT, all_bytes(e));
		emi_engine_begin_out(e, &emi_dest_lends, all_bytes(e));
		return open_last(e, err);
	}
	st = emi_form_elems(&e->former, records, n, &elems, err);
	if (st != EM_OK)
		return st;
	emi_watch_phase(&job->watch, EM_PHASE_OUTPUT, n * job->by.codec->record_bytes);
	e->elems = elems;
	e->elems_at = 0;
	e->elems_end = n;
	return EM_OK;
}

/* Where records are made of elements: in their place, where that can be; or in a buffer of `out', which is idle. */
static char *batch_room(const emi_engine *e, const char *elems)
{
	if (emi_codec_in_place(e->job.by.codec))
		return (char *)(uintptr_t)elems;
	return e->lend != NULL ? e->lend : e->out.ring[0].buf.base;
}

/* The next batch of what was sorted in memory. */
static em_status pull_elems(emi_engine *e)
{
	emi_job *job = &e->job;
	const char *elems = e->elems + (size_t)e->elems_at * job->by.codec->elem_bytes;
	char *room = batch_room(e, elems);
	uint64_t n = e->elems_end - e->elems_at;

	if (n == 0)
		return EM_END;
	if (n > job->plan.block_records)
		n = job->plan.block_records;
	emi_collation_store(&job->by, elems, (size_t)n, room);
	e->batch.records = room;
	e->batch.n = (size_t)n;
	e->elems_at += n;
	emi_watch_add(&job->watch, n * job->by.codec->record_bytes);
	return EM_OK;
}

em_status emi_engine_pull_block(emi_engine *e, const emi_outblock **block, em_errinfo *err)
{
	return emi_merger_pull(&e->merger, &e->lent, block, err);
}

static em_status pull_merged(emi_engine *e, em_errinfo *err)
{
	const emi_outblock *b;
	em_status st = emi_engine_pull_block(e, &b, err);

	if (st != EM_OK)
		return st;
	e->batch.records = b->buf.base + b->buf.lead;
	e->batch.n = b->records;
	return EM_OK;
}

/* Keep the first of equal records, also of those that continue from the batch before. */
static void drop_duplicates(emi_engine *e)
{
	size_t rb = e->job.by.codec->record_bytes, i, kept = 0;
	char *base = (char *)(uintptr_t)e->batch.records;
	const char *last = e->have_last ? e->last : NULL;

	for (i = 0; i < e->batch.n; i++) {
		const char *r = base + i * rb;

		if (last != NULL && emi_collation_compare(&e->job.by, last, r) == 0)
			continue;
		if (kept != i)
			memcpy(base + kept * rb, r, rb);
		last = base + kept * rb;
		kept++;
	}
	if (kept != 0) {
		memcpy(e->last, last, rb);
		e->have_last = 1;
	}
	e->batch.n = kept;
}

em_status emi_engine_pull(emi_engine *e, const em_batch **batch, em_errinfo *err)
{
	em_status st;

	do {
		st = emi_job_check(&e->job, err);
		if (st == EM_OK)
			st = e->elems != NULL ? pull_elems(e) : pull_merged(e, err);
		if (st != EM_OK)
			return st;
		if (e->last != NULL)
			drop_duplicates(e);
	} while (e->batch.n == 0);
	e->batch.bytes = e->batch.n * e->job.by.codec->record_bytes;
	e->batch.ends = NULL;
	e->job.records_out += e->batch.n;
	*batch = &e->batch;
	return EM_OK;
}
