/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_writer.c -- see vector_stream.h.
 *
 * N grows when a block is sent.  If that turns out to have failed, N is what it was, or up to that block, so that what
 * was appended is there from the first to the last record.
 *
 * Whole blocks go past the cache, which forgets them.  One that the cache has not written yet is overwritten there: if
 * it were forgotten and its write failed, its records would be what they were long before.  And what a block that could
 * not be written had never had is zeros still.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "container/vector_stream.h"

/* State of a buffer from which nothing is being written; else how many bytes of its block were there before. */
#define IDLE UINT32_MAX

static em_status sticky(const emi_vector_writer *w, em_errinfo *err)
{
	if (w->err.status != EM_OK)
		*err = w->err;
	return w->err.status;
}

static em_status fails(emi_vector_writer *w, em_status st, em_errinfo *err)
{
	if (w->err.status == EM_OK)
		w->err.status = st;
	return sticky(w, err);
}

/* The position behind the block that the buffer is of, or what may be pushed at most. */
static uint64_t buffer_end(const emi_vector_writer *w)
{
	const emi_vector_layout *l = &w->v->layout;
	const uint64_t most = l->straddles ? w->begin + w->ring.bytes / l->record :
					     (w->first + w->turn + 1) * (l->payload / l->record);

	return most < w->end ? most : w->end;
}

/* Where the first record of the buffer stands in that. */
static char *buffer_begin(const emi_vector_writer *w)
{
	const emi_vector_layout *l = &w->v->layout;
	char *buf = emi_vector_ring_buf(&w->ring, w->turn);

	return l->straddles ? buf : buf + emi_vector_place_of(l, w->begin * l->record).from;
}

em_status emi_vector_writer_open(emi_vector_writer *w, emi_vector *v, uint64_t from, uint64_t n, uint32_t buffers,
				 em_errinfo *err)
{
	const emi_vector_layout *l = &v->layout;
	const uint64_t blocks =
		n <= UINT64_MAX / l->record - l->block_bytes ? n * l->record / l->payload + 2 : UINT64_MAX;
	em_status st;
	uint32_t b;

	w->v = v;
	w->at = w->begin = from;
	w->end = n <= UINT64_MAX - from ? from + n : UINT64_MAX;
	w->first = emi_vector_place_of(l, from * l->record).block;
	w->old = v->n;
	st = emi_vector_ring_open(&w->ring, v, buffers, blocks, err);
	if (st != EM_OK) {
		emi_vector_ring_close(&w->ring, v);
		return st;
	}
	for (b = 0; b < w->ring.buffers; b++) {
		w->ring.state[b] = IDLE;
		/* What was in that memory before is nobody's business to find on the disk. */
		if (!l->straddles)
			memset(emi_vector_ring_buf(&w->ring, b) + l->payload, 0, (size_t)(l->block_bytes - l->payload));
	}
	v->writers++;
	return EM_OK;
}

/* The block that was last written from a buffer. */
static uint64_t block_of(const emi_vector_writer *w, uint32_t b)
{
	const uint64_t turn = w->turn / w->ring.buffers * w->ring.buffers + b;

	return w->first + turn - (turn >= w->turn ? w->ring.buffers : 0);
}

/* Wait for the write from a buffer, where there is one.  When it failed, the block has no more than before. */
static em_status settle(emi_vector_writer *w, uint32_t b, em_errinfo *err)
{
	const uint32_t there = w->ring.state[b];
	em_status st;

	if (there == IDLE)
		return EM_OK;
	st = emi_wait(&w->ring.rq[b], err);
	w->ring.state[b] = IDLE;
	if (st != EM_OK)
		emi_store_unwrite(w->v->store, emi_vector_bid(w->v, block_of(w, b)), there);
	return st;
}

/* The same.  What was appended from there on is not there then. */
static em_status await(emi_vector_writer *w, uint32_t b)
{
	const em_status st = settle(w, b, &w->err);
	uint64_t n;
	uint32_t k;

	if (st == EM_OK)
		return EM_OK;
	w->err.status = st;
	for (k = 0; k < w->ring.buffers; k++)
		(void)settle(w, k, NULL);
	n = block_of(w, b) * (w->v->layout.payload / w->v->layout.record);
	if (n < w->old)
		n = w->old;
	if (n < w->v->n)
		(void)emi_vector_resize(w->v, n, NULL);
	return st;
}

