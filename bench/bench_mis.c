/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_mis.c -- a maximal independent set of a random graph by time-forward processing.
 *
 *	bench_mis [--algo pipe|stl] [--bytes 2000M] [--nodes 0] [--mem 512M] [--dir DIR]
 *
 * (Listing 8 of Dementiev, Kettner and Sanders 2007.)  The work is that of mis_stxxl: as many random edges of 16 bytes
 * as --bytes say, between --nodes nodes (0: a fourth of the edges); nodes that do not wait for a neighbour enter the
 * set, and tell their other neighbours by a priority queue of 128 MiB.  The nodes of a batch of edges go together.
 *
 *   pipe    edges are made, sorted and each left once on their way (runs, mis)
 *   stl     the same by way of vectors (fill, sort, dedup, mis)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>

#include "peers/peer_common.h"

#define SPAN 4096u              /* nodes of a step, at most */
#define SOME 1024u              /* messages, or nodes, that are moved together */
#define QUEUE_BYTES ((uint64_t)128 << 20)

typedef struct edge {
	uint32_t src, dst, d1, d2;
} edge;

typedef struct mis {
	em_pq *depend;
	em_vector *out;
	em_sink *set;
	uint64_t count, sum, edges;
	uint32_t last;          /* node; they count from 1 */
	int enters;             /* it is in the set */
	uint32_t first, end;    /* nodes of this step, and which of them have a neighbour in the set */
	unsigned char has[SPAN];
	uint32_t tell[SOME];    /* neighbours of nodes in the set, behind this step, */
	uint32_t told;          /* so many */
	uint32_t member[SOME];  /* nodes that entered the set */
	uint32_t members;
} mis;

static em_ctx *ctx;
static em_order *by_edge, *by_node;
static uint64_t n, nodes, memory;

static void must(em_status st, const em_errinfo *err)
{
	if (st >= EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", em_status_text(st), err->text);
	exit(1);
}

static void must_vector(em_status st, const em_vector *v)
{
	em_errinfo err;

	em_vector_error(v, &err);
	must(st, &err);
}

static int make_edges(void *user, uint64_t i, void *records, size_t *k)
{
	edge *e = records;
	size_t j;

	(void)user;
	for (j = 0; j < *k; j++) {
		const uint64_t h = peer_mix(i + j);
		const uint32_t a = (uint32_t)((h & 0xffffffffu) * nodes >> 32) + 1;
		const uint32_t b = (uint32_t)((h >> 32) * nodes >> 32) + 1;

		e[j].src = a < b ? a : b;
		e[j].dst = a < b ? b : a;
		e[j].dst += a == b;
		e[j].d1 = (uint32_t)(i + j);
		e[j].d2 = 0;
	}
	return 0;
}

static int fill_edges(void *user, uint64_t i, void *records, uint64_t k)
{
	size_t some = (size_t)k;

	return make_edges(user, i, records, &some);
}

static em_vector *open_vector(uint64_t record)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_errinfo err;
	em_vector *v;

	o.record_bytes = record;
	o.errinfo = &err;
	must(em_vector_open(&v, ctx, &o), &err);
	return v;
}

static void open_mis(mis *m)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;
	em_errinfo err;

	memset(m, 0, sizeof *m);
	o.order = by_node;
	o.memory_bytes = QUEUE_BYTES < memory / 4 ? QUEUE_BYTES : memory / 4;
	o.errinfo = &err;
	must(em_pq_open(&m->depend, ctx, &o), &err);
	m->out = open_vector(4);
	must(em_sink_vector(&m->set, m->out, 0, &err), &err);
}

static void queue_failed(const mis *m, em_status st)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_pq_error(m->depend, &err);
	must(st, &err);
}

static void flush_told(mis *m)
{
	queue_failed(m, em_pq_push_many(m->depend, m->tell, m->told, NULL));
	m->told = 0;
}

static void flush_members(mis *m)
{
	em_status st = em_sink_push(m->set, m->member, m->members);
	em_errinfo err;

	if (st != EM_OK)
		em_sink_error(m->set, &err);
	must(st, &err);
	m->members = 0;
}

/* A step of nodes first to last begins: which of them were told of before? */
static void begin_step(mis *m, uint32_t first, uint32_t last)
{
	uint32_t passed[SOME];
	uint64_t k, i;
	em_status st;

	flush_told(m);
	m->first = first;
	m->end = last + 1;
	memset(m->has, 0, last - first + 1);
	do {
		st = em_pq_pop_until(m->depend, &last, EM_PQ_INCLUSIVE, passed, SOME, &k);
		queue_failed(m, st);
		for (i = 0; i < k; i++)
			if (passed[i] >= first)
				m->has[passed[i] - first] = 1;
	} while (k == SOME);
}

/* The edges of another node begin: it enters the set unless a neighbour in it has told it. */
static void visit(mis *m, uint32_t node)
{
	m->last = node;
	m->enters = !m->has[node - m->first];
	if (!m->enters)
		return;
	m->count++;
	m->sum += peer_mix(node);
	if (m->members == SOME)
		flush_members(m);
	m->member[m->members++] = node;
}

/* As other ends are greater, nothing that a node tells changes whether it enters. */
static void see(mis *m, const edge *e)
{
	if (e->src != m->last)
		visit(m, e->src);
	if (!m->enters)
		return;
	if (e->dst < m->end) {
		m->has[e->dst - m->first] = 1;
		return;
	}
	if (m->told == SOME)
		flush_told(m);
	m->tell[m->told++] = e->dst;
}

