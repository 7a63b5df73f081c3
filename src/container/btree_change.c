/* SPDX-License-Identifier: BSL-1.0 */
/* btree_change.c -- inserting into B+-trees, taking out, and what is at their ends; see btree.h. */
#include <string.h>

#include "container/btree.h"

/* A record goes into a slot of a leaf that has room. */
static void put_in(em_btree *t, emi_btree_spot *spot, const void *record, em_btree_cursor *cursor)
{
	t->form.kind->insert(&t->form, emi_btree_place(t, &spot->pin), spot->slot, record);
	t->n++;
	if (t->cursors.n != 0)
		emi_btree_cursors_insert(t, spot->pin.id, spot->slot, record);
	if (cursor != NULL)
		emi_btree_cursor_stand(cursor, EMI_CURSOR_ON, spot->pin.id, spot->slot, NULL);
	emi_btree_unpin_leaf(t, &spot->pin, 1);
}

/* A record that is equal is there: it may be overwritten. */
static void meet(em_btree *t, emi_btree_spot *spot, const void *record, int replace, em_btree_cursor *cursor)
{
	if (replace)
		memcpy(emi_btree_record(t, &spot->pin, spot->slot), record, t->plan.record);
	if (cursor != NULL)
		emi_btree_cursor_stand(cursor, EMI_CURSOR_ON, spot->pin.id, spot->slot, NULL);
	emi_btree_unpin_leaf(t, &spot->pin, replace);
}

/* Is the record in a spot, if there is one, equal to the probe?  After a failure nothing is pinned. */
static inline em_status compare(em_btree *t, emi_btree_spot *spot, const emi_btree_probe *probe, int *equal,
				em_errinfo *err)
{
	*equal = spot->slot != spot->pin.u.leaf->n && emi_btree_is(t, spot, probe);
	return emi_btree_spot_compared(t, spot, err);
}

/* Find the first record that is equal to the probe.  EM_NOT_FOUND. */
static em_status find_equal(em_btree *t, const emi_btree_probe *probe, uint32_t mode, emi_btree_spot *spot,
			    em_errinfo *err)
{
	int equal = 0;
	em_status st = emi_btree_bound(t, probe, 0, mode, spot, err);

	if (st == EM_OK)
		st = compare(t, spot, probe, &equal, err);
	if (st != EM_OK || equal)
		return st;
	emi_btree_unpin_leaf(t, &spot->pin, 0);
	return EM_NOT_FOUND;
}

em_status emi_btree_insert(em_btree *t, const void *record, int replace, em_btree_cursor *cursor, em_errinfo *err)
{
	const int upper = t->plan.duplicates;
	emi_btree_probe probe;
	emi_btree_spot spot;
	int equal = 0;
	em_status st = emi_btree_probe_key(t, record, 0, &probe, err);

	if (st == EM_OK && upper && replace) {
		st = find_equal(t, &probe, EM_CACHE_WRITE, &spot, err);
		if (st == EM_OK)
			meet(t, &spot, record, replace, cursor);
		if (st != EM_NOT_FOUND)
			return st == EM_OK ? EM_EXISTS : st;
		st = EM_OK;
	}
	if (st == EM_OK && t->root == NULL)
		st = emi_btree_begin(t, err);
	while (st == EM_OK) {
		st = emi_btree_find(t, &probe, upper, EM_CACHE_WRITE, &spot, err);
		if (st == EM_OK && !upper)
			st = compare(t, &spot, &probe, &equal, err);
		if (st != EM_OK)
			return st;
		if (equal) {
			meet(t, &spot, record, replace, cursor);
			return EM_EXISTS;
		}
		if (!t->form.kind->full(&t->form, emi_btree_place(t, &spot.pin), spot.slot)) {
			put_in(t, &spot, record, cursor);
			return EM_OK;
		}
		emi_btree_unpin_leaf(t, &spot.pin, 0);
		st = emi_btree_split(t, &probe, upper, err);
	}
	return st;
}

/* May a record be taken out of a leaf as it is? */
static int may_take(const em_btree *t, const emi_btree_pin *pin)
{
	return pin->id == EMI_BTREE_ROOT || !t->form.kind->lean(&t->form, emi_btree_place(t, pin));
}

/* Take one out of a leaf that is pinned. */
static void take(em_btree *t, const emi_btree_pin *pin, uint32_t slot, void *record)
{
	const char *at = emi_btree_record(t, pin, slot);

	if (record != NULL)
		memcpy(record, at, t->plan.record);
	if (t->cursors.n != 0)
		emi_btree_cursors_erase(t, pin->id, slot, at);
	t->form.kind->remove(&t->form, emi_btree_place(t, pin), slot);
	t->n--;
}

em_status emi_btree_erase(em_btree *t, const emi_btree_probe *probe, void *record, em_errinfo *err)
{
	emi_btree_spot spot;
	em_status st;

	for (;;) {
		uint64_t leaf;

		st = find_equal(t, probe, EM_CACHE_WRITE, &spot, err);
		if (st != EM_OK)
			return st;
		if (may_take(t, &spot.pin))
			break;
		leaf = spot.pin.id;
		emi_btree_unpin_leaf(t, &spot.pin, 0);
		st = emi_btree_unlean(t, probe, leaf, err);
		if (st != EM_OK)
			return st;
	}
	take(t, &spot.pin, spot.slot, record);
	emi_btree_unpin_leaf(t, &spot.pin, 1);
	return EM_OK;
}

