/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_plan_disks.c -- plans for several disks: as many buffers as keep these busy are weighed against fewer passes, by
 * what is expected to take the least time.
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
#define MIB ((uint64_t)1 << 20)

/* Several disks, and data that is up to some hundred times the memory. */
static void random_disks(planner *p)
{
	do
		planner_random_input(p);
	while (p->in.codec->record_bytes > 1000);
	p->in.disks = 2 + (uint32_t)test_below(&p->rng, 15);
	p->in.memory = planner_spread(&p->rng, 2 * MIB, 1024 * MIB);
	p->in.n = (p->in.memory << test_below(&p->rng, 9)) / p->in.codec->record_bytes + test_below(&p->rng, 1000000);
	if (test_below(&p->rng, 2) != 0)
		p->in.block_bytes = (p->in.memory >> (5 + test_below(&p->rng, 5))) / PAGE * PAGE + PAGE;
}

/* What merges in front of the last one move, in runs: that of the fewest neighbours, as the engine does it. */
static uint64_t moved_before(uint64_t runs, uint32_t fan_in)
{
	uint64_t size[400], moved = 0, i, j, at, n = runs, k, sum, least;

	for (i = 0; i < n; i++)
		size[i] = 1;
	for (; n > fan_in; n -= k - 1) {
		k = n - fan_in + 1 < fan_in ? n - fan_in + 1 : fan_in;
		least = UINT64_MAX;
		for (i = at = 0; i + k <= n; i++) {
			for (sum = j = 0; j < k; j++)
				sum += size[i + j];
			at = sum < least ? i : at;
			least = sum < least ? sum : least;
		}
		moved += least;
		size[at] = least;
		memmove(size + at + 1, size + at + k, (size_t)(n - at - k) * sizeof(*size));
	}
	return moved;
}

/* The volume that is expected is what merges move. */
static void test_volume(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	emi_plan_input in;
	emi_plan plan;
	int i;

	(void)state;
	memset(&in, 0, sizeof(in));
	memset(&plan, 0, sizeof(plan));
	in.disks = 4;
	/* So many that it is all that counts. */
	plan.read_buffers = plan.write_buffers = 1000;
	for (i = 0; i < 300; i++) {
		double expected, moved;

		plan.runs = 2 + test_below(&rng, 399);
		plan.fan_in = 2 + (uint32_t)test_below(&rng, 60);
		expected = (emi_plan_rounds(&plan, &in) - 2) * (double)plan.runs;
		moved = (double)moved_before(plan.runs, plan.fan_in);
		/* With more levels merges meet runs that are not alike, and only neighbours are merged. */
		if (plan.runs > (uint64_t)plan.fan_in * plan.fan_in
			    ? expected < 0.9 * moved || expected > 1.1 * moved + 1
			    : expected < moved - 0.01 || expected > moved + 0.01)
			fail_msg("%d runs, fan-in %u: %g are expected to be moved, but %g are", (int)plan.runs,
				 (unsigned)plan.fan_in, expected, moved);
	}
}

/* What few buffers cost, within a tenth of what was measured (doc/sorting.md); more of them never cost more, and one
 * disk is busy with any. */
static void test_stretch(void **state)
{
	static const struct {
		uint32_t disks, read, write;
		double measured;        /* of what the disks can do, in percent */
	} figures[] = {{8, 2, 3, 20.5}, {8, 2, 8, 23.8}, {8, 4, 4, 34.5}, {8, 4, 16, 40.4}, {8, 8, 4, 45.8},
		       {8, 8, 8, 55.4}, {8, 16, 4, 54.7}, {8, 16, 8, 71.7}, {8, 16, 16, 80.4}, {8, 24, 6, 77.0},
		       {8, 12, 32, 73}, {8, 24, 32, 94}, {8, 48, 32, 99}, {4, 2, 3, 38.5}, {4, 3, 8, 54.2},
		       {4, 6, 4, 68.2}, {4, 8, 8, 81.5}, {4, 12, 4, 82.0}, {2, 2, 3, 68.4}, {2, 4, 3, 89.0},
		       {2, 4, 4, 88.3}, {2, 6, 3, 95.5}};
	uint32_t disks, read, write;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const double expected = 100 / emi_plan_stretch(figures[i].disks, figures[i].read, figures[i].write);

		if (expected < figures[i].measured / 1.1 || expected > figures[i].measured * 1.1)
			fail_msg("%u disks, %u to read, %u to write: %g %% are expected, but it was %g",
				 (unsigned)figures[i].disks, (unsigned)figures[i].read, (unsigned)figures[i].write,
				 expected, figures[i].measured);
	}
	for (read = 1; read < 100; read++)
		for (write = 2; write < 100; write++)
			assert_true(emi_plan_stretch(1, read, write) == 1);
	for (disks = 2; disks < 40; disks += 7)
		for (read = 1; read < 100; read++)
			for (write = 2; write < 100; write++) {
				const double stretch = emi_plan_stretch(disks, read, write);

				assert_true(stretch >= 1 && stretch > emi_plan_stretch(disks, read + 1, write) - 1e-9);
				assert_true(stretch > emi_plan_stretch(disks, read, write + 1) - 1e-9);
				assert_true(stretch < emi_plan_stretch(disks + 1, read, write) + 1e-9);
				assert_true(read < 8 * disks || write < 4 * disks || stretch < 1.01);
			}
}

