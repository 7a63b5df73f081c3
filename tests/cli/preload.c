/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload.c -- a library for LD_PRELOAD that makes a call of the system fail, be short, or return 0; see preload.h.
 *
 * It stands in front of the C library for the functions below.  Only calls that the command or libextmem make
 * themselves count, not those that the C library makes for its own ends.  Each call has a place: the function, the
 * addresses of the command and the library that it came through, and the kind of file.  The same call of another run
 * has the same place, wherever the files are loaded, and whatever other threads do meanwhile.
 *
 * A call that is to fail is not made, but for close(), after which the descriptor is gone in any case.  One that is
 * to be short is made with half of its size. Transfers of libaio and io_uring are counted and made shorter when they
 * are handed over.  Failures of libaio are told when its results are collected; those of io_uring come through shared
 * memory, so there the descriptor is made a wrong one.
 *
 * Names of functions are those that the files of 64 bits have: the compiler is told so for all of this project, and
 * dlsym() here.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_LIBAIO
#include <libaio.h>
#endif
#ifdef HAVE_LINUX_IO_URING_H
#include <linux/io_uring.h>
#endif

#include "cli/preload.h"

#define FRAMES 24
#define DEPTH 6         /* callers that make a place */
#define MODULES 2       /* the command and the library */
#define PLACES 4096u
#define NO_FD (-1)

/* A place, and how often it was reached. */
typedef struct place {
	uint64_t key;           /* 0: free */
	const char *call;
	char kind;
	uint64_t count;
} place;

static struct {
	uintptr_t from, to, base;
} module[MODULES];
static unsigned modules;

static place places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t injected;

/* What is to happen: from EXTMEM_PRELOAD_FAIL. */
static struct {
	char call[PRELOAD_NAME];
	uint64_t key;           /* 0: at any place */
	uint64_t nth;           /* 0: nothing is to happen */
	uint64_t times;
	int how;
	uint64_t reached;
} plan;

static const char *log_path, *scratch;
/* Finding out where a call comes from makes calls, too. */
static __thread int inside;
static int ready;

/* The next definition of a function, as files of 64 bits have it, or by its plain name. */
static void *next_of(const char *name64, const char *name)
{
	void *at = name64 ? dlsym(RTLD_NEXT, name64) : NULL;

	return at ? at : dlsym(RTLD_NEXT, name);
}

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;
	int i;

	(void)size;
	(void)user;
	if (modules == MODULES || (*name && strncmp(name, "libextmem.", 10)))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		module[modules].base = (uintptr_t)info->dlpi_addr;
		module[modules].from = (uintptr_t)info->dlpi_addr + (uintptr_t)p->p_vaddr;
		module[modules].to = module[modules].from + (uintptr_t)p->p_memsz;
		modules++;
		break;
	}
	return 0;
}

