/* SPDX-License-Identifier: BSL-1.0 */
/*
 * network_avx512.h -- sorting networks for up to eight registers of bare keys.
 *
 * Batcher's bitonic merging (1968) in the form in which all comparisons point the same way: two sorted halves are compared
 * end to end, mirrored, and what comes out is compared at halved distances.  First within the lanes of each register,
 * all registers at once, then across registers, where no lane has to move.  What is missing in
 * the last register is padded with the largest key, which is legal among keys that are nothing but keys.
 */
#ifndef EMI_NETWORK_AVX512_H
#define EMI_NETWORK_AVX512_H

#include "kern/k_util.h"

#define K_NET_REGS 8
#define K_NET_BYTES 64u         /* of a register */
#define K_NET_PAIRS 64u         /* pairs that one network sorts: as many as bare keys of 8 bytes, */
#define K_NET_BITS 58u          /* ... with so many bits of the key above 6 of the place */

/* One register against itself: lane i meets lane idx[i], and the lanes in `high' keep the larger one. */
static K_INLINE __m512i net_lanes_u64(__m512i v, __m512i idx, __mmask8 high)
{
	const __m512i w = _mm512_permutexvar_epi64(idx, v);

	return _mm512_mask_mov_epi64(_mm512_min_epu64(v, w), high, _mm512_max_epu64(v, w));
}

static K_INLINE __m512i net_lanes_u32(__m512i v, __m512i idx, __mmask16 high)
{
	const __m512i w = _mm512_permutexvar_epi32(idx, v);

	return _mm512_mask_mov_epi32(_mm512_min_epu32(v, w), high, _mm512_max_epu32(v, w));
}

/* Lane i and lane i ^ x. */
static K_INLINE __m512i net_xor_u64(long long x)
{
	return _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(x));
}

static K_INLINE __m512i net_xor_u32(int x)
{
	return _mm512_xor_si512(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(x));
}

/* A register whose lanes are bitonic is put in order. */
static K_INLINE __m512i net_merge_u64(__m512i v)
{
	v = net_lanes_u64(v, net_xor_u64(4), 0xf0);
	v = net_lanes_u64(v, net_xor_u64(2), 0xcc);
	return net_lanes_u64(v, net_xor_u64(1), 0xaa);
}

static K_INLINE __m512i net_merge_u32(__m512i v)
{
	v = net_lanes_u32(v, net_xor_u32(8), 0xff00);
	v = net_lanes_u32(v, net_xor_u32(4), 0xf0f0);
	v = net_lanes_u32(v, net_xor_u32(2), 0xcccc);
	return net_lanes_u32(v, net_xor_u32(1), 0xaaaa);
}

/* A register in any order is put in order. */
static K_INLINE __m512i net_sort_u64(__m512i v)
{
	v = net_lanes_u64(v, net_xor_u64(1), 0xaa);
	v = net_lanes_u64(v, net_xor_u64(3), 0xcc);
	v = net_lanes_u64(v, net_xor_u64(1), 0xaa);
	v = net_lanes_u64(v, net_xor_u64(7), 0xf0);
	v = net_lanes_u64(v, net_xor_u64(2), 0xcc);
	return net_lanes_u64(v, net_xor_u64(1), 0xaa);
}

static K_INLINE __m512i net_sort_u32(__m512i v)
{
	v = net_lanes_u32(v, net_xor_u32(1), 0xaaaa);
	v = net_lanes_u32(v, net_xor_u32(3), 0xcccc);
	v = net_lanes_u32(v, net_xor_u32(1), 0xaaaa);
	v = net_lanes_u32(v, net_xor_u32(7), 0xf0f0);
	v = net_lanes_u32(v, net_xor_u32(2), 0xcccc);
	v = net_lanes_u32(v, net_xor_u32(1), 0xaaaa);
	v = net_lanes_u32(v, net_xor_u32(15), 0xff00);
	v = net_lanes_u32(v, net_xor_u32(4), 0xf0f0);
	v = net_lanes_u32(v, net_xor_u32(2), 0xcccc);
	return net_lanes_u32(v, net_xor_u32(1), 0xaaaa);
}

/* Four registers are put in order, each by itself. */
static K_INLINE void net_sort4_u64(__m512i *v)
{
	int i;

	K_UNROLL
	for (i = 0; i < 4; i++)
		v[i] = net_sort_u64(v[i]);
}

static K_INLINE void net_sort4_u32(__m512i *v)
{
	int i;

	K_UNROLL
	for (i = 0; i < 4; i++)
		v[i] = net_sort_u32(v[i]);
}