/* No other choice of fan-in and buffers is expected to be much faster, and what is forced is taken. */
static void test_best(void **state)
{
	unsigned i, j, tried = 0, alike = 0;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 300; i++) {
		emi_plan chosen, forced;
		emi_plan_input in;

		random_disks(&p);
		if (emi_plan_make(&chosen, &p.in, NULL) != EM_OK || chosen.runs == 0)
			continue;
		planner_assert_sound(&chosen, &p.in);
		in = p.in;
		in.block_bytes = chosen.block_bytes;
		for (j = 0; j < 20; j++) {
			in.fan_in = 2 + (uint32_t)test_below(&p.rng, chosen.fan_in < 4096 ? 2 * chosen.fan_in : 8190);
			in.read_buffers = 1 + (uint32_t)test_below(&p.rng, 8 * in.disks);
			in.write_buffers = 2 + (uint32_t)test_below(&p.rng, 8 * in.disks);
			if (!emi_plan_fits(&in))
				continue;
			assert_int_equal(emi_plan_make(&forced, &in, NULL), EM_OK);
			if (forced.runs == 0)
				continue;
			tried++;
			assert_int_equal(forced.read_buffers, in.read_buffers);
			assert_int_equal(forced.write_buffers, in.write_buffers);
			assert_true(forced.fan_in == in.fan_in || forced.runs <= forced.fan_in);
			/* The order of fetching has a buffer or two, and what it is worth is not expected.  Fewer
			 * than 2 buffers to read and 3 to write are never chosen. */
			if ((chosen.prefetch_buffers != 0) != (forced.prefetch_buffers != 0) || in.read_buffers < 2 ||
			    in.write_buffers < 3)
				continue;
			alike++;
			if (emi_plan_time(&chosen, &p.in) > 1.08 * emi_plan_time(&forced, &p.in))
				fail_msg("%u disks, %llu runs: %g with fan-in %u, %u to read and %u to write, but %g "
					 "with %u, %u and %u",
					 (unsigned)in.disks, (unsigned long long)chosen.runs,
					 emi_plan_time(&chosen, &p.in), (unsigned)chosen.fan_in,
					 (unsigned)chosen.read_buffers, (unsigned)chosen.write_buffers,
					 emi_plan_time(&forced, &p.in), (unsigned)forced.fan_in,
					 (unsigned)forced.read_buffers, (unsigned)forced.write_buffers);
		}
	}
	assert_true(tried > 500 && alike > 100);
	planner_close(&p);
}

/* Memory as scarce as that is shared between runs and disks: 768 MiB in 16 on 8 of them, which with all memory for runs
 * would be done in one pass less. */
static void test_scarce(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	emi_plan plan, merging;
	planner p;

	(void)state;
	planner_open(&p);
	p.order = sort_order(p.ctx, &shape);
	memset(&p.in, 0, sizeof(p.in));
	p.in.codec = emi_order_codec(p.order);
	p.in.memory = 16 * MIB;
	p.in.n = 768 * MIB / 16;
	p.in.threads = 2;
	p.in.pushed = 1;
	p.in.block_bytes = 128 << 10;
	p.in.disks = 8;
	assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
	planner_assert_sound(&plan, &p.in);
	assert_true(plan.read_buffers >= 12 && plan.write_buffers >= 8);
	assert_true(emi_plan_stretch(8, plan.read_buffers, plan.write_buffers) < 1.35);
	/* That holds when runs turn out to be more, and one disk is better off with all of them at once. */
	merging = plan;
	assert_true(emi_plan_merging(&merging, &p.in, plan.runs * 4, 0));
	assert_true(merging.read_buffers >= 12);
	p.in.disks = 1;
	assert_int_equal(emi_plan_make(&merging, &p.in, NULL), EM_OK);
	assert_true(merging.fan_in > plan.fan_in && merging.fan_in >= merging.runs);
	planner_close(&p);
}

