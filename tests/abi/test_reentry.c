/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_reentry.c -- calls on sorts and streams while one is in progress; see reentry_case.h.  And by other threads, in
 * contexts that are checked.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/reentry_case.h"

static int progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	(void)user;
	(void)phase;
	(void)done;
	(void)total;
	reentry_called(0);
	return 0;
}

static void sorter_again(reentry *a)
{
	const uint64_t end = 8;
	const em_batch *batch = (const em_batch *)&end;
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_errinfo err;

	assert_int_equal(em_sorter_push(a->object, &end, 1), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_bytes(a->object, &end, 8), EM_ERR_BUSY);
	assert_int_equal(em_sorter_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_file(a->object, "/dev/null"), EM_ERR_BUSY);
	assert_int_equal(em_sorter_pull_file(a->object, "/dev/null"), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_batch(a->object, &end, NULL, 1), EM_ERR_BUSY);
	assert_int_equal(em_sorter_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sorter_next(a->object, &batch), EM_ERR_BUSY);
	assert_null(batch);
	assert_int_equal(em_cursor_refill(em_sorter_cursor(a->object)), EM_ERR_BUSY);
	if (a->locked)
		return;
	assert_int_equal(em_sorter_stats_get(a->object, &stats), EM_OK);
	em_sorter_error(a->object, &err);
	assert_true(em_sorter_longest(a->object) != 0);
}

static void top_again(reentry *a)
{
	const uint64_t end = 8;
	const em_batch *batch;

	assert_int_equal(em_top_push(a->object, &end, 1), EM_ERR_BUSY);
	assert_int_equal(em_top_push_batch(a->object, &end, NULL, 1), EM_ERR_BUSY);
	assert_int_equal(em_top_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_top_next(a->object, &batch), EM_ERR_BUSY);
}

