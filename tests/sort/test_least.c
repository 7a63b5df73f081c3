/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_least.c -- the least memory of whatever sorts: it does not grow with the number of threads, who is refused is
 * told it, it does, less does not, and more always does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define STEP (64 * KIB)
#define FILES 20u
#define RECORDS 300u            /* in each of them, ... */
#define BYTES_MOST 1500000u     /* ... if these are not more */
#define FROM MIB                /* no context takes less */

enum { SORT, PUSH, UNIQUE, COUNT, TOP, SHUFFLE, MERGE_TWO, MERGE_ALL, OPERATIONS };

static const char *const names[OPERATIONS] = { "sort", "push", "unique", "count", "top", "shuffle", "merge of two",
					       "merge" };

/* What is done. */
typedef struct work {
	int what;
	size_t record_bytes;    /* 0: lines */
	int order;              /* of lines */
	em_sort_opts opts;
	uint64_t share;         /* of the memory, or 0 */
} work;

typedef struct place {
	char *dir, *in, *out;
	size_t record_bytes;    /* of what is there */
} place;

static place place_make(void)
{
	place p;

	p.dir = test_dir_make();
	p.in = test_path(p.dir, "in");
	p.out = test_path(p.dir, "out");
	p.record_bytes = SIZE_MAX;
	return p;
}

static void place_free(place *p)
{
	test_dir_remove(p->dir);
	free(p->in);
	free(p->out);
}

/* Some records of this size, or lines: all of them equal ones, so that they are in any order. */
static void fill(place *p, size_t record_bytes)
{
	const em_format format = lines_format(0);
	const size_t bytes = record_bytes * RECORDS <= BYTES_MOST ? record_bytes * RECORDS
								   : BYTES_MOST / record_bytes * record_bytes;
	lines l = { 0 };
	unsigned i;

	if (p->record_bytes == record_bytes)
		return;
	p->record_bytes = record_bytes;
	if (record_bytes != 0) {
		unsigned char *records = calloc(1, bytes);

		assert_non_null(records);
		sort_write_file(p->in, records, bytes);
		free(records);
		return;
	}
	for (i = 0; i < RECORDS; i++)
		lines_add(&l, "a 1 line", 8);
	lines_write(p->in, &l, 0, l.n, &format, 0);
	lines_free(&l);
}

