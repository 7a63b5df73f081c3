/* SPDX-License-Identifier: BSL-1.0 */
/*
 * attributes.c -- see attributes.h.
 *
 * An access control list is an extended attribute for whoever does not interpret it.  It has to be copied, or there
 * must be none: in a file that has one the permissions of the group are the most that anybody named in it gets, and
 * taken for the group's own they may be more than the group had.  A new file may have inherited one from its directory,
 * which goes.
 *
 * Owner first: whoever gives a file away loses set-id bits.  The permissions last, as the list changes them.  Where the
 * system has no such functions nobody knows what a file has, and nothing is copied.
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

#include "stream/attributes.h"

#ifdef HAVE_FLISTXATTR

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"

/* Bytes from the heap, of the context. */
typedef struct bytes {
	char *data;             /* NULL: none */
	size_t room, n;
} bytes;

static void drop(em_ctx *ctx, bytes *b)
{
	if (b->data != NULL)
		emi_free(ctx, b->data, b->room);
	memset(b, 0, sizeof *b);
}

/* What an attribute of a file is, or, with name NULL, the list of their names.  1, or 0 when it cannot be read. */
static int read_bytes(em_ctx *ctx, int fd, const char *name, bytes *b)
{
	ssize_t n = name != NULL ? fgetxattr(fd, name, NULL, 0) : flistxattr(fd, NULL, 0);

	memset(b, 0, sizeof *b);
	/* No file of such a file system has any. */
	if (n < 0 && name == NULL && (errno == ENOTSUP || errno == ENOSYS))
		return 1;
	if (n <= 0)
		return n == 0;
	b->room = (size_t)n;
	b->data = emi_alloc(ctx, b->room, NULL);
	if (b->data == NULL)
		return 0;
	n = name != NULL ? fgetxattr(fd, name, b->data, b->room) : flistxattr(fd, b->data, b->room);
	if (n < 0) {
		drop(ctx, b);
		return 0;
	}
	b->n = (size_t)n;
	return 1;
}

/* Is it one of the file's contents, which are others now? */
static int of_contents(const char *name)
{
	return strcmp(name, "security.capability") == 0 || strcmp(name, "security.ima") == 0 ||
	       strcmp(name, "security.evm") == 0;
}

static int copy_one(em_ctx *ctx, int from, int to, const char *name)
{
	bytes want, have;
	int done;

	if (of_contents(name))
		return 1;
	if (!read_bytes(ctx, from, name, &want))
		return 0;
	/* Who may not set one (a security label) may have been given the right one. */
	done = read_bytes(ctx, to, name, &have) && have.n == want.n &&
	       (want.n == 0 || memcmp(have.data, want.data, want.n) == 0);
	drop(ctx, &have);
	if (!done)
		done = fsetxattr(to, name, want.n != 0 ? want.data : "", want.n, 0) == 0;
	drop(ctx, &want);
	return done;
}

static int listed(const bytes *names, const char *name)
{
	size_t at;

	for (at = 0; at < names->n; at += strlen(names->data + at) + 1)
		if (strcmp(names->data + at, name) == 0)
			return 1;
	return 0;
}

/* Remove what the new file has and the old one has not; labels of security are the system's business. */
static int remove_others(int to, const bytes *have, const bytes *want)
{
	size_t at;

	for (at = 0; at < have->n; at += strlen(have->data + at) + 1) {
		const char *name = have->data + at;

		if (strncmp(name, "security.", 9) != 0 && !listed(want, name) && fremovexattr(to, name) != 0)
			return 0;
	}
	return 1;
}

static int copy_extended(em_ctx *ctx, int from, int to)
{
	bytes want, have;
	size_t at;
	int ok = read_bytes(ctx, from, NULL, &want);

	if (!ok)
		return 0;
	ok = read_bytes(ctx, to, NULL, &have);
	ok = ok && remove_others(to, &have, &want);
	drop(ctx, &have);
	for (at = 0; ok && at < want.n; at += strlen(want.data + at) + 1)
		ok = copy_one(ctx, from, to, want.data + at);
	drop(ctx, &want);
	return ok;
}

int emi_attributes_copy(em_ctx *ctx, int from, int to)
{
	struct stat old, new;

	if (fstat(from, &old) != 0 || fstat(to, &new) != 0)
		return 0;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) && fchown(to, old.st_uid, old.st_gid) != 0)
		return 0;
	if (!copy_extended(ctx, from, to) || fchmod(to, old.st_mode & 07777) != 0)
		return 0;
	/* Some bits are taken away without a word. */
	return fstat(to, &new) == 0 && new.st_mode == old.st_mode && new.st_uid == old.st_uid &&
	       new.st_gid == old.st_gid;
}

#else

int emi_attributes_copy(em_ctx *ctx, int from, int to)
{
	(void)ctx;
	(void)from;
	(void)to;
	return 0;
}

#endif
