/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_file.h -- a B+-tree in a file: what it looks like there, and what an opened one knows of it.
 *
 *	header | leaves in the order of their keys | nodes of level 1 | nodes of level 2 | ... | the root
 *
 * All numbers are little-endian.  Header, leaves and nodes are as many whole pages (EMI_PAGE), so every block is where
 * its number says: leaf i is the i-th one, and nodes are numbered from those of level 1 on to the root, which is the
 * last.  Of a tree that is one leaf that is the root, and an empty one has a header only.
 *
 * Leaves and nodes are those of memory (btree_leaf.h, btree_node.h), but:
 *
 *   - records lie in their order, with zeros behind them; a leaf has the number of its node in place of what insertions
 *     are told by (`last', `run': the lower and the higher half)
 *   - the children of a node follow one another, so it has the number of the first one (`first').  In place of their
 *     numbers it has their checksums.  Its own node's number is in the place of the last head, which no separator
 *     needs.
 *
 * The header has the checksum of the root, and its own.  So each block is vouched for by one above it, and a bit that
 * is not as it was saved, a write that was lost or a block of another file do not match.
 *
 * Reading.  A block that came from the file is marked (EMI_BTREE_UNSEEN) by the store, before anybody looks at it.  Who
 * pins it first has it compared with the checksum in its node, whichever way it was come to; where that node came since
 * then, too, it is compared with the one above it, and so on.  Then the mark goes.
 */
#ifndef EMI_BTREE_FILE_H
#define EMI_BTREE_FILE_H

#include "container/btree.h"
#include "io/file.h"

#define EMI_BTREE_FILE_MAGIC "EXTMEMBT"
#define EMI_BTREE_FILE_VERSION 1u
#define EMI_BTREE_FILE_DUPLICATES 1u /* in flags */
#define EMI_BTREE_FILE_FIELDS 2u     /* the order is made of its name again */
#define EMI_BTREE_NAME_MOST ((size_t)1 << 20) /* bytes of a name, with the zero behind it */

typedef struct emi_btree_header {
	char magic[8];
	uint32_t version;
	uint32_t flags;
	uint64_t sum;           /* of all of the header, with 0 here */
	uint64_t header_bytes;  /* whole pages, zeros behind the name */
	uint64_t file_bytes;
	uint64_t records;
	uint64_t key_bytes;     /* a record is a key ... */
	uint64_t value_bytes;   /* ... and a value */
	uint64_t leaf_bytes;
	uint64_t node_bytes;
	uint64_t head_at;       /* where in a node are heads, ... */
	uint64_t key_at;        /* ... where keys, ... */
	uint64_t key_step;      /* ... and how far apart; 0: there are none */
	uint64_t root_sum;
	uint32_t children;      /* that a node has room for */
	uint32_t height;        /* levels of nodes */
	uint32_t name_bytes;    /* of the order's name, which is behind this struct, with the zero behind it */
	uint32_t reserved;
	uint64_t blocks[EMI_BTREE_HEIGHT_MOST + 1]; /* on each level; leaves are level 0 */
} emi_btree_header;

/* One that is open. */
struct emi_btree_file {
	em_ctx *ctx;
	em_file *file;
	emi_btree_header *header; /* in the byte order of this machine, ... */
	size_t header_bytes;
	const char *name;       /* ... with the name behind it */
	uint64_t first[EMI_BTREE_HEIGHT_MOST + 1]; /* the number of the first block of each level */
	uint64_t nodes;
	uint64_t nodes_at;      /* where in the file they begin */
};

typedef struct emi_btree_file emi_btree_file;

/* Have what a header says of the file's layout follow from its block counts: file_bytes, and where nodes begin.
 * 0: it cannot be. */
int emi_btree_header_lay_out(emi_btree_header *h, uint64_t *nodes_at);

/* A header, a leaf or a node from the byte order of this machine to that of files, or back. */
void emi_btree_turn_header(emi_btree_header *h);
void emi_btree_turn_leaf(emi_leaf *leaf);
void emi_btree_turn_node(const emi_btree_plan *p, emi_btree_node *node);

/* The checksum of a block as it is in the file; of a header, whose own place counts as 0. */
uint64_t emi_btree_block_sum(const void *block, size_t bytes);
uint64_t emi_btree_header_sum(const emi_btree_header *h, size_t bytes);

/* The number of the node above a leaf or a node. */
static inline uint64_t emi_btree_leaf_parent(const emi_leaf *leaf)
{
	return (uint64_t)leaf->run << 32 | leaf->last;
}

static inline void emi_btree_leaf_set_parent(emi_leaf *leaf, uint64_t node)
{
	leaf->last = (uint32_t)node;
	leaf->run = (uint32_t)(node >> 32);
}

static inline uint64_t *emi_btree_node_parent(const emi_btree_plan *p, const emi_btree_node *node)
{
	return &emi_node_heads(p, node)[p->fan - 1];
}

/* Open a file, and look at its header.  As em_btree_open_file(). */
em_status emi_btree_file_open(emi_btree_file **out, em_ctx *ctx, const char *path, em_errinfo *err);
void emi_btree_file_close(emi_btree_file *f);

/* Make the order of the tree in it by its name.  EM_ERR_INVAL: it is that of a function. */
em_status emi_btree_file_order(const emi_btree_file *f, em_order **order, em_errinfo *err);

/* The plan of the tree in it; options must say nothing else than the header, or nothing. */
em_status emi_btree_file_plan(const emi_btree_file *f, const em_order *order, const em_btree_opts *o,
			      emi_btree_plan *plan, em_errinfo *err);

/* Make a tree that begins zeroed, but for the plan, the one that is in the file, which is closed with it.  After a
 * failure, too, it is closed. */
em_status emi_btree_open_saved(em_btree *t, emi_btree_file *f, const em_order *order, const em_btree_opts *o,
			       em_errinfo *err);

/* btree_save.c: write a tree. */
em_status emi_btree_save(em_btree *t, const char *path, em_errinfo *err);

#endif
