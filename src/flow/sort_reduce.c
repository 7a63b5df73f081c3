/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_reduce.c -- sorting and combining as one node: runs that are merged once.
 *
 * The runs are made with the first pull.  The stream that merges them is the node's own, and not an input.
 */
#include "base/context.h"
#include "base/structs.h"
#include "flow/flow_order.h"
#include "flow/graph.h"
#include "flow/kept_runs.h"
#include "sort/job.h"

typedef struct sort_reduce {
	em_stream s;
	em_order *order;        /* a reference */
	em_sort_opts opts;
	emi_graph_watcher watcher; /* of the runs */
	em_reduce_fn fn;
	void *user;
	em_runs *runs;          /* NULL: not yet, or no more */
	em_stream *merged;
	em_runs_info info;      /* when there are no more */
} sort_reduce;

/* The detail that runs have of a failure. */
static em_status tell(const em_runs *r, em_status st, em_errinfo *err)
{
	em_runs_error(r, err);
	return err->status == st ? st : emi_fail(err, st, "%s", em_status_text(st));
}

static em_status open_runs(sort_reduce *t, em_errinfo *err)
{
	em_sort_opts form = t->opts;
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	uint64_t later = 0;

	form.progress_free = NULL;
	if (form.memory == 0)
		form.memory = emi_graph_share(&t->s, &later);
	emi_graph_watch(&t->s, &form, &t->watcher);
	o.form = &form;
	o.combine = t->fn;
	o.user = t->user;
	return emi_kept_open(&t->runs, t->s.object.ctx, t->order, &o, later, emi_stream_left_bytes(t->s.input[0]),
			     err);
}

static em_status form(sort_reduce *t, em_errinfo *err)
{
	em_stream *in = t->s.input[0];
	em_status st = open_runs(t, err);

	if (st != EM_OK)
		return st;
	while ((st = emi_stream_need(in, err)) == EM_OK) {
		st = em_runs_push(t->runs, in->source.at, emi_stream_hand(in));
		if (st != EM_OK)
			return tell(t->runs, st, err);
		in->source.at = in->source.end;
	}
	if (st != EM_END)
		return st;
	st = em_runs_finish(t->runs);
	t->s.formed = 1;
	if (st != EM_OK)
		return tell(t->runs, st, err);
	return em_runs_merge(&t->merged, t->runs, NULL, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	sort_reduce *t = (sort_reduce *)(void *)s;
	const em_batch *batch;
	em_status st = t->merged == NULL ? form(t, err) : EM_OK;

	if (st != EM_OK)
		return st;
	st = em_stream_next(t->merged, &batch);
	if (st < EM_OK)
		em_stream_error(t->merged, err);
	if (st != EM_OK)
		return st;
	s->source.at = batch->records;
	s->source.end = s->source.at + batch->bytes;
	return EM_OK;
}

static void retire(em_stream *s)
{
	const em_runs_info none = EM_RUNS_INFO_INIT;
	sort_reduce *t = (sort_reduce *)(void *)s;

	em_stream_close(t->merged);
	t->merged = NULL;
	if (t->runs != NULL && em_runs_info_get(t->runs, &t->info) != EM_OK)
		t->info = none;
	em_runs_close(t->runs);
	t->runs = NULL;
	em_order_close(t->order);
	t->order = NULL;
}

static const emi_stream_kind kind = { next, retire, "sort and reduce", EMI_STREAM_BLOCKS };

static em_status check(em_stream *in, const em_order *order, const em_sort_opts *opts, em_reduce_fn fn, em_errinfo *err)
{
	em_status st = emi_stream_check_order(in, order, err);

	if (st == EM_OK && fn == NULL)
		st = emi_fail(err, EM_ERR_INVAL, "fn is NULL");
	if (st == EM_OK && (opts->flags & EM_SORT_UNIQUE) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "EM_SORT_UNIQUE, and a function that combines");
	return st == EM_OK ? emi_stream_check_sort(in, order, opts, err) : st;
}

em_status em_stream_sort_reduce(em_stream **out, em_stream *in, const em_order *order, const em_sort_opts *opts,
				em_reduce_fn fn, void *user, void (*user_free)(void *user), em_errinfo *theirs)
{
	const em_runs_info none = EM_RUNS_INFO_INIT;
	const emi_user watching = emi_job_user(opts);
	em_sort_opts o;
	em_errinfo err;
	sort_reduce *t = NULL;
	em_status st = emi_stream_begin_node(out, &in, 1, &err);

	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_sort_opts, &o, opts, &err);
	if (st == EM_OK)
		st = check(in, order, &o, fn, &err);
	if (st == EM_OK) {
		t = (sort_reduce *)(void *)emi_stream_new(NULL, sizeof *t, &kind, in->record, &in, 1, EM_STREAM_UNKNOWN,
							  &err);
		st = t != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		t->opts = o;
		t->opts.format = NULL;
		t->opts.errinfo = NULL;
		t->fn = fn;
		t->user = user;
		t->s.watching = watching;
		t->info = none;
		t->order = (em_order *)(uintptr_t)order;
		emi_order_ref(t->order);
		emi_stream_is_sort(&t->s, o.memory);
	} else {
		emi_user_free(&watching);
	}
	return emi_stream_end_user(t != NULL ? &t->s : NULL, out, st, user, user_free, theirs, &err);
}

em_status em_stream_runs_info_get(const em_stream *s, em_runs_info *info)
{
	const sort_reduce *t = (const sort_reduce *)(const void *)s;

	if (s == NULL || s->kind != &kind)
		return EM_ERR_INVAL;
	if (t->runs != NULL)
		return em_runs_info_get(t->runs, info);
	return info == NULL ? EM_ERR_INVAL : EMI_STRUCT_GIVE(em_runs_info, info, &t->info);
}
