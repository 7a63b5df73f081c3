/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_parts.c -- merging sorted files on several threads: merge_parts.c.
 *
 * What comes out is the same for every number of threads, and what sorting all records stably gives.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "common/phase.h"
#include "key/normalise.h"
#include "sort/merge_split.h"
#include "sort/parts_case.h"

typedef struct own {
	uint64_t key;
	uint32_t rest[8];
} own;

#define EM_GEN_NAME by_own
#define EM_GEN_RECORD own
#define EM_GEN_LESS(a, b) ((a)->key < (b)->key)
#include <extmem/gen/order.h>

#define NATIVE (EMI_BIG_ENDIAN ? EM_KEY_BIG_ENDIAN : 0)

/* Slow builds try so much less. */
static unsigned slower(void)
{
	return TEST_TSAN ? 16 : test_fewer() > 1 ? 4 : 1;
}

enum { BY_SHAPE = -1, OWN = -2, COMPARES = -3 };

/* The order of a case, for each context anew. */
typedef struct ordering {
	int lines;              /* the number of an order of lines, or ... */
	sort_shape shape;
} ordering;

static int compare_own(const void *a, const void *b, void *user)
{
	uint64_t x, y;

	(void)user;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

static em_order *order_of(em_ctx *ctx, const ordering *o)
{
	em_order *order;

	if (o->lines == COMPARES) {
		assert_int_equal(em_order_cmp(&order, ctx, sizeof(own), NULL, compare_own, EM_FN_THREADS, NULL, NULL,
					      NULL), EM_OK);
		return order;
	}
	if (o->lines == OWN) {
		assert_int_equal(by_own_order(&order, ctx, NULL), EM_OK);
		return order;
	}
	return o->lines >= 0 ? lines_order(ctx, o->lines) : sort_order(ctx, &o->shape);
}

/* Of equal records one, by every number of threads; or of some groups one, with their sizes, which is what one thread
 * makes of them. */
static void drop_all_ways(files_case *c, const ordering *o, uint64_t memory)
{
	static unsigned calls;
	const unsigned kind = calls++ % 3;
	unsigned char *want = NULL;
	size_t bytes = 0;
	uint64_t out = 0;
	uint32_t threads;

	if (TEST_TSAN && calls % 3 == 1)
		return;
	c->opts.flags |= EM_SORT_UNIQUE;
	for (threads = 1; threads <= PARTS_THREADS; threads++) {
		em_ctx *ctx = parts_ctx(memory, threads, threads % 2 != 0 ? EM_DIRECT_TRY : EM_DIRECT_OFF);
		em_order *order = order_of(ctx, o);

		if (kind == 0) {
			case_merge_ok(c, ctx, order);
		} else {
			em_unique_opts u = EM_UNIQUE_OPTS_INIT;
			const char *paths[CASE_FILES];

			case_begin(c, paths);
			u.sort = &c->opts;
			u.flags = EM_UNIQUE_PRESORTED | (kind == 1 ? EM_UNIQUE_COUNT : 0);
			u.min_count = kind == 1 ? 0 : 2;
			if (em_unique_files(ctx, order, paths, c->n, c->out, &u, &c->stats) != EM_OK)
				fail_msg("%s", c->err.text);
		}
		if (want == NULL) {
			want = sort_read_file(c->out, &bytes);
			out = c->stats.records_out;
		}
		sort_assert_file(c->out, want, bytes);
		assert_int_equal(c->stats.records_in, c->n_records + c->all.n);
		assert_int_equal(c->stats.records_out, out);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		/* Last, as the model drops, too. */
		if (kind == 0 && threads == PARTS_THREADS)
			case_assert_sorted(c, order);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	c->opts.flags &= ~EM_SORT_UNIQUE;
	free(want);
}

/* Merge with every number of threads.  Direct or not takes turns. */
static void merge_all_ways(files_case *c, const ordering *o, uint64_t memory)
{
	unsigned char *want = NULL;
	size_t bytes = 0;
	uint32_t threads;

	for (threads = 1; threads <= PARTS_THREADS; threads++) {
		em_ctx *ctx = parts_ctx(memory, threads, threads % 2 != 0 ? EM_DIRECT_OFF : EM_DIRECT_TRY);
		em_order *order = order_of(ctx, o);

		case_merge_ok(c, ctx, order);
		if (want == NULL) {
			case_assert_sorted(c, order);
			want = sort_read_file(c->out, &bytes);
		}
		sort_assert_file(c->out, want, bytes);
		assert_int_equal(c->stats.records_in, c->n_records + c->all.n);
		assert_int_equal(c->stats.records_out, c->n_records + c->all.n);
		assert_true(test_phase(&c->stats, EM_PHASE_OUTPUT).bytes_read >= bytes - c->n);
		/* A part need not have something of every file. */
		assert_true(c->stats.fan_in <= c->n);
		em_order_close(order);
		assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
		em_ctx_close(ctx);
	}
	free(want);
	drop_all_ways(c, o, memory);
}

/* How many times files are opened tells whether it is done in parts. */
static void test_is_used(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 32);
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_make(&shape);
	uint64_t opens[2][3];
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		case_records(&c, &rng, SORT_RANDOM, 2 * EMI_SPLIT_PART / 32 / 3 + 1, 1);
	for (i = 0; i < 4; i++) {
		const uint32_t threads = 1 + (uint32_t)i / 2, drops = (uint32_t)i % 2;
		em_ctx_opts o = sort_ctx_opts();
		em_fault fault;
		em_order *order;
		em_ctx *ctx;

		assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
		fault.ops = EM_FAULT_OPEN;
		o.backend = NULL;
		o.custom = em_fault_backend(&fault);
		o.threads = threads;
		ctx = sort_ctx(&o);
		order = sort_order(ctx, &shape);
		c.opts.flags = drops ? EM_SORT_UNIQUE : 0;
		case_merge_ok(&c, ctx, order);
		case_assert_sorted(&c, order);
		opens[drops][threads] = fault.count;
		em_order_close(order);
		em_ctx_close(ctx);
	}
	/* For a sample, to be cut, and for each of two parts. */
	assert_int_equal(opens[0][2], opens[0][1] + 9);
	/* Parts that take turns are not fewer. */
	assert_true(opens[1][2] >= opens[1][1] + 9);
	case_free(&c);
}

static void test_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 2 * LINES_ORDERS; round += (int)test_step()) {
		const ordering o = { .lines = round % LINES_ORDERS };
		const int files = 2 + (int)test_below(&rng, 5);
		const unsigned few = round < LINES_ORDERS ? 100 : 4;
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, 1, EM_DIRECT_OFF);
		em_order *order = order_of(ctx, &o);
		files_case c = case_make(NULL);
		int i;

		c.format = lines_format(round % 4 == 3 ? 10 : round % 3 == 2);
		c.opts.format = &c.format;
		for (i = 0; i < files; i++) {
			lines l = { 0 };

			parts_add_lines(&l, &rng, (size_t)(9 * MIB / (unsigned)files), round % 2 != 0 ? 20000 : 0, few);
			lines_quote_some(&l, &rng, &c.format);
			case_lines(&c, order, &l, 1, (int)test_below(&rng, 2));
		}
		em_order_close(order);
		em_ctx_close(ctx);
		merge_all_ways(&c, &o, PARTS_MEMORY);
		case_free(&c);
	}
}

