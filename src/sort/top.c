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

static void release(void *top)
{
	em_top *t = top;

	emi_top_end(t);
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
	st = emi_top_prepare(t, &use, err);
	if (st != EM_OK)
		release(t);
	else
		*out = t;
	return st;
}

em_status em_top_open(em_top **out, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
		      const em_sort_opts *opts)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	em_status st;

	emi_errinfo_clear(err);
	if (out != NULL)
		*out = NULL;
	st = emi_given(out, "out", err);
	if (st == EM_OK)
		st = emi_given(ctx, "ctx", err);
	return st == EM_OK ? open_top(out, ctx, order, from, k, opts, err) : st;
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

static em_status push_records(em_top *t, const char *from, uint64_t n)
{
	const uint64_t part = part_of(t, n);
	emi_job *job = &t->front.e.job;
	const size_t bytes = job->by.codec->record_bytes;
	uint32_t i;

	job->records_in += n;
	t->read += n * bytes;
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

static em_status push_batch(em_top *t, const em_batch *batch)
{
	emi_job *job = &t->front.e.job;
	const uint64_t part = part_of(t, batch->n);
	size_t first = 0;
	uint32_t i;

	for (i = 0; first < batch->n; i++) {
		const size_t left = batch->n - first, some = left < part ? left : (size_t)part;

		emi_strand_batch(&t->strand[i], batch, first, some);
		first += some;
	}
	job->records_in += batch->n;
	t->read += batch->bytes;
	return emi_top_take(t, i, &job->err);
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
