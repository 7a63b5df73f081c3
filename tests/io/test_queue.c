/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_queue.c -- order, threads and waiting, seen from a backend of our own (gate.h): nothing depends on time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/gate.h"
#include "io/queue.h"

static void test_writes_first(void **state)
{
	static char buf[5][PAGE];
	static const uint64_t expect[] = {0, 2, 4, 1, 3};
	gate *g = gate_make(1, 0);
	em_file *f = gate_file(g, 0);
	unsigned i;

	(void)state;
	gate_set(g, 1);
	emi_read(f, &g->rq[0], buf[0], PAGE, 0, NULL);
	gate_await(g, &g->entered, 1);
	emi_read(f, &g->rq[1], buf[1], PAGE, 1 * PAGE, NULL);
	emi_write(f, &g->rq[2], buf[2], PAGE, 2 * PAGE, NULL);
	emi_read(f, &g->rq[3], buf[3], PAGE, 3 * PAGE, NULL);
	emi_write(f, &g->rq[4], buf[4], PAGE, 4 * PAGE, NULL);
	/* Still at the gate: nobody else has begun. */
	assert_false(emi_wait_for(&g->rq[2], 0.001));
	assert_false(emi_done(&g->rq[0]));
	gate_set(g, 0);
	for (i = 0; i < 5; i++)
		while (!emi_wait_for(&g->rq[i], 10))
			continue;
	for (i = 0; i < 5; i++) {
		assert_int_equal(emi_wait(&g->rq[i], NULL), EM_OK);
		assert_int_equal(g->page[i], expect[i]);
		assert_false(pthread_equal(g->thread[i], pthread_self()));
	}
	gate_end(g);
}

/* Whoever waits for what nobody has begun makes it himself. */
static void test_waiter_runs(void **state)
{
	static char buf[2][PAGE];
	gate *g = gate_make(1, 0);
	em_file *f = gate_file(g, 0);

	(void)state;
	gate_set(g, 1);
	emi_read(f, &g->rq[0], buf[0], PAGE, 0, NULL);
	gate_await(g, &g->entered, 1);
	emi_read(f, &g->rq[1], buf[1], PAGE, PAGE, NULL);
	assert_int_equal(emi_wait(&g->rq[1], NULL), EM_OK);
	assert_int_equal(g->page[1], 1);
	assert_true(pthread_equal(g->thread[1], pthread_self()));
	assert_false(emi_done(&g->rq[0]));
	gate_set(g, 0);
	assert_int_equal(emi_wait(&g->rq[0], NULL), EM_OK);
	gate_end(g);
}

/* As many at a time as there are threads. */
static void test_several_threads(void **state)
{
	static char buf[5][PAGE];
	gate *g = gate_make(3, 0);
	em_file *f = gate_file(g, 0);
	unsigned i;

	(void)state;
	gate_set(g, 1);
	for (i = 0; i < 5; i++)
		emi_read(f, &g->rq[i], buf[i], 16, i * 16, NULL);
	gate_await(g, &g->entered, 3);
	assert_int_equal(f->queue->max_threads, 3);
	gate_set(g, 0);
	gate_assert_done(g, 5);
	gate_end(g);
}

/* Where writes to a file get on one at a time they are begun like that, in their order; reads, and writes to other
 * files, pass them. */
static void test_one_write(void **state)
{
	static char buf[7][PAGE];
	static const uint64_t expect[] = {0, 4, 5, 1, 2, 3, 6};
	gate *g = gate_make(3, 0);
	em_file *f, *other;
	unsigned i;

	(void)state;
	g->one_write = 1;
	f = gate_file(g, 0);
	other = io_open(g->ctx, "/", EMI_OPEN_TEMP);
	gate_set(g, 1);
	emi_write(f, &g->rq[0], buf[0], PAGE, 0, NULL);
	gate_await(g, &g->entered, 1);
	for (i = 1; i < 4; i++)
		emi_write(f, &g->rq[i], buf[i], PAGE, i * PAGE, NULL);
	emi_read(f, &g->rq[4], buf[4], PAGE, 4 * PAGE, NULL);
	assert_int_equal(emi_wait(&g->rq[4], NULL), EM_OK);
	emi_write(other, &g->rq[5], buf[5], PAGE, 5 * PAGE, NULL);
	assert_int_equal(emi_wait(&g->rq[5], NULL), EM_OK);
	emi_write(f, &g->rq[6], buf[6], PAGE / 2, 6 * PAGE, NULL);
	for (i = 1; i < 4; i++)
		assert_false(emi_wait_for(&g->rq[i], 0.001));
	gate_set(g, 0);
	for (i = 0; i < 7; i++) {
		assert_int_equal(emi_wait(&g->rq[i], NULL), EM_OK);
		assert_int_equal(g->page[i], expect[i]);
	}
	emi_file_close(other);
	gate_end(g);
}

