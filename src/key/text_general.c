/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_general.c -- keys that begin with a number as strtold() reads it: 1e-3, 0x1p4, inf, nan.
 *
 * The text is taken apart here, in the C locale whatever the program's is.  Most numbers are few digits and a small
 * power of ten: their quotient or product is rounded once, as strtold() would round it.  Others are spelled anew, as
 * digits and an exponent, and handed to strtold().  Without a decimal point the locale has no say in them; and as
 * digits beyond the longest number that can lie in the middle of two others only matter by not being 0, numbers of any
 * length fit a buffer of this length.
 *
 * What is written is a byte, which tells most of the order at once:
 *
 *     0x00                       no number
 *     0x01                       not a number; its bytes in memory follow, by which they compare
 *     0x03                       negative infinity
 *     inverted, from here on     negative numbers
 *     0x80                       zero
 *     0x81                       below 2^-41; the exponent follows in 2 bytes
 *     0x82...0xfa                from 2^-41 to 2^80, by exponent
 *     0xfb                       above; the exponent follows in 2 bytes
 *     0xfc                       infinity
 *
 * and then the bits of the mantissa, 7 in each byte, highest first; the lowest bit of a byte says that there are more,
 * which are not all 0.
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "key/text_sink.h"

enum {
	LEAD_NONE = 0x00,
	LEAD_NAN = 0x01,
	LEAD_ZERO = 0x80,
	LEAD_TINY = 0x81,
	LEAD_EXPONENT = 0x82,
	LEAD_HUGE = 0xfb,
	LEAD_INFINITY = 0xfc,
};

#define EXPONENT_MIN (-40)
#define EXPONENT_MAX (EXPONENT_MIN + LEAD_HUGE - LEAD_EXPONENT - 1)

/* More digits than the middle of two neighbouring numbers can have, 11563 for numbers of 128 bits. */
#define DIGITS_MAX 12000
/* A sign, "nan(" or "0x", the digits and one for the rest, an exponent. */
#define SPELLED (DIGITS_MAX + 64)

/* Digits that surely fit 64 bits. */
#define SMALL_DIGITS 19

#define EXPONENT_FAR INT64_C(100000000000000000)

/* How a power of ten is exact, and how large a whole number. */
#if LDBL_MANT_DIG == 53
#define POWERS 23
#define WHOLE_MAX (UINT64_C(1) << 53)
#elif LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113
#define POWERS 28
#define WHOLE_MAX UINT64_MAX
#else
#define POWERS 0                /* pairs of doubles do not round as strtold() does */
#define WHOLE_MAX 0
#endif

/* The bytes of a long double that are not padding. */
#define VALUE_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

typedef enum what { WHAT_NONE, WHAT_NAN, WHAT_INFINITY, WHAT_FINITE } what;

typedef struct general {
	what what;
	int negative;
	int hex;
	const unsigned char *digits;    /* from the first that is not 0; a '.' may be among them */
	const unsigned char *end;       /* behind the last, or behind the payload of a NaN */
	uint64_t ndigits;               /* 0: the number is 0 */
	uint64_t whole;                 /* of the first SMALL_DIGITS decimal digits */
	int64_t exponent;               /* of 10 or 2, for the digits as a whole number */
	const unsigned char *stop;      /* where reading stopped */
} general;

static unsigned digit_value(unsigned c, int hex)
{
	if (emi_text_is_digit(c))
		return c - '0';
	if (hex && (c | 0x20) - 'a' < 6u)
		return (c | 0x20) - 'a' + 10;
	return 16;
}

/* Does [p, end) begin with a word of capital letters, in letters of any kind? */
static int begins(const unsigned char *p, const unsigned char *end, const char *word)
{
	for (; *word != '\0'; word++, p++)
		if (p == end || emi_text_upper(*p) != (unsigned char)*word)
			return 0;
	return 1;
}

