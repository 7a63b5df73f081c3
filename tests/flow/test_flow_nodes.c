/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_flow_nodes.c -- every node against a model: with inputs and batches of all sizes, failures of inputs, functions
 * and allocations, cancellation, graphs that are closed half-way, and what a program may do wrong.
 */
#include "base/error.h"
#include "flow/node_cases.h"
#include "flow/stream.h"

#define MIB ((uint64_t)1 << 20)

/* Functions for nodes that are not made, or that are not looked at. */
static int triple(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++)
		y[i] = 3 * x[i] + 1;
	return 0;
}

static int see(void *user, const void *records, size_t n)
{
	(void)user;
	(void)records;
	(void)n;
	return 0;
}

static int add_pairs(void *user, em_transform_in *in, uint32_t n, void *to, size_t *room)
{
	(void)user;
	(void)in;
	(void)n;
	(void)to;
	*room = 0;
	return 0;
}

static int put_pair(void *user, const void *left, const void *right, void *to)
{
	(void)user;
	(void)left;
	(void)right;
	(void)to;
	return 0;
}

/* A node in a context of its own, with what is to come of it. */
typedef struct made {
	flow_case t;
	node_input in[2];
	feed f[2];
	em_stream *s;           /* NULL: it was not made */
	uint64_t *want;
	size_t n;               /* numbers */
} made;

/* nth: allocation that fails, from here on. */
static void open_node(made *m, const node_case *c, uint64_t nth, size_t most)
{
	em_stream *in[2] = { NULL, NULL };
	em_status st = EM_ERR_NOMEM;
	unsigned i, ready = 0;

	flow_open(&m->t, 16 * MIB, 0);
	node_calls = node_fail_call = 0;
	for (i = 0; i < 2; i++) {
		m->in[i].n = (size_t)test_below(&m->t.rng, 1 + test_below(&m->t.rng, most));
		m->in[i].x = flow_numbers(&m->t, m->in[i].n, 1 + test_below(&m->t.rng, 1000), c->sorted);
	}
	m->want = malloc(NODE_ROOM * sizeof *m->want);
	assert_non_null(m->want);
	m->n = c->model(&m->in[0], &m->in[1], m->want);
	assert_true(m->n <= NODE_ROOM);
	m->s = NULL;
	m->t.mem.fail_at = nth != 0 ? m->t.mem.calls + nth : 0;
	for (i = 0; i < c->inputs; i++) {
		in[i] = feed_open(&m->f[i], &m->t, m->in[i].x, m->in[i].n, 8, 1 + (size_t)test_below(&m->t.rng, 40));
		ready += in[i] != NULL;
		if (in[i] != NULL && test_below(&m->t.rng, 3) == 0)
			assert_int_equal(em_stream_batch(in[i], 1 + test_below(&m->t.rng, 20)), EM_OK);
	}
	if (ready == c->inputs)
		st = c->make(&m->t, &m->s, in);
	assert_true(st == EM_OK || nth != 0);
	if (st != EM_OK) {
		assert_null(m->s);
		for (i = 0; i < c->inputs && st != EM_END; i++)
			em_stream_close(in[i]);
		return;
	}
	for (i = 0; i < c->inputs; i++)
		assert_int_equal(m->f[i].calls, 0);
	assert_int_equal(node_calls, 0);
	if (test_below(&m->t.rng, 2) == 0)
		assert_int_equal(em_stream_batch(m->s, 1 + test_below(&m->t.rng, 30)), EM_OK);
}

static void close_node(made *m, const node_case *c)
{
	unsigned i;

	em_stream_close(m->s);
	for (i = 0; i < c->inputs; i++)
		assert_int_equal(m->f[i].closed, 1);
	for (i = 0; i < 2; i++)
		free((void *)(uintptr_t)m->in[i].x);
	free(m->want);
	flow_close(&m->t);
}

