/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cursor_read.c -- copying from a cursor: whole records, in order, none lost and none twice, whatever room there
 * is and wherever windows end; failures come when what was before them is copied.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cursor.h"
#include "common/test.h"

enum { N = 2000, BYTES = 16 * N, WINDOW = 60 };

/* What is behind the cursor: records 0 to N - 1 that lie in `bytes', lent by windows of random lengths. */
typedef struct store {
	emi_cursor cursor;
	test_rng rng;
	unsigned char bytes[BYTES];
	uint64_t ends[N];
	uint64_t lent[WINDOW];  /* of the window */
	uint64_t at, n;         /* records lent, and there are */
	size_t record;          /* 0: any length */
	int reverse;
	uint64_t fail_at;       /* before the window that begins there, once */
	em_batch batch;
} store;

static size_t end_of(const store *s, uint64_t i)
{
	return s->record != 0 ? (size_t)(i + 1) * s->record : (size_t)s->ends[i];
}

static size_t begin_of(const store *s, uint64_t i)
{
	return i != 0 ? end_of(s, i - 1) : 0;
}

/* The place of the record that comes as number i. */
static uint64_t place(const store *s, uint64_t i)
{
	return s->reverse ? s->n - 1 - i : i;
}

static em_status fill(emi_cursor *c, void *object)
{
	store *s = object;
	uint64_t n, first, i;

	if (s->at == s->n)
		return EM_END;
	if (s->at >= s->fail_at) {
		s->fail_at = UINT64_MAX;
		return EM_ERR_IO;
	}
	n = 1 + test_below(&s->rng, WINDOW);
	if (n > s->n - s->at)
		n = s->n - s->at;
	first = s->reverse ? s->n - s->at - n : s->at;
	s->batch.records = s->bytes + begin_of(s, first);
	s->batch.n = (size_t)n;
	s->batch.bytes = end_of(s, first + n - 1) - begin_of(s, first);
	s->batch.ends = s->record != 0 ? NULL : s->lent;
	for (i = 0; i < n; i++)
		s->lent[i] = end_of(s, first + i) - begin_of(s, first);
	s->at += n;
	emi_cursor_show(c, &s->batch);
	return EM_OK;
}

static store *make(size_t record, int reverse, uint64_t n)
{
	store *s = calloc(1, sizeof *s);
	uint64_t i, end = 0;

	assert_non_null(s);
	s->rng = test_rng_make(test_seed());
	test_fill(&s->rng, s->bytes, sizeof s->bytes);
	s->n = n;
	s->record = record;
	s->reverse = reverse;
	s->fail_at = UINT64_MAX;
	for (i = 0; i < N; i++) {
		end += test_below(&s->rng, 17);
		s->ends[i] = end;
	}
	emi_cursor_init(&s->cursor, reverse ? -(ptrdiff_t)record : (ptrdiff_t)record, fill, s);
	return s;
}

/* Look at n records that were copied, of which the first came as number `from'. */
static void look(const store *s, uint64_t from, uint64_t n, const unsigned char *got, const uint64_t *ends)
{
	size_t at = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		const uint64_t k = place(s, from + i);
		const size_t size = end_of(s, k) - begin_of(s, k);

		assert_memory_equal(got + at, s->bytes + begin_of(s, k), size);
		at += size;
		if (ends != NULL)
			assert_true(ends[i] == at);
	}
}

static void read_all(size_t record, int reverse, uint64_t n, uint64_t fail_at)
{
	store *s = make(record, reverse, n);
	em_cursor *c = &s->cursor.c;
	uint64_t ends[100], taken = 0, got = 99, failures = 0;
	unsigned char to[1000];
	const void *one;
	size_t size;
	em_status st;

	s->fail_at = fail_at;
	for (;;) {
		const size_t bytes = (size_t)test_below(&s->rng, sizeof to);
		const uint64_t most = test_below(&s->rng, 100);

		/* Other functions of the cursor take some in between. */
		if (test_below(&s->rng, 8) == 0 && em_cursor_next_sized(c, &one, &size) == EM_OK) {
			look(s, taken, 1, one, NULL);
			taken++;
		}
		st = em_cursor_read(c, to, bytes, record != 0 ? NULL : ends, most, &got);
		assert_true(got <= most);
		assert_true(st == EM_OK ? got != 0 || most == 0 : got == 0);
		look(s, taken, got, to, record != 0 ? NULL : ends);
		taken += got;
		if (st == EM_END)
			break;
		if (st == EM_ERR_RANGE)
			assert_true(bytes < 16);
		failures += st == EM_ERR_IO;
		assert_true(st == EM_OK || st == EM_ERR_RANGE || st == EM_ERR_IO);
	}
	assert_true(taken == n);
	/* One failure at most, which is told unless cursor_next_sized() met it. */
	assert_true(failures <= 1);
	assert_int_equal(em_cursor_read(c, to, sizeof to, record != 0 ? NULL : ends, 1, &got), EM_END);
	free(s);
}

static void test_all(void **state)
{
	static const size_t records[] = { 1, 3, 8, 16, 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof records / sizeof records[0]; i++) {
		read_all(records[i], 0, N, UINT64_MAX);
		read_all(records[i], 0, N, N / 2);
		read_all(records[i], 0, 0, UINT64_MAX);
		read_all(records[i], 0, 1, UINT64_MAX);
		if (records[i] == 0)
			continue;
		read_all(records[i], 1, N, UINT64_MAX);
		read_all(records[i], 1, N, N / 2);
	}
}

/* What was copied before a failure is told first, and the failure by the next call. */
static void test_failure(void **state)
{
	store *s = make(8, 0, N);
	uint64_t n, got = 0;
	unsigned char *to = malloc(BYTES);
	em_status st;

	(void)state;
	assert_non_null(to);
	s->fail_at = 1;
	st = em_cursor_read(&s->cursor.c, to, BYTES, NULL, UINT64_MAX, &n);
	assert_int_equal(st, EM_OK);
	got = n;
	assert_in_range(n, 1, WINDOW);
	assert_int_equal(s->cursor.c.status, EM_ERR_IO);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, BYTES, NULL, UINT64_MAX, &n), EM_OK);
	assert_true(got + n == N);
	free(to);
	free(s);
}

static void test_mistakes(void **state)
{
	store *s = make(8, 0, 4), *v = make(0, 0, 4);
	unsigned char to[64];
	uint64_t ends[4], n = 7;

	(void)state;
	assert_int_equal(em_cursor_read(NULL, to, 8, NULL, 1, &n), EM_ERR_INVAL);
	assert_true(n == 0);
	assert_int_equal(em_cursor_read(&s->cursor.c, NULL, 8, NULL, 1, &n), EM_ERR_INVAL);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, 8, NULL, 1, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, 8, ends, 1, &n), EM_ERR_INVAL);
	assert_int_equal(em_cursor_read(&v->cursor.c, to, 8, NULL, 1, &n), EM_ERR_INVAL);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, 7, NULL, 1, &n), EM_ERR_RANGE);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, 0, NULL, 0, &n), EM_OK);
	assert_int_equal(em_cursor_read(&s->cursor.c, to, sizeof to, NULL, 9, &n), EM_OK);
	assert_true(n == 4);
	free(s);
	free(v);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("base/cursor_read", tests, NULL, NULL);
}
