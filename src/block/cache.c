/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.c -- see cache.h.
 *
 * A frame is free, in that list, or detached, or it has a block: then the map knows it and so does the policy.  Its transfer is in the list of reads or in that of
 * writes until somebody settles it.
 *
 * Writing back.  The policy proposes victims.  Those that are changed are sent on their way, and the first clean one goes.  It must not be far behind, as what is
 * far behind is what the policy wants to keep: the inner nodes of a tree are clean among changed leaves.  Then it is better to wait for the oldest write.  So that this happens
 * rarely, every few victims the next ones are looked at, and those that are changed are sent together.
 */
#include "block/cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/bid_map.h"
#include "block/frame_list.h"
#include "block/policy.h"

enum { IDLE, READING, WRITING };        /* busy */
enum { CLEAN, DIRTY, SENT };            /* dirty: SENT is what it is while it is written and nobody changed it */
enum { FREE, READS, WRITES, LISTS };    /* of frames */
enum { FRAMES_MOST = 1 << 24, BATCH = 16 };

struct emi_cache {
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats *io;
	const em_policy *policy;
	em_cache_access_fn trace;
	void *trace_user;
	uint32_t m;             /* frames there are ... */
	uint32_t detached;      /* ... and those that are elsewhere */
	size_t block_bytes;
	uint32_t batch;         /* writes under way, at most */
	uint32_t nreading, nwriting, ndirty, nfailed;
	uint32_t victims;       /* since the last batch */
	int astray;             /* the policy named a frame that may not go */
	char *arena;
	/* tables, in large pages: a hit in a large cache waits for its entry and its frame */
	emi_bid_entry *entry;
	emi_cache_frame *frame;
	em_bid *bid;            /* of the block in each frame */
	emi_request *rq;        /* its transfer */
	emi_link *link;         /* m + LISTS */
	void *state;            /* the policy's */
	emi_bid_map map;
	em_cache_stats stats;   /* what is counted */
	em_errinfo error;       /* the first of nfailed */
};

static const em_errinfo no_error = EM_ERRINFO_INIT;

static const em_policy *policy_of(const emi_cache_opts *opts)
{
	return opts->policy != NULL ? opts->policy : &emi_policy_s3fifo;
}

/* Where the tables lie in their memory, which begins with the map's. */
typedef struct layout {
	uint64_t frame, bid, rq, link, bytes;
} layout;

static layout layout_of(uint64_t m)
{
	layout l;

	l.frame = emi_bid_map_entries((uint32_t)m) * sizeof(emi_bid_entry);
	l.bid = l.frame + m * sizeof(emi_cache_frame);
	l.rq = l.bid + m * sizeof(em_bid);
	l.link = l.rq + m * sizeof(emi_request);
	l.bytes = l.link + (m + LISTS) * sizeof(emi_link);
	return l;
}

static uint64_t pages(uint64_t bytes)
{
	return bytes / EMI_PAGE + (bytes % EMI_PAGE != 0);
}

uint64_t emi_cache_memory(const emi_cache_opts *opts)
{
	const uint64_t m = opts->frames;

	return sizeof(emi_cache) + (pages(layout_of(m).bytes) + pages(emi_policy_bytes(policy_of(opts), opts->frames))) * EMI_PAGE + m * opts->block_bytes;
}

/* So many zeroed bytes, in large pages if they are many. */
static void *take(emi_cache *c, uint64_t bytes, em_errinfo *err)
{
	void *p = emi_buffer_alloc_array(c->ctx, pages(bytes), EMI_PAGE, err);

	return p != NULL ? memset(p, 0, (size_t)bytes) : NULL;
}

static void give_back(emi_cache *c, void *p, uint64_t bytes)
{
	emi_buffer_free_array(c->ctx, p, pages(bytes), EMI_PAGE);
}

static char *buf_of(const emi_cache *c, uint32_t i)
{
	return c->arena + i * c->block_bytes;
}

static void move_to(emi_cache *c, uint32_t i, uint32_t list)
{
	emi_list_append(c->link, c->m + list, i);
}

/* The first of a list, or EM_CACHE_NONE. */
static uint32_t first_of(const emi_cache *c, uint32_t list)
{
	const uint32_t i = c->link[c->m + list].next;

	return i < c->m ? i : EM_CACHE_NONE;
}

static void be_clean(emi_cache *c, emi_cache_frame *f)
{
	c->ndirty -= f->dirty != CLEAN;
	f->dirty = CLEAN;
	c->nfailed -= f->failed;
	f->failed = 0;
}

