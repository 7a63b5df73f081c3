/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_plan.h -- what a B+-tree is made of, by its options and its order.
 *
 * Leaves and nodes are blocks of two sizes.  A node has children and, between two of them, a separator: the head of a
 * key (key/order.h: its first eight bytes, normalised), and, where that does not tell the whole order, the bytes of the
 * key, too.  The order of nodes is then decided by numbers that lie side by side, and bytes are looked at in ties.
 */
#ifndef EMI_BTREE_PLAN_H
#define EMI_BTREE_PLAN_H

#include <extmem/btree.h>

typedef struct emi_btree_plan {
	int duplicates;
	int exact;              /* a head is all of a key: separators have no bytes */
	int by_fields;          /* keys may lie anywhere, and nothing behind them is looked at */
	size_t record;          /* bytes of a record ... */
	size_t key;             /* ... and of its key, which are the first of them */
	size_t leaf_bytes;
	size_t node_bytes;
	uint32_t leaf_frames;
	uint32_t node_frames;
	/* A node: a head of 16 bytes, then children, heads, bytes of keys. */
	uint32_t fan;           /* most children ... */
	uint32_t fan_least;     /* ... and those of which one may not be taken away */
	size_t head_at;
	size_t key_at;
	size_t key_step;        /* 0: there are none */
	/* A leaf that is whole. */
	uint32_t leaf_most;     /* records in a leaf of any history ... */
	uint32_t leaf_least;    /* ... and those of which one may not be taken away */
} emi_btree_plan;

/* Options of which all fields are there, 0 where they have defaults, in a context of so much memory.  As
 * em_btree_open(). */
em_status emi_btree_plan_make(emi_btree_plan *plan, uint64_t memory, const em_order *order, const em_btree_opts *o,
			      em_errinfo *err);

#endif
