/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/unique.h  One record for each group of equal ones, and how many there are.
 *
 * Records are equal when the order says so: those of an order by keys whose keys are equal, whatever else is in them,
 * as with EM_SORT_UNIQUE.
 */
#ifndef EXTMEM_UNIQUE_H
#define EXTMEM_UNIQUE_H

#include <extmem/sort.h>

EM_BEGIN_DECLS

/** Flags. */
#define EM_UNIQUE_COUNT 1u     /**< Write with each record how many equal ones there were. */
#define EM_UNIQUE_PRESORTED 2u /**< Each input is sorted already. */

typedef struct em_unique_opts {
	uint32_t size;            /**< sizeof(em_unique_opts); set by the initialiser. */
	uint32_t flags;           /**< EM_UNIQUE_... */
	uint64_t min_count;       /**< Only groups of at least so many records; 0 is as 1. */
	uint64_t max_count;       /**< Only groups of at most so many records; 0: any number. */
	const em_sort_opts *sort; /**< How to sort: memory, format, header, progress, errinfo and the rest; NULL: as for
	                               a sort with opts NULL.  EM_SORT_UNIQUE there makes no difference. */
	em_errinfo *errinfo;      /**< Filled when the call fails; NULL: sort->errinfo is, if there is one. */
} em_unique_opts;
#define EM_UNIQUE_OPTS_INIT { sizeof(em_unique_opts), 0, 0, 0, NULL, NULL }
/** As EM_UNIQUE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_unique_opts_init(em_unique_opts *out, size_t bytes);

/**
 * Sort files and write the first record of each group of equal ones to a file, in order.  First is what comes first
 * in the inputs.  Inputs, output and opts->sort are as for em_sort_files(), or, with EM_UNIQUE_PRESORTED, as for
 * em_merge_files().  min_count 2 selects what is repeated, max_count 1 what is not.
 *
 * With EM_UNIQUE_COUNT a record of one size is followed by its count, an unsigned number of 8 bytes, least significant
 * first: the output has records that are 8 bytes longer.  A record between delimiters is preceded by its count in
 * decimal digits and one tab: "3<TAB>line" (of a CSV file by one field more, and the separator).  A record with a
 * length prefix has its count as its last 8 bytes, least significant first, and the length includes them.  A header
 * (opts->sort->header) has no counts.
 *
 * With EM_UNIQUE_PRESORTED the inputs are merged, not sorted: one pass without scratch if they can all be open at a
 * time, N/B reads and as many writes as the output has blocks.  Of inputs that are not in order neighbours that are
 * equal are a group, and the same record may come out again.
 *
 * Without EM_UNIQUE_PRESORTED it costs as much as em_sort_files(); without counts and limits it is the same as that, or
 * em_merge_files(), with EM_SORT_UNIQUE.
 *
 * Memory: opts->sort->memory, as for a sort.  Any thread, also several at a time; an order's function is called on that
 * of the caller.
 *
 * Returns: as em_sort_files() or em_merge_files(); and
 *   EM_ERR_INVAL   also: unknown flags, max_count is below min_count
 *   EM_ERR_RANGE   a record and its count are longer than the length prefix can tell
 * The detail is in opts->errinfo, or else in opts->sort->errinfo.  stats may be NULL; otherwise it is filled also after
 * a failure, and records_out is the number of groups written.
 */
EM_API EM_NODISCARD em_status em_unique_files(em_ctx *ctx, const em_order *order, const char *const *inputs,
					      uint32_t ninputs, const char *output, const em_unique_opts *opts,
					      em_sort_stats *stats);

EM_END_DECLS

#endif
