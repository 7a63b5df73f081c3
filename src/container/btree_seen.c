/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_seen.c -- blocks of a saved B+-tree, when they came from the file: are they what was saved?  See btree_file.h.
 *
 * A checksum says that a block is the one that was saved.  Where somebody has made a file with right checksums and
 * wrong contents, what a block says of itself and of others is looked at, too, so that nobody leaves a block or an
 * array.
 */
#include <string.h>

#include "container/btree_file.h"
#include "key/normalise.h"

/* Flags of a leaf and the level of a node are in the same place. */
static uint32_t *mark_of(void *block)
{
	return (uint32_t *)block + 1;
}

static uint32_t mark(void)
{
	return EMI_BIG_ENDIAN ? __builtin_bswap32(EMI_BTREE_UNSEEN) : EMI_BTREE_UNSEEN;
}

int emi_btree_mark(void *block)
{
	if ((*mark_of(block) & mark()) != 0)
		return 0;
	*mark_of(block) |= mark();
	return 1;
}

static int is_marked(void *block)
{
	return (*mark_of(block) & mark()) != 0;
}

static size_t bytes_of(const em_btree *t, uint32_t level)
{
	return level != 0 ? t->plan.node_bytes : t->plan.leaf_bytes;
}

static em_status damaged(const em_btree *t, uint32_t level, uint64_t id, const char *why, em_errinfo *err)
{
	const emi_btree_file *f = t->file;
	const uint64_t at = level != 0 ? f->nodes_at : f->header->header_bytes;

	return emi_fail_refused(err, EM_ERR_CORRUPT, why, "read", emi_file_path(f->file), at + id * bytes_of(t, level),
				bytes_of(t, level));
}

static void turn(const em_btree *t, uint32_t level, void *block)
{
	if (level != 0)
		emi_btree_turn_node(&t->plan, block);
	else
		emi_btree_turn_leaf(block);
}

/* What a block that is marked says in its file. */
typedef struct claim {
	uint64_t id;
	uint64_t sum;
	uint64_t parent;
	uint32_t level;
} claim;

static claim claim_of(const em_btree *t, uint32_t level, uint64_t id, void *block)
{
	claim c = { id, 0, 0, level };

	*mark_of(block) &= ~mark();
	c.sum = emi_btree_block_sum(block, bytes_of(t, level));
	if (EMI_BIG_ENDIAN)
		turn(t, level, block);
	c.parent = level != 0 ? *emi_btree_node_parent(&t->plan, block) : emi_btree_leaf_parent(block);
	if (EMI_BIG_ENDIAN)
		turn(t, level, block);
	*mark_of(block) |= mark();
	return c;
}

/* Does a node vouch for a block?  It may be one that is marked itself. */
static int vouches(const em_btree *t, emi_btree_node *node, const claim *c)
{
	const int turned = EMI_BIG_ENDIAN && is_marked(node);
	int does;

	if (turned)
		turn(t, c->level + 1, node);
	does = c->id >= node->first && c->id - node->first < node->n && c->id - node->first < t->plan.fan &&
	       emi_node_children(node)[c->id - node->first] == c->sum;
	if (turned)
		turn(t, c->level + 1, node);
	return does;
}

/* Compare a block with the node above it, and, if that is marked, that node.  One node is pinned at a time. */
static em_status ask_above(em_btree *t, claim c, em_errinfo *err)
{
	static const char why[] = "it is not what the node above it was saved with";
	const emi_btree_file *f = t->file;

	while (c.level + 1 < t->height) {
		const uint32_t above = c.level + 1;
		const em_bid bid = { 0, 0, c.parent * t->nodes.bytes };
		emi_btree_node *node;
		uint32_t frame;
		claim next = { c.parent, 0, 0, above };
		int is_right, ends;
		em_status st;

		if (c.parent < f->first[above] || c.parent - f->first[above] >= f->header->blocks[above])
			return damaged(t, c.level, c.id, why, err);
		st = emi_cache_get(t->nodes.cache, bid, EM_CACHE_READ, &frame, err);
		if (st != EM_OK)
			return st;
		node = (emi_btree_node *)(void *)emi_cache_buf(t->nodes.cache, frame);
		is_right = vouches(t, node, &c);
		ends = !is_marked(node);
		if (!ends)
			next = claim_of(t, above, c.parent, node);
		emi_cache_unpin(t->nodes.cache, frame, 0);
		if (!is_right)
			return damaged(t, c.level, c.id, why, err);
		if (ends)
			return EM_OK;
		c = next;
	}
	return vouches(t, t->root, &c) ? EM_OK : damaged(t, c.level, c.id, why, err);
}

static int is_sane_leaf(const em_btree *t, uint64_t id, emi_leaf *leaf, size_t bytes)
{
	const emi_leaf_place place = emi_btree_leaf_in(t, leaf, bytes);
	const uint64_t n = t->file->header->blocks[0];
	const uint64_t prev = id != EMI_BTREE_ROOT && id != 0 ? id - 1 : EMI_BTREE_NONE;
	const uint64_t next = id != EMI_BTREE_ROOT && id + 1 < n ? id + 1 : EMI_BTREE_NONE;

	return leaf->n != 0 && leaf->flags == 0 && leaf->prev == prev && leaf->next == next &&
	       !t->form.kind->damaged(&t->form, place);
}

static int is_sane_node(const em_btree *t, uint32_t level, const emi_btree_node *node)
{
	const emi_btree_file *f = t->file;
	const uint64_t first = f->first[level - 1], n = f->header->blocks[level - 1];

	return node->level == level && node->n != 0 && node->n <= t->plan.fan && node->first >= first &&
	       node->first - first <= n && node->n <= n - (node->first - first);
}

static em_status be_seen(em_btree *t, uint32_t level, uint64_t id, void *block, em_errinfo *err)
{
	*mark_of(block) &= ~mark();
	turn(t, level, block);
	if (level != 0 ? is_sane_node(t, level, block) : is_sane_leaf(t, id, block, t->plan.leaf_bytes))
		return EM_OK;
	turn(t, level, block);
	*mark_of(block) |= mark();
	return damaged(t, level, id, "what it says cannot be", err);
}

em_status emi_btree_see(em_btree *t, uint32_t level, uint64_t id, void *block, em_errinfo *err)
{
	em_status st;

	if (!is_marked(block))
		return EM_OK;
	st = ask_above(t, claim_of(t, level, id, block), err);
	return st == EM_OK ? be_seen(t, level, id, block, err) : st;
}

em_status emi_btree_see_root(em_btree *t, em_errinfo *err)
{
	const emi_btree_header *h = t->file->header;
	const uint64_t id = h->height != 0 ? t->file->nodes - 1 : 0;
	int is_right = emi_btree_block_sum(t->root, t->root_bytes) == h->root_sum;

	turn(t, h->height, t->root);
	if (is_right && h->height != 0)
		is_right = is_sane_node(t, h->height, t->root);
	else if (is_right)
		is_right = is_sane_leaf(t, EMI_BTREE_ROOT, t->root, t->root_bytes) &&
			   ((const emi_leaf *)t->root)->n == h->records;
	return is_right ? EM_OK : damaged(t, h->height, id, "it is damaged", err);
}
