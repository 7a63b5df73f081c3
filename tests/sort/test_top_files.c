/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_top_files.c -- the first records of an order, of one size and of any length, from file to file.
 *
 * What must come out is a part of what a plain stable merge sort of the tests' own gives.
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
#include <time.h>
#include <unistd.h>

#include "sort/files_case.h"
#include "sort/top_model.h"

static em_status case_run(files_case *c, em_ctx *ctx, const em_order *order, const ranks *r, const em_sort_opts *opts)
{
	const char *paths[CASE_FILES];
	em_sort_opts o = *opts;

	case_begin(c, paths);
	o.errinfo = &c->err;
	return em_top_files(ctx, order, paths, 2, r->from, r->k, c->out, &o, &c->stats);
}

static void test_files_of_records(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_pair();
	const sort_shape *shape;
	size_t shape_count, s, i;

	(void)state;
	shape = top_shapes(&shape_count);
	for (s = 0; s < shape_count; s++) {
		const uint64_t n = 6000, split = test_below(&rng, n + 1);
		const size_t bytes = shape[s].bytes;
		unsigned char *records =
				      sort_records(&rng, &shape[s], (sort_pattern)test_below(&rng, SORT_PATTERNS), n),
			      *sorted;
		em_ctx *ctx = top_ctx(8 * MIB, 1 + (uint32_t)(s % 2));
		em_order *order = sort_order(ctx, &shape[s]);
		uint64_t nsorted = n, first, end;

		sorted = sort_expected(&shape[s], records, &nsorted, 0);
		sort_write_file(c.path[0], records, (size_t)split * bytes);
		sort_write_file(c.path[1], records + split * bytes, (size_t)(n - split) * bytes);
		for (i = 0; i < TOP_RANKS; i++) {
			em_sort_opts opts = EM_SORT_OPTS_INIT;

			if (test_left_out())
				continue;
			opts.run_records = test_below(&rng, 2) == 0 ? 0 : 200;
			if (case_run(&c, ctx, order, &top_ranks[i], &opts) != EM_OK)
				fail_msg("%s", c.err.text);
			top_part(&top_ranks[i], n, &first, &end);
			sort_assert_file(c.out, sorted + first * bytes, (size_t)(end - first) * bytes);
			assert_int_equal(c.stats.records_in, n);
			assert_int_equal(c.stats.records_out, end - first);
			unlink(c.out);
		}
		em_order_close(order);
		top_ctx_close(ctx);
		free(records);
		free(sorted);
	}
	case_free(&c);
}

static void test_files_of_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_pair();
	int round;

	(void)state;
	for (round = 0; round < 60; round += (int)test_step()) {
		const em_format f = lines_format(round % LINES_FORMATS);
		em_ctx *ctx = top_ctx((4 + test_below(&rng, 8)) * MIB, 1 + (uint32_t)(round % 3));
		em_order *order = lines_order(ctx, (int)test_below(&rng, LINES_ORDERS));
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		lines in = { 0 }, all = { 0 };
		ranks r;
		uint64_t first, end;
		size_t split, bytes, header;
		unsigned char *text, *front;

		lines_add_pattern(&in, &rng, (int)test_below(&rng, LINES_PATTERNS), (size_t)test_below(&rng, 3000), &f,
				  round % LINES_FORMATS == 2 || round % LINES_FORMATS == 6 ? 255 : 30000);
		split = (size_t)test_below(&rng, in.n + 1);
		header = test_below(&rng, 2) == 0 || f.kind == EM_FORMAT_PREFIXED ? 0
										  : (size_t)test_below(&rng, split + 1);
		lines_write(c.path[0], &in, 0, split, &f, (int)test_below(&rng, 2));
		lines_write(c.path[1], &in, split, in.n, &f, (int)test_below(&rng, 2));
		opts.format = round % LINES_FORMATS == 0 ? NULL : &f;
		opts.header = header;
		lines_add_file(&all, &header, &in, 0, split, opts.header);
		lines_add_file(&all, &header, &in, split, in.n, opts.header);
		lines_free(&in);
		in = all;
		opts.flags = test_below(&rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
		opts.run_records = test_below(&rng, 3) == 0 ? 100 : 0;
		r.from = test_below(&rng, 2) == 0 ? 0 : test_below(&rng, in.n + 10);
		r.k = test_below(&rng, test_below(&rng, 2) == 0 ? 30 : in.n + 10);
		if (case_run(&c, ctx, order, &r, &opts) != EM_OK)
			fail_msg("%s", c.err.text);
		assert_int_equal(c.stats.records_in, in.n - header);
		lines_sort(order, &in, header, opts.flags != 0);
		top_part(&r, in.n - header, &first, &end);
		front = lines_text(&in, 0, header, &f, 0, &bytes);
		text = malloc(in.filled + 9 * in.n + 1);
		assert_non_null(text);
		memcpy(text, front, bytes);
		free(front);
		front = lines_text(&in, header + (size_t)first, header + (size_t)end, &f, 0, &split);
		memcpy(text + bytes, front, split);
		sort_assert_file(c.out, text, bytes + split);
		assert_int_equal(c.stats.records_out, end - first);
		free(front);
		free(text);
		lines_free(&in);
		em_order_close(order);
		top_ctx_close(ctx);
	}
	case_free(&c);
}

