/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_leaf.h -- leaves of B+-trees: sorted records in a block.
 *
 * What can be done to a leaf is a table of functions, so that leaves of another kind may stand in its place: what is
 * above knows slots, which are the places of records in their order, and asks a leaf whether there is room.  It knows
 * no addresses and no sizes.
 *
 * The one kind that there is (btree_leaf_fixed.c) has records of one size.  They lie side by side in their order as
 * long as it came so: when they were loaded, or inserted one behind the other.  When one has to go between others, the
 * leaf gets an array of numbers, two bytes for each record, which has the order; then those are moved, and not the
 * records.  A leaf that is split is two that lie in order again.
 *
 * A leaf may lie in memory of any size, as the root does that grows.
 */
#ifndef EMI_BTREE_LEAF_H
#define EMI_BTREE_LEAF_H

#include <string.h>

#include "key/collation.h"

#define EMI_BTREE_NONE UINT64_MAX /* no block */
#define EMI_LEAF_LEAST 4u       /* records that a leaf of any history has room for, at least */

/* What a leaf begins with. */
typedef struct emi_leaf {
	uint32_t n;             /* records */
	uint32_t flags;         /* EMI_LEAF_... */
	uint64_t prev;          /* the leaf before it, by its number, or what was that once: see emi_btree_prev() */
	uint64_t next;          /* the leaf behind it */
	uint32_t last;          /* the slot of the last record that came, ... */
	uint32_t run;           /* ... and how many before it came one behind the other, or one before the other */
} emi_leaf;

#define EMI_LEAF_SLOTS 1u       /* an array has the order */
#define EMI_LEAF_DOWN 2u        /* the run is one that descends */

/* A key that is looked for: of a record, or of its first bytes. */
typedef struct emi_btree_probe {
	uint64_t head;          /* what emi_collation_key() and ..._val() say of it */
	uint64_t val;
	const void *record;
} emi_btree_probe;

/* Where a leaf lies, and how much of it there is.  Of two words, so that it is handed on in registers. */
typedef struct emi_leaf_place {
	emi_leaf *leaf;
	uint32_t bytes;
	uint32_t most;          /* emi_leaf_most() */
} emi_leaf_place;

/* What all leaves of a tree have in common. */
typedef struct emi_leaf_kind emi_leaf_kind;

typedef struct emi_leaf_form {
	const emi_leaf_kind *kind;
	const emi_collation *by;
	size_t record;          /* bytes of a record */
	emi_number number;      /* what heads are, if ... */
	int is_number;          /* ... they are that */
	uint32_t most;          /* records that any whole leaf has room for ... */
	uint32_t least;         /* ... and those that are few */
} emi_leaf_form;

struct emi_leaf_kind {
	/* An empty leaf. */
	void (*init)(const emi_leaf_form *f, emi_leaf_place p);
	/* The first slot whose record is not before the probe, or, upper, is behind it; may be n. */
	uint32_t (*search)(const emi_leaf_form *f, emi_leaf_place p, const emi_btree_probe *probe, int upper);
	/* The record in a slot. */
	char *(*record)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot);
	/* Is there no room for one more, in that slot? */
	int (*full)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot);
	/* There is. */
	void (*insert)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, const void *record);
	void (*remove)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot);
	/* Do all records lie one behind the other in their order? */
	int (*in_order)(const emi_leaf_form *f, emi_leaf_place p);
	/* Copy n records in their order. */
	void (*copy)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, uint32_t n, void *records);
	/* Put n records behind the others, which come after them; there must be room for them. */
	void (*append)(const emi_leaf_form *f, emi_leaf_place p, const void *records, uint32_t n);
	/* Room for how many more behind the others. */
	uint32_t (*room)(const emi_leaf_form *f, emi_leaf_place p);
	/* The left one of two neighbours has the first n of their records from now on, the right one the rest; each has
	 * room for them.  tmp: as large as a leaf. */
	void (*share)(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right, uint32_t n, void *tmp);
	/* How many of them that should be, or all of them if that is what one leaf had better have. */
	uint32_t (*shares)(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right);
	/* How many stay when it is split for the sake of a record in that slot; at least one, and not all.  The record
	 * goes behind them if it is not behind the first one of the others.  *runs: the record is one of a series, for
	 * which they are cut so, else in the middle. */
	uint32_t (*cut)(const emi_leaf_form *f, emi_leaf_place p, uint32_t slot, int *runs);
	/* Two neighbours, of which one is full: should their records be in 2 leaves, each of which has room then, or in
	 * 3, in parts of about the same number? */
	uint32_t (*parts)(const emi_leaf_form *f, emi_leaf_place left, emi_leaf_place right);
	/* Is it so empty that it should be shared with a neighbour before a record is taken out? */
	int (*lean)(const emi_leaf_form *f, emi_leaf_place p);
	/* Is what it says of itself impossible?  For what was read from a file. */
	int (*damaged)(const emi_leaf_form *f, emi_leaf_place p);
};

extern const emi_leaf_kind emi_leaf_fixed;

/* The number at an address, of that width and order of bytes. */
static inline __attribute__((always_inline)) uint64_t emi_leaf_number_at(const char *at, unsigned width, int swap)
{
	uint32_t small;
	uint64_t v;

	if (width == 4) {
		memcpy(&small, at, sizeof small);
		return swap ? __builtin_bswap32(small) : small;
	}
	memcpy(&v, at, sizeof v);
	return swap ? __builtin_bswap64(v) : v;
}

/* The head of a record, where heads are numbers. */
static inline uint64_t emi_leaf_head(const emi_number *m, const void *record)
{
	return emi_leaf_number_at((const char *)record + m->at, m->width, m->swap) ^ m->flip;
}

/* Records that a leaf of so many bytes has room for, whatever was done to it. */
uint32_t emi_leaf_most(size_t bytes, size_t record);

/* The probe of a record, or of a key. */
static inline emi_btree_probe emi_btree_probe_of(const emi_collation *by, const void *record)
{
	emi_btree_probe p;

	p.head = emi_collation_key(by, record);
	p.val = emi_collation_val(by, record);
	p.record = record;
	return p;
}

#endif
