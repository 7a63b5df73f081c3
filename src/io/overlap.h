/* SPDX-License-Identifier: BSL-1.0 */
/*
 * overlap.h -- which pending transfers of a file touch the same bytes.
 *
 * Of two transfers of which one is a write, and which have bytes in common, the one submitted first has to be complete
 * before the other begins.  The ranges of all pending ones form a tree; a node is part of the transfer, so nothing is
 * allocated.  Reads are only on a list at first, as it is writes that have to find them, and many files are only read;
 * the next write that looks puts them into the tree.
 */
#ifndef EMI_OVERLAP_H
#define EMI_OVERLAP_H

#include <stdint.h>

typedef struct emi_range {
	uint64_t begin, end;    /* bytes of the file, end not among them; begin < end */
	uint64_t seq;           /* in the order of submission; no two of a tree have the same */
	int write;
	/* the tree's, or the list's: */
	int listed;
	struct emi_range *left, *right; /* the one before, and the next */
	uint64_t max_end;       /* of this node and those below it */
	uint64_t max_write_end; /* the same of writes alone; 0: none */
	uint64_t min_seq;
} emi_range;

/* Zeroed: empty. */
typedef struct emi_overlap {
	emi_range *root;
	emi_range *list;        /* reads that no write has looked for yet */
} emi_overlap;

void emi_overlap_add(emi_overlap *o, emi_range *r);
void emi_overlap_remove(emi_overlap *o, emi_range *r);

/* One that r has to wait for, or NULL; r may be among them or not. */
emi_range *emi_overlap_find(emi_overlap *o, const emi_range *r);

#endif
