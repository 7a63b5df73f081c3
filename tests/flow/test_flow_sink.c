/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_sink.c -- sinks, and pumping streams to them. */
#include <stdio.h>
#include <unistd.h>

#include "flow/flow_case.h"

#define MIB ((uint64_t)1 << 20)

/* A sink of the test's own. */
typedef struct drain {
	em_sink *k;
	uint64_t *to;
	size_t n;
	size_t fail_at;         /* it fails when it has so many; SIZE_MAX: never */
	em_status failure;
	int finished, closed;
	int fail_finish;
} drain;

static em_status drain_push(void *user, const em_batch *batch, em_errinfo *err)
{
	drain *d = user;

	assert_true(batch->n > 0 && batch->bytes == 8 * batch->n && batch->ends == NULL);
	assert_int_equal(em_sink_push(d->k, batch->records, 1), EM_ERR_BUSY);
	assert_int_equal(em_sink_finish(d->k), EM_ERR_BUSY);
	if (d->n + batch->n > d->fail_at) {
		if (d->failure == EM_ERR_IO)
			strcpy(err->text, "the drain is stopped up");
		return d->failure;
	}
	memcpy(d->to + d->n, batch->records, batch->bytes);
	d->n += batch->n;
	return EM_OK;
}

static em_status drain_finish(void *user, em_errinfo *err)
{
	drain *d = user;

	(void)err;
	d->finished++;
	return d->fail_finish ? EM_ERR_NOSPACE : EM_OK;
}

static void drain_close(void *user)
{
	((drain *)user)->closed++;
}

static void drain_open(drain *d, flow_case *t, uint64_t *to)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;

	memset(d, 0, sizeof *d);
	d->to = to;
	d->fail_at = SIZE_MAX;
	d->failure = EM_ERR_IO;
	ops.push = drain_push;
	ops.finish = drain_finish;
	ops.close = drain_close;
	assert_int_equal(em_sink_open(&d->k, t->ctx, 8, &ops, d, &t->err), EM_OK);
}

static void test_own(void **state)
{
	uint64_t *x, to[300], moved;
	em_errinfo err;
	flow_case t;
	size_t n;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (n = 0; n < 300; n += 1 + n / 2) {
		em_stream *s;
		drain d;
		feed f;

		x = flow_numbers(&t, n, UINT64_MAX, 0);
		drain_open(&d, &t, to);
		assert_int_equal(em_sink_record_bytes(d.k), 8);
		s = feed_open(&f, &t, x, n, 8, 17);
		assert_int_equal(em_stream_pump(s, d.k, &moved), EM_OK);
		assert_int_equal(moved, n);
		assert_int_equal(em_sink_count(d.k), n);
		assert_int_equal(d.n, n);
		assert_memory_equal(to, x, n * 8);
		assert_int_equal(em_sink_push(d.k, NULL, 0), EM_OK);
		assert_int_equal(em_sink_push(d.k, NULL, 1), EM_ERR_INVAL);
		assert_int_equal(d.finished, 0);
		assert_int_equal(em_sink_finish(d.k), EM_OK);
		assert_int_equal(em_sink_finish(d.k), EM_ERR_STATE);
		assert_int_equal(em_sink_push(d.k, x, 1), EM_ERR_STATE);
		assert_int_equal(d.finished, 1);
		em_stream_close(s);
		em_sink_close(d.k);
		assert_int_equal(d.closed, 1);
		free(x);
	}
	/* Failures of either end, which stay. */
	x = flow_numbers(&t, 100, 10, 0);
	for (n = 0; n < 100; n += 9) {
		em_stream *s;
		drain d;
		feed f;

		drain_open(&d, &t, to);
		d.fail_at = n;
		s = feed_open(&f, &t, x, 100, 8, 5);
		assert_int_equal(em_stream_pump(s, d.k, &moved), EM_ERR_IO);
		assert_true(moved <= n && moved == d.n && moved == em_sink_count(d.k));
		em_stream_error(s, &err);
		assert_string_equal(err.text, "the drain is stopped up");
		em_sink_error(d.k, &err);
		assert_string_equal(err.text, "the drain is stopped up");
		assert_int_equal(em_sink_push(d.k, x, 1), EM_ERR_IO);
		assert_int_equal(em_sink_finish(d.k), EM_ERR_IO);
		/* The stream is well, and has what the sink did not take. */
		flow_assert(&t, s, x + moved, 100 - (size_t)moved);
		em_sink_close(d.k);

		drain_open(&d, &t, to);
		d.fail_finish = 1;
		s = feed_open(&f, &t, x, 100, 8, 5);
		f.fail_at = n;
		assert_int_equal(em_stream_pump(s, d.k, &moved), EM_ERR_IO);
		assert_int_equal(moved, n);
		em_stream_error(s, &err);
		assert_string_equal(err.text, "the feed is torn");
		assert_int_equal(em_sink_push(d.k, x, 1), EM_OK);
		assert_int_equal(em_sink_finish(d.k), EM_ERR_NOSPACE);
		assert_int_equal(em_sink_finish(d.k), EM_ERR_NOSPACE);
		em_stream_close(s);
		em_sink_close(d.k);
	}
	free(x);
	flow_close(&t);
}

