/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_stream.c -- sorting as a node; sorters as streams and sinks.
 *
 * A node has a sorter from its first pull on.  Before it reads its input it decides on memory, as sorts below it and
 * above it are going to want some, too (graph.h).
 */
#include "base/context.h"
#include "base/error.h"
#include "base/structs.h"
#include "flow/flow_order.h"
#include "flow/flow_sink.h"
#include "flow/graph.h"
#include "flow/lines.h"
#include "sort/front.h"
#include "sort/sorter.h"

typedef struct sort_stream {
	em_stream s;
	em_order *order;        /* a reference; NULL: the sorter is the caller's */
	em_sort_opts opts;
	emi_graph_watcher watcher; /* of the sorter */
	em_sorter *sorter;      /* NULL: not yet, or no more */
	em_sort_stats stats;    /* when there is no more */
} sort_stream;

/* The detail that a sorter has of a failure that is its own. */
static em_status tell(const em_sorter *sorter, em_status st, em_errinfo *err)
{
	em_sorter_error(sorter, err);
	if (err->status == st)
		return st;
	emi_errinfo_clear(err);
	return emi_fail(err, st, "%s", em_status_text(st));
}

/* Of a sorter of the caller's: what is left in the window of its cursor. */
static int lend_window(em_stream *s, em_cursor *c)
{
	if (s->varied || c->cur == c->end)
		return 0;
	s->source.at = c->cur;
	s->source.end = c->end;
	c->cur = c->end;
	return 1;
}

static em_status lend(em_stream *s, em_errinfo *err)
{
	sort_stream *t = (sort_stream *)(void *)s;
	const em_batch *batch;
	em_status st;

	if (lend_window(s, em_sorter_cursor(t->sorter)))
		return EM_OK;
	st = em_sorter_next(t->sorter, &batch);
	if (st < EM_OK)
		return tell(t->sorter, st, err);
	if (st == EM_OK && s->varied) {
		emi_lines_show(s, batch->records, batch->ends, batch->n);
	} else if (st == EM_OK) {
		s->source.at = batch->records;
		s->source.end = s->source.at + batch->bytes;
	}
	return st;
}

static em_status open_sorter(sort_stream *t, em_errinfo *err)
{
	em_ctx *ctx = t->s.object.ctx;
	em_sort_opts o = t->opts;
	uint64_t later = 0;

	o.errinfo = err;
	o.progress_free = NULL;
	if (o.memory == 0)
		o.memory = emi_graph_share(&t->s, &later);
	emi_graph_watch(&t->s, &o, &t->watcher);
	return emi_sorter_open(&t->sorter, ctx, t->order, &o, later,
			       emi_stream_left_bytes(t->s.input[0]), err);
}

/* All that is in hand. */
static em_status push_lines(em_sorter *sorter, em_stream *in)
{
	uint64_t ends[EMI_LINES_MOST];
	em_status st = EM_OK;

	while (st == EM_OK && in->source.at != in->source.end) {
		em_batch b;

		emi_lines_look(in, ends, EMI_LINES_MOST, &b);
		st = em_sorter_push_batch(sorter, b.records, b.ends, b.n);
		in->source.at += b.n * in->record;
	}
	return st;
}

