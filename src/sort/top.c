/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top.c -- em_top: records are pushed in, and the first ones pulled out.
 *
 * What is pushed at a time is divided among the threads.
 */
#include "sort/top.h"

#include <string.h>

#include "sort/plan_vary.h"

#define PART_LEAST ((uint64_t)1024) /* fewer records are not worth another thread */

em_status em_top_open(em_top **out, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k, const em_sort_opts *opts)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	const emi_top_use use = { sizeof(em_top), 0, 0 };
	em_top *t;
	em_status st;

	memset(err, 0, sizeof *err);
	if (out == NULL || ctx == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s is NULL", out == NULL ? "out" : "context");
	*out = NULL;
	t = emi_alloc(ctx, sizeof *t, err);
	if (t == NULL)
		return err->status;
	st = emi_top_begin(t, ctx, order, from, k, opts, err);
	if (st != EM_OK) {
		emi_free(ctx, t, sizeof *t);
		return st;
	}
	st = emi_top_prepare(t, &use, err);
	if (st != EM_OK) {
		em_top_close(t);
		return st;
	}
	*out = t;
	return EM_OK;
}

void em_top_close(em_top *t)
{
	em_ctx *ctx;

	if (t == NULL)
		return;
	ctx = t->e.job.ctx;
	emi_ctx_ref(ctx);
	emi_top_end(t);
	emi_free(ctx, t, sizeof *t);
	emi_ctx_unref(ctx);
}

/* May t be called at all?  What failed before is told again, and a child of a fork is told so first. */
static em_status standing(em_top *t)
{
	emi_job *job = &t->e.job;

	return job->status != EM_OK ? job->status : emi_job_result(job, emi_ctx_check(job->ctx, &job->err));
}

static em_status pushing(em_top *t)
{
	emi_job *job = &t->e.job;
	em_status st = standing(t);

	if (st == EM_OK && t->state != EMI_TOP_PUSHING)
		st = emi_job_result(job, emi_fail(&job->err, EM_ERR_STATE, "push after finish"));
	return st;
}

/* How many of n records a thread gets that is one of all. */
static uint64_t part_of(const em_top *t, uint64_t n)
{
	const uint64_t part = n / t->strands + 1;

	return part < PART_LEAST ? PART_LEAST : part;
}

em_status em_top_push(em_top *t, const void *records, uint64_t n)
{
	const char *from = records;
	uint64_t part;
	uint32_t i;
	emi_job *job;
	em_status st;
	size_t bytes;

	if (t == NULL || (records == NULL && n != 0))
		return EM_ERR_INVAL;
	job = &t->e.job;
	st = pushing(t);
	if (st != EM_OK)
		return st;
	if (emi_top_varied(t))
		return emi_job_result(job, emi_fail(&job->err, EM_ERR_INVAL, "records of any length are pushed in batches"));
	bytes = job->codec->record_bytes;
	job->records_in += n;
	t->read += n * bytes;
	part = part_of(t, n);
	for (i = 0; n != 0; i++) {
		const uint64_t some = n < part ? n : part;

		emi_strand_records(&t->strand[i], from, some);
		from += (size_t)some * bytes;
		n -= some;
	}
	return emi_job_result(job, emi_top_take(t, i, &job->err));
}

static em_status check_batch(const em_top *t, const em_batch *batch, em_errinfo *err)
{
	uint64_t before = 0;
	size_t i;

	if ((batch->ends != NULL) != emi_top_varied(t))
		return emi_fail(err, EM_ERR_INVAL, "the batch %s ends, and the order is of records of %s",
				batch->ends != NULL ? "has" : "has no", emi_top_varied(t) ? "any length" : "one size");
	if (batch->ends == NULL)
		return batch->bytes == batch->n * t->e.job.codec->record_bytes
			       ? EM_OK
			       : emi_fail(err, EM_ERR_INVAL, "the batch has %llu bytes, which are not %llu records",
					  (unsigned long long)batch->bytes, (unsigned long long)batch->n);
	for (i = 0; i < batch->n; before = batch->ends[i++])
		if (batch->ends[i] < before)
			break;
	if (i < batch->n || before != batch->bytes)
		return emi_fail(err, EM_ERR_INVAL, "the ends of the batch do not ascend to its %llu bytes",
				(unsigned long long)batch->bytes);
	return EM_OK;
}

static em_status push_batch(em_top *t, const em_batch *batch)
{
	emi_job *job = &t->e.job;
	const uint64_t part = part_of(t, batch->n);
	size_t first = 0;
	uint32_t i;
	em_status st;

	for (i = 0; first < batch->n; i++) {
		const size_t left = batch->n - first, some = left < part ? left : (size_t)part;

		emi_strand_batch(&t->strand[i], batch, first, some);
		first += some;
	}
	job->records_in += batch->n;
	t->read += batch->bytes;
	st = emi_top_take(t, i, &job->err);
	if (st == EM_ERR_RANGE && job->err.status == EM_OK)
		st = emi_fail(&job->err, st, "record %llu of the batch: %llu bytes with its key are more than the %llu allowed",
			      (unsigned long long)(t->long_strand * part + t->long_number), (unsigned long long)t->long_need,
			      (unsigned long long)emi_vary_longest(job));
	return st;
}

em_status em_top_push_batch(em_top *t, const em_batch *batch)
{
	emi_job *job;
	em_status st;

	if (t == NULL || batch == NULL || (batch->records == NULL && batch->bytes != 0) || (batch->n == 0 && batch->bytes != 0))
		return EM_ERR_INVAL;
	job = &t->e.job;
	st = pushing(t);
	if (st != EM_OK || batch->n == 0)
		return st;
	st = check_batch(t, batch, &job->err);
	if (st == EM_OK)
		st = batch->ends == NULL ? em_top_push(t, batch->records, batch->n) : push_batch(t, batch);
	return emi_job_result(job, st);
}

em_status em_top_finish(em_top *t)
{
	emi_job *job;
	em_status st;

	if (t == NULL)
		return EM_ERR_INVAL;
	job = &t->e.job;
	st = standing(t);
	if (st != EM_OK)
		return st;
	if (t->state != EMI_TOP_PUSHING)
		return emi_job_result(job, emi_fail(&job->err, EM_ERR_STATE, "finish after finish"));
	return emi_job_result(job, emi_top_finish(t, &job->err));
}

em_status em_top_next(em_top *t, const em_batch **batch)
{
	emi_job *job;
	em_status st;

	if (t == NULL || batch == NULL)
		return EM_ERR_INVAL;
	*batch = NULL;
	job = &t->e.job;
	st = standing(t);
	if (st != EM_OK)
		return st;
	if (t->state == EMI_TOP_PUSHING)
		return emi_job_result(job, emi_fail(&job->err, EM_ERR_STATE, "next before finish"));
	if (t->state == EMI_TOP_ENDED)
		return EM_END;
	return emi_job_result(job, emi_top_lend(t, batch, &job->err));
}

void em_top_cancel(em_top *t)
{
	if (t != NULL)
		__atomic_store_n(&t->e.job.watch.canceled, 1, __ATOMIC_RELAXED);
}

void em_top_error(const em_top *t, em_errinfo *err)
{
	if (err == NULL)
		return;
	memset(err, 0, sizeof *err);
	if (t != NULL && t->e.job.status != EM_OK)
		*err = t->e.job.err;
}

em_status em_top_stats(const em_top *t, em_sort_stats *stats)
{
	if (t == NULL || stats == NULL || stats->size < sizeof(uint32_t))
		return EM_ERR_INVAL;
	emi_job_stats(&t->e.job, stats);
	return EM_OK;
}