/* What comes is what is to come, up to some place; it ended in that way. */
static em_status drain(made *m, size_t limit, size_t *n)
{
	const size_t words = (size_t)em_stream_record_bytes(m->s) / 8;
	em_status st;
	uint64_t *got = flow_drain(&m->t, m->s, limit, n, &st);

	assert_true(*n * words <= m->n);
	assert_memory_equal(got, m->want, *n * words * 8);
	free(got);
	return st;
}

static void test_models(void **unused)
{
	size_t i;
	unsigned k;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		for (k = 0; k < 60; k += test_step()) {
			const node_case *c = &node_cases[i];
			uint64_t count;
			em_status st;
			size_t n;
			made m;

			open_node(&m, c, 0, k % 3 == 0 ? 12 : NODE_MOST);
			count = em_stream_count(m.s);
			st = drain(&m, SIZE_MAX, &n);
			if (st != EM_END || n * em_stream_record_bytes(m.s) != m.n * 8) {
				em_stream_error(m.s, &m.t.err);
				fail_msg("%s: %s (%s) after %u of %u numbers", c->name, em_status_name(st),
					 m.t.err.text, (unsigned)n, (unsigned)m.n);
			}
			assert_true(count == EM_STREAM_UNKNOWN || count == n);
			close_node(&m, c);
		}
	}
}

/* An input fails anywhere: the program is told so, or the node did not need to know. */
static void test_inputs_fail(void **unused)
{
	unsigned k, failed, i;
	size_t n;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		for (k = failed = 0; k < 40; k++) {
			const node_case *c = &node_cases[i];
			em_errinfo err;
			em_status st;
			made m;
			unsigned which;

			open_node(&m, c, 0, k % 2 == 0 ? 12 : 100);
			which = k % c->inputs;
			m.f[which].fail_at = (size_t)test_below(&m.t.rng, m.in[which].n + 1);
			st = drain(&m, SIZE_MAX, &n);
			em_stream_error(m.s, &err);
			if (st == EM_ERR_IO) {
				assert_string_equal(err.text, "the feed is torn");
				assert_true(em_stream_empty(em_stream_cursor(m.s)));
				assert_int_equal(em_stream_cursor(m.s)->status, EM_ERR_IO);
				failed++;
			} else {
				assert_int_equal(st, EM_END);
				assert_int_equal(n * em_stream_record_bytes(m.s), m.n * 8);
			}
			close_node(&m, c);
		}
		if (failed == 0)
			fail_msg("%s never failed", node_cases[i].name);
	}
}

/* A source that lends a few numbers at a time, or fails in a way that changes nothing. */
typedef struct hesitant {
	em_stream s;
	test_rng *rng;
	const uint64_t *x;
	size_t n, at;
	unsigned failed;
} hesitant;

static em_status hesitate(em_stream *s, em_errinfo *err)
{
	hesitant *h = (hesitant *)(void *)s;
	size_t n = 1 + (size_t)test_below(h->rng, 30);

	if (test_below(h->rng, 2) == 0) {
		h->failed++;
		s->mild = 1;
		return emi_fail(err, EM_ERR_BUSY, "the source hesitates");
	}
	if (h->at == h->n)
		return EM_END;
	n = n < h->n - h->at ? n : h->n - h->at;
	s->source.at = (const char *)(h->x + h->at);
	s->source.end = (const char *)(h->x + h->at + n);
	h->at += n;
	return EM_OK;
}

static em_stream *hesitant_open(made *m, const node_input *in)
{
	static const emi_stream_kind kind = { hesitate, NULL, "hesitant", 0 };
	em_stream *s = emi_stream_new(m->t.ctx, sizeof(hesitant), &kind, 8, NULL, 0, in->n, &m->t.err), *out;
	hesitant *h = (hesitant *)(void *)s;

	assert_non_null(s);
	h->rng = &m->t.rng;
	h->x = in->x;
	h->n = in->n;
	emi_stream_made(s, &out);
	return out;
}

