/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_text_key.c -- normalised keys: tables of texts in their order, a few bytes that are promised, and numbers of
 * thousands of digits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_key_model.h"

typedef struct ordered {
	int equal;              /* to the one before; otherwise greater */
	const char *text;
	size_t n;               /* 0: strlen(text) */
} ordered;

#define UP(s) { 0, s, 0 }
#define EQ(s) { 1, s, 0 }
#define UP_BYTES(s) { 0, s, sizeof(s) - 1 }

/* Every pair compares as the table says; with a direction of -1, the other way round. */
static void check_order(const char *spec, const ordered *table, size_t rows, int direction)
{
	unsigned char *a, *b;
	size_t i, j, na, nb;
	int expected, got;
	text t;

	text_one_key(&t, spec);
	for (i = 0; i < rows; i++) {
		a = text_key_of(&t, table[i].text, table[i].n != 0 ? table[i].n : strlen(table[i].text), &na);
		expected = 0;
		for (j = i; j < rows; j++) {
			if (j > i && !table[j].equal)
				expected = -direction;
			b = text_key_of(&t, table[j].text, table[j].n != 0 ? table[j].n : strlen(table[j].text), &nb);
			got = text_compare_keys(a, na, b, nb);
			if (got != expected)
				fail_msg("-k%s: '%s' and '%s': %d", spec, table[i].text, table[j].text, got);
			free(b);
		}
		free(a);
	}
}

static void test_bytes(void **state)
{
	static const ordered plain[] = {
		UP(""), UP_BYTES("\0"), UP_BYTES("\0\0"), UP_BYTES("\0\1"), UP_BYTES("\0a"), UP_BYTES("\1"),
		UP_BYTES("\1\0"), UP_BYTES("\1\1"), UP("\2"), UP(" "), UP("A"), UP("abcdefg"), UP("abcdefgh"),
		UP_BYTES("abcdefgh\0"), UP_BYTES("abcdefgh\1"), UP("abcdefghi"), UP("abcdefghijklmnopq"), UP("b"),
		UP("\x7f"), UP("\x80"), UP("\xff"), UP("\xff\xff"),
	};
	static const ordered fold[] = {
		UP(""), UP("@"), UP("A"), EQ("a"), UP("Ab"), EQ("aB"), UP("ABCDEFGHIZ"), EQ("abcdefghiz"), UP("Z"),
		EQ("z"), UP("["), UP("`"), UP("{"), UP("\xc1"), UP("\xe1"),
	};
	static const ordered dictionary[] = {
		UP(""), EQ("-"), EQ("\1\xe9~"), UP_BYTES("\t"), UP("\n"), UP(" "), UP("1"), EQ("-1\x7f"), UP("A"),
		UP("ab"), EQ("a-b"), UP("b"),
	};
	static const ordered printing[] = {
		UP(""), EQ("\t\n\x7f\xe9\1"), UP(" "), UP("-"), UP("A"), EQ("\1A"), UP("a"), UP("~"),
	};
	static const ordered both[] = { UP(""), UP("A"), EQ("-a"), UP("AB"), EQ("a.b"), UP("b") };

	(void)state;
	check_order("1", plain, COUNT(plain), 1);
	check_order("1r", plain, COUNT(plain), -1);
	check_order("1f", fold, COUNT(fold), 1);
	check_order("1d", dictionary, COUNT(dictionary), 1);
	check_order("1i", printing, COUNT(printing), 1);
	check_order("1df", both, COUNT(both), 1);
	check_order("1dir", dictionary, COUNT(dictionary), -1);
}

