/* SPDX-License-Identifier: BSL-1.0 */
/* public_deque.c -- deques as callers outside know them; see public_ends.h. */
#include <inttypes.h>

#include <extmem/deque.h>

#include "container/public_ends.h"

struct em_deque {
	emi_container c;
};

static emi_container *inside(em_deque *d)
{
	return d != NULL ? &d->c : NULL;
}

em_status em_deque_open(em_deque **out, em_ctx *ctx, const em_container_opts *opts)
{
	emi_container *c = NULL;
	const em_status st = emi_container_open(out != NULL ? &c : NULL, ctx, opts, EMI_DEQUE);

	if (out != NULL)
		*out = (em_deque *)c;
	return st;
}

void em_deque_close(em_deque *d)
{
	emi_object_close(d);
}

void em_deque_cancel(em_deque *d)
{
	emi_object_cancel(d);
}

uint64_t em_deque_memory(const em_container_opts *opts, uint64_t records)
{
	return emi_container_memory(opts, EMI_DEQUE, records);
}

uint64_t em_deque_size(const em_deque *d)
{
	return emi_container_size((const emi_container *)d);
}

uint64_t em_deque_record_bytes(const em_deque *d)
{
	return emi_container_record_bytes((const emi_container *)d);
}

em_status em_deque_push_back(em_deque *d, const void *record)
{
	return emi_container_push_back(inside(d), record);
}

em_status em_deque_push_front(em_deque *d, const void *record)
{
	return emi_container_push_front(inside(d), record);
}

em_status em_deque_push_back_many(em_deque *d, const void *records, uint64_t n, uint64_t *pushed)
{
	return emi_container_push(inside(d), EMI_BACK, records, n, pushed);
}

em_status em_deque_push_front_many(em_deque *d, const void *records, uint64_t n, uint64_t *pushed)
{
	return emi_container_push(inside(d), EMI_FRONT, records, n, pushed);
}

em_status em_deque_pop_back(em_deque *d, void *record)
{
	return emi_container_pop_back(inside(d), record);
}

em_status em_deque_pop_front(em_deque *d, void *record)
{
	return emi_container_pop_front(inside(d), record);
}

em_status em_deque_pop_back_many(em_deque *d, void *records, uint64_t n, uint64_t *popped)
{
	return emi_container_pop(inside(d), EMI_BACK, records, n, popped);
}

em_status em_deque_pop_front_many(em_deque *d, void *records, uint64_t n, uint64_t *popped)
{
	return emi_container_pop(inside(d), EMI_FRONT, records, n, popped);
}

em_status em_deque_back(em_deque *d, void *record)
{
	return emi_container_peek(inside(d), EMI_BACK, record);
}

em_status em_deque_front(em_deque *d, void *record)
{
	return emi_container_peek(inside(d), EMI_FRONT, record);
}

em_window *em_deque_back_window(em_deque *d)
{
	return emi_container_window(inside(d), EMI_BACK);
}

em_window *em_deque_front_window(em_deque *d)
{
	return emi_container_window(inside(d), EMI_FRONT);
}

em_status em_deque_clear(em_deque *d)
{
	return emi_container_clear(inside(d));
}

em_status em_deque_swap(em_deque *a, em_deque *b)
{
	return emi_container_swap(inside(a), inside(b));
}

em_status em_deque_prefetch(em_deque *d, uint32_t blocks)
{
	return emi_container_prefetch(inside(d), blocks);
}

em_status em_deque_stats_get(const em_deque *d, em_container_stats *stats)
{
	return emi_container_stats((const emi_container *)d, stats);
}

void em_deque_error(const em_deque *d, em_errinfo *err)
{
	emi_object_error(d, err);
}

/* Are there such records, and is there memory that they fit in? */
static em_status check_range(const emi_container *c, uint64_t i, const void *records, uint64_t n, em_errinfo *err)
{
	const uint64_t size = emi_ends_size(c->ends);

	if (n == 0 || records == NULL || (i <= size && n <= size - i))
		return emi_container_check(c, records, n, err);
	if (n == 1)
		return emi_fail(err, EM_ERR_RANGE, "there is no record %" PRIu64 ": there are %" PRIu64, i, size);
	return emi_fail(err, EM_ERR_RANGE, "there are no %" PRIu64 " records from %" PRIu64 " on: there are %" PRIu64,
			n, i, size);
}

em_status em_deque_read(em_deque *d, uint64_t i, void *records, uint64_t n)
{
	emi_container *c = inside(d);
	em_errinfo err;
	em_status st = emi_container_enter(c, &err);

	if (st != EM_OK)
		return st;
	st = check_range(c, i, records, n, &err);
	if (st == EM_OK)
		st = emi_ends_read(c->ends, i, records, n, &err);
	return emi_container_leave(c, st, &err);
}

em_status em_deque_write(em_deque *d, uint64_t i, const void *records, uint64_t n)
{
	emi_container *c = inside(d);
	em_errinfo err;
	em_status st = emi_container_enter(c, &err);

	if (st != EM_OK)
		return st;
	st = check_range(c, i, records, n, &err);
	if (st == EM_OK)
		st = emi_ends_write(c->ends, i, records, n, &err);
	return emi_container_leave(c, st, &err);
}

em_status em_deque_get(em_deque *d, uint64_t i, void *record)
{
	return em_deque_read(d, i, record, 1);
}

em_status em_deque_set(em_deque *d, uint64_t i, const void *record)
{
	return em_deque_write(d, i, record, 1);
}
