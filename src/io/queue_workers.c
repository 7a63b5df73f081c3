/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue_workers.c -- the threads of a queue: what they do, and when another one is called.
 *
 * Workers are started one by one, when there is more to do than those that there are will do soon.  Their stacks
 * are small, and counted when the queue is made, so that starting them cannot exceed the budget.  If none can be
 * started whoever submits or finishes something makes the transfers itself, or collects those that nobody would wait
 * for: slower, not wrong.
 *
 * To put a thread to sleep and to wake it takes several microseconds of two cores, and it comes some ten later.  That
 * is nothing beside a transfer of a disk, but several times what it takes to copy a small block from memory or the page
 * cache.  So a queue knows what its transfers take, as a moving average, and
 *
 *	another worker is called when what waits takes those that are awake longer than he needs to come (or when all
 *	are asleep);
 *	where transfers are quick, one who has nothing to do does not sleep until he is called, but naps for a moment
 *	and looks again, as long as requests come; so those that come meanwhile cost no call, and are taken in one go.
 *
 * A queue whose transfers were quick and suddenly are slow does as before until the first of them is done.
 *
 * With asynchronous transfers (queue_async.c) workers make only chores, and one of them collects what is in flight when
 * nobody waits and there is something on the lists, or something in flight that has a function to be called.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/condition.h"
#include "base/context.h"
#include "base/thread.h"
#include "io/queue.h"

#define WAKE_NS 100000u         /* from calling a worker until he is of use, and has earned what that costs */
#define NAP 50e-6              /* seconds */
#define QUICK_NS 20000u         /* transfers that take less are quick */

int emi_queue_wants_reaper(const emi_queue *q)
{
	return q->async && (emi_queue_due(q) > 0 || q->unattended > 0) && q->waiters == 0;
}

/* One thing that there is to do: 0 when there is none. */
static int work(emi_queue *q)
{
	emi_request *rq = emi_queue_take_chore(q);
	const int chore = rq != NULL;

	if (!rq && !q->async)
		rq = emi_queue_take(q);
	if (!rq)
		return emi_queue_wants_reaper(q) && emi_async_help(q, -1);
	q->choring += (uint32_t)chore;
	if (chore)
		emi_queue_call_worker(q);
	emi_queue_run(q, rq);
	q->choring -= (uint32_t)chore;
	/* What it blocked may be more than this thread can do. */
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
	return 1;
}

/* Wait until somebody calls. */
static void sleep_on(emi_queue *q)
{
	q->idle++;
	while (q->calls == 0 && !q->quit)
		pthread_cond_wait(&q->work, &q->lock);
	q->idle--;
	if (q->calls > 0)
		q->calls--;
}

int emi_queue_is_quick(const emi_queue *q)
{
	return !q->async && q->service_ns < QUICK_NS;
}

/* Wait for a moment, or until somebody calls. */
static void nap(emi_queue *q)
{
	q->idle++;
	q->napping = 1;
	emi_cond_wait_until(&q->work, &q->lock, emi_now() + NAP);
	q->napping = 0;
	q->idle--;
	if (q->calls > 0)
		q->calls--;
}

/* There is nothing to do.  As long as many quick transfers come, one worker naps and looks again: to be called for each
 * of them would take more than the transfer. */
static void rest(emi_queue *q, uint64_t *seen)
{
	if (emi_queue_is_quick(q) && !q->napping && *seen != q->seq) {
		*seen = q->seq;
		nap(q);
	} else {
		sleep_on(q);
	}
}

static void *worker(void *arg)
{
	emi_queue *q = arg;
	uint64_t seen = 0;      /* requests there had been at the last nap */
	int orphan;

	emi_thread_enter();
	pthread_mutex_lock(&q->lock);
	while (!q->quit) {
		if (q->left) {
			emi_queue_unlock(q);
			pthread_mutex_lock(&q->lock);
		} else if (!work(q)) {
			rest(q, &seen);
		}
	}
	orphan = q->orphan && pthread_equal(q->heir, pthread_self());
	pthread_mutex_unlock(&q->lock);
	if (orphan) {
		pthread_detach(pthread_self());
		emi_queue_free(q, 0);
	}
	return NULL;
}

/* Is one more worker of use?  Those that are awake take what there is one after the other, so it has to be more than
 * they will have done by the time that another has come. */
static int wants_worker(const emi_queue *q)
{
	const uint32_t awake = q->threads - q->idle - q->choring + q->calls + (uint32_t)q->napping;

	if (q->chores > q->calls)
		return 1;
	if (q->async)
		return q->calls == 0 && !q->reaping && emi_queue_wants_reaper(q);
	return q->queued > q->calls && (q->queued - q->calls) * q->service_ns >= awake * WAKE_NS;
}

int emi_queue_call_worker(emi_queue *q)
{
	if (!wants_worker(q))
		return q->threads > 0;
	if (q->idle > q->calls) {
		q->calls++;
		pthread_cond_signal(&q->work);
	} else if (q->threads < (q->async && !q->chores ? 1 : q->max_threads) &&
		   emi_thread_start(&q->thread[q->threads], q->stack, worker, q) == 0) {
		q->threads++;
	}
	return q->threads > 0;
}

void emi_queue_rouse(emi_queue *q)
{
	if (q->napping && q->calls == 0 && q->queued > 0) {
		q->calls++;
		pthread_cond_signal(&q->work);
	}
}

void emi_queue_kick(emi_queue *q)
{
	emi_request *rq;

	if (q->async)
		emi_async_pump(q);
	if (emi_queue_call_worker(q))
		return;
	while ((rq = emi_queue_take_chore(q)) != NULL || (!q->async && (rq = emi_queue_take(q)) != NULL))
		emi_queue_run(q, rq);
	/* What it runs may submit and finish more: that comes back here, and is left to this loop. */
	if (q->alone)
		return;
	q->alone = 1;
	while (emi_queue_wants_reaper(q) && emi_async_help(q, -1))
		continue;
	q->alone = 0;
}
