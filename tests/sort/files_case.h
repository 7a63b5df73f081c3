/* SPDX-License-Identifier: BSL-1.0 */
/*
 * files_case.h -- what the tests share of what is done from files to a file: a directory with inputs, and all their
 * records, of one size or of any length.
 */
#ifndef EM_FILES_CASE_H
#define EM_FILES_CASE_H

#include <extmem/sys/backend.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define CASE_FILES 64u
#define MIB ((uint64_t)1 << 20)

typedef struct files_case {
	char *dir, *out;
	char *path[CASE_FILES];
	uint32_t n;
	/* Records of one size ... */
	sort_shape shape;
	unsigned char *records;
	uint64_t n_records;
	/* ... or of any length, in a format; the header first. */
	em_format format;
	lines all;
	size_t header;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
} files_case;

/* No inputs yet; shape may be NULL. */
files_case case_make(const sort_shape *shape);
/* Two inputs, which are not there yet. */
files_case case_pair(void);
void case_free(files_case *c);
/* The same, and what it was run with, which has not used more memory than it has. */
void case_close(files_case *c, em_ctx *ctx, em_order *order);

/* The path of the next input. */
const char *case_path(files_case *c);

/* Add an input of records of one size, sorted or as they come. */
void case_records(files_case *c, test_rng *rng, sort_pattern pattern, uint64_t n, int sorted);

/* Add an input of what is in l, which is freed.  The first opts.header records of the first input stay in front. */
void case_lines(files_case *c, const em_order *order, lines *l, int sorted, int cut);

/* Before it is run: the inputs, and nothing is wrong and nothing done. */
void case_begin(files_case *c, const char *paths[CASE_FILES]);

/* Merge the inputs; the output is what sorting all records stably gives. */
em_status case_merge(files_case *c, em_ctx *ctx, const em_order *order);
void case_merge_ok(files_case *c, em_ctx *ctx, const em_order *order);
void case_assert_sorted(files_case *c, const em_order *order);

/* Merge them with this fan-in (0: any) and other options at random: what comes out is right, in as many passes as that
 * takes. */
void case_merge_somehow(files_case *c, test_rng *rng, em_ctx *ctx, const em_order *order, uint32_t fan_in);

/* Merge forty inputs in a context with eight descriptors. */
void case_merge_forty(files_case *c, em_ctx *ctx, const em_order *order);

/* Run something in too little memory and more, up to what suffices: that is enough, and no more is used, or there is a
 * message.  order, and what is expected of an output, are the test's; run and right NULL: the inputs are merged. */
typedef struct case_memory {
	em_order *(*order)(void *user, em_ctx *ctx);
	em_status (*run)(void *user, em_ctx *ctx, const em_order *order);
	void (*right)(void *user, const em_order *order);
	void *user;
} case_memory;

void case_sweep_memory(files_case *c, const case_memory *how);

/* fds: 0 for many. */
em_ctx *case_ctx(uint64_t memory, uint32_t fds, uint32_t threads);

/* One in which opening a file takes longer than a progress function waits to be called; its backend goes to slow. */
em_ctx *case_slow_ctx(em_backend *slow);

/* By the keys of a shape, or by a function. */
em_order *case_order(em_ctx *ctx, sort_shape *shape, int by_function);

#endif
