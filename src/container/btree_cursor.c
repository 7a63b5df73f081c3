/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_cursor.c -- where a cursor of a B+-tree goes; see btree.h, and btree_cursors.h for how it stays there.
 *
 * A leaf is pinned only within a call.  What fails leaves the cursor where it is.
 */
#include <string.h>

#include "container/btree.h"

#define SAME_SHARE 16u          /* ranges that differ by no more than this part are of one length */
#define NEAR_MOST 32u           /* leaves that are guessed to be wanted one by one: as many as were passed, ... */
#define FAR_SHARE 4u            /* ... and more than that when they are this part of these */

/* It is where it did not come to by going on. */
static void begin_anew(em_btree_cursor *c)
{
	c->passed = 0;
	c->ahead = 0;
	c->asked = 0;
}

/* A range ends, and another one begins. */
static void begin_range(em_btree_cursor *c)
{
	c->passed_before[1] = c->passed_before[0];
	c->passed_before[0] = c->passed;
	c->more_before[1] = c->more_before[0];
	c->more_before[0] = c->more;
	c->more = 0;
	c->went_on = 0;
	begin_anew(c);
}

static void stand_outside(em_btree_cursor *c, int forward)
{
	emi_btree_cursor_stand(c, forward ? EMI_CURSOR_END : EMI_CURSOR_BEGIN, 0, 0, NULL);
	begin_anew(c);
}

/* On a record, whose leaf is not pinned any more then. */
static void stand_on(em_btree_cursor *c, emi_btree_pin *pin, uint32_t slot)
{
	emi_btree_cursor_stand(c, EMI_CURSOR_ON, pin->id, slot, NULL);
	emi_btree_unpin_leaf(c->tree, pin, 0);
}

static em_status seek_end(em_btree_cursor *c, int last, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_pin pin = { 0 };
	em_status st;

	if (t->n == 0) {
		stand_outside(c, !last);
		return EM_NOT_FOUND;
	}
	st = emi_btree_leaf(t, last ? t->last : t->first, EM_CACHE_READ, &pin, err);
	if (st == EM_OK)
		stand_on(c, &pin, last ? pin.u.leaf->n - 1 : 0);
	return st;
}

/* How long a range is taken to be that comes behind two others: as the shorter one, but if they are nearly the same as
 * the longer one. */
static uint32_t usual_of(const uint32_t two[2])
{
	const uint32_t least = two[0] < two[1] ? two[0] : two[1], most = two[0] < two[1] ? two[1] : two[0];

	return most - least <= most / SAME_SHARE ? most : least;
}

/* It is going to be where a probe leads to, and has come from there as far as usual when the last two times that it was
 * sought are anything to go by. */
static void expect_range(em_btree_cursor *c, const emi_btree_probe *probe)
{
	const uint32_t usual = usual_of(c->passed_before), most = emi_btree_ahead_most(c->tree, c->passed);

	if (usual == 0 || !c->forward)
		return;
	c->ahead = usual < most ? usual : most;
	emi_btree_ahead_from(c->tree, probe, c->ahead, emi_btree_ahead_part(c->tree, c->passed, usual));
}

static em_status seek_after(em_btree_cursor *c, const emi_btree_probe *probe, int upper, em_errinfo *err)
{
	emi_btree_spot spot;
	em_status st;

	if (!upper)
		expect_range(c, probe);
	st = emi_btree_bound(c->tree, probe, upper, EM_CACHE_READ, &spot, err);
	if (st == EM_OK)
		stand_on(c, &spot.pin, spot.slot);
	else if (st == EM_NOT_FOUND)
		stand_outside(c, 1);
	return st;
}

static em_status seek_before(em_btree_cursor *c, const emi_btree_probe *probe, int upper, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_spot spot;
	em_status st = EM_NOT_FOUND;

	memset(&spot, 0, sizeof spot);
	if (t->n != 0)
		st = emi_btree_find(t, probe, upper, EM_CACHE_READ, &spot, err);
	if (st == EM_OK && spot.slot == 0) {
		uint64_t prev;

		st = emi_btree_prev(t, &spot.pin, &prev, err);
		emi_btree_unpin_leaf(t, &spot.pin, 0);
		if (st == EM_OK)
			st = prev != EMI_BTREE_NONE ? emi_btree_leaf(t, prev, EM_CACHE_READ, &spot.pin, err)
						    : EM_NOT_FOUND;
		spot.slot = st == EM_OK ? spot.pin.u.leaf->n : 0;
	}
	if (st == EM_OK)
		stand_on(c, &spot.pin, spot.slot - 1);
	else if (st == EM_NOT_FOUND)
		stand_outside(c, 0);
	return st;
}

