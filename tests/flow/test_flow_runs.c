/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_runs.c -- runs apart from merging, and combining in them. */
#include "flow/flow_case.h"

#include <extmem/sys/fault.h>

#define MIB ((uint64_t)1 << 20)

/* A key, and what tells equal records apart. */
typedef struct pair {
	uint64_t key, val;
} pair;

static int by_key_val(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->val > y->val) - (x->val < y->val);
}

/* n records with keys below a bound, numbered in their order. */
static pair *make_pairs(flow_case *t, size_t n, uint64_t below)
{
	pair *p = malloc((n + 1) * sizeof *p);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++) {
		p[i].key = test_below(&t->rng, below);
		p[i].val = i;
	}
	return p;
}

static pair *sorted_copy(const pair *p, size_t n)
{
	pair *y = malloc((n + 1) * sizeof *y);

	assert_non_null(y);
	memcpy(y, p, n * sizeof *y);
	qsort(y, n, sizeof *y, by_key_val);
	return y;
}

static void assert_runs(em_runs *r, em_status st)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_runs_error(r, &err);
	fail_msg("%s: %s", em_status_name(st), err.text);
}

/* Forming has little memory and small blocks, so that there are many runs. */
static em_runs *open_runs(flow_case *t, em_order *order, const em_sort_opts *form, em_reduce_fn combine)
{
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_runs *r;

	o.form = form;
	o.combine = combine;
	if (em_runs_open(&r, t->ctx, order, &o, &t->err) != EM_OK)
		fail_msg("%s", t->err.text);
	return r;
}

/* Give records in pieces: pushed, fed from a stream, or, where they are sorted, appended. */
static void give(flow_case *t, em_runs *r, const pair *p, size_t n, int sorted)
{
	size_t i, k;
	em_stream *in;
	feed f;

	for (i = 0; i < n; i += k) {
		k = 1 + (size_t)test_below(&t->rng, n / 3 + 1);
		k = k < n - i ? k : n - i;
		switch (test_below(&t->rng, 3)) {
		case 0:
			in = feed_open(&f, t, p + i, k, sizeof *p, 700);
			if (em_runs_feed(r, in, sorted ? EM_RUNS_SORTED : 0, &t->err) != EM_OK)
				fail_msg("%s", t->err.text);
			em_stream_close(in);
			break;
		case 1:
			if (sorted) {
				assert_runs(r, em_runs_append(r, p + i, k / 2));
				assert_runs(r, em_runs_append(r, p + i + k / 2, k - k / 2));
				if (test_below(&t->rng, 2) == 0)
					assert_runs(r, em_runs_end(r));
				break;
			}
			/* fall through */
		default:
			assert_runs(r, em_runs_push(r, p + i, k));
		}
	}
}

static em_stream *open_merge(flow_case *t, em_runs *r, const em_runs_merge_opts *o)
{
	em_stream *s;

	if (em_runs_merge(&s, r, o, &t->err) != EM_OK)
		fail_msg("%s", t->err.text);
	return s;
}

/* A range of what is expected, by keys and numbers, is what the runs have. */
static void check_range(flow_case *t, em_runs *r, const pair *y, size_t n, uint64_t below)
{
	em_runs_merge_opts o = EM_RUNS_MERGE_OPTS_INIT;
	pair from = { test_below(&t->rng, below + 1), 0 }, to = { test_below(&t->rng, below + 1), 0 };
	size_t a = 0, b = n;

	if (test_below(&t->rng, 2) == 0) {
		o.from = &from;
		while (a < n && y[a].key < from.key)
			a++;
	}
	if (test_below(&t->rng, 2) == 0) {
		o.to = &to;
		for (b = a; b < n && y[b].key < to.key; b++)
			continue;
	}
	if (test_below(&t->rng, 2) == 0) {
		o.skip = test_below(&t->rng, n + 2);
		a = o.skip < b - a ? a + (size_t)o.skip : b;
	}
	if (test_below(&t->rng, 2) == 0) {
		o.take = 1 + test_below(&t->rng, n + 2);
		b = o.take < b - a ? a + (size_t)o.take : b;
	}
	flow_assert(t, open_merge(t, r, &o), y + a, b - a);
}

