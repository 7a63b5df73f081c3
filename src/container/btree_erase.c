/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_erase.c -- taking leaves out of a B+-tree as a whole, where all their records go; see btree.h.
 *
 * How many records those are is known by the leaves only, so each is read, some ahead of the others.  It is not
 * written: its place is given back, and one more child of the node above is gone.  The leaf before it has a new link.
 *
 * Each leaf is a step that is whole.  Nodes on the way to it that are lean are dealt with before, and then nothing can
 * fail any more.
 *
 * Cursors on its records stand in a gap then, which is in that leaf to which a record with such a key would go: the one
 * before, or, if the leaf was the first below its node, the one behind.
 */
#include <string.h>

#include "container/btree.h"

enum { AHEAD = 8 };

/* A leaf that is to go, pinned, and what is beside it. */
typedef struct going {
	emi_btree_pin leaf;
	emi_btree_pin before;   /* none: it is the first */
	emi_btree_pin parent;
	uint32_t i;             /* which child it is */
} going;

static void unpin(em_btree *t, going *g, int dirty)
{
	emi_btree_unpin_leaf(t, &g->leaf, 0);
	emi_btree_unpin_leaf(t, &g->before, dirty);
	emi_btree_unpin_node(t, &g->parent, dirty);
}

/* Its cursors go to another leaf, behind all or before all. */
static void move_cursors(em_btree *t, const going *g)
{
	const uint64_t other = g->i != 0 ? g->before.id : g->leaf.u.leaf->next;
	const uint32_t slot = g->i != 0 ? g->before.u.leaf->n : 0;
	uint32_t i;

	if (t->cursors.n == 0)
		return;
	for (i = 0; i < g->leaf.u.leaf->n; i++)
		emi_btree_cursors_erase(t, g->leaf.id, 0, emi_btree_record(t, &g->leaf, i));
	emi_btree_cursors_head(t, g->leaf.id, UINT32_MAX, other, slot);
}

/* Nothing of that fails. */
static void take_leaf(em_btree *t, going *g)
{
	emi_btree_node *parent = g->parent.u.node;

	move_cursors(t, g);
	if (g->before.u.at != NULL)
		g->before.u.leaf->next = g->leaf.u.leaf->next;
	if (g->leaf.id == t->first)
		t->first = g->leaf.u.leaf->next;
	if (g->leaf.id == t->last)
		t->last = g->before.id;
	if (g->i == 0)
		emi_node_children(parent)[0] = emi_node_children(parent)[1];
	emi_node_remove(&t->plan, parent, g->i != 0 ? g->i - 1 : 0);
	t->n -= g->leaf.u.leaf->n;
	emi_btree_drop_leaf(t, &g->leaf);
}

/* All that may fail.  EM_NOT_FOUND: it is the only child there is, and cannot go. */
static em_status prepare(em_btree *t, const emi_btree_probe *first, uint64_t leaf, going *g, em_errinfo *err)
{
	emi_btree_path path;
	uint64_t before = EMI_BTREE_NONE;
	em_status st = emi_btree_unlean_nodes(t, first, leaf, err);

	if (st == EM_OK && t->height == 0)
		return EM_NOT_FOUND;
	if (st == EM_OK)
		st = emi_btree_path_to(t, first, leaf, &path, err);
	if (st == EM_OK)
		st = emi_btree_node_of(t, path.id[1], 1, EM_CACHE_WRITE, &g->parent, err);
	if (st != EM_OK)
		return st;
	g->i = path.child[1];
	if (g->parent.u.node->n < 2)
		return EM_NOT_FOUND;
	if (g->i != 0)
		before = emi_node_children(g->parent.u.node)[g->i - 1];
	st = emi_btree_leaf(t, leaf, EM_CACHE_READ, &g->leaf, err);
	if (st == EM_OK && g->i == 0)
		st = emi_btree_prev(t, &g->leaf, &before, err);
	if (st == EM_OK && before != EMI_BTREE_NONE)
		st = emi_btree_leaf(t, before, EM_CACHE_WRITE, &g->before, err);
	return st;
}

/* The first leaf that has no record before `from': its number, and the key of its first record at t->key.
 * EM_NOT_FOUND: there is none, or it has some that are behind the range. */
static em_status find_whole(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
			    uint64_t *leaf, uint32_t *n, em_errinfo *err)
{
	emi_btree_spot spot;
	em_status st = emi_btree_find_from(t, from, EM_CACHE_READ, &spot, err);
	int whole = 1;

	if (st == EM_OK && spot.slot != 0) {
		const uint64_t next = spot.pin.u.leaf->next;

		emi_btree_unpin_leaf(t, &spot.pin, 0);
		st = next != EMI_BTREE_NONE ? emi_btree_leaf(t, next, EM_CACHE_READ, &spot.pin, err) : EM_NOT_FOUND;
	}
	if (st != EM_OK)
		return st;
	*leaf = spot.pin.id;
	*n = spot.pin.u.leaf->n;
	if (to != NULL)
		whole = t->form.kind->search(&t->form, emi_btree_place(t, &spot.pin), to, through) == *n;
	st = emi_btree_compared(t, err);
	if (st == EM_OK)
		memcpy(t->key, emi_btree_record(t, &spot.pin, 0), t->plan.key);
	if (st == EM_OK && whole)
		emi_btree_ahead(t, &spot.pin, 1, AHEAD, 0);
	emi_btree_unpin_leaf(t, &spot.pin, 0);
	return st == EM_OK && !whole ? EM_NOT_FOUND : st;
}

em_status emi_btree_erase_leaves(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
				 uint64_t *erased, em_errinfo *err)
{
	em_status st = t->height != 0 ? emi_btree_have_tmp(t, err) : EM_NOT_FOUND;

	while (st == EM_OK && t->height != 0) {
		emi_btree_probe first;
		uint64_t leaf;
		uint32_t n;
		going g;

		memset(&g, 0, sizeof g);
		g.before.id = EMI_BTREE_NONE;
		st = find_whole(t, from, to, through, &leaf, &n, err);
		if (st != EM_OK || leaf == EMI_BTREE_ROOT)
			break;
		first = emi_btree_probe_of(&t->by, t->key);
		st = prepare(t, &first, leaf, &g, err);
		if (st == EM_OK) {
			take_leaf(t, &g);
			*erased += n;
		}
		unpin(t, &g, st == EM_OK);
	}
	return st == EM_NOT_FOUND ? EM_OK : st;
}
