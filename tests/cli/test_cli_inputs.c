/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_inputs.c -- inputs that are no plain files, or do not stay what they were: of a size that nobody knows,
 * FIFOs that one process feeds, files that change while they are read.
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/run.h"
#include "common/test.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MOST 10                 /* FIFOs */
#define SHRINKS ((size_t)500000) /* lines of 8 bytes: more than a merge reads ahead */
#define HANGS 120u              /* seconds, after which the whole test is killed */

/* Arguments, then the file. */
static const char *const readers[][5] = {
	{ "sort" }, { "sort", "-r", "-k1,1" }, { "sort", "-u" }, { "sort", "-m" }, { "merge" },
	{ "unique" }, { "unique", "-c" }, { "top", "-n", "1000" }, { "shuffle", "--seed=1" },
	{ "shuffle", "--seed=1", "-n", "3" }, { "sort", "--csv", "-k2" }, { "sort", "--record-size=1" },
	{ "unique", "--record-size=1", "-c" }, { "top", "--record-size=1", "-n", "100" },
	{ "merge", "--record-size=1" }, { "shuffle", "--seed=1", "--record-size=1" },
	{ "sort", "--parallel=1", "--backend=syscall" }, { "sort", "--header=2" }, { "check", "--unsorted" },
	{ "check", "--unsorted", "--record-size=1" },
};

/* The i-th of the readers with these files behind it. */
static void run_reader(run *r, const run_setup *setup, size_t i, const char *a, const char *b)
{
	const char *args[8];
	size_t n;

	for (n = 0; n < COUNT(readers[0]) && readers[i][n]; n++)
		args[n] = readers[i][n];
	args[n++] = a;
	args[n++] = b;
	args[n] = NULL;
	run_args(r, setup, args);
}

/* Each command makes of a file of /proc what it makes of a pipe with the same in it. */
static void test_size_unknown(void **state)
{
	static const char *const files[] = { "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled" };
	size_t i, k;

	(void)state;
	for (k = 0; k < COUNT(files); k++) {
		run_setup piped = { 0 }, redirected = { 0 };

		if (access(files[k], R_OK))
			continue;
		for (i = 0; i < COUNT(readers); i++) {
			run want, named, stdin_of;
			char part[65536];
			ssize_t n, all = 0;
			int fd;

			if (test_left_out())
				continue;
			fd = open(files[k], O_RDONLY | O_CLOEXEC);
			assert_true(fd >= 0);
			while ((n = read(fd, part + all, sizeof(part) - (size_t)all)) > 0)
				all += n;
			close(fd);
			assert_true(all > 0);
			piped.in_fd = feed_pipe(part, (size_t)all);
			run_reader(&want, &piped, i, "-", NULL);
			close(piped.in_fd);
			assert_status(&want, 0);
			assert_true(want.out_bytes > 0);

			run_reader(&named, NULL, i, files[k], NULL);
			redirected.in_fd = open(files[k], O_RDONLY | O_CLOEXEC);
			run_reader(&stdin_of, &redirected, i, "-", NULL);
			close(redirected.in_fd);
			assert_status(&named, 0);
			assert_status(&stdin_of, 0);
			if (strcmp(named.out, want.out) || strcmp(stdin_of.out, want.out))
				fail_msg("%s %s: %s or %s, not %s", readers[i][0], files[k], named.out, stdin_of.out,
					 want.out);
			run_free(&want);
			run_free(&named);
			run_free(&stdin_of);
		}
	}
	if (access(files[0], R_OK))
		skip();
}

