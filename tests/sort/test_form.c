/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_form.c -- sorting in memory: sizes at which another way is taken, records at odd addresses, and being stopped.
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

#include "base/workers.h"
#include "sort/form.h"
#include "sort/plan_job.h"
#include "sort/sort_model.h"

#define MOST 133000u
#define BLOCK 16384u

/* A former, and records to be formed. */
typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	sort_shape shape;
	emi_job job;
	emi_former f;
	emi_outseq q;
	char *area;
	size_t area_bytes;
	unsigned char *got;
	uint64_t records;
} bench;

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	(void)err;
	memcpy(b->got + b->records * b->shape.bytes, block->buf.base, block->buf.len);
	b->records += block->records;
	return EM_OK;
}

static void bench_open(bench *b, const sort_shape *shape, uint32_t threads, const char *isa)
{
	em_ctx_opts opts = sort_ctx_opts();
	const emi_needs needs = { .n = MOST };
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	b->shape = *shape;
	opts.threads = threads;
	opts.isa = isa;
	b->ctx = sort_ctx(&opts);
	b->order = sort_order(b->ctx, shape);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, NULL, &err), EM_OK);
	assert_int_equal(emi_workers_start(b->ctx, &err), EM_OK);
	assert_int_equal(emi_job_plan(&b->job, &needs, &err), EM_OK);
	assert_int_equal(emi_former_init(&b->f, &b->job, MOST, &err), EM_OK);
	assert_int_equal(emi_outseq_init(&b->q, &b->job.runs, 2, b->job.plan.packers, BLOCK, &err), EM_OK);
	b->area_bytes = MOST * shape->bytes + 2 * EMI_PAGE;
	b->area = emi_buffer_alloc(b->ctx, b->area_bytes, &err);
	b->got = malloc(MOST * shape->bytes);
	assert_true(b->area != NULL && b->got != NULL);
}

static void bench_close(bench *b)
{
	emi_buffer_free(b->ctx, b->area, b->area_bytes);
	free(b->got);
	emi_outseq_free(&b->q);
	emi_former_free(&b->f);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
}

/* Form n records that begin `off' bytes behind a page, into blocks and as elements. */
static void check_records(bench *b, const unsigned char *records, uint64_t n, size_t off)
{
	const size_t cap = BLOCK / b->shape.bytes;
	const emi_dest dest = { put, NULL, b, 0, 0, NULL };
	unsigned char *expected;
	char *at = b->area + EMI_PAGE + off;
	const void *elems;
	em_errinfo err;
	uint64_t m = n;
	char *first;

	memset(&err, 0, sizeof(err));
	expected = sort_expected(&b->shape, records, &m, 0);
	memcpy(at, records, (size_t)n * b->shape.bytes);
	b->records = 0;
	emi_outseq_begin(&b->q, &dest, n, cap);
	assert_int_equal(emi_form_run(&b->f, at, n, &b->q, &err), EM_OK);
	assert_int_equal(emi_outseq_end(&b->q, &err), EM_OK);
	assert_int_equal(b->records, n);
	assert_memory_equal(b->got, expected, n * b->shape.bytes);

	memcpy(at, records, (size_t)n * b->shape.bytes);
	memset(b->got, 0, (size_t)n * b->shape.bytes);
	assert_int_equal(emi_form_kept(&b->f, at, n, b->job.by.codec->ref ? (char *)b->got : NULL, &first, &err),
			 EM_OK);
	assert_memory_equal(first, expected, n * b->shape.bytes);

	memcpy(at, records, (size_t)n * b->shape.bytes);
	assert_int_equal(emi_form_elems(&b->f, at, n, &elems, &err), EM_OK);
	b->job.by.codec->store(b->order, elems, (size_t)n, b->got);
	assert_memory_equal(b->got, expected, n * b->shape.bytes);
	for (m = 0; b->job.by.codec->ref && m < n; m++)
		assert_true(((const emi_pair *)elems)[m].key ==
			    emi_collation_key(&b->job.by, expected + m * b->shape.bytes));
	free(expected);
}

static void check(bench *b, sort_pattern pattern, uint64_t n, size_t off)
{
	unsigned char *records = sort_records(&b->rng, &b->shape, pattern, n);

	check_records(b, records, n, off);
	free(records);
}

