/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_files.c -- merging files of records of any length that are sorted already.  For records of one size there
 * is test_merge_fixed.c.
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

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sort/files_case.h"

static void random_case(test_rng *rng, em_ctx *ctx, uint32_t fan_in, int which)
{
	em_order *order = lines_order(ctx, which);
	files_case c = case_make(NULL);
	const uint32_t n = 1 + (uint32_t)test_below(rng, 12);
	uint32_t i;

	c.format = lines_format((int)test_below(rng, LINES_FORMATS));
	c.opts.format = &c.format;
	c.opts.header = test_below(rng, 3) == 0 ? test_below(rng, 5) : 0;
	for (i = 0; i < n; i++) {
		static const size_t sizes[] = { 0, 1, 2, 60, 400, 1500 };
		lines l = { 0 };

		lines_add_random(&l, rng, (int)test_below(rng, LINES_STYLES), sizes[test_below(rng, 6)]);
		lines_quote_some(&l, rng, &c.format);
		case_lines(&c, order, &l, 1, (int)test_below(rng, 2));
	}
	case_merge_somehow(&c, rng, ctx, order, fan_in);
	case_close(&c, ctx, order);
}

static void test_orders(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 72; i += (int)test_step()) {
		static const uint32_t fan_ins[] = { 0, 2, 3, 5 };
		em_ctx *ctx = case_ctx(i % 2 == 0 ? 4 * MIB : 64 * MIB, 0, 1 + (uint32_t)i % 3 / 2);

		random_case(&rng, ctx, fan_ins[i % 4], i % LINES_ORDERS);
	}
}

/* So many inputs of so many lines in order. */
static void add_some(files_case *c, const em_order *order, test_rng *rng, int files, size_t n)
{
	int i;

	for (i = 0; i < files; i++) {
		lines l = { 0 };

		lines_add_random(&l, rng, LINES_ANY, n);
		case_lines(c, order, &l, 1, 0);
	}
}

/* Forty inputs with a handful of descriptors; what was open is closed again. */
static void test_few_descriptors(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(32 * MIB, 8, 2);
	em_order *order = lines_order(ctx, 0);
	files_case c = case_make(NULL);
	const unsigned before = sort_open_fds();

	(void)state;
	add_some(&c, order, &rng, 40, 50);
	case_merge_forty(&c, ctx, order);
	case_close(&c, ctx, order);
	assert_true(sort_open_fds() <= before);
}

/* An output that is one of the inputs, and an input that is there twice. */
static void test_same_file(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	files_case c = case_make(NULL);
	size_t i, n, half;
	lines l = { 0 };

	(void)state;
	lines_add_random(&l, &rng, LINES_ANY, 500);
	case_lines(&c, order, &l, 1, 1);
	half = c.all.n;
	for (i = 0; i < half; i++) {
		unsigned char copy[128];
		const unsigned char *record = lines_at(&c.all, i, &n);

		memcpy(copy, record, n);
		lines_add(&c.all, copy, n);
	}
	c.path[1] = test_path(c.dir, "in00");
	c.n = 2;
	free(c.out);
	c.out = test_path(c.dir, "in00");
	case_merge_ok(&c, ctx, order);
	case_assert_sorted(&c, order);
	case_close(&c, ctx, order);
}

static int by_bytes(const void *a, const void *b)
{
	const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

	return strcmp((const char *)x, (const char *)y);
}

/* Lines of a text, sorted, in place; their number. */
static size_t cut_lines(unsigned char *text, size_t bytes, const unsigned char **line)
{
	size_t n = 0, i, begin = 0;

	for (i = 0; i < bytes; i++)
		if (text[i] == '\n') {
			text[i] = '\0';
			line[n++] = text + begin;
			begin = i + 1;
		}
	qsort(line, n, sizeof(*line), by_bytes);
	return n;
}

/* Inputs that are not in order: all records come out, in some order. */
static void test_unsorted(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 12; round++) {
		em_ctx *ctx = case_ctx(8 * MIB, 0, 1 + (uint32_t)round % 2);
		em_order *order = lines_order(ctx, round % LINES_ORDERS);
		files_case c = case_make(NULL);
		const unsigned char **line;
		unsigned char *got, *want;
		size_t bytes, want_bytes, i, n;
		int file;

		for (file = 0; file < 7; file++) {
			lines l = { 0 };

			lines_add_random(&l, &rng, (int)test_below(&rng, LINES_STYLES), 1000);
			case_lines(&c, order, &l, 0, 0);
		}
		c.opts.fan_in = round % 3 == 0 ? 0 : 2;
		c.opts.block_bytes = 8192;
		case_merge_ok(&c, ctx, order);
		got = sort_read_file(c.out, &bytes);
		want = lines_text(&c.all, 0, c.all.n, &c.format, 0, &want_bytes);
		assert_int_equal(bytes, want_bytes);
		line = malloc(2 * c.all.n * sizeof(*line));
		assert_non_null(line);
		n = cut_lines(got, bytes, line);
		assert_int_equal(n, c.all.n);
		assert_int_equal(cut_lines(want, bytes, line + n), n);
		for (i = 0; i < n; i++)
			assert_string_equal((const char *)line[i], (const char *)line[n + i]);
		free(line);
		free(got);
		free(want);
		case_close(&c, ctx, order);
	}
}

