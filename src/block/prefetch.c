/* SPDX-License-Identifier: BSL-1.0 */
/* prefetch.c -- see prefetch.h. */
#include "block/prefetch.h"

#include <string.h>

#include <extmem/sys/schedule.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/packer.h"

#define WINDOW 64u              /* a window has so many times the blocks that it is ordered for buffers: then it is as
                                   good as all of them (bench/schedule), ... */
#define WINDOW_EACH 64u         /* ... but no more than so many of each sequence, as to ask for many takes time before
                                   the first is requested, ... */
#define WINDOW_LEAST 16u        /* ... and no less than so many times the buffers; */
#define ANEW 4u                 /* and is ordered anew when this part of it was requested: what comes after it would
                                   have changed the rest */

struct emi_seq {
	emi_hint next;          /* the first block that is not in the window and was not requested */
	int more;               /* there is one */
	emi_fetched *first;     /* requested and not yet taken by the consumer, in their order, of which some may be
	                           left out */
	uint64_t told;          /* blocks that are or were in the window or requested: the number of `next' */
	uint64_t taken;         /* by the consumer: the number of the one that it takes next */
	uint32_t ahead;         /* in the window */
	uint32_t held;          /* taken and not yet brought back */
	uint32_t buffers;       /* those, what was requested, and what is in the window */
	uint32_t place;         /* in the heap, while there is more */
	uint64_t order;         /* what the heap sorts by */
};

/* Is there a block that the consumer takes next, and was it not requested? */
static int lacks(const emi_seq *s)
{
	return (s->more || s->ahead != 0) && (s->first == NULL || s->first->number != s->taken);
}

/* A sequence is bare when it is going to need a buffer and there is none that comes back to it before: one of the free
 * ones is its own.  One that has taken blocks gets a buffer back when the consumer is done with them. */
static int is_bare(const emi_seq *s)
{
	return s->held == 0 && lacks(s);
}

/* May a buffer be taken for that block of a sequence?  For the group at hand nfree >= bare always holds.  The coming
 * one takes only what that can do without; and nbuffers >= buffers + bare always holds for it, so that nfree >= bare
 * will when all others have come back and it is its turn. */
static int may_take(const emi_prefetch *p, const emi_fetch_group *g, const emi_seq *s, uint64_t number)
{
	const emi_fetch_group *now = &p->group[p->now];
	const int own = is_bare(s) && number == s->taken;

	if (g == now)
		return own ? p->nfree > 0 : p->nfree > g->bare;
	return p->nfree > now->bare && (own || p->nbuffers - g->buffers > g->bare);
}

/* A sequence whose hints are being told. */
static emi_seq *told(const emi_prefetch *p, uint32_t seq)
{
	return &p->group[p->last].seq[seq];
}

/* Where keys do not tell, who has least needs most. */
static int before(const emi_prefetch *p, uint32_t a, uint32_t b)
{
	const emi_seq *s = told(p, a), *t = told(p, b);

	if (s->order != t->order)
		return s->order < t->order;
	return s->buffers < t->buffers || (s->buffers == t->buffers && a < b);
}

static void put_at(emi_prefetch *p, uint32_t h, uint32_t seq)
{
	p->heap[h] = seq;
	told(p, seq)->place = h;
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
	emi_seq *s = told(p, i);
	em_status st = p->fn(p->arg, i, &s->next, err);

	s->more = st == EM_OK;
	s->order = scrambled(s->next.key, p->scramble);
	return st == EM_END ? EM_OK : st;
}

