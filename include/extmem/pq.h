/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/pq.h  Priority queues on disks: the first record of any order comes out, whatever has been pushed.
 *
 * (A sequence heap: Sanders, "Fast priority queues for cached memory", ACM JEA 5, 2000; on disks as in Dementiev,
 * Kettner and Sanders 2007, section 5.4.)
 *
 *     em_pq_opts opts = EM_PQ_OPTS_INIT;
 *     em_pq *q;
 *     opts.order = order;                     (of records of one size, extmem/order.h)
 *     em_pq_open(&q, ctx, &opts);
 *     em_pq_push(q, &message);
 *     while ((status = em_pq_pop(q, &message)) == EM_OK)
 *         ... push others, whatever their keys ...
 *     em_pq_close(q);
 *
 * Where keys are numbers and never go back, as time does in a simulation, there is also a radix heap
 * (extmem/radix_heap.h).  A queue has no decrease-key: push the record with its new key, and skip the old one when it
 * comes out.
 *
 * How it works.  Records are appended to an insertion buffer.  When that is full it is sorted and becomes a sequence in
 * memory; if the context has more than one thread, another one sorts it while the next buffer is filled, unless the
 * order has a function of the caller's.  When memory is full, its sequences are merged to one on disks, of level 1.
 * When there are enough sequences of a level, they are merged to one of the next level.  What is popped comes from a
 * deletion buffer, which the next records of all sequences and of the insertion buffer are merged into.  Records that
 * come before its end are in a heap until they are popped.
 *
 * I/O, for n records of R bytes: with a memory of M bytes and blocks of B there are about M / R records in a sequence
 * of level 1, and L = ceil(log_k(n R / M)) levels, where k is the arity.  A record is written once and read once for
 * each level: 2 L n R / B in all, and nothing as long as everything fits into memory.  On disks there is what was
 * pushed, less what was popped, and less than a block for each sequence.  Ask em_pq_plan().
 * If a push comes before records that are in the deletion buffer already, it goes to the heap there.  Each time that is
 * full, the deletion buffer comes back to a sequence.  So such a push may move a few records once more; it adds to what
 * is written only if memory is full.
 *
 * Equal records leave in any order, or, with EM_PQ_STABLE, in the order in which they were pushed.  In either case the
 * order depends neither on threads nor on memory.
 *
 * Small queues.  Nothing is on a disk before the memory is full, and memory grows with what is in the queue.  What was
 * once used of `memory_bytes' stays until em_pq_clear().
 *
 * One thread at a time.  A queue keeps its context, order and pool.  After any failure but EM_ERR_USER the queue is
 * whole, and the call may be tried again: arguments that are wrong change nothing; when the disk is full, popping makes
 * room.  EM_ERR_USER: a comparison of the order's has failed, so nobody knows which record is the first.  The queue can
 * be cleared then, and closed.  A function of the order's that computes keys of small records is called when a record
 * is pushed, and only that push fails.
 */
#ifndef EXTMEM_PQ_H
#define EXTMEM_PQ_H

#include <extmem/batch.h>
#include <extmem/ctx.h>
#include <extmem/cursor.h>
#include <extmem/order.h>

EM_BEGIN_DECLS

struct em_block_pool; /* extmem/sys/pool.h */
struct em_placement;  /* extmem/sys/placement.h */

typedef struct em_pq em_pq;

/** Flags of a priority queue. */
#define EM_PQ_STABLE 1u /**< Records that compare equal leave in the order in which they were pushed.  Records of up to
                             8 bytes, not all key, take 16 bytes then. */

typedef struct em_pq_opts {
	uint32_t size;          /**< sizeof(em_pq_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_PQ_... */
	uint64_t records;       /**< N: how many records there may be at a time, for em_pq_plan(); 0: unknown.  More are
	                             no error. */
	uint64_t memory_bytes;  /**< M, in all; 0: 64 MiB, or an eighth of the context's, whichever is less, but as much
	                             as it needs.  What says which blocks there are on disk comes to it: at most 72
	                             bytes for each.  With a shared pool its buffers are not counted. */
	uint64_t block_bytes;   /**< B: of a block, a multiple of EM_BLOCK_UNIT (4096), less than 2^32, that holds a
	                             record; 0: a 256th of M, up to 512 KiB, or, with a shared pool, the size of its
	                             blocks. */
	uint32_t arity;         /**< k: how many sequences are merged to one of the next level, at least 2; 0: half of
	                             those that there may be. */
	uint32_t write_buffers; /**< Blocks on their way to the disks; 0: chosen.  With a shared pool: 0. */
	uint32_t prefetch_buffers; /**< Blocks that are read ahead; 0: chosen.  With a shared pool: 0. */
	uint32_t reserved;      /**< 0. */
	const em_order *order;  /**< Of records of one size, of any kind.  Must be set.  A reference is kept. */
	struct em_block_pool *pool; /**< A pool to share, on scratch disks of the same context, with buffers for
	                             writing; NULL: its own.  It may be closed before the queue. */
	const struct em_placement *placement; /**< Which block lies on which disk; NULL: one after the other.
	                             Copied. */
	em_errinfo *errinfo;    /**< Filled when em_pq_open() fails; may be NULL. */
} em_pq_opts;
#define EM_PQ_OPTS_INIT { sizeof(em_pq_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }
/** As EM_PQ_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_pq_opts_init(em_pq_opts *out, size_t bytes);

/** What a queue is going to be made of; filled by em_pq_plan(). */
typedef struct em_pq_plan_info {
	uint32_t size;          /**< sizeof(em_pq_plan_info); set by the initialiser. */
	uint32_t levels;        /**< L, of opts.records records: on how many levels of sequences a record is written; 0:
	                             all of them fit into memory, or their number is unknown. */
	uint32_t arity;         /**< k. */
	uint32_t sequences;     /**< On disks at a time, at most. */
	uint32_t pieces;        /**< Sequences in memory, the insertion buffer included. */
	uint32_t write_buffers; /**< Blocks that may be on their way to disks, ... */
	uint32_t prefetch_buffers; /**< ... and from there. */
	uint32_t item_bytes;    /**< Bytes that a record takes in memory and on disks: 4, 8, 16 or its own. */
	uint64_t piece_records; /**< Records of the insertion buffer, ... */
	uint64_t run_records;   /**< ... of a sequence of level 1, about, ... */
	uint64_t front_records; /**< ... of the deletion buffer ... */
	uint64_t early_records; /**< ... and of the heap beside it. */
	uint64_t block_bytes;   /**< B. */
	uint64_t block_records; /**< Whole records that a block holds. */
	uint64_t memory;        /**< Bytes that it takes at most, beside 72 for each block on disk. */
	uint64_t memory_min;    /**< The least that would do, with the other options as they are. */
} em_pq_plan_info;
#define EM_PQ_PLAN_INFO_INIT { sizeof(em_pq_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_PQ_PLAN_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_pq_plan_info_init(em_pq_plan_info *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_pq_plan_info_json(const em_pq_plan_info *of, char *to, size_t bytes);

typedef struct em_pq_stats {
	uint32_t size;          /**< sizeof(em_pq_stats); set by the initialiser. */
	uint32_t levels;        /**< The highest level of a sequence on disks so far. */
	uint64_t records;       /**< In it now. */
	uint64_t block_bytes;   /**< B. */
	uint64_t blocks;        /**< On disks now. */
	uint32_t pieces;        /**< Sequences in memory now, ... */
	uint32_t sequences;     /**< ... and on disks. */
	uint64_t refills;       /**< Of the deletion buffer. */
	uint64_t returned;      /**< Records that went back from there to a sequence. */
	uint64_t merges;        /**< Of sequences, to one on disks. */
	uint64_t merged;        /**< Records that they moved. */
	uint64_t reads;         /**< Blocks that were read ... */
	uint64_t writes;        /**< ... and written, of a pool of its own.  One that is needed before its write has
	                             begun is neither. */
} em_pq_stats;
#define EM_PQ_STATS_INIT { sizeof(em_pq_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_PQ_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_pq_stats_init(em_pq_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_pq_stats_json(const em_pq_stats *of, char *to, size_t bytes);

/**
 * Say what a queue with these options would be, without any I/O.
 *
 * Returns as em_pq_open(); EM_ERR_INVAL, too: info is NULL; EM_ERR_VERSION: info was made without its initialiser.
 * After EM_ERR_MEMLIMIT info->memory_min is filled, and nothing else.
 */
EM_API EM_NODISCARD em_status em_pq_plan(em_ctx *ctx, const em_pq_opts *opts, em_pq_plan_info *info);

/**
 * Open a queue, which is empty.  opts must name an order.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx, opts or opts->order is NULL, the order or the pool is of another context, a flag is
 *                    unknown, arity is 1, block_bytes is no multiple of EM_BLOCK_UNIT or not the pool's, buffers are
 *                    named beside a pool, the pool is on a file or has no buffers for writing, the placement is of
 *                    another number of disks, what is reserved is not 0
 *   EM_ERR_NOTSUP    the order is of records of any length, or the context's instruction set has no kernels
 *   EM_ERR_RANGE     a record has more than 2^24 bytes, a block holds no record, more than 2^20 buffers or arity
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_MEMLIMIT  memory_bytes are too few, or with what disks take more than the context's (extmem/ctx.h); the
 *                    detail names the least
 *   EM_ERR_BUSY      a call on the pool is in progress
 *   EM_ERR_NOMEM     no memory
 *   EM_ERR_FORK      the context is the parent process's
 * No I/O.
 */
EM_API EM_NODISCARD em_status em_pq_open(em_pq **out, em_ctx *ctx, const em_pq_opts *opts);

/** Close it; what is in it is gone.  NULL is allowed. */
EM_API void em_pq_close(em_pq *q);

/** Cancel it (extmem/ctx.h): the call in progress on it, and every later one, is EM_ERR_CANCELED.  Any thread; signal
 *  handlers.  NULL is allowed. */
EM_API void em_pq_cancel(em_pq *q);

/** The most bytes of memory that a queue of up to `records' records takes; 0 if opts is not legal. */
EM_API uint64_t em_pq_memory(const em_pq_opts *opts, uint64_t records);

