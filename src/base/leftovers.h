/* SPDX-License-Identifier: BSL-1.0 */
/*
 * leftovers.h -- names of files that must not outlive the process.
 *
 * A file that has a name before it is complete is on its context's list.  Whoever ends the process without waiting for
 * the work (em_ctx_abandon()) removes those names first.  A lock is held while a name is made, changed or removed, so
 * that none is missed, and while an output takes its place: ending waits for that.
 */
#ifndef EMI_LEFTOVERS_H
#define EMI_LEFTOVERS_H

#include <extmem/ctx.h>

typedef struct emi_leftover {
	char *path;             /* NULL: not on the list */
	struct emi_leftover *next;
} emi_leftover;

/* As emi_ctx_check(), and no lock, when that is not EM_OK. */
em_status emi_leftovers_lock(em_ctx *ctx, em_errinfo *err);
void emi_leftovers_unlock(em_ctx *ctx);

/* Under the lock: put it on the list; path stays the caller's.  Take it off again, if it is there. */
void emi_leftover_add(em_ctx *ctx, emi_leftover *l, char *path);
void emi_leftover_remove(em_ctx *ctx, emi_leftover *l);

/* Remove the file, take it off the list.  Nothing happens if there is none, and a child of a fork leaves its parent's
 * file alone. */
void emi_leftover_unlink(em_ctx *ctx, emi_leftover *l);

#endif
