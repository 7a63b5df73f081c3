/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_pool.c -- see block_pool.h.
 *
 * A slot is a buffer and its request.  It is on one of five lists:
 *
 *   lent      a user has the buffer, and the slot is empty
 *   writing   the block is on its way to the disk, oldest first
 *   failed    the block could not be written
 *   fetched   the block was hinted at and is there or on its way, oldest first
 *   free      the buffer may be used; it may still hold a block that was written, the longest unused first
 *
 * At most nwrite slots are lent, writing or failed, and at most nprefetch fetched, so whoever may have a buffer by
 * these numbers finds one among the free, or there is room for one slot more.  Slots whose buffer holds a block, or is
 * going to, are in a map by block, each block once: that is all there is to coherence.
 *
 * When a block is written again or freed, a write that has not begun is cancelled.  One that has goes on, and so does a
 * read: the slot is free then, but waits for its request before it is used, unless there are others.  Requests that
 * overlap keep their order, so a later write to the same place needs no care; but nobody keeps a block from being given
 * back to the file system while it is written, so one that is freed then is freed on disk when the request is done.
 */
#include "block/block_pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

enum { SLOTS_MOST = 1 << 28 };

static uint32_t count(const emi_block_pool *p, emi_pool_state state)
{
	return p->list[state].n;
}

/* Slots that count as being for writing. */
static uint32_t for_writing(const emi_block_pool *p)
{
	return count(p, EMI_POOL_LENT) + count(p, EMI_POOL_WRITING) + count(p, EMI_POOL_FAILED);
}

static void end_done_writes(emi_block_pool *p)
{
	emi_pool_slot *s, *next;

	for (s = p->list[EMI_POOL_WRITING].first; s != NULL; s = next) {
		next = s->next;
		if (emi_done(&s->rq))
			(void)emi_slot_end_write(p, s, NULL);
	}
}

static void wait_for_oldest(emi_block_pool *p)
{
	emi_pool_slot *s = p->list[EMI_POOL_WRITING].first;

	p->stats.waits += !emi_done(&s->rq);
	(void)emi_slot_end_write(p, s, NULL);
}

/* A free slot, of which nothing is known any more.  NULL: there is no memory for one, or, if nobody wants to wait, all
 * of them would have to be waited for. */
static emi_pool_slot *take_free(emi_block_pool *p, int waits, em_errinfo *err)
{
	emi_pool_slot *s = p->list[EMI_POOL_FREE].first;

	while (s != NULL && !emi_done(&s->rq))
		s = s->next;
	if (s == NULL && p->nslots < p->nwrite + p->nprefetch)
		s = emi_pool_add_slot(p, NULL, waits && count(p, EMI_POOL_FREE) == 0 ? err : NULL);
	if (s == NULL && waits && count(p, EMI_POOL_FREE) != 0) {
		s = p->list[EMI_POOL_FREE].first;
		p->stats.waits++;
	}
	if (s != NULL) {
		emi_slot_settle(p, s);
		emi_slot_forget(p, s);
	}
	return s;
}

/* What is known of a block is wrong from now on. */
static void drop(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = emi_pool_find(p, bid);

	if (s != NULL)
		emi_slot_drop(p, s);
}

/* The last request of a block that was dropped and is still under way, or NULL. */
static emi_pool_slot *under_way(const emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = p->list[EMI_POOL_FREE].first;

	while (s != NULL && (s->known || !em_bid_equal(s->bid, bid) || emi_done(&s->rq)))
		s = s->next;
	return s;
}

static void shrink(emi_block_pool *p)
{
	while (p->nslots > p->nwrite + p->nprefetch) {
		emi_pool_slot *s = p->list[EMI_POOL_FREE].first;

		emi_slot_settle(p, s);
		emi_pool_free_slot(p, s);
	}
}

em_status emi_block_pool_check(uint32_t nwrite, uint32_t nprefetch, em_errinfo *err)
{
	if (nwrite <= SLOTS_MOST && nprefetch <= SLOTS_MOST)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "a pool of more than %d buffers", SLOTS_MOST);
}

em_status emi_block_pool_open(emi_block_pool *p, em_ctx *ctx, emi_store *store, size_t block_bytes, uint32_t nwrite,
			      uint32_t nprefetch, emi_io_stats *io, em_errinfo *err)
{
	const em_status st = emi_block_pool_check(nwrite, nprefetch, err);

	memset(p, 0, sizeof *p);
	if (st != EM_OK)
		return st;
	p->ctx = ctx;
	p->store = emi_store_hold(store);
	p->io = io;
	p->block_bytes = block_bytes;
	p->nwrite = nwrite;
	p->nprefetch = nprefetch;
	emi_store_join(store, &p->holder, &emi_pool_calls);
	return EM_OK;
}

