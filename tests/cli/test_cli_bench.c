/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_bench.c -- extmem bench io: that it makes the runs it is asked for, counts what it predicted, and leaves
 * nothing.
 *
 * What the times are is nobody's business here.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "common/test.h"

#define HEADER "op,kind,n,k,block,element,repeat,cache,median_s,min_s,max_s,cpu_s,predicted_ios,counted_ios,bytes\n"

/* The lines of a CSV up to the column cache, as one text; and that the numbers behind it are sound. */
static char *parameters_of(const char *out)
{
	char *text = calloc(1, strlen(out) + 1), line[512];
	unsigned long long predicted, counted, bytes;
	double median, least, most, cpu;

	assert_int_equal(strncmp(out, HEADER, strlen(HEADER)), 0);
	for (out += strlen(HEADER); *out; out += strcspn(out, "\n") + 1) {
		char *cache;

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(out, "\n"), out);
		cache = strstr(line, ",warm,");
		if (!cache)
			cache = strstr(line, ",cold,");
		assert_non_null(cache);
		assert_int_equal(sscanf(cache + 6, "%lf,%lf,%lf,%lf,%llu,%llu,%llu", &median, &least, &most, &cpu,
					&predicted, &counted, &bytes),
				 7);
		assert_true(least > 0 && least <= median && median <= most);
		assert_true(predicted > 0 && predicted == counted);
		cache[5] = '\n';
		cache[6] = '\0';
		strcat(text, line);
	}
	return text;
}

static void expect_runs(const run_setup *setup, const char *want, ...)
{
	const char *args[24] = { "bench", "io", "--csv" };
	char *got;
	va_list ap;
	size_t n = 3;
	run r;

	va_start(ap, want);
	while ((args[n] = va_arg(ap, const char *)) != NULL)
		n++;
	va_end(ap);
	run_args(&r, setup, args);
	assert_status(&r, 0);
	got = parameters_of(r.out);
	assert_string_equal(got, want);
	free(got);
	run_free(&r);
}

/* Combinations, each once. */
static void test_combinations(void **state)
{
	(void)state;
	expect_runs(NULL,
		    "write,simple,1000,1,,4,2,warm\n"
		    "write,simple,1000,3,,4,2,warm\n"
		    "write,bufferb,1000,1,7,4,2,warm\n"
		    "write,bufferb,1000,1,1024,4,2,warm\n"
		    "write,bufferb,1000,3,7,4,2,warm\n"
		    "write,bufferb,1000,3,1024,4,2,warm\n",
		    "--op=write", "--kind=simple,bufferb", "--n=1000", "--k=1,3", "--block=7,1K", "--repeat=2", NULL);
	expect_runs(NULL,
		    "read,buffer,100,1,,1,1,cold\n"
		    "read,buffer,1000,1,,1,1,cold\n"
		    "read,buffer,10000,1,,1,1,cold\n"
		    "read,buffer,100,1,,100,1,cold\n"
		    "read,buffer,1000,1,,100,1,cold\n"
		    "read,buffer,10000,1,,100,1,cold\n",
		    "--op=read", "--kind=buffer", "--n=10^2..10^4", "--element=1,100", "--repeat=1", "--cache=cold",
		    NULL);
	expect_runs(NULL,
		    "read,mapping,500,2,1024,16,3,warm\n"
		    "write,mapping,500,2,1024,16,3,warm\n"
		    "read,mapping,500,2,2048,16,3,warm\n"
		    "write,mapping,500,2,2048,16,3,warm\n"
		    "read,mapping,500,2,4096,16,3,warm\n"
		    "write,mapping,500,2,4096,16,3,warm\n",
		    "--op=read,write", "--kind=mapping", "--n=500", "--k=2", "--element=16", "--block=1K..5K",
		    "--repeat=3", NULL);
}

static void test_formats(void **state)
{
	run r;

	(void)state;
	run_command(&r, NULL, "bench", "io", "--n=100", "--json", "--repeat=1", NULL);
	assert_status(&r, 0);
	assert_ptr_equal(
		strstr(r.out,
		       "{\"cache\": \"warm\", \"runs\": [\n {\"op\": \"write\", \"kind\": \"simple\", \"n\": 100,"),
		r.out);
	assert_non_null(strstr(r.out, "\"block\": null"));
	assert_non_null(strstr(r.out, "\"block\": 65536"));
	assert_string_equal(r.out + r.out_bytes - 4, "\n]}\n");
	run_free(&r);
	run_command(&r, NULL, "bench", "io", "--n=100", "--repeat=1", "--cache=cold", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "cache cold: "));
	assert_non_null(strstr(r.out, "mapping"));
	run_free(&r);
	run_command(&r, NULL, "bench", "--help", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "io "));
	run_free(&r);
	run_command(&r, NULL, "bench", "io", "--help", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "extmem bench io"));
	run_free(&r);
}

