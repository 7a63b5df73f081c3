/* SPDX-License-Identifier: BSL-1.0 */
/* outseq.c -- see outseq.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "sort/outseq.h"

#include <string.h>

#include "base/condition.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "sort/block_vary.h"

#define TICK 0.1                /* seconds */
#define BEHIND 8u               /* writes under way, or half of the buffers: fewer are what a disk works on anyway */

em_status emi_outseq_init(emi_outseq *q, emi_runs *runs, uint32_t nring, uint32_t packers, size_t block_bytes,
			  em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	memset(q, 0, sizeof *q);
	q->runs = runs;
	q->buffer_bytes = block_bytes + EMI_PAGE;
	if (pthread_mutex_init(&q->lock, NULL) != 0)
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a lock");
	if (emi_cond_init(&q->changed) != 0) {
		pthread_mutex_destroy(&q->lock);
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a condition");
	}
	q->ring = emi_alloc_array(runs->ctx, nring, sizeof *q->ring, err);
	if (q->ring == NULL) {
		st = err->status;
		goto out;
	}
	q->nring = nring;
	st = emi_packer_init(&q->packer, runs->ctx, packers, q->buffer_bytes,
			     runs->compress == EM_COMPRESS_ALWAYS, err);
	if (st != EM_OK)
		goto out;
	q->arena = emi_buffer_alloc_array(runs->ctx, nring + q->packer.n, q->buffer_bytes, err);
	if (q->arena == NULL) {
		st = err->status;
		goto out;
	}
	for (i = 0; i < nring; i++)
		q->ring[i].buf.base = q->arena + i * q->buffer_bytes;
	for (; i < nring + q->packer.n; i++)
		emi_packer_give(&q->packer, q->arena + i * q->buffer_bytes);
out:
	if (st != EM_OK)
		emi_outseq_free(q);
	return st;
}

/* Give back the buffer that was made for a large block. */
static void drop_large(emi_outseq *q, emi_outblock *b)
{
	if (b->own == NULL)
		return;
	emi_buffer_free(q->runs->ctx, b->buf.base, b->large_bytes);
	b->buf.base = b->own;
	b->own = NULL;
	q->large--;
}

void emi_outseq_free(emi_outseq *q)
{
	uint32_t i;

	if (q->runs == NULL)
		return;
	for (i = 0; i < q->nring; i++) {
		if (!emi_ctx_forked(q->runs->ctx))
			emi_wait(&q->ring[i].buf.rq, NULL);
		drop_large(q, &q->ring[i]);
	}
	if (q->arena != NULL && !emi_run_memory_adopt(&q->runs->memory, q->arena,
						      (q->nring + q->packer.n) * q->buffer_bytes))
		emi_buffer_free_array(q->runs->ctx, q->arena, q->nring + q->packer.n, q->buffer_bytes);
	emi_packer_free(&q->packer);
	if (q->ring != NULL)
		emi_free_array(q->runs->ctx, q->ring, q->nring, sizeof *q->ring);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	memset(q, 0, sizeof *q);
}

void emi_outseq_begin(emi_outseq *q, const emi_dest *dest, uint64_t total, size_t cap)
{
	uint32_t i;

	q->dest = *dest;
	q->total = total;
	q->cap = cap;
	q->short_by = 0;
	q->next_acquire = q->next_put = q->released = 0;
	q->next_share = q->next_block = q->next_byte = 0;
	q->stay = NULL;
	q->owner = pthread_self();
	for (i = 0; i < q->nring; i++) {
		q->ring[i].turn = i;
		if (q->ring[i].state != EMI_OUT_PUT)
			q->ring[i].state = EMI_OUT_FREE;
	}
}

void emi_outseq_begin_short(emi_outseq *q, size_t by)
{
	q->short_by = by;
}

void emi_outseq_begin_stay(emi_outseq *q, char *memory, size_t bytes, size_t cap)
{
	const emi_dest nowhere = { NULL, NULL, NULL, 0, 0, NULL };

	emi_outseq_begin(q, &nowhere, 0, cap);
	q->stay = memory;
	q->stay_bytes = bytes;
}

/* What lies behind the last record of a block is written too: never what memory held before.  Buffers that are never
 * used are never touched.  It takes a while, so it is done without the lock. */