/* Time-forward processing, a step of some nodes at a time: what nodes tell each other within a step need not pass the
 * queue. */
static void step(mis *m, const edge *e, size_t edges)
{
	size_t i;

	begin_step(m, e[0].src, e[edges - 1].src);
	for (i = 0; i < edges; i++)
		see(m, &e[i]);
	m->edges += edges;
}

/* How many of the edges are of nodes within a step. */
static size_t within(const edge *e, size_t edges)
{
	while (e[edges - 1].src - e[0].src >= SPAN)
		edges = (edges + 1) / 2;
	return edges;
}

static void process(mis *m, em_stream *s)
{
	em_cursor *c = em_stream_cursor(s);
	em_errinfo err;

	/* What the cursor has in hand is a batch. */
	while (!em_stream_empty(c)) {
		const edge *e = em_stream_front(c);
		const size_t edges = within(e, (size_t)(c->end - c->cur) / sizeof *e);

		step(m, e, edges);
		c->cur += edges * sizeof *e;
	}
	em_stream_error(s, &err);
	must(c->status, &err);
	flush_members(m);
	must(em_sink_finish(m->set), &err);
}

static void close_mis(mis *m, const peer_mark *mark, const char *algo)
{
	char extra[200];

	snprintf(extra, sizeof extra, "nodes=%" PRIu64 " unique=%" PRIu64 " mis=%" PRIu64 " missum=%" PRIu64, nodes,
		 m->edges, m->count, m->sum);
	phase_end(mark, algo, "mis", n, sizeof(edge), memory, "mis", extra);
	em_sink_close(m->set);
	em_pq_close(m->depend);
	em_vector_close(m->out);
}

static void pipelined(void)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream *in, *sorted, *once;
	em_errinfo err;
	peer_mark mark;
	mis m;

	/* What the queue and the set take is not the sort's. */
	o.memory = memory - memory / 4 - ((uint64_t)32 << 20);
	phase_begin(&mark);
	must(em_stream_generate(&in, ctx, sizeof(edge), n, make_edges, NULL, NULL, &err), &err);
	must(em_stream_sort(&sorted, in, by_edge, &o, &err), &err);
	must(em_stream_unique(&once, sorted, by_edge, 0, &err), &err);
	if (em_stream_empty(em_stream_cursor(once)))
		peer_die("no edges");
	phase_end(&mark, "extmem_pipe", "mis", n, sizeof(edge), memory, "runs", "");
	phase_begin(&mark);
	open_mis(&m);
	process(&m, once);
	close_mis(&m, &mark, "extmem_pipe");
	em_stream_close(once);
}

static void materialised(void)
{
	em_vector *v = open_vector(sizeof(edge)), *u = open_vector(sizeof(edge));
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream *s, *once;
	em_errinfo err;
	peer_mark mark;
	mis m;

	o.memory = memory / 4 * 3;
	phase_begin(&mark);
	must_vector(em_vector_generate(v, 0, n, fill_edges, NULL), v);
	phase_end(&mark, "extmem_stl", "mis", n, sizeof(edge), memory, "fill", "");
	phase_begin(&mark);
	must_vector(em_vector_sort(v, 0, n, by_edge, &o, NULL), v);
	phase_end(&mark, "extmem_stl", "mis", n, sizeof(edge), memory, "sort", "");
	phase_begin(&mark);
	must(em_stream_vector(&s, v, 0, n, EM_VECTOR_FORWARD, &err), &err);
	must(em_stream_unique(&once, s, by_edge, 0, &err), &err);
	if (em_stream_to_vector(once, u, 0, NULL) != EM_OK)
		peer_die("copy");
	em_stream_close(once);
	em_vector_close(v);
	phase_end(&mark, "extmem_stl", "mis", n, sizeof(edge), memory, "dedup", "");
	phase_begin(&mark);
	must(em_stream_vector(&s, u, 0, UINT64_MAX, EM_VECTOR_FORWARD, &err), &err);
	open_mis(&m);
	process(&m, s);
	close_mis(&m, &mark, "extmem_stl");
	em_stream_close(s);
	em_vector_close(u);
}

int main(int argc, char **argv)
{
	const em_key edge_keys[2] = {{0, 0, EM_KEY_U32, 0, {0, 0}}, {4, 0, EM_KEY_U32, 0, {0, 0}}};
	const char *dir = peer_tmpdir(argc, argv), *algo = peer_arg(argc, argv, "algo", "pipe");
	const int pipe = strcmp(algo, "pipe") == 0;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_errinfo err;
	peer_mark all;

	n = peer_size(peer_arg(argc, argv, "bytes", "2000M")) / sizeof(edge);
	memory = peer_size(peer_arg(argc, argv, "mem", "512M"));
	nodes = peer_size(peer_arg(argc, argv, "nodes", "0"));
	if (nodes == 0)
		nodes = n / 4;
	o.memory = memory;
	o.dirs = &dir;
	o.ndirs = 1;
	o.errinfo = &err;
	must(em_ctx_open(&ctx, &o), &err);
	must(em_order_keys(&by_edge, ctx, sizeof(edge), edge_keys, 2, &err), &err);
	must(em_order_keys(&by_node, ctx, 4, edge_keys, 1, &err), &err);
	phase_begin(&all);
	if (pipe)
		pipelined();
	else
		materialised();
	phase_end(&all, pipe ? "extmem_pipe" : "extmem_stl", "mis", n, sizeof(edge), memory, "total", "");
	em_order_close(by_edge);
	em_order_close(by_node);
	em_ctx_close(ctx);
	return 0;
}
