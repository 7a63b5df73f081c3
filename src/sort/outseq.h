/* SPDX-License-Identifier: BSL-1.0 */
/*
 * outseq.h -- an ordered sequence of output blocks that several threads fill.
 *
 * Sorted records leave the engine through a ring of block buffers, whether they go into a run, a
 * file, or to the caller.  The length of the sequence is known when it begins, so every record has
 * its place: position p is record p mod cap of block p / cap, unless the first block is shorter.  Threads fill pieces
 * of blocks in any order; a block whose records are all there is handed to the destination, strictly in the order of
 * the blocks; its buffer is used again when the destination is done with it.
 *
 * Buffers are acquired in the order of the blocks by whoever needs one first.  A thread waits only for blocks
 * that lie before those it wants, which somebody who runs already is filling, so nobody waits for ever.
 *
 * Whoever completes the block that is next hands it on, and those behind it that are complete by then.  To begin a
 * transfer takes as long as the disk's queue is full, so this is done without the lock, and who completes a block
 * meanwhile leaves it to the one who does it.
 *
 * Records of any length make a sequence whose blocks are filled by one thread each, which says how long its block is.
 * What number and position the first block of a thread's share has, is known when all shares before it have been
 * measured: that is what emi_outseq_reserve() waits for.  A block that is larger than the buffers gets one of its own;
 * there is only one such at a time, and it waits until all blocks before it were put, so that it cannot be in their
 * way.
 */
#ifndef EMI_OUTSEQ_H
#define EMI_OUTSEQ_H

#include <pthread.h>

#include "block/packer.h"
#include "sort/runs.h"
#include "stream/sink.h"

typedef struct emi_outblock {
	emi_outbuf buf;         /* base, lead, len, request */
	uint64_t index;         /* which block of the sequence it holds */
	size_t records;         /* that it is going to hold */
	size_t filled;          /* that are there */
	uint64_t key;           /* the destination's, as the next: the smallest */
	uint64_t frames;        /* bytes of records or frames, ... */
	size_t packed;          /* bytes that buf.len were packed to; 0: as they are, ... */
	uint64_t packing;       /* ... and nanoseconds of the processor that it took */
	uint32_t sum;           /* the destination's, of these or those */
	int state;
	int clean;              /* the buffer holds nothing but zeroes and what was put in it */
	uint64_t turn;          /* any length: the block that may have this buffer next */
	char *own;              /* any length: its own buffer while base is a larger one ... */
	size_t large_bytes;     /* ... of so many bytes */
} emi_outblock;

enum { EMI_OUT_FREE, EMI_OUT_ACQUIRING, EMI_OUT_FILLING, EMI_OUT_FULL, EMI_OUT_PUT };

struct emi_outseq;

/* Where blocks go. */
typedef struct emi_dest {
	/* Take a block; its request says when the buffer may be used again.  If `lends' is set the
	 * block stays EMI_OUT_PUT until emi_outseq_release().  Called by one thread at a time, in order. */
	em_status (*put)(void *arg, emi_outblock *block, em_errinfo *err);
	/* The lead of a block that begins at this byte of the sequence; NULL: 0.  Called under the sequence's lock. */
	size_t (*lead)(void *arg, uint64_t position);
	void *arg;
	int lends;
	int text;               /* any length: blocks hold output bytes, not frames */
	/* A block is complete: called by the thread that completed it, without the lock, in any order.  NULL: nothing
	 * is to be done. */
	void (*sealed)(void *arg, struct emi_outseq *q, emi_outblock *block);
} emi_dest;

