/* SPDX-License-Identifier: BSL-1.0 */
/* runs_stream.c -- runs that are merged as a stream; see kept_runs.h. */
#include "flow/runs_stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/structs.h"
#include "sort/kway.h"
#include "sort/sorted_memory.h"
#include "sort/sorted_run.h"

#define MOST_BUFFERS 4u         /* of each run: one is merged, and others are read meanwhile */

typedef struct runs_stream {
	em_stream s;
	em_runs *r;
	uint64_t generation;    /* of the runs when it was made */
	uint64_t memory;        /* 0: as passes were planned for */
	int pass;               /* it consumes k runs from `first' on, within a call on the runs */
	uint64_t first;
	uint32_t k;
	char *bounds;           /* two records; NULL: there are none */
	const char *from;       /* one of them, or NULL */
	const char *to;
	uint64_t skip;          /* records that are still to be left out */
	uint64_t take;          /* that are still to be lent */
	int begun;              /* it has all of what follows */
	emi_kway kway;
	emi_sorted_run *run;
	emi_sorted_memory kept;
} runs_stream;

static emi_kway_opts kway_opts(em_runs *r)
{
	const emi_kway_opts o = { 0, 0, emi_watch_tick, &emi_kept_job(r)->watch };

	return o;
}

uint64_t emi_kept_need(em_runs *r, uint64_t k, uint32_t buffers)
{
	const emi_job *job = emi_kept_job(r);
	const emi_kway_opts o = kway_opts(r);
	uint64_t bytes = emi_kway_memory(&job->by, &o, k < UINT32_MAX / 2 ? (uint32_t)k : UINT32_MAX / 2), i;
	emi_run longest;

	/* Room for copies of the runs, too. */
	bytes += k * (sizeof(emi_sorted_run) + sizeof(emi_run)) + 2u * EMI_PAGE;
	memset(&longest, 0, sizeof longest);
	longest.longest = job->plan.block_bytes;
	for (i = 0; i < job->runs.n; i++)
		if (job->runs.run[i].longest > longest.longest)
			longest.longest = job->runs.run[i].longest;
	return bytes + k * emi_sorted_run_memory(&job->runs, &longest, buffers);
}

static void close_runs(runs_stream *m)
{
	uint32_t i;

	emi_kway_close(&m->kway);
	memset(&m->kway, 0, sizeof m->kway);
	for (i = 0; m->run != NULL && i < m->k; i++)
		emi_sorted_run_close(&m->run[i]);
	emi_free_array(m->s.object.ctx, m->run, m->k, sizeof *m->run);
	m->run = NULL;
	if (m->begun && !m->pass)
		m->r->readers--;
	m->begun = 0;
}

/* Have k runs open, and merge them with what stayed in memory. */
static em_status open_runs(runs_stream *m, const emi_run *runs, uint32_t buffers, em_errinfo *err)
{
	em_runs *r = m->r;
	emi_job *job = emi_kept_job(r);
	const emi_kway_opts o = kway_opts(r);
	em_status st = emi_kway_open(&m->kway, &job->by, &o, err);
	uint32_t i;

	if (st == EM_OK && m->k != 0) {
		m->run = emi_alloc_array(job->ctx, m->k, sizeof *m->run, err);
		st = m->run != NULL ? EM_OK : err->status;
	}
	if (st == EM_OK)
		st = emi_kway_reserve(&m->kway, m->k + 1, err);
	/* One without blocks would be over at once, and is left out. */
	for (i = 0; i < m->k && st == EM_OK; i++) {
		st = emi_sorted_run_open(&m->run[i], &job->runs, &runs[i], buffers, !m->pass, err);
		if (st == EM_OK)
			st = emi_kway_add(&m->kway, &m->run[i].source, i, err);
	}
	if (st != EM_OK || m->pass)
		return st;
	emi_sorted_memory_open(&m->kept, r->kept, (size_t)r->kept_records, m->s.record);
	return emi_kway_add(&m->kway, &m->kept.source, m->k, err);
}

/* Blocks that lie before the range are left out of the copies of the runs. */
static em_status cut_runs(runs_stream *m, emi_run *runs, em_errinfo *err)
{
	em_runs *r = m->r;
	uint64_t key = 0, left_out = 0;
	em_status st = EM_OK;

	if (m->from != NULL)
		key = emi_collation_key(&emi_kept_job(r)->by, m->from);
	else if (m->skip != 0)
		st = emi_kept_rank_key(r, m->skip, &key, err);
	if (st == EM_OK && key != 0)
		st = emi_kept_from_key(r, key, runs, &left_out, err);
	/* With a key they are not counted: what is skipped is behind it. */
	if (st == EM_OK && m->from == NULL)
		m->skip -= left_out;
	return st;
}

