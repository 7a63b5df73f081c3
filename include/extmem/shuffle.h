/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/shuffle.h  Putting records into random order.
 *
 * Each record gets a random number, and they are sorted by it (extmem/sort.h): no order is preferred, as far as seeds
 * go.  The number is computed from the seed and the record's number in the input, so the same seed gives the same order
 * of so many records, whatever they contain, and whatever the threads, memory, block sizes or machine.  No two records
 * get the same number.
 *
 * It costs what the sort of the records does, each with 8 bytes more: O(N/B * log_{M/B}(N/M)) blocks.  (Distributing
 * records to random buckets that fit in memory, as in Sanders, "Random permutations on distributed, external and
 * hierarchical memory", Information Processing Letters 67 (1998), moves as many blocks in two passes; but which
 * permutation it gives depends on how many buckets there are.)
 *
 * It is nothing to draw lots or make keys with: who knows the seed knows the order, and there are no more than 2^64 of
 * them.
 */
#ifndef EXTMEM_SHUFFLE_H
#define EXTMEM_SHUFFLE_H

#include <extmem/ctx.h>
#include <extmem/format.h>
#include <extmem/progress.h>
#include <extmem/sort.h>

EM_BEGIN_DECLS

typedef struct em_shuffle_opts {
	uint32_t size;           /**< sizeof(em_shuffle_opts); set by the initialiser. */
	uint32_t fan_in;         /**< Most runs merged at a time, at least 2; 0: as many as fit. */
	uint64_t seed;           /**< Another seed gives another order. */
	uint64_t count;          /**< Only so many records, the first ones of that order: a sample in which each record
	                              is equally likely to be; 0: all. */
	uint64_t memory;         /**< Bytes it may use; 0: what the context has left. */
	uint64_t run_records;    /**< Records per run; 0: as many as fit. */
	uint64_t block_bytes;    /**< Bytes per block of scratch, a multiple of 4096 that holds a record and 8 bytes; 0:
	                              em_ctx_opts.block_bytes, or chosen. */
	uint64_t header;         /**< Records at the beginning of each input that are a header, as em_sort_opts.header.
	                              Only where the record size is 0. */
	const em_format *format; /**< How records of any length stand in files; NULL: lines.  Only where the record
	                              size is 0. */
	em_progress_fn progress; /**< NULL: none. */
	void *progress_user;
	em_errinfo *errinfo;     /**< Filled when the call fails; may be NULL. */
	void (*progress_free)(void *user); /**< As in em_sort_opts. */
	void *reserved_last;     /**< NULL. */
} em_shuffle_opts;
#define EM_SHUFFLE_OPTS_INIT { sizeof(em_shuffle_opts), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
/** As EM_SHUFFLE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_shuffle_opts_init(em_shuffle_opts *out, size_t bytes);

/**
 * Write the records of files together in random order into a file: binary records of record_size bytes, or, if that is
 * 0, records of any length.  Records are numbered through all inputs, in their order, a header not included.  opts may
 * be NULL.  Inputs, output and stats are as with em_sort_files(); the output may be an input, and appears complete or
 * not at all.
 *
 * Two passes move 2N in and 2N out, and 8 bytes more for each record on scratch.  What fits in a run is moved in and
 * out once.  opts->count records that fit in the memory cost N in, and themselves out (extmem/top.h).
 *
 * Returns: as em_sort_files(); EM_ERR_RANGE (a record does not fit in memory), EM_ERR_INVAL (a format or a header with
 * a record size).
 */
EM_API EM_NODISCARD em_status em_shuffle_files(em_ctx *ctx, uint64_t record_size, const char *const *inputs,
					       uint32_t ninputs, const char *output, const em_shuffle_opts *opts,
					       em_sort_stats *stats);

EM_END_DECLS

#endif
