/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kernels.c -- nanoseconds per element of the block kernels, on one thread.
 *
 *   bench/kernels [--peer FILE]... [ISA]
 *
 * For each kind of element: sorting random keys in blocks of different sizes, and merging k sorted windows of 128 Ki
 * elements in all, by the tree and by the mix.  The median of several rounds, in CPU time.  Then the same for what
 * <extmem/gen/order.h> generates of a comparison of 64-bit numbers, and of pairs by the first.
 *
 * A peer is a shared object with another sort of the same elements: peer_name, and peer_sort_u32, _u64 and _pair
 * (array, elements), of which it may lack some; peer_pair_key is where in a pair it has the key, if not in front.
 * Peers take turns with ours in every round, and only sorting is measured; behind each peer's time is how many times
 * that ours took.  bench/vqsort makes one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/kern.h"
#include "large_pages.h"

#define EM_GEN_NAME gen_u64
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

#define EM_GEN_NAME gen_pair
#define EM_GEN_RECORD emi_pair
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

#define ROUNDS 9
#define MERGED ((size_t)1 << 17)
#define LARGEST ((size_t)28 << 20)
#define PEERS 4

typedef void peer_sort(void *a, size_t n);

typedef struct peer {
	const char *name;
	peer_sort *sort[3];     /* by kind of element; NULL: there is none */
	size_t pair_key;        /* bytes in front of the key of a pair */
} peer;

typedef struct bench {
	const emi_kernels *kern;
	const em_kernels *gen;  /* NULL: kern */
	size_t eb;
	char *keys, *a, *b;
	emi_window win[EMI_MIX_MOST];
	size_t taken[EMI_MIX_MOST];
	void *tree;
	void *work;             /* scratch of kernels */
	peer peers[PEERS];
	unsigned n_peers;
} bench;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *t, size_t n)
{
	qsort(t, n, sizeof *t, by_value);
	return t[n / 2];
}

static void *must(size_t bytes)
{
	void *p = large_pages(bytes);

	if (p == NULL) {
		fputs("kernels: out of memory\n", stderr);
		exit(1);
	}
	memset(p, 1, bytes);
	return p;
}

/* Random bits are random keys, and random values. */
static void fill(char *p, size_t bytes)
{
	uint64_t x = 88172645463325252u;
	size_t i;

	for (i = 0; i + sizeof x <= bytes; i += sizeof x) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p + i, &x, sizeof x);
	}
}

static void sort_block(const bench *b, char *a, size_t n)
{
	const emi_tie none = { NULL, NULL, NULL, 0 };

	if (b->gen != NULL)
		b->gen->sort(a, b->b, n, NULL);
	else
		b->kern->sort(a, b->b, n, &none, b->work);
}

/* Time to sort all blocks of keys, per element, by ours or, if it is not NULL, by a peer. */
static double time_sort(const bench *b, peer_sort *by, size_t block, size_t total)
{
	double t;
	size_t i;

	memcpy(b->a, b->keys, total * b->eb);
	t = now();
	for (i = 0; i + block <= total; i += block)
		if (by != NULL)
			by(b->a + i * b->eb, block);
		else
			sort_block(b, b->a + i * b->eb, block);
	return (now() - t) / (double)(total / block * block);
}

/* What is in the first block now has to be in order of the keys at `at' in the elements. */
static void check_sorted(const bench *b, size_t block, size_t at, const char *who)
{
	size_t i;

	for (i = 1; i < block; i++) {
		const void *x = b->a + (i - 1) * b->eb + at, *y = b->a + i * b->eb + at;

		if (b->eb == sizeof(uint32_t) ? *(const uint32_t *)x > *(const uint32_t *)y
					      : *(const uint64_t *)x > *(const uint64_t *)y) {
			fprintf(stderr, "kernels: %s did not sort\n", who);
			exit(1);
		}
	}
}

/* Ours, and behind it the peers that sort elements of this kind. */
static void sort_blocks(const bench *b, unsigned elem, size_t block)
{
	const size_t total = block < MERGED ? MERGED : block;
	const unsigned rounds = block < LARGEST ? ROUNDS : b->n_peers != 0 ? 5 : 3;
	double t[ROUNDS], other[PEERS][ROUNDS], ours;
	unsigned r, i;

	for (r = 0; r < rounds; r++) {
		t[r] = time_sort(b, NULL, block, total);
		check_sorted(b, block, 0, "ours");
		for (i = 0; i < b->n_peers; i++)
			if (b->peers[i].sort[elem] != NULL) {
				other[i][r] = time_sort(b, b->peers[i].sort[elem], block, total);
				check_sorted(b, block, elem == 2 ? b->peers[i].pair_key : 0, b->peers[i].name);
			}
	}
	ours = median(t, rounds);
	printf("%6.2f ns", ours);
	for (i = 0; i < b->n_peers; i++)
		if (b->peers[i].sort[elem] != NULL) {
			const double theirs = median(other[i], rounds);

			printf(", %s %6.2f ns (%.2f)", b->peers[i].name, theirs, ours / theirs);
		}
	putchar('\n');
	fflush(stdout);
}

static void windows(bench *b, uint32_t k)
{
	uint32_t i;

	for (i = 0; i < k; i++) {
		b->win[i].cur = b->a + MERGED * i / k * b->eb;
		b->win[i].end = b->a + MERGED * (i + 1) / k * b->eb;
	}
}

