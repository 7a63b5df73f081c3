/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_unique.c -- one record of each group of equal ones, with counts and limits.
 *
 * What must come out follows from the sorted records: that of records of one size from those of sort_model.h, that of records of any
 * length from those of lines_model.h.
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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define MOST_INPUTS 16u
#define MIB ((uint64_t)1 << 20)

/* Bytes that grow. */
typedef struct bytes {
	unsigned char *data;
	size_t n, room;
} bytes;

static void append(bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->room) {
		b->room = 2 * b->room + n + 1024;
		b->data = realloc(b->data, b->room);
		assert_non_null(b->data);
	}
	if (n != 0)
		memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void append_number(bytes *b, uint64_t x, uint32_t width, int big)
{
	unsigned char byte;
	uint32_t i;

	for (i = 0; i < width; i++) {
		byte = (unsigned char)(x >> 8 * (big ? width - 1 - i : i));
		append(b, &byte, 1);
	}
}

/* Inputs, and what they have together: records of one size, or of any length. */
typedef struct unique_case {
	char *dir, *out;
	char *path[MOST_INPUTS];
	uint32_t n;
	sort_shape shape;
	unsigned char *records;
	uint64_t n_records;
	lines all;
	size_t header;
	em_format format;
	em_sort_opts sort;
	em_unique_opts opts;
	em_errinfo err;
	em_sort_stats stats;
} unique_case;

static void case_init(unique_case *c)
{
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	const em_unique_opts opts = EM_UNIQUE_OPTS_INIT;

	memset(c, 0, sizeof(*c));
	c->dir = test_dir_make();
	c->out = test_path(c->dir, "out");
	c->sort = sort;
	c->opts = opts;
	c->format = lines_format(0);
}

static void case_free(unique_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		free(c->path[i]);
	free(c->records);
	lines_free(&c->all);
	free(c->out);
	test_dir_remove(c->dir);
}

static const char *next_path(unique_case *c)
{
	char name[16];

	assert_true(c->n < MOST_INPUTS);
	snprintf(name, sizeof(name), "in%02u", (unsigned)c->n);
	c->path[c->n] = test_path(c->dir, name);
	return c->path[c->n++];
}

/* An input of records of one size, in order if sorted. */
static void add_records(unique_case *c, test_rng *rng, sort_pattern pattern, uint64_t n, int sorted)
{
	const size_t size = c->shape.bytes, before = (size_t)c->n_records * size;
	unsigned char *r = sort_records(rng, &c->shape, pattern, n), *in_order;

	if (sorted) {
		in_order = sort_expected(&c->shape, r, &n, 0);
		free(r);
		r = in_order;
	}
	sort_write_file(next_path(c), r, (size_t)n * size);
	c->records = realloc(c->records, before + (size_t)n * size + 1);
	assert_non_null(c->records);
	memcpy(c->records + before, r, (size_t)n * size);
	c->n_records += n;
	free(r);
}

/* An input of records of any length; the header is that of the first input. */
static void add_lines(unique_case *c, const em_order *order, lines *l, int sorted, int cut)
{
	const size_t header = c->n == 0 && c->sort.header != 0 ? (c->sort.header < l->n ? (size_t)c->sort.header : l->n) : 0;

	if (sorted)
		lines_sort(order, l, header, 0);
	lines_write(next_path(c), l, 0, l->n, &c->format, cut);
	if (c->n == 1)
		c->header = header;
	lines_append(&c->all, l, 0, l->n);
	lines_free(l);
}

static em_status case_run(unique_case *c, em_ctx *ctx, const em_order *order)
{
	const char *paths[MOST_INPUTS];
	uint32_t i;

	for (i = 0; i < c->n; i++)
		paths[i] = c->path[i];
	memset(&c->err, 0, sizeof(c->err));
	memset(&c->stats, 0, sizeof(c->stats));
	c->stats.size = sizeof(c->stats);
	c->sort.errinfo = &c->err;
	c->opts.sort = &c->sort;
	return em_unique_files(ctx, order, paths, c->n, c->out, &c->opts, &c->stats);
}

