/* SPDX-License-Identifier: BSL-1.0 */
/*
 * network_avx2.h -- sorting networks for up to eight registers of bare keys.
 *
 * The networks of network_avx512.h in registers of half the width.  AVX2 has no minimum and maximum of 64 bits: it is
 * one comparison and two selections.  It compares numbers with a sign, so the highest bit of keys is inverted while
 * they are in registers.
 */
#ifndef EMI_NETWORK_AVX2_H
#define EMI_NETWORK_AVX2_H

#include "kern/k_util.h"

#define K_NET_REGS 8

/* Lanes in w, another order of those of v, are what they meet: those in `high' keep the larger one. */
static K_INLINE __m256i net_keep_y64(__m256i v, __m256i w, __m256i high)
{
#if defined(__AVX512VL__)
	return _mm256_mask_max_epi64(_mm256_min_epi64(v, w), _mm256_movepi64_mask(high), v, w);
#else
	return _mm256_blendv_epi8(v, w, _mm256_xor_si256(_mm256_cmpgt_epi64(v, w), high));
#endif
}

/* Lane i and lane i ^ 1, 2 and 3. */
static K_INLINE __m256i net_xor1_y64(__m256i v)
{
	return net_keep_y64(v, _mm256_shuffle_epi32(v, 0x4e), _mm256_set_epi64x(-1, 0, -1, 0));
}

static K_INLINE __m256i net_xor2_y64(__m256i v)
{
	return net_keep_y64(v, _mm256_permute2x128_si256(v, v, 1), _mm256_set_epi64x(-1, -1, 0, 0));
}

static K_INLINE __m256i net_mirror_y64(__m256i v)
{
	return _mm256_permute4x64_epi64(v, 0x1b);
}

static K_INLINE __m256i net_xor3_y64(__m256i v)
{
	return net_keep_y64(v, net_mirror_y64(v), _mm256_set_epi64x(-1, -1, 0, 0));
}

/* A register whose lanes are bitonic is put in order. */
static K_INLINE __m256i net_merge_y64(__m256i v)
{
	return net_xor1_y64(net_xor2_y64(v));
}

/* A register in any order is put in order. */
static K_INLINE __m256i net_sort_y64(__m256i v)
{
	return net_xor1_y64(net_xor3_y64(net_xor1_y64(v)));
}

/* Lane by lane the smaller one into *low. */
static K_INLINE void net_order_y64(__m256i *low, __m256i *high)
{
	const __m256i v = *low, w = *high;
#if defined(__AVX512VL__)
	*low = _mm256_min_epi64(v, w);
	*high = _mm256_max_epi64(v, w);
#else
	const __m256i above = _mm256_cmpgt_epi64(v, w);

	*low = _mm256_blendv_epi8(v, w, above);
	*high = _mm256_blendv_epi8(w, v, above);
#endif
}

/* Four registers in any order are put in order, each by itself: keys of the same lane are sorted, and lanes become
 * registers. */
static K_INLINE void net_sort4_y64(__m256i *v)
{
	__m256i a, b, c, d;

	net_order_y64(&v[0], &v[1]);
	net_order_y64(&v[2], &v[3]);
	net_order_y64(&v[0], &v[2]);
	net_order_y64(&v[1], &v[3]);
	net_order_y64(&v[1], &v[2]);
	a = _mm256_unpacklo_epi64(v[0], v[1]);
	b = _mm256_unpackhi_epi64(v[0], v[1]);
	c = _mm256_unpacklo_epi64(v[2], v[3]);
	d = _mm256_unpackhi_epi64(v[2], v[3]);
	v[0] = _mm256_permute2x128_si256(a, c, 0x20);
	v[1] = _mm256_permute2x128_si256(b, d, 0x20);
	v[2] = _mm256_permute2x128_si256(a, c, 0x31);
	v[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

/* The lanes that are there if so many keys are, or all. */
static K_INLINE __m256i net_have_y64(int left)
{
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(3, 2, 1, 0));
}

static K_INLINE __m256i net_sign_y64(__m256i v)
{
	return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN));
}

