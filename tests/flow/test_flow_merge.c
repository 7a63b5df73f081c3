/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_flow_merge.c -- merges of sorted records from anywhere, mixed: memory, a file, a source of the program's own,
 * blocks of containers, a sorter, kept runs, and another merge.  Equal ones come in the order of the inputs.
 */
#include <stdio.h>

#include "flow/runs_case.h"

enum { A_FEED, MEMORY, A_FILE, A_VECTOR, A_QUEUE, A_DEQUE, A_SORTER, RUNS, A_SORT, A_MERGE, KINDS, MOST = 14 };

/* One input, and what it is made of. */
typedef struct supply {
	pair *records;          /* sorted by keys and numbers, but for what sorts them */
	size_t n;
	feed feed;
	char *path;
	em_vector *vector;
	em_queue *queue;
	em_deque *deque;
	em_sorter *sorter;
	em_runs *runs;
} supply;

typedef struct mixed_case {
	flow_case t;
	em_order *order;
	char *dir;
	supply supply[MOST];
	em_stream *in[MOST];
	uint64_t numbers;       /* records that were drawn */
	size_t n;
	uint32_t inputs;
} mixed_case;

static em_stream *memory_of(mixed_case *c, const pair *p, size_t n)
{
	em_stream *s;

	assert_int_equal(em_stream_memory(&s, c->t.ctx, sizeof *p, p, n, &c->t.err), EM_OK);
	return s;
}

static em_status open_file(mixed_case *c, supply *s, size_t n, em_stream **out)
{
	const char *path;
	char name[16];
	FILE *file;

	sprintf(name, "%d", (int)(s - c->supply));
	path = s->path = test_path(c->dir, name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(s->records, sizeof *s->records, n, file), n);
	assert_int_equal(fclose(file), 0);
	return em_stream_file(out, c->t.ctx, sizeof *s->records, &path, 1, &c->t.err);
}

static em_status open_container(mixed_case *c, supply *s, int kind, size_t n, em_stream **out)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;
	em_vector_opts v = EM_VECTOR_OPTS_INIT;

	o.record_bytes = v.record_bytes = sizeof *s->records;
	o.block_bytes = v.block_bytes = 4096;
	switch (kind) {
	case A_VECTOR:
		assert_int_equal(em_vector_open(&s->vector, c->t.ctx, &v), EM_OK);
		assert_int_equal(em_vector_push_many(s->vector, s->records, n, NULL), EM_OK);
		return em_stream_vector(out, s->vector, 0, n, EM_VECTOR_FORWARD, &c->t.err);
	case A_QUEUE:
		assert_int_equal(em_queue_open(&s->queue, c->t.ctx, &o), EM_OK);
		assert_int_equal(em_queue_push_many(s->queue, s->records, n, NULL), EM_OK);
		return em_stream_queue(out, s->queue, &c->t.err);
	default:
		assert_int_equal(em_deque_open(&s->deque, c->t.ctx, &o), EM_OK);
		assert_int_equal(em_deque_push_back_many(s->deque, s->records, n, NULL), EM_OK);
		return em_stream_deque(out, s->deque, 0, n, EM_DEQUE_FORWARD, &c->t.err);
	}
}

/* What sorts by itself gets its records in another order, which those that are equal keep. */
static em_status open_sorting(mixed_case *c, supply *s, int kind, size_t n, em_stream **out)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_stream *in;

	o.run_records = 400;
	o.block_bytes = 4096;
	o.memory = 512 << 10;
	switch (kind) {
	case A_SORTER:
		assert_int_equal(em_sorter_open(&s->sorter, c->t.ctx, c->order, &o), EM_OK);
		assert_int_equal(em_sorter_push(s->sorter, s->records, n), EM_OK);
		assert_int_equal(em_sorter_finish(s->sorter), EM_OK);
		return em_stream_sorter(out, s->sorter, &c->t.err);
	case RUNS:
		s->runs = runs_open(&c->t, c->order, &o, NULL);
		runs_give(&c->t, s->runs, s->records, n, 0);
		runs_assert(s->runs, em_runs_finish(s->runs));
		*out = runs_merge(&c->t, s->runs, NULL);
		return EM_OK;
	default:
		in = feed_open(&s->feed, &c->t, s->records, n, sizeof *s->records, 300);
		return em_stream_sort(out, in, c->order, &o, &c->t.err);
	}
}

static em_status open_merge(mixed_case *c, const supply *s, size_t n, em_stream **out)
{
	em_stream *in[2];

	in[0] = memory_of(c, s->records, n / 2);
	in[1] = memory_of(c, s->records + n / 2, n - n / 2);
	return em_stream_merge(out, in, 2, c->order, &c->t.err);
}

