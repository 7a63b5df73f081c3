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

#include "kern/kern.h"
#include "kern/k_tables.h"

#if defined(__GNUC__)
#define K_INLINE inline __attribute__((always_inline))
#define K_ALIAS __attribute__((may_alias))
#else
#define K_INLINE inline
#define K_ALIAS
#endif

typedef uint32_t K_ALIAS k_u32;
typedef uint64_t K_ALIAS k_u64;
typedef struct K_ALIAS k_pair {
	uint64_t key;
	uint64_t val;
} k_pair;

/* Tuning of the sort; see doc/architecture.md for the measurements. */
enum {
	K_SMALL = 24,           /* insertion sort up to here */
	K_FAR = 32,             /* an insertion as far as this is worth a radix sort */
	K_SPARE_BITS = 5,       /* digits have this many bits more than n has */
	K_ONE_DIGIT = 8,        /* no second digit for this many bits or less */
	K_CACHED = 1 << 15,     /* more elements than this are partitioned first */
	K_BUCKET_LOG = 13,      /* ... into buckets of about this many, if possible, */
	K_MSD_BITS = 10,        /* ... but no more than this many */
	K_TIE_SMALL = 6
};

/*
 * Scratch of one sort, on its stack.  msd() keeps the ends of its buckets in pos
 * while it works on them; its levels use up K_MSD_BITS bits of the key each, or
 * fewer and then fewer places: 64 bits cannot need more than 7 * 2^10.
 */
typedef struct k_work {
	uint32_t digit[2][1 << EMI_MAX_RADIX_BITS];
	size_t pos[7 << K_MSD_BITS];
} k_work;

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
