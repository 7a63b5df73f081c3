/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/radix_heap.h  Radix heaps: priority queues on disks for keys that are numbers and never go back.
 *
 * (LEDA-SM's R-heaps: Crauser and Mehlhorn 1998, section 4.1, after Ahuja, Mehlhorn, Orlin and Tarjan 1990.)  A heap
 * has records of one size with a key, an unsigned integer or a float that is not negative.  What is popped is a record
 * with the least key.  A key that is pushed is at least the last minimum, which is that of the record popped last (0
 * at first), and at most C above it.  So time goes on in a simulation, distances grow in Dijkstra's algorithm, and a
 * sweep moves on.
 *
 *     em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
 *     em_radix_heap *h;
 *     opts.record_bytes = sizeof(struct event);
 *     opts.key_offset = offsetof(struct event, time);
 *     em_radix_heap_open(&h, ctx, &opts);
 *     em_radix_heap_push(h, &event);
 *     while ((status = em_radix_heap_pop(h, &event)) == EM_OK)
 *         ... push others, not earlier than this one ...
 *     em_radix_heap_close(h);
 *
 * Records with equal keys are popped in any order.
 *
 * How it works.  Keys are written with digits to the base r.  A record lies in a bucket by the highest digit in which
 * its key differs from that of the minimum, and by the value of that digit: h levels of r buckets, and two for what
 * has other digits above; r^h > C.  A bucket is a stack of blocks on disk, with its last block in memory, so a block
 * on disk is always full.  When there are no smaller records than those of some bucket, they are distributed to the
 * levels below, where keys agree with the new minimum in one digit more.  The least key of each bucket is known, so
 * this takes one scan.  A bucket that is small, or fits into a share of the memory, is sorted instead, whatever its
 * level; a second thread of the context does it while the bucket before is popped.
 *
 * With C from the options, a memory of M bytes and blocks of B, h is the least that has h * r blocks in memory.  Ask
 * em_radix_heap_plan().
 *
 * I/O, for n records of R bytes: n R / B blocks are written as records are pushed.  Each level costs 2 n R / B at most,
 * so all of n pushes and n pops at most n R / B + 2 h n R / B; it is less where buckets of lower levels fit into their
 * blocks in memory.  No block on disk is partly full, so they take n R bytes there.
 * The bound is that of pushes and pops: em_radix_heap_top() distributes, too, as a pop would, and records that are
 * pushed below what it told, more than the front holds (a thousand or more), bring back what was distributed for it.
 *
 * Small heaps.  Nothing is on a disk, and no tables of buckets are made, before a few thousand records are in it.
 * Memory grows with what is in it.  What was once used of `memory_bytes' stays until em_radix_heap_clear().
 *
 * One thread at a time.  A heap keeps its context.  After any failure the heap is whole, and the call may be tried
 * again: what is wrong with arguments and keys changes nothing; when the disk is full, popping makes room.
 */
#ifndef EXTMEM_RADIX_HEAP_H
#define EXTMEM_RADIX_HEAP_H

#include <extmem/ctx.h>
#include <extmem/order.h>

EM_BEGIN_DECLS

struct em_placement; /* extmem/sys/placement.h */

typedef struct em_radix_heap em_radix_heap;

typedef struct em_radix_heap_opts {
	uint32_t size;          /**< sizeof(em_radix_heap_opts); set by the initialiser. */
	int32_t key_type;       /**< EM_KEY_U8, ..U16, ..U32, ..U64, ..F32 or ..F64; 0: EM_KEY_U64. */
	uint32_t key_flags;     /**< EM_KEY_BIG_ENDIAN or 0. */
	uint32_t reserved;      /**< 0. */
	uint64_t record_bytes;  /**< Of a record, 1 to 2^24.  Must be set. */
	uint64_t key_offset;    /**< Of the key's first byte in the record. */
	uint64_t range;         /**< C: the most that a key may be above the last minimum; 0: any key that is not
	                             below it.  Of floats 0.  The less, the fewer levels there are. */
	uint64_t memory_bytes;  /**< M: that the heap may take; 0: 64 MiB, or an eighth of the context's, whichever is
	                             less, but as much as it needs.  What says which blocks there are on disk comes to
	                             it: 18 bytes for each. */
	uint64_t block_bytes;   /**< B: of a block, a multiple of EM_BLOCK_UNIT (4096), less than 2^32; 0: 32 KiB to
	                             1 MiB, as M allows with the same h, or what a record or little memory need. */
	const struct em_placement *placement; /**< Which block lies on which disk; NULL: one after the other.
	                             Copied. */
	em_errinfo *errinfo;    /**< Filled when em_radix_heap_open() fails; may be NULL. */
} em_radix_heap_opts;
#define EM_RADIX_HEAP_OPTS_INIT { sizeof(em_radix_heap_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }
/** As EM_RADIX_HEAP_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_radix_heap_opts_init(em_radix_heap_opts *out, size_t bytes);

/** What a heap is going to be made of; filled by em_radix_heap_plan(). */
typedef struct em_radix_heap_plan_info {
	uint32_t size;          /**< sizeof(em_radix_heap_plan_info); set by the initialiser. */
	uint32_t levels;        /**< h. */
	uint32_t radix;         /**< r. */
	uint32_t buckets;       /**< h * r + 2: each may have a block in memory. */
	uint32_t write_buffers; /**< Blocks that may be on their way to disks, ... */
	uint32_t read_buffers;  /**< ... and from there. */
	uint64_t range;         /**< C. */
	uint64_t block_bytes;   /**< B. */
	uint64_t block_records; /**< Whole records that a block holds. */
	uint64_t front_records; /**< Records that a heap holds without buckets. */
	uint64_t memory;        /**< Bytes that it takes at most, beside 18 for each block on disk. */
	uint64_t memory_min;    /**< The least that would do, with this block_bytes if it was named, else with any. */
} em_radix_heap_plan_info;
#define EM_RADIX_HEAP_PLAN_INFO_INIT { sizeof(em_radix_heap_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_RADIX_HEAP_PLAN_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_radix_heap_plan_info_init(em_radix_heap_plan_info *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_radix_heap_plan_info_json(const em_radix_heap_plan_info *of, char *to, size_t bytes);

typedef struct em_radix_heap_stats {
	uint32_t size;          /**< sizeof(em_radix_heap_stats); set by the initialiser. */
	uint32_t levels;        /**< h. */
	uint32_t radix;         /**< r. */
	uint32_t reserved;
	uint64_t records;       /**< In it now. */
	uint64_t block_bytes;   /**< B. */
	uint64_t blocks;        /**< On disk now. */
	uint64_t distributed;   /**< Records that were moved to a lower level. */
	uint64_t sorted;        /**< Records that were sorted in memory. */
	uint64_t reads;         /**< Blocks that were read ... */
	uint64_t writes;        /**< ... and written.  One that is needed before its write has begun is neither. */
} em_radix_heap_stats;
#define EM_RADIX_HEAP_STATS_INIT { sizeof(em_radix_heap_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_RADIX_HEAP_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_radix_heap_stats_init(em_radix_heap_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_radix_heap_stats_json(const em_radix_heap_stats *of, char *to, size_t bytes);

/**
 * Say what a heap with these options would be, without any I/O.
 *
 * Returns as em_radix_heap_open(); EM_ERR_INVAL, too: info is NULL; EM_ERR_VERSION: info was made without its
 * initialiser.  After EM_ERR_MEMLIMIT info->memory_min is filled, and nothing else.
 */
EM_API EM_NODISCARD em_status em_radix_heap_plan(em_ctx *ctx, const em_radix_heap_opts *opts,
						 em_radix_heap_plan_info *info);

/**
 * Open a heap, which is empty, with a last minimum of 0.  opts must name record_bytes.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or opts is NULL, key_type is none of those above, key_flags are unknown, a range of
 *                    floats, block_bytes is no multiple of EM_BLOCK_UNIT, the placement is of another number of disks
 *   EM_ERR_RANGE     record_bytes is not 1 to 2^24, the key reaches past the end of the record, a block holds no record
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_MEMLIMIT  memory_bytes are too few, or with what disks take more than the context's (extmem/ctx.h); the
 *                    detail names the least
 *   EM_ERR_NOMEM     no memory
 *   EM_ERR_FORK      the context is the parent process's
 * No I/O.
 */
EM_API EM_NODISCARD em_status em_radix_heap_open(em_radix_heap **out, em_ctx *ctx, const em_radix_heap_opts *opts);

/** Close it; what is in it is gone.  NULL is allowed. */
EM_API void em_radix_heap_close(em_radix_heap *h);

/** Cancel it (extmem/ctx.h): the call in progress on it, and every later one, is EM_ERR_CANCELED.  Any thread; signal
 *  handlers.  NULL is allowed. */
EM_API void em_radix_heap_cancel(em_radix_heap *h);

/** The most bytes of memory that a heap of up to `records' records takes, where no memory is named with 64 MiB; 0 if
 *  opts is not legal, UINT64_MAX if 64 bits cannot count them. */
EM_API uint64_t em_radix_heap_memory(const em_radix_heap_opts *opts, uint64_t records);

/** Records in it; 0 of NULL. */
EM_API uint64_t em_radix_heap_size(const em_radix_heap *h);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_radix_heap_record_bytes(const em_radix_heap *h);

/** The last minimum: the key that was popped last, 0 at first; 0 of NULL.  Of a float the bits of its IEEE 754
 *  number. */
EM_API uint64_t em_radix_heap_last(const em_radix_heap *h);

/**
 * Add a record, or n of them.  *pushed, which may be NULL, is how many entered, also after a failure: the first of
 * them.  The same call for the others may be tried again.
 *
 * Returns (as all functions below, which only say what is different):
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL
 *   EM_ERR_RANGE     the key of a record is below the last minimum, or more than C above it, or a float that is
 *                    negative or no number; the detail names it and the last minimum, and em_errinfo.record which
 *                    record it is, from 1; or n records are more than memory could hold.  None has entered
 *   EM_ERR_BUSY      another call is in progress
 *   EM_ERR_NOSPACE   the disk is full
 *   EM_ERR_IO        a block could not be written, and there is no memory but its
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_CANCELED  the context was; as long as a call needs nothing but memory it may not notice
 *   EM_ERR_FORK      the context is the parent process's; likewise
 * I/O: R / B.  Nothing is waited for but buffers that are being written.
 */
EM_API EM_NODISCARD em_status em_radix_heap_push(em_radix_heap *h, const void *record);
EM_API EM_NODISCARD em_status em_radix_heap_push_many(em_radix_heap *h, const void *records, uint64_t n,
						      uint64_t *pushed);

/**
 * Take out a record with the least key, which is the last minimum from now on.
 *
 * Returns also:
 *   EM_NOT_FOUND     the heap is empty
 *   EM_ERR_IO, EM_ERR_CORRUPT  a block could not be read: no record is lost, and none was taken out
 * I/O: 2 h R / B, amortised.
 */
EM_API EM_NODISCARD em_status em_radix_heap_pop(em_radix_heap *h, void *record);

/** Take out up to n records, in the order of their keys, as many as there are; *popped, which may be NULL, is how many
 *  those were, also after a failure.  EM_NOT_FOUND: the heap is empty, and n is not 0. */
EM_API EM_NODISCARD em_status em_radix_heap_pop_many(em_radix_heap *h, void *records, uint64_t n, uint64_t *popped);

/** Copy the record that the next pop takes out, unless others are pushed before.  The last minimum stays as it is.
 *  EM_NOT_FOUND: the heap is empty. */
EM_API EM_NODISCARD em_status em_radix_heap_top(em_radix_heap *h, void *record);

/** Take out all records, and begin with a last minimum of 0.  Gives back disks and memory.  No I/O. */
EM_API EM_NODISCARD em_status em_radix_heap_clear(em_radix_heap *h);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_radix_heap_stats_get(const em_radix_heap *h, em_radix_heap_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_radix_heap_error(const em_radix_heap *h, em_errinfo *err);

EM_END_DECLS

#endif
