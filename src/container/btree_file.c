/* SPDX-License-Identifier: BSL-1.0 */
/* btree_file.c -- opening a B+-tree that was saved; see btree_file.h.  Its blocks are looked at in btree_seen.c. */
#include "container/btree_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "key/normalise.h"
#include "key/order.h"
#include "sort/record_hash.h"

#define SHORT "it ends too early"
#define DAMAGED "the header is damaged"

static uint32_t turn32(uint32_t x)
{
	return EMI_BIG_ENDIAN ? __builtin_bswap32(x) : x;
}

static uint64_t turn64(uint64_t x)
{
	return EMI_BIG_ENDIAN ? __builtin_bswap64(x) : x;
}

static void turn_all(uint64_t *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = turn64(x[i]);
}

void emi_btree_turn_header(emi_btree_header *h)
{
	h->version = turn32(h->version);
	h->flags = turn32(h->flags);
	/* From the sum to that of the root there are nothing but these. */
	turn_all(&h->sum, (offsetof(emi_btree_header, children) - offsetof(emi_btree_header, sum)) / sizeof h->sum);
	h->children = turn32(h->children);
	h->height = turn32(h->height);
	h->name_bytes = turn32(h->name_bytes);
	h->reserved = turn32(h->reserved);
	turn_all(h->blocks, EMI_BTREE_HEIGHT_MOST + 1);
}

void emi_btree_turn_leaf(emi_leaf *leaf)
{
	leaf->n = turn32(leaf->n);
	leaf->flags = turn32(leaf->flags);
	leaf->prev = turn64(leaf->prev);
	leaf->next = turn64(leaf->next);
	leaf->last = turn32(leaf->last);
	leaf->run = turn32(leaf->run);
}

void emi_btree_turn_node(const emi_btree_plan *p, emi_btree_node *node)
{
	node->n = turn32(node->n);
	node->level = turn32(node->level);
	node->first = turn64(node->first);
	if (!EMI_BIG_ENDIAN)
		return;
	turn_all(emi_node_children(node), p->fan);
	turn_all(emi_node_heads(p, node), p->fan);
}

uint64_t emi_btree_block_sum(const void *block, size_t bytes)
{
	return emi_record_hash(block, bytes);
}

uint64_t emi_btree_header_sum(const emi_btree_header *h, size_t bytes)
{
	emi_btree_header first = *h;
	uint64_t sums[2];

	first.sum = 0;
	sums[0] = emi_record_hash((const unsigned char *)&first, sizeof first);
	sums[1] = emi_record_hash((const unsigned char *)(h + 1), bytes - sizeof first);
	turn_all(sums, 2);
	return emi_record_hash((const unsigned char *)sums, sizeof sums);
}

int emi_btree_header_lay_out(emi_btree_header *h, uint64_t *nodes_at)
{
	uint64_t bytes = h->header_bytes;
	uint32_t level;

	*nodes_at = 0;
	for (level = 0; level <= EMI_BTREE_HEIGHT_MOST; level++) {
		const uint64_t each = level != 0 ? h->node_bytes : h->leaf_bytes;

		if (h->blocks[level] > (INT64_MAX - bytes) / each)
			return 0;
		bytes += h->blocks[level] * each;
		if (level == 0)
			*nodes_at = bytes;
	}
	h->file_bytes = bytes;
	return 1;
}

static em_status refuse(const emi_btree_file *f, em_status status, const char *why, uint64_t at, uint64_t bytes,
			em_errinfo *err)
{
	return emi_fail_refused(err, status, why, "read", emi_file_path(f->file), at, bytes);
}

static em_status read_file(const emi_btree_file *f, void *to, size_t bytes, uint64_t at, size_t *done, em_errinfo *err)
{
	emi_request rq;
	em_status st;

	emi_read(f->file, &rq, to, bytes, at, NULL);
	st = emi_wait(&rq, err);
	*done = rq.done;
	return st;
}

/* Room for the header, and that many bytes of it. */
static em_status read_header(emi_btree_file *f, size_t bytes, size_t *done, em_errinfo *err)
{
	if (f->header != NULL)
		emi_buffer_free(f->ctx, f->header, f->header_bytes);
	f->header_bytes = bytes;
	f->header = emi_buffer_alloc(f->ctx, bytes, err);
	if (f->header == NULL)
		return err->status;
	memset(f->header, 0, bytes);
	return read_file(f, f->header, bytes, 0, done, err);
}

/* Is it a header, by what it begins with?  *bytes are all of it. */
static em_status look_first(const emi_btree_file *f, size_t done, size_t *bytes, em_errinfo *err)
{
	const emi_btree_header *h = f->header;
	const size_t magic = done < sizeof h->magic ? done : sizeof h->magic;
	uint64_t all;

	if (done == 0 || memcmp(h->magic, EMI_BTREE_FILE_MAGIC, magic) != 0)
		return refuse(f, EM_ERR_FORMAT, "it is no saved B+-tree", 0, EMI_PAGE, err);
	if (done < EMI_PAGE)
		return refuse(f, EM_ERR_CORRUPT, SHORT, done, EMI_PAGE, err);
	if (turn32(h->version) != EMI_BTREE_FILE_VERSION)
		return emi_fail(err, EM_ERR_VERSION, "'%s' is a B+-tree of version %" PRIu32 ", and only %u is known",
				emi_file_path(f->file), turn32(h->version), EMI_BTREE_FILE_VERSION);
	all = turn64(h->header_bytes);
	if (all % EMI_PAGE != 0 || all < EMI_PAGE || all > EMI_BTREE_NAME_MOST + 2 * EMI_PAGE)
		return refuse(f, EM_ERR_CORRUPT, DAMAGED, 0, EMI_PAGE, err);
	*bytes = (size_t)all;
	return EM_OK;
}

