/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_shuffle.c -- records in random order: all of them, in an order that only seed and number decide, and every order
 * as often as any other.
 *
 * The tests of chance have seeds of their own that never change, so they do not fail now and then.
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
#include <unistd.h>

#include "sort/files_case.h"

/* Shuffle the first input, or both. */
static em_status case_run(files_case *c, em_ctx *ctx, uint64_t size, uint32_t inputs, const em_shuffle_opts *opts)
{
	const char *paths[CASE_FILES];
	em_shuffle_opts o = *opts;

	case_begin(c, paths);
	o.errinfo = &c->err;
	return em_shuffle_files(ctx, size, paths, inputs, c->out, &o, &c->stats);
}

static void assert_run(files_case *c, em_ctx *ctx, uint64_t size, uint32_t inputs, const em_shuffle_opts *opts)
{
	if (case_run(c, ctx, size, inputs, opts) != EM_OK)
		fail_msg("%s: %s", em_status_name(c->err.status), c->err.text);
}

static em_ctx *make_ctx(uint64_t memory, uint32_t threads, const char *backend)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.threads = threads;
	o.direct = threads == 2 ? EM_DIRECT_TRY : EM_DIRECT_OFF;
	if (backend != NULL)
		o.backend = backend;
	return sort_ctx(&o);
}

static void put_u32(unsigned char *p, uint32_t x)
{
	int i;

	for (i = 0; i < 4; i++)
		p[i] = (unsigned char)(x >> 8 * i);
}

static uint32_t get_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* n records of a size, from 4 bytes up, that hold their number and bytes that follow from it. */
static unsigned char *numbered(size_t n, size_t size)
{
	unsigned char *r = malloc(n * size + 1);
	size_t i, j;

	assert_non_null(r);
	for (i = 0; i < n; i++) {
		put_u32(r + i * size, (uint32_t)i);
		for (j = 4; j < size; j++)
			r[i * size + j] = (unsigned char)(i * 7 + j);
	}
	return r;
}

/* The order of the n records in the output, which must be all of them; for free(). */
static uint32_t *order_of(const files_case *c, const unsigned char *records, size_t n, size_t size)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	unsigned char *seen = calloc(1, n + 1), *got;
	size_t bytes, i;

	assert_non_null(order);
	assert_non_null(seen);
	got = sort_read_file(c->out, &bytes);
	assert_int_equal(bytes, n * size);
	for (i = 0; i < n; i++) {
		order[i] = get_u32(got + i * size);
		assert_true(order[i] < n && !seen[order[i]]);
		seen[order[i]] = 1;
		assert_memory_equal(got + i * size, records + order[i] * size, size);
	}
	free(got);
	free(seen);
	return order;
}

/* Every record is there once, and the order depends on nothing but the seed: not on threads, memory, runs, blocks,
 * backends, the size of the records, or how they are divided into files. */
static void test_same_order(void **state)
{
	static const struct {
		uint64_t memory;
		uint32_t threads;
		const char *backend;
		uint64_t run;
		uint32_t fan_in;
		size_t size;
	} way[] = {
		{ 64 * MIB, 1, "memory", 0, 0, 4 }, { 64 * MIB, 3, "memory", 0, 0, 4 },
		{ 2 * MIB, 2, "memory", 0, 0, 4 }, { 16 * MIB, 1, "syscall", 700, 3, 4 },
		{ 16 * MIB, 2, "libaio", 1999, 0, 8 }, { 4 * MIB, 2, "syscall", 0, 0, 100 },
		{ 16 * MIB, 2, "memory", 0, 0, 9 },
	};
	const size_t sizes[] = { 0, 1, 2, 17, 20000 };
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_pair();
	size_t s, w;

	(void)state;
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		const size_t n = sizes[s];
		em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
		uint32_t *first = NULL;

		opts.seed = test_random(&rng);
		for (w = 0; w < sizeof(way) / sizeof(way[0]); w++) {
			const char *backend = em_backend_find(way[w].backend) != NULL ? way[w].backend : "syscall";
			em_ctx *ctx = make_ctx(way[w].memory, way[w].threads, backend);
			unsigned char *records = numbered(n, way[w].size);
			const size_t split = (size_t)test_below(&rng, n + 1);
			uint32_t *order;

			sort_write_file(c.path[0], records, split * way[w].size);
			sort_write_file(c.path[1], records + split * way[w].size, (n - split) * way[w].size);
			opts.run_records = way[w].run;
			opts.block_bytes = way[w].run != 0 ? 4096 : 0;
			opts.fan_in = way[w].fan_in;
			assert_run(&c, ctx, way[w].size, 2, &opts);
			assert_int_equal(c.stats.records_in, n);
			assert_int_equal(c.stats.records_out, n);
			if (way[w].run != 0 && n > way[w].run)
				assert_true(c.stats.runs >= n / way[w].run);
			order = order_of(&c, records, n, way[w].size);
			if (first == NULL)
				first = order;
			else
				assert_memory_equal(order, first, n * sizeof(*first));
			if (order != first)
				free(order);
			free(records);
			assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
			em_ctx_close(ctx);
		}
		free(first);
	}
	case_free(&c);
}

