/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_generate.c -- extmem generate.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run.h"
#include "common/test.h"

#define GENSORT 100

/* So many records as a string; size 0: --gensort. */
static char *generate(size_t n, size_t size, const char *seed)
{
	char records[40], shape[40];
	char *out;
	run r;

	snprintf(records, sizeof(records), "--records=%zu", n);
	snprintf(shape, sizeof(shape), size ? "--record-size=%zu" : "--gensort", size);
	run_command(&r, NULL, "generate", records, shape, "--seed", seed, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	assert_int_equal(r.out_bytes, n * (size ? size : GENSORT));
	out = r.out;
	r.out = NULL;
	run_free(&r);
	return out;
}

static void test_beginning_is_the_same(void **state)
{
	static const size_t size[] = { 0, 1, 3, 7, 8, 9, 15, 16, 17, 24, 100, 4097, ((size_t)1 << 20) + 1 };
	char *few, *many, *other;
	size_t i, bytes;

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		bytes = 3 * (size[i] ? size[i] : GENSORT);
		few = generate(3, size[i], "7");
		many = generate(10, size[i], "7");
		other = generate(3, size[i], "8");
		assert_memory_equal(few, many, bytes);
		assert_memory_not_equal(few, other, bytes);
		free(few);
		free(many);
		free(other);
	}
}

/* The files that a seed gives are the same for ever and everywhere. */
static void test_known_bytes(void **state)
{
	static const unsigned char expected[] = {
		0x03, 0xb0, 0xd7, 0x19, 0x87, 0xec, 0x36, 0xf2, 0x45, 0x97, 0x0b, 0x16,
		0x82, 0x15, 0x03, 0x32, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0xb5, 0x45, 0x8a, 0x29, 0xd0, 0x1a, 0xf8, 0x5b, 0xb6, 0xd6, 0xb4, 0x99,
		0x6a, 0x40, 0x3a, 0x67, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	char *s = generate(2, 24, "1");

	(void)state;
	assert_memory_equal(s, expected, sizeof(expected));
	free(s);
}

static uint64_t le64(const char *p)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static void test_numbers(void **state)
{
	static const size_t size[] = { 16, 17, 100 };
	const size_t n = 70000; /* more than one buffer */
	size_t i, j, set = 0;
	char *s;

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		s = generate(n, size[i], "0");
		for (j = 0; j < n; j++)
			assert_int_equal(le64(s + (j + 1) * size[i] - 8), j);
		/* About half of the bits of what is random are set. */
		for (j = 0; j < n; j++)
			set += (size_t)__builtin_popcountll(le64(s + j * size[i]));
		free(s);
	}
	assert_in_range(set, 3 * n * 32 - 3 * n, 3 * n * 32 + 3 * n);
}

/* Small records have no number, and take all values. */
static void test_small_records(void **state)
{
	char *s = generate(100000, 1, "0");
	unsigned seen[256] = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 100000; i++)
		seen[(unsigned char)s[i]]++;
	for (i = 0; i < 256; i++)
		assert_in_range(seen[i], 200, 600);
	free(s);
}

static void test_gensort(void **state)
{
	char *s = generate(300, 0, "5"), *p = s;
	char number[33];
	int i, j;

	(void)state;
	for (i = 0; i < 300; i++, p += GENSORT) {
		assert_memory_equal(p + 10, "\x00\x11", 2);
		snprintf(number, sizeof(number), "%032X", (unsigned)i);
		assert_memory_equal(p + 12, number, 32);
		assert_memory_equal(p + 44, "\x88\x99\xAA\xBB", 4);
		for (j = 48; j < 96; j++) {
			assert_true(isxdigit((unsigned char)p[j]));
			assert_int_equal(p[j], p[j & ~3]);
		}
		assert_memory_equal(p + 96, "\xCC\xDD\xEE\xFF", 4);
		if (i)
			assert_memory_not_equal(p, p - GENSORT, 10);
	}
	free(s);
}

static const char *const kinds[] = { "--lines", "--lines=text", "--lines=short", "--lines=urls", "--lines=csv",
				     "--lines=csv-quoted" };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* What it writes with these arguments; *bytes of it. */
static char *generate_lines(const char *kind, const char *volume, const char *size, const char *seed, size_t *bytes)
{
	char *out;
	run r;

	run_command(&r, NULL, "generate", kind, volume, "--seed", seed, size, NULL);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	*bytes = r.out_bytes;
	out = r.out;
	r.out = NULL;
	run_free(&r);
	return out;
}

