/* SPDX-License-Identifier: BSL-1.0 */
/*
 * log.h -- lines of the log that wait for a thread of the caller's (EM_CTX_LOG_CALLER).
 *
 * A line that a thread of the library logs is kept; a thread that is inside the library by a call tells it, when it
 * begins or ends a call, or logs a line itself.  Threads of the library say what they are when they begin.
 */
#ifndef EMI_LOG_H
#define EMI_LOG_H

#include "base/context.h"

/* Tell the lines that wait, unless this is a thread of the library; no lock of the library is held. */
void emi_log_tell_all(em_ctx *ctx);

static inline void emi_log_tell(em_ctx *ctx)
{
	if (__atomic_load_n(&ctx->lines, __ATOMIC_RELAXED) != NULL)
		emi_log_tell_all(ctx);
}

/* The context ends: tell them, or forget them in a child of a fork. */
void emi_log_end(em_ctx *ctx);

#endif
