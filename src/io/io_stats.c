/* SPDX-License-Identifier: BSL-1.0 */
/*
 * io_stats.c -- snapshots of what files, disks and contexts moved.
 */
#include <stdio.h>
#include <string.h>

#include "io/queue.h"

em_status em_ctx_io_stats_get(em_ctx *ctx, em_io_stats *stats)
{
	em_io_stats all;
	int guarded;

	if (!ctx || !stats)
		return EM_ERR_INVAL;
	/* In a child of a fork there is one thread, and the lock may be held for ever. */
	guarded = !emi_ctx_forked(ctx);
	if (guarded)
		pthread_mutex_lock(&ctx->io_lock);
	emi_meter_read(&ctx->meter, emi_now_ns(), &all);
	if (guarded)
		pthread_mutex_unlock(&ctx->io_lock);
	return emi_io_stats_give(stats, &all);
}

em_status em_ctx_disk_stats_get(em_ctx *ctx, uint32_t i, em_io_stats *stats, char *name, size_t bytes)
{
	em_io_stats all;
	emi_queue *q;

	if (!ctx || !stats || (bytes > 0 && !name))
		return EM_ERR_INVAL;
	q = emi_queue_hold(ctx, i);
	if (!q)
		return EM_END;
	if (bytes > 0)
		snprintf(name, bytes, "%s", q->name);
	emi_queue_read_meter(q, &q->meter, &all);
	emi_queue_part(q, emi_ctx_forked(ctx));
	return emi_io_stats_give(stats, &all);
}
