/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_notes.c -- what the command says beside its results: notes for people, where to read about options, and help
 * that does not arrive.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"

#define ROOM 4096

/* A terminal: what is written to *slave is read from the descriptor returned.  -1: there are none here. */
static int open_terminal(int *slave)
{
	const int master = posix_openpt(O_RDWR | O_NOCTTY);
	const char *name = master >= 0 && !grantpt(master) && !unlockpt(master) ? ptsname(master) : NULL;

	*slave = name ? open(name, O_RDWR | O_NOCTTY) : -1;
	if (*slave < 0 && master >= 0)
		close(master);
	return *slave < 0 ? -1 : master;
}

/* Run with standard error a terminal, and with these variables; what was printed there goes to said. */
static void run_on_terminal(char said[ROOM], const char *locale, const char *const *args)
{
	static const char in[] = "b\na\n";
	run_setup setup = { 0 };
	int slave, master = open_terminal(&slave);
	ssize_t n;
	run r;

	if (master < 0)
		skip();
	setup.in = in;
	setup.in_bytes = strlen(in);
	setup.err_fd = slave;
	setup.env[0] = "LC_ALL=";
	setup.env[1] = "LC_COLLATE=";
	setup.env[2] = locale;
	run_args(&r, &setup, args);
	assert_status(&r, 0);
	/* Something of ours ends it: a terminal has no end of its own. */
	assert_int_equal(write(slave, "|", 1), 1);
	n = 0;
	do {
		ssize_t got = read(master, said + n, (size_t)(ROOM - 1 - n));

		assert_true(got > 0);
		n += got;
	} while (said[n - 1] != '|');
	said[n - 1] = '\0';
	close(slave);
	close(master);
	run_free(&r);
}

/* Lines of ours: a shell that starts the command may complain of a locale, too. */
static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; (text = strstr(text, "extmem ")) != NULL; text++)
		n++;
	return n;
}

/* The order is that of bytes whatever the locale says, and people are told, once; scripts are not. */
static void test_locale(void **state)
{
	static const char *const other[] = { "LC_ALL=en_US.UTF-8", "LC_COLLATE=de_DE", "LANG=xx" };
	static const char *const same[] = { "LC_ALL=C", "LC_COLLATE=POSIX", "LANG=C.UTF-8", "LANG=" };
	static const char *const commands[][4] = {
		{ "sort", "--no-progress" }, { "sort", "-r", "--no-progress" }, { "merge", "--no-progress", "-" },
		{ "unique", "-c", "--no-progress" }, { "top", "--no-progress" },
	};
	static const char *const no_matter[][4] = {
		{ "shuffle", "--no-progress" }, { "sort", "--record-size=2", "--no-progress" },
		{ "sort", "--no-warnings", "--no-progress" },
	};
	char said[ROOM];
	run_setup setup = { 0 };
	size_t i, k;
	run r;

	(void)state;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		for (k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
			run_on_terminal(said, other[i], commands[k]);
			if (lines_of(said) != 1 || !strstr(said, other[i]) || !strstr(said, "LC_ALL=C "))
				fail_msg("%s, %s: %s", commands[k][0], other[i], said);
		}
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		run_on_terminal(said, same[i], commands[0]);
		assert_int_equal(lines_of(said), 0);
	}
	for (k = 0; k < sizeof(no_matter) / sizeof(no_matter[0]); k++) {
		run_on_terminal(said, other[0], no_matter[k]);
		assert_int_equal(lines_of(said), 0);
	}

	setup.in = "b\na\n";
	setup.in_bytes = 4;
	setup.env[0] = other[0];
	run_command(&r, &setup, "sort", NULL);
	assert_status(&r, 0);
	assert_int_equal(lines_of(r.err), 0);
	run_free(&r);
	/* Who asks what is done with the keys is told in any case. */
	run_command(&r, &setup, "sort", "--debug", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, other[0]));
	run_free(&r);
}

/* What is asked for is more than there is, or done in another way. */
static void test_bounds(void **state)
{
	static const char *const args[] = { "sort", "--no-progress", "--batch-size=8193", "--compress-program=lz4c",
					    NULL };
	static const char *const threads[] = { "sort", "--no-progress", "--record-size=2", "--parallel=513", NULL };
	static const char *const most[] = { "sort", "--no-progress", "--record-size=2", "--parallel=512",
					    "--batch-size=8192", NULL };
	static const char in[] = "c\nb\na\n";
	char said[ROOM];

	(void)state;
	run_on_terminal(said, "LANG=C", args);
	assert_int_equal(lines_of(said), 2);
	assert_non_null(strstr(said, "--batch-size=8193"));
	assert_non_null(strstr(said, "--compress-program=lz4c"));
	assert_non_null(strstr(said, "--scratch-compress"));
	run_on_terminal(said, "LANG=C", threads);
	assert_int_equal(lines_of(said), 1);
	assert_non_null(strstr(said, "--parallel=513"));
	run_on_terminal(said, "LANG=C", most);
	assert_string_equal(said, "");

	expect_output(in, "a\nb\nc\n", "sort", "--batch-size=18446744073709551618", NULL);
	expect_output(in, "a\nb\nc\n", "sort", "--record-size=2", "--parallel=18446744073709551617",
		      "--batch-size=4294967298", NULL);
	expect_output(in, "a\nb\nc\n", "sort", "-S", "7E", "--no-warnings", NULL);
}

