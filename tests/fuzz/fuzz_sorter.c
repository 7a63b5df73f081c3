/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_sorter.c -- a sorter's whole life against a stable sort in memory.
 *
 * The input is
 *
 *	byte 0      records of one size by fields, of one size by a function, or lines
 *	byte 1      bytes of a record, or which text order
 *	byte 2      how many fields, threads, whether equal records are dropped
 *	byte 3-7    records of a run, fan-in, block size, read and write buffers, memory; mostly what the sorter chooses
 *	then        four bytes for each field
 *	then        steps of three bytes: records of a pattern, pushed one by one or in a batch
 *
 * What comes out is what the model says, byte for byte, whatever the options; options that cannot be are refused when
 * the sorter is opened, as em_sort_plan() does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>

#include "fuzz/order_model.h"

#define HEADER 8u
#define RECORDS_MOST 4000u
#define RECORD_MOST 60u

#define CHECK(what) check((what) != 0, #what, __LINE__)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int fine, const char *what, int line)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_sorter.c:%d: %s\n", line, what);
	abort();
}

enum { BY_FIELDS, BY_FUNCTION, BY_TEXT };

/* All that is pushed, one record behind the other, and where each ends. */
typedef struct work {
	int kind;
	em_key key[ORDER_KEYS_MOST];
	uint32_t keys;
	size_t bytes;                   /* of a record, or the most */
	unsigned char *data;
	uint64_t *end;
	size_t n;
	em_order *order;
} work;

static const unsigned char *record_at(const work *w, size_t i, size_t *n)
{
	const uint64_t begin = i == 0 ? 0 : w->end[i - 1];

	*n = (size_t)(w->end[i] - begin);
	return w->data + begin;
}

static int compare_records(const work *w, size_t i, size_t j)
{
	size_t ni, nj;
	const unsigned char *a = record_at(w, i, &ni), *b = record_at(w, j, &nj);
	int c = 0;

	if (w->kind != BY_TEXT)
		return order_compare(w->key, w->keys, w->bytes, a, b);
	CHECK(em_text_compare(w->order, a, ni, b, nj, &c) == EM_OK);
	return c;
}

/* The caller's function. */
static int compare_by_function(const void *a, const void *b, void *user)
{
	const work *w = user;

	return order_compare(w->key, w->keys, w->bytes, a, b);
}

/* Stable merge sort of the records' numbers. */
static void sort_numbers(const work *w, size_t *a, size_t *tmp, size_t n)
{
	const size_t half = n / 2;
	size_t i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort_numbers(w, a, tmp, half);
	sort_numbers(w, a + half, tmp, n - half);
	while (i < half || j < n)
		tmp[k++] = j == n || (i < half && compare_records(w, a[i], a[j]) <= 0) ? a[i++] : a[j++];
	memcpy(a, tmp, n * sizeof *a);
}

static em_status make_order(work *w, em_ctx *ctx, const uint8_t *data)
{
	static const char *const keys[] = { "1n", "2", "1.2,1.3r", "1,1V", "1f", "2,2g", "1M", "1h" };
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_text_key key[2];
	uint32_t i, n = data[2] % 3;

	if (w->kind == BY_FIELDS)
		return em_order_keys(&w->order, ctx, w->bytes, w->key, w->keys, NULL);
	if (w->kind == BY_FUNCTION)
		return em_order_cmp(&w->order, ctx, w->bytes, "fuzz", compare_by_function,
				    (data[1] & 1) != 0 ? EM_FN_THREADS : 0, w, NULL, NULL);
	for (i = 0; i < n; i++)
		CHECK(em_text_key_parse(&key[i], NULL, keys[(data[1] >> 3 * i) % 8], NULL) == EM_OK);
	opts.flags = (data[1] & 64) != 0	      ? EM_TEXT_LAST_REVERSE
		     : (data[1] & 128) != 0 && n != 0 ? EM_TEXT_KEYS_ONLY
						      : 0;
	return em_order_text(&w->order, ctx, key, n, &opts, NULL);
}

