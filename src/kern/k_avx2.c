/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_avx2.c -- the block kernels compiled for AVX2.
 *
 * The same templates with other compiler flags.  Nothing here runs before dispatch.c
 * has asked the processor.  Without HAVE_KERN_AVX2 the file is empty.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#if HAVE_KERN_AVX2
#define K_ISA "avx2"
#define K_TABLE emi_kernels_avx2
#include "kern/k_inst.h"
#else
typedef int emi_k_avx2_is_empty;
#endif
