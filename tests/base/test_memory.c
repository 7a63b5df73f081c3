/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_memory.c -- counted memory: budget, peak, alignment, the caller's allocator, failures.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "common/test.h"

#include "base_ctx.h"

/* Under the address sanitizer buffers come from malloc(). */
#define SHRINKS 1
#if defined(__SANITIZE_ADDRESS__)
#undef SHRINKS
#define SHRINKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef SHRINKS
#define SHRINKS 0
#endif
#endif

#define MIB ((size_t)1 << 20)
#define LARGE (MIB / 8)         /* buffers from here on can shrink */
#define SLOTS 64

static int is_zero(const unsigned char *p, size_t n)
{
	while (n > 0 && *p == 0) {
		p++;
		n--;
	}
	return n == 0;
}

static void counts_and_zeroes(const em_allocator *allocator)
{
	em_ctx *ctx = base_ctx(MIB, 1, allocator);
	uint64_t base = ctx->used;
	void *a, *b;
	char *s;

	assert_int_equal(base, sizeof(em_ctx));
	a = emi_alloc(ctx, 1000, NULL);
	assert_non_null(a);
	assert_true(is_zero(a, 1000));
	memset(a, 1, 1000);
	assert_int_equal(ctx->used, base + 1000);
	b = emi_alloc_array(ctx, 3, 7, NULL);
	assert_non_null(b);
	assert_true(is_zero(b, 21));
	assert_int_equal(ctx->used, base + 1021);
	s = emi_strdup(ctx, "hello", NULL);
	assert_string_equal(s, "hello");
	assert_int_equal(ctx->used, base + 1027);
	assert_int_equal(ctx->peak, base + 1027);
	emi_free(ctx, a, 1000);
	emi_free_array(ctx, b, 3, 7);
	emi_strfree(ctx, s);
	assert_int_equal(ctx->used, base);
	assert_int_equal(ctx->peak, base + 1027);
	emi_free(ctx, NULL, 5);
	emi_free_array(ctx, NULL, 5, 5);
	emi_buffer_free(ctx, NULL, 5);
	emi_strfree(ctx, NULL);
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
}

static void counting(void **state)
{
	test_memory mem;

	(void)state;
	counts_and_zeroes(NULL);
	test_memory_init(&mem, 0);
	counts_and_zeroes(&mem.allocator);
	assert_true(mem.calls > 3);
	test_memory_assert_clean(&mem);
}

/* Buffers of all sizes around the places where something changes. */
static void check_buffers(const em_allocator *allocator)
{
	static const size_t sizes[] = { 1, 4095, 4096, 4097, MIB - 4096, MIB - 1, MIB, MIB + 1, 2 * MIB - 1, 2 * MIB,
					2 * MIB + 1, 5 * MIB + 12345 };
	em_ctx *ctx = base_ctx(64 * MIB, 1, allocator);
	uint64_t base = ctx->used;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t whole = (sizes[i] + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
		unsigned char *p = emi_buffer_alloc(ctx, sizes[i], NULL);
		unsigned char *q = emi_buffer_alloc(ctx, sizes[i], NULL);

		assert_non_null(p);
		assert_non_null(q);
		assert_int_equal((uintptr_t)p % EMI_PAGE, 0);
		assert_int_equal((uintptr_t)q % EMI_PAGE, 0);
		assert_int_equal(ctx->used, base + 2 * whole);
		memset(p, 1, whole);
		memset(q, 2, whole);
		assert_int_equal(p[0], 1);
		assert_int_equal(p[whole - 1], 1);
		emi_buffer_free(ctx, p, sizes[i]);
		assert_int_equal(q[0], 2);
		assert_int_equal(q[whole - 1], 2);
		emi_buffer_free(ctx, q, sizes[i]);
		assert_int_equal(ctx->used, base);
	}
	emi_ctx_unref(ctx);
}

static void buffers(void **state)
{
	test_memory mem;

	(void)state;
	check_buffers(NULL);
	test_memory_init(&mem, 0);
	check_buffers(&mem.allocator);
	test_memory_assert_clean(&mem);
}

/* The end of a large buffer goes back, and what is in front of it stays; from an allocator of the caller's, and of a
 * small one, nothing does. */
