/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_append.h -- writing a run of records that come one after the other, in order, until there are no more.
 *
 * One run after the other, on one thread:
 *
 *   init, append..., end, (append..., end)..., settle, free
 *
 * Records of one size are written into the blocks where they go.  How long a block of frames is going to be must be
 * known before it is filled: frames are staged until no more fit in a block, and moved then.
 */
#ifndef EMI_RUN_APPEND_H
#define EMI_RUN_APPEND_H

#include "sort/run_writer.h"

typedef struct emi_run_append {
	emi_runs *runs;
	emi_outseq *out;        /* the caller's, as the next */
	emi_run_writer *writer;
	uint64_t out_extra;     /* any length: output bytes of each record beside its own */
	size_t bytes;           /* of records or frames in a block, ... */
	size_t filled;          /* ... and those of the next one that are there */
	unsigned char *base;    /* where they are; one size: in the block, or NULL */
	uint64_t block;         /* its number in the run */
	int begun;              /* there is a run: it begins with its first record */
} emi_run_append;

/* Runs whose blocks have up to block_bytes, through the buffers of out; both were made for the same runs, as the writer
 * was or, if it is all zeroes, is when it is needed.  EM_ERR_MEMLIMIT, EM_ERR_NOMEM. */
em_status emi_run_append_init(emi_run_append *a, emi_runs *runs, emi_outseq *out, emi_run_writer *writer,
			      size_t block_bytes, uint64_t out_extra, em_errinfo *err);

/* All zeroes need no freeing.  out and the writer are freed next; a run that was not ended is lost. */
void emi_run_append_free(emi_run_append *a);

/* Bytes of memory that the three take, with so many buffers, and so many packers among those. */
uint64_t emi_run_append_memory(const emi_collation *by, uint32_t buffers, uint32_t packers, size_t block_bytes);

/* Append n records of one size, or those of n elements.  EM_ERR_CANCELED, EM_ERR_MEMLIMIT and EM_ERR_NOMEM, and what
 * writing fails with, here and below.  A failure is final. */
em_status emi_run_append_records(emi_run_append *a, const void *records, size_t n, em_errinfo *err);
em_status emi_run_append_elems(emi_run_append *a, const void *elems, size_t n, em_errinfo *err);

/* Append a record of any length, whose string may be anywhere. */
em_status emi_run_append_frame(emi_run_append *a, const emi_frame *f, em_errinfo *err);

/* The run is complete.  Without records there is none: all of *run is 0 then.  Its end may still be on its way. */
em_status emi_run_append_end(emi_run_append *a, emi_run *run, em_errinfo *err);

/* Wait until all runs that were ended are on the disks. */
em_status emi_run_append_settle(emi_run_append *a, em_errinfo *err);

#endif
