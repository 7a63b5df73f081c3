/* SPDX-License-Identifier: BSL-1.0 */
/* plan_case.c -- see plan_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "sort/plan_case.h"

#define PAGE 4096u

void planner_open(planner *p)
{
	const em_ctx_opts opts = sort_ctx_opts();

	p->rng = test_rng_make(test_seed());
	p->ctx = sort_ctx(&opts);
	p->order = NULL;
}

void planner_close(planner *p)
{
	em_order_close(p->order);
	em_ctx_close(p->ctx);
}

uint64_t planner_spread(test_rng *rng, uint64_t lo, uint64_t hi)
{
	uint64_t x = lo;

	while (x < hi && test_below(rng, 8) != 0)
		x += 1 + test_below(rng, x + 1);
	return x < hi ? x : hi;
}

void planner_random_input(planner *p)
{
	sort_shape shape;

	memset(&shape, 0, sizeof(shape));
	shape.bytes = (size_t)planner_spread(&p->rng, 1, 100000);
	shape.keys = 1;
	shape.key[0].type = EM_KEY_BYTES;
	shape.key[0].width = 1 + test_below(&p->rng, shape.bytes < 20 ? shape.bytes : 20);
	em_order_close(p->order);
	p->order = sort_order(p->ctx, &shape);
	memset(&p->in, 0, sizeof(p->in));
	p->in.codec = emi_order_codec(p->order);
	p->in.n = test_below(&p->rng, 4) == 0 ? EMI_UNKNOWN : planner_spread(&p->rng, 0, (uint64_t)1 << 36);
	p->in.memory = planner_spread(&p->rng, 200000, (uint64_t)1 << 36);
	p->in.threads = 1 + (uint32_t)test_below(&p->rng, 8);
	p->in.pushed = p->in.n == EMI_UNKNOWN && test_below(&p->rng, 2);
	p->in.spare_blocks = (uint32_t)test_below(&p->rng, 3);
	p->in.files_bytes = p->in.pushed ? 0 : test_below(&p->rng, 400000);
	p->in.scratch_bytes = test_below(&p->rng, 200000);
	p->in.disks = (uint32_t)test_below(&p->rng, 10);
}

void planner_assert_sound(const emi_plan *plan, const emi_plan_input *in)
{
	const uint64_t r = in->codec->record_bytes;

	assert_true(plan->peak <= in->memory);
	assert_true(plan->memory == in->memory);
	assert_true(plan->block_bytes % PAGE == 0);
	assert_true(plan->block_records >= 1 && plan->block_records * r <= plan->block_bytes);
	assert_true(plan->block_records == plan->block_bytes / r || in->block_bytes == 0);
	assert_true(plan->write_buffers >= 2);
	assert_true(plan->threads == in->threads);
	if (plan->runs == 0) {
		assert_true(in->n != EMI_UNKNOWN && (plan->run_records == in->n || in->n == 0));
		/* Its records, its elements, and the output. */
		assert_true(in->n * r + plan->write_buffers * (uint64_t)plan->block_bytes <= in->memory);
		return;
	}
	assert_true(plan->run_records >= 1);
	assert_true(plan->fan_in >= 2);
	assert_true(plan->tasks >= 1 && plan->areas >= 1 && plan->areas <= 2);
	assert_true(plan->areas == 2 || in->pushed);
	/* Forming: areas, arrays of elements, output. */
	assert_true(plan->run_records <= in->memory / r);
	assert_true(plan->run_records *
				    (plan->areas * r + plan->elem_arrays * (uint64_t)in->codec->elem_bytes) +
			    plan->write_buffers * (uint64_t)plan->block_bytes + in->files_bytes + in->scratch_bytes <=
		    in->memory);
	/* Merging: a block and a page of the directory for each run, prefetching, output. */
	assert_true(plan->fan_in * (plan->block_bytes + 4096u) +
			    ((uint64_t)plan->read_buffers + plan->write_buffers) * plan->block_bytes +
			    in->scratch_bytes <=
		    in->memory);
	if (in->n != EMI_UNKNOWN) {
		assert_true(plan->runs >= in->n / plan->run_records);
		assert_true(plan->runs * plan->run_records >= in->n);
		assert_true(plan->max_runs >= plan->runs);
	}
}
