/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload_calls.c -- functions that stand in front of those of the C library; see preload.c.
 *
 * A call that is to fail is not made, but for close(), after which the descriptor is gone in any case.  One that is
 * to be short is made with half of its size.
 *
 * Names of functions are those that the files of 64 bits have: the compiler is told so for all of this project, and
 * dlsym() here.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/preload_core.h"

/* Names */

int open(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	va_list ap;
	int mode = 0;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, int);
	va_end(ap);
	if (!next)
		*(void **)(void *)&next = preload_next("open64", "open");
	return preload_fails("open", NO_FD, HERE) ? -1 : next(path, flags, mode);
}

int stat(const char *path, struct stat *sb)
{
	static int (*next)(const char *, struct stat *);

	if (!next)
		*(void **)(void *)&next = preload_next("stat64", "stat");
	return preload_fails("stat", NO_FD, HERE) ? -1 : next(path, sb);
}

int statvfs(const char *path, struct statvfs *sb)
{
	static int (*next)(const char *, struct statvfs *);

	if (!next)
		*(void **)(void *)&next = preload_next("statvfs64", "statvfs");
	return preload_fails("statvfs", NO_FD, HERE) ? -1 : next(path, sb);
}

int access(const char *path, int mode)
{
	static int (*next)(const char *, int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "access");
	return preload_fails("access", NO_FD, HERE) ? -1 : next(path, mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	static int (*next)(int, const char *, int, int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "faccessat");
	return preload_fails("faccessat", NO_FD, HERE) ? -1 : next(dir, path, mode, flags);
}

ssize_t readlink(const char *path, char *to, size_t bytes)
{
	static ssize_t (*next)(const char *, char *, size_t);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "readlink");
	return preload_fails("readlink", NO_FD, HERE) ? -1 : next(path, to, bytes);
}

char *realpath(const char *path, char *to)
{
	static char *(*next)(const char *, char *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "realpath");
	return preload_fails("realpath", NO_FD, HERE) ? NULL : next(path, to);
}

int linkat(int dir, const char *path, int to_dir, const char *to, int flags)
{
	static int (*next)(int, const char *, int, const char *, int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "linkat");
	return preload_fails("linkat", NO_FD, HERE) ? -1 : next(dir, path, to_dir, to, flags);
}

int rename(const char *path, const char *to)
{
	static int (*next)(const char *, const char *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "rename");
	return preload_fails("rename", NO_FD, HERE) ? -1 : next(path, to);
}

int unlink(const char *path)
{
	static int (*next)(const char *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "unlink");
	return preload_fails("unlink", NO_FD, HERE) ? -1 : next(path);
}

/* Descriptors */

int close(int fd)
{
	static int (*next)(int);
	int how = preload_fate("close", fd, HERE), r;

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "close");
	r = next(fd);
	if (how <= 0)
		return r;
	errno = how;
	return -1;
}

int dup(int fd)
{
	static int (*next)(int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "dup");
	return preload_fails("dup", fd, HERE) ? -1 : next(fd);
}

int fcntl(int fd, int what, ...)
{
	static int (*next)(int, int, ...);
	va_list ap;
	void *arg;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!next)
		*(void **)(void *)&next = preload_next("fcntl64", "fcntl");
	return preload_fails("fcntl", fd, HERE) ? -1 : next(fd, what, arg);
}

int flock(int fd, int how)
{
	static int (*next)(int, int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "flock");
	return preload_fails("flock", fd, HERE) ? -1 : next(fd, how);
}

int fstat(int fd, struct stat *sb)
{
	static int (*next)(int, struct stat *);

	if (!next)
		*(void **)(void *)&next = preload_next("fstat64", "fstat");
	return preload_fails("fstat", fd, HERE) ? -1 : next(fd, sb);
}

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *sb)
{
	static int (*next)(int, const char *, int, unsigned, struct statx *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "statx");
	return preload_fails("statx", fd, HERE) ? -1 : next(fd, path, flags, mask, sb);
}

int fstatfs(int fd, struct statfs *sb)
{
	static int (*next)(int, struct statfs *);

	if (!next)
		*(void **)(void *)&next = preload_next("fstatfs64", "fstatfs");
	return preload_fails("fstatfs", fd, HERE) ? -1 : next(fd, sb);
}

int fchmod(int fd, mode_t mode)
{
	static int (*next)(int, mode_t);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fchmod");
	return preload_fails("fchmod", fd, HERE) ? -1 : next(fd, mode);
}