/* A whole block goes to the store. */
static em_status write_block(emi_vector_writer *w)
{
	emi_vector *v = w->v;
	const emi_span span = { emi_vector_bid(v, w->first + w->turn), v->layout.block_bytes };
	const uint32_t b = (uint32_t)(w->turn % w->ring.buffers);
	const uint32_t there = emi_store_there(v->store, span.at);
	em_status st = emi_store_forget(v->store, NULL, &span, &w->err);

	if (st == EM_OK)
		st = emi_store_write(v->store, &w->ring.rq[b], emi_vector_ring_buf(&w->ring, b), v->layout.block_bytes,
				     span.at, NULL, &w->err);
	if (st != EM_OK)
		return st;
	w->ring.state[b] = there;
	v->written++;
	if (w->at > v->n)
		v->n = w->at;
	return EM_OK;
}

/* Does the buffer go past the cache? */
static int passes(const emi_vector_writer *w)
{
	const emi_vector_layout *l = &w->v->layout;

	return !l->straddles && (w->at - w->begin) * l->record == l->payload &&
	       !emi_cache_is_unsaved(w->v->cache, emi_vector_bid(w->v, w->first + w->turn));
}

/* Send the buffer, which has something in it, and have the next one free. */
static em_status send(emi_vector_writer *w)
{
	em_status st = emi_vector_cover(w->v, w->at, &w->err);
	uint64_t done;

	if (st == EM_OK && passes(w))
		st = write_block(w);
	else if (st == EM_OK)
		st = emi_vector_write(w->v, w->begin, buffer_begin(w), w->at - w->begin, &done, &w->err);
	if (st != EM_OK)
		return st;
	w->begin = w->at;
	w->turn++;
	return await(w, (uint32_t)(w->turn % w->ring.buffers));
}

em_status emi_vector_writer_lend(emi_vector_writer *w, char **records, uint64_t *n, em_errinfo *err)
{
	em_status st = w->err.status;

	if (st != EM_OK)
		return sticky(w, err);
	if (w->at == w->end)
		return emi_fail(err, EM_ERR_RANGE, "the writer may go up to record %" PRIu64, w->end);
	if (w->at == buffer_end(w))
		st = send(w);
	if (st != EM_OK)
		return fails(w, st, err);
	*records = buffer_begin(w) + (w->at - w->begin) * w->v->layout.record;
	*n = buffer_end(w) - w->at;
	return EM_OK;
}

void emi_vector_writer_took(emi_vector_writer *w, uint64_t n)
{
	w->at += n;
}

em_status emi_vector_writer_push(emi_vector_writer *w, const char *records, uint64_t n, em_errinfo *err)
{
	const size_t record = (size_t)w->v->layout.record;

	if (n > w->end - w->at && w->err.status == EM_OK)
		return emi_fail(err, EM_ERR_RANGE, "the writer may go up to record %" PRIu64, w->end);
	while (n != 0) {
		uint64_t room;
		char *to;
		const em_status st = emi_vector_writer_lend(w, &to, &room, err);

		if (st != EM_OK)
			return st;
		if (room > n)
			room = n;
		memcpy(to, records, (size_t)room * record);
		w->at += room;
		records += (size_t)room * record;
		n -= room;
	}
	return EM_OK;
}

em_status emi_vector_writer_finish(emi_vector_writer *w, em_errinfo *err)
{
	em_status st = w->err.status;
	uint32_t k;

	if (st == EM_OK && w->at != w->begin)
		st = send(w);
	/* The oldest first: what was appended before the first that failed is there. */
	for (k = 0; k < w->ring.buffers && st == EM_OK; k++)
		st = await(w, (uint32_t)((w->turn + k) % w->ring.buffers));
	if (st != EM_OK)
		return fails(w, st, err);
	w->finished = 1;
	return EM_OK;
}

void emi_vector_writer_close(emi_vector_writer *w)
{
	em_status st = EM_OK;
	uint32_t k;

	if (w->ring.buffers == 0)
		return;
	/* Also after a failure that was not one of these: what is under way may fail yet. */
	if (!emi_ctx_forked(w->v->ctx))
		for (k = 0; k < w->ring.buffers && st == EM_OK; k++)
			st = await(w, (uint32_t)((w->turn + k) % w->ring.buffers));
	w->v->writers--;
	emi_vector_ring_close(&w->ring, w->v);
}
