/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kernels.c -- nanoseconds per element of the block kernels, on one thread.
 *
 *   bench/kernels [ISA]
 *
 * For each kind of element: sorting random keys in blocks of different sizes, and merging k sorted windows of 128 Ki
 * elements in all, by the tree and, where there is one, by the mix.  The median of several rounds, in CPU time.  Then the same for what
 * <extmem/gen/order.h> generates of a comparison of 64-bit numbers, and of pairs by the first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kern/kern.h"

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

typedef struct bench {
	const emi_kernels *kern;
	const em_kernels *gen;  /* NULL: kern */
	uint16_t *tags;
	size_t eb;
	char *keys, *a, *b;
	emi_window win[EMI_MIX_MOST];
	size_t taken[EMI_MIX_MOST];
	void *tree;
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

/* In large pages, as the library's own buffers are. */
static void *must(size_t bytes)
{
	const size_t page = (size_t)2 << 20, room = (bytes + page - 1) / page * page;
	void *p = aligned_alloc(page, room);

	if (p == NULL) {
		fputs("kernels: out of memory\n", stderr);
		exit(1);
	}
	(void)madvise(p, room, MADV_HUGEPAGE);
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
		b->gen->sort(a, b->b, b->tags, n, NULL);
	else
		b->kern->sort(a, b->b, n, &none);
}

static double sort_blocks(const bench *b, size_t block)
{
	const size_t total = block < MERGED ? MERGED : block, rounds = block < LARGEST ? ROUNDS : 3;
	double t[ROUNDS];
	size_t r, i;

	for (r = 0; r < rounds; r++) {
		memcpy(b->a, b->keys, total * b->eb);
		t[r] = now();
		for (i = 0; i + block <= total; i += block)
			sort_block(b, b->a + i * b->eb, block);
		t[r] = (now() - t[r]) / (double)(total / block * block);
	}
	return median(t, rounds);
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
		em_merge g = { 0 };
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
		em_mix g = { k, 0, b->win, b->taken, 0, EMI_MIX, NULL };

		windows(b, k);
		t[r] = now();
		while ((b->gen != NULL ? b->gen->mix(&g, out, tmp) : b->kern->mix(&m, out, tmp)) != 0)
			;
		t[r] = (now() - t[r]) / (double)MERGED;
	}
	return median(t, ROUNDS);
}

static void run(bench *b, const char *isa, const char *name)
{
	static const size_t blocks[] = { 64, 1024, 8192, (size_t)1 << 17, LARGEST };
	static const uint32_t ks[] = { 4, 8, 32, 128 };
	unsigned i;

	for (i = 0; i < sizeof blocks / sizeof *blocks; i++)
		printf("%-7s %s sort %8zu elements    %6.2f ns\n", isa, name, blocks[i], sort_blocks(b, blocks[i]));
	for (i = 0; i < sizeof ks / sizeof *ks; i++) {
		make_windows(b, ks[i]);
		printf("%-7s %s merge k = %3u, tree %6.2f ns", isa, name, (unsigned)ks[i], merge_tree(b, ks[i]));
		if (b->gen != NULL || b->kern->mix != NULL)
			printf(", mix %6.2f ns", merge_mix(b, ks[i]));
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "u32", "u64", "u64+u64" };
	static const em_kernels *const gens[] = { &gen_u64_kernels, &gen_pair_kernels };
	static bench b;
	unsigned e;

	b.keys = must(LARGEST * sizeof(emi_pair));
	b.a = must(LARGEST * sizeof(emi_pair));
	b.b = must(LARGEST * sizeof(emi_pair));
	b.tree = must(emi_merge_tree_bytes(EMI_MIX_MOST));
	fill(b.keys, LARGEST * sizeof(emi_pair));
	for (e = 0; e < 3; e++) {
		b.kern = emi_kernels_for((emi_elem)e, argc > 1 ? argv[1] : NULL);
		if (b.kern == NULL) {
			fprintf(stderr, "kernels: no instruction set %s here\n", argv[1]);
			return 2;
		}
		b.eb = b.kern->elem_bytes;
		run(&b, b.kern->isa, names[e]);
	}
	b.tags = must(LARGEST * sizeof *b.tags);
	for (e = 0; e < 2; e++) {
		b.gen = gens[e];
		b.eb = (size_t)b.gen->record_size;
		run(&b, "gen", names[e + 1]);
	}
	free(b.tags);
	free(b.keys);
	free(b.a);
	free(b.b);
	free(b.tree);
	return 0;
}
