/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/stream_lines.h  Streams of records of any length, such as lines of text.
 *
 *     em_stream_lines(&s, ctx, &path, 1, NULL, NULL);
 *     em_stream_lines_filter(&s, s, no_comment, NULL, NULL);
 *     em_stream_sort(&s, s, order, NULL, NULL);                 (an order of extmem/text.h)
 *     em_sink_lines(&k, ctx, "sorted", NULL, NULL);
 *     status = em_stream_pump(s, k, NULL);
 *
 * All that extmem/stream.h and sink.h say is true of them.  em_stream_record_bytes() is 0, batches have ends
 * (extmem/batch.h), cursors are asked by em_cursor_next_sized(), and records have no delimiter or prefix.  Functions of
 * the caller's get batches of at most 512 records, which have one or more and are theirs until they return.
 *
 * Nodes that take such streams are those of this file, em_stream_sort(), em_stream_merge(), em_stream_unique(),
 * em_stream_set(), em_stream_tee(), em_stream_concat(), em_stream_slice() and em_stream_ahead(); em_stream_lines_map()
 * leads to records of one size, and so to all others, which return EM_ERR_NOTSUP.  Equal lines are left once by
 * EM_SORT_UNIQUE while they are sorted, and by em_stream_unique() when they are.
 */
#ifndef EXTMEM_STREAM_LINES_H
#define EXTMEM_STREAM_LINES_H

#include <extmem/format.h>
#include <extmem/sink.h>
#include <extmem/stream.h>
#include <extmem/stream_nodes.h>
#include <extmem/text.h>

EM_BEGIN_DECLS

/**
 * A stream of the records of n files, one file after the other; "-" is standard input.  They are read ahead, in
 * requests of 1 MiB or a 32nd of the context's memory, and copied once.  format says how they stand there; NULL: lines.
 * A record has at most a 32nd of the context's memory, or 4096 bytes.  paths are copied.
 *
 * Returns also EM_ERR_INVAL (there is no such format), EM_ERR_VERSION (it was made without its initialiser).  Pulling
 * it returns also EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_FORMAT (a record is longer or cut off), EM_ERR_SHORT
 * (a file became shorter), EM_ERR_FDLIMIT, EM_ERR_INVAL (a directory).
 * I/O: one pass.  Memory: five requests and 32 KiB, from when it is first pulled.
 */
EM_API EM_NODISCARD em_status em_stream_lines(em_stream **out, em_ctx *ctx, const char *const *paths, uint32_t n,
					      const em_format *format, em_errinfo *err);

/** Say which records of a batch stay: keep[i] is 1, others are 0.  All are 0 before. */
typedef int (*em_lines_filter_fn)(void *user, const em_batch *lines, unsigned char *keep);

/** The records of a stream that a function keeps.  EM_ERR_INVAL: those of `in' have one size.  Memory: that of the
 *  longest 512 neighbours. */
EM_API EM_NODISCARD em_status em_stream_lines_filter(em_stream **out, em_stream *in, em_lines_filter_fn fn, void *user,
						     void (*user_free)(void *user), em_errinfo *err);

/** Look at records that are on their way. */
typedef int (*em_lines_inspect_fn)(void *user, const em_batch *lines);

/** The records of a stream as they are, shown to a function before they are lent.  EM_ERR_INVAL: as above. */
EM_API EM_NODISCARD em_status em_stream_lines_inspect(em_stream **out, em_stream *in, em_lines_inspect_fn fn,
						      void *user, void (*user_free)(void *user),
						      em_errinfo *err);

/** Write for each record of a batch one to `to', of the size that was said. */
typedef int (*em_lines_map_fn)(void *user, const em_batch *lines, void *to);

/** One record of record_bytes for each record of a stream.  EM_ERR_INVAL: as above; EM_ERR_RANGE: there are no records
 *  of so many bytes. */
EM_API EM_NODISCARD em_status em_stream_lines_map(em_stream **out, em_stream *in, uint64_t record_bytes,
						  em_lines_map_fn fn, void *user, void (*user_free)(void *user),
						  em_errinfo *err);