/* Lines of nearly the longest that there may be, all kinds of places of which are looked at. */
static void test_long(void **state)
{
	const size_t longest = (size_t)(PARTS_MEMORY / 32);
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 4; round += TEST_TSAN ? 3 : 1) {
		const ordering o = { .lines = round == 3 ? 4 : 0 };
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, 1, EM_DIRECT_OFF);
		em_order *order = order_of(ctx, &o);
		files_case c = case_make(NULL);
		int i, k;

		for (i = 0; i < 3; i++) {
			lines l = { 0 };

			parts_add_lines(&l, &rng, round == 2 ? 3 : 2 * MIB, 0, 100);
			for (k = 0; k < 2; k++)
				parts_add_line(&l, &rng, longest * 3 / 4 - (size_t)test_below(&rng, longest / 2), 100);
			case_lines(&c, order, &l, 1, i == 1);
		}
		em_order_close(order);
		em_ctx_close(ctx);
		merge_all_ways(&c, &o, PARTS_MEMORY);
		case_free(&c);
	}
}

/* Records of one size, as every kind of element. */
static void test_records(void **state)
{
	static const struct {
		int32_t type;
		size_t width;
		uint32_t flags;
		size_t bytes;
		sort_pattern pattern;
		int files;
	} cases[] = {
		{ EM_KEY_U64, 0, 0, 8, SORT_RANDOM, 5 },
		{ EM_KEY_U32, 0, 0, 4, SORT_FEW, 2 },
		{ EM_KEY_I64, 0, EM_KEY_DESCENDING, 16, SORT_RANDOM, 3 },
		{ EM_KEY_U16, 0, EM_KEY_BIG_ENDIAN, 10, SORT_FEW, 4 },
		{ EM_KEY_BYTES, 16, 0, 16, SORT_RANDOM, 7 },
		{ EM_KEY_BYTES, 10, 0, 100, SORT_RANDOM, 9 },
		{ EM_KEY_BYTES, 10, 0, 100, SORT_EQUAL, 4 },
		{ EM_KEY_F64, 0, 0, 24, SORT_ENDS, 3 },
		{ EM_KEY_U8, 0, 0, 333, SORT_FEW, 12 },
		{ EM_KEY_BYTES, 2500, 0, 3000, SORT_RANDOM, 3 },
		{ EM_KEY_BYTES, 4099, 0, 5000, SORT_RANDOM, 3 },
	};
	test_rng rng = test_rng_make(test_seed());
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k += test_step()) {
		const ordering o = { BY_SHAPE,
				     sort_shape_of(cases[k].type, cases[k].width, cases[k].flags, cases[k].bytes) };
		const uint64_t total = (cases[k].bytes < 10 ? 5 : 9) * MIB / cases[k].bytes;
		files_case c = case_make(&o.shape);
		int i;

		for (i = 0; i < cases[k].files; i++)
			case_records(&c, &rng, cases[k].pattern,
				     total / (unsigned)cases[k].files + test_below(&rng, 100), 1);
		merge_all_ways(&c, &o, PARTS_MEMORY);
		case_free(&c);
	}
}

