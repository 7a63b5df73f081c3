/* SPDX-License-Identifier: BSL-1.0 */
/*
 * network_avx2.h -- sorting networks for up to eight registers of bare keys.
 *
 * The networks of network_avx512.h in registers of half the width.  What that has and this has not:
 *
 *   - Minimum and maximum of 64 bits: one comparison and two selections.  It compares numbers with a sign, so the highest bit of keys is
 *     inverted while they are in registers.
 *   - Stores of some lanes that are fast on all processors: registers are stored whole, and what is behind the keys is overwritten if there
 *     is room.  Buckets are sorted one after the other, so the next one's keys go there anyway.
 */
#ifndef EMI_NETWORK_AVX2_H
#define EMI_NETWORK_AVX2_H

#include "kern/k_util.h"

#define K_NET_REGS 8
#define K_NET_BYTES 32u         /* of a register */

/* Lanes in w, another order of those of v, are what they meet: those in `high' keep the larger one. */
static K_INLINE __m256i net_keep_u64(__m256i v, __m256i w, __m256i high)
{
	return _mm256_blendv_epi8(v, w, _mm256_xor_si256(_mm256_cmpgt_epi64(v, w), high));
}

/* Lane i and lane i ^ 1, 2 and 3. */
static K_INLINE __m256i net_xor1_u64(__m256i v)
{
	return net_keep_u64(v, _mm256_shuffle_epi32(v, 0x4e), _mm256_set_epi64x(-1, 0, -1, 0));
}

static K_INLINE __m256i net_xor2_u64(__m256i v)
{
	return net_keep_u64(v, _mm256_permute2x128_si256(v, v, 1), _mm256_set_epi64x(-1, -1, 0, 0));
}

static K_INLINE __m256i net_mirror_u64(__m256i v)
{
	return _mm256_permute4x64_epi64(v, 0x1b);
}

static K_INLINE __m256i net_xor3_u64(__m256i v)
{
	return net_keep_u64(v, net_mirror_u64(v), _mm256_set_epi64x(-1, -1, 0, 0));
}

/* A register whose lanes are bitonic is put in order. */
static K_INLINE __m256i net_merge_u64(__m256i v)
{
	return net_xor1_u64(net_xor2_u64(v));
}

/* A register in any order is put in order. */
static K_INLINE __m256i net_sort_u64(__m256i v)
{
	return net_xor1_u64(net_xor3_u64(net_xor1_u64(v)));
}

/* Lane by lane the smaller one into *low. */
static K_INLINE void net_order_u64(__m256i *low, __m256i *high)
{
	const __m256i v = *low, w = *high, above = _mm256_cmpgt_epi64(v, w);

	*low = _mm256_blendv_epi8(v, w, above);
	*high = _mm256_blendv_epi8(w, v, above);
}

/* Four registers in any order are put in order, each by itself: keys of the same lane are sorted, and lanes become registers. */
static K_INLINE void net_sort4_u64(__m256i *v)
{
	__m256i a, b, c, d;

	net_order_u64(&v[0], &v[1]);
	net_order_u64(&v[2], &v[3]);
	net_order_u64(&v[0], &v[2]);
	net_order_u64(&v[1], &v[3]);
	net_order_u64(&v[1], &v[2]);
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
static K_INLINE __m256i net_have_u64(int left)
{
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(3, 2, 1, 0));
}

static K_INLINE __m256i net_sign_u64(__m256i v)
{
	return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN));
}

static K_INLINE __m256i net_load_u64(const k_u64 *src, int left)
{
	const __m256i have = net_have_u64(left);

	if (left >= 4)
		return net_sign_u64(_mm256_loadu_si256((const __m256i *)(const void *)src));
	return net_sign_u64(_mm256_or_si256(_mm256_maskload_epi64((const long long *)(const void *)src, have),
					    _mm256_xor_si256(have, _mm256_set1_epi64x(-1))));
}

static K_INLINE void net_store_u64(k_u64 *dst, int left, __m256i v)
{
	(void)left;
	_mm256_storeu_si256((__m256i *)(void *)dst, net_sign_u64(v));
}

/* Lane i and lane i ^ x: w is v in that order, and `high' a constant with a bit for each lane that keeps the larger one. */
#define NET_KEEP_U32(v, w, high) _mm256_blend_epi32(_mm256_min_epu32(v, w), _mm256_max_epu32(v, w), high)