/* A record whose bytes say the number x, at a place that arg chooses; the rest is arg. */
static void add_record(work *w, unsigned arg, unsigned x)
{
	unsigned char *p = w->data + (w->n == 0 ? 0 : w->end[w->n - 1]);
	size_t n = w->bytes, i;
	char number[16];

	memset(p, (int)(w->kind == BY_TEXT ? ' ' + arg % 80 : arg), w->bytes);
	if (w->kind == BY_TEXT) {
		n = (x + arg) % 5 == 0 ? x % w->bytes : w->bytes / 2;
		snprintf(number, sizeof number, "%u %u", x, arg);
		for (i = 0; number[i] != '\0' && i + arg % 8 < n; i++)
			p[i + arg % 8] = (unsigned char)number[i];
	} else {
		for (i = 0; i < 3; i++)
			p[(arg + i) % n] = (unsigned char)(x >> 8 * i);
	}
	w->end[w->n] = (w->n == 0 ? 0 : w->end[w->n - 1]) + n;
	w->n++;
}

/* The numbers of a pattern. */
static void add_pattern(work *w, unsigned pattern, unsigned arg, size_t n)
{
	size_t i;

	for (i = 0; i < n && w->n < RECORDS_MOST; i++) {
		const unsigned k = (unsigned)i, mixed = k * 2654435761u >> 8;

		add_record(w, arg, pattern == 0   ? mixed
				   : pattern == 1 ? k
				   : pattern == 2 ? (unsigned)n - k
				   : pattern == 3 ? mixed % 5
						  : arg);
	}
}

/* Push records [first, w->n), in one of the ways there are. */
static em_status push(em_sorter *s, const work *w, size_t first, unsigned how)
{
	const uint64_t begin = first == 0 ? 0 : w->end[first - 1];
	em_batch batch;
	uint64_t *ends;
	em_status st;
	size_t i;

	if (first == w->n)
		return EM_OK;
	if (w->kind != BY_TEXT && how == 0)
		return em_sorter_push(s, w->data + begin, w->n - first);
	memset(&batch, 0, sizeof batch);
	batch.records = w->data + begin;
	batch.n = w->n - first;
	batch.bytes = (size_t)(w->end[w->n - 1] - begin);
	ends = malloc(batch.n * sizeof *ends);
	CHECK(ends);
	for (i = 0; i < batch.n; i++)
		ends[i] = w->end[first + i] - begin;
	batch.ends = w->kind == BY_TEXT ? ends : NULL;
	st = em_sorter_push_batch(s, batch.records, batch.ends, batch.n);
	free(ends);
	return st;
}

static void check_output(em_sorter *s, const work *w, const size_t *number, size_t n)
{
	const em_batch *batch;
	size_t done = 0, i, bytes;
	em_status st;

	while ((st = em_sorter_next(s, &batch)) == EM_OK) {
		const unsigned char *p = batch->records;
		uint64_t begin = 0;

		CHECK(batch->n != 0 && batch->n <= n - done);
		for (i = 0; i < batch->n; i++) {
			const unsigned char *want = record_at(w, number[done + i], &bytes);

			if (w->kind == BY_TEXT)
				CHECK(batch->ends[i] == begin + bytes);
			CHECK(memcmp(p + begin, want, bytes) == 0);
			begin += bytes;
		}
		CHECK(batch->bytes == begin);
		done += batch->n;
	}
	CHECK(st == EM_END && done == n);
	CHECK(em_sorter_next(s, &batch) == EM_END);
}

/* Sort what was pushed by the model; returns how many records are left. */
static size_t expected(const work *w, size_t *number, int unique)
{
	size_t *tmp = malloc(RECORDS_MOST * sizeof *tmp), i, n = 0;

	CHECK(tmp);
	for (i = 0; i < w->n; i++)
		number[i] = i;
	sort_numbers(w, number, tmp, w->n);
	for (i = 0; i < w->n; i++)
		if (!unique || n == 0 || compare_records(w, number[n - 1], number[i]) != 0)
			number[n++] = number[i];
	free(tmp);
	return n;
}

