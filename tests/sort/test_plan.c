/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_plan.c -- plans: they fit, they do as they were told, and more memory is never worse.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "block/disk.h"
#include "sort/plan_case.h"
#include "sort/plan_time.h"

#define PAGE 4096u

static void test_random_plans(void **state)
{
	unsigned made = 0, refused = 0;
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 3000; i++) {
		em_errinfo err;
		emi_plan plan;
		em_status st;

		planner_random_input(&p);
		memset(&err, 0, sizeof(err));
		st = emi_plan_make(&plan, &p.in, &err);
		if (st == EM_OK) {
			planner_assert_sound(&plan, &p.in);
			made++;
			continue;
		}
		refused++;
		assert_int_equal(st, EM_ERR_MEMLIMIT);
		assert_int_equal(err.status, EM_ERR_MEMLIMIT);
		assert_true(err.bytes > p.in.memory);
		assert_int_equal(err.bytes, emi_plan_least(&p.in));
		p.in.memory = err.bytes;
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		planner_assert_sound(&plan, &p.in);
	}
	assert_true(made > 500 && refused > 50);
	planner_close(&p);
}

/* The least that would do does, a little less does not, and anything above does. */
static void test_least(void **state)
{
	planner p;
	int i, j;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 600; i++) {
		uint64_t least;
		emi_plan plan;

		/* Of these inputs one has a list of runs that takes hundreds of steps to find its length. */
		if (i == 300)
			p.rng = test_rng_make(1775344044488407026u);
		planner_random_input(&p);
		least = emi_plan_least(&p.in);
		assert_true(least < UINT64_MAX);
		p.in.memory = least;
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		p.in.memory = least - 3 * PAGE;
		if (emi_plan_make(&plan, &p.in, NULL) != EM_ERR_MEMLIMIT)
			fail_msg("%llu records of %llu bytes: %llu bytes do, not only %llu", (unsigned long long)p.in.n,
				 (unsigned long long)p.in.codec->record_bytes, (unsigned long long)p.in.memory,
				 (unsigned long long)least);
		for (j = 0; j < 10; j++) {
			p.in.memory = least + planner_spread(&p.rng, 0, 4 * least);
			if (emi_plan_make(&plan, &p.in, NULL) != EM_OK)
				fail_msg("%llu bytes do, but %llu do not", (unsigned long long)least,
					 (unsigned long long)p.in.memory);
		}
	}
	planner_close(&p);
}

static uint32_t passes_of(const emi_plan *plan)
{
	return plan->runs == 0 ? 0 : 1 + emi_plan_merge_passes(plan->runs, plan->fan_in);
}

/* More memory never gives more passes over the data in blocks of the same size: on one disk, as several have other
 * reasons for one (test_plan_disks.c). */
static void test_more_memory(void **state)
{
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 400; i++) {
		uint64_t memory;
		uint32_t before = UINT32_MAX;
		uint64_t with = 0;

		do
			planner_random_input(&p);
		while (p.in.n == EMI_UNKNOWN);
		p.in.disks = 1;
		p.in.block_bytes = (p.in.codec->record_bytes + PAGE) / PAGE * PAGE * (1 + test_below(&p.rng, 10));
		memory = emi_plan_least(&p.in);
		while (memory < (uint64_t)1 << 40) {
			emi_plan plan;
			uint32_t now;

			p.in.memory = memory;
			assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
			now = passes_of(&plan);
			if (now > before)
				fail_msg("%llu records of %llu bytes: %u passes with %llu bytes, %u with %llu",
					 (unsigned long long)p.in.n, (unsigned long long)p.in.codec->record_bytes,
					 before, (unsigned long long)with, now, (unsigned long long)memory);
			before = now;
			with = memory;
			/* A little, where the numbers of buffers change, or a lot. */
			memory += test_below(&p.rng, 2) ? 1 + test_below(&p.rng, 10000)
							: memory / 8 + test_below(&p.rng, memory / 4);
		}
	}
	planner_close(&p);
}