int ftruncate(int fd, off_t bytes)
{
	static int (*next)(int, off_t);

	if (!next)
		*(void **)(void *)&next = preload_next("ftruncate64", "ftruncate");
	return preload_fails("ftruncate", fd, HERE) ? -1 : next(fd, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	static int (*next)(int, int, off_t, off_t);

	if (!next)
		*(void **)(void *)&next = preload_next("fallocate64", "fallocate");
	return preload_fails("fallocate", fd, HERE) ? -1 : next(fd, mode, offset, bytes);
}

int fdatasync(int fd)
{
	static int (*next)(int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fdatasync");
	return preload_fails("fdatasync", fd, HERE) ? -1 : next(fd);
}

int fsync(int fd)
{
	static int (*next)(int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fsync");
	return preload_fails("fsync", fd, HERE) ? -1 : next(fd);
}

off_t lseek(int fd, off_t offset, int whence)
{
	static off_t (*next)(int, off_t, int);

	if (!next)
		*(void **)(void *)&next = preload_next("lseek64", "lseek");
	return preload_fails("lseek", fd, HERE) ? -1 : next(fd, offset, whence);
}

int pipe(int fd[2])
{
	static int (*next)(int *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "pipe");
	return preload_fails("pipe", NO_FD, HERE) ? -1 : next(fd);
}

int poll(struct pollfd *list, nfds_t n, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "poll");
	return preload_fails("poll", NO_FD, HERE) ? -1 : next(list, n, timeout);
}

int ppoll(struct pollfd *list, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "ppoll");
	return preload_fails("ppoll", NO_FD, HERE) ? -1 : next(list, n, timeout, mask);
}

/* Streams */

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*next)(const char *, const char *);

	if (!next)
		*(void **)(void *)&next = preload_next("fopen64", "fopen");
	return preload_fails("fopen", NO_FD, HERE) ? NULL : next(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
	static FILE *(*next)(int, const char *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fdopen");
	return preload_fails("fdopen", fd, HERE) ? NULL : next(fd, mode);
}

/* What was written is lost, or not: who called cannot know. */
int fflush(FILE *f)
{
	static int (*next)(FILE *);
	const int how = preload_fate("fflush", f ? fileno(f) : NO_FD, HERE);
	int r;

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fflush");
	r = next(f);
	if (how <= 0)
		return r;
	errno = how;
	return EOF;
}

int fclose(FILE *f)
{
	static int (*next)(FILE *);
	const int how = preload_fate("fclose", f ? fileno(f) : NO_FD, HERE);
	int r;

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "fclose");
	r = next(f);
	if (how <= 0)
		return r;
	errno = how;
	return EOF;
}

/* Transfers */

/* The size of a transfer: 0 when it is not to be made, and then what it returns. */
static size_t size_of(const char *call, int fd, size_t bytes, const void *to, ssize_t *result)
{
	const int how = preload_fate(call, fd, to);

	*result = 0;
	if (how > 0) {
		errno = how;
		*result = -1;
	}
	return how == PRELOAD_SHORT ? (bytes + 1) / 2 : how ? 0 : bytes;
}

ssize_t read(int fd, void *buf, size_t bytes)
{
	static ssize_t (*next)(int, void *, size_t);
	ssize_t result;
	const size_t n = size_of("read", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "read");
	return n ? next(fd, buf, n) : result;
}

ssize_t write(int fd, const void *buf, size_t bytes)
{
	static ssize_t (*next)(int, const void *, size_t);
	ssize_t result;
	const size_t n = size_of("write", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "write");
	return n ? next(fd, buf, n) : result;
}

ssize_t pread(int fd, void *buf, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, void *, size_t, off_t);
	ssize_t result;
	const size_t n = size_of("pread", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = preload_next("pread64", "pread");
	return n ? next(fd, buf, n, offset) : result;
}

ssize_t pwrite(int fd, const void *buf, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	ssize_t result;
	const size_t n = size_of("pwrite", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = preload_next("pwrite64", "pwrite");
	return n ? next(fd, buf, n, offset) : result;
}

/* Memory */

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);
	void *got;

	if (!next)
		*(void **)(void *)&next = preload_next("mmap64", "mmap");
	if (preload_fails("mmap", flags & MAP_ANONYMOUS ? NO_FD : fd, HERE))
		return MAP_FAILED;
	got = next(at, bytes, prot, flags, fd, offset);
	if (!(flags & MAP_ANONYMOUS))
		preload_note_ring(fd, offset, got);
	return got;
}

void *malloc(size_t bytes)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "malloc");
	return preload_fails("malloc", NO_FD, HERE) ? NULL : next(bytes);
}

void *realloc(void *old, size_t bytes)
{
	static void *(*next)(void *, size_t);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "realloc");
	return preload_fails("realloc", NO_FD, HERE) ? NULL : next(old, bytes);
}

/* dlsym() itself may want some before it can say where calloc() is. */
void *calloc(size_t n, size_t bytes)
{
	static void *(*next)(size_t, size_t);
	static int asking;

	if (!next && !asking) {
		asking = 1;
		*(void **)(void *)&next = preload_next(NULL, "calloc");
	}
	return !next || preload_fails("calloc", NO_FD, HERE) ? NULL : next(n, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	static int (*next)(void **, size_t, size_t);
	const int how = preload_fate("posix_memalign", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "posix_memalign");
	return how > 0 ? how : next(out, alignment, bytes);
}

/* Declared by the C library as macros, too. */
#undef strdup
#undef strndup
char *strdup(const char *s)
{
	static char *(*next)(const char *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "strdup");
	return preload_fails("strdup", NO_FD, HERE) ? NULL : next(s);
}

char *strndup(const char *s, size_t n)
{
	static char *(*next)(const char *, size_t);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "strndup");
	return preload_fails("strndup", NO_FD, HERE) ? NULL : next(s, n);
}

/* The machine */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	const int how = preload_fate("pthread_create", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "pthread_create");
	return how > 0 ? how : next(thread, attr, start, arg);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	static int (*next)(pid_t, size_t, cpu_set_t *);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "sched_getaffinity");
	return preload_fails("sched_getaffinity", NO_FD, HERE) ? -1 : next(pid, bytes, set);
}

int getrlimit(__rlimit_resource_t what, struct rlimit *limit)
{
	static int (*next)(__rlimit_resource_t, struct rlimit *);

	if (!next)
		*(void **)(void *)&next = preload_next("getrlimit64", "getrlimit");
	return preload_fails("getrlimit", NO_FD, HERE) ? -1 : next(what, limit);
}
