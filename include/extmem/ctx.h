/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/ctx.h  The context: budgets, scratch disks, worker threads, log.
 *
 * There are no globals: everything hangs from a context, two contexts never meet.  Objects
 * keep a reference to the context they were made with, so em_ctx_close() and their own
 * closes may come in any order; the last one releases it.
 *
 * A thread that calls the library needs 64 KiB of stack, and what functions of the caller's use that it calls.  Threads
 * that the library starts have stacks of their own, which count as memory of the context.
 *
 * Containers, trees, caches and pools of blocks take memory when it is needed.  One that the context could never serve
 * is not opened: that is EM_ERR_MEMLIMIT, whose text names the option, and em_errinfo.bytes is the memory of a context
 * that would do.  What counts is what the object may take and what the disks take, with 1024 blocks more than there is
 * memory for in the object.  What says where blocks are grows with them, 16 to 72 bytes for each.  So more blocks may
 * still need more memory; then the call that adds one is EM_ERR_MEMLIMIT, with the memory that it needs.  So is any
 * call if other objects of the context have taken the memory.
 */
#ifndef EXTMEM_CTX_H
#define EXTMEM_CTX_H

#include <extmem/status.h>
#include <extmem/sys/allocator.h>

EM_BEGIN_DECLS

typedef struct em_ctx em_ctx;

/** How urgent a log line is. */
#define EM_LOG_DEBUG 0
#define EM_LOG_INFO 1
#define EM_LOG_WARN 2

/** Takes one line without a newline.  May be called from any thread of the library, unless EM_CTX_LOG_CALLER says
 *  otherwise. */
typedef void (*em_log_fn)(void *user, int32_t level, const char *line);

/** Direct I/O (O_DIRECT): past the page cache. */
#define EM_DIRECT_TRY 0 /**< Where it works, else buffered with a logged reason. */
#define EM_DIRECT_OFF 1 /**< Never. */
#define EM_DIRECT_ON 2  /**< EM_ERR_NOTSUP where it does not work. */

/** Which requests of a disk go first when there are more than it is given at once. */
#define EM_PRIORITY_WRITE 0 /**< Writes: a buffer is free for the next block sooner. */
#define EM_PRIORITY_READ 1  /**< Reads. */
#define EM_PRIORITY_NONE 2  /**< Those submitted first. */

/** Every use of a scratch block is checked for what is not always: that a block is as long as it is said to be,
 *  and that only its owner writes and frees it; and that all bytes of runs that sorts read back are those that they
 * wrote.  That takes a table of all blocks, about 100 bytes for each, and a look-up for every transfer.
 *  For tests of programs that keep their own data structures in blocks. */
#define EM_CTX_CHECKED 1u

/** Memory that is too little for what is to be done is raised to the least that does, as far as the machine and the
 *  limits of this process allow.  A line of the log says so when a sort, merge or the like begins that needs it.
 *  Without it that is EM_ERR_MEMLIMIT. */
#define EM_CTX_RAISE 2u

/** The log function is called by threads of the caller's only.  What threads of the library have to say is kept, up to
 *  256 lines, and told by the next thread of the caller's that begins or ends a call, or logs something itself, and at
 *  last when the context ends. */
#define EM_CTX_LOG_CALLER 4u

