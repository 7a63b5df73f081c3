/* SPDX-License-Identifier: BSL-1.0 */
/*
 * small.c -- what an object costs that has little in it, whatever the budget.
 *
 *	small [--objects 2000] [--rounds 9] [--only WORK]
 *
 * For each kind of object, in contexts of 16 MiB and of 4 GiB: open it, push 1,000 records, pull them, sorted, and
 * close it; a pool and a cache are only opened and closed.  The nanoseconds of one object are the median of some
 * rounds of many objects, beside those of qsort() on a copy of the same records.  The data of an object are one of 64,
 * in turn, so that no branch is learnt by heart.  The first object of a context is not among them.
 *
 *   u64        64-bit numbers
 *   function   the same by a comparison function, which qsort() calls, too
 *   rec100     records of 100 bytes with a key of 10
 *   lines      lines of 20 to 60 bytes, compared as bytes; qsort() sorts pointers to them
 *   top        the first 100 of the 64-bit numbers
 *   radix      a radix heap of the 64-bit numbers, pushed and popped one by one
 *   pq         the same with a priority queue
 *   btree      a B+-tree of the 64-bit numbers, inserted and looked up one by one
 *   pool       a pool of 8 blocks to write and 8 to read
 *   cache      a cache of 64 blocks
 *   vector     64-bit numbers, appended by one call, and read by another
 *   stack, queue, deque   64-bit numbers by a call for each, in and out, in no order
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>

#include "peers/peer_common.h"

enum { N = 1000, SETS = 64, REC = 100, KEY = 10, LINE_LEAST = 20, LINE_MORE = 41, FIRST = 100, ROUNDS_MOST = 101 };
#define MIB ((uint64_t)1 << 20)

typedef struct line {
	const char *at;
	size_t n;
} line;

static uint64_t numbers[SETS][N];
static unsigned char records[SETS][N * REC];
static char text[SETS][N * (LINE_LEAST + LINE_MORE)];
static uint64_t ends[SETS][N];
static line lines[SETS][N];

static em_ctx *ctx;
static em_order *order;
static em_disks *disks;
static unsigned next_set;
static uint64_t seen;                   /* of what was sorted, so that it is */

static void must(em_status st, const char *what)
{
	if (st >= EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", what, em_status_text(st));
	exit(1);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static int compare_numbers(const void *a, const void *b, void *user)
{
	(void)user;
	return by_number(a, b);
}

static int by_record(const void *a, const void *b)
{
	return memcmp(a, b, KEY);
}

static int by_line(const void *a, const void *b)
{
	const line *x = a, *y = b;
	const int c = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);

	return c != 0 ? c : (x->n > y->n) - (x->n < y->n);
}

static void make_data(void)
{
	uint64_t draw = 0;
	unsigned s, i, j;

	for (s = 0; s < SETS; s++) {
		uint64_t at = 0;

		for (i = 0; i < N; i++) {
			const unsigned n = LINE_LEAST + (unsigned)(peer_mix(++draw) % LINE_MORE);

			numbers[s][i] = peer_mix(++draw);
			for (j = 0; j < REC; j++)
				records[s][i * REC + j] = (unsigned char)peer_mix(++draw);
			lines[s][i].at = &text[s][at];
			lines[s][i].n = n;
			for (j = 0; j < n; j++)
				text[s][at++] = (char)('a' + peer_mix(++draw) % 26);
			ends[s][i] = at;
		}
	}
}

/* What a work does once, and what is compared with it. */
typedef struct work {
	const char *name;
	void (*prepare)(void);
	void (*once)(void);
	void (*array)(void);
} work;

static unsigned set(void)
{
	return next_set++ % SETS;
}

static void look(const em_batch *batch)
{
	seen += *(const unsigned char *)batch->records;
}

static void pull(em_sorter *s)
{
	const em_batch *batch;
	em_status st;

	must(em_sorter_finish(s), "finish");
	while ((st = em_sorter_next(s, &batch)) == EM_OK)
		look(batch);
	must(st, "next");
	em_sorter_close(s);
}

static void sort_records(const void *data)
{
	em_sorter *s;

	must(em_sorter_open(&s, ctx, order, NULL), "open");
	must(em_sorter_push(s, data, N), "push");
	pull(s);
}

static void sort_numbers(void)
{
	sort_records(numbers[set()]);
}

static void sort_recs(void)
{
	sort_records(records[set()]);
}

static void sort_lines(void)
{
	const unsigned i = set();
	em_sorter *s;

	must(em_sorter_open(&s, ctx, order, NULL), "open");
	must(em_sorter_push_batch(s, text[i], ends[i], N), "push");
	pull(s);
}

static void first_numbers(void)
{
	const em_batch *batch;
	em_status st;
	em_top *t;

	must(em_top_open(&t, ctx, order, 0, FIRST, NULL), "open");
	must(em_top_push(t, numbers[set()], N), "push");
	must(em_top_finish(t), "finish");
	while ((st = em_top_next(t, &batch)) == EM_OK)
		look(batch);
	must(st, "next");
	em_top_close(t);
}

/* As a queue: all are pushed, then all are popped. */
static void queue_numbers(void)
{
	const uint64_t *data = numbers[set()];
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap *h;
	uint64_t got;
	unsigned i;

	opts.record_bytes = sizeof got;
	must(em_radix_heap_open(&h, ctx, &opts), "open");
	for (i = 0; i < N; i++)
		must(em_radix_heap_push(h, &data[i]), "push");
	for (i = 0; i < N; i++) {
		must(em_radix_heap_pop(h, &got), "pop");
		seen += got;
	}
	em_radix_heap_close(h);
}

static void queue_any_numbers(void)
{
	const uint64_t *data = numbers[set()];
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	uint64_t got;
	unsigned i;
	em_pq *q;

	opts.order = order;
	must(em_pq_open(&q, ctx, &opts), "open");
	for (i = 0; i < N; i++)
		must(em_pq_push(q, &data[i]), "push");
	for (i = 0; i < N; i++) {
		must(em_pq_pop(q, &got), "pop");
		seen += got;
	}
	em_pq_close(q);
}

/* A tree whose order is made before, in whatever order the numbers come; each is looked up. */
static void index_numbers(void)
{
	const uint64_t *data = numbers[set()];
	em_btree *t;
	uint64_t got;
	unsigned i;

	must(em_btree_open(&t, ctx, order, NULL), "open");
	for (i = 0; i < N; i++)
		must(em_btree_insert(t, &data[i]), "insert");
	for (i = 0; i < N; i++) {
		must(em_btree_get(t, &data[i], &got), "get");
		seen += got;
	}
	em_btree_close(t);
}

static void open_pool(void)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;

	opts.write_buffers = opts.prefetch_buffers = 8;
	opts.block_bytes = 65536;
	must(em_block_pool_open(&p, disks, &opts), "pool");
	em_block_pool_close(p);
}