/** A record of any length that a function of the caller's is making, or, of em_stream_lines_flat_map(), several. */
typedef struct em_line em_line;

/**
 * Put n bytes behind those that a record has.  Only the function that was given the record calls this, until it
 * returns.  bytes may be NULL if n is 0, and may lie in records that the function was given.
 *
 * Returns: EM_OK; EM_ERR_INVAL (line is NULL, or bytes); EM_ERR_MEMLIMIT, EM_ERR_NOMEM: the node fails with it,
 * whatever its function returns then.
 */
EM_API EM_NODISCARD em_status em_line_put(em_line *line, const void *bytes, size_t n);

/**
 * Add a record: put n bytes as em_line_put() does, and end it.  What is put or added next is of another one.
 *
 * Returns as em_line_put(), and EM_ERR_STATE: the function makes one record, which ends when it returns.  The node
 * fails with that, too.
 */
EM_API EM_NODISCARD em_status em_line_add(em_line *line, const void *bytes, size_t n);

/** Add any number of records to `to', made of those of a batch.  At the end of the input it is called once more, with
 *  lines->n = 0, for what it has kept back. */
typedef int (*em_lines_flat_map_fn)(void *user, const em_batch *lines, em_line *to);

/**
 * Any number of records of any length for each record of a stream: lines made of lines, words of them, or none.
 *
 *     static int to_words(void *user, const em_batch *lines, em_line *to)
 *             ...
 *                     if (em_line_add(to, word, bytes) != EM_OK)
 *                             return -1;
 *
 * Records come in the order in which they were added.  What a call adds is kept until it is lent, and the next call is
 * made then.  So the function gets few records at a time while it adds many: one at first, and at most as many as
 * em_stream_batch() of the new stream says.  A call may add an eighth of the context's memory, but always 4096 bytes;
 * each record counts 64 bytes more than it has.
 *
 * Returns also EM_ERR_INVAL (records of `in' have one size).  Pulling it returns also EM_ERR_MEMLIMIT (a call added
 * more), EM_ERR_USER (a function returned, and a record to which it had put bytes was not added).
 * Memory: 48 KiB, or up to three times what a call adds.
 */
EM_API EM_NODISCARD em_status em_stream_lines_flat_map(em_stream **out, em_stream *in, em_lines_flat_map_fn fn,
						       void *user, void (*user_free)(void *user),
						       em_errinfo *err);

/** Say where the records of a batch go: to[i] is 0: it is lent; or k: it is pushed to sinks[k - 1].  All are 0
 *  before. */
typedef int (*em_lines_split_fn)(void *user, const em_batch *lines, uint32_t *to);

/**
 * The records of a stream that a function keeps, while it sends others to n sinks of records of any length, as
 * em_stream_split() does of one size.
 *
 * Returns also EM_ERR_INVAL (records of `in' have one size; there are no sinks; one is NULL, of another context, for
 * records of one size, or comes twice).  Memory: that of the longest 512 neighbours.
 */
EM_API EM_NODISCARD em_status em_stream_lines_split(em_stream **out, em_stream *in, em_sink *const *sinks, uint32_t n,
						    em_lines_split_fn fn, void *user, void (*user_free)(void *user),
						    em_errinfo *err);

/** Make one record of two or more that are equal, out of what is put behind its end, which is nothing yet.  The first
 *  one is the sum so far: the first record of a group, or what the function has made before. */
typedef int (*em_lines_reduce_fn)(void *user, const em_batch *lines, em_line *sum);

/**
 * One record for each group of equal neighbours, as em_stream_reduce() has it of one size: the first one, or what a
 * function makes of it and the others, some of them at a time.  Records are compared with the first one of their group,
 * as it was, by a text order (extmem/text.h).
 *
 * Returns also EM_ERR_INVAL (records of `in' have one size; the order is of another context or for records of one
 * size).  Memory: 96 KiB, or five times the longest record or sum.
 */
EM_API EM_NODISCARD em_status em_stream_lines_reduce(em_stream **out, em_stream *in, const em_order *order,
						     em_lines_reduce_fn fn, void *user, void (*user_free)(void *user),
						     em_errinfo *err);

