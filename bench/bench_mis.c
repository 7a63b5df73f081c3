/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_mis.c -- a maximal independent set of a random graph by time-forward processing.
 *
 *	bench_mis [--algo pipe|stl] [--loop listing|steps] [--bytes 2000M] [--nodes 0] [--mem 512M] [--dir DIR]
 *	          [--simdisks 0] [--disk rate=50MB,seek=0ms]
 *
 * (Listing 8 of Dementiev, Kettner and Sanders 2007.)  The work is that of mis_stxxl: as many random edges of 16 bytes
 * as --bytes say, between --nodes nodes (0: a fourth of the edges); nodes that do not wait for a neighbour enter the
 * set, and tell their other neighbours by a priority queue of 9/32 of the memory, or a sixth of less than 128 MiB.
 *
 *   pipe     edges are made, sorted and each left once on their way (runs, mis)
 *   stl      the same by way of vectors (fill, sort, dedup, mis)
 *
 *   listing  edge by edge, and message by message, as the paper has it
 *   steps    the nodes of a batch of edges go together
 *
 * --simdisks: that many simulated disks, in memory; --disk: as em_simdisk_parse().  Each phase tells what the library
 * moved, in bytes and MB/s, and for how long somebody waited for that.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/io_stats.h>
#include <extmem/sys/simdisk.h>

#include "peers/peer_common.h"

#define SPAN 4096u              /* nodes of a step, at most */
#define SOME 1024u              /* messages, or nodes, that are moved together */
#define DISKS_MOST 16u

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
static int steps;
static const char *name;        /* of what is measured */

/* Where a phase began. */
typedef struct phase {
	peer_mark mark;
	em_io_stats io;
} phase;

