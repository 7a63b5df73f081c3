/* SPDX-License-Identifier: BSL-1.0 */
/* policy_clock.c -- CLOCK: in the order in which they came, with a second turn; see extmem/sys/cache.h. */
#include "block/frame_list.h"
#include "block/policy.h"

/* A list, its first the one to go. */
typedef struct clock {
	uint32_t n;
	emi_link *link;         /* n + 1 */
	uint8_t *used;          /* since it came to the end of the list */
} clock;

static uint64_t clock_bytes(uint32_t n)
{
	return sizeof(clock) + ((uint64_t)n + 1) * sizeof(emi_link) + n;
}

static void clock_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	clock *c = state;

	(void)seed;
	(void)user;
	c->n = n;
	c->link = (emi_link *)(void *)(c + 1);
	c->used = (uint8_t *)(c->link + n + 1);
	emi_list_init(c->link, n);
}

static void clock_came(void *state, uint32_t frame, em_bid bid)
{
	clock *c = state;

	(void)bid;
	c->used[frame] = 0;
	emi_list_append(c->link, c->n, frame);
}

static void clock_hit(void *state, uint32_t frame)
{
	clock *c = state;

	c->used[frame] = 1;
}

static void clock_left(void *state, uint32_t frame, int32_t victim)
{
	clock *c = state;

	(void)victim;
	emi_list_remove(c->link, frame);
}

static void second_turn(clock *c, uint32_t frame)
{
	c->used[frame] = 0;
	emi_list_remove(c->link, frame);
	emi_list_append(c->link, c->n, frame);
}

/* What was used goes to the end, where it comes by once more; what has to stay keeps its place. */
static uint32_t clock_victim(void *state, em_verdict_fn ask, void *arg)
{
	clock *c = state;
	uint32_t i, next;

	for (i = c->link[c->n].next; i != c->n; i = next) {
		int32_t v;

		next = c->link[i].next;
		if (c->used[i]) {
			second_turn(c, i);
			/* It was the last one. */
			if (next == c->n)
				next = i;
			continue;
		}
		v = ask(arg, i);
		if (v != EM_CACHE_STAYS)
			return v == EM_CACHE_GOES ? i : EM_CACHE_NONE;
	}
	return EM_CACHE_NONE;
}

static void clock_next(void *state, em_verdict_fn ask, void *arg)
{
	const clock *c = state;
	uint32_t i;

	for (i = c->link[c->n].next; i != c->n; i = c->link[i].next)
		if (!c->used[i] && ask(arg, i) == EM_CACHE_ENOUGH)
			return;
}

const em_policy emi_policy_clock = {sizeof(em_policy), 0, "CLOCK", clock_bytes, clock_init, clock_came, clock_hit,
				    clock_left, clock_victim, clock_next, NULL, NULL};
