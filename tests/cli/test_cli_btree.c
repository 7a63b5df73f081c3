/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cli_btree.c -- extmem btree: trees in files, against a model of sorting; keys as people write them; trouble.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fixture.h"
#include "cli/model.h"
#include "cli/run.h"

#define ROUNDS 25
#define RECORDS_MOST 3000
#define SIZE_MOST 40

/* What a command writes is these bytes. */
static void expect_bytes(const unsigned char *bytes, size_t n, const char *const *args)
{
	run r;

	run_args(&r, NULL, args);
	assert_status(&r, 0);
	assert_string_equal(r.err, "");
	assert_int_equal(r.out_bytes, n);
	assert_memory_equal(r.out, bytes, n);
	run_free(&r);
}

static void reverse(unsigned char *to, const unsigned char *from, size_t n, size_t size)
{
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(to + i * size, from + (n - 1 - i) * size, size);
}

/* The order of a model as options. */
static size_t order_options(const model *m, char *size, size_t room, const char **args)
{
	size_t n = 0;
	unsigned i;

	snprintf(size, room, "--record-size=%zu", m->size);
	args[n++] = size;
	if (m->reverse)
		args[n++] = "-r";
	for (i = 0; i < m->keys; i++) {
		args[n++] = "-k";
		args[n++] = m->key[i].text;
	}
	return n;
}

static void round_trip(const fixture *f, test_rng *rng)
{
	static unsigned char records[RECORDS_MOST * SIZE_MOST], back[RECORDS_MOST * SIZE_MOST];
	const int unique = test_below(rng, 2) != 0, presorted = test_below(rng, 3) == 0;
	size_t n = test_below(rng, 4) != 0 ? test_below(rng, 200) : test_below(rng, RECORDS_MOST), args;
	const char *argv[24] = { "btree", "load", "-o" };
	const char *scan[] = { "btree", "scan", f->out, NULL }, *from_last[] = { "btree", "scan", "-r", f->out, NULL };
	const char *few[] = { "btree", "scan", "-n", "3", f->out, NULL };
	char size[32];
	model m;
	run r;

	model_random(&m, rng, 1 + test_below(rng, SIZE_MOST));
	model_records(rng, records, n, m.size, (int)test_below(rng, 2));
	if (!presorted)
		write_file(f->in[0], records, n * m.size);
	n = model_sort(&m, records, n, unique);
	if (presorted)
		write_file(f->in[0], records, n * m.size);
	args = 3;
	argv[args++] = f->out;
	argv[args++] = unique ? "-u" : "--duplicates";
	argv[args++] = test_below(rng, 2) != 0 ? "--leaf-size=4K" : "--fill=70";
	if (presorted)
		argv[args++] = "--presorted";
	args += order_options(&m, size, sizeof(size), argv + args);
	argv[args++] = f->in[0];
	argv[args] = NULL;
	expect_bytes(NULL, 0, argv);
	expect_bytes(records, n * m.size, scan);
	expect_bytes(records, (n < 3 ? n : 3) * m.size, few);
	reverse(back, records, n, m.size);
	expect_bytes(back, n * m.size, from_last);
	run_command(&r, NULL, "btree", "verify", f->out, NULL);
	assert_status(&r, 0);
	assert_int_equal(strtoull(strpbrk(r.out, "0123456789"), NULL, 10), n);
	run_free(&r);
	run_command(&r, NULL, "btree", "stat", f->out, NULL);
	assert_status(&r, 0);
	run_free(&r);
}

static void test_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned i;

	for (i = 0; i < ROUNDS; i += test_step())
		round_trip(*state, &rng);
}

/* Records of two bytes: a key, and one that tells them apart. */
static void load_letters(const fixture *f, const char *records, const char *key)
{
	write_text(f->in[0], records);
	expect_output("", "", "btree", "load", "--duplicates", "--record-size=2", "-k", key, "-o", f->out, f->in[0],
		      NULL);
}

