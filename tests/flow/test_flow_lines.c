/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines.c -- streams of records of any length, against a model of lines in memory. */
#include <stdio.h>
#include <unistd.h>

#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

static int short_ones(void *user, const em_batch *b, unsigned char *keep)
{
	uint64_t begin = 0;
	size_t i;

	assert_true(b->n > 0 && b->n <= 512);
	assert_int_equal(b->bytes, b->ends[b->n - 1]);
	for (i = 0; i < b->n; begin = b->ends[i++]) {
		assert_int_equal(keep[i], 0);
		keep[i] = (b->ends[i] - begin) % 3 == *(const uint64_t *)user;
	}
	return 0;
}

static int count_lines(void *user, const em_batch *b)
{
	uint64_t *n = user;

	assert_true(b->n > 0 && b->n <= 512);
	n[0] += b->n;
	n[1] += b->bytes;
	return n[2] != 0 && n[0] >= n[2] ? 7 : 0;
}

static int lengths(void *user, const em_batch *b, void *to)
{
	uint32_t *x = to;
	uint64_t begin = 0;
	size_t i;

	for (i = 0; i < b->n; begin = b->ends[i++])
		x[i] = (uint32_t)(b->ends[i] - begin);
	return *(const int *)user;
}

typedef struct files {
	char *dir, *path[3];
	const char *list[2];
} files;

static void name_files(files *f)
{
	f->dir = test_dir_make();
	f->path[0] = test_path(f->dir, "a");
	f->path[1] = test_path(f->dir, "b");
	f->path[2] = test_path(f->dir, "c");
	f->list[0] = f->path[0];
	f->list[1] = f->path[1];
}

static void remove_files(files *f)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		free(f->path[i]);
	test_dir_remove(f->dir);
}

static size_t some(flow_case *t, unsigned k)
{
	static const size_t edges[] = { 0, 1, 2, 511, 512, 513, 2047, 2048, 2049 };

	return k < sizeof edges / sizeof *edges ? edges[k] : (size_t)test_below(&t->rng, 6000);
}

static em_stream *open_files(flow_case *t, const files *f, uint32_t n, const em_format *format)
{
	em_stream *s;

	assert_int_equal(em_stream_lines(&s, t->ctx, f->list, n, format, &t->err), EM_OK);
	assert_int_equal(em_stream_record_bytes(s), 0);
	assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
	if (test_below(&t->rng, 2) == 0)
		assert_int_equal(em_stream_batch(s, 1 + test_below(&t->rng, 300)), EM_OK);
	return s;
}

/* What is in files comes from there, whatever its format and size, and goes back. */
static void test_files(void **unused)
{
	files f;
	unsigned k;

	(void)unused;
	name_files(&f);
	for (k = 0; k < 40; k += test_step()) {
		em_format format = EM_FORMAT_INIT;
		const unsigned width = k % 4 == 3 ? 4 : 0;
		lines_model m, both, back;
		uint64_t moved;
		em_stream *s;
		flow_case t;
		em_sink *to;
		size_t i;

		if (width != 0) {
			format.kind = EM_FORMAT_PREFIXED;
			format.width = width;
		}
		flow_open(&t, 16 * MIB, 0);
		lines_random(&t, &m, some(&t, k), k % 5 == 0 ? 100000 : 300);
		lines_write(f.path[0], &m, width, 1);
		lines_write(f.path[1], &m, width, k % 2 == 0);
		memset(&both, 0, sizeof both);
		for (i = 0; i < 2 * m.n; i++) {
			size_t bytes;
			const char *line = lines_at(&m, i % m.n, &bytes);

			/* An empty last line without a newline is none. */
			if (i + 1 != 2 * m.n || bytes != 0 || width != 0 || k % 2 == 0)
				lines_add(&both, line, bytes);
		}
		lines_assert(&t, open_files(&t, &f, 2, &format), &both);
		s = open_files(&t, &f, 2, &format);
		assert_int_equal(em_sink_lines(&to, t.ctx, f.path[2], &format, &t.err), EM_OK);
		assert_int_equal(em_sink_record_bytes(to), 0);
		assert_int_equal(em_stream_pump(s, to, &moved), EM_OK);
		assert_int_equal(moved, both.n);
		assert_int_equal(em_sink_count(to), both.n);
		assert_int_equal(em_sink_finish(to), EM_OK);
		em_sink_close(to);
		em_stream_close(s);
		f.list[0] = f.path[2];
		s = open_files(&t, &f, 1, &format);
		f.list[0] = f.path[0];
		assert_int_equal(lines_drain(&t, s, &back, SIZE_MAX), EM_END);
		lines_assert_same(&back, &both);
		em_stream_close(s);
		lines_free(&back);
		lines_free(&both);
		lines_free(&m);
		flow_close(&t);
	}
	remove_files(&f);
}