static em_status seek_equal(em_btree_cursor *c, const emi_btree_probe *probe, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_spot spot;
	int equal = 0;
	em_status st = emi_btree_bound(t, probe, 0, EM_CACHE_READ, &spot, err);

	if (st == EM_OK) {
		equal = emi_btree_is(t, &spot, probe);
		st = emi_btree_compared(t, err);
	}
	if (st == EM_OK && equal) {
		stand_on(c, &spot.pin, spot.slot);
		return EM_OK;
	}
	emi_btree_unpin_leaf(t, &spot.pin, 0);
	if (st != EM_OK && st != EM_NOT_FOUND)
		return st;
	if (t->n == 0) {
		stand_outside(c, 1);
		return EM_NOT_FOUND;
	}
	/* Where a record with that key would go. */
	st = emi_btree_find(t, probe, 1, EM_CACHE_READ, &spot, err);
	if (st != EM_OK)
		return st;
	emi_btree_cursor_stand(c, EMI_CURSOR_GAP, spot.pin.id, spot.slot, probe->record);
	emi_btree_unpin_leaf(t, &spot.pin, 0);
	return EM_NOT_FOUND;
}

em_status emi_btree_seek(em_btree_cursor *c, const emi_btree_probe *probe, uint32_t how, em_errinfo *err)
{
	begin_range(c);
	switch (how) {
	case EM_BTREE_GE:
		return probe == NULL ? seek_end(c, 0, err) : seek_after(c, probe, 0, err);
	case EM_BTREE_GT:
		return seek_after(c, probe, 1, err);
	case EM_BTREE_LE:
		return probe == NULL ? seek_end(c, 1, err) : seek_before(c, probe, 1, err);
	case EM_BTREE_LT:
		return seek_before(c, probe, 0, err);
	default:
		return seek_equal(c, probe, err);
	}
}

em_status emi_btree_cursor_get(em_btree_cursor *c, void *record, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_pin pin = { 0 };
	em_status st;

	if (c->state != EMI_CURSOR_ON)
		return EM_NOT_FOUND;
	if (record == NULL)
		return EM_OK;
	st = emi_btree_leaf(t, c->leaf, EM_CACHE_READ, &pin, err);
	if (st != EM_OK)
		return st;
	memcpy(record, emi_btree_record(t, &pin, c->slot), t->plan.record);
	emi_btree_unpin_leaf(t, &pin, 0);
	return EM_OK;
}

/* It goes on that way; came: to another leaf. */
static void go_on(em_btree_cursor *c, int forward, int came)
{
	if (c->forward != forward) {
		begin_anew(c);
		c->more = 0;
		memset(c->passed_before, 0, sizeof c->passed_before);
		memset(c->more_before, 0, sizeof c->more_before);
	}
	c->forward = forward;
	c->more += (uint32_t)(came && c->went_on && c->more < UINT32_MAX);
	c->passed += (uint32_t)(came && c->passed < UINT32_MAX);
	c->ahead -= (uint32_t)(came && c->ahead != 0);
}

/* How many leaves it will want behind those of a call for n records, to guess by how many it has passed: the more, the
 * more, so that little is read in vain.  Who asks for many at a time has those under way together, and needs fewer.
 * The first such call may be all. */
static uint32_t guess(const em_btree_cursor *c, uint64_t n)
{
	const uint32_t far = c->passed / FAR_SHARE, near = c->passed < NEAR_MOST ? c->passed : NEAR_MOST;

	if (n > 1)
		return c->asked == 0 ? 0 : far;
	return far > near ? far : near;
}

/* Leaves that are going to be wanted by a call for n records that needs some of them, and behind it.  A call for fewer
 * than the one before is the last of a range.  A range is taken to be as long as usual. */
static uint64_t soon(const em_btree_cursor *c, uint64_t some, uint64_t n)
{
	const uint32_t usual = usual_of(c->more_before);
	uint64_t rest;

	if (n > 1 && n < c->asked)
		return some;
	if (usual == 0 || c->more > usual)
		return some + guess(c, n);
	rest = usual - c->more;
	if (!c->went_on)
		return some + rest;
	return some > rest ? some : rest;
}

/* It is in a leaf, and `wanted' more records of a call for n are going to be.  Have the leaves read ahead that those
 * need, and some more.  When most of them are, all is well for some leaves: so what this takes does not grow with their
 * number.  But when a call begins, all are asked for: those that are missing come while others are copied. */
static void read_ahead(em_btree_cursor *c, const emi_btree_spot *s, uint64_t wanted, uint64_t n)
{
	const uint32_t here = s->pin.u.leaf->n, there = c->forward ? here - s->slot : s->slot + 1;
	const uint32_t most = emi_btree_ahead_most(c->tree, c->passed);
	const uint64_t leaves = soon(c, wanted > there ? (wanted - there - 1) / here + 1 : 0, n);
	const uint32_t ahead = leaves < most ? (uint32_t)leaves : most;

	if (c->ahead >= (wanted == n ? ahead : emi_btree_ahead_enough(ahead)))
		return;
	emi_btree_ahead(c->tree, &s->pin, c->forward, ahead, emi_btree_ahead_part(c->tree, c->passed, leaves));
	c->ahead = ahead;
}

