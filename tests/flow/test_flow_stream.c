/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_stream.c -- sources, pulling, cursors, ownership, and what a program may do wrong. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)

static void test_memory_source(void **state)
{
	uint64_t *x;
	flow_case t;
	size_t n;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (n = 0; n < 200; n += 1 + n / 3) {
		em_stream *s;

		x = flow_numbers(&t, n, UINT64_MAX, 0);
		assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, n, NULL), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 8);
		assert_int_equal(em_stream_count(s), n);
		if (n % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + n / 2), EM_OK);
		flow_assert(&t, s, x, n);
		free(x);
	}
	flow_close(&t);
}

static void test_own_source(void **state)
{
	const size_t records[] = { 1, 3, 8, 24, 5000 };
	flow_case t;
	size_t i, most;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (i = 0; i < sizeof records / sizeof records[0]; i++) {
		for (most = 1; most < 100; most = most * 2 + 1) {
			const size_t n = (size_t)test_below(&t.rng, 300);
			char *x = malloc(n * records[i] + 1);
			em_stream *s;
			feed f;

			assert_non_null(x);
			test_fill(&t.rng, x, n * records[i]);
			s = feed_open(&f, &t, x, n, records[i], most);
			assert_non_null(s);
			if (most % 3 == 0)
				assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, most)), EM_OK);
			assert_int_equal(f.calls, 0);
			flow_assert(&t, s, x, n);
			assert_int_equal(f.closed, 1);
			free(x);
		}
	}
	flow_close(&t);
}

/* Every limit to a batch is kept, and no batch is empty. */
static void test_batches(void **state)
{
	uint64_t *x;
	flow_case t;
	size_t most;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	x = flow_numbers(&t, 100, 1000, 0);
	for (most = 1; most < 120; most++) {
		const em_batch *batch;
		em_stream *s;
		size_t at = 0;

		assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 100, NULL), EM_OK);
		assert_int_equal(em_stream_batch(s, most), EM_OK);
		while (em_stream_next(s, &batch) == EM_OK) {
			const size_t left = 100 - at;

			assert_int_equal(batch->n, left < most ? left : most);
			assert_ptr_equal(batch->records, x + at);
			at += batch->n;
			assert_int_equal(em_stream_count(s), 100 - at);
			assert_int_equal(em_stream_batch(s, 1), EM_ERR_STATE);
		}
		assert_int_equal(at, 100);
		em_stream_close(s);
	}
	free(x);
	flow_close(&t);
}

/* Records by the cursor, also behind batches. */
static void test_cursor(void **state)
{
	uint64_t *x, sum = 0, want = 0;
	const em_batch *batch;
	em_cursor *c;
	em_stream *s;
	flow_case t;
	size_t i;
	feed f;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	x = flow_numbers(&t, 1000, 1000, 0);
	s = feed_open(&f, &t, x, 1000, 8, 7);
	c = em_stream_cursor(s);
	assert_int_equal(f.calls, 0);
	for (i = 0; i < 1000; i++)
		want += x[i];
	for (; !em_stream_empty(c); em_stream_advance(c))
		sum += *(const uint64_t *)em_stream_front(c);
	assert_int_equal(c->status, EM_END);
	assert_int_equal(sum, want);
	em_stream_close(s);

	/* A batch passes over what is left of the window. */
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 10, NULL), EM_OK);
	assert_int_equal(em_stream_batch(s, 4), EM_OK);
	c = em_stream_cursor(s);
	assert_false(em_stream_empty(c));
	em_stream_advance(c);
	assert_int_equal(em_stream_count(s), 9);
	assert_int_equal(em_stream_next(s, &batch), EM_OK);
	assert_ptr_equal(batch->records, x + 4);
	assert_false(em_stream_empty(c));
	assert_ptr_equal(em_stream_front(c), x + 8);
	em_stream_close(s);
	free(x);
	flow_close(&t);
}

typedef struct counting {
	uint64_t next;
	uint64_t calls;
	uint64_t end;
	int fail;
} counting;

