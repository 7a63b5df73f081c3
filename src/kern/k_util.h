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

/* Without optimisation each call that is inlined has a part of the frame of its own, and frames are too large for a
 * small stack. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define K_INLINE inline __attribute__((always_inline))
#else
#define K_INLINE inline
#endif

#if defined(__GNUC__)
#define K_ALIAS __attribute__((may_alias))
#define K_ALIGN64 __attribute__((aligned(64)))
#else
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
	K_LINE = 64,            /* bytes per bucket collected for that, twice as many for fewer buckets: 128 were
	                           faster, but on the stack */

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
	K_NEAR = 2 << 20,       /* bytes; so much is scattered within a cache, not past it: 4.9 against 6.3 ns per pair
	                           of 131072 */
	K_SAMPLE = 256,         /* keys looked at to choose the bits for that */
	K_LOCAL = 60 * 1024,    /* bytes; less is sorted by way of the scratch */

	/* Merge. */
	K_MIX_CACHED = 1 << 16, /* bytes; a mix of this size, by networks, is in the first-level cache ... */
	K_MIX_FEW = 64,         /* ... and worth its cut for windows up to these; for more of them it is larger */
	K_MIX_ROUNDS = 8,       /* windows up to which merging two and two is faster than networks, where K_NET_MIX are
	                           worth it for more of them */
	K_STRANDS = 5,          /* of merging two at a time: 1.3 ns per element and round with 2, 0.95 with 3, 0.77 with
	                           4, 0.7 with 5 */
	K_ASK = 32,             /* elements of each strand; then what the windows will offer next is asked for
	                           (k_ask) */
	K_STRANDS_LEAST = 32,   /* elements that they are worth it for */
	K_AHEAD = 128           /* bytes; how far ahead to prefetch in each window */
};

/* Lines that a scatter collects before it writes them. */
typedef struct k_stage {
	K_ALIGN64 unsigned char lines[(size_t)K_LINE << EMI_MAX_RADIX_BITS];
	uint8_t skip[1 << EMI_MAX_RADIX_BITS];
} k_stage;

/* Scratch of one sort that is too large for a stack, in EMI_KERN_WORK bytes of the caller's. */
typedef struct k_scratch {
	union {
		k_stage stage;
		K_ALIGN64 unsigned char local[K_LOCAL + 4096];
	} u;
	size_t pos[(1 << EMI_MAX_RADIX_BITS) + ((64 / K_MSD_BITS) << K_MSD_BITS)];
} k_scratch;

/*
 * And the rest of it, on the stack: a compiler knows that no element is there.  64 pairs took 5.8 ns per element with
 * digits in the scratch of the caller, and 4.7 with them here.
 *
 * msd() keeps the ends of its buckets in large->pos while it works on them.  Its levels use up K_MSD_BITS bits of the
 * key each, or fewer and then fewer places, so 64 bits never need more than there are.  The first level may use more.
 *
 * local, spare: see k_local().
 */
typedef struct k_work {
	k_scratch *large;
	void *spare;            /* where nothing is needed any more; aligned for elements */
	size_t spare_bytes;
	K_ALIGN64 uint32_t digit[2][1 << K_DIGIT_BITS];
} k_work;

/* No compiler takes an array of less than one. */
typedef char k_scratch_fits[sizeof(k_scratch) <= EMI_KERN_WORK ? 1 : -1];

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
 * array that is larger than the cache, each line of it would have to come from memory first, in random order: 5.5
 * against 2.9 ns per key for 14336 keys.
 */
