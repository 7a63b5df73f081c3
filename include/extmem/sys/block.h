/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/block.h  Blocks on the scratch disks of a context: ids, transfers, memory.
 *
 * The disks that em_ctx_opts.dirs and .disks name (extmem/disk.h) are what blocks of data structures lie on. A block is
 * known by its id, which says on which disk it is and where; its size is for the caller to remember. Blocks of several
 * sizes live side by side.
 *
 *     em_disks *disks;
 *     em_bid bid[32];
 *     void *block;
 *     em_request *rq;
 *     em_disks_open(&disks, ctx, NULL);
 *     em_bids_alloc(disks, bid, 32, 1 << 20, NULL, 0);
 *     em_buffer_alloc(&block, ctx, 1, 1 << 20, NULL);
 *     ... fill it ...
 *     em_block_write(disks, bid[0], block, 1 << 20, NULL, NULL, &rq);
 *     ... compute ...
 *     em_request_wait(rq);
 *     em_request_close(rq);
 *
 * (STXXL's block manager: Dementiev, Kettner and Sanders 2007, section 4; LEDA-SM's ext_memory_manager: Crauser and
 * Mehlhorn 1998, section 1.2.) What is made of these are pools of buffers (extmem/sys/pool.h), a cache
 * (extmem/sys/cache.h), readers and writers of records (extmem/sys/block_stream.h), and sorting
 * (extmem/sys/sort_blocks.h).
 *
 * The disks of a context are open while anybody uses them: an em_disks, a pool, a cache, a reader, a writer or a list
 * of blocks, or a sort. With the last of them all blocks are gone.
 *
 * A file of the caller's may take the place of the disks (em_disks_opts.path), of any length, for reading only or not.
 * Caches, pools, readers and writers work on it as they do on scratch. Block i of B bytes is {0, 0, i * B}; the file
 * has as many blocks as its length says, the last of which may be there in part: what is behind the end is zeros in
 * memory, and never written. Nothing is allocated or freed, em_disks_resize() sets the length. Somebody else who makes
 * the file shorter meanwhile is noticed: EM_ERR_SHORT.
 *
 * Coherence. On a file, or with EM_DISKS_COHERENT, whoever is on an em_disks sees what the others have in memory:
 * a reader goes past a cache and sees what was changed there; what a pool or a writer writes a cache forgets, unless it
 * is pinned: then that is EM_ERR_STATE. A block should be changed through one cache at a time, as nobody knows which of
 * two that have changed it is newer. All of them are on one thread at a time: a call on one from within a function of
 * another is EM_ERR_BUSY. Without the flag objects know nothing of each other, and may be on several threads.
 *
 * What was never written is zeros in a cache and in a pool, and nothing is read to know that.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_BLOCK_H
#define EXTMEM_SYS_BLOCK_H

#include <extmem/sys/placement.h>
#include <extmem/sys/request.h>

EM_BEGIN_DECLS

/** Sizes of blocks are multiples of so many bytes. */
#define EM_BLOCK_UNIT 4096u

/** The usual size of a block in a context that was told of none (em_ctx_opts.block_bytes). */
#define EM_BLOCK_USUAL ((uint64_t)1 << 20)

/** A block id. It may be kept in blocks: it has 16 bytes everywhere. */
typedef struct em_bid {
	uint32_t disk;          /**< Index among the disks of its context. */
	uint32_t reserved;      /**< 0 */
	uint64_t offset;        /**< Bytes. */
} em_bid;

/** The id of no block, as the end of a list of them. */
EM_INLINE em_bid em_bid_none(void)
{
	const em_bid none = {UINT32_MAX, 0, UINT64_MAX};

	return none;
}

EM_INLINE int em_bid_equal(em_bid a, em_bid b)
{
	return a.disk == b.disk && a.offset == b.offset;
}

EM_INLINE int em_bid_is_none(em_bid bid)
{
	return em_bid_equal(bid, em_bid_none());
}

typedef struct em_disks em_disks;

/** In em_disks_opts.flags. */
#define EM_DISKS_ABANDON 1u   /**< Blocks that are still allocated when they are closed are not reported; those that are
                                   known, in a context with EM_CTX_CHECKED, are freed. */