/* Standard input begins where its offset is, which may be behind the end; what other files have is added to that. */
static void test_offset(void **state)
{
	static const struct {
		off_t offset;
		const char *lines, *both;
	} cases[] = {
		{ 0, "a\nb\nc\n", "a\na\nb\nb\nc\nc\n" }, { 2, "a\nb\n", "a\na\nb\nb\nc\n" }, { 6, "", "a\nb\nc\n" },
		{ 4096, "", "a\nb\nc\n" }, { (off_t)1 << 40, "", "a\nb\nc\n" },
	};
	static const char *const commands[][2] = { { "sort", NULL }, { "sort", "--record-size=2" } };
	fixture *f = *state;
	size_t i, k;
	run r;

	write_text(f->in[0], "c\nb\na\n");
	write_text(f->in[1], "a\nb\nc\n");
	for (i = 0; i < COUNT(cases); i++) {
		run_setup setup = { 0 };

		setup.in_fd = open(f->in[0], O_RDONLY | O_CLOEXEC);
		assert_true(setup.in_fd > 0);
		for (k = 0; k < COUNT(commands); k++) {
			if (test_left_out())
				continue;
			assert_true(lseek(setup.in_fd, cases[i].offset, SEEK_SET) == cases[i].offset);
			run_command(&r, &setup, commands[k][0], "-", commands[k][1], NULL);
			assert_status(&r, 0);
			assert_string_equal(r.out, cases[i].lines);
			run_free(&r);
			assert_true(lseek(setup.in_fd, cases[i].offset, SEEK_SET) == cases[i].offset);
			run_command(&r, &setup, commands[k][0], "-", f->in[1], commands[k][1], NULL);
			assert_status(&r, 0);
			assert_string_equal(r.out, cases[i].both);
			run_free(&r);
		}
		close(setup.in_fd);
	}
}

/* So --plan is for what is left. */
static void test_plan_offset(void **state)
{
	static const struct {
		off_t offset;
		const char *records;
	} cases[] = { { 0, "records:        5\n" }, { 2, "records:        4\n" }, { 6, "records:        2\n" },
		      { 9, "records:        2\n" } };
	fixture *f = *state;
	run_setup setup = { 0 };
	size_t i;
	run r;

	write_text(f->in[0], "c\nb\na\n");
	write_text(f->in[1], "a\nb\n");
	setup.in_fd = open(f->in[0], O_RDONLY | O_CLOEXEC);
	assert_true(setup.in_fd > 0);
	for (i = 0; i < COUNT(cases); i++) {
		assert_true(lseek(setup.in_fd, cases[i].offset, SEEK_SET) == cases[i].offset);
		run_command(&r, &setup, "sort", "--plan", "--record-size=2", "-", f->in[1], NULL);
		assert_status(&r, 0);
		assert_non_null(strstr(r.out, cases[i].records));
		run_free(&r);
	}
	close(setup.in_fd);
}

/* A process that writes the same to several FIFOs, piece by piece in turn, as tee does, and waits where one of them is
 * full. */
typedef struct producer {
	char *dir, *path[MOST];
	unsigned n;
	pid_t pid;
} producer;

static void producer_make(producer *t, unsigned n)
{
	char name[16];

	memset(t, 0, sizeof(*t));
	t->dir = test_dir_make();
	for (t->n = 0; t->n < n; t->n++) {
		snprintf(name, sizeof(name), "fifo%u", t->n);
		t->path[t->n] = test_path(t->dir, name);
		assert_int_equal(mkfifo(t->path[t->n], 0600), 0);
	}
}

static void write_all(int fd, const char *p, size_t bytes)
{
	while (bytes) {
		ssize_t put = write(fd, p, bytes);

		if (put <= 0)
			_exit(1);
		p += put;
		bytes -= (size_t)put;
	}
}

/* backwards: it opens them from the last to the first.  to_stdin, if not 0, gets everything first. */
static void producer_start(producer *t, const char *data, size_t bytes, size_t piece, int backwards, int to_stdin)
{
	int fd[MOST + 1];
	unsigned i, n = 0;
	size_t at;

	fflush(NULL);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (t->pid)
		return;
	if (to_stdin)
		fd[n++] = to_stdin;
	for (i = 0; i < t->n; i++) {
		fd[n] = open(t->path[backwards ? t->n - 1 - i : i], O_WRONLY);
		if (fd[n++] < 0)
			_exit(1);
	}
	for (at = 0; at < bytes; at += piece)
		for (i = 0; i < n; i++)
			write_all(fd[i], data + at, piece < bytes - at ? piece : bytes - at);
	_exit(0);
}

static void producer_end(producer *t)
{
	int status;

	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	assert_int_equal(status, 0);
}

