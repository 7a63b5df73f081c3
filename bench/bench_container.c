/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_container.c -- stacks, queues and deques that are filled and emptied.
 *
 *	bench_container [--work stack|queue|deque] [--calls single|window|many] [--rec 4] [--bytes 4G] [--batch 64K]
 *	                [--mixed 0|1] [--steady BYTES] [--dir DIR] [--disks 1] [--simdisk D] [--disk OPTIONS]
 *	                [--mem BYTES] [--block BYTES] [--write N] [--prefetch N]
 *	                [--context 256M] [--backend NAME] [--depth N] [--direct 0|1|2]
 *
 * Records of REC bytes, which are numbered, BYTES in all, are pushed (phase push) and popped (phase pop), and it is
 * looked whether those that come are the right ones: the first and the last four bytes of each.  A deque is pushed to
 * at the back and popped from at the front.  With --mixed 1 a queue or deque is filled with STEADY bytes, a fourth of
 * BYTES if it is not given, and then each record that is pushed has one popped (phase mixed), BYTES in and BYTES out.
 *
 *   single     a call of the library for each record; it is linked as programs link it
 *   window     inline functions (extmem/window.h)
 *   many       BATCH bytes of records at a time
 *
 * Loops for records of 4 and of 32 bytes know that size, as that of a C++ template would; others are told.
 *
 * MEM, BLOCK, WRITE and PREFETCH are those of em_container_opts; the others are of the context.  Scratch is --disks
 * files in DIR, which it takes for a disk each; or D simulated disks, OPTIONS being those of em_simdisk_parse(),
 * "rate=50MB,seek=0ms" at first.
 *
 * A line of name=value for each phase: `writes', `reads' and `recalled' are blocks of em_container_stats, MBps is that
 * of the records.  Exits with 1 if anything fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <inttypes.h>

#include <extmem.h>
#include <extmem/sys/simdisk.h>

#include "peers/peer_common.h"

/* What is to become part of each loop, however large that gets. */
#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

enum { MOST_DISKS = 64 };
enum { STACK, QUEUE, DEQUE };
enum { SINGLE, WINDOW, MANY };

typedef struct bench {
	const char *work, *calls;
	int kind, by;
	size_t rec, batch;      /* bytes of a record; records of a batch */
	uint64_t n, steady, mem; /* records; bytes */
	em_ctx *ctx;
	em_stack *stack;
	em_queue *queue;
	em_deque *deque;
	em_window *in, *out;
	char *records;          /* a batch of them, and then another one */
	uint64_t begun, ended;  /* records that were pushed, and popped, since it was opened */
	em_container_stats stats;
	peer_mark mark;
	em_simdisk sim[MOST_DISKS];
	uint32_t ndisks;
	em_errinfo err;
} bench;

static void must(bench *b, em_status st, const char *what)
{
	if (st == EM_OK)
		return;
	if (b->stack != NULL)
		em_stack_error(b->stack, &b->err);
	if (b->queue != NULL)
		em_queue_error(b->queue, &b->err);
	if (b->deque != NULL)
		em_deque_error(b->deque, &b->err);
	fprintf(stderr, "FAILED: %s: %s %s\n", what, em_status_name(st), b->err.text);
	exit(1);
}

/* Records. */

ALWAYS_INLINE uint32_t word(const char *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof w);
	return w;
}

/* Words that count up from the record's number; what is no whole word is zero. */
ALWAYS_INLINE void make(char *to, uint64_t i, size_t rec)
{
	size_t k;

	for (k = 0; k + sizeof(uint32_t) <= rec; k += sizeof(uint32_t)) {
		const uint32_t w = (uint32_t)i + (uint32_t)(k / sizeof(uint32_t));

		memcpy(to + k, &w, sizeof w);
	}
	if (k < rec)
		memset(to + k, 0, rec - k);
}

ALWAYS_INLINE void check(const char *r, uint64_t i, size_t rec)
{
	const size_t words = rec / sizeof(uint32_t);

	if (word(r) != (uint32_t)i || word(r + (words - 1) * sizeof(uint32_t)) != (uint32_t)i + (uint32_t)(words - 1))
		peer_die("a wrong record");
}

