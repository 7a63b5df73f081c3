/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_top.c -- extmem top and extmem shuffle: their options, and that they write parts and permutations of what
 * they should.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fixture.h"
#include "cli/model.h"
#include "cli/run.h"

#define ROUNDS 40
#define RECORDS_MOST 600
#define SIZE_MOST 40

static void test_top_lines(void **state)
{
	static const char in[] = "m 5\nb 12\nx 7\na 1\nb 12\nz 3\nc 2\nd 9\ne 10\nf 11\ng 4\nh 6";

	(void)state;
	expect_output("", "", "top", NULL);
	expect_output(in, "a 1\nb 12\nb 12\nc 2\nd 9\ne 10\nf 11\ng 4\nh 6\nm 5\n", "top", NULL);
	expect_output(in, "a 1\nb 12\nb 12\n", "top", "-n", "3", NULL);
	expect_output(in, "a 1\nb 12\nb 12\n", "top", "-n3", "-", NULL);
	expect_output(in, "a 1\nb 12\nb 12\n", "top", "--count=3", NULL);
	expect_output(in, "a 1\nb 12\nc 2\n", "top", "-u", "--count", "3", NULL);
	expect_output(in, "c 2\nd 9\n", "top", "-u", "-n", "2", "--skip=2", NULL);
	expect_output(in, "", "top", "-n", "0", NULL);
	expect_output(in, "", "top", "--skip=100", NULL);
	expect_output(in, "z 3\n", "top", "--skip=11", NULL);
	expect_output(in, "z 3\nx 7\n", "top", "-r", "-n2", NULL);
	expect_output(in, "a 1\nc 2\nz 3\n", "top", "-k2n", "-n3", NULL);
	expect_output(in, "b 12\nb 12\nf 11\n", "top", "-k", "2,2nr", "-n", "3", NULL);
	expect_output("9\n10\n8\n", "8\n9\n", "top", "--numeric-sort", "-n", "2", NULL);
	expect_output("9\n10\n8\n", "8\n9\n", "top", "--sort=numeric", "-n", "2", NULL);
	expect_output("head\n9\n10\n8\n", "head\n10\n", "top", "--header=1", "-n", "1", NULL);
	expect_output("head\n9\n10\n8\n", "head\n", "top", "--header=1", "-n", "0", NULL);
	expect_output("b,2\na,\"1,5\"\n", "a,\"1,5\"\n", "top", "--csv", "-k2", "-n1", NULL);
	expect_output("b\na", "a\nb\n", "top", "-n18446744073709551615", "--skip", "0", NULL);
}

/* Records: what extmem sort writes from some rank on, in little memory and with runs, too. */
static void test_top_records(void **state)
{
	const fixture *f = *state;
	test_rng rng = test_rng_make(test_seed());
	int round;

	for (round = 0; round < ROUNDS; round++) {
		const size_t size = 1 + (size_t)test_below(&rng, SIZE_MOST), n = (size_t)test_below(&rng, RECORDS_MOST);
		unsigned char *records = malloc(n * size + 1);
		char record_size[32], count[32], skip[32], key[MODEL_KEYS][64];
		const uint64_t k = test_below(&rng, n + 3),
			       from = test_below(&rng, 2) == 0 ? 0 : test_below(&rng, n + 3);
		const char *args[24];
		size_t a = 0, sorted, first, end;
		const int unique = test_below(&rng, 2) == 0;
		unsigned i;
		model m;
		run r;

		assert_non_null(records);
		model_random(&m, &rng, size);
		model_records(&rng, records, n, size, test_below(&rng, 2) == 0);
		write_file(f->in[0], records, n * size);
		snprintf(record_size, sizeof(record_size), "--record-size=%u", (unsigned)size);
		snprintf(count, sizeof(count), "--count=%u", (unsigned)k);
		snprintf(skip, sizeof(skip), "--skip=%u", (unsigned)from);
		args[a++] = "top";
		args[a++] = record_size;
		args[a++] = count;
		if (from != 0)
			args[a++] = skip;
		if (m.reverse)
			args[a++] = "-r";
		if (unique)
			args[a++] = "-u";
		for (i = 0; i < m.keys; i++) {
			snprintf(key[i], sizeof(key[i]), "-k%s", m.key[i].text);
			args[a++] = key[i];
		}
		if (test_below(&rng, 2) == 0)
			args[a++] = "--run-size=20";
		args[a++] = test_below(&rng, 2) == 0 ? "-S16M" : "--parallel=2";
		args[a++] = "-o";
		args[a++] = f->out;
		args[a++] = f->in[0];
		args[a] = NULL;
		run_args(&r, NULL, args);
		assert_status(&r, 0);
		run_free(&r);
		sorted = model_sort(&m, records, n, unique);
		first = from < sorted ? (size_t)from : sorted;
		end = k < sorted - first ? first + (size_t)k : sorted;
		assert_file(f->out, records + first * size, (end - first) * size);
		free(records);
	}
}

