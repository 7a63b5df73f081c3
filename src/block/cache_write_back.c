/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_write_back.c -- which block has to go when a frame is wanted; see cache_frames.h.
 *
 * The policy proposes victims.  Those that are changed are sent on their way, and the first clean one goes.  It must
 * not be far behind, as what is far behind is what the policy wants to keep: the inner nodes of a tree are clean among
 * changed leaves.  Then it is better to wait for the oldest write.  So that this happens rarely, every few victims the
 * next ones are looked at, and those that are changed are sent together.
 *
 * They are sent when the policy has returned, as other holders, which are told of a write, may have blocks leave.
 */
#include "block/cache_frames.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/error.h"

/* A walk along what is to go. */
typedef struct search {
	emi_cache *c;
	uint32_t changed;       /* looked at */
	uint32_t chosen;        /* to be sent */
	uint32_t goes;          /* the one that was told so, or EM_CACHE_NONE */
} search;

static void choose(search *s, uint32_t i)
{
	s->c->frame[i].busy = EMI_FRAME_CHOSEN;
	emi_frame_move_to(s->c, i, EMI_FRAMES_CHOSEN);
	s->chosen++;
}

static void send_chosen(emi_cache *c)
{
	uint32_t i;

	while ((i = emi_frame_first(c, EMI_FRAMES_CHOSEN)) != EM_CACHE_NONE) {
		emi_list_remove(c->link, i);
		c->frame[i].busy = EMI_FRAME_IDLE;
		c->stats.write_backs += emi_frame_write(c, i, NULL) == EM_OK;
	}
}

static int32_t may_go(void *arg, uint32_t i)
{
	search *s = arg;
	emi_cache *c = s->c;
	const emi_cache_frame *f = &c->frame[i];

	/* A policy may be the caller's, and wrong. */
	if (i >= c->used || !f->here || f->pins != 0 || f->busy == EMI_FRAME_READING || f->failed || f->asking)
		return EM_CACHE_STAYS;
	if (f->dirty == EMI_FRAME_CLEAN) {
		s->goes = i;
		return EM_CACHE_GOES;
	}
	if (f->busy == EMI_FRAME_IDLE && c->nwriting + s->chosen < c->batch)
		choose(s, i);
	return ++s->changed < 4 * c->batch ? EM_CACHE_STAYS : EM_CACHE_ENOUGH;
}

static int32_t send(void *arg, uint32_t i)
{
	search *s = arg;
	emi_cache *c = s->c;
	const emi_cache_frame *f = &c->frame[i];

	if (c->nwriting + s->chosen >= c->batch)
		return EM_CACHE_ENOUGH;
	if (i < c->used && f->here && f->dirty != EMI_FRAME_CLEAN && f->pins == 0 && f->busy == EMI_FRAME_IDLE &&
	    !f->failed && !f->asking)
		choose(s, i);
	return ++s->changed < c->batch ? EM_CACHE_STAYS : EM_CACHE_ENOUGH;
}

/* Send what is changed of those that are going to go next. */
static void send_ahead(emi_cache *c)
{
	search s = {c, 0, 0, EM_CACHE_NONE};

	c->victims = 0;
	if (c->ndirty <= c->nwriting + c->nfailed)
		return;
	c->policy->next(c->state, send, &s);
	send_chosen(c);
}

/* A victim that can go at once has left: its frame, or EM_CACHE_NONE. */
static uint32_t take_victim(emi_cache *c)
{
	search s = {c, 0, 0, EM_CACHE_NONE};
	uint32_t i;

	if (c->used == 0)
		return EM_CACHE_NONE;
	i = c->policy->victim(c->state, may_go, &s);
	if (i != EM_CACHE_NONE && i != s.goes) {
		c->policy_error = 1;
		i = EM_CACHE_NONE;
	}
	if (i != EM_CACHE_NONE) {
		emi_frame_drop(c, i, 1);
		c->scarce -= c->scarce != 0;
	}
	send_chosen(c);
	if (s.changed != 0 || ++c->victims > c->batch / 2)
		send_ahead(c);
	return i;
}

uint32_t emi_cache_free_frame(emi_cache *c)
{
	uint32_t i;

	emi_cache_settle_done(c);
	i = emi_frame_first(c, EMI_FRAMES_FREE);
	if (i == EM_CACHE_NONE && c->used < c->m && c->scarce == 0)
		i = emi_cache_new_frame(c, NULL);
	return i != EM_CACHE_NONE ? i : take_victim(c);
}

/* No block may go, and none is going to without being written or unpinned.  Perhaps there is memory for more now. */
static em_status none_goes(emi_cache *c, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	if (c->used < c->m && emi_cache_new_frame(c, &own) != EM_CACHE_NONE)
		return EM_OK;
	if (c->nfailed == 0 && c->used == c->m)
		return emi_fail(err, EM_ERR_STATE, "all %" PRIu32 " frames of the cache are pinned",
				c->m - c->detached);
	if (c->nfailed != 0)
		own = c->error;
	if (err != NULL && err->status >= EM_OK)
		*err = own;
	return own.status;
}

/* Wait for something that may let a block go. */
static em_status await_one(emi_cache *c, em_errinfo *err)
{
	uint32_t i;

	if (c->policy_error) {
		c->policy_error = 0;
		return emi_fail(err, EM_ERR_USER, "policy %s proposes a frame that may not go", c->policy->name);
	}
	if ((i = emi_frame_first(c, EMI_FRAMES_WRITES)) != EM_CACHE_NONE) {
		c->stats.waits++;
		(void)emi_frame_settle_write(c, i, NULL);
	} else if ((i = emi_frame_first(c, EMI_FRAMES_READS)) != EM_CACHE_NONE) {
		(void)emi_frame_settle_read(c, i, NULL);
	} else {
		return none_goes(c, err);
	}
	/* What was taken back, as the context is canceled, stays changed. */
	return emi_store_check_work(c->store, err);
}

em_status emi_cache_await_frame(emi_cache *c, uint32_t *frame, em_errinfo *err)
{
	em_status st = emi_store_check_work(c->store, err);

	while (st == EM_OK && (*frame = emi_cache_free_frame(c)) == EM_CACHE_NONE)
		st = await_one(c, err);
	return st;
}

em_status emi_cache_evict(emi_cache *c, em_errinfo *err)
{
	em_status st = emi_store_check_work(c->store, err);

	while (st == EM_OK) {
		emi_cache_settle_done(c);
		if (take_victim(c) != EM_CACHE_NONE)
			return EM_OK;
		st = await_one(c, err);
	}
	return st;
}