/** Make a record of a pair, out of what is put behind its end, which is nothing yet.  left or right is NULL where there
 *  is none. */
typedef int (*em_lines_join_fn)(void *user, const void *left, size_t left_bytes, const void *right,
				size_t right_bytes, em_line *line);

typedef struct em_lines_join_opts {
	uint32_t size;          /**< sizeof(em_lines_join_opts); set by the initialiser. */
	uint32_t kind;          /**< EM_JOIN_... (extmem/stream_nodes.h) */
	const em_order *left;   /**< A text order (extmem/text.h).  Left records are sorted by its keys; without keys it
	                             is the whole record. */
	const em_order *right;  /**< That of right ones: as many keys, of the same kinds and flags, at any places; only
	                             which blanks count may differ.  NULL: as `left'. */
	em_lines_join_fn fn;    /**< NULL: as the utility join makes a line: see below. */
	void *user;             /**< Of fn. */
	uint64_t memory_bytes;  /**< For the right records of one key, each of which takes 8 bytes more than it has; 0:
	                             an eighth of the context's memory. */
	void (*user_free)(void *user); /**< Of user (extmem/stream.h), unless em_stream_lines_join() fails with
	                             EM_ERR_VERSION; NULL: nothing is called. */
	void *reserved_last;    /**< NULL. */
	uint32_t separator;     /**< The byte between the fields that come without fn, 0...255; EM_TEXT_BLANKS: that of
	                             `left', or a space where that has none. */
	uint32_t reserved;      /**< 0. */
} em_lines_join_opts;
#define EM_LINES_JOIN_OPTS_INIT                                                                                        \
	{ sizeof(em_lines_join_opts), 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, EM_TEXT_BLANKS, 0 }
/** As EM_LINES_JOIN_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_lines_join_opts_init(em_lines_join_opts *out, size_t bytes);

/**
 * Join two streams of records of any length that are sorted by their keys, as em_stream_join() does those of one size.
 * Keys are all that counts: a comparison of whole records that is last in an order only tells how equal keys are
 * sorted.  Where fields are separated by blanks, these are part of the field behind them, unless a key has
 * EM_TEXT_SKIP_START.
 *
 * Without fn a record of EM_JOIN_INNER, EM_JOIN_LEFT or EM_JOIN_FULL has the fields of the keys, of the left record or
 * else of the right one; then the other fields of the left record, and those of the right one.  Fields are separated by
 * opts->separator, and where they were by blanks they have none.  A field of a key that a record lacks is empty, and in
 * the place of a record that is missing nothing comes.  So keys have to be whole fields then, and the orders say what
 * separates them.  EM_JOIN_SEMI and EM_JOIN_ANTI lend the left record as it is.
 *
 * Returns also EM_ERR_INVAL (no such kind or separator; an input has records of one size; an order is missing, of
 * another context or for records of one size; keys differ in number, kind or flags; without fn a key is not of whole
 * fields), EM_ERR_VERSION.  Pulling it returns also EM_ERR_MEMLIMIT: there are more right records of one key than
 * opts->memory_bytes hold.
 */
EM_API EM_NODISCARD em_status em_stream_lines_join(em_stream **out, em_stream *left, em_stream *right,
						   const em_lines_join_opts *opts, em_errinfo *err);

/**
 * A sink that writes records of any length to a file, as em_sink_file() does, with a delimiter or prefix as format
 * says; NULL: lines.  A delimiter in a record stays as it is.  Pushing returns also EM_ERR_RANGE: a record is longer
 * than a prefix can tell.
 */
EM_API EM_NODISCARD em_status em_sink_lines(em_sink **out, em_ctx *ctx, const char *path, const em_format *format,
					    em_errinfo *err);

/**
 * Push the records of a batch to a sink of records of any length.  batch->ends must be given where batch->n is not 0;
 * batch->bytes does not count.
 *
 * Returns as em_sink_push(), and EM_ERR_INVAL: the sink has records of one size, ends are missing or do not ascend.
 */
EM_API EM_NODISCARD em_status em_sink_push_lines(em_sink *k, const em_batch *batch);

EM_END_DECLS

#endif
