/* SPDX-License-Identifier: BSL-1.0 */
/* btree_load.c -- see btree_load.h. */
#include "container/btree_load.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

#define FILL 95u                /* percent: what is free is for records that come later, and is read in vain by scans */

/* So many percent of n, and more rather than less: of few there is no place to spare. */
static uint32_t part_of(uint32_t n, uint32_t percent)
{
	return (uint32_t)(((uint64_t)n * percent + 99) / 100);
}

em_status emi_btree_load_open(emi_btree_load *l, em_btree *t, const em_btree_load_opts *o, em_errinfo *err)
{
	const uint32_t most = part_of(t->plan.fan, o->node_fill != 0 ? o->node_fill : FILL);

	l->tree = t;
	l->behind.tree = t;
	l->leaf_fill = o->leaf_fill != 0 ? o->leaf_fill : FILL;
	l->skip = (o->flags & EM_BTREE_LOAD_SKIP) != 0;
	l->node_most = most > t->plan.fan_least ? most : t->plan.fan_least + 1;
	l->first = EMI_BTREE_NONE;
	l->last = emi_alloc(t->object.ctx, t->plan.record, err);
	if (l->last != NULL)
		l->next = emi_alloc(t->object.ctx, t->plan.record, err);
	if (l->next == NULL)
		return err->status;
	t->loader = l;
	return emi_btree_have_tmp(t, err);
}

static void free_level(emi_btree_load *l, emi_btree_edge *o)
{
	const em_btree *t = l->tree;

	if (o->node != NULL)
		emi_buffer_free(t->object.ctx, o->node, t->plan.node_bytes);
	emi_free(t->object.ctx, o->key, t->plan.record);
	memset(o, 0, sizeof *o);
}

void emi_btree_load_close(emi_btree_load *l)
{
	em_btree *t = l->tree;
	uint32_t k;

	for (k = 0; k <= EMI_BTREE_HEIGHT_MOST + 1; k++)
		free_level(l, &l->level[k]);
	emi_btree_unpin_leaf(t, &l->leaf, 0);
	if (l->behind.tree != NULL)
		emi_btree_behind_close(&l->behind);
	if (!l->done && l->first != EMI_BTREE_NONE)
		(void)emi_btree_clear(t, NULL);
	emi_free(t->object.ctx, l->last, t->plan.record);
	emi_free(t->object.ctx, l->next, t->plan.record);
	if (t->loader == l)
		t->loader = NULL;
}

/* A child of a level, which has room for it. */
static void add_child(emi_btree_load *l, uint32_t level, uint64_t id, uint64_t head, const char *key)
{
	const emi_btree_plan *p = &l->tree->plan;
	const emi_btree_separator s = { head, key };
	emi_btree_edge *o = &l->level[level];

	if (o->used) {
		emi_node_append(p, o->node, s, id);
		return;
	}
	emi_node_init(o->node, level, id);
	o->head = head;
	if (p->key_step != 0)
		memcpy(o->key, key, p->key);
	o->used = 1;
}

/* The open node of a level becomes a block, and is a child of the one above, which has room. */
static em_status close_node(emi_btree_load *l, uint32_t level, em_errinfo *err)
{
	em_btree *t = l->tree;
	emi_btree_edge *o = &l->level[level];
	emi_btree_pin pin = { 0 };
	const em_status st = emi_btree_new_node(t, &pin, err);

	if (st != EM_OK)
		return st;
	memcpy(pin.u.node, o->node, t->plan.node_bytes);
	add_child(l, level + 1, pin.id, o->head, o->key);
	emi_btree_unpin_node(t, &pin, 1);
	o->used = 0;
	return EM_OK;
}

static em_status make_level(emi_btree_load *l, uint32_t level, em_errinfo *err)
{
	const em_btree *t = l->tree;
	emi_btree_edge *o = &l->level[level];

	if (o->node == NULL)
		o->node = emi_buffer_alloc(t->object.ctx, t->plan.node_bytes, err);
	if (o->node != NULL && o->key == NULL)
		o->key = emi_alloc(t->object.ctx, t->plan.record, err);
	if (o->key == NULL)
		return err->status;
	return EM_OK;
}

