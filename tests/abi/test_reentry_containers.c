/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_reentry_containers.c -- calls on containers while one is in progress, and while what reads or writes them is
 * being closed; see reentry_case.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "abi/reentry_case.h"

static void vector_again(reentry *a)
{
	em_vector_stats stats = EM_VECTOR_STATS_INIT;
	uint64_t one = 1, at = 0;
	em_vector_writer *w;
	em_vector_reader *r;
	void *p;

	assert_int_equal(em_vector_get(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_set(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_read(a->object, 0, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_write(a->object, 0, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_read_many(a->object, &at, 1, &one), EM_ERR_BUSY);
	em_vector_hint(a->object, 0);
	assert_int_equal(em_vector_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_push_many(a->object, &one, 1, &at), EM_ERR_BUSY);
	assert_int_equal(em_vector_resize(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_reserve(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_shrink(a->object), EM_ERR_BUSY);
	assert_int_equal(em_vector_swap(a->object, a->object), EM_ERR_BUSY);
	assert_int_equal(em_vector_flush(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_export(a->object, "x"), EM_ERR_BUSY);
	assert_int_equal(em_vector_pin(a->object, 0, 0, &p), EM_ERR_BUSY);
	assert_int_equal(em_vector_reader_open(&r, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_vector_writer_open(&w, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_vector_fill(a->object, 0, 1, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_copy(a->object, 0, a->object, 0, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_reverse(a->object, 0, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_shuffle(a->object, 0, 1, 1, NULL), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_vector_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_vector_size(a->object), N);
	assert_int_equal(em_vector_record_bytes(a->object), 8);
}

static int visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	reentry_called(0);
	return n == 0;
}

static int change(void *user, uint64_t i, void *records, uint64_t n)
{
	return visit(user, i, records, n);
}

static int ask(void *user, const void *record)
{
	return visit(user, 0, record, 1);
}

/* Every function that calls one of the caller's. */
static void test_vector(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = reentry_ctx(0);
	em_order *order = reentry_order(ctx);
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_vector *v;
	uint64_t at;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	opts.record_bytes = 8;
	opts.block_bytes = B;
	opts.cache_bytes = 2 * B;
	assert_int_equal(em_vector_open(&v, ctx, &opts), EM_OK);
	assert_int_equal(em_vector_push_many(v, records, N, NULL), EM_OK);
	reentry_begin(vector_again, v);
	assert_int_equal(em_vector_for_each(v, 0, N, visit, NULL), EM_OK);
	assert_int_equal(em_vector_mutate(v, 0, N, change, NULL), EM_OK);
	assert_int_equal(em_vector_generate(v, 0, 0, change, NULL), EM_OK);
	assert_int_equal(em_vector_find(v, 0, N, ask, NULL, &at), EM_NOT_FOUND);
	assert_int_equal(em_vector_count(v, 0, N, ask, NULL, &at), EM_OK);
	assert_int_equal(at, 0);
	assert_int_equal(em_vector_partition(v, 0, N, ask, NULL, &at), EM_OK);
	assert_int_equal(at, 0);
	assert_int_equal(em_vector_nth_element(v, 0, N, N / 2, order), EM_OK);
	assert_int_equal(em_vector_sort(v, 0, N, order, NULL, NULL), EM_OK);
	assert_int_equal(em_vector_find_disorder(v, 0, N, order, &at), EM_NOT_FOUND);
	assert_int_equal(em_vector_lower_bound(v, 0, N, order, records, &at), EM_OK);
	assert_int_equal(at, N - 1);
	reentry_end(N);
	em_vector_close(v);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

/* Of the tree. */
static em_btree_cursor *tree_cursor;

static void btree_again(reentry *a)
{
	em_btree_loader *l;
	em_btree_cursor *c;
	em_btree_stats stats = EM_BTREE_STATS_INIT;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_btree_insert(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_upsert(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_get(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_lower_bound(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_upper_bound(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_count(a->object, NULL, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_btree_for_each(a->object, NULL, NULL, visit, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_for_each_many(a->object, &one, NULL, 1, visit, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase(a->object, &one, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_range(a->object, NULL, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_equal(a->object, &one, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_min(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_max(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_pop_min(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_pop_max(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_flush(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_verify(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_save(a->object, "none"), EM_ERR_BUSY);
	assert_int_equal(em_btree_get_many(a->object, &one, 1, &one, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_lower_bound_many(a->object, &one, 1, &one, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_insert_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_upsert_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_insert_sorted(a->object, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_load_sorted(a->object, NULL, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_loader_open(&l, a->object, NULL), EM_ERR_BUSY);
	assert_null(l);
	assert_int_equal(em_btree_cursor_open(&c, a->object), EM_ERR_BUSY);
	assert_null(c);
	assert_int_equal(em_btree_cursor_seek(tree_cursor, &one, EM_BTREE_GE), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_get(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_next(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_prev(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_next_many(tree_cursor, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_prev_many(tree_cursor, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_insert(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_put(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_erase(tree_cursor), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_count(tree_cursor, &n), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_btree_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_btree_record_bytes(a->object), 8);
}

/* The order's function is called in all that looks for a place. */
static void test_btree(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = reentry_ctx(0);
	em_order *order = reentry_order(ctx);
	em_btree *t;
	size_t i;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	assert_int_equal(em_btree_cursor_open(&tree_cursor, t), EM_OK);
	reentry_begin(btree_again, t);
	for (i = 0; i < N; i++)
		assert_true(em_btree_insert(t, records + 8 * i) >= EM_OK);
	assert_int_equal(em_btree_for_each(t, NULL, NULL, visit, NULL), EM_OK);
	assert_int_equal(em_btree_for_each_many(t, records, NULL, 1, visit, NULL), EM_OK);
	reentry_end(N);
	em_btree_cursor_close(tree_cursor);
	em_btree_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void radix_heap_again(reentry *a)
{
	em_radix_heap_stats stats = EM_RADIX_HEAP_STATS_INIT;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_radix_heap_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_radix_heap_pop(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_top(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_clear(a->object), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_radix_heap_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_radix_heap_record_bytes(a->object), 8);
}

/* Memory is all that it asks others for. */
static void test_radix_heap(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_radix_heap *h;
	uint64_t n;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	opts.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, ctx, &opts), EM_OK);
	reentry_begin(radix_heap_again, h);
	assert_int_equal(em_radix_heap_push_many(h, records, N, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop_many(h, records, N, &n), EM_OK);
	assert_int_equal(n, N);
	reentry_end(2);
	em_radix_heap_close(h);
	em_ctx_close(ctx);
	free(records);
}

static void pq_again(reentry *a)
{
	em_pq_stats stats = EM_PQ_STATS_INIT;
	const em_batch *batch;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_pq_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_pq_pop(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_pq_pop_until(a->object, &one, 0, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_pq_top(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_pushpop(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_replace(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_next(a->object, &batch), EM_ERR_BUSY);
	assert_int_equal(em_cursor_refill(em_pq_cursor(a->object)), EM_ERR_BUSY);
	assert_int_equal(em_pq_clear(a->object), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_pq_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_pq_record_bytes(a->object), 8);
}

/* A queue by a function: that and memory are what it asks others for. */
static void test_pq(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_order *order;
	uint64_t n;
	em_pq *q;

	(void)state;
	assert_non_null(records);
	reentry_records(records);
	assert_int_equal(em_order_cmp(&order, ctx, 8, NULL, reentry_compare, 0, NULL, NULL, NULL), EM_OK);
	opts.order = order;
	assert_int_equal(em_pq_open(&q, ctx, &opts), EM_OK);
	reentry_begin(pq_again, q);
	assert_int_equal(em_pq_push_many(q, records, N, NULL), EM_OK);
	assert_int_equal(em_pq_pop_many(q, records, N, &n), EM_OK);
	assert_int_equal(n, N);
	reentry_end(N);
	em_pq_close(q);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void deque_again(reentry *a)
{
	em_window *back = em_deque_back_window(a->object), *front = em_deque_front_window(a->object);
	em_container_stats stats = EM_CONTAINER_STATS_INIT;
	uint64_t one = 1, n = 7;
	em_deque_reader *r;

	assert_int_equal(em_window_push_back(back, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_pop_back(back, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_push_front(front, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_pop_front(front, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_back_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_deque_push_front_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_back_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_front_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_get(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_set(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_deque_prefetch(a->object, 1), EM_ERR_BUSY);
	assert_int_equal(em_deque_swap(a->object, a->object), EM_ERR_BUSY);
	assert_int_equal(em_deque_reader_open(&r, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_deque_stats_get(a->object, &stats), EM_OK);
	assert_true(em_deque_size(a->object) <= N);
}

/* The allocator calls it, while blocks come, and go. */
static void test_deque(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_deque *d;
	uint64_t i, got;

	(void)state;
	opts.record_bytes = 8;
	opts.block_bytes = B;
	opts.memory_bytes = 8 * B;
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	reentry_begin(deque_again, d);
	for (i = 0; i < N; i++)
		assert_int_equal(em_deque_push_back(d, &i), EM_OK);
	for (i = 0; i < N; i++) {
		assert_int_equal(em_deque_pop_front(d, &got), EM_OK);
		assert_int_equal(got, i);
	}
	assert_int_equal(em_deque_clear(d), EM_OK);
	reentry_end(2);
	em_deque_close(d);
	em_ctx_close(ctx);
}

/* And of readers and what they read. */
static void test_close_reader(void **state)
{
	em_vector_opts vo = EM_VECTOR_OPTS_INIT;
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx *ctx = reentry_ctx(0);
	em_vector_reader *vr;
	em_vector_writer *w;
	em_deque_reader *r;
	em_vector *v;
	em_deque *d;
	uint64_t i;

	(void)state;
	vo.record_bytes = opts.record_bytes = 8;
	vo.block_bytes = opts.block_bytes = B;
	vo.cache_bytes = 2 * B;
	opts.memory_bytes = 8 * B;
	assert_int_equal(em_vector_open(&v, ctx, &vo), EM_OK);
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	for (i = 0; i < N; i++) {
		assert_int_equal(em_vector_push(v, &i), EM_OK);
		assert_int_equal(em_deque_push_back(d, &i), EM_OK);
	}
	assert_int_equal(em_vector_reader_open(&vr, v, NULL), EM_OK);
	reentry_begin(vector_again, v);
	em_vector_reader_close(vr);
	reentry_end(1);
	assert_int_equal(em_vector_writer_open(&w, v, NULL), EM_OK);
	reentry_begin(vector_again, v);
	em_vector_writer_close(w);
	reentry_end(1);
	assert_int_equal(em_deque_reader_open(&r, d, NULL), EM_OK);
	reentry_begin(deque_again, d);
	em_deque_reader_close(r);
	reentry_end(1);
	assert_int_equal(em_vector_get(v, 1, &i), EM_OK);
	assert_int_equal(i, 1);
	assert_int_equal(em_deque_pop_front(d, &i), EM_OK);
	assert_int_equal(i, 0);
	em_vector_close(v);
	em_deque_close(d);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_btree),
		cmocka_unit_test(test_pq),
		cmocka_unit_test(test_radix_heap),
		cmocka_unit_test(test_deque),
		cmocka_unit_test(test_close_reader),
	};

	return cmocka_run_group_tests_name("abi/reentry_containers", tests, NULL, NULL);
}
