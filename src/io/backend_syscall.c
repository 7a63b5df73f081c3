/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_syscall.c -- pread and pwrite: works everywhere.
 *
 * A handle is the descriptor plus one, in a pointer, so a file needs no memory here.
 *
 * Direct input and output is switched on after opening: a file system that refuses it at open may already have
 * created the file.  Some accept the flag and refuse every transfer, or want a larger alignment than ours;
 * the kernel is asked (statx), or a page is read to see.
 *
 * A temporary file is made by O_TMPFILE; where that does not exist it gets a random name that is
 * removed at once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/backend.h"
#include "io/huge_pages.h"
#include "io/memory_fs.h"

/* What one call moves at most: the limit of Linux, and well within ssize_t. */
#define MOST ((size_t)1 << 30)

static int fd_of(void *handle)
{
	return (int)((intptr_t)handle - 1);
}

static void *handle_of(int fd)
{
	return (void *)((intptr_t)fd + 1);
}

#ifdef O_DIRECT

/* Does the kernel say that pages are aligned well enough?  1, 0, or -1 when it does not say. */
static int kernel_says(int fd)
{
#if defined(__linux__) && defined(STATX_DIOALIGN)
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) == 0 && (x.stx_mask & STATX_DIOALIGN))
		return x.stx_dio_offset_align != 0 && x.stx_dio_offset_align <= EMI_PAGE &&
		       x.stx_dio_mem_align <= EMI_PAGE;
#else
	(void)fd;
#endif
	return -1;
}

static int page_can_be_read(int fd)
{
	char room[2 * EMI_PAGE];
	char *page = room + (EMI_PAGE - (uintptr_t)room % EMI_PAGE) % EMI_PAGE;
	ssize_t n;

	do
		n = pread(fd, page, EMI_PAGE, 0);
	while (n < 0 && errno == EINTR);
	/* Another failure is the file's own trouble, and will be reported where it matters. */
	return n >= 0 || (errno != EINVAL && errno != EOPNOTSUPP);
}

