/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public.c -- files and requests as callers see them: order, functions, cancelling, waiting for any, statistics.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/request.h>

#include "io/io_test.h"

/* What em_..._error() said last. */
static em_errinfo told;

enum { SPACE = 1 << 18, LONGEST = 9000, MANY = TEST_TSAN ? 1000 : 4000, LOTS = 100000 };

static em_file *temp_file(em_ctx *ctx, const char *dir, uint32_t flags, uint32_t queue)
{
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_errinfo err;
	em_file *f;

	opts.flags = EM_OPEN_TEMP | flags;
	opts.queue = queue;
	opts.errinfo = &err;
	if (em_file_open(&f, ctx, dir, &opts) != EM_OK)
		fail_msg("%s", err.text);
	return f;
}

static em_ctx *backend_ctx(uint32_t b, const char *dir, uint32_t depth, int32_t priority)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	opts.custom = io_backend_at(b);
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.queue_depth = depth;
	opts.priority = priority;
	opts.memory = (uint64_t)64 << 20;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	return ctx;
}

typedef struct transfer {
	em_request *rq;
	unsigned char *buf, *expect;
	size_t bytes;
	unsigned calls;         /* atomic */
} transfer;

static void called(em_request *rq, void *user)
{
	transfer *t = user;

	if (em_request_status(rq) == EM_OK && em_request_moved(rq) == t->bytes)
		__atomic_add_fetch(&t->calls, 1, __ATOMIC_RELAXED);
}

/* Reads and writes that overlap at random, all submitted at once: each read finds what was written before it, and
 * nothing later. */
static void in_order(em_ctx *ctx, em_file *f, test_rng *rng, int pages)
{
	unsigned char *model = calloc(1, SPACE + LONGEST);
	transfer *t = calloc(MANY, sizeof *t);
	unsigned i;

	(void)ctx;
	assert_int_equal(em_file_write(f, model, SPACE + LONGEST, 0), EM_OK);
	for (i = 0; i < MANY; i++) {
		const uint64_t unit = pages ? 4096 : 1;
		const uint64_t offset = test_below(rng, SPACE / unit) * unit;
		const em_request_fn fn = i % 3 == 0 ? called : NULL;

		t[i].bytes = (size_t)(pages ? 4096 * (1 + test_below(rng, 2)) : 1 + test_below(rng, LONGEST - 1));
		assert_int_equal(posix_memalign((void **)&t[i].buf, 4096, t[i].bytes), 0);
		if (test_below(rng, 2)) {
			test_fill(rng, t[i].buf, t[i].bytes);
			memcpy(model + offset, t[i].buf, t[i].bytes);
			assert_int_equal(em_file_write_async(f, t[i].buf, t[i].bytes, offset, fn, &t[i], &t[i].rq),
					 EM_OK);
		} else {
			t[i].expect = malloc(t[i].bytes);
			memcpy(t[i].expect, model + offset, t[i].bytes);
			assert_int_equal(em_file_read_async(f, t[i].buf, t[i].bytes, offset, fn, &t[i], &t[i].rq),
					 EM_OK);
		}
	}
	for (i = 0; i < MANY; i++) {
		assert_int_equal(em_request_wait(t[i].rq), EM_OK);
		assert_int_equal(em_request_moved(t[i].rq), t[i].bytes);
		assert_int_equal(t[i].calls, i % 3 == 0);
		if (t[i].expect)
			assert_memory_equal(t[i].buf, t[i].expect, t[i].bytes);
		em_request_close(t[i].rq);
		free(t[i].buf);
		free(t[i].expect);
	}
	free(model);
	free(t);
}

static void test_order(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		em_ctx *ctx = backend_ctx(b, dir, 1 + (uint32_t)test_below(&rng, 64), (int32_t)(b % 3));
		const uint64_t before = em_ctx_memory_used(ctx);
		em_file *f = temp_file(ctx, dir, 0, 0);
		em_io_stats stats = EM_IO_STATS_INIT;
		uint64_t size;

		print_message("%s\n", em_ctx_backend(ctx));
		in_order(ctx, f, &rng, 1);
		in_order(ctx, f, &rng, 0);
		/* Whole pages were written, but the file is as long as it was made. */
		assert_int_equal(em_file_size(f, &size), EM_OK);
		assert_int_equal(size, SPACE + LONGEST);
		assert_int_equal(em_file_stats_get(f, &stats), EM_OK);
		assert_int_equal(stats.reads + stats.writes, 2 * MANY + 2);
		assert_int_equal(stats.queue, 0);
		em_file_close(f);
		assert_int_equal(em_ctx_memory_used(ctx), before);
		em_ctx_close(ctx);
	}
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

