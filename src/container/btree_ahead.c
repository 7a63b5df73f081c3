/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_ahead.c -- reading leaves of a B+-tree before a cursor comes to them; see btree.h.
 *
 * A leaf knows its neighbours, or nearly (emi_btree_prev()), so one can be read ahead by its links.  More of them are
 * in the node above, which is found by the key of a record.  Where all records of a leaf have the same key there may be
 * many such leaves, and looking for this one among them could take long: then one is enough.
 */
#include "container/btree.h"

#define AHEAD_SHARE 16u         /* of the frames: leaves that are read ahead, to be there when they are wanted, ... */
#define AHEAD_EACH 120u         /* ... and so many at most for each disk, ... */
/* ... but before one was passed no more than so many: requests that are under way together end together, and nothing
 * can be looked at before. */
#define AHEAD_FIRST 64u
#define RANGE_LEAST 16u         /* so many leaves are a range */
#define ALL_SHARE 4u            /* who has passed this part of the frames is taken to pass very many leaves */
#define ALONG_SHARE 4u          /* of the frames are for what a walk along all leaves wants next, ... */
#define ALONG_MOST 64u          /* ... and no more than so many */

static em_bid bid_of(const em_btree *t, uint64_t leaf)
{
	const em_bid bid = { 0, 0, leaf * t->leaves.bytes };

	return bid;
}

static void hint(em_btree *t, uint64_t leaf)
{
	emi_cache_hint(t->leaves.cache, bid_of(t, leaf));
}

/* One that a leaf knows. */
static void hint_used(em_btree *t, uint64_t leaf)
{
	if (emi_btree_ids_used(&t->leaves.ids, leaf))
		hint(t, leaf);
}

/* Do all records of a leaf have the key of the first? */
static int is_one_key(const em_btree *t, const emi_btree_pin *pin, const emi_btree_probe *first)
{
	return t->plan.duplicates && emi_collation_compare_to(&t->by, emi_btree_record(t, pin, pin->u.leaf->n - 1),
							      first->head, first->val) == 0;
}

void emi_btree_list_add(const em_btree *t, emi_btree_list *l, uint64_t leaf)
{
	const em_bid bid = bid_of(t, leaf);
	uint32_t i;

	for (i = l->n++; i != 0 && l->bid[i - 1].offset > bid.offset; i--)
		l->bid[i] = l->bid[i - 1];
	l->bid[i] = bid;
}

void emi_btree_list_read(em_btree *t, const emi_btree_list *l, emi_cache_part part)
{
	emi_cache_hint_many(t->leaves.cache, l->bid, l->n, part);
}

/* n that are beside the one that a path leads to, as many as there are and as there is room for. */
static void add_beside(em_btree *t, emi_btree_list *l, emi_btree_path *path, int forward, uint32_t n)
{
	for (; n != 0 && l->n < EMI_BTREE_AHEAD_MOST; n--) {
		if ((forward ? emi_btree_path_next(t, path, NULL) : emi_btree_path_prev(t, path, NULL)) != EM_OK)
			return;
		emi_btree_list_add(t, l, path->id[0]);
	}
}

uint32_t emi_btree_ahead_most(const em_btree *t, uint32_t passed)
{
	const uint32_t disks = emi_store_disks(t->leaves.store), share = t->plan.leaf_frames / AHEAD_SHARE;
	const uint64_t each = (uint64_t)(passed == 0 ? AHEAD_FIRST : AHEAD_EACH) * disks;
	const uint32_t most = each < EMI_BTREE_AHEAD_MOST ? (uint32_t)each : EMI_BTREE_AHEAD_MOST;

	if (share == 0)
		return 1;
	return share < most ? share : most;
}

emi_cache_part emi_btree_ahead_part(const em_btree *t, uint32_t passed, uint64_t leaves)
{
	if (passed > t->plan.leaf_frames / ALL_SHARE)
		return EMI_PART_OF_ALL;
	return passed + leaves >= RANGE_LEAST ? EMI_PART_OF_RANGE : EMI_PART_OF_FEW;
}

void emi_btree_ahead(em_btree *t, const emi_btree_pin *pin, int forward, uint32_t n, emi_cache_part part)
{
	const uint64_t beside = forward ? pin->u.leaf->next : pin->u.leaf->prev;
	emi_btree_probe first;
	emi_btree_path path;
	emi_btree_list l;

	if (beside == EMI_BTREE_NONE || n == 0)
		return;
	if (n == 1 || pin->u.leaf->n == 0) {
		hint_used(t, beside);
		return;
	}
	first = emi_btree_probe_of(&t->by, emi_btree_record(t, pin, 0));
	if (is_one_key(t, pin, &first) || emi_btree_compared(t, NULL) != EM_OK) {
		hint_used(t, beside);
		return;
	}
	l.n = 0;
	if (emi_btree_path_to(t, &first, pin->id, &path, NULL) == EM_OK)
		add_beside(t, &l, &path, forward, n);
	emi_btree_list_read(t, &l, part);
}

void emi_btree_ahead_from(em_btree *t, const emi_btree_probe *probe, uint32_t n, emi_cache_part part)
{
	emi_btree_path path;
	emi_btree_list l;

	if (t->height == 0 || emi_btree_path_of(t, probe, &path, NULL) != EM_OK)
		return;
	l.n = 0;
	emi_btree_list_add(t, &l, path.id[0]);
	add_beside(t, &l, &path, 1, n);
	emi_btree_list_read(t, &l, part);
}

void emi_btree_ahead_along(em_btree *t, const emi_btree_path *path)
{
	const uint32_t share = t->plan.leaf_frames / ALONG_SHARE, most = share < ALONG_MOST ? share : ALONG_MOST;
	const uint32_t child = path->child[1];
	emi_btree_pin pin = {0};
	uint32_t i;

	if (t->height == 0 || emi_btree_node_of(t, path->id[1], 1, EM_CACHE_READ, &pin, NULL) != EM_OK)
		return;
	/* At the first one, all; then one more each time. */
	for (i = child == 0 ? 1 : most; i <= most && i < pin.u.node->n - child; i++)
		hint(t, emi_btree_child_id(t, pin.u.node, child + i));
	emi_btree_unpin_node(t, &pin, 0);
}
