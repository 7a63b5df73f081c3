/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_pool.h -- buffers that several users share, for blocks to be written behind their backs and blocks to be
 * fetched before they ask.
 *
 * A pool has two numbers, and by them it is what STXXL calls a write pool (0 buffers for fetching), a prefetch pool (0
 * for writing), or a read_write_pool.  Whoever has something to write is lent a buffer, fills it, and hands it back
 * with the id of the block; it waits only while all buffers for writing are on their way.  Whoever knows what it is
 * going to read says so, and exchanges a buffer of its own for the one with the block when the time has come.
 *
 * The pool is coherent: a block that it knows is read as it was last written, from memory if it is there, however far
 * its write has come.  So all reading, writing and freeing of a block goes through the pool, or the pool is told
 * (emi_block_pool_invalidate()).
 *
 * A buffer is what emi_buffer_alloc() gives for a block; it belongs to whoever holds it, and which one it is does not
 * matter.  Nothing is allocated but by opening, growing and attaching.  All users are on one thread.
 */
#ifndef EMI_BLOCK_POOL_H
#define EMI_BLOCK_POOL_H

#include "block/disk.h"

typedef struct emi_pool_slot emi_pool_slot;

typedef struct emi_pool_list {
	emi_pool_slot *first, *last;
	uint32_t n;
} emi_pool_list;

typedef struct emi_pool_stats {
	uint64_t reads;         /* blocks asked for */
	uint64_t hits;          /* of them, those that had been hinted at */
	uint64_t recalled;      /* and those that were in memory since they had been written */
	uint64_t hints;         /* blocks requested ahead */
	uint64_t writes;        /* blocks given to be written */
	uint64_t dropped;       /* of them, those that never were */
	uint64_t waits;         /* calls that waited for the disk */
} emi_pool_stats;

typedef enum emi_pool_state { EMI_POOL_FREE, EMI_POOL_WRITING, EMI_POOL_FETCHED, EMI_POOL_LENT, EMI_POOL_STATES } emi_pool_state;

typedef struct emi_block_pool {
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats *io;
	size_t block_bytes;
	uint32_t nwrite;        /* most buffers that are being written or lent */
	uint32_t nprefetch;     /* most that hold what was hinted at */
	uint32_t nslots;        /* their sum */
	emi_pool_list list[EMI_POOL_STATES];
	emi_pool_slot **table;  /* by block */
	uint32_t buckets;       /* of it, a power of two */
	emi_pool_stats stats;
	em_errinfo err;         /* the first write that failed */
} emi_block_pool;

/* A pool with so many buffers of block_bytes.  io may be NULL.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_block_pool_open(emi_block_pool *p, em_ctx *ctx, emi_disk *disk, size_t block_bytes, uint32_t nwrite, uint32_t nprefetch,
			      emi_io_stats *io, em_errinfo *err);

/* Wait for all requests and free the buffers that are not lent.  Whether writes failed emi_block_pool_flush() tells
 * before.  A pool that was not opened, all zero, is allowed. */
void emi_block_pool_close(emi_block_pool *p);

/* Bytes of memory that a pool takes. */
uint64_t emi_block_pool_memory(size_t block_bytes, uint32_t nwrite, uint32_t nprefetch);

/* Have other numbers of buffers: what is too much is waited for, what was fetched last forgotten.  nwrite may not be
 * less than are lent: EM_ERR_STATE.  With EM_ERR_MEMLIMIT and EM_ERR_NOMEM all is as before. */
em_status emi_block_pool_resize(emi_block_pool *p, uint32_t nwrite, uint32_t nprefetch, em_errinfo *err);

/* A buffer of the caller's becomes the pool's, which then has one more for writing; or the other way round. */
em_status emi_block_pool_attach(emi_block_pool *p, char *buf, em_errinfo *err);
em_status emi_block_pool_detach(emi_block_pool *p, char **buf, em_errinfo *err);

/*
 * Lend a buffer to be filled.  Waits for the oldest write when all are on their way.  EM_ERR_STATE when all are lent.
 *
 * A write that failed is told by this and all calls below that return a status, from when it is noticed, as the block
 * can no longer be had.
 */
em_status emi_block_pool_lend(emi_block_pool *p, char **buf, em_errinfo *err);

/* A buffer that was lent, or another one in its place, comes back: to be written to a block, of which earlier
 * contents are forgotten, or just so. */
em_status emi_block_pool_write(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err);
void emi_block_pool_return(emi_block_pool *p, char *buf);

/* The block is going to be read: 1 if it is in memory or on its way there, 0 if there is no buffer for it.  Never
 * waits. */
int emi_block_pool_hint(emi_block_pool *p, em_bid bid);

/* Exchange a buffer for one with the block, which may be the same.  A block that could not be fetched is known to
 * nobody afterwards, and the pool is as good as before. */
em_status emi_block_pool_read(emi_block_pool *p, char **buf, em_bid bid, em_errinfo *err);

/* The block is going to be written or freed elsewhere: nothing of it is kept, and nothing is on its way when this
 * returns.  A write that was not begun never is. */
void emi_block_pool_invalidate(emi_block_pool *p, em_bid bid);

/* The same, and free the block: at once, or when its write that has begun is done.  Never waits for that. */
void emi_block_pool_free(emi_block_pool *p, em_bid bid);

/* Wait until all is written. */
em_status emi_block_pool_flush(emi_block_pool *p, em_errinfo *err);

#endif
