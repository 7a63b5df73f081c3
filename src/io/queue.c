/* SPDX-License-Identifier: BSL-1.0 */
/*
 * queue.c -- the queue of a disk: its lists, and what happens when a request is submitted and when it is done.
 *
 * Requests go to the lists and are taken off by workers (queue_workers.c) or by threads that wait (queue_wait.c), which
 * call the backend's read and write.  By default writes come first: a buffer whose write is delayed is missing where
 * the next block should go, while a read that is needed now is run by the thread that waits for it.
 *
 * A request that has bytes in common with an earlier one, one of them a write, is on no list: it is linked to that one,
 * and looked at again when that one is done.  It waits for one at a time, always for an earlier one, so nobody waits in
 * a circle.
 *
 * The kernel lets one write at a time into a file that is not direct: threads that began several would wait there,
 * spinning for a while, and read nothing meanwhile.  So each of these is linked to the one before.
 *
 * When the context is canceled transfers that have not begun are over when their turn comes (emi_queue_run()).
 *
 * While a file's space is given back, its transfers wait, too, as a file system lets them do anyway: there it would be
 * the thread that submits them.
 *
 * When the backend offers asynchronous transfers and enough was moved to make them worth while, the lists are
 * only for what exceeds the depth; see queue_async.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>

#include "base/context.h"
#include "io/queue.h"

static unsigned list_of(const emi_request *rq)
{
	if (emi_request_is_chore(rq))
		return EMI_LIST_CHORE;
	return rq->kind == EMI_WRITE ? EMI_LIST_WRITE : EMI_LIST_READ;
}

/* How many are on the list, together with others that are done by the same. */
static uint32_t *length(emi_queue *q, unsigned list)
{
	return list == EMI_LIST_CHORE ? &q->chores : &q->queued;
}

static void append(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);

	rq->next = NULL;
	if (q->tail[list])
		q->tail[list]->next = rq;
	else
		q->head[list] = rq;
	q->tail[list] = rq;
	rq->listed = 1;
	++*length(q, list);
}

static emi_request *take(emi_queue *q, unsigned list)
{
	emi_request *rq = q->head[list];

	if (!rq)
		return NULL;
	q->head[list] = rq->next;
	if (!rq->next)
		q->tail[list] = NULL;
	rq->listed = 0;
	--*length(q, list);
	return rq;
}

/* The list whose turn it is. */
static unsigned first_list(const emi_queue *q)
{
	const emi_request *r = q->head[EMI_LIST_READ], *w = q->head[EMI_LIST_WRITE];

	if (!r || !w)
		return r ? EMI_LIST_READ : EMI_LIST_WRITE;
	if (q->ctx->priority == EM_PRIORITY_NONE)
		return r->range.seq < w->range.seq ? EMI_LIST_READ : EMI_LIST_WRITE;
	return q->ctx->priority == EM_PRIORITY_READ ? EMI_LIST_READ : EMI_LIST_WRITE;
}

emi_request *emi_queue_take(emi_queue *q)
{
	return take(q, first_list(q));
}

emi_request *emi_queue_take_beside(emi_queue *q, const emi_request *rq, size_t most)
{
	const unsigned list = list_of(rq);
	const emi_request *next = q->head[list];

	if (list != EMI_LIST_READ || !next || next->file != rq->file || next->offset != rq->offset + rq->bytes ||
	    next->buf != (char *)rq->buf + rq->bytes || next->bytes > most)
		return NULL;
	return take(q, list);
}

emi_request *emi_queue_take_chore(emi_queue *q)
{
	return take(q, EMI_LIST_CHORE);
}

emi_request *emi_queue_pick(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);
	emi_request *before = NULL, *at = q->head[list];

	for (; at != rq; at = at->next)
		before = at;
	if (before)
		before->next = rq->next;
	else
		q->head[list] = rq->next;
	if (q->tail[list] == rq)
		q->tail[list] = before;
	rq->listed = 0;
	--*length(q, list);
	return rq;
}

/* Is it counted and timed?  Giving space back is not. */
static int metered(const emi_request *rq)
{
	return rq->kind != EMI_DISCARD;
}

