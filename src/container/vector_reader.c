/* SPDX-License-Identifier: BSL-1.0 */
/* vector_reader.c -- see vector_stream.h. */
#include <string.h>

#include "base/error.h"
#include "container/vector_stream.h"

/* Of a buffer. */
enum { OLD, ASKED }; /* OLD: the block comes by way of the cache */

static uint64_t block_of(const emi_vector_reader *r, uint64_t turn)
{
	return r->reverse ? r->first - turn : r->first + turn;
}

/* The turn of a block, if that is one of those that were asked for and are not taken: 1. */
static int turn_of(const emi_vector_reader *r, uint64_t block, uint64_t *turn)
{
	if (r->reverse ? block > r->first : block < r->first)
		return 0;
	*turn = r->reverse ? r->first - block : block - r->first;
	return *turn >= r->taken && *turn < r->asked;
}

static emi_vector_reader *reader_of(emi_holder *h)
{
	return (emi_vector_reader *)(void *)((char *)h - offsetof(emi_vector_reader, holder));
}

/* Mark what is in [from, to), in bytes of the store. */
static void be_old(emi_vector_reader *r, uint64_t from, uint64_t to)
{
	uint64_t t;

	for (t = r->taken; t < r->asked; t++) {
		const uint64_t at = block_of(r, t) * r->v->layout.block_bytes;

		if (at < to && from < at + r->v->layout.block_bytes)
			r->ring.state[t % r->ring.buffers] = OLD;
	}
}

/* Spans of the store are mostly one block. */
static em_status forget(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	emi_vector_reader *r = reader_of(h);
	const uint64_t block = r->v->layout.block_bytes;
	uint64_t turn;

	(void)err;
	if (span->bytes != block || span->at.offset % block != 0)
		be_old(r, span->at.offset, emi_span_end(span));
	else if (turn_of(r, span->at.offset / block, &turn))
		r->ring.state[turn % r->ring.buffers] = OLD;
	return EM_OK;
}

static void cut(emi_holder *h, em_bid end)
{
	be_old(reader_of(h), end.offset, UINT64_MAX);
}

static const emi_holder_calls calls = { NULL, NULL, forget, cut, NULL };

/* Ask for what there are buffers for. */
static void ask(emi_vector_reader *r)
{
	emi_vector *v = r->v;

	for (; r->asked < r->blocks && r->asked < r->taken + r->ring.buffers; r->asked++) {
		const uint32_t b = (uint32_t)(r->asked % r->ring.buffers);
		const em_bid bid = emi_vector_bid(v, block_of(r, r->asked));

		(void)emi_wait(&r->ring.rq[b], NULL);
		r->ring.state[b] = OLD;
		if (emi_cache_find(v->cache, bid) != EM_CACHE_NONE)
			continue;
		r->ring.state[b] = ASKED;
		v->read += (uint64_t)emi_store_read(v->store, &r->ring.rq[b], emi_vector_ring_buf(&r->ring, b),
						    v->layout.block_bytes, bid, NULL);
	}
}

em_status emi_vector_reader_open(emi_vector_reader *r, emi_vector *v, uint64_t from, uint64_t n, int reverse,
				 uint32_t buffers, em_errinfo *err)
{
	const uint64_t record = v->layout.record;
	em_status st;

	r->v = v;
	r->reverse = reverse;
	r->from = from;
	r->end = from + n;
	if (n != 0) {
		const uint64_t low = emi_vector_place_of(&v->layout, from * record).block;
		const uint64_t high = emi_vector_place_of(&v->layout, (from + n) * record - 1).block;

		r->first = reverse ? high : low;
		r->blocks = high - low + 1;
	}
	st = emi_vector_ring_open(&r->ring, v, buffers, r->blocks, err);
	if (st != EM_OK) {
		emi_vector_ring_close(&r->ring, v);
		return st;
	}
	emi_store_join(v->store, &r->holder, &calls);
	v->readers++;
	if (!v->layout.straddles)
		ask(r);
	return EM_OK;
}

/* Have the block whose turn it is in its buffer, as it is now. */
static em_status settle(emi_vector_reader *r, char *buf, em_errinfo *err)
{
	emi_vector *v = r->v;
	const uint32_t b = (uint32_t)(r->taken % r->ring.buffers);
	const uint64_t block = block_of(r, r->taken);
	const emi_span span = { emi_vector_bid(v, block), v->layout.block_bytes };
	uint32_t frame;
	em_status st = emi_wait(&r->ring.rq[b], r->ring.state[b] == ASKED ? err : NULL);

	if (r->ring.state[b] == ASKED) {
		if (st == EM_OK)
			emi_store_overlay(v->store, &r->holder, &span, buf);
		return st;
	}
	st = emi_vector_bring(v, block, EM_CACHE_READ, &frame, err);
	if (st != EM_OK)
		return st;
	memcpy(buf, emi_cache_buf(v->cache, frame), v->layout.block_bytes);
	emi_cache_unpin(v->cache, frame, 0);
	return EM_OK;
}

/* The records of the block at whose turn it is that are in the range. */
static void lend(emi_vector_reader *r, const char *buf, const char **records, uint64_t *n)
{
	const uint64_t per_block = r->v->layout.payload / r->v->layout.record;
	const uint64_t first = block_of(r, r->taken) * per_block, last = first + per_block;
	const uint64_t from = r->from > first ? r->from : first, end = r->end < last ? r->end : last;

	*records = buf + (from - first) * r->v->layout.record;
	*n = end - from;
}

/* As many records as a block holds, by way of the cache. */
static em_status copy_some(emi_vector_reader *r, const char **records, uint64_t *n, em_errinfo *err)
{
	const emi_vector_layout *l = &r->v->layout;
	const uint64_t some = r->ring.bytes / l->record, left = r->end - r->from;

	*n = left < some ? left : some;
	*records = r->ring.room;
	return emi_vector_read(r->v, r->reverse ? r->end - *n : r->from, r->ring.room, *n, err);
}

em_status emi_vector_reader_next(emi_vector_reader *r, const char **records, uint64_t *n, em_errinfo *err)
{
	em_status st = r->err.status;

	*n = 0;
	*records = NULL;
	if (st != EM_OK) {
		*err = r->err;
		return st;
	}
	if (r->from == r->end)
		return EM_END;
	if (r->v->layout.straddles) {
		st = copy_some(r, records, n, &r->err);
	} else {
		char *buf = emi_vector_ring_buf(&r->ring, r->taken);

		/* The buffer that was lent is free now. */
		ask(r);
		st = settle(r, buf, &r->err);
		if (st == EM_OK)
			lend(r, buf, records, n);
		r->taken += st == EM_OK;
	}
	if (st != EM_OK) {
		r->err.status = st;
		*err = r->err;
		return st;
	}
	*(r->reverse ? &r->end : &r->from) += r->reverse ? (uint64_t)0 - *n : *n;
	return EM_OK;
}

void emi_vector_reader_close(emi_vector_reader *r)
{
	if (r->ring.buffers == 0)
		return;
	emi_store_part(r->v->store, &r->holder);
	r->v->readers--;
	emi_vector_ring_close(&r->ring, r->v);
}
