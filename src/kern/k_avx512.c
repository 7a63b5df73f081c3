/* SPDX-License-Identifier: BSL-1.0 */
/*
 * k_avx512.c -- the block kernels compiled for AVX512.
 *
 * The same templates with other compiler flags.  Nothing here runs before dispatch.c
 * has asked the processor.  Without HAVE_KERN_AVX512 the file is empty.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#if HAVE_KERN_AVX512
#define K_ISA "avx512"
#define K_TABLE emi_kernels_avx512
#include "kern/k_inst.h"
#else
typedef int emi_k_avx512_is_empty;
#endif
