/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run.c -- running the built command.
 *
 * What it prints goes to unnamed files, not pipes, so that no amount of it can make anybody wait.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"

#define ARGS_MOST 256
#define CAP_DAC_OVERRIDE_NUMBER 1
#define CAP_DAC_READ_SEARCH_NUMBER 2
#define EXEC_FAILED 126
#define NOBODY 1000000000 /* users from here on have no processes */
#define ALARM_SECONDS 900 /* nothing here takes that long unless it hangs */

/* Limit a resource, unless value is 0. */
static void child_limit(unsigned resource, uint64_t value)
{
	struct rlimit limit;

	limit.rlim_cur = limit.rlim_max = (rlim_t)value;
	if (value && setrlimit(resource, &limit))
		_exit(EXEC_FAILED);
}

static void child_limits(const run_setup *s)
{
	/* The test may be in the background, where shells have these ignored. */
	static const int normal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	size_t i;

	for (i = 0; i < sizeof(normal) / sizeof(normal[0]); i++)
		signal(normal[i], SIG_DFL);
	child_limit(RLIMIT_NOFILE, s->nofile);
	child_limit(RLIMIT_FSIZE, s->fsize);
	child_limit(RLIMIT_AS, s->space);
	child_limit(RLIMIT_DATA, s->data);
	child_limit(RLIMIT_STACK, s->stack);
	/* Out of the bounding set, root does not get them back by exec. */
	if (s->obey_modes && !geteuid() &&
	    (prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE_NUMBER, 0, 0, 0) ||
	     prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH_NUMBER, 0, 0, 0)))
		_exit(EXEC_FAILED);
	for (i = 0; i < sizeof(s->env) / sizeof(s->env[0]) && s->env[i]; i++)
		putenv((char *)(uintptr_t)s->env[i]);
	signal(SIGPIPE, s->ignore_pipe ? SIG_IGN : SIG_DFL);
	alarm(s->seconds);
	/* Last, as from here on it is nobody.  Root is not limited, and a number of processes is one of those of a
	 * user. */
	if (!s->nproc)
		return;
	child_limit(RLIMIT_NPROC, s->nproc);
	if (!geteuid() && (setgroups(0, NULL) || setuid(NOBODY + (uid_t)getpid() % 4096)))
		_exit(EXEC_FAILED);
}

static void child(const run *r, const run_setup *s, int in, const char *const *args)
{
	const char *argv[ARGS_MOST + 2];
	int i, fd;

	argv[0] = s->program ? s->program : getenv("EXTMEM");
	for (i = 0; args[i]; i++)
		argv[i + 1] = args[i];
	argv[i + 1] = NULL;

	if (dup2(in, 0) < 0 || dup2(s->out_fd ? s->out_fd : fileno(r->out_file), 1) < 0 ||
	    dup2(s->err_fd ? s->err_fd : fileno(r->err_file), 2) < 0)
		_exit(EXEC_FAILED);
	/* What the test has open is none of its business, and would keep pipes open. */
	for (fd = 3; fd < 256; fd++)
		close(fd);
	if (s->close_in)
		close(0);
	if (s->close_out)
		close(1);
	child_limits(s);
	if (s->dir && chdir(s->dir))
		_exit(EXEC_FAILED);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(EXEC_FAILED);
}

void run_start(run *r, const run_setup *setup, const char *const *args)
{
	static const run_setup usual;
	FILE *file = NULL;
	int in, null = -1;

	if (!setup)
		setup = &usual;
	memset(r, 0, sizeof(*r));
	r->out_file = tmpfile();
	r->err_file = tmpfile();
	assert_non_null(r->out_file);
	assert_non_null(r->err_file);
	if (setup->in) {
		file = tmpfile();
		assert_non_null(file);
		assert_int_equal(fwrite(setup->in, 1, setup->in_bytes, file), setup->in_bytes);
		rewind(file);
		in = fileno(file);
	} else if (setup->in_fd) {
		in = setup->in_fd;
	} else {
		in = null = open("/dev/null", O_RDONLY);
	}
	assert_true(in >= 0);

	fflush(NULL);
	r->pid = fork();
	assert_true(r->pid >= 0);
	if (!r->pid)
		child(r, setup, in, args);
	if (file)
		fclose(file);
	if (null >= 0)
		close(null);
}

/* All of a file, with a NUL behind it. */
static char *slurp(FILE *f, size_t *bytes)
{
	long end;
	char *s;

	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	end = ftell(f);
	assert_true(end >= 0);
	rewind(f);
	s = malloc((size_t)end + 1);
	assert_non_null(s);
	assert_int_equal(fread(s, 1, (size_t)end, f), end);
	s[end] = '\0';
	if (bytes)
		*bytes = (size_t)end;
	return s;
}

void run_wait(run *r)
{
	struct rusage usage;
	int status;
	pid_t got;

	do
		got = wait4(r->pid, &status, 0, &usage);
	while (got < 0 && errno == EINTR);
	assert_int_equal(got, r->pid);
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->rss = (uint64_t)usage.ru_maxrss * 1024;
	assert_int_not_equal(r->status, EXEC_FAILED);
	r->out = slurp(r->out_file, &r->out_bytes);
	r->err = slurp(r->err_file, NULL);
	fclose(r->out_file);
	fclose(r->err_file);
}

void run_args(run *r, const run_setup *setup, const char *const *args)
{
	run_start(r, setup, args);
	run_wait(r);
}

/* The arguments up to NULL. */
static void take_args(const char *args[ARGS_MOST], va_list ap)
{
	size_t n = 0;

	do {
		assert_true(n < ARGS_MOST);
		args[n] = va_arg(ap, const char *);
	} while (args[n++]);
}