static inline void *k_local(k_work *w, const void *a, size_t bytes, void *other)
{
	if (bytes <= K_LOCAL)
		return k_away(w->large->u.local, a);
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

/* Bits of a digit, `most' at most, that leaves no more than `want' of n elements for a network in each bucket, if they
 * are spread evenly. */
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
 * What windows will offer next, some bytes of each.  It is asked for a few lines at a time, while something else is
 * being done: of more at once, the processor waits for most.
 */
typedef struct k_ahead {
	const emi_window *win, *win_end;        /* those that nothing was asked for of yet */
	const char *at, *stop;  /* what is left of one */
	size_t bytes;           /* of each */
	unsigned lines;         /* at a time */
} k_ahead;

static inline void k_ask(k_ahead *a)
{
	unsigned i;

	for (i = 0; i < a->lines; i++) {
		while (a->at >= a->stop) {
			size_t left;

			if (a->win == a->win_end)
				return;
			a->at = a->win->cur;
			left = (size_t)((const char *)a->win->end - a->at);
			a->stop = a->at + (left < a->bytes ? left : a->bytes);
			a->win++;
		}
#if defined(__GNUC__)
		__builtin_prefetch(a->at);
#endif
		a->at += 64;
	}
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

/*
 * One step of merging l and r from their fronts: `of_r' if its key is less, else `of_l', and then *from_r, how many are
 * from r, is one more.  By hand for the same reason as k_play(): the comparison's borrow both chooses and counts.
 */
static K_INLINE uint64_t k_first(uint64_t l, uint64_t r, uint64_t of_l, uint64_t of_r, size_t *from_r)
{
#if defined(__x86_64__) && defined(__GNUC__)
	size_t count = *from_r;

	__asm__("cmp %[l], %[r]\n\t"            /* carry: r < l */
	        "cmovc %[of_r], %[of_l]\n\t"
	        "adc $0, %[count]"
	        : [of_l] "+&r"(of_l), [count] "+&r"(count)
	        : [l] "r"(l), [r] "r"(r), [of_r] "r"(of_r)
	        : "cc");
	*from_r = count;
	return of_l;
#else
	const int is_r = r < l;

	*from_r += (size_t)is_r;
	return of_l ^ ((of_l ^ of_r) & ((uint64_t)0 - (uint64_t)is_r));
#endif
}

/* The same from their ends: `of_l' if r's key is less, else `of_r', and then *from_r is one less. */
static K_INLINE uint64_t k_last(uint64_t l, uint64_t r, uint64_t of_l, uint64_t of_r, size_t *from_r)
{
#if defined(__x86_64__) && defined(__GNUC__)
	size_t count = *from_r;

	__asm__("cmp %[l], %[r]\n\t"            /* carry: r < l */
	        "cmovc %[of_l], %[of_r]\n\t"
	        "adc $-1, %[count]"
	        : [of_r] "+&r"(of_r), [count] "+&r"(count)
	        : [l] "r"(l), [r] "r"(r), [of_l] "r"(of_l)
	        : "cc");
	*from_r = count;
	return of_r;
#else
	const int is_l = r < l;

	*from_r -= (size_t)!is_l;
	return of_r ^ ((of_l ^ of_r) & ((uint64_t)0 - (uint64_t)is_l));
#endif
}

/* The same of bare keys: the smaller one of l and r, or the larger one.  With operands fewer by two, compilers keep all
 * strands in general registers. */
static K_INLINE uint64_t k_smaller(uint64_t l, uint64_t r, size_t *from_r)
{
#if defined(__x86_64__) && defined(__GNUC__)
	size_t count = *from_r;

	__asm__("cmp %[l], %[r]\n\t"
	        "cmovc %[r], %[l]\n\t"
	        "adc $0, %[count]"
	        : [l] "+&r"(l), [count] "+&r"(count)
	        : [r] "r"(r)
	        : "cc");
	*from_r = count;
	return l;
#else
	return k_first(l, r, l, r, from_r);
#endif
}

static K_INLINE uint64_t k_larger(uint64_t l, uint64_t r, size_t *from_r)
{
#if defined(__x86_64__) && defined(__GNUC__)
	size_t count = *from_r;

	__asm__("cmp %[l], %[r]\n\t"
	        "cmovc %[l], %[r]\n\t"
	        "adc $-1, %[count]"
	        : [r] "+&r"(r), [count] "+&r"(count)
	        : [l] "r"(l)
	        : "cc");
	*from_r = count;
	return r;
#else
	return k_last(l, r, l, r, from_r);
#endif
}

#endif
