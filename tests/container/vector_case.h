/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_case.h -- a vector and what should be in it, for tests of vectors.
 */
#ifndef EM_VECTOR_CASE_H
#define EM_VECTOR_CASE_H

#include <extmem/vector.h>

#include "block/fixture.h"

typedef struct vector_case {
	fixture f;
	char *dir, *path;       /* of a file; path is NULL on scratch */
	em_vector_opts opts;
	em_vector *v;
	em_errinfo err;
	/* the model */
	unsigned char *is;
	uint64_t n, room;       /* records */
	char *buf;              /* room for as many */
} vector_case;

/* A context, and room for a model of so many records. */
void vector_case_open(vector_case *t, const em_backend *backend, uint64_t record, uint64_t room);

/* The vector, as t->opts say; with `bound', on a file. */
void vector_case_make(vector_case *t, int bound);

/* All of this: a vector of u64 on scratch in blocks of 4 KiB, and so many of them in memory. */
void vector_case_numbers(vector_case *t, const em_backend *backend, uint64_t room, uint64_t frames);

/* Close the vector, and, unless it is on scratch, open it again. */
void vector_case_reopen(vector_case *t);

/* All records are what they should be. */
void vector_case_check(vector_case *t);

/* So many records of garbage in t->buf. */
void vector_case_draw(vector_case *t, uint64_t n);

/* They stand in the model from i on, which may become longer. */
void vector_case_put(vector_case *t, uint64_t i, uint64_t n);

em_vector_stats vector_case_stats(const vector_case *t);

/* Close it: then all blocks of the disk are given back. */
void vector_case_close(vector_case *t);

/* It succeeded, or the test fails with the detail. */
#define assert_vector_ok(t, call) vector_case_ok(t, call, __LINE__)
void vector_case_ok(vector_case *t, em_status st, int line);

#endif
