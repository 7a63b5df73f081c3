/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_text_key_gnu.c -- normalised keys of random texts, of which GNU sort must think the same, in room that may be
 * too small.
 *
 * Of what GNU sort 9.1 does, some things are left out of the comparison: the order of NaNs among each other, which
 * depends on bytes that nobody sets; the byte 0x80 in numbers, which it takes for a separator of thousands; and what is
 * otherwise from 9.2 on, which are the suffixes R and Q, and names that are nothing but a suffix.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/gnu_version.h"
#include "gnu_sort.h"
#include "text_key_model.h"

/* A record and its key. */
typedef struct item {
	unsigned char *record;
	size_t n;
	unsigned char *key;
	size_t nkey;
	size_t place;           /* in the input */
} item;

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
		"inf", "-inf", "infinity", "0x", "0x1p", "1e", "1e+5", "1e-4950", "1e4932", "1e5000",
		"18446744073709551616", "18446744073709551615", "0.1", "3.14159", "1e-4940", ".5", "0x.8p1", "1e27",
		"1e28", "123e-27", "1e-310", "0x1.ffffffffffffffffp0", "0x1p-16445", "9007199254740993", "-1e308",
		"1e309", "0x1p-1074",
	};
	static const char *const before[] = { "", "", "", " ", "-", "+", "0" };
	static const char *const after[] = { "", "", "", "0", "1", "e1", " 1", "x", "." };

	return (size_t)snprintf(out, TEXT_MAX, "%s%s%s", before[test_below(rng, COUNT(before))],
				words[test_below(rng, COUNT(words))], after[test_below(rng, COUNT(after))]);
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
	int version;                    /* of GNU sort */
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
	s->version = GNU_9_2;
	s->delimiter = test_below(rng, 3) == 0 ? '\0' : '\n';
	for (i = 0; i < keys; i++) {
		s->alphabet[i] = &alphabets[kind < KINDS ? kind : test_below(rng, KINDS)];
		strcpy(s->spec[i], "-k");
		random_spec(rng, s->alphabet[i], s->spec[i] + 2);
		text_add_key(s->t, BLANKS, s->spec[i] + 2);
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

/* Names that begin with a '.' may be nothing but a suffix: let them begin otherwise. */
static void avoid_suffixes(const setup *s, unsigned char *p, size_t n)
{
	size_t begin, end;
	uint32_t k;

	for (k = 0; k < s->t->text.n; k++) {
		if (s->t->text.key[k].kind != EM_TEXT_VERSION)
			continue;
		emi_text_find(&s->t->text, &s->t->text.key[k], p, n, &begin, &end);
		/* What does not print may not count. */
		while (begin < end && (p[begin] < ' ' || p[begin] > '~'))
			begin++;
		if (begin < end && p[begin] == '.')
			p[begin] = 'c';
	}
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
		if (s->version < GNU_9_2 && has_kind(s, 'h') && ((p[i] | 0x20) == 'r' || (p[i] | 0x20) == 'q'))
			p[i] = 'i';
		if (general && i >= 2 && (p[i] | 0x20) == 'n' && (p[i - 1] | 0x20) == 'a' && (p[i - 2] | 0x20) == 'n')
			p[i] = 'b';
	}
	if (s->version < GNU_9_2)
		avoid_suffixes(s, p, n);
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
	x->key = text_key_of(s->t, x->record, n, &x->nkey);
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
	int c = text_compare_keys(a->key, a->nkey, b->key, b->nkey);

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
		if (bytes - at > x[i].n && memcmp(sorted + at, x[i].record, x[i].n) == 0 &&
		    sorted[at + x[i].n] == s->delimiter)
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
	const int version = gnu_version("sort");
	test_rng rng = test_rng_make(test_seed() + kind);
	char *const dir = test_dir_make(), *const in = test_path(dir, "in"), *const out = test_path(dir, "out");
	item x[RECORDS];
	char *sorted;
	size_t n, i, bytes;
	setup s;
	text t;

	for (; rounds > 0; rounds--) {
		random_setup(&rng, kind, &t, &s);
		s.version = version;
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
			assert_true(text_compare_keys(x[i - 1].key, x[i - 1].nkey, x[i].key, x[i].nkey) != -2);
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
	if (!gnu_version("sort"))
		skip();
	check_as_gnu(0, ROUNDS);
}

static void test_gnu_numeric(void **state)
{
	(void)state;
	if (!gnu_version("sort"))
		skip();
	check_as_gnu(1, ROUNDS);
}

static void test_gnu_human(void **state)
{
	(void)state;
	if (!gnu_version("sort"))
		skip();
	check_as_gnu(2, ROUNDS);
}

static void test_gnu_general(void **state)
{
	(void)state;
	if (!gnu_version("sort") || !same_long_double())
		skip();
	check_as_gnu(3, ROUNDS);
}

static void test_gnu_month(void **state)
{
	(void)state;
	if (!gnu_version("sort"))
		skip();
	check_as_gnu(4, ROUNDS / 2);
}

static void test_gnu_version(void **state)
{
	(void)state;
	if (!gnu_version("sort"))
		skip();
	check_as_gnu(5, ROUNDS);
}

static void test_gnu_mixed(void **state)
{
	(void)state;
	if (!gnu_version("sort") || !same_long_double())
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

/* Any bytes, of any length, also those that GNU sort takes for something else: a key is what its keys are one by one,
 * and reversed ones are the same bytes inverted. */
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
		key = text_key_of(s.t, record, n, &nkey);
		for (k = 0, at = 0; k < s.t->text.n; k++, at += npart) {
			t = all;
			t.text.n = 1;
			t.text.key[0] = s.t->text.key[k];
			t.text.key[0].flags ^= EM_TEXT_REVERSE;
			part = text_key_of(&t, record, n, &npart);
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
		text_one_key(&t, spec);
		key = text_key_of(&t, "", 0, &nkey);
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
		cmocka_unit_test(test_gnu_bytes),
		cmocka_unit_test(test_gnu_numeric),
		cmocka_unit_test(test_gnu_human),
		cmocka_unit_test(test_gnu_general),
		cmocka_unit_test(test_gnu_month),
		cmocka_unit_test(test_gnu_version),
		cmocka_unit_test(test_gnu_mixed),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests_name("text_key_gnu", tests, NULL, NULL);
}
