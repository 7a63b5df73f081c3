/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_bytes.c -- keys that compare as bytes: all of them, or only those that count, and small letters as capital ones
 * if asked for.
 *
 * The key is copied and a 0 put behind it, which makes a shorter key the smaller one and nothing a beginning of
 * anything else.  The bytes 0 and 1, which text does not have, become 1 0 and 1 1.  Text is copied 8 bytes at a time;
 * only when one of them is 0 or 1 they are looked at one by one.
 */
#include "key/text_sink.h"

/* The bytes that count, one bit each: blanks, digits and letters; and from ' ' to '~'. */
static const uint32_t dictionary[8] = { 0x00000600u, 0x03ff0001u, 0x07fffffeu, 0x07fffffeu, 0, 0, 0, 0 };
static const uint32_t printing[8] = { 0, 0xffffffffu, 0xffffffffu, 0x7fffffffu, 0, 0, 0, 0 };

EMI_TEXT_INLINE unsigned in_set(const uint32_t *set, unsigned c)
{
	return (set[c >> 5] >> (c & 31)) & 1;
}

int emi_text_counts(uint32_t flags, unsigned c)
{
	if ((flags & EM_TEXT_DICTIONARY) != 0)
		return (int)in_set(dictionary, c);
	return (flags & EM_TEXT_PRINTING) == 0 || in_set(printing, c);
}

/* Is one of 8 bytes 0 or 1? */
EMI_TEXT_INLINE int has_low(uint64_t x)
{
	return emi_text_zero_bytes(x & ~EMI_TEXT_EVERY) != 0;
}

/* 8 bytes, small letters made capital: a byte below 128 is one when adding what lacks from 'a' to 128 sets its highest
 * bit, and adding what lacks from 'z' + 1 does not. */
EMI_TEXT_INLINE uint64_t upper8(uint64_t x)
{
	const uint64_t low = x & (EMI_TEXT_EVERY * 0x7f);
	const uint64_t from_a = low + EMI_TEXT_EVERY * (0x80 - 'a'), past_z = low + EMI_TEXT_EVERY * (0x80 - 'z' - 1);
	const uint64_t small = from_a & ~past_z & ~x & (EMI_TEXT_EVERY << 7);

	return x ^ (small >> 2);
}

EMI_TEXT_INLINE void put_byte(emi_sink *s, unsigned c)
{
	if (c <= 1) {
		emi_sink_put(s, 1);
		emi_sink_put(s, c);
	} else {
		emi_sink_put(s, c);
	}
}

EMI_TEXT_INLINE void put_all(emi_sink *s, const unsigned char *p, size_t n, int fold)
{
	const unsigned char *const end = p + n;
	const unsigned char *stop;
	emi_sink l = *s;        /* which no byte written can change, as the compiler sees */
	uint64_t x;

	while (p < end) {
		for (; end - p >= 8 && l.at < l.room && l.room - l.at >= 8; p += 8) {
			memcpy(&x, p, sizeof(x));
			if (has_low(x))
				break;
			if (fold)
				x = upper8(x);
			memcpy(l.out + l.at, &x, sizeof(x));
			l.at += 8;
		}
		for (stop = end - p > 8 ? p + 8 : end; p < stop; p++)
			put_byte(&l, fold ? emi_text_upper(*p) : *p);
	}
	*s = l;
}

/* Neither set has the bytes 0 and 1. */
EMI_TEXT_INLINE void put_some(emi_sink *s, const unsigned char *p, size_t n, const uint32_t *set, int fold)
{
	const unsigned char *const end = p + n;
	emi_sink l = *s;

	for (; p < end; p++) {
		const unsigned c = *p;

		if (l.at < l.room)
			l.out[l.at] = (unsigned char)(fold ? emi_text_upper(c) : c);
		l.at += in_set(set, c);
	}
	*s = l;
}

void emi_text_put_bytes(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags)
{
	const uint32_t some = flags & (EM_TEXT_DICTIONARY | EM_TEXT_PRINTING);
	const uint32_t *const set = (flags & EM_TEXT_DICTIONARY) != 0 ? dictionary : printing;
	const int fold = (flags & EM_TEXT_FOLD) != 0;

	if (some != 0 && fold)
		put_some(s, p, n, set, 1);
	else if (some != 0)
		put_some(s, p, n, set, 0);
	else if (fold)
		put_all(s, p, n, 1);
	else
		put_all(s, p, n, 0);
	emi_sink_put(s, 0);
}
