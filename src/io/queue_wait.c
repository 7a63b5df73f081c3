/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue_wait.c -- waiting for a request, or for all of a file.
 *
 * Who waits for a request that is still on a list takes it and runs it.  So a read followed at once by a wait needs no
 * second thread.  While somebody else runs it, and transfers are quick, he runs others: that is done sooner than he
 * would have fallen asleep and woken up.  With asynchronous transfers he collects what is done, his own and others'.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/condition.h"
#include "base/context.h"
#include "io/queue.h"

/* What one who waits for rq should run: rq, if nobody has begun; while somebody is at it, another one, if that is done
 * sooner than one falls asleep and wakes up (but not within a function of a request, which would call others).  A wait
 * with a deadline must not get stuck in a transfer, unless there is nobody else to make it. */
static emi_request *to_run(emi_queue *q, emi_request *rq, double deadline)
{
	const int alone = q->threads == 0 && !q->async;

	if (deadline >= 0 && !alone)
		return NULL;
	/* Or what it comes behind: those who would run that may all be waiting like this one. */
	while (rq && rq->blocker)
		rq = rq->blocker;
	if (rq && rq->listed)
		return emi_queue_pick(q, rq);
	return alone || (emi_queue_is_quick(q) && !emi_queue_is_calling(q)) ? emi_queue_take(q) : NULL;
}

static int finished(const em_file *f, const emi_request *rq)
{
	if (!rq)
		return f->pending == 0;
	return __atomic_load_n(&rq->state, __ATOMIC_ACQUIRE) != EMI_QUEUED;
}

/* Wait for a signal until the deadline. */
static void sleep_until(emi_queue *q, double deadline)
{
	if (deadline < 0)
		pthread_cond_wait(&q->done, &q->lock);
	else
		emi_cond_wait_until(&q->done, &q->lock, deadline);
}

void emi_queue_count_wait(const emi_request *rq, uint64_t ns)
{
	emi_queue *q = rq->file->queue;
	const int write = rq->kind == EMI_WRITE;

	if (rq->kind == EMI_DISCARD)
		return;
	emi_meter_wait(&rq->file->meter, write, ns);
	emi_meter_wait(&q->meter, write, ns);
	emi_meter_wait(&q->ctx->meter, write, ns);
	if (rq->calls.stats)
		__atomic_fetch_add(&rq->calls.stats->wait_ns, ns, __ATOMIC_RELAXED);
}

int emi_queue_wait(em_file *f, emi_request *rq, double deadline)
{
	emi_queue *q = f->queue;
	emi_request *mine;
	uint64_t begin;
	int is_done;

	pthread_mutex_lock(&q->lock);
	begin = finished(f, rq) ? 0 : emi_now_ns();
	q->waiters++;
	if (rq)
		rq->awaited = 1;
	else
		q->closers++;
	while (!(is_done = finished(f, rq))) {
		int64_t timeout = -1;

		if (deadline >= 0) {
			double left = deadline - emi_now();

			if (left <= 0)
				break;
			timeout = (int64_t)(left * 1e9) + 1;
		}
		mine = to_run(q, rq, deadline);
		if (mine) {
			emi_queue_run(q, mine);
			if (q->queued + q->chores > 0)
				emi_queue_kick(q);
		} else if (!emi_async_help(q, timeout)) {
			emi_queue_rouse(q);
			sleep_until(q, deadline);
		}
	}
	q->waiters--;
	if (!rq)
		q->closers--;
	else if (!is_done)
		rq->awaited = 0;
	if (rq && begin != 0)
		emi_queue_count_wait(rq, emi_now_ns() - begin);
	if (q->quit)
		pthread_cond_broadcast(&q->done);
	else if (emi_queue_wants_reaper(q))
		emi_queue_call_worker(q);
	emi_queue_unlock(q);
	return is_done;
}

void emi_queue_wait_alone(emi_request *rq)
{
	emi_queue *q = rq->file->queue;

	pthread_mutex_lock(&q->lock);
	/* It is no waiter who would collect: others do.  Its file keeps the queue. */
	rq->awaited = 1;
	while (!finished(rq->file, rq)) {
		if (rq->listed)
			emi_queue_run(q, emi_queue_pick(q, rq));
		else
			pthread_cond_wait(&q->done, &q->lock);
	}
	pthread_mutex_unlock(&q->lock);
}

int emi_queue_watch(emi_request *rq, int on)
{
	emi_queue *q = rq->file->queue;
	int attended = 1;

	pthread_mutex_lock(&q->lock);
	if (on) {
		q->guests++;
		if (!rq->calls.fn && !finished(rq->file, rq)) {
			rq->watched = EMI_WATCHED;
			q->unattended++;
		}
		attended = finished(rq->file, rq) || emi_queue_call_worker(q) || !q->async;
		emi_queue_rouse(q);
	} else {
		if (rq->watched == EMI_WATCHED && !finished(rq->file, rq))
			q->unattended--;
		rq->watched = 0;
		if (--q->guests == 0 && q->quit)
			pthread_cond_broadcast(&q->done);
	}
	emi_queue_unlock(q);
	return attended;
}

void emi_queue_poll(emi_queue *q)
{
	pthread_mutex_lock(&q->lock);
	emi_async_help(q, 0);
	/* Others took it for done by somebody while this thread did it. */
	emi_queue_call_worker(q);
	emi_queue_unlock(q);
}
