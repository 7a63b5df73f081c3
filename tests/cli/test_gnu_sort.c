/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_gnu_sort.c -- extmem sort does to lines what GNU sort does in the C locale.
 *
 * A case is a random set of options and a few random texts; both commands run on them, in a directory of the case,
 * and must write the same bytes and end with the same status, and with -c name the same line.  What only one of
 * them has, above all the options that make it spill and merge, is added for that one.
 *
 *     EXTMEM_TEST_SEED    the seed of all cases
 *     EXTMEM_TEST_CASES   how many, default 400
 *     EXTMEM_TEST_CASE    run only the case of this number, and leave its directory behind
 *     EXTMEM_TEST_SORT    a command that is compared instead of extmem sort, and gets no options of its own
 *     EXTMEM_GNU_SORT     GNU sort, default /usr/bin/sort; without it the tests are skipped
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
#include <unistd.h>

#include "cli/gnu_texts.h"
#include "cli/run.h"
#include "common/gnu_version.h"
#include "common/test.h"

#define CASES 400
#define ARGS_MOST 64
#define FILES_MOST 4
#define SHOWN_MOST 20 /* failures that are told in full */

typedef struct sort_case {
	test_rng *rng;
	char text[ARGS_MOST][64];
	const char *args[ARGS_MOST + 1];
	size_t n;
	int delimiter, separator; /* of fields: a byte, or -1 */
	int merge, check;
	int long_lines;
	size_t files;           /* in0, in1, ... */
	gnu_text file[FILES_MOST];
	gnu_text in;            /* standard input */
	size_t in_at;           /* its place among the files; files: none */
	int versions, human;    /* -V or -h is among the options */
	int old;                /* GNU sort is that of before 9.2 */
	const char *output;     /* NULL: standard output */
} sort_case;

typedef struct result {
	int status;
	char *out;              /* standard output, or the output file */
	size_t bytes;
	char *message;          /* the first line of standard error */
} result;

static const char *gnu_sort(void)
{
	const char *path = getenv("EXTMEM_GNU_SORT");

	return path ? path : "/usr/bin/sort";
}

static uint64_t below(sort_case *c, uint64_t n)
{
	return test_below(c->rng, n);
}

