/* SPDX-License-Identifier: BSL-1.0 */
/* test_plan_memory.c -- how much of the default memory a sort plans with, where memory is dear and where cheap. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/phase.h"
#include "base/context.h"
#include "base/memory_price.h"
#include "sort/sort_model.h"
#include "sort/plan_memory.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define BYTES 8u                /* of a record */

typedef struct bench {
	em_ctx *ctx;
	em_order *order;
	emi_job job;
	emi_needs needs;
} bench;

static void bench_open(bench *b)
{
	static const sort_shape shape = { BYTES, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } };
	em_ctx_opts co = sort_ctx_opts();

	memset(b, 0, sizeof *b);
	co.memory = 8 * GIB;
	b->ctx = sort_ctx(&co);
	b->ctx->memory_given = 0;
	b->order = sort_order(b->ctx, &shape);
	b->job.ctx = b->ctx;
	assert_int_equal(emi_collation_open(&b->job.by, b->order, NULL, NULL, NULL), EM_OK);
}

static void bench_close(bench *b)
{
	emi_collation_close(&b->job.by);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
}

/* What a sort of so many bytes plans with. */
static uint64_t planned(bench *b, uint64_t bytes, int cheap)
{
	b->needs.n = bytes / BYTES;
	b->job.cheap = cheap;
	return emi_plan_memory(&b->job, &b->needs, 6 * GIB);
}

static void test_sizes(void **state)
{
	bench b;

	(void)state;
	bench_open(&b);
	assert_int_equal(planned(&b, MIB, 0), 128 * MIB);
	assert_int_equal(planned(&b, 100 * MIB, 0), 64 * MIB);
	assert_int_equal(planned(&b, GIB, 0), 128 * MIB);
	assert_int_equal(planned(&b, 4 * GIB, 0), 256 * MIB);
	assert_int_equal(planned(&b, 100 * MIB, 1), 400 * MIB);
	assert_int_equal(planned(&b, 512 * MIB, 1), 2 * GIB);
	assert_int_equal(planned(&b, GIB, 1), 4 * GIB);
	assert_int_equal(emi_plan_memory(&b.job, &b.needs, GIB), GIB);
	bench_close(&b);
}

/* Memory is only tried where that decides, and never where somebody said what is used. */
static void test_where_it_matters(void **state)
{
	bench b;

	(void)state;
	bench_open(&b);
	b.job.cheap = 1;
	b.needs.n = MIB / BYTES;
	emi_plan_price(&b.job, &b.needs);
	assert_false(b.job.cheap);
	b.job.cheap = 1;
	b.needs.n = 1025 * MIB / BYTES;
	emi_plan_price(&b.job, &b.needs);
	assert_false(b.job.cheap);
	b.job.cheap = 1;
	b.needs.n = EMI_UNKNOWN;
	emi_plan_price(&b.job, &b.needs);
	assert_false(b.job.cheap);
	b.job.cheap = 1;
	b.needs.n = 100 * MIB / BYTES;
	b.ctx->memory_given = 1;
	emi_plan_price(&b.job, &b.needs);
	assert_false(b.job.cheap);
	assert_true(em_ctx_memory_peak(b.ctx) < EMI_PRICE_BYTES);
	b.ctx->memory_given = 0;
	emi_plan_price(&b.job, &b.needs);
	assert_true(em_ctx_memory_peak(b.ctx) >= EMI_PRICE_BYTES);
	bench_close(&b);
}

/* Trying gives back what it took; where there is nothing to try, nobody knows. */
static void test_price(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx;
	uint64_t before;

	(void)state;
	co.memory = GIB;
	ctx = sort_ctx(&co);
	before = em_ctx_memory_used(ctx);
	emi_memory_is_cheap(ctx, 0);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	assert_true(em_ctx_memory_peak(ctx) >= EMI_PRICE_BYTES);
	(void)emi_memory_is_cheap(ctx, 2 * EMI_PRICE_BYTES + 1);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	assert_true(em_ctx_memory_peak(ctx) >= 2 * EMI_PRICE_BYTES);
	assert_false(emi_memory_is_cheap(ctx, 2 * GIB));
	em_ctx_close(ctx);
	co.memory = EMI_PRICE_BYTES - 1;
	ctx = sort_ctx(&co);
	assert_false(emi_memory_is_cheap(ctx, 0));
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_where_it_matters),
		cmocka_unit_test(test_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