static void check_all(flow_case *t, em_runs *r, const pair *y, size_t n, uint64_t below)
{
	unsigned i;

	flow_assert(t, open_merge(t, r, NULL), y, n);
	for (i = 0; i < 8; i++)
		check_range(t, r, y, n, below);
	flow_assert(t, open_merge(t, r, NULL), y, n);
}

/* All ways in, ranges, passes, and the same object again and again. */
static void test_model(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 255, 256, 257, 5000, 60000 };
	unsigned round;
	flow_case t;
	em_order *order;
	em_runs *r;
	em_sort_opts form = EM_SORT_OPTS_INIT;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 1500;
	form.fan_in = 3 + (uint32_t)test_below(&t.rng, 6);
	r = open_runs(&t, order, &form, NULL);
	for (round = 0; round < 24; round += test_step()) {
		const size_t n = counts[round % 8];
		const uint64_t below = round % 3 == 0 ? UINT64_MAX - 1 : 1 + test_below(&t.rng, 3000);
		em_runs_info info = EM_RUNS_INFO_INIT;
		pair *p = make_pairs(&t, n, below), *y = sorted_copy(p, n);
		const int sorted = round % 5 == 4;

		if (sorted) {
			/* Their numbers say the order in which they are given. */
			size_t i;

			memcpy(p, y, n * sizeof *p);
			for (i = 0; i < n; i++)
				p[i].val = y[i].val = i;
		}
		give(&t, r, p, n, sorted);
		assert_runs(r, em_runs_finish(r));
		assert_int_equal(em_runs_info_get(r, &info), EM_OK);
		assert_int_equal(info.pushed, n);
		assert_int_equal(info.records, n);
		assert_true(info.runs <= form.fan_in);
		assert_int_equal(info.readers, 0);
		check_all(&t, r, y, n, below);
		free(p);
		free(y);
		assert_runs(r, em_runs_clear(r));
	}
	em_runs_close(r);
	em_order_close(order);
	flow_close(&t);
}

/* Pairs of equal keys become one: the number is their sum. */
static int add(void *user, void *sum, const void *records, size_t n)
{
	const pair *p = records;
	pair s;
	size_t i;

	if (user != NULL && --*(int *)user < 0)
		return 7;
	memcpy(&s, sum, sizeof s);
	for (i = 0; i < n; i++) {
		pair one;

		memcpy(&one, p + i, sizeof one);
		assert_int_equal(one.key, s.key);
		s.val += one.val;
	}
	memcpy(sum, &s, sizeof s);
	return 0;
}

static size_t combined(pair *y, size_t n)
{
	size_t i, m = 0;

	for (i = 0; i < n; i++)
		if (m != 0 && y[m - 1].key == y[i].key)
			y[m - 1].val += y[i].val;
		else
			y[m++] = y[i];
	return m;
}

static void test_combine(void **state)
{
	static const size_t counts[] = { 0, 1, 300, 4000, 40000 };
	unsigned round;

	(void)state;
	for (round = 0; round < 20; round += test_step()) {
		const size_t n = counts[round % 5];
		em_sort_opts form = EM_SORT_OPTS_INIT;
		uint64_t below;
		flow_case t;
		em_order *order;
		em_runs *r;
		pair *p, *y;
		size_t m;

		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, sizeof(pair));
		below = 1 + test_below(&t.rng, round % 2 == 0 ? 100 : 30000);
		p = make_pairs(&t, n, below);
		y = sorted_copy(p, n);
		m = combined(y, n);
		form.memory = MIB;
		form.block_bytes = 4096;
		form.run_records = 2000;
		form.fan_in = 4;
		r = open_runs(&t, order, &form, add);
		give(&t, r, p, n, 0);
		assert_runs(r, em_runs_finish(r));
		check_all(&t, r, y, m, below);
		em_runs_close(r);
		free(p);
		free(y);
		em_order_close(order);
		flow_close(&t);
	}
}

