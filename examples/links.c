/* SPDX-License-Identifier: BSL-1.0 */
/*
 * links.c -- records with links to other records: breadth-first search in a graph that need not fit in memory.
 *
 *	links [FILE]
 *
 * FILE has an edge in each line, two numbers of vertices; "-" is standard input.  How many vertices are 0, 1, 2, ...
 * edges away from vertex 0 is printed.  Without FILE the graph is a binary tree, and it is seen whether that is right.
 *
 * In memory an edge would have a pointer to the next edge of its vertex.  Here it has that one's position in the vector
 * of all edges, and a vertex has the position of its first edge.  Those that are still to be visited are in a queue.
 * Build it against an installed library with
 *
 *	cc -O2 links.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TREE 18                         /* levels */
#define NONE UINT64_MAX                 /* no edge, or not reached yet */

typedef struct vertex {
	uint64_t first;         /* position of an edge */
	uint64_t distance;
} vertex;

typedef struct edge {
	uint64_t to;            /* position of a vertex */
	uint64_t next;          /* position of the next edge */
} edge;

typedef struct graph {
	em_vector *vertices, *edges;
	em_queue *queue;        /* positions of vertices */
} graph;

/* Say what went wrong, and stop. */
static void check(em_status status, const char *what)
{
	if (status == EM_OK)
		return;
	fprintf(stderr, "links: %s: %s\n", what, em_status_text(status));
	exit(EXIT_FAILURE);
}

static void add_edge(graph *g, uint64_t from, uint64_t to)
{
	const uint64_t position = em_vector_size(g->edges);
	vertex v = { NONE, NONE };
	edge e;

	while (em_vector_size(g->vertices) <= (from > to ? from : to))
		check(em_vector_push(g->vertices, &v), "vertex");
	check(em_vector_get(g->vertices, from, &v), "vertex");
	e.to = to;
	e.next = v.first;
	v.first = position;
	check(em_vector_push(g->edges, &e), "edge");
	check(em_vector_set(g->vertices, from, &v), "vertex");
}

/* Reached now, if it was not before. */
static void reach(graph *g, uint64_t number, uint64_t distance)
{
	vertex v;

	check(em_vector_get(g->vertices, number, &v), "vertex");
	if (v.distance != NONE)
		return;
	v.distance = distance;
	check(em_vector_set(g->vertices, number, &v), "vertex");
	check(em_queue_push(g->queue, &number), "push");
}

/* Count those of each distance.  Returns how many distances there are that as many are away as in a binary tree. */
static unsigned search(graph *g)
{
	uint64_t number, distance = 0, n = 0;
	unsigned doubled = 0;
	em_status status;
	vertex v;
	edge e;

	reach(g, 0, 0);
	do {
		status = em_queue_pop(g->queue, &number);
		check(status == EM_NOT_FOUND ? (em_status)EM_OK : status, "pop");
		if (status == EM_OK)
			check(em_vector_get(g->vertices, number, &v), "vertex");
		if (status == EM_NOT_FOUND || v.distance != distance) {
			printf("%" PRIu64 " away: %" PRIu64 "\n", distance, n);
			doubled += n == UINT64_C(1) << distance % 64;
			distance++;
			n = 0;
		}
		n++;
		for (; status == EM_OK && v.first != NONE; v.first = e.next) {
			check(em_vector_get(g->edges, v.first, &e), "edge");
			reach(g, e.to, v.distance + 1);
		}
	} while (status == EM_OK);
	return doubled;
}

int main(int argc, char **argv)
{
	FILE *f = argc < 2 ? NULL : strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "r");
	em_container_opts queue_opts = EM_CONTAINER_OPTS_INIT;
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	unsigned doubled;
	uint64_t a, b;
	em_ctx *ctx;
	graph g;

	if (argc > 1 && f == NULL) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	ctx_opts.memory = 16u << 20;
	check(em_ctx_open(&ctx, &ctx_opts), "context");
	opts.record_bytes = sizeof(vertex);
	check(em_vector_open(&g.vertices, ctx, &opts), "vertices");
	opts.record_bytes = sizeof(edge);
	check(em_vector_open(&g.edges, ctx, &opts), "edges");
	queue_opts.record_bytes = sizeof(uint64_t);
	check(em_queue_open(&g.queue, ctx, &queue_opts), "queue");
	while (f != NULL && fscanf(f, "%" SCNu64 " %" SCNu64, &a, &b) == 2) {
		add_edge(&g, a, b);
		add_edge(&g, b, a);
	}
	for (a = 1; f == NULL && a < (UINT64_C(1) << TREE) - 1; a++)
		add_edge(&g, (a - 1) / 2, a);
	doubled = search(&g);
	em_queue_close(g.queue);
	em_vector_close(g.edges);
	em_vector_close(g.vertices);
	em_ctx_close(ctx);
	return f != NULL || doubled == TREE ? EXIT_SUCCESS : EXIT_FAILURE;
}
