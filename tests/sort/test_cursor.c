/* SPDX-License-Identifier: BSL-1.0 */
/* test_cursor.c -- cursors give the records that batches would, one by one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/sys/block_stream.h>

#include "sort/sort_model.h"

enum { B = 4096 };

static em_sort_opts small_runs(void)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;

	opts.block_bytes = 2 * B;
	opts.run_records = 700;
	return opts;
}

/* The next record is this one, also when it is only looked at. */
static void assert_next(em_cursor *c, const void *expected, size_t bytes, uint64_t way)
{
	const void *record, *seen;
	size_t n;

	if (way % 3 == 0) {
		assert_int_equal(em_cursor_peek(c, &seen), EM_OK);
		assert_memory_equal(seen, expected, bytes);
		assert_int_equal(em_cursor_next(c, &record), EM_OK);
		assert_ptr_equal(record, seen);
		return;
	}
	if (way % 3 == 1) {
		assert_int_equal(em_cursor_next(c, &record), EM_OK);
	} else {
		assert_int_equal(em_cursor_next_sized(c, &record, &n), EM_OK);
		assert_int_equal(n, bytes);
	}
	assert_memory_equal(record, expected, bytes);
	assert_int_equal(c->status, EM_OK);
}

/* There are no more, however often and in whatever way somebody asks. */
static void assert_end(em_cursor *c)
{
	const void *record = c;
	size_t n = 1;
	int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(em_cursor_next_sized(c, &record, &n), EM_END);
		assert_null(record);
		assert_int_equal(n, 0);
		assert_int_equal(em_cursor_refill(c), EM_END);
		assert_int_equal(c->status, EM_END);
		if (c->step == 0)
			continue;
		assert_int_equal(em_cursor_next(c, &record), EM_END);
		assert_null(record);
		assert_int_equal(em_cursor_peek(c, &record), EM_END);
		assert_null(record);
	}
}