/* Records that elements refer to are combined in memory of their own; of equal ones the first is left. */
static void test_unique(void **state)
{
	enum { RECORD = 40, N = 30000, KEYS = 50 };
	char *x = calloc(N, RECORD), *first = calloc(KEYS, RECORD);
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	flow_case t;
	em_order *order;
	em_stream *in;
	em_runs *r;
	uint64_t i;
	feed f;

	(void)state;
	assert_true(x != NULL && first != NULL);
	flow_open(&t, 8 * MIB, 0);
	for (i = N; i-- != 0;) {
		const pair p = { test_below(&t.rng, KEYS), i };

		memcpy(x + i * RECORD, &p, sizeof p);
		memcpy(first + p.key * RECORD, x + i * RECORD, RECORD);
	}
	order = flow_order(&t, RECORD);
	form.memory = 2 * MIB;
	form.run_records = 3000;
	form.flags = EM_SORT_UNIQUE;
	o.form = &form;
	o.combine = add;
	assert_int_equal(em_runs_open(&r, t.ctx, order, &o, &t.err), EM_ERR_INVAL);
	assert_null(r);
	r = open_runs(&t, order, &form, NULL);
	in = feed_open(&f, &t, x, N, RECORD, 900);
	assert_int_equal(em_runs_feed(r, in, EM_RUNS_MORE, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_runs_feed(r, in, 0, &t.err), EM_OK);
	em_stream_close(in);
	assert_runs(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.records, KEYS);
	assert_int_equal(info.bytes_written, 0);
	flow_assert(&t, open_merge(&t, r, NULL), first, KEYS);
	em_runs_close(r);
	em_order_close(order);
	free(x);
	free(first);
	flow_close(&t);
}

/* Few keys take next to no scratch, however many records there are. */
static void test_early(void **state)
{
	enum { N = 1000000, KEYS = 100 };
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	flow_case t;
	em_order *order;
	em_stream *s;
	em_status st;
	pair *p, *y;
	void *got;
	size_t m, i;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	p = make_pairs(&t, N, KEYS);
	y = malloc(KEYS * sizeof *y);
	assert_non_null(y);
	for (i = 0; i < KEYS; i++) {
		y[i].key = i;
		y[i].val = 0;
	}
	for (i = 0; i < N; i++)
		y[p[i].key].val += p[i].val;
	form.memory = MIB;
	assert_int_equal(em_stream_memory(&s, t.ctx, sizeof(pair), p, N, &t.err), EM_OK);
	assert_int_equal(em_stream_sort_reduce(&s, s, order, &form, add, NULL, &t.err), EM_OK);
	assert_int_equal(em_stream_runs_info_get(s, &info), EM_OK);
	assert_int_equal(info.pushed, 0);
	got = flow_drain(&t, s, SIZE_MAX, &m, &st);
	assert_int_equal(st, EM_END);
	assert_int_equal(m, KEYS);
	assert_memory_equal(got, y, sizeof *y * KEYS);
	free(got);
	em_order_close(order);
	assert_int_equal(em_stream_runs_info_get(s, &info), EM_OK);
	assert_int_equal(info.pushed, N);
	assert_int_equal(info.records, KEYS);
	assert_int_equal(info.bytes_written, 0);
	assert_int_equal(info.bytes_read, 0);
	em_stream_close(s);
	free(p);
	free(y);
	flow_close(&t);
}

/* Two merges at a time, and one that needs a pass that another one prevents. */
static void test_readers(void **state)
{
	enum { N = 40000 };
	em_runs_merge_opts o = EM_RUNS_MERGE_OPTS_INIT;
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	const em_batch *batch;
	flow_case t;
	em_order *order;
	em_stream *a, *b, *c;
	uint64_t merged;
	em_runs *r;
	pair *p, *y;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	p = make_pairs(&t, N, UINT64_MAX - 1);
	y = sorted_copy(p, N);
	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 1500;
	r = open_runs(&t, order, &form, NULL);
	a = open_merge(&t, r, NULL);
	assert_runs(r, em_runs_push(r, p, N));
	/* It is made before the runs are finished, and goes on when they are. */
	assert_int_equal(em_stream_next(a, &batch), EM_ERR_STATE);
	assert_runs(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.runs > 10 && info.memory_min > 0);
	assert_int_equal(em_stream_next(a, &batch), EM_OK);
	assert_memory_equal(batch->records, y, batch->bytes);
	flow_assert(&t, open_merge(&t, r, NULL), y, N);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.readers, 1);
	assert_int_equal(em_runs_clear(r), EM_ERR_STATE);
	assert_int_equal(em_runs_push(r, p, 1), EM_ERR_STATE);
	assert_int_equal(em_runs_finish(r), EM_ERR_STATE);

	o.memory = info.memory_min / 2;
	merged = info.merged;
	b = open_merge(&t, r, &o);
	c = open_merge(&t, r, &o);
	assert_int_equal(em_stream_next(b, &batch), EM_ERR_MEMLIMIT);
	em_stream_close(b);
	em_stream_close(a);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.readers, 0);
	assert_int_equal(info.merged, merged);
	flow_assert(&t, c, y, N);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.merged > merged && info.memory_min <= o.memory);

	a = open_merge(&t, r, NULL);
	assert_runs(r, em_runs_clear(r));
	assert_int_equal(em_stream_next(a, &batch), EM_ERR_STATE);
	em_stream_close(a);
	em_runs_close(r);
	em_order_close(order);
	free(p);
	free(y);
	flow_close(&t);
}

