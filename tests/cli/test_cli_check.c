/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_check.c -- extmem check.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/model.h"
#include "cli/run.h"

#define ROUNDS 200

/* The value printed behind a name, as text up to the end of the line. */
static void value_of(const run *r, const char *name, char out[32])
{
	const char *p = strstr(r->out, name);
	size_t n;

	assert_non_null(p);
	p += strlen(name);
	p += strspn(p, " ");
	n = strcspn(p, "\n");
	assert_in_range(n, 1, 31);
	memcpy(out, p, n);
	out[n] = '\0';
}

static void assert_value(const run *r, const char *name, size_t expected)
{
	char got[32], want[32];

	value_of(r, name, got);
	snprintf(want, sizeof(want), "%zu", expected);
	assert_string_equal(got, want);
}

/* What check is going to say, from the model. */
typedef struct verdict {
	size_t duplicates, disorders;
	size_t first;           /* record that is out of order, or n */
} verdict;

static verdict judge(const model *m, const unsigned char *records, size_t n, int unique)
{
	verdict v = { 0, 0, n };
	size_t i;
	int c;

	for (i = 1; i < n; i++) {
		c = model_compare(m, records + (i - 1) * m->size, records + i * m->size);
		v.duplicates += c == 0;
		v.disorders += c > 0;
		if (v.first == n && (c > 0 || (c == 0 && unique)))
			v.first = i;
	}
	return v;
}

static void random_check(test_rng *rng, const char *dir)
{
	static const size_t usual[] = { 1, 2, 4, 7, 8, 9, 12, 16, 17, 24, 100 };
	const size_t size = test_below(rng, 2) ? usual[test_below(rng, 11)] : (size_t)(1 + test_below(rng, 300));
	const size_t n = (size_t)test_below(rng, 200), cut = (size_t)test_below(rng, n + 1);
	const int unique = test_below(rng, 4) == 0;
	unsigned char *records = malloc(n * size + 1);
	char *a = test_path(dir, "a"), *b = test_path(dir, "b");
	const char *args[20] = { "check" };
	char record_size[40], named[400], swap;
	size_t k = 1, i;
	verdict v;
	model m;
	run r;

	assert_non_null(records);
	model_random(&m, rng, size);
	model_records(rng, records, n, size, (int)test_below(rng, 2));
	if (test_below(rng, 3))
		model_sort(&m, records, n, unique);
	if (n && test_below(rng, 2)) {
		/* Spoil one byte. */
		i = (size_t)test_below(rng, n * size);
		swap = (char)records[i];
		records[i] = (unsigned char)(swap ^ (1 << test_below(rng, 8)));
	}
	write_file(a, records, cut * size);
	write_file(b, records + cut * size, (n - cut) * size);
	v = judge(&m, records, n, unique);

	snprintf(record_size, sizeof(record_size), "--record-size=%zu", size);
	args[k++] = record_size;
	for (i = 0; i < m.keys; i++) {
		args[k++] = "-k";
		args[k++] = m.key[i].text;
	}
	if (m.reverse)
		args[k++] = "--reverse";
	if (unique)
		args[k++] = "-u";
	args[k++] = a;
	args[k++] = b;
	run_args(&r, NULL, args);
	for (i = 0; i < k && r.status != (v.first < n); i++)
		print_error("%s ", args[i]);
	assert_status(&r, v.first < n);
	assert_value(&r, "records:", n);
	assert_value(&r, "duplicates:", v.duplicates);
	assert_value(&r, "out of order:", v.disorders);
	named[0] = '\0';
	if (v.first < n)
		snprintf(named, sizeof(named), "extmem check: %s: record %zu at offset %zu %s\n", v.first < cut ? a : b,
			 v.first < cut ? v.first : v.first - cut, (v.first < cut ? v.first : v.first - cut) * size,
			 unique ? "does not come after the one before it" : "is out of order");
	assert_string_equal(r.err, named);
	run_free(&r);
	free(records);
	free(a);
	free(b);
}

