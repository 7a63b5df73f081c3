/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_model.c -- what the tests of sorting share; see sort_model.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/sort_model.h"

const char *const sort_pattern_names[SORT_PATTERNS] = {
	"random", "all equal", "sorted", "reversed", "organ pipe", "few distinct", "ends of the domain", "begin alike",
};

static void *need(size_t bytes)
{
	void *p = malloc(bytes + 1);

	assert_non_null(p);
	return p;
}

sort_shape sort_shape_of(int32_t type, size_t width, uint32_t flags, size_t bytes)
{
	sort_shape s;

	memset(&s, 0, sizeof(s));
	s.bytes = bytes;
	s.keys = 1;
	s.key[0].type = type;
	s.key[0].width = type == EM_KEY_BYTES ? width : 0;
	s.key[0].flags = flags;
	return s;
}

int sort_compare(const sort_shape *shape, const unsigned char *a, const unsigned char *b)
{
	return shape->keys == 0 ? memcmp(a, b, shape->bytes) : model_compare(shape->key, shape->keys, a, b);
}

/* Sort places of records, stably. */
static void sort_places(const sort_shape *shape, const unsigned char *records, size_t *a, size_t *tmp, size_t n)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort_places(shape, records, a, tmp, half);
	sort_places(shape, records, a + half, tmp, n - half);
	while (i < half && j < n) {
		const unsigned char *x = records + a[i] * shape->bytes, *y = records + a[j] * shape->bytes;

		tmp[k++] = sort_compare(shape, x, y) <= 0 ? a[i++] : a[j++];
	}
	while (i < half)
		tmp[k++] = a[i++];
	while (j < n)
		tmp[k++] = a[j++];
	memcpy(a, tmp, n * sizeof(*a));
}

unsigned char *sort_expected(const sort_shape *shape, const unsigned char *records, uint64_t *n, int unique)
{
	const size_t count = (size_t)*n, rb = shape->bytes;
	size_t *place = need(count * sizeof(*place)), *tmp = need(count * sizeof(*tmp)), i, kept = 0;
	unsigned char *out = need(count * rb);

	for (i = 0; i < count; i++)
		place[i] = i;
	sort_places(shape, records, place, tmp, count);
	for (i = 0; i < count; i++) {
		const unsigned char *r = records + place[i] * rb;

		if (unique && kept > 0 && sort_compare(shape, out + (kept - 1) * rb, r) == 0)
			continue;
		memcpy(out + kept++ * rb, r, rb);
	}
	*n = kept;
	free(place);
	free(tmp);
	return out;
}

/* The key of one record becomes that of another. */
static void copy_key(const sort_shape *shape, unsigned char *to, const unsigned char *from)
{
	uint32_t i;

	if (shape->keys == 0)
		memcpy(to, from, shape->bytes);
	for (i = 0; i < shape->keys; i++)
		memcpy(to + shape->key[i].offset, from + shape->key[i].offset, model_width(&shape->key[i]));
}

/* The key of one record begins as that of another: byte strings mostly up to one of their last bytes. */
static void copy_beginning(test_rng *rng, const sort_shape *shape, unsigned char *to, const unsigned char *from)
{
	const uint32_t last = shape->keys == 0 ? 0 : (uint32_t)test_below(rng, shape->keys);
	uint32_t i;

	if (shape->keys == 0)
		memcpy(to, from, test_below(rng, shape->bytes));
	for (i = 0; i < shape->keys && i <= last; i++) {
		const em_key *key = &shape->key[i];
		size_t width = model_width(key);

		if (i == last && key->type == EM_KEY_BYTES)
			width -= test_below(rng, 1 + (test_below(rng, 2) != 0 && width > 3 ? 3 : width));
		memcpy(to + key->offset, from + key->offset, width);
	}
}

static void put_end(test_rng *rng, const em_key *key, unsigned char *record)
{
	uint64_t values[MODEL_MAX_VALUES];
	size_t i;

	if (key->type != EM_KEY_BYTES) {
		const size_t n = model_values(key->type, values);

		model_write(key, record, values[test_below(rng, n)]);
		return;
	}
	for (i = 0; i < key->width; i++)
		record[key->offset + i] = test_below(rng, 2) ? 0xff : 0;
}

/* Put sorted records in another order. */
static void arrange(const sort_shape *shape, sort_pattern pattern, unsigned char *to, const unsigned char *from,
		    size_t n)
{
	const size_t rb = shape->bytes;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t at = i;

		if (pattern == SORT_REVERSED)
			at = n - 1 - i;
		else if (pattern == SORT_ORGAN_PIPE)
			at = i % 2 == 0 ? i / 2 : n - 1 - i / 2;
		memcpy(to + at * rb, from + i * rb, rb);
	}
}

unsigned char *sort_records(test_rng *rng, const sort_shape *shape, sort_pattern pattern, uint64_t n)
{
	const size_t rb = shape->bytes, count = (size_t)n;
	unsigned char *records = need(count * rb), *sorted;
	uint64_t m = n;
	size_t i;
	uint32_t k;

	test_fill(rng, records, count * rb);
	for (i = 0; i < count; i++) {
		unsigned char *r = records + i * rb;

		if (pattern == SORT_EQUAL)
			copy_key(shape, r, records);
		else if (pattern == SORT_FEW && i >= 5)
			copy_key(shape, r, records + test_below(rng, 5) * rb);
		else if (pattern == SORT_ALIKE && i >= 5)
			copy_beginning(rng, shape, r, records + test_below(rng, 5) * rb);
		for (k = 0; pattern == SORT_ENDS && k < shape->keys; k++)
			put_end(rng, &shape->key[k], r);
	}
	if (pattern == SORT_SORTED || pattern == SORT_REVERSED || pattern == SORT_ORGAN_PIPE) {
		sorted = sort_expected(shape, records, &m, 0);
		arrange(shape, pattern, records, sorted, count);
		free(sorted);
	}
	return records;
}

