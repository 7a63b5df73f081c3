/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_share.c -- keeping the blocks of a B+-tree filled: what is lean, and is about to lose something, gets some from
 * a neighbour, or becomes one with it; see btree.h.
 *
 * The neighbour is one below the same parent.  Going down, each node on the way that is lean is dealt with before it is
 * entered, so it may lose a child.  As that changes the way, it is looked for anew then; this is rare, as a node that
 * was shared is not lean for a good while.
 */
#include <string.h>

#include "base/memory.h"
#include "container/btree.h"

/* A root with one child, which is a node, becomes that. */
static em_status lower_root(em_btree *t, em_errinfo *err)
{
	const emi_btree_node *root = t->root;
	emi_btree_pin pin = { 0 };
	em_status st = emi_btree_node_of(t, emi_node_children(root)[0], t->height - 1, EM_CACHE_READ, &pin, err);

	if (st != EM_OK)
		return st;
	memcpy(t->root, pin.u.node, t->plan.node_bytes);
	t->height--;
	emi_btree_drop_node(t, &pin);
	return EM_OK;
}

/* A root with one child, which is a leaf, becomes that, in memory. */
static em_status uproot(em_btree *t, em_errinfo *err)
{
	const emi_btree_node *root = t->root;
	emi_btree_pin pin = { 0 };
	emi_leaf_place from, to;
	void *leaf;
	em_status st = emi_btree_leaf(t, emi_node_children(root)[0], EM_CACHE_READ, &pin, err);

	if (st != EM_OK)
		return st;
	leaf = emi_buffer_alloc(t->object.ctx, t->plan.leaf_bytes, err);
	if (leaf == NULL) {
		emi_btree_unpin_leaf(t, &pin, 0);
		return err->status;
	}
	from = emi_btree_place(t, &pin);
	to = emi_btree_leaf_in(t, leaf, t->plan.leaf_bytes);
	t->form.kind->init(&t->form, to);
	t->form.kind->copy(&t->form, from, 0, from.leaf->n, to.leaf + 1);
	to.leaf->n = from.leaf->n;
	emi_btree_cursors_head(t, pin.id, UINT32_MAX, EMI_BTREE_ROOT, 0);
	emi_btree_set_root(t, leaf, to.bytes);
	emi_btree_drop_leaf(t, &pin);
	t->height = 0;
	t->first = t->last = EMI_BTREE_ROOT;
	return EM_OK;
}

/* Children i and i + 1 of a node, of which one is lean, are nodes. */
static em_status share_nodes(em_btree *t, emi_btree_node *parent, uint32_t i, em_errinfo *err)
{
	emi_btree_pin left = { 0 }, right = { 0 };
	const uint32_t level = parent->level - 1;
	em_status st = emi_btree_node_of(t, emi_node_children(parent)[i], level, EM_CACHE_WRITE, &left, err);
	uint32_t n;

	if (st == EM_OK)
		st = emi_btree_node_of(t, emi_node_children(parent)[i + 1], level, EM_CACHE_WRITE, &right, err);
	if (st != EM_OK)
		goto out;
	n = emi_node_shares(&t->plan, left.u.node, right.u.node);
	if (n == left.u.node->n + right.u.node->n) {
		emi_node_share(&t->plan, parent, i, left.u.node, right.u.node, n);
		emi_node_remove(&t->plan, parent, i);
		emi_btree_drop_node(t, &right);
		t->fusions++;
	} else {
		emi_node_share(&t->plan, parent, i, left.u.node, right.u.node, n);
		t->shares++;
	}
out:
	emi_btree_unpin_node(t, &left, st == EM_OK);
	emi_btree_unpin_node(t, &right, st == EM_OK);
	return st;
}

/* Two leaves beside each other. */
typedef struct neighbours {
	emi_btree_pin left, right;
	emi_btree_separator s;
	uint32_t n;             /* records that the left one is to have */
} neighbours;

/* The right one is no more. */
static void fuse(em_btree *t, emi_btree_node *parent, uint32_t i, neighbours *w)
{
	const uint32_t had = w->left.u.leaf->n;

	w->left.u.leaf->next = w->right.u.leaf->next;
	if (w->left.u.leaf->next == EMI_BTREE_NONE)
		t->last = w->left.id;
	t->form.kind->share(&t->form, emi_btree_place(t, &w->left), emi_btree_place(t, &w->right), w->n, t->tmp);
	emi_btree_cursors_head(t, w->right.id, UINT32_MAX, w->left.id, had);
	emi_node_remove(&t->plan, parent, i);
	emi_btree_drop_leaf(t, &w->right);
	t->fusions++;
}

/* Both have about as much. */
static void even(em_btree *t, emi_btree_node *parent, uint32_t i, neighbours *w)
{
	const uint32_t had = w->left.u.leaf->n;

	if (w->n > had) {
		emi_btree_cursors_head(t, w->right.id, w->n - had, w->left.id, had);
	} else {
		emi_btree_cursors_shift(t, w->right.id, had - w->n);
		emi_btree_cursors_tail(t, w->left.id, w->n, w->right.id);
	}
	t->form.kind->share(&t->form, emi_btree_place(t, &w->left), emi_btree_place(t, &w->right), w->n, t->tmp);
	emi_node_set(&t->plan, parent, i, w->s);
	t->shares++;
}