static void test_numeric(void **state)
{
	static const ordered table[] = {
		UP("-1000000000000000000000000000000000001"), UP("-1000000000000000000000000000000000000"), UP("-1234"),
		UP("-100"), EQ("  -00100.00"), EQ("\t\n-100x"), UP("-99.9"), UP("-10"), UP("-9"), UP("-1.01"),
		UP("-1.001"), UP("-1"), EQ("-1."), UP("-0.5"), EQ("-.50"), UP("-.05"), UP("-0.00000000001"), UP(""),
		EQ("0"), EQ("-0"), EQ("-"), EQ("junk"), EQ("- 5"), EQ("--5"), EQ("+5"), EQ("."), EQ("-.0"), EQ("\v5"),
		EQ("\r5"), UP(".00001"), UP(".001"), UP(".01"), EQ("0.010"), UP(".1"), EQ("0.1e5"), UP(".11"), UP(".9"),
		UP("1"), EQ("1.0.5"), EQ("1-2"), EQ("1\x80" "2"), EQ("1,5"), UP("1.01"), UP("9"), UP("10"), EQ("010."),
		UP("10.5"), UP("11"), UP("99"), UP("100"), UP("101"), UP("12345678901234"), UP("12345678901234.5"),
		UP("12345678901235"), UP("1000000000000000000000000000000000000"),
		UP("1000000000000000000000000000000000000.000000000000001"),
	};

	(void)state;
	check_order("1n", table, COUNT(table), 1);
	check_order("1nr", table, COUNT(table), -1);
	check_order("1fn", table, COUNT(table), 1);
}

static void test_human(void **state)
{
	static const ordered table[] = {
		UP("-1Q"), UP("-2R"), UP("-1R"), UP("-1Y"), UP("-1000M"), UP("-2K"), UP("-1k"), EQ("-01.0Ki"),
		UP("-2000"), UP("-1"), UP("0"), EQ("0Y"), EQ("-0.0G"), EQ("K"), EQ("+1K"), EQ("- 1K"), UP("0.5"),
		EQ(".5 K"), UP("1"), EQ("1m"), EQ("1i"), EQ("1r"), EQ("1q"), UP("3000"), EQ("3000..K"), UP(".1K"),
		UP("1k"), EQ("1K"), EQ("  1.K"), EQ("1Kilo"), UP("2000K"), UP("1M"), UP("1G"), UP("1T"), UP("1P"),
		UP("1E"), UP("1Z"), UP("1Y"), UP("2Y"), UP("1R"), EQ("1Ri"), UP("3R"), UP("1Q"), UP("2Q"),
	};
	static const ordered fold[] = { UP("5"), EQ("5i"), UP("1k"), UP("1M"), EQ("1m"), UP("1g"), UP("1t"), UP("1r"),
					UP("1q") };

	(void)state;
	check_order("1h", table, COUNT(table), 1);
	check_order("1hr", table, COUNT(table), -1);
	check_order("1hf", fold, COUNT(fold), 1);
}

static void test_month(void **state)
{
	static const ordered table[] = {
		UP(""), EQ("JA"), EQ("xJAN"), EQ("-"), EQ("J AN"), UP("JAN"), EQ(" \t\njanuary"), EQ("jAnx"), UP("feb"),
		UP("Mar"), UP("apr"), UP("may"), UP("jun"), UP("jul"), UP("aug"), UP("sep"), UP("oct"), UP("nov"),
		UP("dec"),
	};

	(void)state;
	check_order("1M", table, COUNT(table), 1);
	check_order("1Mr", table, COUNT(table), -1);
}

static void check_general(void)
{
	static const ordered table[] = {
		UP(""), EQ("x"), EQ("-"), EQ("."), EQ("e5"), EQ("- 1"), EQ("+"), EQ("na"), EQ("i"), UP("nan"),
		EQ("+NaN"), EQ("nan("), EQ("nan(-)"), UP("-inf"), EQ("-INFINITY"), EQ("-1e5000"), EQ("-infx"),
		UP("-1e300"), UP("-2"), UP("-1.5"), UP("-1"), UP("-1e-300"), UP("0"), EQ("-0"), EQ("0e5"), EQ("0x"),
		EQ("0x.p1"), EQ("1e-99999"), EQ("-1e-99999"), EQ(".0"), EQ("0x0p99999999999999999999"), UP("1e-300"),
		UP("1e-20"), UP("0.0999999999999999"), UP("0.1"), EQ(".1"), EQ("+1e-1"),
		EQ("100000000000000000000e-21"), EQ("0.10000000000000000000000000000"), UP("0.5"), EQ("0x.8"),
		EQ("0X1P-1"), UP("1"), EQ(" \v\f\r\n\t1"), EQ("1e"), EQ("1e+"), EQ("1."), EQ("0x1"), EQ("0x1p"),
		EQ("1,5"), UP("1.000000000000001"), UP("9"), UP("10"), EQ("0xa"), EQ("1e1"), EQ("1e01"), UP("255"),
		EQ("0xFf"), UP("9007199254740992"), UP("9007199254740996"), UP("18446744073709551616"),
		EQ("0x10000000000000000"), UP("1e27"), UP("1e28"), UP("1e300"), UP("inf"), EQ("infinity"), EQ("1e5000"),
		EQ("1e99999999999999999999999999"),
	};

	check_order("1g", table, COUNT(table), 1);
	check_order("1gr", table, COUNT(table), -1);
	check_order("1gf", table, COUNT(table), 1);
}

