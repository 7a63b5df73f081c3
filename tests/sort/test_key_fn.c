/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_key_fn.c -- orders by a function that computes keys, when it fails: from file to file, and while several sorts
 * share the order.  What comes out when it does not is test_own.c's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/check.h>
#include <extmem/unique.h>

#include "common/test.h"
#include "sort/sort_model.h"

enum { N = 6000, RUN = 700, BYTES = 16 };

/* The function's own; atomic. */
typedef struct computed {
	uint64_t calls, fails_at;
} computed;

static int first_bytes(const void *records, size_t n, uint64_t *keys, void *user)
{
	computed *c = user;
	const unsigned char *record = records;
	size_t i, k;

	if (__atomic_add_fetch(&c->calls, 1, __ATOMIC_RELAXED) == __atomic_load_n(&c->fails_at, __ATOMIC_RELAXED))
		return 1;
	for (i = 0; i < n; i++, record += BYTES)
		for (keys[i] = 0, k = 0; k < 8; k++)
			keys[i] = keys[i] << 8 | record[k];
	return 0;
}

typedef struct fixture {
	test_rng rng;
	computed c;
	sort_shape shape;
	unsigned char *records, *expected;
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
} fixture;

static int setup(void **state)
{
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	static fixture f;
	uint64_t n = N;

	memset(&f, 0, sizeof f);
	f.rng = test_rng_make(test_seed());
	f.shape = sort_shape_of(EM_KEY_BYTES, 8, 0, BYTES);
	f.records = sort_records(&f.rng, &f.shape, SORT_RANDOM, N);
	f.expected = sort_expected(&f.shape, f.records, &n, 0);
	opts.threads = 2;
	f.ctx = sort_ctx(&opts);
	assert_int_equal(
		em_order_key_fn(&f.order, f.ctx, BYTES, "first bytes", first_bytes, EM_FN_THREADS, &f.c, NULL, NULL),
		EM_OK);
	f.opts = sort;
	f.opts.run_records = RUN;
	f.opts.block_bytes = 4096;
	f.opts.memory = 8u << 20;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;

	em_order_close(f->order);
	em_ctx_close(f->ctx);
	free(f->records);
	free(f->expected);
	return 0;
}

enum { SORT, MERGE, UNIQUE, WAYS };

static em_status from_files(fixture *f, int way, const char *const *in, const char *out)
{
	em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	const char *const one = in[0];

	unique.sort = &f->opts;
	return way == SORT    ? em_sort_files(f->ctx, f->order, &one, 1, out, &f->opts, NULL)
	       : way == MERGE ? em_merge_files(f->ctx, f->order, in + 1, 2, out, &f->opts, NULL)
			      : em_unique_files(f->ctx, f->order, &one, 1, out, &unique, NULL);
}

/* One file, and the same in two that are in order.  Whichever call fails, so does the sort, and the output that was
 * there stays. */
static void test_files(void **state)
{
	fixture *f = *state;
	char *dir = test_dir_make(), *all = test_path(dir, "all"), *half = test_path(dir, "half"),
	     *rest = test_path(dir, "rest"), *out = test_path(dir, "out");
	const char *in[] = { all, half, rest };
	unsigned char *sorted;
	uint64_t n = N / 2;
	int way;

	sort_write_file(all, f->records, (size_t)N * BYTES);
	sorted = sort_expected(&f->shape, f->records, &n, 0);
	sort_write_file(half, sorted, (size_t)n * BYTES);
	free(sorted);
	sorted = sort_expected(&f->shape, f->records + N / 2 * BYTES, &n, 0);
	sort_write_file(rest, sorted, (size_t)n * BYTES);
	free(sorted);
	f->opts.errinfo = &f->err;
	for (way = 0; way < WAYS; way++) {
		uint64_t calls, nth = 0;

		f->c.calls = f->c.fails_at = 0;
		if (from_files(f, way, in, out) != EM_OK)
			fail_msg("%s", f->err.text);
		sort_assert_file(out, f->expected, (size_t)N * BYTES);
		calls = f->c.calls;
		assert_true(calls > 10);
		sort_write_file(out, "as before", 9);
		/* How many calls there are depends on who is faster, so not the last ones. */
		for (nth = test_nth_after(0, 1 + nth / 2); nth <= calls / 2; nth = test_nth_after(nth, 1 + nth / 2)) {
			f->c.calls = 0;
			f->c.fails_at = nth;
			assert_int_equal(from_files(f, way, in, out), EM_ERR_USER);
			assert_int_equal(f->err.status, EM_ERR_USER);
			assert_non_null(strstr(f->err.text, "computes keys"));
			sort_assert_file(out, "as before", 9);
		}
	}
	free(all);
	free(half);
	free(rest);
	free(out);
	test_dir_remove(dir);
}

