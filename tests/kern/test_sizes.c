/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sizes.c -- survey, histogram, scatter, sort and bound of every element and instruction set, with inputs of every
 * size up to 2000 and of some large ones, of every pattern.  Arrays lie next to pages that nobody may touch, and some
 * are not aligned for more than their members.
 *
 * What must come out is known without sorting anew for each size: the input of n elements is the one of n - 1 with one
 * more at one of its ends, so one is inserted into what is sorted.  Now and then that is compared with what qsort()
 * says.
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
#define LARGE_BYTES ((size_t)7 << 19)
#define ISAS_MOST 3

static test_rng rng;

static size_t below(size_t n)
{
	return (size_t)test_below(&rng, n);
}

/* A growing input, and all that is known about it. */
typedef struct input {
	emi_elem elem;
	model_pattern how;
	size_t bytes;           /* of an element */
	size_t skew;            /* what they are aligned to */
	const emi_kernels *kern[ISAS_MOST];
	unsigned kerns;
	emi_tie tie;
	emi_pair *all;          /* the input is [lo, hi) of it */
	size_t lo, hi;
	emi_pair *sorted;
	char *raw;              /* as elements: the input, what is sorted, and a place to sort in */
	char *want;
	uint64_t ones, zeroes;  /* key bits that are set, and not set, somewhere */
	int up, down;
	guard a, tmp, count, pos;
} input;

static void input_fail(const input *in, const char *what, const emi_kernels *k)
{
	fprintf(stderr, "%s: isa %s, element %s, n %zu, pattern %s, ties %d, EXTMEM_TEST_SEED=%llu\n", what, k->isa,
		model_elem_name(in->elem), in->hi - in->lo, model_pattern_names[in->how], in->tie.fn != NULL,
		(unsigned long long)test_seed());
	fail();
}

static void input_init(input *in, emi_elem elem, int ties, size_t most)
{
	unsigned i;

	memset(in, 0, sizeof *in);
	in->elem = elem;
	in->tie.fn = ties ? model_tie : NULL;
	for (i = 0; model_isas[i] != NULL; i++) {
		const emi_kernels *k = emi_kernels_for(elem, model_isas[i]);

		assert_true(in->kerns < ISAS_MOST);
		if (k != NULL)
			in->kern[in->kerns++] = k;
	}
	assert_true(in->kerns > 0);
	in->bytes = in->kern[0]->elem_bytes;
	in->skew = in->bytes == 4 ? 4 : 8;
	in->all = malloc(most * sizeof *in->all);
	in->sorted = malloc(most * sizeof *in->sorted);
	in->raw = malloc(most * in->bytes);
	in->want = malloc(most * in->bytes);
	assert_true(in->all != NULL && in->sorted != NULL && in->raw != NULL && in->want != NULL);
	guard_init(&in->a, most * in->bytes);
	guard_init(&in->tmp, most * in->bytes);
	guard_init(&in->count, sizeof(size_t) << EMI_MAX_RADIX_BITS);
	guard_init(&in->pos, sizeof(size_t) << EMI_MAX_RADIX_BITS);
}

static void input_free(input *in)
{
	guard_free(&in->a);
	guard_free(&in->tmp);
	guard_free(&in->count);
	guard_free(&in->pos);
	free(in->all);
	free(in->sorted);
	free(in->raw);
	free(in->want);
}

/* Begin with nothing, in the middle of most elements to come. */
static void input_begin(input *in, model_pattern how, size_t most)
{
	size_t i;

	in->how = how;
	model_keys(&rng, how, in->elem, in->all, most);
	for (i = 0; in->tie.fn != NULL && i < most; i++)
		in->all[i].val = model_val(below(3), i);
	in->lo = in->hi = most / 2;
	in->ones = in->zeroes = 0;
	in->up = in->down = 1;
}

static void note(input *in, const emi_pair *e)
{
	in->ones |= e->key;
	in->zeroes |= ~e->key;
}

