/* SPDX-License-Identifier: BSL-1.0 */
/* round_trip.c -- see round_trip.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "block/round_trip.h"

enum { D = FIXTURE_DISKS };

void round_start_on(round_trip *r, uint32_t disks)
{
	const em_backend *memory = em_backend_find("memory"), *backends[D] = {memory, memory, memory};

	memset(r, 0, sizeof *r);
	fixture_open_on(&r->f, backends, disks);
	assert_int_equal(em_disks_open(&r->d, r->f.ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(r->d, r->bid, BLOCKS, BLOCK, NULL, 0), EM_OK);
}

void round_start(round_trip *r)
{
	round_start_on(r, D);
}

void round_stop(round_trip *r)
{
	em_disks_close(r->d);
	fixture_close(&r->f);
}

void round_close_early(round_trip *r)
{
	emi_scratch_release(r->f.ctx, r->f.disk);
	r->f.disk = NULL;
	em_ctx_close(r->f.ctx);
	r->f.ctx = NULL;
	em_disks_close(r->d);
	r->d = NULL;
}

void round_fill(const round_trip *r, uint32_t i, void *block)
{
	uint64_t *word = block, w;

	for (w = 0; w < BLOCK / sizeof *word; w++)
		word[w] = ((uint64_t)i << 40) + (r->version[i] << 10) + w;
}

void round_check(const round_trip *r, uint32_t i, const void *block)
{
	uint64_t expected[BLOCK / sizeof(uint64_t)];

	round_fill(r, i, expected);
	assert_memory_equal(block, expected, BLOCK);
}

uint32_t round_any(round_trip *r)
{
	return (uint32_t)test_below(&r->f.rng, BLOCKS);
}

void round_fail_disk(round_trip *r, uint32_t disk, uint32_t ops)
{
	em_fault_set(&r->f.fault[disk], ops, 1, UINT64_MAX / 2);
}

void round_assert_names(const round_trip *r, const em_errinfo *err, uint32_t disk, const char *op)
{
	assert_int_equal(err->status, EM_ERR_IO);
	assert_int_equal(err->sys_errno, EIO);
	assert_string_equal(err->op, op);
	assert_non_null(strstr(err->path, r->f.dir[disk]));
}

uint64_t round_used(em_disks *d)
{
	em_disks_stats s = EM_DISKS_STATS_INIT;

	assert_int_equal(em_disks_stats_get(d, EM_DISKS_ALL, &s), EM_OK);
	return s.bytes;
}

void round_without_memory(round_trip *r, round_open *open, void *what)
{
	const uint64_t before = em_ctx_memory_used(r->f.ctx);
	em_status st = EM_ERR_NOMEM;
	uint64_t n;

	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		r->f.mem.fail_at = r->f.mem.calls + n;
		st = open(r, what);
		r->f.mem.fail_at = 0;
		if (st == EM_OK)
			break;
		assert_int_equal(st, EM_ERR_NOMEM);
		assert_int_equal(em_ctx_memory_used(r->f.ctx), before);
	}
	assert_true(n >= 2);
}
