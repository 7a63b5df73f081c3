/* SPDX-License-Identifier: BSL-1.0 */
/*
 * parts_case.h -- what tests of merging in parts share: contexts with some threads, and files large enough for them.
 */
#ifndef EM_PARTS_CASE_H
#define EM_PARTS_CASE_H

#include "sort/files_case.h"

/* The most threads that are tried, and the memory that they have. */
#define PARTS_THREADS (TEST_TSAN ? 2u : 4u)
#define PARTS_MEMORY (32 * MIB)
/* The bytes of a line, on average. */
#define PARTS_LINE 120u

em_ctx *parts_ctx(uint64_t memory, uint32_t threads, int32_t direct);

/* A line of n bytes, the first `few' of which are drawn. */
void parts_add_line(lines *l, test_rng *rng, size_t n, unsigned few);

/* About so many bytes of lines; one in some hundred is longer, up to `most'. */
void parts_add_lines(lines *l, test_rng *rng, size_t bytes, size_t most, unsigned few);

#endif
