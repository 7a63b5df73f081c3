/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kway_window.c -- what a k-way merge has in hand of each source.
 *
 * Elements are loaded from the window of their source, or lie there.  In both cases the source has moved on by them,
 * and where the record of an element is follows from how many are left.
 */
#include "base/error.h"
#include "base/memory.h"
#include "sort/kway_impl.h"

static int is_element(const emi_codec *codec, const char *record)
{
	return codec->identity && (uintptr_t)record % codec->align == 0;
}

static void have(emi_kway *k, uint32_t i, const void *elems, size_t n)
{
	k->win[i].cur = elems;
	k->win[i].end = k->slot[i].stop = emi_kway_skip(k, elems, n);
}

em_status emi_kway_load(emi_kway *k, uint32_t i, const void *before, em_errinfo *err)
{
	const emi_codec *codec = k->by->codec;
	emi_kway_slot *slot = &k->slot[i];
	emi_sorted_source *source = slot->source;
	const em_status st = emi_sorted_next(source, err);
	size_t n;

	if (st != EM_OK)
		return st;
	n = (size_t)(source->end - source->at) / codec->record_bytes;
	if (n == 0)
		return emi_fail(err, EM_ERR_INTERNAL, "a sorted source lends %zu bytes, and records have %zu",
				(size_t)(source->end - source->at), codec->record_bytes);
	if (is_element(codec, source->at)) {
		have(k, i, source->at, n);
		source->at += n * codec->record_bytes;
		return EM_OK;
	}
	if (slot->elems == NULL)
		slot->elems = emi_alloc_array(k->ctx, k->opts.window, codec->elem_bytes, err);
	if (slot->elems == NULL)
		return err->status;
	n = n < k->opts.window ? n : k->opts.window;
	emi_collation_load(k->by, source->at, n, slot->elems);
	if (k->by->codes.n != 0)
		emi_codes_make(&k->by->codes, (emi_pair *)(void *)slot->elems, n, before);
	have(k, i, slot->elems, n);
	source->at += n * codec->record_bytes;
	return EM_OK;
}

const char *emi_kway_record(const emi_kway *k, uint32_t i)
{
	const size_t left = emi_kway_left(k, i);

	return left != 0 ? k->slot[i].source->at - left * k->by->codec->record_bytes : k->slot[i].source->at;
}

void emi_kway_renew(emi_kway *k, uint32_t i)
{
	emi_pair *first = (emi_pair *)(uintptr_t)k->win[i].cur;

	/* Its code is relative to the record before it, and has to be relative to none. */
	if (k->by->codes.n == 0)
		return;
	emi_collation_load(k->by, emi_kway_record(k, i), 1, first);
	emi_codes_make(&k->by->codes, first, 1, NULL);
}

/* Is an element before the bound? */
static int is_before(const emi_kway *k, const void *elem)
{
	const void *record = emi_elem_record(k->by->codec, elem);
	emi_pair e = { 0, 0 };
	int c;

	if (record != NULL) {
		c = emi_collation_compare_to(k->by, record, k->bound_key, k->bound_val);
	} else {
		const emi_pair b = { k->bound_key, k->bound_val };

		if (k->by->codec->elem == EMI_ELEM_U32)
			e.key = *(const uint32_t *)elem;
		else if (k->by->codec->elem == EMI_ELEM_U64)
			e.key = *(const uint64_t *)elem;
		else
			e = *(const emi_pair *)elem;
		c = emi_pair_compare(&k->by->tie, &e, &b);
	}
	return k->upto ? c <= 0 : c < 0;
}

void emi_kway_hold_bound(emi_kway *k, uint32_t i)
{
	size_t lo = 0, hi = emi_kway_open_left(k, i);

	if (!k->bounded)
		return;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (is_before(k, emi_kway_skip(k, k->win[i].cur, mid)))
			lo = mid + 1;
		else
			hi = mid;
	}
	k->win[i].end = emi_kway_skip(k, k->win[i].cur, lo);
}

size_t emi_kway_before_bound(const emi_kway *k, const char *records, size_t n)
{
	const size_t rb = k->by->codec->record_bytes;
	size_t lo = 0, hi = n;

	if (!k->bounded)
		return n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const int c = emi_collation_compare_to(k->by, records + mid * rb, k->bound_key, k->bound_val);

		if (k->upto ? c <= 0 : c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
