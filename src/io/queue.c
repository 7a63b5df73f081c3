/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue.c -- the queue of a disk: its lists, its workers, and what happens when a request is done.
 *
 * Requests go to the lists and are taken off by workers, threads that call the backend's read and write.
 * By default writes come first: a buffer whose write is delayed is missing where the next block should go, while a read that
 * is needed now is run by the thread that waits for it.  For that is what a waiter does when its request is still
 * on a list: it takes it and runs it.  So a read followed at once by a wait needs no second thread.
 *
 * A request that has bytes in common with an earlier one, one of them a write, is on no list: it is linked to that one, and looked at again when
 * that one is done.  It waits for one at a time, always for an earlier one, so nobody waits in a circle.
 *
 * Workers are started one by one, when there is more to do than idle workers to do it.  Their stacks
 * are small, and counted when the queue is made, so that starting them cannot exceed the budget.  If none can be started
 * whoever submits or finishes something makes the transfers itself: slower, not wrong.
 *
 * When the backend offers asynchronous transfers and enough was moved to make them worth while, the lists are
 * only for what exceeds the depth; see queue_async.c.  Then waiters collect what is done, and one worker does it when
 * nobody waits and there is something on the lists, or something in flight that has a function to be called.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/context.h"
#include "io/queue.h"

static unsigned list_of(const emi_request *rq)
{
	if (emi_request_is_chore(rq))
		return EMI_LIST_CHORE;
	return rq->kind == EMI_WRITE ? EMI_LIST_WRITE : EMI_LIST_READ;
}

/* How many are on the list, together with others that are done by the same. */
static uint32_t *length(emi_queue *q, unsigned list)
{
	return list == EMI_LIST_CHORE ? &q->chores : &q->queued;
}

static void append(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);

	rq->next = NULL;
	if (q->tail[list])
		q->tail[list]->next = rq;
	else
		q->head[list] = rq;
	q->tail[list] = rq;
	rq->listed = 1;
	++*length(q, list);
}

static emi_request *take(emi_queue *q, unsigned list)
{
	emi_request *rq = q->head[list];

	if (!rq)
		return NULL;
	q->head[list] = rq->next;
	if (!rq->next)
		q->tail[list] = NULL;
	rq->listed = 0;
	--*length(q, list);
	return rq;
}

/* The list whose turn it is. */
static unsigned first_list(const emi_queue *q)
{
	const emi_request *r = q->head[EMI_LIST_READ], *w = q->head[EMI_LIST_WRITE];

	if (!r || !w)
		return r ? EMI_LIST_READ : EMI_LIST_WRITE;
	if (q->ctx->priority == EM_PRIORITY_NONE)
		return r->range.seq < w->range.seq ? EMI_LIST_READ : EMI_LIST_WRITE;
	return q->ctx->priority == EM_PRIORITY_READ ? EMI_LIST_READ : EMI_LIST_WRITE;
}

emi_request *emi_queue_take(emi_queue *q)
{
	return take(q, first_list(q));
}

emi_request *emi_queue_pick(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);
	emi_request *before = NULL, *at = q->head[list];

	for (; at != rq; at = at->next)
		before = at;
	if (before)
		before->next = rq->next;
	else
		q->head[list] = rq->next;
	if (q->tail[list] == rq)
		q->tail[list] = before;
	rq->listed = 0;
	--*length(q, list);
	return rq;
}

/* Is it counted and timed?  Giving space back is not. */
static int metered(const emi_request *rq)
{
	return rq->kind != EMI_DISCARD;
}

static void meter_back(emi_queue *q, const emi_request *rq)
{
	const int write = rq->kind == EMI_WRITE;
	const uint64_t now = emi_now_ns();

	pthread_mutex_lock(&q->ctx->io_lock);
	emi_meter_back(&rq->file->meter, write, now);
	emi_meter_back(&q->meter, write, now);
	emi_meter_back(&q->ctx->meter, write, now);
	pthread_mutex_unlock(&q->ctx->io_lock);
}

void emi_queue_put_back(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);

	meter_back(q, rq);
	rq->begun = 0;
	rq->next = q->head[list];
	q->head[list] = rq;
	if (!q->tail[list])
		q->tail[list] = rq;
	rq->listed = 1;
	++*length(q, list);
}

