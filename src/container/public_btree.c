/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_btree.c -- B+-trees as callers outside know them: what they give is checked, and the detail of failures is
 * kept.
 */
#include "container/btree_file.h"
#include "container/public_btree.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/copy.h"
#include "base/memory.h"
#include "base/structs.h"
#include "block/policy.h"
#include "block/suffice.h"

void emi_btree_let(em_btree *t)
{
	if (--t->users != 0)
		return;
	emi_btree_close(t);
	emi_object_free(t, sizeof *t);
}

/* With cursors or a loader it goes on for these. */
static void release_tree(void *tree)
{
	em_btree *t = tree;
	int last;

	if (t->cursors.closed != NULL)
		emi_btree_release_closed(t);
	last = t->users == 1;
	emi_btree_let(t);
	if (!last)
		emi_leave_quickly(&t->object);
}

em_btree *emi_btree_new(em_ctx *ctx, const emi_btree_plan *plan, em_errinfo *err)
{
	em_btree *t = emi_object_new(ctx, sizeof *t, 0, release_tree, err);

	if (t != NULL) {
		t->users = 1;
		t->plan = *plan;
	}
	return t;
}

/* The least memory, and no less than that, with which a tree works. */
static uint64_t least_of(const em_ctx *ctx, uint64_t memory, const emi_btree_plan *p)
{
	/* Leaves and nodes have a store each. */
	const uint64_t blocks = (uint64_t)p->leaf_frames + p->node_frames + 2 * EMI_BLOCKS_SURE;
	const emi_wants w = { sizeof(em_btree) + emi_btree_memory_full(p), blocks, p->leaf_bytes, 0, 2, 0 };

	return emi_suffice_least(ctx, memory, &w);
}

/* A context that has more gives caches more, unasked, so what would do is found by trying. */
static em_status check_memory(const em_ctx *ctx, const emi_btree_plan *plan, const em_order *order,
			      const em_btree_opts *o, em_errinfo *err)
{
	const uint64_t memory = em_ctx_memory(ctx);
	uint64_t has = memory, least = least_of(ctx, memory, plan);
	emi_btree_plan p = *plan;

	while (least > has) {
		const em_status st = emi_btree_plan_make(&p, least, order, o, err);

		if (st != EM_OK)
			return st;
		has = least;
		least = least_of(ctx, has, &p);
	}
	if (has == memory)
		return EM_OK;
	return emi_suffice_refuse(ctx, has, err, "cache_bytes of %" PRIu64 ", node_cache_bytes of %" PRIu64,
				  (uint64_t)plan->leaf_frames * plan->leaf_bytes,
				  (uint64_t)plan->node_frames * plan->node_bytes);
}

static em_status open_tree(em_btree **out, em_ctx *ctx, const em_order *order, em_btree_opts *o, em_errinfo *err)
{
	emi_btree_plan plan;
	em_btree *t;
	em_status st = emi_policy_choose(&o->policy, err);

	if (st == EM_OK && emi_order_ctx(order) != ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the order is of another context");
	if (st == EM_OK)
		st = emi_btree_plan_make(&plan, em_ctx_memory(ctx), order, o, err);
	if (st == EM_OK)
		st = check_memory(ctx, &plan, order, o, err);
	if (st != EM_OK)
		return st;
	t = emi_btree_new(ctx, &plan, err);
	if (t == NULL)
		return err->status;
	st = emi_btree_open(t, ctx, order, o, err);
	if (st != EM_OK)
		release_tree(t);
	else
		*out = t;
	return st;
}

em_status em_btree_open(em_btree **out, em_ctx *ctx, const em_order *order, const em_btree_opts *opts)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	em_btree_opts o;
	em_errinfo err;
	emi_user policy;
	em_status st;

	if (out != NULL)
		*out = NULL;
	/* Whatever is wrong, what the policy has is freed. */
	(void)EMI_STRUCT_TAKE(em_btree_opts, &o, opts, NULL);
	policy = emi_policy_user(o.policy);
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(order, "order", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_btree_opts, &o, opts != NULL ? opts : &plain, &err);
	if (st == EM_OK)
		st = open_tree(out, ctx, order, &o, &err);
	(void)emi_user_give(st == EM_OK ? &(*out)->policy : NULL, &policy, st);
	return emi_tell(opts != NULL ? EMI_ERRINFO_OF(em_btree_opts, opts) : NULL, st, &err);
}