static em_status open_range(runs_stream *m, uint32_t buffers, em_errinfo *err)
{
	emi_job *job = emi_kept_job(m->r);
	emi_run *runs = NULL;
	em_status st = EM_OK;

	m->k = (uint32_t)job->runs.n;
	if (m->k != 0) {
		runs = emi_alloc_array(job->ctx, m->k, sizeof *runs, err);
		if (runs == NULL)
			return err->status;
		memcpy(runs, job->runs.run, m->k * sizeof *runs);
		st = cut_runs(m, runs, err);
	}
	if (st == EM_OK)
		st = open_runs(m, runs, buffers, err);
	emi_free_array(job->ctx, runs, m->k, sizeof *runs);
	return st;
}

/* Is there memory for a merge of all runs?  If not, and nobody is reading them, have fewer of them. */
static em_status fit(runs_stream *m, uint32_t *buffers, em_errinfo *err)
{
	em_runs *r = m->r;
	emi_job *job = emi_kept_job(r);
	const uint64_t all = em_ctx_memory(job->ctx), used = em_ctx_memory_used(job->ctx);
	const uint64_t left = used < all ? all - used : 0;
	uint64_t memory = m->memory != 0 ? m->memory : r->merge_memory != 0 ? r->merge_memory : r->form_memory;
	em_status st = EM_OK;

	*buffers = 2;
	if (job->runs.n == 0)
		return EM_OK;
	memory = memory < left ? memory : left;
	if (emi_kept_need(r, job->runs.n, 2) > memory) {
		const uint64_t need = emi_kept_need(r, job->runs.n, 2);

		if (r->readers != 0)
			return emi_fail_memory(err, used + need,
					       "merging %" PRIu64 " runs takes %" PRIu64 " bytes; there are %" PRIu64
					       "; another merge is reading them, so they cannot become fewer",
					       job->runs.n, need, memory);
		st = emi_kept_reduce(r, memory, err);
	}
	while (*buffers < MOST_BUFFERS && emi_kept_need(r, job->runs.n, *buffers + 1) <= memory)
		++*buffers;
	return st;
}

static em_status begin(runs_stream *m, em_errinfo *err)
{
	em_runs *r = m->r;
	emi_job *job = emi_kept_job(r);
	uint32_t buffers;
	em_status st;

	if (m->pass) {
		m->begun = 1;
		return open_runs(m, job->runs.run + m->first, 2, err);
	}
	/* All is as it was then. */
	m->s.mild = 1;
	if (r->generation != m->generation)
		return emi_fail(err, EM_ERR_STATE, "the runs were cleared since the stream was made");
	if (r->front.stage != EMI_FINISHED)
		return emi_fail(err, EM_ERR_STATE, "the runs are not finished");
	m->s.mild = 0;
	st = fit(m, &buffers, err);
	if (st != EM_OK)
		return st;
	m->begun = 1;
	r->readers++;
	emi_watch_phase(&job->watch, EM_PHASE_OUTPUT,
			emi_run_bytes(job->runs.run, job->runs.n) + r->kept_records * m->s.record);
	return open_range(m, buffers, err);
}

/* The next records of the range. */
static em_status advance(runs_stream *m, const char **records, size_t *n, em_errinfo *err)
{
	emi_kway_stop stop = { 0, NULL, 0 };
	em_status st;

	/* What comes before the first record of the range goes. */
	while (m->from != NULL) {
		stop.bound = m->from;
		st = emi_kway_next(&m->kway, &stop, records, n, err);
		if (st != EM_OK)
			return st;
		if (*n == 0)
			m->from = NULL;
	}
	stop.bound = m->to;
	while (m->skip != 0) {
		stop.most = m->skip < SIZE_MAX ? (size_t)m->skip : SIZE_MAX;
		st = emi_kway_next(&m->kway, &stop, records, n, err);
		if (st != EM_OK || *n == 0)
			return st == EM_OK ? EM_END : st;
		m->skip -= *n;
	}
	if (m->take == 0)
		return EM_END;
	stop.most = m->take < SIZE_MAX ? (size_t)m->take : 0;
	st = emi_kway_next(&m->kway, &stop, records, n, err);
	if (st == EM_OK && *n == 0)
		return EM_END;
	if (st == EM_OK && m->take != EM_STREAM_UNKNOWN)
		m->take -= *n;
	return st;
}

