/* SPDX-License-Identifier: BSL-1.0 */
/*
 * independent_set.c -- a maximal independent set of a random graph, by time-forward processing.
 *
 *	independent_set [EDGES [MEBIBYTES [NODES]]]
 *
 * (Listing 8 of Dementiev, Kettner and Sanders, "STXXL: standard template library for XXL data sets", 2007; the method
 * is that of Zeh, 2002.)  Nodes are visited in the order of their numbers.  A node enters the set unless a neighbour
 * with a lower number has entered it, and then tells those with higher ones.  It tells by a priority queue, in which
 * messages wait for their nodes.
 *
 * The edges are made, sorted and left out when they come twice on their way to the visit; nothing is on a disk but the
 * runs of the sort, messages, and the set.  Then it is checked that no two neighbours are in the set, and that every
 * other node has a neighbour in it.  Each phase tells its I/O volume.  doc/streams.md goes through it step by step.
 * Build it against an installed library with
 *
 *	cc -O2 independent_set.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>
#include <extmem/sys/io_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct edge {
	uint32_t src, dst;      /* src < dst */
} edge;

static uint64_t edges = 1 << 19, nodes, memory_mib = 16;
static em_ctx *ctx;
static em_order *by_edge, *by_node;
static em_io_stats before = EM_IO_STATS_INIT;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "independent_set: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_stream(em_status status, const em_stream *s)
{
	em_errinfo err;

	em_stream_error(s, &err);
	check(status, &err);
}

static void check_queue(em_status status, const em_pq *q)
{
	em_errinfo err;

	em_pq_error(q, &err);
	check(status, &err);
}

/* Tell the I/O since the last time. */
static void tell_io(const char *what, uint64_t n)
{
	em_io_stats now = EM_IO_STATS_INIT, since;
	const em_errinfo none = EM_ERRINFO_INIT;

	check(em_ctx_io_stats_get(ctx, &now), &none);
	since = now;
	em_io_stats_since(&since, &before);
	before = now;
	printf("%s: %" PRIu64 "; read %" PRIu64 " and written %" PRIu64 " bytes\n", what, n, since.bytes_read,
	       since.bytes_written);
}

/* [edges] */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Edges i to i + *n, each from the lower node to the higher one. */
static int draw(void *user, uint64_t i, void *records, size_t *n)
{
	edge *e = (edge *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++) {
		const uint64_t x = mix(i + k);
		const uint32_t a = (uint32_t)((x & UINT32_MAX) * nodes >> 32);
		const uint32_t b = (uint32_t)((x >> 32) * (nodes - 1) >> 32);
		const uint32_t other = b + (b >= a); /* all but a */

		e[k].src = a < other ? a : other;
		e[k].dst = a < other ? other : a;
	}
	return 0;
}

/* All edges of the graph, sorted, each once: nothing is done before somebody pulls. */
static em_stream *open_edges(void)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_stream *s;

	opts.memory = (memory_mib << 20) / 4;
	check(em_stream_generate(&s, ctx, sizeof(edge), edges, draw, NULL, NULL, &err), &err);
	check(em_stream_sort(&s, s, by_edge, &opts, &err), &err);
	check(em_stream_unique(&s, s, by_edge, 0, &err), &err);
	return s;
}
/* [visit] */
/* Was a node told that a neighbour is in the set?  Messages for it are taken out; those for lower nodes were before. */
static int was_told(em_pq *messages, uint32_t node)
{
	uint32_t some[64];
	uint64_t n, all = 0;
	em_status status;

	do {
		status = em_pq_pop_until(messages, &node, EM_PQ_INCLUSIVE, some, 64, &n);
		check_queue(status, messages);
		all += n;
	} while (n == 64);
	return all != 0;
}

