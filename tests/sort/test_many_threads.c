/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_many_threads.c -- with many threads a sort takes no more memory than was planned, however it is cut: the least
 * that is named does, for records of several sizes and of any length.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/workers.h"
#include "sort/form.h"
#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define EACH (320 * KIB)        /* of memory, so that there is one more thread */
#define PIECE (64 * KIB)        /* pushed at a time */

/* A context of more than enough memory whose threads are there: their stacks are nobody's share. */
static em_ctx *roomy(uint32_t threads)
{
	em_ctx_opts opts = sort_ctx_opts();
	em_ctx *ctx;

	opts.memory = 512 * MIB;
	opts.threads = threads;
	ctx = sort_ctx(&opts);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	return ctx;
}

static em_order *order_of(em_ctx *ctx, size_t bytes)
{
	const sort_shape shape = sort_shape_of(EM_KEY_BYTES, bytes < 10 ? bytes : 10, 0, bytes);

	return bytes != 0 ? sort_order(ctx, &shape) : lines_order(ctx, 0);
}

/* Push about so many bytes. */
static em_status push(em_sorter *s, test_rng *rng, size_t bytes, uint64_t all)
{
	const uint64_t each = bytes != 0 ? bytes : 24, n = PIECE / each + 1;
	unsigned char *piece = malloc((size_t)(n * each));
	uint64_t *ends = malloc((size_t)n * sizeof(*ends)), done, i;
	em_status st = EM_OK;

	assert_true(piece != NULL && ends != NULL);
	for (i = 0; i < n; i++)
		ends[i] = (i + 1) * each;
	for (done = 0; done < all && st == EM_OK; done += n * each) {
		test_fill(rng, piece, (size_t)(n * each));
		st = bytes != 0 ? em_sorter_push(s, piece, n) : em_sorter_push_batch(s, piece, ends, n);
	}
	free(piece);
	free(ends);
	return st;
}

/* Sort more than the share, so that all of it is taken: EM_OK, or EM_ERR_MEMLIMIT from opening. */
static em_status run(em_ctx *ctx, test_rng *rng, size_t bytes, em_sort_opts *opts)
{
	em_order *order = order_of(ctx, bytes);
	const em_batch *batch;
	em_sorter *s;
	em_status st = em_sorter_open(&s, ctx, order, opts);

	em_order_close(order);
	if (st != EM_OK)
		return st;
	assert_int_equal(push(s, rng, bytes, opts->memory + PIECE), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	em_sorter_close(s);
	return EM_OK;
}

/* Sort in this share, or, if that is too little, in what is named then. */
static void assert_share(test_rng *rng, size_t bytes, uint32_t threads, uint64_t share)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = roomy(threads);
	uint64_t before = em_ctx_memory_used(ctx);
	em_errinfo err = { 0 };
	em_status st;

	opts.memory = share;
	opts.errinfo = &err;
	st = run(ctx, rng, bytes, &opts);
	if (st == EM_ERR_MEMLIMIT) {
		assert_true(err.bytes > share);
		opts.memory = err.bytes;
		st = run(ctx, rng, bytes, &opts);
	}
	if (st != EM_OK)
		fail_msg("records of %zu bytes in %llu bytes with %u threads: %s", bytes,
			 (unsigned long long)opts.memory, (unsigned)threads, err.text);
	if (em_ctx_memory_peak(ctx) - before > opts.memory)
		fail_msg("records of %zu bytes with %u threads took %llu bytes, not %llu", bytes, (unsigned)threads,
			 (unsigned long long)(em_ctx_memory_peak(ctx) - before), (unsigned long long)opts.memory);
	em_ctx_close(ctx);
}

static const size_t sizes[] = { 0, 1, 4, 8, 16, 24, 100, 5000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void test_least(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	static const uint32_t threads[] = { 1, 2, 3, 8, 64 };
	size_t i, j;

	(void)state;
	for (i = 0; i < SIZES; i++)
		for (j = 0; j < sizeof(threads) / sizeof(threads[0]); j++)
			assert_share(&rng, sizes[i], threads[j], 1);
}

/* As much as feeds them all, and more or less. */
static void test_fed(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	static const uint32_t threads[] = { 2, 3, 5, 9, 17, 40 };
	size_t i, j;

	(void)state;
	for (i = 0; i < SIZES; i += test_step())
		for (j = 0; j < sizeof(threads) / sizeof(threads[0]); j++)
			assert_share(&rng, sizes[i], threads[j],
				     threads[j] * EACH / 2 + test_below(&rng, threads[j] * EACH));
}

/* What the planner counts for partitions is what those take who sort. */
static void test_counted(void **state)
{
	uint32_t threads;

	(void)state;
	for (threads = 1; threads <= 64; threads *= 2) {
		em_ctx *ctx = roomy(threads);
		const uint64_t before = em_ctx_memory_used(ctx);
		emi_partition_room room;
		emi_job job;

		memset(&job, 0, sizeof(job));
		job.ctx = ctx;
		job.plan.threads = threads;
		assert_int_equal(emi_partition_room_init(&room, &job, NULL), EM_OK);
		assert_true(em_ctx_memory_used(ctx) - before <= emi_partition_room_bytes(threads));
		assert_true(em_ctx_memory_used(ctx) - before + 64 * threads >= emi_partition_room_bytes(threads));
		emi_partition_room_free(&room);
		em_ctx_close(ctx);
	}
	assert_int_equal(emi_former_levels(1), 1);
	assert_int_equal(emi_former_levels(2), EMI_FORM_LEVELS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_fed),
		cmocka_unit_test(test_counted),
	};

	return cmocka_run_group_tests_name("many_threads", tests, NULL, NULL);
}