/** Records in it; 0 of NULL. */
EM_API uint64_t em_pq_size(const em_pq *q);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_pq_record_bytes(const em_pq *q);

/**
 * Add a record, or n of them, one behind the other.  *pushed, which may be NULL, is how many entered, also after a
 * failure: the first of them.  The same call for the others may be tried again.
 *
 * Returns (as all functions below, which only say what is different):
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL, or n records are more than memory could hold
 *   EM_ERR_BUSY      another call is in progress, on it or what shares its pool
 *   EM_ERR_NOSPACE   the disk is full
 *   EM_ERR_IO, EM_ERR_CORRUPT  a block could not be written, and there is no memory but its; or one could not be read
 *                    that had to be merged
 *   EM_ERR_STATE     all buffers of a shared pool are lent
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_USER      a function of the order's has failed: see above
 *   EM_ERR_CANCELED  the context was; as long as a call needs nothing but memory it may not notice
 *   EM_ERR_FORK      the context is the parent process's; likewise
 * I/O: L R / B written and (L - 1) R / B read, amortised.
 */
EM_API EM_NODISCARD em_status em_pq_push(em_pq *q, const void *record);
EM_API EM_NODISCARD em_status em_pq_push_many(em_pq *q, const void *records, uint64_t n, uint64_t *pushed);

