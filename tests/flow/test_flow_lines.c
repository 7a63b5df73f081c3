/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines.c -- streams of records of any length, against a model of lines in memory. */
#include <stdio.h>
#include <unistd.h>

#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)

/* Lines one behind the other, and where each ends. */
typedef struct model {
	char *text;
	uint64_t *ends;
	size_t n, bytes, room, most;
} model;

static void add_line(model *m, const char *line, size_t bytes)
{
	if (m->n == m->most) {
		m->most = 2 * m->most + 16;
		m->ends = realloc(m->ends, m->most * sizeof *m->ends);
		assert_non_null(m->ends);
	}
	if (m->bytes + bytes > m->room || m->text == NULL) {
		m->room = 2 * m->room + bytes + 64;
		m->text = realloc(m->text, m->room);
		assert_non_null(m->text);
	}
	if (bytes != 0)
		memcpy(m->text + m->bytes, line, bytes);
	m->bytes += bytes;
	m->ends[m->n++] = m->bytes;
}

static const char *line_at(const model *m, size_t i, size_t *bytes)
{
	const uint64_t begin = i != 0 ? m->ends[i - 1] : 0;

	*bytes = (size_t)(m->ends[i] - begin);
	return m->text + begin;
}

static void free_model(model *m)
{
	free(m->text);
	free(m->ends);
	memset(m, 0, sizeof *m);
}

static void random_lines(flow_case *t, model *m, size_t n, size_t longest)
{
	char *line = malloc(longest + 1);
	size_t i, k;

	assert_non_null(line);
	memset(m, 0, sizeof *m);
	for (i = 0; i < n; i++) {
		const size_t most = test_below(&t->rng, 20) == 0 ? longest : 12 < longest ? 12 : longest;
		const size_t bytes = (size_t)test_below(&t->rng, most + 1);

		for (k = 0; k < bytes; k++)
			line[k] = (char)('a' + test_below(&t->rng, 4));
		add_line(m, line, bytes);
	}
	free(line);
}

/* Bytes of a number before each record, or a newline behind it. */
static void write_lines(const char *path, const model *m, unsigned width, int last)
{
	FILE *f = fopen(path, "wb");
	size_t i, k;

	assert_non_null(f);
	for (i = 0; i < m->n; i++) {
		size_t bytes;
		const char *line = line_at(m, i, &bytes);

		for (k = 0; k < width; k++)
			assert_int_not_equal(putc((int)(bytes >> 8 * k & 255), f), EOF);
		assert_int_equal(fwrite(line, 1, bytes, f), bytes);
		if (width == 0 && (last || i + 1 != m->n))
			assert_int_not_equal(putc('\n', f), EOF);
	}
	assert_int_equal(fclose(f), 0);
}

/* All lines of a stream, by batches and its cursor in turn. */
static em_status drain_lines(flow_case *t, em_stream *s, model *m, size_t limit)
{
	em_status st = EM_OK;

	memset(m, 0, sizeof *m);
	while (m->n < limit) {
		em_cursor *c = em_stream_cursor(s);
		const em_batch *b;
		const void *line;
		size_t i, bytes;
		uint64_t begin = 0;

		if (test_below(&t->rng, 2) == 0) {
			for (i = (size_t)test_below(&t->rng, 600); i != 0; i--) {
				st = em_cursor_next_sized(c, &line, &bytes);
				if (st != EM_OK)
					return st;
				add_line(m, line, bytes);
			}
			/* A batch passes over what is left of a window. */
			while (c->ends != c->last) {
				assert_int_equal(em_cursor_next_sized(c, &line, &bytes), EM_OK);
				add_line(m, line, bytes);
			}
			continue;
		}
		st = em_stream_next(s, &b);
		if (st != EM_OK)
			return st;
		assert_true(b->n != 0);
		assert_non_null(b->ends);
		assert_int_equal(b->bytes, b->ends[b->n - 1]);
		for (i = 0; i < b->n; begin = b->ends[i++])
			add_line(m, (const char *)b->records + begin, (size_t)(b->ends[i] - begin));
	}
	return st;
}

static void assert_same(const model *a, const model *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->bytes, b->bytes);
	if (a->n == 0)
		return;
	assert_memory_equal(a->ends, b->ends, a->n * sizeof *a->ends);
	if (a->bytes != 0)
		assert_memory_equal(a->text, b->text, a->bytes);
}

