/* SPDX-License-Identifier: BSL-1.0 */
/*
 * target.c -- names of outputs.
 *
 * What stands at the name is opened for writing, as any program that writes there in place would: so permissions,
 * directories, read-only file systems and busy programs give the errors they always give, and a pipe waits
 * for its reader.  A regular file stays open, untouched, until the output is complete: then it tells which owner,
 * permissions and attributes the new file gets, or, where it cannot be replaced, takes the contents (publish.h).
 *
 * The path is made absolute and freed of symbolic links at once, so that neither a chdir() nor a link changed
 * meanwhile sends the output elsewhere than where the temporary file lies.  A link that points nowhere
 * gets its target made.
 *
 * Somebody may rename another file to the path between opening and looking: then it is opened again.  But
 * /proc/self/fd/N and its like lead to files for which the path that they show does not stand, as they were removed, or
 * are in another name space.  These can only be written in place.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "stream/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define LINKS_MOST 40           /* as the kernel */
#define LOOKS_MOST 20           /* that one name leads elsewhere each time is no accident */
#define NAMES_MOST 100u         /* random names to try */
#define TEMP_LETTERS 6
/* A name has up to 255 bytes; the dots, the letters and "tmp" take 12. */
#define TEMP_STEM 243

static em_status fail_path(em_errinfo *err, em_status st, const char *op, const char *path)
{
	return emi_fail_io(err, st, errno, op, path, UINT64_MAX, 0);
}

/* Replace a path that is a symbolic link by what it points to, until it is none.  path has PATH_MAX bytes. */
static em_status follow(char *path, em_errinfo *err)
{
	char link[PATH_MAX];
	int i;

	for (i = 0; i < LINKS_MOST; i++) {
		const char *slash = strrchr(path, '/');
		size_t dir = slash != NULL ? (size_t)(slash - path) + 1 : 0;
		ssize_t n = readlink(path, link, sizeof link - 1);

		if (n < 0)
			return errno == EINVAL || errno == ENOENT ? EM_OK : fail_path(err, EM_OK, "open", path);
		link[n] = '\0';
		if (link[0] == '/')
			dir = 0;
		if (dir + (size_t)n >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return fail_path(err, EM_OK, "open", path);
		}
		memcpy(path + dir, link, (size_t)n + 1);
	}
	errno = ELOOP;
	return fail_path(err, EM_OK, "open", path);
}

/* The absolute path of where the name leads. */
static em_status resolve(emi_target *t, em_ctx *ctx, em_errinfo *err)
{
	char path[PATH_MAX], full[PATH_MAX + NAME_MAX + 2];
	char *slash;
	const char *base;
	size_t len;
	em_status st;

	len = strlen(t->name);
	if (len >= sizeof path) {
		errno = ENAMETOOLONG;
		return fail_path(err, EM_OK, "open", t->name);
	}
	memcpy(path, t->name, len + 1);
	if ((st = follow(path, err)) != EM_OK)
		return st;
	slash = strrchr(path, '/');
	base = slash != NULL ? slash + 1 : path;
	if (base[0] == '\0' || strlen(base) > NAME_MAX) {
		errno = base[0] == '\0' ? ENOENT : ENAMETOOLONG;
		return fail_path(err, EM_OK, "open", t->name);
	}
	if (slash == path) {
		memcpy(full, "/", 2);
	} else {
		if (slash != NULL)
			*slash = '\0';
		if (realpath(slash != NULL ? path : ".", full) == NULL)
			return fail_path(err, EM_OK, "open", slash != NULL ? path : ".");
	}
	len = strlen(full);
	if (full[len - 1] != '/')
		full[len++] = '/';
	memcpy(full + len, base, strlen(base) + 1);
	t->path = emi_strdup(ctx, full, err);
	return t->path != NULL ? EM_OK : err->status;
}

/* The name leads to an open file: does the path?  1, 0, or -1 when the path cannot be looked at. */
static int same_file(const char *path, const struct stat *sb)
{
	struct stat now;

	if (stat(path, &now) == 0)
		return now.st_dev == sb->st_dev && now.st_ino == sb->st_ino;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* Can names in the directory of the path only be added?  Then a temporary one could not be removed. */
static int only_grows(const char *path)
{
#if defined(__linux__) && defined(STATX_ATTR_APPEND)
	char dir[PATH_MAX + NAME_MAX + 2];
	struct statx x;

	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path + 1), path);
	return statx(AT_FDCWD, dir, AT_NO_AUTOMOUNT, STATX_TYPE, &x) == 0 &&
	       (x.stx_attributes & STATX_ATTR_APPEND) != 0;
#else
	(void)path;
	return 0;
#endif
}

/* The open file is a regular one.  *again: the name leads elsewhere by now. */
static em_status take_regular(emi_target *t, em_ctx *ctx, const struct stat *sb, int last, int *again, em_errinfo *err)
{
	em_errinfo own;
	em_status st;
	int same = 0;

	t->regular = 1;
	t->in_place = 1;
	if (sb->st_nlink == 0)
		return EM_OK;
	memset(&own, 0, sizeof own);
	st = resolve(t, ctx, &own);
	if (st == EM_OK)
		same = same_file(t->path, sb);
	if (st == EM_OK && same < 0)
		st = fail_path(&own, EM_OK, "stat", t->path);
	if (st != EM_OK && st != EM_ERR_NOENT) {
		if (err != NULL && err->status == EM_OK)
			*err = own;
		return st;
	}
	if (same) {
		t->in_place = only_grows(t->path);
		return EM_OK;
	}
	emi_strfree(ctx, t->path);
	t->path = NULL;
	*again = !last;
	return EM_OK;
}

