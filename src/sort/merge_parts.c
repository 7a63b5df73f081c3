/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_parts.c -- see merge_parts.h.
 *
 * A part has its ranges of the files, its place in the output, and a view of the job: a copy with counters of its own, which are added up at the
 * end.  The last part is the calling thread's, which alone calls the progress function, also while it waits for the others.  A
 * part that fails cancels all views; what failed first is the failure.
 */
#include "sort/merge_parts.h"

#include <string.h>

#include "base/workers.h"
#include "sort/merge_inputs.h"
#include "sort/merge_split.h"
#include "sort/record_out.h"

#define WAIT 0.1                /* seconds between two looks at the clock */

typedef struct part {
	struct parts *all;
	uint32_t number;
	emi_job job;            /* the view */
	emi_merge_inputs inputs;
	emi_copier copier;
	emi_sink_part out;
	emi_task task;
	em_status status;
	em_errinfo err;
} part;

typedef struct parts {
	emi_job *job;
	emi_sink *sink;
	const char *const *paths;
	const emi_parts_opts *opts;
	emi_merge_split split;
	part *part;
	uint32_t failed;        /* the number of the first that failed, from 1; atomic */
} parts;

uint64_t emi_merge_parts_memory(const emi_job *job, uint32_t files, uint32_t n)
{
	const uint64_t pages = 2 + 2 * (uint64_t)EMI_COPIER_BUFFERS;
	const uint64_t each = sizeof(part) + emi_merge_inputs_memory(job, files) + pages * EMI_PAGE;

	return n * (each + files * sizeof(emi_extent));
}

