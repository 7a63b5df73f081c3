/* SPDX-License-Identifier: BSL-1.0 */
/* test_faults.c -- a sort of records of one size in which everything that can fail fails; see fault_sweep.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sort/fault_sweep.h"
#include "sort/sort_model.h"

#define N 1100u
#define RUN 290u
#define BYTES 16u

static em_status make_order(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);

	return em_order_keys(out, ctx, BYTES, shape.key, 1, err);
}

/* The same order, generated. */
typedef struct record {
	unsigned char b[BYTES];
} record;

static uint64_t key_of(const record *r)
{
	uint64_t key = 0;
	unsigned i;

	for (i = 8; i-- > 0; )
		key = key << 8 | r->b[i];
	return key;
}

#define EM_GEN_NAME by_key
#define EM_GEN_RECORD record
#define EM_GEN_LESS(a, b) (key_of(a) < key_of(b))
#include <extmem/gen/order.h>

static em_status push(em_sorter *s, const fault_sort *sort)
{
	const unsigned char *records = sort->data;
	em_status st = EM_OK;
	unsigned i;

	for (i = 0; i < N / 100 && st == EM_OK; i++)
		st = em_sorter_push(s, records + i * 100 * BYTES, 100);
	return st;
}

static void let_fail(fault_fn *fails, const char *backend, int32_t direct, int pushed, int generated)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N), *expected;
	uint64_t n = N;
	fault_sort sort;

	expected = sort_expected(&shape, records, &n, 0);
	memset(&sort, 0, sizeof(sort));
	sort.name = "records of 16 bytes";
	sort.order = generated ? by_key_order : make_order;
	sort.push = push;
	sort.memory = 64u << 20;
	sort.opts = none;
	sort.opts.block_bytes = 4096;
	sort.opts.run_records = RUN;
	sort.opts.fan_in = 2;
	sort.every = 1;
	sort.runs = (N + RUN - 1) / RUN;
	sort.data = sort.in = records;
	sort.out = sort.pulled = expected;
	sort.in_bytes = sort.out_bytes = sort.pulled_bytes = N * BYTES;
	sort.records = N;
	fails(&sort, backend, direct, pushed);
	free(records);
	free(expected);
}

static void sweep(const char *backend, int32_t direct, int pushed, int generated)
{
	let_fail(fault_sweep, backend, direct, pushed, generated);
}

static void test_syscall_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0, 0);
}

static void test_libaio_files(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 0, 0);
}

static void test_io_uring_files(void **state)
{
	(void)state;
	sweep("io_uring", EM_DIRECT_TRY, 0, 0);
}

static void test_memory_files(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 0, 0);
}

static void test_syscall_sorter(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 1, 0);
}

static void test_libaio_sorter(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 1, 0);
}

static void test_io_uring_sorter(void **state)
{
	(void)state;
	sweep("io_uring", EM_DIRECT_TRY, 1, 0);
}

static void test_memory_sorter(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1, 0);
}

static void test_generated_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0, 1);
}

static void test_generated_sorter(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1, 1);
}

static void test_chance(void **state)
{
	(void)state;
	let_fail(fault_chance, "syscall", EM_DIRECT_OFF, 0, 0);
	let_fail(fault_chance, "io_uring", EM_DIRECT_TRY, 0, 1);
	let_fail(fault_chance, "memory", EM_DIRECT_OFF, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall_files),
		cmocka_unit_test(test_libaio_files),
		cmocka_unit_test(test_io_uring_files),
		cmocka_unit_test(test_memory_files),
		cmocka_unit_test(test_syscall_sorter),
		cmocka_unit_test(test_libaio_sorter),
		cmocka_unit_test(test_io_uring_sorter),
		cmocka_unit_test(test_memory_sorter),
		cmocka_unit_test(test_generated_files),
		cmocka_unit_test(test_generated_sorter),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
