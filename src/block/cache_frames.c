/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_frames.c -- the memory of a cache, and which block is in which frame; see cache_frames.h.
 *
 * A cache that is opened has no memory but its struct.  Frames get theirs in pieces when they are used for the first
 * time, each as large as all before; so a cache that is little used takes little, and pieces are few.  Where there is
 * no memory for as many, half as many do, and if there is none at all the cache goes on with what it has.
 *
 * Tables are for a number of frames that is quadrupled, so that it gets to m at last.  They are made anew then: the map
 * and the lists are filled again, and the policy begins again with the blocks that there are, in the order in which it
 * would have had them go.  What it does not name among these has been used meanwhile.  The numbers of frames and the
 * requests of transfers stay.
 */
#include "block/cache_frames.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/policy.h"

/* The first tables, and the first piece. */
enum { ROOM_LEAST = 64, PIECE_LEAST = 1 << 16, PIECES_LEAST = 8, PIECES_MOST = 64 };

/* Where the tables lie in their memory, which begins with the map's. */
typedef struct layout {
	uint64_t frame, block, link, passed, bytes;
} layout;

static layout layout_of(uint64_t room)
{
	layout l;

	l.frame = emi_bid_map_entries((uint32_t)room) * sizeof(emi_bid_entry);
	l.block = l.frame + room * sizeof(emi_cache_frame);
	l.link = l.block + room * sizeof(emi_cache_block);
	l.passed = l.link + (room + EMI_FRAMES_LISTS) * sizeof(emi_link);
	l.bytes = l.passed + room * sizeof(uint32_t);
	return l;
}

static uint64_t pages(uint64_t bytes)
{
	return bytes / EMI_PAGE + (bytes % EMI_PAGE != 0);
}

static uint64_t tables_memory(const em_policy *policy, uint64_t room)
{
	return (pages(layout_of(room).bytes) + pages(emi_policy_bytes(policy, (uint32_t)room))) * EMI_PAGE;
}

/* The tables that come after those for `room' frames, when there are to be m. */
static uint32_t next_room(uint32_t room, uint32_t m)
{
	uint32_t next = m;

	while (next > ROOM_LEAST && (next + 3) / 4 > room)
		next = (next + 3) / 4;
	return next;
}

