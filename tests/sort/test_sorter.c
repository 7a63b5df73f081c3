/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorter.c -- what comes out of a sorter: for all sizes around which something changes, kinds of records,
 * orders, threads and instruction sets, the output is that of the model, byte for byte.
 */
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

#include "block/packer.h"
#include "sort/sort_model.h"

#define BLOCK 4096u

/* Sort n records of a shape in all ways that do not change what comes out. */
typedef struct fixture {
	em_ctx *ctx;
	em_order *order;
	sort_shape shape;
	em_sort_opts opts;
} fixture;

static void fixture_open(fixture *f, const em_ctx_opts *opts, const sort_shape *shape)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;

	f->ctx = sort_ctx(opts);
	f->shape = *shape;
	f->order = sort_order(f->ctx, shape);
	f->opts = none;
	f->opts.block_bytes = (shape->bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static void fixture_close(fixture *f)
{
	em_order_close(f->order);
	em_ctx_close(f->ctx);
}

static void check(fixture *f, test_rng *rng, sort_pattern pattern, uint64_t n, em_sort_stats *stats)
{
	const int unique = (f->opts.flags & EM_SORT_UNIQUE) != 0;
	unsigned char *records = sort_records(rng, &f->shape, pattern, n), *expected;
	uint64_t expected_n = n;

	expected = sort_expected(&f->shape, records, &expected_n, unique);
	sort_assert_sorter(f->ctx, f->order, &f->opts, rng, &f->shape, records, n, expected, expected_n, stats);
	free(expected);
	free(records);
}

/* One shape for each way in which records become elements, and some that are awkward. */
static const sort_shape shapes[] = {
	{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 8, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 4, 1, { { 0, 0, EM_KEY_I32, EM_KEY_DESCENDING, { 0 } } } },
	{ 1, 1, { { 0, 0, EM_KEY_U8, 0, { 0 } } } },
	{ 5, 1, { { 1, 0, EM_KEY_U16, EM_KEY_BIG_ENDIAN, { 0 } } } },
	{ 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } },
	{ 24, 2, { { 16, 0, EM_KEY_U32, 0, { 0 } }, { 3, 0, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } } } },
	{ 33, 0, { EM_KEY_INIT } },
	{ 2000, 1, { { 1990, 0, EM_KEY_U32, 0, { 0 } } } },
	{ 4097, 1, { { 4089, 0, EM_KEY_U64, 0, { 0 } } } },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Sizes at which another block, run, or pass begins. */
static void test_sizes(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	size_t s, i;
	int pattern;

	(void)state;
	for (s = 0; s < SHAPES; s++) {
		const uint64_t b = (shapes[s].bytes + BLOCK - 1) / BLOCK * BLOCK / shapes[s].bytes;
		const uint64_t run = b + b / 3 + 1, k = 3;
		const uint64_t sizes[] = {
			0, 1, 2, b - 1, b, b + 1, run - 1, run, run + 1, 2 * run, k * run - 1, k * run, k * run + 1,
			(k + 1) * run, k * k * run, k * k * run + 1, (k * k + k) * run + b,
		};
		fixture f;

		fixture_open(&f, &opts, &shapes[s]);
		f.opts.run_records = run;
		f.opts.fan_in = (uint32_t)k;
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (pattern = TEST_TSAN ? (int)(s % 3) : 0; pattern < SORT_PATTERNS;
			     pattern += TEST_TSAN ? 3 : 1) {
				em_sort_stats stats;

				if (test_left_out())
					continue;
				/* Records of one byte make blocks so full that one pattern is enough. */
				if (b > 1000 && pattern != (int)(i % SORT_PATTERNS))
					continue;
				check(&f, &rng, (sort_pattern)pattern, sizes[i], &stats);
				assert_int_equal(stats.runs, sizes[i] <= run ? 0 : (sizes[i] + run - 1) / run);
				assert_int_equal(stats.passes, sizes[i] <= run		 ? 0
							       : sizes[i] <= k * run	 ? 2
							       : sizes[i] <= k * k * run ? 3
											 : 4);
				assert_true(stats.fan_in <= k);
			}
		}
		fixture_close(&f);
	}
}

