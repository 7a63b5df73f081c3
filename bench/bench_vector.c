/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_vector.c -- vectors: passing through, looking anywhere, and hits in the cache, each beside what bounds it.
 *
 *   bench_vector --work scan|random|many|hit [--bytes 4G] [--reads 100000] [--block 64K] [--dir D]
 *
 *   scan    a vector of u64 is filled by a writer and read by a reader, then set and got one by one, in order
 *   random  so many records of a vector in a file, anywhere, with a cache of 64 blocks: groups of em_vector_get() and
 *           of pread() of the blocks in turn, as the disk changes by the minute; the ratio is that of the medians
 *   many    the same by em_vector_read_many(), in turn with as many reads of blocks of the file with 32 of them under
 *           way, and with em_vector_get()
 *   hit     getting and setting records of 8, 12 and 100 bytes whose block is in the cache, in random order, beside a
 *           get and unpin of the same blocks in an em_cache
 *
 * A line for each phase.  Files and scratch are direct.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/file.h>
#include <extmem/sys/request.h>

#include "peers/peer_common.h"

enum { DEPTH = 32, GROUPS = 41, ROUNDS = 5, RECORD_MOST = 128 };

typedef struct bench {
	em_ctx *ctx;
	em_vector *v;
	uint64_t bytes, block, reads, draws;
	char path[4096];
} bench;

static void fail(const char *what, const em_errinfo *err)
{
	fprintf(stderr, "FAILED: %s: %s\n", what, err->text);
	exit(1);
}

static void must(const bench *b, em_status st, const char *what)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_vector_error(b->v, &err);
	fail(what, &err);
}

static uint64_t below(bench *b, uint64_t n)
{
	return peer_mix(++b->draws) % n;
}

static int by_size(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof *x, by_size);
	return x[n / 2];
}

static void open_ctx(bench *b, const char *dir)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_errinfo err;

	o.memory = (uint64_t)512 << 20;
	o.direct = EM_DIRECT_ON;
	o.dirs = &dir;
	o.ndirs = 1;
	o.errinfo = &err;
	if (em_ctx_open(&b->ctx, &o) != EM_OK)
		fail("context", &err);
}

/* With n records of u64, or, in a file, as many as that has. */
static void open_vector(bench *b, const char *path, uint64_t n, uint64_t cache)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_errinfo err;

	o.record_bytes = 8;
	o.block_bytes = b->block;
	o.cache_bytes = cache;
	o.path = path;
	o.records = n;
	o.errinfo = &err;
	if (em_vector_open(&b->v, b->ctx, &o) != EM_OK)
		fail("vector", &err);
}

static void tell(const bench *b, const peer_mark *m, uint64_t n, const char *work, const char *phase)
{
	em_vector_stats s = EM_VECTOR_STATS_INIT;
	char extra[160];

	must(b, em_vector_stats_get(b->v, &s), "stats");
	snprintf(extra, sizeof extra, "block=%" PRIu64 " reads=%" PRIu64 " writes=%" PRIu64, s.block_bytes, s.reads,
		 s.writes);
	phase_end(m, "extmem", work, n, 8, s.cache_blocks * s.block_bytes, phase, extra);
}

static uint64_t fill(bench *b, uint64_t n)
{
	em_vector_stream_opts o = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_writer *w;
	uint64_t i, m, k, sum = 0, *room;

	must(b, em_vector_writer_open(&w, b->v, &o), "writer");
	for (i = 0; i < n; i += m) {
		must(b, em_vector_writer_lend(w, (void **)(void *)&room, &m), "lend");
		m = m < n - i ? m : n - i;
		for (k = 0; k < m; k++) {
			room[k] = peer_mix(i + k);
			sum += room[k];
		}
		must(b, em_vector_writer_took(w, m), "took");
	}
	must(b, em_vector_writer_finish(w), "finish");
	em_vector_writer_close(w);
	return sum;
}

