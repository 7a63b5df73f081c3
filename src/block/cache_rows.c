/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache_rows.c -- reading blocks of a cache before they are got: many by one request, where their places follow each
 * other; see cache.h.
 *
 * A disk moves fewer bytes in a second by reads of small blocks than by longer ones.  The frames that blocks come to
 * lie anywhere in memory, and one read has one buffer.  So a row, which is some blocks that are side by side in the
 * store, is read into memory that rows take turns at.  From there each block is copied to its frame.
 *
 * Frames of a row are like any other that are being read: the map knows them, and whoever wants such a block, or wants
 * it gone, settles the read.  Then all of the row arrive, and its memory is free.  So a block is in one place at a
 * time, and nothing is read that has a frame already: where one has, the row ends.  A row that cannot be read is no
 * failure, as no hint is: who then gets one of its blocks has it read by itself, and is told of that.
 *
 * Memory for rows comes with the first one.  It is a ring, as rows come and go in order, nearly.  Where it is full, or
 * there is none, blocks are read into their frames one by one.
 */
#include "block/cache_frames.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"

/* A row has no more bytes, as longer ones are no faster; all together have no more. */
#define ROW_BYTES ((size_t)512 << 10)
#define ROWS_BYTES ((size_t)8 << 20)
enum { ROWS_LEAST = 4, ROWS_MOST = 255, WANTED_MOST = 64 };

/* A block that is to be read. */
typedef struct wanted {
	em_bid bid;
	em_bid place;           /* reserved: it is not known, and this is the id */
} wanted;

static uint32_t at_most(uint64_t n, uint64_t most)
{
	return (uint32_t)(n < most ? n : most);
}

void emi_cache_rows_plan(emi_cache_rows *r, uint32_t ahead, size_t block_bytes)
{
	memset(r, 0, sizeof *r);
	r->longest = at_most(ahead / ROWS_LEAST, ROW_BYTES / block_bytes);
	if (r->longest < 2) {
		r->longest = 1;
		return;
	}
	r->blocks = at_most(ahead, ROWS_BYTES / block_bytes) + r->longest;
	r->n = at_most(r->blocks / 2, ROWS_MOST);
}

uint64_t emi_cache_rows_memory(uint32_t ahead, size_t block_bytes)
{
	emi_cache_rows r;

	emi_cache_rows_plan(&r, ahead, block_bytes);
	return r.blocks * ((uint64_t)block_bytes + sizeof *r.frame) + r.n * sizeof *r.row;
}

void emi_cache_rows_free(emi_cache *c)
{
	emi_cache_rows *r = &c->rows;

	if (r->memory != NULL)
		emi_buffer_free_array(c->ctx, r->memory, r->blocks, c->block_bytes);
	emi_free_array(c->ctx, r->frame, r->blocks, sizeof *r->frame);
	emi_free_array(c->ctx, r->row, r->n, sizeof *r->row);
	r->memory = NULL;
	r->frame = NULL;
	r->row = NULL;
}

/* Is there memory for rows?  That is tried once. */
static int have_rows(emi_cache *c)
{
	emi_cache_rows *r = &c->rows;
	uint32_t k;

	if (r->row != NULL || r->longest == 1)
		return r->row != NULL;
	r->memory = emi_buffer_alloc_array(c->ctx, r->blocks, c->block_bytes, NULL);
	r->frame = emi_alloc_array(c->ctx, r->blocks, sizeof *r->frame, NULL);
	r->row = emi_alloc_array(c->ctx, r->n, sizeof *r->row, NULL);
	if (r->memory == NULL || r->frame == NULL || r->row == NULL) {
		emi_cache_rows_free(c);
		r->longest = 1;
		return 0;
	}
	for (k = 0; k < r->blocks; k++)
		r->frame[k] = EM_CACHE_NONE;
	return 1;
}

/* A row of n blocks, in memory behind the one that was begun last; NULL: that is not free. */
static emi_cache_row *take_row(emi_cache *c, uint32_t n)
{
	emi_cache_rows *r = &c->rows;
	emi_cache_row *row;
	uint32_t at, k;

	if (!have_rows(c) || r->row[r->next].n != 0)
		return NULL;
	at = r->at + n <= r->blocks ? r->at : 0;
	for (k = 0; k < n; k++)
		if (r->frame[at + k] != EM_CACHE_NONE)
			return NULL;
	row = &r->row[r->next];
	row->at = at;
	row->n = n;
	r->at = at + n;
	r->next = r->next + 1 == r->n ? 0 : r->next + 1;
	return row;
}

/* The block of a frame comes with a row, as number k of it. */
static void come_with(emi_cache *c, uint32_t i, emi_cache_row *row, uint32_t k)
{
	emi_cache_frame *f = &c->frame[i];

	c->rows.frame[row->at + k] = i;
	f->row = (uint8_t)(row - c->rows.row + 1);
	f->busy = EMI_FRAME_READING;
	c->nreading++;
	emi_frame_move_to(c, i, EMI_FRAMES_READS);
}