static em_sort_opts options(const uint8_t *data)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;

	o.flags = ((data[2] & 64) != 0 ? EM_SORT_UNIQUE : 0) | ((data[2] & 128) != 0 ? EM_SORT_STABLE : 0);
	o.run_records = data[3] % 4 != 0 ? data[3] * 16u : 0;
	o.fan_in = data[4] % 8;
	o.block_bytes = data[5] % 4 != 0 ? (uint64_t)(data[5] % 4) * 4096 + (data[5] == 255) : 0;
	o.read_buffers = data[6] % 4 == 0 ? data[6] / 4 % 8u : 0;
	o.write_buffers = data[6] % 4 == 1 ? data[6] / 4 % 8u : 0;
	o.memory = data[7] % 4 == 0 ? (uint64_t)data[7] << 12 : (uint64_t)3 << 20;
	return o;
}

static void sort_all(work *w, em_ctx *ctx, const uint8_t *data, const uint8_t *end)
{
	const em_sort_opts o = options(data - HEADER - ORDER_KEYS_MOST * ORDER_KEY_BYTES);
	size_t *number = malloc(RECORDS_MOST * sizeof *number), n;
	em_sort_plan_info plan;
	em_sorter *s = NULL;
	em_sort_stats stats;
	em_status st, planned;

	CHECK(number);
	memset(&plan, 0, sizeof plan);
	plan.size = sizeof plan;
	planned = em_sort_plan(ctx, w->order, RECORDS_MOST, &o, &plan);
	CHECK(planned == EM_OK || planned == EM_ERR_INVAL || planned == EM_ERR_MEMLIMIT);
	st = em_sorter_open(&s, ctx, w->order, &o);
	CHECK((st == EM_ERR_INVAL) == (planned == EM_ERR_INVAL));
	if (st != EM_OK) {
		CHECK(s == NULL && (st == EM_ERR_INVAL || st == EM_ERR_MEMLIMIT));
		free(number);
		return;
	}
	for (; st == EM_OK && end - data >= 3; data += 3) {
		const size_t first = w->n;

		add_pattern(w, data[0] % 5, data[1], (size_t)data[2] * (1 + data[0] / 32u));
		st = push(s, w, first, data[0] / 8 % 2);
	}
	if (st == EM_OK)
		st = em_sorter_finish(s);
	if (st != EM_OK) {
		/* There are more short runs than the memory can describe. */
		CHECK(st == EM_ERR_MEMLIMIT && o.run_records != 0);
		CHECK(em_sorter_finish(s) == st);
		em_sorter_close(s);
		free(number);
		return;
	}
	n = expected(w, number, (o.flags & EM_SORT_UNIQUE) != 0);
	check_output(s, w, number, n);
	memset(&stats, 0, sizeof stats);
	stats.size = sizeof stats;
	CHECK(em_sorter_stats_get(s, &stats) == EM_OK);
	CHECK(stats.records_in == w->n && stats.records_out == n);
	CHECK(em_sorter_push(s, w->data, 1) == EM_ERR_STATE);
	em_sorter_close(s);
	free(number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const size_t fields = ORDER_KEYS_MOST * ORDER_KEY_BYTES;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	uint32_t i;
	work w;

	if (bytes < HEADER + fields)
		return 0;
	memset(&w, 0, sizeof w);
	w.kind = data[0] % 3;
	w.bytes = w.kind == BY_TEXT ? RECORD_MOST : 1 + data[1] % RECORD_MOST;
	w.keys = data[2] % (ORDER_KEYS_MOST + 1);
	for (i = 0; i < w.keys; i++)
		w.key[i] = order_key_right(data + HEADER + i * ORDER_KEY_BYTES, w.bytes);
	w.data = malloc(RECORDS_MOST * w.bytes);
	w.end = malloc(RECORDS_MOST * sizeof *w.end);
	CHECK(w.data && w.end);

	opts.memory = 8u << 20;
	opts.threads = 1 + data[2] / 8 % 3;
	opts.backend = "memory";
	CHECK(em_ctx_open(&ctx, &opts) == EM_OK);
	CHECK(make_order(&w, ctx, data) == EM_OK);
	sort_all(&w, ctx, data + HEADER + fields, data + bytes);
	em_order_close(w.order);
	em_ctx_close(ctx);
	free(w.data);
	free(w.end);
	return 0;
}
