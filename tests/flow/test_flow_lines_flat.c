/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines_flat.c -- lines that a function makes of lines, as many as it likes. */
#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

/* What is made of lines: where it goes, and how often each line comes. */
typedef struct maker {
	flow_case *t;
	em_line *to;            /* NULL: to the model */
	lines_model *model;
	unsigned how;           /* see make() */
	size_t most;            /* lines that may come at a time */
	size_t in, calls, ended;
	size_t fails_at;        /* it returns 5 at this line; SIZE_MAX: never */
	em_status failed;       /* what em_line_add() returned */
	char kept[16];          /* the beginning of the line before, or of the first one */
	size_t nkept;
} maker;

/* Add a line, in one piece or in some. */
static int add(maker *m, const char *line, size_t bytes)
{
	size_t some;

	if (m->to == NULL) {
		lines_add(m->model, line, bytes);
		return 0;
	}
	while (bytes != 0 && test_below(&m->t->rng, 4) == 0) {
		some = (size_t)test_below(&m->t->rng, bytes + 1);
		m->failed = em_line_put(m->to, line, some);
		if (m->failed != EM_OK)
			return 1;
		line += some;
		bytes -= some;
	}
	m->failed = em_line_add(m->to, bytes != 0 ? line : NULL, bytes);
	return m->failed != EM_OK;
}

/* 0: each line as it is; 1: words, which end with an 'a', without empty ones; 2: a line as often as its length says,
 * in squares; 3: nothing, but for one in ten; 4: the line before, and the last one at the end; 5: all at the end. */
static int make(maker *m, const char *line, size_t bytes)
{
	size_t i, begin = 0;
	int failed = 0;

	switch (m->how) {
	case 0:
		return add(m, line, bytes);
	case 1:
		for (i = 0; !failed && i <= bytes; i++) {
			if (i != bytes && line[i] != 'a')
				continue;
			failed = i != begin && add(m, line + begin, i - begin);
			begin = i + 1;
		}
		return failed;
	case 2:
		for (i = 0; !failed && i < bytes * bytes; i++)
			failed = add(m, line, bytes);
		return failed;
	case 3:
		return m->in % 10 == 0 ? add(m, line, bytes) : 0;
	case 4:
		failed = m->in != 1 && add(m, m->kept, m->nkept);
		break;
	default:
		if (m->in != 1)
			return 0;
	}
	m->nkept = bytes < sizeof m->kept ? bytes : sizeof m->kept;
	if (m->nkept != 0)
		memcpy(m->kept, line, m->nkept);
	return failed;
}

static int make_end(maker *m)
{
	size_t i, n = m->in == 0 ? 0 : m->how == 4 ? 1 : m->how == 5 ? 2000 : 0;
	int failed = 0;

	for (i = 0; !failed && i < n; i++)
		failed = add(m, m->kept, m->nkept);
	return failed;
}

static int flat(void *user, const em_batch *lines, em_line *to)
{
	maker *m = user;
	uint64_t begin = 0;
	size_t i;

	m->to = to;
	m->calls++;
	assert_int_equal(m->ended, 0);
	assert_true(lines->n <= m->most);
	assert_non_null(lines->ends);
	assert_int_equal(lines->bytes, lines->n != 0 ? lines->ends[lines->n - 1] : 0);
	for (i = 0; i < lines->n; begin = lines->ends[i++]) {
		if (m->in++ == m->fails_at)
			return 5;
		if (make(m, (const char *)lines->records + begin, (size_t)(lines->ends[i] - begin)))
			return 6;
	}
	m->ended = lines->n == 0;
	return m->ended && make_end(m) ? 7 : 0;
}

static void maker_init(maker *m, flow_case *t, unsigned how)
{
	memset(m, 0, sizeof *m);
	m->t = t;
	m->how = how;
	m->most = 512;
	m->fails_at = SIZE_MAX;
}

