/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/block_stream.h  Records of one size in lists of blocks: written and read one after the other.
 *
 * (STXXL's buf_ostream and buf_istream, forward and reverse: Dementiev, Kettner and Sanders 2007, section 4.) A writer
 * allocates blocks as it needs them, on one disk after the other, and finishes with a list of them; a reader goes
 * through a list, from its beginning or from its end. With n buffers n - 1 blocks are on their way to or from the disks
 * while the caller is at one: N records of B / R in a block take ceil(N R / B) transfers of B bytes, and with 2 buffers
 * for each of D disks all of them are busy.
 *
 *     em_block_writer_open(&w, disks, &opts);
 *     em_block_writer_push(w, records, n);          (as often as needed)
 *     em_block_writer_finish(w, &list);
 *     em_block_writer_close(w);
 *     em_block_reader_open(&r, list, &reader_opts);
 *     while ((st = em_block_reader_next(r, &batch)) == EM_OK)
 *             ... batch->n records at batch->records ...
 *     em_block_reader_close(r);
 *     em_block_list_free_blocks(list);
 *     em_block_list_close(list);
 *
 * A writer with EM_BLOCKS_REVERSE fills its last block first, and each from its end: who reads the list forwards then
 * sees the records in the opposite order, as when a sequence is made from its last record on. Lists are sorted by
 * em_sort_blocks() (extmem/sys/sort_blocks.h).
 *
 * The first failure of a reader or a writer is kept, and told by every call from then on. Objects keep their context
 * and their disks, and a reader its list: they may be closed in any order. One thread per object at a time.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_BLOCK_STREAM_H
#define EXTMEM_SYS_BLOCK_STREAM_H

#include <extmem/batch.h>
#include <extmem/cursor.h>
#include <extmem/sys/block.h>

EM_BEGIN_DECLS

typedef struct em_block_list em_block_list;
typedef struct em_block_writer em_block_writer;
typedef struct em_block_reader em_block_reader;

/** From the end to the beginning. */
#define EM_BLOCKS_REVERSE 1u
/** A reader's: blocks are freed as soon as they were read, those that are left when it is closed. */
#define EM_BLOCKS_CONSUME 2u

/** What a list is made of. Each block holds floor(B/R) records from its beginning on, but for the first, in which
 *  `skip' places in front may be empty, and the last, in which places at the end may. */
typedef struct em_block_list_info {
	uint32_t size;          /**< sizeof(em_block_list_info); set by the initialiser. */
	uint32_t reserved;
	const em_bid *bids;     /**< Of each of the blocks; of a list: lent, as long as the list is open. */
	uint64_t block_bytes;   /**< B, a multiple of EM_BLOCK_UNIT; 0, for em_block_list_open():
	                             em_disks_block_bytes(). */
	uint64_t record_bytes;  /**< R, at most B. */
	uint64_t records;
	uint64_t skip;          /**< Less than floor(B/R). */
	uint64_t blocks;
} em_block_list_info;
#define EM_BLOCK_LIST_INFO_INIT { sizeof(em_block_list_info), 0, NULL, 0, 0, 0, 0, 0 }
/** As EM_BLOCK_LIST_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_block_list_info_init(em_block_list_info *out, size_t bytes);

/**
 * Make a list of blocks that the caller has; ids are copied, the blocks are the list's.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL, R or B is not legal, there is no such disk, there are more or fewer
 * blocks than skip + records need); EM_ERR_VERSION (info was made without its initialiser);
 * EM_ERR_MEMLIMIT, EM_ERR_NOMEM; EM_ERR_FORK. err may be NULL.
 */
EM_API EM_NODISCARD em_status em_block_list_open(em_block_list **out, em_disks *d, const em_block_list_info *info,
						 em_errinfo *err);

/** Forget the list. Its blocks stay allocated as long as the disks are open: who does not need them calls
 *  em_block_list_free_blocks() before. NULL is allowed. */
EM_API void em_block_list_close(em_block_list *l);

/** Free the blocks; the list is empty then. EM_OK; EM_ERR_INVAL; EM_ERR_STATE (a reader is open on it). */
EM_API EM_NODISCARD em_status em_block_list_free_blocks(em_block_list *l);

/** What it is made of. EM_OK, EM_ERR_INVAL, EM_ERR_VERSION (info was made without its initialiser). */
EM_API EM_NODISCARD em_status em_block_list_info_get(const em_block_list *l, em_block_list_info *info);

/** Copy the detail of the last call on l that failed, of all threads; all zero if there is none. Any thread. */
EM_API void em_block_list_error(const em_block_list *l, em_errinfo *err);

typedef struct em_block_writer_opts {
	uint32_t size;          /**< sizeof(em_block_writer_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_BLOCKS_REVERSE, or 0. */
	uint32_t buffers;       /**< Blocks of memory; 0: 2 for each disk. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when em_block_writer_open() fails; may be NULL. */
	uint64_t block_bytes;   /**< B, a multiple of EM_BLOCK_UNIT; 0: em_disks_block_bytes(). */
	uint64_t record_bytes;  /**< R, 1 to B. */
	uint64_t offset;        /**< Of a file: where the first block goes, a multiple of B; else no matter. */
} em_block_writer_opts;
#define EM_BLOCK_WRITER_OPTS_INIT { sizeof(em_block_writer_opts), 0, 0, 0, NULL, 0, 0, 0 }
/** As EM_BLOCK_WRITER_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_block_writer_opts_init(em_block_writer_opts *out, size_t bytes);

/**
 * Open a writer. Takes the memory of its buffers; later about 34 bytes for each block.
 *
 * On scratch blocks are allocated as they are needed. In a file they follow each other from opts.offset on, over what
 * is there; it is lengthened as needed, some blocks at a time, and when the writer has finished it is as long as it was
 * or ends behind the last record, whichever is more. What caches and pools on the same em_disks have of these blocks
 * they forget (EM_DISKS_COHERENT).
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL, a flag is unknown, B or R is not legal; of a file: it is for
 * reading only, offset is no multiple of B, EM_BLOCKS_REVERSE); EM_ERR_VERSION;
 * EM_ERR_MEMLIMIT, EM_ERR_NOMEM; EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_block_writer_open(em_block_writer **out, em_disks *d,
						   const em_block_writer_opts *opts);

/**
 * Write n records that lie one behind the other. Waits when all buffers but one are on their way.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL); EM_ERR_STATE (the writer is finished); how a write failed, which
 * may be one of earlier: EM_ERR_IO, EM_ERR_NOSPACE, ...; EM_ERR_MEMLIMIT, EM_ERR_NOMEM (the list of ids does not grow).
 */
EM_API EM_NODISCARD em_status em_block_writer_push(em_block_writer *w, const void *records, size_t n);

/** Without the copy: lend room for *n > 0 records, all that the block has left (with EM_BLOCKS_REVERSE its last place
 *  is the first to be filled), valid until the next call. Then say how many were filled. As em_block_writer_push();
 *  em_block_writer_took() with more than were lent is EM_ERR_INVAL. */
EM_API EM_NODISCARD em_status em_block_writer_lend(em_block_writer *w, void **records, size_t *n);
EM_API EM_NODISCARD em_status em_block_writer_took(em_block_writer *w, size_t n);

/** Write the last block and wait for all; *list is the caller's to close then, and the writer takes no more. As
 *  em_block_writer_push(); after a failure *list is NULL, and all blocks are freed. */
EM_API EM_NODISCARD em_status em_block_writer_finish(em_block_writer *w, em_block_list **list);

/** Wait for what is under way and free the memory, and the blocks unless they were finished. NULL is allowed. */
EM_API void em_block_writer_close(em_block_writer *w);

/** Copy the detail of the last call on w that failed; all zero if there is none. */
EM_API void em_block_writer_error(const em_block_writer *w, em_errinfo *err);

typedef struct em_block_reader_opts {
	uint32_t size;          /**< sizeof(em_block_reader_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_BLOCKS_..., combined. */
	uint32_t buffers;       /**< Blocks of memory; 0: 2 for each disk. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when em_block_reader_open() fails; may be NULL. */
} em_block_reader_opts;
#define EM_BLOCK_READER_OPTS_INIT { sizeof(em_block_reader_opts), 0, 0, 0, NULL }
/** As EM_BLOCK_READER_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_block_reader_opts_init(em_block_reader_opts *out, size_t bytes);

/**
 * Begin to read a list. Several readers may be at one list, unless one of them consumes it. opts may be NULL.
 *
 * Returns EM_OK; EM_ERR_INVAL (out or list is NULL, a flag is unknown); EM_ERR_VERSION; EM_ERR_STATE
 * (EM_BLOCKS_CONSUME, and there is another reader); EM_ERR_MEMLIMIT, EM_ERR_NOMEM; EM_ERR_FORK: then the blocks are
 * still the list's. A list that is consumed is empty from now on.
 */
EM_API EM_NODISCARD em_status em_block_reader_open(em_block_reader **out, em_block_list *list,
						   const em_block_reader_opts *opts);

/**
 * Lend the next records, all that are left of a block, until the next call; they lie in the order in which they are in
 * the list: backwards, the last is the first.
 *
 * Returns EM_OK; EM_END; EM_ERR_INVAL (an argument is NULL); EM_ERR_STATE (a block was freed, or nothing of it was ever
 * written); EM_ERR_RANGE (a file ends before); EM_ERR_IO and others of reading; EM_ERR_CORRUPT (a file ends within a
 * block). *batch is NULL but with EM_OK.
 * I/O: one read of B bytes for each block, begun before.
 */
EM_API EM_NODISCARD em_status em_block_reader_next(em_block_reader *r, const em_batch **batch);

/** The cursor of r (extmem/cursor.h): records one by one, and backwards those of a reader that goes backwards, so that
 *  the last of the list is the first. It is always the same. NULL of NULL. */
EM_API em_cursor *em_block_reader_cursor(em_block_reader *r);

/** Wait for what is under way and free the memory. NULL is allowed. */
EM_API void em_block_reader_close(em_block_reader *r);

/** Copy the detail of the last call on r that failed; all zero if there is none. */
EM_API void em_block_reader_error(const em_block_reader *r, em_errinfo *err);

EM_END_DECLS

#endif
