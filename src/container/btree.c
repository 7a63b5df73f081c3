/* SPDX-License-Identifier: BSL-1.0 */
/* btree.c -- see btree.h: opening, closing, and blocks. */
#include "container/btree.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/suffice.h"
#include "container/btree_behind.h"
#include "container/btree_file.h"

#define STEP_SHARE 4u           /* arrays grow by this part of what they have */
#define STEP_LEAST 64u          /* blocks */
#define ALIGN 16u               /* of records that functions look at */

static emi_cache_opts cache_options(const em_btree_opts *o, emi_store *store, size_t bytes, uint32_t frames)
{
	emi_cache_opts c;

	memset(&c, 0, sizeof c);
	c.store = store;
	c.frames = frames;
	c.block_bytes = bytes;
	c.policy = o->policy;
	c.seed = o->seed;
	return c;
}

static em_status open_blocks(emi_btree_blocks *b, em_ctx *ctx, const em_btree_opts *o, size_t bytes, uint32_t frames,
			     em_errinfo *err)
{
	emi_cache_opts c;
	em_status st = EM_OK;

	/* That of a file is there. */
	if (b->store == NULL)
		st = emi_store_open_array(&b->store, ctx, bytes, o->placement, err);
	if (st != EM_OK)
		return st;
	b->bytes = bytes;
	c = cache_options(o, b->store, bytes, frames);
	c.io = &b->io;
	return emi_cache_open(&b->cache, ctx, &c, err);
}

em_status emi_btree_open(em_btree *t, em_ctx *ctx, const em_order *order, const em_btree_opts *o, em_errinfo *err)
{
	const emi_btree_plan *p = &t->plan;
	em_status st = emi_collation_open(&t->by, order, NULL, NULL, err);

	if (st != EM_OK)
		return st;
	t->sure = t->by.codec->exact && p->by_fields;
	t->form.kind = &emi_leaf_fixed;
	t->form.by = &t->by;
	t->form.record = p->record;
	t->form.is_number = emi_order_number(order, &t->form.number);
	t->form.most = p->leaf_most;
	t->form.least = p->leaf_least;
	t->first = t->last = EMI_BTREE_NONE;
	st = open_blocks(&t->leaves, ctx, o, p->leaf_bytes, p->leaf_frames, err);
	if (st == EM_OK)
		st = open_blocks(&t->nodes, ctx, o, p->node_bytes, p->node_frames, err);
	if (st != EM_OK)
		return st;
	emi_store_watch(t->leaves.store, &t->object.canceled);
	emi_store_watch(t->nodes.store, &t->object.canceled);
	return EM_OK;
}

void emi_btree_set_root(em_btree *t, void *root, size_t bytes)
{
	if (t->root != NULL)
		emi_buffer_free(t->object.ctx, t->root, t->root_bytes);
	t->root = root;
	t->root_bytes = bytes;
	t->root_most = bytes != 0 ? emi_leaf_most(bytes, t->plan.record) : 0;
}

static void forget_blocks(emi_btree_blocks *b, em_ctx *ctx)
{
	const emi_span all = { { 0, 0, 0 }, UINT64_MAX };

	if (b->cache != NULL && !emi_ctx_forked(ctx))
		(void)emi_cache_forget_range(b->cache, &all, NULL);
	emi_btree_ids_end(&b->ids, ctx);
}

static void close_blocks(emi_btree_blocks *b, em_ctx *ctx)
{
	forget_blocks(b, ctx);
	emi_cache_close(b->cache);
	emi_store_close(b->store);
}

/* A record at an address that suits any. */
static size_t stride(const em_btree *t)
{
	return (t->plan.record + ALIGN - 1) / ALIGN * ALIGN;
}

void emi_btree_close(em_btree *t)
{
	em_ctx *ctx = t->object.ctx;

	close_blocks(&t->leaves, ctx);
	close_blocks(&t->nodes, ctx);
	emi_btree_set_root(t, NULL, 0);
	emi_buffer_free(ctx, t->tmp, t->plan.leaf_bytes);
	emi_free(ctx, t->key, t->plan.record);
	emi_free(ctx, t->probe, 2 * stride(t));
	emi_btree_cursors_end(t);
	emi_collation_close(&t->by);
	emi_btree_file_close(t->file);
	emi_user_free(&t->policy);
}

static uint64_t blocks_memory(size_t bytes, uint32_t frames, uint64_t blocks)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	emi_cache_opts c = cache_options(&plain, NULL, bytes, frames);

	/* Of a tree that is small fewer frames are ever used. */
	if (blocks < frames)
		c.frames = (uint32_t)(blocks != 0 ? blocks : 1);
	return emi_store_memory() + emi_store_array_memory(blocks) + emi_cache_memory(&c) +
	       emi_btree_ids_memory(blocks);
}