static void want(flow_case *t, unsigned how, const lines_model *in, lines_model *out)
{
	maker m;
	size_t i;

	maker_init(&m, t, how);
	m.model = out;
	memset(out, 0, sizeof *out);
	for (i = 0; i < in->n; i++) {
		size_t bytes;
		const char *line = lines_at(in, i, &bytes);

		m.in++;
		assert_int_equal(make(&m, line, bytes), 0);
	}
	assert_int_equal(make_end(&m), 0);
}

typedef struct flat_case {
	flow_case t;
	char *dir, *path;
	lines_model in;
	maker m;
} flat_case;

static void flat_open(flat_case *c, uint64_t memory, size_t n, size_t longest, unsigned how)
{
	memset(c, 0, sizeof *c);
	flow_open(&c->t, memory, 0);
	c->dir = test_dir_make();
	c->path = test_path(c->dir, "lines");
	lines_random(&c->t, &c->in, n, longest);
	lines_write(c->path, &c->in, 0, 1);
	maker_init(&c->m, &c->t, how);
}

static void flat_close(flat_case *c)
{
	free(c->path);
	test_dir_remove(c->dir);
	lines_free(&c->in);
	flow_close(&c->t);
}

static em_stream *flat_stream(flat_case *c)
{
	const char *path = c->path;
	em_stream *s;

	assert_int_equal(em_stream_lines(&s, c->t.ctx, &path, 1, NULL, &c->t.err), EM_OK);
	assert_int_equal(em_stream_lines_flat_map(&s, s, flat, &c->m, NULL, &c->t.err), EM_OK);
	assert_int_equal(em_stream_record_bytes(s), 0);
	assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
	return s;
}

/* Whatever the function makes comes out, in its order. */
static void test_made(void **unused)
{
	static const size_t count[] = { 0, 1, 2, 511, 512, 513, 3000 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 84; k += test_step()) {
		lines_model out;
		em_stream *s;
		flat_case c;

		flat_open(&c, 64 * MIB, count[k % 7], k % 6 == 2 ? 30 : k % 2 == 0 ? 12 : 40000, k % 6);
		want(&c.t, k % 6, &c.in, &out);
		s = flat_stream(&c);
		if (k / 6 % 2 == 1) {
			c.m.most = 1 + (size_t)test_below(&c.t.rng, 600);
			assert_int_equal(em_stream_batch(s, c.m.most), EM_OK);
			c.m.most = c.m.most < 512 ? c.m.most : 512;
		}
		if (k % 5 == 0)
			assert_int_equal(em_stream_slice(&s, s, 0, EM_STREAM_UNKNOWN, &c.t.err), EM_OK);
		lines_assert(&c.t, s, &out);
		assert_int_equal(c.m.ended, 1);
		assert_int_equal(c.m.in, c.in.n);
		lines_free(&out);
		flat_close(&c);
	}
}

/* Nodes that lead to nodes: words of lines, sorted, with how many of each there are. */
static void test_words(void **unused)
{
	em_order *order;
	em_stream *s;
	lines_model got;
	size_t i, words = 0;
	flat_case c;
	lines_model all;

	(void)unused;
	flat_open(&c, 16 * MIB, 3000, 60, 1);
	want(&c.t, 1, &c.in, &all);
	assert_int_equal(em_order_text(&order, c.t.ctx, NULL, 0, NULL, NULL), EM_OK);
	s = flat_stream(&c);
	assert_int_equal(em_stream_sort(&s, s, order, NULL, &c.t.err), EM_OK);
	assert_int_equal(em_stream_unique(&s, s, order, EM_UNIQUE_COUNT, &c.t.err), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_END);
	for (i = 0; i < got.n; i++) {
		size_t bytes;

		words += (size_t)strtoull(lines_at(&got, i, &bytes), NULL, 10);
	}
	assert_int_equal(words, all.n);
	em_stream_close(s);
	em_order_close(order);
	lines_free(&got);
	lines_free(&all);
	flat_close(&c);
}

