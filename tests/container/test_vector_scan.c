/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_scan.c -- algorithms on ranges of vectors with small caches and blocks against an array in memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/vector_scan.h>

#include "container/vector_case.h"

enum { CASES = 44, OPERATIONS = 60, KEY_MOST = 3 };

/* A case, a range of it, and what is asked of records. */
typedef struct scan_case {
	vector_case t;
	em_order *order;
	size_t record, key;     /* bytes */
	uint64_t from, n;
	uint64_t at;            /* where a function is */
	uint64_t stop;          /* the call that is to stop, from 1; 0: none */
	uint64_t calls;
	uint64_t limit;         /* of a test: the first byte is less */
	char *was;              /* the range as it was */
} scan_case;

static uint64_t below(scan_case *s, uint64_t n)
{
	return test_below(&s->t.f.rng, n);
}

/* A range, and what has been in it; fewer records more often.  Some records are in the cache, and changed. */
static void choose(scan_case *s)
{
	vector_case *t = &s->t;
	unsigned i;

	for (i = 0; i < 3 && t->n != 0; i++) {
		const uint64_t at = below(s, t->n);

		vector_case_draw(t, 1);
		t->buf[0] = (char)(t->buf[0] & 7);
		assert_vector_ok(t, em_vector_set(t->v, at, t->buf));
		vector_case_put(t, at, 1);
	}
	s->from = below(s, t->n + 1);
	s->n = t->n - s->from;
	if (below(s, 3) == 0)
		s->n = below(s, s->n + 1);
	else if (below(s, 3) == 0)
		s->n = s->n < 5 ? s->n : below(s, 5);
	s->at = s->from;
	s->stop = 0;
	s->calls = 0;
	s->limit = below(s, 9);
	memcpy(s->was, t->is + s->from * s->record, (size_t)s->n * s->record);
}

/* The n of a call: what it is, or that it goes to the end. */
static uint64_t told_n(scan_case *s)
{
	return s->from + s->n == s->t.n && below(s, 2) == 0 ? UINT64_MAX : s->n;
}

static unsigned char *model(scan_case *s, uint64_t i)
{
	return s->t.is + i * s->record;
}

/* What the vector has in the range becomes the model. */
static void adopt(scan_case *s)
{
	assert_vector_ok(&s->t, em_vector_read(s->t.v, s->from, model(s, s->from), s->n));
}

static size_t sort_record, sort_key;

static int by_all(const void *a, const void *b)
{
	return memcmp(a, b, sort_record);
}

static int by_key_and_place(const void *a, const void *b)
{
	const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;
	const int c = memcmp(x, y, sort_key);

	return c != 0 ? c : (x > y) - (x < y);
}

/* It has the same records, in any order. */
static void assert_same_records(scan_case *s)
{
	char *is = malloc((size_t)s->n * s->record + 1), *was = malloc((size_t)s->n * s->record + 1);

	assert_true(is != NULL && was != NULL);
	memcpy(is, model(s, s->from), (size_t)s->n * s->record);
	memcpy(was, s->was, (size_t)s->n * s->record);
	sort_record = s->record;
	qsort(is, (size_t)s->n, s->record, by_all);
	qsort(was, (size_t)s->n, s->record, by_all);
	assert_memory_equal(is, was, (size_t)s->n * s->record);
	free(is);
	free(was);
}

/* The range as it was, sorted stably, in the model; unique: how many have another key than the one before, in front. */
static uint64_t sort_model(scan_case *s, int unique)
{
	char **list = malloc(((size_t)s->n + 1) * sizeof *list);
	uint64_t i, left = 0;

	assert_non_null(list);
	for (i = 0; i < s->n; i++)
		list[i] = s->was + i * s->record;
	sort_key = s->key;
	qsort(list, (size_t)s->n, sizeof *list, by_key_and_place);
	for (i = 0; i < s->n; i++) {
		if (unique && i != 0 && memcmp(list[i], list[i - 1], s->key) == 0)
			continue;
		memcpy(model(s, s->from + left++), list[i], s->record);
	}
	free(list);
	return left;
}

static int look(void *user, uint64_t i, const void *records, uint64_t n)
{
	scan_case *s = user;

	assert_true(n > 0 && i == s->at && i + n <= s->from + s->n);
	assert_memory_equal(records, model(s, i), (size_t)n * s->record);
	s->at += n;
	return ++s->calls == s->stop ? 7 : 0;
}

