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
	char *memory;
	uint32_t room;
	size_t each;            /* bytes */
	emi_btree_range *range; /* of `room' */
	uint32_t *order;        /* likewise, and as much for sorting behind it */
	char *keys;             /* two for each that functions look at */
} group;

/* With less memory they are fewer at a time. */
static em_status open_group(group *g, const em_btree *t, uint64_t n, em_errinfo *err)
{
	const size_t keys = 2 * emi_btree_probe_bytes(t);
	em_errinfo none = EM_ERRINFO_INIT;

	g->each = sizeof *g->range + keys + 2 * sizeof *g->order;
	for (g->room = n < RANGES_MOST ? (uint32_t)n : RANGES_MOST; g->room != 0; g->room /= 2) {
		g->memory = emi_alloc_array(t->object.ctx, g->room, g->each, &none);
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

/* The order of ranges by their beginnings, if they have any. */
static uint32_t *sort(const em_btree *t, const group *g, const emi_btree_ranges *r)
{
	uint32_t *from = g->order, *to = g->order + g->room, run, i;

	for (i = 0; i < r->n; i++)
		from[i] = i;
	for (run = 1; run < r->n && r->from; run *= 2) {
		uint32_t *swap = from;

		for (i = 0; i < r->n; i += 2 * run) {
			const uint32_t rest = r->n - i, left = rest < run ? rest : run;

			merge(t, g, from + i, left, rest - left < run ? rest - left : run, to + i);
		}
		from = to;
		to = swap;
	}
	return from;
}

/* The probes of the ends of ranges. */
static em_status take(em_btree *t, const group *g, const emi_btree_ranges *r, const char *from, const char *to,
		      em_errinfo *err)
{
	const size_t bytes = emi_btree_probe_bytes(t), key = t->plan.key;
	em_status st = EM_OK;
	uint32_t k;

	for (k = 0; k < r->n && st == EM_OK; k++) {
		char *keys = g->keys + 2 * k * bytes;

		if (r->from)
			st = emi_btree_probe_in(t, from + (r->first + k) * key, keys, &g->range[k].from, err);
		if (st == EM_OK && r->to)
			st = emi_btree_probe_in(t, to + (r->first + k) * key, keys + bytes, &g->range[k].to, err);
	}
	return st;
}

em_status emi_btree_scan_many(em_btree *t, const char *from, const char *to, uint64_t n, emi_btree_scan_fn fn,
			      void *arg, em_errinfo *err)
{
	emi_btree_ranges r = { NULL, NULL, 0, 0, from != NULL, to != NULL, 0 };
	em_status st = EM_OK;
	group g = { NULL, 0, 0, NULL, NULL, NULL };

	if (n != 0)
		st = open_group(&g, t, n, err);
	for (; r.first < n && st == EM_OK; r.first += g.room) {
		r.n = n - r.first < g.room ? (uint32_t)(n - r.first) : g.room;
		st = take(t, &g, &r, from, to, err);
		if (st != EM_OK)
			break;
		r.range = g.range;
		r.order = sort(t, &g, &r);
		st = emi_btree_compared(t, err);
		if (st == EM_OK)
			st = emi_btree_scan(t, &r, fn, arg, err);
	}
	emi_free_array(t->object.ctx, g.memory, g.room, g.each);
	return st;
}
