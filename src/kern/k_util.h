/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_util.h -- what the kernel templates share: element types, tuning, and the few
 * operations that need more than C to be fast.  Compiled once per instruction set.
 *
 * Windows and arrays may be in the caller's memory and hold the caller's own types,
 * hence the may_alias; they are aligned for the element's own members, no more.
 *
 * The numbers below were chosen on a Sapphire Rapids with 48 KiB + 2 MiB of cache per
 * core and on a Zen 5 with 48 KiB + 1 MiB, and lie where the curves are flat.
 */
#ifndef EMI_K_UTIL_H
#define EMI_K_UTIL_H

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kern/kern.h"

#if defined(__GNUC__)
#define K_INLINE inline __attribute__((always_inline))
#define K_ALIAS __attribute__((may_alias))
#define K_ALIGN64 __attribute__((aligned(64)))
#else
#define K_INLINE inline
#define K_ALIAS
#define K_ALIGN64
#endif

/* Loops over registers, whose number is a constant.  clang unrolls them by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define K_UNROLL _Pragma("GCC unroll 16")
#else
#define K_UNROLL
#endif

typedef uint32_t K_ALIAS k_u32;
typedef uint64_t K_ALIAS k_u64;
typedef struct K_ALIAS k_pair {
	uint64_t key;
	uint64_t val;
} k_pair;

enum {
	/* Partition. */
	K_STAGE_MIN = 1 << 20,  /* bytes; scatter this much, or more, past the cache */
	K_LINE = 64,            /* bytes per bucket collected for that, twice as many for fewer buckets: 128 were faster, but on the stack */

	/* Sort. */
	K_SMALL = 32,           /* elements; insertion sort up to here */
	K_FAR = 32,             /* an insertion as far as this is worth a radix sort */
	K_TIE_SMALL = 6,        /* elements; insertion sort by tie function up to here */
	K_TIE_DEEPEN = 32,      /* elements; more that are equal are sorted by what follows in their keys */
	K_DIGIT_BITS = 10,      /* of the digits in cache, at most */
	K_SPARE_BITS = 2,       /* these have this many bits more than n has */
	K_ONE_DIGIT = 7,        /* no second digit for this many bits or less */
	K_CACHED = 1 << 19,     /* bytes; more is partitioned first, */
	K_BUCKET = 1 << 17,     /* ... into buckets of about this many bytes, if possible, */
	K_MSD_BITS = 8,         /* ... but no more than 2^this, and the first time 2^EMI_MAX_RADIX_BITS; divides 64 */
	K_NEAR = 2 << 20,       /* bytes; so much is scattered within a cache, not past it: 4.9 against 6.3 ns per pair of 131072 */
	K_SAMPLE = 256,         /* keys looked at to choose the bits for that */
	K_LOCAL = 60 * 1024,    /* bytes; less is sorted by way of the stack */

	/* Merge. */
	K_MIX_CACHED = 1 << 16, /* bytes; a mix of this size is in the first-level cache ... */
	K_MIX_FEW = 64,         /* ... and worth its cut for windows up to these; for more of them it is larger */
	K_MIX_BITS = 13,        /* of its digit, at most: EMI_MIX is 2^this */
	K_AHEAD = 128           /* bytes; how far ahead to prefetch in each window */
};

/* Lines that a scatter collects before it writes them. */
typedef struct k_stage {
	K_ALIGN64 unsigned char lines[(size_t)K_LINE << EMI_MAX_RADIX_BITS];
	uint8_t skip[1 << EMI_MAX_RADIX_BITS];
} k_stage;

/*
 * Scratch of one sort, on its stack.  msd() keeps the ends of its buckets in pos while it
 * works on them.  Its levels use up K_MSD_BITS bits of the key each, or fewer and then
 * fewer places, so 64 bits never need more than there are; the first level may use more.
 *
 * local, spare: see k_local().
 */
typedef struct k_work {
	union {
		k_stage stage;
		K_ALIGN64 unsigned char local[K_LOCAL + 4096];
	} u;
	uint32_t digit[2][1 << K_DIGIT_BITS];
	void *spare;            /* where nothing is needed any more; aligned for elements */
	size_t spare_bytes;
	size_t pos[(1 << EMI_MAX_RADIX_BITS) + ((64 / K_MSD_BITS) << K_MSD_BITS)];
} k_work;

/* Some place in room, which is a page larger than what is wanted, half a page away from a. */
static inline void *k_away(void *room, const void *a)
{
	return (char *)room + (((uintptr_t)a - (uintptr_t)room + 2048) & 4095 & ~(uintptr_t)7);
}

/*
 * Room for so many bytes, half a page away from a, that is in the cache already, or other.  Arrays
 * that lie at the same offset in different pages must not be copied to each other in
 * random order: the processor compares addresses by their low 12 bits only and holds
 * back loads that look as if they overlapped an earlier store.  That was 12 against 4 ns
 * per element for 200 elements.
 *
 * The beginning of the spare room serves one bucket after the other.  Where other is at the bucket's own place, in an
 * array that is larger than the cache, each line of it would have to come from memory first, in random order: 5.5 against
 * 2.9 ns per key for 14336 keys.
 */
