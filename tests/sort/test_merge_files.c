/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_files.c -- merging files of records of any length that are sorted already.  For records of one size there is
 * test_merge_fixed.c.
 *
 * What must come out is what sorting all their records stably gives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define MOST_INPUTS 64u
#define MIB ((uint64_t)1 << 20)

/* Input files, and what their merge is. */
typedef struct merge_case {
	char *dir, *out;
	char *path[MOST_INPUTS];
	uint32_t n;
	lines all;              /* header first */
	em_errinfo err;
	em_sort_stats stats;
} merge_case;

static merge_case case_make(void)
{
	merge_case c;

	memset(&c, 0, sizeof(c));
	c.dir = test_dir_make();
	c.out = test_path(c.dir, "out");
	return c;
}

/* A file of records: the first `header' of them stay in front, the others are sorted. */
static void case_add(merge_case *c, const em_order *order, lines *l, size_t header, const em_format *f, int cut)
{
	char name[32];
	size_t i, n;

	assert_true(c->n < MOST_INPUTS);
	lines_sort(order, l, header < l->n ? header : l->n, 0);
	snprintf(name, sizeof(name), "in%02u", (unsigned)c->n);
	c->path[c->n] = test_path(c->dir, name);
	lines_write(c->path[c->n], l, 0, l->n, f, cut);
	c->n++;
	for (i = 0; i < l->n; i++) {
		const unsigned char *record = lines_at(l, i, &n);

		lines_add(&c->all, record, n);
	}
	lines_free(l);
}

static em_status case_merge(merge_case *c, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	const char *paths[MOST_INPUTS];
	em_sort_opts o = *opts;
	uint32_t i;

	for (i = 0; i < c->n; i++)
		paths[i] = c->path[i];
	memset(&c->err, 0, sizeof(c->err));
	memset(&c->stats, 0, sizeof(c->stats));
	c->stats.size = sizeof(c->stats);
	o.errinfo = &c->err;
	return em_merge_files(ctx, order, paths, c->n, c->out, &o, &c->stats);
}

static void case_assert(merge_case *c, const em_order *order, const em_sort_opts *opts, size_t header)
{
	const int unique = (opts->flags & EM_SORT_UNIQUE) != 0;
	const em_format lines_fmt = EM_FORMAT_INIT;
	size_t in = c->all.n - header, bytes;
	unsigned char *text;

	lines_sort(order, &c->all, header, unique);
	text = lines_text(&c->all, 0, c->all.n, opts->format != NULL ? opts->format : &lines_fmt, 0, &bytes);
	sort_assert_file(c->out, text, bytes);
	free(text);
	assert_int_equal(c->stats.records_in, in);
	assert_int_equal(c->stats.records_out, c->all.n - header);
}

static void case_free(merge_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		free(c->path[i]);
	lines_free(&c->all);
	free(c->out);
	test_dir_remove(c->dir);
}

static em_ctx *make_ctx(uint64_t memory, uint32_t fds, uint32_t threads)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.fds = fds;
	o.threads = threads;
	return sort_ctx(&o);
}

static void random_case(test_rng *rng, em_ctx *ctx, uint32_t fan_in, int which)
{
	const em_format format = lines_format((int)test_below(rng, LINES_FORMATS));
	em_order *order = lines_order(ctx, which);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	merge_case c = case_make();
	const uint32_t n = 1 + (uint32_t)test_below(rng, 12);
	const size_t header = test_below(rng, 3) == 0 ? (size_t)test_below(rng, 5) : 0;
	size_t kept = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		static const size_t sizes[] = { 0, 1, 2, 60, 400, 1500 };
		lines l = { 0 };

		lines_add_random(&l, rng, (int)test_below(rng, LINES_STYLES), sizes[test_below(rng, 6)]);
		if (i == 0)
			kept = header < l.n ? header : l.n;
		case_add(&c, order, &l, i == 0 ? kept : 0, &format, (int)test_below(rng, 2));
	}
	opts.flags = test_below(rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
	opts.fan_in = fan_in;
	opts.format = &format;
	opts.header = header;
	opts.block_bytes = test_below(rng, 2) != 0 ? 8192 : 0;
	if (case_merge(&c, ctx, order, &opts) != EM_OK)
		fail_msg("%s", c.err.text);
	case_assert(&c, order, &opts, kept);
	assert_true(c.stats.fan_in <= (fan_in != 0 && fan_in < n ? fan_in : n));
	assert_true(fan_in == 0 || fan_in >= n ? c.stats.passes == 1 && c.stats.runs == 0 : c.stats.passes > 1);
	case_free(&c);
	em_order_close(order);
}

