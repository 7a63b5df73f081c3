/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/check.h  Looking whether records are in order.
 */
#ifndef EXTMEM_CHECK_H
#define EXTMEM_CHECK_H

#include <extmem/format.h>
#include <extmem/order.h>
#include <extmem/progress.h>

EM_BEGIN_DECLS

/** Flags of a check. */
#define EM_CHECK_UNIQUE 1u /**< Equal neighbours are out of order, too. */
#define EM_CHECK_FIRST 2u  /**< Stop at the first disorder. */

typedef struct em_check_opts {
	uint32_t size;           /**< sizeof(em_check_opts); set by the initialiser. */
	uint32_t flags;          /**< EM_CHECK_... */
	uint64_t header;         /**< Records at the beginning of each file that are not looked at.  For records of any
	                              length only. */
	const em_format *format; /**< NULL: lines.  For records of any length only. */
	em_progress_fn progress; /**< NULL: none.  The phase is EM_PHASE_RUNS. */
	void *progress_user;
	em_errinfo *errinfo;     /**< Filled when the call fails; may be NULL. */
	void (*progress_free)(void *user); /**< As in em_sort_opts. */
	void *reserved_last;     /**< NULL. */
} em_check_opts;
#define EM_CHECK_OPTS_INIT { sizeof(em_check_opts), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
/** As EM_CHECK_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_check_opts_init(em_check_opts *out, size_t bytes);

/** What was found. */
typedef struct em_check_info {
	uint32_t size;           /**< sizeof(em_check_info); set by the initialiser. */
	uint32_t reserved;
	uint64_t records;        /**< Records looked at. */
	uint64_t bytes;          /**< Their bytes, delimiters and prefixes not counted. */
	uint64_t checksum;       /**< Sum of the hashes of the records, which does not depend on their order. */
	uint64_t duplicates;     /**< Records equal to the one before. */
	uint64_t disorders;      /**< Records that should have come before the one before (EM_CHECK_UNIQUE: or equal
	                              it). */
	uint64_t first_disorder; /**< Number of the first of them in the file, from 1, header included, or its first
	                              line in a CSV file; 0: none. */
} em_check_info;
#define EM_CHECK_INFO_INIT { sizeof(em_check_info), 0, 0, 0, 0, 0, 0, 0 }
/** As EM_CHECK_INFO_INIT, by a call (extmem/base.h). */
EM_API void em_check_info_init(em_check_info *out, size_t bytes);
/** It as a JSON object (extmem/base.h). */
EM_API size_t em_check_info_json(const em_check_info *of, char *to, size_t bytes);

/** Takes the first record that is out of order: n bytes, its number in the file (first_disorder). */
typedef void (*em_disorder_fn)(void *user, uint64_t number, const void *record, size_t n);

/**
 * Read a file ("-": standard input) and look whether its records are in order: records of one size or of any length, as
 * the order says.  order may be NULL: then records of any length are only counted.  fn, which may be NULL, is called
 * with the first record that is out of order, on the caller's thread.  Records of one size are compared by all threads
 * of the context, unless a function of the order must run on the caller's, or there is no memory for their stacks.
 * Costs N/B reads, and memory for some buffers and the longest record.
 *
 * Returns:
 *   EM_OK            also when there is disorder: see info
 *   EM_ERR_INVAL     ctx, path or info is NULL, a flag is unknown, the order belongs to another context, the format
 *                    is none of those that there are, or a format or a header was given for records of one size
 *   EM_ERR_VERSION   opts, its format or info was made without its initialiser
 *   EM_ERR_FORMAT    a record is cut off, or too long (bytes is then the memory that would do), a quote of a CSV file
 *                    is never closed, or bytes are left behind the last record of one size
 *   EM_ERR_USER      a function of the order failed
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_SHORT  the file
 *   EM_ERR_CANCELED  the progress function said so
 *   EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FDLIMIT, EM_ERR_FORK
 */
EM_API EM_NODISCARD em_status em_check_file(em_ctx *ctx, const em_order *order, const char *path,
					    const em_check_opts *opts, em_check_info *info, em_disorder_fn fn,
					    void *user);

EM_END_DECLS

#endif