static void clean_locked(emi_outseq *q, emi_outblock *b)
{
	emi_run_memory *memory = &q->runs->memory;
	const int measures = memory->most != 0 && !q->dest.lends;
	uint64_t begin = 0;

	b->state = EMI_OUT_ACQUIRING;
	pthread_mutex_unlock(&q->lock);
	if (measures)
		begin = emi_thread_ns();
	memset(b->buf.base, 0, q->buffer_bytes);
	pthread_mutex_lock(&q->lock);
	if (measures)
		emi_run_memory_measured(memory, q->buffer_bytes, emi_thread_ns() - begin);
	b->state = EMI_OUT_FREE;
	b->clean = 1;
	pthread_cond_broadcast(&q->changed);
}

static void fail_locked(emi_outseq *q, em_status status, const em_errinfo *err)
{
	if (q->status == EM_OK) {
		if (err != NULL)
			q->err = *err;
		__atomic_store_n(&q->status, status, __ATOMIC_RELEASE);
	}
	pthread_cond_broadcast(&q->changed);
}

void emi_outseq_abort(emi_outseq *q, em_status status, const em_errinfo *err)
{
	pthread_mutex_lock(&q->lock);
	fail_locked(q, status, err);
	pthread_mutex_unlock(&q->lock);
}

/* Make a buffer that was put free: wait for its transfer without holding the lock. */
static void reclaim_locked(emi_outseq *q, emi_outblock *b)
{
	em_errinfo err;
	em_status st;

	b->state = EMI_OUT_ACQUIRING;
	pthread_mutex_unlock(&q->lock);
	memset(&err, 0, sizeof err);
	st = pthread_equal(q->owner, pthread_self()) ? emi_runs_wait(q->runs, &b->buf.rq, &err)
						     : emi_wait(&b->buf.rq, &err);
	pthread_mutex_lock(&q->lock);
	drop_large(q, b);
	b->state = EMI_OUT_FREE;
	if (st != EM_OK)
		fail_locked(q, st, &err);
	pthread_cond_broadcast(&q->changed);
}

/* Wait until another thread has changed something. */
static void await_change_locked(emi_outseq *q)
{
	em_errinfo err;
	em_status st;

	if (!pthread_equal(q->owner, pthread_self())) {
		pthread_cond_wait(&q->changed, &q->lock);
		return;
	}
	emi_cond_wait_until(&q->changed, &q->lock, emi_now() + TICK);
	pthread_mutex_unlock(&q->lock);
	memset(&err, 0, sizeof err);
	st = emi_runs_tick(q->runs);
	pthread_mutex_lock(&q->lock);
	if (st != EM_OK) {
		emi_fail(&err, st, "canceled");
		fail_locked(q, st, &err);
	}
}

/* Acquire blocks up to and including i. */
static em_status acquire_locked(emi_outseq *q, uint64_t i)
{
	while (q->status == EM_OK && q->next_acquire <= i) {
		uint64_t index = q->next_acquire;
		emi_outblock *b = &q->ring[index % q->nring];

		if (b->state == EMI_OUT_PUT && !q->dest.lends) {
			reclaim_locked(q, b);
		} else if (b->state != EMI_OUT_FREE) {
			await_change_locked(q);
		} else if (!b->clean) {
			clean_locked(q, b);
		} else {
			const size_t by = index == 0 ? 0 : q->short_by,
				     cap = index == 0 ? q->cap - q->short_by : q->cap;
			const uint64_t first = index * q->cap - by;

			b->state = EMI_OUT_FILLING;
			b->index = index;
			b->filled = 0;
			b->records = (size_t)(q->total - first < cap ? q->total - first : cap);
			b->buf.len = b->records * q->runs->by->codec->record_bytes;
			b->buf.lead = q->dest.lead == NULL
					      ? 0
					      : q->dest.lead(q->dest.arg, first * q->runs->by->codec->record_bytes);
			/* Who sees this needs no lock to see the rest. */
			__atomic_store_n(&q->next_acquire, index + 1, __ATOMIC_RELEASE);
		}
	}
	return q->status;
}

/* Most pieces belong to a block that somebody has acquired. */
static em_status acquire(emi_outseq *q, uint64_t i)
{
	em_status st;

	if (i < __atomic_load_n(&q->next_acquire, __ATOMIC_ACQUIRE))
		return emi_outseq_status(q);
	pthread_mutex_lock(&q->lock);
	st = acquire_locked(q, i);
	pthread_mutex_unlock(&q->lock);
	return st;
}

