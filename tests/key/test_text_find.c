/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_text_find.c -- where keys are: a table of cases, and random records against a model that takes the record apart
 * first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/test.h"
#include "key/text_sink.h"

#define BLANKS EM_TEXT_BLANKS

/* One key, or more, in an emi_text. */
typedef union text {
	emi_text text;
	unsigned char room[sizeof(emi_text) + 8 * sizeof(em_text_key)];
} text;

static void parse(text *t, uint32_t separator, uint32_t flags, const char *spec)
{
	em_errinfo err;

	memset(t, 0, sizeof(*t));
	t->text.n = 1;
	t->text.flags = flags;
	t->text.separator = separator;
	if (em_text_key_parse(&t->text.key[0], NULL, spec, &err) != EM_OK)
		fail_msg("%s: %s", spec, err.text);
}

/* The key that is found is the part between [ and ]; they are not part of the record. */
static void check(uint32_t separator, uint32_t flags, const char *spec, const char *marked)
{
	const char *open = strchr(marked, '['), *close = strchr(marked, ']');
	const size_t n = strlen(marked) - 2;
	unsigned char *record = malloc(n + 1);
	size_t begin, end;
	text t;

	assert_non_null(record);
	assert_true(open != NULL && close != NULL);
	memcpy(record, marked, (size_t)(open - marked));
	memcpy(record + (open - marked), open + 1, (size_t)(close - open - 1));
	memcpy(record + (close - marked) - 1, close + 1, strlen(close));
	record = realloc(record, n != 0 ? n : 1);
	assert_non_null(record);
	parse(&t, separator, flags, spec);
	emi_text_find(&t.text, &t.text.key[0], record, n, &begin, &end);
	if (begin != (size_t)(open - marked) || end != (size_t)(close - marked) - 1)
		fail_msg("-k%s of '%s': found %zu...%zu", spec, marked, begin, end);
	free(record);
}

static void test_blanks(void **state)
{
	(void)state;
	check(BLANKS, 0, "1", "[a b c]");
	check(BLANKS, 0, "1", "[  a b c]");
	check(BLANKS, 0, "1b", "  [a b c]");
	check(BLANKS, 0, "1,1", "[a] b c");
	check(BLANKS, 0, "1,1", "[ \t\n a] b c");
	check(BLANKS, 0, "2", "a[ b c]");
	check(BLANKS, 0, "2b", "a [b c]");
	check(BLANKS, 0, "2b", "a\n\n[b c]");
	check(BLANKS, 0, "2,2", "a[ \t b] c");
	check(BLANKS, 0, "2.2,2", "a [b] c");
	check(BLANKS, 0, "2.2,2.3", "a [bc]d e");
	check(BLANKS, 0, "2b,2.1b", "a   [b]cd e");
	check(BLANKS, 0, "2,2.1", "a[ ]  bcd e");
	check(BLANKS, 0, "2.2b,2.3b", "a   b[cd]e f");
	check(BLANKS, 0, "1.3", "ab[ cd]");
	check(BLANKS, 0, "1.2,1.100", "a[b cd]");
	check(BLANKS, 0, "1.100", "ab cd[]");
	check(BLANKS, 0, "3", "a b[]");
	check(BLANKS, 0, "3,3", "a b[  ]");
	check(BLANKS, 0, "3,4", "a b[ ]");
	check(BLANKS, 0, "2,1", "a[] b");
	check(BLANKS, 0, "2,1.3", "a[ b] c");
	check(BLANKS, 0, "1", "[]");
	check(BLANKS, 0, "7.7b,9.9b", "[]");
	check(BLANKS, 0, "2,2", "a\r[ b]");
}

