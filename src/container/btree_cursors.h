/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_cursors.h -- where the cursors of a B+-tree stand, while records come, go and move.
 *
 * A cursor stands on a record or in a gap, which is the place where its record was or would be; then it has the key of
 * that, too.  The place is a leaf and a slot, and is kept right by those who change leaves.  Before the first record
 * and behind the last one it stands nowhere, and so does one that was never used.
 *
 * The cursors of a leaf are found by a table of lists.  Only opening a cursor may have it grow, so what tells cursors
 * never fails.  A tree without cursors has no table, and tells nobody.
 *
 * A gap in a slot is before the record there.  A record that comes into that slot is behind the gap, unless it is less
 * than the key of the gap.  So a gap belongs to that leaf to which a record with its key would go, and when leaves are
 * divided a gap between them is at the end of the left one, as separators are keys of what is right of them.
 */
#ifndef EMI_BTREE_CURSORS_H
#define EMI_BTREE_CURSORS_H

#include <extmem/btree.h>

#include "base/object.h"

typedef enum emi_cursor_state {
	EMI_CURSOR_BEGIN,       /* before the first record */
	EMI_CURSOR_END,         /* behind the last one */
	EMI_CURSOR_ON,          /* on the record in a slot */
	EMI_CURSOR_GAP          /* before it, and behind the one before that */
} emi_cursor_state;

/* There may be many, so one has no detail of a failure of its own, but the tree's. */
struct em_btree_cursor {
	em_btree *tree;
	em_btree_cursor *next, *prev; /* in the list of its leaf, ... */
	em_btree_cursor *next_all, *prev_all; /* ... and of all of the tree */
	em_btree_cursor *next_closed;
	int closing;            /* it is in that list */
	emi_cursor_state state;
	uint32_t slot;
	uint64_t leaf;
	uint64_t asked;         /* records, by the last call for many */
	uint32_t passed;        /* leaves that it came to, one behind the other, ... */
	uint32_t ahead;         /* ... and leaves from there on that are read, or on their way, as far as it knows */
	uint32_t more;          /* those of them that calls behind the first came to, since it was sought */
	uint32_t passed_before[2]; /* both for the last two times that it was */
	uint32_t more_before[2];
	int went_on;            /* there was a call since then */
	int forward;            /* that way */
	char *key;              /* of a gap; behind the struct */
};

typedef struct emi_btree_cursors {
	em_btree_cursor *first; /* of all */
	em_btree_cursor *closed; /* in a call that was in progress: to be released at its end */
	em_btree_cursor **list; /* by their leaves */
	uint64_t lists;         /* a power of two, or 0 */
	uint64_t n;             /* of all */
} emi_btree_cursors;

/* One more; it begins before the first record.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_btree_cursors_add(em_btree *t, em_btree_cursor *c, em_errinfo *err);
void emi_btree_cursors_remove(em_btree *t, em_btree_cursor *c);
void emi_btree_cursors_end(em_btree *t);

/* It stands elsewhere.  gap: NULL, or the first bytes of this are its key. */
void emi_btree_cursor_stand(em_btree_cursor *c, emi_cursor_state state, uint64_t leaf, uint32_t slot, const void *gap);

/* All stand before the first record. */
void emi_btree_cursors_reset(em_btree *t);

/* A record came into a slot, of a tree that has cursors. */
void emi_btree_cursors_insert(em_btree *t, uint64_t leaf, uint32_t slot, const void *record);

/* The record in a slot is going. */
void emi_btree_cursors_erase(em_btree *t, uint64_t leaf, uint32_t slot, const void *record);

/* All records of a leaf have moved up by so many slots. */
void emi_btree_cursors_shift(em_btree *t, uint64_t leaf, uint32_t by);

/* The records from slot `cut' on are in the neighbour now, as its first ones.  A gap before them stays. */
void emi_btree_cursors_tail(em_btree *t, uint64_t left, uint32_t cut, uint64_t right);

/* The first n records are in another leaf now, from slot `to' on, and so is a gap behind them; UINT32_MAX: all. */
void emi_btree_cursors_head(em_btree *t, uint64_t leaf, uint32_t n, uint64_t other, uint32_t to);

#endif
