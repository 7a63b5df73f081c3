/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_parts.c -- see merge_parts.h.
 *
 * A thread has ranges of the files, and a view of the job: a copy with counters of its own, which are added up at the
 * end.  The last one is the calling thread, which alone calls the progress function, also while it waits for the
 * others.  Who fails cancels the job, and so all its views; what failed first is the failure.
 *
 * Where parts take turns, whoever is free takes the next one.  So the part whose turn it is, is in the hands of a
 * thread that waits for nobody.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "sort/merge_parts.h"

#include <pthread.h>
#include <string.h>

#include "base/condition.h"
#include "base/workers.h"
#include "sort/merge_inputs.h"
#include "sort/merge_split.h"
#include "sort/plan_vary.h"
#include "sort/record_out.h"

#define WAIT 0.1                /* seconds between two looks at the clock */

typedef struct worker {
	struct parts *all;
	uint32_t number;        /* of the part at hand */
	emi_job job;            /* the view */
	emi_merge_inputs inputs;
	emi_copier copier;
	emi_groups groups;
	emi_sink_part out;
	emi_task task;
	em_status status;
	em_errinfo err;
} worker;

typedef struct parts {
	emi_job *job;
	emi_sink *sink;
	const char *const *paths;
	const emi_parts_opts *opts;
	emi_merge_split split;
	worker *worker;
	uint32_t failed;        /* the number of the first that failed, from 1; atomic */
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed;
	uint32_t next;          /* the part that nobody took yet */
	uint32_t turn;          /* the part that may write */
} parts;

uint64_t emi_merge_parts_memory(const emi_job *job, uint32_t files, uint32_t threads, uint32_t n)
{
	const uint64_t pages = 2 + 2 * (uint64_t)EMI_COPIER_BUFFERS;
	const uint64_t first = job->keeps ? emi_keeper_memory(emi_longest_record(job)) : 0;
	const uint64_t each = sizeof(worker) + emi_merge_inputs_memory(job, files) + pages * EMI_PAGE + first;

	return threads * each + n * (files * sizeof(emi_extent) + sizeof(uint64_t));
}

/* A thread failed: it is too late for the others. */
static void fail(worker *w, em_status st)
{
	parts *all = w->all;
	uint32_t none = 0;

	w->status = st;
	__atomic_compare_exchange_n(&all->failed, &none, (uint32_t)(w - all->worker) + 1, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	emi_watch_cancel(&all->job->watch);
}

static uint64_t bytes_done(const parts *all)
{
	uint64_t done = 0;
	uint32_t i;

	for (i = 0; i < all->opts->threads; i++)
		done += __atomic_load_n(&all->worker[i].job.watch.done, __ATOMIC_RELAXED);
	return done;
}

/* The progress function of the calling thread. */
static int progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const parts *all = user;
	const emi_watch *w = &all->job->watch;

	done = bytes_done(all);
	return w->fn(w->user, phase, total != 0 && done > total ? total : done, total);
}

static em_status put(void *arg, const void *elems, size_t n, em_errinfo *err)
{
	worker *w = arg;

	if (w->groups.opts != NULL)
		return emi_groups_elems(&w->groups, elems, n, err);
	w->job.records_out += n;
	return emi_elems_out(&w->copier, elems, n, err);
}

static em_status merge_part(worker *w, em_errinfo *err)
{
	const parts *all = w->all;
	const uint32_t files = all->split.files;
	const emi_extent *range = &all->split.range[(size_t)w->number * files];
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; st == EM_OK && i < files; i++)
		if (range[i].bytes != 0)
			st = emi_merge_inputs_add(&w->inputs, all->paths[i], &range[i], err);
	return st == EM_OK ? emi_merge_inputs_run(&w->inputs, put, w, err) : st;
}

/* A part whose place is known. */
static em_status merge_to_place(worker *w, em_errinfo *err)
{
	em_status st;

	emi_copier_to_part(&w->copier, &w->out);
	st = merge_part(w, err);
	if (st == EM_OK)
		st = emi_copier_flush(&w->copier, err);
	if (st == EM_OK && w->out.pos != w->all->split.begin[w->number + 1])
		st = emi_fail(err, EM_ERR_FORMAT, "an input was changed while it was merged");
	return st;
}

/* Wait until all parts before the one at hand are written. */
static em_status await_turn(worker *w, em_errinfo *err)
{
	parts *all = w->all;
	em_status st = EM_OK;
	int mine;

	do {
		pthread_mutex_lock(&all->lock);
		mine = all->turn == w->number;
		if (!mine)
			emi_cond_wait_until(&all->changed, &all->lock, emi_now() + WAIT);
		pthread_mutex_unlock(&all->lock);
		if (!mine)
			st = emi_job_check(&w->job, err);
	} while (!mine && st == EM_OK);
	return st;
}

/* What is held has its turn. */
static em_status take_turn(void *arg, const char *data, size_t n, em_errinfo *err)
{
	worker *w = arg;
	emi_copier *out = w->all->opts->turns;
	em_status st = await_turn(w, err);

	if (st != EM_OK)
		return st;
	out->job = &w->job;
	return emi_copier_write(out, data, n, err);
}

static void end_turn(parts *all)
{
	pthread_mutex_lock(&all->lock);
	all->turn++;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
}

static int take_next(worker *w)
{
	parts *all = w->all;

	pthread_mutex_lock(&all->lock);
	w->number = all->next;
	if (all->next < all->split.parts)
		all->next++;
	pthread_mutex_unlock(&all->lock);
	return w->number < all->split.parts;
}

