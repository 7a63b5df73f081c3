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
 * their memory is needed: some of the changes stand in it before a flush, and there is no way back from them.  While
 * records are appended the file may be longer than they are, by zeros; flushing or closing makes its length exact.
 *
 * Blocks.  On scratch a block holds as many whole records as fit.  In a file a record lies in two blocks where their
 * size is no multiple of its own.  Unless it is told otherwise, a vector takes a size of 64 KiB or a little more for
 * which that is so, or, where that would be more than 1 MiB, 64 KiB.
 *
 * A record that was never set is zeros.  Creating, resizing and shrinking do no I/O, and what was never written is not
 * read.
 *
 * Small vectors.  Nothing is on a disk before the cache is full, and the memory grows with the blocks that are used: an
 * open vector of few records has one block in memory, and nothing else.
 *
 * Access.  em_vector_get() and em_vector_set() of a record whose block is in memory take a few nanoseconds.  For many
 * records that lie side by side em_vector_read() and em_vector_write() take one call; for many that lie anywhere
 * em_vector_read_many() has many reads under way at a time.  em_vector_pin() lends a record in place.  Readers and a
 * writer pass through a range in order, with transfers ahead of and behind the caller, and leave the cache alone; they
 * see what the cache has, and the cache sees what they wrote.  Reading never makes a block dirty.
 *
 * One thread at a time, for a vector and its readers and writer together; callbacks may not call the vector (that is
 * EM_ERR_BUSY).  A vector keeps its context, and a reader or writer its vector, so they may be closed in any order.
 * After any failure the vector can be inspected, used and closed; what could not be written stays in memory, and
 * em_vector_flush() tries it again.
 *
 * Costs are those of the standard model: N records, M records of memory, B records in a block, D disks.
 * scan(N) is N / (D B) steps.
 */
#ifndef EXTMEM_VECTOR_H
#define EXTMEM_VECTOR_H

#include <extmem/batch.h>
#include <extmem/ctx.h>
#include <extmem/cursor.h>

EM_BEGIN_DECLS

struct em_policy;    /* extmem/sys/cache.h */
struct em_placement; /* extmem/sys/placement.h */

typedef struct em_vector em_vector;

/** In em_vector_opts.flags. */
enum {
	EM_VECTOR_READ_ONLY = 1, /**< The file of opts.path may not be changed: whatever would do so is
	                              EM_ERR_ACCESS. */
	EM_VECTOR_CREATE = 2,    /**< Make the file of opts.path if it is not there. */
	EM_VECTOR_TRUNCATE = 4   /**< Forget what is in the file of opts.path. */
};

typedef struct em_vector_opts {
	uint32_t size;          /**< sizeof(em_vector_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_VECTOR_..., combined.  All of them need a path. */
	uint64_t record_bytes;  /**< Of a record, 1 to 2^24.  Must be set. */
	const char *path;       /**< NULL: on scratch.  Else the vector is bound to that file. */
	uint64_t records;       /**< N at first, of a vector on scratch; that of a file is by its length. */
	uint64_t block_bytes;   /**< Of a block, a multiple of EM_BLOCK_UNIT (4096), less than 2^32; 0: see above. */
	uint32_t page_blocks;   /**< Blocks that are read together when one of them is missing: 1 to 64; 0: 1. */
	uint32_t reserved;
	uint64_t cache_bytes;   /**< Memory for blocks; 0: 16 MiB, or an eighth of the context's, whichever is less.  At
	                             least two pages. */
	const struct em_policy *policy; /**< Which block goes: em_policy_lru(), em_policy_random(), ..., or one's own,
	                             which must live as long as the vector; NULL: em_policy_s3fifo(). */
	uint64_t seed;          /**< For a policy that draws. */
	const struct em_placement *placement; /**< Which block lies on which disk; NULL: one after the other.
	                                           Copied. */
	em_errinfo *errinfo;    /**< Filled when em_vector_open() fails; may be NULL. */
} em_vector_opts;
#define EM_VECTOR_OPTS_INIT { sizeof(em_vector_opts), 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0, NULL, NULL }
/** As EM_VECTOR_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_vector_opts_init(em_vector_opts *out, size_t bytes);

typedef struct em_vector_stats {
	uint32_t size;          /**< sizeof(em_vector_stats); set by the initialiser. */
	uint32_t reserved;
	uint64_t records;       /**< N. */
	uint64_t block_bytes;
	uint64_t block_records; /**< Whole records that a block holds. */
	uint64_t cache_blocks;  /**< Blocks that may be in memory ... */
	uint64_t blocks_dirty;  /**< ... and of those that are, how many are to be written. */
	uint64_t hits;          /**< Accesses that found their block in memory, or on its way. */
	uint64_t misses;        /**< Those that did not. */
	uint64_t reads;         /**< Blocks read, by whatever call ... */
	uint64_t writes;        /**< ... and written. */
} em_vector_stats;
#define EM_VECTOR_STATS_INIT { sizeof(em_vector_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_VECTOR_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_vector_stats_init(em_vector_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_vector_stats_json(const em_vector_stats *of, char *to, size_t bytes);

