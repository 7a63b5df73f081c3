/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.h -- blocks of one size of a store in memory, some of many.
 *
 * What a cache does, and what policies and traces are, extmem/sys/cache.h says; public_cache.c puts that over this.
 * Here blocks are lent with the numbers of their frames, and callers are trusted: they ask for what the store has, and
 * change nothing in a store that is read-only.
 *
 * A block that is in the cache is never read from the store, and neither is one that was never written.  Who wants to
 * change a block that is being written back waits, as a copy to write from would need a frame just when frames are
 * short.
 *
 * Memory comes as frames are used for the first time (cache_frames.c).  A cache is a holder of its store: others on
 * that have it flush, forget or lend blocks (cache_range.c).
 */
#ifndef EMI_CACHE_H
#define EMI_CACHE_H

#include <extmem/sys/cache.h>

#include "block/store.h"

typedef struct emi_cache emi_cache;

typedef struct emi_cache_opts {
	emi_store *store;       /* kept */
	uint32_t frames;        /* m, from 1 to 2^24 */
	size_t block_bytes;     /* B, a multiple of EMI_PAGE */
	const em_policy *policy; /* NULL: S3-FIFO */
	uint64_t seed;          /* for a policy that draws */
	uint32_t batch;         /* blocks that are written back at a time; 0: 16, or a quarter of the frames */
	emi_io_stats *io;       /* NULL: counted nowhere */
	em_cache_access_fn trace; /* NULL: nobody is told */
	void *trace_user;
} emi_cache_opts;

/* Most bytes of memory that a cache takes. */
uint64_t emi_cache_memory(const emi_cache_opts *opts);

/* EM_ERR_RANGE unless it can be. */
em_status emi_cache_check(const emi_cache_opts *opts, em_errinfo *err);

/* Those of an open one, as far as they decide on its memory. */
emi_cache_opts emi_cache_options(const emi_cache *c);

/* Open an empty cache, which has no memory for blocks yet.  EM_ERR_RANGE, EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_cache_open(emi_cache **out, em_ctx *ctx, const emi_cache_opts *opts, em_errinfo *err);

/* Close it; what was changed and not flushed is discarded.  NULL is allowed. */
void emi_cache_close(emi_cache *c);

/* Pin a block.  EM_ERR_RANGE, EM_ERR_INVAL: the store has no such block; EM_ERR_IO and others of reading it; those of
 * writing others, if no frame is left but theirs; EM_ERR_STATE: all frames are pinned; EM_ERR_MEMLIMIT, EM_ERR_NOMEM:
 * they are, and there is no memory for more. */
em_status emi_cache_get(emi_cache *c, em_bid bid, uint32_t mode, uint32_t *frame, em_errinfo *err);

/* Pin a block once more if it is the one that was got last, and is there: 1, or 0.  The policy is not told, as this is
 * no other use: who passes through the records of a block gets it for each of them. */
int emi_cache_again(emi_cache *c, em_bid bid, uint32_t *frame);

/* Pin n blocks, which may be the same, with all reads under way together: as many of the first ones as there are frames
 * for, and as can be read.  *got: how many were pinned; at least one with EM_OK, unless n is 0.  As emi_cache_get(), of
 * the first block, if that is none of them.  The `more' blocks of `next' are hinted at before anybody waits. */
em_status emi_cache_get_many(emi_cache *c, const em_bid *bid, size_t n, uint32_t mode, const em_bid *next, size_t more,
			     uint32_t *frame, size_t *got, em_errinfo *err);

/* The frame that has a block, which may be on its way; or EM_CACHE_NONE. */
uint32_t emi_cache_find(const emi_cache *c, em_bid bid);

/* Has it a block that was changed and not written yet, and that nobody has pinned? */
int emi_cache_is_unsaved(const emi_cache *c, em_bid bid);

/* Somebody else's write of a block, which was to have what the cache has, has failed.  If that is changed or pinned it
 * is going to be written: 1; else 0. */
int emi_cache_rescue(emi_cache *c, em_bid bid);

/* Done with it; dirty: it was changed since it was got. */
void emi_cache_unpin(emi_cache *c, uint32_t frame, int dirty);

/* The same of a block that is known by its memory: 0 if that is none of the cache's, or not pinned. */
int emi_cache_unpin_block(emi_cache *c, const void *block, int dirty);

/* It is going to be got: begin to read it if there is a frame that can be had without waiting. */
void emi_cache_hint(emi_cache *c, em_bid bid);

/* What blocks are a part of that are going to be got: these few; a range, which is kept when it comes again; or so many
 * that each is got once, and not kept. */
typedef enum emi_cache_part { EMI_PART_OF_FEW, EMI_PART_OF_RANGE, EMI_PART_OF_ALL } emi_cache_part;

/* The same of n blocks, best in the order in which they are on the disk: those side by side are read together. */
void emi_cache_hint_many(emi_cache *c, const em_bid *bid, size_t n, emi_cache_part part);

/* Write all that was changed, also what is pinned, as it is now, and wait; of all blocks, or of those in a span.  What
 * could not be written before is tried again.  The first failure. */
em_status emi_cache_flush(emi_cache *c, em_errinfo *err);
em_status emi_cache_flush_range(emi_cache *c, const emi_span *span, em_errinfo *err);

/* Forget the blocks of a span, as they were freed or are going to be, and do not write them (one that is only in part
 * in it is written).  EM_ERR_STATE: one of them is pinned, and nothing was forgotten. */
em_status emi_cache_forget_range(emi_cache *c, const emi_span *span, em_errinfo *err);

/* Bring buf, which has the span as it is in the store, up to date. */
void emi_cache_look_range(emi_cache *c, const emi_span *span, void *buf);

/* Have another number of frames.  When there are to be fewer, blocks leave as the policy says, and changed ones are
 * written.  EM_ERR_RANGE; EM_ERR_STATE: there are to be fewer, and a block is pinned or memory is detached; as
 * emi_cache_get(): then it is as it was, but that some blocks have left. */
em_status emi_cache_resize(emi_cache *c, uint32_t frames, em_errinfo *err);

/* The memory of a frame, B bytes. */
char *emi_cache_buf(const emi_cache *c, uint32_t frame);

/* Is its memory detached? */
int emi_cache_is_detached(const emi_cache *c, uint32_t frame);

/* The frame whose memory that is; EM_CACHE_NONE if it is none's. */
uint32_t emi_cache_frame_of(emi_cache *c, const void *buf);

/* Have memory for n frames, or for all that there may be if they are fewer: so what is changed later needs none.
 * EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_cache_provide(emi_cache *c, uint32_t n, em_errinfo *err);

/* Detach the memory of a frame, B bytes, from the cache, which has one less until it is attached again.  As
 * emi_cache_get(). */
em_status emi_cache_detach(emi_cache *c, char **buf, em_errinfo *err);
void emi_cache_attach(emi_cache *c, char *buf);

size_t emi_cache_block_bytes(const emi_cache *c);

/* How many frames it may have, and how many of them have changed blocks. */
uint32_t emi_cache_frames(const emi_cache *c);
uint32_t emi_cache_dirty(const emi_cache *c);

void emi_cache_stats_get(const emi_cache *c, em_cache_stats *stats);

#endif
