/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_sort.c -- sorting with libextmem under the same work as bench/peers/sort_stxxl.
 *
 *	bench_sort [--algo file|stream] [--rec u64|kv16|rec100|u32|dup16] [--order keys|fn|gen|cmp] [--pattern NAME]
 *	           [--n 2^26] [--mem 128M] [--dir D] [--threads T] [--block BYTES] [--backend NAME] [--depth N]
 *	           [--isa NAME] [--direct 0|1|2]
 *
 * Orders: key fields; a key that a function computes; a comparison inlined by <extmem/gen/order.h>; a comparison by a
 * function.
 *
 * file: phases fill (write the input), sort (file to file), scan (read and check the output).
 * stream: phases runs (generate and push) and merge (pull and check).  Input, scratch and output are all in D.
 * Patterns are those of patterns.h.  Lines are those of the peers; behind them comes what the sort says of itself:
 * requests, seconds that it waited for transfers, block, runs, passes, fan-in, and of each of its own phases - runs,
 * merge (of runs to runs), output (the last merge) - wall clock, CPU seconds and waiting as runs_s, runs_cpu, runs_wait
 * and so on.  Exits with 2 if the memory is too small, else with 1 if anything fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <extmem.h>
#include <inttypes.h>

#define EM_GEN_NAME by_u64
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

typedef struct pair16 {
	uint64_t key, payload;
} pair16;

#define EM_GEN_NAME by_kv16
#define EM_GEN_RECORD pair16
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

#include "pump.h"
#include "records.h"

enum { CHUNK_RECORDS = 1 << 15 };

static int cmp_u64(const void *a, const void *b, void *user)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	(void)user;
	return (x > y) - (x < y);
}

typedef struct bench {
	const kind *k;
	pattern p;
	uint64_t n, mem;
	char work[64];
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
	uint64_t sum_in, sum_out, count;
	unsigned char prev[128]; /* the last record of what was looked at before */
} bench;

static void must(const bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(st == EM_ERR_MEMLIMIT ? 2 : 1);
}

/* What the sort says of itself. */
static void add_stats(const bench *b, char *extra, size_t size)
{
	em_phase_stats s = EM_PHASE_STATS_INIT;
	uint64_t ios_read = 0, ios_written = 0;
	double wait = 0;
	size_t at = 0;
	uint32_t i;

	for (i = 0; em_sort_stats_phase(&b->stats, i, &s) == EM_OK; i++) {
		const char *name = em_phase_name(i);

		ios_read += s.ios_read;
		ios_written += s.ios_written;
		wait += s.io_wait;
		at += (size_t)snprintf(extra + at, size - at, "%s_s=%.2f %s_cpu=%.2f %s_wait=%.2f ", name, s.seconds,
				       name, s.cpu_seconds, name, s.io_wait);
	}
	snprintf(extra + at, size - at,
		 "ios_read=%" PRIu64 " ios_written=%" PRIu64 " io_wait=%.2f block=%" PRIu64 " disks=1 runs=%" PRIu64
		 " passes=%u fan_in=%u threads=%u isa=%s",
		 ios_read, ios_written, wait, b->stats.block_bytes, b->stats.runs, (unsigned)b->stats.passes,
		 (unsigned)b->stats.fan_in, (unsigned)em_ctx_threads(b->ctx), em_ctx_isa(b->ctx));
}

static void report(const bench *b, const peer_mark *m, const char *phase, int sorts)
{
	char extra[768] = "";

	if (sorts)
		add_stats(b, extra, sizeof extra);
	phase_end(m, "extmem", b->work, b->n, b->k->bytes, b->mem, phase, extra);
}

/* Take records that should go on in order. */
static void consume(bench *b, const unsigned char *r, size_t n)
{
	if (n == 0)
		return;
	b->sum_out += b->k->look(b->count != 0 ? b->prev : NULL, r, n);
	b->count += n;
	memcpy(b->prev, r + (n - 1) * b->k->bytes, b->k->bytes);
}

static void fill(bench *b, const char *path)
{
	uint64_t i;
	pump p;

	pump_open(&p, path, 1, b->k->bytes);
	for (i = 0; i < b->n;) {
		size_t bytes, n;
		unsigned char *buf = pump_take(&p, &bytes);

		n = b->n - i < bytes / b->k->bytes ? (size_t)(b->n - i) : bytes / b->k->bytes;
		b->sum_in += b->k->make(&b->p, i, n, buf);
		pump_give(&p, n * b->k->bytes);
		i += n;
	}
	pump_take(&p, &(size_t){ 0 });
	pump_give(&p, 0);
	pump_close(&p);
}

static void scan(bench *b, const char *path)
{
	const unsigned char *buf;
	size_t bytes;
	pump p;

	pump_open(&p, path, 0, b->k->bytes);
	while (buf = pump_take(&p, &bytes), bytes != 0) {
		consume(b, buf, bytes / b->k->bytes);
		pump_give(&p, 0);
	}
	pump_close(&p);
}

static void sort_file(bench *b, const char *dir)
{
	char in[4096], out[4096];
	const char *inputs[1] = { in };
	peer_mark all, m;

	snprintf(in, sizeof in, "%s/bench.%d.in", dir, (int)getpid());
	snprintf(out, sizeof out, "%s/bench.%d.out", dir, (int)getpid());
	phase_begin(&all);
	m = all;
	fill(b, in);
	report(b, &m, "fill", 0);
	peer_drop(in);
	phase_begin(&m);
	must(b, em_sort_files(b->ctx, b->order, inputs, 1, out, &b->opts, &b->stats), "sort");
	report(b, &m, "sort", 1);
	peer_drop(out);
	phase_begin(&m);
	scan(b, out);
	report(b, &m, "scan", 0);
	report(b, &all, "total", 1);
	unlink(in);
	unlink(out);
}

