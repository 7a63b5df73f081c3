/* SPDX-License-Identifier: BSL-1.0 */
/* top_model.h -- what the tests of the first records of an order share. */
#ifndef EM_TOP_MODEL_H
#define EM_TOP_MODEL_H

#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)

/* Which ranks are asked for. */
typedef struct ranks {
	uint64_t from, k;
} ranks;

/* Some, of some thousand records. */
#define TOP_RANKS 13u
extern const ranks top_ranks[TOP_RANKS];

/* The part of n sorted records that is asked for. */
void top_part(const ranks *r, uint64_t n, uint64_t *first, uint64_t *end);

/* Records of every kind of element; n: how many shapes. */
const sort_shape *top_shapes(size_t *n);

em_ctx *top_ctx(uint64_t memory, uint32_t threads);
/* It has not used more than it has. */
void top_ctx_close(em_ctx *ctx);

#endif
