/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Streams for languages: sources, nodes and sinks whose function is one of the language, tees, runs, and where a stream
 * goes to.
 *
 * All functions have one form.  emb_ask() hands one over up to two arrays of bytes, and has an answer in bytes or none:
 *
 *   source     ()               the next records; none: there are no more
 *   map        (records)        as many records
 *   filter     (records)        a byte for each: not 0, it stays
 *   inspect    (records)        whatever it is
 *   flat_map   (records)        any number of records, or none
 *   split      (records)        a number of 4 bytes for each: 0, it stays; k: it goes to the k-th sink
 *   reduce     (sum, records)   the sum again, or none: it stays as it is
 *   join       (left, right)    a record, or a line; none of the two is there where there is none
 *   sink       (records)        whatever it is; without records: there are no more
 *
 * Of records of any length, of which `record_bytes' is 0, the second array is where they end: numbers of 8 bytes.  Map,
 * filter, inspect, flat_map, split and reduce have those; of a reduce the first line is the sum.  A join has two of
 * them, each as so many records of a byte.  A flat_map answers with a number of 8 bytes, which is how many lines it
 * makes, then where each ends, then the lines.  An answer that does not fit is a failure, which says why.
 *
 * A function that is told how far a graph got is one of progress, as that of a sort, with the number of the phase.
 *
 * Functions live as long as the streams that use them: a source's and a sink's are the library's, those of nodes and
 * runs are held by what is below the handles.
 */
#ifndef EMB_STREAM_H
#define EMB_STREAM_H

#include <extmem/runs.h>
#include <extmem/sink.h>
#include <extmem/stream.h>
#include <extmem/stream_containers.h>
#include <extmem/stream_lines.h>
#include <extmem/stream_nodes.h>

#include "keys.h"

typedef struct emb_fn emb_fn;

enum { EMB_MAP, EMB_FILTER, EMB_INSPECT, EMB_FLAT_MAP };

/** Ask a function: 0, or -1 as it failed.  The answer is at f->made. */
static int emb_ask(struct emb_fn *f, const void *a, size_t na, const void *b, size_t nb);

/** Tell a function how far it is; not 0: stop. */
static int emb_progress(void *user, uint32_t phase, uint64_t done, uint64_t total);

/** Room for an answer of n bytes: NULL, if there is no memory. */
static char *emb_answer(struct emb_fn *f, size_t n)
{
	if (n > f->made.room) {
		char *more = (char *)realloc(f->made.p, n);

		if (!more)
			return NULL;
		f->made.p = more;
		f->made.room = n;
	}
	f->made.none = 0;
	f->made.n = n;
	/* Not NULL, also of nothing. */
	return n ? f->made.p : (char *)&f->made;
}

/** An answer that does not fit: bytes of n records, or, with 0, of any number. */
static int emb_unfit(size_t is, uint64_t n, uint64_t unit)
{
	if (n)
		snprintf(emb_call.why, sizeof emb_call.why,
			 "a function gave %llu bytes in place of %llu records of %llu", (unsigned long long)is,
			 (unsigned long long)n, (unsigned long long)unit);
	else
		snprintf(emb_call.why, sizeof emb_call.why, "a function gave %llu bytes, and records have %llu",
			 (unsigned long long)is, (unsigned long long)unit);
	return -1;
}

static em_status emb_source_next(void *user, em_batch *batch, em_errinfo *err)
{
	struct emb_fn *f = (struct emb_fn *)user;

	(void)err;
	do {
		if (emb_ask(f, NULL, 0, NULL, 0))
			return EM_ERR_USER;
		if (f->made.none)
			return EM_END;
	} while (f->made.n == 0);
	batch->records = f->made.p;
	batch->n = f->made.n / f->out_bytes;
	return f->made.n % f->out_bytes == 0 || !emb_unfit(f->made.n, 0, f->out_bytes) ? EM_OK : EM_ERR_USER;
}

/** record_bytes: 0: as the function is known to make them; of nodes, too. */
static em_status emb_stream_source(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count,
				   struct emb_fn *fn, em_errinfo *err)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	em_status st;

	if (!fn)
		return EM_ERR_INVAL;
	if (record_bytes)
		fn->out_bytes = record_bytes;
	ops.next = emb_source_next;
	ops.close = emb_fn_free;
	st = em_stream_open(out, ctx, fn->out_bytes, count, &ops, fn, err);
	/* The library has it. */
	if (!st)
		emb_now.keep = NULL;
	return st;
}

static int emb_map_records(void *user, const void *records, size_t n, void *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (emb_ask(f, records, n * (size_t)f->record_bytes, NULL, 0))
		return -1;
	if (f->made.none || f->made.n != n * f->out_bytes)
		return emb_unfit(f->made.none ? 0 : f->made.n, n, f->out_bytes);
	memcpy(to, f->made.p, f->made.n);
	return 0;
}

static int emb_filter_records(void *user, const void *records, size_t n, unsigned char *keep)
{
	struct emb_fn *f = (struct emb_fn *)user;
	size_t i;

	if (emb_ask(f, records, n * (size_t)f->record_bytes, NULL, 0))
		return -1;
	if (f->made.none || f->made.n != n)
		return emb_unfit(f->made.none ? 0 : f->made.n, n, 1);
	for (i = 0; i < n; i++)
		keep[i] = f->made.p[i] != 0;
	return 0;
}

static int emb_inspect_records(void *user, const void *records, size_t n)
{
	struct emb_fn *f = (struct emb_fn *)user;

	return emb_ask(f, records, n * (size_t)f->record_bytes, NULL, 0);
}

/** What a function made at once is written as there is room. */
static int emb_flat_map_records(void *user, const void *records, size_t *n, void *to, size_t *room)
{
	struct emb_fn *f = (struct emb_fn *)user;
	size_t some;

	if (f->made.none || f->at == f->made.n) {
		f->made.n = f->at = 0;
		if (*n && emb_ask(f, records, *n * (size_t)f->record_bytes, NULL, 0))
			return -1;
		if (!f->made.none && f->made.n % f->out_bytes)
			return emb_unfit(f->made.n, 0, f->out_bytes);
	} else {
		*n = 0;
	}
	some = f->made.none ? 0 : (size_t)((f->made.n - f->at) / f->out_bytes);
	*room = some < *room ? some : *room;
	if (*room)
		memcpy(to, f->made.p + f->at, *room * (size_t)f->out_bytes);
	f->at += *room * (size_t)f->out_bytes;
	return 0;
}

static int emb_ask_lines(struct emb_fn *f, const em_batch *lines)
{
	return emb_ask(f, lines->records, (size_t)lines->ends[lines->n - 1], lines->ends, lines->n * sizeof(uint64_t));
}

static int emb_map_lines(void *user, const em_batch *lines, void *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (emb_ask_lines(f, lines))
		return -1;
	if (f->made.none || f->made.n != lines->n * f->out_bytes)
		return emb_unfit(f->made.none ? 0 : f->made.n, lines->n, f->out_bytes);
	memcpy(to, f->made.p, f->made.n);
	return 0;
}

static int emb_filter_lines(void *user, const em_batch *lines, unsigned char *keep)
{
	struct emb_fn *f = (struct emb_fn *)user;
	size_t i;

	if (emb_ask_lines(f, lines))
		return -1;
	if (f->made.none || f->made.n != lines->n)
		return emb_unfit(f->made.none ? 0 : f->made.n, lines->n, 1);
	for (i = 0; i < lines->n; i++)
		keep[i] = f->made.p[i] != 0;
	return 0;
}

static int emb_inspect_lines(void *user, const em_batch *lines)
{
	return emb_ask_lines((struct emb_fn *)user, lines);
}

/** Lines that a function gave. */
static int emb_add_lines(em_line *to, const char *made, size_t bytes)
{
	const size_t word = sizeof(uint64_t);
	uint64_t n = bytes, i, begin = 0, end = 0;
	const char *text;

	if (bytes >= word)
		memcpy(&n, made, word);
	if (bytes < word || n > bytes / word - 1)
		return emb_unfit(bytes, 0, word);
	text = made + (size_t)(n + 1) * word;
	bytes -= (size_t)(n + 1) * word;
	for (i = 0; i < n; begin = end, i++) {
		memcpy(&end, made + (size_t)(i + 1) * word, word);
		if (end < begin || end > bytes)
			return emb_unfit(bytes, n, 1);
		if (em_line_add(to, text + begin, (size_t)(end - begin)))
			return -1;
	}
	return begin == bytes ? 0 : emb_unfit(bytes, n, 1);
}

static int emb_flat_map_lines(void *user, const em_batch *lines, em_line *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	/* Nobody has kept anything back for the end. */
	if (lines->n == 0)
		return 0;
	if (emb_ask_lines(f, lines))
		return -1;
	return f->made.none ? 0 : emb_add_lines(to, f->made.p, f->made.n);
}

/** The same for records of any length; what a map makes has one size, and what a flat_map makes any. */
static em_status emb_lines_node(em_stream **out, em_stream *in, uint32_t what, struct emb_fn *fn, em_errinfo *err)
{
	switch (what) {
	case EMB_MAP:
		return em_stream_lines_map(out, in, fn->out_bytes, emb_map_lines, fn, NULL, err);
	case EMB_FILTER:
		fn->form = EMB_TRUTHS;
		return em_stream_lines_filter(out, in, emb_filter_lines, fn, NULL, err);
	case EMB_INSPECT:
		fn->form = EMB_NOTHING;
		return em_stream_lines_inspect(out, in, emb_inspect_lines, fn, NULL, err);
	case EMB_FLAT_MAP:
		fn->form = EMB_LINES;
		return fn->out_bytes ? EM_ERR_NOTSUP
			: em_stream_lines_flat_map(out, in, emb_flat_map_lines, fn, NULL, err);
	default:
		return EM_ERR_NOTSUP;
	}
}

/** A node that asks a function; record_bytes: of what it makes, 0: as they are. */
static em_status emb_stream_node(em_stream **out, em_stream *in, uint32_t what, uint64_t record_bytes,
				 struct emb_fn *fn, em_errinfo *err)
{
	if (!fn)
		return EM_ERR_INVAL;
	fn->record_bytes = em_stream_record_bytes(in);
	if (record_bytes || !fn->out_bytes)
		fn->out_bytes = record_bytes ? record_bytes : fn->record_bytes;
	if (!fn->record_bytes)
		return emb_lines_node(out, in, what, fn, err);
	switch (what) {
	case EMB_MAP:
		return em_stream_map(out, in, fn->out_bytes, emb_map_records, fn, NULL, err);
	case EMB_FILTER:
		fn->form = EMB_TRUTHS;
		return em_stream_filter(out, in, emb_filter_records, fn, NULL, err);
	case EMB_INSPECT:
		fn->form = EMB_NOTHING;
		return em_stream_inspect(out, in, emb_inspect_records, fn, NULL, err);
	case EMB_FLAT_MAP:
		return em_stream_flat_map(out, in, fn->out_bytes, emb_flat_map_records, fn, NULL, err);
	default:
		return EM_ERR_INVAL;
	}
}

static int emb_sent(struct emb_fn *f, size_t n, uint32_t *to)
{
	if (f->made.none || f->made.n != n * sizeof *to)
		return emb_unfit(f->made.none ? 0 : f->made.n, n, sizeof *to);
	memcpy(to, f->made.p, f->made.n);
	return 0;
}

static int emb_split_records(void *user, const void *records, size_t n, uint32_t *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	return emb_ask(f, records, n * (size_t)f->record_bytes, NULL, 0) ? -1 : emb_sent(f, n, to);
}

static int emb_split_lines(void *user, const em_batch *lines, uint32_t *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	return emb_ask_lines(f, lines) ? -1 : emb_sent(f, lines->n, to);
}

/** What stays, while others go to sinks, which are the caller's, and finished by him. */
static em_status emb_stream_split(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n, struct emb_fn *fn,
				  em_errinfo *err)
{
	if (!fn)
		return EM_ERR_INVAL;
	fn->form = EMB_CHOICES;
	fn->record_bytes = em_stream_record_bytes(in);
	fn->out_bytes = sizeof(uint32_t);
	if (!fn->record_bytes)
		return em_stream_lines_split(out, in, sinks, n, emb_split_lines, fn, NULL, err);
	return em_stream_split(out, in, sinks, n, emb_split_records, fn, NULL, err);
}

static int emb_reduce_records(void *user, void *sum, const void *records, size_t n)
{
	struct emb_fn *f = (struct emb_fn *)user;
	const size_t bytes = (size_t)f->record_bytes;

	if (emb_ask(f, sum, bytes, records, n * bytes))
		return -1;
	if (f->made.none)
		return 0;
	if (f->made.n != bytes)
		return emb_unfit(f->made.n, 1, bytes);
	memcpy(sum, f->made.p, bytes);
	return 0;
}

/** Of lines the first is the sum. */
static int emb_reduce_lines(void *user, const em_batch *lines, em_line *sum)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (emb_ask_lines(f, lines))
		return -1;
	if (f->made.none)
		return em_line_put(sum, lines->records, (size_t)lines->ends[0]) ? -1 : 0;
	return em_line_put(sum, f->made.p, f->made.n) ? -1 : 0;
}

static em_status emb_stream_reduce(em_stream **out, em_stream *in, const em_order *order, struct emb_fn *fn,
				   em_errinfo *err)
{
	if (!fn)
		return EM_ERR_INVAL;
	fn->record_bytes = fn->out_bytes = em_stream_record_bytes(in);
	fn->form = fn->record_bytes ? EMB_SUM : EMB_LINE_SUM;
	if (!fn->record_bytes)
		return em_stream_lines_reduce(out, in, order, emb_reduce_lines, fn, NULL, err);
	return em_stream_reduce(out, in, order, emb_reduce_records, fn, NULL, err);
}

/** The same behind a sort, which adds before anything is written. */
static em_status emb_stream_sort_reduce(em_stream **out, em_stream *in, const em_order *order,
					const em_sort_opts *opts, struct emb_fn *fn, em_errinfo *err)
{
	if (!fn)
		return EM_ERR_INVAL;
	fn->form = EMB_SUM;
	fn->record_bytes = fn->out_bytes = em_stream_record_bytes(in);
	return em_stream_sort_reduce(out, in, order, opts, emb_reduce_records, fn, NULL, err);
}

/** A node that is its input, whose graph tells fn how far it got.  As that of any node fn is the group's, and may look
 *  at the stream that is made. */
static em_status emb_stream_progress(em_stream **out, em_stream *in, struct emb_fn *fn, em_errinfo *err)
{
	em_status st;

	if (!fn)
		return EM_ERR_INVAL;
	fn->form = EMB_TOLD;
	st = em_stream_progress(in, emb_progress, fn, NULL);
	if (st)
		em_stream_error(in, err);
	*out = st ? NULL : in;
	return st;
}

/** fn, which may be NULL, makes one of equal records, as of emb_stream_reduce(). */
static em_status emb_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts,
			       struct emb_fn *fn, em_errinfo *err)
{
	em_runs_opts o = *opts;

	if (fn) {
		fn->form = EMB_SUM;
		fn->record_bytes = fn->out_bytes = em_order_record_size(order);
		o.combine = emb_reduce_records;
		o.user = fn;
	}
	return em_runs_open(out, ctx, order, &o, err);
}

/** The stream stays the caller's, at its end. */
static em_status emb_runs_feed(em_runs *r, em_stream *s, uint32_t flags, em_errinfo *err)
{
	return em_runs_feed(r, s, flags, err);
}

/** A stream of the records from one to before another one, which may be NULL: of those without the first `skip', so
 *  many; EM_STREAM_UNKNOWN: all.  memory: bytes; 0: as was planned. */