static void buffers_shrink(void **state)
{
	const size_t bytes = 5 * MIB + 1, left = 2 * MIB + 5;
	em_ctx *ctx = base_ctx(64 * MIB, 1, NULL);
	const uint64_t base = ctx->used;
	unsigned char *p = emi_buffer_alloc(ctx, bytes, NULL);
	size_t now, i;
	test_memory mem;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < left; i++)
		p[i] = (unsigned char)(i % 251);
	now = emi_buffer_shrink(ctx, p, bytes, left);
	assert_int_equal(now, emi_buffer_shrunk(ctx, bytes, left));
	assert_true(now >= left && (now < left + 65536) == SHRINKS);
	assert_int_equal(ctx->used, base + (now + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE);
	for (i = 0; i < left; i++)
		assert_int_equal(p[i], i % 251);
	/* No further than to what is still large. */
	now = emi_buffer_shrink(ctx, p, now, 1);
	assert_true(now >= LARGE && (now < 2 * LARGE) == SHRINKS);
	emi_buffer_free(ctx, p, now);
	assert_int_equal(ctx->used, base);
	assert_int_equal(emi_buffer_shrunk(ctx, LARGE - 1, 1), LARGE - 1);
	emi_ctx_unref(ctx);

	test_memory_init(&mem, 0);
	ctx = base_ctx(64 * MIB, 1, &mem.allocator);
	p = emi_buffer_alloc(ctx, bytes, NULL);
	assert_non_null(p);
	assert_int_equal(emi_buffer_shrink(ctx, p, bytes, left), bytes);
	emi_buffer_free(ctx, p, bytes);
	emi_ctx_unref(ctx);
	test_memory_assert_clean(&mem);
}

/* An allocator that gives every address that a C type may have, so that a buffer's page begins anywhere. */
typedef struct shifting {
	unsigned char *arena;
	size_t shift;
	int live;
} shifting;

static void *shifting_alloc(void *user, size_t bytes)
{
	shifting *s = user;

	assert_true(bytes <= 4 * EMI_PAGE);
	s->live++;
	return s->arena + s->shift;
}

static void shifting_release(void *user, void *ptr, size_t bytes)
{
	shifting *s = user;

	assert_ptr_equal(ptr, s->arena + s->shift);
	assert_int_equal(bytes, 3 * EMI_PAGE);
	s->live--;
}

static void buffers_of_an_unaligned_allocator(void **state)
{
	em_ctx *home = base_ctx(64 * MIB, 1, NULL);
	em_ctx ctx;
	shifting s;
	size_t i;

	(void)state;
	s.live = 0;
	s.arena = emi_buffer_alloc(home, 5 * EMI_PAGE, NULL);
	assert_non_null(s.arena);
	memset(&ctx, 0, sizeof(ctx));
	ctx.memory = MIB;
	ctx.allocator.alloc = shifting_alloc;
	ctx.allocator.release = shifting_release;
	ctx.allocator.user = &s;
	for (i = 0; i < EMI_PAGE; i += 16) {
		unsigned char *p;

		s.shift = i;
		p = emi_buffer_alloc(&ctx, 2 * EMI_PAGE, NULL);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % EMI_PAGE, 0);
		assert_true(p >= s.arena + i + sizeof(void *));
		assert_true(p + 2 * EMI_PAGE <= s.arena + i + 3 * EMI_PAGE);
		memset(p, 0xff, 2 * EMI_PAGE);
		emi_buffer_free(&ctx, p, 2 * EMI_PAGE);
		assert_int_equal(s.live, 0);
		assert_int_equal(ctx.used, 0);
	}
	emi_buffer_free(home, s.arena, 5 * EMI_PAGE);
	emi_ctx_unref(home);
}