/* The stream has these lines, and ends; it is closed. */
static void assert_lines(flow_case *t, em_stream *s, const model *want)
{
	model got;

	assert_int_equal(drain_lines(t, s, &got, SIZE_MAX), EM_END);
	assert_same(&got, want);
	free_model(&got);
	em_stream_close(s);
}

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
		model m, both, back;
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
		random_lines(&t, &m, some(&t, k), k % 5 == 0 ? 100000 : 300);
		write_lines(f.path[0], &m, width, 1);
		write_lines(f.path[1], &m, width, k % 2 == 0);
		memset(&both, 0, sizeof both);
		for (i = 0; i < 2 * m.n; i++) {
			size_t bytes;
			const char *line = line_at(&m, i % m.n, &bytes);

			/* An empty last line without a newline is none. */
			if (i + 1 != 2 * m.n || bytes != 0 || width != 0 || k % 2 == 0)
				add_line(&both, line, bytes);
		}
		assert_lines(&t, open_files(&t, &f, 2, &format), &both);
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
		assert_int_equal(drain_lines(&t, s, &back, SIZE_MAX), EM_END);
		assert_same(&back, &both);
		em_stream_close(s);
		free_model(&back);
		free_model(&both);
		free_model(&m);
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
		model m, want, before;
		flow_case t;
		size_t i, skip;
		int ok = 0;

		flow_open(&t, 16 * MIB, 0);
		random_lines(&t, &m, some(&t, k), 200);
		write_lines(f.path[0], &m, 0, 1);
		write_lines(f.path[1], &m, 0, 1);
		/* Some of the first one were lent, and one more was in the window of a cursor. */
		in[0] = open_files(&t, &f, 1, NULL);
		(void)drain_lines(&t, in[0], &before, (size_t)test_below(&t.rng, m.n + 1));
		skip = before.n;
		free_model(&before);
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
				const char *line = line_at(&m, i % m.n, &bytes);

				if (bytes % 3 == rest && kept++ >= 3 && want.n < 2000)
					add_line(&want, line, bytes);
			}
		}
		assert_lines(&t, s, &want);
		assert_true(seen[0] <= 2 * m.n - skip);
		/* Their lengths. */
		s = open_files(&t, &f, 2, NULL);
		assert_int_equal(em_stream_lines_map(&s, s, 4, lengths, &ok, NULL, &t.err), EM_OK);
		{
			uint32_t *x = malloc((2 * m.n + 1) * sizeof *x);

			assert_non_null(x);
			for (i = 0; i < 2 * m.n; i++) {
				size_t bytes;

				(void)line_at(&m, i % m.n, &bytes);
				x[i] = (uint32_t)bytes;
			}
			flow_assert(&t, s, x, 2 * m.n);
			free(x);
		}
		free_model(&want);
		free_model(&m);
		flow_close(&t);
	}
	remove_files(&f);
}

static const model *sorted_model;

