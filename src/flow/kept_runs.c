/* SPDX-License-Identifier: BSL-1.0 */
/* kept_runs.c -- forming runs that stay; see kept_runs.h. */
#include "flow/kept_runs.h"

#include <inttypes.h>
#include <string.h>

#include "base/pieces.h"
#include "base/structs.h"
#include "sort/plan_job.h"

#define KEPT_SHARE 8u           /* of the memory for forming runs, what stays in use when nothing was written */
#define PAYS 4u                 /* combining an area is worth its time where it removes this part of it; if not, ... */
#define PLAIN 15u               /* ... so many are written without it, before it is tried again */
#define COMBINING ((uint64_t)256 << 10) /* bytes that combining takes beside the area */

static size_t record_bytes(const em_runs *r)
{
	return r->front.e.job.by.codec->record_bytes;
}

/* Of equal records the first one is left. */
static int keep_first(void *user, void *sum, const void *records, size_t n)
{
	(void)user;
	(void)sum;
	(void)records;
	(void)n;
	return 0;
}

/* Records go on in memory from which their elements refer to them. */
static int needs_other(const em_runs *r)
{
	return r->combine != NULL && r->front.e.job.by.codec->ref;
}

static em_status engage(emi_front *f, em_errinfo *err)
{
	em_runs *r = (em_runs *)(void *)f;
	emi_job *job = &f->e.job;
	em_status st = emi_job_plan(job, &f->needs, err);

	if (st == EM_OK)
		st = emi_front_prepare(f, err);
	if (st != EM_OK || !needs_other(r))
		return st;
	r->other_bytes = f->area_bytes;
	r->other = emi_buffer_alloc(job->ctx, r->other_bytes, err);
	return r->other != NULL ? EM_OK : err->status;
}

/* Combine n sorted records where they are: *m are left. */
static em_status combine(em_runs *r, char *records, uint64_t n, uint64_t *m, em_errinfo *err)
{
	em_ctx *ctx = r->front.object.ctx;
	const em_batch *batch;
	em_stream *s = NULL;
	em_status st = em_stream_memory(&s, ctx, record_bytes(r), records, n, err);

	*m = 0;
	if (st == EM_OK)
		st = em_stream_reduce(&s, s, r->order, r->combine, r->user, NULL, err);
	if (st != EM_OK) {
		em_stream_close(s);
		return st;
	}
	/* What is lent was made of as many records at least, so it does not reach those that are still to be read. */
	while ((st = em_stream_next(s, &batch)) == EM_OK) {
		memcpy(records + (size_t)*m * record_bytes(r), batch->records, batch->bytes);
		*m += batch->n;
	}
	if (st < EM_OK)
		em_stream_error(s, err);
	em_stream_close(s);
	return st == EM_END ? EM_OK : st;
}

/* Sort and combine what is in the area, in memory. */
static em_status combine_area(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	char *first, *area = f->area;
	uint64_t m;
	em_status st = emi_form_kept(&f->e.former, f->area, f->n, r->other, &first, err);

	if (st == EM_OK)
		st = combine(r, first, f->n, &m, err);
	if (st != EM_OK)
		return st;
	f->n = m;
	if (r->other != NULL) {
		f->area = r->other;
		r->other = area;
	} else if (first != f->area) {
		memmove(f->area, first, (size_t)m * record_bytes(r));
	}
	return EM_OK;
}

static em_status append_begin(em_runs *r, emi_run_append *a, em_errinfo *err)
{
	emi_engine *e = &r->front.e;

	return emi_run_append_init(a, &e->job.runs, &e->out, &e->writer, e->job.plan.block_bytes, 0, err);
}

/* It is a run of so many records, unless it has none. */
static em_status append_end(em_runs *r, emi_run_append *a, uint64_t records, em_errinfo *err)
{
	emi_run run;
	em_status st = emi_run_append_end(a, &run, err);

	emi_run_append_free(a);
	if (st == EM_OK && run.blocks != 0)
		st = emi_job_add_run(&r->front.e.job, &run, records, err);
	if (st == EM_OK)
		r->records += records;
	return st;
}

/* The area is sorted: write it as a run. */
static em_status write_sorted(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	const uint64_t n = f->n;
	emi_run_append a;
	em_status st = append_begin(r, &a, err);

	if (st == EM_OK)
		st = emi_run_append_records(&a, f->area, (size_t)n, err);
	if (st != EM_OK) {
		emi_run_append_free(&a);
		return st;
	}
	f->n = 0;
	return append_end(r, &a, n, err);
}

