/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_config.c -- the configuration file: where it is looked for, what it says, what options say instead, and what
 * is wrong with it.
 *
 * A line of the file does what an option does, so what the command prints with either is compared.
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
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"
#include "io/conform_fs.h"

enum { RECORDS = 60000, OPTION = 512, FUZZ = 60, LARGE = 1 << 20 };

#define SORT "sort", "--record-size=16"
#define EXTERNAL "--run-size=10000", "--block-size=4096"

typedef struct config {
	fixture *f;
	char *path;             /* of the file */
	char option[OPTION];    /* that names it */
} config;

static int setup(void **state)
{
	static config c;
	void *made;

	fixture_make(&made);
	c.f = made;
	fixture_add_records(c.f, RECORDS);
	c.path = test_path(c.f->dir, "config");
	snprintf(c.option, sizeof c.option, "--config=%s", c.path);
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	config *c = *state;
	void *f = c->f;

	free(c->path);
	return fixture_free(&f);
}

/* What it prints with these options and that text in the file. */
static char *printed(const config *c, const char *text, const char *const *command, const char *a, const char *b)
{
	const char *args[12];
	size_t n = 0;
	char *least;
	run r;

	write_text(c->path, text);
	for (; command[n]; n++)
		args[n] = command[n];
	args[n++] = c->option;
	if (a)
		args[n++] = a;
	if (a && b)
		args[n++] = b;
	args[n] = NULL;
	run_args(&r, NULL, args);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	free(r.err);
	/* A block size that is usual, and no more, does not raise this. */
	least = strstr(r.out, "least memory:");
	if (least)
		memmove(least, least + strcspn(least, "\n"), strlen(least + strcspn(least, "\n")) + 1);
	return r.out;
}

static void expect_same(const config *c, const char *const *command, const char *text, const char *a, const char *b)
{
	char *by_file = printed(c, text, command, NULL, NULL), *by_option = printed(c, "", command, a, b);

	assert_string_equal(by_file, by_option);
	free(by_option);
	free(by_file);
}

/* Options win over what the file says. */
static void expect_option(const config *c, const char *const *command, const char *text, const char *a)
{
	char *both = printed(c, text, command, a, NULL), *alone = printed(c, "", command, a, NULL);
	char *file = printed(c, text, command, NULL, NULL);

	assert_string_equal(both, alone);
	assert_string_not_equal(both, file);
	free(file);
	free(alone);
	free(both);
}

/* An option has a word not appear that appears without it. */
static void expect_not(const config *c, const char *const *command, const char *text, const char *a, const char *word)
{
	char *with = printed(c, text, command, a, NULL), *without = printed(c, text, command, NULL, NULL);

	assert_null(strstr(with, word));
	assert_non_null(strstr(without, word));
	free(without);
	free(with);
}

static void test_values(void **state)
{
	const config *c = *state;
	const char *const plan[] = { SORT, "--plan", "--no-progress", c->f->in[0], NULL };
	const char *const lines[] = { "sort", "--plan", "--no-progress", c->f->in[0], NULL };
	const char *const disks[] = { "disks", "--csv", NULL };
	const char *const json[] = { "disks", "--json", NULL };
	char *out;

	expect_same(c, plan, "block-size = 64K", "--block-size=64K", NULL);
	expect_same(c, plan, "memory=3M\n", "-S3M", NULL);
	expect_same(c, lines, "  memory\t= 50% \r\n", "-S50%", NULL);
	expect_same(c, plan, "threads = 1", "--parallel=1", NULL);
	/* What is free on a disk without a capacity changes all the time. */
	expect_same(c, disks, "disk = /,1M\nbackend = syscall", "--disk=/,1M", "--backend=syscall");
	expect_same(c, disks, "direct = off\ndisk = /,1M", "--direct=off", "--disk=/,1M");
	expect_same(c, disks, "disk = /,1M,memory,queue=5\ndisk = /,2M", "--disk=/,1M,memory,queue=5", "--disk=/,2M");
	out = printed(c, "scratch-max = 7M", json, NULL, NULL);
	assert_non_null(strstr(out, "\"scratch_max\": 7340032,"));
	free(out);

	expect_option(c, plan, "block-size = 64K", "--block-size=32K");
	expect_option(c, plan, "block-size = 64K", "--block-size=0");
	expect_option(c, plan, "memory = 50%", "-S3M");
	expect_option(c, plan, "memory = 8M", "-S3M");
	expect_option(c, lines, "memory = 8M", "-S5M");
	expect_option(c, lines, "memory = 50%", "-S5M");
	expect_option(c, plan, "threads = 1", "--parallel=2");
	expect_option(c, disks, "backend = memory", "--backend=simdisk");
	expect_option(c, disks, "disk = /,1M", "--disk=/,2M");
	expect_option(c, disks, "disk = /,1M\ndisk = /,3M", "--disk=/,2M");
	expect_not(c, disks, "disk = /,1M,memory\ndisk = /,1M,memory", "-T/", "1048576");
	expect_not(c, json, "scratch-max = 7M", "--scratch-max=0", "7340032");
	expect_not(c, disks, "disk = /,1M,memory", "--no-config", "1048576");
	expect_not(c, disks, "disk = /,1M,memory", "--config=", "1048576");
}