/* Whatever is forced, and whatever the number of buffers, within reason. */
static void test_random_options(void **state)
{
	em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 150; i += (int)test_step()) {
		const sort_shape *shape = &shapes[test_below(&rng, SHAPES)];
		const uint64_t most = 400000 / (shape->bytes + 20);
		fixture f;

		/* Is each block of scratch used as it should be? */
		opts.flags = i % 2 != 0 ? EM_CTX_CHECKED : 0;
		fixture_open(&f, &opts, shape);
		if (test_below(&rng, 2))
			f.opts.block_bytes *= 1 + test_below(&rng, 4);
		f.opts.run_records = 1 + test_below(&rng, most / 3);
		if (f.opts.run_records < most / 500)
			f.opts.run_records = most / 500;
		f.opts.fan_in = test_below(&rng, 3) ? 0 : 2 + (uint32_t)test_below(&rng, 30);
		f.opts.read_buffers = (uint32_t)test_below(&rng, 6);
		f.opts.write_buffers = test_below(&rng, 2) ? 0 : 2 + (uint32_t)test_below(&rng, 4);
		f.opts.flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : EM_SORT_STABLE;
		if (emi_packer_supported() && test_below(&rng, 2))
			f.opts.compress = EM_COMPRESS_ALWAYS;
		check(&f, &rng, (sort_pattern)test_below(&rng, SORT_PATTERNS), test_below(&rng, most), NULL);
		fixture_close(&f);
	}
}

/* Every type, both byte orders and directions, as all of a record, with a little and with a lot behind it. */
static void test_types(void **state)
{
	static const size_t behind[] = { 0, 1, 7, 40 };
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	int32_t type;
	uint32_t flags;
	size_t i;

	(void)state;
	for (type = EM_KEY_U8; type <= EM_KEY_BYTES; type++) {
		for (flags = 0; flags < 4; flags++) {
			for (i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
				sort_shape shape = sort_shape_of(type, 11, flags, 0);
				fixture f;

				if (test_left_out())
					continue;
				shape.bytes = model_width(&shape.key[0]) + behind[i];
				fixture_open(&f, &opts, &shape);
				f.opts.fan_in = 3;
				f.opts.run_records = 90;
				check(&f, &rng, SORT_ENDS, 1000, NULL);
				check(&f, &rng, SORT_RANDOM, 500, NULL);
				f.opts.run_records = 0;
				check(&f, &rng, SORT_ENDS, 300, NULL);
				fixture_close(&f);
			}
		}
	}
}

/* Random lists of fields, overlapping or not. */
static void test_several_fields(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		sort_shape shape;
		fixture f;
		uint32_t k;

		if (test_left_out())
			continue;
		memset(&shape, 0, sizeof(shape));
		shape.bytes = 1 + (size_t)test_below(&rng, 60);
		shape.keys = 1 + (uint32_t)test_below(&rng, 4);
		for (k = 0; k < shape.keys; k++)
			shape.key[k] = model_random_key(&rng, shape.bytes, 20);
		fixture_open(&f, &opts, &shape);
		f.opts.run_records = 150;
		f.opts.fan_in = 4;
		f.opts.flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
		check(&f, &rng, test_below(&rng, 2) ? SORT_ENDS : SORT_FEW, 1500, NULL);
		fixture_close(&f);
	}
}

/* All record sizes up to 64, and some up to a byte more than a page. */
static void test_record_sizes(void **state)
{
	static const size_t more[] = { 255, 256, 257, 1000, 1365, 1366, 2047, 2048, 2049, 4095, 4096, 4097 };
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	size_t i;

	(void)state;
	for (i = 1; i <= 64 + sizeof(more) / sizeof(more[0]) + 20; i += test_step()) {
		const size_t over = i - 65;
		const size_t bytes = i <= 64 ? i
				     : over < sizeof(more) / sizeof(more[0])
					     ? more[over]
					     : 65 + (size_t)test_below(&rng, 4097 - 65);
		sort_shape shape = sort_shape_of(EM_KEY_BYTES, bytes < 9 ? bytes : 9, 0, bytes);
		const uint64_t run = 2 * ((bytes + BLOCK - 1) / BLOCK * BLOCK / bytes) + 1;
		fixture f;

		shape.key[0].offset = test_below(&rng, bytes - shape.key[0].width + 1);
		fixture_open(&f, &opts, &shape);
		f.opts.run_records = run;
		f.opts.fan_in = 2;
		check(&f, &rng, (sort_pattern)test_below(&rng, SORT_PATTERNS), 3 * run + test_below(&rng, run), NULL);
		fixture_close(&f);
	}
}

