/* SPDX-License-Identifier: BSL-1.0 */
/* top_model.c -- see top_model.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sort/top_model.h"

void top_part(const ranks *r, uint64_t n, uint64_t *first, uint64_t *end)
{
	*first = r->from < n ? r->from : n;
	*end = r->k < n - *first ? *first + r->k : n;
}

em_ctx *top_ctx(uint64_t memory, uint32_t threads)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.threads = threads;
	o.direct = threads == 2 ? EM_DIRECT_TRY : EM_DIRECT_OFF;
	return sort_ctx(&o);
}

void top_ctx_close(em_ctx *ctx)
{
	assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
	em_ctx_close(ctx);
}

const ranks top_ranks[TOP_RANKS] = {
	{ 0, 0 },   { 0, 1 },	 { 0, 10 },  { 0, 500 },   { 0, 2500 },	   { 0, UINT64_MAX },
	{ 99, 1 }, { 5998, 1 }, { 700, 30 }, { 5990, 100 }, { 10000, 5 }, { UINT64_MAX, UINT64_MAX }, { 3, UINT64_MAX },
};

const sort_shape *top_shapes(size_t *n)
{
	static sort_shape shape[9];

	shape[0] = sort_shape_of(EM_KEY_U32, 0, 0, 4);
	shape[1] = sort_shape_of(EM_KEY_U64, 0, 0, 8);
	shape[2] = sort_shape_of(EM_KEY_I64, 0, EM_KEY_DESCENDING, 8);
	shape[3] = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	shape[4] = sort_shape_of(EM_KEY_U16, 0, EM_KEY_BIG_ENDIAN, 9);
	shape[5] = sort_shape_of(EM_KEY_F32, 0, 0, 12);
	shape[6] = sort_shape_of(EM_KEY_BYTES, 10, 0, 100);
	shape[7] = sort_shape_of(EM_KEY_U64, 0, EM_KEY_DESCENDING, 33);
	shape[8] = sort_shape_of(EM_KEY_BYTES, 16, 0, 16);
	*n = 9;
	return shape;
}