/* A sort obeys: the disks, and the limit on all of them; commas and backslashes in a path are escaped as in the
 * option. */
static void test_sort(void **state)
{
	const config *c = *state;
	char text[2 * OPTION], *named = test_path(c->f->scratch, "a,b\\c#d");
	struct stat sb;
	run r;

	snprintf(text, sizeof text,
		 "# two disks\n\ndisk = %s/a\\,b\\\\c#d,40M,,keep\ndisk=%s,50M,memory\nblock-size = 8K", c->f->scratch,
		 c->f->scratch);
	write_text(c->path, text);
	run_command(&r, NULL, SORT, "--run-size=10000", "--stats=json", c->option, "-o", c->f->out, c->f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, "\"block_size\": 8192,"));
	run_free(&r);
	assert_file(c->f->out, c->f->sorted, c->f->bytes);
	assert_int_equal(stat(named, &sb), 0);
	assert_true(sb.st_size > 0);
	assert_int_equal(unlink(named), 0);
	free(named);

	write_text(c->path, "scratch-max = 100K\n");
	expect_trouble(NULL, "limited to 102400 bytes", "scratch", SORT, EXTERNAL, c->option, "-o/dev/null",
		       c->f->in[0], NULL);
	/* All commands with scratch read it. */
	write_text(c->path, "scratch = 1\n");
	expect_trouble(NULL, "extmem merge: ", ":1: unknown name", "merge", c->option, c->f->in[0], NULL);
	expect_trouble(NULL, "extmem unique: ", ":1: unknown name", "unique", c->option, c->f->in[0], NULL);
	expect_trouble(NULL, "extmem top: ", ":1: unknown name", "top", c->option, c->f->in[0], NULL);
	expect_trouble(NULL, "extmem shuffle: ", ":1: unknown name", "shuffle", c->option, c->f->in[0], NULL);
	expect_trouble(NULL, "extmem disks: ", ":1: unknown name", "disks", c->option, NULL);
	/* Help is there whatever it says. */
	run_command(&r, NULL, "sort", c->option, "--help", NULL);
	assert_status(&r, 0);
	run_free(&r);
}

static void expect_wrong(const config *c, const char *text, size_t bytes, unsigned line, const char *what)
{
	char where[OPTION];

	write_file(c->path, text, bytes);
	snprintf(where, sizeof where, "extmem disks: %s:%u: ", c->path, line);
	expect_trouble(NULL, where, what, "disks", c->option, NULL);
}

