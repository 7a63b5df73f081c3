/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_sort.c -- sorting, shuffling and selecting in vectors where memory is scarce, functions fail, disks fail,
 * or the vector is in no state for it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/shuffle.h>
#include <extmem/vector_scan.h>

#include "container/vector_case.h"

enum { BLOCK = 4096, PER = BLOCK / 8 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

static em_order *order_u64(vector_case *t)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_order *order;

	assert_int_equal(em_order_keys(&order, t->f.ctx, t->opts.record_bytes, &key, 1, NULL), EM_OK);
	return order;
}

/* The order is that of em_shuffle_files(), also where there is more than a stage holds, and a part of a vector. */
static void test_shuffle(void **state)
{
	enum { N = 30001 };
	static const uint32_t records[] = { 1, 12, 3000 };
	unsigned k;

	(void)state;
	for (k = 0; k < sizeof records / sizeof *records; k++) {
		const uint64_t record = records[k], n = record > 100 ? 100 : N;
		em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;
		vector_case t;
		char *name;
		FILE *f;

		vector_case_open(&t, memory(), record, n + 10);
		vector_case_make(&t, 0);
		t.dir = test_dir_make();
		t.path = test_path(t.dir, "in");
		name = test_path(t.dir, "out");
		vector_case_draw(&t, n + 10);
		assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, n + 10, NULL));
		vector_case_put(&t, 0, n + 10);
		f = fopen(t.path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(t.is + 5 * record, record, n, f), n);
		assert_int_equal(fclose(f), 0);
		opts.seed = 3 * k;
		assert_int_equal(em_shuffle_files(t.f.ctx, record, (const char *const *)&t.path, 1, name, &opts, NULL),
				 EM_OK);
		f = fopen(name, "rb");
		assert_non_null(f);
		assert_int_equal(fread(t.is + 5 * record, record, n, f), n);
		assert_int_equal(fclose(f), 0);
		assert_vector_ok(&t, em_vector_shuffle(t.v, 5, n, 3 * k, NULL));
		vector_case_check(&t);
		free(name);
		vector_case_close(&t);
	}
}

/* Numbers that are made, and their sum. */
typedef struct numbers {
	test_rng rng;
	uint64_t sum;
} numbers;

static int draw(void *user, uint64_t i, void *records, uint64_t n)
{
	numbers *m = user;
	uint64_t *x = records;

	(void)i;
	for (; n != 0; n--)
		m->sum += *x++ = test_random(&m->rng);
	return 0;
}

static int add(void *user, uint64_t i, const void *records, uint64_t n)
{
	const uint64_t *x = records;
	uint64_t *sum = user;

	(void)i;
	while (n-- != 0)
		*sum += *x++;
	return 0;
}

/* More records than the context has memory for, and a cache that has nothing yet. */
static void test_scarce(void **state)
{
	const uint64_t n = (uint64_t)(6 << 20) / test_fewer();
	uint64_t sum = 0, at, k, kth, before, behind;
	em_order *order;
	vector_case t;
	numbers m;

	(void)state;
	vector_case_open(&t, memory(), 8, 1);
	vector_case_make(&t, 0);
	order = order_u64(&t);
	m.rng = t.f.rng;
	m.sum = 0;
	assert_vector_ok(&t, em_vector_generate(t.v, 0, n, draw, &m));
	k = test_below(&m.rng, n);
	assert_vector_ok(&t, em_vector_nth_element(t.v, 0, UINT64_MAX, k, order));
	assert_vector_ok(&t, em_vector_get(t.v, k, &kth));
	assert_vector_ok(&t, em_vector_get(t.v, 0, &before));
	assert_vector_ok(&t, em_vector_get(t.v, n - 1, &behind));
	/* A range that begins and ends within blocks. */
	assert_vector_ok(&t, em_vector_sort(t.v, 1, n - 2, order, NULL, NULL));
	assert_int_equal(em_vector_find_disorder(t.v, 1, n - 2, order, &at), EM_NOT_FOUND);
	assert_vector_ok(&t, em_vector_set(t.v, 0, &behind));
	assert_vector_ok(&t, em_vector_set(t.v, n - 1, &before));
	assert_vector_ok(&t, em_vector_reverse(t.v, 0, UINT64_MAX));
	assert_vector_ok(&t, em_vector_sort(t.v, 0, UINT64_MAX, order, NULL, &at));
	assert_int_equal(at, n);
	assert_int_equal(em_vector_find_disorder(t.v, 0, UINT64_MAX, order, &at), EM_NOT_FOUND);
	assert_vector_ok(&t, em_vector_get(t.v, k, &at));
	assert_int_equal(at, kth);
	assert_vector_ok(&t, em_vector_shuffle(t.v, 0, UINT64_MAX, 5, NULL));
	assert_vector_ok(&t, em_vector_for_each(t.v, 0, UINT64_MAX, add, &sum));
	assert_true(sum == m.sum);
	em_order_close(order);
	vector_case_close(&t);
}