void *emi_outseq_place(emi_outseq *q, uint64_t pos, size_t *n)
{
	const uint64_t index = emi_outseq_block_of(q, pos);
	const size_t at = (size_t)(index == 0 ? pos : (pos + q->short_by) % q->cap);
	size_t rest;
	emi_outblock *b = &q->ring[index % q->nring];

	if (acquire(q, index) != EM_OK)
		return NULL;
	rest = b->records - at;
	if (*n > rest)
		*n = rest;
	return b->buf.base + b->buf.lead + at * q->runs->by->codec->record_bytes;
}

/* Hand on the blocks that are full, in order, unless somebody does. */
static void put_locked(emi_outseq *q)
{
	while (!q->putting && q->status == EM_OK) {
		emi_outblock *b = &q->ring[q->next_put % q->nring];
		em_errinfo err;
		em_status st;

		if (b->state != EMI_OUT_FULL || b->index != q->next_put)
			return;
		q->putting = 1;
		pthread_mutex_unlock(&q->lock);
		memset(&err, 0, sizeof err);
		st = q->dest.put(q->dest.arg, b, &err);
		pthread_mutex_lock(&q->lock);
		q->putting = 0;
		b->state = EMI_OUT_PUT;
		q->next_put++;
		if (st != EM_OK)
			fail_locked(q, st, &err);
		pthread_cond_broadcast(&q->changed);
	}
}

/* All of a block is there. */
static void complete(emi_outseq *q, emi_outblock *b)
{
	b->packed = 0;
	b->packing = 0;
	if (q->dest.sealed != NULL)
		q->dest.sealed(q->dest.arg, q, b);
	pthread_mutex_lock(&q->lock);
	b->state = EMI_OUT_FULL;
	put_locked(q);
	pthread_mutex_unlock(&q->lock);
}

void emi_outseq_filled(emi_outseq *q, uint64_t pos, size_t n)
{
	emi_outblock *b = &q->ring[emi_outseq_block_of(q, pos) % q->nring];

	/* Once all are there, the block may be another's. */
	const size_t records = b->records;

	if (__atomic_add_fetch(&b->filled, n, __ATOMIC_ACQ_REL) == records)
		complete(q, b);
}

int emi_outseq_reserve(emi_outseq *q, uint64_t share, uint64_t blocks, uint64_t bytes, uint64_t *first,
		       uint64_t *position)
{
	em_status st;

	pthread_mutex_lock(&q->lock);
	while (q->status == EM_OK && q->next_share != share)
		await_change_locked(q);
	*first = q->next_block;
	*position = q->next_byte;
	q->next_share++;
	q->next_block += blocks;
	q->next_byte += bytes;
	st = q->status;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return st == EM_OK;
}

/* Some buffer that was made for a large block, whose transfer can be waited for; NULL: none. */
static emi_outblock *find_large(emi_outseq *q)
{
	uint32_t i;

	for (i = 0; i < q->nring; i++)
		if (q->ring[i].own != NULL && q->ring[i].state == EMI_OUT_PUT && !q->dest.lends)
			return &q->ring[i];
	return NULL;
}

/* Make a buffer for a block that is too large for those of the ring, when it may have one. */
static int make_large_locked(emi_outseq *q, emi_outblock *b, uint64_t index, size_t bytes)
{
	em_errinfo err;
	char *base;

	while (q->status == EM_OK && (q->next_put != index || q->large != 0)) {
		emi_outblock *other = q->next_put == index ? find_large(q) : NULL;

		if (other != NULL)
			reclaim_locked(q, other);
		else
			await_change_locked(q);
	}
	if (q->status != EM_OK)
		return 0;
	memset(&err, 0, sizeof err);
	b->large_bytes = bytes + EMI_PAGE;
	base = emi_buffer_alloc(q->runs->ctx, b->large_bytes, &err);
	if (base == NULL) {
		fail_locked(q, err.status, &err);
		return 0;
	}
	/* What lies in front of the data, and behind it up to a whole page, is written too. */
	memset(base, 0, EMI_PAGE);
	memset(base + (b->large_bytes - 2 * EMI_PAGE), 0, 2 * EMI_PAGE);
	b->own = b->buf.base;
	b->buf.base = base;
	q->large++;
	return 1;
}

