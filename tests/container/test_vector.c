/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector.c -- what vectors promise beside holding records: how many transfers they take, where files are odd, what
 * is refused, what is small.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem/sys/cache.h>
#include <extmem/sys/placement.h>

#include "container/vector_case.h"

enum { BLOCK = 4096 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

/* Bytes of the file. */
static uint64_t length_of(const char *path)
{
	struct stat s;

	assert_int_equal(stat(path, &s), 0);
	return (uint64_t)s.st_size;
}

static void make_file(vector_case *t, const void *bytes, size_t n)
{
	FILE *f;

	t->dir = test_dir_make();
	t->path = test_path(t->dir, "records");
	f = fopen(t->path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void read_file(const char *path, void *bytes, size_t n)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fread(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Few records: nothing is opened or written on scratch, and little memory is taken. */
static void test_small(void **state)
{
	vector_case t;
	uint64_t i, bytes;
	em_vector_reader *r;
	const em_batch *b;

	(void)state;
	vector_case_open(&t, memory(), 8, 1000);
	t.f.fault[0].ops = EM_FAULT_ALL;
	t.f.fault[0].count = 0;
	bytes = t.f.mem.bytes;
	vector_case_make(&t, 0);
	vector_case_draw(&t, 1000);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 1000, NULL));
	vector_case_put(&t, 0, 1000);
	for (i = 0; i < 1000; i++)
		assert_vector_ok(&t, em_vector_set(t.v, i, t.is + 8 * i));
	vector_case_check(&t);
	assert_vector_ok(&t, em_vector_reader_open(&r, t.v, NULL));
	assert_vector_ok(&t, em_vector_reader_next(r, &b));
	assert_int_equal(b->n, 1000);
	em_vector_reader_close(r);
	assert_int_equal(t.f.fault[0].count, 0);
	assert_true(t.f.mem.peak - bytes < 256 * 1024);
	assert_true(t.f.mem.bytes - bytes <= em_vector_memory(&t.opts, 1000));
	vector_case_close(&t);
}

/* A file's bytes are the records, whatever their size; what goes in comes out, and its length is exact. */
static void test_files(void **state)
{
	static const uint32_t records[] = { 1, 3, 8, 12, 100, 4096, 5000, 70000 };
	unsigned k;

	(void)state;
	for (k = 0; k < sizeof records / sizeof *records; k++) {
		const uint32_t record = records[k];
		const uint64_t n = record < 100 ? 100003 : 211;
		vector_case t;
		uint64_t pushed;
		char *copy;

		vector_case_open(&t, em_backend_find("syscall"), record, n + 5);
		vector_case_draw(&t, n);
		make_file(&t, t.buf, (size_t)(n * record));
		vector_case_put(&t, 0, n);
		t.opts.cache_bytes = record > 4096 || k % 2 ? 0 : 1 << 20;
		vector_case_make(&t, 1);
		vector_case_check(&t);
		vector_case_draw(&t, 5);
		assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 5, &pushed));
		assert_int_equal(pushed, 5);
		vector_case_put(&t, n, 5);
		vector_case_draw(&t, 1);
		assert_vector_ok(&t, em_vector_set(t.v, n / 2, t.buf));
		vector_case_put(&t, n / 2, 1);
		assert_vector_ok(&t, em_vector_flush(t.v, k % 2));
		copy = malloc((size_t)(t.n * record));
		assert_non_null(copy);
		assert_int_equal(length_of(t.path), t.n * record);
		read_file(t.path, copy, (size_t)(t.n * record));
		assert_memory_equal(copy, t.is, (size_t)(t.n * record));
		assert_vector_ok(&t, em_vector_resize(t.v, n - 7));
		assert_int_equal(length_of(t.path), (n - 7) * record);
		t.n = n - 7;
		vector_case_check(&t);
		vector_case_reopen(&t);
		vector_case_check(&t);
		free(copy);
		vector_case_close(&t);
	}
}