/* What a plan takes, in passes over the data with perfect blocks: a request costs as much as 64 KiB. */
static double cost_of(const emi_plan *plan, const emi_plan_input *in)
{
	const double slack = (double)plan->block_bytes / (double)(plan->block_records * in->codec->record_bytes);
	const double request = 1.0 + 65536.0 / (double)plan->block_bytes;

	return plan->runs == 0 ? request : passes_of(plan) * slack * request;
}

/* Where blocks are chosen, more passes in larger blocks may take less time; but more memory never takes more. */
static void test_more_memory_is_no_slower(void **state)
{
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 400; i++) {
		uint64_t memory, with = 0;
		double before = 1e300;

		do
			planner_random_input(&p);
		while (p.in.n == EMI_UNKNOWN);
		p.in.disks = 1;
		memory = emi_plan_least(&p.in);
		while (memory < (uint64_t)1 << 40) {
			emi_plan plan;
			double now;

			p.in.memory = memory;
			assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
			now = cost_of(&plan, &p.in);
			if (now > before * 1.0001)
				fail_msg("%llu records of %llu bytes: cost %g with %llu bytes, %g with %llu",
					 (unsigned long long)p.in.n, (unsigned long long)p.in.codec->record_bytes,
					 before, (unsigned long long)with, now, (unsigned long long)memory);
			before = now;
			with = memory;
			/* A little, where the numbers of buffers change, or a lot. */
			memory += test_below(&p.rng, 2) ? 1 + test_below(&p.rng, 10000)
							: memory / 8 + test_below(&p.rng, memory / 4);
		}
	}
	planner_close(&p);
}

/* Threads that merge have blocks to go on with, if that takes no more than fewer output buffers. */
static void test_not_crowded(void **state)
{
	unsigned several = 0;
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 1000; i++) {
		emi_plan plan, fewest;

		do
			planner_random_input(&p);
		while (p.in.n == EMI_UNKNOWN);
		p.in.disks = 1;
		p.in.threads = 2 + (uint32_t)test_below(&p.rng, 6);
		p.in.memory = emi_plan_least(&p.in) + planner_spread(&p.rng, 0, (uint64_t)1 << 22);
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		if (plan.runs < 2 || plan.read_buffers >= plan.tasks + 2)
			continue;
		p.in.block_bytes = plan.block_bytes;
		p.in.write_buffers = 3;
		if (emi_plan_make(&fewest, &p.in, NULL) != EM_OK)
			continue;
		assert_true(fewest.read_buffers < plan.tasks + 2 || cost_of(&fewest, &p.in) > cost_of(&plan, &p.in));
		several++;
	}
	assert_true(several > 20);
	planner_close(&p);
}

/* Runs want their next blocks at about the same time, so if there is memory each has a buffer for its own, and there
 * are three for each disk. */
static void test_buffers_for_all_runs(void **state)
{
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 50; i++) {
		emi_plan plan;

		do
			planner_random_input(&p);
		while (p.in.codec->record_bytes > 1000);
		p.in.files_bytes = p.in.scratch_bytes = 0;
		p.in.spare_blocks = 0;
		p.in.pushed = 0;
		p.in.threads = 1 + (uint32_t)test_below(&p.rng, 4);
		p.in.disks = 1 + (uint32_t)test_below(&p.rng, 4);
		p.in.memory = (uint64_t)1 << 30;
		p.in.block_bytes = 64 << 10;
		p.in.n = 1000000;
		p.in.run_records = p.in.n / (2 + test_below(&p.rng, 500));
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		assert_int_equal(plan.fan_in, plan.runs);
		assert_true(plan.read_buffers >= plan.runs + 3 * (uint64_t)p.in.disks);
	}
	planner_close(&p);
}

/* Threads have more tasks to go on with where these are a small part of the memory. */
static void test_tasks(void **state)
{
	unsigned many = 0, few = 0;
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 1000; i++) {
		emi_plan plan;

		do
			planner_random_input(&p);
		while (p.in.n == EMI_UNKNOWN);
		p.in.memory = emi_plan_least(&p.in) + test_below(&p.rng, (uint64_t)1 << 30);
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		if (plan.threads == 1) {
			assert_int_equal(plan.tasks, 1);
		} else if (plan.tasks > plan.threads + 1) {
			assert_int_equal(plan.tasks, plan.threads + 3);
			assert_true(plan.tasks * plan.block_bytes <= plan.memory / 32);
			many++;
		} else {
			assert_int_equal(plan.tasks, plan.threads + 1);
			few++;
		}
	}
	assert_true(many > 20 && few > 20);
	planner_close(&p);
}

