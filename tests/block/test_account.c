/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_account.c -- whose space it is, against a model with a byte for each unit; and all of it comes back in the end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "block/account.h"
#include "block/space.h"
#include "common/test.h"

enum { DISKS = 3, UNITS = 20000, BLOCKS = 400, LONGEST = 9000 };

typedef struct model {
	test_memory mem;
	em_ctx *ctx;
	emi_account *account;
	test_rng rng;
	unsigned char used[DISKS][UNITS];
	struct {
		uint32_t disk;
		uint64_t unit, n;
	} block[BLOCKS];
	unsigned blocks, counted;
	uint64_t left;          /* units that are still to be handed out */
} model;

static void model_open(model *m, uint64_t memory)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;

	memset(m, 0, sizeof *m);
	m->rng = test_rng_make(test_seed());
	test_memory_init(&m->mem, 0);
	opts.memory = memory;
	opts.threads = 1;
	opts.allocator = &m->mem.allocator;
	assert_int_equal(em_ctx_open(&m->ctx, &opts), EM_OK);
	assert_int_equal(emi_account_open(&m->account, m->ctx, DISKS, NULL), EM_OK);
}

static void model_close(model *m)
{
	emi_account_close(m->account, 0);
	em_ctx_close(m->ctx);
	test_memory_assert_clean(&m->mem);
}

static em_bid at(uint32_t disk, uint64_t unit)
{
	em_bid bid = { 0, 0, 0 };

	bid.disk = disk;
	bid.offset = unit * EMI_UNIT;
	return bid;
}

/* A block where nothing is, if there is one on the first try. */
static void enter(model *m)
{
	const uint64_t n = 1 + test_below(&m->rng, test_below(&m->rng, 30) == 0 ? LONGEST : 100),
		       unit = test_below(&m->rng, UNITS - n + 1);
	const uint32_t disk = (uint32_t)test_below(&m->rng, DISKS);
	em_errinfo err = { 0 };

	if (memchr(m->used[disk] + unit, 1, (size_t)n) != NULL)
		return;
	assert_int_equal(emi_account_enter(m->account, at(disk, unit), n * EMI_UNIT, 1, &err), EM_OK);
	memset(m->used[disk] + unit, 1, (size_t)n);
	m->block[m->blocks].disk = disk;
	m->block[m->blocks].unit = unit;
	m->block[m->blocks++].n = n;
}

static void strike(model *m)
{
	const unsigned i = (unsigned)test_below(&m->rng, m->blocks);
	const em_bid bid = at(m->block[i].disk, m->block[i].unit);

	assert_true(emi_account_strike(m->account, bid, m->block[i].n * EMI_UNIT));
	memset(m->used[bid.disk] + m->block[i].unit, 0, (size_t)m->block[i].n);
	assert_false(emi_account_strike(m->account, bid, m->block[i].n * EMI_UNIT));
	m->block[i] = m->block[--m->blocks];
}

/* A piece was the user's, and is so once. */
static void piece(void *arg, em_bid bid, size_t bytes, uint64_t n)
{
	model *m = arg;
	uint64_t i;

	assert_true(bytes > 0 && bytes % EMI_UNIT == 0 && bid.offset % EMI_UNIT == 0);
	for (i = 0; i < bytes / EMI_UNIT; i++) {
		assert_int_equal(m->used[bid.disk][bid.offset / EMI_UNIT + i], 1);
		m->used[bid.disk][bid.offset / EMI_UNIT + i] = 0;
	}
	m->counted += (unsigned)n;
}

/* A piece of the second half of test_ends(), behind the leaf that left. */
static void piece_behind(void *arg, em_bid bid, size_t bytes, uint64_t n)
{
	model *m = arg;

	(void)n;
	assert_int_equal(bid.disk, 1);
	assert_true(bid.offset / EMI_UNIT >= 51 * 4096);
	m->left -= bytes / EMI_UNIT;
}

static void test_model(void **state)
{
	static model m;
	uint64_t before, k;
	unsigned round;

	(void)state;
	model_open(&m, 32u << 20);
	before = em_ctx_memory_used(m.ctx);
	for (round = 0; round < 5; round++) {
		for (k = 0; k < 3000; k++) {
			if (m.blocks < BLOCKS && (m.blocks == 0 || test_below(&m.rng, 5) < 3))
				enter(&m);
			else
				strike(&m);
		}
		assert_true(em_ctx_memory_used(m.ctx) - before <=
			    emi_account_memory(DISKS, (uint64_t)UNITS * EMI_UNIT, UINT64_MAX));
		m.counted = 0;
		emi_account_empty(m.account, piece, &m);
		assert_int_equal(m.counted, m.blocks);
		assert_null(memchr(m.used, 1, sizeof m.used));
		m.blocks = 0;
	}
	assert_true(emi_account_complete(m.account));
	model_close(&m);
}

