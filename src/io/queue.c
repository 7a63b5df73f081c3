/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue.c -- the queue of a file: its lists, its workers, and waiting.
 *
 * Requests go to the lists and are taken off by workers, threads that call the backend's read and write.
 * Writes come first: a buffer whose write is delayed is missing where the next block should go, while a read that
 * is needed now is run by the thread that waits for it.  For that is what a waiter does when its request is still
 * on a list: it takes it and runs it.  So a read followed at once by a wait needs no second thread.
 *
 * Workers are started one by one, when there is more to do than idle workers to do it.  Their stacks
 * are small, and counted when the file is opened, so that starting them cannot exceed the budget.  If none can be started
 * the submitting thread makes the transfer itself: slower, not wrong.
 *
 * Giving space back is a request, too, and always a worker's: it may take as long as many transfers.
 *
 * When the backend offers asynchronous transfers and enough was moved to make them worth while, the lists are
 * only for what exceeds the depth; see queue_async.c.  Then waiters collect what is done, and one worker does it when
 * nobody waits and something is on the lists.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/queue.h"

/* How many are on the list of such requests, together with others that are done by the same. */
static uint32_t *length(emi_queue *q, emi_request_kind kind)
{
	return kind == EMI_DISCARD ? &q->chores : &q->queued;
}

static void append(emi_queue *q, emi_request *rq)
{
	const emi_request_kind kind = rq->kind;

	rq->next = NULL;
	if (q->tail[kind])
		q->tail[kind]->next = rq;
	else
		q->head[kind] = rq;
	q->tail[kind] = rq;
	++*length(q, kind);
}

void emi_queue_put_back(emi_queue *q, emi_request *rq)
{
	const emi_request_kind kind = rq->kind;

	rq->next = q->head[kind];
	q->head[kind] = rq;
	if (!q->tail[kind])
		q->tail[kind] = rq;
	q->queued++;
}

static emi_request *take(emi_queue *q, emi_request_kind kind)
{
	emi_request *rq = q->head[kind];

	if (!rq)
		return NULL;
	q->head[kind] = rq->next;
	if (!rq->next)
		q->tail[kind] = NULL;
	--*length(q, kind);
	return rq;
}

emi_request *emi_queue_take(emi_queue *q)
{
	return take(q, q->head[EMI_WRITE] ? EMI_WRITE : EMI_READ);
}

int emi_queue_unlink(emi_queue *q, emi_request *rq)
{
	const emi_request_kind kind = rq->kind;
	emi_request *before = NULL, *at;

	for (at = q->head[kind]; at && at != rq; at = at->next)
		before = at;
	if (!at)
		return 0;
	if (before)
		before->next = rq->next;
	else
		q->head[kind] = rq->next;
	if (q->tail[kind] == rq)
		q->tail[kind] = before;
	--*length(q, kind);
	return 1;
}

static void count(const emi_request *rq)
{
	emi_io_stats *s = rq->stats;

	if (!s)
		return;
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->ios_written : &s->ios_read, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->bytes_written : &s->bytes_read, rq->done, __ATOMIC_RELAXED);
}

void emi_queue_complete(em_file *f, emi_request *rq)
{
	count(rq);
	/* From here on rq may be gone. */
	__atomic_store_n(&rq->state, EMI_DONE, __ATOMIC_RELEASE);
	f->queue.pending--;
	if (f->queue.waiters > 0)
		pthread_cond_broadcast(&f->queue.done);
}

void emi_queue_run(em_file *f, emi_request *rq)
{
	pthread_mutex_unlock(&f->queue.lock);
	emi_request_run(f, rq);
	pthread_mutex_lock(&f->queue.lock);
	emi_queue_complete(f, rq);
}

