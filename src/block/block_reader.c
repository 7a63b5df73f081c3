/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_reader.c -- see block_reader.h.
 *
 * Buffers are a ring: the i-th block that is read, whichever list it is in and wherever, goes through buffer i mod n.
 * The next is requested as soon as the caller is done with the block whose buffer it takes.
 */
#include "block/block_reader.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

static em_status sticky(const emi_block_reader *r, em_errinfo *err)
{
	if (r->err.status != EM_OK && err != NULL && err->status >= EM_OK)
		*err = r->err;
	return r->err.status;
}

static const emi_block_list *list_of(const emi_block_reader *r, const emi_block_cursor *c)
{
	return &r->list[r->order == EMI_REVERSE ? r->lists - 1 - c->list : c->list];
}

/* Where a block is in its list. */
static uint64_t index_of(const emi_block_reader *r, const emi_block_cursor *c)
{
	return r->order == EMI_REVERSE ? list_of(r, c)->blocks - 1 - c->block : c->block;
}

static em_bid bid_of(const emi_block_reader *r, const emi_block_cursor *c)
{
	return list_of(r, c)->bid[index_of(r, c)];
}

static int at_end(const emi_block_reader *r, const emi_block_cursor *c)
{
	return c->list == r->lists;
}

/* To the next list that has a block, if this one has no more. */
static void settle(const emi_block_reader *r, emi_block_cursor *c)
{
	while (!at_end(r, c) && c->block == list_of(r, c)->blocks) {
		c->list++;
		c->block = 0;
	}
}

static void advance(const emi_block_reader *r, emi_block_cursor *c)
{
	c->n++;
	c->block++;
	settle(r, c);
}

/* A block that is not there is told of when the caller gets to it, like one that cannot be read. */
static void ask(emi_block_reader *r)
{
	for (; !at_end(r, &r->asked) && r->asked.n - r->taken.n < r->nbuffers; advance(r, &r->asked)) {
		const uint32_t b = (uint32_t)(r->asked.n % r->nbuffers);
		const em_bid bid = bid_of(r, &r->asked);

		r->ahead[b].stale = emi_store_check_block(r->store, EMI_READ, bid, r->layout.bytes, NULL) != EM_OK;
		if (!r->ahead[b].stale)
			emi_store_read_written(r->store, &r->ahead[b].rq, em_block_at(&r->layout, r->room, b),
					       r->layout.bytes, bid, r->io);
	}
}

/* The reader of a holder, which is a part of it. */
static emi_block_reader *reader_of(emi_holder *h)
{
	return (emi_block_reader *)(void *)((char *)h - offsetof(emi_block_reader, holder));
}

/* What was read ahead of a span is to be read again; it is on its way no longer. */
static em_status forget(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	emi_block_reader *r = reader_of(h);
	emi_block_cursor c;
	size_t from;

	(void)err;
	for (c = r->taken; c.n < r->asked.n; advance(r, &c)) {
		const uint32_t b = (uint32_t)(c.n % r->nbuffers);

		if (emi_span_of_block(span, bid_of(r, &c), r->layout.bytes, &from) == 0)
			continue;
		(void)emi_cancel(&r->ahead[b].rq);
		(void)emi_wait(&r->ahead[b].rq, NULL);
		r->ahead[b].stale = 1;
	}
	return EM_OK;
}

static void cut(emi_holder *h, em_bid end)
{
	const emi_span span = { end, UINT64_MAX };

	(void)forget(h, &span, NULL);
}

static const emi_holder_calls calls = { NULL, NULL, forget, cut, NULL };

em_status emi_block_reader_open(emi_block_reader *r, em_ctx *ctx, emi_store *store, size_t block_bytes, size_t record,
				uint32_t nbuffers, const emi_block_list *list, uint32_t lists, emi_block_order order,
				int frees, emi_io_stats *io, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	memset(r, 0, sizeof *r);
	r->ctx = ctx;
	r->store = emi_store_hold(store);
	r->io = io;
	r->order = order;
	r->list = list;
	r->lists = lists;
	r->nbuffers = nbuffers;
	emi_store_join(store, &r->holder, &calls);
	st = em_block_layout_init(&r->layout, block_bytes, record, 0, 0, &own);
	if (st == EM_OK && nbuffers == 0)
		st = emi_fail(&own, EM_ERR_INVAL, "a reader without buffers");
	if (st != EM_OK)
		goto out;
	r->step = order == EMI_REVERSE ? -(ptrdiff_t)record : (ptrdiff_t)record;
	r->ahead = emi_alloc_array(ctx, nbuffers, sizeof *r->ahead, &own);
	if (r->ahead != NULL)
		r->room = emi_buffer_alloc_array(ctx, nbuffers, block_bytes, &own);
	st = own.status;
out:
	if (st != EM_OK) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		emi_block_reader_close(r);
		return st;
	}
	r->frees = frees;
	settle(r, &r->taken);
	r->asked = r->freed = r->taken;
	ask(r);
	return EM_OK;
}

