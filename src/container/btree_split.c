/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_split.c -- making room in a B+-tree: leaves and nodes that are full are split on the way down; see btree.h.
 *
 * A node that is entered has room for one more child.  So a split changes a block, its new neighbour and their parent,
 * and of leaves the links of the one behind.
 *
 * A leaf is cut in the middle, unless the record goes behind all others of it: then nearly all stay.  Where some came
 * in order before it, those that are behind it go, and it stays, so that more can follow it.  So leaves that are filled
 * in ascending order are full, wherever in the tree that is.
 */
#include <string.h>

#include "base/memory.h"
#include "container/btree.h"

#define ROOT_LEAST 1024u        /* bytes of the first root */

static void *new_root(em_btree *t, size_t bytes, em_errinfo *err)
{
	return emi_buffer_alloc(t->object.ctx, bytes, err);
}

em_status emi_btree_begin(em_btree *t, em_errinfo *err)
{
	size_t bytes = ROOT_LEAST;
	emi_leaf_place p;
	void *root;

	while (bytes < t->plan.leaf_bytes && emi_leaf_most(bytes, t->plan.record) < EMI_LEAF_LEAST)
		bytes *= 2;
	bytes = bytes < t->plan.leaf_bytes ? bytes : t->plan.leaf_bytes;
	root = new_root(t, bytes, err);
	if (root == NULL)
		return err->status;
	p = emi_btree_leaf_in(t, root, bytes);
	t->form.kind->init(&t->form, p);
	emi_btree_set_root(t, root, bytes);
	t->first = t->last = EMI_BTREE_ROOT;
	return EM_OK;
}

/* A copy of a leaf elsewhere, where there is room for its records. */
static void copy_leaf(em_btree *t, emi_leaf_place from, emi_leaf_place to)
{
	t->form.kind->init(&t->form, to);
	t->form.kind->copy(&t->form, from, 0, from.leaf->n, to.leaf + 1);
	to.leaf->n = from.leaf->n;
}

/* The root is a leaf, and is to be larger. */
static em_status grow_root(em_btree *t, em_errinfo *err)
{
	const size_t bytes = 2 * t->root_bytes < t->plan.leaf_bytes ? 2 * t->root_bytes : t->plan.leaf_bytes;
	void *root = new_root(t, bytes, err);

	if (root == NULL)
		return err->status;
	copy_leaf(t, emi_btree_leaf_in(t, t->root, t->root_bytes), emi_btree_leaf_in(t, root, bytes));
	emi_btree_set_root(t, root, bytes);
	return EM_OK;
}

/* The root is a leaf, and becomes a block below another one, which is its parent. */
static em_status plant(em_btree *t, em_errinfo *err)
{
	const emi_leaf_place from = emi_btree_leaf_in(t, t->root, t->root_bytes);
	emi_btree_node *root = new_root(t, t->plan.node_bytes, err);
	emi_btree_pin pin = { 0 };
	em_status st;

	if (root == NULL)
		return err->status;
	st = emi_btree_new_leaf(t, &pin, err);
	if (st != EM_OK) {
		emi_buffer_free(t->object.ctx, root, t->plan.node_bytes);
		return st;
	}
	copy_leaf(t, from, emi_btree_place(t, &pin));
	emi_node_init(root, 1, pin.id);
	emi_btree_cursors_head(t, EMI_BTREE_ROOT, UINT32_MAX, pin.id, 0);
	emi_btree_set_root(t, root, t->plan.node_bytes);
	t->height = 1;
	t->first = t->last = pin.id;
	emi_btree_unpin_leaf(t, &pin, 1);
	return EM_OK;
}

/* The root is a node that is full, and becomes a block below another one. */
static em_status raise_root(em_btree *t, em_errinfo *err)
{
	emi_btree_pin pin = { 0 };
	em_status st;

	if (t->height == EMI_BTREE_HEIGHT_MOST)
		return emi_fail(err, EM_ERR_RANGE, "the tree is too high");
	st = emi_btree_new_node(t, &pin, err);
	if (st != EM_OK)
		return st;
	memcpy(pin.u.node, t->root, t->plan.node_bytes);
	t->height++;
	emi_node_init(t->root, t->height, pin.id);
	emi_btree_unpin_node(t, &pin, 1);
	return EM_OK;
}

/* Child i of a parent that has room, a node, is full. */
static em_status split_node(em_btree *t, emi_btree_node *parent, uint32_t i, emi_btree_pin *left, em_errinfo *err)
{
	emi_btree_separator s;
	emi_btree_pin right = { 0 };
	const em_status st = emi_btree_new_node(t, &right, err);

	if (st != EM_OK)
		return st;
	emi_node_split(&t->plan, left->u.node, right.u.node, left->u.node->n / 2, &s, t->key);
	emi_node_insert(&t->plan, parent, i, s, right.id);
	emi_btree_unpin_node(t, &right, 1);
	t->splits++;
	return EM_OK;
}

/* What a split of a leaf needs. */
typedef struct leaf_split {
	emi_btree_pin left, right, next;
	emi_btree_separator s;
	uint32_t cut;
} leaf_split;

