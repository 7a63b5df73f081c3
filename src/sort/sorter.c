/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorter.c -- em_sorter: records are pushed in and pulled out.
 *
 * Pushed records are copied to an area, or, when they are of any length, to the pool; each time it is full, and more comes, it is
 * spilled as a run.
 */
#include <string.h>

#include "sort/engine.h"
#include "sort/plan_vary.h"

struct em_sorter {
	emi_engine e;
	char *area;
	size_t area_bytes;
	uint64_t n;             /* records in the area */
	enum { PUSHING, FINISHED, PULLING, ENDED } state;
};

static int varied(const em_sorter *s)
{
	return emi_order_vary(s->e.job.order) != NULL;
}

/* The memory for what is pushed. */
static em_status make_area(em_sorter *s, const emi_needs *needs, em_errinfo *err)
{
	emi_job *job = &s->e.job;
	em_status st;

	if (varied(s))
		return emi_engine_prepare_vary(&s->e, emi_vary_pool(job, needs), 1, err);
	st = emi_engine_prepare(&s->e, err);
	if (st != EM_OK)
		return st;
	s->area_bytes = (size_t)job->plan.run_records * job->codec->record_bytes;
	s->area = emi_buffer_alloc(job->ctx, s->area_bytes, err);
	return s->area != NULL ? EM_OK : err->status;
}