/* The area is not sorted: sort it and write it as a run, with all threads. */
static em_status write_plain(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	const uint64_t n = f->n;
	em_status st;

	f->n = 0;
	st = emi_engine_spill(&f->e, f->area, n, err);
	r->records += st == EM_OK ? n : 0;
	return st;
}

/* Sort and combine what is in the area, unless that has turned out not to be worth it: *done, or not. */
static em_status combine_if_worth(em_runs *r, int *done, em_errinfo *err)
{
	const uint64_t n = r->front.n;
	em_status st;

	*done = r->combine != NULL && r->plain == 0;
	r->plain -= r->plain != 0;
	if (!*done)
		return EM_OK;
	st = combine_area(r, err);
	r->plain = st == EM_OK && r->front.n > n - n / PAYS ? PLAIN : 0;
	return st;
}

/* Write what is in the area, if anything, as a run. */
static em_status write_area(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	em_status st;
	int combined;

	if (f->n == 0)
		return EM_OK;
	st = combine_if_worth(r, &combined, err);
	if (st != EM_OK || combined)
		return st == EM_OK ? write_sorted(r, err) : st;
	return write_plain(r, err);
}

/* The area is full. */
static em_status spill(emi_front *f, em_errinfo *err)
{
	em_runs *r = (em_runs *)(void *)f;
	int combined;
	const em_status st = combine_if_worth(r, &combined, err);

	if (st != EM_OK || (combined && f->n <= f->room / 2))
		return st;
	return combined ? write_sorted(r, err) : write_plain(r, err);
}

static void free_forming(em_runs *r)
{
	emi_front *f = &r->front;
	em_ctx *ctx = f->object.ctx;
	emi_engine *e = &f->e;

	if (e->job.ctx == NULL)
		return;
	emi_run_append_free(&r->append);
	emi_outseq_free(&e->out);
	emi_run_writer_free(&e->writer);
	emi_former_free(&e->former);
	emi_piece_free(ctx, e->lend, e->lend_bytes);
	e->lend = NULL;
	emi_piece_free(ctx, f->area, f->area_bytes);
	f->area = NULL;
	f->area_bytes = 0;
	emi_buffer_free(ctx, r->other, r->other_bytes);
	r->other = NULL;
	emi_free(ctx, r->last, record_bytes(r));
	r->last = NULL;
	r->appending = r->have_last = 0;
}

/* Give back all but the object. */
static void free_all(em_runs *r)
{
	free_forming(r);
	emi_piece_free(r->front.object.ctx, r->kept, r->kept_bytes);
	r->kept = NULL;
	r->kept_records = r->records = r->merged = r->appended = 0;
	emi_front_close(&r->front);
}

static void release(void *runs)
{
	em_runs *r = runs;

	free_all(r);
	em_order_close(r->order);
	emi_user_free(&r->owned);
	emi_user_free(&r->watching);
	emi_object_free(r, sizeof *r);
}

/* Open the engine, and begin with little. */
static em_status begin(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	emi_needs needs = { .n = EMI_UNKNOWN, .pushed = 1, .held = sizeof(em_runs), .bytes = r->expected };
	em_status st = emi_engine_open(&f->e, f->object.ctx, r->order, &r->form, err);

	if (st != EM_OK)
		return st;
	f->stage = EMI_PUSHING;
	f->n = f->room = 0;
	f->area_bytes = 0;
	f->spill = spill;
	r->plain = 0;
	needs.later = r->later;
	if (r->combine != NULL)
		needs.later += COMBINING + 4 * (uint64_t)record_bytes(r);
	/* Two areas are planned for. */
	needs.pushed = !needs_other(r);
	return emi_front_begin(f, &needs, engage, err);
}

static em_status take_opts(em_runs *r, const em_runs_opts *opts, em_errinfo *err)
{
	em_runs_opts o;
	em_status st = EMI_STRUCT_TAKE(em_runs_opts, &o, opts, err);

	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &r->form, o.form, err);
	if (st == EM_OK && o.combine != NULL && (r->form.flags & EM_SORT_UNIQUE) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "EM_SORT_UNIQUE, and a function that combines");
	if (st != EM_OK)
		return st;
	r->combine = (r->form.flags & EM_SORT_UNIQUE) != 0 ? keep_first : o.combine;
	r->form.flags &= ~EM_SORT_UNIQUE;
	r->form.format = NULL;
	r->form.errinfo = NULL;
	r->form.header = 0;
	r->user = o.user;
	r->merge_memory = o.merge_memory;
	return EM_OK;
}

