/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_model.c -- vectors with small caches and blocks against an array in memory, by random operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/cache.h>

#include "container/vector_case.h"

enum { CASES = 60, OPERATIONS = 17000, MANY = 40 };

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

static void whole(vector_case *t)
{
	switch (below(t, 5)) {
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
		t.opts.block_bytes = !bound && record > 4096 ? 8192 : 4096 << below(&t, 2);
		t.opts.page_blocks = (uint32_t)below(&t, 3);
		t.opts.cache_bytes = (2 * 2 + below(&t, 8)) * t.opts.block_bytes;
		t.opts.policy = policies[c % 3];
		t.opts.records = bound ? 0 : below(&t, room);
		vector_case_make(&t, bound);
		for (i = 0; i < OPERATIONS; i++)
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