static em_status emb_runs_merge(em_stream **out, em_runs *r, const void *from, const void *to, uint64_t skip,
				uint64_t take, uint64_t memory, em_errinfo *err)
{
	em_runs_merge_opts o = EM_RUNS_MERGE_OPTS_INIT;
	em_status st;

	o.from = from;
	o.to = to;
	o.skip = skip;
	o.take = take;
	o.memory = memory;
	st = em_runs_merge(out, r, &o, err);
	if (st || take)
		return st;
	/* 0 is all to the library. */
	st = em_stream_slice(out, *out, 0, 0, err);
	if (st) {
		em_stream_close(*out);
		*out = NULL;
	}
	return st;
}

static int emb_join_records(void *user, const void *left, const void *right, void *to)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (emb_ask(f, left, left ? (size_t)f->record_bytes : 0, right, right ? (size_t)f->other_bytes : 0))
		return -1;
	if (f->made.none || f->made.n != f->out_bytes)
		return emb_unfit(f->made.none ? 0 : f->made.n, 1, f->out_bytes);
	memcpy(to, f->made.p, f->made.n);
	return 0;
}

static em_status emb_wrong_join(em_errinfo *err, const char *why)
{
	snprintf(err->text, sizeof err->text, "%s", why);
	return err->status = EM_ERR_INVAL;
}