/* Compares by the first byte, until that is 255. */
static int compare(const void *a, const void *b, void *user)
{
	const unsigned char *x = a, *y = b;

	(void)user;
	if (*x == 255 || *y == 255)
		return EM_CMP_ERROR;
	return *x - *y;
}

enum { RECORD = 500 };

static int keys_of(const void *records, size_t n, uint64_t *keys, void *user)
{
	const unsigned char *r = records;

	(void)user;
	for (; n != 0; n--, r += RECORD) {
		if (*r == 255)
			return 1;
		*keys++ = *r;
	}
	return 0;
}

static void fails(vector_case *t, em_status st)
{
	assert_int_equal(st, EM_ERR_USER);
	em_vector_error(t->v, &t->err);
	assert_int_equal(t->err.status, EM_ERR_USER);
	assert_true(t->err.text[0] != '\0');
}

/* A function of an order that fails has the call fail, and the records stay what they are. */
static void test_failing_order(void **state)
{
	enum { N = 3000 };
	unsigned kind;

	(void)state;
	for (kind = 0; kind < 2; kind++) {
		unsigned char one[RECORD] = { 255 };
		em_order *order;
		vector_case t;
		uint64_t at = 7, i;

		vector_case_open(&t, memory(), RECORD, N);
		vector_case_make(&t, 0);
		if (kind == 0)
			assert_int_equal(em_order_cmp(&order, t.f.ctx, RECORD, "byte", compare, 0, NULL, NULL, NULL),
					 EM_OK);
		else
			assert_int_equal(em_order_key_fn(&order, t.f.ctx, RECORD, "byte", keys_of, 0, NULL, NULL, NULL),
					 EM_OK);
		vector_case_draw(&t, N);
		for (i = 0; i < N; i++)
			t.buf[i * RECORD] = (char)(i % 100);
		t.buf[(N - 3) * RECORD] = (char)255;
		assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, N, NULL));
		vector_case_put(&t, 0, N);
		fails(&t, em_vector_sort(t.v, 0, UINT64_MAX, order, NULL, &at));
		vector_case_check(&t);
		fails(&t, em_vector_find_disorder(t.v, N - 10, 10, order, &at));
		fails(&t, em_vector_lower_bound(t.v, 0, 100, order, one, &at));
		assert_int_equal(at, 7);
		vector_case_check(&t);
		fails(&t, em_vector_nth_element(t.v, 0, UINT64_MAX, N / 2, order));
		assert_int_equal(em_vector_nth_element(t.v, 0, 10, 3, order), EM_OK);
		em_order_close(order);
		vector_case_close(&t);
	}
}

/* Before all was read nothing is changed; after that the detail says what has become of the range. */
static void test_undefined(void **state)
{
	enum { BLOCKS = 200, N = BLOCKS * PER };
	uint64_t nth = 0, left = 77, failed = 0;
	int writes = 0;

	(void)state;
	while (writes < 2) {
		em_order *order;
		vector_case t;
		em_status st;

		nth = test_nth_after(nth, 7);
		vector_case_numbers(&t, memory(), N, 8);
		order = order_u64(&t);
		vector_case_draw(&t, N);
		vector_case_put(&t, 0, N);
		assert_vector_ok(&t, em_vector_push_many(t.v, t.is, N, NULL));
		assert_vector_ok(&t, em_vector_flush(t.v, 0));
		em_fault_set(&t.f.fault[0], writes ? EM_FAULT_WRITE : EM_FAULT_READ, nth, 1);
		st = em_vector_sort(t.v, 0, UINT64_MAX, order, NULL, &left);
		em_fault_set(&t.f.fault[0], 0, 0, 0);
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(left, 77);
			em_vector_error(t.v, &t.err);
			assert_int_equal(strstr(t.err.text, "; the range is undefined") != NULL, writes);
			failed++;
			if (writes)
				assert_vector_ok(&t, em_vector_write(t.v, 0, t.is, N));
			vector_case_check(&t);
		} else {
			/* Some blocks are in memory. */
			assert_true(nth > BLOCKS - 16);
			writes++;
			nth = 0;
		}
		left = 77;
		em_order_close(order);
		vector_case_close(&t);
	}
	assert_true(failed > 8 || !test_sweeps());
}