/* What is not aligned, on a direct file, at the end of it: the file becomes as long as it should, and stays so. */
static void test_unaligned_end(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		em_ctx *ctx = backend_ctx(b, dir, 0, 0);
		em_file *f = temp_file(ctx, dir, 0, 0);
		unsigned char *model = calloc(1, SPACE), *back = malloc(SPACE);
		uint64_t end = 0, size;
		size_t moved;
		unsigned i;

		for (i = 0; i < 200; i++) {
			const uint64_t offset = test_below(&rng, end + 5000);
			const size_t bytes = 1 + (size_t)test_below(&rng, 9000);

			if (offset + bytes > SPACE)
				continue;
			test_fill(&rng, model + offset, bytes);
			assert_int_equal(em_file_write(f, model + offset, bytes, offset), EM_OK);
			if (end < offset + bytes)
				end = offset + bytes;
			assert_int_equal(em_file_size(f, &size), EM_OK);
			assert_int_equal(size, end);
		}
		memset(back, 0xff, SPACE);
		assert_int_equal(em_file_read(f, back + 1, SPACE - 1, 1, &moved), EM_OK);
		assert_int_equal(moved, end - 1);
		assert_memory_equal(back + 1, model + 1, moved);
		assert_int_equal(em_file_read(f, back, 100, end, &moved), EM_OK);
		assert_int_equal(moved, 0);
		free(model);
		free(back);
		em_file_close(f);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

typedef struct chain {
	em_file *f;
	char *buf;
	unsigned left;
	pthread_mutex_t lock;
	pthread_cond_t change;
	int over;
} chain;

/* Each request's function submits the next; the last one closes the file. */
static void go_on(em_request *rq, void *user)
{
	chain *c = user;

	assert_int_equal(em_request_status(rq), EM_OK);
	if (c->left-- > 0) {
		assert_int_equal(em_file_write_async(c->f, c->buf, 4096, 4096 * (uint64_t)c->left, go_on, c, NULL),
				 EM_OK);
		return;
	}
	em_file_close(c->f);
	pthread_mutex_lock(&c->lock);
	c->over = 1;
	pthread_cond_signal(&c->change);
	pthread_mutex_unlock(&c->lock);
}

static void test_functions_submit_and_close(void **state)
{
	char *dir = test_dir_make();
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		em_ctx *ctx = backend_ctx(b, dir, 0, 0);
		chain c = { NULL, NULL, 6000, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

		assert_int_equal(posix_memalign((void **)&c.buf, 4096, 4096), 0);
		memset(c.buf, 7, 4096);
		c.f = temp_file(ctx, dir, 0, 0);
		assert_int_equal(em_file_write_async(c.f, c.buf, 4096, 0, go_on, &c, NULL), EM_OK);
		/* The context goes with the last thing that hangs from it. */
		em_ctx_close(ctx);
		pthread_mutex_lock(&c.lock);
		while (!c.over)
			pthread_cond_wait(&c.change, &c.lock);
		pthread_mutex_unlock(&c.lock);
		free(c.buf);
	}
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

/* Requests outlive their file. */
static void test_closed_file(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = backend_ctx(0, dir, 0, 0);
	em_file *f = temp_file(ctx, dir, 0, 0);
	em_request *rq[100];
	char buf[100] = "";
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++)
		assert_int_equal(em_file_write_async(f, buf + i, 1, i, NULL, NULL, &rq[i]), EM_OK);
	em_file_close(f);
	assert_int_equal(em_request_wait_all(rq, 100), EM_OK);
	for (i = 0; i < 100; i++) {
		assert_int_equal(em_request_moved(rq[i]), 1);
		em_request_close(rq[i]);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* The first of many, of files on several disks. */
static void test_wait_any(void **state)
{
	enum { FILES = 5, EACH = 20, ALL = FILES * EACH };
	char *dir = test_dir_make();
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		em_ctx *ctx = backend_ctx(b, dir, 4, 0);
		em_request *rq[ALL];
		em_file *f[FILES];
		char *buf = calloc(ALL, 4096);
		uint32_t i, n = ALL;

		for (i = 0; i < FILES; i++)
			f[i] = temp_file(ctx, dir, 0, i);
		for (i = 0; i < ALL; i++)
			assert_int_equal(em_file_write_async(f[i % FILES], buf + (size_t)i * 4096, 4096, i * 4096, NULL,
							     NULL, &rq[i]),
					 EM_OK);
		while (n > 0) {
			i = em_request_wait_any(rq, n, 60);
			assert_true(i < n);
			assert_int_equal(em_request_poll(rq[i]), 1);
			assert_int_equal(em_request_wait(rq[i]), EM_OK);
			em_request_close(rq[i]);
			rq[i] = rq[--n];
		}
		assert_int_equal(em_request_wait_any(rq, 0, 1), 0);
		for (i = 0; i < FILES; i++)
			em_file_close(f[i]);
		free(buf);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

/* So many at once: a hundred thousand with one backend, by the seed; a tenth with the others, and in slow builds. */
static uint32_t lots_of(uint32_t b)
{
	return test_fewer() > 1 || b != test_seed() % em_backend_count() ? LOTS / 10 : LOTS;
}

static void test_very_many(void **state)
{
	em_request **rq = calloc(LOTS, sizeof *rq);
	char *dir = test_dir_make(), *buf = calloc(LOTS, 8);
	uint32_t b, i;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		const uint32_t lots = lots_of(b);
		em_ctx *ctx = backend_ctx(b, dir, 0, 0);
		em_file *f = temp_file(ctx, dir, EM_OPEN_BUFFERED, 0);
		em_io_stats stats = EM_IO_STATS_INIT;

		for (i = 0; i < lots; i++)
			assert_int_equal(em_file_write_async(f, buf + i * 8, 8, (uint64_t)i * 8, NULL, NULL, &rq[i]),
					 EM_OK);
		assert_int_equal(em_request_wait_all(rq, lots), EM_OK);
		for (i = 0; i < lots; i++)
			em_request_close(rq[i]);
		assert_int_equal(em_ctx_io_stats_get(ctx, &stats), EM_OK);
		assert_int_equal(stats.writes, lots);
		assert_int_equal(stats.bytes_written, lots * 8);
		assert_true(stats.queue_most > 0);
		em_file_close(f);
		em_ctx_close(ctx);
	}
	free(rq);
	free(buf);
	test_dir_remove(dir);
}

/* Errors stay in the request, and tell everything. */
static void test_errors(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx *ctx = backend_ctx(0, dir, 0, 0);
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_errinfo err;
	em_request *rq;
	em_file *f;
	FILE *to;

	(void)state;
	opts.errinfo = &err;
	assert_int_equal(em_file_open(&f, ctx, path, &opts), EM_ERR_NOENT);
	assert_null(f);
	assert_non_null(strstr(err.text, path));
	opts.flags = 0;
	assert_int_equal(em_file_open(&f, ctx, path, &opts), EM_ERR_INVAL);
	opts.flags = EM_OPEN_READ | EM_OPEN_DIRECT | EM_OPEN_BUFFERED;
	assert_int_equal(em_file_open(&f, ctx, path, &opts), EM_ERR_INVAL);
	to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(em_file_open(&f, ctx, path, NULL), EM_OK);
	assert_int_equal(em_file_write(f, "x", 1, 0), EM_ERR_INVAL);
	em_file_error(f, &told);
	assert_int_equal(told.sys_errno, EBADF);
	assert_non_null(strstr(told.text, path));
	assert_int_equal(em_file_write_async(f, "x", 1, 12345, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_ERR_INVAL);
	assert_int_equal(em_request_wait(rq), EM_ERR_INVAL);
	assert_int_equal(em_request_status(rq), EM_ERR_INVAL);
	assert_int_equal(em_request_moved(rq), 0);
	em_request_error(rq, &err);
	assert_int_equal(err.sys_errno, EBADF);
	assert_string_equal(err.path, path);
	em_request_close(rq);
	assert_int_equal(em_file_write_async(f, NULL, 1, 0, NULL, NULL, &rq), EM_ERR_INVAL);
	assert_null(rq);
	assert_int_equal(em_file_read(NULL, &err, 1, 0, NULL), EM_ERR_INVAL);
	em_file_close(f);
	em_file_close(NULL);
	em_request_close(NULL);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	free(path);
}

/* A file that is locked. */
static void test_lock(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "locked");
	em_ctx *ctx = backend_ctx(0, dir, 0, 0);
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_file *f, *g, *h;

	(void)state;
	opts.flags = EM_OPEN_WRITE | EM_OPEN_CREATE | EM_OPEN_LOCK | EM_OPEN_SYNC;
	assert_int_equal(em_file_open(&f, ctx, path, &opts), EM_OK);
	opts.flags = EM_OPEN_READ | EM_OPEN_LOCK;
	assert_int_not_equal(em_file_open(&g, ctx, path, &opts), EM_OK);
	assert_int_equal(em_file_write(f, "abc", 3, 0), EM_OK);
	assert_int_equal(em_file_sync(f), EM_OK);
	em_file_close(f);
	assert_int_equal(em_file_open(&g, ctx, path, &opts), EM_OK);
	assert_int_equal(em_file_open(&h, ctx, path, &opts), EM_OK);
	em_file_close(g);
	em_file_close(h);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	free(path);
}

static void test_stats_text(void **state)
{
	em_io_stats a = EM_IO_STATS_INIT, b = EM_IO_STATS_INIT;
	char text[1000], few[10];

	(void)state;
	a.reads = 5;
	b.reads = 12;
	b.bytes_read = 4096;
	b.busy = 1.5;
	em_io_stats_since(&b, &a);
	assert_int_equal(b.reads, 7);
	assert_true(em_io_stats_text(&b, text, sizeof text) < sizeof text);
	assert_non_null(strstr(text, " 7 "));
	assert_true(em_io_stats_json(&b, text, sizeof text) < sizeof text);
	assert_non_null(strstr(text, "\"reads\": 7, "));
	assert_true(em_io_stats_json(&b, few, sizeof few) > sizeof few);
	assert_int_equal(strlen(few), sizeof few - 1);
	assert_int_equal(em_ctx_io_stats_get(NULL, &a), EM_ERR_INVAL);
	a.size = 2;
	em_io_stats_since(&b, &a);
	assert_int_equal(b.reads, 7);
}

/* As many through channels, which are for direct files that move enough. */
static void test_very_many_direct(void **state)
{
	enum { PAGE = 4096 };
	em_request **rq = calloc(LOTS, sizeof *rq);
	char *dir = test_dir_make();
	void *page;
	uint32_t b, i;

	(void)state;
	assert_int_equal(posix_memalign(&page, PAGE, PAGE), 0);
	memset(page, 7, PAGE);
	for (b = 0; b < em_backend_count(); b++) {
		const uint32_t lots = lots_of(b);
		em_io_stats stats = EM_IO_STATS_INIT;
		em_ctx *ctx;
		em_file *f;

		if (io_backend_at(b)->submit == NULL)
			continue;
		ctx = backend_ctx(b, dir, 0, 0);
		f = temp_file(ctx, dir, 0, 0);
		for (i = 0; i < lots; i++)
			assert_int_equal(em_file_write_async(f, page, PAGE, (uint64_t)i * PAGE, NULL, NULL, &rq[i]),
					 EM_OK);
		assert_int_equal(em_request_wait_all(rq, lots), EM_OK);
		for (i = 0; i < lots; i++) {
			assert_int_equal(em_request_moved(rq[i]), PAGE);
			em_request_close(rq[i]);
		}
		assert_int_equal(em_ctx_io_stats_get(ctx, &stats), EM_OK);
		assert_int_equal(stats.writes, lots);
		assert_int_equal(stats.queue, 0);
		em_file_close(f);
		em_ctx_close(ctx);
	}
	free(page);
	free(rq);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_unaligned_end),
		cmocka_unit_test(test_functions_submit_and_close),
		cmocka_unit_test(test_closed_file),
		cmocka_unit_test(test_wait_any),
		cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_very_many_direct),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_stats_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
