/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu_texts.c -- random and adversarial texts to compare sorts with.
 *
 * A line is a few items, each of some kind, with separators between them; all lines of a text have items of the same
 * few kinds, so that keys of neighbours have to be compared in earnest.  Some lines repeat earlier ones.  A text may be
 * put in order, or the other way round, before it is written.
 *
 * Two things are left out, with which GNU sort 9.1 does what nobody could mean.  NaNs: it orders them among each other
 * by the bytes of a long double, of which some are never set.  The byte 0x80: in the C locale it takes it for the
 * separator of thousands with -h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gnu_texts.h"

#define LINES_MOST 4000
#define LONG_MOST ((size_t)1 << 20)

enum { ITEM_GARBAGE, ITEM_FEW, ITEM_LETTERS, ITEM_NUMBER, ITEM_GENERAL, ITEM_HUMAN, ITEM_MONTH, ITEM_VERSION,
       ITEM_PREFIX, ITEM_UTF8, ITEM_EMPTY, ITEM_KINDS };

typedef struct line {
	size_t at, n;
} line;

typedef struct builder {
	test_rng *rng;
	char *data;
	size_t bytes, room;
	line line[LINES_MOST];
	size_t n;
	unsigned seed;          /* of the prefix that items share */
} builder;

static void add(builder *b, const void *p, size_t n)
{
	if (b->room - b->bytes < n) {
		b->room = 2 * b->room + n + 4096;
		b->data = realloc(b->data, b->room);
		assert_non_null(b->data);
	}
	if (n)
		memcpy(b->data + b->bytes, p, n);
	b->bytes += n;
}

static void add_char(builder *b, int c)
{
	const char ch = (char)c;

	add(b, &ch, 1);
}

static void add_string(builder *b, const char *s)
{
	add(b, s, strlen(s));
}

static uint64_t below(builder *b, uint64_t n)
{
	return test_below(b->rng, n);
}

static void add_from(builder *b, const char *set, size_t least, size_t most)
{
	const size_t choices = strlen(set);
	size_t n = least + (size_t)below(b, most - least + 1);

	while (n--)
		add_char(b, set[below(b, choices)]);
}

static void add_word(builder *b, const char *const *words, size_t n)
{
	add_string(b, words[below(b, n)]);
}

#define WORDS(b, list) add_word(b, list, sizeof(list) / sizeof((list)[0]))

static void add_garbage(builder *b)
{
	size_t n = (size_t)below(b, 20);

	int c;

	while (n--) {
		c = (int)below(b, 256);
		add_char(b, c == 0x80 ? 0x81 : c);
	}
}

static void add_number(builder *b)
{
	static const char *const odd[] = { "", "-", ".", "-.", "-0", "0", "00", "-0.0", "+1", "1.", ".5", "-.5", "1,5",
					   "--1", "- 1", "1e3", "0x10" };
	size_t zeroes;

	if (!below(b, 4)) {
		WORDS(b, odd);
		return;
	}
	add_from(b, " \t", 0, below(b, 4) ? 0 : 3);
	if (!below(b, 3))
		add_char(b, '-');
	for (zeroes = below(b, 5) ? 0 : (size_t)below(b, 12); zeroes; zeroes--)
		add_char(b, '0');
	add_from(b, below(b, 4) ? "0123456789" : "01", 0, below(b, 20) ? 5 : 300);
	if (!below(b, 2)) {
		add_char(b, '.');
		add_from(b, below(b, 2) ? "0123456789" : "009", 0, below(b, 20) ? 4 : 100);
	}
	if (!below(b, 6))
		add_from(b, "xK%., ", 1, 2);
}

static void add_general(builder *b)
{
	static const char *const odd[] = { "inf", "-inf", "infinity", "INF", "in", "1e", "1e+", "1e400", "-1e400",
					   "1e5000", "1e-5000", "0x1p4", "0x.8", "0X1P-3", "0x", "1e-400", "+1.5e3",
					   "-0", "0", "-0e7", "x", "" };

	if (!below(b, 3)) {
		WORDS(b, odd);
		return;
	}
	add_from(b, "+-", 0, 1);
	add_from(b, "0123456789", 1, 4);
	if (!below(b, 2)) {
		add_char(b, '.');
		add_from(b, "0123456789", 0, 20);
	}
	if (below(b, 2)) {
		add_from(b, "eE", 1, 1);
		add_from(b, "+-", 0, 1);
		add_from(b, "0123456789", 1, 3);
	}
}

static void add_human(builder *b)
{
	add_number(b);
	add_from(b, "kKMGTPEZYRQBi", 0, 2);
}

static void add_month(builder *b)
{
	static const char *const month[] = { "jan", "FEB", "Mar", "apr", "may", "JUN", "July", "august", "sep", "Oct",
					     "november", "DECx", "ja", "foo", "", "j an", "MAYOR", "Sept" };

	add_from(b, " \t", 0, below(b, 3) ? 0 : 2);
	WORDS(b, month);
}

static void add_version(builder *b)
{
	static const char *const odd[] = { ".", "..", "", ".a", ".a.b", "~", "a~", "a~1", "a", "a.tar.gz", ".tar",
					   "1.~1~", "00", "0" };
	static const char *const extension[] = { ".tar.gz", ".c", ".txt", "~", ".~1~", ".1", ".a1", ".tgz~", ".7z",
						 "." };

	if (!below(b, 6)) {
		WORDS(b, odd);
		return;
	}
	add_from(b, "ab.-+_", 0, 3);
	add_from(b, "0123456789", 0, 3);
	if (below(b, 2)) {
		add_from(b, ".-~a:", 1, 1);
		add_from(b, "0019", 0, below(b, 20) ? 3 : 60);
	}
	if (below(b, 2))
		WORDS(b, extension);
}