static em_status fails_plainly(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)batch;
	/* Nothing of it is filled, as it came from the library: not even what was there for another failure. */
	assert_int_equal(err->text[0], 0);
	assert_int_equal(err->status, EM_OK);
	return *(const em_status *)user;
}

static em_status finish_fails_plainly(void *user, em_errinfo *err)
{
	return fails_plainly(user, NULL, err);
}

/* A function that fails without a detail has one all the same, which says whose failure it is. */
static void test_no_detail(void **state)
{
	static const em_status failures[] = { EM_ERR_NOSPACE, EM_ERR_USER, EM_ERR_CANCELED, EM_END, 7 };
	uint64_t x[3] = { 1, 2, 3 };
	unsigned i, end;
	flow_case t;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (i = 0; i < sizeof failures / sizeof *failures; i++) {
		for (end = 0; end < 2; end++) {
			const em_status want = failures[i] > EM_OK ? (em_status)EM_ERR_USER : failures[i];
			em_sink_ops ops = EM_SINK_OPS_INIT;
			em_status failure = end ? EM_OK : failures[i];
			em_errinfo err;
			em_sink *k;

			ops.push = fails_plainly;
			ops.finish = finish_fails_plainly;
			assert_int_equal(em_sink_open(&k, t.ctx, 8, &ops, &failure, &t.err), EM_OK);
			/* A mistake before it leaves a detail. */
			assert_int_equal(em_sink_push(k, NULL, 1), EM_ERR_INVAL);
			assert_int_equal(em_sink_push(k, x, 3), end ? EM_OK : want);
			failure = failures[i];
			assert_int_equal(em_sink_finish(k), want);
			em_sink_error(k, &err);
			assert_int_equal(err.status, want);
			assert_non_null(strstr(err.text, "a sink's own function"));
			assert_non_null(strstr(err.text, failures[i] > EM_OK ? "no failure" : em_status_text(want)));
			em_sink_close(k);
		}
	}
	flow_close(&t);
}

static void test_memory_and_discard(void **state)
{
	uint64_t *x, to[100], moved;
	em_stream *s;
	flow_case t;
	em_sink *k;
	size_t room;
	feed f;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	x = flow_numbers(&t, 100, UINT64_MAX, 0);
	for (room = 0; room <= 100; room += 20) {
		s = feed_open(&f, &t, x, 100, 8, 7);
		memset(to, 0, sizeof to);
		assert_int_equal(em_sink_memory(&k, t.ctx, 8, to, room, NULL), EM_OK);
		assert_int_equal(em_stream_pump(s, k, &moved), room < 100 ? EM_ERR_NOSPACE : EM_OK);
		assert_int_equal(moved, room);
		assert_int_equal(em_sink_count(k), room);
		assert_memory_equal(to, x, room * 8);
		assert_true(room == 100 || to[room] == 0);
		em_sink_close(k);
		flow_assert(&t, s, x + room, 100 - room);
	}
	s = feed_open(&f, &t, x, 100, 8, 7);
	assert_int_equal(em_sink_discard(&k, t.ctx, 8, NULL), EM_OK);
	assert_int_equal(em_stream_pump(s, k, NULL), EM_OK);
	assert_int_equal(em_sink_count(k), 100);
	assert_int_equal(em_sink_finish(k), EM_OK);
	em_sink_close(k);
	em_stream_close(s);
	/* What is in the window of a cursor is pumped, too. */
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 100, NULL), EM_OK);
	assert_false(em_stream_empty(em_stream_cursor(s)));
	em_stream_advance(em_stream_cursor(s));
	assert_int_equal(em_sink_memory(&k, t.ctx, 8, to, 100, NULL), EM_OK);
	assert_int_equal(em_stream_pump(s, k, &moved), EM_OK);
	assert_int_equal(moved, 99);
	assert_memory_equal(to, x + 1, 99 * 8);
	em_sink_close(k);
	em_stream_close(s);
	free(x);
	flow_close(&t);
}