/* Scratch is compressed if this library can do that, and the output is what it is without. */
static void test_compress_program(void **state)
{
	fixture *f = *state;
	char *text = malloc(8 * 300000 + 1);
	unsigned i;
	run r, s;

	assert_non_null(text);
	for (i = 0; i < 300000; i++)
		sprintf(text + 8 * (size_t)i, "%07u\n", (i * 7919u) % 300000u);
	write_file(f->in[0], text, 8 * 300000);
	run_command(&r, NULL, "sort", "-S", "8M", "-T", f->scratch, "--run-size=50000",
		    "--compress-program=no-such-program", f->in[0], NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	run_command(&s, NULL, "sort", f->in[0], NULL);
	assert_status(&s, 0);
	assert_int_equal(r.out_bytes, s.out_bytes);
	assert_memory_equal(r.out, s.out, s.out_bytes);
	run_free(&r);
	run_free(&s);
	/* What --scratch-compress says holds, wherever it stands. */
	expect_output("b\na\n", "a\nb\n", "sort", "--scratch-compress=never", "--compress-program=gzip", NULL);
	expect_output("b\na\n", "a\nb\n", "sort", "--compress-program=gzip", "--scratch-compress=never", NULL);
	expect_trouble(NULL, "multiple compress programs", "", "sort", "--compress-program=a", "--compress-program=b",
		       f->in[0], NULL);
	free(text);
}

/* A mistake in the spelling of options ends with where to read about them. */
static void test_try_help(void **state)
{
	static const struct {
		const char *args[5], *where;
	} wrong[] = {
		{ { "sort", "--what" }, "Try 'extmem sort --help' for more information.\n" },
		{ { "sort", "-k" }, "Try 'extmem sort --help' for more information.\n" },
		{ { "sort", "--sort=what" }, "Try 'extmem sort --help' for more information.\n" },
		{ { "sort", "--files0-from=x", "y" }, "Try 'extmem sort --help' for more information.\n" },
		{ { "merge", "--what" }, "Try 'extmem merge --help' for more information.\n" },
		{ { "unique", "--what" }, "Try 'extmem unique --help' for more information.\n" },
		{ { "top", "--what" }, "Try 'extmem top --help' for more information.\n" },
		{ { "shuffle", "--what" }, "Try 'extmem shuffle --help' for more information.\n" },
		{ { "generate", "--what" }, "Try 'extmem generate --help' for more information.\n" },
		{ { "check", "--what" }, "Try 'extmem check --help' for more information.\n" },
		{ { "btree", "--what" }, "Try 'extmem btree --help' for more information.\n" },
		{ { "btree", "load", "--what" }, "Try 'extmem btree load --help' for more information.\n" },
		{ { "btree", "get", "--what" }, "Try 'extmem btree get --help' for more information.\n" },
		{ { "btree", "stat", "--what" }, "Try 'extmem btree stat --help' for more information.\n" },
		{ { "disks", "--what" }, "Try 'extmem disks --help' for more information.\n" },
		{ { "bench", "--what" }, "Try 'extmem bench --help' for more information.\n" },
		{ { "bench", "io", "--what" }, "Try 'extmem bench io --help' for more information.\n" },
		{ { "bench", "blocks", "--what" }, "Try 'extmem bench blocks --help' for more information.\n" },
		{ { "what" }, "Try 'extmem --help' for more information.\n" },
		{ { NULL }, "Try 'extmem --help' for more information.\n" },
	};
	size_t i, n;
	run r;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		run_args(&r, NULL, wrong[i].args);
		assert_status(&r, 2);
		n = strlen(wrong[i].where);
		if (strlen(r.err) <= n || strcmp(r.err + strlen(r.err) - n, wrong[i].where) || r.out_bytes)
			fail_msg("%s %s: %s", wrong[i].args[0], wrong[i].args[1], r.err);
		run_free(&r);
	}
}

/* Help and version that do not arrive are trouble; a sort that prints nothing does not need standard output. */
static void test_lost(void **state)
{
	static const char *const commands[][3] = {
		{ "--help" }, { "sort", "--help" }, { "merge", "--help" }, { "unique", "--help" }, { "top", "--help" },
		{ "shuffle", "--help" }, { "generate", "--help" }, { "check", "--help" }, { "disks", "--help" },
		{ "bench", "--help" }, { "bench", "io", "--help" }, { "btree", "--help" },
		{ "btree", "load", "--help" },
	};
	fixture *f = *state;
	size_t i, k, full;

	write_text(f->in[0], "b\na\n");
	for (full = 0; full < 2; full++) {
		run_setup setup = { 0 };
		run r;

		setup.close_out = !full;
		setup.out_fd = full ? open("/dev/full", O_WRONLY) : 0;
		if (setup.out_fd < 0)
			skip();
		for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			for (k = 0; k < 2; k++) {
				const char *args[4] = { commands[i][0], commands[i][1], commands[i][2], NULL };
				size_t last = 0;

				while (last < 2 && args[last + 1])
					last++;
				if (k)
					args[last] = "--version";
				run_args(&r, &setup, args);
				assert_trouble(&r, "standard output", full ? "No space left" : "Bad file descriptor");
				run_free(&r);
			}
		run_command(&r, &setup, "sort", "-o", f->out, f->in[0], NULL);
		assert_status(&r, 0);
		assert_string_equal(r.err, "");
		run_free(&r);
		assert_file(f->out, "a\nb\n", 4);
		if (full)
			close(setup.out_fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test_setup_teardown(test_compress_program, fixture_make, fixture_free),
		cmocka_unit_test(test_try_help),
		cmocka_unit_test_setup_teardown(test_lost, fixture_make, fixture_free),
	};

	return cmocka_run_group_tests_name("cli/notes", tests, run_setup_group, NULL);
}
