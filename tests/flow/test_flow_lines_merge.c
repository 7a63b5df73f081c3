/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines_merge.c -- merges of records of any length, and one record for equal ones, against models. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "flow/lines.h"
#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

enum { INPUTS = 7 };

/* Sorted files, and how they are sorted. */
typedef struct merge_case {
	flow_case t;
	char *dir, *path[INPUTS];
	lines_model m[INPUTS];
	em_order *whole;        /* files are sorted by all of a line, ... */
	em_order *order;        /* ... and merged by that, or by its first bytes */
	uint32_t n;
} merge_case;

/* kind: 0: by all of a line; 1: by its first byte; 2: by its first two bytes, and then all of it. */
static void merge_open(merge_case *c, uint32_t n, size_t lines, size_t longest, unsigned kind)
{
	em_text_key key = EM_TEXT_KEY_INIT;
	em_text_opts o = EM_TEXT_OPTS_INIT;
	uint32_t i;

	memset(c, 0, sizeof *c);
	/* Each file takes five. */
	flow_open(&c->t, 64 * MIB, 0);
	c->dir = test_dir_make();
	c->n = n;
	assert_int_equal(em_order_text(&c->whole, c->t.ctx, NULL, 0, NULL, NULL), EM_OK);
	key.last_field = 1;
	key.last_char = kind;
	o.flags = kind == 1 ? EM_TEXT_KEYS_ONLY : 0;
	assert_int_equal(em_order_text(&c->order, c->t.ctx, &key, kind != 0, &o, NULL), EM_OK);
	for (i = 0; i < n; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		c->path[i] = test_path(c->dir, name);
		lines_sorted(&c->t, c->whole, test_below(&c->t.rng, 6) == 0 ? 0 : test_below(&c->t.rng, lines + 1),
			     longest, c->path[i], &c->m[i]);
	}
}

static void merge_close(merge_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		lines_free(&c->m[i]);
		free(c->path[i]);
	}
	em_order_close(c->order);
	em_order_close(c->whole);
	test_dir_remove(c->dir);
	flow_close(&c->t);
}

static em_stream *open_one(merge_case *c, uint32_t i)
{
	const char *path = c->path[i];
	em_stream *in;

	assert_int_equal(em_stream_lines(&in, c->t.ctx, &path, 1, NULL, &c->t.err), EM_OK);
	if (test_below(&c->t.rng, 2) == 0)
		assert_int_equal(em_stream_batch(in, 1 + test_below(&c->t.rng, 30)), EM_OK);
	return in;
}

static void open_all(merge_case *c, em_stream **in)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		in[i] = open_one(c, i);
}

static int compare(const merge_case *c, const char *a, size_t na, const char *b, size_t nb)
{
	int result;

	assert_int_equal(em_text_compare(c->order, a, na, b, nb, &result), EM_OK);
	return result;
}

/* The least of the next lines, and of equal ones that of the first input; from: how many of each were lent before. */
static void expect_merge(const merge_case *c, const size_t *from, lines_model *want)
{
	size_t at[INPUTS], bytes, least_bytes;
	const char *line, *least;
	uint32_t i, which;

	memcpy(at, from, sizeof at);
	memset(want, 0, sizeof *want);
	do {
		least = NULL;
		least_bytes = 0;
		which = 0;
		for (i = 0; i < c->n; i++) {
			if (at[i] == c->m[i].n)
				continue;
			line = lines_at(&c->m[i], at[i], &bytes);
			if (least != NULL && compare(c, line, bytes, least, least_bytes) >= 0)
				continue;
			least = line;
			least_bytes = bytes;
			which = i;
		}
		if (least != NULL)
			lines_add(want, least, least_bytes);
		at[which] += least != NULL;
	} while (least != NULL);
}

/* Any number of inputs, also of none or few lines, of long ones, by keys and by all of a line; inputs that were read
 * before. */
static void test_merges(void **unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < 120; i += test_step()) {
		static const size_t lines[] = { 1, 30, 300, 3000 };
		size_t from[INPUTS] = { 0 };
		em_stream *in[INPUTS], *s;
		lines_model want, before;
		merge_case c;
		uint32_t k;

		merge_open(&c, 1 + i % INPUTS, lines[i / 3 % 4], i % 5 == 0 ? 40000 : 1 + i % 6, i % 3);
		open_all(&c, in);
		for (k = 0; k < c.n && i % 4 == 0; k++) {
			(void)lines_drain(&c.t, in[k], &before, (size_t)test_below(&c.t.rng, 20));
			from[k] = before.n;
			lines_free(&before);
		}
		s = in[0];
		assert_int_equal(em_stream_merge(&s, in, c.n, c.order, &c.t.err), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
		if (i % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 600)), EM_OK);
		expect_merge(&c, from, &want);
		lines_assert(&c.t, s, &want);
		lines_free(&want);
		merge_close(&c);
	}
}

