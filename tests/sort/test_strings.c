/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_strings.c -- sorting strings against a plain stable merge sort: alike for long, beginnings of one another, few
 * or all equal, with keys and reversed, with each instruction set.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/test.h"
#include "sort/strings.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT_MOST ((size_t)4 << 20)
#define MOST ((size_t)20000)

/* Frames one behind the other, and where each begins. */
typedef struct bench {
	test_rng rng;
	emi_vary v;
	emi_text *text;
	const emi_kernels *kern;
	unsigned char *mem;
	size_t filled;
	size_t *at;
	size_t n;
	size_t *model, *tmp;
} bench;

static const char *const isas[] = { "scalar", "avx2", "avx512" };

static void *need(size_t bytes)
{
	void *p = malloc(bytes + 1);

	assert_non_null(p);
	return p;
}

/* Which: 0 the whole record, 1 with a key of numbers, 2 of bytes; keys alone when asked for. */
static void bench_open(bench *b, int which, uint32_t flags, const char *isa)
{
	memset(b, 0, sizeof(*b));
	b->rng = test_rng_make(test_seed());
	b->text = calloc(1, sizeof(emi_text) + sizeof(em_text_key));
	assert_non_null(b->text);
	b->text->separator = EM_TEXT_BLANKS;
	b->text->flags = flags;
	b->text->n = which != 0;
	if (which != 0)
		assert_int_equal(em_text_key_parse(&b->text->key[0], NULL, which == 1 ? "2,2n" : "1,1", NULL), EM_OK);
	b->v.text = which != 0 ? b->text : NULL;
	b->v.keyed = which != 0;
	b->v.line = (flags & EM_TEXT_KEYS_ONLY) == 0;
	b->v.reverse = (flags & EM_TEXT_LAST_REVERSE) != 0;
	b->kern = emi_kernels_for(EMI_ELEM_PAIR, isa);
	b->mem = need(TEXT_MOST);
	b->at = need(MOST * sizeof(*b->at));
	b->model = need(MOST * sizeof(*b->model));
	b->tmp = need(MOST * sizeof(*b->tmp));
}

static void bench_close(bench *b)
{
	free(b->text);
	free(b->mem);
	free(b->at);
	free(b->model);
	free(b->tmp);
}

static void clear(bench *b)
{
	b->filled = b->n = 0;
}

static void add(bench *b, const void *record, size_t n)
{
	size_t bytes;

	assert_true(b->n < MOST);
	bytes = emi_frame_make(&b->v, record, n, b->mem + b->filled, TEXT_MOST - b->filled - 8, NULL);
	assert_true(bytes != 0);
	b->at[b->n++] = b->filled;
	b->filled += bytes;
}

/* Byte by byte: the keys, and then the records, reversed or not. */
static int model_compare(const bench *b, size_t i, size_t j)
{
	const emi_frame x = emi_frame_get(&b->v, b->mem + b->at[i]), y = emi_frame_get(&b->v, b->mem + b->at[j]);
	const size_t nk = (size_t)(x.key_bytes < y.key_bytes ? x.key_bytes : y.key_bytes);
	const size_t nr = (size_t)(x.bytes < y.bytes ? x.bytes : y.bytes);
	int c = memcmp(x.string, y.string, nk);

	if (c == 0)
		c = (x.key_bytes > y.key_bytes) - (x.key_bytes < y.key_bytes);
	if (c != 0 || !b->v.line)
		return c;
	c = memcmp(emi_frame_record(&x), emi_frame_record(&y), nr);
	if (c == 0)
		c = (x.bytes > y.bytes) - (x.bytes < y.bytes);
	return b->v.reverse ? -c : c;
}

static void model_sort(const bench *b, size_t *a, size_t *tmp, size_t n)
{
	const size_t half = n / 2;
	size_t i = 0, j = half, k = 0;

	if (n < 2)
		return;
	model_sort(b, a, tmp, half);
	model_sort(b, a + half, tmp, n - half);
	while (i < half || j < n)
		tmp[k++] = j == n || (i < half && model_compare(b, a[i], a[j]) <= 0) ? a[i++] : a[j++];
	memcpy(a, tmp, n * sizeof(*a));
}

/* Sort what was added, knowing that so many bytes are shared; equal strings stay in the order in which they were
 * added. */
static void check_from(bench *b, uint64_t depth)
{
	emi_pair *a = need(b->n * sizeof(*a)), *tmp = need(b->n * sizeof(*tmp));
	void *work = NULL;
	size_t i;

	for (i = 0; i < b->n; i++) {
		b->model[i] = i;
		a[i].key = ~(uint64_t)0;
		a[i].val = (uintptr_t)(b->mem + b->at[i]);
	}
	model_sort(b, b->model, b->tmp, b->n);
	emi_load_strings(&b->v, a, b->n, depth);
	for (i = 0; i < b->n; i++) {
		const emi_frame f = emi_frame_get(&b->v, b->mem + b->at[i]);

		assert_true(a[i].key == emi_string_key(&b->v, &f, depth));
		assert_true(a[i].val == (uintptr_t)(b->mem + b->at[i]));
	}
	assert_int_equal(posix_memalign(&work, 4096, EMI_KERN_WORK), 0);
	emi_sort_strings(b->kern, &b->v, a, tmp, b->n, depth, work);
	free(work);
	for (i = 0; i < b->n; i++)
		assert_true(a[i].val == (uintptr_t)(b->mem + b->at[b->model[i]]));
	free(a);
	free(tmp);
}