void emi_block_pool_close(emi_block_pool *p)
{
	uint32_t lost;
	int i;

	if (p->ctx == NULL)
		return;
	while (p->list[EMI_POOL_WRITING].first != NULL && !emi_ctx_forked(p->ctx))
		(void)emi_slot_end_write(p, p->list[EMI_POOL_WRITING].first, NULL);
	lost = count(p, EMI_POOL_FAILED);
	if (lost != 0)
		emi_log(p->ctx, EM_LOG_WARN, "a pool was closed with %" PRIu32 " blocks that could not be written",
			lost);
	for (i = 0; i < EMI_POOL_STATES; i++) {
		while (p->list[i].first != NULL) {
			emi_slot_settle(p, p->list[i].first);
			emi_pool_free_slot(p, p->list[i].first);
		}
	}
	emi_pool_free_tables(p);
	emi_store_part(p->store, &p->holder);
	emi_store_close(p->store);
	memset(p, 0, sizeof *p);
}

uint64_t emi_block_pool_memory(size_t block_bytes, uint32_t nwrite, uint32_t nprefetch)
{
	const uint64_t slots = (uint64_t)nwrite + nprefetch;

	/* While tables are made anew there are two. */
	return slots * (block_bytes + sizeof(emi_pool_slot)) + emi_pool_tables_memory(slots) * 3 / 2;
}

/* Buffers for writing are only as many as there may be, by waiting. */
static em_status await_writes(emi_block_pool *p, uint32_t nwrite, em_errinfo *err)
{
	while (for_writing(p) > nwrite && count(p, EMI_POOL_WRITING) != 0)
		wait_for_oldest(p);
	if (for_writing(p) <= nwrite)
		return EM_OK;
	if (err != NULL && err->status >= EM_OK)
		*err = p->err;
	return p->err.status;
}

em_status emi_block_pool_resize(emi_block_pool *p, uint32_t nwrite, uint32_t nprefetch, em_errinfo *err)
{
	em_status st = emi_block_pool_check(nwrite, nprefetch, err);

	if (st == EM_OK && nwrite < count(p, EMI_POOL_LENT))
		st = emi_fail(err, EM_ERR_STATE, "%" PRIu32 " buffers of the pool are lent", count(p, EMI_POOL_LENT));
	if (st == EM_OK)
		st = await_writes(p, nwrite, err);
	if (st != EM_OK)
		return st;
	p->nwrite = nwrite;
	p->nprefetch = nprefetch;
	while (count(p, EMI_POOL_FETCHED) > nprefetch)
		emi_slot_drop(p, p->list[EMI_POOL_FETCHED].last);
	shrink(p);
	return EM_OK;
}

em_status emi_block_pool_attach(emi_block_pool *p, char *buf, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	if (emi_pool_add_slot(p, buf, &own) != NULL) {
		p->nwrite++;
		return EM_OK;
	}
	if (err != NULL && err->status >= EM_OK)
		*err = own;
	return own.status;
}

em_status emi_block_pool_detach(emi_block_pool *p, char **buf, em_errinfo *err)
{
	const em_status st = emi_block_pool_lend(p, buf, err);

	if (st == EM_OK) {
		emi_pool_free_slot(p, p->list[EMI_POOL_LENT].first);
		p->nwrite--;
	}
	return st;
}

em_status emi_block_pool_lend(emi_block_pool *p, char **buf, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	emi_pool_slot *s;
	em_status st;

	*buf = NULL;
	if (count(p, EMI_POOL_LENT) == p->nwrite)
		return emi_fail(err, EM_ERR_STATE, "all %" PRIu32 " buffers for writing are lent", p->nwrite);
	if (for_writing(p) == p->nwrite)
		end_done_writes(p);
	st = await_writes(p, p->nwrite - 1, err);
	if (st != EM_OK)
		return st;
	/* Without memory for more, those that there are do. */
	while ((s = take_free(p, 1, &own)) == NULL && count(p, EMI_POOL_WRITING) != 0)
		wait_for_oldest(p);
	if (s == NULL) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return own.status;
	}
	*buf = s->buf;
	s->buf = NULL;
	emi_slot_move_last(p, s, EMI_POOL_LENT);
	return EM_OK;
}

em_status emi_block_pool_write(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err)
{
	const emi_span span = {bid, p->block_bytes};
	emi_pool_slot *s = p->list[EMI_POOL_LENT].first;
	em_status st;

	if (s == NULL)
		return emi_fail(err, EM_ERR_STATE, "no buffer of the pool is lent");
	st = emi_store_check_block(p->store, EMI_WRITE, bid, p->block_bytes, err);
	if (st == EM_OK)
		st = emi_store_forget(p->store, &p->holder, &span, err);
	if (st != EM_OK)
		return st;
	drop(p, bid);
	s->buf = buf;
	emi_slot_know(p, s, bid);
	(void)emi_slot_write(p, s, NULL);
	p->stats.writes++;
	return EM_OK;
}

