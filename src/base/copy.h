/* SPDX-License-Identifier: BSL-1.0 */
/*
 * copy.h -- copying a few bytes whose number is known only at run time.
 *
 * Records of any length are moved one by one, and most are short: a call of memcpy() costs more than the copy.
 * Two moves of a fixed size that overlap do any length between that size and twice it.
 */
#ifndef EMI_COPY_H
#define EMI_COPY_H

#include <stddef.h>
#include <string.h>

#define EMI_COPY_INLINE_MOST 128u

static inline void emi_copy(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;

	if (n > EMI_COPY_INLINE_MOST) {
		memcpy(d, s, n);
	} else if (n > 64) {
		char a[64], b[64];

		memcpy(a, s, 64);
		memcpy(b, s + n - 64, 64);
		memcpy(d, a, 64);
		memcpy(d + n - 64, b, 64);
	} else if (n > 32) {
		char a[32], b[32];

		memcpy(a, s, 32);
		memcpy(b, s + n - 32, 32);
		memcpy(d, a, 32);
		memcpy(d + n - 32, b, 32);
	} else if (n > 16) {
		char a[16], b[16];

		memcpy(a, s, 16);
		memcpy(b, s + n - 16, 16);
		memcpy(d, a, 16);
		memcpy(d + n - 16, b, 16);
	} else if (n >= 8) {
		char a[8], b[8];

		memcpy(a, s, 8);
		memcpy(b, s + n - 8, 8);
		memcpy(d, a, 8);
		memcpy(d + n - 8, b, 8);
	} else {
		for (; n != 0; n--)
			*d++ = *s++;
	}
}

/* Copy a record of one of the usual sizes, by a move or two.  0: it is of another size, and nothing was done. */
static inline int emi_copy_usual(void *to, const void *from, size_t n)
{
	switch (n) {
	case 4:
		memcpy(to, from, 4);
		return 1;
	case 8:
		memcpy(to, from, 8);
		return 1;
	case 16:
		memcpy(to, from, 16);
		return 1;
	default:
		return 0;
	}
}

#endif
