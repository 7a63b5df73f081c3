/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/cache.h  A cache of blocks: of many on the disks, some in memory.
 *
 * For what is not read in an order that is known: trees, arrays. A block that is got is pinned: it stays where it is
 * until it was unpinned as often as it was got. What is not pinned may go, in an order that a policy chooses. Changed
 * blocks are written when their frames are needed, several at a time and ahead of need, while clean ones give theirs;
 * em_cache_flush() writes all.
 *
 *     void *block;
 *     em_cache_get(cache, bid, EM_CACHE_WRITE, &block);
 *     ... look at it, change it ...
 *     em_cache_unpin(cache, block, 1);
 *
 * A block that is being written back is still there: it may be read meanwhile. Who gets it for changing it waits for
 * the end, if the write was begun, and takes it back else.
 *
 * Failures. A block that cannot be read is not there, and whoever wants it is told. One that cannot be written stays in
 * memory, changed, and is not tried again until em_cache_flush(), which reports it if it fails again; so does
 * em_cache_get() when there is no other frame left. Pools have the same rule. Nothing is lost but by closing, which is
 * logged.
 *
 * Which block goes. A policy is a table of functions and some memory of its own, which the cache provides:
 * em_policy_lru() and the others below, or the caller's.  Which is best depends on the accesses.  A cache tells them to
 * a function, and em_cache_trace_record() keeps them.  em_cache_trace_policy() and em_cache_trace_optimum() say how
 * often any policy, and the best one there could be, would have missed.
 *
 * A cache is on scratch disks or on a file (em_disks_opts.path), and may share its blocks with others there
 * (EM_DISKS_COHERENT): extmem/sys/block.h says how.
 *
 * Memory comes as frames are used for the first time: a cache of which little is used takes little, whatever its number
 * of frames. When the context has no more a cache goes on with the frames that it has.
 *
 * One thread at a time, which also calls the functions of policy and trace. The cache keeps its context and its disks,
 * so they may be closed before it. A hit takes some nanoseconds (bench/cache).
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_CACHE_H
#define EXTMEM_SYS_CACHE_H

#include <extmem/sys/block.h>

EM_BEGIN_DECLS

/* Policies. */

/** The number of no frame. */
#define EM_CACHE_NONE UINT32_MAX

/** What the cache says about a candidate. */
enum {
	EM_CACHE_STAYS = 0,     /**< It may not go (it is pinned, or changed): the next one. */
	EM_CACHE_GOES = 1,
	EM_CACHE_ENOUGH = 2     /**< None goes now. */
};

typedef int32_t (*em_verdict_fn)(void *arg, uint32_t frame);

/**
 * A policy is told what blocks come, are used again and leave; it proposes victims, and the cache says which of them
 * may go. It knows frames by their numbers, from 0. Read by caches while they are open; the functions must not call the
 * cache.
 *
 * When a cache grows it begins anew, in other memory: init() for more frames, then came() for each block that there is,
 * in the order in which next() of the old memory tells them, and hit() for those that it does not tell.
 */
typedef struct em_policy {
	uint32_t size;          /**< sizeof(em_policy); set by the initialiser. */
	uint32_t reserved;
	const char *name;
	/** Bytes of state for a cache of n frames. */
	uint64_t (*bytes)(uint32_t n);
	/** Begin, with that many zeroed bytes, aligned for anything. */
	void (*init)(void *state, uint32_t n, uint64_t seed, void *user);
	/** A block comes to a frame that had none. */
	void (*came)(void *state, uint32_t frame, em_bid bid);
	/** It is used again. */
	void (*hit)(void *state, uint32_t frame);
	/** It leaves: because it was the victim, or because it is no more. */
	void (*left)(void *state, uint32_t frame, int32_t victim);
	/** Propose frames that have blocks, in the order in which they should go, until ask() says that one goes, which
	 *  is returned (the cache then calls left()), or that it is enough, or each was proposed: EM_CACHE_NONE. */
	uint32_t (*victim)(void *state, em_verdict_fn ask, void *arg);
	/** Tell those that are going to be victims next, as far as is known, about in order, until ask() says that it
	 *  is enough; nothing changes. */
	void (*next)(void *state, em_verdict_fn ask, void *arg);
	void *user;             /**< For init(). */
	void (*user_free)(void *user); /**< Called with user once for each cache, vector or tree that was to have the
	                             policy: when it has been closed, or could not be made, unless with EM_ERR_VERSION.
	                             em_cache_trace_policy() calls it before it returns.  NULL: nothing is called. */
} em_policy;
#define EM_POLICY_INIT { sizeof(em_policy), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
/** As EM_POLICY_INIT, by a call (extmem/base.h). */
EM_API void em_policy_init(em_policy *out, size_t bytes);

