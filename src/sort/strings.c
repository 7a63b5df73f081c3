/* SPDX-License-Identifier: BSL-1.0 */
/* strings.c -- see strings.h. */
#include "sort/strings.h"

#define FEW 16u         /* so many are sorted by comparing them */
#define AHEAD 12u       /* records asked for ahead of time */

typedef struct sorting {
	const emi_kernels *kern;
	const emi_vary *v;
	void *work;             /* scratch of kernels */
} sorting;

/* Some elements, and room for as many. */
typedef struct group {
	emi_pair *a;
	emi_pair *tmp;
	size_t n;
	uint64_t depth;         /* all strings are equal up to here, and their keys are the bytes at it */
} group;

EMI_VARY_INLINE void want(const emi_pair *e)
{
	__builtin_prefetch((const void *)(uintptr_t)e->val);
}

/* And the bytes of its string about a depth. */
EMI_VARY_INLINE void want_at(const emi_pair *e, uint64_t depth)
{
	want(e);
	__builtin_prefetch((const char *)(uintptr_t)e->val + (size_t)depth);
}

void emi_load_strings(const emi_vary *v, emi_pair *a, size_t n, uint64_t depth)
{
	size_t i;

	for (i = 0; i < n; i++) {
		emi_frame f;

		if (n - i > AHEAD)
			want_at(a + i + AHEAD, depth);
		f = emi_frame_of(v, a + i);
		a[i].key = emi_string_key(v, &f, depth);
	}
}

uint64_t emi_load_common(const emi_vary *v, const emi_pair *one, emi_pair *a, size_t n, uint64_t from, uint64_t depth,
			 uint64_t *least)
{
	const emi_frame first = emi_frame_of(v, one);
	uint64_t common = depth, shortest = UINT64_MAX;
	size_t i;

	for (i = 0; i < n; i++) {
		emi_frame f;
		uint64_t c, bytes;

		if (n - i > AHEAD)
			want_at(a + i + AHEAD, depth);
		f = emi_frame_of(v, a + i);
		bytes = emi_string_bytes(v, &f);
		c = emi_string_common_within(v, &first, &f, from, depth);
		a[i].key = emi_string_key(v, &f, depth);
		common = c < common ? c : common;
		shortest = bytes < shortest ? bytes : shortest;
	}
	if (least != NULL)
		*least = shortest;
	return common;
}

/* Insertion sort by key, then by the strings behind it. */
static void sort_few(const emi_vary *v, emi_pair *a, size_t n, uint64_t depth)
{
	size_t i, j;

	for (i = 1; i < n; i++) {
		const emi_pair e = a[i];
		emi_frame f, g;

		for (j = i; j > 0 && a[j - 1].key > e.key; j--)
			a[j] = a[j - 1];
		if (j > 0 && a[j - 1].key == e.key) {
			f = emi_frame_of(v, &e);
			for (; j > 0 && a[j - 1].key == e.key; j--) {
				g = emi_frame_of(v, a + j - 1);
				if (emi_string_compare(v, &g, &f, depth) <= 0)
					break;
				a[j] = a[j - 1];
			}
		}
		a[j] = e;
	}
}

/*
 * Strings that end within the last eight bytes looked at come before those that go on (reversed: behind them), and
 * among themselves in the order of their lengths.  Put them there; the rest of the group goes on.
 */
static void set_ended_apart(const sorting *s, group *g)
{
	const emi_vary *v = s->v;
	const emi_tie none = { NULL, NULL, NULL, 0 };
	size_t i, ended = 0, rest = 0;
	emi_pair *first;

	for (i = 0; i < g->n; i++) {
		uint64_t bytes;
		emi_frame f;

		if (g->n - i > AHEAD)
			want(g->a + i + AHEAD);
		f = emi_frame_of(v, g->a + i);
		bytes = emi_string_bytes(v, &f);
		if (bytes <= g->depth + 8) {
			g->tmp[ended].key = v->reverse ? UINT64_MAX - bytes : bytes;
			g->tmp[ended++].val = g->a[i].val;
		} else {
			g->a[rest++] = g->a[i];
		}
	}
	if (ended == 0)
		return;
	if (!v->reverse) {
		memmove(g->a + ended, g->a, rest * sizeof *g->a);
		first = g->a;
	} else {
		first = g->a + rest;
	}
	memcpy(first, g->tmp, ended * sizeof *first);
	s->kern->sort(first, g->tmp, ended, &none, s->work);
	if (!v->reverse) {
		g->a += ended;
		g->tmp += ended;
	}
	g->n = rest;
}

/* How many bytes all strings of a group may have in common: what a few of them have, of which `from' are known. */
static uint64_t guess_common(const emi_vary *v, const group *g, uint64_t from)
{
	const emi_frame first = emi_frame_of(v, g->a), middle = emi_frame_of(v, g->a + g->n / 2),
			last = emi_frame_of(v, g->a + g->n - 1);
	const uint64_t common = emi_string_common(v, &first, &last, from);

	return emi_string_common_within(v, &first, &middle, from, common);
}

/* All keys of the group are equal: load those at the next depth where they may differ. */
static void go_deeper(const sorting *s, group *g)
{
	const uint64_t from = g->depth + 8, guess = guess_common(s->v, g, from);
	uint64_t least, common = emi_load_common(s->v, g->a, g->a, g->n, from, guess, &least);

	if (least <= from) {
		set_ended_apart(s, g);
		common = from;
	}
	if (common != guess || least <= from)
		emi_load_strings(s->v, g->a, g->n, common);
	g->depth = common;
}

/* Ask for the records of elements [i, end) that are equal to a neighbour; returns where to go on. */
static size_t want_equal(const group *g, size_t i, size_t end)
{
	for (; i < end && i < g->n; i++) {
		if (g->a[i].key == g->a[i - 1].key) {
			want_at(g->a + i - 1, g->depth);
			want_at(g->a + i, g->depth);
		}
	}
	return i;
}

/* Sort a group whose keys are loaded.  The largest group of equal ones that is left is the next round of the loop, so
 * that calls are nested only as deep as halving goes, however long the strings. */
static void sort_group(const sorting *s, group g)
{
	const emi_tie none = { NULL, NULL, NULL, 0 };

	while (g.n > FEW) {
		group largest = { NULL, NULL, 0, 0 };
		size_t i, j, asked = 1;

		s->kern->sort(g.a, g.tmp, g.n, &none, s->work);
		for (i = 0; i < g.n; i = j) {
			group next;

			asked = want_equal(&g, asked, i + 2 * AHEAD);
			for (j = i + 1; j < g.n && g.a[j].key == g.a[i].key; j++)
				;
			if (j - i < 2)
				continue;
			if (j - i <= FEW) {
				sort_few(s->v, g.a + i, j - i, g.depth);
				continue;
			}
			next.a = g.a + i;
			next.tmp = g.tmp + i;
			next.n = j - i;
			next.depth = g.depth;
			if (next.n > largest.n) {
				const group t = largest;

				largest = next;
				next = t;
			}
			if (next.n != 0) {
				go_deeper(s, &next);
				sort_group(s, next);
			}
		}
		if (largest.n == 0)
			return;
		go_deeper(s, &largest);
		g = largest;
	}
	sort_few(s->v, g.a, g.n, g.depth);
}

void emi_sort_strings(const emi_kernels *kern, const emi_vary *v, emi_pair *a, emi_pair *tmp, size_t n, uint64_t depth,
		      void *work)
{
	const sorting s = { kern, v, work };
	const group g = { a, tmp, n, depth };

	sort_group(&s, g);
}