/* Loops of one record at a time.  What is the same for all of a loop is a constant where these become part of one. */

ALWAYS_INLINE em_status push_one(const bench *b, int kind, int by, const void *record, size_t rec)
{
	if (by == WINDOW)
		return em_window_push_back(b->in, record, rec);
	return kind == STACK ? em_stack_push(b->stack, record)
			     : kind == QUEUE ? em_queue_push(b->queue, record) : em_deque_push_back(b->deque, record);
}

ALWAYS_INLINE em_status pop_one(const bench *b, int kind, int by, void *record, size_t rec)
{
	if (by == WINDOW)
		return kind == STACK ? em_window_pop_back(b->out, record, rec)
				     : em_window_pop_front(b->out, record, rec);
	return kind == STACK ? em_stack_pop(b->stack, record)
			     : kind == QUEUE ? em_queue_pop(b->queue, record) : em_deque_pop_front(b->deque, record);
}

typedef void (*loop_fn)(bench *b, int kind, int by, size_t rec, char *r, uint64_t n);

ALWAYS_INLINE void push_loop(bench *b, int kind, int by, size_t rec, char *r, uint64_t n)
{
	const uint64_t end = b->begun + n;
	uint64_t i;

	for (i = b->begun; i < end; i++) {
		em_status st;

		make(r, i, rec);
		st = push_one(b, kind, by, r, rec);
		if (st != EM_OK)
			must(b, st, "push");
	}
	b->begun = end;
}

ALWAYS_INLINE void pop_loop(bench *b, int kind, int by, size_t rec, char *r, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		const em_status st = pop_one(b, kind, by, r, rec);

		if (st != EM_OK)
			must(b, st, "pop");
		check(r, kind == STACK ? b->begun - 1 - i : b->ended + i, rec);
	}
	b->begun -= kind == STACK ? n : 0;
	b->ended += kind == STACK ? 0 : n;
}

ALWAYS_INLINE void mixed_loop(bench *b, int kind, int by, size_t rec, char *r, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		em_status st;

		make(r, b->begun + i, rec);
		st = push_one(b, kind, by, r, rec);
		if (st == EM_OK)
			st = pop_one(b, kind, by, r, rec);
		if (st != EM_OK)
			must(b, st, "mixed");
		check(r, b->ended + i, rec);
	}
	b->begun += n;
	b->ended += n;
}

/* Batches. */

static em_status push_many(const bench *b, const void *records, uint64_t n)
{
	return b->kind == STACK ? em_stack_push_many(b->stack, records, n, NULL)
	       : b->kind == QUEUE ? em_queue_push_many(b->queue, records, n, NULL)
				  : em_deque_push_back_many(b->deque, records, n, NULL);
}

static em_status pop_many(const bench *b, void *records, uint64_t n)
{
	return b->kind == STACK ? em_stack_pop_many(b->stack, records, n, NULL)
	       : b->kind == QUEUE ? em_queue_pop_many(b->queue, records, n, NULL)
				  : em_deque_pop_front_many(b->deque, records, n, NULL);
}

ALWAYS_INLINE void push_batch(bench *b, size_t rec, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		make(b->records + i * rec, b->begun + i, rec);
	must(b, push_many(b, b->records, n), "push");
	b->begun += n;
}

ALWAYS_INLINE void pop_batch(bench *b, size_t rec, uint64_t n)
{
	char *to = b->records + b->batch * rec;
	uint64_t i, first;

	must(b, pop_many(b, to, n), "pop");
	b->begun -= b->kind == STACK ? n : 0;
	first = b->kind == STACK ? b->begun : b->ended;
	b->ended += b->kind == STACK ? 0 : n;
	for (i = 0; i < n; i++)
		check(to + i * rec, first + i, rec);
}

ALWAYS_INLINE void many(bench *b, loop_fn f, size_t rec, uint64_t n)
{
	uint64_t m;

	for (; n != 0; n -= m) {
		m = n < b->batch ? n : b->batch;
		if (f != pop_loop)
			push_batch(b, rec, m);
		if (f != push_loop)
			pop_batch(b, rec, m);
	}
}