static void add_group(lines_model *want, const char *line, size_t bytes, uint64_t n, int counted)
{
	char *text = malloc(bytes + 32);
	size_t head = 0;

	assert_non_null(text);
	if (counted)
		head = (size_t)snprintf(text, 32, "%" PRIu64 "\t", n);
	memcpy(text + head, line, bytes);
	lines_add(want, text, head + bytes);
	free(text);
}

/* Neighbours that are equal to the first of them. */
static void expect_unique(const merge_case *c, const lines_model *m, int counted, lines_model *want)
{
	size_t i, k, bytes, other;

	memset(want, 0, sizeof *want);
	for (i = 0; i < m->n; i = k) {
		const char *line = lines_at(m, i, &bytes);

		for (k = i + 1; k < m->n; k++) {
			const char *next = lines_at(m, k, &other);

			if (compare(c, next, other, line, bytes) != 0)
				break;
		}
		add_group(want, line, bytes, k - i, counted);
	}
}

static em_status make_unique(merge_case *c, em_stream **s, int counted)
{
	return em_stream_unique(s, *s, c->order, counted ? EM_UNIQUE_COUNT : 0, &c->t.err);
}

/* Of one file, and of several that are merged; groups of one line and of many, and of long lines. */
static void test_unique(void **unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < 120; i += test_step()) {
		static const size_t lines[] = { 1, 30, 300, 3000 };
		const size_t from[INPUTS] = { 0 };
		const int counted = i / 4 % 2;
		em_stream *in[INPUTS], *s;
		lines_model merged, want;
		merge_case c;

		merge_open(&c, i % 2 == 0 ? 1 : 3, lines[i % 4], i % 5 == 0 ? 40000 : 1 + i % 4, i / 2 % 3);
		open_all(&c, in);
		expect_merge(&c, from, &merged);
		assert_int_equal(em_stream_merge(&s, in, c.n, c.order, &c.t.err), EM_OK);
		if (i % 3 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 9)), EM_OK);
		assert_int_equal(make_unique(&c, &s, counted), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
		if (i % 3 == 1)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 600)), EM_OK);
		expect_unique(&c, &merged, counted, &want);
		lines_assert(&c.t, s, &want);
		lines_free(&merged);
		lines_free(&want);
		merge_close(&c);
	}
}

typedef struct failing {
	uint64_t seen, most;
} failing;

static int fail_later(void *user, const em_batch *lines)
{
	failing *f = user;

	f->seen += lines->n;
	return f->seen > f->most ? 9 : 0;
}

typedef struct adder {
	uint64_t calls, fail_at;
	size_t most;            /* bytes of a sum */
	int freed;
} adder;

/* Of a sum and what is added as many bytes as are wanted. */
static size_t some_of(const adder *a, size_t have, size_t bytes)
{
	return bytes < a->most - have ? bytes : a->most - have;
}

/* Lines one behind the other, up to so many bytes. */
static int append(void *user, const em_batch *lines, em_line *sum)
{
	adder *a = user;
	const char *text = lines->records;
	size_t have = 0, i;
	uint64_t begin = 0;

	assert_true(lines->n >= 2 && lines->n <= 512);
	assert_int_equal(lines->bytes, lines->ends[lines->n - 1]);
	if (++a->calls == a->fail_at)
		return 4;
	for (i = 0; i < lines->n; begin = lines->ends[i++]) {
		const size_t some = some_of(a, have, (size_t)(lines->ends[i] - begin));

		/* What a node cannot have memory for it says itself. */
		(void)!em_line_put(sum, text + begin, some);
		have += some;
	}
	assert_int_equal(em_line_put(sum, NULL, 1), EM_ERR_INVAL);
	return 0;
}

static void free_adder(void *user)
{
	((adder *)user)->freed++;
}

static void expect_sums(const merge_case *c, const lines_model *m, const adder *a, lines_model *want)
{
	size_t i, k, bytes, other;

	memset(want, 0, sizeof *want);
	for (i = 0; i < m->n; i = k) {
		const char *first = lines_at(m, i, &bytes);
		char *sum = malloc(bytes + a->most + 1);
		size_t have = bytes < a->most ? bytes : a->most;

		assert_non_null(sum);
		memcpy(sum, first, bytes);
		for (k = i + 1; k < m->n; k++) {
			const char *line = lines_at(m, k, &other);
			size_t some;

			if (compare(c, line, other, first, bytes) != 0)
				break;
			some = some_of(a, have, other);
			memcpy(sum + have, line, some);
			have += some;
		}
		/* One alone is as it was. */
		lines_add(want, sum, k == i + 1 ? bytes : have);
		free(sum);
	}
}