static int count_up(void *user, uint64_t i, void *records, size_t *n)
{
	counting *c = user;
	uint64_t *to = records;
	size_t k;

	c->calls++;
	assert_int_equal(i, c->next);
	if (c->fail && i >= c->end)
		return 7;
	if (*n > c->end - i)
		*n = (size_t)(c->end - i);
	for (k = 0; k < *n; k++)
		to[k] = i + k;
	c->next += *n;
	return 0;
}

static void test_generate(void **state)
{
	uint64_t x[3000];
	size_t i, batch;
	flow_case t;

	(void)state;
	for (i = 0; i < 3000; i++)
		x[i] = i;
	flow_open(&t, 16 * MIB, 0);
	for (batch = 0; batch < 4000; batch = batch * 2 + 1) {
		counting c = { 0, 0, 3000, 0 };
		const em_batch *b;
		em_errinfo err;
		em_stream *s;

		assert_int_equal(em_stream_generate(&s, t.ctx, 8, EM_STREAM_UNKNOWN, count_up, &c, NULL, NULL), EM_OK);
		assert_int_equal(em_stream_batch(s, batch), EM_OK);
		flow_assert(&t, s, x, 3000);
		c.next = 0;
		assert_int_equal(em_stream_generate(&s, t.ctx, 8, 100, count_up, &c, NULL, NULL), EM_OK);
		assert_int_equal(em_stream_batch(s, batch), EM_OK);
		flow_assert(&t, s, x, 100);
		c.next = c.calls = 0;
		c.end = 0;
		c.fail = 1;
		assert_int_equal(em_stream_generate(&s, t.ctx, 8, 100, count_up, &c, NULL, NULL), EM_OK);
		assert_int_equal(c.calls, 0);
		assert_int_equal(em_stream_next(s, &b), EM_ERR_USER);
		assert_int_equal(em_stream_next(s, &b), EM_ERR_USER);
		em_stream_error(s, &err);
		assert_non_null(strstr(err.text, "generates records returned 7"));
		assert_int_equal(c.calls, 1);
		em_stream_close(s);
	}
	flow_close(&t);
}

/* Files of which records lie in two reads, several of them, empty ones, and none. */
static void test_files(void **state)
{
	const size_t records[] = { 1, 8, 24, 1000, 70000 };
	char *dir = test_dir_make(), *path[3];
	const char *paths[3];
	flow_case t;
	size_t i, k;

	(void)state;
	for (k = 0; k < 3; k++) {
		char name[8];

		sprintf(name, "f%u", (unsigned)k);
		paths[k] = path[k] = test_path(dir, name);
	}
	flow_open(&t, 4 * MIB, 0);
	for (i = 0; i < sizeof records / sizeof records[0]; i++) {
		const size_t r = records[i], n = (size_t)test_below(&t.rng, 1 + 700000 / r);
		char *x = malloc(n * r + 1);
		const size_t first = n / 3;
		em_stream *s;

		assert_non_null(x);
		test_fill(&t.rng, x, n * r);
		for (k = 0; k < 3; k++) {
			FILE *file = fopen(path[k], "wb");

			assert_non_null(file);
			if (k == 0)
				assert_int_equal(fwrite(x, r, first, file), first);
			if (k == 2)
				assert_int_equal(fwrite(x + first * r, r, n - first, file), n - first);
			assert_int_equal(fclose(file), 0);
		}
		assert_int_equal(em_stream_file(&s, t.ctx, r, paths, 3, &t.err), EM_OK);
		assert_int_equal(em_stream_count(s), n);
		flow_assert(&t, s, x, n);
		/* One that is never pulled. */
		assert_int_equal(em_stream_file(&s, t.ctx, r, paths, 3, &t.err), EM_OK);
		em_stream_close(s);
		free(x);
	}
	{
		em_stream *s;
		FILE *file = fopen(path[1], "wb");

		assert_int_equal(fwrite("12345", 1, 5, file), 5);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(em_stream_file(&s, t.ctx, 8, paths, 3, &t.err), EM_ERR_FORMAT);
		assert_null(s);
		assert_string_equal(t.err.path, path[1]);
		unlink(path[1]);
		assert_int_equal(em_stream_file(&s, t.ctx, 8, paths, 3, &t.err), EM_ERR_NOENT);
		assert_string_equal(t.err.path, path[1]);
		assert_int_equal(em_stream_file(&s, t.ctx, 8, NULL, 0, &t.err), EM_OK);
		flow_assert(&t, s, NULL, 0);
	}
	flow_close(&t);
	for (k = 0; k < 3; k++)
		free(path[k]);
	test_dir_remove(dir);
}

