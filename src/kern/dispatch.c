/* SPDX-License-Identifier: BSL-1.0 */
/*
 * dispatch.c -- which kernels this processor runs.
 *
 * The list is ordered from the best to the one that always works.  What the compiler
 * was told when a set was built (see configure.ac) is what has to be asked for here.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <string.h>

#include "kern/k_tables.h"

static int runs_always(void)
{
	return 1;
}

#if HAVE_KERN_AVX2
static int runs_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif

#if HAVE_KERN_AVX512
static int runs_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2");
}
#endif

static const struct {
	int (*runs)(void);
	const emi_kernels *table;
} sets[] = {
#if HAVE_KERN_AVX512
	{ runs_avx512, emi_kernels_avx512 },
#endif
#if HAVE_KERN_AVX2
	{ runs_avx2, emi_kernels_avx2 },
#endif
	{ runs_always, emi_kernels_scalar },
};

int emi_tie_numbers(void *arg, uint64_t a, uint64_t b)
{
	(void)arg;
	return (a > b) - (a < b);
}

size_t emi_merge_tree_bytes(uint32_t k)
{
	size_t leaves = 1;

	while (leaves < k)
		leaves *= 2;
	return leaves * (2 * sizeof(uint64_t) + sizeof(uint32_t));
}

const emi_kernels *emi_kernels_for(emi_elem elem, const char *isa)
{
	const int any = isa == NULL || strcmp(isa, "auto") == 0;
	size_t i;

	if (elem == EMI_ELEM_OWN)
		return NULL;
	for (i = 0; i < sizeof sets / sizeof sets[0]; i++)
		if ((any || strcmp(isa, sets[i].table[0].isa) == 0) && sets[i].runs())
			return &sets[i].table[elem];
	return NULL;
}