/* What a file has, for free(). */
static char *contents(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *all = malloc(1 << 20);

	assert_non_null(file);
	assert_non_null(all);
	*bytes = fread(all, 1, 1 << 20, file);
	assert_int_equal(fclose(file), 0);
	return all;
}

static void test_file(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "f"), *none = test_path(dir, "no/f"), *all;
	uint64_t *x;
	em_errinfo err;
	em_stream *s;
	flow_case t;
	em_sink *k;
	size_t n, bytes;
	feed f;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	for (n = 0; n < 100000; n = n * 7 + 1) {
		x = flow_numbers(&t, n, UINT64_MAX, 0);
		s = feed_open(&f, &t, x, n, 8, 3000);
		assert_int_equal(em_sink_file(&k, t.ctx, 8, path, &t.err), EM_OK);
		assert_int_not_equal(access(path, F_OK), 0);
		assert_int_equal(em_stream_pump(s, k, NULL), EM_OK);
		assert_int_not_equal(access(path, F_OK), 0);
		assert_int_equal(em_sink_finish(k), EM_OK);
		em_sink_close(k);
		em_stream_close(s);
		all = contents(path, &bytes);
		assert_int_equal(bytes, n * 8);
		assert_memory_equal(all, x, bytes);
		free(all);
		assert_int_equal(unlink(path), 0);
		/* Without finish there is nothing. */
		assert_int_equal(em_sink_file(&k, t.ctx, 8, path, &t.err), EM_OK);
		assert_int_equal(em_sink_push(k, x, n), EM_OK);
		em_sink_close(k);
		assert_dir_empty(dir);
		free(x);
	}
	assert_int_equal(em_sink_file(&k, t.ctx, 8, none, &t.err), EM_OK);
	assert_int_equal(em_sink_push(k, &n, 1), EM_ERR_NOENT);
	em_sink_error(k, &err);
	assert_non_null(strstr(err.path, "no"));
	em_sink_close(k);
	flow_close(&t);
	free(none);
	free(path);
	test_dir_remove(dir);
}

static void test_mistakes(void **state)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;
	uint64_t x[2] = { 1, 2 }, moved = 7;
	em_stream *s;
	flow_case t;
	em_sink *k;

	(void)state;
	flow_open(&t, 16 * MIB, 0);
	assert_int_equal(em_sink_open(&k, t.ctx, 8, &ops, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_open(&k, t.ctx, 8, NULL, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_discard(&k, t.ctx, 0, &t.err), EM_ERR_RANGE);
	assert_int_equal(em_sink_discard(&k, NULL, 8, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_memory(&k, t.ctx, 8, NULL, 2, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_file(&k, t.ctx, 8, NULL, &t.err), EM_ERR_INVAL);
	assert_int_equal(em_sink_discard(&k, t.ctx, 4, &t.err), EM_OK);
	assert_int_equal(em_stream_memory(&s, t.ctx, 8, x, 2, &t.err), EM_OK);
	assert_int_equal(em_stream_pump(s, k, &moved), EM_ERR_INVAL);
	assert_int_equal(moved, 0);
	assert_int_equal(em_stream_pump(s, NULL, &moved), EM_ERR_INVAL);
	flow_assert(&t, s, x, 2);
	assert_int_equal(em_sink_push(k, x, UINT64_MAX / 2), EM_ERR_INVAL);
	assert_int_equal(em_sink_push(k, x, 2), EM_OK);
	em_ctx_cancel(t.ctx);
	assert_int_equal(em_sink_push(k, x, 2), EM_ERR_CANCELED);
	em_sink_close(k);
	flow_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_no_detail),
		cmocka_unit_test(test_memory_and_discard),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("flow_sink", tests, NULL, NULL);
}