/* What has become empty takes no memory but for the table. */
static void test_memory_goes(void **state)
{
	static model m;
	uint64_t least = 0, k;

	(void)state;
	model_open(&m, 1u << 20);
	for (k = 0; k < 200; k++) {
		const uint64_t unit = k * 100;

		assert_int_equal(emi_account_enter(m.account, at(1, unit), 50 * EMI_UNIT, 1, NULL), EM_OK);
		assert_true(emi_account_strike(m.account, at(1, unit), 50 * EMI_UNIT));
		if (k == 0)
			least = em_ctx_memory_used(m.ctx);
		assert_int_equal(em_ctx_memory_used(m.ctx), least);
	}
	model_close(&m);
}

/* What is one behind the other takes memory for its ends.  Where that is missing, units leave the account: none may be
 * freed that is not the user's. */
static void test_ends(void **state)
{
	const uint64_t piece_units = 64, end = 100 * 4096;
	static model m;
	uint64_t before, unit;
	size_t rest;
	void *taken;

	(void)state;
	model_open(&m, 1u << 20);
	before = em_ctx_memory_used(m.ctx) - emi_account_memory(DISKS, 0, 0);
	for (unit = 0; unit < end; unit += piece_units)
		assert_int_equal(emi_account_enter(m.account, at(1, unit), piece_units * EMI_UNIT, 1, NULL), EM_OK);
	for (unit = 0; unit < end / 2; unit += piece_units) {
		assert_true(emi_account_strike(m.account, at(1, unit), piece_units * EMI_UNIT));
		assert_false(emi_account_strike(m.account, at(1, unit), piece_units * EMI_UNIT));
		assert_true(em_ctx_memory_used(m.ctx) - before <= emi_account_memory(DISKS, end * EMI_UNIT, 2));
	}
	assert_true(emi_account_complete(m.account));
	rest = (size_t)(em_ctx_memory(m.ctx) - em_ctx_memory_used(m.ctx));
	taken = emi_alloc(m.ctx, rest, NULL);
	assert_non_null(taken);
	assert_true(emi_account_strike(m.account, at(1, unit + 64), EMI_UNIT));
	assert_false(emi_account_complete(m.account));
	emi_free(m.ctx, taken, rest);
	/* All but that leaf is handed out. */
	m.left = end / 2 - 4096;
	emi_account_empty(m.account, piece_behind, &m);
	assert_int_equal(m.left, 0);
	model_close(&m);
}

/* No memory at all is a failure, and the account as before; that a context has no more is none. */
static void test_memory_fails(void **state)
{
	const uint64_t bytes = (uint64_t)3 * 5000 * EMI_UNIT;
	em_status st = EM_ERR_NOMEM;
	em_errinfo err = { 0 };
	static model m;
	uint64_t nth, used, rest;
	void *taken;

	(void)state;
	model_open(&m, 1u << 20);
	used = em_ctx_memory_used(m.ctx);
	for (nth = test_nth_after(0, 1); st != EM_OK; nth = test_nth_after(nth, 1)) {
		m.mem.fail_at = m.mem.calls + nth;
		st = emi_account_enter(m.account, at(2, 5), bytes, 3, &err);
		m.mem.fail_at = 0;
		if (st == EM_OK)
			break;
		assert_int_equal(st, EM_ERR_NOMEM);
		assert_int_equal(err.status, EM_ERR_NOMEM);
		assert_false(emi_account_strike(m.account, at(2, 5), EMI_UNIT));
		assert_true(emi_account_complete(m.account));
		memset(&err, 0, sizeof err);
	}
	/* The table, which stays, and each but the first of four leaves after that. */
	assert_true(nth == 1 + 4 || !test_sweeps());
	assert_true(em_ctx_memory_used(m.ctx) > used);
	rest = em_ctx_memory(m.ctx) - em_ctx_memory_used(m.ctx);
	taken = emi_alloc(m.ctx, (size_t)rest, NULL);
	assert_non_null(taken);
	assert_int_equal(emi_account_enter(m.account, at(0, 0), EMI_UNIT, 1, &err), EM_OK);
	assert_int_equal(err.status, EM_OK);
	assert_false(emi_account_complete(m.account));
	/* What it does not know it cannot refuse. */
	assert_true(emi_account_strike(m.account, at(0, 0), EMI_UNIT));
	emi_free(m.ctx, taken, (size_t)rest);
	memset(m.used[2] + 5, 1, 3 * 5000);
	emi_account_empty(m.account, piece, &m);
	assert_int_equal(m.counted, 3);
	model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_memory_goes),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
