/* SPDX-License-Identifier: BSL-1.0 */
/* trace.c -- accesses to a cache, and what they would cost; see extmem/sys/cache.h. */
#include <extmem/sys/cache.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/bid_map.h"
#include "block/policy.h"

void em_cache_trace_record(void *user, const em_cache_access *access)
{
	em_cache_trace *t = user;

	if (t == NULL || access == NULL)
		return;
	if (t->n < t->most)
		t->access[t->n] = *access;
	t->n++;
}

static em_bid bid_of(const em_cache_access *a)
{
	em_bid bid = {a->disk, 0, a->offset};

	return bid;
}

static em_status check(const em_ctx *ctx, const em_cache_access *access, uint64_t n, uint32_t frames,
		       const uint64_t *misses, em_errinfo *err)
{
	if (ctx == NULL || (access == NULL && n != 0) || misses == NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s is NULL",
				ctx == NULL	 ? "ctx"
				: misses == NULL ? "misses"
						 : "access");
	if (frames == 0 || frames > 1u << 30 || n >= 1u << 30)
		return emi_fail(err, EM_ERR_RANGE, "a trace has less than 2^30 accesses, a cache 1 to 2^30 frames");
	return EM_OK;
}

static int32_t anyone(void *arg, uint32_t frame)
{
	(void)arg;
	(void)frame;
	return EM_CACHE_GOES;
}

static em_status replay(em_ctx *ctx, const em_cache_access *access, uint64_t n, const em_policy *policy, uint64_t seed,
			uint32_t frames, uint64_t *misses, em_errinfo *err)
{
	const uint64_t entries = emi_bid_map_entries(frames), bytes = emi_policy_bytes(policy, frames);
	em_status st = EM_OK;
	emi_bid_entry *entry = NULL;
	em_bid *held = NULL;
	void *state = NULL;
	emi_bid_map map;
	uint32_t used = 0;
	uint64_t i;

	state = emi_alloc_array(ctx, bytes, 1, err);
	if (state != NULL)
		held = emi_alloc_array(ctx, frames, sizeof *held, err);
	if (held != NULL)
		entry = emi_alloc_array(ctx, entries, sizeof *entry, err);
	if (entry == NULL) {
		st = err->status;
		goto out;
	}
	emi_bid_map_init(&map, entry, entries);
	policy->init(state, frames, seed, policy->user);
	for (i = 0; i < n; i++) {
		const em_bid bid = bid_of(&access[i]);
		uint32_t f = emi_bid_map_find(&map, bid);

		if (f != EMI_NO_ENTRY) {
			policy->hit(state, f);
			continue;
		}
		++*misses;
		if (used < frames) {
			f = used++;
		} else {
			f = policy->victim(state, anyone, NULL);
			if (f >= frames) {
				st = emi_fail(err, EM_ERR_USER, "policy %s proposes no victim", policy->name);
				goto out;
			}
			policy->left(state, f, 1);
			emi_bid_map_remove(&map, held[f]);
		}
		held[f] = bid;
		emi_bid_map_add(&map, bid, f);
		policy->came(state, f, bid);
	}
out:
	emi_free_array(ctx, entry, entries, sizeof *entry);
	emi_free_array(ctx, held, frames, sizeof *held);
	emi_free_array(ctx, state, bytes, 1);
	return st;
}

/* err may be NULL for callers, or hold anything. */
static em_status tell(em_status st, const em_errinfo *own, em_errinfo *err)
{
	if (err != NULL)
		*err = *own;
	return st;
}

em_status em_cache_trace_policy(em_ctx *ctx, const em_cache_access *access, uint64_t n, const em_policy *policy,
				uint64_t seed, uint32_t frames, uint64_t *misses, em_errinfo *err)
{
	const emi_user user = emi_policy_user(policy);
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = check(ctx, access, n, frames, misses, &own);

	if (misses != NULL)
		*misses = 0;
	if (st == EM_OK)
		st = emi_policy_choose(&policy, &own);
	if (st == EM_OK)
		st = replay(ctx, access, n, policy, seed, frames, misses, &own);
	emi_user_free(&user);
	return tell(st, &own, err);
}

/*
 * The optimum.  Blocks have numbers, in the order of their first accesses.  A heap has those that are in the cache, the
 * one whose next access is the farthest first; NEVER is farther than any.
 */
