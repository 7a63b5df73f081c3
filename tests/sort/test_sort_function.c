/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_function.c -- sorting a file by a function of the caller's that fails, or takes long while somebody looks
 * on: on the thread that called, and on all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/phase.h"
#include "sort/files_case.h"

/* An input in no order, and what it is sorted with: the function compares as the shape says. */
typedef struct function_sort {
	files_case c;
	em_ctx *ctx;
	em_order *order;
	unsigned fds;           /* open before */
} function_sort;

/* With as many threads, or with EM_FN_THREADS with one more. */
static void sort_open(function_sort *f, uint64_t n, em_cmp_fn cmp, uint32_t flags, uint32_t threads, void *user)
{
	const sort_shape shape = { 16, 1, { { 0, 8, EM_KEY_BYTES, 0, { 0 } } } };
	test_rng rng = test_rng_make(test_seed());
	em_ctx_opts o = sort_ctx_opts();
	const char *dirs[1];

	f->fds = sort_open_fds();
	f->c = case_make(&shape);
	case_records(&f->c, &rng, SORT_RANDOM, n, 0);
	dirs[0] = f->c.dir;
	o.dirs = dirs;
	o.ndirs = 1;
	o.threads = threads + (flags & EM_FN_THREADS);
	f->ctx = sort_ctx(&o);
	assert_int_equal(em_order_cmp(&f->order, f->ctx, shape.bytes, NULL, cmp, flags, user, NULL, NULL), EM_OK);
}

/* Nothing but the input is left. */
static void sort_close(function_sort *f)
{
	assert_int_equal(unlink(f->c.path[0]), 0);
	assert_dir_empty(f->c.dir);
	case_close(&f->c, f->ctx, f->order);
	assert_int_equal(sort_open_fds(), f->fds);
}

static em_status sort_run(function_sort *f)
{
	const char *paths[CASE_FILES];

	case_begin(&f->c, paths);
	return em_sort_files(f->ctx, f->order, paths, 1, f->c.out, &f->c.opts, &f->c.stats);
}

static void sort_ok(function_sort *f)
{
	uint64_t n = f->c.n_records;
	unsigned char *expected = sort_expected(&f->c.shape, f->c.records, &n, 0);

	if (sort_run(f) != EM_OK)
		fail_msg("%s", f->c.err.text);
	sort_assert_file(f->c.out, expected, (size_t)n * f->c.shape.bytes);
	unlink(f->c.out);
	free(expected);
}

/* It fails, says why, and the output is as it was. */
static void sort_fails(function_sort *f, em_status expected, const char *why)
{
	sort_write_file(f->c.out, "as it was", 9);
	assert_int_equal(sort_run(f), expected);
	if (strstr(f->c.err.text, why) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", f->c.err.text, why);
	sort_assert_file(f->c.out, "as it was", 9);
	unlink(f->c.out);
}

static int give_up(const void *a, const void *b, void *user)
{
	uint64_t *left = user;

	if (__atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) == 1)
		return EM_CMP_ERROR;
	return memcmp(a, b, 8);
}

/* Whichever call fails, the sort does. */
static void test_failing(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_FN_THREADS; flags++) {
		uint64_t left, at, every, all = UINT64_MAX;
		function_sort f;

		sort_open(&f, 3000, give_up, flags, 2, &left);
		f.c.opts.run_records = 300;
		f.c.opts.fan_in = 4;
		left = all;
		sort_ok(&f);
		all -= left;
		/* How many calls there are depends a little on which thread comes first. */
		every = 1 + all / 20;
		for (at = test_nth_after(0, every); at <= all - all / 20; at = test_nth_after(at, every)) {
			left = at;
			sort_fails(&f, EM_ERR_USER, "comparison");
		}
		sort_close(&f);
	}
}

/* Who looks on, and says in some phase that it is enough. */
typedef struct viewer {
	pthread_t caller;
	uint32_t phase;
	uint64_t calls;         /* of the comparison; atomic */
} viewer;

static int stop(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const viewer *v = user;

	(void)done;
	(void)total;
	assert_true(pthread_equal(pthread_self(), v->caller));
	return phase == v->phase;
}

static void watched_open(function_sort *f, uint64_t n, em_cmp_fn cmp, uint32_t flags, viewer *v)
{
	sort_open(f, n, cmp, flags, 1, v);
	f->c.opts.progress = stop;
	f->c.opts.progress_user = v;
}

/* Now and then a comparison takes longer than progress may be silent. */
static int dawdle(const void *a, const void *b, void *user)
{
	const struct timespec t = { 0, 110000000 };
	viewer *v = user;

	if (__atomic_add_fetch(&v->calls, 1, __ATOMIC_RELAXED) % 4000 == 0)
		nanosleep(&t, NULL);
	return memcmp(a, b, 8);
}

static void test_cancel(void **state)
{
	viewer v = { pthread_self(), 0, 0 };
	function_sort f;
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_FN_THREADS; flags++) {
		watched_open(&f, 3000, dawdle, flags, &v);
		f.c.opts.run_records = 200;
		f.c.opts.fan_in = 4;
		for (v.phase = 0; v.phase < TEST_PHASES; v.phase++) {
			v.calls = 0;
			sort_fails(&f, EM_ERR_CANCELED, "canceled");
		}
		sort_close(&f);
	}
}

/* Each takes so long that progress is asked for within one piece of work, and the rest of that is not compared. */
static int drag(const void *a, const void *b, void *user)
{
	const struct timespec t = { 0, 200000 };
	viewer *v = user;

	__atomic_add_fetch(&v->calls, 1, __ATOMIC_RELAXED);
	nanosleep(&t, NULL);
	return memcmp(a, b, 8);
}

static void test_cancel_in_a_piece(void **state)
{
	viewer v = { pthread_self(), EM_PHASE_RUNS, 0 };
	function_sort f;
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_FN_THREADS; flags++) {
		/* One bucket, some 20,000 comparisons. */
		watched_open(&f, 2000, drag, flags, &v);
		v.calls = 0;
		sort_fails(&f, EM_ERR_CANCELED, "canceled");
		assert_true(v.calls < 10000);
		sort_close(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_in_a_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