/* A file that becomes shorter, or is gone, after the stream was made. */
static void test_file_changes(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "f");
	const char *paths[1];
	const em_batch *batch;
	em_errinfo err;
	em_stream *s;
	flow_case t;
	FILE *file;

	(void)state;
	paths[0] = path;
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite("0123456789abcdef", 1, 16, file), 16);
	assert_int_equal(fclose(file), 0);
	flow_open(&t, 4 * MIB, 0);
	assert_int_equal(em_stream_file(&s, t.ctx, 8, paths, 1, &t.err), EM_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_NOENT);
	em_stream_error(s, &err);
	assert_string_equal(err.path, path);
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_NOENT);
	em_stream_close(s);
	flow_close(&t);
	free(path);
	test_dir_remove(dir);
}

/* Whatever a stream's own function returns. */
static void test_own_failures(void **state)
{
	uint64_t x[10] = { 0 };
	const em_batch *batch;
	em_errinfo err;
	flow_case t;
	size_t at;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (at = 0; at <= 10; at++) {
		em_status st;
		em_stream *s;
		size_t n;
		feed f;

		s = feed_open(&f, &t, x, 10, 8, 3);
		f.fail_at = at;
		free(flow_drain(&t, s, SIZE_MAX, &n, &st));
		assert_int_equal(st, EM_ERR_IO);
		assert_int_equal(n, at);
		em_stream_error(s, &err);
		assert_int_equal(err.status, EM_ERR_IO);
		assert_string_equal(err.text, "the feed is torn");
		assert_int_equal(em_stream_next(s, &batch), EM_ERR_IO);
		/* A mistake after it does not hide it. */
		assert_int_equal(em_stream_next(s, NULL), EM_ERR_INVAL);
		assert_true(em_stream_empty(em_stream_cursor(s)));
		assert_int_equal(em_stream_cursor(s)->status, EM_ERR_IO);
		em_stream_error(s, &err);
		assert_string_equal(err.text, "the feed is torn");
		assert_int_equal(f.closed, 1);
		em_stream_close(s);
		assert_int_equal(f.closed, 1);

		s = feed_open(&f, &t, x, 10, 8, 3);
		f.fail_at = at;
		f.failure = EM_NOT_FOUND;
		free(flow_drain(&t, s, SIZE_MAX, &n, &st));
		assert_int_equal(st, EM_ERR_USER);
		em_stream_close(s);
	}
	flow_close(&t);
}

static em_status fail_quietly(void *user, em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	return EM_ERR_USER;
}

/* Something has been where the library will have its errinfo. */
static int dirty_stack(void)
{
	volatile char some[16 * 1024];
	size_t i;

	for (i = 0; i < sizeof some; i++)
		some[i] = 'x';
	return some[sizeof some / 2];
}

/* One that says nothing but a status. */
static void test_own_failure_without_detail(void **state)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	const em_batch *batch;
	char text[EM_ERRINFO_TEXT];
	em_errinfo err;
	em_stream *s;
	flow_case t;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	ops.next = fail_quietly;
	assert_int_equal(em_stream_open(&s, t.ctx, 8, EM_STREAM_UNKNOWN, &ops, NULL, NULL), EM_OK);
	assert_int_equal(dirty_stack(), 'x');
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_USER);
	em_stream_error(s, &err);
	snprintf(text, sizeof text, "a stream's own function: %s", em_status_text(EM_ERR_USER));
	assert_string_equal(err.text, text);
	assert_string_equal(err.op, "");
	assert_string_equal(err.path, "");
	em_stream_close(s);
	flow_close(&t);
}