#define NEVER UINT32_MAX

typedef struct optimum {
	uint32_t *block;        /* of each access */
	uint32_t *again;        /* the next access to the same block */
	uint32_t *next;         /* of each block that is in the cache, its next access ... */
	uint32_t *place;        /* ... and its place in the heap; NEVER: it is not */
	uint32_t *heap;
	uint32_t nheap;
} optimum;

static void put_at(optimum *o, uint32_t h, uint32_t block)
{
	o->heap[h] = block;
	o->place[block] = h;
}

static void sift_down(optimum *o, uint32_t h)
{
	const uint32_t block = o->heap[h];
	uint32_t child;

	while ((child = 2 * h + 1) < o->nheap) {
		if (child + 1 < o->nheap && o->next[o->heap[child + 1]] > o->next[o->heap[child]])
			child++;
		if (o->next[o->heap[child]] <= o->next[block])
			break;
		put_at(o, h, o->heap[child]);
		h = child;
	}
	put_at(o, h, block);
}

static void sift_up(optimum *o, uint32_t h)
{
	const uint32_t block = o->heap[h];

	while (h > 0 && o->next[o->heap[(h - 1) / 2]] < o->next[block]) {
		put_at(o, h, o->heap[(h - 1) / 2]);
		h = (h - 1) / 2;
	}
	put_at(o, h, block);
}

/* Number the blocks, and find the next access to each. */
static em_status look_ahead(em_ctx *ctx, optimum *o, const em_cache_access *access, uint32_t n, em_errinfo *err)
{
	const uint64_t entries = emi_bid_map_entries(n);
	emi_bid_entry *entry = emi_alloc_array(ctx, entries, sizeof *entry, err);
	uint32_t i, blocks = 0;
	emi_bid_map map;

	if (entry == NULL)
		return err->status;
	emi_bid_map_init(&map, entry, entries);
	for (i = 0; i < n; i++) {
		uint32_t b = emi_bid_map_find(&map, bid_of(&access[i]));

		if (b == EMI_NO_ENTRY) {
			b = blocks++;
			emi_bid_map_add(&map, bid_of(&access[i]), b);
			o->place[b] = NEVER;
		} else {
			o->again[o->next[b]] = i;
		}
		o->block[i] = b;
		o->again[i] = NEVER;
		/* Up to here, its last access. */
		o->next[b] = i;
	}
	emi_free_array(ctx, entry, entries, sizeof *entry);
	return EM_OK;
}

static uint64_t count_misses(optimum *o, uint32_t n, uint32_t frames)
{
	uint64_t misses = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint32_t b = o->block[i];

		o->next[b] = o->again[i];
		if (o->place[b] != NEVER) {
			sift_up(o, o->place[b]);
			continue;
		}
		misses++;
		if (o->nheap < frames) {
			put_at(o, o->nheap++, b);
			sift_up(o, o->nheap - 1);
		} else {
			o->place[o->heap[0]] = NEVER;
			put_at(o, 0, b);
			sift_down(o, 0);
		}
	}
	return misses;
}

static em_status optimise(em_ctx *ctx, const em_cache_access *access, uint64_t n, uint32_t frames, uint64_t *misses,
			  em_errinfo *err)
{
	uint32_t *room = emi_alloc_array(ctx, 5 * n, sizeof *room, err);
	em_status st;
	optimum o;

	if (room == NULL)
		return err->status;
	o.block = room;
	o.again = room + n;
	o.next = room + 2 * n;
	o.place = room + 3 * n;
	o.heap = room + 4 * n;
	o.nheap = 0;
	st = look_ahead(ctx, &o, access, (uint32_t)n, err);
	if (st == EM_OK)
		*misses = count_misses(&o, (uint32_t)n, frames);
	emi_free_array(ctx, room, 5 * n, sizeof *room);
	return st;
}

em_status em_cache_trace_optimum(em_ctx *ctx, const em_cache_access *access, uint64_t n, uint32_t frames,
				 uint64_t *misses, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = check(ctx, access, n, frames, misses, &own);

	if (misses != NULL)
		*misses = 0;
	if (st == EM_OK && n > 0)
		st = optimise(ctx, access, n, frames, misses, &own);
	return tell(st, &own, err);
}
