/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_load.h -- making a B+-tree of sorted records, from the leaves up.
 *
 * The leaf that is being filled is pinned.  Above it one node of each level is open, in memory of its own: it gets a
 * child when a block below it is begun, and when it is full it becomes a block itself.  So each block is written once,
 * and none is read.  At the end the topmost node is the root; what is lean at the right edge is shared with its
 * neighbours then, as those that were erased from are.
 *
 * A block is begun in steps that are whole: first whatever is full above it is written, from the top down, then there
 * is room for it.  So what fails may be tried again.
 */
#ifndef EMI_BTREE_LOAD_H
#define EMI_BTREE_LOAD_H

#include "container/btree_behind.h"

/* A node that is open, and what is to stand before it. */
typedef struct emi_btree_edge {
	emi_btree_node *node;   /* NULL: none was needed yet */
	uint64_t head;          /* the separator before its first child */
	char *key;
	int used;               /* it has children */
} emi_btree_edge;

typedef struct emi_btree_load emi_btree_load;

struct emi_btree_load {
	em_btree *tree;
	uint32_t leaf_fill;     /* percent of what a leaf holds, ... */
	uint32_t node_most;     /* ... and children that a node gets */
	int skip;               /* of records with equal keys only the first one enters */
	uint64_t n;             /* records that entered, ... */
	uint64_t seen;          /* ... or were skipped */
	uint64_t first;         /* leaf */
	uint64_t leaves;        /* that were begun */
	emi_btree_behind behind;
	int ending;             /* finishing has begun, and no more can come */
	uint32_t room;          /* of the leaf that is being filled */
	emi_btree_pin leaf;
	char *last;             /* the record that entered last, ... */
	char *next;             /* ... and room for another one, for functions */
	int done;               /* the tree has its root */
	emi_btree_edge level[EMI_BTREE_HEIGHT_MOST + 2];
};

/* l is zeroed.  After a failure, too, it is closed. */
em_status emi_btree_load_open(emi_btree_load *l, em_btree *t, const em_btree_load_opts *o, em_errinfo *err);

/* Without being finished: the tree is empty again. */
void emi_btree_load_close(emi_btree_load *l);

/* Add records; *pushed is how many of them were done with, also after a failure.  EM_ERR_FORMAT: one of them is not
 * behind the one before it, and did not enter, nor did any behind it. */
em_status emi_btree_load_push(emi_btree_load *l, const char *records, size_t n, uint64_t *pushed, em_errinfo *err);

em_status emi_btree_load_finish(emi_btree_load *l, em_errinfo *err);

/* All that a sorter is going to lend becomes an empty tree. */
em_status emi_btree_load_from(em_btree *t, em_sorter *sorted, const em_btree_load_opts *o, em_errinfo *err);

#endif
