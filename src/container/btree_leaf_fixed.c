/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_leaf_fixed.c -- leaves with records of one size; see btree_leaf.h.
 *
 * Records are dense: n of them lie in the first n places behind the head.  With an array, at the end of the leaf, slot
 * i is in place slot[i].  An insertion appends a record and moves numbers; when a record is taken out, the one in the
 * last place moves to the place that is free.
 *
 * A leaf without an array has room for some more records.  So one that was filled in order is full to the last byte.
 * One that is nearly full never gets an array, as that would take the places that were left free in it: of records of
 * 8 bytes 3273 lie in 32 KiB with an array, and 4092 without.  Records are moved in it until it is split.
 */
#include "container/btree_leaf.h"

#include <string.h>

#include "base/copy.h"

#define PLACES_MOST UINT16_MAX  /* numbers of places have two bytes */
#define RUN_LEAST 3u            /* records that came in order, so that more may, ... */
#define RUN_SHARE 8u            /* ... or, if that is more, this part of a leaf */
#define PARTS_SHARE 16u         /* two leaves stay two if there is room for this part of one more */
#define WIDE_LEAST 64u          /* slots: of fewer an eighth is no less work than a fourth */
#define MOVED_LEAST 1024u       /* bytes: no more are moved rather than begin an array */
#define ARRAY_SHARE 16u         /* with the array there is room for this part more of what there is, or none is begun */

/* With parameters that are known where it is called. */
#define LEAF_INLINE static inline __attribute__((always_inline))

typedef uint16_t place;

static char *at(const emi_leaf_form *f, emi_leaf_place p, size_t i)
{
	return (char *)(p.leaf + 1) + i * f->record;
}

static uint32_t places(size_t bytes, size_t each)
{
	const size_t n = (bytes - sizeof(emi_leaf)) / each;

	return n < PLACES_MOST ? (uint32_t)n : PLACES_MOST;
}

uint32_t emi_leaf_most(size_t bytes, size_t record)
{
	return places(bytes, record + sizeof(place));
}

static place *slots(emi_leaf_place p)
{
	return (place *)(void *)((char *)p.leaf + (p.bytes & ~1u)) - p.most;
}

/* One record; the usual sizes without a call. */
LEAF_INLINE void copy_record(void *to, const void *from, size_t n)
{
	if (!emi_copy_usual(to, from, n))
		emi_copy(to, from, n);
}

static int has_slots(emi_leaf_place p)
{
	return (p.leaf->flags & EMI_LEAF_SLOTS) != 0;
}

static char *record_in(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot)
{
	return at(f, p, has_slots(p) ? slots(p)[slot] : slot);
}

static void init(const emi_leaf_form *f, emi_leaf_place p)
{
	(void)f;
	memset(p.leaf, 0, sizeof *p.leaf);
	p.leaf->prev = p.leaf->next = EMI_BTREE_NONE;
}

/* Is a record before the probe, or, upper, not behind it? */
static inline int before(const emi_collation *by, const char *record, const emi_btree_probe *probe, int upper)
{
	const uint64_t head = by->codec->key(by->order, record);
	int c;

	if (head != probe->head)
		return head < probe->head;
	if (by->tie.fn == NULL)
		return upper;
	c = by->tie.fn(by->tie.arg, emi_collation_val(by, record), probe->val);
	return upper ? c <= 0 : c < 0;
}

/* What a search for a head looks at; all but the base are the same in all steps, and known to the compiler where that
 * pays. */
typedef struct heads {
	const char *base;       /* the number of the first place, ... */
	size_t step;            /* ... and how far it is to the next */
	const place *slot;      /* NULL: in the order of their places */
	uint64_t flip;
} heads;

LEAF_INLINE uint32_t is_less(const heads *h, size_t step, size_t i, uint64_t head, unsigned width, int swap, int slots)
{
	return (emi_leaf_number_at(h->base + (slots ? h->slot[i] : i) * step, width, swap) ^ h->flip) < head;
}

