/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_radix.c -- what a push and a pop of a radix heap cost, and how much it moves.
 *
 *	bench_radix [--n 16M] [--c 1000] [--mem 64M] [--rec 8] [--block 0] [--budget 1G] [--many 1] [--hold 0]
 *		[--queue 0] [--sort 0] [--threads 0] [--dir DIR]
 *
 * n records of --rec bytes with a 64-bit key are pushed, and then all are popped; keys are drawn from 0 to C (0: of 64
 * bits).  With --hold 1 each of n pops is followed by a push of a key up to C above it, with n records in the heap:
 * that is what a simulation does.  --many: records for a call.  CPU time is that of the process, transfers included;
 * ns are for a push or a pop.
 *
 * With --queue 1 a priority queue has the same records by the same calls.  With --sort 1 they go through a sorter in a
 * context of --mem bytes, with --threads threads (0: as many as there are cores).  Pushing forms runs, popping merges
 * them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>
#include <time.h>

#include <extmem.h>

#include "peers/peer_common.h"

enum { MANY_MOST = 4096, REC_MOST = 4096 };

static em_radix_heap *heap;
static em_pq *queue;            /* in its place, or NULL */
static em_sorter *sorter;
static uint64_t n = 16 << 20, range = 1000, rec = 8, many = 1, draws;
static char records[MANY_MOST * REC_MOST];

static void must(em_status st, const char *what)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	if (queue != NULL)
		em_pq_error(queue, &err);
	else
		em_radix_heap_error(heap, &err);
	fprintf(stderr, "FAILED: %s: %s: %s\n", what, em_status_text(st), err.text);
	exit(1);
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t draw(void)
{
	const uint64_t x = peer_mix(++draws);

	if (range == 0)
		return x;
	return range <= UINT32_MAX ? ((x >> 32) * (range + 1)) >> 32 : x % range;
}

static void fill(uint64_t k, uint64_t floor)
{
	uint64_t i;

	for (i = 0; i < k; i++) {
		const uint64_t key = floor + draw();

		memcpy(records + i * rec, &key, sizeof key);
	}
}

/* What is no work of the heap. */
static void draw_all(void)
{
	uint64_t i;

	for (i = 0; i < n; i += many)
		fill(many, 0);
	draws = 0;
}

static inline void push(uint64_t k)
{
	if (queue != NULL)
		must(k == 1 ? em_pq_push(queue, records) : em_pq_push_many(queue, records, k, NULL), "push");
	else
		must(k == 1 ? em_radix_heap_push(heap, records) : em_radix_heap_push_many(heap, records, k, NULL),
		     "push");
}

/* Up to k records; returns how many. */
static inline uint64_t pop(uint64_t k)
{
	if (queue != NULL)
		must(k == 1 ? em_pq_pop(queue, records) : em_pq_pop_many(queue, records, k, &k), "pop");
	else
		must(k == 1 ? em_radix_heap_pop(heap, records) : em_radix_heap_pop_many(heap, records, k, &k), "pop");
	return k;
}

static void push_all(void)
{
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		k = n - i < many ? n - i : many;
		fill(k, 0);
		push(k);
	}
}

static void pop_all(void)
{
	uint64_t i, k, last = 0, key;

	for (i = 0; i < n; i += k) {
		k = pop(many);
		memcpy(&key, records, sizeof key);
		if (key < last || k == 0) {
			fprintf(stderr, "FAILED: out of order\n");
			exit(1);
		}
		last = key;
	}
}

static void hold(void)
{
	uint64_t i, key;

	for (i = 0; i < n; i++) {
		(void)pop(1);
		memcpy(&key, records, sizeof key);
		fill(1, key);
		push(1);
	}
}

/* What the work costs, up to where a line tells what it moved. */
static void timed(const char *name, void (*work)(void))
{
	double wall = peer_now(), cpu = cpu_now();

	work();
	cpu = cpu_now() - cpu;
	wall = peer_now() - wall;
	printf("phase=%-5s ns=%-7.1f cpu_ns=%-7.1f ", name, wall * 1e9 / (double)n, cpu * 1e9 / (double)n);
}