static void unpin_split(em_btree *t, leaf_split *w, int dirty)
{
	emi_btree_unpin_leaf(t, &w->left, dirty);
	emi_btree_unpin_leaf(t, &w->right, dirty);
	emi_btree_unpin_leaf(t, &w->next, dirty);
}

/* All that may fail. */
static em_status prepare(em_btree *t, leaf_split *w, uint32_t slot, em_errinfo *err)
{
	const uint64_t next = w->left.u.leaf->next;
	const char *first;
	em_status st = EM_OK;

	w->cut = t->form.kind->cut(&t->form, emi_btree_place(t, &w->left), slot);
	first = emi_btree_record(t, &w->left, w->cut);
	memcpy(t->key, first, t->plan.key);
	w->s.head = emi_collation_key(&t->by, first);
	w->s.key = t->key;
	st = emi_btree_compared(t, err);
	if (st == EM_OK && next != EMI_BTREE_NONE)
		st = emi_btree_leaf(t, next, EM_CACHE_WRITE, &w->next, err);
	return st == EM_OK ? emi_btree_new_leaf(t, &w->right, err) : st;
}

/* Child i of a parent that has room, a leaf, is full. */
static em_status split_leaf(em_btree *t, emi_btree_node *parent, uint32_t i, leaf_split *w, uint32_t slot,
			    em_errinfo *err)
{
	emi_leaf_place right;
	em_status st = prepare(t, w, slot, err);

	if (st != EM_OK)
		return st;
	right = emi_btree_place(t, &w->right);
	t->form.kind->init(&t->form, right);
	right.leaf->prev = w->left.id;
	right.leaf->next = w->left.u.leaf->next;
	w->left.u.leaf->next = w->right.id;
	if (w->next.u.at != NULL)
		w->next.u.leaf->prev = w->right.id;
	else
		t->last = w->right.id;
	emi_btree_cursors_tail(t, w->left.id, w->cut, w->right.id);
	t->form.kind->share(&t->form, emi_btree_place(t, &w->left), right, w->cut, t->tmp);
	emi_node_insert(&t->plan, parent, i, w->s, w->right.id);
	t->splits++;
	return EM_OK;
}

/* A node that has room for a child, whether it was changed: its child takes its place when that has room, too.  After a
 * failure none is pinned. */
static em_status enter(em_btree *t, emi_btree_pin *at, int *dirty, const emi_btree_probe *probe, int upper,
		       em_errinfo *err)
{
	const uint32_t level = at->u.node->level, i = emi_btree_child(t, at->u.node, probe, upper);
	const uint64_t id = emi_node_children(at->u.node)[i];
	emi_btree_pin child = { 0 };
	em_status st = emi_btree_node_of(t, id, level - 1, EM_CACHE_WRITE, &child, err);

	if (st != EM_OK || !emi_node_full(&t->plan, child.u.node)) {
		emi_btree_unpin_node(t, at, *dirty);
		*at = child;
		*dirty = 0;
		return st;
	}
	st = split_node(t, at->u.node, i, &child, err);
	emi_btree_unpin_node(t, &child, st == EM_OK);
	if (st != EM_OK)
		emi_btree_unpin_node(t, at, *dirty);
	else
		*dirty = 1;
	return st;
}

/* The leaf below a node of level 1 that has room. */
static em_status split_below(em_btree *t, emi_btree_node *parent, const emi_btree_probe *probe, int upper,
			     em_errinfo *err)
{
	const uint32_t i = emi_btree_child(t, parent, probe, upper);
	leaf_split w;
	uint32_t slot;
	em_status st;

	memset(&w, 0, sizeof w);
	st = emi_btree_leaf(t, emi_node_children(parent)[i], EM_CACHE_WRITE, &w.left, err);
	if (st != EM_OK)
		return st;
	slot = t->form.kind->search(&t->form, emi_btree_place(t, &w.left), probe, upper);
	st = emi_btree_compared(t, err);
	if (st == EM_OK && t->form.kind->full(&t->form, emi_btree_place(t, &w.left), slot))
		st = split_leaf(t, parent, i, &w, slot, err);
	unpin_split(t, &w, st == EM_OK);
	return st;
}

em_status emi_btree_split(em_btree *t, const emi_btree_probe *probe, int upper, em_errinfo *err)
{
	emi_btree_pin at = { 0 };
	em_status st = EM_OK;
	int dirty = 0;

	if (t->height == 0 && t->root_bytes < t->plan.leaf_bytes)
		return grow_root(t, err);
	st = emi_btree_have_tmp(t, err);
	if (st == EM_OK && t->height == 0)
		st = plant(t, err);
	if (st == EM_OK && emi_node_full(&t->plan, t->root))
		st = raise_root(t, err);
	if (st == EM_OK)
		st = emi_btree_node_of(t, EMI_BTREE_ROOT, t->height, EM_CACHE_WRITE, &at, err);
	while (st == EM_OK && at.u.node->level > 1)
		st = enter(t, &at, &dirty, probe, upper, err);
	if (st == EM_OK) {
		st = split_below(t, at.u.node, probe, upper, err);
		dirty |= st == EM_OK;
	}
	emi_btree_unpin_node(t, &at, dirty);
	return st;
}
