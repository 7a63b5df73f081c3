/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_large.c -- 2^32 + 3 records of one byte: counts and offsets beyond 32 bits.
 *
 * The records are made batch by batch and checked batch by batch, so nothing is as large as the
 * data but the scratch file.  What must come out is known from counting: each value as often as it went in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

#define RECORDS ((UINT64_C(1) << 32) + 3)
#define BATCH ((size_t)1 << 20)

static void push_all(em_sorter *s, uint64_t count[256])
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *buf = malloc(BATCH);
	uint64_t left = RECORDS;

	assert_non_null(buf);
	while (left != 0) {
		size_t n = left < BATCH ? (size_t)left : BATCH, i;

		test_fill(&rng, buf, n);
		for (i = 0; i < n; i++)
			count[buf[i]]++;
		assert_int_equal(em_sorter_push(s, buf, n), EM_OK);
		left -= n;
	}
	free(buf);
}

static void pull_all(em_sorter *s, uint64_t count[256])
{
	const em_batch *batch;
	unsigned last = 0;
	uint64_t total = 0;
	em_status st;

	while ((st = em_sorter_next(s, &batch)) == EM_OK) {
		const unsigned char *r = batch->records;
		size_t i;

		assert_true(batch->n > 0 && batch->bytes == batch->n && batch->ends == NULL);
		for (i = 0; i < batch->n; i++) {
			if (r[i] < last)
				fail_msg("record %llu is out of order", (unsigned long long)(total + i));
			last = r[i];
			count[r[i]]--;
		}
		total += batch->n;
	}
	assert_int_equal(st, EM_END);
	assert_true(total == RECORDS);
}

static void test_more_than_32_bits(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const em_key key = { 0, 0, EM_KEY_U8, 0 };
	em_sort_stats stats = { .size = sizeof stats };
	char *dir = test_dir_make();
	const char *dirs[1] = { dir };
	uint64_t count[256] = { 0 };
	em_order *order;
	em_sorter *s;
	em_ctx *ctx;
	int i;

	(void)state;
	opts.memory = (uint64_t)64 << 20;
	opts.dirs = dirs;
	opts.ndirs = 1;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, 1, &key, 1, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	push_all(s, count);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	pull_all(s, count);
	for (i = 0; i < 256; i++)
		assert_true(count[i] == 0);
	assert_int_equal(em_sorter_stats(s, &stats), EM_OK);
	assert_true(stats.records_in == RECORDS && stats.records_out == RECORDS);
	assert_true(stats.runs > 1 && stats.peak_memory <= opts.memory);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_than_32_bits),
	};

	return cmocka_run_group_tests_name("sort/large", tests, NULL, NULL);
}
