/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_text.c -- extmem sort and extmem check on lines: what is extmem's own, and files and streams.
 *
 * How options are spelled and what they mean is compared with GNU sort in test_cli_sort_options.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/gnu.h"
#include "common/gnu_version.h"
#include "common/test.h"

static void test_standard_input(void **state)
{
	(void)state;
	expect_output("b\na\n", "a\nb\n", "sort", NULL);
	expect_output("b\na", "a\nb\n", "sort", "-", NULL);
	expect_output("", "", "sort", NULL);
	expect_output("\n\na", "\n\na\n", "sort", NULL);
	expect_output("b\na\n", "b\na\n", "sort", "-r", NULL);
}

static void test_several_inputs(void **state)
{
	fixture *f = *state;

	/* A line that ends with its file is a line of its own. */
	write_text(f->in[0], "b");
	write_text(f->out, "a\n");
	expect_output("c\n", "a\nb\nc\n", "sort", f->in[0], f->out, "-", NULL);
	expect_output("c\n", "a\nb\nc\n", "sort", "-m", f->in[0], f->out, "-", NULL);
}

static void test_output(void **state)
{
	fixture *f = *state;
	struct stat sb;

	write_text(f->in[0], "b\na\n");
	assert_int_equal(chmod(f->in[0], 0640), 0);
	expect_output("", "", "sort", f->in[0], "-o", f->in[0], NULL);
	assert_file(f->in[0], "a\nb\n", 4);
	assert_int_equal(stat(f->in[0], &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0640);
	write_text(f->out, "0\nz\n");
	expect_output("", "", "sort", "-m", f->in[0], f->out, "-o", f->out, NULL);
	assert_file(f->out, "0\na\nb\nz\n", 8);
	assert_int_equal(count_files(f->dir), 2);
}

static void test_files0(void **state)
{
	static const char names[] = "in\0out";
	fixture *f = *state;
	char *list = test_path(f->dir, "list");
	run_setup setup = { 0 };
	run r;

	write_text(f->in[0], "b\n");
	write_text(f->out, "a\n");
	write_file(list, names, sizeof(names));
	setup.dir = f->dir;
	run_command(&r, &setup, "sort", "--files0-from=list", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "a\nb\n");
	run_free(&r);

	/* the last name without its NUL, from standard input */
	setup.in = names;
	setup.in_bytes = sizeof(names) - 1;
	run_command(&r, &setup, "sort", "--files0-from=-", "-r", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "b\na\n");
	run_free(&r);
	free(list);
}

/* More names than one reading takes. */
static void test_many_names(void **state)
{
	enum { NAMES = 3000 };
	fixture *f = *state;
	run_setup setup = { 0 };
	char *names = malloc((size_t)NAMES * 3), *expected = malloc((size_t)NAMES * 2 + 1);
	size_t i;
	run r;

	assert_non_null(names);
	assert_non_null(expected);
	write_text(f->in[0], "x\n");
	for (i = 0; i < NAMES; i++) {
		memcpy(names + i * 3, "in", 3);
		memcpy(expected + i * 2, "x\n", 3);
	}
	setup.dir = f->dir;
	setup.in = names;
	setup.in_bytes = (size_t)NAMES * 3;
	run_command(&r, &setup, "sort", "--files0-from=-", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, expected);
	run_free(&r);
	free(names);
	free(expected);
}

static void test_header(void **state)
{
	fixture *f = *state;

	expect_output("name\nb\na\n", "name\na\nb\n", "sort", "--header=1", NULL);
	expect_output("z\ny\nb\na\n", "z\ny\nb\na\n", "sort", "--header=2", "-r", NULL);
	expect_output("z\ny", "z\ny\n", "sort", "--header=5", NULL);
	expect_output("b\na\n", "a\nb\n", "sort", "--header=0", NULL);
	/* equal lines of the header stay */
	expect_output("x\nx\nx\nx\n", "x\nx\nx\n", "sort", "--header=2", "-u", NULL);
	/* each input has one, and the first one's is written */
	write_text(f->in[0], "h\nc\n");
	write_text(f->out, "h\nb\nz\n");
	expect_output("", "h\nb\nc\nz\n", "sort", "--header=1", f->in[0], f->out, NULL);
	expect_output("", "h\nb\nc\nz\n", "sort", "-m", "--header=1", f->in[0], f->out, NULL);
	expect_output("z\na\nb\n", "", "sort", "-c", "--header=1", NULL);
	expect_trouble(NULL, "--header x", "not a number", "sort", "--header=x", NULL);
	expect_trouble(NULL, "--header -1", "not a number", "sort", "--header=-1", NULL);
}

/* Numbers from 0 to n - 1 with leading zeroes, a line each: in order, or any other. */
static char *make_numbers(size_t n, int in_order)
{
	char *lines = malloc(n * 8 + 1);
	size_t i, k, number;

	assert_non_null(lines);
	for (i = 0; i < n; i++) {
		number = in_order ? i : i * 7919 % n;
		for (k = 7; k-- > 0; number /= 10)
			lines[i * 8 + k] = (char)('0' + number % 10);
		lines[i * 8 + 7] = '\n';
	}
	lines[n * 8] = '\0';
	return lines;
}

/* More runs than memory was planned for: a line each, or a pipe that has eight times the least memory. */
static void test_many_runs(void **state)
{
	static const struct {
		size_t n;
		const char *option, *memory;
	} cases[] = { { 3000, "--run-size=1", "-S16M" }, { 1000000, "--stable", "-S1M" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *in = make_numbers(cases[i].n, 0), *expected = make_numbers(cases[i].n, 1);
		run_setup setup = { 0 };
		run r;

		setup.in_fd = feed_pipe(in, cases[i].n * 8);
		run_command(&r, &setup, "sort", cases[i].option, cases[i].memory, NULL);
		close(setup.in_fd);
		assert_status(&r, 0);
		assert_true(strcmp(r.out, expected) == 0);
		run_free(&r);
		free(in);
		free(expected);
	}
}

/* A first file that has nothing but a part of the header ends it for itself, not for the others. */
static void test_short_header(void **state)
{
	static const char *const commands[] = { "sort", "merge", "unique", "top", "shuffle" };
	fixture *f = *state;
	size_t i;
	run r;

	write_text(f->in[0], "h\n");
	write_text(f->out, "h\ni\nb\n");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		run_command(&r, NULL, commands[i], "--header=2", f->in[0], f->out, NULL);
		assert_status(&r, 0);
		assert_string_equal(r.out, "h\nb\n");
		assert_non_null(strstr(r.err, "its header is left out, although it is not that of "));
		run_free(&r);
	}
}

static void test_csv(void **state)
{
	static const char table[] = "id,name\n\"1,5\",b\n2,a\n\"x \"\"y\"\", z\",0\n";

	(void)state;
	expect_output(table, "id,name\n\"x \"\"y\"\", z\",0\n2,a\n\"1,5\",b\n", "sort", "--header=1", "--csv", "-k2,2",
		      NULL);
	/* without it, the second field begins between the quotes */
	expect_output("\"1,5\",b\n\"1,4\",c\n", "\"1,4\",c\n\"1,5\",b\n", "sort", "-t,", "-k2,2", NULL);
	expect_output("\"1,5\",b\n\"1,4\",c\n", "\"1,5\",b\n\"1,4\",c\n", "sort", "--csv", "-k2,2", NULL);
	expect_output("\"1;5\";b\n\"1;6\";a\n", "\"1;6\";a\n\"1;5\";b\n", "sort", "--csv", "-t;", "-k2,2", NULL);
	expect_output("b\na\n", "a\nb\n", "sort", "--csv", NULL);
}

/* What is in quotes ends no record, whatever is done with it; a quote in the middle of a field is a byte like
 * others. */
static void test_csv_newlines(void **state)
{
	static const char table[] = "id,\"the\nname\"\n2,\"x\n9,y\"\n1,z\n", body[] = "2,\"x\n9,y\"\n1,z\n";
	static const char sorted[] = "id,\"the\nname\"\n1,z\n2,\"x\n9,y\"\n";
	fixture *f = *state;

	expect_output(table, sorted, "sort", "--csv", "--header=1", "-k1,1", NULL);
	expect_output(table, table, "sort", "--csv", "--header=1", "-k2,2", NULL);
	expect_output(body, "1,z\n2,\"x\n9,y\"\n", "sort", "--csv", "--run-size=1", NULL);
	write_text(f->in[0], table);
	write_text(f->out, sorted);
	expect_output("", "id,\"the\nname\"\n1,z\n1,z\n2,\"x\n9,y\"\n2,\"x\n9,y\"\n", "sort", "--csv", "--header=1",
		      f->in[0], f->out, NULL);
	expect_output("", "id,\"the\nname\"\n1,z\n2,\"x\n9,y\"\n", "unique", "--csv", "--header=1", f->in[0], f->out,
		      NULL);
	expect_output("", "id,\"the\nname\"\n1,z\n1,z\n2,\"x\n9,y\"\n2,\"x\n9,y\"\n", "merge", "--csv", "--header=1",
		      f->out, f->out, NULL);
	expect_output("", "id,\"the\nname\"\n1,z\n", "top", "--csv", "--header=1", "-n1", f->in[0], NULL);
	expect_output("", "", "sort", "-c", "--csv", "--header=1", f->out, NULL);
	expect_output("h\n\"x\ny\"\n", "h\n\"x\ny\"\n", "shuffle", "--csv", "--header=1", NULL);
	expect_output("b\"\na\n", "a\nb\"\n", "sort", "--csv", NULL);
	write_text(f->in[1], "a,b\n1,\"two\nthree\"\n4,\"five\n6\n");
	expect_trouble(NULL, ":4: ", "a quote is opened here and never closed", "sort", "--csv", "-k1,1", f->in[1],
		       NULL);
	expect_trouble(NULL, ":4: ", "a quote is opened here and never closed", "unique", "--csv", f->in[1], NULL);
	expect_trouble(NULL, ":4: ", "a quote is opened here and never closed", "check", "--csv", f->in[1], NULL);
}

static void test_zero_terminated(void **state)
{
	static const char in[] = "b\nx\0a\0c", sorted[] = "a\0b\nx\0c";
	run_setup setup = { 0 };
	run r;

	(void)state;
	setup.in = in;
	setup.in_bytes = sizeof(in) - 1;
	run_command(&r, &setup, "sort", "-z", NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, sizeof(sorted));
	assert_memory_equal(r.out, sorted, sizeof(sorted));
	run_free(&r);
}

/* Marks are compared with GNU's elsewhere; these are of what it does not have. */
static void test_debug(void **state)
{
	run_setup setup = { 0 };
	run r;

	(void)state;
	setup.in = "name,n\n\"a,\tb\",20\nc,3\n";
	setup.in_bytes = strlen(setup.in);
	run_command(&r, &setup, "sort", "--debug", "--csv", "--header=1", "-k2,2n", "-s", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "name,n\nc,3\n  _\n\"a,>b\",20\n       __\n");
	assert_string_equal(r.err, "extmem sort: text ordering performed using simple byte comparison\n"
				   "extmem sort: note numbers use '.' as a decimal point in this locale\n");
	run_free(&r);
	setup.out_fd = open("/dev/full", O_WRONLY);
	assert_true(setup.out_fd >= 0);
	run_command(&r, &setup, "sort", "--debug", NULL);
	close(setup.out_fd);
	assert_int_equal(r.status, 2);
	assert_non_null(strstr(r.err, "standard output: No space left"));
	run_free(&r);
}

static void test_disorder(void **state)
{
	fixture *f = *state;
	run_setup setup = { 0 };
	run r;

	setup.in = "a\nc\nb\r\na\n";
	setup.in_bytes = strlen(setup.in);
	run_command(&r, &setup, "sort", "-c", NULL);
	assert_status(&r, 1);
	assert_string_equal(r.err, "extmem sort: -:3: disorder: b\r\n");
	run_free(&r);
	run_command(&r, &setup, "sort", "-C", NULL);
	assert_status(&r, 1);
	assert_string_equal(r.err, "");
	run_free(&r);
	write_text(f->in[0], "1\n1\n");
	run_command(&r, NULL, "sort", "-cu", f->in[0], NULL);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, "in:2: disorder: 1\n"));
	assert_string_equal(r.out, "");
	run_free(&r);
}

