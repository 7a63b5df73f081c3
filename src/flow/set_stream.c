/* SPDX-License-Identifier: BSL-1.0 */
/*
 * set_stream.c -- set operations on two sorted streams.
 *
 * A step looks at the next record of either.  The lesser one is in one stream only; of two equal ones both are passed.
 * An operation is which of these three it lends, so equal records count as often as they come.
 */
#include <inttypes.h>

#include "base/copy.h"
#include "base/error.h"
#include "flow/flow_order.h"

typedef struct set_stream {
	em_stream s;
	emi_collation by;
	int a, both, b;         /* lend what is in a only, in both, in b only */
} set_stream;

/* The next record of a stream goes to the buffer, or is passed over. */
static void step(em_stream *s, em_stream *in, int lend, size_t *made)
{
	if (lend)
		emi_copy(s->room + (*made)++ * s->record, in->source.at, s->record);
	in->source.at += s->record;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	set_stream *t = (set_stream *)(void *)s;
	em_stream *a = s->input[0], *b = s->input[1];
	em_status st = emi_stream_room(s, err);
	size_t made = 0;

	while (st == EM_OK && made < s->room_records) {
		const em_status in_a = emi_stream_need(a, err);
		const em_status in_b = in_a >= EM_OK ? emi_stream_need(b, err) : EM_END;
		int c;

		if (in_a < EM_OK || in_b < EM_OK)
			return emi_stream_show_made(s, made, in_a < EM_OK ? in_a : in_b);
		if ((in_a == EM_END && (in_b == EM_END || !t->b)) || (in_b == EM_END && !t->a))
			break;
		c = in_a == EM_END ? 1 : in_b == EM_END ? -1 :
		    emi_collation_compare(&t->by, a->source.at, b->source.at);
		if (c == 0)
			step(s, b, 0, &made);
		if (c <= 0)
			step(s, a, c == 0 ? t->both : t->a, &made);
		else
			step(s, b, t->b, &made);
		if (emi_order_calls(t->by.order))
			st = emi_collation_check(&t->by, err);
	}
	return st == EM_OK ? emi_stream_show(s, made) : st;
}

static void retire(em_stream *s)
{
	emi_collation_close(&((set_stream *)(void *)s)->by);
}

em_status em_stream_set(em_stream **out, em_stream *a, em_stream *b, const em_order *order, uint32_t operation,
			em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "set operation", 0 };
	em_stream *const inputs[2] = { a, b };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, 2, &err);

	if (st == EM_OK)
		st = emi_stream_check_order(a, order, &err);
	if (st == EM_OK)
		st = emi_stream_check_order(b, order, &err);
	if (st == EM_OK && operation > EM_SET_SYMMETRIC)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no set operation %" PRIu32, operation);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(set_stream), &kind, a->record, inputs, 2, EM_STREAM_UNKNOWN, &err);
	if (s != NULL) {
		set_stream *t = (set_stream *)(void *)s;

		t->a = operation != EM_SET_INTERSECTION;
		t->both = operation == EM_SET_UNION || operation == EM_SET_INTERSECTION;
		t->b = operation == EM_SET_UNION || operation == EM_SET_SYMMETRIC;
		st = emi_stream_open_order(&t->by, a, order, &err);
		if (st != EM_OK)
			emi_stream_drop(s);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}
