/* SPDX-License-Identifier: BSL-1.0 */
/*
 * open.h -- what the ways to make a context have in common.
 */
#ifndef EMI_OPEN_H
#define EMI_OPEN_H

#include <extmem/ctx.h>

/* No context came of options: call what they have for the users of log and allocator.  opts may be NULL; one of no
 * version has nothing. */
void emi_ctx_forget(const em_ctx_opts *opts);

#endif
