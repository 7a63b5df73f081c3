/* SPDX-License-Identifier: BSL-1.0 */
/* btree_cursors.c -- see btree_cursors.h. */
#include "container/btree_cursors.h"

#include <string.h>

#include "base/memory.h"
#include "container/btree.h"

enum { LISTS_LEAST = 16 };

static em_btree_cursor **list_of(const emi_btree_cursors *all, uint64_t leaf)
{
	return &all->list[(leaf * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (all->lists - 1)];
}

static int stands(const em_btree_cursor *c)
{
	return c->state == EMI_CURSOR_ON || c->state == EMI_CURSOR_GAP;
}

static void link_in(em_btree_cursor *c)
{
	em_btree_cursor **list = list_of(&c->tree->cursors, c->leaf);

	c->prev = NULL;
	c->next = *list;
	if (c->next != NULL)
		c->next->prev = c;
	*list = c;
}

static void unlink_from(em_btree_cursor *c)
{
	if (c->next != NULL)
		c->next->prev = c->prev;
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		*list_of(&c->tree->cursors, c->leaf) = c->next;
}

void emi_btree_cursor_stand(em_btree_cursor *c, emi_cursor_state state, uint64_t leaf, uint32_t slot, const void *gap)
{
	const int moves = !stands(c) || c->leaf != leaf;

	if (stands(c) && (moves || state < EMI_CURSOR_ON))
		unlink_from(c);
	if (gap != NULL)
		memcpy(c->key, gap, c->tree->plan.key);
	c->state = state;
	c->leaf = leaf;
	c->slot = slot;
	if (stands(c) && moves)
		link_in(c);
}

/* More lists. */
static em_status grow(em_btree *t, em_errinfo *err)
{
	emi_btree_cursors *all = &t->cursors;
	const uint64_t lists = all->lists != 0 ? 2 * all->lists : LISTS_LEAST;
	em_btree_cursor **more = emi_alloc_array(t->object.ctx, lists, sizeof *more, err), *c;

	if (more == NULL)
		return err->status;
	emi_free_array(t->object.ctx, all->list, all->lists, sizeof *more);
	all->list = more;
	all->lists = lists;
	for (c = all->first; c != NULL; c = c->next_all)
		if (stands(c))
			link_in(c);
	return EM_OK;
}

em_status emi_btree_cursors_add(em_btree *t, em_btree_cursor *c, em_errinfo *err)
{
	emi_btree_cursors *all = &t->cursors;

	if (all->n == all->lists && grow(t, err) != EM_OK)
		return err->status;
	c->tree = t;
	c->next_all = all->first;
	if (c->next_all != NULL)
		c->next_all->prev_all = c;
	all->first = c;
	all->n++;
	return EM_OK;
}

void emi_btree_cursors_remove(em_btree *t, em_btree_cursor *c)
{
	if (stands(c))
		unlink_from(c);
	if (c->next_all != NULL)
		c->next_all->prev_all = c->prev_all;
	if (c->prev_all != NULL)
		c->prev_all->next_all = c->next_all;
	else
		t->cursors.first = c->next_all;
	t->cursors.n--;
}

void emi_btree_cursors_end(em_btree *t)
{
	emi_free_array(t->object.ctx, t->cursors.list, t->cursors.lists, sizeof *t->cursors.list);
	memset(&t->cursors, 0, sizeof t->cursors);
}

void emi_btree_cursors_reset(em_btree *t)
{
	em_btree_cursor *c;

	for (c = t->cursors.first; c != NULL; c = c->next_all)
		emi_btree_cursor_stand(c, EMI_CURSOR_BEGIN, 0, 0, NULL);
}

/* The next one of a leaf, from one of its list on. */
static em_btree_cursor *of_leaf(em_btree_cursor *c, uint64_t leaf)
{
	while (c != NULL && c->leaf != leaf)
		c = c->next;
	return c;
}

static em_btree_cursor *first_of(const em_btree *t, uint64_t leaf)
{
	return t->cursors.n != 0 ? of_leaf(*list_of(&t->cursors, leaf), leaf) : NULL;
}

void emi_btree_cursors_insert(em_btree *t, uint64_t leaf, uint32_t slot, const void *record)
{
	em_btree_cursor *c;

	for (c = first_of(t, leaf); c != NULL; c = of_leaf(c->next, leaf)) {
		int behind = c->slot > slot;

		if (c->slot == slot)
			behind = c->state == EMI_CURSOR_ON || emi_collation_compare(&t->by, record, c->key) < 0;
		c->slot += (uint32_t)behind;
	}
}

void emi_btree_cursors_erase(em_btree *t, uint64_t leaf, uint32_t slot, const void *record)
{
	em_btree_cursor *c;

	for (c = first_of(t, leaf); c != NULL; c = of_leaf(c->next, leaf)) {
		if (c->slot > slot)
			c->slot--;
		else if (c->slot == slot && c->state == EMI_CURSOR_ON)
			emi_btree_cursor_stand(c, EMI_CURSOR_GAP, leaf, slot, record);
	}
}

void emi_btree_cursors_shift(em_btree *t, uint64_t leaf, uint32_t by)
{
	em_btree_cursor *c;

	for (c = first_of(t, leaf); c != NULL; c = of_leaf(c->next, leaf))
		c->slot += by;
}

void emi_btree_cursors_tail(em_btree *t, uint64_t left, uint32_t cut, uint64_t right)
{
	em_btree_cursor *c, *next;

	for (c = first_of(t, left); c != NULL; c = next) {
		next = of_leaf(c->next, left);
		if (c->slot > cut || (c->slot == cut && c->state == EMI_CURSOR_ON))
			emi_btree_cursor_stand(c, c->state, right, c->slot - cut, NULL);
	}
}

void emi_btree_cursors_head(em_btree *t, uint64_t leaf, uint32_t n, uint64_t other, uint32_t to)
{
	em_btree_cursor *c, *next;

	for (c = first_of(t, leaf); c != NULL; c = next) {
		next = of_leaf(c->next, leaf);
		if (c->slot < n || (c->slot == n && c->state == EMI_CURSOR_GAP))
			emi_btree_cursor_stand(c, c->state, other, to + c->slot, NULL);
		else
			c->slot -= n;
	}
}
