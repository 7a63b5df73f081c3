/* SPDX-License-Identifier: BSL-1.0 */
/*
 * io.c -- what input and output cost through files and requests of libextmem.
 *
 *	io [--mode stream|write|read|random|cold|cpu] [--backend NAME] [--file PATH] [--size 4G] [--block BYTES]
 *	   [--depth N] [--seconds 5] [--direct 0|1|2]
 *
 * stream  phases write and read: the whole file, from front to end, DEPTH (4) blocks (2M) in flight, whichever is done
 *         starting the next, as fio does; write and read are modes, too
 * random  phase read: blocks (4K) at random places of the file, DEPTH (64) in flight, for so many seconds; whoever
 *         notices that one is done starts the next
 * cold    phase read: one block (32K) at a time at random places, each asked of the disk by em_file_read(), for so many
 *         seconds
 * cpu     phase read: the same with the memory backend, one thread submitting and waiting: what a request costs but for
 *         the disk
 *
 * The file is made, unless there is one of that size, and stays; with cpu it is in memory.  Without --file it is a
 * temporary one in --dir.  One line of name=value for each phase, `us_request' being CPU time of the process for each
 * request.  Exits with 1 if anything fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <extmem.h>
#include <extmem/sys/request.h>
#include <inttypes.h>
#include <pthread.h>

#include "large_pages.h"
#include "peers/peer_common.h"

enum { MOST_DEPTH = 4096, PAGE = 4096 };

typedef struct slot {
	em_request *rq;
	unsigned char *buf;
} slot;

typedef struct bench {
	const char *mode, *file, *dir;
	uint64_t size, block;
	uint32_t depth;
	double seconds;
	em_ctx *ctx;
	em_file *f;
	slot *slots;
	unsigned char *arena;   /* their buffers */
	em_errinfo err;
	peer_mark mark;
	uint64_t done;          /* requests of the phase */
	pthread_mutex_t lock;   /* for those that requests' functions share: */
	pthread_cond_t idle;    /* none flies */
	uint64_t started, most; /* requests */
	int write, random;
	uint32_t flying;
	em_status status;       /* the first failure */
	int over;               /* no more are started */
} bench;

/* A place that one request after the other has. */
typedef struct lane {
	bench *b;
	slot *s;
} lane;

static void must(const bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(1);
}

/* Wait for the request of a slot, if there is one. */
static void settle(bench *b, slot *s)
{
	if (!s->rq)
		return;
	if (em_request_wait(s->rq) != EM_OK || em_request_moved(s->rq) != b->block) {
		em_request_error(s->rq, &b->err);
		must(b, EM_ERR_IO, "transfer");
	}
	em_request_close(s->rq);
	s->rq = NULL;
	b->done++;
}

static void start(bench *b, slot *s, uint64_t offset)
{
	must(b, em_file_read_async(b->f, s->buf, b->block, offset, NULL, NULL, &s->rq), "read");
}

static void begin(bench *b)
{
	b->done = 0;
	phase_begin(&b->mark);
}

static void report(const bench *b, const char *phase)
{
	const double seconds = peer_now() - b->mark.t, bytes = (double)b->done * (double)b->block;
	char extra[256];
	peer_mark now;

	phase_begin(&now);
	snprintf(extra, sizeof extra,
		 "depth=%u backend=%s direct=%d ios=%" PRIu64 " iops=%.0f MBps=%.1f us_request=%.3f us_latency=%.1f",
		 (unsigned)b->depth, em_ctx_backend(b->ctx), em_file_is_direct(b->f), b->done,
		 (double)b->done / seconds, bytes / seconds / 1e6,
		 (now.user - b->mark.user + now.sys - b->mark.sys) * 1e6 / (double)b->done,
		 seconds * b->depth * 1e6 / (double)b->done);
	phase_end(&b->mark, "extmem", b->mode, b->done, b->block, em_ctx_memory(b->ctx), phase, extra);
}

/* Start request i of the phase. */
static void take_off(lane *l, em_request_fn fn, uint64_t i)
{
	bench *b = l->b;
	const uint64_t offset = (b->random ? peer_mix(i) % (b->size / b->block) : i) * b->block;

	if (b->write)
		must(b, em_file_write_async(b->f, l->s->buf, b->block, offset, fn, l, NULL), "write");
	else
		must(b, em_file_read_async(b->f, l->s->buf, b->block, offset, fn, l, NULL), "read");
}