/* Half of the records of a level, with half their keys, make the next one, with the same runs. */
static uint64_t descend(flow_case *t, em_runs *r, unsigned level, const pair *p, size_t n)
{
	const em_batch *batch;
	uint64_t sum = 0;
	pair *next = malloc((n + 1) * sizeof *next);
	size_t m = 0, i;
	em_stream *s;
	em_status st;

	assert_non_null(next);
	assert_runs(r, em_runs_push(r, p, n));
	assert_runs(r, em_runs_finish(r));
	s = open_merge(t, r, NULL);
	while ((st = em_stream_next(s, &batch)) == EM_OK)
		for (i = 0; i < batch->n; i++) {
			const pair *one = (const pair *)batch->records + i;

			sum += one->val;
			if (one->key % 2 != 0)
				continue;
			next[m].key = one->key / 2;
			next[m++].val = one->val;
		}
	assert_int_equal(st, EM_END);
	em_stream_close(s);
	assert_runs(r, em_runs_clear(r));
	if (level != 0)
		sum += descend(t, r, level - 1, next, m);
	free(next);
	return sum;
}

static void test_recursion(void **state)
{
	enum { N = 20000, LEVELS = 8 };
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs *r;
	flow_case t;
	em_order *order;
	uint64_t want = 0;
	pair *p;
	size_t i;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 2000;
	p = make_pairs(&t, N, 1000);
	for (i = 0; i < N; i++) {
		uint64_t key = p[i].key;
		unsigned level = 0;

		do
			want += p[i].val;
		while (level++ < LEVELS && key % 2 == 0 && (key /= 2, 1));
	}
	r = open_runs(&t, order, &form, NULL);
	assert_int_equal(descend(&t, r, LEVELS, p, N), want);
	em_runs_close(r);
	em_order_close(order);
	free(p);
	flow_close(&t);
}

