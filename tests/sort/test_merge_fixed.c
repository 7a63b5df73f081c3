/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_fixed.c -- merging files of records of one size that are sorted already: merge_files.c.
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
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "sort/sort_model.h"

#define MOST_INPUTS 64u
#define MIB ((uint64_t)1 << 20)

/* Input files, and all their records. */
typedef struct merge_case {
	sort_shape shape;
	char *dir, *out;
	char *path[MOST_INPUTS];
	uint32_t n;
	unsigned char *all;
	uint64_t records;
	em_errinfo err;
	em_sort_stats stats;
} merge_case;

static merge_case case_make(const sort_shape *shape)
{
	merge_case c;

	memset(&c, 0, sizeof(c));
	c.shape = *shape;
	c.dir = test_dir_make();
	c.out = test_path(c.dir, "out");
	return c;
}

/* A file of records, sorted or as they come. */
static void case_add(merge_case *c, test_rng *rng, sort_pattern pattern, uint64_t records, int sorted)
{
	unsigned char *r = sort_records(rng, &c->shape, pattern, records);
	const size_t bytes = (size_t)records * c->shape.bytes, before = (size_t)c->records * c->shape.bytes;
	char name[32];

	assert_true(c->n < MOST_INPUTS);
	if (sorted) {
		uint64_t all = records;
		unsigned char *in_order = sort_expected(&c->shape, r, &all, 0);

		free(r);
		r = in_order;
	}
	snprintf(name, sizeof(name), "in%02u", (unsigned)c->n);
	c->path[c->n] = test_path(c->dir, name);
	sort_write_file(c->path[c->n++], r, bytes);
	c->all = realloc(c->all, before + bytes + 1);
	assert_non_null(c->all);
	memcpy(c->all + before, r, bytes);
	c->records += records;
	free(r);
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

static void case_assert(const merge_case *c, const em_sort_opts *opts)
{
	uint64_t n = c->records;
	unsigned char *expected = sort_expected(&c->shape, c->all, &n, (opts->flags & EM_SORT_UNIQUE) != 0);

	sort_assert_file(c->out, expected, (size_t)n * c->shape.bytes);
	free(expected);
	assert_int_equal(c->stats.records_in, c->records);
	assert_int_equal(c->stats.records_out, n);
}

static void case_free(merge_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		free(c->path[i]);
	free(c->all);
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

/* Shapes of every kind of element: see key/order.h. */
#define SHAPES 8
static sort_shape shape_of(int which)
{
	switch (which) {
	case 0:
		return sort_shape_of(EM_KEY_U32, 0, 0, 4);
	case 1:
		return sort_shape_of(EM_KEY_U64, 0, 0, 8);
	case 2:
		return sort_shape_of(EM_KEY_I64, 0, EM_KEY_DESCENDING, 16);
	case 3:
		return sort_shape_of(EM_KEY_BYTES, 10, 0, 100);
	case 4:
		return sort_shape_of(EM_KEY_U16, 0, EM_KEY_BIG_ENDIAN, 3);
	case 5:
		return sort_shape_of(EM_KEY_F64, 0, 0, 24);
	case 6:
		return sort_shape_of(EM_KEY_BYTES, 4099, 0, 5000);
	default:
		return sort_shape_of(EM_KEY_U8, 0, 0, 1);
	}
}

static int compare(const void *a, const void *b, void *user)
{
	return sort_compare(user, a, b);
}

/* By keys, or by a function. */
static em_order *make_order(em_ctx *ctx, sort_shape *shape, int by_function)
{
	em_order *order;

	if (!by_function)
		return sort_order(ctx, shape);
	assert_int_equal(em_order_cmp(&order, ctx, shape->bytes, "model", compare, shape, NULL, NULL), EM_OK);
	return order;
}

static void random_case(test_rng *rng, em_ctx *ctx, uint32_t fan_in, int which)
{
	static const uint64_t sizes[] = { 0, 1, 2, 60, 700, 3000 };
	sort_shape shape = shape_of(which);
	em_order *order = make_order(ctx, &shape, test_below(rng, 4) == 0);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	merge_case c = case_make(&shape);
	const uint32_t n = 1 + (uint32_t)test_below(rng, 12);
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint64_t records = sizes[test_below(rng, 6)];

		case_add(&c, rng, (sort_pattern)test_below(rng, SORT_PATTERNS), records < 400000 / shape.bytes ? records : 9, 1);
	}
	opts.flags = test_below(rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
	opts.fan_in = fan_in;
	opts.block_bytes = test_below(rng, 2) != 0 ? 8192 : 0;
	if (case_merge(&c, ctx, order, &opts) != EM_OK)
		fail_msg("%s", c.err.text);
	case_assert(&c, &opts);
	assert_true(c.stats.fan_in <= (fan_in != 0 && fan_in < n ? fan_in : n));
	assert_true(fan_in == 0 || fan_in >= n ? c.stats.passes == 1 && c.stats.runs == 0 : c.stats.passes > 1);
	case_free(&c);
	em_order_close(order);
}

static void test_shapes(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 96; i++) {
		static const uint32_t fan_ins[] = { 0, 2, 3, 5 };
		em_ctx *ctx = make_ctx(i % 2 == 0 ? 4 * MIB : 64 * MIB, 0, 1 + (uint32_t)i % 3 / 2);

		random_case(&rng, ctx, fan_ins[(i / SHAPES) % 4], i % SHAPES);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		em_ctx_close(ctx);
	}
}

/* Forty inputs with a handful of descriptors; what was open is closed again. */
static void test_few_descriptors(void **state)
{
	const sort_shape shape = shape_of(2);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(32 * MIB, 8, 2);
	em_order *order = sort_order(ctx, &shape);
	merge_case c = case_make(&shape);
	const unsigned before = sort_open_fds();
	int i;

	(void)state;
	for (i = 0; i < 40; i++)
		case_add(&c, &rng, SORT_FEW, 200, 1);
	if (case_merge(&c, ctx, order, &opts) != EM_OK)
		fail_msg("%s", c.err.text);
	case_assert(&c, &opts);
	/* The output and the scratch file take two. */
	assert_true(c.stats.fan_in <= 7);
	assert_int_equal(c.stats.runs, 7);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
	assert_true(sort_open_fds() <= before);
}

/* An output that is one of the inputs. */
static void test_same_file(void **state)
{
	const sort_shape shape = shape_of(3);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = sort_order(ctx, &shape);
	merge_case c = case_make(&shape);
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		case_add(&c, &rng, SORT_RANDOM, 1000, 1);
	free(c.out);
	c.out = test_path(c.dir, "in01");
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_OK);
	case_assert(&c, &opts);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* Somebody who reads a pipe to its end. */
typedef struct reader {
	const char *path;
	unsigned char *data;
	size_t bytes, room;
} reader;

static void *read_all(void *arg)
{
	reader *r = arg;
	const int fd = open(r->path, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, r->data + r->bytes, r->room - r->bytes)) > 0)
		r->bytes += (size_t)n;
	close(fd);
	return NULL;
}

