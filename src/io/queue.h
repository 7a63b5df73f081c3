/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue.h -- what a file consists of, and the queue of the disk that it is on.
 *
 * The files of a context that are on one physical disk share a queue, so that what is asked of the disk at once does
 * not depend on the number of files.  Files whose transfers are asynchronous have another than those whose are not.  A
 * request is
 *
 *	blocked, linked to an earlier one that has bytes in common with it, or to a discard that is under way;
 *	on one of the lists: reads, writes, and chores, which only threads can do (giving space back, transfers that are
 *	not aligned);
 *	with a thread that runs it through the backend's read or write (a worker, or whoever waits for it); or
 *	in flight through the backend's channel, occupying a slot.
 *
 * `lock' guards everything of the queue, and the requests and the tree of ranges of its files; it is never held during
 * a transfer or a call of the caller's functions.
 */
#ifndef EMI_QUEUE_H
#define EMI_QUEUE_H

#include <pthread.h>

#include <extmem/sys/backend.h>
#include <extmem/sys/request.h>

#include "base/context.h"
#include "base/object.h"
#include "io/file.h"
#include "io/huge_pages.h"

enum { EMI_IO_THREADS = 4, EMI_IO_THREADS_MAX = 16, EMI_IO_DEPTH = 128, EMI_IO_DEPTH_MAX = 4096, EMI_IO_BATCH = 16 };

#define EMI_IO_STACK 32768u

/* The most bytes of several requests that are handed over as one transfer. */
#define EMI_IO_JOINED ((size_t)512 << 10)

/* What a transfer takes as long as nothing is known, and the most that one counts for. */
#define EMI_IO_SERVICE_NS 500000u

/* A transfer that was handed to the backend.  It is that of several requests when they are side by side. */
typedef struct emi_slot {
	em_transfer transfer;
	emi_request *rq;        /* the first; each knows the next one */
	struct emi_slot *next;  /* in the list of free ones */
} emi_slot;

/* A thread that is inside a request's fn. */
typedef struct emi_calling {
	pthread_t thread;
	struct emi_calling *next;
} emi_calling;

enum { EMI_LIST_READ, EMI_LIST_WRITE, EMI_LIST_CHORE, EMI_LISTS };

typedef struct emi_queue {
	em_ctx *ctx;
	const em_backend *be;
	uint64_t disk;          /* what tells it from others; 0: of one file only */
	uint32_t number;        /* that the caller gave it, or 0 */
	char *name;             /* the path of the first file */
	uint32_t files;         /* open on it, and others that hold it; under io_lock */
	struct emi_queue *next; /* of the context; under io_lock */
	emi_meter meter;

	pthread_mutex_t lock;
	pthread_cond_t work;    /* workers wait for something to do */
	pthread_cond_t done;    /* waiters wait for a request, or for a turn at reaping */

	emi_request *head[EMI_LISTS], *tail[EMI_LISTS];
	uint32_t queued;        /* transfers on lists */
	uint32_t chores;        /* chores on their list */
	uint32_t unattended;    /* not done, and nobody needs to wait for them: they have a function, or are watched
	                           among others */
	uint32_t waiters;       /* threads inside a wait; the queue must outlive them */
	uint32_t closers;       /* those among them that wait for all of a file */
	uint32_t guests;        /* requests that are watched; likewise */
	uint64_t seq;           /* requests submitted */
	em_file *left;          /* files without requests that were left, to be closed by whoever notices */
	emi_calling *calling;

	pthread_t thread[EMI_IO_THREADS_MAX];
	uint32_t threads, max_threads;
	uint32_t idle;          /* workers that wait for something to do */
	uint32_t calls;         /* of those how many were told that there is, and have not come yet */
	uint32_t choring;       /* workers inside a chore */
	int napping;            /* one of the idle looks by itself before long */
	uint64_t service_ns;    /* what a transfer by a thread is expected to take */
	size_t stack;           /* bytes of each */
	int quit;
	int orphan;             /* a worker closed the last file: it frees the queue when it ends */
	pthread_t heir;         /* that worker */

	uint64_t volume;        /* bytes asked for so far */
	uint64_t async_from;    /* where asynchronous transfers begin */
	int may_async;          /* the backend offers them */
	int async;              /* and they are in use */
	void *channel;          /* that is, this is open */
	int reaping;            /* a thread is in the backend's reap: one at a time */
	uint32_t gathering;     /* who submit several requests now: they are handed over some at a time */
	int alone;              /* there is no worker, and a thread collects in place of one */
	int64_t accepted;       /* taken by submit and not reaped; for a moment below 0, when reaped at once */
	emi_slot *slots, *free;
	uint32_t depth;
} emi_queue;

struct em_file {
	emi_object object;
	const em_backend *be;
	void *handle;
	char *path;
	const char *noun;       /* what it is, before its name in messages */
	int32_t direct;
	int writes;             /* it was opened for writing */
	emi_queue *queue;
	uint32_t refs;          /* atomic */
	uint32_t pending;       /* requests that are not done */
	int left;               /* closed by emi_file_leave() */
	em_file *next_left;
	emi_overlap ranges;     /* of pending transfers */
	emi_request *discard;   /* that is under way, or NULL: transfers that come meanwhile wait for it */
	int one_write;          /* writes get on one at a time: */
	emi_request *last_write; /* the next one waits for this one, or NULL */
	int in_memory;          /* a file of a tmpfs: */
	emi_huge_pages huge;    /* those that it is going to have */
	emi_meter meter;        /* under the queue's lock */
	em_request *spare;      /* requests to be used again; under io_lock */
	uint32_t spares;
};

/* Free them. */
void emi_file_free_spares(em_file *f);

/* Bytes that the queue of a file of be will have in use, if the context has so much memory. */
uint64_t emi_queue_memory(const em_ctx *ctx, uint64_t memory, const em_backend *be, uint32_t depth);

/* Transfers in flight at most. */
uint32_t emi_queue_depth(const em_ctx *ctx, const em_backend *be, uint32_t depth);

/* Put a file just opened on the queue of its disk, which is made with the first; starts no thread, but takes the memory
 * of its threads' stacks. */
em_status emi_queue_join(em_file *f, const em_backend_open *how, uint32_t number, em_errinfo *err);

/* Take a file without requests off, or give back a hold: the queue goes with the last.  In a forked child it only
 * releases memory. */
void emi_queue_part(emi_queue *q, int forked);

/* Hold the i-th queue of a context; NULL: there are not so many. */
emi_queue *emi_queue_hold(em_ctx *ctx, uint32_t i);

/* Release a queue that is no longer the context's. */
void emi_queue_free(emi_queue *q, int forked);

/* Close a file that has no requests, and was left. */
void emi_file_finish(em_file *f);

/* If the calling thread is inside a request's fn of this file's queue: have whoever finds the file without requests
 * close it; 0 otherwise. */
int emi_queue_leave(em_file *f);

/* Take a request on; it cannot fail. */
void emi_queue_submit(emi_request *rq);

/* The same of one that waits for nothing, and neither it nor another one is begun: the queue goes on with
 * emi_queue_go_on(). */
void emi_queue_list(emi_request *rq);
void emi_queue_go_on(emi_queue *q);

/* Somebody begins to submit several requests, or, off, has done so.  Those that are behind each other on the disk are
 * one transfer for the kernel when they are handed over together.  Waiting meanwhile is allowed. */
void emi_queue_gather(emi_queue *q, int on);

/* Run a request with the calling thread, whether the context was canceled or not, if nothing overlaps it: 0 when
 * something does. */
int emi_queue_run_now(emi_request *rq);

/* Take it back: 1 when it was not begun. */
int emi_queue_cancel(emi_request *rq);

/* Return when rq is done (NULL: everything of f is), or at the deadline (in seconds of emi_now(); negative: none); 1
 * when it is done. */
int emi_queue_wait(em_file *f, emi_request *rq, double deadline);

/* Return when rq is done, having run nothing but rq and collected nothing. */
void emi_queue_wait_alone(emi_request *rq);

/* Somebody waited for rq. */
void emi_queue_count_wait(const emi_request *rq, uint64_t ns);

/* Somebody is going to wait for rq otherwise, or stops: then workers see to it that it gets done.  0 when there can be
 * no worker. */
int emi_queue_watch(emi_request *rq, int on);

/* Collect what is done without waiting. */
void emi_queue_poll(emi_queue *q);

/* The parts of a queue; all are called with the lock held and may drop it meanwhile. */

/* How many transfers of those on lists may be handed over now: while some are gathered, those that are many. */
static inline uint32_t emi_queue_due(const emi_queue *q)
{
	return q->gathering == 0 || q->queued >= EMI_IO_BATCH ? q->queued : 0;
}

/* Next transfer to run, or NULL. */
emi_request *emi_queue_take(emi_queue *q);

/* The read whose turn comes after that of rq, if rq is one, too, and it goes on in the file and in memory where rq
 * ends, and is of no more than so many bytes; or NULL.  Writes are not joined: one that fails would be made twice. */
emi_request *emi_queue_take_beside(emi_queue *q, const emi_request *rq, size_t most);

/* Next chore, or NULL. */
emi_request *emi_queue_take_chore(emi_queue *q);

/* Take rq off the list it is on; it. */
emi_request *emi_queue_pick(emi_queue *q, emi_request *rq);

/* The backend did not take what was handed to it. */
void emi_queue_put_back(emi_queue *q, emi_request *rq);

/* Run a request that was taken off a list with the calling thread; a transfer of a context that was canceled is over
 * instead. */
void emi_queue_run(emi_queue *q, emi_request *rq);

/* It was handed on. */
void emi_queue_begin(emi_queue *q, emi_request *rq, uint64_t now);

/* It is done: count it, call its function, let those go that it blocked, tell those who wait. */
void emi_queue_complete(emi_queue *q, emi_request *rq);

/* A snapshot of a meter that is under the queue's lock; called without it. */
void emi_queue_read_meter(emi_queue *q, const emi_meter *m, em_io_stats *stats);

/* Have what is on the lists done by somebody, at worst by the calling thread. */
void emi_queue_kick(emi_queue *q);

/* Have another worker come, if one is worth it and can be had: 0 when there is none at all. */
int emi_queue_call_worker(emi_queue *q);

/* Does a worker have to collect what is in flight? */
int emi_queue_wants_reaper(const emi_queue *q);

/* Are transfers done sooner than a thread falls asleep and wakes up? */
int emi_queue_is_quick(const emi_queue *q);

/* Somebody is going to sleep until others have done something: not by the clock of one who naps. */
void emi_queue_rouse(emi_queue *q);

/* Is the calling thread inside a request's function? */
int emi_queue_is_calling(const emi_queue *q);

/* Release the lock, and close the files that were left.  The queue may be gone afterwards, unless a worker calls. */
void emi_queue_unlock(emi_queue *q);

/* Hand waiting requests to the backend as far as there are slots. */
void emi_async_pump(emi_queue *q);

/* Collect what the backend has done, waiting up to timeout_ns for it, and pump; 0 when it is not for this thread
 * to do. */
int emi_async_help(emi_queue *q, int64_t timeout_ns);

/* Can the calling thread make this transfer only by itself? */
int emi_request_is_chore(const emi_request *rq);

/* Make a transfer, or what is left of it after its first attempt ended with result, with the backend's read and
 * write; sets done, status and sys_errno.  Called without the lock. */
void emi_request_run(emi_request *rq);
void emi_request_settle(emi_request *rq, int64_t result);

/* Say in err how it failed. */
void emi_request_fail(const emi_request *rq, em_errinfo *err);

/* The same of a direct file whose buffer, offset or size is not aligned; see unaligned.c. */
void emi_request_run_unaligned(emi_request *rq);

#endif
