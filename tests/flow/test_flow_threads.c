/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_threads.c -- nodes with threads of their own: what is pulled ahead, and a map in any order. */
#include <pthread.h>

#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Numbers that a function makes on another thread: from 0, and it may fail. */
typedef struct counter {
	uint64_t fail_at;
	pthread_t maker;
	int made;
} counter;

static int count_up(void *user, uint64_t i, void *records, size_t *n)
{
	counter *c = user;
	uint64_t *x = records;
	size_t k;

	c->maker = pthread_self();
	c->made = 1;
	*n = 1 + (size_t)(i * 7 % *n);
	for (k = 0; k < *n; k++) {
		if (i + k == c->fail_at)
			return 3;
		x[k] = i + k;
	}
	return 0;
}

/* Numbers of batches that take their time on any thread; 0 fails. */
static int halve(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)__atomic_add_fetch((uint64_t *)user, n, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++) {
		if (x[i] == 0)
			return 9;
		y[i] = x[i] / 2;
	}
	return 0;
}

/* Whatever order batches come in, each record is there once. */
static void test_unordered(void **unused)
{
	enum { N = 100000 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 6; k++) {
		uint64_t seen = 0, sum = 0, want = 0, *x, *y, done = 0;
		em_status st;
		em_stream *s;
		flow_case t;
		size_t i, n;

		flow_open(&t, 16 * MIB, 0);
		x = flow_numbers(&t, N, UINT64_MAX - 1, 0);
		for (i = 0; i < N; i++)
			want += ++x[i] / 2;
		if (k == 5)
			x[N / 2] = 0;
		assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, N, NULL), EM_OK);
		assert_int_equal(em_stream_parallel_map(&s, s, 8, halve, &done, NULL, 2, &t.err), EM_ERR_INVAL);
		assert_int_equal(em_stream_parallel_map(&s, s, 8, halve, &done, NULL, EM_MAP_UNORDERED, &t.err), EM_OK);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 500)), EM_OK);
		y = flow_drain(&t, s, k == 4 ? N / 3 : SIZE_MAX, &n, &st);
		for (i = 0; i < n; i++, seen++)
			sum += y[i];
		assert_int_equal(st, k == 5 ? EM_ERR_USER : k == 4 ? EM_OK : EM_END);
		assert_true(k >= 4 || (seen == N && sum == want && done == N));
		em_stream_close(s);
		free(x);
		free(y);
		flow_close(&t);
	}
}

/* What is pulled ahead is the same, to its end or failure, or until it is closed or canceled. */
static void test_ahead(void **unused)
{
	unsigned k;

	(void)unused;
	for (k = 0; k < 60; k++) {
		const uint64_t n = k % 6 == 0 ? k % 12 / 6 : 1000 * k;
		counter c = { UINT64_MAX, pthread_self(), 0 };
		uint64_t seen = 0, most;
		const em_batch *batch;
		em_errinfo err;
		em_status st;
		em_stream *s;
		flow_case t;
		size_t i;

		flow_open(&t, 16 * MIB, 0);
		most = 1 + test_below(&t.rng, 20000);
		if (k % 3 == 1)
			c.fail_at = test_below(&t.rng, n + 1);
		assert_int_equal(em_stream_generate(&s, t.ctx, 8, n, count_up, &c, NULL, &t.err), EM_OK);
		assert_int_equal(em_stream_ahead(&s, s, 1 + test_below(&t.rng, 50000), &t.err), EM_OK);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, most), EM_OK);
		assert_int_equal(em_stream_count(s), n);
		assert_false(c.made);
		while ((st = em_stream_next(s, &batch)) == EM_OK) {
			for (i = 0; i < batch->n; i++)
				assert_int_equal(((const uint64_t *)batch->records)[i], seen + i);
			seen += batch->n;
			if (k % 3 == 2 && seen > n / 2)
				break;
		}
		if (k % 6 == 5)
			em_ctx_cancel(t.ctx);
		em_stream_error(s, &err);
		if (st == EM_ERR_USER)
			assert_non_null(strstr(err.text, "returned 3"));
		assert_int_equal(st, k % 3 == 2 && n != 0 ? EM_OK : c.fail_at < n ? EM_ERR_USER : EM_END);
		assert_true(seen <= c.fail_at);
		assert_true(st != EM_END || seen == n);
		em_stream_close(s);
		assert_true(!c.made || !pthread_equal(c.maker, pthread_self()));
		flow_close(&t);
	}
}