static K_INLINE __m256i net_xor1_u32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0xb1);

	return NET_KEEP_U32(v, w, 0xaa);
}

static K_INLINE __m256i net_xor2_u32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0x4e);

	return NET_KEEP_U32(v, w, 0xcc);
}

static K_INLINE __m256i net_xor3_u32(__m256i v)
{
	const __m256i w = _mm256_shuffle_epi32(v, 0x1b);

	return NET_KEEP_U32(v, w, 0xcc);
}

static K_INLINE __m256i net_xor4_u32(__m256i v)
{
	const __m256i w = _mm256_permute2x128_si256(v, v, 1);

	return NET_KEEP_U32(v, w, 0xf0);
}

static K_INLINE __m256i net_mirror_u32(__m256i v)
{
	return _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static K_INLINE __m256i net_xor7_u32(__m256i v)
{
	const __m256i w = net_mirror_u32(v);

	return NET_KEEP_U32(v, w, 0xf0);
}

static K_INLINE __m256i net_merge_u32(__m256i v)
{
	return net_xor1_u32(net_xor2_u32(net_xor4_u32(v)));
}

static K_INLINE __m256i net_sort_u32(__m256i v)
{
	v = net_xor1_u32(net_xor3_u32(net_xor1_u32(v)));
	return net_xor1_u32(net_xor2_u32(net_xor7_u32(v)));
}

static K_INLINE void net_order_u32(__m256i *low, __m256i *high)
{
	const __m256i v = *low;

	*low = _mm256_min_epu32(v, *high);
	*high = _mm256_max_epu32(v, *high);
}

/* Four registers: keys of the same lane are sorted, lanes become halves of registers, and the two halves of each one sorted run. */
static K_INLINE void net_sort4_u32(__m256i *v)
{
	__m256i a, b, c, d;
	int i;

	net_order_u32(&v[0], &v[1]);
	net_order_u32(&v[2], &v[3]);
	net_order_u32(&v[0], &v[2]);
	net_order_u32(&v[1], &v[3]);
	net_order_u32(&v[1], &v[2]);
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
		v[i] = net_xor1_u32(net_xor2_u32(net_xor7_u32(v[i])));
}

static K_INLINE __m256i net_load_u32(const k_u32 *src, int left)
{
	const __m256i have = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));

	if (left >= 8)
		return _mm256_loadu_si256((const __m256i *)(const void *)src);
	return _mm256_or_si256(_mm256_maskload_epi32((const int *)(const void *)src, have), _mm256_xor_si256(have, _mm256_set1_epi64x(-1)));
}

static K_INLINE void net_store_u32(k_u32 *dst, int left, __m256i v)
{
	(void)left;
	_mm256_storeu_si256((__m256i *)(void *)dst, v);
}

#define N_FN(name) name##_u64
#define N_KEY k_u64
#define N_VEC __m256i
#include "kern/network.inc"

#define N_FN(name) name##_u32
#define N_KEY k_u32
#define N_VEC __m256i
#include "kern/network.inc"

/* Do the registers that n keys take fit in `room' elements?  They are half full, or there is but one. */
static K_INLINE int net_fits(size_t n, size_t room, size_t lanes)
{
	return room >= lanes && room / 2 >= n;
}

/* Sort src[0..n), at most K_NET_REGS registers full, into dst, which is src or does not overlap it.  What is in dst[n..room) is lost: room is n
 * if there is anything. */
static void net_u64(const k_u64 *src, k_u64 *dst, size_t n, size_t room)
{
	k_u64 whole[K_NET_REGS * K_NET_BYTES / sizeof(k_u64)];

	if (net_fits(n, room, K_NET_BYTES / sizeof(k_u64))) {
		net_any_u64(src, dst, n);
		return;
	}
	net_any_u64(src, whole, n);
	memcpy(dst, whole, n * sizeof *dst);
}

static void net_u32(const k_u32 *src, k_u32 *dst, size_t n, size_t room)
{
	k_u32 whole[K_NET_REGS * K_NET_BYTES / sizeof(k_u32)];

	if (net_fits(n, room, K_NET_BYTES / sizeof(k_u32))) {
		net_any_u32(src, dst, n);
		return;
	}
	net_any_u32(src, whole, n);
	memcpy(dst, whole, n * sizeof *dst);
}

#endif
