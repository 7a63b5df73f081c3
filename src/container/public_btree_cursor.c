/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_btree_cursor.c -- cursors of B+-trees as callers outside know them.
 *
 * A cursor is of one thread with its tree, and has the tree's flag that tells of a call in progress, and its detail of
 * failures.  One that is closed in such a call is released when that ends.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "container/public_btree.h"

#define ALIGN 16u               /* of keys that functions look at */

static size_t struct_bytes(void)
{
	return (sizeof(em_btree_cursor) + ALIGN - 1) / ALIGN * ALIGN;
}

/* A function may look at it as at a record. */
static size_t cursor_bytes(const em_btree *t)
{
	return struct_bytes() + (t->plan.by_fields ? t->plan.key : t->plan.record);
}

static void release(em_btree_cursor *c)
{
	em_btree *t = c->tree;

	emi_btree_cursors_remove(t, c);
	emi_free(t->object.ctx, c, cursor_bytes(t));
	emi_btree_let(t);
}

void emi_btree_release_closed(em_btree *t)
{
	em_btree_cursor *c = t->cursors.closed, *next;

	t->cursors.closed = NULL;
	for (; c != NULL; c = next) {
		next = c->next_closed;
		release(c);
	}
}

static em_status enter(em_btree_cursor *c, em_errinfo *err)
{
	return emi_enter(c != NULL ? c->tree : NULL, err);
}

static em_status leave(em_btree *t, em_status st, const em_errinfo *err)
{
	if (st < EM_OK)
		st = emi_leave(t, st, err);
	else
		emi_leave_quickly(&t->object);
	if (t->cursors.closed != NULL)
		emi_btree_release_closed(t);
	return st;
}

/* The same for what is called very often. */
static em_status begin(em_btree_cursor *c, em_errinfo *err)
{
	const em_status st = c != NULL ? emi_enter_quickly(&c->tree->object) : EM_ERR_INVAL;

	err->status = EM_OK;
	return st;
}

em_status em_btree_cursor_open(em_btree_cursor **out, em_btree *t)
{
	em_btree_cursor *c = NULL;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_enter(t, &err);
	if (st != EM_OK)
		return st;
	st = emi_given(out, "out", &err);
	if (st == EM_OK) {
		c = emi_alloc(t->object.ctx, cursor_bytes(t), &err);
		st = c != NULL ? emi_btree_cursors_add(t, c, &err) : err.status;
	}
	if (st != EM_OK) {
		emi_free(t->object.ctx, c, cursor_bytes(t));
		return leave(t, st, &err);
	}
	c->key = (char *)c + struct_bytes();
	t->users++;
	*out = c;
	return leave(t, EM_OK, &err);
}

void em_btree_cursor_close(em_btree_cursor *c)
{
	em_btree *t;

	if (c == NULL)
		return;
	t = c->tree;
	if ((__atomic_load_n(&t->object.state, __ATOMIC_RELAXED) & EMI_OBJECT_BUSY) == 0) {
		release(c);
	} else if (!c->closing) {
		c->closing = 1;
		c->next_closed = t->cursors.closed;
		t->cursors.closed = c;
	}
}

em_status em_btree_cursor_seek(em_btree_cursor *c, const void *key, uint32_t how)
{
	emi_btree_probe probe;
	em_errinfo err;
	em_status st = begin(c, &err);
	em_btree *t;

	if (st != EM_OK)
		return st;
	t = c->tree;
	if (how > EM_BTREE_EQ)
		st = emi_fail(&err, EM_ERR_INVAL, "there is no way %" PRIu32 " to seek", how);
	if (st == EM_OK && how != EM_BTREE_GE && how != EM_BTREE_LE)
		st = emi_given(key, "key", &err);
	if (st == EM_OK && key != NULL)
		st = emi_btree_probe_key(t, key, 0, &probe, &err);
	if (st == EM_OK)
		st = emi_btree_seek(c, key != NULL ? &probe : NULL, how, &err);
	return leave(t, st, &err);
}

