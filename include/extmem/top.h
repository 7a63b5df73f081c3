/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/top.h  The first records of an order, without sorting the others.
 *
 * Asked for are the records of ranks from, from + 1, ..., from + k - 1 of the input in an order, the first record
 * having rank 0; they come sorted.  With from = 0 these are the k first (top-k); with k = 1 it is selection, the record
 * of one rank; and the k-th smallest record is the last one of the k first.
 *
 * The input is read once.  The memory keeps a pool of candidates.  When it is full it is sorted and cut to the
 * from + k first; the last of these is a limit: a record that does not come before it is dropped as soon as
 * it is seen, mostly by comparing one number.  If the input is in random order, only about
 * (from + k) * ln(N / (from + k)) of N records ever get into the pool.
 *
 * With from + k records in the memory this reads N/B blocks and writes none.  When they do not fit (they may take
 * seven eighths of what a sort has for a run), full pools become runs on scratch, as in extmem/sort.h, of no more than
 * from + k records each, and the merge of them ends when enough records have come.
 *
 * Equal records come out in the order in which they came in: what is delivered is byte for byte a part of what the
 * (stable) sort delivers, and does not depend on threads, memory, or block sizes.
 */
#ifndef EXTMEM_TOP_H
#define EXTMEM_TOP_H

#include <extmem/sort.h>

EM_BEGIN_DECLS

typedef struct em_top em_top;

/**
 * Take records and keep the first ones: push records in, finish, pull them out.  Used as an em_sorter: open, push...,
 * finish, next... until EM_END, close.  opts may be NULL, and mean what they mean to a sorter; with EM_SORT_UNIQUE,
 * ranks count distinct records, of which the first of equal ones stands for all.  run_records is how many candidates
 * there may be.  from + k may be more than there are records: then there are fewer to pull.  Any of the two may be
 * UINT64_MAX.  The memory is taken at once.  One thread at a time.
 *
 * Returns: as em_sorter_open().
 */
EM_API EM_NODISCARD em_status em_top_open(em_top **out, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
					  const em_sort_opts *opts);

/** Add n records of one size, or a batch of records of one size or of any length: as em_sorter_push() and
 *  em_sorter_push_batch().  What may be one of the records asked for is copied. */
EM_API EM_NODISCARD em_status em_top_push(em_top *t, const void *records, uint64_t n);
EM_API EM_NODISCARD em_status em_top_push_batch(em_top *t, const void *records, const uint64_t *ends, uint64_t n);

/** As em_sorter_push_bytes(), em_sorter_record_bytes() and em_sorter_pushed(). */
EM_API EM_NODISCARD em_status em_top_push_bytes(em_top *t, const void *records, size_t bytes);
EM_API uint64_t em_top_record_bytes(const em_top *t);
EM_API uint64_t em_top_pushed(const em_top *t);

/** End the input.  Returns as em_sorter_finish(). */
EM_API EM_NODISCARD em_status em_top_finish(em_top *t);

/** Lend the next batch of the records asked for, sorted, valid until the next call on t other than close.
 *  Returns as em_sorter_next(); EM_END when all were lent. */
EM_API EM_NODISCARD em_status em_top_next(em_top *t, const em_batch **batch);

/** The cursor of t (extmem/cursor.h): as em_sorter_cursor(). */
EM_API em_cursor *em_top_cursor(em_top *t);

/** Stop whatever t is doing: the call in progress, and every later one, returns EM_ERR_CANCELED.  Any thread, also in a
 * signal handler: it stores one word atomically and does nothing else.  em_ctx_cancel() stops all of a context. */
EM_API void em_top_cancel(em_top *t);

/** Copy the detail of the last failure; all zero when there was none. */
EM_API void em_top_error(const em_top *t, em_errinfo *err);

/** Fill stats.  records_out is how many were lent; no runs: all was done in the memory.
 *  Returns as em_sorter_stats_get(). */
EM_API EM_NODISCARD em_status em_top_stats_get(const em_top *t, em_sort_stats *stats);

/** Release t and its scratch space.  NULL is allowed.  Never fails. */
EM_API void em_top_close(em_top *t);

/**
 * Write the records of ranks from ... from + k - 1 of the inputs together into a file, sorted.  Inputs, output,
 * formats, headers, opts, stats and what is returned are as with em_sort_files(), and the output appears in the same
 * way.  A header stays in front and does not count.
 *
 * One pass moves N in and the k records out; more than that only when from + k records do not fit in the memory.
 *
 * Returns: as em_sort_files().
 */
EM_API EM_NODISCARD em_status em_top_files(em_ctx *ctx, const em_order *order, const char *const *inputs,
					   uint32_t ninputs, uint64_t from, uint64_t k, const char *output,
					   const em_sort_opts *opts, em_sort_stats *stats);

EM_END_DECLS

#endif
