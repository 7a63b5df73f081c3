/* SPDX-License-Identifier: BSL-1.0 */
/*
 * schedule.c -- how busy prefetching keeps several disks in a merge, simulated.
 *
 *	schedule [--length 200] [--records 1000] [--seed 1] [--window 0]
 *
 * For 2, 4 and 8 disks, so many runs of LENGTH blocks of random records, RECORDS in a block, placed in one way or
 * another, and so many buffers for each disk: the parallel steps in which a merge gets all blocks, over N/D, in the
 * best order of fetching (`best') and in that in which they are consumed (`naive').  Nothing is read.  With --window W
 * the best order is not that of all blocks: as in block/prefetch.c it is that of the W times as many as there are
 * buffers which are next, of the rest and those behind it when a quarter of them was requested, and so on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <math.h>
#include <stdlib.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/schedule.h>
#include "peers/peer_common.h"

enum { MOST_RUNS = 400, MOST_DISKS = 8, PER_DISK = 3 };

static const uint32_t run_counts[] = {8, 32, 100, 400}, per_disk[PER_DISK] = {2, 4, 8};

typedef struct block {
	double key;             /* smallest */
	uint32_t disk;
} block;

static int by_key(const void *a, const void *b)
{
	const block *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static uint64_t draws;

/* About normal, mean 0 and deviation 1. */
static double normal(void)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += (double)(peer_mix(++draws) >> 11) / 9007199254740992.0;
	return sum;
}

/* The blocks of all runs in the order of their smallest keys, which is that in which they are consumed. */
static void make(block *b, uint32_t runs, uint32_t length, double records, uint32_t disks, uint32_t kind, uint64_t seed)
{
	em_placement place;
	uint32_t r, i;

	for (r = 0; r < runs; r++) {
		double key = 0;

		if (em_placement_init(&place, kind, disks, 0, seed, r) != EM_OK)
			peer_die("no such placement");
		for (i = 0; i < length; i++, b++) {
			b->key = key + 1e-9 * (double)r;
			b->disk = em_placement_disk(&place, i);
			/* So many records further on: the gap between them is as good as exponential. */
			key += 1 + normal() / sqrt(records);
		}
	}
}

/* A window of `room' blocks goes through all; its front is ordered and requested a quarter at a time.  Returns the
 * steps that takes. */
static uint64_t windowed(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, uint32_t room,
			 uint32_t *order, uint32_t *scratch)
{
	uint32_t *in = malloc(room * sizeof *in), *best = malloc(room * sizeof *best), from = 0, asked = 0, i;
	char *gone = calloc(n, 1);

	if (!in || !best || !gone)
		peer_die("no memory");
	while (asked < n) {
		uint32_t to, left = 0, now;

		while (from < n && gone[from])
			from++;
		to = n - from < room ? n : from + room;
		for (i = from; i < to; i++) {
			in[i - from] = gone[i] ? EM_SCHEDULE_PRESENT : disk[i];
			left += !gone[i];
		}
		em_schedule_fetches(in, to - from, disks, buffers, best, scratch);
		now = to < n && left > room / 4 ? room / 4 : left;
		for (i = 0; i < now; i++) {
			order[asked++] = from + best[i];
			gone[from + best[i]] = 1;
		}
	}
	free(in);
	free(best);
	free(gone);
	return em_schedule_steps(disk, n, disks, buffers, order, scratch);
}

static void measure(uint32_t window, uint32_t runs, uint32_t length, double records, uint32_t disks, uint32_t kind,
		    const char *name, uint64_t seed)
{
	const uint32_t n = runs * length;
	block *b = malloc(n * sizeof *b);
	uint32_t *disk = malloc(n * sizeof *disk), *order = malloc(n * sizeof *order), i;
	uint32_t *room = malloc(EM_SCHEDULE_ROOM(n, disks) * sizeof *room);
	const double ideal = ceil((double)n / disks);
	int w;

	if (!b || !disk || !order || !room)
		peer_die("no memory");
	make(b, runs, length, records, disks, kind, seed);
	qsort(b, n, sizeof *b, by_key);
	for (i = 0; i < n; i++)
		disk[i] = b[i].disk;
	printf("%5u %5u  %-9s", disks, runs, name);
	for (w = 0; w < PER_DISK; w++) {
		const uint32_t buffers = per_disk[w] * disks;
		const double best =
			(double)(window == 0 ? em_schedule_fetches(disk, n, disks, buffers, order, room)
					     : windowed(disk, n, disks, buffers, window * buffers, order, room));

		for (i = 0; i < n; i++)
			order[i] = i;
		printf("  %6.3f %6.3f", best / ideal,
		       (double)em_schedule_steps(disk, n, disks, buffers, order, room) / ideal);
	}
	putchar('\n');
	free(b);
	free(disk);
	free(order);
	free(room);
}

int main(int argc, char **argv)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} kinds[] = {{EM_PLACE_CYCLING, "cycling"}, {EM_PLACE_SIMPLE, "simple"}, {EM_PLACE_RANDOM, "random"},
		     {EM_PLACE_STRIPING, "striping"}};
	const uint32_t length = (uint32_t)atoi(peer_arg(argc, argv, "length", "200"));
	const double records = atof(peer_arg(argc, argv, "records", "1000"));
	const uint64_t seed = (uint64_t)atoll(peer_arg(argc, argv, "seed", "1"));
	const uint32_t window = (uint32_t)atoi(peer_arg(argc, argv, "window", "0"));
	uint32_t disks;
	size_t r, k;

	if (length == 0 || length > 100000 || records < 1 || window > 100000)
		peer_die("--length is from 1 to 100000, --records at least 1, --window at most 100000");
	printf("steps over N/D\n                  buffers: 2 D            4 D            8 D\ndisks  runs  placed      "
	       "best  naive    best  naive    best  naive\n");
	for (disks = 2; disks <= MOST_DISKS; disks *= 2)
		for (r = 0; r < sizeof run_counts / sizeof *run_counts; r++)
			for (k = 0; k < sizeof kinds / sizeof *kinds; k++)
				measure(window, run_counts[r], length, records, disks, kinds[k].kind, kinds[k].name,
					seed);
	return 0;
}