static void test_general(void **state)
{
	(void)state;
	check_general();
}

/* A text of any length, for free(). */
static char *join(const char *head, size_t repeated, char c, const char *tail)
{
	const size_t n = strlen(head), m = strlen(tail);
	char *all = malloc(n + repeated + m + 1);

	assert_non_null(all);
	memcpy(all, head, n);
	memset(all + n, c, repeated);
	memcpy(all + n + repeated, tail, m + 1);
	return all;
}

static int compare_texts(const text *t, const char *x, const char *y)
{
	size_t na, nb;
	unsigned char *a = text_key_of(t, x, strlen(x), &na), *b = text_key_of(t, y, strlen(y), &nb);
	const int c = text_compare_keys(a, na, b, nb);

	free(a);
	free(b);
	return c;
}

/* x compares with y as c says; negative, the other way round.  Frees both. */
static void check_pair(const char *spec, char *x, char *y, int c)
{
	char *const minus_x = join("-", 0, ' ', x), *const minus_y = join("-", 0, ' ', y);
	text t;

	text_one_key(&t, spec);
	if (compare_texts(&t, x, y) != c || compare_texts(&t, minus_x, minus_y) != -c)
		fail_msg("-k%s: '%.40s' of %zu bytes and '%.40s' of %zu", spec, x, strlen(x), y, strlen(y));
	free(x);
	free(y);
	free(minus_x);
	free(minus_y);
}

static const size_t lengths[] = { 1, 123, 124, 125, 126, 127, 128, 254, 255, 256, 257, 999, 4096, 11999, 12000, 12001,
				  12040, 30001, 100000 };

/* Numbers around 10^n. */
static void test_long_numeric(void **state)
{
	static const char *const specs[] = { "1n", "1h" };
	size_t i, j;

	(void)state;
	for (i = 0; i < 2 * COUNT(lengths); i++) {
		const char *const spec = specs[i % 2];
		const size_t n = lengths[i / 2];

		check_pair(spec, join("", n, '9', ""), join("1", n, '0', ""), -1);
		check_pair(spec, join("", n, '9', ".99"), join("1", n, '0', ""), -1);
		check_pair(spec, join("1", n, '0', ""), join("1", n, '0', ".0"), 0);
		check_pair(spec, join("1", n, '0', ""), join("1", n, '0', ".01"), -1);
		check_pair(spec, join("1", n, '0', ""), join("1", n - 1, '0', "1"), -1);
		check_pair(spec, join("", n, '0', "1"), join("1.", n, '0', ""), 0);
		check_pair(spec, join(".", n, '0', "1"), join(".", n, '0', "10"), 0);
		check_pair(spec, join(".", n, '0', "1"), join(".", n - 1, '0', "1"), -1);
		check_pair(spec, join(".", n, '9', ""), join("1", 0, ' ', ""), -1);
		check_pair(spec, join("5.", n, '3', ""), join("5.", n + 1, '3', ""), -1);
		/* Each length with every other. */
		for (j = 0; j < i / 2; j++)
			check_pair(spec, join("", lengths[j], '9', ""), join("1", n - 1, '0', ""), -1);
	}
}

