/* SPDX-License-Identifier: BSL-1.0 */
/*
 * split.c -- one stream becomes several: some records are lent, and others pushed to sinks.
 *
 * A function says where some records go.  They are dealt into the buffer, those that are lent first, and then those of
 * each sink, which is called once.  So nothing is kept back for a sink that has few.
 */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/flow_sink.h"
#include "flow/stream.h"

#define MOST 1024u              /* records that are dealt at a time */

typedef struct split {
	em_stream s;
	em_split_fn fn;
	void *user;
	uint32_t n;             /* sinks */
	em_sink **sink;
	size_t *at;             /* where in the buffer the next record of each goes; [0] of what is lent */
	uint32_t to[MOST];
} split;

/* Deal n records, of which to[] was filled.  *lent: how many stay. */
static em_status deal(split *p, const char *records, size_t n, size_t *lent, em_errinfo *err)
{
	const size_t record = p->s.record;
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
	for (i = 0; i < n; i++)
		emi_copy(p->s.room + p->at[p->to[i]]++ * record, records + i * record, record);
	return EM_OK;
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
	st = emi_sink_take(sink, p->s.room + from * p->s.record, n, err);
	if (st != EM_OK)
		(void)emi_keep(&sink->object, st, err);
	emi_leave_quickly(&sink->object);
	return st;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	split *p = (split *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = emi_stream_room(s, err);
	size_t lent = 0;
	uint32_t k;

	while (st == EM_OK && lent == 0 && (st = emi_stream_need(in, err)) == EM_OK) {
		size_t n = emi_stream_hand(in);
		int failed;

		if (n > s->room_records)
			n = s->room_records;
		if (n > MOST)
			n = MOST;
		memset(p->to, 0, n * sizeof p->to[0]);
		failed = p->fn(p->user, in->source.at, n, p->to);
		if (failed != 0)
			return emi_stream_user_failed("splits a stream", failed, err);
		st = deal(p, in->source.at, n, &lent, err);
		in->source.at += n * s->record;
		for (k = 1; st == EM_OK && k <= p->n; k++)
			st = give(p, k, err);
	}
	return st == EM_OK ? emi_stream_show(s, lent) : st;
}

static void retire(em_stream *s)
{
	split *p = (split *)(void *)s;

	if (p->sink != NULL)
		emi_free_array(s->object.ctx, p->sink, p->n, sizeof *p->sink);
	if (p->at != NULL)
		emi_free_array(s->object.ctx, p->at, (uint64_t)p->n + 1, sizeof *p->at);
	p->sink = NULL;
	p->at = NULL;
}

static em_status check_sinks(const em_stream *in, em_sink *const *sinks, uint32_t n, em_errinfo *err)
{
	em_status st = emi_given(sinks, "sinks", err);
	uint32_t i, k;

	if (st == EM_OK && n == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a split without sinks");
	for (i = 0; st == EM_OK && i < n; i++) {
		if (sinks[i] == NULL)
			st = emi_fail(err, EM_ERR_INVAL, "sinks[%" PRIu32 "] is NULL", i);
		else if (sinks[i]->object.ctx != in->object.ctx)
			st = emi_fail(err, EM_ERR_INVAL, "sinks[%" PRIu32 "] is of another context", i);
		else if (sinks[i]->record != in->record)
			st = emi_fail(err, EM_ERR_INVAL,
				      "sinks[%" PRIu32 "] has records of %zu bytes, and the stream of %zu", i,
				      sinks[i]->record, in->record);
		for (k = 0; st == EM_OK && k < i; k++)
			if (sinks[k] == sinks[i])
				st = emi_fail(err, EM_ERR_INVAL,
					      "sinks[%" PRIu32 "] and sinks[%" PRIu32 "] are the same sink", k, i);
	}
	return st;
}

static em_stream *make(em_stream *in, em_sink *const *sinks, uint32_t n, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "split", 0 };
	split *p = (split *)(void *)emi_stream_new(NULL, sizeof *p, &kind, in->record, &in, 1, EM_STREAM_UNKNOWN, err);

	if (p == NULL)
		return NULL;
	p->n = n;
	p->sink = emi_alloc_array(p->s.object.ctx, n, sizeof *p->sink, err);
	p->at = p->sink != NULL ? emi_alloc_array(p->s.object.ctx, (uint64_t)n + 1, sizeof *p->at, err) : NULL;
	if (p->at == NULL) {
		retire(&p->s);
		emi_stream_drop(&p->s);
		return NULL;
	}
	memcpy(p->sink, sinks, n * sizeof *p->sink);
	return &p->s;
}

em_status em_stream_split(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n, em_split_fn fn, void *user,
			  void (*user_free)(void *user), em_errinfo *theirs)
{
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, &in, 1, &err);

	if (st == EM_OK)
		st = emi_given(in, "in", &err);
	if (st == EM_OK)
		st = check_sinks(in, sinks, n, &err);
	if (st == EM_OK && fn == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "fn is NULL");
	if (st == EM_OK)
		s = make(in, sinks, n, &err);
	if (s != NULL) {
		((split *)(void *)s)->fn = fn;
		((split *)(void *)s)->user = user;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
