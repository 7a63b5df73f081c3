/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_btree_many.c -- calls on B+-trees for many records: what they give is checked, and sorted by the engine before
 * the tree is changed.
 */
#include <inttypes.h>
#include <string.h>

#include <extmem/sort.h>

#include "base/memory.h"
#include "base/structs.h"
#include "container/btree_load.h"
#include "container/public_btree.h"

enum { FEW = 32, STAGE = 64 };

static em_status check_many(const em_btree *t, const void *items, const char *name, uint64_t n, size_t bytes,
			    em_errinfo *err)
{
	const em_status st = n != 0 ? emi_given(items, name, err) : EM_OK;

	(void)t;
	if (st == EM_OK && n > SIZE_MAX / bytes)
		return emi_fail(err, EM_ERR_RANGE, "%" PRIu64 " %s", n, name);
	return st;
}

static em_status look_up(em_btree *t, const void *keys, uint64_t n, int equal, void *records, uint8_t *found,
			 uint64_t *n_found)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (n_found != NULL)
		*n_found = 0;
	if (st != EM_OK)
		return st;
	st = check_many(t, keys, "keys", n, t->plan.record, &err);
	if (st == EM_OK && n != 0)
		st = emi_given(records, "records", &err);
	if (st == EM_OK && found != NULL && n != 0)
		memset(found, 0, (size_t)n);
	if (st == EM_OK)
		st = emi_btree_get_many(t, keys, n, 0, equal, records, found, &done, &err);
	if (n_found != NULL)
		*n_found = done;
	return emi_leave(t, st, &err);
}

em_status em_btree_get_many(em_btree *t, const void *keys, uint64_t n, void *records, uint8_t *found,
			    uint64_t *n_found)
{
	return look_up(t, keys, n, 1, records, found, n_found);
}

em_status em_btree_lower_bound_many(em_btree *t, const void *keys, uint64_t n, void *records, uint8_t *found,
				    uint64_t *n_found)
{
	return look_up(t, keys, n, 0, records, found, n_found);
}

static em_status sorter_failed(const em_sorter *s, em_status st, em_errinfo *err)
{
	if (st < EM_OK && s != NULL)
		em_sorter_error(s, err);
	return st;
}

/* An empty tree is loaded; the first of those with equal keys enters, as it would otherwise. */
static em_status load(em_btree *t, em_sorter *sorted, uint64_t *changed, em_errinfo *err)
{
	em_btree_load_opts o = EM_BTREE_LOAD_OPTS_INIT;
	em_status st;

	o.flags = EM_BTREE_LOAD_SKIP;
	st = emi_btree_load_from(t, sorted, &o, err);
	*changed = t->n;
	return st;
}

/* All that a sorter is going to lend. */
static em_status update(em_btree *t, em_sorter *sorted, emi_btree_update_kind kind, uint64_t *changed, em_errinfo *err)
{
	const em_batch *batch;
	em_status st;

	/* Cursors may stand in gaps, also of an empty tree, and stay there. */
	if (t->n == 0 && t->cursors.n == 0 && kind == EMI_BTREE_INSERT)
		return load(t, sorted, changed, err);
	while ((st = em_sorter_next(sorted, &batch)) == EM_OK) {
		if (batch->ends != NULL || batch->bytes != batch->n * t->plan.record)
			return emi_fail(err, EM_ERR_INVAL, "records of the sorter are not of %" PRIu64 " bytes",
					(uint64_t)t->plan.record);
		st = emi_btree_update(t, batch->records, batch->n, kind, changed, err);
		if (st != EM_OK)
			return st;
	}
	return st == EM_END ? EM_OK : sorter_failed(sorted, st, err);
}

/* Keys become records of which nothing else is filled. */
static em_status push_keys(em_btree *t, em_sorter *s, const char *keys, uint64_t n, em_errinfo *err)
{
	const size_t record = t->plan.record, key = t->plan.key;
	char *stage = emi_alloc_array(t->object.ctx, STAGE, record, err);
	em_status st = EM_OK;

	if (stage == NULL)
		return err->status;
	while (n != 0 && st == EM_OK) {
		const size_t some = n < STAGE ? (size_t)n : STAGE;
		size_t k;

		for (k = 0; k < some; k++, keys += key)
			memcpy(stage + k * record, keys, key);
		st = sorter_failed(s, em_sorter_push(s, stage, some), err);
		n -= some;
	}
	emi_free_array(t->object.ctx, stage, STAGE, record);
	return st;
}

