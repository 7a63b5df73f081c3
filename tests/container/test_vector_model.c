/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_model.c -- vectors with small caches and blocks against an array in memory, by random operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/cache.h>

#include "container/vector_case.h"

enum { CASES = 66, OPERATIONS = 30000, BOUND = 3000, MANY = 40 };

static uint64_t below(vector_case *t, uint64_t n)
{
	return test_below(&t->f.rng, n);
}

/* Records of a random range: fewer ones more often. */
static uint64_t some(vector_case *t, uint64_t most)
{
	const uint64_t n = below(t, most + 1);

	return below(t, 4) == 0 ? n : n % 8 < most ? n % 8 : most;
}

static void one_record(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, i = below(t, t->n);

	if (below(t, 2) == 0) {
		assert_vector_ok(t, em_vector_get(t->v, i, t->buf));
		assert_memory_equal(t->buf, t->is + i * record, (size_t)record);
	} else {
		vector_case_draw(t, 1);
		assert_vector_ok(t, em_vector_set(t->v, i, t->buf));
		vector_case_put(t, i, 1);
	}
}

static void range(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, i = below(t, t->n + 1), n = some(t, t->n - i);

	if (below(t, 2) == 0) {
		assert_vector_ok(t, em_vector_read(t->v, i, t->buf, n));
		assert_memory_equal(t->buf, t->is + i * record, (size_t)(n * record));
	} else {
		vector_case_draw(t, n);
		assert_vector_ok(t, em_vector_write(t->v, i, t->buf, n));
		vector_case_put(t, i, n);
	}
}

static void scattered(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, n = below(t, MANY < t->room ? MANY : t->room);
	uint64_t at[MANY], k;

	for (k = 0; k < n; k++) {
		at[k] = below(t, t->n);
		if (below(t, 8) == 0)
			em_vector_hint(t->v, at[k]);
	}
	assert_vector_ok(t, em_vector_read_many(t->v, at, n, t->buf));
	for (k = 0; k < n; k++)
		assert_memory_equal(t->buf + k * record, t->is + at[k] * record, (size_t)record);
}

static void push(vector_case *t)
{
	const uint64_t n = below(t, 3) == 0 ? some(t, t->room - t->n) : t->n < t->room;
	uint64_t pushed = 77;

	vector_case_draw(t, n);
	if (n == 1)
		assert_vector_ok(t, em_vector_push(t->v, t->buf));
	else
		assert_vector_ok(t, em_vector_push_many(t->v, t->buf, n, &pushed));
	assert_int_equal(pushed, n == 1 ? 77 : n);
	vector_case_put(t, t->n, n);
}

static void resize(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes;
	const uint64_t n = below(t, 2) == 0 ? below(t, t->room + 1) : t->n - some(t, t->n);

	assert_vector_ok(t, em_vector_resize(t->v, n));
	if (n < t->n)
		memset(t->is + n * record, 0, (size_t)((t->n - n) * record));
	t->n = n;
}

static void pinned(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, i = below(t, t->n);
	const int change = (int)below(t, 2);
	void *at;
	em_status st = em_vector_pin(t->v, i, change, &at);

	if (st == EM_ERR_NOTSUP && t->opts.path != NULL) {
		assert_null(at);
		return;
	}
	assert_vector_ok(t, st);
	assert_memory_equal(at, t->is + i * record, (size_t)record);
	vector_case_draw(t, 1);
	if (change) {
		memcpy(at, t->buf, (size_t)record);
		vector_case_put(t, i, 1);
	}
	one_record(t);
	assert_vector_ok(t, em_vector_unpin(t->v, i, change));
	assert_int_equal(em_vector_unpin(t->v, i, 0), EM_ERR_STATE);
}

static uint64_t buffers(vector_case *t)
{
	return below(t, 2) == 0 ? 0 : 2 + below(t, 5);
}

/* Read a range, while records change. */
static void reader(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, i = below(t, t->n + 1),
		       n = below(t, 2) == 0 ? t->n - i : some(t, t->n - i);
	const int reverse = (int)below(t, 2), stops = below(t, 4) == 0;
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	uint64_t at = reverse ? i + n : i;
	em_vector_reader *r;
	const em_batch *b;
	em_status st;

	opts.direction = reverse ? EM_VECTOR_REVERSE : EM_VECTOR_FORWARD;
	opts.from = i;
	opts.n = n;
	opts.buffers = (uint32_t)buffers(t);
	assert_vector_ok(t, em_vector_reader_open(&r, t->v, &opts));
	while ((st = em_vector_reader_next(r, &b)) == EM_OK) {
		assert_true(b->n != 0 && b->n <= n);
		at -= reverse ? b->n : 0;
		assert_memory_equal(b->records, t->is + at * record, b->bytes);
		at += reverse ? 0 : b->n;
		if (stops && below(t, 4) == 0)
			break;
		while (below(t, 3) != 0)
			one_record(t);
		if (below(t, 3) == 0)
			range(t);
		if (below(t, 8) == 0)
			assert_vector_ok(t, em_vector_flush(t->v, 0));
	}
	if (st == EM_END) {
		assert_int_equal(at, reverse ? i : i + n);
		assert_int_equal(em_vector_reader_next(r, &b), EM_END);
	}
	em_vector_reader_close(r);
}