/* The next block of sequence i leaves the heap: it is going to be requested, or in the window. */
static em_status tell(emi_prefetch *p, uint32_t i, em_errinfo *err)
{
	emi_seq *s = told(p, i);
	const uint32_t h = s->place;
	em_status st;

	s->told++;
	s->buffers++;
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

/* Among those requested before it, which are few, the block has its place. */
static void enqueue(emi_seq *s, emi_fetched *f)
{
	emi_fetched **at = &s->first;

	while (*at != NULL && (*at)->number < f->number)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
}

/* Take a free buffer and request a block of sequence i of group g. */
static void request(emi_prefetch *p, uint32_t g, uint32_t i, const emi_hint *hint, uint64_t number)
{
	emi_fetched *f = p->free;

	p->free = f->next;
	p->nfree--;
	p->group[g].buffers++;
	f->hint = *hint;
	f->seq = i;
	f->group = g;
	f->number = number;
	enqueue(&p->group[g].seq[i], f);
	if (hint->memory != NULL) {
		f->own = f->buf;
		f->buf = hint->memory;
		return;
	}
	emi_block_read(p->disk, &f->rq, f->buf, f->hint.bytes, f->hint.bid, p->io);
}

/* Request the next block of sequence i that is neither requested nor in the window. */
static em_status request_next(emi_prefetch *p, uint32_t i, em_errinfo *err)
{
	uint32_t *const bare = &p->group[p->last].bare;
	emi_seq *s = told(p, i);
	em_status st;

	*bare -= (uint32_t)is_bare(s);
	request(p, p->last, i, &s->next, s->told);
	st = tell(p, i, err);
	*bare += (uint32_t)is_bare(s);
	return st;
}

/* Request a block of the window. */
static void request_ahead(emi_prefetch *p, emi_ahead *a)
{
	emi_fetch_group *g = &p->group[a->group];
	emi_seq *s = &g->seq[a->seq];

	g->bare -= (uint32_t)is_bare(s);
	a->asked = 1;
	p->window.asked++;
	s->ahead--;
	request(p, a->group, a->seq, &a->hint, a->number);
	g->bare += (uint32_t)is_bare(s);
}

/* Those that were requested leave the window, but for what is behind a block that was not: these are going to be in
 * memory for longer. */
static void compact(emi_fetch_window *w)
{
	uint32_t i = 0;

	while (i < w->n && w->block[i].asked)
		i++;
	w->n -= i;
	memmove(w->block, w->block + i, w->n * sizeof *w->block);
}

/* Blocks come to the window as long as it has room. */
static em_status look_ahead(emi_prefetch *p, em_errinfo *err)
{
	emi_fetch_window *w = &p->window;
	em_status st = EM_OK;

	while (st == EM_OK && p->nheap > 0 && w->n < w->room) {
		emi_seq *s = told(p, p->heap[0]);
		emi_ahead *a = &w->block[w->n++];

		a->hint = s->next;
		a->number = s->told;
		a->seq = p->heap[0];
		a->group = (uint16_t)p->last;
		a->asked = 0;
		s->ahead++;
		st = tell(p, a->seq, err);
	}
	return st;
}

/* Part of the window was requested: have the rest, and what comes behind it, in the best order. */
static em_status order_window(emi_prefetch *p, em_errinfo *err)
{
	emi_fetch_window *w = &p->window;
	em_status st;
	uint32_t i;

	compact(w);
	st = look_ahead(p, err);
	w->ordered = 0;
	for (i = 0; i < w->n; i++) {
		w->disk[i] = w->block[i].asked ? EM_SCHEDULE_PRESENT : w->block[i].hint.bid.disk;
		w->ordered += !w->block[i].asked;
	}
	em_schedule_fetches(w->disk, w->n, w->disks, w->buffers, w->order, w->scratch);
	w->at = 0;
	w->asked = 0;
	return st;
}

static em_status advance_window(emi_prefetch *p, em_errinfo *err)
{
	emi_fetch_window *w = &p->window;

	for (;;) {
		emi_ahead *a;

		if (w->at == w->ordered || (p->nheap > 0 && w->asked >= w->room / ANEW)) {
			const em_status st = order_window(p, err);

			if (st != EM_OK || w->ordered == 0)
				return st;
		}
		a = &w->block[w->order[w->at]];
		if (!a->asked) {
			const emi_fetch_group *g = &p->group[a->group];

			if (!may_take(p, g, &g->seq[a->seq], a->number))
				return EM_OK;
			request_ahead(p, a);
		}
		w->at++;
	}
}

/* The block that the consumer takes next was not requested: it is the first of its sequence in the window, or not there
 * at all. */
static em_status request_missing(emi_prefetch *p, uint32_t seq, em_errinfo *err)
{
	const emi_seq *s = &p->group[p->now].seq[seq];
	emi_fetch_window *w = &p->window;
	uint32_t i;

	for (i = 0; s->ahead != 0 && i < w->n; i++)
		if (w->block[i].group == p->now && w->block[i].seq == seq && !w->block[i].asked &&
		    w->block[i].number == s->taken) {
			request_ahead(p, &w->block[i]);
			return EM_OK;
		}
	return request_next(p, seq, err);
}

/* Entries, for k sequences. */
static uint32_t window_room(uint64_t k, uint32_t best)
{
	const uint64_t most = WINDOW * (uint64_t)best, each = WINDOW_EACH * k, least = WINDOW_LEAST * (uint64_t)best;

	return (uint32_t)(each > most ? most : each < least ? least : each);
}

uint64_t emi_prefetch_window_memory(uint64_t k, uint32_t disks, uint32_t best)
{
	const uint64_t n = window_room(k, best);

	return best == 0 || disks < 2
		       ? 0
		       : n * (sizeof(emi_ahead) + 2 * sizeof(uint32_t)) + EM_SCHEDULE_ROOM(n, disks) * sizeof(uint32_t);
}

static em_status window_open(emi_fetch_window *w, em_ctx *ctx, uint32_t k, uint32_t disks, uint32_t best,
			     em_errinfo *err)
{
	if (best == 0 || disks < 2)
		return EM_OK;
	w->disks = disks;
	w->buffers = best;
	w->room = window_room(k, best);
	w->block = emi_alloc_array(ctx, w->room, sizeof *w->block, err);
	if (w->block != NULL)
		w->disk = emi_alloc_array(ctx, w->room, sizeof *w->disk, err);
	if (w->disk != NULL)
		w->order = emi_alloc_array(ctx, w->room, sizeof *w->order, err);
	if (w->order != NULL)
		w->scratch = emi_alloc_array(ctx, EM_SCHEDULE_ROOM(w->room, disks), sizeof *w->scratch, err);
	return w->scratch != NULL ? EM_OK : err->status;
}

static void window_close(emi_fetch_window *w, em_ctx *ctx)
{
	if (w->scratch != NULL)
		emi_free_array(ctx, w->scratch, EM_SCHEDULE_ROOM(w->room, w->disks), sizeof *w->scratch);
	if (w->order != NULL)
		emi_free_array(ctx, w->order, w->room, sizeof *w->order);
	if (w->disk != NULL)
		emi_free_array(ctx, w->disk, w->room, sizeof *w->disk);
	if (w->block != NULL)
		emi_free_array(ctx, w->block, w->room, sizeof *w->block);
}

em_status emi_prefetch_open(emi_prefetch *p, em_ctx *ctx, emi_disk *disk, uint32_t k, uint32_t extra, uint32_t best,
			    size_t block_bytes, int packs, emi_hint_fn fn, void *arg, emi_io_stats *io,
			    uint64_t scramble, em_errinfo *err)
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
		p->seq = emi_alloc_array(ctx, 2 * (uint64_t)k, sizeof *p->seq, err);
	if (p->seq != NULL)
		p->heap = emi_alloc_array(ctx, k, sizeof *p->heap, err);
	if (p->heap == NULL) {
		st = err->status;
		goto out;
	}
	st = window_open(&p->window, ctx, k, emi_scratch_disks(ctx), best, err);
	if (st != EM_OK)
		goto out;
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
	p->group[0].seq = p->seq;
	p->group[1].seq = p->seq + k;
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
	window_close(&p->window, p->ctx);
	if (p->heap != NULL)
		emi_free_array(p->ctx, p->heap, p->k, sizeof *p->heap);
	if (p->seq != NULL)
		emi_free_array(p->ctx, p->seq, 2 * (uint64_t)p->k, sizeof *p->seq);
	if (p->buffers != NULL)
		emi_free_array(p->ctx, p->buffers, p->nbuffers, sizeof *p->buffers);
	memset(p, 0, sizeof *p);
}

