/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/element_stream.h  Elements one after the other from or to a file, in four ways.
 *
 * A stream reads or writes a regular file of elements that all have the same size, one at a time and in their order.
 * The four kinds do the same by other means, which is what they are for: to see, on this machine, what a system call, a
 * copy or a page fault per so many bytes costs.  What sorts uses none of them.
 *
 *     kind     moves                                     I/O operations for n elements of R bytes
 *     simple   each element, by a system call            n
 *     buffer   BUFSIZ bytes, through stdio of the C      ceil(nR / BUFSIZ), R < BUFSIZ; larger elements go past
 *              library                                   the buffer, and that is an estimate for them
 *     bufferb  B' bytes, through a buffer of its own     ceil(nR / B')
 *     mapping  B' bytes, mapped with the pages that      ceil(nR / B') mappings
 *              they lie in
 *
 * B' is B, em_element_opts.buffer_bytes, rounded up to whole elements.  Elements may lie across the ends of pages and
 * of stdio's buffer.  em_element_predict() computes that table, the counters of a stream count what was done.
 *
 * Memory: bufferb takes B' bytes of the context's (a reader no more than the file has), buffer takes BUFSIZ and what
 * the C library allocates for a FILE, which is not counted; mapped pages are page cache, which is not counted either.
 *
 * A reader reads what was there when it was opened: a file that grew is read up to its size then, one that shrank is
 * EM_ERR_SHORT.  One thing is an exception to the rule that errors are statuses: when a file shrinks, or its disk
 * fails, while a window of it is mapped, touching that window is a SIGBUS, as it is with any mapped file; at the
 * beginning of a window both are noticed.  A writer allocates the space of what it maps, step by step, so a full disk
 * is EM_ERR_NOSPACE with this kind, too.
 *
 * One thread at a time per stream; streams of one context are independent.  After a fork, a child must do nothing but
 * close them: what moves data returns EM_ERR_FORK there, except that simple does not look at it for each element.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_ELEMENT_STREAM_H
#define EXTMEM_SYS_ELEMENT_STREAM_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

typedef struct em_element_reader em_element_reader;
typedef struct em_element_writer em_element_writer;

/** Kinds; 0 in the options is EM_ELEMENT_BUFFERB. */
#define EM_ELEMENT_SIMPLE 1
#define EM_ELEMENT_BUFFER 2
#define EM_ELEMENT_BUFFERB 3
#define EM_ELEMENT_MAPPING 4

/** Flags, for writers. */
#define EM_ELEMENT_NEW 1u /**< The file must not exist: EM_ERR_EXIST. */
#define EM_ELEMENT_SYNC 2u /**< Finishing waits until the data is on the disk (fdatasync). */

typedef struct em_element_opts {
	uint32_t size;          /**< sizeof(em_element_opts); set by the initialiser. */
	uint32_t kind;          /**< EM_ELEMENT_...; 0: EM_ELEMENT_BUFFERB. */
	uint32_t flags;         /**< EM_ELEMENT_NEW, EM_ELEMENT_SYNC. */
	uint32_t reserved;      /**< 0. */
	em_errinfo *errinfo;    /**< Filled when opening or predicting fails; may be NULL. */
	uint64_t element_bytes; /**< R; 0: 4. */
	uint64_t buffer_bytes;  /**< B, any number, rounded up to whole elements; 0: 64 KiB.  Only for bufferb and
	                             mapping. */
} em_element_opts;
#define EM_ELEMENT_OPTS_INIT { sizeof(em_element_opts), 0, 0, 0, NULL, 0, 0 }
/** As EM_ELEMENT_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_element_opts_init(em_element_opts *out, size_t bytes);

/** What a stream has done so far, or would do. */
typedef struct em_element_stats {
	uint32_t size;         /**< sizeof(em_element_stats); set by the initialiser. */
	uint32_t kind;         /**< EM_ELEMENT_... */
	uint64_t elements;     /**< Read or written. */
	uint64_t ios;          /**< System calls that moved data, or mappings. */
	uint64_t bytes;        /**< That they moved; mapping: bytes of the pages of all windows, as far as they are
	                            used. */
	uint64_t buffer_bytes; /**< Bytes moved at a time: R, BUFSIZ, or B'. */
} em_element_stats;
#define EM_ELEMENT_STATS_INIT { sizeof(em_element_stats), 0, 0, 0, 0, 0 }
/** As EM_ELEMENT_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_element_stats_init(em_element_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_element_stats_json(const em_element_stats *of, char *to, size_t bytes);

/** The kind of that name ("simple", "buffer", "bufferb", "mapping"), 0 when there is none; and the name of a kind, NULL
 *  when there is none: kinds are numbered from 1 without gaps.  Static; any thread. */
