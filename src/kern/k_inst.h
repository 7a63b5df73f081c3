/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_inst.h -- the block kernels of one instruction set.
 *
 * Each of k_scalar.c, k_avx2.c, ... includes this file once and is compiled with its
 * own flags.  It makes one instance of the templates for each kind of element and
 * defines the table K_TABLE, indexed by emi_elem; K_ISA is the name of the set.
 * Everything else here is static, so the instances do not meet.
 *
 * Windows and arrays may be in the caller's memory and hold the caller's own types,
 * hence the may_alias; they are aligned for the element's own members, no more.
 */
#ifndef EMI_K_INST_H
#define EMI_K_INST_H

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kern/kern.h"
#include "kern/k_tables.h"

#if defined(__GNUC__)
#define K_INLINE inline __attribute__((always_inline))
#define K_ALIAS __attribute__((may_alias))
#define K_ALIGN64 __attribute__((aligned(64)))
#else
#define K_INLINE inline
#define K_ALIAS
#define K_ALIGN64
#endif

typedef uint32_t K_ALIAS k_u32;
typedef uint64_t K_ALIAS k_u64;
typedef struct K_ALIAS k_pair {
	uint64_t key;
	uint64_t val;
} k_pair;

/* Tuning of the sort; doc/architecture.md has the measurements. */
#ifndef TUNE
#define T_SPARE 3
#define T_ONE 8
#define T_CACHED 19
#define T_BUCKET 15
#define T_MSD 8
#define T_STAGE 20
#define T_LOCAL 16
#define T_DIG 11
#define T_SMALL 24
#endif
enum {
	K_SMALL = T_SMALL,           /* insertion sort up to here */
	K_FAR = 32,             /* an insertion as far as this is worth a radix sort */
	K_DIGIT_BITS = T_DIG,      /* of the digits in cache, at most */
	K_SPARE_BITS = T_SPARE,       /* two digits have this many bits more than n has */
	K_ONE_DIGIT = T_ONE,        /* no second digit for this many bits or less */
	K_CACHED = 1 << T_CACHED,     /* more bytes than this are partitioned first, */
	K_BUCKET = 1 << T_BUCKET,     /* ... into buckets of about this many, if possible, */
	K_MSD_BITS = T_MSD,         /* ... but no more than this many */
	K_STAGE_MIN = 1 << T_STAGE,  /* scatter this many bytes, or more, past the cache */
	K_STAGE_BITS = EMI_MAX_RADIX_BITS,
	K_LINE = 128,
	K_LOCAL = 1 << T_LOCAL,
	K_TIE_SMALL = 6
};

/* Lines that a scatter collects before it writes them. */
typedef struct k_stage {
	K_ALIGN64 unsigned char lines[(size_t)K_LINE << K_STAGE_BITS];
	uint8_t skip[1 << K_STAGE_BITS];
} k_stage;

/*
 * Scratch of one sort, on its stack.  msd() keeps the ends of its buckets in pos while it
 * works on them.  Its levels use up K_MSD_BITS bits of the key each, or fewer and then
 * fewer places: 64 bits can never need more than 8 * 2^8.
 */
typedef struct k_work {
	union {
		k_stage stage;
		K_ALIGN64 unsigned char local[K_LOCAL + 4096];
	} u;
	uint32_t digit[2][1 << K_DIGIT_BITS];
	size_t pos[(64 / K_MSD_BITS) << K_MSD_BITS];
} k_work;

/* Counts become places. */
static inline void k_starts(uint32_t *c, size_t n)
{
	uint32_t sum = 0, t;
	size_t i;

	for (i = 0; i < n; i++) {
		t = c[i];
		c[i] = sum;
		sum += t;
	}
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

/* (ah, al) < (bh, bl), without a branch. */
static K_INLINE int k_less_96(uint64_t ah, uint32_t al, uint64_t bh, uint32_t bl)
{
#if defined(__SIZEOF_INT128__)
	__extension__ typedef unsigned __int128 u128;

	return ((u128)ah << 64 | al) < ((u128)bh << 64 | bl);
#else
	return (ah < bh) | ((ah == bh) & (al < bl));
#endif
}

#define K_FN(name) name##_u32
#define K_ELEM k_u32
#define K_KEY uint32_t
#define K_KEY_BITS 32
#define K_KEY_OF(p) (*(p))
#define K_HAS_VAL 0
#include "kern/sort.inc"
#include "kern/merge.inc"

#define K_FN(name) name##_u64
#define K_ELEM k_u64
#define K_KEY uint64_t
#define K_KEY_BITS 64
#define K_KEY_OF(p) (*(p))
#define K_HAS_VAL 0
#include "kern/sort.inc"
#include "kern/merge.inc"

#define K_FN(name) name##_pair
#define K_ELEM k_pair
#define K_KEY uint64_t
#define K_KEY_BITS 64
#define K_KEY_OF(p) ((p)->key)
#define K_VAL_OF(p) ((p)->val)
#define K_HAS_VAL 1
#include "kern/sort.inc"
#include "kern/merge.inc"

const emi_kernels K_TABLE[3] = {
	{ K_ISA, sizeof(k_u32), survey_u32, histogram_u32, scatter_u32, sort_u32, bound_u32,
	  merge_start_u32, merge_run_u32 },
	{ K_ISA, sizeof(k_u64), survey_u64, histogram_u64, scatter_u64, sort_u64, bound_u64,
	  merge_start_u64, merge_run_u64 },
	{ K_ISA, sizeof(k_pair), survey_pair, histogram_pair, scatter_pair, sort_pair, bound_pair,
	  merge_start_pair, merge_run_pair },
};

#endif
