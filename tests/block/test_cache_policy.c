/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cache_policy.c -- policies against models that are as plain as possible, and the optimum against all that could
 * be done.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/bid_map.h"
#include "block/policy.h"
#include "common/test.h"

#define MOST 3000u

static const em_policy *const policies[] = {&emi_policy_lru, &emi_policy_clock, &emi_policy_random, &emi_policy_s3fifo};
enum { POLICIES = sizeof policies / sizeof *policies };

/* Of calls that do not fail, or are only asked whether they do. */
static em_errinfo unread;

static em_ctx *open_ctx(test_memory *mem)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	test_memory_init(mem, 0);
	opts.memory = 32u << 20;
	opts.allocator = &mem->allocator;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	return ctx;
}

/* Blocks as a trace has them; the number is told back by their offsets. */
static void make_trace(test_rng *rng, em_cache_access *access, uint32_t n, uint32_t blocks)
{
	uint32_t i, scan = 0;

	for (i = 0; i < n; i++) {
		uint32_t b;

		/* Some often, some in a row, some anyhow. */
		switch (test_below(rng, 3)) {
		case 0:
			b = (uint32_t)test_below(rng, 1 + blocks / 8);
			break;
		case 1:
			b = scan++ % blocks;
			break;
		default:
			b = (uint32_t)test_below(rng, blocks);
		}
		access[i].offset = (uint64_t)b << 12;
		access[i].disk = b % 3;
		access[i].write = (uint32_t)test_below(rng, 2);
	}
}

static uint32_t block_of(const em_cache_access *a)
{
	return (uint32_t)(a->offset >> 12);
}

/* A list of blocks, the first the one to go, and what is known of each. */
typedef struct model {
	uint32_t n;
	uint32_t block[MOST];
	uint32_t uses[MOST];
} model;

static uint32_t find(const model *m, uint32_t block)
{
	uint32_t i;

	for (i = 0; i < m->n && m->block[i] != block; i++)
		;
	return i;
}

static void append(model *m, uint32_t block, uint32_t uses)
{
	m->block[m->n] = block;
	m->uses[m->n++] = uses;
}

static uint32_t take(model *m, uint32_t i)
{
	const uint32_t block = m->block[i];

	m->n--;
	memmove(m->block + i, m->block + i + 1, (m->n - i) * sizeof *m->block);
	memmove(m->uses + i, m->uses + i + 1, (m->n - i) * sizeof *m->uses);
	return block;
}

static uint64_t lru_misses(const em_cache_access *access, uint32_t n, uint32_t frames)
{
	static model m;
	uint64_t misses = 0;
	uint32_t i;

	m.n = 0;
	for (i = 0; i < n; i++) {
		const uint32_t at = find(&m, block_of(&access[i]));

		if (at < m.n) {
			take(&m, at);
		} else {
			misses++;
			if (m.n == frames)
				take(&m, 0);
		}
		append(&m, block_of(&access[i]), 0);
	}
	return misses;
}

static uint64_t clock_misses(const em_cache_access *access, uint32_t n, uint32_t frames)
{
	static model m;
	uint64_t misses = 0;
	uint32_t i;

	m.n = 0;
	for (i = 0; i < n; i++) {
		const uint32_t at = find(&m, block_of(&access[i]));

		if (at < m.n) {
			m.uses[at] = 1;
			continue;
		}
		misses++;
		while (m.n == frames) {
			const uint32_t used = m.uses[0], block = take(&m, 0);

			if (used)
				append(&m, block, 0);
		}
		append(&m, block_of(&access[i]), 0);
	}
	return misses;
}

/* One goes from the short queue, or the main one. */
static void s3fifo_evict(model *brief, model *main_queue, uint32_t *name, uint32_t *oldest, uint32_t frames)
{
	int is_short = brief->n > (brief->n + main_queue->n) / 10;

	for (;;) {
		model *m = is_short ? brief : main_queue;
		uint32_t used, block;

		if (m->n == 0) {
			is_short = !is_short;
			continue;
		}
		used = m->uses[0];
		block = take(m, 0);
		if (used) {
			append(main_queue, block, is_short ? 0 : used - 1);
			continue;
		}
		if (is_short) {
			name[*oldest] = block;
			*oldest = (*oldest + 1) % frames;
		}
		return;
	}
}