/* 2^power + more in decimal digits. */
static void power_of_two(char out[64], int power, int more)
{
	size_t n = 1, i;
	int carry;

	/* The last digit comes first. */
	out[0] = 1;
	for (; power > 0; power--) {
		carry = 0;
		for (i = 0; i < n; i++) {
			carry += 2 * out[i];
			out[i] = (char)(carry % 10);
			carry /= 10;
		}
		if (carry != 0)
			out[n++] = (char)carry;
	}
	/* No power of 2 ends in more than 8. */
	for (i = 0, carry = more; carry != 0; i++) {
		carry += out[i];
		out[i] = (char)(carry % 10);
		carry /= 10;
	}
	for (i = 0; i < n; i++)
		out[i] = (char)(out[i] + '0');
	out[n] = '\0';
	for (i = 0; i < n / 2; i++) {
		const char c = out[i];

		out[i] = out[n - 1 - i];
		out[n - 1 - i] = c;
	}
}

/* Zeros, and an exponent that takes them back. */
static void check_exponents(void)
{
	char tail[64];
	size_t i;

	for (i = 0; i < COUNT(lengths); i++) {
		const size_t n = lengths[i];

		snprintf(tail, sizeof(tail), "e-%zu", n);
		check_pair("1g", join("1", n, '0', tail), join("1", 0, ' ', ""), 0);
		check_pair("1g", join("1", n + 1, '0', tail), join("10", 0, ' ', ""), 0);
		check_pair("1g", join("3", n, '0', tail), join("0.3e1", 0, ' ', ""), 0);
		snprintf(tail, sizeof(tail), "p-%zu", 4 * n);
		check_pair("1g", join("0x1", n, '0', tail), join("1", 0, ' ', ""), 0);
		check_pair("1g", join("0x3", n + 1, '0', tail), join("48", 0, ' ', ""), 0);
		snprintf(tail, sizeof(tail), "1e%zu", n + 1);
		check_pair("1g", join(".", n, '0', tail), join("1", 0, ' ', ""), 0);
		snprintf(tail, sizeof(tail), "2p%zu", 4 * n + 4);
		check_pair("1g", join("0x.", n, '0', tail), join("2", 0, ' ', ""), 0);
		check_pair("1g", join("", n, '0', "7"), join("7.", n, '0', ""), 0);
	}
}

/* 2^bits + 1 is in the middle of two neighbours, of which 2^bits is the even one: a digit anywhere behind it
 * decides. */
static void check_middles(void)
{
	char middle[2][64], above[64];
	size_t i, j;

	power_of_two(middle[0], LDBL_MANT_DIG, 1);
	power_of_two(above, LDBL_MANT_DIG, 2);
	memset(middle[1], 0, sizeof(middle[1]));
	snprintf(middle[1], sizeof(middle[1]), "0x%x%0*d", 1 << LDBL_MANT_DIG % 4, LDBL_MANT_DIG / 4, 1);
	for (j = 0; j < 2; j++) {
		strcat(middle[j], ".");
		for (i = 0; i < COUNT(lengths); i++) {
			const size_t n = lengths[i];
			char even[64];

			power_of_two(even, LDBL_MANT_DIG, 0);
			check_pair("1g", join(middle[j], n, '0', ""), join(even, 0, ' ', ""), 0);
			check_pair("1g", join(middle[j], n, '0', "1"), join(above, 0, ' ', ""), 0);
			check_pair("1g", join(middle[j], n, '0', "1"), join(even, 0, ' ', ""), 1);
		}
	}
}

static void test_long_general(void **state)
{
	(void)state;
	check_exponents();
	/* Pairs of doubles have no middles of this kind. */
	if (LDBL_MANT_DIG != 106)
		check_middles();
}

/* A locale with a decimal comma, made in a directory, as few machines have one. */
static int comma_locale(const char *dir)
{
	char command[512];

	snprintf(command, sizeof(command), "localedef -c -i de_DE -f ISO-8859-1 %s/comma >%s/log 2>&1", dir, dir);
	(void)!system(command);
	setenv("LOCPATH", dir, 1);
	return setlocale(LC_ALL, "comma") != NULL && strtod("0,5", NULL) > 0.4;
}

/* The decimal point is '.' whatever the program's locale says. */
static void test_locale(void **state)
{
	char *dir = test_dir_make(), command[512];
	const int made = comma_locale(dir);

	(void)state;
	if (made) {
		check_general();
		check_exponents();
		check_pair("1n", join("1.5", 0, ' ', ""), join("1,9", 0, ' ', ""), 1);
		check_pair("1n", join("1.000", 0, ' ', ""), join("2", 0, ' ', ""), -1);
	}
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
	/* A locale is a folder with folders. */
	snprintf(command, sizeof(command), "rm -rf %s/comma", dir);
	assert_int_equal(system(command), 0);
	test_dir_remove(dir);
	if (!made)
		skip();
}

