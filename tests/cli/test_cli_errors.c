/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_errors.c -- extmem sort when things go wrong: one clear line, exit status 2, and nothing lost or left
 * behind.
 *
 * Full disks are small tmpfs mounts in a mount namespace of the test's own, which takes root or user
 * namespaces.  Where neither is to be had, and in any case as well, RLIMIT_FSIZE stands in for them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"

#define RECORDS 200000
#define BYTES ((size_t)RECORDS * 16)
#define HALF (BYTES / 2 / 4096 * 4096)
#define LONG_BYTES ((size_t)96 << 20) /* keeps a sort busy for a while */

/* The output exists and must not change, nor may anything be left in the directory for scratch. */
static const char old[] = "what stood there before";

static int setup(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	fixture *f;

	fixture_make(state);
	f = *state;
	f->records = malloc(BYTES);
	assert_non_null(f->records);
	test_fill(&rng, f->records, BYTES);
	write_file(f->in[0], f->records, BYTES);
	write_file(f->out, old, sizeof(old));
	return 0;
}

/* What was there is there, and nothing else. */
static int teardown(void **state)
{
	const fixture *f = *state;

	assert_file(f->out, old, sizeof(old));
	assert_int_equal(count_files(f->dir), 2);
	return fixture_free(state);
}

#define SORT "sort", "--record-size=16", "-k0:u64"
/* Options that make it use scratch space. */
#define EXTERNAL "--run-size=20000", "--block-size=16384"

/* Options that take more than a megabyte. */
#define FAN_OF_20 "--run-size=1000", "--block-size=65536", "--batch-size=20"

static void test_wrong_options(void **state)
{
	fixture *f = *state;

	expect_trouble(NULL, "command is missing", "--help", NULL);
	expect_trouble(NULL, "what", "unknown command", "what", NULL);
	expect_trouble(NULL, "--what", "unknown option", "--what", NULL);
	expect_trouble(NULL, "--what", "unrecognized", SORT, "--what", NULL);
	expect_trouble(NULL, "extmem sort", "requires an argument", SORT, "-o", NULL);
	expect_trouble(NULL, "--record-size 0", "at least 1", "sort", "--record-size=0", f->in[0], NULL);
	expect_trouble(NULL, "--record-size 16X", "unknown unit", "sort", "--record-size=16X", f->in[0], NULL);
	expect_trouble(NULL, "--record-size: the value is empty", "a size such as", "sort", "--record-size=", f->in[0],
		       NULL);
	expect_trouble(NULL, "-S: the value is empty", "a size such as", SORT, "-S", "", f->in[0], NULL);
	expect_trouble(NULL, "--run-size: the value is empty", "give a number", SORT, "--run-size=", f->in[0], NULL);
	expect_trouble(NULL, "--record-size", "number too large", "sort", "--record-size=18446744073709551616",
		       f->in[0], NULL);
	expect_trouble(NULL, "-S", "number too large", SORT, "-S16777216T", f->in[0], NULL);
	expect_trouble(NULL, "-S", "unknown unit", SORT, "-S64m", f->in[0], NULL);
	expect_trouble(NULL, "-S", "not a number", SORT, "-S-1", f->in[0], NULL);
	expect_trouble(NULL, "--parallel", "invalid", SORT, "--parallel=two", f->in[0], NULL);
	expect_trouble(NULL, "--run-size", "not a number", SORT, "--run-size=1K", f->in[0], NULL);
	expect_trouble(NULL, "--scratch-max", "unknown unit", SORT, "--scratch-max=1X", f->in[0], NULL);
	expect_trouble(NULL, "limited to 8192 bytes", "are needed", SORT, "--scratch-max=8K", "--run-size=100",
		       "--block-size=4096", f->in[0], NULL);
	expect_trouble(NULL, "--direct", "off, try or on", SORT, "--direct=maybe", f->in[0], NULL);
	expect_trouble(NULL, "--stats", "text or json", SORT, "--stats=xml", f->in[0], NULL);
	expect_trouble(NULL, "nosuchbackend", "backend", SORT, "--backend=nosuchbackend", f->in[0], NULL);
	expect_trouble(NULL, "nosuchisa", "", SORT, "--isa=nosuchisa", f->in[0], NULL);
	expect_trouble(NULL, "-o", "only one", SORT, "-oa", "-ob", f->in[0], NULL);
	expect_trouble(NULL, "--batch-size 1", "at least 2", SORT, "--batch-size=1", f->in[0], NULL);
	expect_trouble(NULL, "--batch-size", "invalid", SORT, "--batch-size=two", f->in[0], NULL);
	expect_trouble(NULL, "--block-size 2G", "at most", SORT, "--block-size=2G", f->in[0], NULL);
	expect_trouble(NULL, "--block-size 5000", "4096", SORT, "--block-size=5000", "--run-size=100", f->in[0], NULL);
	expect_trouble(NULL, "--write-buffers 1", "at least 2", SORT, "--write-buffers=1", f->in[0], NULL);
	expect_trouble(NULL, "--read-buffers", "", SORT, "--read-buffers=x", f->in[0], NULL);
	expect_trouble(NULL, "--last-run", "auto, written or kept", SORT, "--last-run=lost", f->in[0], NULL);
	expect_trouble(NULL, "--scratch-compress", "auto, never or always", SORT, "--scratch-compress=maybe", f->in[0],
		       NULL);
	expect_trouble(NULL, "standard input", "--plan", SORT, "--plan", NULL);
	expect_trouble(NULL, f->in[0], "record size 7", "sort", "--record-size=7", "--plan", f->in[0], NULL);
}

