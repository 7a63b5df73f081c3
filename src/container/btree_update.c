/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_update.c -- changing a B+-tree by many records in its order; see btree.h.
 *
 * Records that are sorted come to one leaf after the other, so each is read and written once.  They are taken by
 * windows, of as many as go to a number of leaves; and before those of one are inserted, or taken out, the leaves of
 * the next begin to be read.
 */
#include <string.h>

#include "container/btree.h"

enum { LEAVES_MOST = 32, LEAVES_SHARE = 32 };

/* Hint at the leaves of the next records; returns the end of the window. */
static size_t look_ahead(em_btree *t, const char *records, size_t from, size_t n)
{
	const uint32_t share = t->plan.leaf_frames / LEAVES_SHARE;
	const uint32_t most = share < LEAVES_MOST ? share + (share == 0) : LEAVES_MOST;
	uint64_t last = EMI_BTREE_NONE;
	uint32_t leaves = 0;

	for (; from < n && t->height != 0; from++) {
		emi_btree_probe probe;
		em_bid bid = { 0, 0, 0 };
		uint64_t leaf;

		/* What fails here fails again where it is told. */
		if (emi_btree_probe_key(t, records + from * t->plan.record, 0, &probe, NULL) != EM_OK ||
		    emi_btree_way(t, &probe, 0, &leaf, NULL) != EM_OK || emi_btree_compared(t, NULL) != EM_OK)
			return n;
		if (leaf == last)
			continue;
		if (leaves++ == most)
			return from;
		last = leaf;
		bid.offset = leaf * t->leaves.bytes;
		emi_cache_hint(t->leaves.cache, bid);
	}
	return n;
}

static em_status apply(em_btree *t, const char *record, emi_btree_update_kind kind, em_errinfo *err)
{
	emi_btree_probe probe;
	em_status st;

	if (kind != EMI_BTREE_ERASE)
		return emi_btree_insert(t, record, kind == EMI_BTREE_UPSERT, NULL, err);
	st = emi_btree_probe_key(t, record, 0, &probe, err);
	return st == EM_OK ? emi_btree_erase(t, &probe, NULL, err) : st;
}

em_status emi_btree_update(em_btree *t, const char *records, size_t n, emi_btree_update_kind kind, uint64_t *changed,
			   em_errinfo *err)
{
	size_t i = 0, end = look_ahead(t, records, 0, n);

	while (i < n) {
		const size_t next = end < n ? look_ahead(t, records, end, n) : n;

		for (; i < end; i++) {
			const em_status st = apply(t, records + i * t->plan.record, kind, err);

			if (st < EM_OK)
				return st;
			*changed += st == EM_OK;
		}
		end = next;
	}
	return EM_OK;
}
