/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_group.c -- nodes that make one record of each group of equal neighbours, of any length.
 *
 * What the next record is compared with is the frame (key/vary.h) of the first one of the group, and has its bytes.
 * Where nothing is counted or added, the first record is made as it comes, and else when the group is over.
 *
 * Of a sum the records that are to be added stand behind it, as a function gets them.  It makes the next sum in other
 * memory, and both change places.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "flow/flow_order.h"
#include "flow/lines.h"

typedef struct lines_group {
	em_stream s;
	emi_collation by;
	int counted;            /* records begin with how many there were */
	em_lines_reduce_fn fn;  /* NULL: nothing is added */
	void *user;
	emi_line_frame next;    /* of the next record */
	emi_text_room first;    /* a frame: of the first one of the group */
	uint64_t n;             /* records of the group; 0: there is none */
	emi_lines_made *made;   /* what is lent next; NULL: not yet, as what follows */
	emi_lines_made *sum;    /* the sum, and records that are to be added to it */
	emi_lines_made *other;  /* where the next sum is made */
} lines_group;

static em_status get_memory(lines_group *g, em_errinfo *err)
{
	em_ctx *ctx = g->s.object.ctx;

	if (g->made == NULL)
		g->made = emi_lines_made_new(ctx, err);
	if (g->made == NULL || g->fn == NULL)
		return g->made != NULL ? EM_OK : err->status;
	if (g->sum == NULL)
		g->sum = emi_lines_made_new(ctx, err);
	if (g->sum != NULL && g->other == NULL)
		g->other = emi_lines_made_new(ctx, err);
	return g->other != NULL ? EM_OK : err->status;
}

static em_status put_record(lines_group *g, emi_lines_made *to, const void *record, size_t bytes, em_errinfo *err)
{
	const em_status st = emi_lines_made_put(to, g->s.object.ctx, record, bytes, err);

	if (st == EM_OK)
		emi_lines_made_end(to);
	return st;
}

/* Add what stands behind the sum. */
static em_status add_up(lines_group *g, em_errinfo *err)
{
	emi_lines_made *sum = g->sum;
	const em_batch all = { sum->text.at, sum->n, sum->used, sum->ends };
	em_line line;
	em_status st;

	if (sum->n < 2)
		return EM_OK;
	g->other->n = g->other->used = 0;
	emi_line_begin(&line, g->s.object.ctx, g->other);
	st = emi_line_end(&line, g->fn(g->user, &all, &line), "adds up records", err);
	if (st != EM_OK)
		return st;
	g->sum = g->other;
	g->other = sum;
	return EM_OK;
}

/* The first record of the group, or the sum, and how many there are in front of it. */
static em_status make(lines_group *g, em_errinfo *err)
{
	const emi_frame f = emi_frame_get(g->by.vary, (const unsigned char *)g->first.at);
	em_status st = EM_OK;
	char count[32];

	if (g->counted)
		st = emi_lines_made_put(g->made, g->s.object.ctx, count,
					(size_t)sprintf(count, "%" PRIu64 "\t", g->n), err);
	if (st == EM_OK && g->fn == NULL)
		return put_record(g, g->made, emi_frame_record(&f), (size_t)f.bytes, err);
	if (st == EM_OK)
		st = add_up(g, err);
	return st == EM_OK ? put_record(g, g->made, g->sum->text.at, g->sum->used, err) : st;
}

static int waits(const lines_group *g)
{
	return g->counted || g->fn != NULL;
}

static em_status end_group(lines_group *g, em_errinfo *err)
{
	const em_status st = g->n != 0 && waits(g) ? make(g, err) : EM_OK;

	g->n = 0;
	return st;
}

/* A record, whose frame is known, is the first one of a group. */
static em_status begin_group(lines_group *g, emi_one_record p, em_errinfo *err)
{
	const emi_text_room room = g->first;
	const em_status st = end_group(g, err);

	if (st != EM_OK)
		return st;
	g->first = g->next.room;
	g->next.room = room;
	g->n = 1;
	if (g->fn == NULL)
		return g->counted ? EM_OK : make(g, err);
	g->sum->n = g->sum->used = 0;
	return put_record(g, g->sum, p.at, p.bytes, err);
}

