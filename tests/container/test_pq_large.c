/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_pq_large.c -- more records in a priority queue than 32 bits can count.
 *
 * 2^32 + 3 records of one byte, which is the key, are pushed and popped in a memory that holds a 256th of them, and
 * counted by value on both sides.  An item of them has 4 bytes, so this takes minutes and 16 GiB of disk.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/pq.h>

#include "common/test.h"

#define RECORDS ((UINT64_C(1) << 32) + 3)
#define PIECE ((size_t)1 << 20)
#define MEMORY (UINT64_C(64) << 20)

static void test_large(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_pq_stats stats = EM_PQ_STATS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	unsigned char *piece = malloc(PIECE), last = 0;
	uint64_t in[256] = { 0 }, out[256] = { 0 }, n, i, popped;
	em_order *order;
	em_pq *h;
	em_ctx *ctx;

	(void)state;
	assert_non_null(piece);
	ctx_opts.memory = 4 * MEMORY;
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, 1, NULL, 0, NULL), EM_OK);
	opts.order = order;
	opts.memory_bytes = MEMORY;
	assert_int_equal(em_pq_open(&h, ctx, &opts), EM_OK);
	for (n = 0; n < RECORDS; n += i) {
		test_fill(&rng, piece, PIECE);
		for (i = 0; i < PIECE && n + i < RECORDS; i++)
			in[piece[i]]++;
		assert_int_equal(em_pq_push_many(h, piece, i, NULL), EM_OK);
	}
	assert_int_equal(em_pq_size(h), RECORDS);
	for (n = 0; n < RECORDS; n += popped) {
		assert_int_equal(em_pq_pop_many(h, piece, PIECE, &popped), EM_OK);
		for (i = 0; i < popped; i++) {
			assert_true(piece[i] >= last);
			last = piece[i];
			out[last]++;
		}
	}
	assert_memory_equal(in, out, sizeof in);
	assert_int_equal(em_pq_size(h), 0);
	assert_int_equal(em_pq_pop(h, piece), EM_NOT_FOUND);
	assert_int_equal(em_pq_stats_get(h, &stats), EM_OK);
	assert_int_equal(stats.blocks, 0);
	assert_true(stats.levels != 0);
	assert_true(stats.reads + stats.writes <= 2 * (uint64_t)stats.levels * (4 * RECORDS / stats.block_bytes));
	em_pq_close(h);
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
