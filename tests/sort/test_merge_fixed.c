/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_fixed.c -- merging files of records of one size that are sorted already: merge_files.c.
 *
 * What must come out is what sorting all their records stably gives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sort/files_case.h"

/* Shapes of every kind of element: see key/order.h. */
#define SHAPES 8
static sort_shape shape_of(int which)
{
	switch (which) {
	case 0:
		return sort_shape_of(EM_KEY_U32, 0, 0, 4);
	case 1:
		return sort_shape_of(EM_KEY_U64, 0, 0, 8);
	case 2:
		return sort_shape_of(EM_KEY_I64, 0, EM_KEY_DESCENDING, 16);
	case 3:
		return sort_shape_of(EM_KEY_BYTES, 10, 0, 100);
	case 4:
		return sort_shape_of(EM_KEY_U16, 0, EM_KEY_BIG_ENDIAN, 3);
	case 5:
		return sort_shape_of(EM_KEY_F64, 0, 0, 24);
	case 6:
		return sort_shape_of(EM_KEY_BYTES, 4099, 0, 5000);
	default:
		return sort_shape_of(EM_KEY_U8, 0, 0, 1);
	}
}

static void random_case(test_rng *rng, em_ctx *ctx, uint32_t fan_in, int which)
{
	static const uint64_t sizes[] = { 0, 1, 2, 60, 700, 3000 };
	sort_shape shape = shape_of(which);
	em_order *order = case_order(ctx, &shape, test_below(rng, 4) == 0);
	files_case c = case_make(&shape);
	const uint32_t n = 1 + (uint32_t)test_below(rng, 12);
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint64_t records = sizes[test_below(rng, 6)];

		case_records(&c, rng, (sort_pattern)test_below(rng, SORT_PATTERNS),
			     records < 400000 / shape.bytes ? records : 9, 1);
	}
	case_merge_somehow(&c, rng, ctx, order, fan_in);
	case_close(&c, ctx, order);
}

static void test_shapes(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 96; i += (int)test_step()) {
		static const uint32_t fan_ins[] = { 0, 2, 3, 5 };
		em_ctx *ctx = case_ctx(i % 2 == 0 ? 4 * MIB : 64 * MIB, 0, 1 + (uint32_t)i % 3 / 2);

		random_case(&rng, ctx, fan_ins[(i / SHAPES) % 4], i % SHAPES);
	}
}

/* Forty inputs with a handful of descriptors; what was open is closed again. */
static void test_few_descriptors(void **state)
{
	const sort_shape shape = shape_of(2);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(32 * MIB, 8, 2);
	em_order *order = sort_order(ctx, &shape);
	files_case c = case_make(&shape);
	const unsigned before = sort_open_fds();
	int i;

	(void)state;
	for (i = 0; i < 40; i++)
		case_records(&c, &rng, SORT_FEW, 200, 1);
	case_merge_forty(&c, ctx, order);
	case_close(&c, ctx, order);
	assert_true(sort_open_fds() <= before);
}

/* An output that is one of the inputs. */
static void test_same_file(void **state)
{
	const sort_shape shape = shape_of(3);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
	em_order *order = sort_order(ctx, &shape);
	files_case c = case_make(&shape);
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		case_records(&c, &rng, SORT_RANDOM, 1000, 1);
	free(c.out);
	c.out = test_path(c.dir, "in01");
	case_merge_ok(&c, ctx, order);
	case_assert_sorted(&c, order);
	case_close(&c, ctx, order);
}

/* Somebody who reads a pipe to its end. */
typedef struct reader {
	const char *path;
	unsigned char *data;
	size_t bytes, room;
} reader;

static void *read_all(void *arg)
{
	reader *r = arg;
	const int fd = open(r->path, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, r->data + r->bytes, r->room - r->bytes)) > 0)
		r->bytes += (size_t)n;
	close(fd);
	return NULL;
}

/* To and from pipes, in one pass and in several. */
static void test_pipe(void **state)
{
	const sort_shape shape = shape_of(1);
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 2; round++) {
		em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
		em_order *order = sort_order(ctx, &shape);
		files_case c = case_make(&shape);
		unsigned char *expected;
		uint64_t n;
		pthread_t thread;
		reader r;
		int i;

		for (i = 0; i < 5; i++)
			case_records(&c, &rng, SORT_RANDOM, 20000, 1);
		assert_int_equal(mkfifo(c.out, 0600), 0);
		memset(&r, 0, sizeof(r));
		r.path = c.out;
		r.room = (size_t)c.n_records * 8 + 1;
		r.data = malloc(r.room);
		assert_non_null(r.data);
		assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
		c.opts.fan_in = round == 0 ? 0 : 2;
		case_merge_ok(&c, ctx, order);
		pthread_join(thread, NULL);
		n = c.n_records;
		expected = sort_expected(&shape, c.records, &n, 0);
		assert_int_equal(r.bytes, n * 8);
		assert_memory_equal(r.data, expected, r.bytes);
		assert_int_equal(c.stats.records_out, n);
		free(expected);
		free(r.data);
		case_close(&c, ctx, order);
	}
}

