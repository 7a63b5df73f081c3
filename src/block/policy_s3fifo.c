/* SPDX-License-Identifier: BSL-1.0 */
/*
 * policy_s3fifo.c -- S3-FIFO; see extmem/sys/cache.h.
 *
 * Two queues of frames and one of names.  A block that comes goes to the short queue, or to the main one if its name is
 * known.  At the head of the short queue, what was used meanwhile goes on to the main queue, and what was not is a
 * victim whose name is kept.  At the head of the main queue a block has another turn for each use, up to three.  The
 * short queue gives victims while it is longer than a tenth of all frames.
 */
#include "block/bid_map.h"
#include "block/frame_list.h"
#include "block/policy.h"

enum { USES_MOST = 3, SHARE = 10 };

typedef struct s3fifo {
	uint32_t n;
	uint32_t length[2];     /* of the queues */
	uint32_t oldest;        /* of the names */
	emi_link *link;         /* n + 2: frames, the short queue, the main one */
	em_bid *bid;           /* of each frame */
	em_bid *name;          /* n that left, a ring */
	emi_bid_map names;      /* to their places in it */
	uint8_t *uses;          /* since it came to the end of its queue */
	uint8_t *queue;         /* the one that it is in */
} s3fifo;

enum { SHORT, LONG };

static uint64_t s3fifo_bytes(uint32_t n)
{
	return sizeof(s3fifo) + emi_bid_map_entries(n) * sizeof(emi_bid_entry) + 2 * (uint64_t)n * sizeof(em_bid) +
	       ((uint64_t)n + 2) * sizeof(emi_link) + 2 * (uint64_t)n;
}

static void s3fifo_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	s3fifo *s = state;
	emi_bid_entry *entry = (emi_bid_entry *)(void *)(s + 1);
	uint32_t i;

	(void)seed;
	(void)user;
	s->n = n;
	emi_bid_map_init(&s->names, entry, emi_bid_map_entries(n));
	s->bid = (em_bid *)(void *)(entry + emi_bid_map_entries(n));
	s->name = s->bid + n;
	s->link = (emi_link *)(void *)(s->name + n);
	s->uses = (uint8_t *)(s->link + n + 2);
	s->queue = s->uses + n;
	emi_list_init(s->link, n + SHORT);
	emi_list_init(s->link, n + LONG);
	/* No block has such an offset. */
	for (i = 0; i < n; i++)
		s->name[i].offset = UINT64_MAX;
}

static void put(s3fifo *s, uint32_t frame, uint8_t queue)
{
	s->queue[frame] = queue;
	s->length[queue]++;
	emi_list_append(s->link, s->n + queue, frame);
}

static void take(s3fifo *s, uint32_t frame)
{
	s->length[s->queue[frame]]--;
	emi_list_remove(s->link, frame);
}

/* Is a name known?  Then it is not any more. */
static int forget(s3fifo *s, em_bid bid)
{
	const uint32_t i = emi_bid_map_find(&s->names, bid);

	if (i == EMI_NO_ENTRY)
		return 0;
	emi_bid_map_remove(&s->names, bid);
	s->name[i].offset = UINT64_MAX;
	return 1;
}

static void keep_name(s3fifo *s, em_bid bid)
{
	if (s->name[s->oldest].offset != UINT64_MAX)
		emi_bid_map_remove(&s->names, s->name[s->oldest]);
	s->name[s->oldest] = bid;
	emi_bid_map_add(&s->names, bid, s->oldest);
	s->oldest = s->oldest + 1 == s->n ? 0 : s->oldest + 1;
}

static void s3fifo_came(void *state, uint32_t frame, em_bid bid)
{
	s3fifo *s = state;

	s->bid[frame] = bid;
	s->uses[frame] = 0;
	put(s, frame, forget(s, bid) ? LONG : SHORT);
}

static void s3fifo_hit(void *state, uint32_t frame)
{
	s3fifo *s = state;

	if (s->uses[frame] < USES_MOST)
		s->uses[frame]++;
}

static void s3fifo_left(void *state, uint32_t frame, int32_t victim)
{
	s3fifo *s = state;

	take(s, frame);
	if (victim && s->queue[frame] == SHORT)
		keep_name(s, s->bid[frame]);
}

/* Propose what is in a queue and was not used; what was goes to the end of the main queue, where it comes by again. */
static int32_t propose(s3fifo *s, uint8_t queue, em_verdict_fn ask, void *arg, uint32_t *frame)
{
	const uint32_t head = s->n + queue;
	uint32_t i, next;

	for (i = s->link[head].next; i != head; i = next) {
		int32_t v;

		next = s->link[i].next;
		if (s->uses[i] != 0) {
			s->uses[i] = queue == SHORT ? 0 : (uint8_t)(s->uses[i] - 1);
			take(s, i);
			put(s, i, LONG);
			if (next == head && queue == LONG)
				next = i;
			continue;
		}
		v = ask(arg, i);
		if (v != EM_CACHE_STAYS) {
			*frame = i;
			return v;
		}
	}
	return EM_CACHE_STAYS;
}

static uint8_t first_queue(const s3fifo *s)
{
	return s->length[SHORT] > (s->length[SHORT] + s->length[LONG]) / SHARE ? SHORT : LONG;
}

static uint32_t s3fifo_victim(void *state, em_verdict_fn ask, void *arg)
{
	s3fifo *s = state;
	const uint8_t first = first_queue(s);
	uint32_t frame = EM_CACHE_NONE;
	int32_t v = propose(s, first, ask, arg, &frame);

	if (v == EM_CACHE_STAYS)
		v = propose(s, !first, ask, arg, &frame);
	/* The short queue may have filled it again. */
	if (v == EM_CACHE_STAYS && first == LONG)
		v = propose(s, LONG, ask, arg, &frame);
	return v == EM_CACHE_GOES ? frame : EM_CACHE_NONE;
}

static void s3fifo_next(void *state, em_verdict_fn ask, void *arg)
{
	const s3fifo *s = state;
	uint8_t queue = first_queue(s);
	uint32_t i, round;

	for (round = 0; round < 2; round++, queue = !queue)
		for (i = s->link[s->n + queue].next; i < s->n; i = s->link[i].next)
			if (s->uses[i] == 0 && ask(arg, i) == EM_CACHE_ENOUGH)
				return;
}

const em_policy emi_policy_s3fifo = {sizeof(em_policy), 0, "S3-FIFO", s3fifo_bytes, s3fifo_init, s3fifo_came,
				     s3fifo_hit, s3fifo_left, s3fifo_victim, s3fifo_next, NULL, NULL};
