/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_sort.c -- extmem sort does what it should; what it does when it cannot is in test_cli_errors.c.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/model.h"
#include "cli/run.h"

#define ROUNDS 150
#define INPUTS_MOST 4
#define MIB ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* A list of arguments that keeps its own copies. */
typedef struct arguments {
	char text[48][160];
	const char *arg[49];
	size_t n;
} arguments;

static void add(arguments *a, const char *fmt, ...)
{
	va_list ap;

	assert_true(a->n < 48);
	va_start(ap, fmt);
	assert_in_range(vsnprintf(a->text[a->n], sizeof(a->text[0]), fmt, ap), 0, sizeof(a->text[0]) - 1);
	va_end(ap);
	a->arg[a->n] = a->text[a->n];
	a->arg[++a->n] = NULL;
}

static void add_order(arguments *a, const model *m)
{
	unsigned i;

	add(a, "--record-size=%zu", m->size);
	for (i = 0; i < m->keys; i++) {
		add(a, "-k");
		add(a, "%s", m->key[i].text);
	}
	if (m->reverse)
		add(a, "-r");
}

static size_t random_size(test_rng *rng)
{
	static const size_t usual[] = { 1, 2, 4, 7, 8, 9, 12, 16, 17, 24, 100 };

	return test_below(rng, 2) ? usual[test_below(rng, sizeof(usual) / sizeof(usual[0]))] : 1 + test_below(rng, 300);
}

/* Cut n records in pieces and write them to files; one may come as standard input. */
static void make_inputs(arguments *a, test_rng *rng, const char *dir, const unsigned char *records, size_t n,
			size_t size, run_setup *setup, int *pipe_end)
{
	const unsigned files = 1 + (unsigned)test_below(rng, INPUTS_MOST);
	const unsigned standard = (unsigned)test_below(rng, INPUTS_MOST * 2);
	char name[32];
	char *path;
	size_t some;
	unsigned i;

	for (i = 0; i < files; i++) {
		some = i + 1 == files ? n : (size_t)test_below(rng, n + 1);
		if (i == standard && test_below(rng, 2)) {
			*pipe_end = setup->in_fd = feed_pipe(records, some * size);
			add(a, "-");
		} else if (i == standard) {
			setup->in = records;
			setup->in_bytes = some * size;
			add(a, "-");
		} else {
			snprintf(name, sizeof(name), "in%u", i);
			path = test_path(dir, name);
			write_file(path, records, some * size);
			add(a, "%s", path);
			free(path);
		}
		records += some * size;
		n -= some;
	}
}

static void add_random_options(arguments *a, test_rng *rng, size_t n, size_t size)
{
	static const char *const backend[] = { "syscall", "memory", "syscall" };
	static const char *const direct[] = { "off", "try" };

	if (test_below(rng, 2))
		add(a, "--parallel=%u", 1 + (unsigned)test_below(rng, 4));
	if (test_below(rng, 2)) {
		add(a, "-S%uK", 2048 + (unsigned)test_below(rng, 4096));
	} else if (n > 4 && test_below(rng, 3)) {
		add(a, "--run-size=%u", 1 + (unsigned)(n / (2 + test_below(rng, 8))));
		add(a, "--block-size=%u", (unsigned)((size + 4095) / 4096 * 4096 * (1 + test_below(rng, 2))));
		if (test_below(rng, 2))
			add(a, "--batch-size=%u", 2 + (unsigned)test_below(rng, 4));
		if (test_below(rng, 3) == 0)
			add(a, "--read-buffers=%u", (unsigned)test_below(rng, 5));
		if (test_below(rng, 3) == 0)
			add(a, "--write-buffers=%u", 2 + (unsigned)test_below(rng, 5));
		if (test_below(rng, 3) == 0)
			add(a, "--scratch-compress=%s", test_below(rng, 2) ? "auto" : "never");
		if (test_below(rng, 3) == 0)
			add(a, "--last-run=%s", test_below(rng, 2) ? "written" : "kept");
	}
	if (test_below(rng, 4) == 0)
		add(a, "--backend=%s", backend[test_below(rng, 3)]);
	if (test_below(rng, 3) == 0)
		add(a, "--direct=%s", direct[test_below(rng, 2)]);
	if (test_below(rng, 4) == 0)
		add(a, "--isa=scalar");
	if (test_below(rng, 4) == 0)
		add(a, "-s");
	add(a, "--no-progress");
}

