/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_null_containers.c -- calls on containers with an argument that is NULL; see null_case.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/null_case.h"

NULL_ERROR_OF(deque)
NULL_ERROR_OF(deque_reader)
NULL_ERROR_OF(queue)
NULL_ERROR_OF(stack)
NULL_ERROR_OF(btree)
NULL_ERROR_OF(btree_cursor)
NULL_ERROR_OF(btree_loader)
NULL_ERROR_OF(pq)
NULL_ERROR_OF(radix_heap)
NULL_ERROR_OF(vector)
NULL_ERROR_OF(vector_reader)
NULL_ERROR_OF(vector_writer)

static int visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	return n == 0;
}

static int change(void *user, uint64_t i, void *records, uint64_t n)
{
	return visit(user, i, records, n);
}

static int test(void *user, const void *record)
{
	return visit(user, 0, record, 1);
}

static void test_stacks_and_queues(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	uint64_t got = 0;
	em_stack *s;
	em_queue *q;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_stack_open(&s, null_ctx, &opts), EM_OK);
	told(em_stack_push(s, NULL), "record", stack_error, s);
	told(em_stack_push_many(s, NULL, 2, NULL), "records", stack_error, s);
	assert_int_equal(em_stack_push_many(s, null_numbers, 3, NULL), EM_OK);
	told(em_stack_pop(s, NULL), "record", stack_error, s);
	told(em_stack_pop_many(s, NULL, 2, NULL), "records", stack_error, s);
	told(em_stack_peek(s, NULL), "record", stack_error, s);
	told(em_stack_swap(s, NULL), "b", stack_error, s);
	told(em_window_push(em_stack_window(s), NULL, 8), "record", stack_error, s);
	told(em_window_pop(em_stack_window(s), NULL, 8), "record", stack_error, s);
	assert_int_equal(em_stack_stats_get(s, NULL), EM_ERR_INVAL);
	assert_int_equal(em_stack_pop(s, &got), EM_OK);
	assert_int_equal(got, null_numbers[2]);
	em_stack_close(s);
	assert_int_equal(em_queue_open(&q, null_ctx, &opts), EM_OK);
	told(em_queue_push(q, NULL), "record", queue_error, q);
	told(em_queue_push_many(q, NULL, 2, NULL), "records", queue_error, q);
	assert_int_equal(em_queue_push_many(q, null_numbers, 3, NULL), EM_OK);
	told(em_queue_pop(q, NULL), "record", queue_error, q);
	told(em_queue_pop_many(q, NULL, 2, NULL), "records", queue_error, q);
	told(em_queue_front(q, NULL), "record", queue_error, q);
	told(em_queue_back(q, NULL), "record", queue_error, q);
	told(em_queue_swap(q, NULL), "b", queue_error, q);
	assert_int_equal(em_queue_stats_get(q, NULL), EM_ERR_INVAL);
	assert_int_equal(em_queue_pop(q, &got), EM_OK);
	assert_int_equal(got, null_numbers[0]);
	em_queue_close(q);
}

