/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/request.h  Requests: asynchronous transfers.
 *
 * Submitting never waits: a disk's queue holds as many requests as there is memory for, and gives the kernel as many of
 * them at once as em_ctx_opts.queue_depth says. How it ended stays in the request until that is closed; requests are
 * recycled by their file.
 *
 *     em_request *rq;
 *     em_file_read_async(f, buf, bytes, offset, NULL, NULL, &rq);
 *     ... compute ...
 *     em_status s = em_request_wait(rq);
 *     em_request_close(rq);
 *
 * A function that is given with a request is called when it is done, by the thread that noticed: one of the library's,
 * or one that waits for some request. It may submit requests, close this one, and close the file. It must not wait for
 * this request, and should be short: other requests of the disk may wait for it to return.
 *
 * Requests of one file complete in any order, but for those that have bytes in common, one of them a write: of these
 * the one submitted first is done, its function has returned, before the other begins.
 *
 * One thread at a time waits for a request; other calls are for any thread.
 *
 * Large direct transfers are fastest from memory in large pages (on Linux aligned to 2 MiB, madvise() with
 * MADV_HUGEPAGE), as the library's own buffers are: each page is looked up on its own, and a disk cuts what has more
 * pieces than it takes at once. With a virtual disk that took 254, blocks of 2 MiB were twice as fast to read.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_REQUEST_H
#define EXTMEM_SYS_REQUEST_H

#include <extmem/sys/file.h>

EM_BEGIN_DECLS

typedef struct em_request em_request;

typedef void (*em_request_fn)(em_request *rq, void *user);

/**
 * Start reading into, or writing from, buf, which must live until the request is done. fn may be NULL. *out gets the
 * request, for em_request_close(); out may be NULL: then the request is closed by itself when it is done.
 *
 * Returns EM_OK when the request exists: everything else that may be wrong is told by its status. EM_ERR_INVAL (f or
 * buf is NULL), EM_ERR_MEMLIMIT, EM_ERR_NOMEM: there is none, *out is NULL, fn is not called.
 * I/O: ceil(bytes / B) blocks of the disk.
 */
EM_API EM_NODISCARD em_status em_file_read_async(em_file *f, void *buf, size_t bytes, uint64_t offset, em_request_fn fn,
						 void *user, em_request **out);
EM_API EM_NODISCARD em_status em_file_write_async(em_file *f, const void *buf, size_t bytes, uint64_t offset,
						  em_request_fn fn, void *user, em_request **out);

/**
 * Wait until it is done, its function has returned, and return how it ended: EM_OK, EM_ERR_CANCELED, or as
 * em_file_read() and em_file_write(). At once when that was so already.
 */
EM_API EM_NODISCARD em_status em_request_wait(em_request *rq);

/** The same with a limit of seconds: 1 when it is done, 0 after that time. */
EM_API int em_request_wait_for(em_request *rq, double seconds);

/** 1 when it is done. Collects what the kernel has finished; never waits. */
EM_API int em_request_poll(em_request *rq);

/** Wait for n requests; how the first of them that failed, in the order of the list, ended. */
EM_API EM_NODISCARD em_status em_request_wait_all(em_request *const *list, uint32_t n);

/** Wait until one of n requests, of files of one context, is done: its index; n after that many seconds (below 0: no
 *  limit). With n = 0: 0. */
EM_API uint32_t em_request_wait_any(em_request *const *list, uint32_t n, double seconds);

/** The index of one that is done, or n; never waits. */
EM_API uint32_t em_request_poll_any(em_request *const *list, uint32_t n);

/**
 * Take a request back that was not begun: 1, and it is done with EM_ERR_CANCELED (its function was called by this
 * thread). 0: it is under way or done.
 */
EM_API int em_request_cancel(em_request *rq);

/** How it ended: as em_request_wait(); EM_ERR_STATE while it is not done. Valid within its function, too. */
EM_API EM_NODISCARD em_status em_request_status(const em_request *rq);

/** Bytes moved; 0 while it is not done. */
EM_API size_t em_request_moved(const em_request *rq);

/** Fill in errno, operation, path, offset, bytes and text of a request that failed; EM_OK and nothing of one that did
 *  not. */
EM_API void em_request_error(const em_request *rq, em_errinfo *err);

/** Drop a request. One that is not done goes on, and its buffer must live; its function is still called. NULL is
 *  allowed. */
EM_API void em_request_close(em_request *rq);

EM_END_DECLS

#endif