static void test_version(void **state)
{
	static const ordered table[] = {
		UP(""), UP("."), UP(".."), UP(".~"), UP(".~.a"), UP(".~1"), UP(".0"), UP("..~"), UP("..a"), UP(".1"),
		UP(".1.a"), UP(".9"), UP(".9.tar.gz"), UP(".10"), UP(".10.tar.gz"), UP(".A"), UP(".Z.a"), UP(".a~"),
		UP(".a"), UP(".a.b"), UP(".a.c.d"), UP(".a1"), UP(".a."), UP(".a.2"), UP(".a.10"), UP(".b"), UP(".tar"),
		UP(".tar.gz"), UP("..1"), UP("..."), UP("~"), UP("0~"), UP("0"), EQ("00"), UP("1"), EQ("01"), UP("9"),
		UP("10"), EQ("010"), UP("99999"), UP("100000"), UP("999999"), UP("1000000"), UP("a~"), UP("a0~"),
		UP("a"), EQ("a0"), EQ("a00"), UP("a.tar.gz"), UP("a0b"), UP("a1"), EQ("a01"), UP("a2"), UP("a10"),
		UP("ab"), UP("b"), UP("foo-1.0~rc1.tar.gz"), UP("foo-1.0.tar.gz"), UP("foo-1.0.1.tar.gz"),
		UP("foo-1.2.tar.gz"), UP("foo-1.10.tar.gz"), UP("z"), UP("-"), UP("_"), UP("\xff"),
	};
	char *longer, *shorter;
	size_t i;
	text t;

	(void)state;
	check_order("1V", table, COUNT(table), 1);
	check_order("1Vr", table, COUNT(table), -1);
	text_one_key(&t, "1V");
	for (i = 0; i < COUNT(lengths); i++) {
		longer = join("1", lengths[i], '0', "");
		shorter = join("", lengths[i], '9', "");
		assert_int_equal(compare_texts(&t, shorter, longer), -1);
		free(shorter);
		shorter = join("", lengths[i], '0', longer);
		assert_int_equal(compare_texts(&t, shorter, longer), 0);
		free(shorter);
		free(longer);
	}
}

static void check_bytes(const char *spec, const char *record, size_t n, const char *key, size_t nkey)
{
	unsigned char *got;
	size_t ngot;
	text t;

	text_one_key(&t, spec);
	got = text_key_of(&t, record, n, &ngot);
	assert_int_equal(ngot, nkey);
	assert_memory_equal(got, key, nkey);
	free(got);
}

#define BYTES(spec, record, key) check_bytes(spec, record, sizeof(record) - 1, key, sizeof(key) - 1)

/* The first bytes tell as much as they can: this is what makes sorting fast, and what is in run files. */
static void test_written(void **state)
{
	(void)state;
	BYTES("1", "ab\0\1\2", "ab\1\0\1\1\2\0");
	BYTES("1r", "a", "\x9e\xff");
	BYTES("1f", "a-Z", "A-Z\0");
	BYTES("1df", "a-Z", "AZ\0");
	BYTES("1M", " feb", "\2");
	BYTES("1M", "x", "\0");
	BYTES("1n", "1234.5", "\x85\x19\x45\x64");
	BYTES("1n", "-0012.30", "\x7c\xe6\xc3");
	BYTES("1n", "1000.0", "\x85\x14");
	BYTES("1n", "x", "\x80");
	BYTES("1h", "-1K", "\x7f\x7d\xeb");
	BYTES("1h", "0K", "\x80\x80");
	BYTES("1g", "1", "\xab\x80");
	BYTES("1g", "-inf", "\3");
	BYTES("1V", "", "\0");
	BYTES("1V", "a10", "\4\x24\5\x0a\2\2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_numeric),
		cmocka_unit_test(test_human),
		cmocka_unit_test(test_month),
		cmocka_unit_test(test_general),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_long_numeric),
		cmocka_unit_test(test_long_general),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests_name("text_key", tests, NULL, NULL);
}
