/* SPDX-License-Identifier: BSL-1.0 */
/* btree_find.c -- coming down from the root of a B+-tree; see btree.h. */
#include <string.h>

#include "container/btree.h"

em_status emi_btree_way(em_btree *t, const emi_btree_probe *probe, int upper, uint64_t *leaf, em_errinfo *err)
{
	uint64_t id = EMI_BTREE_ROOT;
	uint32_t level;

	for (level = t->height; level != 0; level--) {
		emi_btree_pin pin = { 0 };
		const em_status st = emi_btree_node_of(t, id, level, EM_CACHE_READ, &pin, err);

		if (st != EM_OK)
			return st;
		id = emi_btree_child_id(t, pin.u.node, emi_btree_child(t, pin.u.node, probe, upper));
		emi_btree_unpin_node(t, &pin, 0);
	}
	*leaf = id;
	return EM_OK;
}

em_status emi_btree_find_below(em_btree *t, const emi_btree_probe *probe, int upper, uint32_t mode,
			       emi_btree_spot *spot, em_errinfo *err)
{
	uint64_t leaf;
	em_status st = emi_btree_way(t, probe, upper, &leaf, err);

	memset(spot, 0, sizeof *spot);
	if (st == EM_OK)
		st = emi_btree_leaf(t, leaf, mode, &spot->pin, err);
	if (st != EM_OK)
		return st;
	spot->slot = t->form.kind->search(&t->form, emi_btree_place(t, &spot->pin), probe, upper);
	return emi_btree_spot_compared(t, spot, err);
}

em_status emi_btree_bound_behind(em_btree *t, uint32_t mode, emi_btree_spot *spot, em_errinfo *err)
{
	em_status st = EM_OK;

	while (st == EM_OK && spot->slot == spot->pin.u.leaf->n) {
		const uint64_t next = spot->pin.u.leaf->next;

		emi_btree_unpin_leaf(t, &spot->pin, 0);
		if (next == EMI_BTREE_NONE)
			return EM_NOT_FOUND;
		st = emi_btree_leaf(t, next, mode, &spot->pin, err);
		spot->slot = 0;
	}
	return st;
}

/* Where to: to a record, or along an edge. */
typedef enum direction { TO_PROBE, TO_FIRST, TO_LAST } direction;

static uint32_t choose(const em_btree *t, const emi_btree_node *n, const emi_btree_probe *probe, direction to)
{
	if (to == TO_PROBE)
		return emi_btree_child(t, n, probe, 0);
	return to == TO_FIRST ? 0 : n->n - 1;
}

/* From the node of that level on the way down to a leaf. */
static em_status go_down(em_btree *t, uint32_t level, const emi_btree_probe *probe, direction to, emi_btree_path *path,
			 em_errinfo *err)
{
	for (; level != 0; level--) {
		emi_btree_pin pin = { 0 };
		const em_status st = emi_btree_node_of(t, path->id[level], level, EM_CACHE_READ, &pin, err);

		if (st != EM_OK)
			return st;
		path->child[level] = choose(t, pin.u.node, probe, to);
		path->id[level - 1] = emi_btree_child_id(t, pin.u.node, path->child[level]);
		emi_btree_unpin_node(t, &pin, 0);
	}
	return EM_OK;
}

em_status emi_btree_path_of(em_btree *t, const emi_btree_probe *probe, emi_btree_path *path, em_errinfo *err)
{
	em_status st;

	path->id[t->height] = EMI_BTREE_ROOT;
	st = go_down(t, t->height, probe, TO_PROBE, path, err);
	return st == EM_OK ? emi_btree_compared(t, err) : st;
}

em_status emi_btree_path_first(em_btree *t, emi_btree_path *path, em_errinfo *err)
{
	path->id[t->height] = EMI_BTREE_ROOT;
	return go_down(t, t->height, NULL, TO_FIRST, path, err);
}

static em_status path_step(em_btree *t, int forward, emi_btree_path *path, em_errinfo *err)
{
	uint32_t level;

	for (level = 1; level <= t->height; level++) {
		emi_btree_pin pin = { 0 };
		const em_status st = emi_btree_node_of(t, path->id[level], level, EM_CACHE_READ, &pin, err);
		int more;

		if (st != EM_OK)
			return st;
		more = forward ? path->child[level] + 1 < pin.u.node->n : path->child[level] != 0;
		if (more) {
			path->child[level] += forward ? 1 : UINT32_MAX;
			path->id[level - 1] = emi_btree_child_id(t, pin.u.node, path->child[level]);
		}
		emi_btree_unpin_node(t, &pin, 0);
		if (more)
			return go_down(t, level - 1, NULL, forward ? TO_FIRST : TO_LAST, path, err);
	}
	return EM_NOT_FOUND;
}

em_status emi_btree_path_next(em_btree *t, emi_btree_path *path, em_errinfo *err)
{
	return path_step(t, 1, path, err);
}

em_status emi_btree_path_prev(em_btree *t, emi_btree_path *path, em_errinfo *err)
{
	return path_step(t, 0, path, err);
}

em_status emi_btree_prev(em_btree *t, const emi_btree_pin *pin, uint64_t *prev, em_errinfo *err)
{
	const uint64_t hint = pin->u.leaf->prev;
	emi_btree_pin other = { 0 };
	emi_btree_probe first;
	emi_btree_path path;
	em_status st = EM_OK;
	int is_it = 0;

	*prev = EMI_BTREE_NONE;
	if (pin->id == t->first)
		return EM_OK;
	if (hint != pin->id && emi_btree_ids_used(&t->leaves.ids, hint)) {
		st = emi_btree_leaf(t, hint, EM_CACHE_READ, &other, err);
		is_it = st == EM_OK && other.u.leaf->next == pin->id;
		emi_btree_unpin_leaf(t, &other, 0);
	}
	if (is_it)
		*prev = hint;
	if (st != EM_OK || is_it)
		return st;
	first = emi_btree_probe_of(&t->by, emi_btree_record(t, pin, 0));
	st = emi_btree_path_to(t, &first, pin->id, &path, err);
	if (st == EM_OK)
		st = emi_btree_path_prev(t, &path, err);
	if (st == EM_OK)
		*prev = path.id[0];
	return st != EM_NOT_FOUND ? st : emi_fail(err, EM_ERR_CORRUPT, "there is no leaf before one that is not first");
}

em_status emi_btree_path_to(em_btree *t, const emi_btree_probe *probe, uint64_t leaf, emi_btree_path *path,
			    em_errinfo *err)
{
	const direction to = probe != NULL ? TO_PROBE : leaf == t->first ? TO_FIRST : TO_LAST;
	em_status st;

	path->id[t->height] = EMI_BTREE_ROOT;
	st = go_down(t, t->height, probe, to, path, err);
	if (st == EM_OK)
		st = emi_btree_compared(t, err);
	/* Records with the same key may be in many leaves. */
	while (st == EM_OK && path->id[0] != leaf)
		st = emi_btree_path_next(t, path, err);
	return st != EM_NOT_FOUND ? st : emi_fail(err, EM_ERR_INTERNAL, "a leaf is not where its records should be");
}
