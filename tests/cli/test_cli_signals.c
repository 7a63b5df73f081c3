/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_signals.c -- a signal that ends the command leaves nothing behind, also where files must have names from the
 * start.
 *
 * Such a file system is had by a filter in front of the kernel that refuses unnamed files: this program, called with
 * the command's arguments behind a word, puts it there and becomes the command.
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
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"
#include "io/refuse.h"

#define FILTERED "with-names-only"
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

static const char old[] = "what stood there before";
static char self[4096];

static void wait_a_little(void)
{
	const struct timespec t = { 0, 5000000 };

	nanosleep(&t, NULL);
}

static int refuse_unnamed(void)
{
	return refuse(__NR_openat, 2, BPF_JSET, TMPFILE_BIT, EOPNOTSUPP);
}

/* Does the filter work on this kernel? */
static int can_filter(void)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(!refuse_unnamed() || open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EOPNOTSUPP);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int setup(void **state)
{
	fixture *f;

	fixture_make(state);
	f = *state;
	write_file(f->out, old, sizeof(old));
	return 0;
}

/* The output's temporary name is there: begin; send the signal so many times; and see that it is gone, and what stood
 * there is not. */
static void end_it(const fixture *f, const char *const *args, int sig, int times)
{
	run_setup how = { 0 };
	int fd[2], i;
	run r;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	how.in_fd = fd[0];
	how.program = self;
	run_start(&r, &how, args);
	close(fd[0]);
	for (i = 0; count_files(f->dir) < 2; i++) {
		if (i > 6000 || waitpid(r.pid, NULL, WNOHANG))
			fail_msg("no temporary name appears");
		wait_a_little();
	}
	for (i = 0; i < times; i++) {
		if (i)
			wait_a_little();
		assert_int_equal(kill(r.pid, sig), 0);
	}
	run_wait(&r);
	close(fd[1]);
	if (r.signal != sig)
		fail_msg("signal %d: it ended with status %d, signal %d: %s", sig, r.status, r.signal, r.err);
	assert_string_equal(r.err, "");
	if (count_files(f->dir) != 1)
		fail_msg("signal %d, %d times: something is left behind", sig, times);
	assert_file(f->out, old, sizeof(old));
	assert_dir_empty(f->scratch);
	run_free(&r);
}

static void test_each_signal(void **state)
{
	const int sig[] = { SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGPOLL, SIGPROF, SIGVTALRM, SIGXCPU,
			    SIGPIPE, SIGQUIT, SIGRTMIN, SIGRTMAX };
	const fixture *f = *state;
	const char *const sort[] = { FILTERED, "sort", "-S8M", "-T", f->scratch, "-o", f->out, "-", NULL };
	const char *const generate[] = { FILTERED, "generate", "--records=1000000000000", "--record-size=1", "-o",
					 f->out, NULL };
	size_t i;

	if (!can_filter()) {
		print_message("# no filter of system calls here: temporary names are not tested\n");
		return;
	}
	for (i = 0; i < sizeof(sig) / sizeof(sig[0]); i++) {
		end_it(f, sort, sig[i], 2);
		end_it(f, generate, sig[i], 2);
	}
}

/* Once is enough for one that waits for what does not come, and for one that is at work. */
static void test_once(void **state)
{
	const fixture *f = *state;
	const char *const sort[] = { FILTERED, "merge", "-S8M", "-T", f->scratch, "-o", f->out, "-", NULL };
	const char *const generate[] = { FILTERED, "generate", "--size=100T", "--lines", "-o", f->out, NULL };

	if (!can_filter())
		return;
	end_it(f, sort, SIGTERM, 1);
	end_it(f, generate, SIGHUP, 1);
}

/* One that the parent has ignored stays so. */
static void test_ignored(void **state)
{
	const fixture *f = *state;
	const char *const args[] = { "sort", "-S8M", "-T", f->scratch, "-o", f->out, "-", NULL };
	void (*before)(int) = signal(SIGUSR1, SIG_IGN);
	run_setup how = { 0 };
	int fd[2];
	run r;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	how.in_fd = fd[0];
	run_start(&r, &how, args);
	close(fd[0]);
	assert_int_equal(kill(r.pid, SIGUSR1), 0);
	assert_int_equal(write(fd[1], "b\na\n", 4), 4);
	assert_int_equal(kill(r.pid, SIGUSR1), 0);
	close(fd[1]);
	run_wait(&r);
	signal(SIGUSR1, before);
	assert_status(&r, 0);
	assert_file(f->out, "a\nb\n", 4);
	run_free(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_signal, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_once, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_ignored, setup, fixture_free),
	};
	ssize_t n;

	if (argc > 1 && !strcmp(argv[1], FILTERED)) {
		if (refuse_unnamed())
			execv(getenv("EXTMEM"), argv + 1);
		return 126;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return 1;
	self[n] = '\0';
	return cmocka_run_group_tests_name("cli_signals", tests, run_setup_group, NULL);
}
