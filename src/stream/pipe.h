/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pipe.h -- plain reading and writing of descriptors that are no files on a disk.
 *
 * Pipes, sockets, terminals and other devices are read and written on the calling thread, without the
 * context's backend: they have no offsets, and nothing is gained by queueing.
 */
#ifndef EMI_PIPE_H
#define EMI_PIPE_H

#include "io/file.h"

/* Somebody who wants to be called while we wait.  Called at least five times a second until it
 * returns anything but EM_OK, which is kept. */
typedef struct emi_ticker {
	em_status (*fn)(void *arg); /* NULL: nobody */
	void *arg;
	double last;            /* when it was called */
	em_status status;       /* the first that was not EM_OK */
} emi_ticker;

void emi_ticker_init(emi_ticker *t, em_status (*fn)(void *arg), void *arg);

/* Call it if it is time; returns the kept status.  t may be NULL. */
em_status emi_ticker_run(emi_ticker *t);

typedef struct emi_pipe {
	int fd;                 /* -1: not open */
	const em_ctx *ctx;      /* writing: when it is canceled nobody is waited for */
	const char *name;       /* for messages */
	uint64_t pos;           /* bytes moved so far */
	emi_io_stats *stats;    /* NULL: counted nowhere */
	int prompt;             /* reading: what is there is enough, if it is anything at all */
	int ended;              /* a read met the end */
} emi_pipe;

/* Read until bytes are there (prompt: some of them) or the input ends; *done tells.  EM_ERR_IO and the like; or the
 * ticker's status: then what was read is in *done, too. */
em_status emi_pipe_read(emi_pipe *p, void *buf, size_t bytes, size_t *done, emi_ticker *ticker, em_errinfo *err);

/* Write all of it.  EM_ERR_PIPE when nobody reads (never a signal), EM_ERR_NOSPACE, EM_ERR_IO; EM_ERR_CANCELED, unless
 * the descriptor blocks and the system is waiting. */
em_status emi_pipe_write(emi_pipe *p, const void *buf, size_t bytes, em_errinfo *err);

#endif
