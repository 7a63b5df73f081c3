/* SPDX-License-Identifier: BSL-1.0 */
/*
 * stream_test.c -- what the tests of sources and sinks share; see stream_test.h.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/stream_test.h"

#define NOBODY 65534

em_ctx *stream_ctx(int32_t direct, const char *backend, const em_fault *fault, const test_memory *memory)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	opts.memory = 64u << 20;
	opts.direct = direct;
	opts.backend = backend;
	if (fault != NULL)
		opts.custom = em_fault_backend(fault);
	opts.threads = 1;
	if (memory != NULL)
		opts.allocator = &memory->allocator;
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		return NULL;
	return ctx;
}

void stream_write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

void stream_assert_file(const char *path, const void *data, size_t bytes)
{
	char *got = malloc(bytes + 1);
	FILE *f = fopen(path, "rb");

	assert_non_null(got);
	if (f == NULL)
		fail_msg("%s is not there", path);
	assert_int_equal(fread(got, 1, bytes + 1, f), bytes);
	if (bytes > 0)
		assert_memory_equal(got, data, bytes);
	fclose(f);
	free(got);
}

int stream_replace_fd(int fd, int by)
{
	int saved;

	fflush(NULL);
	saved = dup(fd);
	assert_true(saved >= 0);
	assert_int_equal(dup2(by, fd), fd);
	return saved;
}

void stream_restore_fd(int fd, int saved)
{
	dup2(saved, fd);
	close(saved);
}

void *stream_feed(void *feeder)
{
	stream_feeder *f = feeder;
	size_t at = 0;

	if (f->fd < 0)
		f->fd = open(f->path, O_WRONLY);
	while (at < f->bytes) {
		size_t n = f->bytes - at < f->chunk ? f->bytes - at : f->chunk;
		ssize_t put;

		if (f->pause_us > 0)
			usleep(f->pause_us);
		put = write(f->fd, f->data + at, n);
		if (put < 0)
			break;
		at += (size_t)put;
	}
	close(f->fd);
	return NULL;
}

void stream_not_root(void)
{
	if (getuid() == 0 && seteuid(NOBODY) != 0)
		fail_msg("cannot become another user");
}

void stream_root_again(void)
{
	if (getuid() == 0 && seteuid(0) != 0)
		fail_msg("cannot become root again");
}

int stream_fail_reads(stream_work_fn work, void *arg, em_status end, int sys_errno, const char *dir)
{
	int failures = 0, done = 0;
	uint64_t at;

	for (at = test_nth_after(0, 1); !done; at = test_nth_after(at, 1)) {
		em_fault fault;
		em_errinfo err;
		uint64_t before;
		em_ctx *ctx;
		em_status st;

		assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
		fault.ops = EM_FAULT_OPEN | EM_FAULT_READ;
		fault.nth = at;
		fault.sys_errno = sys_errno;
		ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
		assert_non_null(ctx);
		before = em_ctx_memory_used(ctx);
		memset(&err, 0, sizeof(err));
		st = work(arg, ctx, &err);
		done = fault.injected == 0;
		if (done || sys_errno == 0) {
			assert_int_equal(st, end);
		} else {
			failures++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(err.sys_errno, sys_errno);
			assert_true(strncmp(err.path, dir, strlen(dir)) == 0);
		}
		assert_int_equal(em_ctx_memory_used(ctx), before);
		em_ctx_close(ctx);
	}
	return failures;
}

int stream_fail_memory(stream_work_fn work, void *arg, em_status end)
{
	int failures = 0, done = 0;
	uint64_t at;

	for (at = test_nth_after(0, 1); !done; at = test_nth_after(at, 1)) {
		test_memory mem;
		em_ctx *ctx;

		test_memory_init(&mem, at);
		ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, &mem);
		if (ctx != NULL) {
			em_errinfo err;
			em_status st;

			memset(&err, 0, sizeof(err));
			st = work(arg, ctx, &err);
			if (st != end) {
				assert_int_equal(st, EM_ERR_NOMEM);
				assert_int_equal(err.status, EM_ERR_NOMEM);
				failures++;
			}
			done = !test_memory_failed(&mem);
			assert_true(!done || st == end);
			em_ctx_close(ctx);
		}
		test_memory_assert_clean(&mem);
	}
	return failures;
}