void run_command(run *r, const run_setup *setup, ...)
{
	const char *args[ARGS_MOST];
	va_list ap;

	va_start(ap, setup);
	take_args(args, ap);
	va_end(ap);
	run_args(r, setup, args);
}

void run_free(run *r)
{
	free(r->out);
	free(r->err);
	memset(r, 0, sizeof(*r));
}

int feed_pipe(const void *data, size_t bytes)
{
	const char *p = data;
	int fd[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		/* A grandchild writes, which nobody needs to wait for. */
		if (fork())
			_exit(0);
		close(fd[0]);
		for (; bytes; p += n, bytes -= (size_t)n) {
			n = write(fd[1], p, bytes);
			if (n <= 0)
				_exit(1);
		}
		_exit(0);
	}
	close(fd[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return fd[0];
}

void assert_run(const run *r, int status, const char *file, int line)
{
	if (r->status == status)
		return;
	print_error("exit status %d, signal %d, not exit status %d\nstandard error: %s\n", r->status, r->signal, status,
		    r->err);
	_fail(file, line);
}

/* Is it one line, behind which it may stand where to read about options? */
static int is_one_line(const char *text)
{
	const char *newline = strchr(text, '\n');

	if (!newline)
		return 0;
	if (!strncmp(newline + 1, "Try 'extmem", 11))
		newline = strchr(newline + 1, '\n');
	return newline && !newline[1];
}

void assert_run_trouble(const run *r, const char *a, const char *b, const char *file, int line)
{
	assert_run(r, 2, file, line);
	if (!strncmp(r->err, "extmem", 6) && is_one_line(r->err) && strstr(r->err, a) && strstr(r->err, b) &&
	    !r->out_bytes)
		return;
	print_error("not one line with '%s' and '%s', or something on standard output: %s\n", a, b, r->err);
	_fail(file, line);
}

void expect_trouble(const run_setup *setup, const char *a, const char *b, ...)
{
	const char *args[ARGS_MOST];
	va_list ap;
	size_t i;
	run r;

	va_start(ap, b);
	take_args(args, ap);
	va_end(ap);
	run_args(&r, setup, args);
	if (r.status != 2 || !is_one_line(r.err) || !strstr(r.err, a) || !strstr(r.err, b)) {
		for (i = 0; args[i]; i++)
			print_error("%s ", args[i]);
		print_error("\n");
	}
	assert_trouble(&r, a, b);
	run_free(&r);
}

void expect_closed_pipe(int ignored, const char *const *args)
{
	run_setup setup = { 0 };
	int fd[2];
	run r;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.out_fd = fd[1];
	setup.ignore_pipe = ignored;
	run_start(&r, &setup, args);
	close(fd[1]);
	close(fd[0]);
	run_wait(&r);
	if (ignored) {
		assert_trouble(&r, "standard output", "Broken pipe");
	} else {
		assert_int_equal(r.signal, SIGPIPE);
		assert_string_equal(r.err, "");
	}
	run_free(&r);
}

void expect_output(const char *in, const char *out, ...)
{
	const char *args[ARGS_MOST];
	run_setup setup = { 0 };
	va_list ap;
	run r;

	va_start(ap, out);
	take_args(args, ap);
	va_end(ap);
	setup.in = in;
	setup.in_bytes = strlen(in);
	run_args(&r, &setup, args);
	assert_status(&r, 0);
	assert_string_equal(r.out, out);
	assert_string_equal(r.err, "");
	run_free(&r);
}

void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

char *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	char *s;

	if (!f) {
		print_error("%s: %s\n", path, strerror(errno));
		fail();
	}
	s = slurp(f, bytes);
	fclose(f);
	return s;
}

void assert_file(const char *path, const void *data, size_t bytes)
{
	size_t got;
	char *s = read_file(path, &got);

	assert_int_equal(got, bytes);
	assert_memory_equal(s, data, bytes);
	free(s);
}

unsigned count_files(const char *dir)
{
	struct dirent *e;
	unsigned n = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

/* $EXTMEM may be libtool's script, which takes ten times as long as what it starts, and starts others: then it becomes
 * the command itself, which finds the library that was built by $LD_LIBRARY_PATH. */
static void find_command(void)
{
	const char *name, *others = getenv("LD_LIBRARY_PATH");
	char *given = realpath(getenv("EXTMEM"), NULL), *program = NULL, *libraries = NULL;

	if (given) {
		name = strrchr(given, '/') + 1;
		if (asprintf(&program, "%.*s.libs/%s", (int)(name - given), given, name) > 0 &&
		    access(program, X_OK) == 0 &&
		    asprintf(&libraries, "%.*s.libs%s%s", (int)(name - given), given, others ? ":" : "",
			     others ? others : "") > 0) {
			setenv("EXTMEM", program, 1);
			setenv("LD_LIBRARY_PATH", libraries, 1);
		}
	}
	free(libraries);
	free(program);
	free(given);
}

int run_setup_group(void **state)
{
	run r;

	(void)state;
	if (!getenv("EXTMEM")) {
		print_error("EXTMEM must hold the path of the command\n");
		return -1;
	}
	find_command();
	alarm(ALARM_SECONDS);
	/* What somebody configured for himself is not to matter here. */
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("XDG_CONFIG_DIRS", "/nonexistent", 1);
	signal(SIGPIPE, SIG_IGN);
	run_command(&r, NULL, "--version", NULL);
	assert_status(&r, 0);
	run_free(&r);
	return 0;
}