static void scan(bench *b)
{
	const uint64_t n = b->bytes / 8;
	uint64_t i, sum, seen = 0, x;
	em_vector_reader *r;
	const em_batch *batch;
	peer_mark m;
	em_status st;

	open_vector(b, NULL, n, 0);
	phase_begin(&m);
	sum = fill(b, n);
	tell(b, &m, n, "scan", "writer");
	phase_begin(&m);
	must(b, em_vector_reader_open(&r, b->v, NULL), "reader");
	while ((st = em_vector_reader_next(r, &batch)) == EM_OK)
		for (i = 0; i < batch->n; i++)
			seen += ((const uint64_t *)batch->records)[i];
	em_vector_reader_close(r);
	tell(b, &m, n, "scan", "reader");
	if (st != EM_END || seen != sum)
		peer_die("another sum");
	phase_begin(&m);
	for (i = 0; i < n; i++) {
		must(b, em_vector_get(b->v, i, &x), "get");
		seen -= x;
	}
	tell(b, &m, n, "scan", "get");
	if (seen != 0)
		peer_die("another sum");
	phase_begin(&m);
	for (i = 0; i < n; i++)
		must(b, em_vector_set(b->v, i, &i), "set");
	must(b, em_vector_flush(b->v, 0), "flush");
	tell(b, &m, n, "scan", "set");
	em_vector_close(b->v);
}

/* A file of the numbers peer_mix(i), which is a vector then. */
static void make_file(bench *b, const char *dir)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_errinfo err;

	snprintf(b->path, sizeof b->path, "%s/bench_vector.%ld", dir, (long)getpid());
	o.record_bytes = 8;
	o.path = b->path;
	o.flags = EM_VECTOR_CREATE | EM_VECTOR_TRUNCATE;
	o.errinfo = &err;
	if (em_vector_open(&b->v, b->ctx, &o) != EM_OK)
		fail("file", &err);
	(void)fill(b, b->bytes / 8);
	must(b, em_vector_flush(b->v, 1), "flush");
	em_vector_close(b->v);
	open_vector(b, b->path, 0, 64 * b->block);
}

static void remove_file(bench *b)
{
	em_vector_close(b->v);
	unlink(b->path);
}

/* Read so many records anywhere, one after the other. */
static double get_some(bench *b, uint64_t n)
{
	const double begin = peer_now();
	uint64_t i, at, x;

	for (i = 0; i < n; i++) {
		at = below(b, b->bytes / 8);
		must(b, em_vector_get(b->v, at, &x), "get");
		if (x != peer_mix(at))
			peer_die("another number");
	}
	return peer_now() - begin;
}

static double pread_some(bench *b, int fd, char *buf, uint64_t n)
{
	const double begin = peer_now();
	uint64_t i;

	for (i = 0; i < n; i++) {
		const uint64_t at = below(b, b->bytes / b->block);

		if (pread(fd, buf, (size_t)b->block, (off_t)(at * b->block)) != (ssize_t)b->block)
			peer_die("pread");
		if (((uint64_t *)(void *)buf)[0] != peer_mix(at * b->block / 8))
			peer_die("another number");
	}
	return peer_now() - begin;
}

static void random_reads(bench *b, const char *dir)
{
	const uint64_t some = b->reads / GROUPS / 2 + 1;
	double ours[GROUPS], raw[GROUPS];
	void *buf = NULL;
	int fd, i;

	make_file(b, dir);
	fd = open(b->path, O_RDONLY | O_DIRECT);
	if (fd < 0 || posix_memalign(&buf, 4096, (size_t)b->block) != 0)
		peer_die("file");
	for (i = 0; i < GROUPS; i++) {
		ours[i] = get_some(b, some);
		raw[i] = pread_some(b, fd, buf, some);
	}
	printf("peer=extmem work=random block=%" PRIu64 " reads=%" PRIu64 " us=%.1f pread_us=%.1f ratio=%.3f\n",
	       b->block, some * GROUPS, median(ours, GROUPS) * 1e6 / (double)some,
	       median(raw, GROUPS) * 1e6 / (double)some, median(ours, GROUPS) / median(raw, GROUPS));
	free(buf);
	close(fd);
	remove_file(b);
}

