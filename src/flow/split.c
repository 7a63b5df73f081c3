/* SPDX-License-Identifier: BSL-1.0 */
/*
 * split.c -- one stream becomes several: some records are lent, and others pushed to sinks.
 *
 * A function says where some records go.  They are dealt into the buffer, those that are lent first, and then those of
 * each sink, which is called once.  So nothing is kept back for a sink that has few.
 *
 * Of records of any length their text is dealt, and where each of them ends.
 */
#include <inttypes.h>
#include <string.h>

#include <extmem/stream_lines.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/flow_sink.h"
#include "flow/lines.h"

#define MOST 1024u              /* records that are dealt at a time */

/* What those of any length take. */
typedef struct split_lines {
	em_lines_split_fn fn;
	emi_text_room text;     /* what was dealt, ... */
	uint64_t *text_at;      /* ... the place of the next record of each destination there, ... */
	uint64_t ends[EMI_LINES_MOST]; /* ... and where each record ends */
	uint64_t seen[EMI_LINES_MOST]; /* ends that the function gets */
} split_lines;

typedef struct split {
	em_stream s;
	em_split_fn fn;
	void *user;
	uint32_t n;             /* sinks */
	em_sink **sink;
	size_t *at;             /* where in the buffer the next record of each goes; [0] of what is lent */
	split_lines *lines;     /* NULL: records have one size */
	uint32_t to[MOST];
} split;

/* Find where n records go, of which to[] was filled: at[] is where the first one of each destination is. */
static em_status find_places(split *p, size_t n, size_t *lent, em_errinfo *err)
{
	size_t i, place = 0;
	uint32_t k;

	memset(p->at, 0, ((size_t)p->n + 1) * sizeof *p->at);
	for (i = 0; i < n; i++) {
		if (p->to[i] > p->n)
			return emi_fail(err, EM_ERR_USER, "a function sent a record to sink %" PRIu32 " of %" PRIu32,
					p->to[i], p->n);
		p->at[p->to[i]]++;
	}
	*lent = p->at[0];
	for (k = 0; k <= p->n; k++) {
		const size_t count = p->at[k];

		p->at[k] = place;
		place += count;
	}
	return EM_OK;
}

/* Deal records in hand: at[] becomes where the last one of each destination ends.  *lent: how many stay. */
static em_status deal(split *p, size_t *lent, em_errinfo *err)
{
	em_stream *in = p->s.input[0];
	const char *records = in->source.at;
	const size_t record = p->s.record;
	size_t n = emi_stream_hand(in), i;
	em_status st;
	int failed;

	if (n > p->s.room_records)
		n = p->s.room_records;
	if (n > MOST)
		n = MOST;
	memset(p->to, 0, n * sizeof p->to[0]);
	failed = p->fn(p->user, records, n, p->to);
	if (failed != 0)
		return emi_stream_user_failed("splits a stream", failed, err);
	st = find_places(p, n, lent, err);
	for (i = 0; st == EM_OK && i < n; i++)
		emi_copy(p->s.room + p->at[p->to[i]]++ * record, records + i * record, record);
	in->source.at += n * record;
	return st;
}

/* Where the text of each destination begins. */
static void find_text(split *p, const em_batch *b)
{
	uint64_t *at = p->lines->text_at, begin = 0, place = 0;
	uint32_t k;
	size_t i;

	memset(at, 0, ((size_t)p->n + 1) * sizeof *at);
	for (i = 0; i < b->n; begin = b->ends[i++])
		at[p->to[i]] += b->ends[i] - begin;
	for (k = 0; k <= p->n; k++) {
		const uint64_t bytes = at[k];

		at[k] = place;
		place += bytes;
	}
}