static void input_grow(input *in)
{
	const size_t n = in->hi - in->lo;
	const emi_pair *e = n % 2 == 0 ? &in->all[in->hi++] : &in->all[--in->lo];
	size_t lo = 0, hi = n;

	note(in, e);
	if (n != 0) {
		const emi_pair *p = e == &in->all[in->lo] ? e : e - 1;

		in->up &= p[0].key <= p[1].key;
		in->down &= p[0].key > p[1].key;
	}
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (model_by_all(&in->sorted[mid], e) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	memmove(in->sorted + lo + 1, in->sorted + lo, (n - lo) * sizeof *in->sorted);
	in->sorted[lo] = *e;
}

/* Have the input and what is sorted as elements. */
static void input_elements(input *in)
{
	const size_t n = in->hi - in->lo;
	size_t i;

	for (i = 0; i < n; i++) {
		model_put(in->elem, in->raw, i, &in->all[in->lo + i]);
		model_put(in->elem, in->want, i, &in->sorted[i]);
	}
}

static void check_model(const input *in)
{
	const size_t n = in->hi - in->lo;
	emi_pair *p = malloc((n + 1) * sizeof *p);

	assert_non_null(p);
	memcpy(p, in->all + in->lo, n * sizeof *p);
	qsort(p, n, sizeof *p, model_by_all);
	assert_memory_equal(p, in->sorted, n * sizeof *p);
	free(p);
}

static int any_place(void)
{
	return (int)below(GUARD_PLACES);
}

/* The input between pages. */
static void *take_input(input *in)
{
	const size_t n = in->hi - in->lo;
	void *a = guard_take(&in->a, n * in->bytes, any_place(), in->skew);

	if (n != 0)
		memcpy(a, in->raw, n * in->bytes);
	return a;
}

static void check_sort(input *in, const emi_kernels *k)
{
	const size_t n = in->hi - in->lo;
	void *a = take_input(in), *tmp = guard_take(&in->tmp, n * in->bytes, any_place(), in->skew);

	k->sort(a, tmp, n, &in->tie, model_work());
	if (memcmp(a, in->want, n * in->bytes) != 0)
		input_fail(in, "sort", k);
	guard_check(&in->a);
	guard_check(&in->tmp);
}

static void check_survey(input *in, const emi_kernels *k)
{
	const uint64_t width = in->elem == EMI_ELEM_U32 ? UINT32_MAX : UINT64_MAX;
	const size_t n = in->hi - in->lo;
	void *a = take_input(in);
	int order = 99;

	if (n == 0)
		return;
	if (k->survey(a, n, &order) != (in->ones & in->zeroes & width) || order != (in->up ? 1 : in->down ? -1 : 0))
		input_fail(in, "survey", k);
	guard_check(&in->a);
	assert_memory_equal(a, in->raw, n * in->bytes);
}

/* By a random digit, with kernels [first, end). */
static void check_partition(input *in, unsigned first, unsigned end)
{
	const unsigned width = in->elem == EMI_ELEM_U32 ? 32 : 64, bits = (unsigned)below(EMI_MAX_RADIX_BITS + 1);
	const unsigned shift = below(3) != 0 ? width - (bits != 0 ? bits : 1) : (unsigned)below(width - bits);
	const emi_digit digit = { shift, bits, (int)below(2),
				  in->hi != in->lo ? in->all[in->lo + below(in->hi - in->lo)].key : 0 };
	const size_t n = in->hi - in->lo, buckets = (size_t)1 << bits;
	size_t begin[((size_t)1 << EMI_MAX_RADIX_BITS) + 1] = { 0 }, at[(size_t)1 << EMI_MAX_RADIX_BITS], i;
	unsigned j;

	/* The model, in place of what is sorted. */
	for (i = 0; i < n; i++)
		begin[model_digit(in->all[in->lo + i].key, &digit) + 1]++;
	for (i = 0; i < buckets; i++)
		begin[i + 1] += begin[i];
	memcpy(at, begin, buckets * sizeof *at);
	for (i = 0; i < n; i++)
		model_put(in->elem, in->want, at[model_digit(in->all[in->lo + i].key, &digit)]++, &in->all[in->lo + i]);

	for (j = first; j < end; j++) {
		const emi_kernels *k = in->kern[j];
		const void *a = take_input(in);
		void *dst = guard_take(&in->tmp, n * in->bytes, any_place(), in->skew);
		size_t *count = guard_take(&in->count, buckets * sizeof *count, any_place(), sizeof *count);
		size_t *pos = guard_take(&in->pos, buckets * sizeof *pos, any_place(), sizeof *pos);

		for (i = 0; i < buckets; i++)
			count[i] = i * 3;
		k->histogram(a, n, &digit, count);
		for (i = 0; i < buckets; i++)
			if (count[i] != i * 3 + (begin[i + 1] - begin[i]))
				input_fail(in, "histogram", k);
		memcpy(pos, begin, buckets * sizeof *pos);
		k->scatter(a, n, &digit, dst, pos, model_work());
		if (memcmp(dst, in->want, n * in->bytes) != 0 || memcmp(pos, begin + 1, buckets * sizeof *pos) != 0)
			input_fail(in, "scatter", k);
		assert_memory_equal(a, in->raw, n * in->bytes);
		guard_check(&in->a);
		guard_check(&in->tmp);
		guard_check(&in->count);
		guard_check(&in->pos);
	}
}

/* Of what is sorted: a key that is there, or one beside it, or an end of the domain. */
static void check_bound(input *in, const emi_kernels *k)
{
	const uint64_t width = in->elem == EMI_ELEM_U32 ? UINT32_MAX : UINT64_MAX;
	const size_t n = in->hi - in->lo;
	void *a = guard_take(&in->a, n * in->bytes, any_place(), in->skew);
	uint64_t key = below(8) == 0 ? 0 - (uint64_t)below(2) : n != 0 ? in->sorted[below(n)].key - 1 + below(3) : 5;
	const uint64_t rank = below(3), val = model_val(rank, 0);
	size_t lower, upper;

	key &= width;
	if (n != 0)
		memcpy(a, in->want, n * in->bytes);
	for (lower = 0;
	     lower < n && (in->sorted[lower].key < key || (in->sorted[lower].key == key && in->tie.fn != NULL &&
							   model_tie(NULL, in->sorted[lower].val, val) < 0));)
		lower++;
	for (upper = lower; upper < n && in->sorted[upper].key == key &&
			    (in->tie.fn == NULL || model_tie(NULL, in->sorted[upper].val, val) == 0);)
		upper++;
	if (k->bound(a, n, key, val, 0, &in->tie) != lower || k->bound(a, n, key, val, 1, &in->tie) != upper)
		input_fail(in, "bound", k);
	guard_check(&in->a);
}

static void check_all(input *in, unsigned first, unsigned end)
{
	unsigned j;

	input_elements(in);
	for (j = first; j < end; j++) {
		check_sort(in, in->kern[j]);
		check_survey(in, in->kern[j]);
		check_bound(in, in->kern[j]);
	}
	check_partition(in, first, end);
}

/* Every size of every pattern; the many larger ones with one instruction set after the other, and another one in the
 * next run. */
static void check_sizes(emi_elem elem, int ties)
{
	const size_t turn = below(6), step = ties ? 6 : 1;
	input in;
	size_t n;
	int how;

	input_init(&in, elem, ties, MOST);
	for (how = 0; how < P_COUNT; how++) {
		input_begin(&in, (model_pattern)how, MOST);
		for (n = 0; n <= MOST; n++) {
			const size_t i = n + (size_t)how + turn;
			const unsigned one = (unsigned)(i % in.kerns);

			if (n == 1 || n == MOST || (n <= 200 && !test_left_out()))
				check_all(&in, 0, in.kerns);
			else if (i / 6 % step == 0 && !test_left_out())
				check_all(&in, one, one + 1);
			if (n % 499 == 3)
				check_model(&in);
			if (n < MOST)
				input_grow(&in);
		}
	}
	input_free(&in);
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

/* More than the caches of the kernels hold, where scatters may go past the processor's; a third of the patterns in each
 * run. */
static void test_large(void **state)
{
	int kind, how;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		const emi_elem elem = kind < 2 ? (emi_elem)kind : EMI_ELEM_PAIR;
		const size_t most = LARGE_BYTES / (elem == EMI_ELEM_U32 ? 4 : elem == EMI_ELEM_U64 ? 8 : 16);
		input in;

		input_init(&in, elem, kind == 3, most);
		for (how = (int)below(3); how < P_COUNT; how += 3 * (int)test_step()) {
			const size_t n = most / 2 + below(most / 2);
			size_t i;

			input_begin(&in, (model_pattern)how, n);
			in.lo = 0;
			in.hi = n;
			for (i = 0; i < n; i++) {
				note(&in, &in.all[i]);
				in.up &= i == 0 || in.all[i - 1].key <= in.all[i].key;
				in.down &= i == 0 || in.all[i - 1].key > in.all[i].key;
			}
			memcpy(in.sorted, in.all, n * sizeof *in.sorted);
			qsort(in.sorted, n, sizeof *in.sorted, model_by_all);
			check_all(&in, 0, in.kerns);
		}
		input_free(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u32),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_pair_with_ties),
		cmocka_unit_test(test_large),
	};

	rng = test_rng_make(test_seed());
	return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