/* Sums that grow, and are short; of groups of any size, and of long lines; and functions that fail. */
static void test_sums(void **unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < 100; i += test_step()) {
		static const size_t lines[] = { 1, 30, 300, 3000 }, most[] = { 0, 5, 3000, 40000 };
		const size_t from[INPUTS] = { 0 };
		adder a = { 0, i % 7 == 6 ? 1 + i / 7 % 3 : 0, most[i / 4 % 4], 0 };
		em_stream *in[INPUTS], *s;
		lines_model merged, want, got;
		em_errinfo err;
		em_status st;
		merge_case c;
		size_t k;

		merge_open(&c, 2, lines[i % 4], i % 5 == 0 ? 40000 : 1 + i % 4, i % 3);
		open_all(&c, in);
		expect_merge(&c, from, &merged);
		expect_sums(&c, &merged, &a, &want);
		assert_int_equal(em_stream_merge(&s, in, c.n, c.order, &c.t.err), EM_OK);
		if (i % 3 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 9)), EM_OK);
		assert_int_equal(em_stream_lines_reduce(&s, s, c.order, append, &a, free_adder, &c.t.err), EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		if (i % 3 == 1)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 600)), EM_OK);
		st = lines_drain(&c.t, s, &got, SIZE_MAX);
		em_stream_error(s, &err);
		if (a.fail_at != 0 && a.calls >= a.fail_at) {
			assert_int_equal(st, EM_ERR_USER);
			assert_non_null(strstr(err.text, "adds up records returned 4"));
			assert_true(got.n <= want.n);
			for (k = 0; k < got.n; k++)
				assert_int_equal(got.ends[k], want.ends[k]);
		} else {
			assert_int_equal(st, EM_END);
			lines_assert_same(&got, &want);
		}
		assert_int_equal(a.freed, 0);
		em_stream_close(s);
		assert_int_equal(a.freed, 1);
		lines_free(&merged);
		lines_free(&want);
		lines_free(&got);
		merge_close(&c);
	}
}

/* got is how want begins. */
static void assert_begins(const lines_model *got, const lines_model *want)
{
	size_t i;

	assert_true(got->n <= want->n);
	for (i = 0; i < got->n; i++)
		assert_int_equal(got->ends[i], want->ends[i]);
	if (got->bytes != 0)
		assert_memory_equal(got->text, want->text, got->bytes);
}

/* An input that fails behind some lines; graphs that are canceled, or closed half-way. */
static void test_failures(void **unused)
{
	const size_t from[INPUTS] = { 0 };
	unsigned i;

	(void)unused;
	for (i = 0; i < 60; i += test_step()) {
		const int counted = i % 4 == 3;
		failing f = { 0, 0 };
		em_stream *in[INPUTS], *s;
		lines_model merged, want, got;
		em_errinfo err;
		em_status st;
		merge_case c;
		uint32_t k;

		merge_open(&c, 4, 200, 20, i % 3);
		open_all(&c, in);
		expect_merge(&c, from, &merged);
		k = (uint32_t)test_below(&c.t.rng, c.n);
		f.most = i % 5 == 0 ? SIZE_MAX : test_below(&c.t.rng, c.m[k].n + 1);
		assert_int_equal(em_stream_lines_inspect(&in[k], in[k], fail_later, &f, NULL, NULL), EM_OK);
		assert_int_equal(em_stream_batch(in[k], 1 + test_below(&c.t.rng, 5)), EM_OK);
		assert_int_equal(em_stream_merge(&s, in, c.n, c.order, &c.t.err), EM_OK);
		if (i % 2 == 1)
			assert_int_equal(make_unique(&c, &s, counted), EM_OK);
		assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 50)), EM_OK);
		expect_unique(&c, &merged, counted, &want);
		st = lines_drain(&c.t, s, &got, i % 5 == 1 ? 10 : SIZE_MAX);
		em_stream_error(s, &err);
		/* What comes before a failure is right; and so all of it is. */
		assert_begins(&got, i % 2 == 1 ? &want : &merged);
		if (st == EM_END) {
			lines_assert_same(&got, i % 2 == 1 ? &want : &merged);
		} else if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_USER);
			assert_non_null(strstr(err.text, "returned 9"));
			assert_true(f.most < c.m[k].n);
		} else {
			const em_batch *batch;

			em_ctx_cancel(c.t.ctx);
			while ((st = em_stream_next(s, &batch)) == EM_OK)
				continue;
			assert_true(st == EM_ERR_CANCELED || st == EM_ERR_USER || st == EM_END);
		}
		em_stream_close(s);
		lines_free(&merged);
		lines_free(&want);
		lines_free(&got);
		merge_close(&c);
	}
}

