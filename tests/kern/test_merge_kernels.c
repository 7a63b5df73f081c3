/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_kernels.c -- the windowed merge of every element and instruction set, with
 * windows that are refilled in pieces, against a stable sort of everything.
 *
 * Each piece is given to the merge in an allocation of its exact size that is freed as
 * soon as the merge has let go of it, so AddressSanitizer sees a look behind either end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern_model.h"

static const uint32_t fan_ins[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 300 };
#define FAN_INS (sizeof fan_ins / sizeof fan_ins[0])

static test_rng rng;

static size_t below(size_t n)
{
	return (size_t)test_below(&rng, n);
}

/* One merge to be done: input i is in[start[i] .. start[i + 1]). */
typedef struct work {
	const emi_kernels *k;
	emi_elem elem;
	uint32_t fan_in;
	size_t n;
	emi_pair *in;
	size_t *start;
	emi_tie tie;
	size_t max_piece;       /* refills have 1 .. this many elements */
	size_t max_cap;         /* out has room for 0 .. this many, per call */
} work;

static void *must_alloc(size_t n, size_t bytes)
{
	void *p = calloc(n + 1, bytes);

	assert_non_null(p);
	return p;
}

static void work_fail(const work *w, const char *what)
{
	fprintf(stderr, "%s: isa %s, element %s, k %u, n %zu, EXTMEM_TEST_SEED=%llu\n", what, w->k->isa,
	        model_elem_name(w->elem), (unsigned)w->fan_in, w->n, (unsigned long long)test_seed());
	fail();
}

/* Give the window its next piece, possibly nothing. */
static void refill(const work *w, emi_window *win, void **piece, size_t *at, uint32_t s)
{
	const size_t left = w->start[s + 1] - *at, skew = w->k->elem_bytes == 4 ? 4 : 8;
	size_t n = 1 + below(w->max_piece), i;
	char *a;

	free(*piece);
	*piece = NULL;
	if (n > left)
		n = left;
	*piece = malloc(skew + n * w->k->elem_bytes);
	assert_non_null(*piece);
	a = (char *)*piece + skew;
	for (i = 0; i < n; i++)
		model_put(w->elem, a, i, &w->in[*at + i]);
	*at += n;
	win[s].cur = a;
	win[s].end = a + n * w->k->elem_bytes;
}

/* Do the merge; the result, n elements, is for free(). */
static char *work_merge(const work *w)
{
	const size_t size = w->k->elem_bytes;
	char *out = must_alloc(w->n, size);
	emi_window *win = malloc(w->fan_in * sizeof *win);
	void **piece = must_alloc(w->fan_in, sizeof *piece);
	size_t *at = must_alloc(w->fan_in, sizeof *at), done = 0, got, cap, idle = 0;
	uint32_t s, dry;
	emi_merge m;

	assert_non_null(win);
	memset(&m, 0, sizeof m);
	m.k = w->fan_in;
	m.win = win;
	m.tree = malloc(emi_merge_tree_bytes(w->fan_in));
	m.tie = w->tie;
	assert_non_null(m.tree);
	for (s = 0; s < w->fan_in; s++) {
		at[s] = w->start[s];
		refill(w, win, &piece[s], &at[s], s);
	}
	w->k->merge_start(&m);
	for (;;) {
		/* A buffer of exactly this capacity. */
		char *buf;

		cap = below(w->max_cap + 1);
		buf = malloc(cap * size + 1);
		assert_non_null(buf);
		dry = 12345;
		got = w->k->merge_run(&m, buf, cap, &dry);
		if (got > cap || got > w->n - done)
			work_fail(w, "merge_run wrote too much");
		memcpy(out + done * size, buf, got * size);
		free(buf);
		done += got;
		if (dry != EMI_NONE) {
			if (dry >= w->fan_in || win[dry].cur != win[dry].end)
				work_fail(w, "the dry window is not empty");
			refill(w, win, &piece[dry], &at[dry], dry);
		} else if (got < cap) {
			break;
		}
		idle = got == 0 && dry == EMI_NONE ? idle + 1 : 0;
		if (idle > 1000)
			work_fail(w, "merge_run does not get on");
	}
	if (done != w->n || m.live != 0)
		work_fail(w, "merge ended early");
	/* Once ended, it stays so. */
	assert_int_equal(w->k->merge_run(&m, NULL, 0, &dry), 0);
	assert_int_equal(dry, EMI_NONE);
	for (s = 0; s < w->fan_in; s++)
		free(piece[s]);
	free(piece);
	free(at);
	free(m.tree);
	free(win);
	return out;
}