static void make_windows(bench *b, uint32_t k)
{
	uint32_t i;

	memcpy(b->a, b->keys, MERGED * b->eb);
	for (i = 0; i < k; i++) {
		const size_t lo = MERGED * i / k, hi = MERGED * (i + 1) / k;

		sort_block(b, b->a + lo * b->eb, hi - lo);
	}
}

static double merge_tree(bench *b, uint32_t k)
{
	double t[ROUNDS];
	size_t r;

	for (r = 0; r < ROUNDS; r++) {
		emi_merge m;
		em_kern_merge g = { 0 };
		size_t done = 0;
		uint32_t dry;

		windows(b, k);
		memset(&m, 0, sizeof m);
		m.k = k;
		m.win = b->win;
		m.tree = b->tree;
		g.k = k;
		g.win = b->win;
		g.tree = b->tree;
		t[r] = now();
		if (b->gen != NULL)
			b->gen->merge_start(&g);
		else
			b->kern->merge_start(&m);
		while (done < MERGED)
			done += b->gen != NULL ? b->gen->merge_run(&g, b->b + done * b->eb, MERGED - done, &dry)
					       : b->kern->merge_run(&m, b->b + done * b->eb, MERGED - done, &dry);
		t[r] = (now() - t[r]) / (double)MERGED;
	}
	return median(t, ROUNDS);
}

static double merge_mix(bench *b, uint32_t k)
{
	char *const out = b->b, *const tmp = out + EMI_MIX * b->eb;
	double t[ROUNDS];
	size_t r;

	for (r = 0; r < ROUNDS; r++) {
		emi_mix m = { k, b->win, b->taken, 0 };
		em_kern_mix g = { k, 0, b->win, b->taken, 0, EMI_MIX, NULL };

		windows(b, k);
		t[r] = now();
		while ((b->gen != NULL ? b->gen->mix(&g, out, tmp) : b->kern->mix(&m, out, tmp)) != 0)
			;
		t[r] = (now() - t[r]) / (double)MERGED;
	}
	return median(t, ROUNDS);
}

static void run_sorts(const bench *b, const char *isa, const char *name, unsigned elem)
{
	static const size_t blocks[] = { 64, 1024, 8192, (size_t)1 << 17, LARGEST };
	unsigned i;

	for (i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		printf("%-7s %s sort %8zu elements    ", isa, name, blocks[i]);
		sort_blocks(b, elem, blocks[i]);
	}
}

static void run_merges(bench *b, const char *isa, const char *name)
{
	static const uint32_t ks[] = { 2, 4, 8, 32, 128 };
	unsigned i;

	for (i = 0; i < sizeof ks / sizeof *ks; i++) {
		make_windows(b, ks[i]);
		printf("%-7s %s merge k = %3u, tree %6.2f ns, mix %6.2f ns\n", isa, name, (unsigned)ks[i],
		       merge_tree(b, ks[i]), merge_mix(b, ks[i]));
	}
}

static void load_peer(bench *b, const char *file)
{
	static const char *const names[] = { "peer_sort_u32", "peer_sort_u64", "peer_sort_pair" };
	void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	peer *p = &b->peers[b->n_peers];
	const size_t *key;
	unsigned i;

	if (object == NULL || b->n_peers == PEERS) {
		fprintf(stderr, "kernels: %s\n", object == NULL ? dlerror() : "too many peers");
		exit(2);
	}
	p->name = dlsym(object, "peer_name");
	if (p->name == NULL)
		p->name = "peer";
	for (i = 0; i < 3; i++)
		*(void **)&p->sort[i] = dlsym(object, names[i]);
	key = dlsym(object, "peer_pair_key");
	p->pair_key = key != NULL ? *key : 0;
	b->n_peers++;
}

/* Options to b; returns the instruction set, or NULL for the best. */
static const char *options(bench *b, int argc, char **argv)
{
	const char *isa = NULL;
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc)
			load_peer(b, argv[++i]);
		else
			isa = argv[i];
	return isa;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "u32", "u64", "u64+u64" };
	static const em_kernels *const gens[] = { &gen_u64_kernels, &gen_pair_kernels };
	static bench b;
	const char *isa = options(&b, argc, argv);
	unsigned e;

	b.keys = must(LARGEST * sizeof(emi_pair));
	b.a = must(LARGEST * sizeof(emi_pair));
	b.b = must(LARGEST * sizeof(emi_pair));
	b.tree = must(emi_merge_tree_bytes(EMI_MIX_MOST));
	b.work = must(EMI_KERN_WORK);
	fill(b.keys, LARGEST * sizeof(emi_pair));
	for (e = 0; e < 3; e++) {
		b.kern = emi_kernels_for((emi_elem)e, isa);
		if (b.kern == NULL) {
			fprintf(stderr, "kernels: no instruction set %s here\n", isa);
			return 2;
		}
		b.eb = b.kern->elem_bytes;
		run_sorts(&b, b.kern->isa, names[e], e);
		if (b.n_peers == 0)
			run_merges(&b, b.kern->isa, names[e]);
	}
	if (b.n_peers == 0) {
		for (e = 0; e < 2; e++) {
			b.gen = gens[e];
			b.eb = (size_t)b.gen->record_size;
			run_sorts(&b, "gen", names[e + 1], e + 1);
			run_merges(&b, "gen", names[e + 1]);
		}
	}
	free(b.keys);
	free(b.a);
	free(b.b);
	free(b.tree);
	return 0;
}