static void be_dirty(emi_cache *c, emi_cache_frame *f)
{
	c->ndirty += f->dirty == CLEAN;
	f->dirty = DIRTY;
}

/* The block of an idle frame leaves, and the frame is free. */
static void drop(emi_cache *c, uint32_t i, int victim)
{
	emi_cache_frame *f = &c->frame[i];

	be_clean(c, f);
	f->here = 0;
	c->policy->left(c->state, i, victim);
	emi_bid_map_remove(&c->map, c->bid[i]);
	move_to(c, i, FREE);
}

/* A block comes to a free frame. */
static void place(emi_cache *c, uint32_t i, em_bid bid)
{
	emi_cache_frame *f = &c->frame[i];

	emi_list_remove(c->link, i);
	c->bid[i] = bid;
	f->hinted = 0;
	f->here = 1;
	emi_bid_map_add(&c->map, bid, i);
	c->policy->came(c->state, i, bid);
}

static void start_read(emi_cache *c, uint32_t i)
{
	emi_cache_frame *f = &c->frame[i];

	f->busy = READING;
	c->nreading++;
	move_to(c, i, READS);
	(void)emi_block_read_or_zero(c->disk, &c->rq[i], buf_of(c, i), c->block_bytes, c->block_bytes, c->bid[i], c->io);
}

static void start_write(emi_cache *c, uint32_t i)
{
	emi_cache_frame *f = &c->frame[i];

	f->busy = WRITING;
	f->dirty = SENT;
	c->nwriting++;
	move_to(c, i, WRITES);
	emi_block_write(c->disk, &c->rq[i], buf_of(c, i), c->block_bytes, c->bid[i], c->io);
}

static em_status settle_read(emi_cache *c, uint32_t i, em_errinfo *err)
{
	emi_cache_frame *f = &c->frame[i];
	em_status st = emi_wait(&c->rq[i], err);

	c->nreading--;
	emi_list_remove(c->link, i);
	f->busy = IDLE;
	if (st != EM_OK) {
		drop(c, i, 0);
		return st;
	}
	c->stats.reads++;
	/* Nothing was ever written there. */
	if (c->rq[i].done < c->block_bytes)
		memset(buf_of(c, i) + c->rq[i].done, 0, c->block_bytes - c->rq[i].done);
	return EM_OK;
}

static void settle_write(emi_cache *c, uint32_t i)
{
	emi_cache_frame *f = &c->frame[i];
	em_errinfo own = no_error;
	em_status st = emi_wait(&c->rq[i], &own);

	c->nwriting--;
	emi_list_remove(c->link, i);
	f->busy = IDLE;
	if (st == EM_OK) {
		c->stats.writes++;
		if (f->dirty == SENT)
			be_clean(c, f);
		return;
	}
	f->dirty = DIRTY;
	if (st == EM_ERR_CANCELED)
		return;
	if (c->nfailed++ == 0)
		c->error = own;
	f->failed = 1;
	emi_log(c->ctx, EM_LOG_WARN, "block at %" PRIu64 " could not be written and stays in memory: %s", c->bid[i].offset, own.text);
}

/* What is over, oldest first. */
static void settle_done(emi_cache *c)
{
	uint32_t i;

	while ((i = first_of(c, WRITES)) != EM_CACHE_NONE && emi_done(&c->rq[i]))
		settle_write(c, i);
	while ((i = first_of(c, READS)) != EM_CACHE_NONE && emi_done(&c->rq[i]))
		settle_read(c, i, NULL);
}

/* A walk along what is to go. */
typedef struct search {
	emi_cache *c;
	uint32_t changed;       /* looked at */
	uint32_t goes;          /* the one that was told so, or EM_CACHE_NONE */
} search;

static void write_back(emi_cache *c, uint32_t i)
{
	start_write(c, i);
	c->stats.write_backs++;
}

static int32_t may_go(void *arg, uint32_t i)
{
	search *s = arg;
	emi_cache *c = s->c;
	const emi_cache_frame *f = &c->frame[i];

	/* A policy may be the caller's, and wrong. */
	if (i >= c->m || !f->here || f->pins != 0 || f->busy == READING || f->failed)
		return EM_CACHE_STAYS;
	if (f->dirty == CLEAN) {
		s->goes = i;
		return EM_CACHE_GOES;
	}
	if (f->busy == IDLE && c->nwriting < c->batch)
		write_back(c, i);
	return ++s->changed < 4 * c->batch ? EM_CACHE_STAYS : EM_CACHE_ENOUGH;
}