/* A sort that is open when the function fails, whoever had it called, fails as well, and stays so; one that is opened
 * later does not. */
static void test_in_turn(void **state)
{
	fixture *f = *state;
	em_sorter *a, *b, *c;
	em_status st = EM_OK;
	uint64_t i;

	assert_int_equal(em_sorter_open(&a, f->ctx, f->order, &f->opts), EM_OK);
	assert_int_equal(em_sorter_open(&b, f->ctx, f->order, &f->opts), EM_OK);
	assert_int_equal(em_sorter_push(a, f->records, RUN / 2), EM_OK);
	assert_int_equal(em_sorter_push(b, f->records, RUN / 2), EM_OK);
	f->c.calls = 0;
	f->c.fails_at = 1;
	for (i = RUN / 2; i < N && st == EM_OK; i += 50)
		st = em_sorter_push(a, f->records + i * BYTES, 50);
	if (st == EM_OK)
		st = em_sorter_finish(a);
	assert_int_equal(st, EM_ERR_USER);
	st = em_sorter_push(b, f->records, N);
	if (st == EM_OK)
		st = em_sorter_finish(b);
	assert_int_equal(st, EM_ERR_USER);
	em_sorter_error(b, &f->err);
	assert_non_null(strstr(f->err.text, "computes keys"));
	assert_int_equal(em_sorter_finish(b), EM_ERR_USER);
	assert_int_equal(em_sorter_open(&c, f->ctx, f->order, &f->opts), EM_OK);
	assert_int_equal(em_sorter_push(c, f->records, N), EM_OK);
	assert_int_equal(em_sorter_finish(c), EM_OK);
	sort_assert_pull(c, &f->shape, f->expected, N);
	em_sorter_close(a);
	em_sorter_close(b);
	em_sorter_close(c);
}

typedef struct worker {
	fixture *f;
	em_status st;
	int right;              /* what came out is */
} worker;

/* No assertion here: these are for the thread that runs the test. */
static void *sort_all(void *arg)
{
	worker *w = arg;
	fixture *f = w->f;
	const em_batch *batch;
	uint64_t at = 0;
	em_sorter *s;

	w->st = em_sorter_open(&s, f->ctx, f->order, &f->opts);
	if (w->st != EM_OK)
		return NULL;
	w->st = em_sorter_push(s, f->records, N);
	if (w->st == EM_OK)
		w->st = em_sorter_finish(s);
	w->right = 1;
	while (w->st == EM_OK && (w->st = em_sorter_next(s, &batch)) == EM_OK) {
		w->right &=
			at + batch->n <= N && memcmp(batch->records, f->expected + at * BYTES, batch->n * BYTES) == 0;
		at += batch->n;
	}
	w->right &= at == N;
	em_sorter_close(s);
	return NULL;
}

/* Two sorts at the same time: one of them fails at least, and what does not is right. */
static void test_at_once(void **state)
{
	fixture *f = *state;
	uint64_t nth;

	for (nth = 0; nth < 40; nth = test_nth_after(nth, 1 + nth / 2)) {
		worker w[2];
		pthread_t thread;
		int i;

		memset(w, 0, sizeof w);
		w[0].f = w[1].f = f;
		f->c.calls = 0;
		f->c.fails_at = nth;
		assert_int_equal(pthread_create(&thread, NULL, sort_all, &w[0]), 0);
		(void)sort_all(&w[1]);
		pthread_join(thread, NULL);
		/* The one that fails may be the last. */
		assert_true(f->c.calls >= nth && f->c.calls != 0);
		for (i = 0; i < 2; i++)
			assert_true(w[i].st == EM_END ? w[i].right : nth != 0 && w[i].st == EM_ERR_USER);
		assert_true(nth == 0 || w[0].st == EM_ERR_USER || w[1].st == EM_ERR_USER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
