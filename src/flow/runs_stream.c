/* SPDX-License-Identifier: BSL-1.0 */
/* runs_stream.c -- runs that are merged as a stream; see kept_runs.h. */
#include "flow/runs_stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/structs.h"
#include "sort/run_merge.h"

#define LITTLE ((size_t)64 << 10) /* bytes that are lent of what stayed in memory */

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
	emi_plan plan;          /* of the merge */
	emi_run_merge merge;    /* there are runs; else ... */
	size_t kept;            /* ... bytes that were taken of what stayed in memory */
	const char *at, *end;   /* records that were merged */
	int last;               /* those behind them are not in the range */
} runs_stream;

uint64_t emi_kept_need(em_runs *r, uint64_t k)
{
	/* Room for copies of the runs, too. */
	return emi_run_merge_least(emi_kept_job(r), k) + k * sizeof(emi_run) + 2u * EMI_PAGE;
}

em_status emi_kept_plan(em_runs *r, uint32_t k, uint64_t memory, int keeps, emi_plan *plan, em_errinfo *err)
{
	const emi_job *job = emi_kept_job(r);
	const uint64_t need = emi_kept_need(r, k), beside = need - emi_run_merge_least(job, k);

	if (memory >= need && emi_run_merge_plan(job, k, memory - beside, keeps, plan))
		return EM_OK;
	return emi_fail_memory(err, em_ctx_memory_used(job->ctx) + need,
			       "merging %" PRIu32 " runs takes %" PRIu64 " bytes; there are %" PRIu64, k, need, memory);
}

static void close_runs(runs_stream *m)
{
	emi_run_merge_close(&m->merge);
	if (m->begun && !m->pass)
		m->r->readers--;
	m->begun = 0;
}