/* The order of ten records for two seeds, for ever and on every machine. */
static void test_known_orders(void **state)
{
	static const uint64_t seed[] = { 0, 1 };
	static const uint32_t known[2][10] = {
		{ 3, 7, 5, 2, 9, 4, 0, 6, 1, 8 },
		{ 7, 1, 0, 2, 3, 5, 8, 9, 6, 4 },
	};
	em_ctx *ctx = make_ctx(4 * MIB, 1, NULL);
	unsigned char *records = numbered(10, 4);
	files_case c = case_pair();
	size_t i;

	(void)state;
	sort_write_file(c.path[0], records, 40);
	for (i = 0; i < 2; i++) {
		em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
		uint32_t *order;

		opts.seed = seed[i];
		assert_run(&c, ctx, 4, 1, &opts);
		order = order_of(&c, records, 10, 4);
		assert_memory_equal(order, known[i], sizeof(known[i]));
		free(order);
	}
	free(records);
	em_ctx_close(ctx);
	case_free(&c);
}

/* A sample is the beginning of the whole, in memory or not. */
static void test_sample(void **state)
{
	static const uint64_t counts[] = { 1, 10, 800, 3000, 5000 };
	const size_t n = 4000;
	em_ctx *ctx = make_ctx(8 * MIB, 3, NULL);
	unsigned char *records = numbered(n, 8), *all;
	files_case c = case_pair();
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
	size_t bytes, i;

	(void)state;
	opts.seed = 99;
	sort_write_file(c.path[0], records, n * 8);
	assert_run(&c, ctx, 8, 1, &opts);
	all = sort_read_file(c.out, &bytes);
	for (i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++) {
		opts.count = counts[i / 2];
		opts.run_records = i % 2 == 0 ? 0 : 1000;
		assert_run(&c, ctx, 8, 1, &opts);
		sort_assert_file(c.out, all, (size_t)(opts.count < n ? opts.count : n) * 8);
		assert_int_equal(c.stats.records_in, n);
		assert_int_equal(c.stats.runs != 0, i % 2 != 0 && opts.count > 800);
	}
	free(all);
	free(records);
	em_ctx_close(ctx);
	case_free(&c);
}

static double chi_square(const unsigned *count, size_t cells, double expected)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < cells; i++)
		sum += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
	return sum;
}

/* Of four records all 24 orders come equally often. */
static void test_all_orders(void **state)
{
	em_ctx *ctx = make_ctx(2 * MIB, 1, NULL);
	unsigned char *records = numbered(4, 4);
	unsigned count[256] = { 0 }, cell[24];
	files_case c = case_pair();
	size_t i, cells = 0;
	double chi;

	(void)state;
	sort_write_file(c.path[0], records, 16);
	for (i = 0; i < 1200; i++) {
		em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
		uint32_t *o;

		opts.seed = i;
		assert_run(&c, ctx, 4, 1, &opts);
		o = order_of(&c, records, 4, 4);
		count[o[0] | o[1] << 2 | o[2] << 4 | o[3] << 6]++;
		free(o);
	}
	for (i = 0; i < 256; i++)
		if (count[i] != 0) {
			assert_true(cells < 24);
			cell[cells++] = count[i];
		}
	assert_int_equal(cells, 24);
	/* 23 degrees of freedom: more than 49.7 once in 1000 times, less than 7.5 likewise. */
	chi = chi_square(cell, 24, 50);
	if (chi > 49.7 || chi < 7.5)
		fail_msg("chi square is %g", chi);
	free(records);
	em_ctx_close(ctx);
	case_free(&c);
}

