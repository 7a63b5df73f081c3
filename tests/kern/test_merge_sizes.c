/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_sizes.c -- the windowed merge of every element and instruction set, with inputs of every size up to 2000
 * of all patterns, against qsort().  Windows, output, the tree and the list of windows lie next to pages that nobody
 * may touch, and windows are not aligned for more than their members.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "kern_model.h"

#define MOST ((size_t)2000)
#define WINDOWS_MOST 67u
#define BYTES_MOST (MOST * sizeof(emi_pair))

/* An input, cut into sorted windows: window s is [start[s], start[s + 1]) of in. */
typedef struct merging {
	test_rng rng;
	emi_elem elem;
	emi_tie tie;
	model_pattern how;
	size_t n;
	uint32_t k;
	emi_pair in[MOST];
	emi_pair sorted[MOST];
	emi_pair want[MOST];    /* as elements, of which pairs are the largest */
	size_t start[WINDOWS_MOST + 1];
	size_t at[WINDOWS_MOST];        /* what was given to the merge */
	guard window[WINDOWS_MOST];
	guard list, tree, out;
} merging;

static size_t below(merging *m, size_t n)
{
	return (size_t)test_below(&m->rng, n);
}

static void merging_fail(const merging *m, const char *what, const emi_kernels *k)
{
	fprintf(stderr, "%s: isa %s, element %s, %u windows, n %zu, pattern %s, ties %d, EXTMEM_TEST_SEED=%llu\n", what,
		k->isa, model_elem_name(m->elem), (unsigned)m->k, m->n, model_pattern_names[m->how], m->tie.fn != NULL,
		(unsigned long long)test_seed());
	fail();
}

static int by_size(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static void make_input(merging *m, size_t n)
{
	uint32_t s;
	size_t i;

	m->n = n;
	m->how = (model_pattern)below(m, P_COUNT);
	m->k = below(m, 2) == 0 ? 1 + (uint32_t)below(m, 9) : 1 + (uint32_t)below(m, WINDOWS_MOST);
	model_keys(&m->rng, m->how, m->elem, m->in, n);
	for (i = 0; m->tie.fn != NULL && i < n; i++)
		m->in[i].val = model_val(below(m, 3), i);
	memcpy(m->sorted, m->in, n * sizeof *m->in);
	qsort(m->sorted, n, sizeof *m->in, model_by_all);
	for (i = 0; i < n; i++)
		model_put(m->elem, m->want, i, &m->sorted[i]);
	m->start[0] = 0;
	for (s = 1; s < m->k; s++)
		m->start[s] = below(m, 4) == 0 ? n : below(m, n + 1);
	m->start[m->k] = n;
	qsort(m->start + 1, m->k, sizeof *m->start, by_size);
	/* Places ascend with windows: in the end equal elements are in the order of these and of places within them. */
	for (s = 0; s < m->k; s++)
		qsort(m->in + m->start[s], m->start[s + 1] - m->start[s], sizeof *m->in, model_by_all);
}

/* The next part of a window, often all that is left. */
static void refill(merging *m, emi_window *win, uint32_t s, size_t bytes)
{
	const size_t left = m->start[s + 1] - m->at[s],
		     n = below(m, 2) == 0 ? left : (left + below(m, left + 1) + 1) / 2;
	char *a = guard_take(&m->window[s], n * bytes, (int)below(m, GUARD_PLACES), bytes == 4 ? 4 : 8);
	size_t i;

	for (i = 0; i < n; i++)
		model_put(m->elem, a, i, &m->in[m->at[s] + i]);
	m->at[s] += n;
	win[s].cur = a;
	win[s].end = a + n * bytes;
}

static void check_merge(merging *m, const emi_kernels *k)
{
	const size_t bytes = k->elem_bytes, tree = emi_merge_tree_bytes(m->k);
	emi_window *win = guard_take(&m->list, m->k * sizeof *win, (int)below(m, 2), sizeof(void *));
	uint32_t s, dry;
	size_t done = 0;
	emi_merge g;

	memset(&g, 0, sizeof g);
	g.k = m->k;
	g.win = win;
	g.tie = m->tie;
	/* Aligned to eight as it has to be; at the end only where it fills whole eights. */
	g.tree = guard_take(&m->tree, tree, tree % 8 != 0 ? GUARD_BEGIN : (int)below(m, GUARD_PLACES), 8);
	for (s = 0; s < m->k; s++) {
		m->at[s] = m->start[s];
		refill(m, win, s, bytes);
	}
	k->merge_start(&g);
	for (;;) {
		const size_t cap = below(m, 8) == 0 ? below(m, 4) : 1 + below(m, MOST);
		char *out = guard_take(&m->out, cap * bytes, (int)below(m, GUARD_PLACES), bytes == 4 ? 4 : 8);
		const size_t got = k->merge_run(&g, out, cap, &dry);

		if (got > cap || got > m->n - done ||
		    memcmp(out, (const char *)m->want + done * bytes, got * bytes) != 0)
			merging_fail(m, "merge", k);
		done += got;
		guard_check(&m->out);
		guard_check(&m->tree);
		guard_check(&m->list);
		if (dry != EMI_NONE)
			refill(m, win, dry, bytes);
		else if (got < cap)
			break;
	}
	if (done != m->n || g.live != 0)
		merging_fail(m, "merge ended early", k);
}

static void check_sizes(emi_elem elem, int ties)
{
	merging *m = calloc(1, sizeof *m);
	size_t n, i;
	uint32_t s;
	int tried = 0;

	assert_non_null(m);
	m->rng = test_rng_make(test_seed());
	m->elem = elem;
	m->tie.fn = ties ? model_tie : NULL;
	for (s = 0; s < WINDOWS_MOST; s++)
		guard_init(&m->window[s], BYTES_MOST);
	guard_init(&m->list, WINDOWS_MOST * sizeof(emi_window));
	guard_init(&m->tree, emi_merge_tree_bytes(WINDOWS_MOST));
	guard_init(&m->out, BYTES_MOST);
	for (n = 0; n <= MOST; n++) {
		make_input(m, n);
		for (i = 0; model_isas[i] != NULL; i++) {
			const emi_kernels *k = emi_kernels_for(elem, model_isas[i]);

			if (k != NULL) {
				check_merge(m, k);
				tried++;
			}
		}
	}
	assert_true(tried > (int)MOST);
	for (s = 0; s < WINDOWS_MOST; s++)
		guard_free(&m->window[s]);
	guard_free(&m->list);
	guard_free(&m->tree);
	guard_free(&m->out);
	free(m);
}

static void test_u32(void **state)
{
	(void)state;
	check_sizes(EMI_ELEM_U32, 0);
}

static void test_u64(void **state)
{
	(void)state;
	check_sizes(EMI_ELEM_U64, 0);
}

static void test_pair(void **state)
{
	(void)state;
	check_sizes(EMI_ELEM_PAIR, 0);
}

static void test_pair_with_ties(void **state)
{
	(void)state;
	check_sizes(EMI_ELEM_PAIR, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u32),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_pair_with_ties),
	};

	return cmocka_run_group_tests_name("merge sizes", tests, NULL, NULL);
}