/* What was evicted stands in the file before it is flushed; what is not flushed stands in it after closing. */
static void test_evicted(void **state)
{
	enum { N = 20 * BLOCK / 8 };
	static uint64_t now[N];
	uint64_t changed = 0, i;
	vector_case t;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 8, N);
	make_file(&t, t.is, N * 8);
	t.opts.block_bytes = BLOCK;
	t.opts.cache_bytes = 4 * BLOCK;
	vector_case_make(&t, 1);
	for (i = 1; i <= N; i++)
		assert_vector_ok(&t, em_vector_set(t.v, i - 1, &i));
	read_file(t.path, now, sizeof now);
	for (i = 0; i < N; i++)
		changed += now[i] == i + 1;
	assert_true(changed >= N - 4 * BLOCK / 8);
	em_vector_close(t.v);
	t.v = NULL;
	read_file(t.path, now, sizeof now);
	for (i = 0; i < N; i++)
		assert_int_equal(now[i], i + 1);
	vector_case_close(&t);
}

/* What cannot be read at any place is told at once: a pipe, for example, is not waited for. */
static void test_no_places(void **state)
{
	static const uint32_t flags[] = { 0, EM_VECTOR_READ_ONLY, EM_VECTOR_CREATE, EM_VECTOR_TRUNCATE };
	const char *paths[3];
	vector_case t;
	em_vector *v;
	size_t i, k;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 8, 100);
	make_file(&t, "", 0);
	assert_int_equal(unlink(t.path), 0);
	assert_int_equal(mkfifo(t.path, 0600), 0);
	paths[0] = t.path;
	paths[1] = t.dir;
	paths[2] = "/dev/null";
	for (i = 0; i < sizeof paths / sizeof paths[0]; i++)
		for (k = 0; k < sizeof flags / sizeof flags[0]; k++) {
			t.opts.path = paths[i];
			t.opts.flags = flags[k];
			assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_ERR_NOTSUP);
			assert_null(v);
			assert_string_equal(t.err.path, paths[i]);
			assert_non_null(strstr(t.err.text, "at any place"));
		}
	vector_case_close(&t);
}

/* Flags of files, and files that are none for records. */
static void test_odd_files(void **state)
{
	char records[100] = { 1, 2, 3 };
	vector_case t;
	em_vector *v;
	char *none;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 8, 100);
	make_file(&t, records, 99);
	t.opts.path = t.path;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_ERR_FORMAT);
	assert_null(v);
	assert_non_null(strstr(t.err.text, "99"));
	assert_non_null(strstr(t.err.text, "records of 8"));
	assert_string_equal(t.err.path, t.path);
	t.opts.record_bytes = 9;
	t.opts.flags = EM_VECTOR_READ_ONLY;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_OK);
	assert_int_equal(em_vector_size(v), 11);
	assert_int_equal(em_vector_get(v, 0, records + 50), EM_OK);
	assert_memory_equal(records, records + 50, 9);
	assert_int_equal(em_vector_set(v, 0, records), EM_ERR_ACCESS);
	assert_int_equal(em_vector_write(v, 0, records, 1), EM_ERR_ACCESS);
	assert_int_equal(em_vector_push(v, records), EM_ERR_ACCESS);
	assert_int_equal(em_vector_resize(v, 3), EM_ERR_ACCESS);
	assert_int_equal(em_vector_flush(v, 0), EM_OK);
	em_vector_error(v, &t.err);
	assert_string_equal(t.err.path, t.path);
	em_vector_close(v);
	assert_int_equal(length_of(t.path), 99);

	t.opts.flags = EM_VECTOR_READ_ONLY | EM_VECTOR_CREATE;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_ERR_INVAL);
	t.opts.flags = EM_VECTOR_TRUNCATE;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_OK);
	assert_int_equal(em_vector_size(v), 0);
	em_vector_close(v);
	assert_int_equal(length_of(t.path), 0);
	none = test_path(t.dir, "none");
	t.opts.path = none;
	t.opts.flags = 0;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_ERR_NOENT);
	t.opts.flags = EM_VECTOR_CREATE;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_OK);
	em_vector_close(v);
	assert_int_equal(length_of(none), 0);
	t.opts.path = t.dir;
	assert_true(em_vector_open(&v, t.f.ctx, &t.opts) < EM_OK);
	free(none);
	vector_case_close(&t);
}

