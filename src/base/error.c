/* SPDX-License-Identifier: BSL-1.0 */
/*
 * error.c -- filling in error detail.
 *
 * The text is one line for people and names what it is about; the fields beside it are for
 * programs.  As a path may hold anything, control characters become question marks in the
 * text, and stay what they are in the path field.
 */

/* The strerror_r() of POSIX, not the one of glibc, which has another type. */
#undef _GNU_SOURCE
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Room for a path in the text, so that the reason after it is never cut off. */
#define TEXT_PATH 100

/* Is err to be filled?  A failure that it holds already came first and is kept. */
static int wanted(const em_errinfo *err)
{
	return err != NULL && err->status >= EM_OK;
}

static void reset(em_errinfo *err, em_status status)
{
	memset(err, 0, sizeof(*err));
	err->status = status;
	err->offset = EMI_NO_OFFSET;
}

/* Keep the text one line. */
static void one_line(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s == 0x7f)
			*s = '?';
}

/* Copy a path; when it is too long keep its end, which tells more, from the start of a UTF-8 character. */
static void copy_path(char *dst, size_t room, const char *path)
{
	size_t n = strlen(path);

	if (n < room) {
		memcpy(dst, path, n + 1);
		return;
	}
	path += n - (room - 4);
	while (((unsigned char)*path & 0xc0) == 0x80)
		path++;
	memcpy(dst, "...", 3);
	memcpy(dst + 3, path, strlen(path) + 1);
}

em_status emi_fail(em_errinfo *err, em_status status, const char *fmt, ...)
{
	va_list ap;

	if (wanted(err)) {
		reset(err, status);
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		one_line(err->text);
	}
	return status;
}

em_status emi_fail_record(em_errinfo *err, em_status status, const char *path, uint64_t record, uint64_t bytes,
			  const char *fmt, ...)
{
	va_list ap;

	if (wanted(err)) {
		reset(err, status);
		err->record = record;
		err->bytes = bytes;
		if (path != NULL)
			copy_path(err->path, sizeof(err->path), path);
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		one_line(err->text);
	}
	return status;
}

em_status emi_fail_memory(em_errinfo *err, uint64_t least, const char *fmt, ...)
{
	char text[EM_ERRINFO_TEXT - 48]; /* the rest is for the number */
	va_list ap;

	if (wanted(err)) {
		reset(err, EM_ERR_MEMLIMIT);
		err->bytes = least;
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		if (least != 0)
			snprintf(err->text, sizeof(err->text), "%s: at least %" PRIu64 " bytes would do", text, least);
		else
			snprintf(err->text, sizeof(err->text), "%s", text);
		one_line(err->text);
	}
	return EM_ERR_MEMLIMIT;
}

em_status emi_fail_scratch(em_errinfo *err, const char *dir, uint64_t most, uint64_t needed)
{
	char where[TEXT_PATH];

	if (wanted(err)) {
		reset(err, EM_ERR_NOSPACE);
		err->bytes = needed;
		copy_path(err->path, sizeof(err->path), dir);
		copy_path(where, sizeof(where), dir);
		snprintf(err->text, sizeof(err->text),
			 "scratch space in '%s' is limited to %" PRIu64 " bytes, and %" PRIu64 " are needed", where,
			 most, needed);
		one_line(err->text);
	}
	return EM_ERR_NOSPACE;
}

em_status emi_fail_room(em_errinfo *err, const char *path, uint64_t needed, uint64_t left)
{
	char where[TEXT_PATH];

	if (wanted(err)) {
		reset(err, EM_ERR_NOSPACE);
		err->sys_errno = ENOSPC;
		snprintf(err->op, sizeof(err->op), "reserve");
		err->bytes = needed;
		copy_path(err->path, sizeof(err->path), path);
		copy_path(where, sizeof(where), path);
		snprintf(err->text, sizeof(err->text), "cannot reserve %" PRIu64 " bytes for '%s', where %" PRIu64
			 " are free: No space left on device", needed, where, left);
		one_line(err->text);
	}
	return EM_ERR_NOSPACE;
}