EM_API uint32_t em_element_kind_find(const char *name);
EM_API const char *em_element_kind_name(uint32_t kind);

/**
 * Tell what reading or writing n elements will do, without doing it.  opts as for opening, NULL: all defaults.
 *
 * Returns: EM_OK; EM_ERR_INVAL (options); EM_ERR_VERSION (opts or stats was made without its initialiser); EM_ERR_RANGE
 * (no file can hold them).
 */
EM_API EM_NODISCARD em_status em_element_predict(const em_element_opts *opts, uint64_t n, em_element_stats *stats);

/**
 * Open a regular file for reading.  path is copied; opts may be NULL for the defaults.  Reads nothing.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out, ctx or path is NULL, an option has no legal value, or path is no regular file, or one that
 *                    does not know its size (those of /proc)
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_RANGE     a window of that size cannot be addressed
 *   EM_ERR_FORMAT    the size of the file is no multiple of that of an element; the message names both
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO     the file
 *   EM_ERR_NOTSUP    EM_ELEMENT_BUFFER with a C library that cannot count what its stdio does
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_FDLIMIT, EM_ERR_FORK
 */
EM_API EM_NODISCARD em_status em_element_reader_open(em_element_reader **out, em_ctx *ctx, const char *path,
						     const em_element_opts *opts);

/**
 * Copy the next element to where the caller has room for it, of any alignment.
 *
 * Returns: EM_OK; EM_END, again and again; EM_ERR_INVAL (NULL); EM_ERR_SHORT, EM_ERR_IO, EM_ERR_NOMEM (a window cannot
 * be mapped), EM_ERR_FORK: these stay.
 */
EM_API EM_NODISCARD em_status em_element_reader_next(em_element_reader *r, void *element);

/** 1 when all elements have been read, otherwise 0; 1 of NULL.  Never reads. */
EM_API int32_t em_element_reader_at_end(const em_element_reader *r);

/** Elements in the file, those read included; 0 of NULL. */
EM_API uint64_t em_element_reader_elements(const em_element_reader *r);

/** Fill stats.  Returns EM_OK, EM_ERR_INVAL, or EM_ERR_VERSION: stats was made without its initialiser. */
EM_API EM_NODISCARD em_status em_element_reader_stats_get(const em_element_reader *r, em_element_stats *stats);

/** Copy the detail of the last call on r that failed; all zero when there was none. */
EM_API void em_element_reader_error(const em_element_reader *r, em_errinfo *err);

/** Release r.  NULL is allowed.  Never fails. */
EM_API void em_element_reader_close(em_element_reader *r);

/**
 * Open a regular file for writing: made when it is not there, with the mode that umask leaves of 0666, and emptied when
 * it is.  It is complete only after em_element_writer_finish().  path is copied; opts may be NULL for the defaults.
 *
 * Returns: as em_element_reader_open(), without EM_ERR_FORMAT; and EM_ERR_EXIST (EM_ELEMENT_NEW), EM_ERR_NOSPACE.
 */
EM_API EM_NODISCARD em_status em_element_writer_open(em_element_writer **out, em_ctx *ctx, const char *path,
						     const em_element_opts *opts);

/**
 * Append a copy of an element.
 *
 * Returns: EM_OK; EM_ERR_INVAL (NULL), EM_ERR_STATE (after finish), EM_ERR_RANGE (no file is so long); EM_ERR_NOSPACE
 * (also at RLIMIT_FSIZE, if SIGXFSZ is ignored or handled), EM_ERR_IO, EM_ERR_NOMEM: these stay; EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_element_writer_push(em_element_writer *w, const void *element);

/**
 * Write what is in buffers, set the exact length, and close the file.  Calling it again returns the same.
 *
 * Returns: EM_OK; EM_ERR_NOSPACE, EM_ERR_IO, EM_ERR_FORK, or the failure of a push before.
 */
EM_API EM_NODISCARD em_status em_element_writer_finish(em_element_writer *w);

/** As em_element_reader_stats_get(). */
EM_API EM_NODISCARD em_status em_element_writer_stats_get(const em_element_writer *w, em_element_stats *stats);

/** Copy the detail of the last call on w that failed; all zero when there was none. */
EM_API void em_element_writer_error(const em_element_writer *w, em_errinfo *err);

/** Release w.  What was not finished is discarded, and the file left empty, except by a child after a fork, which
 *  only frees memory.  NULL is allowed.  Never fails, never writes. */
EM_API void em_element_writer_close(em_element_writer *w);

EM_END_DECLS

#endif