/* The block size that is usual is taken where it costs no more passes, and one that is forced wins. */
static void test_usual_block(void **state)
{
	unsigned taken = 0, dear = 0, large = 0, i;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 1500; i++) {
		const uint64_t usual = PAGE * (1 + test_below(&p.rng, test_below(&p.rng, 2) ? 16 : 4096));
		emi_plan chosen, plan, forced;
		em_status st;

		planner_random_input(&p);
		/* With several disks it is chosen twice, for that many and for one. */
		if (test_below(&p.rng, 4) != 0)
			p.in.disks = 1;
		/* With just enough memory for blocks of that size few runs can be merged at a time. */
		if (i % 4 != 0 && p.in.codec->record_bytes <= usual) {
			p.in.block_bytes = usual;
			p.in.memory = emi_plan_least(&p.in);
			p.in.block_bytes = 0;
		}
		st = emi_plan_make(&chosen, &p.in, NULL);
		p.in.usual_block = usual;
		if (emi_plan_make(&plan, &p.in, NULL) != EM_OK) {
			assert_int_equal(st, EM_ERR_MEMLIMIT);
			continue;
		}
		planner_assert_sound(&plan, &p.in);
		p.in.block_bytes = usual;
		if (emi_plan_make(&forced, &p.in, NULL) != EM_OK) {
			assert_int_equal(plan.block_bytes, chosen.block_bytes);
			large++;
		} else if (p.in.disks < 2 && p.in.n != EMI_UNKNOWN) {
			const unsigned more = st == EM_OK && passes_of(&forced) > passes_of(&chosen);

			assert_int_equal(plan.block_bytes, more ? chosen.block_bytes : usual);
			taken += !more;
			dear += more;
		}
		p.in.block_bytes = (p.in.codec->record_bytes / PAGE + 1) * PAGE;
		if (emi_plan_make(&forced, &p.in, NULL) == EM_OK)
			assert_int_equal(forced.block_bytes, p.in.block_bytes);
	}
	assert_true(taken > 100 && dear > 0 && large > 10);
	planner_close(&p);
}

static void test_merge_passes(void **state)
{
	(void)state;
	assert_int_equal(emi_plan_merge_passes(0, 2), 0);
	assert_int_equal(emi_plan_merge_passes(1, 2), 0);
	assert_int_equal(emi_plan_merge_passes(2, 2), 1);
	assert_int_equal(emi_plan_merge_passes(3, 2), 2);
	assert_int_equal(emi_plan_merge_passes(4, 2), 2);
	assert_int_equal(emi_plan_merge_passes(5, 2), 3);
	assert_int_equal(emi_plan_merge_passes(100, 100), 1);
	assert_int_equal(emi_plan_merge_passes(101, 100), 2);
	assert_int_equal(emi_plan_merge_passes(10000, 100), 2);
	assert_int_equal(emi_plan_merge_passes(10001, 100), 3);
	assert_int_equal(emi_plan_merge_passes(UINT64_MAX / 2, 2), 63);
}

