/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_space.c -- units in use against a model with a byte for each.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "block/space.h"
#include "common/test.h"

enum { UNITS = 200000, BLOCKS = 3000 };

typedef struct model {
	emi_space space;
	test_rng rng;
	unsigned char *used;    /* UNITS */
	struct {
		uint64_t unit, n;
	} block[BLOCKS];
	unsigned blocks;
	uint64_t units;         /* in use */
	uint64_t most;          /* units that there were, free ones among them */
} model;

static em_ctx *make_ctx(uint64_t memory)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx = NULL;

	opts.memory = memory;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	return ctx;
}

/* Where the first gap of n units below high is, or high. */
static uint64_t gap_of(const model *m, uint64_t n)
{
	uint64_t i, run = 0;

	for (i = 0; i < m->space.high; i++) {
		run = m->used[i] ? 0 : run + 1;
		if (run >= n)
			return i + 1 - n;
	}
	return m->space.high;
}

static int has_gap(const model *m, uint64_t n)
{
	return gap_of(m, n) != m->space.high;
}

static void take(model *m, uint64_t n, int check_gaps)
{
	uint64_t unit = UINT64_MAX, i, high = m->space.high;
	uint64_t gap = check_gaps ? gap_of(m, n) : UINT64_MAX;

	if (emi_space_reuse(&m->space, n, &unit)) {
		assert_true(gap == UINT64_MAX || gap == unit);
		assert_true(unit + n <= high);
	} else {
		assert_true(gap == UINT64_MAX || gap == high);
		assert_int_equal(emi_space_extend(&m->space, n, &unit, NULL), EM_OK);
		assert_int_equal(unit, high);
		assert_int_equal(m->space.high, high + n);
	}
	for (i = unit; i < unit + n; i++) {
		assert_int_equal(m->used[i], 0);
		m->used[i] = 1;
	}
	assert_false(emi_space_written(&m->space, unit, n));
	m->most = m->most < m->space.high ? m->space.high : m->most;
	m->block[m->blocks].unit = unit;
	m->block[m->blocks++].n = n;
	m->units += n;
	assert_int_equal(m->space.used, m->units);
}

static void give(model *m, unsigned i)
{
	uint64_t high = m->space.high;

	assert_true(emi_space_in_use(&m->space, m->block[i].unit, m->block[i].n));
	emi_space_drop(&m->space, m->block[i].unit, m->block[i].n);
	memset(m->used + m->block[i].unit, 0, (size_t)m->block[i].n);
	m->units -= m->block[i].n;
	assert_false(emi_space_in_use(&m->space, m->block[i].unit, m->block[i].n));
	m->block[i] = m->block[--m->blocks];
	assert_int_equal(m->space.used, m->units);
	while (high > 0 && !m->used[high - 1])
		high--;
	assert_int_equal(m->space.high, high);
}

/* Write a part of a block, which only that tells, and ask about another. */
static void write_some(model *m, unsigned i)
{
	const uint64_t from = test_below(&m->rng, m->block[i].n), n = 1 + test_below(&m->rng, m->block[i].n - from);
	const uint64_t first = test_below(&m->rng, m->block[i].n),
		       rest = 1 + test_below(&m->rng, m->block[i].n - first);
	const uint64_t unit = m->block[i].unit;

	assert_true(emi_space_write(&m->space, unit + from, n));
	memset(m->used + unit + from, 2, (size_t)n);
	assert_int_equal(emi_space_written(&m->space, unit + first, rest),
			 memchr(m->used + unit + first, 2, (size_t)rest) != NULL);
	assert_false(emi_space_write(&m->space, m->space.high - 1, 2));
}

static uint64_t any_size(test_rng *rng)
{
	static const uint64_t size[] = {1, 2, 3, 31, 63, 64, 65, 127, 128, 129, 200};

	return size[test_below(rng, sizeof size / sizeof *size)];
}

/* The first gap is found whenever there is one, nothing overlaps, and only then does the disk grow; it shrinks to the
 * last unit in use. */
