/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kern_model.h -- what the tests of the block kernels compare against.
 *
 * Tests think in emi_pair whatever the element: `val' is the number of the record in
 * its input, so that stability can be seen, with a rank for the tie function above it.
 * model_put() and model_get() convert from and to the real elements; bare ones keep
 * the key only (u32: its low half).
 */
#ifndef EM_KERN_MODEL_H
#define EM_KERN_MODEL_H

#include "kern/kern.h"

#include "../common/test.h"

/* Ways to choose n keys. */
typedef enum model_pattern {
	P_RANDOM,
	P_EQUAL,
	P_FEW,                  /* five different keys */
	P_SORTED,
	P_REVERSED,             /* strictly descending */
	P_NEARLY_SORTED,
	P_ORGAN_PIPE,
	P_ENDS,                 /* 0, 1, MAX - 1, MAX */
	P_LOW_BITS,
	P_HIGH_BITS,
	P_BOTH_ENDS_OF_KEY,     /* four bits at the top, three at the bottom */
	P_SKEWED,               /* 95% the same */
	P_OUTLIERS,             /* dense small keys and a few huge ones */
	P_MAGNITUDES,           /* their logarithms are evenly spread */
	P_CLUSTERS,             /* few top halves, random low halves */
	P_ZIPF,                 /* a few are very frequent, many are rare */
	P_ONE_BIT,              /* in one bit from the most frequent: every digit has one full bucket and some that are
	                           nearly empty */
	P_ROUND_ROBIN,          /* each in another bucket than the one before */
	P_BITS_REVERSED,        /* neighbours are far apart */
	P_COUNT
} model_pattern;

extern const char *const model_pattern_names[P_COUNT];

void model_keys(test_rng *rng, model_pattern how, emi_elem elem, emi_pair *p, size_t n);

/* The instruction sets that this machine runs, ended by NULL. */
extern const char *const model_isas[];

const char *model_elem_name(emi_elem elem);
void model_put(emi_elem elem, void *a, size_t i, const emi_pair *p);
emi_pair model_get(emi_elem elem, const void *a, size_t i);

/* Rank r of record i, and back.  Tie functions that are an order look at the rank only. */
uint64_t model_val(uint64_t rank, uint64_t i);
/* The digit of a key (see emi_digit). */
size_t model_digit(uint64_t key, const emi_digit *d);

int model_tie(void *arg, uint64_t a, uint64_t b);       /* counts calls in *(uint64_t *)arg */

/* Stable merge sort of p by key and then by tie, unless that is NULL; tmp: as large as p. */
void model_sort(emi_pair *p, emi_pair *tmp, size_t n, emi_tie_fn tie);

/* For qsort(): by key and rank, then by place, so that no two are equal. */
int model_by_all(const void *a, const void *b);

/* Tie functions that are no order.  arg: test_rng *, used by the first. */
#define MODEL_LIARS 4
extern const emi_tie_fn model_liars[MODEL_LIARS];

/* Scratch for kernels, with garbage in it; nothing was written behind the one of the last call. */
void *model_work(void);

/* Are the keys of a[0..n) in order, and is it a rearrangement of p?  marks: n zeroes.  Expects
 * p[i].val's low half to be i. */
int model_is_sorted_permutation(emi_elem elem, const void *a, const emi_pair *p, size_t n, unsigned char *marks);

#endif
