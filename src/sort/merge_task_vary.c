/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task_vary.c -- merging slices of records of any length into one block.
 *
 * Records that follow one another in a run have much in common, and so have all that come out of the merge one after
 * the other.  So elements are not made of the first bytes of strings, but of offset-value codes (kern/kern.h): where a
 * string differs from the one before it, and with what.  Bytes that are shared are then compared once, with the
 * neighbour, however many runs there are.  All records of a task lie between the front records of its slices and its
 * bound, so what these have in common need not be compared at all.
 */
#include <string.h>

#include "sort/block_vary.h"
#include "sort/merge_task.h"
#include "stream/records.h"

#define VALUE_BYTES 6u          /* in an offset-value code; the other two are the offset */

typedef struct emi_merge_task merge_task;

/* A task at work. */
typedef struct merging {
	merge_task *t;
	const emi_vary *v;
	uint64_t depth;         /* bytes that all strings have in common */
	int text;               /* output bytes, not frames */
	emi_block_builder block;
	unsigned char *at;      /* where the next output byte goes */
	int damaged;            /* a slice has frames that cannot be: the output has failed */
} merging;

static const unsigned char *frame_at(const emi_pair *e)
{
	return (const unsigned char *)(uintptr_t)e->val;
}

/*
 * The offset-value code of a string that has so many bytes in common with one before it: smaller the more these are,
 * then by what follows.  Offsets are counted in values, from what all have in common: two codes that are not equal then
 * stand for values that are not.  What does not fit is a draw, which looks at the records.
 */
static uint64_t code_at(const merging *m, const emi_frame *f, uint64_t common)
{
	const uint64_t values = (common - m->depth) / VALUE_BYTES;

	if (values >= UINT16_MAX)
		return 0;
	return (UINT16_MAX - values) << 48 | emi_string_key(m->v, f, m->depth + values * VALUE_BYTES) >> 16;
}

static int recode(void *arg, uint64_t a, uint64_t b, uint64_t code, uint64_t *lose)
{
	const merging *m = arg;
	const emi_frame x = emi_frame_get(m->v, (const unsigned char *)(uintptr_t)a);
	const emi_frame y = emi_frame_get(m->v, (const unsigned char *)(uintptr_t)b);
	const uint64_t agreed = m->depth + (UINT16_MAX - (code >> 48)) * VALUE_BYTES;
	const uint64_t common = emi_string_common(m->v, &x, &y, agreed);
	const int c = emi_string_compare(m->v, &x, &y, common);

	*lose = code_at(m, c > 0 ? &x : &y, common);
	return c;
}

/* What all records of the task have in common. */
static uint64_t common_depth(const merging *m)
{
	const merge_task *t = m->t;
	uint64_t common = UINT64_MAX;
	emi_frame bound;
	uint32_t i;

	if (t->bound == NULL)
		return 0;
	bound = emi_frame_get(m->v, (const unsigned char *)t->bound);
	for (i = 0; i < t->slices && common != 0; i++) {
		const emi_frame f = emi_frame_get(m->v, (const unsigned char *)t->slice[i].first);
		const uint64_t c = emi_string_common(m->v, &bound, &f, 0);

		common = c < common ? c : common;
	}
	return common;
}

static void put(merging *m, const unsigned char *frame, const emi_frame *f)
{
	const em_format *format = &m->t->job->format;

	if (!m->text) {
		emi_block_add(&m->block, frame, (size_t)(emi_frame_end(f) - frame), f->bytes + m->t->job->out_extra);
		return;
	}
	m->at = emi_record_prefix(format, m->at, f->bytes);
	emi_copy(m->at, emi_frame_record(f), (size_t)f->bytes);
	m->at = emi_record_delimit(format, m->at + f->bytes);
}

/* Frames of a slice are so many bytes of the output, of which all are to be in the end: 0 if they are not. */
static int take_out(emi_slice *s, uint64_t out, int ended)
{
	if (out > s->out || (ended && out != s->out))
		return 0;
	s->out -= out;
	return 1;
}

