/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_containers.c -- sorters and containers as streams and sinks. */
#include "flow/flow_case.h"

#include <extmem/sys/fault.h>
#include <extmem/text.h>

#define MIB ((uint64_t)1 << 20)

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t *sorted_copy(const uint64_t *x, size_t n)
{
	uint64_t *y = malloc((n + 1) * sizeof *y);

	assert_non_null(y);
	memcpy(y, x, n * sizeof *y);
	qsort(y, n, sizeof *y, by_value);
	return y;
}

static void turn(uint64_t *x, size_t n)
{
	size_t i;

	for (i = 0; i < n / 2; i++) {
		const uint64_t a = x[i];

		x[i] = x[n - 1 - i];
		x[n - 1 - i] = a;
	}
}

/* Few records and many, which do not fit in memory. */
static void test_sort(void **state)
{
	const size_t counts[] = { 0, 1, 1000, 300000 };
	flow_case t;
	size_t i;

	(void)state;
	flow_open(&t, 2 * MIB, 0);
	for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		uint64_t *x = flow_numbers(&t, counts[i], UINT64_MAX, 0), *y = sorted_copy(x, counts[i]);
		em_sort_stats stats = EM_SORT_STATS_INIT;
		em_order *order = flow_order(&t, 8);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		em_stream *in, *s;
		size_t n, left;
		feed f;
		em_status st;

		in = feed_open(&f, &t, x, counts[i], 8, 5000);
		assert_int_equal(em_stream_sort(&s, in, order, NULL, &t.err), EM_OK);
		em_order_close(order);
		assert_int_equal(f.calls, 0);
		assert_int_equal(em_stream_sort_stats_get(s, &stats), EM_OK);
		assert_int_equal(stats.records_in, 0);
		assert_int_equal(em_stream_sort_stats_get(in, &stats), EM_ERR_INVAL);
		free(flow_drain(&t, s, 1, &n, &st));
		assert_int_equal(f.closed, 1);
		assert_int_equal(em_stream_sort_stats_get(s, &stats), EM_OK);
		assert_int_equal(stats.records_in, counts[i]);
		assert_int_equal(stats.runs > 1, counts[i] > 100000);
		if (n < counts[i])
			flow_assert(&t, s, y + n, counts[i] - n);
		else
			em_stream_close(s);

		/* Equal records once; and all at once. */
		order = flow_order(&t, 8);
		for (left = n = 0; n < counts[i]; n++) {
			x[n] %= 1000;
			y[n] = x[n];
		}
		qsort(y, counts[i], 8, by_value);
		for (n = 0; n < counts[i]; n++)
			if (n == 0 || y[n] != y[n - 1])
				y[left++] = y[n];
		opts.flags = EM_SORT_UNIQUE;
		in = feed_open(&f, &t, x, counts[i], 8, 77);
		assert_int_equal(em_stream_sort(&s, in, order, &opts, &t.err), EM_OK);
		flow_assert(&t, s, y, left);
		em_order_close(order);
		free(x);
		free(y);
	}
	flow_close(&t);
}