/* Each record of the range is what it was or what was pushed. */
static void find_out(vector_case *t, uint64_t i, const char *pushed, uint64_t n)
{
	const uint64_t record = t->opts.record_bytes, size = em_vector_size(t->v);
	char one[8192];
	uint64_t k;

	for (k = 0; k < n && i + k < size; k++) {
		assert_vector_ok(t, em_vector_get(t->v, i + k, one));
		if (i + k < t->n && memcmp(one, t->is + (i + k) * record, (size_t)record) == 0)
			continue;
		assert_memory_equal(one, pushed + k * record, (size_t)record);
		memcpy(t->is + (i + k) * record, one, (size_t)record);
	}
	assert_true(size >= t->n);
	t->n = size;
}

/* Write a range, while others are read and changed. */
static void writer(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes, i = below(t, t->n + 1), n = below(t, t->room - i + 1);
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	const int finish = below(t, 4) != 0, lend = (int)below(t, 2);
	em_vector_writer *w;
	uint64_t k, m, room;
	char *data = malloc((size_t)(n * record + 1));
	void *to;

	assert_non_null(data);
	test_fill(&t->f.rng, data, (size_t)(n * record));
	opts.from = i;
	opts.n = below(t, 2) == 0 ? n : UINT64_MAX;
	opts.buffers = (uint32_t)buffers(t);
	assert_vector_ok(t, em_vector_writer_open(&w, t->v, &opts));
	for (k = 0; k < n; k += m) {
		m = 1 + below(t, n - k);
		if (m > 4 && below(t, 2) == 0)
			m = 4;
		if (lend) {
			assert_vector_ok(t, em_vector_writer_lend(w, &to, &room));
			m = room < m ? room : m;
			memcpy(to, data + k * record, (size_t)(m * record));
			assert_vector_ok(t, em_vector_writer_took(w, m));
		} else {
			assert_vector_ok(t, em_vector_writer_push(w, data + k * record, m));
		}
		if (i != 0 && below(t, 2) == 0) {
			const uint64_t one = below(t, i);

			vector_case_draw(t, 1);
			assert_vector_ok(t, em_vector_set(t->v, one, t->buf));
			vector_case_put(t, one, 1);
		}
	}
	if (opts.n == n)
		assert_int_equal(em_vector_writer_push(w, data, 1), EM_ERR_RANGE);
	if (finish) {
		assert_vector_ok(t, em_vector_writer_finish(w));
		memcpy(t->is + i * record, data, (size_t)(n * record));
		t->n = i + n > t->n ? i + n : t->n;
	}
	em_vector_writer_close(w);
	if (!finish)
		find_out(t, i, data, n);
	free(data);
	if (below(t, 8) == 0)
		vector_case_check(t);
}

static void whole(vector_case *t)
{
	switch (below(t, 9)) {
	case 5:
	case 6:
		reader(t);
		break;
	case 7:
	case 8:
		writer(t);
		break;
	case 0:
		assert_vector_ok(t, em_vector_flush(t->v, (int)below(t, 2)));
		break;
	case 1:
		assert_vector_ok(t, em_vector_shrink(t->v));
		break;
	case 2:
		assert_vector_ok(t, em_vector_reserve(t->v, below(t, t->room)));
		break;
	case 3:
		vector_case_reopen(t);
		break;
	default:
		vector_case_check(t);
	}
}

static void operate(vector_case *t)
{
	const uint64_t what = below(t, 40);

	if (what < 4)
		push(t);
	else if (what == 4 && below(t, 8) == 0)
		resize(t);
	else if (what == 5 && below(t, 8) == 0)
		whole(t);
	else if (t->n == 0)
		push(t);
	else if (what < 12)
		range(t);
	else if (what < 16)
		scattered(t);
	else if (what < 18)
		pinned(t);
	else
		one_record(t);
}

static void test_model(void **state)
{
	static const uint32_t records[] = { 1, 4, 8, 12, 100, 1000, 1365, 2048, 3000, 4096, 5000 };
	const em_policy *policies[3] = { NULL, em_policy_lru(), em_policy_random() };
	unsigned c, i;

	(void)state;
	for (c = 0; c < CASES; c += test_step()) {
		const uint32_t record = records[c % (sizeof records / sizeof *records)];
		const uint64_t room = record < 8 ? 20000 : 120000 / record + 3;
		const int bound = c % 2;
		vector_case t;

		vector_case_open(&t, em_backend_find(bound ? "syscall" : "memory"), record, room);
		t.opts.block_bytes = !bound && record > 4096 ? 8192 : (uint64_t)4096 << below(&t, 2);
		t.opts.page_blocks = (uint32_t)below(&t, 3);
		t.opts.cache_bytes = (2 * 2 + below(&t, 8)) * t.opts.block_bytes;
		t.opts.policy = policies[c % 3];
		t.opts.records = bound ? 0 : below(&t, room);
		vector_case_make(&t, bound);
		for (i = 0; i < (bound ? BOUND : OPERATIONS); i++)
			operate(&t);
		vector_case_check(&t);
		vector_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
