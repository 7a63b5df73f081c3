/* SPDX-License-Identifier: BSL-1.0 */
/*
 * context.c -- what every layer needs of a context: references, budgets of descriptors, fork check, canceling,
 * clocks.  Contexts are made in src/ctx, which knows backends and kernels; they end here, with the last reference,
 * whoever held it.
 *
 * A context that was canceled stays so.  So nobody has to be told: whoever begins something, or goes on with it, looks
 * at one flag, and what is on its way when it is set ends by itself.  Could it be taken back, blocks whose writes were
 * refused meanwhile would be missed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pieces.h"
#include "base/process.h"
#include "base/workers.h"

void emi_ctx_ref(em_ctx *ctx)
{
	__atomic_add_fetch(&ctx->refs, 1, __ATOMIC_RELAXED);
}

void emi_ctx_free_disks(em_ctx *ctx, uint32_t paths)
{
	uint32_t i;

	if (ctx->disk == NULL)
		return;
	for (i = 0; i < paths; i++)
		emi_strfree(ctx, ctx->disk[i].path);
	emi_free_array(ctx, ctx->disk, ctx->ndisks, sizeof *ctx->disk);
	ctx->disk = NULL;
}

void emi_ctx_free_users(void (*log_free)(void *user), void *log_user, void (*allocator_free)(void *user),
			void *allocator_user)
{
	if (log_free != NULL)
		log_free(log_user);
	if (allocator_free != NULL)
		allocator_free(allocator_user);
}

/* The context is freed through a copy of itself: its memory is counted in it, and its allocator stands in it. */
static void release(em_ctx *ctx)
{
	em_ctx copy;

	emi_workers_stop(ctx);
	emi_log_end(ctx);
	emi_pieces_drop(ctx);
	if (!emi_ctx_forked(ctx)) {
		pthread_mutex_destroy(&ctx->lock);
		pthread_mutex_destroy(&ctx->io_lock);
		pthread_mutex_destroy(&ctx->leftovers_lock);
		pthread_mutex_destroy(&ctx->pieces.lock);
		pthread_cond_destroy(&ctx->io_done);
	}
	emi_strfree(ctx, ctx->dir);
	emi_ctx_free_disks(ctx, ctx->ndisks);
	emi_free(ctx, ctx->kept, ctx->kept_bytes);
	copy = *ctx;
	emi_free(&copy, ctx, sizeof(*ctx));
	emi_ctx_free_users(copy.log_free, copy.log_user, copy.allocator_free, copy.allocator.user);
}

void emi_ctx_unref(em_ctx *ctx)
{
	if (__atomic_sub_fetch(&ctx->refs, 1, __ATOMIC_ACQ_REL) == 0)
		release(ctx);
}

int emi_ctx_forked(const em_ctx *ctx)
{
	return ctx->pid != emi_process_id();
}

em_status emi_ctx_check(const em_ctx *ctx, em_errinfo *err)
{
	if (emi_ctx_forked(ctx))
		return emi_fail(err, EM_ERR_FORK, "the context was made by process %" PRId64 ", this is its child",
				ctx->pid);
	return emi_ctx_canceled(ctx) ? emi_fail(err, EM_ERR_CANCELED, "canceled: the context was") : EM_OK;
}

/* Signal handlers call it: a store, and nothing else. */
void em_ctx_cancel(em_ctx *ctx)
{
	if (ctx != NULL)
		__atomic_store_n(&ctx->canceled, 1, __ATOMIC_RELAXED);
}

em_status emi_fd_take(em_ctx *ctx, const char *path, em_errinfo *err)
{
	uint32_t used = __atomic_load_n(&ctx->fds_used, __ATOMIC_RELAXED);

	do {
		if (used >= ctx->fds) {
			emi_fail_io(err, EM_ERR_FDLIMIT, 0, "open", path, EMI_NO_OFFSET, 0);
			return EM_ERR_FDLIMIT;
		}
	} while (!__atomic_compare_exchange_n(&ctx->fds_used, &used, used + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return EM_OK;
}

void emi_fd_drop(em_ctx *ctx)
{
	__atomic_sub_fetch(&ctx->fds_used, 1, __ATOMIC_RELAXED);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double emi_now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double emi_cpu_now(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}