/* Somebody else has cut it short: that is told, and not read as zeros. */
static void test_cut_short(void **state)
{
	enum { N = 100 * BLOCK / 8 };
	em_vector_reader *r;
	const em_batch *b;
	em_status st;
	vector_case t;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 8, N);
	vector_case_draw(&t, N);
	make_file(&t, t.buf, N * 8);
	t.opts.block_bytes = BLOCK;
	t.opts.cache_bytes = 8 * BLOCK;
	vector_case_make(&t, 1);
	assert_int_equal(truncate(t.path, N * 4), 0);
	assert_vector_ok(&t, em_vector_get(t.v, 0, t.buf));
	assert_int_equal(em_vector_get(t.v, N - 1, t.buf), EM_ERR_SHORT);
	em_vector_error(t.v, &t.err);
	assert_string_equal(t.err.path, t.path);
	assert_vector_ok(&t, em_vector_reader_open(&r, t.v, NULL));
	do
		st = em_vector_reader_next(r, &b);
	while (st == EM_OK);
	assert_int_equal(st, EM_ERR_SHORT);
	assert_int_equal(em_vector_reader_next(r, &b), EM_ERR_SHORT);
	em_vector_reader_close(r);
	vector_case_close(&t);
}

/* Exchanged vectors have each other's records and options. */
static void test_swap(void **state)
{
	uint64_t two[2] = { 7, 8 }, x;
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_vector_reader *r;
	em_vector *b;
	vector_case t;
	void *record;

	(void)state;
	vector_case_numbers(&t, memory(), 5000, 4);
	vector_case_draw(&t, 5000);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 5000, NULL));
	vector_case_put(&t, 0, 5000);
	opts.record_bytes = 16;
	assert_int_equal(em_vector_open(&b, t.f.ctx, &opts), EM_OK);
	assert_int_equal(em_vector_push(b, two), EM_OK);
	assert_int_equal(em_vector_swap(t.v, b), EM_OK);
	assert_int_equal(em_vector_size(b), 5000);
	assert_int_equal(em_vector_record_bytes(t.v), 16);
	assert_int_equal(em_vector_get(b, 4999, &x), EM_OK);
	assert_memory_equal(&x, t.is + 8 * 4999, 8);
	assert_int_equal(em_vector_pin(t.v, 0, 0, &record), EM_OK);
	assert_memory_equal(record, two, 16);
	assert_int_equal(em_vector_swap(b, t.v), EM_ERR_STATE);
	assert_int_equal(em_vector_unpin(t.v, 0, 0), EM_OK);
	assert_int_equal(em_vector_reader_open(&r, b, NULL), EM_OK);
	assert_int_equal(em_vector_swap(t.v, b), EM_ERR_STATE);
	assert_int_equal(em_vector_resize(b, 1), EM_ERR_STATE);
	em_vector_reader_close(r);
	assert_int_equal(em_vector_swap(t.v, t.v), EM_OK);
	assert_int_equal(em_vector_swap(t.v, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_swap(NULL, t.v), EM_ERR_INVAL);
	assert_int_equal(em_vector_swap(t.v, b), EM_OK);
	em_vector_close(b);
	vector_case_check(&t);
	vector_case_close(&t);
}