/* The budget can be used to its last byte and not beyond, and the detail names what would have done. */
/* Bytes of the process that are resident. */
static size_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, pages = 0;

	if (f == NULL)
		skip();
	if (fscanf(f, "%lu %lu", &size, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * What is no longer counted is no longer resident.  A program that frees a large block teaches malloc() to keep such
 * blocks, and a small one at the end of the heap keeps it from giving back what is in front.
 */
static void freed_buffers_go_back(void **state)
{
	em_ctx *ctx = base_ctx(64 * MIB, 1, NULL);
	const size_t bytes = MIB / 4;
	void *buf[SLOTS], *block, *end;
	size_t i, was;

	(void)state;
	block = malloc(8 * MIB);
	assert_non_null(block);
	memset(block, 1, 8 * MIB);
	free(block);
	was = resident();
	for (i = 0; i < SLOTS; i++) {
		buf[i] = emi_buffer_alloc(ctx, bytes, NULL);
		assert_non_null(buf[i]);
		memset(buf[i], 1, bytes);
	}
	end = malloc(1000);
	assert_true(resident() - was >= SLOTS * bytes / 2);
	for (i = 0; i < SLOTS; i++)
		emi_buffer_free(ctx, buf[i], bytes);
	assert_true(!SHRINKS || resident() < was + MIB);
	free(end);
	emi_ctx_unref(ctx);
}

static void budget_is_hard(void **state)
{
	em_ctx *ctx = base_ctx(MIB, 1, NULL);
	size_t left = MIB - sizeof(em_ctx);
	em_errinfo err;
	void *p, *q;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_null(emi_alloc(ctx, left + 1, &err));
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_int_equal(err.bytes, MIB + 1);
	assert_int_equal(ctx->used, sizeof(em_ctx));
	p = emi_alloc(ctx, left, NULL);
	assert_non_null(p);
	assert_int_equal(ctx->used, MIB);
	assert_int_equal(ctx->peak, MIB);
	memset(&err, 0, sizeof(err));
	assert_null(emi_alloc(ctx, 1, &err));
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	memset(&err, 0, sizeof(err));
	assert_null(emi_buffer_alloc(ctx, 1, &err));
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_int_equal(err.bytes, MIB + EMI_PAGE);
	memset(&err, 0, sizeof(err));
	assert_null(emi_strdup(ctx, "x", &err));
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	emi_free(ctx, p, left);

	/* a buffer counts whole pages */
	p = emi_buffer_alloc(ctx, MIB - 2 * EMI_PAGE + 1, NULL);
	assert_non_null(p);
	assert_int_equal(ctx->used, sizeof(em_ctx) + MIB - EMI_PAGE);
	q = emi_buffer_alloc(ctx, 1, NULL);
	assert_null(q);
	emi_buffer_free(ctx, p, MIB - 2 * EMI_PAGE + 1);
	assert_int_equal(ctx->used, sizeof(em_ctx));
	emi_ctx_unref(ctx);
}

static void overflow_is_an_error(void **state)
{
	em_ctx *ctx = base_ctx(UINT64_MAX, 1, NULL);
	uint64_t base = ctx->used;
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_null(emi_alloc_array(ctx, UINT64_MAX, 2, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	memset(&err, 0, sizeof(err));
	assert_null(emi_alloc_array(ctx, (uint64_t)(SIZE_MAX / 8) + 1, 8, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	memset(&err, 0, sizeof(err));
	assert_null(emi_buffer_alloc(ctx, SIZE_MAX, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_memory_take(ctx, UINT64_MAX, &err), EM_ERR_MEMLIMIT);
	assert_true(err.bytes == UINT64_MAX);
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
}

static void take_and_drop(void **state)
{
	em_ctx *ctx = base_ctx(MIB, 1, NULL);
	uint64_t base = ctx->used;
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_memory_take(ctx, 1000, &err), EM_OK);
	assert_int_equal(err.status, EM_OK);
	assert_int_equal(ctx->used, base + 1000);
	assert_int_equal(emi_memory_take(ctx, MIB, &err), EM_ERR_MEMLIMIT);
	assert_int_equal(err.bytes, base + 1000 + MIB);
	emi_memory_drop(ctx, 1000);
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
}

/* When the allocator has nothing, nothing stays counted. */
static void allocator_fails(void **state)
{
	test_memory mem;
	em_errinfo err;
	em_ctx *ctx;
	uint64_t base;

	(void)state;
	test_memory_init(&mem, 0);
	ctx = base_ctx(16 * MIB, 1, &mem.allocator);
	base = ctx->used;
	mem.fail_at = mem.calls + 1;
	memset(&err, 0, sizeof(err));
	assert_null(emi_alloc(ctx, 100, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	assert_true(test_memory_failed(&mem));
	mem.fail_at = mem.calls + 1;
	memset(&err, 0, sizeof(err));
	assert_null(emi_buffer_alloc(ctx, MIB, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	mem.fail_at = mem.calls + 1;
	assert_null(emi_alloc_array(ctx, 10, 10, NULL));
	mem.fail_at = mem.calls + 1;
	assert_null(emi_strdup(ctx, "x", NULL));
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
	test_memory_assert_clean(&mem);
}

typedef struct block {
	void *ptr;
	size_t bytes;
	int buffer;
	unsigned char mark;
} block;

static uint64_t counted(const block *b)
{
	if (b->ptr == NULL)
		return 0;
	return b->buffer ? (b->bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE : b->bytes;
}

static void release_block(em_ctx *ctx, block *b)
{
	const unsigned char *p = b->ptr;

	if (b->ptr == NULL)
		return;
	assert_int_equal(p[0], b->mark);
	assert_int_equal(p[b->bytes - 1], b->mark);
	if (b->buffer)
		emi_buffer_free(ctx, b->ptr, b->bytes);
	else
		emi_free(ctx, b->ptr, b->bytes);
	b->ptr = NULL;
}

/* Random takes and releases: the count is the sum of what is out, a refusal means that it would not have fitted. */
static void random_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = base_ctx(8 * MIB, 1, NULL);
	uint64_t sum = ctx->used;
	uint64_t peak = sum;
	block blocks[SLOTS];
	int step, refused = 0;
	size_t i;

	(void)state;
	memset(blocks, 0, sizeof(blocks));
	for (step = 0; step < 3000; step++) {
		block *b = &blocks[test_below(&rng, SLOTS)];

		if (b->ptr != NULL) {
			sum -= counted(b);
			release_block(ctx, b);
		} else {
			em_errinfo err;
			block want;

			memset(&err, 0, sizeof(err));
			want.bytes = 1 + (size_t)test_below(&rng, (uint64_t)1 << test_below(&rng, 23));
			want.buffer = (int)test_below(&rng, 2);
			want.mark = (unsigned char)step;
			want.ptr = want.buffer ? emi_buffer_alloc(ctx, want.bytes, &err)
					       : emi_alloc(ctx, want.bytes, &err);
			if (want.ptr != NULL) {
				memset(want.ptr, want.mark, want.bytes);
				*b = want;
				sum += counted(b);
				peak = sum > peak ? sum : peak;
			} else {
				want.ptr = &want;
				assert_int_equal(err.status, EM_ERR_MEMLIMIT);
				assert_int_equal(err.bytes, sum + counted(&want));
				assert_true(err.bytes > 8 * MIB);
				refused++;
			}
		}
		assert_int_equal(ctx->used, sum);
		assert_int_equal(ctx->peak, peak);
	}
	assert_true(refused > 0);
	for (i = 0; i < SLOTS; i++)
		release_block(ctx, &blocks[i]);
	assert_int_equal(ctx->used, sizeof(em_ctx));
	emi_ctx_unref(ctx);
}

typedef struct contender {
	em_ctx *ctx;
	uint64_t seed;
	uint64_t over;          /* how often the budget was seen exceeded */
	uint64_t got;
} contender;

static void *contend(void *arg)
{
	contender *c = arg;
	test_rng rng = test_rng_make(c->seed);
	int i;

	for (i = 0; i < 5000; i++) {
		size_t bytes = 1 + (size_t)test_below(&rng, 100000);
		void *p = emi_alloc(c->ctx, bytes, NULL);

		if (__atomic_load_n(&c->ctx->used, __ATOMIC_RELAXED) > c->ctx->memory)
			c->over++;
		if (p != NULL)
			c->got++;
		emi_free(c->ctx, p, bytes);
	}
	return NULL;
}

/* Four threads that together want more than there is. */
static void threads_share_a_budget(void **state)
{
	em_ctx *ctx = base_ctx(200000, 1, NULL);
	pthread_t threads[4];
	contender c[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		c[i].ctx = ctx;
		c[i].seed = test_seed() + (uint64_t)i;
		c[i].over = c[i].got = 0;
		assert_int_equal(pthread_create(&threads[i], NULL, contend, &c[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(c[i].over, 0);
		assert_true(c[i].got > 0);
	}
	assert_int_equal(ctx->used, sizeof(em_ctx));
	assert_true(ctx->peak <= ctx->memory);
	emi_ctx_unref(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting),
		cmocka_unit_test(buffers),
		cmocka_unit_test(buffers_shrink),
		cmocka_unit_test(buffers_of_an_unaligned_allocator),
		cmocka_unit_test(freed_buffers_go_back),
		cmocka_unit_test(budget_is_hard),
		cmocka_unit_test(overflow_is_an_error),
		cmocka_unit_test(take_and_drop),
		cmocka_unit_test(allocator_fails),
		cmocka_unit_test(random_model),
		cmocka_unit_test(threads_share_a_budget),
	};

	return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
