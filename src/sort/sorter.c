/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorter.c -- em_sorter: records are pushed in and pulled out.
 *
 * Pushed records are copied to an area, or, when they are of any length, to the store; each time it is full, and more
 * comes, it is spilled as a run.
 */
#include <string.h>

#include "sort/plan_job.h"
#include "sort/plan_vary.h"
#include "sort/sorter.h"

static emi_front *front_of(em_sorter *s)
{
	return s != NULL ? &s->front : NULL;
}

/* There are more than a few records: memory for runs. */
static em_status engage(emi_front *f, em_errinfo *err)
{
	const em_status st = emi_job_plan(&f->e.job, &f->needs, err);

	if (st != EM_OK || !emi_front_varied(f))
		return st == EM_OK ? emi_front_prepare(f, err) : st;
	return emi_engine_prepare_vary(&f->e, emi_vary_store(&f->e.job, &f->needs), 1, err);
}

static em_status fill_cursor(emi_cursor *c, void *sorter)
{
	const em_batch *batch;
	const em_status st = em_sorter_next(sorter, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static void release(void *sorter)
{
	em_sorter *s = sorter;

	emi_front_close(&s->front);
	emi_user_free(&s->watching);
	emi_object_free(s, sizeof *s);
}

/* The engine is open. */
static em_status begin(em_sorter *s, em_errinfo *err)
{
	const emi_needs needs = { .n = EMI_UNKNOWN, .pushed = 1, .held = sizeof(em_sorter),
				  .bytes = emi_front_varied(&s->front) ? EMI_UNKNOWN : s->expected,
				  .later = s->later, .once = 1 };

	return emi_front_begin(&s->front, &needs, engage, err);
}

em_status emi_sorter_open(em_sorter **out, em_ctx *ctx, const em_order *order, const em_sort_opts *opts, uint64_t later,
			  uint64_t expected, em_errinfo *err)
{
	em_sorter *s = emi_object_new(ctx, sizeof *s, 0, release, err);
	em_status st;

	if (s == NULL)
		return err->status;
	st = emi_engine_open(&s->front.e, ctx, order, opts, err);
	if (st != EM_OK) {
		emi_object_free(s, sizeof *s);
		return st;
	}
	s->later = later;
	s->expected = expected;
	st = begin(s, err);
	emi_front_cursor(&s->front, fill_cursor, s);
	if (st != EM_OK)
		release(s);
	else
		*out = s;
	return st;
}

em_status em_sorter_open(em_sorter **out, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", err);
	if (st == EM_OK)
		st = emi_sorter_open(out, ctx, order, opts, 0, EMI_UNKNOWN, err);
	return emi_user_give(st == EM_OK ? &(*out)->watching : NULL, &watching, st);
}

void em_sorter_close(em_sorter *s)
{
	/* Within a call: it is to end soon. */
	emi_front_cancel(front_of(s));
	emi_object_close(s);
}

em_status em_sorter_push(em_sorter *s, const void *records, uint64_t n)
{
	const em_status st = emi_front_may_push(front_of(s), records, n);

	return st == EM_OK ? emi_front_did(&s->front, emi_front_push(&s->front, records, n, &s->front.e.job.err)) : st;
}

em_status em_sorter_push_bytes(em_sorter *s, const void *records, size_t bytes)
{
	uint64_t n = 0;
	const em_status st = emi_front_may_push_bytes(front_of(s), records, bytes, &n);

	return st == EM_OK ? emi_front_did(&s->front, emi_front_push(&s->front, records, n, &s->front.e.job.err)) : st;
}

uint64_t em_sorter_record_bytes(const em_sorter *s)
{
	return emi_front_record_bytes(s != NULL ? &s->front : NULL);
}

uint64_t em_sorter_pushed(const em_sorter *s)
{
	return emi_front_pushed(s != NULL ? &s->front : NULL);
}

/* Add a record of a batch, none of which is too long. */
static em_status push_record(emi_front *f, const char *record, size_t n)
{
	emi_job *job = &f->e.job;
	emi_line_store *store = &f->e.store;
	em_status st;
	size_t need;

	if (emi_line_store_add(store, record, n, &need))
		return EM_OK;
	if (need > emi_vary_longest(job))
		return emi_front_too_long(need, &job->err);
	st = emi_front_spill(f, &job->err);
	if (st == EM_OK)
		st = emi_line_store_reach(store, need, &job->err);
	if (st != EM_OK || emi_line_store_add(store, record, n, &need))
		return st;
	return emi_fail(&job->err, EM_ERR_INTERNAL, "a record of %llu bytes does not fit in memory",
			(unsigned long long)n);
}

em_status emi_sorter_add(emi_front *f, const char *record, size_t n, em_errinfo *err)
{
	const uint64_t end = n;
	em_batch one = { record, 1, n, &end };
	em_status st = EM_OK;
	size_t i = 0;

	if (f->few)
		st = emi_front_add_few(f, &one, &i, err);
	if (st == EM_OK && i == 0)
		st = push_record(f, record, n);
	f->e.job.records_in += st == EM_OK;
	return st;
}

static em_status push_batch(emi_front *f, const em_batch *batch)
{
	const char *from = batch->records;
	emi_job *job = &f->e.job;
	em_status st = emi_job_check(job, &job->err);
	uint64_t begin;
	size_t i = 0;

	if (st == EM_OK && f->few)
		st = emi_front_add_few(f, batch, &i, &job->err);
	job->records_in += i;
	begin = i != 0 ? batch->ends[i - 1] : 0;
	for (; i < batch->n && st == EM_OK; begin = batch->ends[i++]) {
		st = push_record(f, from + begin, (size_t)(batch->ends[i] - begin));
		if (st == EM_OK)
			job->records_in++;
	}
	return st;
}

em_status em_sorter_push_batch(em_sorter *s, const void *records, const uint64_t *ends, uint64_t n)
{
	emi_front *f = front_of(s);
	em_batch batch;
	em_status st = emi_front_may_push_batch(f, records, ends, n, &batch);

	if (st != EM_OK)
		return st;
	if (n != 0)
		st = ends == NULL ? emi_front_push(f, records, n, &f->e.job.err) : push_batch(f, &batch);
	return emi_front_did(f, st);
}

/* The engine is closed and opened again with the same order, of which we keep a reference meanwhile, and options, which
 * are a copy but for the format. */
static em_status clear(em_sorter *s, em_errinfo *err)
{
	emi_front *f = &s->front;
	emi_job *job = &f->e.job;
	em_sort_opts opts = job->opts;
	const em_format format = job->format;
	em_order *order = job->by.order;
	em_status st;

	if (order == NULL)
		return emi_fail(err, EM_ERR_STATE, "the sorter could not be cleared before");
	if (opts.format != NULL)
		opts.format = &format;
	emi_order_ref(order);
	emi_front_close(f);
	emi_cursor_clear(&f->cursor);
	f->stage = EMI_PUSHING;
	f->n = f->room = 0;
	f->area_bytes = 0;
	st = emi_engine_open(&f->e, f->object.ctx, order, &opts, err);
	if (st == EM_OK) {
		job->opts.format = opts.format != NULL ? &job->format : NULL;
		st = begin(s, err);
	}
	em_order_close(order);
	if (st == EM_OK)
		return EM_OK;
	job->err = *err;
	return emi_job_result(job, st);
}

em_status em_sorter_clear(em_sorter *s)
{
	em_errinfo err;
	const em_status st = emi_enter(s, &err);

	return st == EM_OK ? emi_leave(s, clear(s, &err), &err) : st;
}

uint64_t em_sorter_longest(const em_sorter *s)
{
	const emi_job *job;

	if (s == NULL || s->front.e.job.ctx == NULL)
		return 0;
	job = &s->front.e.job;
	return emi_front_varied(&s->front) ? emi_front_longest(&s->front) - EMI_LENGTH_MAX
					   : job->by.codec->record_bytes;
}

static em_status finish(emi_front *f)
{
	emi_job *job = &f->e.job;
	em_status st = emi_job_check(job, &job->err);

	f->stage = EMI_FINISHED;
	if (st == EM_OK)
		st = emi_front_end_few(f, &job->err);
	if (st != EM_OK || job->runs.n == 0)
		return st;
	st = emi_front_keep(f, &job->err);
	return st == EM_OK ? emi_front_reduce(f, &job->err) : st;
}

em_status em_sorter_finish(em_sorter *s)
{
	const em_status st = emi_front_may_finish(front_of(s));

	return st == EM_OK ? emi_front_did(&s->front, finish(&s->front)) : st;
}

em_status em_sorter_next(em_sorter *s, const em_batch **batch)
{
	const em_status st = emi_front_may_next(front_of(s), batch);

	return st == EM_OK ? emi_front_did(&s->front, emi_front_pull(&s->front, batch, &s->front.e.job.err)) : st;
}

em_cursor *em_sorter_cursor(em_sorter *s)
{
	return s != NULL ? &s->front.cursor.c : NULL;
}

void em_sorter_cancel(em_sorter *s)
{
	emi_front_cancel(front_of(s));
}

void em_sorter_error(const em_sorter *s, em_errinfo *err)
{
	emi_object_error(s, err);
}

em_status em_sorter_stats_get(const em_sorter *s, em_sort_stats *stats)
{
	return emi_front_stats(s != NULL ? &s->front : NULL, stats);
}
