/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap_runs.c -- see radix_heap_runs.h. */
#include "container/radix_heap_runs.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"

#define LATER_LEAST 4096u       /* items that are worth waking another thread up */
#define THREADS 2u              /* the caller's, and one that sorts */
#define ORDERS ((uint64_t)16 << 10) /* bytes of two orders, more than they have */

void emi_radix_runs_init(emi_radix_runs *r, em_ctx *ctx, const emi_radix_plan *plan)
{
	uint32_t i;

	memset(r, 0, sizeof *r);
	r->ctx = ctx;
	r->plan = plan;
	for (i = 0; i < EMI_RADIX_RUNS; i++)
		r->run[i].bucket = EMI_RADIX_NONE;
}

static size_t run_bytes(const emi_radix_runs *r)
{
	return (size_t)((r->plan->run * (uint64_t)r->items.bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE);
}

void emi_radix_runs_drop(emi_radix_runs *r)
{
	uint32_t i;

	if (r->order == NULL)
		return;
	emi_pq_sorting_drop(&r->sorting);
	for (i = 0; i < EMI_RADIX_RUNS; i++)
		if (r->run[i].buf != NULL)
			emi_buffer_free(r->ctx, r->run[i].buf, run_bytes(r));
	emi_pq_items_close(&r->items);
	em_order_close(r->order);
	emi_radix_runs_init(r, r->ctx, r->plan);
}

uint64_t emi_radix_runs_memory(size_t record, unsigned width, uint64_t records)
{
	/* An item is at most that, and what has more beside its key is referred to by elements. */
	const uint64_t pair = sizeof(emi_pair), item = record == 8 && width == 8 ? 8 : record > pair ? record : pair;
	const uint64_t elements = record - width > sizeof(uint64_t) ? 2 * pair : 0;

	return EMI_RADIX_RUNS * (records * item + EMI_PAGE) + records * (item + elements) + EMI_KERN_WORK +
	       2 * EMI_PAGE + ORDERS + EMI_STACK_BYTES;
}

/* The order of keys, and what items are by that. */
static em_status need_order(emi_radix_runs *r, em_errinfo *err)
{
	const emi_radix_plan *p = r->plan;
	em_status st;

	if (r->order != NULL)
		return EM_OK;
	st = em_order_keys(&r->order, r->ctx, p->record, &p->by, 1, err);
	if (st != EM_OK)
		return st;
	st = emi_pq_items_open(&r->items, r->order, 0, err);
	if (st != EM_OK) {
		em_order_close(r->order);
		r->order = NULL;
		return st;
	}
	emi_pq_sorting_init(&r->sorting, r->ctx, &r->items, p->threads);
	return EM_OK;
}

emi_radix_run *emi_radix_run_of(emi_radix_runs *r, uint32_t bucket, int *more)
{
	emi_radix_run *first = NULL;
	uint32_t i;

	*more = 0;
	for (i = 0; i < EMI_RADIX_RUNS; i++) {
		if (r->run[i].bucket != bucket)
			continue;
		*more = first != NULL;
		first = first != NULL ? first : &r->run[i];
	}
	return first;
}

/* A run that is no bucket's and not open, or NULL. */
static emi_radix_run *free_run(emi_radix_runs *r)
{
	uint32_t i;

	for (i = 0; i < EMI_RADIX_RUNS; i++)
		if (r->run[i].bucket == EMI_RADIX_NONE && (&r->run[i] != r->open || !emi_radix_runs_open(r)))
			return &r->run[i];
	return NULL;
}

em_status emi_radix_run_take(emi_radix_runs *r, uint32_t bucket, emi_radix_run **run, em_errinfo *err)
{
	int more;
	em_status st = need_order(r, err);

	if (st != EM_OK)
		return st;
	*run = emi_radix_run_of(r, bucket, &more);
	if (*run != NULL)
		return EM_OK;
	*run = free_run(r);
	if (*run == NULL)
		return EM_OK;
	if ((*run)->buf == NULL)
		(*run)->buf = emi_buffer_alloc(r->ctx, run_bytes(r), err);
	if ((*run)->buf == NULL)
		return err->status;
	(*run)->at = (*run)->end = (*run)->buf + r->plan->run * r->items.bytes;
	(*run)->bucket = bucket;
	(*run)->sorted = 1;
	return EM_OK;
}

uint64_t emi_radix_run_count(const emi_radix_runs *r, const emi_radix_run *run)
{
	return run->at != run->end ? (uint64_t)(run->end - run->at) / r->items.bytes : 0;
}

/* All records in the buffer of its bucket. */
static void move_buffer(emi_radix_runs *r, emi_radix_run *run, emi_radix_buckets *b)
{
	emi_radix_bucket *k = &b->bucket[run->bucket];
	const char *buf = b->stack[run->bucket].buf;
	const size_t n = k->at != buf ? (size_t)(k->at - buf) / b->record : 0;

	if (n == 0)
		return;
	run->at -= n * r->items.bytes;
	run->sorted = 0;
	emi_pq_load(&r->items, buf, n, run->at);
	k->at -= n * b->record;
}

em_status emi_radix_run_fill(emi_radix_runs *r, emi_radix_run *run, emi_radix_buckets *b, em_errinfo *err)
{
	const uint32_t i = run->bucket;
	em_status st = EM_OK;

	emi_radix_unstage(b, i);
	emi_radix_hint(b, i);
	move_buffer(r, run, b);
	while (st == EM_OK && b->stack[i].blocks != 0) {
		st = emi_ctx_check(r->ctx, err);
		if (st == EM_OK)
			st = emi_radix_fetch(b, i, err);
		if (st == EM_OK)
			move_buffer(r, run, b);
	}
	if (st == EM_OK)
		emi_radix_give_buffer(b, i);
	return st;
}

em_status emi_radix_run_sort(emi_radix_runs *r, emi_radix_run *run, int later, em_errinfo *err)
{
	const size_t n = (size_t)emi_radix_run_count(r, run);
	em_status st = EM_OK;

	if (!run->sorted)
		st = later && n >= LATER_LEAST ? emi_pq_sort_begin(&r->sorting, run->at, n, err)
					       : emi_pq_sort(&r->sorting, run->at, n, err);
	run->sorted = st == EM_OK;
	return st;
}

void emi_radix_run_open(emi_radix_runs *r, emi_radix_run *run)
{
	emi_pq_sort_end(&r->sorting);
	r->at = run->at;
	r->end = run->end;
	r->open = run;
	run->bucket = EMI_RADIX_NONE;
}

void emi_radix_runs_move(emi_radix_runs *r, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < EMI_RADIX_RUNS; i++)
		if (r->run[i].bucket == from)
			r->run[i].bucket = to;
}