static void test_orders(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 72; i++) {
		static const uint32_t fan_ins[] = { 0, 2, 3, 5 };
		em_ctx *ctx = make_ctx(i % 2 == 0 ? 4 * MIB : 64 * MIB, 0, 1 + (uint32_t)i % 3 / 2);

		random_case(&rng, ctx, fan_ins[i % 4], i % LINES_ORDERS);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		em_ctx_close(ctx);
	}
}

/* Forty inputs with a handful of descriptors; what was open is closed again. */
static void test_few_descriptors(void **state)
{
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(32 * MIB, 8, 2);
	em_order *order = lines_order(ctx, 0);
	merge_case c = case_make();
	const unsigned before = sort_open_fds();
	int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		lines l = { 0 };

		lines_add_random(&l, &rng, LINES_ANY, 50);
		case_add(&c, order, &l, 0, &format, 0);
	}
	if (case_merge(&c, ctx, order, &opts) != EM_OK)
		fail_msg("%s", c.err.text);
	case_assert(&c, order, &opts, 0);
	/* The output and the scratch file take two. */
	assert_true(c.stats.fan_in <= 7);
	assert_int_equal(c.stats.runs, 7);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_true(sort_open_fds() <= before);
}

/* An output that is one of the inputs, and an input that is there twice. */
static void test_same_file(void **state)
{
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	merge_case c = case_make();
	size_t i, n, half;
	lines l = { 0 };

	(void)state;
	lines_add_random(&l, &rng, LINES_ANY, 500);
	case_add(&c, order, &l, 0, &format, 1);
	half = c.all.n;
	for (i = 0; i < half; i++) {
		unsigned char copy[128];
		const unsigned char *record = lines_at(&c.all, i, &n);

		memcpy(copy, record, n);
		lines_add(&c.all, copy, n);
	}
	c.path[1] = test_path(c.dir, "in00");
	c.n = 2;
	free(c.out);
	c.out = test_path(c.dir, "in00");
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_OK);
	case_assert(&c, order, &opts, 0);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

static int by_bytes(const void *a, const void *b)
{
	const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

	return strcmp((const char *)x, (const char *)y);
}

/* Lines of a text, sorted, in place; their number. */
static size_t cut_lines(unsigned char *text, size_t bytes, const unsigned char **line)
{
	size_t n = 0, i, begin = 0;

	for (i = 0; i < bytes; i++)
		if (text[i] == '\n') {
			text[i] = '\0';
			line[n++] = text + begin;
			begin = i + 1;
		}
	qsort(line, n, sizeof(*line), by_bytes);
	return n;
}