/** Of records of one size: by the fields of two orders. */
static em_status emb_join_by_fields(em_stream **out, em_stream *left, em_stream *right, em_join_opts *opts,
				    const em_order *left_by, const em_order *right_by, struct emb_fn *fn,
				    em_errinfo *err)
{
	em_key keys[2][EMB_JOIN_KEYS];
	uint32_t nright;
	em_status st = emb_join_keys(em_order_name(left_by), keys[0], &opts->nkeys, err);

	if (!st)
		st = emb_join_keys(em_order_name(right_by), keys[1], &nright, err);
	if (!st && opts->nkeys != nright)
		st = emb_wrong_join(err, "both sides of a join have the same number of keys");
	if (st)
		return st;
	opts->left = keys[0];
	opts->right = keys[1];
	if (fn) {
		fn->form = EMB_PAIR;
		fn->record_bytes = em_stream_record_bytes(left);
		fn->other_bytes = em_stream_record_bytes(right);
		opts->record_bytes = fn->out_bytes;
		opts->fn = emb_join_records;
		opts->user = fn;
	}
	return em_stream_join(out, left, right, opts, err);
}

static int emb_join_lines(void *user, const void *left, size_t left_bytes, const void *right, size_t right_bytes,
			  em_line *line)
{
	struct emb_fn *f = (struct emb_fn *)user;

	if (emb_ask(f, left, left_bytes, right, right_bytes))
		return -1;
	if (f->made.none) {
		snprintf(emb_call.why, sizeof emb_call.why, "%s", "a function gave nothing in place of a line");
		return -1;
	}
	return em_line_put(line, f->made.p, f->made.n) ? -1 : 0;
}