static void check(bench *b)
{
	check_from(b, 0);
}

/* Do something with each instruction set, kind of key and direction. */
static void with_each(void (*fn)(bench *b))
{
	static const uint32_t flags[] = {
		0, EM_TEXT_LAST_REVERSE, EM_TEXT_KEYS_ONLY, EM_TEXT_KEYS_ONLY | EM_TEXT_LAST_REVERSE,
	};
	size_t i, f;
	int which;

	for (i = 0; i < COUNT(isas); i++) {
		if (emi_kernels_for(EMI_ELEM_PAIR, isas[i]) == NULL)
			continue;
		for (which = 0; which < 3; which++) {
			for (f = 0; f < (which != 0 ? COUNT(flags) : 2); f++) {
				bench b;

				bench_open(&b, which, flags[f], isas[i]);
				fn(&b);
				bench_close(&b);
			}
		}
	}
}

static void add_random(bench *b, const void *common, size_t ncommon, size_t most, const char *letters, size_t nletters)
{
	unsigned char record[1024];
	const size_t n = (size_t)test_below(&b->rng, most + 1);
	size_t i;

	assert_true(ncommon + n <= sizeof(record));
	if (ncommon != 0)
		memcpy(record, common, ncommon);
	for (i = 0; i < n; i++)
		record[ncommon + i] = (unsigned char)letters[test_below(&b->rng, nletters)];
	add(b, record, ncommon + n);
}