void emi_block_pool_return(emi_block_pool *p, char *buf)
{
	emi_pool_slot *s = p->list[EMI_POOL_LENT].first;

	s->buf = buf;
	emi_slot_release(p, s);
}

int emi_block_pool_hint(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = emi_pool_find(p, bid);

	if (s != NULL && s->state != EMI_POOL_FREE) {
		s->hinted = s->state == EMI_POOL_WRITING;
		return 1;
	}
	if (count(p, EMI_POOL_FETCHED) == p->nprefetch)
		return 0;
	if (s == NULL) {
		if (emi_store_check_block(p->store, EMI_READ, bid, p->block_bytes, NULL) != EM_OK)
			return 0;
		s = take_free(p, 0, NULL);
		if (s == NULL)
			return 0;
		emi_slot_know(p, s, bid);
		p->stats.hints += (uint64_t)emi_store_read(p->store, &s->rq, s->buf, p->block_bytes, bid, p->io);
	}
	emi_slot_move_last(p, s, EMI_POOL_FETCHED);
	return 1;
}

void emi_block_pool_take_back(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = emi_pool_find(p, bid);

	if (s == NULL)
		return;
	s->hinted = 0;
	if (s->state == EMI_POOL_FETCHED)
		emi_slot_move_last(p, s, EMI_POOL_FREE);
}

/* What others have changed and not written is newer. */
static void look_at_others(emi_block_pool *p, char *buf, em_bid bid)
{
	const emi_span span = {bid, p->block_bytes};

	emi_store_overlay(p->store, &p->holder, &span, buf);
}

static em_status end_read(emi_block_pool *p, emi_request *rq, char *buf, em_bid bid, em_errinfo *err)
{
	em_status st;

	p->stats.waits += !emi_done(rq);
	st = emi_wait(rq, err);
	if (st == EM_OK)
		look_at_others(p, buf, bid);
	return st;
}

static em_status read_now(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err)
{
	em_status st = emi_store_check_block(p->store, EMI_READ, bid, p->block_bytes, err);
	emi_request rq;

	if (st != EM_OK)
		return st;
	(void)emi_store_read(p->store, &rq, buf, p->block_bytes, bid, p->io);
	return end_read(p, &rq, buf, bid, err);
}

em_status emi_block_pool_read(emi_block_pool *p, char **buf, em_bid bid, em_errinfo *err)
{
	emi_pool_slot *s = emi_pool_find(p, bid);
	char *theirs = *buf;
	em_status st;

	p->stats.reads++;
	if (s != NULL && s->state == EMI_POOL_WRITING && emi_done(&s->rq))
		(void)emi_slot_end_write(p, s, NULL);
	if (s == NULL)
		return read_now(p, theirs, bid, err);
	if (s->state == EMI_POOL_FETCHED)
		p->stats.hits++;
	else
		p->stats.recalled++;
	/* A copy takes less time than waiting for the write and all those before it. */
	if (s->state == EMI_POOL_WRITING || s->state == EMI_POOL_FAILED) {
		memcpy(theirs, s->buf, p->block_bytes);
		look_at_others(p, theirs, bid);
		return EM_OK;
	}
	st = end_read(p, &s->rq, s->buf, bid, err);
	if (st == EM_OK) {
		*buf = s->buf;
		s->buf = theirs;
	}
	emi_slot_forget(p, s);
	emi_slot_release(p, s);
	return st;
}

void emi_block_pool_invalidate(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s;

	drop(p, bid);
	while ((s = under_way(p, bid)) != NULL) {
		p->stats.waits++;
		emi_slot_settle(p, s);
	}
}

em_status emi_block_pool_free(emi_block_pool *p, em_bid bid, em_errinfo *err)
{
	const emi_span span = {bid, p->block_bytes};
	const em_status st = emi_store_forget(p->store, &p->holder, &span, err);
	emi_pool_slot *s;

	if (st != EM_OK)
		return st;
	drop(p, bid);
	s = under_way(p, bid);
	if (s == NULL)
		return emi_store_free(p->store, &p->holder, bid, p->block_bytes, err);
	s->frees = 1;
	return EM_OK;
}

em_status emi_block_pool_flush(emi_block_pool *p, em_errinfo *err)
{
	em_status first = emi_store_check_work(p->store, err);
	emi_pool_slot *s;
	uint32_t n;

	if (first != EM_OK)
		return first;
	/* Each of those that failed has one more chance. */
	for (n = count(p, EMI_POOL_FAILED); n > 0; n--) {
		const em_status st = emi_slot_write(p, p->list[EMI_POOL_FAILED].first, err);

		if (first == EM_OK)
			first = st;
	}
	while (p->list[EMI_POOL_WRITING].first != NULL) {
		const em_status st = emi_slot_end_write(p, p->list[EMI_POOL_WRITING].first, err);

		if (first == EM_OK)
			first = st;
	}
	for (s = p->list[EMI_POOL_FREE].first; s != NULL; s = s->next)
		emi_slot_settle(p, s);
	return first;
}
