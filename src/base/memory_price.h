/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory_price.h -- what fresh memory costs here and now.
 *
 * A virtual machine gives memory that is free back to its host, and must ask for it again, page by page: then a MiB
 * takes 2 ms, as long as a fast disk takes to write it.  Memory that a process has just left, or that of a machine of
 * its own, costs a twentieth of that.  Nothing tells beforehand which of both it is, so it is tried.  Some 30 MiB are
 * never given back, so more than that must be cheap.
 */
#ifndef EMI_MEMORY_PRICE_H
#define EMI_MEMORY_PRICE_H

#include <extmem/ctx.h>

/* Least bytes of memory that are tried, and given back. */
#define EMI_PRICE_BYTES ((size_t)64 << 20)

/* Is fresh memory cheap?  `bytes' of it are tried, if that is more, until it is known that it is not.  Nor is it where
 * there is less than that to try. */
int emi_memory_is_cheap(em_ctx *ctx, uint64_t bytes);

#endif