/**
 * Open a vector.  opts must name record_bytes.  Nothing is read, no block is allocated.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or opts is NULL, flags are unknown, have no path, or contradict each other, records or a
 *                    placement with a path, block_bytes is no multiple of EM_BLOCK_UNIT, a function of the policy is
 *                    NULL, the placement is of another number of disks
 *   EM_ERR_RANGE     record_bytes is not 1 to 2^24, page_blocks not 0 to 64, a block of scratch holds no record,
 *                    cache_bytes holds no two pages, or more than 2^24 blocks
 *   EM_ERR_VERSION   opts or the policy was made without its initialiser
 *   EM_ERR_FORMAT    the length of the file is no multiple of record_bytes; the detail names it and both numbers
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_NOTSUP  the file cannot be opened, or is none that can be read
 *                    at any place
 *   EM_ERR_FDLIMIT, EM_ERR_MEMLIMIT, EM_ERR_NOMEM  resources; the context never has as much memory as the cache and
 *                    the disks or the file may take (extmem/ctx.h)
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_vector_open(em_vector **out, em_ctx *ctx, const em_vector_opts *opts);

/** Close it: a bound one is flushed as far as that works, which em_vector_flush() before tells.  Its file gets its
 *  length also where something could not be written.  Records that are pinned are no more.  A reader or a writer of it
 *  has it go on until that is closed, too.  NULL is allowed. */
EM_API void em_vector_close(em_vector *v);

/** Cancel it (extmem/ctx.h): the call in progress on it, of its readers and writer, and every later one, is
 *  EM_ERR_CANCELED.  What only the cache has is not written any more, also when it is closed.  Any thread; signal
 *  handlers.  NULL is allowed. */
EM_API void em_vector_cancel(em_vector *v);

/** The most bytes of memory that a vector of `records' records takes, its readers and writer not counted, nor, of a
 *  file, what that takes (em_ctx_min_memory() has it); 0 if opts is not legal, UINT64_MAX if 64 bits cannot count
 *  them. */
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

/** Copy the n records from i on, where there are so many, or EM_ERR_RANGE.  A block that is overwritten as a whole is
 *  not read.  A failure of writing leaves the records before the one that em_errinfo.record names, from 1, written, and
 *  those behind it as they were; so it is, too, with that one itself, unless it lies in several blocks.
 *  I/O: scan(n), with transfers under way while records are copied. */
EM_API EM_NODISCARD em_status em_vector_read(em_vector *v, uint64_t i, void *records, uint64_t n);
EM_API EM_NODISCARD em_status em_vector_write(em_vector *v, uint64_t i, const void *records, uint64_t n);

