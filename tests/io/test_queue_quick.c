/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_queue_quick.c -- transfers that are done sooner than a thread is woken.
 *
 * The queue then does not call a worker for each of them, and who waits makes those of others.  Whatever way one waits,
 * and if nobody does, everything must get done, be counted, and have its function called once; also when a slow
 * transfer is among the quick ones.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <extmem/sys/request.h>

#include "io/io_test.h"
#include "io/queue.h"

enum { SPACE = 1 << 16, UNIT = 64, MOST = 20, USERS = 3, ROUNDS = 2000, FILES = 3, EACH = 6 };

/* A small file in memory; every slow-th transfer takes a while. */
typedef struct quick {
	em_backend be;
	char data[SPACE];
	unsigned slow;          /* 0: none */
	unsigned transfers;     /* atomic */
	int held;               /* giving space back takes until it is 0; atomic */
	int shut;               /* and transfers until this is */
} quick;

static int quick_open(void *user, em_backend_open *how)
{
	how->handle = user;
	return 0;
}

static void quick_close(void *handle, int forked)
{
	(void)handle;
	(void)forked;
}

static int quick_size(void *handle, uint64_t *bytes)
{
	(void)handle;
	*bytes = SPACE;
	return 0;
}

static int quick_resize(void *handle, uint64_t bytes)
{
	(void)handle;
	(void)bytes;
	return 0;
}

static void nap(void)
{
	const struct timespec t = {0, 1000000};

	nanosleep(&t, NULL);
}

static void take_time(quick *b)
{
	const unsigned i = __atomic_add_fetch(&b->transfers, 1, __ATOMIC_RELAXED);

	if (b->slow && i % b->slow == 0)
		nap();
	while (__atomic_load_n(&b->shut, __ATOMIC_ACQUIRE))
		nap();
}

static int64_t quick_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	quick *b = handle;

	take_time(b);
	memcpy(buf, b->data + offset, bytes);
	return (int64_t)bytes;
}

static int64_t quick_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	quick *b = handle;

	take_time(b);
	memcpy(b->data + offset, buf, bytes);
	return (int64_t)bytes;
}

static int quick_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	quick *b = handle;

	(void)offset;
	(void)bytes;
	while (__atomic_load_n(&b->held, __ATOMIC_ACQUIRE))
		nap();
	return 0;
}

static em_ctx *quick_ctx(quick *b, uint32_t threads, unsigned slow)
{
	io_setup setup = {0};

	memset(b, 0, sizeof *b);
	b->be.size = sizeof b->be;
	b->be.threads = threads;
	b->be.name = "quick";
	b->be.user = b;
	b->be.open = quick_open;
	b->be.close = quick_close;
	b->be.get_size = quick_size;
	b->be.set_size = quick_resize;
	b->be.read = quick_read;
	b->be.write = quick_write;
	b->be.discard = quick_discard;
	b->slow = slow;
	setup.custom = &b->be;
	setup.direct = EM_DIRECT_OFF;
	return io_ctx(&setup);
}

static em_file *quick_file(em_ctx *ctx, uint32_t queue)
{
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_file *f;

	opts.flags = EM_OPEN_TEMP;
	opts.queue = queue;
	assert_int_equal(em_file_open(&f, ctx, "/", &opts), EM_OK);
	return f;
}

typedef struct user {
	em_file *f;
	uint64_t base;          /* its part of the file */
	uint64_t seed;
	unsigned rounds;
	uint64_t submitted;
	int wrong;
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned called;
	int failed;             /* a request that told its function */
} user;

static void called(em_request *rq, void *arg)
{
	user *u = arg;

	pthread_mutex_lock(&u->lock);
	u->failed |= em_request_status(rq) != EM_OK;
	u->called++;
	pthread_cond_signal(&u->change);
	pthread_mutex_unlock(&u->lock);
}

/* Nobody waits for a request here. */
static void await_calls(user *u, unsigned n)
{
	pthread_mutex_lock(&u->lock);
	while (u->called < n)
		pthread_cond_wait(&u->change, &u->lock);
	u->wrong |= u->called != n || u->failed;
	u->called = 0;
	pthread_mutex_unlock(&u->lock);
}

static void await_any(user *u, em_request **rq, unsigned n)
{
	while (n > 0) {
		const uint32_t i = em_request_wait_any(rq, n, -1);

		u->wrong |= em_request_wait(rq[i]) != EM_OK;
		em_request_close(rq[i]);
		rq[i] = rq[--n];
	}
}

static void await_each(user *u, em_request **rq, unsigned n, test_rng *rng)
{
	const uint64_t way = test_below(rng, 3);

	while (n-- > 0) {
		if (way == 1)
			while (!em_request_wait_for(rq[n], 10))
				continue;
		if (way == 2)
			while (!em_request_poll(rq[n]))
				continue;
		u->wrong |= em_request_wait(rq[n]) != EM_OK;
		em_request_close(rq[n]);
	}
}

