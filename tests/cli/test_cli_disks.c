/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_disks.c -- -T and --disk: several disks for scratch, and what is wrong with them.
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

#define SORT "sort", "--record-size=16"
#define EXTERNAL "--run-size=10000", "--block-size=4096"

enum { RECORDS = 60000 };

static int setup(void **state)
{
	fixture_make(state);
	fixture_add_records(*state, RECORDS);
	return 0;
}

static void disk_option(char *out, size_t room, const char *path, const char *more)
{
	assert_in_range(snprintf(out, room, "--disk=%s%s", path, more), 1, room - 1);
}

static void expect_sorted(fixture *f, const char *a, const char *b, const char *c)
{
	run r;

	run_command(&r, NULL, SORT, EXTERNAL, "-o", f->out, f->in[0], a, b, c, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	assert_file(f->out, f->sorted, f->bytes);
	assert_int_equal(count_files(f->dir), 2);
	run_free(&r);
}

static void test_disks(void **state)
{
	fixture *f = *state;
	char *named = test_path(f->scratch, "a,b\\c"), a[400], b[400], c[400];
	char *escaped = test_path(f->scratch, "a\\,b\\\\c,1M,syscall,direct=off,queue=8");

	disk_option(a, sizeof a, f->scratch, "");
	disk_option(b, sizeof b, f->dir, ",100M");
	disk_option(c, sizeof c, escaped, "");
	expect_sorted(f, a, NULL, NULL);
	expect_sorted(f, a, b, c);
	disk_option(c, sizeof c, f->scratch, ",,memory");
	expect_sorted(f, a, b, c);
	disk_option(b, sizeof b, f->scratch, ",20K,simdisk,rate=1GB,seek=10us");
	expect_sorted(f, a, b, c);
	/* What is to be kept is. */
	disk_option(c, sizeof c, escaped, ",keep");
	expect_sorted(f, c, a, NULL);
	assert_int_equal(access(named, F_OK), 0);
	expect_trouble(NULL, named, "not empty", SORT, EXTERNAL, "-o/dev/null", f->in[0], c, NULL);
	disk_option(c, sizeof c, escaped, ",force");
	expect_sorted(f, c, NULL, NULL);
	assert_int_equal(unlink(named), 0);
	free(escaped);
	free(named);
}

/* Each -T is a disk, for binary records and for lines; the same one again is the same. */
static void test_directories(void **state)
{
	fixture *f = *state;
	char t[400], u[400];
	run r;

	assert_in_range(snprintf(t, sizeof t, "-T%s", f->dir), 1, sizeof t - 1);
	assert_in_range(snprintf(u, sizeof u, "-T%s", f->scratch), 1, sizeof u - 1);
	expect_sorted(f, t, u, t);
	run_command(&r, NULL, SORT, EXTERNAL, "-o/dev/null", "--verbose", t, u, f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, " and others"));
	run_free(&r);
	write_text(f->in[1], "3\n1\n2\n");
	run_command(&r, NULL, "sort", t, u, f->in[1], NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "1\n2\n3\n");
	run_free(&r);
	assert_int_equal(unlink(f->in[1]), 0);
}

static void test_full(void **state)
{
	fixture *f = *state;
	char a[400], b[400];

	disk_option(a, sizeof a, f->scratch, ",64K");
	disk_option(b, sizeof b, f->dir, ",32K");
	expect_trouble(NULL, "limited to 98304 bytes", "are needed", SORT, EXTERNAL, "-o", f->out, f->in[0], a, b,
		       NULL);
	assert_int_equal(count_files(f->dir), 1);
}

/* How blocks are fetched and placed changes nothing of what comes out; the plan tells it. */
static void test_fetching(void **state)
{
	fixture *f = *state;
	char a[400], b[400];
	run r;

	disk_option(a, sizeof a, f->scratch, "");
	disk_option(b, sizeof b, f->dir, "");
	expect_sorted(f, a, b, "--fetch=naive");
	expect_sorted(f, a, b, "--place-runs=striping");
	expect_sorted(f, a, b, "--priority=read");
	expect_sorted(f, a, b, "--priority=none");
	expect_sorted(f, a, b, "--prefetch-buffers=3");
	run_command(&r, NULL, SORT, EXTERNAL, "--plan", f->in[0], a, b, "--prefetch-buffers=3", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "prefetch:       3\n"));
	run_free(&r);
	run_command(&r, NULL, SORT, EXTERNAL, "--plan", f->in[0], a, b, "--fetch=naive", NULL);
	assert_status(&r, 0);
	assert_null(strstr(r.out, "prefetch:"));
	run_free(&r);
}

static void test_errors(void **state)
{
	const fixture *f = *state;
	const char *in = f->in[0];

	expect_trouble(NULL, "--disk", "the path is empty", SORT, "--disk=", in, NULL);
	expect_trouble(NULL, "--disk", "the path is empty", SORT, "--disk=,1M", in, NULL);
	expect_trouble(NULL, "--disk size 1X", "unknown unit", SORT, "--disk=/tmp,1X", in, NULL);
	expect_trouble(NULL, "nosuch", "backend", SORT, "--disk=/tmp,,nosuch", in, NULL);
	expect_trouble(NULL, "--disk direct maybe", "try, off or on", SORT, "--disk=/tmp,,,direct=maybe", in, NULL);
	expect_trouble(NULL, "--disk queue 4097", "at most", SORT, "--disk=/tmp,,,queue=4097", in, NULL);
	expect_trouble(NULL, "--disk forced", "no such option", SORT, "--disk=/tmp,,,forced", in, NULL);
	expect_trouble(NULL, "--disk rate=5M", "simdisk", SORT, "--disk=/tmp,,,rate=5M", in, NULL);
	expect_trouble(NULL, "--disk rate=x", "rate", SORT, "--disk=/tmp,,simdisk,rate=x", in, NULL);
	expect_trouble(NULL, "--disk seek=5", "seek", SORT, "--disk=/tmp,,simdisk,seek=5", in, NULL);
	expect_trouble(NULL, "--fetch", "best or naive", SORT, "--fetch=fast", in, NULL);
	expect_trouble(NULL, "--place-runs", "cycling or striping", SORT, "--place-runs=random", in, NULL);
	expect_trouble(NULL, "--priority", "write, read or none", SORT, "--priority=reads", in, NULL);
	expect_trouble(NULL, "--prefetch-buffers 65537", "at most 65536", SORT, "--prefetch-buffers=65537", in, NULL);
	expect_trouble(NULL, "/dev/null", "neither", SORT, EXTERNAL, "--disk=/dev/null", in, NULL);
	expect_trouble(NULL, "-T", "empty", SORT, "-T", "/tmp", "-T", "", in, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_disks, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_directories, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_full, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_fetching, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_errors, setup, fixture_free),
	};

	return cmocka_run_group_tests(tests, run_setup_group, NULL);
}