/* Numbers that cannot all be right.  What is compared with the plan is not among them. */
static int is_odd(const emi_btree_header *h)
{
	const uint64_t name_room = h->header_bytes - sizeof *h;
	uint32_t level;

	if ((h->flags & ~(EMI_BTREE_FILE_DUPLICATES | EMI_BTREE_FILE_FIELDS)) != 0 || h->reserved != 0 ||
	    h->height > EMI_BTREE_HEIGHT_MOST || h->name_bytes == 0 || h->name_bytes > name_room ||
	    ((const char *)(h + 1))[h->name_bytes - 1] != '\0')
		return 1;
	if (h->leaf_bytes == 0 || h->leaf_bytes % EMI_PAGE != 0 || h->node_bytes == 0 || h->node_bytes % EMI_PAGE != 0)
		return 1;
	for (level = 0; level <= EMI_BTREE_HEIGHT_MOST; level++)
		if (level > h->height ? h->blocks[level] != 0 : h->blocks[level] == 0 && h->records != 0)
			return 1;
	/* The root is one, or there is none. */
	return h->blocks[h->height] != (h->records != 0) || (h->records == 0 && h->height != 0);
}

static em_status look_at_header(emi_btree_file *f, em_errinfo *err)
{
	emi_btree_header *h = f->header;
	const uint64_t sum = emi_btree_header_sum(h, f->header_bytes);
	uint64_t size, bytes;
	uint32_t level;
	em_status st;

	emi_btree_turn_header(h);
	bytes = h->file_bytes;
	if (sum != h->sum || is_odd(h) || !emi_btree_header_lay_out(h, &f->nodes_at) || bytes != h->file_bytes)
		return refuse(f, EM_ERR_CORRUPT, DAMAGED, 0, f->header_bytes, err);
	st = emi_file_size(f->file, &size, err);
	if (st != EM_OK)
		return st;
	if (size != bytes)
		return refuse(f, EM_ERR_CORRUPT, size < bytes ? SHORT : "it goes on behind its end",
			      size < bytes ? size : bytes, 0, err);
	f->name = (const char *)(h + 1);
	for (level = 1; level <= h->height; level++) {
		f->first[level] = f->nodes;
		f->nodes += h->blocks[level];
	}
	return EM_OK;
}

static em_status look_at_file(emi_btree_file *f, em_errinfo *err)
{
	size_t done, bytes = 0;
	em_status st = read_header(f, EMI_PAGE, &done, err);

	if (st == EM_OK)
		st = look_first(f, done, &bytes, err);
	if (st == EM_OK && bytes > EMI_PAGE) {
		st = read_header(f, bytes, &done, err);
		if (st == EM_OK && done < bytes)
			st = refuse(f, EM_ERR_CORRUPT, SHORT, done, bytes, err);
	}
	return st == EM_OK ? look_at_header(f, err) : st;
}

em_status emi_btree_file_open(emi_btree_file **out, em_ctx *ctx, const char *path, em_errinfo *err)
{
	emi_btree_file *f = emi_alloc(ctx, sizeof *f, err);
	em_status st;

	if (f == NULL)
		return err->status;
	f->ctx = ctx;
	if (emi_file_has_places(path))
		st = emi_file_open(&f->file, ctx, path, EMI_OPEN_READ, err);
	else
		st = emi_fail_record(err, EM_ERR_FORMAT, path, 0, 0, "%s: it is no saved B+-tree", path);
	if (st == EM_OK)
		st = look_at_file(f, err);
	if (st == EM_OK)
		*out = f;
	else
		emi_btree_file_close(f);
	return st;
}

void emi_btree_file_close(emi_btree_file *f)
{
	if (f == NULL)
		return;
	if (f->header != NULL)
		emi_buffer_free(f->ctx, f->header, f->header_bytes);
	emi_file_close(f->file);
	emi_free(f->ctx, f, sizeof *f);
}

em_status emi_btree_file_order(const emi_btree_file *f, em_order **order, em_errinfo *err)
{
	const emi_btree_header *h = f->header;

	if ((h->flags & EMI_BTREE_FILE_FIELDS) == 0)
		return emi_fail(err, EM_ERR_INVAL, "order is NULL, and '%s' is in the order of a function \"%s\"",
				emi_file_path(f->file), f->name);
	return em_order_parse(order, f->ctx, h->key_bytes + h->value_bytes, f->name, err);
}

