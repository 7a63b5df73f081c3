/* SPDX-License-Identifier: BSL-1.0 */
/* policy_random.c -- any block goes; see extmem/sys/cache.h. */
#include "block/policy.h"

/* The frames that have blocks, in any order. */
typedef struct bag {
	uint64_t random;
	uint32_t n;
	uint32_t *frame;
	uint32_t *place;        /* of each frame among these */
} bag;

static uint64_t bag_bytes(uint32_t n)
{
	return sizeof(bag) + 2 * (uint64_t)n * sizeof(uint32_t);
}

static void bag_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	bag *b = state;

	(void)user;
	b->random = seed;
	b->frame = (uint32_t *)(void *)(b + 1);
	b->place = b->frame + n;
}

static void bag_came(void *state, uint32_t frame, em_bid bid)
{
	bag *b = state;

	(void)bid;
	b->place[frame] = b->n;
	b->frame[b->n++] = frame;
}

static void bag_hit(void *state, uint32_t frame)
{
	(void)state;
	(void)frame;
}

static void bag_left(void *state, uint32_t frame, int32_t victim)
{
	bag *b = state;
	const uint32_t last = b->frame[--b->n];

	(void)victim;
	b->frame[b->place[frame]] = last;
	b->place[last] = b->place[frame];
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* From a random frame on, so that each is proposed once. */
static uint32_t propose(const bag *b, em_verdict_fn ask, void *arg)
{
	uint32_t i, at;

	if (b->n == 0)
		return EM_CACHE_NONE;
	at = (uint32_t)(mix(b->random) % b->n);
	for (i = 0; i < b->n; i++) {
		const uint32_t frame = b->frame[at];
		const int32_t v = ask(arg, frame);

		if (v != EM_CACHE_STAYS)
			return v == EM_CACHE_GOES ? frame : EM_CACHE_NONE;
		at = at + 1 == b->n ? 0 : at + 1;
	}
	return EM_CACHE_NONE;
}

static uint32_t random_victim(void *state, em_verdict_fn ask, void *arg)
{
	bag *b = state;

	b->random += UINT64_C(0x9e3779b97f4a7c15);
	return propose(b, ask, arg);
}

static void random_next(void *state, em_verdict_fn ask, void *arg)
{
	bag b = *(const bag *)state;

	b.random += UINT64_C(0x9e3779b97f4a7c15);
	propose(&b, ask, arg);
}

const em_policy emi_policy_random = {sizeof(em_policy), 0, "random", bag_bytes, bag_init, bag_came, bag_hit, bag_left,
				     random_victim, random_next, NULL, NULL};