static inline void *k_local(k_work *w, const void *a, size_t bytes, void *other)
{
	if (bytes <= K_LOCAL)
		return k_away(w->u.local, a);
	if (w->spare_bytes >= 4096 && bytes <= w->spare_bytes - 4096)
		return k_away(w->spare, a);
	return other;
}

/* Counts become places; returns the largest of them. */
static inline uint32_t k_starts(uint32_t *c, size_t n)
{
	uint32_t sum = 0, most = 0, t;
	size_t i;

	for (i = 0; i < n; i++) {
		t = c[i];
		c[i] = sum;
		sum += t;
		most = t > most ? t : most;
	}
	return most;
}

/* Bits of a digit, `most' at most, that leaves no more than `want' of n elements for a network in each bucket, if they are spread evenly. */
static inline unsigned k_net_bits(size_t n, unsigned want, unsigned most)
{
	unsigned bits = 1;

	while (n >> bits > want && bits < K_DIGIT_BITS + 1)
		bits++;
	return bits < most ? bits : most;
}

/* Number of the highest bit that is set in x, 0 for x == 0. */
static inline unsigned k_top_bit(uint64_t x)
{
#if defined(__GNUC__)
	return 63u ^ (unsigned)__builtin_clzll(x | 1);
#else
	unsigned i = 0;

	while (x >>= 1)
		i++;
	return i;
#endif
}

/* Number of the lowest bit that is set in x, x != 0. */
static inline unsigned k_low_bit(uint64_t x)
{
	return k_top_bit(x & (0 - x));
}

/* Copy a few lines to memory, aligned to 64 bytes, that will not be read soon. */
static K_INLINE void k_stream(void *dst, const void *src, size_t bytes)
{
#if defined(__AVX512F__)
	size_t i;

	for (i = 0; i < bytes / 64; i++)
		_mm512_stream_si512((__m512i *)dst + i, _mm512_load_si512((const __m512i *)src + i));
#elif defined(__AVX__)
	size_t i;

	for (i = 0; i < bytes / 32; i++)
		_mm256_stream_si256((__m256i *)dst + i, _mm256_load_si256((const __m256i *)src + i));
#elif defined(__SSE2__)
	size_t i;

	for (i = 0; i < bytes / 16; i++)
		_mm_stream_si128((__m128i *)dst + i, _mm_load_si128((const __m128i *)src + i));
#else
	memcpy(dst, src, bytes);
#endif
}

/* Other threads may look at it now. */
static K_INLINE void k_stream_end(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

/* The key of a window that has ended, and of the bitter end of those that have not. */
#define K_ENDED UINT64_MAX

/* The size of a merge's tree: the power of two that holds k leaves. */
static inline uint32_t k_leaves(uint32_t k)
{
	uint32_t n = 1;

	while (n < k)
		n *= 2;
	return n;
}

/* What a window will offer soon. */
static K_INLINE void k_prefetch(const void *p)
{
#if defined(__GNUC__)
	__builtin_prefetch((const char *)p + K_AHEAD);
#else
	(void)p;
#endif
}

/*
 * One match of a merge: (*key, *src) against the loser that *node names, whose key is
 * other.  The winner is in (*key, *src) then and the loser in *node.  *node wins with
 * the smaller key, and with the same key if `child', the node that *src comes from,
 * is a right one, that is, odd.
 *
 * In C this is left to the masks; the compilers turn conditional expressions into
 * branches as they like, and the comparison is a subtraction with borrow in which the
 * position takes part at no cost.
 */
static K_INLINE void k_play(uint64_t *key, uint32_t *src, uint64_t other, uint32_t *node, size_t child)
{
#if defined(__x86_64__) && defined(__GNUC__)
	const uint32_t rival = *node;
	uint64_t t = other, k = *key;
	uint32_t s = *src, loser = rival;

	__asm__("bt $0, %k[child]\n\t"
	        "sbb %[k], %[t]\n\t"           /* carry: other < k + (child odd) */
	        "cmovc %[s], %[loser]\n\t"
	        "cmovc %[other], %[k]\n\t"
	        "cmovc %[rival], %[s]"
	        : [t] "+&r"(t), [k] "+&r"(k), [s] "+&r"(s), [loser] "+&r"(loser)
	        : [child] "r"(child), [other] "r"(other), [rival] "r"(rival)
	        : "cc");
	*key = k;
	*src = s;
	*node = loser;
#else
	const uint32_t rival = *node;
	const uint64_t wins = (uint64_t)0 - (uint64_t)((other < *key) | ((other == *key) & (int)(child & 1)));
	const uint64_t k = (other ^ *key) & wins;
	const uint32_t s = (rival ^ *src) & (uint32_t)wins;

	*key ^= k;
	*src ^= s;
	*node = rival ^ s;
#endif
}

#endif
