/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_container_cancel.c -- em_X_cancel() of containers: nothing begins on them any more, a call in progress ends, and
 * nothing else is touched.
 *
 * Where the call is canceled is the test's choice: a placement is asked for each block that is going to be written, and
 * cancels at the k-th.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/pool.h>

#include "common/test.h"
#include "container/kinds.h"

enum { BLOCK = 4096, PER = BLOCK / 8, N = 200 * PER };

/* In as little memory as does, so that most blocks are written. */
static em_status open_one(const container_kind *k, void **out, em_ctx *ctx, const em_placement *place)
{
	const container_how how = { k->least_blocks * BLOCK, BLOCK, place, NULL, NULL };

	return k->open(out, ctx, &how);
}

/* Cancels what it is told to when block k is placed. */
typedef struct canceler {
	const container_kind *kind;
	void *x;
	uint64_t calls, at;
} canceler;

static uint32_t place_block(void *user, uint64_t i, uint32_t disks)
{
	canceler *c = user;

	(void)i;
	(void)disks;
	if (++c->calls == c->at)
		c->kind->cancel(c->x);
	return 0;
}

typedef struct place {
	test_memory mem;
	em_ctx *ctx;
	uint64_t *numbers;
	canceler canceler;
	em_placement placement;
} place;

static void setup(place *p, uint32_t flags, const container_kind *k)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	uint64_t i;

	test_memory_init(&p->mem, 0);
	o.allocator = &p->mem.allocator;
	o.memory = 16 << 20;
	o.threads = 1;
	o.backend = "memory";
	o.flags = flags;
	assert_int_equal(em_ctx_open(&p->ctx, &o), EM_OK);
	p->numbers = malloc(N * sizeof *p->numbers);
	assert_non_null(p->numbers);
	for (i = 0; i < N; i++)
		p->numbers[i] = test_random(&rng);
	p->canceler.kind = k;
	p->canceler.x = NULL;
	p->canceler.calls = p->canceler.at = 0;
	assert_int_equal(em_placement_own(&p->placement, 1, place_block, &p->canceler), EM_OK);
}

static void teardown(place *p)
{
	em_ctx_close(p->ctx);
	free(p->numbers);
	test_memory_assert_clean(&p->mem);
}

static void assert_canceled(const container_kind *k, void *x, uint64_t *room)
{
	em_errinfo err = EM_ERRINFO_INIT;

	assert_int_equal(k->push(x, room, 2), EM_ERR_CANCELED);
	k->error(x, &err);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	assert_int_equal(strncmp(err.text, "canceled", 8), 0);
	assert_int_equal(k->clear(x), EM_ERR_CANCELED);
}

/* Before anything, and with records; the neighbour goes on, and what was told stays known. */
static void test_idle(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < CONTAINER_KINDS; i++) {
		const container_kind *k = &container_kinds[i];
		uint64_t n, some[2] = {7, 8};
		void *x, *other, *empty;
		place p;

		setup(&p, 0, k);
		assert_int_equal(open_one(k, &x, p.ctx, NULL), EM_OK);
		assert_int_equal(open_one(k, &other, p.ctx, NULL), EM_OK);
		assert_int_equal(open_one(k, &empty, p.ctx, NULL), EM_OK);
		assert_int_equal(k->push(x, p.numbers, N), EM_OK);
		assert_int_equal(k->push(other, p.numbers, 10), EM_OK);
		n = k->size(x);
		k->cancel(x);
		k->cancel(x);
		k->cancel(empty);
		assert_canceled(k, x, some);
		/* Single records of a tree that are in memory still come. */
		if (i != CONTAINER_BTREE)
			assert_int_equal(k->pop(x, some, 2), EM_ERR_CANCELED);
		assert_canceled(k, empty, some);
		assert_true(k->size(x) == n);
		assert_int_equal(k->push(other, p.numbers + 10, N - 10), EM_OK);
		assert_int_equal(k->pop(other, some, 1), EM_OK);
		k->close(x);
		k->close(empty);
		k->close(other);
		teardown(&p);
	}
}

/* While blocks are written: the call ends before it is done, and closing leaves nothing. */
static void test_at_work(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < CONTAINER_KINDS; i++) {
		const container_kind *k = &container_kinds[i];
		uint64_t blocks, at;

		place p;
		/* How many blocks are placed in all. */
		setup(&p, 0, k);
		assert_int_equal(open_one(k, &p.canceler.x, p.ctx, &p.placement), EM_OK);
		assert_int_equal(k->push(p.canceler.x, p.numbers, N), EM_OK);
		blocks = p.canceler.calls;
		k->close(p.canceler.x);
		teardown(&p);
		assert_true(blocks > 20);

		for (at = 1; at < blocks / 2; at += 1 + blocks / 8) {
			uint64_t some[2] = {7, 8};

			setup(&p, test_random(&(test_rng){at}) % 2 ? EM_CTX_CHECKED : 0, k);
			p.canceler.at = at;
			assert_int_equal(open_one(k, &p.canceler.x, p.ctx, &p.placement), EM_OK);
			assert_int_equal(k->push(p.canceler.x, p.numbers, N), EM_ERR_CANCELED);
			/* Soon: what had a place already may still be written. */
			assert_true(p.canceler.calls < at + 16);
			assert_canceled(k, p.canceler.x, some);
			k->close(p.canceler.x);
			teardown(&p);
		}
	}
}

static int cancel_at_20(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)records;
	(void)n;
	if (i / PER == 20)
		em_vector_cancel(user);
	return 0;
}

