/* SPDX-License-Identifier: BSL-1.0 */
/* given.c -- see given.h. */
#include "container/given.h"

#include <inttypes.h>

#include "block/disk.h"

em_status emi_given_placement(em_ctx *ctx, const em_placement *placement, em_errinfo *err)
{
	if (placement != NULL && placement->disks != emi_scratch_disks(ctx))
		return emi_fail(err, EM_ERR_INVAL, "a placement on %" PRIu32 " disks: there are %" PRIu32,
				placement->disks, emi_scratch_disks(ctx));
	return EM_OK;
}

em_status emi_given_pool(em_ctx *ctx, em_block_pool *pool, em_errinfo *err)
{
	em_status st;

	if (pool == NULL)
		return EM_OK;
	if (pool->share.object.ctx != ctx)
		return emi_fail(err, EM_ERR_INVAL, "the pool is of another context");
	if (pool->share.set == NULL)
		return emi_fail(err, EM_ERR_INVAL, "the pool is on a file");
	st = emi_enter_quickly(&pool->share.object);
	if (st == EM_OK)
		emi_leave_quickly(&pool->share.object);
	return st;
}

em_status emi_given_to_plan(const void *ctx, const void *opts, const void *info, em_errinfo *err)
{
	em_status st;

	emi_errinfo_clear(err);
	st = emi_given(ctx, "ctx", err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", err);
	return st == EM_OK ? emi_given(info, "info", err) : st;
}