/* An order with kernels of its own, or a function; many are equal. */
static void test_own(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round, i;

	(void)state;
	for (round = 0; round < 4; round += TEST_TSAN ? 3 : 1) {
		const ordering o = { round % 2 != 0 ? COMPARES : OWN,
				     { sizeof(own), 1, { { 0, 0, EM_KEY_U64, NATIVE, { 0 } } } } };
		files_case c = case_make(&o.shape);

		for (i = 0; i < 4; i++)
			case_records(&c, &rng, round < 2 ? SORT_RANDOM : SORT_FEW, 50000 + test_below(&rng, 9000), 1);
		merge_all_ways(&c, &o, PARTS_MEMORY);
		case_free(&c);
	}
}

/* Files of which one comes before the other, one that has all, empty ones; equal lines only. */
static void test_uneven(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const ordering o = { .lines = 0 };
	int round;

	(void)state;
	for (round = 0; round < 4; round += TEST_TSAN ? 3 : 1) {
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, 1, EM_DIRECT_OFF);
		em_order *order = order_of(ctx, &o);
		files_case c = case_make(NULL);
		int i;

		for (i = 0; i < 6; i++) {
			unsigned char line[PARTS_LINE];
			lines l = { 0 };
			size_t n = round == 0 ? 15000 : round == 1 ? (i == 3 ? 80000 : 0) :
				   round == 2 ? (i % 2 ? 25000 : 0) : 14000;

			memset(line, 'x', sizeof(line));
			while (n-- != 0) {
				/* Round 0: disjoint; 3: all the same. */
				if (round == 0)
					line[0] = (unsigned char)('z' - i);
				if (round < 3)
					line[1 + test_below(&rng, 9)] = (unsigned char)('a' + test_below(&rng, 26));
				lines_add(&l, line, sizeof(line) - (round < 3 ? (size_t)test_below(&rng, 20) : 0));
			}
			case_lines(&c, order, &l, 1, i % 2);
		}
		em_order_close(order);
		em_ctx_close(ctx);
		merge_all_ways(&c, &o, PARTS_MEMORY);
		case_free(&c);
	}
}

/* What is in no order comes out in some, every record once. */
static void test_unsorted(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 8);
	test_rng rng = test_rng_make(test_seed());
	files_case c = case_make(&shape);
	uint64_t n;
	unsigned char *want;
	uint32_t threads;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		case_records(&c, &rng, SORT_RANDOM, 3 * MIB / 8, 0);
	n = c.n_records;
	want = sort_expected(&shape, c.records, &n, 0);
	for (threads = 2; threads <= PARTS_THREADS; threads++) {
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, threads, EM_DIRECT_TRY);
		em_order *order = sort_order(ctx, &shape);
		unsigned char *got, *in_order;
		size_t bytes;

		case_merge_ok(&c, ctx, order);
		got = sort_read_file(c.out, &bytes);
		assert_int_equal(bytes, n * 8);
		in_order = sort_expected(&shape, got, &n, 0);
		assert_memory_equal(in_order, want, bytes);
		free(in_order);
		free(got);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(want);
	case_free(&c);
}