static int look(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	return n == 0;
}

static int change(void *user, uint64_t i, void *records, uint64_t n)
{
	return look(user, i, records, n);
}

static int test(void *user, const void *record)
{
	return look(user, 0, record, 1);
}

/* All that change a range are refused, and nothing is changed. */
static void refused(vector_case *t, em_order *order, uint64_t from, uint64_t n, em_status expected)
{
	uint64_t at;

	assert_int_equal(em_vector_mutate(t->v, from, n, change, NULL), expected);
	assert_int_equal(em_vector_generate(t->v, from, n, change, NULL), expected);
	assert_int_equal(em_vector_fill(t->v, from, n, t->is), expected);
	assert_int_equal(em_vector_copy(t->v, from, t->v, from, n), expected);
	assert_int_equal(em_vector_reverse(t->v, from, n), expected);
	assert_int_equal(em_vector_partition(t->v, from, n, test, NULL, &at), expected);
	assert_int_equal(em_vector_nth_element(t->v, from, n, 0, order), expected);
	assert_int_equal(em_vector_sort(t->v, from, n, order, NULL, &at), expected);
	assert_int_equal(em_vector_shuffle(t->v, from, n, 1, NULL), expected);
	em_vector_error(t->v, &t->err);
	assert_int_equal(t->err.status, expected);
	vector_case_check(t);
}

static void test_states(void **state)
{
	enum { N = 10 * PER };
	em_sort_opts sort = EM_SORT_OPTS_INIT;
	em_vector_writer *w;
	em_order *order;
	vector_case t;
	void *record;
	uint64_t at;

	(void)state;
	vector_case_numbers(&t, memory(), N, 8);
	order = order_u64(&t);
	vector_case_draw(&t, N);
	vector_case_put(&t, 0, N);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.is, N, NULL));
	assert_vector_ok(&t, em_vector_pin(t.v, 3 * PER + 5, 0, &record));
	refused(&t, order, 0, N, EM_ERR_STATE);
	refused(&t, order, 3 * PER + 6, PER, EM_ERR_STATE);
	assert_vector_ok(&t, em_vector_sort(t.v, 0, 3 * PER, order, NULL, NULL));
	assert_vector_ok(&t, em_vector_sort(t.v, 4 * PER, UINT64_MAX, order, NULL, NULL));
	assert_vector_ok(&t, em_vector_count(t.v, 0, N, test, NULL, &at));
	assert_vector_ok(&t, em_vector_unpin(t.v, 3 * PER + 5, 0));
	assert_vector_ok(&t, em_vector_write(t.v, 0, t.is, N));
	assert_vector_ok(&t, em_vector_writer_open(&w, t.v, NULL));
	refused(&t, order, 0, N, EM_ERR_STATE);
	em_vector_writer_close(w);
	refused(&t, order, N + 1, 1, EM_ERR_RANGE);
	refused(&t, order, 1, UINT64_MAX - 1, EM_ERR_RANGE);
	assert_int_equal(em_vector_for_each(t.v, 1, N, look, NULL), EM_ERR_RANGE);
	assert_int_equal(em_vector_find(t.v, N + 1, UINT64_MAX, test, NULL, &at), EM_ERR_RANGE);
	assert_int_equal(em_vector_generate(t.v, 0, UINT64_MAX, change, NULL), EM_ERR_RANGE);
	assert_int_equal(em_vector_nth_element(t.v, 5, 5, 5, order), EM_ERR_RANGE);
	assert_int_equal(em_vector_copy(t.v, N + 1, t.v, 0, 0), EM_ERR_RANGE);
	sort.flags = EM_SORT_UNIQUE;
	assert_int_equal(em_vector_shuffle(t.v, 0, N, 1, &sort), EM_ERR_INVAL);
	sort.flags = 0;
	sort.size = 0;
	assert_int_equal(em_vector_shuffle(t.v, 0, N, 1, &sort), EM_ERR_VERSION);
	assert_int_equal(em_vector_sort(t.v, 0, N, order, &sort, NULL), EM_ERR_VERSION);
	em_order_close(order);
	t.opts.record_bytes = 12;
	order = order_u64(&t);
	t.opts.record_bytes = 8;
	assert_int_equal(em_vector_sort(t.v, 0, N, order, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_nth_element(t.v, 0, N, 1, order), EM_ERR_INVAL);
	assert_int_equal(em_vector_lower_bound(t.v, 0, N, order, t.is, &at), EM_ERR_INVAL);
	assert_int_equal(em_vector_find_disorder(t.v, 0, N, order, &at), EM_ERR_INVAL);
	vector_case_check(&t);
	em_order_close(order);
	vector_case_close(&t);
}