/** Join two that are sorted by orders: of records of one size, by fields, which make others of record_bytes if there is
 *  fn; or of any length, by keys, where without fn a separator, one byte, stands between fields: "" or NULL: that of
 *  left_by.  memory_bytes: for the right records of one key, or 0. */
static em_status emb_stream_join(em_stream **out, em_stream *left, em_stream *right, uint32_t kind,
				 const em_order *left_by, const em_order *right_by, uint64_t record_bytes,
				 const char *separator, uint64_t memory_bytes, struct emb_fn *fn, em_errinfo *err)
{
	const int lines = !em_stream_record_bytes(left) || !em_stream_record_bytes(right);
	const size_t length = separator ? strlen(separator) : 0;
	em_join_opts fixed = EM_JOIN_OPTS_INIT;
	em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;

	if (!left_by || !right_by)
		return emb_wrong_join(err, "a join is by two orders");
	if (length > (lines ? 1u : 0u))
		return emb_wrong_join(err, "a separator is one byte, between the fields of lines");
	if (!lines) {
		fixed.kind = kind;
		fixed.memory_bytes = memory_bytes;
		if (fn && record_bytes)
			fn->out_bytes = record_bytes;
		return emb_join_by_fields(out, left, right, &fixed, left_by, right_by, fn, err);
	}
	o.kind = kind;
	o.left = left_by;
	o.right = right_by;
	o.memory_bytes = memory_bytes;
	if (length)
		o.separator = (unsigned char)*separator;
	if (fn) {
		fn->form = EMB_LINE_PAIR;
		fn->record_bytes = fn->other_bytes = 1;
		o.fn = emb_join_lines;
		o.user = fn;
	}
	return em_stream_lines_join(out, left, right, &o, err);
}