/* What comes of a node is the same if its inputs were not to be had now and then, and it was pulled again. */
static void test_pulled_again(void **unused)
{
	unsigned i, k, failed;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		for (k = failed = 0; k < 12; k++) {
			const node_case *c = &node_cases[i];
			const em_batch *batch;
			em_stream *in[2], *s;
			em_status st;
			size_t n = 0, bytes;
			unsigned which;
			made m;

			open_node(&m, c, 0, 200);
			for (which = 0; which < c->inputs; which++)
				in[which] = hesitant_open(&m, &m.in[which]);
			assert_int_equal(c->make(&m.t, &s, in), EM_OK);
			assert_int_equal(em_stream_batch(s, 1 + test_below(&m.t.rng, 50)), EM_OK);
			while ((st = em_stream_next(s, &batch)) == EM_OK || st == EM_ERR_BUSY) {
				if (st == EM_ERR_BUSY)
					continue;
				bytes = batch->n * (size_t)em_stream_record_bytes(s);
				assert_true(n + bytes <= m.n * 8);
				assert_memory_equal(batch->records, (const char *)m.want + n, bytes);
				n += bytes;
			}
			assert_int_equal(st, EM_END);
			assert_int_equal(n, m.n * 8);
			for (which = 0; which < c->inputs; which++)
				failed += ((hesitant *)(void *)in[which])->failed;
			em_stream_close(s);
			close_node(&m, c);
		}
		assert_true(failed > 0);
	}
}

/* A node that cannot be made leaves an input where it stands, also among several. */
static void test_input_stays(void **unused)
{
	em_order *order, *wide;
	uint64_t x[3] = { 1, 2, 3 };
	em_stream *s, *was, *in[2];
	flow_case t;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	order = flow_order(&t, 8);
	wide = flow_order(&t, 16);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 3, NULL), EM_OK);
	was = s;
	assert_int_equal(em_stream_sort(&s, s, wide, NULL, &t.err), EM_ERR_INVAL);
	assert_ptr_equal(s, was);
	assert_int_equal(em_stream_unique(&s, s, wide, 0, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_slice(&s, s, 1, 2, &t.err), EM_OK);
	assert_ptr_not_equal(s, was);
	assert_int_equal(em_stream_memory(&in[0], t.ctx, 8, x, 3, NULL), EM_OK);
	in[1] = s;
	assert_int_equal(em_stream_merge(&in[1], in, 2, wide, &t.err), EM_ERR_INVAL);
	assert_ptr_equal(in[1], s);
	assert_int_equal(em_stream_set(&in[0], in[0], in[1], order, 9, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_tee(in, 2, in[0], &(em_tee_opts){ sizeof(em_tee_opts), 8, 0 }, &t.err),
			 EM_ERR_INVAL);
	assert_non_null(in[0]);
	assert_null(in[1]);
	in[1] = s;
	assert_int_equal(em_stream_concat(&in[0], in, 2, &t.err), EM_OK);
	flow_assert(&t, in[0], (const uint64_t[]){ 1, 2, 3, 2, 3 }, 5);
	em_order_close(order);
	em_order_close(wide);
	flow_close(&t);
}

static int pull_it(void *user, uint64_t i, void *records, uint64_t n)
{
	const em_batch *batch;

	(void)i;
	(void)records;
	(void)n;
	assert_int_equal(em_stream_next(user, &batch), EM_ERR_BUSY);
	return 0;
}

/* So it is with containers that are at work. */
static void test_busy_container(void **unused)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	uint64_t x[3] = { 5, 5, 6 };
	em_order *order;
	em_errinfo err;
	em_vector *v;
	em_stream *s;
	flow_case t;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	order = flow_order(&t, 8);
	o.record_bytes = 8;
	assert_int_equal(em_vector_open(&v, t.ctx, &o), EM_OK);
	assert_int_equal(em_vector_push_many(v, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_vector(&s, v, 0, 3, EM_VECTOR_FORWARD, &t.err), EM_OK);
	assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_unique(&s, s, order, 0, &t.err), EM_OK);
	assert_int_equal(em_vector_mutate(v, 0, 1, pull_it, s), EM_OK);
	em_stream_error(s, &err);
	assert_int_equal(err.status, EM_ERR_BUSY);
	flow_assert(&t, s, x + 1, 2);
	em_vector_close(v);
	em_order_close(order);
	flow_close(&t);
}

