/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records.h -- records of any length, or of one size, from a list of files, chunk by chunk.
 *
 * The files are read one after the other, ahead of the consumer: regular ones asynchronously with the context's
 * backend, in requests of about chunk_bytes, pipes, devices and standard input with read() on the calling thread.  They
 * are opened when they are needed, at most two at a time.  A small file (emi_input_small()) is read by the calling
 * thread, too, when its turn comes; the system knows of it from when it is opened, while the one before it is used.
 *
 * What the consumer gets are chunks: whole records, complete with their delimiters or prefixes, of one file.  A record
 * that straddles what was read at a time is put together in front of the rest.  Several chunks may be with the consumer
 * at once; each has a buffer, and comes back.  A record longer than a buffer gets a larger one of its own for as long
 * as needed.
 */
#ifndef EMI_RECORDS_H
#define EMI_RECORDS_H

#include <string.h>

#include <extmem/format.h>

#include "io/file.h"

typedef struct emi_records emi_records;

typedef struct emi_chunk {
	const unsigned char *data;
	size_t bytes;           /* up to the end of the last record; EMI_RECORDS_SLACK more may be read */
	uint32_t file;          /* index of the file in the list */
	uint32_t reserved;
	uint64_t lines;         /* EM_FORMAT_CSV: lines that the records have, otherwise 0 */
	uint64_t offset;        /* of data in the file */
	void *priv;             /* the reader's */
} emi_chunk;

#define EMI_RECORDS_SLACK 64u   /* bytes behind a chunk that may be read (and mean nothing) */

typedef struct emi_records_opts {
	em_format format;
	size_t chunk_bytes;     /* wanted per chunk, a multiple of EMI_PAGE */
	uint32_t chunks;        /* buffers, at least 2: so many chunks less one can be with the consumer */
	uint32_t prompt;        /* not 0: of a stream take what is there, however little; if the first input is one,
	                           open it at once */
	uint64_t longest;       /* bytes of the longest record allowed, delimiter or prefix not counted */
	uint64_t record_bytes;  /* not 0: records of one size, and neither format nor longest means anything */
	emi_extent range;       /* if it has bytes: of the one file, a regular one, only these, which are whole
	                           records */
} emi_records_opts;

/* Is it one of the formats that there are?  EM_OK or EM_ERR_INVAL. */
em_status emi_format_check(const em_format *f, em_errinfo *err);

/* Look at the inputs ("-" is standard input): sizes are taken now; a regular file is read up to that size, others, and
 * those that do not know theirs, to their end.
 * paths must live as long.  EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_IO, EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_INVAL (a
 * directory, a bad format). */
em_status emi_records_open(emi_records **out, em_ctx *ctx, const char *const *paths, uint32_t n,
			   const emi_records_opts *opts, emi_io_stats *stats, em_errinfo *err);
void emi_records_close(emi_records *r);

/* Bytes in all files together, or UINT64_MAX when a pipe or device is among them. */
uint64_t emi_records_bytes(const emi_records *r);

/* Most bytes of memory that a reader takes, beside that of emi_file_memory() for each of two files: its buffers,
 * including one for a record of `longest' bytes. */
uint64_t emi_records_memory(const emi_records_opts *opts);

/* No less than that, for chunks of so many bytes that need not be whole pages: it grows evenly with these and with the
 * longest record. */
uint64_t emi_records_memory_evenly(const emi_records_opts *opts, uint64_t chunk_bytes);

/*
 * The next chunk; it has at least one record.  A last record without a delimiter gets one.  EM_END when there are no
 * more.  Errors are sticky.
 *   EM_ERR_FORMAT   a record is longer than `longest', a record or prefix is cut off or promises more than the file
 *                   has; the message names the file and the line ("FILE:LINE: line is longer than ... bytes") or, with
 *                   prefixes, the record by its number from 1; a quote of a CSV file is open at its end: the message
 *                   names the line where it was opened
 *   EM_ERR_SHORT    a file ended before its size
 *   EM_ERR_STATE    all buffers are with the consumer, or a long record (one that is a chunk by itself and longer than
 *                   the headroom of a buffer) is and there is another one: not sticky; it goes on when all chunks were
 *                   released
 *   EM_ERR_IO, ... what opening and reading may return
 * tick, when not NULL, is called at least five times a second while waiting, but for a small file; what it returns, if
 * not EM_OK, ends the call with that status (not sticky: nothing is lost, and the next call goes on).
 */
em_status emi_records_next(emi_records *r, emi_chunk *chunk, em_status (*tick)(void *arg), void *arg, em_errinfo *err);

/* The chunk is used; it held so many records, which the reader needs to know to number them in messages. */
void emi_records_release(emi_records *r, emi_chunk *chunk, uint64_t records);

/* Any length.  What messages number up to a place behind the beginning of a record: records, or the lines of a CSV
 * file. */
uint64_t emi_records_count(const em_format *f, const unsigned char *at, const unsigned char *end);

/* The same of a chunk that has so many records. */
static inline uint64_t emi_chunk_count(const emi_chunk *chunk, uint64_t records)
{
	return chunk->lines != 0 ? chunk->lines : records;
}

/* Does a delimiter end each record? */
static inline int emi_format_delimited(const em_format *f)
{
	return f->kind != EM_FORMAT_PREFIXED;
}

/* The next record of a CSV file. */
const unsigned char *emi_record_take_csv(const em_format *f, const unsigned char **at, const unsigned char *end,
					 size_t *n);

/* Any length.  Take the next record of a chunk that is not at its end: *at goes behind it and its delimiter; returns
 * the record itself, of *n bytes. */
static inline const unsigned char *emi_record_take(const em_format *f, const unsigned char **at,
						   const unsigned char *end, size_t *n)
{
	const unsigned char *p = *at;
	uint64_t length = 0;
	uint32_t i;

	if (f->kind == EM_FORMAT_DELIMITED) {
		const unsigned char *stop = memchr(p, (int)f->delimiter, (size_t)(end - p));

		*n = (size_t)(stop - p);
		*at = stop + 1;
		return p;
	}
	if (f->kind == EM_FORMAT_CSV)
		return emi_record_take_csv(f, at, end, n);
	for (i = 0; i < f->width; i++)
		length |= (uint64_t)p[i] << 8 * ((f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? f->width - 1 - i : i);
	*n = (size_t)length;
	*at = p + f->width + *n;
	return p + f->width;
}

/* Bytes that a record takes beside its own. */
static inline uint64_t emi_record_extra(const em_format *f)
{
	return emi_format_delimited(f) ? 1 : f->width;
}

/* Write the prefix of a record of n bytes; returns where its bytes go. */
static inline unsigned char *emi_record_prefix(const em_format *f, unsigned char *p, uint64_t n)
{
	uint32_t i;

	if (emi_format_delimited(f))
		return p;
	for (i = 0; i < f->width; i++)
		p[i] = (unsigned char)(n >> 8 * ((f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? f->width - 1 - i : i));
	return p + f->width;
}

/* Write the delimiter behind a record, if there is one. */
static inline unsigned char *emi_record_delimit(const em_format *f, unsigned char *p)
{
	if (emi_format_delimited(f))
		*p++ = (unsigned char)f->delimiter;
	return p;
}

#endif