static void test_forced(void **state)
{
	unsigned made = 0;
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 2000; i++) {
		em_errinfo err;
		emi_plan plan;
		em_status st;
		uint64_t least;

		planner_random_input(&p);
		if (test_below(&p.rng, 2))
			p.in.block_bytes = (p.in.codec->record_bytes + PAGE) / PAGE * PAGE *
					   (1 + test_below(&p.rng, 10));
		if (test_below(&p.rng, 2))
			p.in.fan_in = 2 + (uint32_t)test_below(&p.rng, 100);
		if (test_below(&p.rng, 2))
			p.in.read_buffers = 1 + (uint32_t)test_below(&p.rng, 20);
		if (test_below(&p.rng, 2))
			p.in.write_buffers = 2 + (uint32_t)test_below(&p.rng, 20);
		if (test_below(&p.rng, 2))
			p.in.run_records = 1 + planner_spread(&p.rng, 0, 1000000);
		memset(&err, 0, sizeof(err));
		st = emi_plan_make(&plan, &p.in, &err);
		if (st == EM_ERR_MEMLIMIT) {
			least = err.bytes;
			assert_true(least > p.in.memory);
			if (least == UINT64_MAX)
				continue;
			p.in.memory = least;
			st = emi_plan_make(&plan, &p.in, NULL);
		}
		assert_int_equal(st, EM_OK);
		planner_assert_sound(&plan, &p.in);
		made++;
		if (p.in.block_bytes != 0)
			assert_int_equal(plan.block_bytes, p.in.block_bytes);
		if (p.in.write_buffers != 0)
			assert_int_equal(plan.write_buffers, p.in.write_buffers);
		if (plan.runs == 0)
			continue;
		if (p.in.read_buffers != 0)
			assert_int_equal(plan.read_buffers, p.in.read_buffers);
		if (p.in.run_records != 0)
			assert_int_equal(plan.run_records, p.in.n < p.in.run_records ? p.in.n + !p.in.n
										     : p.in.run_records);
		/* With fewer runs than that, fewer are merged. */
		if (p.in.fan_in != 0)
			assert_true(plan.fan_in == p.in.fan_in ||
				    (plan.fan_in < p.in.fan_in && plan.runs <= plan.fan_in));
	}
	assert_true(made > 1000);
	planner_close(&p);
}

/* When the runs are known the buffers are shared out again, within the same memory. */
static void test_merging(void **state)
{
	planner p;
	int i;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 2000; i++) {
		emi_plan plan, before;
		uint64_t runs, planned;

		planner_random_input(&p);
		if (emi_plan_make(&plan, &p.in, NULL) != EM_OK || plan.runs == 0)
			continue;
		before = plan;
		planned = plan.runs;
		runs = 1 + planner_spread(&p.rng, 0, plan.max_runs - 1);
		assert_true(emi_plan_merging(&plan, &p.in, runs, 0));
		assert_int_equal(plan.block_bytes, before.block_bytes);
		assert_int_equal(plan.write_buffers, before.write_buffers);
		assert_int_equal(plan.run_records, before.run_records);
		assert_int_equal(plan.max_runs, before.max_runs);
		before.runs = runs;
		if (emi_plan_time(&plan, &p.in) > emi_plan_time(&before, &p.in))
			fail_msg("%u disks, %llu runs: %g with fan-in %u and %u to read, %g with %u and %u before",
				 (unsigned)p.in.disks, (unsigned long long)runs, emi_plan_time(&plan, &p.in),
				 (unsigned)plan.fan_in, (unsigned)plan.read_buffers, emi_plan_time(&before, &p.in),
				 (unsigned)before.fan_in, (unsigned)before.read_buffers);
		assert_true(p.in.disks > 1 || passes_of(&plan) <= passes_of(&before));
		plan.runs = planned;
		planner_assert_sound(&plan, &p.in);
	}
	planner_close(&p);
}

