/* SPDX-License-Identifier: BSL-1.0 */
/* public_btree_file.c -- saving B+-trees, and opening them again, as callers outside know it. */
#include <inttypes.h>

#include "base/structs.h"
#include "block/policy.h"
#include "block/suffice.h"
#include "container/btree_file.h"
#include "container/public_btree.h"
#include "key/order.h"

em_status em_btree_save(em_btree *t, const char *path)
{
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(path, "path", &err);
	if (st == EM_OK && t->loader != NULL)
		st = emi_btree_may_change(t, &err);
	return emi_leave(t, st == EM_OK ? emi_btree_save(t, path, &err) : st, &err);
}

/* Will the context have the memory for the caches? */
static em_status check_memory(const em_ctx *ctx, const emi_btree_plan *p, em_errinfo *err)
{
	const emi_wants w = { sizeof(em_btree) + emi_btree_memory_full(p), 0, 0, 0, 0, 1 };

	return emi_suffice_check(ctx, &w, err, "cache_bytes of %" PRIu64 ", node_cache_bytes of %" PRIu64,
				 (uint64_t)p->leaf_frames * p->leaf_bytes, (uint64_t)p->node_frames * p->node_bytes);
}

/* The file is open, and closed with what becomes of it. */
static em_status open_saved(em_btree **out, emi_btree_file *f, const em_order *order, const em_btree_opts *o,
			    em_errinfo *err)
{
	emi_btree_plan plan;
	em_btree *t = NULL;
	em_status st = emi_btree_file_plan(f, order, o, &plan, err);

	if (st == EM_OK)
		st = check_memory(f->ctx, &plan, err);
	if (st == EM_OK)
		t = emi_btree_new(f->ctx, &plan, err);
	if (t == NULL) {
		emi_btree_file_close(f);
		return err->status;
	}
	st = emi_btree_open_saved(t, f, order, o, err);
	if (st == EM_OK)
		*out = t;
	else
		em_btree_close(t);
	return st;
}

static em_status open_file(em_btree **out, em_ctx *ctx, const char *path, const em_order *order, em_btree_opts *o,
			   em_errinfo *err)
{
	em_order *own = NULL;
	emi_btree_file *f;
	em_status st = emi_policy_choose(&o->policy, err);

	if (st == EM_OK && order != NULL && emi_order_ctx(order) != ctx)
		st = emi_fail(err, EM_ERR_INVAL, "the order is of another context");
	if (st == EM_OK)
		st = emi_btree_file_open(&f, ctx, path, err);
	if (st != EM_OK)
		return st;
	if (order == NULL) {
		st = emi_btree_file_order(f, &own, err);
		order = own;
	}
	if (st == EM_OK)
		st = open_saved(out, f, order, o, err);
	else
		emi_btree_file_close(f);
	em_order_close(own);
	return st;
}

em_status em_btree_open_file(em_btree **out, em_ctx *ctx, const char *path, const em_order *order,
			     const em_btree_opts *opts)
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
		st = emi_given(path, "path", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_btree_opts, &o, opts != NULL ? opts : &plain, &err);
	if (st == EM_OK)
		st = open_file(out, ctx, path, order, &o, &err);
	(void)emi_user_give(st == EM_OK ? &(*out)->policy : NULL, &policy, st);
	return emi_tell(opts != NULL ? EMI_ERRINFO_OF(em_btree_opts, opts) : NULL, st, &err);
}

const em_order *em_btree_order(const em_btree *t)
{
	return t != NULL ? t->by.order : NULL;
}