uint64_t emi_block_reader_memory(size_t block_bytes, uint32_t nbuffers)
{
	return (uint64_t)nbuffers * (block_bytes + sizeof(emi_read_ahead));
}

/* The caller is done with the block it was at. */
static void leave(emi_block_reader *r)
{
	if (!r->frees || r->freed.n == r->taken.n)
		return;
	(void)emi_store_free(r->store, &r->holder, bid_of(r, &r->freed), r->layout.bytes, NULL);
	advance(r, &r->freed);
}

/* Read it now. */
static em_status read_now(emi_block_reader *r, uint32_t b, em_bid bid, em_errinfo *err)
{
	em_status st = emi_store_check_block(r->store, EMI_READ, bid, r->layout.bytes, err);

	if (st != EM_OK)
		return st;
	emi_store_read_written(r->store, &r->ahead[b].rq, em_block_at(&r->layout, r->room, b), r->layout.bytes, bid,
			       r->io);
	return emi_wait(&r->ahead[b].rq, err);
}

/* Have the block that comes next as it is now. */
static em_status await_next(emi_block_reader *r, em_errinfo *err)
{
	const uint32_t b = (uint32_t)(r->taken.n % r->nbuffers);
	const emi_span span = { bid_of(r, &r->taken), r->layout.bytes };
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = r->ahead[b].stale ? read_now(r, b, span.at, &own) : emi_wait(&r->ahead[b].rq, &own);

	/* Nothing was written yet: perhaps somebody has it in memory. */
	if (st == EM_ERR_STATE && emi_store_flush(r->store, &span, NULL) == EM_OK) {
		own.status = EM_OK;
		st = read_now(r, b, span.at, &own);
	}
	if (st == EM_OK)
		emi_store_overlay(r->store, &r->holder, &span, em_block_at(&r->layout, r->room, b));
	else if (err != NULL && err->status >= EM_OK)
		*err = own;
	return st;
}

/* Have the records of a block that was read. */
static void enter(emi_block_reader *r, const emi_block_cursor *c)
{
	const emi_block_list *l = list_of(r, c);
	const size_t capacity = r->layout.capacity;
	const uint64_t at = index_of(r, c), end = emi_block_list_end(l) - at * capacity;
	const size_t from = at == 0 ? l->skip : 0, to = end < capacity ? (size_t)end : capacity;
	char *block = em_block_at(&r->layout, r->room, (size_t)(c->n % r->nbuffers));

	r->left = to - from;
	r->at = em_block_record(&r->layout, block, r->order == EMI_REVERSE ? to - 1 : from);
}

em_status emi_block_reader_turn(emi_block_reader *r, em_errinfo *err)
{
	em_status st = r->err.status;

	if (st != EM_OK)
		return sticky(r, err);
	leave(r);
	ask(r);
	if (at_end(r, &r->taken))
		return EM_END;
	st = await_next(r, &r->err);
	if (st != EM_OK) {
		r->err.status = st;
		return sticky(r, err);
	}
	enter(r, &r->taken);
	advance(r, &r->taken);
	return EM_OK;
}

em_status emi_block_reader_next(emi_block_reader *r, const char **records, size_t *n, em_errinfo *err)
{
	const em_status st = r->left == 0 ? emi_block_reader_turn(r, err) : EM_OK;

	*n = st == EM_OK ? r->left : 0;
	*records = NULL;
	if (st != EM_OK)
		return st;
	*records = r->order == EMI_REVERSE ? r->at - (r->left - 1) * r->layout.record : r->at;
	r->left = 0;
	return EM_OK;
}

void emi_block_reader_close(emi_block_reader *r)
{
	uint32_t i;

	if (r->ctx == NULL)
		return;
	for (i = 0; r->room != NULL && i < r->nbuffers; i++) {
		if (!emi_ctx_forked(r->ctx))
			emi_wait(&r->ahead[i].rq, NULL);
	}
	emi_store_part(r->store, &r->holder);
	for (; r->frees && !at_end(r, &r->freed); advance(r, &r->freed))
		(void)emi_store_free(r->store, NULL, bid_of(r, &r->freed), r->layout.bytes, NULL);
	emi_buffer_free_array(r->ctx, r->room, r->nbuffers, r->layout.bytes);
	emi_free_array(r->ctx, r->ahead, r->nbuffers, sizeof *r->ahead);
	emi_store_close(r->store);
	memset(r, 0, sizeof *r);
}
