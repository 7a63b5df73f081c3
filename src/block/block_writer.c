/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_writer.c -- see block_writer.h.
 *
 * Buffers are a ring.  The one being filled is sent when room is asked for that it does not have, so the last block is
 * never an empty one; then the next in the ring is waited for, which is the oldest on its way.  `left' is 0 before the
 * first block and after a failure, so that the inline part comes here.
 */
#include "block/block_writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

static em_status sticky(const emi_block_writer *w, em_errinfo *err)
{
	if (w->err.status != EM_OK && err != NULL && err->status >= EM_OK)
		*err = w->err;
	return w->err.status;
}

static char *buffer(const emi_block_writer *w, uint32_t i)
{
	return em_block_at(&w->layout, w->room, i);
}

static int has_length(const emi_block_writer *w)
{
	return emi_store_length(w->store) != UINT64_MAX;
}

static em_status check(const emi_block_writer *w, em_errinfo *err)
{
	if (w->nbuffers == 0)
		return emi_fail(err, EM_ERR_INVAL, "a writer without buffers");
	if (!has_length(w))
		return EM_OK;
	if (w->order == EMI_REVERSE)
		return emi_fail(err, EM_ERR_INVAL, "a file is written forwards only");
	if (emi_store_read_only(w->store) || w->next % w->layout.bytes != 0)
		return emi_fail(err, EM_ERR_INVAL, "no block of %" PRIu64 " bytes can be written at %" PRIu64,
				(uint64_t)w->layout.bytes, w->next);
	return EM_OK;
}

em_status emi_block_writer_open(emi_block_writer *w, em_ctx *ctx, emi_store *store, size_t block_bytes, size_t record,
				uint32_t nbuffers, emi_block_order order, uint64_t first, emi_io_stats *io,
				em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;
	uint32_t i;

	memset(w, 0, sizeof *w);
	w->ctx = ctx;
	w->store = emi_store_hold(store);
	w->io = io;
	w->order = order;
	w->nbuffers = nbuffers;
	w->next = first;
	w->before = emi_store_length(store);
	st = em_block_layout_init(&w->layout, block_bytes, record, 0, 0, &own);
	if (st == EM_OK)
		st = check(w, &own);
	if (st != EM_OK)
		goto out;
	w->step = order == EMI_REVERSE ? -(ptrdiff_t)record : (ptrdiff_t)record;
	w->rq = emi_alloc_array(ctx, nbuffers, sizeof *w->rq, &own);
	if (w->rq != NULL)
		w->room = emi_buffer_alloc_array(ctx, nbuffers, block_bytes, &own);
	st = own.status;
	if (st != EM_OK)
		goto out;
	/* What was in that memory before is nobody's business to find on the disk. */
	for (i = 0; i < nbuffers; i++)
		memset(buffer(w, i), 0, block_bytes);
out:
	if (st != EM_OK) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		emi_block_writer_close(w);
	}
	return st;
}

uint64_t emi_block_writer_memory(size_t block_bytes, uint32_t nbuffers)
{
	return (uint64_t)nbuffers * (block_bytes + sizeof(emi_request));
}

/* Keep the first failure; from then on there is no room. */
static em_status fails(emi_block_writer *w, em_status st, em_errinfo *err)
{
	if (w->err.status == EM_OK)
		w->err.status = st;
	w->left = 0;
	return sticky(w, err);
}

/* Begin to write the block that is being filled, and take the next buffer. */
static em_status send(emi_block_writer *w, em_errinfo *err)
{
	const emi_span span = { w->list.bid[w->list.blocks - 1], w->layout.bytes };
	em_status st = emi_store_forget(w->store, NULL, &span, err);

	if (st == EM_OK)
		st = emi_store_write(w->store, &w->rq[w->cur], buffer(w, w->cur), w->layout.bytes, span.at, w->io, err);
	w->cur = w->cur + 1 < w->nbuffers ? w->cur + 1 : 0;
	return st;
}

/* A place for one block more, in a store that has a length; which grows by an eighth, as setting that waits for all
 * that is on its way. */
static em_status place_next(emi_block_writer *w, em_bid *bid, em_errinfo *err)
{
	const uint64_t bytes = w->layout.bytes, length = emi_store_length(w->store);
	em_status st = EM_OK;

	bid->disk = 0;
	bid->reserved = 0;
	bid->offset = w->next;
	if (w->next + bytes > length)
		st = emi_store_resize(w->store, w->next + bytes + (w->next / 8 / bytes + w->nbuffers) * bytes, err);
	if (st == EM_OK)
		w->next += bytes;
	return st;
}

/* Of blocks that nobody is going to know. */
static void free_block(emi_block_writer *w, em_bid bid)
{
	if (!has_length(w))
		(void)emi_store_free(w->store, NULL, bid, w->layout.bytes, NULL);
}

em_status emi_block_writer_turn(emi_block_writer *w, em_errinfo *err)
{
	em_bid bid;
	em_status st = w->err.status;

	if (st != EM_OK)
		return sticky(w, err);
	if (w->list.blocks > 0)
		st = send(w, &w->err);
	if (st == EM_OK)
		st = emi_wait(&w->rq[w->cur], &w->err);
	if (st == EM_OK)
		st = has_length(w) ? place_next(w, &bid, &w->err)
				   : emi_store_alloc(w->store, NULL, 0, w->layout.bytes, &bid, 1, &w->err);
	if (st != EM_OK)
		return fails(w, st, err);
	st = emi_block_list_add(&w->list, w->ctx, bid, &w->err);
	if (st != EM_OK) {
		free_block(w, bid);
		return fails(w, st, err);
	}
	w->left = w->layout.capacity;
	w->at = em_block_record(&w->layout, buffer(w, w->cur), w->order == EMI_REVERSE ? w->left - 1 : 0);
	return EM_OK;
}

em_status emi_block_writer_lend(emi_block_writer *w, char **records, size_t *n, em_errinfo *err)
{
	const em_status st = w->left == 0 ? emi_block_writer_turn(w, err) : EM_OK;

	*n = w->left;
	*records = NULL;
	if (st == EM_OK)
		*records = w->order == EMI_REVERSE ? buffer(w, w->cur) : w->at;
	return st;
}

void emi_block_writer_took(emi_block_writer *w, size_t n)
{
	w->at += (ptrdiff_t)n * w->step;
	w->left -= n;
}

/* Wait for all; blocks whose writes failed or that nobody is going to know are freed. */
static em_status end(emi_block_writer *w)
{
	em_status st = w->err.status;
	uint32_t i;

	for (i = 0; w->rq != NULL && i < w->nbuffers; i++) {
		const em_status one = emi_wait(&w->rq[i], &w->err);

		if (st == EM_OK)
			st = one;
	}
	return st;
}

static void free_blocks(emi_block_writer *w)
{
	uint64_t i;

	for (i = 0; i < w->list.blocks; i++)
		free_block(w, w->list.bid[i]);
	emi_block_list_release(&w->list, w->ctx);
}

/* Send the last block, unless nothing is in it: its room may have been lent in vain.  *left: places that are left in
 * what is the last one then. */
static em_status send_last(emi_block_writer *w, size_t *left, em_errinfo *err)
{
	if (w->left < w->layout.capacity) {
		*left = w->left;
		return send(w, err);
	}
	w->next -= w->layout.bytes;
	free_block(w, w->list.bid[--w->list.blocks]);
	*left = 0;
	return EM_OK;
}

/* The length that is not needed goes: what is behind the last record, unless it was there before. */
static em_status trim(emi_block_writer *w, uint64_t end, em_errinfo *err)
{
	if (end < w->before)
		end = w->before;
	return has_length(w) && end < emi_store_length(w->store) ? emi_store_resize(w->store, end, err) : EM_OK;
}

/* Where the last record ends. */
static uint64_t end_of(const emi_block_writer *w, size_t left)
{
	return w->list.blocks != 0 ? w->next - w->layout.bytes + (w->layout.capacity - left) * w->layout.record
				   : w->next;
}

em_status emi_block_writer_finish(emi_block_writer *w, emi_block_list *list, em_errinfo *err)
{
	size_t left = w->left;
	em_status st;

	memset(list, 0, sizeof *list);
	if (w->err.status == EM_OK && w->list.blocks > 0)
		w->err.status = send_last(w, &left, &w->err);
	w->left = 0;
	st = end(w);
	if (st == EM_OK)
		st = trim(w, end_of(w, left), &w->err);
	if (st != EM_OK) {
		st = fails(w, st, err);
		free_blocks(w);
		return st;
	}
	w->before = UINT64_MAX;
	*list = w->list;
	memset(&w->list, 0, sizeof w->list);
	list->records = list->blocks * w->layout.capacity - left;
	if (w->order == EMI_REVERSE) {
		emi_block_list_reverse(list);
		list->skip = left;
	}
	return EM_OK;
}

void emi_block_writer_close(emi_block_writer *w)
{
	if (w->ctx == NULL)
		return;
	if (!emi_ctx_forked(w->ctx) && w->room != NULL) {
		(void)end(w);
		(void)trim(w, 0, NULL);
	}
	free_blocks(w);
	emi_buffer_free_array(w->ctx, w->room, w->nbuffers, w->layout.bytes);
	emi_free_array(w->ctx, w->rq, w->nbuffers, sizeof *w->rq);
	emi_store_close(w->store);
	memset(w, 0, sizeof *w);
}
