/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_range.c -- flushing, forgetting and looking at the blocks of a cache that are in a span of the store, for its
 * caller and for other holders; see cache.h and holder.h.
 *
 * The blocks of a span are found by asking for each that may be there, or by a walk along all frames, whichever is
 * less.
 */
#include "block/cache_frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

/* What is done with each block of a span. */
typedef struct errand {
	emi_cache *c;
	const emi_span *span;   /* NULL: all that there is */
	void (*run)(struct errand *e, uint32_t i, size_t from, size_t bytes); /* the part of the block that is in it */
	char *buf;              /* that has the span */
	uint32_t pinned;
	em_status status;       /* the first failure */
	em_errinfo *err;
} errand;

static void visit(errand *e, uint32_t i)
{
	emi_cache *c = e->c;
	size_t from = 0, bytes = c->block_bytes;

	if (!c->frame[i].here)
		return;
	if (e->span != NULL)
		bytes = emi_span_of_block(e->span, c->block[i].bid, c->block_bytes, &from);
	if (bytes != 0)
		e->run(e, i, from, bytes);
}

/* Blocks begin at multiples of a step, and the first that may reach into the span there. */
static uint64_t first_place(const emi_span *span, size_t step, size_t block_bytes)
{
	const uint64_t at = span->at.offset, reach = block_bytes - step;

	return at <= reach ? 0 : (at - reach) / step * step;
}

static void walk(errand *e)
{
	emi_cache *c = e->c;
	const size_t step = emi_store_step(c->store, c->block_bytes);
	uint64_t at, end;
	uint32_t i;

	if (c->used == 0)
		return;
	at = e->span != NULL ? first_place(e->span, step, c->block_bytes) : 0;
	end = e->span != NULL ? emi_span_end(e->span) : UINT64_MAX;
	if ((end - at) / step >= c->used) {
		for (i = 0; i < c->used; i++)
			visit(e, i);
		return;
	}
	for (; at < end; at += step) {
		const em_bid bid = {e->span->at.disk, 0, at};

		i = emi_bid_map_find(&c->map, bid);
		if (i != EMI_NO_ENTRY)
			visit(e, i);
	}
}

static void count_pin(errand *e, uint32_t i, size_t from, size_t bytes)
{
	(void)from;
	(void)bytes;
	e->pinned += e->c->frame[i].pins != 0 && !e->c->frame[i].asking;
}

static int pins(emi_cache *c, const emi_span *span)
{
	errand e = {c, span, count_pin, NULL, 0, EM_OK, NULL};

	walk(&e);
	return e.pinned != 0;
}

static void keep(errand *e, em_status st)
{
	if (e->status == EM_OK)
		e->status = st;
}

/* Begin to write it.  What could not be written has another chance. */
static void send(errand *e, uint32_t i, size_t from, size_t bytes)
{
	emi_cache *c = e->c;
	emi_cache_frame *f = &c->frame[i];

	(void)from;
	(void)bytes;
	if (f->busy == EMI_FRAME_CHOSEN || (f->busy == EMI_FRAME_WRITING && f->dirty == EMI_FRAME_DIRTY))
		(void)emi_frame_calm(c, i);
	if (f->dirty == EMI_FRAME_CLEAN || f->busy != EMI_FRAME_IDLE || f->asking)
		return;
	c->nfailed -= f->failed;
	f->failed = 0;
	keep(e, emi_frame_write(c, i, e->err));
}

static void await(errand *e, uint32_t i, size_t from, size_t bytes)
{
	(void)from;
	(void)bytes;
	if (e->c->frame[i].busy == EMI_FRAME_WRITING)
		keep(e, emi_frame_settle_write(e->c, i, e->err));
}

em_status emi_cache_flush_range(emi_cache *c, const emi_span *span, em_errinfo *err)
{
	errand e = {c, span, send, NULL, 0, EM_OK, err};
	const em_status st = emi_store_check_work(c->store, err);

	if (st != EM_OK || c->ndirty == 0)
		return st;
	walk(&e);
	e.run = await;
	walk(&e);
	return e.status;
}

em_status emi_cache_flush(emi_cache *c, em_errinfo *err)
{
	return emi_cache_flush_range(c, NULL, err);
}

/* A block of which only a part is to be forgotten is written before. */
static void leave(errand *e, uint32_t i, size_t from, size_t bytes)
{
	emi_cache *c = e->c;

	if (c->frame[i].asking)
		return;
	if (bytes < c->block_bytes && c->frame[i].dirty != EMI_FRAME_CLEAN) {
		send(e, i, from, bytes);
		await(e, i, from, bytes);
		if (c->frame[i].dirty != EMI_FRAME_CLEAN)
			return;
	}
	if (emi_frame_calm(c, i))
		emi_frame_drop(c, i, 0);
}

em_status emi_cache_forget_range(emi_cache *c, const emi_span *span, em_errinfo *err)
{
	errand e = {c, span, leave, NULL, 0, EM_OK, err};

	if (emi_ctx_forked(c->ctx))
		return emi_store_check_work(c->store, err);
	if (pins(c, span))
		return emi_fail(err, EM_ERR_STATE, "a block at %" PRIu64 " or behind is pinned", span->at.offset);
	walk(&e);
	return e.status;
}

/* Reads come behind writes that were begun before them, so only those that failed are to be minded. */
static void copy(errand *e, uint32_t i, size_t from, size_t bytes)
{
	emi_cache *c = e->c;

	if (c->frame[i].busy == EMI_FRAME_WRITING && emi_done(c->block[i].rq))
		(void)emi_frame_settle_write(c, i, NULL);
	if (c->frame[i].dirty == EMI_FRAME_DIRTY)
		memcpy(e->buf + (c->block[i].bid.offset + from - e->span->at.offset), c->frame[i].buf + from, bytes);
}

void emi_cache_look_range(emi_cache *c, const emi_span *span, void *buf)
{
	errand e = {c, span, copy, buf, 0, EM_OK, NULL};

	if (c->ndirty != 0)
		walk(&e);
}

/* What is behind the end. */
static void cut_off(errand *e, uint32_t i, size_t from, size_t bytes)
{
	emi_cache *c = e->c;

	if (!emi_frame_calm(c, i))
		return;
	if (from == 0)
		emi_frame_drop(c, i, 0);
	else
		memset(c->frame[i].buf + from, 0, bytes);
}

/* The cache of a holder, which is a part of it. */
static emi_cache *cache_of(emi_holder *h)
{
	return (emi_cache *)(void *)((char *)h - offsetof(emi_cache, holder));
}

static int holder_pins(emi_holder *h, const emi_span *span)
{
	return pins(cache_of(h), span);
}

static em_status holder_flush(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	return emi_cache_flush_range(cache_of(h), span, err);
}

static em_status holder_forget(emi_holder *h, const emi_span *span, em_errinfo *err)
{
	return emi_cache_forget_range(cache_of(h), span, err);
}

static void holder_cut(emi_holder *h, em_bid end)
{
	const emi_span span = {end, UINT64_MAX};
	errand e = {cache_of(h), &span, cut_off, NULL, 0, EM_OK, NULL};

	walk(&e);
}

static void holder_overlay(emi_holder *h, const emi_span *span, char *buf)
{
	emi_cache_look_range(cache_of(h), span, buf);
}

const emi_holder_calls emi_cache_calls = {holder_pins, holder_flush, holder_forget, holder_cut, holder_overlay};