/* Which of the modules an address is in; MODULES: none. */
static unsigned module_of(const void *at)
{
	unsigned i;

	for (i = 0; i < modules; i++)
		if ((uintptr_t)at >= module[i].from && (uintptr_t)at < module[i].to)
			return i;
	return MODULES;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

/* What sort of file: s: scratch, o: an output that has no name of its own yet, f: another file, p: anything else, -:
 * none. */
static char kind_of(int fd)
{
	static ssize_t (*next)(const char *, char *, size_t);
	char link[32], path[4096];
	ssize_t n;

	if (fd < 0)
		return '-';
	if (!next)
		*(void **)(void *)&next = next_of(NULL, "readlink");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = next(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return 'p';
	path[n] = '\0';
	if (scratch && !strncmp(path, scratch, strlen(scratch)))
		return 's';
	return strstr(path, " (deleted)") || strstr(path, ".tmp") ? 'o' : 'f';
}

static uint64_t key_of(const char *call, char kind)
{
	void *frame[FRAMES];
	const int n = backtrace(frame, FRAMES);
	uint64_t h = (unsigned char)kind;
	int i, depth = 0;

	for (; *call; call++)
		h = mix(h, (unsigned char)*call);
	for (i = 0; i < n && depth < DEPTH; i++) {
		const unsigned m = module_of(frame[i]);

		if (m == MODULES)
			continue;
		h = mix(h, ((uintptr_t)frame[i] - module[m].base) << 1 | m);
		depth++;
	}
	return h ? h : 1;
}

/* Count a call; with the lock held. */
static void note(const char *call, char kind, uint64_t key)
{
	unsigned i;

	for (i = 0; i < PLACES; i++) {
		place *p = &places[(key + i) % PLACES];

		if (p->key && p->key != key)
			continue;
		p->key = key;
		p->call = call;
		p->kind = kind;
		p->count++;
		return;
	}
}

/* With the lock held. */
static int strikes(const char *call, uint64_t key)
{
	if (!plan.nth || strcmp(call, plan.call) || (plan.key && plan.key != key))
		return 0;
	plan.reached++;
	if (plan.reached < plan.nth || plan.reached - plan.nth >= plan.times)
		return 0;
	injected++;
	return plan.how;
}

/* What is to come of this call, which returns to the address: 0: it is made; above: the errno that it fails with;
 * else PRELOAD_SHORT or PRELOAD_ZERO. */
static int fate(const char *call, int fd, const void *to)
{
	const int saved = errno;
	uint64_t key;
	char kind;
	int how;

	if (!ready || inside || module_of(to) == MODULES)
		return 0;
	inside = 1;
	kind = kind_of(fd);
	key = key_of(call, kind);
	pthread_mutex_lock(&lock);
	note(call, kind, key);
	how = strikes(call, key);
	pthread_mutex_unlock(&lock);
	inside = 0;
	errno = saved;
	return how;
}

/* The call fails: the errno is set. */
static int fails(const char *call, int fd, const void *to)
{
	const int how = fate(call, fd, to);

	if (how > 0)
		errno = how;
	return how > 0;
}

static void __attribute__((constructor)) begin(void)
{
	const char *what = getenv("EXTMEM_PRELOAD_FAIL");
	unsigned long long key, nth, times;
	void *frame[2];

	if (!getenv("EXTMEM_PRELOAD_LOG"))
		return;
	log_path = getenv("EXTMEM_PRELOAD_LOG");
	scratch = getenv("TMPDIR");
	/* The first one loads what it needs. */
	(void)backtrace(frame, 2);
	dl_iterate_phdr(note_module, NULL);
	if (what && sscanf(what, "%23s %llx %llu %llu %d", plan.call, &key, &nth, &times, &plan.how) == 5) {
		plan.key = key;
		plan.nth = nth;
		plan.times = times;
	}
	ready = 1;
}

static void __attribute__((destructor)) end(void)
{
	FILE *f;
	unsigned i;

	if (!ready)
		return;
	ready = 0;
	f = fopen(log_path, "w");
	if (!f)
		return;
	fprintf(f, "injected %llu\n", (unsigned long long)injected);
	for (i = 0; i < PLACES; i++)
		if (places[i].key)
			fprintf(f, "%s %c %llx %llu\n", places[i].call, places[i].kind,
				(unsigned long long)places[i].key, (unsigned long long)places[i].count);
	fclose(f);
}

#define HERE __builtin_return_address(0)

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
		*(void **)(void *)&next = next_of("open64", "open");
	return fails("open", NO_FD, HERE) ? -1 : next(path, flags, mode);
}

int stat(const char *path, struct stat *sb)
{
	static int (*next)(const char *, struct stat *);

	if (!next)
		*(void **)(void *)&next = next_of("stat64", "stat");
	return fails("stat", NO_FD, HERE) ? -1 : next(path, sb);
}

int statvfs(const char *path, struct statvfs *sb)
{
	static int (*next)(const char *, struct statvfs *);

	if (!next)
		*(void **)(void *)&next = next_of("statvfs64", "statvfs");
	return fails("statvfs", NO_FD, HERE) ? -1 : next(path, sb);
}

int access(const char *path, int mode)
{
	static int (*next)(const char *, int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "access");
	return fails("access", NO_FD, HERE) ? -1 : next(path, mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	static int (*next)(int, const char *, int, int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "faccessat");
	return fails("faccessat", NO_FD, HERE) ? -1 : next(dir, path, mode, flags);
}

ssize_t readlink(const char *path, char *to, size_t bytes)
{
	static ssize_t (*next)(const char *, char *, size_t);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "readlink");
	return fails("readlink", NO_FD, HERE) ? -1 : next(path, to, bytes);
}

char *realpath(const char *path, char *to)
{
	static char *(*next)(const char *, char *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "realpath");
	return fails("realpath", NO_FD, HERE) ? NULL : next(path, to);
}

int linkat(int dir, const char *path, int to_dir, const char *to, int flags)
{
	static int (*next)(int, const char *, int, const char *, int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "linkat");
	return fails("linkat", NO_FD, HERE) ? -1 : next(dir, path, to_dir, to, flags);
}

int rename(const char *path, const char *to)
{
	static int (*next)(const char *, const char *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "rename");
	return fails("rename", NO_FD, HERE) ? -1 : next(path, to);
}

int unlink(const char *path)
{
	static int (*next)(const char *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "unlink");
	return fails("unlink", NO_FD, HERE) ? -1 : next(path);
}

/* Descriptors */

int close(int fd)
{
	static int (*next)(int);
	int how = fate("close", fd, HERE), r;

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "close");
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
		*(void **)(void *)&next = next_of(NULL, "dup");
	return fails("dup", fd, HERE) ? -1 : next(fd);
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
		*(void **)(void *)&next = next_of("fcntl64", "fcntl");
	return fails("fcntl", fd, HERE) ? -1 : next(fd, what, arg);
}