/* Calls to which a function adds more and more, until it is too much. */
static int more(void *user, const em_batch *lines, em_line *to)
{
	maker *m = user;
	const size_t most = m->in;
	char line[100];
	size_t i;

	memset(line, 'x', sizeof line);
	m->calls++;
	m->in *= 2;
	if (lines->n == 0)
		return 0;
	for (i = 0; i < most; i++) {
		m->failed = em_line_add(to, line, m->how);
		if (m->failed != EM_OK)
			break;
	}
	/* It fails again, and nothing more is kept. */
	if (m->failed != EM_OK)
		assert_int_equal(em_line_put(to, line, 1), m->failed);
	return 0;
}

/* A call may add an eighth of memory, with 64 bytes a record, and no more; and the node has not much more itself. */
static void test_limit(void **unused)
{
	static const size_t bytes[] = { 0, 1, 36, 100 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 4; k++) {
		const uint64_t memory = 8 * MIB;
		uint64_t may = memory / 8 / (64 + bytes[k]), before;
		const char *path;
		lines_model got;
		em_errinfo err;
		em_stream *s;
		flat_case c;

		flat_open(&c, memory, 20000, 10, (unsigned)bytes[k]);
		path = c.path;
		c.m.in = 1;
		assert_int_equal(em_stream_lines(&s, c.t.ctx, &path, 1, NULL, &c.t.err), EM_OK);
		assert_int_equal(em_stream_lines_flat_map(&s, s, more, &c.m, NULL, &c.t.err), EM_OK);
		before = c.t.mem.bytes;
		assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_MEMLIMIT);
		assert_int_equal(c.m.failed, EM_ERR_MEMLIMIT);
		em_stream_error(s, &err);
		assert_non_null(strstr(err.text, "more records at a time"));
		/* 1, 2, 4, ... of them came out before. */
		assert_true(c.m.in > may && c.m.in / 4 <= may);
		assert_true(got.n + 1 <= c.m.in / 2);
		assert_true(c.t.mem.peak < before + 3 * memory / 8 + MIB);
		lines_free(&got);
		em_stream_close(s);
		flat_close(&c);
	}
}

static int adds_long(void *user, const em_batch *lines, em_line *to)
{
	maker *m = user;

	if (lines->n == 0)
		return 0;
	m->failed = em_line_add(to, m->model->text, m->most);
	return m->failed != EM_OK ? 3 : 0;
}

static int leaves_open(void *user, const em_batch *lines, em_line *to)
{
	(void)user;
	if (lines->n == 0)
		return 0;
	return em_line_add(to, "whole", 5) != EM_OK || em_line_put(to, "begun", 5) != EM_OK;
}

static int adds_to_one(void *user, const em_batch *lines, em_line *sum)
{
	(void)user;
	(void)lines;
	return em_line_add(sum, "x", 1) == EM_ERR_STATE ? 0 : 1;
}