/* So does a function of the test; where it is seldom called, more rounds are needed until it is called often enough. */
static void test_functions_fail(void **unused)
{
	unsigned i, k, failed;
	size_t n;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		for (k = failed = 0; node_cases[i].calls && (k < 40 || (failed == 0 && k < 1000)); k++) {
			const node_case *c = &node_cases[i];
			em_errinfo err;
			em_status st;
			made m;

			open_node(&m, c, 0, 100);
			node_fail_call = 1 + test_below(&m.t.rng, 6);
			st = drain(&m, SIZE_MAX, &n);
			em_stream_error(m.s, &err);
			assert_true(st == (node_calls < node_fail_call ? EM_END : EM_ERR_USER));
			if (st == EM_ERR_USER)
				assert_non_null(strstr(err.text, "returned 5"));
			failed += st == EM_ERR_USER;
			close_node(&m, c);
		}
		if (node_cases[i].calls && failed == 0)
			fail_msg("%s never failed", node_cases[i].name);
	}
}

/* Graphs that are never pulled, closed half-way, and canceled. */
static void test_half_way(void **unused)
{
	const em_batch *batch;
	unsigned i, k;
	size_t n;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		for (k = 0; k < 12; k++) {
			made m;

			open_node(&m, &node_cases[i], 0, 200);
			if (k % 3 != 0)
				(void)drain(&m, 1 + (size_t)test_below(&m.t.rng, 50), &n);
			if (k % 3 == 2) {
				em_ctx_cancel(m.t.ctx);
				assert_int_equal(em_stream_next(m.s, &batch), EM_ERR_CANCELED);
				assert_null(batch);
			}
			close_node(&m, &node_cases[i]);
		}
	}
}

/* Whatever allocation fails, all is given back. */
static void test_allocations(void **unused)
{
	unsigned i;
	size_t n;

	(void)unused;
	for (i = 0; i < node_cases_n; i++) {
		uint64_t nth;
		int failed = 1;

		for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
			made m;

			open_node(&m, &node_cases[i], nth, 100);
			if (m.s != NULL) {
				const em_status st = drain(&m, SIZE_MAX, &n);

				assert_true(st == EM_END || st == EM_ERR_NOMEM);
				assert_true(st == EM_END || test_memory_failed(&m.t.mem));
			}
			failed = test_memory_failed(&m.t.mem);
			m.t.mem.fail_at = 0;
			if (m.s != NULL) {
				close_node(&m, &node_cases[i]);
			} else {
				free((void *)(uintptr_t)m.in[0].x);
				free((void *)(uintptr_t)m.in[1].x);
				free(m.want);
				flow_close(&m.t);
			}
		}
	}
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 24);
}

static int by_function(const void *a, const void *b, void *user)
{
	(void)user;
	return ++node_calls == node_fail_call ? EM_CMP_ERROR : memcmp(a, b, 24);
}

