/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_writer.h -- writing records of one size one after the other, into blocks that are allocated as they are needed,
 * or that follow each other in a file or an array.
 *
 * (STXXL's buf_ostream and buf_ostream_reverse.)  One block is being filled while those before are on their way to the
 * disk; with n buffers the caller waits when n - 1 are.  Records are pushed one by one, or into room that is lent,
 * which saves the copy.
 *
 * A writer that is to write backwards fills its last block first, and each from its end: who reads the list forwards
 * then sees the records in the opposite order, as when a sequence is made from its last record on.
 *
 * A writer goes past caches and pools: they forget what it writes.  A file or an array is lengthened as it needs, some
 * blocks at a time; when it has finished the length is what it was or the end of the last record, whichever is more.
 *
 * The first failure is kept, and told by every call from then on.  A write is known to have failed when its buffer is
 * needed again, or at the end.
 */
#ifndef EMI_BLOCK_WRITER_H
#define EMI_BLOCK_WRITER_H

#include "base/copy.h"
#include "block/block_list.h"
#include "block/store.h"

typedef struct emi_block_writer {
	em_ctx *ctx;
	emi_store *store;       /* kept */
	emi_io_stats *io;
	em_block_layout layout;
	emi_block_order order;
	emi_block_list list;
	char *room;             /* of the buffers */
	emi_request *rq;        /* of each */
	uint32_t nbuffers;
	uint32_t cur;           /* the one being filled */
	size_t left;            /* records that it still has room for */
	char *at;               /* where the next one goes */
	ptrdiff_t step;         /* from there to the one after that */
	uint64_t next;          /* of a store that has a length: where the next block goes, ... */
	uint64_t before;        /* ... and what the length was, which it is to be at least */
	em_errinfo err;         /* the first failure */
} emi_block_writer;

/* Records of `record' bytes in blocks of block_bytes, through nbuffers >= 1 buffers.  In a store that has a length the
 * first block goes to the byte `first', else that is no matter.  io may be NULL.  EM_ERR_INVAL: also when `first' is no
 * place for a block, or backwards and there is a length; EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_block_writer_open(emi_block_writer *w, em_ctx *ctx, emi_store *store, size_t block_bytes, size_t record,
				uint32_t nbuffers, emi_block_order order, uint64_t first, emi_io_stats *io,
				em_errinfo *err);

/* Bytes of memory that takes, beside the list: that has about 34 for each block that was written. */
uint64_t emi_block_writer_memory(size_t block_bytes, uint32_t nbuffers);

/* Lend room for *n > 0 records, all that the block has left; backwards, its last place is the first to be filled.  Then
 * say how many were. */
em_status emi_block_writer_lend(emi_block_writer *w, char **records, size_t *n, em_errinfo *err);
void emi_block_writer_took(emi_block_writer *w, size_t n);

/* Write the last block and wait for all: the list is the caller's then.  After a failure it is empty, and all blocks
 * are freed. */
em_status emi_block_writer_finish(emi_block_writer *w, emi_block_list *list, em_errinfo *err);

/* Wait for what is under way, free the memory, and the blocks unless they were finished.  One that was not opened, all
 * zero, is allowed. */
void emi_block_writer_close(emi_block_writer *w);

/* Send the block that is full on its way and have an empty one. */
em_status emi_block_writer_turn(emi_block_writer *w, em_errinfo *err);

static inline em_status emi_block_writer_push(emi_block_writer *w, const void *record, em_errinfo *err)
{
	if (w->left == 0) {
		const em_status st = emi_block_writer_turn(w, err);

		if (st != EM_OK)
			return st;
	}
	emi_copy(w->at, record, w->layout.record);
	w->at += w->step;
	w->left--;
	return EM_OK;
}

#endif