typedef struct em_ctx_opts {
	uint32_t size;            /**< sizeof(em_ctx_opts); set by the initialiser. */
	uint32_t threads;         /**< Threads that compute, the calling one included, at most: what is done uses as
	                               many as its memory feeds, and as the system lets us start; 0: one per usable
	                               core. */
	uint64_t memory;          /**< Bytes that all objects may use together; 0: a quarter of the least of the RAM,
	                               the limits of the cgroup and those above it, and what RLIMIT_AS and RLIMIT_DATA
	                               leave, and more where records of files are too long for that.  A sort takes of
	                               that what is worth having (em_sort_plan_info).  More than there is is logged. */
	uint32_t fds;             /**< File descriptors that may be open at once; 0: what RLIMIT_NOFILE leaves. */
	int32_t direct;           /**< EM_DIRECT_TRY, _OFF or _ON, for scratch and files. */
	const char *const *dirs;  /**< Directories for scratch files, copied; NULL: "/var/tmp", or "/tmp" if only that
	                               can be written to, unless there are disks.  Each is a disk: what is written is
	                               spread over all of them. */
	uint32_t ndirs;           /**< Entries of dirs. */
	uint32_t queue_depth;     /**< Transfers in flight per disk queue; 0: chosen. */
	const char *backend;      /**< How bytes are moved; NULL: the best that works here.
	                               "libaio"   the kernel's asynchronous transfers, for direct files
	                               "io_uring" the same by rings shared with the kernel, which may refuse them
	                               "syscall"  threads that read and write
	                               "stdio"    streams of C, one transfer at a time per file; never direct
	                               "mmap"     copies from and to mapped files; never direct.  The exception to
	                                          "errors are values": a device that fails, or a file that another
	                                          process makes shorter, while bytes are copied ends the process by
	                                          SIGBUS (see extmem/sys/backend.h)
	                               "memory"   scratch kept in memory, which does not count as such; files as with
	                                          "syscall"
	                               "simdisk"  the same at the speed of a disk (extmem/sys/simdisk.h) */
	const char *isa;          /**< "scalar", "avx2", "avx512"; NULL: the best this processor runs. */
	const em_allocator *allocator; /**< Copied; NULL: the system's (extmem/sys/allocator.h). */
	em_log_fn log;            /**< NULL: nothing is logged. */
	void *log_user;
	em_errinfo *errinfo;      /**< Filled when em_ctx_open() fails; may be NULL. */
	const struct em_backend *custom; /**< The caller's own I/O backend (extmem/sys/backend.h), in place of
	                                      `backend'; NULL: none. */
	uint64_t scratch_max;     /**< Bytes that scratch may take on all disks together at any time; 0: as many as
	                               there are.  What needs more fails with EM_ERR_NOSPACE: with sys_errno 0, the
	                               first directory or disk as path and the bytes needed as bytes; before any
	                               transfer where that can be known. */
	int32_t priority;         /**< EM_PRIORITY_WRITE, _READ or _NONE: which of a disk's requests go first. */
	int32_t reserved;
	const struct em_disk_opts *const *disks; /**< Disks for scratch (extmem/disk.h), copied, after those of dirs;
	                                              NULL: no more than those. */
	uint32_t ndisks;          /**< Entries of disks; with ndirs at most EM_DISKS_MAX. */
	uint32_t flags;           /**< EM_CTX_..., combined. */
	uint64_t block_bytes;     /**< Bytes per block of scratch, B, of whatever names none itself: a multiple of 4096,
	                               up to 1 GiB; 0: chosen.  Where a record is larger, memory too small, or it would
	                               cost another pass, sorts choose it all the same; what else is made of blocks
	                               never does (em_disks_block_bytes()). */
	void (*log_free)(void *user); /**< Called once with log_user when the context ends, with its last reference, or
	                               when opening fails, unless with EM_ERR_VERSION; NULL: nothing is. */
	void (*allocator_free)(void *user); /**< The same for the user of the allocator, if there is one; then all of
	                               its memory has been released. */
} em_ctx_opts;
#define EM_CTX_OPTS_INIT                                                                                               \
	{ sizeof(em_ctx_opts), 0, 0, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 0, 0,  \
	  0, NULL, NULL }
/** As EM_CTX_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_ctx_opts_init(em_ctx_opts *out, size_t bytes);

/**
 * Make a context.  opts may be NULL for the defaults.  Starts no thread and opens no file;
 * both are made when first needed.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL     out is NULL, an option has no legal value
 *   EM_ERR_VERSION   opts, its allocator, backend or one of its disks was made without its initialiser
 *   EM_ERR_NOTSUP    there is no such backend, or it does not work here (the text says why); the instruction set is not
 *                    built in, or does not run here
 *   EM_ERR_MEMLIMIT  opts->memory is below em_ctx_min_memory(), and not to be raised
 *   EM_ERR_FDLIMIT   fewer than 4 descriptors may be opened
 *   EM_ERR_NOMEM     no memory
 */
EM_API EM_NODISCARD em_status em_ctx_open(em_ctx **out, const em_ctx_opts *opts);

