/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_pool.c -- pools as callers outside have them, on several disks: whole rounds, what each function refuses,
 * what they say when a disk or an allocation fails, and closing in any order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/sys/pool.h>

#include "block/round_trip.h"

enum { D = FIXTURE_DISKS, CALLS = 4000 };

/* What em_..._error() said last. */
static em_errinfo told;

static em_block_pool *open_pool(round_trip *r, uint32_t nwrite, uint32_t nprefetch)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;

	opts.block_bytes = BLOCK;
	opts.write_buffers = nwrite;
	opts.prefetch_buffers = nprefetch;
	opts.errinfo = &r->f.err;
	if (em_block_pool_open(&p, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	return p;
}

static void put(round_trip *r, em_block_pool *p, uint32_t i)
{
	void *buf;

	assert_int_equal(em_block_pool_lend(p, &buf), EM_OK);
	r->version[i]++;
	round_fill(r, i, buf);
	assert_int_equal(em_block_pool_write(p, buf, r->bid[i]), EM_OK);
}

static void test_pool(void **state)
{
	em_block_pool_stats s = EM_BLOCK_POOL_STATS_INIT;
	em_block_pool *p;
	uint64_t before, writes = 0, reads = 0;
	void *own, *buf;
	round_trip r;
	uint32_t i, k;

	(void)state;
	round_start(&r);
	assert_int_equal(em_buffer_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
	before = em_ctx_memory_used(r.f.ctx);
	p = open_pool(&r, 2 * D, 3 * D);
	/* No buffers yet. */
	assert_true(em_ctx_memory_used(r.f.ctx) < before + BLOCK);
	for (i = 0; i < BLOCKS; i++, writes++)
		put(&r, p, i);
	for (k = 0; k < CALLS; k++) {
		i = round_any(&r);
		switch (test_below(&r.f.rng, 8)) {
		case 0:
			put(&r, p, i);
			writes++;
			break;
		case 1: case 2: case 3:
			em_block_pool_hint(p, r.bid[i]);
			break;
		case 4:
			assert_int_equal(em_block_pool_lend(p, &buf), EM_OK);
			assert_int_equal(em_block_pool_return(p, buf), EM_OK);
			break;
		default:
			assert_int_equal(em_block_pool_read(p, &own, r.bid[i]), EM_OK);
			round_check(&r, i, own);
			reads++;
		}
	}
	/* One that was freed is another's. */
	assert_int_equal(em_block_pool_free(p, r.bid[0]), EM_OK);
	assert_int_equal(em_bids_alloc(r.d, &r.bid[0], 1, BLOCK, NULL, 0), EM_OK);
	put(&r, p, 0);
	assert_int_equal(em_block_pool_flush(p), EM_OK);
	assert_int_equal(em_block_pool_invalidate(p, r.bid[1]), EM_OK);
	assert_int_equal(em_block_pool_stats_get(p, &s), EM_OK);
	assert_int_equal(s.write_buffers, 2 * D);
	assert_int_equal(s.prefetch_buffers, 3 * D);
	assert_int_equal(s.lent, 0);
	assert_int_equal(s.reads, reads);
	assert_int_equal(s.writes, writes + 1);
	assert_true(s.hits + s.recalled <= reads && s.hits > 0);
	/* Buffers change their owners. */
	assert_int_equal(em_block_pool_detach(p, &buf), EM_OK);
	assert_int_equal(em_block_pool_attach(p, own), EM_OK);
	assert_int_equal(em_block_pool_resize(p, 1, 1), EM_OK);
	for (i = 0; i < BLOCKS; i++) {
		assert_int_equal(em_block_pool_read(p, &buf, r.bid[i]), EM_OK);
		round_check(&r, i, buf);
	}
	em_block_pool_close(p);
	em_buffer_free(r.f.ctx, buf, 1, BLOCK);
	assert_int_equal(em_ctx_memory_used(r.f.ctx), before - BLOCK);
	round_stop(&r);
}

static void test_pool_refused(void **state)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool_stats s = EM_BLOCK_POOL_STATS_INIT;
	const em_bid none = em_bid_none();
	em_block_pool *p, *no = (em_block_pool *)&opts;
	void *buf, *other = NULL;
	em_errinfo err;
	round_trip r;

	(void)state;
	round_start(&r);
	memset(&err, 0, sizeof err);
	opts.errinfo = &err;
	assert_int_equal(em_block_pool_open(NULL, r.d, &opts), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_open(&no, r.d, NULL), EM_ERR_INVAL);
	assert_null(no);
	opts.block_bytes = BLOCK + 1;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "4097 bytes"));
	opts.block_bytes = BLOCK;
	assert_int_equal(em_block_pool_open(&no, NULL, &opts), EM_ERR_INVAL);
	opts.write_buffers = UINT32_MAX;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_INVAL);
	opts.write_buffers = 1 << 20;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	opts.write_buffers = 2;
	opts.size = 4;
	assert_int_equal(em_block_pool_open(&no, r.d, &opts), EM_ERR_VERSION);
	assert_null(no);

	p = open_pool(&r, 1, 1);
	assert_int_equal(em_block_pool_return(p, &r), EM_ERR_STATE);
	assert_int_equal(em_block_pool_write(p, &r, r.bid[0]), EM_ERR_STATE);
	em_block_pool_error(p, &told);
	assert_int_equal(told.status, EM_ERR_STATE);
	assert_int_equal(em_block_pool_lend(p, &buf), EM_OK);
	assert_int_equal(em_block_pool_lend(p, &other), EM_ERR_STATE);
	assert_null(other);
	assert_int_equal(em_block_pool_detach(p, &other), EM_ERR_STATE);
	assert_int_equal(em_block_pool_resize(p, 0, 1), EM_ERR_STATE);
	assert_int_equal(em_block_pool_resize(p, UINT32_MAX, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_resize(p, 1 << 20, 1), EM_ERR_MEMLIMIT);
	assert_int_equal(em_block_pool_write(p, buf, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_write(p, NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_hint(p, none), 0);
	assert_int_equal(em_block_pool_read(p, &buf, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_read(p, &other, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_read(p, NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_invalidate(p, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_free(p, none), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_attach(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(p, &s), EM_OK);
	assert_int_equal(s.lent, 1);
	/* None at all. */
	assert_int_equal(em_block_pool_lend(NULL, &other), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_lend(p, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_attach(NULL, buf), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_write(NULL, buf, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_return(NULL, buf), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_hint(NULL, r.bid[0]), 0);
	assert_int_equal(em_block_pool_read(NULL, &buf, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_resize(NULL, 1, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_invalidate(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_free(NULL, r.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_flush(NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_stats_get(NULL, &s), EM_ERR_INVAL);
	em_block_pool_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);
	em_block_pool_close(NULL);
	/* What is lent when it is closed is the caller's. */
	em_block_pool_close(p);
	em_buffer_free(r.f.ctx, buf, 1, BLOCK);
	round_stop(&r);
}

static void test_pool_closed_late(void **state)
{
	em_ctx *ctx;
	em_block_pool *p;
	void *lent, *own;
	round_trip r;
	uint32_t i;

	(void)state;
	round_start(&r);
	assert_int_equal(em_buffer_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
	p = open_pool(&r, 4, 4);
	ctx = r.f.ctx;
	round_close_early(&r);
	for (i = 0; i < BLOCKS; i++)
		put(&r, p, i);
	for (i = 0; i < BLOCKS; i++) {
		em_block_pool_hint(p, r.bid[(i + 3) % BLOCKS]);
		assert_int_equal(em_block_pool_read(p, &own, r.bid[i]), EM_OK);
		round_check(&r, i, own);
	}
	assert_int_equal(em_block_pool_lend(p, &lent), EM_OK);
	em_block_pool_close(p);
	em_buffer_free(ctx, own, 1, BLOCK);
	em_buffer_free(ctx, lent, 1, BLOCK);
	round_stop(&r);
}

/* A disk that cannot be written is named by those who need its buffers; one that cannot be read, by those for its
 * blocks. */
static void test_pool_failing_disk(void **state)
{
	em_block_pool *p;
	void *own, *none;
	round_trip r;
	uint32_t k, i;

	(void)state;
	for (k = 0; k < D; k++) {
		round_start_on(&r, k == 0 ? 2 : D);
		assert_int_equal(em_buffer_alloc(&own, r.f.ctx, 1, BLOCK, NULL), EM_OK);
		p = open_pool(&r, 2 * D, 3 * D);
		for (i = 0; i < BLOCKS; i++)
			put(&r, p, i);
		assert_int_equal(em_block_pool_flush(p), EM_OK);
		assert_int_equal(em_block_pool_resize(p, 2 * D, 0), EM_OK);
		assert_int_equal(em_block_pool_resize(p, 0, 1), EM_OK);
		round_fail_disk(&r, k, EM_FAULT_READ);
		for (i = 0; i < BLOCKS; i++) {
			const em_status st = em_block_pool_read(p, &own, r.bid[i]);

			if (st == EM_OK) {
				round_check(&r, i, own);
				continue;
			}
			assert_int_equal(r.bid[i].disk, k);
			em_block_pool_error(p, &told);
			round_assert_names(&r, &told, k, "read");
		}
		assert_true(r.f.fault[k].injected >= BLOCKS / D - 1);
		round_fail_disk(&r, k, EM_FAULT_WRITE);
		assert_int_equal(em_block_pool_resize(p, 1, 1), EM_OK);
		for (i = 0; r.bid[i].disk != k; i++)
			continue;
		put(&r, p, i);
		assert_int_equal(em_block_pool_flush(p), EM_ERR_IO);
		em_block_pool_error(p, &told);
		round_assert_names(&r, &told, k, "write");
		assert_int_equal(em_block_pool_lend(p, &none), EM_ERR_IO);
		assert_null(none);
		em_block_pool_error(p, &told);
		round_assert_names(&r, &told, k, "write");
		em_block_pool_close(p);
		em_buffer_free(r.f.ctx, own, 1, BLOCK);
		round_stop(&r);
	}
}

static em_status open_small(round_trip *r, void *what)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;

	opts.block_bytes = BLOCK;
	opts.write_buffers = opts.prefetch_buffers = 2;
	return em_block_pool_open(what, r->d, &opts);
}

static void test_pool_without_memory(void **state)
{
	em_block_pool *p = NULL;
	round_trip r;

	(void)state;
	round_start(&r);
	round_without_memory(&r, open_small, &p);
	em_block_pool_close(p);
	round_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_refused),
		cmocka_unit_test(test_pool_closed_late),
		cmocka_unit_test(test_pool_failing_disk),
		cmocka_unit_test(test_pool_without_memory),
	};

	return cmocka_run_group_tests_name("public pool", tests, NULL, NULL);
}