#define EM_DISKS_COHERENT 2u  /**< Who is on them sees what others there have in memory; all are on one thread at a
                                   time. A file is so without the flag. */
#define EM_DISKS_READ_ONLY 4u /**< The file is there to be read. */
#define EM_DISKS_CREATE 8u    /**< Make the file, empty, if there is none. */

typedef struct em_disks_opts {
	uint32_t size;          /**< sizeof(em_disks_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_DISKS_..., combined. */
	em_errinfo *errinfo;    /**< Filled when em_disks_open() fails; may be NULL. */
	const char *path;       /**< A file of the caller's in place of the scratch disks; NULL: none. */
} em_disks_opts;
#define EM_DISKS_OPTS_INIT { sizeof(em_disks_opts), 0, NULL, NULL }
/** As EM_DISKS_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_disks_opts_init(em_disks_opts *out, size_t bytes);

/** Of all disks together. */
#define EM_DISKS_ALL UINT32_MAX

/** What is on disks, by all users, and what file systems have set aside for it. */
typedef struct em_disks_stats {
	uint32_t size;          /**< sizeof(em_disks_stats); set by the initialiser. */
	uint32_t disks;         /**< How many they are. */
	uint64_t blocks;        /**< In use now ... */
	uint64_t blocks_peak;   /**< ... and at most at a time. */
	uint64_t bytes;         /**< In them now ... */
	uint64_t bytes_peak;    /**< ... and at most. */
	uint64_t held;          /**< Set aside by file systems now, in bytes ... */
	uint64_t held_peak;     /**< ... and at most. */
} em_disks_stats;
#define EM_DISKS_STATS_INIT { sizeof(em_disks_stats), 0, 0, 0, 0, 0, 0, 0 }
/** As EM_DISKS_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_disks_stats_init(em_disks_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_disks_stats_json(const em_disks_stats *of, char *to, size_t bytes);

/**
 * Open the disks of a context, or become another user of them if they are; or open a file. opts may be NULL. Each
 * em_disks is an owner of blocks: it and the objects that are made on it may write and free what any of them allocated.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out or ctx is NULL, a flag is unknown or does not go with the others; a path is none of what a
 *                    disk may be
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_EXIST, EM_ERR_IO  as extmem/disk.h says; the detail names the path
 *   EM_ERR_NOTSUP    direct transfers are demanded and do not work there; the file is none that can be read at any
 *                    place
 *   EM_ERR_FDLIMIT   the context has no descriptor left
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_disks_open(em_disks **out, em_ctx *ctx, const em_disks_opts *opts);

/** Close them: when the objects that were made on them are closed, too. The last user waits for requests and gives all
 *  space back; blocks that are still allocated then are told to the log, as a warning and with their owners in a
 *  context with EM_CTX_CHECKED. NULL is allowed. Never fails. */
EM_API void em_disks_close(em_disks *d);

/** The number of this owner, from 1, as the log tells it; 0 of NULL and of a file. Any thread. */
EM_API uint32_t em_disks_owner(const em_disks *d);

/** How many disks there are: D; 1 of a file; 0 of NULL. Any thread. */
EM_API uint32_t em_disks_count(const em_disks *d);

/** The usual size of a block on these disks, which pools, caches, and lists and writers of blocks have that name none:
 *  em_ctx_opts.block_bytes, or EM_BLOCK_USUAL where that is 0; 0 of NULL. Any thread. */
EM_API uint64_t em_disks_block_bytes(const em_disks *d);

/** The path of disk i, or of the file, as it was given, "" if there is none; lives as long as d. Any thread. */
EM_API const char *em_disks_path(const em_disks *d, uint32_t i);

/** What blocks of all users take, on one disk or, with EM_DISKS_ALL, on all. Any thread. EM_OK; EM_ERR_INVAL (NULL,
 *  there is no such disk); EM_ERR_NOTSUP (it is a file); EM_ERR_VERSION (stats was made without its initialiser). */
EM_API EM_NODISCARD em_status em_disks_stats_get(em_disks *d, uint32_t disk, em_disks_stats *stats);

/** So many bytes of blocks are still to be allocated: space for them may be set aside in large steps. Any thread. */
EM_API void em_disks_expect(em_disks *d, uint64_t bytes);

