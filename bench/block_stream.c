/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_stream.c -- what readers and writers of records make of what a disk can do.
 *
 *	block_stream [--dir DIR] [--size 4G] [--block 2M] [--depth 4] [--buffers 8] [--record 16] [--lend 0|1]
 *	             [--rounds 5]
 *
 * In turn: plain requests that write a file, write it again, and read it, DEPTH blocks in flight, whichever is done
 * starting the next, as `io --mode stream'; and a writer and a reader of records of RECORD bytes with so many BUFFERS,
 * which do the same, records being pushed and got one by one.
 * With --lend 1 blocks are lent as a whole, and only the first record of each is looked at: then there is no work but
 * that with blocks.  All in large pages and on the same file system.  Phase `new' is the first to write to space: the
 * writer's disk sets it aside as it grows, and a file system has more to do than for `write', which finds space that
 * was written to before.  One line of name=value for each, then medians, and the ratios, of which 0.95 is the least
 * that is good enough.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>
#include <pthread.h>

#include <extmem/sys/request.h>

#include "base/memory.h"
#include "block/block_reader.h"
#include "block/block_writer.h"
#include "peers/peer_common.h"

enum { MOST_ROUNDS = 99, PHASES = 6 };

static const char *const phases[PHASES] = {"plain-new", "plain-write", "plain-read", "stream-new", "stream-write",
					   "stream-read"};

typedef struct bench {
	uint64_t size;
	size_t block, record;
	uint32_t depth, buffers;
	em_ctx *ctx;
	em_errinfo err;
	pthread_mutex_t lock;   /* for those that requests' functions share: */
	pthread_cond_t idle;    /* none flies */
	uint64_t started;       /* blocks */
	uint32_t flying;
	int failed;
	int lend;
	emi_io_stats io;        /* of reader and writer: how long they waited */
	double rate[PHASES][MOST_ROUNDS];
} bench;

/* A place that one request after the other has. */
typedef struct lane {
	bench *b;
	em_file *file;
	int write;
	char *buf;
} lane;

static void must(const bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(1);
}

static void report(bench *b, int phase, uint32_t round, const peer_mark *mark)
{
	const double seconds = peer_now() - mark->t;
	char extra[64];

	b->rate[phase][round] = (double)b->size / seconds / 1e6;
	snprintf(extra, sizeof extra, "MBps=%.1f waited=%.3f", b->rate[phase][round], (double)b->io.wait_ns * 1e-9);
	b->io.wait_ns = 0;
	phase_end(mark, "extmem", "blocks", b->size / b->record, b->record, em_ctx_memory(b->ctx), phases[phase],
		  extra);
}

static void take_off(lane *l, uint64_t i);

/* A block was moved, or, without a request, none yet. */
static void go_on(em_request *rq, void *user)
{
	lane *l = user;
	bench *b = l->b;
	uint64_t i;
	int over;

	pthread_mutex_lock(&b->lock);
	b->failed |= rq != NULL && (em_request_status(rq) != EM_OK || em_request_moved(rq) != b->block);
	over = b->failed || b->started == b->size / b->block;
	i = b->started;
	b->started += !over;
	if (over && --b->flying == 0)
		pthread_cond_signal(&b->idle);
	pthread_mutex_unlock(&b->lock);
	if (!over)
		take_off(l, i);
}

static void take_off(lane *l, uint64_t i)
{
	const uint64_t bytes = l->b->block;

	if (l->write)
		must(l->b, em_file_write_async(l->file, l->buf, bytes, i * bytes, go_on, l, NULL), "write");
	else
		must(l->b, em_file_read_async(l->file, l->buf, bytes, i * bytes, go_on, l, NULL), "read");
}

/* All blocks of a file by plain requests. */
static void fly(bench *b, em_file *file, int write, char *room)
{
	const uint32_t depth = b->depth;
	lane *lanes = calloc(depth, sizeof *lanes);
	uint32_t k;

	if (!lanes)
		peer_die("no memory");
	b->started = 0;
	b->flying = depth;
	for (k = 0; k < depth; k++) {
		lanes[k].b = b;
		lanes[k].file = file;
		lanes[k].write = write;
		lanes[k].buf = room + k * b->block;
		go_on(NULL, &lanes[k]);
	}
	pthread_mutex_lock(&b->lock);
	while (b->flying > 0)
		pthread_cond_wait(&b->idle, &b->lock);
	pthread_mutex_unlock(&b->lock);
	if (b->failed)
		must(b, EM_ERR_IO, "transfer");
	free(lanes);
}

static void plain(bench *b, const char *dir, uint32_t round)
{
	const uint32_t depth = b->depth;
	char *room = emi_buffer_alloc_array(b->ctx, depth, b->block, &b->err);
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_file *file;
	peer_mark mark;
	uint64_t i;
	int k;

	must(b, room ? EM_OK : EM_ERR_NOMEM, "buffers");
	for (i = 0; i < depth * b->block; i += 8) {
		const uint64_t word = peer_mix(i);

		memcpy(room + i, &word, 8);
	}
	opts.flags = EM_OPEN_TEMP;
	opts.errinfo = &b->err;
	must(b, em_file_open(&file, b->ctx, dir, &opts), "open");
	must(b, em_file_reserve(file, 0, b->size), "reserve");
	for (k = 0; k < 3; k++) {
		phase_begin(&mark);
		fly(b, file, k < 2, room);
		report(b, k, round, &mark);
	}
	em_file_close(file);
	emi_buffer_free_array(b->ctx, room, depth, b->block);
}