/* Whether or not blocks are chosen, more memory takes hardly longer: by what lies between two steps of buffers, and
 * what only saves time in caches. */
static void test_more_memory(void **state)
{
	unsigned i;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 60; i++) {
		double least = 1e300, now;
		uint64_t memory;
		emi_plan plan;

		random_disks(&p);
		memory = emi_plan_least(&p.in);
		for (; memory < (uint64_t)1 << 36; memory += test_below(&p.rng, 2)
								     ? 1 + test_below(&p.rng, 100000)
								     : memory / 8 + test_below(&p.rng, memory / 4)) {
			p.in.memory = memory;
			assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
			now = emi_plan_time(&plan, &p.in);
			if (now > 1.08 * least)
				fail_msg("%u disks, %llu records of %llu bytes: %g with %llu bytes, %g with less",
					 (unsigned)p.in.disks, (unsigned long long)p.in.n,
					 (unsigned long long)p.in.codec->record_bytes, now, (unsigned long long)memory,
					 least);
			least = now < least ? now : least;
		}
	}
	planner_close(&p);
}

/* Several disks need hardly more memory than one: what tells which space of each is in use, where a merge of two runs
 * may end in ten places; and that up to a whole page. */
static void assert_least(const emi_plan_input *in)
{
	emi_plan_input one = *in;
	uint64_t more = PAGE, least;

	one.disks = 1;
	least = emi_plan_least(&one);
	if (in->n != EMI_UNKNOWN)
		more += emi_scratch_bits(in->disks, in->n * (uint64_t)in->codec->record_bytes, 10);
	if (emi_plan_least(in) > least + more)
		fail_msg("%u disks, %llu records of %llu bytes: %llu bytes of memory, %llu with one, %llu for space",
			 (unsigned)in->disks, (unsigned long long)in->n, (unsigned long long)in->codec->record_bytes,
			 (unsigned long long)emi_plan_least(in), (unsigned long long)least, (unsigned long long)more);
}

/* With plenty of memory several disks have blocks to read ahead and to write; and they need hardly more than one. */
static void test_plenty(void **state)
{
	unsigned i, several = 0;
	planner p;

	(void)state;
	planner_open(&p);
	for (i = 0; i < 300; i++) {
		emi_plan plan;

		planner_random_input(&p);
		p.in.disks = 2 + (uint32_t)test_below(&p.rng, 30);
		assert_least(&p.in);
		p.in.memory = (1024 + test_below(&p.rng, 4096)) * MIB;
		p.in.n = 3 * p.in.memory / p.in.codec->record_bytes;
		assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
		planner_assert_sound(&plan, &p.in);
		if (plan.runs == 0)
			continue;
		several++;
		assert_true(emi_plan_merge_passes(plan.runs, plan.fan_in) == 1);
		assert_true(plan.read_buffers >= 3 * p.in.disks);
		assert_true(plan.write_buffers >= 2 * p.in.disks);
		/* Two for each disk and three tenths of the others. */
		assert_int_equal(plan.prefetch_buffers, 2 * p.in.disks + (plan.read_buffers - 2 * p.in.disks) * 3 / 10);
	}
	assert_true(several != 0);
	planner_close(&p);
}

/* The order in which blocks are fetched, as it is forced. */
static void test_fetching(void **state)
{
	emi_plan plan;
	em_errinfo err;
	planner p;

	(void)state;
	planner_open(&p);
	planner_random_input(&p);
	p.in.n = (UINT64_C(1) << 38) / p.in.codec->record_bytes;
	p.in.memory = UINT64_C(1) << 32;
	p.in.disks = 4;
	p.in.prefetch_buffers = 9;
	assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
	assert_int_equal(plan.prefetch_buffers, 9);
	p.in.naive = 1;
	assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
	assert_int_equal(plan.prefetch_buffers, 0);
	p.in.naive = 0;
	p.in.disks = 1;
	assert_int_equal(emi_plan_make(&plan, &p.in, NULL), EM_OK);
	assert_int_equal(plan.prefetch_buffers, 0);
	p.in.disks = 4;
	p.in.prefetch_buffers = 65537;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_plan_make(&plan, &p.in, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "65537"));
	/* What it takes is not there. */
	p.in.prefetch_buffers = 65536;
	p.in.memory = 4u << 20;
	p.in.n = 1000000;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_plan_make(&plan, &p.in, &err), EM_ERR_MEMLIMIT);
	planner_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volume),
		cmocka_unit_test(test_stretch),
		cmocka_unit_test(test_best),
		cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_more_memory),
		cmocka_unit_test(test_plenty),
		cmocka_unit_test(test_fetching),
	};

	return cmocka_run_group_tests_name("plan_disks", tests, NULL, NULL);
}