static emi_meters meters_of(emi_queue *q, const emi_request *rq)
{
	const emi_meters m = { &rq->file->meter, &q->meter, &q->ctx->meter, &q->ctx->io_lock };

	return m;
}

/* It is under way no more. */
static void meter_back(emi_queue *q, const emi_request *rq, uint64_t now)
{
	const emi_meters m = meters_of(q, rq);

	emi_meters_end(&m, rq->kind == EMI_WRITE, now);
}

void emi_queue_put_back(emi_queue *q, emi_request *rq)
{
	const unsigned list = list_of(rq);

	meter_back(q, rq, emi_now_ns());
	rq->begun = 0;
	rq->next = q->head[list];
	q->head[list] = rq;
	if (!q->tail[list])
		q->tail[list] = rq;
	rq->listed = 1;
	++*length(q, list);
}

void emi_queue_begin(emi_queue *q, emi_request *rq, uint64_t now)
{
	const emi_meters m = meters_of(q, rq);

	rq->begun = now;
	if (metered(rq))
		emi_meters_begin(&m, rq->kind == EMI_WRITE, now);
}

static void meter_submit(emi_queue *q, emi_request *rq)
{
	rq->begun = 0;
	if (!metered(rq))
		return;
	emi_meter_submit(&rq->file->meter);
	emi_meter_submit(&q->meter);
	emi_meter_submit(&q->ctx->meter);
}

static void tally(emi_meter *m, const emi_request *rq, uint64_t now)
{
	if (rq->begun == 0)
		emi_meter_leave(m);
	else
		emi_meter_done(m, rq->kind == EMI_WRITE, rq->done, now - rq->begun);
}

static void meter_end(emi_queue *q, const emi_request *rq, uint64_t now)
{
	if (!metered(rq))
		return;
	if (rq->begun != 0)
		meter_back(q, rq, now);
	tally(&rq->file->meter, rq, now);
	tally(&q->meter, rq, now);
	tally(&q->ctx->meter, rq, now);
}

void emi_queue_read_meter(emi_queue *q, const emi_meter *m, em_io_stats *stats)
{
	/* In a child the lock may be held by a thread that does not exist. */
	const int forked = emi_ctx_forked(q->ctx);

	if (!forked)
		pthread_mutex_lock(&q->lock);
	emi_meter_read(m, emi_now_ns(), stats);
	if (!forked)
		pthread_mutex_unlock(&q->lock);
}

static void count(const emi_request *rq)
{
	emi_io_stats *s = rq->calls.stats;

	if (!s)
		return;
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->ios_written : &s->ios_read, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(rq->kind == EMI_WRITE ? &s->bytes_written : &s->bytes_read, rq->done, __ATOMIC_RELAXED);
}

static void call(emi_queue *q, emi_request *rq)
{
	emi_calling me, **at;

	me.thread = pthread_self();
	me.next = q->calling;
	q->calling = &me;
	pthread_mutex_unlock(&q->lock);
	rq->calls.fn(rq, rq->calls.user);
	pthread_mutex_lock(&q->lock);
	for (at = &q->calling; *at != &me; at = &(*at)->next)
		continue;
	*at = me.next;
}

static emi_request *request_of(emi_range *r)
{
	return r ? (emi_request *)(void *)((char *)r - offsetof(emi_request, range)) : NULL;
}

/* The write that rq, which is one, comes after: once.  (If that is canceled rq may begin beside the one before, where
 * it only waits in another place.) */
static emi_request *take_turn(emi_request *rq)
{
	em_file *f = rq->file;
	emi_request *before = f->last_write;

	if (rq->in_turn)
		return NULL;
	rq->in_turn = 1;
	f->last_write = rq;
	return before;
}

/* The request that rq has to wait for, or NULL. */
static emi_request *find_blocker(emi_request *rq)
{
	em_file *f = rq->file;
	emi_request *b;

	if (rq->kind == EMI_DISCARD)
		return NULL;
	b = f->discard ? f->discard : request_of(emi_overlap_find(&f->ranges, &rq->range));
	return b || rq->kind != EMI_WRITE || !f->one_write ? b : take_turn(rq);
}

