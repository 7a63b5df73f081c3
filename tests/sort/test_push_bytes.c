/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_push_bytes.c -- records as bytes into sorters and em_top, and out again by copying.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

enum { N = 300000, PIECE = 12000 };

static em_ctx *open_ctx(void)
{
	em_ctx *ctx;

	assert_int_equal(em_ctx_open_text(&ctx, "memory=4M", NULL), EM_OK);
	return ctx;
}

static void test_sorter(void **state)
{
	em_ctx *ctx = open_ctx();
	static uint64_t piece[PIECE];
	uint64_t i, n, last = 0, taken = 0, sum = 0, want = 0;
	test_rng rng = test_rng_make(test_seed());
	em_order *order;
	em_errinfo err;
	em_sorter *s;
	em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };

	(void)state;
	assert_int_equal(em_order_keys(&order, ctx, 8, &key, 1, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	assert_int_equal(em_sorter_record_bytes(s), 8);
	for (n = 0; n < N; n += PIECE) {
		test_fill(&rng, piece, sizeof piece);
		for (i = 0; i < PIECE; i++)
			want += piece[i];
		assert_int_equal(em_sorter_push_bytes(s, piece, sizeof piece), EM_OK);
		/* No whole number of records: nothing happens. */
		assert_int_equal(em_sorter_push_bytes(s, piece, 13), EM_ERR_INVAL);
		assert_true(em_sorter_pushed(s) == n + PIECE);
	}
	em_sorter_error(s, &err);
	assert_string_equal(err.text, "13 bytes are no whole number of records of 8");
	assert_int_equal(em_sorter_push_bytes(s, NULL, 0), EM_OK);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), piece, sizeof piece, NULL, PIECE, &n), EM_ERR_STATE);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_push_bytes(s, piece, 8), EM_ERR_STATE);
	while (em_cursor_read(em_sorter_cursor(s), piece, sizeof piece, NULL, PIECE, &n) == EM_OK) {
		for (i = 0; i < n; i++) {
			assert_true(piece[i] >= last);
			last = piece[i];
			sum += last;
		}
		taken += n;
		assert_true(n == PIECE || taken == N);
	}
	assert_true(taken == N);
	assert_true(sum == want);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* Copies behind a batch that was lent are those behind it. */
static void test_batch(void **state)
{
	static const uint8_t in[] = "hgfedcba";
	em_ctx *ctx = open_ctx();
	const em_batch *batch;
	em_order *order;
	em_sorter *s;
	char out[8];
	uint64_t n;

	(void)state;
	assert_int_equal(em_order_keys(&order, ctx, 1, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	assert_int_equal(em_sorter_push_bytes(s, in, 8), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, 3, NULL, 100, &n), EM_OK);
	assert_true(n == 3);
	assert_memory_equal(out, "abc", 3);
	/* What is left of the window is passed over, as extmem/cursor.h says. */
	assert_int_equal(em_sorter_next(s, &batch), EM_END);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
}

static void test_lines(void **state)
{
	static const char in[] = "ccc" "a" "" "bb";
	static const uint64_t ends[] = { 3, 4, 4, 6 };
	em_ctx *ctx = open_ctx();
	uint64_t n, got[4];
	em_order *order;
	em_sorter *s;
	char out[8];

	(void)state;
	assert_int_equal(em_order_text(&order, ctx, NULL, 0, NULL, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	assert_int_equal(em_sorter_record_bytes(s), 0);
	assert_int_equal(em_sorter_push_bytes(s, in, 3), EM_ERR_INVAL);
	assert_int_equal(em_sorter_push_batch(s, in, ends, 4), EM_OK);
	assert_int_equal(em_sorter_pushed(s), 4);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, 4, got, 4, &n), EM_OK);
	assert_true(n == 3 && got[0] == 0 && got[1] == 1 && got[2] == 3);
	assert_memory_equal(out, "abb", 3);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, 2, got, 4, &n), EM_ERR_RANGE);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, 8, got, 4, &n), EM_OK);
	assert_memory_equal(out, "ccc", 3);
	assert_int_equal(em_cursor_read(em_sorter_cursor(s), out, 8, got, 4, &n), EM_END);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
}

static void test_top(void **state)
{
	static const uint8_t in[] = "hgfedcba";
	em_ctx *ctx = open_ctx();
	em_order *order;
	char out[8];
	uint64_t n;
	em_top *t;

	(void)state;
	assert_int_equal(em_order_keys(&order, ctx, 2, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_top_open(&t, ctx, order, 1, 2, NULL), EM_OK);
	assert_int_equal(em_top_record_bytes(t), 2);
	assert_int_equal(em_top_push_bytes(t, in, 7), EM_ERR_INVAL);
	assert_int_equal(em_top_push_bytes(t, in, 8), EM_OK);
	assert_int_equal(em_top_pushed(t), 4);
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_int_equal(em_cursor_read(em_top_cursor(t), out, sizeof out, NULL, 9, &n), EM_OK);
	assert_true(n == 2);
	assert_memory_equal(out, "dcfe", 4);
	em_top_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorter),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_top),
	};

	return cmocka_run_group_tests_name("sort/push_bytes", tests, NULL, NULL);
}