/* Slots q - 1, 2 q - 1, ... up to the one that is `last': how many of them are less. */
LEAF_INLINE uint32_t count_less(const heads *h, size_t step, size_t q, unsigned last, uint64_t head, unsigned width,
				int swap, int slots)
{
	uint32_t less = is_less(h, step, q - 1, head, width, swap, slots) +
			is_less(h, step, 2 * q - 1, head, width, swap, slots) +
			is_less(h, step, 3 * q - 1, head, width, swap, slots);

	if (last == 3)
		return less;
	less += is_less(h, step, 4 * q - 1, head, width, swap, slots) +
		is_less(h, step, 5 * q - 1, head, width, swap, slots);
	return less + is_less(h, step, 6 * q - 1, head, width, swap, slots) +
	       is_less(h, step, 7 * q - 1, head, width, swap, slots);
}

/* Go on to slots that are so many further. */
LEAF_INLINE size_t advance(heads *h, size_t step, size_t n, int slots)
{
	if (slots)
		h->slot += n;
	else
		h->base += n * step;
	return n;
}

/* The first slot whose head is not less.  Each step looks at seven places, whose loads wait for one another no more
 * than that of one would, and leaves an eighth; with fewer slots, whose loads take less time than the instructions,
 * at three.  There is no branch on what they have, so none is foreseen wrongly. */
LEAF_INLINE uint32_t search_heads(heads h, size_t step, size_t n, uint64_t head, unsigned width, int swap, int slots)
{
	size_t from = 0, q, i;
	uint32_t less = 0;

	for (; n >= WIDE_LEAST; n -= 7 * q) {
		q = n / 8;
		from += advance(&h, step, q * count_less(&h, step, q, 7, head, width, swap, slots), slots);
	}
	for (; n >= 4; n -= 3 * q) {
		q = n / 4;
		from += advance(&h, step, q * count_less(&h, step, q, 3, head, width, swap, slots), slots);
	}
	for (i = 0; i < n; i++)
		less += is_less(&h, step, i, head, width, swap, slots);
	return (uint32_t)from + less;
}

/* A multiplication for each place that is looked at takes as long as the rest, so bare numbers have a loop of their
 * own. */
LEAF_INLINE uint32_t search_width(const heads *h, uint32_t n, uint64_t head, unsigned width, int swap)
{
	if (h->step == width)
		return h->slot != NULL ? search_heads(*h, width, n, head, width, swap, 1)
				       : search_heads(*h, width, n, head, width, swap, 0);
	return h->slot != NULL ? search_heads(*h, h->step, n, head, width, swap, 1)
			       : search_heads(*h, h->step, n, head, width, swap, 0);
}

static uint32_t search_number(const emi_leaf_form *f, emi_leaf_place p, uint64_t head)
{
	const emi_number *m = &f->number;
	const heads h = { at(f, p, 0) + m->at, f->record, has_slots(p) ? slots(p) : NULL, m->flip };
	const uint32_t n = p.leaf->n;

	/* What comes in order comes last. */
	if (n != 0 && emi_leaf_head(m, record_in(f, p, n - 1)) < head)
		return n;
	if (m->width == 4)
		return m->swap ? search_width(&h, n, head, 4, 1) : search_width(&h, n, head, 4, 0);
	return m->swap ? search_width(&h, n, head, 8, 1) : search_width(&h, n, head, 8, 0);
}

static uint32_t search_any(const emi_leaf_form *f, emi_leaf_place p, const emi_btree_probe *probe, int upper)
{
	const place *slot = has_slots(p) ? slots(p) : NULL;
	uint32_t from = 0, n = p.leaf->n;

	while (n != 0) {
		const uint32_t half = n / 2, mid = from + half;
		const int less = before(f->by, at(f, p, slot != NULL ? slot[mid] : mid), probe, upper);

		from = less ? mid + 1 : from;
		n = less ? n - half - 1 : half;
	}
	return from;
}

