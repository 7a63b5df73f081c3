/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_ahead.c -- reading leaves of a B+-tree before a cursor comes to them; see btree.h.
 *
 * A leaf knows its neighbours, or nearly (emi_btree_prev()), so one can be read ahead by its links.  More of them are
 * in the node above, which is found by the key of a record.  Where all records of a leaf have the same key there may be
 * many such leaves, and looking for this one among them could take long: then one is enough.
 *
 * They are asked for some at a time, so that those that are side by side on a disk are one transfer.
 */
#include "container/btree.h"

#define ALONG_SHARE 4u          /* of the frames are for what a walk along all leaves wants next, ... */
#define ALONG_MOST 64u          /* ... and no more than so many; */
#define ALONG_STEPS 4u          /* when that part of them is missing there are more */

enum { TOGETHER = 64 };

/* Leaves that are wanted, to be read together. */
typedef struct wanted {
	em_btree *t;
	uint32_t n;
	em_bid bid[TOGETHER];
} wanted;

static void begin(wanted *w)
{
	emi_cache_hint_many(w->t->leaves.cache, w->bid, w->n);
	w->n = 0;
}

static void want(wanted *w, uint64_t leaf)
{
	const em_bid bid = { 0, 0, leaf * w->t->leaves.bytes };

	if (emi_cache_find(w->t->leaves.cache, bid) != EM_CACHE_NONE)
		return;
	if (w->n == TOGETHER)
		begin(w);
	w->bid[w->n++] = bid;
}

/* Do all records of a leaf have the key of the first? */
static int is_one_key(const em_btree *t, const emi_btree_pin *pin, const emi_btree_probe *first)
{
	return t->plan.duplicates &&
	       emi_collation_compare_to(&t->by, emi_btree_record(t, pin, pin->u.leaf->n - 1), first->head,
					first->val) == 0;
}

/* Those that come next, as the nodes have them. */
static void want_along(wanted *w, const emi_btree_pin *pin, int forward, uint32_t n)
{
	em_btree *t = w->t;
	const emi_btree_probe first = emi_btree_probe_of(&t->by, emi_btree_record(t, pin, 0));
	emi_btree_path path;
	em_status st;

	if (is_one_key(t, pin, &first) || emi_btree_compared(t, NULL) != EM_OK)
		return;
	st = emi_btree_path_to(t, &first, pin->id, &path, NULL);
	for (; n != 0 && st == EM_OK; n--) {
		st = forward ? emi_btree_path_next(t, &path, NULL) : emi_btree_path_prev(t, &path, NULL);
		if (st == EM_OK)
			want(w, path.id[0]);
	}
}

void emi_btree_ahead(em_btree *t, const emi_btree_pin *pin, int forward, uint32_t n)
{
	const uint64_t beside = forward ? pin->u.leaf->next : pin->u.leaf->prev;
	wanted w;

	if (beside == EMI_BTREE_NONE || n == 0)
		return;
	w.t = t;
	w.n = 0;
	if (n > 1 && pin->u.leaf->n != 0)
		want_along(&w, pin, forward, n);
	if (w.n == 0 && emi_btree_ids_used(&t->leaves.ids, beside))
		want(&w, beside);
	begin(&w);
}

void emi_btree_ahead_along(em_btree *t, const emi_btree_path *path)
{
	const uint32_t share = t->plan.leaf_frames / ALONG_SHARE, most = share < ALONG_MOST ? share : ALONG_MOST;
	const uint32_t child = path->child[1], step = most / ALONG_STEPS;
	emi_btree_pin pin = { 0 };
	wanted w;
	uint32_t i;

	if (t->height == 0 || (step > 1 && child % step != 0) ||
	    emi_btree_node_of(t, path->id[1], 1, EM_CACHE_READ, &pin, NULL) != EM_OK)
		return;
	w.t = t;
	w.n = 0;
	for (i = 1; i <= most && i < pin.u.node->n - child; i++)
		want(&w, emi_btree_child_id(t, pin.u.node, child + i));
	emi_btree_unpin_node(t, &pin, 0);
	begin(&w);
}
