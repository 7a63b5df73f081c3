/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_scan.c -- passing through ranges of a B+-tree from their beginnings to their ends; see btree.h.
 *
 * Ranges come in the order of their beginnings, so all that is read comes in the order of the leaves.  Those that
 * overlap are a part of the tree, whose leaves are passed once, whatever number of ranges they belong to.
 *
 * Where a part ends is known before its first leaf is read.  So all its leaves are read ahead, as far as there is room
 * for them, and no other ones; and then those of the next part, so that the disk has something to do between them.
 */
#include <string.h>

#include "container/btree.h"

/* Ranges that overlap. */
typedef struct part {
	uint32_t at;            /* the first of them ... */
	uint32_t next;          /* ... and the first one behind them */
	uint64_t end;           /* the leaf where the last of them ends, or EMI_BTREE_NONE: with the last leaf */
} part;

typedef struct scan {
	em_btree *t;
	emi_btree_ranges *r;
	emi_btree_scan_fn fn;
	void *arg;
	part here;              /* that is passed */
	uint32_t passing;       /* ranges that have begun and not ended: the first ones of the order */
	uint32_t begun;         /* ranges that have begun, or nothing is in them */
	uint32_t passed;        /* leaves */
	part far;               /* of which leaves are read ahead ... */
	emi_btree_path path;    /* ... and the way to the last of them that is */
	uint32_t ahead;         /* leaves behind those that are read ahead */
	int all;                /* there are no more */
} scan;

static const emi_btree_range *range_of(const scan *s, uint32_t i)
{
	return &s->r->range[s->r->order[i]];
}

/* Ranges that end before they begin have nothing in them. */
static void leave_out_empty(scan *s)
{
	emi_btree_ranges *r = s->r;
	uint32_t i, n = 0;

	if (!r->from || !r->to)
		return;
	for (i = 0; i < r->n; i++) {
		const int order = emi_btree_probe_compare(s->t, &range_of(s, i)->from, &range_of(s, i)->to);

		if (order < 0 || (order == 0 && r->through))
			r->order[n++] = r->order[i];
	}
	r->n = n;
}

/* Does a range begin before that end? */
static int begins_before(const scan *s, uint32_t i, const emi_btree_probe *end)
{
	return !s->r->from || emi_btree_probe_compare(s->t, &range_of(s, i)->from, end) < 0;
}

/* The part that begins with a range: which others overlap, and where they end. */
static em_status find_part(const scan *s, uint32_t at, part *p, em_errinfo *err)
{
	const emi_btree_probe *end = &range_of(s, at)->to;
	em_status st;

	p->at = at;
	p->end = EMI_BTREE_NONE;
	p->next = s->r->n;
	if (!s->r->to)
		return EM_OK;
	for (p->next = at + 1; p->next < s->r->n && begins_before(s, p->next, end); p->next++)
		if (emi_btree_probe_compare(s->t, end, &range_of(s, p->next)->to) < 0)
			end = &range_of(s, p->next)->to;
	st = emi_btree_compared(s->t, err);
	if (st == EM_OK)
		st = emi_btree_way(s->t, end, s->r->through, &p->end, err);
	return st == EM_OK ? emi_btree_compared(s->t, err) : st;
}

/* The way to the next leaf that is read ahead.  0: there is none, or what is needed to find it cannot be had. */
static int go_ahead(scan *s)
{
	em_btree *t = s->t;
	const uint32_t at = s->far.next;
	part p;

	if (at != 0 && s->path.id[0] != s->far.end && emi_btree_path_next(t, &s->path, NULL) == EM_OK)
		return 1;
	if (at == s->r->n || find_part(s, at, &p, NULL) != EM_OK)
		return 0;
	s->far = p;
	return (s->r->from ? emi_btree_path_of(t, &range_of(s, at)->from, &s->path, NULL)
			   : emi_btree_path_first(t, &s->path, NULL)) == EM_OK;
}

static void read_ahead(scan *s)
{
	const uint32_t most = emi_btree_ahead_most(s->t, s->passed);
	emi_btree_list l;

	if (s->all || s->ahead >= emi_btree_ahead_enough(most))
		return;
	l.n = 0;
	while (s->ahead + l.n < most && !s->all) {
		s->all = !go_ahead(s);
		if (!s->all)
			emi_btree_list_add(s->t, &l, s->path.id[0]);
	}
	emi_btree_list_read(s->t, &l, emi_btree_ahead_part(s->t, s->passed, l.n));
	s->ahead += l.n;
}

