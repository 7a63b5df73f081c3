/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cache.c -- how often policies of a block cache hit, beside the optimum, and what a hit costs.
 *
 *	cache [--accesses 1000000] [--blocks 100000] [--gets 20000000] [--seed 1]
 *
 * First, for each pattern of accesses and caches of 1, 5, 10 and 25 % of the blocks, the share of accesses that each
 * policy has in the cache, simulated, and that of the optimum, which knows the future (`MIN').  Then, for each policy,
 * the nanoseconds of getting and unpinning a block that is in a cache of 1000 and of 50000 blocks of 4 KiB, in random
 * order, less those of the order itself: the median of five rounds.  Nothing is read from a disk.
 *
 *   uniform     any block
 *   zipf        block i with a probability of about 1/i, scattered
 *   scan+zipf   the same, interrupted by scans of 1/20 of the blocks, which take half of the accesses
 *   loop        around and around 15 % of the blocks, a tenth of the accesses going anywhere
 *   B-tree      from a root by way of 1/64 and 1/4096 of the blocks to a leaf; keys are zipf, and a tenth of the time
 *               the next 20 leaves are read
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <math.h>
#include <stdlib.h>

#include <extmem/sys/cache.h>

#include "peers/peer_common.h"

enum { BLOCK = 4096, PATTERNS = 5, POLICIES = 4, FANOUT = 64, ROUNDS = 5 };

static const em_policy *policies[POLICIES];
static const char *const names[PATTERNS] = {"uniform", "zipf", "scan+zipf", "loop", "B-tree"};

static uint64_t draws;

static uint64_t below(uint64_t n)
{
	return peer_mix(++draws) % n;
}

/* About 1/i. */
static uint64_t zipf(uint64_t n)
{
	const double u = (double)(peer_mix(++draws) >> 11) / 9007199254740992.0;

	return (uint64_t)pow((double)n, u) % n;
}

/* Neighbours in rank are not neighbours in place: a bijection would do, and this is nearly one. */
static uint64_t scattered(uint64_t i, uint64_t n)
{
	return peer_mix(i) % n;
}

static uint64_t put(em_cache_access *a, uint64_t at, uint64_t n, uint64_t block)
{
	if (at < n) {
		a[at].offset = block * BLOCK;
		a[at].disk = 0;
		a[at].write = 0;
	}
	return at + 1;
}

static uint64_t btree(em_cache_access *a, uint64_t at, uint64_t n, uint64_t blocks)
{
	const uint64_t lower = blocks / FANOUT, upper = lower / FANOUT, leaves = blocks - lower - upper - 1;
	const uint64_t leaf = scattered(zipf(leaves), leaves);
	uint64_t i, more = below(10) == 0 ? 20 : 1;

	at = put(a, at, n, 0);
	at = put(a, at, n, 1 + leaf / FANOUT / FANOUT % (upper + 1));
	at = put(a, at, n, 1 + upper + leaf / FANOUT % lower);
	for (i = 0; i < more && leaf + i < leaves; i++)
		at = put(a, at, n, 1 + upper + lower + leaf + i);
	return at;
}

static void make(em_cache_access *a, uint64_t n, uint64_t blocks, int pattern)
{
	uint64_t at = 0, i, scan = 0;

	while (at < n) {
		switch (pattern) {
		case 0:
			at = put(a, at, n, below(blocks));
			break;
		case 1:
			at = put(a, at, n, scattered(zipf(blocks), blocks));
			break;
		case 2:
			for (i = 0; i < blocks / 20; i++)
				at = put(a, at, n, scattered(zipf(blocks), blocks));
			for (i = 0; i < blocks / 20; i++)
				at = put(a, at, n, scan++ % blocks);
			break;
		case 3:
			at = put(a, at, n, below(10) == 0 ? below(blocks) : scan++ % (blocks * 15 / 100));
			break;
		default:
			at = btree(a, at, n, blocks);
		}
	}
}

static em_ctx *open_ctx(void)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	opts.memory = (uint64_t)1 << 30;
	opts.custom = em_backend_find("memory");
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		peer_die("no context");
	return ctx;
}

static void print_hits(uint64_t misses, uint64_t n)
{
	printf("  %7.2f", 100 - 100 * (double)misses / (double)n);
}

static void hit_rates(em_ctx *ctx, uint64_t n, uint64_t blocks)
{
	static const uint32_t percent[] = {1, 5, 10, 25};
	em_cache_access *a = malloc(n * sizeof *a);
	em_errinfo err = EM_ERRINFO_INIT;
	uint64_t misses;
	size_t k, p;
	int pattern;

	if (!a)
		peer_die("no memory");
	printf("hits, %%\npattern    frames");
	for (p = 0; p < POLICIES; p++)
		printf("  %7s", policies[p]->name);
	printf("      MIN\n");
	for (pattern = 0; pattern < PATTERNS; pattern++) {
		make(a, n, blocks, pattern);
		for (k = 0; k < sizeof percent / sizeof *percent; k++) {
			const uint32_t frames = (uint32_t)(blocks * percent[k] / 100);

			printf("%-9s %6u%%", names[pattern], percent[k]);
			for (p = 0; p < POLICIES; p++) {
				if (em_cache_trace_policy(ctx, a, n, policies[p], 1, frames, &misses, &err) != EM_OK)
					peer_die(err.text);
				print_hits(misses, n);
			}
			if (em_cache_trace_optimum(ctx, a, n, frames, &misses, &err) != EM_OK)
				peer_die(err.text);
			print_hits(misses, n);
			putchar('\n');
		}
	}
	free(a);
}

/* Seconds of so many gets of n blocks, which the cache has; without one, of the loop alone. */
static double get_all(em_cache *c, const em_bid *bid, uint32_t n, uint64_t gets)
{
	const double begin = peer_now();
	uint64_t i, x = 88172645463325252u;
	volatile uint32_t sum = 0;
	void *block;

	for (i = 0; i < gets; i++) {
		em_bid b;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		b = bid[(uint32_t)(((x & 0xffffffff) * n) >> 32)];
		if (c == NULL) {
			sum = (uint32_t)b.offset;
			continue;
		}
		if (em_cache_get(c, b, EM_CACHE_READ, &block) != EM_OK || em_cache_unpin(c, block, 0) != EM_OK)
			peer_die("a block cannot be got");
		sum = (uint32_t)(uintptr_t)block;
	}
	(void)sum;
	return peer_now() - begin;
}

static void die_of_cache(const em_cache *c)
{
	em_errinfo err;

	em_cache_error(c, &err);
	peer_die(err.text);
}

/* Fresh blocks of zeros, all of which have room. */
static void fill(em_cache *c, em_disks *disks, em_bid *bid, uint32_t n)
{
	em_errinfo err;
	uint32_t i;

	if (em_bids_alloc(disks, bid, n, BLOCK, NULL, 0) != EM_OK) {
		em_disks_error(disks, &err);
		peer_die(err.text);
	}
	for (i = 0; i < n; i++) {
		void *block;

		if (em_cache_get(c, bid[i], EM_CACHE_FRESH, &block) != EM_OK)
			die_of_cache(c);
		memset(block, 0, BLOCK);
		if (em_cache_unpin(c, block, 1) != EM_OK)
			die_of_cache(c);
	}
	if (em_cache_flush(c) != EM_OK)
		die_of_cache(c);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of some rounds. */
static void hit_time(em_ctx *ctx, const em_policy *policy, uint32_t n, uint64_t gets)
{
	em_bid *bid = malloc(n * sizeof *bid);
	em_errinfo err = EM_ERRINFO_INIT;
	em_disks_opts disks_opts = EM_DISKS_OPTS_INIT;
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_cache_stats stats = EM_CACHE_STATS_INIT;
	em_disks *disks;
	em_cache *c;
	double ns[ROUNDS];
	size_t r;

	if (!bid)
		peer_die("no memory");
	disks_opts.errinfo = opts.errinfo = &err;
	disks_opts.flags = EM_DISKS_ABANDON;
	if (em_disks_open(&disks, ctx, &disks_opts) != EM_OK)
		peer_die(err.text);
	opts.frames = n;
	opts.block_bytes = BLOCK;
	opts.policy = policy;
	if (em_cache_open(&c, disks, &opts) != EM_OK)
		peer_die(err.text);
	fill(c, disks, bid, n);
	get_all(c, bid, n, gets / 10);
	for (r = 0; r < ROUNDS; r++) {
		const double loop = get_all(NULL, bid, n, gets / ROUNDS);

		ns[r] = (get_all(c, bid, n, gets / ROUNDS) - loop) * 1e9 * ROUNDS / (double)gets;
	}
	qsort(ns, ROUNDS, sizeof *ns, by_size);
	if (em_cache_stats_get(c, &stats) != EM_OK || stats.misses != n)
		peer_die("that was not hits only");
	printf("%-9s %7u  %6.1f\n", policy->name, n, ns[ROUNDS / 2]);
	em_cache_close(c);
	em_disks_close(disks);
	free(bid);
}

int main(int argc, char **argv)
{
	const uint64_t n = (uint64_t)atoll(peer_arg(argc, argv, "accesses", "1000000"));
	const uint64_t blocks = (uint64_t)atoll(peer_arg(argc, argv, "blocks", "100000"));
	const uint64_t gets = (uint64_t)atoll(peer_arg(argc, argv, "gets", "20000000"));
	static const uint32_t sizes[] = {1000, 50000};
	em_ctx *ctx = open_ctx();
	size_t p, k;

	policies[0] = em_policy_random();
	policies[1] = em_policy_lru();
	policies[2] = em_policy_clock();
	policies[3] = em_policy_s3fifo();
	draws = (uint64_t)atoll(peer_arg(argc, argv, "seed", "1")) << 40;
	if (n == 0 || n > 50000000 || blocks < 10000 || blocks > 100000000 || gets < 10 * ROUNDS)
		peer_die("--accesses is from 1 to 50000000, --blocks from 10000 to 100000000, --gets at least 50");
	hit_rates(ctx, n, blocks);
	printf("\nget and unpin\npolicy     blocks      ns\n");
	for (p = 0; p < POLICIES; p++)
		for (k = 0; k < sizeof sizes / sizeof *sizes; k++)
			hit_time(ctx, policies[p], sizes[k], gets);
	em_ctx_close(ctx);
	return 0;
}
