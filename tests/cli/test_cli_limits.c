/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_limits.c -- the command where the process is limited: address space, data, stack, number of threads.
 *
 * Each limit is tried with each kind of work, which has to give what it gives without one.
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
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"

#define LINES 20000
#define LINE_BYTES 8
#define MIB ((uint64_t)1 << 20)

/* Arguments behind which the name of a file stands, whose lines are records of 8 bytes too. */
static const char *const works[][8] = {
	{ "sort" },
	{ "sort", "-r", "--parallel=4", "-S16M" },
	{ "sort", "-k1.3n", "-S6M" },
	{ "sort", "--debug", "-k1.3,1.5" },
	{ "sort", "--record-size=8" },
	{ "sort", "--record-size=8", "-k0:u32le", "-r", "--parallel=4", "-S16M" },
	{ "sort", "--record-size=8", "-S2M", "--parallel=2", "--backend=syscall" },
	{ "sort", "--record-size=8", "-S2M", "--parallel=2", "--direct=off" },
	{ "sort", "-S6M", "--parallel=2", "--backend=stdio" },
	{ "sort", "-m" },
	{ "merge", "--record-size=8" },
	{ "unique", "-c" },
	{ "unique", "--record-size=8" },
	{ "top", "-n5" },
	{ "top", "-n5", "--record-size=8" },
	{ "shuffle", "--seed=1" },
	{ "shuffle", "--seed=1", "--record-size=8" },
	{ "check" },
	{ "check", "--record-size=8" },
};

enum { WORKS = sizeof(works) / sizeof(works[0]) };

static void run_work(run *r, const run_setup *setup, size_t work, const char *file)
{
	const char *args[10];
	size_t n = 0;

	while (n < 8 && works[work][n]) {
		args[n] = works[work][n];
		n++;
	}
	args[n++] = file;
	args[n] = NULL;
	run_args(r, setup, args);
}

static int make_input(void **state)
{
	test_rng rng = test_rng_make(1);
	char *text = malloc(LINES * LINE_BYTES + 1);
	fixture *f;
	uint64_t i;

	assert_non_null(text);
	fixture_make(state);
	f = *state;
	for (i = 0; i < LINES; i++)
		snprintf(text + i * LINE_BYTES, LINE_BYTES + 1, "%07u\n", (unsigned)test_below(&rng, 10000));
	write_file(f->in[0], text, LINES * LINE_BYTES);
	free(text);
	/* Somebody else will read it. */
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(chmod(f->in[0], 0644), 0);
	return 0;
}

static void all_works(const fixture *f, const run_setup *limited)
{
	const run_setup usual = { .program = limited->program, .env = { limited->env[0] } };
	size_t i;

	for (i = 0; i < WORKS; i++) {
		run want, got;

		run_work(&want, &usual, i, f->in[0]);
		run_work(&got, limited, i, f->in[0]);
		if (got.status != want.status || strcmp(got.err, want.err) || got.out_bytes != want.out_bytes ||
		    memcmp(got.out, want.out, want.out_bytes)) {
			print_error("work %zu (%s %s): status %d, signal %d, not %d, %s\n", i, works[i][0],
				    works[i][1] ? works[i][1] : "", got.status, got.signal, want.status, got.err);
			fail();
		}
		/* An input that is no work has shown nothing. */
		assert_true(want.status == 0 || strcmp(works[i][0], "check") == 0 ||
			    strcmp(works[i][0], "merge") == 0 || strcmp(works[i][1], "-m") == 0);
		run_free(&want);
		run_free(&got);
	}
}

static void test_address_space(void **state)
{
	static const uint64_t mib[] = { 1024, 256, 128 };
	run_setup setup = { 0 };
	size_t i;

	if (TEST_SHADOW)
		skip();
	for (i = 0; i < 3; i++) {
		setup.space = mib[i] * MIB;
		all_works(*state, &setup);
	}
}

static void test_data(void **state)
{
	static const uint64_t mib[] = { 1024, 256, 128 };
	run_setup setup = { 0 };
	size_t i;

	if (TEST_SHADOW)
		skip();
	for (i = 0; i < 3; i++) {
		setup.data = mib[i] * MIB;
		all_works(*state, &setup);
	}
}

/* The main thread has such a stack, and threads that are started as much by default. */
static void test_stack(void **state)
{
	static const uint64_t kib[] = { 128, 64 };
	run_setup setup = { 0 };
	size_t i;

	if (TEST_SHADOW)
		skip();
	for (i = 0; i < 2; i++) {
		setup.stack = kib[i] << 10;
		all_works(*state, &setup);
	}
}

