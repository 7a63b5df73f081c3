/* SPDX-License-Identifier: BSL-1.0 */
/*
 * file.h -- files and asynchronous requests.
 *
 * A file belongs to a context; the context's backend does its transfers.  A request is one transfer: a struct in the
 * caller's own storage, so submitting cannot fail for want of memory.  Fill it in with emi_read() or
 * emi_write(), go on with other work, emi_wait() for it.  What went wrong is kept in the request.
 *
 * A transfer is whole or it failed: short transfers, EINTR and EAGAIN are retried inside, a read that meets
 * the end of the file ends with EM_OK and done < bytes.  With a direct file (emi_file_direct())
 * what is not aligned to EMI_PAGE - buffer, offset or size - goes through a buffer of its own, which is slower.
 *
 * Requests of one file may complete in any order, but for those that have bytes in common, one of them a write: of
 * these, the one that was submitted first is done before the other begins.
 */
#ifndef EMI_FILE_H
#define EMI_FILE_H

#include <extmem/sys/file.h>
#include <extmem/sys/request.h>

#include "base/meter.h"
#include "io/overlap.h"

/* Traffic of somebody's requests; counted atomically when they complete.  While some are not waited for, read it
 * by emi_io_snapshot(). */
typedef struct emi_io_stats {
	uint64_t bytes_read;
	uint64_t bytes_written;
	uint64_t ios_read;      /* requests, not retries */
	uint64_t ios_written;
	uint64_t wait_ns;       /* time spent in emi_wait() */
} emi_io_stats;

/* What has been counted by now, while requests may still complete. */
static inline emi_io_stats emi_io_snapshot(const emi_io_stats *io)
{
	emi_io_stats s;

	s.bytes_read = __atomic_load_n(&io->bytes_read, __ATOMIC_RELAXED);
	s.bytes_written = __atomic_load_n(&io->bytes_written, __ATOMIC_RELAXED);
	s.ios_read = __atomic_load_n(&io->ios_read, __ATOMIC_RELAXED);
	s.ios_written = __atomic_load_n(&io->ios_written, __ATOMIC_RELAXED);
	s.wait_ns = __atomic_load_n(&io->wait_ns, __ATOMIC_RELAXED);
	return s;
}

/* What a request does: it transfers, or gives space back. */
typedef enum emi_request_kind { EMI_READ, EMI_WRITE, EMI_DISCARD, EMI_REQUEST_KINDS } emi_request_kind;

typedef struct emi_request emi_request;

/* Called when a request is done, by the thread that found out, with no lock held: status, sys_errno and done are valid,
 * but waiting for it goes on until this has returned.  It may submit requests, and close their file with
 * emi_file_leave(). */
typedef void (*emi_request_fn)(emi_request *rq, void *user);

/* Who is told of a request's way. */
typedef struct emi_request_calls {
	emi_request_fn fn;      /* or NULL */
	emi_request_fn drop;    /* or NULL: called after the end, when nobody in here knows rq any more; for those that
	                           nobody waits for */
	void *user;             /* of both */
	/* Or NULL.  Called when the transfer is over, before anybody hears how, with no lock of the queue held: it
	 * may change status, why and done, and make transfers
	 * of its own with emi_transfer().  By the thread that waits for it; if there is a drop, by the one that made
	 * or collected it. */
	emi_request_fn judge;
	void *judge_arg;
	emi_io_stats *stats;    /* NULL: counted nowhere but in the file */
} emi_request_calls;

struct emi_request {
	em_file *file;
	void *buf;
	size_t bytes;
	uint64_t offset;
	emi_request_calls calls;
	size_t done;            /* bytes moved */
	em_status status;       /* valid once done */
	int32_t sys_errno;
	const char *why;        /* it was refused by who knows more of the file, or NULL; static */
	emi_request_kind kind;
	int32_t state;          /* EMI_IDLE, EMI_QUEUED, EMI_DONE; under the queue's lock or atomic */
	/* the queue's */
	emi_range range;        /* bytes of the file that nobody else may touch meanwhile */
	emi_request *next;      /* in a list */
	emi_request *waiting;   /* those that wait for this one's end, linked by next */
	emi_request *blocker;   /* the one that this one waits for */
	uint64_t begun;         /* when it was handed on */
	int32_t listed;         /* it is on a list */
	int32_t watched;        /* EMI_WATCHED: somebody waits for it among others */
	int32_t awaited;        /* somebody waits for it */
	int32_t in_turn;        /* a write to a file that takes one at a time: it is behind the last one */
};

