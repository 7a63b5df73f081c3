/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_text_key.c -- normalised keys: tables of texts in their order, a few bytes that are promised, numbers of thousands of digits,
 * room that is too small, and random texts of which GNU sort must think the same.
 *
 * Of what GNU sort 9.1 does, two things are left out of the comparison: the order of NaNs among each other, which depends on bytes
 * that nobody sets, and the byte 0x80 in numbers, which it takes for a separator of thousands.
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

#include "common/test.h"
#include "gnu_sort.h"
#include "key/text.h"

#define BLANKS EM_TEXT_BLANKS
#define KEYS_MAX 4

typedef union text {
	emi_text text;
	unsigned char room[sizeof(emi_text) + KEYS_MAX * sizeof(em_text_key)];
} text;

/* A record and its key. */
typedef struct item {
	unsigned char *record;
	size_t n;
	unsigned char *key;
	size_t nkey;
	size_t place;           /* in the input */
} item;

static void parse(text *t, uint32_t separator, const char *spec)
{
	em_errinfo err;

	t->text.flags = 0;
	t->text.separator = separator;
	if (em_text_key_parse(&t->text.key[t->text.n++], NULL, spec, &err) != EM_OK)
		fail_msg("%s: %s", spec, err.text);
}

static void one_key(text *t, const char *spec)
{
	memset(t, 0, sizeof(*t));
	parse(t, BLANKS, spec);
}

/* Its key, in memory of just that size. */
static unsigned char *key_of(const text *t, const void *record, size_t n, size_t *nkey)
{
	unsigned char *key;

	*nkey = emi_text_key(&t->text, record, n, NULL, 0);
	key = malloc(*nkey != 0 ? *nkey : 1);
	assert_non_null(key);
	assert_true(emi_text_key(&t->text, record, n, key, *nkey) == *nkey);
	return key;
}

/* -1, 0, 1; -2 when one is a beginning of the other. */
static int compare(const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	const int c = memcmp(a, b, na < nb ? na : nb);

	if (c == 0 && na != nb)
		return -2;
	return (c > 0) - (c < 0);
}

typedef struct ordered {
	int equal;              /* to the one before; otherwise greater */
	const char *text;
	size_t n;               /* 0: strlen(text) */
} ordered;

