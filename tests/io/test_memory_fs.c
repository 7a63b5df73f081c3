/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_memory_fs.c -- on a file system in memory, space is set aside only when it is scarce; elsewhere always.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/conform_fs.h"
#include "io/io_test.h"
#include "io/memory_fs.h"

#define KIB ((uint64_t)1024)

/* Bytes that a file takes in its file system. */
static uint64_t taken(em_file *f)
{
	struct stat st;

	assert_int_equal(fstat(emi_file_fd(f), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

typedef struct bench {
	em_ctx *ctx;
	em_file *f;
	em_errinfo err;
} bench;

static void bench_open(bench *b, const char *dir)
{
	io_setup setup = {0};

	memset(b, 0, sizeof *b);
	setup.dir = dir;
	setup.backend = "syscall";
	b->ctx = io_ctx(&setup);
	b->f = io_open(b->ctx, dir, EMI_OPEN_TEMP);
}

static void bench_close(bench *b)
{
	emi_file_close(b->f);
	em_ctx_close(b->ctx);
}

static void scarce(const char *dir)
{
	bench b;

	bench_open(&b, dir);
	assert_true(emi_on_memory_fs(emi_file_fd(b.f)));
	/* There is twice as much, and more. */
	assert_int_equal(emi_file_set_aside(b.f, 0, 400 * KIB, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 0);
	/* There is not. */
	assert_int_equal(emi_file_set_aside(b.f, 0, 600 * KIB, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 600 * KIB);
	assert_int_equal(emi_file_set_aside(b.f, 600 * KIB, 100 * KIB, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 600 * KIB);
	assert_int_equal(emi_file_set_aside(b.f, 600 * KIB, 600 * KIB, &b.err), EM_ERR_NOSPACE);
	/* Who asks for it expressly gets it. */
	assert_int_equal(emi_file_reserve(b.f, 600 * KIB, 100 * KIB, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 700 * KIB);
	bench_close(&b);
}

static void test_scarce(void **state)
{
	(void)state;
	conform_on_tmpfs(1024 * KIB, scarce);
}

static void disk(const char *dir)
{
	bench b;

	bench_open(&b, dir);
	assert_false(emi_on_memory_fs(emi_file_fd(b.f)));
	assert_false(emi_memory_fs_has(emi_file_fd(b.f), 1));
	assert_int_equal(emi_file_set_aside(b.f, 0, 64 * KIB, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 64 * KIB);
	bench_close(&b);
}

/* A disk is not in memory. */
static void test_disk(void **state)
{
	(void)state;
	conform_on_ext4(4096 * KIB, disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
