/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/disk.h  The disks that a context keeps its scratch on.
 *
 * Without any there is one: an unnamed file in em_ctx_opts.dirs[0].  With several, what is written is spread over all
 * of them, so that they work at the same time, and one that is full is passed over.
 *
 *     em_disk_opts a = EM_DISK_OPTS_INIT, b = EM_DISK_OPTS_INIT;
 *     const em_disk_opts *disks[] = { &a, &b };
 *     em_ctx_opts opts = EM_CTX_OPTS_INIT;
 *     a.path = "/fast/tmp";
 *     b.path = "/dev/sdx";
 *     b.flags = EM_DISK_FORCE;
 *     opts.disks = disks;
 *     opts.ndisks = 2;
 *
 * A disk on a file system in memory (tmpfs, ramfs) works, but takes memory that counts nowhere: the first one is logged
 * with EM_LOG_WARN.
 *
 * A disk is opened when scratch is first needed and closed when nobody needs it any more, as often as that happens.
 * What is wrong with its path is therefore told by what needs scratch (a sort), not by em_ctx_open().
 */
#ifndef EXTMEM_DISK_H
#define EXTMEM_DISK_H

#include <extmem/ctx.h>

EM_BEGIN_DECLS

/** Most disks of a context, those of em_ctx_opts.dirs among them. */
#define EM_DISKS_MAX 256u

/** What is there already is overwritten: a file that is not empty, a block device. */
#define EM_DISK_FORCE 1u
/** A file with a name, and what is in it, is there when the disk was closed.  No program can read it; it takes space
 *  until it is removed. */
#define EM_DISK_KEEP 2u

/** All of its capacity, which must be given, is set aside when it is opened, or that fails with EM_ERR_NOSPACE;
 *  otherwise it grows as it is needed.  A device is always of one size.  Where a file system cannot set space aside,
 *  nothing is. */
#define EM_DISK_FIXED 4u

/** For em_disk_opts.direct, beside EM_DIRECT_TRY, _OFF and _ON: as em_ctx_opts.direct has it. */
#define EM_DIRECT_CONTEXT (-1)

typedef struct em_disk_opts {
	uint32_t size;            /**< sizeof(em_disk_opts); set by the initialiser. */
	uint32_t flags;           /**< EM_DISK_..., combined. */
	const char *path;         /**< What the disk is, copied:
	                               a directory      an unnamed file in it; with the backends "memory" and "simdisk"
	                                                one in memory, and they have no other disks: EM_ERR_INVAL
	                               a regular file   that file, which must be empty or EM_DISK_FORCE be given; nobody
	                                                else may use it meanwhile; it is emptied before, and after
	                                                unless EM_DISK_KEEP is given
	                               a block device   that device, from its first byte on; EM_DISK_FORCE must be given
	                               nothing yet      a file that is made with mode 0600, and removed: at once when it
	                                                is open, unless EM_DISK_KEEP is given
	                               What cannot be: EM_ERR_EXIST what is refused for want of EM_DISK_FORCE;
	                               EM_ERR_INVAL what is none of these; EM_ERR_IO (errno EAGAIN) a file that is in
	                               use; EM_ERR_NOENT, EM_ERR_ACCESS, ... as for other files. */
	uint64_t capacity;        /**< Bytes that it may take at any time; 0: as many as there are. */
	const char *backend;      /**< The name of a backend, as em_ctx_opts.backend; NULL: the context's. */
	const struct em_backend *custom; /**< The caller's own (extmem/sys/backend.h), in place of `backend', which must
	                               outlive the context; a simulated disk (extmem/sys/simdisk.h) for example; NULL:
	                               none. */
	int32_t direct;           /**< EM_DIRECT_CONTEXT, _TRY, _OFF or _ON. */
	uint32_t queue_depth;     /**< Transfers in flight, up to 4096; 0: the context's.  Disks whose files are on one
	                               device and have the same backend share a queue: of that the first one's
	                               counts. */
} em_disk_opts;
#define EM_DISK_OPTS_INIT { sizeof(em_disk_opts), 0, NULL, 0, NULL, NULL, EM_DIRECT_CONTEXT, 0 }
/** As EM_DISK_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_disk_opts_init(em_disk_opts *out, size_t bytes);

struct em_simdisk; /* extmem/sys/simdisk.h */

/**
 * Set options of a disk from text, as the command's --disk and em_ctx_open_text() have it:
 * PATH[,SIZE[,BACKEND[,OPTION]...]].
 *
 *   PATH     a backslash in it takes the meaning from a comma or a backslash behind it
 *   SIZE     the capacity (em_size_parse()); empty: as many bytes as there are
 *   BACKEND  empty: the context's
 *   OPTION   force, keep, fixed, direct=try|off|on, queue=N; of a simulated disk also those of em_simdisk_parse()
 *
 * opts must have been initialised; what the text does not tell stays.  text is cut to pieces to which opts points
 * then.  sim is where the parameters go of a disk whose backend is "simdisk", and must outlive the context; NULL: they
 * are those of that backend.  err may be NULL.
 *
 * Returns: EM_OK; EM_ERR_INVAL: opts or text is NULL, or a part has no legal value; the message names it, and
 * err->offset is where in the text it begins; EM_ERR_VERSION.  After a failure opts is as it was, and text is not.
 */
EM_API EM_NODISCARD em_status em_disk_parse(em_disk_opts *opts, struct em_simdisk *sim, char *text, em_errinfo *err);

EM_END_DECLS

#endif