/* One sort with whatever options come up, compared with the model. */
static void random_sort(test_rng *rng, const char *dir, const char *scratch)
{
	const size_t size = random_size(rng);
	const size_t n = (size_t)test_below(rng, test_below(rng, 3) ? 300 : 20000);
	const int unique = test_below(rng, 3) == 0, to_file = (int)test_below(rng, 2);
	unsigned char *records = malloc(n * size + 1), *expected = malloc(n * size + 1);
	char *out = test_path(dir, "out"), *got;
	arguments *a = calloc(1, sizeof(*a));
	run_setup setup = { 0 };
	int pipe_end = -1;
	size_t left, bytes, i;
	model m;
	run r;

	assert_non_null(a);
	assert_non_null(records);
	assert_non_null(expected);
	model_random(&m, rng, size);
	model_records(rng, records, n, size, (int)test_below(rng, 2));
	memcpy(expected, records, n * size);
	left = model_sort(&m, expected, n, unique);

	add(a, "sort");
	add_order(a, &m);
	make_inputs(a, rng, dir, records, n, size, &setup, &pipe_end);
	add_random_options(a, rng, n, size);
	add(a, "-T%s", scratch);
	if (unique)
		add(a, "-u");
	if (to_file)
		add(a, "-o%s", out);
	run_args(&r, &setup, a->arg);
	got = to_file && !r.status ? read_file(out, &bytes) : NULL;
	if (!got) {
		got = r.out;
		bytes = r.out_bytes;
		r.out = NULL;
	}
	if (r.status || *r.err || bytes != left * size || memcmp(got, expected, bytes)) {
		for (i = 0; i < a->n; i++)
			print_error("%s ", a->arg[i]);
		print_error("\n%zu records, %zu expected, got %zu bytes, status %d signal %d: %s\n", n, left, bytes,
			    r.status, r.signal, r.err);
		fail();
	}
	assert_dir_empty(scratch);
	if (pipe_end >= 0)
		close(pipe_end);
	unlink(out);
	run_free(&r);
	free(out);
	free(got);
	free(a);
	free(records);
	free(expected);
}

static void test_like_the_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make(), *scratch = test_dir_make();
	int i;

	(void)state;
	for (i = 0; i < ROUNDS; i += (int)test_step())
		random_sort(&rng, dir, scratch);
	test_dir_remove(dir);
	test_dir_remove(scratch);
}

/* n records of 16 bytes with random keys, and the same sorted by 0:u64. */
static void make_pairs(size_t n, unsigned char **records, unsigned char **sorted)
{
	test_rng rng = test_rng_make(test_seed());
	model m = { 0 };

	*records = malloc(n * 16 + 1);
	*sorted = malloc(n * 16 + 1);
	assert_non_null(*records);
	assert_non_null(*sorted);
	model_records(&rng, *records, n, 16, 0);
	memcpy(*sorted, *records, n * 16);
	m.size = 16;
	m.keys = 1;
	model_key_parse(&m.key[0], "0:u64");
	model_sort(&m, *sorted, n, 0);
}

/* With pairs in the first input. */
static int setup(void **state)
{
	fixture *f;

	fixture_make(state);
	f = *state;
	f->bytes = (size_t)16 * 5000;
	make_pairs(f->bytes / 16, &f->records, &f->sorted);
	write_file(f->in[0], f->records, f->bytes);
	return 0;
}

#define SORT "sort", "--record-size=16", "-k0:u64"

static void test_output_is_the_input(void **state)
{
	fixture *f = *state;
	run r;

	run_command(&r, NULL, SORT, "-T", f->scratch, "--run-size=700", "--block-size=4096", "-o", f->in[0], f->in[0],
		    NULL);
	assert_status(&r, 0);
	assert_file(f->in[0], f->sorted, f->bytes);
	assert_int_equal(count_files(f->dir), 1);
	run_free(&r);
}

