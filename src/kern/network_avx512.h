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

#define N_FN(name) name##_u64
#define N_KEY k_u64
#define N_MASK __mmask8
#define N_LOAD _mm512_mask_loadu_epi64
#define N_STORE _mm512_mask_storeu_epi64
#define N_MIN _mm512_min_epu64
#define N_MAX _mm512_max_epu64
#define N_MIRROR(v) _mm512_permutexvar_epi64(net_xor_u64(7), v)
#include "kern/network.inc"

#define N_FN(name) name##_u32
#define N_KEY k_u32
#define N_MASK __mmask16
#define N_LOAD _mm512_mask_loadu_epi32
#define N_STORE _mm512_mask_storeu_epi32
#define N_MIN _mm512_min_epu32
#define N_MAX _mm512_max_epu32
#define N_MIRROR(v) _mm512_permutexvar_epi32(net_xor_u32(15), v)
#include "kern/network.inc"

#endif
