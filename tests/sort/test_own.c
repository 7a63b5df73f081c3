/* SPDX-License-Identifier: BSL-1.0 */
/* test_own.c -- sorting with orders that have code of their own against the model: generated kernels, a function that
 * compares, or one that computes keys. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/gen/order.h>

#include "key/normalise.h"
#include "sort/sort_model.h"

#define EM_GEN_NAME by_u32
#define EM_GEN_RECORD uint32_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

#define EM_GEN_NAME by_u64
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

typedef struct medium {
	uint64_t key, rest[2];
} medium;

#define EM_GEN_NAME by_medium
#define EM_GEN_RECORD medium
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

typedef struct large {
	unsigned char key[10], rest[90];
} large;

#define EM_GEN_NAME by_large
#define EM_GEN_RECORD large
#define EM_GEN_LESS(a, b) (memcmp((a)->key, (b)->key, sizeof (a)->key) < 0)
#include <extmem/gen/order.h>

#define NATIVE (EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0)

/* What is sorted, and how its order is made: by a template, or by a function. */
typedef struct own_sort {
	sort_shape shape;
	em_status (*make)(em_order **out, em_ctx *ctx, em_errinfo *err);
	int computes;           /* the function: keys, and does not compare */
	uint32_t flags;
} own_sort;