enum { EMI_IDLE = 0, EMI_QUEUED = 1, EMI_DONE = 2, EMI_WATCHED = 1 };

/* A part of a file. */
typedef struct emi_extent {
	uint64_t offset;
	uint64_t bytes;
} emi_extent;

/* How to open. */
#define EMI_OPEN_READ 1u      /* for reading */
#define EMI_OPEN_WRITE 2u     /* for writing (and reading) */
#define EMI_OPEN_TEMP 4u      /* path is a directory: make an unnamed file in it that vanishes when closed, for reading
                                 and writing */
#define EMI_OPEN_BUFFERED 8u  /* never direct, whatever the context says */
#define EMI_OPEN_CREATE 16u   /* create it, exclusively (EM_ERR_EXIST), mode 0600 */
#define EMI_OPEN_LINKABLE 32u /* path is a name to be: make an unnamed file, mode 0600, in its directory for reading and
                               * writing (O_TMPFILE without O_EXCL), which the caller may link into place with
                               * emi_file_fd().  A file of the real file system whatever the backend (memory keeps only
                               * EMI_OPEN_TEMP files in memory).  EM_ERR_NOTSUP also where there is no O_TMPFILE (errno
                               * EOPNOTSUPP, EISDIR, EINVAL). */
#define EMI_OPEN_SYNC 64u     /* writes are done when they are on the device */
#define EMI_OPEN_LOCK 128u    /* with a lock: EM_ERR_IO (errno EAGAIN) where somebody else has one */
#define EMI_OPEN_SHARED 512u  /* a file that is made is as those that others make: 0666 less the umask, and not 0600 */

/* Open a file.  EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_EXIST, EM_ERR_IO, EM_ERR_FDLIMIT, EM_ERR_NOTSUP (direct is "on" and
 * does not work there), EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_file_open(em_file **out, em_ctx *ctx, const char *path, unsigned flags, em_errinfo *err);

/* The same, with direct instead of the context's, and on the disk queue of that number: 0: that of its disk. */
em_status emi_file_open_on(em_file **out, em_ctx *ctx, const char *path, unsigned flags, int32_t direct, uint32_t queue,
			   em_errinfo *err);

/* All of it: what is 0 or NULL, but for direct, is as the context has it. */
typedef struct emi_file_how {
	unsigned flags;         /* EMI_OPEN_... */
	int32_t direct;         /* EM_DIRECT_... */
	uint32_t queue;
	uint32_t depth;         /* of its queue, where it is the first file on that */
	const struct em_backend *backend;
	const char *noun;       /* what it is, before its name in messages, with a space; static */
} emi_file_how;

em_status emi_file_open_how(em_file **out, em_ctx *ctx, const char *path, const emi_file_how *how, em_errinfo *err);

/* Is what stands at a path, if anything does, a file that can be read at any place: a regular one, or a block device?
 * It is not opened, as a pipe would be waited for.  1 or 0. */
int emi_file_has_places(const char *path);

/* Does something stand there that is neither a regular file nor a directory?  Likewise. */
int emi_file_is_special(const char *path);

/* Most bytes of memory that an open file of ctx takes: its queue and the stacks of its threads (paths up to a page).
 * With less memory there are fewer threads: so these are bytes of ctx as it is, or as it would be with `memory'. */
uint64_t emi_file_memory(const em_ctx *ctx);
uint64_t emi_file_memory_in(const em_ctx *ctx, uint64_t memory);
uint64_t emi_file_memory_how(const em_ctx *ctx, uint64_t memory, const emi_file_how *how);

/* Queues of ctx have no more threads than this from now on, but for those that have begun: memory is too little for
 * more stacks. */
void emi_queues_limit(em_ctx *ctx, uint32_t threads);

/* Wait for its requests and close it.  Their results are lost unless emi_wait() was called before.  NULL is allowed.
 * After a fork, in the child, it only frees memory and the descriptor. */
void emi_file_close(em_file *f);

/* The same, but when called from within a request's fn of that file's disk it does not wait: the last request closes
 * the file. */
void emi_file_leave(em_file *f);

/* Wait until all of its requests are done, whoever they are of. */
void emi_file_settle(em_file *f);

/* A file lives until it was closed and nobody holds it. */
void emi_file_hold(em_file *f);
void emi_file_drop(em_file *f);

/* Bytes in it now. */
em_status emi_file_size(em_file *f, uint64_t *size, em_errinfo *err);

/* Set its size; growing it does not allocate space. */
em_status emi_file_resize(em_file *f, uint64_t size, em_errinfo *err);
/* The same where it becomes shorter, which only gives back: also when the context was canceled. */
em_status emi_file_cut(em_file *f, uint64_t size, em_errinfo *err);

