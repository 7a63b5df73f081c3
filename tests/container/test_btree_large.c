/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_btree_large.c -- more records in a B+-tree than 32 bits can count.
 *
 * 2^32 + 3 numbers are loaded, looked up, passed through at both ends, and partly taken out.  Takes minutes and 33 GiB
 * of disk.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <extmem/btree.h>

#include "common/test.h"

#define RECORDS ((UINT64_C(1) << 32) + 3)
#define PIECE ((uint64_t)1 << 16)
#define STEP 3u                 /* from one key to the next */
#define TRIES 20000u

static void test_large(void **state)
{
	const em_key whole = { 0, 0, EM_KEY_U64, 0, { 0 } };
	test_rng rng = test_rng_make(test_seed());
	em_btree_stats stats = EM_BTREE_STATS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	uint64_t *piece = malloc(PIECE * sizeof *piece), n, i, got, key, erased;
	em_btree_loader *l;
	em_btree_cursor *c;
	em_order *order;
	em_btree *t;
	em_ctx *ctx;

	(void)state;
	assert_non_null(piece);
	ctx_opts.memory = UINT64_C(256) << 20;
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, sizeof key, &whole, 1, NULL), EM_OK);
	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	assert_int_equal(em_btree_loader_open(&l, t, NULL), EM_OK);
	for (n = 0; n < RECORDS; n += i) {
		for (i = 0; i < PIECE && n + i < RECORDS; i++)
			piece[i] = (n + i) * STEP;
		assert_int_equal(em_btree_loader_push(l, piece, i, NULL), EM_OK);
	}
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
	assert_int_equal(em_btree_size(t), RECORDS);
	for (i = 0; i < TRIES; i++) {
		key = test_below(&rng, RECORDS) * STEP + i % STEP;
		assert_int_equal(em_btree_get(t, &key, &got), i % STEP == 0 ? EM_OK : EM_NOT_FOUND);
		if (key > (RECORDS - 1) * STEP)
			continue;
		assert_int_equal(em_btree_lower_bound(t, &key, &got), EM_OK);
		assert_int_equal(got, (key + STEP - 1) / STEP * STEP);
	}
	assert_int_equal(em_btree_max(t, &got), EM_OK);
	assert_int_equal(got, (RECORDS - 1) * STEP);
	assert_int_equal(em_btree_cursor_open(&c, t), EM_OK);
	assert_int_equal(em_btree_cursor_seek(c, NULL, EM_BTREE_LE), EM_OK);
	for (n = 1; n < 50 * PIECE; n += got) {
		assert_int_equal(em_btree_cursor_prev_many(c, piece, PIECE, &got), EM_OK);
		for (i = 0; i < got; i++)
			assert_int_equal(piece[i], (RECORDS - 1 - n - i) * STEP);
	}
	em_btree_cursor_close(c);
	key = (RECORDS - 1000000) * STEP;
	assert_int_equal(em_btree_erase_range(t, &key, NULL, &erased), EM_OK);
	assert_int_equal(erased, 1000000);
	assert_int_equal(em_btree_size(t), RECORDS - 1000000);
	key = 1;
	assert_int_equal(em_btree_insert(t, &key), EM_OK);
	assert_int_equal(em_btree_verify(t), EM_OK);
	assert_int_equal(em_btree_stats_get(t, &stats), EM_OK);
	assert_true(stats.leaves * stats.leaf_bytes < (RECORDS * sizeof key) / 100 * 106);
	em_btree_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
