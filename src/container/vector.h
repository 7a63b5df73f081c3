/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector.h -- a vector inside: a store, a cache on it, and how many records there are.
 *
 * Callers are trusted here: positions are those of records that there are, and nothing is changed in a vector that is
 * read-only.  What the public calls check is in public_vector.c and its relatives.
 *
 * The length of the store is that of N records or more: it grows by a part of itself, since a file is asked to settle
 * each time.  It is made exact when the vector is flushed, resized or closed.  What is behind the N records is zeros
 * always, in the store as in the cache, so lengthening is no work.
 *
 * Files.  vector.c opens, closes and resizes; vector_range.c copies records; vector_reader.c and vector_writer.c pass
 * the cache by.
 */
#ifndef EMI_VECTOR_H
#define EMI_VECTOR_H

#include <extmem/vector.h>

#include "base/object.h"
#include "base/user.h"
#include "block/cache.h"
#include "container/vector_layout.h"

#define EMI_VECTOR_PAGE_MOST 64u

typedef struct emi_vector {
	em_ctx *ctx;
	emi_store *store;
	emi_cache *cache;
	em_file *file;          /* NULL: on scratch */
	emi_vector_layout layout;
	uint64_t n;             /* records */
	uint32_t page_blocks;
	uint32_t pinned;        /* records lent in place */
	uint32_t readers;       /* open */
	uint32_t writers;       /* open: 0 or 1 */
	int read_only;
	uint64_t read, written; /* blocks, past the cache */
	emi_user policy;        /* what it has, to be freed when the cache is closed */
} emi_vector;

struct em_vector {
	emi_object object;
	uint32_t users;         /* the caller, and readers and writers: released with the last */
	emi_vector inner;       /* what em_vector_swap() exchanges */
};

/* Options with what is 0 filled in.  As em_vector_open(). */
em_status emi_vector_options(em_vector_opts *o, em_ctx *ctx, emi_vector_layout *l, em_errinfo *err);

/* Most bytes that one of such options takes, whatever it has in it; UINT64_MAX: more than can be counted. */
uint64_t emi_vector_memory(const em_vector_opts *o, const emi_vector_layout *l, uint64_t records);

/* v is zeroed.  After a failure, too, it is closed. */
em_status emi_vector_open(emi_vector *v, em_ctx *ctx, const em_vector_opts *o, em_errinfo *err);

/* A file has what was changed, as far as that works. */
void emi_vector_close(emi_vector *v);

/* Have the store be long enough for n records. */
em_status emi_vector_cover(emi_vector *v, uint64_t n, em_errinfo *err);

em_status emi_vector_resize(emi_vector *v, uint64_t n, em_errinfo *err);
em_status emi_vector_reserve(emi_vector *v, uint64_t n, em_errinfo *err);
em_status emi_vector_shrink(emi_vector *v, em_errinfo *err);
em_status emi_vector_flush(emi_vector *v, int durable, em_errinfo *err);

/* Pin a block, with its page if it is missing. */
em_status emi_vector_bring(emi_vector *v, uint64_t block, uint32_t mode, uint32_t *frame, em_errinfo *err);

/* vector_range.c */

em_status emi_vector_read(emi_vector *v, uint64_t i, void *records, uint64_t n, em_errinfo *err);

/* Write records, also behind the last, where the store has room for them; N grows as far as they got.  *done: how many
 * did, also after a failure. */
em_status emi_vector_write(emi_vector *v, uint64_t i, const void *records, uint64_t n, uint64_t *done, em_errinfo *err);

em_status emi_vector_read_many(emi_vector *v, const uint64_t *positions, uint64_t n, void *records, em_errinfo *err);

static inline em_bid emi_vector_bid(const emi_vector *v, uint64_t block)
{
	const em_bid bid = { 0, 0, block * v->layout.block_bytes };

	return bid;
}

#endif
