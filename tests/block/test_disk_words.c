/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disk_words.c -- what disks cannot be, what is said of it, and how much there is room for.
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
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/disk.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/simdisk.h>

#include "base/context.h"
#include "block/disk.h"
#include "common/test.h"
#include "io/conform_fs.h"

#define MIB ((uint64_t)1 << 20)

enum { MOST = 3 };

/* A context on n disks. */
static em_ctx *ctx_on(const em_disk_opts *disk, uint32_t n, uint64_t scratch_max)
{
	const em_disk_opts *list[MOST];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;
	uint32_t i;

	memset(&err, 0, sizeof err);
	for (i = 0; i < n; i++)
		list[i] = &disk[i];
	opts.memory = 16 * MIB;
	opts.backend = "syscall";
	opts.disks = list;
	opts.ndisks = n;
	opts.scratch_max = scratch_max;
	opts.errinfo = &err;
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		fail_msg("%s", err.text);
	return ctx;
}

static em_disk_opts disk_at(const char *path)
{
	em_disk_opts d = EM_DISK_OPTS_INIT;

	d.path = path;
	return d;
}

static em_status try_disk(em_ctx *ctx, em_errinfo *err)
{
	emi_disk *d;
	em_status st;

	memset(err, 0, sizeof *err);
	st = emi_scratch_acquire(ctx, &d, err);
	emi_scratch_release(ctx, d);
	return st;
}

/* A file that somebody else has, or the same one twice. */
static void test_in_use(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "scratch");
	em_disk_opts d[2];
	em_ctx *one, *two;
	emi_disk *held;
	em_errinfo err;
	int keep;

	(void)state;
	for (keep = 0; keep < 2; keep++) {
		memset(&err, 0, sizeof err);
		d[0] = d[1] = disk_at(path);
		d[0].flags = d[1].flags = EM_DISK_KEEP | EM_DISK_FORCE;
		one = ctx_on(d, 1, 0);
		assert_int_equal(emi_scratch_acquire(one, &held, &err), EM_OK);
		two = ctx_on(d, 1, 0);
		assert_int_equal(try_disk(two, &err), EM_ERR_IO);
		assert_int_equal(err.sys_errno, EAGAIN);
		assert_string_equal(err.path, path);
		assert_non_null(strstr(err.text, "cannot open scratch '"));
		assert_non_null(strstr(err.text, "another process uses it"));
		emi_scratch_release(one, held);
		assert_int_equal(try_disk(two, &err), EM_OK);
		em_ctx_close(two);
		two = ctx_on(d, 2, 0);
		assert_int_equal(try_disk(two, &err), EM_ERR_IO);
		assert_non_null(strstr(err.text, "named twice"));
		em_ctx_close(two);
		em_ctx_close(one);
	}
	free(path);
	test_dir_remove(dir);
}

/* What is kept in memory or simulated is never a real file. */
static void test_only_in_memory(void **state)
{
	static const char *const names[] = { "memory", "simdisk", NULL };
	char *dir = test_dir_make(), *path = test_path(dir, "scratch");
	em_errinfo err;
	em_simdisk sim;
	em_ctx *ctx;
	int i, there;

	(void)state;
	assert_int_equal(em_simdisk_init(&sim, NULL, NULL), EM_OK);
	for (i = 0; i < 3; i++) {
		em_disk_opts d = disk_at(path);

		d.backend = names[i];
		if (names[i] == NULL)
			d.custom = em_simdisk_backend(&sim);
		for (there = 0; there < 2; there++) {
			FILE *f = there ? fopen(path, "w") : NULL;

			if (f != NULL)
				fclose(f);
			ctx = ctx_on(&d, 1, 0);
			assert_int_equal(try_disk(ctx, &err), EM_ERR_INVAL);
			assert_string_equal(err.path, path);
			assert_non_null(strstr(err.text, "name a directory"));
			em_ctx_close(ctx);
			assert_int_equal(unlink(path), there ? 0 : -1);
		}
		d.path = dir;
		ctx = ctx_on(&d, 1, 0);
		assert_int_equal(try_disk(ctx, &err), EM_OK);
		em_ctx_close(ctx);
	}
	free(path);
	test_dir_remove(dir);
}