int emi_prefetch_told(const emi_prefetch *p)
{
	return p->nheap == 0 && p->last == p->now;
}

em_status emi_prefetch_join(emi_prefetch *p, uint32_t k, em_errinfo *err)
{
	emi_fetch_group *g = &p->group[p->now ^ 1];
	em_status st = EM_OK;
	uint32_t i;

	p->last = p->now ^ 1;
	g->k = k;
	g->bare = g->buffers = 0;
	memset(g->seq, 0, k * sizeof *g->seq);
	for (i = 0; i < k && st == EM_OK; i++) {
		st = load_hint(p, i, err);
		if (g->seq[i].more) {
			g->bare++;
			put_at(p, p->nheap, i);
			sift_up(p, p->nheap++);
		}
	}
	/* What is left of the window is ordered anew, together with what came. */
	p->window.at = p->window.ordered = 0;
	return st;
}

em_status emi_prefetch_turn(emi_prefetch *p, em_errinfo *err)
{
	if (p->last == p->now || p->group[p->now].buffers != 0)
		return emi_fail(err, EM_ERR_INTERNAL, "a group of sequences is not used up, or none is coming");
	p->now = p->last;
	return EM_OK;
}

em_status emi_prefetch_advance(emi_prefetch *p, em_errinfo *err)
{
	const emi_fetch_group *g = &p->group[p->last];
	em_status st = EM_OK;

	if (p->window.buffers != 0)
		return advance_window(p, err);
	while (st == EM_OK && p->nheap > 0 && may_take(p, g, told(p, p->heap[0]), told(p, p->heap[0])->told))
		st = request_next(p, p->heap[0], err);
	return st;
}

