/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_frames.h -- what a cache consists of, for those files that make it.
 *
 * A frame that has memory is free, in that list, or detached, or it has a block: then the map knows it and so does the
 * policy.  Its transfer is in the list of reads or in that of writes until somebody settles it.  Reads of blocks that
 * are pinned (emi_cache_get_many()) have a list of their own, as nobody else settles them: what cannot be read leaves
 * the cache.
 *
 * Call order: cache.c stands on cache_ahead.c, cache_many.c, cache_range.c and cache_resize.c, these on
 * cache_write_back.c, that on cache_transfer.c and on cache_frames.c.
 */
#ifndef EMI_CACHE_FRAMES_H
#define EMI_CACHE_FRAMES_H

#include "block/bid_map.h"
#include "block/cache.h"
#include "block/frame_list.h"

/* busy: CHOSEN is what is going to be written as soon as the policy was left */
enum { EMI_FRAME_IDLE, EMI_FRAME_READING, EMI_FRAME_WRITING, EMI_FRAME_CHOSEN };
/* dirty: SENT is what it is while it is written and nobody changed it */
enum { EMI_FRAME_CLEAN, EMI_FRAME_DIRTY, EMI_FRAME_SENT };
enum {
	EMI_FRAMES_FREE,
	EMI_FRAMES_READS,
	EMI_FRAMES_PINNED_READS,
	EMI_FRAMES_CHOSEN,
	EMI_FRAMES_WRITES,
	EMI_FRAMES_LISTS
};
enum { EMI_FRAMES_MOST = 1 << 24, EMI_CACHE_BATCH = 16 };

/* A place for a block: what a hit needs of it, so that in a large cache as many as possible lie near the processor. */
typedef struct emi_cache_frame {
	char *buf;              /* its memory */
	uint32_t pins;
	unsigned busy : 2;      /* a transfer is under way */
	unsigned dirty : 2;
	unsigned failed : 1;    /* it could not be written */
	unsigned hinted : 1;    /* and not got since */
	unsigned ahead : 1;     /* its read was begun by a hint */
	unsigned here : 1;      /* it has a block */
	unsigned detached : 1;  /* it is elsewhere */
	unsigned seen : 1;      /* while tables are made anew */
	unsigned asking : 1;    /* others are being told to forget it */
	uint8_t turn;           /* of the ring, when it was read ahead */
} emi_cache_frame;

/* The rest: which block, and its transfer. */
typedef struct emi_cache_block {
	em_bid bid;
	emi_request *rq;
} emi_cache_block;

/* Memory of frames side by side. */
typedef struct emi_cache_piece {
	char *base;
	size_t bytes;           /* of it */
	emi_request *rq;        /* of each frame */
	uint32_t rqs;           /* of them */
	uint32_t first, n;      /* frames */
} emi_cache_piece;

struct emi_cache {
	emi_holder holder;
	em_ctx *ctx;
	emi_store *store;
	emi_io_stats *io;
	const em_policy *policy;
	uint64_t seed;          /* of the policy */
	em_cache_access_fn trace;
	void *trace_user;
	uint32_t m;             /* frames there may be, ... */
	uint32_t room;          /* ... that tables are for, ... */
	uint32_t used;          /* ... that have memory, ... */
	uint32_t detached;      /* ... and of them those that are elsewhere */
	uint32_t last;          /* the frame that was got last */
	uint32_t ring;          /* the next one of those that are passed through takes this frame of the last piece */
	uint32_t ring_taken;    /* frames of it, in ... */
	uint8_t turn;           /* ... this turn of it, modulo 256 */
	size_t block_bytes;
	uint32_t batch;         /* writes under way, at most */
	uint32_t batch_given;   /* 0: it follows from m */
	uint32_t nreading, nwriting, ndirty, nfailed;
	uint32_t victims;       /* since the last batch */
	uint32_t scarce;        /* there was no memory for more frames: so many victims until that is tried again */
	int policy_error;       /* the policy named a frame that may not go */
	/* tables for `room' frames, in large pages: a hit in a large cache waits for its entry and its frame */
	emi_bid_entry *entry;
	emi_cache_frame *frame;
	emi_cache_block *block;
	emi_link *link;         /* room + EMI_FRAMES_LISTS */
	uint32_t *passed;       /* room marks of blocks that came to the ring as parts of a range */
	void *state;            /* the policy's */
	emi_bid_map map;
	emi_bid_entry none[2];  /* of the map before there are tables */
	emi_cache_piece *piece; /* in the order of their frames */
	uint32_t pieces;
	uint32_t piece_room;
	em_cache_stats stats;   /* what is counted */
	em_errinfo error;       /* of the write that failed last */
};