/* What is for lines is refused for records, and the other way round. */
static void test_records_or_lines(void **state)
{
	static const char *const only_lines[] = { "-n", "-b", "-c", "-z", "-t,", "--csv", "--header=1", "--debug",
						  "--files0-from=in", "--sort=month", "--check" };
	fixture *f = *state;
	char *plus = test_path(f->dir, "+1");
	run_setup setup = { 0 };
	size_t i;
	run r;

	write_text(f->in[0], "ba");
	for (i = 0; i < sizeof(only_lines) / sizeof(only_lines[0]); i++)
		expect_trouble(NULL, "is for lines", "--record-size", "sort", "--record-size=1", only_lines[i],
			       f->in[0], NULL);
	expect_trouble(NULL, "is for lines", "-n ", "check", "-n", "--record-size=1", f->in[0], NULL);
	expect_output("ba", "ab", "sort", "--rec=1", NULL);
	expect_output("ba", "ab", "sort", "-k0:u8", "--record-size=1", NULL);
	/* behind --, and as the argument of another option, it is no option */
	expect_trouble(NULL, "cannot read: --record-size=1", "", "sort", "--", "--record-size=1", NULL);
	expect_trouble(NULL, "at start of '--record-size=1'", "", "sort", "-k", "--record-size=1", NULL);
	/* for records, +1 is a file */
	write_text(plus, "dc");
	setup.dir = f->dir;
	run_command(&r, &setup, "sort", "--record-size=1", "+1", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "cd");
	run_free(&r);
	free(plus);
}

