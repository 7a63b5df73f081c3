/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_unique.c -- one record of each group of equal ones, with counts and limits.
 *
 * What must come out follows from the sorted records: that of records of one size from those of sort_model.h, that of
 * records of any length from those of lines_model.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sort/files_case.h"

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

/* Inputs, and what is asked for. */
typedef struct unique_case {
	files_case f;
	em_unique_opts opts;
} unique_case;

static em_status run(unique_case *c, em_ctx *ctx, const em_order *order)
{
	const char *paths[CASE_FILES];

	case_begin(&c->f, paths);
	c->opts.sort = &c->f.opts;
	return em_unique_files(ctx, order, paths, c->f.n, c->f.out, &c->opts, &c->f.stats);
}

static void run_ok(unique_case *c, em_ctx *ctx, const em_order *order)
{
	if (run(c, ctx, order) != EM_OK)
		fail_msg("%s", c->f.err.text);
}

static int is_wanted(const unique_case *c, uint64_t count)
{
	return count >= c->opts.min_count && (c->opts.max_count == 0 || count <= c->opts.max_count);
}

/* What must come out of sorted records of one size; returns the number of groups. */
static uint64_t expect_records(const unique_case *c, const unsigned char *sorted, bytes *out)
{
	const size_t size = c->f.shape.bytes;
	uint64_t i = 0, next, groups = 0;

	for (; i < c->f.n_records; i = next) {
		const unsigned char *first = sorted + i * size;

		for (next = i + 1; next < c->f.n_records && sort_compare(&c->f.shape, first, sorted + next * size) == 0;
		     next++)
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

static void append_record(const em_format *f, const unsigned char *record, size_t n, int counted, uint64_t count,
			  bytes *out)
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
		append(out, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64 "%c", count,
						   f->kind == EM_FORMAT_CSV ? (int)f->separator : '\t'));
	append(out, record, n);
	append(out, &delimiter, 1);
}

/* The same of sorted records of any length. */
static uint64_t expect_lines(const unique_case *c, const em_order *order, bytes *out)
{
	const int counted = (c->opts.flags & EM_UNIQUE_COUNT) != 0;
	uint64_t groups = 0;
	size_t i, next, n;

	for (i = 0; i < c->f.header; i++) {
		const unsigned char *record = lines_at(&c->f.all, i, &n);

		append_record(&c->f.format, record, n, 0, 0, out);
	}
	for (; i < c->f.all.n; i = next) {
		const unsigned char *record = lines_at(&c->f.all, i, &n);

		for (next = i + 1; next < c->f.all.n && lines_compare(order, &c->f.all, i, next) == 0; next++)
			;
		if (!is_wanted(c, next - i))
			continue;
		groups++;
		append_record(&c->f.format, record, n, counted, next - i, out);
	}
	return groups;
}

/* What must come out; returns the number of groups.  sorted: the inputs are in order as one, as they come. */
static uint64_t expect(unique_case *c, const em_order *order, int sorted, bytes *out)
{
	uint64_t groups, n = c->f.n_records;
	unsigned char *in_order;

	if (em_order_record_size(order) == 0) {
		if (!sorted)
			lines_sort(order, &c->f.all, c->f.header, 0);
		return expect_lines(c, order, out);
	}
	if (sorted)
		return expect_records(c, c->f.records, out);
	in_order = sort_expected(&c->f.shape, c->f.records, &n, 0);
	groups = expect_records(c, in_order, out);
	free(in_order);
	return groups;
}

static void assert_output(const unique_case *c, const bytes *out, uint64_t groups)
{
	sort_assert_file(c->f.out, out->data != NULL ? out->data : (const unsigned char *)"", out->n);
	assert_int_equal(c->f.stats.records_in, c->f.n_records + c->f.all.n - c->f.header);
	assert_int_equal(c->f.stats.records_out, groups);
}

