/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_tables.h -- the tables of kernels that exist, one per instruction set, each
 * indexed by emi_elem.  configure decides which of the optional ones are built.
 */
#ifndef EMI_K_TABLES_H
#define EMI_K_TABLES_H

#include "kern/kern.h"

extern const emi_kernels emi_kernels_scalar[3];
#if HAVE_KERN_AVX2
extern const emi_kernels emi_kernels_avx2[3];
#endif
#if HAVE_KERN_AVX512
extern const emi_kernels emi_kernels_avx512[3];
#endif

#endif
