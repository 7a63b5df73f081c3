/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_source.c -- sources against a model: all files one after the other in memory.
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
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "base/context.h"
#include "base/memory.h"
#include "stream/source_test.h"

/* The backends of this machine that can be named. */
static const char *const backends[] = { "syscall", "libaio", "io_uring", "memory", "stdio", "mmap" };

static void test_refused(void **state)
{
	char *dir = test_dir_make(), *odd = test_path(dir, "odd"), *none = test_path(dir, "none");
	char *locked = test_path(dir, "locked");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const char *path[2];
	em_errinfo err;
	emi_source *s;

	(void)state;
	assert_non_null(ctx);
	stream_write_file(odd, "0123456789", 10);
	stream_write_file(locked, "0123456789", 10);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(locked, 0), 0);

	path[0] = odd;
	path[1] = none;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_source_open(&s, ctx, path, 2, 5, NULL, &err), EM_ERR_NOENT);
	assert_null(s);
	assert_string_equal(err.path, none);
	assert_int_equal(err.sys_errno, ENOENT);

	path[1] = dir;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_source_open(&s, ctx, path, 2, 5, NULL, &err), EM_ERR_INVAL);
	assert_string_equal(err.path, dir);

	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_source_open(&s, ctx, path, 1, 4, NULL, &err), EM_ERR_FORMAT);
	assert_non_null(strstr(err.text, odd));
	assert_non_null(strstr(err.text, "10 bytes"));
	assert_non_null(strstr(err.text, "record size 4"));
	assert_int_equal(err.record, 3);
	assert_string_equal(err.path, odd);

	path[0] = locked;
	memset(&err, 0, sizeof(err));
	stream_not_root();
	assert_int_equal(emi_source_open(&s, ctx, path, 1, 5, NULL, &err), EM_ERR_ACCESS);
	stream_root_again();
	assert_string_equal(err.path, locked);

	/* Without an errinfo. */
	path[0] = none;
	assert_int_equal(emi_source_open(&s, ctx, path, 1, 5, NULL, NULL), EM_ERR_NOENT);
	assert_int_equal(emi_source_open(&s, ctx, path, 1, 0, NULL, NULL), EM_ERR_INVAL);
	em_ctx_close(ctx);
	free(odd);
	free(none);
	free(locked);
	test_dir_remove(dir);
}

static void test_no_input(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	reader r;

	(void)state;
	assert_int_equal(reader_open(&r, ctx, NULL, 0, 8, 100, PAGE), EM_OK);
	assert_int_equal(emi_source_records(r.s), 0);
	assert_int_equal(reader_read(&r, "", 0, 1), EM_OK);
	reader_close(&r);
	em_ctx_close(ctx);
}

/* One file, sizes around pages, areas around pages, records that straddle them. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 511, 4095, 4096, 4097, 8191, 8192, 8193, 20479, 20480, 65535, 65536,
					65537 };
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	static const uint64_t records[] = { 1, 3, 100, 4096, 4097 };
	char *dir = test_dir_make(), *path = test_path(dir, "in"), *data = malloc(65537);
	const char *paths[1];
	test_rng rng = test_rng_make(test_seed());
	size_t i, d, k, b;
	uint64_t before;

	(void)state;
	paths[0] = path;
	test_fill(&rng, data, 65537);
	for (d = 0; d < 2; d++)
		for (b = 0; b < 5; b++) {
			em_ctx *ctx = stream_ctx(direct[d], backends[b], NULL, NULL);

			if (ctx == NULL && em_backend_find(backends[b]) == NULL)
				continue; /* it is not built in */
			assert_non_null(ctx);
			before = em_ctx_memory_used(ctx);
			for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				for (k = 0; k < 5; k++) {
					size_t n = sizes[i] - sizes[i] % (size_t)records[k];
					reader r;

					stream_write_file(path, data, n);
					assert_int_equal(reader_open(&r, ctx, paths, 1, records[k],
								     1 + 20000 / records[k], 2 * PAGE), EM_OK);
					assert_int_equal(emi_source_records(r.s), n / records[k]);
					assert_int_equal(reader_read(&r, data, n, (int)(i % 2)), EM_OK);
					assert_true(r.stats.bytes_read >= n);
					reader_close(&r);
				}
			assert_int_equal(em_ctx_memory_used(ctx), before);
			em_ctx_close(ctx);
		}
	free(data);
	free(path);
	test_dir_remove(dir);
}