/* Limits of disks and the one of all of them: the lower counts. */
static void test_limits(void **state)
{
	static const struct {
		uint64_t capacity[MOST], all, most;
	} cases[] = {
		{ { 10, 20, 30 }, 0, 60 }, { { 10, 20, 30 }, 59, 59 }, { { 10, 20, 30 }, 60, 60 },
		{ { 10, 20, 30 }, 61, 60 }, { { 10, 20, 30 }, 1, 1 }, { { 10, 0, 30 }, 0, 0 },
		{ { 10, 0, 30 }, 5, 5 }, { { 10, 0, 30 }, 500, 500 },
		{ { UINT64_MAX / 2, UINT64_MAX / 2, 3 }, 7, 7 }, { { UINT64_MAX / 2, UINT64_MAX / 2, 3 }, 0, 0 },
	};
	char *dir = test_dir_make();
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		em_disk_opts d[MOST];
		em_ctx *ctx;

		for (k = 0; k < MOST; k++) {
			d[k] = disk_at(dir);
			d[k].capacity = cases[i].capacity[k];
		}
		ctx = ctx_on(d, MOST, cases[i].all);
		assert_true(emi_scratch_most(ctx) == cases[i].most);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

/* What is free is known of directories on plain file systems, each of which counts once, and until disks are open. */
static void room_on_tmpfs(const char *dir)
{
	em_disk_opts d[2];
	em_backend own = *em_backend_find("syscall");
	uint64_t room;
	em_errinfo err;
	emi_disk *held;
	em_ctx *ctx;
	char *path = test_path(dir, "file");

	d[0] = d[1] = disk_at(dir);
	ctx = ctx_on(d, 2, 0);
	assert_true(emi_scratch_room(ctx, &room) && room == 4 * MIB);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_scratch_acquire(ctx, &held, &err), EM_OK);
	assert_false(emi_scratch_room(ctx, &room));
	emi_scratch_release(ctx, held);
	assert_true(emi_scratch_room(ctx, &room) && room == 4 * MIB);
	em_ctx_close(ctx);
	d[1].path = path;
	ctx = ctx_on(d, 2, 0);
	assert_false(emi_scratch_room(ctx, &room));
	em_ctx_close(ctx);
	d[1].path = dir;
	d[1].custom = &own;
	ctx = ctx_on(d, 2, 0);
	assert_false(emi_scratch_room(ctx, &room));
	em_ctx_close(ctx);
	d[1].custom = NULL;
	d[1].backend = "memory";
	ctx = ctx_on(d, 2, 0);
	assert_false(emi_scratch_room(ctx, &room));
	em_ctx_close(ctx);
	free(path);
}

static void test_room(void **state)
{
	(void)state;
	conform_on_tmpfs(4 * MIB, room_on_tmpfs);
}

/* A device has what it has, or less if somebody says so. */
static void test_device(void **state)
{
	static const uint64_t pages[] = { 0, 16, 64, 128 };
	char *dir = test_dir_make(), *image = test_path(dir, "image"), path[64];
	const int fd = conform_loop(image, 64 * 4096, path);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof pages / sizeof *pages && fd >= 0; i++) {
		const uint64_t there = pages[i] != 0 && pages[i] < 64 ? pages[i] : 64;
		em_disk_opts d = disk_at(path);
		static em_bid bid[65];
		em_errinfo err;
		emi_disk *held;
		em_ctx *ctx;

		memset(&err, 0, sizeof err);
		d.flags = EM_DISK_FORCE;
		d.capacity = pages[i] * 4096;
		ctx = ctx_on(&d, 1, 0);
		if (emi_scratch_acquire(ctx, &held, &err) != EM_OK)
			fail_msg("%s", err.text);
		assert_int_equal(emi_bids_alloc_row(held, 0, 4096, bid, (size_t)there + 1, &err), EM_ERR_NOSPACE);
		memset(&err, 0, sizeof err);
		assert_int_equal(emi_bids_alloc_row(held, 0, 4096, bid, (size_t)there, &err), EM_OK);
		assert_int_equal(emi_bids_free(held, bid, (size_t)there, 4096, &err), EM_OK);
		emi_scratch_release(ctx, held);
		em_ctx_close(ctx);
	}
	if (fd >= 0)
		conform_loop_close(fd);
	unlink(image);
	free(image);
	test_dir_remove(dir);
	if (fd < 0)
		skip();
}

/* Where scratch goes in a process in which /var/tmp, or /tmp too, cannot be written to: 1: /var/tmp, 2: /tmp; 10
 * more: which cannot be had, and it is said so. */
static int where_it_goes(int broken)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;
	const char *path;
	int is;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return 99;
	if (broken >= 1 && mount("none", "/var/tmp", "tmpfs", MS_RDONLY, NULL) != 0)
		return 99;
	if (broken >= 2 && mount("none", "/tmp", "tmpfs", MS_RDONLY, NULL) != 0)
		return 99;
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		return 98;
	path = emi_scratch_path(ctx, 0);
	is = strcmp(path, "/var/tmp") == 0 ? 1 : strcmp(path, "/tmp") == 0 ? 2 : 97;
	if (try_disk(ctx, &err) == EM_OK)
		return is;
	return err.status == EM_ERR_ACCESS && strstr(err.text, "cannot open scratch '/var/tmp'") != NULL ? 10 + is : 96;
}

static void test_usual_directory(void **state)
{
	static const int wanted[] = { 1, 2, 11 };
	int broken;

	(void)state;
	if (access("/var/tmp", W_OK) != 0 || access("/tmp", W_OK) != 0)
		skip();
	for (broken = 0; broken < 3; broken++) {
		const pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(where_it_goes(broken));
		assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 99)
			skip();
		assert_int_equal(WEXITSTATUS(status), wanted[broken]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_only_in_memory),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_usual_directory),
	};

	return cmocka_run_group_tests_name("disk_words", tests, NULL, NULL);
}