/* See that all is printing lines of so many bytes; returns how many lines. */
static size_t count_lines(const char *s, size_t bytes, size_t least, size_t most)
{
	size_t i, begin = 0, n = 0;

	for (i = 0; i < bytes; i++) {
		if (s[i] == '\n') {
			assert_in_range(i + 1 - begin, least, most);
			begin = i + 1;
			n++;
		} else {
			assert_in_range((unsigned char)s[i], ' ', '~');
		}
	}
	assert_int_equal(begin, bytes);
	return n;
}

static void test_lines(void **state)
{
	static const size_t least[KINDS] = { 100, 100, 10, 40, 40, 40 }, most[KINDS] = { 100, 100, 10, 140, 120, 140 };
	size_t i, few_bytes, many_bytes, other_bytes;
	char *few, *many, *other;

	(void)state;
	for (i = 0; i < KINDS; i++) {
		few = generate_lines(kinds[i], "--records=1000", NULL, "7", &few_bytes);
		/* more than one buffer */
		many = generate_lines(kinds[i], "--records=120000", NULL, "7", &many_bytes);
		other = generate_lines(kinds[i], "--records=1000", NULL, "8", &other_bytes);
		assert_int_equal(count_lines(few, few_bytes, least[i], most[i]), 1000);
		assert_int_equal(count_lines(many, many_bytes, least[i], most[i]), 120000);
		assert_memory_equal(few, many, few_bytes);
		assert_true(few_bytes != other_bytes || memcmp(few, other, few_bytes));
		free(few);
		free(many);
		free(other);
	}
}

/* The files that a seed gives are the same for ever and everywhere. */
static void test_known_lines(void **state)
{
	static const char *const expected[KINDS] = {
		NULL,
		"yy2RV*N|;8  00000000000000000000000000000000  AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
		"[bIHp3f~Dz  00000000000000000000000000000001  BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB\n"
		"ia~UeYe;m]  00000000000000000000000000000002  CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC\n",
		"yy2RV*N|;\n"
		"[bIHp3f~D\n"
		"ia~UeYe;m\n",
		"https://riverweather471.co.uk/2024/images/products/products/443558673205?view=all&s=26644\n"
		"https://pixelrecipes76.edu/articles/products/category/800163970693\n"
		"https://m.silverfarm.co.uk/products/products/products/2025/products/products/413271364943\n",
		"0,Bela Adams,1137995.81,2018-06-20,Dublin,open,1,R395004530729\n"
		"1,Ivan Ito,3.04,2014-01-14,Lima,paid,10,R539312729528\n"
		"2,David Evans,24.71,2025-05-22,Paris,open,1,R242899917815\n",
		"0,Bela Adams,1137995.81,2018-06-20,\"Dublin, Old Town\",paid,1,R395004530729\n"
		"1,Ivan Ito,3.04,2014-01-14,Lima,paid,1,R539312729528\n"
		"2,David Evans,24.71,2025-05-22,\"Paris, Old Town\",paid,5,R242899917815\n",
	};
	size_t i, bytes;
	char *s;

	(void)state;
	for (i = 1; i < KINDS; i++) {
		s = generate_lines(kinds[i], "--records=3", NULL, "1", &bytes);
		assert_string_equal(s, expected[i]);
		free(s);
	}
}

static void test_size_of_lines(void **state)
{
	static const char *const size[] = { "--record-size=1", "--record-size=2", "--record-size=11",
					    "--record-size=46", "--record-size=47", "--record-size=48",
					    "--record-size=2M" };
	static const size_t value[] = { 1, 2, 11, 46, 47, 48, (size_t)2 << 20 };
	size_t i, bytes;
	char *s;

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		s = generate_lines("--lines", "--records=5", size[i], "0", &bytes);
		assert_int_equal(bytes, 5 * value[i]);
		assert_int_equal(count_lines(s, bytes, value[i], value[i]), 5);
		free(s);
	}
}