/**
 * Make a context from text: options with commas between them, in any order.  The empty text is legal.
 *
 *     em_ctx_open_text(&ctx, "memory=1G,threads=2,disk=/fast/tmp,100G,syscall,disk=/slow/tmp", NULL);
 *
 *   memory=SIZE  threads=N  fds=N  queue-depth=N  scratch-max=SIZE  block-size=SIZE
 *   dir=PATH                 a directory for scratch, as often as there are
 *   disk=PATH[,SIZE[,BACKEND[,OPTION]...]]   a disk for scratch (em_disk_parse()), likewise; it ends where another
 *                            option of the context follows, but for direct, which is the disk's then
 *   direct=try|off|on  priority=write|read|none  backend=NAME  isa=NAME
 *   checked  raise  log-caller   EM_CTX_CHECKED, EM_CTX_RAISE, EM_CTX_LOG_CALLER
 *
 * They mean what the fields of em_ctx_opts do, and names are those of the command's options.  A SIZE is as
 * em_size_parse() reads it.  In a PATH a backslash takes the meaning from a comma or a backslash behind it.
 *
 * opts has what no text can: log, allocator, errinfo, and whatever else the text does not tell.  NULL: defaults.
 *
 * Returns as em_ctx_open(); EM_ERR_INVAL also: text is NULL, an option is not known, was given before or has no legal
 * value.  The message names the option and the byte at which it begins, which is also the offset of the detail.
 */
EM_API EM_NODISCARD em_status em_ctx_open_text(em_ctx **out, const char *text, const em_ctx_opts *opts);

/**
 * Read a size as the command does: decimal digits with, behind them, nothing or B for bytes, K M G T (or KiB ...) for
 * powers of 1024, kB MB GB TB for powers of 1000.  err may be NULL.  Any thread.
 *
 * Returns: EM_OK, EM_ERR_INVAL: a pointer is NULL, or it is no size; the message says why, and *out is as it was.
 */
EM_API EM_NODISCARD em_status em_size_parse(uint64_t *out, const char *text, em_errinfo *err);

/** Drop the caller's reference.  NULL is allowed.  Never fails, never writes.  After a fork, in the
 *  child, it only frees memory. */
EM_API void em_ctx_close(em_ctx *ctx);

/**
 * Cancel everything in ctx, and let nothing new begin: each call in progress returns EM_ERR_CANCELED soon, and so does
 * every later one that works with ctx or an object of it.  Exceptions are calls that only give back or tell: closing,
 * freeing, statistics, details of failures.  What needs neither a transfer nor a long computation, such as a block that
 * is in a cache, may still be had.
 *
 * Soon: transfers that the system has begun are waited for, those that it has not are not made.  Functions of the
 * caller that are being called return first.  An output that is complete and just taking its place gets it, and its
 * call returns EM_OK.  Of all others nothing is left, as after any failure.
 *
 * It cannot be undone: close the objects and ctx, and open another context, which takes some microseconds.
 * em_X_cancel() and progress functions (extmem/progress.h) stop one thing only: an object with its readers, writers,
 * cursors and loaders.  In all else em_X_cancel() of an object does to it what this does to all of a context.  Where an
 * object shares a pool, or all of its disks, with others, its call in progress goes on to its end, unless the pool is
 * canceled.
 *
 * May be called by any thread at any time while ctx is open, by functions of the caller that the library calls, and by
 * a signal handler: it stores one word atomically and does nothing else.  NULL is allowed.  Never fails.
 */
EM_API void em_ctx_cancel(em_ctx *ctx);

/**
 * The process is about to end without closing what is open: cancel everything (em_ctx_cancel()) and remove the files
 * that would be left behind, which are outputs that have a temporary name until they are complete.  An output that is
 * complete and just taking its place is waited for.  No other one appears any more.  Scratch has no names and needs no
 * removing.
 *
 * May be called by any thread at any time while ctx is open, but not by a signal handler: let a thread wait for
 * signals.  NULL is allowed.  Never fails.
 */
EM_API void em_ctx_abandon(em_ctx *ctx);

/** Least bytes of memory that a context takes (1 MiB). */
EM_API uint64_t em_ctx_min_memory(void);

/** The budget in bytes, which may have been raised since, what is in use now, and the most that was ever in use.  Any
 * thread. */
EM_API uint64_t em_ctx_memory(const em_ctx *ctx);
EM_API uint64_t em_ctx_memory_used(const em_ctx *ctx);
EM_API uint64_t em_ctx_memory_peak(const em_ctx *ctx);

/** Threads that compute, the calling one included, at most.  Any thread. */
EM_API uint32_t em_ctx_threads(const em_ctx *ctx);

/** The name of the backend and of the instruction set in use; live as long as ctx.  Any thread. */
EM_API const char *em_ctx_backend(const em_ctx *ctx);
EM_API const char *em_ctx_isa(const em_ctx *ctx);

EM_END_DECLS

#endif