/* Inf, infinity, nan or nan(...); nothing else begins with a letter. */
static void read_word(general *x, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *q;

	if (begins(p, end, "INF")) {
		x->what = WHAT_INFINITY;
		x->stop = p + (begins(p, end, "INFINITY") ? 8 : 3);
	} else if (begins(p, end, "NAN")) {
		x->what = WHAT_NAN;
		x->digits = x->stop = x->end = p + 3;
		if (x->stop == end || *x->stop != '(')
			return;
		for (q = p + 4; q < end && (emi_text_is_letter(*q) || emi_text_is_digit(*q) || *q == '_'); q++)
			;
		if (q < end && *q == ')') {
			x->digits = p + 4;
			x->end = q;
			x->stop = q + 1;
		}
	}
}

/* The digits and the point, from p on.  Returns where they end; what stays WHAT_NONE if there are none. */
EMI_TEXT_INLINE const unsigned char *read_digits(general *x, const unsigned char *p, const unsigned char *end, int hex)
{
	int point = 0;
	unsigned digit;

	x->digits = end;
	for (; p < end; p++) {
		if (*p == '.' && !point) {
			point = 1;
			continue;
		}
		digit = digit_value(*p, hex);
		if (digit == 16)
			break;
		x->what = WHAT_FINITE;
		x->exponent -= point;
		if (digit != 0 && x->ndigits == 0)
			x->digits = p;
		if (x->digits != end) {
			if (x->ndigits < SMALL_DIGITS)
				x->whole = x->whole * 10 + digit;
			x->ndigits++;
		}
	}
	x->end = p;
	return p;
}

/* An exponent, if there is one: the letter, perhaps a sign, and at least one digit. */
EMI_TEXT_INLINE const unsigned char *read_exponent(general *x, const unsigned char *p, const unsigned char *end,
						   unsigned letter)
{
	const unsigned char *q = p;
	int64_t exponent = 0;
	int negative;

	if (q == end || emi_text_upper(*q) != letter)
		return p;
	q++;
	negative = q < end && *q == '-';
	if (q < end && (*q == '-' || *q == '+'))
		q++;
	if (q == end || !emi_text_is_digit(*q))
		return p;
	for (; q < end && emi_text_is_digit(*q); q++)
		if (exponent < EXPONENT_FAR)
			exponent = exponent * 10 + (*q - '0');
	x->exponent += negative ? -exponent : exponent;
	return q;
}

/* Take a number apart.  p is behind white space. */
static void read_general(general *x, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *const start = p;

	memset(x, 0, sizeof(*x));
	x->what = WHAT_NONE;
	x->stop = p;
	if (p < end && (*p == '-' || *p == '+'))
		x->negative = *p++ == '-';
	if (p < end && emi_text_is_letter(*p)) {
		read_word(x, p, end);
		return;
	}
	if (end - p > 2 && *p == '0' && (p[1] | 0x20) == 'x' &&
	    (digit_value(p[2], 1) < 16 || (p[2] == '.' && end - p > 3 && digit_value(p[3], 1) < 16))) {
		x->hex = 1;
		p = read_digits(x, p + 2, end, 1);
		x->exponent *= 4;
		x->stop = read_exponent(x, p, end, 'P');
		return;
	}
	p = read_digits(x, p, end, 0);
	x->stop = x->what == WHAT_NONE ? start : read_exponent(x, p, end, 'E');
}

/* strtold() of a text, without its effect on errno. */
static long double convert(const char *text)
{
	const int saved = errno;
	const long double v = strtold(text, NULL);

	errno = saved;
	return v;
}

/* A number without its sign, spelled anew. */
EMI_TEXT_RARE static long double spell(const general *x)
{
	const int64_t step = x->hex ? 4 : 1;
	char text[SPELLED];
	char *t = text;
	const unsigned char *p;
	int64_t exponent = x->exponent;
	uint64_t kept = 0;
	int rest = 0;

	if (x->hex) {
		memcpy(t, "0x", 2);
		t += 2;
	}
	for (p = x->digits; p < x->end; p++) {
		if (*p == '.')
			continue;
		if (kept < DIGITS_MAX) {
			*t++ = (char)*p;
			kept++;
		} else {
			rest |= *p != '0';
			exponent += step;
		}
	}
	if (rest) {
		*t++ = '1';
		exponent -= step;
	}
	snprintf(t, 32, "%c%" PRId64, x->hex ? 'p' : 'e', exponent);
	return convert(text);
}

