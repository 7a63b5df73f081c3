/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_reader.h -- reading the records of lists of blocks one after the other, from the beginning or from the end.
 *
 * (STXXL's buf_istream and buf_istream_reverse.)  While the caller is at one block the following are being read: with n
 * buffers, n - 1 of them.  Records are lent, all that are left of a block or one by one; what was lent is valid until
 * the next call.  Several lists are read as if they were one: where one ends the next is being read already.
 *
 * Lists have blocks that were written, so one that was not is a failure, and not zeros.
 *
 * A reader goes past caches and pools, and yet sees what they have: each block as it is when the caller gets to it.  It
 * is a holder of its store, so that whoever writes a block that was read ahead has it read again.
 *
 * The first failure is kept, and told by every call from then on.
 */
#ifndef EMI_BLOCK_READER_H
#define EMI_BLOCK_READER_H

#include "block/block_list.h"
#include "block/store.h"

/* A block of those that are read. */
typedef struct emi_block_cursor {
	uint64_t n;             /* how many are before it */
	uint32_t list;          /* its list, and which it is there, both in the order of reading */
	uint64_t block;
} emi_block_cursor;

/* What is under way for a buffer. */
typedef struct emi_read_ahead {
	emi_request rq;
	int stale;              /* nothing: it is to be read when the caller gets there */
} emi_read_ahead;

typedef struct emi_block_reader {
	emi_holder holder;
	em_ctx *ctx;
	emi_store *store;       /* kept */
	emi_io_stats *io;
	em_block_layout layout;
	emi_block_order order;
	const emi_block_list *list;
	uint32_t lists;
	int frees;              /* blocks as soon as they were read */
	char *room;             /* of the buffers */
	emi_read_ahead *ahead;  /* of each */
	uint32_t nbuffers;
	emi_block_cursor asked; /* the next block to be requested, ... */
	emi_block_cursor taken; /* ... that the caller gets to, ... */
	emi_block_cursor freed; /* ... and that is freed */
	size_t left;            /* records of the current one */
	char *at;               /* the next of them */
	ptrdiff_t step;         /* from there to the one after that */
	em_errinfo err;         /* the first failure */
} emi_block_reader;

/*
 * Begin to read so many lists, which must stay as they are until the reader is closed, through nbuffers >= 1 buffers;
 * in reverse the last list comes first.  The reader must stay where it is.  With `frees' their blocks become the
 * reader's: each is freed when the caller goes on to the next, and closing frees those that are left.  io may be NULL.
 * EM_ERR_INVAL, EM_ERR_MEMLIMIT, EM_ERR_NOMEM: then the blocks are still the caller's.
 */
em_status emi_block_reader_open(emi_block_reader *r, em_ctx *ctx, emi_store *store, size_t block_bytes, size_t record,
				uint32_t nbuffers, const emi_block_list *list, uint32_t lists, emi_block_order order,
				int frees, emi_io_stats *io, em_errinfo *err);

/* Bytes of memory that takes. */
uint64_t emi_block_reader_memory(size_t block_bytes, uint32_t nbuffers);

/* Lend *n > 0 records, all that are left of the block, in the order in which they lie there: backwards, the last is the
 * first. EM_OK, EM_END, or a failure. */
em_status emi_block_reader_next(emi_block_reader *r, const char **records, size_t *n, em_errinfo *err);

/* Wait for what is under way and free the memory.  One that was not opened, all zero, is allowed. */
void emi_block_reader_close(emi_block_reader *r);

/* Go on to the next block. */
em_status emi_block_reader_turn(emi_block_reader *r, em_errinfo *err);

/* Lend the next record.  EM_OK, EM_END, or a failure. */
static inline em_status emi_block_reader_get(emi_block_reader *r, const char **record, em_errinfo *err)
{
	if (r->left == 0) {
		const em_status st = emi_block_reader_turn(r, err);

		if (st != EM_OK)
			return st;
	}
	*record = r->at;
	r->at += r->step;
	r->left--;
	return EM_OK;
}

#endif
