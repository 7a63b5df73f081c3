/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_reader.c -- see block_reader.h.
 *
 * Buffers are a ring: the i-th block that is read, whichever list it is in and wherever, goes through buffer i mod n.  The next is requested as soon as the caller is done
 * with the block whose buffer it takes.
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

static void ask(emi_block_reader *r)
{
	for (; !at_end(r, &r->asked) && r->asked.n - r->taken.n < r->nbuffers; advance(r, &r->asked)) {
		const uint32_t b = (uint32_t)(r->asked.n % r->nbuffers);

		emi_block_read(r->disk, &r->rq[b], em_block_at(&r->layout, r->room, b), r->layout.bytes, bid_of(r, &r->asked), r->io);
	}
}

em_status emi_block_reader_open(emi_block_reader *r, em_ctx *ctx, emi_disk *disk, size_t block_bytes, size_t record, uint32_t nbuffers,
				const emi_block_list *list, uint32_t lists, emi_block_order order, int frees, emi_io_stats *io, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status st;

	memset(r, 0, sizeof *r);
	r->ctx = ctx;
	r->disk = disk;
	r->io = io;
	r->order = order;
	r->list = list;
	r->lists = lists;
	r->nbuffers = nbuffers;
	st = em_block_layout_init(&r->layout, block_bytes, record, 0, 0, &own);
	if (st == EM_OK && nbuffers == 0)
		st = emi_fail(&own, EM_ERR_INVAL, "a reader without buffers");
	if (st != EM_OK)
		goto out;
	r->step = order == EMI_REVERSE ? -(ptrdiff_t)record : (ptrdiff_t)record;
	r->rq = emi_alloc_array(ctx, nbuffers, sizeof *r->rq, &own);
	if (r->rq != NULL)
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
	return (uint64_t)nbuffers * (block_bytes + sizeof(emi_request));
}

/* The caller is done with the block it was at. */
static void leave(emi_block_reader *r)
{
	if (!r->frees || r->freed.n == r->taken.n)
		return;
	emi_bid_free(r->disk, bid_of(r, &r->freed), r->layout.bytes);
	advance(r, &r->freed);
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
	emi_request *rq = &r->rq[r->taken.n % r->nbuffers];
	em_status st = r->err.status;

	if (st != EM_OK)
		return sticky(r, err);
	leave(r);
	ask(r);
	if (at_end(r, &r->taken))
		return EM_END;
	st = emi_wait(rq, &r->err);
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
	for (i = 0; r->rq != NULL && i < r->nbuffers; i++) {
		if (!emi_ctx_forked(r->ctx))
			emi_wait(&r->rq[i], NULL);
	}
	for (; r->frees && !at_end(r, &r->freed); advance(r, &r->freed))
		emi_bid_free(r->disk, bid_of(r, &r->freed), r->layout.bytes);
	emi_buffer_free_array(r->ctx, r->room, r->nbuffers, r->layout.bytes);
	emi_free_array(r->ctx, r->rq, r->nbuffers, sizeof *r->rq);
	memset(r, 0, sizeof *r);
}