static em_status check_order(em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	em_status st = emi_given(order, "order", err);

	if (st == EM_OK && emi_order_ctx(order) != ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the order belongs to another context");
	if (st == EM_OK && emi_order_vary(order) != NULL)
		st = emi_fail(err, EM_ERR_NOTSUP,
			      "the order is of records of any length; runs that stay have records of one size");
	return st;
}

em_status emi_kept_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts, uint64_t later,
			uint64_t expected, em_errinfo *err)
{
	em_status st = check_order(ctx, order, err);
	em_runs *r;

	if (st != EM_OK)
		return st;
	r = emi_object_new(ctx, sizeof *r, 0, release, err);
	if (r == NULL)
		return err->status;
	st = take_opts(r, opts, err);
	if (st != EM_OK) {
		emi_object_free(r, sizeof *r);
		return st;
	}
	r->order = (em_order *)(uintptr_t)order;
	emi_order_ref(r->order);
	r->later = later;
	r->expected = expected;
	st = begin(r, err);
	if (st != EM_OK)
		release(r);
	else
		*out = r;
	return st;
}

/* What functions of the options are called with. */
static void take_users(const em_runs_opts *opts, emi_user *combining, emi_user *watching)
{
	em_runs_opts o;

	memset(combining, 0, sizeof *combining);
	memset(watching, 0, sizeof *watching);
	if (EMI_STRUCT_TAKE(em_runs_opts, &o, opts, NULL) != EM_OK)
		return;
	combining->user = o.user;
	combining->free = o.user_free;
	*watching = emi_job_user(o.form);
}

em_status em_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts, em_errinfo *theirs)
{
	emi_user combining, watching;
	em_errinfo err;
	em_status st;

	take_users(opts, &combining, &watching);

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_kept_open(out, ctx, order, opts, 0, EMI_UNKNOWN, &err);
	(void)emi_user_give(st == EM_OK ? &(*out)->owned : NULL, &combining, st);
	(void)emi_user_give(st == EM_OK ? &(*out)->watching : NULL, &watching, st);
	return emi_tell(theirs, st, &err);
}

void em_runs_close(em_runs *r)
{
	if (r != NULL)
		emi_front_cancel(&r->front);
	emi_object_close(r);
}

void em_runs_cancel(em_runs *r)
{
	if (r != NULL)
		emi_front_cancel(&r->front);
}

void em_runs_error(const em_runs *r, em_errinfo *err)
{
	emi_object_error(r, err);
}

/* The sorted sequence that has begun is a run. */
static em_status end_sequence(em_runs *r, em_errinfo *err)
{
	const uint64_t n = r->appended;

	r->have_last = 0;
	if (!r->appending)
		return EM_OK;
	r->appending = 0;
	r->appended = 0;
	return append_end(r, &r->append, n, err);
}

static em_status push(em_runs *r, const void *records, uint64_t n, em_errinfo *err)
{
	const em_status st = end_sequence(r, err);

	return st == EM_OK ? emi_front_push(&r->front, records, n, err) : st;
}

em_status em_runs_push(em_runs *r, const void *records, uint64_t n)
{
	emi_front *f = r != NULL ? &r->front : NULL;
	const em_status st = emi_front_may_push(f, records, n);

	return st == EM_OK ? emi_front_did(f, push(r, records, n, &f->e.job.err)) : st;
}

/* Are they sorted, behind those before? */
static em_status check_sorted(em_runs *r, const char *records, uint64_t n, em_errinfo *err)
{
	const emi_collation *by = &r->front.e.job.by;
	const size_t bytes = record_bytes(r);
	const char *before = r->have_last ? r->last : NULL;
	uint64_t i;

	for (i = 0; i < n; i++, records += bytes) {
		if (before != NULL && emi_collation_compare(by, before, records) > 0)
			return emi_fail_record(err, EM_ERR_FORMAT, NULL, i + 1, 0,
					       "record %" PRIu64 " of a sorted sequence comes before the one in front",
					       i + 1);
		before = records;
	}
	return emi_collation_check(by, err);
}

