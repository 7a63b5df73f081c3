/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/container.h  What stacks, queues and deques have in common: their options and statistics.
 *
 * All three hold records of one size in blocks.  The blocks at their ends are in memory, and those between them are on
 * the scratch disks of the context.  Blocks are written behind the caller's back, and read before they are needed, by a
 * pool of buffers (extmem/sys/pool.h): its own, or one that several containers share.
 *
 * Memory.  With memory_bytes = M and blocks of B bytes there are M / B buffers.  Some are for blocks on their way to
 * the disks, some for blocks that are read ahead; the rest, about half by default, holds the ends.  While all records
 * fit into that rest nothing is written.  When they no longer do, the block goes that is farthest from the ends in use:
 * of a stack the deepest, of a queue or deque one in the middle.  So pushing and popping at the edge of a block costs
 * no I/O.
 *
 * Small containers.  Nothing is on a disk before that, and memory grows with the records: an open container of few
 * records has one small piece of memory, whatever M is.
 *
 * What is popped leaves the disk: the space of a block is free when the block has come back to memory.
 *
 * What a call did is never undone by a failure.  When a disk is full the call tells how many records entered; they are
 * in memory or on a disk.  Popping makes room, and then a second try succeeds.
 */
#ifndef EXTMEM_CONTAINER_H
#define EXTMEM_CONTAINER_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

struct em_block_pool; /* extmem/sys/pool.h */
struct em_placement;  /* extmem/sys/placement.h */

/** How em_stack_open(), em_queue_open() and em_deque_open() make one. */
typedef struct em_container_opts {
	uint32_t size;          /**< sizeof(em_container_opts); set by the initialiser. */
	uint32_t reserved;
	uint64_t record_bytes;  /**< Of a record, 1 to 2^24.  Must be set. */
	uint64_t block_bytes;   /**< B, a multiple of EM_BLOCK_UNIT (4096), less than 2^32, that holds a record; 0: a
	                             16th of memory_bytes, 64 KiB to 2 MiB, but at most an eighth, and at least a
	                             record; or, with a shared pool, the size of its blocks.  Large blocks are fast to
	                             pass through, small ones to look into (em_deque_get()). */
	uint64_t memory_bytes;  /**< M, in all; 0: 32 MiB, or an eighth of the context's memory, whichever is less, but
	                             at least eight blocks.  At least four blocks, of a deque eight, and at most 2^28.
	                             With a shared pool its buffers are not counted: at least two blocks, of a deque
	                             six. */
	uint32_t write_buffers; /**< Of M, for blocks on their way to the disks; 0: a quarter of the buffers, at most
	                             1024, and fewer where they are few.  With a shared pool: 0. */
	uint32_t prefetch_buffers; /**< Of M, for blocks that are read ahead; 0: as many as for writing by default.
	                             With a shared pool: how many of its buffers are used at most; 0: all. */
	uint32_t cache_buffers; /**< Of M, of a deque: for blocks between the ends that em_deque_get() and others look
	                             at; 0: an eighth of the buffers, 2 to 1024.  Others have none: 0. */
	uint32_t reserved2;
	struct em_block_pool *pool; /**< A pool to share, on scratch disks of the same context, with buffers for
	                             writing; NULL: its own.  It may be closed before the container. */
	const struct em_placement *placement; /**< Which block lies on which disk; NULL: one after the other.
	                                           Copied. */
	em_errinfo *errinfo;    /**< Filled when opening fails; may be NULL. */
} em_container_opts;
#define EM_CONTAINER_OPTS_INIT { sizeof(em_container_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL }
/** As EM_CONTAINER_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_container_opts_init(em_container_opts *out, size_t bytes);

typedef struct em_container_stats {
	uint32_t size;          /**< sizeof(em_container_stats); set by the initialiser. */
	uint32_t reserved;
	uint64_t records;       /**< N. */
	uint64_t block_bytes;   /**< B. */
	uint64_t block_records; /**< Whole records that a block holds. */
	uint64_t blocks;        /**< Blocks that the records are in: at the ends, in memory, ... */
	uint64_t blocks_disk;   /**< ... and of them those between the ends. */
	uint64_t memory_blocks; /**< Most blocks at the ends, in memory. */
	uint64_t writes;        /**< Blocks that went to the disks, ... */
	uint64_t reads;         /**< ... and those that came back; ... */
	uint64_t recalled;      /**< ... of them, those that were still in memory. */
} em_container_stats;
#define EM_CONTAINER_STATS_INIT { sizeof(em_container_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_CONTAINER_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_container_stats_init(em_container_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_container_stats_json(const em_container_stats *of, char *to, size_t bytes);

EM_END_DECLS

#endif
