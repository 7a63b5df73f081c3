/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_kernels.c -- survey, histogram, scatter, sort and bound of every element and
 * instruction set against a plain stable merge sort.
 *
 * Arrays are allocated to the exact size and at the least alignment that is promised, so
 * that a run under AddressSanitizer sees every step across their ends.
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

/* All patterns with each of these, and some with the large ones. */
static const size_t sizes[] = {
	0, 1, 2, 3, 4, 5, 8, 23, 24, 25, 31, 32, 33, 64, 100, 255, 256, 257, 1000, 4097, 10000
};
static const size_t large_sizes[] = { 32768, 32769, 65537, 200000 };
#define SIZES (sizeof sizes / sizeof sizes[0])
#define LARGE_SIZES (sizeof large_sizes / sizeof large_sizes[0])

static test_rng rng;

static size_t below(size_t n)
{
	return (size_t)test_below(&rng, n);
}

static model_pattern any_pattern(void)
{
	return (model_pattern)below(P_COUNT);
}

static const emi_elem elems[] = { EMI_ELEM_U32, EMI_ELEM_U64, EMI_ELEM_PAIR };

typedef void check_fn(const emi_kernels *k, emi_elem elem);

/* Run a check with each table that this machine has. */
static void for_all(check_fn *check)
{
	size_t i, e;

	for (i = 0; model_isas[i] != NULL; i++)
		for (e = 0; e < 3; e++) {
			const emi_kernels *k = emi_kernels_for(elems[e], model_isas[i]);

			if (k == NULL)
				continue;
			assert_string_equal(k->isa, model_isas[i]);
			check(k, elems[e]);
		}
}

/* n elements at an address that is aligned for their members and nothing more. */
typedef struct array {
	void *base;
	void *a;
} array;

static array array_make(const emi_kernels *k, size_t n)
{
	const size_t skew = k->elem_bytes == 4 ? 4 : below(2) ? 8 : 16;
	array r;

	r.base = malloc(skew + n * k->elem_bytes);
	assert_non_null(r.base);
	r.a = (char *)r.base + skew;
	return r;
}

static void *must_alloc(size_t n, size_t bytes)
{
	void *p = calloc(n + 1, bytes);

	assert_non_null(p);
	return p;
}

static void fail_at(const char *what, const emi_kernels *k, emi_elem elem, size_t n, int how)
{
	fprintf(stderr, "%s: isa %s, element %s, n %zu, pattern %s, EXTMEM_TEST_SEED=%llu\n", what, k->isa,
	        model_elem_name(elem), n, how < 0 ? "-" : model_pattern_names[how],
	        (unsigned long long)test_seed());
	fail();
}

static int same(emi_elem elem, const void *a, const emi_pair *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const emi_pair e = model_get(elem, a, i);

		if (e.key != p[i].key || (elem == EMI_ELEM_PAIR && e.val != p[i].val))
			return 0;
	}
	return 1;
}

/* ranks == 0: no tie function.  numbers: the values are numbers, in place of ranks. */
static void check_sort_by(const emi_kernels *k, emi_elem elem, size_t n, model_pattern how, size_t ranks, int numbers)
{
	emi_pair *p = must_alloc(n, sizeof *p), *t = must_alloc(n, sizeof *t);
	array a = array_make(k, n), tmp = array_make(k, n);
	uint64_t calls = 0;
	emi_tie tie = { NULL, NULL, NULL, 0 };
	size_t i;

	model_keys(&rng, how, elem, p, n);
	if (ranks != 0) {
		tie.fn = model_tie;
		tie.arg = &calls;
		for (i = 0; i < n; i++)
			p[i].val = numbers ? below(ranks) << below(64) : model_val(below(ranks), i);
	}
	if (numbers)
		tie.fn = emi_tie_numbers;
	for (i = 0; i < n; i++)
		model_put(elem, a.a, i, &p[i]);
	model_sort(p, t, n, elem == EMI_ELEM_PAIR ? tie.fn : NULL);
	k->sort(a.a, tmp.a, n, &tie, model_work());
	if (!same(elem, a.a, p, n))
		fail_at(ranks ? "sort with ties" : "sort", k, elem, n, (int)how);
	free(a.base);
	free(tmp.base);
	free(p);
	free(t);
}

