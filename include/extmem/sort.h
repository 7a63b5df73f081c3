/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sort.h  Sorting more records than memory holds.
 *
 * External merge sort after Dementiev and Sanders, "Asynchronous parallel disk sorting"
 * (SPAA 2003): runs as long as the memory allows are sorted in it and written to scratch
 * (section 2.1), then merged, as many at a time as there are buffers for, with blocks
 * fetched in the order in which their smallest keys say they will be needed (section 2.2).
 *
 * With N records, M that fit in memory and B in a block, a sort reads and writes
 * O(N/B * log_{M/B}(N/M)) blocks: each pass moves everything once in and once out.  Data that
 * fits in the memory never touches the disk.
 *
 * Equal records come out in the order in which they came in (the sort is stable), and the
 * output does not depend on threads, memory, or block sizes.
 */
#ifndef EXTMEM_SORT_H
#define EXTMEM_SORT_H

#include <extmem/batch.h>
#include <extmem/cursor.h>
#include <extmem/format.h>
#include <extmem/order.h>
#include <extmem/progress.h>

EM_BEGIN_DECLS

/** Flags of a sort. */
#define EM_SORT_STABLE 1u /**< Promise that equal records keep their order.  (Today they always do.) */
#define EM_SORT_UNIQUE 2u /**< Of records that compare equal keep the first. */

/** Are blocks of runs compressed, with LZ4, on their way to the scratch space? */
enum {
	EM_COMPRESS_AUTO = 0,   /**< Of records of any length those that become half as long or less, while the disk is
	                             behind, if the library was built with LZ4 and there is memory for it; of records of
	                             one size none. */
	EM_COMPRESS_NEVER = 1,
	EM_COMPRESS_ALWAYS = 2  /**< All that become at least 3 % shorter: the least scratch space.  EM_ERR_NOTSUP
	                             without LZ4. */
};

/** In which order are the blocks of runs fetched from several disks?  (Dementiev and Sanders 2003, section 2.4.) */
enum {
	EM_FETCH_BEST = 0,      /**< The one that takes the fewest parallel steps with so many buffers:
	                             em_sort_opts.prefetch_buffers. */
	EM_FETCH_NAIVE = 1      /**< That in which they are merged. */
};

/** On which of several disks do the blocks of runs go?  One disk after the other, beginning ... */
enum {
	EM_PLACE_RUNS_CYCLING = 0, /**< ... each time in a random order, which is each run's own: randomised cycling. */
	EM_PLACE_RUNS_STRIPING = 1 /**< ... with the first, for all runs. */
};

/** Does the last run stay in memory, beside the merge?  The output is the same. */
enum {
	EM_LAST_RUN_AUTO = 0,   /**< If enough memory is left to read the others ahead. */
	EM_LAST_RUN_WRITTEN = 1, /**< No: it goes to scratch, like the others. */
	EM_LAST_RUN_KEPT = 2    /**< If all runs can be merged at once beside it, however little is left to read them
	                             ahead. */
};