static int is_wanted(const unique_case *c, uint64_t count)
{
	return count >= c->opts.min_count && (c->opts.max_count == 0 || count <= c->opts.max_count);
}

/* What must come out of sorted records of one size; returns the number of groups. */
static uint64_t expect_records(const unique_case *c, const unsigned char *sorted, bytes *out)
{
	const size_t size = c->shape.bytes;
	uint64_t i = 0, next, groups = 0;

	for (; i < c->n_records; i = next) {
		const unsigned char *first = sorted + i * size;

		for (next = i + 1; next < c->n_records && sort_compare(&c->shape, first, sorted + next * size) == 0; next++)
			;
		if (!is_wanted(c, next - i))
			continue;
		groups++;
		append(out, first, size);
		if ((c->opts.flags & EM_UNIQUE_COUNT) != 0)
			append_number(out, next - i, 8, 0);
	}
	return groups;
}

static void append_record(const em_format *f, const unsigned char *record, size_t n, int counted, uint64_t count, bytes *out)
{
	const unsigned char delimiter = (unsigned char)f->delimiter;
	char text[32];

	if (f->kind == EM_FORMAT_PREFIXED) {
		append_number(out, n + (counted ? 8 : 0), f->width, (f->flags & EM_FORMAT_BIG_ENDIAN) != 0);
		append(out, record, n);
		if (counted)
			append_number(out, count, 8, 0);
		return;
	}
	if (counted)
		append(out, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64 "\t", count));
	append(out, record, n);
	append(out, &delimiter, 1);
}

/* The same of sorted records of any length. */
static uint64_t expect_lines(const unique_case *c, const em_order *order, bytes *out)
{
	const int counted = (c->opts.flags & EM_UNIQUE_COUNT) != 0;
	uint64_t groups = 0;
	size_t i, next, n;

	for (i = 0; i < c->header; i++) {
		const unsigned char *record = lines_at(&c->all, i, &n);

		append_record(&c->format, record, n, 0, 0, out);
	}
	for (; i < c->all.n; i = next) {
		const unsigned char *record = lines_at(&c->all, i, &n);

		for (next = i + 1; next < c->all.n && lines_compare(order, &c->all, i, next) == 0; next++)
			;
		if (!is_wanted(c, next - i))
			continue;
		groups++;
		append_record(&c->format, record, n, counted, next - i, out);
	}
	return groups;
}

/* What must come out; returns the number of groups.  sorted: the inputs are in order as one, as they come. */
static uint64_t expect(unique_case *c, const em_order *order, int sorted, bytes *out)
{
	uint64_t groups, n = c->n_records;
	unsigned char *in_order;

	if (em_order_record_size(order) == 0) {
		if (!sorted)
			lines_sort(order, &c->all, c->header, 0);
		return expect_lines(c, order, out);
	}
	if (sorted)
		return expect_records(c, c->records, out);
	in_order = sort_expected(&c->shape, c->records, &n, 0);
	groups = expect_records(c, in_order, out);
	free(in_order);
	return groups;
}

static void assert_output(const unique_case *c, const bytes *out, uint64_t groups)
{
	sort_assert_file(c->out, out->data != NULL ? out->data : (const unsigned char *)"", out->n);
	assert_int_equal(c->stats.records_in, c->n_records + c->all.n - c->header);
	assert_int_equal(c->stats.records_out, groups);
}

static void case_assert(unique_case *c, const em_order *order, int sorted)
{
	bytes out = { NULL, 0, 0 };
	const uint64_t groups = expect(c, order, sorted, &out);

	assert_output(c, &out, groups);
	free(out.data);
}

static em_ctx *make_ctx(uint64_t memory, uint32_t threads)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.threads = threads;
	return sort_ctx(&o);
}

