/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_pool.c -- see block_pool.h.
 *
 * A slot is a buffer and its request.  It is on one of four lists:
 *
 *   lent      a user has the buffer, and the slot is empty
 *   writing   the block is on its way to the disk, oldest first
 *   fetched   the block was hinted at and is there or on its way, oldest first
 *   free      the buffer may be used; it may still hold a block that was written, the longest unused first
 *
 * At most nwrite slots are lent or writing and at most nprefetch fetched, so whoever may have a buffer by these numbers finds one among the free.  Slots
 * whose buffer holds a block, or is going to, are in a table by block, each block once: that is all there is to coherence.
 *
 * When a block is written again or freed, a write that has not begun is cancelled.  One that has goes on, and so does a read: the
 * slot is free then, but waits for its request before it is used, unless there are others.  Requests that overlap keep their order, so a later write to the
 * same place needs no care; but nobody keeps a block from being given back to the file system while it is written, so one that is freed then is freed on disk
 * when the request is done.
 */
#include "block/block_pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

enum { LEAST_BUCKETS = 8, SLOTS_MOST = 1 << 28 };

struct emi_pool_slot {
	emi_pool_slot *prev, *next; /* in its list */
	emi_pool_slot *chain;   /* in its bucket */
	char *buf;              /* NULL: it is lent */
	em_bid bid;            /* of the block, or of the last one */
	emi_request rq;
	emi_pool_state state;   /* which list */
	int known;              /* the buffer holds the block, or is going to */
	int hinted;             /* it is being written and going to be read */
	int frees;              /* the block is to be freed when the request is done */
};

static emi_pool_slot **bucket(const emi_block_pool *p, em_bid bid)
{
	const uint64_t mixed = (bid.offset / EMI_PAGE + ((uint64_t)bid.disk << 52)) * 0x9e3779b97f4a7c15u;

	return &p->table[(mixed >> 32) & (p->buckets - 1)];
}

static emi_pool_slot *find(const emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = *bucket(p, bid);

	while (s != NULL && !em_bid_equal(s->bid, bid))
		s = s->chain;
	return s;
}

static void know(emi_block_pool *p, emi_pool_slot *s, em_bid bid)
{
	emi_pool_slot **b = bucket(p, bid);

	s->bid = bid;
	s->chain = *b;
	*b = s;
	s->known = 1;
	s->hinted = 0;
}

static void forget(emi_block_pool *p, emi_pool_slot *s)
{
	emi_pool_slot **at;

	if (!s->known)
		return;
	for (at = bucket(p, s->bid); *at != s; at = &(*at)->chain)
		continue;
	*at = s->chain;
	s->known = 0;
}

static void unlink_slot(emi_block_pool *p, emi_pool_slot *s)
{
	emi_pool_list *l = &p->list[s->state];

	*(s->prev != NULL ? &s->prev->next : &l->first) = s->next;
	*(s->next != NULL ? &s->next->prev : &l->last) = s->prev;
	l->n--;
}

static void link_first(emi_block_pool *p, emi_pool_slot *s, emi_pool_state state)
{
	emi_pool_list *l = &p->list[state];

	s->state = state;
	s->prev = NULL;
	s->next = l->first;
	*(l->first != NULL ? &l->first->prev : &l->last) = s;
	l->first = s;
	l->n++;
}

static void link_last(emi_block_pool *p, emi_pool_slot *s, emi_pool_state state)
{
	emi_pool_list *l = &p->list[state];

	s->state = state;
	s->next = NULL;
	s->prev = l->last;
	*(l->last != NULL ? &l->last->next : &l->first) = s;
	l->last = s;
	l->n++;
}

static void move_last(emi_block_pool *p, emi_pool_slot *s, emi_pool_state state)
{
	unlink_slot(p, s);
	link_last(p, s, state);
}

/* To the free ones, as the first to be used: nothing in it is wanted. */
static void release(emi_block_pool *p, emi_pool_slot *s)
{
	unlink_slot(p, s);
	link_first(p, s, EMI_POOL_FREE);
}

static em_status sticky(const emi_block_pool *p, em_errinfo *err)
{
	if (p->err.status != EM_OK && err != NULL && err->status >= EM_OK)
		*err = p->err;
	return p->err.status;
}

