/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.h -- blocks of one size of a disk in memory, some of many.
 *
 * What a cache does, and what policies and traces are, extmem/sys/cache.h says; public_cache.c puts that over this.  Here blocks are lent with their frames, and
 * callers are trusted.
 *
 * Nothing is read from the disk that is on its way to it.  Who wants to change a block that is being written back waits, as a copy to write from would need a frame just when
 * frames are short.
 */
#ifndef EMI_CACHE_H
#define EMI_CACHE_H

#include <extmem/sys/cache.h>

#include "block/disk.h"

typedef struct emi_cache emi_cache;

typedef struct emi_cache_opts {
	emi_disk *disk;
	uint32_t frames;        /* m, from 1 to 2^24 */
	size_t block_bytes;     /* B, a multiple of EMI_PAGE */
	const em_policy *policy; /* NULL: S3-FIFO */
	uint64_t seed;          /* for a policy that draws */
	uint32_t batch;         /* blocks that are written back at a time; 0: 16, or a quarter of the frames */
	emi_io_stats *io;       /* NULL: counted nowhere */
	em_cache_access_fn trace; /* NULL: nobody is told */
	void *trace_user;
} emi_cache_opts;

/* A place for a block: what a hit needs of it, so that in a large cache as many as possible lie near the processor. */
typedef struct emi_cache_frame {
	/* the cache's */
	uint32_t pins;
	unsigned busy : 2;      /* a transfer is under way */
	unsigned dirty : 2;
	unsigned failed : 1;    /* it could not be written */
	unsigned hinted : 1;    /* and not got since */
	unsigned here : 1;      /* it has a block */
	unsigned detached : 1;  /* it is elsewhere */
} emi_cache_frame;

/* Bytes of memory that a cache takes. */
uint64_t emi_cache_memory(const emi_cache_opts *opts);

/* EM_ERR_RANGE unless it can be. */
em_status emi_cache_check(const emi_cache_opts *opts, em_errinfo *err);

/* Open an empty cache; all memory is taken at once.  EM_ERR_RANGE, EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_cache_open(emi_cache **out, em_ctx *ctx, const emi_cache_opts *opts, em_errinfo *err);

/* Close it; what was changed and not flushed is discarded.  NULL is allowed. */
void emi_cache_close(emi_cache *c);

/* Pin a block.  EM_ERR_IO and others of reading it; those of writing others, if no frame is left but theirs; EM_ERR_STATE: all frames are pinned. */
em_status emi_cache_get(emi_cache *c, em_bid bid, uint32_t mode, emi_cache_frame **out, em_errinfo *err);

/* Done with it; dirty: it was changed since it was got. */
void emi_cache_unpin(emi_cache *c, emi_cache_frame *f, int dirty);

/* It is going to be got: begin to read it if there is a frame that can be had without waiting. */
void emi_cache_hint(emi_cache *c, em_bid bid);

/* Write all that was changed, also what is pinned, as it is now, and wait.  The first failure. */
em_status emi_cache_flush(emi_cache *c, em_errinfo *err);

/* Forget a block, as it was freed or is going to be, and do not write it.  EM_ERR_STATE: it is pinned. */
em_status emi_cache_invalidate(emi_cache *c, em_bid bid, em_errinfo *err);

/* The memory of a frame, B bytes. */
char *emi_cache_buf(const emi_cache *c, const emi_cache_frame *f);

/* The frame whose memory that is; NULL if it is none's. */
emi_cache_frame *emi_cache_frame_of(emi_cache *c, const void *buf);

/* Detach the memory of a frame, B bytes, from the cache, which has one less until it is attached again.  As
 * emi_cache_get(). */
em_status emi_cache_detach(emi_cache *c, char **buf, em_errinfo *err);
void emi_cache_attach(emi_cache *c, char *buf);

/* How many it has, and how many of them have changed blocks. */
uint32_t emi_cache_frames(const emi_cache *c);
uint32_t emi_cache_dirty(const emi_cache *c);

void emi_cache_stats_get(const emi_cache *c, em_cache_stats *stats);

#endif