static em_status work(runs_stream *m, em_errinfo *err)
{
	const char *records;
	size_t n;
	em_status st = m->begun ? EM_OK : begin(m, err);

	if (st == EM_OK)
		st = advance(m, &records, &n, err);
	if (st != EM_OK)
		return st;
	m->s.source.at = records;
	m->s.source.end = records + n * m->s.record;
	emi_watch_add(&emi_kept_job(m->r)->watch, n * m->s.record);
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	runs_stream *m = (runs_stream *)(void *)s;
	em_runs *r = m->r;
	em_status st;

	if (m->pass)
		return work(m, err);
	st = emi_enter(r, err);
	s->mild = st == EM_ERR_BUSY;
	if (st != EM_OK)
		return emi_fail(err, st, "%s", em_status_text(st));
	if (emi_kept_job(r)->status != EM_OK) {
		*err = emi_kept_job(r)->err;
		return emi_leave(r, emi_kept_job(r)->status, err);
	}
	return emi_leave(r, work(m, err), err);
}

static void retire(em_stream *s)
{
	runs_stream *m = (runs_stream *)(void *)s;

	close_runs(m);
	emi_free(s->object.ctx, m->bounds, 2 * s->record);
	m->bounds = NULL;
}

static const emi_stream_kind kind = { next, retire, "runs", 0 };

static runs_stream *make(em_runs *r, em_errinfo *err)
{
	runs_stream *m = (runs_stream *)(void *)emi_stream_new(r->front.object.ctx, sizeof *m, &kind,
							       emi_order_codec(r->order)->record_bytes, NULL, 0,
							       EM_STREAM_UNKNOWN, err);

	if (m == NULL)
		return NULL;
	m->r = r;
	m->generation = r->generation;
	m->take = EM_STREAM_UNKNOWN;
	return m;
}

em_stream *emi_runs_pass(em_runs *r, uint64_t first, uint32_t k, em_errinfo *err)
{
	runs_stream *m = make(r, err);
	em_stream *s = NULL;

	if (m == NULL)
		return NULL;
	m->pass = 1;
	m->first = first;
	m->k = k;
	emi_stream_made(&m->s, &s);
	return s;
}

/* Copies of the bounds. */
static em_status take_bounds(runs_stream *m, const em_runs_merge_opts *o, em_errinfo *err)
{
	const size_t bytes = m->s.record;

	if (o->from == NULL && o->to == NULL)
		return EM_OK;
	m->bounds = emi_alloc(m->s.object.ctx, 2 * bytes, err);
	if (m->bounds == NULL)
		return err->status;
	if (o->from != NULL) {
		memcpy(m->bounds, o->from, bytes);
		m->from = m->bounds;
	}
	if (o->to != NULL) {
		memcpy(m->bounds + bytes, o->to, bytes);
		m->to = m->bounds + bytes;
	}
	return EM_OK;
}

/* Records of a range that is known by their number. */
static uint64_t count(em_runs *r, const em_runs_merge_opts *o)
{
	const uint64_t all = r->records + r->kept_records, behind = o->skip < all ? all - o->skip : 0;

	if (r->front.stage != EMI_FINISHED || r->combine != NULL || o->from != NULL || o->to != NULL)
		return EM_STREAM_UNKNOWN;
	return behind < o->take ? behind : o->take;
}

/* Combined records are counted, and left out, behind the node that combines them. */
static em_status combined(em_stream **out, em_runs *r, const em_runs_merge_opts *o, em_errinfo *err)
{
	em_stream *s = *out;
	em_status st = em_stream_reduce(&s, s, r->order, r->combine, r->user, NULL, err);

	if (st == EM_OK && (o->skip != 0 || o->take != EM_STREAM_UNKNOWN))
		st = em_stream_slice(&s, s, o->skip, o->take, err);
	if (st != EM_OK)
		em_stream_close(s);
	*out = st == EM_OK ? s : NULL;
	return st;
}

static em_status make_merge(em_stream **out, em_runs *r, const em_runs_merge_opts *o, em_errinfo *err)
{
	runs_stream *m = make(r, err);
	em_status st = m != NULL ? take_bounds(m, o, err) : err->status;

	if (st != EM_OK) {
		if (m != NULL)
			emi_stream_drop(&m->s);
		return st;
	}
	m->memory = o->memory;
	m->s.left = count(r, o);
	if (r->combine == NULL) {
		m->skip = o->skip;
		m->take = o->take;
	}
	emi_stream_made(&m->s, out);
	return r->combine != NULL ? combined(out, r, o, err) : EM_OK;
}

em_status em_runs_merge(em_stream **out, em_runs *r, const em_runs_merge_opts *opts, em_errinfo *theirs)
{
	em_runs_merge_opts o;
	em_errinfo err;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(r, "runs", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_runs_merge_opts, &o, opts, &err);
	if (st == EM_OK && o.take == 0)
		o.take = EM_STREAM_UNKNOWN;
	if (st == EM_OK)
		st = make_merge(out, r, &o, &err);
	return emi_tell(theirs, st, &err);
}