/* A record is of the group. */
static em_status add(lines_group *g, emi_one_record p, em_errinfo *err)
{
	em_status st = EM_OK;

	g->n++;
	if (g->fn == NULL)
		return EM_OK;
	if (g->sum->n == EMI_LINES_MOST || (g->sum->n > 1 && g->sum->used >= EMI_STREAM_ROOM))
		st = add_up(g, err);
	return st == EM_OK ? put_record(g, g->sum, p.at, p.bytes, err) : st;
}

/* The next record is in hand. */
static em_status step(lines_group *g, em_errinfo *err)
{
	em_stream *in = g->s.input[0];
	const emi_one_record p = emi_one_in_hand(in);
	em_status st = emi_line_frame_look(&g->next, g->by.vary, in, err);

	if (st != EM_OK)
		return st;
	if (g->n != 0 && emi_collation_compare(&g->by, g->first.at, g->next.room.at) == 0)
		st = add(g, p, err);
	else
		st = begin_group(g, p, err);
	g->next.known = 0;
	in->source.at += in->record;
	return st;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	lines_group *g = (lines_group *)(void *)s;
	em_status st = get_memory(g, err), made;

	if (st != EM_OK)
		return st;
	while (st == EM_OK && !emi_lines_made_full(s, g->made) && (st = emi_stream_need(s->input[0], err)) == EM_OK) {
		st = step(g, err);
		if (st != EM_OK)
			return st;
	}
	if (st == EM_END && end_group(g, err) != EM_OK)
		return err->status;
	made = emi_lines_made_show(s, g->made);
	return made == EM_OK || st >= EM_OK ? made : st;
}

static void retire(em_stream *s)
{
	lines_group *g = (lines_group *)(void *)s;
	em_ctx *ctx = s->object.ctx;

	emi_text_room_free(&g->next.room, ctx);
	emi_text_room_free(&g->first, ctx);
	emi_lines_made_free(g->made, ctx);
	emi_lines_made_free(g->sum, ctx);
	emi_lines_made_free(g->other, ctx);
	g->made = g->sum = g->other = NULL;
	emi_collation_close(&g->by);
}

static lines_group *open_group(em_stream *in, const em_order *order, const emi_stream_kind *kind, uint64_t claim,
			       em_errinfo *err)
{
	em_stream *s = emi_stream_new(NULL, sizeof(lines_group), kind, sizeof(uint64_t), &in, 1, EM_STREAM_UNKNOWN,
				      err);
	lines_group *g = (lines_group *)(void *)s;

	if (s == NULL)
		return NULL;
	if (emi_collation_open(&g->by, order, NULL, NULL, err) != EM_OK) {
		emi_stream_drop(s);
		return NULL;
	}
	s->claim = claim;
	emi_stream_vary(s);
	return g;
}

em_stream *emi_lines_unique(em_stream *in, const em_order *order, int counted, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "unique", EMI_STREAM_VARIED };
	lines_group *g = open_group(in, order, &kind, 3 * EMI_STREAM_ROOM, err);

	if (g == NULL)
		return NULL;
	g->counted = counted;
	return &g->s;
}

em_status em_stream_lines_reduce(em_stream **out, em_stream *in, const em_order *order, em_lines_reduce_fn fn,
				 void *user, void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "reduce", EMI_STREAM_VARIED };
	em_errinfo err;
	em_status st = emi_stream_begin_one(out, in, &err);
	lines_group *g = NULL;

	if (st == EM_OK)
		st = emi_given(order, "order", &err);
	if (st == EM_OK && fn == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "fn is NULL");
	if (st == EM_OK)
		st = emi_lines_check(in, &err);
	if (st == EM_OK)
		st = emi_stream_check_any_order(in, order, &err);
	if (st == EM_OK)
		g = open_group(in, order, &kind, 6 * EMI_STREAM_ROOM, &err);
	if (g != NULL) {
		g->fn = fn;
		g->user = user;
	}
	return emi_stream_end_user(g != NULL ? &g->s : NULL, out, st, user, user_free, theirs, &err);
}
