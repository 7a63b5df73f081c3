/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_syscall.c -- pread and pwrite, buffered and direct, on a disk and in /dev/shm.
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "io/backend.h"
#include "io/io_test.h"

/* The last line that spoke of buffered transfers; log lines may come from any thread, these do not. */
static void note(void *user, int32_t level, const char *line)
{
	char *last = user;

	(void)level;
	if (strstr(line, "buffered"))
		strncpy(last, line, 255);
}

static void traffic_in(const char *dir, int32_t direct)
{
	io_setup setup = {0};
	em_errinfo err;
	char last[256] = "";
	em_file *f;
	em_ctx *ctx;
	em_status st;

	memset(&err, 0, sizeof err);
	setup.dir = dir;
	setup.backend = "syscall";
	setup.direct = direct;
	setup.log = note;
	setup.log_user = last;
	ctx = io_ctx(&setup);
	st = emi_file_open(&f, ctx, dir, EMI_OPEN_TEMP, &err);
	if (direct == EM_DIRECT_ON && st == EM_ERR_NOTSUP) {
		assert_null(f);
		assert_non_null(strstr(err.text, dir));
		em_ctx_close(ctx);
		return;
	}
	if (st != EM_OK)
		fail_msg("%s", err.text);
	if (direct == EM_DIRECT_OFF)
		assert_false(emi_file_direct(f));
	if (direct == EM_DIRECT_ON)
		assert_true(emi_file_direct(f));
	if (direct == EM_DIRECT_TRY)
		assert_int_equal(emi_file_direct(f), last[0] == '\0');
	assert_int_equal((fcntl(emi_file_fd(f), F_GETFL) & O_DIRECT) != 0, emi_file_direct(f));
	io_traffic(ctx, f, (uint64_t)16 << 20, emi_file_direct(f));
	emi_file_close(f);
	assert_int_equal(em_ctx_memory_used(ctx) > 0, 1);
	em_ctx_close(ctx);
}

static void test_traffic(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	traffic_in(dir, EM_DIRECT_OFF);
	traffic_in(dir, EM_DIRECT_TRY);
	traffic_in(dir, EM_DIRECT_ON);
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

/* Whatever the kernel pretends: what is in memory has no direct transfers. */
static void test_no_direct_in_memory(void **state)
{
	em_backend_open how = { 0 };
	struct statfs fs;

	(void)state;
	if (access("/dev/shm", W_OK) != 0 || statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS_MAGIC)
		skip();
	how.path = "/dev/shm";
	how.flags = EM_OPEN_TEMP;
	how.want_direct = EM_DIRECT_ON;
	assert_int_equal(emi_backend_syscall.open(NULL, &how), EOPNOTSUPP);
	how.want_direct = EM_DIRECT_TRY;
	assert_int_equal(emi_backend_syscall.open(NULL, &how), 0);
	assert_int_equal(how.direct, 0);
	assert_non_null(strstr(how.reason, "memory"));
	emi_backend_syscall.close(how.handle, 0);
}

static void test_traffic_in_shm(void **state)
{
	struct stat st;

	(void)state;
	if (stat("/dev/shm", &st) != 0 || access("/dev/shm", W_OK) != 0)
		skip();
	traffic_in("/dev/shm", EM_DIRECT_OFF);
	traffic_in("/dev/shm", EM_DIRECT_TRY);
	traffic_in("/dev/shm", EM_DIRECT_ON);
}

/* Whatever the context says, a buffered file takes any alignment. */
static void test_buffered_flag(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "x");
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;
	char odd[] = "0123456789";

	(void)state;
	setup.backend = "syscall";
	setup.direct = EM_DIRECT_ON;
	ctx = io_ctx(&setup);
	f = io_open(ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE | EMI_OPEN_BUFFERED);
	assert_false(emi_file_direct(f));
	assert_int_equal(io_write(f, odd + 1, 7, 3, NULL), EM_OK);
	memset(odd, 0, sizeof odd);
	assert_int_equal(io_read(f, odd, 7, 3, NULL), EM_OK);
	assert_string_equal(odd, "1234567");
	emi_file_close(f);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* A character device cannot be direct: "on" says so, "try" does without; and no file is left by a failed creation. */
static void test_direct_refused(void **state)
{
	io_setup setup = {0};
	em_errinfo err;
	em_ctx *ctx;
	em_file *f;

	(void)state;
	io_assert_not_direct("syscall", "/dev/null", EMI_OPEN_READ, &err);
	assert_non_null(strstr(err.text, "/dev/null"));
	setup.backend = "syscall";
	setup.direct = EM_DIRECT_TRY;
	ctx = io_ctx(&setup);
	f = io_open(ctx, "/dev/null", EMI_OPEN_READ);
	assert_false(emi_file_direct(f));
	emi_file_close(f);
	em_ctx_close(ctx);
}

static void test_table(void **state)
{
	const em_backend *be = emi_backend_find("syscall");
	uint32_t i, n = emi_backend_count();

	(void)state;
	assert_ptr_equal(be, &emi_backend_syscall);
	assert_null(emi_backend_find("no such backend"));
	assert_null(emi_backend_find(""));
	assert_null(emi_backend_at(n));
	assert_ptr_equal(emi_backend_find(NULL), emi_backend_at(0));
	assert_ptr_equal(em_backend_find("memory"), emi_backend_find("memory"));
	assert_int_equal(em_backend_count(), n);
	for (i = 0; i < n; i++) {
		assert_null(emi_backend_flaw(emi_backend_at(i)));
		assert_ptr_equal(em_backend_at(i), emi_backend_find(emi_backend_at(i)->name));
	}
}

static void test_flaws(void **state)
{
	em_backend be = emi_backend_syscall;

	(void)state;
	be.name = NULL;
	assert_non_null(emi_backend_flaw(&be));
	be = emi_backend_syscall;
	be.write = NULL;
	assert_non_null(emi_backend_flaw(&be));
	be = emi_backend_syscall;
	be.reserve = NULL;
	be.fd = NULL;
	assert_null(emi_backend_flaw(&be));
	assert_true(emi_backend_discards(&be));
	be.discard = NULL;
	assert_null(emi_backend_flaw(&be));
	assert_false(emi_backend_discards(&be));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_traffic_in_shm),
		cmocka_unit_test(test_no_direct_in_memory),
		cmocka_unit_test(test_buffered_flag),
		cmocka_unit_test(test_direct_refused),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_flaws),
	};

	return cmocka_run_group_tests_name("io/backend_syscall", tests, NULL, NULL);
}