/* Each is wrong in its last line, which may have no end. */
static void test_wrong_lines(void **state)
{
	static const struct {
		const char *text;
		const char *what;
	} wrong[] = {
		{ "x", "neither a comment nor NAME = VALUE" },
		{ "= 5", "neither" },
		{ "\n\n# all is well\nblock-size 5", "neither" },
		{ "blocksize = 5", "unknown name 'blocksize'; it must be disk, memory" },
		{ "Disk = /tmp", "unknown name 'Disk'" },
		{ "disk /tmp = 3", "unknown name 'disk /tmp'" },
		{ "disk =", "the path is empty" },
		{ "disk = tmp", "must begin with a slash" },
		{ "disk = ,5M", "the path is empty" },
		{ "disk = /tmp\ndisk = /tmp,1X", "disk size 1X: unknown unit" },
		{ "disk = /tmp,,punchcards", "no backend 'punchcards'" },
		{ "disk = /tmp,,,direct=maybe", "disk direct maybe: must be try, off or on" },
		{ "disk = /tmp,,,queue=9999", "disk queue 9999: must be at most" },
		{ "disk = /tmp,,,forced", "disk forced: there is no such option" },
		{ "disk = /tmp,,,fixed", "a size, which is missing" },
		{ "disk = /tmp,,simdisk,rate=no", "disk rate=no: " },
		{ "memory = much", "memory much: not a number" },
		{ "memory = 1", "must be at least" },
		{ "memory = %", "memory: the value is empty; give a number" },
		{ "memory = 101%", "must be at most 100" },
		{ "memory = 0%", "must be at least 1" },
		{ "threads = 0", "threads 0: must be at least 1" },
		{ "threads = 513", "at most 512" },
		{ "threads = 99999999999999999999", "too large" },
		{ "block-size = 5000", "multiple of 4096" },
		{ "block-size = 2G", "at most" },
		{ "block-size = 0", "at least 4096" },
		{ "scratch-max = -1", "not a number" },
		{ "scratch-max = 1 M", "unit" },
		{ "direct = yes", "off, try or on" },
		{ "backend = tape", "no backend 'tape'" },
		{ "backend =", "no backend ''" },
		{ "warnings = no", "on or off" },
		{ "direct = on # not a comment", "off, try or on" },
		{ "block-size = 1M\n\nblock-size = 1M", "block-size was given before, in line 1" },
		{ "memory = 50%\nmemory = 8M", "memory was given before, in line 1" },
	};
	const config *c = *state;
	char text[200];
	size_t i;

	for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const char *p;
		unsigned line = 1;

		for (p = wrong[i].text; *p; p++)
			line += *p == '\n';
		expect_wrong(c, wrong[i].text, strlen(wrong[i].text), line, wrong[i].what);
		snprintf(text, sizeof text, "%s\r\n# more", wrong[i].text);
		expect_wrong(c, text, strlen(text), line, wrong[i].what);
	}
	expect_wrong(c, "disk = /tmp\0,5M\n", 16, 1, "NUL byte");
	expect_wrong(c, "threads = 1\n\0", 13, 2, "NUL byte");
	expect_wrong(c, "\x1b[2J = 5\n", 9, 1, "unknown name");
}

/* Long lines, long files, and what is no file. */
static void test_wrong_files(void **state)
{
	const config *c = *state;
	char *text = malloc(LARGE + 2), missing[OPTION + 8], directory[OPTION];
	run_setup setup = { 0 };
	run r;

	assert_non_null(text);
	memset(text, 'x', LARGE + 1);
	expect_wrong(c, text, LARGE, 1, "neither");
	text[LARGE - 2] = '=';
	expect_wrong(c, text, LARGE, 1, "unknown name");
	memcpy(text, "disk = /", 8);
	expect_wrong(c, text, LARGE, 1, "disk: the path is longer than");
	memcpy(text, "# ", 2);
	memcpy(text + LARGE - 14, "\nblock-size=9\n", 14);
	expect_wrong(c, text, LARGE, 2, "at least 4096");
	write_file(c->path, text, LARGE + 1);
	expect_trouble(NULL, c->path, "larger than a configuration file", "disks", c->option, NULL);
	expect_trouble(NULL, "/dev/zero", "larger than a configuration file", "disks", "--config=/dev/zero", NULL);
	write_text(c->path, "");
	run_command(&r, NULL, "disks", c->option, NULL);
	assert_status(&r, 0);
	run_free(&r);

	snprintf(missing, sizeof missing, "%s.not", c->option);
	expect_trouble(NULL, "config.not", "No such file", "disks", missing, NULL);
	snprintf(directory, sizeof directory, "--config=%s", c->f->dir);
	expect_trouble(NULL, c->f->dir, "Is a directory", "disks", directory, NULL);
	assert_int_equal(chmod(c->path, 0), 0);
	setup.obey_modes = 1;
	expect_trouble(&setup, c->path, "Permission denied", "disks", c->option, NULL);
	free(text);
}