int flock(int fd, int how)
{
	static int (*next)(int, int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "flock");
	return fails("flock", fd, HERE) ? -1 : next(fd, how);
}

int fstat(int fd, struct stat *sb)
{
	static int (*next)(int, struct stat *);

	if (!next)
		*(void **)(void *)&next = next_of("fstat64", "fstat");
	return fails("fstat", fd, HERE) ? -1 : next(fd, sb);
}

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *sb)
{
	static int (*next)(int, const char *, int, unsigned, struct statx *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "statx");
	return fails("statx", fd, HERE) ? -1 : next(fd, path, flags, mask, sb);
}

int fstatfs(int fd, struct statfs *sb)
{
	static int (*next)(int, struct statfs *);

	if (!next)
		*(void **)(void *)&next = next_of("fstatfs64", "fstatfs");
	return fails("fstatfs", fd, HERE) ? -1 : next(fd, sb);
}

int fchmod(int fd, mode_t mode)
{
	static int (*next)(int, mode_t);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fchmod");
	return fails("fchmod", fd, HERE) ? -1 : next(fd, mode);
}

int ftruncate(int fd, off_t bytes)
{
	static int (*next)(int, off_t);

	if (!next)
		*(void **)(void *)&next = next_of("ftruncate64", "ftruncate");
	return fails("ftruncate", fd, HERE) ? -1 : next(fd, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	static int (*next)(int, int, off_t, off_t);

	if (!next)
		*(void **)(void *)&next = next_of("fallocate64", "fallocate");
	return fails("fallocate", fd, HERE) ? -1 : next(fd, mode, offset, bytes);
}

int fdatasync(int fd)
{
	static int (*next)(int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fdatasync");
	return fails("fdatasync", fd, HERE) ? -1 : next(fd);
}

int fsync(int fd)
{
	static int (*next)(int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fsync");
	return fails("fsync", fd, HERE) ? -1 : next(fd);
}

off_t lseek(int fd, off_t offset, int whence)
{
	static off_t (*next)(int, off_t, int);

	if (!next)
		*(void **)(void *)&next = next_of("lseek64", "lseek");
	return fails("lseek", fd, HERE) ? -1 : next(fd, offset, whence);
}

int pipe(int fd[2])
{
	static int (*next)(int *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "pipe");
	return fails("pipe", NO_FD, HERE) ? -1 : next(fd);
}

int poll(struct pollfd *list, nfds_t n, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "poll");
	return fails("poll", NO_FD, HERE) ? -1 : next(list, n, timeout);
}

int ppoll(struct pollfd *list, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "ppoll");
	return fails("ppoll", NO_FD, HERE) ? -1 : next(list, n, timeout, mask);
}

/* Streams */

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*next)(const char *, const char *);

	if (!next)
		*(void **)(void *)&next = next_of("fopen64", "fopen");
	return fails("fopen", NO_FD, HERE) ? NULL : next(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
	static FILE *(*next)(int, const char *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fdopen");
	return fails("fdopen", fd, HERE) ? NULL : next(fd, mode);
}

/* What was written is lost, or not: who called cannot know. */
int fflush(FILE *f)
{
	static int (*next)(FILE *);
	const int how = fate("fflush", f ? fileno(f) : NO_FD, HERE);
	int r;

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fflush");
	r = next(f);
	if (how <= 0)
		return r;
	errno = how;
	return EOF;
}

int fclose(FILE *f)
{
	static int (*next)(FILE *);
	const int how = fate("fclose", f ? fileno(f) : NO_FD, HERE);
	int r;

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "fclose");
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
	const int how = fate(call, fd, to);

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
		*(void **)(void *)&next = next_of(NULL, "read");
	return n ? next(fd, buf, n) : result;
}

