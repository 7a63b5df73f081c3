/* SPDX-License-Identifier: BSL-1.0 */
/* public_queue.c -- queues as callers outside know them; see public_ends.h. */
#include <extmem/queue.h>

#include "container/public_ends.h"

struct em_queue {
	emi_container c;
};

static emi_container *inside(em_queue *q)
{
	return q != NULL ? &q->c : NULL;
}

em_status em_queue_open(em_queue **out, em_ctx *ctx, const em_container_opts *opts)
{
	emi_container *c = NULL;
	const em_status st = emi_container_open(out != NULL ? &c : NULL, ctx, opts, EMI_QUEUE);

	if (out != NULL)
		*out = (em_queue *)c;
	return st;
}

void em_queue_close(em_queue *q)
{
	emi_object_close(q);
}

void em_queue_cancel(em_queue *q)
{
	emi_object_cancel(q);
}

uint64_t em_queue_memory(const em_container_opts *opts, uint64_t records)
{
	return emi_container_memory(opts, EMI_QUEUE, records);
}

uint64_t em_queue_size(const em_queue *q)
{
	return emi_container_size((const emi_container *)q);
}

uint64_t em_queue_record_bytes(const em_queue *q)
{
	return emi_container_record_bytes((const emi_container *)q);
}

em_status em_queue_push(em_queue *q, const void *record)
{
	return emi_container_push_back(inside(q), record);
}

em_status em_queue_push_many(em_queue *q, const void *records, uint64_t n, uint64_t *pushed)
{
	return emi_container_push(inside(q), EMI_BACK, records, n, pushed);
}

em_status em_queue_pop(em_queue *q, void *record)
{
	return emi_container_pop_front(inside(q), record);
}

em_status em_queue_pop_many(em_queue *q, void *records, uint64_t n, uint64_t *popped)
{
	return emi_container_pop(inside(q), EMI_FRONT, records, n, popped);
}

em_status em_queue_front(em_queue *q, void *record)
{
	return emi_container_peek(inside(q), EMI_FRONT, record);
}

em_status em_queue_back(em_queue *q, void *record)
{
	return emi_container_peek(inside(q), EMI_BACK, record);
}

em_window *em_queue_push_window(em_queue *q)
{
	return emi_container_window(inside(q), EMI_BACK);
}

em_window *em_queue_pop_window(em_queue *q)
{
	return emi_container_window(inside(q), EMI_FRONT);
}

em_status em_queue_clear(em_queue *q)
{
	return emi_container_clear(inside(q));
}

em_status em_queue_swap(em_queue *a, em_queue *b)
{
	return emi_container_swap(inside(a), inside(b));
}

em_status em_queue_prefetch(em_queue *q, uint32_t blocks)
{
	return emi_container_prefetch(inside(q), blocks);
}

em_status em_queue_stats_get(const em_queue *q, em_container_stats *stats)
{
	return emi_container_stats((const emi_container *)q, stats);
}

void em_queue_error(const em_queue *q, em_errinfo *err)
{
	emi_object_error(q, err);
}
