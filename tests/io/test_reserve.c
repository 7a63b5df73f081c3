/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_reserve.c -- space that is reserved is asked for once.
 *
 * Some file systems (XFS) must have as much free as they are asked for, whatever the file has already.  One is played
 * here: this program's fallocate() stands before the C library's, notes what is asked for, and refuses what it would.
 * Where the kernel has XFS it is tried, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/backend.h"
#include "io/conform_fs.h"
#include "io/io_test.h"

#define CALLS_MOST 16
#define MIB ((uint64_t)1 << 20)

typedef struct call {
	int mode;
	uint64_t offset, bytes;
} call;

static const io_setup plain;

/* What the file system that is played has had to do. */
static struct {
	call made[CALLS_MOST];
	unsigned calls;
	uint64_t free;          /* bytes that it has for the file */
	uint64_t end;           /* bytes that the file has, from its front on */
	uint64_t size;          /* and how long it is */
	int plays;
} played;

static int play(int fd, int mode, uint64_t offset, uint64_t bytes)
{
	const uint64_t end = offset + bytes, more = end > played.end ? end - played.end : 0;
	call *c;

	assert_true(played.calls < CALLS_MOST);
	c = &played.made[played.calls++];
	c->mode = mode;
	c->offset = offset;
	c->bytes = bytes;
	if (bytes > played.free) {
		errno = ENOSPC;
		return -1;
	}
	played.free -= more;
	played.end += more;
	if ((mode & FALLOC_FL_KEEP_SIZE) == 0 && end > played.size) {
		played.size = end;
		return ftruncate(fd, (off_t)end);
	}
	return 0;
}

/* As the library's headers have it, this is the function for offsets of 64 bits, whatever its symbol is. */
int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	int (*real)(int, int, off_t, off_t);
	void *found;

	if (played.plays)
		return play(fd, mode, (uint64_t)offset, (uint64_t)bytes);
	found = dlsym(RTLD_NEXT, "fallocate64");
	if (found == NULL)
		found = dlsym(RTLD_NEXT, "fallocate");
	assert_non_null(found);
	memcpy(&real, &found, sizeof real);
	return real(fd, mode, offset, bytes);
}

static em_file *open_played(em_ctx *ctx, const char *path, uint64_t free)
{
	em_file *f;

	memset(&played, 0, sizeof played);
	played.free = free;
	played.plays = 1;
	assert_int_equal(emi_file_open(&f, ctx, path, EMI_OPEN_WRITE | EMI_OPEN_CREATE, NULL), EM_OK);
	return f;
}

/* With room for one and a half of what is reserved, it is; and what was asked for comes to little more. */
static void test_once(void **state)
{
	static const uint64_t parts[] = {1, 2, 7};
	const uint64_t bytes = 8 * MIB + 12345;
	char *dir = test_dir_make(), *path = test_path(dir, "file");
	em_ctx *ctx = io_ctx(&plain);
	uint64_t size, at;
	size_t i;
	unsigned k;

	(void)state;
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		const uint64_t step = bytes / parts[i] + 1;
		em_file *f = open_played(ctx, path, bytes + step / 2);
		uint64_t asked = 0;

		for (at = 0; at < bytes; at += step)
			assert_int_equal(emi_file_reserve(f, at, bytes - at < step ? bytes - at : step, NULL), EM_OK);
		played.plays = 0;
		assert_int_equal(played.end, bytes);
		for (k = 0; k < played.calls; k++)
			asked += played.made[k].bytes;
		assert_in_range(asked, bytes, bytes + 4096 * parts[i]);
		assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
		assert_int_equal(size, bytes);
		emi_file_close(f);
		assert_int_equal(unlink(path), 0);
	}
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* Space first, then size: a full disk leaves the file as long as it was. */
static void test_full(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "file");
	em_ctx *ctx = io_ctx(&plain);
	em_file *f = open_played(ctx, path, 5 * MIB);
	uint64_t size;

	(void)state;
	assert_int_equal(emi_file_reserve(f, 0, 3 * MIB, NULL), EM_OK);
	assert_int_equal(emi_file_reserve(f, 3 * MIB, 3 * MIB, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 3 * MIB);
	/* What lies within the file makes it no longer. */
	assert_int_equal(emi_file_reserve(f, MIB, MIB, NULL), EM_OK);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 3 * MIB);
	played.plays = 0;
	emi_file_close(f);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static uint64_t free_on(const char *dir)
{
	struct statvfs fs;

	assert_int_equal(statvfs(dir, &fs), 0);
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* There is room for one and a half. */
static void on_xfs(const char *dir)
{
	char *fill = test_path(dir, "fill"), *path = test_path(dir, "file");
	const int fd = open(fill, O_WRONLY | O_CREAT, 0600);
	const uint64_t bytes = 16 * MIB, room = free_on(dir) - 3 * bytes / 2;
	em_ctx *ctx = io_ctx(&plain);
	em_file *f;
	struct stat sb;

	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)room), 0);
	close(fd);
	assert_in_range(free_on(dir), bytes + MIB, 2 * bytes - MIB);
	assert_int_equal(emi_file_open(&f, ctx, path, EMI_OPEN_WRITE | EMI_OPEN_CREATE, NULL), EM_OK);
	assert_int_equal(emi_file_reserve(f, 0, bytes, NULL), EM_OK);
	assert_int_equal(fstat(emi_file_fd(f), &sb), 0);
	assert_int_equal(sb.st_size, bytes);
	assert_true((uint64_t)sb.st_blocks * 512 >= bytes);
	emi_file_close(f);
	em_ctx_close(ctx);
	free(path);
	free(fill);
}

static void test_xfs(void **state)
{
	(void)state;
	if (!conform_on_xfs(320 * MIB, on_xfs))
		print_message("# no XFS can be mounted here: reserving space is tested with one that is played only\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_xfs),
	};

	return cmocka_run_group_tests_name("reserve", tests, NULL, NULL);
}
