/* SPDX-License-Identifier: BSL-1.0 */
/* reverse.c -- the records of a stream from the last to the first: they go to a stack, and come back from it. */
#include <extmem/stack.h>
#include <extmem/stream_containers.h>

#include "base/error.h"
#include "container/ends.h"
#include "flow/stream.h"

typedef struct reverse {
	em_stream s;
	uint64_t memory;        /* of the stack; 0: as it chooses */
	em_stack *stack;        /* NULL: not yet, or no more */
	em_stream *from;        /* what it has; NULL: the input is not over yet */
} reverse;

static em_status open_stack(reverse *r, em_errinfo *err)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;

	if (r->stack != NULL)
		return EM_OK;
	o.record_bytes = r->s.record;
	o.memory_bytes = r->memory;
	o.errinfo = err;
	return em_stack_open(&r->stack, r->s.object.ctx, &o);
}

static em_status fill(reverse *r, em_errinfo *err)
{
	em_stream *in = r->s.input[0];
	em_status st = open_stack(r, err);

	while (st == EM_OK && (st = emi_stream_need(in, err)) == EM_OK) {
		st = em_stack_push_many(r->stack, in->source.at, emi_stream_hand(in), NULL);
		if (st != EM_OK)
			em_stack_error(r->stack, err);
		in->source.at = in->source.end;
	}
	if (st != EM_END)
		return st;
	emi_stream_retire(in);
	return em_stream_stack(&r->from, r->stack, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	reverse *r = (reverse *)(void *)s;
	em_status st = r->from != NULL ? EM_OK : fill(r, err);

	if (st == EM_OK)
		st = emi_stream_need(r->from, err);
	if (st != EM_OK)
		return st;
	s->source.at = r->from->source.at;
	s->source.end = r->from->source.end;
	r->from->source.at = r->from->source.end;
	return EM_OK;
}

static void retire(em_stream *s)
{
	reverse *r = (reverse *)(void *)s;

	em_stream_close(r->from);
	em_stack_close(r->stack);
	r->from = NULL;
	r->stack = NULL;
}

em_status em_stream_reverse(em_stream **out, em_stream *in, uint64_t memory_bytes, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "reverse", EMI_STREAM_BLOCKS };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK)
		s = emi_stream_new(NULL, sizeof(reverse), &kind, in->record, &in, 1, emi_stream_left(in), &err);
	if (s != NULL) {
		((reverse *)(void *)s)->memory = memory_bytes;
		s->claim += memory_bytes != 0 ? memory_bytes : emi_ends_usual_memory(s->object.ctx);
	}
	return emi_stream_end(s, out, st, theirs, &err);
}