static void producer_free(producer *t)
{
	while (t->n)
		free(t->path[--t->n]);
	test_dir_remove(t->dir);
}

/* Every line k times. */
static char *repeat(const char *lines, size_t count, size_t width, unsigned k)
{
	char *all = malloc(count * width * k + 1), *p = all;
	size_t i;
	unsigned j;

	assert_non_null(all);
	for (i = 0; i < count; i++)
		for (j = 0; j < k; j++, p += width)
			memcpy(p, lines + i * width, width);
	return all;
}

typedef struct merge_case {
	const char *args[6];
	int once;               /* of equal records one comes out */
	int header;             /* the first line is one, and equal to the second */
} merge_case;

static void merge_fifos(producer *t, const merge_case *c, const char *data, size_t count, size_t width, size_t piece,
			int way)
{
	const char *args[MOST + 8];
	const unsigned k = t->n + (way == 2);
	char *want = repeat(data, count, width, c->once ? 1 : k);
	run_setup setup = { 0 };
	int ends[2];
	size_t n = 0, i;
	run r;

	for (i = 0; i < COUNT(c->args) && c->args[i]; i++)
		args[n++] = c->args[i];
	for (i = 0; i < t->n; i++)
		args[n++] = t->path[i];
	if (way == 2)
		args[n++] = "-";
	args[n] = NULL;
	if (way == 2) {
		assert_int_equal(pipe(ends), 0);
		setup.in_fd = ends[0];
	}
	alarm(HANGS);
	producer_start(t, data, count * width, piece, way == 1, way == 2 ? ends[1] : 0);
	if (way == 2)
		close(ends[1]);
	run_args(&r, &setup, args);
	if (way == 2)
		close(ends[0]);
	producer_end(t);
	alarm(0);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, count * width * (c->once ? 1 : k));
	assert_memory_equal(r.out, want, r.out_bytes);
	run_free(&r);
	free(want);
}

/* One process feeds all inputs of a merge: it never comes to an end that waits for more of one than the process writes
 * to it. */
static void test_one_producer(void **state)
{
	static const merge_case cases[] = {
		{ { "sort", "-m" }, 0, 0 },
		{ { "merge" }, 0, 0 },
		{ { "merge", "-S", "1M" }, 0, 0 },
		{ { "merge", "-S", "1M", "-k1,1n", "-s" }, 0, 0 },
		{ { "merge", "-u", "-S", "2M" }, 1, 0 },
		{ { "sort", "-m", "-u", "--parallel=1" }, 1, 0 },
		{ { "unique", "--presorted" }, 1, 0 },
		{ { "merge", "--record-size=8" }, 0, 0 },
		{ { "merge", "--record-size=8", "-S", "1M", "-k0:bytes8" }, 0, 0 },
		{ { "merge", "--record-size=8", "-u" }, 1, 0 },
		/* No header is waited for either before all inputs are open. */
		{ { "merge", "-u", "--header=1" }, 1, 1 },
	};
	static const unsigned fifos[] = { 1, 2, 3, MOST };
	static const size_t counts[] = { 1000, 40000 };
	char *all = malloc(8 * 40001 + 1), *data = all + 8;
	size_t i, k, c;

	(void)state;
	assert_non_null(all);
	memcpy(all, "0000000\n", 8);
	for (i = 0; i < 40000; i++)
		sprintf(data + 8 * i, "%07u\n", (unsigned)i);
	for (k = 0; k < COUNT(fifos); k++) {
		producer t;

		producer_make(&t, fifos[k]);
		for (i = 0; i < COUNT(cases); i++)
			for (c = 0; c < COUNT(counts); c++) {
				const char *lines = cases[i].header ? all : data;

				if (test_left_out())
					continue;
				/* In pieces that end within records; opened in the other order; standard input among
				 * them. */
				merge_fifos(&t, &cases[i], lines, counts[c], 8, 4096, 0);
				merge_fifos(&t, &cases[i], lines, counts[c], 8, 1021, 1);
				if (fifos[k] < MOST)
					merge_fifos(&t, &cases[i], lines, counts[c], 8, 8191, 2);
			}
		producer_free(&t);
	}
	free(all);
}

