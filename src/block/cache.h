/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.h -- blocks of one size of a disk in memory, some of many.
 *
 * A block that is got is pinned: it stays where it is until it was unpinned as often as it was got.  What is not pinned may go, in an
 * order that a policy chooses (policy.h).  Changed blocks are written when their frames are needed, several at a time and ahead of need, while clean ones give theirs;
 * emi_cache_flush() writes all.
 *
 * A block that is being written back is still there: it may be read meanwhile, and nothing is read from the disk that is on its way to it.  Who gets it for
 * changing it waits for the end, if the write was begun, and takes it back else.  A copy to write from would need a frame just when frames are short.
 *
 * Failures.  A block that cannot be read is not there, and whoever wants it is told.  One that cannot be written stays, changed, and is
 * not tried again until emi_cache_flush(), which reports it if it fails again; so does emi_cache_get() when there is no other frame left.  Nothing is
 * lost but by closing, which is logged.
 *
 * One thread at a time, as with all objects; requests are made by others.
 */
#ifndef EMI_CACHE_H
#define EMI_CACHE_H

#include "block/trace.h"

typedef struct emi_cache emi_cache;

typedef struct emi_cache_opts {
	emi_disk *disk;
	uint32_t frames;        /* m, from 1 to 2^24 */
	size_t block_bytes;     /* B, a multiple of EMI_PAGE */
	const emi_policy *policy; /* NULL: S3-FIFO */
	uint64_t seed;          /* for a policy that draws */
	uint32_t batch;         /* blocks that are written back at a time; 0: 16, or a quarter of the frames */
	emi_io_stats *io;       /* NULL: counted nowhere */
	emi_access_fn trace;    /* NULL: nobody is told */
	void *trace_user;
} emi_cache_opts;

typedef enum emi_cache_mode {
	EMI_CACHE_READ,         /* not to be changed */
	EMI_CACHE_WRITE,
	EMI_CACHE_FRESH         /* to be overwritten as a whole: it is not read, and counts as changed at once */
} emi_cache_mode;

/* A place for a block. */
typedef struct emi_cache_frame {
	char *buf;
	emi_bid bid;
	/* the cache's */
	uint32_t pins;
	uint8_t busy;           /* a transfer is under way */
	uint8_t dirty;
	uint8_t failed;         /* it could not be written */
	uint8_t hinted;         /* and not got since */
	emi_request rq;
} emi_cache_frame;

typedef struct emi_cache_stats {
	uint64_t hits;          /* the block was there, or on its way */
	uint64_t misses;
	uint64_t reads;         /* blocks read, hints included */
	uint64_t writes;        /* blocks written */
	uint64_t write_backs;   /* begun because frames were needed, or going to be */
	uint64_t hints;         /* that began a read */
	uint64_t waits;         /* for a write-back */
} emi_cache_stats;

/* Bytes of memory that a cache takes. */
uint64_t emi_cache_memory(const emi_cache_opts *opts);

/* Open an empty cache; all memory is taken at once.  EM_ERR_RANGE, EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_cache_open(emi_cache **out, em_ctx *ctx, const emi_cache_opts *opts, em_errinfo *err);

/* Close it; what was changed and not flushed is discarded.  NULL is allowed. */
void emi_cache_close(emi_cache *c);

/* Pin a block.  EM_ERR_IO and others of reading it; those of writing others, if no frame is left but theirs; EM_ERR_STATE: all frames are pinned. */
em_status emi_cache_get(emi_cache *c, emi_bid bid, emi_cache_mode mode, emi_cache_frame **out, em_errinfo *err);

/* Done with it; dirty: it was changed since it was got. */
void emi_cache_unpin(emi_cache *c, emi_cache_frame *f, int dirty);

/* It is going to be got: begin to read it if there is a frame that can be had without waiting. */
void emi_cache_hint(emi_cache *c, emi_bid bid);

/* Write all that was changed, also what is pinned, as it is now, and wait.  The first failure. */
em_status emi_cache_flush(emi_cache *c, em_errinfo *err);

/* Forget a block, as it was freed or is going to be, and do not write it.  EM_ERR_STATE: it is pinned. */
em_status emi_cache_invalidate(emi_cache *c, emi_bid bid, em_errinfo *err);

/* Take the memory of a frame, B bytes, away from the cache, which has one less until it comes back.  As emi_cache_get(). */
em_status emi_cache_steal(emi_cache *c, char **buf, em_errinfo *err);
void emi_cache_give(emi_cache *c, char *buf);

/* How many it has, and how many of them have changed blocks. */
uint32_t emi_cache_frames(const emi_cache *c);
uint32_t emi_cache_dirty(const emi_cache *c);

void emi_cache_stats_get(const emi_cache *c, emi_cache_stats *stats);

#endif