/**
 * Take out the first record.
 *
 * Returns also:
 *   EM_NOT_FOUND     the queue is empty
 * After a failure no record was taken out.
 * I/O: R / B read, amortised.
 */
EM_API EM_NODISCARD em_status em_pq_pop(em_pq *q, void *record);

/** Take out up to n records, in their order, as many as there are; *popped, which may be NULL, is how many, also after
 *  a failure.  EM_NOT_FOUND: the queue was empty, and n is not 0. */
EM_API EM_NODISCARD em_status em_pq_pop_many(em_pq *q, void *records, uint64_t n, uint64_t *popped);

/** Flags of em_pq_pop_until(). */
#define EM_PQ_INCLUSIVE 1u /**< Records that compare equal to the bound, too. */

/**
 * Take out up to n records that come before a bound, a record that the order compares them with; *popped as above.
 *
 * Returns also EM_NOT_FOUND (there is none of them, and n is not 0); EM_ERR_INVAL (a flag is unknown).  If less than n
 * were popped there are no more of them.
 */
EM_API EM_NODISCARD em_status em_pq_pop_until(em_pq *q, const void *bound, uint32_t flags, void *records, uint64_t n,
					      uint64_t *popped);

/** Copy the first record, which stays.  EM_NOT_FOUND: the queue is empty.  I/O: as em_pq_pop(), which follows for
 *  nothing. */
EM_API EM_NODISCARD em_status em_pq_top(em_pq *q, void *record);

/**
 * Push a record and then take out the first one, which may be that itself: em_pq_pushpop().  Take out the first one and
 * then push a record: em_pq_replace(), which is EM_NOT_FOUND if the queue is empty.  Both are done or neither.
 * `pushed' and `popped' may be the same memory.
 */
EM_API EM_NODISCARD em_status em_pq_pushpop(em_pq *q, const void *pushed, void *popped);
EM_API EM_NODISCARD em_status em_pq_replace(em_pq *q, const void *pushed, void *popped);

/**
 * Drain it in batches: lend the next records, at least one, which are taken out.  *batch is valid until the next call
 * on q, other than close.  Calls of other kinds may come between.
 *
 * Returns also EM_NOT_FOUND: the queue is empty; *batch is NULL then, as after any failure.
 */
EM_API EM_NODISCARD em_status em_pq_next(em_pq *q, const em_batch **batch);

/**
 * The cursor of q (extmem/cursor.h), always the same: it drains the queue record by record, in place of batches.
 * Records in its window are out of the queue: they count no more, and pushes and pops know nothing of them.
 * em_pq_clear() and em_pq_next() end the window.  em_cursor_refill() is EM_NOT_FOUND where the queue is empty, and goes
 * on after a push.  NULL of NULL.
 */
EM_API em_cursor *em_pq_cursor(em_pq *q);

/** Forget all records, and give back the memory and the space on disks. */
EM_API EM_NODISCARD em_status em_pq_clear(em_pq *q);

/** Its state, and counters since it was opened.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION (stats without its
 *  initialiser). */
EM_API EM_NODISCARD em_status em_pq_stats_get(const em_pq *q, em_pq_stats *stats);

/**
 * Write its parameters and statistics as lines of text, "name: value", for people.  At most `bytes' bytes of it, the
 * ending 0 included; returns the length that the whole text has, without the 0.  text may be NULL if bytes is 0.  0 of
 * NULL.  Lines may come and go between versions.
 */
EM_API size_t em_pq_dump(const em_pq *q, char *text, size_t bytes);

/** Copy the detail of the last call on q that failed; all zero if there is none. */
EM_API void em_pq_error(const em_pq *q, em_errinfo *err);

EM_END_DECLS

#endif