static const own_sort sorts[] = {
	{ { 4, 1, { { 0, 0, EM_KEY_U32, NATIVE, { 0 } } } }, by_u32_order, 0, 0 },
	{ { 8, 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } }, by_u64_order, 0, 0 },
	{ { 24, 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } }, by_medium_order, 0, 0 },
	{ { 24, 1, { { 3, 7, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 1, EM_FN_THREADS },
	{ { 8, 1, { { 0, 0, EM_KEY_I64, NATIVE, { 0 } } } }, NULL, 0, EM_FN_THREADS },
	{ { 17, 1, { { 3, 5, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 0, EM_FN_THREADS },
	{ { 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } }, by_large_order, 0, 0 },
	{ { 6, 1, { { 1, 4, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 1, 0 },
	{ { 8, 1, { { 0, 8, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } } }, NULL, 1, EM_FN_THREADS },
	{ { 9, 1, { { 0, 1, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } } }, NULL, 1, 0 },
	{ { 100, 1, { { 92, 8, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 1, 0 },
	{ { 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 8, 1, { { 1, 0, EM_KEY_U16, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 12, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } }, NULL, 0, EM_FN_THREADS },
	{ { 16, 1, { { 0, 0, EM_KEY_F64, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 20, 1, { { 3, 5, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 24, 1, { { 0, 0, EM_KEY_I64, EM_KEY_DESCENDING, { 0 } } } }, NULL, 0, EM_FN_THREADS },
	{ { 32, 1, { { 0, 20, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 40, 1, { { 7, 0, EM_KEY_U8, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 48, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 64, 1, { { 8, 0, EM_KEY_U64, 0, { 0 } } } }, NULL, 0, EM_FN_THREADS },
	{ { 17, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } }, NULL, 0, 0 },
	{ { 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } }, NULL, 0, EM_FN_THREADS },
};

#define SORTS (sizeof sorts / sizeof *sorts)

static pthread_t caller;

static int may_call(const own_sort *s)
{
	return (s->flags & EM_FN_THREADS) != 0 || pthread_equal(pthread_self(), caller);
}

static int by_shape(const void *a, const void *b, void *user)
{
	const own_sort *s = user;

	return may_call(s) ? sort_compare(&s->shape, a, b) : EM_CMP_ERROR;
}

/* The bytes of the key as a number. */
static int compute(const void *records, size_t n, uint64_t *keys, void *user)
{
	const own_sort *s = user;
	const em_key *key = &s->shape.key[0];
	const unsigned char *record = records;
	size_t i, k;

	if (n == 0 || !may_call(s))
		return 1;
	for (i = 0; i < n; i++, record += s->shape.bytes) {
		for (keys[i] = 0, k = 0; k < key->width; k++)
			keys[i] = keys[i] << 8 | record[key->offset + k];
		if (key->flags & EM_KEY_DESCENDING)
			keys[i] = ~keys[i];
	}
	return 0;
}

static em_order *make_order(em_ctx *ctx, const own_sort *s)
{
	em_errinfo err = { 0 };
	em_order *order;
	em_status st;

	caller = pthread_self();
	if (s->make != NULL)
		st = s->make(&order, ctx, &err);
	else if (s->computes != 0)
		st = em_order_key_fn(&order, ctx, s->shape.bytes, "computed", compute, s->flags, (void *)(uintptr_t)s,
				     NULL, &err);
	else
		st = em_order_cmp(&order, ctx, s->shape.bytes, "by_shape", by_shape, s->flags, (void *)(uintptr_t)s,
				  NULL, &err);
	if (st != EM_OK)
		fail_msg("%s", err.text);
	return order;
}

static void sort_with(const own_sort *s, uint32_t threads, const em_sort_opts *opts, sort_pattern pattern, uint64_t n)
{
	test_rng rng = test_rng_make(test_seed() + pattern);
	em_ctx_opts o = sort_ctx_opts();
	uint64_t expected_n = n;
	unsigned char *records, *expected;
	em_order *order;
	em_ctx *ctx;

	o.threads = threads;
	ctx = sort_ctx(&o);
	order = make_order(ctx, s);
	records = sort_records(&rng, &s->shape, pattern, n);
	expected = sort_expected(&s->shape, records, &expected_n, (opts->flags & EM_SORT_UNIQUE) != 0);
	sort_assert_sorter(ctx, order, opts, &rng, &s->shape, records, n, expected, expected_n, NULL);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

/* In memory, which partitions when there are enough of them; whatever the pattern; equal records keep their order. */
static void test_in_memory(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	size_t i;
	int pattern;

	(void)state;
	for (i = 0; i < SORTS; i++)
		for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
			if (test_left_out())
				continue;
			sort_with(&sorts[i], 1 + (uint32_t)pattern % 4, &opts, (sort_pattern)pattern, 300);
			if (sorts[i].shape.bytes < 40 && (!TEST_TSAN || (i + (size_t)pattern) % 4 == 1))
				sort_with(&sorts[i], 1 + (uint32_t)pattern % 4, &opts, (sort_pattern)pattern, 40000);
		}
}

static int counting(const void *a, const void *b, void *user)
{
	uint64_t x, y;

	(*(uint64_t *)user)++;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

/* What is in reverse is turned around: no more comparisons than it takes to know that, unless two records in the middle
 * are equal. */
static void test_reversed(void **state)
{
	static const size_t sizes[] = { 8, 16, 40, 64 };
	const uint64_t n = 40000;
	size_t s, i;

	(void)state;
	for (s = 0; s < 8; s++) {
		const int equal = s % 2;
		const sort_shape shape = { sizes[s / 2], 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } };
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		em_ctx_opts o = sort_ctx_opts();
		unsigned char *records = calloc((size_t)n, shape.bytes), *expected;
		test_rng rng = test_rng_make(test_seed());
		uint64_t all = n, calls = 0;
		em_errinfo err;
		em_order *order;
		em_ctx *ctx;

		assert_non_null(records);
		for (i = 0; i < n; i++) {
			const uint64_t key = n - i + (equal && i == n / 2);

			memcpy(records + i * shape.bytes, &key, sizeof key);
			records[(i + 1) * shape.bytes - 1] ^= shape.bytes == 8 ? 0 : (unsigned char)i;
		}
		expected = sort_expected(&shape, records, &all, 0);
		o.threads = 1;
		ctx = sort_ctx(&o);
		if (em_order_cmp(&order, ctx, shape.bytes, "counting", counting, 0, &calls, NULL, &err) != EM_OK)
			fail_msg("%s", err.text);
		sort_assert_sorter(ctx, order, &opts, &rng, &shape, records, n, expected, n, NULL);
		printf("# %u bytes, %s: %u comparisons for %u records\n", (unsigned)shape.bytes,
		       equal ? "two are equal" : "none are", (unsigned)calls, (unsigned)n);
		assert_true(equal ? calls > 4 * n : calls < n + 100);
		em_order_close(order);
		em_ctx_close(ctx);
		free(records);
		free(expected);
	}
}

/* In runs, which are merged once or more often, at all widths. */
static void test_in_runs(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	size_t i;
	int pattern;

	(void)state;
	for (i = 0; i < SORTS; i++)
		for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
			if (test_left_out())
				continue;
			opts.run_records = 700;
			opts.block_bytes = 4096;
			opts.fan_in = pattern % 2 ? 3 : 0;
			opts.flags = pattern % 3 == 2 ? EM_SORT_UNIQUE : 0;
			sort_with(&sorts[i], 1 + (uint32_t)pattern % 4, &opts, (sort_pattern)pattern, 9000);
		}
}

/* One order for all numbers of threads. */
static void test_threads(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	uint32_t threads;
	size_t i;

	(void)state;
	opts.run_records = 50000;
	for (i = 0; i < 7; i++)
		for (threads = TEST_TSAN ? 3 : 1; threads <= 4; threads++)
			sort_with(&sorts[i], threads, &opts, SORT_FEW, i < 3 ? 120000 : 60000);
}

/* From file to file, where records may begin anywhere in a page, and with little memory. */
static void test_files(void **state)
{
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *more = test_path(dir, "more"),
	     *out = test_path(dir, "out");
	const char *inputs[2] = { in, more };
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 0; i < SORTS; i++) {
		const own_sort *s = &sorts[i];
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
		em_ctx_opts o = sort_ctx_opts();
		em_errinfo err = { 0 };
		uint64_t n = 30011, first = 1 + test_below(&rng, 30000), all = n;
		unsigned char *records, *expected;
		em_order *order;
		em_ctx *ctx;

		o.threads = 1 + (uint32_t)i % 3;
		ctx = sort_ctx(&o);
		order = make_order(ctx, s);
		records = sort_records(&rng, &s->shape, SORT_RANDOM, n);
		expected = sort_expected(&s->shape, records, &all, 0);
		sort_write_file(in, records, (size_t)first * s->shape.bytes);
		sort_write_file(more, records + (size_t)first * s->shape.bytes, (size_t)(n - first) * s->shape.bytes);
		opts.errinfo = &err;
		opts.run_records = i % 2 ? 4999 : 0;
		if (em_sort_files(ctx, order, inputs, 2, out, &opts, NULL) != EM_OK)
			fail_msg("%s", err.text);
		sort_assert_file(out, expected, (size_t)n * s->shape.bytes);
		/* Two files in order are merged to one. */
		free(expected);
		all = first;
		expected = sort_expected(&s->shape, records, &all, 0);
		sort_write_file(in, expected, (size_t)first * s->shape.bytes);
		free(expected);
		all = n - first;
		expected = sort_expected(&s->shape, records + (size_t)first * s->shape.bytes, &all, 0);
		sort_write_file(more, expected, (size_t)(n - first) * s->shape.bytes);
		free(expected);
		all = n;
		expected = sort_expected(&s->shape, records, &all, 0);
		if (em_merge_files(ctx, order, inputs, 2, out, &opts, NULL) != EM_OK)
			fail_msg("%s", err.text);
		sort_assert_file(out, expected, (size_t)n * s->shape.bytes);
		/* One of each group. */
		unique.sort = &opts;
		free(expected);
		all = n;
		expected = sort_expected(&s->shape, records, &all, 1);
		if (em_unique_files(ctx, order, inputs, 2, out, &unique, NULL) != EM_OK)
			fail_msg("%s", err.text);
		sort_assert_file(out, expected, (size_t)all * s->shape.bytes);
		free(expected);
		free(records);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(in);
	free(more);
	free(out);
	test_dir_remove(dir);
}

/* The first of all, which are pushed at addresses of any kind. */
static void test_top(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 0; i < SORTS; i++) {
		const own_sort *s = &sorts[i];
		const size_t bytes = s->shape.bytes;
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		em_ctx_opts o = sort_ctx_opts();
		uint64_t n = 20000, k = i % 2 ? 5 : 3000, got = 0, all = n;
		unsigned char *records, *expected, *shifted = malloc((size_t)n * bytes + 1);
		const em_batch *batch;
		em_status st;
		em_order *order;
		em_ctx *ctx;
		em_top *top;

		assert_non_null(shifted);
		o.threads = 1 + (uint32_t)i % 3;
		ctx = sort_ctx(&o);
		order = make_order(ctx, s);
		records = sort_records(&rng, &s->shape, i % 3 == 0 ? SORT_FEW : SORT_RANDOM, n);
		expected = sort_expected(&s->shape, records, &all, 0);
		memcpy(shifted + 1, records, (size_t)n * bytes);
		assert_int_equal(em_top_open(&top, ctx, order, 0, k, &opts), EM_OK);
		assert_int_equal(em_top_push(top, shifted + 1, n / 3), EM_OK);
		assert_int_equal(em_top_push(top, shifted + 1 + n / 3 * bytes, n - n / 3), EM_OK);
		assert_int_equal(em_top_finish(top), EM_OK);
		while ((st = em_top_next(top, &batch)) == EM_OK) {
			assert_true(got + batch->n <= k);
			assert_memory_equal(batch->records, expected + (size_t)got * bytes, batch->n * bytes);
			got += batch->n;
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(got, k);
		em_top_close(top);
		em_order_close(order);
		em_ctx_close(ctx);
		free(records);
		free(expected);
		free(shifted);
	}
}

/* A function that fails at some call, or says something else each time. */
typedef struct unsound {
	int compares;
	uint32_t flags;
	uint64_t calls, fails_at;       /* atomic */
	uint64_t seed;
} unsound;

/* Count this call: 0 if it is the one that fails, else what it has at random. */
static uint64_t next_call(unsound *u)
{
	const uint64_t call = __atomic_add_fetch(&u->calls, 1, __ATOMIC_RELAXED);
	test_rng rng = test_rng_make(u->seed + call);

	return call == u->fails_at ? 0 : 1 + test_random(&rng) / 2;
}

static int compute_unsoundly(const void *records, size_t n, uint64_t *keys, void *user)
{
	const uint64_t random = next_call(user);
	size_t i;

	(void)records;
	for (i = 0; i < n; i++)
		keys[i] = (random * (2 * i + 1) >> 32) % 1000;
	return random == 0 ? -1 : 0;
}

static int compare_unsoundly(const void *a, const void *b, void *user)
{
	const uint64_t random = next_call(user);

	(void)a;
	(void)b;
	return random == 0 ? EM_CMP_ERROR : (int)(random % 3) - 1;
}

#define UNSOUND_BYTES 12u

/* Sort n records with it, and add up what comes out: nothing may be lost or come twice. */
static em_status sort_unsoundly(unsound *u, uint32_t n, uint64_t *sum)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx_opts o = sort_ctx_opts();
	unsigned char record[UNSOUND_BYTES] = { 0 };
	const em_batch *batch;
	em_errinfo err;
	em_order *order;
	em_sorter *s;
	em_ctx *ctx;
	em_status st;
	uint64_t i;

	o.threads = 2;
	ctx = sort_ctx(&o);
	if (u->compares)
		assert_int_equal(
			em_order_cmp(&order, ctx, UNSOUND_BYTES, "unsound", compare_unsoundly, u->flags, u, NULL, NULL),
			EM_OK);
	else
		assert_int_equal(em_order_key_fn(&order, ctx, UNSOUND_BYTES, "unsound", compute_unsoundly, u->flags, u,
						 NULL, NULL),
				 EM_OK);
	opts.run_records = 700;
	opts.block_bytes = 4096;
	*sum = 0;
	assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
	for (i = 0, st = EM_OK; i < n && st == EM_OK; i++) {
		memcpy(record, &i, sizeof i);
		st = em_sorter_push(s, record, 1);
	}
	if (st == EM_OK)
		st = em_sorter_finish(s);
	while (st == EM_OK && (st = em_sorter_next(s, &batch)) == EM_OK)
		for (i = 0; i < batch->n; i++) {
			uint64_t number;

			memcpy(&number, (const unsigned char *)batch->records + i * UNSOUND_BYTES, sizeof number);
			*sum += number * number + 1;
		}
	if (st < 0) {
		em_sorter_error(s, &err);
		assert_int_equal(err.status, EM_ERR_USER);
		assert_non_null(strstr(err.text, u->compares ? "comparison" : "computes keys"));
	}
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

/* Whichever call fails, the sort does. */
static void test_failures(void **state)
{
	const uint32_t n = 9000;
	uint64_t all, nth, sum, expected = 0, i;
	unsigned way;

	(void)state;
	for (i = 0; i < n; i++)
		expected += i * i + 1;
	for (way = 0; way < 4; way++) {
		unsound u = { way % 2 != 0, way / 2 != 0 ? EM_FN_THREADS : 0, 0, 0, test_seed() };

		assert_int_equal(sort_unsoundly(&u, n, &sum), EM_END);
		assert_true(sum == expected);
		all = u.calls;
		for (nth = test_nth_after(0, 1 + all / 40); nth <= all / 2; nth = test_nth_after(nth, 1 + all / 40)) {
			u.calls = 0;
			u.fails_at = nth;
			assert_int_equal(sort_unsoundly(&u, n, &sum), EM_ERR_USER);
		}
	}
}

static void refuse(em_ctx *ctx, const em_kernels *k, em_status status, const char *text)
{
	em_order *order = (em_order *)(uintptr_t)k;
	em_errinfo err;

	assert_int_equal(em_order_kernels(&order, ctx, k, NULL, &err), status);
	assert_null(order);
	assert_non_null(strstr(err.text, text));
}

static void test_table(void **state)
{
	const em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	em_kernels k = by_u64_kernels;
	uint64_t a = 1, b = 2;
	em_order *order;
	em_errinfo err;

	(void)state;
	assert_int_equal(em_order_kernels(&order, ctx, &k, NULL, NULL), EM_OK);
	assert_string_equal(em_order_name(order), "by_u64");
	assert_int_equal(em_order_record_size(order), 8);
	assert_int_equal(em_order_compare(order, &a, &b), -1);
	assert_int_equal(em_order_compare(order, &b, &a), 1);
	assert_int_equal(em_order_compare(order, &a, &a), 0);
	em_order_close(order);
	assert_int_equal(em_order_kernels(NULL, ctx, &k, NULL, NULL), EM_ERR_INVAL);
	order = (em_order *)(uintptr_t)&k;
	assert_int_equal(em_order_kernels(&order, NULL, &k, NULL, &err), EM_ERR_INVAL);
	assert_null(order);
	assert_int_equal(em_order_kernels(&order, ctx, NULL, NULL, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "NULL"));
	k = by_u64_kernels;
	k.size = 8;
	refuse(ctx, &k, EM_ERR_VERSION, "em_kernels");
	k = by_u64_kernels;
	k.compare = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.sorted = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.sort = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.classify = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.merge_start = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.merge_run = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.name = NULL;
	refuse(ctx, &k, EM_ERR_INVAL, "complete");
	k = by_u64_kernels;
	k.record_size = 0;
	refuse(ctx, &k, EM_ERR_INVAL, "is 0");
	k = by_u64_kernels;
	k.record_size = 65544;
	refuse(ctx, &k, EM_ERR_INVAL, "65536");
	k = by_u64_kernels;
	k.record_size = 12;
	refuse(ctx, &k, EM_ERR_INVAL, "aligned");
	k = by_u64_kernels;
	k.record_align = 0;
	refuse(ctx, &k, EM_ERR_INVAL, "aligned");
	k = by_u64_kernels;
	k.record_align = 3;
	refuse(ctx, &k, EM_ERR_INVAL, "aligned");
	k = by_u64_kernels;
	k.record_align = 32;
	refuse(ctx, &k, EM_ERR_INVAL, "aligned");
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_reversed),
		cmocka_unit_test(test_in_runs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