/* Of many records each part goes evenly to all parts, neighbours do not stay neighbours, and half of all pairs are
 * inverted. */
static void test_large_order(void **state)
{
	const size_t n = 100000;
	em_ctx *ctx = make_ctx(16 * MIB, 2, NULL);
	unsigned char *records = numbered(n, 8);
	unsigned count[100] = { 0 };
	files_case c = case_pair();
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
	size_t i, neighbours = 0, falls = 0;
	uint32_t *order;
	double chi;

	(void)state;
	opts.seed = 4711;
	sort_write_file(c.path[0], records, n * 8);
	assert_run(&c, ctx, 8, 1, &opts);
	order = order_of(&c, records, n, 8);
	for (i = 0; i < n; i++) {
		count[order[i] * 10 / n * 10 + i * 10 / n]++;
		if (i != 0) {
			neighbours += order[i] == order[i - 1] + 1;
			falls += order[i] < order[i - 1];
		}
	}
	/* 81 degrees of freedom; one neighbour is expected to stay; of falls there are n/2, with a deviation of
	 * sqrt(n/12) = 91. */
	chi = chi_square(count, 100, (double)n / 100);
	if (chi > 126 || chi < 46)
		fail_msg("chi square is %g", chi);
	assert_true(neighbours <= 6);
	assert_true(falls > n / 2 - 300 && falls < n / 2 + 300);
	free(order);
	free(records);
	em_ctx_close(ctx);
	case_free(&c);
}

/* Records of any length: the same permutation as of those of one size, in any format, behind a header. */
static void test_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_pair();
	int which;

	(void)state;
	for (which = 0; which < LINES_FORMATS * 2; which++) {
		const em_format f = lines_format(which % LINES_FORMATS);
		const size_t n = (size_t)test_below(&rng, 3000);
		em_ctx *ctx = make_ctx((3 + test_below(&rng, 20)) * MIB, 1 + (uint32_t)test_below(&rng, 2), NULL);
		unsigned char *records = numbered(n, 4), *text;
		em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
		lines in = { 0 }, out = { 0 }, other = { 0 };
		size_t header, split, bytes, i, length;
		uint32_t *order;

		opts.seed = test_random(&rng);
		sort_write_file(c.path[0], records, n * 4);
		assert_run(&c, ctx, 4, 1, &opts);
		order = order_of(&c, records, n, 4);

		header = (size_t)test_below(&rng, 5);
		/* Each file has the same header. */
		lines_add_pattern(&in, &rng, (int)test_below(&rng, LINES_PATTERNS), header + n, &f,
				  f.kind == EM_FORMAT_PREFIXED && f.width == 1 ? 255 : 30000);
		lines_append(&out, &in, 0, header);
		for (i = 0; i < n; i++) {
			const unsigned char *record = lines_at(&in, header + order[i], &length);

			lines_add(&out, record, length);
		}
		split = header + (size_t)test_below(&rng, n + 1);
		lines_write(c.path[0], &in, 0, split, &f, 1);
		lines_append(&other, &in, 0, header);
		lines_append(&other, &in, split, in.n);
		lines_write(c.path[1], &other, 0, other.n, &f, 0);
		lines_free(&other);
		opts.format = which % LINES_FORMATS == 0 ? NULL : &f;
		opts.header = header;
		opts.run_records = test_below(&rng, 2) == 0 ? 0 : 100;
		assert_run(&c, ctx, 0, 2, &opts);
		assert_int_equal(c.stats.records_in, n);
		text = lines_text(&out, 0, out.n, &f, 0, &bytes);
		sort_assert_file(c.out, text, bytes);
		free(text);
		free(order);
		free(records);
		lines_free(&in);
		lines_free(&out);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		em_ctx_close(ctx);
	}
	case_free(&c);
}

