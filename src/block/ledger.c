/* SPDX-License-Identifier: BSL-1.0 */
/*
 * ledger.c -- see ledger.h.
 *
 * A line for each block, without gaps, and a hash table from block ids to lines; both double when they are full, and
 * never shrink.  When a line is struck the last one takes its place.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/bid_map.h"
#include "block/ledger.h"

enum { FIRST_ROOM = 64 };
#define ROOM_MOST ((uint32_t)1 << 30)

typedef struct line {
	em_bid bid;
	size_t bytes;
	uint32_t owner;
	int written;
} line;

struct emi_ledger {
	em_ctx *ctx;
	pthread_mutex_t lock;
	emi_bid_map map;        /* to numbers of lines */
	line *line;
	uint32_t lines, room;
};

/* Make room for so many lines. */
static em_status grow(emi_ledger *l, uint32_t room, em_errinfo *err)
{
	const uint64_t entries = emi_bid_map_entries(room);
	line *lines = emi_alloc_array(l->ctx, room, sizeof *lines, err);
	emi_bid_entry *entry;
	emi_bid_map map;
	uint32_t i;

	if (lines == NULL)
		return err->status;
	entry = emi_alloc_array(l->ctx, entries, sizeof *entry, err);
	if (entry == NULL) {
		emi_free_array(l->ctx, lines, room, sizeof *lines);
		return err->status;
	}
	emi_bid_map_init(&map, entry, entries);
	for (i = 0; i < l->lines; i++) {
		lines[i] = l->line[i];
		emi_bid_map_add(&map, lines[i].bid, i);
	}
	if (l->room != 0) {
		emi_free_array(l->ctx, l->line, l->room, sizeof *l->line);
		emi_free_array(l->ctx, l->map.entry, emi_bid_map_entries(l->room), sizeof *entry);
	}
	l->map = map;
	l->line = lines;
	l->room = room;
	return EM_OK;
}

em_status emi_ledger_open(emi_ledger **out, em_ctx *ctx, em_errinfo *err)
{
	emi_ledger *l = emi_alloc(ctx, sizeof *l, err);
	em_status st;

	*out = NULL;
	if (l == NULL)
		return err->status;
	l->ctx = ctx;
	st = grow(l, FIRST_ROOM, err);
	if (st != EM_OK) {
		emi_free(ctx, l, sizeof *l);
		return st;
	}
	pthread_mutex_init(&l->lock, NULL);
	*out = l;
	return EM_OK;
}

void emi_ledger_close(emi_ledger *l, int forked)
{
	if (l == NULL)
		return;
	emi_free_array(l->ctx, l->line, l->room, sizeof *l->line);
	emi_free_array(l->ctx, l->map.entry, emi_bid_map_entries(l->room), sizeof *l->map.entry);
	if (!forked)
		pthread_mutex_destroy(&l->lock);
	emi_free(l->ctx, l, sizeof *l);
}

uint64_t emi_ledger_memory(uint64_t blocks)
{
	uint64_t room = FIRST_ROOM;

	while (room < blocks && room < ROOM_MOST)
		room *= 2;
	/* Half of it again while it grows. */
	return sizeof(emi_ledger) + (room + room / 2) * (sizeof(line) + 2 * sizeof(emi_bid_entry));
}

em_status emi_ledger_enter(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = EM_OK;

	pthread_mutex_lock(&l->lock);
	if (l->lines == ROOM_MOST)
		st = emi_fail(&own, EM_ERR_NOMEM, "there are more blocks than can be checked");
	else if (l->lines == l->room)
		st = grow(l, 2 * l->room, &own);
	if (st == EM_OK) {
		const line new = { bid, bytes, owner, 0 };

		l->line[l->lines] = new;
		emi_bid_map_add(&l->map, bid, l->lines++);
	}
	pthread_mutex_unlock(&l->lock);
	if (st != EM_OK && err != NULL && err->status >= EM_OK)
		*err = own;
	return st;
}