static void test_separators(void **state)
{
	(void)state;
	check(',', 0, "1", "[a,b,c]");
	check(',', 0, "1,1", "[a],b,c");
	check(',', 0, "2,2", "a,[b],c");
	check(',', 0, "2,3", "a,[b,c],d");
	check(',', 0, "3", "a,b,[c]");
	check(',', 0, "4", "a,b,c[]");
	check(',', 0, "3", "a,b,[]");
	check(',', 0, "1,1", "[],,");
	check(',', 0, "2,2", ",[],");
	check(',', 0, "3,3", ",,[]");
	check(',', 0, "2.2,2.3", "a,b[cd]e,f");
	check(',', 0, "2.2,2.9", "a,b[c,d]");
	check(',', 0, "2.4,2", "a,bc,[]d");
	check(',', 0, "2b,2", "a,  [b ],c");
	check(',', 0, "2,2.2b", "a,[  bc]d");
	check(',', 0, "3,2", "a,b,[]c");
	check(',', 0, "2,18446744073709551615", "a,[b,c]");
	check(',', 0, "18446744073709551615,1", "a,b[]");
	check(' ', 0, "2,2", "a [] b");
	check(',', 0, "2,2", "a0123456789012345678901234567890123456789,[b0123456789012345678901234567890123456789],c");
	/* Quotes mean nothing. */
	check(',', 0, "1,1", "[\"a],b\",c");
}

static void test_csv(void **state)
{
	(void)state;
	check(',', EM_TEXT_CSV, "1,1", "[\"a,b\"],c");
	check(',', EM_TEXT_CSV, "2,2", "\"a,b\",[c],d");
	check(',', EM_TEXT_CSV, "2,2", "\"a\"\",b\",[c],d");
	check(',', EM_TEXT_CSV, "2,2", "\"\"\"\",[c],d");
	check(',', EM_TEXT_CSV, "2,2", "\"\",[c],d");
	check(',', EM_TEXT_CSV, "2,2", "\"a\"b,[c],d");
	check(',', EM_TEXT_CSV, "2,2", "5\",[6\"],d");
	check(',', EM_TEXT_CSV, "2,2", "a,[\"b,c,d]");
	check(',', EM_TEXT_CSV, "2,2", "a,[\"]");
	check(',', EM_TEXT_CSV, "2,2", "a,[\"\"\"]");
	check(',', EM_TEXT_CSV, "3,3", "a,\"\n,\",[x]");
	check(',', EM_TEXT_CSV, "2.2,2.4", "a,\"[b,c]\",d");
	check('"', EM_TEXT_CSV, "2,2", "a\"[b]\"c");
	/* A byte order mark is in front of what opens a field, but only where the record begins. */
	check(',', EM_TEXT_CSV, "1,1", "[\xEF\xBB\xBF\"a,b\"],c");
	check(',', EM_TEXT_CSV, "2,2", "\xEF\xBB\xBF\"a,b\",[c],d");
	check(',', EM_TEXT_CSV, "2,2", "a,[\xEF\xBB\xBF\"b],c\"");
	check(',', EM_TEXT_CSV, "2,2", "\xEF\xBB\"a,[b\"],c");
	check(0xBB, EM_TEXT_CSV, "2,2", "\xEF\xBB[\xBF\"a]\xBB\"b");
	check(',', 0, "2,2", "\xEF\xBB\xBF\"a,[b\"],c");
}

/* What is reported of a number is the number. */
static void test_numbers(void **state)
{
	(void)state;
	check(',', 0, "1,1n", " \t[-1.50]x,2");
	check(',', 0, "1,1n", " [1.],2");
	check(',', 0, "1,1n", " []-,2");
	check(',', 0, "1,1n", "[]-.,2");
	check(',', 0, "1,1n", "[].x,2");
	check(',', 0, "1,1n", "[.5]x,2");
	check(',', 0, "1,1n", "[-00],2");
	check(',', 0, "1,1h", "[1.5K]i,2");
	check(',', 0, "1,1h", "[1]i,2");
	check(',', 0, "1,1h", "[1]m,2");
	check(',', 0, "1,1hf", "[1m]i,2");
	check(',', 0, "1,1h", "[]K,2");
	check(',', 0, "1,1g", " \v[-1e5]e,2");
	check(',', 0, "1,1g", "[0x1.8p3]p,2");
	check(',', 0, "1,1g", "[0]xp3,2");
	check(',', 0, "1,1g", "[+infinity]x,2");
	check(',', 0, "1,1g", "[inf]init,2");
	check(',', 0, "1,1g", "[nan(1)]x,2");
	check(',', 0, "1,1g", "[nan](1,2");
	check(',', 0, "1,1g", "[]-,2");
	check(',', 0, "1,1g", "[]- 1,2");
	check(',', 0, "1,1M", " [jan]uary,2");
	check(',', 0, "1,1M", " []ja,2");
	check(',', 0, "1,1V", "[ 1.0],2");
}

/* The model: all fields of a record first. */
typedef struct fields {
	size_t begin[64];
	size_t end[64];
	size_t n;
} fields;

