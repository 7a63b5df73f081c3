/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_flow_progress.c -- programs that hear to a graph.
 *
 * No test waits for a time to pass: a source makes records until whoever listens was told often enough.
 */
#include "flow/flow_case.h"

#include <pthread.h>

#define MIB ((uint64_t)1 << 20)
#define ENOUGH 3

/* Who listens. */
typedef struct ear {
	em_stream *top;
	pthread_t thread;       /* that pulls */
	int told;               /* calls; atomic: a source may have a thread of its own */
	int most;               /* with this one it has had enough; 0: it never has */
	int freed;
	uint32_t phase;         /* of the last call ... */
	uint64_t done;          /* ... and what was done then */
	int meddles;            /* it makes calls on the graph */
} ear;

static int told(const ear *e)
{
	return __atomic_load_n(&e->told, __ATOMIC_ACQUIRE);
}

static int hear(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	ear *e = user;
	em_stream_graph_info g = EM_STREAM_GRAPH_INFO_INIT;
	const em_batch *batch;

	assert_true(pthread_equal(e->thread, pthread_self()));
	assert_true(phase >= 1 && phase >= e->phase);
	assert_true(phase > e->phase || done >= e->done);
	assert_true(total == 0 || done <= total);
	e->phase = phase;
	e->done = done;
	if (e->meddles) {
		assert_int_equal(em_stream_graph_info_get(e->top, &g), EM_OK);
		assert_int_equal(g.phase, phase);
		assert_int_equal(g.done, done);
		assert_int_equal(em_stream_next(e->top, &batch), EM_ERR_BUSY);
		assert_int_equal(em_stream_progress(e->top, NULL, NULL, NULL), EM_ERR_BUSY);
	}
	return __atomic_add_fetch(&e->told, 1, __ATOMIC_RELEASE) == e->most;
}

static void count_freed(void *user)
{
	((ear *)user)->freed++;
}

static void attach(ear *e, em_stream *s)
{
	e->top = s;
	e->thread = pthread_self();
	assert_int_equal(em_stream_progress(s, hear, e, count_freed), EM_OK);
}

/* Numbers without an order, until somebody was told enough. */
static int until_told(void *user, uint64_t i, void *records, size_t *n)
{
	const ear *e = user;
	uint64_t *x = records;
	size_t k;

	for (k = 0; k < *n; k++)
		x[k] = (i + k) * 0x9e3779b97f4a7c15u;
	if (told(e) >= (e->most != 0 ? e->most : ENOUGH))
		*n = 0;
	return 0;
}

static em_stream *endless(flow_case *t, ear *e)
{
	em_stream *s;

	assert_int_equal(em_stream_generate(&s, t->ctx, 8, EM_STREAM_UNKNOWN, until_told, e, NULL, &t->err), EM_OK);
	return s;
}

/* Pull all of it: its records are sorted if they should be. */
static em_status pull_all(em_stream *s, int sorted, uint64_t *n)
{
	const em_batch *batch;
	uint64_t last = 0, x;
	em_status st;
	size_t i;

	*n = 0;
	while ((st = em_stream_next(s, &batch)) == EM_OK) {
		for (i = 0; i < batch->n && sorted; i++) {
			memcpy(&x, (const char *)batch->records + 8 * i, 8);
			assert_true(last <= x);
			last = x;
		}
		*n += batch->n;
	}
	return st;
}

/* In the only phase of a graph without sorts, and in that where a sort forms runs. */
static void test_phases(void **state)
{
	unsigned sorts;

	(void)state;
	for (sorts = 0; sorts < 3; sorts++) {
		em_sort_opts o = EM_SORT_OPTS_INIT;
		uint64_t n;
		em_order *order;
		em_stream *s;
		flow_case t;
		ear e;

		memset(&e, 0, sizeof e);
		e.meddles = 1;
		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, 8);
		o.memory = 2 * MIB;
		s = endless(&t, &e);
		if (sorts == 1)
			assert_int_equal(em_stream_sort(&s, s, order, &o, &t.err), EM_OK);
		if (sorts == 2)
			assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
		assert_int_equal(em_stream_slice(&s, s, 0, EM_STREAM_UNKNOWN, &t.err), EM_OK);
		attach(&e, s);
		assert_int_equal(pull_all(s, sorts != 0, &n), EM_END);
		assert_true(n > 0 && e.told >= ENOUGH);
		assert_true(e.phase <= 1 + (sorts != 0));
		assert_int_equal(e.freed, 0);
		em_stream_close(s);
		assert_int_equal(e.freed, 1);
		em_order_close(order);
		flow_close(&t);
	}
}

/* It has had enough: the pull is canceled, wherever it is, and stays so. */
static void test_cancel(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 4; round++) {
		const em_batch *batch;
		uint64_t n;
		em_order *order;
		em_stream *s;
		flow_case t;
		ear e;

		memset(&e, 0, sizeof e);
		e.most = 1 + (int)(round % 2);
		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, 8);
		s = endless(&t, &e);
		if (round >= 2)
			assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
		attach(&e, s);
		assert_int_equal(pull_all(s, round >= 2, &n), EM_ERR_CANCELED);
		em_stream_error(s, &t.err);
		assert_int_equal(t.err.status, EM_ERR_CANCELED);
		assert_int_equal(em_stream_next(s, &batch), EM_ERR_CANCELED);
		assert_int_equal(e.told, e.most);
		em_stream_close(s);
		assert_int_equal(e.freed, 1);
		em_order_close(order);
		flow_close(&t);
	}
}

