/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_save.c -- writing a B+-tree to a file; see btree_file.h.
 *
 * One walk along the leaves.  Each level of the tree is a row of blocks in the file, and a part of the sink, as the
 * number of its blocks says where it begins; so each of them is written from its first block to the last, and none
 * twice.  A leaf gives its checksum to the node above, of which there is one on each level that is being made; a node
 * that has those of all its children is complete, and does likewise.  The root is complete last, then the header.
 *
 * The tree stays as it is: nothing in it changes, but which blocks are in its caches.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "container/btree_file.h"
#include "io/file.h"
#include "key/order.h"
#include "stream/sink.h"

#define BUFFERS 2u
#define BUFFER_MOST ((size_t)1 << 20)
#define MEMORY_SHARE 32u        /* of the context's, for a buffer of leaves */

/* The blocks of a level, or the header. */
typedef struct row {
	emi_sink_part part;
	emi_outbuf ob[BUFFERS];
	uint32_t cur;           /* the one that is being filled */
	size_t room;            /* bytes of each */
	uint64_t blocks;        /* that it is going to have */
	uint64_t first;         /* the number of the first */
	uint64_t done;          /* that are complete */
	uint32_t filled;        /* of the node that is being made: children that are complete */
} row;

typedef struct saver {
	em_btree *t;
	emi_sink *sink;
	emi_btree_header *header;
	emi_btree_path path;
	uint64_t records;
	row front;              /* the header */
	row row[EMI_BTREE_HEIGHT_MOST + 1];
} saver;

static size_t bytes_of(const em_btree *t, uint32_t level)
{
	return level != 0 ? t->plan.node_bytes : t->plan.leaf_bytes;
}

/* Add up how many nodes there are on each level: those below a node are as many as it has children. */
static em_status count_below(em_btree *t, uint64_t id, uint32_t level, uint64_t *blocks, em_errinfo *err)
{
	emi_btree_pin pin = { 0 };
	em_status st = emi_btree_node_of(t, id, level, EM_CACHE_READ, &pin, err);
	uint32_t n, i;

	if (st != EM_OK)
		return st;
	n = pin.u.node->n;
	emi_btree_unpin_node(t, &pin, 0);
	blocks[level - 1] += n;
	for (i = 0; i < n && level > 2 && st == EM_OK; i++) {
		uint64_t child;

		st = emi_btree_node_of(t, id, level, EM_CACHE_READ, &pin, err);
		if (st != EM_OK)
			return st;
		child = emi_btree_child_id(t, pin.u.node, i);
		emi_btree_unpin_node(t, &pin, 0);
		st = count_below(t, child, level - 1, blocks, err);
	}
	return st;
}

static em_status count_blocks(em_btree *t, uint64_t *blocks, em_errinfo *err)
{
	em_status st = EM_OK;

	blocks[t->height] = 1;
	if (t->height >= 2)
		st = count_below(t, EMI_BTREE_ROOT, t->height, blocks, err);
	if (t->height != 0)
		blocks[0] = emi_btree_ids_count(&t->leaves.ids);
	return st;
}