static void check_sort(const emi_kernels *k, emi_elem elem, size_t n, model_pattern how, size_t ranks)
{
	check_sort_by(k, elem, n, how, ranks, 0);
}

static void sort_body(const emi_kernels *k, emi_elem elem)
{
	size_t i;
	int how;

	for (i = 0; i < SIZES; i++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
			check_sort(k, elem, sizes[i], (model_pattern)how, 0);
	for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
		check_sort(k, elem, large_sizes[below(LARGE_SIZES)], (model_pattern)how, 0);
	check_sort(k, elem, 200000, P_RANDOM, 0);
	for (i = 0; i < 300; i += test_step())
		check_sort(k, elem, below(3000), (model_pattern)below(P_COUNT), 0);
}

static void test_sort(void **state)
{
	(void)state;
	for_all(sort_body);
}

static void sort_ties_body(const emi_kernels *k, emi_elem elem)
{
	static const size_t ranks[] = { 1, 2, 1000, 1u << 30 };
	size_t i;
	int how;

	for (i = 0; i < SIZES; i++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
			check_sort(k, elem, sizes[i], (model_pattern)how, ranks[below(4)]);
	for (i = 0; i < 300; i += test_step())
		check_sort(k, elem, below(300), (model_pattern)below(P_COUNT),
		           ranks[below(4)]);
}

static void test_sort_ties(void **state)
{
	(void)state;
	for_all(sort_ties_body);
}

/* Keys whose second half is the value: groups of equal first halves of every size. */
static void sort_numbers_body(const emi_kernels *k, emi_elem elem)
{
	static const size_t ranks[] = { 2, 1000, 1u << 30 };
	size_t i;
	int how;

	if (elem != EMI_ELEM_PAIR)
		return;
	for (i = 0; i < SIZES; i++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
			check_sort_by(k, elem, sizes[i], (model_pattern)how, ranks[below(3)], 1);
	for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
		check_sort_by(k, elem, large_sizes[below(LARGE_SIZES)], (model_pattern)how, ranks[below(3)], 1);
}

static void test_sort_numbers(void **state)
{
	(void)state;
	for_all(sort_numbers_body);
}

/* Whatever the tie function says: the keys are in order and nothing is lost. */
static void sort_liars_body(const emi_kernels *k, emi_elem elem)
{
	size_t i, j, liar;
	int how;

	if (elem != EMI_ELEM_PAIR)
		return;
	for (i = 0; i < SIZES; i++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step())
			for (liar = 0; liar < MODEL_LIARS; liar++) {
				const size_t n = sizes[i];
				emi_pair *p = must_alloc(n, sizeof *p);
				unsigned char *marks = must_alloc(n, 1);
				array a = array_make(k, n), tmp = array_make(k, n);
				emi_tie tie;

				tie.fn = model_liars[liar];
				tie.arg = &rng;
				model_keys(&rng, (model_pattern)how, elem, p, n);
				for (j = 0; j < n; j++)
					model_put(elem, a.a, j, &p[j]);
				k->sort(a.a, tmp.a, n, &tie, model_work());
				if (!model_is_sorted_permutation(elem, a.a, p, n, marks))
					fail_at("sort with an inconsistent tie function", k, elem, n, how);
				free(a.base);
				free(tmp.base);
				free(marks);
				free(p);
			}
}

static void test_sort_liars(void **state)
{
	(void)state;
	for_all(sort_liars_body);
}

static void survey_body(const emi_kernels *k, emi_elem elem)
{
	size_t i, j;
	int how;

	for (i = 1; i < SIZES; i++)
		for (how = 0; how < P_COUNT; how++) {
			const size_t n = sizes[i];
			emi_pair *p = must_alloc(n, sizeof *p);
			array a = array_make(k, n);
			uint64_t diff = 0;
			int up = 1, down = 1, order = 99, expected;

			model_keys(&rng, (model_pattern)how, elem, p, n);
			for (j = 0; j < n; j++) {
				model_put(elem, a.a, j, &p[j]);
				diff |= p[j].key ^ p[0].key;
				up &= j == 0 || p[j - 1].key <= p[j].key;
				down &= j == 0 || p[j - 1].key > p[j].key;
			}
			expected = up ? 1 : down ? -1 : 0;
			if (k->survey(a.a, n, &order) != diff || order != expected)
				fail_at("survey", k, elem, n, how);
			free(a.base);
			free(p);
		}
}

static void test_survey(void **state)
{
	(void)state;
	for_all(survey_body);
}

/* Scatter in two halves, as two threads would do it; then compare with the stable order by digit. */
static void check_partition(const emi_kernels *k, emi_elem elem, size_t n, model_pattern how, unsigned bits,
                            unsigned shift)
{
	const size_t buckets = (size_t)1 << bits, half = below(n + 1);
	emi_pair *p = must_alloc(n, sizeof *p), *t = must_alloc(n, sizeof *t);
	size_t *c0 = must_alloc(buckets, sizeof *c0), *c1 = must_alloc(buckets, sizeof *c1), i, sum, x;
	array a = array_make(k, n), dst = array_make(k, n);
	emi_digit digit = { shift, bits, (int)below(2), 0 };
	const char *second;
	int order;

	model_keys(&rng, how, elem, p, n);
	for (i = 0; i < n; i++)
		model_put(elem, a.a, i, &p[i]);
	if (n != 0)
		digit.base = p[below(n)].key;
	second = (const char *)a.a + half * k->elem_bytes;
	c0[0] = 5;
	assert_true(k->histogram(a.a, half, &digit, c0) == (half != 0 ? k->survey(a.a, half, &order) : 0));
	assert_true(c0[0] >= 5);
	c0[0] -= 5;
	k->histogram(second, n - half, &digit, c1);
	for (i = 0, sum = 0; i < buckets; i++) {
		x = c0[i];
		c0[i] = sum;
		sum += x;
		x = c1[i];
		c1[i] = sum;
		sum += x;
	}
	assert_int_equal(sum, n);
	k->scatter(second, n - half, &digit, dst.a, c1, model_work());
	k->scatter(a.a, half, &digit, dst.a, c0, model_work());
	/* The model: a stable sort by the digit. */
	for (i = 0; i < n; i++) {
		t[i].key = model_digit(p[i].key, &digit);
		t[i].val = i;
	}
	{
		emi_pair *t2 = must_alloc(n, sizeof *t2);

		model_sort(t, t2, n, NULL);
		for (i = 0; i < n; i++)
			t2[i] = p[t[i].val];
		if (!same(elem, dst.a, t2, n))
			fail_at("scatter", k, elem, n, (int)how);
		/* Positions have moved to the ends of their buckets. */
		for (i = 0, x = 0; i < buckets; i++) {
			while (x < n && t[x].key == i)
				x++;
			if (c1[i] != x)
				fail_at("positions after scatter", k, elem, n, (int)how);
		}
		free(t2);
	}
	free(a.base);
	free(dst.base);
	free(c0);
	free(c1);
	free(p);
	free(t);
}

static void partition_body(const emi_kernels *k, emi_elem elem)
{
	const unsigned width = elem == EMI_ELEM_U32 ? 32 : 64;
	size_t i;
	int how;

	for (i = 0; i < SIZES; i++)
		for (how = (int)test_first_of(test_fewer()); how < P_COUNT; how += (int)test_step()) {
			const unsigned bits = (unsigned)below(EMI_MAX_RADIX_BITS + 1);
			const unsigned shift = (unsigned)below(width - bits + (bits ? 1 : 0));

			check_partition(k, elem, sizes[i], (model_pattern)how, bits, shift);
			check_partition(k, elem, sizes[i], (model_pattern)how, 8, width - 8);
		}
	for (i = 0; i < 6; i += test_step()) {
		const unsigned bits = EMI_MAX_RADIX_BITS - (unsigned)i % 3;

		check_partition(k, elem, 200000, i == 0 ? P_RANDOM : any_pattern(), bits, width - bits);
	}
}

static void test_partition(void **state)
{
	(void)state;
	for_all(partition_body);
}

static void bound_body(const emi_kernels *k, emi_elem elem)
{
	size_t round, i, lower, upper;

	for (round = 0; round < 2000; round++) {
		const size_t n = below(round % 50 == 0 ? 3000 : 20);
		emi_pair *p = must_alloc(n, sizeof *p), *t = must_alloc(n, sizeof *t), x;
		const int with_tie = elem == EMI_ELEM_PAIR && (round & 1);
		uint64_t calls = 0;
		emi_tie tie = { NULL, NULL, NULL, 0 };
		array a = array_make(k, n);

		model_keys(&rng, (model_pattern)below(P_COUNT), elem, p, n);
		for (i = 0; i < n; i++)
			p[i].val = model_val(below(3), i);
		model_sort(p, t, n, with_tie ? model_tie : NULL);
		for (i = 0; i < n; i++)
			model_put(elem, a.a, i, &p[i]);
		if (n != 0 && below(4) != 0) {
			x = p[below(n)];
			x.key += below(8) == 0;
			if (elem == EMI_ELEM_U32)
				x.key &= UINT32_MAX;
		} else {
			model_keys(&rng, P_RANDOM, elem, &x, 1);
		}
		x.val = model_val(below(3), 0);
		if (with_tie) {
			tie.fn = model_tie;
			tie.arg = &calls;
		}
		for (lower = 0; lower < n; lower++)
			if (p[lower].key > x.key ||
			    (p[lower].key == x.key && (!with_tie || model_tie(NULL, p[lower].val, x.val) >= 0)))
				break;
		for (upper = lower; upper < n; upper++)
			if (p[upper].key > x.key ||
			    (p[upper].key == x.key && with_tie && model_tie(NULL, p[upper].val, x.val) > 0))
				break;
		if (k->bound(a.a, n, x.key, x.val, 0, &tie) != lower)
			fail_at("bound", k, elem, n, -1);
		if (k->bound(a.a, n, x.key, x.val, 1, &tie) != upper)
			fail_at("inclusive bound", k, elem, n, -1);
		if (with_tie) {
			tie.fn = model_liars[round / 2 % MODEL_LIARS];
			tie.arg = &rng;
			assert_true(k->bound(a.a, n, x.key, x.val, 1, &tie) <= n);
		}
		free(a.base);
		free(p);
		free(t);
	}
}

static void test_bound(void **state)
{
	(void)state;
	for_all(bound_body);
}

static void test_dispatch(void **state)
{
	const emi_kernels *k;
	size_t e;

	(void)state;
	for (e = 0; e < 3; e++) {
		k = emi_kernels_for(elems[e], NULL);
		assert_non_null(k);
		assert_ptr_equal(k, emi_kernels_for(elems[e], "auto"));
		assert_ptr_equal(k, emi_kernels_for(elems[e], k->isa));
		assert_non_null(emi_kernels_for(elems[e], "scalar"));
		assert_null(emi_kernels_for(elems[e], "mmx"));
		assert_null(emi_kernels_for(elems[e], ""));
		assert_int_equal(k->elem_bytes, e == 0 ? 4 : e == 1 ? 8 : 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dispatch),
		cmocka_unit_test(test_survey),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_ties),
		cmocka_unit_test(test_sort_numbers),
		cmocka_unit_test(test_sort_liars),
		cmocka_unit_test(test_bound),
	};

	rng = test_rng_make(test_seed());
	return cmocka_run_group_tests_name("sort kernels", tests, NULL, NULL);
}