static void queue_phase(const char *name, void (*work)(void))
{
	em_pq_stats before = EM_PQ_STATS_INIT, after = EM_PQ_STATS_INIT;

	must(em_pq_stats_get(queue, &before), "statistics");
	timed(name, work);
	must(em_pq_stats_get(queue, &after), "statistics");
	printf("read_MiB=%-7.0f written_MiB=%-7.0f merged=%.2f\n",
	       (double)((after.reads - before.reads) * after.block_bytes) / 1048576,
	       (double)((after.writes - before.writes) * after.block_bytes) / 1048576,
	       (double)(after.merged - before.merged) / (double)n);
	fflush(stdout);
}

static void phase(const char *name, void (*work)(void))
{
	em_radix_heap_stats before = EM_RADIX_HEAP_STATS_INIT, after = EM_RADIX_HEAP_STATS_INIT;

	if (queue != NULL) {
		queue_phase(name, work);
		return;
	}
	must(em_radix_heap_stats_get(heap, &before), "statistics");
	timed(name, work);
	must(em_radix_heap_stats_get(heap, &after), "statistics");
	printf("read_MiB=%-7.0f written_MiB=%-7.0f distributed=%.2f sorted=%.2f\n",
	       (double)((after.reads - before.reads) * after.block_bytes) / 1048576,
	       (double)((after.writes - before.writes) * after.block_bytes) / 1048576,
	       (double)(after.distributed - before.distributed) / (double)n,
	       (double)(after.sorted - before.sorted) / (double)n);
	fflush(stdout);
}

/* Of the sorter, which says itself what is wrong. */
static void must_sort(em_status st, const char *what)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_sorter_error(sorter, &err);
	fprintf(stderr, "FAILED: %s: %s: %s\n", what, em_status_text(st), err.text);
	exit(st == EM_ERR_MEMLIMIT ? 2 : 1);
}

static void sort_runs(void)
{
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		k = n - i < MANY_MOST ? n - i : MANY_MOST;
		fill(k, 0);
		must_sort(em_sorter_push(sorter, records, (size_t)k), "push");
	}
	must_sort(em_sorter_finish(sorter), "finish");
}

static void sort_merge(void)
{
	uint64_t last = 0, count = 0, key;
	const em_batch *b;
	em_status st;
	size_t i;

	while ((st = em_sorter_next(sorter, &b)) == EM_OK) {
		for (i = 0; i < b->n; i++, count++) {
			memcpy(&key, (const char *)b->records + i * rec, sizeof key);
			if (key < last)
				break;
			last = key;
		}
		if (i != b->n)
			break;
	}
	must_sort(st, "next");
	if (st != EM_END || count != n) {
		fprintf(stderr, "FAILED: out of order\n");
		exit(1);
	}
}

static void sort_phase(const char *name, void (*work)(void))
{
	static uint64_t read, written;
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_phase_stats s = EM_PHASE_STATS_INIT;
	uint64_t r = 0, w = 0;
	uint32_t i;

	timed(name, work);
	must_sort(em_sorter_stats_get(sorter, &stats), "statistics");
	for (i = 0; em_sort_stats_phase(&stats, i, &s) == EM_OK; i++) {
		r += s.bytes_read;
		w += s.bytes_written;
	}
	printf("read_MiB=%-7.0f written_MiB=%-7.0f runs=%" PRIu64 " passes=%" PRIu32 " threads=%" PRIu32 "\n",
	       (double)(r - read) / 1048576, (double)(w - written) / 1048576, stats.runs, stats.passes, stats.threads);
	fflush(stdout);
	read = r;
	written = w;
}

static int sort(em_ctx *ctx, em_errinfo *err)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0, 0 } };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_order *order;
	em_status st = em_order_keys(&order, ctx, rec, &key, 1, err);

	opts.errinfo = err;
	if (st == EM_OK)
		st = em_sorter_open(&sorter, ctx, order, &opts);
	if (st != EM_OK) {
		fprintf(stderr, "FAILED: open: %s\n", err->text);
		return st == EM_ERR_MEMLIMIT ? 2 : 1;
	}
	sort_phase("push", sort_runs);
	sort_phase("pop", sort_merge);
	em_sorter_close(sorter);
	em_order_close(order);
	return 0;
}

static em_status open_queue(em_ctx *ctx, uint64_t memory, em_order **order, em_errinfo *err)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0, 0 } };
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_status st = em_order_keys(order, ctx, rec, &key, 1, err);

	opts.order = *order;
	opts.memory_bytes = memory;
	opts.errinfo = err;
	return st == EM_OK ? em_pq_open(&queue, ctx, &opts) : st;
}