/* The same as deal() of records of any length; text_at[] becomes where the text of each destination ends. */
static em_status deal_lines(split *p, size_t *lent, em_errinfo *err)
{
	em_stream *in = p->s.input[0];
	split_lines *l = p->lines;
	uint64_t begin = 0;
	em_status st;
	em_batch b;
	int failed;
	size_t i;

	emi_lines_look(in, l->seen, emi_lines_most(&p->s), &b);
	st = emi_text_room_need(&l->text, p->s.object.ctx, b.bytes, 0, err);
	if (st != EM_OK)
		return st;
	memset(p->to, 0, b.n * sizeof p->to[0]);
	failed = l->fn(p->user, &b, p->to);
	if (failed != 0)
		return emi_stream_user_failed("splits a stream", failed, err);
	st = find_places(p, b.n, lent, err);
	if (st != EM_OK)
		return st;
	find_text(p, &b);
	for (i = 0; i < b.n; begin = b.ends[i++]) {
		const uint32_t k = p->to[i];
		const size_t bytes = (size_t)(b.ends[i] - begin);

		if (bytes != 0)
			memcpy(l->text.at + l->text_at[k], (const char *)b.records + begin, bytes);
		l->ends[p->at[k]++] = l->text_at[k] += bytes;
	}
	in->source.at += b.n * in->record;
	return EM_OK;
}

/* n records from one on, of any length, go to sink k.  Ends of a batch count from its first record. */
static em_status give_lines(split *p, uint32_t k, size_t from, size_t n, em_errinfo *err)
{
	split_lines *l = p->lines;
	const uint64_t begin = l->text_at[k - 1];
	const em_batch b = { l->text.at + begin, n, (size_t)(l->text_at[k] - begin), l->ends + from };
	size_t i;

	for (i = from; i < from + n; i++)
		l->ends[i] -= begin;
	return emi_sink_take_lines(p->sink[k - 1], &b, err);
}

/* What was dealt to sink k, from 1, goes there. */
static em_status give(split *p, uint32_t k, em_errinfo *err)
{
	em_sink *sink = p->sink[k - 1];
	const size_t from = p->at[k - 1], n = p->at[k] - from;
	em_status st;

	if (n == 0)
		return EM_OK;
	if (emi_enter_quickly(&sink->object) != EM_OK)
		return emi_fail(err, EM_ERR_BUSY, "sink %" PRIu32 " of a split is at work", k);
	if (p->lines != NULL)
		st = give_lines(p, k, from, n, err);
	else
		st = emi_sink_take(sink, p->s.room + from * p->s.record, n, err);
	if (st != EM_OK)
		(void)emi_keep(&sink->object, st, err);
	emi_leave_quickly(&sink->object);
	return st;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	split *p = (split *)(void *)s;
	em_status st = p->lines != NULL ? EM_OK : emi_stream_room(s, err);
	size_t lent = 0;
	uint32_t k;

	while (st == EM_OK && lent == 0 && (st = emi_stream_need(s->input[0], err)) == EM_OK) {
		st = p->lines != NULL ? deal_lines(p, &lent, err) : deal(p, &lent, err);
		for (k = 1; st == EM_OK && k <= p->n; k++)
			st = give(p, k, err);
	}
	if (st != EM_OK)
		return st;
	if (p->lines == NULL)
		return emi_stream_show(s, lent);
	emi_lines_show(s, p->lines->text.at, p->lines->ends, lent);
	return EM_OK;
}

static void retire(em_stream *s)
{
	split *p = (split *)(void *)s;
	em_ctx *ctx = s->object.ctx;

	if (p->sink != NULL)
		emi_free_array(ctx, p->sink, p->n, sizeof *p->sink);
	if (p->at != NULL)
		emi_free_array(ctx, p->at, (uint64_t)p->n + 1, sizeof *p->at);
	p->sink = NULL;
	p->at = NULL;
	if (p->lines == NULL)
		return;
	emi_text_room_free(&p->lines->text, ctx);
	if (p->lines->text_at != NULL)
		emi_free_array(ctx, p->lines->text_at, (uint64_t)p->n + 1, sizeof *p->lines->text_at);
	emi_free(ctx, p->lines, sizeof *p->lines);
	p->lines = NULL;
}

