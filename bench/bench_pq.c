/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_pq.c -- what a push and a pop of a priority queue cost, and how much it moves.
 *
 *	bench_pq [--test insdel|mixed|hold|sort] [--n 16M] [--rec 8] [--mem 512M] [--block 0] [--many 1] [--stable 0]
 *		[--ops 0] [--expected 0] [--budget 0] [--dir DIR] [--simdisks 0] [--disk rate=50MB,seek=0ms]
 *		[--dump 0]
 *
 * The works are those of pq_stxxl (bench/peers): the key is a random number of 31 bits in the first four bytes of
 * records of 8, and of 63 bits in the first eight of larger ones.
 *
 *   insdel  n records are pushed, and then all are popped
 *   mixed   n records are pushed; of n operations that follow each is a push with probability 1/3, else a pop
 *   hold    n records are pushed; then --ops (n) times one is popped and one is pushed whose key is larger, by a random
 *           number of 20 bits for each record that there is
 *   sort    the same as insdel, by em_pq_push_many() and em_pq_next()
 *
 * --many: records for a call.  --simdisks: that many simulated disks, in memory; --disk: as em_simdisk_parse().  The
 * budget is that of the context, by default twice --mem.  CPU time is that of the process, transfers included; ns are
 * for an operation.  What comes out is checked: its order and a sum.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>
#include <time.h>

#include <extmem.h>
#include <extmem/sys/simdisk.h>

#include "peers/peer_common.h"

enum { MANY_MOST = 1 << 16, REC_MOST = 4096, DISKS_MOST = 16 };

static em_pq *queue;
static uint64_t n = 16 << 20, ops, rec = 8, many = 1, in, out;
static uint64_t pushed_sum, popped_sum;
static uint64_t last_key;
static int ordered;
static char records[(size_t)MANY_MOST * 32 + REC_MOST];

static void must(em_status st, const char *what)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_pq_error(queue, &err);
	fprintf(stderr, "FAILED: %s: %s: %s\n", what, em_status_text(st), err.text);
	exit(1);
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t key_of(const char *record)
{
	uint32_t key32;
	uint64_t key;

	if (rec == 8) {
		memcpy(&key32, record, sizeof key32);
		return key32;
	}
	memcpy(&key, record, sizeof key);
	return key;
}

static uint64_t value_of(const char *record)
{
	uint32_t v32;
	uint64_t v;

	if (rec == 8) {
		memcpy(&v32, record + 4, sizeof v32);
		return v32;
	}
	memcpy(&v, record + 8, sizeof v);
	return v;
}

/* Record i, with a random key or that. */
static inline void make(char *record, uint64_t i, uint64_t key)
{
	if (rec == 8) {
		const uint32_t both[2] = { (uint32_t)key, (uint32_t)i };

		memcpy(record, both, sizeof both);
	} else {
		memcpy(record, &key, sizeof key);
		memcpy(record + 8, &i, sizeof i);
	}
	pushed_sum += key_of(record) * 3 + value_of(record);
}

static inline uint64_t draw(uint64_t i)
{
	return rec == 8 ? (peer_mix(i) >> 33) + 1 : (peer_mix(i) >> 1) + 1;
}

static inline void came(const char *record)
{
	const uint64_t key = key_of(record);

	if (ordered && key < last_key) {
		fprintf(stderr, "FAILED: out of order\n");
		exit(1);
	}
	last_key = key;
	popped_sum += key * 3 + value_of(record);
	out++;
}

static void push_one(uint64_t key)
{
	make(records, in, key);
	in++;
	must(em_pq_push(queue, records), "push");
}

static void pop_one(void)
{
	must(em_pq_pop(queue, records), "pop");
	came(records);
}

static void push_all(void)
{
	uint64_t i, k, j;

	if (many == 1) {
		for (i = 0; i < n; i++)
			push_one(draw(i));
		return;
	}
	for (i = 0; i < n; i += k) {
		k = n - i < many ? n - i : many;
		for (j = 0; j < k; j++)
			make(records + j * rec, i + j, draw(i + j));
		must(em_pq_push_many(queue, records, k, NULL), "push");
	}
	in = n;
}

static void pop_all(void)
{
	uint64_t i, k, j;

	ordered = 1;
	if (many == 1) {
		for (i = 0; i < n; i++)
			pop_one();
		return;
	}
	for (i = 0; i < n; i += k) {
		must(em_pq_pop_many(queue, records, many, &k), "pop");
		for (j = 0; j < k; j++)
			came(records + j * rec);
	}
}

static void drain(void)
{
	const em_batch *b;
	em_status st;
	size_t j;

	ordered = 1;
	while ((st = em_pq_next(queue, &b)) == EM_OK)
		for (j = 0; j < b->n; j++)
			came((const char *)b->records + j * rec);
	must(st, "next");
}

static void mixed(void)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (peer_mix(i ^ 0x5555555555555555ull) % 3 == 0)
			push_one(draw(n + i));
		else
			pop_one();
	}
}

static void hold(void)
{
	uint64_t i;

	for (i = 0; i < ops; i++) {
		pop_one();
		push_one(last_key + (rec == 8 ? peer_mix(i) >> 44 : peer_mix(i) % (n << 20)));
	}
}

