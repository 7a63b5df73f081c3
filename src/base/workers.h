/* SPDX-License-Identifier: BSL-1.0 */
/*
 * workers.h -- the threads of a context that compute.
 *
 * A context has em_ctx_threads() of them at most, the calling one included.  Others are started when so many are asked
 * for, as far as the system lets us have them; they have small explicit stacks that are counted as memory, and block
 * all signals.  A task is a function and its argument in the caller's own storage: submitting cannot fail.
 * Whoever waits for a task helps: it runs queued tasks meanwhile, so a context of one thread works
 * the same way, and tasks never wait for other tasks.
 */
#ifndef EMI_WORKERS_H
#define EMI_WORKERS_H

#include <extmem/ctx.h>

/* Most threads of a context, and what the stack of each but the calling one counts in memory. */
#define EMI_MAX_THREADS 512u
#define EMI_STACK_BYTES (UINT64_C(128) << 10)

/* One that is zeroed is done. */
typedef struct emi_task {
	void (*fn)(void *arg);
	void *arg;
	struct emi_task *next;
	uint32_t queued;        /* times it is still to be begun, and ended; under the workers' lock */
	uint32_t open;
} emi_task;

/* Have so many threads, the calling one included, as far as the context may: those that are missing are started; fewer,
 * or none, where the system does not let us have them.  EM_OK, EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_workers_reach(em_ctx *ctx, uint32_t threads, em_errinfo *err);

/* Likewise all that the context may have. */
em_status emi_workers_start(em_ctx *ctx, em_errinfo *err);

/* The most threads of the context, the calling one included, whose stacks are a small part of its memory, with so many
 * bytes that each needs. */
uint32_t emi_workers_fed(const em_ctx *ctx, uint64_t each);

/* Bytes of memory that emi_workers_reach() would take. */
uint64_t emi_workers_memory(const em_ctx *ctx, uint32_t threads);

/* Queue a task; tasks start in the order in which they were submitted. */
void emi_task_submit(em_ctx *ctx, emi_task *task, void (*fn)(void *arg), void *arg);

/* Return when the task is done, running it or other tasks meanwhile. */
void emi_task_wait(em_ctx *ctx, emi_task *task);

/* The same, but gives up after seconds, and runs nothing meanwhile unless there are no threads: 1 when the task is
 * done, 0 when not yet. */
int emi_task_wait_for(em_ctx *ctx, emi_task *task, double seconds);

/* Is it done?  Never waits. */
int emi_task_done(em_ctx *ctx, emi_task *task);

/* Run fn(arg, i) for i in [0, n), n <= em_ctx_threads(), each on its own thread where there is one, the last on this;
 * return when all are done. */
void emi_parallel(em_ctx *ctx, uint32_t n, void (*fn)(void *arg, uint32_t i), void *arg);

/* Is this one of the context's threads, and not one that called it? */
int emi_in_worker(const em_ctx *ctx);

/* Join the threads; when the context is released.  After a fork, in the child, it only frees memory. */
void emi_workers_stop(em_ctx *ctx);

#endif