/* All blocks may be pinned but one; what is pinned does not go. */
static void test_pinned(void **state)
{
	void *record[4];
	vector_case t;
	uint64_t i;

	(void)state;
	vector_case_numbers(&t, memory(), 5000, 4);
	assert_vector_ok(&t, em_vector_resize(t.v, 5000));
	t.n = 5000;
	for (i = 0; i < 4; i++) {
		assert_vector_ok(&t, em_vector_pin(t.v, 600 * i, 1, &record[i]));
		*(uint64_t *)record[i] = i + 1;
	}
	assert_int_equal(em_vector_get(t.v, 4999, t.buf), EM_ERR_STATE);
	assert_int_equal(em_vector_resize(t.v, 1700), EM_ERR_STATE);
	assert_int_equal(em_vector_unpin(t.v, 4000, 0), EM_ERR_STATE);
	assert_int_equal(em_vector_unpin(t.v, 5000, 0), EM_ERR_STATE);
	assert_vector_ok(&t, em_vector_unpin(t.v, 0, 1));
	assert_int_equal(em_vector_unpin(t.v, 0, 0), EM_ERR_STATE);
	for (i = 0; i < 5000; i++)
		assert_vector_ok(&t, em_vector_get(t.v, i, t.buf));
	for (i = 1; i < 4; i++) {
		assert_int_equal(*(uint64_t *)record[i], i + 1);
		assert_vector_ok(&t, em_vector_unpin(t.v, 600 * i, 1));
	}
	for (i = 0; i < 4; i++) {
		uint64_t one = i + 1;

		memcpy(t.is + 8 * 600 * i, &one, 8);
	}
	vector_case_check(&t);
	vector_case_close(&t);
}

/* Records may be added while one is pinned in the block that the end is in, also where the file is longer already. */
static void test_grow_pinned(void **state)
{
	vector_case t;
	em_vector_reader *r;
	void *at;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 3, 1134);
	t.opts.block_bytes = BLOCK;
	t.opts.cache_bytes = 4 * BLOCK;
	vector_case_make(&t, 1);
	vector_case_draw(&t, 1077);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 1077, NULL));
	vector_case_put(&t, 0, 1077);
	assert_vector_ok(&t, em_vector_pin(t.v, 1076, 0, &at));
	assert_vector_ok(&t, em_vector_resize(t.v, 1134));
	memset(t.is + 1077 * 3, 0, (1134 - 1077) * 3);
	t.n = 1134;
	assert_memory_equal(at, t.is + 1076 * 3, 3);
	assert_int_equal(em_vector_resize(t.v, 1100), EM_ERR_STATE);
	assert_int_equal(em_vector_shrink(t.v), EM_ERR_STATE);
	assert_vector_ok(&t, em_vector_unpin(t.v, 1076, 0));
	assert_vector_ok(&t, em_vector_reader_open(&r, t.v, NULL));
	assert_int_equal(em_vector_shrink(t.v), EM_ERR_STATE);
	em_vector_reader_close(r);
	assert_vector_ok(&t, em_vector_shrink(t.v));
	vector_case_check(&t);
	vector_case_reopen(&t);
	vector_case_check(&t);
	vector_case_close(&t);
}

/* A record in two blocks cannot be lent, and the detail says with which blocks it could. */
static void test_straddling(void **state)
{
	static const char record[100];
	vector_case t;
	void *at;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 100, 1000);
	t.opts.block_bytes = BLOCK;
	t.opts.cache_bytes = 4 * BLOCK;
	vector_case_make(&t, 1);
	assert_vector_ok(&t, em_vector_resize(t.v, 1000));
	assert_vector_ok(&t, em_vector_pin(t.v, 39, 0, &at));
	assert_vector_ok(&t, em_vector_unpin(t.v, 39, 0));
	assert_int_equal(em_vector_pin(t.v, 40, 0, &at), EM_ERR_NOTSUP);
	em_vector_error(t.v, &t.err);
	assert_non_null(strstr(t.err.text, "102400"));
	assert_vector_ok(&t, em_vector_set(t.v, 40, record));
	em_vector_close(t.v);
	t.opts.block_bytes = 102400;
	t.opts.cache_bytes = 0;
	assert_vector_ok(&t, em_vector_open(&t.v, t.f.ctx, &t.opts));
	assert_vector_ok(&t, em_vector_pin(t.v, 40, 0, &at));
	assert_vector_ok(&t, em_vector_unpin(t.v, 40, 0));
	vector_case_close(&t);
}