static void test_output_keeps_mode(void **state)
{
	fixture *f = *state;
	struct stat sb;
	run r;

	write_file(f->out, "old", 3);
	assert_int_equal(chmod(f->out, 0640), 0);
	run_command(&r, NULL, SORT, "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_file(f->out, f->sorted, f->bytes);
	assert_int_equal(stat(f->out, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0640);
	assert_int_equal(count_files(f->dir), 2);
	run_free(&r);
}

static void test_new_output_obeys_umask(void **state)
{
	fixture *f = *state;
	struct stat sb;
	mode_t old;
	run r;

	old = umask(027);
	run_command(&r, NULL, SORT, "-o", f->out, f->in[0], NULL);
	umask(old);
	assert_status(&r, 0);
	assert_int_equal(stat(f->out, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0640);
	run_free(&r);
}

static void test_output_is_a_link(void **state)
{
	fixture *f = *state;
	char *link = test_path(f->dir, "link");
	struct stat sb;
	run r;

	/* to a file that is not there yet, then to one that is; both relative to the link's directory */
	assert_int_equal(symlink("out", link), 0);
	run_command(&r, NULL, SORT, "-o", link, f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	assert_file(f->out, f->sorted, f->bytes);
	write_file(f->out, "old", 3);
	run_command(&r, NULL, SORT, "-o", link, f->in[0], NULL);
	assert_status(&r, 0);
	assert_file(f->out, f->sorted, f->bytes);
	assert_int_equal(lstat(link, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	assert_int_equal(count_files(f->dir), 3);
	run_free(&r);
	free(link);
}

static void test_output_is_a_device(void **state)
{
	fixture *f = *state;
	struct stat sb;
	run r;

	run_command(&r, NULL, SORT, "-o", "/dev/null", f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(stat("/dev/null", &sb), 0);
	assert_true(S_ISCHR(sb.st_mode));
	run_free(&r);
}

static void test_output_is_a_pipe(void **state)
{
	fixture *f = *state;
	char *fifo = test_path(f->dir, "fifo");
	char *got = malloc(f->bytes + 1);
	size_t have = 0;
	ssize_t n;
	int fd;
	const char *const args[] = { SORT, "-o", fifo, f->in[0], NULL };
	run r;

	assert_non_null(got);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	run_start(&r, NULL, args);
	fd = open(fifo, O_RDONLY);
	assert_true(fd >= 0);
	while ((n = read(fd, got + have, f->bytes + 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	run_wait(&r);
	assert_status(&r, 0);
	assert_int_equal(have, f->bytes);
	assert_memory_equal(got, f->sorted, f->bytes);
	run_free(&r);
	free(got);
	free(fifo);
}

static void test_few_records(void **state)
{
	fixture *f = *state;
	run r;

	write_file(f->in[0], "", 0);
	run_command(&r, NULL, SORT, "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_file(f->out, "", 0);
	run_free(&r);
	run_command(&r, NULL, SORT, NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, 0);
	run_free(&r);
	write_file(f->in[0], "0123456789abcdef", 16);
	run_command(&r, NULL, SORT, f->in[0], NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "0123456789abcdef");
	run_free(&r);
	run_command(&r, NULL, SORT, "/dev/null", f->in[0], f->in[0], "-u", NULL);
	assert_status(&r, 0);
	assert_string_equal(r.out, "0123456789abcdef");
	run_free(&r);
}

static void test_few_descriptors(void **state)
{
	fixture *f = *state;
	run_setup setup = { 0 };
	run r;

	setup.nofile = 16;
	run_command(&r, &setup, SORT, "-T", f->scratch, "--run-size=100", "--block-size=4096", "-o", f->out, f->in[0],
		    NULL);
	assert_status(&r, 0);
	assert_file(f->out, f->sorted, f->bytes);
	run_free(&r);
}

static void test_two_in_one_directory(void **state)
{
	fixture *f = *state;
	char *other = test_path(f->dir, "other");
	const char *const args[] = { SORT, "-T", f->dir, "--run-size=100", "--block-size=4096", "-o", f->out, f->in[0],
				     NULL };
	const char *const args2[] = { SORT, "-T", f->dir, "--run-size=99", "--block-size=4096", "-o", other, f->in[0],
				      NULL };
	run r, r2;

	run_start(&r, NULL, args);
	run_start(&r2, NULL, args2);
	run_wait(&r);
	run_wait(&r2);
	assert_status(&r, 0);
	assert_status(&r2, 0);
	assert_file(f->out, f->sorted, f->bytes);
	assert_file(other, f->sorted, f->bytes);
	assert_int_equal(count_files(f->dir), 3);
	run_free(&r);
	run_free(&r2);
	free(other);
}

static void test_scratch_directory(void **state)
{
	fixture *f = *state;
	char *missing = test_path(f->dir, "missing");
	char em[300], tmp[300], bad[300];
	run_setup setup = { 0 };
	run r;

	/* Each of the three is asked in turn: where a directory that is not there comes first, the sort fails. */
	snprintf(em, sizeof(em), "EXTMEM_TMPDIR=%s", f->scratch);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", f->scratch);
	snprintf(bad, sizeof(bad), "EXTMEM_TMPDIR=%s", missing);
	setup.env[0] = tmp;
	setup.env[1] = bad;
	run_command(&r, &setup, SORT, "--run-size=100", "-o/dev/null", f->in[0], NULL);
	assert_trouble(&r, missing, "No such file");
	run_free(&r);
	run_command(&r, &setup, SORT, "--run-size=100", "-T", f->scratch, "-o/dev/null", f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	snprintf(bad, sizeof(bad), "TMPDIR=%s", missing);
	run_command(&r, &setup, SORT, "--run-size=100", "-o/dev/null", f->in[0], NULL);
	assert_int_equal(r.status, 2);
	run_free(&r);
	setup.env[0] = em;
	run_command(&r, &setup, SORT, "--run-size=100", "-o/dev/null", f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	free(missing);
}

/* The keys of the JSON object, in this order, and nothing else. */
static void test_stats(void **state)
{
	static const char *const key[] = { "seconds", "cpu_seconds", "bytes_read", "bytes_written", "ios_read",
					   "ios_written", "io_wait", "block_size", "passes", "records_in",
					   "records_out", "runs", "run_records", "block_bytes", "fan_in", "threads",
					   "peak_memory", "peak_scratch", "peak_scratch_held", "kept_records",
					   "packed_from", "packed_to", "memory_bytes", "phases", "name", "seconds",
					   "cpu_seconds", "io_wait", "bytes_read", "bytes_written",
					   "ios_read", "ios_written", "name",
					   "seconds", "cpu_seconds", "io_wait", "bytes_read", "bytes_written",
					   "ios_read", "ios_written" };
	fixture *f = *state;
	const char *p;
	char quoted[40];
	size_t i;
	run r;

	run_command(&r, NULL, SORT, "-T", f->scratch, "--run-size=1000", "--block-size=4096", "--parallel=2",
		    "--stats=json", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	p = r.err;
	assert_int_equal(*p, '{');
	for (i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		p = strchr(p, '"');
		assert_non_null(p);
		snprintf(quoted, sizeof(quoted), "\"%s\": ", key[i]);
		assert_int_equal(strncmp(p, quoted, strlen(quoted)), 0);
		p += strlen(quoted);
		if (!strcmp(key[i], "name")) {
			assert_int_equal(*p, '"');
			p = strchr(p + 1, '"') + 1;
		}
	}
	assert_null(strchr(p, '"'));
	assert_string_equal(strchr(p, '}'), "}]}\n");
	assert_non_null(strstr(r.err, "\"block_size\": 4096, \"passes\": 2, \"records_in\": 5000, "
				      "\"records_out\": 5000, \"runs\": 5, \"run_records\": 1000, "
				      "\"block_bytes\": 4096, \"fan_in\": 5, \"threads\": 2,"));
	assert_non_null(strstr(r.err, "{\"name\": \"runs\","));
	assert_non_null(strstr(r.err, "{\"name\": \"output\","));
	assert_int_equal(r.out_bytes, 0);
	run_free(&r);

	run_command(&r, NULL, SORT, "--stats", "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.err, "5000 records in, 5000 out"));
	run_free(&r);
}

/* Scratch is a simulated disk, so that it takes longer than a tenth of a second. */
static void test_interval(void **state)
{
	static const char *const wrong[] = { "--interval=0", "--interval=x", "--interval=-1", "--interval=1s",
					     "--interval=", "--interval=nan" };
	fixture *f = *state;
	const char *line;
	size_t i;
	run r;

	run_command(&r, NULL, "generate", "--records=400000", "--record-size=16", "-o", f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	run_command(&r, NULL, SORT, "--interval=0.1", "--backend=simdisk", "-S2M", "-T", f->scratch, "-o", f->out,
		    f->in[0], NULL);
	assert_status(&r, 0);
	line = strchr(r.err, '\n');
	assert_non_null(line);
	assert_memory_equal(r.err, "  time s     r/s     w/s ", 25);
	assert_memory_equal(line - 4, "disk", 4);
	assert_true(strtod(line + 1, NULL) >= 0.1);
	assert_non_null(strstr(line, f->scratch));
	assert_non_null(strstr(line, "%  /"));
	run_free(&r);

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		run_command(&r, NULL, SORT, wrong[i], f->in[0], NULL);
		assert_status(&r, 2);
		assert_non_null(strstr(r.err, "not a number of seconds"));
		run_free(&r);
	}
}

static uint64_t plan_value(const char *plan, const char *name)
{
	const char *p = strstr(plan, name);

	assert_non_null(p);
	return strtoull(p + strlen(name), NULL, 10);
}

static void test_plan(void **state)
{
	fixture *f = *state;
	run r;

	run_command(&r, NULL, SORT, "--plan", "--run-size=1000", "--block-size=4096", "-o", f->out, f->in[0], f->in[0],
		    NULL);
	assert_status(&r, 0);
	assert_int_equal(plan_value(r.out, "records:"), 10000);
	assert_int_equal(plan_value(r.out, "runs:"), 10);
	assert_int_equal(plan_value(r.out, "passes:"), 2);
	assert_int_equal(plan_value(r.out, "run records:"), 1000);
	assert_int_equal(count_files(f->dir), 1);
	assert_string_equal(r.err, "");
	run_free(&r);
}

static void test_progress(void **state)
{
	fixture *f = *state;
	size_t n;
	run r;

	/* Long enough for a tenth of a second to pass. */
	run_command(&r, NULL, "generate", "--records=4000000", "--record-size=16", "-o", f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	run_command(&r, NULL, SORT, "--progress", "-S2M", "-T", f->scratch, "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_int_equal(r.err[0], '\r');
	assert_non_null(strstr(r.err, "runs"));
	assert_non_null(strstr(r.err, "/s"));
	/* It is gone in the end. */
	n = strlen(r.err);
	assert_true(n > 4);
	assert_string_equal(r.err + n - 4, "\r\033[K");
	run_free(&r);

	/* No terminal, no bar. */
	run_command(&r, NULL, SORT, "-T", f->scratch, "-o", f->out, f->in[0], NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	run_free(&r);
}

static void test_help_and_version(void **state)
{
	static const char *const command[] = { "sort", "generate", "check" };
	char usage[40];
	size_t i;
	run r;

	(void)state;
	run_command(&r, NULL, "--help", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "Usage: extmem COMMAND"));
	run_free(&r);
	run_command(&r, NULL, "--version", NULL);
	assert_status(&r, 0);
	assert_int_equal(strncmp(r.out, "extmem 0.", 9), 0);
	run_free(&r);
	for (i = 0; i < 3; i++) {
		run_command(&r, NULL, command[i], "--help", NULL);
		assert_status(&r, 0);
		snprintf(usage, sizeof(usage), "Usage: extmem %s ", command[i]);
		assert_int_equal(strncmp(r.out, usage, strlen(usage)), 0);
		assert_string_equal(r.err, "");
		run_free(&r);
		run_command(&r, NULL, command[i], "--version", NULL);
		assert_status(&r, 0);
		assert_int_equal(strncmp(r.out, "extmem 0.", 9), 0);
		run_free(&r);
	}
}

/* -S is kept to, with at most 16 MiB more for program, libraries and stacks. */
static void test_memory_limit(void **state)
{
	static const unsigned limit[] = { 2, 8, 32 };
	const size_t n = 80 * MIB / 16;
	fixture *f = *state;
	char count[40], size[16];
	run r;
	size_t i;

	snprintf(count, sizeof(count), "--records=%zu", n);
	run_command(&r, NULL, "generate", count, "--record-size=16", "-o", f->in[0], NULL);
	assert_status(&r, 0);
	run_free(&r);
	for (i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		snprintf(size, sizeof(size), "-S%uM", limit[i]);
		run_command(&r, NULL, SORT, "-T", f->scratch, size, "-o", f->out, f->in[0], NULL);
		assert_status(&r, 0);
		if (!SANITIZED)
			assert_in_range(r.rss, 0, (limit[i] + 16) * MIB);
		run_free(&r);
		run_command(&r, NULL, "check", "--record-size=16", "-k0:u64", f->out, NULL);
		assert_status(&r, 0);
		assert_int_equal(plan_value(r.out, "records:"), n);
		run_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_the_model),
		cmocka_unit_test_setup_teardown(test_output_is_the_input, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_output_keeps_mode, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_new_output_obeys_umask, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_output_is_a_link, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_output_is_a_device, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_output_is_a_pipe, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_few_records, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_few_descriptors, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_two_in_one_directory, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_scratch_directory, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_stats, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_interval, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_plan, setup, fixture_free),
		cmocka_unit_test_setup_teardown(test_progress, setup, fixture_free),
		cmocka_unit_test(test_help_and_version),
		cmocka_unit_test_setup_teardown(test_memory_limit, setup, fixture_free),
	};

	return cmocka_run_group_tests_name("cli_sort", tests, run_setup_group, NULL);
}