static void sort_stream(bench *b)
{
	unsigned char *buf = malloc((size_t)CHUNK_RECORDS * b->k->bytes);
	const em_batch *batch;
	em_sorter *s;
	em_status st;
	peer_mark all, m;
	uint64_t i;

	if (buf == NULL)
		peer_die("memory");
	phase_begin(&all);
	m = all;
	must(b, em_sorter_open(&s, b->ctx, b->order, &b->opts), "open");
	for (i = 0; i < b->n; i += CHUNK_RECORDS) {
		size_t n = b->n - i < CHUNK_RECORDS ? (size_t)(b->n - i) : CHUNK_RECORDS;

		b->sum_in += b->k->make(&b->p, i, n, buf);
		must(b, em_sorter_push(s, buf, n), "push");
	}
	must(b, em_sorter_finish(s), "finish");
	must(b, em_sorter_stats_get(s, &b->stats), "stats");
	report(b, &m, "runs", 1);
	phase_begin(&m);
	while ((st = em_sorter_next(s, &batch)) == EM_OK)
		consume(b, batch->records, batch->n);
	if (st != EM_END)
		must(b, st, "next");
	must(b, em_sorter_stats_get(s, &b->stats), "stats");
	report(b, &m, "merge", 1);
	report(b, &all, "total", 1);
	em_sorter_close(s);
	free(buf);
}

/* Runs that are to be alike must have a known length: somewhat less than planned surely fits. */
static void choose_pattern(bench *b, const char *name)
{
	em_sort_plan_info plan = EM_SORT_PLAN_INFO_INIT;

	must(b, em_sort_plan(b->ctx, b->order, b->n, &b->opts, &plan), "plan");
	if (strcmp(name, "runs2003") == 0 && plan.runs != 0) {
		plan.run_records -= plan.run_records / 16;
		b->opts.run_records = plan.run_records;
		b->opts.block_bytes = plan.block_bytes;
	}
	b->p = pattern_named(name, b->n, plan.run_records, plan.block_records);
	if (strcmp(b->k->name, "dup16") == 0 && strcmp(name, "random") != 0)
		peer_die("dup16 has random keys only");
	snprintf(b->work, sizeof b->work, strcmp(name, "random") == 0 ? "sort-%s" : "sort-%s-%s", b->k->name, name);
}

/* The key of 64 bits that all these records begin with, as a function computes it. */
static int first_u64(const void *records, size_t n, uint64_t *keys, void *user)
{
	const size_t bytes = ((const bench *)user)->k->bytes;
	const char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += bytes)
		memcpy(&keys[i], record, sizeof keys[i]);
	return 0;
}

static em_status make_order(bench *b, const char *how)
{
	const int pairs = b->k->bytes == sizeof(pair16), keys = strcmp(how, "keys") == 0;
	em_key key;

	if (!keys && b->k->bytes != sizeof(uint64_t) && !pairs)
		peer_die("--order for these records");
	if (strcmp(how, "gen") == 0)
		return pairs ? by_kv16_order(&b->order, b->ctx, &b->err) : by_u64_order(&b->order, b->ctx, &b->err);
	if (strcmp(how, "fn") == 0)
		return em_order_key_fn(&b->order, b->ctx, b->k->bytes, "first_u64", first_u64, EM_FN_THREADS, b, NULL,
				       &b->err);
	if (strcmp(how, "cmp") == 0)
		return em_order_cmp(&b->order, b->ctx, b->k->bytes, "cmp_u64", cmp_u64, EM_FN_THREADS, NULL, NULL,
				    &b->err);
	if (!keys)
		peer_die("--order");
	must(b, em_key_parse(&key, b->k->key, &b->err), "key");
	return em_order_keys(&b->order, b->ctx, b->k->bytes, &key, 1, &b->err);
}

int main(int argc, char **argv)
{
	const char *dir = peer_tmpdir(argc, argv);
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	bench b;

	memset(&b, 0, sizeof b);
	b.k = kind_named(peer_arg(argc, argv, "rec", "kv16"));
	b.n = peer_size(peer_arg(argc, argv, "n", "2^26"));
	b.mem = peer_size(peer_arg(argc, argv, "mem", "128M"));
	b.stats.size = sizeof b.stats;
	b.opts = sort;
	b.opts.block_bytes = peer_size(peer_arg(argc, argv, "block", "0"));
	b.opts.errinfo = &b.err;
	opts.memory = b.mem;
	opts.threads = (uint32_t)peer_size(peer_arg(argc, argv, "threads", "0"));
	opts.backend = peer_arg(argc, argv, "backend", NULL);
	opts.queue_depth = (uint32_t)peer_size(peer_arg(argc, argv, "depth", "0"));
	opts.isa = peer_arg(argc, argv, "isa", NULL);
	opts.direct = atoi(peer_arg(argc, argv, "direct", "0"));
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.errinfo = &b.err;
	must(&b, em_ctx_open(&b.ctx, &opts), "context");
	must(&b, make_order(&b, peer_arg(argc, argv, "order", "keys")), "order");
	choose_pattern(&b, peer_arg(argc, argv, "pattern", "random"));
	if (strcmp(peer_arg(argc, argv, "algo", "file"), "stream") == 0)
		sort_stream(&b);
	else
		sort_file(&b, dir);
	if (b.count != b.n || b.sum_in != b.sum_out)
		peer_die("checksum");
	em_order_close(b.order);
	em_ctx_close(b.ctx);
	return 0;
}