/* An export is the records' bytes, and appears at once. */
static void test_export(void **state)
{
	enum { N = 30001 };
	vector_case t;
	char *copy, *none;

	(void)state;
	vector_case_open(&t, em_backend_find("syscall"), 12, N);
	t.opts.block_bytes = BLOCK;
	t.opts.cache_bytes = 4 * BLOCK;
	vector_case_make(&t, 0);
	vector_case_draw(&t, N);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, N, NULL));
	vector_case_put(&t, 0, N);
	t.dir = test_dir_make();
	t.path = test_path(t.dir, "export");
	assert_vector_ok(&t, em_vector_export(t.v, t.path));
	assert_int_equal(length_of(t.path), 12 * N);
	copy = malloc(12 * N);
	assert_non_null(copy);
	read_file(t.path, copy, 12 * N);
	assert_memory_equal(copy, t.is, 12 * N);
	none = test_path(t.dir, "none/there");
	assert_int_equal(em_vector_export(t.v, none), EM_ERR_NOENT);
	em_vector_error(t.v, &t.err);
	assert_int_equal(t.err.status, EM_ERR_NOENT);
	assert_int_equal(em_vector_export(t.v, NULL), EM_ERR_INVAL);
	free(copy);
	free(none);
	vector_case_close(&t);
}

/* What is no vector, or cannot be. */
static void test_options(void **state)
{
	em_placement place;
	em_policy policy = *em_policy_lru();
	em_vector_opts opts = EM_VECTOR_OPTS_INIT, plain;
	vector_case t;
	em_vector *v;

	(void)state;
	vector_case_open(&t, memory(), 8, 1);
	plain = t.opts;
	memset(&place, 0, sizeof place);
	place.disks = 5;
#define refused(field, value, expected) \
	do { \
		opts = plain; \
		opts.field = value; \
		t.err.status = EM_OK; \
		assert_int_equal(em_vector_open(&v, t.f.ctx, &opts), expected); \
		assert_null(v); \
		assert_int_equal(t.err.status, expected); \
		assert_true(t.err.text[0] != '\0'); \
	} while (0)
	refused(record_bytes, 0, EM_ERR_RANGE);
	refused(record_bytes, ((uint64_t)1 << 24) + 1, EM_ERR_RANGE);
	refused(record_bytes, UINT64_MAX, EM_ERR_RANGE);
	refused(block_bytes, 100, EM_ERR_INVAL);
	refused(block_bytes, (uint64_t)1 << 32, EM_ERR_RANGE);
	refused(page_blocks, 65, EM_ERR_RANGE);
	refused(cache_bytes, 100000, EM_ERR_RANGE);
	refused(cache_bytes, UINT64_MAX, EM_ERR_RANGE);
	refused(cache_bytes, 1u << 30, EM_ERR_MEMLIMIT);
	refused(records, UINT64_MAX, EM_ERR_RANGE);
	refused(flags, EM_VECTOR_CREATE, EM_ERR_INVAL);
	refused(flags, 8, EM_ERR_INVAL);
	refused(placement, &place, EM_ERR_INVAL);
	policy.hit = NULL;
	refused(policy, &policy, EM_ERR_INVAL);
	plain.record_bytes = 5000;
	refused(block_bytes, 4096, EM_ERR_RANGE);
	plain.path = "x";
	refused(records, 3, EM_ERR_INVAL);
	refused(placement, &place, EM_ERR_INVAL);
#undef refused
	assert_int_equal(em_vector_open(NULL, t.f.ctx, &t.opts), EM_ERR_INVAL);
	assert_int_equal(em_vector_open(&v, NULL, &t.opts), EM_ERR_INVAL);
	assert_int_equal(em_vector_open(&v, t.f.ctx, NULL), EM_ERR_INVAL);
	t.opts.size = 0;
	assert_int_equal(em_vector_open(&v, t.f.ctx, &t.opts), EM_ERR_VERSION);
	assert_true(em_vector_memory(&t.opts, 1) == 0 && em_vector_memory(NULL, 1) == 0);
	vector_case_close(&t);
}