void em_btree_close(em_btree *t)
{
	emi_object_close(t);
}

void em_btree_cancel(em_btree *t)
{
	emi_object_cancel(t);
}

uint64_t em_btree_memory(const em_order *order, const em_btree_opts *opts, uint64_t records)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;
	em_btree_opts o;
	emi_btree_plan p;
	em_errinfo err;

	emi_errinfo_clear(&err);
	if (order == NULL || EMI_STRUCT_TAKE(em_btree_opts, &o, opts != NULL ? opts : &plain, &err) != EM_OK ||
	    emi_policy_choose(&o.policy, &err) != EM_OK ||
	    emi_btree_plan_make(&p, UINT64_MAX, order, &o, &err) != EM_OK)
		return 0;
	return sizeof(em_btree) + emi_btree_memory(&p, records);
}

uint64_t em_btree_size(const em_btree *t)
{
	return t != NULL ? t->n : 0;
}

uint64_t em_btree_record_bytes(const em_btree *t)
{
	return t != NULL ? t->plan.record : 0;
}

uint64_t em_btree_key_bytes(const em_btree *t)
{
	return t != NULL ? t->plan.key : 0;
}

em_status emi_btree_refuse_change(const em_btree *t, em_errinfo *err)
{
	if (t->file != NULL)
		return emi_fail_refused(err, EM_ERR_ACCESS, "a tree that was saved is for reading only", "write",
					emi_file_path(t->file->file), EMI_NO_OFFSET, 0);
	return emi_fail(err, EM_ERR_STATE, "the tree is being loaded");
}

/* Begin a call that is made very often. */
static inline em_status begin(em_btree *t, em_errinfo *err)
{
	const em_status st = t != NULL ? emi_enter_quickly(&t->object) : EM_ERR_INVAL;

	err->status = EM_OK;
	return st;
}

static inline em_status end(em_btree *t, em_status st, const em_errinfo *err)
{
	if (st < EM_OK)
		return emi_leave(t, st, err);
	emi_leave_quickly(&t->object);
	return st;
}