/* Blocks of one record, many runs, few output buffers: a batch that is lent must never be waited for. */
static void test_one_record_blocks(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	const sort_shape shape = sort_shape_of(EM_KEY_U32, 0, 0, 4096);
	uint32_t write_buffers;
	int pattern;

	(void)state;
	for (write_buffers = 2; write_buffers <= 4; write_buffers++) {
		for (pattern = 0; pattern < SORT_PATTERNS; pattern++) {
			fixture f;

			if (test_left_out())
				continue;
			fixture_open(&f, &opts, &shape);
			f.opts.run_records = 5;
			f.opts.fan_in = 40;
			f.opts.write_buffers = write_buffers;
			check(&f, &rng, (sort_pattern)pattern, 200, NULL);
			fixture_close(&f);
		}
	}
}

/* Runs that end at the same time, with their last records one behind the other. */
static void test_last_records(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	const sort_shape shape = sort_shape_of(EM_KEY_U32, 0, EM_KEY_BIG_ENDIAN, 2048);
	const uint64_t runs = 30, run = 4, n = runs * run;
	unsigned char *records = sort_records(&rng, &shape, SORT_EQUAL, n), *expected;
	uint64_t i, m = n;
	fixture f;

	(void)state;
	for (i = 0; i < n; i++)
		model_write(&shape.key[0], records + i * shape.bytes, i % run == run - 1 ? 1000000 + i : i);
	expected = sort_expected(&shape, records, &m, 0);
	fixture_open(&f, &opts, &shape);
	f.opts.run_records = run;
	f.opts.fan_in = (uint32_t)runs;
	f.opts.write_buffers = 2;
	sort_assert_sorter(f.ctx, f.order, &f.opts, &rng, &shape, records, n, expected, n, NULL);
	fixture_close(&f);
	free(records);
	free(expected);
}

