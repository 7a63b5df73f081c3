/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_faults_merge.c -- everything that can fail in a merge of sorted files and in a search for groups of equal
 * records fails, once each or by chance: see fault_sweep.h.  A merge in parts is among them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "sort/fault_sweep.h"
#include "sort/merge_split.h"
#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define N 200u
#define BYTES 100u
#define MANY 9000u /* so that parts are worth it */
#define TIMES 5u /* so often is the one file an input */

static const sort_shape shape = { BYTES, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } };

static em_status by_keys(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	return em_order_keys(out, ctx, shape.bytes, shape.key, shape.keys, err);
}

static em_status by_line(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	return em_order_text(out, ctx, NULL, 0, NULL, err);
}

static em_status by_field(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	em_text_key key;

	assert_int_equal(em_text_key_parse(&key, NULL, "2", NULL), EM_OK);
	return em_order_text(out, ctx, &key, 1, NULL, err);
}

static em_status merge(em_ctx *ctx, const em_order *order, const char *in, const char *out, const em_sort_opts *opts,
		       em_sort_stats *stats)
{
	const char *const inputs[TIMES] = { in, in, in, in, in };

	return em_merge_files(ctx, order, inputs, TIMES, out, opts, stats);
}

static em_status count(em_ctx *ctx, const em_order *order, const char *in, const char *out, const em_sort_opts *opts,
		       em_sort_stats *stats, uint32_t flags)
{
	const char *const inputs[TIMES] = { in, in, in, in, in };
	em_unique_opts o = EM_UNIQUE_OPTS_INIT;

	o.sort = opts;
	o.flags = EM_UNIQUE_COUNT | flags;
	return em_unique_files(ctx, order, inputs, TIMES, out, &o, stats);
}

static em_status count_sorting(em_ctx *ctx, const em_order *order, const char *in, const char *out,
			       const em_sort_opts *opts, em_sort_stats *stats)
{
	return count(ctx, order, in, out, opts, stats, 0);
}

static em_status count_merging(em_ctx *ctx, const em_order *order, const char *in, const char *out,
			       const em_sort_opts *opts, em_sort_stats *stats)
{
	return count(ctx, order, in, out, opts, stats, EM_UNIQUE_PRESORTED);
}

/* An input that is in order. */
static unsigned char *make_input(const fault_sort *sort, size_t n_records, size_t *bytes)
{
	const em_ctx_opts o = sort_ctx_opts();
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records, *in;
	em_ctx *ctx;
	em_order *order;
	uint64_t n = n_records;
	lines l = { 0 };

	if (sort->order == by_keys) {
		records = sort_records(&rng, &shape, SORT_FEW, n);
		in = sort_expected(&shape, records, &n, 0);
		free(records);
		*bytes = n_records * BYTES;
		return in;
	}
	ctx = sort_ctx(&o);
	assert_int_equal(sort->order(&order, ctx, NULL), EM_OK);
	lines_add_random(&l, &rng, LINES_ANY, n_records);
	lines_sort(order, &l, 0, 0);
	in = lines_text(&l, 0, l.n, &format, 0, bytes);
	lines_free(&l);
	em_order_close(order);
	em_ctx_close(ctx);
	return in;
}

static void let_fail(fault_fn *fails, const fault_sort *what, uint32_t flags, uint32_t every)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	fault_sort sort = *what;
	unsigned char *in = make_input(what, N, &sort.in_bytes), *expected;

	sort.in = in;
	sort.opts = none;
	sort.opts.block_bytes = 8192;
	sort.opts.run_records = 300;
	sort.opts.fan_in = 2;
	sort.opts.flags = flags;
	sort.memory = 8u << 20;
	sort.runs = 2;
	sort.spare = 1;
	sort.every = every;
	expected = fault_expect(&sort);
	fails(&sort, "syscall", EM_DIRECT_OFF, 0);
	free(expected);
	free(in);
}

static void sweep(const fault_sort *what, uint32_t flags, uint32_t every)
{
	let_fail(fault_sweep, what, flags, every);
}

static const fault_sort kinds[] = {
	{ .name = "merging", .order = by_keys, .files = merge },
	{ .name = "merging lines", .order = by_line, .files = merge },
	{ .name = "merging lines by a field", .order = by_field, .files = merge },
	{ .name = "sorting, counting", .order = by_keys, .files = count_sorting },
	{ .name = "merging, counting", .order = by_keys, .files = count_merging },
	{ .name = "sorting, counting lines", .order = by_line, .files = count_sorting },
	{ .name = "merging, counting lines", .order = by_line, .files = count_merging },
};

enum { MERGES = 3, KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void test_merge(void **state)
{
	(void)state;
	sweep(&kinds[0], 0, 1);
	sweep(&kinds[1], 0, 5);
	sweep(&kinds[2], 0, 3);
	sweep(&kinds[2], EM_SORT_UNIQUE, 5);
}

static void test_count(void **state)
{
	size_t i;

	(void)state;
	for (i = MERGES; i < KINDS; i++)
		sweep(&kinds[i], 0, 4);
}

static void let_parts_fail(fault_fn *fails, const fault_sort *what, uint32_t flags, size_t records, int32_t direct)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	fault_sort sort = *what;
	unsigned char *in = make_input(what, records, &sort.in_bytes), *expected;

	assert_true(sort.in_bytes * TIMES >= 2 * EMI_SPLIT_PART);
	sort.in = in;
	sort.opts = none;
	sort.opts.flags = flags;
	sort.opts.block_bytes = 256u << 10;
	sort.memory = 16u << 20;
	sort.straight = 1;
	/* Each trial merges megabytes. */
	if (TEST_TSAN)
		sort.every *= 20;
	sort.spare = 1;
	expected = fault_expect(&sort);
	fails(&sort, "syscall", direct, 0);
	free(expected);
	free(in);
}

static void sweep_parts(const fault_sort *what, uint32_t flags, size_t records, int32_t direct)
{
	let_parts_fail(fault_sweep, what, flags, records, direct);
}

static void test_parts(void **state)
{
	static const fault_sort records = { .name = "merging in parts", .order = by_keys, .files = merge, .every = 7 };
	static const fault_sort text = { .name = "merging lines in parts", .order = by_line, .files = merge,
					 .every = 13 };
	static const fault_sort keyed = { .name = "merging lines by a field in parts", .order = by_field,
					  .files = merge, .every = 13 };
	static const fault_sort counting = { .name = "merging in parts, counting", .order = by_keys,
					     .files = count_merging, .every = 13 };

	(void)state;
	sweep_parts(&records, 0, MANY, EM_DIRECT_OFF);
	if (TEST_TSAN)
		return;
	sweep_parts(&text, 0, 10 * MANY, EM_DIRECT_TRY);
	sweep_parts(&keyed, 0, 10 * MANY, EM_DIRECT_OFF);
	sweep_parts(&text, EM_SORT_UNIQUE, 10 * MANY, EM_DIRECT_OFF);
	sweep_parts(&counting, 0, MANY, EM_DIRECT_TRY);
}

static void test_chance(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < KINDS; i++)
		let_fail(fault_chance, &kinds[i], 0, 1);
	let_fail(fault_chance, &kinds[2], EM_SORT_UNIQUE, 1);
	if (TEST_TSAN)
		return;
	let_parts_fail(fault_chance, &kinds[0], 0, MANY, EM_DIRECT_TRY);
	let_parts_fail(fault_chance, &kinds[1], 0, 10 * MANY, EM_DIRECT_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests_name("faults_merge", tests, NULL, NULL);
}