#define UP(s) { 0, s, 0 }
#define EQ(s) { 1, s, 0 }
#define UP_BYTES(s) { 0, s, sizeof(s) - 1 }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Every pair compares as the table says; with a direction of -1, the other way round. */
static void check_order(const char *spec, const ordered *table, size_t rows, int direction)
{
	unsigned char *a, *b;
	size_t i, j, na, nb;
	int expected, got;
	text t;

	one_key(&t, spec);
	for (i = 0; i < rows; i++) {
		a = key_of(&t, table[i].text, table[i].n != 0 ? table[i].n : strlen(table[i].text), &na);
		expected = 0;
		for (j = i; j < rows; j++) {
			if (j > i && !table[j].equal)
				expected = -direction;
			b = key_of(&t, table[j].text, table[j].n != 0 ? table[j].n : strlen(table[j].text), &nb);
			got = compare(a, na, b, nb);
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
		UP(""), UP_BYTES("\0"), UP_BYTES("\0\0"), UP_BYTES("\0\1"), UP_BYTES("\0a"), UP_BYTES("\1"), UP_BYTES("\1\0"),
		UP_BYTES("\1\1"), UP("\2"), UP(" "), UP("A"), UP("abcdefg"), UP("abcdefgh"), UP_BYTES("abcdefgh\0"),
		UP_BYTES("abcdefgh\1"), UP("abcdefghi"), UP("abcdefghijklmnopq"), UP("b"), UP("\x7f"), UP("\x80"), UP("\xff"),
		UP("\xff\xff"),
	};
	static const ordered fold[] = {
		UP(""), UP("@"), UP("A"), EQ("a"), UP("Ab"), EQ("aB"), UP("ABCDEFGHIZ"), EQ("abcdefghiz"), UP("Z"), EQ("z"),
		UP("["), UP("`"), UP("{"), UP("\xc1"), UP("\xe1"),
	};
	static const ordered dictionary[] = {
		UP(""), EQ("-"), EQ("\1\xe9~"), UP_BYTES("\t"), UP("\n"), UP(" "), UP("1"), EQ("-1\x7f"), UP("A"), UP("ab"),
		EQ("a-b"), UP("b"),
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
		UP("-100"), EQ("  -00100.00"), EQ("\t\n-100x"), UP("-99.9"), UP("-10"), UP("-9"), UP("-1.01"), UP("-1.001"),
		UP("-1"), EQ("-1."), UP("-0.5"), EQ("-.50"), UP("-.05"), UP("-0.00000000001"), UP(""), EQ("0"), EQ("-0"),
		EQ("-"), EQ("junk"), EQ("- 5"), EQ("--5"), EQ("+5"), EQ("."), EQ("-.0"), EQ("\v5"), EQ("\r5"), UP(".00001"),
		UP(".001"), UP(".01"), EQ("0.010"), UP(".1"), EQ("0.1e5"), UP(".11"), UP(".9"), UP("1"), EQ("1.0.5"), EQ("1-2"),
		EQ("1,5"), UP("1.01"), UP("9"), UP("10"), EQ("010."), UP("10.5"), UP("11"), UP("99"), UP("100"), UP("101"),
		UP("12345678901234"), UP("12345678901234.5"), UP("12345678901235"),
		UP("1000000000000000000000000000000000000"), UP("1000000000000000000000000000000000000.000000000000001"),
	};

	(void)state;
	check_order("1n", table, COUNT(table), 1);
	check_order("1nr", table, COUNT(table), -1);
	check_order("1fn", table, COUNT(table), 1);
}

static void test_human(void **state)
{
	static const ordered table[] = {
		UP("-1Y"), UP("-1000M"), UP("-2K"), UP("-1k"), EQ("-01.0Ki"), UP("-2000"), UP("-1"), UP("0"), EQ("0Y"),
		EQ("-0.0G"), EQ("K"), EQ("+1K"), EQ("- 1K"), UP("0.5"), EQ(".5 K"), UP("1"), EQ("1m"), EQ("1i"), UP("3000"),
		EQ("3000..K"), UP(".1K"), UP("1k"), EQ("1K"), EQ("  1.K"), EQ("1Kilo"), UP("2000K"), UP("1M"), UP("1G"), UP("1T"),
		UP("1P"), UP("1E"), UP("1Z"), UP("1Y"), UP("2Y"),
	};
	static const ordered fold[] = { UP("5"), EQ("5i"), UP("1k"), UP("1M"), EQ("1m"), UP("1g"), UP("1t") };

	(void)state;
	check_order("1h", table, COUNT(table), 1);
	check_order("1hr", table, COUNT(table), -1);
	check_order("1hf", fold, COUNT(fold), 1);
}

static void test_month(void **state)
{
	static const ordered table[] = {
		UP(""), EQ("JA"), EQ("xJAN"), EQ("-"), EQ("J AN"), UP("JAN"), EQ(" \t\njanuary"), EQ("jAnx"), UP("feb"),
		UP("Mar"), UP("apr"), UP("may"), UP("jun"), UP("jul"), UP("aug"), UP("sep"), UP("oct"), UP("nov"), UP("dec"),
	};

	(void)state;
	check_order("1M", table, COUNT(table), 1);
	check_order("1Mr", table, COUNT(table), -1);
}

static void check_general(void)
{
	static const ordered table[] = {
		UP(""), EQ("x"), EQ("-"), EQ("."), EQ("e5"), EQ("- 1"), EQ("+"), EQ("na"), EQ("i"), UP("nan"), EQ("+NaN"),
		EQ("nan("), EQ("nan(-)"), UP("-inf"), EQ("-INFINITY"), EQ("-1e5000"), EQ("-infx"), UP("-1e300"), UP("-2"),
		UP("-1.5"), UP("-1"), UP("-1e-300"), UP("0"), EQ("-0"), EQ("0e5"), EQ("0x"), EQ("0x.p1"), EQ("1e-99999"), EQ("-1e-99999"),
		EQ(".0"), EQ("0x0p99999999999999999999"), UP("1e-300"), UP("1e-20"), UP("0.0999999999999999"), UP("0.1"), EQ(".1"),
		EQ("+1e-1"), EQ("100000000000000000000e-21"), EQ("0.10000000000000000000000000000"), UP("0.5"), EQ("0x.8"), EQ("0X1P-1"),
		UP("1"), EQ(" \v\f\r\n\t1"), EQ("1e"), EQ("1e+"), EQ("1."), EQ("0x1"), EQ("0x1p"), EQ("1,5"), UP("1.000000000000001"),
		UP("9"), UP("10"), EQ("0xa"), EQ("1e1"), EQ("1e01"), UP("255"), EQ("0xFf"), UP("9007199254740992"),
		UP("9007199254740996"), UP("18446744073709551616"), EQ("0x10000000000000000"), UP("1e27"), UP("1e28"), UP("1e300"),
		UP("inf"), EQ("infinity"), EQ("1e5000"), EQ("1e99999999999999999999999999"),
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
	unsigned char *a = key_of(t, x, strlen(x), &na), *b = key_of(t, y, strlen(y), &nb);
	const int c = compare(a, na, b, nb);

	free(a);
	free(b);
	return c;
}

/* x compares with y as c says; negative, the other way round.  Frees both. */
static void check_pair(const char *spec, char *x, char *y, int c)
{
	char *const minus_x = join("-", 0, ' ', x), *const minus_y = join("-", 0, ' ', y);
	text t;

	one_key(&t, spec);
	if (compare_texts(&t, x, y) != c || compare_texts(&t, minus_x, minus_y) != -c)
		fail_msg("-k%s: '%.40s' of %zu bytes and '%.40s' of %zu", spec, x, strlen(x), y, strlen(y));
	free(x);
	free(y);
	free(minus_x);
	free(minus_y);
}

static const size_t lengths[] = { 1, 123, 124, 125, 126, 127, 128, 254, 255, 256, 257, 999, 4096, 11999, 12000, 12001, 12040, 30001, 100000 };

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

/* 2^bits + 1 is in the middle of two neighbours, of which 2^bits is the even one: a digit anywhere behind it decides. */
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
		UP(""), UP("."), UP(".."), UP(".~"), UP(".a"), UP(".b"), UP(".0"), UP(".9"), UP(".10"), UP("~"), UP("0~"), UP("0"), EQ("00"),
		UP("1"), EQ("01"), UP("9"), UP("10"), EQ("010"), UP("99999"), UP("100000"), UP("999999"), UP("1000000"),
		UP("a~"), UP("a0~"), UP("a"), EQ("a0"), EQ("a00"), UP("a.tar.gz"), UP("a0b"), UP("a1"), EQ("a01"), UP("a2"), UP("a10"),
		UP("ab"), UP("b"), UP("foo-1.0~rc1.tar.gz"), UP("foo-1.0.tar.gz"), UP("foo-1.0.1.tar.gz"), UP("foo-1.2.tar.gz"),
		UP("foo-1.10.tar.gz"), UP("z"), UP("-"), UP("_"), UP("\xff"),
	};
	char *longer, *shorter;
	size_t i;
	text t;

	(void)state;
	check_order("1V", table, COUNT(table), 1);
	check_order("1Vr", table, COUNT(table), -1);
	one_key(&t, "1V");
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

	one_key(&t, spec);
	got = key_of(&t, record, n, &ngot);
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

/* Random texts, made of what a kind is made of. */

typedef struct alphabet {
	char letter;            /* of the kind as -k spells it */
	const char *bytes[3];   /* NULL: any byte */
} alphabet;

static const alphabet alphabets[] = {
	{ '\0', { "ab \t\001\002", NULL, "abcABC, \t-" } },
	{ 'n', { "0123456789.- 00", "019.-, \t5", "-.0 1x" } },
	{ 'h', { "0123.-KkMGTPEZYRi 0", "01.-KM ", NULL } },
	{ 'g', { "0123456789.eE-+ ", "01xXpP.aF-+ e", "nNaAinfINFity-1 \v\f" } },
	{ 'M', { "JANFEBjanfebMarAPRaprMAYmay decDECocT sep \t", "janfe \t", NULL } },
	{ 'V', { "a0.~", "aB01.~-", NULL } },
};

#define KINDS COUNT(alphabets)
#define TEXT_MAX 3000   /* bytes, more than most have */
#define LINE_MAX (4 * (TEXT_MAX + 4))

static size_t random_general(test_rng *rng, char *out)
{
	static const char *const words[] = {
		"inf", "-inf", "infinity", "0x", "0x1p", "1e", "1e+5", "1e-4950", "1e4932", "1e5000", "18446744073709551616",
		"18446744073709551615", "0.1", "3.14159", "1e-4940", ".5", "0x.8p1", "1e27", "1e28", "123e-27", "1e-310",
		"0x1.ffffffffffffffffp0", "0x1p-16445", "9007199254740993", "-1e308", "1e309", "0x1p-1074",
	};
	static const char *const before[] = { "", "", "", " ", "-", "+", "0" };
	static const char *const after[] = { "", "", "", "0", "1", "e1", " 1", "x", "." };

	return (size_t)snprintf(out, TEXT_MAX, "%s%s%s", before[test_below(rng, COUNT(before))], words[test_below(rng, COUNT(words))],
				after[test_below(rng, COUNT(after))]);
}

static size_t random_text(test_rng *rng, const alphabet *a, char *out)
{
	static const size_t most[] = { 1, 2, 3, 4, 5, 7, 9, 13, 21, 41 };
	const char *const bytes = a->bytes[test_below(rng, 3)];
	size_t n = (size_t)test_below(rng, most[test_below(rng, COUNT(most))]), i;

	if (a->letter == 'g' && test_below(rng, 5) < 2)
		return random_general(rng, out);
	for (i = 0; i < n; i++)
		out[i] = bytes != NULL ? bytes[test_below(rng, strlen(bytes))] : (char)test_below(rng, 256);
	/* Now and then many digits. */
	if (bytes != NULL && test_below(rng, 100) == 0)
		for (; n < TEXT_MAX - test_below(rng, TEXT_MAX); n++)
			out[n] = test_below(rng, 20) != 0 ? '0' : (char)('0' + test_below(rng, 10));
	return n;
}

/* The letters of a key at its start, the kind's last, or at its end. */
static void random_letters(test_rng *rng, const alphabet *a, int start, char *out)
{
	const int bytes = a->letter == '\0' || a->letter == 'V';

	if (test_below(rng, 10) < 3)
		*out++ = 'b';
	if (test_below(rng, 4) == 0)
		*out++ = 'r';
	if (test_below(rng, 10) < 3)
		*out++ = 'f';
	if (bytes && test_below(rng, 4) == 0)
		*out++ = 'd';
	if (bytes && test_below(rng, 4) == 0)
		*out++ = 'i';
	if (start)
		*out++ = a->letter;
	*out = '\0';
}

static void random_spec(test_rng *rng, const alphabet *a, char *out)
{
	static const int fields[] = { 1, 1, 1, 2, 2, 3, 4 }, chars[] = { 1, 2, 3, 5, 9 };
	char letters[16];

	random_letters(rng, a, 1, letters);
	out += sprintf(out, "%d", fields[test_below(rng, COUNT(fields))]);
	if (test_below(rng, 5) < 2)
		out += sprintf(out, ".%d", chars[test_below(rng, COUNT(chars))]);
	out += sprintf(out, "%s", letters);
	if (test_below(rng, 5) < 2)
		return;
	random_letters(rng, a, 0, letters);
	out += sprintf(out, ",%d", fields[test_below(rng, COUNT(fields))]);
	if (test_below(rng, 2) == 0)
		out += sprintf(out, ".%d", chars[test_below(rng, COUNT(chars))] - 1);
	sprintf(out, "%s", letters);
}

/* Keys, and what the records are made of. */
typedef struct setup {
	text *t;
	char spec[KEYS_MAX][48];        /* -k... */
	const alphabet *alphabet[KEYS_MAX];
	int delimiter;
} setup;

/* Up to three keys of a kind, or of any when it is KINDS. */
static void random_setup(test_rng *rng, size_t kind, text *t, setup *s)
{
	static const int separators[] = { BLANKS, BLANKS, 'b', ',', ' ', '-', '\0', '0', 0xff };
	const uint64_t n = test_below(rng, 5), keys = n < 3 ? 1 : n - 1;
	size_t i;

	memset(s, 0, sizeof(*s));
	memset(t, 0, sizeof(*t));
	s->t = t;
	s->delimiter = test_below(rng, 3) == 0 ? '\0' : '\n';
	for (i = 0; i < keys; i++) {
		s->alphabet[i] = &alphabets[kind < KINDS ? kind : test_below(rng, KINDS)];
		strcpy(s->spec[i], "-k");
		random_spec(rng, s->alphabet[i], s->spec[i] + 2);
		parse(s->t, BLANKS, s->spec[i] + 2);
	}
	s->t->text.separator = (uint32_t)separators[test_below(rng, COUNT(separators))];
}

static int has_kind(const setup *s, char letter)
{
	uint32_t i;

	for (i = 0; i < s->t->text.n; i++)
		if (s->alphabet[i]->letter == letter)
			return 1;
	return 0;
}

/* Replace what GNU sort reads as nobody could mean. */
static void avoid(const setup *s, unsigned char *p, size_t n)
{
	const int number = has_kind(s, 'n') || has_kind(s, 'h'), general = has_kind(s, 'g');
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == s->delimiter)
			p[i] = 1;
		if (number && p[i] == 0x80)
			p[i] = 0x81;
		if (general && i >= 2 && (p[i] | 0x20) == 'n' && (p[i - 1] | 0x20) == 'a' && (p[i - 2] | 0x20) == 'n')
			p[i] = 'b';
	}
}

