/* SPDX-License-Identifier: BSL-1.0 */
/*
 * prefetch.h -- fetching the blocks of several sequences in the order in which they will be consumed.
 *
 * Each sequence says, for one block after the other, where it is and the smallest key in it.  Blocks of
 * all sequences are requested in the order of those keys, as that is the order in which a merge will come to
 * need them; with one disk that order is the optimal schedule (Dementiev and Sanders 2003, section 2.4).  Where keys
 * are equal, as beginnings of strings may all be, the sequence comes first that has the fewest blocks in memory: so
 * each is ahead, and the one that is used up gets more.
 *
 * With several disks that order leaves some of them idle: the next blocks may all be on one disk while the buffers are
 * full.  Then the best order for them is computed (<extmem/sys/schedule.h>), for a window of the blocks that are next
 * in the order of keys; when a quarter of it was requested, the next are added and what is left is ordered anew.  What
 * is in a window is a matter of memory and time, not of data: it is ordered as well as all of them would be.  That
 * order is for so many buffers as the caller says, fewer than there are: the others make up for a consumer that does
 * not use blocks at one rate (section 5 there has the shares).
 *
 * The order is a hint.  Every sequence that has blocks left always owns one buffer that prefetching
 * for others cannot take, so whatever the hints say, the block that the consumer asks for can be read.
 *
 * Sequences come in groups, which are consumed one after the other, as the merges of a pass are.  When all hints of the
 * group at hand were told, the next one joins: its blocks are behind all others in the order of consumption, and are
 * requested with buffers that the group at hand can do without.  So one order goes through all groups (section 2.4
 * there: the prediction sequences of a pass are concatenated), and disks have something to read while one ends and the
 * next begins.  There are never more than two: open, join, turn, and then, again and again, take and return blocks,
 * join, ... turn.
 *
 * The coming group owns buffers, too, when its turn comes.  Then all buffers are its own, but for those that its blocks
 * are in already: so of all that there are, not of those that are free, one must be left for each of its sequences that
 * has none.
 */
#ifndef EMI_PREFETCH_H
#define EMI_PREFETCH_H

#include "block/disk.h"

typedef struct emi_hint {
	uint64_t key;           /* smallest in the block */
	em_bid bid;
	size_t bytes;           /* to be read, whole pages */
	size_t data;            /* of them mean something; the consumer's */
	size_t packed;          /* or `data' was packed to so many (packer.h); 0: it was not */
	char *memory;           /* it is here, and nothing is to be read; NULL: it is on a disk */
	uint32_t sum;           /* of what is to be read; the consumer's */
} emi_hint;

/* The next block of a sequence of the group that joined last.  EM_OK, EM_END, or a failure.  May read. */
typedef em_status (*emi_hint_fn)(void *arg, uint32_t seq, emi_hint *hint, em_errinfo *err);

typedef struct emi_fetched {
	char *buf;
	char *own;              /* its own buffer, while buf is where a block in memory is; or NULL */
	emi_hint hint;
	emi_request rq;
	uint32_t seq;
	uint32_t group;         /* that this is a sequence of */
	uint64_t number;        /* of the block in its sequence */
	struct emi_fetched *next; /* in a free list, or the next block of the same sequence */
} emi_fetched;

typedef struct emi_seq emi_seq;

typedef struct emi_fetch_group {
	emi_seq *seq;
	uint32_t k;
	uint32_t bare;          /* sequences with blocks left that have no buffer at all */
	uint32_t buffers;       /* that blocks of it are in, requested or with the consumer */
} emi_fetch_group;

/* A block of the window. */
typedef struct emi_ahead {
	emi_hint hint;
	uint64_t number;
	uint32_t seq;
	uint16_t group;         /* that this is a sequence of */
	uint16_t asked;         /* it was requested, and others before it were not */
} emi_ahead;