/* Let rq go to the lists, or link it to one that it has to wait for. */
static void admit(emi_queue *q, emi_request *rq)
{
	emi_request *b = find_blocker(rq);

	rq->blocker = b;
	if (b) {
		rq->next = b->waiting;
		b->waiting = rq;
	} else {
		append(q, rq);
	}
}

/* Those that waited for rq are looked at again, in the order of their coming. */
static void unblock(emi_queue *q, emi_request *rq)
{
	emi_request *list = rq->waiting, *reversed = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = reversed;
		reversed = list;
	}
	for (; reversed; reversed = next) {
		next = reversed->next;
		admit(q, reversed);
	}
	rq->waiting = NULL;
}

/* Wake those that wait for any of several. */
static void tell_watchers(em_ctx *ctx)
{
	if (__atomic_load_n(&ctx->io_watchers, __ATOMIC_SEQ_CST) == 0)
		return;
	pthread_mutex_lock(&ctx->io_lock);
	pthread_cond_broadcast(&ctx->io_done);
	pthread_mutex_unlock(&ctx->io_lock);
}

/* f was left, and has no requests. */
static void bury(emi_queue *q, em_file *f)
{
	f->next_left = q->left;
	q->left = f;
}

static void complete(emi_queue *q, emi_request *rq, uint64_t now)
{
	em_file *f = rq->file;
	const emi_request_fn drop = rq->calls.drop;
	int awaited;

	count(rq);
	meter_end(q, rq, now);
	if (rq->calls.fn)
		call(q, rq);
	if (rq->calls.fn || rq->watched == EMI_WATCHED)
		q->unattended--;
	if (rq->kind != EMI_DISCARD)
		emi_overlap_remove(&f->ranges, &rq->range);
	if (f->last_write == rq)
		f->last_write = NULL;
	unblock(q, rq);
	awaited = rq->awaited;
	/* From here on rq may be gone, unless it has a drop of its own. */
	__atomic_store_n(&rq->state, EMI_DONE, __ATOMIC_SEQ_CST);
	if (drop) {
		pthread_mutex_unlock(&q->lock);
		drop(rq, rq->calls.user);
		pthread_mutex_lock(&q->lock);
	}
	f->pending--;
	if (f->left && f->pending == 0)
		bury(q, f);
	if (awaited || (q->closers > 0 && f->pending == 0))
		pthread_cond_broadcast(&q->done);
	tell_watchers(q->ctx);
}

void emi_queue_complete(emi_queue *q, emi_request *rq)
{
	complete(q, rq, emi_now_ns());
}

/* A moving average of what transfers take.  One that was held up by something else, like a thread that had to leave its
 * core, does not count for what it took. */
static void learn(emi_queue *q, uint64_t ns)
{
	if (ns > EMI_IO_SERVICE_NS)
		ns = EMI_IO_SERVICE_NS;
	q->service_ns = q->service_ns - q->service_ns / 16 + ns / 16;
}

static void run(emi_queue *q, emi_request *rq)
{
	const uint64_t begin = emi_now_ns();
	uint64_t end;

	emi_queue_begin(q, rq, begin);
	if (rq->kind == EMI_DISCARD)
		rq->file->discard = rq;
	pthread_mutex_unlock(&q->lock);
	emi_request_run(rq);
	end = emi_now_ns();
	pthread_mutex_lock(&q->lock);
	/* Of several the last one is kept in mind; those before it end earlier, most likely. */
	if (rq->file->discard == rq)
		rq->file->discard = NULL;
	if (!emi_request_is_chore(rq))
		learn(q, end - begin);
	complete(q, rq, end);
}

void emi_queue_run(emi_queue *q, emi_request *rq)
{
	/* Space is given back all the same. */
	if (rq->kind == EMI_DISCARD || !emi_ctx_canceled(q->ctx)) {
		run(q, rq);
		return;
	}
	rq->status = EM_ERR_CANCELED;
	emi_queue_complete(q, rq);
}

void emi_queue_unlock(emi_queue *q)
{
	em_file *f = q->left, *next;

	q->left = NULL;
	pthread_mutex_unlock(&q->lock);
	for (; f; f = next) {
		next = f->next_left;
		emi_file_finish(f);
	}
}