static void test_locale(void **state)
{
	run_setup setup = { 0 };
	run r;

	(void)state;
	setup.env[0] = "LC_ALL=C.UTF-8";
	setup.in = "a\nB\n";
	setup.in_bytes = 4;
	run_command(&r, &setup, "sort", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "B\na\n");
	assert_string_equal(r.err, "");
	run_free(&r);
}

/* An abbreviation is that of an option that people know, if there is one. */
static void test_abbreviations(void **state)
{
	run r;

	(void)state;
	expect_output("c\nb\na\n", "c\na\nb\n", "sort", "--hea=1", NULL);
	expect_output("\"1,2\",b\nx,a\n", "x,a\n\"1,2\",b\n", "sort", "--cs", "-k2", NULL);
	expect_output("a\nb\n", "b\na\n", "sort", "--re", NULL);
	expect_output("ba", "ab", "sort", "--rec=1", NULL);
	expect_output("a\nb\n", "a\nb\n", "sort", "--st", NULL);
	run_command(&r, NULL, "sort", "--he", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "Usage: extmem sort"));
	run_free(&r);
	/* those that fit only options of our own */
	expect_output("a\n", "a\n", "sort", "--back=memory", "--is=scalar", NULL);
}

static void test_broken_streams(void **state)
{
	static const char *const how[] = { "--no-progress", "--debug" };
	fixture *f = *state;
	run_setup setup = { 0 };
	int fd[2];
	size_t i;
	run r;

	setup.close_in = 1;
	expect_trouble(&setup, "standard input", "Bad file descriptor", "sort", NULL);
	expect_trouble(&setup, "standard input", "Bad file descriptor", "sort", "-c", NULL);
	expect_trouble(&setup, "standard input", "Bad file descriptor", "check", NULL);
	memset(&setup, 0, sizeof(setup));
	setup.out_fd = open("/dev/full", O_WRONLY);
	assert_true(setup.out_fd >= 0);
	write_text(f->in[0], "a\n");
	expect_trouble(&setup, "standard output", "No space left", "sort", f->in[0], NULL);
	close(setup.out_fd);

	/* A reader that has seen enough ends it without a word. */
	for (i = 0; i < 2; i++) {
		const char *const args[] = { "sort", how[i], f->in[0], NULL };

		assert_int_equal(pipe(fd), 0);
		close(fd[0]);
		setup.out_fd = fd[1];
		run_args(&r, &setup, args);
		close(fd[1]);
		assert_int_equal(r.signal, SIGPIPE);
		if (!i)
			assert_string_equal(r.err, "");
		run_free(&r);
	}
}