/* Likewise lines. */
static void test_unsorted_lines(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const ordering o = { .lines = 0 };
	files_case c = case_make(NULL);
	uint32_t threads;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		lines l = { 0 };

		parts_add_lines(&l, &rng, 3 * MIB, 9000, 100);
		case_lines(&c, NULL, &l, 0, i == 2);
	}
	for (threads = 2; threads <= PARTS_THREADS; threads++) {
		em_ctx *ctx = parts_ctx(PARTS_MEMORY, threads, EM_DIRECT_TRY);
		em_order *order = order_of(ctx, &o);
		char *paths[2], *sorted = test_path(c.dir, "sorted");
		em_errinfo err = { 0 };
		em_sort_opts so = EM_SORT_OPTS_INIT;
		const char *const in[] = { c.out };

		case_merge_ok(&c, ctx, order);
		so.errinfo = &err;
		if (em_sort_files(ctx, order, in, 1, sorted, &so, NULL) != EM_OK)
			fail_msg("%s", err.text);
		paths[0] = c.out;
		c.out = sorted;
		case_assert_sorted(&c, order);
		c.out = paths[0];
		free(sorted);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	case_free(&c);
}

/* A share of the memory, from what is too little for parts on, is all that is used. */
static void test_memory_share(void **state)
{
	const uint64_t stacks = (PARTS_THREADS - 1) * ((uint64_t)256 << 10) + 4096;
	test_rng rng = test_rng_make(test_seed());
	const ordering o = { .lines = 2 };
	em_ctx *ctx = parts_ctx(PARTS_MEMORY, 1, EM_DIRECT_OFF);
	em_order *order = order_of(ctx, &o);
	files_case c = case_make(NULL);
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		lines l = { 0 };

		parts_add_lines(&l, &rng, (TEST_TSAN ? 1 : 3) * MIB, 3000, 100);
		case_lines(&c, order, &l, 1, i == 0);
	}
	em_order_close(order);
	em_ctx_close(ctx);
	for (c.opts.memory = 2 * MIB; c.opts.memory < PARTS_MEMORY; c.opts.memory += slower() * c.opts.memory / 4) {
		uint64_t before;

		ctx = parts_ctx(2 * PARTS_MEMORY, PARTS_THREADS, EM_DIRECT_TRY);
		order = order_of(ctx, &o);
		before = em_ctx_memory_used(ctx);
		c.opts.flags ^= EM_SORT_UNIQUE;
		case_merge_ok(&c, ctx, order);
		if ((c.opts.flags & EM_SORT_UNIQUE) == 0)
			case_assert_sorted(&c, order);
		if (em_ctx_memory_peak(ctx) > before + stacks + c.opts.memory)
			fail_msg("%u bytes of %u", (unsigned)(em_ctx_memory_peak(ctx) - before - stacks),
				 (unsigned)c.opts.memory);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	case_free(&c);
}

/* More long lines at a time than there is memory for in parts: one thread does it. */
static void test_many_long(void **state)
{
	const size_t longest = (size_t)(PARTS_MEMORY / 32);
	test_rng rng = test_rng_make(test_seed());
	const ordering o = { .lines = 0 };
	em_ctx *ctx = parts_ctx(PARTS_MEMORY, 1, EM_DIRECT_OFF);
	em_order *order = order_of(ctx, &o);
	files_case c = case_make(NULL);
	int i, k;

	(void)state;
	for (i = 0; i < 9; i++) {
		lines l = { 0 };

		for (k = 0; k < 4; k++)
			parts_add_line(&l, &rng, longest * 3 / 4, 100);
		parts_add_lines(&l, &rng, 300000, 0, 100);
		case_lines(&c, order, &l, 1, 0);
	}
	em_order_close(order);
	em_ctx_close(ctx);
	merge_all_ways(&c, &o, PARTS_MEMORY);
	case_free(&c);
}

/* A file that is there twice, and is the output. */
static void test_same_file(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U16, 0, 0, 50);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = parts_ctx(PARTS_MEMORY, 2, EM_DIRECT_TRY);
	em_order *order = sort_order(ctx, &shape);
	files_case c = case_make(&shape);
	size_t bytes;

	(void)state;
	case_records(&c, &rng, SORT_RANDOM, 60000, 1);
	bytes = (size_t)c.n_records * 50;
	c.path[1] = test_path(c.dir, "in00");
	c.n = 2;
	c.records = realloc(c.records, 2 * bytes);
	assert_non_null(c.records);
	memcpy(c.records + bytes, c.records, bytes);
	c.n_records *= 2;
	free(c.out);
	c.out = test_path(c.dir, "in00");
	case_merge_ok(&c, ctx, order);
	case_assert_sorted(&c, order);
	case_close(&c, ctx, order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_used),
		cmocka_unit_test(test_same_file),
		cmocka_unit_test(test_unsorted),
		cmocka_unit_test(test_unsorted_lines),
		cmocka_unit_test(test_many_long),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_memory_share),
	};

	return cmocka_run_group_tests_name("merge_parts", tests, NULL, NULL);
}