/* What begins the same up to around a multiple of 8. */
static void add_prefix(builder *b)
{
	static const char *const tail[] = { "", "a", "b", "\x01", "\xff", "aa", "\xff\xff" };
	size_t n = 8 * (size_t)below(b, below(b, 20) ? 6 : 60) + (size_t)below(b, 3), i;

	for (i = 1; i < n; i++)
		add_char(b, 'a' + (int)(i * b->seed >> 3) % 3);
	if (!below(b, 5))
		add_char(b, 0);
	WORDS(b, tail);
}

static void add_utf8(builder *b)
{
	static const char *const piece[] = { "\xc3\xa4", "\xc3\x84", "\xe2\x82\xac", "\xf0\x9f\x98\x81", "a", "Z", "\r",
					     " ", "\xcc\x88", "\xc3" };
	size_t n = (size_t)below(b, 6);

	while (n--)
		WORDS(b, piece);
}

static void add_item(builder *b, int kind)
{
	switch (kind) {
	case ITEM_GARBAGE: add_garbage(b); break;
	case ITEM_FEW: add_from(b, "ab", 0, 2); break;
	case ITEM_LETTERS: add_from(b, "aAbBzZ09_-. \t\r\x7f", 0, 12); break;
	case ITEM_NUMBER: add_number(b); break;
	case ITEM_GENERAL: add_general(b); break;
	case ITEM_HUMAN: add_human(b); break;
	case ITEM_MONTH: add_month(b); break;
	case ITEM_VERSION: add_version(b); break;
	case ITEM_PREFIX: add_prefix(b); break;
	case ITEM_UTF8: add_utf8(b); break;
	default: break;
	}
}

static void add_long(builder *b)
{
	size_t n = (size_t)below(b, LONG_MOST);
	const int c = 'a' + (int)below(b, 2);

	while (n--)
		add_char(b, c);
}

static void add_line(builder *b, const int *kind, size_t kinds, int separator, int long_lines)
{
	size_t fields = below(b, 4) ? 1 + (size_t)below(b, 5) : kinds, i;

	for (i = 0; i < fields; i++) {
		if (i && separator >= 0 && below(b, 20))
			add_char(b, separator);
		else if (i)
			add_from(b, below(b, 8) ? " " : " \t", 1, below(b, 3) ? 1 : 3);
		add_item(b, kind[i % kinds]);
	}
	if (long_lines && !below(b, 4))
		add_long(b);
}

/* Compare lines of what, the builder, as bytes.  Where all are empty there is no data. */
static int compare(const builder *b, const line *x, const line *y)
{
	const size_t n = x->n < y->n ? x->n : y->n;
	const int order = n ? memcmp(b->data + x->at, b->data + y->at, n) : 0;

	return order ? order : x->n < y->n ? -1 : x->n > y->n;
}

/* Shell's method: qsort() could not be told where the lines are without a global. */
static void arrange(builder *b, int sign)
{
	size_t gap, i, j;
	line l;

	for (gap = b->n / 2; gap; gap /= 2) {
		for (i = gap; i < b->n; i++) {
			l = b->line[i];
			for (j = i; j >= gap && sign * compare(b, &b->line[j - gap], &l) > 0; j -= gap)
				b->line[j] = b->line[j - gap];
			b->line[j] = l;
		}
	}
}

static size_t how_many(builder *b)
{
	switch (below(b, 8)) {
	case 0: return (size_t)below(b, 3);
	case 1: return (size_t)below(b, LINES_MOST);
	case 2:
	case 3: return (size_t)below(b, 400);
	default: return (size_t)below(b, 60);
	}
}

void gnu_text_make(gnu_text *t, test_rng *rng, int delimiter, int separator)
{
	builder *b = calloc(1, sizeof(*b));
	size_t kinds, n, i, repeats;
	int kind[4];
	char *p;

	assert_non_null(b);
	b->rng = rng;
	b->seed = 1 + (unsigned)below(b, 100);
	kinds = 1 + (size_t)below(b, 4);
	for (i = 0; i < kinds; i++)
		kind[i] = (int)below(b, ITEM_KINDS);
	t->long_lines = !below(b, 40);
	n = t->long_lines ? (size_t)below(b, 24) : how_many(b);
	repeats = below(b, 2) ? 0 : 1 + (size_t)below(b, 9);
	for (i = 0; i < n; i++) {
		line *l = &b->line[i];

		if (i && below(b, 10) < repeats) {
			*l = b->line[below(b, i)];
		} else {
			l->at = b->bytes;
			add_line(b, kind, kinds, separator, t->long_lines);
			l->n = b->bytes - l->at;
		}
	}
	b->n = n;
	if (!below(b, 6))
		arrange(b, below(b, 2) ? 1 : -1);

	for (t->bytes = i = 0; i < n; i++)
		t->bytes += b->line[i].n + 1;
	p = t->data = malloc(t->bytes + 1);
	assert_non_null(t->data);
	for (i = 0; i < n; i++) {
		/* A delimiter within a line makes it two, which is as good.  A line may be empty, and its data none. */
		if (b->line[i].n)
			memcpy(p, b->data + b->line[i].at, b->line[i].n);
		p += b->line[i].n;
		*p++ = (char)delimiter;
	}
	if (n && !below(b, 4))
		t->bytes--;
	free(b->data);
	free(b);
}
