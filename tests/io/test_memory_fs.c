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

static void test_scarce(void **state)
{
	char *dir = test_dir_make();
	const int mounted = conform_tmpfs(dir, 1024 * KIB);

	(void)state;
	if (mounted) {
		io_setup setup = {0};
		em_errinfo err;
		em_ctx *ctx;
		em_file *f;

		memset(&err, 0, sizeof(err));
		setup.dir = dir;
		setup.backend = "syscall";
		ctx = io_ctx(&setup);
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		assert_true(emi_on_memory_fs(emi_file_fd(f)));
		/* There is twice as much, and more. */
		assert_int_equal(emi_file_set_aside(f, 0, 400 * KIB, &err), EM_OK);
		assert_int_equal(taken(f), 0);
		/* There is not. */
		assert_int_equal(emi_file_set_aside(f, 0, 600 * KIB, &err), EM_OK);
		assert_int_equal(taken(f), 600 * KIB);
		assert_int_equal(emi_file_set_aside(f, 600 * KIB, 100 * KIB, &err), EM_OK);
		assert_int_equal(taken(f), 600 * KIB);
		assert_int_equal(emi_file_set_aside(f, 600 * KIB, 600 * KIB, &err), EM_ERR_NOSPACE);
		/* Who asks for it expressly gets it. */
		assert_int_equal(emi_file_reserve(f, 600 * KIB, 100 * KIB, &err), EM_OK);
		assert_int_equal(taken(f), 700 * KIB);
		emi_file_close(f);
		em_ctx_close(ctx);
		conform_unmount(dir);
	}
	test_dir_remove(dir);
	if (!mounted)
		skip();
}

/* A disk is not in memory. */
static void test_disk(void **state)
{
	char *dir = test_dir_make(), *image = test_path(dir, "image"), *on = test_path(dir, "on");
	int mounted;

	(void)state;
	assert_int_equal(mkdir(on, 0700), 0);
	mounted = conform_ext4(image, on, 4096 * KIB);
	if (mounted) {
		io_setup setup = {0};
		em_errinfo err;
		em_ctx *ctx;
		em_file *f;

		memset(&err, 0, sizeof(err));
		setup.dir = on;
		setup.backend = "syscall";
		ctx = io_ctx(&setup);
		f = io_open(ctx, on, EMI_OPEN_TEMP);
		assert_false(emi_on_memory_fs(emi_file_fd(f)));
		assert_false(emi_memory_fs_has(emi_file_fd(f), 1));
		assert_int_equal(emi_file_set_aside(f, 0, 64 * KIB, &err), EM_OK);
		assert_int_equal(taken(f), 64 * KIB);
		emi_file_close(f);
		em_ctx_close(ctx);
		conform_unmount(on);
	}
	assert_int_equal(rmdir(on), 0);
	free(on);
	free(image);
	test_dir_remove(dir);
	if (!mounted)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