/* One loop for each combination. */

ALWAYS_INLINE void with_calls(bench *b, loop_fn f, int kind, size_t rec, char *r, uint64_t n)
{
	if (b->by == SINGLE)
		f(b, kind, SINGLE, rec, r, n);
	else if (b->by == WINDOW)
		f(b, kind, WINDOW, rec, r, n);
	else
		many(b, f, rec, n);
}

ALWAYS_INLINE void with_kind(bench *b, loop_fn f, size_t rec, char *r, uint64_t n)
{
	if (b->kind == STACK)
		with_calls(b, f, STACK, rec, r, n);
	else if (b->kind == QUEUE)
		with_calls(b, f, QUEUE, rec, r, n);
	else
		with_calls(b, f, DEQUE, rec, r, n);
}

ALWAYS_INLINE void with_record(bench *b, loop_fn f, uint64_t n)
{
	char r[32];

	if (b->rec == 4)
		with_kind(b, f, 4, r, n);
	else if (b->rec == 32)
		with_kind(b, f, 32, r, n);
	else
		with_kind(b, f, b->rec, b->records, n);
}

static void push_all(bench *b, uint64_t n)
{
	with_record(b, push_loop, n);
}

static void pop_all(bench *b, uint64_t n)
{
	with_record(b, pop_loop, n);
}

static void mix_all(bench *b, uint64_t n)
{
	with_record(b, mixed_loop, n);
}

/* Phases. */

static em_container_stats stats_of(bench *b)
{
	em_container_stats s = EM_CONTAINER_STATS_INIT;

	must(b, b->kind == STACK ? em_stack_stats_get(b->stack, &s)
		: b->kind == QUEUE ? em_queue_stats_get(b->queue, &s) : em_deque_stats_get(b->deque, &s), "statistics");
	return s;
}

static void phase(bench *b, const char *name, void (*all)(bench *b, uint64_t n))
{
	em_container_stats s;
	double seconds;
	char extra[256];

	b->stats = stats_of(b);
	phase_begin(&b->mark);
	all(b, b->n);
	seconds = peer_now() - b->mark.t;
	s = stats_of(b);
	snprintf(extra, sizeof extra,
		 "calls=%s disks=%" PRIu32 " block=%" PRIu64 " writes=%" PRIu64 " reads=%" PRIu64 " recalled=%" PRIu64
		 " MBps=%.1f",
		 b->calls, b->ndisks, s.block_bytes, s.writes - b->stats.writes, s.reads - b->stats.reads,
		 s.recalled - b->stats.recalled, (double)b->n * (double)b->rec / seconds / 1e6);
	phase_end(&b->mark, "extmem", b->work, b->n, b->rec, b->mem, name, extra);
}

static void open_container(bench *b, const em_container_opts *opts)
{
	if (b->kind == STACK)
		must(b, em_stack_open(&b->stack, b->ctx, opts), "open");
	else if (b->kind == QUEUE)
		must(b, em_queue_open(&b->queue, b->ctx, opts), "open");
	else
		must(b, em_deque_open(&b->deque, b->ctx, opts), "open");
	b->in = b->kind == STACK ? em_stack_window(b->stack)
		: b->kind == QUEUE ? em_queue_push_window(b->queue) : em_deque_back_window(b->deque);
	b->out = b->kind == STACK   ? b->in
		 : b->kind == QUEUE ? em_queue_pop_window(b->queue)
				    : em_deque_front_window(b->deque);
	b->begun = b->ended = 0;
}

static void close_container(bench *b)
{
	em_stack_close(b->stack);
	em_queue_close(b->queue);
	em_deque_close(b->deque);
	b->stack = NULL;
	b->queue = NULL;
	b->deque = NULL;
}

static void run(bench *b, const em_container_opts *opts, int mixed)
{
	open_container(b, opts);
	if (mixed) {
		push_all(b, b->steady / b->rec);
		phase(b, "mixed", mix_all);
	} else {
		phase(b, "push", push_all);
		phase(b, "pop", pop_all);
	}
	close_container(b);
}

/* Arguments. */