static uint64_t s3fifo_misses(const em_cache_access *access, uint32_t n, uint32_t frames)
{
	static model brief, main_queue;
	static uint32_t name[MOST];
	uint32_t i, k, oldest = 0;
	uint64_t misses = 0;

	brief.n = main_queue.n = 0;
	memset(name, 0xff, sizeof name);
	for (i = 0; i < n; i++) {
		const uint32_t block = block_of(&access[i]);
		uint32_t s = find(&brief, block), l = find(&main_queue, block);

		if (s < brief.n) {
			brief.uses[s] += brief.uses[s] < 3;
			continue;
		}
		if (l < main_queue.n) {
			main_queue.uses[l] += main_queue.uses[l] < 3;
			continue;
		}
		misses++;
		if (brief.n + main_queue.n == frames)
			s3fifo_evict(&brief, &main_queue, name, &oldest, frames);
		for (k = 0; k < frames && name[k] != block; k++)
			;
		append(k < frames ? &main_queue : &brief, block, 0);
		if (k < frames)
			name[k] = UINT32_MAX;
	}
	return misses;
}

/* A policy has as many misses as its model. */
static void test_models(void **state)
{
	static const struct {
		const em_policy *policy;
		uint64_t (*misses)(const em_cache_access *access, uint32_t n, uint32_t frames);
	} pairs[] = {{&emi_policy_lru, lru_misses}, {&emi_policy_clock, clock_misses},
		     {&emi_policy_s3fifo, s3fifo_misses}};
	static em_cache_access access[MOST];
	test_rng rng = test_rng_make(test_seed());
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);
	uint32_t round;
	size_t p;

	(void)state;
	for (round = 0; round < 60; round++) {
		const uint32_t n = 1 + (uint32_t)test_below(&rng, MOST), blocks = 1 + (uint32_t)test_below(&rng, 200);
		const uint32_t frames = 1 + (uint32_t)test_below(&rng, round % 2 ? 100 : 8);

		make_trace(&rng, access, n, blocks);
		for (p = 0; p < sizeof pairs / sizeof *pairs; p++) {
			uint64_t misses;

			assert_int_equal(
				em_cache_trace_policy(ctx, access, n, pairs[p].policy, 0, frames, &misses, &unread),
				EM_OK);
			if (misses != pairs[p].misses(access, n, frames))
				fail_msg("%s with %u frames: %u misses in place of %u", pairs[p].policy->name, frames,
					 (unsigned)misses, (unsigned)pairs[p].misses(access, n, frames));
		}
	}
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

/* The same seed draws the same; over many accesses random blocks are hit as often as they should be. */
static void test_draws(void **state)
{
	static em_cache_access access[MOST];
	test_rng rng = test_rng_make(test_seed());
	uint64_t first, misses, sum = 0;
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);
	uint32_t i, round, differ = 0;

	(void)state;
	for (i = 0; i < MOST; i++) {
		access[i].offset = test_below(&rng, 100) << 12;
		access[i].disk = 0;
	}
	assert_int_equal(em_cache_trace_policy(ctx, access, MOST, &emi_policy_random, 1, 50, &first, &unread), EM_OK);
	assert_int_equal(em_cache_trace_policy(ctx, access, MOST, &emi_policy_random, 1, 50, &misses, &unread), EM_OK);
	assert_int_equal(first, misses);
	for (round = 0; round < 50; round++) {
		assert_int_equal(
			em_cache_trace_policy(ctx, access, MOST, &emi_policy_random, 2 + round, 50, &misses, &unread),
			EM_OK);
		differ += misses != first;
		sum += misses;
	}
	assert_true(differ > 30);
	/* Half of them, and the first of each block. */
	assert_in_range(sum / 50, MOST * 45 / 100, MOST * 56 / 100);
	em_ctx_close(ctx);
}