static void assert_groups(unique_case *c, const em_order *order, int sorted)
{
	bytes out = { NULL, 0, 0 };
	const uint64_t groups = expect(c, order, sorted, &out);

	assert_output(c, &out, groups);
	free(out.data);
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

static unique_case unique_make(int shape)
{
	const sort_shape records = shape_of(shape);
	const em_unique_opts opts = EM_UNIQUE_OPTS_INIT;
	unique_case c;

	c.f = case_make(&records);
	c.opts = opts;
	return c;
}

/* How often something was not done at once. */
typedef struct tally {
	int runs, merged;
} tally;

/* What is drawn decides how soon it was enough: there are some cases more, if need be.  A slow build has few. */
static int is_enough(const tally *t)
{
	return test_fewer() > 1 || (t->runs > 3 && t->merged > 1);
}

/* With options at random: the right thing comes out. */
static void run_somehow(unique_case *c, test_rng *rng, em_ctx *ctx, em_order *order, int presorted, tally *t)
{
	static const uint32_t fan_ins[] = { 0, 2, 3 };

	c->opts.flags |= presorted ? EM_UNIQUE_PRESORTED : 0;
	c->f.opts.run_records = test_below(rng, 2) != 0 ? 400 : 0;
	c->f.opts.fan_in = fan_ins[test_below(rng, 3)];
	run_ok(c, ctx, order);
	assert_groups(c, order, 0);
	t->runs += !presorted && c->f.stats.runs > 1;
	t->merged += presorted && c->f.stats.runs > 1;
	case_close(&c->f, ctx, order);
}

/* Records of one size: sorted in memory and in runs, merged at once and in passes. */
static void test_records(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 50, 900, 3000 };
	test_rng rng = test_rng_make(test_seed());
	tally t = { 0, 0 };
	int i;

	(void)state;
	for (i = 0; i < 180 || (i < 1800 && !is_enough(&t)); i += (int)test_step()) {
		em_ctx *ctx = case_ctx(i % 2 == 0 ? 4 * MIB : 32 * MIB, 0, 1 + (uint32_t)i % 3 / 2);
		const int presorted = test_below(&rng, 3) == 0;
		const uint32_t files = 1 + (uint32_t)test_below(&rng, 7);
		em_order *order;
		unique_case c;
		uint32_t j;

		c = unique_make(i % SHAPES);
		order = case_order(ctx, &c.f.shape, test_below(&rng, 4) == 0);
		set_wanted(&c, i % WANTS);
		for (j = 0; j < files; j++)
			case_records(&c.f, &rng, (sort_pattern)test_below(&rng, SORT_PATTERNS),
				     sizes[test_below(&rng, 6)], presorted);
		c.f.opts.flags = test_below(&rng, 2) != 0 ? EM_SORT_UNIQUE : 0;
		c.f.opts.block_bytes = test_below(&rng, 2) != 0 ? 4096 : 0;
		run_somehow(&c, &rng, ctx, order, presorted, &t);
	}
	assert_true(is_enough(&t));
}