/** What was not used for the longest time goes. Static, as those below. */
EM_API const em_policy *em_policy_lru(void);
/** Blocks go in the order in which they came, but one that was used meanwhile has a second turn: nearly LRU's hits, and
 *  a hit stores one byte. */
EM_API const em_policy *em_policy_clock(void);
/** Any. */
EM_API const em_policy *em_policy_random(void);
/** S3-FIFO, the default: new blocks are on probation in a short queue, a tenth of the cache, and only what is used
 *  there gets to the rest, which is a CLOCK; of those that were not, the names are kept for a while, and one that
 *  returns is let in at once (Yang, Zhang, Qiu, Yue and Rashmi 2023). So what is used once passes without pushing out
 *  what is used often. */
EM_API const em_policy *em_policy_s3fifo(void);

/* Traces. */

typedef struct em_cache_access {
	uint64_t offset;
	uint32_t disk;
	uint32_t write;         /**< It was, or may have been, changed. */
} em_cache_access;

/** Told of each access, before anything is done. */
typedef void (*em_cache_access_fn)(void *user, const em_cache_access *access);

/** Accesses in memory of the caller's. */
typedef struct em_cache_trace {
	em_cache_access *access;
	uint64_t most;          /**< There is room for so many ... */
	uint64_t n;             /**< ... and so many there were, of which the first are kept. */
} em_cache_trace;

/** An em_cache_access_fn that keeps them; user is an em_cache_trace. */
EM_API void em_cache_trace_record(void *user, const em_cache_access *access);

/**
 * Misses of n accesses, less than 2^30, in an empty cache of so many frames, 1 to 2^30, each block being in a frame
 * while it is accessed; with a policy (NULL: the default). Memory of ctx: about 48 bytes for each frame. err may be
 * NULL.
 *
 * Returns EM_OK; EM_ERR_INVAL (a pointer is NULL, the policy is not whole); EM_ERR_VERSION (it is of no version);
 * EM_ERR_RANGE (n, frames); EM_ERR_USER (the policy proposes no victim, or what is
 * none); EM_ERR_MEMLIMIT, EM_ERR_NOMEM. No I/O.
 */
EM_API EM_NODISCARD em_status em_cache_trace_policy(em_ctx *ctx, const em_cache_access *access, uint64_t n,
						    const em_policy *policy, uint64_t seed, uint32_t frames,
						    uint64_t *misses, em_errinfo *err);

/** The fewest there can be: the block goes whose next access is the farthest (Belady 1966). Memory: 52 to 84 bytes for
 *  each access. As above. */
EM_API EM_NODISCARD em_status em_cache_trace_optimum(em_ctx *ctx, const em_cache_access *access, uint64_t n,
						     uint32_t frames, uint64_t *misses, em_errinfo *err);

/* Caches. */

typedef struct em_cache em_cache;