/* A part failed: it is too late for the others. */
static void fail_part(part *p, em_status st)
{
	parts *all = p->all;
	uint32_t none = 0, i;

	p->status = st;
	if (!__atomic_compare_exchange_n(&all->failed, &none, p->number + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	for (i = 0; i < all->split.parts; i++)
		__atomic_store_n(&all->part[i].job.watch.canceled, 1, __ATOMIC_RELAXED);
}

static uint64_t bytes_done(const parts *all)
{
	uint64_t done = 0;
	uint32_t i;

	for (i = 0; i < all->split.parts; i++)
		done += __atomic_load_n(&all->part[i].job.watch.done, __ATOMIC_RELAXED);
	return done;
}

/* The progress function of the calling thread's part. */
static int progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const parts *all = user;
	const emi_watch *w = &all->job->watch;

	done = bytes_done(all);
	return w->fn(w->user, phase, total != 0 && done > total ? total : done, total);
}

static em_status put(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	part *p = arg;

	p->job.records_out += n;
	return emi_elems_out(&p->copier, elems, n, err);
}

static em_status merge_part(part *p, em_errinfo *err)
{
	const parts *all = p->all;
	const uint32_t files = all->split.files;
	const emi_extent *range = &all->split.range[(size_t)p->number * files];
	em_status st = emi_copier_init(&p->copier, &p->job, all->sink, all->opts->copier_bytes, err);
	uint32_t i;

	if (st == EM_OK)
		st = emi_merge_inputs_init(&p->inputs, &p->job, files, &all->opts->input, err);
	if (st != EM_OK)
		return st;
	emi_copier_to_part(&p->copier, &p->out);
	for (i = 0; st == EM_OK && i < files; i++)
		if (range[i].bytes != 0)
			st = emi_merge_inputs_add(&p->inputs, all->paths[i], &range[i], err);
	if (st == EM_OK)
		st = emi_merge_inputs_run(&p->inputs, put, p, err);
	if (st == EM_OK)
		st = emi_copier_flush(&p->copier, err);
	if (st == EM_OK && p->out.pos != all->split.begin[p->number + 1])
		st = emi_fail(err, EM_ERR_FORMAT, "an input was changed while it was merged");
	return st;
}

static void run_part(void *arg)
{
	part *p = arg;
	const em_status st = merge_part(p, &p->err);

	emi_merge_inputs_free(&p->inputs);
	emi_copier_free(&p->copier);
	if (st != EM_OK)
		fail_part(p, st);
}

static em_status begin(parts *all, em_errinfo *err)
{
	const uint32_t n = all->split.parts;
	em_status st = EM_OK;
	uint32_t i;

	all->part = emi_alloc_array(all->job->ctx, n, sizeof *all->part, err);
	if (all->part == NULL)
		return err->status;
	for (i = 0; st == EM_OK && i < n; i++) {
		part *p = &all->part[i];
		emi_watch *w = &p->job.watch;

		p->all = all;
		p->number = i;
		p->job = *all->job;
		p->job.records_in = p->job.records_out = 0;
		memset(&p->job.io, 0, sizeof p->job.io);
		w->done = 0;
		w->fn = i + 1 == n && w->fn != NULL ? progress : NULL;
		w->user = all;
		st = emi_sink_part_open(&p->out, all->sink, all->split.begin[i], err);
	}
	return st;
}

/* All parts at a time. */
static void run(parts *all)
{
	em_ctx *ctx = all->job->ctx;
	part *mine = &all->part[all->split.parts - 1];
	uint32_t i;

	for (i = 0; i + 1 < all->split.parts; i++)
		emi_task_submit(ctx, &all->part[i].task, run_part, &all->part[i]);
	run_part(mine);
	for (i = 0; i + 1 < all->split.parts; i++)
		while (!emi_task_wait_for(ctx, &all->part[i].task, WAIT))
			if (emi_tick(&mine->job.watch) != EM_OK && mine->status == EM_OK)
				fail_part(mine, emi_fail(&mine->err, EM_ERR_CANCELED, "canceled"));
}

static void add_io(emi_io_stats *to, const emi_io_stats *from)
{
	to->bytes_read += from->bytes_read;
	to->bytes_written += from->bytes_written;
	to->ios_read += from->ios_read;
	to->ios_written += from->ios_written;
	to->wait_ns += from->wait_ns;
}

/* What was counted, and what was written, becomes one. */
static em_status join(parts *all, em_errinfo *err)
{
	emi_job *job = all->job;
	em_status st = EM_OK;
	uint32_t i;

	emi_watch_add(&job->watch, bytes_done(all));
	job->watch.last = all->part[all->split.parts - 1].job.watch.last;
	for (i = 0; i < all->split.parts; i++) {
		part *p = &all->part[i];

		job->records_in += p->job.records_in;
		job->records_out += p->job.records_out;
		add_io(&job->io, &p->job.io);
		if (p->job.widest_merge > job->widest_merge)
			job->widest_merge = p->job.widest_merge;
		if (all->failed == 0 && st == EM_OK)
			st = emi_sink_part_join(&p->out, err);
	}
	if (all->failed == 0)
		return st;
	*err = all->part[all->failed - 1].err;
	return all->part[all->failed - 1].status;
}

static void end(parts *all)
{
	uint32_t i;

	for (i = 0; all->part != NULL && i < all->split.parts; i++)
		emi_sink_part_close(&all->part[i].out);
	if (all->part != NULL)
		emi_free_array(all->job->ctx, all->part, all->split.parts, sizeof *all->part);
	emi_merge_split_free(&all->split);
}

em_status emi_merge_parts(emi_job *job, emi_sink *sink, const char *const *paths, uint32_t files, const emi_parts_opts *opts,
			  em_errinfo *err)
{
	parts all;
	em_status st;

	memset(&all, 0, sizeof all);
	all.job = job;
	all.sink = sink;
	all.paths = paths;
	all.opts = opts;
	st = emi_merge_split_make(&all.split, job, paths, files, opts->parts, err);
	if (st != EM_OK)
		return st;
	st = begin(&all, err);
	/* Parts are written from several places on at a time: space side by side is best asked for at once. */
	if (st == EM_OK)
		st = emi_sink_expect(sink, all.split.begin[opts->parts], 0, NULL, NULL, err);
	if (st == EM_OK) {
		run(&all);
		st = join(&all, err);
	}
	end(&all);
	return st;
}