/* Numbers of equal records grow from one input to the next, so they tell the order that is right. */
static void add_input(mixed_case *c, int kind, size_t n, uint64_t below)
{
	const uint32_t i = c->inputs++;
	supply *s = &c->supply[i];
	pair *drawn = runs_pairs(&c->t, n, below);
	em_status st = EM_OK;
	size_t k;

	for (k = 0; k < n; k++)
		drawn[k].val += c->numbers;
	c->numbers += n;
	c->n += s->n = n;
	s->records = kind == A_SORTER || kind == RUNS || kind == A_SORT ? drawn : runs_sorted(drawn, n);
	if (s->records != drawn)
		free(drawn);
	if (kind == A_FEED)
		c->in[i] = feed_open(&s->feed, &c->t, s->records, n, sizeof *s->records, 100);
	else if (kind == MEMORY)
		c->in[i] = memory_of(c, s->records, n);
	else if (kind == A_FILE)
		st = open_file(c, s, n, &c->in[i]);
	else if (kind == A_MERGE)
		st = open_merge(c, s, n, &c->in[i]);
	else if (kind <= A_DEQUE)
		st = open_container(c, s, kind, n, &c->in[i]);
	else
		st = open_sorting(c, s, kind, n, &c->in[i]);
	if (st != EM_OK)
		fail_msg("source %d: %s", kind, c->t.err.text);
}

static void open_case(mixed_case *c, uint64_t memory)
{
	memset(c, 0, sizeof *c);
	flow_open(&c->t, memory, 0);
	c->order = flow_order(&c->t, sizeof(pair));
	c->dir = test_dir_make();
}

static void close_case(mixed_case *c)
{
	uint32_t i;

	for (i = 0; i < c->inputs; i++) {
		supply *s = &c->supply[i];

		em_vector_close(s->vector);
		em_queue_close(s->queue);
		em_deque_close(s->deque);
		em_sorter_close(s->sorter);
		em_runs_close(s->runs);
		free(s->records);
		free(s->path);
	}
	em_order_close(c->order);
	test_dir_remove(c->dir);
	flow_close(&c->t);
}

/* All that was given, sorted. */
static pair *expected(const mixed_case *c)
{
	pair *all = malloc((c->n + 1) * sizeof *all), *y;
	size_t at = 0;
	uint32_t i;

	assert_non_null(all);
	for (i = 0; i < c->inputs; at += c->supply[i++].n)
		memcpy(all + at, c->supply[i].records, c->supply[i].n * sizeof *all);
	y = runs_sorted(all, at);
	free(all);
	return y;
}

/* All kinds, and some of them again, in any order; keys that are nearly all equal, or hardly ever. */
static void test_mixed(void **state)
{
	static const size_t most[] = { 3, 300, 5000 };
	static const uint64_t below[] = { 1, 7, 1000, UINT64_MAX };
	unsigned round;

	(void)state;
	for (round = 0; round < 24; round++) {
		int kind[MOST], k, other, with;
		mixed_case c;
		em_stream *s;
		pair *y;

		open_case(&c, 16 * MIB);
		for (k = 0; k < MOST; k++)
			kind[k] = k < KINDS ? k : (int)test_below(&c.t.rng, KINDS);
		for (k = MOST; k > 1; k--) {
			with = (int)test_below(&c.t.rng, (uint64_t)k);
			other = kind[with];
			kind[with] = kind[k - 1];
			kind[k - 1] = other;
		}
		for (k = 0; k < MOST; k++)
			add_input(&c, kind[k], (size_t)test_below(&c.t.rng, most[round % 3]), below[round % 4]);
		y = expected(&c);
		assert_int_equal(em_stream_merge(&s, c.in, c.inputs, c.order, &c.t.err), EM_OK);
		flow_assert(&c.t, s, y, c.n);
		free(y);
		close_case(&c);
	}
}

/* A source that fails is told of, whatever else is merged; what came before it was right. */
static void test_one_fails(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 20; round++) {
		mixed_case c;
		em_status st;
		em_stream *s;
		pair *y, *got;
		size_t n;
		int kind;

		open_case(&c, 16 * MIB);
		for (kind = 0; kind < KINDS; kind++)
			add_input(&c, kind, 1 + (size_t)test_below(&c.t.rng, 1000), 50);
		c.supply[A_FEED].feed.fail_at = (size_t)test_below(&c.t.rng, c.supply[A_FEED].n);
		y = expected(&c);
		assert_int_equal(em_stream_merge(&s, c.in, c.inputs, c.order, &c.t.err), EM_OK);
		got = flow_drain(&c.t, s, SIZE_MAX, &n, &st);
		assert_int_equal(st, EM_ERR_IO);
		em_stream_error(s, &c.t.err);
		assert_non_null(strstr(c.t.err.text, "the feed is torn"));
		assert_true(n < c.n);
		assert_memory_equal(got, y, n * sizeof *y);
		em_stream_close(s);
		free(got);
		free(y);
		close_case(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_one_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
