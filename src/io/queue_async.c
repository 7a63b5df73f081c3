/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue_async.c -- transfers that the backend makes on its own.
 *
 * A request takes a slot and is handed over by whoever submits it; the kernel does the rest while everybody computes.
 * Reads that are side by side in the file and in memory are handed over as one, which takes the kernel and the disk
 * less time; if that fails, or is short, each of them is made anew by itself.
 * No thread is needed to collect it: the one that waits does that, for all requests of the file.  Reaping is a turn:
 * one thread at a time has it (`reaping'), other waiters sleep until their request is done or the turn is free.
 * Only when there are more requests than slots must somebody move them up while everybody computes: then a
 * worker takes the turn.
 *
 * Nobody reaps unless `accepted' says that something is with the backend for certain.  A request whose
 * submission was refused goes back to the front of its list; when nothing is in flight whose end could be waited for,
 * it is made with the blocking functions, so there is always progress.
 *
 * All functions are called with the queue's lock and drop it for calls of the backend.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <time.h>

#include "base/context.h"
#include "io/queue.h"

static emi_slot *slot_of(const em_transfer *t)
{
	return t->owner;
}

static void release(emi_queue *q, emi_slot *slot)
{
	slot->rq = NULL;
	slot->next = q->free;
	q->free = slot;
}

/* Fill a slot's transfer in: that of rq, and of those beside it. */
static void join(emi_queue *q, emi_slot *slot, emi_request *rq, uint64_t now)
{
	em_transfer t = {NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL};
	emi_request *last = NULL;

	slot->rq = rq;
	t.buf = rq->buf;
	t.offset = rq->offset;
	t.write = rq->kind == EMI_WRITE;
	t.owner = slot;
	t.handle = rq->file->handle;
	do {
		if (last)
			last->next = rq;
		last = rq;
		last->next = NULL;
		t.bytes += last->bytes;
		emi_queue_begin(q, last, now);
		rq = t.bytes < EMI_IO_JOINED ? emi_queue_take_beside(q, last, EMI_IO_JOINED - t.bytes) : NULL;
	} while (rq);
	slot->transfer = t;
}

/* Move waiting requests to up to EMI_IO_BATCH slots. */
static uint32_t fill(emi_queue *q, em_transfer **list)
{
	const uint64_t now = q->queued > 0 ? emi_now_ns() : 0;
	uint32_t n = 0;

	while (n < EMI_IO_BATCH && q->free && q->queued > 0) {
		emi_slot *slot = q->free;

		q->free = slot->next;
		join(q, slot, emi_queue_take(q), now);
		list[n++] = &slot->transfer;
	}
	return n;
}

/* They go back to the front of their list, the last one first. */
static void put_back(emi_queue *q, emi_request *rq)
{
	if (!rq)
		return;
	put_back(q, rq->next);
	emi_queue_put_back(q, rq);
}

/* The backend took none of these: 1 to go on trying. */
static int refused(emi_queue *q, em_transfer *const *list, uint32_t n, int e)
{
	emi_request *first = slot_of(list[0])->rq;
	int run = e != EAGAIN || q->accepted <= 0;
	uint32_t i;

	/* It cannot at all: threads can. */
	if (e != EAGAIN && q->accepted == 0)
		q->async = q->may_async = 0;
	for (i = n; i-- > 0;) {
		emi_slot *slot = slot_of(list[i]);

		put_back(q, slot->rq);
		release(q, slot);
	}
	if (run)
		emi_queue_run(q, emi_queue_pick(q, first));
	return run;
}

void emi_async_pump(emi_queue *q)
{
	em_transfer *list[EMI_IO_BATCH];
	emi_request *rq;
	int go_on = 1;

	while (emi_ctx_canceled(q->ctx) && (rq = emi_queue_take(q)) != NULL)
		emi_queue_run(q, rq);
	while (go_on && q->async && emi_queue_due(q) > 0) {
		uint32_t n = fill(q, list), sent = 0;

		if (n == 0)
			break;
		while (sent < n) {
			int r;

			pthread_mutex_unlock(&q->lock);
			do
				r = q->be->submit(q->channel, list + sent, n - sent);
			while (r == -EINTR);
			pthread_mutex_lock(&q->lock);
			if (r <= 0) {
				go_on = refused(q, list + sent, n - sent, r < 0 ? -r : EAGAIN);
				break;
			}
			q->accepted += r;
			sent += (uint32_t)r;
			/* One who waits for these may now take the turn. */
			if (q->waiters > 0 && !q->reaping)
				pthread_cond_broadcast(&q->done);
		}
	}
}

/* A transfer is over.  If that of several requests was not made whole each of them is made anew, by itself. */
static void settle(emi_request *first, int64_t result)
{
	emi_request *rq;

	if (!first->next) {
		emi_request_settle(first, result);
		return;
	}
	for (rq = first; rq && result >= 0; rq = rq->next)
		result -= (int64_t)rq->bytes;
	for (rq = first; rq; rq = rq->next)
		emi_request_settle(rq, result == 0 ? (int64_t)rq->bytes : -EINTR);
}

/* The same, for the queue. */
static void complete(emi_queue *q, emi_request *rq)
{
	emi_request *next;

	for (; rq; rq = next) {
		next = rq->next;
		emi_queue_complete(q, rq);
	}
}

static void reap(emi_queue *q, int64_t timeout_ns)
{
	em_transfer *list[EMI_IO_BATCH];
	emi_request *done[EMI_IO_BATCH];
	int64_t result[EMI_IO_BATCH];
	struct timespec moment = {0, 1000000};
	int i, n;

	q->reaping = 1;
	pthread_mutex_unlock(&q->lock);
	n = q->be->reap(q->channel, list, EMI_IO_BATCH, timeout_ns);
	if (n < 0 && n != -EINTR)
		(void)nanosleep(&moment, NULL);
	pthread_mutex_lock(&q->lock);
	q->reaping = 0;
	for (i = 0; i < n; i++) {
		done[i] = slot_of(list[i])->rq;
		result[i] = list[i]->result;
		q->accepted--;
		release(q, slot_of(list[i]));
	}
	/* What is done with requests may take long, or wait for others: the disk goes on meanwhile, and the turn is
	 * free. */
	emi_async_pump(q);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < n; i++)
		settle(done[i], result[i]);
	pthread_mutex_lock(&q->lock);
	for (i = 0; i < n; i++)
		complete(q, done[i]);
	if (q->waiters > 0)
		pthread_cond_broadcast(&q->done);
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
}

int emi_async_help(emi_queue *q, int64_t timeout_ns)
{
	if (q->reaping || q->accepted <= 0)
		return 0;
	reap(q, timeout_ns);
	return 1;
}