/* A few requests at once, waited for in one way or another: each place is written and read back. */
static void *use(void *arg)
{
	user *u = arg;
	test_rng rng = test_rng_make(u->seed);
	char out[MOST][UNIT], in[MOST][UNIT];
	em_request *rq[2 * MOST];
	unsigned round, i;

	for (round = 0; round < u->rounds; round++) {
		const unsigned n = 1 + (unsigned)test_below(&rng, MOST);
		const uint64_t way = test_below(&rng, 3);
		const em_request_fn fn = way == 0 ? called : NULL;

		u->submitted += 2 * n;
		for (i = 0; i < n; i++) {
			const uint64_t at = u->base + i * UNIT;

			test_fill(&rng, out[i], UNIT);
			u->wrong |=
				em_file_write_async(u->f, out[i], UNIT, at, fn, u, way ? &rq[2 * i] : NULL) != EM_OK;
			u->wrong |=
				em_file_read_async(u->f, in[i], UNIT, at, fn, u, way ? &rq[2 * i + 1] : NULL) != EM_OK;
		}
		if (way == 0)
			await_calls(u, 2 * n);
		else if (way == 1)
			await_any(u, rq, 2 * n);
		else
			await_each(u, rq, 2 * n, &rng);
		for (i = 0; i < n; i++)
			u->wrong |= memcmp(in[i], out[i], UNIT) != 0;
	}
	return NULL;
}

static void users(test_rng *rng, uint32_t threads, unsigned slow)
{
	static quick b;
	static user u[USERS];
	em_ctx *ctx = quick_ctx(&b, threads, slow);
	em_file *f = quick_file(ctx, 0);
	em_io_stats stats = EM_IO_STATS_INIT;
	pthread_t thread[USERS];
	uint64_t all = 0;
	unsigned i;

	memset(u, 0, sizeof u);
	for (i = 0; i < USERS; i++) {
		u[i].f = f;
		u[i].base = (uint64_t)i * MOST * UNIT;
		u[i].seed = test_random(rng);
		u[i].rounds = ROUNDS / test_fewer();
		pthread_mutex_init(&u[i].lock, NULL);
		pthread_cond_init(&u[i].change, NULL);
		assert_int_equal(pthread_create(&thread[i], NULL, use, &u[i]), 0);
	}
	for (i = 0; i < USERS; i++) {
		pthread_join(thread[i], NULL);
		assert_false(u[i].wrong);
		all += u[i].submitted;
		pthread_mutex_destroy(&u[i].lock);
		pthread_cond_destroy(&u[i].change);
	}
	assert_int_equal(em_file_stats_get(f, &stats), EM_OK);
	assert_int_equal(stats.queue, 0);
	assert_int_equal(stats.reads + stats.writes, all);
	assert_int_equal(b.transfers, all);
	assert_true(f->queue->threads <= threads);
	em_file_close(f);
	em_ctx_close(ctx);
}

static void test_all_ways_of_waiting(void **state)
{
	test_rng rng = test_rng_make(test_seed());

	(void)state;
	users(&rng, 1, 0);
	users(&rng, 4, 0);
	users(&rng, 1, 500);
	users(&rng, 4, 100);
}