static const sort_shape shapes[] = {
	{ 4, 1, { { 0, 0, EM_KEY_U32, EM_KEY_DESCENDING, { 0 } } } },
	{ 8, 1, { { 0, 0, EM_KEY_I64, 0, { 0 } } } },
	{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 16, 1, { { 8, 0, EM_KEY_F64, EM_KEY_BIG_ENDIAN, { 0 } } } },
	{ 11, 1, { { 3, 0, EM_KEY_U16, 0, { 0 } } } },
	{ 16, 2, { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 16, 1, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } } },
	{ 13, 1, { { 0, 13, EM_KEY_BYTES, 0, { 0 } } } },
	{ 28, 2, { { 20, 0, EM_KEY_U64, 0, { 0 } }, { 0, 0, EM_KEY_U8, 0, { 0 } } } },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* A cache's worth, enough for threads, a piece between two looks at the clock: and one more or less. */
static void test_sizes(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 8191, 8192, 8193, 32767, 32768, 32769, 65536, 65537,
					  MOST };
	size_t s, i;

	(void)state;
	for (s = TEST_TSAN ? 1 : 0; s < SHAPES; s += TEST_TSAN ? 2 : 1) {
		bench b;

		bench_open(&b, &shapes[s], 1 + (uint32_t)s % 4, NULL);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i += test_step())
			check(&b, (sort_pattern)((i + s) % SORT_PATTERNS), sizes[i],
			      (size_t)test_below(&b.rng, i % 2 ? 64 : EMI_PAGE));
		bench_close(&b);
	}
}

/* All patterns, with all numbers of threads and every instruction set there is. */
static void test_patterns(void **state)
{
	static const char *const isas[] = { "scalar", "avx2", "avx512" };
	uint32_t threads;
	size_t s, i;
	int pattern;

	(void)state;
	for (s = 0; s < 3; s++) {
		for (i = 0; i < 3; i++) {
			for (threads = TEST_TSAN ? 4 : 1; threads <= 4; threads += 3) {
				bench b;

				/* Which kernels they are makes no race. */
				if (TEST_TSAN && i != s % 2)
					continue;
				if (emi_kernels_for(EMI_ELEM_U64, isas[i]) == NULL)
					continue;
				bench_open(&b, &shapes[s], threads, isas[i]);
				for (pattern = (int)test_first_of(test_fewer()); pattern < SORT_PATTERNS;
				     pattern += (int)test_step())
					check(&b, (sort_pattern)pattern, 33000 + test_below(&b.rng, 10000),
					      (size_t)test_below(&b.rng, EMI_PAGE));
				bench_close(&b);
			}
		}
	}
}

/* Records whose keys are 0, 1, ... from the last one to the first, but for one that is as large as the one before it,
 * if there is one. */
static unsigned char *descending(const sort_shape *shape, uint64_t n, uint64_t equal)
{
	unsigned char *records = calloc((size_t)n, shape->bytes);
	uint64_t i;
	size_t k;

	assert_non_null(records);
	for (i = 0; i < n; i++) {
		const uint64_t key = n - 1 - i + (i == equal);

		/* Big-endian; the last byte tells records with equal keys apart. */
		for (k = 0; k < 8; k++)
			records[(size_t)i * shape->bytes + k] = (unsigned char)(key >> 8 * (7 - k));
		records[(size_t)(i + 1) * shape->bytes - 1] ^= shape->bytes == 8 ? 0 : (unsigned char)i;
	}
	return records;
}

/* What is in reverse is turned around and not partitioned, also keys of which elements have the beginning only; with
 * two equal keys it would not be stable. */
static void test_reversed(void **state)
{
	static const sort_shape turned[] = {
		{ 8, 1, { { 0, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } } } },
		{ 16, 1, { { 0, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } } } },
		{ 28, 1, { { 0, 20, EM_KEY_BYTES, 0, { 0 } } } },
	};
	static const uint64_t sizes[] = { 32768, MOST };
	size_t s, i;

	(void)state;
	for (s = TEST_TSAN ? 2 : 0; s < 3; s++) {
		for (i = TEST_TSAN ? 1 : 0; i < 2; i++) {
			const uint64_t n = sizes[i];
			unsigned char *records = descending(&turned[s], n, n);
			bench b;

			bench_open(&b, &turned[s], 1 + (uint32_t)(s + i) % 4, NULL);
			check_records(&b, records, n, 0);
			assert_int_equal(b.f.buckets[0].last.bits, 0);
			free(records);
			/* At the end of a piece, or of a part, as well. */
			records = descending(&turned[s], n, i % 2 ? n / 2 : 1 + test_below(&b.rng, n - 1));
			check_records(&b, records, n, 0);
			assert_int_not_equal(b.f.buckets[0].last.bits, 0);
			free(records);
			bench_close(&b);
		}
	}
}

