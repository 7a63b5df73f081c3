/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top.c -- em_top: records are pushed in, and the first ones pulled out.
 *
 * What is pushed at a time is divided among the threads.
 */
#include "sort/top.h"

#include <string.h>

#define PART_LEAST ((uint64_t)1024) /* fewer records are not worth another thread */

static emi_front *front_of(em_top *t)
{
	return t != NULL ? &t->front : NULL;
}

static em_status fill_cursor(emi_cursor *c, void *top)
{
	const em_batch *batch;
	const em_status st = em_top_next(top, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static void release(void *top)
{
	em_top *t = top;

	emi_top_end(t);
	emi_user_free(&t->watching);
	emi_object_free(t, sizeof *t);
}

static em_status open_top(em_top **out, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
			  const em_sort_opts *opts, em_errinfo *err)
{
	const emi_top_use use = { sizeof(em_top), NULL, NULL, 0, 0 };
	em_top *t = emi_object_new(ctx, sizeof *t, 0, release, err);
	em_status st;

	if (t == NULL)
		return err->status;
	st = emi_top_begin(t, ctx, order, from, k, opts, err);
	if (st != EM_OK) {
		emi_object_free(t, sizeof *t);
		return st;
	}
	st = emi_top_prepare_few(t, &use, err);
	emi_front_cursor(&t->front, fill_cursor, t);
	if (st != EM_OK)
		release(t);
	else
		*out = t;
	return st;
}

em_status em_top_open(em_top **out, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
		      const em_sort_opts *opts)
{
	const emi_user watching = emi_job_user(opts);
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", err);
	if (st == EM_OK)
		st = open_top(out, ctx, order, from, k, opts, err);
	return emi_user_give(st == EM_OK ? &(*out)->watching : NULL, &watching, st);
}

void em_top_close(em_top *t)
{
	/* Within a call: it is to end soon. */
	emi_front_cancel(front_of(t));
	emi_object_close(t);
}

/* How many of n records a thread gets that is one of all. */
static uint64_t part_of(const em_top *t, uint64_t n)
{
	const uint64_t part = n / t->strands + 1;

	return part < PART_LEAST ? PART_LEAST : part;
}

/* Few records, all of them: 1, or 0 if these have become too many. */
static int push_few(em_top *t, const char *from, uint64_t n, em_status *st)
{
	emi_front *f = &t->front;
	emi_job *job = &f->e.job;

	*st = EM_OK;
	if (!f->few)
		return 0;
	if (t->need == 0) {
		job->records_in += n;
		*st = emi_job_check(job, &job->err);
		return 1;
	}
	if (n > f->few_records - f->n) {
		*st = emi_front_grow(f, n, &job->err);
		return *st != EM_OK;
	}
	*st = emi_front_push(f, from, n, &job->err);
	return 1;
}

static em_status push_records(em_top *t, const char *from, uint64_t n)
{
	emi_job *job = &t->front.e.job;
	const size_t bytes = job->by.codec->record_bytes;
	uint64_t part;
	em_status st;
	uint32_t i;

	t->read += n * bytes;
	if (push_few(t, from, n, &st))
		return st;
	part = part_of(t, n);
	job->records_in += n;
	for (i = 0; n != 0; i++) {
		const uint64_t some = n < part ? n : part;

		emi_strand_records(&t->strand[i], from, some);
		from += (size_t)some * bytes;
		n -= some;
	}
	return emi_top_take(t, i, &job->err);
}

em_status em_top_push(em_top *t, const void *records, uint64_t n)
{
	const em_status st = emi_front_may_push(front_of(t), records, n);

	return st == EM_OK ? emi_front_did(&t->front, push_records(t, records, n)) : st;
}

em_status em_top_push_bytes(em_top *t, const void *records, size_t bytes)
{
	uint64_t n = 0;
	const em_status st = emi_front_may_push_bytes(front_of(t), records, bytes, &n);

	return st == EM_OK ? emi_front_did(&t->front, push_records(t, records, n)) : st;
}

uint64_t em_top_record_bytes(const em_top *t)
{
	return emi_front_record_bytes(t != NULL ? &t->front : NULL);
}

uint64_t em_top_pushed(const em_top *t)
{
	return emi_front_pushed(t != NULL ? &t->front : NULL);
}

static em_status push_batch(em_top *t, const em_batch *batch)
{
	emi_job *job = &t->front.e.job;
	em_status st = EM_OK;
	size_t few = 0, first;
	uint64_t part;
	uint32_t i;

	job->records_in += batch->n;
	t->read += batch->bytes;
	if (t->front.few && t->need == 0)
		return emi_job_check(job, &job->err);
	if (t->front.few)
		st = emi_front_add_few(&t->front, batch, &few, &job->err);
	if (st != EM_OK || few == batch->n)
		return st;
	part = part_of(t, batch->n - few);
	for (i = 0, first = few; first < batch->n; i++) {
		const size_t left = batch->n - first, some = left < part ? left : (size_t)part;

		emi_strand_batch(&t->strand[i], batch, first, some);
		first += some;
	}
	st = emi_top_take(t, i, &job->err);
	if (st == EM_ERR_RANGE && job->err.status == EM_OK)
		st = emi_front_too_long(t->long_need, &job->err);
	return st;
}

em_status em_top_push_batch(em_top *t, const void *records, const uint64_t *ends, uint64_t n)
{
	em_batch batch;
	em_status st = emi_front_may_push_batch(front_of(t), records, ends, n, &batch);

	if (st != EM_OK)
		return st;
	if (n != 0)
		st = ends == NULL ? push_records(t, records, n) : push_batch(t, &batch);
	return emi_front_did(&t->front, st);
}

em_status em_top_finish(em_top *t)
{
	const em_status st = emi_front_may_finish(front_of(t));

	return st == EM_OK ? emi_front_did(&t->front, emi_top_finish(t, &t->front.e.job.err)) : st;
}

em_status em_top_next(em_top *t, const em_batch **batch)
{
	const em_status st = emi_front_may_next(front_of(t), batch);

	return st == EM_OK ? emi_front_did(&t->front, emi_top_lend(t, batch, &t->front.e.job.err)) : st;
}

em_cursor *em_top_cursor(em_top *t)
{
	return t != NULL ? &t->front.cursor.c : NULL;
}

void em_top_cancel(em_top *t)
{
	emi_front_cancel(front_of(t));
}

void em_top_error(const em_top *t, em_errinfo *err)
{
	emi_object_error(t, err);
}

em_status em_top_stats_get(const em_top *t, em_sort_stats *stats)
{
	return emi_front_stats(t != NULL ? &t->front : NULL, stats);
}