static void test_ranges(void **state)
{
	fixture *f = *state;

	load_letters(f, "c1a1d1c2b1e1", "0:u8");
	expect_output("", "a1b1c1c2d1e1", "btree", "scan", f->out, NULL);
	expect_output("", "c1c2", "btree", "get", f->out, "99", NULL);
	expect_output("", "c1c2a1", "btree", "get", f->out, "99", "97", NULL);
	expect_output("", "b1c1c2d1", "btree", "scan", "--from=98", "--to=100", f->out, NULL);
	expect_output("", "b1c1", "btree", "scan", "--from=98", "--to=100", "-n2", f->out, NULL);
	expect_output("", "d1c2", "btree", "scan", "--from=98", "--to=100", "-r", "--count=2", f->out, NULL);
	expect_output("", "a1b1", "btree", "scan", "--to=98", f->out, NULL);
	expect_output("", "e1d1", "btree", "scan", "-r", "--from=100", f->out, NULL);
	expect_output("", "e1d1", "btree", "scan", "-r", "--from=100", "-S16M", "--direct=off", "--backend=syscall",
		      f->out, NULL);
	expect_output("", "a1", "btree", "get", "--buffer-size=16M", "--backend", "syscall", f->out, "97", NULL);
	expect_output("", "records:      6\n", "btree", "verify", "-S16M", f->out, NULL);
	expect_output("", "", "btree", "scan", "--from=100", "--to=98", f->out, NULL);
	expect_output("", "", "btree", "scan", "--from=102", f->out, NULL);
	expect_output("", "", "btree", "scan", "-n0", f->out, NULL);
	expect_output("", "", "btree", "scan", "-o", f->in[1], f->out, NULL);
	assert_file(f->in[1], "a1b1c1c2d1e1", 12);
	load_letters(f, "", "0:u8");
	expect_output("", "", "btree", "scan", f->out, NULL);
	expect_output("", "", "btree", "scan", "-r", f->out, NULL);
}

/* A scan reads hardly more than it writes: a leaf that is damaged is not found by one that ends far from it. */
static void test_short_scans(void **state)
{
	enum { N = 60000 };
	static const char *const ends_before[][5] = {
		{ "--from=7", "-n2" }, { "--from=7", "--to=8" }, { "--to=1", "-r", "-n1" }, { "-n1" },
		{ "-r", "--from=59990" }, { "-r", "-n20" }, { "--from=59000" }
	};
	static const char *const comes_to_it[][5] = { { "--from=7" }, { "--from=1", "--to=59000" }, { "-r" } };
	fixture *f = *state;
	unsigned char *records = malloc(4 * N);
	size_t n, i, k;
	char *bytes;
	run r;

	assert_non_null(records);
	for (i = 0; i < N; i++)
		for (k = 0; k < 4; k++)
			records[4 * i + k] = (unsigned char)(i >> 8 * k);
	write_file(f->in[0], records, 4 * N);
	expect_output("", "", "btree", "load", "--record-size=4", "-k0:u32", "--leaf-size=4K", "-o", f->out, f->in[0],
		      NULL);
	bytes = read_file(f->out, &n);
	bytes[n / 2] ^= 4;
	write_file(f->out, bytes, n);
	for (i = 0; i < sizeof(ends_before) / sizeof(*ends_before); i++) {
		const char *argv[8] = { "btree", "scan", "-S64M" };

		for (k = 0; ends_before[i][k]; k++)
			argv[3 + k] = ends_before[i][k];
		argv[3 + k] = f->out;
		run_args(&r, NULL, argv);
		assert_status(&r, 0);
		assert_true(r.out_bytes > 0);
		run_free(&r);
	}
	for (i = 0; i < sizeof(comes_to_it) / sizeof(*comes_to_it); i++) {
		const char *argv[8] = { "btree", "scan", "-S64M" };

		for (k = 0; comes_to_it[i][k]; k++)
			argv[3 + k] = comes_to_it[i][k];
		argv[3 + k] = f->out;
		run_args(&r, NULL, argv);
		assert_status(&r, 2);
		assert_non_null(strstr(r.err, f->out));
		run_free(&r);
	}
	free(bytes);
	free(records);
}