/* What is ahead of the requests, in the order of keys, and in which to request it. */
typedef struct emi_fetch_window {
	uint32_t disks;
	uint32_t buffers;       /* that the order is for; 0: there is no window, and blocks are requested in the order
	                           of keys */
	uint32_t room;          /* entries */
	uint32_t n;             /* in use */
	uint32_t ordered;       /* entries of order, ... */
	uint32_t at;            /* ... of which this is the next */
	uint32_t asked;         /* requested since it was ordered */
	emi_ahead *block;
	uint32_t *disk, *order, *scratch;
} emi_fetch_window;

typedef struct emi_prefetch {
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats *io;
	emi_hint_fn fn;
	void *arg;
	size_t block_bytes;
	uint32_t k;             /* sequences of a group, at most */
	uint32_t nbuffers;
	emi_fetched *buffers;
	char *arena;            /* their memory, side by side: huge pages are for what is large */
	uint32_t spares;        /* buffers beside these, ... */
	char *spare;            /* ... for unpacking; NULL: there is none */
	emi_fetched *free;
	uint32_t nfree;
	emi_seq *seq;           /* k for each group */
	emi_fetch_group group[2];
	uint32_t now;           /* the one that is being consumed ... */
	uint32_t last;          /* ... and the one that joined last, whose hints are being told: that, or the coming
	                           one */
	uint32_t *heap;         /* sequences of that by (key of next block, index) */
	uint32_t nheap;
	emi_fetch_window window;
	uint64_t scramble;      /* for tests: not 0 makes the hints wrong */
	uint64_t missed;        /* blocks that had to be read on demand */
} emi_prefetch;

/* Groups of up to k sequences, k + extra buffers of block_bytes, and one more if blocks may be packed.  disk may be
 * NULL while all blocks are in memory.  They are requested in the best order for `best' buffers; 0, or with one disk:
 * in that of keys.  scramble is 0.  At first there is a group of no sequences. */
em_status emi_prefetch_open(emi_prefetch *p, em_ctx *ctx, emi_disk *disk, uint32_t k, uint32_t extra, uint32_t best,
			    size_t block_bytes, int packs, emi_hint_fn fn, void *arg, emi_io_stats *io,
			    uint64_t scramble, em_errinfo *err);
void emi_prefetch_close(emi_prefetch *p);

/* Bytes of memory that a window for k sequences takes. */
uint64_t emi_prefetch_window_memory(uint64_t k, uint32_t disks, uint32_t best);

/* May a group join: are all hints of the one at hand told, and is there no other that is coming? */
int emi_prefetch_told(const emi_prefetch *p);

/* A group of k sequences joins, as it may: hints are its from now on.  After a failure, which is one of the hints',
 * there is nothing but closing. */
em_status emi_prefetch_join(emi_prefetch *p, uint32_t k, em_errinfo *err);

/* The group that joined is the one at hand.  All blocks of the one before were taken and brought back: EM_ERR_INTERNAL
 * if not. */
em_status emi_prefetch_turn(emi_prefetch *p, em_errinfo *err);

/* Request as many blocks as there are buffers for. */
em_status emi_prefetch_advance(emi_prefetch *p, em_errinfo *err);

/* Would emi_prefetch_next() find no buffer?  Then the consumer must bring one back first.  seq is of the group at hand,
 * here and below. */
int emi_prefetch_starved(const emi_prefetch *p, uint32_t seq);

/* The request of the next block of a sequence, to wait for; *out is NULL at the end of the sequence.  The
 * buffer is the consumer's until it brings it back. */
em_status emi_prefetch_next(emi_prefetch *p, uint32_t seq, emi_fetched **out, em_errinfo *err);

/* EM_ERR_CORRUPT: a block is not what was written, which is told with its place, or what stayed in memory. */
em_status emi_hint_damaged(const emi_disk *disk, const emi_hint *hint, em_errinfo *err);

/* Its request is done: unpack what was read, if it was packed.  EM_OK, EM_ERR_CORRUPT. */
em_status emi_prefetch_unpack(emi_prefetch *p, emi_fetched *f, em_errinfo *err);

/* Its request is done and the data was used: the buffer comes back. */
void emi_prefetch_return(emi_prefetch *p, emi_fetched *f);

#endif
