/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_find.c -- finding a key in a record by counting fields and characters.
 *
 * A field ends in front of a separator, or, without separators, behind the non-blanks that follow its blanks; then the
 * next one begins behind the separator, or right there.  Characters are counted from where a field begins, or
 * behind its blanks where they are to be skipped, and the count may go on into the following fields, but not past the
 * record's end.  A key that ends before it begins is empty, at its beginning.
 *
 * With EM_TEXT_CSV a field that begins with a double quote goes on at least to the quote that closes it; two in a row
 * stand for one and close nothing.  A quote anywhere else is a byte like others, so that 5" is what it looks like.  A
 * byte order mark in front of a record is passed over to see whether its first field has quotes.
 *
 * Of a number or a month what is reported is the part that is read as one; what is written as key is made from all of
 * it.
 *
 * The keys of an order are mostly in ascending fields.  Each leaves the place of the last field it saw, and the next
 * goes on from there.
 */
#include "key/bom.h"
#include "key/text_sink.h"

/* Short fields are the rule: calling memchr() takes longer than looking at their few bytes. */
#define LOOK 24

/* The first separator at or behind a place, or n. */
EMI_TEXT_INLINE size_t find_byte(const unsigned char *p, size_t at, size_t n, unsigned char c)
{
	const size_t near = n - at > LOOK ? at + LOOK : n;
	const unsigned char *hit;
	uint64_t x;

	for (; near - at >= 8; at += 8) {
		x = emi_text_zero_bytes(emi_text_load8(p + at) ^ EMI_TEXT_EVERY * c);
		if (x != 0)
			return at + emi_text_first_byte(x);
	}
	for (; at < near; at++)
		if (p[at] == c)
			return at;
	if (at == n)
		return n;
	hit = memchr(p + at, c, n - at);
	return hit != NULL ? (size_t)(hit - p) : n;
}

/* Behind the quote that closes the one in front of at, or n. */
static size_t skip_quoted(const unsigned char *p, size_t at, size_t n)
{
	for (;;) {
		at = find_byte(p, at, n, '"');
		if (at == n)
			return n;
		at++;
		if (at == n || p[at] != '"')
			return at;
		at++;
	}
}

static size_t skip_nonblanks(const unsigned char *p, size_t at, size_t n)
{
	while (at < n && !emi_text_is_blank(p[at]))
		at++;
	return at;
}

/* Behind the byte order mark of a record that begins with one, or 0. */
static size_t skip_mark(const unsigned char *p, size_t n, unsigned char separator)
{
	unsigned i;

	for (i = 0; i < EMI_BOM_BYTES; i++)
		if (i == n || !emi_bom_byte(i, p[i], separator))
			return 0;
	return EMI_BOM_BYTES;
}

/* Where plain bytes of the field that begins at a place begin, which may have quotes in front of them. */
static size_t skip_quotes(const unsigned char *p, size_t at, size_t n, unsigned char separator)
{
	const size_t quote = at == 0 ? skip_mark(p, n, separator) : at;

	return quote < n && p[quote] == '"' && separator != '"' ? skip_quoted(p, quote + 1, n) : at;
}

/* Where the field that begins at a place ends. */
static size_t field_end(const emi_text *t, const unsigned char *p, size_t at, size_t n)
{
	const unsigned char separator = (unsigned char)t->separator;

	if (t->separator == EM_TEXT_BLANKS)
		return skip_nonblanks(p, emi_text_skip_blanks(p, at, n), n);
	if ((t->flags & EM_TEXT_CSV) != 0)
		at = skip_quotes(p, at, n, separator);
	return find_byte(p, at, n, separator);
}

/* Where the next field begins, when one ends at a place. */
static size_t next_field(const emi_text *t, size_t end, size_t n)
{
	return end < n && t->separator != EM_TEXT_BLANKS ? end + 1 : end;
}

/* Walk to a field.  Fields that the record does not have begin at its end. */
static void walk(const emi_text *t, const unsigned char *p, size_t n, emi_text_place *place, uint64_t field)
{
	if (field < place->field) {
		place->field = 1;
		place->at = 0;
	}
	while (place->field < field && place->at < n) {
		place->at = next_field(t, field_end(t, p, place->at, n), n);
		place->field++;
	}
	place->field = field;
}

/* So many characters further, but not past the end. */
static size_t advance(size_t at, size_t n, uint64_t chars)
{
	return chars < n - at ? at + (size_t)chars : n;
}

static size_t find_begin(const em_text_key *key, const unsigned char *p, size_t n, size_t at)
{
	if ((key->flags & EM_TEXT_SKIP_START) != 0)
		at = emi_text_skip_blanks(p, at, n);
	return advance(at, n, key->first_char - 1);
}

static size_t find_end(const emi_text *t, const em_text_key *key, const unsigned char *p, size_t n,
		       emi_text_place *place)
{
	size_t at, end;

	if (key->last_field == 0)
		return n;
	walk(t, p, n, place, key->last_field);
	at = place->at;
	if (key->last_char != 0) {
		if ((key->flags & EM_TEXT_SKIP_END) != 0)
			at = emi_text_skip_blanks(p, at, n);
		return advance(at, n, key->last_char);
	}
	end = field_end(t, p, at, n);
	if (place->field < UINT64_MAX) {
		place->field++;
		place->at = next_field(t, end, n);
	}
	return end;
}

void emi_text_find_from(const emi_text *t, const em_text_key *key, const unsigned char *record, size_t n, size_t *begin,
			size_t *end, emi_text_place *place)
{
	size_t last;

	walk(t, record, n, place, key->first_field);
	*begin = find_begin(key, record, n, place->at);
	last = find_end(t, key, record, n, place);
	*end = last > *begin ? last : *begin;
}

/* The part of a key that is read as a number or month. */
static void narrow(const em_text_key *key, const unsigned char *p, size_t *begin, size_t *end)
{
	const size_t n = *end;
	size_t at = *begin, bytes;

	at = key->kind == EM_TEXT_GENERAL ? emi_text_skip_space(p, at, n) : emi_text_skip_blanks(p, at, n);
	switch (key->kind) {
	case EM_TEXT_NUMERIC:
		bytes = emi_text_number_bytes(p + at, n - at);
		break;
	case EM_TEXT_GENERAL:
		bytes = emi_text_general_bytes(p + at, n - at);
		break;
	case EM_TEXT_HUMAN:
		bytes = emi_text_human_bytes(p + at, n - at, key->flags);
		break;
	case EM_TEXT_MONTH:
		bytes = emi_text_month_bytes(p + at, n - at);
		break;
	default:
		return;
	}
	*begin = at;
	*end = at + bytes;
}

void emi_text_find(const emi_text *t, const em_text_key *key, const unsigned char *record, size_t n, size_t *begin,
		   size_t *end)
{
	static const unsigned char empty[1];
	const unsigned char *const p = n != 0 ? record : empty;
	emi_text_place place = { 1, 0 };

	emi_text_find_from(t, key, p, n, begin, end, &place);
	narrow(key, p, begin, end);
}

int emi_text_next_field(const emi_text *t, const unsigned char *record, size_t n, size_t *at, size_t *begin,
			size_t *end)
{
	static const unsigned char empty[1];
	const unsigned char *const p = n != 0 ? record : empty;
	const int blanks = t->separator == EM_TEXT_BLANKS;

	if (*at > n)
		return 0;
	*begin = blanks ? emi_text_skip_blanks(p, *at, n) : *at;
	if (blanks && *begin == n)
		return 0;
	*end = field_end(t, p, *begin, n);
	*at = blanks ? *end : *end + 1;
	return 1;
}