static void random_item(test_rng *rng, const setup *s, size_t place, item *x)
{
	static const char *const blanks[] = { " ", "\t", "  " };
	static const int counts[] = { 0, 1, 1, 1, 2, 3, 4 };
	char line[LINE_MAX];
	const int fields = counts[test_below(rng, COUNT(counts))];
	size_t n = 0;
	int i;

	for (i = 0; i < fields; i++) {
		const uint64_t pick = test_below(rng, 2 * s->t->text.n + 1);

		if (i > 0 && s->t->text.separator == BLANKS)
			n += (size_t)sprintf(line + n, "%s", blanks[test_below(rng, 3)]);
		else if (i > 0)
			line[n++] = (char)s->t->text.separator;
		n += random_text(rng, pick < 2 * s->t->text.n ? s->alphabet[pick / 2] : &alphabets[0], line + n);
	}
	avoid(s, (unsigned char *)line, n);
	x->record = malloc(n != 0 ? n : 1);
	assert_non_null(x->record);
	memcpy(x->record, line, n);
	x->n = n;
	x->place = place;
	x->key = key_of(s->t, x->record, n, &x->nkey);
}

static void free_items(item *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(x[i].record);
		free(x[i].key);
	}
}

static int by_key(const void *x, const void *y)
{
	const item *const a = x, *const b = y;
	int c = compare(a->key, a->nkey, b->key, b->nkey);

	if (c == -2)
		return a->nkey < b->nkey ? -1 : 1;
	return c != 0 ? c : (a->place > b->place) - (a->place < b->place);
}

