/* SPDX-License-Identifier: BSL-1.0 */
/*
 * request_any.c -- waiting for the first of several requests, of any files.
 *
 * One thread cannot wait in several queues, so it waits in none: the queues are told that these requests are watched,
 * which makes their workers collect them, and whatever is done wakes those who watch.  Only where no worker can be
 * started are the queues asked in turn.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/condition.h"
#include "io/queue.h"

#define MOMENT 0.001            /* seconds between two looks at queues without workers */

static int settled(const emi_request *rq)
{
	return __atomic_load_n(&rq->state, __ATOMIC_SEQ_CST) != EMI_QUEUED;
}

static uint32_t first_settled(emi_request *const *list, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && !settled(list[i]))
		i++;
	return i;
}

/* Sleep until something is done, or the deadline. */
static void sleep_until(em_ctx *ctx, emi_request *const *list, uint32_t n, double deadline)
{
	pthread_mutex_lock(&ctx->io_lock);
	/* Whoever finishes one takes the lock before he tells, so nothing is missed between this look and the wait. */
	if (first_settled(list, n) == n)
		emi_cond_wait_until(&ctx->io_done, &ctx->io_lock, deadline);
	pthread_mutex_unlock(&ctx->io_lock);
}

static uint32_t wait_watching(em_ctx *ctx, emi_request *const *list, uint32_t n, double deadline, int attended)
{
	uint32_t i, k;

	while ((i = first_settled(list, n)) == n && emi_now() < deadline) {
		const double soon = emi_now() + MOMENT;

		for (k = 0; k < n && !attended; k++)
			emi_queue_poll(list[k]->file->queue);
		sleep_until(ctx, list, n, attended || deadline < soon ? deadline : soon);
	}
	return i;
}

/* A wait is counted once, for the request that ended it, and when none did for the first. */
static void count_wait(emi_request *const *list, uint32_t n, uint32_t watched, uint32_t i, uint64_t begin)
{
	const uint32_t whose = i < n ? i : 0;

	/* That of one that was done before it could be watched may be gone with its queue. */
	if (whose < watched)
		emi_queue_count_wait(list[whose], emi_now_ns() - begin);
}

uint32_t emi_wait_any(emi_request *const *list, uint32_t n, double seconds)
{
	const double deadline = emi_now() + (seconds < 0 || seconds > 1e8 ? 1e8 : seconds);
	uint32_t i = first_settled(list, n), k;
	int attended = 1;
	uint64_t begin;
	em_ctx *ctx;

	if (i < n)
		return i;
	ctx = list[0]->file->object.ctx;
	if (emi_ctx_forked(ctx))
		return n;
	begin = emi_now_ns();
	/* Of those that are done by now the queue may be gone. */
	__atomic_add_fetch(&ctx->io_watchers, 1, __ATOMIC_SEQ_CST);
	for (k = 0; k < n && !settled(list[k]); k++)
		attended &= emi_queue_watch(list[k], 1);
	i = wait_watching(ctx, list, n, deadline, attended);
	count_wait(list, n, k, i, begin);
	while (k-- > 0)
		emi_queue_watch(list[k], 0);
	__atomic_sub_fetch(&ctx->io_watchers, 1, __ATOMIC_SEQ_CST);
	return i;
}