/* The records of a leaf that are in a range end before that slot; n: and more may be in the next leaf. */
static uint32_t end_in(const scan *s, const emi_btree_pin *leaf, const emi_btree_range *r)
{
	em_btree *t = s->t;
	const uint32_t n = leaf->u.leaf->n;
	int last;

	if (!s->r->to)
		return n;
	last = emi_collation_compare_to(&t->by, emi_btree_record(t, leaf, n - 1), r->to.head, r->to.val);
	if (last < 0 || (last == 0 && s->r->through))
		return n;
	return t->form.kind->search(&t->form, emi_btree_place(t, leaf), &r->to, s->r->through);
}

/* What a leaf has of a range, from a slot on.  The range goes on in the next leaf if that is all of it. */
static em_status give(scan *s, const emi_btree_pin *leaf, uint32_t slot, uint32_t number, em_errinfo *err)
{
	const emi_btree_spot spot = { *leaf, slot };
	const uint32_t end = end_in(s, leaf, &s->r->range[number]);
	em_status st = emi_btree_compared(s->t, err);

	if (st == EM_OK && end > slot)
		st = s->fn(s->t, s->arg, s->r->first + number, &spot, end - slot, err);
	if (end == leaf->u.leaf->n)
		s->r->order[s->passing++] = number;
	return st;
}

/* What a leaf has of all ranges of the part. */
static em_status give_all(scan *s, const emi_btree_pin *leaf, em_errinfo *err)
{
	em_btree *t = s->t;
	const uint32_t n = leaf->u.leaf->n, before = s->passing;
	em_status st = EM_OK;
	uint32_t i;

	if (n == 0)
		return EM_OK;
	s->passing = 0;
	for (i = 0; i < before && st == EM_OK; i++)
		st = give(s, leaf, 0, s->r->order[i], err);
	while (st == EM_OK && s->begun < s->here.next) {
		uint32_t slot = 0;

		if (s->r->from)
			slot = t->form.kind->search(&t->form, emi_btree_place(t, leaf), &range_of(s, s->begun)->from,
						    0);
		st = emi_btree_compared(t, err);
		if (slot == n)
			break;
		if (st == EM_OK)
			st = give(s, leaf, slot, s->r->order[s->begun++], err);
	}
	return st;
}

/* Pin the first leaf of a part. */
static em_status begin_part(scan *s, emi_btree_spot *spot, em_errinfo *err)
{
	const uint32_t at = s->here.next;
	em_status st = EM_OK;

	read_ahead(s);
	if (s->far.at == at && s->far.next > at)
		s->here = s->far;
	else
		st = find_part(s, at, &s->here, err);
	if (st != EM_OK)
		return st;
	return s->r->from ? emi_btree_find(s->t, &range_of(s, at)->from, 0, EM_CACHE_READ, spot, err)
			  : emi_btree_leaf(s->t, s->t->first, EM_CACHE_READ, &spot->pin, err);
}

static em_status pass(scan *s, em_errinfo *err)
{
	emi_btree_spot spot;
	em_status st;

	memset(&spot, 0, sizeof spot);
	st = begin_part(s, &spot, err);
	while (st == EM_OK) {
		const uint64_t next = spot.pin.u.leaf->next;
		const int last = spot.pin.id == s->here.end || next == EMI_BTREE_NONE;

		s->ahead -= s->ahead != 0;
		if (s->passed < UINT32_MAX)
			s->passed++;
		read_ahead(s);
		st = give_all(s, &spot.pin, err);
		emi_btree_unpin_leaf(s->t, &spot.pin, 0);
		if (st != EM_OK || last)
			break;
		st = emi_btree_leaf(s->t, next, EM_CACHE_READ, &spot.pin, err);
	}
	s->passing = 0;
	s->begun = s->here.next;
	return st;
}

em_status emi_btree_scan(em_btree *t, emi_btree_ranges *r, emi_btree_scan_fn fn, void *arg, em_errinfo *err)
{
	em_status st;
	scan s;

	memset(&s, 0, sizeof s);
	s.t = t;
	s.r = r;
	s.fn = fn;
	s.arg = arg;
	s.all = t->height == 0;
	leave_out_empty(&s);
	st = emi_btree_compared(t, err);
	while (st == EM_OK && t->n != 0 && s.here.next < r->n)
		st = pass(&s, err);
	return st;
}

em_status emi_btree_scan_one(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, int through,
			     emi_btree_scan_fn fn, void *arg, em_errinfo *err)
{
	emi_btree_range range;
	emi_btree_ranges one;
	uint32_t order = 0;

	memset(&range, 0, sizeof range);
	memset(&one, 0, sizeof one);
	if (from != NULL)
		range.from = *from;
	if (to != NULL)
		range.to = *to;
	one.range = &range;
	one.order = &order;
	one.n = 1;
	one.from = from != NULL;
	one.to = to != NULL;
	one.through = through;
	return emi_btree_scan(t, &one, fn, arg, err);
}
