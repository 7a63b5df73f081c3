/* SPDX-License-Identifier: BSL-1.0 */
/* pq_early.c -- see pq_early.h. */
#include "container/pq_early.h"

#include "base/memory.h"

#define ENTRIES_FIRST 64u
#define SLOTS 64u               /* of a piece, at most so many ... */
#define SLOTS_BYTES 65536u      /* ... and of no more than about so many bytes */
#define SLOT_ALIGN 16u

struct emi_pq_slots {
	emi_pq_slots *next;
	size_t bytes;
};

/* The first slot of a piece begins there. */
#define SLOTS_AT ((sizeof(emi_pq_slots) + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN)

static size_t slot_bytes(const emi_pq_items *items)
{
	return (items->bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

static size_t slots_of_piece(const emi_pq_items *items)
{
	const size_t n = SLOTS_BYTES / slot_bytes(items);

	return n < 1 ? 1 : n > SLOTS ? SLOTS : n;
}

void emi_pq_early_init(emi_pq_early *h, em_ctx *ctx, const emi_pq_items *items, uint32_t most)
{
	memset(h, 0, sizeof *h);
	h->ctx = ctx;
	h->items = items;
	h->most = most;
}

void emi_pq_early_drop(emi_pq_early *h)
{
	emi_pq_slots *s;

	while ((s = h->slots) != NULL) {
		h->slots = s->next;
		emi_free(h->ctx, s, s->bytes);
	}
	emi_free_array(h->ctx, h->heap, h->room, sizeof *h->heap);
	h->heap = NULL;
	h->free_slot = NULL;
	h->n = h->room = 0;
}

uint64_t emi_pq_early_memory(const emi_pq_items *items, uint32_t most)
{
	const uint64_t each = slots_of_piece(items), pieces = (most + each - 1) / each;
	/* An array that grows is there twice. */
	uint64_t bytes = (uint64_t)most * sizeof(emi_pq_entry) * 3 / 2 + ENTRIES_FIRST * sizeof(emi_pq_entry);

	if (items->kind == EMI_PQ_RECORD)
		bytes += pieces * (SLOTS_AT + each * slot_bytes(items));
	return bytes;
}

static em_status more_entries(emi_pq_early *h, em_errinfo *err)
{
	uint32_t room = h->room != 0 ? 2 * h->room : ENTRIES_FIRST;
	emi_pq_entry *heap;

	if (room > h->most)
		room = h->most;
	heap = emi_alloc_array(h->ctx, room, sizeof *heap, err);
	if (heap == NULL)
		return err->status;
	if (h->n != 0)
		memcpy(heap, h->heap, h->n * sizeof *heap);
	emi_free_array(h->ctx, h->heap, h->room, sizeof *heap);
	h->heap = heap;
	h->room = room;
	return EM_OK;
}

static void free_slot(emi_pq_early *h, char *slot)
{
	memcpy(slot, &h->free_slot, sizeof h->free_slot);
	h->free_slot = slot;
}

static em_status more_slots(emi_pq_early *h, em_errinfo *err)
{
	const size_t n = slots_of_piece(h->items), each = slot_bytes(h->items);
	emi_pq_slots *s = emi_alloc(h->ctx, SLOTS_AT + n * each, err);
	size_t i;

	if (s == NULL)
		return err->status;
	s->bytes = SLOTS_AT + n * each;
	s->next = h->slots;
	h->slots = s;
	for (i = n; i != 0; i--)
		free_slot(h, (char *)s + SLOTS_AT + (i - 1) * each);
	return EM_OK;
}

em_status emi_pq_early_reserve(emi_pq_early *h, em_errinfo *err)
{
	em_status st = EM_OK;

	if (h->n == h->room)
		st = more_entries(h, err);
	if (st == EM_OK && h->items->kind == EMI_PQ_RECORD && h->free_slot == NULL)
		st = more_slots(h, err);
	return st;
}

static inline int comes_before(const emi_pq_early *h, const emi_pq_entry *a, const emi_pq_entry *b)
{
	const int c = emi_pair_compare(&h->items->by.tie, &a->pair, &b->pair);

	return c != 0 ? c < 0 : a->number < b->number;
}

void emi_pq_early_push(emi_pq_early *h, const char *item)
{
	emi_pq_entry e = { { 0, 0 }, h->pushed++, NULL };
	uint32_t i = h->n++, above;

	if (h->items->kind == EMI_PQ_RECORD) {
		e.slot = h->free_slot;
		memcpy(&h->free_slot, e.slot, sizeof h->free_slot);
		emi_copy(e.slot, item, h->items->bytes);
		item = e.slot;
	}
	e.pair = emi_pq_pair(h->items, item);
	for (; i != 0 && comes_before(h, &e, &h->heap[above = (i - 1) / 2]); i = above)
		h->heap[i] = h->heap[above];
	h->heap[i] = e;
}

void emi_pq_early_top(const emi_pq_early *h, char *item)
{
	const emi_pq_entry *e = &h->heap[0];
	const uint32_t key = (uint32_t)e->pair.key;

	switch (h->items->kind) {
	case EMI_PQ_U32:
		memcpy(item, &key, sizeof key);
		break;
	case EMI_PQ_U64:
		memcpy(item, &e->pair.key, sizeof e->pair.key);
		break;
	case EMI_PQ_PAIR:
		memcpy(item, &e->pair, sizeof e->pair);
		break;
	case EMI_PQ_RECORD:
	default:
		emi_copy(item, e->slot, h->items->bytes);
	}
}

void emi_pq_early_pop(emi_pq_early *h, char *item)
{
	const uint32_t n = --h->n;
	const emi_pq_entry last = h->heap[n];
	uint32_t i = 0, below;

	emi_pq_early_top(h, item);
	if (h->heap[0].slot != NULL)
		free_slot(h, h->heap[0].slot);
	/* The hole goes down to a leaf, where the last one mostly belongs, and then up again. */
	while ((below = 2 * i + 1) < n) {
		if (below + 1 < n && comes_before(h, &h->heap[below + 1], &h->heap[below]))
			below++;
		h->heap[i] = h->heap[below];
		i = below;
	}
	for (; i != 0 && comes_before(h, &last, &h->heap[below = (i - 1) / 2]); i = below)
		h->heap[i] = h->heap[below];
	h->heap[i] = last;
}