/* The root, copies of blocks, and records to compare. */
static uint64_t beside_caches(const emi_btree_plan *p)
{
	return 3 * (uint64_t)p->leaf_bytes + 2 * p->node_bytes + 3 * (p->record + ALIGN);
}

uint64_t emi_btree_memory_full(const emi_btree_plan *p)
{
	return blocks_memory(p->leaf_bytes, p->leaf_frames, (uint64_t)p->leaf_frames + EMI_BLOCKS_SURE) +
	       blocks_memory(p->node_bytes, p->node_frames, (uint64_t)p->node_frames + EMI_BLOCKS_SURE) +
	       beside_caches(p);
}

uint64_t emi_btree_memory(const emi_btree_plan *p, uint64_t records)
{
	const uint64_t leaves = records / p->leaf_least + 2, nodes = leaves / (p->fan_least - 1) + 2;

	return blocks_memory(p->leaf_bytes, p->leaf_frames, 2 * leaves) +
	       blocks_memory(p->node_bytes, p->node_frames, 2 * nodes) + beside_caches(p) +
	       (leaves > p->leaf_frames ? emi_btree_behind_memory(p) : 0);
}

em_status emi_btree_clear(em_btree *t, em_errinfo *err)
{
	em_status st;

	emi_btree_cursors_reset(t);
	forget_blocks(&t->leaves, t->object.ctx);
	forget_blocks(&t->nodes, t->object.ctx);
	emi_btree_set_root(t, NULL, 0);
	t->n = 0;
	t->height = 0;
	t->first = t->last = EMI_BTREE_NONE;
	st = emi_store_resize(t->leaves.store, 0, err);
	return st == EM_OK ? emi_store_resize(t->nodes.store, 0, err) : st;
}

em_status emi_btree_compared_by_function(em_btree *t, em_errinfo *err)
{
	const em_status st = emi_collation_check(&t->by, err);

	if (st != EM_OK) {
		emi_collation_watch(&t->by, NULL, NULL);
		t->by.key_failures = emi_order_key_failures(t->by.order);
	}
	return st;
}

size_t emi_btree_probe_bytes(const em_btree *t)
{
	/* What a function gets has the address and the size of a record. */
	return t->plan.by_fields ? 0 : stride(t);
}

em_status emi_btree_probe_in(em_btree *t, const void *key, void *memory, emi_btree_probe *probe, em_errinfo *err)
{
	if (!t->plan.by_fields)
		key = memmove(memory, key, t->plan.key);
	*probe = emi_btree_probe_of(&t->by, key);
	return emi_btree_compared(t, err);
}

em_status emi_btree_probe_any(em_btree *t, const void *key, int which, emi_btree_probe *probe, em_errinfo *err)
{
	const size_t bytes = emi_btree_probe_bytes(t);

	if (bytes != 0 && t->probe == NULL)
		t->probe = emi_alloc(t->object.ctx, 2 * bytes, err);
	if (bytes != 0 && t->probe == NULL)
		return err->status;
	return emi_btree_probe_in(t, key, bytes != 0 ? t->probe + (which != 0 ? bytes : 0) : NULL, probe, err);
}

static em_bid bid_of(const emi_btree_blocks *b, uint64_t id)
{
	const em_bid bid = { 0, 0, id * b->bytes };

	return bid;
}

static em_status pin_block(emi_btree_blocks *b, uint64_t id, uint32_t mode, emi_btree_pin *pin, em_errinfo *err)
{
	em_status st = EM_OK;

	if (mode == EM_CACHE_FRESH || !emi_cache_again(b->cache, bid_of(b, id), &pin->frame))
		st = emi_cache_get(b->cache, bid_of(b, id), mode, &pin->frame, err);
	pin->id = id;
	pin->u.at = st == EM_OK ? emi_cache_buf(b->cache, pin->frame) : NULL;
	return st;
}

static void pin_root(em_btree *t, uint64_t id, emi_btree_pin *pin)
{
	pin->id = id;
	pin->frame = EM_CACHE_NONE;
	pin->u.at = t->root;
}

static void unpin(emi_btree_blocks *b, emi_btree_pin *pin, int dirty)
{
	if (pin->u.at != NULL && pin->frame != EM_CACHE_NONE)
		emi_cache_unpin(b->cache, pin->frame, dirty);
	pin->u.at = NULL;
}

