/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_ranges.c -- many ranges of a B+-tree, in any order; see btree.h.
 *
 * They are sorted by their beginnings, as many at a time as there is memory for.  So one scan answers all of them and
 * passes each leaf once, as queries are answered that are not wanted one by one (batch filtering: Goodrich, Tsay,
 * Vengroff and Vitter, "External-memory computational geometry", 1993).
 */
#include "base/memory.h"
#include "container/btree.h"

enum { RANGES_MOST = 1 << 16 };

/* Some of them, in one piece of memory. */
typedef struct group {
	uint32_t room;
	char *memory;
	size_t bytes;
	emi_btree_range *range; /* of `room' */
	uint32_t *order;        /* likewise, and as much for sorting behind it */
	char *keys;             /* two for each that functions look at */
} group;

/* With less memory they are fewer at a time. */
static em_status open_group(group *g, const em_btree *t, uint64_t n, em_errinfo *err)
{
	const size_t keys = 2 * emi_btree_probe_bytes(t), each = sizeof *g->range + keys + 2 * sizeof *g->order;
	em_errinfo none = EM_ERRINFO_INIT;

	g->memory = NULL;
	for (g->room = n < RANGES_MOST ? (uint32_t)n : RANGES_MOST; g->room != 0; g->room /= 2) {
		g->bytes = g->room * each;
		g->memory = emi_alloc(t->object.ctx, g->bytes, &none);
		if (g->memory != NULL)
			break;
	}
	if (g->memory == NULL) {
		*err = none;
		return none.status;
	}
	g->range = (emi_btree_range *)(void *)g->memory;
	g->keys = g->memory + g->room * sizeof *g->range;
	g->order = (uint32_t *)(void *)(g->keys + g->room * keys);
	return EM_OK;
}

/* The probes of the k-th one's ends. */
static em_status take(em_btree *t, const group *g, uint32_t k, const char *from, const char *to, em_errinfo *err)
{
	const size_t bytes = emi_btree_probe_bytes(t);
	char *keys = g->keys + 2 * k * bytes;
	em_status st = EM_OK;

	if (from != NULL)
		st = emi_btree_probe_in(t, from, keys, &g->range[k].from, err);
	if (st == EM_OK && to != NULL)
		st = emi_btree_probe_in(t, to, keys + bytes, &g->range[k].to, err);
	return st;
}

static int comes_before(const em_btree *t, const group *g, uint32_t a, uint32_t b)
{
	return emi_btree_probe_compare(t, &g->range[a].from, &g->range[b].from) < 0;
}

/* Merge two sorted sequences that lie one behind the other, stably. */
static void merge(const em_btree *t, const group *g, const uint32_t *a, uint32_t n, uint32_t m, uint32_t *to)
{
	const uint32_t *b = a + n;
	uint32_t i = 0, j = 0;

	while (i < n || j < m)
		*to++ = j == m || (i < n && !comes_before(t, g, b[j], a[i])) ? a[i++] : b[j++];
}

/* Sort n numbers by the beginnings of their ranges. */
static void sort(const em_btree *t, const group *g, uint32_t n, uint32_t **sorted)
{
	uint32_t *from = g->order, *to = g->order + g->room, run, i;

	for (i = 0; i < n; i++)
		from[i] = i;
	for (run = 1; run < n; run *= 2) {
		uint32_t *swap = from;

		for (i = 0; i < n; i += 2 * run) {
			const uint32_t left = n - i < run ? n - i : run;
			const uint32_t right = n - i - left < run ? n - i - left : run;

			merge(t, g, from + i, left, right, to + i);
		}
		from = to;
		to = swap;
	}
	*sorted = from;
}

em_status emi_btree_scan_many(em_btree *t, const char *from, const char *to, uint64_t n, emi_btree_scan_fn fn,
			      void *arg, em_errinfo *err)
{
	const size_t key = t->plan.key;
	em_status st;
	uint64_t at;
	group g;

	if (n == 0)
		return EM_OK;
	st = open_group(&g, t, n, err);
	if (st != EM_OK)
		return st;
	for (at = 0; at < n && st == EM_OK; at += g.room) {
		const uint32_t some = n - at < g.room ? (uint32_t)(n - at) : g.room;
		emi_btree_ranges r = { g.range, g.order, some, at, from != NULL, to != NULL, 0 };
		uint32_t k;

		for (k = 0; k < some && st == EM_OK; k++)
			st = take(t, &g, k, from != NULL ? from + (at + k) * key : NULL,
				  to != NULL ? to + (at + k) * key : NULL, err);
		if (st != EM_OK)
			break;
		sort(t, &g, some, &r.order);
		st = emi_btree_compared(t, err);
		if (st == EM_OK)
			st = emi_btree_scan(t, &r, fn, arg, err);
	}
	emi_free(t->object.ctx, g.memory, g.bytes);
	return st;
}