static void write_items(const char *path, const item *x, size_t n, int delimiter)
{
	FILE *f = fopen(path, "wb");
	size_t i;

	assert_non_null(f);
	for (i = 0; i < n; i++) {
		assert_true(x[i].n == 0 || fwrite(x[i].record, 1, x[i].n, f) == x[i].n);
		assert_true(fputc(delimiter, f) == delimiter);
	}
	assert_int_equal(fclose(f), 0);
}

static void run_sort(const setup *s, char *in, char *out)
{
	char sort[] = "sort", stable[] = "-s", to[] = "-o", nul[] = "-z", t[8] = "-t\\0";
	char spec[KEYS_MAX][48];
	char *argv[16] = { sort, stable, to, out, in };
	size_t n = 5, i;

	if (s->delimiter == '\0')
		argv[n++] = nul;
	if (s->t->text.separator != BLANKS) {
		if (s->t->text.separator != '\0') {
			t[2] = (char)s->t->text.separator;
			t[3] = '\0';
		}
		argv[n++] = t;
	}
	memcpy(spec, s->spec, sizeof(spec));
	for (i = 0; i < s->t->text.n; i++)
		argv[n++] = spec[i];
	assert_int_equal(gnu_sort(argv, NULL), 0);
}

/* The records, in our order, are what GNU sort wrote. */
static void check_sorted(const setup *s, const item *x, size_t n, const char *sorted, size_t bytes)
{
	size_t i, at = 0;
	uint32_t k;

	for (i = 0; i < n; at += x[i++].n + 1) {
		if (bytes - at > x[i].n && memcmp(sorted + at, x[i].record, x[i].n) == 0 && sorted[at + x[i].n] == s->delimiter)
			continue;
		for (k = 0; k < s->t->text.n; k++)
			print_error("%s ", s->spec[k]);
		fail_msg("separator %u: at %zu GNU sort has '%.*s', not '%.*s'", (unsigned)s->t->text.separator, i,
			 (int)(bytes - at < 60 ? bytes - at : 60), sorted + at, (int)(x[i].n < 60 ? x[i].n : 60),
			 (const char *)x[i].record);
	}
	assert_true(at == bytes);
}