/* A block that came from a file was pinned.  One that is damaged is read again by who tries again. */
static em_status see(em_btree *t, emi_btree_blocks *b, uint32_t level, emi_btree_pin *pin, em_errinfo *err)
{
	const emi_span span = { bid_of(b, pin->id), b->bytes };
	const em_status st = emi_btree_see(t, level, pin->id, pin->u.at, err);

	if (st == EM_OK)
		return st;
	unpin(b, pin, 0);
	(void)emi_cache_forget_range(b->cache, &span, NULL);
	return st;
}

em_status emi_btree_leaf_block(em_btree *t, uint64_t id, uint32_t mode, emi_btree_pin *pin, em_errinfo *err)
{
	const em_status st = pin_block(&t->leaves, id, mode, pin, err);

	return st == EM_OK && t->file != NULL ? see(t, &t->leaves, 0, pin, err) : st;
}

em_status emi_btree_node_of(em_btree *t, uint64_t id, uint32_t level, uint32_t mode, emi_btree_pin *pin,
			    em_errinfo *err)
{
	em_status st;

	if (id == EMI_BTREE_ROOT) {
		pin_root(t, id, pin);
		return EM_OK;
	}
	st = pin_block(&t->nodes, id, mode, pin, err);
	if (st == EM_OK && t->file != NULL)
		st = see(t, &t->nodes, level, pin, err);
	if (st == EM_OK && (pin->u.node->level != level || pin->u.node->n == 0 || pin->u.node->n > t->plan.fan)) {
		unpin(&t->nodes, pin, 0);
		st = emi_fail(err, EM_ERR_CORRUPT, "node %" PRIu64 " is none of level %" PRIu32, id, level);
	}
	return st;
}

void emi_btree_unpin_block(em_btree *t, emi_btree_pin *pin, int dirty)
{
	unpin(&t->leaves, pin, dirty);
}

void emi_btree_unpin_node(em_btree *t, emi_btree_pin *pin, int dirty)
{
	unpin(&t->nodes, pin, dirty);
}

/* The array has a block of that number. */
static em_status cover(emi_btree_blocks *b, uint64_t id, em_errinfo *err)
{
	const uint64_t have = emi_store_length(b->store) / b->bytes;
	em_errinfo own = EM_ERRINFO_INIT;

	if (id < have)
		return EM_OK;
	if (emi_store_resize(b->store, (have + have / STEP_SHARE + STEP_LEAST) * b->bytes, &own) == EM_OK)
		return EM_OK;
	return emi_store_resize(b->store, (id + 1) * b->bytes, err);
}

static em_status new_number(em_btree *t, emi_btree_blocks *b, uint64_t *id, em_errinfo *err)
{
	em_status st = emi_btree_ids_take(&b->ids, t->object.ctx, id, err);

	if (st != EM_OK)
		return st;
	st = cover(b, *id, err);
	if (st != EM_OK)
		emi_btree_ids_give(&b->ids, *id);
	return st;
}

static em_status new_block(em_btree *t, emi_btree_blocks *b, emi_btree_pin *pin, em_errinfo *err)
{
	uint64_t id;
	em_status st = new_number(t, b, &id, err);

	if (st != EM_OK)
		return st;
	st = pin_block(b, id, EM_CACHE_FRESH, pin, err);
	if (st != EM_OK)
		emi_btree_ids_give(&b->ids, id);
	return st;
}

em_status emi_btree_leaf_number(em_btree *t, uint64_t *id, em_errinfo *err)
{
	return new_number(t, &t->leaves, id, err);
}

em_status emi_btree_new_leaf(em_btree *t, emi_btree_pin *pin, em_errinfo *err)
{
	return new_block(t, &t->leaves, pin, err);
}

em_status emi_btree_new_node(em_btree *t, emi_btree_pin *pin, em_errinfo *err)
{
	return new_block(t, &t->nodes, pin, err);
}

static void drop_block(emi_btree_blocks *b, emi_btree_pin *pin)
{
	unpin(b, pin, 0);
	(void)emi_store_free(b->store, NULL, bid_of(b, pin->id), b->bytes, NULL);
	emi_btree_ids_give(&b->ids, pin->id);
}

void emi_btree_drop_leaf(em_btree *t, emi_btree_pin *pin)
{
	drop_block(&t->leaves, pin);
}

void emi_btree_drop_node(em_btree *t, emi_btree_pin *pin)
{
	drop_block(&t->nodes, pin);
}

em_status emi_btree_have_tmp(em_btree *t, em_errinfo *err)
{
	if (t->tmp == NULL)
		t->tmp = emi_buffer_alloc(t->object.ctx, t->plan.leaf_bytes, err);
	if (t->tmp == NULL)
		return err->status;
	if (t->key == NULL)
		t->key = emi_alloc(t->object.ctx, t->plan.record, err);
	return t->key != NULL ? EM_OK : err->status;
}