/* One line may be as long as all; functions fail, leave lines without an end, or add others to the one they make. */
static void test_mistakes(void **unused)
{
	const uint64_t number = 7;
	lines_model got;
	em_order *order;
	em_errinfo err;
	em_stream *s, *in;
	flat_case c;
	unsigned k;

	(void)unused;
	for (k = 0; k < 2; k++) {
		const char *path;
		lines_model text;

		flat_open(&c, 16 * MIB, 3, 3, 0);
		memset(&text, 0, sizeof text);
		text.text = calloc(1, 2 * MIB);
		assert_non_null(text.text);
		path = c.path;
		c.m.model = &text;
		c.m.most = (size_t)(2 * MIB - 64 + k);
		assert_int_equal(em_stream_lines(&s, c.t.ctx, &path, 1, NULL, &c.t.err), EM_OK);
		assert_int_equal(em_stream_lines_flat_map(&s, s, adds_long, &c.m, NULL, &c.t.err), EM_OK);
		assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), k == 0 ? EM_END : EM_ERR_MEMLIMIT);
		/* Of one line, and of two. */
		assert_int_equal(got.n, k == 0 ? 2 : 0);
		assert_int_equal(got.bytes, got.n * c.m.most);
		em_stream_close(s);
		lines_free(&got);
		lines_free(&text);
		flat_close(&c);
	}
	flat_open(&c, 16 * MIB, 2000, 20, 0);
	c.m.fails_at = 1500;
	s = flat_stream(&c);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_USER);
	assert_true(got.n < 1500);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "makes records returned 5"));
	em_stream_close(s);
	lines_free(&got);
	/* Half-way, by whom it is canceled or closed. */
	for (k = 0; k < 2; k++) {
		maker_init(&c.m, &c.t, 2);
		s = flat_stream(&c);
		assert_int_equal(lines_drain(&c.t, s, &got, 700), EM_OK);
		lines_free(&got);
		if (k == 1) {
			em_ctx_cancel(c.t.ctx);
			assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_CANCELED);
			lines_free(&got);
		}
		em_stream_close(s);
	}
	flat_close(&c);
	flat_open(&c, 16 * MIB, 2000, 20, 0);
	{
		const char *path = c.path;

		assert_int_equal(em_stream_lines(&in, c.t.ctx, &path, 1, NULL, &c.t.err), EM_OK);
	}
	assert_int_equal(em_stream_lines_flat_map(&s, in, leaves_open, NULL, NULL, &c.t.err), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_USER);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "did not add it"));
	em_stream_close(s);
	lines_free(&got);
	assert_int_equal(em_order_text(&order, c.t.ctx, NULL, 0, NULL, NULL), EM_OK);
	maker_init(&c.m, &c.t, 2);
	s = flat_stream(&c);
	assert_int_equal(em_stream_lines_reduce(&s, s, order, adds_to_one, NULL, NULL, &c.t.err), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_STATE);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "one record"));
	em_stream_close(s);
	lines_free(&got);
	em_order_close(order);
	/* What is no stream of lines. */
	assert_int_equal(em_stream_memory(&in, c.t.ctx, 8, &number, 1, NULL), EM_OK);
	assert_int_equal(em_stream_lines_flat_map(&s, in, flat, &c.m, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_flat_map(&s, in, NULL, NULL, NULL, &c.t.err), EM_ERR_INVAL);
	em_stream_close(in);
	assert_int_equal(em_line_add(NULL, "x", 1), EM_ERR_INVAL);
	flat_close(&c);
}

/* Whatever allocation fails all is given back, and the function hears of it. */
static void test_failures(void **unused)
{
	uint64_t nth = test_nth_after(0, 1);
	int failed = 1;

	(void)unused;
	for (; failed; nth = test_nth_after(nth, 1)) {
		lines_model got, out;
		em_stream *s = NULL;
		const char *path;
		em_status st;
		flat_case c;

		flat_open(&c, 64 * MIB, 40, 60, 2);
		want(&c.t, 2, &c.in, &out);
		path = c.path;
		memset(&got, 0, sizeof got);
		c.t.mem.fail_at = c.t.mem.calls + nth;
		st = em_stream_lines(&s, c.t.ctx, &path, 1, NULL, &c.t.err);
		if (st == EM_OK)
			st = em_stream_lines_flat_map(&s, s, flat, &c.m, NULL, &c.t.err);
		if (st == EM_OK)
			st = lines_drain(&c.t, s, &got, SIZE_MAX);
		assert_true(st == EM_END || st == EM_ERR_NOMEM);
		if (st == EM_END)
			lines_assert_same(&got, &out);
		assert_true(c.m.failed == EM_OK || (c.m.failed == EM_ERR_NOMEM && st == EM_ERR_NOMEM));
		failed = test_memory_failed(&c.t.mem);
		c.t.mem.fail_at = 0;
		em_stream_close(s);
		lines_free(&got);
		lines_free(&out);
		flat_close(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests_name("flow_lines_flat", tests, NULL, NULL);
}
