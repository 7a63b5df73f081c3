/* SPDX-License-Identifier: BSL-1.0 */
/*
 * policy_lru.c -- LRU: the block goes whose last use is the longest ago; see extmem/sys/cache.h.
 *
 * A line with more places than frames: what is used takes the next place at the end and leaves its old one void.  So a
 * hit is two stores and reads nothing of its neighbours, as taking it out of a linked list would.  Void places are
 * closed when the end of the line is reached, which is not before twice as many hits as there are frames, and in front
 * of a victim.
 */
#include "block/policy.h"

enum { PLACES = 3 };            /* for each frame */

#define NOWHERE UINT32_MAX       /* frames are at most 2^30 */

typedef struct line {
	uint32_t places;
	uint32_t begin, end;    /* before begin all are void */
	uint32_t *frame;        /* that took the place */
	uint32_t *place;        /* of each frame: the last it took */
} line;

static uint64_t lru_bytes(uint32_t n)
{
	return sizeof(line) + (uint64_t)n * (PLACES + 1) * sizeof(uint32_t);
}

static void lru_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	line *l = state;

	(void)seed;
	(void)user;
	l->places = n * PLACES;
	l->begin = l->end = 0;
	l->frame = (uint32_t *)(void *)(l + 1);
	l->place = l->frame + l->places;
}

static int is_void(const line *l, uint32_t place)
{
	return l->place[l->frame[place]] != place;
}

static void move(line *l, uint32_t from, uint32_t to)
{
	l->frame[to] = l->frame[from];
	l->place[l->frame[to]] = to;
}

/* All move to the beginning of the line.  Which places are void nobody can predict: no branches. */
static void close_ranks(line *l)
{
	uint32_t *const frame = l->frame, *const place = l->place;
	uint32_t i, to = 0;

	for (i = l->begin; i < l->end; i++) {
		const uint32_t f = frame[i], at = place[f];

		frame[to] = f;
		place[f] = at == i ? to : at;
		to += at == i;
	}
	l->begin = 0;
	l->end = to;
}

/* Those before a place move up to it: what was walked past once is not walked past again. */
static void move_up(line *l, uint32_t place)
{
	uint32_t i, to = place;

	for (i = place; i-- > l->begin;)
		if (!is_void(l, i))
			move(l, i, --to);
	l->begin = to;
}

static void lru_hit(void *state, uint32_t frame)
{
	line *l = state;

	l->frame[l->end] = frame;
	l->place[frame] = l->end;
	if (++l->end == l->places)
		close_ranks(l);
}

static void lru_came(void *state, uint32_t frame, em_bid bid)
{
	(void)bid;
	lru_hit(state, frame);
}

static void lru_left(void *state, uint32_t frame, int32_t victim)
{
	line *l = state;

	(void)victim;
	l->place[frame] = NOWHERE;
}

/* Ask in order, until the verdict is one of two. */
static int32_t walk(line *l, em_verdict_fn ask, void *arg, int32_t one, int32_t other, uint32_t *frame)
{
	int32_t v = EM_CACHE_STAYS;
	uint32_t i;

	for (i = l->begin; i < l->end && v != one && v != other; i++)
		if (!is_void(l, i))
			v = ask(arg, *frame = l->frame[i]);
	move_up(l, i);
	return v;
}

static uint32_t lru_victim(void *state, em_verdict_fn ask, void *arg)
{
	uint32_t frame = EM_CACHE_NONE;

	return walk(state, ask, arg, EM_CACHE_GOES, EM_CACHE_ENOUGH, &frame) == EM_CACHE_GOES ? frame : EM_CACHE_NONE;
}

static void lru_next(void *state, em_verdict_fn ask, void *arg)
{
	uint32_t frame;

	walk(state, ask, arg, EM_CACHE_ENOUGH, EM_CACHE_ENOUGH, &frame);
}

const em_policy emi_policy_lru = {sizeof(em_policy), 0, "LRU", lru_bytes, lru_init, lru_came, lru_hit, lru_left,
				  lru_victim, lru_next, NULL, NULL};