/* All nodes, over inputs that were read before. */
static void test_nodes(void **unused)
{
	files f;
	unsigned k;

	(void)unused;
	name_files(&f);
	for (k = 0; k < 40; k += test_step()) {
		uint64_t seen[3] = { 0, 0, 0 }, rest = k % 3;
		em_stream *in[2], *s;
		lines_model m, want, before;
		flow_case t;
		size_t i, skip;
		int ok = 0;

		flow_open(&t, 16 * MIB, 0);
		lines_random(&t, &m, some(&t, k), 200);
		lines_write(f.path[0], &m, 0, 1);
		lines_write(f.path[1], &m, 0, 1);
		/* Some of the first one were lent, and one more was in the window of a cursor. */
		in[0] = open_files(&t, &f, 1, NULL);
		(void)lines_drain(&t, in[0], &before, (size_t)test_below(&t.rng, m.n + 1));
		skip = before.n;
		lines_free(&before);
		if (skip < m.n) {
			const void *line;
			size_t bytes;

			assert_int_equal(em_cursor_next_sized(em_stream_cursor(in[0]), &line, &bytes), EM_OK);
			skip++;
		}
		in[1] = open_files(&t, &f, 1, NULL);
		assert_int_equal(em_stream_concat(&s, in, 2, &t.err), EM_OK);
		assert_int_equal(em_stream_lines_inspect(&s, s, count_lines, seen, NULL, &t.err), EM_OK);
		assert_int_equal(em_stream_lines_filter(&s, s, short_ones, &rest, NULL, &t.err), EM_OK);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 50)), EM_OK);
		assert_int_equal(em_stream_slice(&s, s, 3, 2000, &t.err), EM_OK);
		memset(&want, 0, sizeof want);
		rest = k % 3;
		{
			size_t kept = 0;

			for (i = skip; i < 2 * m.n; i++) {
				size_t bytes;
				const char *line = lines_at(&m, i % m.n, &bytes);

				if (bytes % 3 == rest && kept++ >= 3 && want.n < 2000)
					lines_add(&want, line, bytes);
			}
		}
		lines_assert(&t, s, &want);
		assert_true(seen[0] <= 2 * m.n - skip);
		/* Their lengths. */
		s = open_files(&t, &f, 2, NULL);
		assert_int_equal(em_stream_lines_map(&s, s, 4, lengths, &ok, NULL, &t.err), EM_OK);
		{
			uint32_t *x = malloc((2 * m.n + 1) * sizeof *x);

			assert_non_null(x);
			for (i = 0; i < 2 * m.n; i++) {
				size_t bytes;

				(void)lines_at(&m, i % m.n, &bytes);
				x[i] = (uint32_t)bytes;
			}
			flow_assert(&t, s, x, 2 * m.n);
			free(x);
		}
		lines_free(&want);
		lines_free(&m);
		flow_close(&t);
	}
	remove_files(&f);
}

static const lines_model *sorted_model;

static int by_line(const void *a, const void *b)
{
	size_t na, nb;
	const char *x = lines_at(sorted_model, *(const size_t *)a, &na);
	const char *y = lines_at(sorted_model, *(const size_t *)b, &nb);
	const int c = memcmp(x, y, na < nb ? na : nb);

	return c != 0 ? c : (na > nb) - (na < nb);
}