/* It was stopped, and the detail says by what. */
static void assert_stopped(scan_case *s, em_status st, const char *what)
{
	em_errinfo err;

	assert_int_equal(st, EM_ERR_USER);
	em_vector_error(s->t.v, &err);
	assert_non_null(strstr(err.text, what));
}

static void for_each(scan_case *s)
{
	em_status st;

	s->stop = below(s, 3) == 0 ? 1 + below(s, 3) : 0;
	st = em_vector_for_each(s->t.v, s->from, told_n(s), look, s);
	if (s->stop != 0 && s->calls == s->stop) {
		assert_stopped(s, st, "7");
		return;
	}
	assert_vector_ok(&s->t, st);
	assert_true(s->at == s->from + s->n);
}

static int turn(void *user, uint64_t i, void *records, uint64_t n)
{
	scan_case *s = user;
	unsigned char *r = records;
	size_t k;

	assert_true(n > 0 && i == s->at && i + n <= s->from + s->n);
	assert_memory_equal(records, model(s, i), (size_t)n * s->record);
	for (k = 0; k < n * s->record; k++)
		r[k] ^= 0x55;
	memcpy(model(s, i), r, (size_t)n * s->record);
	s->at += n;
	return ++s->calls == s->stop ? -2 : 0;
}

/* Stopped on its way, it has changed some first records. */
static void assert_begun(scan_case *s)
{
	uint64_t i;
	char *is = malloc((size_t)s->n * s->record + 1);

	assert_non_null(is);
	assert_vector_ok(&s->t, em_vector_read(s->t.v, s->from, is, s->n));
	for (i = 0; i < s->n && memcmp(is + i * s->record, model(s, s->from + i), s->record) == 0;)
		i++;
	assert_memory_equal(is + i * s->record, s->was + i * s->record, (size_t)(s->n - i) * s->record);
	free(is);
	adopt(s);
}

static void mutate(scan_case *s)
{
	em_status st;

	s->stop = below(s, 3) == 0 ? 1 + below(s, 3) : 0;
	st = em_vector_mutate(s->t.v, s->from, told_n(s), turn, s);
	if (s->stop != 0 && s->calls == s->stop) {
		assert_stopped(s, st, "-2");
		assert_begun(s);
		return;
	}
	assert_vector_ok(&s->t, st);
	assert_true(s->at == s->from + s->n);
}

static int make(void *user, uint64_t i, void *records, uint64_t n)
{
	scan_case *s = user;

	assert_true(n > 0 && i == s->at && i + n <= s->from + s->n);
	test_fill(&s->t.f.rng, records, (size_t)n * s->record);
	memcpy(model(s, i), records, (size_t)n * s->record);
	s->at += n;
	return 0;
}

/* These may go beyond the end. */
static void make_longer(scan_case *s)
{
	if (below(s, 2) == 0)
		s->n = below(s, s->t.room - s->from + 1);
	if (s->from + s->n > s->t.n)
		s->t.n = s->from + s->n;
}

static void generate(scan_case *s)
{
	make_longer(s);
	assert_vector_ok(&s->t, em_vector_generate(s->t.v, s->from, s->n, make, s));
	assert_true(s->at == s->from + s->n);
}

static void fill(scan_case *s)
{
	uint64_t i;

	make_longer(s);
	vector_case_draw(&s->t, 1);
	for (i = 0; i < s->n; i++)
		memcpy(model(s, s->from + i), s->t.buf, s->record);
	assert_vector_ok(&s->t, em_vector_fill(s->t.v, s->from, s->n, s->t.buf));
}

static int is_low(void *user, const void *record)
{
	const scan_case *s = user;

	return *(const unsigned char *)record < s->limit ? 5 : 0;
}

static void find_and_count(scan_case *s)
{
	uint64_t i, first = s->from + s->n, many = 0, at = 99, count = 99;
	em_status st;

	for (i = s->from + s->n; i-- > s->from;)
		if (is_low(s, model(s, i))) {
			first = i;
			many++;
		}
	st = em_vector_find(s->t.v, s->from, told_n(s), is_low, s, &at);
	assert_int_equal(st, many != 0 ? EM_OK : EM_NOT_FOUND);
	assert_int_equal(at, first);
	assert_vector_ok(&s->t, em_vector_count(s->t.v, s->from, told_n(s), is_low, s, &count));
	assert_int_equal(count, many);
}

