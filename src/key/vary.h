/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vary.h -- records of any length as the engine keeps them: frames.
 *
 * A frame is the length of the record, the length of its normalised key where the order has keys, that key, and
 * the record's own bytes, one behind the other at any address:
 *
 *     length of record | length of key | key ... | record ...
 *
 * A length below 254 is one byte; a longer one is the byte 254 and two bytes, or the byte 255 and eight (native byte
 * order: frames never leave this machine).
 *
 * What a frame sorts by is its string: the key and then the record (unless the keys decide alone), compared as
 * memcmp() does, shorter first.  The record's part may be reversed: then its bytes are inverted in comparisons and
 * longer comes first, as if a 256th value followed each record.  The eight bytes of the string from any depth on make
 * the key of an element.
 *
 * Eight bytes behind every frame may be read.
 */
#ifndef EMI_VARY_H
#define EMI_VARY_H

#include <string.h>

#include "key/order.h"
#include "key/text.h"

#if defined(__GNUC__)
#define EMI_VARY_INLINE static inline __attribute__((always_inline))
#else
#define EMI_VARY_INLINE static inline
#endif

/* What the strings of an order are made of. */
typedef struct emi_vary {
	const emi_text *text;   /* NULL: frames have no keys */
	int keyed;              /* frames have keys */
	int line;               /* the record's bytes are the end of the string */
	int reverse;            /* and count reversed */
} emi_vary;

/* A frame, taken apart. */
typedef struct emi_frame {
	const unsigned char *string; /* the key if there is one, and the record behind it */
	uint64_t key_bytes;     /* 0 without keys */
	uint64_t bytes;         /* of the record */
} emi_frame;

/* The vary of an order of records of any length; NULL for others. */
const emi_vary *emi_order_vary(const em_order *o);

#define EMI_LENGTH_MAX 9u       /* most bytes of a length */

/* Bytes that a length takes. */
EMI_VARY_INLINE size_t emi_length_bytes(uint64_t n)
{
	return n < 254 ? 1 : n <= UINT16_MAX ? 3 : 9;
}

EMI_VARY_INLINE unsigned char *emi_length_put(unsigned char *p, uint64_t n)
{
	const uint16_t n16 = (uint16_t)n;

	if (n < 254) {
		*p = (unsigned char)n;
		return p + 1;
	}
	if (n <= UINT16_MAX) {
		*p = 254;
		memcpy(p + 1, &n16, sizeof n16);
		return p + 3;
	}
	*p = 255;
	memcpy(p + 1, &n, sizeof n);
	return p + 9;
}

EMI_VARY_INLINE const unsigned char *emi_length_get(const unsigned char *p, uint64_t *n)
{
	uint16_t n16;

	if (*p < 254) {
		*n = *p;
		return p + 1;
	}
	if (*p == 254) {
		memcpy(&n16, p + 1, sizeof n16);
		*n = n16;
		return p + 3;
	}
	memcpy(n, p + 1, sizeof *n);
	return p + 9;
}

EMI_VARY_INLINE emi_frame emi_frame_get(const emi_vary *v, const unsigned char *p)
{
	emi_frame f;

	p = emi_length_get(p, &f.bytes);
	f.key_bytes = 0;
	if (v->keyed)
		p = emi_length_get(p, &f.key_bytes);
	f.string = p;
	return f;
}

/* The same of bytes that were on a disk, at p < end: 0 if there is no frame that ends there or before.  Eight bytes
 * behind the end may be read. */
EMI_VARY_INLINE int emi_frame_get_within(const emi_vary *v, const unsigned char *p, const unsigned char *end,
					 emi_frame *f)
{
	p = emi_length_get(p, &f->bytes);
	f->key_bytes = 0;
	if (v->keyed) {
		if (p >= end)
			return 0;
		p = emi_length_get(p, &f->key_bytes);
	}
	f->string = p;
	return p <= end && f->key_bytes <= (uint64_t)(end - p) && f->bytes <= (uint64_t)(end - p) - f->key_bytes;
}

/* The frame whose address is the value of an element. */
EMI_VARY_INLINE emi_frame emi_frame_of(const emi_vary *v, const emi_pair *e)
{
	return emi_frame_get(v, (const unsigned char *)(uintptr_t)e->val);
}

/* The record's own bytes, and what lies behind the frame. */
EMI_VARY_INLINE const unsigned char *emi_frame_record(const emi_frame *f)
{
	return f->string + f->key_bytes;
}

EMI_VARY_INLINE const unsigned char *emi_frame_end(const emi_frame *f)
{
	return f->string + f->key_bytes + f->bytes;
}

EMI_VARY_INLINE uint64_t emi_string_bytes(const emi_vary *v, const emi_frame *f)
{
	return f->key_bytes + (v->line ? f->bytes : 0);
}

