/* SPDX-License-Identifier: BSL-1.0 */
/*
 * target.h -- the name that an output is going to have, and what stands there now.
 */
#ifndef EMI_TARGET_H
#define EMI_TARGET_H

#include <extmem/ctx.h>

typedef struct emi_target {
	char *name;             /* as the caller said it, for messages */
	char *path;             /* absolute, no symbolic link itself; NULL: not a regular file, written through fd */
	char *temp;             /* the temporary name while there is one */
	int fd;                 /* -1: none */
	int exists;             /* there is a regular file: mode, uid and gid are its */
	uint32_t mode;          /* permissions of the output */
	uint32_t uid, gid;
} emi_target;

/*
 * Find out what the name stands for.  What is no regular file (a pipe, a device) is opened for writing;
 * its descriptor is counted and emi_target_free() closes it.  "-" is standard output.
 * EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_INVAL (a directory), EM_ERR_IO, EM_ERR_FDLIMIT, EM_ERR_NOMEM, EM_ERR_MEMLIMIT.
 * t is all zeroes, with fd -1, on failure.
 */
em_status emi_target_find(emi_target *t, em_ctx *ctx, const char *name, em_errinfo *err);

/* Forget it; removes a file that still has the temporary name. */
void emi_target_free(emi_target *t, em_ctx *ctx);

/* Close fd and say what became of it. */
em_status emi_target_close(emi_target *t, em_ctx *ctx, em_errinfo *err);

/* Choose a temporary name beside the path (attempt: 0, 1, ... while names are taken). */
em_status emi_target_temp(emi_target *t, em_ctx *ctx, uint32_t attempt, em_errinfo *err);

/* The file is gone from, or never was at, the temporary name. */
void emi_target_untemp(emi_target *t, em_ctx *ctx);

/* Can an unnamed file with this descriptor be given a name?  (Is there a /proc?) */
int emi_target_linkable(int fd);

/* Give an open file mode and owner. */
em_status emi_target_attributes(const emi_target *t, int fd, em_errinfo *err);

/* Put an unnamed file, or the one that has the temporary name, at the path; what stood there is replaced at once. */
em_status emi_target_link(emi_target *t, em_ctx *ctx, int fd, em_errinfo *err);
em_status emi_target_rename(emi_target *t, em_ctx *ctx, em_errinfo *err);

#endif