/* Failures of the files, and what is left then. */
static void test_file_failures(void **state)
{
	em_ctx *ctx = top_ctx(4 * MIB, 2);
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 8);
	em_order *order = sort_order(ctx, &shape), *text;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_text_key key;
	em_format prefixed = lines_format(3);
	unsigned char *big = malloc(3 * MIB);
	const ranks r = { 0, 5 };
	files_case c = case_pair();

	(void)state;
	assert_non_null(big);
	assert_int_equal(em_text_key_parse(&key, NULL, "1", NULL), EM_OK);
	assert_int_equal(em_order_text(&text, ctx, &key, 1, NULL, NULL), EM_OK);
	assert_int_equal(case_run(&c, ctx, order, &r, &opts), EM_ERR_NOENT);
	assert_non_null(strstr(c.err.path, c.path[0]));
	sort_write_file(c.path[0], "1234567812345678", 16);
	sort_write_file(c.path[1], "123456781234567", 15);
	assert_int_equal(case_run(&c, ctx, order, &r, &opts), EM_ERR_FORMAT);
	if (strstr(c.err.text, c.path[1]) == NULL)
		fail_msg("%s", c.err.text);
	assert_int_equal(c.err.record, 2);
	opts.header = 1;
	assert_int_equal(case_run(&c, ctx, order, &r, &opts), EM_ERR_INVAL);
	opts.header = 0;
	opts.format = &prefixed;
	assert_int_equal(case_run(&c, ctx, text, &r, &opts), EM_ERR_FORMAT);
	opts.format = NULL;
	/* The line is short enough to be read, but not with its key. */
	memset(big, 'x', 3 * MIB);
	big[99] = big[199] = '\n';
	sort_write_file(c.path[1], big, 200 + 120000);
	assert_int_equal(case_run(&c, ctx, text, &r, &opts), EM_ERR_FORMAT);
	if (strstr(c.err.text, c.path[1]) == NULL || strstr(c.err.text, ":3: line ") == NULL)
		fail_msg("%s", c.err.text);
	assert_int_equal(c.err.record, 3);
	assert_string_equal(c.err.path, c.path[1]);
	sort_write_file(c.path[1], big, 200 + (size_t)MIB);
	assert_int_equal(case_run(&c, ctx, text, &r, &opts), EM_ERR_FORMAT);
	if (strstr(c.err.text, c.path[1]) == NULL || strstr(c.err.text, ":3: line ") == NULL)
		fail_msg("%s", c.err.text);
	assert_int_equal(c.err.record, 3);
	assert_string_equal(c.err.path, c.path[1]);
	opts.memory = 20000;
	assert_int_equal(case_run(&c, ctx, text, &r, &opts), EM_ERR_MEMLIMIT);
	assert_true(c.err.bytes > 20000);
	opts.memory = 0;
	assert_int_not_equal(access(c.out, F_OK), 0);
	free(big);
	em_order_close(order);
	em_order_close(text);
	top_ctx_close(ctx);
	case_free(&c);
}

typedef struct watcher {
	int slept;
	unsigned calls;
	uint64_t done, total;
} watcher;

/* So slow that the progress function is due. */
static int compare_slowly(const void *a, const void *b, void *user)
{
	const struct timespec while_ = { 0, 250000000 };
	watcher *w = user;

	if (!w->slept)
		nanosleep(&while_, NULL);
	w->slept = 1;
	return memcmp(a, b, 8);
}

static int stop(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	watcher *w = user;

	assert_int_equal(phase, EM_PHASE_RUNS);
	assert_true(done >= w->done && done <= total);
	w->calls++;
	w->done = done;
	w->total = total;
	return w->slept;
}

/* A progress function can stop it, and is told what was read of all there is. */
static void test_stopped(void **state)
{
	em_ctx *ctx = top_ctx(16 * MIB, 1);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const ranks r = { 0, 1000 };
	unsigned char *zeroes = calloc(4, MIB);
	files_case c = case_pair();
	watcher w = { 0, 0, 0, 0 };
	em_order *order;

	(void)state;
	assert_non_null(zeroes);
	assert_int_equal(em_order_cmp(&order, ctx, 8, "slow", compare_slowly, 0, &w, NULL, NULL), EM_OK);
	opts.progress = stop;
	opts.progress_user = &w;
	sort_write_file(c.path[0], zeroes, 4 * MIB);
	sort_write_file(c.path[1], zeroes, 8);
	assert_int_equal(case_run(&c, ctx, order, &r, &opts), EM_ERR_CANCELED);
	assert_int_equal(c.err.status, EM_ERR_CANCELED);
	assert_true(w.calls >= 1);
	assert_int_equal(w.total, 4 * MIB + 8);
	assert_int_not_equal(access(c.out, F_OK), 0);
	free(zeroes);
	em_order_close(order);
	top_ctx_close(ctx);
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_records),
		cmocka_unit_test(test_files_of_lines),
		cmocka_unit_test(test_file_failures),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests_name("top_files", tests, NULL, NULL);
}