/** Bytes in the file, as they were when it was opened or set; 0 of scratch and of NULL. */
EM_API uint64_t em_disks_length(const em_disks *d);

/**
 * Set the length of the file. What is added is zeros and takes no space; what is cut off all who are on it forget, and
 * what is under way is waited for.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     d is NULL, the file is for reading only
 *   EM_ERR_NOTSUP    it is scratch
 *   EM_ERR_STATE     a block that is to be cut off is pinned
 *   EM_ERR_IO, EM_ERR_NOSPACE, ...  as the system says
 *   EM_ERR_BUSY, EM_ERR_FORK
 * The length is as it was then. I/O: none, but for waiting.
 */
EM_API EM_NODISCARD em_status em_disks_resize(em_disks *d, uint64_t bytes);

/**
 * Have all who are on d write what they have changed, and have a file reach its device. With pinned blocks as they are.
 *
 * Returns EM_OK; EM_ERR_INVAL; EM_ERR_NOTSUP (they are not coherent); the first failure: EM_ERR_IO, EM_ERR_NOSPACE,
 * EM_ERR_SHORT, ...: then what could not be written is still in memory, and the next call tries again; EM_ERR_BUSY,
 * EM_ERR_FORK. I/O: a write for each block that was changed.
 */
EM_API EM_NODISCARD em_status em_disks_flush(em_disks *d);

/** Copy the detail of the last call on d that failed, of all threads; all zero if there is none. Any thread. */
EM_API void em_disks_error(const em_disks *d, em_errinfo *err);

/**
 * Allocate n blocks of bytes, a multiple of EM_BLOCK_UNIT, and fill bid[], of n, with their ids. place, which must be
 * of as many disks as there are, says on which disk each goes: block i of these is block first + i of the sequence.
 * NULL: on one disk after the other. A disk that is full is passed over; on a disk the first gap is taken that is long
 * enough. All or nothing: after a failure there is none, and bid[] is em_bid_none(). Any thread.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     d or bid is NULL, bytes is 0 or no multiple, place is of another number of disks
 *   EM_ERR_NOTSUP    d is a file: its length says which blocks it has
 *   EM_ERR_NOSPACE   all disks are full, or the context allows no more (em_ctx_opts.scratch_max)
 *   EM_ERR_IO        as the system says
 *   EM_ERR_NOMEM, EM_ERR_MEMLIMIT  no memory for what is to be known of the space
 *   EM_ERR_FORK      the context is the parent process's
 * I/O: none; files grow in large steps.
 */
EM_API EM_NODISCARD em_status em_bids_alloc(em_disks *d, em_bid *bid, size_t n, size_t bytes, const em_placement *place,
					    uint64_t first);

/** The same, contiguous: one behind the other on one disk, that of the number or the next one that has room, so that
 *  they may be transferred as one. EM_ERR_INVAL also if there is no such disk. */
EM_API EM_NODISCARD em_status em_bids_alloc_row(em_disks *d, em_bid *bid, size_t n, size_t bytes, uint32_t disk);

/**
 * Free n blocks of bytes, in any order, however they were allocated; those that are em_bid_none() are passed over. No
 * request of theirs may be under way. Their space is given out again, or, at the end of a disk, back to the file
 * system. Any thread.
 *
 * Those that can be are freed, the first failure is returned, and others are logged:
 *   EM_OK
 *   EM_ERR_INVAL     an argument is NULL, bytes is 0 or no multiple; a block that cannot be: the disk does not exist,
 *                    the offset is no multiple of EM_BLOCK_UNIT; checked (EM_CTX_CHECKED): no block of that size is
 *                    there
 *   EM_ERR_STATE     nothing is allocated there: it was freed before; checked: it is another owner's; a block is pinned
 *                    by who is on coherent disks: then none was freed
 *   EM_ERR_FORK      the context is the parent process's
 * Blocks of a file are forgotten by who is on it, and nothing else.
 */
EM_API EM_NODISCARD em_status em_bids_free(em_disks *d, const em_bid *bid, size_t n, size_t bytes);

