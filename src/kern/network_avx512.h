/* SPDX-License-Identifier: BSL-1.0 */
/*
 * network_avx512.h -- sorting networks for up to eight registers of bare keys.
 *
 * Batcher's bitonic merging (1968) in the form in which all comparisons point the same way: two sorted halves are
 * compared end to end, mirrored, and what comes out is compared at halved distances.  First within the lanes of each
 * register, all registers at once, then across registers, where no lane has to move.  What is missing in
 * the last register is padded with the largest key, which is legal among keys that are nothing but keys.
 */
#ifndef EMI_NETWORK_AVX512_H
#define EMI_NETWORK_AVX512_H

#include "kern/network_avx2.h"

#define K_NET_FEW 64u           /* bytes of keys that are few */
#define K_NET_PAIRS 64u         /* pairs that one network sorts: as many as bare keys of 8 bytes, */
#define K_NET_BITS 58u          /* ... with so many bits of the key above 6 of the place */

/* Lane i and lane i ^ x: w is v in that order, and `high' a constant with a bit for each lane that keeps the larger
 * one. */
#define NET_KEEP_Z64(v, w, high) _mm512_mask_max_epu64(_mm512_min_epu64(v, w), high, v, w)
#define NET_KEEP_Z32(v, w, high) _mm512_mask_max_epu32(_mm512_min_epu32(v, w), high, v, w)

/* Within 128 bits lanes move in one cycle, farther in several: so what can be is done there. */
static K_INLINE __m512i net_xor1_z64(__m512i v)
{
	const __m512i w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4e);

	return NET_KEEP_Z64(v, w, 0xaa);
}

static K_INLINE __m512i net_xor2_z64(__m512i v)
{
	const __m512i w = _mm512_permutex_epi64(v, 0x4e);

	return NET_KEEP_Z64(v, w, 0xcc);
}

static K_INLINE __m512i net_xor3_z64(__m512i v)
{
	const __m512i w = _mm512_permutex_epi64(v, 0x1b);

	return NET_KEEP_Z64(v, w, 0xcc);
}

static K_INLINE __m512i net_xor4_z64(__m512i v)
{
	const __m512i w = _mm512_shuffle_i64x2(v, v, 0x4e);

	return NET_KEEP_Z64(v, w, 0xf0);
}

static K_INLINE __m512i net_mirror_z64(__m512i v)
{
	return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
}

static K_INLINE __m512i net_xor7_z64(__m512i v)
{
	const __m512i w = net_mirror_z64(v);

	return NET_KEEP_Z64(v, w, 0xf0);
}

static K_INLINE __m512i net_xor1_z32(__m512i v)
{
	const __m512i w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0xb1);

	return NET_KEEP_Z32(v, w, 0xaaaa);
}

static K_INLINE __m512i net_xor2_z32(__m512i v)
{
	const __m512i w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4e);

	return NET_KEEP_Z32(v, w, 0xcccc);
}

static K_INLINE __m512i net_xor3_z32(__m512i v)
{
	const __m512i w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x1b);

	return NET_KEEP_Z32(v, w, 0xcccc);
}

static K_INLINE __m512i net_xor4_z32(__m512i v)
{
	const __m512i w = _mm512_permutex_epi64(v, 0x4e);

	return NET_KEEP_Z32(v, w, 0xf0f0);
}

static K_INLINE __m512i net_xor7_z32(__m512i v)
{
	const __m512i w = _mm512_permutex_epi64(_mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x1b), 0x4e);

	return NET_KEEP_Z32(v, w, 0xf0f0);
}

static K_INLINE __m512i net_xor8_z32(__m512i v)
{
	const __m512i w = _mm512_shuffle_i64x2(v, v, 0x4e);

	return NET_KEEP_Z32(v, w, 0xff00);
}

static K_INLINE __m512i net_mirror_z32(__m512i v)
{
	return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
}

static K_INLINE __m512i net_xor15_z32(__m512i v)
{
	const __m512i w = net_mirror_z32(v);

	return NET_KEEP_Z32(v, w, 0xff00);
}

/* A register whose lanes are bitonic is put in order. */
static K_INLINE __m512i net_merge_z64(__m512i v)
{
	return net_xor1_z64(net_xor2_z64(net_xor4_z64(v)));
}

static K_INLINE __m512i net_merge_z32(__m512i v)
{
	return net_xor1_z32(net_xor2_z32(net_xor4_z32(net_xor8_z32(v))));
}

/* A register in any order is put in order. */
static K_INLINE __m512i net_sort_z64(__m512i v)
{
	v = net_xor1_z64(net_xor3_z64(net_xor1_z64(v)));
	return net_xor1_z64(net_xor2_z64(net_xor7_z64(v)));
}