/* A line that is nearly as long as the memory allows, among short ones; and one that is longer. */
static void test_long_lines(void **state)
{
	em_ctx *ctx = make_ctx(4 * MIB, 1, NULL);
	unsigned char *line = malloc(MIB);
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
	files_case c = case_pair();
	size_t bytes, i, longest = 100000;
	lines in = { 0 };
	unsigned char *got;

	(void)state;
	assert_non_null(line);
	memset(line, 'x', MIB);
	for (i = 0; i < 50; i++)
		lines_add(&in, line, i % 10 == 3 ? longest : i);
	{
		const em_format f = lines_format(0);

		lines_write(c.path[0], &in, 0, in.n, &f, 0);
	}
	assert_run(&c, ctx, 0, 1, &opts);
	got = sort_read_file(c.out, &bytes);
	assert_int_equal(bytes, in.filled + in.n);
	free(got);
	sort_write_file(c.path[1], line, MIB);
	assert_int_equal(case_run(&c, ctx, 0, 2, &opts), EM_ERR_FORMAT);
	if (strstr(c.err.text, c.path[1]) == NULL)
		fail_msg("%s", c.err.text);
	/* One as long as may be has the memory that it takes. */
	longest = (size_t)strtoull(strstr(c.err.text, "longer than ") + 12, NULL, 10);
	assert_true(longest > 100000 && longest < 200000);
	sort_write_file(c.path[1], line, longest);
	assert_run(&c, ctx, 0, 2, &opts);
	free(line);
	lines_free(&in);
	em_ctx_close(ctx);
	case_free(&c);
}

static void test_misuse(void **state)
{
	em_ctx *ctx = make_ctx(4 * MIB, 1, NULL);
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT, bad = EM_SHUFFLE_OPTS_INIT;
	const em_format f = lines_format(0);
	em_format strange = lines_format(0);
	em_sort_stats stats = { 0 };
	files_case c = case_pair();
	const char *const in[] = { c.path[0] };

	(void)state;
	assert_int_equal(em_shuffle_files(NULL, 4, in, 1, c.out, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_shuffle_files(ctx, 4, NULL, 1, c.out, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_shuffle_files(ctx, 4, in, 0, c.out, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_shuffle_files(ctx, 4, in, 1, NULL, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_shuffle_files(ctx, 4, in, 1, c.out, NULL, &stats), EM_ERR_VERSION);
	assert_int_equal(case_run(&c, ctx, 4, 1, &opts), EM_ERR_NOENT);
	sort_write_file(c.path[0], "12345", 5);
	assert_int_equal(case_run(&c, ctx, 4, 1, &opts), EM_ERR_FORMAT);
	assert_int_equal(c.err.record, 2);
	assert_string_equal(c.err.path, c.path[0]);
	assert_int_equal(em_shuffle_files(ctx, 5, in, 1, c.out, NULL, NULL), EM_OK);
	sort_assert_file(c.out, "12345", 5);
	unlink(c.out);
	opts.format = &f;
	assert_int_equal(case_run(&c, ctx, 5, 1, &opts), EM_ERR_INVAL);
	opts.format = NULL;
	opts.header = 1;
	assert_int_equal(case_run(&c, ctx, 5, 1, &opts), EM_ERR_INVAL);
	opts.header = 0;
	strange.kind = 9;
	opts.format = &strange;
	assert_int_equal(case_run(&c, ctx, 0, 1, &opts), EM_ERR_INVAL);
	opts.format = NULL;
	assert_int_equal(case_run(&c, ctx, UINT64_MAX - 3, 1, &opts), EM_ERR_RANGE);
	assert_non_null(strstr(c.err.text, "does not fit in memory"));
	assert_int_equal(case_run(&c, ctx, UINT64_MAX / 2, 1, &opts), EM_ERR_RANGE);
	opts.block_bytes = 5000;
	assert_int_equal(case_run(&c, ctx, 5, 1, &opts), EM_ERR_INVAL);
	opts.block_bytes = 0;
	opts.memory = 1000;
	assert_int_equal(case_run(&c, ctx, 5, 1, &opts), EM_ERR_MEMLIMIT);
	assert_true(c.err.bytes > 1000);
	opts.memory = c.err.bytes;
	assert_run(&c, ctx, 5, 1, &opts);
	unlink(c.out);
	bad.size = 3;
	assert_int_equal(em_shuffle_files(ctx, 5, in, 1, c.out, &bad, NULL), EM_ERR_VERSION);
	assert_int_not_equal(access(c.out, F_OK), 0);
	em_ctx_close(ctx);
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_order),
		cmocka_unit_test(test_known_orders),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_all_orders),
		cmocka_unit_test(test_large_order),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests_name("shuffle", tests, NULL, NULL);
}