static int by_line(const void *a, const void *b)
{
	size_t na, nb;
	const char *x = line_at(sorted_model, *(const size_t *)a, &na);
	const char *y = line_at(sorted_model, *(const size_t *)b, &nb);
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
		model m, want;
		flow_case t;
		size_t i, *place;

		flow_open(&t, 16 * MIB, 0);
		random_lines(&t, &m, k == 20 ? 300000 : some(&t, k), k % 2 == 0 ? 40 : 5);
		write_lines(f.path[0], &m, 0, 1);
		place = malloc((m.n + 1) * sizeof *place);
		assert_non_null(place);
		for (i = 0; i < m.n; i++)
			place[i] = i;
		sorted_model = &m;
		qsort(place, m.n, sizeof *place, by_line);
		memset(&want, 0, sizeof want);
		for (i = 0; i < m.n; i++) {
			size_t bytes;
			const char *line = line_at(&m, place[i], &bytes);

			if (k % 3 != 2 || i == 0 || by_line(&place[i - 1], &place[i]) != 0)
				add_line(&want, line, bytes);
		}
		assert_int_equal(em_order_text(&order, t.ctx, NULL, 0, NULL, &t.err), EM_OK);
		o.memory = 8 * MIB;
		o.flags = k % 3 == 2 ? EM_SORT_UNIQUE : 0;
		s = open_files(&t, &f, 1, NULL);
		assert_int_equal(em_stream_sort(&s, s, order, &o, &t.err), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		if (k % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 1000)), EM_OK);
		assert_lines(&t, s, &want);
		free(place);
		free_model(&want);
		free_model(&m);
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
	model m, got;
	flow_case t;
	em_sink *to;
	em_status st;

	(void)unused;
	name_files(&f);
	flow_open(&t, 16 * MIB, 0);
	random_lines(&t, &m, 5000, 60);
	write_lines(f.path[0], &m, 0, 1);
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_lines_inspect(&s, s, count_lines, seen, NULL, &t.err), EM_OK);
	assert_int_equal(drain_lines(&t, s, &got, SIZE_MAX), EM_ERR_USER);
	assert_true(got.n < 700);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "returned 7"));
	free_model(&got);
	em_stream_close(s);
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_lines_map(&s, s, 4, lengths, &fails, NULL, &t.err), EM_OK);
	assert_true(em_stream_empty(em_stream_cursor(s)));
	assert_int_equal(em_stream_cursor(s)->status, EM_ERR_USER);
	em_stream_close(s);
	/* The second file is not there. */
	(void)remove(f.path[1]);
	s = open_files(&t, &f, 2, NULL);
	assert_int_equal(drain_lines(&t, s, &got, SIZE_MAX), EM_ERR_NOENT);
	em_stream_error(s, &err);
	assert_string_equal(err.path, f.path[1]);
	free_model(&got);
	em_stream_close(s);
	/* Half-way. */
	s = open_files(&t, &f, 1, NULL);
	assert_int_equal(drain_lines(&t, s, &got, 100), EM_OK);
	free_model(&got);
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
	free_model(&m);
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

/* What takes records of one size refuses others, and the other way round; all stays as it is. */
static void test_mistakes(void **unused)
{
	const uint64_t ends[3] = { 2, 1, 4 }, numbers[2] = { 1, 2 };
	const em_batch wrong = { "abcd", 3, 4, ends }, none = { "abcd", 3, 4, NULL };
	em_format format = EM_FORMAT_INIT;
	em_order *order, *text;
	em_stream *in[2], *s, *out[2];
	em_sink *k, *fixed;
	uint64_t rest = 0;
	flow_case t;
	files f;
	model m;

	(void)unused;
	name_files(&f);
	flow_open(&t, 16 * MIB, 0);
	order = flow_order(&t, 8);
	assert_int_equal(em_order_text(&text, t.ctx, NULL, 0, NULL, &t.err), EM_OK);
	random_lines(&t, &m, 100, 10);
	write_lines(f.path[0], &m, 0, 1);
	in[0] = open_files(&t, &f, 1, NULL);
	assert_int_equal(em_stream_memory(&in[1], t.ctx, 8, numbers, 2, &t.err), EM_OK);
	assert_int_equal(em_stream_filter(&s, in[0], never, NULL, NULL, &t.err), EM_ERR_NOTSUP);
	assert_non_null(strstr(t.err.text, "any length"));
	assert_int_equal(em_stream_zip(&s, in, 2, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_concat(&s, in, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_tee(out, 2, in[0], NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_unique(&s, in[0], order, 0, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_reverse(&s, in[0], 0, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_ahead(&s, in[0], 0, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_window(&s, in[0], 2, 1, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_prefix_sum(&s, in[0], 0, EM_KEY_U64, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_sort(&s, in[0], order, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_sort(&s, in[1], text, NULL, &t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_lines_filter(&s, in[1], short_ones, &rest, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_filter(&s, in[0], NULL, &rest, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_map(&s, in[0], 0, lengths, NULL, NULL, &t.err), EM_ERR_RANGE);
	format.kind = 77;
	assert_int_equal(em_stream_lines(&s, t.ctx, f.list, 1, &format, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_lines(&k, t.ctx, f.path[2], &format, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_lines(&k, t.ctx, f.path[2], NULL, &t.err), EM_OK);
	assert_int_equal(em_sink_discard(&fixed, t.ctx, 8, &t.err), EM_OK);
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
	assert_lines(&t, in[0], &m);
	flow_assert(&t, in[1], numbers, 2);
	free_model(&m);
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
