/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records_impl.h -- what a reader of records consists of; shared by records.c (its life and the calls), records_read.c
 * (buffers and transfers) and records_cut.c (where records end).
 *
 * The area of a buffer:
 *
 *	area         area + head                       + chunk_bytes      + a page
 *	|...headroom.|........what is read.............|.......slack......|
 *	        ^from                             ^to
 *
 * What is read begins with a page, in memory and in the file, as direct transfers need it.  In front of it there is
 * room for the beginning of a record that the buffer before this one ended with.  What is read of a stream begins a few
 * bytes behind head, if that is what keeps records of one size as aligned as they are in the file.
 */
#ifndef EMI_RECORDS_IMPL_H
#define EMI_RECORDS_IMPL_H

#include "stream/input.h"
#include "stream/pipe.h"
#include "stream/records.h"

#define EMI_RECORDS_OPEN 2u     /* files open at a time */

enum {
	EMI_RECORDS_FREE = 0,   /* nothing in it is needed, unless it is a short tail */
	EMI_RECORDS_QUEUED = 1, /* being read, or read; the joined record: being put together */
	EMI_RECORDS_OUT = 2,    /* with the consumer */
	EMI_RECORDS_KEPT = 3    /* a long tail in it is needed yet */
};

/* An open file. */
typedef struct emi_records_slot {
	em_file *file;
	uint32_t input;
	uint32_t refs;          /* transfers from it that were not waited for */
} emi_records_slot;

typedef struct emi_records_buffer {
	unsigned char *area;
	size_t from, to;        /* what is in it, as offsets in the area; with the consumer: what he has */
	uint64_t offset;        /* in the file, of what is read */
	size_t wanted;          /* bytes to read */
	size_t got;             /* of a stream, bytes that are there so far */
	emi_request rq;
	emi_records_slot *slot; /* NULL: a stream */
	struct emi_records_buffer *next; /* in the queue */
	uint32_t file;          /* index of the input */
	int32_t state;          /* EMI_RECORDS_... */
	int32_t begun;          /* the transfer, of a file, was; that of a small one is made when it is waited for */
	int32_t there;          /* it was waited for */
	int32_t last;           /* the file ends with it; valid once there */
} emi_records_buffer;

/* The beginning of a record that the last buffer ended with, as long as it was not copied to where it belongs. */
typedef struct emi_records_tail {
	emi_records_buffer *owner;
	size_t at, bytes;       /* in the owner's area; no bytes: there is none */
	uint64_t offset;        /* in the file */
} emi_records_tail;

struct emi_records {
	em_ctx *ctx;
	emi_io_stats *stats;
	emi_inputs in;
	em_format format;
	uint64_t longest;
	uint64_t record_bytes;  /* 0: any length */
	size_t chunk_bytes;
	size_t head;            /* bytes of headroom */
	uint32_t buffers;
	emi_records_buffer *buffer;
	unsigned char *arena;   /* their areas */
	size_t area_bytes;
	emi_records_buffer joined; /* the one record that is longer than a headroom; to: bytes so far */
	size_t joined_bytes;    /* of its area */
	size_t joined_need;     /* bytes of it, or with delimiters its room but for one */
	uint64_t over;          /* bytes of it that have no room: it is too long, and only measured yet */
	int joined_state;       /* of a CSV file, at the end of these bytes: csv.h */
	emi_records_buffer *first, *last; /* the queue: in the order of the files */
	emi_records_tail tail;
	emi_records_slot slot[EMI_RECORDS_OPEN];
	uint32_t cur;           /* the cursor, up to where transfers were started: input ... */
	uint64_t pos;           /* ... and position in it (of streams: bytes read) */
	size_t skip;            /* bytes of the first page that are before the range */
	emi_pipe pipe;          /* the stream at the cursor; open from the beginning, if it is prompt and the first
	                           input */
	uint32_t num_file;      /* the file being cut, whose records ... */
	uint64_t num;           /* ... in released chunks are counted here */
	em_status ahead;        /* of opening the file at the cursor: told when everything before it was given */
	em_errinfo ahead_err;
	em_status status;       /* of the first failure; sticky, detail in err */
	em_errinfo err;
};

/* Keep a failure whose detail is in r->err. */
em_status emi_records_failed(emi_records *r, em_status st);

/* records_read.c */

/* Start reading into all free buffers, as far as that takes no waiting. */
void emi_records_ahead(emi_records *r);

/* Is anything left to be read behind the queue? */
int emi_records_more(const emi_records *r);

/* Open the stream at the cursor, if it is not open yet.  A failure is kept. */
em_status emi_records_open_stream(emi_records *r);

/* Put a free buffer into the queue, which is empty, for the stream at the cursor; 0 when there is none. */
int emi_records_queue_stream(emi_records *r);

/* Return when what was wanted is in the buffer.  The ticker's status (then nothing is lost), or a failure. */
em_status emi_records_wait(emi_records *r, emi_records_buffer *b, emi_ticker *ticker);

/* Take the first buffer off the queue. */
void emi_records_dequeue(emi_records *r);

/* Keep [at, b->to) as the tail, in the headroom of the next buffer if it fits there. */
void emi_records_keep_tail(emi_records *r, emi_records_buffer *b, size_t at);

/* records_cut.c */

/* The end of the last whole record of the buffer, as an offset in its area.  The last line of a file is completed.
 * EM_ERR_FORMAT, kept. */
em_status emi_records_cut(emi_records *r, emi_records_buffer *b, size_t *end);

/* Bytes of the record that begins with the tail, its prefix included and its delimiter not; at most, if not known. */
uint64_t emi_records_span(const emi_records *r, const emi_records_tail *tail);

/* The joined record is what the tail was so far. */
void emi_records_join_begin(emi_records *r);

/* Move what belongs to the joined record from the front of the buffer to its end; *whole says whether that is all of
 * it.  EM_ERR_FORMAT, kept. */
em_status emi_records_join(emi_records *r, emi_records_buffer *b, int *whole);

#endif