static K_INLINE __m512i net_sort_z32(__m512i v)
{
	v = net_xor1_z32(net_xor3_z32(net_xor1_z32(v)));
	v = net_xor1_z32(net_xor2_z32(net_xor7_z32(v)));
	return net_xor1_z32(net_xor2_z32(net_xor4_z32(net_xor15_z32(v))));
}

/* Four registers are put in order, each by itself. */
static K_INLINE void net_sort4_z64(__m512i *v)
{
	int i;

	K_UNROLL
	for (i = 0; i < 4; i++)
		v[i] = net_sort_z64(v[i]);
}

static K_INLINE void net_sort4_z32(__m512i *v)
{
	int i;

	K_UNROLL
	for (i = 0; i < 4; i++)
		v[i] = net_sort_z32(v[i]);
}

/* Lane by lane the smaller one into *low. */
static K_INLINE void net_order_z64(__m512i *low, __m512i *high)
{
	const __m512i v = *low;

	*low = _mm512_min_epu64(v, *high);
	*high = _mm512_max_epu64(v, *high);
}

static K_INLINE void net_order_z32(__m512i *low, __m512i *high)
{
	const __m512i v = *low;

	*low = _mm512_min_epu32(v, *high);
	*high = _mm512_max_epu32(v, *high);
}

/* The lanes that are there if so many keys are, or all; less than one: none. */
static K_INLINE unsigned net_have(int left, int lanes)
{
	return (1u << (left >= lanes ? lanes : left > 0 ? left : 0)) - 1;
}

static K_INLINE __m512i net_load_z64(const k_u64 *src, int left)
{
	return _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), (__mmask8)net_have(left, 8), src);
}

static K_INLINE __m512i net_load_z32(const k_u32 *src, int left)
{
	return _mm512_mask_loadu_epi32(_mm512_set1_epi64(-1), (__mmask16)net_have(left, 16), src);
}

static K_INLINE void net_store_z64(k_u64 *dst, __m512i v)
{
	_mm512_storeu_si512((__m512i *)(void *)dst, v);
}

static K_INLINE void net_store_z32(k_u32 *dst, __m512i v)
{
	_mm512_storeu_si512((__m512i *)(void *)dst, v);
}

#define N_FN(name) name##_z64
#define N_KEY k_u64
#define N_VEC __m512i
#include "kern/network.inc"

#define N_FN(name) name##_z32
#define N_KEY k_u32
#define N_VEC __m512i
#include "kern/network.inc"

/* Few keys are sorted in registers of half the width, in which lanes are nearer to each other. */
static void net_yz64(const k_u64 *src, k_u64 *dst, size_t n, size_t room)
{
	if (n <= K_NET_FEW / sizeof *src)
		net_y64(src, dst, n, room);
	else
		net_z64(src, dst, n, room);
}

static void net_yz32(const k_u32 *src, k_u32 *dst, size_t n, size_t room)
{
	if (n <= K_NET_FEW / sizeof *src)
		net_y32(src, dst, n, room);
	else
		net_z32(src, dst, n, room);
}

/* The keys of src[0..n), n at most 64, without what all of them have in common, the bits from `shift' on, which is not
 * 0, above their places; bits that there is no room for are the lowest. */
static K_INLINE void net_pack(const k_pair *src, uint64_t *packed, size_t n, unsigned shift)
{
	const __m512i keys = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0),
		      places = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i room = _mm512_set1_epi64(63);
	const __m128i up = _mm_cvtsi32_si128((int)(64 - shift));
	size_t i;

	for (i = 0; i < n; i += 8) {
		const unsigned left = n - i < 8 ? (unsigned)(n - i) : 8;
		const __m512i a = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, 2 * left), src + i);
		const __m512i b =
			_mm512_maskz_loadu_epi64((__mmask8)(left > 4 ? _bzhi_u32(0xff, 2 * left - 8) : 0), src + i + 4);
		const __m512i key = _mm512_sll_epi64(_mm512_permutex2var_epi64(a, keys, b), up);
		const __m512i place = _mm512_add_epi64(places, _mm512_set1_epi64((long long)i));

		_mm512_store_si512((__m512i *)(void *)(packed + i),
				   _mm512_or_si512(_mm512_andnot_si512(room, key), place));
	}
}

/* Sort src[0..n), at most K_NET_PAIRS pairs that differ in the lowest `shift' bits of their keys only, stably into dst,
 * which does not overlap it.  If those are more than 58, pairs that the others do not tell apart are left in the order
 * they had. */
static K_INLINE void net_pair(const k_pair *src, k_pair *dst, size_t n, unsigned shift)
{
	K_ALIGN64 uint64_t packed[K_NET_PAIRS];
	size_t i;

	if (shift == 0) {
		memcpy(dst, src, n * sizeof *src);
		return;
	}
	net_pack(src, packed, n, shift);
	net_yz64((const k_u64 *)packed, (k_u64 *)packed, n, K_NET_PAIRS);
	for (i = 0; i < n; i++)
		dst[i] = src[packed[i] & 63];
}

#endif
