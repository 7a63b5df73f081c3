/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_scan.c -- passing through a range of a B+-tree from its beginning to its end; see btree.h.
 *
 * Where it ends is known before the first leaf is read.  So all leaves of the range are read ahead, as far as there is
 * room for them, and no other ones.
 */
#include <string.h>

#include "container/btree.h"

#define AGAIN_SHARE 4u /* when this part of what may be read ahead is missing, more is */

typedef struct scan {
	em_btree *t;
	uint64_t end; /* the leaf where the range ends, or EMI_BTREE_NONE: with the last one */
	emi_btree_path path; /* to the last leaf that was read ahead */
	uint32_t passed; /* leaves */
	uint32_t ahead; /* leaves behind those that were read ahead */
	int all; /* there are no more of the range */
} scan;

static void read_ahead(scan *s, int here)
{
	const uint32_t most = emi_btree_ahead_most(s->t, s->passed);
	uint32_t some, n;

	if (s->all || s->ahead >= most - most / AGAIN_SHARE)
		return;
	some = most - s->ahead;
	n = emi_btree_ahead_up_to(s->t, &s->path, here, s->end, some, s->passed);
	s->all = n < some;
	s->ahead += n;
}

/* Is nothing in the range, as it ends before it begins? */
static int is_empty(const em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through)
{
	emi_pair first, last;
	int order;

	if (from == NULL || to == NULL)
		return 0;
	first.key = from->head;
	first.val = from->val;
	last.key = to->head;
	last.val = to->val;
	order = emi_pair_compare(&t->by.tie, &first, &last);
	return through ? order > 0 : order >= 0;
}

/* Find both ends, and pin the leaf where the first record is, or would be.  EM_NOT_FOUND: there is none. */
static em_status begin(scan *s, const emi_btree_probe *from, const emi_btree_probe *to, int through,
		       emi_btree_spot *spot, em_errinfo *err)
{
	em_btree *t = s->t;
	const int empty = is_empty(t, from, to, through);
	em_status st = emi_btree_compared(t, err);

	s->end = EMI_BTREE_NONE;
	if (st == EM_OK && (empty || t->n == 0))
		return EM_NOT_FOUND;
	s->all = t->height == 0;
	if (st == EM_OK && to != NULL) {
		st = emi_btree_way(t, to, through, &s->end, err);
		if (st == EM_OK)
			st = emi_btree_compared(t, err);
	}
	if (st == EM_OK)
		st = from != NULL ? emi_btree_path_of(t, from, &s->path, err) : emi_btree_path_first(t, &s->path, err);
	if (st != EM_OK)
		return st;
	read_ahead(s, 1);
	return from != NULL ? emi_btree_find(t, from, 0, EM_CACHE_READ, spot, err)
			    : emi_btree_leaf(t, t->first, EM_CACHE_READ, &spot->pin, err);
}

/* The records of a leaf that are in the range end before that slot. */
static em_status end_of(const scan *s, const emi_btree_spot *spot, const emi_btree_probe *to, int through,
			uint32_t *end, em_errinfo *err)
{
	em_btree *t = s->t;

	*end = spot->pin.u.leaf->n;
	if (to == NULL || spot->pin.id != s->end)
		return EM_OK;
	*end = t->form.kind->search(&t->form, emi_btree_place(t, &spot->pin), to, through);
	return emi_btree_compared(t, err);
}

em_status emi_btree_scan(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
			 emi_btree_scan_fn fn, void *arg, em_errinfo *err)
{
	emi_btree_spot spot;
	em_status st;
	scan s;

	memset(&s, 0, sizeof s);
	memset(&spot, 0, sizeof spot);
	s.t = t;
	st = begin(&s, from, to, through, &spot, err);
	while (st == EM_OK) {
		const uint64_t next = spot.pin.u.leaf->next;
		const int last = spot.pin.id == s.end || next == EMI_BTREE_NONE;
		uint32_t end;

		s.ahead -= s.ahead != 0;
		if (s.passed < UINT32_MAX)
			s.passed++;
		read_ahead(&s, 0);
		st = end_of(&s, &spot, to, through, &end, err);
		if (st == EM_OK && end > spot.slot)
			st = fn(t, arg, &spot, end - spot.slot, err);
		emi_btree_unpin_leaf(t, &spot.pin, 0);
		if (st != EM_OK || last)
			return st;
		st = emi_btree_leaf(t, next, EM_CACHE_READ, &spot.pin, err);
		spot.slot = 0;
	}
	return st == EM_NOT_FOUND ? EM_OK : st;
}