/* The fewest misses from access i on with these blocks in the cache. */
static uint32_t fewest(const em_cache_access *access, uint32_t n, uint32_t i, uint32_t cached, uint32_t frames)
{
	uint32_t best = UINT32_MAX, b, held = 0;

	while (i < n && (cached >> block_of(&access[i]) & 1) != 0)
		i++;
	if (i == n)
		return 0;
	for (b = 0; b < 32; b++)
		held += cached >> b & 1;
	cached |= 1u << block_of(&access[i]);
	if (held < frames)
		return 1 + fewest(access, n, i + 1, cached, frames);
	for (b = 0; b < 32; b++) {
		if ((cached >> b & 1) != 0 && b != block_of(&access[i])) {
			const uint32_t with = 1 + fewest(access, n, i + 1, cached & ~(1u << b), frames);

			best = with < best ? with : best;
		}
	}
	return best == UINT32_MAX ? 1 + fewest(access, n, i + 1, 1u << block_of(&access[i]), frames) : best;
}

static void test_optimum(void **state)
{
	static em_cache_access access[MOST];
	test_rng rng = test_rng_make(test_seed());
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);
	uint64_t misses;
	uint32_t round;

	(void)state;
	for (round = 0; round < 400; round++) {
		const uint32_t n = (uint32_t)test_below(&rng, 15), blocks = 1 + (uint32_t)test_below(&rng, 7);
		const uint32_t frames = 1 + (uint32_t)test_below(&rng, 4);

		make_trace(&rng, access, n, blocks);
		assert_int_equal(em_cache_trace_optimum(ctx, access, n, frames, &misses, &unread), EM_OK);
		assert_int_equal(misses, fewest(access, n, 0, 0, frames));
	}
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

/* No policy is better than the optimum, and with a frame for each block all are as good. */
static void test_bounds(void **state)
{
	static em_cache_access access[MOST];
	test_rng rng = test_rng_make(test_seed());
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);
	uint32_t frames;
	size_t p;

	(void)state;
	make_trace(&rng, access, MOST, 150);
	for (frames = 1; frames <= 151; frames += 10) {
		uint64_t best, misses;

		assert_int_equal(em_cache_trace_optimum(ctx, access, MOST, frames, &best, &unread), EM_OK);
		for (p = 0; p < POLICIES; p++) {
			assert_int_equal(
				em_cache_trace_policy(ctx, access, MOST, policies[p], 7, frames, &misses, &unread),
				EM_OK);
			assert_true(misses >= best);
			if (frames >= 150)
				assert_int_equal(misses, best);
		}
	}
	em_ctx_close(ctx);
}

/* What policies are asked with: some frames have to stay. */
typedef struct asking {
	uint32_t frames;
	uint64_t stays;         /* a bit for each frame */
	uint64_t asked;
} asking;

static int32_t answer(void *arg, uint32_t frame)
{
	asking *a = arg;

	assert_true(frame < a->frames);
	a->asked |= UINT64_C(1) << frame;
	return (a->stays >> frame & 1) != 0 ? EM_CACHE_STAYS : EM_CACHE_GOES;
}

static int32_t enough(void *arg, uint32_t frame)
{
	(void)arg;
	(void)frame;
	return EM_CACHE_ENOUGH;
}

/* Frames come, are used, and leave in any way; each that may go is found, none that has to stay or is empty is
 * taken. */
static void test_victims(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t round, k;
	size_t p;

	(void)state;
	for (p = 0; p < POLICIES; p++)
		for (round = 0; round < 30; round++) {
			const uint32_t n = 1 + (uint32_t)test_below(&rng, 40);
			void *st = calloc(1, (size_t)policies[p]->bytes(n));
			uint64_t full = 0;

			assert_non_null(st);
			policies[p]->init(st, n, test_random(&rng), NULL);
			for (k = 0; k < 2000; k++) {
				const uint32_t f = (uint32_t)test_below(&rng, n);
				const uint64_t bit = UINT64_C(1) << f;
				const em_bid bid = {(uint32_t)test_below(&rng, 2), 0,
						    test_below(&rng, 3) << 20 | f << 12};
				asking a = {n, test_random(&rng) | test_random(&rng), 0};
				uint32_t v;

				switch (test_below(&rng, 4)) {
				case 0:
					if ((full & bit) == 0)
						policies[p]->came(st, f, bid);
					full |= bit;
					break;
				case 1:
					if ((full & bit) != 0)
						policies[p]->hit(st, f);
					break;
				case 2:
					if ((full & bit) != 0 && test_below(&rng, 4) == 0) {
						policies[p]->left(st, f, 0);
						full &= ~bit;
					}
					break;
				default:
					policies[p]->next(st, answer, &a);
					assert_int_equal(a.asked & ~full, 0);
					assert_true(policies[p]->victim(st, enough, NULL) >= n);
					a.asked = 0;
					v = policies[p]->victim(st, answer, &a);
					assert_int_equal(a.asked & ~full, 0);
					assert_int_equal(v < n, (full & ~a.stays) != 0);
					if (v < n) {
						assert_int_equal(full & ~a.stays & UINT64_C(1) << v, UINT64_C(1) << v);
						policies[p]->left(st, v, 1);
						full &= ~(UINT64_C(1) << v);
					} else {
						assert_true(a.asked == full);
					}
				}
			}
			free(st);
		}
}