/* Parts that take turns, as long as there are any. */
static em_status merge_in_turns(worker *w, em_errinfo *err)
{
	const emi_group_opts *groups = w->all->opts->groups;
	em_status st = EM_OK;

	emi_copier_hold(&w->copier, take_turn, w);
	if (groups != NULL)
		st = emi_groups_init(&w->groups, &w->job, groups, &w->copier, err);
	while (st == EM_OK && take_next(w)) {
		st = merge_part(w, err);
		if (st == EM_OK)
			st = emi_groups_end(&w->groups, err);
		if (st == EM_OK)
			st = emi_copier_flush(&w->copier, err);
		if (st == EM_OK)
			st = await_turn(w, err);
		if (st == EM_OK)
			end_turn(w->all);
	}
	return st;
}

static void work(void *arg)
{
	worker *w = arg;
	const parts *all = w->all;
	em_status st = emi_copier_init(&w->copier, &w->job, all->sink, all->opts->copier_bytes, &w->err);

	if (st == EM_OK)
		st = emi_merge_inputs_init(&w->inputs, &w->job, all->split.files, &all->opts->input, &w->err);
	if (st == EM_OK)
		st = all->opts->turns != NULL ? merge_in_turns(w, &w->err) : merge_to_place(w, &w->err);
	emi_groups_free(&w->groups);
	emi_merge_inputs_free(&w->inputs);
	emi_copier_free(&w->copier);
	if (st != EM_OK)
		fail(w, st);
}

static em_status begin(parts *all, em_errinfo *err)
{
	const uint32_t n = all->opts->threads;
	em_status st = EM_OK;
	uint32_t i;

	all->worker = emi_alloc_array(all->job->ctx, n, sizeof *all->worker, err);
	if (all->worker == NULL)
		return err->status;
	for (i = 0; st == EM_OK && i < n; i++) {
		worker *w = &all->worker[i];
		emi_watch *watch = &w->job.watch;

		w->all = all;
		w->number = i;
		emi_job_view(&w->job, all->job);
		watch->fn = i + 1 == n && watch->fn != NULL ? progress : NULL;
		watch->user = all;
		if (all->opts->turns == NULL)
			st = emi_sink_part_open(&w->out, all->sink, all->split.begin[i], err);
	}
	/* Parts are written from several places on at a time: space side by side is best asked for at once. */
	if (st == EM_OK && all->opts->turns == NULL)
		st = emi_sink_expect(all->sink, all->split.begin[n], 0, NULL, NULL, err);
	return st;
}

/* All threads at a time. */
static void run(parts *all)
{
	em_ctx *ctx = all->job->ctx;
	const uint32_t others = all->opts->threads - 1;
	worker *mine = &all->worker[others];
	uint32_t i;

	for (i = 0; i < others; i++)
		emi_task_submit(ctx, &all->worker[i].task, work, &all->worker[i]);
	work(mine);
	for (i = 0; i < others; i++)
		while (!emi_task_wait_for(ctx, &all->worker[i].task, WAIT))
			if (emi_tick(&mine->job.watch) != EM_OK && mine->status == EM_OK)
				fail(mine, emi_fail(&mine->err, EM_ERR_CANCELED, "canceled"));
	/* Views are about to be gone. */
	if (all->opts->turns != NULL)
		all->opts->turns->job = all->job;
}

/* Writes of what took its turn may still be under way, and count. */
static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void add_io(emi_io_stats *to, const emi_io_stats *from)
{
	add(&to->bytes_read, from->bytes_read);
	add(&to->bytes_written, from->bytes_written);
	add(&to->ios_read, from->ios_read);
	add(&to->ios_written, from->ios_written);
	add(&to->wait_ns, from->wait_ns);
}

/* What was counted, and what was written, becomes one. */
static em_status join(parts *all, em_errinfo *err)
{
	emi_job *job = all->job;
	em_status st = EM_OK;
	uint32_t i;

	emi_watch_add(&job->watch, bytes_done(all));
	job->watch.last = all->worker[all->opts->threads - 1].job.watch.last;
	for (i = 0; i < all->opts->threads; i++) {
		worker *w = &all->worker[i];

		job->records_in += w->job.records_in;
		job->records_out += w->job.records_out;
		add_io(&job->io, &w->job.io);
		if (w->job.widest_merge > job->widest_merge)
			job->widest_merge = w->job.widest_merge;
		if (all->failed == 0 && st == EM_OK && all->opts->turns == NULL)
			st = emi_sink_part_join(&w->out, err);
	}
	if (all->failed == 0)
		return st;
	*err = all->worker[all->failed - 1].err;
	return all->worker[all->failed - 1].status;
}

static void end(parts *all)
{
	uint32_t i;

	for (i = 0; all->worker != NULL && i < all->opts->threads; i++)
		emi_sink_part_close(&all->worker[i].out);
	if (all->worker != NULL)
		emi_free_array(all->job->ctx, all->worker, all->opts->threads, sizeof *all->worker);
	emi_merge_split_free(&all->split);
	pthread_cond_destroy(&all->changed);
	pthread_mutex_destroy(&all->lock);
}

em_status emi_merge_parts(emi_job *job, emi_sink *sink, const char *const *paths, uint32_t files,
			  const emi_parts_opts *opts, em_errinfo *err)
{
	parts all;
	em_status st;

	memset(&all, 0, sizeof all);
	all.job = job;
	all.sink = sink;
	all.paths = paths;
	all.opts = opts;
	if (pthread_mutex_init(&all.lock, NULL) != 0)
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a lock");
	if (emi_cond_init(&all.changed) != 0) {
		pthread_mutex_destroy(&all.lock);
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a condition");
	}
	st = emi_merge_split_make(&all.split, job, paths, files, opts->parts, err);
	if (st == EM_OK)
		st = begin(&all, err);
	if (st == EM_OK) {
		run(&all);
		st = join(&all, err);
	}
	end(&all);
	return st;
}