/* A sort feeds a sort: both have memory, though nobody said how much. */
static void test_two_sorts(void **state)
{
	const em_key down = { 0, 0, EM_KEY_U64, EM_KEY_DESCENDING, { 0 } };
	const size_t n = 400000;
	em_order *order, *other;
	em_stream *s, *in;
	uint64_t *x, *y;
	flow_case t;
	feed f;

	(void)state;
	flow_open(&t, 3 * MIB, 0);
	order = flow_order(&t, 8);
	assert_int_equal(em_order_keys(&other, t.ctx, 8, &down, 1, NULL), EM_OK);
	x = flow_numbers(&t, n, UINT64_MAX, 0);
	y = sorted_copy(x, n);
	in = feed_open(&f, &t, x, n, 8, 500);
	assert_int_equal(em_stream_sort(&in, in, order, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_sort(&in, in, other, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_sort(&s, in, order, NULL, &t.err), EM_OK);
	flow_assert(&t, s, y, n);
	em_order_close(order);
	em_order_close(other);
	free(x);
	free(y);
	flow_close(&t);
}

static void test_sorter(void **state)
{
	em_stream *s, *in;
	em_order *order;
	em_sorter *sorter;
	const em_batch *batch;
	const void *record;
	uint64_t *x, *y;
	em_errinfo err;
	flow_case t;
	em_sink *k;
	feed f;

	(void)state;
	flow_open(&t, 4 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, 50000, UINT64_MAX, 0);
	y = sorted_copy(x, 50000);
	assert_int_equal(em_sorter_open(&sorter, t.ctx, order, NULL), EM_OK);
	assert_int_equal(em_sink_sorter(&k, sorter, &t.err), EM_OK);
	assert_int_equal(em_sink_record_bytes(k), 8);
	assert_int_equal(em_stream_sorter(&s, sorter, &t.err), EM_OK);
	in = feed_open(&f, &t, x, 50000, 8, 300);
	assert_int_equal(em_stream_pump(in, k, NULL), EM_OK);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_stream_close(in);
	em_sink_close(k);
	flow_assert(&t, s, y, 50000);
	em_sorter_close(sorter);

	/* One of which some were taken. */
	assert_int_equal(em_sorter_open(&sorter, t.ctx, order, NULL), EM_OK);
	assert_int_equal(em_sorter_push(sorter, x, 50000), EM_OK);
	assert_int_equal(em_sorter_finish(sorter), EM_OK);
	assert_int_equal(em_cursor_next(em_sorter_cursor(sorter), &record), EM_OK);
	assert_memory_equal(record, y, 8);
	assert_int_equal(em_stream_sorter(&s, sorter, &t.err), EM_OK);
	flow_assert(&t, s, y + 1, 49999);
	em_sorter_close(sorter);

	/* One that is not finished. */
	assert_int_equal(em_sorter_open(&sorter, t.ctx, order, NULL), EM_OK);
	assert_int_equal(em_stream_sorter(&s, sorter, &t.err), EM_OK);
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_STATE);
	em_stream_error(s, &err);
	assert_int_equal(err.status, EM_ERR_STATE);
	em_stream_close(s);
	em_sorter_close(sorter);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

static void open_vector(flow_case *t, em_vector **v)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;

	o.record_bytes = 8;
	assert_int_equal(em_vector_open(v, t->ctx, &o), EM_OK);
}

static void test_vector(void **state)
{
	const em_batch *batch;
	em_stream *s, *in;
	uint64_t *x, end;
	em_errinfo err;
	em_vector *v;
	flow_case t;
	em_sink *k;
	unsigned i;
	feed f;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	x = flow_numbers(&t, 100000, UINT64_MAX, 0);
	open_vector(&t, &v);
	assert_int_equal(em_vector_resize(v, 120000), EM_OK);
	in = feed_open(&f, &t, x, 100000, 8, 300);
	assert_int_equal(em_stream_to_vector(in, v, 0, &end), EM_OK);
	assert_int_equal(end, 100000);
	assert_int_equal(em_vector_size(v), 120000);
	assert_int_equal(em_vector_resize(v, end), EM_OK);
	em_stream_close(in);
	for (i = 0; i < 20; i++) {
		const uint64_t from = test_below(&t.rng, 100001), n = test_below(&t.rng, 100001 - from);
		uint64_t *part = malloc(n * 8 + 1);

		assert_non_null(part);
		memcpy(part, x + from, n * 8);
		assert_int_equal(em_stream_vector(&s, v, from, n, EM_VECTOR_FORWARD, &t.err), EM_OK);
		flow_assert(&t, s, part, n);
		turn(part, n);
		assert_int_equal(em_stream_vector(&s, v, from, n, EM_VECTOR_REVERSE, &t.err), EM_OK);
		if (i % 3 == 0)
			assert_int_equal(em_stream_batch(s, 1 + i), EM_OK);
		flow_assert(&t, s, part, n);
		free(part);
	}
	/* Over what is there, and behind the end. */
	assert_int_equal(em_sink_vector(&k, v, 99990, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, x, 20), EM_OK);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_sink_close(k);
	assert_int_equal(em_vector_size(v), 100010);
	assert_int_equal(em_stream_vector(&s, v, 99990, UINT64_MAX, 0, &t.err), EM_OK);
	flow_assert(&t, s, x, 20);
	/* Mistakes. */
	assert_int_equal(em_stream_vector(&s, v, 100011, 0, 0, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_vector(&s, v, 100000, 11, 0, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_vector(&s, v, 0, 1, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_vector(&k, v, 100011, &t.err), EM_ERR_RANGE);
	in = feed_open(&f, &t, x, 10, 4, 3);
	assert_int_equal(em_stream_to_vector(in, v, 0, &end), EM_ERR_INVAL);
	em_stream_error(in, &err);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_int_equal(em_stream_to_vector(in, NULL, 0, &end), EM_ERR_INVAL);
	flow_assert(&t, in, x, 10);
	/* The range is no more when it is come to. */
	assert_int_equal(em_stream_vector(&s, v, 100000, 10, 0, &t.err), EM_OK);
	assert_int_equal(em_vector_resize(v, 50), EM_OK);
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_RANGE);
	em_stream_error(s, &err);
	assert_int_equal(err.status, EM_ERR_RANGE);
	em_stream_close(s);
	em_vector_close(v);
	free(x);
	flow_close(&t);
}

static void test_ends(void **state)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;
	em_stream *s, *in;
	em_deque *deque;
	em_stack *stack;
	em_queue *queue;
	uint64_t *x, *y;
	flow_case t;
	em_sink *k;
	size_t n;
	feed f;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	o.record_bytes = 8;
	o.memory_bytes = 512 * 1024;
	for (n = 0; n < 300000; n = n * 60 + 17) {
		x = flow_numbers(&t, n, UINT64_MAX, 0);
		y = malloc(n * 8 + 1);
		assert_non_null(y);
		memcpy(y, x, n * 8);
		turn(y, n);
		assert_int_equal(em_stack_open(&stack, t.ctx, &o), EM_OK);
		assert_int_equal(em_sink_stack(&k, stack, &t.err), EM_OK);
		in = feed_open(&f, &t, x, n, 8, 300);
		assert_int_equal(em_stream_pump(in, k, NULL), EM_OK);
		assert_int_equal(em_sink_finish(k), EM_OK);
		em_sink_close(k);
		em_stream_close(in);
		assert_int_equal(em_stream_stack(&s, stack, &t.err), EM_OK);
		flow_assert(&t, s, y, n);
		assert_int_equal(em_stack_size(stack), 0);
		em_stack_close(stack);

		assert_int_equal(em_queue_open(&queue, t.ctx, &o), EM_OK);
		assert_int_equal(em_sink_queue(&k, queue, &t.err), EM_OK);
		assert_int_equal(em_sink_push(k, x, n), EM_OK);
		assert_int_equal(em_sink_finish(k), EM_OK);
		em_sink_close(k);
		assert_int_equal(em_stream_queue(&s, queue, &t.err), EM_OK);
		flow_assert(&t, s, x, n);
		em_queue_close(queue);

		assert_int_equal(em_deque_open(&deque, t.ctx, &o), EM_OK);
		assert_int_equal(em_sink_deque(&k, deque, &t.err), EM_OK);
		assert_int_equal(em_sink_push(k, x, n), EM_OK);
		assert_int_equal(em_sink_finish(k), EM_OK);
		em_sink_close(k);
		assert_int_equal(em_stream_deque(&s, deque, 0, UINT64_MAX, EM_VECTOR_FORWARD, &t.err), EM_OK);
		flow_assert(&t, s, x, n);
		assert_int_equal(em_stream_deque(&s, deque, n / 3, n / 2, EM_VECTOR_REVERSE, &t.err), EM_OK);
		flow_assert(&t, s, y + (n - n / 3 - n / 2), n / 2);
		assert_int_equal(em_deque_size(deque), n);
		assert_int_equal(em_stream_deque(&s, deque, n + 1, 0, 0, &t.err), EM_ERR_RANGE);
		em_deque_close(deque);
		free(x);
		free(y);
	}
	flow_close(&t);
}

/* A context whose disks fail when they are asked to. */
static void open_faulty(flow_case *t, em_fault *fault)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	memset(t, 0, sizeof *t);
	t->rng = test_rng_make(test_seed());
	test_memory_init(&t->mem, 0);
	assert_int_equal(em_fault_init(fault, sizeof *fault, em_backend_find("memory")), EM_OK);
	o.allocator = &t->mem.allocator;
	o.memory = 8 * MIB;
	o.custom = em_fault_backend(fault);
	assert_int_equal(em_ctx_open(&t->ctx, &o), EM_OK);
}

/* A transfer fails while records are popped for a stream: those that came out before are lent, and the others are still
 * there. */
static void test_popped_before_failure(void **state)
{
	enum { N = 20000 };
	uint64_t nth;
	int failed = 1, partly = 0;

	(void)state;
	for (nth = test_nth_after(0, 3); failed; nth = test_nth_after(nth, 3)) {
		const int stack_first = (int)(nth % 2);
		em_container_opts o = EM_CONTAINER_OPTS_INIT;
		uint64_t *x, *got, *left, popped = 0;
		em_stack *stack = NULL;
		em_queue *queue = NULL;
		em_fault fault;
		em_stream *s;
		flow_case t;
		em_status st;
		size_t n, i;

		open_faulty(&t, &fault);
		o.record_bytes = 8;
		o.block_bytes = 4096;
		o.memory_bytes = 6 * 4096;
		x = flow_numbers(&t, N, UINT64_MAX, 0);
		left = malloc(N * sizeof *left);
		assert_non_null(left);
		if (stack_first) {
			assert_int_equal(em_stack_open(&stack, t.ctx, &o), EM_OK);
			assert_int_equal(em_stack_push_many(stack, x, N, NULL), EM_OK);
			assert_int_equal(em_stream_stack(&s, stack, &t.err), EM_OK);
		} else {
			assert_int_equal(em_queue_open(&queue, t.ctx, &o), EM_OK);
			assert_int_equal(em_queue_push_many(queue, x, N, NULL), EM_OK);
			assert_int_equal(em_stream_queue(&s, queue, &t.err), EM_OK);
		}
		em_fault_set(&fault, EM_FAULT_READ, nth, 4);
		got = flow_drain(&t, s, SIZE_MAX, &n, &st);
		failed = fault.injected != 0;
		assert_true(st == EM_END || (failed && st == EM_ERR_IO));
		em_fault_set(&fault, 0, 0, 0);
		em_stream_close(s);
		if (n < N)
			assert_int_equal(stack_first ? em_stack_pop_many(stack, left, N, &popped)
						     : em_queue_pop_many(queue, left, N, &popped),
					 EM_OK);
		partly += n != 0 && n < N;
		assert_int_equal(n + popped, N);
		if (stack_first)
			turn(x, N);
		assert_memory_equal(got, x, n * sizeof *x);
		for (i = 0; i < popped; i++)
			assert_int_equal(left[stack_first ? popped - 1 - i : i], x[n + i]);
		em_stack_close(stack);
		em_queue_close(queue);
		free(x);
		free(got);
		free(left);
		flow_close(&t);
	}
	assert_true(partly != 0 || !test_sweeps());
}

static void test_pq(void **state)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;
	uint64_t *x, *y;
	em_order *order;
	em_stream *s;
	flow_case t;
	em_sink *k;
	em_pq *q;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	o.order = order = flow_order(&t, 8);
	x = flow_numbers(&t, 30000, UINT64_MAX, 0);
	y = sorted_copy(x, 30000);
	assert_int_equal(em_pq_open(&q, t.ctx, &o), EM_OK);
	assert_int_equal(em_sink_pq(&k, q, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, x, 30000), EM_OK);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_sink_close(k);
	assert_int_equal(em_stream_pq(&s, q, &t.err), EM_OK);
	flow_assert(&t, s, y, 30000);
	em_pq_close(q);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

static void test_btree(void **state)
{
	em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
	uint64_t *x, bad[2] = { 2, 1 };
	em_stream *s, *in;
	em_errinfo err;
	em_order *order;
	em_btree *tree;
	flow_case t;
	em_sink *k;
	size_t n;
	feed f;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, 40000, 5, 0);
	for (n = 1; n < 40000; n++)
		x[n] += x[n - 1] + 1;
	assert_int_equal(em_btree_open(&tree, t.ctx, order, NULL), EM_OK);
	/* Out of order, and then without finish: it stays empty. */
	assert_int_equal(em_sink_btree(&k, tree, NULL, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, bad, 2), EM_ERR_FORMAT);
	em_sink_error(k, &err);
	assert_int_equal(err.record, 2);
	em_sink_close(k);
	assert_int_equal(em_btree_size(tree), 0);
	opts.leaf_fill = 80;
	assert_int_equal(em_sink_btree(&k, tree, &opts, &t.err), EM_OK);
	in = feed_open(&f, &t, x, 40000, 8, 999);
	assert_int_equal(em_stream_pump(in, k, NULL), EM_OK);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_sink_close(k);
	em_stream_close(in);
	assert_int_equal(em_btree_size(tree), 40000);
	assert_int_equal(em_stream_btree(&s, tree, NULL, NULL, &t.err), EM_OK);
	flow_assert(&t, s, x, 40000);
	for (n = 0; n < 40; n++) {
		const uint64_t from = test_below(&t.rng, x[39999] + 10), to = test_below(&t.rng, x[39999] + 10);
		size_t i = 0, end;

		while (i < 40000 && x[i] < from)
			i++;
		for (end = i; end < 40000 && x[end] < to; end++)
			;
		assert_int_equal(em_stream_btree(&s, tree, &from, &to, &t.err), EM_OK);
		if (n % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + n), EM_OK);
		flow_assert(&t, s, x + i, end - i);
		assert_int_equal(em_stream_btree(&s, tree, &from, NULL, &t.err), EM_OK);
		flow_assert(&t, s, x + i, 40000 - i);
	}
	em_btree_close(tree);
	em_order_close(order);
	free(x);
	flow_close(&t);
}

