/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_bench.h -- what the tests of a pool of records of any length share: a job and a pool with the records that are meant to be in it,
 * and a destination that keeps what is sent to it as a file would have it.
 */
#ifndef EM_POOL_BENCH_H
#define EM_POOL_BENCH_H

#include "sort/lines_model.h"
#include "sort/pool.h"

#define BENCH_POOL ((size_t)8 << 20)

typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	em_format format;
	emi_job job;
	emi_pool pool;
	emi_outseq q;
	emi_dest dest;
	unsigned char *got;     /* as a file would have it */
	size_t filled, room;
	uint64_t blocks;
	uint64_t cancel_at;     /* block at which the sort is canceled, from 1; 0: none */
	uint64_t fail_at;
	lines in;
	lines header;
} bench;

/* Order and format are numbers of lines_order() and lines_format(); opts may be NULL. */
void bench_open(bench *b, int which, int format, uint32_t threads, const em_sort_opts *opts);
void bench_close(bench *b);

/* The same with memory other than the usual, unless it is 0. */
void bench_open_in(bench *b, int which, int format, uint32_t threads, const em_sort_opts *opts, uint64_t memory);

/* A pool of another size. */
void bench_resize(bench *b, size_t bytes);

/* Styles of records, one after the other. */
int bench_style(unsigned round);

/* Put all records into the pool, one by one. */
void bench_add_all(bench *b);

/* Send what is in the pool, as frames or as text. */
em_status bench_send(bench *b, int text, uint64_t *records, em_errinfo *err);

/* Sort what is in the pool, and keep the records of its elements. */
void bench_take_elems(bench *b);

/* A copy of records [first, end), sorted; and is it what came out? */
lines bench_sorted(const bench *b, size_t first, size_t end);
void bench_assert_got(const bench *b, const lines *sorted);

/* Is what the strings of records [first, end), which are all in the pool, have in common what the pool says? */
void bench_assert_common(const bench *b, size_t first, size_t end);

#endif