static em_status open_heap(em_ctx *ctx, const em_radix_heap_opts *opts)
{
	em_radix_heap_plan_info info = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_status st = em_radix_heap_plan(ctx, opts, &info);

	if (st == EM_OK)
		st = em_radix_heap_open(&heap, ctx, opts);
	if (st == EM_OK)
		printf("n=%" PRIu64 " c=%" PRIu64 " rec=%" PRIu64 " h=%" PRIu32 " r=%" PRIu32 " block=%" PRIu64
		       " memory_MiB=%.1f\n", n, range, rec, info.levels, info.radix, info.block_bytes,
		       (double)info.memory / 1048576);
	return st;
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t x = strtoull(text, &end, 10);

	return x << (*end == 'G' ? 30 : *end == 'M' ? 20 : *end == 'K' ? 10 : 0);
}

int main(int argc, char **argv)
{
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	uint64_t holds = 0, sorts = 0, queues = 0;
	em_order *order = NULL;
	em_errinfo err;
	em_status st;
	em_ctx *ctx;
	int a;

	opts.memory_bytes = 64 << 20;
	opts.errinfo = ctx_opts.errinfo = &err;
	ctx_opts.memory = (uint64_t)1 << 30;
	for (a = 1; a + 1 < argc; a += 2) {
		const uint64_t x = number(argv[a + 1]);

		if (strcmp(argv[a], "--n") == 0)
			n = x;
		else if (strcmp(argv[a], "--c") == 0)
			range = x;
		else if (strcmp(argv[a], "--mem") == 0)
			opts.memory_bytes = x;
		else if (strcmp(argv[a], "--rec") == 0)
			rec = x;
		else if (strcmp(argv[a], "--block") == 0)
			opts.block_bytes = x;
		else if (strcmp(argv[a], "--budget") == 0)
			ctx_opts.memory = x;
		else if (strcmp(argv[a], "--many") == 0)
			many = x;
		else if (strcmp(argv[a], "--hold") == 0)
			holds = x;
		else if (strcmp(argv[a], "--queue") == 0)
			queues = x;
		else if (strcmp(argv[a], "--sort") == 0)
			sorts = x;
		else if (strcmp(argv[a], "--threads") == 0)
			ctx_opts.threads = (uint32_t)x;
		else if (strcmp(argv[a], "--dir") == 0)
			ctx_opts.dirs = (const char *const *)&argv[a + 1], ctx_opts.ndirs = 1;
		else
			break;
	}
	if (a != argc || n == 0 || rec < 8 || rec > REC_MOST || many == 0 || many > MANY_MOST) {
		fprintf(stderr, "usage: bench_radix [--n N] [--c C] [--mem BYTES] [--rec 8...%d] [--block BYTES] "
				"[--budget BYTES] [--many 1...%d] [--hold 1] [--queue 1] [--sort 1] [--threads N] "
				"[--dir DIR]\n",
			REC_MOST, MANY_MOST);
		return 2;
	}
	opts.record_bytes = rec;
	opts.range = range;
	if (sorts) {
		int failed;

		ctx_opts.memory = opts.memory_bytes;
		if (em_ctx_open(&ctx, &ctx_opts) != EM_OK) {
			fprintf(stderr, "FAILED: open: %s\n", err.text);
			return err.status == EM_ERR_MEMLIMIT ? 2 : 1;
		}
		failed = sort(ctx, &err);
		em_ctx_close(ctx);
		return failed;
	}
	st = em_ctx_open(&ctx, &ctx_opts);
	if (st == EM_OK && queues)
		st = open_queue(ctx, opts.memory_bytes, &order, &err);
	else if (st == EM_OK)
		st = open_heap(ctx, &opts);
	if (st != EM_OK) {
		fprintf(stderr, "FAILED: open: %s\n", err.text);
		return st == EM_ERR_MEMLIMIT ? 2 : 1;
	}
	phase("draw", draw_all);
	phase("push", push_all);
	if (holds)
		phase("hold", hold);
	phase("pop", pop_all);
	em_radix_heap_close(heap);
	em_pq_close(queue);
	em_order_close(order);
	em_ctx_close(ctx);
	return 0;
}