em_ctx_opts sort_ctx_opts(void)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;

	opts.memory = 64u << 20;
	opts.threads = 1;
	opts.backend = "memory";
	return opts;
}

/* A block that is freed wrongly fails nothing but the test; the thread may be any. */
static void free_rightly(void *user, int32_t level, const char *line)
{
	(void)user;
	(void)level;
	if (strncmp(line, "cannot free", 11) == 0 || strncmp(line, "scratch was closed", 18) == 0) {
		fprintf(stderr, "%s\n", line);
		abort();
	}
}

em_ctx *sort_ctx(const em_ctx_opts *opts)
{
	em_ctx_opts o = *opts;
	em_errinfo err;
	em_ctx *ctx;

	memset(&err, 0, sizeof(err));
	o.errinfo = &err;
	if ((o.flags & EM_CTX_CHECKED) != 0 && o.log == NULL)
		o.log = free_rightly;
	if (em_ctx_open(&ctx, &o) != EM_OK)
		fail_msg("no context: %s", err.text);
	return ctx;
}

em_order *sort_order(em_ctx *ctx, const sort_shape *shape)
{
	em_errinfo err;
	em_order *order;

	memset(&err, 0, sizeof(err));
	if (em_order_keys(&order, ctx, shape->bytes, shape->key, shape->keys, &err) != EM_OK)
		fail_msg("no order: %s", err.text);
	return order;
}

em_status sort_push(em_sorter *s, test_rng *rng, const sort_shape *shape, const unsigned char *records, uint64_t n)
{
	em_status st = EM_OK;

	while (st == EM_OK && n > 0) {
		uint64_t some = test_below(rng, test_below(rng, 4) == 0 ? n : n / 8 + 1) + 1;

		if (some > n)
			some = n;
		st = em_sorter_push(s, records, some);
		records += (size_t)some * shape->bytes;
		n -= some;
	}
	return st;
}

void sort_assert_pull(em_sorter *s, const sort_shape *shape, const unsigned char *expected, uint64_t n)
{
	const em_batch *batch;
	em_sort_stats stats;
	uint64_t got = 0;
	em_status st;

	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	while ((st = em_sorter_next(s, &batch)) == EM_OK) {
		assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
		assert_true(batch->n > 0);
		assert_true(batch->n <= stats.block_bytes / shape->bytes);
		assert_int_equal(batch->bytes, batch->n * shape->bytes);
		assert_null(batch->ends);
		assert_true(batch->n <= n - got);
		assert_memory_equal(batch->records, expected + (size_t)got * shape->bytes, batch->bytes);
		got += batch->n;
	}
	assert_int_equal(st, EM_END);
	assert_null(batch);
	assert_int_equal(got, n);
	assert_int_equal(em_sorter_next(s, &batch), EM_END);
	assert_int_equal(em_sorter_stats_get(s, &stats), EM_OK);
	assert_int_equal(stats.records_out, n);
}

void sort_assert_sorter(em_ctx *ctx, const em_order *order, const em_sort_opts *opts, test_rng *rng,
			const sort_shape *shape, const unsigned char *records, uint64_t n,
			const unsigned char *expected, uint64_t expected_n, em_sort_stats *stats)
{
	const uint64_t before = em_ctx_memory_used(ctx);
	em_sort_opts o = *opts;
	em_errinfo err;
	em_sorter *s;

	memset(&err, 0, sizeof(err));
	o.errinfo = &err;
	if (em_sorter_open(&s, ctx, order, &o) != EM_OK)
		fail_msg("no sorter: %s", err.text);
	if (sort_push(s, rng, shape, records, n) != EM_OK || em_sorter_finish(s) != EM_OK) {
		em_sorter_error(s, &err);
		fail_msg("%s", err.text);
	}
	sort_assert_pull(s, shape, expected, expected_n);
	if (stats != NULL) {
		stats->size = sizeof(*stats);
		assert_int_equal(em_sorter_stats_get(s, stats), EM_OK);
		assert_int_equal(stats->records_in, n);
	}
	em_sorter_close(s);
	/* The threads that it started stay with the context. */
	if (em_ctx_threads(ctx) == 1)
		assert_int_equal(em_ctx_memory_used(ctx), before);
}

void sort_write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

unsigned char *sort_read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	unsigned char *data;
	long size;

	if (f == NULL)
		fail_msg("%s is not there", path);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	assert_true(size >= 0);
	rewind(f);
	data = need((size_t)size);
	assert_int_equal(fread(data, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	*bytes = (size_t)size;
	return data;
}

void sort_assert_file(const char *path, const void *data, size_t bytes)
{
	size_t got;
	unsigned char *is = sort_read_file(path, &got);

	assert_int_equal(got, bytes);
	if (bytes > 0)
		assert_memory_equal(is, data, bytes);
	free(is);
}

unsigned sort_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	if (d == NULL)
		return 0;
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}