ssize_t write(int fd, const void *buf, size_t bytes)
{
	static ssize_t (*next)(int, const void *, size_t);
	ssize_t result;
	const size_t n = size_of("write", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "write");
	return n ? next(fd, buf, n) : result;
}

ssize_t pread(int fd, void *buf, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, void *, size_t, off_t);
	ssize_t result;
	const size_t n = size_of("pread", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = next_of("pread64", "pread");
	return n ? next(fd, buf, n, offset) : result;
}

ssize_t pwrite(int fd, const void *buf, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	ssize_t result;
	const size_t n = size_of("pwrite", fd, bytes, HERE, &result);

	if (!next)
		*(void **)(void *)&next = next_of("pwrite64", "pwrite");
	return n ? next(fd, buf, n, offset) : result;
}

#ifdef HAVE_LINUX_IO_URING_H

/* The one ring whose transfers are looked at: the one made last. */
static struct {
	int fd;
	struct io_uring_params params;
	unsigned char *rings;
	struct io_uring_sqe *entries;
} ring;

/* The memory that is shared with the kernel. */
static void note_ring(int fd, off_t what, void *at)
{
	if (fd != ring.fd || at == MAP_FAILED)
		return;
	if (what == (off_t)IORING_OFF_SQ_RING)
		ring.rings = at;
	else if (what == (off_t)IORING_OFF_SQES)
		ring.entries = at;
}

#else

static void note_ring(int fd, off_t what, void *at)
{
	(void)fd;
	(void)what;
	(void)at;
}

#endif

/* Memory */

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);
	void *got;

	if (!next)
		*(void **)(void *)&next = next_of("mmap64", "mmap");
	if (fails("mmap", flags & MAP_ANONYMOUS ? NO_FD : fd, HERE))
		return MAP_FAILED;
	got = next(at, bytes, prot, flags, fd, offset);
	if (!(flags & MAP_ANONYMOUS))
		note_ring(fd, offset, got);
	return got;
}

void *malloc(size_t bytes)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "malloc");
	return fails("malloc", NO_FD, HERE) ? NULL : next(bytes);
}

void *realloc(void *old, size_t bytes)
{
	static void *(*next)(void *, size_t);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "realloc");
	return fails("realloc", NO_FD, HERE) ? NULL : next(old, bytes);
}

/* dlsym() itself may want some before it can say where calloc() is. */
void *calloc(size_t n, size_t bytes)
{
	static void *(*next)(size_t, size_t);
	static int asking;

	if (!next && !asking) {
		asking = 1;
		*(void **)(void *)&next = next_of(NULL, "calloc");
	}
	return !next || fails("calloc", NO_FD, HERE) ? NULL : next(n, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	static int (*next)(void **, size_t, size_t);
	const int how = fate("posix_memalign", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "posix_memalign");
	return how > 0 ? how : next(out, alignment, bytes);
}

/* Declared by the C library as macros, too. */
#undef strdup
#undef strndup
char *strdup(const char *s)
{
	static char *(*next)(const char *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "strdup");
	return fails("strdup", NO_FD, HERE) ? NULL : next(s);
}

char *strndup(const char *s, size_t n)
{
	static char *(*next)(const char *, size_t);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "strndup");
	return fails("strndup", NO_FD, HERE) ? NULL : next(s, n);
}

/* The machine */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	const int how = fate("pthread_create", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "pthread_create");
	return how > 0 ? how : next(thread, attr, start, arg);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	static int (*next)(pid_t, size_t, cpu_set_t *);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "sched_getaffinity");
	return fails("sched_getaffinity", NO_FD, HERE) ? -1 : next(pid, bytes, set);
}

int getrlimit(__rlimit_resource_t what, struct rlimit *limit)
{
	static int (*next)(__rlimit_resource_t, struct rlimit *);

	if (!next)
		*(void **)(void *)&next = next_of("getrlimit64", "getrlimit");
	return fails("getrlimit", NO_FD, HERE) ? -1 : next(what, limit);
}

#if defined(HAVE_LIBAIO) || defined(HAVE_LINUX_IO_URING_H)
/* What a direct transfer moves that is to be short, or to move nothing; a page cannot be halved. */
static size_t less(int how, size_t bytes)
{
	const size_t half = bytes / 2 / PRELOAD_PAGE * PRELOAD_PAGE;

	return how == PRELOAD_ZERO ? 0 : half ? half : bytes;
}
#endif

