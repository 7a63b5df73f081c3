/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_text_parse.c -- text keys as the command spells them: tables of what is right and of the messages for what is
 * not, and random specifications that GNU sort must take, or refuse in the same words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/text.h>

#include "common/gnu_version.h"
#include "common/test.h"
#include "gnu_sort.h"

#define FAR UINT64_MAX

static void check_good(const char *text, uint64_t first_field, uint64_t first_char, uint64_t last_field,
		       uint64_t last_char, int32_t kind, uint32_t flags, int own)
{
	em_text_key key;
	em_errinfo err;
	int letters = -1;

	memset(&key, 0xff, sizeof(key));
	memset(&err, 0x5a, sizeof(err));
	assert_int_equal(em_text_key_parse(&key, &letters, text, &err), EM_OK);
	assert_true(key.first_field == first_field);
	assert_true(key.first_char == first_char);
	assert_true(key.last_field == last_field);
	assert_true(key.last_char == last_char);
	assert_int_equal(key.kind, kind);
	assert_int_equal(key.flags, flags);
	assert_int_equal(letters, own);
	/* Filled only on failure. */
	assert_int_equal(err.status, 0x5a5a5a5a);
	assert_int_equal(em_text_key_parse(&key, NULL, text, NULL), EM_OK);
}

static void check_bad(const char *text, const char *message)
{
	em_text_key key, before;
	em_errinfo err;
	int letters = -1;

	memset(&err, 0xff, sizeof(err));
	memset(&key, 0x5a, sizeof(key));
	before = key;
	assert_int_equal(em_text_key_parse(&key, &letters, text, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, message);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_int_equal(letters, -1);
	assert_memory_equal(&key, &before, sizeof(key));
	assert_int_equal(em_text_key_parse(&key, NULL, text, NULL), EM_ERR_INVAL);
}

static void test_good(void **state)
{
	(void)state;
	check_good("1", 1, 1, 0, 0, EM_TEXT_BYTES, 0, 0);
	check_good("1,1", 1, 1, 1, 0, EM_TEXT_BYTES, 0, 0);
	check_good("2.3,4.5", 2, 3, 4, 5, EM_TEXT_BYTES, 0, 0);
	check_good("3,2.0", 3, 1, 2, 0, EM_TEXT_BYTES, 0, 0);
	check_good("010.007", 10, 7, 0, 0, EM_TEXT_BYTES, 0, 0);
	check_good(" \t\n\v\f\r+1. +2, 3.\t4", 1, 2, 3, 4, EM_TEXT_BYTES, 0, 0);
	check_good("99999999999999999999", FAR, 1, 0, 0, EM_TEXT_BYTES, 0, 0);
	check_good("18446744073709551615.18446744073709551616,18446744073709551614.9999999999999999999999", FAR, FAR,
		   FAR - 1, FAR, EM_TEXT_BYTES, 0, 0);
	check_good("1n", 1, 1, 0, 0, EM_TEXT_NUMERIC, 0, 1);
	check_good("1,1n", 1, 1, 1, 0, EM_TEXT_NUMERIC, 0, 1);
	check_good("1n,1n", 1, 1, 1, 0, EM_TEXT_NUMERIC, 0, 1);
	check_good("1nnn", 1, 1, 0, 0, EM_TEXT_NUMERIC, 0, 1);
	check_good("1g", 1, 1, 0, 0, EM_TEXT_GENERAL, 0, 1);
	check_good("1h", 1, 1, 0, 0, EM_TEXT_HUMAN, 0, 1);
	check_good("1M", 1, 1, 0, 0, EM_TEXT_MONTH, 0, 1);
	check_good("1V", 1, 1, 0, 0, EM_TEXT_VERSION, 0, 1);
	check_good("1dV", 1, 1, 0, 0, EM_TEXT_VERSION, EM_TEXT_DICTIONARY, 1);
	check_good("1b", 1, 1, 0, 0, EM_TEXT_BYTES, EM_TEXT_SKIP_START, 1);
	check_good("1,1b", 1, 1, 1, 0, EM_TEXT_BYTES, EM_TEXT_SKIP_END, 1);
	check_good("1b,1.2b", 1, 1, 1, 2, EM_TEXT_BYTES, EM_TEXT_SKIP_START | EM_TEXT_SKIP_END, 1);
	check_good("1r", 1, 1, 0, 0, EM_TEXT_BYTES, EM_TEXT_REVERSE, 1);
	check_good("1fr,2i", 1, 1, 2, 0, EM_TEXT_BYTES, EM_TEXT_FOLD | EM_TEXT_REVERSE | EM_TEXT_PRINTING, 1);
	check_good("1di", 1, 1, 0, 0, EM_TEXT_BYTES, EM_TEXT_DICTIONARY, 1);
	check_good("1id", 1, 1, 0, 0, EM_TEXT_BYTES, EM_TEXT_DICTIONARY, 1);
	check_good("1,2fn", 1, 1, 2, 0, EM_TEXT_NUMERIC, EM_TEXT_FOLD, 1);
}

static void test_bad(void **state)
{
	(void)state;
	check_bad("", "invalid number at field start: invalid count at start of ''");
	check_bad("x", "invalid number at field start: invalid count at start of 'x'");
	check_bad("-1", "invalid number at field start: invalid count at start of '-1'");
	check_bad("+ 1", "invalid number at field start: invalid count at start of '+ 1'");
	check_bad("0", "field number is zero: invalid field specification '0'");
	check_bad("0x1", "field number is zero: invalid field specification '0x1'");
	check_bad("0.x", "field number is zero: invalid field specification '0.x'");
	check_bad("1.0", "character offset is zero: invalid field specification '1.0'");
	check_bad("1.", "invalid number after '.': invalid count at start of ''");
	check_bad("1.x", "invalid number after '.': invalid count at start of 'x'");
	check_bad("1,", "invalid number after ',': invalid count at start of ''");
	check_bad("1,x", "invalid number after ',': invalid count at start of 'x'");
	check_bad("1,0", "field number is zero: invalid field specification '1,0'");
	check_bad("1,1.x", "invalid number after '.': invalid count at start of 'x'");
	check_bad("1.2.3", "stray character in field spec: invalid field specification '1.2.3'");
	check_bad("1nq", "stray character in field spec: invalid field specification '1nq'");
	check_bad("1,2n3", "stray character in field spec: invalid field specification '1,2n3'");
	check_bad("1,1,1", "stray character in field spec: invalid field specification '1,1,1'");
	check_bad("1ngx", "stray character in field spec: invalid field specification '1ngx'");
	check_bad("1'\\\t\x01\xe9",
		  "stray character in field spec: invalid field specification '1\\'\\\\\\t\\001\\351'");
	check_bad("1ng", "options '-gn' are incompatible");
	check_bad("1n,1g", "options '-gn' are incompatible");
	check_bad("1rfbgn", "options '-fgn' are incompatible");
	check_bad("1dn", "options '-dn' are incompatible");
	check_bad("1idn", "options '-dn' are incompatible");
	check_bad("1inM", "options '-iMn' are incompatible");
	check_bad("1gnMhVdi", "options '-dghMnV' are incompatible");
	check_bad("1nRV", "options '-nRV' are incompatible");
	check_bad("1R", "random order is not supported: invalid field specification '1R'");
	check_bad("1Rx", "stray character in field spec: invalid field specification '1Rx'");
}

static void test_arguments(void **state)
{
	em_text_key key;
	em_errinfo err;

	(void)state;
	assert_int_equal(em_text_key_parse(NULL, NULL, "1", &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "key: out is NULL");
	assert_int_equal(em_text_key_parse(&key, NULL, NULL, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "key: text is NULL");
}

/* A message stays within its room, whatever is quoted. */
static void test_long(void **state)
{
	char text[5000];
	em_text_key key;
	em_errinfo err;
	size_t n;

	(void)state;
	for (n = 100; n < sizeof(text); n = 3 * n) {
		memset(text, '\x80', n);
		text[0] = '1';
		text[n] = '\0';
		assert_int_equal(em_text_key_parse(&key, NULL, text, &err), EM_ERR_INVAL);
		assert_non_null(strstr(err.text, "invalid field specification '1\\200"));
		assert_true(strlen(err.text) < sizeof(err.text) - 1);
	}
	memset(text, '9', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(em_text_key_parse(&key, NULL, text, &err), EM_OK);
	assert_true(key.first_field == FAR);
}

static void random_spec(test_rng *rng, char *out)
{
	static const char tokens[] = "0112....,,,,bdfghiMnrV x+-'\\\t";
	const char *const good[] = { "1", "2.3", "1,", "1.2,3.4", "2b,2" };
	const size_t n = (size_t)test_below(rng, 6);
	size_t i, at = 0;

	out[0] = '\0';
	if (test_below(rng, 4) != 0)
		strcpy(out, good[test_below(rng, 5)]);
	at = strlen(out);
	for (i = 0; i < n; i++)
		out[at + i] = tokens[test_below(rng, sizeof(tokens) - 1)];
	out[at + n] = '\0';
}

/* GNU sort takes what is taken here, and says the same of what is not. */
static void test_as_gnu(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char spec[32], k[] = "-k", sort[] = "sort", null[] = "/dev/null";
	char *const argv[] = { sort, k, spec, null, NULL };
	char *dir, *errors, *said;
	em_text_key key;
	em_errinfo err;
	size_t n;
	int i, status, good = 0, bad = 0;

	(void)state;
	if (!gnu_version("sort"))
		skip();
	dir = test_dir_make();
	errors = test_path(dir, "errors");
	for (i = 0; i < 250; i++) {
		random_spec(&rng, spec);
		status = gnu_sort(argv, errors);
		said = read_file(errors, &n);
		if (em_text_key_parse(&key, NULL, spec, &err) == EM_OK) {
			if (status != 0)
				fail_msg("'%s' was taken, GNU sort says %s", spec, said);
			good++;
		} else {
			if (status == 0)
				fail_msg("'%s' was not taken: %s", spec, err.text);
			said[strcspn(said, "\n")] = '\0';
			assert_true(strlen(said) > 6);
			assert_string_equal(err.text, strchr(said, ':') + 2);
			bad++;
		}
		free(said);
	}
	assert_true(good > 0 && bad > 0);
	free(errors);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_bad),   cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_long), cmocka_unit_test(test_as_gnu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