static em_status check_sinks(const em_stream *in, em_sink *const *sinks, uint32_t n, em_errinfo *err)
{
	em_status st = emi_given(sinks, "sinks", err);
	const size_t record = in->varied ? 0 : in->record;
	uint32_t i, k;

	if (st == EM_OK && n == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a split without sinks");
	for (i = 0; st == EM_OK && i < n; i++) {
		if (sinks[i] == NULL)
			st = emi_fail(err, EM_ERR_INVAL, "sinks[%" PRIu32 "] is NULL", i);
		else if (sinks[i]->object.ctx != in->object.ctx)
			st = emi_fail(err, EM_ERR_INVAL, "sinks[%" PRIu32 "] is of another context", i);
		else if (sinks[i]->record != record)
			st = emi_fail(err, EM_ERR_INVAL,
				      "sinks[%" PRIu32
				      "] has records of %zu bytes, and the stream of %zu (0: any length)",
				      i, sinks[i]->record, record);
		for (k = 0; st == EM_OK && k < i; k++)
			if (sinks[k] == sinks[i])
				st = emi_fail(err, EM_ERR_INVAL,
					      "sinks[%" PRIu32 "] and sinks[%" PRIu32 "] are the same sink", k, i);
	}
	return st;
}

static em_status get_lines(split *p, em_errinfo *err)
{
	em_ctx *ctx = p->s.object.ctx;

	p->lines = emi_alloc(ctx, sizeof *p->lines, err);
	if (p->lines != NULL)
		p->lines->text_at = emi_alloc_array(ctx, (uint64_t)p->n + 1, sizeof *p->lines->text_at, err);
	return p->lines != NULL && p->lines->text_at != NULL ? EM_OK : err->status;
}

static em_stream *make(em_stream *in, em_sink *const *sinks, uint32_t n, const emi_stream_kind *kind, em_errinfo *err)
{
	split *p = (split *)(void *)emi_stream_new(NULL, sizeof *p, kind, in->record, &in, 1, EM_STREAM_UNKNOWN, err);
	em_status st = EM_OK;

	if (p == NULL)
		return NULL;
	p->n = n;
	p->sink = emi_alloc_array(p->s.object.ctx, n, sizeof *p->sink, err);
	p->at = p->sink != NULL ? emi_alloc_array(p->s.object.ctx, (uint64_t)n + 1, sizeof *p->at, err) : NULL;
	if (p->at != NULL && in->varied)
		st = get_lines(p, err);
	if (p->at == NULL || st != EM_OK) {
		retire(&p->s);
		emi_stream_drop(&p->s);
		return NULL;
	}
	memcpy(p->sink, sinks, n * sizeof *p->sink);
	if (in->varied)
		emi_stream_vary(&p->s);
	return &p->s;
}

/* lines: records have any length; given: the function is not NULL. */
static em_status begin(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n, int lines, int given,
		       em_errinfo *err)
{
	em_status st = emi_stream_begin_by(out, in, given, err);

	if (st == EM_OK && lines)
		st = emi_lines_check(in, err);
	if (st == EM_OK && (lines || !in->varied))
		st = check_sinks(in, sinks, n, err);
	return st;
}

em_status em_stream_split(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n, em_split_fn fn, void *user,
			  void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "split", 0 };
	em_errinfo err;
	em_status st = begin(out, in, sinks, n, 0, fn != NULL, &err);
	em_stream *s = st == EM_OK ? make(in, sinks, n, &kind, &err) : NULL;

	if (s != NULL) {
		((split *)(void *)s)->fn = fn;
		((split *)(void *)s)->user = user;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}

em_status em_stream_lines_split(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n, em_lines_split_fn fn,
				void *user, void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "split", EMI_STREAM_VARIED };
	em_errinfo err;
	em_status st = begin(out, in, sinks, n, 1, fn != NULL, &err);
	em_stream *s = st == EM_OK ? make(in, sinks, n, &kind, &err) : NULL;

	if (s != NULL) {
		((split *)(void *)s)->lines->fn = fn;
		((split *)(void *)s)->user = user;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