/* Keys that are longer than what elements have of them, and functions: groups, and what two streams have. */
static void test_long_keys(void **unused)
{
	enum { N = 200 };
	unsigned char x[2][N][24], want[2 * N][24];
	unsigned kind, k, i;

	(void)unused;
	for (kind = 0; kind < 3; kind++) {
		for (k = 0; k < 20; k++) {
			em_stream *in[2], *merged, *s;
			em_order *order;
			em_errinfo err;
			em_status st;
			flow_case t;
			feed f[2];
			size_t n = 0, got;
			void *all;

			flow_open(&t, 16 * MIB, 0);
			memset(x, 7, sizeof x);
			for (i = 0; i < 2 * N; i++) {
				x[i / N][i % N][3] = (unsigned char)test_below(&t.rng, 2);
				x[i / N][i % N][20] = (unsigned char)test_below(&t.rng, 60);
			}
			for (i = 0; i < 2; i++)
				qsort(x[i], N, 24, by_bytes);
			memcpy(want, x, sizeof want);
			qsort(want, 2 * (size_t)N, 24, by_bytes);
			for (i = 0; i < 2 * N; i++)
				if (i == 0 || memcmp(want[i], want[n - 1], 24) != 0)
					memmove(want[n++], want[i], 24);
			node_calls = 0;
			node_fail_call = kind == 2 ? 1 + test_below(&t.rng, 300) : 0;
			if (kind == 0)
				st = em_order_keys(&order, t.ctx, 24, NULL, 0, NULL);
			else
				st = em_order_cmp(&order, t.ctx, 24, NULL, by_function, 0, NULL, NULL, NULL);
			assert_int_equal(st, EM_OK);
			for (i = 0; i < 2; i++)
				in[i] = feed_open(&f[i], &t, x[i], N, 24, 1 + (size_t)test_below(&t.rng, 50));
			if (k % 2 == 0)
				st = em_stream_merge(&merged, in, 2, order, &t.err);
			else
				st = em_stream_set(&merged, in[0], in[1], order, EM_SET_UNION, &t.err);
			assert_int_equal(st, EM_OK);
			assert_int_equal(em_stream_unique(&s, merged, order, 0, &t.err), EM_OK);
			all = flow_drain(&t, s, SIZE_MAX, &got, &st);
			assert_int_equal(st, kind == 2 ? EM_ERR_USER : EM_END);
			assert_true(kind == 2 || got == n);
			if (kind != 2)
				assert_memory_equal(all, want, n * 24);
			em_stream_error(s, &err);
			assert_int_equal(err.status, kind == 2 ? EM_ERR_USER : EM_OK);
			em_stream_close(s);
			em_order_close(order);
			free(all);
			flow_close(&t);
		}
	}
}

/* Many right records with one key. */
static void test_join_memory(void **unused)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_join_opts o = EM_JOIN_OPTS_INIT;
	uint64_t x[100] = { 0 }, one = 0;
	em_stream *in[2], *s;
	em_errinfo err;
	flow_case t;
	em_status st;
	size_t n;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	o.left = o.right = &key;
	o.nkeys = 1;
	for (o.memory_bytes = 99 * 8; o.memory_bytes <= 800; o.memory_bytes += 8) {
		assert_int_equal(em_stream_memory(&in[0], t.ctx, 8, &one, 1, NULL), EM_OK);
		assert_int_equal(em_stream_memory(&in[1], t.ctx, 8, x, 100, NULL), EM_OK);
		assert_int_equal(em_stream_join(&s, in[0], in[1], &o, &t.err), EM_OK);
		free(flow_drain(&t, s, SIZE_MAX, &n, &st));
		assert_int_equal(st, o.memory_bytes < 800 ? EM_ERR_MEMLIMIT : EM_END);
		em_stream_error(s, &err);
		assert_true(st == EM_END || strstr(err.text, "one key") != NULL);
		em_stream_close(s);
	}
	flow_close(&t);
}