static void go_on(em_request *rq, void *user)
{
	lane *l = user;
	bench *b = l->b;
	em_status st = em_request_status(rq);
	uint64_t i;
	int over;

	if (st == EM_OK && em_request_moved(rq) != b->block)
		st = EM_ERR_IO;
	pthread_mutex_lock(&b->lock);
	b->done++;
	if (st != EM_OK && b->status == EM_OK) {
		b->status = st;
		em_request_error(rq, &b->err);
	}
	over = b->over || b->status != EM_OK || b->started == b->most;
	i = b->started;
	b->started += !over;
	if (over && --b->flying == 0)
		pthread_cond_signal(&b->idle);
	pthread_mutex_unlock(&b->lock);
	if (!over)
		take_off(l, go_on, i);
}

static void sleep_for(double seconds)
{
	struct timespec t;

	t.tv_sec = (time_t)seconds;
	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

/* So many requests, or, if these are UINT64_MAX, until the time is over: whichever is done has its function start the
 * next one. */
static void fly(bench *b, uint64_t most, int write, int random)
{
	lane *lanes = calloc(b->depth, sizeof *lanes);
	const uint32_t n = most < b->depth ? (uint32_t)most : b->depth;
	uint32_t k;

	if (!lanes)
		peer_die("no memory");
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->idle, NULL);
	b->over = 0;
	b->most = most;
	b->write = write;
	b->random = random;
	b->started = b->flying = n;
	begin(b);
	for (k = 0; k < n; k++) {
		lanes[k].b = b;
		lanes[k].s = &b->slots[k];
		take_off(&lanes[k], go_on, k);
	}
	if (most == UINT64_MAX)
		sleep_for(b->seconds);
	pthread_mutex_lock(&b->lock);
	b->over = most == UINT64_MAX;
	while (b->flying > 0)
		pthread_cond_wait(&b->idle, &b->lock);
	pthread_mutex_unlock(&b->lock);
	must(b, b->status, write ? "write" : "read");
	pthread_cond_destroy(&b->idle);
	pthread_mutex_destroy(&b->lock);
	free(lanes);
}

/* Random places, by one thread that submits and waits. */
static void take_turns(bench *b)
{
	const uint64_t n = b->size / b->block;
	uint64_t i = 0;
	uint32_t k;

	begin(b);
	while (peer_now() - b->mark.t < b->seconds) {
		/* Looking at the clock is not what is measured. */
		for (k = 0; k < b->depth; k++, i++) {
			slot *s = &b->slots[k];

			settle(b, s);
			start(b, s, peer_mix(i) % n * b->block);
		}
	}
	for (k = 0; k < b->depth; k++)
		settle(b, &b->slots[k]);
}

/* One at a time, by the thread that asks. */
static void one_by_one(bench *b)
{
	const uint64_t n = b->size / b->block;
	uint64_t i;
	size_t moved;

	begin(b);
	for (i = 0; peer_now() - b->mark.t < b->seconds; i++) {
		must(b, em_file_read(b->f, b->slots[0].buf, b->block, peer_mix(i) % n * b->block, &moved), "read");
		if (moved != b->block)
			must(b, EM_ERR_IO, "read: the file is too short");
		b->done++;
	}
}

static void open_ctx(bench *b, const char *backend, int32_t direct)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;

	opts.memory = (uint64_t)64 << 20;
	opts.queue_depth = b->depth;
	opts.backend = backend;
	opts.direct = direct;
	opts.errinfo = &b->err;
	must(b, em_ctx_open(&b->ctx, &opts), "em_ctx_open");
}

/* 1 when the file was there, as large as it has to be. */
static int open_file(bench *b)
{
	em_file_opts opts = EM_FILE_OPTS_INIT;
	uint64_t bytes = 0;
	struct stat st;

	opts.errinfo = &b->err;
	opts.flags = EM_OPEN_WRITE;
	if (!b->file)
		opts.flags = EM_OPEN_TEMP;
	else if (stat(b->file, &st) != 0)
		opts.flags |= EM_OPEN_CREATE;
	must(b, em_file_open(&b->f, b->ctx, b->file ? b->file : b->dir, &opts), "open");
	must(b, em_file_size(b->f, &bytes), "size");
	if (bytes >= b->size)
		return 1;
	must(b, em_file_reserve(b->f, 0, b->size), "reserve");
	return 0;
}