static int32_t send(void *arg, uint32_t i)
{
	search *s = arg;
	emi_cache *c = s->c;
	const emi_cache_frame *f = &c->frame[i];

	if (c->nwriting >= c->batch)
		return EM_CACHE_ENOUGH;
	if (i < c->m && f->here && f->dirty != CLEAN && f->pins == 0 && f->busy == IDLE && !f->failed)
		write_back(c, i);
	return ++s->changed < c->batch ? EM_CACHE_STAYS : EM_CACHE_ENOUGH;
}

/* Send what is changed of those that are going to go next. */
static void send_ahead(emi_cache *c)
{
	search s = {c, 0, EM_CACHE_NONE};

	c->victims = 0;
	if (c->ndirty > c->nwriting + c->nfailed)
		c->policy->next(c->state, send, &s);
}

/* A free frame, which may be had by a victim that can go at once, or EM_CACHE_NONE. */
static uint32_t free_frame(emi_cache *c)
{
	search s = {c, 0, EM_CACHE_NONE};
	uint32_t i;

	settle_done(c);
	i = first_of(c, FREE);
	if (i != EM_CACHE_NONE)
		return i;
	i = c->policy->victim(c->state, may_go, &s);
	if (i != EM_CACHE_NONE && i != s.goes) {
		c->astray = 1;
		return EM_CACHE_NONE;
	}
	if (i != EM_CACHE_NONE)
		drop(c, i, 1);
	if (s.changed != 0 || ++c->victims > c->batch / 2)
		send_ahead(c);
	return i;
}

static em_status no_frame(const emi_cache *c, em_errinfo *err)
{
	if (c->nfailed == 0)
		return emi_fail(err, EM_ERR_STATE, "all %" PRIu32 " frames of the cache are pinned",
				c->m - c->detached);
	if (err != NULL && err->status >= EM_OK)
		*err = c->error;
	return c->error.status;
}

/* The same, with waiting. */
static em_status await_frame(emi_cache *c, uint32_t *frame, em_errinfo *err)
{
	em_status st = emi_ctx_check(c->ctx, err);

	while (st == EM_OK && (*frame = free_frame(c)) == EM_CACHE_NONE) {
		if (c->astray) {
			c->astray = 0;
			st = emi_fail(err, EM_ERR_USER, "policy %s proposes a frame that may not go", c->policy->name);
		} else if (c->nwriting != 0) {
			c->stats.waits++;
			settle_write(c, first_of(c, WRITES));
		} else if (c->nreading != 0) {
			settle_read(c, first_of(c, READS), NULL);
		} else {
			st = no_frame(c, err);
		}
		/* What is changed stays so when the context is canceled meanwhile: that must be noticed. */
		if (st == EM_OK)
			st = emi_ctx_check(c->ctx, err);
	}
	return st;
}

em_status emi_cache_check(const emi_cache_opts *opts, em_errinfo *err)
{
	if (opts->frames != 0 && opts->frames <= FRAMES_MOST && opts->block_bytes != 0 && opts->block_bytes % EMI_PAGE == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_RANGE, "a cache of %" PRIu32 " blocks of %" PRIu64 " bytes", opts->frames, (uint64_t)opts->block_bytes);
}

static int take_tables(emi_cache *c, em_errinfo *err)
{
	const layout l = layout_of(c->m);
	char *tables = take(c, l.bytes, err);

	if (tables == NULL)
		return 0;
	c->entry = (emi_bid_entry *)(void *)tables;
	c->frame = (emi_cache_frame *)(void *)(tables + l.frame);
	c->bid = (em_bid *)(void *)(tables + l.bid);
	c->rq = (emi_request *)(void *)(tables + l.rq);
	c->link = (emi_link *)(void *)(tables + l.link);
	return 1;
}

