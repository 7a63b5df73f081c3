/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/vector.h  Vectors: an array of records of one size on disks, with a cache.
 *
 * (STXXL's vector: Dementiev, Kettner and Sanders 2007, sections 5.1 and 5.2.)  A vector has N records, which are known
 * by their positions 0 to N - 1.  They lie in blocks of B records; some of the blocks are in memory, in a cache.  A
 * position is a plain uint64_t: it may be stored in records, of this or of other containers, as a link.
 *
 *     em_vector_opts opts = EM_VECTOR_OPTS_INIT;
 *     em_vector *v;
 *     opts.record_bytes = sizeof(struct node);
 *     em_vector_open(&v, ctx, &opts);
 *     em_vector_resize(v, 1000000000);
 *     em_vector_set(v, 123456789, &node);
 *     em_vector_get(v, 123456789, &node);
 *     em_vector_close(v);
 *
 * Where they lie.  A new vector lies on the scratch disks of its context, and is gone when it is closed.  With
 * opts.path the vector is a file of the user's: the bytes of the file are the records, one behind the other from its
 * first byte on, and nothing else is stored in it.  What is changed in a bound vector is in the file when
 * em_vector_flush() has returned, and durable when it was told to make it so.  But blocks go to the file whenever
 * their memory is needed: some of the changes stand in it before a flush, and there is no way back from them.
 *
 * A record that was never set is zeros.  Creating, resizing and shrinking do no I/O, and what was never written is not
 * read.
 *
 * Small vectors.  Nothing is on a disk before the cache is full, and the memory grows with the blocks that are used: an
 * open vector of few records takes few bytes.
 *
 * Access.  em_vector_get() and em_vector_set() of a record whose block is in memory take a few nanoseconds.  For many
 * records that lie side by side em_vector_read() and em_vector_write() take one call; for many that lie anywhere
 * em_vector_read_many() has many reads under way at a time.  em_vector_pin() lends a record in place.  Readers and a
 * writer pass through a range in order, with transfers ahead of and behind the caller, and leave the cache alone; they
 * see what the cache has, and the cache sees what they wrote.  Reading never makes a block dirty.
 *
 * One thread at a time, for a vector and its readers and writer together; callbacks may not call the vector (that is
 * EM_ERR_BUSY).  A vector keeps its context, so that may be closed before it.  After any failure the vector can be
 * inspected, used and closed; what could not be written stays in memory, and em_vector_flush() tries it again.
 *
 * Costs are those of the standard model: N records, M records of memory, B records in a block, D disks.
 * scan(N) is N / (D B) steps.
 */
#ifndef EXTMEM_VECTOR_H
#define EXTMEM_VECTOR_H

#include <extmem/batch.h>
#include <extmem/ctx.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/placement.h>

EM_BEGIN_DECLS

typedef struct em_vector em_vector;

/** In em_vector_opts.flags. */
enum {
	EM_VECTOR_READ_ONLY = 1, /**< The file of opts.path may not be changed: whatever would do so is EM_ERR_ACCESS. */
	EM_VECTOR_CREATE = 2,    /**< Make the file of opts.path if it is not there. */
	EM_VECTOR_TRUNCATE = 4   /**< Forget what is in the file of opts.path. */
};

typedef struct em_vector_opts {
	uint32_t size;          /**< sizeof(em_vector_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_VECTOR_..., combined.  All of them need a path. */
	uint64_t record_bytes;  /**< Of a record, 1 to 2^24.  Must be set. */
	const char *path;       /**< NULL: on scratch.  Else the vector is bound to that file. */
	uint64_t records;       /**< N at first, of a vector on scratch; that of a file is by its length. */
	uint64_t block_bytes;   /**< Of a block, a multiple of EM_BLOCK_UNIT; 0: 64 KiB, or what holds a record. */
	uint32_t page_blocks;   /**< Blocks that are read together when one of them is missing: 1 to 64; 0: 1. */
	uint32_t reserved;
	uint64_t cache_bytes;   /**< Memory for blocks; 0: 16 MiB, or an eighth of the context's, whichever is less.  At
	                             least two pages. */
	const em_policy *policy; /**< Which block goes; must live as long as the vector; NULL: em_policy_lru(). */
	uint64_t seed;          /**< For a policy that draws. */
	const em_placement *placement; /**< Which block lies on which disk; NULL: on one after the other.  Copied. */
	em_errinfo *errinfo;    /**< Filled when em_vector_open() fails; may be NULL. */
} em_vector_opts;
#define EM_VECTOR_OPTS_INIT { sizeof(em_vector_opts), 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, NULL }

typedef struct em_vector_stats {
	uint32_t size;          /**< sizeof(em_vector_stats); set by the initialiser. */
	uint32_t reserved;
	uint64_t records;       /**< N. */
	uint64_t capacity;      /**< Records that blocks are known for without another allocation of memory. */
	uint64_t block_bytes;
	uint64_t cache_blocks;  /**< Blocks that may be in memory ... */
	uint64_t blocks_held;   /**< ... that have memory now ... */
	uint64_t blocks_dirty;  /**< ... and that are to be written. */
	uint64_t hits;          /**< Accesses that found their block in memory. */
	uint64_t misses;        /**< Those that did not. */
	uint64_t reads;         /**< Blocks read, for whatever purpose ... */
	uint64_t writes;        /**< ... and written. */
	uint64_t reads_deep;    /**< Sum over reads of how many were under way when it began, itself included. */
	uint64_t memory;        /**< Bytes of memory in use. */
} em_vector_stats;
#define EM_VECTOR_STATS_INIT { sizeof(em_vector_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Open a vector.  opts must name record_bytes.  Nothing is read, no block is allocated.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or opts is NULL, a flag is unknown or has no path, records with a path, block_bytes is no
 *                    multiple of EM_BLOCK_UNIT, a function of the policy is NULL, the placement is of another number
 *                    of disks
 *   EM_ERR_RANGE     record_bytes is not 1 to 2^24, page_blocks not 0 to 64, a block holds no record, cache_bytes holds
 *                    no two pages
 *   EM_ERR_VERSION   opts or the policy was made without its initialiser
 *   EM_ERR_FORMAT    the length of the file is no multiple of record_bytes; the detail names it and both numbers
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_NOTSUP  the file cannot be opened, or is none that can be read
 *                    at any place
 *   EM_ERR_FDLIMIT, EM_ERR_MEMLIMIT, EM_ERR_NOMEM  resources
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_vector_open(em_vector **out, em_ctx *ctx, const em_vector_opts *opts);

/** Close it: a bound one is flushed as far as that works, which em_vector_flush() before tells.  Readers, writers and
 *  cursors of it must be closed before.  NULL is allowed. */
EM_API void em_vector_close(em_vector *v);

/** The most bytes of memory that a vector of `records' records takes, its readers and writer not counted; 0 if opts is
 *  not legal. */
EM_API uint64_t em_vector_memory(const em_vector_opts *opts, uint64_t records);

/** N; 0 of NULL. */
EM_API uint64_t em_vector_size(const em_vector *v);

/** Bytes of a record; 0 of NULL. */
EM_API uint64_t em_vector_record_bytes(const em_vector *v);

/**
 * Copy record i to `record', or from there.
 *
 * Returns (as all functions below, which only say what is different):
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL
 *   EM_ERR_RANGE     there is no such record: i is not less than N.  Nothing has changed
 *   EM_ERR_ACCESS    what would change a vector that is open for reading only
 *   EM_ERR_BUSY      it was called from one of its own callbacks
 *   EM_ERR_STATE     all blocks in memory are pinned
 *   EM_ERR_SHORT     the file is shorter than it was, by somebody else; the detail names it
 *   EM_ERR_IO, EM_ERR_NOSPACE, EM_ERR_CORRUPT  a block could not be read; or another could not be written, and there is
 *                    no memory but its
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_USER      the caller's policy names a block that may not go
 *   EM_ERR_CANCELED  the context was
 *   EM_ERR_FORK      the context is the parent process's
 * I/O: none if the block is in memory, else one read of a page; one write of a page if a dirty block has to go.  The
 * first write of a block that was never written reads nothing.
 */
EM_API EM_NODISCARD em_status em_vector_get(em_vector *v, uint64_t i, void *record);
EM_API EM_NODISCARD em_status em_vector_set(em_vector *v, uint64_t i, const void *record);

/** Copy the n records from i on.  A block that is overwritten as a whole is not read.  A failure of writing leaves
 *  records before the one that em_errinfo.record names written, and the others as they were.
 *  I/O: scan(n), with transfers under way while records are copied. */
EM_API EM_NODISCARD em_status em_vector_read(em_vector *v, uint64_t i, void *records, uint64_t n);
EM_API EM_NODISCARD em_status em_vector_write(em_vector *v, uint64_t i, const void *records, uint64_t n);

/** Copy the n records of these positions, which may be in any order and the same several times.  Many reads are under
 *  way at a time, as many as disks and cache allow; what is missing is read in the order of the file as far as is
 *  looked ahead.  I/O: at most n reads of a page; fewer where positions share blocks. */
EM_API EM_NODISCARD em_status em_vector_read_many(em_vector *v, const uint64_t *positions, uint64_t n, void *records);

/** Record i is going to be used: begin to read its block if there is memory for it without waiting. */
EM_API void em_vector_hint(em_vector *v, uint64_t i);

/** Append a record, or n of them.  *pushed, which may be NULL, is how many entered, also after a failure: EM_ERR_NOSPACE
 *  when the disk is full.  The same call for the others may be tried again.  I/O: 1/B, scan(n); no reads. */
EM_API EM_NODISCARD em_status em_vector_push(em_vector *v, const void *record);
EM_API EM_NODISCARD em_status em_vector_push_many(em_vector *v, const void *records, uint64_t n, uint64_t *pushed);

/** Have n records: new ones are zeros, also where the vector was longer before.  The file of a bound vector has that
 *  length at once.  EM_ERR_STATE: a block behind n is pinned.  EM_ERR_RANGE: the bytes are more than 2^63.  No I/O but
 *  that of the file system. */
EM_API EM_NODISCARD em_status em_vector_resize(em_vector *v, uint64_t n);

/** Have memory for the ids of the blocks of n records, so that appending up to there takes none.  The same for disks is
 *  em_ctx_opts.  No I/O. */
EM_API EM_NODISCARD em_status em_vector_reserve(em_vector *v, uint64_t n);

/** Give back what is not needed for N records: memory of ids, and of blocks that are not dirty.  No I/O. */
EM_API EM_NODISCARD em_status em_vector_shrink(em_vector *v);

/** Exchange what two vectors of one context are, their options included.  EM_ERR_STATE: one of them has a reader, a
 *  writer, or a record that is pinned; EM_ERR_INVAL: of two contexts.  No I/O. */
EM_API EM_NODISCARD em_status em_vector_swap(em_vector *a, em_vector *b);

/** Write what is dirty.  With `durable' not 0 a bound vector's file is on its device when this returns. */
EM_API EM_NODISCARD em_status em_vector_flush(em_vector *v, int durable);

/** Write all records into a file, which appears under its name when it is whole; an old one of that name is replaced.
 *  I/O: scan(N) twice. */
EM_API EM_NODISCARD em_status em_vector_export(em_vector *v, const char *path);

/** Lend record i in place, until it was unpinned as often as it was pinned; *record is aligned to the largest power of
 *  two that divides record_bytes, at most EM_BLOCK_UNIT.  A vector may have so many pinned blocks as its cache has, but
 *  one page.  `change' not 0: it may be changed. */
EM_API EM_NODISCARD em_status em_vector_pin(em_vector *v, uint64_t i, int change, void **record);

/** Done with a record that was pinned, as em_vector_pin() lent it.  EM_ERR_STATE: it is not pinned.  Never waits. */
EM_API em_status em_vector_unpin(em_vector *v, const void *record);

/** Fill stats.  EM_OK, EM_ERR_INVAL, EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_vector_stats_get(const em_vector *v, em_vector_stats *stats);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_vector_error(const em_vector *v, em_errinfo *err);

/* Readers and writers. */

typedef struct em_vector_reader em_vector_reader;
typedef struct em_vector_writer em_vector_writer;

/** In which direction records are read. */
enum {
	EM_VECTOR_FORWARD = 0,
	EM_VECTOR_REVERSE = 1
};

typedef struct em_vector_stream_opts {
	uint32_t size;          /**< sizeof(em_vector_stream_opts); set by the initialiser. */
	uint32_t direction;     /**< EM_VECTOR_FORWARD or, of a reader, EM_VECTOR_REVERSE. */
	uint64_t from;          /**< The first position of the range ... */
	uint64_t n;             /**< ... and its records; UINT64_MAX: up to N. */
	uint32_t buffers;       /**< Blocks in memory, at least 2; 0: what keeps all disks busy. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when opening fails; may be NULL. */
} em_vector_stream_opts;
#define EM_VECTOR_STREAM_OPTS_INIT { sizeof(em_vector_stream_opts), 0, 0, UINT64_MAX, 0, 0, NULL }

/**
 * Read a range in order; opts may be NULL: all, forward.  Several readers may be open.  What is changed through the
 * vector meanwhile is seen if its record is not lent or in a buffer yet.  While a reader is open, the vector may not
 * become shorter than its range: EM_ERR_STATE.
 *
 * em_vector_reader_next() lends a batch: records of one block, valid until the next call on r.  Backwards the last
 * record of a batch is the first in order.  EM_END: there are no more.  em_vector_reader_cursor() is in
 * extmem/cursor.h.
 *
 * I/O: scan(n), and no more than that; blocks that are in the cache are taken from there.
 */
EM_API EM_NODISCARD em_status em_vector_reader_open(em_vector_reader **out, em_vector *v,
						    const em_vector_stream_opts *opts);
EM_API EM_NODISCARD em_status em_vector_reader_next(em_vector_reader *r, const em_batch **batch);
EM_API void em_vector_reader_error(const em_vector_reader *r, em_errinfo *err);
EM_API void em_vector_reader_close(em_vector_reader *r);

/**
 * Write a range in order, from opts->from on; opts may be NULL: append.  Up to N it overwrites, and behind it appends.
 * One writer is open at a time, and no reader of its range.  Until it is closed the range may be used by nobody else:
 * EM_ERR_STATE.
 *
 * em_vector_writer_push() copies n records.  em_vector_writer_lend() lends room for *n > 0 records, of which the caller
 * fills the first and tells em_vector_writer_took() how many.  em_vector_writer_finish() writes all that was pushed;
 * what is pushed and not finished when it is closed is in the vector or is not.
 *
 * I/O: scan(n); a block at either end of the range of which records stay is read.
 */
EM_API EM_NODISCARD em_status em_vector_writer_open(em_vector_writer **out, em_vector *v,
						    const em_vector_stream_opts *opts);
EM_API EM_NODISCARD em_status em_vector_writer_push(em_vector_writer *w, const void *records, uint64_t n);
EM_API EM_NODISCARD em_status em_vector_writer_lend(em_vector_writer *w, void **records, uint64_t *n);
EM_API EM_NODISCARD em_status em_vector_writer_took(em_vector_writer *w, uint64_t n);
EM_API EM_NODISCARD em_status em_vector_writer_finish(em_vector_writer *w);
EM_API void em_vector_writer_error(const em_vector_writer *w, em_errinfo *err);
EM_API void em_vector_writer_close(em_vector_writer *w);

EM_END_DECLS

#endif