static void assert_illegal(planner *p, const em_sort_opts *opts, const char *word)
{
	em_sort_plan_info info;
	em_sort_opts o = *opts;
	em_errinfo err;
	em_sorter *s;

	memset(&info, 0, sizeof(info));
	memset(&err, 0, sizeof(err));
	info.size = sizeof(info);
	o.errinfo = &err;
	assert_int_equal(em_sort_plan(p->ctx, p->order, 1000, &o, &info), EM_ERR_INVAL);
	if (strstr(err.text, word) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", err.text, word);
	assert_int_equal(em_sorter_open(&s, p->ctx, p->order, &o), EM_ERR_INVAL);
	assert_null(s);
}

static void test_illegal(void **state)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 5000);
	em_sort_plan_info info;
	em_sort_opts opts;
	planner p;

	(void)state;
	planner_open(&p);
	p.order = sort_order(p.ctx, &shape);
	opts = none;
	opts.block_bytes = 8193;
	assert_illegal(&p, &opts, "8193");
	opts.block_bytes = 4096;
	assert_illegal(&p, &opts, "4096");
	opts.block_bytes = ((uint64_t)1 << 30) + PAGE;
	assert_illegal(&p, &opts, "1 GiB");
	opts = none;
	opts.fan_in = 1;
	assert_illegal(&p, &opts, "fan-in");
	opts.fan_in = UINT32_MAX;
	assert_illegal(&p, &opts, "fan-in");
	opts = none;
	opts.write_buffers = 1;
	assert_illegal(&p, &opts, "output buffer");
	opts = none;
	opts.flags = 8;
	assert_illegal(&p, &opts, "flags");
	opts = none;
	opts.compress = EM_COMPRESS_ALWAYS + 1;
	assert_illegal(&p, &opts, "compress");
	/* The smallest and largest that are legal. */
	opts = none;
	opts.block_bytes = 8192;
	opts.fan_in = 2;
	opts.write_buffers = 2;
	opts.read_buffers = 1;
	opts.run_records = 1;
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	assert_int_equal(em_sort_plan(p.ctx, p.order, 1000, &opts, &info), EM_OK);
	assert_int_equal(info.passes, 11);
	assert_int_equal(info.runs, 1000);
	assert_int_equal(info.fan_in, 2);
	assert_int_equal(info.block_records, 1);
	assert_int_equal(em_sort_plan(p.ctx, p.order, 1000, &opts, NULL), EM_ERR_INVAL);
	info.size = 0;
	assert_int_equal(em_sort_plan(p.ctx, p.order, 1000, &opts, &info), EM_ERR_VERSION);
	info.size = sizeof(info);
	assert_int_equal(em_sort_plan(NULL, p.order, 1000, &opts, &info), EM_ERR_INVAL);
	assert_int_equal(em_sort_plan(p.ctx, NULL, 1000, &opts, &info), EM_ERR_INVAL);
	assert_int_equal(em_sort_plan(p.ctx, p.order, UINT64_MAX, NULL, &info), EM_ERR_INVAL);
	planner_close(&p);
}

/* A plan for numbers of records far beyond anything is made or refused, but never wrong. */
static void test_huge(void **state)
{
	const uint64_t sizes[] = { ((uint64_t)1 << 32) + 3, (uint64_t)1 << 40, (uint64_t)1 << 48, UINT64_MAX / 2,
				   UINT64_MAX - 1 };
	const sort_shape shapes[] = { sort_shape_of(EM_KEY_U8, 0, 0, 1), sort_shape_of(EM_KEY_U64, 0, 0, 16),
				      sort_shape_of(EM_KEY_U64, 0, 0, 100000) };
	em_sort_plan_info info;
	unsigned made = 0;
	size_t i, j;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 3; i++) {
		em_order_close(p.order);
		p.order = sort_order(p.ctx, &shapes[i]);
		for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			em_status st;

			memset(&info, 0, sizeof(info));
			info.size = sizeof(info);
			st = em_sort_plan(p.ctx, p.order, sizes[j], NULL, &info);
			if (sizes[j] > (UINT64_MAX >> 7) / shapes[i].bytes) {
				assert_int_equal(st, EM_ERR_INVAL);
				continue;
			}
			if (st == EM_ERR_MEMLIMIT) {
				assert_true(info.memory_min > 64u << 20);
				continue;
			}
			assert_int_equal(st, EM_OK);
			made++;
			assert_true(info.memory <= 64u << 20);
			assert_true(info.runs >= sizes[j] / info.run_records);
			assert_int_equal(info.bytes_read, sizes[j] * shapes[i].bytes * info.passes);
			assert_true(info.scratch >= sizes[j] * shapes[i].bytes);
		}
	}
	assert_true(made >= 2);
	planner_close(&p);
}