static void random_round(test_rng *rng, em_ctx *ctx, const char *dir)
{
	static const uint64_t sizes[] = { 1, 2, 7, 16, 100, 512, 4096, 4097 };
	const uint64_t record = sizes[test_below(rng, 8)];
	const uint64_t area = 1 + test_below(rng, test_below(rng, 2) ? 100000 : 9000) / record;
	const size_t request = PAGE * (size_t)(1 + test_below(rng, 4));
	const uint32_t n = 1 + (uint32_t)test_below(rng, FILES_MOST);
	const uint32_t piped = test_below(rng, 3) == 0 ? (uint32_t)test_below(rng, n) : n;
	char *data = malloc(FILES_MOST * 30000), *paths[FILES_MOST];
	stream_feeder feeder;
	pthread_t thread;
	size_t bytes;
	uint32_t i;
	reader r;

	assert_non_null(data);
	bytes = source_files(rng, dir, paths, n, record, data);
	memset(&feeder, 0, sizeof(feeder));
	if (piped < n) { /* one of them becomes a pipe with a name, fed in odd pieces */
		struct stat sb;
		size_t before = 0;

		for (i = 0; i < piped; i++) {
			assert_int_equal(stat(paths[i], &sb), 0);
			before += (size_t)sb.st_size;
		}
		assert_int_equal(stat(paths[piped], &sb), 0);
		assert_int_equal(unlink(paths[piped]), 0);
		assert_int_equal(mkfifo(paths[piped], 0600), 0);
		feeder.fd = -1;
		feeder.path = paths[piped];
		feeder.data = data + before;
		feeder.bytes = (size_t)sb.st_size;
		feeder.chunk = 1 + (size_t)test_below(rng, 5000);
		assert_int_equal(pthread_create(&thread, NULL, stream_feed, &feeder), 0);
	}
	assert_int_equal(reader_open(&r, ctx, (const char *const *)paths, n, record, area, request), EM_OK);
	assert_true(emi_source_records(r.s) == (piped < n ? UINT64_MAX : bytes / record));
	assert_int_equal(reader_read(&r, data, bytes, (int)test_below(rng, 2)), EM_OK);
	reader_close(&r);
	if (piped < n)
		pthread_join(thread, NULL);
	for (i = 0; i < n; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	free(data);
}

static void test_random_files(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	uint64_t before;
	int round;

	(void)state;
	for (round = 0; round < 60; round++) {
		int32_t direct = test_below(&rng, 4) == 0 ? EM_DIRECT_OFF : EM_DIRECT_TRY;
		em_ctx *ctx = stream_ctx(direct, backends[test_below(&rng, 6)], NULL, NULL);

		if (ctx == NULL)
			ctx = stream_ctx(direct, NULL, NULL, NULL);
		assert_non_null(ctx);
		before = em_ctx_memory_used(ctx);
		random_round(&rng, ctx, dir);
		assert_int_equal(em_ctx_memory_used(ctx), before);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

/* Two fillings begun before the first is awaited, when more is placed than there are requests for. */
static void test_few_requests(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in"), *data = malloc(200000);
	const char *paths[2];
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	reader r;
	int i;

	(void)state;
	paths[0] = paths[1] = path;
	test_fill(&rng, data, 100000);
	memcpy(data + 100000, data, 100000);
	stream_write_file(path, data, 100000);
	assert_int_equal(reader_open(&r, ctx, paths, 2, 1, 77777, PAGE), EM_OK);
	for (i = 0; i < 2; i++) {
		emi_fill_free(&r.fill[i], r.s);
		assert_int_equal(emi_fill_init(&r.fill[i], r.s, 2 * PAGE, PAGE, &r.err), EM_OK);
	}
	assert_int_equal(reader_read(&r, data, 200000, 1), EM_OK);
	reader_close(&r);
	em_ctx_close(ctx);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* Thousands of files, and hardly any descriptors. */
static void test_few_descriptors(void **state)
{
	enum { N = 3000 };
	char *dir = test_dir_make(), **paths = calloc(N, sizeof(*paths)), *data = malloc(N * 40);
	test_rng rng = test_rng_make(test_seed());
	struct rlimit old, few;
	em_ctx *ctx;
	size_t bytes = 0, i;
	reader r;
	int ahead;

	(void)state;
	assert_non_null(paths);
	assert_non_null(data);
	test_fill(&rng, data, N * 40);
	for (i = 0; i < N; i++) {
		size_t n = 4 * (size_t)test_below(&rng, 10);
		char name[16];

		snprintf(name, sizeof(name), "%zu", i);
		paths[i] = test_path(dir, name);
		stream_write_file(paths[i], data + bytes, n);
		bytes += n;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	assert_non_null(ctx);
	for (ahead = 0; ahead < 2; ahead++) {
		assert_int_equal(reader_open(&r, ctx, (const char *const *)paths, N, 4, 5000, 4 * PAGE), EM_OK);
		assert_int_equal(reader_read(&r, data, bytes, ahead), EM_OK);
		reader_close(&r);
	}
	/* One is enough, */
	while (ctx->fds_used < ctx->fds)
		assert_int_equal(emi_fd_take(ctx, "taken", NULL), EM_OK);
	emi_fd_drop(ctx);
	for (ahead = 0; ahead < 2; ahead++) {
		assert_int_equal(reader_open(&r, ctx, (const char *const *)paths, N, 4, 5000, 4 * PAGE), EM_OK);
		assert_int_equal(reader_read(&r, data, bytes, ahead), EM_OK);
		reader_close(&r);
	}
	/* but none is not: neither to see whether one of them is empty, nor to read one that is not. */
	assert_int_equal(emi_fd_take(ctx, "taken", NULL), EM_OK);
	assert_int_equal(reader_open(&r, ctx, (const char *const *)paths, N, 4, 5000, 4 * PAGE), EM_ERR_FDLIMIT);
	reader_close(&r);
	stream_write_file(paths[0], data, 40);
	assert_int_equal(reader_open(&r, ctx, (const char *const *)paths, 1, 4, 5000, 4 * PAGE), EM_OK);
	assert_int_equal(reader_read(&r, data, 40, 0), EM_ERR_FDLIMIT);
	reader_close(&r);
	em_ctx_close(ctx);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (i = 0; i < N; i++)
		free(paths[i]);
	free(paths);
	free(data);
	test_dir_remove(dir);
}

/* A file is what it was when it was opened: it may grow, but not shrink. */
static void test_changed_files(void **state)
{
	char *dir = test_dir_make(), *a = test_path(dir, "a"), *b = test_path(dir, "b"), *data = malloc(60000);
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	const char *paths[2];
	test_rng rng = test_rng_make(test_seed());
	uint64_t before;
	size_t d, cut;

	(void)state;
	test_fill(&rng, data, 60000);
	paths[0] = a;
	paths[1] = b;
	for (d = 0; d < 2; d++) {
		em_ctx *ctx = stream_ctx(direct[d], NULL, NULL, NULL);
		reader r;

		assert_non_null(ctx);
		before = em_ctx_memory_used(ctx);
		stream_write_file(a, data, 10000);
		stream_write_file(b, data + 10000, 20000);
		assert_int_equal(reader_open(&r, ctx, paths, 2, 1, 12345, PAGE), EM_OK);
		stream_write_file(b, data + 10000, 50000);
		assert_int_equal(reader_read(&r, data, 30000, 1), EM_OK);
		reader_close(&r);

		for (cut = 0; cut < 20000; cut += 1999) {
			stream_write_file(b, data + 10000, 20000);
			assert_int_equal(reader_open(&r, ctx, paths, 2, 1, 12345, PAGE), EM_OK);
			assert_int_equal(truncate(b, (off_t)cut), 0);
			assert_int_equal(reader_read(&r, data, 30000, 1), EM_ERR_SHORT);
			assert_int_equal(r.err.status, EM_ERR_SHORT);
			assert_string_equal(r.err.path, b);
			assert_true(r.err.offset == cut);
			/* and stays that way */
			assert_int_equal(reader_begin(&r, 0), EM_ERR_SHORT);
			reader_close(&r);
		}

		/* Gone altogether. */
		assert_int_equal(reader_open(&r, ctx, paths, 1, 1, 12345, PAGE), EM_OK);
		assert_int_equal(unlink(a), 0);
		assert_int_equal(reader_read(&r, data, 10000, 0), EM_ERR_NOENT);
		assert_string_equal(r.err.path, a);
		reader_close(&r);
		assert_int_equal(em_ctx_memory_used(ctx), before);
		em_ctx_close(ctx);
	}
	free(data);
	free(a);
	free(b);
	test_dir_remove(dir);
}

static void test_stdin_pipe(void **state)
{
	static const char *const paths[] = { "-", "-" };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	test_rng rng = test_rng_make(test_seed());
	char *data = malloc(300000);
	size_t bytes;

	(void)state;
	test_fill(&rng, data, 300000);
	for (bytes = 299997; bytes <= 299998; bytes++) {
		stream_feeder feeder;
		pthread_t thread;
		int fds[2], saved;
		em_status st;
		reader r;

		assert_int_equal(pipe(fds), 0);
		saved = stream_replace_fd(STDIN_FILENO, fds[0]);
		close(fds[0]);
		memset(&feeder, 0, sizeof(feeder));
		feeder.fd = fds[1];
		feeder.data = data;
		feeder.bytes = bytes;
		feeder.chunk = 3333;
		assert_int_equal(pthread_create(&thread, NULL, stream_feed, &feeder), 0);
		assert_int_equal(reader_open(&r, ctx, paths, 2, 3, 33333, PAGE), EM_OK);
		assert_true(emi_source_records(r.s) == UINT64_MAX);
		st = bytes % 3 == 0 ? reader_read(&r, data, bytes, 1) : EM_OK;
		if (bytes % 3 != 0) {
			while (st == EM_OK) {
				st = reader_begin(&r, 0);
				if (st == EM_OK)
					st = reader_await(&r, 0);
			}
			assert_int_equal(st, EM_ERR_FORMAT);
			assert_non_null(strstr(r.err.text, "299998 bytes"));
			assert_non_null(strstr(r.err.text, "standard input"));
			assert_int_equal(r.err.record, 299998 / 3 + 1);
		} else {
			assert_int_equal(st, EM_OK);
			assert_true(r.stats.bytes_read == bytes);
		}
		reader_close(&r);
		stream_restore_fd(STDIN_FILENO, saved);
		pthread_join(thread, NULL);
	}
	em_ctx_close(ctx);
	free(data);
}

/* A redirected file is read from where its descriptor stands. */
static void test_stdin_file(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in"), *data = malloc(50000);
	const char *paths[2];
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fd, saved;
	reader r;

	(void)state;
	test_fill(&rng, data, 50000);
	stream_write_file(path, data, 50000);
	paths[0] = "-";
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	saved = stream_replace_fd(STDIN_FILENO, fd);
	close(fd);
	assert_true(lseek(STDIN_FILENO, 20000, SEEK_SET) == 20000);
	assert_int_equal(reader_open(&r, ctx, paths, 1, 100, 70, PAGE), EM_OK);
	assert_int_equal(emi_source_records(r.s), 300);
	assert_int_equal(reader_read(&r, data + 20000, 30000, 1), EM_OK);
	reader_close(&r);

	/* Named twice it is read once. */
	paths[1] = "-";
	assert_true(lseek(STDIN_FILENO, 20000, SEEK_SET) == 20000);
	assert_int_equal(reader_open(&r, ctx, paths, 2, 100, 70, PAGE), EM_OK);
	assert_int_equal(emi_source_records(r.s), 300);
	assert_int_equal(reader_read(&r, data + 20000, 30000, 0), EM_OK);
	reader_close(&r);

	/* It shrinks. */
	assert_true(lseek(STDIN_FILENO, 20000, SEEK_SET) == 20000);
	assert_int_equal(reader_open(&r, ctx, paths, 1, 100, 7000, PAGE), EM_OK);
	assert_int_equal(truncate(path, 20100), 0);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_await(&r, 0), EM_ERR_SHORT);
	assert_true(r.err.offset == 100);
	reader_close(&r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
	free(data);
	free(path);
	test_dir_remove(dir);
}

typedef struct ticks {
	int calls, cancel_at;
} ticks;

static em_status tick(void *arg)
{
	ticks *t = arg;

	t->calls++;
	return t->calls == t->cancel_at ? EM_ERR_CANCELED : EM_OK;
}

/* Nothing comes from this pipe: the ticker ends the wait, and the wait can be taken up again. */
static void test_tick(void **state)
{
	static const char *const paths[] = { "-" };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fds[2], saved;
	ticks t = { 0, 2 };
	reader r;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	assert_int_equal(reader_open(&r, ctx, paths, 1, 2, 1000, PAGE), EM_OK);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(emi_source_await(r.s, &r.fill[0], tick, &t, &r.err), EM_ERR_CANCELED);
	assert_int_equal(r.err.status, EM_ERR_CANCELED);
	assert_string_equal(r.err.text, "canceled");
	assert_int_equal(t.calls, 2);
	assert_int_equal(write(fds[1], "def", 3), 3);
	close(fds[1]);
	assert_int_equal(emi_source_await(r.s, &r.fill[0], tick, &t, &r.err), EM_OK);
	assert_int_equal(r.fill[0].records, 3);
	assert_memory_equal(r.fill[0].first, "abcdef", 6);
	reader_close(&r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
}

/* Calls out of order are told, not obeyed; fills can be freed in any state. */
static void test_order_of_calls(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in"), *data = calloc(1, 100000);
	const char *paths[2];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	emi_fill blank;
	reader r;

	(void)state;
	stream_write_file(path, data, 100000);
	paths[0] = path;
	paths[1] = "/dev/zero";
	assert_int_equal(reader_open(&r, ctx, paths, 2, 10, 1000, PAGE), EM_OK);
	assert_int_equal(reader_await(&r, 0), EM_ERR_STATE);
	assert_int_equal(emi_source_begin(r.s, &r.fill[0], r.area[0] + 1, 10, NULL), EM_ERR_INVAL);
	assert_int_equal(emi_source_begin(r.s, &r.fill[0], r.area[0], UINT64_MAX / 2, NULL), EM_ERR_INVAL);
	assert_int_equal(emi_fill_init(&blank, r.s, 10000, 1000, NULL), EM_ERR_INVAL);
	memset(&blank, 0, sizeof(blank));
	emi_fill_free(&blank, r.s);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_begin(&r, 0), EM_ERR_STATE);
	assert_int_equal(reader_await(&r, 0), EM_OK);
	/* Left under way: one being read, one in the queue that comes to the device. */
	r.max_records = 9500;
	free(r.area[0]);
	free(r.area[1]);
	r.area_bytes = 95000 + EMI_SOURCE_SLACK;
	assert_int_equal(posix_memalign((void **)&r.area[0], PAGE, r.area_bytes + CANARY), 0);
	assert_int_equal(posix_memalign((void **)&r.area[1], PAGE, r.area_bytes + CANARY), 0);
	memset(r.area[0] + r.area_bytes, 0x5a, CANARY);
	memset(r.area[1] + r.area_bytes, 0x5a, CANARY);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_begin(&r, 1), EM_OK);
	assert_int_equal(reader_await(&r, 1), EM_ERR_STATE);
	reader_close(&r);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* What comes behind a stream cannot be placed before, but is as soon as the stream was read. */
static void test_behind_a_stream(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in"), *data = calloc(1, 100000);
	const char *paths[2];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fds[2], saved;
	reader r;

	(void)state;
	stream_write_file(path, data, 100000);
	paths[0] = "-";
	paths[1] = path;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "0123456789", 10), 10);
	close(fds[1]);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	assert_int_equal(reader_open(&r, ctx, paths, 2, 10, 1000, PAGE), EM_OK);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_begin(&r, 1), EM_OK);
	assert_int_equal(r.fill[0].state, EMI_FILL_BEGUN);
	assert_int_equal(reader_await(&r, 0), EM_OK);
	assert_int_equal(r.fill[0].records, 1000);
	assert_memory_equal(r.fill[0].first, "0123456789", 10);
	assert_int_equal(r.fill[1].state, EMI_FILL_PLACED);
	assert_int_equal(reader_await(&r, 1), EM_OK);
	assert_int_equal(r.fill[1].records, 1000);
	reader_close(&r);

	/* One that waits in the queue may be given up; the others go on. */
	paths[0] = path;
	paths[1] = "/dev/zero";
	assert_int_equal(reader_open(&r, ctx, paths, 2, 10, 10500, PAGE), EM_OK);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_begin(&r, 1), EM_OK);
	emi_fill_free(&r.fill[1], r.s);
	assert_int_equal(emi_fill_init(&r.fill[1], r.s, r.area_bytes, PAGE, &r.err), EM_OK);
	assert_int_equal(reader_await(&r, 0), EM_OK);
	assert_int_equal(r.fill[0].records, 10500);
	assert_int_equal(reader_begin(&r, 1), EM_OK);
	assert_int_equal(reader_await(&r, 1), EM_OK);
	assert_int_equal(r.fill[1].records, 10500);
	reader_close(&r);

	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* What a filling says it takes is what it takes. */
static void test_fill_memory(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_source *s;
	emi_fill fill;
	uint64_t before;

	(void)state;
	assert_int_equal(emi_source_open(&s, ctx, NULL, 0, 8, NULL, NULL), EM_OK);
	before = em_ctx_memory_used(ctx);
	assert_int_equal(emi_fill_init(&fill, s, 1000000, 8 * PAGE, NULL), EM_OK);
	assert_int_equal(em_ctx_memory_used(ctx) - before, emi_fill_memory(1000000, 8 * PAGE));
	emi_fill_free(&fill, s);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	emi_source_close(s);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_input),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_few_requests),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_changed_files),
		cmocka_unit_test(test_stdin_pipe),
		cmocka_unit_test(test_stdin_file),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_order_of_calls),
		cmocka_unit_test(test_behind_a_stream),
		cmocka_unit_test(test_fill_memory),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