static void push_all(bench *b, emi_store *store, emi_block_list *list, uint64_t n)
{
	char *record = calloc(1, b->record), *to;
	emi_block_writer w;
	size_t room = 1;
	uint64_t i;

	if (!record)
		peer_die("no memory");
	must(b,
	     emi_block_writer_open(&w, b->ctx, store, b->block, b->record, b->buffers, EMI_FORWARD, 0, &b->io, &b->err),
	     "writer");
	for (i = 0; i < n; i += room) {
		memcpy(record, &i, sizeof i);
		if (b->lend) {
			must(b, emi_block_writer_lend(&w, &to, &room, &b->err), "lend");
			memcpy(to, record, b->record);
			emi_block_writer_took(&w, room);
		} else {
			must(b, emi_block_writer_push(&w, record, &b->err), "push");
		}
	}
	must(b, emi_block_writer_finish(&w, list, &b->err), "finish");
	emi_block_writer_close(&w);
	free(record);
}

static void get_all(bench *b, emi_store *store, const emi_block_list *list, uint64_t n)
{
	emi_block_reader r;
	const char *record;
	uint64_t i = 0, wrong = 0, got;
	size_t lent = 1;
	em_status st;

	must(b,
	     emi_block_reader_open(&r, b->ctx, store, b->block, b->record, b->buffers, list, 1, EMI_FORWARD, 0, &b->io,
				   &b->err),
	     "reader");
	for (;; i += lent) {
		st = b->lend ? emi_block_reader_next(&r, &record, &lent, &b->err)
			     : emi_block_reader_get(&r, &record, &b->err);
		if (st != EM_OK)
			break;
		memcpy(&got, record, sizeof got);
		wrong += got != i;
	}
	must(b, st == EM_END ? EM_OK : st, "get");
	if (wrong != 0 || i != n)
		peer_die("the records are not those that were written");
	emi_block_reader_close(&r);
}

static void stream(bench *b, uint32_t round)
{
	const uint64_t n = b->size / b->block * (b->block / b->record);
	emi_block_list list;
	emi_store *store;
	emi_disk *disk;
	peer_mark mark;
	em_bid end;
	int i;

	must(b, emi_scratch_acquire(b->ctx, &disk, &b->err), "disk");
	must(b, emi_store_open_disks(&store, b->ctx, disk, &b->err), "store");
	for (i = 3; i < 5; i++) {
		phase_begin(&mark);
		push_all(b, store, &list, n);
		report(b, i, round, &mark);
		/* Behind all others, so that their space does not go back to the file system when they are freed. */
		if (i == 3)
			must(b, emi_bid_alloc(disk, b->block, &end, &b->err), "block");
		if (i == 4) {
			phase_begin(&mark);
			get_all(b, store, &list, n);
			report(b, 5, round, &mark);
		}
		emi_block_list_free_blocks(&list, disk, b->block, 0, list.blocks);
		emi_block_list_release(&list, b->ctx);
	}
	emi_bid_free(disk, end, b->block);
	emi_store_close(store);
	emi_scratch_release(b->ctx, disk);
}

static int by_rate(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *rate, uint32_t n)
{
	qsort(rate, n, sizeof *rate, by_rate);
	return n % 2 ? rate[n / 2] : (rate[n / 2 - 1] + rate[n / 2]) / 2;
}

static void summary(bench *b, uint32_t rounds)
{
	double rate[PHASES];
	int i;

	for (i = 0; i < PHASES; i++)
		rate[i] = median(b->rate[i], rounds);
	for (i = 3; i < PHASES; i++)
		printf("%s plain_MBps=%.1f stream_MBps=%.1f ratio=%.3f\n", phases[i], rate[i - 3], rate[i],
		       rate[i] / rate[i - 3]);
}

int main(int argc, char **argv)
{
	const char *dir = peer_tmpdir(argc, argv);
	const uint32_t rounds = (uint32_t)peer_size(peer_arg(argc, argv, "rounds", "5"));
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint32_t i;
	bench b;

	memset(&b, 0, sizeof b);
	b.block = peer_size(peer_arg(argc, argv, "block", "2M"));
	b.depth = (uint32_t)peer_size(peer_arg(argc, argv, "depth", "4"));
	b.buffers = (uint32_t)peer_size(peer_arg(argc, argv, "buffers", "8"));
	b.lend = atoi(peer_arg(argc, argv, "lend", "0")) != 0;
	b.record = peer_size(peer_arg(argc, argv, "record", "16"));
	if (b.block == 0 || b.block % EMI_PAGE != 0 || b.depth < 1 || b.buffers < 1 || b.record < 8 ||
	    b.record > b.block || rounds < 1 || rounds > MOST_ROUNDS)
		peer_die("--block is a multiple of 4K, --depth and --buffers at least 1, --record 8 to a block, "
			 "--rounds 1 to 99");
	b.size = peer_size(peer_arg(argc, argv, "size", "4G")) / b.block * b.block;
	pthread_mutex_init(&b.lock, NULL);
	pthread_cond_init(&b.idle, NULL);
	opts.memory = (b.depth + (uint64_t)b.buffers) * b.block + ((uint64_t)64 << 20);
	opts.queue_depth = b.depth > b.buffers ? b.depth : b.buffers;
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.errinfo = &b.err;
	must(&b, em_ctx_open(&b.ctx, &opts), "em_ctx_open");
	for (i = 0; i < rounds; i++) {
		plain(&b, dir, i);
		stream(&b, i);
	}
	summary(&b, rounds);
	em_ctx_close(b.ctx);
	return 0;
}
