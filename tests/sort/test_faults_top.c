/* SPDX-License-Identifier: BSL-1.0 */
/* test_faults_top.c -- em_top_files() and em_shuffle_files() in which everything that can fail fails; see fault_sweep.h. */
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

static em_status make_order(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);

	return em_order_keys(out, ctx, BYTES, shape.key, 1, err);
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

	(void)order;
	o.seed = SEED;
	o.run_records = opts->run_records;
	o.block_bytes = opts->block_bytes;
	o.fan_in = opts->fan_in;
	o.errinfo = opts->errinfo;
	return em_shuffle_files(ctx, BYTES, &in, 1, out, &o, stats);
}

/* What the shuffle gives when nothing fails; that it is right is tested elsewhere.  For free(). */
static unsigned char *shuffled(const unsigned char *records)
{
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *out = test_path(dir, "out");
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	unsigned char *got;
	size_t bytes;

	sort_write_file(in, records, N * BYTES);
	assert_int_equal(shuffle(ctx, NULL, in, out, &opts, NULL), EM_OK);
	got = sort_read_file(out, &bytes);
	assert_int_equal(bytes, N * BYTES);
	em_ctx_close(ctx);
	free(in);
	free(out);
	test_dir_remove(dir);
	return got;
}

static void sweep(const char *backend, int32_t direct, int shuffles)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, BYTES);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, N), *expected;
	uint64_t n = N;
	fault_sort sort;

	expected = shuffles ? shuffled(records) : sort_expected(&shape, records, &n, 0);
	memset(&sort, 0, sizeof(sort));
	sort.name = shuffles ? "shuffling" : "top";
	sort.order = make_order;
	sort.files = shuffles ? shuffle : top;
	sort.memory = 16u << 20;
	sort.opts = none;
	sort.opts.block_bytes = 4096;
	sort.opts.run_records = RUN;
	sort.opts.fan_in = 2;
	sort.every = 1;
	sort.runs = (N + RUN - 1) / RUN;
	sort.in = records;
	sort.in_bytes = N * BYTES;
	sort.out = expected + (shuffles ? 0 : FROM * BYTES);
	sort.out_bytes = (shuffles ? N : K) * BYTES;
	fault_sweep(&sort, backend, direct, 0);
	free(records);
	free(expected);
}

static void test_top_syscall(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0);
}

static void test_shuffle_memory(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_syscall),
		cmocka_unit_test(test_shuffle_memory),
	};

	return cmocka_run_group_tests_name("faults_top", tests, NULL, NULL);
}