/* Lines of a text, sorted, for free(). */
static char *sorted_text(const char *text, size_t bytes)
{
	run_setup setup = { 0 };
	char *copy;
	run r;

	setup.in = text;
	setup.in_bytes = bytes;
	run_command(&r, &setup, "sort", NULL);
	assert_status(&r, 0);
	copy = strdup(r.out);
	assert_non_null(copy);
	run_free(&r);
	return copy;
}

static void test_shuffle(void **state)
{
	const fixture *f = *state;
	char text[4000 * 5 + 1], *sorted, *again;
	size_t i, at = 0;
	run r, s;

	for (i = 0; i < 4000; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%04u\n", (unsigned)i);
	write_file(f->in[0], text, at);
	/* All are there; the same seed gives the same order, whatever may be used. */
	run_command(&r, NULL, "shuffle", "--seed=7", f->in[0], NULL);
	assert_status(&r, 0);
	sorted = sorted_text(text, at);
	again = sorted_text(r.out, r.out_bytes);
	assert_string_equal(sorted, again);
	assert_string_not_equal(r.out, text);
	free(sorted);
	free(again);
	run_command(&s, NULL, "shuffle", "--seed", "7", "--run-size=300", "-S", "16M", "--parallel=1", f->in[0], NULL);
	assert_status(&s, 0);
	assert_string_equal(r.out, s.out);
	run_free(&s);
	/* Records, and a sample, are chosen by the same numbers. */
	run_command(&s, NULL, "shuffle", "--seed=7", "--record-size=5", f->in[0], NULL);
	assert_status(&s, 0);
	assert_string_equal(r.out, s.out);
	run_free(&s);
	run_command(&s, NULL, "shuffle", "--seed=7", "-n", "13", f->in[0], NULL);
	assert_status(&s, 0);
	assert_int_equal(s.out_bytes, 13 * 5);
	assert_memory_equal(r.out, s.out, 13 * 5);
	run_free(&s);
	run_command(&s, NULL, "shuffle", "--seed=8", f->in[0], NULL);
	assert_status(&s, 0);
	assert_string_not_equal(r.out, s.out);
	run_free(&s);
	/* In place. */
	run_command(&s, NULL, "shuffle", "--seed=7", "-o", f->in[0], f->in[0], NULL);
	assert_status(&s, 0);
	run_free(&s);
	assert_file(f->in[0], r.out, r.out_bytes);
	run_free(&r);
	/* Without a seed the order is another one each time, and --verbose tells how to get it again. */
	run_command(&r, NULL, "shuffle", "--verbose", f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, "--seed="));
	strtok(strstr(r.err, "--seed="), "\n");
	run_command(&s, NULL, "shuffle", strstr(r.err, "--seed="), f->in[0], NULL);
	assert_status(&s, 0);
	assert_string_equal(r.out, s.out);
	run_free(&s);
	run_command(&s, NULL, "shuffle", f->in[0], NULL);
	assert_status(&s, 0);
	assert_string_not_equal(r.out, s.out);
	run_free(&s);
	run_free(&r);
	expect_output("head\nx\nx\n", "head\nx\nx\n", "shuffle", "--header=1", NULL);
	expect_output("", "", "shuffle", NULL);
	expect_output("x", "x\n", "shuffle", NULL);
	expect_output("x", "x\n", "shuffle", "-n5", NULL);
	expect_output("x\ny\n", "", "shuffle", "-n", "0", NULL);
	expect_output("x\ny\n", "", "shuffle", "--count=0", "--record-size=2", NULL);
	expect_output("head\nx\n", "head\n", "shuffle", "--header=1", "-n0", NULL);
}

