/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_csv.c -- CSV through the command: random files against Python's csv module, headers that differ, forms of
 * lines, --debug.
 *
 *     EXTMEM_TEST_CASES   random cases, default 150
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
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"

#define PYTHON "/usr/bin/python3"
/* A byte order mark. */
#define MARK "\xEF\xBB\xBF"

static void test_random_files(void **state)
{
	const char *source = getenv("EM_SRCDIR"), *asked = getenv("EXTMEM_TEST_CASES");
	char *script = test_path(source != NULL ? source : ".", "tests/cli/csv_cases.py"), seed[32];
	run_setup setup = { 0 };
	fixture *f = *state;
	run r;

	if (access(PYTHON, X_OK) != 0) {
		free(script);
		print_message("there is no %s to compare with\n", PYTHON);
		skip();
	}
	snprintf(seed, sizeof(seed), "%" PRIu64, test_seed());
	setup.program = PYTHON;
	run_command(&r, &setup, script, getenv("EXTMEM"), seed, asked != NULL ? asked : "150", f->dir, NULL);
	assert_status(&r, 0);
	run_free(&r);
	free(script);
}

/* CRLF, NUL between records, other separators, quotes that are none, nothing to separate. */
static void test_forms(void **state)
{
	static const char nul[] = "b,\"\0\"\0a,1\0";
	run_setup setup = { 0 };
	run r;

	(void)state;
	expect_output("b,\"x\r\ny\"\r\na,1\r\n", "a,1\r\nb,\"x\r\ny\"\r\n", "sort", "--csv", NULL);
	expect_output("b;\"x\ny\";\"a;\n\"\na;1;2\n", "a;1;2\nb;\"x\ny\";\"a;\n\"\n", "sort", "--csv", "-t;", "-k1,1",
		      NULL);
	expect_output("b,5\",\"\"\"\n\"\"\"\na,6\"\n", "a,6\"\nb,5\",\"\"\"\n\"\"\"\n", "sort", "--csv", NULL);
	expect_output("b,\"1\"x\",\na,\n", "a,\nb,\"1\"x\",\n", "sort", "--csv", NULL);
	expect_output("b,\"x\ny\"\na,1\nb,\"x\ny\"\n", "1,a,1\n2,b,\"x\ny\"\n", "unique", "--csv", "-c", NULL);
	expect_output("", "", "sort", "--csv", "--header=1", NULL);
	/* Newlines are bytes like others, and a NUL in quotes ends nothing. */
	setup.in = nul;
	setup.in_bytes = sizeof(nul) - 1;
	run_command(&r, &setup, "sort", "--csv", "-z", NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, sizeof(nul) - 1);
	assert_memory_equal(r.out, "a,1\0b,\"\0\"\0", sizeof(nul) - 1);
	run_free(&r);
	expect_trouble(NULL, "-t", "double quote", "sort", "--csv", "-t\"", NULL);
	expect_trouble(NULL, "-t", "--csv", "shuffle", "-t,", NULL);
}