/* One that is canceled meanwhile holds nobody up, be it the last, the next or one between; nor do those that overlap
 * it. */
static void test_one_write_canceled(void **state)
{
	static char buf[GATE_REQUESTS][PAGE];
	unsigned which, i;

	(void)state;
	for (which = 1; which < 6; which++) {
		gate *g = gate_make(2, 0);
		em_file *f;

		g->one_write = 1;
		f = gate_file(g, 0);
		gate_set(g, 1);
		emi_write(f, &g->rq[0], buf[0], PAGE, 0, NULL);
		gate_await(g, &g->entered, 1);
		for (i = 1; i < 6; i++)
			emi_write(f, &g->rq[i], buf[i], PAGE, (i + 1) / 2 * PAGE, NULL);
		assert_true(emi_cancel(&g->rq[which]));
		emi_write(f, &g->rq[6], buf[6], PAGE, 6 * PAGE, NULL);
		gate_set(g, 0);
		for (i = 0; i < 7; i++)
			assert_int_equal(emi_wait(&g->rq[i], NULL), i == which ? EM_ERR_CANCELED : EM_OK);
		gate_end(g);
	}
}

static void *open_later(void *arg)
{
	struct timespec t = {0, 20000000};

	nanosleep(&t, NULL);
	gate_set(arg, 0);
	return NULL;
}

/* Closing waits for everything, and the results can still be read. */
static void test_close_with_pending(void **state)
{
	static char buf[10][PAGE];
	int async;

	(void)state;
	for (async = 0; async < 2; async++) {
		gate *g = gate_make(2, async);
		pthread_t opener;
		em_file *f = gate_file(g, 4);
		unsigned i;

		gate_set(g, 1);
		for (i = 0; i < 10; i++)
			emi_write(f, &g->rq[i], buf[i], PAGE, i * PAGE, NULL);
		assert_int_equal(pthread_create(&opener, NULL, open_later, g), 0);
		emi_file_close(f);
		g->f = NULL;
		for (i = 0; i < 10; i++) {
			assert_true(emi_done(&g->rq[i]));
			assert_int_equal(emi_wait(&g->rq[i], NULL), EM_OK);
		}
		pthread_join(opener, NULL);
		gate_end(g);
	}
}

typedef struct user {
	em_file *f;
	emi_io_stats *stats;
	unsigned id;
	int wrong;
} user;

enum { USERS = 4, ROUNDS = 300 };

/* Write and read back a page of one's own, over and over, several requests at a time. */
static void *use(void *arg)
{
	user *u = arg;
	char out[4][512], in[512];
	emi_request rq[4];
	unsigned i, k;

	memset(rq, 0, sizeof rq);
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < 4; k++) {
			memset(out[k], (int)(i + k + u->id), sizeof out[k]);
			emi_write(u->f, &rq[k], out[k], 512, u->id * PAGE + k * 512, u->stats);
		}
		for (k = 0; k < 4; k++) {
			if (k % 2)
				while (!emi_wait_for(&rq[k], 10))
					continue;
			u->wrong |= emi_wait(&rq[k], NULL) != EM_OK;
		}
		emi_read(u->f, &rq[0], in, 512, u->id * PAGE + (i % 4) * 512, u->stats);
		if (i % 2)
			while (!emi_done(&rq[0]))
				continue;
		u->wrong |= emi_wait(&rq[0], NULL) != EM_OK || memcmp(in, out[i % 4], 512) != 0;
	}
	return NULL;
}

