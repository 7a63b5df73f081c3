/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_csv.c -- where the records of a CSV file end, against an automaton that looks at one byte at a time; and fields
 * of keys end where the same automaton says.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/text.h>

#include "common/test.h"
#include "key/text.h"
#include "stream/csv.h"
#include "stream/records.h"

#define MOST 200

static const em_format comma = { sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, ',' };
static const em_format nul = { sizeof(em_format), EM_FORMAT_CSV, '\0', 0, 0, '\t' };
/* Each record is one field. */
static const em_format same = { sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, '\n' };
/* What looks like a byte order mark has separators, or delimiters, in it. */
static const em_format in_mark = { sizeof(em_format), EM_FORMAT_CSV, 0xBF, 0, 0, 0xBB };
static const em_format *const formats[] = { &comma, &nul, &in_mark, &same };
static const unsigned char mark[] = { 0xEF, 0xBB, 0xBF };

/* What is known of n bytes. */
typedef struct facts {
	size_t end[MOST];       /* behind each record */
	size_t records;
	size_t field[MOST];     /* where the fields of the first record begin */
	size_t fields;
	size_t open;            /* where the quote is that is open at the end; SIZE_MAX: none is */
} facts;

/* Does a record that begins at i begin with a byte order mark? */
static int is_mark(const em_format *f, const unsigned char *p, size_t i, size_t n)
{
	return f != &in_mark && n - i >= sizeof(mark) && memcmp(p + i, mark, sizeof(mark)) == 0;
}

static void look(const em_format *f, const unsigned char *p, size_t n, facts *x)
{
	enum { START, PLAIN, QUOTED, QUOTE } state = START;
	size_t i, open = 0, begin = 0;

	memset(x, 0, sizeof(*x));
	x->fields = 1;
	for (i = 0; i < n; i++) {
		const unsigned c = p[i];

		if (i == begin && is_mark(f, p, i, n)) {
			i += sizeof(mark) - 1;
			continue;
		}
		if (state == QUOTED) {
			state = c == '"' ? QUOTE : QUOTED;
		} else if (c == '"' && (state == START || state == QUOTE)) {
			open = state == START ? i : open;
			state = QUOTED;
		} else if (c == f->delimiter) {
			x->end[x->records++] = begin = i + 1;
			state = START;
		} else if (c == f->separator) {
			if (x->records == 0)
				x->field[x->fields++] = i + 1;
			state = START;
		} else {
			state = PLAIN;
		}
	}
	x->open = state == QUOTED ? open : SIZE_MAX;
}

/* Few different bytes, at the end of a block, so that reading behind it is noticed. */
static unsigned char *random_text(test_rng *rng, const em_format *f, size_t *n)
{
	const char bytes[] = { '"', '"', '"', (char)f->delimiter, (char)f->separator, (char)f->separator, 'a', '\r' };
	unsigned char *p;
	size_t i;

	*n = (size_t)test_below(rng, test_below(rng, 2) ? 12 : MOST);
	p = malloc(*n != 0 ? *n : 1);
	assert_non_null(p);
	for (i = 0; i < *n; i++) {
		const int begins = i == 0 || p[i - 1] == f->delimiter;

		p[i] = (unsigned char)bytes[test_below(rng, test_below(rng, 3) ? sizeof(bytes) : 2)];
		if (*n - i > sizeof(mark) && test_below(rng, begins ? 3 : 20) == 0) {
			memcpy(p + i, mark, sizeof(mark));
			i += sizeof(mark) - (test_below(rng, 8) ? 1 : 2);
		}
	}
	return p;
}

/* The first end, looked for in pieces of any size. */
static size_t first_end(test_rng *rng, const em_format *f, const unsigned char *p, size_t n, size_t piece, int *state)
{
	size_t at, some;

	*state = EMI_CSV_START;
	for (at = 0; at < n; at += some) {
		const unsigned char *end;

		some = piece != 0 ? piece : 1 + (size_t)test_below(rng, 9);
		some = some < n - at ? some : n - at;
		end = emi_csv_first(f, state, p + at, p + at + some);
		if (end != NULL)
			return (size_t)(end - p);
	}
	return 0;
}

static void test_ends(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 100000; round++) {
		const em_format *f = formats[round % 4];
		const unsigned char *open = NULL, *last, *at;
		size_t n, i, bytes;
		unsigned char *p = random_text(&rng, f, &n);
		int how;
		facts x;

		look(f, p, n, &x);
		assert_int_equal(first_end(&rng, f, p, n, n + 1, &how), x.records != 0 ? x.end[0] : 0);
		assert_int_equal(how == EMI_CSV_QUOTED, x.records == 0 && x.open != SIZE_MAX);
		assert_int_equal(first_end(&rng, f, p, n, 1, &how), x.records != 0 ? x.end[0] : 0);
		assert_int_equal(first_end(&rng, f, p, n, 0, &how), x.records != 0 ? x.end[0] : 0);
		last = emi_csv_last(f, p, p + n, &open);
		assert_int_equal(last != NULL ? (size_t)(last - p) : 0, x.records != 0 ? x.end[x.records - 1] : 0);
		assert_int_equal(open != NULL ? (size_t)(open - p) : SIZE_MAX, x.open);
		for (i = 0, at = p; i < x.records; i++) {
			const unsigned char *record = emi_record_take(f, &at, p + n, &bytes);

			assert_int_equal(record - p, i != 0 ? x.end[i - 1] : 0);
			assert_int_equal(at - p, x.end[i]);
			assert_int_equal(bytes, (size_t)(at - record) - 1);
		}
		free(p);
	}
}

/* Fields of keys are those whose ends do not end records. */
static void test_fields(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	for (round = 0; round < 50000; round++) {
		const em_format *f = formats[round % 3];
		size_t n, i, begin, end;
		unsigned char *p = random_text(&rng, f, &n);
		em_text_key key = { 1, 1, 1, 0, EM_TEXT_BYTES, 0, { 0 } };
		emi_text t;
		facts x;

		memset(&t, 0, sizeof(t));
		t.flags = EM_TEXT_CSV;
		t.separator = f->separator;
		look(f, p, n, &x);
		n = x.records != 0 ? x.end[0] - 1 : n;
		for (i = 0; i < x.fields; i++) {
			key.first_field = key.last_field = i + 1;
			emi_text_find(&t, &key, p, n, &begin, &end);
			assert_int_equal(begin, x.field[i]);
			assert_int_equal(end, i + 1 < x.fields ? x.field[i + 1] - 1 : n);
		}
		free(p);
	}
}

static void test_lines(void **state)
{
	static const unsigned char text[] = "a\n\"\n\n\"\nb";

	(void)state;
	assert_int_equal(emi_csv_lines(&comma, text, text), 0);
	assert_int_equal(emi_csv_lines(&comma, text, text + sizeof(text) - 1), 4);
	assert_int_equal(emi_csv_lines(&nul, text, text + sizeof(text)), 1);
	assert_int_equal(emi_records_count(&comma, text, text + 7), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