static void test_mistakes(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_order *wrong, *foreign, *text;
	em_sorter *sorter;
	uint64_t x[3] = { 3, 1, 2 };
	em_stream *in, *s;
	flow_case t, other;
	em_sink *k;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	flow_open(&other, 8 * MIB, 0);
	wrong = flow_order(&t, 16);
	foreign = flow_order(&other, 8);
	assert_int_equal(em_order_text(&text, t.ctx, NULL, 0, NULL, NULL), EM_OK);
	assert_int_equal(em_stream_memory(&in, t.ctx, 8, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_sort(&s, in, wrong, NULL, &t.err), EM_ERR_INVAL);
	assert_null(s);
	assert_int_equal(em_stream_sort(&s, in, foreign, NULL, &t.err), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "another context"));
	assert_int_equal(em_stream_sort(&s, in, text, NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_sort(&s, in, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_sort(&s, NULL, wrong, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_sort(NULL, in, wrong, NULL, &t.err), EM_ERR_INVAL);
	em_order_close(wrong);
	wrong = flow_order(&t, 8);
	opts.fan_in = 1;
	assert_int_equal(em_stream_sort(&s, in, wrong, &opts, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sorter_open(&sorter, t.ctx, text, NULL), EM_OK);
	assert_int_equal(em_stream_sorter(&s, sorter, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_sink_sorter(&k, sorter, &t.err), EM_ERR_NOTSUP);
	em_sorter_close(sorter);
	assert_int_equal(em_stream_sorter(&s, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_stack(&s, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_pq(&k, NULL, &t.err), EM_ERR_INVAL);
	flow_assert(&t, in, x, 3);
	em_order_close(wrong);
	em_order_close(foreign);
	em_order_close(text);
	flow_close(&t);
	flow_close(&other);
}

/* Whatever allocation fails, all is given back, and either it says so or nothing is missing. */
static void test_allocations(void **state)
{
	uint64_t nth;
	int failed = 1;

	(void)state;
	for (nth = test_nth_after(0, 3); failed; nth = test_nth_after(nth, 3)) {
		uint64_t *x, *y;
		em_order *order;
		em_stream *in, *s = NULL;
		em_vector *v;
		flow_case t;
		em_status st;
		uint64_t end;
		feed f;

		flow_open(&t, 2 * MIB, 0);
		order = flow_order(&t, 8);
		open_vector(&t, &v);
		x = flow_numbers(&t, 100000, UINT64_MAX, 0);
		y = sorted_copy(x, 100000);
		t.mem.fail_at = t.mem.calls + nth;
		in = feed_open(&f, &t, x, 100000, 8, 20000);
		st = in != NULL ? em_stream_sort(&s, in, order, NULL, &t.err) : EM_ERR_NOMEM;
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_NOMEM);
			em_stream_close(in);
		}
		if (st == EM_OK) {
			st = em_stream_to_vector(s, v, 0, &end);
			em_stream_close(s);
		}
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
		failed = test_memory_failed(&t.mem);
		assert_true(st == EM_OK || failed);
		t.mem.fail_at = 0;
		if (st == EM_OK) {
			assert_int_equal(end, 100000);
			assert_int_equal(em_stream_vector(&s, v, 0, UINT64_MAX, 0, NULL), EM_OK);
			flow_assert(&t, s, y, 100000);
		}
		em_vector_close(v);
		em_order_close(order);
		free(x);
		free(y);
		flow_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_two_sorts),
		cmocka_unit_test(test_sorter),
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_popped_before_failure),
		cmocka_unit_test(test_pq),
		cmocka_unit_test(test_btree),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests_name("flow_containers", tests, NULL, NULL);
}
