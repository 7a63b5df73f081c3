/* SPDX-License-Identifier: BSL-1.0 */
/*
 * output.c -- a file that is written from front to end and appears complete or not at all.
 *
 * A regular file is written without a name (O_TMPFILE) in the directory where it is going to be, and linked
 * when it is complete: whatever ends the process before leaves nothing.  A name that is taken is
 * replaced by linking to a random name and renaming.  File systems without O_TMPFILE get the random
 * name, ".NAME.XXXXXX.tmp", from the start.  Symbolic links are followed, the mode of an existing file is kept;
 * pipes and devices are written directly.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/output.h"
#include "cli/random.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define LINKS_MOST 40    /* symbolic links followed, as the kernel does */
#define ATTEMPTS 100     /* random names tried */
#define TEMP_LETTERS 6
#define TEMP_REST (TEMP_LETTERS + 6) /* what a temporary name has beside the name: two dots, letters, ".tmp" */
#define PROC_NAME 32

static int failed(const output *o, int sys_errno)
{
	message_errno(o->command, o->name, sys_errno);
	return -1;
}

/* Where a name leads when its symbolic links are followed; the last may not exist.  Allocated; NULL with errno set. */
static char *follow_links(const char *name)
{
	char path[PATH_MAX], link[PATH_MAX];
	const char *slash;
	size_t dir;
	ssize_t n;
	int i;

	if (strlen(name) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(path, name, strlen(name) + 1);
	for (i = 0; i < LINKS_MOST; i++) {
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			return errno == EINVAL || errno == ENOENT ? strdup(path) : NULL;
		link[n] = '\0';
		slash = strrchr(path, '/');
		dir = link[0] != '/' && slash ? (size_t)(slash - path) + 1 : 0;
		if (dir + (size_t)n >= sizeof(path)) {
			errno = ENAMETOOLONG;
			return NULL;
		}
		memcpy(path + dir, link, (size_t)n + 1);
	}
	errno = ELOOP;
	return NULL;
}

/* Where the file's own name begins in a path. */
static size_t base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A random name beside path: "DIR/.NAME.XXXXXX.tmp".  NAME is cut where it would be too long.  Allocated. */
static char *temp_name(const char *path)
{
	static const char letter[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	const size_t base = base_of(path), room = base + NAME_MAX + 1;
	char *temp = malloc(room), word[TEMP_LETTERS + 1];
	struct timespec now;
	uint64_t x;
	int i;

	if (!temp)
		return NULL;
	/* Two processes in one directory, and two attempts of one, should differ; that they do is seen when it is taken. */
	clock_gettime(CLOCK_REALTIME, &now);
	x = random_at(random_start((uint64_t)now.tv_nsec), random_mix((uint64_t)now.tv_sec) + (uint64_t)getpid());
	for (i = 0; i < TEMP_LETTERS; i++, x /= sizeof(letter) - 1)
		word[i] = letter[x % (sizeof(letter) - 1)];
	word[i] = '\0';
	snprintf(temp, room, "%.*s.%.*s.%s.tmp", (int)base, path, NAME_MAX - TEMP_REST, path + base, word);
	return temp;
}

static int open_unnamed(const char *path)
{
#ifdef O_TMPFILE
	const size_t base = base_of(path);
	char *dir = base ? strndup(path, base) : strdup(".");
	char proc[PROC_NAME];
	int fd;

	if (!dir)
		return -1;
	fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(dir);
	if (fd < 0)
		return -1;
	/* It gets its name through /proc; without that it would never get one. */
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (access(proc, F_OK)) {
		close(fd);
		return -1;
	}
	return fd;
#else
	(void)path;
	return -1;
#endif
}

static int open_named(output *o)
{
	int i, failure = EEXIST;

	for (i = 0; i < ATTEMPTS && failure == EEXIST; i++) {
		o->temp = temp_name(o->path);
		if (!o->temp)
			return -1;
		o->fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (o->fd >= 0)
			return 0;
		failure = errno;
		/* It is not ours. */
		free(o->temp);
		o->temp = NULL;
	}
	errno = failure;
	return -1;
}

int output_open(output *o, const char *command, const char *path)
{
	memset(o, 0, sizeof(*o));
	o->command = command;
	o->fd = -1;
	if (!path || !strcmp(path, "-")) {
		o->name = output_name("-");
		o->fd = STDOUT_FILENO;
		return 0;
	}
	o->name = path;

	if (!stat(path, &o->old)) {
		if (!S_ISREG(o->old.st_mode)) {
			o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			return o->fd < 0 ? failed(o, errno) : 0;
		}
		/* Replacing needs no permission to write the file, but its owner meant what its mode says. */
		if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
			return failed(o, errno);
		o->exists = 1;
	} else if (errno != ENOENT) {
		return failed(o, errno);
	}

	o->path = follow_links(path);
	if (!o->path)
		return failed(o, errno);
	o->fd = open_unnamed(o->path);
	/* What a file system without O_TMPFILE answers differs; if it is not that, this fails for the same reason. */
	if (o->fd < 0 && open_named(o))
		return failed(o, errno);
	return 0;
}

int output_write(output *o, const void *data, size_t bytes)
{
	const char *p = data;
	ssize_t n;

	while (bytes) {
		n = write(o->fd, p, bytes);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			message(o->command, "%s: cannot write at offset %" PRIu64 ": %s", o->name, o->written,
				strerror(errno));
			return -1;
		}
		p += n;
		bytes -= (size_t)n;
		o->written += (uint64_t)n;
	}
	return 0;
}

static int link_unnamed(const output *o, const char *path)
{
	char proc[PROC_NAME];

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", o->fd);
	return linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Link the unnamed file to a random name, which goes to o->temp. */
static int link_random(output *o)
{
	char *temp;
	int i, failure = EEXIST;

	for (i = 0; i < ATTEMPTS && failure == EEXIST; i++) {
		temp = temp_name(o->path);
		if (!temp)
			return -1;
		if (!link_unnamed(o, temp)) {
			o->temp = temp;
			return 0;
		}
		failure = errno;
		free(temp);
	}
	errno = failure;
	return -1;
}

int output_commit(output *o)
{
	if (!o->path)
		return 0;
	if (o->exists) {
		/* Only the superuser may give files away; for others the file becomes theirs. */
		if ((o->old.st_uid != geteuid() || o->old.st_gid != getegid()) &&
		    fchown(o->fd, o->old.st_uid, o->old.st_gid))
			o->old.st_mode &= 0777;
		if (fchmod(o->fd, o->old.st_mode & 07777))
			return failed(o, errno);
	}
	if (!o->temp) {
		if (!link_unnamed(o, o->path))
			goto done;
		if (errno != EEXIST || link_random(o))
			return failed(o, errno);
	}
	if (rename(o->temp, o->path))
		return failed(o, errno);
	free(o->temp);
	o->temp = NULL;
done:
	/* Network file systems tell only now that they are full. */
	if (close(o->fd)) {
		o->fd = -1;
		return failed(o, errno);
	}
	o->fd = -1;
	return 0;
}

void output_close(output *o)
{
	if (o->temp)
		unlink(o->temp);
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	free(o->temp);
	free(o->path);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}