/* End a request whose result nobody asks for. */
static void settle(emi_block_pool *p, emi_pool_slot *s)
{
	if (!emi_ctx_forked(p->ctx))
		emi_wait(&s->rq, NULL);
	if (s->frees)
		emi_bid_free(p->disk, s->bid, p->block_bytes);
	s->frees = 0;
}

/* A write is done, or waited for.  Its buffer is free and still of use to who wants that block. */
static void end_write(emi_block_pool *p, emi_pool_slot *s)
{
	const em_status st = emi_wait(&s->rq, &p->err);
	const int keep = s->hinted && p->list[EMI_POOL_FETCHED].n < p->nprefetch;

	s->hinted = 0;
	if (st != EM_OK) {
		p->err.status = p->err.status != EM_OK ? p->err.status : st;
		forget(p, s);
		release(p, s);
	} else {
		move_last(p, s, keep ? EMI_POOL_FETCHED : EMI_POOL_FREE);
	}
}

static void end_done_writes(emi_block_pool *p)
{
	emi_pool_slot *s, *next;

	for (s = p->list[EMI_POOL_WRITING].first; s != NULL; s = next) {
		next = s->next;
		if (emi_done(&s->rq))
			end_write(p, s);
	}
}

static void wait_for_oldest(emi_block_pool *p)
{
	emi_pool_slot *s = p->list[EMI_POOL_WRITING].first;

	p->stats.waits += !emi_done(&s->rq);
	end_write(p, s);
}

/* A free slot, of which nothing is known any more; NULL: all of them would have to be waited for, and nobody wants to. */
static emi_pool_slot *take_free(emi_block_pool *p, int waits)
{
	emi_pool_slot *s = p->list[EMI_POOL_FREE].first;

	while (s != NULL && !emi_done(&s->rq))
		s = s->next;
	if (s == NULL && waits) {
		s = p->list[EMI_POOL_FREE].first;
		p->stats.waits++;
	}
	if (s != NULL) {
		settle(p, s);
		forget(p, s);
	}
	return s;
}

/* What is known of a block is wrong from now on. */
static void drop(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = find(p, bid);

	if (s == NULL)
		return;
	forget(p, s);
	if (emi_cancel(&s->rq))
		p->stats.dropped += s->state == EMI_POOL_WRITING;
	release(p, s);
}

/* The last request of a block that was dropped and is still under way, or NULL. */
static emi_pool_slot *under_way(const emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = p->list[EMI_POOL_FREE].first;

	while (s != NULL && (s->known || !em_bid_equal(s->bid, bid) || emi_done(&s->rq)))
		s = s->next;
	return s;
}

/* Make the table large enough for so many slots. */
static em_status widen(emi_block_pool *p, uint32_t slots, em_errinfo *err)
{
	emi_pool_slot **old = p->table, *s, *next;
	const uint32_t had = p->buckets;
	uint32_t n = LEAST_BUCKETS, i;

	while (n < slots)
		n *= 2;
	if (n <= had)
		return EM_OK;
	p->table = emi_alloc_array(p->ctx, n, sizeof *p->table, err);
	if (p->table == NULL) {
		p->table = old;
		return err->status;
	}
	p->buckets = n;
	for (i = 0; i < had; i++) {
		for (s = old[i]; s != NULL; s = next) {
			emi_pool_slot **b = bucket(p, s->bid);

			next = s->chain;
			s->chain = *b;
			*b = s;
		}
	}
	emi_free_array(p->ctx, old, had, sizeof *old);
	return EM_OK;
}

/* One slot more, with this buffer or, if it is NULL, a new one. */
static em_status add_slot(emi_block_pool *p, char *buf, em_errinfo *err)
{
	emi_pool_slot *s = emi_alloc(p->ctx, sizeof *s, err);

	if (s == NULL)
		return err->status;
	s->buf = buf != NULL ? buf : emi_buffer_alloc(p->ctx, p->block_bytes, err);
	if (s->buf == NULL) {
		emi_free(p->ctx, s, sizeof *s);
		return err->status;
	}
	link_first(p, s, EMI_POOL_FREE);
	p->nslots++;
	return EM_OK;
}

