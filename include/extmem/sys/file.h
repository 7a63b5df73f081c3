/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/file.h  Files: synchronous transfers, size, space.
 *
 * A file is opened in a context, whose backend (em_ctx_opts.backend or .custom) does its transfers. All files of a
 * context that are on one physical disk share the queue of that disk. Asynchronous transfers are in
 * extmem/sys/request.h.
 *
 * A transfer is whole or it failed: what was short, interrupted or refused for the moment is retried. A read that meets
 * the end of the file moves fewer bytes; it never invents any. Of two transfers of one file that have bytes in common,
 * one of them a write, the one that was begun first is complete before the other begins. With direct input and output,
 * buffers, offsets and sizes that are not multiples of 4096 work too, through a buffer of the library's.
 *
 * Several threads may use one file at a time; closing comes last. The detail of a failure (em_file_error()) is that of
 * the last one of all threads.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_FILE_H
#define EXTMEM_SYS_FILE_H

#include <extmem/sys/backend.h>
#include <extmem/sys/io_stats.h>

EM_BEGIN_DECLS

typedef struct em_file em_file;

/** More ways to open, beside EM_OPEN_... in extmem/sys/backend.h. */
#define EM_OPEN_BUFFERED 8u  /**< Never direct, whatever the context says. */
#define EM_OPEN_DIRECT 256u  /**< Direct, or EM_ERR_NOTSUP. */

typedef struct em_file_opts {
	uint32_t size;        /**< sizeof(em_file_opts); set by the initialiser. */
	uint32_t flags;       /**< EM_OPEN_..., at least one of EM_OPEN_READ, _WRITE, _TEMP and _LINKABLE. */
	uint32_t queue;       /**< Number of the disk queue to put it on, for files whose disk the library cannot know;
	                           0: that of its disk. */
	uint32_t reserved;
	em_errinfo *errinfo;  /**< Filled when em_file_open() fails; may be NULL. */
} em_file_opts;
#define EM_FILE_OPTS_INIT { sizeof(em_file_opts), EM_OPEN_READ, 0, 0, NULL }
/** As EM_FILE_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_file_opts_init(em_file_opts *out, size_t bytes);

/**
 * Open a file. opts may be NULL: for reading. With EM_OPEN_TEMP path is a directory.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     an argument is NULL, flags are not legal
 *   EM_ERR_VERSION   opts was made without its initialiser
 *   EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_EXIST, EM_ERR_IO  as the system says
 *   EM_ERR_NOTSUP    direct transfers do not work there; or files that can be linked do not exist there
 *   EM_ERR_FDLIMIT   the context has no descriptor left
 *   EM_ERR_MEMLIMIT, EM_ERR_NOMEM  no memory
 *   EM_ERR_FORK      the context is the parent process's
 */
EM_API EM_NODISCARD em_status em_file_open(em_file **out, em_ctx *ctx, const char *path, const em_file_opts *opts);

/**
 * Close a file: waits for its requests, whose results stay with them. Called from within the function of a request, it
 * does not wait: the last request closes the file. NULL is allowed. Does not make data durable: em_file_sync() does.
 * After a fork, in the child, it only frees memory and the descriptor.
 */
EM_API void em_file_close(em_file *f);

/**
 * Read up to bytes at offset into buf, in the calling thread if nothing that overlaps is pending. *moved, which may be
 * NULL, gets the number of bytes: fewer only at the end of the file.
 *
 * Returns EM_OK; EM_ERR_INVAL (an argument is NULL); EM_ERR_IO and others as the system says, with path, offset and
 * bytes; EM_ERR_FORK. I/O: one request, ceil(bytes / B) blocks of the disk.
 */
EM_API EM_NODISCARD em_status em_file_read(em_file *f, void *buf, size_t bytes, uint64_t offset, size_t *moved);

/** Write bytes at offset, growing the file as needed. As em_file_read(), and EM_ERR_NOSPACE (disk full, quota, size
 *  limit). */
EM_API EM_NODISCARD em_status em_file_write(em_file *f, const void *buf, size_t bytes, uint64_t offset);

/** Its size in bytes. EM_OK, EM_ERR_INVAL, EM_ERR_IO, EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_file_size(em_file *f, uint64_t *bytes);

/** Set its size; what is added reads as zeros and has no space. No transfer behind that size may be pending. EM_OK,
 *  EM_ERR_INVAL, EM_ERR_IO, EM_ERR_NOSPACE, EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_file_resize(em_file *f, uint64_t bytes);

/** Allocate space for [offset, offset + bytes), so that a full disk shows now; the file grows where it ends before
 *  that. Where a file system cannot, it does nothing. EM_OK, EM_ERR_INVAL, EM_ERR_NOSPACE, EM_ERR_IO, EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_file_reserve(em_file *f, uint64_t offset, uint64_t bytes);

/** Give the space of [offset, offset + bytes) back to the file system; the size stays, what was there is lost. EM_OK,
 *  EM_ERR_INVAL, EM_ERR_NOTSUP (not possible there), EM_ERR_IO, EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_file_discard(em_file *f, uint64_t offset, uint64_t bytes);

/** Have all that was written, by requests that are done, reach the device (fdatasync). EM_OK, EM_ERR_INVAL, EM_ERR_IO,
 *  EM_ERR_NOSPACE, EM_ERR_FORK. */
EM_API EM_NODISCARD em_status em_file_sync(em_file *f);

/** What was moved through it. Any thread. EM_OK, EM_ERR_INVAL, EM_ERR_VERSION (stats without its initialiser). */
EM_API EM_NODISCARD em_status em_file_stats_get(em_file *f, em_io_stats *stats);

/** 1 when transfers go past the page cache. */
EM_API int em_file_is_direct(const em_file *f);

/** The path it was opened by; lives as long as f. */
EM_API const char *em_file_path(const em_file *f);

/** Its descriptor, or -1; the file's: not to be closed. */
EM_API int em_file_descriptor(const em_file *f);

/** Copy the detail of the last call on f that failed, of all threads; all zero if there is none. Any thread. */
EM_API void em_file_error(const em_file *f, em_errinfo *err);

EM_END_DECLS

#endif