/* Frames in the order in which they were asked about. */
typedef struct sequence {
	uint64_t stays;
	uint32_t n;
	uint32_t frame[40];
} sequence;

static int32_t note(void *arg, uint32_t frame)
{
	sequence *s = arg;

	s->frame[s->n++] = frame;
	return (s->stays >> frame & 1) != 0 ? EM_CACHE_STAYS : EM_CACHE_GOES;
}

/* Those used last come last, whatever has to stay in front of them; up to the one that goes, if one does. */
static void assert_order(const sequence *s, const uint64_t *used, uint64_t full, int all)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		const uint64_t bit = UINT64_C(1) << s->frame[i];

		assert_true(used[s->frame[i]] != 0 && (i == 0 || used[s->frame[i]] > used[s->frame[i - 1]]));
		assert_true(all || (s->stays & bit) != 0 || i + 1 == s->n);
		full &= ~bit;
	}
	/* What was not asked about was used after those. */
	for (i = 0; i < 40; i++)
		assert_true((full >> i & 1) == 0 || (!all && used[i] > used[s->frame[s->n - 1]]));
}

static void test_lru_order(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t round, k;

	(void)state;
	for (round = 0; round < 60; round++) {
		const uint32_t n = 1 + (uint32_t)test_below(&rng, 40), seldom = 2 + (uint32_t)test_below(&rng, 100);
		void *st = calloc(1, (size_t)emi_policy_lru.bytes(n));
		uint64_t used[40] = {0}, full = 0;

		assert_non_null(st);
		emi_policy_lru.init(st, n, 0, NULL);
		for (k = 1; k < 3000; k++) {
			const uint32_t f = (uint32_t)test_below(&rng, n);
			const em_bid bid = {0, 0, 0};
			sequence s = {test_random(&rng) & test_random(&rng), 0, {0}};

			if (test_below(&rng, seldom) != 0) {
				if (used[f] == 0)
					emi_policy_lru.came(st, f, bid);
				else
					emi_policy_lru.hit(st, f);
				used[f] = k;
				full |= UINT64_C(1) << f;
				continue;
			}
			emi_policy_lru.next(st, note, &s);
			assert_order(&s, used, full, 1);
			s.n = 0;
			if (emi_policy_lru.victim(st, note, &s) < n) {
				assert_order(&s, used, full, 0);
				emi_policy_lru.left(st, s.frame[s.n - 1], 1);
				used[s.frame[s.n - 1]] = 0;
				full &= ~(UINT64_C(1) << s.frame[s.n - 1]);
			} else {
				assert_order(&s, used, full, 1);
			}
		}
		free(st);
	}
}

/* A policy of the caller's: what came last goes first. */
typedef struct stack {
	uint32_t n;
	uint32_t *calls;        /* the caller's */
	uint32_t frame[4];
} stack;

static uint64_t stack_bytes(uint32_t n)
{
	assert_int_equal(n, 4);
	return sizeof(stack);
}

static void stack_init(void *state, uint32_t n, uint64_t seed, void *user)
{
	stack *s = state;

	(void)n;
	assert_int_equal(seed, 9);
	s->calls = user;
}

static void stack_came(void *state, uint32_t frame, em_bid bid)
{
	stack *s = state;

	(void)bid;
	++*s->calls;
	s->frame[s->n++] = frame;
}

static void stack_hit(void *state, uint32_t frame)
{
	(void)state;
	(void)frame;
}

static void stack_left(void *state, uint32_t frame, int32_t victim)
{
	stack *s = state;

	assert_true(victim && s->frame[s->n - 1] == frame);
	s->n--;
}

