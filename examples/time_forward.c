/* SPDX-License-Identifier: BSL-1.0 */
/*
 * time_forward.c -- a maximal independent set, edge by edge and message by message.
 *
 *	time_forward [EDGES [MEBIBYTES [NODES]]]
 *
 * (Listings 5 and 8 of Dementiev, Kettner and Sanders, "STXXL: standard template library for XXL data sets", 2007, with
 * their names.)  Edges are random, sorted by their ends, and each there once; the loop is that of listing 8.  There
 * edges go from the lower node to the higher one, or else a node would be told too late; so they do here.  What the set
 * has is checked in independent_set.c, which visits nodes without edges, too.  Build it against an installed library
 * with
 *
 *	cc -O2 time_forward.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>
#include <extmem/sys/io_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Listing 5: classes edge, random_edge and edge_cmp.
 */

typedef struct edge {
	uint32_t src, dst;
} edge;

/* A comparison that is compiled into the sort (extmem/gen/order.h). */
#define EM_GEN_NAME edge_cmp
#define EM_GEN_RECORD edge
#define EM_GEN_LESS(a, b) (((a)->src < (b)->src) | (((a)->src == (b)->src) & ((a)->dst < (b)->dst)))
#include <extmem/gen/order.h>

static uint64_t nodes;

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Edge i, between two nodes of which none is 0, and which are not the same. */
static edge random_edge(uint64_t i)
{
	const uint64_t x = mix(i);
	const uint32_t a = 1 + (uint32_t)((x & UINT32_MAX) * nodes >> 32);
	const uint32_t b = 1 + (uint32_t)((x >> 32) * (nodes - 1) >> 32);
	const uint32_t other = b + (b >= a);
	const edge e = { a < other ? a : other, a < other ? other : a };

	return e;
}

static int random_edges(void *user, uint64_t i, void *records, size_t *n)
{
	edge *e = (edge *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++)
		e[k] = random_edge(i + k);
	return 0;
}

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "time_forward: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_queue(em_status status, const em_pq *q)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_pq_error(q, &err);
	check(status, &err);
}

static void push_back(em_sink *mis, uint32_t node)
{
	const em_status status = em_sink_push(mis, &node, 1);
	em_errinfo err;

	if (status >= 0)
		return;
	em_sink_error(mis, &err);
	check(status, &err);
}

/*
 * Listing 8.  em_pq_top() says EM_NOT_FOUND of an empty queue.  Returns how many nodes are in the set.
 */
static uint64_t independent_set(em_cursor *edges, em_pq *depend, em_sink *mis)
{
	uint32_t top, back = 0; /* no node has this number */
	em_status status;

	for (; !em_stream_empty(edges); em_stream_advance(edges)) {
		const edge *e = (const edge *)em_stream_front(edges);

		while ((status = em_pq_top(depend, &top)) == EM_OK && e->src > top)
			check_queue(em_pq_pop(depend, &top), depend);
		check_queue(status, depend);
		if (status == EM_NOT_FOUND || e->src != top) {
			if (back != e->src)
				push_back(mis, back = e->src);
			check_queue(em_pq_push(depend, &e->dst), depend);
		}
	}
	return em_sink_count(mis);
}

static em_stream *open_edges(em_ctx *ctx, const em_order *by_edge, uint64_t edges, uint64_t memory)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_stream *s;

	opts.memory = memory;
	check(em_stream_generate(&s, ctx, sizeof(edge), edges, random_edges, NULL, NULL, &err), &err);
	check(em_stream_sort(&s, s, by_edge, &opts, &err), &err);
	check(em_stream_unique(&s, s, by_edge, 0, &err), &err);
	return s;
}

static em_pq *open_queue(em_ctx *ctx, const em_order *by_node, uint64_t memory)
{
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_errinfo err;
	em_pq *q;

	opts.order = by_node;
	opts.memory_bytes = memory;
	opts.errinfo = &err;
	check(em_pq_open(&q, ctx, &opts), &err);
	return q;
}

static em_vector *open_vector(em_ctx *ctx)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_errinfo err;
	em_vector *v;

	opts.record_bytes = sizeof(uint32_t);
	opts.errinfo = &err;
	check(em_vector_open(&v, ctx, &opts), &err);
	return v;
}

/* Make the graph, find the set, and tell what that moved. */
static void run(em_ctx *ctx, uint64_t edges, uint64_t memory)
{
	const em_key node = { 0, 0, EM_KEY_U32, 0, { 0, 0 } };
	em_io_stats io = EM_IO_STATS_INIT;
	em_order *by_edge, *by_node;
	em_errinfo err;
	em_stream *s;
	em_vector *v = open_vector(ctx);
	em_sink *mis;
	em_pq *depend;
	uint64_t n;

	check(edge_cmp_order(&by_edge, ctx, &err), &err);
	check(em_order_keys(&by_node, ctx, sizeof(uint32_t), &node, 1, &err), &err);
	s = open_edges(ctx, by_edge, edges, memory / 2);
	depend = open_queue(ctx, by_node, memory / 4);
	check(em_sink_vector(&mis, v, 0, &err), &err);
	n = independent_set(em_stream_cursor(s), depend, mis);
	em_stream_error(s, &err);
	check(em_stream_cursor(s)->status, &err);
	{
		const em_status status = em_sink_finish(mis);

		em_sink_error(mis, &err);
		check(status, &err);
	}
	check(em_ctx_io_stats_get(ctx, &io), &err);
	printf("nodes in the set: %" PRIu64 "; read %" PRIu64 " and written %" PRIu64 " bytes\n", n, io.bytes_read,
	       io.bytes_written);
	em_sink_close(mis);
	em_pq_close(depend);
	em_stream_close(s);
	em_vector_close(v);
	em_order_close(by_edge);
	em_order_close(by_node);
}

int main(int argc, char **argv)
{
	const uint64_t edges = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 19;
	const uint64_t mebibytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 16;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;

	nodes = argc > 3 ? strtoull(argv[3], NULL, 10) : edges / 4;
	if (edges == 0 || nodes < 2 || nodes >= UINT32_MAX || mebibytes < 8) {
		fprintf(stderr, "usage: time_forward [EDGES [MEBIBYTES [NODES]]]\n");
		return 2;
	}
	opts.memory = mebibytes << 20;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	run(ctx, edges, mebibytes << 20);
	em_ctx_close(ctx);
	return EXIT_SUCCESS;
}