em_status emi_cache_open(emi_cache **out, em_ctx *ctx, const emi_cache_opts *opts, em_errinfo *err)
{
	em_errinfo own = no_error;
	emi_cache *c = NULL;
	uint32_t i, l;

	*out = NULL;
	if (emi_cache_check(opts, err) != EM_OK)
		return EM_ERR_RANGE;
	c = emi_alloc(ctx, sizeof *c, &own);
	if (c == NULL)
		goto fail;
	c->ctx = ctx;
	c->disk = opts->disk;
	c->io = opts->io;
	c->policy = policy_of(opts);
	c->trace = opts->trace;
	c->trace_user = opts->trace_user;
	c->m = opts->frames;
	c->block_bytes = opts->block_bytes;
	c->batch = opts->batch != 0 ? opts->batch : c->m / 4 < BATCH ? c->m / 4 + (c->m < 4) : BATCH;
	if (take_tables(c, &own))
		c->state = take(c, emi_policy_bytes(c->policy, c->m), &own);
	if (c->state != NULL)
		c->arena = emi_buffer_alloc_array(ctx, c->m, c->block_bytes, &own);
	if (c->arena == NULL)
		goto fail;
	emi_bid_map_init(&c->map, c->entry, emi_bid_map_entries(c->m));
	c->policy->init(c->state, c->m, opts->seed, c->policy->user);
	for (l = 0; l < LISTS; l++)
		emi_list_init(c->link, c->m + l);
	for (i = 0; i < c->m; i++)
		move_to(c, i, FREE);
	*out = c;
	return EM_OK;
fail:
	emi_cache_close(c);
	if (err != NULL && err->status >= EM_OK)
		*err = own;
	return own.status;
}

/* Nothing is under way any more. */
static void end_transfers(emi_cache *c)
{
	uint32_t i;

	for (i = first_of(c, WRITES); i != EM_CACHE_NONE; i = first_of(c, WRITES)) {
		emi_cancel(&c->rq[i]);
		settle_write(c, i);
	}
	for (i = first_of(c, READS); i != EM_CACHE_NONE; i = first_of(c, READS)) {
		emi_cancel(&c->rq[i]);
		settle_read(c, i, NULL);
	}
}

void emi_cache_close(emi_cache *c)
{
	if (c == NULL)
		return;
	if (c->arena != NULL && !emi_ctx_forked(c->ctx)) {
		end_transfers(c);
		if (c->ndirty != 0)
			emi_log(c->ctx, EM_LOG_WARN, "a cache was closed with %" PRIu32 " changed blocks, which are discarded", c->ndirty);
	}
	if (c->arena != NULL)
		emi_buffer_free_array(c->ctx, c->arena, c->m, c->block_bytes);
	give_back(c, c->state, emi_policy_bytes(c->policy, c->m));
	give_back(c, c->entry, layout_of(c->m).bytes);
	emi_free(c->ctx, c, sizeof *c);
}

/* A block that is in the cache, or on its way, is to be used.  If it cannot be read it is there no longer. */
static em_status await_block(emi_cache *c, uint32_t i, uint32_t mode, em_errinfo *err)
{
	emi_cache_frame *f = &c->frame[i];

	if (f->busy == READING)
		return settle_read(c, i, err);
	if (f->busy == WRITING && mode != EM_CACHE_READ) {
		if (!emi_cancel(&c->rq[i]))
			c->stats.waits++;
		settle_write(c, i);
	}
	return EM_OK;
}

static void pin(emi_cache *c, emi_cache_frame *f, uint32_t mode)
{
	f->pins++;
	f->hinted = 0;
	if (mode == EM_CACHE_FRESH)
		be_dirty(c, f);
}

static em_status miss(emi_cache *c, em_bid bid, uint32_t mode, emi_cache_frame **out, em_errinfo *err)
{
	uint32_t i = EM_CACHE_NONE;
	em_status st = await_frame(c, &i, err);

	c->stats.misses++;
	if (st != EM_OK)
		return st;
	place(c, i, bid);
	if (mode != EM_CACHE_FRESH) {
		start_read(c, i);
		st = settle_read(c, i, err);
		if (st != EM_OK)
			return st;
	}
	pin(c, &c->frame[i], mode);
	*out = &c->frame[i];
	return EM_OK;
}

em_status emi_cache_get(emi_cache *c, em_bid bid, uint32_t mode, emi_cache_frame **out, em_errinfo *err)
{
	const uint32_t i = emi_bid_map_find(&c->map, bid);
	emi_cache_frame *f;

	*out = NULL;
	if (c->trace != NULL) {
		const em_cache_access access = {bid.offset, bid.disk, mode != EM_CACHE_READ};

		c->trace(c->trace_user, &access);
	}
	if (i == EMI_NO_ENTRY)
		return miss(c, bid, mode, out, err);
	f = &c->frame[i];
	if (f->busy != IDLE) {
		/* What was to be read and is overwritten is no loss. */
		em_errinfo own = no_error;
		em_status st = await_block(c, i, mode, mode == EM_CACHE_FRESH ? &own : err);

		if (st != EM_OK)
			return mode == EM_CACHE_FRESH ? miss(c, bid, mode, out, err) : st;
	}
	c->stats.hits++;
	/* A hint is no use. */
	if (!f->hinted)
		c->policy->hit(c->state, i);
	pin(c, f, mode);
	*out = f;
	return EM_OK;
}