static int one_of(const char *name, const char *a, const char *b, const char *c)
{
	const int found = strcmp(name, a) == 0 ? 0 : strcmp(name, b) == 0 ? 1 : strcmp(name, c) == 0 ? 2 : -1;

	if (found < 0)
		peer_die("--work is stack, queue or deque, --calls single, window or many");
	return found;
}

static uint32_t number(int argc, char **argv, const char *name, const char *usual)
{
	return (uint32_t)peer_size(peer_arg(argc, argv, name, usual));
}

static void open_ctx(bench *b, int argc, char **argv)
{
	const char *dir = peer_tmpdir(argc, argv), *options = peer_arg(argc, argv, "disk", "");
	const uint32_t sims = number(argc, argv, "simdisk", "0");
	static const em_disk_opts plain = EM_DISK_OPTS_INIT;
	const em_disk_opts *list[MOST_DISKS];
	const char *dirs[MOST_DISKS];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_disk_opts disk[MOST_DISKS];
	uint32_t i;

	b->ndisks = sims != 0 ? sims : number(argc, argv, "disks", "1");
	if (b->ndisks < 1 || b->ndisks > MOST_DISKS)
		peer_die("there are 1 to 64 disks");
	for (i = 0; i < sims; i++) {
		must(b, em_simdisk_init(&b->sim[i], sizeof b->sim[i], NULL, &b->err), "simdisk");
		must(b, em_simdisk_parse(&b->sim[i], "rate=50MB,seek=0ms", &b->err), "simdisk");
		must(b, em_simdisk_parse(&b->sim[i], options, &b->err), "--disk");
		disk[i] = plain;
		disk[i].path = "/";
		disk[i].custom = em_simdisk_backend(&b->sim[i]);
		list[i] = &disk[i];
	}
	for (i = 0; i < b->ndisks; i++)
		dirs[i] = dir;
	opts.memory = peer_size(peer_arg(argc, argv, "context", "256M"));
	opts.backend = peer_arg(argc, argv, "backend", NULL);
	opts.queue_depth = number(argc, argv, "depth", "0");
	opts.direct = (int32_t)number(argc, argv, "direct", "0");
	opts.dirs = sims != 0 ? NULL : dirs;
	opts.ndirs = sims != 0 ? 0 : b->ndisks;
	opts.disks = sims != 0 ? list : NULL;
	opts.ndisks = sims;
	opts.errinfo = &b->err;
	must(b, em_ctx_open(&b->ctx, &opts), "context");
}

int main(int argc, char **argv)
{
	const int mixed = atoi(peer_arg(argc, argv, "mixed", "0"));
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	static bench b;

	b.work = peer_arg(argc, argv, "work", "stack");
	b.calls = peer_arg(argc, argv, "calls", "single");
	b.kind = one_of(b.work, "stack", "queue", "deque");
	b.by = one_of(b.calls, "single", "window", "many");
	b.rec = number(argc, argv, "rec", "4");
	if (b.rec < 4 || (mixed && b.kind == STACK))
		peer_die("--rec is at least 4, and a stack has no --mixed");
	b.n = peer_size(peer_arg(argc, argv, "bytes", "4G")) / b.rec;
	b.steady = peer_size(peer_arg(argc, argv, "steady", "0"));
	if (b.steady == 0)
		b.steady = b.n * b.rec / 4;
	b.batch = peer_size(peer_arg(argc, argv, "batch", "64K")) / b.rec;
	b.batch += b.batch == 0;
	b.records = calloc(2 * b.batch, b.rec);
	if (!b.records)
		peer_die("no memory");
	opts.record_bytes = b.rec;
	opts.block_bytes = peer_size(peer_arg(argc, argv, "block", "0"));
	opts.memory_bytes = b.mem = peer_size(peer_arg(argc, argv, "mem", "0"));
	opts.write_buffers = number(argc, argv, "write", "0");
	opts.prefetch_buffers = number(argc, argv, "prefetch", "0");
	opts.errinfo = &b.err;
	open_ctx(&b, argc, argv);
	run(&b, &opts, mixed);
	em_ctx_close(b.ctx);
	free(b.records);
	return 0;
}