static void test_like_the_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	int i;

	(void)state;
	for (i = 0; i < ROUNDS; i++)
		random_check(&rng, dir);
	test_dir_remove(dir);
}

static void checksum(const unsigned char *records, size_t bytes, const char *record_size, char out[32])
{
	run_setup setup = { 0 };
	run r;

	setup.in = records;
	setup.in_bytes = bytes;
	run_command(&r, &setup, "check", "--unsorted", "--record-size", record_size, NULL);
	assert_status(&r, 0);
	assert_null(strstr(r.out, "duplicates"));
	assert_null(strstr(r.out, "out of order"));
	value_of(&r, "checksum:", out);
	assert_int_equal(strlen(out), 16);
	run_free(&r);
}

static void test_checksum(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	static const char *const size_text[] = { "1", "3", "8", "13", "16", "100" };
	static const size_t size[] = { 1, 3, 8, 13, 16, 100 };
	unsigned char records[100 * 102], copy[100 * 102];
	char sum[32], other[32];
	size_t i, j;
	model m = { 0 };

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		const size_t bytes = 100 * size[i];

		model_records(&rng, records, 102, size[i], 0);
		checksum(records, bytes, size_text[i], sum);

		/* another order */
		memcpy(copy, records, bytes);
		m.size = size[i];
		model_sort(&m, copy, 100, 0);
		checksum(copy, bytes, size_text[i], other);
		assert_string_equal(sum, other);

		/* any bit */
		for (j = 0; j < 20; j++) {
			const size_t at = (size_t)test_below(&rng, bytes);

			copy[at] = (unsigned char)(copy[at] ^ 1 << test_below(&rng, 8));
			checksum(copy, bytes, size_text[i], other);
			assert_string_not_equal(sum, other);
			memcpy(copy, records, bytes);
		}

		/* the same record twice more: an exclusive or would not notice */
		memcpy(records + bytes, records, size[i]);
		memcpy(records + bytes + size[i], records, size[i]);
		checksum(records, bytes + 2 * size[i], size_text[i], other);
		assert_string_not_equal(sum, other);
	}
	/* Zeroes count, too. */
	memset(records, 0, 64);
	checksum(records, 32, "16", sum);
	checksum(records, 48, "16", other);
	assert_string_not_equal(sum, other);
	checksum(records, 0, "16", sum);
	assert_string_equal(sum, "0000000000000000");
}

/* Checksums are the same for ever and everywhere. */
static void test_known_checksums(void **state)
{
	char sum[32];

	(void)state;
	checksum((const unsigned char *)"0123456789abcdefghijklmnopqrstuv", 32, "16", sum);
	assert_string_equal(sum, "6a229a1967a67d1f");
	checksum((const unsigned char *)"0123456789abcdefghijklmno", 25, "5", sum);
	assert_string_equal(sum, "56697925079c367d");
}

/* Long enough for several buffers, with the disorder at a place of its own. */
static void test_first_disorder(void **state)
{
	const size_t n = 300000;
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	unsigned char *records = malloc(n * 16);
	test_rng rng = test_rng_make(test_seed());
	char text[80];
	model m = { 0 };
	size_t i, at;
	run r;

	(void)state;
	assert_non_null(records);
	m.size = 16;
	m.keys = 1;
	model_key_parse(&m.key[0], "0:u64be");
	for (i = 0; i < n; i++) {
		memset(records + i * 16, 0, 16);
		records[i * 16 + 4] = (unsigned char)(i >> 16);
		records[i * 16 + 5] = (unsigned char)(i >> 8);
		records[i * 16 + 6] = (unsigned char)i;
	}
	for (i = 0; i < 8; i++) {
		at = i == 0 ? 1 : i == 1 ? n - 1 : i == 2 ? 65536 : 1 + (size_t)test_below(&rng, n - 1);
		/* This one alone is smaller than the one before; the one after it is larger again. */
		records[at * 16 + 3] = 0;
		records[(at - 1) * 16 + 7] = 1;
		memcpy(records + at * 16, records + (at - 1) * 16, 8);
		records[at * 16 + 7] = 0;
		write_file(path, records, n * 16);
		run_command(&r, NULL, "check", "--record-size=16", "-k0:u64be", path, NULL);
		assert_status(&r, 1);
		snprintf(text, sizeof(text), ": record %zu at offset %zu is out of order\n", at, at * 16);
		assert_non_null(strstr(r.err, text));
		assert_value(&r, "out of order:", 1);
		assert_value(&r, "records:", n);
		run_free(&r);
		records[(at - 1) * 16 + 7] = 0;
		records[at * 16 + 4] = (unsigned char)(at >> 16);
		records[at * 16 + 5] = (unsigned char)(at >> 8);
		records[at * 16 + 6] = (unsigned char)at;
	}
	free(records);
	free(path);
	test_dir_remove(dir);
}

