/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_stream.c -- what a record costs in nodes of streams, and a sort of a generated stream.
 *
 *	bench_stream [--test map|sort|reduce] [--n 4M] [--keys 100] [--rounds 32] [--mem 512M] [--dir DIR]
 *
 *   map     n records of 8 bytes in memory, --rounds times: copied by memcpy() in pieces of 16 KiB (copy), by a node
 *           whose function does the same (map_copy) or writes x * 3 + 1 (map), as batches (batch) and one by one by the
 *           cursor (cursor), each of the last two adding all up; ns are for a record
 *   sort    n records of 8 bytes, made by a function, sorted as a node, and added up
 *   reduce  n records of 16 bytes, a key of so many and a 1, made by a function, of which those of a key are added up:
 *           by a sort and a node behind it (sort+reduce), and by one node that adds up early (sort_reduce)
 *
 * CPU time is that of the process, transfers included.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>
#include <time.h>

#include <extmem.h>

#include "peers/peer_common.h"

#define PIECE 2048u

static em_ctx *ctx;
static uint64_t n, keys, rounds, memory;

static void must(em_status st, const em_errinfo *err)
{
	if (st >= EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", em_status_text(st), err->text);
	exit(1);
}

static int copy(void *user, const void *records, size_t k, void *to)
{
	(void)user;
	memcpy(to, records, k * 8);
	return 0;
}

static int triple(void *user, const void *records, size_t k, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < k; i++)
		y[i] = 3 * x[i] + 1;
	return 0;
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(const char *phase, double seconds, uint64_t sum)
{
	printf("peer=extmem work=stream n=%" PRIu64 " recsize=8 phase=%s seconds=%.3f ns=%.3f sum=%" PRIu64 "\n", n,
	       phase, seconds, seconds * 1e9 / (double)(n * rounds), sum);
}

static em_stream *open_memory(const uint64_t *x, em_map_fn fn)
{
	em_errinfo err;
	em_stream *in, *s;

	must(em_stream_memory(&in, ctx, 8, x, n, &err), &err);
	if (fn == NULL)
		return in;
	must(em_stream_map(&s, in, 8, fn, NULL, NULL, &err), &err);
	return s;
}

/* Batches that nobody looks at, but for the first record of each. */
static void bench_map(const char *phase, const uint64_t *x, em_map_fn fn)
{
	const double begin = cpu_now();
	uint64_t r, sum = 0;

	for (r = 0; r < rounds; r++) {
		em_stream *s = open_memory(x, fn);
		const em_batch *batch;

		while (em_stream_next(s, &batch) == EM_OK)
			sum += *(const uint64_t *)batch->records;
		em_stream_close(s);
	}
	say(phase, cpu_now() - begin, sum);
}

static void bench_copy(const uint64_t *x)
{
	static uint64_t to[PIECE];
	const double begin = cpu_now();
	uint64_t r, i, sum = 0;

	for (r = 0; r < rounds; r++) {
		for (i = 0; i < n; i += PIECE) {
			memcpy(to, x + i, (size_t)(n - i < PIECE ? n - i : PIECE) * 8);
			sum += to[0];
			__asm__ volatile("" : : "r"(to) : "memory");
		}
	}
	say("copy", cpu_now() - begin, sum);
}

static void bench_batches(const uint64_t *x)
{
	const double begin = cpu_now();
	uint64_t r, sum = 0;
	size_t i;

	for (r = 0; r < rounds; r++) {
		em_stream *s = open_memory(x, copy);
		const em_batch *batch;

		while (em_stream_next(s, &batch) == EM_OK)
			for (i = 0; i < batch->n; i++)
				sum += ((const uint64_t *)batch->records)[i];
		em_stream_close(s);
	}
	say("batch", cpu_now() - begin, sum);
}

static void bench_cursor(const uint64_t *x)
{
	const double begin = cpu_now();
	uint64_t r, sum = 0;

	for (r = 0; r < rounds; r++) {
		em_stream *s = open_memory(x, copy);
		em_cursor *c = em_stream_cursor(s);

		for (; !em_stream_empty(c); em_stream_advance(c))
			sum += *(const uint64_t *)em_stream_front(c);
		em_stream_close(s);
	}
	say("cursor", cpu_now() - begin, sum);
}

static void maps(void)
{
	uint64_t *x = malloc((size_t)n * 8), i;

	if (x == NULL)
		peer_die("memory");
	for (i = 0; i < n; i++)
		x[i] = peer_mix(i);
	bench_copy(x);
	bench_map("map_copy", x, copy);
	bench_map("map", x, triple);
	bench_batches(x);
	bench_cursor(x);
	free(x);
}

static int make_random(void *user, uint64_t i, void *records, size_t *k)
{
	uint64_t *x = records, j;

	(void)user;
	for (j = 0; j < *k; j++)
		x[j] = peer_mix(i + j);
	return 0;
}

static void sort(void)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	uint64_t sum = 0, last = 0, got = 0;
	const em_batch *batch;
	em_errinfo err;
	em_stream *in, *s;
	em_order *order;
	em_status st;
	peer_mark m;
	char extra[128];
	size_t i;
	int ordered = 1;

	opts.memory = memory;
	must(em_order_keys(&order, ctx, 8, &key, 1, &err), &err);
	phase_begin(&m);
	must(em_stream_generate(&in, ctx, 8, n, make_random, NULL, NULL, &err), &err);
	must(em_stream_sort(&s, in, order, &opts, &err), &err);
	while ((st = em_stream_next(s, &batch)) == EM_OK) {
		const uint64_t *x = batch->records;

		for (i = 0; i < batch->n; i++) {
			ordered &= x[i] >= last;
			last = x[i];
			sum += last;
		}
		got += batch->n;
	}
	em_stream_error(s, &err);
	must(st, &err);
	must(em_stream_sort_stats_get(s, &stats), &err);
	snprintf(extra, sizeof extra, "runs=%" PRIu64 " block=%" PRIu64 " sum=%" PRIu64 " ordered=%d got=%" PRIu64,
		 stats.runs, stats.block_bytes, sum, ordered, got);
	phase_end(&m, "extmem", "stream_sort", n, 8, memory, "sort", extra);
	em_stream_close(s);
	em_order_close(order);
}