em_status emi_fail_no_room(em_errinfo *err, const char *dir, int others, uint64_t room, uint64_t needed)
{
	char where[TEXT_PATH];

	if (wanted(err)) {
		reset(err, EM_ERR_NOSPACE);
		err->bytes = needed;
		copy_path(err->path, sizeof(err->path), dir);
		copy_path(where, sizeof(where), dir);
		snprintf(err->text, sizeof(err->text),
			 "scratch space in '%s'%s: %" PRIu64 " bytes are free, and at least %" PRIu64 " are needed",
			 where, others ? " and the others" : "", room, needed);
		one_line(err->text);
	}
	return EM_ERR_NOSPACE;
}

em_status emi_status_of_errno(int sys_errno)
{
	switch (sys_errno) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return EM_ERR_NOSPACE;
	case ENOMEM:
		return EM_ERR_NOMEM;
	case EMFILE:
	case ENFILE:
		return EM_ERR_FDLIMIT;
	case ENOENT:
	case ENOTDIR:
		return EM_ERR_NOENT;
	case EACCES:
	case EPERM:
	case EROFS:
		return EM_ERR_ACCESS;
	case EEXIST:
		return EM_ERR_EXIST;
	case EBADF:
		/* A file that was not opened for that. */
		return EM_ERR_INVAL;
	case EPIPE:
		return EM_ERR_PIPE;
	case ENOSYS:
	case EOPNOTSUPP:
		return EM_ERR_NOTSUP;
	default:
		return EM_ERR_IO;
	}
}

/* "cannot write 4096 bytes at offset 8192 of '/x/y': Input/output error", or as much of that as is known. */
static void io_text(em_errinfo *err, const char *noun, const char *path, const char *why)
{
	char where[TEXT_PATH + 2] = "";
	char amount[28] = "";
	char at[32] = "";
	const char *of = "";

	if (err->bytes != 0)
		snprintf(amount, sizeof(amount), " %" PRIu64 " bytes", err->bytes);
	if (err->offset != EMI_NO_OFFSET)
		snprintf(at, sizeof(at), " at offset %" PRIu64, err->offset);
	if (path != NULL && *path != '\0') {
		where[0] = '\'';
		copy_path(where + 1, TEXT_PATH, path);
		strcat(where, "'");
		of = amount[0] != '\0' || at[0] != '\0' ? " of " : " ";
	}
	snprintf(err->text, sizeof(err->text), "cannot %s%s%s%s%s%s: %s", err->op[0] != '\0' ? err->op : "use", amount,
		 at, of, of[0] != '\0' ? noun : "", where, why);
	one_line(err->text);
}

em_status emi_fail_on(em_errinfo *err, em_status status, int sys_errno, const char *why, const char *op,
		      const char *noun, const char *path, uint64_t offset, uint64_t bytes)
{
	char text[64];

	if (status == EM_OK)
		status = emi_status_of_errno(sys_errno);
	if (!wanted(err))
		return status;
	if (why == NULL && (sys_errno == 0 || strerror_r(sys_errno, text, sizeof(text)) != 0))
		snprintf(text, sizeof(text), "%s", em_status_text(status));
	reset(err, status);
	err->sys_errno = sys_errno;
	err->offset = offset;
	err->bytes = bytes;
	if (op != NULL)
		snprintf(err->op, sizeof(err->op), "%s", op);
	if (path != NULL)
		copy_path(err->path, sizeof(err->path), path);
	io_text(err, noun, path, why != NULL ? why : text);
	return status;
}

em_status emi_fail_io(em_errinfo *err, em_status status, int sys_errno, const char *op, const char *path,
		      uint64_t offset, uint64_t bytes)
{
	return emi_fail_on(err, status, sys_errno, NULL, op, "", path, offset, bytes);
}

em_status emi_fail_refused(em_errinfo *err, em_status status, const char *why, const char *op, const char *path,
			   uint64_t offset, uint64_t bytes)
{
	return emi_fail_on(err, status, 0, why, op, "", path, offset, bytes);
}

em_status emi_begin_open(const void *out, const void *of, const char *name, em_errinfo *err)
{
	em_status st;

	emi_errinfo_clear(err);
	st = emi_given(out, "out", err);
	return st == EM_OK ? emi_given(of, name, err) : st;
}

em_status emi_tell(em_errinfo *theirs, em_status status, const em_errinfo *err)
{
	if (status >= EM_OK || theirs == NULL)
		return status;
	if (err->status < EM_OK) {
		*theirs = *err;
		theirs->status = status;
		return status;
	}
	emi_errinfo_clear(theirs);
	return emi_fail(theirs, status, "%s", em_status_text(status));
}