/* While tables are made anew there are two; pieces are fewer than twice the bits of the number of frames. */
uint64_t emi_cache_frames_memory(const emi_cache_opts *o)
{
	const uint64_t m = o->frames;
	const em_policy *policy = o->policy != NULL ? o->policy : &emi_policy_s3fifo;

	return tables_memory(policy, m) + (m > ROOM_LEAST ? tables_memory(policy, (m + 3) / 4) : 0) +
	       m * (o->block_bytes + sizeof(emi_request)) + PIECES_MOST * sizeof(emi_cache_piece);
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

static void free_tables(emi_cache *c)
{
	if (c->room == 0)
		return;
	give_back(c, c->state, emi_policy_bytes(c->policy, c->room));
	give_back(c, c->entry, layout_of(c->room).bytes);
}

static void set_tables(emi_cache *c, char *tables, void *state, uint32_t room)
{
	const layout l = layout_of(room);
	uint32_t list;

	c->entry = (emi_bid_entry *)(void *)tables;
	c->frame = (emi_cache_frame *)(void *)(tables + l.frame);
	c->block = (emi_cache_block *)(void *)(tables + l.block);
	c->link = (emi_link *)(void *)(tables + l.link);
	c->passed = (uint32_t *)(void *)(tables + l.passed);
	c->state = state;
	c->room = room;
	emi_bid_map_init(&c->map, c->entry, emi_bid_map_entries(room));
	c->policy->init(state, room, c->seed, c->policy->user);
	for (list = 0; list < EMI_FRAMES_LISTS; list++)
		emi_list_init(c->link, room + list);
}

static int32_t carry_one(void *arg, uint32_t i)
{
	emi_cache *c = arg;

	/* A policy may be the caller's, and wrong. */
	if (i >= c->used || !c->frame[i].here || c->frame[i].seen)
		return EM_CACHE_STAYS;
	c->frame[i].seen = 1;
	c->policy->came(c->state, i, c->block[i].bid);
	return EM_CACHE_STAYS;
}

/* The policy has all blocks in its new memory. */
static void carry_policy(emi_cache *c, void *old)
{
	uint32_t i;

	c->policy->next(old, carry_one, c);
	for (i = 0; i < c->used; i++) {
		if (c->frame[i].here && !c->frame[i].seen) {
			c->policy->came(c->state, i, c->block[i].bid);
			c->policy->hit(c->state, i);
		}
		c->frame[i].seen = 0;
	}
}

/* All frames and their lists as they were in other tables. */
static void carry_frames(emi_cache *c, const emi_cache *old)
{
	uint32_t i, list;

	if (c->used == 0)
		return;
	memcpy(c->frame, old->frame, c->used * sizeof *c->frame);
	memcpy(c->block, old->block, c->used * sizeof *c->block);
	for (list = 0; list < EMI_FRAMES_LISTS; list++)
		for (i = emi_frame_first(old, list); i < old->room; i = old->link[i].next)
			if (i < c->used)
				emi_frame_move_to(c, i, list);
	for (i = 0; i < c->used; i++)
		if (c->frame[i].here)
			emi_bid_map_add(&c->map, c->block[i].bid, i);
}

/* Tables for so many frames, which are not fewer than are used. */
static int make_room(emi_cache *c, uint32_t room, em_errinfo *err)
{
	const uint64_t bytes = layout_of(room).bytes;
	emi_cache old = *c;
	char *tables = take(c, bytes, err);
	void *state = tables != NULL ? take(c, emi_policy_bytes(c->policy, room), err) : NULL;

	if (state == NULL) {
		give_back(c, tables, bytes);
		return 0;
	}
	set_tables(c, tables, state, room);
	if (old.room != 0) {
		carry_frames(c, &old);
		carry_policy(c, old.state);
		free_tables(&old);
	}
	return 1;
}

void emi_cache_frames_init(emi_cache *c)
{
	emi_bid_map_init(&c->map, c->none, 2);
}

static void free_piece(emi_cache *c, emi_cache_piece *p)
{
	emi_buffer_free(c->ctx, p->base, p->bytes);
	emi_free_array(c->ctx, p->rq, p->rqs, sizeof *p->rq);
}

void emi_cache_frames_free(emi_cache *c)
{
	while (c->pieces != 0)
		free_piece(c, &c->piece[--c->pieces]);
	emi_free_array(c->ctx, c->piece, c->piece_room, sizeof *c->piece);
	free_tables(c);
}

/* Pieces are few, unless the number of frames is changed often. */
static int room_for_piece(emi_cache *c, em_errinfo *err)
{
	const uint32_t room = c->piece_room != 0 ? 2 * c->piece_room : PIECES_LEAST;
	emi_cache_piece *more;

	if (c->pieces < c->piece_room)
		return 1;
	more = emi_alloc_array(c->ctx, room, sizeof *more, err);
	if (more == NULL)
		return 0;
	if (c->pieces != 0)
		memcpy(more, c->piece, c->pieces * sizeof *more);
	emi_free_array(c->ctx, c->piece, c->piece_room, sizeof *more);
	c->piece = more;
	c->piece_room = room;
	return 1;
}

static int add_piece(emi_cache *c, uint32_t n, em_errinfo *err)
{
	emi_cache_piece *p;
	uint32_t i;

	if (!room_for_piece(c, err))
		return 0;
	p = &c->piece[c->pieces];
	p->base = emi_buffer_alloc_array(c->ctx, n, c->block_bytes, err);
	if (p->base == NULL)
		return 0;
	p->bytes = n * c->block_bytes;
	p->rqs = n;
	p->rq = emi_alloc_array(c->ctx, n, sizeof *p->rq, err);
	if (p->rq == NULL) {
		emi_buffer_free(c->ctx, p->base, p->bytes);
		return 0;
	}
	p->first = c->used;
	p->n = n;
	c->pieces++;
	c->used += n;
	for (i = 0; i < n; i++) {
		memset(&c->frame[p->first + i], 0, sizeof *c->frame);
		c->frame[p->first + i].buf = p->base + i * c->block_bytes;
		c->block[p->first + i].rq = &p->rq[i];
		emi_frame_move_to(c, p->first + i, EMI_FRAMES_FREE);
	}
	return 1;
}

/* How many frames the next piece is to have. */
static uint32_t next_piece(const emi_cache *c)
{
	const uint32_t least = c->block_bytes < PIECE_LEAST ? (uint32_t)(PIECE_LEAST / c->block_bytes) : 1;
	const uint32_t n = c->used > least ? c->used : least;

	return n < c->m - c->used ? n : c->m - c->used;
}

uint32_t emi_cache_new_frame(emi_cache *c, em_errinfo *err)
{
	uint32_t n = next_piece(c);

	if (n == 0)
		return EM_CACHE_NONE;
	if (n > c->room - c->used && !make_room(c, next_room(c->room, c->m), err))
		n = c->room - c->used;
	if (n > c->room - c->used)
		n = c->room - c->used;
	while (n != 0 && !add_piece(c, n, err))
		n /= 2;
	c->scarce = n == 0 ? c->used + c->batch : 0;
	return emi_frame_first(c, EMI_FRAMES_FREE);
}

/* The last piece is of no use, or only its first part is. */
static void cut_piece(emi_cache *c, uint32_t m)
{
	emi_cache_piece *p = &c->piece[c->pieces - 1];

	if (p->first >= m) {
		free_piece(c, p);
		c->pieces--;
		return;
	}
	p->n = m - p->first;
	p->bytes = emi_buffer_shrink(c->ctx, p->base, p->bytes, p->n * c->block_bytes);
}

void emi_cache_cut_frames(emi_cache *c, uint32_t m)
{
	uint32_t i;

	for (i = m; i < c->used; i++)
		emi_list_remove(c->link, i);
	while (c->pieces != 0 && c->piece[c->pieces - 1].first + c->piece[c->pieces - 1].n > m)
		cut_piece(c, m);
	c->used = m;
	c->last = 0;
	/* Where there is no memory for smaller tables the large ones do. */
	(void)make_room(c, m, NULL);
}

void emi_frame_place(emi_cache *c, uint32_t i, em_bid bid)
{
	emi_cache_frame *f = &c->frame[i];

	emi_list_remove(c->link, i);
	c->block[i].bid = bid;
	f->hinted = f->ahead = 0;
	f->here = 1;
	emi_bid_map_add(&c->map, bid, i);
	c->policy->came(c->state, i, bid);
}

void emi_frame_be_clean(emi_cache *c, emi_cache_frame *f)
{
	c->ndirty -= f->dirty != EMI_FRAME_CLEAN;
	f->dirty = EMI_FRAME_CLEAN;
	c->nfailed -= f->failed;
	f->failed = 0;
}

void emi_frame_drop(emi_cache *c, uint32_t i, int victim)
{
	emi_cache_frame *f = &c->frame[i];

	emi_frame_be_clean(c, f);
	f->here = 0;
	c->policy->left(c->state, i, victim);
	emi_bid_map_remove(&c->map, c->block[i].bid);
	emi_frame_move_to(c, i, EMI_FRAMES_FREE);
}

void emi_frame_move_block(emi_cache *c, uint32_t from, uint32_t to)
{
	const emi_cache_frame f = c->frame[from];
	const em_bid bid = c->block[from].bid;

	memcpy(c->frame[to].buf, f.buf, c->block_bytes);
	emi_frame_drop(c, from, 0);
	emi_frame_place(c, to, bid);
	if (f.dirty != EMI_FRAME_CLEAN)
		emi_frame_be_dirty(c, &c->frame[to]);
	c->frame[to].hinted = f.hinted;
	c->frame[to].ahead = f.ahead;
	c->frame[to].failed = f.failed;
	c->nfailed += f.failed;
}

char *emi_cache_buf(const emi_cache *c, uint32_t i)
{
	return c->frame[i].buf;
}

uint32_t emi_cache_frame_of(emi_cache *c, const void *buf)
{
	uint32_t k;

	for (k = c->pieces; k-- > 0;) {
		const emi_cache_piece *p = &c->piece[k];
		const uintptr_t at = (uintptr_t)buf - (uintptr_t)p->base;

		if (at < p->n * c->block_bytes)
			return at % c->block_bytes == 0 ? p->first + (uint32_t)(at / c->block_bytes) : EM_CACHE_NONE;
	}
	return EM_CACHE_NONE;
}
