/* SPDX-License-Identifier: BSL-1.0 */
/* merge_cut_vary.c -- cutting blocks of records of any length: a binary search among the marks, and a few steps from
 * there. */
#include "sort/block_vary.h"
#include "sort/merge_cut.h"

static int begin(const emi_collation *by, emi_merge_input *in)
{
	const char *base = in->block->buf;

	if (!emi_block_sound(base, in->block->hint.data, by->vary))
		return 0;
	in->base = base;
	in->at = (const char *)emi_block_first(base);
	in->left = (size_t)emi_block_frames(base);
	in->out = 0;
	in->damaged = 0;
	return 1;
}

/* Is there a frame at that place of the block? */
static int has_frame(const emi_collation *by, emi_merge_input *in, const char *at)
{
	const unsigned char *end = (const unsigned char *)in->base + emi_block_get_head(in->base)->end;
	emi_frame f;

	if (emi_frame_get_within(by->vary, (const unsigned char *)at, end, &f))
		return 1;
	in->damaged = 1;
	return 0;
}

/* Where the records go on that a search has come to: their place, and the output bytes before it. */
typedef struct place {
	const char *at;
	uint64_t out;
} place;

/* From a frame to the one behind it, or to the end of the block: 0 if there is neither. */
static int step(const emi_collation *by, emi_merge_input *in, const emi_vary *v, place *p)
{
	const emi_frame f = emi_frame_get(v, (const unsigned char *)p->at);

	p->at = (const char *)emi_frame_end(&f);
	p->out += f.bytes + in->out_extra;
	return p->at == in->at + in->left || has_frame(by, in, p->at);
}

/* The last record up to so many bytes behind the front one. */
static const char *step_ahead(const emi_collation *by, emi_merge_input *in, size_t s)
{
	const char *last = in->at;
	place p = { in->at, in->out };

	while (step(by, in, by->vary, &p) && p.at < in->at + in->left && (size_t)(p.at - in->at) <= s)
		last = p.at;
	return last;
}

/* With few records a run, as in a merge of many runs in little memory, no mark is within reach: then frame by frame. */
static const char *ahead(const emi_collation *by, emi_merge_input *in, size_t s)
{
	const char *base = in->base;
	const emi_block_mark *mark = emi_block_marks(base);
	const uint64_t here = (uint64_t)(in->at - base), limit = here + s;
	uint32_t lo = 0, hi = emi_block_get_head(base)->marks;

	/* The last mark up to the limit: the first of the block is always one. */
	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (mark[mid].at <= limit)
			lo = mid;
		else
			hi = mid;
	}
	if (mark[lo].at <= here)
		return s != 0 ? step_ahead(by, in, s) : in->at;
	return has_frame(by, in, base + mark[lo].at) ? base + mark[lo].at : in->at;
}

/* The last mark behind `from' and not behind `last' whose record is before the bound, or from itself. */
static place search_marks(const emi_collation *by, emi_merge_input *in, uint32_t i, const emi_bound *b,
			  const char *last)
{
	const char *base = in->base;
	const emi_block_mark *mark = emi_block_marks(base);
	uint32_t lo = 0, hi = emi_block_get_head(base)->marks;
	place p = { in->at, in->out };

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const char *at = base + mark[mid].at;

		if (at <= in->at) {
			lo = mid + 1;
		} else if (at <= last && has_frame(by, in, at) && emi_is_before(by, at, i, b)) {
			p.at = at;
			p.out = mark[mid].out;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return p;
}

/* As search_marks(), for the run that the bound is of: the last mark not behind the bound. */
static place last_mark(const emi_collation *by, emi_merge_input *in, const char *last)
{
	const char *base = in->base;
	const emi_block_mark *mark = emi_block_marks(base);
	uint32_t lo = 0, hi = emi_block_get_head(base)->marks;
	place p = { in->at, in->out };

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (base + mark[mid].at <= last)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo != 0 && base + mark[lo - 1].at > in->at && has_frame(by, in, base + mark[lo - 1].at)) {
		p.at = base + mark[lo - 1].at;
		p.out = mark[lo - 1].out;
	}
	return p;
}

static emi_slice cut(const emi_collation *by, emi_merge_input *in, uint32_t i, const emi_bound *b, const char *last)
{
	const emi_vary *v = by->vary;
	emi_slice s = { in->at, 0, 0, NULL, in->block };
	place p;

	if (i == b->run) {
		p = last_mark(by, in, last);
		while (p.at <= last && step(by, in, v, &p))
			;
	} else {
		p = search_marks(by, in, i, b, last);
		while (step(by, in, v, &p) && p.at <= last && emi_is_before(by, p.at, i, b))
			;
	}
	/* What marks say of the output must be what the frames before them take. */
	if (p.out < in->out || p.out > emi_block_get_head(in->base)->out)
		in->damaged = 1;
	s.bytes = (size_t)(p.at - in->at);
	s.out = p.out - in->out;
	return s;
}

static emi_slice rest(const emi_collation *by, const emi_merge_input *in)
{
	const emi_slice s = { in->at, in->left, emi_block_get_head(in->base)->out - in->out, NULL, in->block };

	(void)by;
	return s;
}

const emi_cutter emi_cut_vary = { begin, ahead, cut, rest };