static void test_wrong_keys(void **state)
{
	fixture *f = *state;

	expect_trouble(NULL, "-k 9:u64", "past the end of the record of 16 bytes", "sort", "--record-size=16", "-k0:u8",
		       "-k9:u64", f->in[0], NULL);
	expect_trouble(NULL, "-k 0:bytes17", "past the end", "sort", "--record-size=16", "-k0:bytes17", f->in[0], NULL);
	expect_trouble(NULL, "-k 18446744073709551615:u16", "past the end", "sort", "--record-size=16",
		       "-k18446744073709551615:u16", f->in[0], NULL);
	expect_trouble(NULL, "-k 0:u24", "u24", "sort", "--record-size=16", "-k0:u24", f->in[0], NULL);
	expect_trouble(NULL, "-k 0:", "", "sort", "--record-size=16", "-k0:", f->in[0], NULL);
	expect_trouble(NULL, "-k 0", "", "sort", "--record-size=16", "-k0", f->in[0], NULL);
	expect_trouble(NULL, "-k x:u8", "", "sort", "--record-size=16", "-kx:u8", f->in[0], NULL);
	expect_trouble(NULL, "-k 0:u8:x", "", "sort", "--record-size=16", "-k0:u8:x", f->in[0], NULL);
	expect_trouble(NULL, "-k 0:bytes0", "", "sort", "--record-size=16", "-k0:bytes0", f->in[0], NULL);
	expect_trouble(NULL, "-k 18446744073709551616:u8", "", "sort", "--record-size=16", "-k18446744073709551616:u8",
		       f->in[0], NULL);
}

static void test_too_little_memory(void **state)
{
	fixture *f = *state;
	char least[40] = "-S";
	const char *p;
	run r;

	/* What no machine has. */
	expect_trouble(NULL, "-S 2M", "at least ", SORT, "-S2M", "--block-size=1G", "--write-buffers=4000", "-o",
		       f->out, f->in[0], NULL);

	/* What is too little is raised to what does, and that is told. */
	run_command(&r, NULL, SORT, FAN_OF_20, "-S1M", "-T", f->scratch, "-o/dev/null", f->in[0], NULL);
	assert_status(&r, 0);
	p = strstr(r.err, "it is ");
	assert_non_null(p);
	assert_int_equal(sscanf(p + 6, "%30[0-9]", least + 2), 1);
	run_free(&r);
	run_command(&r, NULL, SORT, FAN_OF_20, least, "-T", f->scratch, "-o/dev/null", f->in[0], NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	run_free(&r);
}

/* It is told once, with what was asked for and what it is in the end. */
static void test_memory_told_once(void **state)
{
	static const char *const commands[] = { "sort", "merge", "unique", "top", "shuffle" };
	unsigned long long is;
	size_t i;
	run r;

	(void)state;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *line;

		run_command(&r, NULL, commands[i], "-S10", NULL);
		assert_status(&r, 0);
		line = strstr(r.err, "warning: memory of 10240 bytes is too little");
		assert_non_null(line);
		assert_ptr_equal(strchr(r.err, '\n'), r.err + strlen(r.err) - 1);
		line = strstr(line, "it is ");
		assert_non_null(line);
		assert_int_equal(sscanf(line, "it is %llu bytes", &is), 1);
		assert_true(is >= 1048576);
		run_free(&r);
	}
}