/* A sequence that is not sorted is refused, and changes nothing. */
static void test_mistakes(void **state)
{
	const pair p[4] = { { 1, 0 }, { 2, 0 }, { 2, 1 }, { 1, 1 } }, zero = { 0, 0 };
	const pair want[4] = { p[0], p[3], p[1], p[2] };
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_sort_opts form = EM_SORT_OPTS_INIT;
	flow_case t;
	em_order *order;
	em_stream *s;
	em_sink *k;
	em_runs *r;
	em_errinfo err;
	feed f;

	(void)state;
	flow_open(&t, 4 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	form.block_bytes = 77;
	o.form = &form;
	assert_int_equal(em_runs_open(&r, t.ctx, order, &o, &t.err), EM_ERR_INVAL);
	r = open_runs(&t, order, NULL, NULL);
	assert_int_equal(em_runs_append(r, p, 4), EM_ERR_FORMAT);
	em_runs_error(r, &err);
	assert_int_equal(err.record, 4);
	assert_runs(r, em_runs_append(r, p, 3));
	assert_int_equal(em_runs_append(r, p + 3, 1), EM_ERR_FORMAT);
	assert_runs(r, em_runs_end(r));
	assert_int_equal(em_runs_push(r, NULL, 1), EM_ERR_INVAL);
	s = feed_open(&f, &t, p, 4, 8, 3);
	assert_int_equal(em_runs_feed(r, s, 0, &t.err), EM_ERR_INVAL);
	em_stream_close(s);
	assert_int_equal(em_sink_runs(&k, r, 7, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_runs(&k, r, EM_RUNS_SORTED, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, p + 3, 1), EM_OK);
	assert_int_equal(em_sink_push(k, &zero, 1), EM_ERR_FORMAT);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_sink_close(k);
	flow_assert(&t, open_merge(&t, r, NULL), want, 4);
	em_runs_close(r);
	em_order_close(order);
	flow_close(&t);
}

/* What a run of this test does, which may fail anywhere, or be canceled: form runs, pass, merge a part.  pairs: calls
 * of add() before it fails, or NULL. */
static em_status work(flow_case *t, em_order *order, em_reduce_fn combine, int *calls, const pair *p, size_t n,
		      const pair *y, size_t m)
{
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_runs_merge_opts part = EM_RUNS_MERGE_OPTS_INIT;
	em_stream *s = NULL;
	em_runs *r;
	em_status st;
	size_t got = 0;
	void *all;

	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 300;
	form.fan_in = 4;
	o.form = &form;
	o.combine = combine;
	o.user = calls;
	st = em_runs_open(&r, t->ctx, order, &o, &t->err);
	if (st != EM_OK)
		return st;
	st = em_runs_push(r, p, n / 2);
	if (st == EM_OK)
		st = em_runs_push(r, p + n / 2, n - n / 2);
	if (st == EM_OK)
		st = em_runs_finish(r);
	part.skip = m / 2;
	if (st == EM_OK)
		st = em_runs_merge(&s, r, &part, &t->err);
	if (st == EM_OK) {
		all = flow_drain(t, s, SIZE_MAX, &got, &st);
		assert_true(got <= m - m / 2);
		assert_memory_equal(all, y + m / 2, got * sizeof *y);
		assert_true(st < EM_OK || got == m - m / 2);
		free(all);
		em_stream_close(s);
	}
	/* It may be used again, whatever it was. */
	if (st < EM_OK && st != EM_ERR_CANCELED) {
		t->mem.fail_at = 0;
		assert_int_equal(em_runs_clear(r), EM_OK);
		if (calls != NULL)
			*calls = INT32_MAX;
		assert_int_equal(em_runs_push(r, p, 10), EM_OK);
	}
	em_runs_close(r);
	return st == EM_END ? EM_OK : st;
}

static void test_no_memory(void **state)
{
	enum { N = 4000 };
	const uint64_t step = test_every(3 * test_sparse());
	unsigned c;

	(void)state;
	for (c = 0; c < 2; c++) {
		uint64_t nth;
		int failed = 1;

		for (nth = 1 + test_first_of(step); failed; nth += step) {
			flow_case t;
			em_order *order;
			pair *p, *y;
			em_status st;
			size_t m = N;

			flow_open(&t, 8 * MIB, 0);
			order = flow_order(&t, sizeof(pair));
			p = make_pairs(&t, N, c != 0 ? 900 : UINT64_MAX - 1);
			y = sorted_copy(p, N);
			if (c != 0)
				m = combined(y, N);
			t.mem.fail_at = t.mem.calls + nth;
			st = work(&t, order, c != 0 ? add : NULL, NULL, p, N, y, m);
			failed = test_memory_failed(&t.mem) || st != EM_OK;
			assert_true(st == EM_OK || st == EM_ERR_NOMEM);
			em_order_close(order);
			free(p);
			free(y);
			flow_close(&t);
		}
	}
}

/* A context whose disk fails when asked to. */
static void faulty_open(flow_case *t, em_fault *fault)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	memset(t, 0, sizeof *t);
	t->rng = test_rng_make(test_seed());
	test_memory_init(&t->mem, 0);
	assert_int_equal(em_fault_init(fault, sizeof *fault, em_backend_find("memory")), EM_OK);
	o.allocator = &t->mem.allocator;
	o.memory = 8 * MIB;
	o.custom = em_fault_backend(fault);
	o.threads = 2;
	assert_int_equal(em_ctx_open(&t->ctx, &o), EM_OK);
}

static void test_faults(void **state)
{
	enum { N = 6000 };
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_ALL };
	const uint64_t step = test_every(5 * test_sparse());
	uint64_t failures = 0;
	unsigned k;

	(void)state;
	for (k = 0; k < 6; k++) {
		uint64_t nth;
		int failed = 1;

		for (nth = 1 + test_first_of(step); failed; nth += step) {
			em_fault fault;
			flow_case t;
			em_order *order;
			pair *p, *y;
			em_status st;
			size_t m = N;

			faulty_open(&t, &fault);
			order = flow_order(&t, sizeof(pair));
			p = make_pairs(&t, N, k % 2 != 0 ? 3000 : UINT64_MAX - 1);
			y = sorted_copy(p, N);
			if (k % 2 != 0)
				m = combined(y, N);
			em_fault_set(&fault, ops[k / 2], nth, 1);
			st = work(&t, order, k % 2 != 0 ? add : NULL, NULL, p, N, y, m);
			failed = fault.injected != 0;
			failures += st != EM_OK;
			assert_true(st == EM_OK || (failed && st == EM_ERR_IO));
			em_order_close(order);
			free(p);
			free(y);
			flow_close(&t);
		}
	}
	assert_true(failures > 10 || test_sparse() > 1);
}