static void open_cache(void)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_cache *c;

	opts.frames = 64;
	opts.block_bytes = 65536;
	must(em_cache_open(&c, disks, &opts), "cache");
	em_cache_close(c);
}

static void use_vector(void)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	uint64_t got[N];
	em_vector *v;
	unsigned i;

	opts.record_bytes = sizeof got[0];
	must(em_vector_open(&v, ctx, &opts), "vector");
	must(em_vector_push_many(v, numbers[set()], N, NULL), "push");
	must(em_vector_read(v, 0, got, N), "read");
	for (i = 0; i < N; i++)
		seen += got[i];
	em_vector_close(v);
}

static void use_stack(void)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	const uint64_t *n = numbers[set()];
	uint64_t number = 0;
	em_stack *s;
	unsigned i;

	opts.record_bytes = sizeof number;
	must(em_stack_open(&s, ctx, &opts), "stack");
	for (i = 0; i < N; i++)
		must(em_stack_push(s, &n[i]), "push");
	for (i = 0; i < N; i++) {
		must(em_stack_pop(s, &number), "pop");
		seen += number;
	}
	em_stack_close(s);
}

static void use_queue(void)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	const uint64_t *n = numbers[set()];
	uint64_t number = 0;
	em_queue *q;
	unsigned i;

	opts.record_bytes = sizeof number;
	must(em_queue_open(&q, ctx, &opts), "queue");
	for (i = 0; i < N; i++)
		must(em_queue_push(q, &n[i]), "push");
	for (i = 0; i < N; i++) {
		must(em_queue_pop(q, &number), "pop");
		seen += number;
	}
	em_queue_close(q);
}

/* Half of them enter at either end, and leave at the other one. */
static void use_deque(void)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	const uint64_t *n = numbers[set()];
	uint64_t number = 0;
	em_deque *d;
	unsigned i;

	opts.record_bytes = sizeof number;
	must(em_deque_open(&d, ctx, &opts), "deque");
	for (i = 0; i < N; i++)
		must(i < N / 2 ? em_deque_push_back(d, &n[i]) : em_deque_push_front(d, &n[i]), "push");
	for (i = 0; i < N; i++) {
		must(i < N / 2 ? em_deque_pop_front(d, &number) : em_deque_pop_back(d, &number), "pop");
		seen += number;
	}
	em_deque_close(d);
}