static uint32_t search(const emi_leaf_form *f, emi_leaf_place p, const emi_btree_probe *probe, int upper)
{
	if (f->is_number && f->by->tie.fn == NULL) {
		if (!upper)
			return search_number(f, p, probe->head);
		return probe->head != UINT64_MAX ? search_number(f, p, probe->head + 1) : p.leaf->n;
	}
	return search_any(f, p, probe, upper);
}

/* Room for n records, as they lie.  Without a division, as it is asked for each that comes. */
static int has_room(const emi_leaf_form *f, emi_leaf_place p, size_t n, int slots)
{
	return slots ? n <= p.most : n <= PLACES_MOST && n * f->record <= p.bytes - sizeof(emi_leaf);
}

static int full(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot)
{
	(void)slot;
	return !has_room(f, p, (size_t)p.leaf->n + 1, has_slots(p));
}

/* Have the array for n records, if there is room for it, and for some more. */
static int make_slots(const emi_leaf_form *f, emi_leaf_place p, uint32_t n)
{
	place *slot = slots(p);
	uint32_t i;

	if (!has_room(f, p, (size_t)n + n / ARRAY_SHARE, 1))
		return 0;
	for (i = 0; i < p.leaf->n; i++)
		slot[i] = (place)i;
	p.leaf->flags |= EMI_LEAF_SLOTS;
	return 1;
}

/* A record came into a slot: behind the one that came before it, or before that, or elsewhere. */
static void note_run(emi_leaf *leaf, uint32_t slot)
{
	const uint32_t down = slot == leaf->last ? EMI_LEAF_DOWN : 0;

	if (!down && slot != leaf->last + 1)
		leaf->run = 0;
	else
		leaf->run = (leaf->flags & EMI_LEAF_DOWN) == down ? leaf->run + 1 : 1;
	leaf->flags = (leaf->flags & ~EMI_LEAF_DOWN) | down;
	leaf->last = slot;
}

static void insert(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, const void *record)
{
	const uint32_t n = p.leaf->n;
	const size_t behind = (n - slot) * f->record;

	if (!has_slots(p) && (behind <= MOVED_LEAST || !make_slots(f, p, n + 1))) {
		memmove(at(f, p, slot + 1), at(f, p, slot), behind);
		copy_record(at(f, p, slot), record, f->record);
	} else {
		place *s = slots(p) + slot;

		memmove(s + 1, s, (n - slot) * sizeof *s);
		*s = (place)n;
		copy_record(at(f, p, n), record, f->record);
	}
	p.leaf->n = n + 1;
	note_run(p.leaf, slot);
}

static void remove_slot(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot)
{
	place *s = slots(p);
	const place hole = s[slot];
	const uint32_t n = --p.leaf->n;
	uint32_t i;

	memmove(s + slot, s + slot + 1, (n - slot) * sizeof *s);
	if (hole == n)
		return;
	for (i = 0; s[i] != n; i++)
		continue;
	memcpy(at(f, p, hole), at(f, p, n), f->record);
	s[i] = hole;
}

static void remove_record(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot)
{
	const uint32_t n = p.leaf->n;
	const size_t behind = (n - 1 - slot) * f->record;

	if (!has_slots(p) && (behind <= MOVED_LEAST || !make_slots(f, p, n))) {
		memmove(at(f, p, slot), at(f, p, slot + 1), behind);
		p.leaf->n--;
	} else {
		remove_slot(f, p, slot);
	}
	if (p.leaf->n == 0)
		p.leaf->flags &= ~EMI_LEAF_SLOTS;
}

static int in_order(const emi_leaf_form *f, emi_leaf_place p)
{
	(void)f;
	return !has_slots(p);
}

static void copy(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, uint32_t n, void *records)
{
	char *to = records;
	const place *s;
	uint32_t i;

	if (!has_slots(p)) {
		memcpy(to, at(f, p, slot), n * f->record);
		return;
	}
	s = slots(p) + slot;
	for (i = 0; i < n; i++, to += f->record)
		copy_record(to, at(f, p, s[i]), f->record);
}