static void users_of(gate *g, uint32_t depth)
{
	pthread_t thread[USERS];
	user u[USERS];
	emi_io_stats stats;
	em_file *f = gate_file(g, depth);
	unsigned i;

	memset(&stats, 0, sizeof stats);
	for (i = 0; i < USERS; i++) {
		u[i].f = f;
		u[i].stats = &stats;
		u[i].id = i;
		u[i].wrong = 0;
		assert_int_equal(pthread_create(&thread[i], NULL, use, &u[i]), 0);
	}
	for (i = 0; i < USERS; i++) {
		pthread_join(thread[i], NULL);
		assert_false(u[i].wrong);
	}
	assert_int_equal(stats.ios_written, USERS * ROUNDS * 4);
	assert_int_equal(stats.ios_read, USERS * ROUNDS);
	assert_int_equal(stats.bytes_written, USERS * ROUNDS * 4 * 512);
	assert_int_equal(stats.bytes_read, USERS * ROUNDS * 512);
	g->signals = 0; /* the users' own threads do not block them */
	gate_end(g);
}

/* Any thread may use a file. */
static void test_many_users(void **state)
{
	gate *g;

	(void)state;
	users_of(gate_make(2, 0), 0);
	users_of(gate_make(1, 1), 8);
	users_of(gate_make(1, 1), 1);
	g = gate_make(1, 1);
	g->half = 1;
	users_of(g, 3);
	g = gate_make(1, 1);
	g->room = 2;
	users_of(g, 8);
}

/* Requests beyond the depth are handed over while nobody waits; never more than the depth at a time. */
static void test_depth(void **state)
{
	static char buf[100][64];
	gate *g = gate_make(2, 1);
	em_file *f = gate_file(g, 4);
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++)
		emi_read(f, &g->rq[i], buf[i], 64, i * PAGE, NULL);
	gate_await(g, &g->taken, 100);
	assert_true(g->most_held <= 4);
	gate_assert_done(g, 100);
	assert_int_equal(g->entered, 0);
	gate_end(g);
}

/* Without requests beyond the depth no thread is started: who waits or asks collects. */
static void test_no_thread_needed(void **state)
{
	static char buf[4][64];
	gate *g = gate_make(2, 1);
	em_file *f = gate_file(g, 4);
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++)
		emi_write(f, &g->rq[i], buf[i], 64, i * 64, NULL);
	assert_true(emi_wait_for(&g->rq[0], 10));
	while (!emi_done(&g->rq[1]))
		continue;
	gate_assert_done(g, 4);
	assert_int_equal(f->queue->threads, 0);
	gate_end(g);
}

/* Requests that are gathered are handed over together when that is over, or when they are many; who waits for one
 * before gets it. */
static void test_gather(void **state)
{
	static char buf[64][64];
	gate *g = gate_make(2, 1);
	em_file *f = gate_file(g, 64);
	unsigned i;

	(void)state;
	/* The channel is there from the first on. */
	emi_write(f, &g->rq[0], buf[0], 64, 0, NULL);
	assert_true(emi_wait_for(&g->rq[0], 10));
	emi_file_gather(f, 1);
	emi_file_gather(f, 1);
	for (i = 1; i < 6; i++)
		emi_read(f, &g->rq[i], buf[i], 64, i * PAGE, NULL);
	assert_int_equal(g->taken, 1);
	assert_int_equal(emi_wait(&g->rq[3], NULL), EM_OK);
	assert_int_equal(g->taken + g->entered, 2);
	emi_file_gather(f, 0);
	assert_int_equal(g->taken + g->entered, 2);
	assert_false(emi_done(&g->rq[1]));
	emi_file_gather(f, 0);
	assert_int_equal(g->taken, 5);
	/* None of these is waited for. */
	emi_file_gather(f, 1);
	for (i = 6; i < 6 + 2 * EMI_IO_BATCH; i++)
		emi_read(f, &g->rq[i], buf[i], 64, i * PAGE, NULL);
	assert_int_equal(g->taken, 5 + 2 * EMI_IO_BATCH);
	emi_file_gather(f, 0);
	gate_assert_done(g, 6 + 2 * EMI_IO_BATCH);
	assert_int_equal(f->queue->threads, 0);
	gate_end(g);
}