/** Two streams of all records; for more, one of them is divided again.  spill: to scratch, if not 0. */
static em_status emb_stream_tee(em_stream **first, em_stream **second, em_stream *in, int spill,
				uint64_t buffer_bytes, em_errinfo *err)
{
	em_tee_opts opts = EM_TEE_OPTS_INIT;
	em_stream *out[2] = { NULL, NULL };
	em_status st;

	opts.flags = spill ? EM_TEE_SPILL : 0;
	opts.buffer_bytes = buffer_bytes;
	st = em_stream_tee(out, 2, in, &opts, err);
	*first = out[0];
	*second = out[1];
	return st;
}

static em_status emb_stream_window(em_stream **out, em_stream *in, uint64_t records, uint64_t step, em_errinfo *err)
{
	return em_stream_window(out, in, records, step, err);
}

static em_status emb_sink_take(void *user, const em_batch *batch, em_errinfo *err)
{
	struct emb_fn *f = (struct emb_fn *)user;

	(void)err;
	return emb_ask(f, batch->records, batch->n * (size_t)f->record_bytes, NULL, 0) ? EM_ERR_USER : EM_OK;
}

static em_status emb_sink_end(void *user, em_errinfo *err)
{
	(void)err;
	return emb_ask((struct emb_fn *)user, NULL, 0, NULL, 0) ? EM_ERR_USER : EM_OK;
}