static em_sorter *filled_sorter(em_ctx *ctx, const em_order *order, const void *records, uint64_t n)
{
	const em_sort_opts opts = small_runs();
	em_sorter *s;

	assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
	assert_int_equal(em_sorter_push(s, records, n), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	return s;
}

static void try_sorter(test_rng *rng, size_t bytes, uint64_t n)
{
	const em_ctx_opts o = sort_ctx_opts();
	const sort_shape shape = { bytes, 0, { { 0, 0, 0, 0, { 0 } } } };
	unsigned char *records = sort_records(rng, &shape, SORT_RANDOM, n);
	unsigned char *expected = sort_expected(&shape, records, &n, 0);
	em_ctx *ctx = sort_ctx(&o);
	em_order *order = sort_order(ctx, &shape);
	em_sorter *s = filled_sorter(ctx, order, records, n);
	em_cursor *c = em_sorter_cursor(s);
	uint64_t i;

	assert_int_equal(c->step, bytes);
	for (i = 0; i < n; i++)
		assert_next(c, expected + i * bytes, bytes, test_random(rng));
	assert_end(c);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

static void test_sorter(void **state)
{
	static const size_t sizes[] = { 1, 3, 4, 8, 12, 100, 5000 };
	static const uint64_t counts[] = { 0, 1, 2, 699, 700, 701, 3000 };
	test_rng rng = test_rng_make(test_seed());
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (k = 0; k < sizeof counts / sizeof counts[0]; k++)
			try_sorter(&rng, sizes[i], counts[k]);
}

/* Windows, batches and records in any mixture: what is left of a window is passed over by what lends another one, and
 * by nothing else. */
static void test_mixture(void **state)
{
	enum { N = 20000 };
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 12);
	const em_ctx_opts o = sort_ctx_opts();
	em_sort_stats stats = EM_SORT_STATS_INIT;
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N), *expected;
	uint64_t n = N, at = 0, left;
	const em_batch *batch;
	em_status st = EM_OK;
	em_order *order;
	em_sorter *s;
	em_cursor *c;
	em_ctx *ctx;

	(void)state;
	expected = sort_expected(&shape, records, &n, 0);
	ctx = sort_ctx(&o);
	order = sort_order(ctx, &shape);
	s = filled_sorter(ctx, order, records, n);
	c = em_sorter_cursor(s);
	while (st == EM_OK) {
		left = (uint64_t)(c->end - c->cur) / shape.bytes;
		switch (test_below(&rng, 40)) {
		case 0:
			st = em_sorter_next(s, &batch);
			at += left;
			if (st == EM_OK) {
				assert_memory_equal(batch->records, expected + at * shape.bytes, batch->bytes);
				at += batch->n;
			}
			assert_ptr_equal(c->cur, c->end);
			break;
		case 1:
			st = em_cursor_refill(c);
			at += left;
			if (st == EM_OK)
				assert_memory_equal(c->cur, expected + at * shape.bytes, (size_t)(c->end - c->cur));
			break;
		case 2:
			assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
			assert_ptr_equal(em_sorter_cursor(s), c);
			break;
		default:
			if (at == n)
				st = em_cursor_refill(c);
			else
				assert_next(c, expected + at++ * shape.bytes, shape.bytes, test_random(&rng));
		}
	}
	assert_int_equal(st, EM_END);
	assert_int_equal(at, n);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

/* Lines, empty ones among them, and a run of those that are all empty. */
static void try_lines(test_rng *rng, uint64_t n, uint64_t longest)
{
	const em_text_opts text = EM_TEXT_OPTS_INIT;
	const em_sort_opts opts = small_runs();
	em_text_key key = EM_TEXT_KEY_INIT;
	const em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	uint64_t *ends = malloc((n + 1) * sizeof *ends), i, at = 0;
	char *bytes = malloc(n * longest + 1);
	em_sorter *a, *b;
	em_order *order;
	em_cursor *c;
	const em_batch *batch;
	const void *record;
	em_status st;
	size_t k, size;

	for (i = 0; i < n; i++) {
		const uint64_t len = test_below(rng, longest + 1);

		for (k = 0; k < len; k++)
			bytes[at++] = (char)('a' + test_below(rng, 3));
		ends[i] = at;
	}
	assert_int_equal(em_order_text(&order, ctx, &key, 1, &text, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&a, ctx, order, &opts), EM_OK);
	assert_int_equal(em_sorter_open(&b, ctx, order, &opts), EM_OK);
	assert_int_equal(em_sorter_push_batch(a, bytes, ends, n), EM_OK);
	assert_int_equal(em_sorter_push_batch(b, bytes, ends, n), EM_OK);
	assert_int_equal(em_sorter_finish(a), EM_OK);
	assert_int_equal(em_sorter_finish(b), EM_OK);
	c = em_sorter_cursor(b);
	assert_int_equal(c->step, 0);
	while ((st = em_sorter_next(a, &batch)) == EM_OK) {
		uint64_t begin = 0;

		for (k = 0; k < batch->n; begin = batch->ends[k++]) {
			/* Whoever asks for one of one size gets none, and nothing is lost. */
			assert_int_equal(em_cursor_next(c, &record), EM_ERR_INVAL);
			assert_null(record);
			assert_int_equal(em_cursor_next_sized(c, &record, &size), EM_OK);
			assert_int_equal(size, batch->ends[k] - begin);
			if (size != 0)
				assert_memory_equal(record, (const char *)batch->records + begin, size);
		}
	}
	assert_int_equal(st, EM_END);
	assert_end(c);
	em_sorter_close(a);
	em_sorter_close(b);
	em_order_close(order);
	em_ctx_close(ctx);
	free(bytes);
	free(ends);
}

static void test_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());

	(void)state;
	try_lines(&rng, 0, 10);
	try_lines(&rng, 1, 10);
	try_lines(&rng, 5, 0);
	try_lines(&rng, 3000, 0);
	try_lines(&rng, 3000, 1);
	try_lines(&rng, 5000, 40);
}

static void test_top(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	const em_ctx_opts o = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	uint64_t n = 4000, i;
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n);
	unsigned char *expected = sort_expected(&shape, records, &n, 0);
	em_ctx *ctx = sort_ctx(&o);
	em_order *order = sort_order(ctx, &shape);
	em_cursor *c;
	em_top *t;

	(void)state;
	assert_int_equal(em_top_open(&t, ctx, order, 10, 2500, NULL), EM_OK);
	assert_int_equal(em_top_push(t, records, n), EM_OK);
	assert_int_equal(em_top_finish(t), EM_OK);
	c = em_top_cursor(t);
	for (i = 10; i < 2510; i++)
		assert_next(c, expected + i * shape.bytes, shape.bytes, i);
	assert_end(c);
	em_top_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