/* Gather requests for all of n pieces of a file, each of so many bytes, to memory that lies in the same order. */
static void gather_pieces(gate *g, char *buf, unsigned n, size_t bytes, int write)
{
	unsigned i;

	emi_file_gather(g->f, 1);
	for (i = 0; i < n; i++) {
		if (write)
			emi_write(g->f, &g->rq[i], buf + i * bytes, bytes, i * bytes, NULL);
		else
			emi_read(g->f, &g->rq[i], buf + i * bytes, bytes, i * bytes, NULL);
	}
	emi_file_gather(g->f, 0);
}

/* Reads that are side by side in the file and in memory are handed over as one; if that is not whole, or is not taken,
 * each is made by itself. */
static void test_joined(void **state)
{
	enum { N = EMI_IO_BATCH, BYTES = EMI_IO_JOINED / 8 };
	enum { WHOLE, HALF, FAILS, BUSY, REFUSED, ENDS };
	static char buf[N * BYTES];
	unsigned how, i;

	(void)state;
	for (how = WHOLE; how < ENDS; how++) {
		gate *g = gate_make(2, 1);
		em_file *f = gate_file(g, 0);
		em_io_stats stats = EM_IO_STATS_INIT;

		for (i = 0; i < sizeof g->data; i++)
			g->data[i] = (char)(i * 7 + i / PAGE);
		memset(buf, 0, sizeof buf);
		g->half = how == HALF;
		g->fails = how == FAILS ? EIO : 0;
		g->refuse = how == BUSY ? EAGAIN : how == REFUSED ? ENOSYS : 0;
		gather_pieces(g, buf, N, BYTES, 0);
		gate_assert_done(g, N);
		assert_int_equal(g->taken, how < BUSY ? 2 : 0);
		assert_int_equal(g->entered, how == WHOLE ? 0 : N);
		assert_memory_equal(buf, g->data, sizeof buf);
		emi_file_stats(f, &stats);
		assert_int_equal(stats.reads, N);
		assert_int_equal(stats.bytes_read, sizeof buf);
		gate_end(g);
	}
}

/* Reads of which one is not beside the one before, in the file or in memory, are several transfers; writes always are.
 */
static void test_not_joined(void **state)
{
	enum { N = EMI_IO_BATCH };
	static char buf[2 * N][PAGE];
	gate *g = gate_make(2, 1);
	em_file *f = gate_file(g, 0);
	unsigned i;

	(void)state;
	memset(g->data, 1, sizeof g->data);
	emi_file_gather(f, 1);
	for (i = 0; i < N; i++) {
		/* A gap in memory behind the fifth, one in the file behind the tenth, and the last is another piece. */
		const unsigned at = i < 5 ? i : i + 1, page = i < 10 ? i : i + 1;

		emi_read(f, &g->rq[i], buf[at], i == N - 1 ? 64 : PAGE, page * PAGE, NULL);
	}
	emi_file_gather(f, 0);
	assert_int_equal(g->taken, 3);
	gate_assert_done(g, N);
	assert_int_equal(g->entered, 0);
	for (i = 0; i < N; i++)
		assert_int_equal(buf[i < 5 ? i : i + 1][0], 1);
	gather_pieces(g, buf[0], N, PAGE, 1);
	assert_int_equal(g->taken, 3 + N);
	gate_assert_done(g, N);
	gate_end(g);
}

/* A backend that never takes anything: the blocking functions do it, for good unless it is only busy. */
static void test_refused(void **state)
{
	static const int why[] = {EAGAIN, EIO, ENOSYS};
	static char buf[50][64];
	unsigned k, i;

	(void)state;
	for (k = 0; k < 3; k++) {
		gate *g = gate_make(2, 1);
		em_file *f = gate_file(g, 4);

		g->refuse = why[k];
		for (i = 0; i < 50; i++)
			emi_write(f, &g->rq[i], buf[i], 64, i * 64, NULL);
		/* Also when nobody who waits makes them. */
		for (i = 0; i < 50; i++)
			while (i % 2 && !emi_wait_for(&g->rq[i], 10))
				continue;
		gate_assert_done(g, 50);
		assert_int_equal(g->taken, 0);
		assert_int_equal(g->entered, 50);
		assert_int_equal(f->queue->async, why[k] == EAGAIN);
		gate_end(g);
	}
}