/* Switch direct transfers on; NULL, or why not. */
static const char *go_direct(int fd)
{
	struct stat st;
	int flags, says;

	if (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return "it is neither a regular file nor a block device";
	if (S_ISREG(st.st_mode) && emi_on_memory_fs(fd))
		return "the file system is in memory";
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
		return "the file system has no direct transfers";
	says = kernel_says(fd);
	if (says > 0 || (says < 0 && page_can_be_read(fd)))
		return NULL;
	(void)fcntl(fd, F_SETFL, flags);
	return "direct transfers do not work with an alignment of 4096 bytes";
}

#else

static const char *go_direct(int fd)
{
	(void)fd;
	return "this system has no O_DIRECT";
}

#endif

/* A file with a random name that is removed at once. */
static int open_unlinked(const char *dir)
{
	char path[PATH_MAX];
	struct timespec t;
	unsigned tries;
	int fd, n;

	for (tries = 0; tries < 100; tries++) {
		clock_gettime(CLOCK_REALTIME, &t);
		n = snprintf(path, sizeof path, "%s/.extmem.%lx.%lx.%u", dir, (unsigned long)getpid(),
			     (unsigned long)t.tv_nsec, tries);
		if (n < 0 || (size_t)n >= sizeof path) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 && unlink(path) != 0) {
			int e = errno;

			close(fd);
			errno = e;
			return -1;
		}
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int open_temp(const char *dir)
{
#ifdef O_TMPFILE
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Old kernels take it for the directory itself, file systems without it say so in several ways. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
#endif
	return open_unlinked(dir);
}

/* Of a file that is made. */
static mode_t mode_of(uint32_t flags)
{
	return flags & EM_OPEN_SHARED ? 0666 : 0600;
}

/* A file without a name, beside where it is going to have one. */
static int open_linkable(const char *path, mode_t mode)
{
#ifdef O_TMPFILE
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t n = slash ? (size_t)(slash - path) : 0;
	int fd;

	if (n >= sizeof dir) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (n > 0)
		memcpy(dir, path, n);
	else
		dir[n++] = slash ? '/' : '.';
	dir[n] = '\0';
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (fd >= 0 || (errno != EISDIR && errno != EINVAL))
		return fd;
#else
	(void)path;
	(void)mode;
#endif
	errno = EOPNOTSUPP;
	return -1;
}

static int open_named(const em_backend_open *how)
{
	int flags = O_CLOEXEC | (how->flags & EM_OPEN_WRITE ? O_RDWR : O_RDONLY);

	if (how->flags & EM_OPEN_CREATE)
		flags |= O_CREAT | O_EXCL;
	if (how->flags & EM_OPEN_SYNC)
		flags |= O_DSYNC;
	return open(how->path, flags, mode_of(how->flags));
}

static int open_any(const em_backend_open *how)
{
	if (how->flags & EM_OPEN_TEMP)
		return open_temp(how->path);
	if (how->flags & EM_OPEN_LINKABLE)
		return open_linkable(how->path, mode_of(how->flags));
	return open_named(how);
}

static int lock_file(int fd, uint32_t flags)
{
	int r;

	do
		r = flock(fd, (flags & EM_OPEN_WRITE ? LOCK_EX : LOCK_SH) | LOCK_NB);
	while (r != 0 && errno == EINTR);
	return r == 0 ? 0 : errno;
}

/* What is known of a file that is open.  What tells its disk from others is 0 only if it is not known.  Writes get on
 * one at a time as far as its file system keeps their order by a lock, which is what those of Linux do. */
static void tell(int fd, em_backend_open *how)
{
	const int writes = (how->flags & (EM_OPEN_WRITE | EM_OPEN_TEMP | EM_OPEN_LINKABLE)) != 0;
	struct stat st;

	if (fstat(fd, &st) == 0) {
		how->disk = (uint64_t)(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev) + 1;
		how->one_write = !how->direct && S_ISREG(st.st_mode);
	}
	how->in_memory = writes && emi_huge_possible(fd);
}

/* All that may be refused of a file that is open. */
static int prepare(int fd, em_backend_open *how)
{
	int e = how->flags & EM_OPEN_LOCK ? lock_file(fd, how->flags) : 0;

	if (e == 0 && how->want_direct != EM_DIRECT_OFF) {
		how->reason = go_direct(fd);
		how->direct = how->reason == NULL;
		if (how->want_direct == EM_DIRECT_ON && !how->direct)
			e = EOPNOTSUPP;
	}
	return e;
}

static int sys_open(void *user, em_backend_open *how)
{
	int fd, e;

	(void)user;
	do
		fd = open_any(how);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return errno;
	e = prepare(fd, how);
	if (e != 0) {
		if (how->flags & EM_OPEN_CREATE)
			(void)unlink(how->path);
		close(fd);
		return e;
	}
	how->handle = handle_of(fd);
	tell(fd, how);
	return 0;
}

static void sys_close(void *handle, int forked)
{
	(void)forked;
	close(fd_of(handle));
}

static int sys_get_size(void *handle, uint64_t *bytes)
{
	struct stat st;
	off_t end;

	if (fstat(fd_of(handle), &st) != 0)
		return errno;
	if (!S_ISBLK(st.st_mode)) {
		*bytes = (uint64_t)st.st_size;
		return 0;
	}
	end = lseek(fd_of(handle), 0, SEEK_END);
	if (end < 0)
		return errno;
	*bytes = (uint64_t)end;
	return 0;
}

static int fits(uint64_t offset)
{
	return offset <= (sizeof(off_t) >= 8 ? INT64_MAX : INT32_MAX);
}

static int sys_set_size(void *handle, uint64_t bytes)
{
	if (!fits(bytes))
		return EFBIG;
	return ftruncate(fd_of(handle), (off_t)bytes) == 0 ? 0 : errno;
}

static int sys_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
#ifdef __linux__
	int fd = fd_of(handle);
	struct stat st;

	if (bytes > INT64_MAX - 1 || !fits(offset) || !fits(offset + bytes))
		return EFBIG;
	/* posix_fallocate() would write zeros where the file system cannot reserve. */
	/* Some file systems (ext4) are full and have made the file longer by what there was: first space, then size. */
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) != 0)
		return errno;
	if (fstat(fd, &st) != 0)
		return errno;
	/* Others (XFS) want space for all they are asked for, also where there is some already.  Asked for the last
	 * byte they make the file longer, and never shorter, as ftruncate() might, if another thread makes it longer at
	 * the same time. */
	if ((uint64_t)st.st_size < offset + bytes && fallocate(fd, 0, (off_t)(offset + bytes - 1), 1) != 0)
		return errno;
	return 0;
#else
	(void)handle;
	(void)offset;
	(void)bytes;
	return EOPNOTSUPP;
#endif
}

static int sys_discard(void *handle, uint64_t offset, uint64_t bytes)
{
#if defined(__linux__) && defined(FALLOC_FL_PUNCH_HOLE)
	if (bytes > INT64_MAX - 1 || !fits(offset) || !fits(offset + bytes))
		return EFBIG;
	return fallocate(fd_of(handle), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0
		       ? 0
		       : errno;
#else
	(void)handle;
	(void)offset;
	(void)bytes;
	return EOPNOTSUPP;
#endif
}

static int sys_sync(void *handle)
{
	return fdatasync(fd_of(handle)) == 0 ? 0 : errno;
}

static int sys_fd(void *handle)
{
	return fd_of(handle);
}

static int64_t sys_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n;

	if (!fits(offset))
		return -EFBIG;
	n = pread(fd_of(handle), buf, bytes < MOST ? bytes : MOST, (off_t)offset);
	return n < 0 ? -errno : n;
}

static int64_t sys_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n;

	if (!fits(offset))
		return -EFBIG;
	n = pwrite(fd_of(handle), buf, bytes < MOST ? bytes : MOST, (off_t)offset);
	return n < 0 ? -errno : n;
}

const em_backend emi_backend_syscall = {
	sizeof(em_backend), 0, 0, 0, "syscall", NULL,
	sys_open, sys_close, sys_get_size, sys_set_size, sys_reserve, sys_fd, sys_read, sys_write, NULL, NULL,
	sys_discard, sys_sync, NULL, NULL,
};
