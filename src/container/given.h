/* SPDX-License-Identifier: BSL-1.0 */
/* given.h -- what containers of several kinds are given by their callers, and look at alike. */
#ifndef EMI_GIVEN_H
#define EMI_GIVEN_H

#include "base/error.h"
#include "block/public_pool.h"

/* A placement is for as many disks as the context has for scratch; NULL is for all of them.  EM_ERR_INVAL. */
em_status emi_given_placement(em_ctx *ctx, const em_placement *placement, em_errinfo *err);

/* A pool that is to be shared is one of this context that can be, and no call on it is in progress.  NULL is none.
 * EM_ERR_INVAL, and as emi_enter_quickly(). */
em_status emi_given_pool(em_ctx *ctx, em_block_pool *pool, em_errinfo *err);

/* What a function that only plans begins with: no detail yet, and none of these is NULL.  EM_ERR_INVAL. */
em_status emi_given_to_plan(const void *ctx, const void *opts, const void *info, em_errinfo *err);

#endif
