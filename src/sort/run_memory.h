/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_memory.h -- blocks of runs that stay in memory.
 *
 * A sort may have more memory than it needs for forming runs and merging them.  It is worth having only where it saves
 * time: fresh memory costs as much as a fast disk on a host that takes it back, and nearly nothing elsewhere.  So runs
 * are formed in moderate areas, and each block that is complete either goes to the disks or stays where it is.  Then
 * its buffer changes hands, and the ring of output buffers gets a fresh one.
 *
 * The rule: a block stays while a fresh buffer costs less than half the time of writing a block.  Half, because fresh
 * memory takes the time of a thread that would sort, and a disk that is slow for a moment only is not worth that.  Of a
 * block that was packed it is all of that time: then disks are slow for long, and packing took the time of a thread,
 * too, which counts on their side.  Both costs are measured in the run itself.  Fresh memory is measured whenever a
 * buffer is cleaned for its first use, by the processor's time.  Writing is measured while several writes are under way
 * for each disk, as otherwise it costs nobody any time.  So at first blocks are written until the disks are behind.
 * That is tried again from time to time, as a disk may have been slow for a moment only: when fresh memory took several
 * times as long as trying takes.  What is sorted does not depend on it.
 *
 * A block in memory has an id, too: the disk is EMI_IN_MEMORY.  So has a page of a run's directory: where blocks may
 * stay, all pages do, and disks are not opened before something is written to them.
 */
#ifndef EMI_RUN_MEMORY_H
#define EMI_RUN_MEMORY_H

#include "sort/run.h"

/* Buffers of one size come from pieces of memory that are large enough for huge pages. */
typedef struct emi_buffer_row {
	size_t bytes;           /* of each */
	char *next;             /* that nobody has, ... */
	uint32_t left;          /* ... and how many there are */
} emi_buffer_row;

typedef struct emi_memory_piece {
	char *base;
	size_t bytes;
} emi_memory_piece;

/* What a byte costs that is written. */
typedef struct emi_write_rate {
	uint64_t sent;          /* bytes that were sent to the disks, ... */
	uint64_t block;         /* ... and those of the last block: packed ones are shorter */
	int deep;               /* many of them were under way when a block came last: ... */
	uint64_t when;          /* ... that was then, ... */
	uint64_t done;          /* ... and so many were there */
	uint64_t deep_ns;       /* time for which it was so, ... */
	uint64_t deep_bytes;    /* ... and what was written meanwhile */
	uint64_t stayed;        /* bytes that did not go there since that was measured */
} emi_write_rate;

typedef struct emi_run_memory {
	em_ctx *ctx;
	uint64_t most;          /* bytes that may be taken; 0: all blocks are written */
	uint64_t taken;
	uint32_t disks;
	emi_buffer_row blocks;
	emi_buffer_row pages;
	char **buffer;          /* by number: block or page */
	uint64_t n, room;
	emi_memory_piece *piece;
	uint64_t npieces, pieces_room;
	uint64_t kept;          /* bytes in blocks that stayed */
	emi_write_rate rate;    /* of the disks */
	double fresh;           /* nanoseconds for a byte of fresh memory; 0: not known.  Atomic */
	int no_disks;           /* they could not be opened, or are full */
	int stays;              /* the last block stayed, so the next one may, too.  Atomic */
} emi_run_memory;

/* Up to `most' bytes, in buffers for blocks of so many bytes that else go to so many disks; most 0: there is none.  All
 * zeroes are such a one, too. */
void emi_run_memory_init(emi_run_memory *m, em_ctx *ctx, uint64_t most, size_t block_bytes, uint32_t disks);
void emi_run_memory_free(emi_run_memory *m);

/* A buffer for a block that is going to be written was used for the first time, of so many bytes, which took so many
 * nanoseconds.  One thread at a time. */
void emi_run_memory_measured(emi_run_memory *m, size_t bytes, uint64_t ns);

/* Should the next block of so many bytes stay?  packing: nanoseconds that it took to pack it, or 0; written: bytes of
 * those before that are on the disks.  Here and below: one thread at a time. */
int emi_run_memory_wants(emi_run_memory *m, size_t bytes, uint64_t packing, uint64_t written);

/* It goes to the disks. */
void emi_run_memory_sent(emi_run_memory *m, size_t bytes);

/* A block stays: its buffer changes hands, and *buffer is a fresh one.  0: there is no room, and nothing has
 * changed. */
int emi_run_memory_keep(emi_run_memory *m, char **buffer, size_t data, em_bid *bid);

/* So many buffers of a ring would be freed now: some may have changed hands.  1: that is so, and their memory is m's
 * from now on; 0: it is not, and nothing has changed. */
int emi_run_memory_adopt(emi_run_memory *m, char *base, size_t bytes);

/* Room for a page of EMI_DIR_BYTES.  0: there is none. */
int emi_run_memory_page(emi_run_memory *m, em_bid *bid);

/* No more blocks stay: the bytes that they would have taken are somebody else's. */
uint64_t emi_run_memory_leave(emi_run_memory *m);

/* Is the next block likely to stay?  Any thread. */
int emi_run_memory_stays(const emi_run_memory *m);

/* Where it is; NULL: nothing is in memory by that id. */
char *emi_run_memory_at(const emi_run_memory *m, em_bid bid);

#endif