void emi_queue_begin(emi_queue *q, emi_request *rq, uint64_t now)
{
	const int write = rq->kind == EMI_WRITE;

	rq->begun = now;
	if (!metered(rq))
		return;
	pthread_mutex_lock(&q->ctx->io_lock);
	emi_meter_begin(&rq->file->meter, write, now);
	emi_meter_begin(&q->meter, write, now);
	emi_meter_begin(&q->ctx->meter, write, now);
	pthread_mutex_unlock(&q->ctx->io_lock);
}

static void meter_submit(emi_queue *q, emi_request *rq)
{
	rq->begun = 0;
	if (!metered(rq))
		return;
	pthread_mutex_lock(&q->ctx->io_lock);
	emi_meter_submit(&rq->file->meter);
	emi_meter_submit(&q->meter);
	emi_meter_submit(&q->ctx->meter);
	pthread_mutex_unlock(&q->ctx->io_lock);
}

static void end(emi_meter *m, const emi_request *rq, uint64_t now)
{
	if (rq->begun == 0)
		emi_meter_leave(m);
	else
		emi_meter_end(m, rq->kind == EMI_WRITE, rq->done, rq->begun, now);
}

static void meter_end(emi_queue *q, const emi_request *rq)
{
	const uint64_t now = emi_now_ns();

	if (!metered(rq))
		return;
	pthread_mutex_lock(&q->ctx->io_lock);
	end(&rq->file->meter, rq, now);
	end(&q->meter, rq, now);
	end(&q->ctx->meter, rq, now);
	pthread_mutex_unlock(&q->ctx->io_lock);
}

static void count(const emi_request *rq)
{
	emi_io_stats *s = rq->stats;

	if (!s)
		return;
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->ios_written : &s->ios_read, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->bytes_written : &s->bytes_read, rq->done, __ATOMIC_RELAXED);
}

static void call(emi_queue *q, emi_request *rq)
{
	emi_calling me, **at;

	me.thread = pthread_self();
	me.next = q->calling;
	q->calling = &me;
	pthread_mutex_unlock(&q->lock);
	rq->fn(rq, rq->user);
	pthread_mutex_lock(&q->lock);
	for (at = &q->calling; *at != &me; at = &(*at)->next)
		continue;
	*at = me.next;
}

static emi_request *request_of(emi_range *r)
{
	return r ? (emi_request *)(void *)((char *)r - offsetof(emi_request, range)) : NULL;
}

/* Let rq go to the lists, or link it to one that it has to wait for. */
static void admit(emi_queue *q, emi_request *rq)
{
	emi_request *b = rq->kind == EMI_DISCARD ? NULL : request_of(emi_overlap_find(rq->file->ranges, &rq->range));

	rq->blocker = b;
	if (b) {
		rq->next = b->waiting;
		b->waiting = rq;
	} else {
		append(q, rq);
	}
}

/* Those that waited for rq are looked at again, in the order of their coming. */
static void unblock(emi_queue *q, emi_request *rq)
{
	emi_request *list = rq->waiting, *reversed = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = reversed;
		reversed = list;
	}
	for (; reversed; reversed = next) {
		next = reversed->next;
		admit(q, reversed);
	}
	rq->waiting = NULL;
}

/* Wake those that wait for any of several. */
static void tell_watchers(em_ctx *ctx)
{
	if (__atomic_load_n(&ctx->io_watchers, __ATOMIC_SEQ_CST) == 0)
		return;
	pthread_mutex_lock(&ctx->io_lock);
	pthread_cond_broadcast(&ctx->io_done);
	pthread_mutex_unlock(&ctx->io_lock);
}

/* f was left, and has no requests. */
static void bury(emi_queue *q, em_file *f)
{
	f->next_left = q->left;
	q->left = f;
}

void emi_queue_complete(emi_queue *q, emi_request *rq)
{
	em_file *f = rq->file;
	const emi_request_fn drop = rq->drop;

	count(rq);
	meter_end(q, rq);
	if (rq->fn)
		call(q, rq);
	if (rq->fn || rq->watched == EMI_WATCHED)
		q->unattended--;
	if (rq->kind != EMI_DISCARD)
		emi_overlap_remove(&f->ranges, &rq->range);
	unblock(q, rq);
	/* From here on rq may be gone, unless it has a drop of its own. */
	__atomic_store_n(&rq->state, EMI_DONE, __ATOMIC_SEQ_CST);
	if (drop) {
		pthread_mutex_unlock(&q->lock);
		drop(rq, rq->user);
		pthread_mutex_lock(&q->lock);
	}
	f->pending--;
	if (f->left && f->pending == 0)
		bury(q, f);
	if (q->waiters > 0)
		pthread_cond_broadcast(&q->done);
	tell_watchers(q->ctx);
}

