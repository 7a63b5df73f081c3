/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_parts_failures.c -- merging sorted files on several threads ends early: a comparison fails, a line is too
 * long, or the caller stops it.  No output is left behind.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "key/normalise.h"
#include "sort/parts_case.h"

enum { RECORD = 40 };

/* It fails when so many more calls were made as *user says. */
static int compare(const void *a, const void *b, void *user)
{
	uint64_t *left = user;
	uint64_t x, y;

	if (__atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) == 1)
		return EM_CMP_ERROR;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/* Nothing is made when a comparison fails. */
static void assert_fails_at(files_case *c, em_ctx *ctx, const em_order *order, uint64_t *left, uint64_t at)
{
	*left = at;
	assert_int_equal(case_merge(c, ctx, order), EM_ERR_USER);
	assert_non_null(strstr(c->err.text, "comparison"));
	assert_int_equal(access(c->out, F_OK), -1);
}

/* A function that fails, on whichever thread. */
static void test_failing_function(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0, RECORD);
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_make(&shape);
	uint64_t left = UINT64_MAX, all, at;
	em_ctx *ctx = parts_ctx(PARTS_MEMORY, PARTS_THREADS, EM_DIRECT_TRY);
	em_order *order;
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		case_records(&c, &rng, SORT_RANDOM, 40000, 1);
	assert_int_equal(em_order_cmp(&order, ctx, RECORD, NULL, compare, EM_FN_THREADS, &left, NULL, NULL), EM_OK);
	case_merge_ok(&c, ctx, order);
	case_assert_sorted(&c, order);
	unlink(c.out);
	all = UINT64_MAX - left;
	for (at = test_nth_after(0, 1 + all / 20); at <= all; at = test_nth_after(at, 1 + all / 20))
		assert_fails_at(&c, ctx, order, &left, at);
	/* The first ones are for where parts begin. */
	for (at = test_nth_after(0, 15); at <= 800; at = test_nth_after(at, 15))
		assert_fails_at(&c, ctx, order, &left, at);
	case_close(&c, ctx, order);
}

/* A line that is too long is told by file and line, as by one thread. */
static void test_too_long(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char text[sizeof(((em_errinfo *)0)->text)] = "";
	files_case c = case_make(NULL);
	uint32_t threads;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		lines l = { 0 };

		parts_add_lines(&l, &rng, 3 * MIB, 0, 100);
		if (i == 1)
			parts_add_line(&l, &rng, (size_t)(PARTS_MEMORY / 4), 1);
		parts_add_lines(&l, &rng, 1000, 0, 100);
		case_lines(&c, NULL, &l, 0, 0);
	}
	for (threads = 1; threads <= 3; threads++) {
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, threads, EM_DIRECT_OFF);
		em_order *order = lines_order(ctx, 0);

		assert_int_equal(case_merge(&c, ctx, order), EM_ERR_FORMAT);
		assert_non_null(strstr(c.err.text, c.path[1]));
		/* How long they may be depends on the memory that the threads leave. */
		*strstr(c.err.text, " is longer") = '\0';
		if (threads == 1)
			memcpy(text, c.err.text, sizeof(text));
		else
			assert_string_equal(text, c.err.text);
		assert_int_equal(access(c.out, F_OK), -1);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	case_free(&c);
}

typedef struct calls {
	unsigned n, stop;       /* stop: the call that says so, from 1; 0: none */
	uint64_t done;
} calls;

static int count_calls(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	calls *k = user;

	(void)phase;
	assert_true(total == 0 || done <= total);
	assert_true(done >= k->done);
	k->done = done;
	return ++k->n == k->stop;
}

static int slow_open(void *user, em_backend_open *how)
{
	const em_backend *be = user;

	usleep(60000);
	return be->open(be->user, how);
}

/* Progress goes on, and a call of it may stop the merge; 0: none.  Returns how many there were. */
static unsigned merge_and_stop(files_case *c, unsigned stop)
{
	const em_backend *be = em_backend_find("syscall");
	const unsigned fds = sort_open_fds();
	em_ctx_opts o = sort_ctx_opts();
	em_backend slow = *be;
	calls k = { 0, stop, 0 };
	em_order *order;
	em_status st;
	em_ctx *ctx;

	slow.user = (void *)(uintptr_t)be;
	slow.open = slow_open;
	o.backend = NULL;
	o.custom = &slow;
	o.threads = 2;
	ctx = sort_ctx(&o);
	order = sort_order(ctx, &c->shape);
	c->opts.progress = count_calls;
	c->opts.progress_user = &k;
	st = case_merge(c, ctx, order);
	assert_int_equal(st, k.n >= stop && stop != 0 ? EM_ERR_CANCELED : EM_OK);
	assert_int_equal(access(c->out, F_OK), st == EM_OK ? 0 : -1);
	unlink(c->out);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_int_equal(sort_open_fds(), fds);
	return k.n;
}

/* Whichever call it is, with places that are known and in turns. */
static void test_cancel(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 64);
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_make(&shape);
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		case_records(&c, &rng, SORT_RANDOM, 2 * MIB / 64, 1);
	for (i = 0; i < 2; i++) {
		unsigned stop, most;

		c.opts.flags = i == 0 ? 0 : EM_SORT_UNIQUE;
		most = merge_and_stop(&c, 0);
		assert_true(most >= 3);
		for (stop = 1; stop <= most; stop++)
			merge_and_stop(&c, stop);
	}
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing_function),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests_name("merge_parts_failures", tests, NULL, NULL);
}