/* Each kind of a field. */
static void test_keys(void **state)
{
	static const struct { const char *record, *key, *text; } cases[] = {
		{ "a1", "0:i8", "97" }, { "\x80y", "0:i8", "-128" }, { "ab", "0:u16le", "25185" },
		{ "ab", "0:u16be", "24930" }, { "ab", "0:bytes2", "ab" }, { "ab", "0:bytes2", "0x6162" },
		{ "\xff\xff", "0:i16", "-1" }, { "ab", "0:u8:r", "97" }, { "a,", "0:bytes2", "a," }
	};
	fixture *f = *state;
	unsigned i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		load_letters(f, cases[i].record, cases[i].key);
		expect_output("", cases[i].record, "btree", "get", f->out, cases[i].text, NULL);
	}
	write_text(f->in[0], "ax1by2");
	expect_output("", "", "btree", "load", "--record-size=3", "-k2:u8", "-k0:bytes1", "-o", f->out, f->in[0], NULL);
	expect_output("", "by2", "btree", "get", f->out, "50,b", NULL);
	expect_output("", "ax1", "btree", "get", "--", f->out, "49,0x61", NULL);
	write_file(f->in[0], "\0\0\x80\xbf\0\0\0\x40", 8);
	expect_output("", "", "btree", "load", "--record-size=4", "-k0:f32", "-o", f->out, f->in[0], NULL);
	expect_output("", "\0\0\0\x40", "btree", "scan", "--from=1.5", "-o", f->in[1], f->out, NULL);
	assert_file(f->in[1], "\0\0\0\x40", 4);
}

static void test_key_trouble(void **state)
{
	static const struct { const char *text, *what; } bad[] = {
		{ "", "not a whole number" }, { "a", "not a whole number" }, { "-", "not a whole number" },
		{ "256", "out of range" }, { "-1", "out of range" }, { "99999999999999999999", "out of range" },
		{ "1.5", "not a whole number" }
	};
	fixture *f = *state;
	unsigned i;

	load_letters(f, "a1", "0:u8");
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect_trouble(NULL, bad[i].what, "u8@0", "btree", "get", f->out, bad[i].text, NULL);
	expect_trouble(NULL, "--from x", "u8@0", "btree", "scan", "--from=x", f->out, NULL);
	expect_trouble(NULL, "-S x", "", "btree", "scan", "-Sx", f->out, NULL);
	expect_trouble(NULL, "none-such", "", "btree", "get", "--backend=none-such", f->out, "97", NULL);
	expect_trouble(NULL, "--direct", "perhaps", "btree", "verify", "--direct=perhaps", f->out, NULL);
	load_letters(f, "a1", "0:bytes2");
	expect_trouble(NULL, "too long", "bytes2@0", "btree", "get", f->out, "abc", NULL);
	expect_trouble(NULL, "too long", "bytes2@0", "btree", "get", f->out, "0x616263", NULL);
	expect_trouble(NULL, "odd", "bytes2@0", "btree", "get", f->out, "0x616", NULL);
	expect_trouble(NULL, "not hexadecimal", "bytes2@0", "btree", "get", f->out, "0x6g", NULL);
	write_text(f->in[0], "a1");
	expect_output("", "", "btree", "load", "--record-size=2", "-k0:u8", "-k1:u8", "-o", f->out, f->in[0], NULL);
	expect_trouble(NULL, "a value is missing", "u8@0,u8@1", "btree", "get", f->out, "97", NULL);
}

static void test_missing(void **state)
{
	fixture *f = *state;
	run r;

	load_letters(f, "a1b1", "0:u8");
	run_command(&r, NULL, "btree", "get", f->out, "97", "99", "98", NULL);
	assert_status(&r, 1);
	assert_string_equal(r.out, "a1b1");
	assert_string_equal(r.err, "extmem btree get: 99: there is no such key\n");
	run_free(&r);
}

/* A file that is damaged, cut short, or none. */
static void test_damage(void **state)
{
	fixture *f = *state;
	size_t n;
	char *bytes;
	run r;

	load_letters(f, "a1b1", "0:u8");
	bytes = read_file(f->out, &n);
	bytes[n - 20000] ^= 4;
	write_file(f->out, bytes, n);
	run_command(&r, NULL, "btree", "verify", f->out, NULL);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, f->out));
	assert_non_null(strstr(r.err, "at offset 4096"));
	run_free(&r);
	bytes[n - 20000] ^= 4;
	write_file(f->out, bytes, n - 1);
	run_command(&r, NULL, "btree", "verify", f->out, NULL);
	assert_status(&r, 1);
	assert_non_null(strstr(r.err, "ends too early"));
	run_free(&r);
	expect_trouble(NULL, "ends too early", f->out, "btree", "scan", f->out, NULL);
	expect_trouble(NULL, "no saved B+-tree", f->in[0], "btree", "stat", f->in[0], NULL);
	expect_trouble(NULL, "No such file", "is-not-there", "btree", "verify", "is-not-there", NULL);
	free(bytes);
}