/* Allocate space for [offset, offset + bytes), which may grow the file.  Where that is not supported
 * it does nothing and returns EM_OK.  EM_ERR_NOSPACE, EM_ERR_IO. */
em_status emi_file_reserve(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err);

/* The same for what is going to be written, to know early that there is no room: but not in memory that has plenty
 * (memory_fs.h), where that would take as long as the writing. */
em_status emi_file_set_aside(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err);

/* Have what was written so far reach the device. */
em_status emi_file_sync(em_file *f, em_errinfo *err);

/* What was moved through it. */
void emi_file_stats(em_file *f, em_io_stats *stats);

/* So many bytes from its beginning are going to be read: the system may begin. */
void emi_file_expect(em_file *f, uint64_t bytes);

int emi_file_direct(const em_file *f);
int emi_file_writes(const em_file *f); /* it was opened for that */
em_ctx *emi_file_ctx(const em_file *f);
const char *emi_file_path(const em_file *f);
int emi_file_fd(const em_file *f); /* -1 when the backend has none; for sink.c, which links it into place */

/* Start a transfer.  rq is overwritten; rq, buf and stats must live until it was waited for. */
void emi_read(em_file *f, emi_request *rq, void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats);
void emi_write(em_file *f, emi_request *rq, const void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats);

/* The same by the calling thread, at once: no other one is asked, which would take longer than to copy little that is
 * in memory. */
void emi_read_now(em_file *f, emi_request *rq, void *buf, size_t bytes, uint64_t offset, emi_io_stats *stats);

/* The same for either kind, with functions to be called. */
void emi_submit(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		const emi_request_calls *calls);

/* The same for a request as callers outside have them: see em_file_read_async(). */
em_status emi_submit_public(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
			    const emi_request_calls *calls, em_request_fn fn, void *user, em_request **out,
			    em_errinfo *err);

/* Several transfers are going to be started, or, off, were: their files hand them over some at a time.  They may be
 * waited for before. */
void emi_file_gather(em_file *f, int on);

/* A transfer by the calling thread: rq is not known to anybody else.  As emi_submit() and emi_wait(), but with nothing
 * that overlaps pending it is made at once, no other thread is asked, and nobody looks whether the context was
 * canceled: what must not stop half way is made of these. */
em_status emi_transfer(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset, size_t *done,
		       em_errinfo *err);

/* A transfer that is not to be made, as it would be if it had been started and had failed with that status. */
void emi_refuse(em_file *f, emi_request *rq, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
		em_status status, const char *why);

/* Can space be given back?  (It may turn out that it cannot: EM_ERR_NOTSUP.) */
int emi_file_discards(const em_file *f);

/* Start giving the space of n > 0 extents back to the file system, in their order; what is in them is lost.  rq and
 * list must live until it was waited for; rq->done is then how many went, all of them unless it failed.  A worker of
 * the file does it, beside transfers. */
void emi_discard(em_file *f, emi_request *rq, const emi_extent *list, size_t n);

/* For those who hold a lock that who judges a transfer, or a function of a request, may need.  Nothing of others is run
 * or collected by the calling thread: emi_discard() that begins when somebody waits for it or the queue goes on,
 * emi_wait() of such a request, and emi_done(). */
void emi_discard_later(em_file *f, emi_request *rq, const emi_extent *list, size_t n);
em_status emi_wait_alone(emi_request *rq, em_errinfo *err);
int emi_is_over(const emi_request *rq);

/* Without such a lock: have the queue of the file go on. */
void emi_file_go_on(em_file *f);

/* Return when it is done, with its status; err is filled with operation, path, offset.  An idle request is done.
 * After that the request is idle.  May be called by any thread, one per request. */
em_status emi_wait(emi_request *rq, em_errinfo *err);

/* Is it done (or idle)?  Never waits, leaves the result to emi_wait(). */
int emi_done(const emi_request *rq);

/* As emi_wait(), but gives up after seconds: 1 when the request is done, 0 when not yet. */
int emi_wait_for(emi_request *rq, double seconds);

/* Take it back if nobody has begun it: 1, and it is done with EM_ERR_CANCELED; else 0. */
int emi_cancel(emi_request *rq);

/* Return when one of n > 0 requests is done, with its index; n after seconds (negative: never).  Of any files of one
 * context.  Its result is left to emi_wait(). */
uint32_t emi_wait_any(emi_request *const *list, uint32_t n, double seconds);

#endif
