/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_node.h -- inner nodes of B+-trees: children, and separators between them.
 *
 * Separator i stands between child i and child i + 1: no record below child i is behind it, and none below child i + 1
 * is before it.  Of a tree without duplicates all below child i are before it: it was the key of the first record below
 * child i + 1 when the two came to be.
 *
 * What nodes look like is in the plan.  No function here compares keys of records, so none of them fails.
 */
#ifndef EMI_BTREE_NODE_H
#define EMI_BTREE_NODE_H

#include "container/btree_leaf.h"
#include "container/btree_plan.h"

typedef struct emi_btree_node {
	uint32_t n;             /* children, at least one */
	uint32_t level;         /* 1: they are leaves */
	uint64_t first;         /* of a saved tree: the number of the first child, behind which are the others; the
	                           places of children have checksums (btree_file.h).  Else 0 */
} emi_btree_node;

/* A separator on its way into a node. */
typedef struct emi_btree_separator {
	uint64_t head;
	const void *key;        /* bytes, where nodes have those */
} emi_btree_separator;

static inline uint64_t *emi_node_children(const emi_btree_node *n)
{
	return (uint64_t *)(uintptr_t)(n + 1);
}

static inline uint64_t *emi_node_heads(const emi_btree_plan *p, const emi_btree_node *n)
{
	return (uint64_t *)(uintptr_t)((const char *)n + p->head_at);
}

static inline char *emi_node_key(const emi_btree_plan *p, const emi_btree_node *n, uint32_t i)
{
	return (char *)(uintptr_t)n + p->key_at + i * p->key_step;
}

static inline emi_btree_separator emi_node_separator(const emi_btree_plan *p, const emi_btree_node *n, uint32_t i)
{
	const emi_btree_separator s = { emi_node_heads(p, n)[i], emi_node_key(p, n, i) };

	return s;
}

/* A node with one child. */
void emi_node_init(emi_btree_node *n, uint32_t level, uint64_t child);

/* The child behind all separators that are before the probe, or, upper, not behind it. */
uint32_t emi_node_search(const emi_btree_plan *p, const emi_collation *by, const emi_btree_node *n,
			 const emi_btree_probe *probe, int upper);

static inline int emi_node_full(const emi_btree_plan *p, const emi_btree_node *n)
{
	return n->n >= p->fan;
}

/* Another child behind child i, with a separator between them; there is room. */
void emi_node_insert(const emi_btree_plan *p, emi_btree_node *n, uint32_t i, emi_btree_separator s, uint64_t child);

/* One more at the end. */
static inline void emi_node_append(const emi_btree_plan *p, emi_btree_node *n, emi_btree_separator s, uint64_t child)
{
	emi_node_insert(p, n, n->n - 1, s, child);
}

/* Child i + 1 and the separator before it are no more. */
void emi_node_remove(const emi_btree_plan *p, emi_btree_node *n, uint32_t i);

void emi_node_set(const emi_btree_plan *p, emi_btree_node *n, uint32_t i, emi_btree_separator s);

/* The first n children of a full one stay, the rest go to another one.  s becomes what is between the two, its key a
 * copy at `key'. */
void emi_node_split(const emi_btree_plan *p, emi_btree_node *left, emi_btree_node *right, uint32_t n,
		    emi_btree_separator *s, void *key);

/* The left one of two neighbours with separator i of their parent between them has the first n of their children from
 * now on, which may be all: then the separator means nothing. */
void emi_node_share(const emi_btree_plan *p, emi_btree_node *parent, uint32_t i, emi_btree_node *left,
		    emi_btree_node *right, uint32_t n);

/* How many of them that should be. */
uint32_t emi_node_shares(const emi_btree_plan *p, const emi_btree_node *left, const emi_btree_node *right);

#endif
