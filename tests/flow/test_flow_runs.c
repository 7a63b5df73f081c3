/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_runs.c -- runs apart from merging, and combining in them. */
#include "flow/runs_case.h"

#include "base/context.h"

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
	flow_assert(t, runs_merge(t, r, &o), y + a, b - a);
}

static void check_all(flow_case *t, em_runs *r, const pair *y, size_t n, uint64_t below)
{
	unsigned i;

	flow_assert(t, runs_merge(t, r, NULL), y, n);
	for (i = 0; i < 8; i++)
		check_range(t, r, y, n, below);
	flow_assert(t, runs_merge(t, r, NULL), y, n);
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
	r = runs_open(&t, order, &form, NULL);
	for (round = 0; round < 24; round += test_step()) {
		const size_t n = counts[round % 8];
		const uint64_t below = round % 3 == 0 ? UINT64_MAX - 1 : 1 + test_below(&t.rng, 3000);
		em_runs_info info = EM_RUNS_INFO_INIT;
		pair *p = runs_pairs(&t, n, below), *y = runs_sorted(p, n);
		const int sorted = round % 5 == 4;

		if (sorted) {
			/* Their numbers say the order in which they are given. */
			size_t i;

			memcpy(p, y, n * sizeof *p);
			for (i = 0; i < n; i++)
				p[i].val = y[i].val = i;
		}
		runs_give(&t, r, p, n, sorted);
		runs_assert(r, em_runs_finish(r));
		assert_int_equal(em_runs_info_get(r, &info), EM_OK);
		assert_int_equal(info.pushed, n);
		assert_int_equal(info.records, n);
		assert_true(info.runs <= form.fan_in);
		assert_int_equal(info.readers, 0);
		check_all(&t, r, y, n, below);
		free(p);
		free(y);
		runs_assert(r, em_runs_clear(r));
	}
	em_runs_close(r);
	em_order_close(order);
	flow_close(&t);
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
		p = runs_pairs(&t, n, below);
		y = runs_sorted(p, n);
		m = runs_combined(y, n);
		form.memory = MIB;
		form.block_bytes = 4096;
		form.run_records = 2000;
		form.fan_in = 4;
		r = runs_open(&t, order, &form, runs_add);
		runs_give(&t, r, p, n, 0);
		runs_assert(r, em_runs_finish(r));
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
	o.combine = runs_add;
	assert_int_equal(em_runs_open(&r, t.ctx, order, &o, &t.err), EM_ERR_INVAL);
	assert_null(r);
	r = runs_open(&t, order, &form, NULL);
	in = feed_open(&f, &t, x, N, RECORD, 900);
	assert_int_equal(em_runs_feed(r, in, EM_RUNS_MORE, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_runs_feed(r, in, 0, &t.err), EM_OK);
	em_stream_close(in);
	runs_assert(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.records, KEYS);
	assert_int_equal(info.bytes_written, 0);
	flow_assert(&t, runs_merge(&t, r, NULL), first, KEYS);
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
	p = runs_pairs(&t, N, KEYS);
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
	assert_int_equal(em_stream_sort_reduce(&s, s, order, &form, runs_add, NULL, NULL, &t.err), EM_OK);
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
	p = runs_pairs(&t, N, UINT64_MAX - 1);
	y = runs_sorted(p, N);
	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 1500;
	r = runs_open(&t, order, &form, NULL);
	a = runs_merge(&t, r, NULL);
	runs_assert(r, em_runs_push(r, p, N));
	/* It is made before the runs are finished, and goes on when they are. */
	assert_int_equal(em_stream_next(a, &batch), EM_ERR_STATE);
	runs_assert(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.runs > 10 && info.memory_min > 0);
	assert_int_equal(em_stream_next(a, &batch), EM_OK);
	assert_memory_equal(batch->records, y, batch->bytes);
	flow_assert(&t, runs_merge(&t, r, NULL), y, N);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.readers, 1);
	assert_int_equal(em_runs_clear(r), EM_ERR_STATE);
	assert_int_equal(em_runs_push(r, p, 1), EM_ERR_STATE);
	assert_int_equal(em_runs_finish(r), EM_ERR_STATE);

	o.memory = info.memory_min / 2;
	merged = info.merged;
	b = runs_merge(&t, r, &o);
	c = runs_merge(&t, r, &o);
	assert_int_equal(em_stream_next(b, &batch), EM_ERR_MEMLIMIT);
	em_stream_close(b);
	em_stream_close(a);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_int_equal(info.readers, 0);
	assert_int_equal(info.merged, merged);
	flow_assert(&t, c, y, N);
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.merged > merged && info.memory_min <= o.memory);

	a = runs_merge(&t, r, NULL);
	runs_assert(r, em_runs_clear(r));
	assert_int_equal(em_stream_next(a, &batch), EM_ERR_STATE);
	em_stream_close(a);
	em_runs_close(r);
	em_order_close(order);
	free(p);
	free(y);
	flow_close(&t);
}