static int is_pipe(const char *name)
{
	struct stat sb;

	return stat(name, &sb) == 0 && S_ISFIFO(sb.st_mode);
}

/* Open what is there for writing: the descriptor, or -1 and errno.  A pipe is waited for until somebody opens it for
 * reading, as any program would, and does not block: so that the wait, and that for room in it, ends when the context
 * is canceled. */
static int open_there(const char *name, const em_ctx *ctx)
{
	const struct timespec moment = { 0, 20000000 };
	int fd, pipe;

	do {
		pipe = is_pipe(name);
		fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY | (pipe ? O_NONBLOCK : 0));
		if (fd < 0 && pipe && errno == ENXIO) {
			(void)nanosleep(&moment, NULL);
			errno = EINTR;
		}
	} while (fd < 0 && errno == EINTR && !emi_ctx_canceled(ctx));
	return fd;
}

/* Open what is there and look at it.  *again: it has changed meanwhile. */
static em_status look(emi_target *t, em_ctx *ctx, int last, int *again, em_errinfo *err)
{
	struct stat sb;
	em_status st = emi_fd_take(ctx, t->name, err);

	*again = 0;
	if (st != EM_OK)
		return st;
	t->fd = open_there(t->name, ctx);
	if (t->fd < 0) {
		const int failed = errno;

		emi_fd_drop(ctx);
		st = emi_ctx_check(ctx, err);
		if (st != EM_OK)
			return st;
		errno = failed;
		if (errno != ENOENT)
			return fail_path(err, errno == EISDIR ? EM_ERR_INVAL : EM_OK, "open", t->name);
		t->regular = 1;
		return resolve(t, ctx, err);
	}
	if (fstat(t->fd, &sb) != 0)
		return fail_path(err, EM_OK, "stat", t->name);
	return S_ISREG(sb.st_mode) ? take_regular(t, ctx, &sb, last, again, err) : EM_OK;
}

em_status emi_target_find(emi_target *t, em_ctx *ctx, const char *name, em_errinfo *err)
{
	em_errinfo scratch;
	em_status st;
	int i, again = 1;

	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	memset(t, 0, sizeof *t);
	t->fd = -1;
	t->name = emi_strdup(ctx, strcmp(name, "-") == 0 ? "standard output" : name, err);
	if (t->name == NULL)
		return err->status;
	if (strcmp(name, "-") == 0) {
		t->fd = STDOUT_FILENO;
		return EM_OK;
	}
	for (i = 1, st = EM_OK; st == EM_OK && again; i++) {
		st = emi_target_close(t, ctx, err);
		if (st == EM_OK)
			st = look(t, ctx, i == LOOKS_MOST, &again, err);
	}
	if (st != EM_OK)
		emi_target_free(t, ctx);
	return st;
}

em_status emi_target_close(emi_target *t, em_ctx *ctx, em_errinfo *err)
{
	int failed;

	if (t->fd < 0 || t->fd == STDOUT_FILENO)
		return EM_OK;
	/* Even when it fails the descriptor is gone. */
	failed = close(t->fd) != 0 && errno != EINTR;
	t->fd = -1;
	emi_fd_drop(ctx);
	return failed ? fail_path(err, EM_OK, "close", t->name) : EM_OK;
}

void emi_target_free(emi_target *t, em_ctx *ctx)
{
	(void)emi_target_close(t, ctx, NULL);
	emi_leftover_unlink(ctx, &t->leftover);
	emi_strfree(ctx, t->temp);
	emi_strfree(ctx, t->path);
	emi_strfree(ctx, t->name);
	memset(t, 0, sizeof *t);
	t->fd = -1;
}

void emi_target_made(emi_target *t, em_ctx *ctx)
{
	emi_leftover_add(ctx, &t->leftover, t->temp);
}

void emi_target_untemp(emi_target *t, em_ctx *ctx)
{
	if (t->leftover.path != NULL)
		emi_leftover_remove(ctx, &t->leftover);
	emi_strfree(ctx, t->temp);
	t->temp = NULL;
}

em_status emi_target_temp(emi_target *t, em_ctx *ctx, uint32_t attempt, em_errinfo *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char name[PATH_MAX + NAME_MAX + 2], word[TEMP_LETTERS + 1];
	const char *base = strrchr(t->path, '/') + 1;
	em_errinfo scratch;
	struct timespec now;
	uint64_t x;
	int i;

	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	emi_target_untemp(t, ctx);
	if (attempt >= NAMES_MOST) {
		errno = EEXIST;
		return fail_path(err, EM_OK, "create", t->path);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	x = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uint64_t)getpid() * 0x9e3779b97f4a7c15u +
	    (uintptr_t)t + attempt;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	for (i = 0; i < TEMP_LETTERS; i++, x /= sizeof letters - 1)
		word[i] = letters[x % (sizeof letters - 1)];
	word[TEMP_LETTERS] = '\0';
	snprintf(name, sizeof name, "%.*s.%.*s.%s.tmp", (int)(base - t->path), t->path, TEMP_STEM, base, word);
	t->temp = emi_strdup(ctx, name, err);
	return t->temp != NULL ? EM_OK : err->status;
}