static void test_inputs(void **state)
{
	fixture *f = *state;
	char *none = test_path(f->dir, "none");
	run_setup setup = { 0 };

	expect_trouble(NULL, none, "No such file", SORT, "-o", f->out, f->in[0], none, NULL);
	expect_trouble(NULL, f->dir, "irectory", SORT, "-o", f->out, f->in[0], f->dir, NULL);
	expect_trouble(NULL, f->in[0], "record size 17", "sort", "--record-size=17", "-o", f->out, f->in[0], NULL);

	/* The same of a pipe is known only when it ends. */
	setup.in_fd = feed_pipe(f->records, BYTES);
	expect_trouble(&setup, "standard input", "17", "sort", "--record-size=17", "-T", f->scratch, "-o", f->out,
		       NULL);
	close(setup.in_fd);
	setup.in_fd = feed_pipe(f->records, BYTES - 1);
	expect_trouble(&setup, "standard input", "16", SORT, EXTERNAL, "-T", f->scratch, "-o", f->out, NULL);
	close(setup.in_fd);

	setup.in_fd = 0;
	setup.close_in = 1;
	expect_trouble(&setup, "standard input", "Bad file descriptor", SORT, "-o", f->out, NULL);
	setup.close_in = 0;

	setup.obey_modes = 1;
	assert_int_equal(chmod(f->in[0], 0), 0);
	expect_trouble(&setup, f->in[0], "Permission denied", SORT, "-o", f->out, f->in[0], NULL);
	free(none);
}

static void test_outputs(void **state)
{
	fixture *f = *state;
	char *none = test_path(f->dir, "none/out"), *none_dir = test_path(f->dir, "none");
	run_setup setup = { 0 };

	expect_trouble(NULL, none_dir, "No such file", SORT, "-o", none, f->in[0], NULL);
	expect_trouble(NULL, "/dev/null/out", "Not a directory", SORT, "-o", "/dev/null/out", f->in[0], NULL);
	expect_trouble(NULL, f->dir, "irectory", SORT, "-o", f->dir, f->in[0], NULL);
	expect_trouble(NULL, "-o", "empty", SORT, "-o", "", f->in[0], NULL);
	expect_trouble(NULL, "-T", "empty", SORT, "-T", "", f->in[0], NULL);

	setup.out_fd = open("/dev/full", O_WRONLY);
	expect_trouble(&setup, "standard output", "No space left", SORT, f->in[0], NULL);
	close(setup.out_fd);
	setup.out_fd = 0;
	setup.close_out = 1;
	expect_trouble(&setup, "standard output", "Bad file descriptor", SORT, f->in[0], NULL);
	setup.close_out = 0;

	setup.obey_modes = 1;
	assert_int_equal(chmod(f->out, 0444), 0);
	expect_trouble(&setup, f->out, "Permission denied", SORT, "-o", f->out, f->in[0], NULL);
	assert_int_equal(chmod(f->out, 0644), 0);
	free(none);
	free(none_dir);

	none = test_path(f->dir, "new");
	assert_int_equal(chmod(f->dir, 0555), 0);
	expect_trouble(&setup, f->dir, "Permission denied", SORT, "-o", none, f->in[0], NULL);
	assert_int_equal(chmod(f->dir, 0755), 0);
	free(none);
}