/* What is wanted of groups: as uniq and its options have it, and limits of all kinds. */
#define WANTS 7
static void set_wanted(unique_case *c, int which)
{
	static const uint64_t least[WANTS] = { 0, 0, 2, 0, 1, 3, 2 }, most[WANTS] = { 0, 0, 0, 1, 1, 7, 2 };
	static const int counts[WANTS] = { 0, 1, 0, 0, 1, 1, 0 };

	c->opts.min_count = least[which];
	c->opts.max_count = most[which];
	if (counts[which])
		c->opts.flags |= EM_UNIQUE_COUNT;
}

#define SHAPES 6
static sort_shape shape_of(int which)
{
	switch (which) {
	case 0:
		return sort_shape_of(EM_KEY_U32, 0, 0, 4);
	case 1:
		return sort_shape_of(EM_KEY_U64, 0, EM_KEY_DESCENDING, 8);
	case 2:
		return sort_shape_of(EM_KEY_I64, 0, 0, 16);
	case 3:
		return sort_shape_of(EM_KEY_BYTES, 10, 0, 100);
	case 4:
		return sort_shape_of(EM_KEY_U16, 0, EM_KEY_BIG_ENDIAN, 3);
	default:
		return sort_shape_of(EM_KEY_U8, 0, 0, 700);
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

/* Records of one size: sorted in memory and in runs, merged at once and in passes. */
static void test_records(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 50, 900, 3000 };
	static const uint32_t fan_ins[] = { 0, 2, 3 };
	test_rng rng = test_rng_make(test_seed());
	int i, runs = 0, merged = 0;

	(void)state;
	for (i = 0; i < 180; i++) {
		em_ctx *ctx = make_ctx(i % 2 == 0 ? 4 * MIB : 32 * MIB, 1 + (uint32_t)i % 3 / 2);
		const int presorted = test_below(&rng, 3) == 0;
		const uint32_t files = 1 + (uint32_t)test_below(&rng, 7);
		em_order *order;
		unique_case c;
		uint32_t j;

		case_init(&c);
		c.shape = shape_of(i % SHAPES);
		order = make_order(ctx, &c.shape, test_below(&rng, 4) == 0);
		set_wanted(&c, i % WANTS);
		for (j = 0; j < files; j++)
			add_records(&c, &rng, (sort_pattern)test_below(&rng, SORT_PATTERNS), sizes[test_below(&rng, 6)], presorted);
		c.opts.flags |= presorted ? EM_UNIQUE_PRESORTED : 0;
		c.sort.flags = test_below(&rng, 2) != 0 ? EM_SORT_UNIQUE : 0;
		c.sort.run_records = test_below(&rng, 2) != 0 ? 400 : 0;
		c.sort.block_bytes = test_below(&rng, 2) != 0 ? 4096 : 0;
		c.sort.fan_in = fan_ins[test_below(&rng, 3)];
		if (case_run(&c, ctx, order) != EM_OK)
			fail_msg("%s", c.err.text);
		case_assert(&c, order, 0);
		runs += !presorted && c.stats.runs > 1;
		merged += presorted && c.stats.runs > 1;
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	assert_true(runs > 3);
	assert_true(merged > 1);
}

/* Records of any length, likewise. */
static void test_lines(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 60, 1500, 6000 };
	static const uint32_t fan_ins[] = { 0, 2, 3 };
	test_rng rng = test_rng_make(test_seed());
	int i, runs = 0, merged = 0;

	(void)state;
	for (i = 0; i < 84; i++) {
		em_ctx *ctx = make_ctx(i % 3 != 0 ? 4 * MIB : 32 * MIB, 1 + (uint32_t)i % 2);
		const int presorted = test_below(&rng, 3) == 0;
		const uint32_t files = 1 + (uint32_t)test_below(&rng, 7);
		em_order *order = lines_order(ctx, i % LINES_ORDERS);
		unique_case c;
		uint32_t j;

		case_init(&c);
		c.format = lines_format((int)test_below(&rng, LINES_FORMATS));
		/* A prefix of one byte has no room for counts. */
		if (c.format.width == 1)
			c.format = lines_format(0);
		c.sort.format = &c.format;
		c.sort.header = test_below(&rng, 3) == 0 ? test_below(&rng, 5) : 0;
		set_wanted(&c, i % WANTS);
		for (j = 0; j < files; j++) {
			lines l = { 0 };

			lines_add_random(&l, &rng, (int)test_below(&rng, LINES_STYLES), sizes[test_below(&rng, 6)]);
			add_lines(&c, order, &l, presorted, (int)test_below(&rng, 2));
		}
		c.opts.flags |= presorted ? EM_UNIQUE_PRESORTED : 0;
		c.sort.run_records = test_below(&rng, 2) != 0 ? 400 : 0;
		c.sort.fan_in = fan_ins[test_below(&rng, 3)];
		if (case_run(&c, ctx, order) != EM_OK)
			fail_msg("%s", c.err.text);
		case_assert(&c, order, 0);
		runs += !presorted && c.stats.runs > 1;
		merged += presorted && c.stats.runs > 1;
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	assert_true(runs > 3);
	assert_true(merged > 1);
}

/* Nothing; one; all the same, in more runs and blocks than one; all different. */
static void test_edges(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 20000 };
	test_rng rng = test_rng_make(test_seed());
	int size, distinct, want, presorted;

	(void)state;
	for (size = 0; size < 4; size++)
		for (distinct = 0; distinct < 2; distinct++)
			for (want = 0; want < WANTS; want++)
				for (presorted = 0; presorted < 2; presorted++) {
					em_ctx *ctx = make_ctx(16 * MIB, 1);
					em_order *order;
					unique_case c;

					case_init(&c);
					c.shape = shape_of(2);
					order = sort_order(ctx, &c.shape);
					set_wanted(&c, want);
					c.opts.flags |= presorted ? EM_UNIQUE_PRESORTED : 0;
					c.sort.run_records = 3000;
					c.sort.block_bytes = 4096;
					add_records(&c, &rng, distinct ? SORT_SORTED : SORT_EQUAL, sizes[size], presorted);
					if (case_run(&c, ctx, order) != EM_OK)
						fail_msg("%s", c.err.text);
					case_assert(&c, order, 0);
					if (want == 1 && size == 3 && !distinct)
						assert_int_equal(c.stats.records_out, 1);
					/* One input that is sorted already takes one pass and no scratch. */
					if (presorted)
						assert_true(c.stats.passes == 1 && c.stats.runs == 0 && c.stats.peak_scratch == 0);
					else if (size == 3)
						assert_int_equal(c.stats.runs, 7);
					case_free(&c);
					em_order_close(order);
					em_ctx_close(ctx);
				}
}

/* Without counts and limits it is what a sort does that keeps the first of equal records. */
static void test_as_sort(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = make_ctx(16 * MIB, 2);
	const char *path;
	unsigned char *got;
	em_order *order;
	unique_case c;
	size_t n;

	(void)state;
	case_init(&c);
	c.shape = shape_of(3);
	order = sort_order(ctx, &c.shape);
	add_records(&c, &rng, SORT_FEW, 5000, 0);
	path = c.path[0];
	assert_int_equal(em_unique_files(ctx, order, &path, 1, c.out, NULL, NULL), EM_OK);
	got = sort_read_file(c.out, &n);
	c.sort.flags = EM_SORT_UNIQUE;
	assert_int_equal(em_sort_files(ctx, order, &path, 1, c.out, &c.sort, NULL), EM_OK);
	sort_assert_file(c.out, got, n);
	free(got);
	case_free(&c);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* Of an input that is said to be sorted and is not, neighbours make groups. */
static void test_neighbours(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 2 * WANTS; i++) {
		em_ctx *ctx = make_ctx(8 * MIB, 1);
		em_order *order;
		unique_case c;

		case_init(&c);
		set_wanted(&c, i / 2);
		c.opts.flags |= EM_UNIQUE_PRESORTED;
		if (i % 2 == 0) {
			c.shape = shape_of(2);
			order = sort_order(ctx, &c.shape);
			add_records(&c, &rng, SORT_FEW, 4000, 0);
		} else {
			lines l = { 0 };

			order = lines_order(ctx, 0);
			lines_add_random(&l, &rng, LINES_FEW, 4000);
			add_lines(&c, order, &l, 0, 0);
		}
		if (case_run(&c, ctx, order) != EM_OK)
			fail_msg("%s", c.err.text);
		case_assert(&c, order, 1);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* The output may be an input. */
static void test_same_file(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int presorted;

	(void)state;
	for (presorted = 0; presorted < 2; presorted++) {
		em_ctx *ctx = make_ctx(8 * MIB, 1);
		em_order *order;
		unique_case c;

		case_init(&c);
		c.shape = shape_of(1);
		order = sort_order(ctx, &c.shape);
		c.opts.flags = EM_UNIQUE_COUNT | (presorted ? EM_UNIQUE_PRESORTED : 0);
		add_records(&c, &rng, SORT_FEW, 3000, presorted);
		add_records(&c, &rng, SORT_FEW, 3000, presorted);
		free(c.out);
		c.out = test_path(c.dir, "in01");
		assert_int_equal(case_run(&c, ctx, order), EM_OK);
		case_assert(&c, order, 0);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* Records as long as memory allows, of which the first is kept while the others come. */
static void test_long(void **state)
{
	const size_t longest = 4 * MIB / 32 - 4096;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		em_ctx *ctx = make_ctx(4 * MIB, 1);
		em_order *order = lines_order(ctx, 0);
		unsigned char *record = malloc(longest);
		unique_case c;
		int j;

		assert_non_null(record);
		case_init(&c);
		c.opts.flags = EM_UNIQUE_COUNT | (i % 2 != 0 ? EM_UNIQUE_PRESORTED : 0);
		c.sort.fan_in = i < 2 ? 0 : 2;
		for (j = 0; j < 3; j++) {
			lines l = { 0 };
			int k;

			for (k = 0; k < 60; k++) {
				memset(record, 'a' + k / 10, longest);
				lines_add(&l, record, longest - (size_t)(k % 3));
			}
			add_lines(&c, order, &l, i % 2, 0);
		}
		if (case_run(&c, ctx, order) != EM_OK)
			fail_msg("%s", c.err.text);
		case_assert(&c, order, 0);
		assert_true(i % 2 != 0 || c.stats.runs > 1);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		free(record);
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

/* A length and a count that a prefix cannot tell. */
static void test_prefix_too_narrow(void **state)
{
	unsigned char record[255];
	size_t n;

	(void)state;
	memset(record, 'x', sizeof(record));
	for (n = 246; n <= 249; n++) {
		em_ctx *ctx = make_ctx(8 * MIB, 1);
		em_order *order = lines_order(ctx, 0);
		unique_case c;
		lines l = { 0 };

		case_init(&c);
		c.format = lines_format(2);
		assert_int_equal(c.format.width, 1);
		c.sort.format = &c.format;
		c.opts.flags = EM_UNIQUE_COUNT;
		lines_add(&l, record, n);
		add_lines(&c, order, &l, 0, 0);
		if (n + 8 <= 255) {
			assert_int_equal(case_run(&c, ctx, order), EM_OK);
			case_assert(&c, order, 0);
		} else {
			assert_int_equal(case_run(&c, ctx, order), EM_ERR_RANGE);
			assert_int_equal(c.err.status, EM_ERR_RANGE);
			assert_int_equal(access(c.out, F_OK), -1);
		}
		case_free(&c);
		em_order_close(order);
		em_ctx_close(ctx);
	}
}

static int fail_later(const void *a, const void *b, void *user)
{
	unsigned *calls = user;

	return ++*calls > 5000 ? EM_CMP_ERROR : memcmp(a, b, 16);
}

static void test_refused(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = make_ctx(8 * MIB, 1);
	em_order *order, *failing;
	unsigned calls = 0;
	unique_case c;

	(void)state;
	case_init(&c);
	c.shape = shape_of(2);
	order = sort_order(ctx, &c.shape);
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	add_records(&c, &rng, SORT_RANDOM, 2000, 0);
	assert_int_equal(case_run(&c, NULL, order), EM_ERR_INVAL);
	assert_int_equal(case_run(&c, ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(c.err.status, EM_ERR_INVAL);
	c.opts.flags = 4;
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	c.opts.flags = 0;
	c.opts.min_count = 3;
	c.opts.max_count = 2;
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	c.opts.max_count = 3;
	c.opts.size = 3;
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	c.opts.size = sizeof(c.opts);
	c.sort.size = 4;
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	c.sort.size = sizeof(c.sort);
	c.sort.flags = 64;
	assert_int_equal(case_run(&c, ctx, order), EM_ERR_INVAL);
	c.sort.flags = 0;
	assert_int_equal(em_order_cmp(&failing, ctx, 16, "failing", fail_later, &calls, NULL, NULL), EM_OK);
	assert_int_equal(case_run(&c, ctx, failing), EM_ERR_USER);
	em_order_close(failing);
	assert_int_equal(access(c.out, F_OK), -1);
	assert_int_equal(case_run(&c, ctx, order), EM_OK);
	case_assert(&c, order, 0);
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
	for (which = 0; which < 4; which++) {
		em_ctx *ctx = make_ctx(16 * MIB, 1);
		unique_case c;
		em_order *order;
		int i, done = 0;

		case_init(&c);
		c.shape = shape_of(which < 2 ? 3 : 5);
		order = which % 2 == 0 ? sort_order(ctx, &c.shape) : lines_order(ctx, 0);
		c.opts.flags = EM_UNIQUE_COUNT | (which < 2 ? EM_UNIQUE_PRESORTED : 0);
		for (i = 0; i < 6; i++) {
			lines l = { 0 };

			if (which % 2 == 0) {
				add_records(&c, &rng, SORT_FEW, 300, which < 2);
				continue;
			}
			lines_add_random(&l, &rng, LINES_ANY, 300);
			add_lines(&c, order, &l, which < 2, 0);
		}
		em_order_close(order);
		em_ctx_close(ctx);
		for (c.sort.memory = 32 << 10; c.sort.memory < 8 * MIB; c.sort.memory += c.sort.memory / 4) {
			uint64_t before;
			em_status st;

			ctx = make_ctx(16 * MIB, 1);
			order = which % 2 == 0 ? sort_order(ctx, &c.shape) : lines_order(ctx, 0);
			before = em_ctx_memory_used(ctx);
			st = case_run(&c, ctx, order);
			if (st != EM_OK && (st != EM_ERR_MEMLIMIT || done))
				fail_msg("%u bytes: %s", (unsigned)c.sort.memory, c.err.text);
			if (st == EM_OK) {
				case_assert(&c, order, 0);
				assert_true(em_ctx_memory_peak(ctx) <= before + c.sort.memory);
			}
			done |= st == EM_OK;
			em_order_close(order);
			em_ctx_close(ctx);
		}
		assert_true(done);
		case_free(&c);
	}
}

/* Something of several runs or passes, with what may go wrong. */
typedef struct trial {
	unique_case c;
	int text;
	bytes expected;
	uint64_t groups;
	const em_backend *inner;
	test_memory mem;
	em_fault fault;
} trial;

static em_status attempt(trial *t)
{
	const char *const dirs[] = { t->c.dir };
	em_ctx_opts o = sort_ctx_opts();
	const unsigned fds = sort_open_fds();
	em_text_opts text = EM_TEXT_OPTS_INIT;
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
	o.threads = 1;
	o.dirs = dirs;
	o.ndirs = 1;
	o.errinfo = &err;
	st = em_ctx_open(&ctx, &o);
	if (st == EM_OK) {
		st = t->text ? em_order_text(&order, ctx, NULL, 0, &text, &err)
			     : em_order_keys(&order, ctx, t->c.shape.bytes, t->c.shape.key, t->c.shape.keys, &err);
		if (st == EM_OK) {
			st = case_run(&t->c, ctx, order);
			assert_int_equal(t->c.err.status, st == EM_OK ? EM_OK : st);
		}
	}
	if (st == EM_OK)
		assert_output(&t->c, &t->expected, t->groups);
	else
		assert_int_equal(access(t->c.out, F_OK), -1);
	if (order != NULL)
		em_order_close(order);
	if (ctx != NULL)
		em_ctx_close(ctx);
	unlink(t->c.out);
	test_memory_assert_clean(&t->mem);
	assert_int_equal(sort_open_fds(), fds);
	return st;
}

/* 0 and 1: records sorted, merged; 2 and 3: lines. */
#define TRIALS 4
static void trial_init(trial *t, int which)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = make_ctx(16 * MIB, 1);
	em_order *order;
	int i;

	memset(t, 0, sizeof(*t));
	case_init(&t->c);
	t->text = which / 2;
	t->c.shape = shape_of(3);
	order = t->text ? lines_order(ctx, 0) : sort_order(ctx, &t->c.shape);
	t->c.opts.flags = EM_UNIQUE_COUNT | (which % 2 != 0 ? EM_UNIQUE_PRESORTED : 0);
	t->c.sort.fan_in = 2;
	t->c.sort.block_bytes = 8192;
	t->c.sort.run_records = 250;
	for (i = 0; i < 3; i++) {
		lines l = { 0 };

		if (!t->text) {
			add_records(&t->c, &rng, SORT_FEW, 300, which % 2);
			continue;
		}
		lines_add_random(&l, &rng, LINES_ANY, 300);
		add_lines(&t->c, order, &l, which % 2, 0);
	}
	t->groups = expect(&t->c, order, 0, &t->expected);
	em_order_close(order);
	em_ctx_close(ctx);
	t->inner = em_backend_find("syscall");
	test_memory_init(&t->mem, 0);
	em_fault_init(&t->fault, t->inner);
}

static void trial_free(trial *t)
{
	free(t->expected.data);
	case_free(&t->c);
}

static void test_allocations(void **state)
{
	int which;

	(void)state;
	for (which = 0; which < TRIALS; which++) {
		uint64_t nth;
		trial t;

		trial_init(&t, which);
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
		assert_true(nth > 30);
		assert_true(t.c.stats.runs > 1);
		trial_free(&t);
	}
}

static void test_faults(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_OPEN, EM_FAULT_RESIZE, EM_FAULT_READ, EM_FAULT_WRITE };
	static const int kinds[] = { EIO, 0 };
	size_t op, kind;
	int which;

	(void)state;
	for (which = 0; which < TRIALS; which++) {
		trial t;

		trial_init(&t, which);
		for (op = 0; op < 4; op++)
			for (kind = 0; kind < 2; kind++) {
				uint64_t nth;

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
			}
		trial_free(&t);
	}
}

static int cancel(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	(void)user;
	(void)phase;
	(void)done;
	(void)total;
	return 1;
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
	int which;

	(void)state;
	for (which = 1; which < TRIALS; which++) {
		em_backend slow;
		trial t;

		trial_init(&t, which);
		slow = *t.inner;
		slow.user = (void *)(uintptr_t)t.inner;
		slow.open = slow_open;
		em_fault_init(&t.fault, &slow);
		t.c.sort.progress = cancel;
		assert_int_equal(attempt(&t), EM_ERR_CANCELED);
		trial_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_as_sort),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_same_file),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_prefix_too_narrow),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests_name("unique", tests, NULL, NULL);
}