static void must(em_status st, const em_errinfo *err)
{
	if (st >= EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s\n", em_status_text(st), err->text);
	exit(1);
}

static void get_io(em_io_stats *io)
{
	const em_io_stats none = EM_IO_STATS_INIT;

	*io = none;
	if (em_ctx_io_stats_get(ctx, io) != EM_OK)
		peer_die("statistics");
}

static void begin(phase *p)
{
	get_io(&p->io);
	phase_begin(&p->mark);
}

static void end(const phase *p, const char *what, const char *extra)
{
	em_io_stats io;
	char text[400];

	get_io(&io);
	em_io_stats_since(&io, &p->io);
	snprintf(text, sizeof text, "lib_read=%" PRIu64 " lib_written=%" PRIu64 " mb_per_s=%.0f io_wait=%.2f%s%s",
		 io.bytes_read, io.bytes_written,
		 io.time > 0 ? (double)(io.bytes_read + io.bytes_written) / io.time / 1e6 : 0.0,
		 io.read_wait + io.write_wait, *extra != '\0' ? " " : "", extra);
	phase_end(&p->mark, name, "mis", n, sizeof(edge), memory, what, text);
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

/* Little memory needs another share: what is beside the sort does not shrink as much. */
static int is_little(void)
{
	return memory < (uint64_t)128 << 20;
}

static uint64_t queue_bytes(void)
{
	return is_little() ? memory / 6 : memory / 32 * 9;
}

/* What the sort does not have: the queue's, and some for the vector and the nodes. */
static uint64_t beside_sort(void)
{
	return queue_bytes() + (is_little() ? memory / 5 : memory / 16 + ((uint64_t)3 << 19));
}

static void open_mis(mis *m)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;
	em_errinfo err;

	memset(m, 0, sizeof *m);
	o.order = by_node;
	o.memory_bytes = queue_bytes();
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

static void enter(mis *m, uint32_t node)
{
	m->count++;
	m->sum += peer_mix(node);
	if (m->members == SOME)
		flush_members(m);
	m->member[m->members++] = node;
}

/* The listing.  An empty queue has EM_NOT_FOUND for its top. */
static void list(mis *m, em_cursor *edges)
{
	em_status st = EM_OK;
	uint32_t top;

	for (; !em_stream_empty(edges); em_stream_advance(edges)) {
		const edge *e = em_stream_front(edges);

		m->edges++;
		while ((st = em_pq_top(m->depend, &top)) == EM_OK && e->src > top)
			queue_failed(m, em_pq_pop(m->depend, &top));
		queue_failed(m, st);
		if (st == EM_OK && e->src == top)
			continue;
		if (m->last != e->src)
			enter(m, e->src);
		m->last = e->src;
		queue_failed(m, em_pq_push(m->depend, &e->dst));
	}
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
	if (m->enters)
		enter(m, node);
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

/* What the cursor has in hand is a batch. */
static void go_by_steps(mis *m, em_cursor *c)
{
	while (!em_stream_empty(c)) {
		const edge *e = em_stream_front(c);
		const size_t edges = within(e, (size_t)(c->end - c->cur) / sizeof *e);

		step(m, e, edges);
		c->cur += edges * sizeof *e;
	}
}

static void process(mis *m, em_stream *s)
{
	em_cursor *c = em_stream_cursor(s);
	em_errinfo err;

	if (steps)
		go_by_steps(m, c);
	else
		list(m, c);
	em_stream_error(s, &err);
	must(c->status, &err);
	flush_members(m);
	must(em_sink_finish(m->set), &err);
}

static void close_mis(mis *m, const phase *p)
{
	char extra[200];

	snprintf(extra, sizeof extra, "nodes=%" PRIu64 " unique=%" PRIu64 " mis=%" PRIu64 " missum=%" PRIu64, nodes,
		 m->edges, m->count, m->sum);
	end(p, "mis", extra);
	em_sink_close(m->set);
	em_pq_close(m->depend);
	em_vector_close(m->out);
}

static void pipelined(void)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream *in, *sorted, *once;
	em_errinfo err;
	phase p;
	mis m;

	/* What the queue and the set take is not the sort's. */
	o.memory = memory - beside_sort();
	begin(&p);
	must(em_stream_generate(&in, ctx, sizeof(edge), n, make_edges, NULL, NULL, &err), &err);
	must(em_stream_sort(&sorted, in, by_edge, &o, &err), &err);
	must(em_stream_unique(&once, sorted, by_edge, 0, &err), &err);
	if (em_stream_empty(em_stream_cursor(once)))
		peer_die("no edges");
	end(&p, "runs", "");
	begin(&p);
	open_mis(&m);
	process(&m, once);
	close_mis(&m, &p);
	em_stream_close(once);
}

static void materialised(void)
{
	em_vector *v = open_vector(sizeof(edge)), *u = open_vector(sizeof(edge));
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream *s, *once;
	em_errinfo err;
	phase p;
	mis m;

	o.memory = memory / 4 * 3;
	begin(&p);
	must_vector(em_vector_generate(v, 0, n, fill_edges, NULL), v);
	end(&p, "fill", "");
	begin(&p);
	must_vector(em_vector_sort(v, 0, n, by_edge, &o, NULL), v);
	end(&p, "sort", "");
	begin(&p);
	must(em_stream_vector(&s, v, 0, n, EM_VECTOR_FORWARD, &err), &err);
	must(em_stream_unique(&once, s, by_edge, 0, &err), &err);
	if (em_stream_to_vector(once, u, 0, NULL) != EM_OK)
		peer_die("copy");
	em_stream_close(once);
	em_vector_close(v);
	end(&p, "dedup", "");
	begin(&p);
	must(em_stream_vector(&s, u, 0, UINT64_MAX, EM_VECTOR_FORWARD, &err), &err);
	open_mis(&m);
	process(&m, s);
	close_mis(&m, &p);
	em_stream_close(s);
	em_vector_close(u);
}

/* Disks that take their time, in memory. */
static void simulate(em_ctx_opts *o, uint32_t disks, const char *options)
{
	static const em_disk_opts plain = EM_DISK_OPTS_INIT;
	static const em_disk_opts *list[DISKS_MOST];
	static em_disk_opts disk[DISKS_MOST];
	static em_simdisk sim[DISKS_MOST];
	em_errinfo err = EM_ERRINFO_INIT;
	uint32_t i;

	for (i = 0; i < disks; i++) {
		must(em_simdisk_init(&sim[i], sizeof sim[i], NULL, &err), &err);
		must(em_simdisk_parse(&sim[i], options, &err), &err);
		disk[i] = plain;
		disk[i].path = "/";
		disk[i].custom = em_simdisk_backend(&sim[i]);
		list[i] = &disk[i];
	}
	o->disks = list;
	o->ndisks = disks;
}

int main(int argc, char **argv)
{
	const em_key edge_keys[2] = {{0, 0, EM_KEY_U32, 0, {0, 0}}, {4, 0, EM_KEY_U32, 0, {0, 0}}};
	const char *dir = peer_tmpdir(argc, argv), *algo = peer_arg(argc, argv, "algo", "pipe");
	const char *loop = peer_arg(argc, argv, "loop", "listing");
	const uint64_t disks = peer_size(peer_arg(argc, argv, "simdisks", "0"));
	const int pipe = strcmp(algo, "pipe") == 0;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_errinfo err;
	phase all;

	name = pipe ? "extmem_pipe" : "extmem_stl";
	steps = strcmp(loop, "steps") == 0;
	if ((!pipe && strcmp(algo, "stl") != 0) || (!steps && strcmp(loop, "listing") != 0))
		peer_die("usage: --algo pipe|stl --loop listing|steps");
	n = peer_size(peer_arg(argc, argv, "bytes", "2000M")) / sizeof(edge);
	memory = peer_size(peer_arg(argc, argv, "mem", "512M"));
	nodes = peer_size(peer_arg(argc, argv, "nodes", "0"));
	if (nodes == 0)
		nodes = n / 4;
	o.memory = memory;
	if (disks > DISKS_MOST)
		peer_die("too many disks");
	if (disks != 0) {
		simulate(&o, (uint32_t)disks, peer_arg(argc, argv, "disk", "rate=50MB,seek=0ms"));
	} else {
		o.dirs = &dir;
		o.ndirs = 1;
	}
	o.errinfo = &err;
	must(em_ctx_open(&ctx, &o), &err);
	must(em_order_keys(&by_edge, ctx, sizeof(edge), edge_keys, 2, &err), &err);
	must(em_order_keys(&by_node, ctx, 4, edge_keys, 1, &err), &err);
	begin(&all);
	if (pipe)
		pipelined();
	else
		materialised();
	end(&all, "total", "");
	em_order_close(by_edge);
	em_order_close(by_node);
	em_ctx_close(ctx);
	return 0;
}
