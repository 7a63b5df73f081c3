/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_number.c -- keys that begin with a decimal number of any length.
 *
 * A number is blanks, perhaps a '-', digits, and perhaps a '.' and more digits.  What counts is its sign, how many
 * digits there are in front of the point without leading zeros (its magnitude), and the digits from there on without
 * trailing zeros; with the magnitude given, the point itself tells nothing.  A number that is written so becomes
 *
 *     a byte     0x80 for zero, above it 0x81 + the magnitude; 0xff when that is 0x7e or more: then it follows in 8
 *                bytes
 *     a byte     for two digits: twice their value, and 1 more when digits follow; an odd last digit gets a 0
 *     ...
 *
 * with all these bits inverted when it is negative.  1234.5 is 0x85, 2 * 12 + 1, 2 * 34 + 1, 2 * 50.  The bit says
 * where the number ends, which makes it prefix-free, and as the digits that follow are not all 0, more of them is more.
 * Fourteen digits are in the first eight bytes.
 *
 * With -h the number may have a suffix, and one that is not zero is preceded by a byte with the suffix's rank, which is
 * negative for a negative number: all numbers with one suffix come before all with a larger one.
 *
 * There are no separators of thousands.  GNU sort 9.1 takes the byte 0x80 for one in the C locale, so that a 1 and a 2
 * with it in between are 12; here, as in later ones, it ends a number, as every other byte does that is no part of one.
 */
#include "key/text_sink.h"

#define ZERO 0x80u
#define FAR_MAGNITUDE 0x7eu     /* the least that has no byte of its own */

typedef struct number {
	int negative;
	const unsigned char *whole;     /* digits in front of the point, from the first that is not 0 */
	size_t nwhole;
	const unsigned char *part;      /* digits behind it, up to the last that is not 0 */
	size_t npart;
	const unsigned char *end;       /* where reading stopped */
} number;

EMI_TEXT_INLINE const unsigned char *skip_digits(const unsigned char *p, const unsigned char *end)
{
	while (p < end && emi_text_is_digit(*p))
		p++;
	return p;
}

EMI_TEXT_INLINE void read_number(number *x, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *q;

	x->negative = p < end && *p == '-';
	p += x->negative;
	while (p < end && *p == '0')
		p++;
	x->whole = p;
	p = skip_digits(p, end);
	x->nwhole = (size_t)(p - x->whole);
	x->part = p;
	x->npart = 0;
	if (p < end && *p == '.') {
		x->part = p + 1;
		p = skip_digits(p + 1, end);
		for (q = p; q > x->part && q[-1] == '0'; q--)
			;
		x->npart = (size_t)(q - x->part);
	}
	x->end = p;
}

EMI_TEXT_INLINE int is_zero(const number *x)
{
	return x->nwhole == 0 && x->npart == 0;
}

/* The number, not zero.  The bits of `flip' are inverted in all bytes. */
EMI_TEXT_INLINE void put_nonzero(emi_sink *s, const number *x, unsigned flip)
{
	const unsigned char *p = x->whole, *q = x->part;
	size_t left = x->nwhole;        /* digits up to the last that counts, in p, then in q */
	size_t more = x->npart;
	unsigned pair;

	if (x->nwhole < FAR_MAGNITUDE) {
		emi_sink_put(s, (ZERO + 1 + (unsigned)x->nwhole) ^ flip);
	} else {
		emi_sink_put(s, 0xff ^ flip);
		emi_sink_put_number(s, x->nwhole ^ (flip != 0 ? UINT64_MAX : 0), 8);
	}
	if (more == 0)
		while (p[left - 1] == '0')
			left--;
	for (; left > 1; left -= 2, p += 2) {
		pair = (p[0] - (unsigned)'0') * 10 + (p[1] - (unsigned)'0');
		emi_sink_put(s, (2 * pair + (left > 2 || more > 0)) ^ flip);
	}
	if (left == 1) {
		/* The last digit in front of the point and the first behind it. */
		pair = (p[0] - (unsigned)'0') * 10;
		if (more > 0) {
			pair += *q++ - (unsigned)'0';
			more--;
		}
		emi_sink_put(s, (2 * pair + (more > 0)) ^ flip);
	}
	for (; more > 1; more -= 2, q += 2) {
		pair = (q[0] - (unsigned)'0') * 10 + (q[1] - (unsigned)'0');
		emi_sink_put(s, (2 * pair + (more > 2)) ^ flip);
	}
	if (more == 1)
		emi_sink_put(s, (2 * 10 * (q[0] - (unsigned)'0')) ^ flip);
}

EMI_TEXT_INLINE void put_number(emi_sink *s, const number *x)
{
	if (is_zero(x))
		emi_sink_put(s, ZERO);
	else
		put_nonzero(s, x, x->negative ? 0xff : 0);
}

void emi_text_put_number(emi_sink *s, const unsigned char *p, size_t n)
{
	emi_sink l = *s;        /* which no byte written can change, as the compiler sees */
	number x;

	read_number(&x, p + emi_text_skip_blanks(p, 0, n), p + n);
	put_number(&l, &x);
	*s = l;
}

/* The rank of a suffix; 0 for none.  Folding makes suffixes of small letters. */
static unsigned suffix_rank(const number *x, const unsigned char *end, uint32_t flags)
{
	if (x->end == end)
		return 0;
	switch ((flags & EM_TEXT_FOLD) != 0 ? emi_text_upper(*x->end) : *x->end) {
	case 'K':
	case 'k': return 1;
	case 'M': return 2;
	case 'G': return 3;
	case 'T': return 4;
	case 'P': return 5;
	case 'E': return 6;
	case 'Z': return 7;
	case 'Y': return 8;
	case 'R': return 9;
	case 'Q': return 10;
	default: return 0;
	}
}

void emi_text_put_human(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags)
{
	unsigned rank = 0;
	number x;

	read_number(&x, p + emi_text_skip_blanks(p, 0, n), p + n);
	if (!is_zero(&x))
		rank = suffix_rank(&x, p + n, flags);
	emi_sink_put(s, x.negative ? 0x80 - rank : 0x80 + rank);
	put_number(s, &x);
}

size_t emi_text_number_bytes(const unsigned char *p, size_t n)
{
	number x;
	size_t digits;

	read_number(&x, p, p + n);
	digits = (size_t)(x.end - p) - (size_t)x.negative;
	/* A '-' or a '.' alone is no number. */
	return digits > 1 || (digits == 1 && x.end[-1] != '.') ? (size_t)(x.end - p) : 0;
}

size_t emi_text_human_bytes(const unsigned char *p, size_t n, uint32_t flags)
{
	const size_t bytes = emi_text_number_bytes(p, n);
	number x;

	read_number(&x, p, p + n);
	return bytes != 0 && suffix_rank(&x, p + n, flags) != 0 ? bytes + 1 : bytes;
}
