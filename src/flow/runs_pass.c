/* SPDX-License-Identifier: BSL-1.0 */
/* runs_pass.c -- merging runs until there are few enough; see kept_runs.h. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "flow/runs_stream.h"

#define BUFFERS 3u              /* for writing what a pass makes */

/* Bytes of memory that writing a run takes. */
static uint64_t writing(em_runs *r)
{
	const emi_job *job = emi_kept_job(r);
	uint64_t bytes = emi_run_append_memory(&job->by, BUFFERS, 0, job->plan.block_bytes) + 4u * EMI_PAGE;

	if (r->combine != NULL)
		bytes += EMI_STREAM_ROOM + 4u * (uint64_t)job->by.codec->record_bytes + EMI_PAGE;
	return bytes;
}

/* The most runs that are merged with so much memory, up to `most'. */
static uint64_t merged_with(em_runs *r, uint64_t most, uint64_t memory)
{
	uint64_t low = 0, high = most;

	/* low can be merged, and more than high are not asked for. */
	while (low < high) {
		const uint64_t k = high - (high - low) / 2;

		if (emi_kept_need(r, k) <= memory)
			low = k;
		else
			high = k - 1;
	}
	return low;
}

/* The writer has what a pass needs. */
static em_status open_writing(em_runs *r, emi_run_append *a, em_errinfo *err)
{
	emi_engine *e = &r->front.e;
	const size_t block = e->job.plan.block_bytes;
	em_status st = emi_outseq_init(&e->out, &e->job.runs, BUFFERS, 0, block, err);

	return st == EM_OK ? emi_run_append_init(a, &e->job.runs, &e->out, &e->writer, block, 0, err) : st;
}

static void close_writing(em_runs *r, emi_run_append *a)
{
	emi_run_append_free(a);
	emi_outseq_free(&r->front.e.out);
	emi_run_writer_free(&r->front.e.writer);
}

/* Append all of a stream. */
static em_status write_all(em_stream *s, emi_run_append *a, emi_run *run, uint64_t *records, em_errinfo *err)
{
	const em_batch *batch;
	em_status st;

	while ((st = em_stream_next(s, &batch)) == EM_OK) {
		st = emi_run_append_records(a, batch->records, batch->n, err);
		if (st != EM_OK)
			return st;
		*records += batch->n;
	}
	if (st != EM_END) {
		em_stream_error(s, err);
		return st;
	}
	st = emi_run_append_end(a, run, err);
	if (st == EM_OK)
		st = emi_run_append_settle(a, err);
	run->coming = 0;
	return st;
}

/* One run takes the place of k. */
static void replace(em_runs *r, uint64_t first, uint32_t k, const emi_run *run)
{
	emi_runs *all = &emi_kept_job(r)->runs;
	emi_run *at = all->run + first;
	uint32_t level = 0, i;

	for (i = 0; i < k; i++)
		level = at[i].level > level ? at[i].level : level;
	at[0] = *run;
	at[0].level = level + 1;
	memmove(at + 1, at + k, (size_t)(all->n - first - k) * sizeof *at);
	all->n -= k - 1;
	r->merged++;
}

static uint64_t records_of(em_runs *r, uint64_t first, uint32_t k)
{
	const emi_job *job = emi_kept_job(r);

	return emi_run_bytes(job->runs.run + first, k) / job->by.codec->record_bytes;
}

/* Merge k runs with so much memory.  Once they are read they are lost, so a failure is for ever then. */
static em_status merge(em_runs *r, uint64_t first, uint32_t k, uint64_t memory, em_errinfo *err)
{
	const uint64_t before = records_of(r, first, k);
	em_stream *s = NULL;
	uint64_t records = 0;
	emi_plan plan;
	em_status st = emi_kept_plan(r, k, memory, 0, &plan, err);
	emi_run_append a;
	emi_run run;

	memset(&a, 0, sizeof a);
	if (st == EM_OK) {
		s = emi_runs_pass(r, first, k, &plan, err);
		st = s != NULL ? EM_OK : err->status;
	}
	if (st == EM_OK && r->combine != NULL)
		st = em_stream_reduce(&s, s, r->order, r->combine, r->user, NULL, err);
	if (st == EM_OK)
		st = open_writing(r, &a, err);
	if (st == EM_OK) {
		st = write_all(s, &a, &run, &records, err);
		if (st != EM_OK) {
			emi_kept_job(r)->err = *err;
			(void)emi_job_result(emi_kept_job(r), st);
		}
	}
	/* The blocks of both go their ways before the list changes. */
	em_stream_close(s);
	close_writing(r, &a);
	if (st != EM_OK)
		return st;
	replace(r, first, k, &run);
	r->records -= before - records;
	return EM_OK;
}

em_status emi_kept_reduce(em_runs *r, uint64_t memory, em_errinfo *err)
{
	emi_job *job = emi_kept_job(r);
	const uint64_t all = em_ctx_memory(job->ctx), used = em_ctx_memory_used(job->ctx);
	const uint64_t left = used < all ? all - used : 0, may = memory < left ? memory : left, out = writing(r);
	uint64_t fan_in = job->opts.fan_in != 0 ? job->opts.fan_in : UINT32_MAX, first, last;
	em_status st = EM_OK;
	uint32_t k;

	last = merged_with(r, fan_in < job->runs.n ? fan_in : job->runs.n, may);
	if (job->runs.n <= last)
		return EM_OK;
	fan_in = may > out ? merged_with(r, last, may - out) : 0;
	if (fan_in < 2)
		return emi_fail_memory(err, used + out + emi_kept_need(r, 2),
				       "merging two of %" PRIu64 " runs takes %" PRIu64 " bytes; there are %" PRIu64,
				       job->runs.n, out + emi_kept_need(r, 2), may);
	emi_watch_phase(&job->watch, EM_PHASE_MERGE, 0);
	/* A pass has less memory than the last merge, which has nothing to write. */
	while (st == EM_OK && (k = emi_runs_group(&job->runs, (uint32_t)fan_in, last, &first)) != 0)
		st = merge(r, first, k, may - out, err);
	return st;
}
