/* SPDX-License-Identifier: BSL-1.0 */
/*
 * normalise.h -- from the bytes of a record to an unsigned number that sorts as its key does, and back.
 *
 * The normalised key of a record is the bytes of its fields one behind the other, most significant
 * first, in an order of their own:
 *
 *   - little-endian numbers are turned round;
 *   - a float whose sign is set has all its other bits inverted, so that larger magnitudes come
 *     first;
 *   - some bits are inverted whatever the value: the sign of signed integers and of floats, so that
 *     negative numbers come first, and then all bits of a descending field.
 *
 * The second step leaves the sign alone and undoes itself, so the way back is the third step
 * followed by the second.  What a whole record needs in the third step is one exclusive or with a constant.
 *
 * Elements hold the first 8 bytes of this key, its prefix, and some the next 8, too.  An emi_prefix says, without a
 * word about types, which byte of the record each byte of the prefix is: the codec sees from that what a record looks
 * like, and fields that happen to lie side by side are as good as one.
 */
#ifndef EMI_NORMALISE_H
#define EMI_NORMALISE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <extmem/order.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define EMI_BIG_ENDIAN 1
#else
#define EMI_BIG_ENDIAN 0
#endif

#if defined(__GNUC__)
#define EMI_INLINE static inline __attribute__((always_inline))
#else
#define EMI_INLINE static inline
#endif

/* Bytes of a key that an element holds. */
#define EMI_PREFIX_MAX 8u

/* A key field whose description was found to be right. */
typedef struct emi_field {
	size_t offset;
	size_t width;
	int32_t type;
	uint32_t flags;
} emi_field;

/* Bytes of a record that can be fetched as one number. */
typedef struct emi_piece {
	size_t at;
	int kind;               /* a width, negative when its byte order is not this machine's */
	unsigned shift;         /* where in the whole it goes */
} emi_piece;

/* Up to 8 bytes of a record that make a number, the first the most significant. */
typedef struct emi_bytes {
	unsigned n;
	unsigned npieces;
	size_t at[EMI_PREFIX_MAX];              /* where each of them is */
	emi_piece piece[EMI_PREFIX_MAX];        /* the same, in as few pieces as possible */
} emi_bytes;

/* The sign of a float within the prefix, and the bits that it inverts. */
typedef struct emi_sign {
	unsigned bit;
	uint64_t inverts;
} emi_sign;

typedef struct emi_prefix {
	emi_bytes key;                  /* none: all keys are 0 */
	emi_bytes rest;                 /* what travels in val */
	uint64_t flip;                  /* what is inverted whatever the value */
	unsigned nsigns;
	emi_sign sign[2];               /* three floats do not begin within 8 bytes */
} emi_prefix;

/* The width of a numeric type, 1 for EM_KEY_BYTES, 0 for an unknown one. */
size_t emi_type_width(int32_t type);

/* "u8" ... "f64", "bytes"; NULL for an unknown one.  Static. */
const char *emi_type_name(int32_t type);

/* Find the pieces, when n and at are known. */
void emi_bytes_cut(emi_bytes *b);

/* Describe up to 8 bytes of the key that n fields make, from its byte `from' on, where no float may be cut in two: what
 * its sign inverts would lie behind.  The rest is left empty. */
void emi_prefix_make(emi_prefix *p, const emi_field *fields, uint32_t n, size_t from);

/* Is a float cut in two there? */
int emi_cuts_float(const emi_field *fields, uint32_t n, size_t from);

/* Compare two records by one field: -1, 0, 1. */
int emi_field_compare(const emi_field *f, const unsigned char *a, const unsigned char *b);

/* A number of 1, 2, 4 or 8 bytes at any address; `swap' when its byte order is not this machine's. */
EMI_INLINE uint64_t emi_get(const unsigned char *p, unsigned width, int swap)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (width) {
	case 1:
		return p[0];
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return swap ? __builtin_bswap16(v16) : v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return swap ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, p, sizeof(v64));
		return swap ? __builtin_bswap64(v64) : v64;
	}
}

EMI_INLINE void emi_put(unsigned char *p, unsigned width, int swap, uint64_t v)
{
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (width) {
	case 1:
		p[0] = (unsigned char)v;
		break;
	case 2:
		v16 = swap ? __builtin_bswap16(v16) : v16;
		memcpy(p, &v16, sizeof(v16));
		break;
	case 4:
		v32 = swap ? __builtin_bswap32(v32) : v32;
		memcpy(p, &v32, sizeof(v32));
		break;
	default:
		v = swap ? __builtin_bswap64(v) : v;
		memcpy(p, &v, sizeof(v));
		break;
	}
}

/* Step two for one number: invert the other bits when the sign, its highest bit, is set. */
EMI_INLINE uint64_t emi_invert(uint64_t v, unsigned bit, uint64_t inverts)
{
	return v ^ ((0 - ((v >> bit) & 1)) & inverts);
}

/* Bytes of a record, wherever they are, as a number, and back.  Every record has the same pieces, so
 * the processor foresees the branches. */
EMI_INLINE uint64_t emi_gather(const unsigned char *record, const emi_bytes *b)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < b->npieces; i++) {
		const unsigned char *p = record + b->piece[i].at;
		const unsigned shift = b->piece[i].shift;

		switch (b->piece[i].kind) {
		case 1: v |= emi_get(p, 1, 0) << shift; break;
		case 2: v |= emi_get(p, 2, 0) << shift; break;
		case -2: v |= emi_get(p, 2, 1) << shift; break;
		case 4: v |= emi_get(p, 4, 0) << shift; break;
		case -4: v |= emi_get(p, 4, 1) << shift; break;
		case 8: v |= emi_get(p, 8, 0) << shift; break;
		default: v |= emi_get(p, 8, 1) << shift; break;
		}
	}
	return v;
}

EMI_INLINE void emi_spread(unsigned char *record, const emi_bytes *b, uint64_t v)
{
	unsigned i;

	for (i = 0; i < b->npieces; i++) {
		unsigned char *p = record + b->piece[i].at;
		const uint64_t part = v >> b->piece[i].shift;

		switch (b->piece[i].kind) {
		case 1: emi_put(p, 1, 0, part); break;
		case 2: emi_put(p, 2, 0, part); break;
		case -2: emi_put(p, 2, 1, part); break;
		case 4: emi_put(p, 4, 0, part); break;
		case -4: emi_put(p, 4, 1, part); break;
		case 8: emi_put(p, 8, 0, part); break;
		default: emi_put(p, 8, 1, part); break;
		}
	}
}

/* The prefix of a record's key. */
EMI_INLINE uint64_t emi_prefix_get(const emi_prefix *p, const unsigned char *record)
{
	uint64_t v = emi_gather(record, &p->key);
	unsigned i;

	for (i = 0; i < p->nsigns; i++)
		v = emi_invert(v, p->sign[i].bit, p->sign[i].inverts);
	return v ^ p->flip;
}

/* The bytes of a record that its key tells. */
EMI_INLINE void emi_prefix_put(const emi_prefix *p, unsigned char *record, uint64_t key)
{
	uint64_t v = key ^ p->flip;
	unsigned i;

	for (i = 0; i < p->nsigns; i++)
		v = emi_invert(v, p->sign[i].bit, p->sign[i].inverts);
	emi_spread(record, &p->key, v);
}

#endif
