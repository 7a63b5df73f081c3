/* SPDX-License-Identifier: BSL-1.0 */
/*
 * error.h -- filling in error detail.
 *
 * Functions that can fail take an em_errinfo *err last (NULL is allowed unless they say otherwise)
 * and fill it only on failure.  The first failure is kept: filling one that already holds a failure
 * leaves it alone, so the cause is reported and not what followed from it.
 */
#ifndef EMI_ERROR_H
#define EMI_ERROR_H

#include <string.h>

#include <extmem/status.h>

#if defined(__GNUC__)
#define EMI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define EMI_PRINTF(f, a)
#endif

#define EMI_NO_OFFSET UINT64_MAX

/* A caller's detail, which may hold anything or be NULL, holds no failure from now on. */
static inline void emi_errinfo_clear(em_errinfo *err)
{
	if (err != NULL)
		memset(err, 0, sizeof *err);
}

/* Fill err with a status and a message; returns status. */
em_status emi_fail(em_errinfo *err, em_status status, const char *fmt, ...) EMI_PRINTF(3, 4);

/* The same for what one record is the reason for, with its number from 1, in a file (NULL: in none).  bytes: what
 * em_errinfo.bytes says, or 0. */
em_status emi_fail_record(em_errinfo *err, em_status status, const char *path, uint64_t record, uint64_t bytes,
			  const char *fmt, ...) EMI_PRINTF(6, 7);

/* Scratch in dir, and elsewhere if there are others, has less room than is needed: EM_ERR_NOSPACE. */
em_status emi_fail_no_room(em_errinfo *err, const char *dir, int others, uint64_t room, uint64_t needed);

/* Fill err for a failed operation on a file: the status and the text follow from the errno, unless
 * status is not EM_OK.  path, offset (EMI_NO_OFFSET) and bytes (0) may be unknown.  Returns the status. */
em_status emi_fail_io(em_errinfo *err, em_status status, int sys_errno, const char *op, const char *path,
		      uint64_t offset, uint64_t bytes);

/* The same of a file that people know by what it is for: `noun' stands before its name.  why: the reason, NULL: that
 * of the errno. */
em_status emi_fail_on(em_errinfo *err, em_status status, int sys_errno, const char *why, const char *op,
		      const char *noun, const char *path, uint64_t offset, uint64_t bytes);

/* The same for one that was refused, for a reason that no errno tells. */
em_status emi_fail_refused(em_errinfo *err, em_status status, const char *why, const char *op, const char *path,
			   uint64_t offset, uint64_t bytes);

/* EM_ERR_NOSPACE: scratch space in a directory may take `most' bytes, and `needed' are. */
em_status emi_fail_scratch(em_errinfo *err, const char *dir, uint64_t most, uint64_t needed);

/* EM_ERR_NOSPACE: a file needs so many bytes, and its file system has `left'. */
em_status emi_fail_room(em_errinfo *err, const char *path, uint64_t needed, uint64_t left);

/* EM_ERR_MEMLIMIT, naming the least that would do. */
em_status emi_fail_memory(em_errinfo *err, uint64_t least, const char *fmt, ...) EMI_PRINTF(3, 4);

/* What a call was given that must not be NULL: EM_OK or EM_ERR_INVAL, naming it. */
static inline em_status emi_given(const void *pointer, const char *name, em_errinfo *err)
{
	return pointer != NULL ? EM_OK : emi_fail(err, EM_ERR_INVAL, "%s is NULL", name);
}

/* What a function of the caller's has returned: EM_OK for 0, else EM_ERR_USER. */
static inline em_status emi_returned(int value, em_errinfo *err)
{
	return value == 0 ? EM_OK : emi_fail(err, EM_ERR_USER, "the caller's function returned %d", value);
}

/* What a constructor begins with: no detail yet, and neither out nor `of', which the object is to belong to, is
 * NULL. */
em_status emi_begin_open(const void *out, const void *of, const char *name, em_errinfo *err);

/* What a public call ends with: the detail of a failure goes where the caller wants it, which may be nowhere, with the
 * text of its status where nobody has told more.  Returns the status. */
em_status emi_tell(em_errinfo *theirs, em_status status, const em_errinfo *err);

/* The status that stands for an errno: ENOSPC and EDQUOT are EM_ERR_NOSPACE, ... */
em_status emi_status_of_errno(int sys_errno);

#endif