/* Pin the leaf where the next records that way are; *came: it is another one.  EM_END: there are none. */
static em_status next_spot(em_btree_cursor *c, int forward, emi_btree_spot *s, int *came, em_errinfo *err)
{
	em_btree *t = c->tree;
	uint64_t leaf = c->leaf;
	em_status st;

	memset(s, 0, sizeof *s);
	*came = 0;
	if (t->n == 0 || c->state == (forward ? EMI_CURSOR_END : EMI_CURSOR_BEGIN))
		return EM_END;
	if (c->state == EMI_CURSOR_BEGIN || c->state == EMI_CURSOR_END)
		leaf = forward ? t->first : t->last;
	st = emi_btree_leaf(t, leaf, EM_CACHE_READ, &s->pin, err);
	if (st != EM_OK)
		return st;
	s->slot = c->slot + (c->state == EMI_CURSOR_ON && forward);
	if (c->state == EMI_CURSOR_BEGIN || c->state == EMI_CURSOR_END) {
		s->slot = forward ? 0 : s->pin.u.leaf->n;
		*came = 1;
	}
	while (s->slot == (forward ? s->pin.u.leaf->n : 0)) {
		leaf = s->pin.u.leaf->next;
		st = forward ? EM_OK : emi_btree_prev(t, &s->pin, &leaf, err);
		emi_btree_unpin_leaf(t, &s->pin, 0);
		if (st != EM_OK)
			return st;
		if (leaf == EMI_BTREE_NONE)
			return EM_END;
		st = emi_btree_leaf(t, leaf, EM_CACHE_READ, &s->pin, err);
		if (st != EM_OK)
			return st;
		s->slot = forward ? 0 : s->pin.u.leaf->n;
		*came = 1;
	}
	s->slot -= !forward;
	return EM_OK;
}

/* Copy what is in one leaf. */
static uint32_t copy(em_btree *t, const emi_btree_spot *s, int forward, char *records, uint64_t n)
{
	const uint32_t there = forward ? s->pin.u.leaf->n - s->slot : s->slot + 1;
	const uint32_t some = n < there ? (uint32_t)n : there;
	uint32_t i;

	if (records == NULL)
		return some;
	if (forward)
		t->form.kind->copy(&t->form, emi_btree_place(t, &s->pin), s->slot, some, records);
	else
		for (i = 0; i < some; i++)
			memcpy(records + i * t->plan.record, emi_btree_record(t, &s->pin, s->slot - i), t->plan.record);
	return some;
}

em_status emi_btree_cursor_step(em_btree_cursor *c, int forward, void *records, uint64_t n, uint64_t *got,
				em_errinfo *err)
{
	em_btree *t = c->tree;
	char *to = records;
	em_status st = EM_OK;

	for (*got = 0; *got < n;) {
		emi_btree_spot s;
		uint32_t some;
		int came;

		st = next_spot(c, forward, &s, &came, err);
		if (st != EM_OK)
			break;
		go_on(c, forward, came);
		if (came || n > 1)
			read_ahead(c, &s, n - *got, n);
		some = copy(t, &s, forward, to, n - *got);
		stand_on(c, &s.pin, forward ? s.slot + some - 1 : s.slot - (some - 1));
		*got += some;
		if (to != NULL)
			to += some * t->plan.record;
	}
	c->asked = n > 1 ? n : c->asked;
	c->went_on = 1;
	if (st == EM_END && *got == 0)
		stand_outside(c, forward);
	/* What was had is had; the next call tells. */
	return *got != 0 ? EM_OK : st;
}

em_status emi_btree_cursor_put(em_btree_cursor *c, const void *record, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_probe probe;
	emi_btree_pin pin = { 0 };
	int same;
	em_status st;

	if (c->state != EMI_CURSOR_ON)
		return EM_NOT_FOUND;
	st = emi_btree_probe_key(t, record, 0, &probe, err);
	if (st == EM_OK)
		st = emi_btree_leaf(t, c->leaf, EM_CACHE_WRITE, &pin, err);
	if (st != EM_OK)
		return st;
	same = emi_collation_compare_to(&t->by, emi_btree_record(t, &pin, c->slot), probe.head, probe.val) == 0;
	st = emi_btree_compared(t, err);
	if (st == EM_OK && !same)
		st = emi_fail(err, EM_ERR_INVAL, "the record has another key");
	if (st == EM_OK)
		memcpy(emi_btree_record(t, &pin, c->slot), record, t->plan.record);
	emi_btree_unpin_leaf(t, &pin, st == EM_OK);
	return st;
}
