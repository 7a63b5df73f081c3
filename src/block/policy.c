/* SPDX-License-Identifier: BSL-1.0 */
/* policy.c -- LRU, CLOCK and random; see extmem/sys/cache.h. */
#include "block/policy.h"

#include "base/error.h"
#include "block/frame_list.h"

/* LRU and CLOCK: a list, its first the one to go. */
typedef struct queue {
	uint32_t n;
	emi_link *link;         /* n + 1 */
	uint8_t *used;          /* since it came to the end of the list; CLOCK only */
} queue;

static uint64_t queue_bytes(uint32_t n)
{
	return sizeof(queue) + ((uint64_t)n + 1) * sizeof(emi_link) + n;
}

static void queue_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	queue *q = state;

	(void)seed;
	(void)user;
	q->n = n;
	q->link = (emi_link *)(void *)(q + 1);
	q->used = (uint8_t *)(q->link + n + 1);
	emi_list_init(q->link, n);
}

static void queue_came(void *state, uint32_t frame, em_bid bid)
{
	queue *q = state;

	(void)bid;
	q->used[frame] = 0;
	emi_list_append(q->link, q->n, frame);
}

static void queue_left(void *state, uint32_t frame, int32_t victim)
{
	queue *q = state;

	(void)victim;
	emi_list_remove(q->link, frame);
}

static void queue_next(void *state, em_verdict_fn ask, void *arg)
{
	const queue *q = state;
	uint32_t i;

	for (i = q->link[q->n].next; i != q->n; i = q->link[i].next)
		if (!q->used[i] && ask(arg, i) == EM_CACHE_ENOUGH)
			return;
}

static void lru_hit(void *state, uint32_t frame)
{
	queue *q = state;

	emi_list_remove(q->link, frame);
	emi_list_append(q->link, q->n, frame);
}

static uint32_t lru_victim(void *state, em_verdict_fn ask, void *arg)
{
	const queue *q = state;
	uint32_t i;

	for (i = q->link[q->n].next; i != q->n; i = q->link[i].next) {
		const int32_t v = ask(arg, i);

		if (v != EM_CACHE_STAYS)
			return v == EM_CACHE_GOES ? i : EM_CACHE_NONE;
	}
	return EM_CACHE_NONE;
}

static void clock_hit(void *state, uint32_t frame)
{
	queue *q = state;

	q->used[frame] = 1;
}

/* What was used goes to the end, where it comes by once more; what has to stay keeps its place. */
static uint32_t clock_victim(void *state, em_verdict_fn ask, void *arg)
{
	queue *q = state;
	uint32_t i, next;

	for (i = q->link[q->n].next; i != q->n; i = next) {
		int32_t v;

		next = q->link[i].next;
		if (q->used[i]) {
			q->used[i] = 0;
			lru_hit(q, i);
			/* It was the last one. */
			if (next == q->n)
				next = i;
			continue;
		}
		v = ask(arg, i);
		if (v != EM_CACHE_STAYS)
			return v == EM_CACHE_GOES ? i : EM_CACHE_NONE;
	}
	return EM_CACHE_NONE;
}

const em_policy emi_policy_lru = {sizeof(em_policy), 0, "LRU", queue_bytes, queue_init, queue_came, lru_hit, queue_left, lru_victim, queue_next, NULL};
const em_policy emi_policy_clock = {sizeof(em_policy), 0, "CLOCK", queue_bytes, queue_init, queue_came, clock_hit, queue_left, clock_victim, queue_next, NULL};

/* Random: the frames that have blocks, in any order. */
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

const em_policy emi_policy_random = {sizeof(em_policy), 0, "random", bag_bytes, bag_init, bag_came, bag_hit, bag_left, random_victim, random_next, NULL};

const em_policy *em_policy_lru(void)
{
	return &emi_policy_lru;
}

const em_policy *em_policy_clock(void)
{
	return &emi_policy_clock;
}

const em_policy *em_policy_random(void)
{
	return &emi_policy_random;
}

const em_policy *em_policy_s3fifo(void)
{
	return &emi_policy_s3fifo;
}

em_status emi_policy_choose(const em_policy **policy, em_errinfo *err)
{
	const em_policy *p = *policy;

	if (p == NULL)
		*policy = &emi_policy_s3fifo;
	else if (p->size < sizeof *p)
		return emi_fail(err, EM_ERR_INVAL, "em_policy.size is %u", (unsigned)p->size);
	else if (!p->name || !p->bytes || !p->init || !p->came || !p->hit || !p->left || !p->victim || !p->next)
		return emi_fail(err, EM_ERR_INVAL, "a policy without name, or without one of its functions");
	return EM_OK;
}