/** Copy the n records of these positions, which may be in any order and the same several times.  Up to 64 reads are
 *  under way at a time, as disks and cache allow.  I/O: at most n reads of a block (of more, where records lie in
 *  several); fewer where positions share blocks. */
EM_API EM_NODISCARD em_status em_vector_read_many(em_vector *v, const uint64_t *positions, uint64_t n, void *records);

/** Record i is going to be used: begin to read its block if there is memory for it without waiting.  One that there is
 *  not is no matter. */
EM_API void em_vector_hint(em_vector *v, uint64_t i);

/** Append a record, or n of them.  *pushed, which may be NULL, is how many entered, also after a failure:
 *  EM_ERR_NOSPACE when the disk is full.  The same call for the others may be tried again.  EM_ERR_STATE: it has a
 *  writer. I/O: 1/B, scan(n); no reads, unless the last block was not in memory any more. */
EM_API EM_NODISCARD em_status em_vector_push(em_vector *v, const void *record);
EM_API EM_NODISCARD em_status em_vector_push_many(em_vector *v, const void *records, uint64_t n, uint64_t *pushed);

/** Have n records: new ones are zeros, also where the vector was longer before.  The file of a bound vector has that
 *  length at once.  EM_ERR_STATE: it is to be shorter, and a record is pinned in what goes or in the last block that
 *  stays, or it has a reader or writer.  EM_ERR_RANGE: the bytes would be 2^63 or more.  No I/O but that of the file
 *  system. */
EM_API EM_NODISCARD em_status em_vector_resize(em_vector *v, uint64_t n);

/** See to it that appending up to n records needs nothing but memory and space for blocks; for a file that space is
 *  allocated, until the vector is flushed or closed.  N stays.  Returns as resize, and EM_ERR_NOSPACE.  No I/O but that
 *  of the file system. */
EM_API EM_NODISCARD em_status em_vector_reserve(em_vector *v, uint64_t n);

/** Give back memory of the cache that N records do not need, and what em_vector_reserve() has allocated.  EM_ERR_STATE:
 *  a record is pinned, or it has a reader or writer.  Costs writes where changed blocks have to leave. */
EM_API EM_NODISCARD em_status em_vector_shrink(em_vector *v);

/** Exchange what two vectors of one context are, their options included.  EM_ERR_STATE: one of them has a reader, a
 *  writer, or a record that is pinned; EM_ERR_INVAL: they are of two contexts.  No I/O. */
EM_API EM_NODISCARD em_status em_vector_swap(em_vector *a, em_vector *b);

/** Write what is dirty, to its file or to scratch, and have the file's length exact.  With `durable' not 0 a file is on
 *  its device when this returns.  While a record is pinned the length stays. */
EM_API EM_NODISCARD em_status em_vector_flush(em_vector *v, int durable);

/** Write all records into a file, which appears under its name when it is whole; an old one of that name is replaced,
 *  and must not be one that a vector is bound to.  See em_output_open() for what else can fail.  I/O: scan(N) twice. */
EM_API EM_NODISCARD em_status em_vector_export(em_vector *v, const char *path);

/**
 * Lend record i in place, until it was unpinned as often as it was pinned; *record is aligned to the largest power of
 * two that divides record_bytes, at most EM_BLOCK_UNIT.  `change' not 0: it may be changed.  As many blocks may be
 * pinned as the cache has, but one.
 *
 * Returns also EM_ERR_NOTSUP: the record lies in two blocks of a file; the detail names a block_bytes with which it
 * does not.
 */
EM_API EM_NODISCARD em_status em_vector_pin(em_vector *v, uint64_t i, int change, void **record);

/** Done with record i, which was pinned.  `changed' not 0: it was changed, having been pinned to be.  EM_ERR_STATE: it
 *  is not pinned.  Never waits. */
EM_API em_status em_vector_unpin(em_vector *v, uint64_t i, int changed);

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