static void add(sort_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(sort_case *c, const char *format, ...)
{
	va_list ap;

	assert_true(c->n < ARGS_MOST);
	va_start(ap, format);
	vsnprintf(c->text[c->n], sizeof(c->text[0]), format, ap);
	va_end(ap);
	c->args[c->n] = c->text[c->n];
	c->args[++c->n] = NULL;
}

/* Letters of ordering options; now and then some that are refused together. */
static void letters(sort_case *c, char *out)
{
	static const char kind[] = "nghMV";
	static const char flag[] = "bdfir";
	const int ordered = !below(c, 2);
	const char *const all = out;
	size_t i;

	if (ordered)
		*out++ = kind[below(c, 5)];
	for (i = 0; i < 5; i++)
		if (!below(c, 5) && (!ordered || (flag[i] != 'd' && flag[i] != 'i') || !below(c, 20)))
			*out++ = flag[i];
	if (!below(c, 100))
		*out++ = kind[below(c, 5)];
	*out = '\0';
	c->human |= strchr(all, 'h') != NULL;
	c->versions |= strchr(all, 'V') != NULL;
}

/* The letters may stand behind the start, behind the end, or some here and some there. */
static void add_key(sort_case *c)
{
	char start[32] = "", end[32] = "", opts[2][16] = { "", "" };
	const uint64_t first = below(c, 60) ? 1 + below(c, 5) : below(c, 2) * 1000000;
	const int with_end = below(c, 3) != 0;

	if (below(c, 3))
		letters(c, opts[0]);
	if (with_end && !below(c, 3)) {
		if (below(c, 2)) {
			strcpy(opts[1], opts[0]);
			opts[0][0] = '\0';
		} else if (!strchr(opts[1], 'b')) {
			strcpy(opts[1], "b");
		}
	}
	if (!below(c, 3))
		snprintf(start, sizeof(start), ".%d", (int)(1 + below(c, 12)));
	if (with_end) {
		const uint64_t last = below(c, 4) ? first + below(c, 3) : 1 + below(c, 5);

		if (below(c, 2))
			snprintf(end, sizeof(end), ",%llu%s", (unsigned long long)last, opts[1]);
		else
			snprintf(end, sizeof(end), ",%llu.%d%s", (unsigned long long)last, (int)below(c, 12), opts[1]);
	}
	add(c, "-k%llu%s%s%s", (unsigned long long)first, start, opts[0], end);
}

static void add_separator(sort_case *c)
{
	static const int choice[] = { ',', ',', ':', ';', ' ', '\t', 'a', '0', '.', '-', 0xff, 0 };

	c->separator = -1;
	if (below(c, 2))
		return;
	c->separator = choice[below(c, sizeof(choice) / sizeof(choice[0]))];
	if (c->separator)
		add(c, "-t%c", c->separator);
	else
		add(c, "-t\\0");
}

static void add_options(sort_case *c)
{
	char opts[16];
	size_t keys;

	c->delimiter = '\n';
	if (!below(c, 5)) {
		c->delimiter = 0;
		add(c, "-z");
	}
	add_separator(c);
	if (below(c, 2)) {
		letters(c, opts);
		if (opts[0])
			add(c, "-%s", opts);
	}
	for (keys = below(c, 3) ? (size_t)below(c, 4) : 0; keys; keys--)
		add_key(c);
	if (!below(c, 5))
		add(c, "-s");
	if (!below(c, 5))
		add(c, "-u");
	c->merge = !below(c, 7);
	c->check = !c->merge && !below(c, 7);
}

/* Only what is called extmem sort has these. */
static void add_own(sort_case *c)
{
	static const char *const isa[] = { "scalar", "avx2" };

	if (below(c, 2))
		add(c, "--parallel=%d", 1 + (int)below(c, 2));
	if (c->long_lines)
		add(c, "-S256M");
	else if (below(c, 3))
		add(c, "-S%dM", 4 + (int)below(c, 4));
	if (below(c, 2))
		add(c, "--run-size=%d", 1 + (int)below(c, below(c, 2) ? 20 : 1000));
	if (!below(c, 3))
		add(c, "--block-size=%d", 4096 << below(c, 4));
	if (!below(c, 3))
		add(c, "--batch-size=%d", 2 + (int)below(c, below(c, 2) ? 1 : 8));
	if (!below(c, 6))
		add(c, "--isa=%s", isa[below(c, __builtin_cpu_supports("avx2") ? 2 : 1)]);
	if (!below(c, 6))
		add(c, "--direct=off");
}

/* Run a command of the given path with what is between its name and the arguments of the case. */
static void run_sort(run *r, const char *path, const char *word, const sort_case *c, const run_setup *setup)
{
	const char *args[ARGS_MOST + 2], *old = getenv("EXTMEM");
	char *saved = old ? strdup(old) : NULL;
	size_t n = 0, i;

	if (word)
		args[n++] = word;
	for (i = 0; i <= c->n; i++)
		args[n++] = i < c->n ? c->args[i] : NULL;
	setenv("EXTMEM", path, 1);
	run_args(r, setup, args);
	if (saved)
		setenv("EXTMEM", saved, 1);
	free(saved);
}

static void run_gnu(run *r, const sort_case *c, const gnu_text *in)
{
	run_setup setup = { 0 };

	setup.in = in ? in->data : NULL;
	setup.in_bytes = in ? in->bytes : 0;
	setup.env[0] = "LC_ALL=C";
	run_sort(r, gnu_sort(), NULL, c, &setup);
}

static void run_ours(run *r, const sort_case *c, const gnu_text *in, uint64_t nofile)
{
	const char *other = getenv("EXTMEM_TEST_SORT");
	run_setup setup = { 0 };

	setup.in = in ? in->data : NULL;
	setup.in_bytes = in ? in->bytes : 0;
	setup.env[0] = "LC_ALL=C";
	setup.nofile = nofile;
	run_sort(r, other ? other : getenv("EXTMEM"), other ? NULL : "sort", c, &setup);
}

/* What GNU sort does otherwise before 9.2: suffixes R and Q, and names that are nothing but a suffix. */
static void avoid_news(const sort_case *c, gnu_text *t)
{
	size_t i;

	for (i = 0; i < t->bytes; i++) {
		char *const p = &t->data[i];

		if (c->human && (strchr("rRqQ", *p) && *p))
			*p = 'i';
		/* What is behind it may not count, so that more than that would have to be looked at. */
		if (c->versions && *p == '.' && i + 1 < t->bytes && p[1] != c->delimiter &&
		    !(p[1] >= '0' && p[1] <= '9'))
			*p = '-';
	}
}

/* Sort a text as -m wants it. */
static void presort(const sort_case *c, gnu_text *t)
{
	run r;

	run_gnu(&r, c, t);
	if (r.status == 0) {
		free(t->data);
		t->data = r.out;
		t->bytes = r.out_bytes;
		r.out = NULL;
	}
	run_free(&r);
}

static void make_text(sort_case *c, gnu_text *t)
{
	gnu_text_make(t, c->rng, c->delimiter, c->separator);
	c->long_lines |= t->long_lines;
	if (c->old)
		avoid_news(c, t);
	/* Without merging this is a text in order, which -c should not complain of. */
	if (c->merge || (c->check ? below(c, 2) : !below(c, 12)))
		presort(c, t);
}

/* The texts, and the names of their files among the options. */
static void add_inputs(sort_case *c)
{
	size_t i;

	c->files = c->check ? 1 : (size_t)below(c, FILES_MOST + 1);
	c->in_at = c->check ? below(c, 2) : c->files && below(c, 5) ? c->files : below(c, c->files + 1);
	for (i = 0; i < c->files; i++)
		make_text(c, &c->file[i]);
	if (c->in_at < c->files || !c->files)
		make_text(c, &c->in);
	if (c->check)
		add(c, below(c, 2) ? "-c" : "-C");
	if (c->merge)
		add(c, "-m");
	c->output = NULL;
	if (!c->check && !below(c, 4)) {
		c->output = c->files && below(c, 2) ? "in0" : "out";
		add(c, "-o%s", c->output);
	}
	for (i = 0; i < c->files; i++)
		if (i == c->in_at)
			add(c, "-");
		else
			add(c, "in%zu", i);
}

static void write_inputs(const sort_case *c)
{
	char name[32];
	size_t i;

	for (i = 0; i < c->files; i++) {
		snprintf(name, sizeof(name), "in%zu", i);
		write_file(name, c->file[i].data, c->file[i].bytes);
	}
	unlink("out");
}

static void take_result(result *res, run *r, const sort_case *c)
{
	const char *begin = strstr(r->err, ": ");
	char *end;

	res->status = r->status;
	if (c->output && !access(c->output, F_OK)) {
		res->out = read_file(c->output, &res->bytes);
	} else {
		res->out = r->out;
		res->bytes = r->out_bytes;
		r->out = NULL;
	}
	res->message = strdup(begin ? begin : r->err);
	assert_non_null(res->message);
	end = strchr(res->message, '\n');
	if (end)
		*end = '\0';
	run_free(r);
}

static void free_result(result *res)
{
	free(res->out);
	free(res->message);
}

static void show_args(const char *name, const sort_case *c)
{
	size_t i;

	print_error("  %s", name);
	for (i = 0; i < c->n; i++)
		print_error(" '%s'", c->args[i]);
	print_error("\n");
}

static void show_bytes(const char *name, const result *r, size_t from)
{
	size_t i;

	print_error("  %-6s %zu bytes, from %zu: ", name, r->bytes, from);
	for (i = from; i < r->bytes && i < from + 60; i++)
		print_error(r->out[i] >= ' ' && r->out[i] < 127 && r->out[i] != '\\' ? "%c" : "\\x%02x",
			    (unsigned char)r->out[i]);
	print_error("\n");
}

static void show_difference(const result *gnu, const result *our)
{
	const size_t least = gnu->bytes < our->bytes ? gnu->bytes : our->bytes;
	size_t at = 0, from;

	print_error("  status %d, not %d; messages '%.200s', '%.200s'\n", our->status, gnu->status, our->message,
		    gnu->message);
	while (at < least && gnu->out[at] == our->out[at])
		at++;
	if (at == gnu->bytes && at == our->bytes)
		return;
	/* From the beginning of the line, if that is near. */
	for (from = at; from && at - from < 40 && gnu->out[from - 1] != '\n' && gnu->out[from - 1]; from--)
		;
	show_bytes("GNU", gnu, from);
	show_bytes("ours", our, from);
}

static int same(const sort_case *c, const result *gnu, const result *our)
{
	if (gnu->status != our->status)
		return 0;
	/* Trouble has words of its own, and leaves nothing to compare. */
	if (gnu->status > 1)
		return 1;
	if (gnu->bytes != our->bytes || memcmp(gnu->out, our->out, gnu->bytes))
		return 0;
	return !c->check || !strcmp(gnu->message, our->message);
}

/* A case is not about how little memory is enough: where it was too little there is more. */
static void run_ours_with_memory(result *our, sort_case *c)
{
	size_t i;
	run r;

	run_ours(&r, c, &c->in, 0);
	take_result(our, &r, c);
	if (our->status != 2 || !strstr(our->message, "too little memory"))
		return;
	for (i = 0; i < c->n; i++)
		if (!strncmp(c->args[i], "-S", 2))
			strcpy(c->text[i], "-S64M");
	free_result(our);
	write_inputs(c);
	run_ours(&r, c, &c->in, 0);
	take_result(our, &r, c);
}

/* Returns whether both did the same; tells of the difference if that is wanted. */
static int run_case(uint64_t seed, uint64_t number, int tell)
{
	sort_case c = { 0 };
	/* Numbers that follow each other must not give sequences that do. */
	test_rng first = test_rng_make(seed + number), rng = test_rng_make(test_random(&first) ^ number);
	size_t shared, i;
	result gnu, our;
	run r;
	int good;

	c.rng = &rng;
	c.old = gnu_version(gnu_sort()) < GNU_9_2;
	add_options(&c);
	add_inputs(&c);
	write_inputs(&c);
	run_gnu(&r, &c, &c.in);
	take_result(&gnu, &r, &c);
	write_inputs(&c);
	shared = c.n;
	if (!getenv("EXTMEM_TEST_SORT"))
		add_own(&c);
	run_ours_with_memory(&our, &c);

	good = same(&c, &gnu, &our);
	if (!good && tell) {
		print_error("case %llu of EXTMEM_TEST_SEED=%llu%s\n", (unsigned long long)number,
			    (unsigned long long)seed, c.in.data ? ", with standard input" : "");
		show_args("extmem sort", &c);
		c.n = shared;
		show_args("LC_ALL=C sort", &c);
		show_difference(&gnu, &our);
	}
	write_inputs(&c);
	if (c.in.data && getenv("EXTMEM_TEST_CASE"))
		write_file("stdin", c.in.data, c.in.bytes);
	for (i = 0; i < FILES_MOST; i++)
		free(c.file[i].data);
	free(c.in.data);
	free_result(&gnu);
	free_result(&our);
	return good;
}

static uint64_t number_in(const char *variable, uint64_t otherwise)
{
	const char *s = getenv(variable);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void test_random_cases(void **state)
{
	const uint64_t seed = test_seed(), cases = number_in("EXTMEM_TEST_CASES", CASES);
	uint64_t i, wrong = 0;

	(void)state;
	if (getenv("EXTMEM_TEST_CASE")) {
		assert_true(run_case(seed, number_in("EXTMEM_TEST_CASE", 0), 1));
		return;
	}
	for (i = 0; i < cases; i++)
		wrong += !run_case(seed, i, wrong < SHOWN_MOST);
	print_message("%llu cases, %llu of them different\n", (unsigned long long)cases, (unsigned long long)wrong);
	assert_int_equal(wrong, 0);
}

/* Files of some lines each, with their names in "names" for --files0-from. */
static void many_files(const sort_case *c, size_t files)
{
	FILE *names = fopen("names", "wb");
	char name[32];
	gnu_text t;
	size_t i;

	assert_non_null(names);
	for (i = 0; i < files; i++) {
		snprintf(name, sizeof(name), "in%zu", i);
		fwrite(name, 1, strlen(name) + 1, names);
		gnu_text_make(&t, c->rng, '\n', -1);
		while (t.long_lines) {
			free(t.data);
			gnu_text_make(&t, c->rng, '\n', -1);
		}
		presort(c, &t);
		write_file(name, t.data, t.bytes);
		free(t.data);
	}
	assert_int_equal(fclose(names), 0);
}

static void same_with(const sort_case *c, uint64_t nofile, const char *const *own)
{
	sort_case with = *c;
	size_t i;
	run gnu, our;

	for (i = 0; i < with.n; i++)
		with.args[i] = with.text[i];
	if (!getenv("EXTMEM_TEST_SORT"))
		for (i = 0; own[i]; i++)
			add(&with, "%s", own[i]);
	run_gnu(&gnu, c, NULL);
	assert_status(&gnu, 0);
	run_ours(&our, &with, NULL, nofile);
	assert_status(&our, 0);
	assert_int_equal(our.out_bytes, gnu.out_bytes);
	assert_memory_equal(our.out, gnu.out, gnu.out_bytes);
	run_free(&gnu);
	run_free(&our);
}

/* More inputs than descriptors, and than are merged at a time. */
static void many_inputs(int merge)
{
	static const char *const two[] = { "--batch-size=2", "-S8M", NULL };
	static const char *const spill[] = { "--run-size=50", "--batch-size=3", "-S8M", NULL };
	static const char *const none[] = { "-S32M", NULL };
	test_rng rng = test_rng_make(test_seed());
	sort_case c = { 0 };

	c.rng = &rng;
	add(&c, "-f");
	many_files(&c, 100);
	if (merge)
		add(&c, "-m");
	add(&c, "--files0-from=names");
	same_with(&c, 0, none);
	same_with(&c, 12, none);
	same_with(&c, 0, two);
	same_with(&c, 12, two);
	if (!merge)
		same_with(&c, 12, spill);
}

static void test_many_inputs(void **state)
{
	(void)state;
	many_inputs(0);
}

static void test_merge_many_inputs(void **state)
{
	(void)state;
	many_inputs(1);
}

/* Of lines with equal keys -m keeps those of earlier files first, however many are merged at a time. */
static void test_merge_is_stable(void **state)
{
	static const char *const two[] = { "--batch-size=2", "-S8M", NULL };
	char name[32], data[64];
	sort_case c = { 0 };
	int i;

	(void)state;
	add(&c, "-ms");
	add(&c, "-k1,1");
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "in%d", i);
		snprintf(data, sizeof(data), "a %d\na %d\nb %d\n", 100 - i, i, i);
		write_file(name, data, strlen(data));
		add(&c, "%s", name);
	}
	same_with(&c, 0, two);
	same_with(&c, 12, two);
	add(&c, "-u");
	same_with(&c, 0, two);
}

