/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_unique.c -- extmem unique and extmem merge: their options, and that they do what extmem sort does where they
 * should.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fixture.h"
#include "cli/model.h"
#include "cli/run.h"

#define ROUNDS 60
#define RECORDS_MOST 400
#define SIZE_MOST 40

static void test_choices(void **state)
{
	static const char in[] = "b\na\nb\nd\na\nb\nc";

	(void)state;
	expect_output("", "", "unique", NULL);
	expect_output("", "", "unique", "-c", NULL);
	expect_output("x", "1\tx\n", "unique", "-c", NULL);
	expect_output(in, "a\nb\nc\nd\n", "unique", NULL);
	expect_output(in, "2\ta\n3\tb\n1\tc\n1\td\n", "unique", "-c", NULL);
	expect_output(in, "2\ta\n3\tb\n1\tc\n1\td\n", "unique", "--count", "-", NULL);
	expect_output(in, "a\nb\n", "unique", "-d", NULL);
	expect_output(in, "a\nb\n", "unique", "--repeated", NULL);
	expect_output(in, "2\ta\n3\tb\n", "unique", "-cd", NULL);
	expect_output(in, "c\nd\n", "unique", "-u", NULL);
	expect_output(in, "c\nd\n", "unique", "--unique", NULL);
	expect_output(in, "b\n", "unique", "--min-count=3", NULL);
	expect_output(in, "a\nc\nd\n", "unique", "--max-count=2", NULL);
	expect_output(in, "2\ta\n", "unique", "--min-count=2", "--max-count", "2", "-c", NULL);
	/* All limits hold. */
	expect_output(in, "b\n", "unique", "-d", "--min-count=3", NULL);
	expect_output(in, "b\n", "unique", "--min-count=3", "-d", NULL);
	expect_output(in, "c\nd\n", "unique", "-u", "--max-count=5", NULL);
	/* As the uniq utility: nothing is there more than once and not. */
	expect_output(in, "", "unique", "-d", "-u", NULL);
	expect_output(in, "", "unique", "-cdu", NULL);
	expect_output(in, "", "unique", "--record-size=1", "-du", NULL);
	expect_output(in, "", "unique", "--min-count=5", "--max-count=4", NULL);
	expect_output("head\nb\nb\na\n", "head\n", "unique", "--header=1", "-d", "-u", NULL);
	expect_output(in, "d\nc\nb\na\n", "unique", "-r", NULL);
	/* What is said to be sorted is taken as it comes. */
	expect_output("b\nb\na\nb\n", "2\tb\n1\ta\n1\tb\n", "unique", "-c", "--presorted", NULL);
	expect_output("b\nb\na\nb\n", "b\n", "unique", "-d", "--presorted", NULL);
	expect_output("b\nb\na\nb\n", "b\na\nb\n", "unique", "--presorted", NULL);
}

/* Keys decide, and the first of what is equal comes out. */
static void test_keys(void **state)
{
	fixture *f = *state;

	expect_output("x 2\ny 1\nz 2\n", "1\ty 1\n2\tx 2\n", "unique", "-c", "-k2", NULL);
	expect_output("x,10\ny,9\nz,9.0\n", "2\ty,9\n1\tx,10\n", "unique", "-c", "-t,", "-k2n", NULL);
	expect_output("B\na\nb\nA\n", "2\ta\n2\tB\n", "unique", "-cf", NULL);
	expect_output("a-b\nab\n", "1\ta-b\n1\tab\n", "unique", "-c", NULL);
	expect_output("a-b\nab\n", "2\ta-b\n", "unique", "-c", "--dictionary-order", NULL);
	expect_output("a-b\nab\n", "2\ta-b\n", "unique", "-c", "-k1d", NULL);
	expect_output("head\nb\na\nb\n", "head\n1\ta\n2\tb\n", "unique", "-c", "--header=1", NULL);
	write_text(f->in[0], "head\na\nc\n");
	write_text(f->in[1], "head\nb\nc\n");
	expect_output("", "head\n1\ta\n1\tb\n2\tc\n", "unique", "-c", "--header=1", "--presorted", f->in[0], f->in[1],
		      NULL);
}