/* Keys by pattern, cut into fan_in inputs of random length, some of them empty, each sorted. */
static void work_make(work *w, model_pattern how, size_t ranks)
{
	emi_pair *tmp = must_alloc(w->n, sizeof *tmp);
	uint32_t s, t;
	size_t i;

	w->in = must_alloc(w->n, sizeof *w->in);
	w->start = must_alloc(w->fan_in + 1, sizeof *w->start);
	model_keys(&rng, how, w->elem, w->in, w->n);
	if (ranks != 0)
		for (i = 0; i < w->n; i++)
			w->in[i].val = model_val(below(ranks), i);
	for (s = 1; s < w->fan_in; s++)
		w->start[s] = below(3) == 0 ? 0 : below(w->n + 1);
	w->start[w->fan_in] = w->n;
	for (s = 1; s < w->fan_in; s++)
		for (t = s; t > 0 && w->start[t] < w->start[t - 1]; t--) {
			i = w->start[t];
			w->start[t] = w->start[t - 1];
			w->start[t - 1] = i;
		}
	for (s = 0; s < w->fan_in; s++)
		model_sort(w->in + w->start[s], tmp, w->start[s + 1] - w->start[s], w->tie.fn);
	free(tmp);
}

static void work_free(work *w)
{
	free(w->in);
	free(w->start);
}

/* ranks == 0: no tie function. */
static void check_merge(work *w, model_pattern how, size_t ranks)
{
	emi_pair *tmp = must_alloc(w->n, sizeof *tmp);
	uint64_t calls = 0;
	char *out;
	size_t i;

	w->tie.fn = ranks != 0 ? model_tie : NULL;
	w->tie.arg = &calls;
	if (ranks != 0 && w->elem != EMI_ELEM_PAIR)
		w->tie.fn = NULL;
	work_make(w, how, ranks);
	out = work_merge(w);
	/* Inputs are sorted and lie one after the other: a stable sort is the merge. */
	model_sort(w->in, tmp, w->n, w->tie.fn);
	for (i = 0; i < w->n; i++) {
		const emi_pair e = model_get(w->elem, out, i);

		if (e.key != w->in[i].key || (w->elem == EMI_ELEM_PAIR && e.val != w->in[i].val))
			work_fail(w, ranks ? "merge with ties" : "merge");
	}
	free(out);
	free(tmp);
	work_free(w);
}

typedef void check_fn(work *w);

/* Run a check with each table that this machine has and each fan-in. */
static void for_all(check_fn *check)
{
	size_t i, f;
	int e;

	for (i = 0; model_isas[i] != NULL; i++)
		for (e = EMI_ELEM_U32; e <= EMI_ELEM_PAIR; e++)
			for (f = 0; f < FAN_INS; f++) {
				work w;

				memset(&w, 0, sizeof w);
				w.elem = (emi_elem)e;
				w.k = emi_kernels_for(w.elem, model_isas[i]);
				w.fan_in = fan_ins[f];
				w.max_piece = 500;
				w.max_cap = 700;
				if (w.k != NULL)
					check(&w);
			}
}

static void patterns_body(work *w)
{
	int how;

	for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step()) {
		w->n = below(5000);
		check_merge(w, (model_pattern)how, 0);
		w->n = below(5000);
		check_merge(w, (model_pattern)how, 1 + below(4));
	}
}

static void test_patterns(void **state)
{
	(void)state;
	for_all(patterns_body);
}

/* Pieces and capacities of a few elements, or none. */
static void small_body(work *w)
{
	int i;

	for (i = 0; i < 40; i += (int)test_step()) {
		w->n = below(8 * w->fan_in + 1);
		w->max_piece = 1 + below(3);
		w->max_cap = 1 + below(4);
		check_merge(w, (model_pattern)below(P_COUNT), below(3));
	}
}

static void test_small_pieces(void **state)
{
	(void)state;
	for_all(small_body);
}

static void no_input_body(work *w)
{
	w->n = 0;
	check_merge(w, P_RANDOM, 0);
	check_merge(w, P_RANDOM, 1);
}

static void test_no_input(void **state)
{
	(void)state;
	for_all(no_input_body);
}

