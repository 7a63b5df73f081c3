/* SPDX-License-Identifier: BSL-1.0 */
/*
 * random_graph.c -- the edges of a random graph, sorted and each of them once, in two ways: step by step, and as a
 * graph of streams.
 *
 *	random_graph [materialised|pipelined] [EDGES [MEBIBYTES [NODES]]]
 *
 * (Listings 6 and 7 of Dementiev, Kettner and Sanders, "STXXL: standard template library for XXL data sets", 2007.)
 * Step by step the edges are made in a vector, sorted in it, and what is left without duplicates is copied.  So each
 * edge is read and written several times.  Streams hand edges to each other: only the runs of the sort and the result
 * are ever on a disk.  Either way tells its I/O volume in passes over the N bytes of all edges.  Build it against an
 * installed library with
 *
 *	cc -O2 random_graph.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>
#include <extmem/sys/io_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct edge {
	uint32_t from, to;
	uint32_t weight, unused;
} edge;

static uint64_t edges = 1 << 19, nodes, memory_mib = 8;
static em_ctx *ctx;
static em_order *order;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "random_graph: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_vector(em_status status, const em_vector *v)
{
	em_errinfo err;

	em_vector_error(v, &err);
	check(status, &err);
}

/* Any number becomes another one. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static edge make_edge(uint64_t i)
{
	const uint64_t x = mix(i);
	edge e = { 0, 0, 0, 0 };

	e.from = (uint32_t)((x & UINT32_MAX) * nodes >> 32);
	e.to = (uint32_t)((x >> 32) * nodes >> 32);
	e.weight = (uint32_t)(mix(x) >> 44);
	return e;
}

static int generate(void *user, uint64_t i, void *records, size_t *n)
{
	edge *e = (edge *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++)
		e[k] = make_edge(i + k);
	return 0;
}

/* The same for a vector. */
static int fill(void *user, uint64_t i, void *records, uint64_t n)
{
	size_t k = (size_t)n;

	return generate(user, i, records, &k);
}

static em_vector *open_vector(void)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_errinfo err;
	em_vector *v;

	opts.record_bytes = sizeof(edge);
	opts.errinfo = &err;
	check(em_vector_open(&v, ctx, &opts), &err);
	return v;
}

/* Make all edges, sort them where they are, and copy each once. */
static em_vector *materialised(void)
{
	em_vector *v = open_vector();
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_stream *s, *u;

	check_vector(em_vector_generate(v, 0, edges, fill, NULL), v);
	opts.memory = (memory_mib << 20) / 2;
	check_vector(em_vector_sort(v, 0, edges, order, &opts, NULL), v);
	check(em_stream_vector(&s, v, 0, UINT64_MAX, EM_VECTOR_FORWARD, &err), &err);
	check(em_stream_unique(&u, s, order, 0, &err), &err);
	{
		em_vector *once = open_vector();
		const em_status status = em_stream_to_vector(u, once, 0, NULL);

		em_stream_error(u, &err);
		check(status, &err);
		em_stream_close(u);
		em_vector_close(v);
		return once;
	}
}

/* Edges are made, sorted and left out on their way to the vector. */
static em_vector *pipelined(void)
{
	em_vector *v = open_vector();
	em_stream *random, *sorted, *once;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;
	em_status status;
	uint64_t end;

	opts.memory = (memory_mib << 20) / 2;
	check(em_stream_generate(&random, ctx, sizeof(edge), edges, generate, NULL, NULL, &err), &err);
	check(em_stream_sort(&sorted, random, order, &opts, &err), &err);
	check(em_stream_unique(&once, sorted, order, 0, &err), &err);
	status = em_stream_to_vector(once, v, 0, &end);
	em_stream_error(once, &err);
	check(status, &err);
	check_vector(em_vector_resize(v, end), v);
	em_stream_close(once);
	return v;
}

/* Is each edge there, once, in order?  A sum tells most of it. */
static uint64_t sum_of(em_vector *v)
{
	em_errinfo err;
	em_cursor *c;
	em_stream *s;
	edge last = { 0, 0, 0, 0 };
	uint64_t sum = 0, n = 0;

	check(em_stream_vector(&s, v, 0, UINT64_MAX, EM_VECTOR_FORWARD, &err), &err);
	c = em_stream_cursor(s);
	for (; !em_stream_empty(c); em_stream_advance(c)) {
		const edge *e = (const edge *)em_stream_front(c);

		if (n++ != 0 && (e->from < last.from || (e->from == last.from && e->to <= last.to))) {
			fprintf(stderr, "random_graph: edge %" PRIu64 " is out of order\n", n);
			exit(EXIT_FAILURE);
		}
		last = *e;
		sum += mix((uint64_t)e->from << 32 | e->to);
	}
	em_stream_error(s, &err);
	check(c->status, &err);
	em_stream_close(s);
	return sum;
}

static uint64_t run(const char *how)
{
	const double bytes = (double)edges * sizeof(edge);
	em_io_stats before = EM_IO_STATS_INIT, now = EM_IO_STATS_INIT;
	const em_errinfo none = EM_ERRINFO_INIT;
	em_vector *v;
	uint64_t sum;

	check(em_ctx_io_stats_get(ctx, &before), &none);
	v = strcmp(how, "pipelined") == 0 ? pipelined() : materialised();
	check_vector(em_vector_flush(v, 0), v);
	check(em_ctx_io_stats_get(ctx, &now), &none);
	em_io_stats_since(&now, &before);
	printf("%s: %" PRIu64 " of %" PRIu64 " edges are left; read %" PRIu64 " and written %" PRIu64
	       " bytes: %.2f N\n", how, em_vector_size(v), edges, now.bytes_read, now.bytes_written,
	       (double)(now.bytes_read + now.bytes_written) / bytes);
	sum = sum_of(v);
	em_vector_close(v);
	return sum;
}

int main(int argc, char **argv)
{
	const em_key keys[2] = { { 0, 0, EM_KEY_U32, 0, { 0, 0 } }, { 4, 0, EM_KEY_U32, 0, { 0, 0 } } };
	const char *how = argc > 1 ? argv[1] : "both";
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	uint64_t a, b;

	if (argc > 2)
		edges = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		memory_mib = strtoull(argv[3], NULL, 10);
	nodes = argc > 4 ? strtoull(argv[4], NULL, 10) : edges / 256;
	if (edges == 0 || nodes == 0 || memory_mib < 4 || nodes > UINT32_MAX) {
		fprintf(stderr, "usage: random_graph [materialised|pipelined|both] [EDGES [MEBIBYTES [NODES]]]\n");
		return 2;
	}
	opts.memory = memory_mib << 20;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	check(em_order_keys(&order, ctx, sizeof(edge), keys, 2, &err), &err);
	a = strcmp(how, "pipelined") != 0 ? run("materialised") : 0;
	b = strcmp(how, "materialised") != 0 ? run("pipelined") : a;
	em_order_close(order);
	em_ctx_close(ctx);
	if (strcmp(how, "pipelined") != 0 && a != b) {
		fprintf(stderr, "random_graph: the two are not the same\n");
		return EXIT_FAILURE;
	}
	return 0;
}