static em_status open_runs(runs_stream *m, const emi_run *runs, em_errinfo *err)
{
	return emi_run_merge_open(&m->merge, emi_kept_job(m->r), runs, m->k, !m->pass, &m->plan, err);
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

static em_status open_range(runs_stream *m, em_errinfo *err)
{
	emi_job *job = emi_kept_job(m->r);
	emi_run *runs;
	em_status st;

	m->k = (uint32_t)job->runs.n;
	if (m->k == 0)
		return EM_OK;
	runs = emi_alloc_array(job->ctx, m->k, sizeof *runs, err);
	if (runs == NULL)
		return err->status;
	memcpy(runs, job->runs.run, m->k * sizeof *runs);
	st = cut_runs(m, runs, err);
	if (st == EM_OK)
		st = open_runs(m, runs, err);
	emi_free_array(job->ctx, runs, m->k, sizeof *runs);
	return st;
}

/* Is there memory for a merge of all runs?  If not, and nobody is reading them, have fewer of them.  Then make its
 * plan. */
static em_status fit(runs_stream *m, em_errinfo *err)
{
	em_runs *r = m->r;
	emi_job *job = emi_kept_job(r);
	const uint64_t all = em_ctx_memory(job->ctx), used = em_ctx_memory_used(job->ctx);
	const uint64_t left = used < all ? all - used : 0;
	uint64_t memory = m->memory != 0 ? m->memory : r->merge_memory != 0 ? r->merge_memory : r->form_memory;
	em_status st = EM_OK;

	if (job->runs.n == 0)
		return EM_OK;
	memory = memory < left ? memory : left;
	if (emi_kept_need(r, job->runs.n) > memory) {
		const uint64_t need = emi_kept_need(r, job->runs.n);

		if (r->readers != 0)
			return emi_fail_memory(err, used + need,
					       "merging %" PRIu64 " runs takes %" PRIu64 " bytes; there are %" PRIu64
					       "; another merge is reading them, so they cannot become fewer",
					       job->runs.n, need, memory);
		st = emi_kept_reduce(r, memory, err);
	}
	return st == EM_OK ? emi_kept_plan(r, (uint32_t)job->runs.n, memory, 1, &m->plan, err) : st;
}

static em_status begin(runs_stream *m, em_errinfo *err)
{
	em_runs *r = m->r;
	emi_job *job = emi_kept_job(r);
	em_status st;

	if (m->pass) {
		m->begun = 1;
		return open_runs(m, job->runs.run + m->first, err);
	}
	/* All is as it was then. */
	m->s.mild = 1;
	if (r->generation != m->generation)
		return emi_fail(err, EM_ERR_STATE, "the runs were cleared since the stream was made");
	if (r->front.stage != EMI_FINISHED)
		return emi_fail(err, EM_ERR_STATE, "the runs are not finished");
	m->s.mild = 0;
	st = fit(m, err);
	if (st != EM_OK)
		return st;
	m->begun = 1;
	r->readers++;
	emi_watch_phase(&job->watch, EM_PHASE_OUTPUT,
			emi_run_bytes(job->runs.run, job->runs.n) + r->kept_records * m->s.record);
	return open_range(m, err);
}

/* What stayed in memory, some of it at a time: then there are no runs. */
static em_status next_kept(runs_stream *m, em_errinfo *err)
{
	const em_runs *r = m->r;
	const size_t record = m->s.record, left = (size_t)r->kept_records * record - m->kept,
		     some = record < LITTLE ? LITTLE / record * record : record, n = left < some ? left : some;
	em_status st = emi_job_check(emi_kept_job(m->r), err);

	if (st != EM_OK || n == 0)
		return st == EM_OK ? EM_END : st;
	m->at = r->kept + m->kept;
	m->end = m->at + n;
	m->kept += n;
	emi_watch_add(&emi_kept_job(m->r)->watch, n);
	return EM_OK;
}

static em_status next_merged(runs_stream *m, em_errinfo *err)
{
	size_t n;
	em_status st;

	if (m->k == 0)
		return next_kept(m, err);
	st = emi_run_merge_next(&m->merge, &m->at, &n, err);
	if (st == EM_OK)
		m->end = m->at + n * m->s.record;
	return st;
}

/* The first record in hand that does not come before another one. */
static const char *find(const runs_stream *m, const char *record)
{
	const emi_collation *by = &emi_kept_job(m->r)->by;
	size_t low = 0, high = (size_t)(m->end - m->at) / m->s.record;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (emi_collation_compare(by, m->at + middle * m->s.record, record) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return m->at + low * m->s.record;
}

/* Leave out of what is in hand what is not in the range. */
static em_status narrow(runs_stream *m, em_errinfo *err)
{
	const size_t record = m->s.record;
	const char *end;
	uint64_t n;

	if (m->from != NULL) {
		m->at = find(m, m->from);
		m->from = m->at == m->end ? m->from : NULL;
	}
	if (m->to != NULL && m->at != m->end) {
		end = find(m, m->to);
		m->last = end != m->end;
		m->end = end;
	}
	n = (uint64_t)(m->end - m->at) / record;
	n = n < m->skip ? n : m->skip;
	m->at += (size_t)n * record;
	m->skip -= n;
	n = (uint64_t)(m->end - m->at) / record;
	if (n >= m->take) {
		m->end = m->at + (size_t)m->take * record;
		m->last = 1;
	}
	if (m->take != EM_STREAM_UNKNOWN)
		m->take -= n < m->take ? n : m->take;
	return emi_collation_check(&emi_kept_job(m->r)->by, err);
}

/* The next records of the range. */
static em_status advance(runs_stream *m, em_errinfo *err)
{
	em_status st;

	do {
		if (m->last || m->take == 0)
			return EM_END;
		st = next_merged(m, err);
		if (st == EM_OK)
			st = narrow(m, err);
	} while (st == EM_OK && m->at == m->end);
	return st;
}

static em_status work(runs_stream *m, em_errinfo *err)
{
	em_status st = m->begun ? EM_OK : begin(m, err);

	if (st == EM_OK)
		st = advance(m, err);
	if (st != EM_OK)
		return st;
	m->s.source.at = m->at;
	m->s.source.end = m->end;
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

em_stream *emi_runs_pass(em_runs *r, uint64_t first, uint32_t k, const emi_plan *plan, em_errinfo *err)
{
	runs_stream *m = make(r, err);
	em_stream *s = NULL;

	if (m == NULL)
		return NULL;
	m->pass = 1;
	m->first = first;
	m->k = k;
	m->plan = *plan;
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