/* Of two --config the last counts; from a pipe it is read, too. */
static void test_last_one(void **state)
{
	const config *c = *state;
	static const char text[] = "disk = /,1M,memory\n";
	run_setup setup = { 0 };
	run r;

	write_text(c->path, text);
	run_command(&r, NULL, "disks", "--csv", "--config=/nonexistent", c->option, NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "/,directory,,memory,0,1048576,,"));
	run_free(&r);
	run_command(&r, NULL, "disks", "--csv", "--no-config", c->option, NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, ",memory,"));
	run_free(&r);
	setup.in_fd = feed_pipe(text, sizeof text - 1);
	run_command(&r, &setup, "disks", "--csv", "--config=/dev/stdin", NULL);
	close(setup.in_fd);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, ",memory,"));
	run_free(&r);
}

typedef struct place {
	char dir[OPTION], sub[OPTION + 16], file[OPTION + 32];
} place;

/* DIR/NAME/extmem/config with a disk of that many MiB. */
static void make_place(place *p, const char *dir, const char *name, unsigned capacity)
{
	char text[64];

	snprintf(p->dir, sizeof p->dir, "%s/%s", dir, name);
	snprintf(p->sub, sizeof p->sub, "%s/extmem", p->dir);
	snprintf(p->file, sizeof p->file, "%s/config", p->sub);
	snprintf(text, sizeof text, "disk = /,%uM,memory\n", capacity);
	assert_int_equal(mkdir(p->dir, 0755), 0);
	assert_int_equal(mkdir(p->sub, 0755), 0);
	write_text(p->file, text);
}

static void remove_place(place *p)
{
	unlink(p->file);
	assert_int_equal(rmdir(p->sub), 0);
	assert_int_equal(rmdir(p->dir), 0);
}

/* Which disk there is: its capacity in MiB, or 0 for one that is no file's. */
static void expect_capacity(const run_setup *setup, unsigned capacity)
{
	char want[64];
	run r;

	run_command(&r, setup, "disks", "--csv", NULL);
	assert_status(&r, 0);
	snprintf(want, sizeof want, ",memory,0,%u,,", capacity << 20);
	if (capacity)
		assert_non_null(strstr(r.out, want));
	else
		assert_null(strstr(r.out, ",memory,"));
	run_free(&r);
}

static void test_config_places(void **state)
{
	const config *c = *state;
	char config_home[OPTION + 32], dirs[4 * OPTION], home[OPTION + 32], tmpdir[OPTION];
	run_setup setup = { 0 };
	place a, b, d, h;

	make_place(&a, c->f->dir, "a", 1);
	make_place(&b, c->f->dir, "b", 2);
	make_place(&d, c->f->dir, "d", 3);
	make_place(&h, c->f->dir, ".config", 4);
	setup.env[0] = config_home;
	setup.env[1] = dirs;
	setup.env[2] = home;
	setup.env[3] = tmpdir;
	snprintf(config_home, sizeof config_home, "XDG_CONFIG_HOME=%s", a.dir);
	snprintf(dirs, sizeof dirs, "XDG_CONFIG_DIRS=/nonexistent::relative:%s:%s", b.dir, d.dir);
	snprintf(home, sizeof home, "HOME=%s", c->f->dir);
	snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", c->f->scratch);
	expect_capacity(&setup, 1);
	/* Empty is as if it were not there. */
	snprintf(config_home, sizeof config_home, "XDG_CONFIG_HOME=");
	expect_capacity(&setup, 4);
	/* One that is relative is none. */
	snprintf(config_home, sizeof config_home, "XDG_CONFIG_HOME=a");
	expect_capacity(&setup, 2);
	assert_int_equal(unlink(b.file), 0);
	expect_capacity(&setup, 3);
	/* The variable for this command alone counts more than a file, the one for all less. */
	snprintf(tmpdir, sizeof tmpdir, "EXTMEM_TMPDIR=%s", c->f->scratch);
	expect_capacity(&setup, 0);
	snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", c->f->scratch);
	snprintf(dirs, sizeof dirs, "XDG_CONFIG_DIRS=/nonexistent");
	expect_capacity(&setup, 0);

	/* One that is there must be sound; but where one may not look there is none. */
	snprintf(config_home, sizeof config_home, "XDG_CONFIG_HOME=%s", a.dir);
	write_text(a.file, "\ndisc = /\n");
	expect_trouble(&setup, a.file, ":2: unknown name 'disc'", "disks", NULL);
	setup.obey_modes = 1;
	assert_int_equal(chmod(a.file, 0), 0);
	expect_trouble(&setup, a.file, "Permission denied", "disks", NULL);
	assert_int_equal(chmod(a.sub, 0), 0);
	expect_capacity(&setup, 0);
	assert_int_equal(chmod(a.sub, 0755), 0);
	assert_int_equal(unlink(a.file), 0);
	assert_int_equal(mkdir(a.file, 0755), 0);
	expect_trouble(&setup, a.file, "Is a directory", "disks", NULL);
	assert_int_equal(rmdir(a.file), 0);
	remove_place(&a);
	remove_place(&b);
	remove_place(&d);
	remove_place(&h);
}