typedef struct counted {
	uint64_t key, times;
} counted;

static int make_counted(void *user, uint64_t i, void *records, size_t *k)
{
	counted *x = records;
	uint64_t j;

	(void)user;
	for (j = 0; j < *k; j++) {
		x[j].key = peer_mix(i + j) % keys;
		x[j].times = 1;
	}
	return 0;
}

static int add_up(void *user, void *sum, const void *records, size_t k)
{
	const counted *x = records;
	counted *all = sum;
	size_t i;

	(void)user;
	for (i = 0; i < k; i++)
		all->times += x[i].times;
	return 0;
}

static void reduce(const char *name, int early)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	uint64_t sum = 0, got = 0;
	const em_batch *batch;
	em_errinfo err;
	em_order *order;
	em_stream *s;
	em_status st;
	peer_mark m;
	char extra[128];
	size_t i;

	opts.memory = memory;
	must(em_order_keys(&order, ctx, sizeof(counted), &key, 1, &err), &err);
	phase_begin(&m);
	must(em_stream_generate(&s, ctx, sizeof(counted), n, make_counted, NULL, NULL, &err), &err);
	if (early) {
		must(em_stream_sort_reduce(&s, s, order, &opts, add_up, NULL, NULL, &err), &err);
	} else {
		must(em_stream_sort(&s, s, order, &opts, &err), &err);
		must(em_stream_reduce(&s, s, order, add_up, NULL, NULL, &err), &err);
	}
	while ((st = em_stream_next(s, &batch)) == EM_OK) {
		const counted *x = batch->records;

		for (i = 0; i < batch->n; i++)
			sum += x[i].times;
		got += batch->n;
	}
	em_stream_error(s, &err);
	must(st, &err);
	if (sum != n)
		peer_die("the sum");
	snprintf(extra, sizeof extra, "keys=%" PRIu64, got);
	phase_end(&m, "extmem", name, n, sizeof(counted), memory, "reduce", extra);
	em_stream_close(s);
	em_order_close(order);
}

int main(int argc, char **argv)
{
	const char *test = peer_arg(argc, argv, "test", "map");
	const char *dir = peer_tmpdir(argc, argv);
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_errinfo err;

	n = peer_size(peer_arg(argc, argv, "n", "4M"));
	keys = peer_size(peer_arg(argc, argv, "keys", "100"));
	rounds = peer_size(peer_arg(argc, argv, "rounds", "32"));
	memory = peer_size(peer_arg(argc, argv, "mem", "512M"));
	o.memory = memory + ((uint64_t)64 << 20);
	o.dirs = &dir;
	o.ndirs = 1;
	o.errinfo = &err;
	must(em_ctx_open(&ctx, &o), &err);
	if (strcmp(test, "sort") == 0) {
		sort();
	} else if (strcmp(test, "reduce") == 0) {
		reduce("sort+reduce", 0);
		reduce("sort_reduce", 1);
	} else {
		maps();
	}
	em_ctx_close(ctx);
	return 0;
}