/* Sorts whose own progress is watched go on telling of that. */
typedef struct own_ear {
	ear *graph;
	uint64_t calls;
} own_ear;

static int listen_to_sort(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	own_ear *o = user;

	assert_true(phase <= EM_PHASE_OUTPUT);
	assert_true(total == 0 || done <= total);
	o->calls++;
	return 0;
}

static int until_both_told(void *user, uint64_t i, void *records, size_t *n)
{
	const own_ear *o = user;
	uint64_t *x = records;
	size_t k;

	for (k = 0; k < *n; k++)
		x[k] = (i + k) % 1000;
	if (o->calls >= ENOUGH && told(o->graph) >= ENOUGH)
		*n = 0;
	return 0;
}

static int sum_nothing(void *user, void *sum, const void *records, size_t n)
{
	(void)user;
	(void)sum;
	(void)records;
	(void)n;
	return 0;
}

static void test_sorts_own(void **state)
{
	unsigned reduces;

	(void)state;
	for (reduces = 0; reduces < 2; reduces++) {
		em_sort_opts form = EM_SORT_OPTS_INIT;
		em_order *order;
		em_stream *s;
		flow_case t;
		uint64_t n;
		own_ear o;
		ear e;

		memset(&e, 0, sizeof e);
		o.graph = &e;
		o.calls = 0;
		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, 8);
		form.memory = 2 * MIB;
		form.progress = listen_to_sort;
		form.progress_user = &o;
		assert_int_equal(em_stream_generate(&s, t.ctx, 8, EM_STREAM_UNKNOWN, until_both_told, &o, NULL, &t.err),
				 EM_OK);
		if (reduces)
			assert_int_equal(em_stream_sort_reduce(&s, s, order, &form, sum_nothing, NULL, NULL, &t.err),
					 EM_OK);
		else
			assert_int_equal(em_stream_sort(&s, s, order, &form, &t.err), EM_OK);
		attach(&e, s);
		assert_int_equal(pull_all(s, 1, &n), EM_END);
		assert_true(o.calls >= ENOUGH && e.told >= ENOUGH);
		assert_true(!reduces || n == 1000);
		em_stream_close(s);
		em_order_close(order);
		flow_close(&t);
	}
}

/* What is below a stage with a thread of its own makes records until the thread that pulls was told. */
static void test_ahead(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 4; round++) {
		em_order *order;
		em_stream *s;
		flow_case t;
		uint64_t n;
		em_status st;
		ear e;

		memset(&e, 0, sizeof e);
		e.most = round % 2 != 0 ? 2 : 0;
		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, 8);
		s = endless(&t, &e);
		/* Nothing comes out before it is told. */
		if (round >= 2)
			assert_int_equal(em_stream_sort(&s, s, order, NULL, &t.err), EM_OK);
		assert_int_equal(em_stream_ahead(&s, s, 0, &t.err), EM_OK);
		attach(&e, s);
		st = pull_all(s, round >= 2, &n);
		assert_int_equal(st, e.most != 0 ? EM_ERR_CANCELED : EM_END);
		assert_true(e.told >= (e.most != 0 ? e.most : ENOUGH));
		em_stream_close(s);
		assert_int_equal(e.freed, 1);
		em_order_close(order);
		flow_close(&t);
	}
}

/* Half-way it is closed; it takes the place of another one; it is nobody's when it is refused. */
static void test_life(void **state)
{
	const em_batch *batch;
	em_stream *s, *on;
	em_status st;
	flow_case t;
	ear a, b;

	(void)state;
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	flow_open(&t, 4 * MIB, 0);
	assert_int_equal(em_stream_progress(NULL, hear, &a, count_freed), EM_ERR_INVAL);
	assert_int_equal(a.freed, 1);
	s = endless(&t, &b);
	attach(&a, s);
	attach(&b, s);
	assert_int_equal(a.freed, 2);
	assert_int_equal(em_stream_progress(s, NULL, NULL, NULL), EM_OK);
	assert_int_equal(b.freed, 1);
	attach(&b, s);
	assert_int_equal(em_stream_slice(&on, s, 5, EM_STREAM_UNKNOWN, &t.err), EM_OK);
	assert_int_equal(em_stream_progress(s, hear, &a, count_freed), EM_ERR_STATE);
	assert_int_equal(a.freed, 3);
	/* It is heard as an input, too. */
	do
		st = em_stream_next(on, &batch);
	while (st == EM_OK);
	assert_int_equal(st, EM_END);
	assert_true(told(&b) >= ENOUGH);
	assert_int_equal(em_stream_progress(on, hear, &a, count_freed), EM_ERR_STATE);
	assert_int_equal(a.freed, 4);
	assert_int_equal(b.freed, 1);
	em_stream_close(on);
	assert_int_equal(b.freed, 2);
	assert_int_equal(a.told, 0);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_sorts_own),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
