/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_large.c -- more records than 32 bits can count, in a memory that holds a 64th of them.
 *
 * 2^32 + 3 records of one byte go through a sorter, and from a file to a file.  Neither what goes in nor what comes out
 * is ever in memory as a whole: bytes are counted by value on both sides.  Takes minutes and 8 GiB of disk.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem.h>

#include "common/test.h"

#define RECORDS ((UINT64_C(1) << 32) + 3)
#define PIECE ((size_t)1 << 20)
#define MEMORY (UINT64_C(64) << 20)

typedef struct census {
	uint64_t of[256];
	unsigned char last;
	uint64_t n;
} census;

static void count_bytes(census *c, const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		c->of[p[i]]++;
	c->n += n;
}

/* Bytes that must be in order, and go on where the last ones ended: what is equal is counted at a time. */
static void count_sorted(census *c, const unsigned char *p, size_t n)
{
	size_t i = 0, end;

	while (i < n) {
		assert_true(p[i] >= c->last);
		c->last = p[i];
		for (end = i + 1; end < n && p[end] == p[i]; end++)
			continue;
		c->of[p[i]] += end - i;
		i = end;
	}
	c->n += n;
}

static void fill_random(test_rng *rng, unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		const uint64_t r = test_random(rng);

		memcpy(p + i, &r, 8);
	}
	test_fill(rng, p + i, n - i);
}

static void open_all(em_ctx **ctx, em_order **order, const char *dir)
{
	const em_key key = { 0, 0, EM_KEY_U8, 0, { 0 } };
	const char *const dirs[] = { dir };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;

	opts.memory = MEMORY;
	opts.dirs = dirs;
	opts.ndirs = 1;
	assert_int_equal(em_ctx_open(ctx, &opts), EM_OK);
	assert_int_equal(em_order_keys(order, *ctx, 1, &key, 1, NULL), EM_OK);
}

static void print_stats(const em_sort_stats *s)
{
	printf("# %llu records, %llu runs, %u passes, fan-in %u, block %llu, memory %llu, scratch %llu\n",
	       (unsigned long long)s->records_out, (unsigned long long)s->runs, (unsigned)s->passes,
	       (unsigned)s->fan_in, (unsigned long long)s->block_bytes, (unsigned long long)s->peak_memory,
	       (unsigned long long)s->peak_scratch);
	fflush(stdout);
}

static void assert_all(const em_sort_stats *stats, const census *in, const census *out)
{
	print_stats(stats);
	assert_true(in->n == RECORDS && out->n == RECORDS);
	assert_memory_equal(in->of, out->of, sizeof(in->of));
	assert_true(stats->records_in == RECORDS && stats->records_out == RECORDS);
	assert_true(stats->passes >= 2);
	assert_true(stats->peak_memory <= MEMORY);
	assert_true(stats->peak_scratch >= RECORDS);
}

static void test_sorter(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *piece = malloc(PIECE);
	char *dir = test_dir_make();
	const em_batch *batch;
	em_sort_stats stats;
	static census in, out;
	em_order *order;
	em_sorter *s;
	em_status st;
	em_ctx *ctx;

	(void)state;
	assert_non_null(piece);
	open_all(&ctx, &order, dir);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	while (in.n < RECORDS) {
		const size_t n = RECORDS - in.n < PIECE ? (size_t)(RECORDS - in.n) : PIECE;

		fill_random(&rng, piece, n);
		count_bytes(&in, piece, n);
		assert_int_equal(em_sorter_push(s, piece, n), EM_OK);
	}
	assert_int_equal(em_sorter_finish(s), EM_OK);
	while ((st = em_sorter_next(s, &batch)) == EM_OK)
		count_sorted(&out, batch->records, batch->n);
	assert_int_equal(st, EM_END);
	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_dir_empty(dir);
	test_dir_remove(dir);
	free(piece);
	assert_all(&stats, &in, &out);
}

/* The input is a file with a hole: zeroes, but for a piece at its beginning, one around 2^32, and its end. */
static void test_files(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *piece = malloc(PIECE);
	char *dir = test_dir_make(), *from = test_path(dir, "in"), *to = test_path(dir, "out");
	const char *const inputs[] = { from };
	const off_t places[] = { 0, (off_t)1 << 31, (off_t)(RECORDS - PIECE) };
	em_sort_opts so = EM_SORT_OPTS_INIT;
	static census in, out;
	em_sort_stats stats;
	em_errinfo err;
	em_order *order;
	em_ctx *ctx;
	size_t i, n;
	FILE *f;

	(void)state;
	assert_non_null(piece);
	f = fopen(from, "wb");
	assert_non_null(f);
	for (i = 0; i < 3; i++) {
		fill_random(&rng, piece, PIECE);
		count_bytes(&in, piece, PIECE);
		assert_int_equal(fseeko(f, places[i], SEEK_SET), 0);
		assert_int_equal(fwrite(piece, 1, PIECE, f), PIECE);
	}
	assert_int_equal(fclose(f), 0);
	in.of[0] += RECORDS - in.n;
	in.n = RECORDS;
	open_all(&ctx, &order, dir);
	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	so.errinfo = &err;
	if (em_sort_files(ctx, order, inputs, 1, to, &so, &stats) != EM_OK)
		fail_msg("%s", err.text);
	em_order_close(order);
	em_ctx_close(ctx);
	unlink(from);
	f = fopen(to, "rb");
	assert_non_null(f);
	while ((n = fread(piece, 1, PIECE, f)) > 0)
		count_sorted(&out, piece, n);
	fclose(f);
	unlink(to);
	assert_dir_empty(dir);
	test_dir_remove(dir);
	free(from);
	free(to);
	free(piece);
	assert_all(&stats, &in, &out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorter),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