/* Elements take the place of records, which may begin anywhere in a page: nothing in front of that is touched. */
static void test_addresses(void **state)
{
	size_t s, off, i;

	(void)state;
	for (s = 0; s < SHAPES; s++) {
		bench b;

		bench_open(&b, &shapes[s], 1, NULL);
		for (off = 0; off <= 33; off++) {
			/* Moving them to where elements may lie takes less than an element. */
			memset(b.area, 0x5a, EMI_PAGE);
			check(&b, SORT_RANDOM, 1 + test_below(&b.rng, 300), off);
			for (i = 0; i < EMI_PAGE - 8; i++)
				assert_int_equal((unsigned char)b.area[i], 0x5a);
		}
		bench_close(&b);
	}
}

/* Canceled before it begins; and progress as far as it came. */
static void test_cancel(void **state)
{
	const sort_shape *shape = &shapes[2];
	unsigned char *records;
	const void *elems;
	em_errinfo err;
	uint32_t threads;
	bench b;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		bench_open(&b, shape, threads, NULL);
		records = sort_records(&b.rng, shape, SORT_RANDOM, MOST);
		memcpy(b.area, records, MOST * shape->bytes);
		memset(&err, 0, sizeof(err));
		assert_int_equal(emi_form_elems(&b.f, b.area, MOST, &elems, &err), EM_OK);
		assert_int_equal(b.job.watch.done, MOST * shape->bytes);
		__atomic_store_n(&b.job.watch.canceled, 1, __ATOMIC_RELAXED);
		memcpy(b.area, records, MOST * shape->bytes);
		assert_int_equal(emi_form_elems(&b.f, b.area, MOST, &elems, &err), EM_ERR_CANCELED);
		assert_int_equal(err.status, EM_ERR_CANCELED);
		assert_int_equal(b.job.watch.done, MOST * shape->bytes);
		free(records);
		bench_close(&b);
	}
}

/* The sequence fails while several threads are filling it. */
static em_status refuse(void *arg, emi_outblock *block, em_errinfo *err)
{
	uint64_t *left = arg;

	(void)block;
	return --*left == 0 ? emi_fail(err, EM_ERR_NOSPACE, "as ordered") : EM_OK;
}

static void test_failing_sequence(void **state)
{
	const sort_shape *shape = &shapes[2];
	uint32_t threads;
	uint64_t at;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (at = 1; at < 140; at += 37) {
			uint64_t left = at;
			const emi_dest dest = { refuse, NULL, &left, 0, 0, NULL };
			unsigned char *records;
			em_errinfo err;
			bench b;

			bench_open(&b, shape, threads, NULL);
			records = sort_records(&b.rng, shape, at % 2 ? SORT_RANDOM : SORT_SORTED, MOST);
			memcpy(b.area, records, MOST * shape->bytes);
			memset(&err, 0, sizeof(err));
			emi_outseq_begin(&b.q, &dest, MOST, BLOCK / shape->bytes);
			assert_int_equal(emi_form_run(&b.f, b.area, MOST, &b.q, &err), EM_ERR_NOSPACE);
			assert_string_equal(err.text, "as ordered");
			free(records);
			bench_close(&b);
		}
	}
}

/* Keys of which many begin alike, with all bytes that elements hold and more: what follows decides, down to the last
 * byte. */
