/* SPDX-License-Identifier: BSL-1.0 */
/* front.c -- see front.h. */
#include "sort/front.h"

#include <string.h>

#include "sort/plan_vary.h"

em_status emi_front_prepare(emi_front *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	em_status st = emi_engine_prepare(&f->e, err);

	if (st != EM_OK)
		return st;
	f->area_bytes = (size_t)job->plan.run_records * job->codec->record_bytes;
	f->area = emi_buffer_alloc(job->ctx, f->area_bytes, err);
	return f->area != NULL ? EM_OK : err->status;
}

static void free_area(emi_front *f)
{
	if (f->area != NULL)
		emi_buffer_free(f->e.job.ctx, f->area, f->area_bytes);
	f->area = NULL;
}

void emi_front_close(emi_front *f)
{
	free_area(f);
	emi_engine_close(&f->e);
}

/* May f be called at all?  What failed before is told again, and a child of a fork is told so first. */
static em_status standing(emi_front *f)
{
	emi_job *job = &f->e.job;

	return job->status != EM_OK ? job->status : emi_job_result(job, emi_ctx_check(job->ctx, &job->err));
}

/* Is it at a stage, or not, as it should be?  If it is not, what the caller did is told. */
static em_status in_order(emi_front *f, int right, const char *mistake)
{
	emi_job *job = &f->e.job;
	const em_status st = standing(f);

	return st != EM_OK || right ? st : emi_job_result(job, emi_fail(&job->err, EM_ERR_STATE, "%s", mistake));
}

em_status emi_front_may_push(emi_front *f, const void *records, uint64_t n)
{
	emi_job *job;
	em_status st;

	if (f == NULL || (records == NULL && n != 0))
		return EM_ERR_INVAL;
	job = &f->e.job;
	st = in_order(f, f->stage == EMI_PUSHING, "push after finish");
	if (st == EM_OK && emi_front_varied(f))
		st = emi_job_result(job, emi_fail(&job->err, EM_ERR_INVAL, "records of any length are pushed in batches"));
	return st;
}

static em_status check_batch(const emi_front *f, const em_batch *batch, em_errinfo *err)
{
	const int varied = emi_front_varied(f);
	uint64_t before = 0;
	size_t i;

	if ((batch->ends != NULL) != varied)
		return emi_fail(err, EM_ERR_INVAL, "the batch %s ends, and the order is of records of %s",
				batch->ends != NULL ? "has" : "has no", varied ? "any length" : "one size");
	if (batch->ends == NULL)
		return batch->bytes == batch->n * f->e.job.codec->record_bytes
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

em_status emi_front_may_push_batch(emi_front *f, const em_batch *batch)
{
	em_status st;

	if (f == NULL || batch == NULL || (batch->records == NULL && batch->bytes != 0) || (batch->n == 0 && batch->bytes != 0))
		return EM_ERR_INVAL;
	st = in_order(f, f->stage == EMI_PUSHING, "push after finish");
	return st != EM_OK || batch->n == 0 ? st : emi_job_result(&f->e.job, check_batch(f, batch, &f->e.job.err));
}

em_status emi_front_may_finish(emi_front *f)
{
	return f != NULL ? in_order(f, f->stage == EMI_PUSHING, "finish after finish") : EM_ERR_INVAL;
}

em_status emi_front_may_next(emi_front *f, const em_batch **batch)
{
	em_status st;

	if (f == NULL || batch == NULL)
		return EM_ERR_INVAL;
	*batch = NULL;
	st = in_order(f, f->stage != EMI_PUSHING, "next before finish");
	return st == EM_OK && f->stage == EMI_ENDED ? EM_END : st;
}

em_status emi_front_too_long(emi_front *f, uint64_t i, uint64_t need)
{
	emi_job *job = &f->e.job;

	return emi_fail(&job->err, EM_ERR_RANGE, "record %llu of the batch: %llu bytes with its key are more than the %llu allowed",
			(unsigned long long)i, (unsigned long long)need, (unsigned long long)emi_vary_longest(job));
}

em_status emi_front_spill(emi_front *f, em_errinfo *err)
{
	const uint64_t n = f->n;

	if (n == 0)
		return f->e.store.n != 0 ? emi_engine_spill_store(&f->e, err) : EM_OK;
	f->n = 0;
	return emi_engine_spill(&f->e, f->area, n, err);
}

em_status emi_front_push(emi_front *f, const void *records, uint64_t n, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	const size_t bytes = job->codec->record_bytes;
	const char *from = records;
	em_status st = emi_job_check(job, err);

	while (st == EM_OK && n != 0) {
		const uint64_t room = job->plan.run_records - f->n, some = n < room ? n : room;

		if (room == 0) {
			st = emi_front_spill(f, err);
			continue;
		}
		memcpy(f->area + (size_t)f->n * bytes, from, (size_t)some * bytes);
		f->n += some;
		job->records_in += some;
		from += (size_t)some * bytes;
		n -= some;
	}
	return st;
}

em_status emi_front_keep(emi_front *f, em_errinfo *err)
{
	char *kept;
	em_status st;

	if (f->n == 0)
		return emi_engine_keep_store(&f->e, err);
	st = emi_engine_keep(&f->e, f->area, NULL, f->area_bytes, f->area, f->n, &kept, err);
	if (kept != NULL) {
		f->area = NULL;
		f->n = 0;
	}
	return st;
}

em_status emi_front_reduce(emi_front *f, em_errinfo *err)
{
	const em_status st = emi_front_spill(f, err);

	/* On failure transfers may still be on their way to buffers of the engine, but never to the area. */
	free_area(f);
	return st == EM_OK ? emi_engine_reduce(&f->e, err) : st;
}

static em_status begin_pull(emi_front *f, em_errinfo *err)
{
	const int runs = f->e.job.nruns != 0;

	if (emi_front_varied(f))
		return emi_engine_pull_vary(&f->e, err);
	if (!runs && f->n == 0)
		return EM_END;
	return emi_engine_pull_begin(&f->e, runs ? NULL : f->area, f->n, err);
}

em_status emi_front_pull(emi_front *f, const em_batch **batch, em_errinfo *err)
{
	em_status st = f->stage == EMI_FINISHED ? begin_pull(f, err) : EM_OK;

	f->stage = EMI_PULLING;
	if (st == EM_OK)
		st = emi_front_varied(f) ? emi_engine_pull_lines(&f->e, batch, err) : emi_engine_pull(&f->e, batch, err);
	if (st == EM_END)
		f->stage = EMI_ENDED;
	return st;
}

void emi_front_cancel(emi_front *f)
{
	if (f != NULL)
		__atomic_store_n(&f->e.job.watch.canceled, 1, __ATOMIC_RELAXED);
}

void emi_front_error(const emi_front *f, em_errinfo *err)
{
	if (err == NULL)
		return;
	memset(err, 0, sizeof *err);
	if (f != NULL && f->e.job.status != EM_OK)
		*err = f->e.job.err;
}

em_status emi_front_stats(const emi_front *f, em_sort_stats *stats)
{
	if (f == NULL || stats == NULL || stats->size < sizeof(uint32_t))
		return EM_ERR_INVAL;
	emi_job_stats(&f->e.job, stats);
	return EM_OK;
}
