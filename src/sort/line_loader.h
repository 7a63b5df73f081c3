/* SPDX-License-Identifier: BSL-1.0 */
/*
 * line_loader.h -- filling a line store from files, with all threads.
 *
 * Each thread takes a chunk of whole records and turns it into frames and elements in a stage, a piece of memory that
 * stays in its cache.  When all chunks before it have their places in the store it has its own, and is moved there
 * (base/turns.h). Keys are normalised here, once for each record.  The calling thread fetches chunks as they are
 * needed, and does the same when it has some time.  Others are woken when enough waits for them: a chunk is no larger
 * than its file, and of thousands of small ones it does all alone.
 */
#ifndef EMI_LINE_LOADER_H
#define EMI_LINE_LOADER_H

#include "base/turns.h"
#include "base/workers.h"
#include "sort/header.h"
#include "sort/line_store.h"
#include "stream/records.h"

typedef struct emi_stage emi_stage;

typedef struct emi_line_loader {
	emi_line_store *store;
	emi_records *records;
	const char *const *paths;
	em_format format;
	size_t chunk_bytes;
	uint64_t longest;       /* bytes of a frame */
	size_t most_bytes;      /* of frames in a stage */
	size_t most_elems;
	emi_stage *stage;       /* a ring of them */
	uint32_t nstages;
	uint64_t head;          /* the chunk that came first, of those that are still with us; they are counted from
	                           0 */
	uint32_t busy;          /* how many there are: each has a stage */
	int ended;              /* there are no more chunks */
	emi_turns turns;        /* chunks are its items */
	unsigned char *state;   /* of each stage */
	emi_task *helper;       /* of each thread but the calling one */
	/* With the lock of the turns: */
	uint32_t file;          /* whose records came into the store last ... */
	uint64_t number;        /* ... and what its chunks that are in the store as a whole had, as messages count */
	uint64_t records_in;
	int full;               /* the store is */
	size_t need;            /* bytes of the frame that it is too full for, if that is a long one, or 0 */
	em_status status;       /* why it cannot go on; detail in err */
	em_errinfo err;
	emi_header header;      /* what does not go to the store; set by the caller after emi_line_loader_init() */
} emi_line_loader;

/* Memory of a loader for so many threads, beside the reader's, which grows evenly with the bytes of a chunk; and how
 * many chunks it holds at a time. */
uint64_t emi_line_loader_memory(uint32_t threads, uint64_t chunk_bytes);
uint32_t emi_line_loader_chunks(uint32_t threads);

em_status emi_line_loader_init(emi_line_loader *l, emi_line_store *store, emi_records *records,
			       const char *const *paths, size_t chunk_bytes, uint64_t longest, em_errinfo *err);
void emi_line_loader_free(emi_line_loader *l);

/* Fill the store.  *full: it is, and there is more to come; else all records are in it.  EM_ERR_FORMAT: a record is
 * too long for the memory; and what emi_records_next() may return. */
em_status emi_line_loader_fill(emi_line_loader *l, int *full, em_errinfo *err);

#endif