/* A pass over a vector, which only reads; readers and writers go with it. */
static void test_pass(void **state)
{
	em_vector_reader *r;
	const em_batch *batch;
	em_vector *v;
	void *x;
	place p;

	(void)state;
	setup(&p, 0, &container_kinds[CONTAINER_VECTOR]);
	assert_int_equal(open_one(&container_kinds[CONTAINER_VECTOR], &x, p.ctx, NULL), EM_OK);
	v = x;
	assert_int_equal(em_vector_push_many(v, p.numbers, N, NULL), EM_OK);
	assert_int_equal(em_vector_flush(v, 0), EM_OK);
	assert_int_equal(em_vector_reader_open(&r, v, NULL), EM_OK);
	assert_int_equal(em_vector_reader_next(r, &batch), EM_OK);
	assert_int_equal(em_vector_for_each(v, 0, N, cancel_at_20, v), EM_ERR_CANCELED);
	assert_int_equal(em_vector_reader_next(r, &batch), EM_ERR_CANCELED);
	em_vector_close(v);
	assert_int_equal(em_vector_reader_next(r, &batch), EM_ERR_CANCELED);
	em_vector_reader_close(r);
	teardown(&p);
}

/* A comparison cancels the vector that is being sorted; one that was exchanged is another one. */
static em_vector *sorted;
static int compare_and_cancel(const void *a, const void *b, void *user)
{
	uint64_t *calls = user;
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	if (++*calls == 20000)
		em_vector_cancel(sorted);
	return x < y ? -1 : x > y;
}

static void test_sort(void **state)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;
	uint64_t calls = 0, left;
	em_order *order;
	void *x, *y;
	place p;

	(void)state;
	setup(&p, 0, &container_kinds[CONTAINER_VECTOR]);
	assert_int_equal(open_one(&container_kinds[CONTAINER_VECTOR], &x, p.ctx, NULL), EM_OK);
	assert_int_equal(open_one(&container_kinds[CONTAINER_VECTOR], &y, p.ctx, NULL), EM_OK);
	assert_int_equal(em_vector_push_many(y, p.numbers, N, NULL), EM_OK);
	assert_int_equal(em_vector_swap(x, y), EM_OK);
	sorted = x;
	assert_int_equal(em_order_cmp(&order, p.ctx, 8, NULL, compare_and_cancel, 0, &calls, NULL, NULL), EM_OK);
	so.run_records = 1000;
	assert_int_equal(em_vector_sort(x, 0, N, order, &so, &left), EM_ERR_CANCELED);
	assert_int_equal(em_vector_push_many(y, p.numbers, N, NULL), EM_OK);
	assert_int_equal(em_vector_flush(y, 0), EM_OK);
	em_vector_close(x);
	em_vector_close(y);
	em_order_close(order);
	teardown(&p);
}

/* Who shares a pool ends with that. */
static void test_pool(void **state)
{
	em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
	em_container_opts o = EM_CONTAINER_OPTS_INIT;
	em_disks *disks;
	em_block_pool *pool;
	em_stack *a, *b;
	place p;

	(void)state;
	setup(&p, 0, &container_kinds[CONTAINER_STACK]);
	assert_int_equal(em_disks_open(&disks, p.ctx, NULL), EM_OK);
	po.block_bytes = BLOCK;
	po.write_buffers = po.prefetch_buffers = 8;
	assert_int_equal(em_block_pool_open(&pool, disks, &po), EM_OK);
	o.record_bytes = 8;
	o.block_bytes = BLOCK;
	o.memory_bytes = 4 * BLOCK;
	o.pool = pool;
	assert_int_equal(em_stack_open(&a, p.ctx, &o), EM_OK);
	assert_int_equal(em_stack_open(&b, p.ctx, &o), EM_OK);
	assert_int_equal(em_stack_push_many(a, p.numbers, N, NULL), EM_OK);
	em_stack_cancel(a);
	assert_int_equal(em_stack_push_many(a, p.numbers, N, NULL), EM_ERR_CANCELED);
	assert_int_equal(em_stack_push_many(b, p.numbers, N, NULL), EM_OK);
	em_block_pool_cancel(pool);
	assert_int_equal(em_stack_push_many(b, p.numbers, N, NULL), EM_ERR_CANCELED);
	assert_int_equal(em_block_pool_flush(pool), EM_ERR_CANCELED);
	em_stack_close(a);
	em_stack_close(b);
	em_block_pool_close(pool);
	em_disks_close(disks);
	teardown(&p);
}

static void *cancel_later(void *x)
{
	em_queue_cancel(x);
	return NULL;
}

/* By another thread, at any time. */
static void test_thread(void **state)
{
	pthread_t thread;
	em_status st = EM_OK;
	em_queue *q;
	void *x;
	place p;

	(void)state;
	setup(&p, 0, &container_kinds[CONTAINER_QUEUE]);
	assert_int_equal(open_one(&container_kinds[CONTAINER_QUEUE], &x, p.ctx, NULL), EM_OK);
	q = x;
	assert_int_equal(pthread_create(&thread, NULL, cancel_later, q), 0);
	while (st == EM_OK) {
		st = em_queue_push_many(q, p.numbers, N, NULL);
		if (st == EM_OK)
			st = em_queue_pop_many(q, p.numbers, N, NULL);
	}
	assert_int_equal(st, EM_ERR_CANCELED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	em_queue_close(q);
	teardown(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle), cmocka_unit_test(test_at_work), cmocka_unit_test(test_pass),
		cmocka_unit_test(test_sort), cmocka_unit_test(test_pool),    cmocka_unit_test(test_thread),
	};

	return cmocka_run_group_tests_name("container/cancel", tests, NULL, NULL);
}
