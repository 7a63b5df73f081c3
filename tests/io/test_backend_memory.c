/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_memory.c -- temporary files that are kept in memory.
 */
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
#include <unistd.h>

#include "io/io_test.h"

static em_ctx *memory_ctx(const char *dir, uint64_t memory)
{
	io_setup setup = {0};

	setup.dir = dir;
	setup.backend = "memory";
	setup.memory = memory;
	return io_ctx(&setup);
}

static void test_traffic(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = memory_ctx(dir, 0);
	em_file *f = io_open(ctx, dir, EMI_OPEN_TEMP);

	(void)state;
	assert_false(emi_file_direct(f));
	assert_int_equal(emi_file_fd(f), -1);
	io_traffic(ctx, f, (uint64_t)32 << 20, 0);
	assert_dir_empty(dir);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What is in the file is disk: it may be more than the budget. */
static void test_not_counted(void **state)
{
	em_ctx *ctx = memory_ctx(NULL, (uint64_t)1 << 20);
	em_file *f = io_open(ctx, "/", EMI_OPEN_TEMP);
	uint64_t used = em_ctx_memory_used(ctx);
	char *buf = calloc(1, 1 << 20);
	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++)
		assert_int_equal(io_write(f, buf, 1 << 20, (uint64_t)i << 20, NULL), EM_OK);
	assert_int_equal(em_ctx_memory_used(ctx), used);
	assert_true(em_ctx_memory_peak(ctx) < (uint64_t)1 << 20);
	free(buf);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* A byte far out takes little; what was never written, and what was cut off, reads as zeros. */
static void test_sparse(void **state)
{
	em_ctx *ctx = memory_ctx(NULL, 0);
	em_file *f = io_open(ctx, "/", EMI_OPEN_TEMP);
	uint64_t far = (uint64_t)3 << 32, size = 0, i;
	char buf[300], zero[300] = {0};

	(void)state;
	memset(buf, 'x', sizeof buf);
	assert_int_equal(io_write(f, buf, 1, far, NULL), EM_OK);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, far + 1);
	assert_int_equal(io_read(f, buf, sizeof buf, far - sizeof buf, NULL), EM_OK);
	assert_memory_equal(buf, zero, sizeof buf);
	for (i = 0; i < 5; i++) {
		uint64_t at = i * 200000;

		memset(buf, 'y', sizeof buf);
		assert_int_equal(io_write(f, buf, sizeof buf, at, NULL), EM_OK);
		assert_int_equal(emi_file_resize(f, at + 100, NULL), EM_OK);
		assert_int_equal(emi_file_resize(f, at + 1000, NULL), EM_OK);
		assert_int_equal(io_read(f, buf, sizeof buf, at + 50, NULL), EM_OK);
		assert_int_equal(buf[49], 'y');
		assert_memory_equal(buf + 50, zero, sizeof buf - 50);
	}
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 801000);
	/* What was far out went with the first cut. */
	assert_int_equal(emi_file_resize(f, far + 1, NULL), EM_OK);
	assert_int_equal(io_read(f, buf, 1, far, NULL), EM_OK);
	assert_int_equal(buf[0], 0);
	emi_file_close(f);
	em_ctx_close(ctx);
}

static void test_end_of_file(void **state)
{
	em_ctx *ctx = memory_ctx(NULL, 0);
	em_file *f = io_open(ctx, "/", EMI_OPEN_TEMP);
	char buf[1000];
	emi_request rq;

	(void)state;
	memset(buf, 1, sizeof buf);
	memset(&rq, 0, sizeof rq);
	assert_int_equal(io_write(f, buf, 600, 0, NULL), EM_OK);
	emi_read(f, &rq, buf, sizeof buf, 100, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, 500);
	emi_read(f, &rq, buf, sizeof buf, (uint64_t)1 << 60, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, 0);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* Files with a name are real. */
static void test_named(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "real");
	em_ctx *ctx = memory_ctx(dir, 0);
	em_file *f = io_open(ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
	uint64_t size = 0;

	(void)state;
	assert_true(emi_file_fd(f) >= 0);
	assert_int_equal(emi_file_reserve(f, 0, 5000, NULL), EM_OK);
	assert_int_equal(emi_file_resize(f, 12345, NULL), EM_OK);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 12345);
	io_traffic(ctx, f, (uint64_t)1 << 20, emi_file_direct(f));
	emi_file_close(f);
	assert_int_equal(access(path, F_OK), 0);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static void test_direct_makes_no_sense(void **state)
{
	em_errinfo err;

	(void)state;
	io_assert_not_direct("memory", "/tmp", EMI_OPEN_TEMP, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_direct_makes_no_sense),
	};

	return cmocka_run_group_tests_name("io/backend_memory", tests, NULL, NULL);
}
