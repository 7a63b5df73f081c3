/* SPDX-License-Identifier: BSL-1.0 */
/* test_gen.c -- the kernels that <extmem/gen/order.h> generates, against plain models. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/test.h"
#include "kern/guard.h"

#define EM_GEN_NAME by_u32
#define EM_GEN_RECORD uint32_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

#define EM_GEN_NAME by_u64
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

typedef struct medium {
	uint64_t key, seq, rest;
} medium;

#define EM_GEN_NAME by_medium
#define EM_GEN_RECORD medium
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

/* Odd in size and alignment, and too large to be moved often. */
typedef struct large {
	unsigned char key[8], seq[8], rest[85];
} large;

#define EM_GEN_NAME by_large
#define EM_GEN_RECORD large
#define EM_GEN_LESS(a, b) (memcmp((a)->key, (b)->key, sizeof (a)->key) < 0)
#include <extmem/gen/order.h>

/* An order that contradicts itself: arg counts the questions. */
static int lie(uint64_t a, uint64_t b, void *arg)
{
	uint64_t x = (a ^ b << 7) + ++*(uint64_t *)arg * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return (int)(x >> 63);
}

#define EM_GEN_NAME by_lies
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) lie(*(a), *(b), arg)
#include <extmem/gen/order.h>

#define EM_GEN_NAME by_medium_lies
#define EM_GEN_RECORD medium
#define EM_GEN_LESS(a, b) lie((a)->seq, (b)->seq, arg)
#include <extmem/gen/order.h>

#define EM_GEN_NAME by_large_lies
#define EM_GEN_RECORD large
#define EM_GEN_LESS(a, b) lie((a)->seq[7], (b)->seq[7], arg)
#include <extmem/gen/order.h>

static void make_u32(void *p, uint64_t key, uint64_t seq)
{
	(void)seq;
	*(uint32_t *)p = (uint32_t)key;
}

static void make_u64(void *p, uint64_t key, uint64_t seq)
{
	(void)seq;
	*(uint64_t *)p = key;
}

static void make_medium(void *p, uint64_t key, uint64_t seq)
{
	const medium m = { key, seq, ~key };

	*(medium *)p = m;
}

static void put64(unsigned char *p, uint64_t v)
{
	int i;

	for (i = 7; i >= 0; i--, v >>= 8)
		p[i] = (unsigned char)v;
}

static void make_large(void *p, uint64_t key, uint64_t seq)
{
	large *l = p;

	put64(l->key, key);
	put64(l->seq, seq);
	memset(l->rest, (int)(key & 0xff), sizeof l->rest);
}

/* A kind of record, and how to make one of a key and a number that tells equal ones apart. */
typedef struct record_kind {
	const em_kernels *kern;
	void (*make)(void *p, uint64_t key, uint64_t seq);
	uint64_t mask;          /* of keys */
	size_t align;
} record_kind;

/* How 64 bits are aligned is the machine's business. */
struct aligned {
	char before;
	uint64_t number;
};

static const record_kind kinds[] = {
	{ &by_u32_kernels, make_u32, UINT32_MAX, 4 },
	{ &by_u64_kernels, make_u64, UINT64_MAX, offsetof(struct aligned, number) },
	{ &by_medium_kernels, make_medium, UINT64_MAX, offsetof(struct aligned, number) },
	{ &by_large_kernels, make_large, UINT64_MAX, 1 },
};

static const record_kind liars[] = {
	{ &by_lies_kernels, make_u64, UINT64_MAX, 8 },
	{ &by_medium_lies_kernels, make_medium, UINT64_MAX, 8 },
	{ &by_large_lies_kernels, make_large, UINT64_MAX, 1 },
};

#define KINDS (sizeof kinds / sizeof *kinds)
#define LIARS (sizeof liars / sizeof *liars)

enum { RANDOM, EQUAL, SORTED, REVERSED, DESCENDING, FEW, MOST_EQUAL, PIPE, ENDS, SAW, SWAPPED, PATTERNS };

