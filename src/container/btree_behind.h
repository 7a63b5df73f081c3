/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_behind.h -- leaves of a B+-tree that is being loaded, on their way to the disks past the cache.
 *
 * A cache writes leaf by leaf, as they go, and a disk that gets writes of 32 KiB does half of what it can.  Leaves that
 * are loaded come in the order of their numbers, so some of them are in one piece of memory, and where their places lie
 * side by side, as on one disk they do, they are one write.  A few pieces take turns, so that many writes are under
 * way.
 *
 * Leaves that the cache has room for go there: so what is small is never on a disk.
 *
 * A leaf that was begun is complete when the next one is, as it has its number.  What could not be written stays, and
 * is tried again when somebody needs the piece, who is told when that fails, too.
 */
#ifndef EMI_BTREE_BEHIND_H
#define EMI_BTREE_BEHIND_H

#include "container/btree.h"

#define EMI_BEHIND_PIECES 4u

typedef struct emi_btree_piece {
	char *leaves;           /* in memory, one behind the other */
	uint64_t first;         /* the number of the first one */
	uint32_t n;             /* leaves in it ... */
	uint32_t sent;          /* ... of which so many are written, or on their way */
	emi_request *rq;        /* of each write: as many as leaves */
} emi_btree_piece;

typedef struct emi_btree_behind {
	em_btree *tree;
	int used;               /* there is memory for pieces; if there is none all go to the cache */
	int asked;              /* whether there is was tried */
	uint32_t most;          /* leaves in a piece */
	uint32_t at;            /* the piece that is being filled */
	uint64_t writes;        /* leaves that were written */
	emi_btree_piece piece[EMI_BEHIND_PIECES];
} emi_btree_behind;

/* Leaf number n of those that are loaded, from 0: a new one, pinned, in the cache or in a piece.  As
 * emi_btree_new_leaf(). */
em_status emi_btree_behind_leaf(emi_btree_behind *b, uint64_t n, emi_btree_pin *pin, em_errinfo *err);

/* All leaves are complete: write what is left, and wait. */
em_status emi_btree_behind_finish(emi_btree_behind *b, em_errinfo *err);

/* Most bytes of memory that takes. */
uint64_t emi_btree_behind_memory(const emi_btree_plan *p);

/* Wait for what is under way, and free the memory.  One that was not used, all zero but for the tree, is allowed. */
void emi_btree_behind_close(emi_btree_behind *b);

#endif
