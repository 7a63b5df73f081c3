/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/queue.h  Queues: what was pushed first is popped first, of any number of records.
 *
 * (STXXL's queue: Dementiev, Kettner and Sanders 2007, section 5.6.)  Records enter at the back and leave at the front.
 * Both ends are in memory, and what is between them on disks, as extmem/container.h says: written behind the back, read
 * ahead of the front.  A queue that never holds more than its memory for the ends does no I/O, however many records
 * pass.
 *
 *     em_container_opts opts = EM_CONTAINER_OPTS_INIT;
 *     em_queue *q;
 *     opts.record_bytes = sizeof(struct job);
 *     em_queue_open(&q, ctx, &opts);
 *     em_queue_push(q, &job);
 *     em_queue_pop(q, &job);
 *     em_queue_close(q);
 *
 * One thread at a time.  A queue keeps its context and its pool, so they may be closed in any order.  After any failure
 * it can be inspected, used and closed.
 *
 * I/O cost in the standard model: n pushes and pops take at most 2n / (D B) I/Os.
 */
#ifndef EXTMEM_QUEUE_H
#define EXTMEM_QUEUE_H

#include <extmem/container.h>
#include <extmem/window.h>

EM_BEGIN_DECLS

typedef struct em_queue em_queue;

/** Open an empty queue.  Returns as em_stack_open() (extmem/stack.h).  No I/O. */
EM_API EM_NODISCARD em_status em_queue_open(em_queue **out, em_ctx *ctx, const em_container_opts *opts);

/** Close it; its records are gone, and their space is free.  NULL is allowed. */
EM_API void em_queue_close(em_queue *q);

/** Cancel it (extmem/ctx.h): the call in progress on it, and every later one, is EM_ERR_CANCELED.  Any thread; signal
 *  handlers.  NULL is allowed. */
EM_API void em_queue_cancel(em_queue *q);

/** The most bytes of memory that a queue of up to so many records takes, a shared pool not counted; 0 if opts is not
 *  legal, UINT64_MAX if 64 bits cannot count them. */
EM_API uint64_t em_queue_memory(const em_container_opts *opts, uint64_t records);

/** N; 0 of NULL. */
EM_API uint64_t em_queue_size(const em_queue *q);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_queue_record_bytes(const em_queue *q);

/** Push a record behind the last.  Returns, and does after a failure, as em_stack_push(): so do all functions below,
 *  which only say what is different.  I/O: 1/B amortised, one write of a block at a time. */
EM_API EM_EACH EM_NODISCARD em_status em_queue_push(em_queue *q, const void *record);

/** Push n records in their order.  *pushed, which may be NULL, is how many entered, also after a failure: the first
 *  ones.  I/O: n/B writes. */
EM_API EM_NODISCARD em_status em_queue_push_many(em_queue *q, const void *records, uint64_t n, uint64_t *pushed);

/** Pop the first record into `record'.  EM_NOT_FOUND: the queue is empty.  After a failure it is as it was.
 *  I/O: 1/B amortised, reads. */
EM_API EM_EACH EM_NODISCARD em_status em_queue_pop(em_queue *q, void *record);

/** Pop the first n records, or all if there are fewer, in their order.  *popped is how many they are, also after a
 *  failure; it may be NULL if it is of no interest.  EM_NOT_FOUND: n is not 0, and the queue is empty.  I/O: n/B
 *  reads. */
EM_API EM_NODISCARD em_status em_queue_pop_many(em_queue *q, void *records, uint64_t n, uint64_t *popped);

/** Copy the first record, or the last one.  EM_NOT_FOUND: the queue is empty.  I/O: as em_queue_pop(). */
EM_API EM_NODISCARD em_status em_queue_front(em_queue *q, void *record);
EM_API EM_NODISCARD em_status em_queue_back(em_queue *q, void *record);

/** Have no records, and free their space.  No I/O. */
EM_API EM_NODISCARD em_status em_queue_clear(em_queue *q);

/** Exchange what two queues of one context are, their options included.  EM_ERR_INVAL: they are of two contexts, or
 *  one of them is NULL.  No I/O. */
EM_API EM_NODISCARD em_status em_queue_swap(em_queue *a, em_queue *b);

/** From now on read so many blocks ahead; 0: none.  With a shared pool: at most so many of its buffers.
 *  EM_ERR_INVAL: more than 2^28; EM_ERR_MEMLIMIT: the context never has as much memory. */
EM_API EM_NODISCARD em_status em_queue_prefetch(em_queue *q, uint32_t blocks);

/** Its windows: for em_window_push_back(), and for em_window_pop_front(); NULL of NULL. */
EM_API em_window *em_queue_push_window(em_queue *q);
EM_API em_window *em_queue_pop_window(em_queue *q);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_queue_stats_get(const em_queue *q, em_container_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_queue_error(const em_queue *q, em_errinfo *err);

EM_END_DECLS

#endif
