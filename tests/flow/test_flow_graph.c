/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_graph.c -- what graphs take of the memory, and how far they got. */
#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)
#define KIB ((uint64_t)1 << 10)

static em_stream_graph_info info_of(const em_stream *s)
{
	em_stream_graph_info g = EM_STREAM_GRAPH_INFO_INIT;

	assert_int_equal(em_stream_graph_info_get(s, &g), EM_OK);
	return g;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static em_stream *sorted(flow_case *t, em_stream *in, em_order *order)
{
	em_stream *s;

	assert_int_equal(em_stream_sort(&s, in, order, NULL, &t->err), EM_OK);
	return s;
}

/* Of three sorts one behind the other two live at the same time; of sorts one after the other, one; named memory is
 * claimed. */
static void test_plan(void **state)
{
	em_sort_opts named = EM_SORT_OPTS_INIT;
	em_stream_graph_info g;
	em_stream *s, *in[2];
	em_order *order;
	uint64_t *x;
	flow_case t;
	feed f[2];
	unsigned i;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, 1000, UINT64_MAX, 0);

	s = feed_open(&f[0], &t, x, 1000, 8, 100);
	g = info_of(s);
	assert_int_equal(g.phases, 1);
	assert_int_equal(g.phase, 1);
	assert_int_equal(g.sorts, 0);
	assert_int_equal(g.share, 0);
	assert_int_equal(g.total, 1000);
	s = sorted(&t, sorted(&t, sorted(&t, s, order), order), order);
	g = info_of(s);
	assert_int_equal(g.phases, 4);
	assert_int_equal(g.phase, 1);
	assert_int_equal(g.sorts, 2);
	assert_true(g.share > 3 * MIB && g.share <= 4 * MIB);
	em_stream_close(s);

	for (i = 0; i < 2; i++)
		in[i] = sorted(&t, feed_open(&f[i], &t, x, 1000, 8, 100), order);
	assert_int_equal(em_stream_concat(&s, in, 2, &t.err), EM_OK);
	g = info_of(s);
	assert_int_equal(g.phases, 3);
	assert_int_equal(g.sorts, 1);
	assert_true(g.share > 7 * MIB);
	em_stream_close(s);

	named.memory = 2 * MIB;
	for (i = 0; i < 2; i++)
		in[i] = feed_open(&f[i], &t, x, 1000, 8, 100);
	assert_int_equal(em_stream_sort(&in[0], in[0], order, &named, &t.err), EM_OK);
	in[1] = sorted(&t, in[1], order);
	assert_int_equal(em_stream_merge(&s, in, 2, order, &t.err), EM_OK);
	g = info_of(in[0]);
	assert_int_equal(g.phases, 3);
	assert_int_equal(g.sorts, 1);
	assert_true(g.claimed >= 2 * MIB && g.claimed < 3 * MIB);
	assert_true(g.share > 5 * MIB && g.share < 6 * MIB);
	em_stream_close(s);

	assert_int_equal(em_stream_graph_info_get(NULL, &g), EM_ERR_INVAL);
	em_order_close(order);
	free(x);
	flow_close(&t);
}

