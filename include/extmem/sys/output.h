/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/output.h  A file that is written from front to end and appears complete or not at all.
 *
 * This is how em_sort_files() and its relatives write theirs, for programs that have something else to write.
 *
 *     em_output *o;
 *     if (em_output_open(&o, ctx, "result", NULL) == EM_OK) {
 *             if (em_output_write(o, data, bytes) == EM_OK && em_output_commit(o) == EM_OK)
 *                     ...it is there
 *             em_output_close(o);
 *     }
 *
 * Where the output goes, what is kept of a file that is there, and what is on the disk when: see em_sort_files().
 *
 * One thread at a time per output.  This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_OUTPUT_H
#define EXTMEM_SYS_OUTPUT_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

typedef struct em_output em_output;

typedef struct em_output_opts {
	uint32_t size;          /**< sizeof(em_output_opts); set by the initialiser. */
	uint32_t reserved;      /**< 0. */
	em_errinfo *errinfo;    /**< Filled when opening fails; may be NULL. */
	uint64_t bytes;         /**< That are going to be written, for which there must be room; 0: nobody knows. */
} em_output_opts;
#define EM_OUTPUT_OPTS_INIT { sizeof(em_output_opts), 0, NULL, 0 }
/** As EM_OUTPUT_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_output_opts_init(em_output_opts *out, size_t bytes);

/**
 * Begin an output.  "-" is standard output; what is no regular file is written directly, by the calling thread.  opts
 * may be NULL.  Takes 2 MiB of the context's memory at most, and an eighth of it.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     an argument is NULL, path is a directory
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO   the file or its directory
 *   EM_ERR_NOSPACE   opts->bytes do not fit
 *   EM_ERR_FDLIMIT, EM_ERR_MEMLIMIT, EM_ERR_NOMEM, EM_ERR_FORK, EM_ERR_CANCELED
 */
EM_API EM_NODISCARD em_status em_output_open(em_output **out, em_ctx *ctx, const char *path,
					     const em_output_opts *opts);

/**
 * Append bytes, which are copied.  They may be written later, so a failure may be that of bytes before.
 *
 * Returns: EM_OK; EM_ERR_NOSPACE, EM_ERR_IO, EM_ERR_PIPE (nobody reads it any more; never a signal), EM_ERR_FORK: these
 * stay.  EM_ERR_INVAL (o or data is NULL) and EM_ERR_STATE (after the commit) do not.
 */
EM_API EM_NODISCARD em_status em_output_write(em_output *o, const void *data, size_t bytes);

/**
 * All is written: put the file in its place, with its data on the disk before.
 *
 * Returns: EM_OK or what writing returns.
 */
EM_API EM_NODISCARD em_status em_output_commit(em_output *o);

/** Copy the detail of the last call on o that failed; all zero when there was none. */
EM_API void em_output_error(const em_output *o, em_errinfo *err);

/** Release o.  Without a commit nothing of a regular file remains, and one that was there is untouched.  NULL is
 * allowed.  Never fails. */
EM_API void em_output_close(em_output *o);

EM_END_DECLS

#endif
