/* SPDX-License-Identifier: BSL-1.0 */
/*
 * publish.c -- see publish.h.
 *
 * A file that is there is replaced: by linking the new one to a random name and renaming it, as linkat() refuses to
 * replace.  The random name need not be secret: linkat() and O_EXCL refuse one that is taken, and the next is tried.
 * First the new file gets what the old one has (attributes.h), and its data is brought to the disk: a file system may
 * well write the new name first, and after a crash there would be neither the old data nor the new.
 *
 * Some files cannot be replaced: they have other names, too, their owner or attributes cannot be given to another file,
 * something is mounted there, or names in the directory may not be changed.  Then the new contents are copied into the
 * old file.  That is not done at once, so it begins when there is space for them, and whoever wants to end the process
 * waits for its end.
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

#include "stream/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "stream/attributes.h"

#define COPY_MOST ((size_t)1 << 20)

static em_status fail_name(const emi_target *t, const char *op, em_errinfo *err)
{
	return emi_fail_io(err, EM_OK, errno, op, t->path != NULL ? t->path : t->name, UINT64_MAX, 0);
}

static void proc_name(char name[32], int fd)
{
	snprintf(name, 32, "/proc/self/fd/%d", fd);
}

int emi_publish_linkable(int fd)
{
	char name[32];

	proc_name(name, fd);
	return fd >= 0 && access(name, F_OK) == 0;
}

/* 0 or an errno */
static int link_as(int fd, const char *path)
{
	char name[32];

	/* Linking by AT_EMPTY_PATH would need a capability; this way needs none. */
	proc_name(name, fd);
	return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Give an unnamed file a temporary name. */
static em_status link_temp(emi_target *t, em_ctx *ctx, int fd, em_errinfo *err)
{
	uint32_t attempt = 0;
	em_status st;
	int failed;

	do {
		st = emi_target_temp(t, ctx, attempt++, err);
		if (st != EM_OK)
			return st;
		failed = link_as(fd, t->temp);
	} while (failed == EEXIST);
	if (failed == 0) {
		emi_target_made(t, ctx);
		return EM_OK;
	}
	emi_target_untemp(t, ctx);
	errno = failed;
	return fail_name(t, "link", err);
}

/* Make the file the one that has the name. */
static em_status put_name(emi_target *t, em_ctx *ctx, int fd, em_errinfo *err)
{
	em_status st;

	if (t->temp == NULL) {
		if (t->fd < 0 && link_as(fd, t->path) == 0)
			return EM_OK;
		st = link_temp(t, ctx, fd, err);
		if (st != EM_OK)
			return st;
	}
	if (rename(t->temp, t->path) != 0)
		return fail_name(t, "rename", err);
	emi_target_untemp(t, ctx);
	return EM_OK;
}

/* Do what else there is to do with the file that is there, having failed to replace it? */
static int may_copy(const emi_target *t, const em_errinfo *err)
{
	const int e = err->sys_errno;
	struct stat sb;

	/* One that somebody else has replaced meanwhile is nobody's output. */
	return (e == EBUSY || e == EPERM || e == EACCES || e == EXDEV || e == EROFS) && t->fd >= 0 &&
	       fstat(t->fd, &sb) == 0 && sb.st_nlink > 0;
}

/* Have space for what the file is going to be longer: a full disk is to be noticed before anything is overwritten. */
static em_status make_longer(const emi_target *t, uint64_t bytes, em_errinfo *err)
{
#ifdef HAVE_FALLOCATE
	struct stat sb;
	int failed;

	if (fstat(t->fd, &sb) != 0)
		return fail_name(t, "stat", err);
	if (bytes <= (uint64_t)sb.st_size)
		return EM_OK;
	do {
		failed = fallocate(t->fd, FALLOC_FL_KEEP_SIZE, sb.st_size, (off_t)bytes - sb.st_size) == 0 ? 0 : errno;
	} while (failed == EINTR);
	if (failed != ENOSPC && failed != EDQUOT && failed != EFBIG)
		return EM_OK;
	/* What there was of it goes back. */
	(void)!ftruncate(t->fd, sb.st_size);
	return emi_fail_io(err, EM_OK, failed, "overwrite", t->name, (uint64_t)sb.st_size,
			   bytes - (uint64_t)sb.st_size);
#else
	(void)t;
	(void)bytes;
	(void)err;
	return EM_OK;
#endif
}

static em_status write_all(const emi_target *t, const char *data, size_t bytes, uint64_t offset, em_errinfo *err)
{
	size_t done = 0;

	while (done < bytes) {
		const ssize_t n = pwrite(t->fd, data + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return emi_fail_io(err, EM_OK, errno, "overwrite", t->name, offset + done, bytes - done);
		done += n > 0 ? (size_t)n : 0;
	}
	return EM_OK;
}

/* Copy the file into what is there. */
static em_status copy(const emi_target *t, em_file *file, uint64_t bytes, char *buf, size_t room, em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t at;
	size_t n, done;

	for (at = 0; st == EM_OK && at < bytes; at += n) {
		n = bytes - at < room ? (size_t)(bytes - at) : room;
		st = emi_transfer(file, EMI_READ, buf, n, at, &done, err);
		if (st == EM_OK && done < n)
			st = emi_fail_io(err, EM_ERR_SHORT, 0, "read", emi_file_path(file), at, n);
		if (st == EM_OK)
			st = write_all(t, buf, n, at, err);
	}
	return st;
}

/* Bring what was overwritten to the disk, where it is on one. */
static em_status sync_there(const emi_target *t, em_errinfo *err)
{
	int failed;

	do {
		failed = fsync(t->fd) == 0 ? 0 : errno;
	} while (failed == EINTR);
	errno = failed;
	return failed == 0 || failed == EINVAL ? EM_OK : fail_name(t, "sync", err);
}

static em_status copy_in_place(emi_target *t, em_ctx *ctx, em_file *file, uint64_t bytes, em_errinfo *err)
{
	size_t room = COPY_MOST;
	em_status st = make_longer(t, bytes, err);
	char *buf;

	if (st != EM_OK)
		return st;
	/* The work that is done may still have most of the memory. */
	while ((buf = emi_buffer_alloc(ctx, room, NULL)) == NULL && room > EMI_PAGE)
		room /= 2;
	if (buf == NULL)
		return emi_fail(err, EM_ERR_NOMEM, "no memory is left to copy the output to '%s'", t->name);
	st = copy(t, file, bytes, buf, room, err);
	emi_buffer_free(ctx, buf, room);
	if (st == EM_OK && ftruncate(t->fd, (off_t)bytes) != 0)
		st = fail_name(t, "truncate", err);
	if (st == EM_OK)
		st = sync_there(t, err);
	/* Network file systems tell only now that they are full. */
	return st == EM_OK ? emi_target_close(t, ctx, err) : st;
}

/* A duplicate shares what close() has to say, and leaves us the original to link.  With no descriptor to spare we do
 * without, as close() tells nothing on local file systems. */
static em_status close_duplicate(const emi_target *t, int fd, em_errinfo *err)
{
	const int dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (dup < 0 || close(dup) == 0 || errno == EINTR)
		return EM_OK;
	return fail_name(t, "close", err);
}

/* Those are to stay names of it. */
static int has_other_names(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) != 0 || sb.st_nlink > 1;
}

/* All that can fail before the name appears. */
static em_status prepare(emi_target *t, em_ctx *ctx, em_file *file, em_errinfo *err)
{
	const int fd = emi_file_fd(file);
	em_status st;

	if (t->fd >= 0 && !t->in_place)
		t->in_place = has_other_names(t->fd) || !emi_attributes_copy(ctx, t->fd, fd);
	if (t->in_place)
		return EM_OK;
	st = emi_file_sync(file, err);
	return st == EM_OK && fd >= 0 ? close_duplicate(t, fd, err) : st;
}

em_status emi_publish(emi_target *t, em_ctx *ctx, em_file *file, uint64_t bytes, em_errinfo *err)
{
	em_errinfo own = { 0 };
	em_status st = prepare(t, ctx, file, err);

	if (st == EM_OK)
		st = emi_leftovers_lock(ctx, err);
	if (st != EM_OK)
		return st;
	if (!t->in_place) {
		st = put_name(t, ctx, emi_file_fd(file), &own);
		t->in_place = st != EM_OK && may_copy(t, &own);
		if (st != EM_OK && !t->in_place && err != NULL && err->status == EM_OK)
			*err = own;
	}
	if (t->in_place) {
		emi_log(ctx, EM_LOG_INFO, "%s: the file that is there cannot be replaced and is overwritten", t->name);
		st = copy_in_place(t, ctx, file, bytes, err);
	}
	emi_leftovers_unlock(ctx);
	return st;
}