/* To and from pipes, in one pass and in several. */
static void test_pipe(void **state)
{
	const sort_shape shape = shape_of(1);
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 2; round++) {
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
		em_order *order = sort_order(ctx, &shape);
		merge_case c = case_make(&shape);
		unsigned char *expected;
		uint64_t n;
		pthread_t thread;
		reader r;
		int i;

		for (i = 0; i < 5; i++)
			case_add(&c, &rng, SORT_RANDOM, 20000, 1);
		assert_int_equal(mkfifo(c.out, 0600), 0);
		memset(&r, 0, sizeof(r));
		r.path = c.out;
		r.room = (size_t)c.records * 8 + 1;
		r.data = malloc(r.room);
		assert_non_null(r.data);
		assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
		opts.fan_in = round == 0 ? 0 : 2;
		if (case_merge(&c, ctx, order, &opts) != EM_OK)
			fail_msg("%s", c.err.text);
		pthread_join(thread, NULL);
		n = c.records;
		expected = sort_expected(&shape, c.all, &n, 0);
		assert_int_equal(r.bytes, n * 8);
		assert_memory_equal(r.data, expected, r.bytes);
		assert_int_equal(c.stats.records_out, n);
		free(expected);
		free(r.data);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

static size_t sorted_bytes;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sorted_bytes);
}