static uint32_t stack_victim(void *state, em_verdict_fn ask, void *arg)
{
	stack *s = state;

	return ask(arg, s->frame[s->n - 1]) == EM_CACHE_GOES ? s->frame[s->n - 1] : EM_CACHE_NONE;
}

static void stack_next(void *state, em_verdict_fn ask, void *arg)
{
	stack *s = state;

	ask(arg, s->frame[s->n - 1]);
}

static void test_own_policy(void **state)
{
	uint32_t calls = 0, i;
	const em_policy own = {sizeof(em_policy), 0, "own", stack_bytes, stack_init, stack_came, stack_hit, stack_left,
			       stack_victim, stack_next, &calls, NULL};
	em_cache_access access[30];
	uint64_t misses, best;
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);

	(void)state;
	/* Around and around five blocks: what came last is what is not needed for longest. */
	for (i = 0; i < 30; i++) {
		access[i].offset = (uint64_t)(i % 5) << 12;
		access[i].disk = 0;
	}
	assert_int_equal(em_cache_trace_policy(ctx, access, 30, &own, 9, 4, &misses, &unread), EM_OK);
	assert_int_equal(em_cache_trace_optimum(ctx, access, 30, 4, &best, &unread), EM_OK);
	assert_int_equal(misses, calls);
	assert_true(misses >= best && misses < 20);
	em_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
	em_cache_access access[50];
	test_rng rng = test_rng_make(test_seed());
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem);
	int which;

	(void)state;
	make_trace(&rng, access, 50, 20);
	for (which = 0; which < 2; which++) {
		const uint64_t before = em_ctx_memory_used(ctx);
		em_status st = EM_ERR_NOMEM;
		uint64_t n, misses;

		for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
			em_errinfo err;

			memset(&err, 0, sizeof(err));
			mem.fail_at = mem.calls + n;
			st = which ? em_cache_trace_policy(ctx, access, 50, &emi_policy_s3fifo, 0, 5, &misses, &err) :
				     em_cache_trace_optimum(ctx, access, 50, 5, &misses, &err);
			mem.fail_at = 0;
			assert_true(st == EM_OK || st == EM_ERR_NOMEM);
			assert_int_equal(em_ctx_memory_used(ctx), before);
		}
		assert_true(n == (which ? 3 + 2 : 2 + 2) || !test_sweeps());
		assert_int_equal(em_cache_trace_optimum(ctx, access, 50, 0, &misses, &unread), EM_ERR_RANGE);
		assert_int_equal(em_cache_trace_policy(ctx, access, 50, policies[0], 0, 0, &misses, &unread),
				 EM_ERR_RANGE);
		assert_int_equal(em_cache_trace_optimum(ctx, access, 0, 5, &misses, &unread), EM_OK);
		assert_int_equal(misses, 0);
	}
	em_ctx_close(ctx);
}

/* The table of blocks against an array, in rows that collide. */
static void test_bid_map(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t n, k;

	(void)state;
	for (n = 1; n < 60; n += 7) {
		const uint64_t entries = emi_bid_map_entries(n);
		emi_bid_entry *entry = calloc((size_t)entries, sizeof *entry);
		uint32_t value[3][64], there = 0;
		emi_bid_map map;

		assert_non_null(entry);
		assert_true(entries >= 2 * n);
		emi_bid_map_init(&map, entry, entries);
		memset(value, 0xff, sizeof value);
		for (k = 0; k < 20000; k++) {
			const em_bid bid = {(uint32_t)test_below(&rng, 3), 0, test_below(&rng, 64) << 12};
			uint32_t *v = &value[bid.disk][bid.offset >> 12];

			assert_int_equal(emi_bid_map_find(&map, bid), *v);
			if (*v == EMI_NO_ENTRY && there < n) {
				*v = (uint32_t)test_below(&rng, EMI_NO_ENTRY);
				emi_bid_map_add(&map, bid, *v);
				there++;
			} else if (test_below(&rng, 2)) {
				there -= *v != EMI_NO_ENTRY;
				*v = EMI_NO_ENTRY;
				emi_bid_map_remove(&map, bid);
			}
		}
		free(entry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bid_map),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_draws),
		cmocka_unit_test(test_optimum),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_victims),
		cmocka_unit_test(test_lru_order),
		cmocka_unit_test(test_own_policy),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("cache_policy", tests, NULL, NULL);
}
