/* SPDX-License-Identifier: BSL-1.0 */
/*
 * group.c -- nodes that make one record of each group of equal neighbours.  Those of records of any length are in
 * lines_group.c, and what neither counts nor adds in distinct.c.
 *
 * The group that is being read has a copy of its first record, to which a function may add the others.  It is lent when
 * a record comes that is not equal to the first one as it was, whose key is kept.
 */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/distinct.h"
#include "flow/flow_order.h"
#include "flow/lines.h"

typedef struct group {
	em_stream s;
	emi_collation by;
	em_reduce_fn fn;        /* NULL: others than the first are only counted */
	void *user;
	int counted;            /* records end with how many there were */
	char *first;            /* two records: the first as it was, ... */
	char *sum;              /* ... and with what was added */
	uint64_t key, val;      /* of the first; val only if keys may be equal and records not */
	uint64_t next_key;      /* of the next record, ... */
	int known;              /* ... if it was looked at */
	uint64_t n;             /* records of the group; 0: there is none */
} group;

static void begin_group(group *g, const char *record)
{
	const size_t bytes = g->s.input[0]->record;

	emi_copy(g->sum, record, bytes);
	g->key = g->known ? g->next_key : emi_collation_key(&g->by, record);
	g->known = 0;
	g->n = 1;
	if (g->by.tie.fn == NULL)
		return;
	emi_copy(g->first, record, bytes);
	g->val = emi_collation_val(&g->by, g->first);
}

/* How many of those in hand are of the group? */
static size_t equal_ones(group *g, const em_stream *in)
{
	const emi_tie *tie = &g->by.tie;
	const char *at = in->source.at;

	for (; at != in->source.end; at += in->record) {
		const uint64_t key = emi_collation_key(&g->by, at);

		if (key == g->key && (tie->fn == NULL || tie->fn(tie->arg, emi_collation_val(&g->by, at), g->val) == 0))
			continue;
		g->next_key = key;
		g->known = 1;
		break;
	}
	return (size_t)(at - in->source.at) / in->record;
}

static void end_group(group *g, char *to)
{
	const size_t bytes = g->s.input[0]->record;

	emi_copy(to, g->sum, bytes);
	if (g->counted)
		memcpy(to + bytes, &g->n, sizeof g->n);
	g->n = 0;
}

/* There are records in hand, and a group: add those that belong to it. */
static em_status add(group *g, em_stream *in, em_errinfo *err)
{
	const size_t n = equal_ones(g, in);
	int failed = 0;

	if (n != 0 && g->fn != NULL)
		failed = g->fn(g->user, g->sum, in->source.at, n);
	if (failed != 0)
		return emi_stream_user_failed("adds up records", failed, err);
	g->n += n;
	in->source.at += n * in->record;
	return emi_collation_check(&g->by, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	group *g = (group *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = emi_stream_room(s, err);
	size_t made = 0;

	while (st == EM_OK && made < s->room_records && (st = emi_stream_need(in, err)) == EM_OK) {
		if (g->n == 0) {
			begin_group(g, in->source.at);
			in->source.at += in->record;
			continue;
		}
		st = add(g, in, err);
		if (st != EM_OK)
			return st;
		if (in->source.at != in->source.end)
			end_group(g, s->room + made++ * s->record);
	}
	if (st == EM_END && g->n != 0)
		end_group(g, s->room + made++ * s->record);
	return emi_stream_show_made(s, made, st);
}

static void retire(em_stream *s)
{
	group *g = (group *)(void *)s;

	if (g->first != NULL)
		emi_free(s->object.ctx, g->first, 2 * s->input[0]->record);
	g->first = g->sum = NULL;
	emi_collation_close(&g->by);
}

static em_stream *make(em_stream *in, const em_order *order, int counted, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "reduce", 0 };
	em_status st = emi_stream_check_order(in, order, err);
	group *g = NULL;

	if (st == EM_OK)
		g = (group *)(void *)emi_stream_new(NULL, sizeof *g, &kind, in->record + (counted ? 8 : 0), &in, 1,
						    EM_STREAM_UNKNOWN, err);
	if (g == NULL)
		return NULL;
	g->counted = counted;
	g->first = emi_alloc(g->s.object.ctx, 2 * in->record, err);
	if (g->first != NULL && emi_stream_open_order(&g->by, in, order, err) == EM_OK) {
		g->sum = g->first + in->record;
		return &g->s;
	}
	if (g->first != NULL)
		emi_free(g->s.object.ctx, g->first, 2 * in->record);
	emi_stream_drop(&g->s);
	return NULL;
}

static em_stream *make_unique(em_stream *in, const em_order *order, int counted, em_errinfo *err)
{
	if (emi_stream_check_any_order(in, order, err) != EM_OK)
		return NULL;
	if (in->varied)
		return emi_lines_unique(in, order, counted, err);
	return counted ? make(in, order, 1, err) : emi_stream_distinct(in, order, err);
}

em_status em_stream_unique(em_stream **out, em_stream *in, const em_order *order, uint32_t flags, em_errinfo *theirs)
{
	em_errinfo err;
	em_status st = emi_stream_begin_node(out, &in, 1, &err);
	em_stream *s = NULL;

	if (st == EM_OK && (flags & ~EM_UNIQUE_COUNT) != 0)
		st = emi_fail(&err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", flags);
	if (st == EM_OK)
		s = make_unique(in, order, flags != 0, &err);
	return emi_stream_end(s, out, st, theirs, &err);
}

em_status em_stream_reduce(em_stream **out, em_stream *in, const em_order *order, em_reduce_fn fn, void *user,
			   void (*user_free)(void *user), em_errinfo *theirs)
{
	em_errinfo err;
	em_status st = emi_stream_begin_node(out, &in, 1, &err);
	em_stream *s = NULL;

	if (st == EM_OK && fn == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "fn is NULL");
	if (st == EM_OK)
		s = make(in, order, 0, &err);
	if (s != NULL) {
		((group *)(void *)s)->fn = fn;
		((group *)(void *)s)->user = user;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
