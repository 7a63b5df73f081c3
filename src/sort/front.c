/* SPDX-License-Identifier: BSL-1.0 */
/* front.c -- see front.h. */
#include "sort/front.h"

#include <string.h>

#include "base/pieces.h"
#include "sort/plan_vary.h"

void emi_front_cursor(emi_front *f, em_status (*fill)(emi_cursor *c, void *object), void *object)
{
	emi_cursor_init(&f->cursor, emi_front_varied(f) ? 0 : (ptrdiff_t)f->e.job.by.codec->record_bytes, fill, object);
}

em_status emi_front_prepare(emi_front *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	const size_t record = job->by.codec->record_bytes;
	void *area = f->area;
	em_status st;

	/* First of all: what is given back for it is somebody else's then. */
	st = emi_piece_grow(job->ctx, &area, &f->area_bytes, (size_t)f->n * record,
			    (size_t)job->plan.run_records * record, err);
	f->area = area;
	f->room = job->plan.run_records;
	return st == EM_OK ? emi_engine_prepare(&f->e, err) : st;
}

static void free_area(emi_front *f)
{
	emi_piece_free(f->e.job.ctx, f->area, f->area_bytes);
	f->area = NULL;
}

void emi_front_close(emi_front *f)
{
	if (f->e.job.ctx != NULL)
		free_area(f);
	emi_engine_close(&f->e);
}

void emi_front_release(emi_front *f)
{
	free_area(f);
	emi_engine_release(&f->e);
}

/* Begin a call.  What failed before is told again. */
static em_status enter(emi_front *f, em_errinfo *err)
{
	const em_status st = emi_enter(f, err);

	return st == EM_OK && f->e.job.status != EM_OK ? emi_leave(f, f->e.job.status, &f->e.job.err) : st;
}

/* Go on with it, or tell of a mistake that nothing follows from. */
static em_status begun(emi_front *f, em_status st, const em_errinfo *err)
{
	return st == EM_OK ? EM_OK : emi_leave(f, st, err);
}

em_status emi_front_did(emi_front *f, em_status status)
{
	emi_job *job = &f->e.job;
	const em_status st = emi_job_result(job, status);

	return emi_leave(f, st, &job->err);
}

/* Is it at a stage, or not, as it should be? */
static em_status in_order(int right, const char *mistake, em_errinfo *err)
{
	return right ? EM_OK : emi_fail(err, EM_ERR_STATE, "%s", mistake);
}

/* Of bytes that may be no whole number of records. */
static em_status count_records(const emi_front *f, size_t bytes, uint64_t *n, em_errinfo *err)
{
	const size_t size = f->e.job.by.codec->record_bytes;

	*n = bytes / size;
	if (bytes % size == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "%llu bytes are no whole number of records of %llu",
			(unsigned long long)bytes, (unsigned long long)size);
}

/* bytes: they are, and *n follows from that; or NULL. */
static em_status may_push(emi_front *f, const void *records, const size_t *bytes, uint64_t *n)
{
	em_errinfo err;
	em_status st = enter(f, &err);

	if (st != EM_OK)
		return st;
	st = in_order(f->stage == EMI_PUSHING, "push after finish", &err);
	if (st == EM_OK && emi_front_varied(f))
		st = emi_fail(&err, EM_ERR_INVAL, "records of any length are pushed with their ends");
	if (st == EM_OK && bytes != NULL)
		st = count_records(f, *bytes, n, &err);
	if (st == EM_OK && *n != 0)
		st = emi_given(records, "records", &err);
	return begun(f, st, &err);
}

em_status emi_front_may_push(emi_front *f, const void *records, uint64_t n)
{
	return may_push(f, records, NULL, &n);
}

em_status emi_front_may_push_bytes(emi_front *f, const void *records, size_t bytes, uint64_t *n)
{
	return may_push(f, records, &bytes, n);
}

/* Is record i of a batch, of n bytes, too long?  Where they are too many already, its key does not matter. */
static em_status check_length(const emi_job *job, uint64_t i, const char *record, size_t n, uint64_t longest,
			      em_errinfo *err)
{
	size_t need = n;

	if (n <= longest)
		emi_frame_make(job->by.vary, (const unsigned char *)record, n, NULL, 0, &need);
	if (need <= longest)
		return EM_OK;
	return emi_fail_record(err, EM_ERR_RANGE, NULL, i + 1, 0,
			       "record %llu of the batch: %llu bytes with its key are more than the %llu allowed",
			       (unsigned long long)i + 1, (unsigned long long)need, (unsigned long long)longest);
}

/* Look at all records before any is taken. */
static em_status check_ends(const emi_front *f, const char *records, const uint64_t *ends, uint64_t n, em_errinfo *err)
{
	const emi_job *job = &f->e.job;
	const uint64_t sure = emi_frame_sure(job->by.vary, emi_vary_longest(job));
	uint64_t before = 0, longest = 0, i;
	em_status st = EM_OK;

	for (i = 0; i < n && st == EM_OK; before = ends[i++]) {
		if (ends[i] < before)
			return emi_fail_record(err, EM_ERR_INVAL, NULL, i + 1, 0,
					       "record %llu of the batch ends at %llu, before the one in front of it",
					       (unsigned long long)i + 1, (unsigned long long)ends[i]);
		if (ends[i] - before <= sure)
			continue;
		if (ends[i] > SIZE_MAX)
			return emi_fail(err, EM_ERR_INVAL, "no memory holds the %llu bytes of the batch",
					(unsigned long long)ends[i]);
		if (longest == 0)
			longest = emi_front_longest(f);
		st = check_length(job, i, records + before, (size_t)(ends[i] - before), longest, err);
	}
	return st;
}