/* n lines with numbers that collide, keys and junk. */
static char *make_lines(test_rng *rng, size_t n, size_t *bytes)
{
	char *text = malloc(n * 48), *p = text;
	size_t i;

	assert_non_null(text);
	for (i = 0; i < n; i++)
		p += snprintf(p, 48, "%" PRIu64 " %08" PRIx64 ",%zu\n", test_below(rng, 500),
			      test_random(rng) & 0xffffffff, i);
	*bytes = (size_t)(p - text);
	return text;
}

/* The options of resources work for lines as they do for records; what comes out is what GNU sort gives. */
static void test_external(void **state)
{
	static const char *const options[] = {
		"",
		"--run-size=3000 --block-size=8192",
		"--run-size=1000 --block-size=4096 --batch-size=3 --parallel=2",
		"-S 4M --backend=syscall --direct=off --isa=scalar",
		"-S 4096 --backend=memory --run-size=2000",
	};
	test_rng rng = test_rng_make(test_seed());
	fixture *f = *state;
	char line[256], *text;
	size_t bytes, i;
	run g, e;

	if (!gnu_version("sort"))
		return;
	text = make_lines(&rng, 20000, &bytes);
	write_file(f->in[0], text, bytes);
	gnu_shell(&g, f->dir, "$SORT -k1,1n -k2r in", 1);
	assert_status(&g, 0);
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		snprintf(line, sizeof(line), "$SORT -k1,1n -k2r -T . %s --no-progress in", options[i]);
		gnu_shell(&e, f->dir, line, 0);
		if (e.status || e.out_bytes != g.out_bytes || memcmp(e.out, g.out, g.out_bytes)) {
			print_error("%s: %d, %s\n", line, e.status, e.err);
			fail();
		}
		run_free(&e);
	}
	assert_int_equal(count_files(f->dir), 1);
	run_free(&g);
	free(text);
}