/* Tables: as in the report that they come from, and what --csv has printed. */
static void test_tables(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "runs.csv");
	run r;

	(void)state;
	write_text(path, "# as people write them\nkind;n;k;block\r\nbuffer;100, 1000;2;\r\n\nbufferb ; 100;;5,10\n");
	expect_runs(NULL,
		    "write,buffer,100,2,,4,1,warm\n"
		    "write,buffer,1000,2,,4,1,warm\n"
		    "write,bufferb,100,1,5,4,1,warm\n"
		    "write,bufferb,100,1,10,4,1,warm\n",
		    "--op=write", "--repeat=1", "--from", path, NULL);
	write_text(path, "block,kind\n2^4..2^5 100,bufferb\n");
	expect_runs(NULL,
		    "read,bufferb,10,1,16,4,1,warm\n"
		    "read,bufferb,10,1,32,4,1,warm\n"
		    "read,bufferb,10,1,100,4,1,warm\n",
		    "--op=read", "--repeat=1", "--n=10", "--from", path, NULL);

	run_command(&r, NULL, "bench", "io", "--csv", "--kind=simple,mapping", "--n=77,78", "--element=5", "--repeat=2",
		    NULL);
	assert_status(&r, 0);
	write_text(path, r.out);
	{
		char *want = parameters_of(r.out);

		expect_runs(NULL, want, "--from", path, NULL);
		free(want);
	}
	run_free(&r);
	free(path);
	test_dir_remove(dir);
}

static void table_trouble(const char *path, const char *text, const char *a, const char *b)
{
	write_text(path, text);
	expect_trouble(NULL, a, b, "bench", "io", "--from", path, NULL);
}

static void test_bad_tables(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "runs.csv");

	(void)state;
	table_trouble(path, "", path, "empty");
	table_trouble(path, "kind,m\n", "line 1", "m: ");
	table_trouble(path, "kind,n,kind\n", "line 1", "twice");
	table_trouble(path, "kind,n\n# note\nbufferb,10\nBuffer,10\n", "line 4: kind", "unknown");
	table_trouble(path, "kind,n\nbufferb,1o\n", path, "line 2: n");
	table_trouble(path, "kind,n\nbufferb,10,4\n", "line 2", "more fields");
	table_trouble(path, "repeat;n\n1,2;5\n", "line 2: repeat", "one number");
	unlink(path);
	expect_trouble(NULL, path, "No such file", "bench", "io", "--from", path, NULL);
	expect_trouble(NULL, dir, "directory", "bench", "io", "--from", dir, NULL);
	free(path);
	test_dir_remove(dir);
}

static void test_bad_options(void **state)
{
	static const char *const bad[][2] = {
		{ "--op=copy", "unknown" }, { "--kind=", "empty" }, { "--kind=simple,,buffer", "unknown" },
		{ "--n=0", "at least" }, { "--n=10..5", "ends before" }, { "--n=10^99", "too large" },
		{ "--n=10^", "--n" }, { "--n=1,", "empty" }, { "--n=1^4", "base" },
		{ "--n=9999999999999999999", "too large" }, { "--n=1K", "--n" }, { "--k=10001", "too large" },
		{ "--k=x", "--k" }, { "--block=0", "at least" }, { "--block=4Q", "--block" },
		{ "--element=2G", "too large" }, { "--repeat=1,2", "one number" }, { "--repeat=1001", "too large" },
		{ "--cache=hot", "--cache" }, { "--dir=", "--dir" }, { "--nonsense", "nonsense" },
		{ "operand", "operand" }, { "--n=9223372036854775807", "elements" },
		{ "--dir=/nonexistent/dir", "/nonexistent/dir" }, { "--from=/nonexistent", "/nonexistent" },
	};
	size_t i;
	run r;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		run_command(&r, NULL, "bench", "io", "--n=10", "--repeat=1", "--csv", bad[i][0], NULL);
		assert_int_equal(r.status, 2);
		if (!strstr(r.err, bad[i][1]) || strncmp(r.err, "extmem bench io: ", 17) != 0)
			fail_msg("%s: %s", bad[i][0], r.err);
		run_free(&r);
	}
	expect_trouble(NULL, "--csv", "--json", "bench", "io", "--csv", "--json", NULL);
	expect_trouble(NULL, "--force", "10000000", "bench", "io", "--n=10^7", "--k=1,2", NULL);
	expect_trouble(NULL, "oi", "unknown benchmark", "bench", "oi", NULL);
	expect_trouble(NULL, "extmem bench", "a benchmark is missing: io or blocks", "bench", NULL);
}