static void test_large_records_and_pipes(void **state)
{
	const size_t size = ((size_t)3 << 20) + 5;
	unsigned char *records = calloc(2, size);
	run_setup setup = { 0 };
	char text[40];
	run r;

	(void)state;
	assert_non_null(records);
	records[size - 1] = 1;
	snprintf(text, sizeof(text), "--record-size=%zu", size);
	setup.in_fd = feed_pipe(records, 2 * size);
	run_command(&r, &setup, "check", text, NULL);
	close(setup.in_fd);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, "standard input: record 1 at offset 3145733 is out of order"));
	run_free(&r);
	setup.in_fd = feed_pipe(records, 2 * size - 1);
	run_command(&r, &setup, "check", text, "-r", "-", NULL);
	close(setup.in_fd);
	assert_trouble(&r, "standard input", "offset 3145733");
	run_free(&r);
	setup.in_fd = feed_pipe(records, 2 * size);
	run_command(&r, &setup, "check", text, "-r", "-", NULL);
	close(setup.in_fd);
	assert_status(&r, 0);
	assert_value(&r, "records:", 2);
	run_free(&r);
	free(records);
}

static void test_wrong_options(void **state)
{
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *none = test_path(dir, "none");
	run_setup setup = { 0 };
	run r;

	(void)state;
	write_file(in, "0123456789abcdefghi", 19);
	expect_trouble(&setup, in, "19 bytes", "check", "--record-size=4", in, NULL);
	expect_trouble(&setup, "-k 1:u32", "past the end of the record of 4 bytes", "check", "--record-size=4",
		       "-k1:u32", in, NULL);
	expect_trouble(&setup, "-k 0:u33", "u33", "check", "--record-size=4", "-k0:u33", in, NULL);
	expect_trouble(&setup, none, "No such file", "check", "--record-size=1", none, NULL);
	expect_trouble(&setup, dir, "directory", "check", "--record-size=1", dir, NULL);
	expect_trouble(&setup, "check", "unrecognized", "check", "--record-size=1", "--what", NULL);
	setup.close_in = 1;
	expect_trouble(&setup, "standard input", "Bad file descriptor", "check", "--record-size=1", NULL);
	setup.close_in = 0;
	setup.obey_modes = 1;
	assert_int_equal(chmod(in, 0), 0);
	expect_trouble(&setup, in, "Permission denied", "check", "--record-size=1", in, NULL);
	/* The answer must arrive. */
	memset(&setup, 0, sizeof(setup));
	setup.out_fd = open("/dev/full", O_WRONLY);
	run_command(&r, &setup, "check", "--record-size=1", "/dev/null", NULL);
	close(setup.out_fd);
	assert_trouble(&r, "standard output", "No space left");
	run_free(&r);
	free(in);
	free(none);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_the_model),          cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_known_checksums),         cmocka_unit_test(test_first_disorder),
		cmocka_unit_test(test_large_records_and_pipes), cmocka_unit_test(test_wrong_options),
	};

	return cmocka_run_group_tests_name("cli_check", tests, run_setup_group, NULL);
}