/* A byte order mark in front of a quote, in files and from a pipe.  It stays in its line, wherever that goes. */
static void test_marks(void **state)
{
	static const char first[] = MARK "\"a\nz\",\"b\"\n3,\"c\n\"\n1,d\n";
	static const char second[] = MARK "\"a\nz\",\"b\"\n2,e\n";
	static const char *const commands[] = { "sort", "merge", "unique", "top" };
	fixture *f = *state;
	run_setup setup = { 0 };
	size_t i;
	run r;

	write_text(f->in[0], second);
	setup.in = first;
	setup.in_bytes = sizeof(first) - 1;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		run_command(&r, &setup, commands[i], "--csv", "--header=1", "-k1,1r", f->in[0], "-", NULL);
		assert_status(&r, 0);
		assert_string_equal(r.out, MARK "\"a\nz\",\"b\"\n3,\"c\n\"\n2,e\n1,d\n");
		assert_string_equal(r.err, "");
		run_free(&r);
	}
	run_command(&r, &setup, "shuffle", "--csv", "--header=1", "-", f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, strlen(first) + strlen("2,e\n"));
	assert_memory_equal(r.out, first, strlen(MARK "\"a\nz\",\"b\"\n"));
	run_free(&r);
	run_command(&r, &setup, "check", "--csv", "--header=1", "-k1,1r", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "records:      2\n"));
	run_free(&r);
	expect_output(first, "1,d\n3,\"c\n\"\n" MARK "\"a\nz\",\"b\"\n", "sort", "--csv", NULL);
	expect_output("1,d\n3,\"c\n\"\n" MARK "\"a\nz\",\"b\"\n", "", "sort", "-c", "--csv", NULL);
	expect_output(MARK "\"x\n,\",b\n" MARK "\"y\n,\",a\n", MARK "\"y\n,\",a\n" MARK "\"x\n,\",b\n", "sort", "--csv",
		      "-k2,2", NULL);
	expect_output("b," MARK "\"x\na,1\"\n", "a,1\"\nb," MARK "\"x\n", "sort", "--csv", NULL);
}

/* The line of a quote that is never closed, in a file that is not the first, behind a header; and of a record that is
 * out of order. */
static void test_lines_of_messages(void **state)
{
	static const char good[] = "h,\"1\n2\n3\"\na,\"4\n5\"\n", bad[] = "h,\"1\n2\n3\"\na,\"4\n5\"\nb,\"6\"\"\n,\n";
	static const char *const commands[] = { "sort", "merge", "unique", "top", "shuffle" };
	fixture *f = *state;
	char where[512];
	size_t i;
	run r;

	write_text(f->in[0], good);
	write_text(f->in[1], bad);
	snprintf(where, sizeof(where), "%s:6: ", f->in[1]);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		expect_trouble(NULL, where, "a quote is opened here and never closed", commands[i], "--csv",
			       "--header=1", f->in[0], f->in[1], NULL);
	expect_trouble(NULL, where, "a quote is opened here and never closed", "check", "--csv", f->in[1], NULL);
	write_text(f->in[2], "h,\"1\n2\n3\"\nb,\"4\n5\"\na,6\n");
	snprintf(where, sizeof(where), "extmem sort: %s:6: disorder: a,6\n", f->in[2]);
	run_command(&r, NULL, "sort", "-c", "--csv", "--header=1", f->in[2], NULL);
	assert_status(&r, 1);
	assert_string_equal(r.err, where);
	run_free(&r);
}

static void expect_warning(const char *out, const char *warning, const char *const *args)
{
	run r;

	run_args(&r, NULL, args);
	assert_status(&r, 0);
	assert_string_equal(r.out, out);
	if (*warning ? strstr(r.err, warning) == NULL : r.err[0] != '\0')
		fail_msg("\"%s\" is not \"%s\"", r.err, warning);
	run_free(&r);
}

/* One that is not the first's is left out, too, and told of, unless nobody wants to know.  Empty files have none. */
static void test_headers_that_differ(void **state)
{
	fixture *f = *state;
	const char *args[] = { "sort", "--csv", "--header=1", f->in[2], f->in[0], f->in[1], NULL, NULL };
	char warning[512];

	write_text(f->in[0], "k,v\nb,1\n");
	write_text(f->in[1], "K,v\na,2\n");
	write_text(f->in[2], "");
	snprintf(warning, sizeof(warning), "warning: %s: its header is left out, although it is not that of %s\n",
		 f->in[1], f->in[0]);
	expect_warning("k,v\na,2\nb,1\n", warning, args);
	args[0] = "merge";
	expect_warning("k,v\na,2\nb,1\n", warning, args);
	args[0] = "top";
	expect_warning("k,v\na,2\nb,1\n", warning, args);
	args[6] = "--no-warnings";
	expect_warning("k,v\na,2\nb,1\n", "", args);
	args[6] = NULL;
	write_text(f->in[1], "k,v\na,2\n");
	args[0] = "unique";
	expect_warning("k,v\na,2\nb,1\n", "", args);
}