static uint64_t pattern_key(test_rng *rng, int pattern, size_t i, size_t n)
{
	switch (pattern) {
	case EQUAL: return 42;
	case SORTED: return i / 2;
	case REVERSED: return (n - i) / 2;
	case DESCENDING: return n - i;
	case FEW: return test_below(rng, 5);
	case MOST_EQUAL: return test_below(rng, 2) ? 1000 : test_below(rng, 2000);
	case PIPE: return i < n / 2 ? i : n - i;
	case ENDS: return test_below(rng, 3) == 0 ? UINT64_MAX : test_below(rng, 2) ? 0 : UINT64_MAX / 2;
	case SAW: return i % 37;
	case SWAPPED: return i < n / 2 ? n + i : i;     /* all of one half before all of the other */
	default: return test_random(rng);
	}
}

typedef struct tagged {
	uint64_t key, seq;
} tagged;

static int by_key_and_seq(const void *a, const void *b)
{
	const tagged *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Records to sort, where touching what is beside them is a crash. */
typedef struct bed {
	const record_kind *kind;
	size_t n, bytes;
	tagged *model;
	unsigned char *want;
	guard a, b, tags;
	unsigned char *rec, *tmp;
	uint16_t *tag;
	uint64_t questions;
} bed;

static void bed_init(bed *b, const record_kind *kind, size_t most)
{
	memset(b, 0, sizeof *b);
	b->kind = kind;
	b->bytes = (size_t)kind->kern->record_size;
	b->model = malloc((most + 1) * sizeof *b->model);
	b->want = malloc((most + 1) * b->bytes);
	assert_true(b->model != NULL && b->want != NULL);
	guard_init(&b->a, most * b->bytes);
	guard_init(&b->b, most * b->bytes);
	guard_init(&b->tags, most * sizeof *b->tag);
}

static void bed_free(bed *b)
{
	guard_free(&b->a);
	guard_free(&b->b);
	guard_free(&b->tags);
	free(b->model);
	free(b->want);
}

static void bed_check(const bed *b)
{
	guard_check(&b->a);
	guard_check(&b->b);
	guard_check(&b->tags);
}

static void bed_fill(bed *b, test_rng *rng, int pattern, size_t n)
{
	const int place = (int)test_below(rng, GUARD_PLACES);
	size_t i;

	b->n = n;
	b->rec = guard_take(&b->a, n * b->bytes, place, b->kind->align);
	b->tmp = guard_take(&b->b, n * b->bytes, (int)test_below(rng, GUARD_PLACES), b->kind->align);
	b->tag = guard_take(&b->tags, n * sizeof *b->tag, GUARD_END, sizeof *b->tag);
	for (i = 0; i < n; i++) {
		b->model[i].key = pattern_key(rng, pattern, i, n) & b->kind->mask;
		b->model[i].seq = i;
		b->kind->make(b->rec + i * b->bytes, b->model[i].key, i);
	}
	qsort(b->model, n, sizeof *b->model, by_key_and_seq);
	for (i = 0; i < n; i++)
		b->kind->make(b->want + i * b->bytes, b->model[i].key, b->model[i].seq);
}

static void sort_one(bed *b, test_rng *rng, int pattern, size_t n)
{
	const em_kernels *k = b->kind->kern;
	size_t i, in_order = 1;

	bed_fill(b, rng, pattern, n);
	for (i = 1; i < n; i++)
		in_order &= k->compare(b->rec + (i - 1) * b->bytes, b->rec + i * b->bytes, NULL) <= 0;
	assert_int_equal(k->sorted(b->rec, n, NULL), in_order);
	k->sort(b->rec, b->tmp, n, NULL);
	if (n != 0)
		assert_memory_equal(b->rec, b->want, n * b->bytes);
	assert_true(k->sorted(b->rec, n, NULL));
	bed_check(b);
}

static void test_sort(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t kind, n;
	int pattern;
	bed b;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		bed_init(&b, &kinds[kind], 60000);
		for (pattern = 0; pattern < PATTERNS; pattern++) {
			for (n = 0; n <= 2000; n += n < 140 ? 1 : 1 + (size_t)test_below(&rng, 60))
				sort_one(&b, &rng, pattern, n);
			sort_one(&b, &rng, pattern, 4096);
			sort_one(&b, &rng, pattern, 30000 + (size_t)test_below(&rng, 30000));
		}
		bed_free(&b);
	}
}