/* A join that needs all of its memory beside two sorts, and an input that is sorted: all have what they claimed. */
static void test_join_beside_sorts(void **state)
{
	enum { N = 400000, EQUAL = 60000 };
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_join_opts o = EM_JOIN_OPTS_INIT;
	em_stream *in[2], *s;
	em_stream_graph_info g;
	em_order *order;
	uint64_t *x, *y;
	em_status st;
	flow_case t;
	feed f[2];
	size_t i;

	(void)state;
	flow_open(&t, 4 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	y = flow_numbers(&t, N, UINT64_MAX / 2, 0);
	for (i = 0; i < EQUAL; i++)
		y[i * (N / EQUAL)] = 7;
	x[5] = 7;
	in[0] = sorted(&t, feed_open(&f[0], &t, x, N, 8, 1000), order);
	in[1] = sorted(&t, feed_open(&f[1], &t, y, N, 8, 1000), order);
	o.left = o.right = &key;
	o.nkeys = 1;
	assert_int_equal(em_stream_join(&s, in[0], in[1], &o, &t.err), EM_OK);
	g = info_of(s);
	assert_int_equal(g.sorts, 2);
	assert_true(g.claimed >= 512 * KIB);
	assert_true(g.claimed + 2 * g.share <= 4 * MIB);
	free(flow_drain(&t, s, SIZE_MAX, &i, &st));
	if (st != EM_END) {
		em_stream_error(s, &t.err);
		fail_msg("%s", t.err.text);
	}
	assert_true(i >= EQUAL);
	assert_true(em_ctx_memory_peak(t.ctx) <= 4 * MIB);
	em_stream_close(s);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

/* A vector is read, sorted, and written to another one: the reader and the writer have their part. */
static void test_vectors_beside_sort(void **state)
{
	enum { N = 500000 };
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_vector *from, *to;
	em_order *order;
	em_stream *s;
	uint64_t *x, *y, end;
	flow_case t;

	(void)state;
	flow_open(&t, 4 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	y = malloc(N * sizeof *y);
	assert_non_null(y);
	o.record_bytes = 8;
	o.block_bytes = 16 * KIB;
	o.cache_bytes = 64 * KIB;
	assert_int_equal(em_vector_open(&from, t.ctx, &o), EM_OK);
	assert_int_equal(em_vector_open(&to, t.ctx, &o), EM_OK);
	assert_int_equal(em_vector_push_many(from, x, N, NULL), EM_OK);
	qsort(x, N, sizeof *x, by_value);
	assert_int_equal(em_stream_vector(&s, from, 0, UINT64_MAX, EM_VECTOR_FORWARD, &t.err), EM_OK);
	assert_true(info_of(s).claimed >= 256 * KIB);
	s = sorted(&t, s, order);
	if (em_stream_to_vector(s, to, 0, &end) != EM_OK) {
		em_stream_error(s, &t.err);
		fail_msg("%s", t.err.text);
	}
	assert_int_equal(end, N);
	assert_int_equal(em_vector_read(to, 0, y, N), EM_OK);
	assert_memory_equal(x, y, N * sizeof *x);
	assert_true(em_ctx_memory_peak(t.ctx) <= 4 * MIB);
	em_stream_close(s);
	em_vector_close(from);
	em_vector_close(to);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

/* What is seen from within a graph. */
typedef struct seen {
	em_stream *top;
	em_stream_graph_info last;
	unsigned looks;
} seen;

static int look(void *user, const void *records, size_t n)
{
	seen *s = user;
	em_stream_graph_info g = info_of(s->top);

	(void)records;
	(void)n;
	assert_true(g.phase >= s->last.phase && g.phase <= g.phases);
	assert_true(g.phase > s->last.phase || g.done >= s->last.done);
	assert_true(g.total == EM_STREAM_UNKNOWN || g.done <= g.total);
	s->last = g;
	s->looks++;
	return 0;
}

static void test_progress(void **state)
{
	enum { N = 200000 };
	em_stream_graph_info g;
	seen eyes;
	em_stream *s;
	em_order *order;
	uint64_t *x, *y;
	em_status st;
	flow_case t;
	void *all;
	size_t n;
	feed f;

	(void)state;
	memset(&eyes, 0, sizeof eyes);
	flow_open(&t, 4 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	y = malloc(N * sizeof *y);
	assert_non_null(y);
	memcpy(y, x, N * sizeof *y);
	qsort(y, N, sizeof *y, by_value);
	s = feed_open(&f, &t, x, N, 8, 1000);
	assert_int_equal(em_stream_inspect(&s, s, look, &eyes, NULL, &t.err), EM_OK);
	s = sorted(&t, s, order);
	assert_int_equal(em_stream_inspect(&s, s, look, &eyes, NULL, &t.err), EM_OK);
	s = sorted(&t, s, order);
	assert_int_equal(em_stream_inspect(&s, s, look, &eyes, NULL, &t.err), EM_OK);
	eyes.top = s;
	all = flow_drain(&t, s, 1000, &n, &st);
	assert_int_equal(st, EM_OK);
	g = info_of(s);
	assert_int_equal(g.phase, 3);
	assert_int_equal(g.phases, 3);
	assert_int_equal(g.total, N);
	assert_true(g.done >= n && g.done < N);
	free(all);
	flow_assert(&t, s, y + n, N - n);
	assert_true(eyes.looks > 3 * N / 20000);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

/* A stage with a thread of its own: sorts below and above it ask for their shares, and the graph tells what it may. */
static void test_ahead(void **state)
{
	enum { N = 200000 };
	em_stream_graph_info g;
	em_stream *s;
	em_order *order;
	uint64_t *x, *y;
	em_status st;
	flow_case t;
	size_t n;

	(void)state;
	flow_open(&t, 6 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	y = malloc(N * sizeof *y);
	assert_non_null(y);
	memcpy(y, x, N * sizeof *y);
	qsort(y, N, sizeof *y, by_value);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, N, &t.err), EM_OK);
	s = sorted(&t, s, order);
	assert_int_equal(em_stream_ahead(&s, s, 0, &t.err), EM_OK);
	s = sorted(&t, s, order);
	assert_int_equal(info_of(s).sorts, 2);
	free(flow_drain(&t, s, 1, &n, &st));
	g = info_of(s);
	assert_int_equal(g.phases, 3);
	flow_assert(&t, s, y + n, N - n);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_join_beside_sorts),
		cmocka_unit_test(test_vectors_beside_sort),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