/* The line of a block of that size, or why there is none. */
static em_status look_up(const emi_ledger *l, em_bid bid, size_t bytes, uint32_t *i, const char **why)
{
	*i = emi_bid_map_find(&l->map, bid);
	if (*i == EMI_NO_ENTRY) {
		*why = "no block is allocated there";
		return EM_ERR_STATE;
	}
	if (l->line[*i].bytes != bytes) {
		*why = "the block that is there has another size";
		return EM_ERR_INVAL;
	}
	return EM_OK;
}

static em_status look_up_own(const emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, uint32_t *i,
			     const char **why)
{
	const em_status st = look_up(l, bid, bytes, i, why);

	if (st != EM_OK || l->line[*i].owner == owner)
		return st;
	*why = "the block belongs to another user";
	return EM_ERR_STATE;
}

em_status emi_ledger_strike(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, const char **why)
{
	em_status st;
	uint32_t i;

	pthread_mutex_lock(&l->lock);
	st = look_up_own(l, bid, bytes, owner, &i, why);
	if (st == EM_OK) {
		emi_bid_map_remove(&l->map, bid);
		if (i != --l->lines) {
			l->line[i] = l->line[l->lines];
			emi_bid_map_remove(&l->map, l->line[i].bid);
			emi_bid_map_add(&l->map, l->line[i].bid, i);
		}
	}
	pthread_mutex_unlock(&l->lock);
	return st;
}

em_status emi_ledger_write(emi_ledger *l, em_bid bid, size_t bytes, uint32_t owner, const char **why)
{
	em_status st;
	uint32_t i;

	pthread_mutex_lock(&l->lock);
	st = look_up_own(l, bid, bytes, owner, &i, why);
	if (st == EM_OK)
		l->line[i].written = 1;
	pthread_mutex_unlock(&l->lock);
	return st;
}

em_status emi_ledger_read(emi_ledger *l, em_bid bid, size_t bytes, const char **why)
{
	em_status st;
	uint32_t i;

	pthread_mutex_lock(&l->lock);
	st = look_up(l, bid, bytes, &i, why);
	if (st == EM_OK && !l->line[i].written) {
		*why = emi_never_written;
		st = EM_ERR_STATE;
	}
	pthread_mutex_unlock(&l->lock);
	return st;
}

int emi_ledger_next_of(emi_ledger *l, uint32_t owner, uint32_t *at, em_bid *bid, size_t *bytes)
{
	int found = 0;

	pthread_mutex_lock(&l->lock);
	if (*at > l->lines)
		*at = l->lines;
	/* What moves when one is struck comes from behind, where none of this owner's is left. */
	while (*at > 0 && !found)
		found = l->line[--*at].owner == owner;
	if (found) {
		*bid = l->line[*at].bid;
		*bytes = l->line[*at].bytes;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

/* The least owner above one that has a line, and how many: 0 when there is none. */
static uint32_t next_owner(const emi_ledger *l, uint32_t above, uint32_t *count)
{
	uint32_t owner = 0, i;

	*count = 0;
	for (i = 0; i < l->lines; i++) {
		const uint32_t o = l->line[i].owner;

		if (o <= above || (owner != 0 && o > owner))
			continue;
		*count = o == owner ? *count + 1 : 1;
		owner = o;
	}
	return owner;
}

void emi_ledger_tell(emi_ledger *l, char *text, size_t room)
{
	static const char end[] = ", ...";
	uint32_t owner = 0, count;
	size_t at = 0;

	text[0] = '\0';
	pthread_mutex_lock(&l->lock);
	while ((owner = next_owner(l, owner, &count)) != 0) {
		char item[48];
		const int n =
			snprintf(item, sizeof item, "%suser %" PRIu32 ": %" PRIu32, at == 0 ? "" : ", ", owner, count);

		if ((size_t)n + sizeof end > room - at) {
			memcpy(text + at, end, sizeof end);
			break;
		}
		memcpy(text + at, item, (size_t)n + 1);
		at += (size_t)n;
	}
	pthread_mutex_unlock(&l->lock);
}
