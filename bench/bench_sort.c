/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_sort.c -- sorting with libextmem under the same work as bench/peers/sort_stxxl.
 *
 *	bench_sort [--algo file|stream] [--rec u64|kv16|rec100|u32|dup16] [--order keys|gen|cmp] [--n 2^26] [--mem 128M]
 *	           [--dir D] [--threads T] [--backend NAME] [--isa NAME] [--direct 0|1|2]
 *
 * Orders: key fields; a comparison inlined by <extmem/gen/order.h>; a function.
 *
 * file: phases fill (write the input), sort (file to file), scan (read and check the output).
 * stream: phases runs (generate and push) and merge (pull and check).  Lines are those of the
 * peers, with ios_read= ios_written= io_wait= block= disks= behind them.  Generators and checksums are the peers'.
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

#include "peers/peer_common.h"

enum { CHUNK_RECORDS = 1 << 15 };

typedef struct kind {
	const char *name;
	uint32_t bytes;
	const char *key;
	void (*gen)(uint64_t i, unsigned char *r);
	uint64_t (*sum)(const unsigned char *r);
} kind;

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static void put64(unsigned char *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

static void gen_u64(uint64_t i, unsigned char *r)
{
	put64(r, peer_mix(i) >> 1 | 1);
}

static void gen_u32(uint64_t i, unsigned char *r)
{
	uint32_t v = (uint32_t)(peer_mix(i) >> 33) + 1u;

	memcpy(r, &v, sizeof v);
}

static void gen_kv16(uint64_t i, unsigned char *r)
{
	put64(r, peer_mix(i) >> 1 | 1);
	put64(r + 8, i);
}

static void gen_dup16(uint64_t i, unsigned char *r)
{
	put64(r, peer_mix(i) % 1024 + 1);
	put64(r + 8, i);
}

static void gen_rec100(uint64_t i, unsigned char *r)
{
	uint64_t h = peer_mix(i), g = peer_mix(h ^ i);

	put64(r, __builtin_bswap64(h >> 1 | 1));
	put64(r + 8, g);
	put64(r + 16, i);
	memset(r + 24, (int)('A' + i % 26), 76);
}

static uint64_t sum_u64(const unsigned char *r)
{
	return get64(r);
}

static uint64_t sum_u32(const unsigned char *r)
{
	uint32_t v;

	memcpy(&v, r, sizeof v);
	return v;
}

static uint64_t sum_kv16(const unsigned char *r)
{
	return get64(r) * 3 + (get64(r + 8) ^ get64(r));
}

static uint64_t sum_dup16(const unsigned char *r)
{
	return peer_mix(get64(r) * 3 ^ get64(r + 8) << 20);
}

static uint64_t sum_rec100(const unsigned char *r)
{
	return get64(r) * 3 + (get64(r + 8) ^ get64(r + 16)) * 5 + get64(r + 92);
}

static int cmp_u64(const void *a, const void *b, void *user)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	(void)user;
	return (x > y) - (x < y);
}

static const kind kinds[] = {
	{ "u64", 8, "0:u64", gen_u64, sum_u64 },
	{ "u32", 4, "0:u32", gen_u32, sum_u32 },
	{ "kv16", 16, "0:u64", gen_kv16, sum_kv16 },
	{ "dup16", 16, "0:u64", gen_dup16, sum_dup16 },
	{ "rec100", 100, "0:bytes10", gen_rec100, sum_rec100 },
};

typedef struct bench {
	const kind *k;
	uint64_t n, mem;
	char work[32];
	em_ctx *ctx;
	em_order *order;
	em_errinfo err;
	em_sort_stats stats;
	uint64_t sum_in, sum_out, count;
	unsigned char *prev;
	int have_prev;
} bench;

static void must(const bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(1);
}