static inline void emi_frame_move_to(emi_cache *c, uint32_t i, uint32_t list)
{
	emi_list_append(c->link, c->room + list, i);
}

/* The first of a list, or EM_CACHE_NONE. */
static inline uint32_t emi_frame_first(const emi_cache *c, uint32_t list)
{
	const uint32_t i = c->room != 0 ? c->link[c->room + list].next : 0;

	return i < c->room ? i : EM_CACHE_NONE;
}

static inline void emi_frame_be_dirty(emi_cache *c, emi_cache_frame *f)
{
	c->ndirty += f->dirty == EMI_FRAME_CLEAN;
	f->dirty = EMI_FRAME_DIRTY;
}

/* cache_frames.c: memory, and which block is where. */

uint64_t emi_cache_frames_memory(const emi_cache_opts *opts);

/* As many as the options say, none of which has memory; and release them. */
void emi_cache_frames_init(emi_cache *c);
void emi_cache_frames_free(emi_cache *c);

/* A frame that never had a block, or EM_CACHE_NONE: there are as many as there may be, or no memory. */
uint32_t emi_cache_new_frame(emi_cache *c, em_errinfo *err);

/* There are to be no more than m frames; m is less than there are, no frame behind that has a block or is detached, and
 * no transfer is under way. */
void emi_cache_cut_frames(emi_cache *c, uint32_t m);

/* A block comes to a free frame; the block of an idle frame leaves, and the frame is free. */
void emi_frame_place(emi_cache *c, uint32_t i, em_bid bid);
void emi_frame_drop(emi_cache *c, uint32_t i, int victim);

/* What it has is what the store has. */
void emi_frame_be_clean(emi_cache *c, emi_cache_frame *f);

/* The block of an idle frame goes to a free one. */
void emi_frame_move_block(emi_cache *c, uint32_t from, uint32_t to);

/* cache_transfer.c: reading and writing. */

/* Begin to read into a frame that has its block, on a list of reads; what is zeros is idle at once. */
void emi_frame_read(emi_cache *c, uint32_t i, uint32_t list);

/* Begin to write, when others have forgotten the block.  What cannot be begun has failed. */
em_status emi_frame_write(emi_cache *c, uint32_t i, em_errinfo *err);

/* Wait for a transfer.  What cannot be read has left; what cannot be written is dirty. */
em_status emi_frame_settle_read(emi_cache *c, uint32_t i, em_errinfo *err);
em_status emi_frame_settle_write(emi_cache *c, uint32_t i, em_errinfo *err);

/* Those that are over, oldest first. */
void emi_cache_settle_done(emi_cache *c);

/* The frame is idle when this returns, by taking back what was not begun or by waiting: 0 if it has no block any more.
 * */
int emi_frame_calm(emi_cache *c, uint32_t i);

/* cache_write_back.c: who has to go. */

/* A free frame, by waiting if it must be. */
em_status emi_cache_await_frame(emi_cache *c, uint32_t *frame, em_errinfo *err);

/* The same without waiting, or EM_CACHE_NONE. */
uint32_t emi_cache_free_frame(emi_cache *c);

/* Have a block leave, by waiting if it must be. */
em_status emi_cache_evict(emi_cache *c, em_errinfo *err);

/* cache.c */

/* Blocks that are written back at a time by a cache of so many frames; given: what the caller says. */
uint32_t emi_cache_batch(uint32_t frames, uint32_t given);

/* cache_many.c: getting. */

/* Pin a block that may still be on its way into its frame, in the list of pinned reads. */
em_status emi_cache_bring(emi_cache *c, em_bid bid, uint32_t mode, uint32_t *frame, em_errinfo *err);

static inline void emi_frame_pin(emi_cache *c, emi_cache_frame *f, uint32_t mode)
{
	f->pins++;
	f->hinted = 0;
	if (mode == EM_CACHE_FRESH)
		emi_frame_be_dirty(c, f);
}

/* Whoever wants to know is told of an access. */
static inline void emi_cache_tell(const emi_cache *c, em_bid bid, uint32_t mode)
{
	if (c->trace != NULL) {
		const em_cache_access access = { bid.offset, bid.disk, mode != EM_CACHE_READ };

		c->trace(c->trace_user, &access);
	}
}

/* cache_range.c: as a holder. */
extern const emi_holder_calls emi_cache_calls;

#endif
