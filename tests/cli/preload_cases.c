/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload_cases.c -- see preload_cases.h.
 *
 * Each way of doing input and output is taken by some case, and so is each command that writes a file; sizes are such
 * that scratch has several runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/preload_cases.h"
#include "cli/preload_sweep.h"
#include "common/test.h"

#define LINES 12000u
#define LINE_ROOM 24u
#define RECORD 16u
#define RECORDS 8192u
#define MANY (1u << 17)         /* records: io_uring is used when a megabyte was moved */
#define VERY_MANY (1u << 19)    /* libaio, sixteen */

/* Arguments that many have in common. */
#define QUIET "--no-config", "--no-warnings"
#define LINES_SCRATCH "-S", "8M", "--run-size=2500", "--last-run=written"
#define RECORDS_SCRATCH "--record-size=16", "-S", "1M", "--run-size=1500", "--last-run=written"

static char *lines, *sorted_lines;
static unsigned char *records, *sorted_records;
static size_t lines_bytes;
static int everything;

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, RECORD);
}

/* Lines whose numbers are of one length, so that either order is that of their bytes; every value may come several
 * times. */
static void make_lines(test_rng *rng)
{
	uint32_t *n = malloc(LINES * sizeof(*n)), i;
	char *at, *sorted_at;
	uint32_t *left = calloc(LINES, sizeof(*left));

	lines = at = malloc(LINES * LINE_ROOM);
	sorted_lines = sorted_at = malloc(LINES * LINE_ROOM);
	assert_true(n && left && lines && sorted_lines);
	for (i = 0; i < LINES; i++) {
		n[i] = (uint32_t)test_below(rng, LINES);
		left[n[i]]++;
		at += snprintf(at, LINE_ROOM, "%06u,\"x%u\"\n", (unsigned)n[i], (unsigned)n[i]);
	}
	for (i = 0; i < LINES; i++)
		for (; left[i]; left[i]--)
			sorted_at += snprintf(sorted_at, LINE_ROOM, "%06u,\"x%u\"\n", (unsigned)i, (unsigned)i);
	lines_bytes = (size_t)(at - lines);
	free(n);
	free(left);
}

static int set_up(void **state)
{
	test_rng rng = test_rng_make(test_seed());

	make_lines(&rng);
	records = malloc(VERY_MANY * RECORD);
	sorted_records = malloc(RECORDS * RECORD);
	if (!records || !sorted_records)
		return -1;
	test_fill(&rng, records, VERY_MANY * RECORD);
	memcpy(sorted_records, records, RECORDS * RECORD);
	qsort(sorted_records, RECORDS, RECORD, by_bytes);
	return sweep_set_up(state);
}

static int tear_down(void **state)
{
	(void)state;
	free(lines);
	free(sorted_lines);
	free(records);
	free(sorted_records);
	return 0;
}

static void of_lines(const sweep_case *like)
{
	sweep_case c = *like;

	c.in[0] = lines;
	c.bytes[0] = lines_bytes;
	sweep_run(&c, everything);
}

static void of_records(const sweep_case *like, size_t n)
{
	sweep_case c = *like;

	c.in[0] = records;
	c.bytes[0] = n * RECORD;
	sweep_run(&c, everything);
}