static void test_compare(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	large x, y;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < 300; i++) {
			const uint64_t a = test_below(&rng, 3) + 255, b = test_below(&rng, 3) + 255;

			kinds[kind].make(&x, a, 1);
			kinds[kind].make(&y, b, 2);
			assert_int_equal(kinds[kind].kern->compare(&x, &y, NULL), (a > b) - (a < b));
		}
}

/* Two sorted windows, or many, of what is in the bed. */
static void make_windows(bed *b, test_rng *rng, em_kern_window *win, size_t *from, uint32_t k)
{
	uint32_t i;
	size_t j;

	from[0] = 0;
	for (i = 1; i < k; i++)
		from[i] = test_below(rng, 4) == 0
				  ? from[i - 1]
				  : from[i - 1] + (size_t)test_below(rng, 2 * (b->n - from[i - 1]) / (k - i) + 1);
	for (i = 1; i < k; i++)
		if (from[i] > b->n)
			from[i] = b->n;
	from[k] = b->n;
	for (i = 0; i < k; i++) {
		tagged *t = malloc((from[i + 1] - from[i] + 1) * sizeof *t);
		size_t m = 0;

		assert_non_null(t);
		/* The model knows which records these are by their numbers. */
		for (j = 0; j < b->n; j++)
			if (b->model[j].seq >= from[i] && b->model[j].seq < from[i + 1])
				t[m++] = b->model[j];
		for (j = 0; j < m; j++)
			b->kind->make(b->rec + (from[i] + j) * b->bytes, t[j].key, t[j].seq);
		free(t);
		win[i].cur = b->rec + from[i] * b->bytes;
		win[i].end = b->rec + from[i + 1] * b->bytes;
	}
}

#define MOST_K 200u

/* Merge with windows that are refilled in pieces, to an output that has room for some. */
static size_t merge_all(bed *b, test_rng *rng, const size_t *from, uint32_t k, size_t most)
{
	static uint32_t tree[2 * MOST_K];
	size_t at[MOST_K], done = 0, got;
	const em_kernels *kern = b->kind->kern;
	em_kern_window win[MOST_K];
	uint32_t i, dry;
	em_kern_merge m;

	for (i = 0; i < k; i++) {
		const size_t n = (size_t)test_below(rng, from[i + 1] - from[i] + 1);

		/* A window that is empty at first has ended. */
		at[i] = from[i] + (n == 0 ? from[i + 1] - from[i] : n);
		win[i].cur = b->rec + from[i] * b->bytes;
		win[i].end = b->rec + at[i] * b->bytes;
	}
	memset(&m, 0x5a, sizeof m);
	m.k = k;
	m.win = win;
	m.tree = tree;
	m.arg = &b->questions;
	kern->merge_start(&m);
	do {
		const size_t cap = 1 + (size_t)test_below(rng, 300), room = cap < most - done ? cap : most - done;

		got = kern->merge_run(&m, b->tmp + done * b->bytes, room, &dry);
		assert_true(got <= room);
		done += got;
		if (dry != EM_KERN_NO_WINDOW) {
			const size_t n = (size_t)test_below(rng, from[dry + 1] - at[dry] + 1);

			assert_true(dry < k && win[dry].cur == win[dry].end);
			if (at[dry] == from[dry + 1])
				continue;
			win[dry].cur = b->rec + at[dry] * b->bytes;
			at[dry] += n == 0 ? 1 : n;
			win[dry].end = b->rec + at[dry] * b->bytes;
		}
	} while (got != 0 || dry != EM_KERN_NO_WINDOW);
	return done;
}