/** The same for blocks in the bytes from bid on, of one disk, without the device. EM_ERR_INVAL also if there is no such
 *  disk. */
EM_API EM_NODISCARD em_status em_blocks_flush(em_disks *d, em_bid bid, uint64_t bytes);

/**
 * Have all who are on d forget blocks in the bytes from bid on, changed or not, as somebody else is going to write
 * them. Of one that is only in part there what was changed is written before.
 *
 * Returns EM_OK; EM_ERR_INVAL (d is NULL, there is no such disk); EM_ERR_NOTSUP (they are not coherent); EM_ERR_STATE
 * (a block is pinned: nothing was forgotten); how writing failed; EM_ERR_BUSY, EM_ERR_FORK. I/O: as said.
 */
EM_API EM_NODISCARD em_status em_blocks_forget(em_disks *d, em_bid bid, uint64_t bytes);

/**
 * Read bytes, a multiple of EM_BLOCK_UNIT, from bid on into buf now, as they were changed last, whoever has them. What
 * was never written is zeros.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL, bytes is 0 or no multiple, there is no such disk); EM_ERR_NOTSUP
 * (they are not coherent); EM_ERR_RANGE (a file ends before); EM_ERR_STATE (no block is allocated there); EM_ERR_IO and
 * others of reading; EM_ERR_SHORT (somebody else has made the file shorter); EM_ERR_BUSY, EM_ERR_FORK. I/O: one read.
 */
EM_API EM_NODISCARD em_status em_blocks_fetch(em_disks *d, em_bid bid, void *buf, size_t bytes);

/**
 * Start reading a block into buf, or writing it from there, which must live until the request is done; best is memory
 * of em_buffer_alloc(), as other memory costs a copy on direct disks. fn, user and out are those of
 * em_file_read_async() (extmem/sys/request.h), which says what may be done with the request; it may be waited for when
 * d is closed. A part of a block, from its beginning on, is moved if bytes is less than the block has, and several of a
 * row if it is more. What was not written of a block of which something was has any contents, or is missing:
 * em_request_moved(). Any thread.
 *
 * Returns EM_OK when the request exists: everything else that may be wrong is told by its status. Otherwise there is
 * none, *out is NULL, fn is not called:
 *   EM_ERR_INVAL     d or buf is NULL, bytes is 0; no block can be there (em_bid_none(), for example); checked
 *                    (EM_CTX_CHECKED): none of that size is
 *   EM_ERR_STATE     nothing is allocated there, or not so much; to be read, nothing of it was written since it was
 *                    allocated; checked: to be written, it is another owner's
 *   EM_ERR_NOTSUP    d is a file
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 * On coherent disks what others have changed of the block is written before it is read, and forgotten before it is
 * written: as em_blocks_flush() and em_blocks_forget().
 * The status of a request for what was written and is not there any more, as somebody else made the file shorter, is
 * EM_ERR_CORRUPT.
 * I/O: one request, ceil(bytes / B) blocks of the disk.
 */
EM_API EM_NODISCARD em_status em_block_read(em_disks *d, em_bid bid, void *buf, size_t bytes, em_request_fn fn,
					    void *user, em_request **out);
EM_API EM_NODISCARD em_status em_block_write(em_disks *d, em_bid bid, const void *buf, size_t bytes, em_request_fn fn,
					     void *user, em_request **out);

/**
 * Memory for n blocks of bytes side by side, for transfers: aligned to EM_BLOCK_UNIT, in large pages where there are
 * any, not zeroed, counted against the context, which it keeps. For em_buffer_free(). Any thread.
 *
 * Returns EM_OK; EM_ERR_INVAL (out or ctx is NULL, n is 0, bytes is 0 or no multiple of EM_BLOCK_UNIT);
 * EM_ERR_MEMLIMIT; EM_ERR_NOMEM. err may be NULL.
 */
EM_API EM_NODISCARD em_status em_buffer_alloc(void **out, em_ctx *ctx, uint64_t n, size_t bytes, em_errinfo *err);

/** Release it: of the same n and bytes. blocks may be NULL. Any thread. */
EM_API void em_buffer_free(em_ctx *ctx, void *blocks, uint64_t n, size_t bytes);

EM_END_DECLS

#endif
