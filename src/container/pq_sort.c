/* SPDX-License-Identifier: BSL-1.0 */
/* pq_sort.c -- see pq_sort.h. */
#include "container/pq_sort.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/pieces.h"

/* Are records sorted by elements that refer to them? */
static int refers(const emi_pq_items *it)
{
	return it->kind == EMI_PQ_RECORD && it->by.own == NULL;
}

/* Bytes of scratch for n items. */
static uint64_t scratch(const emi_pq_items *it, uint64_t n)
{
	return n * (refers(it) ? 2 * sizeof(emi_pair) + it->bytes : it->bytes);
}

void emi_pq_sorting_init(emi_pq_sorting *s, em_ctx *ctx, emi_pq_items *items, uint32_t threads)
{
	memset(s, 0, sizeof *s);
	s->ctx = ctx;
	s->items = items;
	s->threads = threads;
}

void emi_pq_sorting_drop(emi_pq_sorting *s)
{
	emi_pq_sort_end(s);
	emi_piece_free(s->ctx, s->tmp, s->tmp_bytes);
	emi_piece_free(s->ctx, s->work, EMI_KERN_WORK);
	s->tmp = s->work = NULL;
	s->tmp_bytes = 0;
}

uint64_t emi_pq_sorting_memory(const emi_pq_items *items, uint64_t bytes)
{
	return scratch(items, bytes / items->bytes) + EMI_PAGE + EMI_KERN_WORK + EMI_PAGE;
}

/* As much scratch as is needed, but small amounts as others want, too. */
static em_status need_scratch(emi_pq_sorting *s, uint64_t bytes, em_errinfo *err)
{
	size_t wanted = (size_t)bytes;

	if (s->work == NULL && s->items->by.own == NULL)
		s->work = emi_piece_alloc(s->ctx, EMI_KERN_WORK, err);
	if (s->work == NULL && s->items->by.own == NULL)
		return err->status;
	if (wanted <= s->tmp_bytes)
		return EM_OK;
	if (wanted < EMI_KERN_WORK)
		wanted = emi_piece_bytes(wanted);
	emi_piece_free(s->ctx, s->tmp, s->tmp_bytes);
	s->tmp_bytes = 0;
	s->tmp = emi_piece_alloc(s->ctx, wanted, err);
	if (s->tmp == NULL)
		return err->status;
	s->tmp_bytes = wanted;
	return EM_OK;
}

static void sort_records(emi_pq_sorting *s, char *records, size_t n)
{
	emi_collation *by = &s->items->by;
	emi_pair *pair = s->tmp;
	char *sorted = (char *)(pair + 2 * n);

	emi_collation_load(by, records, n, pair);
	emi_collation_sort(by, &by->tie, pair, pair + n, n, s->work);
	emi_collation_store(by, pair, n, sorted);
	memcpy(records, sorted, n * s->items->bytes);
}

static void sort(emi_pq_sorting *s, char *items, size_t n)
{
	emi_collation *by = &s->items->by;

	if (refers(s->items))
		sort_records(s, items, n);
	else
		emi_collation_sort(by, &by->tie, items, s->tmp, n, s->work);
}

em_status emi_pq_sort(emi_pq_sorting *s, char *items, size_t n, em_errinfo *err)
{
	em_status st;

	if (n < 2)
		return EM_OK;
	emi_pq_sort_end(s);
	st = need_scratch(s, scratch(s->items, n), err);
	if (st != EM_OK)
		return st;
	sort(s, items, n);
	return emi_collation_check(&s->items->by, err);
}

static void sort_task(void *sorting)
{
	emi_pq_sorting *s = sorting;

	sort(s, s->at, s->n);
}

em_status emi_pq_sort_begin(emi_pq_sorting *s, char *items, size_t n, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	/* Functions of the caller's are called on his thread, and their failures are told at once. */
	if (n < 2 || s->threads == 1 || s->items->functions || emi_workers_reach(s->ctx, s->threads, &own) != EM_OK)
		return emi_pq_sort(s, items, n, err);
	emi_pq_sort_end(s);
	st = need_scratch(s, scratch(s->items, n), err);
	if (st != EM_OK)
		return st;
	s->at = items;
	s->n = n;
	emi_task_submit(s->ctx, &s->task, sort_task, s);
	return EM_OK;
}

void emi_pq_sort_end(emi_pq_sorting *s)
{
	/* In the child of a fork nobody sorts any more. */
	if (s->n != 0 && !emi_ctx_forked(s->ctx))
		emi_task_wait(s->ctx, &s->task);
	s->n = 0;
}