enum { FEW = 30 };

/* A source that lends a few lines at a time, or fails in a way that changes nothing, at first anyway. */
typedef struct hesitant {
	em_stream s;
	int pulled;
	test_rng *rng;
	const lines_model *m;
	size_t at;
	unsigned *failed;
	uint64_t ends[FEW];
} hesitant;

static em_status hesitate(em_stream *s, em_errinfo *err)
{
	hesitant *h = (hesitant *)(void *)s;
	const uint64_t begin = h->at != 0 ? h->m->ends[h->at - 1] : 0;
	size_t n = 1 + (size_t)test_below(h->rng, FEW), i;

	if (!h->pulled || test_below(h->rng, 2) == 0) {
		h->pulled = 1;
		++*h->failed;
		s->mild = 1;
		return emi_fail(err, EM_ERR_BUSY, "the source hesitates");
	}
	if (h->at == h->m->n)
		return EM_END;
	n = n < h->m->n - h->at ? n : h->m->n - h->at;
	for (i = 0; i < n; i++)
		h->ends[i] = h->m->ends[h->at++] - begin;
	emi_lines_show(s, h->m->text + begin, h->ends, n);
	return EM_OK;
}

static em_stream *hesitant_open(merge_case *c, uint32_t i, unsigned *failed)
{
	static const emi_stream_kind kind = { hesitate, NULL, "hesitant", 0 };
	em_stream *s = emi_stream_new(c->t.ctx, sizeof(hesitant), &kind, sizeof(uint64_t), NULL, 0, EM_STREAM_UNKNOWN,
				      &c->t.err), *out;
	hesitant *h = (hesitant *)(void *)s;

	assert_non_null(s);
	emi_stream_vary(s);
	h->rng = &c->t.rng;
	h->m = &c->m[i];
	h->failed = failed;
	emi_stream_made(s, &out);
	return out;
}

/* What comes is the same if inputs were not to be had now and then, and it was pulled again. */
static void test_pulled_again(void **unused)
{
	const size_t from[INPUTS] = { 0 };
	unsigned i, failed = 0;

	(void)unused;
	for (i = 0; i < 30; i += test_step()) {
		const int counted = i / 2 % 2;
		em_stream *in[INPUTS], *s;
		lines_model merged, want, got = { 0 };
		const em_batch *b;
		merge_case c;
		em_status st;
		uint32_t k;

		merge_open(&c, 1 + i % 4, 200, 10, i % 3);
		for (k = 0; k < c.n; k++)
			in[k] = hesitant_open(&c, k, &failed);
		expect_merge(&c, from, &merged);
		expect_unique(&c, &merged, counted, &want);
		assert_int_equal(em_stream_merge(&s, in, c.n, c.order, &c.t.err), EM_OK);
		if (i % 2 == 0)
			assert_int_equal(make_unique(&c, &s, counted), EM_OK);
		assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 50)), EM_OK);
		while ((st = em_stream_next(s, &b)) == EM_OK || st == EM_ERR_BUSY) {
			uint64_t begin = 0;
			size_t n;

			for (n = 0; st == EM_OK && n < b->n; begin = b->ends[n++])
				lines_add(&got, (const char *)b->records + begin, (size_t)(b->ends[n] - begin));
		}
		assert_int_equal(st, EM_END);
		lines_assert_same(&got, i % 2 == 0 ? &want : &merged);
		em_stream_close(s);
		lines_free(&merged);
		lines_free(&want);
		lines_free(&got);
		merge_close(&c);
	}
	assert_true(failed > 0);
}

