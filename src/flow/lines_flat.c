/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_flat.c -- a node whose function makes any number of records of any length out of some.
 *
 * What it adds goes to a list of pieces, which are lent one by one.  The first one is filled by as many calls as it
 * takes, and what the last of them adds behind it waits in others.  No call is made before all but the last were lent.
 *
 * How much that is depends on the function.  It gets one record first, then more at a time as long as it makes little
 * of them, and fewer when it makes much.
 */
#include "base/context.h"
#include "base/error.h"
#include "flow/lines.h"

#define MEMORY_SHARE 8u
#define ADDED_LEAST ((uint64_t)4096)

typedef struct lines_flat {
	em_stream s;
	em_lines_flat_map_fn fn;
	void *user;
	emi_lines_made *first;  /* what was lent, or is next; NULL: there is no memory yet */
	emi_lines_made *last;   /* what is added comes here */
	int lent;               /* the first one was */
	int over;               /* the function knows that the input has ended */
	size_t some;            /* records that it gets at a time */
	uint64_t most;          /* bytes that a call may add */
	uint64_t seen[EMI_LINES_MOST]; /* ends that it gets */
} lines_flat;

static em_status get_memory(lines_flat *f, em_errinfo *err)
{
	const uint64_t share = em_ctx_memory(f->s.object.ctx) / MEMORY_SHARE;

	if (f->first != NULL)
		return EM_OK;
	f->most = share > ADDED_LEAST ? share : ADDED_LEAST;
	f->first = f->last = emi_lines_made_new(f->s.object.ctx, err);
	return f->first != NULL ? EM_OK : err->status;
}

/* What was lent gives way to what comes behind it. */
static void pass(lines_flat *f)
{
	emi_lines_made *old = f->first;

	if (!f->lent)
		return;
	f->lent = 0;
	if (old == f->last) {
		old->n = old->used = 0;
		return;
	}
	f->first = old->next;
	emi_lines_made_free(old, f->s.object.ctx);
}

/* The function gets records in hand, or none at the end of the input. */
static em_status call(lines_flat *f, em_errinfo *err)
{
	em_stream *in = f->s.input[0];
	const size_t limit = emi_lines_most(&f->s);
	em_batch b = { "", 0, 0, f->seen };
	emi_lines_made *begun = f->last;
	em_line line;
	em_status st;

	if (!f->over)
		emi_lines_look(in, f->seen, f->some < limit ? f->some : limit, &b);
	emi_line_begin_several(&line, f->s.object.ctx, f->last, f->most);
	st = emi_line_end_several(&line, f->fn(f->user, &b, &line), "makes records", err);
	f->last = line.made;
	if (st != EM_OK)
		return st;
	if (!f->over)
		in->source.at += b.n * in->record;
	if (f->last == begun)
		f->some = f->some < EMI_LINES_MOST / 2 ? 2 * f->some : EMI_LINES_MOST;
	else if (f->last != begun->next)
		f->some = (f->some + 1) / 2;
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	lines_flat *f = (lines_flat *)(void *)s;
	em_status st = get_memory(f, err), called = EM_OK;

	if (st != EM_OK)
		return st;
	pass(f);
	while (st == EM_OK && f->first == f->last && !emi_lines_made_full(s, f->first)) {
		st = emi_stream_need(s->input[0], err);
		if (st == EM_OK || (st == EM_END && !f->over)) {
			f->over = st == EM_END;
			called = call(f, err);
		}
		if (called != EM_OK)
			return called;
	}
	if (f->first->n == 0)
		return st;
	emi_lines_show(s, f->first->text.at, f->first->ends, f->first->n);
	f->lent = 1;
	return EM_OK;
}

static void retire(em_stream *s)
{
	lines_flat *f = (lines_flat *)(void *)s;

	while (f->first != NULL) {
		emi_lines_made *old = f->first;

		f->first = old->next;
		emi_lines_made_free(old, s->object.ctx);
	}
	f->last = NULL;
}

em_status em_stream_lines_flat_map(em_stream **out, em_stream *in, em_lines_flat_map_fn fn, void *user,
				   void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "flat-map", EMI_STREAM_VARIED };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_by(out, in, fn != NULL, &err);

	if (st == EM_OK)
		st = emi_lines_check(in, &err);
	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(lines_flat), &kind, sizeof(uint64_t), &in, 1, EM_STREAM_UNKNOWN,
				   &err);
	if (s != NULL) {
		lines_flat *f = (lines_flat *)(void *)s;

		f->fn = fn;
		f->user = user;
		f->some = 1;
		s->claim = 3 * EMI_STREAM_ROOM;
		emi_stream_vary(s);
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