#ifdef HAVE_LIBAIO

/* The kernel's answer is negative, and errno is none of its business. */
int io_setup(int depth, io_context_t *out)
{
	static int (*next)(int, io_context_t *);
	const int how = fate("io_setup", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "io_setup");
	return how > 0 ? -how : next(depth, out);
}

/* Transfers that are to fail, by what the command knows them by: they are made, and then said to have failed. */
static struct {
	void *data;
	int error;
} doomed[64];

static void doom(void *data, int error)
{
	unsigned i = 0;

	while (i < 63 && doomed[i].data && doomed[i].data != data)
		i++;
	doomed[i].data = data;
	doomed[i].error = error;
}

/* What a transfer that is done failed with, or 0. */
static int doom_of(const void *data)
{
	unsigned i;

	for (i = 0; i < 64; i++)
		if (doomed[i].data == data) {
			doomed[i].data = NULL;
			return doomed[i].error;
		}
	return 0;
}

static void change_iocb(struct iocb *cb, const void *to)
{
	const int how = fate(cb->aio_lio_opcode == IO_CMD_PWRITE ? "aio_write" : "aio_read", cb->aio_fildes, to);

	pthread_mutex_lock(&lock);
	if (how > 0)
		doom(cb->data, how);
	pthread_mutex_unlock(&lock);
	if (how < 0)
		cb->u.c.nbytes = less(how, cb->u.c.nbytes);
}

int io_submit(io_context_t aio, long n, struct iocb **list)
{
	static int (*next)(io_context_t, long, struct iocb **);
	const int how = fate("io_submit", NO_FD, HERE);
	long i;

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "io_submit");
	if (how > 0)
		return -how;
	if (how == PRELOAD_SHORT && n > 1)
		n /= 2;
	for (i = 0; i < n; i++)
		change_iocb(list[i], HERE);
	return next(aio, n, list);
}

int io_getevents(io_context_t aio, long least, long most, struct io_event *event, struct timespec *timeout)
{
	static int (*next)(io_context_t, long, long, struct io_event *, struct timespec *);
	const int how = fate("io_getevents", NO_FD, HERE);
	int n, i, error;

	if (!next)
		*(void **)(void *)&next = next_of(NULL, "io_getevents");
	if (how > 0)
		return -how;
	n = next(aio, least, most, event, timeout);
	pthread_mutex_lock(&lock);
	for (i = 0; i < n; i++) {
		error = doom_of(event[i].data);
		if (error)
			event[i].res = (unsigned long)-(long)error;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

#endif

#ifdef HAVE_LINUX_IO_URING_H

static const uint32_t *ring_word(uint32_t offset)
{
	return (const uint32_t *)(void *)(ring.rings + offset);
}

/* Those that are about to be handed over. */
static void change_entries(uint32_t n, const void *to)
{
	const uint32_t mask = *ring_word(ring.params.sq_off.ring_mask);
	const uint32_t tail = __atomic_load_n(ring_word(ring.params.sq_off.tail), __ATOMIC_ACQUIRE);
	const uint32_t *array = ring_word(ring.params.sq_off.array);
	uint32_t i;

	for (i = tail - n; i != tail; i++) {
		struct io_uring_sqe *e = &ring.entries[array[i & mask]];
		int how;

		if (e->opcode != IORING_OP_READ && e->opcode != IORING_OP_WRITE)
			continue;
		how = fate(e->opcode == IORING_OP_WRITE ? "uring_write" : "uring_read", e->fd, to);
		if (how > 0)
			e->fd = -1;
		else if (how)
			e->len = (uint32_t)less(how, e->len);
	}
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6], r;
	va_list ap;
	int i, how;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!next)
		*(void **)(void *)&next = next_of(NULL, "syscall");
	how = number == SYS_io_uring_setup ? fate("io_uring_setup", NO_FD, HERE) :
	      number == SYS_io_uring_enter ? fate("io_uring_enter", NO_FD, HERE) :
	      number == SYS_io_uring_register ? fate("io_uring_register", NO_FD, HERE) : 0;
	if (how > 0) {
		errno = how;
		return -1;
	}
	if (number == SYS_io_uring_enter && ring.entries && a[0] == ring.fd)
		change_entries((uint32_t)a[1], HERE);
	r = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_io_uring_setup && r >= 0) {
		memset(&ring, 0, sizeof(ring));
		ring.fd = (int)r;
		memcpy(&ring.params, (const void *)a[1], sizeof(ring.params));
	}
	return r;
}

#endif