static void test_trouble(void **state)
{
	fixture *f = *state;

	write_text(f->in[0], "b1a1a2");
	expect_trouble(NULL, "a command is missing: load, get, scan, stat or verify", "", "btree", NULL);
	expect_trouble(NULL, "put: unknown command", "", "btree", "put", NULL);
	expect_trouble(NULL, "--what: unknown option", "", "btree", "--what", NULL);
	expect_trouble(NULL, "--record-size=N is missing", "", "btree", "load", "-o", f->out, f->in[0], NULL);
	expect_trouble(NULL, "a file for the tree is missing", "", "btree", "load", "--record-size=2", f->in[0], NULL);
	expect_trouble(NULL, "cannot be combined", "", "btree", "load", "--record-size=2", "-u", "--duplicates", "-o",
		       f->out, f->in[0], NULL);
	expect_trouble(NULL, "two records have the same key", "", "btree", "load", "--record-size=2", "-k0:u8", "-o",
		       f->out, f->in[0], NULL);
	expect_trouble(NULL, "record 2 is less than the one before", "", "btree", "load", "--record-size=2",
		       "--presorted", "-o", f->out, f->in[0], NULL);
	expect_trouble(NULL, "no multiple of the record size", f->in[0], "btree", "load", "--record-size=4", "-o",
		       f->out, f->in[0], NULL);
	expect_trouble(NULL, "is-not-there", "", "btree", "load", "--record-size=2", "-o", f->out, "is-not-there",
		       NULL);
	expect_trouble(NULL, "no multiple of 4096", "--leaf-size", "btree", "load", "--record-size=2",
		       "--leaf-size=5000", "-o", f->out, f->in[0], NULL);
	expect_trouble(NULL, "--fill", "", "btree", "load", "--record-size=2", "--fill=101", "-o", f->out, f->in[0],
		       NULL);
	/* The output is looked at before anything is read. */
	expect_trouble(NULL, "is-not-there", "", "btree", "load", "--record-size=2", "-o", "is-not-there/tree",
		       "no-input", NULL);
	expect_trouble(NULL, "regular file", "/dev/null", "btree", "load", "--record-size=2", "-o", "/dev/null",
		       "no-input", NULL);
	expect_trouble(NULL, "directory", f->dir, "btree", "load", "--record-size=2", "-o", f->dir, "no-input", NULL);
	expect_trouble(NULL, "-n is for lines", "", "btree", "load", "--record-size=2", "-n", f->in[0], NULL);
	expect_trouble(NULL, "--stats", "", "btree", "load", "--record-size=2", "--stats", "-o", f->out, f->in[0],
		       NULL);
	expect_trouble(NULL, "the name of a tree is missing", "", "btree", "scan", NULL);
	expect_trouble(NULL, "a key is missing", "", "btree", "get", f->out, NULL);
	expect_trouble(NULL, "one tree is read", "", "btree", "stat", f->out, f->out, NULL);
	/* Nothing was written. */
	assert_int_equal(access(f->out, F_OK), -1);
}

static void closed_pipe(const fixture *f, int ignored)
{
	const char *const args[] = { "btree", "scan", f->out, NULL };

	expect_closed_pipe(ignored, args);
}

static void test_closed_pipe(void **state)
{
	load_letters(*state, "a1b1", "0:u8");
	closed_pipe(*state, 0);
	closed_pipe(*state, 1);
}

static void test_help(void **state)
{
	static const char *const commands[] = { "load", "get", "scan", "stat", "verify" };
	size_t i;
	run r;

	(void)state;
	run_command(&r, NULL, "btree", "--help", NULL);
	assert_status(&r, 0);
	run_free(&r);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		char usage[40];

		run_command(&r, NULL, "btree", commands[i], "--help", NULL);
		assert_status(&r, 0);
		snprintf(usage, sizeof(usage), "Usage: extmem btree %s ", commands[i]);
		assert_int_equal(strncmp(r.out, usage, strlen(usage)), 0);
		assert_string_equal(r.err, "");
		run_free(&r);
		run_command(&r, NULL, "btree", commands[i], "--version", NULL);
		assert_status(&r, 0);
		assert_int_equal(strncmp(r.out, "extmem ", 7), 0);
		run_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_model, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_ranges, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_short_scans, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_keys, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_key_trouble, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_missing, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_damage, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_trouble, fixture_make, fixture_free),
		cmocka_unit_test_setup_teardown(test_closed_pipe, fixture_make, fixture_free),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests_name("cli_btree", tests, run_setup_group, NULL);
}