/* Whatever allocation fails: nothing is wrong, and all is given back. */
static void test_memory_fails(void **unused)
{
	const size_t from[INPUTS] = { 0 };
	uint64_t nth = 1 + test_first_of(test_sparse());
	int failed = 1;

	(void)unused;
	for (; failed; nth += test_sparse()) {
		const int adds = nth % 3 == 0;
		adder a = { 0, 0, 30000, 0 };
		em_stream *in[INPUTS], *s;
		lines_model merged, want, got = { 0 };
		em_status st;
		merge_case c;
		uint32_t i;

		merge_open(&c, 3, 100, nth % 2 == 0 ? 60000 : 10, (unsigned)(nth / 6 % 3));
		open_all(&c, in);
		expect_merge(&c, from, &merged);
		if (adds)
			expect_sums(&c, &merged, &a, &want);
		else
			expect_unique(&c, &merged, 1, &want);
		c.t.mem.fail_at = c.t.mem.calls + nth;
		st = em_stream_merge(&s, in, c.n, c.order, &c.t.err);
		for (i = 0; i < c.n && st != EM_OK; i++)
			em_stream_close(in[i]);
		if (st == EM_OK && adds)
			st = em_stream_lines_reduce(&s, s, c.order, append, &a, free_adder, &c.t.err);
		else if (st == EM_OK)
			st = make_unique(&c, &s, 1);
		if (st == EM_OK)
			st = lines_drain(&c.t, s, &got, SIZE_MAX);
		failed = test_memory_failed(&c.t.mem);
		c.t.mem.fail_at = 0;
		assert_true(st == EM_END || (st == EM_ERR_NOMEM && failed));
		assert_begins(&got, &want);
		if (st == EM_END)
			lines_assert_same(&got, &want);
		em_stream_close(s);
		lines_free(&merged);
		lines_free(&want);
		lines_free(&got);
		merge_close(&c);
	}
}

/* What is told of a merge before it is pulled; both outputs of a tee; and what is refused, which stays as it is. */
static void test_graph(void **unused)
{
	const uint64_t numbers[2] = { 1, 2 };
	const size_t from[INPUTS] = { 0 };
	em_stream_graph_info info = EM_STREAM_GRAPH_INFO_INIT;
	em_stream *in[INPUTS], *out[2], *both[2], *sized, *s;
	em_order *number, *foreign;
	lines_model want;
	flow_case other;
	merge_case c;

	(void)unused;
	merge_open(&c, 2, 100, 10, 0);
	flow_open(&other, 32 * MIB, 0);
	number = flow_order(&c.t, 8);
	assert_int_equal(em_order_text(&foreign, other.ctx, NULL, 0, NULL, NULL), EM_OK);
	open_all(&c, in);
	assert_int_equal(em_stream_memory(&sized, c.t.ctx, 8, numbers, 2, NULL), EM_OK);
	both[0] = in[0];
	both[1] = sized;
	assert_int_equal(em_stream_merge(&s, both, 2, c.order, &c.t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_merge(&s, both, 2, number, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "any length"));
	assert_int_equal(em_stream_merge(&s, in, 2, foreign, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_merge(&s, in, 2, NULL, &c.t.err), EM_ERR_INVAL);
	both[1] = in[0];
	assert_int_equal(em_stream_merge(&s, both, 2, c.order, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], number, 0, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], foreign, 0, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], NULL, 0, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, NULL, c.order, 0, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_unique(&s, in[0], c.order, EM_UNIQUE_PRESORTED, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_reduce(&s, in[0], number, append, NULL, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_reduce(&s, in[0], c.order, NULL, NULL, NULL, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_stream_lines_reduce(&s, sized, number, append, NULL, NULL, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "8 bytes each"));
	assert_int_equal(em_stream_tee(out, 2, in[0], NULL, &c.t.err), EM_OK);
	both[0] = out[0];
	both[1] = out[1];
	assert_int_equal(em_stream_merge(&s, both, 2, c.order, &c.t.err), EM_OK);
	assert_int_equal(em_stream_graph_info_get(s, &info), EM_OK);
	assert_true(info.claimed >= 2 * 16384);
	assert_int_equal(make_unique(&c, &s, 1), EM_OK);
	/* Each line comes twice from each place. */
	lines_free(&c.m[1]);
	{
		size_t i, bytes;

		for (i = 0; i < c.m[0].n; i++) {
			const char *line = lines_at(&c.m[0], i, &bytes);

			lines_add(&c.m[1], line, bytes);
		}
	}
	{
		lines_model merged;

		expect_merge(&c, from, &merged);
		expect_unique(&c, &merged, 1, &want);
		lines_free(&merged);
	}
	lines_assert(&c.t, s, &want);
	lines_free(&want);
	em_stream_close(in[1]);
	flow_assert(&c.t, sized, numbers, 2);
	em_order_close(number);
	em_order_close(foreign);
	flow_close(&other);
	merge_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merges),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_pulled_again),
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_graph),
	};

	return cmocka_run_group_tests_name("flow_lines_merge", tests, NULL, NULL);
}