/* Records of any length, likewise. */
static void test_lines(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 60, 1500, 6000 };
	test_rng rng = test_rng_make(test_seed());
	tally t = { 0, 0 };
	int i;

	(void)state;
	for (i = 0; i < 84 || (i < 840 && !is_enough(&t)); i += (int)test_step()) {
		em_ctx *ctx = case_ctx(i % 3 != 0 ? 5 * MIB : 32 * MIB, 0, 1 + (uint32_t)i % 2);
		const int presorted = test_below(&rng, 3) == 0;
		const uint32_t files = 1 + (uint32_t)test_below(&rng, 7);
		em_order *order = lines_order(ctx, i % LINES_ORDERS);
		unique_case c;
		uint32_t j;

		c = unique_make(0);
		c.f.format = lines_format((int)test_below(&rng, LINES_FORMATS));
		/* A prefix of one byte has no room for counts. */
		if (c.f.format.width == 1)
			c.f.format = lines_format(0);
		c.f.opts.format = &c.f.format;
		c.f.opts.header = test_below(&rng, 3) == 0 ? test_below(&rng, 5) : 0;
		set_wanted(&c, i % WANTS);
		for (j = 0; j < files; j++) {
			lines l = { 0 };

			lines_add_random(&l, &rng, (int)test_below(&rng, LINES_STYLES), sizes[test_below(&rng, 6)]);
			lines_quote_some(&l, &rng, &c.f.format);
			case_lines(&c.f, order, &l, presorted, (int)test_below(&rng, 2));
		}
		run_somehow(&c, &rng, ctx, order, presorted, &t);
	}
	assert_true(is_enough(&t));
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
					em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
					em_order *order;
					unique_case c;

					c = unique_make(2);
					order = sort_order(ctx, &c.f.shape);
					set_wanted(&c, want);
					c.opts.flags |= presorted ? EM_UNIQUE_PRESORTED : 0;
					c.f.opts.run_records = 3000;
					c.f.opts.block_bytes = 4096;
					case_records(&c.f, &rng, distinct ? SORT_SORTED : SORT_EQUAL, sizes[size],
						     presorted);
					run_ok(&c, ctx, order);
					assert_groups(&c, order, 0);
					if (want == 1 && size == 3 && !distinct)
						assert_int_equal(c.f.stats.records_out, 1);
					/* One input that is sorted already takes one pass and no scratch. */
					if (presorted)
						assert_true(c.f.stats.passes == 1 && c.f.stats.runs == 0 &&
							    c.f.stats.peak_scratch == 0);
					else if (size == 3)
						assert_int_equal(c.f.stats.runs, 7);
					case_close(&c.f, ctx, order);
				}
}

/* Without counts and limits it is what a sort does that keeps the first of equal records. */
static void test_as_sort(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = case_ctx(16 * MIB, 0, 2);
	const char *path;
	unsigned char *got;
	em_order *order;
	unique_case c;
	size_t n;

	(void)state;
	c = unique_make(3);
	order = sort_order(ctx, &c.f.shape);
	case_records(&c.f, &rng, SORT_FEW, 5000, 0);
	path = c.f.path[0];
	assert_int_equal(em_unique_files(ctx, order, &path, 1, c.f.out, NULL, NULL), EM_OK);
	got = sort_read_file(c.f.out, &n);
	c.f.opts.flags = EM_SORT_UNIQUE;
	assert_int_equal(em_sort_files(ctx, order, &path, 1, c.f.out, &c.f.opts, NULL), EM_OK);
	sort_assert_file(c.f.out, got, n);
	free(got);
	case_close(&c.f, ctx, order);
}

/* Of an input that is said to be sorted and is not, neighbours make groups. */
static void test_neighbours(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 2 * WANTS; i++) {
		em_ctx *ctx = case_ctx(8 * MIB, 0, 1);
		em_order *order;
		unique_case c;

		c = unique_make(0);
		set_wanted(&c, i / 2);
		c.opts.flags |= EM_UNIQUE_PRESORTED;
		if (i % 2 == 0) {
			c.f.shape = shape_of(2);
			order = sort_order(ctx, &c.f.shape);
			case_records(&c.f, &rng, SORT_FEW, 4000, 0);
		} else {
			lines l = { 0 };

			order = lines_order(ctx, 0);
			lines_add_random(&l, &rng, LINES_FEW, 4000);
			case_lines(&c.f, order, &l, 0, 0);
		}
		run_ok(&c, ctx, order);
		assert_groups(&c, order, 1);
		case_close(&c.f, ctx, order);
	}
}

/* The output may be an input. */
static void test_same_file(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int presorted;

	(void)state;
	for (presorted = 0; presorted < 2; presorted++) {
		em_ctx *ctx = case_ctx(8 * MIB, 0, 1);
		em_order *order;
		unique_case c;

		c = unique_make(1);
		order = sort_order(ctx, &c.f.shape);
		c.opts.flags = EM_UNIQUE_COUNT | (presorted ? EM_UNIQUE_PRESORTED : 0);
		case_records(&c.f, &rng, SORT_FEW, 3000, presorted);
		case_records(&c.f, &rng, SORT_FEW, 3000, presorted);
		free(c.f.out);
		c.f.out = test_path(c.f.dir, "in01");
		run_ok(&c, ctx, order);
		assert_groups(&c, order, 0);
		case_close(&c.f, ctx, order);
	}
}

