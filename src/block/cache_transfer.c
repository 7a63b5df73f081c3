/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_transfer.c -- reading blocks into frames and writing them; see cache_frames.h.
 *
 * What cannot be read has no block.  What cannot be written stays: it is changed still, and `failed', so that it is not
 * tried again and again while frames are short.  The last reason is kept for whoever gets no frame for that.
 *
 * A read that a hint began fails for nobody: who then gets the block reads it once more, and is told of that read.
 *
 * Before a block is written the other holders of the store forget it.  One of them may have changed a part of it, and
 * write that first; then it asks this cache, which leaves out the very block that it is asking for.
 */
#include "block/cache_frames.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/error.h"

static emi_span span_of(const emi_cache *c, uint32_t i)
{
	const emi_span span = {c->block[i].bid, c->block_bytes};

	return span;
}

/* What others have changed and not written is newer than what was read. */
static void look_at_others(emi_cache *c, uint32_t i)
{
	const emi_span span = span_of(c, i);

	emi_store_overlay(c->store, &c->holder, &span, c->frame[i].buf);
}

void emi_frame_read(emi_cache *c, uint32_t i, uint32_t list)
{
	emi_cache_frame *f = &c->frame[i];
	emi_cache_block *b = &c->block[i];

	if (!emi_store_read(c->store, b->rq, f->buf, c->block_bytes, b->bid, c->io)) {
		look_at_others(c, i);
		return;
	}
	f->busy = EMI_FRAME_READING;
	c->nreading++;
	emi_frame_move_to(c, i, list);
}

/* It could not be written.  What was only taken back is as it was. */
static em_status fails(emi_cache *c, uint32_t i, const em_errinfo *why, em_errinfo *err)
{
	emi_cache_frame *f = &c->frame[i];

	f->dirty = EMI_FRAME_DIRTY;
	if (err != NULL && err->status >= EM_OK)
		*err = *why;
	if (why->status == EM_ERR_CANCELED)
		return why->status;
	c->error = *why;
	c->nfailed += !f->failed;
	f->failed = 1;
	emi_log(c->ctx, EM_LOG_WARN, "block at %" PRIu64 " could not be written and stays in memory: %s",
		c->block[i].bid.offset, why->text);
	return why->status;
}

em_status emi_frame_write(emi_cache *c, uint32_t i, em_errinfo *err)
{
	const emi_span span = span_of(c, i);
	emi_cache_frame *f = &c->frame[i];
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st;

	f->asking = 1;
	st = emi_store_forget(c->store, &c->holder, &span, &own);
	f->asking = 0;
	if (st == EM_OK)
		st = emi_store_write(c->store, c->block[i].rq, f->buf, c->block_bytes, span.at, c->io, &own);
	if (st != EM_OK)
		return fails(c, i, &own, err);
	f->busy = EMI_FRAME_WRITING;
	f->dirty = EMI_FRAME_SENT;
	c->nwriting++;
	emi_frame_move_to(c, i, EMI_FRAMES_WRITES);
	return EM_OK;
}

em_status emi_frame_settle_read(emi_cache *c, uint32_t i, em_errinfo *err)
{
	emi_cache_frame *f = &c->frame[i];
	const int again = f->ahead && f->pins != 0;
	em_errinfo *const told = again ? NULL : err;
	const em_status st = emi_wait(c->block[i].rq, told);

	c->nreading--;
	emi_list_remove(c->link, i);
	f->busy = EMI_FRAME_IDLE;
	f->ahead = 0;
	if (st != EM_OK && again) {
		emi_frame_read(c, i, EMI_FRAMES_PINNED_READS);
		return f->busy == EMI_FRAME_READING ? emi_frame_settle_read(c, i, err) : EM_OK;
	}
	if (st != EM_OK) {
		f->pins = 0;
		emi_frame_drop(c, i, 0);
		return st;
	}
	c->stats.reads++;
	look_at_others(c, i);
	return EM_OK;
}

em_status emi_frame_settle_write(emi_cache *c, uint32_t i, em_errinfo *err)
{
	emi_cache_frame *f = &c->frame[i];
	em_errinfo own = EM_ERRINFO_INIT;
	const em_status st = emi_wait(c->block[i].rq, &own);

	c->nwriting--;
	emi_list_remove(c->link, i);
	f->busy = EMI_FRAME_IDLE;
	if (st != EM_OK) {
		own.status = st;
		return fails(c, i, &own, err);
	}
	c->stats.writes++;
	if (f->dirty == EMI_FRAME_SENT)
		emi_frame_be_clean(c, f);
	return EM_OK;
}

void emi_cache_settle_done(emi_cache *c)
{
	uint32_t i;

	while ((i = emi_frame_first(c, EMI_FRAMES_WRITES)) != EM_CACHE_NONE && emi_done(c->block[i].rq))
		(void)emi_frame_settle_write(c, i, NULL);
	while ((i = emi_frame_first(c, EMI_FRAMES_READS)) != EM_CACHE_NONE && emi_done(c->block[i].rq))
		(void)emi_frame_settle_read(c, i, NULL);
}

int emi_frame_calm(emi_cache *c, uint32_t i)
{
	emi_cache_frame *f = &c->frame[i];

	switch (f->busy) {
	case EMI_FRAME_READING:
		(void)emi_cancel(c->block[i].rq);
		return emi_frame_settle_read(c, i, NULL) == EM_OK;
	case EMI_FRAME_WRITING:
		if (!emi_cancel(c->block[i].rq))
			c->stats.waits++;
		(void)emi_frame_settle_write(c, i, NULL);
		return 1;
	case EMI_FRAME_CHOSEN:
		emi_list_remove(c->link, i);
		f->busy = EMI_FRAME_IDLE;
		return 1;
	default:
		return f->here;
	}
}