void emi_queue_run(emi_queue *q, emi_request *rq)
{
	emi_queue_begin(q, rq, emi_now_ns());
	pthread_mutex_unlock(&q->lock);
	emi_request_run(rq);
	pthread_mutex_lock(&q->lock);
	emi_queue_complete(q, rq);
}

/* Release the lock, and close the files that were left.  The queue may be gone afterwards, unless a worker calls. */
static void leave(emi_queue *q)
{
	em_file *f = q->left, *next;

	q->left = NULL;
	pthread_mutex_unlock(&q->lock);
	for (; f; f = next) {
		next = f->next_left;
		emi_file_finish(f);
	}
}

/* Does a worker have to collect what is in flight? */
static int wants_reaper(const emi_queue *q)
{
	return q->async && (q->queued > 0 || q->unattended > 0) && q->waiters == 0;
}

/* One thing that there is to do: 0 when there is none. */
static int work(emi_queue *q)
{
	emi_request *rq = take(q, EMI_LIST_CHORE);

	if (!rq && !q->async)
		rq = emi_queue_take(q);
	if (!rq)
		return wants_reaper(q) && emi_async_help(q, -1);
	emi_queue_run(q, rq);
	/* What it blocked may be more than this thread can do. */
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
	return 1;
}

static void *worker(void *arg)
{
	emi_queue *q = arg;
	int orphan;

	pthread_mutex_lock(&q->lock);
	while (!q->quit) {
		if (q->left) {
			leave(q);
			pthread_mutex_lock(&q->lock);
		} else if (!work(q)) {
			q->idle++;
			pthread_cond_wait(&q->work, &q->lock);
			q->idle--;
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

/* Start a thread that no signal of the program reaches. */
static int start_thread(pthread_t *thread, emi_queue *q, size_t stack)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int e;

	e = pthread_attr_init(&attr);
	if (e != 0)
		return e;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* A program with much thread-local storage needs more than we do. */
	do {
		e = pthread_attr_setstacksize(&attr, stack);
		if (e == 0)
			e = pthread_create(thread, &attr, worker, q);
		stack *= 4;
	} while (e == EINVAL && stack <= (1u << 20));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return e;
}

int emi_queue_call_worker(emi_queue *q)
{
	uint32_t wanted = (q->async ? (uint32_t)wants_reaper(q) : q->queued) + q->chores;

	if (q->idle < wanted && q->threads < (q->async && !q->chores ? 1 : q->max_threads) &&
	    start_thread(&q->thread[q->threads], q, q->stack) == 0)
		q->threads++;
	if (q->idle > 0 && wanted > 0)
		pthread_cond_signal(&q->work);
	return q->threads > 0;
}

void emi_queue_kick(emi_queue *q)
{
	emi_request *rq;

	if (q->async)
		emi_async_pump(q);
	if (emi_queue_call_worker(q))
		return;
	while ((rq = take(q, EMI_LIST_CHORE)) != NULL || (!q->async && (rq = emi_queue_take(q)) != NULL))
		emi_queue_run(q, rq);
}

/* Asynchronous transfers are used from now on, if enough was moved and they can be had. */
static void consider_async(emi_queue *q)
{
	int e;

	if (!q->may_async || q->async || q->volume < q->async_from)
		return;
	e = q->be->open_channel(q->be->user, q->depth, &q->channel);
	q->async = e == 0;
	if (e == 0)
		return;
	q->may_async = 0;
	/* The file of the request that is about to be submitted keeps the queue. */
	pthread_mutex_unlock(&q->lock);
	emi_log(q->ctx, EM_LOG_INFO, "%s: threads make the transfers: %s cannot be used (errno %d)", q->name, q->be->name, e);
	pthread_mutex_lock(&q->lock);
}

/* Number a request and count it. */
static void enlist(emi_queue *q, emi_request *rq)
{
	rq->range.seq = ++q->seq;
	rq->listed = 0;
	rq->file->pending++;
	q->unattended += rq->fn != NULL;
	q->volume += rq->kind == EMI_DISCARD ? 0 : rq->bytes;
	meter_submit(q, rq);
}

void emi_queue_submit(emi_request *rq)
{
	em_file *f = rq->file;
	emi_queue *q = f->queue;

	pthread_mutex_lock(&q->lock);
	consider_async(q);
	enlist(q, rq);
	admit(q, rq);
	if (rq->kind != EMI_DISCARD)
		emi_overlap_add(&f->ranges, &rq->range);
	if (rq->listed)
		emi_queue_kick(q);
	leave(q);
}

int emi_queue_run_now(emi_request *rq)
{
	em_file *f = rq->file;
	emi_queue *q = f->queue;

	pthread_mutex_lock(&q->lock);
	rq->range.seq = q->seq + 1;
	if (emi_overlap_find(f->ranges, &rq->range)) {
		pthread_mutex_unlock(&q->lock);
		return 0;
	}
	enlist(q, rq);
	emi_overlap_add(&f->ranges, &rq->range);
	emi_queue_run(q, rq);
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
	leave(q);
	return 1;
}

int emi_queue_cancel(emi_request *rq)
{
	emi_queue *q = rq->file->queue;
	emi_request **at;
	int found = 0;

	pthread_mutex_lock(&q->lock);
	if (rq->listed) {
		emi_queue_pick(q, rq);
		found = 1;
	} else if (rq->blocker) {
		for (at = &rq->blocker->waiting; *at != rq; at = &(*at)->next)
			continue;
		*at = rq->next;
		rq->blocker = NULL;
		found = 1;
	}
	if (found) {
		rq->status = EM_ERR_CANCELED;
		emi_queue_complete(q, rq);
		if (q->queued + q->chores > 0)
			emi_queue_kick(q);
	}
	leave(q);
	return found;
}

int emi_queue_leave(em_file *f)
{
	emi_queue *q = f->queue;
	const emi_calling *c;

	pthread_mutex_lock(&q->lock);
	for (c = q->calling; c && !pthread_equal(c->thread, pthread_self()); c = c->next)
		continue;
	if (c) {
		f->left = 1;
		if (f->pending == 0)
			bury(q, f);
	}
	pthread_mutex_unlock(&q->lock);
	return c != NULL;
}

/* What one who waits for rq should run: rq, if nobody has begun.  A wait with a deadline must not get stuck in a
 * transfer, unless there is nobody else to make it. */
static emi_request *to_run(emi_queue *q, emi_request *rq, double deadline)
{
	const int alone = q->threads == 0 && !q->async;

	if (!rq)
		return alone ? emi_queue_take(q) : NULL;
	if (!rq->listed || (deadline >= 0 && !alone))
		return NULL;
	return emi_queue_pick(q, rq);
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
	struct timespec t;

	if (deadline < 0) {
		pthread_cond_wait(&q->done, &q->lock);
		return;
	}
	t.tv_sec = (time_t)deadline;
	t.tv_nsec = (long)((deadline - (double)t.tv_sec) * 1e9);
	pthread_cond_timedwait(&q->done, &q->lock, &t);
}

static void count_wait(emi_queue *q, const emi_request *rq, uint64_t ns)
{
	const int write = rq->kind == EMI_WRITE;

	if (!metered(rq))
		return;
	emi_meter_wait(&rq->file->meter, write, ns);
	emi_meter_wait(&q->meter, write, ns);
	emi_meter_wait(&q->ctx->meter, write, ns);
	if (rq->stats)
		__atomic_fetch_add(&rq->stats->wait_ns, ns, __ATOMIC_RELAXED);
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
			sleep_until(q, deadline);
		}
	}
	q->waiters--;
	if (rq && begin != 0)
		count_wait(q, rq, emi_now_ns() - begin);
	if (q->quit)
		pthread_cond_broadcast(&q->done);
	else if (wants_reaper(q))
		emi_queue_call_worker(q);
	leave(q);
	return is_done;
}

int emi_queue_watch(emi_request *rq, int on)
{
	emi_queue *q = rq->file->queue;
	int attended = 1;

	pthread_mutex_lock(&q->lock);
	if (on) {
		q->guests++;
		if (!rq->fn && !finished(rq->file, rq)) {
			rq->watched = EMI_WATCHED;
			q->unattended++;
		}
		attended = finished(rq->file, rq) || emi_queue_call_worker(q) || !q->async;
	} else {
		if (rq->watched == EMI_WATCHED && !finished(rq->file, rq))
			q->unattended--;
		rq->watched = 0;
		if (--q->guests == 0 && q->quit)
			pthread_cond_broadcast(&q->done);
	}
	leave(q);
	return attended;
}

void emi_queue_poll(emi_queue *q)
{
	pthread_mutex_lock(&q->lock);
	emi_async_help(q, 0);
	leave(q);
}
