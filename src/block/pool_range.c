/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_range.c -- a pool as a holder of its store, as others on that see it; see holder.h.
 *
 * Slots are few, so whoever asks about a span has all of them looked at.  Slots without a block may still have a
 * transfer under way of one that was dropped; it must be over when a span was forgotten, too.
 */
#include "block/block_pool.h"

#include <string.h>

#include "base/context.h"

/* The pool of a holder, which is a part of it. */
static emi_block_pool *pool_of(emi_holder *h)
{
	return (emi_block_pool *)(void *)((char *)h - offsetof(emi_block_pool, holder));
}

static size_t part_of(const emi_block_pool *p, const emi_pool_slot *s, const emi_span *span, size_t *from)
{
	return emi_span_of_block(span, s->bid, p->block_bytes, from);
}

static int is_newer(const emi_pool_slot *s)
{
	return s->known && (s->state == EMI_POOL_WRITING || s->state == EMI_POOL_FAILED);
}

/* Have it written now. */
static em_status write_now(emi_block_pool *p, emi_pool_slot *s, em_errinfo *err)
{
	em_status st = EM_OK;

	if (s->state == EMI_POOL_FAILED)
		st = emi_slot_write(p, s, err);
	return st == EM_OK ? emi_slot_end_write(p, s, err) : st;
}

static em_status flush(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	emi_block_pool *p = pool_of(h);
	em_status first = emi_store_check_work(p->store, err);
	uint32_t i;
	size_t from;

	for (i = 0; i < p->nslots && first == EM_OK; i++)
		if (is_newer(p->slot[i]) && part_of(p, p->slot[i], span, &from) != 0)
			first = write_now(p, p->slot[i], err);
	return first;
}

static em_status forget(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	emi_block_pool *p = pool_of(h);
	em_status first = EM_OK;
	uint32_t i;

	for (i = 0; i < p->nslots; i++) {
		emi_pool_slot *s = p->slot[i];
		size_t from;
		const size_t bytes = part_of(p, s, span, &from);
		em_status st = EM_OK;

		if (bytes == 0 || (!s->known && emi_done(&s->rq) && !s->frees))
			continue;
		if (bytes < p->block_bytes && is_newer(s))
			st = write_now(p, s, err);
		if (first == EM_OK)
			first = st;
		if (st != EM_OK)
			continue;
		if (s->known)
			emi_slot_drop_now(p, s);
		else
			emi_slot_settle(p, s);
	}
	return first;
}

static void cut(emi_holder *h, em_bid end)
{
	const emi_span span = {end, UINT64_MAX};
	emi_block_pool *p = pool_of(h);
	uint32_t i;

	for (i = 0; i < p->nslots; i++) {
		emi_pool_slot *s = p->slot[i];
		size_t from;
		const size_t bytes = part_of(p, s, &span, &from);

		if (bytes == 0)
			continue;
		if (!s->known) {
			emi_slot_settle(p, s);
			continue;
		}
		/* Of a block that the end is in the rest may be newer than the store. */
		if (from != 0 && is_newer(s)) {
			(void)write_now(p, s, NULL);
			memset(s->buf + from, 0, bytes);
			continue;
		}
		emi_slot_drop_now(p, s);
	}
}

/* Reads come behind writes that were begun before them, so only those that failed are to be minded. */
static void overlay(emi_holder *h, const emi_span *span, char *buf)
{
	emi_block_pool *p = pool_of(h);
	uint32_t i;

	for (i = 0; i < p->nslots; i++) {
		emi_pool_slot *s = p->slot[i];
		size_t from, bytes;

		if (s->state == EMI_POOL_WRITING && emi_done(&s->rq))
			(void)emi_slot_end_write(p, s, NULL);
		if (s->state != EMI_POOL_FAILED)
			continue;
		bytes = part_of(p, s, span, &from);
		if (bytes != 0)
			memcpy(buf + (s->bid.offset + from - span->at.offset), s->buf + from, bytes);
	}
}

const emi_holder_calls emi_pool_calls = {NULL, flush, forget, cut, overlay};