static void check_as_gnu(size_t kind, int rounds)
{
	enum { RECORDS = 200 };
	test_rng rng = test_rng_make(test_seed() + kind);
	char *const dir = test_dir_make(), *const in = test_path(dir, "in"), *const out = test_path(dir, "out");
	item x[RECORDS];
	char *sorted;
	size_t n, i, bytes;
	setup s;
	text t;

	for (; rounds > 0; rounds--) {
		random_setup(&rng, kind, &t, &s);
		n = 1 + (size_t)test_below(&rng, RECORDS);
		for (i = 0; i < n; i++)
			random_item(&rng, &s, i, &x[i]);
		write_items(in, x, n, s.delimiter);
		run_sort(&s, in, out);
		sorted = read_file(out, &bytes);
		qsort(x, n, sizeof(x[0]), by_key);
		check_sorted(&s, x, n, sorted, bytes);
		/* Were one key a beginning of another, all between them would begin with it. */
		for (i = 1; i < n; i++)
			assert_true(compare(x[i - 1].key, x[i - 1].nkey, x[i].key, x[i].nkey) != -2);
		free(sorted);
		free_items(x, n);
	}
	free(in);
	free(out);
	test_dir_remove(dir);
}

/* Does sort have long doubles of as many bits?  Under an emulator it may be that of another machine. */
static int same_long_double(void)
{
	static const int bits[] = { 53, 60, 80, 106 };
	char sort[] = "sort", g[] = "-g", quiet[] = "-C", unique[] = "-u", pair[128];
	char *const dir = test_dir_make(), *const in = test_path(dir, "in");
	char *const argv[] = { sort, g, quiet, unique, in, NULL };
	int same = 1;
	size_t i;

	for (i = 0; i < COUNT(bits); i++) {
		snprintf(pair, sizeof(pair), "1\n0x1.%0*dp0\n", bits[i] / 4 + 1, 1);
		write_file(in, pair, strlen(pair));
		same &= (gnu_sort(argv, NULL) == 0) == (LDBL_MANT_DIG > bits[i] / 4 * 4 + 4);
	}
	free(in);
	test_dir_remove(dir);
	return same;
}