typedef struct emi_outseq {
	emi_runs *runs;         /* those whose order its records have, and whose disks its blocks may go to */
	emi_dest dest;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	emi_outblock *ring;
	uint32_t nring;
	char *arena;            /* their buffers, and the spare ones for packing, side by side */
	emi_packer packer;
	size_t cap;             /* records per block, ... */
	size_t short_by;        /* ... of which the first one has so many fewer */
	size_t buffer_bytes;    /* of each buffer */
	uint64_t total;         /* records in the sequence */
	uint64_t next_acquire;  /* block that nobody has asked for yet; written under the lock, atomic */
	uint64_t next_put;      /* block that goes to the destination next */
	int putting;            /* somebody is handing on blocks */
	uint64_t released;      /* lending: blocks that came back */
	uint32_t large;         /* blocks that have a buffer of their own */
	uint64_t next_share;    /* any length: the share that may reserve next, and where it begins */
	uint64_t next_block;
	uint64_t next_byte;
	char *stay;             /* any length: blocks stay in this memory, of stay_bytes; NULL: they go to the
	                           destination */
	size_t stay_bytes;
	pthread_t owner;        /* the thread that drives it all: it ticks while it waits */
	em_status status;       /* of the first failure; detail in err; written under the lock, atomic */
	em_errinfo err;
} emi_outseq;

/* Allocate nring buffers for blocks of up to block_bytes; so many threads may pack blocks at a time. */
em_status emi_outseq_init(emi_outseq *q, emi_runs *runs, uint32_t nring, uint32_t packers, size_t block_bytes,
			  em_errinfo *err);
void emi_outseq_free(emi_outseq *q);

/* Begin a sequence of total records (any length: 0), in blocks of cap (any length: bytes), on the thread that drives it
 * all.  Blocks of the sequence before, which must have been put, may still be on their way; a failure stays. */
void emi_outseq_begin(emi_outseq *q, const emi_dest *dest, uint64_t total, size_t cap);

/* One size, before anything else: the first block is to have `by' records fewer, by < cap. */
void emi_outseq_begin_short(emi_outseq *q, size_t by);

/* The block that position pos is in. */
static inline uint64_t emi_outseq_block_of(const emi_outseq *q, uint64_t pos)
{
	return (pos + q->short_by) / q->cap;
}

/* Any length: the same, but frames stay in memory, aligned to 8, each block where emi_block_place() has it: no buffer
 * is waited for, nothing is put. */
void emi_outseq_begin_stay(emi_outseq *q, char *memory, size_t bytes, size_t cap);

/*
 * The place for records [pos, pos + *n): a pointer to the place of the first, with *n cut to what lies in its
 * block.  Waits for a buffer.  NULL after a failure.  When they are filled in, say so.
 */
void *emi_outseq_place(emi_outseq *q, uint64_t pos, size_t *n);
void emi_outseq_filled(emi_outseq *q, uint64_t pos, size_t n);

/* Any length.  Reserve places for a share, the share-th: so many blocks of so many bytes together; *first is the
 * number of the first block and *position that of its first byte.  Waits for the shares before it.  0 after a
 * failure. */
int emi_outseq_reserve(emi_outseq *q, uint64_t share, uint64_t blocks, uint64_t bytes, uint64_t *first,
		       uint64_t *position);

/* Any length.  The buffer of block `index', of so many bytes from `position' on; waits for it.  NULL after a failure.
 * When it is filled in, say so. */
char *emi_outseq_take(emi_outseq *q, uint64_t index, size_t bytes, uint64_t position);
/* It became shorter; what is behind its end is all zeroes. */
void emi_outseq_shorten(emi_outseq *q, uint64_t index, size_t bytes);

void emi_outseq_full(emi_outseq *q, uint64_t index, size_t records);

/* Is the destination behind: are more blocks on their way than it works on at a time? */
int emi_outseq_is_behind(emi_outseq *q);

/* Could block i be acquired without waiting for a lent block to come back? */
int emi_outseq_room(emi_outseq *q, uint64_t i);

/* Lending: the oldest block that is put and not yet released, or NULL; and give it back. */
emi_outblock *emi_outseq_front(emi_outseq *q);
void emi_outseq_release(emi_outseq *q);

/* Wait until all that was put is written.  EM_OK or the first failure, with its detail. */
em_status emi_outseq_end(emi_outseq *q, em_errinfo *err);

/* EM_OK or the first failure. */
em_status emi_outseq_status(emi_outseq *q);

/* Make every later place fail. */
void emi_outseq_abort(emi_outseq *q, em_status status, const em_errinfo *err);

#endif