em_status em_btree_cursor_get(em_btree_cursor *c, void *record)
{
	em_errinfo err;
	em_status st = begin(c, &err);

	return st == EM_OK ? leave(c->tree, emi_btree_cursor_get(c, record, &err), &err) : st;
}

static em_status step(em_btree_cursor *c, int forward, void *record)
{
	em_errinfo err;
	em_status st = begin(c, &err);
	uint64_t got;

	return st == EM_OK ? leave(c->tree, emi_btree_cursor_step(c, forward, record, 1, &got, &err), &err) : st;
}

em_status em_btree_cursor_next(em_btree_cursor *c, void *record)
{
	return step(c, 1, record);
}

em_status em_btree_cursor_prev(em_btree_cursor *c, void *record)
{
	return step(c, 0, record);
}

static em_status step_many(em_btree_cursor *c, int forward, void *records, uint64_t n, uint64_t *got)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = enter(c, &err);

	if (got != NULL)
		*got = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(got, "got", &err);
	if (st == EM_OK)
		st = emi_btree_cursor_step(c, forward, records, n, &done, &err);
	if (got != NULL)
		*got = done;
	return leave(c->tree, st, &err);
}

em_status em_btree_cursor_next_many(em_btree_cursor *c, void *records, uint64_t n, uint64_t *got)
{
	return step_many(c, 1, records, n, got);
}

em_status em_btree_cursor_prev_many(em_btree_cursor *c, void *records, uint64_t n, uint64_t *got)
{
	return step_many(c, 0, records, n, got);
}

em_status em_btree_cursor_insert(em_btree_cursor *c, const void *record)
{
	em_errinfo err;
	em_status st = begin(c, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_btree_may_change(c->tree, &err);
	if (st == EM_OK)
		st = emi_btree_insert(c->tree, record, 0, c, &err);
	return leave(c->tree, st, &err);
}

em_status em_btree_cursor_put(em_btree_cursor *c, const void *record)
{
	em_errinfo err;
	em_status st = begin(c, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_btree_may_change(c->tree, &err);
	if (st == EM_OK)
		st = emi_btree_cursor_put(c, record, &err);
	return leave(c->tree, st, &err);
}

em_status em_btree_cursor_erase(em_btree_cursor *c)
{
	em_errinfo err;
	em_status st = begin(c, &err);

	if (st != EM_OK)
		return st;
	st = emi_btree_may_change(c->tree, &err);
	if (st == EM_OK)
		st = c->state == EMI_CURSOR_ON ? emi_btree_erase_cursor(c->tree, c, &err) : EM_NOT_FOUND;
	return leave(c->tree, st, &err);
}

static em_status count(em_btree_cursor *c, uint64_t *n, em_errinfo *err)
{
	em_btree *t = c->tree;
	emi_btree_pin pin = { 0 };
	emi_btree_probe probe;
	em_status st;

	if (c->state != EMI_CURSOR_ON)
		return EM_NOT_FOUND;
	st = emi_btree_leaf(t, c->leaf, EM_CACHE_READ, &pin, err);
	if (st != EM_OK)
		return st;
	memcpy(c->key, emi_btree_record(t, &pin, c->slot), t->plan.key);
	emi_btree_unpin_leaf(t, &pin, 0);
	st = emi_btree_probe_key(t, c->key, 0, &probe, err);
	return st == EM_OK ? emi_btree_count(t, &probe, &probe, n, err) : st;
}

em_status em_btree_cursor_count(em_btree_cursor *c, uint64_t *n)
{
	uint64_t all = 0;
	em_errinfo err;
	em_status st = enter(c, &err);

	if (n != NULL)
		*n = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(n, "n", &err);
	if (st == EM_OK)
		st = count(c, &all, &err);
	if (st == EM_OK)
		*n = all;
	return leave(c->tree, st, &err);
}

void em_btree_cursor_error(const em_btree_cursor *c, em_errinfo *err)
{
	emi_object_error(c != NULL ? c->tree : NULL, err);
}
