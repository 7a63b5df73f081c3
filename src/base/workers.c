/* SPDX-License-Identifier: BSL-1.0 */
/*
 * workers.c -- the threads of a context that compute.
 *
 * One queue under one mutex.  Tasks are coarse (milliseconds of sorting or merging), so neither stealing nor
 * lock-free queues would pay.  A worker sleeps on `work` until there is a task; who waits for a task runs
 * what is queued and then sleeps on `finished`.  All who sleep there are told of it after every task, as each waits for
 * his own.
 *
 * `open' is counted down under the mutex as the last thing anybody does to a task, so its owner may reuse its
 * storage as soon as emi_task_wait() returns.  Nobody waits inside a task, hence a thread that
 * helps comes back, and a queue without threads is emptied by those who wait.  So a thread that the system does not
 * let us start is done without.
 *
 * After a fork the child has neither the threads nor a mutex that it may touch: it is in whatever state another thread
 * left it.  There emi_task_wait() returns at once and stopping only frees memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/condition.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/workers.h"

#define STACK_SHARE 8u           /* stacks take at most this part of the memory */

struct emi_workers {
	pthread_mutex_t lock;    /* guards everything below */
	pthread_cond_t work;     /* there is a task, or stop */
	pthread_cond_t finished; /* a task is done */
	emi_task *head;          /* queued tasks, oldest first */
	emi_task *tail;
	uint32_t sleepers;       /* on finished */
	int stop;
	uint32_t started;        /* threads, never fewer than before; changed with the context's lock, atomic */
	uint32_t refused;        /* the system lets us have no more of them; atomic */
	uint32_t room;           /* entries of threads */
	pthread_t threads[];
};

static struct emi_workers *workers_of(const em_ctx *ctx)
{
	return __atomic_load_n(&ctx->workers, __ATOMIC_ACQUIRE);
}

static size_t workers_bytes(uint32_t threads)
{
	return sizeof(struct emi_workers) + threads * sizeof(pthread_t);
}

/* Threads beside the calling one that a context may have. */
static uint32_t most_others(const em_ctx *ctx)
{
	return ctx->threads > 1 ? ctx->threads - 1 : 0;
}

static uint32_t started(const struct emi_workers *workers)
{
	return workers != NULL ? __atomic_load_n(&workers->started, __ATOMIC_ACQUIRE) : 0;
}

/* Threads that have to be started so that there are so many with the calling one. */
static uint32_t missing(const em_ctx *ctx, uint32_t threads)
{
	const uint32_t most = most_others(ctx), want = threads == 0 ? 0 : threads - 1 < most ? threads - 1 : most;
	const struct emi_workers *workers = workers_of(ctx);
	const uint32_t have = started(workers);

	if (want <= have || (workers != NULL && __atomic_load_n(&workers->refused, __ATOMIC_RELAXED) != 0))
		return 0;
	return want - have;
}

/* Take the oldest task and run it, once, without the lock, which is held on entry and on return. */
static void run_oldest(struct emi_workers *workers)
{
	emi_task *task = workers->head;

	if (--task->queued == 0) {
		workers->head = task->next;
		if (workers->head == NULL)
			workers->tail = NULL;
	}
	pthread_mutex_unlock(&workers->lock);
	task->fn(task->arg);
	pthread_mutex_lock(&workers->lock);
	if (--task->open == 0 && workers->sleepers > 0)
		pthread_cond_broadcast(&workers->finished);
}

