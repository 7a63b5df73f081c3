/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines_tee.c -- tees of records of any length. */
#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

typedef struct tee_case {
	flow_case t;
	char *dir, *path;
	lines_model m;
	em_stream *out[3];
} tee_case;

/* n lines in a file, of up to so many bytes, and a tee of a stream of them. */
static void tee_open(tee_case *c, size_t n, size_t longest)
{
	memset(c, 0, sizeof *c);
	flow_open(&c->t, 256 * MIB, 0);
	c->dir = test_dir_make();
	c->path = test_path(c->dir, "lines");
	lines_random(&c->t, &c->m, n, longest);
	lines_write(c->path, &c->m, 0, 1);
}

static void tee_close(tee_case *c)
{
	free(c->path);
	test_dir_remove(c->dir);
	lines_free(&c->m);
	flow_close(&c->t);
}

static em_stream *open_lines(tee_case *c)
{
	const char *path = c->path;
	em_stream *s;

	assert_int_equal(em_stream_lines(&s, c->t.ctx, &path, 1, NULL, &c->t.err), EM_OK);
	return s;
}

static void tee_off(tee_case *c, uint32_t n, uint64_t held, uint32_t flags)
{
	em_tee_opts o = EM_TEE_OPTS_INIT;
	uint32_t i;

	o.buffer_bytes = held;
	o.flags = flags;
	assert_int_equal(em_stream_tee(c->out, n, open_lines(c), &o, &c->t.err), EM_OK);
	for (i = 0; i < n; i++) {
		assert_int_equal(em_stream_record_bytes(c->out[i]), 0);
		if (test_below(&c->t.rng, 2) == 0)
			assert_int_equal(em_stream_batch(c->out[i], 1 + test_below(&c->t.rng, 700)), EM_OK);
	}
}

/* Outputs that are read by turns have all lines, whatever their lengths and how much one reads at a time. */
static void test_turns(void **unused)
{
	static const size_t count[] = { 0, 1, 2, 511, 512, 513, 3000 };
	unsigned k;

	(void)unused;
	for (k = 0; k < 42; k += test_step()) {
		const uint32_t n = 1 + k % 3;
		uint32_t over = 0, i;
		lines_model got[3];
		tee_case c;

		tee_open(&c, count[k % 7], k % 2 == 0 ? 30 : 20000);
		tee_off(&c, n, k % 4 == 3 ? 5000 : 4 * MIB, k % 4 == 3 ? EM_TEE_SPILL : 0);
		memset(got, 0, sizeof got);
		while (over != (1u << n) - 1) {
			em_status st;

			i = (uint32_t)test_below(&c.t.rng, n);
			st = lines_more(&c.t, c.out[i], &got[i], got[i].n + 1 + (size_t)test_below(&c.t.rng, 900));
			assert_true(st == EM_OK || st == EM_END);
			over |= st == EM_END ? 1u << i : 0;
		}
		for (i = 0; i < n; i++) {
			lines_assert_same(&got[i], &c.m);
			lines_free(&got[i]);
			em_stream_close(c.out[i]);
		}
		tee_close(&c);
	}
}

/* What does not fit in the buffer is told to the output that reads on, or goes to a disk. */
static void test_buffer(void **unused)
{
	em_errinfo err;
	lines_model got;
	em_status st;
	tee_case c;

	(void)unused;
	tee_open(&c, 5000, 20);
	tee_off(&c, 3, 10000, 0);
	st = lines_drain(&c.t, c.out[1], &got, SIZE_MAX);
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	/* With 8 bytes a line, and 16 for those that were read together. */
	assert_true(got.bytes + 8 * got.n <= 10000 && got.n > 200);
	em_stream_error(c.out[1], &err);
	assert_non_null(strstr(err.text, "of a tee is"));
	assert_non_null(strstr(err.text, "behind output 1"));
	assert_non_null(strstr(err.text, "10000"));
	lines_free(&got);
	em_stream_close(c.out[1]);
	em_stream_close(c.out[2]);
	lines_assert(&c.t, c.out[0], &c.m);
	/* One behind the other. */
	tee_off(&c, 3, 10000, EM_TEE_SPILL);
	lines_assert(&c.t, c.out[2], &c.m);
	lines_assert(&c.t, c.out[0], &c.m);
	lines_assert(&c.t, c.out[1], &c.m);
	tee_close(&c);
	/* A line that alone is longer than the buffer, with and without others to keep it for. */
	tee_open(&c, 0, 1);
	{
		char *line = calloc(1, 30000);

		assert_non_null(line);
		memset(line, 'x', 30000);
		lines_add(&c.m, "a", 1);
		lines_add(&c.m, line, 30000);
		lines_add(&c.m, "", 0);
		free(line);
	}
	lines_write(c.path, &c.m, 0, 1);
	tee_off(&c, 2, 10000, 0);
	st = lines_drain(&c.t, c.out[0], &got, SIZE_MAX);
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	assert_int_equal(got.n, 1);
	lines_free(&got);
	em_stream_close(c.out[0]);
	lines_assert(&c.t, c.out[1], &c.m);
	tee_off(&c, 2, 10000, EM_TEE_SPILL);
	lines_assert(&c.t, c.out[0], &c.m);
	lines_assert(&c.t, c.out[1], &c.m);
	tee_close(&c);
}