static void test_mistakes(void **state)
{
	em_stream_ops ops = EM_STREAM_OPS_INIT;
	const em_batch *batch;
	uint64_t x[2] = { 1, 2 };
	flow_case t;
	em_stream *s = (em_stream *)1;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	assert_int_equal(em_stream_memory(&s, t.ctx, 0, x, 2, &t.err), EM_ERR_RANGE);
	assert_null(s);
	assert_int_equal(em_stream_memory(&s, t.ctx, EM_STREAM_RECORD_MAX + 1, x, 1, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, NULL, 2, &t.err), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "records"));
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, UINT64_MAX / 4, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_memory(NULL, t.ctx, 8, x, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_memory(&s, NULL, 8, x, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_open(&s, t.ctx, 8, 0, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_open(&s, t.ctx, 8, 0, &ops, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_generate(&s, t.ctx, 8, 0, NULL, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_file(&s, t.ctx, 8, NULL, 1, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 2, &t.err), EM_OK);
	assert_int_equal(em_stream_next(s, NULL), EM_ERR_INVAL);
	assert_int_equal(em_stream_batch(s, UINT64_MAX), EM_ERR_RANGE);
	assert_int_equal(em_stream_next(s, &batch), EM_OK);
	assert_int_equal(batch->n, 2);
	em_stream_close(s);
	flow_close(&t);
}

/* What a function of the stream's own does with the stream. */
typedef struct inner {
	em_stream *s;
	int calls;
} inner;

static int call_again(void *user, uint64_t i, void *records, size_t *n)
{
	inner *in = user;
	const em_batch *batch;
	uint64_t moved;
	em_stream *s;

	memset(records, 0, *n * 8);
	in->calls++;
	assert_int_equal(em_stream_next(in->s, &batch), EM_ERR_BUSY);
	assert_int_equal(em_cursor_refill(em_stream_cursor(in->s)), EM_ERR_BUSY);
	assert_int_equal(em_stream_batch(in->s, 1), EM_ERR_BUSY);
	assert_int_equal(em_stream_pump(in->s, NULL, &moved), EM_ERR_BUSY);
	assert_int_equal(em_stream_record_bytes(in->s), 8);
	(void)em_stream_count(in->s);
	(void)s;
	if (i != 0)
		em_stream_close(in->s);
	return 0;
}

static void test_again(void **state)
{
	const em_batch *batch;
	inner in = { NULL, 0 };
	flow_case t;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	assert_int_equal(em_stream_generate(&in.s, t.ctx, 8, EM_STREAM_UNKNOWN, call_again, &in, NULL, NULL), EM_OK);
	assert_int_equal(em_stream_next(in.s, &batch), EM_OK);
	assert_int_equal(em_stream_next(in.s, &batch), EM_OK);
	assert_int_equal(in.calls, 2);
	flow_close(&t);
}

static void test_cancel(void **state)
{
	const em_batch *batch;
	uint64_t x[10] = { 0 };
	em_stream *s;
	flow_case t;
	feed f;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	s = feed_open(&f, &t, x, 10, 8, 1);
	assert_int_equal(em_stream_next(s, &batch), EM_OK);
	em_ctx_cancel(t.ctx);
	assert_int_equal(em_stream_next(s, &batch), EM_ERR_CANCELED);
	assert_null(batch);
	assert_int_equal(f.calls, 1);
	em_stream_close(s);
	assert_int_equal(f.closed, 1);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 1, &t.err), EM_ERR_CANCELED);
	flow_close(&t);
}

/* In a child of a fork nothing works but closing. */
static void test_fork(void **state)
{
	const em_batch *batch;
	uint64_t x[10] = { 0 };
	em_stream *s;
	flow_case t;
	int status;
	pid_t pid;

	(void)state;
	if (TEST_TSAN)
		skip();
	flow_open(&t, 16 * MIB, 0);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 10, NULL), EM_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int bad = em_stream_next(s, &batch) != EM_ERR_FORK;

		bad += em_stream_record_bytes(s) != 8;
		em_stream_close(s);
		em_ctx_close(t.ctx);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	flow_assert(&t, s, x, 10);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_source),
		cmocka_unit_test(test_own_source),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_generate),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_file_changes),
		cmocka_unit_test(test_own_failures),
		cmocka_unit_test(test_own_failure_without_detail),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("flow_stream", tests, NULL, NULL);
}