static void phase(const char *name, void (*work)(void), uint64_t count)
{
	em_pq_stats before = EM_PQ_STATS_INIT, after = EM_PQ_STATS_INIT;
	double wall, cpu;

	must(em_pq_stats_get(queue, &before), "statistics");
	wall = peer_now();
	cpu = cpu_now();
	work();
	cpu = cpu_now() - cpu;
	wall = peer_now() - wall;
	must(em_pq_stats_get(queue, &after), "statistics");
	printf("phase=%-6s seconds=%-7.3f cpu=%-7.3f ns=%-6.1f cpu_ns=%-6.1f read_MiB=%-7.0f written_MiB=%-7.0f "
	       "levels=%u merged=%.2f refills=%" PRIu64 " returned=%.3f sequences=%u+%u disk_MiB=%.0f\n",
	       name, wall, cpu, wall * 1e9 / (double)count, cpu * 1e9 / (double)count,
	       (double)((after.reads - before.reads) * after.block_bytes) / 1048576,
	       (double)((after.writes - before.writes) * after.block_bytes) / 1048576, after.levels,
	       (double)(after.merged - before.merged) / (double)count, after.refills - before.refills,
	       (double)(after.returned - before.returned) / (double)count, after.pieces, after.sequences,
	       (double)(after.blocks * after.block_bytes) / 1048576);
	fflush(stdout);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t x = strtoull(text, &end, 10);

	if (*end == '^')
		return (uint64_t)1 << strtoull(end + 1, NULL, 10);
	return x << (*end == 'G' ? 30 : *end == 'M' ? 20 : *end == 'K' ? 10 : 0);
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
		if (em_simdisk_init(&sim[i], sizeof sim[i], NULL, &err) != EM_OK ||
		    em_simdisk_parse(&sim[i], options, &err) != EM_OK) {
			fprintf(stderr, "FAILED: %s\n", err.text);
			exit(1);
		}
		disk[i] = plain;
		disk[i].path = "/";
		disk[i].custom = em_simdisk_backend(&sim[i]);
		list[i] = &disk[i];
	}
	if (disks != 0) {
		o->disks = list;
		o->ndisks = disks;
	}
}

int main(int argc, char **argv)
{
	const em_key keys[2] = { { 0, 0, EM_KEY_U32, 0, { 0, 0 } }, { 0, 0, EM_KEY_U64, 0, { 0, 0 } } };
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	uint64_t dump = 0, simdisks = 0;
	const char *rate = "rate=50MB,seek=0ms";
	const char *test = "insdel";
	em_errinfo err = EM_ERRINFO_INIT;
	em_order *order;
	em_ctx *ctx;
	int a;

	opts.memory_bytes = 512 << 20;
	opts.errinfo = &err;
	ctx_opts.errinfo = &err;
	ctx_opts.memory = 0;
	for (a = 1; a + 1 < argc; a += 2) {
		const uint64_t x = number(argv[a + 1]);

		if (strcmp(argv[a], "--test") == 0)
			test = argv[a + 1];
		else if (strcmp(argv[a], "--n") == 0)
			n = x;
		else if (strcmp(argv[a], "--ops") == 0)
			ops = x;
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
		else if (strcmp(argv[a], "--stable") == 0)
			opts.flags = x != 0 ? EM_PQ_STABLE : 0;
		else if (strcmp(argv[a], "--expected") == 0)
			opts.records = x;
		else if (strcmp(argv[a], "--simdisks") == 0)
			simdisks = x;
		else if (strcmp(argv[a], "--disk") == 0)
			rate = argv[a + 1];
		else if (strcmp(argv[a], "--dump") == 0)
			dump = x;
		else if (strcmp(argv[a], "--dir") == 0)
			ctx_opts.dirs = (const char *const *)&argv[a + 1], ctx_opts.ndirs = 1;
		else
			break;
	}
	if (a != argc || n == 0 || rec < 8 || rec > REC_MOST || (rec > 8 && rec < 16) || many == 0 ||
	    many * rec > sizeof records || simdisks > DISKS_MOST) {
		fprintf(stderr, "usage: see bench_pq.c\n");
		return 2;
	}
	if (ctx_opts.memory == 0)
		ctx_opts.memory = 2 * opts.memory_bytes + ((uint64_t)64 << 20);
	if (ops == 0)
		ops = n;
	simulate(&ctx_opts, (uint32_t)simdisks, rate);
	if (em_ctx_open(&ctx, &ctx_opts) != EM_OK ||
	    em_order_keys(&order, ctx, rec, &keys[rec != 8], 1, &err) != EM_OK) {
		fprintf(stderr, "FAILED: open: %s\n", err.text);
		return 1;
	}
	opts.order = order;
	if (em_pq_open(&queue, ctx, &opts) != EM_OK) {
		fprintf(stderr, "FAILED: open: %s\n", err.text);
		return 1;
	}
	em_order_close(order);
	phase("fill", push_all, n);
	if (strcmp(test, "insdel") == 0)
		phase("drain", pop_all, n);
	else if (strcmp(test, "sort") == 0)
		phase("drain", drain, n);
	else if (strcmp(test, "mixed") == 0)
		phase("mixed", mixed, n);
	else
		phase("hold", hold, ops);
	if (em_pq_size(queue) == 0 && (pushed_sum != popped_sum || in != out)) {
		fprintf(stderr, "FAILED: other records came out\n");
		return 1;
	}
	if (dump) {
		static char text[4096];

		(void)em_pq_dump(queue, text, sizeof text);
		fputs(text, stdout);
	}
	em_pq_close(queue);
	em_ctx_close(ctx);
	return 0;
}
