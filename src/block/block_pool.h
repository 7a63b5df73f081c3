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
 * its write has come.  A pool is a holder of its store, so whoever writes to that or frees blocks has the pool forget
 * them.  Others who write to the same disks or file tell it (emi_block_pool_invalidate()).
 *
 * A block whose write failed stays in its buffer, as in a cache: it can be read, and emi_block_pool_flush() tries
 * again.
 *
 * A buffer is what emi_buffer_alloc() gives for a block; it belongs to whoever holds it, and which one it is does not
 * matter.  Buffers are allocated when they are needed for the first time.  All users are on one thread.
 */
#ifndef EMI_BLOCK_POOL_H
#define EMI_BLOCK_POOL_H

#include "block/bid_map.h"
#include "block/buffers.h"
#include "block/store.h"

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

typedef enum emi_pool_state {
	EMI_POOL_FREE,
	EMI_POOL_WRITING,
	EMI_POOL_FAILED,
	EMI_POOL_FETCHED,
	EMI_POOL_LENT,
	EMI_POOL_STATES
} emi_pool_state;

typedef struct emi_block_pool {
	emi_holder holder;
	em_ctx *ctx;
	emi_store *store;
	emi_io_stats *io;
	emi_buffers *buffers;   /* where they are from, of the owner's; NULL: each is allocated on its own */
	size_t block_bytes;
	uint32_t nwrite;        /* most buffers that are being written or lent, or could not be written */
	uint32_t nprefetch;     /* most that hold what was hinted at */
	uint32_t nslots;        /* that there are, at most their sum */
	uint32_t room;          /* that there are tables for */
	emi_pool_list list[EMI_POOL_STATES];
	emi_pool_slot **slot;   /* by their numbers */
	emi_bid_map map;        /* which slot knows a block */
	emi_pool_stats stats;
	em_errinfo err;         /* of the write that failed last */
} emi_block_pool;

/* EM_ERR_INVAL: no pool has so many buffers. */
em_status emi_block_pool_check(uint32_t nwrite, uint32_t nprefetch, em_errinfo *err);

/* A pool with up to so many buffers of block_bytes, none of which it has yet.  The store is kept.  io may be NULL.
 * EM_ERR_INVAL: they are too many. */
em_status emi_block_pool_open(emi_block_pool *p, em_ctx *ctx, emi_store *store, size_t block_bytes, uint32_t nwrite,
			      uint32_t nprefetch, emi_io_stats *io, em_errinfo *err);

/* Wait for all requests and free the buffers that are not lent.  Blocks that could not be written are lost, which is
 * logged; emi_block_pool_flush() tells before.  A pool that was not opened, all zero, is allowed. */
void emi_block_pool_close(emi_block_pool *p);

/* Most bytes of memory that a pool takes. */
uint64_t emi_block_pool_memory(size_t block_bytes, uint32_t nwrite, uint32_t nprefetch);

/* Have other numbers of buffers: what is too much is waited for, what was fetched last forgotten.  As
 * emi_block_pool_open(); EM_ERR_STATE: more than nwrite are lent; how a write failed, if more than nwrite are lent or
 * could not be written.  Then all is as before. */
em_status emi_block_pool_resize(emi_block_pool *p, uint32_t nwrite, uint32_t nprefetch, em_errinfo *err);

/* A buffer of the caller's becomes the pool's, which then has one more for writing; or the other way round.
 * EM_ERR_MEMLIMIT, EM_ERR_NOMEM; as emi_block_pool_lend(). */
em_status emi_block_pool_attach(emi_block_pool *p, char *buf, em_errinfo *err);
em_status emi_block_pool_detach(emi_block_pool *p, char **buf, em_errinfo *err);

/* Lend a buffer to be filled.  Waits for the oldest write when all are on their way.  EM_ERR_STATE when all are lent;
 * how a write failed, when all are that are not lent; EM_ERR_MEMLIMIT, EM_ERR_NOMEM: there is none yet. */
