/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_line_loader.c -- filling a line store from files: all records are in it, in their order, whatever the files, the
 * store and the number of threads; it knows what they have in common, and which line was too long.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/store_bench.h"
#include "sort/line_loader.h"

#define CHUNK ((size_t)4096)

static em_status keep_header(void *arg, const void *data, size_t bytes, em_errinfo *err)
{
	bench *b = arg;

	(void)err;
	lines_add(&b->header, data, bytes);
	return EM_OK;
}

/* Load files, one store after the other; each comes out as it should.  Returns how the loading ended. */
static em_status load(bench *b, const char *const *paths, uint32_t n, uint64_t longest, uint64_t skip, em_errinfo *err)
{
	emi_records_opts opts;
	emi_records *r;
	emi_line_loader l;
	uint64_t done = skip;
	em_status st;
	int full = 1;

	memset(err, 0, sizeof(*err));
	memset(&opts, 0, sizeof(opts));
	opts.format = b->format;
	opts.chunk_bytes = CHUNK;
	opts.chunks = emi_line_loader_chunks(b->job.plan.threads) + 2;
	opts.longest = (uint64_t)1 << 20;
	assert_int_equal(emi_records_open(&r, b->ctx, paths, n, &opts, &b->job.io, err), EM_OK);
	assert_int_equal(emi_line_loader_init(&l, &b->store, r, paths, CHUNK, longest, err), EM_OK);
	l.header.ctx = b->ctx;
	l.header.format = &b->format;
	l.header.paths = paths;
	l.header.records = skip;
	l.header.to = keep_header;
	l.header.arg = b;
	do {
		uint64_t records;
		em_errinfo e;
		lines sorted;

		emi_line_store_clear(&b->store);
		st = emi_line_loader_fill(&l, &full, err);
		if (st != EM_OK)
			break;
		assert_true(!full || b->store.n != 0);
		if (b->store.n == 0)
			break;
		assert_true(b->store.most == 0 || b->store.n <= b->store.most);
		bench_assert_common(b, (size_t)done, (size_t)(done + b->store.n));
		sorted = bench_sorted(b, (size_t)done, (size_t)(done + b->store.n));
		done += b->store.n;
		assert_true(l.records_in == done - skip);
		assert_true(b->store.out == sorted.filled + sorted.n * b->job.out_extra);
		assert_int_equal(bench_send(b, 1, &records, &e), EM_OK);
		bench_assert_got(b, &sorted);
		lines_free(&sorted);
	} while (full);
	if (st == EM_OK)
		assert_true(done == b->in.n);
	emi_line_loader_free(&l);
	emi_records_close(r);
	return st;
}

/* Short and long lines in several files, in a large store, in a small one, and with a limit on the records in it. */
static void test_loaded(void **state)
{
	static const int formats[] = { 0, 1, 4, 9 };
	unsigned threads, round;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		for (round = 0; round < 6; round++) {
			em_sort_opts opts = EM_SORT_OPTS_INIT;
			const uint64_t skip = round % 3;
			char *dir = test_dir_make(), *path[3];
			unsigned char *record = calloc(1, 40000);
			const char *paths[3];
			size_t i, bound[4], n, header = 0;
			lines loaded = { 0 };
			em_errinfo err;
			bench b;

			assert_non_null(record);
			memset(record, 'L', 40000);
			memset(&err, 0, sizeof(err));
			opts.run_records = round == 4 ? 500 : 0;
			bench_open(&b, (int)((round + threads) % LINES_ORDERS), formats[round % 4], threads, &opts);
			if (round == 2 || round == 3)
				bench_resize(&b, 200000);
			bound[0] = 0;
			for (i = 0; i < 3; i++) {
				/* The last time all begin alike, in more than the eight bytes of a key. */
				lines_add_random(&b.in, &b.rng,
						 round == 5 ? LINES_WORDS : bench_style(round + (unsigned)i), 1000);
				for (n = 0; n < 3 && round != 5; n++)
					lines_add(&b.in, record, 3000 + (size_t)test_below(&b.rng, 30000));
				lines_add_random(&b.in, &b.rng, LINES_FEW, i == 1 && round != 5 ? 3000 : 0);
				bound[i + 1] = b.in.n;
			}
			for (i = 0; i < 3; i++) {
				path[i] = test_path(dir, i == 0 ? "a" : i == 1 ? "b" : "c");
				paths[i] = path[i];
				lines_write(path[i], &b.in, bound[i], bound[i + 1], &b.format, 0);
				lines_add_file(&loaded, &header, &b.in, bound[i], bound[i + 1], skip);
			}
			lines_free(&b.in);
			b.in = loaded;
			assert_int_equal(header, skip);
			assert_int_equal(load(&b, paths, 3, (uint64_t)1 << 17, skip, &err), EM_OK);
			assert_true(b.header.n == skip);
			if (skip != 0) {
				unsigned char *expected = lines_text(&b.in, 0, (size_t)skip, &b.format, 0, &n);

				assert_true(b.header.filled == n);
				assert_memory_equal(b.header.bytes, expected, n);
				free(expected);
			}
			for (i = 0; i < 3; i++)
				free(path[i]);
			free(record);
			bench_close(&b);
			test_dir_remove(dir);
		}
	}
}