static void *worker(void *arg)
{
	em_file *f = arg;
	emi_queue *q = &f->queue;
	emi_request *rq;

	pthread_mutex_lock(&q->lock);
	while (!q->quit) {
		if ((rq = take(q, EMI_DISCARD)) != NULL) {
			emi_queue_run(f, rq);
			continue;
		}
		if (q->async) {
			if (q->queued > 0 && q->waiters == 0 && emi_async_help(f, -1))
				continue;
		} else if ((rq = emi_queue_take(q)) != NULL) {
			emi_queue_run(f, rq);
			continue;
		}
		q->idle++;
		pthread_cond_wait(&q->work, &q->lock);
		q->idle--;
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Start a thread that no signal of the program reaches. */
static int start_thread(pthread_t *thread, em_file *f, size_t stack)
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
			e = pthread_create(thread, &attr, worker, f);
		stack *= 4;
	} while (e == EINVAL && stack <= (1u << 20));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return e;
}

int emi_queue_call_worker(em_file *f)
{
	emi_queue *q = &f->queue;
	uint32_t wanted = (q->async ? q->queued > 0 : q->queued) + q->chores;

	if (q->idle < wanted && q->threads < (q->async && !q->chores ? 1 : q->max_threads) &&
	    start_thread(&q->thread[q->threads], f, q->stack) == 0)
		q->threads++;
	if (q->idle > 0)
		pthread_cond_signal(&q->work);
	return q->threads > 0;
}

void emi_queue_submit(em_file *f, emi_request *rq)
{
	emi_queue *q = &f->queue;

	pthread_mutex_lock(&q->lock);
	append(q, rq);
	q->pending++;
	if (rq->kind == EMI_DISCARD) {
		if (!emi_queue_call_worker(f) && emi_queue_unlink(q, rq))
			emi_queue_run(f, rq);
		pthread_mutex_unlock(&q->lock);
		return;
	}
	if (q->may_async && !q->async && q->volume >= q->async_from)
		q->async = 1;
	q->volume += rq->bytes;
	if (q->async)
		emi_async_pump(f);
	else if (!emi_queue_call_worker(f) && emi_queue_unlink(q, rq))
		emi_queue_run(f, rq);
	pthread_mutex_unlock(&q->lock);
}

