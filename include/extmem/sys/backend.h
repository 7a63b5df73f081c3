/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/backend.h  How bytes get to a disk and back: replaceable at run time.
 *
 * A backend is a table of functions that open files and move bytes.  A context is given
 * one by name (em_ctx_opts.backend) or the caller's own (em_ctx_opts.custom).
 *
 * Every backend makes blocking transfers (read, write).  The library gives each disk a queue
 * and a few threads that call them, so a backend of eight short functions is complete.
 * A backend that can do better offers a channel too, and submit and reap through it; then transfers
 * are handed to it and collected later, mostly by the thread that waits for them.
 *
 * What the library does and a backend need not: retrying what was short, interrupted (EINTR) or refused for the
 * moment (EAGAIN), holding back what exceeds the depth, priorities, statistics, error texts.
 * Buffer, offset and size of transfers of a direct file are multiples of 4096.
 *
 * Functions return 0 or a positive errno unless they say otherwise.  They may be called from any thread of
 * the library, several at a time, also for one file; except that close comes last, and one thread at a time reaps a
 * channel.  They must not call the library.
 *
 * Built in, best first: "libaio", "syscall" (pread and pwrite), "stdio" (streams of C), "mmap" (mapped files), "memory"
 * (temporary files in memory, others as syscall's).  stdio and mmap are never direct: with EM_DIRECT_ON they open
 * nothing.
 *
 * "mmap" copies between buffers and mapped parts of a file.  Of each transfer at most 256 KiB are mapped at once, only
 * while they are copied.  They are page cache and do not count as memory.  A process that touches a mapped page which
 * cannot be had is sent SIGBUS.  Before it does, this backend asks for the size, allocates space for what is written
 * and has the pages faulted in, and when one of these fails it reads or writes instead, so that a full disk, a file
 * that was cut short and a device that fails are errors as with other backends.  Not so when that happens in the moment
 * between the faulting in and the copying, and, before Linux 5.14 and on other systems, where pages cannot be faulted
 * in without touching them: there a device that fails, or a full file system in memory on which a hole is read, is
 * SIGBUS.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0 (see extmem/base.h).
 */
#ifndef EXTMEM_SYS_BACKEND_H
#define EXTMEM_SYS_BACKEND_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

/** How to open a file: a combination of these. */
#define EM_OPEN_READ 1u     /**< For reading. */
#define EM_OPEN_WRITE 2u    /**< For writing, and reading. */
#define EM_OPEN_TEMP 4u     /**< The path is a directory: make a file in it that has no name and is gone when
                                 it is closed, for reading and writing. */
#define EM_OPEN_CREATE 16u  /**< Create it with mode 0600; EEXIST when it is there. */
#define EM_OPEN_LINKABLE 32u /**< The path is a name to be: make a file without a name, mode 0600, in its directory,
                                 that linkat() can give the name when it is complete.  Always a file of the real file
                                 system, with a descriptor; EOPNOTSUPP where that cannot be had. */
#define EM_OPEN_SYNC 64u     /**< A write is done when its data is on the device (O_DSYNC). */
#define EM_OPEN_LOCK 128u    /**< Take an advisory lock that excludes others that ask for one, shared unless it is for
                                 writing; EAGAIN where somebody has it. */
#define EM_OPEN_SHARED 512u  /**< A file that is made gets the mode 0666, less what umask says or as the directory's
                                 default access control list has it, and not 0600. */

/** What open is asked for and what it answers. */
typedef struct em_backend_open {
	uint32_t size;       /**< sizeof(em_backend_open), set by the library. */
	uint32_t flags;      /**< EM_OPEN_... */
	const char *path;    /**< The file, or the directory of a temporary one. */
	int32_t want_direct; /**< EM_DIRECT_OFF, _TRY, or _ON: open fails with EOPNOTSUPP where it does not work. */
	uint32_t depth;      /**< Most transfers that will be in flight through submit. */
	/* The answer; zero before the call. */
	void *handle;        /**< What the other functions get. */
	int32_t direct;      /**< 1: transfers are direct, and aligned. */
	int32_t async;       /**< 1: use submit and reap for this file. */
	uint64_t async_from; /**< Use them once so many bytes went through read and write: for backends whose set-up is
	                          not worth while for a small file. */
	const char *reason;  /**< Why it is not direct although it should be tried; static; may be NULL. */
	uint64_t disk;       /**< What tells the disk it is on from others: files of one disk share a queue.  0: one of
	                          its own. */
	int32_t one_write;   /**< 1: of several writes to the file only one gets on at a time, whoever calls.  They are
	                          begun one after the other then, so that threads do not wait inside them that could
	                          read. */
	int32_t in_memory;   /**< 1: fd is a file of a tmpfs, and what is written at an offset is there in it, too: then
	                          the library may have the kernel make huge pages of what is about to be written. */
} em_backend_open;

/** One transfer on its way through submit and reap.  All of it is the backend's until reap hands it back.  It may be
 *  that of several reads that are side by side in the file and in memory. */
typedef struct em_transfer {
	void *buf;           /**< Where to or from. */
	size_t bytes;        /**< More than 0. */
	uint64_t offset;     /**< In the file. */
	int64_t result;      /**< Set by the backend: bytes moved (a read at the end of the file: 0), or a negative
	                          errno. */
	int32_t write;       /**< 0: read. */
	int32_t reserved;
	void *priv;          /**< For the backend's own use. */
	void *owner;         /**< The library's: leave it alone. */
	void *handle;        /**< The file. */
} em_transfer;

typedef struct em_backend {
	uint32_t size;       /**< sizeof(em_backend); set by the initialiser. */
	uint32_t depth;      /**< Transfers in flight per file by default, through submit; 0: 128. */
	uint32_t threads;    /**< Threads per file that call read and write; 0: chosen by the library. */
	uint32_t stack;      /**< Bytes of stack they need; 0: 32 KiB. */
	const char *name;    /**< As em_ctx_backend() tells it. */
	void *user;          /**< For open. */

	/** Open a file.  On failure nothing is left behind. */
	int (*open)(void *user, em_backend_open *how);
	/** Close it.  No transfer is in flight.  forked is 1 in a child of the process that opened it: then only
	    memory and descriptors may be released, and locks may be held by threads that are no more. */
	void (*close)(void *handle, int forked);
	/** Its size in bytes. */
	int (*get_size)(void *handle, uint64_t *bytes);
	/** Set its size.  What is added reads as zeros and need not have space allocated. */
	int (*set_size)(void *handle, uint64_t bytes);
	/** Allocate space for [offset, offset + bytes), growing the file where it ends before that.  EOPNOTSUPP where
	    this is not possible, which is no failure.  ENOSPC must leave the size alone.  May be NULL. */
	int (*reserve)(void *handle, uint64_t offset, uint64_t bytes);
	/** The file descriptor, or -1.  May be NULL. */
	int (*fd)(void *handle);

	/** Move up to bytes > 0 between buf and the file at offset.  Returns the bytes moved, which may be fewer; 0 at
	    the end of the file; or a negative errno. */
	int64_t (*read)(void *handle, void *buf, size_t bytes, uint64_t offset);
	int64_t (*write)(void *handle, const void *buf, size_t bytes, uint64_t offset);

	/** Start n > 0 transfers, of any files whose answer to open was async.  Returns how many of them, from the
	    first on, were taken: 1 to n; or a negative errno when the first was not.  -EAGAIN: not now, wait until
	    others are done.  After any other errno the library uses read or write for that transfer.  May be NULL. */
	int (*submit)(void *channel, em_transfer *const *list, uint32_t n);
	/** Collect up to max transfers that are done, in any order.  Waits up to timeout_ns nanoseconds for the first:
	    0: not at all, negative: as long as it takes.  Never called with a timeout other than 0 when nothing is in
	    flight.  Returns how many, 0 after the timeout, or a negative errno (-EINTR: call again).  NULL where submit
	    is. */
	int (*reap)(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns);

	/** Give the space of [offset, offset + bytes) back to the file system.  What was there is not read again before
	    it is written anew; the size stays.  Other transfers of the file may be in flight.  EOPNOTSUPP where this is
	    not possible, which is no failure: it is not asked for again.  May be NULL. */
	int (*discard)(void *handle, uint64_t offset, uint64_t bytes);

	/** Have what was written reach the device.  May be NULL: then there is nothing to do. */
	int (*sync)(void *handle);

	/** Make what takes the transfers of one disk, depth of them at most; when the first is to be submitted.  A
	    failure means that read and write are used instead.  close_channel comes when the last file of the disk is
	    closed, after it; forked as for close.  NULL where submit is. */
	int (*open_channel)(void *user, uint32_t depth, void **channel);
	void (*close_channel)(void *channel, int forked);
} em_backend;
#define EM_BACKEND_INIT { sizeof(em_backend), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** As EM_BACKEND_INIT, by a call (extmem/base.h). */
EM_API void em_backend_init(em_backend *out, size_t bytes);

/** The built-in backend of that name, or NULL.  name NULL: the best that works here.  Static; any thread. */
EM_API const em_backend *em_backend_find(const char *name);

/** Number of built-in backends that work here, and the i-th of them (NULL past the end).  Static; any thread. */
EM_API uint32_t em_backend_count(void);
EM_API const em_backend *em_backend_at(uint32_t i);

/** Is there a built-in backend of that name, and does it work on this machine?  1 or 0; NULL: 0.  May ask the kernel,
 *  opens nothing.  em_ctx_open() with the name of one that does not work says why.  Any thread. */
EM_API int em_backend_supported(const char *name);

EM_END_DECLS

#endif