/* A disk that takes no more is a message. */
static void test_no_room(void **state)
{
	static const char *const kinds[] = { "simple", "buffer", "bufferb", "mapping" };
	run_setup setup = { 0 };
	char kind[32];
	size_t i;

	(void)state;
	setup.fsize = 10000;
	for (i = 0; i < 4; i++) {
		run r;

		snprintf(kind, sizeof(kind), "--kind=%s", kinds[i]);
		run_command(&r, &setup, "bench", "io", kind, "--n=10000", NULL);
		assert_int_equal(r.status, 2);
		assert_non_null(strstr(r.err, "extmem bench io: "));
		assert_non_null(strstr(r.err, "File too large"));
		run_free(&r);
	}
}

/* It ends by the signal, and soon, and nothing stays. */
static void test_interrupted(void **state)
{
	char *dir = test_dir_make();
	run r;

	(void)state;
	{
		const char *const args[] = { "bench", "io", "--kind=bufferb", "--n=10^7", "--k=3", "--repeat=1000",
					     "-T", dir, NULL };

		run_start(&r, NULL, args);
	}
	usleep(300000);
	kill(r.pid, SIGINT);
	run_wait(&r);
	assert_int_equal(r.signal, SIGINT);
	assert_int_equal(count_files(dir), 0);
	run_free(&r);
	test_dir_remove(dir);
}

/* Each combination is measured once, in the order of the lists; what is not legal is said to be. */
static void test_blocks(void **state)
{
	static const char *const want[] = {
		"memory,0,write,sequential,4096,16,2,", "memory,0,write,random,4096,16,2,",
		"memory,0,read,sequential,4096,16,2,", "memory,0,read,random,4096,16,2,",
		"memory,0,write,sequential,5000,13,2,", "memory,0,write,random,5000,13,2,",
		"memory,0,read,sequential,5000,13,2,", "memory,0,read,random,5000,13,2,",
		"syscall,0,write,sequential,4096,16,2,", NULL
	};
	const char *at;
	size_t i;
	run r;

	(void)state;
	run_command(&r, NULL, "bench", "blocks", "--csv", "--backend=memory,syscall", "--block=4K,5000", "--size=64K",
		    "--most=16", "--repeat=2", "--direct=off", NULL);
	assert_status(&r, 0);
	at = r.out;
	for (i = 0; want[i]; i++) {
		double median, rate, us, cpu;

		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
		assert_int_equal(strncmp(at, want[i], strlen(want[i])), 0);
		assert_int_equal(sscanf(at + strlen(want[i]), "%lf,%lf,%lf,%lf\n", &median, &rate, &us, &cpu), 4);
		assert_true(median > 0 && rate > 0 && us > 0 && cpu >= 0);
	}
	run_free(&r);
	run_command(&r, NULL, "bench", "blocks", "--json", "--backend=simdisk", "--block=32K", "--size=64K",
		    "--repeat=2", "--op=write", NULL);
	assert_status(&r, 0);
	assert_non_null(strstr(r.out, "\"order\": \"random\", \"block\": 32768, \"blocks\": 2, "));
	run_free(&r);
	expect_trouble(NULL, "--backend", "unknown", "bench", "blocks", "--backend=tape", NULL);
	expect_trouble(NULL, "--order", "unknown", "bench", "blocks", "--order=backward", NULL);
	expect_trouble(NULL, "--block", "at least", "bench", "blocks", "--block=0", NULL);
	expect_trouble(NULL, "--repeat", "1", "bench", "blocks", "--repeat=1", NULL);
	run_command(&r, NULL, "bench", "blocks", "--dir=/no/such", NULL);
	assert_int_equal(r.status, 2);
	assert_non_null(strstr(r.err, "extmem bench blocks: cannot open '/no/such'"));
	run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_bad_tables),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, run_setup_group, NULL);
}