static void free_slot(emi_block_pool *p, emi_pool_slot *s)
{
	unlink_slot(p, s);
	emi_buffer_free(p->ctx, s->buf, p->block_bytes);
	emi_free(p->ctx, s, sizeof *s);
	p->nslots--;
}

static void shrink(emi_block_pool *p)
{
	while (p->nslots > p->nwrite + p->nprefetch)
		free_slot(p, take_free(p, 1));
}

em_status emi_block_pool_open(emi_block_pool *p, em_ctx *ctx, emi_disk *disk, size_t block_bytes, uint32_t nwrite, uint32_t nprefetch,
			      emi_io_stats *io, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status st;

	memset(p, 0, sizeof *p);
	p->ctx = ctx;
	p->disk = disk;
	p->io = io;
	p->block_bytes = block_bytes;
	st = emi_block_pool_resize(p, nwrite, nprefetch, &own);
	if (st != EM_OK) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		emi_block_pool_close(p);
	}
	return st;
}

void emi_block_pool_close(emi_block_pool *p)
{
	int i;

	if (p->ctx == NULL)
		return;
	for (i = 0; i < EMI_POOL_STATES; i++) {
		while (p->list[i].first != NULL) {
			settle(p, p->list[i].first);
			free_slot(p, p->list[i].first);
		}
	}
	emi_free_array(p->ctx, p->table, p->buckets, sizeof *p->table);
	memset(p, 0, sizeof *p);
}

uint64_t emi_block_pool_memory(size_t block_bytes, uint32_t nwrite, uint32_t nprefetch)
{
	const uint64_t slots = (uint64_t)nwrite + nprefetch;
	uint64_t buckets = LEAST_BUCKETS;

	while (buckets < slots)
		buckets *= 2;
	return slots * (block_bytes + sizeof(emi_pool_slot)) + buckets * sizeof(emi_pool_slot *);
}

em_status emi_block_pool_resize(emi_block_pool *p, uint32_t nwrite, uint32_t nprefetch, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status st;

	if (nwrite < p->list[EMI_POOL_LENT].n)
		return emi_fail(err, EM_ERR_STATE, "%" PRIu32 " buffers of the pool are lent", p->list[EMI_POOL_LENT].n);
	if (nwrite > SLOTS_MOST || nprefetch > SLOTS_MOST)
		return emi_fail(err, EM_ERR_INVAL, "a pool of more than %d buffers", SLOTS_MOST);
	st = widen(p, nwrite + nprefetch, &own);
	while (st == EM_OK && p->nslots < nwrite + nprefetch)
		st = add_slot(p, NULL, &own);
	if (st != EM_OK) {
		shrink(p);
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return st;
	}
	p->nwrite = nwrite;
	p->nprefetch = nprefetch;
	while (p->list[EMI_POOL_FETCHED].n > nprefetch)
		drop(p, p->list[EMI_POOL_FETCHED].last->bid);
	while (p->list[EMI_POOL_WRITING].n + p->list[EMI_POOL_LENT].n > nwrite)
		wait_for_oldest(p);
	shrink(p);
	return EM_OK;
}

em_status emi_block_pool_attach(emi_block_pool *p, char *buf, em_errinfo *err)
{
	em_errinfo own = {EM_OK, 0, 0, 0, "", "", ""};
	em_status st = widen(p, p->nslots + 1, &own);

	if (st == EM_OK)
		st = add_slot(p, buf, &own);
	if (st == EM_OK)
		p->nwrite++;
	else if (err != NULL && err->status >= EM_OK)
		*err = own;
	return st;
}

em_status emi_block_pool_detach(emi_block_pool *p, char **buf, em_errinfo *err)
{
	const em_status st = emi_block_pool_lend(p, buf, err);

	if (st == EM_OK) {
		free_slot(p, p->list[EMI_POOL_LENT].first);
		p->nwrite--;
	}
	return st;
}