/* What both say must be the same. */
static em_status agree(const emi_btree_file *f, const char *what, uint64_t given, uint64_t has, em_errinfo *err)
{
	if (given == 0 || given == has)
		return EM_OK;
	return emi_fail_record(err, EM_ERR_FORMAT, emi_file_path(f->file), 0, 0,
			       "'%s' has %s of %" PRIu64 " bytes, and not of %" PRIu64, emi_file_path(f->file), what,
			       has, given);
}

static em_status check_order(const emi_btree_file *f, const em_order *order, em_errinfo *err)
{
	const emi_btree_header *h = f->header;
	const int by_fields = (h->flags & EMI_BTREE_FILE_FIELDS) != 0;

	if (by_fields != emi_order_by_fields(order) || strcmp(f->name, em_order_name(order)) != 0)
		return emi_fail_record(err, EM_ERR_FORMAT, emi_file_path(f->file), 0, 0,
				       "'%s' is in the order %s\"%s\", and not %s\"%s\"", emi_file_path(f->file),
				       by_fields ? "" : "of a function ", f->name,
				       emi_order_by_fields(order) ? "" : "of a function ", em_order_name(order));
	return agree(f, "records", em_order_record_size(order), h->key_bytes + h->value_bytes, err);
}

em_status emi_btree_file_plan(const emi_btree_file *f, const em_order *order, const em_btree_opts *o,
			      emi_btree_plan *plan, em_errinfo *err)
{
	const emi_btree_header *h = f->header;
	em_btree_opts own = *o;
	em_status st = check_order(f, order, err);

	if (st == EM_OK)
		st = agree(f, "keys", o->key_bytes, h->key_bytes, err);
	if (st == EM_OK)
		st = agree(f, "leaves", o->leaf_bytes, h->leaf_bytes, err);
	if (st == EM_OK)
		st = agree(f, "nodes", o->node_bytes, h->node_bytes, err);
	if (st == EM_OK && (o->flags & EM_BTREE_DUPLICATES) != 0 && (h->flags & EMI_BTREE_FILE_DUPLICATES) == 0)
		st = emi_fail_record(err, EM_ERR_FORMAT, emi_file_path(f->file), 0, 0,
				     "'%s' has one record for each key", emi_file_path(f->file));
	if (st != EM_OK)
		return st;
	own.flags |= (h->flags & EMI_BTREE_FILE_DUPLICATES) != 0 ? EM_BTREE_DUPLICATES : 0;
	own.key_bytes = h->key_bytes;
	own.leaf_bytes = h->leaf_bytes;
	own.node_bytes = h->node_bytes;
	st = emi_btree_plan_make(plan, em_ctx_memory(f->ctx), order, &own, err);
	if (st == EM_OK &&
	    (plan->fan != h->children || plan->head_at != h->head_at || plan->key_at != h->key_at ||
	     plan->key_step != h->key_step || plan->by_fields != ((h->flags & EMI_BTREE_FILE_FIELDS) != 0)))
		st = refuse(f, EM_ERR_CORRUPT, DAMAGED, 0, f->header_bytes, err);
	return st;
}

/* The root is read at once, and looked at. */
static em_status read_root(em_btree *t, em_errinfo *err)
{
	emi_btree_file *f = t->file;
	const emi_btree_header *h = f->header;
	const size_t bytes = h->height != 0 ? t->plan.node_bytes : t->plan.leaf_bytes;
	size_t done;
	void *root;
	em_status st;

	if (h->records == 0)
		return EM_OK;
	root = emi_buffer_alloc(f->ctx, bytes, err);
	if (root == NULL)
		return err->status;
	emi_btree_set_root(t, root, bytes);
	st = read_file(f, root, bytes, h->file_bytes - bytes, &done, err);
	if (st == EM_OK && done < bytes)
		st = refuse(f, EM_ERR_CORRUPT, SHORT, h->file_bytes - bytes + done, 0, err);
	return st == EM_OK ? emi_btree_see_root(t, err) : st;
}

em_status emi_btree_open_saved(em_btree *t, emi_btree_file *f, const em_order *order, const em_btree_opts *o,
			       em_errinfo *err)
{
	const emi_btree_header *h = f->header;
	em_status st;

	t->file = f;
	st = emi_store_open_part(&t->leaves.store, f->file, h->header_bytes, h->blocks[0] * h->leaf_bytes,
				 emi_btree_mark, err);
	if (st == EM_OK)
		st = emi_store_open_part(&t->nodes.store, f->file, f->nodes_at, f->nodes * h->node_bytes,
					 emi_btree_mark, err);
	if (st == EM_OK)
		st = emi_btree_open(t, f->ctx, order, o, err);
	if (st == EM_OK)
		st = read_root(t, err);
	if (st != EM_OK)
		return st;
	t->n = h->records;
	t->height = h->height;
	if (t->height != 0) {
		t->first = 0;
		t->last = h->blocks[0] - 1;
		t->leaves.ids.n = h->blocks[0];
		/* The root is none of the blocks. */
		t->nodes.ids.n = f->nodes - 1;
	} else if (t->n != 0) {
		t->first = t->last = EMI_BTREE_ROOT;
	}
	return EM_OK;
}
