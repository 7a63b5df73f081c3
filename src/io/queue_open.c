/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue_open.c -- the queues of a context: made with the first file of a disk, released with the last.
 *
 * The last file may be closed from within the function of a request, that is, by a worker of the queue itself.  That
 * worker then ends like the others, and frees the queue as its last act.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <limits.h>
#include <string.h>

#include "base/condition.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/backend.h"
#include "io/queue.h"

static size_t stack_size(const em_backend *be)
{
	return emi_thread_stack(be->stack ? be->stack : EMI_IO_STACK);
}

/* Workers of a queue: fewer when the memory is so small that their stacks matter. */
static uint32_t most_threads(const em_ctx *ctx, uint64_t memory, const em_backend *be)
{
	const uint32_t limit = __atomic_load_n(&ctx->io_threads, __ATOMIC_RELAXED);
	const uint64_t fit = limit ? limit : memory / 64 / stack_size(be);
	uint64_t n = be->threads ? be->threads : EMI_IO_THREADS;

	if (n > fit)
		n = fit;
	if (n > EMI_IO_THREADS_MAX)
		n = EMI_IO_THREADS_MAX;
	return n ? (uint32_t)n : 1;
}

uint32_t emi_queue_depth(const em_ctx *ctx, const em_backend *be, uint32_t depth)
{
	if (!depth)
		depth = ctx->queue_depth ? ctx->queue_depth : be->depth ? be->depth : EMI_IO_DEPTH;
	return depth < EMI_IO_DEPTH_MAX ? depth : EMI_IO_DEPTH_MAX;
}

uint64_t emi_queue_memory(const em_ctx *ctx, uint64_t memory, const em_backend *be, uint32_t depth)
{
	return sizeof(emi_queue) + EMI_PAGE + (uint64_t)most_threads(ctx, memory, be) * stack_size(be) +
	       (uint64_t)emi_queue_depth(ctx, be, depth) * sizeof(emi_slot);
}

static void release(emi_queue *q)
{
	em_ctx *ctx = q->ctx;

	emi_memory_drop(ctx, (uint64_t)q->max_threads * q->stack);
	if (q->slots)
		emi_free_array(ctx, q->slots, q->depth, sizeof *q->slots);
	emi_strfree(ctx, q->name);
	emi_free(ctx, q, sizeof *q);
	emi_ctx_unref(ctx);
}

static em_status make_slots(emi_queue *q, const em_backend_open *how, em_errinfo *err)
{
	uint32_t i;

	q->slots = emi_alloc_array(q->ctx, how->depth, sizeof *q->slots, err);
	if (!q->slots)
		return err->status;
	q->depth = how->depth;
	for (i = 0; i < q->depth; i++) {
		q->slots[i].next = q->free;
		q->free = &q->slots[i];
	}
	q->may_async = 1;
	q->async_from = how->async_from;
	/* Threads serve only its beginning, chores, and what exceeds the depth. */
	if (q->max_threads > 2)
		q->max_threads = 2;
	return EM_OK;
}

static void make_locks(emi_queue *q)
{
	emi_lock_init(&q->lock);
	emi_cond_init(&q->work);
	emi_cond_init(&q->done);
}

static int is_async(const em_backend *be, const em_backend_open *how)
{
	return how->async && emi_backend_has_channel(be);
}

static emi_queue *make(const em_file *f, const em_backend_open *how, uint32_t number, em_errinfo *err)
{
	emi_queue *q = emi_alloc(f->object.ctx, sizeof *q, err);
	em_status status = EM_OK;

	if (!q)
		return NULL;
	emi_ctx_ref(f->object.ctx);
	q->ctx = f->object.ctx;
	q->be = f->be;
	q->disk = how->disk;
	q->number = number;
	q->files = 1;
	q->stack = stack_size(f->be);
	q->service_ns = EMI_IO_SERVICE_NS;
	q->name = emi_strdup(f->object.ctx, f->path, err);
	if (!q->name)
		goto failed;
	q->max_threads = most_threads(f->object.ctx, em_ctx_memory(f->object.ctx), f->be);
	if (is_async(f->be, how))
		status = make_slots(q, how, err);
	/* The stacks come from libc; their size is taken from the budget now, so that starting a thread cannot exceed
	 * it. */
	if (status == EM_OK)
		status = emi_memory_take(f->object.ctx, (uint64_t)q->max_threads * q->stack, err);
	if (status != EM_OK)
		goto failed;
	make_locks(q);
	return q;
failed:
	q->max_threads = 0;
	release(q);
	return NULL;
}