static void test_deques(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	const em_batch *batch;
	em_deque_reader *r;
	uint64_t got = 0;
	em_deque *d;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_deque_open(&d, null_ctx, &opts), EM_OK);
	told(em_deque_push_back(d, NULL), "record", deque_error, d);
	told(em_deque_push_front(d, NULL), "record", deque_error, d);
	told(em_deque_push_back_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_push_front_many(d, NULL, 2, NULL), "records", deque_error, d);
	assert_int_equal(em_deque_push_front_many(d, null_numbers, 3, NULL), EM_OK);
	told(em_deque_pop_back(d, NULL), "record", deque_error, d);
	told(em_deque_pop_front(d, NULL), "record", deque_error, d);
	told(em_deque_pop_back_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_pop_front_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_front(d, NULL), "record", deque_error, d);
	told(em_deque_back(d, NULL), "record", deque_error, d);
	told(em_deque_get(d, 0, NULL), "record", deque_error, d);
	told(em_deque_set(d, 0, NULL), "record", deque_error, d);
	told(em_deque_read(d, 0, NULL, 2), "records", deque_error, d);
	told(em_deque_write(d, 0, NULL, 2), "records", deque_error, d);
	told(em_deque_swap(d, NULL), "b", deque_error, d);
	told(em_deque_reader_open(NULL, d, NULL), "out", deque_error, d);
	assert_int_equal(em_deque_stats_get(d, NULL), EM_ERR_INVAL);
	assert_int_equal(em_deque_reader_open(&r, d, NULL), EM_OK);
	told(em_deque_reader_next(r, NULL), "batch", deque_reader_error, r);
	assert_int_equal(em_deque_reader_next(r, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_deque_reader_close(r);
	assert_int_equal(em_deque_get(d, 2, &got), EM_OK);
	assert_int_equal(got, null_numbers[2]);
	em_deque_close(d);
}

static void test_trees(void **state)
{
	em_btree_load_opts load = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *l;
	em_btree_cursor *c;
	uint64_t got, n;
	em_btree *t;
	int i;

	(void)state;
	assert_int_equal(em_btree_open(&t, null_ctx, null_order, NULL), EM_OK);
	for (i = 0; i < 3; i++)
		assert_int_equal(em_btree_insert(t, &null_numbers[i]), EM_OK);
	load.errinfo = &null_err;
	told(em_btree_insert(t, NULL), "record", btree_error, t);
	told(em_btree_upsert(t, NULL), "record", btree_error, t);
	told(em_btree_get(t, NULL, &got), "key", btree_error, t);
	told(em_btree_get(t, null_numbers, NULL), "record", btree_error, t);
	told(em_btree_lower_bound(t, NULL, &got), "key", btree_error, t);
	told(em_btree_lower_bound(t, null_numbers, NULL), "record", btree_error, t);
	told(em_btree_upper_bound(t, NULL, &got), "key", btree_error, t);
	told(em_btree_upper_bound(t, null_numbers, NULL), "record", btree_error, t);
	told(em_btree_count(t, NULL, NULL, NULL), "n", btree_error, t);
	told(em_btree_for_each(t, NULL, NULL, NULL, NULL), "fn", btree_error, t);
	told(em_btree_for_each_many(t, NULL, NULL, 0, NULL, NULL), "fn", btree_error, t);
	told(em_btree_erase(t, NULL, &got), "key", btree_error, t);
	told(em_btree_erase_equal(t, NULL, &n), "key", btree_error, t);
	told(em_btree_min(t, NULL), "record", btree_error, t);
	told(em_btree_max(t, NULL), "record", btree_error, t);
	told(em_btree_cursor_open(NULL, t), "out", btree_error, t);
	assert_int_equal(em_btree_cursor_open(&c, t), EM_OK);
	told(em_btree_cursor_seek(c, NULL, EM_BTREE_EQ), "key", btree_cursor_error, c);
	told(em_btree_cursor_insert(c, NULL), "record", btree_cursor_error, c);
	told(em_btree_cursor_put(c, NULL), "record", btree_cursor_error, c);
	told(em_btree_cursor_next_many(c, &got, 1, NULL), "got", btree_cursor_error, c);
	told(em_btree_cursor_prev_many(c, &got, 1, NULL), "got", btree_cursor_error, c);
	told(em_btree_cursor_count(c, NULL), "n", btree_cursor_error, c);
	assert_int_equal(em_btree_cursor_get(c, NULL), EM_NOT_FOUND);
	assert_int_equal(em_btree_cursor_next(c, NULL), EM_OK);
	assert_int_equal(em_btree_cursor_next_many(c, NULL, 7, &n), EM_OK);
	assert_int_equal(n, 2);
	em_btree_cursor_close(c);
	assert_int_equal(em_btree_stats_get(t, NULL), EM_ERR_INVAL);
	assert_int_equal(em_btree_count(t, NULL, NULL, &n), EM_OK);
	assert_int_equal(n, 3);
	told(em_btree_get_many(t, NULL, 1, &got, NULL, NULL), "keys", btree_error, t);
	told(em_btree_get_many(t, null_numbers, 1, NULL, NULL, NULL), "records", btree_error, t);
	told(em_btree_lower_bound_many(t, NULL, 1, &got, NULL, NULL), "keys", btree_error, t);
	told(em_btree_insert_many(t, NULL, 1, &n), "records", btree_error, t);
	told(em_btree_upsert_many(t, NULL, 1, &n), "records", btree_error, t);
	told(em_btree_erase_many(t, NULL, 1, &n), "keys", btree_error, t);
	told(em_btree_insert_sorted(t, NULL, &n), "sorted", btree_error, t);
	assert_int_equal(em_btree_get_many(t, null_numbers, 1, &got, NULL, NULL), EM_OK);
	assert_int_equal(got, null_numbers[0]);
	assert_int_equal(em_btree_get_many(t, NULL, 0, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_btree_insert_many(t, NULL, 0, NULL), EM_OK);
	refused(em_btree_loader_open(NULL, t, &load), "out");
	refused(em_btree_load_sorted(t, NULL, &load), "sorted");
	assert_int_equal(em_btree_loader_open(&l, t, NULL), EM_ERR_STATE);
	assert_int_equal(em_btree_pop_min(t, NULL), EM_OK);
	assert_int_equal(em_btree_erase_range(t, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_btree_size(t), 0);
	assert_int_equal(em_btree_loader_open(&l, t, NULL), EM_OK);
	told(em_btree_loader_push(l, NULL, 1, &n), "records", btree_loader_error, l);
	assert_int_equal(em_btree_loader_push(l, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_btree_loader_push(l, null_numbers, 1, NULL), EM_OK);
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
	assert_int_equal(em_btree_size(t), 1);
	em_btree_close(t);
}

static void test_heaps(void **state)
{
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap *h;
	uint64_t got, n;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, null_ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_open(&h, null_ctx, &opts), EM_OK);
	assert_int_equal(em_radix_heap_push_many(h, null_numbers, 3, NULL), EM_OK);
	told(em_radix_heap_push(h, NULL), "record", radix_heap_error, h);
	told(em_radix_heap_push_many(h, NULL, 1, &n), "records", radix_heap_error, h);
	told(em_radix_heap_pop(h, NULL), "record", radix_heap_error, h);
	told(em_radix_heap_pop_many(h, NULL, 1, &n), "records", radix_heap_error, h);
	told(em_radix_heap_top(h, NULL), "record", radix_heap_error, h);
	assert_int_equal(em_radix_heap_stats_get(h, NULL), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_push_many(h, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop_many(h, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop(h, &got), EM_OK);
	assert_int_equal(em_radix_heap_size(h), 2);
	em_radix_heap_close(h);
}

static void test_priority_queues(void **state)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_order *by;
	uint64_t got, n;
	em_pq *q;

	(void)state;
	assert_int_equal(em_order_keys(&by, null_ctx, 8, NULL, 0, NULL), EM_OK);
	opts.errinfo = &null_err;
	refused(em_pq_open(&q, null_ctx, &opts), "order");
	opts.order = by;
	refused(em_pq_open(NULL, null_ctx, &opts), "out");
	refused(em_pq_open(&q, NULL, &opts), "ctx");
	refused(em_pq_plan(NULL, &opts, &info), "ctx");
	refused(em_pq_plan(null_ctx, &opts, NULL), "info");
	assert_int_equal(em_pq_open(&q, null_ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(em_pq_open(&q, null_ctx, &opts), EM_OK);
	assert_int_equal(em_pq_push_many(q, null_numbers, 3, NULL), EM_OK);
	told(em_pq_push(q, NULL), "record", pq_error, q);
	told(em_pq_push_many(q, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_pop(q, NULL), "record", pq_error, q);
	told(em_pq_pop_many(q, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_pop_until(q, NULL, 0, &got, 1, &n), "bound", pq_error, q);
	told(em_pq_pop_until(q, &got, 0, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_top(q, NULL), "record", pq_error, q);
	told(em_pq_pushpop(q, NULL, &got), "pushed", pq_error, q);
	told(em_pq_replace(q, &got, NULL), "popped", pq_error, q);
	told(em_pq_next(q, NULL), "batch", pq_error, q);
	assert_int_equal(em_pq_stats_get(q, NULL), EM_ERR_INVAL);
	assert_int_equal(em_pq_pop(q, &got), EM_OK);
	assert_int_equal(em_pq_size(q), 2);
	em_pq_close(q);
	em_order_close(by);
}

static void test_vectors(void **state)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	uint64_t at = 0, got = 0;
	const em_batch *batch;
	em_vector_reader *r;
	em_vector_writer *w;
	em_vector *v;
	void *p;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_vector_open(&v, null_ctx, &opts), EM_OK);
	assert_int_equal(em_vector_push_many(v, null_numbers, 3, NULL), EM_OK);
	told(em_vector_get(v, 0, NULL), "records", vector_error, v);
	told(em_vector_set(v, 0, NULL), "records", vector_error, v);
	told(em_vector_read(v, 0, NULL, 1), "records", vector_error, v);
	told(em_vector_write(v, 0, NULL, 1), "records", vector_error, v);
	told(em_vector_read_many(v, NULL, 1, &got), "positions", vector_error, v);
	told(em_vector_read_many(v, &at, 1, NULL), "records", vector_error, v);
	told(em_vector_push(v, NULL), "records", vector_error, v);
	told(em_vector_push_many(v, NULL, 1, NULL), "records", vector_error, v);
	told(em_vector_swap(v, NULL), "b", vector_error, v);
	told(em_vector_export(v, NULL), "path", vector_error, v);
	told(em_vector_pin(v, 0, 0, NULL), "record", vector_error, v);
	told(em_vector_reader_open(NULL, v, NULL), "out", vector_error, v);
	told(em_vector_writer_open(NULL, v, NULL), "out", vector_error, v);
	told(em_vector_for_each(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_mutate(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_generate(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_fill(v, 0, 3, NULL), "record", vector_error, v);
	told(em_vector_find(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_find(v, 0, 3, test, NULL, NULL), "position", vector_error, v);
	told(em_vector_count(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_count(v, 0, 3, test, NULL, NULL), "count", vector_error, v);
	told(em_vector_copy(v, 0, NULL, 0, 1), "v", vector_error, v);
	told(em_vector_partition(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_partition(v, 0, 3, test, NULL, NULL), "middle", vector_error, v);
	told(em_vector_nth_element(v, 0, 3, 1, NULL), "order", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, NULL, &got, &at), "order", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, null_order, NULL, &at), "record", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, null_order, &got, NULL), "position", vector_error, v);
	told(em_vector_sort(v, 0, 3, NULL, NULL, NULL), "order", vector_error, v);
	told(em_vector_find_disorder(v, 0, 3, NULL, &at), "order", vector_error, v);
	told(em_vector_find_disorder(v, 0, 3, null_order, NULL), "position", vector_error, v);
	assert_int_equal(em_vector_stats_get(v, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_for_each(v, 0, 3, visit, NULL), EM_OK);
	assert_int_equal(em_vector_mutate(v, 0, 3, change, NULL), EM_OK);
	assert_int_equal(em_vector_get(v, 2, &got), EM_OK);
	assert_int_equal(got, 2);
	assert_int_equal(em_vector_reader_open(&r, v, NULL), EM_OK);
	told(em_vector_reader_next(r, NULL), "batch", vector_reader_error, r);
	assert_int_equal(em_vector_reader_next(r, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_vector_reader_close(r);
	assert_int_equal(em_vector_writer_open(&w, v, NULL), EM_OK);
	told(em_vector_writer_push(w, NULL, 1), "records", vector_writer_error, w);
	told(em_vector_writer_lend(w, NULL, &at), "records", vector_writer_error, w);
	told(em_vector_writer_lend(w, &p, NULL), "n", vector_writer_error, w);
	assert_int_equal(em_vector_writer_push(w, null_numbers, 1), EM_OK);
	assert_int_equal(em_vector_writer_finish(w), EM_OK);
	em_vector_writer_close(w);
	assert_int_equal(em_vector_size(v), 4);
	em_vector_close(v);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_and_queues),
		cmocka_unit_test(test_deques),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_priority_queues),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests_name("abi/null_containers", tests, null_open, null_close);
}
