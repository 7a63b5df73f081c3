/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_stream.h -- readers and writers of a vector, which pass its cache by and agree with it.
 *
 * Both have a ring of buffers of a block each, and as many transfers under way.
 *
 * A reader asks for blocks ahead, but not for those that the cache has: these come from there when it is their turn.
 * It is a holder of the store.  Somebody who writes a block that was asked for or read already has the reader forget
 * it, and then that comes by way of the cache, too.  What the cache has changed and not written yet is laid over a
 * block when its turn comes.
 *
 * A writer has whoever keeps a block forget it, and writes it.  It is a holder, too: until it knows how the write
 * ends, it lends the block to whoever reads it, as the disk may have anything there.  Blocks at the ends of its range
 * of which other records stay, and the last one, if it is not full, go to the cache.  So few records never get to a
 * disk.
 *
 * Where records straddle blocks, both go by way of the cache, a block's worth of records at a time.
 */
#ifndef EMI_VECTOR_STREAM_H
#define EMI_VECTOR_STREAM_H

#include "base/cursor.h"
#include "container/vector.h"

/* Blocks that a stream has in memory, and their transfers. */
typedef struct emi_vector_ring {
	uint32_t buffers;
	size_t bytes;           /* of each */
	char *room;
	emi_request *rq;
	uint32_t *state;        /* of each, as the reader or the writer says */
} emi_vector_ring;

/* About how much memory that takes for a range of so many records, where nobody asks for buffers. */
uint64_t emi_vector_ring_memory(const emi_vector *v, uint64_t records);

/* asked: buffers, or 0; as many as a range of so many blocks needs, and not more.  EM_ERR_RANGE, EM_ERR_NOMEM,
 * EM_ERR_MEMLIMIT. */
em_status emi_vector_ring_open(emi_vector_ring *ring, const emi_vector *v, uint32_t asked, uint64_t blocks,
			       em_errinfo *err);

/* Waits for what is under way. */
void emi_vector_ring_close(emi_vector_ring *ring, const emi_vector *v);

static inline char *emi_vector_ring_buf(const emi_vector_ring *ring, uint64_t turn)
{
	return ring->room + (size_t)(turn % ring->buffers) * ring->bytes;
}

typedef struct emi_vector_reader {
	emi_holder holder;
	emi_vector *v;
	emi_vector_ring ring;
	int reverse;
	uint64_t from, end;     /* records: [from, end) are still to be lent */
	uint64_t first;         /* block of the first, in order; the i-th block that is read is its i-th neighbour */
	uint64_t blocks;        /* of the range */
	uint64_t asked;         /* blocks that were asked for ... */
	uint64_t taken;         /* ... and lent */
	em_errinfo err;         /* a failure stays */
} emi_vector_reader;

/* r is zeroed; n records from a position on. */
em_status emi_vector_reader_open(emi_vector_reader *r, emi_vector *v, uint64_t from, uint64_t n, int reverse,
				 uint32_t buffers, em_errinfo *err);
/* Lend n records.  EM_END. */
em_status emi_vector_reader_next(emi_vector_reader *r, const char **records, uint64_t *n, em_errinfo *err);
void emi_vector_reader_close(emi_vector_reader *r);

typedef struct emi_vector_writer {
	emi_holder holder;
	emi_vector *v;
	emi_vector_ring ring;
	uint64_t at;            /* the position of the next record ... */
	uint64_t begin;         /* ... and of the first in the buffer */
	uint64_t end;           /* that it must not get to */
	uint64_t first;         /* block of the first buffer */
	uint64_t turn;          /* blocks that were sent, or went to the cache */
	uint64_t old;           /* N when it was opened */
	int finished;
	em_errinfo err;         /* a failure stays */
} emi_vector_writer;

/* w is zeroed; UINT64_MAX records: any number. */
em_status emi_vector_writer_open(emi_vector_writer *w, emi_vector *v, uint64_t from, uint64_t n, uint32_t buffers,
				 em_errinfo *err);
/* Lend room for n records, at least one.  EM_ERR_RANGE: there may be no more. */
em_status emi_vector_writer_lend(emi_vector_writer *w, char **records, uint64_t *n, em_errinfo *err);
void emi_vector_writer_took(emi_vector_writer *w, uint64_t n);
em_status emi_vector_writer_push(emi_vector_writer *w, const char *records, uint64_t n, em_errinfo *err);
em_status emi_vector_writer_finish(emi_vector_writer *w, em_errinfo *err);
void emi_vector_writer_close(emi_vector_writer *w);

#endif
