/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_avx2.h -- merging two sequences of bare 32-bit keys by registers of eight.
 *
 * Each strand (merge_rounds.inc) keeps eight keys in a register.  Of l and r it takes the eight that begin with the
 * smaller key, and a bitonic network of both registers (Batcher, AFIPS 1968) tells the eight that are next from those
 * that are kept: nothing in front of either sequence is smaller than these.  Bare keys only, as what is equal changes
 * places; and for keys of 64 bits AVX2 has no minimum.
 *
 * A strand runs ahead of what it writes by what it keeps and takes, and so reads as many elements behind its end,
 * K_WIDE_MARGIN, which must be there.
 */
#ifndef EMI_MERGE_AVX2_H
#define EMI_MERGE_AVX2_H

#include "kern/k_util.h"

#define K_WIDE 8                /* lanes */
#define K_WIDE_STRANDS 3
#define K_WIDE_MARGIN 16u
#define K_WIDE_LEAST 128u       /* elements that it is worth it for */
#define K_WIDE_ASK 6            /* steps between two calls of k_ask() */

static K_INLINE __m256i wide_load(const k_u32 *src)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

static K_INLINE void wide_store(k_u32 *dst, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)dst, v);
}

/* Of each half two lanes of a, and two of b; `how' is a constant. */
#define WIDE_SHUFFLE(a, b, how)                                                                                        \
	_mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), how))

/* Two sorted registers become one sequence: *low, *high.  All steps are done for both at once, with lanes gathered
 * where they can be compared. */
static K_INLINE void wide_merge(__m256i *low, __m256i *high)
{
	const __m256i turned = _mm256_shuffle_epi32(_mm256_permute2x128_si256(*high, *high, 1), 0x1b);
	__m256i a = _mm256_min_epu32(*low, turned), b = _mm256_max_epu32(*low, turned), c, d;

	/* Lanes 4 apart: halves of low and high in a, and the others in b. */
	c = _mm256_permute2x128_si256(a, b, 0x20);
	d = _mm256_permute2x128_si256(a, b, 0x31);
	a = _mm256_min_epu32(c, d);
	b = _mm256_max_epu32(c, d);
	/* 2 apart. */
	c = _mm256_unpacklo_epi64(a, b);
	d = _mm256_unpackhi_epi64(a, b);
	a = _mm256_min_epu32(c, d);
	b = _mm256_max_epu32(c, d);
	/* Neighbours: lanes 0, 4, 2, 6 and 1, 5, 3, 7 of each half. */
	c = WIDE_SHUFFLE(a, b, 0x88);
	d = WIDE_SHUFFLE(a, b, 0xdd);
	a = _mm256_min_epu32(c, d);
	b = _mm256_max_epu32(c, d);
	c = _mm256_unpacklo_epi32(a, b);
	d = _mm256_unpackhi_epi32(a, b);
	a = _mm256_unpacklo_epi64(c, d);
	b = _mm256_unpackhi_epi64(c, d);
	*low = _mm256_permute2x128_si256(a, b, 0x20);
	*high = _mm256_permute2x128_si256(a, b, 0x31);
}

/* A strand: where it is in l and r, and what it keeps.  Which pointer moves is chosen without a branch. */
typedef struct wide_strand {
	const k_u32 *l, *r;
	__m256i kept;
} wide_strand;

/* Take the eight that begin with the smaller key. */
static K_INLINE __m256i wide_take(wide_strand *s)
{
	size_t from_r = 0;
	const k_u32 *at = (const k_u32 *)(uintptr_t)k_first(*s->l, *s->r, (uintptr_t)s->l, (uintptr_t)s->r, &from_r);

	s->r += from_r * K_WIDE;
	s->l += K_WIDE - from_r * K_WIDE;
	return wide_load(at);
}

/* Take the eight that end with the larger one. */
static K_INLINE __m256i wide_take_last(wide_strand *s)
{
	size_t from_r = 1;
	const k_u32 *at =
		(const k_u32 *)(uintptr_t)k_last(s->l[-1], s->r[-1], (uintptr_t)s->l, (uintptr_t)s->r, &from_r);

	s->l -= from_r * K_WIDE;
	s->r -= K_WIDE - from_r * K_WIDE;
	return wide_load(at - K_WIDE);
}

/*
 * Merge l[0..nl) and r[0..nr) by strands of len elements each, a multiple of K_WIDE; the last one goes down from the
 * end and may meet the one before it.  Strand s begins behind from_r[s] elements of r.
 */
static void merge_wide(const k_u32 *l, size_t nl, const k_u32 *r, size_t nr, k_u32 *out, size_t len,
		       const size_t *from_r, k_ahead *ahead)
{
	wide_strand s[K_WIDE_STRANDS];
	size_t i;
	unsigned n, asked = 0;

	K_UNROLL
	for (n = 0; n + 1 < K_WIDE_STRANDS; n++) {
		s[n].l = l + (n * len - from_r[n]);
		s[n].r = r + from_r[n];
		s[n].kept = wide_take(&s[n]);
	}
	s[n].l = l + nl;
	s[n].r = r + nr;
	s[n].kept = wide_take_last(&s[n]);
	for (i = 0; i < len; i += K_WIDE) {
		__m256i next;

		if (asked-- == 0) {
			k_ask(ahead);
			asked = K_WIDE_ASK - 1;
		}
		K_UNROLL
		for (n = 0; n + 1 < K_WIDE_STRANDS; n++) {
			next = wide_take(&s[n]);
			wide_merge(&s[n].kept, &next);
			wide_store(out + n * len + i, s[n].kept);
			s[n].kept = next;
		}
		next = wide_take_last(&s[n]);
		wide_merge(&s[n].kept, &next);
		wide_store(out + nl + nr - K_WIDE - i, next);
	}
}

#endif