static double read_many(bench *b, uint64_t *at, uint64_t *got, uint64_t n)
{
	double begin;
	uint64_t i;

	for (i = 0; i < n; i++)
		at[i] = below(b, b->bytes / 8);
	begin = peer_now();
	must(b, em_vector_read_many(b->v, at, n, got), "read_many");
	begin = peer_now() - begin;
	for (i = 0; i < n; i++)
		if (got[i] != peer_mix(at[i]))
			peer_die("another number");
	return begin;
}

/* As many blocks, with DEPTH of them under way. */
static double read_deep(bench *b, em_file *f, char *buf, uint64_t n)
{
	const double begin = peer_now();
	em_request *rq[DEPTH] = { NULL };
	uint64_t i;

	for (i = 0; i < n + DEPTH; i++) {
		const uint64_t k = i % DEPTH;

		if (rq[k] != NULL && em_request_wait(rq[k]) != EM_OK)
			peer_die("read");
		em_request_close(rq[k]);
		rq[k] = NULL;
		if (i < n && em_file_read_async(f, buf + k * b->block, (size_t)b->block,
						below(b, b->bytes / b->block) * b->block, NULL, NULL, &rq[k]) != EM_OK)
			peer_die("read");
	}
	return peer_now() - begin;
}

static void many(bench *b, const char *dir)
{
	const uint64_t some = b->reads / GROUPS + 1, few = some / 8 + 1;
	uint64_t *at = malloc(some * sizeof *at), *got = malloc(some * sizeof *got);
	double ours[GROUPS], raw[GROUPS], single[GROUPS];
	void *buf;
	em_file *f;
	int i;

	make_file(b, dir);
	if (at == NULL || got == NULL || em_buffer_alloc(&buf, b->ctx, DEPTH, (size_t)b->block, NULL) != EM_OK ||
	    em_file_open(&f, b->ctx, b->path, NULL) != EM_OK)
		peer_die("memory, or file");
	for (i = 0; i < GROUPS; i++) {
		ours[i] = read_many(b, at, got, some) / (double)some;
		raw[i] = read_deep(b, f, buf, some) / (double)some;
		single[i] = get_some(b, few) / (double)few;
	}
	printf("peer=extmem work=many block=%" PRIu64 " reads=%" PRIu64
	       " us=%.2f deep_us=%.2f single_us=%.2f of_deep=%.3f "
	       "of_single=%.2f\n",
	       b->block, some * GROUPS, median(ours, GROUPS) * 1e6, median(raw, GROUPS) * 1e6,
	       median(single, GROUPS) * 1e6, median(raw, GROUPS) / median(ours, GROUPS),
	       median(single, GROUPS) / median(ours, GROUPS));
	em_file_close(f);
	em_buffer_free(b->ctx, buf, DEPTH, (size_t)b->block);
	free(at);
	free(got);
	remove_file(b);
}

/* Nanoseconds of one of n gets or sets of records of a vector that is in memory. */
static double hit(bench *b, uint64_t records, int sets, uint64_t n)
{
	char record[RECORD_MOST] = { 0 };
	double ns[ROUNDS], begin, loop;
	uint64_t i, x = 0;
	int r;

	for (r = 0; r < ROUNDS; r++) {
		begin = peer_now();
		for (i = 0; i < n; i++)
			x += below(b, records);
		loop = peer_now() - begin;
		begin = peer_now();
		for (i = 0; i < n; i++)
			must(b,
			     sets ? em_vector_set(b->v, below(b, records), record)
				  : em_vector_get(b->v, below(b, records), record),
			     "hit");
		ns[r] = (peer_now() - begin - loop) * 1e9 / (double)n;
	}
	if (x == 1)
		printf("\n");
	return median(ns, ROUNDS);
}