em_status em_sorter_open(em_sorter **out, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	em_errinfo own, *err = emi_job_errinfo(opts, &own);
	const emi_needs needs = { EMI_UNKNOWN, 1, 0, 0, sizeof(em_sorter), EMI_UNKNOWN };
	em_sorter *s;
	em_status st;

	memset(err, 0, sizeof *err);
	if (out == NULL || ctx == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s is NULL", out == NULL ? "out" : "context");
	*out = NULL;
	s = emi_alloc(ctx, sizeof *s, err);
	if (s == NULL)
		return err->status;
	st = emi_engine_open(&s->e, ctx, order, opts, err);
	if (st != EM_OK) {
		emi_free(ctx, s, sizeof *s);
		return st;
	}
	/* Threads first: their stacks count, and the plan divides what is left. */
	if (em_ctx_threads(ctx) > 1)
		st = emi_workers_start(ctx, err);
	if (st == EM_OK)
		st = emi_job_plan(&s->e.job, &needs, err);
	if (st == EM_OK)
		st = make_area(s, &needs, err);
	if (st != EM_OK) {
		em_sorter_close(s);
		return st;
	}
	*out = s;
	return EM_OK;
}

void em_sorter_close(em_sorter *s)
{
	em_ctx *ctx;

	if (s == NULL)
		return;
	ctx = s->e.job.ctx;
	emi_ctx_ref(ctx);
	if (s->area != NULL)
		emi_buffer_free(ctx, s->area, s->area_bytes);
	emi_engine_close(&s->e);
	emi_free(ctx, s, sizeof *s);
	emi_ctx_unref(ctx);
}

static em_status out_of_order(em_sorter *s, const char *what)
{
	em_errinfo *err = &s->e.job.err;

	return emi_job_result(&s->e.job, emi_fail(err, EM_ERR_STATE, "%s", what));
}

/* May s be called at all?  What failed before is told again, and a child of a fork is told so first. */
static em_status standing(em_sorter *s)
{
	emi_job *job = &s->e.job;

	return job->status != EM_OK ? job->status : emi_job_result(job, emi_ctx_check(job->ctx, &job->err));
}

em_status em_sorter_push(em_sorter *s, const void *records, uint64_t n)
{
	emi_job *job;
	const char *from = records;
	em_status st;

	if (s == NULL || (records == NULL && n != 0))
		return EM_ERR_INVAL;
	job = &s->e.job;
	st = standing(s);
	if (st != EM_OK)
		return st;
	if (s->state != PUSHING)
		return out_of_order(s, "push after finish");
	if (varied(s))
		return emi_job_result(job, emi_fail(&job->err, EM_ERR_INVAL, "records of any length are pushed in batches"));
	st = emi_job_check(job, &job->err);
	while (st == EM_OK && n != 0) {
		size_t rb = job->codec->record_bytes;
		uint64_t room = job->plan.run_records - s->n, some = n < room ? n : room;

		if (room == 0) {
			st = emi_engine_spill(&s->e, s->area, s->n, &job->err);
			s->n = 0;
			continue;
		}
		memcpy(s->area + (size_t)s->n * rb, from, (size_t)some * rb);
		s->n += some;
		job->records_in += some;
		from += (size_t)some * rb;
		n -= some;
	}
	return emi_job_result(job, st);
}

/* Add record i of a batch. */
static em_status push_record(em_sorter *s, const char *record, size_t n, size_t i)
{
	emi_job *job = &s->e.job;
	size_t need;

	if (emi_pool_add(&s->e.pool, record, n, &need))
		return EM_OK;
	if (need <= emi_vary_longest(job) && s->e.pool.n != 0) {
		const em_status st = emi_engine_spill_pool(&s->e, &job->err);

		if (st != EM_OK)
			return st;
		if (emi_pool_add(&s->e.pool, record, n, &need))
			return EM_OK;
	}
	if (need > emi_vary_longest(job))
		return emi_fail(&job->err, EM_ERR_RANGE, "record %llu of the batch: %llu bytes with its key are more than the %llu allowed",
				(unsigned long long)i, (unsigned long long)need,
				(unsigned long long)emi_vary_longest(job));
	return emi_fail(&job->err, EM_ERR_INTERNAL, "a record of %llu bytes does not fit in memory", (unsigned long long)n);
}

static em_status check_batch(const em_sorter *s, const em_batch *batch, em_errinfo *err)
{
	uint64_t before = 0;
	size_t i;

	if ((batch->ends != NULL) != varied(s))
		return emi_fail(err, EM_ERR_INVAL, "the batch %s ends, and the order is of records of %s",
				batch->ends != NULL ? "has" : "has no", varied(s) ? "any length" : "one size");
	if (batch->ends == NULL)
		return batch->bytes == batch->n * s->e.job.codec->record_bytes
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

em_status em_sorter_push_batch(em_sorter *s, const em_batch *batch)
{
	const char *from;
	emi_job *job;
	em_status st;
	size_t i;

	if (s == NULL || batch == NULL || (batch->records == NULL && batch->bytes != 0) || (batch->n == 0 && batch->bytes != 0))
		return EM_ERR_INVAL;
	job = &s->e.job;
	st = standing(s);
	if (st != EM_OK)
		return st;
	if (s->state != PUSHING)
		return out_of_order(s, "push after finish");
	if (batch->n == 0)
		return EM_OK;
	st = check_batch(s, batch, &job->err);
	if (st == EM_OK && batch->ends == NULL)
		return em_sorter_push(s, batch->records, batch->n);
	if (st == EM_OK)
		st = emi_job_check(job, &job->err);
	/* Records that are all empty need not be anywhere. */
	from = batch->records != NULL ? batch->records : "";
	for (i = 0; i < batch->n && st == EM_OK; i++) {
		const uint64_t begin = i != 0 ? batch->ends[i - 1] : 0;

		st = push_record(s, from + begin, (size_t)(batch->ends[i] - begin), i);
		if (st == EM_OK)
			job->records_in++;
	}
	return emi_job_result(job, st);
}

uint64_t em_sorter_longest(const em_sorter *s)
{
	if (s == NULL)
		return 0;
	return varied(s) ? emi_vary_longest(&s->e.job) - EMI_LENGTH_MAX : s->e.job.codec->record_bytes;
}

/* The last run. */
static em_status keep_or_spill(em_sorter *s)
{
	emi_job *job = &s->e.job;
	char *kept;
	em_status st = emi_engine_keep(&s->e, s->area, NULL, s->area_bytes, s->area, s->n, &kept, &job->err);

	if (kept != NULL)
		s->area = NULL;
	return st != EM_OK || kept != NULL ? st : emi_engine_spill(&s->e, s->area, s->n, &job->err);
}

em_status em_sorter_finish(em_sorter *s)
{
	emi_job *job;
	em_status st;

	if (s == NULL)
		return EM_ERR_INVAL;
	job = &s->e.job;
	st = standing(s);
	if (st != EM_OK)
		return st;
	if (s->state != PUSHING)
		return out_of_order(s, "finish after finish");
	st = emi_job_check(job, &job->err);
	s->state = FINISHED;
	if (st != EM_OK || job->nruns == 0)
		return emi_job_result(job, st);
	if (s->n != 0)
		st = keep_or_spill(s);
	else if (s->e.pool.n != 0)
		st = emi_engine_spill_pool(&s->e, &job->err);
	/* On failure transfers may still be on their way to buffers of the engine, but never to the area. */
	if (s->area != NULL)
		emi_buffer_free(job->ctx, s->area, s->area_bytes);
	s->area = NULL;
	if (st == EM_OK)
		st = emi_engine_reduce(&s->e, &job->err);
	return emi_job_result(job, st);
}

em_status em_sorter_next(em_sorter *s, const em_batch **batch)
{
	emi_job *job;
	em_status st;

	if (s == NULL || batch == NULL)
		return EM_ERR_INVAL;
	*batch = NULL;
	job = &s->e.job;
	st = standing(s);
	if (st != EM_OK)
		return st;
	if (s->state == PUSHING)
		return out_of_order(s, "next before finish");
	if (s->state == FINISHED) {
		if (varied(s))
			st = emi_engine_pull_vary(&s->e, &job->err);
		else if (job->nruns == 0 && s->n == 0)
			s->state = ENDED;
		else
			st = emi_engine_pull_begin(&s->e, job->nruns == 0 ? s->area : NULL, s->n, &job->err);
	}
	if (st != EM_OK || s->state == ENDED)
		return emi_job_result(job, st != EM_OK ? st : EM_END);
	s->state = PULLING;
	st = varied(s) ? emi_engine_pull_lines(&s->e, batch, &job->err) : emi_engine_pull(&s->e, batch, &job->err);
	if (st == EM_END)
		s->state = ENDED;
	return emi_job_result(job, st);
}

void em_sorter_cancel(em_sorter *s)
{
	if (s != NULL)
		__atomic_store_n(&s->e.job.watch.canceled, 1, __ATOMIC_RELAXED);
}

void em_sorter_error(const em_sorter *s, em_errinfo *err)
{
	if (err == NULL)
		return;
	memset(err, 0, sizeof *err);
	if (s != NULL && s->e.job.status != EM_OK)
		*err = s->e.job.err;
}

em_status em_sorter_stats(const em_sorter *s, em_sort_stats *stats)
{
	if (s == NULL || stats == NULL || stats->size < sizeof(uint32_t))
		return EM_ERR_INVAL;
	emi_job_stats(&s->e.job, stats);
	return EM_OK;
}