EMI_VARY_INLINE uint64_t emi_big_endian(uint64_t x)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return x;
#else
	return __builtin_bswap64(x);
#endif
}

/* The eight bytes of the string at a depth, as a number that compares as they do; where it is shorter, as if zeroes
 * (reversed: their inverse) followed. */
EMI_VARY_INLINE uint64_t emi_string_key(const emi_vary *v, const emi_frame *f, uint64_t depth)
{
	const uint64_t n = emi_string_bytes(v, f);
	uint64_t left, x;

	if (depth >= n)
		return v->reverse ? UINT64_MAX : 0;
	left = n - depth;
	memcpy(&x, f->string + depth, sizeof x);
	x = emi_big_endian(x);
	if (left < 8)
		x &= ~(uint64_t)0 << (64 - 8 * left);
	if (!v->reverse)
		return x;
	/* Only the record's part is inverted. */
	if (depth >= f->key_bytes)
		return ~x;
	return f->key_bytes - depth >= 8 ? x : x ^ (~(uint64_t)0 >> (8 * (f->key_bytes - depth)));
}

#define EMI_WORDS_INLINE 4u     /* so many words are compared before memcmp() is called */

/* memcmp() of n bytes, for strings that mostly differ early. */
EMI_VARY_INLINE int emi_bytes_compare(const unsigned char *a, const unsigned char *b, uint64_t n)
{
	uint64_t x, y, i;

	for (i = 0; i < EMI_WORDS_INLINE && n >= 8; i++) {
		memcpy(&x, a, 8);
		memcpy(&y, b, 8);
		if (x != y)
			return emi_big_endian(x) < emi_big_endian(y) ? -1 : 1;
		a += 8;
		b += 8;
		n -= 8;
	}
	return n != 0 ? memcmp(a, b, (size_t)n) : 0;
}

/* Compare two strings that are known to agree in their first depth bytes: <0, 0, >0. */
EMI_VARY_INLINE int emi_string_compare(const emi_vary *v, const emi_frame *a, const emi_frame *b, uint64_t depth)
{
	const uint64_t na = emi_string_bytes(v, a), nb = emi_string_bytes(v, b), n = na < nb ? na : nb;
	int c;

	/* Keys are prefix-free: where they differ, they do so within both. */
	if (depth < a->key_bytes && depth < b->key_bytes) {
		const uint64_t nk = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;

		c = emi_bytes_compare(a->string + depth, b->string + depth, nk - depth);
		if (c != 0)
			return c;
		depth = nk;
	}
	c = depth < n ? emi_bytes_compare(a->string + depth, b->string + depth, n - depth) : 0;
	if (c == 0)
		c = (na > nb) - (na < nb);
	return v->reverse ? -c : c;
}

/* How many bytes two strings have in common, at least depth and else at most limit. */
EMI_VARY_INLINE uint64_t emi_string_common_within(const emi_vary *v, const emi_frame *a, const emi_frame *b,
						  uint64_t depth, uint64_t limit)
{
	const uint64_t na = emi_string_bytes(v, a), nb = emi_string_bytes(v, b);
	uint64_t n = na < nb ? na : nb, x, y;

	n = n < limit ? n : limit;
	/* Eight bytes at a time, also at the end: what lies behind a string may be read, but means nothing. */
	for (; depth < n; depth += 8) {
		memcpy(&x, a->string + depth, 8);
		memcpy(&y, b->string + depth, 8);
		if (x != y) {
			depth += (uint64_t)__builtin_clzll(emi_big_endian(x ^ y)) / 8;
			return depth < n ? depth : n;
		}
		if (n - depth < 8)
			return n;
	}
	return depth;
}

EMI_VARY_INLINE uint64_t emi_string_common(const emi_vary *v, const emi_frame *a, const emi_frame *b, uint64_t depth)
{
	return emi_string_common_within(v, a, b, depth, UINT64_MAX);
}

/* An element whose value is the address of a frame that was taken apart. */
EMI_VARY_INLINE emi_pair emi_frame_elem(const emi_vary *v, const emi_frame *f)
{
	const emi_pair e = { .key = emi_string_key(v, f, 0), .val = (uintptr_t)f };

	return e;
}

/*
 * Make a frame of a record of n bytes at [out, out + room).  Returns its length, or 0 when it does not fit; *need, when
 * not NULL, is then a size that does.
 */
size_t emi_frame_make(const emi_vary *v, const unsigned char *record, size_t n, unsigned char *out, size_t room,
		      size_t *need);

/* The frame of a record of so many bytes fits in `frame' bytes, whatever it contains.  Others may do so, too. */
uint64_t emi_frame_sure(const emi_vary *v, uint64_t frame);

#endif