/* By the sorter of lines, which may leave equal ones once. */
static void test_sort(void **unused)
{
	files f;
	unsigned k;

	(void)unused;
	name_files(&f);
	for (k = 0; k < 24; k += test_step()) {
		em_sort_opts o = EM_SORT_OPTS_INIT;
		em_order *order;
		em_stream *s;
		lines_model m, want;
		flow_case t;
		size_t i, *place;

		flow_open(&t, 16 * MIB, 0);
		lines_random(&t, &m, k == 20 ? 300000 : some(&t, k), k % 2 == 0 ? 40 : 5);
		lines_write(f.path[0], &m, 0, 1);
		place = malloc((m.n + 1) * sizeof *place);
		assert_non_null(place);
		for (i = 0; i < m.n; i++)
			place[i] = i;
		sorted_model = &m;
		qsort(place, m.n, sizeof *place, by_line);
		memset(&want, 0, sizeof want);
		for (i = 0; i < m.n; i++) {
			size_t bytes;
			const char *line = lines_at(&m, place[i], &bytes);

			if (k % 3 != 2 || i == 0 || by_line(&place[i - 1], &place[i]) != 0)
				lines_add(&want, line, bytes);
		}
		assert_int_equal(em_order_text(&order, t.ctx, NULL, 0, NULL, &t.err), EM_OK);
		o.memory = 8 * MIB;
		o.flags = k % 3 == 2 ? EM_SORT_UNIQUE : 0;
		s = open_files(&t, &f, 1, NULL);
		assert_int_equal(em_stream_sort(&s, s, order, &o, &t.err), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 1000)), EM_OK);
		lines_assert(&t, s, &want);
		free(place);
		lines_free(&want);
		lines_free(&m);
		em_order_close(order);
		flow_close(&t);
	}
	remove_files(&f);
}

/* Functions and files that fail, allocations, and graphs that are closed half-way. */
static void test_failures(void **unused)
{
	files f;
	uint64_t nth, seen[3] = { 0, 0, 700 };
	int fails = 3;
	em_stream *s;
	em_errinfo err;
	lines_model m, got;
	flow_case t;
	em_sink *to;
	em_status st;

	(void)unused;
	name_files(&f);
	flow_open(&t, 16 * MIB, 0);
	lines_random(&t, &m, 5000, 60);
	lines_write(f.path[0], &m, 0, 1);
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_lines_inspect(&s, s, count_lines, seen, NULL, &t.err), EM_OK);
	assert_int_equal(lines_drain(&t, s, &got, SIZE_MAX), EM_ERR_USER);
	assert_true(got.n < 700);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "returned 7"));
	lines_free(&got);
	em_stream_close(s);
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_lines_map(&s, s, 4, lengths, &fails, NULL, &t.err), EM_OK);
	assert_true(em_stream_empty(em_stream_cursor(s)));
	assert_int_equal(em_stream_cursor(s)->status, EM_ERR_USER);
	em_stream_close(s);
	/* The second file is not there. */
	(void)remove(f.path[1]);
	s = open_files(&t, &f, 2, NULL);
	assert_int_equal(lines_drain(&t, s, &got, SIZE_MAX), EM_ERR_NOENT);
	em_stream_error(s, &err);
	assert_string_equal(err.path, f.path[1]);
	lines_free(&got);
	em_stream_close(s);
	/* Half-way. */
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(lines_drain(&t, s, &got, 100), EM_OK);
	lines_free(&got);
	em_stream_close(s);
	flow_close(&t);
	for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
		em_order *order;
		uint64_t rest = 1;
		int whole = 0;

		flow_open(&t, 16 * MIB, 0);
		assert_int_equal(em_order_text(&order, t.ctx, NULL, 0, NULL, &t.err), EM_OK);
		t.mem.fail_at = t.mem.calls + nth;
		st = em_stream_lines(&s, t.ctx, f.list, 1, NULL, &t.err);
		if (st == EM_OK && (st = em_stream_lines_filter(&s, s, short_ones, &rest, NULL, &t.err)) == EM_OK)
			st = em_stream_sort(&s, s, order, NULL, &t.err);
		if (st == EM_OK) {
			st = em_sink_lines(&to, t.ctx, f.path[2], NULL, &t.err);
			if (st == EM_OK)
				st = em_stream_pump(s, to, NULL);
			if (st == EM_OK)
				st = em_sink_finish(to);
			em_sink_close(to);
			whole = st == EM_OK;
		}
		assert_true(whole || st == EM_ERR_NOMEM);
		em_stream_close(s);
		em_order_close(order);
		t.mem.fail_at = 0;
		flow_close(&t);
		if (whole)
			break;
	}
	lines_free(&m);
	remove_files(&f);
}

static int never(void *user, const void *records, size_t n, unsigned char *keep)
{
	(void)user;
	(void)records;
	(void)n;
	(void)keep;
	return 1;
}

static int never_sends(void *user, const void *records, size_t n, uint32_t *to)
{
	(void)user;
	(void)records;
	(void)n;
	(void)to;
	return 1;
}