/* Inputs that are not to be had; whatever is refused leaves them as they are. */
static void test_mistakes(void **unused)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } }, narrow = { 0, 0, EM_KEY_U32, 0, { 0 } };
	em_join_opts o = EM_JOIN_OPTS_INIT;
	em_order *order, *foreign, *wide;
	uint64_t x[3] = { 1, 2, 3 };
	em_stream *in[3], *twice[2], *s, *far;
	const em_batch *batch;
	flow_case t, other;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	flow_open(&other, 16 * MIB, 0);
	order = flow_order(&t, 8);
	wide = flow_order(&t, 16);
	foreign = flow_order(&other, 8);
	assert_int_equal(em_stream_memory(&in[0], t.ctx, 8, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_memory(&in[1], t.ctx, 8, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_memory(&in[2], t.ctx, 4, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_memory(&far, other.ctx, 8, x, 3, NULL), EM_OK);
	assert_int_equal(em_stream_map(&s, in[0], 8, NULL, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_map(&s, NULL, 8, triple, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_map(&s, in[0], 0, triple, NULL, NULL, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_map(&s, in[0], UINT64_MAX, triple, NULL, NULL, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_filter(&s, in[0], NULL, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_inspect(NULL, in[0], see, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_flat_map(&s, in[0], 8, NULL, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_transform(&s, in, 0, 8, add_pairs, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_concat(&s, in, 3, &t.err), EM_ERR_INVAL);
	twice[0] = twice[1] = in[0];
	assert_int_equal(em_stream_concat(&s, twice, 2, &t.err), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "same stream"));
	twice[1] = far;
	assert_int_equal(em_stream_zip(&s, twice, 2, &t.err), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "another context"));
	assert_int_equal(em_stream_merge(&s, in, 2, foreign, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_merge(&s, in, 2, wide, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_merge(&s, in, 0, order, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], wide, 0, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], order, 8, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_reduce(&s, in[0], order, NULL, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_set(&s, in[0], in[1], order, 4, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_set(&s, in[0], in[0], order, 0, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_prefix_sum(&s, in[2], 0, EM_KEY_U64, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_prefix_sum(&s, in[0], 1, EM_KEY_U64, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_prefix_sum(&s, in[0], 0, EM_KEY_U32, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_window(&s, in[0], 0, 1, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_window(&s, in[0], 1, 0, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_join(&s, in[0], in[1], &o, &t.err), EM_ERR_INVAL);
	o.left = &key;
	o.right = &narrow;
	o.nkeys = 1;
	assert_int_equal(em_stream_join(&s, in[0], in[1], &o, &t.err), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "two kinds"));
	o.right = &key;
	assert_int_equal(em_stream_join(&s, in[0], in[2], &o, &t.err), EM_ERR_RANGE);
	o.fn = put_pair;
	assert_int_equal(em_stream_join(&s, in[0], in[1], &o, &t.err), EM_ERR_INVAL);
	assert_null(s);
	/* A node owns its input. */
	node_calls = node_fail_call = 0;
	assert_int_equal(em_stream_map(&s, in[0], 8, triple, NULL, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_next(in[0], &batch), EM_ERR_STATE);
	assert_int_equal(em_stream_map(&twice[0], in[0], 8, triple, NULL, NULL, &t.err), EM_ERR_STATE);
	assert_int_equal(em_stream_record_bytes(in[0]), 8);
	em_stream_close(in[0]);
	assert_int_equal(em_stream_next(s, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	assert_int_equal(((const uint64_t *)batch->records)[2], 10);
	em_stream_close(s);
	/* What a cursor has in its window is not lost. */
	assert_false(em_stream_empty(em_stream_cursor(in[1])));
	em_stream_advance(em_stream_cursor(in[1]));
	assert_int_equal(em_stream_slice(&s, in[1], 0, EM_STREAM_UNKNOWN, &t.err), EM_OK);
	flow_assert(&t, s, x + 1, 2);
	em_stream_close(in[2]);
	em_stream_close(far);
	em_order_close(order);
	em_order_close(wide);
	em_order_close(foreign);
	flow_close(&t);
	flow_close(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_inputs_fail),
		cmocka_unit_test(test_pulled_again),
		cmocka_unit_test(test_input_stays),
		cmocka_unit_test(test_busy_container),
		cmocka_unit_test(test_functions_fail),
		cmocka_unit_test(test_half_way),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_join_memory),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("flow_nodes", tests, NULL, NULL);
}