static void test_model(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)64 << 20);
	uint64_t before = em_ctx_memory_used(ctx);
	model *m = calloc(1, sizeof *m);
	unsigned i, bias;

	(void)state;
	assert_non_null(m);
	m->used = calloc(1, UNITS);
	assert_non_null(m->used);
	m->rng = test_rng_make(test_seed());
	emi_space_init(&m->space, ctx);
	for (i = 0; i < 20000; i++) {
		bias = i / 2000 % 2 ? 40 : 60;
		if (m->blocks > 0 && (m->blocks == 400 || test_below(&m->rng, 100) >= bias))
			give(m, (unsigned)test_below(&m->rng, m->blocks));
		else
			take(m, any_size(&m->rng), i % 4 == 0);
		if (m->blocks > 0 && i % 2 == 0)
			write_some(m, (unsigned)test_below(&m->rng, m->blocks));
	}
	while (m->blocks > 0)
		give(m, m->blocks - 1);
	assert_true(em_ctx_memory_used(ctx) - before <= emi_space_memory(m->most));
	emi_space_free(&m->space);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	free(m->used);
	free(m);
	em_ctx_close(ctx);
}

enum { PAGE = 32768, PIECE = 256, LENGTH = 40 * PAGE };

/* Take and write all of a space, one piece behind the other. */
static void fill(emi_space *s, uint64_t units)
{
	uint64_t at, unit = 0;

	for (at = 0; at < units; at += PIECE) {
		assert_int_equal(emi_space_extend(s, PIECE, &unit, NULL), EM_OK);
		assert_int_equal(unit, at);
		assert_true(emi_space_write(s, unit, PIECE));
	}
}

/* What is written and freed from one end to the other takes memory for its ends only, and is found to be what it is. */
static void test_ends(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)8 << 20);
	const uint64_t before = em_ctx_memory_used(ctx), most = before + emi_space_memory_of(LENGTH, 2);
	uint64_t at, unit = 0;
	emi_space s;

	(void)state;
	emi_space_init(&s, ctx);
	fill(&s, LENGTH);
	assert_true(em_ctx_memory_used(ctx) <= most);
	assert_true(emi_space_in_use(&s, 0, LENGTH));
	assert_false(emi_space_in_use(&s, 0, LENGTH + 1));
	assert_true(emi_space_written(&s, PAGE - 1, 1));
	assert_false(emi_space_reuse(&s, 1, &unit));
	/* From the beginning of the second half on, but for the last page. */
	for (at = LENGTH / 2; at < LENGTH - PAGE; at += PIECE) {
		emi_space_drop(&s, at, PIECE);
		assert_false(emi_space_in_use(&s, at, 1));
		assert_true(emi_space_in_use(&s, at + PIECE, 1));
		assert_true(em_ctx_memory_used(ctx) <= most);
	}
	assert_int_equal(s.high, LENGTH);
	assert_int_equal(s.used, LENGTH / 2 + PAGE);
	/* The gap is one, and what is taken of it was not written. */
	assert_false(emi_space_reuse(&s, LENGTH / 2 - PAGE + 1, &unit));
	assert_true(emi_space_reuse(&s, PAGE + 1, &unit));
	assert_int_equal(unit, LENGTH / 2);
	assert_false(emi_space_written(&s, unit, PAGE + 1));
	assert_true(emi_space_in_use(&s, unit, PAGE + 1));
	assert_false(emi_space_in_use(&s, unit, PAGE + 2));
	emi_space_drop(&s, unit, PAGE + 1);
	assert_int_equal(emi_space_cut(&s, 1, &unit), LENGTH / 2 - PAGE);
	assert_int_equal(unit, LENGTH / 2);
	assert_false(emi_space_reuse(&s, 1, &unit));
	emi_space_drop(&s, LENGTH - PAGE, PAGE);
	/* What was cut out stays. */
	assert_int_equal(s.high, LENGTH - PAGE);
	/* From the end. */
	for (at = LENGTH / 2; at > 0; at -= PIECE)
		emi_space_drop(&s, at - PIECE, PIECE);
	assert_int_equal(s.used, 0);
	assert_true(emi_space_reuse(&s, LENGTH / 2, &unit));
	assert_int_equal(unit, 0);
	emi_space_free(&s);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
}