/* Where a NaN stands among numbers.  Of several NaNs GNU sort does not say. */
static void test_nan(void **state)
{
	static const char text[] = "1\nx\n-inf\nNaN\n-1e9\n\ninf\n0\n";
	static const char *const options[] = { "-g", "-gr", "-gs", "-gu" };
	static const char *const none[] = { NULL };
	size_t i;

	(void)state;
	write_file("in0", text, sizeof(text) - 1);
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		sort_case c = { 0 };

		add(&c, "%s", options[i]);
		add(&c, "in0");
		same_with(&c, 0, none);
	}
}

/* More than the memory holds, so that it spills for want of it. */
static void test_much(void **state)
{
	static const char *const lines[] = { "text", "short", "urls", "csv", "csv" };
	static const char *const options[][2] = { { "-s", "-s" }, { "-r", "-u" }, { "-k1", "-u" }, { "-t,", "-k3,3n" },
						  { "-t,", "-k5,5" } };
	static const char *const little[] = { "-S5M", "--parallel=2", NULL };
	char kind[32];
	size_t i;
	run r;

	(void)state;
	if (getenv("EXTMEM_TEST_SORT"))
		return;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		sort_case c = { 0 };

		snprintf(kind, sizeof(kind), "--lines=%s", lines[i]);
		run_command(&r, NULL, "generate", kind, "--size=12M", "-oin0", NULL);
		assert_status(&r, 0);
		run_free(&r);
		add(&c, "%s", options[i][0]);
		add(&c, "%s", options[i][1]);
		add(&c, "in0");
		same_with(&c, 0, little);
	}
}

