/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_ahead.c -- reading leaves of a B+-tree before a cursor comes to them; see btree.h.
 *
 * A leaf knows its neighbours, or nearly (emi_btree_prev()), so one can be read ahead by its links.  More of them are
 * in the node above, which is found by the key of a record.  Where all records of a leaf have the same key there may be
 * many such leaves, and looking for this one among them could take long: then one is enough.
 */
#include "container/btree.h"

#define ALONG_SHARE 4u          /* of the frames are for what a walk along all leaves wants next, ... */
#define ALONG_MOST 64u          /* ... and no more than so many */

static void hint(em_btree *t, uint64_t leaf)
{
	const em_bid bid = { 0, 0, leaf * t->leaves.bytes };

	emi_cache_hint(t->leaves.cache, bid);
}

/* Is it in memory, or on its way? */
static int is_there(const em_btree *t, uint64_t leaf)
{
	const em_bid bid = { 0, 0, leaf * t->leaves.bytes };

	return emi_cache_find(t->leaves.cache, bid) != EM_CACHE_NONE;
}

/* Do all records of a leaf have the key of the first? */
static int is_one_key(const em_btree *t, const emi_btree_pin *pin, const emi_btree_probe *first)
{
	return t->plan.duplicates &&
	       emi_collation_compare_to(&t->by, emi_btree_record(t, pin, pin->u.leaf->n - 1), first->head,
					first->val) == 0;
}

/* In the order of their numbers: then there are some side by side on the disk, that are read together. */
static void hint_all(em_btree *t, const uint64_t *leaf, uint32_t n)
{
	const int gathers = emi_store_gather(t->leaves.store);
	uint32_t i;

	for (i = 0; i < n; i++)
		hint(t, leaf[i]);
	if (gathers)
		emi_store_gathered(t->leaves.store);
}

/* To those that are sorted. */
static void add(uint64_t *leaf, uint32_t n, uint64_t id)
{
	for (; n != 0 && leaf[n - 1] > id; n--)
		leaf[n] = leaf[n - 1];
	leaf[n] = id;
}

void emi_btree_ahead(em_btree *t, const emi_btree_pin *pin, int forward, uint32_t n)
{
	const uint64_t beside = forward ? pin->u.leaf->next : pin->u.leaf->prev;
	uint64_t leaf[EMI_BTREE_AHEAD_MOST];
	uint32_t i, found = 0;
	int alone = n == 1 || pin->u.leaf->n == 0;
	emi_btree_probe first;
	emi_btree_path path;
	em_status st;

	if (beside == EMI_BTREE_NONE || n == 0)
		return;
	if (!alone) {
		first = emi_btree_probe_of(&t->by, emi_btree_record(t, pin, 0));
		alone = is_one_key(t, pin, &first) || emi_btree_compared(t, NULL) != EM_OK;
	}
	if (alone) {
		if (emi_btree_ids_used(&t->leaves.ids, beside))
			hint(t, beside);
		return;
	}
	st = emi_btree_path_to(t, &first, pin->id, &path, NULL);
	for (i = 0; i < n && i < EMI_BTREE_AHEAD_MOST && st == EM_OK; i++) {
		st = forward ? emi_btree_path_next(t, &path, NULL) : emi_btree_path_prev(t, &path, NULL);
		if (st == EM_OK && !is_there(t, path.id[0]))
			add(leaf, found++, path.id[0]);
	}
	hint_all(t, leaf, found);
}

void emi_btree_ahead_along(em_btree *t, const emi_btree_path *path)
{
	const uint32_t share = t->plan.leaf_frames / ALONG_SHARE, most = share < ALONG_MOST ? share : ALONG_MOST;
	const uint32_t child = path->child[1];
	emi_btree_pin pin = { 0 };
	uint32_t i;

	if (t->height == 0 || emi_btree_node_of(t, path->id[1], 1, EM_CACHE_READ, &pin, NULL) != EM_OK)
		return;
	/* At the first one, all; then one more each time. */
	for (i = child == 0 ? 1 : most; i <= most && i < pin.u.node->n - child; i++)
		hint(t, emi_btree_child_id(t, pin.u.node, child + i));
	emi_btree_unpin_node(t, &pin, 0);
}