/* Threads, instruction sets and backends may change how long it takes, nothing else. */
static void test_threads_and_kernels(void **state)
{
	static const char *const isas[] = { NULL, "scalar", "avx2", "avx512" };
	static const char *const backends[] = { "memory", "syscall", "libaio", "io_uring", "stdio", "mmap" };
	const sort_shape some[] = { shapes[0], shapes[1], shapes[2], shapes[5], shapes[6] };
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	size_t s;

	(void)state;
	for (s = 0; s < sizeof(some) / sizeof(some[0]); s++) {
		/* Runs that are worth sharing out. */
		uint64_t n = 150000, expected_n = n;
		unsigned char *records = sort_records(&rng, &some[s], s % 2 ? SORT_FEW : SORT_RANDOM, n);
		unsigned char *expected = sort_expected(&some[s], records, &expected_n, 0);
		uint32_t threads;
		size_t isa;

		for (isa = 0; isa < 4; isa++) {
			for (threads = TEST_TSAN ? 2 + isa % 2 : 1; threads <= 4; threads += TEST_TSAN ? 2 : 1) {
				const char *const dirs[] = { dir };
				em_ctx_opts opts = sort_ctx_opts();
				fixture f;
				em_ctx *probe;

				if (test_left_out())
					continue;
				opts.threads = threads;
				opts.isa = isas[isa];
				opts.backend = backends[(isa + threads) % 6];
				opts.dirs = dirs;
				opts.ndirs = 1;
				if (em_ctx_open(&probe, &opts) != EM_OK)
					continue;
				em_ctx_close(probe);
				fixture_open(&f, &opts, &some[s]);
				assert_int_equal(em_ctx_threads(f.ctx), threads);
				f.opts.run_records = isa % 2 ? 0 : 40000;
				f.opts.block_bytes = 8192;
				f.opts.write_buffers = isa == 2 ? 2 : 0;
				sort_assert_sorter(f.ctx, f.order, &f.opts, &rng, &some[s], records, n, expected, n,
						   NULL);
				fixture_close(&f);
			}
		}
		free(records);
		free(expected);
	}
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

static int compare_by_shape(const void *a, const void *b, void *user)
{
	return sort_compare(user, a, b);
}

/* An order that is a function gives what the same order as data gives. */
static void test_function(void **state)
{
	em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	size_t s;

	(void)state;
	for (s = 0; s < SHAPES; s++) {
		sort_shape shape = shapes[s];
		uint64_t n = 40000 / shape.bytes + 300, run = n / 7 + 1;
		int unique;

		opts.threads = 1 + (uint32_t)(s % 3);
		for (unique = 0; unique < 2; unique++) {
			fixture f;

			fixture_open(&f, &opts, &shape);
			em_order_close(f.order);
			assert_int_equal(em_order_cmp(&f.order, f.ctx, shape.bytes, "by shape", compare_by_shape, 0,
						      &shape, NULL, NULL),
					 EM_OK);
			f.opts.run_records = run;
			f.opts.fan_in = 3;
			f.opts.flags = unique ? EM_SORT_UNIQUE : 0;
			check(&f, &rng, unique ? SORT_FEW : SORT_RANDOM, n, NULL);
			check(&f, &rng, SORT_EQUAL, n, NULL);
			fixture_close(&f);
		}
	}
}

typedef struct liar {
	test_rng rng;
	int kind;
} liar;

/* No order at all. */
static int lie(const void *a, const void *b, void *user)
{
	liar *l = user;

	(void)a;
	(void)b;
	if (l->kind == 0)
		return (int)test_below(&l->rng, 3) - 1;
	if (l->kind == 1)
		return -1;
	if (l->kind == 2)
		return 1;
	/* rock, paper, scissors */
	return ((int)(*(const unsigned char *)a % 3) - (int)(*(const unsigned char *)b % 3) + 4) % 3 - 1;
}

/* A function that lies gives every record back, in some order. */
static void test_inconsistent_function(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	const sort_shape shape = sort_shape_of(EM_KEY_U32, 0, 0, 20);
	const uint64_t n = 3000;
	liar l;

	(void)state;
	for (l.kind = 0; l.kind < 4; l.kind++) {
		unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n), *marks = calloc(n, 1);
		const em_batch *batch;
		uint64_t i, got = 0;
		em_status st;
		em_sorter *s;
		fixture f;

		assert_non_null(marks);
		for (i = 0; i < n; i++)
			model_write(&shape.key[0], records + i * shape.bytes, i);
		fixture_open(&f, &opts, &shape);
		em_order_close(f.order);
		l.rng = rng;
		assert_int_equal(em_order_cmp(&f.order, f.ctx, shape.bytes, NULL, lie, 0, &l, NULL, NULL), EM_OK);
		f.opts.run_records = 200;
		f.opts.fan_in = 4;
		assert_int_equal(em_sorter_open(&s, f.ctx, f.order, &f.opts), EM_OK);
		assert_int_equal(em_sorter_push(s, records, n), EM_OK);
		assert_int_equal(em_sorter_finish(s), EM_OK);
		while ((st = em_sorter_next(s, &batch)) == EM_OK) {
			const unsigned char *r = batch->records;

			for (i = 0; i < batch->n; i++, r += shape.bytes, got++) {
				const uint64_t id = r[0] + 256u * r[1];

				assert_true(id < n);
				assert_int_equal(marks[id], 0);
				marks[id] = 1;
				assert_memory_equal(r, records + id * shape.bytes, shape.bytes);
			}
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(got, n);
		em_sorter_close(s);
		fixture_close(&f);
		free(records);
		free(marks);
	}
}

/* Whatever the memory, it suffices when it is enough to begin with, and is never exceeded. */
static void test_budgets(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const size_t some[] = { 0, 1, 5, 8 };
	size_t i;
	int round;

	(void)state;
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		for (round = 0; round < 6; round += TEST_TSAN ? 2 : 1) {
			const sort_shape *shape = &shapes[some[i]];
			em_ctx_opts opts = sort_ctx_opts();
			em_sort_stats stats;
			uint64_t n;
			fixture f;

			if (test_left_out())
				continue;
			opts.memory = (1u << 20) + test_below(&rng, 3u << 20);
			opts.threads = 1 + (uint32_t)(round % 3);
			fixture_open(&f, &opts, shape);
			f.opts.block_bytes = 0;
			n = (opts.memory * 3 + test_below(&rng, opts.memory)) / shape->bytes;
			if (n > 150000)
				n = 150000;
			check(&f, &rng, SORT_RANDOM, n, &stats);
			assert_true(em_ctx_memory_peak(f.ctx) <= opts.memory);
			assert_int_equal(stats.peak_memory, em_ctx_memory_peak(f.ctx));
			fixture_close(&f);
		}
	}
}

/* A sorter keeps to its own share of a large context. */
static void test_share(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx_opts opts = sort_ctx_opts();
	uint64_t before;
	fixture f;
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		fixture_open(&f, &opts, &shapes[round]);
		f.opts.block_bytes = 0;
		f.opts.memory = (1u << 20) + test_below(&rng, 1u << 20);
		before = em_ctx_memory_used(f.ctx);
		check(&f, &rng, SORT_RANDOM, 200000, NULL);
		assert_true(em_ctx_memory_peak(f.ctx) - before <= f.opts.memory);
		fixture_close(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random_options),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_several_fields),
		cmocka_unit_test(test_record_sizes),
		cmocka_unit_test(test_one_record_blocks),
		cmocka_unit_test(test_last_records),
		cmocka_unit_test(test_threads_and_kernels),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_inconsistent_function),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests_name("sorter", tests, NULL, NULL);
}
