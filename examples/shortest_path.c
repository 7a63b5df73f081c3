/* SPDX-License-Identifier: BSL-1.0 */
/*
 * shortest_path.c -- Dijkstra's algorithm with a priority queue and a vector, which go to disk when they are too large.
 *
 * The graph is a grid of squares.  A step to one of the four beside costs something, which is drawn for each pair of
 * neighbours.  A queue has no decrease-key: when a shorter way to a square is found, the square is pushed once more,
 * with the new distance, and the record with the old one is skipped when it comes out.  At the end it is seen whether
 * all distances are right.  (As they never go back, a radix heap would do: events.c.  A queue takes any order.)  Build
 * it against an installed library with
 *
 *	cc -O2 shortest_path.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 512u                       /* squares */
#define SQUARES ((uint64_t)SIDE * SIDE)
#define COST_MOST 1000u                 /* of a step */
#define FAR UINT64_MAX                  /* no way is known yet */

typedef struct message {
	uint64_t distance;              /* from the first square */
	uint64_t square;
} message;

typedef struct search {
	em_vector *distances;           /* uint64_t, by square */
	em_pq *queue;
	uint64_t skipped;
} search;

static void check(em_status status, const char *what, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "shortest_path: %s: %s\n", what, err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static em_status check_queue(em_status status, const char *what, const search *s)
{
	em_errinfo err;

	if (status < 0) {
		em_pq_error(s->queue, &err);
		check(status, what, &err);
	}
	return status;
}

static uint64_t distance_to(const search *s, uint64_t square)
{
	uint64_t distance = 0;
	em_errinfo err;
	const em_status status = em_vector_get(s->distances, square, &distance);

	if (status < 0) {
		em_vector_error(s->distances, &err);
		check(status, "distance", &err);
	}
	return distance;
}

static void set_distance(search *s, uint64_t square, uint64_t distance)
{
	em_errinfo err;
	const em_status status = em_vector_set(s->distances, square, &distance);

	if (status < 0) {
		em_vector_error(s->distances, &err);
		check(status, "distance", &err);
	}
}

/* The squares beside one; how many there are. */
static unsigned neighbours(uint64_t square, uint64_t beside[4])
{
	const uint64_t x = square % SIDE, y = square / SIDE;
	unsigned n = 0;

	if (x > 0)
		beside[n++] = square - 1;
	if (x < SIDE - 1)
		beside[n++] = square + 1;
	if (y > 0)
		beside[n++] = square - SIDE;
	if (y < SIDE - 1)
		beside[n++] = square + SIDE;
	return n;
}

/* What a step costs, in either direction: the numbers of both squares, mixed. */
static uint64_t cost(uint64_t a, uint64_t b)
{
	uint64_t x = (a < b ? a * SQUARES + b : b * SQUARES + a) + 1;

	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return 1 + x % COST_MOST;
}

/* There is a way of that length to a square. */
static void found(search *s, uint64_t square, uint64_t distance)
{
	const message m = { distance, square };

	if (distance >= distance_to(s, square))
		return;
	set_distance(s, square, distance);
	(void)check_queue(em_pq_push(s->queue, &m), "push", s);
}

static void run(search *s)
{
	uint64_t beside[4];
	unsigned n;
	message m;

	found(s, 0, 0);
	while (check_queue(em_pq_pop(s->queue, &m), "pop", s) == EM_OK) {
		if (m.distance > distance_to(s, m.square)) {
			s->skipped++;
			continue;
		}
		n = neighbours(m.square, beside);
		while (n-- > 0)
			found(s, beside[n], m.distance + cost(m.square, beside[n]));
	}
}

/* The best way to a square leads over one of those beside it, or it is the first. */
static int is_right(const search *s, uint64_t square)
{
	uint64_t best = square == 0 ? 0 : FAR, beside[4];
	unsigned n = neighbours(square, beside);

	while (n-- > 0) {
		const uint64_t over = distance_to(s, beside[n]) + cost(square, beside[n]);

		if (over < best)
			best = over;
	}
	return distance_to(s, square) == best;
}

int main(void)
{
	const uint64_t far = FAR;
	em_vector_opts vector_opts = EM_VECTOR_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	search s = { NULL, NULL, 0 };
	em_order *order;
	em_ctx *ctx;
	em_key key;
	uint64_t i;

	ctx_opts.memory = (uint64_t)32 << 20;
	ctx_opts.errinfo = &err;
	check(em_ctx_open(&ctx, &ctx_opts), "context", &err);
	check(em_key_parse(&key, "0:u64", &err), "key", &err); /* a message's distance */
	check(em_order_keys(&order, ctx, sizeof(message), &key, 1, &err), "order", &err);
	opts.order = order;
	opts.errinfo = &err;
	check(em_pq_open(&s.queue, ctx, &opts), "queue", &err);
	em_order_close(order);
	vector_opts.record_bytes = sizeof far;
	vector_opts.records = SQUARES;
	vector_opts.errinfo = &err;
	check(em_vector_open(&s.distances, ctx, &vector_opts), "vector", &err);
	check(em_vector_fill(s.distances, 0, SQUARES, &far), "fill", &err);

	run(&s);
	for (i = 0; i < SQUARES; i++) {
		if (!is_right(&s, i)) {
			fprintf(stderr, "shortest_path: square %" PRIu64 " has a wrong distance\n", i);
			return EXIT_FAILURE;
		}
	}
	printf("from corner to corner of %ux%u squares: %" PRIu64 "; %" PRIu64 " records were skipped\n", SIDE, SIDE,
	       distance_to(&s, SQUARES - 1), s.skipped);
	em_vector_close(s.distances);
	em_pq_close(s.queue);
	em_ctx_close(ctx);
	return EXIT_SUCCESS;
}