static void test_plan_and_stats(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	fixture *f = *state;
	char *text;
	size_t bytes;
	run r;

	text = make_lines(&rng, 5000, &bytes);
	write_file(f->in[0], text, bytes);
	run_command(&r, NULL, "sort", "--plan", "-k1n", f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "(estimated, with 64 bytes each)\n"));
	assert_int_equal(strtoull(r.out + strcspn(r.out, "0123456789"), NULL, 10), (bytes + 63) / 64);
	run_free(&r);
	expect_trouble(NULL, "standard input", "--plan", "sort", "--plan", NULL);
	/* Files whose content is made when it is read do not say how much that is. */
	expect_trouble(NULL, "/proc/self/maps", "--plan needs files whose size is known", "sort", "--plan",
		       "/proc/self/maps", NULL);
	run_command(&r, NULL, "sort", "--stats", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, "5000 records in, 5000 out"));
	run_free(&r);
	run_command(&r, NULL, "sort", "--stats=json", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(r.err[0], '{');
	run_free(&r);
	free(text);
}

/* The number that stands behind a name in what check prints. */
static uint64_t number_of(const char *text, const char *name, int base)
{
	const char *p = strstr(text, name);

	assert_non_null(p);
	return strtoull(p + strlen(name), NULL, base);
}