static em_status sort_and_update(em_btree *t, const char *items, uint64_t n, emi_btree_update_kind kind,
				 uint64_t *changed, em_errinfo *err)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_sorter *s = NULL;
	em_status st;

	o.errinfo = err;
	st = em_sorter_open(&s, t->object.ctx, t->by.order, &o);
	if (st == EM_OK)
		st = kind == EMI_BTREE_ERASE ? push_keys(t, s, items, n, err)
					     : sorter_failed(s, em_sorter_push(s, items, n), err);
	if (st == EM_OK)
		st = sorter_failed(s, em_sorter_finish(s), err);
	if (st == EM_OK)
		st = update(t, s, kind, changed, err);
	em_sorter_close(s);
	return st;
}

/* Have a few in the order of the tree, equal ones as they came: it is in that order that they enter, so that who was
 * told how many have entered knows which. */
static em_status order_few(em_btree *t, const char *records, uint64_t n, uint8_t *order, em_errinfo *err)
{
	const size_t record = t->plan.record;
	uint8_t i, k;

	for (i = 0; i < n; i++) {
		for (k = i; k != 0; k--) {
			if (emi_collation_compare(&t->by, records + order[k - 1] * record, records + i * record) <= 0)
				break;
			order[k] = order[k - 1];
		}
		order[k] = i;
	}
	return emi_btree_compared(t, err);
}

/* A few need no sorter. */
static em_status update_few(em_btree *t, const char *items, uint64_t n, emi_btree_update_kind kind, uint64_t *changed,
			    em_errinfo *err)
{
	const size_t step = kind == EMI_BTREE_ERASE ? t->plan.key : t->plan.record;
	uint8_t order[FEW];
	em_status st = EM_OK;
	uint64_t i;

	for (i = 0; i < n; i++)
		order[i] = (uint8_t)i;
	if (t->plan.duplicates && kind == EMI_BTREE_INSERT)
		st = order_few(t, items, n, order, err);
	for (i = 0; i < n && st == EM_OK; i++)
		st = emi_btree_update(t, items + order[i] * step, 1, kind, changed, err);
	return st;
}

static em_status change_many(em_btree *t, const void *items, const char *name, uint64_t n, emi_btree_update_kind kind,
			     uint64_t *changed)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (changed != NULL)
		*changed = 0;
	if (st != EM_OK)
		return st;
	st = check_many(t, items, name, n, t->plan.record, &err);
	if (st == EM_OK)
		st = emi_btree_may_change(t, &err);
	if (st == EM_OK)
		st = n <= FEW ? update_few(t, items, n, kind, &done, &err)
			      : sort_and_update(t, items, n, kind, &done, &err);
	if (changed != NULL)
		*changed = done;
	return emi_leave(t, st, &err);
}

em_status em_btree_insert_many(em_btree *t, const void *records, uint64_t n, uint64_t *inserted)
{
	return change_many(t, records, "records", n, EMI_BTREE_INSERT, inserted);
}

em_status em_btree_upsert_many(em_btree *t, const void *records, uint64_t n, uint64_t *inserted)
{
	return change_many(t, records, "records", n, EMI_BTREE_UPSERT, inserted);
}

em_status em_btree_erase_many(em_btree *t, const void *keys, uint64_t n, uint64_t *erased)
{
	return change_many(t, keys, "keys", n, EMI_BTREE_ERASE, erased);
}

em_status em_btree_insert_sorted(em_btree *t, em_sorter *sorted, uint64_t *inserted)
{
	uint64_t done = 0;
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (inserted != NULL)
		*inserted = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(sorted, "sorted", &err);
	if (st == EM_OK)
		st = emi_btree_may_change(t, &err);
	if (st == EM_OK)
		st = update(t, sorted, EMI_BTREE_INSERT, &done, &err);
	if (inserted != NULL)
		*inserted = done;
	return emi_leave(t, st, &err);
}
