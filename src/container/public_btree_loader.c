/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_btree_loader.c -- loaders of B+-trees as callers outside know them.
 *
 * A loader is of one thread with its tree, so it has the tree's flag that tells of a call in progress, and keeps it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/structs.h"
#include "container/btree_load.h"
#include "container/public_btree.h"

struct em_btree_loader {
	emi_object object;
	emi_btree_load load;
	int finished;
};

static void release_loader(void *loader)
{
	em_btree_loader *l = loader;
	em_btree *t = l->load.tree;

	emi_btree_load_close(&l->load);
	emi_object_free(l, sizeof *l);
	emi_btree_let(t);
}

static em_status check(const em_btree *t, const em_btree_load_opts *o, em_errinfo *err)
{
	em_status st = emi_btree_may_change(t, err);

	if (st == EM_OK && t->n != 0)
		st = emi_fail(err, EM_ERR_STATE, "there are %" PRIu64 " records in the tree", t->n);
	if (st == EM_OK && (o->flags & ~(uint32_t)EM_BTREE_LOAD_SKIP) != 0)
		st = emi_fail(err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", o->flags);
	if (st == EM_OK && (o->leaf_fill > 100 || o->node_fill > 100))
		st = emi_fail(err, EM_ERR_RANGE, "leaves of %" PRIu32 " percent and nodes of %" PRIu32, o->leaf_fill,
			      o->node_fill);
	return st;
}

/* A call on the tree has begun. */
static em_status open_loader(em_btree_loader **out, em_btree *t, const em_btree_load_opts *o, em_errinfo *err)
{
	em_btree_loader *l;
	em_status st = check(t, o, err);

	/* The root of a tree that has become empty. */
	if (st == EM_OK)
		st = emi_btree_clear(t, err);
	if (st != EM_OK)
		return st;
	l = emi_object_new(t->object.ctx, sizeof *l, 0, release_loader, err);
	if (l == NULL)
		return err->status;
	l->object.turn = &t->object;
	t->users++;
	st = emi_btree_load_open(&l->load, t, o, err);
	if (st != EM_OK)
		release_loader(l);
	else
		*out = l;
	return st;
}

em_status em_btree_loader_open(em_btree_loader **out, em_btree *t, const em_btree_load_opts *opts)
{
	const em_btree_load_opts plain = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_load_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_enter(t, &err);
	if (st == EM_OK) {
		st = emi_given(out, "out", &err);
		if (st == EM_OK)
			st = EMI_STRUCT_TAKE(em_btree_load_opts, &o, opts != NULL ? opts : &plain, &err);
		if (st == EM_OK)
			st = open_loader(out, t, &o, &err);
		st = emi_leave(t, st, &err);
	}
	return emi_tell(opts != NULL ? EMI_ERRINFO_OF(em_btree_load_opts, opts) : NULL, st, &err);
}

void em_btree_loader_close(em_btree_loader *l)
{
	emi_object_close(l);
}

static em_status working(const em_btree_loader *l, em_errinfo *err)
{
	return l->finished ? emi_fail(err, EM_ERR_STATE, "the loader is finished") : EM_OK;
}

em_status em_btree_loader_push(em_btree_loader *l, const void *records, uint64_t n, uint64_t *pushed)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = emi_enter(l, &err);

	if (pushed != NULL)
		*pushed = 0;
	if (st != EM_OK)
		return st;
	st = n != 0 ? emi_given(records, "records", &err) : EM_OK;
	if (st == EM_OK)
		st = working(l, &err);
	if (st == EM_OK && l->load.ending)
		st = emi_fail(&err, EM_ERR_STATE, "the loader is finished, but for the last step");
	if (st == EM_OK && n > SIZE_MAX / l->load.tree->plan.record)
		st = emi_fail(&err, EM_ERR_RANGE, "%" PRIu64 " records more", n);
	if (st == EM_OK)
		st = emi_btree_load_push(&l->load, records, (size_t)n, &done, &err);
	if (pushed != NULL)
		*pushed = done;
	return emi_leave(l, st, &err);
}

em_status em_btree_loader_finish(em_btree_loader *l)
{
	em_errinfo err;
	em_status st = emi_enter(l, &err);

	if (st != EM_OK)
		return st;
	st = working(l, &err);
	if (st == EM_OK)
		st = emi_btree_load_finish(&l->load, &err);
	l->finished = st == EM_OK || l->finished;
	return emi_leave(l, st, &err);
}

void em_btree_loader_error(const em_btree_loader *l, em_errinfo *err)
{
	emi_object_error(l, err);
}

em_status em_btree_load_sorted(em_btree *t, em_sorter *sorted, const em_btree_load_opts *opts)
{
	const em_btree_load_opts plain = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_load_opts o;
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (st == EM_OK) {
		st = emi_given(sorted, "sorted", &err);
		if (st == EM_OK)
			st = EMI_STRUCT_TAKE(em_btree_load_opts, &o, opts != NULL ? opts : &plain, &err);
		if (st == EM_OK)
			st = check(t, &o, &err);
		if (st == EM_OK)
			st = emi_btree_load_from(t, sorted, &o, &err);
		st = emi_leave(t, st, &err);
	}
	return emi_tell(opts != NULL ? EMI_ERRINFO_OF(em_btree_load_opts, opts) : NULL, st, &err);
}