typedef struct em_cache_opts {
	uint32_t size;          /**< sizeof(em_cache_opts); set by the initialiser. */
	uint32_t frames;        /**< Blocks that have room: m, from 1 to 2^24. */
	uint64_t block_bytes;   /**< B, a multiple of EM_BLOCK_UNIT; 0: em_disks_block_bytes(). */
	uint64_t seed;          /**< For a policy that draws. */
	uint32_t batch;         /**< Blocks that are written back at a time; 0: 16, or a quarter of the frames. */
	uint32_t reserved;
	const em_policy *policy; /**< Must live as long as the cache; NULL: S3-FIFO. */
	em_cache_access_fn trace; /**< NULL: nobody is told. */
	void *trace_user;
	em_errinfo *errinfo;    /**< Filled when em_cache_open() fails; may be NULL. */
	void (*trace_free)(void *user); /**< Called with trace_user once, when the cache has been closed or could not be
	                             opened, unless with EM_ERR_VERSION; NULL: nothing is. */
	void *reserved_last;    /**< NULL. */
} em_cache_opts;
#define EM_CACHE_OPTS_INIT { sizeof(em_cache_opts), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
/** As EM_CACHE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_cache_opts_init(em_cache_opts *out, size_t bytes);

/** For what a block is got. */
enum {
	EM_CACHE_READ = 0,      /**< Not to be changed. */
	EM_CACHE_WRITE = 1,
	EM_CACHE_FRESH = 2      /**< To be overwritten as a whole: it is not read, and counts as changed at once. */
};

typedef struct em_cache_stats {
	uint32_t size;          /**< sizeof(em_cache_stats); set by the initialiser. */
	uint32_t frames;        /**< Without those that are detached. */
	uint32_t dirty;         /**< Frames with changed blocks. */
	uint32_t reserved;
	uint64_t hits;          /**< The block was there, or on its way. */
	uint64_t misses;
	uint64_t reads;         /**< Blocks read, hints included. */
	uint64_t writes;        /**< Blocks written. */
	uint64_t write_backs;   /**< Begun because frames were needed, or going to be. */
	uint64_t hints;         /**< That began a read. */
	uint64_t waits;         /**< For a write-back. */
} em_cache_stats;
#define EM_CACHE_STATS_INIT { sizeof(em_cache_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_CACHE_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_cache_stats_init(em_cache_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_cache_stats_json(const em_cache_stats *of, char *to, size_t bytes);

/**
 * Open an empty cache of blocks on these disks, which takes no memory for blocks yet.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, d or opts is NULL, or a function of the policy is
 *   EM_ERR_VERSION   opts or the policy was made without its initialiser
 *   EM_ERR_RANGE     frames is not 1 to 2^24, block_bytes is no multiple of EM_BLOCK_UNIT
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory; the context never has as much as the cache might take and the disks
 *                    with 1024 blocks beside those in frames (extmem/ctx.h)
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_cache_open(em_cache **out, em_disks *d, const em_cache_opts *opts);

/** Close it; what was changed and not flushed is discarded, and blocks that are pinned are no more. NULL is allowed. */
EM_API void em_cache_close(em_cache *c);

/** Cancel it (extmem/ctx.h): the call in progress on it, and every later one, is
 *  EM_ERR_CANCELED.  Any thread; signal handlers.  NULL is allowed. */
EM_API void em_cache_cancel(em_cache *c);

/** Most bytes of memory that a cache takes; 0 if opts is not legal or names no size of blocks. */
EM_API uint64_t em_cache_memory(const em_cache_opts *opts);

/**
 * Pin a block and lend it: *block, of B bytes, aligned to EM_BLOCK_UNIT, is valid until it is unpinned. What was never
 * written of it, or is behind the end of the file, is zeros.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     an argument is NULL, mode is none of the above, or not EM_CACHE_READ on a file for reading only;
 *                    there is no such disk; no block of a file begins there
 *   EM_ERR_RANGE     the file ends before
 *   EM_ERR_STATE     all frames are pinned; no block is allocated there
 *   EM_ERR_USER      the caller's policy names a frame that may not go
 *   EM_ERR_IO, ...   reading it failed; or writing others, if no frame is left but theirs: EM_ERR_NOSPACE, ...
 *   EM_ERR_SHORT     somebody else has made the file shorter
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  all frames are pinned, and there is no memory for another one
 *   EM_ERR_CANCELED, EM_ERR_BUSY
 *   EM_ERR_FORK      the context is the parent process's
 * *block is NULL then.
 * I/O: none if it is there, or was never written, else one read of B bytes, unless it is EM_CACHE_FRESH; and if its
 * frame was changed, that is written, with others.
 */
