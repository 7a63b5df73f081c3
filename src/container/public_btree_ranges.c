/* SPDX-License-Identifier: BSL-1.0 */
/* public_btree_ranges.c -- calls on the records of a B+-tree between two keys; see public_btree.h. */
#include <inttypes.h>

#include "container/public_btree.h"

/* The probes of both ends of a range; NULL where there is none. */
typedef struct range {
	emi_btree_probe from, to;
	const emi_btree_probe *first, *last;
} range;

static em_status take_range(em_btree *t, const void *from, const void *to, range *r, em_errinfo *err)
{
	em_status st = EM_OK;

	r->first = r->last = NULL;
	if (from != NULL) {
		st = emi_btree_probe_key(t, from, 0, &r->from, err);
		r->first = &r->from;
	}
	if (st == EM_OK && to != NULL) {
		st = emi_btree_probe_key(t, to, 1, &r->to, err);
		r->last = &r->to;
	}
	return st;
}

static em_status add_up(em_btree *t, void *arg, uint64_t i, const emi_btree_spot *s, uint32_t n, em_errinfo *err)
{
	(void)t;
	(void)i;
	(void)s;
	(void)err;
	*(uint64_t *)arg += n;
	return EM_OK;
}

em_status emi_btree_count(em_btree *t, const emi_btree_probe *from, const emi_btree_probe *to, uint64_t *n,
			  em_errinfo *err)
{
	*n = 0;
	return emi_btree_scan_one(t, from, to, 1, add_up, n, err);
}

em_status em_btree_count(em_btree *t, const void *from, const void *to, uint64_t *n)
{
	uint64_t count = 0;
	em_errinfo err;
	em_status st = emi_enter(t, &err);
	range r;

	if (n != NULL)
		*n = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(n, "n", &err);
	if (st == EM_OK)
		st = take_range(t, from, to, &r, &err);
	if (st == EM_OK)
		st = emi_btree_count(t, r.first, r.last, &count, &err);
	if (st == EM_OK)
		*n = count;
	return emi_leave(t, st, &err);
}

typedef struct visitor {
	em_btree_visit_fn fn;
	void *user;
	uint64_t before;        /* records that were visited; of one range */
} visitor;

/* Records that do not lie in their order are copied. */
static em_status visit(em_btree *t, void *arg, uint64_t i, const emi_btree_spot *s, uint32_t n, em_errinfo *err)
{
	const emi_leaf_place p = emi_btree_place(t, &s->pin);
	const char *records = t->form.kind->record(&t->form, p, s->slot);
	const visitor *v = arg;

	if (!t->form.kind->in_order(&t->form, p)) {
		const em_status st = emi_btree_have_tmp(t, err);

		if (st != EM_OK)
			return st;
		t->form.kind->copy(&t->form, p, s->slot, n, t->tmp);
		records = t->tmp;
	}
	return emi_returned(v->fn(v->user, i, records, n), err);
}

static em_status visit_one(em_btree *t, void *arg, uint64_t i, const emi_btree_spot *s, uint32_t n, em_errinfo *err)
{
	visitor *v = arg;
	const em_status st = visit(t, v, v->before, s, n, err);

	(void)i;
	v->before += n;
	return st;
}

em_status em_btree_for_each(em_btree *t, const void *from, const void *to, em_btree_visit_fn fn, void *user)
{
	visitor v = { fn, user, 0 };
	em_errinfo err;
	em_status st = emi_enter(t, &err);
	range r;

	if (st != EM_OK)
		return st;
	st = fn != NULL ? EM_OK : emi_given(NULL, "fn", &err);
	if (st == EM_OK)
		st = take_range(t, from, to, &r, &err);
	if (st == EM_OK)
		st = emi_btree_scan_one(t, r.first, r.last, 0, visit_one, &v, &err);
	return emi_leave(t, st, &err);
}

em_status em_btree_for_each_many(em_btree *t, const void *from, const void *to, uint64_t n, em_btree_visit_fn fn,
				 void *user)
{
	visitor v = { fn, user, 0 };
	em_errinfo err;
	em_status st = emi_enter(t, &err);

	if (st != EM_OK)
		return st;
	st = fn != NULL ? EM_OK : emi_given(NULL, "fn", &err);
	if (st == EM_OK && n > SIZE_MAX / t->plan.record)
		st = emi_fail(&err, EM_ERR_RANGE, "%" PRIu64 " ranges", n);
	if (st == EM_OK)
		st = emi_btree_scan_many(t, from, to, n, visit, &v, &err);
	return emi_leave(t, st, &err);
}

static em_status erase_range(em_btree *t, const void *from, const void *to, int through, uint64_t *erased)
{
	uint64_t n = 0;
	em_errinfo err;
	em_status st = emi_enter(t, &err);
	range r;

	if (erased != NULL)
		*erased = 0;
	if (st != EM_OK)
		return st;
	st = through ? emi_given(from, "key", &err) : EM_OK;
	if (st == EM_OK)
		st = emi_btree_may_change(t, &err);
	if (st == EM_OK)
		st = take_range(t, from, to, &r, &err);
	if (st == EM_OK)
		st = emi_btree_erase_range(t, r.first, r.last, through, &n, &err);
	if (erased != NULL)
		*erased = n;
	return emi_leave(t, st, &err);
}

em_status em_btree_erase_range(em_btree *t, const void *from, const void *to, uint64_t *erased)
{
	return erase_range(t, from, to, 0, erased);
}

em_status em_btree_erase_equal(em_btree *t, const void *key, uint64_t *erased)
{
	return erase_range(t, key, key, 1, erased);
}

