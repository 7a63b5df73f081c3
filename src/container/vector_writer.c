/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_writer.c -- see vector_stream.h.
 *
 * N grows when a block is sent.  If that turns out to have failed, N is what it was, or up to that block, so that what
 * was appended is there from the first to the last record.  Only while a record behind is pinned it stays.
 *
 * Whole blocks go past the cache, which forgets them.  One that the cache has not written yet is overwritten there: if
 * it were forgotten and its write failed, its records would be what they were long before.
 *
 * Until a write has succeeded the writer lends the block, and behind a failure what the block never had is zeros still:
 * on the disk there may be anything.  What the cache was lent it forgets, unless it was changed since or is pinned:
 * then it stays what it is, and the cache writes it.
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

/* The block that was last written from a buffer. */
static uint64_t block_of(const emi_vector_writer *w, uint32_t b)
{
	const uint64_t turn = w->turn / w->ring.buffers * w->ring.buffers + b;

	return w->first + turn - (turn >= w->turn ? w->ring.buffers : 0);
}

static emi_span span_of(const emi_vector_writer *w, uint32_t b)
{
	const emi_span span = { emi_vector_bid(w->v, block_of(w, b)), w->v->layout.block_bytes };

	return span;
}

/* A block could not be written: it has no more than before, and what others have read of it meanwhile is old, unless
 * the cache keeps it.  Returns up to where all that was appended is there. */
static uint64_t lose(emi_vector_writer *w, uint32_t b, uint32_t there)
{
	const emi_vector_layout *l = &w->v->layout;
	const uint64_t n = block_of(w, b) * (l->payload / l->record);
	const emi_span span = span_of(w, b);

	emi_store_unwrite(w->v->store, span.at, there);
	if (emi_cache_rescue(w->v->cache, span.at))
		return UINT64_MAX;
	(void)emi_store_forget(w->v->store, &w->holder, &span, NULL);
	return n > w->old ? n : w->old;
}

/* Wait for the write from a buffer, where there is one.  When it failed, *n becomes as little as is there. */
static em_status settle(emi_vector_writer *w, uint32_t b, uint64_t *n, em_errinfo *err)
{
	const uint32_t there = w->ring.state[b];
	uint64_t all;
	em_status st;

	if (there == IDLE)
		return EM_OK;
	st = emi_wait(&w->ring.rq[b], err);
	w->ring.state[b] = IDLE;
	all = st != EM_OK ? lose(w, b, there) : UINT64_MAX;
	*n = all < *n ? all : *n;
	return st;
}

/* The same.  When it failed all others are settled, and N is up to the first block that was lost. */
static em_status await(emi_vector_writer *w, uint32_t b)
{
	uint64_t n = w->v->n;
	const em_status st = settle(w, b, &n, &w->err);
	uint32_t k;

	if (st == EM_OK)
		return EM_OK;
	w->err.status = st;
	for (k = 0; k < w->ring.buffers; k++)
		(void)settle(w, k, &n, NULL);
	if (n < w->v->n)
		(void)emi_vector_resize(w->v, n, NULL);
	return st;
}

static emi_vector_writer *writer_of(emi_holder *h)
{
	return (emi_vector_writer *)(void *)((char *)h - offsetof(emi_vector_writer, holder));
}

/* How much of a block that is being written from a buffer is in a span, and from where in the block on. */
static size_t under_way(const emi_vector_writer *w, uint32_t b, const emi_span *span, size_t *from)
{
	const emi_span own = span_of(w, b);

	return w->ring.state[b] != IDLE ? emi_span_of_block(span, own.at, (size_t)own.bytes, from) : 0;
}

/* Whoever asks writes the block himself, with what was lent to him: how our write ends is no matter. */
static em_status forget(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	emi_vector_writer *w = writer_of(h);
	size_t from;
	uint32_t b;

	(void)err;
	for (b = 0; b < w->ring.buffers; b++) {
		if (under_way(w, b, span, &from) == 0)
			continue;
		(void)emi_wait(&w->ring.rq[b], NULL);
		w->ring.state[b] = IDLE;
	}
	return EM_OK;
}

/* The cache, which has been on the store for longer, is asked behind us: what it has changed since is newer. */
static void overlay(emi_holder *h, const emi_span *span, char *buf)
{
	const emi_vector_writer *w = writer_of(h);
	size_t bytes, from;
	uint32_t b;

	for (b = 0; b < w->ring.buffers; b++) {
		bytes = under_way(w, b, span, &from);
		if (bytes != 0)
			memcpy(buf + (span_of(w, b).at.offset + from - span->at.offset),
			       emi_vector_ring_buf(&w->ring, b) + from, bytes);
	}
}

static const emi_holder_calls calls = { NULL, NULL, forget, NULL, overlay };

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
	emi_store_join(v->store, &w->holder, &calls);
	v->writers++;
	return EM_OK;
}

/* A whole block goes to the store. */
static em_status write_block(emi_vector_writer *w)
{
	emi_vector *v = w->v;
	const emi_span span = { emi_vector_bid(v, w->first + w->turn), v->layout.block_bytes };
	const uint32_t b = (uint32_t)(w->turn % w->ring.buffers);
	const uint32_t there = emi_store_there(v->store, span.at);
	em_status st = emi_store_forget(v->store, &w->holder, &span, &w->err);

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
	emi_store_part(w->v->store, &w->holder);
	w->v->writers--;
	emi_vector_ring_close(&w->ring, w->v);
}
