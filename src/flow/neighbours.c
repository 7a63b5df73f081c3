/* SPDX-License-Identifier: BSL-1.0 */
/* neighbours.c -- nodes in which a record depends on those before it: prefix sums, and windows that slide. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "flow/stream.h"

typedef struct prefix_sum {
	em_stream s;
	size_t offset;
	int is_double;
	uint64_t sum;           /* of integers, with a sign or without, ... */
	double real;            /* ... and of numbers with a point */
} prefix_sum;

static void add_up(prefix_sum *p, char *records, size_t n)
{
	char *at = records + p->offset;
	size_t i;

	for (i = 0; i < n; i++, at += p->s.record) {
		if (p->is_double) {
			double x;

			memcpy(&x, at, sizeof x);
			p->real += x;
			memcpy(at, &p->real, sizeof p->real);
		} else {
			uint64_t x;

			memcpy(&x, at, sizeof x);
			p->sum += x;
			memcpy(at, &p->sum, sizeof p->sum);
		}
	}
}

static em_status sum_next(em_stream *s, em_errinfo *err)
{
	em_stream *in = s->input[0];
	em_status st = emi_stream_need(in, err);
	size_t n;

	if (st == EM_OK)
		st = emi_stream_room(s, err);
	if (st != EM_OK)
		return st;
	n = emi_stream_hand(in);
	if (n > s->room_records)
		n = s->room_records;
	memcpy(s->room, in->source.at, n * s->record);
	in->source.at += n * s->record;
	add_up((prefix_sum *)(void *)s, s->room, n);
	return emi_stream_show(s, n);
}

em_status em_stream_prefix_sum(em_stream **out, em_stream *in, uint64_t offset, int32_t type, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { sum_next, NULL, "prefix sum", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK && type != EM_KEY_U64 && type != EM_KEY_I64 && type != EM_KEY_F64)
		st = emi_fail(&err, EM_ERR_INVAL, "there are no sums of fields of type %" PRId32, type);
	if (st == EM_OK && (in->record < 8 || offset > in->record - 8))
		st = emi_fail(&err, EM_ERR_RANGE, "a field of 8 bytes at offset %" PRIu64 " of a record of %zu", offset,
			      in->record);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(prefix_sum), &kind, in->record, &in, 1, emi_stream_left(in), &err);
	if (s != NULL) {
		prefix_sum *p = (prefix_sum *)(void *)s;

		p->offset = (size_t)offset;
		p->is_double = type == EM_KEY_F64;
	}
	return emi_stream_end(s, out, st, theirs, &err);
}

/*
 * The records of the input go one behind the other into a piece of memory of two windows.  As long as there is a window
 * from `at' on it is copied; then the rest moves to the front, and more records follow.
 */
typedef struct window_stream {
	em_stream s;
	size_t width;           /* records of a window */
	uint64_t step;
	uint64_t skip;          /* records of the input to pass over first */
	char *piece;            /* 2 width records; NULL: not needed yet */
	size_t at, n;           /* records in it: from, to */
} window_stream;

static size_t piece_bytes(const window_stream *w)
{
	return 2 * w->s.record;
}

/* Have a whole window from w->at on.  EM_END: there is none. */
static em_status fill(window_stream *w, em_errinfo *err)
{
	em_stream *in = w->s.input[0];
	em_status st = EM_OK;

	if (w->at != 0) {
		memmove(w->piece, w->piece + w->at * in->record, (w->n - w->at) * in->record);
		w->n -= w->at;
		w->at = 0;
	}
	while (w->n < w->width && (st = emi_stream_need(in, err)) == EM_OK) {
		size_t n = emi_stream_hand(in);

		if (w->skip != 0) {
			n = n < w->skip ? n : (size_t)w->skip;
			w->skip -= n;
		} else {
			n = n < 2 * w->width - w->n ? n : 2 * w->width - w->n;
			memcpy(w->piece + w->n * in->record, in->source.at, n * in->record);
			w->n += n;
		}
		in->source.at += n * in->record;
	}
	return st;
}

/* The next window begins a step later. */
static void go_on(window_stream *w)
{
	const size_t left = w->n - w->at;

	if (w->step <= left) {
		w->at += (size_t)w->step;
	} else {
		w->skip = w->step - left;
		w->at = w->n;
	}
}

static em_status window_next(em_stream *s, em_errinfo *err)
{
	window_stream *w = (window_stream *)(void *)s;
	const size_t record = s->input[0]->record;
	em_status st = emi_stream_room(s, err);
	size_t made = 0;

	if (st == EM_OK && w->piece == NULL) {
		w->piece = emi_buffer_alloc(s->object.ctx, piece_bytes(w), err);
		st = w->piece != NULL ? EM_OK : err->status;
	}
	while (st == EM_OK && made < s->room_records) {
		if (w->n - w->at < w->width && (st = fill(w, err)) != EM_OK)
			break;
		memcpy(s->room + made++ * s->record, w->piece + w->at * record, s->record);
		go_on(w);
	}
	return emi_stream_show_made(s, made, st);
}

static void window_retire(em_stream *s)
{
	window_stream *w = (window_stream *)(void *)s;

	if (w->piece != NULL)
		emi_buffer_free(s->object.ctx, w->piece, piece_bytes(w));
	w->piece = NULL;
}

/* How many whole windows n records have. */
static uint64_t windows_of(uint64_t n, uint64_t records, uint64_t step)
{
	if (n == EM_STREAM_UNKNOWN)
		return n;
	return n < records ? 0 : (n - records) / step + 1;
}

em_status em_stream_window(em_stream **out, em_stream *in, uint64_t records, uint64_t step, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { window_next, window_retire, "window", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK && (records == 0 || step == 0 || records > EM_STREAM_RECORD_MAX / in->record))
		st = emi_fail(&err, EM_ERR_RANGE, "windows of %" PRIu64 " records of %zu bytes, by steps of %" PRIu64,
			      records, in->record, step);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(window_stream), &kind, in->record * records, &in, 1,
				   windows_of(emi_stream_left(in), records, step), &err);
	if (s != NULL) {
		((window_stream *)(void *)s)->width = (size_t)records;
		((window_stream *)(void *)s)->step = step;
	}
	return emi_stream_end(s, out, st, theirs, &err);
}