static void make_slots(bench *b)
{
	const size_t room = (b->block + PAGE - 1) / PAGE * PAGE;
	uint64_t i;
	uint32_t k;

	b->slots = calloc(b->depth, sizeof *b->slots);
	b->arena = large_pages(b->depth * room);
	if (!b->slots || !b->arena)
		peer_die("no memory");
	for (k = 0; k < b->depth; k++) {
		b->slots[k].buf = b->arena + k * room;
		for (i = 0; i < b->block; i += 8) {
			const uint64_t word = peer_mix(i + k);

			memcpy(b->slots[k].buf + i, &word, 8);
		}
	}
}

static void free_slots(bench *b)
{
	free(b->arena);
	free(b->slots);
}

/* Fill a file that was not there, in large blocks. */
static void fill(bench *b)
{
	const uint64_t block = b->block;
	const uint32_t depth = b->depth;

	b->block = (uint64_t)1 << 20;
	b->depth = 4;
	make_slots(b);
	fly(b, b->size / b->block, 1, 0);
	must(b, em_file_sync(b->f), "sync");
	free_slots(b);
	b->block = block;
	b->depth = depth;
}

static int is(const bench *b, const char *mode)
{
	return strcmp(b->mode, mode) == 0;
}

static void run(bench *b)
{
	const int both = is(b, "stream"), writes = both || is(b, "write");

	if (!open_file(b) && !writes)
		fill(b);
	make_slots(b);
	if (writes) {
		fly(b, b->size / b->block, 1, 0);
		report(b, "write");
	}
	if (is(b, "write"))
		return;
	if (both || is(b, "read")) {
		fly(b, b->size / b->block, 0, 0);
	} else if (is(b, "cold")) {
		one_by_one(b);
	} else if (is(b, "cpu")) {
		take_turns(b);
	} else {
		fly(b, UINT64_MAX, 0, 1);
	}
	report(b, "read");
}

static uint64_t number(int argc, char **argv, const char *name, uint64_t least, uint64_t most, uint64_t dflt)
{
	const char *s = peer_arg(argc, argv, name, NULL);
	const uint64_t n = s ? peer_size(s) : dflt;

	if (n < least || n > most) {
		fprintf(stderr, "FAILED: --%s is not in %" PRIu64 "..%" PRIu64 "\n", name, least, most);
		exit(1);
	}
	return n;
}

int main(int argc, char **argv)
{
	const char *backend = peer_arg(argc, argv, "backend", NULL);
	int stream, cold, cpu;
	bench b;

	memset(&b, 0, sizeof b);
	b.mode = peer_arg(argc, argv, "mode", "stream");
	stream = is(&b, "stream") || is(&b, "write") || is(&b, "read");
	cold = is(&b, "cold");
	cpu = is(&b, "cpu");
	if (!stream && !cold && !cpu && !is(&b, "random"))
		peer_die("--mode is stream, write, read, random, cold or cpu");
	b.file = cpu ? NULL : peer_arg(argc, argv, "file", NULL);
	b.dir = peer_tmpdir(argc, argv);
	b.block = number(argc, argv, "block", 8, (uint64_t)1 << 30, stream ? 2 << 20 : cold ? 32 << 10 : PAGE);
	b.size = number(argc, argv, "size", b.block, UINT64_MAX / 2, cpu ? (uint64_t)64 << 20 : (uint64_t)4 << 30);
	/* Whole blocks, and whole steps of what fills it. */
	b.size -= b.size % (b.block > 1 << 20 || stream ? b.block : 1 << 20);
	if (b.size == 0)
		peer_die("--size is less than 1M");
	b.depth = (uint32_t)number(argc, argv, "depth", 1, MOST_DEPTH, stream ? 4 : cold ? 1 : 64);
	b.seconds = atof(peer_arg(argc, argv, "seconds", "5"));
	open_ctx(&b, cpu ? "memory" : backend, (int32_t)number(argc, argv, "direct", 0, 2, EM_DIRECT_TRY));
	run(&b);
	free_slots(&b);
	em_file_close(b.f);
	em_ctx_close(b.ctx);
	return 0;
}
