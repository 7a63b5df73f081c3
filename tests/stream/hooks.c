/* SPDX-License-Identifier: BSL-1.0 */
/* hooks.c -- see hooks.h. */
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
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/hooks.h"

hooks hook;

void unhook(void)
{
	memset(&hook, 0, sizeof(hook));
}

/* The C library's function of that name; to points to a pointer to a function. */
static void real_function(const char *name, void *to)
{
	void *found = dlsym(RTLD_NEXT, name);

	assert_non_null(found);
	memcpy(to, &found, sizeof(found));
}

int rename(const char *from, const char *to)
{
	errno = hook.rename;
	return hook.rename ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
	int (*real)(int, uid_t, gid_t);

	real_function("fchown", &real);
	errno = hook.fchown;
	return hook.fchown ? -1 : real(fd, uid, gid);
}

/* Is this one interrupted?  If not, how much it is to do. */
static int interrupted(size_t *bytes)
{
	if (!hook.interrupts)
		return 0;
	if (__atomic_add_fetch(&hook.calls, 1, __ATOMIC_RELAXED) % 2) {
		errno = EINTR;
		return 1;
	}
	if (*bytes > 1000)
		*bytes = *bytes / 2 + 1;
	return 0;
}

ssize_t write(int fd, const void *buf, size_t bytes)
{
	ssize_t (*real)(int, const void *, size_t);

	real_function("write", &real);
	return interrupted(&bytes) ? -1 : real(fd, buf, bytes);
}

ssize_t pwrite(int fd, const void *buf, size_t bytes, off_t offset)
{
	ssize_t (*real)(int, const void *, size_t, off_t);
	const int is = interrupted(&bytes);

	real_function(sizeof(long) == sizeof(offset) ? "pwrite" : "pwrite64", &real);
	return is ? -1 : real(fd, buf, bytes, offset);
}

int open(const char *path, int flags, ...)
{
	size_t none = 0;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return interrupted(&none) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

/* The descriptor is gone also when it fails. */
int close(int fd)
{
	int (*real)(int);
	int r;

	real_function("close", &real);
	r = real(fd);
	if (!hook.close)
		return r;
	errno = hook.close;
	return -1;
}

int fsync(int fd)
{
	int (*real)(int);
	size_t none = 0;

	real_function("fsync", &real);
	if (interrupted(&none))
		return -1;
	errno = hook.fsync;
	return hook.fsync ? -1 : real(fd);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	(void)fd;
	(void)mode;
	(void)offset;
	(void)bytes;
	errno = hook.fallocate ? hook.fallocate : EOPNOTSUPP;
	return -1;
}

int stat(const char *path, struct stat *sb)
{
	int r;

	if (hook.stats && --hook.stats == 0) {
		hook.stats = 1;
		if (hook.stat) {
			errno = hook.stat;
			return -1;
		}
		if (hook.over) {
			assert_int_equal(renameat(AT_FDCWD, hook.over, AT_FDCWD, path), 0);
			hook.stats = 0;
		}
	}
	r = fstatat(AT_FDCWD, path, sb, 0);
	if (hook.elsewhere)
		sb->st_ino++;
	return r;
}
