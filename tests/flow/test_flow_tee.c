/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_tee.c -- streams that branch: tees, where their paths come together, and splits. */
#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)

/* By what is left of a division by 4: lent, to one sink, to another one, and to the first. */
static int by_four(void *user, const void *records, size_t n, uint32_t *to)
{
	const uint64_t *x = records;
	size_t i;

	assert_true(n > 0 && n <= 1024);
	for (i = 0; i < n; i++) {
		assert_int_equal(to[i], 0);
		to[i] = x[i] % 4 == 3 ? 1 : (uint32_t)(x[i] % 4);
		if (x[i] == *(const uint64_t *)user)
			to[i] = 3;
	}
	return 0;
}

static void test_split(void **unused)
{
	enum { N = 5000 };
	uint64_t *x, want[4][N], got[2][N], wrong = UINT64_MAX;
	size_t n[4], i, k;

	(void)unused;
	for (k = 0; k < 20; k++) {
		em_sink *sink[2], *twice[2];
		em_stream *s;
		em_errinfo err;
		em_status st;
		flow_case t;
		void *lent;
		feed f;

		flow_open(&t, 16 * MIB, 0);
		x = flow_numbers(&t, N, 1 + test_below(&t.rng, 40), 0);
		memset(n, 0, sizeof n);
		for (i = 0; i < N; i++) {
			const size_t to = x[i] % 4 == 3 ? 1 : x[i] % 4;

			want[to][n[to]++] = x[i];
		}
		wrong = k % 5 == 4 ? x[N / 2] : UINT64_MAX;
		assert_int_equal(em_sink_memory(&sink[0], t.ctx, 8, got[0], k % 5 == 3 ? n[1] / 2 : N, NULL), EM_OK);
		assert_int_equal(em_sink_memory(&sink[1], t.ctx, 8, got[1], N, NULL), EM_OK);
		twice[0] = twice[1] = sink[0];
		s = feed_open(&f, &t, x, N, 8, 1 + (size_t)test_below(&t.rng, 3000));
		assert_int_equal(em_stream_split(&s, s, sink, 0, by_four, &wrong, NULL, &t.err), EM_ERR_INVAL);
		assert_int_equal(em_stream_split(&s, s, twice, 2, by_four, &wrong, NULL, &t.err), EM_ERR_INVAL);
		assert_int_equal(em_stream_split(&s, s, sink, 2, NULL, &wrong, NULL, &t.err), EM_ERR_INVAL);
		assert_int_equal(em_stream_split(&s, s, sink, 2, by_four, &wrong, NULL, &t.err), EM_OK);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 2000)), EM_OK);
		lent = flow_drain(&t, s, SIZE_MAX, &i, &st);
		em_stream_error(s, &err);
		if (k % 5 == 3 && n[1] > 0) {
			assert_int_equal(st, EM_ERR_NOSPACE);
			n[1] /= 2;
		} else if (k % 5 == 4) {
			assert_int_equal(st, EM_ERR_USER);
			assert_non_null(strstr(err.text, "sink 3 of 2"));
			n[1] = (size_t)em_sink_count(sink[0]);
		} else {
			assert_int_equal(st, EM_END);
			assert_int_equal(i, n[0]);
			assert_int_equal(em_sink_count(sink[1]), n[2]);
		}
		assert_memory_equal(lent, want[0], i * 8);
		assert_int_equal(em_sink_count(sink[0]), n[1]);
		assert_memory_equal(got[0], want[1], n[1] * 8);
		assert_memory_equal(got[1], want[2], em_sink_count(sink[1]) * 8);
		em_stream_close(s);
		em_sink_close(sink[0]);
		em_sink_close(sink[1]);
		free(lent);
		free(x);
		flow_close(&t);
	}
}

