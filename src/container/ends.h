/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ends.h -- a sequence of records that grows and shrinks at its ends: what stacks, queues and deques are inside.
 *
 * The records lie in blocks, front to back.  All blocks are full, but for the first one, in which places in front may
 * be empty, and the last one, in which places behind may.  Their ring has for each where it is:
 *
 *     front blocks   disk blocks                        back blocks
 *     [in memory]    [known by their ids, all full]     [in memory]
 *
 * While nothing is on a disk all blocks count as back blocks.  There may be `hold' blocks in memory, `hold_front' of
 * them at the front.  Who needs one more has the innermost block of his end written.  Then there are front blocks, and
 * from then on each end has its own share; so popping at one end never has the other write.
 *
 * A block that is needed at an end comes back from the disk and is freed there.  Those behind it are hinted at.
 * Writing and reading is a pool's (block/block_pool.h), whose buffers change hands with those here: nothing is copied.
 *
 * A sole block may be smaller than the others: it begins with a piece of memory, which grows (base/pieces.h).
 *
 * Records between the ends are looked at by way of a cache, which is on the same store as the pool, so they agree.
 *
 * Files.  ends.c opens and closes; ends_blocks.c moves blocks between memory and disks; ends_move.c moves records at
 * the ends; ends_range.c looks at any.  What callers outside give is checked in public_ends.c and its relatives.
 */
#ifndef EMI_ENDS_H
#define EMI_ENDS_H

#include <string.h>

#include <extmem/container.h>

#include "block/block_pool.h"
#include "block/cache.h"

#define EMI_ENDS_RING_LEAST 8u

/* Which ends are used. */
typedef enum emi_ends_kind { EMI_STACK, EMI_QUEUE, EMI_DEQUE } emi_ends_kind;

typedef enum emi_end { EMI_BACK, EMI_FRONT } emi_end;

typedef struct emi_ends_block {
	char *buf;              /* NULL: it is on a disk */
	em_bid bid;             /* where */
} emi_ends_block;

/* What options come to. */
typedef struct emi_ends_shape {
	emi_ends_kind kind;
	size_t record;          /* bytes of a record */
	size_t block_bytes;
	size_t full;            /* bytes of records in a full block */
	uint32_t hold;          /* most blocks in memory at the ends, */
	uint32_t hold_front;    /* of them at the front, when some are on disks */
	uint32_t nwrite, nprefetch; /* buffers of a pool of its own; 0: it is shared */
	uint32_t depth;         /* blocks that are read ahead */
	uint32_t frames;        /* of the cache */
} emi_ends_shape;

typedef struct emi_ends {
	em_ctx *ctx;
	emi_ends_shape shape;
	emi_store *store;
	emi_block_pool own;     /* not opened if another one is shared */
	emi_block_pool *pool;
	emi_cache *cache;       /* NULL: nobody has looked between the ends yet */
	em_placement placement;
	int placed;             /* there is one */
	uint64_t turn;          /* blocks that were placed */
	emi_ends_block *ring;   /* a power of two of entries */
	uint64_t room, first;
	uint64_t number;        /* of the first block; others have the numbers that follow, for as long as they live */
	uint64_t blocks;        /* in all ... */
	uint64_t fronts;        /* ... front blocks ... */
	uint64_t disks;         /* ... disk blocks */
	size_t front_at;        /* where the first record begins in the first block */
	size_t back_at;         /* where the last one ends in the last block */
	size_t piece;           /* bytes of the sole block, while it is smaller; else 0 */
	emi_buffers buffers;    /* those in memory, and those of a pool of its own */
	uint64_t hinted[2];     /* by end: blocks on disks next to it that are read ahead */
	uint64_t version;       /* grows whenever records come or go by a call, or a block leaves the memory */
	uint64_t written, read, recalled; /* blocks */
} emi_ends;

/* Bytes of memory where options name none. */
uint64_t emi_ends_usual_memory(const em_ctx *ctx);

/* Fill in what is 0 in options.  ctx may be NULL: its memory is not asked for then.  shared: the pool in them, or NULL.
 * EM_ERR_INVAL, EM_ERR_RANGE. */
em_status emi_ends_shape_init(emi_ends_shape *s, emi_ends_kind kind, const em_container_opts *o, const em_ctx *ctx,
			      const emi_block_pool *shared, em_errinfo *err);

/* Most bytes that one takes; UINT64_MAX: more than can be counted. */
uint64_t emi_ends_memory(const emi_ends_shape *s, uint64_t records);

/* None; shared: a pool that outlives it, or NULL.  EM_ERR_INVAL (the placement), EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_ends_open(emi_ends **out, em_ctx *ctx, const emi_ends_shape *s, const em_placement *placement,
			emi_block_pool *shared, em_errinfo *err);
void emi_ends_close(emi_ends *e);

/* Forget all records and free their blocks.  The first failure; all are forgotten in any case. */
em_status emi_ends_clear(emi_ends *e, em_errinfo *err);

/* Read so many blocks ahead from now on.  EM_ERR_MEMLIMIT. */
em_status emi_ends_prefetch(emi_ends *e, uint32_t depth, em_errinfo *err);

/* Have a cache. */
em_status emi_ends_look(emi_ends *e, em_errinfo *err);

/* The i-th block. */
static inline emi_ends_block *emi_ends_at(const emi_ends *e, uint64_t i)
{
	return &e->ring[(e->first + i) & (e->room - 1)];
}

static inline uint64_t emi_ends_size(const emi_ends *e)
{
	if (e->blocks == 0)
		return 0;
	return (e->blocks - 1) * (e->shape.full / e->shape.record) + e->back_at / e->shape.record -
	       e->front_at / e->shape.record;
}

/* ends_blocks.c */

/* Have a block at an end that a record can be put in: where `at' of that end says.  As em_stack_push(). */
em_status emi_ends_room(emi_ends *e, emi_end end, em_errinfo *err);

/* Have the first or last record in memory.  EM_NOT_FOUND: there is none; as em_stack_pop(). */
em_status emi_ends_bring(emi_ends *e, emi_end end, em_errinfo *err);

/* What was hinted at, next to an end, is not needed soon. */
void emi_ends_take_back_hints(emi_ends *e, emi_end end);

/* Free the block's space and its memory. */
em_status emi_ends_drop_block(emi_ends *e, emi_ends_block *b, em_errinfo *err);

/* ends_move.c.  Records of arrays are in the order from front to back.  *done: how many moved, also after a failure:
 * those of the array that are nearest to the middle of the sequence when they enter; when they leave they are at its
 * beginning in any case. */

em_status emi_ends_push(emi_ends *e, emi_end end, const char *records, uint64_t n, uint64_t *done, em_errinfo *err);
em_status emi_ends_pop(emi_ends *e, emi_end end, char *records, uint64_t n, uint64_t *done, em_errinfo *err);
em_status emi_ends_peek(emi_ends *e, emi_end end, char *record, em_errinfo *err);

/* ends_range.c.  There are so many records. */

em_status emi_ends_read(emi_ends *e, uint64_t i, char *records, uint64_t n, em_errinfo *err);
/* A failure has the record that could not be written, from 1. */
em_status emi_ends_write(emi_ends *e, uint64_t i, const char *records, uint64_t n, em_errinfo *err);

/* Where record i is: in which block, and how many bytes behind its beginning; and how many records lie there from it
 * on. */
typedef struct emi_ends_place {
	uint64_t block;
	size_t at;
	uint64_t n;
} emi_ends_place;

emi_ends_place emi_ends_find(const emi_ends *e, uint64_t i);

#endif