#define ROUNDS 40

static void test_gnu_bytes(void **state)
{
	(void)state;
	if (!gnu_sort_found())
		skip();
	check_as_gnu(0, ROUNDS);
}

static void test_gnu_numeric(void **state)
{
	(void)state;
	if (!gnu_sort_found())
		skip();
	check_as_gnu(1, ROUNDS);
}

static void test_gnu_human(void **state)
{
	(void)state;
	if (!gnu_sort_found())
		skip();
	check_as_gnu(2, ROUNDS);
}

static void test_gnu_general(void **state)
{
	(void)state;
	if (!gnu_sort_found() || !same_long_double())
		skip();
	check_as_gnu(3, ROUNDS);
}

static void test_gnu_month(void **state)
{
	(void)state;
	if (!gnu_sort_found())
		skip();
	check_as_gnu(4, ROUNDS / 2);
}

static void test_gnu_version(void **state)
{
	(void)state;
	if (!gnu_sort_found())
		skip();
	check_as_gnu(5, ROUNDS);
}

static void test_gnu_mixed(void **state)
{
	(void)state;
	if (!gnu_sort_found() || !same_long_double())
		skip();
	check_as_gnu(KINDS, 2 * ROUNDS);
}

/* What is written stays within its room, what is there is left alone, and how long a key is does not depend on it. */
static void check_room(const text *t, const item *x, size_t room)
{
	enum { FRONT = 3, BEHIND = 16, FILL = 0xa5 };
	unsigned char *const all = malloc(FRONT + room + BEHIND);
	size_t i;

	assert_non_null(all);
	memset(all, FILL, FRONT + room + BEHIND);
	assert_true(emi_text_key(&t->text, x->record, x->n, all + FRONT, room) == x->nkey);
	for (i = 0; i < FRONT; i++)
		assert_int_equal(all[i], FILL);
	for (i = 0; i < BEHIND; i++)
		assert_int_equal(all[FRONT + room + i], FILL);
	if (room >= x->nkey)
		assert_memory_equal(all + FRONT, x->key, x->nkey);
	free(all);
}