int emi_prefetch_starved(const emi_prefetch *p, uint32_t seq)
{
	const emi_fetch_group *g = &p->group[p->now];
	const emi_seq *s = &g->seq[seq];

	return lacks(s) && !may_take(p, g, s, s->taken);
}

em_status emi_prefetch_next(emi_prefetch *p, uint32_t seq, emi_fetched **out, em_errinfo *err)
{
	emi_seq *s = &p->group[p->now].seq[seq];
	em_status st = EM_OK;

	*out = NULL;
	if (lacks(s)) {
		p->missed++;
		st = request_missing(p, seq, err);
	}
	if (st != EM_OK || s->first == NULL)
		return st;
	*out = s->first;
	s->first = s->first->next;
	s->taken++;
	s->held++;
	(*out)->next = NULL;
	return EM_OK;
}

em_status emi_hint_damaged(const emi_disk *disk, const emi_hint *hint, em_errinfo *err)
{
	if (hint->memory != NULL)
		return emi_fail(err, EM_ERR_CORRUPT, "a block of %zu bytes in memory is damaged", hint->bytes);
	return emi_block_damaged(disk, hint->bid, hint->bytes, err);
}

em_status emi_prefetch_unpack(emi_prefetch *p, emi_fetched *f, em_errinfo *err)
{
	char **const to = f->own != NULL ? &f->own : &p->spare, *packed = f->buf;

	if (f->hint.packed == 0)
		return EM_OK;
	if (*to == NULL || !emi_unpack(packed, f->hint.packed, *to, f->hint.data))
		return emi_hint_damaged(p->disk, &f->hint, err);
	f->buf = *to;
	/* What is in memory stays where it is. */
	*to = f->own != NULL ? NULL : packed;
	return EM_OK;
}

void emi_prefetch_return(emi_prefetch *p, emi_fetched *f)
{
	emi_fetch_group *g = &p->group[f->group];
	emi_seq *s = &g->seq[f->seq];

	if (f->own != NULL)
		f->buf = f->own;
	f->own = NULL;
	f->next = p->free;
	p->free = f;
	p->nfree++;
	g->buffers--;
	s->buffers--;
	s->held--;
	g->bare += (uint32_t)is_bare(s);
	if (s->more)
		sift_up(p, s->place);
}