/*
 * Two lines, one behind the other, are different from a byte on, the second one from byte `at' on: also within the
 * second eight bytes, which no key shows, and when what is common is less than sixteen bytes already.
 */
static void check_common(int which, size_t at, size_t behind, uint32_t threads)
{
	char *dir = test_dir_make(), *path = test_path(dir, "lines");
	const char *paths[1];
	unsigned char record[40];
	em_errinfo err;
	size_t i, odd;
	bench b;

	paths[0] = path;
	bench_open(&b, which, 0, threads, NULL);
	odd = (size_t)test_below(&b.rng, 699);
	for (i = 0; i < 700; i++) {
		memset(record, 'c', sizeof(record));
		record[30] = (unsigned char)('a' + test_below(&b.rng, 20));
		if (i == odd)
			record[at + behind] = 'b';
		if (i == odd + 1)
			record[at] = 'b';
		lines_add(&b.in, record, i % 7 == 5 ? 31 : sizeof(record));
	}
	lines_write(path, &b.in, 0, b.in.n, &b.format, 0);
	assert_int_equal(load(&b, paths, 1, (uint64_t)1 << 17, 0, &err), EM_OK);
	free(path);
	bench_close(&b);
	test_dir_remove(dir);
}

static void test_common(void **state)
{
	size_t at;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++)
		for (at = 0; at < 26; at++)
			check_common(which, at, 1 + (size_t)which % 3, 1 + (uint32_t)at % 2);
}

/* A line that is too long is named by its file and number, whatever came before it: here so many short lines that a
 * stage is filled more than once from one chunk. */
static void test_too_long(void **state)
{
	unsigned threads;
	uint64_t skip;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		for (skip = 0; skip < 3; skip++) {
			char *dir = test_dir_make(), *a = test_path(dir, "a"), *c = test_path(dir, "c"), text[4200];
			const char *paths[2];
			unsigned char *record = malloc(20000);
			em_errinfo err;
			size_t n;
			bench b;

			assert_non_null(record);
			memset(record, 'L', 20000);
			bench_open(&b, 0, 0, threads, NULL);
			lines_add_random(&b.in, &b.rng, LINES_WORDS, 1000);
			n = b.in.n;
			lines_add_random(&b.in, &b.rng, LINES_FEW, 777);
			lines_add(&b.in, record, 20000);
			lines_add_random(&b.in, &b.rng, LINES_WORDS, 3);
			paths[0] = a;
			paths[1] = c;
			lines_write(a, &b.in, 0, n, &b.format, 0);
			lines_write(c, &b.in, n, b.in.n, &b.format, 0);
			assert_int_equal(load(&b, paths, 2, 10000, skip, &err), EM_ERR_FORMAT);
			snprintf(text, sizeof(text), "%s:778: line and key of 20003 bytes", c);
			assert_non_null(strstr(err.text, text));
			assert_int_equal(err.record, 778);
			assert_string_equal(err.path, c);
			assert_int_equal(load(&b, paths + 1, 1, 10000, skip, &err), EM_ERR_FORMAT);
			assert_non_null(strstr(err.text, text));
			free(a);
			free(c);
			free(record);
			bench_close(&b);
			test_dir_remove(dir);
		}
	}
}

/* Is another thread woken for files of a line, or for chunks as they usually are? */
static int woken(size_t each)
{
	enum { FILES = 200 };
	char *dir = test_dir_make(), *path = test_path(dir, "lines");
	const char *paths[FILES];
	emi_records_opts opts;
	emi_line_loader l;
	emi_records *r;
	em_errinfo err;
	int full, got;
	size_t i;
	bench b;

	bench_open(&b, 0, 0, 2, NULL);
	lines_add_random(&b.in, &b.rng, LINES_WORDS, each);
	lines_write(path, &b.in, 0, b.in.n, &b.format, 0);
	for (i = 0; i < FILES; i++)
		paths[i] = path;
	memset(&opts, 0, sizeof(opts));
	opts.format = b.format;
	opts.chunk_bytes = CHUNK;
	opts.chunks = emi_line_loader_chunks(2) + 2;
	opts.longest = CHUNK;
	assert_int_equal(emi_records_open(&r, b.ctx, paths, FILES, &opts, &b.job.io, &err), EM_OK);
	assert_int_equal(emi_line_loader_init(&l, &b.store, r, paths, CHUNK, CHUNK, &err), EM_OK);
	assert_int_equal(emi_line_loader_fill(&l, &full, &err), EM_OK);
	assert_int_equal(b.store.n, FILES * each);
	/* A task that nobody submitted has no function. */
	got = l.helper[0].fn != NULL;
	emi_line_loader_free(&l);
	emi_records_close(r);
	bench_close(&b);
	free(path);
	test_dir_remove(dir);
	return got;
}

static void test_woken(void **state)
{
	(void)state;
	assert_int_equal(woken(1), 0);
	assert_int_equal(woken(500), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_woken),
	};

	return cmocka_run_group_tests_name("line loader", tests, NULL, NULL);
}
