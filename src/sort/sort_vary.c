/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_vary.c -- sorting files of records of any length.
 *
 * Records are read, framed and put in the store by all threads (line_loader.h); a full store becomes a run, and the
 * last one may stay in memory.  A store that is too small for a long record becomes a run, and another one is taken.
 *
 * The last merge makes output bytes in the buffers that are written.  Only where the output is not a file, or equal
 * records are dropped or counted, frames are pulled and copied.
 */
#include "sort/sort_vary.h"

#include <string.h>

#include "sort/copier.h"
#include "sort/engine.h"
#include "sort/plan_job.h"
#include "sort/plan_vary.h"
#include "sort/line_loader.h"
#include "sort/record_out.h"
#include "sort/room.h"
#include "sort/trial.h"
#include "stream/input.h"

typedef struct vary_sort {
	emi_engine e;
	emi_records *records;
	emi_sink *sink;
	emi_line_loader loader;
	emi_copier copier;
	emi_groups groups;      /* if there are any to be made */
	int copies;             /* the output is pulled and copied */
	uint64_t header_bytes;  /* in front of what is sorted */
	uint64_t bytes;         /* of the inputs, or EMI_UNKNOWN */
	int only_plan;          /* tell what it takes and do nothing */
	uint64_t spilled;       /* of them */
	const char *const *paths;
	uint32_t npaths;
} vary_sort;

static em_status put_sink(void *arg, emi_outblock *block, em_errinfo *err)
{
	vary_sort *f = arg;

	return emi_sink_put(f->sink, &block->buf, err);
}

static size_t lead_sink(void *arg, uint64_t position)
{
	vary_sort *f = arg;

	return emi_sink_lead(f->sink, f->header_bytes + position);
}

static em_status keep_header(void *arg, const void *record, size_t n, em_errinfo *err)
{
	vary_sort *f = arg;

	return emi_copier_write(&f->copier, record, n, err);
}

/* Pull frames and copy their records. */
static em_status pull_all(vary_sort *f, em_errinfo *err)
{
	em_status st = emi_engine_pull_vary(&f->e, err);

	emi_room_give_back(&f->e.job);
	while (st == EM_OK) {
		const unsigned char *frame;
		emi_frame r;

		st = emi_engine_pull_frame(&f->e, &frame, err);
		if (st != EM_OK)
			break;
		r = emi_frame_get(f->e.job.by.vary, frame);
		st = f->groups.opts != NULL ? emi_groups_frame(&f->groups, &r, err)
					    : emi_record_out(&f->copier, &r, err);
	}
	if (st == EM_END)
		st = emi_groups_end(&f->groups, err);
	return st == EM_OK ? emi_copier_flush(&f->copier, err) : st;
}

static void free_input(vary_sort *f)
{
	emi_line_loader_free(&f->loader);
	emi_records_close(f->records);
	f->records = NULL;
}

/* All records are in the store, or it and the runs. */
static em_status put_out(vary_sort *f, em_errinfo *err)
{
	const emi_dest dest = { put_sink, lead_sink, f, 0, 1, NULL };
	emi_engine *e = &f->e;
	em_status st = EM_OK;

	free_input(f);
	if (e->job.runs.n != 0) {
		st = emi_engine_keep_store(e, err);
		if (st == EM_OK && e->store.n != 0)
			st = emi_engine_spill_store(e, err);
		if (st == EM_OK)
			st = emi_engine_reduce(e, err);
	}
	if (st != EM_OK || f->copies)
		return st == EM_OK ? pull_all(f, err) : st;
	e->job.records_out = e->job.records_in;
	if (e->job.runs.n != 0)
		return emi_engine_merge_to(e, &dest, err);
	return e->store.n != 0 ? emi_engine_send_store(e, &dest, err) : EM_OK;
}

/*
 * The store is full.  The last run may stay in memory, so it is the one before it that gets fewer records when these do
 * not fill all: as many as leave nearly a store, or what there is memory for, if lines go on as they are.
 */