/* Write all of the block that was taken last, or, now and then, nothing. */
static void write_last(model *m)
{
	const uint64_t unit = m->block[m->blocks - 1].unit, n = m->block[m->blocks - 1].n;
	const int writes = test_below(&m->rng, 8) != 0;

	if (writes)
		assert_true(emi_space_write(&m->space, unit, n));
	assert_int_equal(emi_space_written(&m->space, unit, n), writes);
}

/* Pieces are taken, written as a whole, and freed at random, so that pages become alike and cease to be. */
static void test_model_alike(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)64 << 20);
	const uint64_t before = em_ctx_memory_used(ctx);
	model *m = calloc(1, sizeof *m);
	unsigned i;

	(void)state;
	assert_non_null(m);
	m->used = calloc(1, UNITS);
	assert_non_null(m->used);
	m->rng = test_rng_make(test_seed());
	emi_space_init(&m->space, ctx);
	for (i = 0; i < 3000; i++) {
		const uint64_t grows = i / 500 % 2 ? 35 : 75;

		if (m->blocks < 20 || (m->units < 100000 && test_below(&m->rng, 100) < grows)) {
			take(m, 1 + test_below(&m->rng, 4000), i % 16 == 0);
			write_last(m);
		} else {
			give(m, (unsigned)test_below(&m->rng, m->blocks));
		}
	}
	assert_true(em_ctx_memory_used(ctx) - before <= emi_space_memory(m->most));
	while (m->blocks > 0)
		give(m, m->blocks - 1);
	assert_int_equal(m->space.high, 0);
	emi_space_free(&m->space);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	free(m->used);
	free(m);
	em_ctx_close(ctx);
}

/* Without memory units are freed all the same: a page is given out again when all of it is back.  The disk still grows
 * by a page. */
static void test_drop_without_memory(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)8 << 20);
	uint64_t unit = 0, at;
	emi_space s;
	size_t rest;
	void *taken;

	(void)state;
	emi_space_init(&s, ctx);
	fill(&s, 4 * PAGE);
	rest = (size_t)(em_ctx_memory(ctx) - em_ctx_memory_used(ctx));
	taken = emi_alloc(ctx, rest, NULL);
	assert_non_null(taken);
	for (at = PAGE; at < 2 * PAGE - PIECE; at += PIECE)
		emi_space_drop(&s, at, PIECE);
	assert_int_equal(s.used, 3 * PAGE + PIECE);
	assert_false(emi_space_reuse(&s, 1, &unit));
	emi_space_drop(&s, at, PIECE);
	assert_int_equal(s.used, 3 * PAGE);
	assert_true(emi_space_reuse(&s, PAGE, &unit));
	assert_int_equal(unit, PAGE);
	emi_space_drop(&s, unit, PAGE);
	/* At the end, too. */
	emi_space_drop(&s, 4 * PAGE - PIECE, PIECE);
	assert_int_equal(s.high, 4 * PAGE);
	assert_int_equal(emi_space_extend(&s, PIECE, &unit, NULL), EM_OK);
	assert_int_equal(unit, 4 * PAGE);
	emi_free(ctx, taken, rest);
	emi_space_drop(&s, unit, PIECE);
	emi_space_drop(&s, 3 * PAGE, PAGE - PIECE);
	assert_int_equal(s.high, 3 * PAGE);
	emi_space_free(&s);
	em_ctx_close(ctx);
}

/* Neighbours that are freed make one gap, across words and pages of the bitmap, whatever the order. */
static void test_coalesce(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)8 << 20);
	uint64_t total = 70000, unit = 0, at;
	emi_space s;

	(void)state;
	emi_space_init(&s, ctx);
	assert_int_equal(emi_space_extend(&s, total, &unit, NULL), EM_OK);
	assert_int_equal(unit, 0);
	assert_false(emi_space_reuse(&s, 1, &unit));
	for (at = 0; at < total; at += 2000)
		emi_space_drop(&s, at, 1000);
	assert_false(emi_space_reuse(&s, 1001, &unit));
	for (at = 1000; at < total; at += 2000)
		emi_space_drop(&s, at, 1000);
	assert_int_equal(s.used, 0);
	/* The last of them were at the end, which is now in front. */
	assert_int_equal(s.high, 0);
	assert_false(emi_space_reuse(&s, 1, &unit));
	assert_int_equal(emi_space_extend(&s, total, &unit, NULL), EM_OK);
	assert_int_equal(unit, 0);
	/* A failed search is not repeated, but forgotten when it matters. */
	for (at = 0; at < 100; at += 2)
		emi_space_drop(&s, at, 1);
	emi_space_drop(&s, 32766, 4);
	assert_false(emi_space_reuse(&s, 5, &unit));
	emi_space_drop(&s, 32770, 1);
	assert_true(emi_space_reuse(&s, 5, &unit));
	assert_int_equal(unit, 32766);
	emi_space_drop(&s, 32767, 4);
	assert_false(emi_space_reuse(&s, 5, &unit));
	emi_space_drop(&s, 32766, 1);
	assert_true(emi_space_reuse(&s, 5, &unit));
	assert_int_equal(unit, 32766);
	emi_space_free(&s);
	em_ctx_close(ctx);
}

