/* SPDX-License-Identifier: BSL-1.0 */
/*
 * target.c -- names of outputs.
 *
 * What stands at the name is opened for writing, as any program that writes there in place would: so permissions, directories,
 * read-only file systems and busy programs give the errors they always give, and a pipe waits
 * for its reader.  A regular file is closed again, as it is going to be replaced, not overwritten: its other
 * hard links keep the old contents, and its access control list and extended attributes are not carried over.
 *
 * The path is made absolute and freed of symbolic links at once, so that neither a chdir() nor a link changed
 * meanwhile sends the output elsewhere than where the temporary file lies.  A link that points nowhere
 * gets its target made.  /proc/self/fd/N may lead to a file that the name it shows does not stand
 * for (one that was removed); then the file itself is truncated and written directly.
 *
 * linkat() refuses to replace a file, so over an existing one the new one is linked to a random name
 * first and renamed.  The random name need not be secret: linkat() and O_EXCL refuse one that is taken, and the next is tried.
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
#define NAMES_MOST 100u         /* random names to try */
#define TEMP_LETTERS 6
/* A name has up to 255 bytes; the dots, the letters and "tmp" take 12. */
#define TEMP_STEM 243

static em_status fail_path(em_errinfo *err, em_status st, const char *op, const char *path)
{
	return emi_fail_io(err, st, errno, op, path, UINT64_MAX, 0);
}

/* The mask of the process.  umask() would have to change it to tell it, for all threads. */
static mode_t current_umask(void)
{
	const mode_t usual = 022;
	char text[512], *line;
	ssize_t n;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return usual;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return usual;
	text[n] = '\0';
	line = strstr(text, "\nUmask:");
	if (line == NULL)
		return usual;
	return (mode_t)strtoul(line + 7, NULL, 8) & 0777u;
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

/* The name leads to an open regular file: is that what its path stands for? */
static em_status take_regular(emi_target *t, em_ctx *ctx, const struct stat *sb, em_errinfo *err)
{
	struct stat now;
	em_status st = resolve(t, ctx, err);

	if (st != EM_OK)
		return st;
	if (stat(t->path, &now) != 0 || now.st_dev != sb->st_dev || now.st_ino != sb->st_ino) {
		emi_strfree(ctx, t->path);
		t->path = NULL;
		return ftruncate(t->fd, 0) == 0 ? EM_OK : fail_path(err, EM_OK, "truncate", t->name);
	}
	t->exists = 1;
	t->mode = (uint32_t)sb->st_mode & 07777u;
	t->uid = (uint32_t)sb->st_uid;
	t->gid = (uint32_t)sb->st_gid;
	return emi_target_close(t, ctx, err);
}

em_status emi_target_find(emi_target *t, em_ctx *ctx, const char *name, em_errinfo *err)
{
	em_errinfo scratch;
	struct stat sb;
	em_status st;

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
	if ((st = emi_fd_take(ctx, name, err)) != EM_OK)
		goto out;
	do {
		t->fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} while (t->fd < 0 && errno == EINTR);
	if (t->fd < 0) {
		emi_fd_drop(ctx);
		if (errno != ENOENT) {
			st = fail_path(err, errno == EISDIR ? EM_ERR_INVAL : EM_OK, "open", name);
			goto out;
		}
		t->mode = 0666u & ~(uint32_t)current_umask();
		st = resolve(t, ctx, err);
		goto out;
	}
	if (fstat(t->fd, &sb) != 0)
		st = fail_path(err, EM_OK, "open", name);
	else if (S_ISREG(sb.st_mode))
		st = take_regular(t, ctx, &sb, err);
out:
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
	/* The child of a fork must not take the parent's file away. */
	if (t->temp != NULL && !emi_ctx_forked(ctx))
		(void)unlink(t->temp);
	emi_target_untemp(t, ctx);
	emi_strfree(ctx, t->path);
	emi_strfree(ctx, t->name);
	memset(t, 0, sizeof *t);
	t->fd = -1;
}

void emi_target_untemp(emi_target *t, em_ctx *ctx)
{
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

static void proc_name(char name[32], int fd)
{
	snprintf(name, 32, "/proc/self/fd/%d", fd);
}

int emi_target_linkable(int fd)
{
	char name[32];

	proc_name(name, fd);
	return fd >= 0 && access(name, F_OK) == 0;
}

em_status emi_target_attributes(const emi_target *t, int fd, em_errinfo *err)
{
	uint32_t mode = t->mode;
	struct stat sb;

	if (fstat(fd, &sb) != 0)
		return fail_path(err, EM_OK, "stat", t->name);
	if (t->exists && ((uint32_t)sb.st_uid != t->uid || (uint32_t)sb.st_gid != t->gid)) {
		/* Not everybody may give files away; the group alone is allowed more often.  Before fchmod(), as
		 * a change of owner takes the set-id bits away, which belong to the old owner only. */
		if (fchown(fd, (uid_t)t->uid, (gid_t)t->gid) != 0) {
			mode &= 01777u;
			/* A group that it was not meant for may do what everybody may. */
			if (fchown(fd, (uid_t)-1, (gid_t)t->gid) != 0)
				mode &= ~070u | (mode & 07u) << 3;
		}
	}
	return fchmod(fd, (mode_t)mode) == 0 ? EM_OK : fail_path(err, EM_OK, "chmod", t->name);
}

em_status emi_target_rename(emi_target *t, em_ctx *ctx, em_errinfo *err)
{
	if (rename(t->temp, t->path) != 0)
		return fail_path(err, EM_OK, "rename", t->path);
	emi_target_untemp(t, ctx);
	return EM_OK;
}

/* 0 or an errno */
static int link_as(int fd, const char *path)
{
	char name[32];

	/* Linking by AT_EMPTY_PATH would need a capability; this way needs none. */
	proc_name(name, fd);
	return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

em_status emi_target_link(emi_target *t, em_ctx *ctx, int fd, em_errinfo *err)
{
	uint32_t attempt = 0;
	int failed = t->exists ? EEXIST : link_as(fd, t->path);
	em_status st;

	if (failed == 0)
		return EM_OK;
	while (failed == EEXIST) {
		if ((st = emi_target_temp(t, ctx, attempt++, err)) != EM_OK)
			return st;
		failed = link_as(fd, t->temp);
		if (failed == 0)
			return emi_target_rename(t, ctx, err);
		/* It is not ours. */
		emi_target_untemp(t, ctx);
	}
	return emi_fail_io(err, EM_OK, failed, "link", t->path, UINT64_MAX, 0);
}
