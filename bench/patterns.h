/* SPDX-License-Identifier: BSL-1.0 */
/*
 * patterns.h -- orders in which keys arrive, from harmless to hostile.
 *
 * A pattern gives element i of n a number of 64 bits, of which a kind of record makes its key so that larger
 * numbers have no smaller keys.  Every number is computed from i alone.
 *
 *	random    what the peers sort
 *	sorted    all different, ascending
 *	reversed  all different, descending
 *	equal     one key
 *	few       16 keys
 *	zipf      the r-th most frequent key about 1 / r as often as the first; r is uniform between powers of two
 *	outliers  all but one in 1024 share their leading 10 bits, and of those all but one in 1024 the 10 behind: a
 *	          partition by leading bits puts nearly everything in one bucket, and so does the next
 *	buckets   each half of what remains shares 8 more leading bits: buckets of geometric sizes
 *	runs2003  runs that are all alike, of the keys 1 (B - 1 times), 2, 3 (B - 1 times), 4, ... with B to a block, so
 *	          that all runs want their next block at once (Dementiev and Sanders 2003, section 2.3); shuffled within
 *	          each run, for who finds a run in order need not sort it
 */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "peers/peer_common.h"

typedef struct pattern {
	void (*values)(const struct pattern *p, uint64_t first, size_t n, uint64_t *out);
	uint64_t n;
	uint64_t run, block;    /* runs2003: elements of a run, and of a block */
} pattern;

static void values_random(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	(void)p;
	for (; n != 0; n--)
		*out++ = peer_mix(i++);
}

static void values_sorted(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	const uint64_t step = UINT64_MAX / p->n;

	for (; n != 0; n--)
		*out++ = i++ * step;
}

static void values_reversed(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	const uint64_t step = UINT64_MAX / p->n;

	for (; n != 0; n--)
		*out++ = (p->n - 1 - i++) * step;
}

static void values_equal(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	(void)p;
	(void)i;
	for (; n != 0; n--)
		*out++ = peer_mix(0);
}

static void values_few(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	(void)p;
	for (; n != 0; n--)
		*out++ = peer_mix(peer_mix(i++) % 16);
}

static void values_zipf(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	unsigned octaves = 1;

	while (octaves < 63 && p->n >> octaves != 0)
		octaves++;
	for (; n != 0; n--) {
		const uint64_t x = peer_mix(i++), lowest = (uint64_t)1 << (x >> 32) % octaves;

		*out++ = peer_mix(lowest + (peer_mix(x) & (lowest - 1)));
	}
}

static void values_outliers(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	(void)p;
	for (; n != 0; n--) {
		const uint64_t x = peer_mix(i++), y = peer_mix(x);

		*out++ = y % 1024 == 0 ? x : (y >> 10) % 1024 == 0 ? x >> 10 : x >> 20;
	}
}

static void values_buckets(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	(void)p;
	for (; n != 0; n--) {
		uint64_t x = peer_mix(i++), y;

		for (y = peer_mix(x); (y & 1) != 0; y >>= 1)
			x >>= 8;
		*out++ = x;
	}
}

/* A factor that is prime to the length of a run visits each place of it once. */
static void values_runs2003(const pattern *p, uint64_t i, size_t n, uint64_t *out)
{
	const uint64_t factor = 2654435761u;

	for (; n != 0; n--) {
		const uint64_t at = i++ % p->run * factor % p->run;

		*out++ = (2 * (at / p->block) + (at % p->block == p->block - 1) + 1) << 33;
	}
}

static const struct {
	const char *name;
	void (*values)(const pattern *p, uint64_t first, size_t n, uint64_t *out);
} patterns[] = {
	{ "random", values_random },
	{ "sorted", values_sorted },
	{ "reversed", values_reversed },
	{ "equal", values_equal },
	{ "few", values_few },
	{ "zipf", values_zipf },
	{ "outliers", values_outliers },
	{ "buckets", values_buckets },
	{ "runs2003", values_runs2003 },
};

/* run and block as the sort is going to have them. */
static pattern pattern_named(const char *name, uint64_t n, uint64_t run, uint64_t block)
{
	pattern p = { NULL, n, run, block };
	size_t i;

	for (i = 0; i < sizeof patterns / sizeof *patterns; i++)
		if (strcmp(patterns[i].name, name) == 0)
			p.values = patterns[i].values;
	if (p.values == NULL)
		peer_die("--pattern");
	return p;
}

#endif