/* Three merges in so much memory each, pulled in turn: they need no pass, take no more, and change nothing. */
static void merge_in(flow_case *t, em_runs *r, uint64_t memory, const char *y, size_t n, size_t record)
{
	em_runs_merge_opts o = EM_RUNS_MERGE_OPTS_INIT;
	em_runs_info before = EM_RUNS_INFO_INIT, after = EM_RUNS_INFO_INIT;
	const uint64_t used = em_ctx_memory_used(t->ctx);
	size_t at[3] = { 0, 0, 0 };
	const em_batch *batch;
	unsigned open = 3, i;
	em_stream *s[3];
	em_status st;

	assert_int_equal(em_runs_info_get(r, &before), EM_OK);
	o.memory = memory;
	for (i = 0; i < 3; i++)
		s[i] = runs_merge(t, r, &o);
	while (open != 0) {
		i = (unsigned)test_below(&t->rng, 3);
		if (s[i] == NULL)
			continue;
		st = em_stream_next(s[i], &batch);
		assert_true(em_ctx_memory_used(t->ctx) <= used + open * (memory + 2048));
		if (st == EM_OK) {
			assert_true(batch->n <= n - at[i]);
			assert_memory_equal(batch->records, y + at[i] * record, batch->bytes);
			at[i] += batch->n;
			continue;
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(at[i], n);
		em_stream_close(s[i]);
		s[i] = NULL;
		open--;
	}
	assert_int_equal(em_runs_info_get(r, &after), EM_OK);
	assert_int_equal(after.merged, before.merged);
	assert_int_equal(after.bytes_written, before.bytes_written);
}

static size_t compared;         /* bytes of a record */

/* By a signed number, and then as they were given. */
static int by_signed(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	if (x != y)
		return x < y ? -1 : 1;
	return compared < 16 ? 0 : memcmp((const char *)a + 8, (const char *)b + 8, 8);
}

/* With any number of threads, of records that are elements or not, the least memory that was told is enough, more is
 * used, and what is in between as well. */
static void test_merge_memory(void **state)
{
	static const size_t sizes[] = { 8, 16, 40 };
	const em_key key = { 0, 0, EM_KEY_I64, 0, { 0 } };
	unsigned round;

	(void)state;
	for (round = 0; round < 12; round += test_step()) {
		const size_t record = sizes[round % 3], n = 30000;
		em_ctx_opts co = EM_CTX_OPTS_INIT;
		em_sort_opts form = EM_SORT_OPTS_INIT;
		em_runs_info info = EM_RUNS_INFO_INIT;
		char *x = calloc(n, record), *y = malloc(n * record);
		em_order *order;
		flow_case t;
		em_runs *r;
		uint64_t i;

		assert_true(x != NULL && y != NULL);
		memset(&t, 0, sizeof t);
		t.rng = test_rng_make(test_seed() + round);
		test_memory_init(&t.mem, 0);
		co.allocator = &t.mem.allocator;
		co.memory = 32 * MIB;
		co.backend = "memory";
		co.threads = 1 + round / 3;
		assert_int_equal(em_ctx_open(&t.ctx, &co), EM_OK);
		assert_int_equal(em_order_keys(&order, t.ctx, record, &key, 1, &t.err), EM_OK);
		for (i = 0; i < n; i++) {
			const uint64_t key_bits = test_random(&t.rng) >> test_below(&t.rng, 60) << (i % 2 * 3);
			size_t k;

			memcpy(x + i * record, &key_bits, 8);
			for (k = 8; k < 16 && k < record; k++)
				x[i * record + k] = (char)(i >> (120 - 8 * k));
		}
		memcpy(y, x, n * record);
		compared = record;
		qsort(y, n, record, by_signed);
		form.memory = 4 * MIB;
		form.block_bytes = 4096u << test_below(&t.rng, 3);
		form.run_records = 1500 + test_below(&t.rng, 2000);
		r = runs_open(&t, order, &form, NULL);
		runs_assert(r, em_runs_push(r, x, n));
		runs_assert(r, em_runs_finish(r));
		assert_int_equal(em_runs_info_get(r, &info), EM_OK);
		assert_true(info.runs > 5 && info.merged == 0);
		merge_in(&t, r, info.memory_min, y, n, record);
		merge_in(&t, r, info.memory_min + test_below(&t.rng, MIB), y, n, record);
		merge_in(&t, r, 4 * MIB, y, n, record);
		em_runs_close(r);
		em_order_close(order);
		free(x);
		free(y);
		flow_close(&t);
	}
}

/* Blocks that stay in memory are there as they were formed for each merge, also where merging turns records that it
 * gets into elements in their place. */
static void test_in_memory(void **state)
{
	enum { N = 1500000 };
	static const char *const missing[] = { "/nonexistent/for/scratch" };
	const em_key key = { 0, 0, EM_KEY_I64, 0, { 0 } };
	em_ctx_opts co = EM_CTX_OPTS_INIT;
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	int64_t *x = malloc(N * 8), *y = malloc(N * 8);
	em_order *order;
	flow_case t;
	em_runs *r;
	size_t i;

	(void)state;
	assert_true(x != NULL && y != NULL);
	memset(&t, 0, sizeof t);
	t.rng = test_rng_make(test_seed());
	test_memory_init(&t.mem, 0);
	co.allocator = &t.mem.allocator;
	co.memory = 96 * MIB;
	co.dirs = missing;
	co.ndirs = 1;
	/* So there is memory for mixing. */
	co.threads = 1;
	assert_int_equal(em_ctx_open(&t.ctx, &co), EM_OK);
	/* As if nobody had named a budget: else blocks are written. */
	t.ctx->memory_given = 0;
	t.ctx->enough = 6 * MIB;
	assert_int_equal(em_order_keys(&order, t.ctx, 8, &key, 1, &t.err), EM_OK);
	for (i = 0; i < N; i++)
		x[i] = (int64_t)test_random(&t.rng);
	memcpy(y, x, N * 8);
	compared = 8;
	qsort(y, N, 8, by_signed);
	r = runs_open(&t, order, &form, NULL);
	runs_assert(r, em_runs_push(r, x, N));
	runs_assert(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.runs > 2);
	assert_int_equal(info.formed, info.runs);
	merge_in(&t, r, 8 * MIB, (const char *)y, N, 8);
	merge_in(&t, r, info.memory_min, (const char *)y, N, 8);
	em_runs_close(r);
	em_order_close(order);
	free(x);
	free(y);
	flow_close(&t);
}

/* As many runs as were expected need no pass, whose blocks nobody chose. */
static void test_no_pass(void **state)
{
	enum { N = 2000000 };
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	em_order *order;
	uint64_t *x;
	flow_case t;
	em_stream *s;
	em_runs *r;

	(void)state;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, 8);
	x = flow_numbers(&t, N, UINT64_MAX, 0);
	form.memory = 4 * MIB;
	r = runs_open(&t, order, &form, NULL);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, N, &t.err), EM_OK);
	assert_int_equal(em_runs_feed(r, s, 0, &t.err), EM_OK);
	em_stream_close(s);
	runs_assert(r, em_runs_finish(r));
	assert_int_equal(em_runs_info_get(r, &info), EM_OK);
	assert_true(info.runs > 3);
	assert_int_equal(info.formed, info.runs);
	assert_int_equal(info.merged, 0);
	assert_true(info.memory_min <= 4 * MIB);
	em_runs_close(r);
	em_order_close(order);
	free(x);
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
	runs_assert(r, em_runs_push(r, p, n));
	runs_assert(r, em_runs_finish(r));
	s = runs_merge(t, r, NULL);
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
	runs_assert(r, em_runs_clear(r));
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
	p = runs_pairs(&t, N, 1000);
	for (i = 0; i < N; i++) {
		uint64_t key = p[i].key;
		unsigned level = 0;

		do
			want += p[i].val;
		while (level++ < LEVELS && key % 2 == 0 && (key /= 2, 1));
	}
	r = runs_open(&t, order, &form, NULL);
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
	r = runs_open(&t, order, NULL, NULL);
	assert_int_equal(em_runs_append(r, p, 4), EM_ERR_FORMAT);
	em_runs_error(r, &err);
	assert_int_equal(err.record, 4);
	runs_assert(r, em_runs_append(r, p, 3));
	assert_int_equal(em_runs_append(r, p + 3, 1), EM_ERR_FORMAT);
	runs_assert(r, em_runs_end(r));
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
	flow_assert(&t, runs_merge(&t, r, NULL), want, 4);
	em_runs_close(r);
	em_order_close(order);
	flow_close(&t);
}