static em_status emb_sink_function(em_sink **out, em_ctx *ctx, uint64_t record_bytes, struct emb_fn *fn,
				   em_errinfo *err)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;
	em_status st;

	if (!fn)
		return EM_ERR_INVAL;
	fn->form = EMB_NOTHING;
	if (record_bytes)
		fn->out_bytes = record_bytes;
	fn->record_bytes = fn->out_bytes;
	ops.push = emb_sink_take;
	ops.finish = emb_sink_end;
	ops.close = emb_fn_free;
	st = em_sink_open(out, ctx, fn->out_bytes, &ops, fn, err);
	/* The library has it. */
	if (!st)
		emb_now.keep = NULL;
	return st;
}

/** ends: NULL of records of one size. */
static em_status emb_sink_push_lines(em_sink *k, const void *records, const uint64_t *ends, uint64_t n)
{
	em_batch batch;

	if (!ends)
		return em_sink_push(k, records, n);
	memset(&batch, 0, sizeof batch);
	batch.records = records;
	batch.n = (size_t)n;
	batch.ends = ends;
	return em_sink_push_lines(k, &batch);
}

/** Push all that is left to a sink, and close that: *moved is how many records it took. */
static em_status emb_stream_pour(em_stream *s, em_status made, em_sink *k, int finish, uint64_t *moved, em_errinfo *err)
{
	em_status st = made ? made : em_stream_pump(s, k, moved);

	if (!made && st)
		em_stream_error(s, err);
	if (!st && finish) {
		st = em_sink_finish(k);
		if (st)
			em_sink_error(k, err);
	}
	em_sink_close(k);
	return st;
}

#define EMB_INTO(name, type, make, finish)                                                             \
	static em_status emb_stream_to_##name(em_stream *s, type *to, uint64_t *moved, em_errinfo *err) \
	{                                                                                              \
		em_sink *k = NULL;                                                                     \
		const em_status st = make;                                                             \
                                                                                                       \
		return emb_stream_pour(s, st, k, finish, moved, err);                                  \
	}
/* A sorter may be given more. */
EMB_INTO(sorter, em_sorter, em_sink_sorter(&k, to, err), 0)
EMB_INTO(stack, em_stack, em_sink_stack(&k, to, err), 1)
EMB_INTO(queue, em_queue, em_sink_queue(&k, to, err), 1)
EMB_INTO(deque, em_deque, em_sink_deque(&k, to, err), 1)
EMB_INTO(pq, em_pq, em_sink_pq(&k, to, err), 1)
EMB_INTO(btree, em_btree, em_sink_btree(&k, to, NULL, err), 1)

/** From a position on: *end is that behind the last record. */
static em_status emb_stream_to_vector(em_stream *s, em_vector *to, uint64_t from, uint64_t *end, em_errinfo *err)
{
	const em_status st = em_stream_to_vector(s, to, from, end);

	if (st)
		em_stream_error(s, err);
	return st;
}

static em_status emb_stream_to_file(em_stream *s, em_ctx *ctx, const char *path, uint64_t *moved, em_errinfo *err)
{
	em_sink *k = NULL;
	const em_status st = em_sink_file(&k, ctx, em_stream_record_bytes(s), path, err);

	return emb_stream_pour(s, st, k, 1, moved, err);
}

/** Records of any length, as a format says. */
static em_status emb_stream_to_lines(em_stream *s, em_ctx *ctx, const char *path, const em_format *format,
				     uint64_t *moved, em_errinfo *err)
{
	em_sink *k = NULL;
	const em_status st = em_sink_lines(&k, ctx, path, format, err);

	return emb_stream_pour(s, st, k, 1, moved, err);
}

#endif
