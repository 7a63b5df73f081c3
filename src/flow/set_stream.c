/* SPDX-License-Identifier: BSL-1.0 */
/*
 * set_stream.c -- set operations on two sorted streams.
 *
 * A step looks at the next record of either.  The lesser one is in one stream only; of two equal ones both are passed.
 * An operation is which of these three it lends, so equal records count as often as they come.
 *
 * Records of one size are compared where they lie, those of any length as frames (key/vary.h).
 */
#include <inttypes.h>

#include "base/copy.h"
#include "base/error.h"
#include "flow/flow_order.h"
#include "flow/lines.h"

typedef struct set_stream {
	em_stream s;
	emi_collation by;
	int a, both, b;         /* lend what is in a only, in both, in b only */
	size_t made;            /* records of one size in the buffer */
	emi_lines_made *lines;  /* those of any length; NULL: not yet */
	emi_line_frame frame[2]; /* of the next records of any length */
} set_stream;

/* Have memory for what is made. */
static em_status get_room(set_stream *t, em_errinfo *err)
{
	if (!t->s.varied)
		return emi_stream_room(&t->s, err);
	if (t->lines == NULL)
		t->lines = emi_lines_made_new(t->s.object.ctx, err);
	return t->lines != NULL ? EM_OK : err->status;
}

static int full(const set_stream *t)
{
	return t->lines != NULL ? emi_lines_made_full(&t->s, t->lines) : t->made == t->s.room_records;
}

static em_status show(set_stream *t)
{
	const size_t n = t->made;

	t->made = 0;
	return t->lines != NULL ? emi_lines_made_show(&t->s, t->lines) : emi_stream_show(&t->s, n);
}

/* Have the next record of an input in hand, and what it is compared by. */
static em_status look(set_stream *t, uint32_t i, em_errinfo *err)
{
	em_stream *in = t->s.input[i];
	const em_status st = emi_stream_need(in, err);

	return st == EM_OK && t->s.varied ? emi_line_frame_look(&t->frame[i], t->by.vary, in, err) : st;
}

static int compare(set_stream *t)
{
	if (t->s.varied)
		return emi_collation_compare(&t->by, t->frame[0].room.at, t->frame[1].room.at);
	return emi_collation_compare(&t->by, t->s.input[0]->source.at, t->s.input[1]->source.at);
}

/* The next record of an input is made, or passed over. */
static em_status step(set_stream *t, uint32_t i, int lend, em_errinfo *err)
{
	em_stream *s = &t->s, *in = s->input[i];
	em_status st = EM_OK;

	if (lend && t->lines != NULL) {
		const emi_one_record p = emi_one_in_hand(in);

		st = emi_lines_made_put(t->lines, s->object.ctx, p.at, p.bytes, err);
		if (st != EM_OK)
			return st;
		emi_lines_made_end(t->lines);
	} else if (lend) {
		emi_copy(s->room + t->made++ * s->record, in->source.at, s->record);
	}
	in->source.at += in->record;
	t->frame[i].known = 0;
	return st;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	set_stream *t = (set_stream *)(void *)s;
	em_status st = get_room(t, err), made;

	while (st == EM_OK && !full(t)) {
		const em_status in_a = look(t, 0, err);
		const em_status in_b = in_a >= EM_OK ? look(t, 1, err) : EM_END;
		int c;

		if (in_a < EM_OK || in_b < EM_OK) {
			made = show(t);
			return made == EM_OK ? made : in_a < EM_OK ? in_a : in_b;
		}
		if ((in_a == EM_END && (in_b == EM_END || !t->b)) || (in_b == EM_END && !t->a))
			break;
		c = in_a == EM_END ? 1 : in_b == EM_END ? -1 : compare(t);
		if (c == 0)
			st = step(t, 1, 0, err);
		if (st == EM_OK)
			st = c <= 0 ? step(t, 0, c == 0 ? t->both : t->a, err) : step(t, 1, t->b, err);
		if (st == EM_OK && emi_order_calls(t->by.order))
			st = emi_collation_check(&t->by, err);
	}
	return st == EM_OK ? show(t) : st;
}

static void retire(em_stream *s)
{
	set_stream *t = (set_stream *)(void *)s;

	emi_lines_made_free(t->lines, s->object.ctx);
	t->lines = NULL;
	emi_text_room_free(&t->frame[0].room, s->object.ctx);
	emi_text_room_free(&t->frame[1].room, s->object.ctx);
	emi_collation_close(&t->by);
}

em_status em_stream_set(em_stream **out, em_stream *a, em_stream *b, const em_order *order, uint32_t operation,
			em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "set operation", EMI_STREAM_VARIED };
	em_stream *const inputs[2] = { a, b };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, 2, &err);

	if (st == EM_OK)
		st = emi_stream_check_any_order(a, order, &err);
	if (st == EM_OK)
		st = emi_stream_check_any_order(b, order, &err);
	if (st == EM_OK && operation > EM_SET_SYMMETRIC)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no set operation %" PRIu32, operation);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(set_stream), &kind, a->record, inputs, 2, EM_STREAM_UNKNOWN, &err);
	if (s != NULL) {
		set_stream *t = (set_stream *)(void *)s;

		t->a = operation != EM_SET_INTERSECTION;
		t->both = operation == EM_SET_UNION || operation == EM_SET_INTERSECTION;
		t->b = operation == EM_SET_UNION || operation == EM_SET_SYMMETRIC;
		if (a->varied)
			emi_stream_vary(s);
		st = emi_stream_open_order(&t->by, a, order, &err);
		if (st != EM_OK)
			emi_stream_drop(s);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}
