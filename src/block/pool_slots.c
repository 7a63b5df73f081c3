/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_slots.c -- the slots of a pool: their lists, which block each knows, and their transfers; see block_pool.h.
 *
 * Slots have numbers from 0 on, so that the map of the cache (bid_map.h) knows them.  When one is freed the last one
 * takes its number.
 */
#include "block/block_pool.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"

enum { ROOM_LEAST = 4 };

emi_pool_slot *emi_pool_find(const emi_block_pool *p, em_bid bid)
{
	const uint32_t i = p->room != 0 ? emi_bid_map_find(&p->map, bid) : EMI_NO_ENTRY;

	return i != EMI_NO_ENTRY ? p->slot[i] : NULL;
}

void emi_slot_know(emi_block_pool *p, emi_pool_slot *s, em_bid bid)
{
	s->bid = bid;
	s->known = 1;
	s->hinted = 0;
	emi_bid_map_add(&p->map, bid, s->number);
}

void emi_slot_forget(emi_block_pool *p, emi_pool_slot *s)
{
	if (s->known)
		emi_bid_map_remove(&p->map, s->bid);
	s->known = 0;
}

static void unlink_slot(emi_block_pool *p, emi_pool_slot *s)
{
	emi_pool_list *l = &p->list[s->state];

	*(s->prev != NULL ? &s->prev->next : &l->first) = s->next;
	*(s->next != NULL ? &s->next->prev : &l->last) = s->prev;
	l->n--;
}

static void link_first(emi_block_pool *p, emi_pool_slot *s)
{
	emi_pool_list *l = &p->list[EMI_POOL_FREE];

	s->state = EMI_POOL_FREE;
	s->prev = NULL;
	s->next = l->first;
	*(l->first != NULL ? &l->first->prev : &l->last) = s;
	l->first = s;
	l->n++;
}

void emi_slot_move_last(emi_block_pool *p, emi_pool_slot *s, emi_pool_state state)
{
	emi_pool_list *l = &p->list[state];

	unlink_slot(p, s);
	s->state = state;
	s->next = NULL;
	s->prev = l->last;
	*(l->last != NULL ? &l->last->next : &l->first) = s;
	l->last = s;
	l->n++;
}

void emi_slot_release(emi_block_pool *p, emi_pool_slot *s)
{
	unlink_slot(p, s);
	link_first(p, s);
}

uint64_t emi_pool_tables_memory(uint64_t slots)
{
	uint64_t room = ROOM_LEAST;

	while (room < slots)
		room *= 2;
	return room * sizeof(emi_pool_slot *) + emi_bid_map_entries((uint32_t)room) * sizeof(emi_bid_entry);
}

void emi_pool_free_tables(emi_block_pool *p)
{
	if (p->room == 0)
		return;
	emi_free_array(p->ctx, p->slot, p->room, sizeof *p->slot);
	emi_free_array(p->ctx, p->map.entry, emi_bid_map_entries(p->room), sizeof *p->map.entry);
	p->room = 0;
}

/* Have tables for one slot more. */
static int widen(emi_block_pool *p, em_errinfo *err)
{
	const uint32_t room = p->room != 0 ? 2 * p->room : ROOM_LEAST;
	const uint64_t entries = emi_bid_map_entries(room);
	emi_pool_slot **slot;
	emi_bid_entry *entry;
	uint32_t i;

	if (p->nslots < p->room)
		return 1;
	slot = emi_alloc_array(p->ctx, room, sizeof *slot, err);
	entry = slot != NULL ? emi_alloc_array(p->ctx, entries, sizeof *entry, err) : NULL;
	if (entry == NULL) {
		emi_free_array(p->ctx, slot, room, sizeof *slot);
		return 0;
	}
	if (p->nslots != 0)
		memcpy(slot, p->slot, p->nslots * sizeof *slot);
	emi_pool_free_tables(p);
	p->slot = slot;
	p->room = room;
	emi_bid_map_init(&p->map, entry, entries);
	for (i = 0; i < p->nslots; i++)
		if (slot[i]->known)
			emi_bid_map_add(&p->map, slot[i]->bid, i);
	return 1;
}