static int never_adds(void *user, void *sum, const void *records, size_t n)
{
	(void)user;
	(void)sum;
	(void)records;
	(void)n;
	return 1;
}

/* What takes records of one size refuses others, and the other way round; all stays as it is. */
static void test_mistakes(void **unused)
{
	const uint64_t ends[3] = { 2, 1, 4 }, numbers[2] = { 1, 2 };
	const em_batch wrong = { "abcd", 3, 4, ends }, none = { "abcd", 3, 4, NULL };
	em_format format = EM_FORMAT_INIT;
	em_order *order, *text;
	em_stream *in[2], *s;
	em_sink *k, *fixed;
	uint64_t rest = 0;
	flow_case t;
	files f;
	lines_model m;

	(void)unused;
	name_files(&f);
	flow_open(&t, 16 * MIB, 0);
	order = flow_order(&t, 8);
	assert_int_equal(em_order_text(&text, t.ctx, NULL, 0, NULL, &t.err), EM_OK);
	lines_random(&t, &m, 100, 10);
	lines_write(f.path[0], &m, 0, 1);
	in[0] = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_memory(&in[1], t.ctx, 8, numbers, 2, &t.err), EM_OK);
	assert_int_equal(em_sink_discard(&fixed, t.ctx, 8, &t.err), EM_OK);
	assert_int_equal(em_stream_filter(&s, in[0], never, NULL, NULL, &t.err), EM_ERR_NOTSUP);
	assert_non_null(strstr(t.err.text, "any length"));
	assert_int_equal(em_stream_zip(&s, in, 2, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_concat(&s, in, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_reduce(&s, in[0], text, never_adds, NULL, NULL, &t.err), EM_ERR_NOTSUP);
	assert_non_null(strstr(t.err.text, "em_stream_lines_map()"));
	assert_int_equal(em_stream_sort_reduce(&s, in[0], text, NULL, never_adds, NULL, NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_reverse(&s, in[0], 0, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_window(&s, in[0], 2, 1, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_prefix_sum(&s, in[0], 0, EM_KEY_U64, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_sort(&s, in[0], order, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_sort(&s, in[1], text, NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_lines_filter(&s, in[1], short_ones, &rest, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_filter(&s, in[0], NULL, &rest, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_split(&s, in[0], &fixed, 1, never_sends, NULL, NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_lines_map(&s, in[0], 0, lengths, NULL, NULL, &t.err), EM_ERR_RANGE);
	format.kind = 77;
	assert_int_equal(em_stream_lines(&s, t.ctx, f.list, 1, &format, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_lines(&k, t.ctx, f.path[2], &format, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_lines(&k, t.ctx, f.path[2], NULL, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, numbers, 1), EM_ERR_INVAL);
	assert_int_equal(em_sink_push_lines(fixed, &wrong), EM_ERR_INVAL);
	assert_int_equal(em_sink_push_lines(k, &wrong), EM_ERR_INVAL);
	assert_int_equal(em_sink_push_lines(k, &none), EM_ERR_INVAL);
	assert_int_equal(em_stream_pump(in[1], k, NULL), EM_ERR_INVAL);
	assert_int_equal(em_stream_pump(in[0], fixed, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sink_finish(k), EM_OK);
	assert_int_equal(em_sink_count(k), 0);
	em_sink_close(k);
	em_sink_close(fixed);
	/* A prefix that is too short stays a failure, and there is no file. */
	(void)remove(f.path[2]);
	format.kind = EM_FORMAT_PREFIXED;
	format.width = 1;
	assert_int_equal(em_sink_lines(&k, t.ctx, f.path[2], &format, &t.err), EM_OK);
	{
		static const char longer[300];
		const uint64_t end[2] = { 3, 300 };
		const em_batch b = { longer, 2, 300, end };

		assert_int_equal(em_sink_push_lines(k, &b), EM_ERR_RANGE);
		assert_int_equal(em_sink_count(k), 1);
		assert_int_equal(em_sink_finish(k), EM_ERR_RANGE);
	}
	em_sink_close(k);
	assert_int_not_equal(access(f.path[2], F_OK), 0);
	lines_assert(&t, in[0], &m);
	flow_assert(&t, in[1], numbers, 2);
	lines_free(&m);
	em_order_close(order);
	em_order_close(text);
	flow_close(&t);
	remove_files(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("flow_lines", tests, NULL, NULL);
}
