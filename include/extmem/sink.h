/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sink.h  Sinks: what records are pushed to, batch by batch, wherever they go.
 *
 * A sink is the other end of a stream (extmem/stream.h): a file, a container, a sorter, memory, a function, nothing.
 * Whoever makes records need not know which.
 *
 *     em_sink_file(&k, ctx, 8, "result", NULL);
 *     status = em_stream_pump(s, k, NULL);
 *     if (status == EM_OK)
 *             status = em_sink_finish(k);
 *     em_sink_close(k);
 *
 * Order of calls: make it, push..., finish, close.  Without finish nothing is promised: a file is not there, and what
 * had come to a container is in it.  Making a sink does no I/O and calls no function of the caller's.
 *
 * All records of a sink have one size, but for those of em_sink_lines() (extmem/stream_lines.h).  A failure of a push
 * or of finish stays.
 * Containers and sorters stay the caller's, and live as long as the sink.  One thread at a time.  Those that keep
 * records in containers are in extmem/stream_containers.h.
 */
#ifndef EXTMEM_SINK_H
#define EXTMEM_SINK_H

#include <extmem/stream.h>

EM_BEGIN_DECLS

typedef struct em_sink em_sink;

/**
 * Push n records, which are copied or used up.
 *
 * Returns:
 *   EM_OK            all were taken
 *   EM_ERR_INVAL     a pointer is NULL and n is not 0, they are more bytes than memory can have, or records of the sink
 *                    have any length
 *   EM_ERR_STATE     it is finished
 *   EM_ERR_BUSY      it was called from a function that the sink is calling
 *   EM_ERR_USER, EM_ERR_CANCELED, EM_ERR_FORK, EM_ERR_MEMLIMIT, EM_ERR_NOMEM
 *   and what it says that it may fail with
 */
EM_API EM_NODISCARD em_status em_sink_push(em_sink *k, const void *records, uint64_t n);

/** There are no more: have all of them where they belong.  Returns as em_sink_push(). */
EM_API EM_NODISCARD em_status em_sink_finish(em_sink *k);

/** Bytes of a record; 0: they have any length, or k is NULL. */
EM_API uint64_t em_sink_record_bytes(const em_sink *k);

/** How many records it took; 0 of NULL. */
EM_API uint64_t em_sink_count(const em_sink *k);

/** Copy the detail of the last failure of k; all zero when there was none.  err may be NULL. */
EM_API void em_sink_error(const em_sink *k, em_errinfo *err);

/** Close it.  NULL is allowed.  Never fails. */
EM_API void em_sink_close(em_sink *k);

/**
 * Push all that a stream has to a sink, and leave both open, and the sink unfinished: so several streams can come to
 * one sink.  *moved, which may be NULL, is how many records that were, also after a failure.
 *
 * Returns: EM_OK: the stream is at its end; EM_ERR_INVAL: s or k is NULL, or they have records of two sizes; what
 * em_stream_next() and em_sink_push() return.  em_stream_error(s) has the detail, whichever of the two has failed.
 */
EM_API EM_NODISCARD em_status em_stream_pump(em_stream *s, em_sink *k, uint64_t *moved);

/*
 * What is true of all that make a sink: as of all that make a stream.
 */

/** What a sink of the caller's own does.  It is copied.  Functions get the `user' of em_sink_open(). */
typedef struct em_sink_ops {
	uint32_t size;          /**< sizeof(em_sink_ops); set by the initialiser. */
	uint32_t reserved;
	/** Take batch->n records, n > 0.  Returns EM_OK or any negative status, which stays, and for which it may fill
	 *  err; anything else is EM_ERR_USER.  Must be given. */
	em_status (*push)(void *user, const em_batch *batch, em_errinfo *err);
	/** There are no more.  Returns likewise.  May be NULL. */
	em_status (*finish)(void *user, em_errinfo *err);
	/** Called once, when it is closed.  May be NULL. */
	void (*close)(void *user);
	/** Called once, behind it, or when em_sink_open() fails, unless with EM_ERR_VERSION.  May be NULL. */
	void (*user_free)(void *user);
} em_sink_ops;
#define EM_SINK_OPS_INIT { sizeof(em_sink_ops), 0, NULL, NULL, NULL, NULL }
/** As EM_SINK_OPS_INIT, by a call (extmem/base.h). */
EM_API void em_sink_ops_init(em_sink_ops *out, size_t bytes);

/** A sink of the caller's own.  If this fails, ops->close is not called.  EM_ERR_VERSION: ops was made without its
 *  initialiser. */
EM_API EM_NODISCARD em_status em_sink_open(em_sink **out, em_ctx *ctx, uint64_t record_bytes, const em_sink_ops *ops,
					   void *user, em_errinfo *err);

/** A sink that forgets all records, and counts them. */
EM_API EM_NODISCARD em_status em_sink_discard(em_sink **out, em_ctx *ctx, uint64_t record_bytes, em_errinfo *err);

/** A sink that copies records to memory with room for so many.  A push beyond that is EM_ERR_NOSPACE, takes those that
 *  fit, and stays.  With room = 0 records may be NULL. */
EM_API EM_NODISCARD em_status em_sink_memory(em_sink **out, em_ctx *ctx, uint64_t record_bytes, void *records,
					     uint64_t room, em_errinfo *err);

/**
 * A sink that writes a file, which appears complete when the sink is finished, or not at all (em_sort_files() says
 * where it goes and what is kept of one that is there).  "-" is standard output.  path is copied.  The file is opened
 * with the first push, or by finish.
 *
 * Pushing returns also EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_NOSPACE, EM_ERR_PIPE, EM_ERR_FDLIMIT, and
 * EM_ERR_INVAL (a directory).
 * I/O: one pass.  Memory: 2 MiB at most, and an eighth of the context's.
 */
EM_API EM_NODISCARD em_status em_sink_file(em_sink **out, em_ctx *ctx, uint64_t record_bytes, const char *path,
					   em_errinfo *err);

EM_END_DECLS

#endif
