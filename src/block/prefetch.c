/* SPDX-License-Identifier: BSL-1.0 */
/* prefetch.c -- see prefetch.h. */
#include "block/prefetch.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/packer.h"

struct emi_seq {
	emi_hint next;          /* the block to be requested next */
	int more;               /* there is one */
	emi_fetched *first, *last; /* requested and not yet taken by the consumer */
	uint32_t buffers;       /* those, and what was taken and not yet brought back */
	uint32_t place;         /* in the heap, while there is more */
	uint64_t order;         /* what the heap sorts by */
};

/* A sequence is bare when it is going to need a buffer and has none at all: one of the free ones is its own.
 * One that has taken all its blocks gets a buffer back when the consumer is done with them. */
static int is_bare(const emi_seq *s)
{
	return s->more && s->buffers == 0;
}

/* May a buffer be taken for it?  nfree >= bare always holds. */
static int may_take(const emi_prefetch *p, const emi_seq *s)
{
	return is_bare(s) ? p->nfree > 0 : p->nfree > p->bare;
}

/* Where keys do not tell, who has least needs most. */
static int before(const emi_prefetch *p, uint32_t a, uint32_t b)
{
	const emi_seq *s = &p->seq[a], *t = &p->seq[b];

	if (s->order != t->order)
		return s->order < t->order;
	return s->buffers < t->buffers || (s->buffers == t->buffers && a < b);
}

static void put_at(emi_prefetch *p, uint32_t h, uint32_t seq)
{
	p->heap[h] = seq;
	p->seq[seq].place = h;
}

static void swap(emi_prefetch *p, uint32_t h, uint32_t i)
{
	const uint32_t seq = p->heap[h];

	put_at(p, h, p->heap[i]);
	put_at(p, i, seq);
}

static void sift_down(emi_prefetch *p, uint32_t i)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= p->nheap)
			return;
		if (child + 1 < p->nheap && before(p, p->heap[child + 1], p->heap[child]))
			child++;
		if (!before(p, p->heap[child], p->heap[i]))
			return;
		swap(p, i, child);
		i = child;
	}
}

static void sift_up(emi_prefetch *p, uint32_t i)
{
	while (i > 0 && before(p, p->heap[i], p->heap[(i - 1) / 2])) {
		const uint32_t up = (i - 1) / 2;

		swap(p, i, up);
		i = up;
	}
}

static uint64_t scrambled(uint64_t key, uint64_t salt)
{
	return salt == 0 ? key : (key ^ salt) * 0x9e3779b97f4a7c15u;
}

/* Ask the sequence for its next block. */
static em_status load_hint(emi_prefetch *p, uint32_t i, em_errinfo *err)
{
	emi_seq *s = &p->seq[i];
	em_status st = p->fn(p->arg, i, &s->next, err);

	s->more = st == EM_OK;
	s->order = scrambled(s->next.key, p->scramble);
	return st == EM_END ? EM_OK : st;
}

/* Take a free buffer and request the next block of sequence i, which has one. */
static em_status request(emi_prefetch *p, uint32_t i, em_errinfo *err)
{
	emi_seq *s = &p->seq[i];
	const uint32_t h = s->place;
	emi_fetched *f = p->free;
	em_status st;

	p->free = f->next;
	p->nfree--;
	p->bare -= (uint32_t)is_bare(s);
	f->next = NULL;
	f->hint = s->next;
	f->seq = i;
	if (s->first == NULL)
		s->first = f;
	else
		s->last->next = f;
	s->last = f;
	s->buffers++;
	emi_block_read(p->disk, &f->rq, f->buf, f->hint.bytes, f->hint.bid, p->io);
	st = load_hint(p, i, err);
	if (!s->more) {
		put_at(p, h, p->heap[--p->nheap]);
		if (h < p->nheap)
			sift_up(p, h);
	}
	if (h < p->nheap)
		sift_down(p, h);
	return st;
}