/* Too large a budget is told of before, and when it fails the message names it and the limit. */
static void test_message(void **state)
{
	fixture *f = *state;
	run_setup setup = { 0 };
	run r;
	int i;

	if (TEST_SHADOW)
		skip();
	for (i = 0; i < 2; i++) {
		setup.space = i == 0 ? 128 * MIB : 0;
		setup.data = i == 1 ? 128 * MIB : 0;
		run_command(&r, &setup, "sort", "-S1G", f->in[0], NULL);
		assert_non_null(strstr(r.err, "warning: the memory budget of 1073741824 bytes exceeds the "));
		assert_non_null(strstr(r.err, i == 0 ? "bytes that the limit on the address space (ulimit -v) leaves\n"
						     : "bytes that the limit on data (ulimit -d) leaves\n"));
		run_free(&r);
	}
	/* So little that no plan fits in. */
	setup.data = MIB;
	expect_trouble(&setup, "out of memory: cannot allocate ",
		       " bytes: -S is 67108864 bytes, and data (ulimit -d) is limited to 1048576\n", "sort",
		       "--no-warnings", "-S64M", f->in[0], NULL);
}

/* What --plan or a message says behind some words. */
static uint64_t number_behind(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	if (!at)
		fail_msg("\"%s\" is not in: %s", words, text);
	return strtoull(at + strlen(words), NULL, 10);
}

/* A list of n names of the input that are 200 bytes long each. */
static void write_names(const char *path, const char *input, size_t n)
{
	char name[200];
	size_t bytes = sizeof(name) - 1 - strlen(input), i;
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	memset(name, '/', sizeof(name));
	memcpy(name + bytes, input, strlen(input) + 1);
	for (i = 0; i < n; i++)
		assert_int_equal(fwrite(name, sizeof(name), 1, f), 1);
	fclose(f);
}

/* The names in a list count in what -S allows, and in the memory that is said to do. */
static void test_names(void **state)
{
	static const size_t count = 20000, bytes = 20000 * (200 + sizeof(char *));
	fixture *f = *state;
	char list[512], size[32];
	uint64_t least, few;
	run r;

	assert_true((size_t)snprintf(list, sizeof(list), "--files0-from=%s", f->in[1]) < sizeof(list));
	write_names(f->in[1], f->in[0], count);
	run_command(&r, NULL, "sort", "--plan", "-S16M", list, NULL);
	assert_status(&r, 0);
	assert_true(number_behind(r.out, "at most:") <= 16 * MIB - bytes);
	least = number_behind(r.out, "least memory:");
	run_free(&r);
	write_names(f->in[1], f->in[0], 1);
	run_command(&r, NULL, "sort", "--plan", "-S16M", list, NULL);
	assert_true(number_behind(r.out, "at most:") > 15 * MIB);
	few = number_behind(r.out, "least memory:");
	assert_true(least > few + bytes / 2 && least < few + 2 * bytes);
	run_free(&r);
	write_names(f->in[1], f->in[0], count);
	snprintf(size, sizeof(size), "-S%llub", (unsigned long long)least);
	run_command(&r, NULL, "sort", "--plan", size, list, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	run_free(&r);
}

/* May a user that has no rights use the program?  Not where it was built in a directory of somebody's own. */
static int nobody_may_run(const char *program)
{
	const pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit((geteuid() == 0 && (setgroups(0, NULL) != 0 || setuid(65534) != 0)) ||
		      access(program, R_OK | X_OK) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_threads(void **state)
{
	run_setup setup = { 0 };
	uint64_t n;

	if (TEST_SHADOW || !nobody_may_run(getenv("EXTMEM")))
		skip();
	setup.nproc = 1;
	for (n = 1; n <= 4; n++) {
		setup.nproc = n;
		all_works(*state, &setup);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_address_space, make_input, fixture_free),
		cmocka_unit_test_setup_teardown(test_data, make_input, fixture_free),
		cmocka_unit_test_setup_teardown(test_stack, make_input, fixture_free),
		cmocka_unit_test_setup_teardown(test_message, make_input, fixture_free),
		cmocka_unit_test_setup_teardown(test_names, make_input, fixture_free),
		cmocka_unit_test_setup_teardown(test_threads, make_input, fixture_free),
	};

	return cmocka_run_group_tests_name("cli/limits", tests, run_setup_group, NULL);
}
