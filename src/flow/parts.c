/* SPDX-License-Identifier: BSL-1.0 */
/* parts.c -- nodes that lend windows of their inputs as they are, one input after the other or only a part; and zip. */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "flow/lines.h"

/* What is in the hand of an input becomes the window. */
static em_status pass_on(em_stream *s, em_stream *in)
{
	s->source.at = in->source.at;
	s->source.end = in->source.end;
	in->source.at = in->source.end;
	emi_stream_same_text(s, in);
	return EM_OK;
}

typedef struct concat {
	em_stream s;
	uint32_t turn;          /* whose */
} concat;

static em_status concat_next(em_stream *s, em_errinfo *err)
{
	concat *c = (concat *)(void *)s;
	em_status st = EM_END;

	for (; c->turn < s->inputs; c->turn++) {
		st = emi_stream_need(s->input[c->turn], err);
		if (st == EM_OK)
			return pass_on(s, s->input[c->turn]);
		if (st != EM_END)
			break;
	}
	return st;
}

static em_status check_inputs(em_stream *const *inputs, uint32_t n, em_errinfo *err)
{
	em_status st = emi_given(inputs, "inputs", err);
	uint32_t i;

	if (st == EM_OK && n == 0)
		st = emi_fail(err, EM_ERR_INVAL, "there are no inputs");
	for (i = 0; st == EM_OK && i < n; i++)
		if (inputs[i] == NULL)
			st = emi_fail(err, EM_ERR_INVAL, "inputs[%" PRIu32 "] is NULL", i);
	return st;
}

em_status em_stream_concat(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { concat_next, NULL, "concat", EMI_STREAM_IN_TURN | EMI_STREAM_VARIED };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, n, &err);
	uint64_t count = 0;
	uint32_t i;

	if (st == EM_OK)
		st = check_inputs(inputs, n, &err);
	for (i = 0; st == EM_OK && i < n; i++) {
		const uint64_t left = emi_stream_left(inputs[i]);

		count = left > EM_STREAM_UNKNOWN - count ? EM_STREAM_UNKNOWN : count + left;
		if (inputs[i]->varied != inputs[0]->varied)
			st = emi_fail(&err, EM_ERR_INVAL, "inputs of records of one size and of any length");
		else if (inputs[i]->record != inputs[0]->record)
			st = emi_fail(&err, EM_ERR_INVAL, "inputs of records of %zu and of %zu bytes",
				      inputs[0]->record, inputs[i]->record);
	}
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(concat), &kind, inputs[0]->record, inputs, n, count, &err);
	if (s != NULL) {
		s->claim = 0;
		s->in_turn = 1;
		if (inputs[0]->varied)
			emi_stream_vary(s);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}

typedef struct slice {
	em_stream s;
	uint64_t skip, take;    /* still to do */
} slice;

/* So many records of what is in hand. */
static size_t at_most(const em_stream *in, uint64_t n)
{
	const size_t hand = emi_stream_hand(in);

	return hand < n ? hand : (size_t)n;
}

static em_status slice_next(em_stream *s, em_errinfo *err)
{
	slice *c = (slice *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = EM_OK;
	size_t n;

	while (c->take != 0 && (st = emi_stream_need(in, err)) == EM_OK && c->skip != 0) {
		n = at_most(in, c->skip);
		in->source.at += n * s->record;
		c->skip -= n;
	}
	if (c->take == 0)
		return EM_END;
	if (st != EM_OK)
		return st;
	n = at_most(in, c->take);
	s->source.at = in->source.at;
	s->source.end = in->source.at += n * s->record;
	emi_stream_same_text(s, in);
	if (c->take != EM_STREAM_UNKNOWN)
		c->take -= n;
	return EM_OK;
}

em_status em_stream_slice(em_stream **out, em_stream *in, uint64_t skip, uint64_t take, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { slice_next, NULL, "slice", EMI_STREAM_VARIED };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK) {
		uint64_t left = emi_stream_left(in);

		if (left != EM_STREAM_UNKNOWN)
			left = left > skip ? left - skip : 0;
		if (left != EM_STREAM_UNKNOWN && take < left)
			left = take;
		s = emi_stream_new(NULL, sizeof(slice), &kind, in->record, &in, 1, left, &err);
	}
	if (s != NULL) {
		((slice *)(void *)s)->skip = skip;
		((slice *)(void *)s)->take = take;
		if (in->varied)
			emi_stream_vary(s);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}

static em_status zip_next(em_stream *s, em_errinfo *err)
{
	em_status st = emi_stream_room(s, err);
	size_t n = s->room_records, at = 0, i;
	uint32_t k;

	for (k = 0; k < s->inputs && st == EM_OK; k++) {
		st = emi_stream_need(s->input[k], err);
		if (st == EM_OK)
			n = at_most(s->input[k], n);
	}
	if (st != EM_OK)
		return st;
	for (k = 0; k < s->inputs; k++) {
		em_stream *in = s->input[k];
		char *to = s->room + at;

		for (i = 0; i < n; i++) {
			emi_copy(to, in->source.at, in->record);
			in->source.at += in->record;
			to += s->record;
		}
		at += in->record;
	}
	return emi_stream_show(s, n);
}

em_status em_stream_zip(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { zip_next, NULL, "zip", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, n, &err);
	uint64_t count = EM_STREAM_UNKNOWN, record = 0;
	uint32_t i;
	int known = 1;

	if (st == EM_OK)
		st = check_inputs(inputs, n, &err);
	for (i = 0; st == EM_OK && i < n; i++) {
		const uint64_t left = emi_stream_left(inputs[i]);

		known &= left != EM_STREAM_UNKNOWN;
		count = left < count ? left : count;
		record += inputs[i]->record;
	}
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof *s, &kind, record, inputs, n, known ? count : EM_STREAM_UNKNOWN, &err);
	return emi_stream_end(s, out, st, theirs, &err);
}