/* The place of a block that stays. */
static char *stay_at(emi_outseq *q, uint64_t index, size_t bytes, uint64_t position)
{
	const uint64_t at = emi_block_place(index, position);
	em_errinfo err;

	if (emi_outseq_status(q) != EM_OK)
		return NULL;
	if (at <= q->stay_bytes && bytes <= q->stay_bytes - at)
		return q->stay + (size_t)at;
	memset(&err, 0, sizeof err);
	emi_outseq_abort(
		q,
		emi_fail(&err, EM_ERR_INTERNAL, "no room for block %llu of a run in memory", (unsigned long long)index),
		&err);
	return NULL;
}

char *emi_outseq_take(emi_outseq *q, uint64_t index, size_t bytes, uint64_t position)
{
	emi_outblock *b = &q->ring[index % q->nring];
	char *at = NULL;

	/* Whole pages, so that a block of a run can be written as it is. */
	const size_t room = (bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;

	if (q->stay != NULL)
		return stay_at(q, index, bytes, position);
	pthread_mutex_lock(&q->lock);
	while (q->status == EM_OK && (b->turn != index || b->state != EMI_OUT_FREE || !b->clean)) {
		if (b->turn == index && b->state == EMI_OUT_PUT && !q->dest.lends)
			reclaim_locked(q, b);
		else if (b->turn == index && b->state == EMI_OUT_FREE)
			clean_locked(q, b);
		else
			await_change_locked(q);
	}
	if (q->status == EM_OK) {
		b->state = EMI_OUT_FILLING;
		b->turn += q->nring;
		b->index = index;
		if (room + EMI_PAGE <= q->buffer_bytes || make_large_locked(q, b, index, room)) {
			b->buf.len = bytes;
			b->buf.lead = q->dest.lead == NULL ? 0 : q->dest.lead(q->dest.arg, position);
			at = b->buf.base + b->buf.lead;
		}
	}
	pthread_mutex_unlock(&q->lock);
	return at;
}

void emi_outseq_shorten(emi_outseq *q, uint64_t index, size_t bytes)
{
	q->ring[index % q->nring].buf.len = bytes;
}

void emi_outseq_full(emi_outseq *q, uint64_t index, size_t records)
{
	emi_outblock *b = &q->ring[index % q->nring];

	if (q->stay != NULL)
		return;
	b->records = records;
	complete(q, b);
}

int emi_outseq_is_behind(emi_outseq *q)
{
	const uint32_t many = q->nring / 2 < BEHIND ? (q->nring + 1) / 2 : BEHIND;
	uint32_t i, writing = 0;

	pthread_mutex_lock(&q->lock);
	for (i = 0; i < q->nring; i++)
		writing += q->ring[i].state == EMI_OUT_PUT && !emi_done(&q->ring[i].buf.rq);
	pthread_mutex_unlock(&q->lock);
	return writing >= many;
}

int emi_outseq_room(emi_outseq *q, uint64_t i)
{
	int room;

	pthread_mutex_lock(&q->lock);
	room = !q->dest.lends || i < q->released + q->nring;
	pthread_mutex_unlock(&q->lock);
	return room;
}

emi_outblock *emi_outseq_front(emi_outseq *q)
{
	emi_outblock *b = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->released < q->next_put)
		b = &q->ring[q->released % q->nring];
	pthread_mutex_unlock(&q->lock);
	return b;
}

void emi_outseq_release(emi_outseq *q)
{
	pthread_mutex_lock(&q->lock);
	drop_large(q, &q->ring[q->released % q->nring]);
	q->ring[q->released % q->nring].state = EMI_OUT_FREE;
	q->released++;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

em_status emi_outseq_status(emi_outseq *q)
{
	return __atomic_load_n(&q->status, __ATOMIC_ACQUIRE);
}

em_status emi_outseq_end(emi_outseq *q, em_errinfo *err)
{
	uint32_t i;

	for (i = 0; i < q->nring; i++) {
		em_errinfo e;
		em_status st;

		memset(&e, 0, sizeof e);
		st = emi_runs_wait(q->runs, &q->ring[i].buf.rq, &e);
		if (st != EM_OK)
			emi_outseq_abort(q, st, &e);
		drop_large(q, &q->ring[i]);
		q->ring[i].state = EMI_OUT_FREE;
	}
	if (q->status != EM_OK && err != NULL && err->status == EM_OK)
		*err = q->err;
	return q->status;
}