/* Telling which space is in use takes a small part of the memory that is enough for the sort of a tebibyte. */
static void test_bits(void **state)
{
	const uint64_t mib = (uint64_t)1 << 20, tib = mib << 20;
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_sort_plan_info info;
	uint32_t k, disks;
	planner p;

	(void)state;
	for (disks = 1; disks <= 8; disks *= 2)
		for (k = 1; k < 200; k *= 3)
			assert_true(emi_scratch_bits(disks, tib, 3 * k) <= 4 * mib + disks * k * (uint64_t)32768);
	assert_true(emi_scratch_bits(1, tib, UINT64_MAX) > 100 * mib);
	planner_open(&p);
	p.order = sort_order(p.ctx, &shape);
	opts.memory = 32 * mib;
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	assert_int_equal(em_sort_plan(p.ctx, p.order, tib / 16, &opts, &info), EM_OK);
	planner_close(&p);
}

/* Where bytes are expected, and not known, the plan is for those: 200 times the memory is merged twice, and no block is
 * better for it than the one that was chosen. */
static void test_expected(void **state)
{
	const uint64_t mib = (uint64_t)1 << 20;
	unsigned i;

	(void)state;
	for (i = 0; i < 300; i++) {
		const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16 + (size_t)i % 49);
		uint64_t runs, block;
		emi_plan plan, other;
		emi_plan_input in;
		planner p;

		planner_open(&p);
		p.order = sort_order(p.ctx, &shape);
		memset(&p.in, 0, sizeof p.in);
		p.in.codec = emi_order_codec(p.order);
		p.in.n = EMI_UNKNOWN;
		p.in.pushed = 1;
		p.in.threads = 1 + i % 2;
		p.in.disks = 1;
		p.in.memory = 12 * mib + planner_spread(&p.rng, 0, 100 * mib);
		p.in.expect_bytes = 200 * p.in.memory;
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		planner_assert_sound(&plan, &p.in);
		runs = p.in.expect_bytes / p.in.codec->record_bytes / plan.run_records + 1;
		if (emi_plan_merge_passes(runs, plan.fan_in) > 2)
			fail_msg("%llu runs of records of %zu bytes, %u at a time in blocks of %zu",
				 (unsigned long long)runs, p.in.codec->record_bytes, plan.fan_in, plan.block_bytes);
		in = p.in;
		for (block = PAGE; block <= mib; block *= 2) {
			in.block_bytes = block;
			if (emi_plan_make(&other, &in, NULL) == EM_OK)
				assert_true(emi_plan_time(&plan, &in) <= 1.02 * emi_plan_time(&other, &in));
		}
		planner_close(&p);
	}
}

/* As many runs as a plan merges, a merge apart from the sort can merge with as much memory; with the least for them it
 * can, with less it cannot, and it keeps to what it has. */
static void test_apart(void **state)
{
	unsigned i, planned = 0;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 2000; i++) {
		emi_plan plan, apart;
		uint64_t least, memory;
		uint32_t k;

		planner_random_input(&p);
		if (emi_plan_make(&plan, &p.in, NULL) != EM_OK || plan.runs == 0)
			continue;
		apart = plan;
		assert_true(emi_plan_apart(&apart, &p.in, plan.fan_in, plan.memory));
		assert_int_equal(apart.fan_in, plan.fan_in);
		k = 2 + (uint32_t)planner_spread(&p.rng, 0, 1000);
		least = emi_plan_apart_least(&plan, &p.in, k);
		assert_true(least > emi_plan_apart_least(&plan, &p.in, k - 1));
		apart = plan;
		assert_false(emi_plan_apart(&apart, &p.in, k, least - 1));
		assert_memory_equal(&apart, &plan, sizeof plan);
		memory = least + planner_spread(&p.rng, 0, 4 * least);
		assert_true(emi_plan_apart(&apart, &p.in, k, memory));
		assert_true(apart.tasks == 1 || apart.tasks > apart.threads);
		assert_true(apart.read_buffers * (uint64_t)plan.block_bytes + k * (uint64_t)plan.block_bytes +
				    apart.write_buffers * (uint64_t)plan.block_bytes <=
			    memory);
		assert_true(apart.window == 0 || apart.window >= 8);
		planned++;
	}
	assert_true(planned > 100);
	planner_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_plans),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_more_memory),
		cmocka_unit_test(test_more_memory_is_no_slower),
		cmocka_unit_test(test_not_crowded),
		cmocka_unit_test(test_buffers_for_all_runs),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_usual_block),
		cmocka_unit_test(test_merge_passes),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_illegal),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
