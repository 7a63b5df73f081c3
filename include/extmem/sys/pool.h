/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/pool.h  Pools of blocks: buffers that several users share, for writing behind their backs and
 * fetching before they ask.
 *
 * A pool has two numbers of buffers, and by them it is what STXXL calls a write pool (0 for prefetching), a prefetch
 * pool (0 for writing), or a read_write_pool (Dementiev, Kettner and Sanders 2007, sections 4 and 5.2). Who has
 * something to write is lent a buffer, fills it, and hands it back with the id of the block; he waits only while all
 * buffers for writing are on their way. Who knows what he is going to read says so, and exchanges a buffer of his own
 * for the one with the block when the time has come.
 *
 *     void *buf;
 *     em_block_pool_lend(pool, &buf);
 *     ... fill it ...
 *     em_block_pool_write(pool, buf, bid);         (buf is the pool's again)
 *     ...
 *     em_block_pool_hint(pool, other);
 *     ... compute ...
 *     em_block_pool_read(pool, &own, other);       (own was a buffer of the caller's, and is another now)
 *
 * The pool is coherent: a block that it knows is read as it was last written, from memory if it is there, however far
 * its write has come. So all reading, writing and freeing of a block goes through the pool, or through others on disks
 * that are coherent (EM_DISKS_COHERENT) or a file, or the pool is told (em_block_pool_invalidate()).
 *
 * A buffer is what em_buffer_alloc() gives for one block of the pool's size; it belongs to whoever holds it, and which
 * one it is does not matter. Buffers are allocated when they are needed for the first time; when the context has no
 * memory for more, those that there are do.
 *
 * A block that cannot be written stays in its buffer, as in a cache: it can be read, and em_block_pool_flush() tries it
 * again and reports it if it fails again. em_block_pool_lend() reports it when all buffers for writing that are not
 * lent have such blocks. Nothing is lost but by closing, which is logged. All users of a pool are on one thread; it
 * keeps its context and its disks, so they may be closed before it.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_POOL_H
#define EXTMEM_SYS_POOL_H

#include <extmem/sys/block.h>

EM_BEGIN_DECLS

typedef struct em_block_pool em_block_pool;

typedef struct em_block_pool_opts {
	uint32_t size;          /**< sizeof(em_block_pool_opts); set by the initialiser. */
	uint32_t write_buffers; /**< Most that are being written or lent. */
	uint32_t prefetch_buffers; /**< Most that hold what was hinted at.  2D and 3D of D disks are enough to keep them
	                                busy. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when em_block_pool_open() fails; may be NULL. */
	uint64_t block_bytes;   /**< Of a block, a multiple of EM_BLOCK_UNIT; 0: em_disks_block_bytes(). */
} em_block_pool_opts;
#define EM_BLOCK_POOL_OPTS_INIT { sizeof(em_block_pool_opts), 0, 0, 0, NULL, 0 }
/** As EM_BLOCK_POOL_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_block_pool_opts_init(em_block_pool_opts *out, size_t bytes);

typedef struct em_block_pool_stats {
	uint32_t size;          /**< sizeof(em_block_pool_stats); set by the initialiser. */
	uint32_t write_buffers; /**< How many there are now, ... */
	uint32_t prefetch_buffers; /**< ... for either purpose, ... */
	uint32_t lent;          /**< ... and how many of those for writing users have. */
	uint64_t reads;         /**< Blocks asked for; ... */
	uint64_t hits;          /**< ... of them, those that had been hinted at ... */
	uint64_t recalled;      /**< ... and those that were in memory since they had been written. */
	uint64_t hints;         /**< Blocks requested ahead. */
	uint64_t writes;        /**< Blocks given to be written; ... */
	uint64_t dropped;       /**< ... of them, those that never were. */
	uint64_t waits;         /**< Calls that waited for a disk. */
} em_block_pool_stats;
#define EM_BLOCK_POOL_STATS_INIT { sizeof(em_block_pool_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_BLOCK_POOL_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_block_pool_stats_init(em_block_pool_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_block_pool_stats_json(const em_block_pool_stats *of, char *to, size_t bytes);

/**
 * Open a pool of blocks on these disks, which has no buffers yet.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, d or opts is NULL, block_bytes is no multiple of EM_BLOCK_UNIT, there are more than
 *                    2^28 buffers
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory; the context never has as much as the pool might take and the disks
 *                    with 1024 blocks beside those in buffers (extmem/ctx.h)
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_block_pool_open(em_block_pool **out, em_disks *d, const em_block_pool_opts *opts);

/** Wait for its requests and free the buffers that are not lent; those that are stay with those who have them, for
 *  em_buffer_free(). Whether writes failed em_block_pool_flush() tells before. NULL is allowed. */
EM_API void em_block_pool_close(em_block_pool *p);

/** Cancel it (extmem/ctx.h): the call in progress on it, and on containers that share it, and every later one, is
 *  EM_ERR_CANCELED.  Any thread; signal handlers.  NULL is allowed. */
EM_API void em_block_pool_cancel(em_block_pool *p);

/**
 * Have other numbers of buffers: what is too much is waited for, what was fetched last is forgotten.
 *
 * Returns EM_OK; EM_ERR_INVAL (p is NULL; too many); EM_ERR_STATE (more than write_buffers are lent); EM_ERR_MEMLIMIT
 * (the context never has as much); how a write failed, if more buffers are lent or have blocks that could not be
 * written: then all is as before.
 */
EM_API EM_NODISCARD em_status em_block_pool_resize(em_block_pool *p, uint32_t write_buffers, uint32_t prefetch_buffers);

/** Attach a buffer of the caller's, which is the pool's then: one more for writing. EM_OK; EM_ERR_INVAL (NULL);
 *  EM_ERR_MEMLIMIT, EM_ERR_NOMEM: then it is still the caller's. */
EM_API EM_NODISCARD em_status em_block_pool_attach(em_block_pool *p, void *buf);

/** Detach one: the pool has one less for writing, and *buf is the caller's, for em_buffer_free(). As
 *  em_block_pool_lend(). */
EM_API EM_NODISCARD em_status em_block_pool_detach(em_block_pool *p, void **buf);

/**
 * Lend a buffer to be filled. Waits for the oldest write when all are on their way.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL); EM_ERR_STATE (all buffers for writing are lent); how a write
 * failed, if that is why there is none: EM_ERR_IO, EM_ERR_NOSPACE, ...; EM_ERR_MEMLIMIT, EM_ERR_NOMEM; EM_ERR_FORK.
 * *buf is NULL then.
 */
EM_API EM_NODISCARD em_status em_block_pool_lend(em_block_pool *p, void **buf);

/**
 * A buffer that was lent, or another one in its place, comes back to be written to a block, of which earlier contents
 * are forgotten. Never waits.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL; there is no such disk, or it is a file for reading only);
 * EM_ERR_RANGE (the file ends before); EM_ERR_STATE (none is lent; the block is pinned in a cache on the same disks);
 * EM_ERR_FORK. Then the buffer is still the caller's.
 * I/O: one write of B bytes, unless the block is written again or freed before it begins.
 */
EM_API EM_NODISCARD em_status em_block_pool_write(em_block_pool *p, void *buf, em_bid bid);

/** One that was lent comes back unwritten. EM_OK; EM_ERR_INVAL; EM_ERR_STATE (none is lent): then it is still the
 *  caller's. */
EM_API EM_NODISCARD em_status em_block_pool_return(em_block_pool *p, void *buf);

/** The block is going to be read: 1 if it is in memory or on its way there, 0 if there is no buffer for it, or an
 *  argument is not legal. Never waits. I/O: at most one read of B bytes. */
EM_API int em_block_pool_hint(em_block_pool *p, em_bid bid);

/**
 * Exchange a buffer for one with the block, which may be the same. A block that could not be fetched is known to nobody
 * afterwards, and the pool is as good as before.
 *
 * Returns EM_OK; EM_ERR_INVAL (p, buf or *buf is NULL; there is no such disk); EM_ERR_RANGE (the file ends before);
 * EM_ERR_STATE (no block is allocated there); EM_ERR_IO and others of reading; EM_ERR_CORRUPT, or of a file
 * EM_ERR_SHORT (somebody else has cut off what was written); EM_ERR_FORK. After a failure *buf is as it was, its
 * contents are not.
 * I/O: one read of B bytes, or none if it was hinted at or is in memory.
 */
EM_API EM_NODISCARD em_status em_block_pool_read(em_block_pool *p, void **buf, em_bid bid);

/** The block is going to be written or freed elsewhere: nothing of it is kept, and nothing is on its way when this
 * returns. A write that was not begun never is. EM_OK, EM_ERR_INVAL. */
EM_API EM_NODISCARD em_status em_block_pool_invalidate(em_block_pool *p, em_bid bid);

/** The same, and free the block: at once, or when its write that has begun is done. Never waits for that. EM_OK,
 * EM_ERR_INVAL; EM_ERR_STATE (it is not allocated, or pinned in a cache on the same disks). */
EM_API EM_NODISCARD em_status em_block_pool_free(em_block_pool *p, em_bid bid);

/** Write again what could not be written, and wait until all is. EM_OK, EM_ERR_INVAL, the first failure, EM_ERR_FORK.
 *  */
EM_API EM_NODISCARD em_status em_block_pool_flush(em_block_pool *p);

/** Its state, and counters since it was opened. EM_OK, EM_ERR_INVAL, EM_ERR_VERSION (stats without its initialiser). */
EM_API EM_NODISCARD em_status em_block_pool_stats_get(const em_block_pool *p, em_block_pool_stats *stats);

/** Copy the detail of the last call on p that failed; all zero if there is none. */
EM_API void em_block_pool_error(const em_block_pool *p, em_errinfo *err);

/** Most bytes of memory that a pool takes. */
EM_API uint64_t em_block_pool_memory(uint64_t block_bytes, uint32_t write_buffers, uint32_t prefetch_buffers);

EM_END_DECLS

#endif