static void test_scratch(void **state)
{
	fixture *f = *state;
	char *none = test_path(f->dir, "none"), *simulated;

	expect_trouble(NULL, none, "No such file", SORT, EXTERNAL, "-T", none, "-o", f->out, f->in[0], NULL);
	expect_trouble(NULL, f->in[0], "Not a directory", SORT, EXTERNAL, "-T", f->in[0], "-o", f->out, f->in[0], NULL);
	/* It is said that scratch is meant, and what names another place for it. */
	expect_trouble(NULL, "cannot open scratch '", "(-T, --disk or TMPDIR", SORT, EXTERNAL, "-T", none, "-o", f->out,
		       f->in[0], NULL);
	/* A simulated disk is no file. */
	simulated = malloc(strlen(none) + 20);
	assert_non_null(simulated);
	sprintf(simulated, "--disk=%s,1G,simdisk", none);
	expect_trouble(NULL, none, "name a directory", SORT, EXTERNAL, simulated, "-o", f->out, f->in[0], NULL);
	free(simulated);
	free(none);
}

static void closed_pipe(fixture *f, int ignored, int external)
{
	const char *const args[] = { SORT, "-T", f->scratch, f->in[0], external ? "--run-size=20000" : NULL, NULL };

	expect_closed_pipe(ignored, args);
}

static void test_closed_pipe(void **state)
{
	closed_pipe(*state, 0, 0);
	closed_pipe(*state, 0, 1);
	closed_pipe(*state, 1, 0);
	closed_pipe(*state, 1, 1);
}

/* Interrupted while it waits for input that does not come. */
static void test_interrupted_waiting(void **state)
{
	static const int sig[] = { SIGINT, SIGTERM, SIGHUP, SIGKILL };
	fixture *f = *state;
	const char *const args[] = { SORT, EXTERNAL, "-T", f->scratch, "-o", f->out, "-", NULL };
	run_setup setup = { 0 };
	int fd[2];
	size_t i;
	run r;

	for (i = 0; i < sizeof(sig) / sizeof(sig[0]); i++) {
		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		setup.in_fd = fd[0];
		run_start(&r, &setup, args);
		close(fd[0]);
		/* More than a run and than a pipe holds: when it is written, most of it was read. */
		assert_int_equal(write(fd[1], f->records, BYTES), BYTES);
		assert_int_equal(kill(r.pid, sig[i]), 0);
		run_wait(&r);
		close(fd[1]);
		assert_int_equal(r.signal, sig[i]);
		assert_string_equal(r.err, "");
		assert_file(f->out, old, sizeof(old));
		assert_int_equal(count_files(f->dir), 2);
		assert_dir_empty(f->scratch);
		run_free(&r);
	}
}

/* Read what is printed until a word comes; 0 when it never does. */
static int wait_for_word(int fd, const char *word)
{
	char text[4096];
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		have += (size_t)n;
		text[have] = '\0';
		if (strstr(text, word))
			return 1;
		/* Keep the end, in which the word may have begun. */
		if (have > sizeof(text) / 2) {
			memmove(text, text + have - 32, 32);
			have = 32;
		}
	}
	return 0;
}

/* Interrupted in the phase that the progress bar names.  Returns 0 if the sort was too quick for that. */
static int interrupt_in_phase(fixture *f, const char *phase, int sig, const char *out)
{
	const char *const args[] = { SORT, "-S2M", "--parallel=1", "--progress", "-T", f->scratch, "-o", out, f->in[0],
				     NULL };
	run_setup setup = { 0 };
	int fd[2], found;
	run r;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.err_fd = fd[1];
	run_start(&r, &setup, args);
	close(fd[1]);
	found = wait_for_word(fd[0], phase);
	if (found)
		kill(r.pid, sig);
	/* It may not wait for us to read the rest. */
	while (wait_for_word(fd[0], "\a"))
		;
	run_wait(&r);
	close(fd[0]);
	if (r.signal == sig) {
		assert_file(f->out, old, sizeof(old));
		assert_int_equal(count_files(f->dir), 2);
		assert_dir_empty(f->scratch);
	} else {
		assert_status(&r, 0);
		unlink(out);
		write_file(f->out, old, sizeof(old));
		found = 0;
	}
	run_free(&r);
	return found;
}