/* Does it read all its inputs at a time?  The others read one after the other. */
static int merges(const char *const reader[])
{
	return !strcmp(reader[0], "merge") || (reader[1] && !strcmp(reader[1], "-m"));
}

/*
 * A file that became shorter after it was looked at is an error in every command, and nothing comes out.  The other
 * input, a FIFO, holds the command up, in front of the file or, where all are open at a time, behind it, of which only
 * the beginning is read ahead.
 */
static void test_shrinks(void **state)
{
	fixture *f = *state;
	char *fifo = test_path(f->dir, "fifo"), *text = malloc(8 * SHRINKS + 1);
	size_t i, k;

	assert_non_null(text);
	for (i = 0; i < SHRINKS; i++)
		sprintf(text + 8 * i, "%07u\n", (unsigned)i);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (i = 0; i < COUNT(readers); i++) {
		const int first = merges(readers[i]);
		const char *args[10];
		size_t n;
		int fd;
		run r;

		/* It does not know a file before it comes to it. */
		if (!strcmp(readers[i][0], "check"))
			continue;
		write_file(f->in[0], text, 8 * SHRINKS);
		for (n = 0; n < COUNT(readers[0]) && readers[i][n]; n++)
			args[n] = readers[i][n];
		args[n++] = "-o";
		args[n++] = f->out;
		args[n++] = first ? f->in[0] : fifo;
		args[n++] = first ? fifo : f->in[0];
		args[n] = NULL;
		alarm(HANGS);
		run_start(&r, NULL, args);
		/* Somebody reads the FIFO, so all inputs were looked at. */
		fd = open(fifo, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(truncate(f->in[0], 1600), 0);
		/* It may have met the end of the file by now, and be gone. */
		for (k = 0; k < 3 && write(fd, "0000000\n", 8) == 8; k++)
			continue;
		assert_true(k == 3 || errno == EPIPE);
		close(fd);
		run_wait(&r);
		alarm(0);
		if (r.status != 2 || !strstr(r.err, f->in[0]))
			fail_msg("%s %s: %d, %s", readers[i][0], readers[i][1] ? readers[i][1] : "", r.status, r.err);
		assert_int_equal(access(f->out, F_OK), -1);
		run_free(&r);
	}
	free(text);
	free(fifo);
}

/* What is appended meanwhile does not count. */
static void test_grows(void **state)
{
	static const char *const commands[][2] = {
		{ "sort" }, { "merge" }, { "unique" }, { "top" }, { "sort", "-m" }, { "sort", "-u" },
	};
	fixture *f = *state;
	char *fifo = test_path(f->dir, "fifo");
	size_t i;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (i = 0; i < COUNT(commands); i++) {
		const int first = merges(commands[i]);
		const char *args[6];
		size_t n;
		int fd;
		FILE *more;
		run r;

		write_text(f->in[0], "b\nd\n");
		for (n = 0; n < 2 && commands[i][n]; n++)
			args[n] = commands[i][n];
		args[n++] = first ? f->in[0] : fifo;
		args[n++] = first ? fifo : f->in[0];
		args[n] = NULL;
		alarm(HANGS);
		run_start(&r, NULL, args);
		fd = open(fifo, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		more = fopen(f->in[0], "ab");
		assert_non_null(more);
		assert_true(fputs("e\nf\n", more) >= 0);
		assert_int_equal(fclose(more), 0);
		assert_int_equal(write(fd, "a\nc\n", 4), 4);
		close(fd);
		run_wait(&r);
		alarm(0);
		assert_status(&r, 0);
		if (strcmp(r.out, "a\nb\nc\nd\n") != 0)
			fail_msg("%s: %s", commands[i][0], r.out);
		run_free(&r);
	}
	free(fifo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_unknown),
		cmocka_unit_test_setup_teardown(test_offset, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_plan_offset, fixture_make, fixture_free),
		cmocka_unit_test(test_one_producer),
		cmocka_unit_test_setup_teardown(test_shrinks, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_grows, fixture_make, fixture_free),
	};

	return cmocka_run_group_tests_name("cli/inputs", tests, run_setup_group, NULL);
}