em_status emi_prefetch_open(emi_prefetch *p, em_ctx *ctx, emi_disk *disk, uint32_t k, uint32_t extra,
			    size_t block_bytes, int packs, emi_hint_fn fn, void *arg, emi_io_stats *io, uint64_t scramble,
			    em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	memset(p, 0, sizeof *p);
	p->ctx = ctx;
	p->disk = disk;
	p->io = io;
	p->fn = fn;
	p->arg = arg;
	p->block_bytes = block_bytes;
	p->scramble = scramble;
	p->k = k;
	p->nbuffers = k + extra;
	p->spares = packs != 0;
	p->buffers = emi_alloc_array(ctx, p->nbuffers, sizeof *p->buffers, err);
	if (p->buffers != NULL)
		p->seq = emi_alloc_array(ctx, k, sizeof *p->seq, err);
	if (p->seq != NULL)
		p->heap = emi_alloc_array(ctx, k, sizeof *p->heap, err);
	if (p->heap == NULL) {
		st = err->status;
		goto out;
	}
	p->arena = emi_buffer_alloc_array(ctx, p->nbuffers + p->spares, block_bytes, err);
	if (p->arena == NULL) {
		st = err->status;
		goto out;
	}
	if (packs)
		p->spare = p->arena + p->nbuffers * block_bytes;
	for (i = 0; i < p->nbuffers; i++) {
		p->buffers[i].buf = p->arena + i * block_bytes;
		p->buffers[i].next = p->free;
		p->free = &p->buffers[i];
		p->nfree++;
	}
	for (i = 0; i < k && st == EM_OK; i++) {
		st = load_hint(p, i, err);
		if (p->seq[i].more) {
			p->bare++;
			put_at(p, p->nheap, i);
			sift_up(p, p->nheap++);
		}
	}
out:
	if (st != EM_OK)
		emi_prefetch_close(p);
	return st;
}

void emi_prefetch_close(emi_prefetch *p)
{
	uint32_t i;

	if (p->ctx == NULL)
		return;
	for (i = 0; p->buffers != NULL && i < p->nbuffers; i++) {
		if (!emi_ctx_forked(p->ctx))
			emi_wait(&p->buffers[i].rq, NULL);
	}
	if (p->arena != NULL)
		emi_buffer_free_array(p->ctx, p->arena, p->nbuffers + p->spares, p->block_bytes);
	if (p->heap != NULL)
		emi_free_array(p->ctx, p->heap, p->k, sizeof *p->heap);
	if (p->seq != NULL)
		emi_free_array(p->ctx, p->seq, p->k, sizeof *p->seq);
	if (p->buffers != NULL)
		emi_free_array(p->ctx, p->buffers, p->nbuffers, sizeof *p->buffers);
	memset(p, 0, sizeof *p);
}

em_status emi_prefetch_advance(emi_prefetch *p, em_errinfo *err)
{
	em_status st = EM_OK;

	while (st == EM_OK && p->nheap > 0 && may_take(p, &p->seq[p->heap[0]]))
		st = request(p, p->heap[0], err);
	return st;
}

int emi_prefetch_starved(const emi_prefetch *p, uint32_t seq)
{
	const emi_seq *s = &p->seq[seq];

	return s->more && s->first == NULL && !may_take(p, s);
}

em_status emi_prefetch_next(emi_prefetch *p, uint32_t seq, emi_fetched **out, em_errinfo *err)
{
	emi_seq *s = &p->seq[seq];
	em_status st = EM_OK;

	*out = NULL;
	if (s->more && s->first == NULL) {
		p->missed++;
		st = request(p, seq, err);
	}
	if (st != EM_OK || s->first == NULL)
		return st;
	*out = s->first;
	s->first = s->first->next;
	if (s->first == NULL)
		s->last = NULL;
	(*out)->next = NULL;
	return EM_OK;
}

em_status emi_prefetch_unpack(emi_prefetch *p, emi_fetched *f, em_errinfo *err)
{
	char *packed = f->buf;

	if (f->hint.packed == 0)
		return EM_OK;
	if (p->spare == NULL || !emi_unpack(packed, f->hint.packed, p->spare, f->hint.data))
		return emi_fail(err, EM_ERR_CORRUPT, "scratch space is damaged: block at %llu",
				(unsigned long long)f->hint.bid.offset);
	f->buf = p->spare;
	p->spare = packed;
	return EM_OK;
}

void emi_prefetch_return(emi_prefetch *p, emi_fetched *f)
{
	emi_seq *s = &p->seq[f->seq];

	f->next = p->free;
	p->free = f;
	p->nfree++;
	s->buffers--;
	p->bare += (uint32_t)is_bare(s);
	if (s->more)
		sift_up(p, s->place);
}
