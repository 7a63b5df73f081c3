/* SPDX-License-Identifier: BSL-1.0 */
/* outseq_bench.c -- see outseq_bench.h. */
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

#include "sort/outseq_bench.h"

uint64_t outseq_word(uint64_t record)
{
	return (record + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

void outseq_record(char *to, uint64_t record)
{
	uint64_t w[RECORD / 8];
	size_t i;

	for (i = 0; i < RECORD / 8; i++)
		w[i] = outseq_word(record) + i;
	memcpy(to, w, RECORD);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	bench *b = arg;

	assert_int_equal(block->index, b->blocks);
	assert_int_equal(block->filled, block->records);
	assert_int_equal(block->buf.len, block->records * RECORD);
	if (b->blocks++ == 0)
		b->first = block->records;
	if (b->blocks == b->fail_at)
		return emi_fail(err, EM_ERR_NOSPACE, "as ordered");
	memcpy(b->got + b->records * RECORD, block->buf.base + block->buf.lead, block->buf.len);
	b->records += block->records;
	if (b->disk != NULL) {
		em_status st = emi_bid_alloc(b->disk, BLOCK, &b->bid[block->index], err);

		if (st != EM_OK)
			return st;
		emi_block_write(b->disk, &block->buf.rq, block->buf.base, BLOCK, b->bid[block->index], &b->job.io);
	}
	return EM_OK;
}

size_t outseq_lead(void *arg, uint64_t position)
{
	(void)arg;
	return (size_t)((position + 100) % EMI_PAGE);
}

void bench_open(bench *b, uint32_t nring, uint64_t total)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	em_ctx_opts opts = sort_ctx_opts();
	em_errinfo err;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed());
	b->seed = test_random(&b->rng);
	test_memory_init(&b->mem, 0);
	assert_int_equal(em_fault_init(&b->fault, sizeof b->fault, em_backend_find("memory")), EM_OK);
	opts.backend = NULL;
	opts.custom = em_fault_backend(&b->fault);
	opts.allocator = &b->mem.allocator;
	b->ctx = sort_ctx(&opts);
	b->order = sort_order(b->ctx, &shape);
	assert_int_equal(emi_job_open(&b->job, b->ctx, b->order, NULL, &err), EM_OK);
	assert_int_equal(emi_outseq_init(&b->q, &b->job.runs, nring, b->job.plan.packers, BLOCK, &err), EM_OK);
	b->total = total;
	b->got = calloc((size_t)total + 1, RECORD);
	b->bid = calloc((size_t)(total / CAP) + 2, sizeof(*b->bid));
	assert_true(b->got != NULL && b->bid != NULL);
	b->dest.put = put;
	b->dest.arg = b;
	emi_outseq_begin(&b->q, &b->dest, total, CAP);
}

void bench_close(bench *b)
{
	emi_outseq_free(&b->q);
	emi_scratch_release(b->ctx, b->disk);
	emi_job_close(&b->job);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
	free(b->got);
	free(b->bid);
}