static void copy(scan_case *s)
{
	const uint64_t most = s->t.room - s->n < s->t.n ? s->t.room - s->n : s->t.n;
	uint64_t to = below(s, most + 1);

	/* Near it, so that they overlap. */
	if (below(s, 2) == 0 && s->from + 3 <= most)
		to = s->from + below(s, 4);
	assert_vector_ok(&s->t, em_vector_copy(s->t.v, to, s->t.v, s->from, told_n(s)));
	memcpy(model(s, to), s->was, (size_t)s->n * s->record);
	if (to + s->n > s->t.n)
		s->t.n = to + s->n;
}

/* To another vector, behind some records, and back to another place. */
static void copy_over(scan_case *s)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	const uint64_t more = below(s, 10), to = below(s, s->t.n - s->n + 1);
	em_vector *b;

	opts.record_bytes = s->record;
	opts.block_bytes = s->record > 4096 ? 16384 : 4096;
	opts.cache_bytes = 4 * opts.block_bytes;
	opts.records = more;
	assert_int_equal(em_vector_open(&b, s->t.f.ctx, &opts), EM_OK);
	assert_int_equal(em_vector_copy(b, more, s->t.v, s->from, told_n(s)), EM_OK);
	assert_int_equal(em_vector_size(b), more + s->n);
	assert_vector_ok(&s->t, em_vector_copy(s->t.v, to, b, more, UINT64_MAX));
	memcpy(model(s, to), s->was, (size_t)s->n * s->record);
	em_vector_close(b);
}

static void reverse(scan_case *s)
{
	uint64_t i;

	assert_vector_ok(&s->t, em_vector_reverse(s->t.v, s->from, told_n(s)));
	for (i = 0; i < s->n; i++)
		memcpy(model(s, s->from + i), s->was + (s->n - 1 - i) * s->record, s->record);
}

static void partition(scan_case *s)
{
	uint64_t i, middle = 0;

	assert_vector_ok(&s->t, em_vector_partition(s->t.v, s->from, told_n(s), is_low, s, &middle));
	adopt(s);
	assert_same_records(s);
	assert_true(middle >= s->from && middle <= s->from + s->n);
	for (i = s->from; i < s->from + s->n; i++)
		assert_int_equal(is_low(s, model(s, i)) != 0, i < middle);
}

static void nth_element(scan_case *s)
{
	uint64_t i, k;
	char kth[KEY_MOST];

	if (s->n == 0) {
		assert_int_equal(em_vector_nth_element(s->t.v, s->from, 0, 0, s->order), EM_ERR_RANGE);
		return;
	}
	k = below(s, s->n);
	sort_model(s, 0);
	memcpy(kth, model(s, s->from + k), s->key);
	assert_vector_ok(&s->t, em_vector_nth_element(s->t.v, s->from, told_n(s), k, s->order));
	adopt(s);
	assert_same_records(s);
	assert_memory_equal(model(s, s->from + k), kth, s->key);
	for (i = 0; i < s->n; i++) {
		const int c = memcmp(model(s, s->from + i), kth, s->key);

		assert_true(i < k ? c <= 0 : c >= 0);
	}
}

static void sort(scan_case *s)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const int plain = (int)below(s, 2), unique = !plain && below(s, 2) == 0;
	uint64_t left = 99, expected;

	if (!plain) {
		opts.flags = unique ? EM_SORT_UNIQUE : 0;
		opts.run_records = 1 + s->n / (1 + below(s, 5));
		opts.block_bytes = s->record > 4096 ? 8192 : 4096;
	}
	expected = sort_model(s, unique);
	assert_vector_ok(&s->t, em_vector_sort(s->t.v, s->from, told_n(s), s->order, plain ? NULL : &opts, &left));
	assert_int_equal(left, expected);
}

/* In a range that is sorted. */
static void lower_bound(scan_case *s)
{
	uint64_t i, first = s->from, at = 99, expected;
	char *one = malloc(s->record);
	em_status st;

	assert_non_null(one);
	sort_model(s, 0);
	assert_vector_ok(&s->t, em_vector_sort(s->t.v, s->from, s->n, s->order, NULL, NULL));
	for (i = 0; i < 5; i++) {
		test_fill(&s->t.f.rng, one, s->record);
		one[0] = (char)(one[0] & 7);
		if (s->n != 0 && i % 2 == 0)
			memcpy(one, model(s, s->from + below(s, s->n)), s->record);
		for (first = s->from; first < s->from + s->n && memcmp(model(s, first), one, s->key) < 0;)
			first++;
		expected = first < s->from + s->n && memcmp(model(s, first), one, s->key) == 0;
		st = em_vector_lower_bound(s->t.v, s->from, told_n(s), s->order, one, &at);
		assert_int_equal(st, expected ? EM_OK : EM_NOT_FOUND);
		assert_int_equal(at, first);
	}
	free(one);
}