static void test_records(void **state)
{
	static const char counted[] = "a1\2\0\0\0\0\0\0\0b1\1\0\0\0\0\0\0\0";
	fixture *f = *state;

	write_text(f->in[0], "b1a1a2");
	expect_output("", "a1b1", "unique", "--record-size=2", "-k0:u8", f->in[0], NULL);
	expect_output("", "a1", "unique", "--record-size=2", "-k0:u8", "-d", f->in[0], NULL);
	expect_output("", "b1a1", "unique", "--record-size=2", "-k0:u8", "-r", f->in[0], NULL);
	expect_output("", "a1a2b1", "unique", "--record-size=2", "-u", f->in[0], NULL);
	expect_output("", "", "unique", "--record-size=2", "-k0:u8", "-c", "-o", f->out, f->in[0], NULL);
	assert_file(f->out, counted, sizeof(counted) - 1);
	write_text(f->in[0], "a1a2b1");
	expect_output("", "", "unique", "--record-size=2", "-k0:u8", "-c", "--presorted", "-o", f->in[0], f->in[0],
		      NULL);
	assert_file(f->in[0], counted, sizeof(counted) - 1);
}

static void test_merge(void **state)
{
	fixture *f = *state;

	write_text(f->in[0], "a\nc");
	write_text(f->in[1], "b\nc\nd\n");
	expect_output("b\n", "a\nb\nb\nc\nc\nd\n", "merge", f->in[0], f->in[1], "-", NULL);
	expect_output("", "a\nb\nc\nd\n", "merge", "-u", f->in[0], f->in[1], NULL);
	expect_output("b\na\n", "b\na\n", "merge", NULL);
	expect_output("", "", "merge", "-o", f->in[0], "--batch-size=2", f->in[0], f->in[1], f->in[1], NULL);
	assert_file(f->in[0], "a\nb\nb\nc\nc\nc\nd\nd\n", 16);
	write_text(f->in[0], "b2a1");
	write_text(f->in[1], "b1a2");
	expect_output("", "b2b1a1a2", "merge", "--record-size=2", "-k0:u8:r", f->in[0], f->in[1], NULL);
	expect_output("", "b2a1", "merge", "--record-size=2", "-k0:u8", "-ru", f->in[0], f->in[1], NULL);
	/* The same as extmem sort -m. */
	expect_output("", "b2b1a1a2", "sort", "-m", "--record-size=2", "-k0:u8:r", f->in[0], f->in[1], NULL);
}

/* The order of a model as options. */
static size_t order_options(const model *m, char *size, size_t room, const char **args)
{
	size_t n = 0;
	unsigned i;

	snprintf(size, room, "--record-size=%zu", m->size);
	args[n++] = size;
	if (m->reverse)
		args[n++] = "-r";
	for (i = 0; i < m->keys; i++) {
		args[n++] = "-k";
		args[n++] = m->key[i].text;
	}
	return n;
}

/* What must come out of sorted records; returns its bytes. */
static size_t expected_groups(const model *m, const unsigned char *sorted, size_t n, size_t least, size_t most,
			      int counts, unsigned char *out)
{
	size_t i, next, bytes = 0, k;

	for (i = 0; i < n; i = next) {
		for (next = i + 1; next < n && model_compare(m, sorted + i * m->size, sorted + next * m->size) == 0;
		     next++)
			;
		if (next - i < least || next - i > most)
			continue;
		memcpy(out + bytes, sorted + i * m->size, m->size);
		bytes += m->size;
		for (k = 0; counts && k < 8; k++)
			out[bytes++] = (unsigned char)((uint64_t)(next - i) >> 8 * k);
	}
	return bytes;
}

