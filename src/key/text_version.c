/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_version.c -- keys that compare as names of versions of files: 9 before 10, 1.0~rc1 before 1.0, .hidden first.
 *
 * The empty name comes first, then ".", "..", the others that begin with '.', and the rest: a byte says which.  Then
 * names compare without their suffixes (".tar.gz": any number of '.', a letter or '~', letters, digits and '~', but
 * never all of a name, so that ".a" has none and ".a.b" has ".b"), and if these are equal, as a whole.  GNU sort does
 * so from 9.2 on; in 9.1 a suffix may be all there is, which puts ".a" before ".1".
 *
 * A name is a run of bytes that are no digits, perhaps empty, a number, another run, another number, and so on.  Runs
 * compare by byte: '~', then the end of the run, then letters, then all other bytes.  Numbers compare by value, and a
 * number that is missing at the end counts as 0: "a" and "a0" are equal, and so "a" is the less of "a" and "a0b" but
 * the greater of "a" and "a0~".  So the end of a name lies in between the two kinds of 0 that do not end it, and every
 * step is one of these bytes:
 *
 *     0          '~'
 *     1          the number 0, and '~' is next
 *     2          the end, perhaps after a number 0
 *     3          the number 0, and another byte is next
 *     4...8      a number of 1...5 digits, two in each of the following bytes
 *     9          a longer one: so many digits more than 6 in one byte, or 255 and eight, then the digits
 *     10...61    letters
 *     62...254   other bytes
 *
 * If two names are equal without their suffixes then all that is left to compare is what follows.  It goes on where the
 * first part ended, with one thing to remember: whether a number 0 was there.
 */
#include "key/text_sink.h"

enum {
	CODE_TILDE = 0,
	CODE_ZERO_TILDE = 1,
	CODE_END = 2,
	CODE_ZERO = 3,
	CODE_NUMBER = 4,
	CODE_LONG = 9,
	CODE_LETTER = 10,
	CODE_OTHER = 62,
};

enum { RANK_EMPTY, RANK_DOT, RANK_DOTS, RANK_HIDDEN, RANK_OTHER };

/* What is left of a name.  Bytes that do not count are passed over. */
typedef struct reader {
	const unsigned char *p;
	const unsigned char *end;
	uint32_t flags;
} reader;

#define NONE 256u       /* no byte: the end */

/* The byte that is next, and to go past it. */
EMI_TEXT_INLINE unsigned peek(reader *r)
{
	if ((r->flags & (EM_TEXT_DICTIONARY | EM_TEXT_PRINTING)) != 0)
		while (r->p < r->end && !emi_text_counts(r->flags, *r->p))
			r->p++;
	if (r->p == r->end)
		return NONE;
	return (r->flags & EM_TEXT_FOLD) != 0 ? emi_text_upper(*r->p) : *r->p;
}

EMI_TEXT_INLINE unsigned take(reader *r)
{
	const unsigned c = peek(r);

	if (c != NONE)
		r->p++;
	return c;
}

static unsigned rank(reader r)
{
	unsigned c = take(&r);

	if (c == NONE)
		return RANK_EMPTY;
	if (c != '.')
		return RANK_OTHER;
	c = take(&r);
	if (c == NONE)
		return RANK_DOT;
	return c == '.' && peek(&r) == NONE ? RANK_DOTS : RANK_HIDDEN;
}

/* Where the suffixes begin; the end when there are none.  The first byte is the name's in any case. */
static const unsigned char *find_suffix(reader r)
{
	enum { NAME, DOT, SUFFIX } state = NAME;
	const unsigned char *at, *suffix = r.end;
	unsigned c;

	take(&r);
	for (; (c = peek(&r)) != NONE; r.p++) {
		at = r.p;
		if (c == '.') {
			/* Of two dots the first belongs to the name. */
			if (state != SUFFIX)
				suffix = at;
			state = DOT;
		} else if (emi_text_is_letter(c) || c == '~') {
			if (state == DOT)
				state = SUFFIX;
		} else if (state != SUFFIX || !emi_text_is_digit(c)) {
			state = NAME;
		}
	}
	return state == SUFFIX ? suffix : r.end;
}

/* A byte that is no digit. */
static unsigned code(unsigned c)
{
	if (emi_text_is_letter(c))
		return CODE_LETTER + (c < 'a' ? c - 'A' : 26 + c - 'a');
	if (c == '~')
		return CODE_TILDE;
	/* Without the digits, letters and the tilde before it. */
	c -= (c > '9' ? 10u : 0) + (c > 'Z' ? 26u : 0) + (c > 'z' ? 26u : 0) + (c > '~' ? 1u : 0);
	return CODE_OTHER + c;
}

/* The digits of a number that does not begin with 0. */
static void put_digits(emi_sink *s, reader *r)
{
	reader ahead = *r;
	uint64_t digits = 0;
	unsigned pair;

	while (emi_text_is_digit(peek(&ahead))) {
		digits++;
		ahead.p++;
	}
	if (digits < 6) {
		emi_sink_put(s, CODE_NUMBER - 1 + (unsigned)digits);
	} else {
		emi_sink_put(s, CODE_LONG);
		if (digits - 6 < 255) {
			emi_sink_put(s, (unsigned)digits - 6);
		} else {
			emi_sink_put(s, 255);
			emi_sink_put_number(s, digits, 8);
		}
	}
	for (; digits > 0; digits -= digits > 1 ? 2 : 1) {
		pair = (take(r) - '0') * 10;
		if (digits > 1)
			pair += take(r) - '0';
		emi_sink_put(s, pair);
	}
}

/* The rest of a name.  `zero' says that a number 0 comes first; returns whether one came last. */
static int put_steps(emi_sink *s, reader *r, int zero)
{
	unsigned c;

	while ((c = peek(r)) != NONE) {
		if (zero)
			emi_sink_put(s, c == '~' ? CODE_ZERO_TILDE : CODE_ZERO);
		zero = 0;
		if (!emi_text_is_digit(c)) {
			emi_sink_put(s, code(c));
			r->p++;
			continue;
		}
		while ((c = peek(r)) == '0')
			r->p++;
		if (emi_text_is_digit(c))
			put_digits(s, r);
		else
			zero = 1;
	}
	emi_sink_put(s, CODE_END);
	return zero;
}

EMI_TEXT_INLINE void put_version(emi_sink *s, reader r)
{
	const unsigned char *const end = r.end;
	const unsigned kind = rank(r);
	int zero;

	emi_sink_put(s, kind);
	if (kind < RANK_HIDDEN)
		return;
	r.end = find_suffix(r);
	zero = put_steps(s, &r, 0);
	r.end = end;
	put_steps(s, &r, zero);
}

void emi_text_put_version(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags)
{
	reader r;

	r.p = p;
	r.end = p + n;
	r.flags = flags;
	put_version(s, r);
}
