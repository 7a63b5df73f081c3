/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue.h -- what a file consists of: its backend's handle and the queue of its requests.
 *
 * Every file has its own queue.  A request is in one of three places: on one of the lists, with a thread
 * that runs it through the backend's read or write (a worker, or whoever waits for it), or in flight through the
 * backend's submit, occupying a slot.  `lock' guards everything below it; it is never held during a transfer.
 */
#ifndef EMI_QUEUE_H
#define EMI_QUEUE_H

#include <pthread.h>

#include <extmem/sys/backend.h>

#include "io/file.h"

enum { EMI_IO_THREADS = 4, EMI_IO_THREADS_MAX = 16, EMI_IO_DEPTH = 64, EMI_IO_DEPTH_MAX = 4096, EMI_IO_BATCH = 16 };

#define EMI_IO_STACK 32768u

/* A transfer that was handed to the backend. */
typedef struct emi_slot {
	em_transfer transfer;
	emi_request *rq;
	struct emi_slot *next;  /* in the list of free ones */
} emi_slot;

typedef struct emi_queue {
	pthread_mutex_t lock;
	pthread_cond_t work;    /* workers wait for something to do */
	pthread_cond_t done;    /* waiters wait for a request, or for a turn at reaping */

	emi_request *head[EMI_REQUEST_KINDS], *tail[EMI_REQUEST_KINDS]; /* waiting, a list for each kind */
	uint32_t queued;        /* transfers that wait */
	uint32_t chores;        /* requests to give space back that wait */
	uint32_t pending;       /* not done: on the lists, with a thread, or in flight */
	uint32_t waiters;       /* threads inside a wait; the file must outlive them */

	pthread_t thread[EMI_IO_THREADS_MAX];
	uint32_t threads, max_threads, idle;
	size_t stack;           /* bytes of each */
	int quit;

	uint64_t volume;        /* bytes asked for so far */
	uint64_t async_from;    /* where asynchronous transfers begin */
	int may_async;          /* the backend offers them */
	int async;              /* and they are in use */
	int reaping;            /* a thread is in the backend's reap: one at a time */
	int64_t accepted;       /* taken by submit and not reaped; for a moment below 0, when reaped at once */
	emi_slot *slots, *free;
	uint32_t depth;
} emi_queue;

struct em_file {
	em_ctx *ctx;
	const em_backend *be;
	void *handle;
	char *path;
	int32_t direct;
	emi_queue queue;
};

/* Bytes that the queue of a file of be will have in use. */
uint64_t emi_queue_memory(const em_ctx *ctx, const em_backend *be);

/* Transfers in flight at most. */
uint32_t emi_queue_depth(const em_ctx *ctx, const em_backend *be);

/* Make the queue of a file just opened; starts no thread, but takes the memory of its threads' stacks. */
em_status emi_queue_open(em_file *f, const em_backend_open *how, em_errinfo *err);

/* Wait for everything and release it; in a forked child only release. */
void emi_queue_close(em_file *f, int forked);

/* Take a request on; it cannot fail. */
void emi_queue_submit(em_file *f, emi_request *rq);

/* Return when rq is done (NULL: everything is), or at the deadline (in seconds of emi_now(); negative: none); 1 when
 * it is done. */
int emi_queue_wait(em_file *f, emi_request *rq, double deadline);

/* Collect what is done without waiting. */
void emi_queue_poll(em_file *f);

/* The parts of a queue; all are called with the lock held and may drop it meanwhile. */

/* Next transfer to run, writes first, or NULL; and take a certain request off the lists: 1 when it was there. */
emi_request *emi_queue_take(emi_queue *q);
int emi_queue_unlink(emi_queue *q, emi_request *rq);
void emi_queue_put_back(emi_queue *q, emi_request *rq);

/* Run a request that is on no list with the calling thread. */
void emi_queue_run(em_file *f, emi_request *rq);

/* It is done: count it, tell those who wait. */
void emi_queue_complete(em_file *f, emi_request *rq);

/* Have a worker come, if one can be had: 0 when there is none at all. */
int emi_queue_call_worker(em_file *f);

/* Hand waiting requests to the backend as far as there are slots. */
void emi_async_pump(em_file *f);

/* Collect what the backend has done, waiting up to timeout_ns for it, and pump; 0 when it is not for this thread
 * to do. */
int emi_async_help(em_file *f, int64_t timeout_ns);

/* Make a transfer, or what is left of it after its first attempt ended with result, with the backend's read and
 * write; sets done, status and sys_errno.  Called without the lock. */
void emi_request_run(em_file *f, emi_request *rq);
void emi_request_settle(em_file *f, emi_request *rq, int64_t result);

#endif
