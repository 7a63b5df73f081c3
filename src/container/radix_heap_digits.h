/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_digits.h -- in which bucket of a radix heap a key belongs.
 *
 * Keys have h + 1 digits to the base r, the last of which, number h, has all that is left.  They are compared with a
 * reference, which no key in a bucket is below.  The level of a key is the highest digit in which it differs from the
 * reference (0 if it does not), and its bucket at that level is that digit.  At level h a key is ahead of the reference
 * by 1 in that digit, so one bucket would do; there are two, for even and for odd ones, as one may still be distributed
 * when the reference has that digit itself, and the next one comes already.  So buckets are numbered level * r + digit,
 * and there are h * r + 2.  Keys of a bucket are less than those of all buckets with larger numbers that are in use.
 *
 * For each level the reference says which keys have all higher digits in common with it: from `start' on, and those of
 * the level below up to `below'.  So finding the level takes a comparison for each level, nearly always only the first
 * of them, and the digit is what is above `start', divided by r^level: a shift if r is a power of two, else a
 * multiplication by 2^64 / r^level, of which the upper half is right or one too small.
 *
 * The reference may become any larger key that shares all digits above `level' with it, as long as no bucket below that
 * level has a key, and none of that level whose digit is that of the new reference or less.
 */
#ifndef EMI_RADIX_HEAP_DIGITS_H
#define EMI_RADIX_HEAP_DIGITS_H

#include <stdint.h>

#define EMI_RADIX_LEVELS 64u
#define EMI_RADIX_TOP 2u        /* buckets of level h */

typedef struct emi_radix_level {
	uint64_t start;         /* the first key with the same higher digits as the reference */
	uint64_t below;         /* the last key of all lower levels; not used at level 0 */
	uint64_t power;         /* r^level; at level h it may be more than 64 bits have: then no key is there */
	uint64_t inverse;       /* 2^64 / power, if r is no power of two */
	uint32_t shift;
	uint32_t first;         /* number of the bucket of digit 0 */
} emi_radix_level;

typedef struct emi_radix_digits {
	uint32_t levels;        /* h */
	uint32_t radix;         /* r */
	int shifts;             /* r is a power of two */
	uint64_t reference;
	emi_radix_level level[EMI_RADIX_LEVELS + 1];
} emi_radix_digits;

/* h levels of r >= 2; the reference is 0.  r^(h-1) has 64 bits at most. */
void emi_radix_digits_init(emi_radix_digits *d, uint32_t levels, uint32_t radix);

/* For each h from 1 on, the least r >= 2 with r^h > c; 2^32 and more are UINT32_MAX. */
void emi_radix_least(uint64_t c, uint32_t least[EMI_RADIX_LEVELS + 1]);

/* Another reference, which has all digits above digit `level' in common with the one before. */
void emi_radix_refer(emi_radix_digits *d, uint64_t reference, uint32_t level);

/* The last key that belongs in a bucket. */
uint64_t emi_radix_last(const emi_radix_digits *d, uint32_t bucket);

/* The level of a bucket. */
static inline uint32_t emi_radix_level_of(const emi_radix_digits *d, uint32_t bucket)
{
	uint32_t l = d->levels;

	while (bucket < d->level[l].first)
		l--;
	return l;
}

/* Buckets there are. */
static inline uint32_t emi_radix_count(const emi_radix_digits *d)
{
	return d->level[d->levels].first + EMI_RADIX_TOP;
}

/* How often the power of a level goes into x. */
static inline uint64_t emi_radix_divide(const emi_radix_digits *d, const emi_radix_level *l, uint64_t x)
{
	if (d->shifts)
		return x >> l->shift;
#ifdef __SIZEOF_INT128__
	{
		__extension__ typedef unsigned __int128 wide;
		const uint64_t q = (uint64_t)(((wide)x * l->inverse) >> 64);

		return q + (x - q * l->power >= l->power);
	}
#else
	return x / l->power;
#endif
}

/* The bucket of level h that a key is in, or would be if the reference had another digit there. */
static inline uint32_t emi_radix_top_bucket(const emi_radix_digits *d, uint64_t key)
{
	const emi_radix_level *l = &d->level[d->levels];

	return l->first + (uint32_t)(emi_radix_divide(d, l, key) & 1);
}

/* The bucket of a key that is not below the reference, and known to be of level `top' or lower. */
static inline uint32_t emi_radix_bucket_of(const emi_radix_digits *d, uint64_t key, uint32_t top)
{
	const emi_radix_level *l = &d->level[top];

	while (l != d->level && key <= l->below)
		l--;
	if (l == &d->level[d->levels])
		return emi_radix_top_bucket(d, key);
	return l->first + (uint32_t)emi_radix_divide(d, l, key - l->start);
}

#endif