static int begin_in_directory(void **state)
{
	*state = test_dir_make();
	return chdir(*state);
}

static int end_in_directory(void **state)
{
	if (getenv("EXTMEM_TEST_CASE")) {
		print_message("left behind: %s\n", (char *)*state);
		return 0;
	}
	if (chdir("/"))
		return -1;
	test_dir_remove(*state);
	return 0;
}

/* Absolute paths, as the tests change their directory. */
static int setup_group(void **state)
{
	char *path = getenv("EXTMEM") ? realpath(getenv("EXTMEM"), NULL) : NULL;

	if (path)
		setenv("EXTMEM", path, 1);
	free(path);
	if (access(gnu_sort(), X_OK)) {
		print_message("there is no %s to compare with\n", gnu_sort());
		exit(77);
	}
	return run_setup_group(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_cases, begin_in_directory, end_in_directory),
		cmocka_unit_test_setup_teardown(test_nan, begin_in_directory, end_in_directory),
		cmocka_unit_test_setup_teardown(test_much, begin_in_directory, end_in_directory),
		cmocka_unit_test_setup_teardown(test_many_inputs, begin_in_directory, end_in_directory),
		cmocka_unit_test_setup_teardown(test_merge_many_inputs, begin_in_directory, end_in_directory),
		cmocka_unit_test_setup_teardown(test_merge_is_stable, begin_in_directory, end_in_directory),
	};

	return cmocka_run_group_tests_name("gnu_sort", tests, setup_group, NULL);
}