em_status emi_btree_erase_cursor(em_btree *t, em_btree_cursor *c, em_errinfo *err)
{
	emi_btree_pin pin = { 0 };
	emi_btree_probe probe;
	em_status st;

	for (;;) {
		st = emi_btree_leaf(t, c->leaf, EM_CACHE_WRITE, &pin, err);
		if (st != EM_OK)
			return st;
		if (may_take(t, &pin))
			break;
		/* It moves with its record. */
		memcpy(c->key, emi_btree_record(t, &pin, c->slot), t->plan.key);
		emi_btree_unpin_leaf(t, &pin, 0);
		st = emi_btree_probe_key(t, c->key, 0, &probe, err);
		if (st == EM_OK)
			st = emi_btree_unlean(t, &probe, c->leaf, err);
		if (st != EM_OK)
			return st;
	}
	take(t, &pin, c->slot, NULL);
	emi_btree_unpin_leaf(t, &pin, 1);
	return EM_OK;
}

/* Is a record behind a range? */
static int is_behind(const em_btree *t, const char *record, const emi_btree_probe *to, int through)
{
	int c;

	if (to == NULL)
		return 0;
	c = emi_collation_compare_to(&t->by, record, to->head, to->val);
	return through ? c > 0 : c >= 0;
}

em_status emi_btree_find_from(em_btree *t, const emi_btree_probe *from, uint32_t mode, emi_btree_spot *spot,
			      em_errinfo *err)
{
	em_status st;

	memset(spot, 0, sizeof *spot);
	if (from != NULL)
		return emi_btree_bound(t, from, 0, mode, spot, err);
	st = t->n != 0 ? emi_btree_leaf(t, t->first, mode, &spot->pin, err) : EM_NOT_FOUND;
	return st;
}

/* Take out records of a range from a leaf while that may lose some.  *more: there are others, perhaps. */
static em_status take_range(em_btree *t, emi_btree_spot *spot, const emi_btree_probe *to, int through,
			    uint64_t *erased, int *more, em_errinfo *err)
{
	const uint64_t before = *erased;
	em_status st = EM_OK;

	*more = 1;
	while (spot->slot < spot->pin.u.leaf->n && may_take(t, &spot->pin)) {
		if (is_behind(t, emi_btree_record(t, &spot->pin, spot->slot), to, through))
			*more = 0;
		st = emi_btree_compared(t, err);
		if (st != EM_OK || !*more)
			break;
		take(t, &spot->pin, spot->slot, NULL);
		++*erased;
	}
	emi_btree_unpin_leaf(t, &spot->pin, *erased != before);
	return st;
}

em_status emi_btree_erase_range(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
				uint64_t *erased, em_errinfo *err)
{
	emi_btree_probe probe;
	emi_btree_spot spot;
	em_status st = emi_btree_erase_leaves(t, from, to, through, erased, err);
	int more = 1;

	/* What is left is in two leaves. */
	while (st == EM_OK && more) {
		st = emi_btree_find_from(t, from, EM_CACHE_WRITE, &spot, err);
		if (st != EM_OK)
			break;
		if (!may_take(t, &spot.pin)) {
			const char *record = emi_btree_record(t, &spot.pin, spot.slot);
			const uint64_t leaf = spot.pin.id;
			const int behind = is_behind(t, record, to, through);

			/* What is taken out is found by its own key, as there may be no other. */
			st = emi_btree_have_tmp(t, err);
			if (st == EM_OK)
				memcpy(t->key, record, t->plan.key);
			emi_btree_unpin_leaf(t, &spot.pin, 0);
			if (st == EM_OK)
				st = emi_btree_compared(t, err);
			if (st != EM_OK || behind)
				break;
			probe = emi_btree_probe_of(&t->by, t->key);
			st = emi_btree_unlean(t, &probe, leaf, err);
			continue;
		}
		st = take_range(t, &spot, to, through, erased, &more, err);
	}
	return st == EM_NOT_FOUND ? EM_OK : st;
}

em_status emi_btree_end(em_btree *t, int last, int pop, void *record, em_errinfo *err)
{
	emi_btree_pin pin = { 0 };
	uint32_t slot;
	em_status st;

	if (t->n == 0)
		return EM_NOT_FOUND;
	for (;;) {
		const uint64_t leaf = last ? t->last : t->first;

		st = emi_btree_leaf(t, leaf, pop ? EM_CACHE_WRITE : EM_CACHE_READ, &pin, err);
		if (st != EM_OK)
			return st;
		if (!pop || may_take(t, &pin))
			break;
		emi_btree_unpin_leaf(t, &pin, 0);
		st = emi_btree_unlean(t, NULL, leaf, err);
		if (st != EM_OK)
			return st;
	}
	slot = last ? pin.u.leaf->n - 1 : 0;
	if (pop)
		take(t, &pin, slot, record);
	else
		memcpy(record, emi_btree_record(t, &pin, slot), t->plan.record);
	emi_btree_unpin_leaf(t, &pin, pop);
	return EM_OK;
}