static void report(const bench *b, const peer_mark *m, const char *phase)
{
	uint64_t ios_read = 0, ios_written = 0;
	double wait = 0;
	char extra[256];
	int i;

	for (i = 0; i < EM_PHASES; i++) {
		ios_read += b->stats.phase[i].ios_read;
		ios_written += b->stats.phase[i].ios_written;
		wait += b->stats.phase[i].io_wait;
	}
	snprintf(extra, sizeof extra,
		 "ios_read=%" PRIu64 " ios_written=%" PRIu64 " io_wait=%.2f block=%" PRIu64
		 " disks=1 runs=%" PRIu64 " passes=%u fan_in=%u",
		 ios_read, ios_written, wait, b->stats.block_bytes, b->stats.runs, (unsigned)b->stats.passes,
		 (unsigned)b->stats.fan_in);
	phase_end(m, "extmem", b->work, b->n, b->k->bytes, b->mem, phase, extra);
}

/* Records first.. of the generator; their sum is added up. */
static void generate(bench *b, uint64_t first, size_t n, unsigned char *out)
{
	size_t i;

	for (i = 0; i < n; i++, out += b->k->bytes) {
		b->k->gen(first + i, out);
		b->sum_in += b->k->sum(out);
	}
}

/* Take records that should go on in order. */
static void consume(bench *b, const unsigned char *r, size_t n)
{
	size_t i, rb = b->k->bytes;
	const unsigned char *prev = b->have_prev ? b->prev : NULL;

	for (i = 0; i < n; i++, r += rb) {
		int bad;

		if (prev == NULL)
			bad = 0;
		else if (rb == 100)
			bad = memcmp(prev, r, 10) > 0;
		else if (rb == 4)
			bad = sum_u32(prev) > sum_u32(r);
		else
			bad = get64(prev) > get64(r);
		if (bad)
			peer_die("order");
		b->sum_out += b->k->sum(r);
		prev = r;
	}
	if (n != 0) {
		memcpy(b->prev, prev, rb);
		b->have_prev = 1;
	}
	b->count += n;
}

/* Direct, in large pieces, so that the page cache does not flatter the phase after it. */
static void fill(bench *b, const char *path)
{
	size_t chunk = (size_t)CHUNK_RECORDS * b->k->bytes, bytes;
	unsigned char *buf;
	uint64_t i;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0600);

	if (fd < 0 || posix_memalign((void **)&buf, 4096, chunk) != 0)
		peer_die("create input");
	for (i = 0; i < b->n; i += CHUNK_RECORDS) {
		size_t n = b->n - i < CHUNK_RECORDS ? (size_t)(b->n - i) : CHUNK_RECORDS;

		generate(b, i, n, buf);
		bytes = n * b->k->bytes;
		if (bytes % 4096 != 0)
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
		if (write(fd, buf, bytes) != (ssize_t)bytes)
			peer_die("write input");
	}
	free(buf);
	if (fsync(fd) != 0 || close(fd) != 0)
		peer_die("write input");
}

static void scan(bench *b, const char *path)
{
	size_t chunk = (size_t)CHUNK_RECORDS * b->k->bytes;
	unsigned char *buf;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_DIRECT);

	if (fd < 0 || posix_memalign((void **)&buf, 4096, chunk) != 0)
		peer_die("open output");
	while ((got = read(fd, buf, chunk)) > 0)
		consume(b, buf, (size_t)got / b->k->bytes);
	if (got < 0)
		peer_die("read output");
	close(fd);
	free(buf);
}

static void sort_file(bench *b, const char *dir)
{
	char in[4096], out[4096];
	const char *inputs[1] = { in };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	peer_mark all, m;

	snprintf(in, sizeof in, "%s/bench.%d.in", dir, (int)getpid());
	snprintf(out, sizeof out, "%s/bench.%d.out", dir, (int)getpid());
	opts.errinfo = &b->err;
	phase_begin(&all);
	m = all;
	fill(b, in);
	report(b, &m, "fill");
	peer_drop(in);
	phase_begin(&m);
	must(b, em_sort_files(b->ctx, b->order, inputs, 1, out, &opts, &b->stats), "sort");
	report(b, &m, "sort");
	peer_drop(out);
	phase_begin(&m);
	scan(b, out);
	report(b, &m, "scan");
	report(b, &all, "total");
	unlink(in);
	unlink(out);
}

