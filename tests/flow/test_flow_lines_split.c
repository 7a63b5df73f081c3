/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines_split.c -- streams of records of any length that become several. */
#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)
#define SINKS 3u

typedef struct split_case {
	flow_case t;
	char *dir, *path[SINKS + 1]; /* what comes, and what goes to sinks */
	lines_model in;
	em_sink *sink[SINKS];
	uint32_t n;             /* sinks that there are */
	size_t seen;            /* lines that the function got */
	size_t fails_at;        /* it fails at this one; SIZE_MAX: never */
	size_t most;            /* lines that may come at a time */
	int keeps;              /* none but each 700th is lent */
	int wrong;              /* it names a sink that is not there */
} split_case;

/* Where a line goes: by its length, and the first byte that it has. */
static uint32_t where(const split_case *c, const char *line, size_t bytes, size_t i)
{
	if (c->keeps)
		return i % 700 == 0 ? 0 : 1 + (uint32_t)(i % c->n);
	return (uint32_t)((bytes + (bytes != 0 ? (unsigned char)line[0] : 0)) % (c->n + 1));
}

static int choose(void *user, const em_batch *lines, uint32_t *to)
{
	split_case *c = user;
	uint64_t begin = 0;
	size_t i;

	assert_true(lines->n != 0 && lines->n <= c->most);
	assert_int_equal(lines->bytes, lines->ends[lines->n - 1]);
	for (i = 0; i < lines->n; begin = lines->ends[i++]) {
		if (c->seen == c->fails_at)
			return 13;
		assert_int_equal(to[i], 0);
		to[i] = where(c, (const char *)lines->records + begin, (size_t)(lines->ends[i] - begin), c->seen++);
		if (c->wrong)
			to[i] = c->n + 1;
	}
	return 0;
}

static void split_open(split_case *c, size_t n, size_t longest, uint32_t sinks)
{
	static const char *const names[] = { "in", "a", "b", "c" };
	uint32_t i;

	memset(c, 0, sizeof *c);
	flow_open(&c->t, 32 * MIB, 0);
	c->dir = test_dir_make();
	for (i = 0; i <= SINKS; i++)
		c->path[i] = test_path(c->dir, names[i]);
	c->n = sinks;
	c->most = 512;
	c->fails_at = SIZE_MAX;
	lines_random(&c->t, &c->in, n, longest);
	lines_write(c->path[0], &c->in, 0, 1);
}

static void split_close(split_case *c)
{
	uint32_t i;

	for (i = 0; i <= SINKS; i++)
		free(c->path[i]);
	test_dir_remove(c->dir);
	lines_free(&c->in);
	flow_close(&c->t);
}

static em_status open_sinks(split_case *c)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; st == EM_OK && i < c->n; i++)
		st = em_sink_lines(&c->sink[i], c->t.ctx, c->path[i + 1], NULL, &c->t.err);
	return st;
}

static em_status open_split(split_case *c, em_stream **s)
{
	const char *path = c->path[0];
	em_status st = em_stream_lines(s, c->t.ctx, &path, 1, NULL, &c->t.err);

	if (st == EM_OK)
		st = em_stream_lines_split(s, *s, c->sink, c->n, choose, c, NULL, &c->t.err);
	return st;
}

static em_status finish_sinks(split_case *c)
{
	em_status st = EM_OK, one;
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		one = em_sink_finish(c->sink[i]);
		st = st == EM_OK ? one : st;
	}
	return st;
}

static void close_sinks(split_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		em_sink_close(c->sink[i]);
		c->sink[i] = NULL;
	}
}

/* What goes to one of them, from 0: what is lent. */
static void want(split_case *c, uint32_t k, lines_model *out)
{
	size_t i;

	memset(out, 0, sizeof *out);
	for (i = 0; i < c->in.n; i++) {
		size_t bytes;
		const char *line = lines_at(&c->in, i, &bytes);

		if (where(c, line, bytes, i) == k)
			lines_add(out, line, bytes);
	}
}

/* The files of sinks have what they are to have. */
static void assert_files(split_case *c)
{
	uint32_t i;

	for (i = 1; i <= c->n; i++) {
		const char *path = c->path[i];
		lines_model out;
		em_stream *s;

		want(c, i, &out);
		assert_int_equal(em_sink_count(c->sink[i - 1]), out.n);
		assert_int_equal(em_stream_lines(&s, c->t.ctx, &path, 1, NULL, &c->t.err), EM_OK);
		lines_assert(&c->t, s, &out);
		lines_free(&out);
	}
}

