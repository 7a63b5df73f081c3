/* SPDX-License-Identifier: BSL-1.0 */
/* btree_node.c -- see btree_node.h. */
#include "container/btree_node.h"

#include <string.h>

void emi_node_init(emi_btree_node *n, uint32_t level, uint64_t child)
{
	memset(n, 0, sizeof *n);
	n->n = 1;
	n->level = level;
	emi_node_children(n)[0] = child;
}

uint32_t emi_node_search(const emi_btree_plan *p, const emi_collation *by, const emi_btree_node *n,
			 const emi_btree_probe *probe, int upper)
{
	const uint64_t *head = emi_node_heads(p, n);
	uint32_t from = 0, left = n->n - 1;

	while (left != 0) {
		const uint32_t half = left / 2, mid = from + half;
		int less = head[mid] < probe->head;

		if (head[mid] == probe->head) {
			less = upper;
			if (by->tie.fn != NULL) {
				const int c = by->tie.fn(by->tie.arg, emi_collation_val(by, emi_node_key(p, n, mid)),
							 probe->val);

				less = upper ? c <= 0 : c < 0;
			}
		}
		from = less ? mid + 1 : from;
		left = less ? left - half - 1 : half;
	}
	return from;
}

/* Separators from `from' on, n of them, to another place, which may overlap. */
static void move_separators(const emi_btree_plan *p, emi_btree_node *to, uint32_t at, const emi_btree_node *from,
			    uint32_t first, uint32_t n)
{
	memmove(emi_node_heads(p, to) + at, emi_node_heads(p, from) + first, n * sizeof(uint64_t));
	if (p->key_step != 0)
		memmove(emi_node_key(p, to, at), emi_node_key(p, from, first), n * p->key_step);
}

static void move_children(emi_btree_node *to, uint32_t at, const emi_btree_node *from, uint32_t first, uint32_t n)
{
	memmove(emi_node_children(to) + at, emi_node_children(from) + first, n * sizeof(uint64_t));
}

void emi_node_set(const emi_btree_plan *p, emi_btree_node *n, uint32_t i, emi_btree_separator s)
{
	emi_node_heads(p, n)[i] = s.head;
	if (p->key_step != 0)
		memmove(emi_node_key(p, n, i), s.key, p->key);
}

void emi_node_insert(const emi_btree_plan *p, emi_btree_node *n, uint32_t i, emi_btree_separator s, uint64_t child)
{
	move_separators(p, n, i + 1, n, i, n->n - 1 - i);
	move_children(n, i + 2, n, i + 1, n->n - 1 - i);
	emi_node_set(p, n, i, s);
	emi_node_children(n)[i + 1] = child;
	n->n++;
}

void emi_node_remove(const emi_btree_plan *p, emi_btree_node *n, uint32_t i)
{
	move_separators(p, n, i, n, i + 1, n->n - 2 - i);
	move_children(n, i + 1, n, i + 2, n->n - 2 - i);
	n->n--;
}

void emi_node_split(const emi_btree_plan *p, emi_btree_node *left, emi_btree_node *right, uint32_t n,
		    emi_btree_separator *s, void *key)
{
	const uint32_t rest = left->n - n;

	memset(right, 0, sizeof *right);
	right->level = left->level;
	right->n = rest;
	move_children(right, 0, left, n, rest);
	move_separators(p, right, 0, left, n, rest - 1);
	*s = emi_node_separator(p, left, n - 1);
	if (p->key_step != 0)
		memcpy(key, s->key, p->key);
	s->key = key;
	left->n = n;
}

void emi_node_share(const emi_btree_plan *p, emi_btree_node *parent, uint32_t i, emi_btree_node *left,
		    emi_btree_node *right, uint32_t n)
{
	const uint32_t l = left->n, r = right->n;

	if (n > l) {
		const uint32_t m = n - l;

		/* The separator comes down, and another one goes up, unless all are on the left. */
		emi_node_set(p, left, l - 1, emi_node_separator(p, parent, i));
		move_children(left, l, right, 0, m);
		move_separators(p, left, l, right, 0, m - 1);
		left->n = n;
		if (m == r)
			return;
		emi_node_set(p, parent, i, emi_node_separator(p, right, m - 1));
		move_children(right, 0, right, m, r - m);
		move_separators(p, right, 0, right, m, r - m - 1);
		right->n = r - m;
	} else if (n < l) {
		const uint32_t m = l - n;

		move_children(right, m, right, 0, r);
		move_separators(p, right, m, right, 0, r - 1);
		emi_node_set(p, right, m - 1, emi_node_separator(p, parent, i));
		move_children(right, 0, left, n, m);
		move_separators(p, right, 0, left, n, m - 1);
		emi_node_set(p, parent, i, emi_node_separator(p, left, n - 1));
		right->n = r + m;
		left->n = n;
	}
}

uint32_t emi_node_shares(const emi_btree_plan *p, const emi_btree_node *left, const emi_btree_node *right)
{
	const uint32_t n = left->n + right->n, few = 2 * p->fan_least + 1;
	const uint32_t one = p->fan / 3 * 2 > few ? p->fan / 3 * 2 : few;

	return n <= one ? n : n / 2;
}