em_status emi_block_pool_lend(emi_block_pool *p, char **buf, em_errinfo *err);

/* A buffer that was lent, or another one in its place, comes back: to be written to a block, of which earlier
 * contents are forgotten, or just so.  EM_ERR_STATE: none is lent; what emi_store_check_block() and emi_store_forget()
 * say: then the buffer is still the caller's. */
em_status emi_block_pool_write(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err);
void emi_block_pool_return(emi_block_pool *p, char *buf);

/* The block is going to be read: 1 if it is in memory or on its way there, 0 if there is no buffer for it.  Never
 * waits. */
int emi_block_pool_hint(emi_block_pool *p, em_bid bid);

/* It is not going to be read soon after all: its buffer may be used for other blocks. */
void emi_block_pool_take_back(emi_block_pool *p, em_bid bid);

/* Exchange a buffer for one with the block, which may be the same.  A block that could not be fetched is known to
 * nobody afterwards, and the pool is as good as before. */
em_status emi_block_pool_read(emi_block_pool *p, char **buf, em_bid bid, em_errinfo *err);

/* The block is going to be written or freed elsewhere: nothing of it is kept, and nothing is on its way when this
 * returns.  A write that was not begun never is. */
void emi_block_pool_invalidate(emi_block_pool *p, em_bid bid);

/* The same, and free the block: at once, or when its write that has begun is done.  Never waits for that.  As
 * emi_store_free(). */
em_status emi_block_pool_free(emi_block_pool *p, em_bid bid, em_errinfo *err);

/* Write what could not be written, and wait until all is.  The first failure. */
em_status emi_block_pool_flush(emi_block_pool *p, em_errinfo *err);

/* Of those files that a pool is made of: pool_slots.c has buffers, block_pool.c uses them, pool_range.c stands on both.
 * */

struct emi_pool_slot {
	emi_pool_slot *prev, *next; /* in its list */
	uint32_t number;
	char *buf;              /* NULL: it is lent */
	em_bid bid;             /* of the block, or of the last one */
	emi_request rq;
	emi_pool_state state;   /* which list */
	int known;              /* the buffer holds the block, or is going to */
	int hinted;             /* it is being written and going to be read */
	int frees;              /* the block is to be freed when the request is done */
};

/* The slot that knows a block, or NULL; have it know one that no slot does, or know nothing. */
emi_pool_slot *emi_pool_find(const emi_block_pool *p, em_bid bid);
void emi_slot_know(emi_block_pool *p, emi_pool_slot *s, em_bid bid);
void emi_slot_forget(emi_block_pool *p, emi_pool_slot *s);

/* To the end of a list; to the front of the free ones, as nothing in it is wanted. */
void emi_slot_move_last(emi_block_pool *p, emi_pool_slot *s, emi_pool_state state);
void emi_slot_release(emi_block_pool *p, emi_pool_slot *s);

/* One slot more, with this buffer or, if it is NULL, a new one; NULL: there is no memory. */
emi_pool_slot *emi_pool_add_slot(emi_block_pool *p, char *buf, em_errinfo *err);
void emi_pool_free_slot(emi_block_pool *p, emi_pool_slot *s);
void emi_pool_free_tables(emi_block_pool *p);
uint64_t emi_pool_tables_memory(uint64_t slots);

/* End a request whose result nobody asks for. */
void emi_slot_settle(emi_block_pool *p, emi_pool_slot *s);

/* Begin a write, or wait for its end: as it fails. */
em_status emi_slot_write(emi_block_pool *p, emi_pool_slot *s, em_errinfo *err);
em_status emi_slot_end_write(emi_block_pool *p, emi_pool_slot *s, em_errinfo *err);

/* What the slot knows is wrong from now on; and nothing of that is under way any more. */
void emi_slot_drop(emi_block_pool *p, emi_pool_slot *s);
void emi_slot_drop_now(emi_block_pool *p, emi_pool_slot *s);

/* pool_range.c: as a holder. */
extern const emi_holder_calls emi_pool_calls;

#endif