static size_t sorted_bytes;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sorted_bytes);
}

/* Inputs that are not in order: all records come out, in some order. */
static void test_unsorted(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 2 * SHAPES; round++) {
		em_ctx *ctx = case_ctx(8 * MIB, 0, 1 + (uint32_t)round % 2);
		sort_shape shape = shape_of(round % SHAPES);
		em_order *order = case_order(ctx, &shape, round % 3 == 2);
		files_case c = case_make(&shape);
		unsigned char *got;
		size_t bytes;
		int i;

		for (i = 0; i < 7; i++)
			case_records(&c, &rng, SORT_RANDOM, 50000 / shape.bytes % 5000, 0);
		c.opts.fan_in = round % 3 == 0 ? 0 : 2;
		c.opts.block_bytes = 8192;
		case_merge_ok(&c, ctx, order);
		got = sort_read_file(c.out, &bytes);
		assert_int_equal(bytes, c.n_records * shape.bytes);
		sorted_bytes = shape.bytes;
		qsort(got, (size_t)c.n_records, shape.bytes, by_bytes);
		qsort(c.records, (size_t)c.n_records, shape.bytes, by_bytes);
		assert_memory_equal(got, c.records, bytes);
		free(got);
		case_close(&c, ctx, order);
	}
}

/* Records that are larger than what is usually read or written at a time. */
static void test_large_records(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 6; round++) {
		const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, round % 2 == 0 ? 100000 : 70001);
		em_ctx *ctx = case_ctx(round < 4 ? 64 * MIB : 8 * MIB, 0, 1);
		em_order *order = sort_order(ctx, &shape);
		files_case c = case_make(&shape);
		int i;

		for (i = 0; i < 5; i++)
			case_records(&c, &rng, SORT_FEW, 6 + (uint64_t)i, 1);
		c.opts.fan_in = round % 4 < 2 ? 0 : 2;
		c.opts.flags = round == 5 ? EM_SORT_UNIQUE : 0;
		case_merge_ok(&c, ctx, order);
		case_assert_sorted(&c, order);
		case_close(&c, ctx, order);
	}
}

static int fail_later(const void *a, const void *b, void *user)
{
	unsigned *calls = user;

	return ++*calls > 500 ? EM_CMP_ERROR : memcmp(a, b, 16);
}

static void test_refused(void **state)
{
	const em_format format = EM_FORMAT_INIT;
	const sort_shape shape = shape_of(2);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
	em_order *order = sort_order(ctx, &shape), *failing;
	files_case c = case_make(&shape);
	unsigned calls = 0;
	FILE *f;

	(void)state;
	case_records(&c, &rng, SORT_RANDOM, 1000, 1);
	case_records(&c, &rng, SORT_RANDOM, 1000, 1);
	c.opts.format = &format;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_INVAL);
	c.opts.format = NULL;
	c.opts.fan_in = 1;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_INVAL);
	c.opts.fan_in = 0;
	assert_int_equal(em_order_cmp(&failing, ctx, 16, "failing", fail_later, 0, &calls, NULL, NULL), EM_OK);
	assert_int_equal(case_merge(&c, ctx, failing), EM_ERR_USER);
	em_order_close(failing);
	assert_int_equal(access(c.out, F_OK), -1);
	f = fopen(c.path[1], "ab");
	assert_non_null(f);
	assert_int_equal(fputc('x', f), 'x');
	assert_int_equal(fclose(f), 0);
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_FORMAT);
	assert_non_null(strstr(c.err.text, c.path[1]));
	assert_int_equal(access(c.out, F_OK), -1);
	case_close(&c, ctx, order);
}

static em_order *order_of(void *user, em_ctx *ctx)
{
	const files_case *c = user;

	return sort_order(ctx, &c->shape);
}

static void test_too_little(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int which;

	(void)state;
	for (which = 0; which < 3; which++) {
		const sort_shape shape = which == 0   ? shape_of(2)
					 : which == 1 ? shape_of(3)
						      : sort_shape_of(EM_KEY_U64, 0, 0, 20000);
		files_case c = case_make(&shape);
		const case_memory how = { order_of, NULL, NULL, &c };
		int i;

		c.opts.flags = which == 1 ? EM_SORT_UNIQUE : 0;
		for (i = 0; i < 12; i++)
			case_records(&c, &rng, SORT_RANDOM, which < 2 ? 200 : 5, 1);
		case_sweep_memory(&c, &how);
		case_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	      cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_same_file),     cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_unsorted),      cmocka_unit_test(test_large_records),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_too_little),
	};

	return cmocka_run_group_tests_name("merge_fixed", tests, NULL, NULL);
}