static void size_next_run(vary_sort *f)
{
	emi_job *job = &f->e.job;
	emi_line_store *store = &f->e.store;
	const uint64_t whole = store->out, stay = emi_line_store_stay_bytes(store), room = job->plan_input.form_bytes;
	const uint64_t keep =
		(stay <= room ? whole : (uint64_t)((double)whole * (double)room / (double)stay)) / 16 * 15;
	const int aimed = store->most != 0;
	uint64_t left;

	f->spilled += whole;
	if (job->opts.run_records != 0)
		return;
	store->most = 0;
	if (aimed || f->bytes == EMI_UNKNOWN || f->bytes < f->spilled)
		return;
	left = f->bytes - f->spilled;
	if (left > keep + whole / 16 && left < keep + whole &&
	    emi_engine_can_keep(&f->e, (size_t)(stay < room ? stay : room)))
		store->most = (left - keep) / (whole / store->n + 1) + 1;
}

/* The list of runs is full: it grows at the expense of the runs, as long as the store has room for the longest records
 * and what comes from a stage. */
static em_status list_more_runs(vary_sort *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	emi_line_store *store = &f->e.store;
	const uint64_t less = job->runs.room * sizeof *job->runs.run + EMI_PAGE,
		       longest = 2 * (job->plan_input.longest_record + EMI_PAGE);
	const uint64_t stage = 2 * (f->loader.most_bytes + f->loader.most_elems * 2 * sizeof(emi_pair)) +
			       EMI_LINE_STORE_SLACK;
	const size_t bytes = store->bytes;
	em_status st;

	/* Who adds another run tells that the list is full. */
	if (bytes < less + (longest > stage ? longest : stage))
		return EM_OK;
	emi_line_store_let(store);
	st = emi_job_more_runs(job, err);
	return st == EM_OK ? emi_line_store_take(store, bytes - (size_t)less, err) : st;
}

/* The store is full, and becomes a run. */
static em_status end_run(vary_sort *f, em_errinfo *err)
{
	em_status st;

	size_next_run(f);
	st = emi_engine_spill_store(&f->e, err);
	return st == EM_OK && f->e.job.runs.n == f->e.job.runs.room ? list_more_runs(f, err) : st;
}

static em_status sort_all(vary_sort *f, em_errinfo *err)
{
	em_status st;
	int full;

	for (;;) {
		st = emi_line_loader_fill(&f->loader, &full, err);
		f->e.job.records_in = f->loader.records_in;
		if (st != EM_OK || !full)
			break;
		if (f->e.store.n != 0)
			st = end_run(f, err);
		if (st == EM_OK)
			st = emi_line_store_reach(&f->e.store, f->loader.need, err);
		if (st != EM_OK)
			break;
	}
	if (st == EM_OK && f->loader.header.begun) {
		st = emi_copier_flush(&f->copier, err);
		f->header_bytes = f->copier.at;
	}
	return st == EM_OK ? put_out(f, err) : st;
}

/* The store and what fills it. */
static em_status make_input(vary_sort *f, const emi_needs *needs, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	em_status st = emi_engine_prepare_vary(&f->e, emi_vary_store(job, needs), 0, err);
	emi_records_opts opts;

	if (st != EM_OK)
		return st;
	emi_vary_reading(job, &opts);
	st = emi_records_open(&f->records, job->ctx, f->paths, f->npaths, &opts, &job->io, err);
	if (st == EM_OK)
		st = emi_line_loader_init(&f->loader, &f->e.store, f->records, f->paths, opts.chunk_bytes,
					  emi_vary_longest(job), err);
	f->loader.header.ctx = job->ctx;
	f->loader.header.format = &job->format;
	f->loader.header.paths = f->paths;
	f->loader.header.records = job->opts.header;
	f->loader.header.to = keep_header;
	f->loader.header.arg = f;
	return st;
}

/* Bytes of the inputs, or EMI_UNKNOWN, found out before there is a plan. */
static em_status look(vary_sort *f, emi_needs *needs, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	emi_inputs in;
	em_status st = emi_inputs_init(&in, job->ctx, f->paths, f->npaths, 1, err);

	if (st != EM_OK)
		return st;
	needs->bytes = in.bytes;
	emi_inputs_free(&in, job->ctx);
	return EM_OK;
}

/* Bytes of the output, to reserve space for; 0 when that is not known.  A delimiter more at the end of an input does
 * not matter. */
static uint64_t expected_bytes(const emi_job *job, const emi_needs *needs)
{
	return needs->bytes == EMI_UNKNOWN || (job->flags & EM_SORT_UNIQUE) != 0 || job->keeps ? 0 : needs->bytes;
}