static em_status push(em_ctx *ctx, const em_order *order, const work *w, const em_sort_opts *opts)
{
	const uint64_t end[2] = { 8, 8 };
	const em_batch line = { "a 1 line", 1, 8, end };
	const em_batch *batch;
	em_sorter *s;
	em_status st = em_sorter_open(&s, ctx, order, opts);
	char *record;

	if (st != EM_OK)
		return st;
	record = calloc(1, w->record_bytes + 1);
	assert_non_null(record);
	assert_int_equal(w->record_bytes != 0 ? em_sorter_push(s, record, 1)
					      : em_sorter_push_batch(s, line.records, line.ends, line.n), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	em_sorter_close(s);
	free(record);
	return EM_OK;
}

static em_status run_in(em_ctx *ctx, const place *p, const work *w, em_errinfo *err)
{
	const sort_shape shape = sort_shape_of(EM_KEY_BYTES, w->record_bytes < 10 ? w->record_bytes : 10, 0,
					       w->record_bytes);
	em_order *order = w->record_bytes != 0 ? sort_order(ctx, &shape) : lines_order(ctx, w->order);
	const char *in[FILES];
	em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	em_shuffle_opts shuffle = EM_SHUFFLE_OPTS_INIT;
	em_sort_opts opts = w->opts;
	em_status st = EM_OK;
	uint32_t i;

	/* A merge has it several times. */
	for (i = 0; i < FILES; i++)
		in[i] = p->in;
	opts.errinfo = err;
	opts.memory = w->share;
	unique.sort = &opts;
	unique.flags = w->what == COUNT ? EM_UNIQUE_COUNT : 0;
	shuffle.errinfo = err;
	shuffle.memory = w->share;
	shuffle.block_bytes = opts.block_bytes;
	memset(err, 0, sizeof(*err));
	if (w->what == SORT)
		st = em_sort_files(ctx, order, in, 1, p->out, &opts, NULL);
	else if (w->what == PUSH)
		st = push(ctx, order, w, &opts);
	else if (w->what == UNIQUE || w->what == COUNT)
		st = em_unique_files(ctx, order, in, 1, p->out, &unique, NULL);
	else if (w->what == TOP)
		st = em_top_files(ctx, order, in, 1, 0, 5, p->out, &opts, NULL);
	else if (w->what == SHUFFLE)
		st = em_shuffle_files(ctx, w->record_bytes, in, 1, p->out, &shuffle, NULL);
	else
		st = em_merge_files(ctx, order, in, w->what == MERGE_TWO ? 2 : FILES, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

/* Do it in a context of so much memory: EM_OK, or EM_ERR_MEMLIMIT with a detail. */
static em_status run(const place *p, const work *w, uint64_t memory, uint32_t threads, em_errinfo *err)
{
	em_ctx_opts opts = sort_ctx_opts();
	em_status st;
	em_ctx *ctx;

	opts.memory = memory;
	opts.threads = threads;
	opts.backend = "syscall";
	ctx = sort_ctx(&opts);
	st = run_in(ctx, p, w, err);
	if (st != EM_OK && st != EM_ERR_MEMLIMIT)
		fail_msg("%s of %zu bytes in %llu bytes with %u threads: %s", names[w->what], w->record_bytes,
			 (unsigned long long)memory, (unsigned)threads, err->text);
	assert_true(em_ctx_memory_peak(ctx) <= memory);
	em_ctx_close(ctx);
	return st;
}

static void tell(const work *w, uint64_t memory, uint32_t threads, const char *what, const em_errinfo *err)
{
	fail_msg("%s of %zu bytes, order %d, blocks of %llu, flags %u, fan-in %u, in %llu bytes with %u threads: %s: "
		 "%s", names[w->what], w->record_bytes, w->order, (unsigned long long)w->opts.block_bytes,
		 (unsigned)w->opts.flags, (unsigned)w->opts.fan_in, (unsigned long long)memory, (unsigned)threads, what,
		 err->text);
}

/* The least memory, as who is refused is told; FROM: nobody is.  It does, and less does not. */
static uint64_t least_of(const place *p, const work *w, uint32_t threads)
{
	em_errinfo err, again;
	uint64_t least;

	if (run(p, w, FROM, threads, &err) == EM_OK)
		return FROM;
	least = err.bytes;
	if (least <= FROM)
		tell(w, FROM, threads, "less is said to do", &err);
	if (run(p, w, least, threads, &again) != EM_OK)
		tell(w, least, threads, "it was said to do", &again);
	if (least > FROM + STEP && run(p, w, least - STEP, threads, &again) == EM_OK)
		tell(w, least - STEP, threads, "it does, and more was said to be needed", &err);
	if (least > FROM + STEP && again.bytes != least)
		tell(w, least - STEP, threads, "another number is named than with less", &again);
	return least;
}

static work random_work(test_rng *rng)
{
	static const size_t bytes[] = { 0, 0, 1, 8, 16, 24, 100, 5000, 100000 };
	static const uint64_t blocks[] = { 0, 0, 8192, 65536, 262144, 1048576 };
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	work w;

	memset(&w, 0, sizeof(w));
	w.opts = none;
	w.what = (int)test_below(rng, OPERATIONS);
	w.record_bytes = bytes[test_below(rng, sizeof(bytes) / sizeof(bytes[0]))];
	w.order = (int)test_below(rng, LINES_ORDERS);
	w.opts.block_bytes = blocks[test_below(rng, sizeof(blocks) / sizeof(blocks[0]))];
	if (w.opts.block_bytes != 0 && w.opts.block_bytes < w.record_bytes + 64)
		w.opts.block_bytes = 0;
	if (w.what != UNIQUE && w.what != COUNT && test_below(rng, 3) == 0)
		w.opts.flags |= EM_SORT_UNIQUE;
	if (test_below(rng, 4) == 0)
		w.opts.fan_in = 2 + (uint32_t)test_below(rng, 30);
	if (test_below(rng, 4) == 0)
		w.opts.compress = EM_COMPRESS_NEVER;
	return w;
}

static uint32_t random_threads(test_rng *rng)
{
	static const uint32_t threads[] = { 2, 4, 16, 64, 512 };

	return threads[test_below(rng, sizeof(threads) / sizeof(threads[0]))];
}

/* The context's memory is what is too little. */
static void test_context(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	place p = place_make();
	unsigned refused = 0;
	int i, j;

	(void)state;
	for (i = 0; i < 100; i++) {
		const work w = random_work(&rng);
		const uint32_t threads = random_threads(&rng);
		uint64_t least, memory;
		em_errinfo err;

		fill(&p, w.record_bytes);
		least = least_of(&p, &w, 1);
		refused += least != FROM;
		if (least_of(&p, &w, threads) != least)
			fail_msg("%s of %zu bytes needs %llu bytes with one thread, not with %u", names[w.what],
				 w.record_bytes, (unsigned long long)least, (unsigned)threads);
		for (j = 0; j < 4; j++) {
			memory = least + test_below(&rng, least) * (1 + test_below(&rng, 8));
			if (run(&p, &w, memory, test_below(&rng, 2) ? 1 : threads, &err) != EM_OK)
				tell(&w, memory, threads, "less does", &err);
		}
	}
	assert_true(refused > 10);
	place_free(&p);
}

/* A share of the context's memory is. */
static void test_share(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	place p = place_make();
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		const uint32_t threads = random_threads(&rng);
		work w = random_work(&rng);
		em_errinfo err;
		uint64_t least;

		fill(&p, w.record_bytes);
		w.share = 1;
		assert_int_equal(run(&p, &w, 256 * MIB, threads, &err), EM_ERR_MEMLIMIT);
		w.share = least = err.bytes;
		if (run(&p, &w, 256 * MIB, threads, &err) != EM_OK)
			tell(&w, least, threads, "this share was said to do", &err);
		w.share = least - STEP;
		if (run(&p, &w, 256 * MIB, threads, &err) == EM_OK)
			tell(&w, least - STEP, threads, "a larger share was said to be needed", &err);
		assert_int_equal(err.bytes, least);
		w.share = least + test_below(&rng, least) * (1 + test_below(&rng, 8));
		if (run(&p, &w, 256 * MIB, threads, &err) != EM_OK)
			tell(&w, w.share, threads, "a smaller share does", &err);
	}
	place_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests_name("least", tests, NULL, NULL);
}
