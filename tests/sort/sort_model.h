/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_model.h -- what the tests of sorting share: records to sort, and what must come out.
 *
 * A sort is stable and deterministic, so there is one right output, byte for byte: that of a plain merge sort
 * with a comparison that shares no code with the library (key/key_model.h).
 */
#ifndef EM_SORT_MODEL_H
#define EM_SORT_MODEL_H

#include <extmem.h>

#include "common/test.h"
#include "key/key_model.h"

/* Records and their order; no keys: all bytes. */
typedef struct sort_shape {
	size_t bytes;           /* of a record */
	uint32_t keys;
	em_key key[4];
} sort_shape;

/* The shape whose record is `bytes' long and begins with one key of a type. */
sort_shape sort_shape_of(int32_t type, size_t width, uint32_t flags, size_t bytes);

/* In what order keys come. */
typedef enum sort_pattern {
	SORT_RANDOM,
	SORT_EQUAL,
	SORT_SORTED,
	SORT_REVERSED,
	SORT_ORGAN_PIPE,
	SORT_FEW,               /* five different keys */
	SORT_ENDS,              /* both ends of the domain, and what is special */
	SORT_ALIKE,             /* each begins as one of five, up to a field, or a byte of it */
	SORT_PATTERNS
} sort_pattern;

extern const char *const sort_pattern_names[SORT_PATTERNS];

/* n records, for free(); never NULL.  Bytes that no key covers are random, so that instability shows. */
unsigned char *sort_records(test_rng *rng, const sort_shape *shape, sort_pattern pattern, uint64_t n);

int sort_compare(const sort_shape *shape, const unsigned char *a, const unsigned char *b);

/* A sorted copy, for free(); with unique, of equal records the first, and *n becomes fewer. */
unsigned char *sort_expected(const sort_shape *shape, const unsigned char *records, uint64_t *n, int unique);

/* Defaults of these tests: 64 MiB, one thread, scratch in memory. */
em_ctx_opts sort_ctx_opts(void);
em_ctx *sort_ctx(const em_ctx_opts *opts);
em_order *sort_order(em_ctx *ctx, const sort_shape *shape);

/* Push n records in pieces of random sizes; pull all and compare them with what is expected. */
em_status sort_push(em_sorter *s, test_rng *rng, const sort_shape *shape, const unsigned char *records, uint64_t n);
void sort_assert_pull(em_sorter *s, const sort_shape *shape, const unsigned char *expected, uint64_t n);

/* The whole life of a sorter; what it did goes to stats unless that is NULL. */
void sort_assert_sorter(em_ctx *ctx, const em_order *order, const em_sort_opts *opts, test_rng *rng,
			const sort_shape *shape, const unsigned char *records, uint64_t n,
			const unsigned char *expected, uint64_t expected_n, em_sort_stats *stats);

/* Files as wholes: write one; read one, which must be there, for free(). */
void sort_write_file(const char *path, const void *data, size_t bytes);
unsigned char *sort_read_file(const char *path, size_t *bytes);
void sort_assert_file(const char *path, const void *data, size_t bytes);

/* How many descriptors this process has open. */
unsigned sort_open_fds(void);

#endif