em_status emi_block_pool_lend(emi_block_pool *p, char **buf, em_errinfo *err)
{
	const emi_pool_list *writing = &p->list[EMI_POOL_WRITING], *lent = &p->list[EMI_POOL_LENT];
	emi_pool_slot *s;

	*buf = NULL;
	if (lent->n == p->nwrite)
		return emi_fail(err, EM_ERR_STATE, "all %" PRIu32 " buffers for writing are lent", lent->n);
	if (writing->n + lent->n == p->nwrite)
		end_done_writes(p);
	if (writing->n + lent->n == p->nwrite)
		wait_for_oldest(p);
	if (p->err.status != EM_OK)
		return sticky(p, err);
	s = take_free(p, 1);
	*buf = s->buf;
	s->buf = NULL;
	move_last(p, s, EMI_POOL_LENT);
	return EM_OK;
}

em_status emi_block_pool_write(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err)
{
	emi_pool_slot *s = p->list[EMI_POOL_LENT].first;

	if (s == NULL)
		return emi_fail(err, EM_ERR_STATE, "no buffer of the pool is lent");
	drop(p, bid);
	s->buf = buf;
	know(p, s, bid);
	move_last(p, s, EMI_POOL_WRITING);
	emi_block_write(p->disk, &s->rq, buf, p->block_bytes, bid, p->io);
	p->stats.writes++;
	return sticky(p, err);
}

void emi_block_pool_return(emi_block_pool *p, char *buf)
{
	emi_pool_slot *s = p->list[EMI_POOL_LENT].first;

	s->buf = buf;
	release(p, s);
}

int emi_block_pool_hint(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s = find(p, bid);

	if (s != NULL && s->state != EMI_POOL_FREE) {
		s->hinted = s->state == EMI_POOL_WRITING;
		return 1;
	}
	if (p->list[EMI_POOL_FETCHED].n == p->nprefetch)
		return 0;
	if (s == NULL) {
		s = take_free(p, 0);
		if (s == NULL)
			return 0;
		know(p, s, bid);
		emi_block_read(p->disk, &s->rq, s->buf, p->block_bytes, bid, p->io);
		p->stats.hints++;
	}
	move_last(p, s, EMI_POOL_FETCHED);
	return 1;
}

static em_status end_read(emi_block_pool *p, emi_request *rq, em_errinfo *err)
{
	p->stats.waits += !emi_done(rq);
	return emi_wait(rq, err);
}

static em_status read_now(emi_block_pool *p, char *buf, em_bid bid, em_errinfo *err)
{
	emi_request rq;

	emi_block_read(p->disk, &rq, buf, p->block_bytes, bid, p->io);
	return end_read(p, &rq, err);
}

em_status emi_block_pool_read(emi_block_pool *p, char **buf, em_bid bid, em_errinfo *err)
{
	emi_pool_slot *s = find(p, bid);
	char *theirs = *buf;
	em_status st;

	p->stats.reads++;
	if (s != NULL && s->state == EMI_POOL_WRITING && emi_done(&s->rq))
		end_write(p, s);
	if (p->err.status != EM_OK)
		return sticky(p, err);
	if (s == NULL)
		return read_now(p, theirs, bid, err);
	if (s->state == EMI_POOL_FETCHED)
		p->stats.hits++;
	else
		p->stats.recalled++;
	/* A copy takes less time than waiting for the write and all those before it. */
	if (s->state == EMI_POOL_WRITING) {
		memcpy(theirs, s->buf, p->block_bytes);
		return EM_OK;
	}
	st = end_read(p, &s->rq, err);
	if (st == EM_OK) {
		*buf = s->buf;
		s->buf = theirs;
	}
	forget(p, s);
	release(p, s);
	return st;
}

void emi_block_pool_invalidate(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s;

	drop(p, bid);
	while ((s = under_way(p, bid)) != NULL) {
		p->stats.waits++;
		settle(p, s);
	}
}

void emi_block_pool_free(emi_block_pool *p, em_bid bid)
{
	emi_pool_slot *s;

	drop(p, bid);
	s = under_way(p, bid);
	if (s != NULL)
		s->frees = 1;
	else
		emi_bid_free(p->disk, bid, p->block_bytes);
}

em_status emi_block_pool_flush(emi_block_pool *p, em_errinfo *err)
{
	emi_pool_slot *s;

	while (p->list[EMI_POOL_WRITING].first != NULL)
		wait_for_oldest(p);
	for (s = p->list[EMI_POOL_FREE].first; s != NULL; s = s->next)
		settle(p, s);
	return sticky(p, err);
}
