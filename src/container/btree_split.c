/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_split.c -- making room in a B+-tree: leaves and nodes that are full are split on the way down; see btree.h.
 *
 * A node that is entered has room for one more child.  So a split changes a block, its new neighbour and their parent,
 * and nothing else.
 *
 * A leaf gets room together with its neighbour below the same parent: if there is room in that the two share their
 * records, else they become three (a B*-tree; Knuth, The Art of Computer Programming, volume 3, section 6.2.4).  So
 * leaves are two thirds full and more, and a tree that was full grows by half and not to twice its size, for one leaf
 * more that is read in a split.
 *
 * Records that come in order are another matter.  If one goes behind all others of its leaf, nearly all stay where they
 * are, without the neighbour.  Where some came in order before it, those that are behind it go, and it stays, so that
 * more can follow it.  So leaves that are filled in ascending order are full, wherever in the tree that is; and
 * likewise in descending order.
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

/* A leaf that is full, what comes of it, and its neighbour on the right, or it is that of the other. */
typedef struct leaf_split {
	emi_btree_pin left, added, right;
	uint32_t i;             /* the left one is this child of the parent */
	uint32_t stay;          /* records that stay in the left one */
	uint32_t parts;         /* 1: it is cut; 2: the two share their records; 3: with the one that is added */
} leaf_split;

static void unpin_split(em_btree *t, leaf_split *w, int dirty)
{
	emi_btree_unpin_leaf(t, &w->left, dirty);
	emi_btree_unpin_leaf(t, &w->added, dirty);
	emi_btree_unpin_leaf(t, &w->right, dirty);
}

/* A separator before a record, whose bytes stay where they are. */
static emi_btree_separator separator_of(const em_btree *t, const emi_btree_pin *pin, uint32_t slot)
{
	emi_btree_separator s;

	s.key = emi_btree_record(t, pin, slot);
	s.head = emi_collation_key(&t->by, s.key);
	return s;
}

/* The records of two neighbours, one behind the other: a separator before one of them. */
static emi_btree_separator separator_in(const em_btree *t, const leaf_split *w, uint32_t slot)
{
	const uint32_t had = w->left.u.leaf->n;

	return slot < had ? separator_of(t, &w->left, slot) : separator_of(t, &w->right, slot - had);
}

/* Have its neighbour below the same parent, and see what they can do. */
static em_status meet_neighbour(em_btree *t, const emi_btree_node *parent, leaf_split *w, em_errinfo *err)
{
	const int is_last = w->i + 1 == parent->n;
	const uint64_t id = emi_node_children(parent)[is_last ? w->i - 1 : w->i + 1];
	emi_btree_pin other = { 0 };
	em_status st = emi_btree_leaf(t, id, EM_CACHE_WRITE, &other, err);
	uint32_t n;

	if (st != EM_OK)
		return st;
	if (is_last) {
		w->right = w->left;
		w->left = other;
		w->i--;
	} else {
		w->right = other;
	}
	w->parts = t->form.kind->parts(&t->form, emi_btree_place(t, &w->left), emi_btree_place(t, &w->right));
	n = w->left.u.leaf->n + w->right.u.leaf->n;
	w->stay = n / w->parts;
	return EM_OK;
}

/* A new leaf between two. */
static void link_leaf(em_btree *t, leaf_split *w)
{
	emi_leaf *left = w->left.u.leaf, *added = w->added.u.leaf;

	t->form.kind->init(&t->form, emi_btree_place(t, &w->added));
	added->prev = w->left.id;
	added->next = left->next;
	left->next = w->added.id;
	if (added->next == EMI_BTREE_NONE)
		t->last = w->added.id;
	if (w->right.u.at != NULL)
		w->right.u.leaf->prev = w->added.id;
}

/* Those of the left one behind the first `stay' go to the new one, which has a separator before it. */
static void split_off(em_btree *t, leaf_split *w)
{
	link_leaf(t, w);
	emi_btree_cursors_tail(t, w->left.id, w->stay, w->added.id);
	t->form.kind->share(&t->form, emi_btree_place(t, &w->left), emi_btree_place(t, &w->added), w->stay, t->tmp);
}

/* The left one of two neighbours has the first n of their records from now on. */
static void move_border(em_btree *t, const emi_btree_pin *left, const emi_btree_pin *right, uint32_t n)
{
	const uint32_t had = left->u.leaf->n;

	if (n > had) {
		emi_btree_cursors_head(t, right->id, n - had, left->id, had);
	} else {
		emi_btree_cursors_shift(t, right->id, had - n);
		emi_btree_cursors_tail(t, left->id, n, right->id);
	}
	t->form.kind->share(&t->form, emi_btree_place(t, left), emi_btree_place(t, right), n, t->tmp);
}

/* Two leaves become three: what the new one has less than a third comes from the one that had more. */
static void spread(em_btree *t, leaf_split *w)
{
	const uint32_t n = w->left.u.leaf->n + w->right.u.leaf->n, had = w->left.u.leaf->n;
	const uint32_t third = w->stay, two = n - n / 3;

	if (had > third) {
		split_off(t, w);
		move_border(t, &w->added, &w->right, two - third);
		return;
	}
	/* The left one is that which has few. */
	link_leaf(t, w);
	move_border(t, &w->added, &w->right, two - had);
	move_border(t, &w->left, &w->added, third);
}

/* Child w->i of a parent that has room, a leaf, is full; a record is to come into that slot. */
static em_status split_leaf(em_btree *t, emi_btree_node *parent, leaf_split *w, uint32_t slot, em_errinfo *err)
{
	emi_btree_separator s, beyond = { 0, NULL };
	em_status st = EM_OK;
	int runs;

	w->parts = 1;
	w->stay = t->form.kind->cut(&t->form, emi_btree_place(t, &w->left), slot, &runs);
	if (!runs && parent->n > 1)
		st = meet_neighbour(t, parent, w, err);
	if (st != EM_OK)
		return st;
	s = separator_in(t, w, w->stay);
	if (w->parts == 3)
		beyond = separator_in(t, w, w->left.u.leaf->n + w->right.u.leaf->n - w->stay);
	st = emi_btree_compared(t, err);
	if (st == EM_OK && w->parts != 2)
		st = emi_btree_new_leaf(t, &w->added, err);
	if (st != EM_OK)
		return st;
	if (w->parts == 2) {
		emi_node_set(&t->plan, parent, w->i, s);
		move_border(t, &w->left, &w->right, w->stay);
		t->shares++;
		return EM_OK;
	}
	emi_node_insert(&t->plan, parent, w->i, s, w->added.id);
	if (w->parts == 3) {
		emi_node_set(&t->plan, parent, w->i + 1, beyond);
		spread(t, w);
	} else {
		split_off(t, w);
	}
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
	leaf_split w;
	uint32_t slot;
	em_status st;

	memset(&w, 0, sizeof w);
	w.i = emi_btree_child(t, parent, probe, upper);
	st = emi_btree_leaf(t, emi_node_children(parent)[w.i], EM_CACHE_WRITE, &w.left, err);
	if (st != EM_OK)
		return st;
	slot = t->form.kind->search(&t->form, emi_btree_place(t, &w.left), probe, upper);
	st = emi_btree_compared(t, err);
	if (st == EM_OK && t->form.kind->full(&t->form, emi_btree_place(t, &w.left), slot))
		st = split_leaf(t, parent, &w, slot, err);
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