static void test_room(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	size_t room, most;
	setup s;
	text t;
	item x;
	int i;

	(void)state;
	for (i = 0; i < 3000; i++) {
		random_setup(&rng, (size_t)test_below(&rng, KINDS + 1), &t, &s);
		random_item(&rng, &s, 0, &x);
		most = x.nkey < 100 ? x.nkey : 100;
		for (room = 0; room <= most; room++)
			check_room(s.t, &x, room);
		check_room(s.t, &x, (size_t)test_below(&rng, x.nkey + 1));
		check_room(s.t, &x, x.nkey - (x.nkey > 0));
		check_room(s.t, &x, x.nkey + 1 + (size_t)test_below(&rng, 20));
		free_items(&x, 1);
	}
}

/* Any bytes, of any length, also those that GNU sort takes for something else: a key is what its keys are one by one, and reversed ones
 * are the same bytes inverted. */
static void test_any_bytes(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned char *record, *key, *part;
	size_t n, nkey, npart, at, i;
	int round;
	setup s;
	text all, t;
	uint32_t k;

	(void)state;
	for (round = 0; round < 3000; round++) {
		random_setup(&rng, KINDS, &all, &s);
		n = (size_t)test_below(&rng, test_below(&rng, 20) == 0 ? 5000 : 30);
		record = malloc(n != 0 ? n : 1);
		assert_non_null(record);
		test_fill(&rng, record, n);
		key = key_of(s.t, record, n, &nkey);
		for (k = 0, at = 0; k < s.t->text.n; k++, at += npart) {
			t = all;
			t.text.n = 1;
			t.text.key[0] = s.t->text.key[k];
			t.text.key[0].flags ^= EM_TEXT_REVERSE;
			part = key_of(&t, record, n, &npart);
			assert_true(npart > 0 && npart <= nkey - at);
			for (i = 0; i < npart; i++)
				assert_int_equal(key[at + i], part[i] ^ 0xff);
			free(part);
		}
		assert_true(at == nkey);
		free(key);
		free(record);
	}
}

/* No record is an empty one, and no keys are no bytes. */
static void test_nothing(void **state)
{
	unsigned char byte = 0xa5;
	size_t n, nkey, i;
	unsigned char *key;
	text t;

	(void)state;
	for (i = 0; i < KINDS; i++) {
		char spec[8] = "2.2b";

		spec[4] = alphabets[i].letter;
		one_key(&t, spec);
		key = key_of(&t, "", 0, &nkey);
		n = emi_text_key(&t.text, NULL, 0, NULL, 0);
		assert_int_equal(n, nkey);
		free(key);
	}
	memset(&t, 0, sizeof(t));
	t.text.separator = BLANKS;
	assert_int_equal(emi_text_key(&t.text, (const unsigned char *)"abc", 3, &byte, 1), 0);
	assert_int_equal(byte, 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),        cmocka_unit_test(test_numeric),      cmocka_unit_test(test_human),
		cmocka_unit_test(test_month),        cmocka_unit_test(test_general),      cmocka_unit_test(test_version),
		cmocka_unit_test(test_long_numeric), cmocka_unit_test(test_long_general), cmocka_unit_test(test_locale),
		cmocka_unit_test(test_written),      cmocka_unit_test(test_gnu_bytes),    cmocka_unit_test(test_gnu_numeric),
		cmocka_unit_test(test_gnu_human),    cmocka_unit_test(test_gnu_general),  cmocka_unit_test(test_gnu_month),
		cmocka_unit_test(test_gnu_version),  cmocka_unit_test(test_gnu_mixed),    cmocka_unit_test(test_room),
		cmocka_unit_test(test_any_bytes),    cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
