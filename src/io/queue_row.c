/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue_row.c -- requests that are made as one transfer.
 *
 * A disk that is asked for blocks of 32 KiB, one by one, does half of what it can, wherever they lie.  What lies side
 * by side is often asked for at the same time: leaves that were loaded in their order, blocks that were changed
 * together.  So requests that follow each other on a list and in a file are taken off together, as a row: a list linked
 * by next.  The backend gets one transfer of several buffers.  Nobody above needs to know, and what is one block stays
 * one request, with its own buffer, its own result, and its own function.
 *
 * What was not moved, for an error or as the transfer was short, is asked for again, one request after the other: so
 * a block that cannot be read is the only one that fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>

#include "io/backend.h"
#include "io/queue.h"

int emi_row_goes_on(const emi_request *last, const emi_request *rq, size_t bytes)
{
	return rq->file == last->file && rq->offset == last->offset + last->bytes && bytes < EMI_IO_ROW &&
	       rq->bytes <= EMI_IO_ROW - bytes && emi_backend_has_vectors(rq->file->be);
}

uint32_t emi_row_pieces(const emi_request *row, em_piece *piece, size_t *bytes)
{
	uint32_t n = 0;

	*bytes = 0;
	for (; row; row = row->next) {
		piece[n].buf = row->buf;
		piece[n++].bytes = row->bytes;
		*bytes += row->bytes;
	}
	return n;
}

void emi_row_settle(emi_request *row, int64_t result)
{
	if (!row->next) {
		emi_request_settle(row, result);
		return;
	}
	for (; row; row = row->next) {
		const int64_t bytes = (int64_t)row->bytes, mine = result < bytes ? result : bytes;

		/* As if it had been interrupted. */
		emi_request_settle(row, mine > 0 ? mine : -EINTR);
		result -= mine > 0 ? mine : 0;
	}
}

void emi_row_run(emi_request *row)
{
	em_piece piece[EM_PIECES_MOST];
	em_file *f = row->file;
	size_t bytes;
	uint32_t n;

	if (!row->next) {
		emi_request_run(row);
		return;
	}
	n = emi_row_pieces(row, piece, &bytes);
	if (row->kind == EMI_WRITE && f->in_memory)
		emi_huge_make(&f->huge, emi_file_fd(f), row->offset, bytes);
	emi_row_settle(row, row->kind == EMI_WRITE ? f->be->writev(f->handle, piece, n, row->offset)
						   : f->be->readv(f->handle, piece, n, row->offset));
}