/* Random records and options: unique of any files and of sorted ones, and merge. */
static void test_random_files(void **state)
{
	static unsigned char records[RECORDS_MOST * SIZE_MOST], out[RECORDS_MOST * (SIZE_MOST + 8)];
	test_rng rng = test_rng_make(test_seed());
	fixture *f = *state;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		const size_t n = (size_t)test_below(&rng, RECORDS_MOST + 1);
		const int merge = i % 3 == 0, presorted = i % 3 == 1, counts = (int)test_below(&rng, 2);
		const size_t least = (size_t)test_below(&rng, 4),
			     most = test_below(&rng, 2) != 0 ? least + 2 : SIZE_MAX;
		char size[40], least_text[40], most_text[40];
		const char *args[32];
		size_t a = 0, at = 0, bytes;
		model m;
		run r;
		int k;

		model_random(&m, &rng, 1 + (size_t)test_below(&rng, SIZE_MOST));
		model_records(&rng, records, n, m.size, 1);
		args[a++] = merge ? "merge" : "unique";
		a += order_options(&m, size, sizeof(size), args + a);
		if (presorted)
			args[a++] = "--presorted";
		if (!merge && counts)
			args[a++] = "-c";
		snprintf(least_text, sizeof(least_text), "--min-count=%zu", least);
		if (!merge && least != 0)
			args[a++] = least_text;
		snprintf(most_text, sizeof(most_text), "--max-count=%zu", most);
		if (!merge && most != SIZE_MAX)
			args[a++] = most_text;
		for (k = 0; k < FIXTURE_INPUTS; k++) {
			const size_t some = k + 1 == FIXTURE_INPUTS ? n - at : (size_t)test_below(&rng, n - at + 1);

			if (merge || presorted)
				model_sort(&m, records + at * m.size, some, 0);
			write_file(f->in[k], records + at * m.size, some * m.size);
			args[a++] = f->in[k];
			at += some;
		}
		args[a++] = "-o";
		args[a++] = f->out;
		args[a] = NULL;
		model_sort(&m, records, n, 0);
		bytes = n * m.size;
		if (!merge)
			bytes = expected_groups(&m, records, n, least, most, counts, out);
		run_args(&r, NULL, args);
		assert_status(&r, 0);
		assert_file(f->out, merge ? records : out, bytes);
		run_free(&r);
	}
}

static void test_trouble(void **state)
{
	fixture *f = *state;

	write_text(f->in[0], "abc");
	expect_trouble(NULL, "--min-count 0: must be at least 1", "", "unique", "--min-count=0", f->in[0], NULL);
	expect_trouble(NULL, "--max-count", "", "unique", "--max-count=x", f->in[0], NULL);
	expect_trouble(NULL, "-n is for lines", "", "unique", "--record-size=1", "-n", f->in[0], NULL);
	expect_trouble(NULL, "no multiple of the record size", f->in[0], "unique", "--record-size=2", f->in[0], NULL);
	expect_trouble(NULL, "no multiple of the record size", f->in[0], "merge", "--record-size=2", f->in[0], NULL);
	expect_trouble(NULL, "is-not-there", "", "merge", "is-not-there", NULL);
	expect_trouble(NULL, "is-not-there", "", "unique", "--record-size=1", "is-not-there", NULL);
	/* What only extmem sort has. */
	expect_trouble(NULL, "--plan", "", "unique", "--plan", NULL);
	expect_trouble(NULL, "'c'", "", "merge", "-c", NULL);
	expect_trouble(NULL, "+1", "", "merge", "+1", NULL);
}

static void test_help(void **state)
{
	static const char *const commands[] = { "unique", "merge" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		char usage[32];
		run r;

		run_command(&r, NULL, commands[i], "--help", NULL);
		assert_status(&r, 0);
		snprintf(usage, sizeof(usage), "Usage: extmem %s ", commands[i]);
		assert_int_equal(strncmp(r.out, usage, strlen(usage)), 0);
		assert_string_equal(r.err, "");
		run_free(&r);
		run_command(&r, NULL, commands[i], "--version", NULL);
		assert_status(&r, 0);
		assert_int_equal(strncmp(r.out, "extmem ", 7), 0);
		run_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_choices, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_keys, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_records, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_merge, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_random_files, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_trouble, fixture_make, fixture_free),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests_name("cli_unique", tests, run_setup_group, NULL);
}