static int finished(const emi_queue *q, const emi_request *rq)
{
	if (!rq)
		return q->pending == 0;
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

/* What one who waits for rq should run: rq, if nobody has begun.  A wait with a deadline must not get stuck in a
 * transfer, unless there is nobody else to make it. */
static emi_request *to_run(emi_queue *q, emi_request *rq, double deadline)
{
	if (!rq)
		return q->threads == 0 && !q->async ? emi_queue_take(q) : NULL;
	return (deadline < 0 || (q->threads == 0 && !q->async)) && emi_queue_unlink(q, rq) ? rq : NULL;
}

int emi_queue_wait(em_file *f, emi_request *rq, double deadline)
{
	emi_queue *q = &f->queue;
	emi_request *mine;
	int is_done;

	pthread_mutex_lock(&q->lock);
	q->waiters++;
	while (!(is_done = finished(q, rq))) {
		int64_t timeout = -1;

		if (deadline >= 0) {
			double left = deadline - emi_now();

			if (left <= 0)
				break;
			timeout = (int64_t)(left * 1e9) + 1;
		}
		mine = to_run(q, rq, deadline);
		if (mine)
			emi_queue_run(f, mine);
		else if (!emi_async_help(f, timeout))
			sleep_until(q, deadline);
	}
	q->waiters--;
	if (q->quit)
		pthread_cond_broadcast(&q->done);
	else if (q->queued > 0 && q->async && q->waiters == 0)
		emi_queue_call_worker(f);
	pthread_mutex_unlock(&q->lock);
	return is_done;
}

void emi_queue_poll(em_file *f)
{
	emi_queue *q = &f->queue;

	pthread_mutex_lock(&q->lock);
	emi_async_help(f, 0);
	pthread_mutex_unlock(&q->lock);
}

static size_t stack_size(const em_backend *be)
{
	size_t page = EMI_PAGE, least = be->stack ? be->stack : EMI_IO_STACK;
	long floor = sysconf(_SC_THREAD_STACK_MIN);

	if (floor > 0 && (size_t)floor > least)
		least = (size_t)floor;
	return (least + page - 1) / page * page;
}

/* Workers of a file: fewer when the memory is so small that their stacks matter. */
static uint32_t most_threads(const em_ctx *ctx, const em_backend *be)
{
	uint64_t n = be->threads ? be->threads : EMI_IO_THREADS, fit = ctx->memory / 64 / stack_size(be);

	if (n > fit)
		n = fit;
	if (n > EMI_IO_THREADS_MAX)
		n = EMI_IO_THREADS_MAX;
	return n ? (uint32_t)n : 1;
}

uint32_t emi_queue_depth(const em_ctx *ctx, const em_backend *be)
{
	uint32_t depth = ctx->queue_depth ? ctx->queue_depth : be->depth ? be->depth : EMI_IO_DEPTH;

	return depth < EMI_IO_DEPTH_MAX ? depth : EMI_IO_DEPTH_MAX;
}

uint64_t emi_queue_memory(const em_ctx *ctx, const em_backend *be)
{
	return (uint64_t)most_threads(ctx, be) * stack_size(be) + (uint64_t)emi_queue_depth(ctx, be) * sizeof(emi_slot);
}

static em_status make_slots(em_file *f, const em_backend_open *how, em_errinfo *err)
{
	emi_queue *q = &f->queue;
	uint32_t i;

	q->slots = emi_alloc_array(f->ctx, how->depth, sizeof *q->slots, err);
	if (!q->slots)
		return err->status;
	q->depth = how->depth;
	for (i = 0; i < q->depth; i++) {
		q->slots[i].next = q->free;
		q->free = &q->slots[i];
	}
	q->may_async = 1;
	q->async_from = how->async_from;
	/* Threads serve only its beginning and what exceeds the depth. */
	if (q->max_threads > 2)
		q->max_threads = 2;
	return EM_OK;
}

em_status emi_queue_open(em_file *f, const em_backend_open *how, em_errinfo *err)
{
	emi_queue *q = &f->queue;
	pthread_condattr_t attr;
	em_status status;

	q->stack = stack_size(f->be);
	q->max_threads = most_threads(f->ctx, f->be);
	if (how->async && f->be->submit && f->be->reap) {
		status = make_slots(f, how, err);
		if (status != EM_OK)
			return status;
	}
	/* The stacks come from libc; their size is taken from the budget now, so that starting a thread cannot exceed it. */
	status = emi_memory_take(f->ctx, (uint64_t)q->max_threads * q->stack, err);
	if (status != EM_OK) {
		if (q->slots)
			emi_free_array(f->ctx, q->slots, q->depth, sizeof *q->slots);
		return status;
	}
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->done, &attr);
	pthread_condattr_destroy(&attr);
	return EM_OK;
}

/* No request, no waiter and no worker are left behind. */
static void shut_down(em_file *f)
{
	emi_queue *q = &f->queue;
	uint32_t i;

	emi_queue_wait(f, NULL, -1.0);
	pthread_mutex_lock(&q->lock);
	q->quit = 1;
	while (q->waiters > 0)
		pthread_cond_wait(&q->done, &q->lock);
	pthread_cond_broadcast(&q->work);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < q->threads; i++)
		pthread_join(q->thread[i], NULL);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->done);
}

void emi_queue_close(em_file *f, int forked)
{
	emi_queue *q = &f->queue;

	/* In a child the workers do not exist, and the lock may be held by one of them. */
	if (!forked)
		shut_down(f);
	emi_memory_drop(f->ctx, (uint64_t)q->max_threads * q->stack);
	if (q->slots)
		emi_free_array(f->ctx, q->slots, q->depth, sizeof *q->slots);
}