/* A file that is only read is not changed; the other algorithms work. */
static void test_read_only(void **state)
{
	enum { N = 5 * PER };
	em_order *order;
	vector_case t;
	uint64_t at;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 8, N);
	vector_case_make(&t, 1);
	vector_case_draw(&t, N);
	vector_case_put(&t, 0, N);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.is, N, NULL));
	t.opts.flags = EM_VECTOR_READ_ONLY;
	vector_case_reopen(&t);
	order = order_u64(&t);
	refused(&t, order, 0, N, EM_ERR_ACCESS);
	assert_vector_ok(&t, em_vector_count(t.v, 0, N, test, NULL, &at));
	assert_vector_ok(&t, em_vector_for_each(t.v, 0, N, look, NULL));
	em_order_close(order);
	vector_case_close(&t);
}

/* Two vectors that are no match. */
static void test_two(void **state)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	em_vector *b;
	vector_case t;

	(void)state;
	vector_case_numbers(&t, memory(), 100, 8);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.is, 100, NULL));
	opts.record_bytes = 9;
	assert_int_equal(em_vector_open(&b, t.f.ctx, &opts), EM_OK);
	assert_int_equal(em_vector_copy(b, 0, t.v, 0, 1), EM_ERR_INVAL);
	em_vector_close(b);
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	opts.record_bytes = 8;
	assert_int_equal(em_vector_open(&b, ctx, &opts), EM_OK);
	assert_int_equal(em_vector_copy(b, 0, t.v, 0, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_copy(t.v, 0, b, 0, 0), EM_ERR_INVAL);
	em_vector_close(b);
	em_ctx_close(ctx);
	vector_case_close(&t);
}

static int cancel(void *user, uint64_t i, const void *records, uint64_t n)
{
	vector_case *t = user;

	(void)records;
	if (i / PER == 20)
		em_ctx_cancel(t->f.ctx);
	return n == 0;
}

/* A context that is canceled meanwhile ends it soon. */
static void test_canceled(void **state)
{
	enum { N = 300 * PER };
	vector_case t;

	(void)state;
	vector_case_numbers(&t, memory(), N, 8);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.is, N, NULL));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	assert_int_equal(em_vector_for_each(t.v, 0, UINT64_MAX, cancel, &t), EM_ERR_CANCELED);
	assert_int_equal(em_vector_size(t.v), N);
	vector_case_close(&t);
}

/* Few records are not on a disk after any of these. */
static void test_small(void **state)
{
	enum { N = 1000 };
	em_order *order;
	vector_case t;
	uint64_t at;

	(void)state;
	vector_case_open(&t, memory(), 8, N);
	t.f.fault[0].ops = EM_FAULT_ALL;
	t.f.fault[0].count = 0;
	vector_case_make(&t, 0);
	order = order_u64(&t);
	vector_case_draw(&t, N);
	vector_case_put(&t, 0, N);
	assert_vector_ok(&t, em_vector_generate(t.v, 0, N, change, NULL));
	assert_vector_ok(&t, em_vector_write(t.v, 0, t.is, N));
	assert_vector_ok(&t, em_vector_mutate(t.v, 0, N, change, NULL));
	assert_vector_ok(&t, em_vector_for_each(t.v, 0, N, look, NULL));
	assert_vector_ok(&t, em_vector_reverse(t.v, 0, N));
	assert_vector_ok(&t, em_vector_partition(t.v, 0, N, test, NULL, &at));
	assert_vector_ok(&t, em_vector_nth_element(t.v, 0, N, N / 2, order));
	assert_vector_ok(&t, em_vector_shuffle(t.v, 0, N, 1, NULL));
	assert_vector_ok(&t, em_vector_sort(t.v, 0, N, order, NULL, NULL));
	assert_int_equal(em_vector_find_disorder(t.v, 0, N, order, &at), EM_NOT_FOUND);
	assert_int_equal(t.f.fault[0].count, 0);
	em_order_close(order);
	vector_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_failing_order),
		cmocka_unit_test(test_undefined),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_canceled),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
