/* SPDX-License-Identifier: BSL-1.0 */
/* test_faults_top.c -- em_top_files() and em_shuffle_files() in which everything that can fail fails, once each or by
 * chance; see fault_sweep.h. */
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
#define FROM 7u
#define K (N - FROM)        /* all of the runs is needed, so that no failed read goes unnoticed */
#define SEED 5u
#define BYTES 16u

static em_status by_keys(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);

	return em_order_keys(out, ctx, BYTES, shape.key, 1, err);
}

static em_status by_field(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	em_text_key key;

	assert_int_equal(em_text_key_parse(&key, NULL, "1.3", NULL), EM_OK);
	return em_order_text(out, ctx, &key, 1, NULL, err);
}

static em_status top(em_ctx *ctx, const em_order *order, const char *in, const char *out, const em_sort_opts *opts,
		     em_sort_stats *stats)
{
	return em_top_files(ctx, order, &in, 1, FROM, K, out, opts, stats);
}

static em_status shuffle(em_ctx *ctx, const em_order *order, const char *in, const char *out, const em_sort_opts *opts,
			 em_sort_stats *stats)
{
	em_shuffle_opts o = EM_SHUFFLE_OPTS_INIT;

	o.seed = SEED;
	o.run_records = opts->run_records;
	o.block_bytes = opts->block_bytes;
	o.fan_in = opts->fan_in;
	o.errinfo = opts->errinfo;
	return em_shuffle_files(ctx, em_order_record_size(order), &in, 1, out, &o, stats);
}

/* Records, or lines of the same size. */
static void let_fail(fault_fn *fails, const char *backend, int32_t direct, int shuffles, int text)
{
	static const char *const names[2][2] = { { "top", "top of lines" }, { "shuffling", "shuffling lines" } };
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N), *expected;
	fault_sort sort;
	size_t i;

	for (i = 0; text && i < N * BYTES; i++)
		records[i] = i % BYTES == BYTES - 1 ? '\n' : (unsigned char)(records[i] % 90 + 33);
	memset(&sort, 0, sizeof(sort));
	sort.name = names[shuffles][text];
	sort.order = text ? by_field : by_keys;
	sort.files = shuffles ? shuffle : top;
	sort.memory = 16u << 20;
	sort.opts = none;
	sort.opts.block_bytes = 4096;
	sort.opts.run_records = RUN;
	sort.opts.fan_in = 2;
	sort.every = text ? 3 : 1;
	sort.spare = text;
	sort.runs = (N + RUN - 1) / RUN;
	sort.in = records;
	sort.in_bytes = N * BYTES;
	expected = fault_expect(&sort);
	assert_int_equal(sort.out_bytes, (shuffles ? N : K) * BYTES);
	fails(&sort, backend, direct, 0);
	free(records);
	free(expected);
}

static void test_top(void **state)
{
	(void)state;
	let_fail(fault_sweep, "syscall", EM_DIRECT_OFF, 0, 0);
	let_fail(fault_sweep, "syscall", EM_DIRECT_OFF, 0, 1);
}

static void test_shuffle(void **state)
{
	(void)state;
	let_fail(fault_sweep, "memory", EM_DIRECT_OFF, 1, 0);
	let_fail(fault_sweep, "memory", EM_DIRECT_OFF, 1, 1);
}

static void test_chance(void **state)
{
	int kind;

	(void)state;
	for (kind = 0; kind < 4; kind++)
		let_fail(fault_chance, "syscall", EM_DIRECT_OFF, kind / 2, kind % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests_name("faults_top", tests, NULL, NULL);
}