/* Mistakes change nothing. */
static void test_misuse(void **state)
{
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	uint64_t at[3] = { 0, 99, 100 }, x[3] = { 0, 0, 0 }, n;
	em_vector_stats stats = EM_VECTOR_STATS_INIT;
	const em_batch *b;
	em_vector_reader *r;
	em_vector_writer *w, *w2;
	vector_case t;
	void *p;

	(void)state;
	vector_case_numbers(&t, memory(), 100, 4);
	vector_case_draw(&t, 100);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 100, NULL));
	vector_case_put(&t, 0, 100);
	assert_int_equal(em_vector_get(NULL, 0, x), EM_ERR_INVAL);
	assert_int_equal(em_vector_get(t.v, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_get(t.v, 100, x), EM_ERR_RANGE);
	em_vector_error(t.v, &t.err);
	assert_non_null(strstr(t.err.text, "record 100"));
	assert_int_equal(em_vector_set(NULL, 0, x), EM_ERR_INVAL);
	assert_int_equal(em_vector_set(t.v, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_set(t.v, UINT64_MAX, x), EM_ERR_RANGE);
	assert_int_equal(em_vector_read(NULL, 0, x, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_read(t.v, 0, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_read(t.v, 98, x, 3), EM_ERR_RANGE);
	assert_int_equal(em_vector_read(t.v, 101, x, 0), EM_ERR_RANGE);
	assert_int_equal(em_vector_read(t.v, 100, NULL, 0), EM_OK);
	assert_int_equal(em_vector_read(t.v, 1, x, UINT64_MAX), EM_ERR_RANGE);
	assert_int_equal(em_vector_write(NULL, 0, x, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_write(t.v, 0, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_write(t.v, 98, x, 3), EM_ERR_RANGE);
	assert_int_equal(em_vector_read_many(NULL, at, 1, x), EM_ERR_INVAL);
	assert_int_equal(em_vector_read_many(t.v, NULL, 1, x), EM_ERR_INVAL);
	assert_int_equal(em_vector_read_many(t.v, at, 1, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_read_many(t.v, at, 3, x), EM_ERR_RANGE);
	em_vector_error(t.v, &t.err);
	assert_int_equal(t.err.record, 3);
	em_vector_hint(NULL, 0);
	em_vector_hint(t.v, UINT64_MAX);
	assert_int_equal(em_vector_push(NULL, x), EM_ERR_INVAL);
	assert_int_equal(em_vector_push(t.v, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_push_many(t.v, x, UINT64_MAX, &n), EM_ERR_RANGE);
	assert_int_equal(n, 0);
	assert_int_equal(em_vector_resize(t.v, UINT64_MAX / 8), EM_ERR_RANGE);
	assert_int_equal(em_vector_resize(NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_vector_reserve(t.v, UINT64_MAX), EM_ERR_RANGE);
	assert_int_equal(em_vector_reserve(NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_vector_shrink(NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_flush(NULL, 0), EM_ERR_INVAL);
	assert_int_equal(em_vector_export(NULL, "x"), EM_ERR_INVAL);
	assert_int_equal(em_vector_pin(NULL, 0, 0, &p), EM_ERR_INVAL);
	assert_int_equal(em_vector_pin(t.v, 0, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_pin(t.v, 100, 0, &p), EM_ERR_RANGE);
	assert_int_equal(em_vector_unpin(NULL, 0, 0), EM_ERR_INVAL);
	assert_int_equal(em_vector_unpin(t.v, 0, 0), EM_ERR_STATE);
	assert_int_equal(em_vector_stats_get(NULL, &stats), EM_ERR_INVAL);
	assert_int_equal(em_vector_stats_get(t.v, NULL), EM_ERR_INVAL);
	stats.size = 0;
	assert_int_equal(em_vector_stats_get(t.v, &stats), EM_ERR_VERSION);
	assert_true(em_vector_size(NULL) == 0 && em_vector_record_bytes(NULL) == 0);
	em_vector_error(NULL, &t.err);
	em_vector_error(t.v, NULL);
	em_vector_close(NULL);

	assert_int_equal(em_vector_reader_open(NULL, t.v, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_reader_open(&r, NULL, NULL), EM_ERR_INVAL);
	opts.buffers = 1;
	assert_int_equal(em_vector_reader_open(&r, t.v, &opts), EM_ERR_RANGE);
	assert_int_equal(em_vector_writer_open(&w, t.v, &opts), EM_ERR_RANGE);
	opts.buffers = 0;
	opts.direction = 2;
	assert_int_equal(em_vector_reader_open(&r, t.v, &opts), EM_ERR_INVAL);
	opts.direction = EM_VECTOR_REVERSE;
	assert_int_equal(em_vector_writer_open(&w, t.v, &opts), EM_ERR_INVAL);
	opts.from = 101;
	assert_int_equal(em_vector_reader_open(&r, t.v, &opts), EM_ERR_RANGE);
	opts.direction = 0;
	assert_int_equal(em_vector_writer_open(&w, t.v, &opts), EM_ERR_RANGE);
	assert_null(w);
	assert_int_equal(em_vector_writer_open(&w, t.v, NULL), EM_OK);
	assert_int_equal(em_vector_writer_open(&w2, t.v, NULL), EM_ERR_STATE);
	assert_int_equal(em_vector_push(t.v, x), EM_ERR_STATE);
	assert_int_equal(em_vector_resize(t.v, 5), EM_ERR_STATE);
	assert_int_equal(em_vector_writer_push(w, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_push(NULL, x, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_lend(w, NULL, &n), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_lend(w, &p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_took(w, 1), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_finish(w), EM_OK);
	assert_int_equal(em_vector_writer_finish(w), EM_ERR_STATE);
	assert_int_equal(em_vector_writer_push(w, x, 1), EM_ERR_STATE);
	em_vector_writer_close(w);
	assert_int_equal(em_vector_reader_next(NULL, &b), EM_ERR_INVAL);
	assert_int_equal(em_vector_writer_finish(NULL), EM_ERR_INVAL);
	assert_null(em_vector_reader_cursor(NULL));
	em_vector_reader_close(NULL);
	em_vector_writer_close(NULL);
	vector_case_check(&t);

	/* A reader goes on when its vector is closed. */
	assert_int_equal(em_vector_reader_open(&r, t.v, NULL), EM_OK);
	em_vector_close(t.v);
	t.v = NULL;
	assert_int_equal(em_vector_reader_next(r, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_reader_next(r, &b), EM_OK);
	assert_memory_equal(b->records, t.is, 800);
	em_vector_reader_close(r);
	vector_case_close(&t);
}

/* Backwards the cursor goes from the last record to the first. */
static void test_cursor(void **state)
{
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_reader *r;
	const void *record;
	vector_case t;
	uint64_t i;

	(void)state;
	vector_case_numbers(&t, memory(), 3000, 4);
	vector_case_draw(&t, 3000);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, 3000, NULL));
	vector_case_put(&t, 0, 3000);
	opts.direction = EM_VECTOR_REVERSE;
	opts.from = 5;
	assert_vector_ok(&t, em_vector_reader_open(&r, t.v, &opts));
	for (i = 3000; i > 5; i--) {
		assert_int_equal(em_cursor_next(em_vector_reader_cursor(r), &record), EM_OK);
		assert_memory_equal(record, t.is + 8 * (i - 1), 8);
	}
	assert_int_equal(em_cursor_next(em_vector_reader_cursor(r), &record), EM_END);
	em_vector_reader_close(r);
	vector_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_no_places),
		cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_grow_pinned),
		cmocka_unit_test(test_straddling),
		cmocka_unit_test(test_export),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