static em_order *by_line(tee_case *c)
{
	em_order *order;

	assert_int_equal(em_order_text(&order, c->t.ctx, NULL, 0, NULL, NULL), EM_OK);
	return order;
}

/* Paths that come together again are checked: how many lines there are nobody knows, so no buffer holds all. */
static void test_paths(void **unused)
{
	em_stream *s, *sorted;
	em_order *order;
	unsigned k;
	tee_case c;

	(void)unused;
	for (k = 0; k < 2; k++) {
		em_status st;

		tee_open(&c, 3000, 20);
		order = by_line(&c);
		tee_off(&c, 2, 20000, k == 1 ? EM_TEE_SPILL : 0);
		assert_int_equal(em_stream_sort(&sorted, c.out[0], order, NULL, &c.t.err), EM_OK);
		st = em_stream_set(&s, sorted, c.out[1], order, EM_SET_UNION, &c.t.err);
		if (k == 0) {
			assert_int_equal(st, EM_ERR_MEMLIMIT);
			assert_non_null(strstr(c.t.err.text, "set operation of outputs"));
			assert_non_null(strstr(c.t.err.text, "the tee holds 20000 bytes"));
			em_stream_close(sorted);
			assert_int_equal(em_stream_concat(&s, &c.out[1], 1, &c.t.err), EM_OK);
			lines_assert(&c.t, s, &c.m);
		} else {
			em_stream *both[2];

			assert_int_equal(st, EM_OK);
			em_stream_close(s);
			tee_off(&c, 2, 20000, EM_TEE_SPILL);
			assert_int_equal(em_stream_sort(&both[0], c.out[0], order, NULL, &c.t.err), EM_OK);
			assert_int_equal(em_stream_sort(&both[1], c.out[1], order, NULL, &c.t.err), EM_OK);
			/* Both have the same lines, as often: nothing is left. */
			assert_int_equal(em_stream_set(&s, both[0], both[1], order, EM_SET_SYMMETRIC, &c.t.err), EM_OK);
			lines_free(&c.m);
			lines_assert(&c.t, s, &c.m);
		}
		em_order_close(order);
		tee_close(&c);
	}
}

/* Whatever allocation fails all is given back; so it is of graphs that are canceled or closed half-way. */
static void test_failures(void **unused)
{
	uint64_t nth = 1 + test_first_of(test_sparse());
	lines_model got;
	int failed = 1;
	unsigned k;
	tee_case c;

	(void)unused;
	for (; failed; nth += test_sparse()) {
		em_tee_opts o = EM_TEE_OPTS_INIT;
		em_stream *in, *out[2];
		em_status st;
		uint32_t i;

		tee_open(&c, 2000, 3000);
		in = open_lines(&c);
		o.buffer_bytes = 5000;
		o.flags = EM_TEE_SPILL;
		c.t.mem.fail_at = c.t.mem.calls + nth;
		if (em_stream_tee(out, 2, in, &o, &c.t.err) != EM_OK) {
			assert_int_equal(c.t.err.status, EM_ERR_NOMEM);
			em_stream_close(in);
			out[0] = out[1] = NULL;
		}
		for (i = 0; i < 2; i++) {
			st = out[i] != NULL ? lines_drain(&c.t, out[i], &got, SIZE_MAX) : EM_END;
			assert_true(st == EM_END || st == EM_ERR_NOMEM);
			if (out[i] != NULL && st == EM_END)
				lines_assert_same(&got, &c.m);
			if (out[i] != NULL)
				lines_free(&got);
		}
		failed = test_memory_failed(&c.t.mem);
		c.t.mem.fail_at = 0;
		em_stream_close(out[0]);
		em_stream_close(out[1]);
		tee_close(&c);
	}
	for (k = 0; k < 8; k++) {
		tee_open(&c, 3000, 2000);
		tee_off(&c, 3, 4 * MIB, k % 4 < 2 ? EM_TEE_SPILL : 0);
		if (k % 2 == 0) {
			assert_int_equal(lines_drain(&c.t, c.out[k % 3], &got, 500), EM_OK);
			lines_free(&got);
		}
		em_stream_close(c.out[0]);
		if (k >= 4) {
			em_ctx_cancel(c.t.ctx);
			assert_int_equal(lines_drain(&c.t, c.out[2], &got, SIZE_MAX), EM_ERR_CANCELED);
			lines_free(&got);
		}
		em_stream_close(c.out[2]);
		em_stream_close(c.out[1]);
		tee_close(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests_name("flow_lines_tee", tests, NULL, NULL);
}
