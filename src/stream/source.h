/* SPDX-License-Identifier: BSL-1.0 */
/*
 * source.h -- records from a list of files, read into large areas.
 *
 * The files are read one after the other; regular ones asynchronously with the context's backend, but small ones
 * (emi_input_small()), pipes and devices (and standard input) by the calling thread.  They are opened when they are
 * needed, and no more than EMI_SOURCE_OPEN are open at a time.
 *
 * An area is a buffer aligned to EMI_PAGE with room for the records asked for and EMI_SOURCE_SLACK bytes more:
 * records of users' files lie at any offset, and direct I/O needs the same alignment in memory as in the
 * file, so the first record may lie anywhere in the first page of the area.
 */
#ifndef EMI_SOURCE_H
#define EMI_SOURCE_H

#include "io/file.h"

/* One page before the first record, one behind the last, and one to spare. */
#define EMI_SOURCE_SLACK (3u * 4096u)

#define EMI_SOURCE_OPEN 2u

typedef struct emi_source emi_source;

/* Where one filling of an area stands; the caller's storage is reused, its requests are the source's. */
typedef struct emi_fill {
	emi_request *rq;        /* requests of this filling */
	uint32_t max_requests;
	uint32_t requests;      /* in use */
	char *area;
	char *first;            /* the first record, once awaited */
	uint64_t records;       /* how many there are, once awaited */
	struct emi_fill_piece *piece; /* one for each file being read */
	uint32_t max_pieces, pieces;
	uint64_t wanted;        /* bytes asked for */
	uint64_t placed;        /* bytes there or being read */
	size_t request_bytes;
	char *edge;             /* a page for the end of a file that another one follows */
	struct emi_fill *next;  /* begun after this one */
	int32_t state;          /* EMI_FILL_... */
} emi_fill;

enum {
	EMI_FILL_IDLE = 0,
	EMI_FILL_BEGUN = 1,     /* in the source's queue: there is more to place */
	EMI_FILL_PLACED = 2     /* all is there or being read */
};

/* Look at the inputs: sizes are taken now.  EM_ERR_NOENT, EM_ERR_ACCESS, EM_ERR_FORMAT (the message names the file, its
 * size and the record size), EM_ERR_IO, EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FDLIMIT, EM_ERR_INVAL (a directory). */
em_status emi_source_open(emi_source **out, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
			  emi_io_stats *stats, em_errinfo *err);
void emi_source_close(emi_source *s);

/* Records in all files together, or UINT64_MAX when a pipe or device is among them. */
uint64_t emi_source_records(const emi_source *s);

/* Storage for filling areas of up to area_bytes with requests of request_bytes (a multiple of EMI_PAGE); how much
 * memory that takes; and giving it back, after waiting for what is still being read.  Fills are freed before the source
 * is closed; one of zeroes needs no freeing. */
em_status emi_fill_init(emi_fill *fill, emi_source *s, size_t area_bytes, size_t request_bytes, em_errinfo *err);
size_t emi_fill_memory(size_t area_bytes, size_t request_bytes);
void emi_fill_free(emi_fill *fill, emi_source *s);

/* Start reading up to max_records into the area.  Several fillings may be under way; they are awaited in the order
 * in which they were begun.  Errors are sticky, but what was placed before can still be awaited; a filling that
 * failed may use its area until emi_fill_free().
 * EM_ERR_INVAL (area not aligned), EM_ERR_STATE (this fill is under way), and what opening a file may return. */
em_status emi_source_begin(emi_source *s, emi_fill *fill, void *area, uint64_t max_records, em_errinfo *err);

/* Return when they are there: fill->first and fill->records (0: end of input).  A file that ended before its size
 * is EM_ERR_SHORT.  tick, when not NULL, is called at least five times a second while waiting, and a status
 * of it that is not EM_OK ends the wait for nothing but is returned (it does end the wait for a pipe); awaiting again
 * goes on.  EM_ERR_FORMAT: a pipe ended within a record. */
em_status emi_source_await(emi_source *s, emi_fill *fill, em_status (*tick)(void *arg), void *arg, em_errinfo *err);

#endif