static void *worker(void *arg)
{
	struct emi_workers *workers = arg;

	emi_thread_enter();
	pthread_mutex_lock(&workers->lock);
	for (;;) {
		if (workers->head != NULL)
			run_oldest(workers);
		else if (workers->stop)
			break;
		else
			pthread_cond_wait(&workers->work, &workers->lock);
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

static int init_sync(struct emi_workers *workers)
{
	int error = pthread_mutex_init(&workers->lock, NULL);

	if (error != 0)
		return error;
	error = pthread_cond_init(&workers->work, NULL);
	if (error != 0)
		goto no_work;
	error = emi_cond_init(&workers->finished);
	if (error != 0)
		goto no_finished;
	return 0;

no_finished:
	pthread_cond_destroy(&workers->work);
no_work:
	pthread_mutex_destroy(&workers->lock);
	return error;
}

static void join_threads(struct emi_workers *workers)
{
	uint32_t i;

	pthread_mutex_lock(&workers->lock);
	workers->stop = 1;
	pthread_cond_broadcast(&workers->work);
	pthread_mutex_unlock(&workers->lock);
	for (i = 0; i < workers->started; i++)
		pthread_join(workers->threads[i], NULL);
}

static void destroy_sync(struct emi_workers *workers)
{
	pthread_cond_destroy(&workers->finished);
	pthread_cond_destroy(&workers->work);
	pthread_mutex_destroy(&workers->lock);
}

/* Start so many more threads, or as many as the system lets us have: the others' work is done by those that there are,
 * at last by who waits for it. */
static void start_threads(em_ctx *ctx, struct emi_workers *workers, uint32_t wanted)
{
	const size_t stack = emi_thread_stack((size_t)EMI_STACK_BYTES);
	int error = 0;

	while (error == 0 && wanted > 0) {
		error = emi_thread_start(&workers->threads[workers->started], stack, worker, workers);
		wanted--;
		if (error == 0)
			__atomic_store_n(&workers->started, workers->started + 1, __ATOMIC_RELEASE);
	}
	if (error == 0)
		return;
	__atomic_store_n(&workers->refused, 1, __ATOMIC_RELAXED);
	emi_log(ctx, EM_LOG_INFO,
		"%" PRIu32 " of %" PRIu32 " threads could be started (errno %d): they do the work of the others",
		workers->started + 1, workers->started + wanted + 2, error);
}

/* Make what they share, without threads yet; with ctx->lock. */
static em_status make_workers(em_ctx *ctx, em_errinfo *err)
{
	const uint32_t room = most_others(ctx);
	struct emi_workers *workers = emi_alloc(ctx, workers_bytes(room), err);

	if (workers == NULL)
		return err->status;
	workers->room = room;
	if (init_sync(workers) != 0) {
		emi_free(ctx, workers, workers_bytes(room));
		return emi_fail(err, EM_ERR_NOMEM, "out of memory: cannot make a mutex");
	}
	__atomic_store_n(&ctx->workers, workers, __ATOMIC_RELEASE);
	return EM_OK;
}

/* Have the threads that are missing; with ctx->lock.  Those that could be started stay, whatever happens to the
 * others. */
static em_status add_threads(em_ctx *ctx, uint32_t threads, em_errinfo *err)
{
	const uint32_t more = missing(ctx, threads), before = started(ctx->workers);
	em_status st = emi_memory_take(ctx, more * EMI_STACK_BYTES, err);

	if (st != EM_OK)
		return st;
	if (ctx->workers == NULL)
		st = make_workers(ctx, err);
	if (st == EM_OK)
		start_threads(ctx, ctx->workers, more);
	emi_memory_drop(ctx, (more - (started(ctx->workers) - before)) * EMI_STACK_BYTES);
	return st;
}

em_status emi_workers_reach(em_ctx *ctx, uint32_t threads, em_errinfo *err)
{
	em_errinfo own;
	em_status st;

	if (err == NULL || err->status < EM_OK) {
		memset(&own, 0, sizeof(own));
		err = &own;
	}
	st = emi_ctx_check(ctx, err);
	if (st != EM_OK || missing(ctx, threads) == 0)
		return st;
	pthread_mutex_lock(&ctx->lock);
	st = add_threads(ctx, threads, err);
	pthread_mutex_unlock(&ctx->lock);
	return st;
}

em_status emi_workers_start(em_ctx *ctx, em_errinfo *err)
{
	return emi_workers_reach(ctx, ctx->threads, err);
}

uint32_t emi_workers_fed(const em_ctx *ctx, uint64_t each)
{
	const uint64_t most = 1 + em_ctx_memory(ctx) / STACK_SHARE / (EMI_STACK_BYTES + each);

	return most < ctx->threads ? (uint32_t)most : ctx->threads;
}

uint64_t emi_workers_memory(const em_ctx *ctx, uint32_t threads)
{
	const uint32_t more = missing(ctx, threads);

	return more == 0 ? 0 : more * EMI_STACK_BYTES + (workers_of(ctx) == NULL ? workers_bytes(most_others(ctx)) : 0);
}

void emi_workers_stop(em_ctx *ctx)
{
	struct emi_workers *workers = ctx->workers;
	uint32_t threads;

	if (workers == NULL)
		return;
	if (!emi_ctx_forked(ctx)) {
		join_threads(workers);
		destroy_sync(workers);
	}
	threads = workers->started;
	ctx->workers = NULL;
	emi_free(ctx, workers, workers_bytes(workers->room));
	emi_memory_drop(ctx, threads * EMI_STACK_BYTES);
}

int emi_in_worker(const em_ctx *ctx)
{
	const struct emi_workers *workers = workers_of(ctx);
	const pthread_t self = pthread_self();
	uint32_t i;

	for (i = 0; i < started(workers); i++)
		if (pthread_equal(self, workers->threads[i]))
			return 1;
	return 0;
}

/* Queue a task that is to be run `times' times, several of them at once. */
static void submit(em_ctx *ctx, emi_task *task, void (*fn)(void *arg), void *arg, uint32_t times)
{
	struct emi_workers *workers = workers_of(ctx);

	task->fn = fn;
	task->arg = arg;
	task->next = NULL;
	task->queued = task->open = times;
	if (workers == NULL) {
		/* Nobody asked for threads: it is done here and now. */
		for (; task->open > 0; task->open--)
			fn(arg);
		return;
	}
	if (times == 0)
		return;
	pthread_mutex_lock(&workers->lock);
	if (workers->tail != NULL)
		workers->tail->next = task;
	else
		workers->head = task;
	workers->tail = task;
	while (times-- > 0)
		pthread_cond_signal(&workers->work);
	pthread_mutex_unlock(&workers->lock);
}

void emi_task_submit(em_ctx *ctx, emi_task *task, void (*fn)(void *arg), void *arg)
{
	submit(ctx, task, fn, arg, 1);
}

void emi_task_wait(em_ctx *ctx, emi_task *task)
{
	struct emi_workers *workers = workers_of(ctx);

	if (workers == NULL || emi_ctx_forked(ctx))
		return;
	pthread_mutex_lock(&workers->lock);
	while (task->open > 0) {
		if (workers->head != NULL) {
			run_oldest(workers);
		} else {
			workers->sleepers++;
			pthread_cond_wait(&workers->finished, &workers->lock);
			workers->sleepers--;
		}
	}
	pthread_mutex_unlock(&workers->lock);
}

int emi_task_wait_for(em_ctx *ctx, emi_task *task, double seconds)
{
	const double until = emi_now() + seconds;
	struct emi_workers *workers = workers_of(ctx);
	int done, late = 0;

	if (workers == NULL || emi_ctx_forked(ctx))
		return 1;
	pthread_mutex_lock(&workers->lock);
	while (task->open > 0 && !late) {
		if (workers->started == 0) {
			/* Nobody else will. */
			run_oldest(workers);
			continue;
		}
		workers->sleepers++;
		late = emi_cond_wait_until(&workers->finished, &workers->lock, until) != 0;
		workers->sleepers--;
	}
	done = task->open == 0;
	pthread_mutex_unlock(&workers->lock);
	return done;
}

int emi_task_done(em_ctx *ctx, emi_task *task)
{
	struct emi_workers *workers = workers_of(ctx);
	int done;

	if (workers == NULL || emi_ctx_forked(ctx))
		return 1;
	pthread_mutex_lock(&workers->lock);
	done = task->open == 0;
	pthread_mutex_unlock(&workers->lock);
	return done;
}

/* An emi_parallel(). */
typedef struct shares {
	void (*fn)(void *arg, uint32_t i);
	void *arg;
	uint32_t next;          /* nobody has begun this one; atomic */
} shares;

static void run_share(void *arg)
{
	shares *s = arg;

	s->fn(s->arg, __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED));
}

void emi_parallel(em_ctx *ctx, uint32_t n, void (*fn)(void *arg, uint32_t i), void *arg)
{
	shares s = { fn, arg, 0 };
	emi_task task;

	if (n == 0)
		return;
	submit(ctx, &task, run_share, &s, n - 1);
	fn(arg, n - 1);
	emi_task_wait(ctx, &task);
}