static void array_numbers(void)
{
	static uint64_t copy[N];

	memcpy(copy, numbers[set()], sizeof copy);
	qsort(copy, N, sizeof copy[0], by_number);
	seen += copy[0];
}

static void array_recs(void)
{
	static unsigned char copy[N * REC];

	memcpy(copy, records[set()], sizeof copy);
	qsort(copy, N, REC, by_record);
	seen += copy[0];
}

static void array_lines(void)
{
	static line copy[N];

	memcpy(copy, lines[set()], sizeof copy);
	qsort(copy, N, sizeof copy[0], by_line);
	seen += (unsigned char)copy[0].at[0];
}

static void order_numbers(void)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };

	must(em_order_keys(&order, ctx, sizeof(uint64_t), &key, 1, NULL), "order");
}

static void order_function(void)
{
	must(em_order_cmp(&order, ctx, sizeof(uint64_t), "numbers", compare_numbers, 0, NULL, NULL, NULL), "order");
}

static void order_recs(void)
{
	const em_key key = { 0, KEY, EM_KEY_BYTES, 0, { 0 } };

	must(em_order_keys(&order, ctx, REC, &key, 1, NULL), "order");
}

static void order_lines(void)
{
	must(em_order_text(&order, ctx, NULL, 0, NULL, NULL), "order");
}

static void open_disks(void)
{
	must(em_disks_open(&disks, ctx, NULL), "disks");
}

static const work works[] = {
	{ "u64", order_numbers, sort_numbers, array_numbers },
	{ "function", order_function, sort_numbers, array_numbers },
	{ "rec100", order_recs, sort_recs, array_recs },
	{ "lines", order_lines, sort_lines, array_lines },
	{ "top", order_numbers, first_numbers, array_numbers },
	{ "pool", open_disks, open_pool, NULL },
	{ "cache", open_disks, open_cache, NULL },
	{ "vector", NULL, use_vector, NULL },
	{ "stack", NULL, use_stack, NULL },
	{ "queue", NULL, use_queue, NULL },
	{ "deque", NULL, use_deque, NULL },
	{ "radix", order_numbers, queue_numbers, array_numbers },
	{ "pq", order_numbers, queue_any_numbers, array_numbers },
	{ "btree", order_numbers, index_numbers, array_numbers },
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nanoseconds of one of many, the median of some rounds. */
static double time_of(void (*once)(void), unsigned objects, unsigned rounds)
{
	double ns[ROUNDS_MOST];
	unsigned r, i;

	once();
	for (r = 0; r < rounds; r++) {
		const double t = peer_now();

		for (i = 0; i < objects; i++)
			once();
		ns[r] = (peer_now() - t) * 1e9 / objects;
	}
	qsort(ns, rounds, sizeof ns[0], by_value);
	return ns[rounds / 2];
}

static void run(const work *w, uint64_t memory, unsigned objects, unsigned rounds)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	double ns, array;

	opts.memory = memory;
	must(em_ctx_open(&ctx, &opts), "context");
	order = NULL;
	disks = NULL;
	if (w->prepare != NULL)
		w->prepare();
	ns = time_of(w->once, objects, rounds);
	array = w->array != NULL ? time_of(w->array, objects, rounds) : 0;
	printf("work=%-8s memory=%-5" PRIu64 " ns=%-8.0f qsort=%-8.0f beyond=%.0f\n", w->name, memory / MIB, ns, array,
	       ns - array);
	fflush(stdout);
	em_disks_close(disks);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(int argc, char **argv)
{
	static const uint64_t budgets[] = { 16 * MIB, 4096 * MIB };
	unsigned objects = 2000, rounds = 9, i, b;
	const char *only = NULL;
	int a;

	for (a = 1; a + 1 < argc; a += 2) {
		if (strcmp(argv[a], "--objects") == 0)
			objects = (unsigned)strtoul(argv[a + 1], NULL, 10);
		else if (strcmp(argv[a], "--rounds") == 0)
			rounds = (unsigned)strtoul(argv[a + 1], NULL, 10);
		else if (strcmp(argv[a], "--only") == 0)
			only = argv[a + 1];
		else
			break;
	}
	if (a != argc || objects == 0 || rounds == 0 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: small [--objects N] [--rounds 1...%d] [--only WORK]\n", ROUNDS_MOST);
		return 2;
	}
	make_data();
	for (i = 0; i < sizeof works / sizeof works[0]; i++)
		for (b = 0; b < 2; b++)
			if (only == NULL || strcmp(only, works[i].name) == 0)
				run(&works[i], budgets[b], objects, rounds);
	return seen == 0;
}
