/* SPDX-License-Identifier: BSL-1.0 */
/*
 * conform_fs.c -- small file systems and devices; see conform_fs.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/test.h"
#include "io/conform_fs.h"

/* Mounts of this process are its own from now on. */
static int own_mounts(void)
{
	static int done;

	if (!done && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		done = 1;
	return done;
}

static int mount_tmpfs(const char *dir, uint64_t bytes)
{
	char options[40];

	snprintf(options, sizeof options, "size=%llu", (unsigned long long)bytes);
	return own_mounts() && mount("none", dir, "tmpfs", 0, options) == 0;
}

static int make_image(const char *image, uint64_t bytes)
{
	int fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Give the file to a device that is free; somebody else may be faster. */
static int attach(int file, char path[64])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1, tries;

	for (tries = 0; control >= 0 && tries < 20 && fd < 0; tries++) {
		struct loop_info64 info;
		int i = ioctl(control, LOOP_CTL_GET_FREE);

		if (i < 0)
			break;
		snprintf(path, 64, "/dev/loop%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_SET_FD, file) != 0) {
			close(fd);
			fd = -1;
		}
		memset(&info, 0, sizeof info);
		info.lo_flags = LO_FLAGS_AUTOCLEAR;
		if (fd >= 0 && ioctl(fd, LOOP_SET_STATUS64, &info) != 0) {
			(void)ioctl(fd, LOOP_CLR_FD, 0);
			close(fd);
			fd = -1;
		}
	}
	if (control >= 0)
		close(control);
	return fd;
}

int conform_loop(const char *image, uint64_t bytes, char path[64])
{
	int file = make_image(image, bytes), fd;

	if (file < 0)
		return -1;
	fd = attach(file, path);
	close(file);
	return fd;
}

int conform_loop_sectors(int fd, unsigned bytes)
{
	return ioctl(fd, LOOP_SET_BLOCK_SIZE, (unsigned long)bytes) == 0;
}

void conform_loop_close(int fd)
{
	close(fd);
}

/* Make a file system in the image by the usual command, whose last argument it is. */
static int make_fs(const char *const *args, const char *image)
{
	const char *argv[8];
	pid_t child = fork();
	int state = -1, n;

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		if (null >= 0) {
			dup2(null, 1);
			dup2(null, 2);
		}
		for (n = 0; args[n] != NULL; n++)
			argv[n] = args[n];
		argv[n] = image;
		argv[n + 1] = NULL;
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

static int mount_image(const char *type, const char *const *make, const char *image, const char *dir, uint64_t bytes)
{
	char path[64];
	int file = make_image(image, bytes), fd, ok;

	if (file < 0)
		return 0;
	close(file);
	if (!make_fs(make, image) || !own_mounts())
		return 0;
	fd = conform_loop(image, bytes, path);
	if (fd < 0)
		return 0;
	ok = mount(path, dir, type, 0, NULL) == 0;
	/* The mount keeps the device. */
	close(fd);
	return ok;
}

static void test_on(int mounted, const char *dir, void (*test)(const char *dir))
{
	if (mounted) {
		test(dir);
		(void)umount2(dir, MNT_DETACH);
	}
}

void conform_on_tmpfs(uint64_t bytes, void (*test)(const char *dir))
{
	char *dir = test_dir_make();
	const int mounted = mount_tmpfs(dir, bytes);

	test_on(mounted, dir, test);
	test_dir_remove(dir);
	if (!mounted)
		skip();
}

static int on_image(const char *type, const char *const *make, uint64_t bytes, void (*test)(const char *dir))
{
	char *dir = test_dir_make(), *image = test_path(dir, "image"), *on = test_path(dir, "on");
	int mounted;

	assert_int_equal(mkdir(on, 0700), 0);
	mounted = mount_image(type, make, image, on, bytes);
	test_on(mounted, on, test);
	assert_int_equal(rmdir(on), 0);
	free(on);
	free(image);
	test_dir_remove(dir);
	return mounted;
}

void conform_on_ext4(uint64_t bytes, void (*test)(const char *dir))
{
	static const char *const make[] = {"mkfs.ext4", "-q", "-F", "-O", "^has_journal", NULL};

	if (!on_image("ext4", make, bytes, test))
		skip();
}

int conform_on_xfs(uint64_t bytes, void (*test)(const char *dir))
{
	static const char *const make[] = {"mkfs.xfs", "-q", "-f", NULL};

	return on_image("xfs", make, bytes, test);
}
