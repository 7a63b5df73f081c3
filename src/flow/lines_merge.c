/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_merge.c -- the merge of sorted streams of records of any length.
 *
 * Of each input some records are taken as frames (key/vary.h), as many as fit in a piece of memory.  These are windows
 * of the kernels' tree of losers (kern/kern.h), as a merge of files of lines has them.  When a window has run dry, what
 * it gave is made before the next records of its input take their place.
 */
#include "base/error.h"
#include "base/memory.h"
#include "flow/flow_order.h"
#include "flow/lines.h"

#define WINDOW 64u              /* records that are taken of an input at a time, at most */
#define SOME 64u                /* records that the tree gives at a time */

typedef struct merge_side {
	emi_text_room text;     /* frames, one behind the other, */
	emi_frame frame[WINDOW]; /* ... taken apart, */
	emi_pair elem[WINDOW];  /* ... and as elements of the window */
} merge_side;

typedef struct lines_merge {
	em_stream s;
	emi_collation by;
	merge_side *side;       /* of each input; NULL: not yet, as what follows */
	emi_window *win;
	void *tree;
	emi_lines_made *made;
	emi_merging merging;
	uint32_t loaded;        /* inputs whose first records were taken */
	int begun;              /* all were */
	uint32_t dry;           /* the window that the tree waits for, or EMI_NONE */
	emi_pair given[SOME];   /* what the tree gave: from `at' to n it is to be made */
	size_t at, n;
} lines_merge;

/* Have the next window of an input; at its end it is empty. */
static em_status load(lines_merge *m, uint32_t i, em_errinfo *err)
{
	em_stream *in = m->s.input[i];
	merge_side *side = &m->side[i];
	emi_window *w = &m->win[i];
	size_t n = 0, used = 0, made;
	em_status st = emi_stream_need(in, err);

	w->cur = w->end = NULL;
	if (st != EM_OK)
		return st == EM_END ? EM_OK : st;
	for (; n < WINDOW && in->source.at != in->source.end; n++) {
		st = emi_line_frame_make(&side->text, used, m->by.vary, in, &made, err);
		if (st != EM_OK)
			return st;
		if (made == 0)
			break;
		side->frame[n] = emi_frame_get(m->by.vary, (const unsigned char *)side->text.at + used);
		side->elem[n] = emi_frame_elem(m->by.vary, &side->frame[n]);
		used += made;
		in->source.at += in->record;
	}
	w->cur = side->elem;
	w->end = side->elem + n;
	return EM_OK;
}

static em_status get_memory(lines_merge *m, em_errinfo *err)
{
	const uint32_t n = m->s.inputs;
	em_ctx *ctx = m->s.object.ctx;

	if (m->side == NULL)
		m->side = emi_alloc_array(ctx, n, sizeof *m->side, err);
	if (m->side != NULL && m->win == NULL)
		m->win = emi_alloc_array(ctx, n, sizeof *m->win, err);
	if (m->win != NULL && m->tree == NULL)
		m->tree = emi_alloc(ctx, emi_merge_tree_bytes(n), err);
	if (m->tree != NULL && m->made == NULL)
		m->made = emi_lines_made_new(ctx, err);
	return m->made != NULL ? EM_OK : err->status;
}

static em_status begin(lines_merge *m, em_errinfo *err)
{
	const emi_tie tie = emi_collation_frames(&m->by);
	em_status st = get_memory(m, err);

	while (st == EM_OK && m->loaded < m->s.inputs) {
		st = load(m, m->loaded, err);
		m->loaded += st == EM_OK;
	}
	if (st != EM_OK)
		return st;
	emi_merging_start(&m->merging, &m->by, m->s.inputs, m->win, m->tree, &tie, NULL);
	m->begun = 1;
	return EM_OK;
}

/* Have a record that the tree gave.  EM_END: there are no more. */
static em_status need(lines_merge *m, em_errinfo *err)
{
	em_status st = EM_OK;

	while (m->at == m->n) {
		if (m->dry != EMI_NONE)
			st = load(m, m->dry, err);
		if (st != EM_OK)
			return st;
		m->at = 0;
		m->n = emi_merging_run(&m->merging, m->given, SOME, &m->dry);
		if (m->n == 0 && m->dry == EMI_NONE)
			return EM_END;
	}
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	lines_merge *m = (lines_merge *)(void *)s;
	em_status st = m->begun ? EM_OK : begin(m, err), made;

	if (st != EM_OK)
		return st;
	while (st == EM_OK && !emi_lines_made_full(s, m->made) && (st = need(m, err)) == EM_OK) {
		const emi_frame *f = (const emi_frame *)(uintptr_t)m->given[m->at].val;

		st = emi_lines_made_put(m->made, s->object.ctx, emi_frame_record(f), (size_t)f->bytes, err);
		if (st != EM_OK)
			return st;
		emi_lines_made_end(m->made);
		m->at++;
	}
	made = emi_lines_made_show(s, m->made);
	return made == EM_OK || st >= EM_OK ? made : st;
}

static void retire(em_stream *s)
{
	lines_merge *m = (lines_merge *)(void *)s;
	em_ctx *ctx = s->object.ctx;
	uint32_t i;

	for (i = 0; m->side != NULL && i < s->inputs; i++)
		emi_text_room_free(&m->side[i].text, ctx);
	if (m->side != NULL)
		emi_free_array(ctx, m->side, s->inputs, sizeof *m->side);
	if (m->win != NULL)
		emi_free_array(ctx, m->win, s->inputs, sizeof *m->win);
	if (m->tree != NULL)
		emi_free(ctx, m->tree, emi_merge_tree_bytes(s->inputs));
	emi_lines_made_free(m->made, ctx);
	m->side = NULL;
	m->win = NULL;
	m->tree = NULL;
	m->made = NULL;
	emi_collation_close(&m->by);
}

em_stream *emi_lines_merge(em_stream *const *inputs, uint32_t n, const em_order *order, uint64_t count, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "merge", EMI_STREAM_VARIED };
	em_stream *s = emi_stream_new(NULL, sizeof(lines_merge), &kind, sizeof(uint64_t), inputs, n, count, err);
	lines_merge *m = (lines_merge *)(void *)s;

	if (s == NULL)
		return NULL;
	if (emi_collation_open(&m->by, order, NULL, NULL, err) != EM_OK) {
		emi_stream_drop(s);
		return NULL;
	}
	m->dry = EMI_NONE;
	s->claim = EMI_STREAM_ROOM + n * (uint64_t)(sizeof *m->side + EMI_STREAM_ROOM);
	emi_stream_vary(s);
	return s;
}