static em_status add(em_btree *t, const void *record, int replace)
{
	em_errinfo err;
	em_status st = begin(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_btree_may_change(t, &err);
	if (st == EM_OK)
		st = emi_btree_insert(t, record, replace, NULL, &err);
	return end(t, st, &err);
}

em_status em_btree_insert(em_btree *t, const void *record)
{
	return add(t, record, 0);
}

em_status em_btree_upsert(em_btree *t, const void *record)
{
	return add(t, record, 1);
}

/* Copy the first record of a bound, which, equal, must have that key. */
static em_status look_up(em_btree *t, const void *key, int upper, int equal, void *record)
{
	emi_btree_probe probe;
	emi_btree_spot spot;
	em_errinfo err;
	em_status st = begin(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(key, "key", &err);
	if (st == EM_OK)
		st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_btree_probe_key(t, key, 0, &probe, &err);
	if (st == EM_OK)
		st = emi_btree_bound(t, &probe, upper, EM_CACHE_READ, &spot, &err);
	if (st == EM_OK) {
		const char *at = emi_btree_record(t, &spot.pin, spot.slot);

		if (equal && !emi_btree_equals(t, at, &probe))
			st = EM_NOT_FOUND;
		else if (!emi_copy_usual(record, at, t->plan.record))
			emi_copy(record, at, t->plan.record);
		emi_btree_unpin_leaf(t, &spot.pin, 0);
		if (emi_btree_compared(t, &err) != EM_OK)
			st = err.status;
	}
	return end(t, st, &err);
}

em_status em_btree_get(em_btree *t, const void *key, void *record)
{
	return look_up(t, key, 0, 1, record);
}

em_status em_btree_lower_bound(em_btree *t, const void *key, void *record)
{
	return look_up(t, key, 0, 0, record);
}

em_status em_btree_upper_bound(em_btree *t, const void *key, void *record)
{
	return look_up(t, key, 1, 0, record);
}

em_status em_btree_erase(em_btree *t, const void *key, void *record)
{
	emi_btree_probe probe;
	em_errinfo err;
	em_status st = begin(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(key, "key", &err);
	if (st == EM_OK)
		st = emi_btree_may_change(t, &err);
	if (st == EM_OK)
		st = emi_btree_probe_key(t, key, 0, &probe, &err);
	if (st == EM_OK)
		st = emi_btree_erase(t, &probe, record, &err);
	return end(t, st, &err);
}

static em_status at_end(em_btree *t, int last, int pop, void *record)
{
	em_errinfo err;
	em_status st = begin(t, &err);

	if (st != EM_OK)
		return st;
	st = pop ? emi_btree_may_change(t, &err) : emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_btree_end(t, last, pop, record, &err);
	return end(t, st, &err);
}

em_status em_btree_min(em_btree *t, void *record)
{
	return at_end(t, 0, 0, record);
}

em_status em_btree_max(em_btree *t, void *record)
{
	return at_end(t, 1, 0, record);
}

em_status em_btree_pop_min(em_btree *t, void *record)
{
	return at_end(t, 0, 1, record);
}

em_status em_btree_pop_max(em_btree *t, void *record)
{
	return at_end(t, 1, 1, record);
}

em_status em_btree_clear(em_btree *t)
{
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_btree_may_change(t, &err);
	return emi_leave(t, st == EM_OK ? emi_btree_clear(t, &err) : st, &err);
}

em_status em_btree_flush(em_btree *t)
{
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_cache_flush(t->leaves.cache, &err);
	if (st == EM_OK)
		st = emi_cache_flush(t->nodes.cache, &err);
	return emi_leave(t, st, &err);
}

em_status em_btree_verify(em_btree *t)
{
	em_errinfo err;
	const em_status st = emi_enter(t, &err);

	return st == EM_OK ? emi_leave(t, emi_btree_verify(t, &err), &err) : st;
}

em_status em_btree_stats_get(const em_btree *t, em_btree_stats *stats)
{
	em_btree_stats s = EM_BTREE_STATS_INIT;
	em_cache_stats leaves, nodes;

	if (t == NULL)
		return EM_ERR_INVAL;
	emi_cache_stats_get(t->leaves.cache, &leaves);
	emi_cache_stats_get(t->nodes.cache, &nodes);
	s.height = t->height;
	s.records = t->n;
	s.key_bytes = t->plan.key;
	s.leaf_bytes = t->plan.leaf_bytes;
	s.node_bytes = t->plan.node_bytes;
	s.leaf_records = t->plan.leaf_most;
	s.node_children = t->plan.fan;
	s.leaves = emi_btree_ids_count(&t->leaves.ids);
	s.nodes = emi_btree_ids_count(&t->nodes.ids);
	s.leaf_hits = leaves.hits;
	s.leaf_misses = leaves.misses;
	s.node_hits = nodes.hits;
	s.node_misses = nodes.misses;
	s.leaf_reads = leaves.reads;
	s.leaf_writes = leaves.writes + t->loaded;
	s.node_reads = nodes.reads;
	s.node_writes = nodes.writes;
	s.splits = t->splits;
	s.shares = t->shares;
	s.fusions = t->fusions;
	return EMI_STRUCT_GIVE(em_btree_stats, stats, &s);
}

void em_btree_error(const em_btree *t, em_errinfo *err)
{
	emi_object_error(t, err);
}