/* Whole lines, and no more than it takes. */
static void test_size(void **state)
{
	size_t i, bytes, last;
	char *s;

	(void)state;
	for (i = 0; i < KINDS; i++) {
		s = generate_lines(kinds[i], "--size=3M", NULL, "0", &bytes);
		assert_true(bytes >= (size_t)3 << 20);
		for (last = bytes - 1; s[last - 1] != '\n'; last--)
			;
		assert_true(last < (size_t)3 << 20);
		count_lines(s, bytes, 10, 140);
		free(s);
		s = generate_lines(kinds[i], "--size=0", NULL, "0", &bytes);
		assert_int_equal(bytes, 0);
		free(s);
	}
	s = generate_lines("--gensort", "--size=1001", NULL, "0", &bytes);
	assert_int_equal(bytes, 1100);
	free(s);
	s = generate_lines("--record-size=16", "--size=1kB", NULL, "0", &bytes);
	assert_int_equal(bytes, 1008);
	free(s);
}

static void test_output_file(void **state)
{
	char *dir = test_dir_make(), *out = test_path(dir, "out"), *link = test_path(dir, "link");
	char *expected = generate(1000, 16, "0");
	struct stat sb;
	run r;

	(void)state;
	assert_int_equal(symlink("out", link), 0);
	run_command(&r, NULL, "generate", "--records=1000", "--record-size=16", "-o", link, NULL);
	assert_status(&r, 0);
	assert_int_equal(r.out_bytes, 0);
	run_free(&r);
	assert_file(out, expected, 16000);

	/* once more, over it */
	write_file(out, "old", 3);
	assert_int_equal(chmod(out, 0604), 0);
	run_command(&r, NULL, "generate", "--records=1000", "--record-size=16", "--output", link, NULL);
	assert_status(&r, 0);
	run_free(&r);
	assert_file(out, expected, 16000);
	assert_int_equal(stat(out, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, 0604);
	assert_int_equal(lstat(link, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	assert_int_equal(count_files(dir), 2);

	run_command(&r, NULL, "generate", "--records=1000", "--record-size=16", "-o/dev/null", NULL);
	assert_status(&r, 0);
	run_free(&r);
	run_command(&r, NULL, "generate", "--records=0", "--record-size=16", "-o", out, NULL);
	assert_status(&r, 0);
	run_free(&r);
	assert_file(out, "", 0);
	free(expected);
	free(link);
	free(out);
	test_dir_remove(dir);
}

static void test_wrong_options(void **state)
{
	char *dir = test_dir_make(), *out = test_path(dir, "none/out"), *file = test_path(dir, "file");
	run_setup setup = { 0 };

	(void)state;
	expect_trouble(&setup, "--records", "missing", "generate", "--record-size=16", NULL);
	expect_trouble(&setup, "--record-size", "--gensort", "generate", "--records=1", NULL);
	expect_trouble(&setup, "--records", "not a number", "generate", "--records=x", "--record-size=16", NULL);
	expect_trouble(&setup, "--records", "not a number", "generate", "--records=-1", "--record-size=16", NULL);
	expect_trouble(&setup, "--records", "too large", "generate", "--records=18446744073709551616",
		       "--record-size=16", NULL);
	expect_trouble(&setup, "--records", "no file can hold", "generate", "--records=18446744073709551615",
		       "--record-size=16", NULL);
	expect_trouble(&setup, "--record-size", "at least 1", "generate", "--records=1", "--record-size=0", NULL);
	expect_trouble(&setup, "--record-size", "unknown unit", "generate", "--records=1", "--record-size=16X", NULL);
	expect_trouble(&setup, "--record-size", "100 bytes", "generate", "--records=1", "--record-size=16", "--gensort",
		       NULL);
	expect_trouble(&setup, "--records", "--size", "generate", "--records=1", "--size=16", "--lines", NULL);
	expect_trouble(&setup, "--size", "no file", "generate", "--size=9223372036854775808", "--lines", NULL);
	expect_trouble(&setup, "--size", "no file", "generate", "--size=9223372036854775808", "--lines=csv", NULL);
	expect_trouble(&setup, "--records", "no file", "generate", "--records=9223372036854775807", "--lines=csv",
		       NULL);
	expect_trouble(&setup, "--size", "unknown unit", "generate", "--size=1X", "--lines", NULL);
	expect_trouble(&setup, "--lines", "text, short, urls, csv or csv-quoted", "generate", "--records=1",
		       "--lines=words", NULL);
	expect_trouble(&setup, "--lines", "--gensort", "generate", "--records=1", "--lines", "--gensort", NULL);
	expect_trouble(&setup, "--record-size", "--lines=text", "generate", "--records=1", "--lines=urls",
		       "--record-size=9", NULL);
	expect_trouble(&setup, "--seed", "the value is empty", "generate", "--records=1", "--record-size=16",
		       "--seed=", NULL);
	expect_trouble(&setup, "file", "no input", "generate", "--records=1", "--record-size=16", "file", NULL);
	expect_trouble(&setup, "-o", "only one", "generate", "--records=1", "--record-size=16", "-oa", "-ob", NULL);
	expect_trouble(&setup, "--what", "unrecognized", "generate", "--what", NULL);
	expect_trouble(&setup, out, "No such file", "generate", "--records=1", "--record-size=16", "-o", out, NULL);
	expect_trouble(&setup, dir, "directory", "generate", "--records=1", "--record-size=16", "-o", dir, NULL);
	setup.close_out = 1;
	expect_trouble(&setup, "standard output", "Bad file descriptor", "generate", "--records=1", "--record-size=16",
		       NULL);
	setup.close_out = 0;
	setup.out_fd = open("/dev/full", O_WRONLY);
	expect_trouble(&setup, "standard output", "No space left", "generate", "--records=1", "--record-size=16", NULL);
	close(setup.out_fd);
	setup.out_fd = 0;
	setup.fsize = 100000;
	expect_trouble(&setup, file, "too large", "generate", "--records=100000", "--record-size=16", "-o", file, NULL);
	setup.fsize = 0;
	setup.obey_modes = 1;
	write_file(file, "old", 3);
	assert_int_equal(chmod(file, 0444), 0);
	expect_trouble(&setup, file, "Permission denied", "generate", "--records=1", "--record-size=16", "-o", file,
		       NULL);
	assert_file(file, "old", 3);
	assert_int_equal(count_files(dir), 1);
	free(out);
	free(file);
	test_dir_remove(dir);
}

/* A reader that has seen enough ends it without a word. */
static void test_closed_pipe(void **state)
{
	const char *const args[] = { "generate", "--records=10000000", "--record-size=16", NULL };
	run_setup setup = { 0 };
	char buf[64];
	int fd[2];
	run r;

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.out_fd = fd[1];
	run_start(&r, &setup, args);
	close(fd[1]);
	assert_int_equal(read(fd[0], buf, sizeof(buf)), sizeof(buf));
	close(fd[0]);
	run_wait(&r);
	assert_int_equal(r.signal, SIGPIPE);
	assert_string_equal(r.err, "");
	run_free(&r);

	/* Where the parent does not want the signal there is a message. */
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.out_fd = fd[1];
	setup.ignore_pipe = 1;
	run_start(&r, &setup, args);
	close(fd[1]);
	close(fd[0]);
	run_wait(&r);
	assert_trouble(&r, "standard output", "Broken pipe");
	run_free(&r);
}

static void interrupted(int sig, const char *old)
{
	char *dir = test_dir_make(), *out = test_path(dir, "out");
	const char *const args[] = { "generate", "--records=1000000000000", "--record-size=16", "--progress", "-o", out,
				     NULL };
	run_setup setup = { 0 };
	char buf[1];
	int fd[2];
	run r;

	if (old)
		write_file(out, old, strlen(old));
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	setup.err_fd = fd[1];
	run_start(&r, &setup, args);
	close(fd[1]);
	/* The bar is there: it is at work. */
	assert_int_equal(read(fd[0], buf, 1), 1);
	assert_int_equal(kill(r.pid, sig), 0);
	run_wait(&r);
	close(fd[0]);
	assert_int_equal(r.signal, sig);
	assert_int_equal(count_files(dir), old ? 1 : 0);
	if (old)
		assert_file(out, old, strlen(old));
	run_free(&r);
	free(out);
	test_dir_remove(dir);
}

static void test_interrupted(void **state)
{
	(void)state;
	interrupted(SIGINT, NULL);
	interrupted(SIGTERM, "old");
	interrupted(SIGHUP, "old");
	interrupted(SIGKILL, "old");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beginning_is_the_same), cmocka_unit_test(test_known_bytes),
		cmocka_unit_test(test_numbers),               cmocka_unit_test(test_small_records),
		cmocka_unit_test(test_gensort),               cmocka_unit_test(test_output_file),
		cmocka_unit_test(test_lines),                 cmocka_unit_test(test_known_lines),
		cmocka_unit_test(test_size_of_lines),         cmocka_unit_test(test_size),
		cmocka_unit_test(test_wrong_options),         cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests_name("cli_generate", tests, run_setup_group, NULL);
}