/* The same of records of any length, however long, in slots of any size. */
static void test_ahead_of_lines(void **unused)
{
	static const uint64_t bytes[] = { 0, 1, 100, 5000, 100000 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 40; k += test_step()) {
		char *dir = test_dir_make(), *path = test_path(dir, "lines");
		const char *list = path;
		lines_model m, got;
		em_stream *s;
		flow_case t;

		flow_open(&t, 16 * MIB, 0);
		lines_random(&t, &m, k < 5 ? k / 2 : (size_t)test_below(&t.rng, 6000), k % 2 == 0 ? 30 : 100000);
		lines_write(path, &m, 0, 1);
		assert_int_equal(em_stream_lines(&s, t.ctx, &list, 1, NULL, &t.err), EM_OK);
		assert_int_equal(em_stream_ahead(&s, s, bytes[k % 5], &t.err), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		if (k % 3 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 3000)), EM_OK);
		if (k % 4 == 0)
			assert_int_equal(em_stream_ahead(&s, s, bytes[k / 5 % 5], &t.err), EM_OK);
		if (k % 7 == 3) {
			assert_true(lines_drain(&t, s, &got, m.n / 2) >= EM_OK);
			lines_free(&got);
			em_stream_close(s);
		} else if (k % 7 == 5) {
			em_status st;

			(void)lines_drain(&t, s, &got, m.n / 2);
			lines_free(&got);
			em_ctx_cancel(t.ctx);
			st = lines_drain(&t, s, &got, SIZE_MAX);
			assert_true(st == EM_ERR_CANCELED || (st == EM_END && m.n == 0));
			lines_free(&got);
			em_stream_close(s);
		} else {
			lines_assert(&t, s, &m);
		}
		lines_free(&m);
		flow_close(&t);
		free(path);
		test_dir_remove(dir);
	}
}

static int at_once(void *user, const em_batch *b)
{
	return b->n != 0 ? *(const int *)user : 0;
}

/* Memory that is not there for a long line, or for anything, is told once and for all; so is what fails below. */
static void test_ahead_failures(void **unused)
{
	uint64_t nth = test_nth_after(0, 1);
	int failed = 1, fails = 11;
	lines_model m, got;
	em_errinfo err;
	em_stream *s;
	flow_case t;
	char *dir = test_dir_make(), *path = test_path(dir, "lines");
	const char *list = path;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	lines_random(&t, &m, 400, 60000);
	lines_write(path, &m, 0, 1);
	assert_int_equal(em_stream_lines(&s, t.ctx, &list, 1, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_lines_inspect(&s, s, at_once, &fails, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_ahead(&s, s, 0, &t.err), EM_OK);
	assert_int_equal(lines_drain(&t, s, &got, SIZE_MAX), EM_ERR_USER);
	assert_int_equal(got.n, 0);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "returned 11"));
	em_stream_close(s);
	lines_free(&got);
	flow_close(&t);
	for (; failed; nth = test_nth_after(nth, 1)) {
		em_status st;

		flow_open(&t, 16 * MIB, 0);
		memset(&got, 0, sizeof got);
		s = NULL;
		t.mem.fail_at = t.mem.calls + nth;
		st = em_stream_lines(&s, t.ctx, &list, 1, NULL, &t.err);
		if (st == EM_OK)
			st = em_stream_ahead(&s, s, 3000, &t.err);
		if (st == EM_OK)
			st = lines_drain(&t, s, &got, SIZE_MAX);
		assert_true(st == EM_END || st == EM_ERR_NOMEM);
		if (st == EM_END)
			lines_assert_same(&got, &m);
		if (s != NULL && st == EM_ERR_NOMEM && test_memory_failed(&t.mem) && got.n != 0)
			assert_int_equal(lines_more(&t, s, &got, SIZE_MAX), EM_ERR_NOMEM);
		failed = test_memory_failed(&t.mem);
		t.mem.fail_at = 0;
		em_stream_close(s);
		lines_free(&got);
		flow_close(&t);
	}
	lines_free(&m);
	free(path);
	test_dir_remove(dir);
}

/* A sort that is pulled ahead has threads of its own, and one above it, too; a mistake below does not end it. */
static void test_ahead_of_sorts(void **unused)
{
	enum { N = 200000 };
	em_order *order;
	em_stream *s;
	uint64_t *x;
	flow_case t;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, N, &t.err), EM_OK);
	assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_ahead(&s, s, 0, &t.err), EM_OK);
	assert_int_equal(em_stream_reverse(&s, s, 0, &t.err), EM_OK);
	assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_ahead(&s, s, 0, &t.err), EM_OK);
	{
		uint64_t *sorted = malloc(N * sizeof *sorted);

		assert_non_null(sorted);
		memcpy(sorted, x, N * sizeof *sorted);
		qsort(sorted, N, sizeof *sorted, by_number);
		flow_assert(&t, s, sorted, N);
		free(sorted);
	}
	em_order_close(order);
	free(x);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_ahead_of_lines),
		cmocka_unit_test(test_ahead_failures),
		cmocka_unit_test(test_ahead_of_sorts),
	};

	return cmocka_run_group_tests_name("flow_threads", tests, NULL, NULL);
}