/** How a reader or a writer passes. */
typedef struct em_vector_stream_opts {
	uint32_t size;          /**< sizeof(em_vector_stream_opts); set by the initialiser. */
	uint32_t direction;     /**< EM_VECTOR_FORWARD or, of a reader, EM_VECTOR_REVERSE. */
	uint32_t buffers;       /**< Blocks in memory, 2 to 2^16; 0: what keeps all disks busy, and at most an eighth of
	                             the context's memory. */
	uint32_t reserved;
	em_errinfo *errinfo;    /**< Filled when opening fails; may be NULL. */
	uint64_t from;          /**< The first position of the range ... */
	uint64_t n;             /**< ... and its records; UINT64_MAX: up to N, or, of a writer, any number. */
} em_vector_stream_opts;
#define EM_VECTOR_STREAM_OPTS_INIT { sizeof(em_vector_stream_opts), 0, 0, 0, NULL, 0, UINT64_MAX }
/** As EM_VECTOR_STREAM_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_vector_stream_opts_init(em_vector_stream_opts *out, size_t bytes);

/**
 * Read a range in order; opts may be NULL: all, forward.  Several readers may be open.  What is changed through the
 * vector meanwhile is seen, but for what is in the batch that is lent.  While a reader is open the vector does not
 * become shorter (EM_ERR_STATE).
 *
 * em_vector_reader_next() lends a batch: records of one block (of a file whose records lie in two: as many as a block
 * holds), valid until the next call on r.  Backwards the last record of a batch is the first in order; the cursor takes
 * care of that.  EM_END: there are no more.  A failure stays.
 *
 * Returns: EM_ERR_INVAL (a pointer is NULL, no such direction), EM_ERR_RANGE (the range is not in the vector, buffers),
 * EM_ERR_VERSION; and as em_vector_get().
 * I/O: scan(n), with as many reads under way as there are buffers; blocks that are in the cache are taken from there.
 */
EM_API EM_NODISCARD em_status em_vector_reader_open(em_vector_reader **out, em_vector *v,
						    const em_vector_stream_opts *opts);
EM_API EM_NODISCARD em_status em_vector_reader_next(em_vector_reader *r, const em_batch **batch);
EM_API em_cursor *em_vector_reader_cursor(em_vector_reader *r);
EM_API void em_vector_reader_error(const em_vector_reader *r, em_errinfo *err);
EM_API void em_vector_reader_close(em_vector_reader *r);

/**
 * Write a range in order, from opts->from on, which is at most N; opts may be NULL: append.  Up to N it overwrites, and
 * behind it appends; opts->n is the most that may be pushed.  One writer is open at a time (EM_ERR_STATE), and the
 * vector neither becomes shorter nor is appended to otherwise meanwhile.  N grows as blocks are written.
 *
 * em_vector_writer_push() copies n records.  em_vector_writer_lend() lends room for *n > 0 records, of which the caller
 * fills the first and tells em_vector_writer_took() how many (EM_ERR_INVAL: more than were lent); EM_ERR_RANGE: opts->n
 * were pushed.  em_vector_writer_finish() writes what is left, and then all is in the vector.  Before that, or when
 * the writer is closed instead, each record of the range is what it was or what was pushed, and one that lies in two
 * blocks may be a part of each.  A failure stays.  N is then what it was, or up to the first block that was lost; but
 * while a record behind that is pinned N stays, and what was lost is zeros.  A block of which a record is pinned, or
 * was set since it was pushed, is not lost: it stays in memory, to be written.
 *
 * Returns as em_vector_reader_open(); EM_ERR_ACCESS; EM_ERR_STATE: a record of a block that is to be written is pinned;
 * EM_ERR_STATE: it is finished; and as em_vector_set().
 * I/O: scan(n), with as many writes under way as there are buffers; a block at either end of the range of which records
 * stay is read.
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