static K_INLINE __m256i net_load_y64(const k_u64 *src, int left)
{
	const __m256i have = net_have_y64(left);

	if (left >= 4)
		return net_sign_y64(_mm256_loadu_si256((const __m256i *)(const void *)src));
	return net_sign_y64(_mm256_or_si256(_mm256_maskload_epi64((const long long *)(const void *)src, have),
					    _mm256_xor_si256(have, _mm256_set1_epi64x(-1))));
}

static K_INLINE void net_store_y64(k_u64 *dst, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)dst, net_sign_y64(v));
}

/* Lane i and lane i ^ x: w is v in that order, and `high' a constant with a bit for each lane that keeps the larger
 * one. */
#define NET_KEEP_Y32(v, w, high) _mm256_blend_epi32(_mm256_min_epu32(v, w), _mm256_max_epu32(v, w), high)

static K_INLINE __m256i net_xor1_y32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0xb1);

	return NET_KEEP_Y32(v, w, 0xaa);
}

static K_INLINE __m256i net_xor2_y32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0x4e);

	return NET_KEEP_Y32(v, w, 0xcc);
}

static K_INLINE __m256i net_xor3_y32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0x1b);

	return NET_KEEP_Y32(v, w, 0xcc);
}

static K_INLINE __m256i net_xor4_y32(__m256i v)
{
	const __m256i w = _mm256_permute2x128_si256(v, v, 1);

	return NET_KEEP_Y32(v, w, 0xf0);
}

static K_INLINE __m256i net_mirror_y32(__m256i v)
{
	return _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static K_INLINE __m256i net_xor7_y32(__m256i v)
{
	const __m256i w = net_mirror_y32(v);

	return NET_KEEP_Y32(v, w, 0xf0);
}

static K_INLINE __m256i net_merge_y32(__m256i v)
{
	return net_xor1_y32(net_xor2_y32(net_xor4_y32(v)));
}

static K_INLINE __m256i net_sort_y32(__m256i v)
{
	v = net_xor1_y32(net_xor3_y32(net_xor1_y32(v)));
	return net_xor1_y32(net_xor2_y32(net_xor7_y32(v)));
}

static K_INLINE void net_order_y32(__m256i *low, __m256i *high)
{
	const __m256i v = *low;

	*low = _mm256_min_epu32(v, *high);
	*high = _mm256_max_epu32(v, *high);
}

/* Four registers: keys of the same lane are sorted, lanes become halves of registers, and the two halves of each one
 * sorted run. */
static K_INLINE void net_sort4_y32(__m256i *v)
{
	__m256i a, b, c, d;
	int i;

	net_order_y32(&v[0], &v[1]);
	net_order_y32(&v[2], &v[3]);
	net_order_y32(&v[0], &v[2]);
	net_order_y32(&v[1], &v[3]);
	net_order_y32(&v[1], &v[2]);
	a = _mm256_unpacklo_epi32(v[0], v[1]);
	b = _mm256_unpackhi_epi32(v[0], v[1]);
	c = _mm256_unpacklo_epi32(v[2], v[3]);
	d = _mm256_unpackhi_epi32(v[2], v[3]);
	v[0] = _mm256_unpacklo_epi64(a, c);
	v[1] = _mm256_unpackhi_epi64(a, c);
	v[2] = _mm256_unpacklo_epi64(b, d);
	v[3] = _mm256_unpackhi_epi64(b, d);
	K_UNROLL
	for (i = 0; i < 4; i++)
		v[i] = net_xor1_y32(net_xor2_y32(net_xor7_y32(v[i])));
}

static K_INLINE __m256i net_load_y32(const k_u32 *src, int left)
{
	const __m256i have = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

	if (left >= 8)
		return _mm256_loadu_si256((const __m256i *)(const void *)src);
	return _mm256_or_si256(_mm256_maskload_epi32((const int *)(const void *)src, have),
			       _mm256_xor_si256(have, _mm256_set1_epi64x(-1)));
}

static K_INLINE void net_store_y32(k_u32 *dst, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)dst, v);
}

#define N_FN(name) name##_y64
#define N_KEY k_u64
#define N_VEC __m256i
#include "kern/network.inc"

#define N_FN(name) name##_y32
#define N_KEY k_u32
#define N_VEC __m256i
#include "kern/network.inc"

#endif