/* What --debug shows of an input, sorted by its second field. */
static void expect_marked(const char *in, size_t bytes, const char *out, size_t out_bytes, const char *option)
{
	run_setup setup = { 0 };
	run r;

	setup.in = in;
	setup.in_bytes = bytes;
	run_command(&r, &setup, "sort", "--csv", "--debug", "-k2,2", option, NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, out_bytes);
	assert_memory_equal(r.out, out, out_bytes);
	run_free(&r);
}

/* A record is shown as one line, its newlines as tabs are, and all marks are below it. */
static void test_debug(void **state)
{
	static const char in[] = "id,\"the\nname\"\n2,\"x\ny\"\n1,\"\"\"\n\"\n";
	static const char out[] = "id,\"the>name\"\n1,\"\"\">\"\n  _____\n_______\n2,\"x>y\"\n  _____\n_______\n";
	/* The carriage returns are in the key, and take no column. */
	static const char crlf[] = "2,\"x\r\ny\"\r\n1,a\r\n";
	static const char crlf_out[] = "2,\"x\r>y\"\r\n  _____\n_______\n1,a\r\n  _\n___\n";
	/* Newlines and NUL in quotes are bytes of a record, which a NUL ends. */
	static const char nul[] = "2,\"x\0\ny\"\0001,a\n\0";
	static const char nul_out[] = "2,\"x\0\ny\"\n  ____\n______\n1,a\n\n  _\n___\n";
	static const char mark[] = MARK "\"\n\",2\n" MARK "\"\n,\",1\n";
	static const char mark_out[] = MARK "\">,\",1\n        _\n_________\n" MARK "\">\",2\n       _\n________\n";

	(void)state;
	expect_marked(in, sizeof(in) - 1, out, sizeof(out) - 1, "--header=1");
	expect_marked(crlf, sizeof(crlf) - 1, crlf_out, sizeof(crlf_out) - 1, "--header=0");
	expect_marked(nul, sizeof(nul) - 1, nul_out, sizeof(nul_out) - 1, "-z");
	expect_marked(mark, sizeof(mark) - 1, mark_out, sizeof(mark_out) - 1, "--header=0");
}

/* A record of many lines, each longer than what is read at once, and one behind it. */
static void test_debug_long(void **state)
{
	enum { LINES = 5, BYTES = 20000 };
	const size_t n = LINES * (BYTES + 1) + 2;
	char *in = malloc(n + 8), *out = malloc(3 * n + 64), *p;
	size_t i;

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	memcpy(in, "b,\"", 3);
	memset(in + 3, 'x', n - 2);
	for (i = 1; i <= LINES; i++)
		in[3 + i * (BYTES + 1) - 1] = '\n';
	memcpy(in + n + 1, "\"\na,\n", 5);
	p = out + sprintf(out, "a,\n  ^ no match for key\n__\n");
	for (i = 0; i < n + 2; i++)
		*p++ = in[i] == '\n' ? '>' : in[i];
	*p++ = '\n';
	p += sprintf(p, "  ");
	memset(p, '_', n);
	p[n] = '\n';
	memset(p + n + 1, '_', n + 2);
	p[2 * n + 3] = '\n';
	expect_marked(in, n + 6, out, (size_t)(p + 2 * n + 4 - out), "--header=0");
	free(in);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_files, fixture_make, fixture_free),
		cmocka_unit_test(test_forms),
		cmocka_unit_test_setup_teardown(test_marks, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_lines_of_messages, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_headers_that_differ, fixture_make, fixture_free),
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_debug_long),
	};

	return cmocka_run_group_tests_name("cli_csv", tests, run_setup_group, NULL);
}