/* The function that combines fails, wherever it is called. */
static void test_user_fails(void **state)
{
	enum { N = 6000 };
	const uint64_t step = test_every(7 * test_sparse());
	uint64_t nth, failures = 0;
	int left = 0;

	(void)state;
	for (nth = test_first_of(step); left <= 0; nth += step) {
		flow_case t;
		em_order *order;
		pair *p, *y;
		em_status st;
		size_t m;
		int calls = (int)nth;

		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, sizeof(pair));
		p = make_pairs(&t, N, 3000);
		y = sorted_copy(p, N);
		m = combined(y, N);
		st = work(&t, order, add, &calls, p, N, y, m);
		left = st == EM_OK ? 1 : 0;
		failures += st != EM_OK;
		assert_true(st == EM_OK || st == EM_ERR_USER);
		em_order_close(order);
		free(p);
		free(y);
		flow_close(&t);
	}
	assert_true(failures > 0);
}

/* Closed or canceled anywhere, nothing is left behind. */
static void test_halfway(void **state)
{
	enum { N = 30000 };
	unsigned round;

	(void)state;
	for (round = 0; round < 40; round += test_step()) {
		em_sort_opts form = EM_SORT_OPTS_INIT;
		const em_batch *batch;
		flow_case t;
		em_order *order;
		em_stream *s = NULL, *in;
		em_status st;
		em_runs *r;
		pair *p;
		size_t n;
		feed f;

		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, sizeof(pair));
		p = make_pairs(&t, N, round % 2 != 0 ? 20000 : UINT64_MAX - 1);
		form.memory = MIB;
		form.block_bytes = 4096;
		form.run_records = 1000;
		form.fan_in = 5;
		n = (size_t)test_below(&t.rng, N);
		if (round % 4 == 3) {
			in = feed_open(&f, &t, p, n, sizeof *p, 500);
			assert_int_equal(em_stream_sort_reduce(&s, in, order, &form, add, NULL, &t.err), EM_OK);
			free(flow_drain(&t, s, (size_t)test_below(&t.rng, n + 1), &n, &st));
			em_stream_close(s);
			em_order_close(order);
			free(p);
			flow_close(&t);
			continue;
		}
		r = open_runs(&t, order, &form, round % 2 != 0 ? add : NULL);
		give(&t, r, p, n, 0);
		if (test_below(&t.rng, 4) != 0) {
			if (test_below(&t.rng, 4) == 0) {
				em_runs_cancel(r);
				st = em_runs_finish(r);
				assert_int_equal(st, EM_ERR_CANCELED);
			} else {
				assert_runs(r, em_runs_finish(r));
				s = open_merge(&t, r, NULL);
				free(flow_drain(&t, s, (size_t)test_below(&t.rng, n + 1), &n, &st));
				if (st == EM_OK && test_below(&t.rng, 2) == 0) {
					em_ctx_cancel(t.ctx);
					while ((st = em_stream_next(s, &batch)) == EM_OK)
						continue;
					assert_true(st == EM_ERR_CANCELED || st == EM_END);
				}
				em_stream_close(s);
			}
		}
		em_runs_close(r);
		em_order_close(order);
		free(p);
		flow_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_combine),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_user_fails),
		cmocka_unit_test(test_halfway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