static size_t mix_all(bed *b, test_rng *rng, em_kern_window *win, uint32_t k)
{
	size_t taken[MOST_K], room = k + (size_t)test_below(rng, 900), n, done = 0;
	unsigned char *out = malloc(room * b->bytes), *tmp = malloc(room * b->bytes);
	em_kern_mix m = { k, 0, win, taken, 0, room, &b->questions };

	assert_true(out != NULL && tmp != NULL);
	for (;;) {
		size_t i;

		memset(out, 0xa5, room * b->bytes);
		if ((n = b->kind->kern->mix(&m, out, tmp)) == 0)
			break;
		assert_true(n <= room && n <= b->n - done);
		for (i = n * b->bytes; i < room * b->bytes; i++)
			assert_int_equal(out[i], 0xa5);
		memcpy(b->tmp + done * b->bytes, out, n * b->bytes);
		done += n;
	}
	free(out);
	free(tmp);
	return done;
}

static void test_merge(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t from[MOST_K + 1], kind, round;
	em_kern_window win[MOST_K];
	bed b;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		bed_init(&b, &kinds[kind], 5000);
		for (round = 0; round < 120; round++) {
			const uint32_t k = 1 + (uint32_t)(test_below(&rng, 3) == 0 ? test_below(&rng, MOST_K)
										   : test_below(&rng, 9));

			bed_fill(&b, &rng, (int)(round % PATTERNS),
				 (size_t)test_below(&rng, round % 3 == 0 ? 100 : 5000));
			make_windows(&b, &rng, win, from, k);
			assert_int_equal(merge_all(&b, &rng, from, k, b.n), b.n);
			if (b.n != 0)
				assert_memory_equal(b.tmp, b.want, b.n * b.bytes);
			bed_check(&b);
			if (kinds[kind].kern->mix == NULL)
				continue;
			if (b.n != 0)
				memset(b.tmp, 0, b.n * b.bytes);
			assert_int_equal(mix_all(&b, &rng, win, k), b.n);
			if (b.n != 0)
				assert_memory_equal(b.tmp, b.want, b.n * b.bytes);
			bed_check(&b);
		}
		bed_free(&b);
	}
	/* Those that can are mixed, and large ones are not. */
	assert_non_null(by_medium_kernels.mix);
	assert_null(by_large_kernels.mix);
}

/* Splitters are the first records of the sorted bed, spread out, as many times as it takes. */
static void make_splitters(bed *b, uint32_t levels, unsigned char *sorted, unsigned char *tree, tagged *key)
{
	const size_t n = ((size_t)1 << levels) - 1;
	size_t i, level;

	for (i = 0; i < n; i++) {
		key[i] = b->model[i * b->n / n];
		b->kind->make(sorted + i * b->bytes, key[i].key, 1000000 + i);
	}
	for (level = 0; level < levels; level++)
		for (i = 0; i >> level == 0; i++)
			memcpy(tree + (((size_t)1 << level) + i) * b->bytes,
			       sorted + ((2 * i + 1) * (((size_t)n + 1) >> (level + 1)) - 1) * b->bytes, b->bytes);
}

static void test_classify(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *sorted = malloc(512 * sizeof(large)), *tree = malloc(512 * sizeof(large));
	size_t kind, round, i, j;
	tagged key[512];
	bed b;

	(void)state;
	for (kind = 0; kind < KINDS; kind++) {
		bed_init(&b, &kinds[kind], 1500);
		for (round = 0; round < 60; round++) {
			const uint32_t levels = 1 + (uint32_t)test_below(&rng, 9);
			const em_kern_splitters s = { levels, (int32_t)(round & 1), tree, sorted };

			bed_fill(&b, &rng, (int)(round % PATTERNS), 1 + (size_t)test_below(&rng, 1499));
			make_splitters(&b, levels, sorted, tree, key);
			kinds[kind].kern->classify(b.rec, b.n, &s, b.tag, NULL);
			for (i = 0; i < b.n; i++) {
				const tagged *t = &b.model[i];
				size_t want = 0;

				for (j = 0; j + 1 < (size_t)1 << levels && key[j].key <= t->key; j++)
					want++;
				if (s.equal != 0)
					want = 2 * want - (want != 0 && key[want - 1].key == t->key);
				assert_int_equal(b.tag[t->seq], want);
			}
			bed_check(&b);
		}
		bed_free(&b);
	}
	free(sorted);
	free(tree);
}

static size_t compare_bytes;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, compare_bytes);
}

