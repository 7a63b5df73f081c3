/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_overlap.c -- the tree of pending ranges, against a list that is searched from end to end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/test.h"
#include "io/overlap.h"

enum { MOST = 300 };

static int conflict(const emi_range *a, const emi_range *b)
{
	return a->seq < b->seq && a->begin < b->end && b->begin < a->end && (a->write || b->write);
}

/* Whatever is found has to be waited for, and nothing is found only if nothing has to. */
static void check(emi_overlap *o, emi_range *const *in, unsigned n, const emi_range *r)
{
	emi_range *found = emi_overlap_find(o, r);
	unsigned i, must = 0;

	for (i = 0; i < n; i++)
		must += (unsigned)conflict(in[i], r);
	assert_int_equal(found != NULL, must > 0);
	if (found)
		assert_true(conflict(found, r));
}

static void random_range(test_rng *rng, emi_range *r, uint64_t space, uint64_t one_in, uint64_t seq)
{
	memset(r, 0, sizeof *r);
	r->begin = test_below(rng, space);
	r->end = test_below(rng, 20) ? r->begin + 1 + test_below(rng, space / 10 + 1) : UINT64_MAX;
	r->write = test_below(rng, one_in) == 0;
	r->seq = seq;
}

static void test_against_list(void **state)
{
	static const uint64_t spaces[] = { 1, 4, 100, 1000000, (uint64_t)1 << 62 };
	static const uint64_t writes[] = { 2, 1000, 20, 1 };    /* one in so many is one */
	static emi_range pool[MOST];
	test_rng rng = test_rng_make(test_seed());
	unsigned s, step;

	(void)state;
	for (s = 0; s < sizeof spaces / sizeof *spaces; s++) {
		emi_range *in[MOST], *spare[MOST], probe;
		emi_overlap o = {NULL, NULL};
		unsigned n = 0, free_ones = MOST, i;
		uint64_t seq = 0;

		for (i = 0; i < MOST; i++)
			spare[i] = &pool[i];
		for (step = 0; step < 20000; step++) {
			if (free_ones > 0 && (n == 0 || test_below(&rng, 100) < 52)) {
				emi_range *r = spare[--free_ones];

				random_range(&rng, r, spaces[s], writes[step / 1000 % 4], ++seq);
				check(&o, in, n, r);
				emi_overlap_add(&o, r);
				in[n++] = r;
			} else {
				i = (unsigned)test_below(&rng, n);
				emi_overlap_remove(&o, in[i]);
				spare[free_ones++] = in[i];
				in[i] = in[--n];
			}
			/* One that is in the tree, and one that came before many of them. */
			if (n > 0)
				check(&o, in, n, in[test_below(&rng, n)]);
			random_range(&rng, &probe, spaces[s], writes[step / 1000 % 4], 1 + test_below(&rng, seq));
			check(&o, in, n, &probe);
		}
		while (n > 0)
			emi_overlap_remove(&o, in[--n]);
		assert_null(o.root);
		assert_null(o.list);
	}
}

/* Of many writes to the same bytes the last one is found: those that wait form a chain. */
static void test_same_bytes(void **state)
{
	static emi_range r[MOST];
	emi_overlap o = {NULL, NULL};
	unsigned i;

	(void)state;
	for (i = 0; i < MOST; i++) {
		memset(&r[i], 0, sizeof r[i]);
		r[i].begin = 4096;
		r[i].end = 8192;
		r[i].write = 1;
		r[i].seq = i + 1;
		assert_ptr_equal(emi_overlap_find(&o, &r[i]), i > 0 ? &r[i - 1] : NULL);
		emi_overlap_add(&o, &r[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_list),
		cmocka_unit_test(test_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
