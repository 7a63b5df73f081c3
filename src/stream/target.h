/* SPDX-License-Identifier: BSL-1.0 */
/*
 * target.h -- the name that an output is going to have, and what stands there now.
 */
#ifndef EMI_TARGET_H
#define EMI_TARGET_H

#include <extmem/ctx.h>

#include "base/leftovers.h"

typedef struct emi_target {
	char *name;             /* as the caller said it, for messages */
	char *path;             /* absolute, no symbolic link itself; NULL: no name leads there, or none that matters */
	int fd;                 /* what stands there, open for writing; -1: nothing yet */
	int regular;            /* a regular file is there or is to be made: it is not written through fd before all is
	                           known */
	int in_place;           /* it cannot be replaced: what is written goes into it when it is complete */
	char *temp;             /* the temporary name while there is one */
	emi_leftover leftover;  /* ... which is on this list */
} emi_target;

/*
 * Find out what the name stands for, and open it for writing if it is there; the descriptor is counted and
 * emi_target_free() closes it.  Nothing is written or made shorter.  "-" is standard output.
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

/* Under the leftovers' lock: the file is there, under the temporary name.  It is gone from, or never was at it. */
void emi_target_made(emi_target *t, em_ctx *ctx);
void emi_target_untemp(emi_target *t, em_ctx *ctx);

#endif