static void shuffle(scan_case *s)
{
	const uint64_t seed = below(s, 3);
	char *once = malloc((size_t)s->n * s->record + 1);

	assert_non_null(once);
	assert_vector_ok(&s->t, em_vector_shuffle(s->t.v, s->from, told_n(s), seed, NULL));
	adopt(s);
	assert_same_records(s);
	memcpy(once, model(s, s->from), (size_t)s->n * s->record);
	assert_vector_ok(&s->t, em_vector_write(s->t.v, s->from, s->was, s->n));
	assert_vector_ok(&s->t, em_vector_shuffle(s->t.v, s->from, told_n(s), seed, NULL));
	adopt(s);
	assert_memory_equal(once, model(s, s->from), (size_t)s->n * s->record);
	free(once);
}

static void find_disorder(scan_case *s)
{
	uint64_t i, at = 99;
	em_status st;

	if (below(s, 2) == 0) {
		sort_model(s, 0);
		assert_vector_ok(&s->t, em_vector_sort(s->t.v, s->from, s->n, s->order, NULL, NULL));
	}
	for (i = s->from + 1; i < s->from + s->n; i++)
		if (memcmp(model(s, i - 1), model(s, i), s->key) > 0)
			break;
	st = em_vector_find_disorder(s->t.v, s->from, told_n(s), s->order, &at);
	assert_int_equal(st, i < s->from + s->n ? EM_OK : EM_NOT_FOUND);
	assert_int_equal(at, i < s->from + s->n ? i : s->from + s->n);
}

static void open_case(scan_case *s, unsigned c)
{
	static const uint32_t records[] = { 1, 4, 8, 12, 100, 1000, 1365, 2048, 3000, 4096, 5000 };
	const uint32_t record = records[c % (sizeof records / sizeof *records)];
	const uint64_t room = record < 8 ? 30000 : 400000 / record + 3;
	const int bound = c % 2;
	em_key key = { 0, 0, EM_KEY_BYTES, 0, { 0 } };
	vector_case *t = &s->t;
	uint64_t i;

	vector_case_open(t, em_backend_find(bound ? "syscall" : "memory"), record, room);
	t->opts.block_bytes = !bound && record > 4096 ? 8192 : (uint64_t)4096 << below(s, 2);
	t->opts.page_blocks = (uint32_t)below(s, 3);
	t->opts.cache_bytes = (2 * 2 + below(s, 20)) * t->opts.block_bytes;
	vector_case_make(t, bound);
	s->record = record;
	s->key = record < KEY_MOST ? record : KEY_MOST;
	key.width = s->key;
	assert_int_equal(em_order_keys(&s->order, t->f.ctx, record, &key, 1, NULL), EM_OK);
	s->was = malloc((size_t)(room + 1) * record);
	assert_non_null(s->was);
	vector_case_draw(t, room);
	/* Of some keys there are many. */
	for (i = 0; i < room; i++)
		t->buf[i * record] = (char)(t->buf[i * record] & 7);
	for (i = 0; i < room && c % 3 == 0; i++)
		memset(t->buf + i * record + 1, 0, s->key - 1);
	assert_vector_ok(t, em_vector_push_many(t->v, t->buf, room - room / 10, NULL));
	vector_case_put(t, 0, room - room / 10);
}

static void test_model(void **state)
{
	static void (*const operations[])(scan_case * s) = {
		for_each, mutate,    generate,	  fill, find_and_count, copy,	     copy,    copy_over,
		reverse,  partition, nth_element, sort, sort,		lower_bound, shuffle, find_disorder};
	unsigned c, i;

	(void)state;
	for (c = 0; c < CASES; c += test_step()) {
		scan_case s;

		memset(&s, 0, sizeof s);
		open_case(&s, c);
		for (i = 0; i < OPERATIONS; i++) {
			choose(&s);
			operations[below(&s, sizeof operations / sizeof *operations)](&s);
			if (below(&s, 4) == 0)
				vector_case_check(&s.t);
		}
		vector_case_check(&s.t);
		em_order_close(s.order);
		free(s.was);
		vector_case_close(&s.t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
