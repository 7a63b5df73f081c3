/* SPDX-License-Identifier: BSL-1.0 */
/* runs_feed.c -- streams into runs, and runs as a sink: by the public calls of runs. */
#include <inttypes.h>

#include "base/error.h"
#include "flow/flow_order.h"
#include "flow/flow_sink.h"
#include "flow/kept_runs.h"

static em_status add_batch(em_runs *r, const em_batch *batch, uint32_t flags)
{
	return (flags & EM_RUNS_SORTED) != 0 ? em_runs_append(r, batch->records, batch->n)
					     : em_runs_push(r, batch->records, batch->n);
}

static em_status check_feed(const em_runs *r, const em_stream *in, uint32_t flags, em_errinfo *err)
{
	em_status st = emi_given(r, "runs", err);

	if (st == EM_OK)
		st = emi_stream_check_order(in, r->order, err);
	if (st == EM_OK && (flags & ~EM_RUNS_SORTED) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", flags);
	return st;
}

/* The detail that runs have of a failure that is their own. */
static em_status tell(const em_runs *r, em_status st, em_errinfo *err)
{
	em_runs_error(r, err);
	if (err->status == st)
		return st;
	emi_errinfo_clear(err);
	return emi_fail(err, st, "%s", em_status_text(st));
}

/* Add all of a stream, with the detail of whichever fails. */
static em_status feed(em_runs *r, em_stream *in, uint32_t flags, em_errinfo *err)
{
	const em_batch *batch;
	em_status st;

	for (;;) {
		st = em_stream_next(in, &batch);
		if (st == EM_END)
			return EM_OK;
		if (st != EM_OK) {
			em_stream_error(in, err);
			return st;
		}
		st = add_batch(r, batch, flags);
		if (st != EM_OK)
			return tell(r, st, err);
	}
}

/* If runs are planned when these records come, it is for as many as that, and those that are there. */
static void expect(em_runs *r, const em_stream *in)
{
	emi_front *f = &r->front;
	const uint64_t bytes = emi_stream_left_bytes(in), there = f->n * in->record;

	if (f->few && f->needs.bytes == EMI_UNKNOWN && bytes < EMI_UNKNOWN - there)
		f->needs.bytes = bytes + there;
}

em_status em_runs_feed(em_runs *r, em_stream *in, uint32_t flags, em_errinfo *theirs)
{
	em_errinfo err = EM_ERRINFO_INIT;
	em_status st = check_feed(r, in, flags, &err);

	if (st != EM_OK)
		return emi_tell(theirs, st, &err);
	/* Another sequence begins, and ends. */
	st = em_runs_end(r);
	if (st == EM_OK) {
		expect(r, in);
		st = feed(r, in, flags, &err);
		if (st != EM_OK)
			return emi_tell(theirs, st, &err);
		st = em_runs_end(r);
	}
	return emi_tell(theirs, st == EM_OK ? st : tell(r, st, &err), &err);
}

typedef struct runs_sink {
	em_sink k;
	em_runs *runs;
	uint32_t flags;
} runs_sink;

static em_status sink_push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	const runs_sink *s = (const runs_sink *)(void *)k;
	const em_batch batch = { records, n, n * k->record, NULL };
	const em_status st = add_batch(s->runs, &batch, s->flags);

	(void)taken;
	k->mild = st == EM_ERR_FORMAT || st == EM_ERR_BUSY;
	return st == EM_OK ? st : tell(s->runs, st, err);
}

static em_status sink_finish(em_sink *k, em_errinfo *err)
{
	const runs_sink *s = (const runs_sink *)(void *)k;
	const em_status st = (s->flags & EM_RUNS_MORE) != 0 ? em_runs_end(s->runs) : em_runs_finish(s->runs);

	return st == EM_OK ? st : tell(s->runs, st, err);
}

em_status em_sink_runs(em_sink **out, em_runs *r, uint32_t flags, em_errinfo *theirs)
{
	static const emi_sink_kind kind = { sink_push, sink_finish, NULL };
	em_errinfo err;
	runs_sink *s = NULL;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(r, "runs", &err);
	if (st == EM_OK && (flags & ~(EM_RUNS_SORTED | EM_RUNS_MORE)) != 0)
		st = emi_fail(&err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", flags);
	if (st == EM_OK) {
		s = (runs_sink *)(void *)emi_sink_new(r->front.object.ctx, sizeof *s, &kind,
						      emi_order_codec(r->order)->record_bytes, &err);
		st = s != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		s->runs = r;
		s->flags = flags;
		*out = &s->k;
	}
	return emi_tell(theirs, st, &err);
}