/* The queue that a file belongs to, if there is one; a context has few. */
static emi_queue *find(const em_file *f, const em_backend_open *how, uint32_t number)
{
	emi_queue *q = f->object.ctx->queues;

	if (how->disk == 0 && number == 0)
		return NULL;
	for (; q; q = q->next)
		if (q->be == f->be && q->number == number && (number != 0 || q->disk == how->disk) &&
		    (q->slots != NULL) == is_async(f->be, how))
			return q;
	return NULL;
}

/* The same, and the file is on it. */
static emi_queue *share(const em_file *f, const em_backend_open *how, uint32_t number, emi_queue *made)
{
	em_ctx *ctx = f->object.ctx;
	emi_queue *q;

	pthread_mutex_lock(&ctx->io_lock);
	q = find(f, how, number);
	if (q) {
		q->files++;
	} else if (made) {
		made->next = ctx->queues;
		ctx->queues = made;
	}
	pthread_mutex_unlock(&ctx->io_lock);
	return q;
}

em_status emi_queue_join(em_file *f, const em_backend_open *how, uint32_t number, em_errinfo *err)
{
	emi_queue *made;

	f->queue = share(f, how, number, NULL);
	if (f->queue)
		return EM_OK;
	made = make(f, how, number, err);
	if (!made)
		return err->status;
	f->queue = share(f, how, number, made);
	if (f->queue)
		emi_queue_free(made, 0);
	else
		f->queue = made;
	return EM_OK;
}

/* No waiter and no other worker are left behind. */
static void shut_down(emi_queue *q)
{
	uint32_t i;

	pthread_mutex_lock(&q->lock);
	q->quit = 1;
	while (q->waiters + q->guests > 0)
		pthread_cond_wait(&q->done, &q->lock);
	pthread_cond_broadcast(&q->work);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < q->threads; i++)
		if (!pthread_equal(q->thread[i], pthread_self()))
			pthread_join(q->thread[i], NULL);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->done);
}

void emi_queue_free(emi_queue *q, int forked)
{
	/* In a child the workers do not exist, and the lock may be held by one of them. */
	if (!forked)
		shut_down(q);
	if (q->channel)
		q->be->close_channel(q->channel, forked);
	release(q);
}

static void unlink_queue(emi_queue *q)
{
	emi_queue **at = &q->ctx->queues;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
}

/* Leave the queue to the calling thread, if that is a worker of it. */
static int bequeath(emi_queue *q)
{
	uint32_t i;

	pthread_mutex_lock(&q->lock);
	for (i = 0; i < q->threads && !pthread_equal(q->thread[i], pthread_self()); i++)
		continue;
	if (i < q->threads) {
		q->quit = q->orphan = 1;
		q->heir = q->thread[i];
	}
	pthread_mutex_unlock(&q->lock);
	return q->orphan;
}

void emi_queue_part(emi_queue *q, int forked)
{
	em_ctx *ctx = q->ctx;
	int last;

	if (!forked)
		pthread_mutex_lock(&ctx->io_lock);
	last = --q->files == 0;
	if (last)
		unlink_queue(q);
	if (!forked)
		pthread_mutex_unlock(&ctx->io_lock);
	if (last && (forked || !bequeath(q)))
		emi_queue_free(q, forked);
}

emi_queue *emi_queue_hold(em_ctx *ctx, uint32_t i)
{
	const int guarded = !emi_ctx_forked(ctx);
	emi_queue *q;

	if (guarded)
		pthread_mutex_lock(&ctx->io_lock);
	for (q = ctx->queues; q && i > 0; q = q->next)
		i--;
	if (q)
		q->files++;
	if (guarded)
		pthread_mutex_unlock(&ctx->io_lock);
	return q;
}

/* Stacks that were set aside for threads that did not start go back. */
static void limit(emi_queue *q, uint32_t threads)
{
	uint32_t most;

	pthread_mutex_lock(&q->lock);
	most = q->threads > threads ? q->threads : threads;
	if (q->max_threads > most) {
		emi_memory_drop(q->ctx, (uint64_t)(q->max_threads - most) * q->stack);
		q->max_threads = most;
	}
	pthread_mutex_unlock(&q->lock);
}

void emi_queues_limit(em_ctx *ctx, uint32_t threads)
{
	uint32_t i;
	emi_queue *q;

	__atomic_store_n(&ctx->io_threads, threads, __ATOMIC_RELAXED);
	for (i = 0; (q = emi_queue_hold(ctx, i)) != NULL; i++) {
		limit(q, threads);
		emi_queue_part(q, 0);
	}
}