/* Inputs that are not in order: all records come out, in some order. */
static void test_unsorted(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 12; round++) {
		em_ctx *ctx = make_ctx(8 * MIB, 0, 1 + (uint32_t)round % 2);
		em_order *order = lines_order(ctx, round % LINES_ORDERS);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		const em_format format = lines_format(0);
		merge_case c = case_make();
		const unsigned char **line;
		unsigned char *got, *want;
		size_t bytes, want_bytes, i, n;

		for (c.n = 0; c.n < 7; c.n++) {
			const size_t first = c.all.n;
			char name[32];

			lines_add_random(&c.all, &rng, (int)test_below(&rng, LINES_STYLES), 1000);
			snprintf(name, sizeof(name), "in%u", (unsigned)c.n);
			c.path[c.n] = test_path(c.dir, name);
			lines_write(c.path[c.n], &c.all, first, c.all.n, &format, 0);
		}
		opts.fan_in = round % 3 == 0 ? 0 : 2;
		opts.block_bytes = 8192;
		if (case_merge(&c, ctx, order, &opts) != EM_OK)
			fail_msg("%s", c.err.text);
		got = sort_read_file(c.out, &bytes);
		want = lines_text(&c.all, 0, c.all.n, &format, 0, &want_bytes);
		assert_int_equal(bytes, want_bytes);
		line = malloc(2 * c.all.n * sizeof(*line));
		assert_non_null(line);
		n = cut_lines(got, bytes, line);
		assert_int_equal(n, c.all.n);
		assert_int_equal(cut_lines(want, bytes, line + n), n);
		for (i = 0; i < n; i++)
			assert_string_equal((const char *)line[i], (const char *)line[n + i]);
		free(line);
		free(got);
		free(want);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* Records as long as they may be, in memory that is small, and longer ones. */
static void test_long(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		em_ctx *ctx = make_ctx(4 * MIB, 0, 1);
		em_order *order = lines_order(ctx, round % 4 == 3 ? 2 : round % 4 == 2 ? 4 : 0);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		const em_format format = lines_format(round % 4 == 1 ? 4 : 0);
		const size_t most = 4 * MIB / 32, over = round < 12 ? 0 : most;
		unsigned char *record = malloc(2 * most);
		merge_case c = case_make();
		em_status st;
		int i;

		assert_non_null(record);
		memset(record, 'b', 2 * most);
		for (i = 0; i < 3; i++) {
			lines l = { 0 };

			lines_add_random(&l, &rng, LINES_ANY, 100);
			record[0] = (unsigned char)('a' + i);
			lines_add(&l, record, most * 7 / 8 - (size_t)test_below(&rng, most / 8));
			lines_add(&l, record, most * 3 / 8);
			record[most / 8] = 'a';
			lines_add(&l, record, most / 4);
			if (i == 2)
				lines_add(&l, record, most / 2 + over);
			case_add(&c, order, &l, 0, &format, 0);
		}
		free(record);
		opts.fan_in = round % 8 < 4 ? 0 : 2;
		opts.format = &format;
		opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		/* Keys of whole lines take as much again. */
		st = case_merge(&c, ctx, order, &opts);
		if (over == 0 && round % 4 != 3) {
			if (st != EM_OK)
				fail_msg("%s", c.err.text);
			case_assert(&c, order, &opts, 0);
		} else if (over != 0) {
			assert_int_equal(st, EM_ERR_FORMAT);
			assert_non_null(strstr(c.err.text, c.path[2]));
			assert_int_equal(access(c.out, F_OK), -1);
		}
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* More long records at a time than there is memory for. */
static void test_many_long(void **state)
{
	em_ctx *ctx = make_ctx(24 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const em_format format = lines_format(0);
	const size_t bytes = 24 * MIB / 32 * 7 / 8;
	unsigned char *record = malloc(bytes);
	merge_case c = case_make();
	int i;

	(void)state;
	assert_non_null(record);
	memset(record, 'a', bytes);
	for (i = 0; i < 30; i++) {
		lines l = { 0 };

		record[3] = (unsigned char)('z' - i % 4);
		lines_add(&l, record, bytes - (size_t)i);
		case_add(&c, order, &l, 0, &format, 0);
	}
	free(record);
	if (case_merge(&c, ctx, order, &opts) != EM_OK)
		fail_msg("%s", c.err.text);
	case_assert(&c, order, &opts, 0);
	/* All at once, which descriptors and short records would permit, was too much. */
	assert_true(c.stats.fan_in <= 15);
	assert_true(c.stats.runs >= 2);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

static int cancel_first(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	unsigned *calls = user;

	(void)phase;
	assert_true(total == 0 || done <= total);
	return ++*calls == 1;
}

static void test_refused(void **state)
{
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	merge_case c = case_make();
	lines l = { 0 };

	(void)state;
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_INVAL);
	lines_add_random(&l, &rng, LINES_ANY, 10);
	case_add(&c, order, &l, 0, &format, 0);
	c.path[1] = test_path(c.dir, "is-not-there");
	c.n = 2;
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_NOENT);
	assert_non_null(strstr(c.err.text, "is-not-there"));
	assert_int_equal(access(c.out, F_OK), -1);
	free(c.path[1]);
	c.path[1] = test_path(c.dir, ".");
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_INVAL);
	c.n = 1;
	opts.fan_in = 1;
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_INVAL);
	opts.fan_in = 0;
	c.stats.size = 0;
	assert_int_equal(em_merge_files(NULL, order, (const char *const[]){ "x" }, 1, c.out, &opts, NULL), EM_ERR_INVAL);
	c.n = 2;
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

static void test_too_little(void **state)
{
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, 0);
	merge_case c = case_make();
	int i, done = 0;

	(void)state;
	for (i = 0; i < 12; i++) {
		lines l = { 0 };

		lines_add_random(&l, &rng, LINES_ANY, 200);
		case_add(&c, order, &l, 0, &format, 0);
	}
	/* Whatever the memory: it is enough, or there is a message. */
	for (opts.memory = 32 << 10; opts.memory < 8 * MIB; opts.memory += opts.memory / 4) {
		const em_status st = case_merge(&c, ctx, order, &opts);

		if (st != EM_OK && (st != EM_ERR_MEMLIMIT || done))
			fail_msg("%u bytes: %s", (unsigned)opts.memory, c.err.text);
		done |= st == EM_OK;
	}
	assert_true(done);
	case_assert(&c, order, &opts, 0);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* A merge of five inputs, three at a time, with what may go wrong. */
typedef struct trial {
	merge_case c;
	const em_backend *inner;
	test_memory mem;
	em_fault fault;
	em_progress_fn progress;
	unsigned calls;
	uint32_t flags;
	int which;
	unsigned char *expected;
	size_t expected_bytes;
} trial;

static em_status attempt(trial *t)
{
	const char *const dirs[] = { t->c.dir };
	em_ctx_opts o = sort_ctx_opts();
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	const unsigned fds = sort_open_fds();
	em_order *order = NULL;
	em_errinfo err;
	em_status st;
	em_ctx *ctx;
	uint32_t i;

	memset(&err, 0, sizeof(err));
	o.memory = 8 * MIB;
	o.allocator = &t->mem.allocator;
	o.backend = NULL;
	o.custom = em_fault_backend(&t->fault);
	o.direct = EM_DIRECT_OFF;
	o.threads = 2;
	o.dirs = dirs;
	o.ndirs = 1;
	o.errinfo = &err;
	st = em_ctx_open(&ctx, &o);
	if (st == EM_OK) {
		em_text_key key;
		em_text_opts text = EM_TEXT_OPTS_INIT;

		assert_int_equal(em_text_key_parse(&key, NULL, "2", NULL), EM_OK);
		st = em_order_text(&order, ctx, &key, t->which == 0 ? 0 : 1, &text, &err);
		opts.fan_in = 3;
		opts.block_bytes = 8192;
		opts.flags = t->flags;
		opts.progress = t->progress;
		opts.progress_user = &t->calls;
		if (st == EM_OK)
			st = case_merge(&t->c, ctx, order, &opts);
		if (order != NULL && st != EM_OK)
			assert_int_equal(t->c.err.status, st);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	test_memory_assert_clean(&t->mem);
	assert_int_equal(sort_open_fds(), fds);
	if (st == EM_OK)
		sort_assert_file(t->c.out, t->expected, t->expected_bytes);
	else
		assert_int_equal(access(t->c.out, F_OK), -1);
	unlink(t->c.out);
	for (i = 0; i < t->c.n; i++)
		assert_int_equal(access(t->c.path[i], F_OK), 0);
	return st;
}

static void trial_init(trial *t, int which, uint32_t flags)
{
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = lines_order(ctx, which);
	int i;

	memset(t, 0, sizeof(*t));
	t->c = case_make();
	t->which = which;
	t->flags = flags;
	for (i = 0; i < 5; i++) {
		lines l = { 0 };

		lines_add_random(&l, &rng, LINES_ANY, 700);
		case_add(&t->c, order, &l, 0, &format, 0);
	}
	lines_sort(order, &t->c.all, 0, (flags & EM_SORT_UNIQUE) != 0);
	t->expected = lines_text(&t->c.all, 0, t->c.all.n, &format, 0, &t->expected_bytes);
	em_order_close(order);
	em_ctx_close(ctx);
	t->inner = em_backend_find("syscall");
	test_memory_init(&t->mem, 0);
	em_fault_init(&t->fault, t->inner);
}

static void trial_free(trial *t)
{
	free(t->expected);
	case_free(&t->c);
}

static void test_allocations(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 3; round++) {
		uint64_t nth;
		trial t;

		trial_init(&t, round == 0 ? 0 : 2, round == 2 ? EM_SORT_UNIQUE : 0);
		for (nth = 1;; nth++) {
			em_status st;

			test_memory_init(&t.mem, nth);
			em_fault_init(&t.fault, t.inner);
			st = attempt(&t);
			if (!test_memory_failed(&t.mem)) {
				assert_int_equal(st, EM_OK);
				break;
			}
			if (st != EM_ERR_NOMEM && st != EM_OK)
				fail_msg("allocation %u fails: %s", (unsigned)nth, em_status_name(st));
		}
		assert_true(nth > 50);
		trial_free(&t);
	}
}

static void test_faults(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_OPEN, EM_FAULT_RESIZE, EM_FAULT_READ, EM_FAULT_WRITE };
	static const int kinds[] = { EIO, 0, EINTR };
	size_t op, kind;
	uint64_t nth;
	trial t;

	(void)state;
	trial_init(&t, 2, 0);
	for (op = 0; op < 4; op++)
		for (kind = 0; kind < 3; kind++)
			for (nth = 1;; nth++) {
				em_status st;

				test_memory_init(&t.mem, 0);
				em_fault_init(&t.fault, t.inner);
				t.fault.ops = ops[op];
				t.fault.nth = nth;
				t.fault.sys_errno = kinds[kind];
				st = attempt(&t);
				if (t.fault.injected == 0) {
					assert_int_equal(st, EM_OK);
					break;
				}
				assert_int_equal(st, kinds[kind] == EIO ? EM_ERR_IO : EM_OK);
			}
	trial_free(&t);
}

/* Opening takes longer than the progress function waits to be called. */
static int slow_open(void *user, em_backend_open *how)
{
	const em_backend *be = user;

	usleep(150000);
	return be->open(be->user, how);
}

static void test_cancel(void **state)
{
	em_backend slow;
	trial t;

	(void)state;
	trial_init(&t, 0, 0);
	slow = *t.inner;
	slow.user = (void *)(uintptr_t)t.inner;
	slow.open = slow_open;
	em_fault_init(&t.fault, &slow);
	t.progress = cancel_first;
	assert_int_equal(attempt(&t), EM_ERR_CANCELED);
	assert_int_equal(t.calls, 1);
	trial_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),	     cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_same_file),    cmocka_unit_test(test_unsorted),
		cmocka_unit_test(test_long),	     cmocka_unit_test(test_many_long),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_little),   cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_faults),	     cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