/* Inputs that are not in order: all records come out, in some order. */
static void test_unsorted(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 2 * SHAPES; round++) {
		em_ctx *ctx = make_ctx(8 * MIB, 0, 1 + (uint32_t)round % 2);
		sort_shape shape = shape_of(round % SHAPES);
		em_order *order = make_order(ctx, &shape, round % 3 == 2);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		merge_case c = case_make(&shape);
		unsigned char *got;
		size_t bytes;
		int i;

		for (i = 0; i < 7; i++)
			case_add(&c, &rng, SORT_RANDOM, 50000 / shape.bytes % 5000, 0);
		opts.fan_in = round % 3 == 0 ? 0 : 2;
		opts.block_bytes = 8192;
		if (case_merge(&c, ctx, order, &opts) != EM_OK)
			fail_msg("%s", c.err.text);
		got = sort_read_file(c.out, &bytes);
		assert_int_equal(bytes, c.records * shape.bytes);
		sorted_bytes = shape.bytes;
		qsort(got, (size_t)c.records, shape.bytes, by_bytes);
		qsort(c.all, (size_t)c.records, shape.bytes, by_bytes);
		assert_memory_equal(got, c.all, bytes);
		free(got);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* Records that are larger than what is usually read or written at a time. */
static void test_large_records(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 6; round++) {
		const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, round % 2 == 0 ? 100000 : 70001);
		em_ctx *ctx = make_ctx(round < 4 ? 64 * MIB : 8 * MIB, 0, 1);
		em_order *order = sort_order(ctx, &shape);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		merge_case c = case_make(&shape);
		int i;

		for (i = 0; i < 5; i++)
			case_add(&c, &rng, SORT_FEW, 6 + (uint64_t)i, 1);
		opts.fan_in = round % 4 < 2 ? 0 : 2;
		opts.flags = round == 5 ? EM_SORT_UNIQUE : 0;
		if (case_merge(&c, ctx, order, &opts) != EM_OK)
			fail_msg("%s", c.err.text);
		case_assert(&c, &opts);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

static int fail_later(const void *a, const void *b, void *user)
{
	unsigned *calls = user;

	return ++*calls > 500 ? EM_CMP_ERROR : memcmp(a, b, 16);
}

static void test_refused(void **state)
{
	const em_format format = EM_FORMAT_INIT;
	const sort_shape shape = shape_of(2);
	test_rng rng = test_rng_make(test_seed());
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
	em_order *order = sort_order(ctx, &shape), *failing;
	merge_case c = case_make(&shape);
	unsigned calls = 0;
	FILE *f;

	(void)state;
	case_add(&c, &rng, SORT_RANDOM, 1000, 1);
	case_add(&c, &rng, SORT_RANDOM, 1000, 1);
	opts.format = &format;
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_INVAL);
	opts.format = NULL;
	opts.fan_in = 1;
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_INVAL);
	opts.fan_in = 0;
	assert_int_equal(em_order_cmp(&failing, ctx, 16, "failing", fail_later, &calls, NULL, NULL), EM_OK);
	assert_int_equal(case_merge(&c, ctx, failing, &opts), EM_ERR_USER);
	em_order_close(failing);
	assert_int_equal(access(c.out, F_OK), -1);
	f = fopen(c.path[1], "ab");
	assert_non_null(f);
	assert_int_equal(fputc('x', f), 'x');
	assert_int_equal(fclose(f), 0);
	assert_int_equal(case_merge(&c, ctx, order, &opts), EM_ERR_FORMAT);
	assert_non_null(strstr(c.err.text, c.path[1]));
	assert_int_equal(access(c.out, F_OK), -1);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* Whatever the share of the context's memory: it is enough, and no more is used, or there is a message. */
static void test_too_little(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int which;

	(void)state;
	for (which = 0; which < 3; which++) {
		const sort_shape shape = which == 0 ? shape_of(2) : which == 1 ? shape_of(3) : sort_shape_of(EM_KEY_U64, 0, 0, 20000);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		merge_case c = case_make(&shape);
		int i, done = 0;

		opts.flags = which == 1 ? EM_SORT_UNIQUE : 0;
		for (i = 0; i < 12; i++)
			case_add(&c, &rng, SORT_RANDOM, which < 2 ? 200 : 5, 1);
		for (opts.memory = 32 << 10; opts.memory < 8 * MIB; opts.memory += opts.memory / 4) {
			em_ctx *ctx = make_ctx(16 * MIB, 0, 1);
			em_order *order = sort_order(ctx, &shape);
			const uint64_t before = em_ctx_memory_used(ctx);
			const em_status st = case_merge(&c, ctx, order, &opts);

			if (st != EM_OK && (st != EM_ERR_MEMLIMIT || done))
				fail_msg("%u bytes: %s", (unsigned)opts.memory, c.err.text);
			if (st == EM_OK) {
				case_assert(&c, &opts);
				assert_true(em_ctx_memory_peak(ctx) <= before + opts.memory);
			}
			done |= st == EM_OK;
			em_order_close(order);
			em_ctx_close(ctx);
		}
		assert_true(done);
		case_free(&c);
	}
}

/* A merge of five inputs, three at a time, with what may go wrong. */
typedef struct trial {
	merge_case c;
	const em_backend *inner;
	test_memory mem;
	em_fault fault;
	uint32_t flags;
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
	opts.fan_in = 3;
	opts.block_bytes = 8192;
	opts.flags = t->flags;
	st = em_ctx_open(&ctx, &o);
	if (st == EM_OK) {
		st = em_order_keys(&order, ctx, t->c.shape.bytes, t->c.shape.key, t->c.shape.keys, &err);
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
		case_assert(&t->c, &opts);
	else
		assert_int_equal(access(t->c.out, F_OK), -1);
	unlink(t->c.out);
	return st;
}

static void trial_init(trial *t, int which, uint32_t flags)
{
	const sort_shape shape = shape_of(which);
	test_rng rng = test_rng_make(test_seed());
	int i;

	memset(t, 0, sizeof(*t));
	t->c = case_make(&shape);
	t->flags = flags;
	for (i = 0; i < 5; i++)
		case_add(&t->c, &rng, i % 2 == 0 ? SORT_RANDOM : SORT_FEW, 700, 1);
	t->inner = em_backend_find("syscall");
	test_memory_init(&t->mem, 0);
	em_fault_init(&t->fault, t->inner);
}

static void test_allocations(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 3; round++) {
		uint64_t nth;
		trial t;

		trial_init(&t, round == 0 ? 2 : 3, round == 2 ? EM_SORT_UNIQUE : 0);
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
		case_free(&t.c);
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
	case_free(&t.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	      cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_same_file),     cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_unsorted),      cmocka_unit_test(test_large_records),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_allocations),   cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests_name("merge_fixed", tests, NULL, NULL);
}
