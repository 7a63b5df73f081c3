/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorted_file.h -- a file whose records are sorted, as a source (sorted_source.h).
 *
 * It is read ahead by chunks (stream/records.h), and lends what is in one.  Of records of one size that is a window.
 * Of records of any length it is whole ones, which whoever asked takes apart, and counts.
 */
#ifndef EMI_SORTED_FILE_H
#define EMI_SORTED_FILE_H

#include "sort/sorted_source.h"
#include "stream/records.h"

typedef struct emi_sorted_file {
	emi_sorted_source source;
	const char *path;
	emi_records *records;   /* NULL once it has ended */
	size_t record_bytes;    /* 0: any length */
	em_status (*tick)(void *arg);
	void *tick_arg;
	emi_chunk chunk;
	int held;               /* the chunk is with us */
	uint64_t taken;         /* records taken from it; one size: of no interest */
	uint64_t number;        /* what the file had before it, as messages count */
} emi_sorted_file;

/* Read a file ("-": standard input) as opts say, which emi_records_open() has; the range of a regular file may be a
 * part of it.  path must live as long.  tick is called while it waits, at least five times a second; what it says, if
 * not EM_OK, ends the wait; NULL: nobody asks.  Fails as emi_records_open() does; nothing is held then.  Later failures
 * are those of emi_records_next(). */
em_status emi_sorted_file_open(emi_sorted_file *f, em_ctx *ctx, const char *path, const emi_records_opts *opts,
			       emi_io_stats *io, em_status (*tick)(void *arg), void *tick_arg, em_errinfo *err);

/* What it has of the file, and of memory, it gives back at its end, too.  All zeroes need no closing. */
void emi_sorted_file_close(emi_sorted_file *f);

/* What is left of the chunk. */
static inline const unsigned char *emi_sorted_file_at(const emi_sorted_file *f)
{
	return (const unsigned char *)f->source.at;
}

static inline const unsigned char *emi_sorted_file_end(const emi_sorted_file *f)
{
	return (const unsigned char *)f->source.end;
}

/* Any length: records up to a place were taken, so many of them. */
static inline void emi_sorted_file_took(emi_sorted_file *f, const unsigned char *to, uint64_t records)
{
	f->source.at = (const char *)to;
	f->taken += records;
}

#endif