/* The largest key everywhere, so that closed windows and live ones have the same key. */
static int all_max(uint64_t *key, uint64_t r)
{
	*key = r % 3 != 0 ? UINT64_MAX : UINT64_MAX - r % 2;
	return 0;
}

static void largest_key_body(work *w)
{
	emi_pair *tmp;
	uint32_t s;
	size_t i;
	char *out;

	w->n = 20 * w->fan_in;
	w->max_piece = 7;
	w->tie.fn = NULL;
	work_make(w, P_EQUAL, 0);
	tmp = must_alloc(w->n, sizeof *tmp);
	for (i = 0; i < w->n; i++) {
		all_max(&w->in[i].key, test_random(&rng));
		if (w->elem == EMI_ELEM_U32)
			w->in[i].key &= UINT32_MAX;
	}
	for (s = 0; s < w->fan_in; s++)
		model_sort(w->in + w->start[s], tmp, w->start[s + 1] - w->start[s], NULL);
	out = work_merge(w);
	model_sort(w->in, tmp, w->n, NULL);
	for (i = 0; i < w->n; i++) {
		const emi_pair e = model_get(w->elem, out, i);

		if (e.key != w->in[i].key || (w->elem == EMI_ELEM_PAIR && e.val != w->in[i].val))
			work_fail(w, "merge of largest keys");
	}
	free(out);
	free(tmp);
	work_free(w);
}

static void test_largest_key(void **state)
{
	(void)state;
	for_all(largest_key_body);
}

/* Whatever the tie function says: the keys are in order and nothing is lost. */
static void liars_body(work *w)
{
	size_t liar, i;
	int how;

	if (w->elem != EMI_ELEM_PAIR)
		return;
	for (liar = 0; liar < MODEL_LIARS; liar++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step()) {
			unsigned char *marks;
			emi_pair *by_number;
			char *out;

			w->n = below(3000);
			w->tie.fn = NULL;
			work_make(w, (model_pattern)how, 0);
			by_number = must_alloc(w->n, sizeof *by_number);
			for (i = 0; i < w->n; i++)
				by_number[w->in[i].val] = w->in[i];
			marks = must_alloc(w->n, 1);
			w->tie.fn = model_liars[liar];
			w->tie.arg = &rng;
			out = work_merge(w);
			if (!model_is_sorted_permutation(w->elem, out, by_number, w->n, marks))
				work_fail(w, "merge with an inconsistent tie function");
			free(out);
			free(marks);
			free(by_number);
			work_free(w);
		}
}

static void test_liars(void **state)
{
	(void)state;
	for_all(liars_body);
}

/* Windows that are not in order, as a damaged file would give: nothing is lost even so. */
static void disorder_body(work *w)
{
	int how;

	for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step()) {
		uint64_t before = 0, after = 0;
		size_t i;
		char *out;

		w->n = below(2000);
		w->max_piece = 20;
		w->tie.fn = NULL;
		work_make(w, (model_pattern)how, 0);
		for (i = 0; i < w->n; i++) {
			if (below(2) == 0)
				w->in[i].key = test_random(&rng) | (0 - (test_random(&rng) & 1));
			if (w->elem == EMI_ELEM_U32)
				w->in[i].key &= UINT32_MAX;
			before += w->in[i].key;
		}
		w->tie.fn = (how & 1) && w->elem == EMI_ELEM_PAIR ? model_tie : NULL;
		w->tie.arg = NULL;
		out = work_merge(w);
		for (i = 0; i < w->n; i++)
			after += model_get(w->elem, out, i).key;
		if (before != after)
			work_fail(w, "merge of windows in disorder");
		free(out);
		work_free(w);
	}
}

static void test_disorder(void **state)
{
	(void)state;
	for_all(disorder_body);
}

static void test_tree_bytes(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 1; k < 3000; k++)
		assert_true(emi_merge_tree_bytes(k) >= emi_merge_tree_bytes(k - (k > 1)));
	assert_true(emi_merge_tree_bytes(1) >= sizeof(uint64_t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_bytes),
		cmocka_unit_test(test_no_input),
		cmocka_unit_test(test_small_pieces),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_largest_key),
		cmocka_unit_test(test_liars),
		cmocka_unit_test(test_disorder),
	};

	rng = test_rng_make(test_seed());
	return cmocka_run_group_tests_name("merge kernels", tests, NULL, NULL);
}
