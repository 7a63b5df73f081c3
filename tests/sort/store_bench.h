/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_bench.h -- what the tests of a line store share: a job and a store with the records that are meant to be in it,
 * and a destination that keeps what is sent to it as a file would have it.
 */
#ifndef EM_STORE_BENCH_H
#define EM_STORE_BENCH_H

#include "sort/lines_model.h"
#include "sort/line_store.h"

#define BENCH_STORE ((size_t)8 << 20)

typedef struct bench {
	test_rng rng;
	em_ctx *ctx;
	em_order *order;
	em_format format;
	emi_job job;
	emi_line_store store;
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

/* A store of another size. */
void bench_resize(bench *b, size_t bytes);

/* Styles of records, one after the other. */
int bench_style(unsigned round);

/* Put all records into the store, one by one. */
void bench_add_all(bench *b);

/* Send what is in the store, as frames or as text. */
em_status bench_send(bench *b, int text, uint64_t *records, em_errinfo *err);

/* Sort what is in the store, and keep the records of its elements. */
void bench_take_elems(bench *b);

/* A copy of records [first, end), sorted; and is it what came out? */
lines bench_sorted(const bench *b, size_t first, size_t end);
void bench_assert_got(const bench *b, const lines *sorted);

/* Is what the strings of records [first, end), which are all in the store, have in common what the store says? */
void bench_assert_common(const bench *b, size_t first, size_t end);

#endif