/* The last unit takes the end with it; the first gap that is long enough is the one. */
static void test_edges(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)8 << 20);
	uint64_t unit = 0;
	emi_space s;

	(void)state;
	emi_space_init(&s, ctx);
	assert_int_equal(emi_space_extend(&s, 64, &unit, NULL), EM_OK);
	emi_space_drop(&s, 63, 1);
	assert_int_equal(s.high, 63);
	assert_false(emi_space_reuse(&s, 1, &unit));
	assert_int_equal(emi_space_extend(&s, 1, &unit, NULL), EM_OK);
	assert_int_equal(unit, 63);
	emi_space_drop(&s, 20, 10);
	emi_space_drop(&s, 40, 4);
	assert_true(emi_space_reuse(&s, 5, &unit));
	assert_int_equal(unit, 20);
	emi_space_drop(&s, 5, 4);
	assert_true(emi_space_reuse(&s, 5, &unit));
	assert_int_equal(unit, 25);
	assert_true(emi_space_reuse(&s, 4, &unit));
	assert_int_equal(unit, 5);
	assert_true(emi_space_reuse(&s, 4, &unit));
	assert_int_equal(unit, 40);
	emi_space_drop(&s, 15, 15);
	assert_true(emi_space_reuse(&s, 15, &unit));
	assert_int_equal(unit, 15);
	assert_int_equal(s.high, 64);
	assert_true(emi_space_in_use(&s, 0, 64));
	assert_false(emi_space_in_use(&s, 0, 65));
	assert_false(emi_space_in_use(&s, 64, 1));
	assert_false(emi_space_in_use(&s, UINT64_MAX, 2));
	emi_space_drop(&s, 50, 3);
	assert_false(emi_space_in_use(&s, 49, 2));
	assert_true(emi_space_in_use(&s, 53, 11));
	/* What is free before the last one goes with it. */
	emi_space_drop(&s, 53, 11);
	assert_int_equal(s.high, 50);
	emi_space_free(&s);
	em_ctx_close(ctx);
}

/* What is cut out are the gaps that are large enough, whole, each once; none of it is given out again until it is
 * mended. */
static void test_cut(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)64 << 20);
	model *m = calloc(1, sizeof *m);
	uint64_t unit = 0, n, cut = 0, i, kept[2] = {0, 0}, least = 64;
	unsigned k;

	(void)state;
	assert_non_null(m);
	m->used = calloc(1, UNITS);
	assert_non_null(m->used);
	m->rng = test_rng_make(test_seed());
	emi_space_init(&m->space, ctx);
	for (k = 0; k < 1200; k++)
		take(m, any_size(&m->rng), 0);
	for (k = 0; k < 700; k++)
		give(m, (unsigned)test_below(&m->rng, m->blocks));
	while ((n = emi_space_cut(&m->space, least, &unit)) != 0) {
		assert_true(n >= least && unit + n <= m->space.high);
		assert_true(unit == 0 || m->used[unit - 1]);
		assert_true(unit + n == m->space.high || m->used[unit + n]);
		for (i = unit; i < unit + n; i++) {
			assert_int_equal(m->used[i], 0);
			m->used[i] = 2;
		}
		cut += n;
		kept[0] = unit;
		kept[1] = n;
	}
	assert_true(cut > 0);
	assert_false(has_gap(m, least));
	assert_int_equal(m->space.cut, cut);
	assert_int_equal(m->space.used, m->units);
	/* The search begins again, and finds nothing new. */
	assert_int_equal(emi_space_cut(&m->space, least, &unit), 0);
	for (k = 0; k < 500; k++)
		take(m, any_size(&m->rng), 1);
	memset(m->used + kept[0], 0, (size_t)kept[1]);
	emi_space_mend(&m->space, kept[0], kept[1]);
	assert_int_equal(m->space.cut, cut - kept[1]);
	assert_int_equal(m->space.used, m->units);
	n = m->space.high;
	take(m, kept[1], 1);
	assert_int_equal(m->space.high, n);
	emi_space_free(&m->space);
	free(m->used);
	free(m);
	em_ctx_close(ctx);
}