/* The same of blocks of a cache. */
static double cache_hit(bench *b, uint32_t blocks, uint64_t n)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_bid *bid = malloc(blocks * sizeof *bid);
	double ns[ROUNDS], begin, loop;
	uint64_t i, x = 0;
	em_disks *d;
	em_cache *c;
	void *block;
	int r;

	o.frames = blocks;
	o.block_bytes = b->block;
	if (bid == NULL || em_disks_open(&d, b->ctx, NULL) != EM_OK || em_cache_open(&c, d, &o) != EM_OK ||
	    em_bids_alloc(d, bid, blocks, (size_t)b->block, NULL, 0) != EM_OK)
		peer_die("cache");
	for (i = 0; i < blocks; i++)
		if (em_cache_get(c, bid[i], EM_CACHE_FRESH, &block) != EM_OK || em_cache_unpin(c, block, 1) != EM_OK)
			peer_die("cache");
	for (r = 0; r < ROUNDS; r++) {
		begin = peer_now();
		for (i = 0; i < n; i++)
			x += below(b, blocks);
		loop = peer_now() - begin;
		begin = peer_now();
		for (i = 0; i < n; i++)
			if (em_cache_get(c, bid[below(b, blocks)], EM_CACHE_READ, &block) != EM_OK ||
			    em_cache_unpin(c, block, 0) != EM_OK)
				peer_die("cache");
		ns[r] = (peer_now() - begin - loop) * 1e9 / (double)n;
	}
	if (x == 1)
		printf("\n");
	em_cache_close(c);
	em_disks_close(d);
	free(bid);
	return median(ns, ROUNDS);
}

static void hits(bench *b)
{
	static const uint64_t sizes[] = { 8, 12, 100 };
	const uint32_t blocks = 1000;
	const uint64_t n = 5000000;
	double cached;
	size_t i;

	b->block = 4096;
	cached = cache_hit(b, blocks, n);
	for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		em_vector_opts o = EM_VECTOR_OPTS_INIT;
		const uint64_t records = b->block / sizes[i] * blocks;
		char record[RECORD_MOST] = { 0 };
		em_errinfo err;
		double get, set;
		uint64_t k;

		o.record_bytes = sizes[i];
		o.block_bytes = b->block;
		o.cache_bytes = (blocks + 10) * b->block;
		o.records = records;
		o.errinfo = &err;
		if (em_vector_open(&b->v, b->ctx, &o) != EM_OK)
			fail("vector", &err);
		for (k = 0; k < records; k++)
			must(b, em_vector_set(b->v, k, record), "set");
		get = hit(b, records, 0, n);
		set = hit(b, records, 1, n);
		printf("peer=extmem work=hit recsize=%" PRIu64
		       " get_ns=%.1f set_ns=%.1f cache_ns=%.1f get_ratio=%.2f set_ratio=%.2f\n",
		       sizes[i], get, set, cached, get / cached, set / cached);
		em_vector_close(b->v);
	}
}

int main(int argc, char **argv)
{
	const char *work = peer_arg(argc, argv, "work", "scan"), *dir = peer_tmpdir(argc, argv);
	static bench b;

	b.bytes = peer_size(peer_arg(argc, argv, "bytes", "4G"));
	b.block = peer_size(peer_arg(argc, argv, "block", strcmp(work, "scan") == 0 ? "0" : "64K"));
	b.reads = peer_size(peer_arg(argc, argv, "reads", "100000"));
	open_ctx(&b, dir);
	if (strcmp(work, "scan") == 0)
		scan(&b);
	else if (strcmp(work, "random") == 0)
		random_reads(&b, dir);
	else if (strcmp(work, "many") == 0)
		many(&b, dir);
	else if (strcmp(work, "hit") == 0)
		hits(&b);
	else
		peer_die("--work is scan, random, many or hit");
	em_ctx_close(b.ctx);
	return 0;
}