/* Each line goes where the function says, in its order. */
static void test_split(void **unused)
{
	static const size_t count[] = { 0, 1, 2, 511, 512, 513, 3000 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 42; k += test_step()) {
		lines_model out;
		em_stream *s;
		split_case c;

		split_open(&c, count[k % 7], k % 2 == 0 ? 30 : 20000, 1 + k % SINKS);
		c.keeps = k % 5 == 4;
		assert_int_equal(open_sinks(&c), EM_OK);
		assert_int_equal(open_split(&c, &s), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
		if (k % 4 == 3) {
			c.most = 1 + (size_t)test_below(&c.t.rng, 100);
			assert_int_equal(em_stream_batch(s, c.most), EM_OK);
		}
		want(&c, 0, &out);
		lines_assert(&c.t, s, &out);
		lines_free(&out);
		assert_int_equal(c.seen, c.in.n);
		assert_int_equal(finish_sinks(&c), EM_OK);
		assert_files(&c);
		close_sinks(&c);
		split_close(&c);
	}
}

/* What functions and sinks fail with, and what is refused; nothing that was refused changes anything. */
static void test_mistakes(void **unused)
{
	const uint64_t number = 1;
	em_sink *both[2], *fixed;
	em_format format = EM_FORMAT_INIT;
	em_stream *s, *in, *numbers;
	lines_model got;
	em_errinfo err;
	const char *path;
	split_case c;

	(void)unused;
	split_open(&c, 3000, 20, 2);
	path = c.path[0];
	assert_int_equal(open_sinks(&c), EM_OK);
	assert_int_equal(em_sink_discard(&fixed, c.t.ctx, 8, NULL), EM_OK);
	assert_int_equal(em_stream_memory(&numbers, c.t.ctx, 8, &number, 1, NULL), EM_OK);
	assert_int_equal(em_stream_lines(&in, c.t.ctx, &path, 1, NULL, NULL), EM_OK);
	assert_int_equal(em_stream_lines_split(&s, numbers, c.sink, 2, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_split(&s, in, c.sink, 2, NULL, &c, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_split(&s, in, c.sink, 0, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_split(&s, in, NULL, 1, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_split(&s, in, &fixed, 1, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "any length"));
	both[0] = both[1] = c.sink[0];
	assert_int_equal(em_stream_lines_split(&s, in, both, 2, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	both[1] = NULL;
	assert_int_equal(em_stream_lines_split(&s, in, both, 2, choose, &c, NULL, &c.t.err), EM_ERR_INVAL);
	em_stream_close(in);
	em_stream_close(numbers);
	em_sink_close(fixed);
	/* The function fails; it names a sink too many. */
	c.fails_at = 1000;
	assert_int_equal(open_split(&c, &s), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_USER);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "returned 13"));
	em_stream_close(s);
	lines_free(&got);
	c.fails_at = SIZE_MAX;
	c.wrong = 1;
	assert_int_equal(open_split(&c, &s), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_USER);
	em_stream_error(s, &err);
	assert_non_null(strstr(err.text, "sink 3 of 2"));
	em_stream_close(s);
	lines_free(&got);
	c.wrong = 0;
	close_sinks(&c);
	/* A sink fails: a prefix is too short. */
	split_close(&c);
	split_open(&c, 1000, 3000, 2);
	format.kind = EM_FORMAT_PREFIXED;
	format.width = 1;
	assert_int_equal(em_sink_lines(&c.sink[0], c.t.ctx, c.path[1], NULL, NULL), EM_OK);
	assert_int_equal(em_sink_lines(&c.sink[1], c.t.ctx, c.path[2], &format, NULL), EM_OK);
	assert_int_equal(open_split(&c, &s), EM_OK);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_RANGE);
	lines_free(&got);
	assert_int_equal(lines_drain(&c.t, s, &got, SIZE_MAX), EM_ERR_RANGE);
	lines_free(&got);
	assert_int_equal(em_sink_finish(c.sink[1]), EM_ERR_RANGE);
	em_stream_close(s);
	close_sinks(&c);
	split_close(&c);
}

/* Whatever allocation fails all is given back. */
static void test_failures(void **unused)
{
	uint64_t nth = test_nth_after(0, 1);
	int failed = 1;

	(void)unused;
	for (; failed; nth = test_nth_after(nth, 1)) {
		em_stream *s = NULL;
		lines_model got;
		em_status st;
		split_case c;

		split_open(&c, 1500, 3000, 2);
		memset(&got, 0, sizeof got);
		c.t.mem.fail_at = c.t.mem.calls + nth;
		st = open_sinks(&c);
		if (st == EM_OK)
			st = open_split(&c, &s);
		if (st == EM_OK)
			st = lines_drain(&c.t, s, &got, SIZE_MAX);
		if (st == EM_END)
			st = finish_sinks(&c);
		assert_true(st == EM_OK || st == EM_ERR_NOMEM);
		failed = test_memory_failed(&c.t.mem);
		c.t.mem.fail_at = 0;
		em_stream_close(s);
		if (st == EM_OK)
			assert_files(&c);
		close_sinks(&c);
		lines_free(&got);
		split_close(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests_name("flow_lines_split", tests, NULL, NULL);
}