/* A block is over with its row: it is at `from', or, NULL, could not be read.  Whoever has pinned it waits on. */
static void arrive(emi_cache *c, uint32_t i, const char *from)
{
	emi_cache_frame *f = &c->frame[i];

	f->row = 0;
	f->ahead = 0;
	emi_frame_end_read(c, i);
	if (from != NULL) {
		memcpy(f->buf, from, c->block_bytes);
		emi_frame_has_read(c, i);
	} else if (f->pins != 0) {
		emi_frame_read(c, i, EMI_FRAMES_PINNED_READS);
	} else {
		emi_frame_drop(c, i, 0);
	}
}

em_status emi_row_settle(emi_cache *c, emi_cache_row *row)
{
	const em_status st = emi_wait(&row->rq, NULL);
	uint32_t k;

	for (k = 0; k < row->n; k++) {
		const uint32_t at = row->at + k;

		arrive(c, c->rows.frame[at], st == EM_OK ? c->rows.memory + at * c->block_bytes : NULL);
		c->rows.frame[at] = EM_CACHE_NONE;
	}
	row->n = 0;
	return st;
}

/* Half of the frames are enough for what is wanted soon. */
static int may_read(const emi_cache *c, uint32_t more)
{
	return c->nreading + more < (c->m - c->detached) / 2;
}

/* Take as many free frames as can be had without waiting: before any has its block, as having them may have others
 * leave. */
static uint32_t take_frames(emi_cache *c, uint32_t n)
{
	uint32_t k, i;

	for (k = 0; k < n && may_read(c, k) && (i = emi_cache_free_frame(c)) != EM_CACHE_NONE; k++) {
		emi_list_remove(c->link, i);
		emi_frame_move_to(c, i, EMI_FRAMES_TAKEN);
	}
	return k;
}

/* Begin to read n blocks that are side by side: 0 if there are no frames for all. */
static int read_row(emi_cache *c, const wanted *w, uint32_t n, int down)
{
	const uint32_t some = take_frames(c, n);
	emi_cache_row *row = some > 1 ? take_row(c, some) : NULL;
	uint32_t k;

	for (k = 0; k < some; k++) {
		const uint32_t i = emi_frame_first(c, EMI_FRAMES_TAKEN);

		emi_frame_place(c, i, w[k].bid);
		c->frame[i].hinted = c->frame[i].ahead = 1;
		if (row != NULL)
			come_with(c, i, row, down ? some - 1 - k : k);
		else
			emi_frame_read(c, i, EMI_FRAMES_READS);
		c->stats.hints += c->frame[i].busy == EMI_FRAME_READING;
	}
	if (row != NULL)
		(void)emi_store_read(c->store, &row->rq, c->rows.memory + row->at * c->block_bytes,
				     some * c->block_bytes, w[down ? some - 1 : 0].bid, c->io);
	return some == n;
}

static int is_before(em_bid a, em_bid b)
{
	if (a.reserved != b.reserved)
		return a.reserved < b.reserved;
	return a.disk != b.disk ? a.disk < b.disk : a.offset < b.offset;
}

/* Add a block to k that are in the order of their places; returns how many they are, as once is enough. */
static uint32_t add(const emi_cache *c, wanted *w, uint32_t k, em_bid bid, int down)
{
	wanted own = { bid, bid };
	uint32_t at = k;

	own.place.reserved = !emi_store_place(c->store, bid, c->block_bytes, &own.place);
	while (at != 0 && (down ? is_before(w[at - 1].place, own.place) : is_before(own.place, w[at - 1].place)))
		at--;
	if (at != 0 && w[at - 1].bid.disk == bid.disk && w[at - 1].bid.offset == bid.offset)
		return k;
	memmove(w + at + 1, w + at, (k - at) * sizeof *w);
	w[at] = own;
	return k + 1;
}

/* How many of k blocks, from the first on, are one row. */
static uint32_t row_of(const emi_cache *c, const wanted *w, uint32_t k, int down)
{
	uint32_t n = 1;

	while (n < k && n < c->rows.longest && !w[n - 1].place.reserved && !w[n].place.reserved &&
	       w[n].place.disk == w[n - 1].place.disk &&
	       w[n].place.offset - w[n - 1].place.offset == (down ? -(uint64_t)c->block_bytes : c->block_bytes))
		n++;
	return n;
}

static int is_missing(const emi_cache *c, em_bid bid)
{
	return emi_bid_map_find(&c->map, bid) == EMI_NO_ENTRY &&
	       emi_store_check_block(c->store, EMI_READ, bid, c->block_bytes, NULL) == EM_OK;
}

void emi_cache_hint_many(emi_cache *c, const em_bid *bid, size_t n)
{
	/* What is wanted first is read first. */
	const int down = n > 1 && is_before(bid[n - 1], bid[0]);
	int more = !emi_ctx_forked(c->ctx);
	size_t i = 0;

	while (i < n && more) {
		wanted w[WANTED_MOST];
		uint32_t k = 0, at, row;

		for (; i < n && k < WANTED_MOST; i++)
			if (is_missing(c, bid[i]))
				k = add(c, w, k, bid[i], down);
		for (at = 0; at < k && more; at += row) {
			row = row_of(c, w + at, k - at, down);
			more = read_row(c, w + at, row, down);
		}
	}
}

void emi_cache_hint(emi_cache *c, em_bid bid)
{
	emi_cache_hint_many(c, &bid, 1);
}