/* Can all be read again when a record turns out to be too long? */
static int repeats(const vary_sort *f)
{
	return emi_trial_repeats(f->paths, f->npaths, f->bytes,
				 f->e.job.opts.header != 0 && !emi_sink_is_file(f->sink));
}

static em_status run(vary_sort *f, const char *output, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	emi_needs needs;
	em_status st;

	memset(&needs, 0, sizeof needs);
	st = look(f, &needs, err);
	f->bytes = needs.bytes;
	if (st == EM_OK)
		st = emi_sink_open(&f->sink, job->ctx, output, 0, &job->io, err);
	if (st != EM_OK)
		return st;
	f->copies = (job->flags & EM_SORT_UNIQUE) != 0 || job->keeps || !emi_sink_is_file(f->sink);
	needs.n = EMI_UNKNOWN;
	needs.spare = f->copies || job->opts.header != 0 ? EMI_COPIER_BUFFERS : 0;
	needs.files = 2;
	/* The sink is open, and there are a few structs. */
	needs.open = emi_sink_is_file(f->sink) ? 1 : 0;
	needs.held = sizeof *f + 2u * EMI_PAGE;
	needs.once = !repeats(f);
	st = emi_job_plan(job, &needs, err);
	if (st == EM_OK && f->only_plan)
		return emi_trial_told(job, err);
	if (st == EM_OK)
		st = emi_room_check(job, &needs, err);
	if (st == EM_OK)
		st = emi_room_output(job, f->sink, expected_bytes(job, &needs), err);
	if (st == EM_OK && needs.spare != 0)
		st = emi_copier_init(&f->copier, job, f->sink, job->plan.block_bytes, err);
	if (st == EM_OK)
		st = make_input(f, &needs, err);
	if (st == EM_OK) {
		emi_watch_phase(&job->watch, EM_PHASE_RUNS, needs.bytes == EMI_UNKNOWN ? 0 : needs.bytes);
		st = sort_all(f, err);
	}
	if (st == EM_OK)
		st = emi_sink_commit(f->sink, err);
	emi_watch_settle(&job->watch);
	return st;
}

/* A call. */
typedef struct call {
	em_ctx *ctx;
	const em_order *order;
	const char *const *inputs;
	uint32_t ninputs;
	const char *output;
	const em_sort_opts *opts;
	em_sort_stats *stats;
	const emi_group_opts *groups;
} call;

static em_status attempt(void *arg, emi_trial *t, em_errinfo *err)
{
	const call *c = arg;
	vary_sort *f = emi_alloc(c->ctx, sizeof *f, err);
	em_status st;

	t->again = 0;
	if (f == NULL)
		return err->status;
	f->paths = c->inputs;
	f->npaths = c->ninputs;
	f->only_plan = t->only_plan;
	st = emi_engine_open(&f->e, c->ctx, c->order, c->opts, err);
	if (st == EM_OK && c->groups != NULL)
		st = emi_groups_init(&f->groups, &f->e.job, c->groups, &f->copier, err);
	if (st == EM_OK) {
		emi_job *job = &f->e.job;

		job->line = t->line;
		job->out_extra = emi_record_extra(&job->format);
		st = run(f, c->output, err);
		emi_trial_next(t, job, repeats(f), st, err);
	}
	if (f->e.job.ctx != NULL) {
		if (c->stats != NULL && !f->only_plan)
			emi_job_stats(&f->e.job, c->stats);
		free_input(f);
		emi_groups_free(&f->groups);
		/* Output buffers of the engine may be on their way to the sink: waiting for them comes first. */
		emi_merger_close(&f->e.merger);
		emi_outseq_free(&f->e.out);
		emi_copier_free(&f->copier);
		emi_sink_close(f->sink);
		emi_engine_close(&f->e);
	}
	emi_free(c->ctx, f, sizeof *f);
	return st;
}

em_status emi_sort_vary(em_ctx *ctx, const em_order *order, const char *const *inputs, uint32_t ninputs,
			const char *output, const em_sort_opts *opts, em_sort_stats *stats,
			const emi_group_opts *groups, em_errinfo *err)
{
	call c = { ctx, order, inputs, ninputs, output, opts, stats, groups };

	return emi_trials(attempt, &c, err);
}