static int blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static void split(fields *f, uint32_t separator, const unsigned char *p, size_t n)
{
	size_t at = 0;

	f->n = 0;
	if (n == 0)
		return;
	for (;;) {
		f->begin[f->n] = at;
		if (separator == BLANKS) {
			while (at < n && blank(p[at]))
				at++;
			while (at < n && !blank(p[at]))
				at++;
		} else {
			while (at < n && p[at] != separator)
				at++;
		}
		f->end[f->n++] = at;
		if (at == n)
			return;
		if (separator != BLANKS)
			at++;
		if (at == n)
			return;
	}
}

static size_t model_place(const fields *f, const unsigned char *p, size_t n, uint64_t field, uint64_t chars,
			  int skip_blanks)
{
	size_t at = field <= f->n ? f->begin[field - 1] : n;

	if (skip_blanks)
		while (at < n && blank(p[at]))
			at++;
	return chars < n - at ? at + (size_t)chars : n;
}

static void model_find(const em_text_key *k, uint32_t separator, const unsigned char *p, size_t n, size_t *begin,
		       size_t *end)
{
	fields f;

	split(&f, separator, p, n);
	*begin = model_place(&f, p, n, k->first_field, k->first_char - 1, (k->flags & EM_TEXT_SKIP_START) != 0);
	*end = n;
	if (k->last_field != 0 && k->last_char != 0)
		*end = model_place(&f, p, n, k->last_field, k->last_char, (k->flags & EM_TEXT_SKIP_END) != 0);
	else if (k->last_field != 0 && k->last_field <= f.n)
		*end = f.end[k->last_field - 1];
	if (*end < *begin)
		*end = *begin;
}

static uint64_t some(test_rng *rng, uint64_t least)
{
	const uint64_t pick = test_below(rng, 20);

	return pick == 0 ? UINT64_MAX : pick == 1 ? UINT64_MAX - 1 : least + test_below(rng, 5);
}

static void random_key(test_rng *rng, em_text_key *k)
{
	memset(k, 0, sizeof(*k));
	k->first_field = some(rng, 1);
	k->first_char = some(rng, 1);
	k->last_field = some(rng, 0);
	k->last_char = some(rng, 0);
	k->flags = (uint32_t)test_below(rng, 8) & (EM_TEXT_SKIP_START | EM_TEXT_SKIP_END);
}

static void test_as_model(void **state)
{
	static const unsigned char bytes[] = { 'a', 'b', ',', ' ', '\t', '\n', 0, 0xff };
	test_rng rng = test_rng_make(test_seed());
	unsigned char *record;
	em_text_key k;
	size_t n, j, begin, end, model_begin, model_end;
	emi_text_place place;
	text t;
	int i, round;

	(void)state;
	for (round = 0; round < 30000; round++) {
		n = (size_t)test_below(&rng, test_below(&rng, 4) == 0 ? 60 : 12);
		record = malloc(n != 0 ? n : 1);
		assert_non_null(record);
		for (j = 0; j < n; j++)
			record[j] = bytes[test_below(&rng, test_below(&rng, 2) == 0 ? sizeof(bytes) : 4)];
		parse(&t, test_below(&rng, 2) == 0 ? BLANKS : bytes[test_below(&rng, sizeof(bytes))], 0, "1");
		place.field = 1;
		place.at = 0;
		/* Each key alone, and starting from what the one before it left. */
		for (i = 0; i < 4; i++) {
			random_key(&rng, &k);
			model_find(&k, t.text.separator, record, n, &model_begin, &model_end);
			emi_text_find(&t.text, &k, record, n, &begin, &end);
			assert_true(begin == model_begin && end == model_end);
			emi_text_find_from(&t.text, &k, record, n, &begin, &end, &place);
			assert_true(begin == model_begin && end == model_end);
		}
		free(record);
	}
}

static void test_nothing(void **state)
{
	size_t begin = 1, end = 1;
	text t;

	(void)state;
	parse(&t, ',', EM_TEXT_CSV, "1.2b,3.4bn");
	emi_text_find(&t.text, &t.text.key[0], NULL, 0, &begin, &end);
	assert_true(begin == 0 && end == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blanks),  cmocka_unit_test(test_separators), cmocka_unit_test(test_csv),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_as_model),     cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