static void test_check(void **state)
{
	fixture *f = *state;
	uint64_t sum;
	run r;

	write_text(f->in[0], "1 a\n2 b\n2 a\n10 c\n");
	run_command(&r, NULL, "check", "-n", f->in[0], NULL);
	assert_status(&r, 1);
	assert_int_equal(number_of(r.out, "records:", 10), 4);
	assert_int_equal(number_of(r.out, "out of order:", 10), 1);
	assert_int_equal(number_of(r.out, "duplicates:", 10), 0);
	assert_non_null(strstr(r.err, "in: line 3 is out of order\n"));
	sum = number_of(r.out, "checksum:", 16);
	run_free(&r);

	/* With -s only the keys count. */
	run_command(&r, NULL, "check", "-ns", f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(number_of(r.out, "duplicates:", 10), 1);
	assert_string_equal(r.err, "");
	run_free(&r);
	run_command(&r, NULL, "check", "-nu", f->in[0], NULL);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, "line 3 does not come after the one before it"));
	run_free(&r);

	/* The checksum stays when lines change places, whatever the order asked for. */
	write_text(f->in[0], "10 c\n2 b\n1 a\n2 a\n");
	run_command(&r, NULL, "check", "--unsorted", f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(number_of(r.out, "checksum:", 16), sum);
	assert_null(strstr(r.out, "out of order"));
	run_free(&r);
	write_text(f->in[0], "10 c\n2 b\n1 a\n2 A\n");
	run_command(&r, NULL, "check", "--unsorted", f->in[0], NULL);
	assert_int_not_equal(number_of(r.out, "checksum:", 16), sum);
	run_free(&r);
}

static void test_check_forms(void **state)
{
	fixture *f = *state;
	run_setup setup = { 0 };
	run r;

	write_text(f->in[0], "head\n\"x,1\",2\n\"a,0\",3\n");
	run_command(&r, NULL, "check", "--header=1", "--csv", "-k2,2n", f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(number_of(r.out, "records:", 10), 2);
	run_free(&r);
	/* Two files: numbers are added, each is looked at on its own. */
	run_command(&r, NULL, "check", "--header=1", "--csv", "-k2,2n", f->in[0], f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(number_of(r.out, "records:", 10), 4);
	run_free(&r);
	setup.in = "b\0a";
	setup.in_bytes = 4;
	run_command(&r, &setup, "check", "-z", NULL);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, "standard input: line 2 is out of order"));
	run_free(&r);
	expect_trouble(NULL, "No such file", "", "check", f->out, NULL);
	expect_trouble(NULL, "options '-gn' are incompatible", "", "check", "-gn", f->in[0], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard_input),
		cmocka_unit_test_setup_teardown(test_several_inputs, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_output, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_files0, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_many_names, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_header, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_short_header, fixture_make, fixture_free),
		cmocka_unit_test(test_many_runs),
		cmocka_unit_test(test_csv),
		cmocka_unit_test_setup_teardown(test_csv_newlines, fixture_make, fixture_free),
		cmocka_unit_test(test_zero_terminated),
		cmocka_unit_test(test_debug),
		cmocka_unit_test_setup_teardown(test_disorder, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_records_or_lines, fixture_make, fixture_free),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_abbreviations),
		cmocka_unit_test_setup_teardown(test_broken_streams, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_external, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_plan_and_stats, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_check, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_check_forms, fixture_make, fixture_free),
	};

	return cmocka_run_group_tests_name("cli_text", tests, run_setup_group, NULL);
}