static em_block_list *make_list(em_disks *d, const void *records, uint64_t n, size_t bytes)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_writer *w;
	em_block_list *list;

	opts.block_bytes = B;
	opts.record_bytes = bytes;
	assert_int_equal(em_block_writer_open(&w, d, &opts), EM_OK);
	assert_int_equal(em_block_writer_push(w, records, (size_t)n), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	return list;
}

static void try_reader(em_disks *d, const unsigned char *records, uint64_t n, size_t bytes, uint32_t flags)
{
	em_block_reader_opts opts = EM_BLOCK_READER_OPTS_INIT;
	em_block_list *list = make_list(d, records, n, bytes);
	em_block_reader *r;
	em_cursor *c;
	uint64_t i;

	opts.flags = flags;
	assert_int_equal(em_block_reader_open(&r, list, &opts), EM_OK);
	c = em_block_reader_cursor(r);
	for (i = 0; i < n; i++) {
		const uint64_t k = (flags & EM_BLOCKS_REVERSE) != 0 ? n - 1 - i : i;

		assert_next(c, records + k * bytes, bytes, i);
	}
	assert_end(c);
	em_block_reader_close(r);
	if ((flags & EM_BLOCKS_CONSUME) == 0)
		assert_int_equal(em_block_list_free_blocks(list), EM_OK);
	em_block_list_close(list);
}

static void test_reader(void **state)
{
	enum { N = 3000 };
	static const size_t sizes[] = { 1, 12, 100, B };
	const em_ctx_opts o = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = malloc((size_t)N * 100);
	em_ctx *ctx = sort_ctx(&o);
	em_disks *d;
	uint32_t flags;
	size_t i;

	(void)state;
	test_fill(&rng, records, (size_t)N * 100);
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (flags = 0; flags < 4; flags++) {
			const uint64_t per_block = B / sizes[i], most = sizes[i] == B ? 50 : N;

			try_reader(d, records, 0, sizes[i], flags);
			try_reader(d, records, 1, sizes[i], flags);
			try_reader(d, records, per_block > most ? most : per_block, sizes[i], flags);
			try_reader(d, records, per_block + 1 > most ? most : per_block + 1, sizes[i], flags);
			try_reader(d, records, most, sizes[i], flags);
		}
	em_disks_close(d);
	em_ctx_close(ctx);
	free(records);
}

/* What is in the window stays there when all is canceled; what should come next is not, and that is kept. */
static void test_failure(void **state)
{
	enum { N = 5000 };
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	const em_ctx_opts o = sort_ctx_opts();
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N), *expected;
	uint64_t n = N, at = 0;
	em_ctx *ctx = sort_ctx(&o);
	em_order *order = sort_order(ctx, &shape);
	em_sorter *s = filled_sorter(ctx, order, records, n);
	em_cursor *c = em_sorter_cursor(s);
	const void *record;
	em_errinfo err;

	(void)state;
	expected = sort_expected(&shape, records, &n, 0);
	assert_next(c, expected, shape.bytes, 1);
	em_ctx_cancel(ctx);
	for (at = 1; c->cur != c->end; at++)
		assert_next(c, expected + at * shape.bytes, shape.bytes, at);
	assert_true(at < n);
	assert_int_equal(em_cursor_next(c, &record), EM_ERR_CANCELED);
	assert_null(record);
	assert_int_equal(c->status, EM_ERR_CANCELED);
	assert_int_equal(em_cursor_peek(c, &record), EM_ERR_CANCELED);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

static void test_null(void **state)
{
	(void)state;
	assert_null(em_sorter_cursor(NULL));
	assert_null(em_top_cursor(NULL));
	assert_null(em_block_reader_cursor(NULL));
	assert_int_equal(em_cursor_refill(NULL), EM_ERR_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorter), cmocka_unit_test(test_mixture), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_top),    cmocka_unit_test(test_reader),  cmocka_unit_test(test_failure),
		cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