static void test_zero_terminated(void **state)
{
	static const char in[] = "b\0a\nc\0d", top[] = "a\nc\0b";
	run_setup setup = { 0 };
	run r;

	(void)state;
	setup.in = in;
	setup.in_bytes = sizeof(in) - 1;
	run_command(&r, &setup, "top", "-z", "-n2", NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, sizeof(top));
	assert_memory_equal(r.out, top, sizeof(top));
	run_free(&r);
	run_command(&r, &setup, "shuffle", "-z", NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, sizeof(in));
	run_free(&r);
}

static void test_statistics(void **state)
{
	const fixture *f = *state;
	run r;

	write_file(f->in[0], "b\na\nc\n", 6);
	run_command(&r, NULL, "top", "-n", "2", "--stats", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	if (strstr(r.err, "3 records in, 2 out; sorted in memory") == NULL)
		fail_msg("%s", r.err);
	run_free(&r);
	run_command(&r, NULL, "shuffle", "--stats=json", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, "\"runs\": 0"));
	run_free(&r);
}

static void test_help(void **state)
{
	run r;

	(void)state;
	run_command(&r, NULL, "top", "--help", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "--skip=N"));
	run_free(&r);
	run_command(&r, NULL, "shuffle", "--help", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "--seed=S"));
	run_free(&r);
}

static void test_mistakes(void **state)
{
	const fixture *f = *state;

	expect_trouble(NULL, "top", "-n x", "top", "-n", "x", NULL);
	expect_trouble(NULL, "top", "--count -1", "top", "--count=-1", NULL);
	expect_trouble(NULL, "top", "--skip 1.5", "top", "--skip=1.5", NULL);
	expect_trouble(NULL, "top", "requires an argument", "top", "-n", NULL);
	expect_trouble(NULL, "top", "--seed", "top", "--seed=1", NULL);
	expect_trouble(NULL, "top", "'m'", "top", "-m", NULL);
	expect_trouble(NULL, "top", "--plan", "top", "--plan", NULL);
	expect_trouble(NULL, "top", f->in[1], "top", f->in[1], NULL);
	expect_trouble(NULL, "top", "-t is for lines", "top", "--record-size=4", "-t,", f->in[1], NULL);
	expect_trouble(NULL, "shuffle", f->in[1], "shuffle", "-n", "0", f->in[1], NULL);
	expect_trouble(NULL, "shuffle", "--seed x", "shuffle", "--seed=x", NULL);
	expect_trouble(NULL, "shuffle", "--skip", "shuffle", "--skip=1", NULL);
	expect_trouble(NULL, "shuffle", "-k: the order is random", "shuffle", "-k1", NULL);
	expect_trouble(NULL, "shuffle", "-k: the order is random", "shuffle", "--record-size=4", "-k0:u8", NULL);
	expect_trouble(NULL, "shuffle", "-r: the order is random", "shuffle", "-r", NULL);
	expect_trouble(NULL, "shuffle", "--numeric-sort: the order", "shuffle", "--numeric-sort", NULL);
	expect_trouble(NULL, "shuffle", "--sort: the order is random", "shuffle", "--sort=month", NULL);
	expect_trouble(NULL, "shuffle", f->in[1], "shuffle", f->in[1], NULL);
	write_file(f->in[0], "12345", 5);
	expect_trouble(NULL, "shuffle", f->in[0], "shuffle", "--record-size=4", f->in[0], NULL);
	expect_trouble(NULL, "top", f->in[0], "top", "--record-size=4", f->in[0], NULL);
	write_file(f->in[0], "", 0);
	expect_trouble(NULL, "top", "-S 1M", "top", "-S", "1M", "--record-size=300000", "--write-buffers=4000",
		       "--block-size=1G", f->in[0], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top_lines, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_top_records, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_shuffle, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_zero_terminated, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_statistics, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_help, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_mistakes, fixture_make, fixture_free),
	};

	return cmocka_run_group_tests_name("cli/top", tests, run_setup_group, NULL);
}