/* Asynchronous transfers are used from now on, if enough was moved and they can be had. */
static void consider_async(emi_queue *q)
{
	int e;

	if (!q->may_async || q->async || q->volume < q->async_from)
		return;
	e = q->be->open_channel(q->be->user, q->depth, &q->channel);
	q->async = e == 0;
	if (e == 0)
		return;
	q->may_async = 0;
	/* The file of the request that is about to be submitted keeps the queue. */
	pthread_mutex_unlock(&q->lock);
	emi_log(q->ctx, EM_LOG_INFO, "%s: threads make the transfers: %s cannot be used (errno %d)", q->name,
		q->be->name, e);
	pthread_mutex_lock(&q->lock);
}

/* Number a request and count it. */
static void enlist(emi_queue *q, emi_request *rq)
{
	rq->range.seq = ++q->seq;
	rq->listed = rq->in_turn = 0;
	rq->file->pending++;
	q->unattended += rq->calls.fn != NULL;
	q->volume += rq->kind == EMI_DISCARD ? 0 : rq->bytes;
	meter_submit(q, rq);
}

void emi_queue_submit(emi_request *rq)
{
	em_file *f = rq->file;
	emi_queue *q = f->queue;

	pthread_mutex_lock(&q->lock);
	consider_async(q);
	enlist(q, rq);
	admit(q, rq);
	if (rq->kind != EMI_DISCARD)
		emi_overlap_add(&f->ranges, &rq->range);
	/* Who waits for one that was not handed over makes it. */
	if (rq->listed && (!q->async || q->chores > 0 || emi_queue_due(q) > 0))
		emi_queue_kick(q);
	emi_queue_unlock(q);
}

void emi_queue_gather(emi_queue *q, int on)
{
	pthread_mutex_lock(&q->lock);
	q->gathering += on ? 1 : UINT32_MAX;
	if (q->gathering == 0 && q->queued > 0)
		emi_queue_kick(q);
	emi_queue_unlock(q);
}

void emi_queue_list(emi_request *rq)
{
	emi_queue *q = rq->file->queue;

	pthread_mutex_lock(&q->lock);
	enlist(q, rq);
	admit(q, rq);
	pthread_mutex_unlock(&q->lock);
}

void emi_queue_go_on(emi_queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
	emi_queue_unlock(q);
}

int emi_queue_run_now(emi_request *rq)
{
	em_file *f = rq->file;
	emi_queue *q = f->queue;

	pthread_mutex_lock(&q->lock);
	rq->range.seq = q->seq + 1;
	if (emi_overlap_find(&f->ranges, &rq->range)) {
		pthread_mutex_unlock(&q->lock);
		return 0;
	}
	enlist(q, rq);
	emi_overlap_add(&f->ranges, &rq->range);
	run(q, rq);
	if (q->queued + q->chores > 0)
		emi_queue_kick(q);
	emi_queue_unlock(q);
	return 1;
}

int emi_queue_cancel(emi_request *rq)
{
	emi_queue *q = rq->file->queue;
	emi_request **at;
	int found = 0;

	pthread_mutex_lock(&q->lock);
	if (rq->listed) {
		emi_queue_pick(q, rq);
		found = 1;
	} else if (rq->blocker) {
		for (at = &rq->blocker->waiting; *at != rq; at = &(*at)->next)
			continue;
		*at = rq->next;
		rq->blocker = NULL;
		found = 1;
	}
	if (found) {
		rq->status = EM_ERR_CANCELED;
		emi_queue_complete(q, rq);
		if (q->queued + q->chores > 0)
			emi_queue_kick(q);
	}
	emi_queue_unlock(q);
	return found;
}

int emi_queue_is_calling(const emi_queue *q)
{
	const emi_calling *c = q->calling;

	while (c && !pthread_equal(c->thread, pthread_self()))
		c = c->next;
	return c != NULL;
}

int emi_queue_leave(em_file *f)
{
	emi_queue *q = f->queue;
	int inside;

	pthread_mutex_lock(&q->lock);
	inside = emi_queue_is_calling(q);
	if (inside) {
		f->left = 1;
		if (f->pending == 0)
			bury(q, f);
	}
	pthread_mutex_unlock(&q->lock);
	return inside;
}

