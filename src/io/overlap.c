/* SPDX-License-Identifier: BSL-1.0 */
/*
 * overlap.c -- the tree of pending ranges: a treap by (begin, seq), each node with the largest end below it; and the
 * list of reads that are not in it.
 *
 * A search leaves out what ends before the range begins, what was submitted after it, and for a read what holds no
 * write; so it visits few nodes besides the ones on its way.  It looks at later places first: of many transfers of the
 * same bytes it finds the last submitted, and those that wait form a chain in which each is looked at again only once.
 *
 * Priorities are the mixed bits of seq, so the shape of the tree is random whatever the offsets are: its depth is some
 * 2.5 times the logarithm of its size, which is what the recursion takes of a small stack.
 */
#include "io/overlap.h"

#include <stddef.h>

static uint64_t priority(const emi_range *r)
{
	uint64_t x = r->seq + 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static int before(const emi_range *a, const emi_range *b)
{
	return a->begin != b->begin ? a->begin < b->begin : a->seq < b->seq;
}

static void include(emi_range *r, const emi_range *child)
{
	if (!child)
		return;
	if (r->max_end < child->max_end)
		r->max_end = child->max_end;
	if (r->max_write_end < child->max_write_end)
		r->max_write_end = child->max_write_end;
	if (r->min_seq > child->min_seq)
		r->min_seq = child->min_seq;
}

/* Make the sums of a node those of its children and itself. */
static void sum(emi_range *r)
{
	r->max_end = r->end;
	r->max_write_end = r->write ? r->end : 0;
	r->min_seq = r->seq;
	include(r, r->left);
	include(r, r->right);
}

/* Divide a tree into what comes before r and the rest. */
static void split(emi_range *root, const emi_range *r, emi_range **low, emi_range **high)
{
	if (!root) {
		*low = *high = NULL;
		return;
	}
	if (before(root, r)) {
		split(root->right, r, &root->right, high);
		*low = root;
	} else {
		split(root->left, r, low, &root->left);
		*high = root;
	}
	sum(root);
}

/* The opposite. */
static emi_range *join(emi_range *low, emi_range *high)
{
	if (!low || !high)
		return low ? low : high;
	if (priority(low) > priority(high)) {
		low->right = join(low->right, high);
		sum(low);
		return low;
	}
	high->left = join(low, high->left);
	sum(high);
	return high;
}

static emi_range *add(emi_range *root, emi_range *r)
{
	if (!root || priority(r) > priority(root)) {
		split(root, r, &r->left, &r->right);
		sum(r);
		return r;
	}
	if (before(r, root))
		root->left = add(root->left, r);
	else
		root->right = add(root->right, r);
	sum(root);
	return root;
}

static emi_range *without(emi_range *root, const emi_range *r)
{
	if (root == r)
		return join(root->left, root->right);
	if (before(r, root))
		root->left = without(root->left, r);
	else
		root->right = without(root->right, r);
	sum(root);
	return root;
}

static void put(emi_overlap *o, emi_range *r)
{
	r->listed = 0;
	r->left = r->right = NULL;
	o->root = add(o->root, r);
}

static void put_on_list(emi_overlap *o, emi_range *r)
{
	r->listed = 1;
	r->left = NULL;
	r->right = o->list;
	if (o->list)
		o->list->left = r;
	o->list = r;
}

static void take_off_list(emi_overlap *o, emi_range *r)
{
	if (r->right)
		r->right->left = r->left;
	if (r->left)
		r->left->right = r->right;
	else
		o->list = r->right;
}

static void put_reads(emi_overlap *o)
{
	emi_range *r;

	while ((r = o->list) != NULL) {
		take_off_list(o, r);
		put(o, r);
	}
}

void emi_overlap_add(emi_overlap *o, emi_range *r)
{
	if (r->write)
		put(o, r);
	else
		put_on_list(o, r);
}

void emi_overlap_remove(emi_overlap *o, emi_range *r)
{
	if (r->listed)
		take_off_list(o, r);
	else
		o->root = without(o->root, r);
}

static int conflict(const emi_range *a, const emi_range *r)
{
	return a->seq < r->seq && a->begin < r->end && r->begin < a->end && (a->write || r->write);
}

static emi_range *find(emi_range *root, const emi_range *r)
{
	emi_range *found;

	if (!root || root->min_seq >= r->seq || (r->write ? root->max_end : root->max_write_end) <= r->begin)
		return NULL;
	found = root->begin < r->end ? find(root->right, r) : NULL;
	if (found)
		return found;
	return conflict(root, r) ? root : find(root->left, r);
}

emi_range *emi_overlap_find(emi_overlap *o, const emi_range *r)
{
	if (r->write)
		put_reads(o);
	return find(o->root, r);
}
