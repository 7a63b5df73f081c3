/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/stack.h  Stacks: what was pushed last is popped first, of any number of records.
 *
 * (STXXL's stacks: Dementiev, Kettner and Sanders 2007, section 5.3.)  A stack keeps its top in memory and what is
 * below it on disks, as extmem/container.h says.  By its options it is what STXXL has several stacks for:
 *
 *   normal         opts.memory_bytes of four blocks: two hold the top, so an edge between blocks is never crossed back
 *                  and forth at the price of an I/O
 *   grow-shrink    more buffers, so long sequences of pushes, and of pops, are at the speed of the disks
 *                  (em_stack_prefetch() changes how far is read ahead while it lives), or opts.pool, for many stacks
 *   migrating      a large opts.memory_bytes: nothing is on a disk as long as the records fit into half of it
 *
 *     em_container_opts opts = EM_CONTAINER_OPTS_INIT;
 *     em_stack *s;
 *     opts.record_bytes = sizeof(uint64_t);
 *     em_stack_open(&s, ctx, &opts);
 *     em_stack_push(s, &number);
 *     em_stack_pop(s, &number);
 *     em_stack_close(s);
 *
 * One thread at a time.  A stack keeps its context and its pool, so they may be closed in any order.  After any failure
 * it can be inspected, used and closed.
 *
 * I/O cost in the standard model: n pushes and pops in any order take at most O(n / (D B)) I/Os.
 */
#ifndef EXTMEM_STACK_H
#define EXTMEM_STACK_H

#include <extmem/container.h>
#include <extmem/window.h>

EM_BEGIN_DECLS

typedef struct em_stack em_stack;

/**
 * Open an empty stack.  opts must name record_bytes.  No I/O.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or opts is NULL, block_bytes is no multiple of EM_BLOCK_UNIT or not that of the pool, the
 *                    pool is of another context, on a file, or has no buffers for writing, numbers of buffers with a
 *                    pool or a cache that has no use, the placement is of another number of disks
 *   EM_ERR_RANGE     record_bytes is not 1 to 2^24, a block holds no record, or memory_bytes no four blocks and all
 *                    buffers
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory; the context never has as much as the stack and the disks may take
 *                    (extmem/ctx.h)
 *   EM_ERR_BUSY      the pool is at work
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_stack_open(em_stack **out, em_ctx *ctx, const em_container_opts *opts);

/** Close it; its records are gone, and their space is free.  NULL is allowed. */
EM_API void em_stack_close(em_stack *s);

/** Cancel it (extmem/ctx.h): the call in progress on it, and every later one, is EM_ERR_CANCELED.  Any thread; signal
 *  handlers.  NULL is allowed. */
EM_API void em_stack_cancel(em_stack *s);

/** The most bytes of memory that a stack of up to so many records takes, a shared pool not counted; 0 if opts is not
 *  legal, UINT64_MAX if 64 bits cannot count them. */
EM_API uint64_t em_stack_memory(const em_container_opts *opts, uint64_t records);

/** N; 0 of NULL. */
EM_API uint64_t em_stack_size(const em_stack *s);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_stack_record_bytes(const em_stack *s);

/**
 * Push a record: copy it to the top.
 *
 * Returns (as all functions below, which only say what is different):
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL
 *   EM_ERR_BUSY      it was called from a callback of the stack's context, or its pool is at work
 *   EM_ERR_NOSPACE   the disks are full, and so is the memory; after pops a second try succeeds
 *   EM_ERR_IO        a block could not be written or read; it can be tried again
 *   EM_ERR_CORRUPT   a block is not as it was written
 *   EM_ERR_STATE     all buffers for writing of the shared pool are lent
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_CANCELED  the context was
 *   EM_ERR_FORK      the context is the parent process's
 * After a failure the record is not on the stack.
 * I/O: 1/B amortised, one write of a block at a time.
 */
EM_API EM_EACH EM_NODISCARD em_status em_stack_push(em_stack *s, const void *record);

/** Push n records, the last of them to the top.  *pushed, which may be NULL, is how many entered, also after a failure:
 *  the first ones.  I/O: n/B writes. */
EM_API EM_NODISCARD em_status em_stack_push_many(em_stack *s, const void *records, uint64_t n, uint64_t *pushed);

/** Pop the top into `record'.  EM_NOT_FOUND: the stack is empty.  After a failure it is as it was.  I/O: 1/B amortised,
 *  reads. */
EM_API EM_EACH EM_NODISCARD em_status em_stack_pop(em_stack *s, void *record);

/** Pop n records, or all if there are fewer.  They come in the order in which they were pushed: the one that was on top
 *  is the last.  So it gives back what em_stack_push_many() took.  *popped is how many they are, also after a failure;
 *  it may be NULL if it is of no interest.  EM_NOT_FOUND: n is not 0, and the stack is empty.  I/O: n/B reads. */
EM_API EM_NODISCARD em_status em_stack_pop_many(em_stack *s, void *records, uint64_t n, uint64_t *popped);

/** Copy the top.  Otherwise as em_stack_pop(). */
EM_API EM_NODISCARD em_status em_stack_peek(em_stack *s, void *record);

/** Have no records, and free their space.  No I/O. */
EM_API EM_NODISCARD em_status em_stack_clear(em_stack *s);

/** Exchange what two stacks of one context are, their options included.  EM_ERR_INVAL: they are of two contexts, or
 *  one of them is NULL.  No I/O. */
EM_API EM_NODISCARD em_status em_stack_swap(em_stack *a, em_stack *b);

/** From now on read so many blocks ahead; 0: none.  With a shared pool: at most so many of its buffers.
 *  EM_ERR_INVAL: more than 2^28; EM_ERR_MEMLIMIT: the context never has as much memory. */
EM_API EM_NODISCARD em_status em_stack_prefetch(em_stack *s, uint32_t blocks);

/** Its window, for em_window_push_back() and em_window_pop_back(); NULL of NULL. */
EM_API em_window *em_stack_window(em_stack *s);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_stack_stats_get(const em_stack *s, em_container_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_stack_error(const em_stack *s, em_errinfo *err);

EM_END_DECLS

#endif