/* Pages of the bitmap of which nothing is left are released, and the rest goes on working around them. */
static void test_cut_pages(void **state)
{
	enum { PAGE_UNITS = 32768 };
	em_ctx *ctx = make_ctx((uint64_t)8 << 20);
	uint64_t unit = 0, used, before = em_ctx_memory_used(ctx);
	emi_space s;

	(void)state;
	emi_space_init(&s, ctx);
	assert_int_equal(emi_space_extend(&s, 4 * PAGE_UNITS, &unit, NULL), EM_OK);
	used = em_ctx_memory_used(ctx);
	emi_space_drop(&s, PAGE_UNITS - 10, 2 * PAGE_UNITS + 20);
	assert_int_equal(emi_space_cut(&s, 1, &unit), 2 * PAGE_UNITS + 20);
	assert_int_equal(unit, PAGE_UNITS - 10);
	assert_true(em_ctx_memory_used(ctx) <= used - 2 * PAGE_UNITS / 8);
	assert_int_equal(emi_space_cut(&s, 1, &unit), 0);
	assert_false(emi_space_reuse(&s, 1, &unit));
	/* Gaps on both sides do not join across what is gone. */
	emi_space_drop(&s, PAGE_UNITS - 20, 10);
	emi_space_drop(&s, 3 * PAGE_UNITS + 10, 10);
	assert_false(emi_space_reuse(&s, 11, &unit));
	assert_true(emi_space_reuse(&s, 10, &unit));
	assert_true(emi_space_reuse(&s, 10, &unit));
	assert_false(emi_space_reuse(&s, 1, &unit));
	/* Only what is in pages that are still there comes back. */
	emi_space_mend(&s, PAGE_UNITS - 10, 2 * PAGE_UNITS + 20);
	assert_int_equal(s.cut, 2 * PAGE_UNITS);
	assert_true(emi_space_reuse(&s, 10, &unit));
	assert_int_equal(unit, PAGE_UNITS - 10);
	assert_true(emi_space_reuse(&s, 10, &unit));
	assert_int_equal(unit, 3 * PAGE_UNITS);
	assert_false(emi_space_reuse(&s, 1, &unit));
	assert_int_equal(emi_space_extend(&s, 5, &unit, NULL), EM_OK);
	assert_int_equal(unit, 4 * PAGE_UNITS);
	emi_space_free(&s);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
}

/* Running out of memory leaves the space as it was. */
static void test_memory_limit(void **state)
{
	em_ctx *ctx = make_ctx((uint64_t)1 << 20);
	em_errinfo err;
	uint64_t unit = 0, n = 0, used;
	em_status st = EM_OK;
	emi_space s;

	(void)state;
	memset(&err, 0, sizeof err);
	emi_space_init(&s, ctx);
	while (st == EM_OK && n++ < 1000)
		st = emi_space_extend(&s, 32768, &unit, &err);
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	used = s.used;
	assert_int_equal(used, (n - 1) * 32768);
	assert_int_equal(s.high, used);
	emi_space_drop(&s, 0, 100);
	assert_true(emi_space_reuse(&s, 100, &unit));
	emi_space_free(&s);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_alike),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_drop_without_memory),
		cmocka_unit_test(test_coalesce),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_pages),
		cmocka_unit_test(test_memory_limit),
	};

	return cmocka_run_group_tests_name("block/space", tests, NULL, NULL);
}