typedef struct em_sort_opts {
	uint32_t size;          /**< sizeof(em_sort_opts); set by the initialiser. */
	uint32_t flags;         /**< EM_SORT_... */
	uint64_t memory;        /**< Bytes it may use; 0: what the context has left when it is opened. */
	uint64_t run_records;   /**< Records per run, M in the papers; 0: as many as fit. */
	uint64_t block_bytes;   /**< Bytes per block, B, a multiple of 4096 that holds a record; 0:
	                             em_ctx_opts.block_bytes, or chosen. */
	uint32_t fan_in;        /**< Most runs merged at a time, at least 2; 0: as many as fit. */
	uint32_t read_buffers;  /**< Blocks for prefetching, beyond one per run; 0: chosen. */
	uint32_t write_buffers; /**< Blocks for output, at least 2; 0: chosen. */
	uint32_t compress;      /**< EM_COMPRESS_... */
	em_progress_fn progress; /**< NULL: none. */
	void *progress_user;
	em_errinfo *errinfo;    /**< Filled when a call without an object fails; may be NULL. */
	const em_format *format; /**< How records of any length stand in files; NULL: lines.  For orders of such records
	                              only. */
	uint64_t header;        /**< Records at the beginning of each input that are no part of what is sorted.  Those
	                             of the first input that is not empty stay in front, others are left out, and logged
	                             as a warning (EM_LOG_WARN) if they are not the same.  For orders of records of any
	                             length only. */
	uint32_t prefetch_buffers; /**< Of the read buffers, those that the order of fetching from several disks is the
	                             best for, up to 65536; 0: two for each disk and three tenths of the others. */
	uint32_t fetch;         /**< EM_FETCH_... */
	uint32_t place;         /**< EM_PLACE_RUNS_... */
	uint32_t last_run;      /**< EM_LAST_RUN_... */
	void (*progress_free)(void *user); /**< Of progress_user: called with it once, unless the call fails with
	                             EM_ERR_VERSION.  When what was made with these options is closed, or could not
	                             be made; of a call that makes nothing, before it returns.  em_sort_plan() does
	                             not call it.  NULL: nothing is. */
	void *reserved_last;    /**< NULL. */
} em_sort_opts;
#define EM_SORT_OPTS_INIT                                                                                              \
	{ sizeof(em_sort_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL }
/** As EM_SORT_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_sort_opts_init(em_sort_opts *out, size_t bytes);

/**
 * Set options of a sort from text: options with commas between them, in any order.  They mean what the fields do, and
 * names are those of the command's options.
 *
 *     em_sort_opts_parse(&opts, "memory=64M,unique,last-run=kept", NULL);
 *
 *   memory=SIZE  block-size=SIZE                (em_size_parse())
 *   run-size=N  fan-in=N  read-buffers=N  write-buffers=N  prefetch-buffers=N  header=N
 *   scratch-compress=auto|never|always  fetch=best|naive  place-runs=cycling|striping  last-run=auto|written|kept
 *   stable  unique                               EM_SORT_STABLE, EM_SORT_UNIQUE
 *
 * opts must have been initialised; what the text does not tell stays.  err may be NULL.  Any thread.
 *
 * Returns: EM_OK; EM_ERR_INVAL: opts or text is NULL, an option is not known, was given before or has no legal value;
 * the message names it and the byte at which it begins, which is also err->offset; EM_ERR_VERSION: opts was made
 * without its initialiser.  After a failure opts is as it was.
 */
EM_API EM_NODISCARD em_status em_sort_opts_parse(em_sort_opts *opts, const char *text, em_errinfo *err);

/** What a sort is going to do; filled by em_sort_plan(). */
typedef struct em_sort_plan_info {
	uint32_t size;           /**< sizeof(em_sort_plan_info); set by the initialiser. */
	uint32_t fan_in;         /**< Runs merged at a time. */
	uint64_t memory;         /**< Bytes of memory at most in use. */
	uint64_t memory_min;     /**< The least that would do for this many records. */
	uint64_t run_records;    /**< Records per run. */
	uint64_t runs;           /**< Runs formed; 0: sorted in memory. */
	uint64_t block_bytes;    /**< Bytes per block. */
	uint64_t block_records;  /**< Records per block. */
	uint32_t passes;         /**< Times the data is read and written: 0 in memory, else 1 + merging passes. */
	uint32_t read_buffers;   /**< Blocks for prefetching beyond one per run. */
	uint32_t write_buffers;  /**< Blocks for output. */
	uint32_t threads;        /**< Threads that compute. */
	uint64_t scratch;        /**< Bytes of scratch space at most in use: em_ctx_opts.scratch_max must be as much.
	                              Of records of any length an estimate. */
	uint64_t bytes_read;     /**< Volume read, input included. */
	uint64_t bytes_written;  /**< Volume written, output included. */
	uint32_t prefetch_buffers; /**< Of the read buffers, those that the order of fetching is the best for; 0: blocks
	                              are fetched in the order in which they are merged, as from one disk they always
	                              are. */
	uint32_t reserved;
	uint64_t memory_most;    /**< Bytes of memory that may be used.  Where the caller named none they are more than
	                              `memory': blocks of runs stay in the rest while fresh memory costs less time than
	                              writing them, which is measured in the run itself.  What stays is not written, and
	                              needs no scratch space. */
} em_sort_plan_info;
#define EM_SORT_PLAN_INFO_INIT { sizeof(em_sort_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_SORT_PLAN_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_sort_plan_info_init(em_sort_plan_info *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_sort_plan_info_json(const em_sort_plan_info *of, char *to, size_t bytes);

/** Time and traffic of one phase: em_sort_stats_phase(). */
typedef struct em_phase_stats {
	uint32_t size;          /**< sizeof(em_phase_stats); set by the initialiser. */
	uint32_t reserved;
	double seconds;         /**< Wall clock. */
	double cpu_seconds;     /**< Of the whole process; 0 of few records, of which it would take longer to ask. */
	double io_wait;         /**< Seconds the calling thread waited for a transfer. */
	uint64_t bytes_read;    /**< By the library's requests. */
	uint64_t bytes_written;
	uint64_t ios_read;      /**< Number of requests. */
	uint64_t ios_written;
} em_phase_stats;
#define EM_PHASE_STATS_INIT { sizeof(em_phase_stats), 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_PHASE_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_phase_stats_init(em_phase_stats *out, size_t bytes);

/** What a sort has done so far. */
typedef struct em_sort_stats {
	uint32_t size;          /**< sizeof(em_sort_stats); set by the initialiser. */
	uint32_t passes;        /**< 0: in memory; otherwise 1 + merging passes. */
	uint64_t records_in;
	uint64_t records_out;
	uint64_t runs;          /**< Runs formed. */
	uint64_t run_records;   /**< Records in the longest run formed. */
	uint64_t block_bytes;
	uint32_t fan_in;        /**< Most runs merged at once. */
	uint32_t threads;
	uint64_t peak_memory;   /**< Of the context, bytes. */
	uint64_t peak_scratch;  /**< Bytes of scratch at most in use, of all sorts of the context. */
	uint64_t peak_scratch_held; /**< Bytes that the file system had set aside for scratch at most: also what is
	                             reserved ahead, and what is free and was not given back. */
	uint64_t kept_records;  /**< Of the last run formed, when it stayed in memory beside the merge, otherwise 0. */
	uint64_t packed_from;   /**< Bytes of blocks of runs that were compressed, ... */
	uint64_t packed_to;     /**< ... and what they became. */
	uint64_t memory_bytes;  /**< Bytes of blocks of runs that stayed in memory, as that was cheaper than writing
	                             them. */
	uint64_t phases[64];    /**< The library's, for em_sort_stats_phase() to tell. */
} em_sort_stats;
#define EM_SORT_STATS_INIT { sizeof(em_sort_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 } }
/** As EM_SORT_STATS_INIT, by a call (extmem/base.h). */
EM_API void em_sort_stats_init(em_sort_stats *out, size_t bytes);
/** It as a JSON object (extmem/base.h), with a list "phases" of objects as em_phase_stats, each of which has the name
 *  of the phase, too (em_phase_name()); those that did not take place are left out. */
EM_API size_t em_sort_stats_json(const em_sort_stats *of, char *to, size_t bytes);

/**
 * Time and traffic of a phase, EM_PHASE_..., in statistics that were filled; all zero of one that did not take place.
 * Who wants them all counts from 0 to EM_END, which may be further in later versions.  Any thread.
 *
 * Returns: EM_OK; EM_END: there is no such phase, nor one behind it; EM_ERR_INVAL: a pointer is NULL; EM_ERR_VERSION:
 * one of the two was made without its initialiser.
 */
EM_API EM_NODISCARD em_status em_sort_stats_phase(const em_sort_stats *stats, uint32_t phase, em_phase_stats *out);

/**
 * Say what sorting n records of the order's size would take, without any I/O.  It may take less: the last run stays in
 * memory if there is room for it beside the merge.  n may be an estimate.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     an argument is NULL, a forced value is illegal
 *   EM_ERR_VERSION   opts, its format or info was made without its initialiser
 *   EM_ERR_MEMLIMIT  the memory is too small; info->memory_min and the detail name the least
 *   EM_ERR_NOTSUP    compression was asked for, and the library was built without it
 */
EM_API EM_NODISCARD em_status em_sort_plan(em_ctx *ctx, const em_order *order, uint64_t n, const em_sort_opts *opts,
					   em_sort_plan_info *info);

typedef struct em_sorter em_sorter;

/**
 * A sorter: push records in, finish, pull them out.
 *
 * Order of calls: open, push..., finish, next... until EM_END, close.  opts may be NULL.
 * The memory is taken at once.  One thread at a time.
 *
 * Returns: EM_OK, EM_ERR_INVAL, EM_ERR_VERSION, EM_ERR_MEMLIMIT (the detail names the least that would do),
 * EM_ERR_NOMEM, EM_ERR_FORK, EM_ERR_NOTSUP (opts->compress).
 */
EM_API EM_NODISCARD em_status em_sorter_open(em_sorter **out, em_ctx *ctx, const em_order *order,
					     const em_sort_opts *opts);

/**
 * Add n records, which are copied.  When the memory is full this sorts a run and starts writing
 * it; amortised it costs O(n/B) writes.
 *
 * Returns (errors are sticky):
 *   EM_OK            all were taken
 *   EM_ERR_STATE     em_sorter_finish() was called before
 *   EM_ERR_NOSPACE   scratch is full, or em_ctx_opts.scratch_max is too little
 *   EM_ERR_IO, EM_ERR_ACCESS, EM_ERR_NOENT   scratch cannot be made or written; em_sorter_error() tells
 *   EM_ERR_MEMLIMIT  there are more runs than the memory can describe and merge
 *   EM_ERR_USER      a function of the order failed: one that compares, or computes keys
 *   EM_ERR_CANCELED, EM_ERR_NOMEM, EM_ERR_FORK
 */
EM_API EM_NODISCARD em_status em_sorter_push(em_sorter *s, const void *records, uint64_t n);

/** Add records of one size, given as bytes: as em_sorter_push(), and EM_ERR_INVAL: they are no whole number of records,
 *  of which nothing was taken; the message names the record size. */
EM_API EM_NODISCARD em_status em_sorter_push_bytes(em_sorter *s, const void *records, size_t bytes);

/**
 * Add the records of a file, as em_sort_files() reads its inputs: "-" is standard input, pipes and devices are read to
 * their end, and records of any length stand in it as em_sort_opts.format says, of which the first
 * em_sort_opts.header are left out.  Any number of files may be pushed, and other records between them.
 *
 * What is wrong with the file is no failure of s: records before that were pushed (em_sorter_pushed()), and s goes on.
 * I/O: scan(N).  Memory: three buffers of a 64th of the context's, 256 KiB at most, and the longest record.
 *
 * Returns as em_sorter_push(); and EM_ERR_INVAL (an argument is NULL, path is a directory), EM_ERR_FORMAT,
 * EM_ERR_SHORT, EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_FDLIMIT as em_sort_files().  em_sorter_error() has the
 * detail.
 */
EM_API EM_NODISCARD em_status em_sorter_push_file(em_sorter *s, const char *path);

/** Bytes of a record, 0: records have any length; and how many were pushed so far.  0 of NULL. */
EM_API uint64_t em_sorter_record_bytes(const em_sorter *s);
EM_API uint64_t em_sorter_pushed(const em_sorter *s);

/**
 * End the input.  Merges runs until the rest can be merged while it is pulled.
 * Returns as em_sorter_push().
 */
EM_API EM_NODISCARD em_status em_sorter_finish(em_sorter *s);

/**
 * Lend the next batch of sorted records, valid until the next call on s other than close.
 * Costs O(n/B) reads.  EM_END and errors are sticky.  While the caller looks at the batch other threads go on merging.
 * Scratch space that was read is reused but not given back to the file system before s is closed.
 *
 * Returns: EM_OK, EM_END, EM_ERR_STATE (not finished), EM_ERR_IO, EM_ERR_CORRUPT, EM_ERR_USER,
 * EM_ERR_CANCELED, EM_ERR_FORK.
 */
EM_API EM_NODISCARD em_status em_sorter_next(em_sorter *s, const em_batch **batch);

/**
 * Write the sorted records that are left to a file: in place of batches, or behind those that were lent and records
 * that were taken from the cursor.  The file appears complete or not at all, as that of em_sort_files() does, and
 * records of any length stand in it as em_sort_opts.format says.  A delimiter within a record stays as it is.
 *
 * A failure of the file costs the records that were written until then; they cannot be pulled again.  One of opening it
 * costs none.  I/O: scan(N) more.  Memory: as em_output_open() (extmem/sys/output.h).
 *
 * Returns as em_sorter_next(), EM_OK at the end; EM_ERR_INVAL (an argument is NULL, path is a directory); EM_ERR_NOENT,
 * EM_ERR_ACCESS, EM_ERR_NOSPACE, EM_ERR_PIPE, EM_ERR_FDLIMIT, EM_ERR_MEMLIMIT, EM_ERR_NOMEM; EM_ERR_RANGE: a record is
 * longer than a prefix of the format can tell.  em_sorter_error() has the detail.
 */
EM_API EM_NODISCARD em_status em_sorter_pull_file(em_sorter *s, const char *path);

/** The cursor of s (extmem/cursor.h): sorted records one by one, in place of batches or behind those that were lent.
 *  It may be had at any time, and is always the same.  NULL of NULL. */
EM_API em_cursor *em_sorter_cursor(em_sorter *s);

/**
 * Add n records that lie one behind the other, which are copied: as em_sorter_push(), for records of one size (ends is
 * NULL) or of any length, as the order says.  ends: n offsets from `records' of the first byte behind each record, as
 * in an em_batch.  A record of any length has at most em_sorter_longest() bytes.
 *
 * Returns as em_sorter_push(), and EM_ERR_INVAL (ends is NULL or not, against what the order says, or does not ascend)
 * and EM_ERR_RANGE (a record is too long; the detail tells its number among these n).
 */
EM_API EM_NODISCARD em_status em_sorter_push_batch(em_sorter *s, const void *records, const uint64_t *ends, uint64_t n);

/**
 * Begin anew, at any time, also after a failure or when s was canceled: records that were pushed are gone, and others
 * may be.  Order, options and cursor stay; statistics begin anew.  It costs what closing and opening do.
 *
 * There is no way back to the first record: scratch space is used again as soon as it was read.  Who needs records
 * twice pushes them to a vector (extmem/vector.h), or writes them to a file.
 *
 * Returns as em_sorter_open().  After a failure s can only be cleared again, or closed.
 */
EM_API EM_NODISCARD em_status em_sorter_clear(em_sorter *s);

/**
 * Bytes of the longest record that s takes.  For orders of records of any length that is a 32nd of its memory, less
 * what its key takes.  Where neither em_ctx_opts.memory nor em_sort_opts.memory is given, it is about a tenth of what
 * the machine has beyond the context's memory, if that is more.  Such a record is the reason to take more memory than
 * em_ctx_memory().  For other orders it is the record size.  0 if s is NULL.
 */
EM_API uint64_t em_sorter_longest(const em_sorter *s);

/** Stop whatever s is doing: the call in progress, and every later one, returns EM_ERR_CANCELED.  Any thread, also in a
 * signal handler: it stores one word atomically and does nothing else.  em_ctx_cancel() stops all of a context. */
EM_API void em_sorter_cancel(em_sorter *s);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_sorter_error(const em_sorter *s, em_errinfo *err);

/** Fill stats.  Returns EM_OK, EM_ERR_INVAL, or EM_ERR_VERSION: stats was made without its initialiser. */
EM_API EM_NODISCARD em_status em_sorter_stats_get(const em_sorter *s, em_sort_stats *stats);

/** Release s and its scratch space.  NULL is allowed.  Never fails. */
EM_API void em_sorter_close(em_sorter *s);

/**
 * Sort files of records into a file: binary records of one size, or, with an order of records of any length
 * (extmem/text.h), lines or whatever opts->format says.  The output has the format of the input; a last line without
 * its delimiter gets it.
 *
 * inputs name ninputs files whose records are read one file after the other; the size of each
 * when it is opened is what is sorted, and must be a multiple of the record size.
 * A name of "-" is standard input; pipes, devices and files that do not know their size (those of
 * /proc) are read to their end.  output may be one of the inputs.  A regular output file appears complete, at once, or
 * not at all: it is written without a name and linked when done (where the file system cannot do that, under a
 * temporary name in the same directory; see em_ctx_abandon()).  A symbolic link is followed; pipes and devices
 * are written directly; "-" is standard output.
 *
 * The data of a regular output is on the disk (fdatasync) before its name is made or changed.  The name itself is not
 * waited for: after a crash it stands for what was there before, or for the whole output.  Standard output and scratch
 * are never waited for.
 *
 * An existing file is replaced by one with the same owner, mode, access control list and extended attributes.  Where
 * that cannot be had it is overwritten: when it has several names, when its owner or attributes cannot be given to
 * another file, when the name cannot be changed (a file that is mounted, a directory that may not be written), or when
 * the system has no extended attributes as Linux has them.  Then the complete output is copied into it and brought to
 * the disk; the output until then takes space beside the file, or where scratch is.  A failure before the copying
 * leaves the file as it was.
 *
 * Two passes move 2N in and 2N out.  Scratch takes N and some buffers.  It goes back to the file system, where that can
 * take it, while the last pass writes the output, so that both together take N and at most as much again as the memory.
 *
 * Returns: EM_OK or what em_sorter_open(), push, finish and next return; and
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO   an input or the output's directory
 *   EM_ERR_FORMAT    the size of an input is not a multiple of the record size; a record of any length is cut off, a
 *                    quote of a CSV file is never closed, or a record is too long: what there is no memory for is, its
 *                    key included, and of a given memory, where a pipe is read, what takes more than a 32nd.  The
 *                    message names file and line, and bytes is the memory that would do (0: unknown)
 *   EM_ERR_NOSPACE   also: the output does not fit.  Where its size and the free space are known this comes before
 *                    anything is read, with the output as path, and the bytes that it needs beyond what it has as bytes
 *   EM_ERR_SHORT     an input became shorter while it was read
 *   EM_ERR_PIPE      nobody reads the output any more
 *   EM_ERR_VERSION   opts, its format or stats was made without its initialiser
 * The detail is in opts->errinfo.  If one record of an input is the reason of the failure, it has that one's number.
 * stats may be NULL; otherwise it is filled also after a failure.
 */
EM_API EM_NODISCARD em_status em_sort_files(em_ctx *ctx, const em_order *order, const char *const *inputs,
					    uint32_t ninputs, const char *output, const em_sort_opts *opts,
					    em_sort_stats *stats);

/**
 * Merge files that are sorted already into a file.  As em_sort_files(), but each input is taken as it comes, so that of
 * inputs that are not sorted the output is not either.  Equal records come in the order of the inputs.  At most
 * opts->fan_in files (0: as many as memory and descriptors allow) are open at a time; more of them are merged in
 * several passes through scratch space.
 *
 * With several threads, regular files that are large enough are divided by keys, and each thread merges a part of all
 * of them; then each file is open once for each thread, within the same limits.  So it is of records of one size or
 * lines (not CSV), without header, and to a regular file.  With EM_SORT_UNIQUE there are more and smaller parts, and
 * what comes out of one waits in memory for those before it.  The output is the same, except for inputs that are not
 * sorted.
 *
 * One pass moves N in and N out; inputs beyond the fan-in cost further passes over them.
 *
 * Returns: as em_sort_files(); EM_ERR_FDLIMIT (fewer than two inputs can be open).
 */
EM_API EM_NODISCARD em_status em_merge_files(em_ctx *ctx, const em_order *order, const char *const *inputs,
					     uint32_t ninputs, const char *output, const em_sort_opts *opts,
					     em_sort_stats *stats);

EM_END_DECLS

#endif