static void count_end(emi_request *rq, void *arg)
{
	(void)rq;
	++*(unsigned *)arg;
}

/* In a process that may have no more threads: 0 when all went well. */
static int without_threads(int async)
{
	static char buf[20][64];
	struct rlimit none = {0, 0};
	gate *g = gate_make(2, async);
	em_file *f = gate_file(g, 4);
	unsigned i, ended = 0;
	const emi_request_calls calls = { .fn = count_end, .user = &ended };
	pthread_t thread;
	int wrong = 0;

	if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0))
		return 77;
	if (pthread_create(&thread, NULL, open_later, g) == 0)
		return 77;
	for (i = 0; i < 20; i++)
		emi_write(f, &g->rq[i], buf[i], 64, i * 64, NULL);
	for (i = 0; i < 10; i++)
		wrong |= emi_wait(&g->rq[i], NULL) != EM_OK;
	for (; i < 15; i++)
		while (!emi_wait_for(&g->rq[i], 0.01))
			continue;
	for (i = 0; i < 20; i++)
		wrong |= emi_wait(&g->rq[i], NULL) != EM_OK;
	/* Nobody waits: more than the backend has room for are done when they have been submitted. */
	for (i = 0; i < 20; i++)
		emi_submit(f, &g->rq[i], EMI_WRITE, buf[i], 64, i * 64, &calls);
	wrong |= ended != 20;
	for (i = 0; i < 20; i++)
		emi_write(f, &g->rq[i], buf[i], 64, i * 64, NULL);
	emi_file_close(f);
	for (i = 0; i < 20; i++)
		wrong |= g->rq[i].status != EM_OK || g->rq[i].state != EMI_DONE;
	em_ctx_close(g->ctx);
	return wrong;
}

static void test_no_thread_to_be_had(void **state)
{
	int async, status = 0;

	(void)state;
	for (async = 0; async < 2; async++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(without_threads(async));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77)
			skip();
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* Which of what waits goes first: reads, or those submitted first. */
static void test_priorities(void **state)
{
	static char buf[5][PAGE];
	static const uint64_t reads[] = {0, 1, 3, 2, 4}, none[] = {0, 1, 2, 3, 4};
	int32_t priority;
	unsigned i;

	(void)state;
	for (priority = EM_PRIORITY_READ; priority <= EM_PRIORITY_NONE; priority++) {
		gate *g = gate_make(1, 0);
		em_file *f = gate_file(g, 0);

		g->ctx->priority = priority;
		gate_set(g, 1);
		emi_read(f, &g->rq[0], buf[0], PAGE, 0, NULL);
		gate_await(g, &g->entered, 1);
		for (i = 1; i < 5; i++) {
			if (i % 2)
				emi_read(f, &g->rq[i], buf[i], PAGE, i * PAGE, NULL);
			else
				emi_write(f, &g->rq[i], buf[i], PAGE, i * PAGE, NULL);
		}
		gate_set(g, 0);
		for (i = 0; i < 5; i++)
			while (!emi_wait_for(&g->rq[i], 10))
				continue;
		gate_assert_done(g, 5);
		for (i = 0; i < 5; i++)
			assert_int_equal(g->page[i], priority == EM_PRIORITY_READ ? reads[i] : none[i]);
		gate_end(g);
	}
}

static void count_call(emi_request *rq, void *arg)
{
	unsigned *calls = arg;

	(void)rq;
	__atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
}

/* What has begun goes on; what waits, on a list or for another, is taken back, and what waited for that goes on. */
static void test_cancel(void **state)
{
	static char buf[5][PAGE];
	unsigned calls = 0, i;
	const emi_request_calls told = { count_call, NULL, &calls, NULL, NULL, NULL };
	gate *g = gate_make(1, 0);
	em_file *f = gate_file(g, 0);
	em_errinfo err;

	(void)state;
	gate_set(g, 1);
	emi_write(f, &g->rq[0], buf[0], PAGE, 0, NULL);
	gate_await(g, &g->entered, 1);
	memset(buf[1], 1, PAGE);
	memset(buf[2], 2, PAGE);
	memset(buf[3], 3, PAGE);
	emi_submit(f, &g->rq[1], EMI_WRITE, buf[1], PAGE, 0, &told);
	emi_submit(f, &g->rq[2], EMI_WRITE, buf[2], PAGE, 2 * PAGE, &told);
	emi_submit(f, &g->rq[3], EMI_WRITE, buf[3], PAGE, 100, &told);
	emi_submit(f, &g->rq[4], EMI_READ, buf[4], PAGE, 100, &told);
	assert_false(emi_cancel(&g->rq[0]));
	assert_true(emi_cancel(&g->rq[1]));
	assert_true(emi_cancel(&g->rq[2]));
	assert_false(emi_cancel(&g->rq[2]));
	assert_int_equal(__atomic_load_n(&calls, __ATOMIC_RELAXED), 2);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_wait(&g->rq[1], &err), EM_ERR_CANCELED);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	assert_int_equal(emi_wait(&g->rq[2], NULL), EM_ERR_CANCELED);
	assert_false(emi_done(&g->rq[3]));
	gate_set(g, 0);
	assert_int_equal(emi_wait(&g->rq[4], NULL), EM_OK);
	assert_int_equal(emi_wait(&g->rq[3], NULL), EM_OK);
	assert_int_equal(emi_wait(&g->rq[0], NULL), EM_OK);
	assert_int_equal(calls, 4);
	assert_false(emi_cancel(&g->rq[0]));
	for (i = 0; i < PAGE; i++) {
		assert_int_equal(buf[4][i], 3);
		assert_int_equal(g->data[i], i < 100 ? 0 : 3);
		assert_int_equal(g->data[PAGE + i], i < 100 ? 3 : 0);
		assert_int_equal(g->data[2 * PAGE + i], 0);
	}
	gate_end(g);
}