/* What a function that combines knows. */
typedef struct nosy {
	em_runs *runs;
	em_stream *merge;
	em_status refused;      /* what adding to the runs, or clearing them, returns */
	int calls;
} nosy;

/* It uses the runs that call it. */
static int meddle(void *user, void *sum, const void *records, size_t n)
{
	nosy *y = user;
	const em_batch *batch;
	const pair p = { 0, 0 };

	y->calls++;
	assert_int_equal(em_runs_push(y->runs, &p, 1), y->refused);
	assert_int_equal(em_runs_append(y->runs, &p, 1), y->refused);
	assert_int_equal(em_runs_clear(y->runs), y->refused);
	assert_int_equal(em_stream_next(y->merge, &batch), EM_ERR_BUSY);
	return runs_add(NULL, sum, records, n);
}

/* What feeds fails with is told, and what came before stays; who is called may not call. */
static void test_others(void **state)
{
	enum { N = 3000 };
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_info info = EM_RUNS_INFO_INIT;
	flow_case t;
	em_order *order;
	em_stream *in;
	pair *p, *y;
	nosy who;
	size_t m;
	feed f;

	(void)state;
	memset(&who, 0, sizeof who);
	who.refused = EM_ERR_BUSY;
	flow_open(&t, 8 * MIB, 0);
	order = flow_order(&t, sizeof(pair));
	p = runs_pairs(&t, N, 700);
	y = runs_sorted(p, N);
	m = runs_combined(y, N);
	form.memory = MIB;
	form.run_records = 900;
	form.block_bytes = 4096;
	o.form = &form;
	o.combine = meddle;
	o.user = &who;
	assert_int_equal(em_runs_open(&who.runs, t.ctx, order, &o, &t.err), EM_OK);
	who.merge = runs_merge(&t, who.runs, NULL);
	in = feed_open(&f, &t, p, N, sizeof *p, 50);
	f.fail_at = N / 2;
	assert_int_equal(em_runs_feed(who.runs, in, 0, &t.err), EM_ERR_IO);
	assert_string_equal(t.err.text, "the feed is torn");
	em_stream_close(in);
	assert_int_equal(em_runs_info_get(who.runs, &info), EM_OK);
	assert_int_equal(info.pushed, N / 2);
	runs_assert(who.runs, em_runs_push(who.runs, p + N / 2, N - N / 2));
	runs_assert(who.runs, em_runs_finish(who.runs));
	assert_true(who.calls > 0);
	/* A merge works for its stream; the runs are finished, and are read. */
	who.refused = EM_ERR_STATE;
	flow_assert(&t, who.merge, y, m);
	em_runs_close(who.runs);
	em_order_close(order);
	free(p);
	free(y);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_combine),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_merge_memory),
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_no_pass),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
