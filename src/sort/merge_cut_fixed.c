/* SPDX-License-Identifier: BSL-1.0 */
/* merge_cut_fixed.c -- cutting blocks of records of one size: a binary search. */
#include "sort/merge_cut.h"

static int begin(const emi_collation *by, emi_merge_input *in)
{
	in->at = in->block->buf;
	in->left = in->block->hint.data;
	return in->left % by->codec->record_bytes == 0;
}

static const char *ahead(const emi_collation *by, emi_merge_input *in, size_t s)
{
	size_t rb = by->codec->record_bytes, n = s < in->left ? s / rb : in->left / rb;

	return in->at + (n != 0 ? n - 1 : 0) * rb;
}

static emi_slice slice(const emi_merge_input *in, size_t bytes)
{
	emi_slice s = { in->at, bytes, 0, NULL, in->block };

	return s;
}

static emi_slice cut(const emi_collation *by, emi_merge_input *in, uint32_t i, const emi_bound *b, const char *last)
{
	size_t rb = by->codec->record_bytes, lo = 0, hi = (size_t)(last - in->at) / rb + 1;

	if (i == b->run)
		return slice(in, hi * rb);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (emi_is_before(by, in->at + mid * rb, i, b))
			lo = mid + 1;
		else
			hi = mid;
	}
	return slice(in, lo * rb);
}

static emi_slice rest(const emi_collation *by, const emi_merge_input *in)
{
	(void)by;
	return slice(in, in->left);
}

const emi_cutter emi_cut_fixed = { begin, ahead, cut, rest };