static char *alloc_buffer(emi_block_pool *p, em_errinfo *err)
{
	return p->buffers != NULL ? emi_buffers_take(p->buffers, err) : emi_buffer_alloc(p->ctx, p->block_bytes, err);
}

static void free_buffer(emi_block_pool *p, char *buf)
{
	if (p->buffers == NULL)
		emi_buffer_free(p->ctx, buf, p->block_bytes);
	else if (buf != NULL)
		emi_buffers_give(p->buffers, buf);
}

emi_pool_slot *emi_pool_add_slot(emi_block_pool *p, char *buf, em_errinfo *err)
{
	emi_pool_slot *s = widen(p, err) ? emi_alloc(p->ctx, sizeof *s, err) : NULL;

	if (s == NULL)
		return NULL;
	s->buf = buf != NULL ? buf : alloc_buffer(p, err);
	if (s->buf == NULL) {
		emi_free(p->ctx, s, sizeof *s);
		return NULL;
	}
	s->number = p->nslots;
	p->slot[p->nslots++] = s;
	link_first(p, s);
	return s;
}

void emi_pool_free_slot(emi_block_pool *p, emi_pool_slot *s)
{
	emi_pool_slot *last = p->slot[--p->nslots];

	emi_slot_forget(p, s);
	if (last != s) {
		p->slot[s->number] = last;
		last->number = s->number;
		if (last->known) {
			emi_bid_map_remove(&p->map, last->bid);
			emi_bid_map_add(&p->map, last->bid, last->number);
		}
	}
	unlink_slot(p, s);
	free_buffer(p, s->buf);
	emi_free(p->ctx, s, sizeof *s);
}

void emi_slot_settle(emi_block_pool *p, emi_pool_slot *s)
{
	if (!emi_ctx_forked(p->ctx))
		emi_wait(&s->rq, NULL);
	if (s->frees)
		(void)emi_store_free(p->store, &p->holder, s->bid, p->block_bytes, NULL);
	s->frees = 0;
}

/* The block stays, and nobody is to be told unless buffers run out. */
static em_status fails(emi_block_pool *p, emi_pool_slot *s, const em_errinfo *why, em_errinfo *err)
{
	p->err = *why;
	emi_slot_move_last(p, s, EMI_POOL_FAILED);
	emi_log(p->ctx, EM_LOG_WARN, "block at %" PRIu64 " could not be written and stays in memory: %s", s->bid.offset,
		why->text);
	if (err != NULL && err->status >= EM_OK)
		*err = *why;
	return why->status;
}

em_status emi_slot_write(emi_block_pool *p, emi_pool_slot *s, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;

	emi_slot_move_last(p, s, EMI_POOL_WRITING);
	if (emi_store_write(p->store, &s->rq, s->buf, p->block_bytes, s->bid, p->io, &own) == EM_OK)
		return EM_OK;
	return fails(p, s, &own, err);
}

em_status emi_slot_end_write(emi_block_pool *p, emi_pool_slot *s, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	const em_status st = emi_wait(&s->rq, &own);
	const int keep = s->hinted && p->list[EMI_POOL_FETCHED].n < p->nprefetch;

	s->hinted = 0;
	if (st != EM_OK) {
		own.status = st;
		return fails(p, s, &own, err);
	}
	emi_slot_move_last(p, s, keep ? EMI_POOL_FETCHED : EMI_POOL_FREE);
	return EM_OK;
}

void emi_slot_drop(emi_block_pool *p, emi_pool_slot *s)
{
	const int unwritten = emi_cancel(&s->rq) && s->state == EMI_POOL_WRITING;

	emi_slot_forget(p, s);
	p->stats.dropped += unwritten || s->state == EMI_POOL_FAILED;
	emi_slot_release(p, s);
}

void emi_slot_drop_now(emi_block_pool *p, emi_pool_slot *s)
{
	emi_slot_drop(p, s);
	p->stats.waits += !emi_done(&s->rq);
	emi_slot_settle(p, s);
}