static void sort_stream(bench *b)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	unsigned char *buf = malloc((size_t)CHUNK_RECORDS * b->k->bytes);
	const em_batch *batch;
	em_sorter *s;
	em_status st;
	peer_mark all, m;
	uint64_t i;

	opts.errinfo = &b->err;
	if (buf == NULL)
		peer_die("memory");
	phase_begin(&all);
	m = all;
	must(b, em_sorter_open(&s, b->ctx, b->order, &opts), "open");
	for (i = 0; i < b->n; i += CHUNK_RECORDS) {
		size_t n = b->n - i < CHUNK_RECORDS ? (size_t)(b->n - i) : CHUNK_RECORDS;

		generate(b, i, n, buf);
		must(b, em_sorter_push(s, buf, n), "push");
	}
	must(b, em_sorter_finish(s), "finish");
	must(b, em_sorter_stats(s, &b->stats), "stats");
	report(b, &m, "runs");
	phase_begin(&m);
	while ((st = em_sorter_next(s, &batch)) == EM_OK)
		consume(b, batch->records, batch->n);
	if (st != EM_END)
		must(b, st, "next");
	must(b, em_sorter_stats(s, &b->stats), "stats");
	report(b, &m, "merge");
	report(b, &all, "total");
	em_sorter_close(s);
	free(buf);
}

static em_status make_order(bench *b, const char *how)
{
	const int pairs = b->k->bytes == sizeof(pair16);
	em_key key;

	if (strcmp(how, "keys") != 0 && b->k->bytes != sizeof(uint64_t) && !pairs)
		peer_die("--order for these records");
	if (strcmp(how, "gen") == 0)
		return pairs ? by_kv16_order(&b->order, b->ctx, &b->err) : by_u64_order(&b->order, b->ctx, &b->err);
	if (strcmp(how, "cmp") == 0)
		return em_order_cmp(&b->order, b->ctx, b->k->bytes, "cmp_u64", cmp_u64, NULL, NULL, &b->err);
	must(b, em_key_parse(&key, b->k->key, &b->err), "key");
	return em_order_keys(&b->order, b->ctx, b->k->bytes, &key, 1, &b->err);
}

int main(int argc, char **argv)
{
	const char *rec = peer_arg(argc, argv, "rec", "kv16"), *dir = peer_tmpdir(argc, argv);
	const char *algo = peer_arg(argc, argv, "algo", "file");
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *order = peer_arg(argc, argv, "order", "keys");
	bench b;
	size_t i;

	memset(&b, 0, sizeof b);
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, rec) == 0)
			b.k = &kinds[i];
	if (b.k == NULL)
		peer_die("--rec");
	b.n = peer_size(peer_arg(argc, argv, "n", "2^26"));
	b.mem = peer_size(peer_arg(argc, argv, "mem", "128M"));
	b.stats.size = sizeof b.stats;
	b.prev = malloc(b.k->bytes);
	snprintf(b.work, sizeof b.work, "sort-%s", rec);
	opts.memory = b.mem;
	opts.threads = (uint32_t)peer_size(peer_arg(argc, argv, "threads", "0"));
	opts.backend = peer_arg(argc, argv, "backend", NULL);
	opts.isa = peer_arg(argc, argv, "isa", NULL);
	opts.direct = atoi(peer_arg(argc, argv, "direct", "0"));
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.errinfo = &b.err;
	must(&b, em_ctx_open(&b.ctx, &opts), "context");
	must(&b, make_order(&b, order), "order");
	if (strcmp(algo, "stream") == 0)
		sort_stream(&b);
	else
		sort_file(&b, dir);
	if (b.count != b.n || b.sum_in != b.sum_out)
		peer_die("checksum");
	em_order_close(b.order);
	em_ctx_close(b.ctx);
	free(b.prev);
	return 0;
}