/* Take a batch that is not empty. */
static em_status take_batch(emi_front *f, const void *records, const uint64_t *ends, uint64_t n, em_batch *batch,
			    em_errinfo *err)
{
	const int varied = emi_front_varied(f);
	em_status st = EM_OK;

	if ((ends != NULL) != varied)
		return emi_fail(err, EM_ERR_INVAL, "the batch %s ends, and the order is of records of %s",
				ends != NULL ? "has" : "has no", varied ? "any length" : "one size");
	/* Records that are all empty need not be anywhere. */
	if (ends == NULL || ends[n - 1] != 0)
		st = emi_given(records, "records", err);
	if (st != EM_OK || ends == NULL)
		return st;
	if (n > SIZE_MAX)
		return emi_fail(err, EM_ERR_INVAL, "no memory holds %llu records", (unsigned long long)n);
	batch->records = records != NULL ? records : "";
	batch->n = (size_t)n;
	batch->bytes = (size_t)ends[n - 1];
	batch->ends = ends;
	return check_ends(f, batch->records, ends, n, err);
}

em_status emi_front_may_push_batch(emi_front *f, const void *records, const uint64_t *ends, uint64_t n,
				   em_batch *batch)
{
	em_errinfo err;
	em_status st = enter(f, &err);

	if (st != EM_OK)
		return st;
	st = in_order(f->stage == EMI_PUSHING, "push after finish", &err);
	if (st == EM_OK && n != 0)
		st = take_batch(f, records, ends, n, batch, &err);
	return begun(f, st, &err);
}

em_status emi_front_may_finish(emi_front *f)
{
	em_errinfo err;
	const em_status st = enter(f, &err);

	return st == EM_OK ? begun(f, in_order(f->stage == EMI_PUSHING, "finish after finish", &err), &err) : st;
}

em_status emi_front_may_next(emi_front *f, const em_batch **batch)
{
	em_errinfo err;
	em_status st = enter(f, &err);

	if (batch != NULL)
		*batch = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	if (st == EM_OK)
		st = in_order(f->stage != EMI_PUSHING, "next before finish", &err);
	if (st == EM_OK)
		emi_cursor_clear(&f->cursor);
	return begun(f, st == EM_OK && f->stage == EMI_ENDED ? EM_END : st, &err);
}

em_status emi_front_could_pull(emi_front *f)
{
	em_errinfo err;
	em_status st = enter(f, &err);

	return st == EM_OK ? emi_leave(f, in_order(f->stage != EMI_PUSHING, "pull before finish", &err), &err) : st;
}

em_status emi_front_too_long(uint64_t need, em_errinfo *err)
{
	return emi_fail(err, EM_ERR_MEMLIMIT, "there is no memory any more for a record of %llu bytes with its key",
			(unsigned long long)need);
}

em_status emi_front_spill(emi_front *f, em_errinfo *err)
{
	const uint64_t n = f->n;

	if (f->spill != NULL)
		return f->spill(f, err);
	if (n == 0)
		return f->e.store.n != 0 ? emi_engine_spill_store(&f->e, err) : EM_OK;
	f->n = 0;
	return emi_engine_spill(&f->e, f->area, n, err);
}

em_status emi_front_push(emi_front *f, const void *records, uint64_t n, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	const size_t bytes = job->by.codec->record_bytes;
	const char *from = records;
	em_status st = emi_job_check(job, err);

	while (st == EM_OK && n != 0) {
		const uint64_t room = f->room - f->n, some = n < room ? n : room;

		if (some < n && f->few) {
			st = emi_front_grow(f, n, err);
			continue;
		}
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
	const int runs = f->e.job.runs.n != 0;

	if (!runs && f->n == 0 && f->e.store.n == 0)
		return EM_END;
	if (emi_front_varied(f))
		return emi_engine_pull_vary(&f->e, err);
	return emi_engine_pull_begin(&f->e, runs ? NULL : f->area, f->n, err);
}

em_status emi_front_pull(emi_front *f, const em_batch **batch, em_errinfo *err)
{
	em_status st = f->stage == EMI_FINISHED ? begin_pull(f, err) : EM_OK;

	f->stage = EMI_PULLING;
	if (st == EM_OK)
		st = emi_front_varied(f) ? emi_engine_pull_lines(&f->e, batch, err)
					 : emi_engine_pull(&f->e, batch, err);
	if (st != EM_END)
		return st;
	f->stage = EMI_ENDED;
	emi_front_release(f);
	return EM_END;
}

void emi_front_cancel(emi_front *f)
{
	if (f != NULL)
		emi_watch_cancel(&f->e.job.watch);
}

uint64_t emi_front_record_bytes(const emi_front *f)
{
	return f != NULL && f->e.job.ctx != NULL && !emi_front_varied(f) ? f->e.job.by.codec->record_bytes : 0;
}

uint64_t emi_front_pushed(const emi_front *f)
{
	return f != NULL ? f->e.job.records_in : 0;
}

em_status emi_front_stats(const emi_front *f, em_sort_stats *stats)
{
	const em_status st = f != NULL ? EMI_STRUCT_CHECK(em_sort_stats, stats, NULL) : EM_ERR_INVAL;

	if (st == EM_OK)
		emi_job_stats(&f->e.job, stats);
	return st;
}
