/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_verify.c -- looking at all of a B+-tree: is it what it should be?  See btree.h.
 *
 * A walk along all leaves, by the nodes above them.  Each leaf is compared with its links, with the separators around
 * it, and with itself; and all that was counted is compared with what the tree says of itself.
 */
#include <inttypes.h>
#include <string.h>

#include "container/btree.h"

typedef struct walk {
	emi_btree_path path;
	uint64_t leaves, nodes, records;
	uint64_t before;        /* the leaf before this one */
} walk;

static em_status wrong(em_errinfo *err, uint64_t leaf, const char *what)
{
	return emi_fail(err, EM_ERR_CORRUPT, "leaf %" PRIu64 ": %s", leaf, what);
}

static int compare_separator(const em_btree *t, const emi_btree_node *n, uint32_t i, const char *record)
{
	const emi_btree_separator s = emi_node_separator(&t->plan, n, i);
	const uint64_t head = emi_collation_key(&t->by, record);

	if (head != s.head)
		return head < s.head ? -1 : 1;
	return t->by.tie.fn != NULL ? t->by.tie.fn(t->by.tie.arg, emi_collation_val(&t->by, record),
						   emi_collation_val(&t->by, s.key))
				    : 0;
}

/* The separators around a leaf are those of the nearest nodes above it that have any. */
static em_status check_separators(em_btree *t, const walk *w, const emi_btree_pin *leaf, em_errinfo *err)
{
	const char *first = emi_btree_record(t, leaf, 0), *last = emi_btree_record(t, leaf, leaf->u.leaf->n - 1);
	int left = 0, right = 0, c;
	uint32_t level;

	for (level = 1; level <= t->height && !(left && right); level++) {
		const uint32_t i = w->path.child[level];
		emi_btree_pin pin = { 0 };
		em_status st = emi_btree_node_of(t, w->path.id[level], level, EM_CACHE_READ, &pin, err);

		if (st != EM_OK)
			return st;
		if (!left && i != 0) {
			c = compare_separator(t, pin.u.node, i - 1, first);
			left = 1;
			if (c < 0)
				st = wrong(err, leaf->id, "its first record is before the separator before it");
		}
		if (st == EM_OK && !right && i + 1 < pin.u.node->n) {
			c = compare_separator(t, pin.u.node, i, last);
			right = 1;
			if (c > 0 || (c == 0 && !t->plan.duplicates))
				st = wrong(err, leaf->id, "its last record is not before the separator behind it");
		}
		emi_btree_unpin_node(t, &pin, 0);
		if (st != EM_OK)
			return st;
	}
	return EM_OK;
}

static em_status check_leaf(em_btree *t, walk *w, const emi_btree_pin *pin, em_errinfo *err)
{
	const emi_leaf *leaf = pin->u.leaf;
	em_errinfo own = EM_ERRINFO_INIT;
	uint64_t before;
	uint32_t i;

	if (pin->id != EMI_BTREE_ROOT && !emi_btree_ids_used(&t->leaves.ids, pin->id))
		return wrong(err, pin->id, "there is none of that number");
	if (t->form.kind->damaged(&t->form, emi_btree_place(t, pin)))
		return wrong(err, pin->id, "it is damaged");
	if (leaf->n == 0)
		return t->height != 0 ? wrong(err, pin->id, "it is empty") : EM_OK;
	if (emi_btree_prev(t, pin, &before, &own) != EM_OK)
		return emi_fail(err, own.status, "%s", own.text);
	if (before != w->before)
		return wrong(err, pin->id, "the leaf before it is another one");
	for (i = 1; i < leaf->n; i++) {
		const int c = emi_collation_compare(&t->by, emi_btree_record(t, pin, i - 1),
						    emi_btree_record(t, pin, i));

		if (c > 0 || (c == 0 && !t->plan.duplicates))
			return wrong(err, pin->id, "its records are not in order");
	}
	w->records += leaf->n;
	return check_separators(t, w, pin, err);
}

/* Nodes that the walk comes to with this leaf: those of which it is the first. */
static em_status check_nodes(em_btree *t, walk *w, em_errinfo *err)
{
	uint32_t level;

	for (level = 1; level <= t->height; level++) {
		emi_btree_pin pin = { 0 };
		em_status st;
		uint32_t n;

		if (w->path.child[level] != 0)
			return EM_OK;
		st = emi_btree_node_of(t, w->path.id[level], level, EM_CACHE_READ, &pin, err);
		if (st != EM_OK)
			return st;
		n = pin.u.node->n;
		emi_btree_unpin_node(t, &pin, 0);
		if (level == t->height)
			return EM_OK;
		if (n < 2 || !emi_btree_ids_used(&t->nodes.ids, w->path.id[level]))
			return emi_fail(err, EM_ERR_CORRUPT, "node %" PRIu64 " has %" PRIu32 " children, or is none",
					w->path.id[level], n);
		w->nodes++;
	}
	return EM_OK;
}

static em_status check_next(em_btree *t, walk *w, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	emi_btree_pin pin = { 0 };
	uint64_t next;
	em_status st = emi_btree_leaf(t, w->path.id[0], EM_CACHE_READ, &pin, err);

	if (st != EM_OK)
		return st;
	emi_btree_ahead_along(t, &w->path);
	st = check_leaf(t, w, &pin, &own);
	w->before = pin.id;
	w->leaves++;
	next = pin.u.leaf->next;
	emi_btree_unpin_leaf(t, &pin, 0);
	/* What came of comparisons that failed means nothing. */
	if (emi_btree_compared(t, err) != EM_OK)
		return err->status;
	if (st != EM_OK) {
		*err = own;
		return st;
	}
	st = check_nodes(t, w, err);
	if (st == EM_OK)
		st = emi_btree_path_next(t, &w->path, err);
	if (st == EM_OK && next != w->path.id[0])
		return wrong(err, w->before, "the leaf behind it is another one");
	if (st == EM_NOT_FOUND && next != EMI_BTREE_NONE)
		return wrong(err, w->before, "there is a leaf behind the last one");
	return st;
}

em_status emi_btree_verify(em_btree *t, em_errinfo *err)
{
	em_status st = EM_OK;
	walk w;

	memset(&w, 0, sizeof w);
	w.before = EMI_BTREE_NONE;
	if (t->root == NULL)
		return EM_OK;
	st = emi_btree_path_first(t, &w.path, err);
	if (st == EM_OK && w.path.id[0] != t->first)
		st = wrong(err, w.path.id[0], "it is first in the nodes only");
	while (st == EM_OK)
		st = check_next(t, &w, err);
	if (st != EM_NOT_FOUND)
		return st;
	if (w.before != t->last || w.records != t->n)
		return emi_fail(err, EM_ERR_CORRUPT, "there are %" PRIu64 " records and not %" PRIu64, w.records, t->n);
	if (t->height != 0 && (w.leaves != emi_btree_ids_count(&t->leaves.ids) ||
			       w.nodes != emi_btree_ids_count(&t->nodes.ids)))
		return emi_fail(err, EM_ERR_CORRUPT,
				"%" PRIu64 " leaves and %" PRIu64 " nodes can be reached; there are %" PRIu64
				" and %" PRIu64, w.leaves, w.nodes, emi_btree_ids_count(&t->leaves.ids),
				emi_btree_ids_count(&t->nodes.ids));
	return EM_OK;
}