/* Visit all nodes, also those without an edge; those that enter the set go to a sink. */
static void visit(em_stream *s, em_pq *messages, em_sink *set)
{
	em_cursor *c = em_stream_cursor(s);
	em_errinfo err;
	uint32_t node;

	for (node = 0; node < nodes; node++) {
		const int enters = !was_told(messages, node);

		for (; !em_stream_empty(c); em_stream_advance(c)) {
			const edge *e = (const edge *)em_stream_front(c);

			if (e->src != node)
				break;
			if (enters)
				check_queue(em_pq_push(messages, &e->dst), messages);
		}
		if (enters && em_sink_push(set, &node, 1) != EM_OK) {
			em_sink_error(set, &err);
			check(err.status, &err);
		}
	}
	check_stream(em_stream_empty(c) ? c->status : EM_ERR_INTERNAL, s);
}
/* [find] */
/* The set, as a vector of nodes in their order. */
static em_vector *find_set(void)
{
	em_vector_opts vector_opts = EM_VECTOR_OPTS_INIT;
	em_pq_opts pq_opts = EM_PQ_OPTS_INIT;
	em_stream *s = open_edges();
	em_pq *messages;
	em_vector *v;
	em_errinfo err;
	em_sink *set;

	vector_opts.record_bytes = sizeof(uint32_t);
	vector_opts.errinfo = &err;
	check(em_vector_open(&v, ctx, &vector_opts), &err);
	check(em_sink_vector(&set, v, 0, &err), &err);
	pq_opts.order = by_node;
	pq_opts.memory_bytes = (memory_mib << 20) / 4;
	pq_opts.errinfo = &err;
	check(em_pq_open(&messages, ctx, &pq_opts), &err);
	visit(s, messages, set);
	if (em_sink_finish(set) != EM_OK) {
		em_sink_error(set, &err);
		check(err.status, &err);
	}
	em_sink_close(set);
	em_pq_close(messages);
	em_stream_close(s);
	return v;
}
/* [check] */
static int second_node(void *user, const void *records, size_t n, void *to)
{
	const edge *e = (const edge *)records;
	uint32_t *node = (uint32_t *)to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++)
		node[i] = e[i].dst;
	return 0;
}

static int count(void *user, const void *records, size_t n)
{
	(void)records;
	*(uint64_t *)user += n;
	return 0;
}

static em_stream *open_set(em_vector *v)
{
	em_errinfo err;
	em_stream *s;

	check(em_stream_vector(&s, v, 0, UINT64_MAX, EM_VECTOR_FORWARD, &err), &err);
	return s;
}

/* Nodes that have a lower neighbour in the set, sorted, each once: of the edges that begin in the set the ends. */
static em_stream *open_neighbours(em_vector *v)
{
	const em_key node = { 0, 0, EM_KEY_U32, 0, { 0, 0 } };
	em_join_opts join = EM_JOIN_OPTS_INIT;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_stream *s;

	join.kind = EM_JOIN_SEMI;
	join.left = join.right = &node;
	join.nkeys = 1;
	opts.memory = (memory_mib << 20) / 4;
	check(em_stream_join(&s, open_edges(), open_set(v), &join, &err), &err);
	check(em_stream_map(&s, s, sizeof(uint32_t), second_node, NULL, NULL, &err), &err);
	check(em_stream_sort(&s, s, by_node, &opts, &err), &err);
	check(em_stream_unique(&s, s, by_node, 0, &err), &err);
	return s;
}

/*
 * If an edge had both ends in the set, its second one would be a neighbour and a member.  If a node were neither, the
 * set could have it, too.  So the set is independent and maximal if each node is one of the two: both together are as
 * many as there are nodes, and so is their union.
 */
static int is_right(em_vector *v)
{
	uint64_t neighbours = 0, all = 0;
	em_errinfo err;
	em_stream *s;
	em_sink *nowhere;

	check(em_stream_inspect(&s, open_neighbours(v), count, &neighbours, NULL, &err), &err);
	check(em_stream_set(&s, s, open_set(v), by_node, EM_SET_UNION, &err), &err);
	check(em_sink_discard(&nowhere, ctx, sizeof(uint32_t), &err), &err);
	check_stream(em_stream_pump(s, nowhere, &all), s);
	em_sink_close(nowhere);
	em_stream_close(s);
	tell_io("neighbours", neighbours);
	return all == nodes && neighbours + em_vector_size(v) == nodes;
}
/* [end] */
int main(int argc, char **argv)
{
	const em_key keys[2] = { { 0, 0, EM_KEY_U32, 0, { 0, 0 } }, { 4, 0, EM_KEY_U32, 0, { 0, 0 } } };
	const em_errinfo none = EM_ERRINFO_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_vector *v;
	int right;

	if (argc > 1)
		edges = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		memory_mib = strtoull(argv[2], NULL, 10);
	nodes = argc > 3 ? strtoull(argv[3], NULL, 10) : edges / 4;
	if (memory_mib < 8 || nodes < 2 || nodes > UINT32_MAX) {
		fprintf(stderr, "usage: independent_set [EDGES [MEBIBYTES [NODES]]]\n");
		return 2;
	}
	opts.memory = memory_mib << 20;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	check(em_order_keys(&by_edge, ctx, sizeof(edge), keys, 2, &err), &err);
	check(em_order_keys(&by_node, ctx, sizeof(uint32_t), keys, 1, &err), &err);
	check(em_ctx_io_stats_get(ctx, &before), &none);
	v = find_set();
	tell_io("nodes in the set", em_vector_size(v));
	right = is_right(v);
	printf("the set is %s\n", right ? "independent and maximal" : "WRONG");
	em_vector_close(v);
	em_order_close(by_edge);
	em_order_close(by_node);
	em_ctx_close(ctx);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
