/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run.h -- running the built command, whose path is in EXTMEM.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* How to run it; all zeroes is the usual way. */
typedef struct run_setup {
	const char *program;    /* to run in place of the command; NULL: the command */
	const char *dir;        /* to run it in, NULL: here */
	const void *in;         /* standard input, as a file; NULL: in_fd, or /dev/null */
	size_t in_bytes;
	int in_fd;              /* 0: none */
	int out_fd;             /* 0: captured in out */
	int err_fd;             /* 0: captured in err */
	int close_in;           /* run with standard input closed */
	int close_out;
	uint64_t nofile;        /* RLIMIT_NOFILE, 0: as it is */
	uint64_t fsize;         /* RLIMIT_FSIZE, 0: as it is */
	uint64_t space;         /* RLIMIT_AS, 0: as it is */
	uint64_t data;          /* RLIMIT_DATA, 0: as it is */
	uint64_t stack;         /* RLIMIT_STACK, 0: as it is */
	uint64_t nproc;         /* RLIMIT_NPROC, as a user with no other process; 0: as it is */
	int obey_modes;         /* file permissions hold for root, too */
	int ignore_pipe;        /* with SIGPIPE ignored */
	const char *env[8];     /* NAME=VALUE added, NULL at the end */
	unsigned seconds;       /* SIGALRM comes after so many; 0: it does not */
} run_setup;

typedef struct run {
	pid_t pid;
	FILE *out_file, *err_file;
	int status;             /* exit status, or -1 */
	int signal;             /* that it died of, or 0 */
	uint64_t rss;           /* the most memory it had, bytes */
	char *out;              /* what it printed; a NUL follows */
	size_t out_bytes;
	char *err;
} run;

/* Start with arguments up to NULL; setup may be NULL. */
void run_start(run *r, const run_setup *setup, const char *const *args);

/* Wait for its end and collect what it printed. */
void run_wait(run *r);

/* Start and wait. */
void run_args(run *r, const run_setup *setup, const char *const *args);
void run_command(run *r, const run_setup *setup, ...);

void run_free(run *r);

/* A pipe with data on its other end, to be closed by the caller. */
int feed_pipe(const void *data, size_t bytes);

/* Fail unless it ended with this status; tells what it printed. */
void assert_run(const run *r, int status, const char *file, int line);
#define assert_status(r, status) assert_run(r, status, __FILE__, __LINE__)

/* Fail unless it exited with 2 and printed exactly one line, on standard error, that begins with "extmem" and has these
 * words in it.  Behind it may stand where to read about options. */
void assert_run_trouble(const run *r, const char *a, const char *b, const char *file, int line);
#define assert_trouble(r, a, b) assert_run_trouble(r, a, b, __FILE__, __LINE__)

/* Run with the arguments behind b, up to NULL, and see that it ends as assert_trouble() wants it. */
void expect_trouble(const run_setup *setup, const char *a, const char *b, ...);

/* Run with arguments up to NULL while nobody reads what it prints: a reader that has seen enough ends it without a
 * word.  ignored: SIGPIPE is, and it has to say so. */
void expect_closed_pipe(int ignored, const char *const *args);

/* Run with this input and the arguments behind out, up to NULL, and see that just this comes out. */
void expect_output(const char *in, const char *out, ...);

/* Whole files. */
void write_file(const char *path, const void *data, size_t bytes);
void write_text(const char *path, const char *text);
char *read_file(const char *path, size_t *bytes);
void assert_file(const char *path, const void *data, size_t bytes);

/* Names in a directory, without . and .. */
unsigned count_files(const char *dir);

/* For main(): is the command there at all?  From then on it reads no configuration file that a test does not name. */
int run_setup_group(void **state);

#endif