/* Records as long as they may be, in memory that is small, and longer ones. */
static void test_long(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		em_ctx *ctx = case_ctx(4 * MIB, 0, 1);
		em_order *order = lines_order(ctx, round % 4 == 3 ? 2 : round % 4 == 2 ? 4 : 0);
		const size_t most = 4 * MIB / 32, over = round < 12 ? 0 : 8 * most;
		unsigned char *record = malloc(9 * most);
		files_case c = case_make(NULL);
		em_status st;
		int i;

		assert_non_null(record);
		c.format = lines_format(round % 4 == 1 ? 4 : 0);
		c.opts.format = &c.format;
		memset(record, 'b', 9 * most);
		for (i = 0; i < 3; i++) {
			lines l = { 0 };

			lines_add_random(&l, &rng, LINES_ANY, 100);
			record[0] = (unsigned char)('a' + i);
			lines_add(&l, record, most * 7 / 8 - (size_t)test_below(&rng, most / 8));
			lines_add(&l, record, most * 3 / 8);
			record[most / 8] = 'a';
			lines_add(&l, record, most / 4);
			if (i == 2)
				lines_add(&l, record, most / 2 + over);
			case_lines(&c, order, &l, 1, 0);
		}
		free(record);
		c.opts.fan_in = round % 8 < 4 ? 0 : 2;
		c.opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		/* Keys of whole lines take as much again. */
		st = case_merge(&c, ctx, order);
		if (over == 0 && round % 4 != 3) {
			if (st != EM_OK)
				fail_msg("%s", c.err.text);
			case_assert_sorted(&c, order);
		} else if (over != 0) {
			assert_int_equal(st, EM_ERR_FORMAT);
			assert_non_null(strstr(c.err.text, c.path[2]));
			assert_int_equal(access(c.out, F_OK), -1);
		}
		case_close(&c, ctx, order);
	}
}

/* More long records at a time than there is memory for. */
static void test_many_long(void **state)
{
	em_ctx *ctx = case_ctx(24 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	const size_t bytes = 24 * MIB / 32 * 7 / 8;
	unsigned char *record = malloc(bytes);
	files_case c = case_make(NULL);
	int i;

	(void)state;
	assert_non_null(record);
	memset(record, 'a', bytes);
	for (i = 0; i < 30; i++) {
		lines l = { 0 };

		record[3] = (unsigned char)('z' - i % 4);
		lines_add(&l, record, bytes - (size_t)i);
		case_lines(&c, order, &l, 1, 0);
	}
	free(record);
	case_merge_ok(&c, ctx, order);
	case_assert_sorted(&c, order);
	/* All at once, which descriptors and short records would permit, was too much. */
	assert_true(c.stats.fan_in <= 15);
	assert_true(c.stats.runs >= 2);
	case_close(&c, ctx, order);
}

static int cancel_first(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	unsigned *calls = user;

	(void)phase;
	assert_true(total == 0 || done <= total);
	return ++*calls == 1;
}

static void test_refused(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	files_case c = case_make(NULL);
	lines l = { 0 };

	(void)state;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_INVAL);
	lines_add_random(&l, &rng, LINES_ANY, 10);
	case_lines(&c, order, &l, 1, 0);
	c.path[1] = test_path(c.dir, "is-not-there");
	c.n = 2;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_NOENT);
	assert_non_null(strstr(c.err.text, "is-not-there"));
	assert_int_equal(access(c.out, F_OK), -1);
	free(c.path[1]);
	c.path[1] = test_path(c.dir, ".");
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_INVAL);
	c.n = 1;
	c.opts.fan_in = 1;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_INVAL);
	c.opts.fan_in = 0;
	c.stats.size = 0;
	assert_int_equal(em_merge_files(NULL, order, (const char *const[]){"x"}, 1, c.out, &c.opts, NULL),
			 EM_ERR_INVAL);
	c.n = 2;
	case_close(&c, ctx, order);
}

static em_order *order_of(void *user, em_ctx *ctx)
{
	(void)user;
	return lines_order(ctx, 0);
}

static void test_too_little(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	files_case c = case_make(NULL);
	const case_memory how = { order_of, NULL, NULL, &c };

	(void)state;
	add_some(&c, order, &rng, 12, 200);
	em_order_close(order);
	em_ctx_close(ctx);
	case_sweep_memory(&c, &how);
	case_free(&c);
}

static void test_cancel(void **state)
{
	const unsigned fds = sort_open_fds();
	test_rng rng = test_rng_make(test_seed());
	em_backend slow;
	em_ctx *ctx = case_slow_ctx(&slow);
	em_order *order = lines_order(ctx, 0);
	files_case c = case_make(NULL);
	unsigned calls = 0;

	(void)state;
	add_some(&c, order, &rng, 5, 700);
	c.opts.fan_in = 3;
	c.opts.block_bytes = 8192;
	c.opts.progress = cancel_first;
	c.opts.progress_user = &calls;
	assert_int_equal(case_merge(&c, ctx, order), EM_ERR_CANCELED);
	assert_int_equal(c.err.status, EM_ERR_CANCELED);
	assert_int_equal(calls, 1);
	assert_int_equal(access(c.out, F_OK), -1);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_int_equal(sort_open_fds(), fds);
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),	     cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_same_file),    cmocka_unit_test(test_unsorted),
		cmocka_unit_test(test_long),	     cmocka_unit_test(test_many_long),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_little),   cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