static int is_full(const emi_btree_load *l, uint32_t level)
{
	return l->level[level].used && l->level[level].node->n >= l->node_most;
}

/* There is room for a child of a level. */
static em_status have_room(emi_btree_load *l, uint32_t level, em_errinfo *err)
{
	uint32_t top = level;
	em_status st = EM_OK;

	while (top < EMI_BTREE_HEIGHT_MOST && is_full(l, top))
		top++;
	if (is_full(l, top))
		return emi_fail(err, EM_ERR_RANGE, "the tree is too high");
	st = make_level(l, top, err);
	for (; top > level && st == EM_OK; top--)
		st = close_node(l, top - 1, err);
	return st;
}

/* The leaf after the one that is being filled, for a record. */
static em_status next_leaf(emi_btree_load *l, const char *record, em_errinfo *err)
{
	em_btree *t = l->tree;
	const uint64_t head = emi_collation_key(&t->by, record);
	emi_btree_pin pin = { 0 };
	emi_leaf_place place;
	em_status st = emi_btree_compared(t, err);

	if (st == EM_OK)
		st = have_room(l, 1, err);
	if (st == EM_OK)
		st = emi_btree_behind_leaf(&l->behind, l->leaves, &pin, err);
	if (st != EM_OK)
		return st;
	l->leaves++;
	place = emi_btree_place(t, &pin);
	t->form.kind->init(&t->form, place);
	l->room = part_of(t->form.kind->room(&t->form, place), l->leaf_fill);
	add_child(l, 1, pin.id, head, record);
	if (l->leaf.u.at != NULL) {
		pin.u.leaf->prev = l->leaf.id;
		l->leaf.u.leaf->next = pin.id;
		emi_btree_unpin_leaf(t, &l->leaf, 1);
	} else {
		l->first = pin.id;
	}
	l->leaf = pin;
	return EM_OK;
}

static em_status refuse(const emi_btree_load *l, size_t i, int equal, em_errinfo *err)
{
	return emi_fail_record(err, EM_ERR_FORMAT, NULL, l->seen + i + 1, 0,
			       "record %" PRIu64 " %s", l->seen + i + 1,
			       equal ? "has the key of the one before" : "is less than the one before");
}

/* How a record compares with the one before it.  What functions get lies as records do. */
static int compare(emi_btree_load *l, const char *records, size_t i)
{
	const em_btree *t = l->tree;
	const size_t record = t->plan.record;
	const char *before = i != 0 ? records + (i - 1) * record : l->last;

	if (t->plan.by_fields)
		return emi_collation_compare(&t->by, before, records + i * record);
	memcpy(l->next, records + i * record, record);
	if (i != 0)
		memcpy(t->tmp, before, record);
	return emi_collation_compare(&t->by, i != 0 ? t->tmp : before, l->next);
}

/* How many of the first records lie in order behind the one before them.  *skip: the one that comes then is to be left
 * out. */
static em_status in_order(emi_btree_load *l, const char *records, size_t n, size_t *some, int *skip, em_errinfo *err)
{
	const int strict = !l->tree->plan.duplicates;
	em_status st;
	size_t i;
	int c = -1;

	*skip = 0;
	for (i = 0; i < n; i++) {
		c = i != 0 || l->n != 0 ? compare(l, records, i) : -1;
		if (c > 0 || (c == 0 && strict))
			break;
	}
	*some = i;
	st = emi_btree_compared(l->tree, err);
	if (st != EM_OK || i == n)
		return st;
	if (c > 0 || !l->skip)
		return refuse(l, i, c == 0, err);
	*skip = 1;
	return EM_OK;
}