/* A tee whose outputs are read one after the other, and closed in between. */
static void test_tee(void **unused)
{
	em_tee_opts o = EM_TEE_OPTS_INIT;
	const em_batch *batch;
	em_stream *in, *out[3];
	em_errinfo err;
	uint64_t *x;
	flow_case t;
	em_status st;
	size_t n;
	feed f;

	(void)unused;
	flow_open(&t, 16 * MIB, 0);
	x = flow_numbers(&t, 1000, UINT64_MAX, 0);
	/* The buffer is too small for all: the one that reads is told, and the others go on. */
	o.buffer_bytes = 100 * 8;
	in = feed_open(&f, &t, x, 1000, 8, 10);
	assert_int_equal(em_stream_tee(out, 3, in, &o, &t.err), EM_OK);
	assert_int_equal(em_stream_count(out[1]), 1000);
	free(flow_drain(&t, out[0], SIZE_MAX, &n, &st));
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	assert_true(n > 90 && n <= 100);
	em_stream_error(out[0], &err);
	assert_non_null(strstr(err.text, "tee"));
	em_stream_close(out[2]);
	flow_assert(&t, out[1], x, 1000);
	assert_int_equal(em_stream_record_bytes(in), 8);
	em_stream_close(in);
	em_stream_close(out[0]);
	assert_int_equal(f.closed, 1);
	/* On disks, one after the other. */
	o.flags = EM_TEE_SPILL;
	in = feed_open(&f, &t, x, 1000, 8, 10);
	assert_int_equal(em_stream_tee(out, 3, in, &o, &t.err), EM_OK);
	flow_assert(&t, out[2], x, 1000);
	flow_assert(&t, out[0], x, 1000);
	flow_assert(&t, out[1], x, 1000);
	/* The failure of an input comes to all, behind what there was. */
	in = feed_open(&f, &t, x, 1000, 8, 10);
	f.fail_at = 500;
	assert_int_equal(em_stream_tee(out, 3, in, &o, &t.err), EM_OK);
	for (n = 0; n < 3; n++) {
		size_t got;

		free(flow_drain(&t, out[n], SIZE_MAX, &got, &st));
		assert_int_equal(st, EM_ERR_IO);
		assert_int_equal(got, 500);
		em_stream_error(out[n], &err);
		assert_string_equal(err.text, "the feed is torn");
		assert_int_equal(em_stream_next(out[n], &batch), EM_ERR_IO);
	}
	for (n = 0; n < 3; n++)
		em_stream_close(out[n]);
	/* Mistakes.  What stood in `out' before is no handle of the next input. */
	out[0] = out[1] = out[2] = (em_stream *)(void *)&f;
	in = feed_open(&f, &t, x, 10, 8, 10);
	o.buffer_bytes = 7;
	assert_int_equal(em_stream_tee(out, 3, in, &o, &t.err), EM_ERR_RANGE);
	assert_null(out[2]);
	o.buffer_bytes = 0;
	o.flags = 8;
	assert_int_equal(em_stream_tee(out, 3, in, &o, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_tee(out, 0, in, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_tee(out, 1, NULL, NULL, &t.err), EM_ERR_INVAL);
	flow_assert(&t, in, x, 10);
	free(x);
	flow_close(&t);
}

/* Two numbers become one. */
static int fold(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++)
		y[i] = x[2 * i] * 3 + x[2 * i + 1];
	return 0;
}

static int add_one(void *user, const void *records, size_t n, void *to)
{
	const uint64_t *x = records;
	uint64_t *y = to;
	size_t i;

	(void)user;
	for (i = 0; i < n; i++)
		y[i] = x[i] + 1;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

enum { PATH_N = 1000, PATH_HELD = 100 };

/* A tee of 1000 records with a buffer for so many. */
typedef struct path_case {
	flow_case t;
	em_order *order;
	feed f;
	uint64_t *x;
	em_stream *out[3];
} path_case;

static void tee_off(path_case *p, em_stream *in, em_stream **out, uint32_t n, uint64_t held, uint32_t flags)
{
	em_tee_opts o = EM_TEE_OPTS_INIT;

	o.buffer_bytes = held * 8;
	o.flags = flags;
	assert_int_equal(em_stream_tee(out, n, in, &o, &p->t.err), EM_OK);
}

static void path_open(path_case *p, uint64_t held, uint32_t flags)
{
	flow_open(&p->t, 64 * MIB, 0);
	p->order = flow_order(&p->t, 8);
	p->x = flow_numbers(&p->t, PATH_N, UINT64_MAX, 0);
	tee_off(p, feed_open(&p->f, &p->t, p->x, PATH_N, 8, 50), p->out, 3, held, flags);
}

static void path_close(path_case *p)
{
	assert_int_equal(p->f.closed, 1);
	em_order_close(p->order);
	free(p->x);
	flow_close(&p->t);
}

/* It was refused, and the detail has these words. */
static void assert_refused(path_case *p, em_status st, em_status is, const char *a, const char *b)
{
	assert_int_equal(st, is);
	assert_int_equal(p->t.err.status, is);
	assert_non_null(strstr(p->t.err.text, "tee"));
	assert_non_null(strstr(p->t.err.text, a));
	assert_non_null(strstr(p->t.err.text, b));
	assert_int_equal(p->f.calls, 0);
}

/* A path with a sort beside one without, under each kind of node with several inputs. */
static void test_paths(void **unused)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_join_opts join = EM_JOIN_OPTS_INIT;
	em_stream *in[3], *s;
	path_case p;
	unsigned k;

	(void)unused;
	join.left = join.right = &key;
	join.nkeys = 1;
	for (k = 0; k < 4; k++) {
		const int holds = k == 1 || k == 2;

		/* What is too small for all, what spills, what holds all, and what lacks one record for that. */
		path_open(&p, k == 2 ? PATH_N : k == 3 ? PATH_N - 1 : PATH_HELD, k == 1 ? EM_TEE_SPILL : 0);
		assert_int_equal(em_stream_map(&in[0], p.out[0], 8, add_one, NULL, NULL, &p.t.err), EM_OK);
		assert_int_equal(em_stream_map(&in[1], p.out[1], 8, add_one, NULL, NULL, &p.t.err), EM_OK);
		assert_int_equal(em_stream_sort(&in[1], in[1], p.order, NULL, &p.t.err), EM_OK);
		in[2] = p.out[2];
		if (!holds) {
			assert_refused(&p, em_stream_zip(&s, in, 2, &p.t.err), EM_ERR_MEMLIMIT,
				       "zip of outputs 1 (map, sort, input 1) and 0 (map, input 0)", "EM_TEE_SPILL");
			assert_null(s);
			assert_refused(&p, em_stream_merge(&s, in, 2, p.order, &p.t.err), EM_ERR_MEMLIMIT, "merge of",
				       "sort");
			assert_refused(&p, em_stream_concat(&s, in, 2, &p.t.err), EM_ERR_MEMLIMIT, "concat of",
				       "sort");
			assert_refused(&p, em_stream_set(&s, in[0], in[1], p.order, EM_SET_UNION, &p.t.err),
				       EM_ERR_MEMLIMIT, "set operation", "sort");
			assert_refused(&p, em_stream_join(&s, in[1], in[0], &join, &p.t.err), EM_ERR_MEMLIMIT,
				       "join of", "(map, sort, input 0)");
			/* Others are there as they were. */
			em_stream_close(in[1]);
			in[1] = in[2];
			assert_int_equal(em_stream_zip(&s, in, 2, &p.t.err), EM_OK);
		} else {
			assert_int_equal(em_stream_zip(&s, in, 3, &p.t.err), EM_OK);
			assert_int_equal(em_stream_slice(&s, s, 0, EM_STREAM_UNKNOWN, &p.t.err), EM_OK);
		}
		{
			em_status st;
			size_t n;

			free(flow_drain(&p.t, s, SIZE_MAX, &n, &st));
			assert_int_equal(st, EM_END);
			assert_int_equal(n, PATH_N);
		}
		em_stream_close(s);
		path_close(&p);
	}
}

/* Without a sort: inputs in turn, threads, and paths that keep in step. */
static void test_paths_without_sorts(void **unused)
{
	em_stream *in[3], *s;
	path_case p;

	(void)unused;
	path_open(&p, PATH_HELD, 0);
	assert_refused(&p, em_stream_concat(&s, p.out, 3, &p.t.err), EM_ERR_MEMLIMIT, "concat of outputs 0 (input 0)",
		       "1 (input 1)");
	assert_int_equal(em_stream_ahead(&in[0], p.out[0], 0, &p.t.err), EM_OK);
	in[1] = p.out[1];
	assert_refused(&p, em_stream_zip(&s, in, 2, &p.t.err), EM_ERR_INVAL, "ahead", "two threads");
	/* One record behind is not too many. */
	em_stream_close(in[0]);
	assert_int_equal(em_stream_slice(&in[0], p.out[2], 1, EM_STREAM_UNKNOWN, &p.t.err), EM_OK);
	assert_int_equal(em_stream_zip(&s, in, 2, &p.t.err), EM_OK);
	{
		em_status st;
		size_t n;

		free(flow_drain(&p.t, s, SIZE_MAX, &n, &st));
		assert_int_equal(st, EM_END);
		assert_int_equal(n, PATH_N - 1);
	}
	em_stream_close(s);
	path_close(&p);
}

/* What a thread has is not looked at; it is zipped with something else. */
static void test_paths_that_began(void **unused)
{
	em_stream *in[2], *s;
	const em_batch *batch;
	em_status st;
	path_case p;
	size_t n = 0, lent;

	(void)unused;
	path_open(&p, PATH_HELD, 0);
	em_stream_close(p.out[1]);
	em_stream_close(p.out[2]);
	assert_int_equal(em_stream_ahead(&in[0], p.out[0], 0, &p.t.err), EM_OK);
	assert_int_equal(em_stream_next(in[0], &batch), EM_OK);
	lent = batch->n;
	assert_int_equal(em_stream_memory(&in[1], p.t.ctx, 8, p.x, PATH_N, &p.t.err), EM_OK);
	assert_int_equal(em_stream_zip(&s, in, 2, &p.t.err), EM_OK);
	/* The feed draws numbers on the other thread, so nothing is drawn here. */
	while ((st = em_stream_next(s, &batch)) == EM_OK)
		n += batch->n;
	assert_int_equal(st, EM_END);
	assert_int_equal(n, PATH_N - lent);
	em_stream_close(s);
	path_close(&p);
}

/* A tee below a tee: it matters where a path leaves the others. */
static void test_paths_of_two_tees(void **unused)
{
	em_stream *in[3], *upper[2], *s;
	path_case p;
	unsigned k;

	(void)unused;
	for (k = 0; k < 4; k++) {
		em_status st;

		path_open(&p, PATH_HELD, 0);
		assert_int_equal(em_stream_zip(&s, p.out, 2, &p.t.err), EM_OK);
		assert_int_equal(em_stream_map(&s, s, 8, fold, NULL, NULL, &p.t.err), EM_OK);
		tee_off(&p, s, upper, 2, PATH_HELD, EM_TEE_SPILL);
		in[0] = upper[0];
		in[1] = upper[1];
		in[2] = p.out[2];
		if (k % 2 == 1)
			assert_int_equal(em_stream_sort(&in[1], in[1], p.order, NULL, &p.t.err), EM_OK);
		/* Without the third one all below the upper tee goes in one step. */
		st = em_stream_zip(&s, in, k / 2 + 2, &p.t.err);
		if (k == 3) {
			assert_refused(&p, st, EM_ERR_MEMLIMIT, "zip of outputs 0 (zip, map, tee) and 2 (input 2)",
				       "tee");
			em_stream_close(in[0]);
			em_stream_close(in[1]);
		} else {
			size_t n;

			assert_int_equal(st, EM_OK);
			if (k < 2)
				em_stream_close(in[2]);
			free(flow_drain(&p.t, s, SIZE_MAX, &n, &st));
			assert_int_equal(st, EM_END);
			assert_int_equal(n, PATH_N);
			em_stream_close(s);
		}
		if (k == 3)
			em_stream_close(in[2]);
		path_close(&p);
	}
}

/*
 * Graphs at random: where nodes could be made, no buffer of a tee becomes full.
 */

enum { GRAPH_LIVE = 12, GRAPH_N = 400 };

typedef struct live {
	em_stream *s;
	uint64_t *x;            /* what it will lend */
} live;

static uint64_t *copy_of(const uint64_t *x)
{
	uint64_t *to = malloc(GRAPH_N * sizeof *to);

	assert_non_null(to);
	memcpy(to, x, GRAPH_N * sizeof *to);
	return to;
}

/* One node more on a stream; in the models, too. */
static void grow_one(path_case *p, live *a, unsigned kind)
{
	size_t i;

	if (kind == 0) {
		assert_int_equal(em_stream_map(&a->s, a->s, 8, add_one, NULL, NULL, &p->t.err), EM_OK);
		for (i = 0; i < GRAPH_N; i++)
			a->x[i]++;
	} else if (kind == 1) {
		assert_int_equal(em_stream_sort(&a->s, a->s, p->order, NULL, &p->t.err), EM_OK);
		qsort(a->x, GRAPH_N, sizeof *a->x, by_number);
	} else {
		assert_int_equal(em_stream_reverse(&a->s, a->s, 0, &p->t.err), EM_OK);
		for (i = 0; i < GRAPH_N / 2; i++) {
			const uint64_t x = a->x[i];

			a->x[i] = a->x[GRAPH_N - 1 - i];
			a->x[GRAPH_N - 1 - i] = x;
		}
	}
	if (test_below(&p->t.rng, 2) == 0)
		assert_int_equal(em_stream_batch(a->s, 1 + test_below(&p->t.rng, 30)), EM_OK);
}

/* Two become one in a; b's place is free if that was allowed. */
static int join_two(path_case *p, live *a, live *b)
{
	em_stream *in[2];
	em_status st;
	size_t i;

	in[0] = a->s;
	in[1] = b->s;
	st = em_stream_zip(&a->s, in, 2, &p->t.err);
	assert_true(st == EM_OK || st == EM_ERR_MEMLIMIT);
	if (st != EM_OK) {
		assert_ptr_equal(a->s, in[0]);
		return 0;
	}
	assert_int_equal(em_stream_map(&a->s, a->s, 8, fold, NULL, NULL, &p->t.err), EM_OK);
	for (i = 0; i < GRAPH_N; i++)
		a->x[i] = a->x[i] * 3 + b->x[i];
	free(b->x);
	return 1;
}

/* Some nodes on all that there is.  Returns how many streams there are then. */
static size_t grow_graph(path_case *p, live *l, unsigned steps, unsigned *refused)
{
	size_t n = 1;

	while (steps-- != 0) {
		const size_t a = (size_t)test_below(&p->t.rng, n), b = (size_t)test_below(&p->t.rng, n);
		const uint64_t what = test_below(&p->t.rng, 10);

		if (what < 4 && n < GRAPH_LIVE) {
			em_stream *out[2];

			tee_off(p, l[a].s, out, 2, 20, test_below(&p->t.rng, 4) == 0 ? EM_TEE_SPILL : 0);
			l[a].s = out[0];
			l[n].s = out[1];
			l[n++].x = copy_of(l[a].x);
		} else if (what < 7 && a != b) {
			if (join_two(p, &l[a], &l[b]))
				l[b] = l[--n];
			else
				(*refused)++;
		} else {
			grow_one(p, &l[a], what == 9 ? 1 + (unsigned)test_below(&p->t.rng, 2) : 0);
		}
	}
	return n;
}

static void test_random_graphs(void **unused)
{
	unsigned refused = 0, k;

	(void)unused;
	for (k = 0; k < 200; k += test_step()) {
		live l[GRAPH_LIVE];
		path_case p;
		size_t n, i, keep;

		memset(&p, 0, sizeof p);
		flow_open(&p.t, 256 * MIB, 0);
		p.order = flow_order(&p.t, 8);
		p.x = flow_numbers(&p.t, GRAPH_N, UINT64_MAX, 0);
		l[0].s = feed_open(&p.f, &p.t, p.x, GRAPH_N, 8, 50);
		l[0].x = copy_of(p.x);
		n = grow_graph(&p, l, 1 + (unsigned)test_below(&p.t.rng, 40), &refused);
		assert_int_equal(p.f.calls, 0);
		keep = (size_t)test_below(&p.t.rng, n);
		for (i = 0; i < n; i++)
			if (i != keep)
				em_stream_close(l[i].s);
		flow_assert(&p.t, l[keep].s, l[keep].x, GRAPH_N);
		for (i = 0; i < n; i++)
			free(l[i].x);
		path_close(&p);
	}
	assert_true(refused != 0 || test_fewer() > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_tee),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_paths_without_sorts),
		cmocka_unit_test(test_paths_that_began),
		cmocka_unit_test(test_paths_of_two_tees),
		cmocka_unit_test(test_random_graphs),
	};

	return cmocka_run_group_tests_name("flow_tee", tests, NULL, NULL);
}