EM_API EM_NODISCARD em_status em_cache_get(em_cache *c, em_bid bid, uint32_t mode, void **block);

/**
 * Pin n blocks, which may be the same, with all reads under way together. blocks[], of n, is filled with as many of the
 * first ones as there are frames for, and as can be read; *got says how many, and the rest is NULL. Each is to be
 * unpinned. The `more' blocks of next[] are those that will be got then: each is hinted at before anybody waits for
 * these. next may be NULL if more is 0.
 *
 * Returns EM_OK (*got is at least 1, unless n is 0); of the first block, if it cannot be got, as em_cache_get();
 * EM_ERR_INVAL also when any of the disks does not exist.
 * I/O: that of each, about N / D steps for N blocks that are missing on D disks.
 */
EM_API EM_NODISCARD em_status em_cache_get_many(em_cache *c, const em_bid *bids, size_t n, uint32_t mode,
						const em_bid *next, size_t more, void **blocks, size_t *got);

/** Done with a block; dirty: it was changed since it was got. Never waits. EM_OK; EM_ERR_INVAL (NULL, or no block of
 *  this cache; dirty, and the file is for reading only: it is still pinned); EM_ERR_STATE (it is not pinned). */
EM_API EM_NODISCARD em_status em_cache_unpin(em_cache *c, void *block, int dirty);

/** It is going to be got: begin to read it if there is a frame that can be had without waiting. A read that fails is
 *  not told: em_cache_get() reads once more. I/O: at most one read of B bytes, and writes of what is changed. */
EM_API void em_cache_hint(em_cache *c, em_bid bid);

/** Write all that was changed, also what is pinned, as it is now, and wait. EM_OK; EM_ERR_INVAL; the first failure:
 *  EM_ERR_IO, EM_ERR_NOSPACE, ...; EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_cache_flush(em_cache *c);

/** Forget a block, as it was freed or is going to be, and do not write it. EM_OK (also if it is not there);
 *  EM_ERR_INVAL; EM_ERR_STATE (it is pinned); EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_cache_invalidate(em_cache *c, em_bid bid);

/**
 * Have another number of frames. More get their memory when they are used; when there are to be fewer, blocks leave as
 * the policy says, and changed ones are written.
 *
 * Returns EM_OK; EM_ERR_INVAL; EM_ERR_RANGE (frames is not 1 to 2^24); EM_ERR_STATE (there are to be fewer, and a block
 * is pinned or memory detached); EM_ERR_MEMLIMIT (as em_cache_open()); how a write failed, EM_ERR_USER,
 * EM_ERR_CANCELED, EM_ERR_BUSY, EM_ERR_FORK: then the number is as it was, but some blocks may have left. I/O: writes
 * of those that leave.
 */
EM_API EM_NODISCARD em_status em_cache_resize(em_cache *c, uint32_t frames);

/** Detach the memory of a frame, B bytes, from the cache, which has one less until it is attached again. It is gone
 *  when the cache is closed. As em_cache_get(). */
EM_API EM_NODISCARD em_status em_cache_detach(em_cache *c, void **buf);
/** Attach it again. EM_OK; EM_ERR_INVAL (NULL, or no memory of this cache); EM_ERR_STATE (it was not detached). */
EM_API EM_NODISCARD em_status em_cache_attach(em_cache *c, void *buf);

/** Counters since it was opened. EM_OK, EM_ERR_INVAL, EM_ERR_VERSION (stats was made without its initialiser). */
EM_API EM_NODISCARD em_status em_cache_stats_get(const em_cache *c, em_cache_stats *stats);

/** Copy the detail of the last call on c that failed; all zero if there is none. */
EM_API void em_cache_error(const em_cache *c, em_errinfo *err);

EM_END_DECLS

#endif
