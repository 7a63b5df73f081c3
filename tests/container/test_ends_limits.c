/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_limits.c -- stacks, queues and deques with numbers near the ends of their ranges: counts of records that
 * no memory holds, and the largest records.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "container/ends_case.h"

enum { B = 4096 };

#define RECORD_MOST ((uint64_t)1 << 24)

static void open_case(ends_case *t, emi_ends_kind kind, uint64_t record)
{
	ends_case_open(t, kind, em_backend_find("memory"), 1, record, 0, 4);
}

/* However many records there are, more of them take no less memory. */
static void test_memory_grows(void **state)
{
	static const uint64_t records[] = { 1, 8, 4096, 5000 };
	size_t i;
	int kind;

	(void)state;
	for (i = 0; i < sizeof records / sizeof *records; i++) {
		for (kind = 0; kind < 3; kind++) {
			uint64_t least, least_before = 0, n;
			ends_case t;

			open_case(&t, (emi_ends_kind)kind, records[i]);
			for (n = 1; n != 0; n *= 2) {
				least = ends_case_memory(&t, n - 1);
				assert_true(least >= least_before);
				assert_true(ends_case_memory(&t, n) >= least);
				assert_true(ends_case_memory(&t, n + 1) >= ends_case_memory(&t, n));
				least_before = least;
			}
			for (n = UINT64_MAX; n > UINT64_MAX - 10; n--)
				assert_true(ends_case_memory(&t, n) >= least_before);
			/* An entry of the ring is some bytes, so this many are more than can be counted. */
			if (records[i] >= B)
				assert_int_equal(ends_case_memory(&t, UINT64_MAX), UINT64_MAX);
			ends_case_close(&t);
		}
	}
}

/* By default there is memory for enough blocks, also of large records and of large blocks. */
static void test_large_blocks(void **state)
{
	int kind, given;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		for (given = 0; given < 2; given++) {
			const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
			ends_case t;

			open_case(&t, (emi_ends_kind)kind, 8);
			t.opts = plain;
			t.opts.errinfo = &t.err;
			t.opts.record_bytes = given ? 8 : RECORD_MOST;
			t.opts.block_bytes = given ? RECORD_MOST : 0;
			/* Two blocks of the usual 32 MiB; and eight are more than this context has. */
			assert_true(ends_case_memory(&t, 1) >= 8 * RECORD_MOST);
			assert_int_equal(ends_case_try(&t), EM_ERR_MEMLIMIT);
			t.opts.memory_bytes = 2 * RECORD_MOST;
			assert_int_equal(ends_case_memory(&t, 1), 0);
			assert_int_equal(ends_case_try(&t), EM_ERR_RANGE);
			ends_case_close(&t);
		}
	}
}

/* The largest records go to a disk and come back. */
static void test_large_records(void **state)
{
	enum { N = 9 };
	int kind;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
		em_ctx_opts o = EM_CTX_OPTS_INIT;
		ends_case t;

		ends_case_open(&t, (emi_ends_kind)kind, em_backend_find("memory"), 1, RECORD_MOST, N, 4);
		emi_scratch_release(t.f.ctx, t.f.disk);
		em_ctx_close(t.f.ctx);
		t.f.disk = NULL;
		o.memory = 20 * RECORD_MOST;
		o.allocator = &t.f.mem.allocator;
		o.backend = "memory";
		assert_int_equal(em_ctx_open(&t.f.ctx, &o), EM_OK);
		t.opts = plain;
		t.opts.record_bytes = RECORD_MOST;
		t.opts.errinfo = &t.err;
		ends_case_make(&t);
		assert_int_equal(ends_case_stats(&t).block_records, 1);
		while (t.n < N)
			assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 1));
		assert_true(ends_case_stats(&t).blocks_disk != 0);
		ends_case_drain(&t, kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
		ends_case_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_grows),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_large_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