/* All that may fail. */
static em_status prepare(em_btree *t, const emi_btree_node *parent, uint32_t i, neighbours *w, em_errinfo *err)
{
	em_status st = emi_btree_leaf(t, emi_node_children(parent)[i], EM_CACHE_WRITE, &w->left, err);
	uint32_t had;
	const char *first;

	if (st == EM_OK)
		st = emi_btree_leaf(t, emi_node_children(parent)[i + 1], EM_CACHE_WRITE, &w->right, err);
	if (st != EM_OK)
		return st;
	had = w->left.u.leaf->n;
	w->n = t->form.kind->shares(&t->form, emi_btree_place(t, &w->left), emi_btree_place(t, &w->right));
	if (w->n == had + w->right.u.leaf->n)
		return EM_OK;
	first = w->n >= had ? emi_btree_record(t, &w->right, w->n - had) : emi_btree_record(t, &w->left, w->n);
	memcpy(t->key, first, t->plan.key);
	w->s.head = emi_collation_key(&t->by, first);
	w->s.key = t->key;
	return emi_btree_compared(t, err);
}

/* Children i and i + 1 of a node, of which one is lean, are leaves. */
static em_status share_leaves(em_btree *t, emi_btree_node *parent, uint32_t i, em_errinfo *err)
{
	neighbours w;
	em_status st;

	memset(&w, 0, sizeof w);
	st = prepare(t, parent, i, &w, err);
	if (st == EM_OK) {
		if (w.n == w.left.u.leaf->n + w.right.u.leaf->n)
			fuse(t, parent, i, &w);
		else
			even(t, parent, i, &w);
	}
	emi_btree_unpin_leaf(t, &w.left, st == EM_OK);
	emi_btree_unpin_leaf(t, &w.right, st == EM_OK);
	return st;
}

/* Is the child on the way, below the node of that level, lean? */
static em_status look(em_btree *t, const emi_btree_path *path, uint32_t level, int *lean, em_errinfo *err)
{
	emi_btree_pin pin = { 0 };
	em_status st;

	if (level > 1) {
		st = emi_btree_node_of(t, path->id[level - 1], level - 1, EM_CACHE_READ, &pin, err);
		*lean = st == EM_OK && pin.u.node->n <= t->plan.fan_least;
		emi_btree_unpin_node(t, &pin, 0);
		return st;
	}
	st = emi_btree_leaf(t, path->id[0], EM_CACHE_READ, &pin, err);
	*lean = st == EM_OK && t->form.kind->lean(&t->form, emi_btree_place(t, &pin));
	emi_btree_unpin_leaf(t, &pin, 0);
	return st;
}

/* The first one on the way that is lean, of the levels from `least' on, is shared: *shared is its level and 1, or 0 if
 * there is none. */
static em_status share_one(em_btree *t, const emi_btree_path *path, uint32_t least, uint32_t *shared, em_errinfo *err)
{
	uint32_t level;

	*shared = 0;
	for (level = t->height; level > least; level--) {
		emi_btree_pin pin = { 0 };
		uint32_t i = path->child[level];
		int lean;
		em_status st = look(t, path, level, &lean, err);

		if (st == EM_OK && lean)
			st = emi_btree_node_of(t, path->id[level], level, EM_CACHE_WRITE, &pin, err);
		if (st != EM_OK)
			return st;
		if (!lean)
			continue;
		/* It has a neighbour, as a node that is entered has more than one child. */
		i -= i != 0;
		st = level > 1 ? share_nodes(t, pin.u.node, i, err) : share_leaves(t, pin.u.node, i, err);
		emi_btree_unpin_node(t, &pin, st == EM_OK);
		*shared = level;
		return st;
	}
	return EM_OK;
}

/* That of the nodes on the way; least is 0: and of the leaf. */
static em_status unlean(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, uint32_t least, em_errinfo *err)
{
	em_status st = emi_btree_have_tmp(t, err);
	uint32_t shared = 2;

	/* When leaves were shared this one may be no more. */
	while (st == EM_OK && shared > 1 && t->height != 0) {
		emi_btree_path path;

		if (((const emi_btree_node *)t->root)->n == 1) {
			st = t->height > 1 ? lower_root(t, err) : uproot(t, err);
			continue;
		}
		st = emi_btree_path_to(t, probe, leaf, &path, err);
		if (st == EM_OK)
			st = share_one(t, &path, least, &shared, err);
	}
	return st;
}

em_status emi_btree_unlean(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, em_errinfo *err)
{
	return unlean(t, probe, leaf, 0, err);
}

em_status emi_btree_unlean_nodes(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, em_errinfo *err)
{
	return unlean(t, probe, leaf, 1, err);
}