static void test_lines(void **state)
{
	const sweep_case c = {
		.name = "sort of lines",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_in_place(void **state)
{
	const sweep_case c = {
		.name = "sort of lines in place",
		.args = { "sort", "-k1,1", "-o", "input-0", "--direct=off", "--backend=syscall", "--parallel=2",
			  QUIET, LINES_SCRATCH, "input-0", NULL },
		.output = "input-0",
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_passes(void **state)
{
	const sweep_case c = {
		.name = "sort of lines in several passes",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2",
			  "--batch-size=2", "--scratch-compress=always", QUIET, LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_stdio(void **state)
{
	const sweep_case c = {
		.name = "sort of lines by stdio",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=stdio", "--parallel=2", QUIET,
			  LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_mmap(void **state)
{
	const sweep_case c = {
		.name = "sort of lines by mmap",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=mmap", "--parallel=2", QUIET,
			  LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_printed(void **state)
{
	const sweep_case c = {
		.name = "sort of lines from standard input to standard output",
		.args = { "sort", "-s", "-k1,1", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  LINES_SCRATCH, NULL },
		.from = SWEEP_STDIN,
	};

	(void)state;
	of_lines(&c);
}

static void test_lines_piped(void **state)
{
	const sweep_case c = {
		.name = "sort of lines from a pipe",
		.args = { "sort", "-u", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  LINES_SCRATCH, NULL },
		.output = "result",
		.from = SWEEP_PIPE,
	};

	(void)state;
	of_lines(&c);
}

static void test_csv(void **state)
{
	const sweep_case c = {
		.name = "sort of CSV",
		.args = { "sort", "--csv", "--header=1", "-k2,2", "-o", "result", "--direct=off", "--backend=syscall",
			  "--parallel=2", QUIET, LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_records(void **state)
{
	const sweep_case c = {
		.name = "sort of records in place",
		.args = { "sort", "-k0:u64", "-o", "input-0", "--direct=off", "--backend=syscall", "--parallel=2",
			  QUIET, RECORDS_SCRATCH, "input-0", NULL },
		.output = "input-0",
	};

	(void)state;
	of_records(&c, RECORDS);
}

static void test_records_passes(void **state)
{
	const sweep_case c = {
		.name = "sort of records in several passes by stdio",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=stdio", "--parallel=2", "--batch-size=2",
			  QUIET, RECORDS_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_records(&c, RECORDS);
}

static void test_records_mmap(void **state)
{
	const sweep_case c = {
		.name = "sort of records by mmap",
		.args = { "sort", "-o", "result", "--direct=off", "--backend=mmap", "--parallel=2", QUIET,
			  RECORDS_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_records(&c, RECORDS);
}

static void test_records_io_uring(void **state)
{
	const sweep_case c = {
		.name = "sort of records by io_uring",
		.args = { "sort", "--record-size=16", "-S", "2M", "-o", "result", "--backend=io_uring",
			  "--parallel=2", QUIET, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_records(&c, MANY);
}

static void test_records_libaio(void **state)
{
	const sweep_case c = {
		.name = "sort of records by libaio",
		.args = { "sort", "--record-size=16", "-S", "4M", "-o", "result", "--backend=libaio", "--parallel=2",
			  QUIET, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_records(&c, VERY_MANY);
}

static void test_merge_lines(void **state)
{
	const sweep_case c = {
		.name = "merge of lines",
		.args = { "merge", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  "input-0", "input-1", NULL },
		.in = { sorted_lines, sorted_lines },
		.bytes = { lines_bytes, lines_bytes },
		.output = "result",
	};

	(void)state;
	sweep_run(&c, everything);
}

static void test_merge_records(void **state)
{
	const sweep_case c = {
		.name = "merge of records over an input",
		.args = { "merge", "--record-size=16", "-o", "input-0", "--direct=off", "--backend=syscall",
			  "--parallel=2", QUIET, "input-0", "input-1", NULL },
		.in = { sorted_records, sorted_records },
		.bytes = { RECORDS * RECORD, RECORDS * RECORD },
		.output = "input-0",
	};

	(void)state;
	sweep_run(&c, everything);
}

static void test_unique(void **state)
{
	const sweep_case c = {
		.name = "unique -c",
		.args = { "unique", "-c", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

/* Records go to scratch, a tree is made there, and then a file. */
static void test_tree(void **state)
{
	const sweep_case c = {
		.name = "btree load",
		.args = { "btree", "load", "--record-size=16", "--duplicates", "--leaf-size=4K", "-S", "2M", "-o",
			  "result", "--direct=off", "--backend=syscall", "--parallel=1", "--no-config", "--no-progress",
			  "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_records(&c, RECORDS);
}

static void test_top(void **state)
{
	const sweep_case c = {
		.name = "top",
		.args = { "top", "-n", "5000", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2",
			  QUIET, LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_shuffle(void **state)
{
	const sweep_case c = {
		.name = "shuffle",
		.args = { "shuffle", "--seed=7", "-o", "result", "--direct=off", "--backend=syscall", "--parallel=2",
			  QUIET, LINES_SCRATCH, "input-0", NULL },
		.output = "result",
	};

	(void)state;
	of_lines(&c);
}

static void test_top_records(void **state)
{
	const sweep_case c = {
		.name = "top of records from a pipe to standard output",
		.args = { "top", "-n", "3000", "--direct=off", "--backend=syscall", "--parallel=2", QUIET,
			  RECORDS_SCRATCH, NULL },
		.from = SWEEP_PIPE,
	};

	(void)state;
	of_records(&c, RECORDS);
}

static void test_sort_check(void **state)
{
	const sweep_case c = {
		.name = "sort -c",
		.args = { "sort", "-c", "--direct=off", "--backend=syscall", "--parallel=2", QUIET, "input-0", NULL },
		.in = { sorted_lines },
		.bytes = { lines_bytes },
	};

	(void)state;
	sweep_run(&c, everything);
}

static void test_generate(void **state)
{
	const sweep_case c = {
		.name = "generate",
		.args = { "generate", "--records=5000", "--record-size=16", "-o", "result", NULL },
		.output = "result",
	};

	(void)state;
	sweep_run(&c, everything);
}

static void test_check_lines(void **state)
{
	const sweep_case c = {
		.name = "check of lines",
		.args = { "check", "input-0", NULL },
		.in = { sorted_lines },
		.bytes = { lines_bytes },
	};

	(void)state;
	sweep_run(&c, everything);
}

static void test_check_records(void **state)
{
	const sweep_case c = {
		.name = "check of records",
		.args = { "check", "--record-size=16", "input-0", NULL },
		.in = { sorted_records },
		.bytes = { RECORDS * RECORD },
	};

	(void)state;
	sweep_run(&c, everything);
}

int preload_cases_run(const char *name, int all)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_in_place),
		cmocka_unit_test(test_lines_passes),
		cmocka_unit_test(test_lines_stdio),
		cmocka_unit_test(test_lines_mmap),
		cmocka_unit_test(test_lines_printed),
		cmocka_unit_test(test_lines_piped),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_records_passes),
		cmocka_unit_test(test_records_mmap),
		cmocka_unit_test(test_records_io_uring),
		cmocka_unit_test(test_records_libaio),
		cmocka_unit_test(test_merge_lines),
		cmocka_unit_test(test_merge_records),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_top_records),
		cmocka_unit_test(test_sort_check),
		cmocka_unit_test(test_generate),
		cmocka_unit_test(test_check_lines),
		cmocka_unit_test(test_check_records),
	};

	everything = all;
	return cmocka_run_group_tests_name(name, tests, set_up, tear_down);
}