static em_status remember(em_runs *r, const char *records, uint64_t n, em_errinfo *err)
{
	const size_t bytes = record_bytes(r);

	if (r->last == NULL)
		r->last = emi_alloc(r->front.object.ctx, bytes, err);
	if (r->last == NULL)
		return err->status;
	memcpy(r->last, records + (size_t)(n - 1) * bytes, bytes);
	r->have_last = 1;
	return EM_OK;
}

/* A sequence that is more than a few records goes to the disks as it is. */
static em_status begin_sequence(em_runs *r, uint64_t n, em_errinfo *err)
{
	emi_front *f = &r->front;
	em_status st = EM_OK;

	if (r->appending || (f->few && n <= f->few_records - f->n))
		return EM_OK;
	if (f->few)
		st = emi_front_grow(f, n, err);
	/* What was given before comes before, where it is equal. */
	if (st == EM_OK)
		st = write_area(r, err);
	if (st == EM_OK)
		st = append_begin(r, &r->append, err);
	r->appending = st == EM_OK;
	return st;
}

static em_status append(em_runs *r, const void *records, uint64_t n, em_errinfo *err)
{
	emi_job *job = emi_kept_job(r);
	em_status st = emi_job_check(job, err);

	if (st == EM_OK)
		st = remember(r, records, n, err);
	if (st == EM_OK)
		st = begin_sequence(r, n, err);
	if (st != EM_OK || !r->appending)
		return st == EM_OK ? emi_front_push(&r->front, records, n, err) : st;
	if (n > SIZE_MAX / record_bytes(r))
		return emi_fail(err, EM_ERR_INVAL, "%" PRIu64 " records are more than memory can have", n);
	st = emi_run_append_records(&r->append, records, (size_t)n, err);
	if (st != EM_OK)
		return st;
	r->appended += n;
	job->records_in += n;
	return EM_OK;
}

em_status em_runs_append(em_runs *r, const void *records, uint64_t n)
{
	emi_front *f = r != NULL ? &r->front : NULL;
	em_errinfo err;
	em_status st = emi_front_may_push(f, records, n);

	if (st != EM_OK)
		return st;
	emi_errinfo_clear(&err);
	st = check_sorted(r, records, n, &err);
	/* That changed nothing; a comparison that fails is for ever. */
	if (st == EM_ERR_FORMAT)
		return emi_leave(r, st, &err);
	if (st != EM_OK)
		f->e.job.err = err;
	return emi_front_did(f, st == EM_OK && n != 0 ? append(r, records, n, &f->e.job.err) : st);
}

em_status em_runs_end(em_runs *r)
{
	emi_front *f = r != NULL ? &r->front : NULL;
	const em_status st = emi_front_may_push(f, NULL, 0);

	return st == EM_OK ? emi_front_did(f, end_sequence(r, &f->e.job.err)) : st;
}

/* n elements, or, if that is NULL, what is in the area, are all there is: have them in memory of their size. */
static em_status keep(em_runs *r, const void *elems, em_errinfo *err)
{
	emi_front *f = &r->front;
	const size_t bytes = (size_t)f->n * record_bytes(r);

	r->kept_bytes = bytes;
	r->kept = emi_piece_alloc(f->object.ctx, bytes, err);
	if (r->kept == NULL)
		return err->status;
	if (elems != NULL)
		emi_collation_store(&f->e.job.by, elems, (size_t)f->n, r->kept);
	else
		memcpy(r->kept, f->area, bytes);
	r->kept_records = f->n;
	f->n = 0;
	return EM_OK;
}

/* Few records: they are sorted and combined where they stay. */
static em_status keep_few(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	const void *elems = NULL;
	em_status st = emi_front_end_few(f, err);

	if (st == EM_OK)
		st = emi_form_elems(&f->e.former, f->area, f->n, &elems, err);
	if (st == EM_OK)
		st = keep(r, elems, err);
	if (st == EM_OK && r->combine != NULL)
		st = combine(r, r->kept, r->kept_records, &r->kept_records, err);
	return st;
}

/* Is what is left to be kept, as it is little, and nothing was written? */
static int is_little(em_runs *r)
{
	const emi_job *job = emi_kept_job(r);

	return job->runs.n == 0 && r->front.n * record_bytes(r) <= job->plan.memory / KEPT_SHARE;
}

