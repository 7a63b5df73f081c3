/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_memory.c -- temporary files that are kept in memory: where, and at whose cost.  What they do is in
 * test_conformance.c.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests_name("io/backend_memory", tests, NULL, NULL);
}