/* Lane by lane the smaller one into *low. */
static K_INLINE void net_order_u64(__m512i *low, __m512i *high)
{
	const __m512i v = *low;

	*low = _mm512_min_epu64(v, *high);
	*high = _mm512_max_epu64(v, *high);
}

static K_INLINE void net_order_u32(__m512i *low, __m512i *high)
{
	const __m512i v = *low;

	*low = _mm512_min_epu32(v, *high);
	*high = _mm512_max_epu32(v, *high);
}

static K_INLINE __m512i net_mirror_u64(__m512i v)
{
	return _mm512_permutexvar_epi64(net_xor_u64(7), v);
}

static K_INLINE __m512i net_mirror_u32(__m512i v)
{
	return _mm512_permutexvar_epi32(net_xor_u32(15), v);
}

/* The lanes that are there if so many keys are, or all; less than one: none. */
static K_INLINE unsigned net_have(int left, int lanes)
{
	return (1u << (left >= lanes ? lanes : left > 0 ? left : 0)) - 1;
}

static K_INLINE __m512i net_load_u64(const k_u64 *src, int left)
{
	return _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), (__mmask8)net_have(left, 8), src);
}

static K_INLINE __m512i net_load_u32(const k_u32 *src, int left)
{
	return _mm512_mask_loadu_epi32(_mm512_set1_epi64(-1), (__mmask16)net_have(left, 16), src);
}

static K_INLINE void net_store_u64(k_u64 *dst, int left, __m512i v)
{
	_mm512_mask_storeu_epi64(dst, (__mmask8)net_have(left, 8), v);
}

static K_INLINE void net_store_u32(k_u32 *dst, int left, __m512i v)
{
	_mm512_mask_storeu_epi32(dst, (__mmask16)net_have(left, 16), v);
}

#define N_FN(name) name##_u64
#define N_KEY k_u64
#define N_VEC __m512i
#include "kern/network.inc"

#define N_FN(name) name##_u32
#define N_KEY k_u32
#define N_VEC __m512i
#include "kern/network.inc"

/* Sort src[0..n), at most K_NET_REGS registers full, into dst, which is src or does not overlap it.  Nothing behind dst[n) is touched, though it
 * could be, up to dst[room). */
static void net_u64(const k_u64 *src, k_u64 *dst, size_t n, size_t room)
{
	(void)room;
	net_any_u64(src, dst, n);
}

static void net_u32(const k_u32 *src, k_u32 *dst, size_t n, size_t room)
{
	(void)room;
	net_any_u32(src, dst, n);
}

/* The keys of src[0..n), n at most 64, without what all of them have in common, the bits from `shift' on, which is not 0, above
 * their places; bits that there is no room for are the lowest. */
static K_INLINE void net_pack(const k_pair *src, uint64_t *packed, size_t n, unsigned shift)
{
	const __m512i keys = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), places = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i room = _mm512_set1_epi64(63);
	const __m128i up = _mm_cvtsi32_si128((int)(64 - shift));
	size_t i;

	for (i = 0; i < n; i += 8) {
		const unsigned left = n - i < 8 ? (unsigned)(n - i) : 8;
		const __m512i a = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, 2 * left), src + i);
		const __m512i b = _mm512_maskz_loadu_epi64((__mmask8)(left > 4 ? _bzhi_u32(0xff, 2 * left - 8) : 0), src + i + 4);
		const __m512i key = _mm512_sll_epi64(_mm512_permutex2var_epi64(a, keys, b), up);
		const __m512i place = _mm512_add_epi64(places, _mm512_set1_epi64((long long)i));

		_mm512_store_si512((__m512i *)(void *)(packed + i), _mm512_or_si512(_mm512_andnot_si512(room, key), place));
	}
}

/* Sort src[0..n), at most K_NET_PAIRS pairs that differ in the lowest `shift' bits of their keys only, stably into dst, which does not
 * overlap it.  If those are more than 58, pairs that the others do not tell apart are left in the order they had. */
static K_INLINE void net_pair(const k_pair *src, k_pair *dst, size_t n, unsigned shift)
{
	K_ALIGN64 uint64_t packed[K_NET_PAIRS];
	size_t i;

	if (shift == 0) {
		memcpy(dst, src, n * sizeof *src);
		return;
	}
	net_pack(src, packed, n, shift);
	net_any_u64((const k_u64 *)packed, (k_u64 *)packed, n);
	for (i = 0; i < n; i++)
		dst[i] = src[packed[i] & 63];
}

#endif