/* Records as long as memory allows, of which the first is kept while the others come. */
static void test_long(void **state)
{
	const size_t longest = 4 * MIB / 32 - 4096;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		em_ctx *ctx = case_ctx(4 * MIB, 0, 1);
		em_order *order = lines_order(ctx, 0);
		unsigned char *record = malloc(longest);
		unique_case c;
		int j;

		assert_non_null(record);
		c = unique_make(0);
		c.opts.flags = EM_UNIQUE_COUNT | (i % 2 != 0 ? EM_UNIQUE_PRESORTED : 0);
		c.f.opts.fan_in = i < 2 ? 0 : 2;
		for (j = 0; j < 3; j++) {
			lines l = { 0 };
			int k;

			for (k = 0; k < 60; k++) {
				memset(record, 'a' + k / 10, longest);
				lines_add(&l, record, longest - (size_t)(k % 3));
			}
			case_lines(&c.f, order, &l, i % 2, 0);
		}
		run_ok(&c, ctx, order);
		assert_groups(&c, order, 0);
		assert_true(i % 2 != 0 || c.f.stats.runs > 1);
		free(record);
		case_close(&c.f, ctx, order);
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
		em_ctx *ctx = case_ctx(8 * MIB, 0, 1);
		em_order *order = lines_order(ctx, 0);
		unique_case c;
		lines l = { 0 };

		c = unique_make(0);
		c.f.format = lines_format(2);
		assert_int_equal(c.f.format.width, 1);
		c.f.opts.format = &c.f.format;
		c.opts.flags = EM_UNIQUE_COUNT;
		lines_add(&l, record, n);
		case_lines(&c.f, order, &l, 0, 0);
		if (n + 8 <= 255) {
			run_ok(&c, ctx, order);
			assert_groups(&c, order, 0);
		} else {
			assert_int_equal(run(&c, ctx, order), EM_ERR_RANGE);
			assert_int_equal(c.f.err.status, EM_ERR_RANGE);
			assert_int_equal(access(c.f.out, F_OK), -1);
		}
		case_close(&c.f, ctx, order);
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
	em_ctx *ctx = case_ctx(8 * MIB, 0, 1);
	em_order *order, *failing;
	unsigned calls = 0;
	em_errinfo own;
	unique_case c;

	(void)state;
	c = unique_make(2);
	order = sort_order(ctx, &c.f.shape);
	assert_int_equal(run(&c, ctx, order), EM_ERR_INVAL);
	case_records(&c.f, &rng, SORT_RANDOM, 2000, 0);
	assert_int_equal(run(&c, NULL, order), EM_ERR_INVAL);
	assert_int_equal(run(&c, ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(c.f.err.status, EM_ERR_INVAL);
	c.opts.flags = 4;
	assert_int_equal(run(&c, ctx, order), EM_ERR_INVAL);
	/* The detail goes where its own options say, before those of the sort; what was there does not matter. */
	memset(&c.f.err, 0, sizeof c.f.err);
	memset(&own, 0x99, sizeof own);
	c.opts.errinfo = &own;
	assert_int_equal(run(&c, ctx, order), EM_ERR_INVAL);
	assert_int_equal(own.status, EM_ERR_INVAL);
	assert_int_equal(c.f.err.status, EM_OK);
	c.opts.size = 0;
	assert_int_equal(run(&c, ctx, order), EM_ERR_VERSION);
	assert_non_null(strstr(own.text, "em_unique_opts"));
	c.opts.size = sizeof(c.opts);
	c.opts.errinfo = NULL;
	c.opts.flags = 0;
	c.opts.min_count = 3;
	c.opts.max_count = 2;
	assert_int_equal(run(&c, ctx, order), EM_ERR_INVAL);
	c.opts.max_count = 3;
	c.opts.size = 3;
	assert_int_equal(run(&c, ctx, order), EM_ERR_VERSION);
	c.opts.size = sizeof(c.opts);
	c.f.opts.size = 4;
	assert_int_equal(run(&c, ctx, order), EM_ERR_VERSION);
	c.f.opts.size = sizeof(c.f.opts);
	c.f.opts.flags = 64;
	assert_int_equal(run(&c, ctx, order), EM_ERR_INVAL);
	c.f.opts.flags = 0;
	assert_int_equal(em_order_cmp(&failing, ctx, 16, "failing", fail_later, 0, &calls, NULL, NULL), EM_OK);
	assert_int_equal(run(&c, ctx, failing), EM_ERR_USER);
	em_order_close(failing);
	assert_int_equal(access(c.f.out, F_OK), -1);
	run_ok(&c, ctx, order);
	assert_groups(&c, order, 0);
	case_close(&c.f, ctx, order);
}

/* Inputs of which groups are counted: records or lines, sorted or not. */
static void add_some(unique_case *c, const em_order *order, test_rng *rng, int sorted, int files)
{
	int i;

	c->opts.flags = EM_UNIQUE_COUNT | (sorted ? EM_UNIQUE_PRESORTED : 0);
	for (i = 0; i < files; i++) {
		lines l = { 0 };

		if (em_order_record_size(order) != 0) {
			case_records(&c->f, rng, SORT_FEW, 300, sorted);
			continue;
		}
		lines_add_random(&l, rng, LINES_ANY, 300);
		case_lines(&c->f, order, &l, sorted, 0);
	}
}

static em_order *records_order(void *user, em_ctx *ctx)
{
	const unique_case *c = user;

	return sort_order(ctx, &c->f.shape);
}

static em_order *text_order(void *user, em_ctx *ctx)
{
	(void)user;
	return lines_order(ctx, 0);
}

static em_status run_any(void *user, em_ctx *ctx, const em_order *order)
{
	return run(user, ctx, order);
}

static void assert_any(void *user, const em_order *order)
{
	assert_groups(user, order, 0);
}

static void test_too_little(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int which;

	(void)state;
	for (which = 0; which < 4; which++) {
		em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
		unique_case c = unique_make(which < 2 ? 3 : 5);
		const case_memory how = { which % 2 == 0 ? records_order : text_order, run_any, assert_any, &c };
		em_order *order = how.order(&c, ctx);

		add_some(&c, order, &rng, which < 2, 6);
		em_order_close(order);
		em_ctx_close(ctx);
		case_sweep_memory(&c.f, &how);
		case_free(&c.f);
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

/* Records merged, lines sorted, lines merged. */
static void test_cancel(void **state)
{
	const unsigned fds = sort_open_fds();
	test_rng rng = test_rng_make(test_seed());
	int which;

	(void)state;
	for (which = 1; which < 4; which++) {
		em_backend slow;
		em_ctx *ctx = case_slow_ctx(&slow);
		unique_case c = unique_make(3);
		em_order *order = (which < 2 ? records_order : text_order)(&c, ctx);

		add_some(&c, order, &rng, which % 2, 3);
		c.f.opts.fan_in = 2;
		c.f.opts.block_bytes = 8192;
		c.f.opts.run_records = 250;
		c.f.opts.progress = cancel;
		assert_int_equal(run(&c, ctx, order), EM_ERR_CANCELED);
		assert_int_equal(c.f.err.status, EM_ERR_CANCELED);
		assert_int_equal(access(c.f.out, F_OK), -1);
		em_order_close(order);
		em_ctx_close(ctx);
		assert_int_equal(sort_open_fds(), fds);
		case_free(&c.f);
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
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests_name("unique", tests, NULL, NULL);
}