/* Nothing that comes of the slice can be put anywhere. */
static void give_up(merging *m, emi_slice *s)
{
	em_errinfo err;
	em_status st;

	memset(&err, 0, sizeof err);
	st = emi_merge_damaged(m->t->job, s->block, &err);
	emi_outseq_abort(m->t->q, st, &err);
	m->damaged = 1;
	s->bytes = 0;
}

/* One run alone has all of it: its records are moved as they are. */
static void copy_slice(merging *m)
{
	emi_slice *s = &m->t->slice[0];
	const unsigned char *p = (const unsigned char *)s->first, *end = p + s->bytes;
	emi_frame f;

	while (p < end) {
		if (!emi_frame_get_within(m->v, p, end, &f) ||
		    !take_out(s, f.bytes + m->t->job->out_extra, emi_frame_end(&f) == end)) {
			give_up(m, s);
			return;
		}
		put(m, p, &f);
		p = emi_frame_end(&f);
	}
}

/* Fill the window of slice i with its next records; it stays empty at the end of the slice. */
static void refill(merging *m, uint32_t i)
{
	merge_task *t = m->t;
	emi_slice *s = &t->slice[i];
	const unsigned char *p = (const unsigned char *)s->first, *end = p + s->bytes;
	emi_pair *win = (emi_pair *)(void *)t->elems + (size_t)i * t->plan->window;
	const unsigned char *before = s->before;
	const size_t window = t->plan->window;
	emi_frame last = { NULL, 0, 0 }, f;
	uint64_t bytes = 0;
	int sound = 1;
	size_t n;

	if (before != NULL)
		last = emi_frame_get(m->v, before);
	for (n = 0; n < window && p < end; n++) {
		uint64_t common;

		sound = emi_frame_get_within(m->v, p, end, &f);
		if (!sound)
			break;
		common = before != NULL ? emi_string_common(m->v, &last, &f, m->depth) : m->depth;
		win[n].key = code_at(m, &f, common);
		win[n].val = (uintptr_t)p;
		before = p;
		last = f;
		p = emi_frame_end(&f);
		bytes += f.bytes;
	}
	t->win[i].cur = win;
	t->win[i].end = win;
	if (!sound || !take_out(s, bytes + n * t->job->out_extra, p == end)) {
		give_up(m, s);
		return;
	}
	s->before = before;
	s->first = (const char *)p;
	s->bytes = (size_t)(end - p);
	t->win[i].end = win + n;
}

static void merge_slices(merging *m)
{
	merge_task *t = m->t;
	const emi_tie tie = { NULL, m, NULL, 0 };
	emi_pair *made = t->made;
	emi_merging k;
	uint32_t i, dry;

	for (i = 0; i < t->slices && !m->damaged; i++)
		refill(m, i);
	if (m->damaged)
		return;
	emi_merging_start(&k, &t->job->by, t->slices, t->win, t->tree, &tie, recode);
	for (;;) {
		const size_t n = emi_merging_run(&k, made, EMI_TASK_OUT, &dry);
		size_t j;

		for (j = 0; j < n; j++) {
			const emi_frame f = emi_frame_of(m->v, made + j);

			put(m, frame_at(made + j), &f);
		}
		if (dry != EMI_NONE)
			refill(m, dry);
		if (m->damaged || (dry == EMI_NONE && n < EMI_TASK_OUT))
			return;
	}
}

void emi_merge_task_run_vary(merge_task *t)
{
	const uint64_t bytes = t->q->dest.text ? t->out : t->bytes;
	char *base =
		emi_outseq_take(t->q, t->index, (size_t)(t->q->dest.text ? bytes : emi_block_bytes(bytes)), t->out_pos);
	merging m;

	if (base == NULL)
		return;
	memset(&m, 0, sizeof m);
	m.t = t;
	m.v = t->job->by.vary;
	m.text = t->q->dest.text;
	m.depth = common_depth(&m);
	m.at = (unsigned char *)base;
	if (!m.text)
		emi_block_begin(&m.block, base, bytes);
	if (t->slices == 1)
		copy_slice(&m);
	else
		merge_slices(&m);
	if (m.damaged)
		return;
	if (!m.text)
		emi_block_end(&m.block);
	emi_outseq_full(t->q, t->index, m.text ? 0 : m.block.records);
}
