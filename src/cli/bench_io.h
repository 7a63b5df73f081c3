/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_io.h -- what the files of extmem bench io share.
 *
 * Options (bench_io.c) and tables of runs (bench_plan.c) make a list of runs; each is measured (bench_elements.c) and
 * printed (bench_print.c) before the next.
 */
#ifndef CLI_BENCH_IO_H
#define CLI_BENCH_IO_H

#include <stddef.h>
#include <stdio.h>

#include <extmem/sys/element_stream.h>

#include "cli/bench_list.h"
#include "cli/interrupt.h"

enum { BENCH_READ = 1, BENCH_WRITE = 2 };

enum { BENCH_TEXT, BENCH_CSV, BENCH_JSON };

/* Streams of the kind simple with more elements than this, all together, only when they are asked for twice. */
#define BENCH_SIMPLE_MOST UINT64_C(10000000)

#define BENCH_REPEAT_MOST 1000u

/* Parameters: all combinations of them are runs. */
typedef struct bench_set {
	bench_list ops;         /* BENCH_READ, BENCH_WRITE */
	bench_list kinds;       /* EM_ELEMENT_... */
	bench_list n;           /* elements per stream */
	bench_list k;           /* streams */
	bench_list block;       /* B */
	bench_list element;     /* R */
	bench_list repeat;      /* one number */
} bench_set;

typedef struct bench_run {
	uint32_t op, kind, k, repeat;
	uint64_t n, block, element;
} bench_run;

typedef struct bench_plan {
	bench_run *run;
	size_t n, room;
} bench_plan;

typedef struct bench_options {
	const char *command;
	const char *dir;
	const char *from;       /* a table of runs, or NULL */
	bench_set set;
	bench_plan plan;
	int cold, force, format;
} bench_options;

typedef struct bench_result {
	double median, least, most; /* seconds */
	double cpu;             /* seconds, the median */
	uint64_t predicted, counted; /* I/O operations of one repetition */
	uint64_t bytes;         /* that these moved */
} bench_result;

/* The names of columns, of what is printed and of what is read: those of a set in the order of its fields. */
extern const char *const bench_column[];

/* The word for BENCH_READ and BENCH_WRITE, and its value. */
const char *bench_op_name(uint32_t op);
uint32_t bench_op_find(const char *name);

/* Does B matter to this kind? */
int bench_has_block(uint32_t kind);

/* Read one parameter, the i-th of bench_column[]; NULL, or what is wrong. */
#define BENCH_PARAMETERS 7
const char *bench_set_read(bench_set *set, uint32_t i, const char *text);

/* Add all combinations, or those of a table whose empty fields are from set.  A message and -1 on failure. */
int bench_plan_add(bench_plan *plan, const char *command, const bench_set *set);
int bench_plan_table(bench_plan *plan, const char *command, const char *path, const bench_set *set);
void bench_plan_free(bench_plan *plan);

/* The files that streams are written to and read from; zeroed, they are none yet. */
typedef struct bench_files {
	int *fd;                /* they have no names, so nothing of them stays */
	uint64_t *sum;          /* of what was written to each */
	uint32_t k, room;
	uint64_t n, element;    /* what they hold, each; element 0: nothing */
} bench_files;

/* Measure one run; -1 after a message, or when it was interrupted. */
int bench_elements(const bench_options *o, em_ctx *ctx, bench_files *files, const bench_run *run, const interrupt *in,
		   bench_result *result);
void bench_files_free(bench_files *files);

/* Memory that it takes, about. */
uint64_t bench_elements_memory(const bench_run *run);

/* What is printed before, for each run, and after; index is 0 for the first. */
void bench_print_begin(const bench_options *o);
void bench_print_run(const bench_options *o, size_t index, const bench_run *run, const bench_result *result);
void bench_print_end(const bench_options *o);

#endif
