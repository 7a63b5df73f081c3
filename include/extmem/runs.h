/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/runs.h  Sorted runs apart from merging: formed once, merged as often as one likes.
 *
 * (STXXL's runs_creator and runs_merger: Dementiev, Kettner and Sanders 2007, section 7.)  A sorter forms runs and
 * merges them once.  Here the two are apart: records are pushed, or pulled from a stream, or come in sequences that are
 * sorted already; that makes runs.  A merge of them is a stream (extmem/stream.h), of all records or of a range.  It
 * leaves the runs where they are, so there may be another one, also at the same time.  Then the runs are cleared, and
 * others are formed by the same object: in a loop, or a recursion.
 *
 *     em_runs_open(&runs, ctx, order, NULL, NULL);
 *     em_runs_push(runs, records, n);                 as often as you like
 *     em_runs_finish(runs);
 *     em_runs_merge(&all, runs, NULL, NULL);          a stream; pull it, and close it
 *     opts.from = &low;  opts.to = &high;
 *     em_runs_merge(&some, runs, &opts, NULL);        another one, of those from low to before high
 *     em_runs_clear(runs);                            forget them; push again
 *
 * Memory.  While runs are formed they have what the options say for that.  em_runs_finish() gives it back.  Each merge
 * has memory of its own from its first pull to its end.
 *
 * More runs than a merge has memory for are merged in passes, as em_runs_finish() plans.  They become fewer, and stay.
 *
 * Combining.  Where equal records are to be one, such as counts of the same word, a function combines them as early as
 * can be: when a run is formed, in each pass, and in merges.  What is in memory is combined again and again before any
 * of it is written.  So few keys take little scratch, however many records there are.  Where nearly all keys in memory
 * are different, most runs are written as they are, and merges combine.
 *
 * Equal records that are not combined come in the order in which they were given.
 *
 * Records have one size.  Failures stay: each call then returns the first one, until the runs are cleared.  Mistakes
 * change nothing.  One thread at a time uses an object and its merges.
 */
#ifndef EXTMEM_RUNS_H
#define EXTMEM_RUNS_H

#include <extmem/order.h>
#include <extmem/sink.h>
#include <extmem/sort.h>
#include <extmem/stream.h>
#include <extmem/stream_nodes.h>

EM_BEGIN_DECLS

typedef struct em_runs em_runs;

typedef struct em_runs_opts {
	uint32_t size;          /**< sizeof(em_runs_opts); set by the initialiser. */
	uint32_t reserved;      /**< 0. */
	const em_sort_opts *form; /**< How runs are formed, as of a sorter: memory, sizes of runs and blocks, progress.
	                             EM_SORT_UNIQUE: the first of equal records is what they are combined to.  NULL:
	                             defaults.  fan_in is that of passes.  Buffers for reading, errinfo and format are
	                             not looked at.  Copied. */
	uint64_t merge_memory;  /**< Bytes that em_runs_finish() sees to it that a merge can do with; 0: as many as runs
	                             were formed with. */
	em_reduce_fn combine;   /**< Adds equal records to the first of them (em_stream_reduce()).  What it makes must
	                             be equal to it by the order, and must not depend on what was added first.  NULL:
	                             equal records stay. */
	void *user;             /**< Of combine. */
	void (*user_free)(void *user); /**< Of user (extmem/stream.h), unless em_runs_open() fails with
	                             EM_ERR_VERSION; NULL: nothing is called. */
	void *reserved_last;    /**< NULL. */
} em_runs_opts;
#define EM_RUNS_OPTS_INIT { sizeof(em_runs_opts), 0, NULL, 0, NULL, NULL, NULL, NULL }
/** As EM_RUNS_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_runs_opts_init(em_runs_opts *out, size_t bytes);

/**
 * Make an object without runs.  Takes a reference of the order, and next to no memory before records come.  opts and
 * err may be NULL.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     a pointer is NULL, the order is of another context, a forced value is illegal, both combine and
 *                    EM_SORT_UNIQUE are given
 *   EM_ERR_NOTSUP    the order is of records of any length; form->compress
 *   EM_ERR_VERSION   opts or opts->form was made without its initialiser
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_FORK, EM_ERR_CANCELED
 */
EM_API EM_NODISCARD em_status em_runs_open(em_runs **out, em_ctx *ctx, const em_order *order, const em_runs_opts *opts,
					   em_errinfo *err);

/** Close it, with all runs and their scratch.  Merges of it were closed before.  Within a call of a function of the
 *  caller's it ends with that call.  NULL is allowed. */
EM_API void em_runs_close(em_runs *r);

/**
 * Add n records, in any order.  They are copied.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     r is NULL; records is, and n is not 0
 *   EM_ERR_STATE     it is finished
 *   EM_ERR_BUSY      it is called from a function that these runs are calling
 *   EM_ERR_USER      a function of the order's, or combine, has failed
 *   EM_ERR_NOSPACE, EM_ERR_IO, and what else writing to scratch disks fails with
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_FDLIMIT, EM_ERR_THREAD, EM_ERR_FORK, EM_ERR_CANCELED
 * I/O: one write of what does not stay in memory.
 */
EM_API EM_NODISCARD em_status em_runs_push(em_runs *r, const void *records, uint64_t n);

/**
 * Add n records of a sequence that is sorted.  They are not sorted again: a sequence becomes a run, as long as it is,
 * that goes on with the next call and ends with em_runs_end(), or with any other that adds records.  A few records are
 * kept as if they were pushed.
 *
 * Returns as em_runs_push(), and EM_ERR_FORMAT: a record comes before the one in front of it, which err.record numbers
 * from 1 in the call; nothing of the call was added.
 */
EM_API EM_NODISCARD em_status em_runs_append(em_runs *r, const void *records, uint64_t n);

/** The sorted sequence is over: what em_runs_append() adds next is another one.  Returns as em_runs_push(). */
EM_API EM_NODISCARD em_status em_runs_end(em_runs *r);

/** Flags of em_runs_feed() and em_sink_runs(). */
#define EM_RUNS_SORTED 1u /**< What comes is a sorted sequence, of its own. */
#define EM_RUNS_MORE 2u   /**< em_sink_finish() leaves the runs open for more. */

/**
 * Add all records of a stream, which stays the caller's, at its end.  flags: EM_RUNS_SORTED, or 0.  What was added
 * before a failure stays.  err, which may be NULL, has the detail of whichever fails.
 *
 * Returns as em_runs_push(), em_runs_append() and em_stream_next(), and EM_ERR_INVAL: records of two sizes, two
 * contexts, or another flag.
 */
EM_API EM_NODISCARD em_status em_runs_feed(em_runs *r, em_stream *in, uint32_t flags, em_errinfo *err);

/** A sink that pushes or, with EM_RUNS_SORTED, appends to runs.  em_sink_finish() is em_runs_finish(), or with
 *  EM_RUNS_MORE em_runs_end().  EM_ERR_INVAL: another flag. */
EM_API EM_NODISCARD em_status em_sink_runs(em_sink **out, em_runs *r, uint32_t flags, em_errinfo *err);

/**
 * There are no more records: form the last run, give back the memory for forming runs, and merge them in passes until
 * one merge suffices.  If nothing was written so far, an eighth of that memory may stay in use for the records.
 *
 * Returns as em_runs_push(); EM_ERR_STATE: it is finished; EM_ERR_MEMLIMIT: not two runs can be merged.
 * I/O: a write of the last run; a read and a write of what passes merge.
 */
EM_API EM_NODISCARD em_status em_runs_finish(em_runs *r);

/** Forget all records, and begin again with the same order and options.  Also after a failure.  EM_OK;
 *  EM_ERR_INVAL; EM_ERR_STATE: a merge was begun and is not at its end; and as em_runs_open(). */
EM_API EM_NODISCARD em_status em_runs_clear(em_runs *r);

/** What to merge, and with what. */
typedef struct em_runs_merge_opts {
	uint32_t size;          /**< sizeof(em_runs_merge_opts); set by the initialiser. */
	uint32_t reserved;      /**< 0. */
	uint64_t memory;        /**< Bytes it may use; 0: what the passes were planned for.  It takes no more than it
	                             needs to have four blocks of each run in memory, and some for each thread and
	                             disk. */
	const void *from;       /**< A record: only those that do not come before it; NULL: all.  Copied. */
	const void *to;         /**< A record: only those before it; NULL: all.  Copied. */
	uint64_t skip;          /**< Of those the first are left out ... */
	uint64_t take;          /**< ... and so many come at most; 0: all. */
} em_runs_merge_opts;
#define EM_RUNS_MERGE_OPTS_INIT { sizeof(em_runs_merge_opts), 0, 0, NULL, NULL, 0, 0 }
/** As EM_RUNS_MERGE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_runs_merge_opts_init(em_runs_merge_opts *out, size_t bytes);

/**
 * A stream of the records of all runs, sorted, or of a range of them.  opts may be NULL.  The runs stay.  They may be
 * finished later, before the first pull; they live as long as the stream.
 *
 * All threads of the context that the memory feeds merge, also while the program works on what was lent.  A function
 * that compares or combines is called by the thread that pulls alone.
 *
 * Where a range begins is found in the directories of the runs.  So of what is before it hardly more than a block of
 * each run is read, unless keys of the order begin with the same 8 bytes, or skip counts what was combined.
 *
 * Returns as sources do (extmem/stream.h), and EM_ERR_INVAL: r is NULL; EM_ERR_VERSION.  Pulling returns also
 *   EM_ERR_STATE     the runs are not finished (finish them and pull again), or were cleared since the stream was made
 *   EM_ERR_BUSY      a function that the runs are calling pulls; the next pull goes on
 *   EM_ERR_MEMLIMIT  there is too little memory for the runs, and no pass can be made, as other merges are reading
 *                    them; the message says how much would do
 *   EM_ERR_CORRUPT, EM_ERR_IO, EM_ERR_USER, and what else reading fails with, and writing, if there is a pass
 * I/O: one read of what it lends.  A pass, if the memory is less than was planned for.
 */
EM_API EM_NODISCARD em_status em_runs_merge(em_stream **out, em_runs *r, const em_runs_merge_opts *opts,
					    em_errinfo *err);

typedef struct em_runs_info {
	uint32_t size;           /**< sizeof(em_runs_info); set by the initialiser. */
	uint32_t readers;        /**< Merges that have begun and are not at their end. */
	uint64_t pushed;         /**< Records that were added. */
	uint64_t records;        /**< Records in runs or memory now: fewer, where they are combined.  While they are
	                              added: those in runs. */
	uint64_t runs;           /**< Runs on disks. */
	uint64_t formed;         /**< Runs that were formed or appended. */
	uint64_t merged;         /**< Runs that passes have made. */
	uint64_t scratch_bytes;  /**< Of records in runs on disks. */
	uint64_t kept_bytes;     /**< Of records that stay in memory. */
	uint64_t block_bytes;    /**< Of a block; 0: none was needed. */
	uint64_t memory_min;     /**< Bytes with which a merge needs no pass; after finishing. */
	uint64_t bytes_read;     /**< From scratch disks, in all, ... */
	uint64_t bytes_written;  /**< ... and to them. */
} em_runs_info;
#define EM_RUNS_INFO_INIT { sizeof(em_runs_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_RUNS_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_runs_info_init(em_runs_info *out, size_t bytes);

/** Fill info.  EM_OK; EM_ERR_INVAL: a pointer is NULL; EM_ERR_VERSION.  No I/O. */
EM_API EM_NODISCARD em_status em_runs_info_get(const em_runs *r, em_runs_info *info);

/** It as a JSON object (extmem/base.h). */
EM_API size_t em_runs_info_json(const em_runs_info *of, char *to, size_t bytes);

/** Have the call in progress end soon, and every one from now on, with EM_ERR_CANCELED.  Any thread; signal handlers.
 *  NULL is allowed. */
EM_API void em_runs_cancel(em_runs *r);

/** Copy the detail of the last failure; all zero when there was none.  err may be NULL. */
EM_API void em_runs_error(const em_runs *r, em_errinfo *err);

/**
 * A node: one record for each group of equal ones of a stream, sorted, as of em_stream_sort() and em_stream_reduce()
 * behind it.  Here records are combined when runs are formed and in each merge, so that runs have what is left.  opts
 * is as of em_stream_sort(), and may be NULL; it shares memory with other sorts of the graph as those do.
 *
 * Returns as em_stream_sort(); EM_ERR_INVAL: fn is NULL, or opts has EM_SORT_UNIQUE.  Pulling returns what
 * em_runs_push(), em_runs_finish() and a merge of runs do.
 * I/O: a write and a read of what is left when a run is formed, for each pass.
 */
EM_API EM_NODISCARD em_status em_stream_sort_reduce(em_stream **out, em_stream *in, const em_order *order,
						    const em_sort_opts *opts, em_reduce_fn fn, void *user,
						    void (*user_free)(void *user), em_errinfo *err);

/** Fill info of the runs of a stream made by em_stream_sort_reduce(), also after its end.  All zero before the first
 *  pull.  EM_OK; EM_ERR_INVAL: a pointer is NULL, or s is another kind of stream; EM_ERR_VERSION. */
EM_API EM_NODISCARD em_status em_stream_runs_info_get(const em_stream *s, em_runs_info *info);

EM_END_DECLS

#endif