/* Copy records that are in order into leaves. */
static em_status fill(emi_btree_load *l, const char *records, size_t n, uint64_t *pushed, em_errinfo *err)
{
	em_btree *t = l->tree;
	const size_t record = t->plan.record;

	while (n != 0) {
		const size_t some = n < l->room ? n : l->room;
		em_status st;

		if (some == 0) {
			st = next_leaf(l, records, err);
			if (st != EM_OK)
				return st;
			continue;
		}
		t->form.kind->append(&t->form, emi_btree_place(t, &l->leaf), records, (uint32_t)some);
		memcpy(l->last, records + (some - 1) * record, record);
		records += some * record;
		n -= some;
		l->room -= (uint32_t)some;
		l->n += some;
		l->seen += some;
		*pushed += some;
	}
	return EM_OK;
}

em_status emi_btree_load_push(emi_btree_load *l, const char *records, size_t n, uint64_t *pushed, em_errinfo *err)
{
	const size_t record = l->tree->plan.record;
	em_status st = EM_OK;

	*pushed = 0;
	while (n != 0 && st == EM_OK) {
		uint64_t done = 0;
		size_t some;
		int skip;

		st = in_order(l, records, n, &some, &skip, err);
		if (st == EM_OK)
			st = fill(l, records, some, &done, err);
		if (st == EM_OK && skip) {
			done++;
			l->seen++;
		}
		*pushed += done;
		records += done * record;
		n -= (size_t)done;
	}
	return st;
}

/* The topmost node is the root. */
static em_status be_tree(emi_btree_load *l, em_errinfo *err)
{
	em_btree *t = l->tree;
	uint32_t top = EMI_BTREE_HEIGHT_MOST, level;
	em_status st;

	l->ending = 1;
	st = emi_btree_behind_finish(&l->behind, err);
	while (top != 0 && !l->level[top].used)
		top--;
	for (level = 1; level < top && st == EM_OK; level++)
		if (l->level[level].used) {
			st = have_room(l, level + 1, err);
			if (st == EM_OK)
				st = close_node(l, level, err);
			/* There may be one more now. */
			if (l->level[top + 1].used)
				top++;
		}
	if (st != EM_OK)
		return st;
	emi_btree_set_root(t, l->level[top].node, t->plan.node_bytes);
	l->level[top].node = NULL;
	l->level[top].used = 0;
	t->height = top;
	t->first = l->first;
	t->last = l->leaf.id;
	t->n = l->n;
	emi_btree_unpin_leaf(t, &l->leaf, 1);
	l->done = 1;
	return EM_OK;
}

em_status emi_btree_load_finish(emi_btree_load *l, em_errinfo *err)
{
	em_btree *t = l->tree;
	em_status st = EM_OK;

	if (l->n == 0)
		l->done = l->ending = 1;
	if (!l->done)
		st = be_tree(l, err);
	/* It is a tree already; this is so that none of its nodes has only one child. */
	if (st == EM_OK && l->n != 0)
		st = emi_btree_unlean(t, NULL, t->last, err);
	if (st == EM_OK)
		t->loader = NULL;
	return st;
}

/* All that a sorter has. */
static em_status load(emi_btree_load *l, em_sorter *sorted, em_errinfo *err)
{
	const em_batch *batch;
	uint64_t pushed;
	em_status st;

	while ((st = em_sorter_next(sorted, &batch)) == EM_OK) {
		if (batch->ends != NULL || batch->bytes != batch->n * l->tree->plan.record)
			return emi_fail(err, EM_ERR_INVAL, "records of the sorter are not of %" PRIu64 " bytes",
					(uint64_t)l->tree->plan.record);
		st = emi_btree_load_push(l, batch->records, batch->n, &pushed, err);
		if (st != EM_OK)
			return st;
	}
	if (st != EM_END) {
		em_sorter_error(sorted, err);
		return st;
	}
	return emi_btree_load_finish(l, err);
}

em_status emi_btree_load_from(em_btree *t, em_sorter *sorted, const em_btree_load_opts *o, em_errinfo *err)
{
	emi_btree_load l;
	em_status st = emi_btree_clear(t, err);

	if (st != EM_OK)
		return st;
	memset(&l, 0, sizeof l);
	st = emi_btree_load_open(&l, t, o, err);
	if (st == EM_OK)
		st = load(&l, sorted, err);
	emi_btree_load_close(&l);
	return st;
}
