/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_packer.c -- packing blocks: what comes back is what went in, what does not become smaller stays, and damage is
 * told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "block/packer.h"
#include "common/test.h"

#define BLOCK 65536u
#define THREADS 4u

typedef struct bench {
	test_memory mem;
	em_ctx *ctx;
	emi_packer packer;
	char *arena;            /* spare buffers, and then one for each thread */
	uint32_t spares;
} bench;

static void bench_open(bench *b, uint32_t spares, int always)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	uint32_t i;

	memset(b, 0, sizeof *b);
	memset(&err, 0, sizeof err);
	test_memory_init(&b->mem, 0);
	opts.allocator = &b->mem.allocator;
	opts.memory = 8u << 20;
	assert_int_equal(em_ctx_open(&b->ctx, &opts), EM_OK);
	b->spares = spares;
	assert_int_equal(emi_packer_init(&b->packer, b->ctx, spares, BLOCK, always, &err), EM_OK);
	b->arena = emi_buffer_alloc_array(b->ctx, spares + THREADS, BLOCK, &err);
	assert_non_null(b->arena);
	for (i = 0; i < spares; i++)
		emi_packer_give(&b->packer, b->arena + i * BLOCK);
}

static void bench_close(bench *b)
{
	emi_packer_free(&b->packer);
	emi_buffer_free_array(b->ctx, b->arena, b->spares + THREADS, BLOCK);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

/* Bytes of which about one in `novelty' is not what is further in front; 0: all are as before, 1: none. */
static void fill(test_rng *rng, char *to, size_t bytes, unsigned novelty)
{
	const size_t period = 64;
	size_t i;

	for (i = 0; i < bytes; i++) {
		const int fresh = novelty == 1 || i < period || (novelty != 0 && test_below(rng, novelty) == 0);

		to[i] = fresh ? (char)test_random(rng) : to[i - period];
	}
}

/* Pack what is in a buffer, and look at what became of it. */
static size_t check(bench *b, char **buffer, size_t bytes)
{
	char *before = malloc(BLOCK), *const was = *buffer, *whole = malloc(bytes);
	size_t packed, i;

	assert_non_null(before);
	assert_non_null(whole);
	memcpy(before, was, bytes);
	packed = emi_packer_pack(&b->packer, buffer, bytes);
	if (packed == 0) {
		assert_ptr_equal(*buffer, was);
		assert_memory_equal(*buffer, before, bytes);
	} else {
		assert_ptr_not_equal(*buffer, was);
		assert_true(packed < bytes);
		for (i = packed; i % EMI_PAGE != 0; i++)
			assert_int_equal((*buffer)[i], 0);
		assert_true(emi_unpack(*buffer, packed, whole, bytes));
		assert_memory_equal(whole, before, bytes);
		/* It is these bytes and no others. */
		assert_false(emi_unpack(*buffer, packed - 1, whole, bytes));
		assert_false(emi_unpack(*buffer, packed, whole, bytes - 1));
	}
	free(whole);
	free(before);
	return packed;
}

static void test_round_trip(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *buffer;
	bench b;
	int i;

	(void)state;
	bench_open(&b, 2, 1);
	buffer = b.arena + 2 * BLOCK;
	for (i = 0; i < 2000; i++) {
		const size_t bytes = i % 8 == 0 ? BLOCK : 1 + (size_t)test_below(&rng, BLOCK);

		fill(&rng, buffer, bytes, (unsigned)test_below(&rng, 3) * 20);
		if (check(&b, &buffer, bytes) == 0)
			assert_true(!emi_packer_supported() || bytes < 2 * EMI_PAGE || b.packer.poor);
	}
	bench_close(&b);
}

/* What becomes a little shorter is only packed if that was asked for. */
static void test_worth(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int always;

	(void)state;
	if (!emi_packer_supported())
		return;
	for (always = 0; always < 2; always++) {
		char *buffer;
		size_t packed;
		bench b;

		bench_open(&b, 1, always);
		buffer = b.arena + BLOCK;
		fill(&rng, buffer, BLOCK, 0);
		packed = check(&b, &buffer, BLOCK);
		assert_in_range(packed, 1, BLOCK / 2);
		/* A third of it can be spared. */
		fill(&rng, buffer, BLOCK, 1);
		memset(buffer, 'x', BLOCK / 3);
		packed = check(&b, &buffer, BLOCK);
		if (always)
			assert_in_range(packed, BLOCK / 2, BLOCK / 4 * 3);
		else
			assert_int_equal(packed, 0);
		bench_close(&b);
	}
}

/* Random bytes cannot be packed; then only some blocks are tried, unless all are to be, and all again when one was
 * worth it. */
static void test_poor(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int always;

	(void)state;
	for (always = 0; always < 2; always++) {
		char *buffer;
		unsigned packed = 0, i;
		bench b;

		bench_open(&b, 1, always);
		buffer = b.arena + BLOCK;
		fill(&rng, buffer, BLOCK, 1);
		assert_int_equal(check(&b, &buffer, BLOCK), 0);
		for (i = 0; i < 100; i++) {
			fill(&rng, buffer, BLOCK, 0);
			packed += check(&b, &buffer, BLOCK) != 0;
		}
		if (!emi_packer_supported())
			assert_int_equal(packed, 0);
		else if (always)
			assert_int_equal(packed, 100);
		else
			assert_in_range(packed, 50, 99);
		bench_close(&b);
	}
}

/* Whatever was packed, damage is told or gives other bytes, and never writes beyond what was asked for. */
static void test_damage(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *buffer, *whole;
	bench b;
	int i;

	(void)state;
	if (!emi_packer_supported())
		return;
	bench_open(&b, 1, 1);
	buffer = b.arena + BLOCK;
	for (i = 0; i < 300; i++) {
		const size_t bytes = 2 * EMI_PAGE + (size_t)test_below(&rng, BLOCK - 2 * EMI_PAGE);
		size_t packed;
		int n;

		fill(&rng, buffer, bytes, 40);
		packed = emi_packer_pack(&b.packer, &buffer, bytes);
		assert_int_not_equal(packed, 0);
		for (n = 1 + (int)test_below(&rng, 10); n > 0; n--)
			buffer[test_below(&rng, packed)] = (char)test_random(&rng);
		/* Under a sanitizer, or with a guard of the allocator, one byte too many is found. */
		whole = malloc(bytes);
		assert_non_null(whole);
		(void)emi_unpack(buffer, packed, whole, bytes);
		free(whole);
	}
	bench_close(&b);
}

typedef struct worker {
	bench *b;
	char *buffer;
	uint64_t seed;
	unsigned packed;
} worker;

static void *work(void *arg)
{
	worker *w = arg;
	test_rng rng = test_rng_make(w->seed);
	int i;

	for (i = 0; i < 200; i++) {
		fill(&rng, w->buffer, BLOCK, 50);
		w->packed += check(w->b, &w->buffer, BLOCK) != 0;
	}
	return NULL;
}

/* More threads than spare buffers: who gets none leaves his block as it is. */
static void test_threads(void **state)
{
	pthread_t thread[THREADS];
	worker w[THREADS];
	unsigned packed = 0;
	bench b;
	uint32_t i;

	(void)state;
	bench_open(&b, 2, 0);
	for (i = 0; i < THREADS; i++) {
		w[i].b = &b;
		w[i].buffer = b.arena + (2 + i) * BLOCK;
		w[i].seed = test_seed() + i;
		w[i].packed = 0;
		assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		packed += w[i].packed;
	}
	assert_true(emi_packer_supported() ? packed >= 200 : packed == 0);
	bench_close(&b);
}

static void test_none(void **state)
{
	char *buffer;
	bench b;

	(void)state;
	bench_open(&b, 0, 0);
	buffer = b.arena;
	memset(buffer, 0, BLOCK);
	assert_int_equal(emi_packer_pack(&b.packer, &buffer, BLOCK), 0);
	assert_int_equal(emi_packer_memory(0), 0);
	bench_close(&b);
}

/* Every allocation fails once, and the memory is what was foretold. */
static void test_memory_use(void **state)
{
	uint64_t fail;
	int more;

	(void)state;
	for (fail = test_nth_after(0, 1), more = 1; more; fail = test_nth_after(fail, 1)) {
		em_ctx_opts opts = EM_CTX_OPTS_INIT;
		test_memory mem;
		em_errinfo err;
		emi_packer p;
		em_ctx *ctx;
		uint64_t before;

		memset(&err, 0, sizeof err);
		test_memory_init(&mem, 0);
		opts.allocator = &mem.allocator;
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
		before = em_ctx_memory_used(ctx);
		mem.fail_at = mem.calls + fail;
		if (emi_packer_init(&p, ctx, 3, BLOCK, 0, &err) == EM_OK) {
			assert_true(em_ctx_memory_used(ctx) - before <= emi_packer_memory(3));
			emi_packer_free(&p);
			more = 0;
		} else {
			assert_int_equal(err.status, EM_ERR_NOMEM);
			assert_in_range(fail, 1, 2);
		}
		em_ctx_close(ctx);
		test_memory_assert_clean(&mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_poor),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_memory_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
