/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/deque.h  Deques: records enter and leave at both ends, and can be looked at anywhere.
 *
 * (STXXL's deque and sequence: Dementiev, Kettner and Sanders 2007, section 5.7.)  Both ends are in memory, and what is
 * between them on disks, as extmem/container.h says.  A deque grows at either end without moving a record.
 *
 *     em_container_opts opts = EM_CONTAINER_OPTS_INIT;
 *     em_deque *d;
 *     opts.record_bytes = sizeof(struct task);
 *     em_deque_open(&d, ctx, &opts);
 *     em_deque_push_back(d, &task);
 *     em_deque_push_front(d, &task);
 *     em_deque_get(d, 1, &task);
 *     em_deque_pop_front(d, &task);
 *     em_deque_close(d);
 *
 * Positions count from the front: 0 is the first record, N - 1 the last one.  They move with the front.  Records
 * between the ends are read and changed by way of a small cache (opts.cache_buffers).  A reader passes through a range
 * in either direction, with blocks read ahead.
 *
 * One thread at a time, for a deque and its readers together.  A deque keeps its context and its pool, and a reader its
 * deque, so they may be closed in any order.  After any failure it can be inspected, used and closed.
 *
 * I/O cost in the standard model: n pushes and pops in any order take at most O(n / (D B)) I/Os.  Popping never writes.
 */
#ifndef EXTMEM_DEQUE_H
#define EXTMEM_DEQUE_H

#include <extmem/batch.h>
#include <extmem/container.h>
#include <extmem/cursor.h>
#include <extmem/window.h>

EM_BEGIN_DECLS

typedef struct em_deque em_deque;

/** Open an empty deque.  Returns as em_stack_open() (extmem/stack.h).  No I/O. */
EM_API EM_NODISCARD em_status em_deque_open(em_deque **out, em_ctx *ctx, const em_container_opts *opts);

/** Close it; its records are gone, and their space is free.  A reader of it has it go on until that is closed, too.
 *  NULL is allowed. */
EM_API void em_deque_close(em_deque *d);

/** Cancel it (extmem/ctx.h): the call in progress on it, of its readers, and every later one, is EM_ERR_CANCELED.
 *  Any thread; signal handlers. NULL is allowed. */
EM_API void em_deque_cancel(em_deque *d);

/** The most bytes of memory that a deque of up to so many records takes, its readers and a shared pool not counted; 0
 *  if opts is not legal, UINT64_MAX if 64 bits cannot count them. */
EM_API uint64_t em_deque_memory(const em_container_opts *opts, uint64_t records);

/** N; 0 of NULL. */
EM_API uint64_t em_deque_size(const em_deque *d);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_deque_record_bytes(const em_deque *d);

/** Push a record behind the last, or before the first.  Returns, and does after a failure, as em_stack_push(): so do
 *  all functions below, which only say what is different.  I/O: 1/B amortised, one write of a block at a time. */
EM_API EM_EACH EM_NODISCARD em_status em_deque_push_back(em_deque *d, const void *record);
EM_API EM_EACH EM_NODISCARD em_status em_deque_push_front(em_deque *d, const void *record);

/** Push n records, which stay in their order: at the back the last of them is the last then, at the front the first of
 *  them is the first then.  *pushed, which may be NULL, is how many entered, also after a failure: at the back the
 *  first ones, at the front the last ones.  I/O: n/B writes. */
EM_API EM_NODISCARD em_status em_deque_push_back_many(em_deque *d, const void *records, uint64_t n, uint64_t *pushed);
EM_API EM_NODISCARD em_status em_deque_push_front_many(em_deque *d, const void *records, uint64_t n, uint64_t *pushed);

/** Pop the last record, or the first.  EM_NOT_FOUND: the deque is empty.  After a failure it is as it was.
 *  I/O: 1/B amortised, reads. */
EM_API EM_EACH EM_NODISCARD em_status em_deque_pop_back(em_deque *d, void *record);
EM_API EM_EACH EM_NODISCARD em_status em_deque_pop_front(em_deque *d, void *record);

/** Pop the last n records, or the first, or all if there are fewer; they stay in their order.  *popped is how many they
 *  are, also after a failure; it may be NULL if it is of no interest.  EM_NOT_FOUND: n is not 0, and the deque is
 *  empty. I/O: n/B reads. */
EM_API EM_NODISCARD em_status em_deque_pop_back_many(em_deque *d, void *records, uint64_t n, uint64_t *popped);
EM_API EM_NODISCARD em_status em_deque_pop_front_many(em_deque *d, void *records, uint64_t n, uint64_t *popped);

/** Copy the last record, or the first.  EM_NOT_FOUND: the deque is empty.  I/O: as a pop. */
EM_API EM_NODISCARD em_status em_deque_back(em_deque *d, void *record);
EM_API EM_NODISCARD em_status em_deque_front(em_deque *d, void *record);

/** Copy record i to `record', or from there.  EM_ERR_RANGE: there is no such record.
 *  I/O: none at the ends and in the cache, else one read; one write if a changed block has to leave the cache. */
EM_API EM_NODISCARD em_status em_deque_get(em_deque *d, uint64_t i, void *record);
EM_API EM_NODISCARD em_status em_deque_set(em_deque *d, uint64_t i, const void *record);

/** Copy the n records from i on, where there are so many, or EM_ERR_RANGE.  A failure of writing leaves the records
 *  before the one that em_errinfo.record names, from 1, written, and the others as they were.  I/O: scan(n). */
EM_API EM_NODISCARD em_status em_deque_read(em_deque *d, uint64_t i, void *records, uint64_t n);
EM_API EM_NODISCARD em_status em_deque_write(em_deque *d, uint64_t i, const void *records, uint64_t n);

/** Have no records, and free their space.  No I/O. */
EM_API EM_NODISCARD em_status em_deque_clear(em_deque *d);

/** Exchange what two deques of one context are, their options included.  EM_ERR_INVAL: they are of two contexts, or
 *  one of them is NULL; EM_ERR_STATE: one of them has a reader.  No I/O. */
EM_API EM_NODISCARD em_status em_deque_swap(em_deque *a, em_deque *b);

/** From now on read so many blocks ahead; 0: none.  With a shared pool: at most so many of its buffers.
 *  EM_ERR_INVAL: more than 2^28; EM_ERR_MEMLIMIT: the context never has as much memory. */
EM_API EM_NODISCARD em_status em_deque_prefetch(em_deque *d, uint32_t blocks);

/** Its windows; NULL of NULL. */
EM_API em_window *em_deque_back_window(em_deque *d);
EM_API em_window *em_deque_front_window(em_deque *d);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_deque_stats_get(const em_deque *d, em_container_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_deque_error(const em_deque *d, em_errinfo *err);

/* Readers. */

typedef struct em_deque_reader em_deque_reader;

/** In which direction records are read. */
enum {
	EM_DEQUE_FORWARD = 0,
	EM_DEQUE_REVERSE = 1
};

/** How a reader passes. */
typedef struct em_deque_reader_opts {
	uint32_t size;          /**< sizeof(em_deque_reader_opts); set by the initialiser. */
	uint32_t direction;     /**< EM_DEQUE_FORWARD or EM_DEQUE_REVERSE. */
	uint32_t buffers;       /**< Blocks that are read ahead; 0: as many as the deque has buffers for that. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when opening fails; may be NULL. */
	uint64_t from;          /**< The first position of the range ... */
	uint64_t n;             /**< ... and its records; UINT64_MAX: up to N. */
} em_deque_reader_opts;
#define EM_DEQUE_READER_OPTS_INIT { sizeof(em_deque_reader_opts), 0, 0, 0, NULL, 0, UINT64_MAX }
/** As EM_DEQUE_READER_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_deque_reader_opts_init(em_deque_reader_opts *out, size_t bytes);

/** Open a reader of a range; opts may be NULL: of all records, forward.  Records stay in the deque.  EM_ERR_RANGE:
 *  there is no such range, or there are more than 2^16 buffers; EM_ERR_VERSION: opts was made without its initialiser.
 *  No I/O but what is read ahead. */
EM_API EM_NODISCARD em_status em_deque_reader_open(em_deque_reader **out, em_deque *d,
						   const em_deque_reader_opts *opts);

/** Lend the next records, in the order of their positions in memory also when the direction is reverse: then the last
 *  batch of the range comes first.  EM_END: there are no more.  EM_ERR_STATE: the deque was pushed to or popped from
 *  since the reader was opened, or a push has failed; the records that were lent before are no longer valid, either.
 *  A failure of reading can be tried again.  I/O: scan(n) for all together. */
EM_API EM_NODISCARD em_status em_deque_reader_next(em_deque_reader *r, const em_batch **batch);

/** Its cursor (extmem/cursor.h), which goes record by record in the reader's direction; NULL of NULL. */
EM_API em_cursor *em_deque_reader_cursor(em_deque_reader *r);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_deque_reader_error(const em_deque_reader *r, em_errinfo *err);

/** Close it.  NULL is allowed. */
EM_API void em_deque_reader_close(em_deque_reader *r);

EM_END_DECLS

#endif