/* The area has the rest. */
static em_status end_area(em_runs *r, em_errinfo *err)
{
	emi_front *f = &r->front;
	em_errinfo none = EM_ERRINFO_INIT;
	const void *elems = NULL;
	em_status st;
	int combined;

	if (f->few)
		return f->n != 0 ? keep_few(r, err) : EM_OK;
	if (f->n == 0)
		return EM_OK;
	st = combine_if_worth(r, &combined, err);
	if (st != EM_OK)
		return st;
	if (combined)
		return is_little(r) && keep(r, NULL, &none) == EM_OK ? EM_OK : write_sorted(r, err);
	if (!is_little(r))
		return write_plain(r, err);
	st = emi_form_elems(&f->e.former, f->area, f->n, &elems, err);
	return st == EM_OK ? keep(r, elems, err) : st;
}

/* Wait until all runs are on the disks. */
static em_status settle(em_runs *r, em_errinfo *err)
{
	emi_engine *e = &r->front.e;
	em_status st = e->out.runs != NULL ? emi_outseq_end(&e->out, err) : EM_OK;
	uint64_t i;

	if (st == EM_OK && e->writer.runs != NULL)
		st = emi_run_writer_end(&e->writer, err);
	for (i = 0; i < e->job.runs.n; i++)
		e->job.runs.run[i].coming = 0;
	return st;
}

static em_status finish(em_runs *r, em_errinfo *err)
{
	emi_job *job = emi_kept_job(r);
	em_status st = emi_job_check(job, err);

	r->front.stage = EMI_FINISHED;
	if (st == EM_OK)
		st = end_sequence(r, err);
	if (st == EM_OK)
		st = end_area(r, err);
	if (st == EM_OK)
		st = settle(r, err);
	r->form_memory = r->front.few ? 0 : job->plan.memory;
	free_forming(r);
	if (job->shares)
		emi_sharers_leave(job->ctx);
	job->shares = 0;
	if (st != EM_OK || job->runs.n == 0)
		return st;
	return emi_kept_reduce(r, r->merge_memory != 0 ? r->merge_memory : r->form_memory, err);
}

em_status em_runs_finish(em_runs *r)
{
	emi_front *f = r != NULL ? &r->front : NULL;
	const em_status st = emi_front_may_finish(f);

	return st == EM_OK ? emi_front_did(f, finish(r, &f->e.job.err)) : st;
}

static em_status clear(em_runs *r, em_errinfo *err)
{
	emi_job *job = emi_kept_job(r);
	em_status st;

	if (r->readers != 0)
		return emi_fail(err, EM_ERR_STATE, "%" PRIu32 " merges of the runs are not at their end", r->readers);
	free_all(r);
	r->generation++;
	st = begin(r, err);
	if (st == EM_OK)
		return EM_OK;
	job->err = *err;
	return emi_job_result(job, st);
}

em_status em_runs_clear(em_runs *r)
{
	em_errinfo err;
	const em_status st = emi_enter(r, &err);

	return st == EM_OK ? emi_leave(r, clear(r, &err), &err) : st;
}

/* All of it fits in memory, and needs none for merging. */
static uint64_t least(em_runs *r)
{
	return emi_kept_job(r)->runs.n != 0 ? emi_kept_need(r, emi_kept_job(r)->runs.n) : 0;
}

em_status em_runs_info_get(const em_runs *runs, em_runs_info *info)
{
	em_runs *r = (em_runs *)(uintptr_t)runs;
	em_runs_info i = EM_RUNS_INFO_INIT;
	em_status st = r != NULL ? EMI_STRUCT_CHECK(em_runs_info, info, NULL) : EM_ERR_INVAL;
	const emi_job *job;

	if (st != EM_OK)
		return st;
	job = emi_kept_job(r);
	if (job->ctx != NULL) {
		const emi_io_stats io = emi_io_snapshot(&job->io);

		i.readers = r->readers;
		i.pushed = job->records_in;
		i.records = r->records + r->kept_records;
		i.runs = job->runs.n;
		i.formed = job->runs_formed;
		i.merged = r->merged;
		i.scratch_bytes = emi_run_bytes(job->runs.run, job->runs.n);
		i.kept_bytes = r->kept_records * record_bytes(r);
		i.block_bytes = job->runs_formed != 0 ? job->plan.block_bytes : 0;
		i.memory_min = r->front.stage == EMI_FINISHED ? least(r) : 0;
		i.bytes_read = io.bytes_read;
		i.bytes_written = io.bytes_written;
	}
	return EMI_STRUCT_GIVE(em_runs_info, info, &i);
}