/* One who gives space back, which may take long, is not one who will make transfers soon. */
static void test_chore(void **state)
{
	static quick b;
	static char buf[UNIT];
	const struct timespec t = {0, 20000000};
	const emi_extent all = {0, SPACE};
	em_ctx *ctx = quick_ctx(&b, 2, 0);
	em_file *f = quick_file(ctx, 0), *other = quick_file(ctx, 0);
	em_request *rq;
	emi_request discard;
	unsigned i;
	user u;

	(void)state;
	memset(&u, 0, sizeof u);
	pthread_mutex_init(&u.lock, NULL);
	pthread_cond_init(&u.change, NULL);
	/* Until the queue is quick, and the workers are there. */
	for (i = 0; i < 500; i++) {
		assert_int_equal(em_file_read_async(f, buf, UNIT, 0, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
	}
	/* And all of them sleep, as they most likely do after that time. */
	nanosleep(&t, NULL);
	__atomic_store_n(&b.held, 1, __ATOMIC_RELEASE);
	emi_discard(f, &discard, &all, 1);
	assert_int_equal(em_file_read_async(other, buf, UNIT, 0, called, &u, NULL), EM_OK);
	await_calls(&u, 1);
	assert_false(emi_done(&discard));
	__atomic_store_n(&b.held, 0, __ATOMIC_RELEASE);
	assert_int_equal(emi_wait(&discard, NULL), EM_OK);
	assert_false(u.wrong);
	pthread_mutex_destroy(&u.lock);
	pthread_cond_destroy(&u.change);
	em_file_close(other);
	em_file_close(f);
	em_ctx_close(ctx);
}

/* Closed while a worker naps, or just wakes up. */
static void test_close(void **state)
{
	static quick b;
	static char buf[MOST][UNIT];
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = quick_ctx(&b, 2, 0);
	const uint64_t before = em_ctx_memory_used(ctx);
	unsigned round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		em_file *f = quick_file(ctx, 0);
		const unsigned n = 1 + (unsigned)test_below(&rng, 20);

		for (i = 0; i < 40 * n; i++)
			assert_int_equal(em_file_write_async(f, buf[i % MOST], UNIT, i % 1000 * UNIT, NULL, NULL, NULL),
					 EM_OK);
		em_file_close(f);
	}
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
}

static void stats_of(em_ctx *ctx, em_file *const *f, em_io_stats *file, em_io_stats *disk, em_io_stats *all)
{
	const em_io_stats none = EM_IO_STATS_INIT;
	unsigned i;

	for (i = 0; i < FILES; i++) {
		file[i] = none;
		assert_int_equal(em_file_stats_get(f[i], &file[i]), EM_OK);
	}
	for (i = 0; i < 2; i++) {
		disk[i] = none;
		assert_int_equal(em_ctx_disk_stats_get(ctx, i, &disk[i], NULL, 0), EM_OK);
	}
	assert_int_equal(em_ctx_disk_stats_get(ctx, 2, &disk[0], NULL, 0), EM_END);
	*all = none;
	assert_int_equal(em_ctx_io_stats_get(ctx, all), EM_OK);
}

/* Sums are those of the parts; of the time that something was busy, the parts may have been so at once. */
static void assert_sum(const em_io_stats *all, const em_io_stats *part, unsigned n)
{
	em_io_stats sum = EM_IO_STATS_INIT;
	double most = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		sum.reads += part[i].reads;
		sum.writes += part[i].writes;
		sum.bytes_read += part[i].bytes_read;
		sum.bytes_written += part[i].bytes_written;
		sum.read_seconds += part[i].read_seconds;
		sum.write_seconds += part[i].write_seconds;
		sum.read_wait += part[i].read_wait;
		sum.write_wait += part[i].write_wait;
		sum.busy += part[i].busy;
		most = part[i].busy > most ? part[i].busy : most;
	}
	assert_int_equal(sum.reads, all->reads);
	assert_int_equal(sum.writes, all->writes);
	assert_int_equal(sum.bytes_read, all->bytes_read);
	assert_int_equal(sum.bytes_written, all->bytes_written);
	assert_true(fabs(sum.read_seconds - all->read_seconds) < 1e-8);
	assert_true(fabs(sum.write_seconds - all->write_seconds) < 1e-8);
	assert_true(fabs(sum.read_wait - all->read_wait) < 1e-8);
	assert_true(fabs(sum.write_wait - all->write_wait) < 1e-8);
	assert_true(all->busy <= sum.busy + 1e-8);
	assert_true(all->busy >= most - 1e-8);
}

/* Two files of one disk and one of another, waited for as the first of all: what each took, and that somebody
 * waited. */
static void test_statistics(void **state)
{
	static quick b;
	static char buf[FILES * EACH][UNIT];
	em_ctx *ctx = quick_ctx(&b, 2, 1);
	em_io_stats file[FILES], disk[2], all;
	em_request *rq[FILES * EACH];
	const double begin = emi_now();
	em_file *f[FILES];
	double passed;
	user u;
	unsigned i;

	(void)state;
	memset(&u, 0, sizeof u);
	for (i = 0; i < FILES; i++)
		f[i] = quick_file(ctx, 1 + i / 2);
	/* None is done before the last is submitted, however slow that is. */
	__atomic_store_n(&b.shut, 1, __ATOMIC_RELEASE);
	for (i = 0; i < FILES * EACH; i++)
		assert_int_equal(i % 2 ? em_file_write_async(f[i % FILES], buf[i], UNIT, i * UNIT, NULL, NULL, &rq[i])
				       : em_file_read_async(f[i % FILES], buf[i], UNIT, i * UNIT, NULL, NULL, &rq[i]),
				 EM_OK);
	__atomic_store_n(&b.shut, 0, __ATOMIC_RELEASE);
	await_any(&u, rq, FILES * EACH);
	assert_false(u.wrong);
	stats_of(ctx, f, file, disk, &all);
	passed = emi_now() - begin;
	assert_int_equal(all.reads, FILES * EACH / 2);
	assert_int_equal(all.writes, FILES * EACH / 2);
	assert_int_equal(all.bytes_read, FILES * EACH / 2 * UNIT);
	assert_int_equal(all.queue, 0);
	assert_int_equal(all.queue_most, FILES * EACH);
	assert_sum(&all, disk, 2);
	assert_sum(&all, file, FILES);
	/* A transfer takes a millisecond at least, and each disk has two threads. */
	assert_true(all.read_seconds + all.write_seconds >= FILES * EACH * 0.001);
	assert_true(all.busy >= FILES * EACH * 0.001 / 4);
	assert_true(all.busy <= passed && all.read_busy <= all.busy && all.write_busy <= all.busy);
	assert_true(all.read_wait + all.write_wait > 0);
	assert_true(all.read_wait + all.write_wait <= passed);
	for (i = 0; i < FILES; i++)
		em_file_close(f[i]);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_ways_of_waiting),
		cmocka_unit_test(test_chore),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_statistics),
	};

	return cmocka_run_group_tests_name("io/queue_quick", tests, NULL, NULL);
}
