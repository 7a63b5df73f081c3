/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_bench.h -- what the tests of sorting files of records of any length share: a directory with inputs, and what is
 * to come out of them.
 */
#ifndef EM_LINES_BENCH_H
#define EM_LINES_BENCH_H

#include "sort/fd_ends.h"
#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define FILES 4u
#define MIB ((uint64_t)1 << 20)

/* A directory with inputs, and what is to come out of them. */
typedef struct bench {
	test_rng rng;
	char *dir, *in[FILES], *out;
	em_ctx *ctx;
	em_order *order;
	int which;
	em_format format;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
	size_t records_in, records_out;
	unsigned char *expected;
	size_t bytes;
	int busy;               /* other threads open and close descriptors, too */
	char what[256];         /* said when something is wrong */
} bench;

/* Names for inputs and an output; salt: added to the seed. */
void bench_open(bench *b, uint64_t salt, int which, int format);
/* Another context for the same inputs. */
void bench_enter(bench *b, const em_ctx_opts *how);
void bench_enter_with(bench *b, const char *backend, uint32_t threads, uint64_t memory);
void bench_close(bench *b);
/* What must come out of a list of which the first `header' records stay. */
void bench_expect(bench *b, const lines *all, size_t header);
/* Spread a list over the first `files' inputs. */
void bench_write_inputs(bench *b, lines *all, unsigned files);
void bench_make_inputs(bench *b, int pattern, size_t n, unsigned files, size_t most);

/* Sort the first `files' inputs; memory and descriptors are given back.  The second must not fail, and looks at the
 * output. */
em_status bench_run(bench *b, unsigned files, const char *output);

/* Is it what must come out? */
void bench_assert_right(bench *b, const unsigned char *got, size_t bytes);
void bench_assert_output(bench *b, const char *path);
void bench_run_ok(bench *b, unsigned files);

/* Merging passes that k-way merging of runs takes at least. */
uint32_t passes_of(uint64_t runs, uint64_t k);

#endif