/* Whatever the order, they are the records that there were. */
static void assert_same_records(const bed *b, unsigned char *got)
{
	compare_bytes = b->bytes;
	qsort(b->want, b->n, b->bytes, by_bytes);
	qsort(got, b->n, b->bytes, by_bytes);
	if (b->n != 0)
		assert_memory_equal(got, b->want, b->n * b->bytes);
}

static void test_lies(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t from[MOST_K + 1], kind, round, i;
	em_kern_window win[MOST_K];
	bed b;

	(void)state;
	for (kind = 0; kind < LIARS; kind++) {
		const em_kernels *k = liars[kind].kern;

		bed_init(&b, &liars[kind], 20000);
		for (round = 0; round < 300; round++) {
			bed_fill(&b, &rng, RANDOM,
				 (size_t)test_below(&rng, round % 20 == 0 ? 20000
							  : round % 3	  ? 100
									  : 1500));
			k->sort(b.rec, b.tmp, b.n, &b.questions);
			assert_same_records(&b, b.rec);
			bed_check(&b);
		}
		for (round = 0; round < 60; round++) {
			const uint32_t n = 1 + (uint32_t)test_below(&rng, MOST_K);

			bed_fill(&b, &rng, RANDOM, (size_t)test_below(&rng, 3000));
			make_windows(&b, &rng, win, from, n);
			assert_int_equal(merge_all(&b, &rng, from, n, b.n), b.n);
			assert_same_records(&b, b.tmp);
			if (k->mix != NULL) {
				assert_int_equal(mix_all(&b, &rng, win, n), b.n);
				assert_same_records(&b, b.tmp);
			}
			bed_check(&b);
		}
		bed_free(&b);
	}
	/* Every class that a liar names is there. */
	bed_init(&b, &liars[0], 1000);
	for (round = 0; round < 40; round++) {
		uint64_t tree[16] = { 0 };
		const em_kern_splitters s = { 4, (int32_t)(round & 1), tree, tree };

		bed_fill(&b, &rng, RANDOM, (size_t)test_below(&rng, 1000));
		by_lies_kernels.classify(b.rec, b.n, &s, b.tag, &b.questions);
		for (i = 0; i < b.n; i++)
			assert_true(b.tag[i] < 16u << s.equal);
		bed_check(&b);
	}
	bed_free(&b);
}

/* Comparisons of a sort: an order by a function pays for each. */
static int count_less(uint64_t a, uint64_t b, void *arg)
{
	++*(uint64_t *)arg;
	return a < b;
}

#define EM_GEN_NAME by_count
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) count_less(*(a), *(b), arg)
#include <extmem/gen/order.h>

static uint64_t questions_of(bed *b, test_rng *rng, int pattern, size_t n)
{
	uint64_t questions = 0;

	bed_fill(b, rng, pattern, n);
	by_count_kernels.sort(b->rec, b->tmp, n, &questions);
	assert_memory_equal(b->rec, b->want, n * b->bytes);
	return questions;
}

static void test_comparisons(void **state)
{
	static const record_kind counted = { &by_count_kernels, make_u64, UINT64_MAX, 8 };
	test_rng rng = test_rng_make(test_seed());
	const size_t n = (size_t)1 << 16;
	bed b;
	int pattern;

	(void)state;
	bed_init(&b, &counted, n);
	/* n log2(n) is 16 for each; a sample and rounding up cost something. */
	for (pattern = 0; pattern < PATTERNS; pattern++)
		assert_in_range(questions_of(&b, &rng, pattern, n), n - 1, 21 * n);
	assert_int_equal(questions_of(&b, &rng, SORTED, n), n - 1);
	assert_int_equal(questions_of(&b, &rng, EQUAL, n), n - 1);
	assert_in_range(questions_of(&b, &rng, DESCENDING, n), n - 1, n);
	bed_free(&b);
}

static void test_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < KINDS; i++) {
		assert_int_equal(kinds[i].kern->size, sizeof(em_kernels));
		assert_int_equal(kinds[i].kern->record_align, kinds[i].align);
	}
	assert_string_equal(by_u64_kernels.name, "by_u64");
	assert_int_equal(by_large_kernels.record_size, sizeof(large));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_comparisons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