/* Whatever is in the file, the command ends well or with one line that names it. */
static void test_random_files(void **state)
{
	static const char sound[] = "# comment\ndisk = /,1M,memory,queue=7,direct=off\nmemory = "
				    "50%\n\nblock-size=64K\nscratch-max =  1G \nwarnings = on\n";
	static const char bytes[] = "=#,\\%/\n\r\t 019KMx\xff";
	const config *c = *state;
	test_rng rng = test_rng_make(test_seed());
	unsigned good = 0, bad = 0, i;
	run r;

	for (i = 0; i < FUZZ; i++) {
		char text[2 * sizeof sound];
		size_t n = sizeof sound - 1, k;
		uint64_t changes = test_below(&rng, 4);

		memcpy(text, sound, n);
		for (; changes > 0; changes--) {
			k = (size_t)test_below(&rng, n);
			if (test_below(&rng, 3) == 0)
				n = test_below(&rng, 4) == 0 ? k + 1 : n;
			else
				text[k] = test_below(&rng, 8) == 0 ? '\0' : bytes[test_below(&rng, sizeof bytes - 1)];
		}
		write_file(c->path, text, n);
		run_command(&r, NULL, "disks", "--json", c->option, NULL);
		if (r.status == 0) {
			good++;
		} else {
			assert_trouble(&r, "extmem disks: ", "");
			bad++;
		}
		run_free(&r);
	}
	assert_true(good > 0 && bad > 0);
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

static const config *on_tmpfs;

static void expect_warnings(unsigned n, const char *a, const char *b)
{
	const config *c = on_tmpfs;
	run r;

	run_command(&r, NULL, SORT, EXTERNAL, "-o/dev/null", c->f->in[0], c->option, a, b, NULL);
	assert_status(&r, 0);
	assert_int_equal(count(r.err, "warning: "), n);
	assert_int_equal(count(r.err, "in memory"), n);
	assert_int_equal(count(r.err, "\n"), n);
	run_free(&r);
	run_command(&r, NULL, "disks", c->option, a, b, NULL);
	assert_status(&r, 0);
	assert_int_equal(count(r.err, "warning: "), n);
	run_free(&r);
}

/* That scratch is in memory is said once, unless nobody wants to hear it. */
static void warnings(const char *dir)
{
	const config *c = on_tmpfs;
	char t[OPTION], text[OPTION + 64];
	run r;

	snprintf(t, sizeof t, "-T%s", dir);
	write_text(c->path, "");
	expect_warnings(1, t, NULL);
	expect_warnings(0, t, "--no-warnings");
	snprintf(text, sizeof text, "disk = %s\ndisk = %s\n", dir, dir);
	write_text(c->path, text);
	expect_warnings(1, NULL, NULL);
	snprintf(text, sizeof text, "disk = %s\nwarnings = off\n", dir);
	write_text(c->path, text);
	expect_warnings(0, NULL, NULL);
	/* Without scratch there is nothing to warn of; other file systems and a backend that is meant so are not,
	 * either. */
	write_text(c->path, "");
	run_command(&r, NULL, SORT, "-o/dev/null", c->f->in[0], c->option, t, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	run_free(&r);
	expect_warnings(0, "--backend=memory", t);
}

static void test_warnings(void **state)
{
	on_tmpfs = *state;
	conform_on_tmpfs((uint64_t)64 << 20, warnings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sort, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_warnings, setup, teardown),
	};

	return cmocka_run_group_tests(tests, run_setup_group, NULL);
}