static em_status form_runs(sort_stream *t, em_errinfo *err)
{
	em_stream *in = t->s.input[0];
	em_status st;

	while ((st = emi_stream_need(in, err)) == EM_OK) {
		st = in->varied ? push_lines(t->sorter, in)
				: em_sorter_push(t->sorter, in->source.at, emi_stream_hand(in));
		if (st != EM_OK)
			return tell(t->sorter, st, err);
		in->source.at = in->source.end;
	}
	if (st != EM_END)
		return st;
	st = em_sorter_finish(t->sorter);
	t->s.formed = 1;
	return st == EM_OK ? st : tell(t->sorter, st, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	sort_stream *t = (sort_stream *)(void *)s;
	em_status st = EM_OK;

	if (t->sorter == NULL)
		st = open_sorter(t, err);
	if (st == EM_OK && !t->s.formed)
		st = form_runs(t, err);
	return st == EM_OK ? lend(s, err) : st;
}

static void retire(em_stream *s)
{
	sort_stream *t = (sort_stream *)(void *)s;

	const em_sort_stats none = EM_SORT_STATS_INIT;

	if (t->sorter != NULL && em_sorter_stats_get(t->sorter, &t->stats) != EM_OK)
		t->stats = none;
	em_sorter_close(t->sorter);
	t->sorter = NULL;
	em_order_close(t->order);
	t->order = NULL;
}

static const emi_stream_kind sort_kind = { next, retire, "sort", EMI_STREAM_BLOCKS | EMI_STREAM_VARIED };

em_status emi_stream_check_sort(const em_stream *in, const em_order *order, const em_sort_opts *opts, em_errinfo *err)
{
	em_sort_plan_info info = EM_SORT_PLAN_INFO_INIT;
	em_sort_opts o = *opts;
	em_errinfo own;
	em_status st;

	emi_errinfo_clear(&own);
	o.errinfo = &own;
	st = em_sort_plan(in->object.ctx, order, 1, &o, &info);
	if (st != EM_ERR_INVAL && st != EM_ERR_NOTSUP && st != EM_ERR_RANGE)
		return EM_OK;
	*err = own;
	return st;
}

em_status em_stream_sort(em_stream **out, em_stream *in, const em_order *order, const em_sort_opts *opts,
			 em_errinfo *theirs)
{
	const em_sort_stats none = EM_SORT_STATS_INIT;
	em_sort_opts o;
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, &in, 1, &err);
	const emi_user watching = emi_job_user(opts);

	if (st == EM_OK)
		st = emi_stream_check_any_order(in, order, &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &o, opts, &err);
	if (st == EM_OK)
		st = emi_stream_check_sort(in, order, &o, &err);
	if (st == EM_OK) {
		s = emi_stream_new(NULL, sizeof(sort_stream), &sort_kind, in->record, &in, 1,
				   (o.flags & EM_SORT_UNIQUE) != 0 ? EM_STREAM_UNKNOWN : emi_stream_left(in), &err);
		st = s != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		sort_stream *t = (sort_stream *)(void *)s;

		t->opts = o;
		t->opts.format = NULL;
		t->stats = none;
		t->order = (em_order *)(uintptr_t)order;
		emi_order_ref(t->order);
		emi_stream_is_sort(s, o.memory);
		if (in->varied)
			emi_stream_vary(s);
	}
	return emi_stream_end_user(s, out, st, watching.user, watching.free, theirs, &err);
}

em_status em_stream_sort_stats_get(const em_stream *s, em_sort_stats *stats)
{
	const sort_stream *t = (const sort_stream *)(const void *)s;

	if (s == NULL || s->kind != &sort_kind)
		return EM_ERR_INVAL;
	if (t->sorter != NULL)
		return em_sorter_stats_get(t->sorter, stats);
	return stats == NULL ? EM_ERR_INVAL : EMI_STRUCT_GIVE(em_sort_stats, stats, &t->stats);
}

/* A sorter of the caller's, of records of one size. */
static em_status check_sorter(const em_sorter *sorter, size_t *record, em_errinfo *err)
{
	const emi_front *f = (const emi_front *)(const void *)sorter;
	const em_status st = emi_given(sorter, "sorter", err);

	if (st != EM_OK)
		return st;
	if (emi_front_varied(f))
		return emi_fail(err, EM_ERR_NOTSUP,
				"the sorter is of records of any length; a stream or sink has records of one size");
	*record = f->e.job.by.codec->record_bytes;
	return EM_OK;
}

static em_ctx *ctx_of(const em_sorter *sorter)
{
	return ((const emi_front *)(const void *)sorter)->object.ctx;
}

em_status em_stream_sorter(em_stream **out, em_sorter *sorter, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { lend, NULL, "sorter", 0 };
	em_errinfo err;
	size_t record = 0;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = check_sorter(sorter, &record, &err);
	if (st == EM_OK) {
		em_stream *s = emi_stream_new(ctx_of(sorter), sizeof(sort_stream), &kind, record, NULL, 0,
					      EM_STREAM_UNKNOWN, &err);

		st = s != NULL ? EM_OK : err.status;
		if (s != NULL) {
			((sort_stream *)(void *)s)->sorter = sorter;
			emi_stream_made(s, out);
		}
	}
	return emi_tell(theirs, st, &err);
}

typedef struct sorter_sink {
	em_sink k;
	em_sorter *sorter;
} sorter_sink;

static em_status push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	em_sorter *sorter = ((sorter_sink *)(void *)k)->sorter;
	const em_status st = em_sorter_push(sorter, records, n);

	(void)taken;
	return st == EM_OK ? st : tell(sorter, st, err);
}

static em_status finish(em_sink *k, em_errinfo *err)
{
	em_sorter *sorter = ((sorter_sink *)(void *)k)->sorter;
	const em_status st = em_sorter_finish(sorter);

	return st == EM_OK ? st : tell(sorter, st, err);
}

em_status em_sink_sorter(em_sink **out, em_sorter *sorter, em_errinfo *theirs)
{
	static const emi_sink_kind kind = { push, finish, NULL };
	em_errinfo err;
	size_t record = 0;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK)
		st = check_sorter(sorter, &record, &err);
	if (st == EM_OK) {
		sorter_sink *k = (sorter_sink *)(void *)emi_sink_new(ctx_of(sorter), sizeof *k, &kind, record, &err);

		st = k != NULL ? EM_OK : err.status;
		if (k != NULL) {
			k->sorter = sorter;
			*out = &k->k;
		}
	}
	return emi_tell(theirs, st, &err);
}