static void test_long_keys(void **state)
{
	static const sort_shape long_shapes[] = {
		{ 40, 1, { { 3, 36, EM_KEY_BYTES, 0, { 0 } } } },
		{ 100, 1, { { 0, 100, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } } },
		{ 33, 4, { { 20, 12, EM_KEY_BYTES, 0, { 0 } }, { 8, 0, EM_KEY_F64, 0, { 0 } },
			{ 4, 0, EM_KEY_I32, EM_KEY_DESCENDING, { 0 } }, { 0, 0, EM_KEY_U16, 0, { 0 } } } },
	};
	static const uint64_t sizes[] = { 40, 3000, 33000 }; /* the last is enough for threads and buckets */
	const size_t kinds = sizeof(long_shapes) / sizeof(long_shapes[0]);
	size_t s, i, alike, same, record;

	(void)state;
	for (s = 0; s < kinds; s++) {
		const size_t rb = long_shapes[s].bytes;
		bench b;

		bench_open(&b, &long_shapes[s], 1 + (uint32_t)s, NULL);
		for (i = 0; i < 3; i++) {
			for (alike = i < 2 ? 0 : 14; alike <= 28; alike += i < 2 ? 7 : 14) {
				unsigned char *records = sort_records(&b.rng, &long_shapes[s], SORT_RANDOM, sizes[i]);

				/* The first bytes of all keys, or one of three kinds of them; the last record is as it
				 * was, sometimes. */
				same = test_below(&b.rng, 2) ? 1 : 3;
				for (record = 0; record + test_below(&b.rng, 2) < sizes[i]; record++)
					memmove(records + record * rb +
							(s == 2	  ? 20
							 : s == 0 ? 3
								  : 0),
						records + record % same * rb, s == 2 && alike > 12 ? 12 : alike);
				if (s == 2 && alike > 12)
					for (record = 0; record < sizes[i]; record++)
						memmove(records + record * rb + 8, records + rb + 8,
							alike > 21 ? 8 : 0);
				check_records(&b, records, sizes[i], 0);
				free(records);
			}
		}
		bench_close(&b);
	}
}

/* Half of what remains shares one leading byte more, again and again: what is too large for a thread is partitioned by
 * all of them, and what is of that. */
static void test_buckets_in_buckets(void **state)
{
	uint32_t threads;
	size_t s;

	(void)state;
	for (s = 0; s < 5; s += TEST_TSAN ? 2 : 1) {
		for (threads = TEST_TSAN ? 2 : 1; threads <= 4; threads += TEST_TSAN ? 2 : 1) {
			const sort_shape *shape = &shapes[s];
			unsigned char *records;
			uint64_t i, most = 0;
			unsigned level;
			bench b;

			bench_open(&b, shape, threads, NULL);
			records = sort_records(&b.rng, shape, SORT_RANDOM, MOST);
			for (i = 0; i < MOST; i++) {
				const uint64_t random = test_random(&b.rng);
				const unsigned alike = (unsigned)__builtin_ctzll(random | 128);

				model_write(&shape->key[0], records + i * shape->bytes,
					    (random >> 7) & (UINT64_MAX >> (8 * alike)));
			}
			check_records(&b, records, MOST, (size_t)test_below(&b.rng, EMI_PAGE));
			for (level = 0; level < EMI_FORM_LEVELS; level++)
				for (i = 0; b.f.buckets[level].ctx != NULL && level != 0 && i < EMI_BUCKETS; i++)
					if (b.f.buckets[level].bound[i] > most)
						most = b.f.buckets[level].bound[i];
			/* It happened, with 64 bits to be alike in. */
			if (s == 2)
				assert_int_equal(most != 0, threads > 1);
			free(records);
			bench_close(&b);
		}
	}
}

/* A few keys far from all others, on both sides: the others are still told apart by the buckets. */
static void test_outliers(void **state)
{
	const uint64_t n = 100000;
	uint32_t threads;
	uint64_t i, most;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		unsigned char *records;
		bench b;

		bench_open(&b, &shapes[2], threads, NULL);
		records = sort_records(&b.rng, &shapes[2], SORT_RANDOM, n);
		for (i = 0; i < n; i++)
			if (i % 1000 != 0)
				model_write(&shapes[2].key[0], records + i * 16,
					    ((uint64_t)1 << 40) + test_below(&b.rng, 1 << 20));
			else
				model_write(&shapes[2].key[0], records + i * 16, i % 2000 != 0 ? UINT64_MAX - i : i);
		check_records(&b, records, n, 0);
		for (i = 0, most = 0; b.f.buckets[0].bound[i] < n; i++)
			if (b.f.buckets[0].bound[i + 1] - b.f.buckets[0].bound[i] > most)
				most = b.f.buckets[0].bound[i + 1] - b.f.buckets[0].bound[i];
		assert_true(most > 0 && most <= n / 4);
		free(records);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_reversed),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_buckets_in_buckets),
		cmocka_unit_test(test_outliers),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_failing_sequence),
	};

	return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
