/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_load.h -- filling a pool from files, with all threads.
 *
 * Each thread takes a chunk of whole records and turns it into frames and elements in a stage, a piece of memory that stays
 * in its cache.  When a few stages are full, their places in the pool are known - they keep the order of the
 * chunks - and they are moved there.  Keys are normalised here, once for each record.
 */
#ifndef EMI_POOL_LOAD_H
#define EMI_POOL_LOAD_H

#include "sort/pool.h"
#include "stream/records.h"

typedef struct emi_stage emi_stage;

typedef struct emi_pool_loader {
	emi_pool *pool;
	emi_records *records;
	const char *const *paths;
	em_format format;
	size_t chunk_bytes;
	uint64_t longest;       /* bytes of a frame */
	size_t most_bytes;      /* of frames in a stage */
	size_t most_elems;
	emi_stage *stage;       /* a ring of them */
	uint32_t nstages;
	uint32_t head;          /* the stage whose chunk came first */
	uint32_t busy;          /* stages from there on that have a chunk */
	int ended;              /* there are no more chunks */
	uint32_t file;          /* of the chunk at the head ... */
	uint64_t number;        /* ... and the records of that file before it */
	uint64_t records_in;
	uint64_t skip;          /* records at the beginning of the first file that do not go to the pool ... */
	int skipped;            /* (there were some) */
	/* ... but, with their delimiters or prefixes, here. */
	em_status (*skipped_to)(void *arg, const void *data, size_t bytes, em_errinfo *err);
	void *skipped_arg;
} emi_pool_loader;

/* Memory of a loader for so many threads, beside the reader's; and how many chunks it holds at a time. */
uint64_t emi_pool_loader_memory(uint32_t threads, size_t chunk_bytes);
uint32_t emi_pool_loader_chunks(uint32_t threads);

em_status emi_pool_loader_init(emi_pool_loader *l, emi_pool *pool, emi_records *records, const char *const *paths,
			       size_t chunk_bytes, uint64_t longest, em_errinfo *err);
void emi_pool_loader_free(emi_pool_loader *l);

/* Fill the pool.  *full: it is, and there is more to come; else all records are in it.  EM_ERR_FORMAT: a record is too long for the
 * memory; and what emi_records_next() may return. */
em_status emi_pool_load(emi_pool_loader *l, int *full, em_errinfo *err);

#endif
