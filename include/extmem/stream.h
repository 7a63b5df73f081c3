/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/stream.h  Streams: records that come one behind the other, and are nowhere as a whole.
 *
 * (STXXL's streaming layer: Dementiev, Kettner and Sanders 2007, section 7.)  Algorithms that feed each other batch by
 * batch save the I/O for what would lie between them.  A stream is pulled: whoever wants records asks for the next
 * batch, and whoever makes them asks others.  A source has its records from a file, a container or a function
 * (this file, extmem/stream_containers.h).  A node has them from other streams, its inputs (extmem/stream_nodes.h).
 * Streams that feed each other are a graph; its last node is what the program pulls.
 *
 *     em_stream_file(&numbers, ctx, 8, &path, 1, NULL);
 *     em_stream_sort(&sorted, numbers, order, NULL, NULL);
 *     em_stream_unique(&once, sorted, order, 0, NULL);
 *     while ((status = em_stream_next(once, &batch)) == EM_OK)
 *             ... batch->n records at batch->records ...
 *     if (status != EM_END)
 *             ... em_stream_error(once, &err) has the detail ...
 *     em_stream_close(once);
 *
 * What pushes records somewhere is a sink (extmem/sink.h).
 *
 * Functions of the caller's come with a `user' and a user_free.  When that is not NULL it is called with user once:
 * when the stream is closed, as the last of its functions; or by the call that was to make the stream, when that fails.
 * The end of a stream frees nothing.
 *
 * Laziness.  Making a source or node does no I/O and calls no function of the caller's.  Nodes take memory for records
 * when they are first pulled, and give it back when they have no more.
 *
 * Ownership.  A node that was made owns its inputs: it closes them.  They may be told of (em_stream_error(),
 * em_stream_record_bytes(), em_stream_count()) as long as it lives.  Closing one does nothing, and pulling one, or
 * giving it to another node, is EM_ERR_STATE.  A node that could not be made owns nothing.  `out' may be where an input
 * stands: em_stream_sort(&s, s, ...).  If the node cannot be made *out is that input, as it was, and otherwise NULL.
 * Containers, sorters and orders stay the caller's, and containers and sorters live as long as the stream.
 *
 * An input that was pulled before goes on behind what was lent.  Records in the window of its cursor are not lost.
 *
 * Failures.  What a source or function fails with is what the pull of the last node returns, with the detail; so do all
 * nodes on the way.  It stays, but for mistakes that change nothing: a pull by a function that the graph is calling, or
 * one of a container that is at work (EM_ERR_BUSY).  After these the next pull goes on.  em_ctx_cancel() stops a graph,
 * whatever it is doing.  A graph may be closed at any time, and leaves nothing behind.
 *
 * All records of a stream have one size, but for streams of lines and the like (extmem/stream_lines.h), which some
 * nodes take.  Others refuse them, and orders of records of any length (EM_ERR_NOTSUP).
 *
 * Threads.  One at a time uses a graph and the containers that it is on.  Functions of the caller's are called by the
 * thread that pulls, but for those below em_stream_ahead() and those of em_stream_parallel_map().
 */
#ifndef EXTMEM_STREAM_H
#define EXTMEM_STREAM_H

#include <extmem/batch.h>
#include <extmem/ctx.h>
#include <extmem/cursor.h>
#include <extmem/progress.h>

EM_BEGIN_DECLS

typedef struct em_stream em_stream;

/** The most bytes of a record. */
#define EM_STREAM_RECORD_MAX ((uint64_t)1 << 24)

/** Nobody knows how many records there are. */
#define EM_STREAM_UNKNOWN UINT64_MAX

/**
 * Lend the next batch, valid until the next call on s, other than close.
 *
 * Returns:
 *   EM_OK            *batch has one record or more
 *   EM_END           there are no more, again and again; *batch is NULL, as after any failure
 *   EM_ERR_INVAL     s or batch is NULL
 *   EM_ERR_STATE     s is an input of a node
 *   EM_ERR_BUSY      it was called from a function that the graph is calling
 *   EM_ERR_USER      a function of the caller's has failed: a source, a node's, an order's
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_CANCELED, EM_ERR_FORK
 *   and what its sources and nodes say that they may fail with
 * I/O: that of the graph.
 */
EM_API EM_NODISCARD em_status em_stream_next(em_stream *s, const em_batch **batch);

/** The cursor of s (extmem/cursor.h), always the same: records one by one, in place of batches or behind those that
 *  were lent.  It pulls nothing before it is asked for a record.  NULL of NULL. */
EM_API em_cursor *em_stream_cursor(em_stream *s);

/**
 * Record by record, as STXXL's streams are used:
 *
 *     em_cursor *c = em_stream_cursor(s);
 *     for (; !em_stream_empty(c); em_stream_advance(c))
 *             ... the record at em_stream_front(c) ...
 *     if (c->status != EM_END)
 *             ... em_stream_error(s, &err) has the detail ...
 *
 * Is there none?  1 at the end, and after a failure; then c->status is EM_END or what it is.
 */
static inline int em_stream_empty(em_cursor *c)
{
	return em_cursor_need_(c) != EM_OK;
}

/** The next record, when the stream is not empty. */
static inline const void *em_stream_front(const em_cursor *c)
{
	return c->cur;
}

/** Pass over the next record, when the stream is not empty. */
static inline void em_stream_advance(em_cursor *c)
{
	c->cur += c->step;
}

/** Bytes of a record; 0: they have any length, or s is NULL. */
EM_API uint64_t em_stream_record_bytes(const em_stream *s);

/** How many records were not lent yet, as far as that is known without reading them: as its maker said, or as its
 *  sources knew when they were made.  EM_STREAM_UNKNOWN: nobody knows; 0 of NULL. */
EM_API uint64_t em_stream_count(const em_stream *s);

/**
 * Have s lend, and work on, at most so many records at a time; 0: as many as it suits.  By default nodes that make
 * records have room for 16 KiB of them, which stays in the cache of a processor, and others lend what their inputs do.
 *
 * Returns: EM_OK; EM_ERR_INVAL (s is NULL); EM_ERR_RANGE (they do not fit in memory); EM_ERR_STATE (s was pulled);
 * EM_ERR_BUSY, EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_stream_batch(em_stream *s, uint64_t records);

/**
 * What a graph takes of the context's memory, and how far it got.
 *
 * A sort reads all of its input before it lends anything.  So sorts cut a graph into phases: in each one of them forms
 * its runs, and in the last one the last node is pulled.  Nodes take memory while they live in a phase that is at work.
 * Sorts whose options name no memory share what is left beside those of the phases that they live in.
 */
typedef struct em_stream_graph_info {
	uint32_t size;          /**< sizeof(em_stream_graph_info); set by the initialiser. */
	uint32_t phases;        /**< One for each sort, and the last one. */
	uint32_t phase;         /**< Which is at work or comes next: 1 to phases. */
	uint32_t sorts;         /**< Sorts without memory of their own that live at the same time, at most. */
	uint64_t claimed;       /**< Bytes that the other nodes of a phase take, and sorts whose memory is named, at
	                             most.  Containers have theirs already. */
	uint64_t share;         /**< Bytes that each of those sorts has; 0: there are none, or nothing is left. */
	uint64_t done;          /**< Records that came to the end of the phase that is at work: to its sort, or to
	                             whoever pulls. */
	uint64_t total;         /**< How many there will be in it; EM_STREAM_UNKNOWN: nobody knows. */
} em_stream_graph_info;
#define EM_STREAM_GRAPH_INFO_INIT { sizeof(em_stream_graph_info), 0, 0, 0, 0, 0, 0, 0 }
/** As EM_STREAM_GRAPH_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_stream_graph_info_init(em_stream_graph_info *out, size_t bytes);

/**
 * Fill info of the graph that s is in, at any time: before the first pull as a plan, and later for the progress; also
 * from a function that the graph is calling.  Of what is below an em_stream_ahead() that was pulled nothing is told but
 * claims.
 *
 * Returns: EM_OK; EM_ERR_INVAL (a pointer is NULL); EM_ERR_VERSION.
 */
EM_API EM_NODISCARD em_status em_stream_graph_info_get(const em_stream *s, em_stream_graph_info *info);

/** It as a JSON object (extmem/base.h). */
EM_API size_t em_stream_graph_info_json(const em_stream_graph_info *of, char *to, size_t bytes);

/**
 * Have fn called while the graph whose last node is s is pulled, as that of a sort is (extmem/progress.h), but at most
 * every 0.1 s: by the thread that pulls, also while sorts of the graph form and merge runs.  phase is that of the
 * graph, 1 to phases (em_stream_graph_info); done and total are records that came to its end, as told there, and total
 * is 0 where nobody knows.  It may ask for more by em_stream_graph_info_get(s).  If it returns anything but 0, the pull
 * is EM_ERR_CANCELED, and stays so.  A function of the caller's is not interrupted, nor is what a thread of
 * em_stream_ahead() is at; who waits for that thread is told meanwhile.  If s becomes an input later, fn is called as
 * long as that node pulls it.
 *
 * It takes the place of another one, whose user is freed.  fn NULL: there is none any more.  user_free is as of those
 * that make streams.
 *
 * Returns: EM_OK; EM_ERR_INVAL (s is NULL); EM_ERR_STATE (s was pulled, or is an input of a node); EM_ERR_BUSY,
 * EM_ERR_FORK, EM_ERR_CANCELED.
 */
EM_API EM_NODISCARD em_status em_stream_progress(em_stream *s, em_progress_fn fn, void *user,
						 void (*user_free)(void *user));

/** Copy the detail of the last failure of s; all zero when there was none.  err may be NULL. */
EM_API void em_stream_error(const em_stream *s, em_errinfo *err);

/** Close it with all its inputs, wherever they are.  Of an input of a node this does nothing.  NULL is allowed. */
EM_API void em_stream_close(em_stream *s);

/*
 * Sources.
 *
 * What is true of all that make one, and of all that make a node: *out is NULL after a failure, unless an input stands
 * there, and err, which may be NULL, has the detail.
 *
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL
 *   EM_ERR_RANGE     record_bytes is not 1 to EM_STREAM_RECORD_MAX
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_FORK, EM_ERR_CANCELED
 */

/**
 * What a stream of the caller's own does.  It is copied.  Functions get the `user' of em_stream_open().  For some
 * records that a function makes, em_stream_generate() is less work.
 */
typedef struct em_stream_ops {
	uint32_t size;          /**< sizeof(em_stream_ops); set by the initialiser. */
	uint32_t reserved;
	/** Lend the next records, which stay valid until the next call: set batch->records and batch->n, and leave the
	 *  rest of it, which is zero.  Returns EM_OK, with n > 0; EM_END; or any negative status, which stays, and for
	 *  which the function may fill err, most of all its text.  Other values, and EM_OK without records, are
	 *  EM_ERR_USER.  It is not called again after EM_END or a failure.  Must be given. */
	em_status (*next)(void *user, em_batch *batch, em_errinfo *err);
	/** Called once, whether it was pulled or not: when it has no more, has failed or is closed.  May be NULL. */
	void (*close)(void *user);
	/** Called once, last of all: when it was closed, or when em_stream_open() fails, unless with EM_ERR_VERSION.
	 *  May be NULL. */
	void (*user_free)(void *user);
} em_stream_ops;
#define EM_STREAM_OPS_INIT { sizeof(em_stream_ops), 0, NULL, NULL, NULL }
/** As EM_STREAM_OPS_INIT, by a call (extmem/base.h). */
EM_API void em_stream_ops_init(em_stream_ops *out, size_t bytes);

/**
 * A stream of the caller's own.  count: how many records there will be, or EM_STREAM_UNKNOWN.  em_stream_count() goes
 * by it, and sorts choose their blocks for so many; what comes out does not depend on it.  If this fails, ops->close is
 * not called.
 *
 * Returns also EM_ERR_VERSION (ops was made without its initialiser).  Pulling it returns what ops->next does.
 */
EM_API EM_NODISCARD em_status em_stream_open(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count,
					     const em_stream_ops *ops, void *user, em_errinfo *err);

/** Make records, the first of which has number i: up to *n of them, which is at least 1; *n becomes how many there are,
 *  and 0 says that there are no more.  Returns 0; anything else is a failure, EM_ERR_USER. */
typedef int (*em_generate_fn)(void *user, uint64_t i, void *records, size_t *n);

/** A stream of records that a function makes: until it says that there are no more, or count of them.
 *  EM_STREAM_UNKNOWN: until it says so.  Memory: a batch. */
EM_API EM_NODISCARD em_status em_stream_generate(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count,
						 em_generate_fn fn, void *user, void (*user_free)(void *user),
						 em_errinfo *err);

/** A stream of n records in memory, which stay there, unchanged, as long as the stream lives.  They are not copied, and
 *  lent as they are.  With n = 0 records may be NULL.  EM_ERR_INVAL: more bytes than memory can have. */
EM_API EM_NODISCARD em_status em_stream_memory(em_stream **out, em_ctx *ctx, uint64_t record_bytes, const void *records,
					       uint64_t n, em_errinfo *err);

/**
 * A stream of the records of n files, one file after the other; "-" is standard input.  They are read ahead, in
 * requests of 1 MiB or a 32nd of the context's memory, and lent where they were read: no record is copied but those
 * that lie in two reads.  Files are looked at now, and read up to the size that they have then; pipes and devices are
 * read to their end.  paths are copied.  A batch has records of one file.
 *
 * Returns also EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_FORMAT (the size of a file is no multiple of
 * record_bytes), EM_ERR_INVAL (a directory).  Pulling it returns those, and EM_ERR_SHORT (a file became shorter),
 * EM_ERR_FDLIMIT.
 * I/O: one pass.  Memory: four requests, from when it is first pulled.
 */
EM_API EM_NODISCARD em_status em_stream_file(em_stream **out, em_ctx *ctx, uint64_t record_bytes,
					     const char *const *paths, uint32_t n, em_errinfo *err);

EM_END_DECLS

#endif