static void append(const emi_leaf_form *f, emi_leaf_place p, const void *records, uint32_t n)
{
	const uint32_t had = p.leaf->n;
	place *s = slots(p);
	uint32_t i;

	memcpy(at(f, p, had), records, n * f->record);
	for (i = had; has_slots(p) && i < had + n; i++)
		s[i] = (place)i;
	p.leaf->n = had + n;
}

static uint32_t room(const emi_leaf_form *f, emi_leaf_place p)
{
	const uint32_t n = places(p.bytes, f->record + (has_slots(p) ? sizeof(place) : 0));

	return n > p.leaf->n ? n - p.leaf->n : 0;
}

/* The records in the order of their places, as are those from `from' on, which the first n become. */
static void be_in_order(const emi_leaf_form *f, emi_leaf_place p, uint32_t from, uint32_t n, char *tmp)
{
	if (has_slots(p) || from != 0) {
		copy(f, p, from, n, tmp);
		memcpy(at(f, p, 0), tmp, n * f->record);
	}
	p.leaf->flags &= ~EMI_LEAF_SLOTS;
	p.leaf->n = n;
}

static void share(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right, uint32_t n, void *tmp)
{
	const uint32_t l = left.leaf->n, r = right.leaf->n;

	if (n >= l) {
		be_in_order(f, left, 0, l, tmp);
		copy(f, right, 0, n - l, at(f, left, l));
		be_in_order(f, right, n - l, r - (n - l), tmp);
	} else {
		be_in_order(f, right, 0, r, tmp);
		memmove(at(f, right, l - n), at(f, right, 0), r * f->record);
		copy(f, left, n, l - n, at(f, right, 0));
		right.leaf->n = r + (l - n);
		be_in_order(f, left, 0, n, tmp);
	}
	left.leaf->n = n;
}

static uint32_t shares(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right)
{
	const uint32_t n = left.leaf->n + right.leaf->n, few = 2 * f->least + 1;
	const uint32_t one = f->most / 3 * 2 > few ? f->most / 3 * 2 : few;

	return n <= one ? n : n / 2;
}

/* What comes in order goes on at the end of a leaf, or at its beginning.  But few leaves may become so empty by that.
 * What descends can only come before all of a leaf that is first of all below a separator: so of those before it the
 * last one comes with it, and the next time that one is alone. */
static uint32_t cut(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, int *runs)
{
	const uint32_t n = p.leaf->n, enough = n / RUN_SHARE > RUN_LEAST ? n / RUN_SHARE : RUN_LEAST;
	const int down = (p.leaf->flags & EMI_LEAF_DOWN) != 0;

	(void)f;
	*runs = 1;
	if (slot == n)
		return slot - 1;
	if (slot == 0)
		return 1;
	if (p.leaf->run >= enough) {
		if (!down && slot == p.leaf->last + 1 && slot >= n / 2)
			return slot;
		if (down && slot == p.leaf->last)
			return slot > 1 ? slot - 1 : 1;
	}
	*runs = 0;
	return n / 2;
}

static uint32_t parts(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right)
{
	const uint32_t few = f->most / PARTS_SHARE > 2 ? f->most / PARTS_SHARE : 2;

	return left.leaf->n + right.leaf->n + few <= 2 * f->most ? 2 : 3;
}

static int lean(const emi_leaf_form *f, emi_leaf_place p)
{
	return p.leaf->n <= f->least;
}

static int damaged(const emi_leaf_form *f, emi_leaf_place p)
{
	const place *s = slots(p);
	uint32_t i;

	if ((p.leaf->flags & ~(EMI_LEAF_SLOTS | EMI_LEAF_DOWN)) != 0 || !has_room(f, p, p.leaf->n, has_slots(p)))
		return 1;
	for (i = 0; has_slots(p) && i < p.leaf->n; i++)
		if (s[i] >= p.leaf->n)
			return 1;
	return 0;
}

const emi_leaf_kind emi_leaf_fixed = { init, search, record_in, full, insert, remove_record, in_order, copy, append,
				       room, share, shares, cut, parts, lean, damaged };
