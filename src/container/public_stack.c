/* SPDX-License-Identifier: BSL-1.0 */
/* public_stack.c -- stacks as callers outside know them; see public_ends.h. */
#include <extmem/stack.h>

#include "container/public_ends.h"

struct em_stack {
	emi_container c;
};

static emi_container *inside(em_stack *s)
{
	return s != NULL ? &s->c : NULL;
}

em_status em_stack_open(em_stack **out, em_ctx *ctx, const em_container_opts *opts)
{
	emi_container *c = NULL;
	const em_status st = emi_container_open(out != NULL ? &c : NULL, ctx, opts, EMI_STACK);

	if (out != NULL)
		*out = (em_stack *)c;
	return st;
}

void em_stack_close(em_stack *s)
{
	emi_object_close(s);
}

void em_stack_cancel(em_stack *s)
{
	emi_object_cancel(s);
}

uint64_t em_stack_memory(const em_container_opts *opts, uint64_t records)
{
	return emi_container_memory(opts, EMI_STACK, records);
}

uint64_t em_stack_size(const em_stack *s)
{
	return emi_container_size((const emi_container *)s);
}

uint64_t em_stack_record_bytes(const em_stack *s)
{
	return emi_container_record_bytes((const emi_container *)s);
}

em_status em_stack_push(em_stack *s, const void *record)
{
	return emi_container_push_back(inside(s), record);
}

em_status em_stack_push_many(em_stack *s, const void *records, uint64_t n, uint64_t *pushed)
{
	return emi_container_push(inside(s), EMI_BACK, records, n, pushed);
}

em_status em_stack_pop(em_stack *s, void *record)
{
	return emi_container_pop_back(inside(s), record);
}

em_status em_stack_pop_many(em_stack *s, void *records, uint64_t n, uint64_t *popped)
{
	return emi_container_pop(inside(s), EMI_BACK, records, n, popped);
}

em_status em_stack_peek(em_stack *s, void *record)
{
	return emi_container_peek(inside(s), EMI_BACK, record);
}

em_window *em_stack_window(em_stack *s)
{
	return emi_container_window(inside(s), EMI_BACK);
}

em_status em_stack_clear(em_stack *s)
{
	return emi_container_clear(inside(s));
}

em_status em_stack_swap(em_stack *a, em_stack *b)
{
	return emi_container_swap(inside(a), inside(b));
}

em_status em_stack_prefetch(em_stack *s, uint32_t blocks)
{
	return emi_container_prefetch(inside(s), blocks);
}

em_status em_stack_stats_get(const em_stack *s, em_container_stats *stats)
{
	return emi_container_stats((const emi_container *)s, stats);
}

void em_stack_error(const em_stack *s, em_errinfo *err)
{
	emi_object_error(s, err);
}