static void test_interrupted_working(void **state)
{
	static const int sig[] = { SIGINT, SIGTERM, SIGKILL };
	static const char *const phase[] = { "runs", "merge", "output" };
	fixture *f = *state;
	char *new = test_path(f->dir, "new");
	size_t bytes = LONG_BYTES, i, j;
	char records[40];
	run r;

	for (i = 0; i < sizeof(sig) / sizeof(sig[0]); i++)
		for (j = 0; j < sizeof(phase) / sizeof(phase[0]); j++)
			for (;;) {
				snprintf(records, sizeof(records), "--records=%zu", bytes / 16);
				run_command(&r, NULL, "generate", records, "--record-size=16", "-o", f->in[0], NULL);
				assert_status(&r, 0);
				run_free(&r);
				if (interrupt_in_phase(f, phase[j], sig[i], i % 2 ? f->out : new))
					break;
				assert_true(bytes < LONG_BYTES << 5);
				bytes *= 2;
			}
	free(new);
}

/* Full disks */

static int have_mounts;

/* A mount namespace of our own, so that nothing stays mounted. */
static int setup_group(void **state)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	char map[64];
	int fd;

	if (!unshare(CLONE_NEWNS)) {
		have_mounts = 1;
	} else if (!unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		have_mounts = 1;
		snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
		fd = open("/proc/self/uid_map", O_WRONLY);
		if (fd < 0 || write(fd, map, strlen(map)) < 0)
			have_mounts = 0;
		close(fd);
		fd = open("/proc/self/setgroups", O_WRONLY);
		if (fd >= 0 && write(fd, "deny", 4) < 0)
			have_mounts = 0;
		close(fd);
		snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
		fd = open("/proc/self/gid_map", O_WRONLY);
		if (fd < 0 || write(fd, map, strlen(map)) < 0)
			have_mounts = 0;
		close(fd);
	}
	if (have_mounts && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		have_mounts = 0;
	if (!have_mounts)
		print_message("# no mount namespace here (%s): full disks are tested with RLIMIT_FSIZE only\n",
			      strerror(errno));
	return run_setup_group(state);
}

/* A tmpfs of so many bytes over an empty directory; 0 when that cannot be had. */
static int mount_small(const char *dir, size_t bytes)
{
	char options[40];

	snprintf(options, sizeof(options), "size=%zu,mode=0700", bytes);
	return have_mounts && !mount("none", dir, "tmpfs", 0, options);
}

static void test_scratch_full(void **state)
{
	fixture *f = *state;
	run_setup setup = { 0 };

	setup.fsize = HALF;
	expect_trouble(&setup, f->scratch, "too large", SORT, EXTERNAL, "-T", f->scratch, "-o/dev/null", f->in[0],
		       NULL);
	if (!mount_small(f->scratch, HALF))
		return;
	expect_trouble(NULL, f->scratch, "No space left", SORT, EXTERNAL, "--no-warnings", "-T", f->scratch, "-o",
		       f->out, f->in[0], NULL);
	expect_trouble(NULL, f->scratch, "No space left", SORT, EXTERNAL, "--no-warnings", "-T", f->scratch, "-o",
		       f->out, f->in[0], "--backend=syscall", "--direct=off", NULL);
	expect_trouble(NULL, f->scratch, "No space left", SORT, EXTERNAL, "--no-warnings", "-T", f->scratch, "-o",
		       f->out, f->in[0], "--batch-size=2", NULL);
	assert_dir_empty(f->scratch);
	assert_int_equal(umount(f->scratch), 0);
}