/* While space is given back, transfers of that file are not begun, but those of others are; then they go on in their
 * order. */
static void while_discarding(int async)
{
	static char buf[5][PAGE];
	const emi_extent first = {0, PAGE};
	gate *g = gate_make(2, async);
	em_file *f = gate_file(g, 0), *other = io_open(g->ctx, "/", EMI_OPEN_TEMP);
	emi_request discard;
	unsigned i;

	memset(buf, 0, sizeof buf);
	memset(buf[0], 1, PAGE);
	memset(buf[3], 3, PAGE);
	gate_set(g, 1);
	emi_discard(f, &discard, &first, 1);
	gate_await(g, &g->entered, 1);
	emi_write(f, &g->rq[0], buf[0], PAGE, PAGE, NULL);
	emi_read(f, &g->rq[1], buf[1], PAGE, PAGE, NULL);
	emi_read(f, &g->rq[2], buf[2], PAGE, 0, NULL);
	emi_write(other, &g->rq[3], buf[3], PAGE, 3 * PAGE, NULL);
	emi_read(f, &g->rq[4], buf[4], PAGE, 3 * PAGE, NULL);
	assert_int_equal(emi_wait(&g->rq[3], NULL), EM_OK);
	assert_int_equal(g->taken + g->entered, 2);
	for (i = 0; i < 3; i++)
		assert_false(emi_wait_for(&g->rq[i], 0.001));
	assert_true(emi_cancel(&g->rq[4]));
	assert_int_equal(emi_wait(&g->rq[4], NULL), EM_ERR_CANCELED);
	gate_set(g, 0);
	gate_assert_done(g, 3);
	assert_int_equal(emi_wait(&discard, NULL), EM_OK);
	assert_memory_equal(buf[1], buf[0], PAGE);
	assert_int_equal(buf[2][0], 0);
	emi_file_close(other);
	gate_end(g);
}

static void test_discard(void **state)
{
	(void)state;
	while_discarding(0);
	while_discarding(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_thread_to_be_had),
		cmocka_unit_test(test_writes_first),
		cmocka_unit_test(test_waiter_runs),
		cmocka_unit_test(test_several_threads),
		cmocka_unit_test(test_one_write),
		cmocka_unit_test(test_one_write_canceled),
		cmocka_unit_test(test_close_with_pending),
		cmocka_unit_test(test_many_users),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_no_thread_needed),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_not_joined),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_discard),
	};

	return cmocka_run_group_tests_name("io/queue", tests, NULL, NULL);
}