/* In memory and with runs. */
static void test_sorter(void **state)
{
	unsigned char *records = malloc(N * 8);
	int round;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	for (round = 0; round < 4; round++) {
		em_ctx *ctx = reentry_ctx(round % 2 == 0 ? 0 : EM_CTX_CHECKED);
		em_order *order = reentry_order(ctx);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		const unsigned char *last = NULL;
		const em_batch *batch;
		uint64_t n = 0;
		em_sorter *s;
		em_status st;

		opts.run_records = round < 2 ? 0 : 300;
		opts.block_bytes = B;
		opts.progress = progress;
		assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
		reentry_begin(sorter_again, s);
		assert_int_equal(em_sorter_push(s, records, N), EM_OK);
		assert_int_equal(em_sorter_finish(s), EM_OK);
		while ((st = em_sorter_next(s, &batch)) == EM_OK) {
			last = (const unsigned char *)batch->records + batch->bytes - 8;
			assert_int_equal(last[0] << 8 | last[1], (int)(n += batch->n));
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(n, N);
		reentry_end(N);
		em_sorter_close(s);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(records);
}

static void test_top(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = reentry_ctx(0);
	em_order *order = reentry_order(ctx);
	const em_batch *batch;
	em_top *t;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	assert_int_equal(em_top_open(&t, ctx, order, 0, 5, NULL), EM_OK);
	reentry_begin(top_again, t);
	assert_int_equal(em_top_push(t, records, N), EM_OK);
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_int_equal(em_top_next(t, &batch), EM_OK);
	reentry_end(100);
	assert_int_equal(batch->n, 5);
	assert_memory_equal(batch->records, records + 8 * (N - 1), 8);
	em_top_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void close_it(reentry *a)
{
	if (a->times == 20)
		em_sorter_close(a->object);
}

/* It ends soon, and is released when the call returns. */
static void test_close(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = reentry_ctx(0);
	em_order *order = reentry_order(ctx);
	const uint64_t before = em_ctx_memory_used(ctx);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_sorter *s;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	opts.run_records = 300;
	opts.block_bytes = B;
	assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
	reentry_begin(close_it, s);
	assert_int_equal(em_sorter_push(s, records, N), EM_ERR_CANCELED);
	reentry_end(21);
	assert_true(em_ctx_memory_used(ctx) <= before + MIB);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static int make_numbers(void *user, uint64_t i, void *to, size_t *n)
{
	(void)user;
	(void)i;
	memset(to, 0, *n * 8);
	reentry_called(0);
	return 0;
}

static void stream_again(reentry *a)
{
	const em_batch *batch;
	uint64_t n = 77;

	assert_int_equal(em_stream_next(a->object, &batch), EM_ERR_BUSY);
	assert_null(batch);
	assert_int_equal(em_stream_batch(a->object, 1), EM_ERR_BUSY);
	assert_int_equal(em_stream_pump(a->object, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_cursor_refill(em_stream_cursor(a->object)), EM_ERR_BUSY);
	assert_int_equal(em_stream_record_bytes(a->object), 8);
	assert_int_equal(em_stream_count(a->object), N);
}

static em_status push_numbers(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	reentry_called(0);
	return EM_OK;
}

static void sink_again(reentry *a)
{
	uint64_t one = 1;

	assert_int_equal(em_sink_push(a->object, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_sink_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sink_record_bytes(a->object), 8);
}

static void test_streams(void **state)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	uint64_t n;
	em_stream *s;
	em_sink *k;

	(void)state;
	ops.push = push_numbers;
	assert_int_equal(em_stream_generate(&s, ctx, 8, N, make_numbers, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_sink_open(&k, ctx, 8, &ops, NULL, NULL), EM_OK);
	reentry_begin(stream_again, s);
	while (em_stream_empty(em_stream_cursor(s)) == 0 && reentry_times() == 0)
		continue;
	reentry_end(1);
	reentry_begin(sink_again, k);
	assert_int_equal(em_stream_pump(s, k, &n), EM_OK);
	assert_int_equal(n, N);
	reentry_end(2);
	em_sink_close(k);
	em_stream_close(s);
	em_ctx_close(ctx);
}

/* While one thread waits within a comparison, another one is told. */
typedef struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int at;                 /* 1: the first is inside, 2: the other one was refused */
	em_sorter *s;
	em_status got[3];
} meeting;

static void wait_for(meeting *m, int at)
{
	pthread_mutex_lock(&m->lock);
	while (m->at < at)
		pthread_cond_wait(&m->moved, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

static void move_to(meeting *m, int at)
{
	pthread_mutex_lock(&m->lock);
	if (m->at < at)
		m->at = at;
	pthread_cond_broadcast(&m->moved);
	pthread_mutex_unlock(&m->lock);
}

static int meet(const void *a, const void *b, void *user)
{
	move_to(user, 1);
	wait_for(user, 2);
	return memcmp(a, b, 8);
}

static void *other(void *arg)
{
	const em_batch *batch;
	meeting *m = arg;

	wait_for(m, 1);
	m->got[0] = em_sorter_push(m->s, "12345678", 1);
	m->got[1] = em_sorter_finish(m->s);
	m->got[2] = em_sorter_next(m->s, &batch);
	move_to(m, 2);
	return NULL;
}

static void test_threads(void **state)
{
	meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, NULL, { 0, 0, 0 } };
	em_ctx *ctx = reentry_ctx(EM_CTX_CHECKED);
	const em_batch *batch;
	em_order *order;
	pthread_t thread;
	int i;

	(void)state;
	reentry_stop();
	assert_int_equal(em_order_cmp(&order, ctx, 8, "own", meet, 0, &m, NULL, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&m.s, ctx, order, NULL), EM_OK);
	assert_int_equal(pthread_create(&thread, NULL, other, &m), 0);
	assert_int_equal(em_sorter_push(m.s, "bbbbbbbbaaaaaaaa", 2), EM_OK);
	assert_int_equal(em_sorter_finish(m.s), EM_OK);
	assert_int_equal(em_sorter_next(m.s, &batch), EM_OK);
	assert_memory_equal(batch->records, "aaaaaaaabbbbbbbb", 16);
	pthread_join(thread, NULL);
	for (i = 0; i < 3; i++)
		assert_int_equal(m.got[i], EM_ERR_BUSY);
	em_sorter_close(m.s);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorter),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("abi/reentry", tests, NULL, NULL);
}