void emi_cache_unpin(emi_cache *c, emi_cache_frame *f, int dirty)
{
	if (dirty)
		be_dirty(c, f);
	f->pins--;
}

void emi_cache_hint(emi_cache *c, em_bid bid)
{
	uint32_t i;

	/* Half of the frames are enough for what is wanted soon. */
	if (emi_bid_map_find(&c->map, bid) != EMI_NO_ENTRY || c->nreading >= (c->m - c->detached) / 2 ||
	    emi_ctx_forked(c->ctx))
		return;
	i = free_frame(c);
	if (i == EM_CACHE_NONE)
		return;
	place(c, i, bid);
	c->frame[i].hinted = 1;
	c->stats.hints++;
	start_read(c, i);
}

static void settle_writes(emi_cache *c)
{
	uint32_t i;

	while ((i = first_of(c, WRITES)) != EM_CACHE_NONE)
		settle_write(c, i);
}

em_status emi_cache_flush(emi_cache *c, em_errinfo *err)
{
	em_status st = emi_ctx_check(c->ctx, err);
	uint32_t i;

	if (st != EM_OK)
		return st;
	settle_writes(c);
	/* What could not be written has another chance. */
	for (i = 0; i < c->m && c->nfailed != 0; i++) {
		c->nfailed -= c->frame[i].failed;
		c->frame[i].failed = 0;
	}
	for (i = 0; i < c->m; i++)
		if (c->frame[i].dirty != CLEAN)
			start_write(c, i);
	settle_writes(c);
	return c->nfailed == 0 ? emi_ctx_check(c->ctx, err) : no_frame(c, err);
}

em_status emi_cache_invalidate(emi_cache *c, em_bid bid, em_errinfo *err)
{
	em_status st = emi_ctx_check(c->ctx, err);
	uint32_t i = emi_bid_map_find(&c->map, bid);

	if (st != EM_OK || i == EMI_NO_ENTRY)
		return st;
	if (c->frame[i].pins != 0)
		return emi_fail(err, EM_ERR_STATE, "the block at %" PRIu64 " is pinned", bid.offset);
	emi_cancel(&c->rq[i]);
	if (c->frame[i].busy == WRITING)
		settle_write(c, i);
	/* A read that failed has dropped it. */
	if (c->frame[i].busy == READING && settle_read(c, i, NULL) != EM_OK)
		return EM_OK;
	drop(c, i, 0);
	return EM_OK;
}

char *emi_cache_buf(const emi_cache *c, const emi_cache_frame *f)
{
	return buf_of(c, (uint32_t)(f - c->frame));
}

emi_cache_frame *emi_cache_frame_of(emi_cache *c, const void *buf)
{
	const size_t at = (size_t)((uintptr_t)buf - (uintptr_t)c->arena), i = at / c->block_bytes;

	return i < c->m && i * c->block_bytes == at ? &c->frame[i] : NULL;
}

em_status emi_cache_detach(emi_cache *c, char **buf, em_errinfo *err)
{
	uint32_t i = EM_CACHE_NONE;
	em_status st = await_frame(c, &i, err);

	*buf = NULL;
	if (st != EM_OK)
		return st;
	emi_list_remove(c->link, i);
	c->frame[i].detached = 1;
	c->detached++;
	*buf = buf_of(c, i);
	return EM_OK;
}

void emi_cache_attach(emi_cache *c, char *buf)
{
	const uint32_t i = (uint32_t)((size_t)(buf - c->arena) / c->block_bytes);

	c->frame[i].detached = 0;
	c->detached--;
	move_to(c, i, FREE);
}

uint32_t emi_cache_frames(const emi_cache *c)
{
	return c->m - c->detached;
}

uint32_t emi_cache_dirty(const emi_cache *c)
{
	return c->ndirty;
}

void emi_cache_stats_get(const emi_cache *c, em_cache_stats *stats)
{
	*stats = c->stats;
	stats->size = sizeof *stats;
	stats->frames = emi_cache_frames(c);
	stats->dirty = c->ndirty;
}