/* A NaN with its sign and payload. */
EMI_TEXT_RARE static long double spell_nan(const general *x)
{
	char text[SPELLED] = "-nan(";
	size_t n = (size_t)(x->end - x->digits);

	if (x->stop == x->end)
		return convert(x->negative ? "-nan" : "nan");
	if (n > DIGITS_MAX)
		n = DIGITS_MAX;
	memcpy(text + 5, x->digits, n);
	text[5 + n] = ')';
	return convert(x->negative ? text : text + 1);
}

/* The same, by the shortest way. */
static long double value(const general *x)
{
#if POWERS > 0
	static const long double power[POWERS] = {
		1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
		1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L,
#if POWERS > 23
		1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
#endif
	};

	if (!x->hex && x->ndigits <= SMALL_DIGITS && x->whole <= WHOLE_MAX && x->exponent > -POWERS &&
	    x->exponent < POWERS) {
		if (x->exponent < 0)
			return (long double)x->whole / power[-x->exponent];
		return (long double)x->whole * power[x->exponent];
	}
#endif
	return spell(x);
}

static void put_nan(emi_sink *s, const general *x)
{
	const long double v = spell_nan(x);
	unsigned char bytes[sizeof(v)];
	size_t i;

	memcpy(bytes, &v, sizeof(v));
	emi_sink_put(s, LEAD_NAN);
	for (i = 0; i < VALUE_BYTES; i++)
		emi_sink_put(s, bytes[i]);
}

/* A number above 0.  The bits of `flip' are inverted in all bytes. */
static void put_positive(emi_sink *s, long double v, unsigned flip)
{
	const long double two63 = 9223372036854775808.0L;
	const uint64_t low63 = UINT64_MAX >> 1;
	uint64_t bits;
	int e, i, more;

	if (v > LDBL_MAX) {
		emi_sink_put(s, LEAD_INFINITY ^ flip);
		return;
	}
	v = frexpl(v, &e);
	if (e >= EXPONENT_MIN && e <= EXPONENT_MAX) {
		emi_sink_put(s, (unsigned)(LEAD_EXPONENT + e - EXPONENT_MIN) ^ flip);
	} else {
		emi_sink_put(s, (e < 0 ? LEAD_TINY : LEAD_HUGE) ^ flip);
		emi_sink_put(s, ((unsigned)(e + 32768) >> 8 & 0xff) ^ flip);
		emi_sink_put(s, ((unsigned)(e + 32768) & 0xff) ^ flip);
	}
	do {
		v *= two63;
		bits = (uint64_t)v;
		v -= (long double)bits;
		for (i = 0, more = 1; i < 9 && more; i++) {
			const unsigned chunk = (unsigned)(bits >> 56);

			bits = (bits << 7) & low63;
			more = bits != 0 || v > 0;
			emi_sink_put(s, (2 * chunk + (unsigned)more) ^ flip);
		}
	} while (more);
}

void emi_text_put_general(emi_sink *s, const unsigned char *p, size_t n)
{
	const unsigned char *const end = p + n;
	long double v;
	general x;

	read_general(&x, p + emi_text_skip_space(p, 0, n), end);
	switch (x.what) {
	case WHAT_NONE:
		emi_sink_put(s, LEAD_NONE);
		return;
	case WHAT_NAN:
		put_nan(s, &x);
		return;
	case WHAT_INFINITY:
		emi_sink_put(s, LEAD_INFINITY ^ (x.negative ? 0xffu : 0));
		return;
	case WHAT_FINITE:
		break;
	}
	v = x.ndigits == 0 ? 0 : value(&x);
	/* What is too small to be told from 0 is 0. */
	if (v > 0)
		put_positive(s, v, x.negative ? 0xff : 0);
	else
		emi_sink_put(s, LEAD_ZERO);
}

size_t emi_text_general_bytes(const unsigned char *p, size_t n)
{
	general x;

	read_general(&x, p, p + n);
	return (size_t)(x.stop - p);
}