static void test_output_full(void **state)
{
	fixture *f = *state;
	char *small = test_path(f->scratch, "new"), needs[80], left[80];
	run_setup setup = { 0 };

	setup.fsize = HALF;
	expect_trouble(&setup, f->out, "too large", SORT, "-o", f->out, f->in[0], NULL);
	expect_trouble(&setup, f->out, "too large", SORT, "-u", "-o", f->out, f->in[0], NULL);
	setup.fsize = BYTES + HALF;
	expect_trouble(&setup, f->out, "too large", SORT, EXTERNAL, "-T", f->scratch, "-o", f->out, f->in[0], f->in[0],
		       "--backend=memory", NULL);
	if (mount_small(f->scratch, HALF)) {
		/* What is in between is the file. */
		snprintf(needs, sizeof(needs), "cannot reserve %zu bytes for '", BYTES);
		snprintf(left, sizeof(left), "new', where %zu are free", HALF);
		expect_trouble(NULL, needs, left, SORT, "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, needs, SORT, "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, needs, SORT, "-m", "--parallel=1", "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, needs, "shuffle", "--record-size=16", "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, needs, "sort", "-o", small, f->in[0], NULL);
		setup.fsize = 0;
		setup.out_fd = open(small, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		expect_trouble(&setup, "standard output", needs, SORT, EXTERNAL, "-T", f->dir, f->in[0], NULL);
		close(setup.out_fd);
		assert_int_equal(unlink(small), 0);
		expect_trouble(NULL, small, "No space left", SORT, "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, "No space left", SORT, "-u", "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, "No space left", SORT, EXTERNAL, "-T", f->dir, "-o", small, f->in[0], NULL);
		assert_dir_empty(f->scratch);
		/* What stands there stays there. */
		write_file(small, old, sizeof(old));
		expect_trouble(NULL, small, "No space left", SORT, EXTERNAL, "-T", f->dir, "-o", small, f->in[0], NULL);
		expect_trouble(NULL, small, "No space left", "generate", "--records=1000000", "--record-size=16", "-o",
			       small, NULL);
		assert_file(small, old, sizeof(old));
		assert_int_equal(count_files(f->scratch), 1);
		assert_int_equal(umount(f->scratch), 0);
	}
	free(small);
}

/* A file that is to be sorted in place, on a disk that has no room for it twice: the message says how, and that
 * works. */
static void test_output_full_hints(void **state)
{
	fixture *f = *state;
	char *small = test_path(f->scratch, "data"), *other = test_path(f->scratch, "other");
	run_setup setup = { 0 };
	size_t i;
	char *now;
	run r;

	if (mount_small(f->scratch, BYTES + HALF)) {
		write_file(small, f->records, BYTES);
		write_file(other, f->records, 5000);
		expect_trouble(NULL, small, "1<>FILE", SORT, EXTERNAL, "-T", f->dir, "-o", small, small, NULL);
		expect_trouble(NULL, small, "another file system", SORT, "-u", "-m", "-o", small, small, f->in[0],
			       NULL);
		expect_trouble(NULL, other, "remove it first", SORT, EXTERNAL, "-T", f->dir, "-o", other, f->in[0],
			       NULL);
		assert_file(small, f->records, BYTES);

		setup.out_fd = open(small, O_RDWR | O_CLOEXEC);
		run_command(&r, &setup, SORT, EXTERNAL, "-T", f->dir, small, NULL);
		close(setup.out_fd);
		assert_status(&r, 0);
		run_free(&r);
		now = read_file(small, &i);
		assert_int_equal(i, BYTES);
		free(now);
		run_command(&r, NULL, "check", "--record-size=16", "-k0:u64", small, NULL);
		assert_status(&r, 0);
		run_free(&r);
		assert_int_equal(umount(f->scratch), 0);
	}
	free(other);
	free(small);
}

/* An input that becomes shorter while it is read. */
static void test_shrinking_input(void **state)
{
	fixture *f = *state;
	const char *const args[] = { SORT, EXTERNAL, "--progress", "-T", f->scratch, "-o", f->out, "-", f->in[0],
				     NULL };
	run_setup setup = { 0 };
	int fd[2];
	run r;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.in_fd = fd[0];
	run_start(&r, &setup, args);
	close(fd[0]);
	/* The sizes are taken before the first input is read; once most of this is gone they have been. */
	assert_int_equal(write(fd[1], f->records, BYTES), BYTES);
	assert_int_equal(truncate(f->in[0], BYTES / 2), 0);
	close(fd[1]);
	run_wait(&r);
	assert_int_equal(r.status, 2);
	assert_non_null(strstr(r.err, f->in[0]));
	assert_non_null(strstr(r.err, "shorter"));
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wrong_options, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_little_memory, setup, teardown),
		cmocka_unit_test(test_memory_told_once),
		cmocka_unit_test_setup_teardown(test_inputs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outputs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scratch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_pipe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted_working, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scratch_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_output_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_output_full_hints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shrinking_input, setup, teardown),
	};

	return cmocka_run_group_tests_name("cli_errors", tests, setup_group, NULL);
}
