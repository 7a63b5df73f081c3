/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_reentry_blocks.c -- calls on caches and pools of blocks while one is in progress, and on those who share a pool
 * or disks while one of them is being closed; see reentry_case.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>

#include "abi/reentry_case.h"

static void trace(void *user, const em_cache_access *access)
{
	(void)user;
	(void)access;
	reentry_called(0);
}

static void cache_again(reentry *a)
{
	const em_bid bid = { 0, 0, 0 };
	void *block = a;
	size_t got;

	assert_int_equal(em_cache_get(a->object, bid, EM_CACHE_READ, &block), EM_ERR_BUSY);
	assert_null(block);
	assert_int_equal(em_cache_unpin(a->object, a, 0), EM_ERR_BUSY);
	em_cache_hint(a->object, bid);
	assert_int_equal(em_cache_get_many(a->object, &bid, 1, EM_CACHE_READ, NULL, 0, &block, &got), EM_ERR_BUSY);
	assert_int_equal(em_cache_resize(a->object, 3), EM_ERR_BUSY);
	assert_int_equal(em_cache_flush(a->object), EM_ERR_BUSY);
	assert_int_equal(em_cache_invalidate(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_cache_detach(a->object, &block), EM_ERR_BUSY);
	assert_int_equal(em_cache_attach(a->object, a), EM_ERR_BUSY);
}

static void test_cache(void **state)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_bid bid[4];
	em_disks *d;
	em_cache *c;
	char *block;
	int i;

	(void)state;
	opts.block_bytes = B;
	opts.frames = 2;
	opts.trace = trace;
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 4, B, NULL, 0), EM_OK);
	assert_int_equal(em_cache_open(&c, d, &opts), EM_OK);
	reentry_begin(cache_again, c);
	for (i = 0; i < 4; i++) {
		assert_int_equal(em_cache_get(c, bid[i], EM_CACHE_FRESH, (void **)(void *)&block), EM_OK);
		memset(block, i, B);
		assert_int_equal(em_cache_unpin(c, block, 1), EM_OK);
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(em_cache_get(c, bid[i], EM_CACHE_READ, (void **)(void *)&block), EM_OK);
		assert_int_equal(block[B - 1], i);
		assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
	}
	reentry_end(8);
	em_cache_close(c);
	assert_int_equal(em_bids_free(d, bid, 4, B), EM_OK);
	em_disks_close(d);
	em_ctx_close(ctx);
}

static void pool_again(reentry *a)
{
	const em_bid bid = { 0, 0, 0 };
	void *buf = a;

	assert_int_equal(em_block_pool_resize(a->object, 1, 1), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_lend(a->object, &buf), EM_ERR_BUSY);
	assert_null(buf);
	assert_int_equal(em_block_pool_detach(a->object, &buf), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_attach(a->object, a), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_return(a->object, a), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_write(a->object, a, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_hint(a->object, bid), 0);
	assert_int_equal(em_block_pool_invalidate(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_free(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_flush(a->object), EM_ERR_BUSY);
}

static void test_pool(void **state)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_block_pool *p;
	void *buf[10];
	em_disks *d;
	int i;

	(void)state;
	opts.block_bytes = B;
	opts.write_buffers = opts.prefetch_buffers = 1;
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	assert_int_equal(em_block_pool_open(&p, d, &opts), EM_OK);
	reentry_begin(pool_again, p);
	assert_int_equal(em_block_pool_resize(p, 20, 20), EM_OK);
	for (i = 0; i < 10; i++)
		assert_int_equal(em_block_pool_lend(p, &buf[i]), EM_OK);
	while (i-- > 0)
		assert_int_equal(em_block_pool_return(p, buf[i]), EM_OK);
	assert_int_equal(em_block_pool_resize(p, 2, 2), EM_OK);
	reentry_end(2);
	em_block_pool_close(p);
	em_disks_close(d);
	em_ctx_close(ctx);
}

/* Of another stack than that at work: single records that are in memory may come and go. */
static void stack_again(reentry *a)
{
	uint64_t one = 1, n = 7;

	assert_int_equal(em_stack_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_stack_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_stack_clear(a->object), EM_ERR_BUSY);
}

/* Of those who share a pool one is closed: the others are busy until it is gone. */
static void test_close_one_of_pool(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags < 4; flags++) {
		em_ctx *ctx = reentry_ctx(flags & 1 ? EM_CTX_CHECKED : 0);
		em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
		em_container_opts opts = EM_CONTAINER_OPTS_INIT;
		em_disks_opts disks = EM_DISKS_OPTS_INIT;
		em_stack *s, *other;
		em_block_pool *p;
		em_disks *d;
		uint64_t i, got;

		disks.flags = flags & 2 ? EM_DISKS_COHERENT : 0;
		po.block_bytes = B;
		po.write_buffers = po.prefetch_buffers = 2;
		assert_int_equal(em_disks_open(&d, ctx, &disks), EM_OK);
		assert_int_equal(em_block_pool_open(&p, d, &po), EM_OK);
		opts.record_bytes = 8;
		opts.memory_bytes = 2 * B;
		opts.pool = p;
		assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
		assert_int_equal(em_stack_open(&other, ctx, &opts), EM_OK);
		for (i = 0; i < N; i++) {
			assert_int_equal(em_stack_push(s, &i), EM_OK);
			assert_int_equal(em_stack_push(other, &i), EM_OK);
		}
		reentry_begin(stack_again, other);
		em_stack_close(s);
		reentry_end(2);
		assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
		reentry_begin(pool_again, p);
		em_stack_close(s);
		reentry_end(2);
		/* The pool goes on for the one that is left, which goes last. */
		reentry_begin(stack_again, other);
		em_block_pool_close(p);
		em_disks_close(d);
		reentry_stop();
		while (i-- > 0) {
			assert_int_equal(em_stack_pop(other, &got), EM_OK);
			assert_int_equal(got, i);
		}
		em_stack_close(other);
		em_ctx_close(ctx);
	}
}

/* The same of coherent disks: here a function may call, as what was not written is logged. */
static void test_close_one_of_disks(void **state)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_disks_opts disks = EM_DISKS_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_cache *c, *other;
	em_bid bid[2];
	em_disks *d;
	void *block;

	(void)state;
	disks.flags = EM_DISKS_COHERENT;
	opts.block_bytes = B;
	opts.frames = 2;
	assert_int_equal(em_disks_open(&d, ctx, &disks), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 2, B, NULL, 0), EM_OK);
	assert_int_equal(em_cache_open(&c, d, &opts), EM_OK);
	assert_int_equal(em_cache_open(&other, d, &opts), EM_OK);
	assert_int_equal(em_cache_get(c, bid[0], EM_CACHE_FRESH, &block), EM_OK);
	assert_int_equal(em_cache_unpin(c, block, 1), EM_OK);
	reentry_begin(cache_again, other);
	em_cache_close(c);
	reentry_end(2);
	assert_int_equal(em_cache_get(other, bid[0], EM_CACHE_READ, &block), EM_OK);
	assert_int_equal(em_cache_unpin(other, block, 0), EM_OK);
	assert_int_equal(em_bids_free(d, bid, 2, B), EM_OK);
	em_disks_close(d);
	em_cache_close(other);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_close_one_of_pool),
		cmocka_unit_test(test_close_one_of_disks),
	};

	return cmocka_run_group_tests_name("abi/reentry_blocks", tests, NULL, NULL);
}
