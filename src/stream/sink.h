/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sink.h -- a file that is written from the front to the end and appears at once, complete.
 *
 * A regular file is written without a name (O_TMPFILE) in the directory where it is going to be, and linked
 * when it is complete; over an existing file by linking it to a random name and renaming.  Where the
 * file system has no O_TMPFILE it has a temporary name (".NAME.XXXXXX.tmp") until then.  Symbolic links are
 * followed, the mode (and, where permitted, the owner) of an existing file is kept.  Pipes, devices and sockets are
 * written directly, on the calling thread; a write to a pipe that nobody reads is EM_ERR_PIPE, never a signal.
 *
 * Bytes come in buffers that the caller owns.  Direct I/O needs page-aligned transfers, while records end anywhere:
 * so a buffer keeps its data at `lead' bytes behind an aligned base, lead being the position in the file modulo
 * EMI_PAGE; the sink puts the missing bytes of the previous buffer in front of it, writes whole pages, and keeps the
 * rest for the next.
 */
#ifndef EMI_SINK_H
#define EMI_SINK_H

#include "io/file.h"

typedef struct emi_sink emi_sink;

typedef struct emi_outbuf {
	char *base;             /* aligned to EMI_PAGE; room for EMI_PAGE more than the data, at both ends together */
	size_t lead;            /* data begins at base + lead; 0 <= lead < EMI_PAGE */
	size_t len;             /* bytes of data */
	emi_request rq;         /* the buffer is the caller's again when this is done */
} emi_outbuf;

/* path "-" is standard output.  bytes: the final size if it is known (space is reserved, so that a full disk is noticed
 * early), else 0.  EM_ERR_NOENT and EM_ERR_ACCESS name the directory or file; EM_ERR_NOSPACE, EM_ERR_IO, EM_ERR_NOMEM,
 * EM_ERR_MEMLIMIT, EM_ERR_INVAL (a directory). */
em_status emi_sink_open(emi_sink **out, em_ctx *ctx, const char *path, uint64_t bytes, emi_io_stats *stats,
			em_errinfo *err);

/* Is there room for so many bytes that are going to be put, as far as anybody can know before?  A regular file to which
 * standard output leads is looked at, too; what it has already counts as room.  EM_ERR_NOSPACE, which names the bytes
 * that are needed and free. */
em_status emi_sink_check(const emi_sink *s, uint64_t bytes, em_errinfo *err);

/* So many bytes are going to be put (0: nobody knows), for which there is room.  Space for them is reserved now; or, if
 * step is not 0, as many bytes at a time as they are needed.  When there is none for a step, make_room is called, by
 * whoever puts; if it returns 1 the step is tried again.  Fails as opening does, or the put for which there is no space
 * does. */
em_status emi_sink_expect(emi_sink *s, uint64_t bytes, uint64_t step, int (*make_room)(void *arg), void *arg,
			  em_errinfo *err);

/* Is it a regular file on the same file system as the directory? */
int emi_sink_is_on(const emi_sink *s, const char *dir);

/* Is it a regular file, written with requests, and not a pipe or device, written on the calling thread? */
int emi_sink_is_file(const emi_sink *s);

/* Where data put next must begin: the `lead' of the buffer whose first byte is byte `position' of the file. */
size_t emi_sink_lead(const emi_sink *s, uint64_t position);

/* Write the next ob->len bytes of the file: starts a transfer (regular files), or returns when they are
 * written.  Buffers are put in the order of their data. */
em_status emi_sink_put(emi_sink *s, emi_outbuf *ob, em_errinfo *err);

/*
 * A part of a regular file, from the byte `begin' on, which is written beside others: each part by one thread, several
 * at a time.  Only pages that are a part's alone are written with its puts.  What it has of others is kept, and written
 * when parts are joined, which is done in the order of the file by one thread, when all were put and every request was
 * waited for.  The first begins at the sink's own position, each other one where the one before has ended; then the
 * sink goes on behind the last.
 */
typedef struct emi_sink_part {
	emi_sink *sink;
	uint64_t begin;
	uint64_t pos;           /* of what is put next */
	char *first;            /* the page in which it begins, once `whole', ... */
	char *rest;             /* ... and the one at pos */
	int whole;
} emi_sink_part;

/* EM_ERR_NOMEM, EM_ERR_MEMLIMIT.  Leads are those of emi_sink_lead().  All zeroes need no closing. */
em_status emi_sink_part_open(emi_sink_part *p, emi_sink *s, uint64_t begin, em_errinfo *err);
em_status emi_sink_part_put(emi_sink_part *p, emi_outbuf *ob, em_errinfo *err);
em_status emi_sink_part_join(emi_sink_part *p, em_errinfo *err);
void emi_sink_part_close(emi_sink_part *p);

/* All data was put and every request waited for: write the last bytes, set size and mode, give it its name. */
em_status emi_sink_commit(emi_sink *s, em_errinfo *err);

/* Without a commit nothing of a regular file remains.  NULL is allowed. */
void emi_sink_close(emi_sink *s);

#endif