static em_status make_header(saver *s, em_errinfo *err)
{
	const em_btree *t = s->t;
	const emi_btree_plan *p = &t->plan;
	const char *name = em_order_name(t->by.order);
	const size_t n = strlen(name) + 1;
	size_t bytes;
	emi_btree_header *h;

	if (n > EMI_BTREE_NAME_MOST)
		return emi_fail(err, EM_ERR_RANGE, "the name of the order has %zu bytes", n - 1);
	bytes = (sizeof *h + n + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	s->front.room = bytes;
	s->front.ob[0].base = emi_buffer_alloc(t->object.ctx, bytes + EMI_PAGE, err);
	if (s->front.ob[0].base == NULL)
		return err->status;
	memset(s->front.ob[0].base, 0, bytes);
	h = s->header = (emi_btree_header *)(void *)s->front.ob[0].base;
	memcpy(h->magic, EMI_BTREE_FILE_MAGIC, sizeof h->magic);
	h->version = EMI_BTREE_FILE_VERSION;
	h->flags = (p->duplicates ? EMI_BTREE_FILE_DUPLICATES : 0) | (p->by_fields ? EMI_BTREE_FILE_FIELDS : 0);
	h->header_bytes = bytes;
	h->records = t->n;
	h->key_bytes = p->key;
	h->value_bytes = p->record - p->key;
	h->leaf_bytes = p->leaf_bytes;
	h->node_bytes = p->node_bytes;
	h->head_at = p->head_at;
	h->key_at = p->key_at;
	h->key_step = p->key_step;
	h->children = p->fan;
	h->height = t->n != 0 ? t->height : 0;
	h->name_bytes = (uint32_t)n;
	memcpy(h + 1, name, n);
	return EM_OK;
}

static em_status make_buffers(row *r, em_ctx *ctx, em_errinfo *err)
{
	uint32_t i;

	for (i = 0; i < BUFFERS; i++) {
		r->ob[i].base = emi_buffer_alloc(ctx, r->room + EMI_PAGE, err);
		if (r->ob[i].base == NULL)
			return err->status;
	}
	return EM_OK;
}

/* Where each level is in the file, and what it is written with. */
static em_status make_rows(saver *s, em_errinfo *err)
{
	em_btree *t = s->t;
	em_ctx *ctx = t->object.ctx;
	const uint64_t share = em_ctx_memory(ctx) / MEMORY_SHARE;
	uint64_t at = s->header->header_bytes, first = 0;
	em_status st = emi_sink_part_open(&s->front.part, s->sink, 0, err);
	uint32_t level;

	for (level = 0; level <= s->header->height && t->n != 0 && st == EM_OK; level++) {
		row *r = &s->row[level];
		const size_t bytes = bytes_of(t, level);

		r->blocks = s->header->blocks[level];
		r->first = level != 0 ? first : 0;
		first += level != 0 ? r->blocks : 0;
		r->room = bytes;
		if (level == 0 && r->blocks > 1)
			while (2 * r->room <= BUFFER_MOST && 2 * r->room <= share && r->room < r->blocks * bytes)
				r->room *= 2;
		st = make_buffers(r, ctx, err);
		if (st == EM_OK)
			st = emi_sink_part_open(&r->part, s->sink, at, err);
		at += r->blocks * bytes;
	}
	return st;
}

static emi_outbuf *buffer_of(row *r)
{
	return &r->ob[r->cur];
}

/* The place of the block that is being made. */
static void *place_of(row *r)
{
	return buffer_of(r)->base + buffer_of(r)->len;
}

/* Send off what is in the current buffer, and have the next one free. */
static em_status put(row *r, em_errinfo *err)
{
	emi_outbuf *ob = buffer_of(r);
	em_status st = ob->len != 0 ? emi_sink_part_put(&r->part, ob, err) : EM_OK;

	ob->len = 0;
	r->cur = (r->cur + 1) % BUFFERS;
	return st == EM_OK ? emi_wait(&buffer_of(r)->rq, err) : st;
}

/* The block in its place is complete, in the byte order of files. */
static em_status complete(saver *s, uint32_t level, uint64_t *sum, em_errinfo *err)
{
	row *r = &s->row[level];
	emi_outbuf *ob = buffer_of(r);
	const size_t bytes = bytes_of(s->t, level);

	*sum = emi_btree_block_sum(place_of(r), bytes);
	ob->len += bytes;
	r->done++;
	return ob->len == r->room ? put(r, err) : EM_OK;
}

/* Begin a node, with what that on the path has, and without children. */
static em_status begin_node(saver *s, uint32_t level, em_errinfo *err)
{
	em_btree *t = s->t;
	const emi_btree_plan *p = &t->plan;
	row *r = &s->row[level];
	emi_btree_node *to = place_of(r);
	emi_btree_pin pin = { 0 };
	const em_status st = emi_btree_node_of(t, s->path.id[level], level, EM_CACHE_READ, &pin, err);

	if (st != EM_OK)
		return st;
	memset(to, 0, p->node_bytes);
	to->n = pin.u.node->n;
	to->level = level;
	/* The child that is complete already was the last. */
	to->first = s->row[level - 1].first + s->row[level - 1].done - 1;
	memcpy(emi_node_heads(p, to), emi_node_heads(p, pin.u.node), (to->n - 1) * sizeof(uint64_t));
	if (p->key_step != 0)
		memcpy(emi_node_key(p, to, 0), emi_node_key(p, pin.u.node, 0), (to->n - 1) * p->key_step);
	emi_btree_unpin_node(t, &pin, 0);
	if (level < t->height)
		*emi_btree_node_parent(p, to) = s->row[level + 1].first + s->row[level + 1].done;
	return EM_OK;
}

/* A block is complete: the nodes above it get its checksum, as far as they become complete by that. */
static em_status give_up(saver *s, uint64_t sum, em_errinfo *err)
{
	em_btree *t = s->t;
	uint32_t level;

	for (level = 1; level <= t->height; level++) {
		row *r = &s->row[level];
		emi_btree_node *node = place_of(r);
		em_status st = r->filled == 0 ? begin_node(s, level, err) : EM_OK;

		if (st != EM_OK)
			return st;
		emi_node_children(node)[r->filled++] = sum;
		if (r->filled < node->n)
			return EM_OK;
		emi_btree_turn_node(&t->plan, node);
		r->filled = 0;
		st = complete(s, level, &sum, err);
		if (st != EM_OK)
			return st;
	}
	s->header->root_sum = sum;
	return EM_OK;
}

/* The leaf that the path leads to, with its records in order. */
static em_status save_leaf(saver *s, em_errinfo *err)
{
	em_btree *t = s->t;
	row *r = &s->row[0];
	const emi_leaf_place to = emi_btree_leaf_in(t, place_of(r), t->plan.leaf_bytes);
	emi_btree_pin pin = { 0 };
	uint64_t sum;
	em_status st = emi_btree_leaf(t, s->path.id[0], EM_CACHE_READ, &pin, err);

	if (st != EM_OK)
		return st;
	memset(to.leaf, 0, to.bytes);
	t->form.kind->init(&t->form, to);
	t->form.kind->copy(&t->form, emi_btree_place(t, &pin), 0, pin.u.leaf->n, to.leaf + 1);
	to.leaf->n = pin.u.leaf->n;
	emi_btree_unpin_leaf(t, &pin, 0);
	emi_btree_ahead_along(t, &s->path);
	if (r->done != 0)
		to.leaf->prev = r->done - 1;
	if (r->done + 1 < r->blocks)
		to.leaf->next = r->done + 1;
	if (t->height != 0)
		emi_btree_leaf_set_parent(to.leaf, s->row[1].first + s->row[1].done);
	s->records += to.leaf->n;
	emi_btree_turn_leaf(to.leaf);
	st = complete(s, 0, &sum, err);
	return st == EM_OK ? give_up(s, sum, err) : st;
}

static em_status save_blocks(saver *s, em_errinfo *err)
{
	em_btree *t = s->t;
	em_status st = emi_btree_path_first(t, &s->path, err);

	while (st == EM_OK && s->row[0].done < s->row[0].blocks) {
		st = emi_object_check(&t->object, err);
		if (st == EM_OK)
			st = save_leaf(s, err);
		if (st == EM_OK)
			st = emi_btree_path_next(t, &s->path, err);
	}
	if (st == EM_NOT_FOUND && s->row[0].done == s->row[0].blocks && s->row[t->height].done == 1 &&
	    s->records == t->n)
		return EM_OK;
	return st < EM_OK ? st
			  : emi_fail(err, EM_ERR_CORRUPT, "the tree has not the leaves and records that it should");
}

/* All is in its place but for the end of each row, and the header. */
static em_status finish(saver *s, em_errinfo *err)
{
	emi_btree_header *h = s->header;
	const size_t bytes = s->front.room;
	uint32_t level, i, top = s->t->n != 0 ? h->height + 1 : 0;
	em_status st = EM_OK;
	uint64_t sum;

	emi_btree_turn_header(h);
	sum = emi_btree_header_sum(h, bytes);
	emi_btree_turn_header(h);
	h->sum = sum;
	emi_btree_turn_header(h);
	s->front.ob[0].len = bytes;
	st = emi_sink_part_put(&s->front.part, &s->front.ob[0], err);
	if (st == EM_OK)
		st = emi_wait(&s->front.ob[0].rq, err);
	for (level = 0; level < top; level++)
		for (i = 0; i < BUFFERS && st == EM_OK; i++)
			st = put(&s->row[level], err);
	if (st == EM_OK)
		st = emi_sink_part_join(&s->front.part, err);
	for (level = 0; level < top && st == EM_OK; level++)
		st = emi_sink_part_join(&s->row[level].part, err);
	return st == EM_OK ? emi_sink_commit(s->sink, err) : st;
}

static void end_row(row *r, em_ctx *ctx)
{
	uint32_t i;

	for (i = 0; i < BUFFERS; i++) {
		(void)emi_wait(&r->ob[i].rq, NULL);
		if (r->ob[i].base != NULL)
			emi_buffer_free(ctx, r->ob[i].base, r->room + EMI_PAGE);
	}
	emi_sink_part_close(&r->part);
}

static em_status not_regular(const char *path, em_errinfo *err)
{
	return emi_fail_record(err, EM_ERR_NOTSUP, path, 0, 0, "'%s' is no regular file", path);
}

/* A pipe is not opened: it would be waited for.  Nor is a tree written into what standard output leads to. */
static em_status check_path(const char *path, em_errinfo *err)
{
	if (strcmp(path, "-") == 0)
		return not_regular("standard output", err);
	return emi_file_is_special(path) ? not_regular(path, err) : EM_OK;
}

static em_status save(saver *s, const char *path, em_errinfo *err)
{
	em_btree *t = s->t;
	uint64_t nodes_at;
	em_status st = check_path(path, err);

	if (st == EM_OK)
		st = make_header(s, err);
	if (st == EM_OK && t->n != 0)
		st = count_blocks(t, s->header->blocks, err);
	if (st != EM_OK)
		return st;
	if (!emi_btree_header_lay_out(s->header, &nodes_at))
		return emi_fail(err, EM_ERR_RANGE, "the tree is too large for a file");
	st = emi_sink_open(&s->sink, t->object.ctx, path, s->header->file_bytes, NULL, err);
	if (st != EM_OK)
		return st;
	if (!emi_sink_is_file(s->sink))
		return not_regular(path, err);
	st = make_rows(s, err);
	if (st == EM_OK && t->n != 0)
		st = save_blocks(s, err);
	return st == EM_OK ? finish(s, err) : st;
}

em_status emi_btree_save(em_btree *t, const char *path, em_errinfo *err)
{
	em_ctx *ctx = t->object.ctx;
	saver *s = emi_alloc(ctx, sizeof *s, err);
	uint32_t level;
	em_status st;

	if (s == NULL)
		return err->status;
	s->t = t;
	st = save(s, path, err);
	end_row(&s->front, ctx);
	for (level = 0; level <= EMI_BTREE_HEIGHT_MOST; level++)
		end_row(&s->row[level], ctx);
	emi_sink_close(s->sink);
	emi_free(ctx, s, sizeof *s);
	return st;
}