static void sizes(bench *b)
{
	static const char letters[] = "\0\0\xff" "ab 12";
	size_t n, i;

	for (n = 0; n <= 40; n++) {
		clear(b);
		for (i = 0; i < n; i++)
			add_random(b, NULL, 0, 1 + n % 19, letters, 3 + n % 6);
		check(b);
	}
	for (n = 15; n <= 18; n++) {
		clear(b);
		for (i = 0; i < n; i++)
			add_random(b, "12345678", 8, 9, letters, 2);
		check(b);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	with_each(sizes);
}

static void random_ones(bench *b)
{
	static const struct {
		size_t n, common, most, letters;
	} shapes[] = {
		{ 3000, 0, 30, 8 }, { 2000, 0, 3, 2 }, { 1500, 0, 40, 1 }, { 1200, 7, 20, 3 }, { 1200, 8, 20, 4 },
		{ 1200, 9, 12, 3 }, { 800, 100, 12, 5 }, { 500, 800, 40, 2 }, { 2000, 23, 1, 2 },
	};
	static const char letters[] = "\0\xff" "ab 1 2";
	unsigned char common[1024];
	size_t s, i;

	for (s = 0; s < COUNT(shapes); s++) {
		memset(common, s % 2 != 0 ? 'c' : 0, sizeof(common));
		clear(b);
		for (i = 0; i < shapes[s].n; i++)
			add_random(b, common, shapes[s].common, shapes[s].most, letters, shapes[s].letters);
		check(b);
	}
}

static void test_random_ones(void **state)
{
	(void)state;
	with_each(random_ones);
}

/* Each a beginning of the next, in several orders, ended by nothing and by zeroes. */
static void staircases(bench *b)
{
	static const unsigned char steps[] = { 'a', 0, 0xff };
	unsigned char record[1200];
	size_t s, i, n;
	int order;

	for (s = 0; s < COUNT(steps); s++) {
		for (order = 0; order < 3; order++) {
			clear(b);
			memset(record, steps[s], sizeof(record));
			for (i = 0; i < sizeof(record); i++) {
				n = order == 0 ? i : order == 1 ? sizeof(record) - 1 - i
								: (size_t)test_below(&b->rng, sizeof(record));
				add(b, record, n);
			}
			check(b);
		}
	}
}

static void test_staircases(void **state)
{
	(void)state;
	with_each(staircases);
}

/* A staircase of thousands of steps is no deep recursion; each pair of steps is there twice. */
static void test_long_staircase(void **state)
{
	uint32_t reverse;

	(void)state;
	for (reverse = 0; reverse < 2; reverse++) {
		unsigned char *record = need(2400);
		bench b;
		size_t i;

		bench_open(&b, 0, reverse ? EM_TEXT_LAST_REVERSE : 0, "scalar");
		memset(record, 'a', 2400);
		for (i = 0; i < 2400; i++)
			add(&b, record, (i * 1009) % 2400);
		check(&b);
		free(record);
		bench_close(&b);
	}
}

/* Kernels that see how much of the stack is in use when they are called. */
static struct {
	const emi_kernels *real;
	uintptr_t lowest, highest;
} stack;

static void watched_sort(void *a, void *tmp, size_t n, const emi_tie *tie, void *work)
{
	const uintptr_t at = (uintptr_t)__builtin_frame_address(0);

	stack.lowest = at < stack.lowest ? at : stack.lowest;
	stack.highest = at > stack.highest ? at : stack.highest;
	stack.real->sort(a, tmp, n, tie, work);
}

/* The largest group of equal keys is no nested call: not where it comes first, last, or between others, at each of many
 * depths. */
static void test_nesting(void **state)
{
	enum { STEPS = 120, SIDE = 20, ENOUGH = 6144 };
	static const char *const sides[] = { "a", "z", "az", "aaz", "azz" };
	size_t which;

	(void)state;
	for (which = 0; which < COUNT(sides); which++) {
		unsigned char record[8 * STEPS + 9];
		emi_kernels kern;
		size_t step, i, k;
		bench b;

		bench_open(&b, 0, 0, "scalar");
		memset(record, 'm', sizeof(record));
		for (step = 0; step < STEPS; step++) {
			unsigned char *at = record + 8 * step;

			for (k = 0; sides[which][k] != '\0'; k++) {
				memset(at, sides[which][k], 8);
				at[7] = (unsigned char)k;
				for (i = 0; i < SIDE; i++) {
					at[8] = (unsigned char)(SIDE - i);
					add(&b, record, 8 * step + 9);
				}
			}
			memset(at, 'm', 9);
		}
		stack.real = b.kern;
		stack.lowest = UINTPTR_MAX;
		stack.highest = 0;
		kern = *b.kern;
		kern.sort = watched_sort;
		b.kern = &kern;
		check(&b);
		if (stack.highest - stack.lowest > ENOUGH)
			fail_msg("%s: %u bytes of stack", sides[which], (unsigned)(stack.highest - stack.lowest));
		bench_close(&b);
	}
}

static void equal_and_in_order(bench *b)
{
	unsigned char record[24];
	size_t i, k;
	int order;

	for (k = 0; k <= 24; k += 4) {
		memset(record, 'x', sizeof(record));
		clear(b);
		for (i = 0; i < 500; i++)
			add(b, record, k);
		check(b);
	}
	for (order = 0; order < 2; order++) {
		clear(b);
		for (i = 0; i < 3000; i++) {
			const size_t x = order == 0 ? i : 3000 - i;

			memset(record, '0', sizeof(record));
			for (k = 0; k < 4; k++)
				record[10 + k] = (unsigned char)('0' + x /
									       (k == 0	 ? 1000u
										: k == 1 ? 100u
										: k == 2 ? 10u
											 : 1u) %
									       10);
			add(b, record, 14);
			if (i % 5 == 0)
				add(b, record, 14);
		}
		check(b);
	}
}

static void test_equal_and_in_order(void **state)
{
	(void)state;
	with_each(equal_and_in_order);
}

/* What is known to be shared is not looked at. */
static void test_depths(void **state)
{
	static const uint64_t depths[] = { 1, 7, 8, 9, 16, 63, 64 };
	uint32_t reverse;

	(void)state;
	for (reverse = 0; reverse < 2; reverse++) {
		unsigned char common[64];
		size_t d, i;
		bench b;

		bench_open(&b, 0, reverse ? EM_TEXT_LAST_REVERSE : 0, NULL);
		memset(common, 'h', sizeof(common));
		for (i = 0; i < 1000; i++)
			add_random(&b, common, sizeof(common), 20, "\0\xff" "ab", 4);
		for (d = 0; d < COUNT(depths); d++)
			check_from(&b, depths[d]);
		bench_close(&b);
	}
}

/* Few, but long: they differ in the last byte, or in nothing. */
static void test_long_ones(void **state)
{
	static const unsigned char ends[] = { 'b', 'a', 0xff, 'a' };
	const size_t n = (size_t)1 << 20;
	uint32_t reverse;

	(void)state;
	for (reverse = 0; reverse < 2; reverse++) {
		unsigned char *record = need(n), *mem;
		size_t i;
		bench b;

		bench_open(&b, 0, reverse ? EM_TEXT_LAST_REVERSE : 0, NULL);
		mem = b.mem;
		b.mem = need(20 * (n + 16) + 8);
		memset(record, 'a', n);
		for (i = 0; i < 18; i++) {
			record[n - 1] = ends[i % 4];
			b.at[b.n++] = b.filled;
			b.filled += emi_frame_make(&b.v, record, n - (i % 7 == 6), b.mem + b.filled, n + 16, NULL);
		}
		check(&b);
		free(b.mem);
		free(record);
		b.mem = mem;
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random_ones),
		cmocka_unit_test(test_staircases),
		cmocka_unit_test(test_long_staircase),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_equal_and_in_order),
		cmocka_unit_test(test_depths),
		cmocka_unit_test(test_long_ones),
	};

	return cmocka_run_group_tests_name("strings", tests, NULL, NULL);
}
